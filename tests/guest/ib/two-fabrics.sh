#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Two real ports behind two processes of softhca-fabric: one port on a TAP of the first, one at the
# end of a veth that the second has by AF_PACKET, and UDP between the processes. OpenSM at the first
# port configures both, data is checked, and nothing is lost. Under traffic either process is killed
# and started again, ROUNDS times each (2; 20 in make soak).
#
# timeout: 600
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"
. "$(dirname "$0")/../subnet"

needs_fabric

rounds=${ROUNDS:-${SHCA_SOAK:+20}}
rounds=${rounds:-2}
for n in 1 2; do
	cat >/tmp/fabric$n.topo <<-END
		Switch 8 "S-leaf$n" # "leaf $n" enhanced port 0
		[1] "H-$n"[1]
		[2] "H-simulated$n"[1]
		Ca 1 "H-$n" # "host $n"
		Ca 1 "H-simulated$n" # "simulated $n"
	END
done
# (names without GUIDs would have the same in both)
sed -i '1i switchguid=0x2c90200000100(2c90200000100)
	/^Ca.*"host/i caguid=0x2c90200000110
	/^Ca.*"simulated/i caguid=0x2c90200000120' /tmp/fabric2.topo

# The cable of each process that leads to its real port, and its address
fabric_options=([1]="--tap=H-1=shib_tap1" [2]="--netdev=H-2=shib_fab2")
places=([1]=127.0.0.1:7001 [2]=127.0.0.1:7002)
# start_fabric NUMBER
start_fabric() {
	softhca-fabric --name "fabric$1" "${fabric_options[$1]}" --udp "S-leaf$1[8]=${places[$1]},${places[3 - $1]}" \
		"/tmp/fabric$1.topo" >"/tmp/fabric$1.log" 2>&1 &
	fabrics[$1]=$!
	wait_for 20 grep -qx ready "/tmp/fabric$1.log" || { cat "/tmp/fabric$1.log"; return 1; }
}
end_fabrics() { kill -9 "${fabrics[@]}"; }

run ip tuntap add shib_tap1 mode tap
at_exit ip link delete shib_tap1
run ip link set shib_tap1 mtu 4230 up
run ip link add shib_end2 mtu 4230 type veth peer name shib_fab2 mtu 4230
at_exit ip link delete shib_end2
run ip link set shib_end2 up
run ip link set shib_fab2 up
fabrics=()
at_exit end_fabrics
for n in 1 2; do run start_fabric $n; done
netdevs=([1]=shib_tap1 [2]=shib_end2)
for n in 1 2; do add_port shib$n "${netdevs[n]}"; done
patient_opensm
both_active() {
	wait_for 60 has shib1 state ACTIVE && wait_for 60 has shib2 state ACTIVE && return
	tail -n 3 /tmp/opensm.log /tmp/fabric?.log
	return 1
}
check active both_active
check ibnetdiscover asks '"simulated 2"' ibnetdiscover -C shib1
check ibnetdiscover.nodes [ "$(grep -c '^Switch\|^Ca' /tmp/out)" = 6 ]
leaf2=$(sed -n 's/^Switch.*"leaf 2" enhanced port 0 lid \([0-9]*\).*/\1/p' /tmp/out)
check path_mtu asks 'NeighborMTU:\.*4096' smpquery -C shib1 portinfo "$leaf2" 8
check perfquery asks PortXmitPkts perfquery -C shib1 "$leaf2" 8

# both_ways COMMAND...
both_ways() { between shib1 shib2 "$@" && between shib2 shib1 "$@"; }
check rc both_ways ib_send_lat -F -u 18 -n 20
for kind in uc ud xsrq; do check $kind both_ways ibv_${kind}_pingpong -n 20; done
check rc_data between shib1 shib2 ibv_rc_pingpong -c -s 100003 -n 20
for program in ib_write_bw ib_read_bw ib_send_bw; do
	check $program both_ways $program -F -u 18 -s 65536 -n 100
done
nothing_is_lost() {
	local name n
	for n in 1 2; do
		for name in tx_dropped_locally rx_backlog_drops rx_buffer_overruns rx_credit_errors rx_malformed rx_vcrc_errors; do
			[ "$(counter shib$n $name)" = 0 ] || { echo "shib$n $name: $(counter shib$n $name)"; return 1; }
		done
	done
	# (A port counts what it sends before it is Active.)
	ibqueryerrors -C shib1 --switch --suppress PortXmitWait >/tmp/out 2>&1
	! grep -E '\[[A-Z]' /tmp/out
}
check nothing_is_lost nothing_is_lost
no_errors() { ! opensm_errors "$@"; }
check opensm_has_no_errors no_errors

# ---- either process, under traffic
seconds=$(((10 + 10 * rounds) * slow))
ib_write_bw -F -d shib2 -u 18 -D $seconds >/tmp/server 2>&1 &
server=$!
wait_for 20 listening "" 18515
ib_write_bw -F -d shib1 -u 18 -D $seconds 127.0.0.1 >/tmp/client 2>&1 &
client=$!
flows() { [ "$(counter shib2 rx_packets)" -gt $((before + 500)) ]; }
goes_on() {
	before=$(counter shib2 rx_packets)
	wait_for 60 flows
}
check traffic goes_on
for ((round = 1; round <= rounds; round++)); do
	for n in 1 2; do
		kill -9 "${fabrics[n]}"
		check killed.$round.$n.down wait_for 20 has shib$n state DOWN
		run start_fabric $n
		check killed.$round.$n.active both_active
		check killed.$round.$n.traffic goes_on
	done
done
check client wait $client
check server wait $server
