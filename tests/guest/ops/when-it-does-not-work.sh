#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# docs/when-it-does-not-work.md: each line there is provoked, and what a program says
# then is what the page says; no line is left over. About 60 s.
#
# timeout: 240
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

page=$test_programs/docs/when-it-does-not-work.md
hello=/usr/local/share/softhca/examples/hello
libraries=(/usr/lib/*-linux-gnu/libibverbs/libsofthca-rdmav*.so)
library=${libraries[0]}
make_pair 1500
softhca_is_first=$(rdma link show | grep -c shca)
[ "$softhca_is_first" -gt 0 ] || fail "no device"

# The symptoms, with our device's name and the ABI of this rdma-core
symptoms() {
	# shellcheck disable=SC2016 # Markdown's marks
	sed -n 's/^| `\([^`]*\)`.*/\1/p' "$page" | sed "s/shca0/shca_a/; s/libsofthca-rdmav34.so/${library##*/}/"
}
: >/tmp/provoked
# provokes NAME SYMPTOM COMMAND... : the page has this symptom, and COMMAND says it
provokes() {
	local name=$1 symptom=$2
	shift 2
	echo "$symptom" >>/tmp/provoked
	check "$name" shows "$symptom" "$@"
}
shows() {
	local symptom=$1
	shift
	symptoms | grep -q -x -F -e "$symptom" || { echo "not on the page: $symptom"; return 1; }
	"$@" >/tmp/said 2>&1
	cat /tmp/said
	grep -q -F -e "$symptom" /tmp/said
}
# without FILE COMMAND... : while FILE is away (libibverbs reads whatever is in
# libibverbs.d)
without() {
	local file=$1 away=${1/libibverbs.d\//}.away status=0
	shift
	mv "$file" "$away"
	"$@" || status=$?
	mv "$away" "$file"
	return "$status"
}
devinfo() { ibv_devinfo -d shca_a; }

provokes add.type 'error: Invalid argument' rdma link add shca_x type softhcaa netdev lo
provokes add.name 'error: File exists' rdma link add shca_a type softhca netdev lo
provokes add.user 'error: Operation not permitted' as_nobody rdma link add shca_x type softhca netdev lo
case $(uname -r) in
6.[0-9].* | 6.1[0-2].* | 6.1[0-2]-*)
	add_device shca_first lo
	provokes rxe_after 'could not insert '"'rdma_rxe'"': Operation not permitted' modprobe rdma_rxe
	run rdma link delete shca_first
	;;
*) echo "could not insert 'rdma_rxe': Operation not permitted" >>/tmp/provoked ;;
esac
rxe_is_first() {
	local status=0
	modprobe rdma_rxe && rdma link add shca_rxe type rxe netdev lo || return
	rdma link add shca_x type softhca netdev lo || status=$?
	rdma link delete shca_rxe
	modprobe -r rdma_rxe
	return "$status"
}
provokes rxe_before 'error: Address already in use' rxe_is_first

no_driver="couldn't load driver '${library##*/}'"
not_found="IB device 'shca_a' wasn't found"
provokes open.no_provider "$no_driver" without "$library" devinfo
other_abi() { cp "$library.away" "${library%rdmav*}rdmav99.so"; devinfo; rm "${library%rdmav*}rdmav99.so"; }
provokes open.other_abi "$no_driver" without "$library" other_abi
provokes open.no_driver_file "$not_found" without /etc/libibverbs.d/softhca.driver devinfo
check open.no_driver_file_no_warning eval '! grep -i warning /tmp/said'
provokes open.no_uverbs "$not_found" without /dev/infiniband devinfo
provokes open.no_rdma_cm 'failed to create RDMA CM event channel: No such file or directory' \
	without /dev/infiniband/rdma_cm rping -s -a $ip4_a
