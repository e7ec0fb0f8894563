#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# softhca trace record and show: a recording has all that happened, other tracing goes on as it
# was, and each form tells what the events say: losses, repeats, requests. About 40 s.
#
# timeout: 240
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

tracing=/sys/kernel/tracing
dir=/tmp/trace-record
at_exit rm -rf $dir
run mkdir -p $dir
cd $dir || fail "no $dir"
form=$test_programs/guest/helpers/trace-form.py
garble=$test_programs/guest/helpers/trace-garble.py
export LC_ALL=C.UTF-8

# ---- refusals

check refused.a_user says 1 "only root can trace" setpriv --reuid 65534 --clear-groups softhca trace record -o /tmp/nothing -- true
check refused.size says 2 'MB must be 1 to 4096' softhca trace record --size 0 -- true
check refused.no_recording says 1 "'softhca trace record' makes one" softhca trace show none.dat
check refused.another_file says 1 'is no recording' softhca trace show /etc/passwd
check refused.time says 2 'must be microseconds' softhca trace show none.dat --from soon
check refused.form says 2 'tells no form' softhca trace show none.dat -o x.png
run modprobe -r softhca
check refused.without_the_module says 1 'the softhca module is not loaded' softhca trace record -- true

# ---- a clean recording, beside another's tracing

make_pair 1500
[ -e $tracing/events ] || run mount -t tracefs tracefs $tracing
other=$tracing/instances/other
at_exit rmdir $other
run mkdir $other
run eval "echo 1 >$other/events/softhca/shca_complete/enable"
stale=$tracing/instances/softhca-trace-99999999
run mkdir $stale
settings() { cat $tracing/{trace_clock,buffer_size_kb,events/softhca/enable} $other/events/softhca/enable $other/trace_clock; }
before=$(settings)
pingpong() {
	in_b ibv_rc_pingpong -d shca_b -g "$(gid_index shca_b $ip4_b)" -s 3000 -n 20 &
	sleep 1
	wait_for 10 listening $ns_b 18515
	in_a ibv_rc_pingpong -d shca_a -g "$(gid_index shca_a $ip4_a)" -s 3000 -n 20 $ip4_b
	wait
}
cat >pingpong.sh <<END
. $test_programs/guest/lib.sh
$(declare -f pingpong)
pingpong
END
check record says 0 'softhca trace show clean.dat' softhca trace record -o clean.dat -- bash pingpong.sh
check others_are_not_disturbed [ "$before" = "$(settings)" ]
check others_have_their_events grep -q -m 1 shca_complete $other/trace
check no_instance_is_left eval "! ls -d $tracing/instances/softhca-trace-*"
check status.failure says 3 '' softhca trace record -o x.dat -- sh -c 'exit 3'
check status.not_found says 127 'No such file' softhca trace record -o x.dat -- /nonesuch
check status.signal says 143 '' softhca trace record -o x.dat -- sh -c 'kill -TERM $$'
told_size() {
	softhca trace record -o y.dat -- true 2>told && cat told && grep -q "^softhca: $(($(stat -c %s y.dat) / 1024)) kB in y.dat" told
}
check told_size_is_the_files told_size
# (a program may be started with SIGCHLD ignored: then the kernel keeps no status of children)
check status.sigchld_ignored says 3 '' timeout $((60 * slow)) env --ignore-signal=CHLD softhca trace record -o x.dat -- sh -c 'exit 3'
softhca trace show clean.dat >clean.txt || fail 'clean.dat cannot be shown'
head -n 30 clean.txt
trace-cmd report -q clean.dat >clean.report
# colours TERM : a terminal of that kind gets some
colours() { script -qec "env TERM=$1 softhca trace show clean.dat" "colours.$1" >/dev/null && grep -q $'\e\\[' "colours.$1"; }
check colours colours xterm
check colours.none_where_the_terminal_is_dumb refused colours dumb
cut() { head -c 12288 clean.dat >cut.dat && says 1 'cut.dat is' softhca trace show cut.dat; }
check refused.cut_off cut
same_number() { [ "$(grep -c ' shca_' clean.report)" = "$(sed -n 's/^\([0-9]*\) events, .*/\1/p' clean.txt)" ]; }
check trace_cmd_reads_it same_number
all_are_there() { # two QPs, 20 SENDs of each, each completed and received
	grep -q '^40 requests in ' clean.txt && [ "$(grep -c 'post SEND 0x' clean.txt)" = 40 ] &&
		[ "$(grep -c '✓ SEND 0x' clean.txt)" = 40 ] && [ "$(grep -c '✓ RECV 0x' clean.txt)" = 40 ]
}
check all_requests_are_there all_are_there
check devices_are_named grep -q -E 'shca_([ab]) 0x.* shca_[ab] 0x' clean.txt
# (an answer that is late, on a machine that is, has packets sent again that were not lost)
sent_again() { cat /sys/class/infiniband/shca_[ab]/ports/1/hw_counters/{tx_early_retransmits,local_ack_timeout_err} | paste -sd + | bc; }
nothing_is_lost() {
	! grep -e ' lost' clean.txt || return
	! grep again clean.txt || [ "$(sent_again)" -gt 0 ]
}
check nothing_is_lost nothing_is_lost
ends_at_ctrl_c() {
	local pid
	softhca trace record -o ctrl.dat 2>ctrl.err &
	pid=$!
	wait_for 20 grep -q 'Ctrl-C' ctrl.err || return
	kill -INT $pid
	wait $pid && softhca trace show ctrl.dat | grep -q '^0 events'
}
# (a job of a shell without job control ignores SIGINT: so it is another's)
check without_a_program timeout -k 20 $((60 * slow)) bash -mc "exec {never}<> <(:); $(declare -f ends_at_ctrl_c wait_for nap slowness became_slower); slow=$slow; ends_at_ctrl_c"
check only_so_much says 0 'the first 1 MB are kept' softhca trace record --size 1 -o x.dat -- \
	"$test_programs/traffic" -d shca_a -p shca_b -f 4 -q rc -u 17 -n 600

