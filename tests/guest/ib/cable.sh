#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The cable between two InfiniBand ports: it is pulled for a second, and it damages
# packets. A connection lives through both; ports and counters tell of it.
#
# timeout: 300
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"
. "$(dirname "$0")/../subnet"

command -v opensm >/dev/null || skip "this guest has no opensm"
modprobe ib_umad || skip "this kernel has no ib_umad"

helpers=$(dirname "$0")/../helpers
# stream SECONDS COMMAND... : messages while COMMAND happens, and so long after that
stream() {
	timeout $((120 * slow)) "$helpers/ib-cable.py" shib_a shib_b "$@" >/tmp/stream 2>&1 ||
		echo "not ok cable # it ended with status $?"
	cat /tmp/stream
}
of() { attribute "$1" "counters/$2"; }
heard() { grep -q "Received Generic Notice type:[0-9]* num:$1 " /tmp/opensm.log; }

two_ports 1500
rm -f /tmp/opensm.log
opensm -g "0x$(guid shib_a)" -s 1 -f /tmp/opensm.log >/tmp/opensm.out 2>&1 &
at_exit kill $!
both_active
lids="$(attribute shib_a lid) $(attribute shib_b lid)"

# Out for a second. Both ends notice: a veth has no carrier, then.
downed_a=$(of shib_a link_downed) downed_b=$(of shib_b link_downed)
stream 1 ip netns exec "$ns_a" "$helpers/netdev-blip.py" veth_a 1 down
went_down() { grep -q 'ACTIVE .*DOWN .*ACTIVE ACTIVE .*DOWN .*ACTIVE \[\]$' /tmp/stream; }
check pulled.both_states went_down
check pulled.link_downed [ "$(of shib_a link_downed)" = $((downed_a + 1)) ]
check pulled.link_downed_peer [ "$(of shib_b link_downed)" = $((downed_b + 1)) ]
check pulled.traffic_stood [ "$(sed -n 's/^# pause //p' /tmp/stream)" -ge 900 ]
check pulled.lids_stay [ "$(attribute shib_a lid) $(attribute shib_b lid)" = "$lids" ]

# It damages one packet in ten. (Not the hellos, which stand for the signal: 0x11 is the
# first byte of a data frame. And not SMPs, of lane 15: OpenSM, which sweeps the whole of a
# subnet without switches each second, takes a port down whose neighbour does not answer.)
damage() {
	in_b tc qdisc "$1" dev veth_b parent 1:3 handle 3: netem corrupt "$2%"
}
run in_b tc qdisc add dev veth_b root handle 1: prio bands 3 priomap 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1
run in_b tc filter add dev veth_b parent 1: protocol 0x88b5 prio 1 u32 match u8 0x11 0xff at 0 match u8 0 0x80 at 8 flowid 1:3
run damage add 10
symbols=$(of shib_a symbol_error) errors=$(of shib_a port_rcv_errors)
downed_a=$(of shib_a link_downed)
stream 5 true
grew() { [ "$(of shib_a "$1")" -gt "$2" ]; }
check damaged.symbol_error grew symbol_error "$symbols"
check damaged.port_rcv_errors grew port_rcv_errors "$errors"
check damaged.link_stays [ "$(of shib_a link_downed)" = "$downed_a" ]
# One bad packet does not exceed LocalPhyErrors, as intact ones make good for it.
check damaged.no_trap_yet refused heard 129
# Nearly all of them: the port tells the subnet manager.
integrity=$(of shib_a local_link_integrity_errors)
run damage change 95
for _ in 1 2 3 4 5 6 7 8; do
	ibping -C shib_b -c 40 $(($(attribute shib_a lid))) >/dev/null 2>&1 &
	at_exit kill $!
done
check bad.trap wait_for 30 heard 129
check bad.integrity grew local_link_integrity_errors "$integrity"
