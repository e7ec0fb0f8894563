#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The stock tools at an InfiniBand link: opensm -o, each attribute by smpquery, the states
# of a port by ibportstate, the subnet and its errors by iblinkinfo and ibqueryerrors,
# node_exporter, tshark. OpenSM sweeps each second meanwhile, without an error line in its
# log; in soak for ten minutes. The netdevs at the ends of the link have different MTUs.
#
# timeout: 300
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"
. "$(dirname "$0")/../subnet"

command -v opensm >/dev/null || skip "this guest has no opensm"
modprobe ib_umad || skip "this kernel has no ib_umad"

helpers=$(dirname "$0")/../helpers
sweeps=${SHCA_SOAK:+600}
sweeps=${sweeps:-10}
two_ports 4230 2182
run ip link set lo up

watch_events shib_b
: >/tmp/tcpdump
ip netns exec "$ns_b" tcpdump -U -s 0 -w /tmp/frames.pcap -i veth_b ether proto 0x88b5 2>/tmp/tcpdump &
tcpdump=$!
run wait_for 10 grep -q listening /tmp/tcpdump

# Five seconds are enough for it, on an idle machine.
once() { timeout $((5 * slow)) opensm -o -g "0x$(guid shib_a)" -f /tmp/opensm.once; }
check once once
check once.active has shib_a state ACTIVE
check once.active_peer has shib_b state ACTIVE
start_opensm -s 1 -D 0x07
lid_a=$(attribute shib_a lid) lid_b=$(attribute shib_b lid)
lid_a=$((lid_a)) lid_b=$((lid_b))
guid_b=$(guid shib_b | sed 's/^0*//')
no_errors() { ! opensm_errors "$@"; }
swept() { grep -c 'SWEEP COMPLETE' /tmp/opensm.log; }
has_swept() { [ "$(swept)" -ge "$1" ]; }

# ---- each attribute of the peer, by directed route and by LID
while read -r attribute form; do
	check "smpquery.$attribute.directed" asks "$form" smpquery -C shib_a -D "$attribute" 0,1 1
	check "smpquery.$attribute.lid" asks "$form" smpquery -C shib_a "$attribute" $lid_b 1
done <<-END
	nodeinfo PortGuid:\.*0x0*$guid_b
	nodedesc softhca
	portinfo LinkState:\.*Active
	pkeys 0: 0xffff
	guidinfo 0x0*$guid_b
	sl2vl \| 0\|
	vlarb WEIGHT
END
check no_such_attribute refused asks Switch smpquery -C shib_a switchinfo $lid_b
check rc between shib_a shib_b ibv_rc_pingpong -n 20
check ud between shib_a shib_b ibv_ud_pingpong -g 0 -n 20

# ---- what all that was, as tshark sees it
# (What it has not read yet is lost when it ends, and its status says nothing.)
end_capture() { sleep 1; kill $tcpdump; wait $tcpdump; "$helpers/ib-pcap.py" /tmp/frames.pcap /tmp/packets.pcap; }
dissect() {
	tshark -r /tmp/packets.pcap -T fields -E 'separator=;' -e infiniband.lrh.vl -e infiniband.bth.opcode \
		-e infiniband.mad.attributeid -e _ws.malformed 2>/dev/null >/tmp/fields
	sort /tmp/fields | uniq -c
	[ "$(wc -l </tmp/fields)" -gt 100 ]
}
if command -v tshark >/dev/null; then
	check tshark.capture end_capture
	check tshark dissect
	check tshark.nothing_is_malformed refused grep -v ';$' /tmp/fields
fi

# ---- node_exporter
exporter() {
	exec setpriv --reuid 65534 --regid 65534 --clear-groups prometheus-node-exporter --collector.disable-defaults \
		--collector.infiniband --web.listen-address=127.0.0.1:9100 >/tmp/exporter.log 2>&1
}
if command -v prometheus-node-exporter >/dev/null; then
	exporter &
	at_exit kill $!
	run wait_for 60 scraped
	check exporter grep -x 'node_scrape_collector_success{collector="infiniband"} 1' /tmp/scraped
	active() { [ "$(grep -c '^node_infiniband_state_id{device="shib_[ab]",port="1"} 4$' /tmp/scraped)" = 2 ]; }
	check exporter.active active
	check exporter.packets grep '^node_infiniband_port_packets_received_total{device="shib_b",port="1"} [1-9]' /tmp/scraped
	check exporter.no_error_line refused grep -i -E 'level=(error|warn)' /tmp/exporter.log
fi

# ---- the subnet
check iblinkinfo asks "CA: softhca.*" iblinkinfo -C shib_a
check ibqueryerrors asks ' 2 nodes checked, 0 bad nodes found' ibqueryerrors -C shib_a
check ibhosts asks "0x0*$guid_b" ibhosts -C shib_a
check saquery.paths asks "dlid\.*(0x0*)?$lid_b" saquery -C shib_a PR
check saquery.ports asks '[Ll]id\.*' saquery -C shib_a PIR
check saquery.groups asks '[Ff][Ff]12:401[Bb]' saquery -C shib_a MCMR
check sweeps wait_for $((sweeps + 60)) has_swept "$sweeps"
check sweeps.no_errors no_errors

