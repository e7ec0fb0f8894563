#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Personalities: each limit of a file is told and holds, what a file is without answers
# EOPNOTSUPP, data comes late and completions in bursts; who may change it and when; what
# stays. About 90 s.
#
# timeout: 400
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

make_namespaces
add_device shca_a veth_a $ns_a
add_device shca_b veth_b $ns_b
run wait_for 10 gid_index shca_a $ip4_a
run wait_for 10 gid_index shca_b $ip4_b
files=/usr/local/share/softhca/personalities
[ -d $files ] || files=/usr/share/softhca/personalities

set_a() { in_a softhca dev set shca_a personality "$@"; }
is_a() { in_a softhca dev show shca_a | grep -q " personality $1\( \|\$\)"; }
node_guid() { cat "/sys/class/infiniband/$1/node_guid"; }
ready() { wait_for 10 port_active shca_a && wait_for 10 has_node shca_a && wait_for 10 gid_index shca_a $ip4_a; }
change() { set_a "$1" && ready; }

# ---- what there is
check native_is_the_default is_a native
lists() { softhca dev personalities >/tmp/list && cat /tmp/list && [ "$(cut -d: -f1 /tmp/list | tr '\n' ' ')" = "irdma mlx5 native siw-like strict " ]; }
check all_are_listed lists
lists_json() { softhca dev personalities --json | python3 -c 'import json, sys; d = json.load(sys.stdin)
sys.exit(len(d) != 5 or not all(x["summary"] for x in d))'; }
check all_are_listed_in_json lists_json
check completion eval 'in_a softhca --complete dev set shca_a personality st | grep -qx strict'

# ---- wrong files
own=$(mktemp -d)
at_exit rm -rf "$own"
wrong() {
	printf '%s\n' "$2" >"$own"/wrong
	check "wrong.$1" says_like 2 "$3" set_a "$own"/wrong
}
wrong key $'max_qp=5\nmax_qps=7' "wrong line 2: unknown word 'max_qps' (expected KEY=VALUE, of: max_qp, "
wrong no_value 'max_qp=5 strict' "line 1: unknown word 'strict'"
wrong value $'# none\n\n  max_sge=4 # x\nmax_cqe=12x' "line 3: unknown word 'max_sge'"
wrong number $'\nmax_cqe=1023\tmax_qp=12x' "line 2: max_qp: invalid value '12x' (expected: 1 to 16384)"
wrong too_large 'max_qp=16385' "max_qp: invalid value '16385'"
wrong too_small 'max_pkeys=0' "max_pkeys: invalid value '0'"
wrong twice 'max_qp=5 max_qp=5' "line 1: max_qp: given twice"
wrong lack 'without=uc,colour' "without: unknown name 'colour' (expected: uc, ud, "
wrong status 'vendor_err.WRONG=1' "unknown status 'WRONG'"
wrong vendor_err 'vendor_err=0x10000' "vendor_err: invalid value '0x10000'"
wrong long "$(printf 'x%.0s' {1..2000})" 'line 1: longer than'
check wrong.name says_like 2 "unknown personality 'nonesuch'" set_a nonesuch
check wrong.file says_like 1 'No such file' set_a "$own"/nonesuch
cp $files/strict "$own/a b"
check wrong.called says_like 2 "cannot be called 'a b'" set_a "$own/a b"
check nothing_was_changed is_a native

# By hand, what the tool would never send: 2 the name, 16 SHCA_A_PERSONALITY of
# uapi/softhca-netlink.h (0x8000 more: nested); in it 2 the name, 3 limits, 4 lacks, 5 errors.
name=060002007800 name=${name}0000
check extack_no_name raw_netlink 2 32784=0c0004000000000000000000
check extack_control_character raw_netlink 2 32784=0600020007000000
check extack_unknown_limit raw_netlink 2 "32784=${name}100003800c00ff000100000000000000"
check extack_limit_of_4_bytes raw_netlink 2 "32784=${name}0c000380080001000100000000000000"
check extack_limit_out_of_range raw_netlink 2 "32784=${name}100003800c00010000000000000000ff"
check extack_unknown_lack raw_netlink 2 "32784=${name}0c000400000000000000ff00"
check extack_with_another_setting raw_netlink 2 5=01 "32784=$name"
check extack_with_a_device raw_netlink 2 "2=$(hex shca_a)" "32784=$name"
check nothing_was_changed_by_hand is_a native

# ---- who may
check without_privilege says_like 1 'Operation not permitted' in_a setpriv --reuid=65534 --clear-groups softhca dev set shca_a personality strict
check device_of_another_namespace says_like 1 'No such device' in_b softhca dev set shca_a personality strict
hold_in $ns_a opener -d shca_a --idle
run wait_for 10 said opener alive\\\|traffic\\\|idle
check busy_with_a_program says_like 1 "shca_a is in use, end these programs first: hold (${holder[opener]})" set_a strict
run kill -TERM "${holder[opener]}"
run kill -KILL "${holder[opener]}"
wait "${holder[opener]}" 2>/dev/null
check still_native is_a native
# The next device has it, whoever adds it; and only that one.
next_has_it() {
	in_a rdma link delete shca_a
	in_a rdma link add shca_a type softhca netdev veth_a && ready && is_a x
}
others_have_it() {
	in_b rdma link delete shca_b
	in_b rdma link add shca_b type softhca netdev veth_b && wait_for 10 gid_index shca_b $ip4_b &&
		in_b softhca dev show shca_b | grep -q ' personality native '
}
in_a "$test_programs/guest/helpers/softhca-netlink.py" 2 "32784=$name"
check next.is_not_the_others others_have_it
check next.has_it next_has_it
check next.only_once eval 'run in_a rdma link delete shca_a; run in_a rdma link add shca_a type softhca netdev veth_a; ready && is_a native'
# Kernel clients lose the device in an orderly way, and find the new one.
run modprobe ib_srp
at_exit modprobe -r ib_srp
check with_a_kernel_client change strict
check with_a_kernel_client.back change native
run modprobe -r ib_srp

# ---- what stays
before=$(node_guid shca_a)
run in_a softhca dev set shca_a path host peer shca_b
run in_a softhca dev set shca_a pkey 3 0x8123
run in_a softhca dev set shca_a resv8a on
run in_a softhca dev set shca_a icrc off
run in_a softhca dev set shca_a cc off
run in_a softhca dev set shca_a cc_algorithm delay
run in_a softhca dev set shca_a lint hints
run in_a softhca fault add do=drop dev=shca_a qpn=77
in_a softhca dev show shca_a >/tmp/before
same() { in_a softhca dev show shca_a | sed 's/ personality [^ ]*//' | diff <(sed 's/ personality [^ ]*//' /tmp/before) -; }
check set.mlx5 change mlx5
check settings_stay same
check guid_stays [ "$(node_guid shca_a)" = "$before" ]
check fault_stays eval 'in_a softhca fault list | grep -q "dev=shca_a.* qpn=0x4d"'
check json_has_it eval 'in_a softhca dev show shca_a --json | grep -q "\"personality\": \"mlx5\""'
run in_a softhca fault del all
run in_a softhca dev set shca_a lint off
run in_a softhca dev set shca_a path auto

# ---- each file: what it says is told, and holds
words_of() { sed 's/#.*//' "$1" | tr ' ' '\n'; }
# told FILE : what ibv_devinfo prints is what the file says
told() {
	local key value compared=0
	local -A shown=()
	ibv_devinfo -v -d shca_a >/tmp/info || return
	# (in plain shell: processes for each of a hundred keys take seconds in an emulated guest)
	while IFS=$': \t' read -r key value; do
		[ -z "$key" ] || [ -n "${shown[$key]-}" ] || shown[$key]=${value%%[!0-9a-fx]*}
	done </tmp/info
	while IFS='=' read -r key value; do
		[[ $key =~ ^(max_|vendor_|page_|local_) ]] || continue
		[ "$key" != max_send_sge ] || key=max_sge
		[ -n "${shown[$key]-}" ] || continue
		echo "$key: ${shown[$key]}, $((value))"
		[ $((shown[$key])) = $((value)) ] || return
		compared=$((compared + 1))
	done < <(words_of "$1")
	[ "$compared" -gt 0 ]
}
value_of() { words_of "$files/$1" | sed -n "s/^$2=//p"; }
for file in mlx5 irdma siw-like strict; do
	is_a $file || check set.$file change $file
	check shown.$file is_a $file
	check told.$file told $files/$file
	read -ra parts < <(value_of $file without | tr ',' '\n' | sed 's/^dm$/device_memory/; s/^/no_/' | tr '\n' ' ')
	inline=$(value_of $file max_inline)
	parts+=(qp_sizes qp_inline cq_sizes mr_size rd_atom pkeys_and_gids)
	[[ " ${parts[*]} " == *' no_srq '* ]] || parts+=(srq_sizes)
	error=$(value_of $file vendor_err.REM_ACCESS_ERR)
	error=${error:-$(value_of $file vendor_err)}
	[ -z "$error" ] || parts+=(has_vendor_err)
	export EXPECT_INLINE=${inline:-960} EXPECT_VENDOR_ERR=$error
	verbs $file personality -d shca_a -f 4 "${parts[@]}"
done
# (strict; on a kernel with checkers a program is slower than its millisecond)
if [ -n "${SHCA_CHECKERS:-}" ]; then
	sed 's/^late_us=.*/late_us=50000/' $files/strict >"$own"/strict.slow
	check set.strict_slow change "$own"/strict.slow
fi
verbs strict limits -d shca_a -f 4 max_srq_wr max_mcast max_srq max_cq max_qp max_pd max_ah max_mr max_mw
verbs strict personality -d shca_a -f 4 last_byte_is_not_enough completions_bring_all deregistration_brings_all
verbs strict late -d shca_a -f 4 messages_come_in_order write_behind_send_stays fenced_send_has_what_was_read \
	reset_places_all death_is_survived
# Long enough for a machine that is slow.
printf 'burst=8 burst_us=10000\n' >"$own"/burst
check set.burst change "$own"/burst
export EXPECT_BURST=8
verbs burst personality -d shca_a -f 4 completions_in_bursts
# Data that comes with its completion, in strict's time and in one for slow machines
printf 'late_us=20000\n' >"$own"/late
check set.late change "$own"/late
verbs late late -d shca_a -f 4 last_byte_of_send_is_not_enough last_byte_of_read_is_not_enough last_byte_of_atomic_is_not_enough \
	messages_come_in_order write_behind_send_stays fenced_send_has_what_was_read reset_places_all destruction_places_all \
	destruction_of_cqs_places_all deregistration_places_all death_is_survived
for kind in qp cq mr pd ctx; do check "late.no_${kind}_is_left" wait_for 10 no_objects $kind shca_a; done
verbs late rc_data -d shca_a -f 4 -m 20000 send_of_all_sizes_at_full_mtu
check set.native change native
check told.native_again is_a native
# (not the P_Key: tables of others have no room for it)
check settings_have_stayed eval 'in_a softhca dev show shca_a | grep -q "resv8a on icrc off cc off cc_algorithm delay "'
verbs native personality -d shca_a -f 4 last_byte_is_enough completions_bring_all deregistration_brings_all
verbs native late -d shca_a -f 4 last_byte_of_send_is_enough last_byte_of_read_is_enough messages_come_in_order
printf '# of my own\nmax_qp=2 without=mw\n' >"$own"/mine.1
check own_file change "$own"/mine.1
check own_file_is_shown is_a mine.1
verbs own personality -d shca_a -f 4 no_mw

# ---- races
either=(strict native)
# Two administrators: whoever is last decides, and what there is can be used.
deleted_meanwhile() {
	local i pid
	for i in {1..8}; do
		set_a "${either[i % 2]}" >/dev/null 2>&1 &
		pid=$!
		# before it, during it, after it
		sleep 0.$((i / 2))$((i % 2 * 5))
		rdma link delete shca_a 2>/dev/null
		wait $pid
		sleep 0.05
		! device_is_gone shca_a || in_a rdma link add shca_a type softhca netdev veth_a || return
		ready || return
	done
}
check deleted_meanwhile deleted_meanwhile
# Programs open it all the time.
opened_meanwhile() {
	local i changed=0 pid
	while :; do ibv_devinfo -d shca_a; done >/dev/null 2>&1 &
	pid=$!
	for i in {1..10}; do
		set_a "${either[i % 2]}" 2>/dev/null && changed=$((changed + 1))
	done
	kill $pid
	wait $pid 2>/dev/null
	echo "changed $changed times"
	ready
}
check programs_open_it_meanwhile opened_meanwhile
check afterwards_it_can_be_set change native

# An InfiniBand port, also with IPoIB on it
run ip -n $ns_a link set veth_a mtu 1500
run in_a rdma link add shca_ib type softhca_ib netdev veth_a
at_exit rdma link delete shca_ib
before=$(node_guid shca_ib)
check ib.set in_a softhca dev set shca_ib personality irdma
check ib.shown eval 'in_a softhca dev show shca_ib | grep -q "personality irdma"'
check ib.guid_stays [ "$(node_guid shca_ib)" = "$before" ]
run rdma link delete shca_ib

# The netdev goes while the device is made anew.
{ set_a strict; } >/dev/null 2>&1 &
run ip -n $ns_a link del veth_a
wait $!
check gone_with_its_netdev wait_for 10 device_is_gone shca_a
