#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# `softhca compat rxe`: what public scripts do with rdma_rxe, they do with softhca. Each judge
# below runs the commands of one of them. Where the kernel has rdma_rxe, the judges run with it
# first, and must print the same with softhca. Refusals: as_rxe=1 while rdma_rxe is loaded, and
# rdma_rxe after it. About 20 s.
#
# timeout: 300
. "$(dirname "$0")/../lib.sh"

conf=/etc/modprobe.d/softhca-rxe.conf
rxe=$(modinfo -F filename rdma_rxe 2>/dev/null)
no_rxe="# this kernel has no rdma_rxe"
remove_modules() {
	modprobe -r softhca
	! grep -q '^rdma_rxe ' /proc/modules || rmmod rdma_rxe
}
at_exit remove_modules
run remove_modules
at_exit softhca compat rxe off
at_exit ip link del eth_rxe
run ip link add eth_rxe type veth peer name eth_peer
for netdev in eth_rxe eth_peer; do run ip link set $netdev up; done
run ip addr add $ip4_a/24 dev eth_rxe

# ---- judges: what they print does not depend on the driver

links() { rdma link show | sed -n 's,^link \([^/]*\)/.* netdev \(.*[^ ]\) *$,\1 on \2,p'; }

# buildroot's test: no modprobe, the link type loads its module; traffic to oneself
buildroot() {
	rdma link add rxe0 type rxe netdev eth_rxe && links || return
	ibv_devices | sed -n 's/^ *\([^ ]*\).*/\1/p' | tail -n +3
	rdma link delete rxe0 && links
}

# kind's set-up of a node: exclusive mode first; a link that is there stays
kind() {
	modprobe rdma_rxe 2>&1 || echo "WARN: no module"
	rdma system set netns exclusive || echo "still shared"
	for _ in 1 2; do
		rdma link show rxe0 >/dev/null 2>&1 || rdma link add rxe0 type rxe netdev eth_rxe || echo "WARN: no link"
		links
	done
	rdma link delete rxe0
	rdma system set netns shared
	rdma system show | grep -o 'netns [a-z]*'
}

# valkey's test: all modules by hand; finds the address by GID 0's netdev; all virtual devices go
valkey() {
	local device netdev
	modprobe rdma_cm && modprobe udp_tunnel && modprobe ip6_udp_tunnel && modprobe ib_uverbs || return
	modprobe rdma_rxe || return
	[ -e /sys/class/infiniband/rxe_eth_rxe ] || rdma link add rxe_eth_rxe type rxe netdev eth_rxe || return
	for device in /sys/class/infiniband/*; do
		read -r netdev <"$device/ports/1/gid_attrs/ndevs/0" || return
		echo "${device##*/}: $(ip -4 -o addr show dev "$netdev" | sed -n 's/.*inet \([^/]*\).*/\1/p')"
		[[ $(readlink "$device") == *virtual* ]] && rdma link del "${device##*/}"
	done
	rmmod rdma_rxe 2>/dev/null
	links
}

# blktests with use_rxe: the driver must be there or load; a device on each Ethernet netdev,
# found by `rdma link`; then they go, and the module
blktests() {
	local netdev device
	[ -d /sys/module/rdma_rxe ] || modprobe -q rdma_rxe || return
	modprobe rdma_rxe || return
	for netdev in eth_peer eth_rxe; do
		[ "$(</sys/class/net/$netdev/addr_len)" = 6 ] || continue
		rdma link | grep -q " netdev ${netdev}[[:blank:]]*\$" && continue
		rdma link add "${netdev}_rxe" type rxe netdev "$netdev" || echo "Failed to bind the rxe driver to $netdev"
	done
	links
	rdma link show eth_rxe_rxe/1 | sed 's/.* netdev //;s/[[:blank:]]*$//'
	rdma link | sed -n 's,^link[[:blank:]]*\([^/]*\)/.* netdev .*,\1,p' | while read -r device; do
		rdma link del "$device" || echo "Failed to remove $device"
	done
	modprobe -r rdma_rxe || return
	[ ! -e /sys/module/rdma_rxe ] && links
}

# SPDK's rxe_cfg_small.sh: start, add, status, stop. (It adds by a module parameter, which
# rdma_rxe lost in Linux 5.17. Since then it fails there and leaves adding to rdma.)
spdk() {
	local module device netdev mtu
	for module in ib_core ib_uverbs rdma_ucm rdma_rxe; do
		[ -e /sys/module/$module ] || [ -e "$(modinfo -F filename $module)" ] || return
	done
	modprobe -q -a ib_core ib_uverbs rdma_ucm rdma_rxe || return
	[ -e /sys/module/rdma_rxe/parameters ] || rdma link add rxe0 type rxe netdev eth_rxe || return
	wait_for 10 has_node rxe0
	for device in /sys/class/infiniband/*; do
		[ -e "$device/parent" ] || continue
		netdev=$(<"$device/parent")
		[[ $(ibv_devinfo -d "${device##*/}") =~ active_mtu:(.*\ \(.*\)) ]] && mtu=${BASH_REMATCH[1]}
		echo "${device##*/} on $netdev, active_mtu $mtu"
	done
	modprobe -q -r rdma_rxe && [ ! -e /sys/module/rdma_rxe ] && links
}

