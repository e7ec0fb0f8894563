#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# What an InfiniBand port tells the subnet manager unasked: traps for bad keys, damaged
# packets and changes, until they are repressed. M_Keys and their lease: against single
# packets, and with the stock OpenSM.
#
# timeout: 600
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"
. "$(dirname "$0")/../subnet"

command -v opensm >/dev/null || skip "this guest has no opensm"
modprobe ib_umad || skip "this kernel has no ib_umad"

reads() { timeout $((20 * slow)) smpquery -C shib_b "$@" portinfo "$lid_a" 1 >/tmp/out 2>&1; }
logged() { grep -q "$@" /tmp/opensm.log; }
times() { grep -c "num:$1 " /tmp/opensm.log; }

two_ports 1500
# What is sent first is looked at first.
run in_order "$ns_a" veth_a

# Datagrams with this PSN stay in the receiver's buffer for a while.
run in_a softhca fault add dev=shib_a do=delay dir=rx opcode=0x64 psn=0x1234 delay=2s
# (not in_b, for which /sys has no device)
nsenter --net="/run/netns/$ns_b" "$(dirname "$0")/../helpers/ib-traps.py" veth_b shib_a ||
	echo "not ok single_packets"

# GID 1 has the GUID that it has set. Packets have it, and are for it.
gid_1() { [ "$(cat /sys/class/infiniband/shib_a/ports/1/gids/1)" = fe80:0000:0000:0000:0002:c903:0000:0007 ]; }
# by_gid INDEX
by_gid() {
	local server
	ibv_rc_pingpong -d shib_a -g "$1" -n 20 >/tmp/server 2>&1 &
	server=$!
	wait_for 10 listening "" 18515 || return
	timeout $((30 * slow)) ibv_rc_pingpong -d shib_a -g "$1" -n 20 127.0.0.1 && wait $server
}
run ip link set lo up
run in_a softhca dev set shib_a path wire
check guid.is_gid_1 wait_for 10 gid_1
check guid.pingpong by_gid 1
# (a pingpong takes the LID where the GID has no GUID)
no_guid() {
	ib_send_bw -F -d shib_a -x 2 -n 10 >/tmp/server 2>&1 &
	wait_for 10 listening "" 18515 || return
	! timeout $((30 * slow)) ib_send_bw -F -d shib_a -x 2 -n 10 127.0.0.1 || return
	grep -q 'Failed to modify QP .*RTR' /tmp/server
}
check guid.others_are_refused no_guid
check guid.subnet_prefix eval 'in_a rdma -j -p link show shib_a/1 | grep -q "subnet_prefix.*fe80"'
run in_a softhca dev set shib_a path auto

# OpenSM, with a key that is read by nobody else
cat >/tmp/opensm.conf <<-END
	m_key 0x1234
	m_key_lease_period 4
	m_key_protection_level 2
END
rm -f /tmp/opensm.log
opensm -F /tmp/opensm.conf -g "0x$(guid shib_b)" -s 2 -f /tmp/opensm.log >/tmp/opensm.out 2>&1 &
manager=$!
at_exit kill $manager
both_active
lid_a=$(attribute shib_a lid)
lid_a=$((lid_a))
run eval 'echo "softhca, renamed" >/sys/class/infiniband/shib_a/node_desc'
check opensm.hears_of_a_name wait_for 20 logged 'num:144 '
named() { smpquery -y 0x1234 -C shib_b nodedesc "$lid_a" | grep -q 'softhca, renamed'; }
check opensm.name named
check opensm.with_key reads -y 0x1234
check opensm.without_key refused reads
check opensm.hears_of_it wait_for 20 logged 'num:256 '
# It represses what it has heard: the distance of traps is a second.
before=$(times 256) changes=$(times 144)
run sleep 5
check opensm.represses [ "$(times 256)" -le $((before + 1)) ]
check opensm.represses_change [ "$(times 144)" = "$changes" ]

# Without OpenSM, nobody has the key, until its lease has run out.
run kill -9 $manager
wait $manager 2>/dev/null
run refused reads
check lease.runs_out wait_for 20 reads
shows() { reads -K && grep -q "Mkey:\.*0x0*1234$" /tmp/out; }
check lease.shows_the_key shows
