#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# After softhca up, in the shell that made it: every command finds the devices in the
# namespaces, and what stands in their way. In a namespace with a name there is only what is
# in it. About 60 s.
#
# timeout: 240
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/guest/scenario
. "$(dirname "$0")/../scenario"

at_exit softhca down
run eval 'softhca up >/dev/null'

# ---- devices

check show.all eval '[ "$(softhca dev show | cut -d: -f1 | sort | paste -sd" ")" = "shca0 shca1" ]'
check show.one says 0 'shca1: netdev veth1 ' softhca dev show shca1
json() { softhca dev show --json | python3 -c 'import json, sys; assert [d["name"] for d in json.load(sys.stdin)] == ["shca0", "shca1"]'; }
check show.json json
check show.inside_is_one eval '[ "$(softhca run -n b -- softhca dev show | cut -d: -f1)" = shca1 ]'
check show.inside_is_not_the_other says 1 'shca0: ' softhca run -n b -- softhca dev show shca0
check show.missing says 1 'nonesuch: ' softhca dev show nonesuch
check set softhca dev set shca1 resv8a off
check set.is_set eval 'softhca run -n b -- softhca dev show | grep "resv8a off"'
check set.pkey eval 'softhca dev set shca0 pkey 3 0x8001 && softhca dev show shca0 | grep 3:0x8001'
check complete.devices offers 'shca0 shca1' dev show ''
run ip netns add aside
at_exit ip netns del aside
check elsewhere.is_nothing eval '[ -z "$(ip netns exec aside softhca dev show)" ]'
a_user() { as_nobody softhca dev show >/tmp/user 2>&1; cat /tmp/user; grep -q 'with sudo it looks into the namespaces' /tmp/user; }
check user.is_told a_user

# ---- faults

check add says 0 '' softhca fault add dev=shca1 do=drop dir=rx type=read
id=$(cat /tmp/said)
add_json() { softhca fault add dev=shca0 do=drop nth=1000000 --json | python3 -c 'import json, sys; r, = json.load(sys.stdin); assert r["id"] > 0 and r["rule"] == "dev=shca0 do=drop nth=1000000", r'; }
check add.json add_json
printf 'dev=shca0 do=ecn nth=1000000\ndev=shca1 do=ecn nth=1000000\n' >/tmp/usual.rules
file_json() { softhca fault add --file /tmp/usual.rules --json | python3 -c 'import json, sys; a, b = json.load(sys.stdin); assert b["id"] == a["id"] + 1, (a, b)'; }
check add.file_of_two_namespaces file_json
check list eval '[ "$(softhca fault list | grep -c -e dev=shca0 -e dev=shca1)" = 4 ]'
check list.inside eval '[ "$(softhca run -n b -- softhca fault list | wc -l)" = 2 ]'
check stats says 0 'rules 4' softhca fault stats
check complete.rules eval '[ "$(softhca --complete fault del "" | wc -l)" = 5 ]'
check del softhca fault del "$id"
check del.is_gone says 1 'no rule has this number' softhca fault del "$id"
check save eval '[ "$(softhca fault save | grep -c -e dev=shca0 -e dev=shca1)" = 3 ]'
check replay softhca fault replay /tmp/usual.rules
check replay.all eval '[ "$(softhca fault list | cut -d" " -f2 | paste -sd" ")" = "dev=shca0 dev=shca1" ]'
check del.all softhca fault del all
check del.leaves_none eval '[ -z "$(softhca fault list)" ]'
# (the first device of all is that of namespace a)
check recipe says 0 'rule: dev=shca0 do=drop type=request nth=1' softhca fault recipes --run loss-of-one
check recipe.number_as_everywhere grep -q 'from QP 0x[0-9a-f]* to QP 0x' /tmp/said
check recipe.of_the_other says 0 'rule: dev=shca1 ' softhca fault recipes --run loss-of-one shca1

# ---- doctor: what is found is named before what may be

