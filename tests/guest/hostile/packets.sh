#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# timeout: 120
#
# Truncated, oversized, flipped and forged packets of every opcode
# (tests/userspace/wire/hostile): first one kind after the other against QPs of
# every type, with exact counts; then a random mixture against QPs that carry
# verified traffic. About 30 s; SHCA_SOAK: the mixture for 30 minutes.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

hostile=$test_programs/wire/hostile
python3 -c 'import pyverbs.qp' || skip "python3-pyverbs is not installed"
seconds=8
[ -z "${SHCA_SOAK-}" ] || seconds=1800
seed=${SHCA_SEED:-$RANDOM$RANDOM}

make_namespaces 1500
add_device shca_a veth_a "$ns_a"
run wait_for 10 gid_index shca_a "$ip4_a"
run in_a softhca dev set shca_a path wire
"$hostile" kinds --seed "$seed" || [ $? = 1 ] || fail "hostile kinds"
setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all "$hostile" local || [ $? = 1 ] || fail "hostile local"

add_device shca_b veth_b "$ns_b"
run wait_for 10 gid_index shca_b "$ip4_b"
start_traffic wire shca_a shca_b -f 4
"$hostile" live /tmp/traffic.wire --seconds "$seconds" --seed "$seed" || [ $? = 1 ] || fail "hostile live"
check live.traffic_goes_on traffic_is_alive wire

# docs/security.md: an ordinary socket could send to the port from the peer's
# address; a rule keeps it out and leaves the device alone
to_the_port() {
	in_b setpriv --reuid=65534 --clear-groups python3 -c "import socket
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(bytes(64), ('$ip4_a', 4791))"
}
local_users_can_be_kept_out() {
	to_the_port || return 1
	for ns in $ns_a $ns_b; do
		ip netns exec "$ns" nft 'add table inet own; add chain inet own out { type filter hook output priority 0; };
			add rule inet own out udp dport 4791 meta skuid != 0 drop'
	done
	! to_the_port && between_pair ibv_rc_pingpong -c -n 50 -d shca_b -g "$(gid_index shca_b "$ip4_b")" -- \
		ibv_rc_pingpong -c -n 50 -d shca_a -g "$(gid_index shca_a "$ip4_a")" ADDRESS
}
check live.local_users_can_be_kept_out local_users_can_be_kept_out
check live.traffic_is_right end_traffic wire
