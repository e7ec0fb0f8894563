#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# softhca up, down and run: two namespaces with a device each. They can be made twice and
# removed twice, what is missing is added, a failure leaves nothing, and what others have
# made stays. About 20 s.
. "$(dirname "$0")/lib.sh"

away() { softhca down; rdma link delete shca1; ip link del dummy_x; ip netns del a; ip netns del b; ip netns del other; }
at_exit away
# says STATUS TEXT COMMAND... : that is its status, and its output has the text
says() {
	local want=$1 text=$2 status=0
	shift 2
	"$@" >/tmp/lab.said 2>&1 || status=$?
	cat /tmp/lab.said
	[ "$status" = "$want" ] && { [ -z "$text" ] || grep -q -F -e "$text" /tmp/lab.said; }
}
nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
nothing_is_there() {
	! ip netns list | grep -w -e a -e b && ! rdma link show | grep shca && ! ls /run/netns/a /run/netns/b 2>/dev/null
}

# ---- refusals, before anything is there

check refused.up_by_a_user says 1 "only root can use network namespaces (try 'sudo softhca up')" nobody softhca up
check refused.down_by_a_user says 1 "(try 'sudo softhca down')" nobody softhca down
check refused.run_by_a_user says 1 "(try 'sudo softhca run')" nobody softhca run -- true
check refused.run_without_up says 1 "there is no namespace a (try 'softhca up')" softhca run -- true
check down_of_nothing says 0 '' softhca down
check down_of_nothing_is_silent eval '[ ! -s /tmp/lab.said ]'
check down_of_nothing_json says 0 '[]' softhca down --json
run modprobe -r softhca
module=$(modinfo -n softhca)
run mv "$module" /tmp/lab.ko
check refused.module says 1 "the softhca module cannot be loaded (try 'softhca doctor')" softhca up
run mv /tmp/lab.ko "$module"
check refused.module_leaves_nothing nothing_is_there

# ---- up: the module is not loaded yet

check up says 0 'namespace a: shca0 on veth0, 10.0.0.1/24, GID index ' softhca up
cp /tmp/lab.said /tmp/lab.up
check up.other_end grep 'namespace b: shca1 on veth1, 10.0.0.2/24, GID index ' /tmp/lab.up
check up.again softhca up
again() { softhca up | diff /tmp/lab.up -; }
check up.again_says_the_same again
json() {
	softhca up --json | python3 -c 'import json, sys; a, b = json.load(sys.stdin); print(a, b)
assert (a["namespace"], a["device"], a["netdev"], a["address"]) == ("a", "shca0", "veth0", "10.0.0.1/24")
assert (b["namespace"], b["device"], b["netdev"], b["address"]) == ("b", "shca1", "veth1", "10.0.0.2/24")
assert a["gid_index"] >= 0 and b["gid_index"] >= 0'
}
check up.json json
# Whoever asks outside of them is told where they are.
check up.explain_from_outside says 0 'softhca run -- softhca explain' softhca explain
check up.explain_from_inside says 0 'No queue pair has failed lately.' softhca run -- softhca explain
# README's failure: its commands as they stand, and what it shows of the output
readme=$test_programs/docs/README.md
shown() { sed -n '/^shca0\/0x.*: RC/,/^```/{/^```/d;p}' "$readme" | plain; }
plain() { sed -E 's/0x[0-9a-f]+/N/g; s/[0-9.]+ s ago/N s ago/; s/process [0-9]+/process N/'; }
readme_fails() {
	{
		echo 'sudo() { "$@"; }'
		sed -n '/^    sudo softhca run -- softhca fault add/,/^$/p' "$readme"
	} >/tmp/lab.readme
	grep -q 'softhca explain$' /tmp/lab.readme && bash /tmp/lab.readme 2>&1 | tee /tmp/lab.output
	plain </tmp/lab.output >/tmp/lab.plain
	shown >/tmp/lab.shown
	[ "$(wc -l </tmp/lab.shown)" -ge 5 ] && ! grep -v -x -F -f /tmp/lab.plain /tmp/lab.shown
}
check up.readme_fails_and_explains readme_fails
run softhca run -- softhca fault del all
# What `up` proposes works as it stands.
try_it() {
	local server client pid
	server=$(sed -n 's/^  \(softhca run -n b.*\)/\1/p' /tmp/lab.up)
	client=$(sed -n 's/^  \(softhca run -n a.*\)/\1/p' /tmp/lab.up)
	# shellcheck disable=SC2086 # words
	timeout $((60 * slow)) $server &
	pid=$!
	wait_for 20 listening b 18515 || return
	# shellcheck disable=SC2086 # words
	timeout $((60 * slow)) $client && wait $pid
}
check up.proposal try_it
add_back() { rdma link delete shca0 && softhca up && rdma dev show shca0; }
check up.adds_a_device add_back
join_back() { ip -n a link del veth0 && softhca up && ip netns exec a ping -c 1 -W $((5 * slow)) 10.0.0.2; }
check up.joins_again join_back
exec 7< <(for _ in 1 2 3; do softhca up >/dev/null && echo finished & done; wait)
check up.at_the_same_time eval '[ "$(grep -c finished <&7)" = 3 ]'

