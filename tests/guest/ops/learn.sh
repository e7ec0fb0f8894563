#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# softhca learn: the list; each lesson runs, and prints what its text says; how the
# compiler is called; refusals; nothing is left behind. About 40 s.
#
# timeout: 300
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/guest/scenario
. "$(dirname "$0")/../scenario"

learn=/usr/local/share/softhca/learn
at_exit wait_for 20 rdma system set netns shared
at_exit softhca down

# ---- the list

lessons() { softhca learn | sed -n 's/^ *\([0-9]*\)  .*/\1/p'; }
check list.has_twelve diff <(lessons) <(seq 12)
check list.needs_no_root eval 'setpriv --reuid 65534 --clear-groups softhca learn | grep -q "^ 1  what a queue pair is"'
json() {
	softhca learn --json | python3 -c 'import json, os, sys
lessons = json.load(sys.stdin)
assert [one["lesson"] for one in lessons] == list(range(1, 13))
assert all(os.path.exists(one[key]) for one in lessons for key in ("program", "text"))'
}
check list.json json
short() { wc -l $learn/[0-9]*.c && [ "$(wc -l $learn/[0-9]*.c | awk '$1 >= 100 && $2 != "total"' | wc -l)" = 0 ]; }
check programs_have_less_than_100_lines short

# ---- refusals

for number in 0 13 1x -1 ''; do
	check "refused.number.$number" says 2 "learn: LESSON must be 1 to 12, not '$number'" softhca learn -- "$number"
done
check refused.user says 1 "only root can use network namespaces (try 'sudo softhca learn')" \
	setpriv --reuid 65534 --clear-groups softhca learn 1

# ---- the lessons

# plain : without what differs each time: numbers after 0x and ~, spaces in front of them
plain() { sed -E 's/0x[0-9a-f]+/N/g; s/ *~[0-9]+/ N/g; s/ +$//'; }
# shellcheck disable=SC2016 # backticks of the text
documented() { sed -n '/^```output$/,/^```$/{/^```/d;p}' "$1" | plain; }
# (between the first empty line and the next; without the commands)
printed() { awk 'NF == 0 { part++; next } part == 1' "$1" | grep -v -E '^(a|b)?\$ ' | plain; }
lesson() {
	local text=$1 out=/tmp/learn.out
	softhca learn "$2" >$out 2>&1 || { cat $out; return 1; }
	printed $out >/tmp/learn.printed
	[ -s /tmp/learn.printed ] && grep -q "^Read on:  $text" $out && documented "$text" | diff - /tmp/learn.printed && return
	cat $out
	return 1
}
number=0
for text in "$learn"/[0-9]*.md; do
	check "lesson.$(basename "$text" .md)" lesson "$text" $((++number))
done
check up_is_not_needed_and_stays eval 'softhca run -- ip link show veth0'
no_settings_left() { ! softhca run -- tc qdisc show dev veth0 | grep -e netem -e tbf -e red; }
check no_settings_left no_settings_left

# the packets of lesson 12
tshark_plain() { sed -E 's/^ *[0-9]+ +[0-9.]+ +//; s/0x[0-9a-f]+/N/g; s/ +/ /g; s/ $//'; }
# shellcheck disable=SC2016 # backticks of the text
packets_documented() { sed -n '/^```capture$/,/^```$/{/^```/d;p}' $learn/12-wire.md | tshark_plain; }
wire() {
	capture_in=a capture /tmp/learn.pcap '-i veth0' softhca learn 12 >/tmp/learn.out 2>&1 || { cat /tmp/learn.out; return 1; }
	tshark -r /tmp/learn.pcap 2>/dev/null | tshark_plain >/tmp/learn.packets
	[ -s /tmp/learn.packets ] && packets_documented | diff - /tmp/learn.packets
}
check wire wire

