# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The verbs of the project; the work is done in scripts/ (see scripts/README.md).
#
#   make help          this text
#   make               module and provider for KDIR (default: the running kernel)
#   make demo          two devices in a QEMU guest exchange real traffic
#   make demo-fabric   an InfiniBand cluster in a guest: OpenSM, MPI, a cable that is cut, a picture
#   make check         the tests that tell most, in minutes
#   make check-all     every test; for either, TESTS=pattern runs those of all that fit,
#                      KERNELS="6.1 7.2 debug kcsan" all guest tests on other kernels,
#                      BUILDS=all also builds for every kernel and tests the packages;
#                      demo, check, check-all: ARCH=arm64 takes guests of that architecture
#   make soak          the long forms of the tests
#   make style         prose, codespell, pyflakes, shellcheck, clang-format, kernel-doc, checkpatch, sparse
#   make deb           packages: the module for DKMS, the provider and the tool
#   make bench         how fast, beside Soft-RoCE; BENCH=pattern, BENCH_REPS=n, BENCH_QUICK=1;
#                      over networks that lose, delay, reorder: BENCH=badnet, BENCH_JUDGE=1;
#                      what bytes and packets cost on this CPU, without a guest: BENCH=native
#   make install       module, provider and tool for this machine; make uninstall
#   make clean         removes what was built, keeps what was downloaded
#   make distclean     removes build/

.NOTPARALLEL:

KDIR ?= /lib/modules/$(shell uname -r)/build
ARCH ?=
KERNELS ?=
TESTS ?=

all: packages modules provider

# What the distribution has to bring, before anything is built.
packages:
	@scripts/build/host packages $(KDIR)

help:
	@sed -n '/^#   make/,/^$$/s/^#   //p' Makefile

modules:
	@scripts/build/host module $(KDIR)

provider:
	@scripts/build/host provider

install:
	@scripts/build/host install $(KDIR)

uninstall:
	@scripts/build/host uninstall

demo:
	@ARCH='$(ARCH)' scripts/demo

demo-fabric:
	@ARCH='$(ARCH)' scripts/demo fabric

check:
	@ARCH='$(ARCH)' TESTS='$(TESTS)' KERNELS='$(KERNELS)' BUILDS='$(BUILDS)' scripts/check

check-all:
	@ARCH='$(ARCH)' TESTS='$(TESTS)' KERNELS='$(KERNELS)' BUILDS='$(BUILDS)' scripts/check --all

style:
	@scripts/setup-host --style
	@scripts/style

deb:
	@scripts/build/deb

soak:
	@ARCH='$(ARCH)' TESTS='$(TESTS)' KERNELS='$(KERNELS)' scripts/check --soak

bench:
	@scripts/bench

clean:
	rm -rf build/module build/parts build/configurations/tree build/configurations/module build/provider build/programs build/guest-install build/core build/fuzz build/run build/log build/check build/deb build/bench build/ns3/out build/architectures/out build/fabric/out build/fabric/host

distclean: clean
	@scripts/build/host distclean

.PHONY: all help packages modules provider install uninstall demo demo-fabric check check-all soak bench style deb clean distclean
