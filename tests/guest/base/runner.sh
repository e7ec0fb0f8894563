#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The tests' own tools: what `run` counts and leaves out, that a program without a
# test that ran is no success, and that waits follow how slow the machine is.
#
# timeout: 300
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

folder=/tmp/runner
mkdir -p $folder
# test_is NAME LINE... : a test of that folder
test_is() {
	local name=$1
	shift
	printf '%s\n' "$@" >"$folder/$name.sh"
}
# run_says EXPECTED DEADLINE NAME... : these lines after the version, but for the times
run_says() {
	local expected=$1 deadline=$2 said
	shift 2
	said=$(SHCA_REPEATS="" SHCA_DEADLINE=$deadline "$test_programs/guest/run" --in $folder "$@" |
		grep -v -E '^# ([a-z_]+: [0-9]+ s|the machine takes .*)$')
	echo "  ${said//$'\n'/, }"
	[ "${said//$'\n'/, }" = "KTAP version 1, 1..$#, $expected" ]
}
test_is good true
test_is bad 'exit 3'
test_is skipped 'echo no reason' 'exit 77'
test_is parts 'echo "ok one"' 'echo "not ok two # why"' 'echo "skip three # reason"'
test_is right 'echo "ok one"'
test_is ends 'echo "ok one"' 'exit 3'
test_is long 'sleep 2.1'
head_of() { echo "# begin $1,     KTAP version 1,     # Subtest: $1,     1..$2"; }
check run.good run_says "# begin good, ok 1 good" '' good
check run.bad run_says "# begin bad, not ok 1 bad # exit status 3" '' bad
check run.skipped run_says "# begin skipped, ok 1 skipped # SKIP no reason" '' skipped
check run.parts run_says "$(head_of parts 3),     ok 1 one,     not ok 2 two # why,     ok 3 three # SKIP reason, not ok 1 parts, # ok one, # not ok two # why, # skip three # reason" '' parts
check run.all_parts_are_right run_says "$(head_of right 1),     ok 1 one, ok 1 right" '' right
check run.parts_and_the_end run_says "$(head_of ends 2),     ok 1 one,     not ok 2 end # exit status 3, not ok 1 ends, # ok one" '' ends
check run.numbers run_says "# begin good, ok 1 good, $(head_of right 1),     ok 1 one, ok 2 right" '' good right
check run.nothing_begins_after_the_deadline run_says "# begin long, ok 1 long, ok 2 good # SKIP left out for want of time, ok 3 bad # SKIP left out for want of time" 2 long good bad
# One that fails at its first run only.
# shellcheck disable=SC2016 # for the test's own shell
test_is shy 'echo "ok one"' '[ ! -e /tmp/runner/shy.ran ] || { echo "ok two"; exit 0; }' \
	'touch /tmp/runner/shy.ran' 'echo 3 of 4' 'echo "not ok two"'
