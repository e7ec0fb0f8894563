#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# docs/verbs.md has exactly what a device advertises.
# About 3 s.
. "$(dirname "$0")/../lib.sh"

at_exit ip netns del $ns_a
run ip netns add $ns_a
run in_a ip link set lo up
add_device shca_a lo $ns_a

# shellcheck disable=SC2016 # backticks of the table
documented() {
	sed -n '/^## What a device advertises/,/^## [^W]/p' "$test_programs/docs/verbs.md" |
		grep -v "not on Linux $(uname -r | cut -d . -f 1,2)\b" |
		sed -n 's/^| `\([^`]*\)` | \([^|]*[^ |]\) *|.*/\1 \2/p' | sort
}
same() {
	documented >/tmp/documented && in_a "$test_programs/caps" shca_a | sort >/tmp/reported
	wc -l </tmp/reported
	[ -s /tmp/reported ] && diff /tmp/documented /tmp/reported
}
check table_is_what_the_device_says same
