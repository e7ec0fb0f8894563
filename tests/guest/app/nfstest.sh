#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# soak: yes
# timeout: 2400
#
# NFStest over RDMA: POSIX calls, direct I/O, random I/O with data that are verified, and
# its test of the transport: by a capture it checks each chunk's handle, offset and length, how
# many packets each RDMA READ and WRITE takes, and their PSNs. Minutes.
. "$(dirname "$0")/../lib.sh"
command -v nfstest_posix >/dev/null || skip "no nfstest"
python3 -W ignore -c 'import ast; ast.Num' 2>/dev/null ||
	skip "NFStest does not run with Python from 3.14 on, which has no ast.Num"
. "$(dirname "$0")/../nfs-server"
one_device
serve_files

# (it asks for its own address by the default route)
run ip route add default dev veth_a

# nfstest NAME OPTION... : all of its tests pass; those that fail are told
nfstest() {
	local name=$1 status=0
	shift
	timeout $((600 * slow)) "nfstest_$name" "$@" >/tmp/nfstest.log 2>&1 || status=$?
	grep -E 'FAIL|^[0-9]+ tests|Error' /tmp/nfstest.log | head -n 40
	[ $status = 0 ] || tail -n 20 /tmp/nfstest.log
	return $status
}
# As root it ends the shell in which it has started tcpdump, and nothing else: without exec
# each capture goes on for ever, with a buffer of 192 MiB, until memory is used up.
on_mount() {
	local name=$1
	shift
	nfstest "$name" --server $address --export / --mtpoint $mount --nfsversion 4.2 --proto rdma --port 20049 --sudo '' \
		--notty --tmpdir /tmp --tcpdump "exec $(command -v tcpdump)" --tbsize 32k "$@"
}
run softhca dev set shca_a path wire
before=$(attribute shca_a counters/port_xmit_packets)
# Left out: flags of open() and modes, which are 4,500 calls without data; vectors, which are
# 104 times three blocks, with two seconds each for its capture; ACLs (basic05), for which
# there is no tool in the guest. What it says of a file's packets takes it a time that grows
# with their square, so the longest file has 256 KiB and not 1 MiB.
check posix on_mount posix --runtest ^open,chmod
check dio on_mount dio --runtest ^vectored_io
check rdma on_mount rdma --interface lo --runtest ^basic05 --large-filesize 256k
run mount -t nfs4 -o "rdma,port=20049" $address:/ $mount
at_exit umount -f -l $mount
run mkdir $mount/io
check io nfstest io -d $mount/io --runtime 20 --nprocs 2
check it_was_rdma [ $(($(attribute shca_a counters/port_xmit_packets) - before)) -gt 2000 ]
