#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Kernel consumers: NVMe over RDMA, host and target in this kernel. That takes
# rdma_cm, fast registration, invalidation (local and by SEND), DMA MRs and
# completion handlers; once with receive queues of the target's queue pairs' own
# and a loop device behind it, once with its shared ones and null_blk. The data is
# compared. The target goes and returns, then the device goes. About 25 s.
#
# timeout: 240
. "$(dirname "$0")/lib.sh"

address=10.78.0.1 nqn=softhca-test
disk=/tmp/nvme-disk size_mib=8
target=/sys/kernel/config/nvmet

for module in nvmet-rdma nvme-rdma loop null_blk; do
	modprobe $module || skip "this kernel has no $module"
done
modprobe -r nvmet-rdma null_blk
at_exit modprobe -r nvme-rdma nvmet-rdma null_blk
mountpoint -q /sys/kernel/config || run mount -t configfs none /sys/kernel/config

# Both ends live in the initial namespace.
run ip link add veth_a type veth peer name veth_b
at_exit ip link del veth_a
run ip addr add $address/24 dev veth_a
run ip link set veth_a up
run ip link set veth_b up
add_device shca_a veth_a
run wait_for 10 gid_index shca_a $address

set_to() { echo "+ $2 > $1"; echo "$2" >"$1" || fail "$1 refuses $2"; }

# make_loop, make_null_blk : the block device that is served, in $backend
make_loop() {
	run truncate -s ${size_mib}M $disk
	backend=$(losetup -f --show $disk) || fail "no loop device"
	at_exit losetup -d "$backend"
}
make_null_blk() {
	# (a disk is named after its folder, or by number)
	local made=/sys/kernel/config/nullb/nullb0
	run modprobe null_blk nr_devices=0
	run mkdir $made
	at_exit rmdir $made
	set_to $made/memory_backed 1
	set_to $made/size $size_mib
	set_to $made/power 1
	backend=/dev/nullb0
	run wait_for 5 test -b "$backend"
}

serve() {
	local subsystem=$target/subsystems/$nqn port=$target/ports/1
	run mkdir $subsystem
	at_exit rmdir $subsystem
	set_to $subsystem/attr_allow_any_host 1
	run mkdir $subsystem/namespaces/1
	at_exit rmdir $subsystem/namespaces/1
	set_to $subsystem/namespaces/1/device_path "$backend"
	set_to $subsystem/namespaces/1/enable 1
	run mkdir $port
	at_exit rmdir $port
	set_to $port/addr_trtype rdma
	set_to $port/addr_adrfam ipv4
	set_to $port/addr_traddr $address
	set_to $port/addr_trsvcid 4420
	run ln -s $subsystem $port/subsystems/$nqn
	at_exit rm -f $port/subsystems/$nqn
}

controller() { grep -lx $nqn /sys/class/nvme/nvme*/subsysnqn 2>/dev/null | head -n 1 | xargs -r dirname; }
# the block device of the controller's namespace, whatever its name; a kernel
# without multipath has it with the controller
block() {
	local path
	for path in /sys/class/nvme-subsystem/nvme-subsys*/nvme*n1 /sys/class/nvme/nvme*/nvme*n1; do
		[[ $path =~ /nvme[0-9]+n1$ ]] && { echo "${path##*/}"; return; }
	done
}
has_block() { [ -n "$(block)" ] && [ -b "/dev/$(block)" ]; }
no_controller() { [ -z "$(controller)" ]; }

connect() {
	echo "transport=rdma,traddr=$address,trsvcid=4420,nqn=$nqn,nr_io_queues=2,ctrl_loss_tmo=5,reconnect_delay=1" \
		>/dev/nvme-fabrics && wait_for 20 has_block
}
disconnect() { echo 1 >"$(controller)/delete_controller" && wait_for 20 no_controller; }

# Through the device and back, past the page cache; what is behind the target agrees.
data_is_right() {
	local device bs
	device=/dev/$(block)
	head -c ${size_mib}M /dev/urandom >/tmp/nvme-data
	for bs in 4k 512k; do
		dd if=/dev/zero of="$device" bs=1M count=$size_mib oflag=direct status=none &&
			dd if=/tmp/nvme-data of="$device" bs=$bs oflag=direct status=none &&
			dd if="$device" of=/tmp/nvme-back bs=$bs count=$((size_mib * 1024 / ${bs%k})) iflag=direct status=none &&
			cmp /tmp/nvme-data /tmp/nvme-back &&
			dd if="$backend" of=/tmp/nvme-back bs=1M iflag=direct status=none &&
			cmp /tmp/nvme-data /tmp/nvme-back || return 1
	done
}
at_exit rm -f $disk /tmp/nvme-data /tmp/nvme-back

