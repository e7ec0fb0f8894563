#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# timeout: 240
#
# NFS over RDMA, server and client in this kernel: files are written and read back,
# compared on both sides; the server dies and comes back; then the device goes, and
# whoever uses the mount gets an error in the end. About 45 s.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../nfs-server"

one_device
serve_files
at_exit umount -f -l $mount
check mount nfs_mount

check data.4k file_is_right 4k 512k
check data.64k file_is_right 64k 4M
check data.1M file_is_right 1M 16M
many_files() {
	local i
	for i in $(seq 30); do echo "$i" >"$mount/small.$i" || return; done
	[ "$(cat $mount/small.* | sort -n)" = "$(seq 30)" ] &&
		rm $mount/small.*
}
check many_files many_files
used_rdma() { [ "$(attribute shca_a counters/port_xmit_packets)" -gt 500 ]; }
check it_was_rdma used_rdma

# ---- the server dies and comes back: the file is what it was, and can be written

no_server() { [ "$(cat /proc/fs/nfsd/threads)" = 0 ]; }
ends() { ! timeout $((60 * slow)) dd if=/dev/zero of=$mount/late bs=4k count=1 oflag=direct status=none; }
server_dies() { rpc.nfsd 0 && wait_for 10 no_server; }
check server_dies server_dies
check access_without_server_ends ends
check server_returns start_server
readable() { timeout $((20 * slow)) dd if=$mount/file of=/tmp/nfs-back bs=64k iflag=direct status=none; }
data_is_as_before() { wait_for 60 readable && cmp /tmp/nfs-data /tmp/nfs-back; }
check data_is_as_before data_is_as_before
check data_after_return file_is_right 64k 1M

# ---- the device goes while it is mounted

check link_delete_in_use link_delete shca_a
check access_ends_with_an_error ends
umounts() { timeout $((30 * slow)) umount -f $mount; }
check umount umounts
