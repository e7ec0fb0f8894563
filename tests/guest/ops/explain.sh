#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# softhca explain: programs make mistakes, and it tells what went wrong, at the end that
# failed and at the other one; directly and by packets. About 40 s.
#
# timeout: 240
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/guest/scenario
. "$(dirname "$0")/../scenario"

run ip link add dummy_d type dummy
at_exit ip link delete dummy_d
run ip addr add 10.78.0.1/24 dev dummy_d
run ip link set dummy_d up
add_device shca_d dummy_d
run wait_for 10 gid_index shca_d 10.78.0.1

nothing() { softhca explain | grep -x 'No queue pair has failed lately.'; }
check nothing nothing
check nothing_json eval '[ "$(softhca explain --json)" = "[]" ]'
packets_only=transport,partition,firewall
verbs direct explained -d shca_d -f 4 -x $packets_only
run softhca dev set shca_d path wire
run softhca dev set shca_d pkey 1 0x8001
verbs wire explained -d shca_d -f 4 -x firewall,history,states
run nft add table inet filter
run nft add chain inet filter input '{ type filter hook input priority 0; }'
run nft add rule inet filter input udp dport 4791 drop
verbs dropped explained -d shca_d -f 4 firewall
run nft flush ruleset

# A user learns of his own queue pairs.
own_user() { as_nobody "$test_programs/explained" -d shca_d -f 4 remote_key local_key | sed 's/^/# /'; return "${PIPESTATUS[0]}"; }
check own_user own_user

summary() {
	local ago='s/[0-9.]* s ago//'
	softhca explain | sed "$ago" >/tmp/explain && softhca explain shca_d | sed "$ago" | diff /tmp/explain - &&
		grep -q '^shca_d/0x.*: RC, destroyed; it was in ERR, peer 10.78.0.1 0x' /tmp/explain &&
		grep -q '^  rx_pkey_mismatch [0-9]*: packets of another partition' /tmp/explain
}
check summary summary
json() {
	softhca explain shca_d --json | python3 -c 'import json, sys
fates = json.load(sys.stdin)
errors = [error for fate in fates for error in fate["errors"]]
print(len(fates), errors[0])
assert len(fates) == 64 and all(fate["destroyed"] and fate["device"] == "shca_d" for fate in fates)
assert all(error["happened"] and error["causes"] and error["look"] for error in errors)
assert any(error.get("status") == "REM_ACCESS_ERR" and error["wr_id"] == 7 for error in errors)
assert any(error.get("reason") == "access" and error["check"] == "key" for error in errors)'
}
check json json
check refused.device says 1 'nonesuch: ' softhca explain nonesuch/1
check refused.number says 2 "explain: QPN must be 1 to 0xffffff, not 'x'" softhca explain shca_d/x
check refused.too_large says 2 "explain: QPN must be 1 to 0xffffff, not '0x1000000'" softhca explain shca_d/0x1000000
check refused.none says 1 'shca_d has no queue pair 0x2 that you may watch, and none failed lately' softhca explain shca_d/2
check refused.none_json says 1 'shca_d has no queue pair 0x2 that you may watch, and none failed lately' softhca explain shca_d/2 --json
check refused.none_json_is_empty grep -x '\[\]' /tmp/said