private() { chmod 600 /dev/infiniband/uverbs*; as_nobody ibv_devinfo -d shca_a; chmod 666 /dev/infiniband/uverbs*; }
provokes open.mode_600 'Failed to open device' private
little_memory() { (ulimit -l 8; as_nobody timeout $((60 * slow)) ibv_rc_pingpong -d shca_a -g 1 -s 65536); }
provokes open.memlock "Couldn't register MR" little_memory
check open.memlock_warning grep RLIMIT_MEMLOCK /tmp/said

# pingpong OPTIONS_A OPTIONS_B : between a and b
pingpong() {
	# shellcheck disable=SC2086 # several words
	between_pair timeout $((30 * slow)) ibv_rc_pingpong -n 10 -d shca_b $2 -- \
		timeout $((30 * slow)) ibv_rc_pingpong -n 10 -d shca_a $1 ADDRESS
}
gid4_a=$(gid_index shca_a $ip4_a) gid4_b=$(gid_index shca_b $ip4_b) gid6_b=$(gid_index shca_b $ip6_b)
rtr='Failed to modify QP to RTR'
check connects pingpong "-g $gid4_a" "-g $gid4_b"
provokes rtr.no_g "$rtr" pingpong "" ""
provokes rtr.unused "$rtr" pingpong "-g $gid4_a" "-g 99"
provokes rtr.families "$rtr" pingpong "-g $gid4_a" "-g $gid6_b"
provokes rtr.mtu "$rtr" pingpong "-g $gid4_a -m 2048" "-g $gid4_b -m 2048"
provokes traffic.path_mtu 'remote invalid request error' pingpong "-g $gid4_a -m 512" "-g $gid4_b -m 1024"
check traffic.path_mtu_short pingpong "-g $gid4_a -m 512 -s 512" "-g $gid4_b -m 1024 -s 512"
# (within one namespace, without packets, it is the same)
provokes traffic.path_mtu_direct 'remote invalid request error' on_itself ibv_rc_pingpong -n 10 -d shca_a -g "$gid4_a" -m 1024 -- \
	ibv_rc_pingpong -n 10 -d shca_a -g "$gid4_a" -m 512 ADDRESS
provokes cm.nobody 'RDMA_CM_EVENT_ADDR_ERROR, error -110' in_a timeout $((20 * slow)) rping -c -C 1 -a ${ip4_a%.*}.77
provokes cm.localhost 'rdma_resolve_route: No such device' in_a timeout $((20 * slow)) rping -c -C 1 -a 127.0.0.1

check hello in_a "$hello" shca_a shca_b
unseen() {
	: >/tmp/tcpdump
	ip netns exec "$ns_a" tcpdump --immediate-mode -ni any udp port 4791 2>/tmp/tcpdump &
	local pid=$!
	wait_for 20 grep -q 'listening on' /tmp/tcpdump || return
	"$hello" shca_a || return
	kill -TERM $pid
	wait $pid
	cat /tmp/tcpdump
}
provokes unseen '0 packets captured' unseen
run in_b nft add table inet filter
run in_b nft add chain inet filter input '{ type filter hook input priority 0; }'
run in_b nft add rule inet filter input udp dport 4791 drop
provokes traffic.firewall 'transport retry counter exceeded' timeout $((30 * slow)) "$hello" shca_a shca_b
run in_b nft flush ruleset
check hello_again in_a "$hello" shca_a shca_b
run ip -n $ns_a link set veth_a down
run wait_for 10 grep -q DOWN /sys/class/infiniband/shca_a/ports/1/state
provokes down 'PORT_DOWN' devinfo

rxe_is_loaded() {
	local status=0
	modprobe -r softhca && modprobe rdma_rxe || return
	modprobe softhca as_rxe=1 || status=$?
	modprobe -r rdma_rxe && modprobe softhca || return
	return "$status"
}
provokes as_rxe "could not insert 'softhca': Device or resource busy" rxe_is_loaded

nothing_is_left() { diff <(symptoms | sort -u) <(sort -u /tmp/provoked); }
check nothing_is_left nothing_is_left
