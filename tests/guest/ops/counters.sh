#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The counters of a device are those in the table of docs/counters.md. About 3 s.
. "$(dirname "$0")/../lib.sh"

at_exit ip netns del $ns_a
run ip netns add $ns_a
run in_a ip link set lo up
add_device shca_a lo $ns_a
counters=/sys/class/infiniband/shca_a/ports/1/hw_counters

# shellcheck disable=SC2016 # backticks of the table; optional ones are not in sysfs
documented() { sed -n '/| optional/d; s/^| `\([a-z_]*\)` |.*/\1/p' "$test_programs/docs/counters.md" | sort; }
# (lifespan is the RDMA core's: how long it keeps the values)
present() { find $counters -type f -printf '%f\n' | grep -vx lifespan | sort; }
same() {
	documented >/tmp/documented && present >/tmp/present
	wc -l </tmp/present
	[ -s /tmp/present ] && diff /tmp/documented /tmp/present
}
check table_is_complete same

# Those are named by the tool.
# shellcheck disable=SC2016
documented_optional() { sed -n 's/^| `\([a-z_]*\)` | optional.*/\1/p' "$test_programs/docs/counters.md" | sort; }
supported() { rdma -j statistic mode supported link shca_a/1 | grep -o '"[a-z_]*"' | tr -d '"' | grep -E '_(pkts|requests)$' | sort; }
optional_same() {
	documented_optional >/tmp/documented && supported >/tmp/supported
	cat /tmp/supported
	[ -s /tmp/supported ] && diff /tmp/documented /tmp/supported
}
check table_of_optional_is_complete optional_same
