# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Shared by the scripts of this folder (sourced, never run): where things are,
# how to fail, how to become root, how a cached product knows that it is stale.
# A script sets `top` (the project's root) before it sources this file.

: "${top:?set top before sourcing scripts/lib.sh}"
export LC_ALL=C.UTF-8
# Ubuntu and Debian users often have no sbin in their path.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

# Everything downloaded or built lives here.
build=$top/build

me=${0#"$top"/}

say() { printf '%s: %s\n' "$me" "$*" >&2; }

die() {
	printf '%s: error: %s\n' "$me" "$*" >&2
	exit "${die_status:-1}"
}

# as_root COMMAND... : run as root, through sudo where we are not root.
as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo --preserve-env=http_proxy,https_proxy,no_proxy -- "$@"
	else
		die "this needs root: run as root, or install sudo (wanted to run: $1)"
	fi
}

# as_package TREE : TREE.deb, whose files `scripts/qemu/vm --install` lays over a guest's root
as_package() {
	mkdir -p "$1/DEBIAN"
	printf '%s\n' "Package: ${1##*/}" "Version: 1" "Architecture: all" "Maintainer: nobody <nobody@example.org>" \
		"Description: files for a guest" >"$1/DEBIAN/control"
	dpkg-deb -Znone --root-owner-group --build "$1" "$1.deb" >/dev/null
}

# with_lock NAME COMMAND... : one process at a time makes product NAME. The
# lock goes with the process, so nothing is left behind by a kill.
with_lock() {
	local lock_name=$1
	shift
	mkdir -p "$build/lock"
	(
		flock -w 2 9 || {
			say "waiting for another process that makes '$lock_name'"
			flock 9
		}
		"$@" 9>&-
	) 9>"$build/lock/$lock_name"
}

# key FILE|STRING... : a short name for the content of what a product is made
# from; files count by content, other words by themselves. (A word that may be a file's
# name where somebody calls a script needs a mark that makes it none.)
key() {
	local word
	for word in "$@"; do
		if [ -f "$word" ]; then cat -- "$word"; else printf '%s\n' "$word"; fi
	done | sha256sum | cut -c1-16
}

# is_current PRODUCT KEY : true where PRODUCT was made from KEY (see set_current).
is_current() {
	[ -e "$1" ] && [ -f "$1.key" ] && [ "$(cat "$1.key")" = "$2" ]
}

# (A new file: copies of a build folder may be hard links.)
set_current() {
	rm -f "$1.key"
	printf '%s\n' "$2" >"$1.key"
}

# root_key SUITE : what the root of a suite is made from. Image and kernel bundle are as
# good without the root (a CI job that has cached them, and what a build made, needs none).
root_key() {
	local made_by=("$top/scripts/qemu/root" "$top/scripts/build/rdma-core")
	case $1 in *-*) made_by+=("$top/scripts/qemu/root-foreign") ;; esac
	key "suite:$1" "$top/scripts/qemu/packages" "${made_by[@]}"
}

# root_tests_key SUITE : what the packages that only tests need are added from (ROOT.tests)
root_tests_key() { key "$(root_key "$1")" "$top/scripts/qemu/packages-tests"; }

# can_mount : are we a root who may mount? The root of a container with its default
# capabilities may not (bit 21 is CAP_SYS_ADMIN); others become root by sudo.
can_mount() {
	local name value
	while read -r name value; do
		[ "$name" != CapEff: ] || break
	done </proc/self/status
	[ "$(id -u)" != 0 ] || ((0x$value >> 21 & 1))
}

# architecture ROOT : of a root in build/root, whose name is SUITE (amd64) or SUITE-ARCH. Sets
#   arch      as Debian names it
#   triplet   folder of its libraries, and what a cross compiler's name begins with
#   qemu, qemu_package, machine, console   QEMU's program, the package that has it, its
#             machine, and what Linux calls the serial port of that
# shellcheck disable=SC2034 # used by who sources this
architecture() {
	case $1 in
	*-arm64)
		arch=arm64 triplet=aarch64-linux-gnu
		qemu=qemu-system-aarch64 qemu_package=qemu-system-arm machine=virt,gic-version=3 console=ttyAMA0
		;;
	*)
		arch=amd64 triplet=x86_64-linux-gnu
		qemu=qemu-system-x86_64 qemu_package=qemu-system-x86 machine=q35,hpet=off console=ttyS0
		;;
	esac
}

