#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Kernel consumers across an InfiniBand link: NFS and NVMe over RDMA, which rdma_cm
# connects by the IP addresses of IPoIB. Data are compared, and the server's port goes
# while its files are written. In soak with more data.
#
# timeout: 400
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"
. "$(dirname "$0")/../subnet"

command -v opensm >/dev/null || skip "this guest has no opensm"
modprobe -a ib_umad ib_ipoib || skip "this kernel has no ib_ipoib"
. "$(dirname "$0")/../nfs-server"
. "$(dirname "$0")/../nvme-target"

times=${SHCA_SOAK:+20}
times=${times:-1}
sent() { attribute shib_b hw_counters/tx_packets; }
crossed() { [ $(($(sent) - before)) -gt "$1" ]; }

# The servers are in the initial namespace, with address 10.78.0.1 at port a.
two_ports 2200
start_opensm -s 2
both_active
for device in shib_a shib_b; do run wait_for 20 ipoib $device; done
run ip link set "$(ipoib shib_a)" name ip_a
at_exit ip link set ip_a down
run ip addr add $address/24 dev ip_a
run ip link set ip_a up
run ip link set lo up

# ---- NFS: its client takes the namespace of who mounts
client=10.78.0.2
enter "$ns_b" shib_b $client
run wait_for 30 in_b ping -c 1 -W 2 $address
serve_files
at_exit umount -f -l $mount
in_net_b() { nsenter --net="/run/netns/$ns_b" "$@"; }
mounts() { in_net_b mount -t nfs4 -o rdma,port=20049,soft,timeo=100,retrans=3 $address:/ $mount && grep " $mount .*proto=rdma" /proc/mounts; }
before=$(sent)
check nfs.mount mounts
for ((i = 0; i < times; i++)); do
	check nfs.data.4k file_is_right 4k 256k
	check nfs.data.1M file_is_right 1M 8M
done
check nfs.across_the_link crossed 1000

# ---- NVMe: all of it in the initial namespace, with the host's address at port b
unmounted() { umount $mount && rpc.nfsd 0; }
check nfs.umount unmounted
run ip -n "$ns_b" link set ip0 netns 1 name ip_b
at_exit ip link set ip_b down
# It is heard by ip_a, which is of the same machine.
run sysctl -q net.ipv4.conf.ip_a.accept_local=1
from=$client
run ip addr add $from/24 dev ip_b
run ip link set ip_b up
run wait_for 30 ping -I ip_b -c 1 -W 2 $address
size_mib=2
make_null_blk
run modprobe nvmet-rdma
serve
before=$(sent)
check nvme.connect connect
for ((i = 0; i < times; i++)); do
	check nvme.data data_is_right
done
check nvme.across_the_link crossed 1000

# The port of the target goes under it.
: >/tmp/nvme-go
keeps_writing() { while [ -e /tmp/nvme-go ]; do dd if=/tmp/nvme-data of="/dev/$(block)" bs=64k oflag=direct status=none || return; done; }
keeps_writing &
at_exit rm -f /tmp/nvme-go
run sleep 1
check nvme.removal timeout $((20 * slow)) rdma link delete shib_a
check nvme.removed device_is_gone shib_a
rm /tmp/nvme-go
check nvme.no_hang disconnect
