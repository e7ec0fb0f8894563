# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Helpers for the tests that need two machines; a test sources it first:
#
#   . "$(dirname "$0")/../lib.sh"
#
# It runs on node1, reaches node2 by ssh; both have the device shca0 on eth0:
#
#   .------ node1 ------.             .------ node2 ------.
#   |  shca0 on eth0    |             |   shca0 on eth0   |
#   |  10.88.0.1/24     | <---------> |      10.88.0.2/24 |
#   |  fd88::1/64       |             |        fd88::2/64 |
#   '-------------------'             '-------------------'
#
# Everything of ../guest/lib.sh that is not about its two namespaces serves here.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/guest/lib.sh
. "$here/../guest/lib.sh"

# shellcheck disable=SC2034 # for the tests
ip4_1=10.88.0.1 ip4_2=10.88.0.2 ip6_1=fd88::1 ip6_2=fd88::2

# One connection for all calls: in an emulated guest each takes a second or two.
ssh_options=(-o ControlPath=/tmp/nodes.%h -o ConnectTimeout=10)

# on NODE COMMAND... : words arrive as they are
on() {
	local node=$1 words
	shift
	printf -v words '%q ' "$@"
	ssh -n "${ssh_options[@]}" "$node" "$words"
}

# remote NODE FUNCTION ARGUMENT... : a function of this file, there
remote() {
	local node=$1
	shift
	# shellcheck disable=SC2016 # expanded there
	on "$node" bash -c '. "$0/lib.sh"; "$@"' "$here" "$@"
}

# make_device MTU : eth0 and the device on it, here; without an exit command
make_device() {
	ip link set eth0 mtu "$1" &&
		rdma link add shca0 type softhca netdev eth0 &&
		wait_for 10 port_active shca0 &&
		wait_for 10 gid_index shca0 "$2" &&
		wait_for 10 gid_index shca0 "$3"
}

# make_nodes [MTU] : the whole picture
make_nodes() {
	local mtu=${1:-1500}
	run ssh -fNM "${ssh_options[@]}" node2
	at_exit ssh "${ssh_options[@]}" -O exit node2
	at_exit rdma link delete shca0
	at_exit on node2 rdma link delete shca0
	run remote node2 make_device "$mtu" $ip4_2 $ip6_2
	run make_device "$mtu" $ip4_1 $ip6_1
}

# set_mtu MTU : of both
set_mtu() {
	run ip link set eth0 mtu "$1"
	run on node2 ip link set eth0 mtu "$1"
}

# between_nodes SERVER... -- CLIENT... : a server on node2, its client here;
# fails where either does
between_nodes() {
	local server=() log=/tmp/between_nodes.$$ pid status=0
	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	shift
	remote node2 serve "${server[@]}" >"$log" 2>&1 &
	pid=$!
	wait_for 30 grep -q '^serve: listening' "$log" || status=1
	[ "$status" != 0 ] || "$@" || status=$?
	[ "$status" = 0 ] || on node2 pkill -x "$(cut -c1-15 <<<"${server[0]}")"
	wait "$pid" || status=$((status ? status : $?))
	if [ "$status" != 0 ]; then
		echo "server's output:"
		cat "$log"
	fi
	rm -f "$log"
	return "$status"
}

# serve COMMAND... : runs it and says when it listens, by TCP or by rdma_cm
serve() {
	local pid
	"$@" &
	pid=$!
	wait_for 20 server_listens "$pid" && echo "serve: listening"
	wait "$pid"
}
server_listens() {
	ss -Hltnp | grep -q "pid=$1," || rdma resource show cm_id | grep -q "state LISTEN.* pid $1 "
}
