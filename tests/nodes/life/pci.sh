#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The parent of a device is the PCI function of its netdev (fabric0, a virtio device): what NCCL,
# UCX and Kubernetes' device plugins read of it. The function loses its driver, and is removed,
# under traffic: so is the device, and both come back.
#
# timeout: 300
. "$(dirname "$0")/../lib.sh"

[ -e /sys/class/net/fabric0 ] || skip "no fabric (scripts/qemu/vm --fabric)"
parameter=/sys/module/softhca/parameters/pci_parent
before=$(cat $parameter)
echo Y >$parameter
at_exit bash -c "echo $before >$parameter"

function=$(realpath /sys/class/net/fabric0/device/..)
name=${function##*/}

add() {
	ip link set fabric0 up && ip address replace 10.89.0.1/24 dev fabric0 &&
		rdma link add shp type softhca netdev fabric0 && wait_for 10 gid_index shp 10.89.0.1
}
run add
at_exit rdma link delete shp

is() { [ "$(realpath "$1")" = "$2" ]; }
# (NCCL takes it for the place only if the subsystem is called pci)
check nccl.path is /sys/class/infiniband/shp/device "$function"
check nccl.subsystem is /sys/class/infiniband/shp/device/subsystem /sys/bus/pci
check rdmamap [ -d "/sys/bus/pci/devices/$name/infiniband/shp" ]
check verbs [ -d "$function"/infiniband_verbs/uverbs0 -o -d "$function"/infiniband_verbs/uverbs1 ]
ucx() { ucx_info -d | tee /tmp/out | grep -A20 'Device: shp:1'; grep -q "shp:1" /tmp/out; }
if command -v ucx_info >/dev/null; then check ucx ucx; fi

# ---- a device whose netdev has no PCI function, and one that shall have no parent
run ip link add veth8 type veth peer veth9
at_exit ip link delete veth8
run rdma link add shv type softhca netdev veth8
check veth_has_none [ ! -e /sys/class/infiniband/shv/device ]
run rdma link delete shv
run rdma link delete shp
echo N >$parameter
run add
check off_has_none [ ! -e /sys/class/infiniband/shp/device ]
echo Y >$parameter
run rdma link delete shp

# ---- its driver, and it itself, go under traffic
traffic() {
	ibv_rc_pingpong -d shp -g "$(gid_index shp 10.89.0.1)" -n 100000000 >/tmp/server 2>&1 &
	wait_for 20 listens || return
	ibv_rc_pingpong -d shp -g "$(gid_index shp 10.89.0.1)" -n 100000000 localhost >/tmp/client 2>&1 &
	client=$!
	wait_for 20 moves
}
listens() { ss -Hltn 'sport = :18515' | grep -q .; }
moves() { [ "$(rdma resource show qp link shp | grep -c 'state RTS.*ibv_rc_pingpong')" = 2 ]; }
ended() { ! kill -0 "$client" 2>/dev/null; }
is_gone() { [ ! -e /sys/class/infiniband/shp ] && [ ! -e "$function/infiniband" ]; }
# (the kernel names it first)
is_back() {
	local found
	for found in "$function"/virtio*/net/*; do
		found=${found##*/}
		[ -e "/sys/class/net/$found" ] || return
		[ "$found" = fabric0 ] || ip link set "$found" name fabric0
	done
}
for round in 1 2 3; do
	for how in unbind remove; do
		run add
		run traffic
		if [ $how = unbind ]; then
			run bash -c "echo $name >/sys/bus/pci/drivers/virtio-pci/unbind"
		else
			run bash -c "echo 1 >/sys/bus/pci/devices/$name/remove"
		fi
		check $round.$how.is_gone is_gone
		check $round.$how.programs_end wait_for 20 ended
		if [ $how = unbind ]; then
			run bash -c "echo $name >/sys/bus/pci/drivers/virtio-pci/bind"
		else
			run bash -c 'echo 1 >/sys/bus/pci/rescan'
		fi
		run wait_for 20 is_back
	done
done
run add
check works_again is /sys/class/infiniband/shp/device "$function"
