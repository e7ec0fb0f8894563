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
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../nvme-target"

# Both ends live in the initial namespace.
run ip link add veth_a type veth peer name veth_b
at_exit ip link del veth_a
run ip addr add $address/24 dev veth_a
run ip link set veth_a up
run ip link set veth_b up
add_device shca_a veth_a
run wait_for 10 gid_index shca_a $address

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

was_direct() {
	local before=${direct:-0}
	direct=$(counter shca_a tx_direct_packets)
	[ $((direct - before)) -gt 500 ]
}

# ("dev shca_a srqn 1 type BASIC ...")
srqs() { rdma resource show srq | grep -c shca_a; }
uses_srq() {
	echo "shared receive queues: $(srqs)"
	if [ "$1" = 1 ]; then [ "$(srqs)" -gt 0 ]; else [ "$(srqs)" = 0 ]; fi
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
check link_delete_in_use link_delete shca_a
check no_hang disconnect
