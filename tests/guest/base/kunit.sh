#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The unit suites of the protocol core (tests/kunit) in the kernel: its compiler
# flags, its stack, its checkers. Distribution kernels have no KUnit.
#
# kernels: debug
. "$(dirname "$0")/../lib.sh"

results=/sys/kernel/debug/kunit

# (indented, or its own lines would be counted as ours)
passed() { sed 's/^/  /' "$1/results" && grep -q "^ok [0-9]* ${1##*/}\$" "$1/results"; }

at_exit modprobe -r softhca_kunit
check module_is_loaded modprobe softhca_kunit
# Each that is on the list, and the list is all (scripts/check compares it with the
# sources).
while read -r suite; do check "$suite" passed "$results/$suite"; done <kunit-suites
those_of_the_list() { diff <(cd "$results" && ls -d softhca_*) kunit-suites; }
check no_other_suite those_of_the_list
check module_is_removed modprobe -r softhca_kunit
