#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# A process that is stopped (SIGSTOP) has no CPU, and its queue pairs are alive: the
# kernel answers for them. Who sends to it sees RNR at most, others see nothing, and all
# of it goes on with SIGCONT. To end the device does not wait for it.
#
# STOP_SECONDS (make soak: 120, else 8)
# timeout: 180
# soak: yes
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

seconds=${STOP_SECONDS:-${SHCA_SOAK:+120}}
make_pair 1500
start_traffic other shca_a shca_b -u 18
hold stopped -d shca_a -p shca_b
run wait_for 20 said stopped traffic
end=$((SECONDS + ${seconds:-8})) rounds=0
while [ $SECONDS -lt $end ]; do
	kill -STOP "${holder[stopped]}"
	sleep $((rounds % 3 + 1))
	traffic_is_alive other || break
	kill -CONT "${holder[stopped]}"
	alive stopped || break
	rounds=$((rounds + 1))
done
check goes_on_with_sigcont [ $rounds -ge 2 ]
check others_see_nothing end_traffic other

# another process's peer is stopped: half of a receiver and client each
ip netns exec $ns_b ib_send_bw -F -d shca_b -x "$(gid_index shca_b $ip4_b)" -s 4096 -n 20000 -u 20 >/tmp/stop.b 2>&1 &
receiver=$!
at_exit kill -KILL $receiver
run wait_for 20 listening $ns_b 18515
ip netns exec $ns_a ib_send_bw -F -d shca_a -x "$(gid_index shca_a $ip4_a)" -s 4096 -n 20000 -u 20 $ip4_b >/tmp/stop.a 2>&1 &
client=$!
sleep 1
kill -STOP $receiver
sleep 3
kill -CONT $receiver
check receiver.client wait $client
check receiver.it wait $receiver
grep -hE '^ *4096 ' /tmp/stop.a /tmp/stop.b

kill -STOP "${holder[stopped]}"
check link_delete within $((removal_seconds * 1000)) "rdma link show" rdma link delete shca_a
kill -CONT "${holder[stopped]}"
check holder_notices released stopped
