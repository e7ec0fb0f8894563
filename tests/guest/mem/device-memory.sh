#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Device memory, DMA handles, and regions made of dma-bufs of each exporter, by the direct path
# and as packets; then the device goes while they are in use. About 25 s.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

run modprobe softhca_exporter
at_exit modprobe -r softhca_exporter
make_pair 9000
echo 2 >/proc/sys/vm/nr_hugepages
used() { cat /sys/module/softhca_exporter/parameters/{buffers,mapped,accesses}; }
nothing_in_use() { [ "$(used | tr '\n' ' ')" = "0 0 0 " ] || { used; return 1; }; }

# dmabufs LABEL FAMILY EXPORTER : what can be had of that one
dmabufs() {
	local not=outlives_the_device
	[ "$3" = udmabuf ] || not+=,huge_pages
	[ "$3" = heap ] || not+=,file_modes_are_respected
	[ "$3" = module ] || not+=,exporters_that_are_refused
	EXPORTER=$3 verbs "$1.$3" dmabuf -d shca_a -f "$2" -x $not
}

verbs auto dm -d shca_a -f 4 -x outlives_the_device
for exporter in udmabuf heap module; do dmabufs auto 4 $exporter; done
# DMA handles came with Linux 6.17
if [ "$(printf '%s\n' 6.17 "$(uname -r)" | sort -V | head -n 1)" = 6.17 ]; then
	verbs auto dmah -d shca_a -f 4
fi
run in_a softhca dev set shca_a path wire
verbs wire dm -d shca_a -f 6 -x outlives_the_device
for exporter in udmabuf module; do dmabufs wire 6 $exporter; done
check nothing_in_use wait_for 10 nothing_in_use

# (each test leaves all that it has to the kernel; these see the device go)
EXPORTER=module
export EXPORTER
pids=()
for program in dm dmabuf; do
	: >"/tmp/$program.removal"
	"$test_programs/$program" -d shca_a -f 4 outlives_the_device >/tmp/$program.removal 2>&1 &
	pids+=($!)
done
for program in dm dmabuf; do run wait_for 20 grep -q ^traffic /tmp/$program.removal; done
check removal within ${removal_seconds}000 "rdma link show" rdma link delete shca_a
wait "${pids[@]}"
for program in dm dmabuf; do sed -E "s/^(ok|not ok|skip) /&removal.$program./" /tmp/$program.removal; done
check nothing_in_use_after_removal wait_for 10 nothing_in_use