# ---- heavy sweeps: OpenSM takes a link down whose ends do not have the smaller MTU of both
heavy_sweeps() { grep -c -e '-> SUBNET UP' /tmp/opensm.log; }
has_swept_all() { [ "$(heavy_sweeps)" -gt "$1" ]; }
sweep_all() {
	local before _
	for _ in $(seq 20); do
		before=$(heavy_sweeps)
		kill -HUP $opensm_pid
		wait_for 30 has_swept_all "$before" || return
	done
}
both_downed() { attribute shib_a counters/link_downed; attribute shib_b counters/link_downed; }
for port in "shib_a 4096" "shib_b 2048"; do
	read -r port mtu <<<"$port"
	check "mtus.cap.$port" asks "MtuCap:\.*$mtu" smpquery -C "$port" -D portinfo 0 1
	check "mtus.neighbor.$port" asks 'NeighborMTU:\.*2048' smpquery -C "$port" -D portinfo 0 1
done
before=$(both_downed)
check mtus.heavy_sweeps sweep_all
check mtus.link_is_never_down [ "$(both_downed)" = "$before" ]
check mtus.active has shib_a state ACTIVE
check mtus.active_peer has shib_b state ACTIVE
check mtus.no_errors no_errors

# ---- states of a port, with the manager at work
check ibportstate.query asks 'LinkState:\.*Active' ibportstate -C shib_a $lid_b 1
check ibportstate.query_directed asks 'LinkState:\.*Active' ibportstate -C shib_a -D 0,1 1
check ibportstate.speed asks 'LinkSpeedEnabled:\.*2.5 Gbps' ibportstate -C shib_a $lid_b 1 speed 1
check ibportstate.other_speed refused asks 'LinkSpeedEnabled:\.*5' ibportstate -C shib_a $lid_b 1 speed 2
check ibportstate.width asks 'LinkWidthEnabled:\.*4X' ibportstate -C shib_a $lid_b 1 width 2

# The port answers before its link goes down, so it goes down once.
downed() { attribute shib_b counters/link_downed; }
came_back() {
	local more=$(($(downed) - before))
	[ "$more" -ge 1 ] && [ "$more" -le "$1" ] && has shib_a state ACTIVE && has shib_b state ACTIVE
}
# comes_back [MOST] : and went down so often at most
comes_back() {
	wait_for 30 came_back "${1:-1}" && return
	echo "link_downed: $before, $(downed); $(attribute shib_a state), $(attribute shib_b state)"
	tail -n 5 /tmp/opensm.log
	return 1
}
while read -r name words; do
	before=$(downed)
	# shellcheck disable=SC2086 # several words
	check "ibportstate.$name" timeout $((20 * slow)) ibportstate -C shib_a $words
	check "ibportstate.$name.comes_back" comes_back
done <<-END
	reset $lid_b 1 reset
	reset_directed -D 0,1 1 reset
	down $lid_b 1 down
END
before=$(downed)
check ibportstate.disable timeout $((20 * slow)) ibportstate -C shib_a $lid_b 1 disable
check ibportstate.is_disabled becomes shib_b phys_state Disabled
check ibportstate.peer_is_down becomes shib_a state DOWN
# Nobody else reaches it any more.
# (polling)
check ibportstate.enable "$helpers/ib-port-info.py" shib_b 33 0xf0 0x20
# (OpenSM resets a port that it has seen alone, maybe when its link is up again.)
check ibportstate.is_enabled comes_back 2

# ---- another manager
kill $opensm_pid
wait $opensm_pid
check other_manager timeout $((30 * slow)) opensm -o -g "0x$(guid shib_b)" -f /tmp/opensm.other
for event in PORT_ACTIVE PORT_ERR LID_CHANGE CLIENT_REREGISTER SM_CHANGE; do
	check "event.$event" wait_for 10 grep -q $event /tmp/events
done

# ---- errors that the tools find, which ask a manager for the way
start_opensm -D 0x07
run wait_for 30 has_swept 1
damage() {
	PYTHONPATH=$helpers nsenter --net="/run/netns/$ns_b" python3 - <<-END
		from ib_link import Link
		link = Link("veth_b", "shib_a")
		for _ in range(20):
		    link.send(link.packet(spoil_vcrc=1))
	END
}
run damage
check ibqueryerrors.finds_them wait_for 20 asks 'SymbolErrorCounter == (0x)?[12]' ibqueryerrors -C shib_b
check ibqueryerrors.clears_them asks 'Summary' ibqueryerrors -C shib_b -k
check ibqueryerrors.are_cleared asks ' 0 bad nodes found' ibqueryerrors -C shib_b
