#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# timeout: 400
#
# rdma-core's own test suite (pyverbs), that of the release in the guest: all but the
# vendors' direct verbs, each test a line. rdma-core-suite/skips and not-yet say
# which may skip, and why. About 60 s; in soak once more under the verbs
# sanitizer, and Soft-RoCE's totals beside.
#
#   SUITE="test_cqex test_mr.MWTest"   only those whose names begin so
#   SUITE_SEED=N                       what it draws lots with (soak: another each time)
#   SUITE_LINT=1                       once more under SOFTHCA_LINT: no error but those on the list lint
#   SUITE_RXE=1                        Soft-RoCE's totals, too
. "$(dirname "$0")/../lib.sh"

suite=/usr/local/src/rdma-core/tests lists=$test_programs/guest/rdma-core-suite
[ -d "$suite" ] || fail "the image has no tests of rdma-core"
python3 -c 'import pyverbs.device' || skip "python3-pyverbs is not installed"
# 56.1's stands in for the source of 44, which not every mirror has any more
# (scripts/build/rdma-core), and its suite is not for that pyverbs.
installed=$(dpkg-query -f '${Version}' -W python3-pyverbs)
dpkg --compare-versions "$installed" ge 56 ||
	skip "the suite of rdma-core ${installed%-*} cannot be had"

# The suite is both ends, on one device with itself, and looks for its netdev's
# addresses in its own namespace: the first one.
pages=/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages
read -r pages_before <$pages
at_exit eval "echo $pages_before >$pages"
echo 64 >$pages
run ip link add veth_a type veth peer name veth_b
at_exit ip link del veth_a
run ip addr add $ip4_a/24 dev veth_a
run ip addr add $ip6_a/64 dev veth_a nodad
run ip link set veth_a up
run ip link set veth_b up

# on DEVICE OPTION... : one run of it
on() {
	local device=$1
	shift
	run wait_for 10 port_active "$device"
	run wait_for 10 gid_index "$device" $ip4_a
	run wait_for 10 gid_index "$device" $ip6_a
	# One GID where time is short: else each test asks iproute2 about every one, and
	# takes the first, which is the link-local one.
	if [ -z "${SHCA_SOAK-}" ]; then
		set -- --gid "$(gid_index "$device" $ip4_a)" "$@"
	else
		: "${SUITE_SEED:=$RANDOM}"
	fi
	# shellcheck disable=SC2086 # several names
	"$lists/run" --tests "$suite" --dev "$device" --limit $((60 * slow)) --seed "${SUITE_SEED:-1}" "$@" ${SUITE-} 2>&1
}

add_device shca_a veth_a
on shca_a --skips "$lists/skips" --not-yet "$lists/not-yet" | tee /tmp/suite.out
status=${PIPESTATUS[0]}
# (1: some test said "not ok"; the totals say that it came to its end)
if [ "$status" -gt 1 ] || ! grep -q '^# shca_a: [1-9][0-9]* pass, ' /tmp/suite.out; then
	fail "the suite ended with status $status"
fi

# Findings by module, because each process reports a finding at its first test only.
# shellcheck disable=SC2317 # called by check
linted() { awk -F '[ .]' '/^test /{module = $2} /^softhca lint: error: /{print module, substr($4, 1, length($4) - 1)}' /tmp/suite.lint | sort -u; }
# shellcheck disable=SC2317 # called by check
nothing_but_the_list() {
	grep -c '^test ' /tmp/suite.lint && linted &&
		! linted | grep -q -vxF -f <(sed -n 's/ # .*//p' "$lists/lint")
}
if [ -n "${SUITE_LINT-${SHCA_SOAK-}}" ]; then
	rm -f /tmp/suite.lint
	on shca_a --lint /tmp/suite.lint --skips "$lists/skips" --not-yet "$lists/not-yet" >/tmp/suite.lint.out || tail /tmp/suite.lint.out
	check lint nothing_but_the_list
fi
run rdma link delete shca_a

if [ -n "${SUITE_RXE-${SHCA_SOAK-}}" ] && modprobe rdma_rxe; then
	at_exit modprobe -r rdma_rxe
	at_exit rdma link delete rxe_a
	run rdma link add rxe_a type rxe netdev veth_a
	on rxe_a --totals-of rxe
fi
exit 0