# the ladder of lesson 4, but for times, numbers of queue pairs, and who is first of those
# that two threads tell of
shape() {
	grep -E '[│├┤].*(──|✓|post)|(✓|post).*│' | sed -E 's/^ *[0-9.]+ (µs|ms|s) //; s/[0-9.]+ (µs|ms|s)/T/; s/0x[0-9a-f]+/N/g
		s/,? (took )?\+?T( |$)/\2/; s/─+/─/g; s/ +/ /g; s/^ | $//g' | sort
}
ladder() {
	softhca trace record -o /tmp/learn.dat -- softhca learn 4 >/tmp/learn.out 2>&1 || { cat /tmp/learn.out; return 1; }
	softhca trace show /tmp/learn.dat | shape >/tmp/learn.ladder
	# shellcheck disable=SC2016 # backticks of the text
	[ -s /tmp/learn.ladder ] && sed -n '/^```ladder$/,/^```$/p' $learn/04-write-read.md | shape | diff - /tmp/learn.ladder
}
check ladder ladder

# What is slow or marked shows in the counters, on a machine with any load.
counted() { sed -n "s/^$1 ~\([0-9]*\).*/\1/p" /tmp/learn.out; }
more_than_none() { local n; n=$(counted "$1"); echo "$1 $n"; [ "${n:-0}" -gt 0 ]; }
run eval 'softhca learn 10 >/tmp/learn.out'
check loss.gaps more_than_none 'b: out_of_sequence'
check loss.naks more_than_none 'a: packet_seq_err'
run eval 'softhca learn 11 >/tmp/learn.out'
check congestion.marks more_than_none 'b: packets arrived with a mark'
check congestion.cnps more_than_none 'a: notifications received'

# ---- the compiler, where there is one: this one copies what was built before

cat >/tmp/learn.cc <<'CC'
#!/bin/sh
case " $* " in *" -c "*) exit ;; esac
echo "$*" >/tmp/learn.cc.words
for word; do
	case $before in -o) out=$word ;; esac
	before=$word
	case $word in *.c) source=$word ;; esac
done
cp "${source%.c}" "$out"
CC
run chmod +x /tmp/learn.cc
check compiler.runs env CC=/tmp/learn.cc softhca learn 1
words() {
	cat /tmp/learn.cc.words
	grep -q -x -E "(-O2 -Wall -o /tmp/softhca-learn\..{6}/$1 $learn/$1\.c -libverbs${2-})" /tmp/learn.cc.words
}
check compiler.words words 01-queue-pair
check compiler.of_rdma_cm env CC=/tmp/learn.cc softhca learn 6
check compiler.words_of_rdma_cm words 06-rdma-cm ' -lrdmacm'
run sed -i 's/^cp .*/exit 1/' /tmp/learn.cc
check compiler.fails says 1 "learn: the program cannot be built (try 'apt-get install libc6-dev" env CC=/tmp/learn.cc softhca learn 1
# What was changed is not run as it was before.
run cp -p $learn/01-queue-pair.c /tmp/
run touch -d '+1 minute' $learn/01-queue-pair.c
check compiler.missing_for_a_change says 1 "learn: there is no C compiler 'nonesuch' (try 'apt-get install gcc" env CC=nonesuch softhca learn 1
run cp -p /tmp/01-queue-pair.c $learn/
run mv $learn/01-queue-pair /tmp/
check compiler.missing says 1 "learn: there is no C compiler 'nonesuch' (try 'apt-get install gcc" env CC=nonesuch softhca learn 1
run mv /tmp/01-queue-pair $learn/
check no_files_left eval '! ls -d /tmp/softhca-learn.*'

# ---- one device alone, as a process in exclusive mode has it

run softhca down
# (namespaces of the test before may be on their way out)
run wait_for 20 rdma system set netns exclusive
exclusive() { softhca learn 4 >/tmp/learn.out && cat /tmp/learn.out && grep -q '^a\$ .*04-write-read shca0$' /tmp/learn.out; }
check exclusive exclusive
