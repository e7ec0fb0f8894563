#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The generic-netlink family and the tool softhca: settings are kept, and each
# refusal comes with its reason in words.
. "$(dirname "$0")/../lib.sh"

make_pair 1500

resv8a_is() { in_a softhca dev show shca_a | grep -q "resv8a $1 "; }
json_resv8a() { in_a softhca dev show shca_a --json | grep -q "\"resv8a\": \"$1\""; }
path_is() { in_a softhca dev show shca_a | grep -q "path $1"; }
json() { in_a softhca dev show --json "$@" | python3 -m json.tool; }
json_says() { in_a softhca dev show "$1" --json | python3 -c "import json, sys; d = json.load(sys.stdin)
sys.exit(not (len(d) == 1 and d[0]['name'] == '$1' and d[0]['path'] == '$2' and d[0]['netdev'] == '$3'))"; }

check auto_is_the_default path_is auto
check set_wire in_a softhca dev set shca_a path wire
check wire_is_kept path_is wire
check json_is_json json
check json_tells json_says shca_a wire veth_a
check set_auto in_a softhca dev set shca_a path auto
check auto_is_kept path_is auto

check unknown_device says_like 1 '^softhca: nonesuch: .* .*(No such device)' in_a softhca dev set nonesuch path wire
check show_unknown_device says_like 1 '^softhca: nonesuch: .* .*(No such device)' in_a softhca dev show nonesuch
check device_of_another_namespace says_like 1 'No such device' in_b softhca dev set shca_a path wire
check without_privilege says_like 1 'Operation not permitted' \
	in_a setpriv --reuid=65534 --clear-groups softhca dev set shca_a path wire
check unprivileged_may_look in_a setpriv --reuid=65534 --clear-groups softhca dev show shca_a
check nothing_was_changed path_is auto
check wrong_value_is_a_usage_error says_like 2 "invalid value 'sideways' (expected: auto, wire or host)" in_a softhca dev set shca_a path sideways
check wrong_setting_is_a_usage_error says_like 2 "unknown word 'colour' (expected: path, pkey, resv8a, icrc, cc, cc_algorithm, lint, personality)" in_a softhca dev set shca_a colour red

# resv8a
check resv8a_auto_is_the_default resv8a_is auto
for mode in on off auto; do
	check "resv8a.$mode" in_a softhca dev set shca_a resv8a $mode
	check "resv8a.$mode.is_kept" resv8a_is $mode
done
check resv8a_is_in_json json_resv8a auto
check resv8a_of_no_kind says_like 2 "invalid value 'ON' (expected: off, auto or on)" in_a softhca dev set shca_a resv8a ON

# lint: ops/lint has what it does
lint_is() { in_a softhca dev show shca_a | grep -q "lint $1 "; }
check lint_off_is_the_default lint_is off
for mode in on hints off; do
	check "lint.$mode" in_a softhca dev set shca_a lint $mode
	check "lint.$mode.is_kept" lint_is $mode
done
check lint_of_no_kind says_like 2 "invalid value 'errors' (expected: off, on or hints)" in_a softhca dev set shca_a lint errors

# path host: whom it trusts is named, and kept
json_peers() { in_a softhca dev show shca_a --json | python3 -c "import json, sys; d = json.load(sys.stdin)
sys.exit(d[0].get('peers', []) != sys.argv[1:])" "$@"; }
check host_without_names says_like 1 'path host: name the trusted devices' in_a softhca dev set shca_a path host
check host_of_no_device says_like 1 'peer: no softhca device has this name.*No such device' \
	in_a softhca dev set shca_a path host peer shca_b,nonesuch
check host_of_itself says_like 1 'same network namespace' in_a softhca dev set shca_a path host peer shca_a
check host_refused_is_not_set path_is auto
check nobody_is_trusted_at_first json_peers
check peers_of_wire_is_a_usage_error says_like 2 'only path host has' in_a softhca dev set shca_a path wire peer shca_b
check peer_without_names_is_a_usage_error says_like 2 'incomplete command (expected: DEVICE,...)' in_a softhca dev set shca_a path host peer
check host in_a softhca dev set shca_a path host peer shca_b
check host_is_shown path_is 'host peer shca_b'
check host_is_in_json json_peers shca_b
check host_needs_privilege says_like 1 'Operation not permitted' \
	in_a setpriv --reuid=65534 --clear-groups softhca dev set shca_a path host peer shca_b
check host_then_auto in_a softhca dev set shca_a path auto
check names_are_kept in_a softhca dev set shca_a path host
check names_are_kept_and_shown path_is 'host peer shca_b'
run rdma link delete shca_b
check names_go_with_devices json_peers
check auto_again in_a softhca dev set shca_a path auto

# What the tool would never send, sent by hand: name, attributes as hex.

# attribute numbers of uapi/softhca-netlink.h: 2 name, 5 path, 9 peers (nested: 0x8000
# more); command 2 DEV_SET
named="0b000200$(hex shca_b)00"
check extack_peers_of_auto raw_netlink 2 "2=$(hex shca_a)" 5=00 "32777=$named"
check extack_peers_alone raw_netlink 2 "2=$(hex shca_a)" "32777=$named"
check extack_no_peers raw_netlink 2 "2=$(hex shca_a)" 5=02 32777=
check extack_65_peers raw_netlink 2 "2=$(hex shca_a)" 5=02 "32777=$(for _ in {1..65}; do printf %s "$named"; done)"
check extack_unknown_in_peers raw_netlink 2 "2=$(hex shca_a)" 5=02 32777=0500050001000000
check extack_path_out_of_range raw_netlink 2 "2=$(hex shca_a)" 5=07
check extack_path_too_long raw_netlink 2 "2=$(hex shca_a)" 5=00000000
check extack_name_missing raw_netlink 2 5=01
check extack_nothing_to_set raw_netlink 2 "2=$(hex shca_a)"
check extack_unknown_attribute raw_netlink 2 "2=$(hex shca_a)" 99=00
check extack_name_too_long raw_netlink 2 "2=$(hex "$(printf 'x%.0s' {1..300})")" 5=01
check extack_read_only_attribute raw_netlink 2 "2=$(hex shca_a)" 3=01000000 5=01
check nothing_was_changed_by_hand path_is auto

# Two settings in one request, and the second cannot be had: neither is set.
run in_a rdma link add shib_a type softhca_ib netdev veth_a
at_exit rdma link delete shib_a
check pkey_of_infiniband says_like 1 'pkey: the subnet manager sets those of an InfiniBand port' in_a softhca dev set shib_a pkey 1 0x8001
check extack_path_and_pkey raw_netlink 2 "2=$(hex shib_a)" 5=01 7=0100 8=0180
check path_and_pkey_set_nothing eval 'in_a softhca dev show shib_a | grep "path auto"'
