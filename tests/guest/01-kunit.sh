#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The unit suites of the protocol core (tests/kunit) in the kernel: its compiler
# flags, its stack, its checkers. Distribution kernels have no KUnit.
#
# kernels: debug
. "$(dirname "$0")/lib.sh"

results=/sys/kernel/debug/kunit

# (indented, or its own lines would be counted as ours)
passed() { sed 's/^/  /' "$1/results" && grep -q "^ok [0-9]* ${1##*/}\$" "$1/results"; }

at_exit modprobe -r softhca_kunit
check module_is_loaded modprobe softhca_kunit
suites=0
for suite in "$results"/*/; do
	suite=${suite%/}
	[ -e "$suite/results" ] || continue
	check "${suite##*/}" passed "$suite"
	suites=$((suites + 1))
done
check all_suites_are_there [ $suites -ge 8 ]
check module_is_removed modprobe -r softhca_kunit