# problem CHECK TEXT CURE : the doctor has just this problem, whose cure works as it stands
problem() {
	local status=0
	softhca doctor >/tmp/usual.doctor || status=$?
	sed 's/^/# /' /tmp/usual.doctor
	[ "$status" = 1 ] && grep -A 1 "^problem  $1 " /tmp/usual.doctor >/tmp/usual.problem &&
		grep -q -F -e "$2" /tmp/usual.problem && grep -q -F -e "cure:   $3" /tmp/usual.problem &&
		eval "$3" && softhca doctor >/tmp/usual.doctor
}
healthy() { softhca doctor >/tmp/usual.doctor && grep -q 'shca0: veth0 is up, MTU 1500: path MTUs up to 1024' /tmp/usual.doctor && grep -q 'shca1: packets to UDP port 4791 of 10.0.0.2 arrive' /tmp/usual.doctor; }
check doctor.healthy healthy
run softhca run -- tc qdisc add dev veth0 root netem loss 20% delay 3ms
check doctor.netem problem netem 'netem on veth0 loses 20% of the packets, delays by 3 ms' 'softhca run -n a -- tc qdisc del dev veth0 root'
run softhca run -n b -- tc qdisc add dev veth1 root netem delay 1ms
check doctor.netem_of_the_other_end eval 'softhca run -- softhca doctor >/tmp/usual.doctor; grep "netem is on veth1, the other end of veth0" /tmp/usual.doctor'
run softhca run -n b -- tc qdisc del dev veth1 root
run softhca run -n b -- ip link set dev veth1 mtu 600
check doctor.mtu eval 'softhca doctor >/tmp/usual.doctor; grep "the MTU of veth0 is 1500, and that of its other end veth1 is 600: larger packets are lost" /tmp/usual.doctor'
run softhca run -n b -- ip link set dev veth1 mtu 1500

# ---- explain: a rule that has hit is the first cause, at whichever end it is

pingpong() {
	local pid
	timeout $((60 * slow)) softhca run -n b -- ibv_rc_pingpong -d shca1 -g "$(gid_index shca1 10.0.0.2)" -n 4 >/dev/null 2>&1 &
	pid=$!
	wait_for 20 listening b 18515
	timeout $((60 * slow)) softhca run -- ibv_rc_pingpong -d shca0 -g "$(gid_index shca0 10.0.0.1)" -n 4 10.0.0.2 >/tmp/usual.pingpong 2>&1
	kill $pid 2>/dev/null
	wait $pid
	grep -q 'transport retry counter exceeded' /tmp/usual.pingpong
}
first_cause() { # TEXT : the first failure's first cause
	softhca explain shca0 >/tmp/usual.explain || return
	sed -n 1,12p /tmp/usual.explain
	sed -n '/Found, and most likely the cause:/{n;p;q}' /tmp/usual.explain | grep -F -e "$1"
}
check explain.nothing says 0 'No queue pair has failed lately.' softhca explain
takes() { grep -x '  shca0: GID index 0 (fe80:.*) [0-9]* (10.0.0.1).*; path MTU up to 1024' /tmp/said; }
check explain.what_modify_takes takes
check explain.nothing_json eval '[ "$(softhca explain --json)" = "[]" ]'
run softhca fault add dev=shca1 do=drop dir=rx type=request
check explain.fails pingpong
check explain.rule_of_the_peer first_cause 'of fault injection has hit'
check explain.names_the_peer grep -q -- '- rule [0-9]* of fault injection has hit [0-9]* times: dev=shca1 do=drop dir=rx type=request$' /tmp/usual.explain
check explain.the_rule_comes_first eval '[ "$(grep -n -m 1 "has hit" /tmp/usual.explain | cut -d: -f1)" -lt "$(grep -n -m 1 firewall /tmp/usual.explain | cut -d: -f1)" ]'
run softhca fault del all
first=$(sed -n 's/^\(shca0\/0x[0-9a-f]*\):.*/\1/p;q' /tmp/usual.explain)
run softhca run -- tc qdisc add dev veth0 root netem loss 20%
check explain.netem first_cause 'netem on veth0 loses 20% of the packets'
run softhca run -- tc qdisc del dev veth0 root
run softhca fault add dev=shca0 do=drop type=request
check explain.fails_again pingpong
check explain.rule first_cause 'dev=shca0 do=drop type=request'
newest() { ! sed -n 1p /tmp/usual.explain | grep -F "$first:" && grep -F "$first:" /tmp/usual.explain; }
check explain.newest_first newest
explain_json() {
	softhca explain --json | python3 -c 'import json, sys
fates = json.load(sys.stdin)
newest = [min(error["seconds_ago"] for error in fate["errors"]) for fate in fates]
assert newest == sorted(newest) and "dev=shca0 do=drop" in fates[0]["errors"][0]["found"][0], fates[0]'
}
check explain.json explain_json
