#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# timeout: 240
#
# SRP, target (LIO) and initiator in this kernel, by rdma_cm as on any RoCE device: a
# disk is written and read back, compared on both sides, holds an ext4; then the device
# goes. srptools look for targets at InfiniBand's subnet manager: not on RoCE. About 20 s.
. "$(dirname "$0")/../lib.sh"

address=10.78.0.1 disk=/tmp/srp-disk size_mib=32
# shellcheck source=tests/guest/disk
. "$(dirname "$0")/../disk"
target=/sys/kernel/config/target
# (sd_mod: nobody loads it when the disk appears)
for module in target_core_mod target_core_file ib_srp ib_srpt sd_mod; do
	modprobe $module || skip "this kernel has no $module"
done
at_exit modprobe -r ib_srpt
at_exit modprobe -r ib_srp
mountpoint -q /sys/kernel/config || run mount -t configfs none /sys/kernel/config

# Both ends live in the initial namespace.
run ip link add veth_a type veth peer name veth_b
at_exit ip link del veth_a
run ip addr add $address/24 dev veth_a
run ip link set lo up
run ip link set veth_a up
run ip link set veth_b up
add_device shca_a veth_a
run wait_for 10 gid_index shca_a $address

run mkdir -p $target/srpt
at_exit rmdir $target/srpt
set_to $target/srpt/discovery_auth/rdma_cm_port 5555
truncate -s ${size_mib}M $disk
at_exit rm -f $disk
read -r gid <"/sys/class/infiniband/shca_a/ports/1/gids/0"
# (its port's GUID: by that name initiators are known by address, by the GID by their id)
port=${gid: -19} store=$target/core/fileio_0/disk
tpg=$target/srpt/$port/$port
run mkdir -p $store
at_exit rmdir $store $target/core/fileio_0
set_to $store/control "fd_dev_name=$disk,fd_dev_size=$((size_mib << 20))"
set_to $store/enable 1
run mkdir -p "$tpg/lun/lun_0"
at_exit rmdir "$tpg/lun/lun_0" "$tpg" "$target/srpt/$port"
run ln -s $store "$tpg/lun/lun_0/disk"
at_exit rm -f "$tpg/lun/lun_0/disk"
# whom it lets in, by address
run mkdir -p "$tpg/acls/$address/lun_0"
at_exit rmdir "$tpg/acls/$address/lun_0" "$tpg/acls/$address"
run ln -s "$tpg/lun/lun_0" "$tpg/acls/$address/lun_0/lun"
at_exit rm -f "$tpg/acls/$address/lun_0/lun"
set_to "$tpg/enable" 1
at_exit eval "echo 0 >'$tpg/enable'"

block() { find /sys/class/srp_host/host*/device/target*/*:0/block -mindepth 1 -maxdepth 1 -printf '/dev/%f\n' 2>/dev/null | head -n 1; }
has_disk() { [ -b "$(block)" ]; }
add_target() {
	local guid
	guid=$(cat /sys/module/ib_srpt/parameters/srpt_service_guid)
	guid=${guid#0x}
	echo "id_ext=$guid,ioc_guid=$guid,dest=$address:5555" >/sys/class/infiniband_srp/srp-shca_a-1/add_target
}
# (after a log-out the initiator forgets the target a moment later than its disk)
log_in() { wait_for 20 add_target && wait_for 20 has_disk; }
log_out() {
	local port
	for port in /sys/class/srp_remote_ports/*; do
		[ ! -e "$port/delete" ] || echo 1 >"$port/delete"
	done
	wait_for 30 eval '! has_disk'
}
at_exit log_out
check log_in log_in
[ -b "$(block)" ] || { dmesg | tail -n 20; exit 1; }

check data data_is_right
used_rdma() { [ $(($(attribute shca_a counters/port_xmit_packets) + $(counter shca_a tx_direct_packets))) -gt 500 ]; }
check it_was_rdma used_rdma

check ext4 filesystem
check log_out log_out
check log_in_again log_in
check data_after_it data_is_right

# What finds targets on InfiniBand says that this is none.
if command -v ibsrpdm >/dev/null && modprobe ib_umad; then
	umad() { basename "$(dirname "$(grep -lx shca_a /sys/class/infiniband_mad/umad*/ibdev)")"; }
	no_infiniband() { ! ibsrpdm -d "/dev/infiniband/$(umad)" >/tmp/ibsrpdm 2>&1; grep 'Unsupported link layer' /tmp/ibsrpdm; }
	check ibsrpdm no_infiniband
fi

# ---- the device goes while both use it

device=$(block)
check a_disk_is_there [ -b "$device" ]
check link_delete_in_use link_delete shca_a
ends() { ! timeout $((60 * slow)) dd if="$device" of=/dev/null bs=4k count=1 iflag=direct status=none; }
check access_ends_with_an_error ends
