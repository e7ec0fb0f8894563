#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Verbs across an InfiniBand link, as verbs/* do it over RoCE: RC, UC, UD and XRC with each
# byte compared. Then what happens to their ports: kill -9 of either side, a netdev that
# goes down again and again, network namespaces that have the devices for themselves.
#
# timeout: 400
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"
. "$(dirname "$0")/../subnet"

command -v opensm >/dev/null || skip "this guest has no opensm"
modprobe ib_umad || skip "this kernel has no ib_umad"

rounds=${ROUNDS:-${SHCA_SOAK:+50}}
rounds=${rounds:-2}
two_ports 4230
start_opensm -s 1
both_active
between_ports() { verbs "$1" "${@:2}" -d shib_a -p shib_b; }
if [ -n "${SHCA_SOAK-}" ]; then
	for program in qp_states cq_events rc_errors; do between_ports link $program; done
fi
between_ports rc rc_data
between_ports uc rc_data -q uc
between_ports xrc xrc
between_ports atomics atomics
check traffic timeout $((60 * slow)) "$test_programs/traffic" -d shib_a -p shib_b -n 50

# What an InfiniBand port has not: queue pairs of raw packets, and rules for them.
verbs device personality -d shib_a no_raw_packet no_flow

# ---- QPs of all links share their numbers: a rule does not see packets of another link
run add_device shca_l lo "$ns_a"
path_mismatches=$(counter shib_a rx_path_mismatch)
: >/tmp/another_link
in_a env PYTHONPATH="$(dirname "$0")/../helpers" python3 - <<-END &
	import os, socket, subprocess, time
	from ib_ends import End, e
	end = End("shib_a")
	qp = end.qp(e.IBV_QPT_RC)
	subprocess.run(["softhca", "fault", "add", "dev=shib_a", "do=drop", "dir=rx", f"qpn={qp.qp_num}"], check=True)
	bth = bytes([4, 0, 255, 255, 0]) + qp.qp_num.to_bytes(3, "big") + bytes(8)
	socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(bth, ("127.0.0.1", 4791))
	while os.path.exists("/tmp/another_link"):
	    time.sleep(0.1)
END
sender=$!
refused_by_its_link() { [ "$(counter shib_a rx_path_mismatch)" -gt "$path_mismatches" ]; }
check rule_of_another_link.packet_is_refused wait_for 20 refused_by_its_link
check rule_of_another_link.is_not_hit eval 'in_a softhca fault list | tee /dev/stderr | grep -q " hits 0$"'
run rm /tmp/another_link
run wait $sender
run in_a softhca fault del all
run rdma link delete shca_l

# ---- a process that is killed in full traffic
# (a QP of the kernel, as IPoIB's, has no pid)
nothing_left() { ! rdma resource show qp | grep -q ' pid '; }
both_hold() {
	hold_in "$ns_b" server -d shib_b --leave --listen 7471
	wait_for 20 listening "$ns_b" 7471 || return
	hold_in "$ns_a" client -d shib_a --leave --connect $ip4_b:7471
	wait_for 20 said server traffic && wait_for 20 said client traffic
}
hears_of_it() {
	wait_for 10 said "$1" 'ended: transport retry counter exceeded' && wait "${holder[$1]}" &&
		{ wait_for 5 nothing_left || { rdma resource show qp; return 1; }; }
}
declare -A other=([server]=client [client]=server)
for ((i = 0; i < rounds; i++)); do
	if ((i % 2)); then victim=server; else victim=client; fi
	check killed.traffic both_hold
	check "killed.$victim" kill_of "${holder[$victim]}"
	check "killed.${other[$victim]}_gets_retry_exc_err" hears_of_it "${other[$victim]}"
done

# ---- the netdev goes down and comes back
start_traffic flaps shib_a shib_b -u 18
flaps() {
	local i
	for ((i = 0; i < rounds; i++)); do
		in_a "$test_programs/guest/helpers/netdev-blip.py" veth_a 0.3 down && wait_for 30 has shib_a state ACTIVE &&
			wait_for 30 has shib_b state ACTIVE && traffic_is_alive flaps || return
	done
}
check flaps flaps
check flaps.traffic end_traffic flaps

# ---- exclusive namespaces: each device is seen in one of them, with a manager in a
kill $opensm_pid
wait $opensm_pid
run rdma link delete shib_a
run rdma link delete shib_b
run ip netns del "$ns_a"
run ip netns del "$ns_b"
run wait_for 10 no_namespaces
at_exit set_netns_mode shared
run set_netns_mode exclusive
make_namespaces 1500
# (up to 6.12 the core makes each device in the initial namespace)
add_there() { add_ib "$@" && { ! rdma dev show "$2" 2>/dev/null || rdma dev set "$2" netns "$1"; }; }
at_exit ip netns exec "$ns_a" rdma link delete shib_a
at_exit ip netns exec "$ns_b" rdma link delete shib_b
run add_there "$ns_a" shib_a veth_a
run add_there "$ns_b" shib_b veth_b
state_is() { ip netns exec "$1" rdma link show | grep -q " state $2 "; }
check exclusive.up wait_for 20 state_is "$ns_a" INIT
# A device that has moved tells of its port.
watch_events shib_a ip netns exec "$ns_a"
check exclusive.not_in_another refused in_b rdma dev show shib_a
ip netns exec "$ns_a" opensm -f /tmp/opensm.log >/tmp/opensm.out 2>&1 &
at_exit kill $!
check exclusive.active wait_for 60 state_is "$ns_a" ACTIVE
check exclusive.event wait_for 10 grep -q IBV_EVENT_PORT_ACTIVE /tmp/events
check exclusive.active_peer wait_for 60 state_is "$ns_b" ACTIVE
check exclusive.rc between_pair ibv_rc_pingpong -c -n 50 -d shib_b -- ibv_rc_pingpong -c -n 50 -d shib_a ADDRESS