# ---- run

check run.default says 0 10.0.0.1 softhca run -- ip -br addr show veth0
check run.other says 0 10.0.0.2 softhca run -n b -- ip -br addr show veth1
check run.long_option says 0 10.0.0.2 softhca run --namespace b ip -br addr show veth1
check run.sys_is_of_the_namespace says 0 veth1 softhca run -n b -- ls /sys/class/net
check run.options_of_the_program says 0 '--json -n b --help' softhca run -- echo --json -n b --help
check run.environment says 0 '=b' softhca run -n b -- sh -c 'echo "=$SOFTHCA_NAMESPACE"'
check run.status says 7 '' softhca run -- sh -c 'exit 7'
check run.signal says 143 '' softhca run -- sh -c 'kill -TERM $$'
check run.not_found says 127 'softhca: run: nonesuch: No such file or directory' softhca run -- nonesuch
check run.not_a_program says 126 'softhca: run: /etc/passwd: Permission denied' softhca run -- /etc/passwd
check run.shell says 0 'in b' env SHELL=/bin/sh softhca run -n b <<<'echo in $SOFTHCA_NAMESPACE'
check run.another_name says 2 "invalid value 'c' of --namespace (expected: a or b)" softhca run -n c -- true
check run.no_name says 2 "option '-n' needs a value" softhca run -n
mount -t tracefs none /sys/kernel/tracing 2>/dev/null
traced() { softhca run -- test -d /sys/kernel/tracing/events/softhca; }
check run.keeps_tracing traced
outside() { mountpoint -q /sys && [ -e /sys/class/infiniband/shca0 ] && [ ! -e /sys/class/net/veth0 ]; }
check run.leaves_sys_outside outside

# ---- down

run ip netns add other
run ip -n other link set lo up
add_device shca_a lo other
softhca run -n b -- sleep 1000 &
sleeper=$!
in_it() { [ "$(cat /proc/$sleeper/comm)" = sleep ]; }
run wait_for 20 in_it
check down says 0 "1 process is still in namespace b, which has no device any more: $sleeper" softhca down
kill $sleeper
wait $sleeper 2>/dev/null
gone() { ! ip netns list | grep -w -e a -e b && ! rdma link show | grep -e shca0 -e shca1; }
check down.is_gone gone
check down.leaves_others eval 'ip netns list | grep -w other && rdma dev show shca_a'
check down.again says 0 '' softhca down
check down.up_again says 0 'namespace a' softhca up
check down.json says 0 '["a", "b"]' softhca down --json

# ---- what another has made

run ip netns add b
check foreign.up says 1 "a network namespace 'b' exists that 'softhca up' has not made (see 'ip netns'); nothing was changed" softhca up
check foreign.run says 1 "('ip netns exec b' runs programs there)" softhca run -n b -- true
check foreign.down says 1 "'softhca up' has not made the network namespace 'b'; it is left alone" softhca down
check foreign.stays eval 'ip netns exec b true && ! ip netns list | grep -w a'
run ip netns del b
# The number of a namespace that is gone may be that of the next.
check foreign.same_name says 0 'namespace a' softhca up
run ip netns del a
run ip netns add a
check foreign.same_name_is_not_ours says 1 "'softhca up' has not made the network namespace 'a'" softhca down
check foreign.same_name_stays ip netns exec a true
run ip netns del a
run ip link add dummy_x type dummy
run ip link set dummy_x up
add_device shca1 dummy_x
gone_but_it() { ! ip netns list | grep -w -e a -e b && ! rdma link show | grep shca0 && rdma dev show shca1; }
check foreign.device says 1 "an RDMA device shca1 exists already (see 'rdma link show'" softhca up
check foreign.device_leaves_nothing gone_but_it
