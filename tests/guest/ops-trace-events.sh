#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The trace events (events/softhca): traffic over a link that loses and spoils
# packets shows each of them, with fields that can be true. About 25 s.
#
# timeout: 120
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/scenario"

tracing=/sys/kernel/tracing
[ -e $tracing/events ] || mount -t tracefs tracefs $tracing || skip "this kernel has no tracefs"
events=$tracing/events/softhca

make_pair 1500
for end in a b; do
	run ip netns exec shca-$end softhca dev set shca_$end path wire
	run ip netns exec shca-$end tc qdisc add dev veth_$end root netem loss 2% corrupt 2%
done
check events_are_there [ -d $events ]
at_exit eval "echo 0 >$events/enable; echo 1408 >$tracing/buffer_size_kb; echo >$tracing/trace"
echo 24000 >$tracing/buffer_size_kb
echo >$tracing/trace
# What is waited for, in a trace of its own: to read the other takes seconds, in
# which it loses what came first.
signs=$tracing/instances/shca-signs
at_exit rmdir $signs
run mkdir $signs
run eval "echo 'verdict != 0' >$signs/events/softhca/shca_rx_verdict/filter"
for event in shca_timeout shca_rx_refused shca_rx_verdict; do
	run eval "echo 1 >$signs/events/softhca/$event/enable"
done
run eval "echo 1 >$events/enable"

# (one message at a time, of few packets: what is lost last waits for the time-out)
start_traffic lossy shca_a shca_b -u 13
seen() { grep -q "$1" $signs/trace; }
for sign in ' shca_timeout: ' reason=icrc verdict=out-of-sequence verdict=nak-sequence; do
	run wait_for 60 seen "$sign"
done
echo "+ an asynchronous event"
"$test_programs/queue_events" -d shca_a -f 4 last_wqe_is_announced | sed 's/^/  /'
echo "+ refusals"
"$test_programs/qp_states" -d shca_a -f 4 wrong_values_are_refused | sed 's/^/  /'
run eval "echo 0 >$events/enable; echo 0 >$signs/events/enable"
check traffic_is_right end_traffic lossy
cat $tracing/trace $signs/trace >/tmp/trace

for event in "$events"/*/; do
	event=${event%/}
	check "seen.${event##*/}" grep -q -m 1 " ${event##*/}: " /tmp/trace
done

sane() {
	python3 - /tmp/trace /tmp/traffic.lossy <<-'END'
		import collections, re, sys
		number, hexa = r"(\d+)", r"(0x[0-9a-f]+|0)"
		opcode, word = "opcode=((RC|UC|UD|XRC)_[A-Z_]+|CNP)", "([A-Z_]+)"
		packet = f"qpn={hexa} dqpn={hexa} psn={number} {opcode} ackreq=[01] syndrome={hexa} msn={number} len={number}"
		states = "(RESET|INIT|RTR|RTS|SQD|SQE|ERR)"
		forms = {
		    "shca_post": f"qpn={hexa} wr_id={hexa} opcode={word} flags={hexa} length={number} preset=SUCCESS",
		    "shca_tx": packet, "shca_rx": packet,
		    "shca_rx_verdict": f"qpn={hexa} psn={number} {opcode} verdict=([a-z-]+)",
		    "shca_rx_refused": f"qpn={hexa} psn={number} {opcode} reason=(path|transport|icrc|pkey)",
		    "shca_timeout": f"qpn={hexa} psn={number} retries_left=[0-7] failed=0",
		    "shca_complete": f"qpn={hexa} wr_id={hexa} status={word} opcode={word} vendor_err={number} byte_len={number}",
		    "shca_state": f"qpn={hexa} from={states} to={states}",
		    "shca_refused": f"qpn={hexa} errno={number} why=.+",
		    "shca_event": f"qpn={hexa} event={word}",
		}
		words, counts, wrong = collections.Counter(), collections.Counter(), 0
		qpns = set()
		for line in open(sys.argv[2]):
		    fields = line.split()
		    for i, word in enumerate(fields):
		        if fields[0] == "ready" and word in ("rc", "uc", "ud"):
		            qpns |= {int(fields[i + 1], 0), int(fields[i + 3], 0)}
		for line in open(sys.argv[1], errors="replace"):
		    found = re.search(r" (shca_\w+): (.*)$", line)
		    if not found:
		        continue
		    name, text = found.groups()
		    counts[name] += 1
		    match = re.fullmatch(forms.get(name, "no such event"), text)
		    bad = not match
		    psn = re.search(r"\bpsn=(\d+)", text)
		    bad |= bool(psn) and int(psn[1]) >= 1 << 24
		    qpn = int(re.search(r"\bqpn=(\S+)", text)[1], 0)
		    bad |= not 0 < qpn < 1 << 24 and name != "shca_refused"
		    if name in ("shca_tx", "shca_rx") and match:
		        bad |= int(match[8]) > 1500
		    if name in ("shca_tx", "shca_timeout"):
		        bad |= qpn not in qpns and qpn != 1
		    if name in ("shca_rx_verdict", "shca_rx_refused") and match:
		        words[match[5]] += 1
		    if bad:
		        wrong += 1
		        if wrong < 10:
		            print("wrong:", line.rstrip())
		print(dict(counts), dict(words))
		missing = {"ok", "icrc", "out-of-sequence", "nak-sequence"} - set(words)
		if missing:
		    print("never:", missing)
		sys.exit(bool(wrong or missing or not qpns))
	END
}
check fields_are_sane sane

# As the tools show them: these know of an enumerator only what the format tells.
a_refused_write() {
	"$test_programs/rc_errors" -d shca_a -p shca_b -f 4 write_to_bad_remote
}
export -f a_refused_write
export test_programs
# symbolic REPORT : a tool's text has words, and no number in a word's place
symbolic() {
	local word
	for word in opcode=RC_WRITE_ONLY verdict=access-error verdict=nak-fatal status=REM_ACCESS_ERR \
		'from=RTS to=ERR' 'opcode=RDMA_WRITE '; do
		grep -q "$word" "$1" || { echo "not in $1: $word"; head -n 5 "$1"; return 1; }
	done
	! grep -E '(opcode|verdict|status|reason|from|to|event)=(0x)?[0-9]' "$1" | head -n 5 | grep .
}
told_by_trace_cmd() {
	trace-cmd record -q -o /tmp/trace.dat -e softhca -- bash -c a_refused_write >/dev/null || return
	trace-cmd report -q /tmp/trace.dat >/tmp/trace.report || return
	symbolic /tmp/trace.report
}
told_by_perf() {
	perf record -q -a -o /tmp/perf.data -e 'softhca:*' -- bash -c a_refused_write >/dev/null || return
	perf script -i /tmp/perf.data >/tmp/perf.report || return
	symbolic /tmp/perf.report
}
check told_by_trace_cmd told_by_trace_cmd
check told_by_perf told_by_perf
