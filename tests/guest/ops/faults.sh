#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Fault injection: rules are made, listed, counted and deleted; wrong ones are refused
# with the word that is wrong; the faults of a run are saved and replayed; each row of
# docs/faults.md and each profile does what it says. (hostile/fault-rules has random rules.)
# About 70 s.
# timeout: 600
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

make_pair 1500

# (nsenter starts faster than ip netns)
fault() { nsenter --net="/run/netns/$ns_a" softhca fault "$@"; }
lists() {
	fault list >/tmp/faults || return
	cat /tmp/faults
	sed 's/^[0-9]*: //' /tmp/faults | grep -qxF -- "$1"
}
is_empty() { [ -z "$(fault list)" ]; }

# ---- the rules

check none_at_first is_empty
check add fault add dev=shca_a do=drop type=request nth=3
check list lists 'dev=shca_a do=drop type=request nth=3 seen 0 hits 0'
json() { fault list --json | python3 -c "import json, sys; d = json.load(sys.stdin)
sys.exit(not (len(d) == 1 and d[0]['dev'] == 'shca_a' and d[0]['do'] == 'drop' and d[0]['hits'] == 0))"; }
check list_is_json json
check stats_are_json eval 'fault stats --json | python3 -m json.tool'
id=$(fault list | cut -d: -f1)
check another_namespace_sees_none eval '[ -z "$(in_b softhca fault list)" ]'
check another_namespace_deletes_none says 1 'ID: no rule has this number here' in_b softhca fault del "$id"
check another_namespace_adds_none says 1 'no softhca device of this name' in_b softhca fault add dev=shca_a do=drop
check without_privilege.add says 1 'Operation not permitted' \
	in_a setpriv --reuid=65534 --clear-groups softhca fault add dev=shca_a do=drop
check without_privilege.del says 1 'Operation not permitted' \
	in_a setpriv --reuid=65534 --clear-groups softhca fault del all
# Of memory and requests it sees nothing (others see them: round_trip).
private() {
	fault add dev=shca_a do=complete qpn=0x11 wr_id=9 status=RETRY_EXC_ERR >/dev/null || return
	fault add dev=shca_a do=revoke msg=3 va=0x10 rkey=0x12ab >/dev/null || return
	[ ! -e /sys/fs/cgroup/cgroup.procs ] || fault add dev=shca_a do=ecn cgroup=/ >/dev/null || return
	in_a setpriv --reuid=65534 --clear-groups softhca fault list >/tmp/private || return
	cat /tmp/private
	sed -n '/do=ecn/!s/^[0-9]*: //p' /tmp/private | diff - <(printf 'dev=shca_a do=%s seen 0 hits 0\n' \
		'drop type=request nth=3' 'complete qpn=0x11 status=RETRY_EXC_ERR' 'revoke msg=3') && ! grep -q cgroup /tmp/private
}
check without_privilege.list private
check del fault del "$id"
run fault del all
check del_again says 1 'ID: no rule has this number here' in_a softhca fault del "$id"
check empty_again is_empty

# What list prints can be given again.
round_trip() {
	local words
	for words in 'do=delay dir=rx qpn=0x11 opcode=0x04 psn=5-16777215 prob=0.1% seed=7 every=2 nth=3 count=4 after=1ms for=2s delay=1500us jitter=3ms' \
		'do=reorder type=ack by=3' 'do=complete wr_id=9 status=RETRY_EXC_ERR' \
		'do=nak status=LOC_QP_OP_ERR nak=operation-error' 'do=fail verb=create_qp errno=EHWPOISON' \
		'do=drop seed=7 at=1,3-5,9,4294967295' 'do=fail pid=1 verb=reg_mr errno=ENOMEM' \
		'do=event dir=rx type=send nth=2 event=PORT_ERR' 'do=drop msg=7-9' 'do=drop va=0x7f00-0xffffffffffffffff rkey=0x12ab' \
		'do=revoke msg=3 va=0x10' 'do=lose-event cqn=4 pid=1 nth=2' 'do=lose-doorbell qpn=0x12 pid=1 cgroup=/' \
		'do=delay-doorbell delay=1ms jitter=5ms dist=exponential' 'do=delay delay=1ms jitter=5ms dist=normal' \
		'do=complete cqn=5 status=RETRY_EXC_ERR' 'do=event count=512 after=1s event=PORT_ACTIVE' 'do=corrupt-icrc' 'do=ecn'; do
		# shellcheck disable=SC2086 # words
		fault add dev=shca_a $words >/dev/null && lists "dev=shca_a $words seen 0 hits 0" || return
		fault del all
	done
}
check round_trip round_trip
printf '# a scenario\n\ndev=shca_a do=drop nth=5 # the fifth\n\tdev=shca_a  do=ecn every=2\n' >/tmp/rules
check file fault add --file /tmp/rules
check file.rules eval '[ "$(fault list | wc -l)" = 2 ]'
echo 'dev=shca_a do=drup' >>/tmp/rules
check file.line says 2 "/tmp/rules line 5: invalid value 'drup' of do (expected: drop, " in_a softhca fault add --file /tmp/rules
check file.line_makes_none eval '[ "$(fault list | wc -l)" = 2 ]'
echo 'dev=shca_a do=drop' >/tmp/rule
# shellcheck disable=SC2046 # words
check file.many_words says 2 '/tmp/rule line 1: more than 31 words' in_a softhca fault add --file /tmp/rule $(yes nth=1 | head -n 60)
check file.none says 1 'nonesuch: No such file' in_a softhca fault add --file nonesuch
run fault del all
many() {
	local i
	for ((i = 0; i < 256; i++)); do
		echo 'dev=shca_a do=drop qpn=16777215'
	done | fault add --file - >/dev/null && [ "$(fault list | wc -l)" = 256 ]
}
check many many
check too_many says 1 'the device has 256 rules, which is the maximum' in_a softhca fault add dev=shca_a do=drop
run fault del all

# ---- what is wrong with a rule

wrong() { # NAME STATUS TEXT WORD...
	local name=$1 status=$2 text=$3
	shift 3
	check "wrong.$name" says "$status" "$text" in_a softhca fault add "$@"
}
wrong key 2 "unknown word 'drop'" dev=shca_a drop
wrong key_of_none 2 "unknown word 'dp=drop'" dev=shca_a dp=drop
wrong no_device 2 'dev: missing' do=drop
wrong device 1 'no softhca device of this name' dev=nonesuch do=drop
wrong nothing 1 'do: missing' dev=shca_a nth=3
wrong twice 2 'do: given twice' dev=shca_a do=drop do=drop
wrong what 2 "invalid value 'explode' of do (expected: drop, duplicate" dev=shca_a do=explode
wrong qpn 2 "invalid value '0' of qpn (expected: 1 to 16777215)" dev=shca_a do=drop qpn=0
wrong psn 2 "invalid value '5-' of psn" dev=shca_a do=drop psn=5-
wrong prob 2 "invalid value '101%' of prob" dev=shca_a do=drop prob=101%
wrong time 2 "invalid value '5' of after (expected: a number with ns, us, ms or s)" dev=shca_a do=drop after=5
wrong delay 2 "invalid value '6s' of delay" dev=shca_a do=delay delay=6s
wrong delay_and_jitter 1 'delay: more than 5 seconds' dev=shca_a do=delay delay=4s jitter=4s
wrong delay_missing 1 'delay: missing, this do= needs it' dev=shca_a do=delay
wrong delay_alien 1 'delay: not with this do=' dev=shca_a do=drop delay=1ms
wrong dir 1 'dir: not with this do=' dev=shca_a do=complete dir=rx status=RETRY_EXC_ERR
wrong status 1 'status: missing' dev=shca_a do=complete
wrong success 2 "invalid value 'SUCCESS' of status" dev=shca_a do=complete status=SUCCESS
wrong verb 2 "invalid value 'destroy_qp' of verb" dev=shca_a do=fail verb=destroy_qp errno=EIO
wrong errno 2 "invalid value '5' of errno (expected: a name such as ENOMEM)" dev=shca_a do=fail verb=reg_mr errno=5
wrong at 2 "invalid value '3,2' of at (expected: at most 512 rising numbers, such as 3,7-9)" dev=shca_a do=drop at=3,2
wrong at_none 2 "invalid value '0' of at" dev=shca_a do=drop at=0
wrong at_many 2 "invalid value '1-513' of at" dev=shca_a do=drop at=1-513
wrong at_and_nth 1 'at: not with prob, every, nth, count, after or for' dev=shca_a do=drop at=3 nth=3
wrong at_of_event 1 'event: one that concerns a QP happens at once' dev=shca_a do=event event=QP_FATAL qpn=0x11 at=1
wrong pid 1 'pid: not with this do=' dev=shca_a do=event event=PORT_ERR count=1 pid=1
wrong event 1 'qpn: missing, this event concerns a QP' dev=shca_a do=event event=QP_FATAL
wrong event_qpn 1 'qpn: the device has no such QP' dev=shca_a do=event event=QP_FATAL qpn=1234567
wrong event_of_the_core 1 'event: not to be had so' dev=shca_a do=event event=GID_CHANGE
wrong event_when 1 'event: one that concerns a QP happens at once' dev=shca_a do=event event=QP_FATAL qpn=0x11 nth=2
wrong event_for_ever 1 'count: from 1 to 512' dev=shca_a do=event event=PORT_ERR every=2
wrong event_too_often 1 'count: from 1 to 512' dev=shca_a do=event event=PORT_ERR count=513
wrong event_of_requests 1 'wr_id: not with this do=' dev=shca_a do=event event=PORT_ERR count=1 wr_id=1
wrong msg 2 "invalid value '0' of msg (expected: NUMBER or FIRST-LAST, 1 to 0xffffff)" dev=shca_a do=drop msg=0
wrong msg_order 2 "invalid value '5-4' of msg" dev=shca_a do=drop msg=5-4
wrong msg_rx 1 'msg: not with dir=rx' dev=shca_a do=drop dir=rx msg=5
wrong va 2 "invalid value '2-1' of va (expected: ADDRESS or FIRST-LAST)" dev=shca_a do=drop va=2-1
wrong rkey 2 "invalid value '0x100000000' of rkey" dev=shca_a do=drop rkey=0x100000000
wrong cqn 1 'cqn: not with this do=' dev=shca_a do=drop cqn=3
wrong cgroup 1 'cgroup: there is none at this path' dev=shca_a do=drop cgroup=/nonesuch
wrong cgroup_empty 2 "invalid value '' of cgroup" dev=shca_a do=drop cgroup=
wrong dist 2 "invalid value 'flat' of dist (expected: uniform, normal or exponential)" dev=shca_a do=delay delay=1ms dist=flat
wrong dist_alone 1 'jitter: missing, dist is about it' dev=shca_a do=delay delay=1ms dist=normal
wrong doorbell 1 'delay: missing, this do= needs it' dev=shca_a do=delay-doorbell
wrong revoke_dir 1 'dir: not with this do=' dev=shca_a do=revoke dir=rx
wrong lose_event_qpn 1 'qpn: not with this do=' dev=shca_a do=lose-event qpn=17
wrong event_srq 1 'qpn: missing, this event concerns a QP' dev=shca_a do=event event=SRQ_ERR
check nothing_was_added is_empty

# ---- a run is saved and replayed

pingpong() {
	between_pair ibv_rc_pingpong -d shca_b -g "$gid_b" -s 64 -n 700 -- \
		ibv_rc_pingpong -d shca_a -g "$gid_a" -s 64 -n 700 ADDRESS >/dev/null
}
gid_a=$(gid_index shca_a "$ip4_a") gid_b=$(gid_index shca_b "$ip4_b")
hits_of() { fault list | sed -n "s/.* do=$1 .* hits //p"; }
run fault add dev=shca_a do=duplicate type=send prob=30% seed=5 count=100 for=600s
check save.without_hits eval '[[ $(fault save) == "# no hit: dev=shca_a do=duplicate "* ]]'
run fault add dev=shca_a do=ecn type=send for=600s
check save.traffic pingpong
check save.hits eval '[ "$(hits_of duplicate)" = 100 ] && [ "$(hits_of ecn)" -ge 600 ]'
check save.too_many says 1 'times; with after= or for= at most 512 can be saved' in_a softhca fault save
save() { fault save 2>/dev/null | grep do=duplicate; }
save >/tmp/saved
cat /tmp/saved
check save.list grep -q '^dev=shca_a do=duplicate type=send seed=5 at=[0-9,-]*$' /tmp/saved
check replay.file_missing says 1 'nonesuch: No such file' in_a softhca fault replay nonesuch
check replay.directory says 1 'fault replay: /tmp: Is a directory' in_a softhca fault replay /tmp
check replay.wrong_word says 2 "/tmp/rules line 5: invalid value 'drup'" in_a softhca fault replay /tmp/rules
check replay.keeps_rules_then eval '[ "$(fault list | wc -l)" = 2 ]'
check replay fault replay /tmp/saved
check replay.traffic pingpong
check replay.same_hits eval 'save | diff /tmp/saved -'
check replay.all_of_them eval '[ "$(hits_of duplicate)" = 100 ]'
run fault del all
# Without a limit of time the words decide alike each time, however many are hit.
run fault add dev=shca_a do=ecn type=send
check save.words.traffic pingpong
check save.words eval '[ "$(fault save)" = "dev=shca_a do=ecn type=send" ]'
run fault del all

# ---- datagrams that wait arrive, also by IPv6: those of a UD QP, and of QP1

gid6_a=$(gid_index shca_a "$ip6_a") gid6_b=$(gid_index shca_b "$ip6_b")
datagrams() {
	between_pair timeout $((20 * slow)) ibv_ud_pingpong -d shca_b -g "$gid6_b" -s 64 -n 30 -- \
		timeout $((20 * slow)) ibv_ud_pingpong -d shca_a -g "$gid6_a" -s 64 -n 30 ADDRESS
}
connects() {
	local pid status=0
	ip netns exec $ns_b rping -s -C 1 -a "$ip6_b" >/tmp/rping 2>&1 &
	pid=$!
	wait_for 10 eval "in_b rdma resource show cm_id | grep -q 'state LISTEN.* pid $pid '" || status=1
	[ $status != 0 ] || in_a timeout $((20 * slow)) rping -c -C 1 -a "$ip6_b" || status=1
	[ $status = 0 ] || kill $pid
	wait $pid
	cat /tmp/rping
	return $status
}
for words in 'do=delay delay=1ms' 'do=reorder every=2 by=1'; do
	rule=${words%% *} rule=${rule#do=}
	run fault del all
	# shellcheck disable=SC2086 # words
	run fault add dev=shca_a dir=rx type=send $words
	check "late6.$rule.datagrams" datagrams
	check "late6.$rule.hits" eval '[ "$(hits_of "$rule")" -gt 10 ]'
	check "late6.$rule.connection_manager" connects
done
run fault del all

# ---- profiles: files that come with the tool

check profile.more_words says 2 'wan line 8: unknown word' in_a softhca fault add --file wan dev=shca_a drop
check profile.no_file says 2 "--file needs the name of a file before 'dev=shca_a'" in_a softhca fault add --file dev=shca_a
check profile.path says 1 './wan: No such file' in_a softhca fault add --file ./wan dev=shca_a
run fault del all

watch_events shca_a
downed=$(attribute shca_a counters/link_downed) errors_a=$(attribute shca_a counters/port_rcv_errors) errors_b=$(attribute shca_b counters/port_rcv_errors)
check bad_cable fault add --file bad-cable dev=shca_a
flapped() { [ "$(fault list | grep -c 'event=PORT_ACTIVE seen [0-9]* hits 1$')" = 3 ]; }
damaged() { [ "$(attribute shca_a counters/port_rcv_errors)" -gt "$errors_a" ] && [ "$(attribute shca_b counters/port_rcv_errors)" -gt "$errors_b" ]; }
# Messages arrive all the same: the QPs' retries last longer than the link is down.
bad_cable() {
	local i
	for ((i = 0; i < 100; i++)); do
		pingpong || return
		! flapped || ! damaged || return 0
	done
	fault list
	return 1
}
check bad_cable.traffic bad_cable
thrice() { [ $(($(attribute shca_a counters/link_downed) - downed)) = 3 ]; }
check bad_cable.link_downed thrice
events() { sed -n 's/.*event_type IBV_EVENT_\([A-Z_]*\).*/\1/p' /tmp/events | paste -sd ' '; }
# The RDMA core hands each event on in a work of its own, so they may change places. A slow
# machine may send no packet for a while. Then several events of a kind come at once, as one.
told() { [ "$(events | tr ' ' '\n' | sort -u | paste -sd ' ')" = "PORT_ACTIVE PORT_ERR" ]; }
all_are_told() {
	local status=0
	wait_for 10 told || status=$?
	events
	return $status
}
check bad_cable.events all_are_told
check bad_cable.port_stays port_active shca_a
run fault del all

# For two seconds PKEY_CHANGE as fast as netlink takes it: events become rarer, and the last is told.
hex() { printf '%s\0' "$1" | od -An -v -tx1 | tr -d ' \n'; }
flood() {
	local told
	in_a "$test_programs/guest/helpers/softhca-netlink.py" --for 2 4 "2=$(hex shca_a)" 32782=050003000d00000005001a000c000000 || return
	sleep 2
	told=$(events | tr ' ' '\n' | grep -c PKEY_CHANGE)
	echo "$told events"
	[ "$told" -ge 2 ] && [ "$told" -le 20 ]
}
check event.flood flood
kill $watcher

# 20 ms there and 20 ms back
check wan fault add --file wan dev=shca_a
wan() {
	local us
	between_pair ibv_rc_pingpong -d shca_b -g "$gid_b" -s 64 -n 20 -- \
		ibv_rc_pingpong -d shca_a -g "$gid_a" -s 64 -n 20 ADDRESS >/tmp/wan || return
	us=$(sed -n 's/.* = \([0-9]*\)\.[0-9]* usec\/iter/\1/p' /tmp/wan)
	cat /tmp/wan
	[ "${us:-0}" -ge 40000 ]
}
check wan.traffic wan
run fault del all

# ---- the recipes

# shellcheck disable=SC2016 # backticks of the table
documented() { sed -n 's/^| `\([a-z0-9-]*\)` | `\(softhca [^`]*\)` |.*/\1: \2/p' "$test_programs/docs/faults.md"; }
same() { documented >/tmp/documented && fault recipes >/tmp/recipes && [ -s /tmp/recipes ] && diff /tmp/documented /tmp/recipes; }
check document_has_the_recipes same
each_is_tested() { diff <(fault recipes | cut -d: -f1 | sort) <("$test_programs/faults" -? 2>&1 | sed -n 's/^  //p' | sort); }
check each_recipe_is_tested each_is_tested
export SHCA_NETNS=/run/netns/$ns_a
verbs recipe faults -d shca_a -f 4
# A group of nobody, for the rule that names it.
cgroups=$(mktemp -d)
if mount -t cgroup2 none "$cgroups"; then
	at_exit rmdir "$cgroups"
	at_exit umount "$cgroups"
	run mkdir "$cgroups"/nobody.here
	at_exit rmdir "$cgroups"/nobody.here
	export SHCA_CGROUP=/nobody.here
	run mkdir "$cgroups"/'back\slash"'
	at_exit rmdir "$cgroups"/'back\slash"'
	json_name() {
		fault add dev=shca_a do=drop 'cgroup=/back\slash"' && fault list --json >/tmp/rules.json && fault del all &&
			python3 -c 'import json; rules = json.load(open("/tmp/rules.json")); print(rules[-1]); assert rules[-1]["cgroup"] == "/back\\slash\""'
	}
	check json_of_any_name json_name
fi
verbs word fault_words -d shca_a -f 4

# ---- recipes that run on their own

run fault del all
# runs NAME PATTERN... : so does the recipe, and its output has these
runs() {
	local name=$1 pattern
	shift
	fault recipes "$name" shca_a --run >/tmp/run 2>&1 || { cat /tmp/run; return 1; }
	cat /tmp/run
	for pattern; do grep -qE -- "$pattern" /tmp/run || { echo "no $pattern"; return 1; }; done
}
check run.loss-of-one runs loss-of-one 'sent: 8 messages' '^send completions: 8 SUCCESS$' '^receive completions: 8 SUCCESS$' \
	'QP 0x[0-9a-f]+ is in RTS, QP 0x[0-9a-f]+ in RTS' '^faults: 1$' ' out_of_sequence \+'
check run.dead-peer runs dead-peer '^send completions: 7 WR_FLUSH_ERR 1 RETRY_EXC_ERR$' '^receive completions:$' 'is in ERR, QP 0x[0-9a-f]+ in RTS'
check run.remote-access-error runs remote-access-error '^send completions: .*1 REM_ACCESS_ERR' '^receive completions: .*1 LOC_ACCESS_ERR' \
	'is in ERR, QP 0x[0-9a-f]+ in ERR'
check run.qp-fatal runs qp-fatal '^event: QP_FATAL$' 'is in ERR'
check run.event-qp-access-err runs event-qp-access-err '^event: QP_ACCESS_ERR$' 'is in RTS$'
check run.fail-create-cq runs fail-create-cq '^call: ibv_create_cq\(\): Cannot allocate memory$' '^next call: ibv_create_cq\(\): success$' '^faults: 1$'
check run.revoked-key runs revoked-key '^send completions: .*1 REM_ACCESS_ERR' 'is in ERR, QP 0x[0-9a-f]+ in ERR'
check run.lost-completion-event runs lost-completion-event '^completion event: none$' '^send completions: 8 SUCCESS$'
check run.lost-doorbell runs lost-doorbell '^send completions: 8 SUCCESS$' '^faults: 1$'
check run.event-srq-err runs event-srq-err '^event: SRQ_ERR$'
check run.fail-create-flow runs fail-create-flow '^call: ibv_create_flow\(\): Device or resource busy$' '^next call: ibv_create_flow\(\): success$'
check run.first_device eval 'fault recipes event-port-err --run | grep -q "^rule: dev=shca_a "'
check run.unknown says 2 "unknown recipe 'nonesuch'" in_a softhca fault recipes nonesuch --run
check run.no_name says 2 '--run needs the NAME of a recipe' in_a softhca fault recipes --run
check run.leaves_no_rule is_empty
# A recipe is about its own traffic, and its rule ends with it, however it ends.
begin_recipe() {
	nsenter --net="/run/netns/$ns_a" softhca fault recipes dead-peer shca_a --run >/tmp/run 2>&1 &
	recipe=$!
	wait_for 20 eval 'fault list | grep -q do=drop'
}
others_go_on() {
	local status=0
	begin_recipe && pingpong || status=$?
	wait $recipe && grep -qE '^faults: [1-9]' /tmp/run && return $status
	cat /tmp/run
	return 1
}
check run.hits_no_others others_go_on
ends_by() { begin_recipe && kill -"$1" $recipe && wait_for 10 is_empty && ! wait $recipe; }
check run.ends_by_a_signal ends_by TERM
check run.ends_when_killed ends_by KILL

# ---- a process that makes its own verbs fail

# own RULE COMMAND... : without privilege, by rules of its own
own() {
	printf '%s\n' "$1" >/tmp/own
	shift
	setpriv --reuid=65534 --regid=65534 --clear-groups env SOFTHCA_FAULTS=/tmp/own "$@"
}
own_says() { # TEXT RULE COMMAND...
	local text=$1 out
	shift
	out=$(own "$@" 2>&1)
	echo "$out"
	[[ $out == *"$text"* ]]
}
pingpong_fails() { # TEXT RULE : at the end of the client
	local text=$1
	printf '%s\n' "$2" >/tmp/own
	says 1 "$text" between_pair ibv_rc_pingpong -d shca_b -g "$gid_b" -s 64 -n 10 -- \
		env SOFTHCA_FAULTS=/tmp/own ibv_rc_pingpong -d shca_a -g "$gid_a" -s 64 -n 10 ADDRESS
}
check own.create own_says "Couldn't create CQ" 'do=fail verb=create_cq errno=ENOMEM' ibv_rc_pingpong -d shca_a -g "$gid_a"
check own.second_call own_says "Couldn't create QP" $'# the first is not hit\ndo=fail verb=alloc_pd errno=EIO nth=2\n\ndo=fail verb=create_qp errno=EIO count=1' \
	ibv_rc_pingpong -d shca_a -g "$gid_a"
check own.destroy pingpong_fails "Couldn't destroy QP" 'do=fail verb=destroy_qp errno=EBUSY dev=shca_a'
check own.query own_says 'Failed to query port 1' 'do=fail verb=query_port errno=EIO' ibv_devinfo -d shca_a
check own.another_device own_says 'PORT_ACTIVE' 'do=fail verb=query_port errno=EIO dev=shca_b' ibv_devinfo -d shca_a
check own.wrong_word own_says '/tmp/own line 2: nth=0: wrong' $'\ndo=fail verb=query_port errno=EIO nth=0' ibv_devinfo -d shca_a
check own.wrong_verb own_says 'line 1: verb=explode: wrong' 'do=fail verb=explode errno=EIO' ibv_devinfo -d shca_a
check own.no_errno own_says 'line 1: errno: missing' 'do=fail verb=query_qp' ibv_devinfo -d shca_a
check own.not_opened own_says 'Failed to open device' 'do=drop' ibv_devinfo -d shca_a
check own.no_file eval 'SOFTHCA_FAULTS=/nonesuch ibv_devinfo -d shca_a 2>&1 | grep -q "SOFTHCA_FAULTS: /nonesuch: No such file"'
# A program with more rights than its caller does not read the caller's file.
install -m 4755 "$(command -v ibv_devinfo)" /var/tmp/devinfo
at_exit rm -f /var/tmp/devinfo
check own.not_with_more_rights own_says 'PORT_ACTIVE' 'do=fail verb=query_port errno=EIO' /var/tmp/devinfo -d shca_a

# ---- the keys of an XRC target are those of the SRQ that the packet names

run fault add dev=shca_a do=revoke
xrc_is_refused() {
	! "$test_programs/xrc" -d shca_a -f 4 each_operation_moves_its_data >/tmp/xrc.out 2>&1 &&
		grep -q 'remote access error' /tmp/xrc.out
}
check xrc.revoked_key xrc_is_refused
run fault del all

# ---- a rule survives its maker, and goes with its device

run fault add dev=shca_a do=drop
check stays lists 'dev=shca_a do=drop seen 0 hits 0'
run in_a rdma link delete shca_a
check gone_with_the_device is_empty
