# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# What scripts/check prints, and counts (sourced, never run). A stage is a function that
# prints lines "ok NAME", "not ok NAME # why", "skip NAME # why", "left out: NAME" and
# "# detail" ("# failed once: NAME: PART..." is told again at the end); its other output goes to $logs/STAGE.log. The output is KTAP: a result for
# each stage, before it those of its tests, whose names begin with STAGE/.
# tests/check/ktap tests it. Who sources this sets
#   top      the project's root
#   logs     a folder, for STAGE.log and the like
#   results  a file: the stages' lines as they were, with STAGE/NAME
#   flaky    a file: "TEST: PART<TAB>CAUSE" for each that may fail once (tests/flaky)

: "${top:?}" "${logs:?}" "${results:?}" "${flaky:?}"
# shellcheck source=tests/guest/ktap
. "$top/tests/guest/ktap"
stages_told=0
left_out="left out for want of time"

# plan COUNT : the head of the output, of so many stages
plan() { printf 'KTAP version 1\n1..%d\n' "$1"; }

# told STAGE : how many results there are of it
told() { grep -c -E "^(ok|not ok|skip|left out:) $1/" "$results" || true; }

# note STAGE : passes a stage's lines on, numbered
note() {
	local stage=$1 line n word
	n=$(told "$stage")
	while IFS= read -r line; do
		case $line in
		'ok '*) word='ok ' ;;
		'not ok '*) word='not ok ' ;;
		'skip '*) word='skip ' ;;
		'left out: '*) word='left out: ' ;;
		'# failed once: '*)
			printf 'failed once: %s/%s\n' "$stage" "${line#\# failed once: }" >>"$results"
			printf '    %s\n' "$line"
			continue
			;;
		'# '* | '#') printf '    %s\n' "$line"; continue ;;
		*) printf '%s\n' "$line" >>"$logs/$stage.log"; continue ;;
		esac
		# "ok NAME" -> "ok STAGE/NAME"
		line=$word$stage/${line#"$word"}
		printf '%s\n' "$line" >>"$results"
		[ "$word" != 'left out: ' ] || line="skip ${line#"$word"} # $left_out"
		printf '    '
		ktap_line $((++n)) "$line"
	done
}

# stage NAME FUNCTION ARGUMENT... : what the stage says; conclude NAME comes after it. A
# stage that fails without a failed test is one failed test itself.
stage() {
	local name=$1 start=$SECONDS status=0
	shift
	printf '== %s\n' "$name"
	ktap_begin "$name"
	# (in a shell of its own, for it may exit)
	{ ("$@") 2>&1 || status=$?; echo "$status" >"$logs/$name.status"; } | note "$name"
	status=$(cat "$logs/$name.status")
	if [ "$status" != 0 ] && ! grep -q "^not ok $name/" "$results"; then
		echo "not ok stage # exit status $status" | note "$name"
		tail -n 60 "$logs/$name.log" 2>/dev/null | sed 's/^/    # /'
	elif [ "$(told "$name")" = 0 ]; then
		echo "not ok stage # it says nothing of any test" | note "$name"
	fi
	printf '== %s: %d s\n' "$name" $((SECONDS - start))
	echo "$name $((SECONDS - start))" >>"$logs/seconds"
}

# leave_out NAME : a stage that does not begin
leave_out() {
	printf 'left out: %s/all\n' "$1" >>"$results"
	ktap_line $((++stages_told)) "skip $1 # $left_out"
}

# conclude NAME : the result of a stage
conclude() {
	local result=ok
	! grep -q "^not ok $1/" "$results" || result='not ok'
	ktap_line $((++stages_told)) "$result $1"
}

# cut_short NAME SECONDS : the result of a stage that was stopped, and had told nothing for so
# long with the machine for itself: what is left of it is left out, or, where that is long, it hangs.
cut_short() {
	local line='left out: rest'
	[ "$2" -le 1500 ] || line="not ok end # nothing for $2 s, with nothing beside it"
	echo "$line" | note "$1"
	conclude "$1"
}

# judge_flaky : what failed once is told with its words. A part that the list has not is a
# failure: its cause is not known.
judge_flaky() {
	local line test parts why part
	while IFS= read -r line; do
		line=${line#failed once: }
		test=${line%%: *} line=${line#*: }
		parts=${line%%: *} why=${line#*: }
		for part in $parts; do
			if grep -q -F "${test#*/}: $part"$'\t' "$flaky"; then
				echo "# flaky: $test: $part: $why"
			else
				echo "not ok $test: $part # flaky, and not in tests/flaky: $why" >>"$results"
			fi
		done
	done < <(grep '^failed once: ' "$results")
}

# total NAME : prints the closing line, and what it needs. Return: whether nothing failed
total() {
	local failed left
	count() { grep -c "^$1 " "$results" || true; }
	judge_flaky
	failed=$(count 'not ok') left=$(count 'left out:')
	if [ "$failed" != 0 ]; then
		echo "== failed:"
		sed -n 's/^not ok /# &/p' "$results"
	fi
	[ "$left" = 0 ] || echo "== $left_out: $left"
	echo "== $SECONDS s: $(paste -sd , "$logs/seconds" | sed 's/,/, /g')"
	echo "$(count ok) passed, $failed failed, $(count skip) skipped"
	[ "$failed" = 0 ]
}
