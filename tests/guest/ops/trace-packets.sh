#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Recorded packets, as softhca trace show -o FILE.pcapng writes them: all transport headers are those
# of the wire, keys are hidden, payload is there for those who may capture. About 25 s.
#
# timeout: 240
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

for program in tcpdump tshark trace-cmd; do
	command -v $program >/dev/null || skip "$program is not installed"
done
dir=/tmp/trace-packets
at_exit rm -rf $dir
run mkdir -p $dir
cd $dir || fail "no $dir"
packets=$test_programs/guest/helpers/trace-packets.py

# Payload of ours is not RPC, NVMe or SMB, though it may look so to tshark. (Where the version does not
# tell the guesses' own names, their protocols are left out.)
GUESSES=$(tshark -G heuristic-decodes 2>/dev/null | awk '
	/^infiniband\.payload/ && $5 != "" { print "--disable-heuristic", $5 }
	/^infiniband\.payload/ && $5 == "" && $2 != "ethertype" { print "--disable-protocol", $2 }')
export GUESSES
make_pair 1500
# (a capture shows a batch as one packet)
for end in a b; do
	run ip -n shca-$end link set dev veth_$end gso_max_segs 1
done
cat >each-operation.sh <<END
#!/bin/sh -e
# of each operation something, between the devices \$@
run() { program=\$1; shift; $test_programs/\$program \$devices -f 4 "\$@"; }
devices=\$*
run rc_data -m 5000 chain_of_mixed_requests only_receives_carry_immediate_data send_imm_of_all_sizes_at_full_mtu \\
	write_imm_of_all_sizes_at_full_mtu read_of_all_sizes_at_full_mtu atomics_both_ways
run rc_errors send_without_a_receive write_to_bad_remote
run windows peer_invalidates_a_window
run flush write_flush_atomic_write_in_order flush_of_range_and_region
run xrc each_operation_moves_its_data
run ud answer_from_the_completion
END
run chmod +x each-operation.sh

# ---- on the wire, where tcpdump sees them, too

recorded() {
	capture wire.pcap '-i veth_a' softhca trace record --payload -o wire.dat -- ./each-operation.sh -d shca_a -p shca_b >said 2>&1 ||
		{ tail -n 20 said; return 1; }
	! grep 'are lost' said
}
check wire.recorded recorded
for end in pcapng txt html json; do
	run softhca trace show wire.dat -o wire.$end
done
trace-cmd report -q wire.dat >wire.report
check wire.same_packets "$packets" wire.pcapng --wire wire.pcap wire.dat wire.pcapng wire.txt wire.html wire.json wire.report
headers_are_told() {
	local text
	for text in 'rkey=0x[0-9a-f]{2}[?]{6} dmalen=[0-9]' 'imm=0x[0-9a-f]{8}' 'qkey=0x11[?]{6} sqpn=0x' 'srqn=0x' \
		'invalidates=0x' 'swap_or_add=0x[0-9a-f]+ compare=' 'original=0x' 'flush=' 'pkey=0xffff'; do
		grep -q -E "$text" wire.html || { echo "no $text"; return 1; }
	done
}
check wire.headers_are_told headers_are_told

# ---- the direct path: one event for a packet, of one device with itself

check direct.recorded softhca trace record --payload -o direct.dat -- ./each-operation.sh -d shca_a
run softhca trace show direct.dat -o direct.pcapng
check direct.packets "$packets" direct.pcapng --payload
trace-cmd report -q direct.dat >direct.report
check direct.one_event eval 'grep -q " shca_direct: .*RC_WRITE_" direct.report && ! grep -E " shca_[tr]x: .*=RC_" direct.report'
check direct.nothing_is_lost eval '! softhca trace show direct.dat | grep -E " lost( |$)"'

# ---- payload is for those who may capture packets

check bare.recorded softhca trace record -o bare.dat -- ./each-operation.sh -d shca_a
run softhca trace show bare.dat -o bare.pcapng
check bare.packets "$packets" bare.pcapng
check bare.has_no_payload eval '! trace-cmd report -q bare.dat | grep -m 1 shca_payload'
without() { setpriv --bounding-set=-net_raw "$@"; }
check refused.payload says 1 'needs CAP_NET_RAW' without softhca trace record --payload -o no.dat -- true
# (while somebody else has it on)
by_perf() {
	local status=0
	echo 1 >$payload/enable || return
	if without perf record -q -a -o perf.data -e softhca_payload:shca_payload -- true; then status=1; fi
	perf record -q -a -o perf.data -e softhca_payload:shca_payload -- true || status=1
	echo 0 >$payload/enable
	return $status
}
payload=/sys/kernel/tracing/events/softhca_payload
check refused.payload_by_perf by_perf
check allowed.events says 0 'draws it' without softhca trace record -o no.dat -- true
