#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The verbs sanitizer (docs/lint.md): each finding is provoked and reported, with the
# stack of the post. SOFTHCA_LINT is read word by word. Programs in order give none:
# perftest and ping-pongs.
# timeout: 600
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

make_pair 1500
gid_a=$(gid_index shca_a "$ip4_a") gid_b=$(gid_index shca_b "$ip4_b")

# ---- the findings

verbs findings lint -d shca_a -p shca_b -f 4
# Each finding is counted once, by the device of the context that it is about.
counts() { in_a softhca dev show shca_a --json | python3 -c 'import json, sys; d = json.load(sys.stdin)
d = d if isinstance(d, dict) else d[0]
print(d["lint_errors"], d["lint_hints"])'; }
counts >/tmp/counts
cat /tmp/counts
check counted grep -q '^[1-9][0-9]* [1-9][0-9]*$' /tmp/counts
check counted.shown eval 'in_a softhca dev show shca_a | grep -q " lint_errors [1-9][0-9]* lint_hints [1-9]"'

# ---- SOFTHCA_LINT

# prints_line TEXT COMMAND... : its output has this line
prints_line() {
	local text=$1
	shift
	"$@" >/tmp/lint.out 2>&1
	cat /tmp/lint.out
	grep -qxF -- "$text" /tmp/lint.out
}
nothing_found='softhca lint: 0 errors, 0 hints, 0 repeated'
check env.stderr prints_line "$nothing_found" env SOFTHCA_LINT=on ibv_devinfo -d shca_a
check env.two_words prints_line "$nothing_found" env SOFTHCA_LINT=errors,hints ibv_devinfo -d shca_a
in_file() { rm -f /tmp/lint.file; SOFTHCA_LINT=file=/tmp/lint.file ibv_devinfo -d shca_a >/dev/null && cat /tmp/lint.file && [ "$(</tmp/lint.file)" = "$nothing_found" ]; }
check env.file in_file
check env.off eval '! SOFTHCA_LINT=off ibv_devinfo -d shca_a 2>&1 | grep lint'
check env.unset eval '! ibv_devinfo -d shca_a 2>&1 | grep lint'
check env.wrong prints_line 'softhca: SOFTHCA_LINT: error: wrong (expected: off, on, errors, hints or file=PATH, separated by commas)' \
	env SOFTHCA_LINT=error ibv_devinfo -d shca_a
check env.not_opened grep -q 'Failed to open device' /tmp/lint.out
check env.no_file prints_line 'softhca: SOFTHCA_LINT: file=/nonesuch/lint: No such file or directory' \
	env SOFTHCA_LINT=file=/nonesuch/lint ibv_devinfo -d shca_a
# With the rules of SOFTHCA_FAULTS, too.
echo 'do=fail verb=create_cq errno=ENOMEM' >/tmp/own
check env.with_faults prints_line "Couldn't create CQ" env SOFTHCA_FAULTS=/tmp/own SOFTHCA_LINT=on ibv_rc_pingpong -d shca_a -g "$gid_a"
# A program with more rights than its caller does not read the caller's words.
install -m 4755 "$(command -v ibv_devinfo)" /var/tmp/devinfo
at_exit rm -f /var/tmp/devinfo
more_rights() { ! setpriv --reuid=65534 --regid=65534 --clear-groups env SOFTHCA_LINT=on /var/tmp/devinfo -d shca_a 2>&1 | grep lint; }
check env.not_with_more_rights more_rights

# ---- softhca dev set DEV lint

run in_a softhca dev set shca_a lint on
check device.on prints_line "$nothing_found" ibv_devinfo -d shca_a
check device.off_here eval '! SOFTHCA_LINT=off ibv_devinfo -d shca_a 2>&1 | grep lint'
check device.not_another eval '! ibv_devinfo -d shca_b 2>&1 | grep lint'
run in_a softhca dev set shca_a lint hints
# ibv_rc_pingpong posts one buffer many times.
hinted() {
	between_pair ibv_rc_pingpong -d shca_b -g "$gid_b" -n 10 -- ibv_rc_pingpong -d shca_a -g "$gid_a" -n 10 ADDRESS >/tmp/lint.out 2>&1
	cat /tmp/lint.out
	grep -q '^softhca lint: hint: recv-overlap: shca_a QP' /tmp/lint.out && ! grep -q ': shca_b QP' /tmp/lint.out
}
check device.hints hinted
more() { counts; counts | awk -v before="$(</tmp/counts)" '{ split(before, b); exit !($1 == b[1] && $2 > b[2] && $2 <= b[2] + 3) }'; }
check device.hints_are_counted more
run in_a softhca dev set shca_a lint off
check device.off eval '! ibv_devinfo -d shca_a 2>&1 | grep lint'

# ---- programs in order

# in_order NAME HOW COMMAND... : no error of any of its processes
in_order() {
	local name=$1 out=/tmp/lint.$1
	shift
	rm -f "$out"
	SOFTHCA_LINT=errors,file=$out "$@" >/dev/null || return
	cat "$out"
	[ "$(wc -l <"$out")" -gt 0 ] && ! grep -qv '^softhca lint: 0 errors, ' "$out"
}
for program in ib_{send,write,read,atomic}_{bw,lat}; do
	check "in_order.$program" in_order "$program" between_pair "$program" -F -d shca_b -x "$gid_b" -n 200 -- \
		"$program" -F -d shca_a -x "$gid_a" -n 200 ADDRESS
done
check in_order.bidirectional in_order bidirectional between_pair ib_send_bw -b -F -d shca_b -x "$gid_b" -n 200 -- \
	ib_send_bw -b -F -d shca_a -x "$gid_a" -n 200 ADDRESS
check in_order.ud in_order ud between_pair ib_send_bw -c UD -F -d shca_b -x "$gid_b" -n 200 -- \
	ib_send_bw -c UD -F -d shca_a -x "$gid_a" -n 200 ADDRESS
for program in rc srq ud; do
	check "in_order.${program}_pingpong" in_order "${program}_pingpong" between_pair "ibv_${program}_pingpong" -d shca_b -g "$gid_b" -n 200 -- \
		"ibv_${program}_pingpong" -d shca_a -g "$gid_a" -n 200 ADDRESS
done
