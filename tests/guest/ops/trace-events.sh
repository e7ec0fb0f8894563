#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The trace events (events/softhca): traffic over a link that loses and spoils
# packets shows each of them, with fields that can be true. They may come and go. About 30 s.
#
# timeout: 120
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

tracing=/sys/kernel/tracing
[ -e $tracing/events ] || mount -t tracefs tracefs $tracing || skip "this kernel has no tracefs"
events=$tracing/events/softhca

make_pair 1500
for end in a b; do
	run ip netns exec shca-$end softhca dev set shca_$end path wire
done
# (not before connections are made: a lost ARP reply would be one that cannot be)
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
network loss 2% corrupt 2%
# seen SIGN : or there is no traffic any more, which will show none
seen() { grep -q "$1" $signs/trace || ! traffic_is_alive lossy; }
# A request whose answer is late is sent again early, and several times: a time-out needs
# all their acknowledgements lost. 100 ms are three times the time-out, whatever the
# machine, and the retries last longer.
answers_are_lost() {
	in_b softhca fault del all
	in_b softhca fault add dev=shca_b do=drop type=ack for=100ms
	sleep 0.5
	seen ' shca_timeout: '
}
run wait_for 60 answers_are_lost
run in_b softhca fault del all
for sign in reason=icrc verdict=out-of-sequence verdict=nak-sequence; do
	run wait_for 60 seen "$sign"
	traffic_is_alive lossy || fail "traffic has ended: $(tail -n 1 /tmp/traffic.lossy)"
done
# (a copy of a packet does no harm)
run in_a softhca fault add dev=shca_a do=duplicate count=1
run wait_for 60 eval "in_a softhca fault list | grep -q 'hits 1'"
run in_a softhca fault del all
echo "+ an asynchronous event"
"$test_programs/queue_events" -d shca_a -f 4 last_wqe_is_announced | sed 's/^/  /'
echo "+ further steps, which are a system of their own"
steps=$tracing/events/softhca_steps
at_exit eval "echo 0 >$steps/enable"
run eval "echo 1 >$steps/enable"
echo "+ the direct path"
run in_b softhca dev set shca_b path auto
"$test_programs/rc_data" -d shca_b -f 4 chain_of_mixed_requests | sed 's/^/  /'
run eval "echo 0 >$steps/enable"
echo "+ refusals"
"$test_programs/qp_states" -d shca_a -f 4 wrong_values_are_refused | sed 's/^/  /'
run eval "echo 0 >$events/enable; echo 0 >$signs/events/enable"
cat $tracing/trace $signs/trace >/tmp/trace
# Events that come and go under traffic patch code that is running. (After the trace was
# read: so many would push others out of the ring.)
come_and_go() {
	local _
	for _ in {1..30}; do
		echo 1 >$events/enable && echo 0 >$events/enable || return
	done
}
check they_come_and_go come_and_go
check traffic_is_right end_traffic lossy

# (It counts them, too: to look for each in megabytes takes seconds in an emulated guest.)
sane() {
	"$test_programs/guest/helpers/trace-fields.py" /tmp/trace /tmp/traffic.lossy >/tmp/trace.fields
	local status=$?
	cat /tmp/trace.fields
	return $status
}
check fields_are_sane sane
for event in "$events"/*/ "$steps"/*/; do
	event=${event%/}
	check "seen.${event##*/}" grep -q "'${event##*/}': " /tmp/trace.fields
done

# Each request is fetched once, and what is placed is as long as the packets that carried it.
steps_agree() {
	grep -E ' shca_(fetch|place|poll|doorbell|direct): ' /tmp/trace >/tmp/trace.steps
	python3 - /tmp/trace.steps <<'END'
import re, sys
text = open(sys.argv[1]).read()
fetched = [int(n) for n in re.findall(r" shca_fetch: .* taken=(\d+)", text)]
placed = re.findall(r" shca_place: qpn=(\S+) psn=(\d+) opcode=\S+ len=(\d+) remote=([01])", text)
polled = [int(n) for n in re.findall(r" shca_poll: cqn=\d+ taken=(\d+)", text)]
rung = re.findall(r" shca_doorbell: qpn=\S+ waiting=(\d+)", text)
print(sum(fetched), "fetched,", len(placed), "placed,", sum(polled), "polled,", len(rung), "rung")
lengths = {(q, p): int(n) for q, p, n in
           re.findall(r" shca_direct: qpn=\S+ dqpn=(\S+) psn=(\d+) .* len=(\d+) packets", text)}
common = [int(n) == lengths[q, p] for q, p, n, _ in placed if (q, p) in lengths]
print(len(common), "placed packets of the direct path")
sys.exit(not (fetched and min(fetched) > 0 and polled and min(polled) > 0 and rung and
              {r for *_, r in placed} == {"0", "1"} and common and all(common)))
END
}
check steps_agree steps_agree

# As the tools show them: these know of an enumerator only what the format tells.
# Nothing is lost meanwhile: without its NAK the request would end in RETRY_EXC_ERR.
network
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
