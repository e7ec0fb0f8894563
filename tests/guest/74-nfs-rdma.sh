#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# timeout: 240
#
# NFS over RDMA, server and client in this kernel: files are written and read back,
# compared on both sides; the server dies and comes back; then the device goes, and
# whoever uses the mount gets an error in the end. About 45 s.
. "$(dirname "$0")/lib.sh"

address=10.78.0.1 export=/tmp/nfs-export mount=/tmp/nfs-mount
for program in rpc.nfsd mount.nfs; do
	command -v $program >/dev/null || skip "no $program"
done
for module in rpcrdma nfsd nfs nfsv4; do
	modprobe $module || skip "this kernel has no $module"
done

# Both ends live in the initial namespace.
run ip link add veth_a type veth peer name veth_b
at_exit ip link del veth_a
run ip addr add $address/24 dev veth_a
run ip link set lo up
run ip link set veth_a up
run ip link set veth_b up
add_device shca_a veth_a
run wait_for 10 gid_index shca_a $address

# The server without its helpers: version 4 needs neither rpcbind nor mountd's port.
run mkdir -p $export $mount /var/lib/nfs/v4recovery
at_exit rm -rf $export
run mount -t tmpfs -o size=64m tmpfs $export
at_exit umount -l $export
mountpoint -q /proc/fs/nfsd || run mount -t nfsd nfsd /proc/fs/nfsd
at_exit rpc.nfsd 0
: >/etc/exports
# (Files cannot be opened for as long as clients of an earlier life have to come
# back. Without a record of clients that cannot be ended: the least is 10 s.)
start_server() {
	echo 10 >/proc/fs/nfsd/nfsv4gracetime && rpc.nfsd -N 3 -V 4.2 --rdma=20049 --no-udp 2 &&
		{ echo Y >/proc/fs/nfsd/v4_end_grace || :; }
}
run start_server
rpc.mountd -F -N 3 &
at_exit kill $!
at_exit exportfs -ua
run exportfs -o rw,no_root_squash,insecure,fsid=0 $address:$export

nfs_mount() {
	mount -t nfs4 -o "rdma,port=20049,soft,timeo=20,retrans=1${1:+,$1}" $address:/ $mount &&
		grep " $mount " /proc/mounts | grep 'proto=rdma'
}
at_exit umount -f -l $mount
check mount nfs_mount

# Through the transport and back, past the client's page cache.
data_is_right() { # BLOCK_SIZE SIZE
	head -c "$2" /dev/urandom >/tmp/nfs-data
	dd if=/tmp/nfs-data of=$mount/file bs="$1" oflag=direct status=none &&
		dd if=$mount/file of=/tmp/nfs-back bs="$1" iflag=direct status=none &&
		cmp /tmp/nfs-data /tmp/nfs-back && cmp /tmp/nfs-data $export/file
}
at_exit rm -f /tmp/nfs-data /tmp/nfs-back
check data.4k data_is_right 4k 512k
check data.64k data_is_right 64k 4M
check data.1M data_is_right 1M 16M
many_files() {
	local i
	for i in $(seq 30); do echo "$i" >"$mount/small.$i" || return; done
	[ "$(cat $mount/small.* | sort -n)" = "$(seq 30)" ] &&
		rm $mount/small.*
}
check many_files many_files
used_rdma() { [ "$(cat /sys/class/infiniband/shca_a/ports/1/counters/port_xmit_packets)" -gt 500 ]; }
check it_was_rdma used_rdma

# ---- the server dies and comes back: the file is what it was, and can be written

no_server() { [ "$(cat /proc/fs/nfsd/threads)" = 0 ]; }
ends() { ! timeout $((60 * slow)) dd if=/dev/zero of=$mount/late bs=4k count=1 oflag=direct status=none; }
server_dies() { rpc.nfsd 0 && wait_for 10 no_server; }
check server_dies server_dies
check access_without_server_ends ends
check server_returns start_server
readable() { timeout 20 dd if=$mount/file of=/tmp/nfs-back bs=64k iflag=direct status=none; }
data_is_as_before() { wait_for 60 readable && cmp /tmp/nfs-data /tmp/nfs-back; }
check data_is_as_before data_is_as_before
check data_after_return data_is_right 64k 1M

# ---- the device goes while it is mounted

link_delete() { timeout $((20 * slow)) rdma link delete shca_a; }
check link_delete_in_use link_delete
check access_ends_with_an_error ends
umounts() { timeout $((30 * slow)) umount -f $mount; }
check umount umounts
