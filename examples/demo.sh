#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# What softhca does, shown in one go: two network namespaces joined by a virtual
# cable, one softhca device in each, and ordinary RDMA programs between them.
# Needs root, the module, the provider, ibverbs-utils and perftest. `make demo`
# runs it in a guest; it works the same on a machine where softhca is installed.
#
#   .------- demo-a -------.           .------- demo-b -------.
#   |  shca0  on  veth-a   | <=======> |  shca1  on  veth-b   |
#   |  192.168.77.1        |           |        192.168.77.2  |
#   '----------------------'           '----------------------'

set -u
address_b=192.168.77.2
results=()

title() { printf '\n--- %s\n' "$*"; }

run() {
	echo "\$ $*"
	"$@" || { echo "demo: failed: $*" >&2; exit 1; }
}

cleanup() {
	rdma link delete shca0
	rdma link delete shca1
	ip netns del demo-a
	ip netns del demo-b
} >/dev/null 2>&1
trap cleanup EXIT

# gid_index DEVICE : of the RoCEv2 GID that comes from the IPv4 address
gid_index() {
	local port=/sys/class/infiniband/$1/ports/1 index
	for index in {0..31}; do
		grep -q -i '^0000:0000:0000:0000:0000:ffff:c0a8:4d0' "$port/gids/$index" 2>/dev/null &&
			grep -q v2 "$port/gid_attrs/types/$index" 2>/dev/null && echo "$index" && return
	done
	return 1
}

# wait_for COMMAND... : up to ten seconds
wait_for() {
	local tries
	for tries in {1..100}; do
		! "$@" >/dev/null 2>&1 || return 0
		sleep 0.1
	done
	echo "demo: waited in vain for: $* ($tries tries)" >&2
	return 1
}
listening() { ip netns exec demo-b ss -Hltn | grep -q .; }

# between TITLE GID_OPTION PROGRAM ARGUMENT... : PROGRAM as server in b, as client in a
between() {
	local what=$1 x=$2 server
	shift 2
	title "$what"
	echo "b\$ $* -d shca1 $x $gid_b"
	ip netns exec demo-b "$@" -d shca1 "$x" "$gid_b" >/tmp/demo-server 2>&1 &
	server=$!
	wait_for listening || { cat /tmp/demo-server; exit 1; }
	echo "a\$ $* -d shca0 $x $gid_a $address_b"
	if ! ip netns exec demo-a "$@" -d shca0 "$x" "$gid_a" "$address_b" >/tmp/demo-client 2>&1; then
		cat /tmp/demo-client
		echo "demo: failed; the server said:"
		cat /tmp/demo-server
		kill "$server"
		exit 1
	fi
	wait "$server" || { cat /tmp/demo-server; echo "demo: the server failed"; exit 1; }
	cat /tmp/demo-client
}

title "two namespaces, one cable"
run ip netns add demo-a
run ip netns add demo-b
run ip link add veth-a mtu 9000 netns demo-a type veth peer name veth-b mtu 9000 netns demo-b
run ip -n demo-a addr add 192.168.77.1/24 dev veth-a
run ip -n demo-b addr add $address_b/24 dev veth-b
run ip -n demo-a link set veth-a up
run ip -n demo-b link set veth-b up

title "one device at each end"
run ip netns exec demo-a rdma link add shca0 type softhca netdev veth-a
run ip netns exec demo-b rdma link add shca1 type softhca netdev veth-b
wait_for gid_index shca0 || exit 1
wait_for gid_index shca1 || exit 1
gid_a=$(gid_index shca0)
gid_b=$(gid_index shca1)
run rdma link show
run ibv_devices

between "ping-pong; -c compares every byte that arrives" -g ibv_rc_pingpong -c -n 1000 -s 4096
results+=("verified ping-pong    $(sed -n '$p' /tmp/demo-client)")

# The last line of perftest's table: bytes, iterations, figures.
between "RDMA WRITE, bandwidth" -x ib_write_bw -F -s 65536 -n 2000
results+=("RDMA WRITE 64 KiB     $(awk '$1 == 65536 { print $4 " MiB/s on average" }' /tmp/demo-client)")

between "RDMA READ, bandwidth" -x ib_read_bw -F -s 65536 -n 1000
results+=("RDMA READ 64 KiB      $(awk '$1 == 65536 { print $4 " MiB/s on average" }' /tmp/demo-client)")

between "SEND, latency" -x ib_send_lat -F -s 64 -n 1000
results+=("SEND 64 B             $(awk '$1 == 64 { print $5 " us median, one way" }' /tmp/demo-client)")

title "result"
printf '%s\n' "${results[@]}"
echo "demo: all of it worked"
