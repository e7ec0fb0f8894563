#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# rdma-core's own test suite (verbs/rdma-core-suite.sh) on an InfiniBand port with itself,
# by its LID, with rdma_cm over IPoIB: some of its files, in soak all of them.
# rdma-core-suite/skips-infiniband says what such a port skips, and why.
#
#   SUITE="test_cqex test_mr.MWTest"   only those whose names begin so
#
# timeout: 400
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"
. "$(dirname "$0")/../subnet"

command -v opensm >/dev/null || skip "this guest has no opensm"
modprobe -a ib_umad ib_ipoib || skip "this kernel has no ib_ipoib"
suite=/usr/local/src/rdma-core/tests lists=$test_programs/guest/rdma-core-suite
[ -d "$suite" ] || fail "the image has no tests of rdma-core"
python3 -c 'import pyverbs.device' || skip "python3-pyverbs is not installed"
installed=$(dpkg-query -f '${Version}' -W python3-pyverbs)
dpkg --compare-versions "$installed" ge 56 ||
	skip "the suite of rdma-core ${installed%-*} cannot be had"

pages=/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages
read -r pages_before <$pages
at_exit eval "echo $pages_before >$pages"
echo 64 >$pages
two_ports 4230
start_opensm -s 2
both_active
run wait_for 20 ipoib shib_a
netdev=$(ipoib shib_a)
run ip addr add 10.78.0.1/24 dev "$netdev"
run ip link set "$netdev" up
run ip link set lo up
# shellcheck disable=SC2317 # called by wait_for
resolves() { timeout $((5 * slow)) rping -c -a 10.78.0.1 -C 1 2>&1 | tee /tmp/rping; grep -q REJECTED /tmp/rping; }
run wait_for 60 resolves

few='' seed=$RANDOM
[ -n "${SHCA_SOAK-}" ] || few="test_addr test_cqex test_qpex test_rdmacm test_srq" seed=1
# shellcheck disable=SC2086 # several names
"$lists/run" --tests "$suite" --dev shib_a --gid 0 --netdev "$netdev" --limit $((60 * slow)) \
	--seed "${SUITE_SEED:-$seed}" --skips "$lists/skips" --skips "$lists/skips-infiniband" \
	--not-yet "$lists/not-yet" ${SUITE-$few} 2>&1 | tee /tmp/suite.out
status=${PIPESTATUS[0]}
# (1: some test said "not ok"; the totals say that it came to its end)
if [ "$status" -gt 1 ] || ! grep -q '^# shib_a: [1-9][0-9]* pass, ' /tmp/suite.out; then
	fail "the suite ended with status $status"
fi
exit 0