# platform NAME : what a --kernel value stands for. Sets
#   suite     root of the guest's kernel, user space, headers, libraries: a Debian suite,
#             followed by "-" and the architecture where it is not amd64
#   flavour   where the kernel comes from: distribution package, or own build
#   beside    not empty: the root has another one, and scripts/qemu/kernel/fetch unpacks
#             this one into the folder of this name
#   releases  which of the kernels there, a pattern of releases
#   folders   not empty: the guest mounts folders of the host (9p); else it gets a small disk
#   tested    the kernel series that the suite is expected to have, and
#   tested_rdma_core  its release of rdma-core: on these a compiler's warning
#             fails the build, on newer ones it is told
# and what architecture() sets. One row per value of the command contract.
# (SHCA_TESTED=SERIES stands in for both expectations: so a test plays a suite that
# has moved on.)
# shellcheck disable=SC2034 # used by who sources this
platform() {
	releases='*' beside='' folders=yes
	case $1 in
	6.1) suite=bookworm flavour=distribution tested=6.1 tested_rdma_core=44 ;;
	6.12) suite=trixie flavour=distribution tested=6.12 tested_rdma_core=56 ;;
	7.2) suite=forky flavour=distribution tested=7.2 tested_rdma_core=65 ;;
	debug | kcsan) suite=trixie flavour=own tested=6.12 tested_rdma_core=56 ;;
	6.1[6-9] | 7.[013])
		suite=trixie flavour=distribution beside=$build/linux-$1/root releases="$1.*-amd64" tested=$1 tested_rdma_core=56
		;;
	cloud)
		suite=trixie flavour=distribution beside=$build/linux-$1/root releases='*-cloud-amd64' folders=''
		tested=6.12 tested_rdma_core=56
		;;
	rt)
		suite=trixie flavour=distribution beside=$build/linux-$1/root releases='*-rt-amd64'
		tested=6.12 tested_rdma_core=56
		;;
	arm64 | arm64-16k) suite=trixie-arm64 flavour=distribution releases="*-$1" tested=6.12 tested_rdma_core=56 ;;
	*) die "unknown kernel '$1' (supported: $platforms; only to build for: $built_platforms)" ;;
	esac
	architecture "$suite"
	if [ -n "${SHCA_TESTED-}" ]; then
		tested=$SHCA_TESTED tested_rdma_core=$SHCA_TESTED
	fi
}
platforms="6.1 6.12 6.18 7.2 7.3 cloud rt debug kcsan arm64 arm64-16k"
built_platforms="6.16 6.17 6.19 7.0 7.1"

# default_kernel : of guests of the architecture ARCH (make ARCH=arm64), which may also be
# what a kernel's build calls it
default_kernel() {
	case ${ARCH-} in
	'' | amd64 | x86 | x86_64) echo 6.12 ;;
	arm64 | aarch64) echo arm64 ;;
	*) die "there are no guests of architecture '$ARCH' (ARCH is amd64 or arm64)" ;;
	esac
}

# need_root [--base] ROOT : makes it where it is not there (scripts/qemu/root, root-foreign)
need_root() {
	local make_it=root
	architecture "${!#}"
	[ "$arch" = amd64 ] || make_it=root-foreign
	"$top/scripts/qemu/$make_it" "$@"
}

# series RELEASE : 6.12.117+deb13-amd64 -> 6.12
series() { sed -E 's/^([0-9]+\.[0-9]+).*/\1/' <<<"$1"; }

# newer A B : A is a later version than B
newer() { [ "$1" != "$2" ] && [ "$(printf '%s\n' "$1" "$2" | sort -V | tail -n 1)" = "$1" ]; }

# tell_untested RELEASE : a word where softhca has not been tested with a kernel.
# Those between the tested ones are taken to be like them.
tell_untested() {
	local series oldest=6.1 newest=7.3
	series=$(series "$1")
	if newer "$series" "$newest"; then
		say "warning: kernel $1 is newer than the newest that softhca is tested with ($newest)"
	elif newer "$oldest" "$series"; then
		say "warning: kernel $1 is older than the oldest that softhca is tested with ($oldest)"
	fi
}

# is_tested WHAT VERSION TESTED : where this is false a compiler's warning shall
# not fail the build, since a suite that has moved on brings its own ones, which
# must not stop what else is tested there. Says so.
is_tested() {
	[ "$2" != "$3" ] || return 0
	say "warning: $1 $2 is not what softhca is tested with ($3): its build may warn"
	return 1
}

# proxy_from_apt : the host's apt proxy, if one is configured.
proxy_from_apt() {
	apt-config shell p Acquire::http::Proxy 2>/dev/null | sed -n "s/^p='\(.*\)'$/\1/p"
}

# debootstrap_options : sets options, with which mmdebstrap reaches what the host's apt
# reaches. A host whose mirror stands still says so, and it is the roots' mirror too.
debootstrap_options() {
	local proxy setting value
	options=()
	proxy=$(proxy_from_apt)
	[ -z "$proxy" ] || options+=(--aptopt="Acquire::http::Proxy \"$proxy\"")
	for setting in Acquire::Check-Valid-Until Acquire::Check-Date; do
		value=$(apt-config dump --format '%v%n' "$setting" 2>/dev/null | head -n 1)
		[ -z "$value" ] || options+=(--aptopt="$setting \"$value\"")
	done
}

# phase TITLE COMMAND... : run one step of a longer way and print its time.
phase() {
	local title=$1 start=$SECONDS status=0
	shift
	printf '== %s\n' "$title"
	"$@" || status=$?
	if [ "$status" = 0 ]; then
		printf '== %s: %d s\n' "$title" $((SECONDS - start))
	else
		printf '== %s: FAILED with status %d after %d s\n' "$title" "$status" $((SECONDS - start))
	fi
	return "$status"
}