judges="buildroot kind valkey blktests spdk"
if [ -n "$rxe" ]; then
	for judge in $judges; do
		$judge >"/tmp/rxe.$judge" 2>&1 || fail "$judge with rdma_rxe: $(</tmp/rxe."$judge")"
	done
fi

# ---- refusals, without a warning (guest/run looks)

# (dmesg also has the lines of other tests)
logged() { dmesg | sed -n '/softhca-test: begin ops.compat-rxe$/,$p' | grep -F "softhca: $1"; }
busy_module() { says 1 'Device or resource busy' modprobe softhca as_rxe=1 && logged 'as_rxe=1 is refused: rdma_rxe is loaded'; }
is_off() { [ ! -e $conf ] && says 0 'file    none' softhca compat rxe status; }
check off_at_first is_off
if [ -n "$rxe" ]; then
	run modprobe rdma_rxe
	check refused.tool_while_rxe_is_loaded says 1 'rdma_rxe is loaded and has link type rxe' softhca compat rxe on
	check refused.module_while_rxe_is_loaded busy_module
	check refused.without_the_parameter_both_load modprobe softhca
	run rmmod rdma_rxe
else
	echo "skip refused.while_rxe_is_loaded $no_rxe"
	modprobe softhca
fi
check refused.tool_while_the_module_has_no_type says 1 "loaded without link type rxe (try 'modprobe -r softhca')" softhca compat rxe on
check refused.nothing_is_written is_off
run modprobe -r softhca
not_root() { says 1 'softhca-rxe.conf: Permission denied' as_nobody softhca compat rxe on; }
check refused.not_root not_root

# ---- on

check on says 0 "file    $conf" softhca compat rxe on
check on.twice says 0 'module  not loaded' softhca compat rxe on
# same JUDGE : as with rdma_rxe, and otherwise that it succeeds and makes a device
same() {
	$1 >"/tmp/softhca.$1" 2>&1 || { cat "/tmp/softhca.$1"; return 1; }
	if [ -n "$rxe" ]; then diff "/tmp/rxe.$1" "/tmp/softhca.$1"; else grep ' on eth_rxe\|: ' "/tmp/softhca.$1"; fi
}
# (modinfo reads no aliases, and SPDK's script then does nothing)
[ -n "$rxe" ] || { judges=${judges% spdk}; echo "skip script.spdk $no_rxe"; }
for judge in $judges; do check "script.$judge" same "$judge"; done

run rdma link add rxe0 type rxe netdev eth_rxe
run wait_for 10 port_active rxe0
run wait_for 10 has_node rxe0
is_softhca() { grep -qx softhca /sys/class/infiniband/rxe0/hca_type; }
check is_softhca is_softhca
check loaded says 0 'loaded, has link type rxe' softhca compat rxe status
check traffic between_namespaces "" "" ib_read_bw -d rxe0 -n 100 -- timeout $((60 * slow)) ib_read_bw -d rxe0 -n 100 127.0.0.1
if [ -n "$rxe" ]; then
	refused_insmod() { says 1 'Device or resource busy' insmod "$rxe" && logged 'rdma_rxe is refused'; }
	check refused.rxe_after_it refused_insmod
	check refused.rxe_left_nothing eval "[ ! -e /sys/module/rdma_rxe ] && rdma link show rxe0/1"
else
	echo "skip refused.rxe_after_it $no_rxe"
fi
own_type() { rdma link add shca_own type softhca netdev eth_peer && rdma link delete shca_own; }
check own_type_is_there own_type

# ---- off

check off says 0 'file    none' softhca compat rxe off
check off.a_loaded_module_keeps_the_type says 0 'loaded, has link type rxe' softhca compat rxe off
run modprobe -r softhca
check off.link_is_gone eval "[ ! -e /sys/class/infiniband/rxe0 ]"
if [ -n "$rxe" ]; then
	run modprobe softhca
	back() { modprobe rdma_rxe && rdma link add rxe0 type rxe netdev eth_rxe && [ ! -e /sys/class/infiniband/rxe0/hca_type ]; }
	check off.rxe_is_itself_again back
else
	refused_type() { refused rdma link add rxe0 type rxe netdev eth_rxe; }
	run modprobe softhca
	check off.no_type refused_type
fi