# second_run_says REPEATS EXPECTED NAME... : of results, and of what is said of first runs
second_run_says() {
	local repeats=$1 expected=$2 said
	shift 2
	rm -f $folder/shy.ran
	said=$(SHCA_REPEATS=$repeats "$test_programs/guest/run" --in $folder "$@" |
		grep -E '^ *(not )?ok |^# failed once' | sed 's/^ *//; s/after [0-9]* s/after T s/' | paste -sd ,)
	echo "  $said"
	[ "$said" = "$expected" ]
}
check run.nothing_is_repeated_unasked second_run_says '' "ok 1 one,not ok 2 two # 3 of 4,not ok 1 shy" shy
check run.repeated_and_told second_run_says 1 "# failed once: shy: two: 3 of 4,ok 1 one,ok 2 two,ok 1 shy" shy
check run.repeated_and_fails_again second_run_says 1 "ok 1 one,not ok 2 end # exit status 3,not ok 1 ends" ends
check run.repeated_as_often_as_allowed second_run_says 1 "not ok 1 bad # exit status 3,ok 1 one,not ok 2 two # 3 of 4,not ok 2 shy" bad shy
test_is hangs 'sleep 60' '# timeout: 1'
check run.not_repeated_after_a_time_out second_run_says 2 "not ok 1 hangs # timed out after T s,# failed once: shy: two: 3 of 4,ok 1 one,ok 2 two,ok 2 shy" hangs shy
# stopped_says SECONDS EXPECTED NAME... : where the time ends then
stopped_says() {
	local seconds=$1
	shift
	SHCA_END=$seconds run_says "$1" '' "${@:2}"
}
test_is stuck 'echo "ok one"' 'sleep 60'
check run.what_is_stopped_is_left_out stopped_says $((5 * slow)) "$(head_of stuck 2),     ok 1 one,     ok 2 end # SKIP left out for want of time, ok 1 stuck" stuck
check run.ends_before_it_is_stopped stopped_says $((20 * slow)) "# begin good, ok 1 good" good
# One that fails, and is stopped when it runs again.
test_is worse '[ ! -e /tmp/runner/worse.ran ] || sleep 60' 'touch /tmp/runner/worse.ran' 'echo "not ok one # why"'
stopped_again_says() {
	local said
	rm -f $folder/worse.ran
	said=$(SHCA_END=$1 SHCA_REPEATS=1 "$test_programs/guest/run" --in $folder worse | grep -E '^ *(not )?ok |^# failed once' | paste -sd ,)
	echo "  $said"
	[ "$said" = "$2" ]
}
check run.what_is_stopped_takes_nothing_back stopped_again_says $((5 * slow)) "    not ok 1 one # why,not ok 1 worse"
check run.no_such_test run_says "not ok 1 nobody # no such test" '' nobody
# A test's own way of ending: 1 where one failed.
ends_with() {
	local expected=$1 status=0
	shift
	SHCA_REPEATS="" "$test_programs/guest/run" --in $folder "$@" >/dev/null || status=$?
	[ "$status" = "$expected" ]
}
check run.status_of_success ends_with 0 good right skipped
check run.status_of_a_failed_part ends_with 1 parts good

# ---- programs of the verbs (one that needs no device: there is none)

program_is() { printf '%s\n' '#!/bin/sh' "$1" "exit $2" >$folder/program && chmod +x $folder/program; }
# verbs_says EXPECTED LINE STATUS : of a program that prints LINE, if any, and ends so
verbs_says() {
	local expected=$1 said
	program_is "${2:+echo $2}" "$3"
	said=$(test_programs=$folder verbs here program | grep -o -E '^(ok|not ok|skip)')
	echo "  ${said//$'\n'/ }"
	[ "${said//$'\n'/ }" = "$expected" ]
}
check verbs.ok verbs_says ok "ok a" 0
check verbs.skip verbs_says skip "skip a" 0
check verbs.not_ok verbs_says "not ok" "not ok a" 1
check verbs.no_test_matched verbs_says "not ok" "" 0
check verbs.no_test_matched_and_failed verbs_says "not ok" "" 1
check verbs.fails_and_says_ok verbs_says "ok not ok" "ok a" 1
check verbs.ended_by_a_signal verbs_says "ok not ok" "ok a" 139

# ---- a busy machine

raw() { "$test_programs/guest/slowness" --raw; }
hogs() {
	for _ in {1..8}; do
		(while :; do :; done) &
		at_exit kill -KILL $!
		pids+=($!)
	done
}
idle=$(raw)
pids=()
hogs
busy=$(raw)
kill -KILL "${pids[@]}"
wait "${pids[@]}" 2>/dev/null
echo "microseconds (all, programs, memory): $idle; with eight that turn: $busy"
check slowness.is_seen [ $((${busy%% *} * 2)) -gt $((${idle%% *} * 3)) ]
# (as on a machine that takes 9 times the reference: three times is enough, for what was
# measured above may be three times what it is now)
waits_longer() {
	local slow=1 start=$SECONDS
	SLOWNESS_REFERENCE=$((${idle%% *} / 9)) wait_for 1 false
	echo "$((SECONDS - start)) s"
	[ $((SECONDS - start)) -ge 3 ]
}
check slowness.waits_follow waits_longer