# A file system: what was written is there after it has been mounted anew.
filesystem() {
	local device where=/tmp/nvme-mount status=0
	device=/dev/$(block)
	mkdir -p $where
	mke2fs -q -F -t ext4 "$device" && mount "$device" $where || return
	head -c 2M /dev/urandom >/tmp/nvme-data
	cp /tmp/nvme-data $where/file && umount $where && e2fsck -f -n "$device" &&
		mount "$device" $where && cmp /tmp/nvme-data $where/file || status=1
	umount $where
	return $status
}

# Random writes in flight together, each block read back and its checksum compared.
fio_verifies() {
	command -v fio >/dev/null || { echo "no fio"; return 77; }
	fio --name=verify --filename="/dev/$(block)" --rw=randwrite --bsrange=4k-64k --size=${size_mib}m \
		--ioengine=libaio --iodepth=8 --direct=1 --verify=crc32c --do_verify=1 --verify_fatal=1 \
		--randrepeat=0 --output-format=terse --terse-version=3 | cut -d ';' -f 1-6
	return "${PIPESTATUS[0]}"
}

counter() { cat "/sys/class/infiniband/shca_a/ports/1/hw_counters/$1"; }
was_direct() {
	local before=${direct:-0}
	direct=$(counter tx_direct_packets)
	[ $((direct - before)) -gt 500 ]
}

# ("dev shca_a srqn 1 type BASIC ...")
srqs() { rdma resource show srq | grep -c shca_a; }
uses_srq() {
	echo "shared receive queues: $(srqs)"
	if [ "$1" = 1 ]; then [ "$(srqs)" -gt 0 ]; else [ "$(srqs)" = 0 ]; fi
}

end_serve() {
	run rm -f $target/ports/1/subsystems/$nqn
	run rmdir $target/ports/1 $target/subsystems/$nqn/namespaces/1 $target/subsystems/$nqn
	run wait_for 10 modprobe -r nvmet-rdma
}

for use_srq in 0 1; do
	if [ $use_srq = 0 ]; then name=own; make_loop; else name=shared; make_null_blk; fi
	run modprobe nvmet-rdma use_srq=$use_srq
	serve
	run softhca dev set shca_a path auto
	check "$name.connect" connect
	check "$name.receive_queues" uses_srq "$use_srq"
	check "$name.data_direct" data_is_right
	check "$name.direct_path_was_used" was_direct
	check "$name.disconnect" disconnect
	run softhca dev set shca_a path wire
	check "$name.connect_wire" connect
	check "$name.data_wire" data_is_right
	if [ "$use_srq" = 0 ]; then
		check ext4 filesystem
		check fio_verify fio_verifies
	fi
	[ "$use_srq" = 1 ] || { check "$name.disconnect_wire" disconnect; end_serve; }
done

# The peer dies in mid-write and comes back: the host waits, connects again, and
# whoever wrote never knows. A peer that stays away is an error in the end.
state() { cat "$(controller)/state"; }
is_live() { [ "$(state)" = live ]; }
is_not_live() { ! is_live; }
write_and_compare() {
	dd if=/tmp/nvme-data of="/dev/$(block)" bs=64k oflag=direct status=none &&
		dd if="$backend" of=/tmp/nvme-back bs=1M iflag=direct status=none &&
		cmp /tmp/nvme-data /tmp/nvme-back
}
keeps_writing() { while [ -e /tmp/nvme-go ]; do write_and_compare || return; done; }
target_dies() { rm $target/ports/1/subsystems/$nqn && wait_for 20 is_not_live; }
target_returns() {
	ln -s $target/subsystems/$nqn $target/ports/1/subsystems/$nqn && wait_for 20 is_live &&
		rm /tmp/nvme-go && wait $writer
}
: >/tmp/nvme-go
keeps_writing &
writer=$!
check target_dies target_dies
check target_returns target_returns
# (ctrl_loss_tmo is 5 s)
target_stays_away() {
	rm $target/ports/1/subsystems/$nqn && wait_for 30 no_controller
}
check target_stays_away target_stays_away
run ln -s $target/subsystems/$nqn $target/ports/1/subsystems/$nqn
check connect_again connect

# The device goes while both use it: they release it, as they would an HCA.
link_delete() { timeout $((20 * slow)) rdma link delete shca_a; }
check link_delete_in_use link_delete
check no_hang disconnect
