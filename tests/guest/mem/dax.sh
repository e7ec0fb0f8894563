#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# On-demand regions over files on DAX (ext4 on /dev/pmem0, of the memory that the kernel's
# command line sets apart): accesses, by the direct path and as packets; truncation under
# traffic. About 10 s.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

modprobe -a nd_e820 nd_pmem || skip "this kernel has no nd_e820 or no nd_pmem"
wait_for 5 test -b /dev/pmem0 || skip "no persistent memory: the kernel's command line needs memmap=32M!512M"
folder=$(mktemp -d)
at_exit rmdir "$folder"
run mkfs.ext4 -q -F -b 4096 /dev/pmem0
mount -o dax=always /dev/pmem0 "$folder" || skip "this kernel mounts no ext4 with DAX"
at_exit umount "$folder"
export SHCA_DAX=$folder

make_pair 1500
verbs auto dax -d shca_a
run in_a softhca dev set shca_a path wire
verbs wire dax -d shca_a -f 4
