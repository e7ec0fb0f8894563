#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Random rules of fault injection under traffic of many kinds, a few in force together,
# while another device with rules comes and goes. They do no harm: once they are gone,
# traffic is right, and the kernel says nothing. 500 rules, SHCA_SOAK: 10,000. About 30 s.
#
# SHCA_SEED=N sends the same rules again, SHCA_RULES=N sets how many.
# timeout: 480
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

rules=${SHCA_RULES:-500}
[ -z "${SHCA_SOAK-}" ] || rules=${SHCA_RULES:-10000}
seed=${SHCA_SEED:-$RANDOM$RANDOM}
echo "# SHCA_SEED=$seed SHCA_RULES=$rules"
[ -x "$test_programs/garble_netlink" ] || skip "no garble_netlink"

make_pair 1500
fault() { in_a softhca fault "$@"; }
is_empty() { [ -z "$(fault list)" ]; }
garble() { in_a "$test_programs/garble_netlink" -r -d shca_a "$@"; }

# ---- the same seed makes the same rules

again() { # SEED : what was sent, and what became of it
	garble -s "$1" -t 100 -n 60 -b 20 | sed 's/family [0-9]*, //'
}
repeats() {
	local first second other
	first=$(again "$seed") second=$(again "$seed") other=$(again $((seed + 1)))
	printf '%s\n' "$first" "$second" "$other"
	[ "$first" = "$second" ] && [ "${first##*: }" != "${other##*: }" ] && [[ $first == *' 60 rules'* ]]
}
check seed_repeats_the_rules repeats

# ---- under traffic

# A rule that fits nothing stays meanwhile, where no random request can delete it. So the
# first rule of each batch does not patch the kernel's code while it runs, which old
# emulators may get wrong (emulator_broke in scripts/qemu/vm).
run rdma link add shca_d type softhca netdev lo
at_exit rdma link delete shca_d
run softhca fault add dev=shca_d do=drop qpn=16777214

# What becomes of a program does not matter, and it ends in the middle of it.
traffic() { # FIRST-PROGRAM
	local programs=("rc_data -m 20000" "rc_data -q uc -m 20000" atomics ud_data windows xrc cq_events qp_states) i
	for ((i = $1; ; i++)); do
		# shellcheck disable=SC2086 # several words
		timeout -s KILL $((2 * slow)) "$test_programs/"${programs[i % ${#programs[@]}]} -d shca_a -p shca_b -f 4
	done
}
# The device comes and goes while rules are made for it, and with those that it has.
churn() {
	local i
	for ((i = 1; ; i++)); do
		in_b rdma link add shca_c type softhca netdev lo
		in_b "$test_programs/garble_netlink" -r -s $((seed + i)) -t 2 -b 100 -d shca_c &
		sleep 0.5
		in_b rdma link delete shca_c
		wait
	done
}
export -f traffic churn in_b
export test_programs slow seed ns_b
groups=()
begin() { # FUNCTION ARGUMENT... : in a session of its own, which can be killed
	setsid bash -c "$*" >"/tmp/befallen.${#groups[@]}" 2>&1 &
	at_exit kill -KILL -- -$!
	groups+=($!)
}
run begin traffic 0
run begin traffic 3
run begin traffic 6
run begin churn

before=$(counter shca_a injected_faults)
check random_rules garble -s "$seed" -t $((400 * slow)) -n "$rules" -b 20 -w $((200 * slow))
# (how many is up to the seed, and to how much traffic the machine does in that time)
hits() { echo "$(($(counter shca_a injected_faults) - before)) faults"; [ $(($(counter shca_a injected_faults) - before)) -gt 0 ]; }
check they_hit hits
for group in "${groups[@]}"; do kill -KILL -- -"$group"; done
wait 2>/dev/null
tests() { cat /tmp/befallen.[012] | cut -d' ' -f1-2 | grep -c "^$1"; }
was_there() { echo "$(tests 'ok ') tests of the traffic passed, $(tests 'not ok') failed"; [ "$(tests 'ok ')" -gt 0 ]; }
check traffic_was_there was_there

# ---- nothing is left

run fault del all
run in_b softhca fault del all
! ip netns exec "$ns_b" softhca dev show shca_c >/dev/null 2>&1 || run in_b rdma link delete shca_c
check none_is_left is_empty
run wait_for 20 port_active shca_a
for kind in qp cq mr pd srq ctx; do check "no_${kind}_is_left" wait_for 20 no_objects $kind shca_a; done
verbs afterwards rc_data -d shca_a -p shca_b -f 4 -m 20000 send_of_all_sizes_at_full_mtu
check device_goes in_a rdma link delete shca_a
