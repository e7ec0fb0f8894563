#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Two InfiniBand ports back to back, brought up by the stock OpenSM: the diagnostic
# tools across the link, RC, UC and UD by LIDs, packets that a port refuses, a cable
# that is pulled, and a port that is removed under traffic.
#
# timeout: 900
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"
. "$(dirname "$0")/../subnet"

command -v opensm >/dev/null || skip "this guest has no opensm"
modprobe ib_umad || skip "this kernel has no ib_umad"

is_active() { wait_for 30 has "$1" state ACTIVE || { tail /tmp/opensm.log; return 1; }; }
# (not in_b, for which /sys has no device)
frames() {
	nsenter --net="/run/netns/$ns_b" "$(dirname "$0")/../helpers/ib-frames.py" veth_b shib_a "$1" ||
		echo "not ok frames.$1"
}

make_namespaces 1500
run ip link set lo up
at_exit rdma link delete shib_a
at_exit rdma link delete shib_b
# A RoCE device on the same netdev, which OpenSM would find first, has another GUID.
at_exit rdma link delete roce_a
run ip netns exec "$ns_a" rdma link add roce_a type softhca netdev veth_a
run add_ib "$ns_a" shib_a veth_a
run add_ib "$ns_b" shib_b veth_b
check guid_of_its_own [ "$(guid shib_a)" != "$(guid roce_a)" ]
run becomes shib_a state INIT
run becomes shib_b state INIT
run wait_for 10 has_umad shib_a
run wait_for 10 has_umad shib_b
run wait_for 10 has_node shib_a
run wait_for 10 has_node shib_b

check directed asks "PortGuid:\.*0x0*$(guid shib_b | sed 's/^0*//')" smpquery -C shib_a -D nodeinfo 0,1
frames not-ready

start_opensm -s 2
check active is_active shib_a
check active_peer is_active shib_b
lid_a=$(attribute shib_a lid) lid_b=$(attribute shib_b lid)
check lids [ "$lid_a" != "$lid_b" ]
check sm_lid has shib_b sm_lid "^$lid_a$"

check smp.node_info asks "PortGuid:\.*0x0*$(guid shib_b | sed 's/^0*//')" smpquery -C shib_a nodeinfo $((lid_b))
check smp.node_desc asks softhca smpquery -C shib_a nodedesc $((lid_b))
check smp.port_info asks 'LinkState:\.*Active' smpquery -C shib_a portinfo $((lid_b))
check smp.p_keys asks '0: 0xffff' smpquery -C shib_a pkeys $((lid_b))
check smp.guids asks "0x$(guid shib_b)" smpquery -C shib_a guidinfo $((lid_b))
check smp.own_lid asks 'LinkState:\.*Active' smpquery -C shib_a portinfo $((lid_a))
check ibnetdiscover asks "H-$(guid shib_a)" ibnetdiscover -C shib_b
check sminfo asks SMINFO_MASTER sminfo -C shib_b
check ibaddr asks 'LID start' ibaddr -C shib_b $((lid_a))
check perfquery asks PortXmitPkts perfquery -C shib_b $((lid_a)) 1
# Counters are reset, all or some, here for a while without traffic but this.
value() { sed -n "s/^$1:\.*//p" /tmp/out; }
has_few() { asks PortXmitPkts perfquery -C shib_b "$@" $((lid_a)) 1 && [ "$(value PortXmitPkts)" -lt 100 ]; }
has_many() { refused has_few && asks PortXmitData perfquery -C shib_b $((lid_a)) 1 && [ "$(value PortXmitData)" -lt 7400 ]; }
run eval 'ibping -C shib_a -S & pid=$!; sleep 1; timeout $((20 * slow)) ibping -C shib_b -f -c 200 $((lid_a)); kill $pid'
check perf.before refused has_few
check perf.reset_some perfquery -C shib_b -R $((lid_a)) 1 0x1000
check perf.others_stay has_many
check perf.reset asks PortXmitPkts perfquery -C shib_b -r $((lid_a)) 1
check perf.is_reset has_few
check perf.extended_is_reset has_few -x
check perf.all_ports asks 'PortSelect:\.*255' perfquery -C shib_b -a $((lid_a))
check perf.other_port refused asks PortXmitPkts perfquery -C shib_b $((lid_a)) 2
check saquery asks "node_guid\.*0x0*$(guid shib_a | sed 's/^0*//')" saquery -C shib_b NR
ibping -C shib_a -S &
at_exit kill $!
check ibping wait_for 20 asks ' 0% packet loss' ibping -C shib_b -c 2 $((lid_a))

for kind in rc uc ud srq; do
	check "$kind" between shib_a shib_b ibv_${kind}_pingpong -n 50
done
check rc.with_grh between shib_b shib_a ibv_rc_pingpong -g 0 -n 50
check ud.with_grh between shib_b shib_a ibv_ud_pingpong -g 0 -n 50
check rc.own_lid between shib_b shib_b ibv_rc_pingpong -n 50
check ud.own_lid between shib_b shib_b ibv_ud_pingpong -n 50
for program in ib_write_bw ib_send_bw ib_read_bw; do
	check "$program" between shib_a shib_b $program -n 200
done
check ib_send_bw.ud between shib_a shib_b ib_send_bw -F -c UD -s 1024 -n 200

# Up to here nothing was wrong.
no_errors() { ! opensm_errors "$@"; }
check opensm_has_no_errors no_errors
frames all
check rc.after_frames between shib_a shib_b ibv_rc_pingpong -n 50
# OpenSM logs each trap as an error. It hears of bad keys, and finds nothing else wrong.
heard() { grep -q "Received Generic Notice type:2 num:$1 " /tmp/opensm.log; }
check opensm_hears_of_p_keys wait_for 20 heard 257
check opensm_hears_of_q_keys wait_for 20 heard 258
check opensm_has_no_other_errors no_errors '|log_trap_info: '
# What follows are errors for OpenSM, too.

# a cable that is pulled, and one that is plugged in again
pull() { in_b tc qdisc add dev veth_b root netem loss 100%; }
run pull
check pulled becomes shib_a state DOWN
check pulled.nobody_answers refused between shib_a shib_b ibv_rc_pingpong -n 5
check pulled.error grep -Eq 'transport retry counter|get local LID|Failed status' /tmp/client
run in_b tc qdisc del dev veth_b root
check plugged_in is_active shib_a
check plugged_in_peer is_active shib_b
check rc.again between shib_a shib_b ibv_rc_pingpong -n 50

# a port that goes under traffic
ib_write_bw -F -d shib_b -D 60 >/tmp/server 2>&1 &
server=$!
wait_for 20 listening "" 18515
ib_write_bw -F -d shib_a -D 60 127.0.0.1 >/tmp/client 2>&1 &
client=$!
flows() { [ "$(counter shib_b rx_packets)" -gt $((before + 1000)) ]; }
before=$(counter shib_b rx_packets)
check traffic wait_for 20 flows
run rdma link delete shib_b
check removed device_is_gone shib_b
check client_ends wait_for 60 is_over $client
kill $server 2>/dev/null
run add_ib "$ns_b" shib_b veth_b
check active_again is_active shib_b
check rc.at_last between shib_a shib_b ibv_rc_pingpong -n 50
