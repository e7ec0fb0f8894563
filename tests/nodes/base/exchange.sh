#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Each operation of each transport between two machines, each byte compared, at two MTUs
# and in both directions. The machines may differ in architecture, page size and kernel:
# scripts/qemu/vm --kernel 6.12,arm64-16k --nodes 2.
#
# timeout: 900
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../guest/scenario"

# what the other one is
machine() { printf '%s, pages of %s bytes' "$(uname -mr)" "$(getconf PAGE_SIZE)"; }

# exchange LABEL FAMILY : the program on both; what node2 says is told where one fails
exchange() {
	local log=/tmp/exchange.$$ pid status=0
	on node2 env SHCA_SLOW="$SHCA_SLOW" "$test_programs/exchange" -d shca0 -f "$2" >"$log" 2>&1 &
	pid=$!
	verbs "$1" exchange -d shca0 -f "$2" -p $ip4_2
	wait "$pid" || status=$?
	[ "$status" = 0 ] || sed 's/^/# node2: /' "$log"
	check "$1.exchange.node2" [ "$status" = 0 ]
}

make_nodes 1500
echo "# node1: $(machine)"
echo "# node2: $(on node2 bash -c "$(declare -f machine); machine")"
exchange mtu1500 4
set_mtu 9000
exchange mtu9000 6