# ---- a network that loses

for end in a b; do
	run tc -n shca-$end qdisc add dev veth_$end root netem loss 4%
done
check record.lossy says 0 'softhca trace show lossy.dat' softhca trace record -o lossy.dat -- \
	"$test_programs/traffic" -d shca_a -p shca_b -f 4 -q rc -u 10 -n 20
for end in txt html svg json pcapng; do
	check "form.$end" softhca trace show lossy.dat -o lossy.$end
	check "form.$end.is_right" "$form" lossy.dat lossy.$end
done
grep -m 3 -B 2 -A 2 ' lost' lossy.txt
# follow one request that was repeated
wr=$(sed -n 's/.*post .* \(0x[0-9a-f]*\).*/\1/p' lossy.txt | head -n 1)
followed() {
	softhca trace show lossy.dat --wr-id "$wr" >one.txt && grep -q "post .* $wr" one.txt &&
		! grep -o 'post .* 0x[0-9a-f]*' one.txt | grep -v " $wr\$" && [ "$(wc -l <one.txt)" -lt "$(wc -l <lossy.txt)" ]
}
check follows_a_request followed
check removed_device eval 'rdma link delete shca_a && softhca trace show lossy.dat >again.txt && cmp again.txt lossy.txt'
# until each of the three queue pairs has a mark, and a packet a verdict: what is garbled below is
# said of them. (On a slow machine the recording may end between a packet and what is decided.)
marked() {
	nsenter --net="/run/netns/$ns_a" softhca trace record -o marked.dat -- sleep 0.3 &&
		softhca trace show marked.dat >marked.txt && [ "$(grep -c 'shca_a 0x' marked.txt)" -ge 3 ] &&
		softhca trace show marked.dat -o marked.pcapng && grep -aq '; the receiver: ok' marked.pcapng
}
# (the program's queue pairs end in error)
goes_meanwhile() {
	local pid
	run add_device shca_a veth_a "$ns_a"
	run wait_for 10 gid_index shca_a "$ip4_a"
	start_traffic gone shca_a shca_b -f 4 -u 14
	# (marks tell of queue pairs that are there before; of this network namespace)
	run wait_for 20 marked
	softhca trace record -o gone.dat 2>gone.err &
	pid=$!
	wait_for 20 grep -q 'Ctrl-C' gone.err || return
	sleep 0.5
	rdma link delete shca_a
	rdma link delete shca_b
	sleep 0.5
	kill -TERM $pid
	wait $pid && softhca trace show gone.dat >gone.txt && grep -q 'RTS → ERR' gone.txt && ! ls -d $tracing/instances/softhca-trace-*
}
check device_goes_meanwhile goes_meanwhile
end_traffic gone >/dev/null || :	# (whose queue pairs have failed)

# ---- a recording of somebody who means harm: a long word, and an escape sequence

run "$garble" marked.dat garbled.dat shca_a
long_word() { softhca trace show garbled.dat -o garbled.pcapng && grep -aq AAAAAAAA garbled.pcapng; }
check garbled.long_word long_word
no_escape() {
	softhca trace show garbled.dat >garbled.txt && grep -m 1 -F '[31mX 0x' garbled.txt && grep -m 1 -F '4mYY 0x' garbled.txt &&
		! LC_ALL=C grep -q $'\e\\|\xc2\x9b' garbled.txt
}
check garbled.escape_sequence no_escape

# ---- the file: new, or a plain one of the caller; no link

cannot='is there, and is no plain file of user'
echo keep >keep
chmod 644 keep
run ln -s keep symbolic.dat
run ln keep hard.dat
run mkfifo fifo.dat
run install -o 65534 /dev/null others.dat
for file in symbolic hard fifo others; do
	check "file.$file" says 1 "$cannot 0:" timeout $((60 * slow)) softhca trace record -o $file.dat -- true
done
check file.is_kept grep -qx keep keep
check file.of_sudo says 1 "$cannot 65534:" env SUDO_UID=65534 SUDO_GID=65534 softhca trace record -o keep -- true
check file.of_who_calls_sudo says 0 '' env SUDO_UID=65534 SUDO_GID=65534 softhca trace record -o others.dat -- true
check file.again says 0 '' env SUDO_UID=65534 SUDO_GID=65534 softhca trace record -o others.dat -- true
check file.new says 0 '' env SUDO_UID=65534 SUDO_GID=65534 softhca trace record -o new.dat -- true
check file.is_theirs eval '[ "$(stat -c "%u %a" new.dat)" = "65534 600" ]'
