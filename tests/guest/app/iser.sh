#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# timeout: 240
#
# iSER, target and initiator in this kernel: a disk is written and read back,
# compared on both sides, holds an ext4; the target dies and comes back; then the
# device goes. About 45 s.
. "$(dirname "$0")/../lib.sh"

address=10.78.0.1 disk=/tmp/iser-disk size_mib=32
# shellcheck source=tests/guest/disk
. "$(dirname "$0")/../disk"
iqn=iqn.2026-01.test.softhca:disk
target=/sys/kernel/config/target
command -v iscsiadm >/dev/null || skip "no open-iscsi"
# (sd_mod: nobody loads it when the disk appears)
for module in target_core_mod target_core_file iscsi_target_mod ib_isert ib_iser sd_mod; do
	modprobe $module || skip "this kernel has no $module"
done
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

truncate -s ${size_mib}M $disk
at_exit rm -f $disk
store=$target/core/fileio_0/disk tpg=$target/iscsi/$iqn/tpgt_1
run mkdir -p $store
at_exit rmdir $store $target/core/fileio_0
set_to $store/control "fd_dev_name=$disk,fd_dev_size=$((size_mib << 20))"
set_to $store/enable 1
run mkdir -p $tpg/lun/lun_0
at_exit rmdir $tpg/lun/lun_0 $tpg $target/iscsi/$iqn
run ln -s $store $tpg/lun/lun_0/disk
at_exit rm -f $tpg/lun/lun_0/disk
run mkdir "$tpg/np/$address:3260"
at_exit rmdir "$tpg/np/$address:3260"
set_to "$tpg/np/$address:3260/iser" 1
set_to $tpg/attrib/authentication 0
set_to $tpg/attrib/generate_node_acls 1
set_to $tpg/attrib/demo_mode_write_protect 0
set_to $tpg/enable 1

mkdir -p /etc/iscsi /run/lock/iscsi
echo "InitiatorName=iqn.2026-01.test.softhca:initiator" >/etc/iscsi/initiatorname.iscsi
# (in a session of its own: at its end it ends its process group)
setsid iscsid -f >/tmp/iscsid.log 2>&1 &
at_exit kill $!
initiator_listens() { ss -xl | grep -q ISCSIADM; }
run wait_for 10 initiator_listens

node() { iscsiadm -m node -T $iqn -p $address "$@"; }
log_in() {
	iscsiadm -m node -o new -T $iqn -p $address -I iser &&
		node -o update -n node.session.timeo.replacement_timeout -v 20 &&
		node --login && wait_for 20 has_disk
}
block() { find /sys/class/iscsi_session/session*/device/target*/*:0/block -mindepth 1 -maxdepth 1 -printf '/dev/%f\n' 2>/dev/null | head -n 1; }
has_disk() { [ -b "$(block)" ]; }
at_exit node --logout
check log_in log_in

check data data_is_right

check ext4 filesystem

# ---- the target dies in mid-write and comes back: whoever wrote never knows

connection_state() { cat /sys/class/iscsi_connection/connection*/state; }
is_up() { [ "$(connection_state)" = up ]; }
is_down() { ! is_up; }
write_and_compare() {
	dd if="$disk-data" of="$device" bs=64k oflag=direct status=none &&
		cmp -n $((4 << 20)) "$disk-data" $disk
}
keeps_writing() { while [ -e /tmp/iser-go ]; do write_and_compare || return; done; }
target_dies() { echo 0 >$tpg/enable && wait_for 20 is_down; }
target_returns() {
	echo 1 >$tpg/enable && wait_for 20 is_up && rm /tmp/iser-go && wait $writer
}
device=$(block)
: >/tmp/iser-go
keeps_writing &
writer=$!
check target_dies target_dies
check target_returns target_returns

# ---- the device goes while both use it

check link_delete_in_use link_delete shca_a
ends() { ! timeout $((60 * slow)) dd if="$(block)" of=/dev/null bs=4k count=1 iflag=direct status=none; }
check access_ends_with_an_error ends
log_out() { timeout $((30 * slow)) iscsiadm -m node -T $iqn -p $address --logout; }
check log_out log_out
