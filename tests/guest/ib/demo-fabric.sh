#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# `make demo-fabric`, as it stands: softhca up fat-tree, OpenSM, IPoIB, MPI, a cable that is cut.
#
# timeout: 400
. "$(dirname "$0")/../lib.sh"

for program in opensm mpirun; do
	command -v $program >/dev/null || skip "this guest has no $program"
done
modinfo tun ib_ipoib >/dev/null || skip "this kernel has no tun or no ib_ipoib"
at_exit softhca down
at_exit pkill -x opensm
run mkdir -p /tmp/demo-fabric
cd /tmp/demo-fabric || fail "no folder"
check demo timeout $((300 * slow)) /usr/local/share/softhca/examples/demo-fabric.sh >/tmp/demo-fabric/out 2>&1
shows() { grep -q -x -E "$1" out || { tail -n 40 out; return 1; }; }
check active shows 'all eight ports are active after [0-9]+ s'
check within_30_seconds eval '[ "$(sed -n "s/^all eight.*after \([0-9]*\) s$/\1/p" out)" -le $((30 * slow)) ]'
check switches eval '[ "$(grep -c "^Switch.*\(leaf\|spine\) [0-3]" out)" = 6 ]'
check hosts eval '[ "$(grep -c "^Ca.*ports 1" out)" = 8 ]'
check mpi shows 'right: 100000 elements, 8 ranks'
check goes_on shows 'the program goes on: [0-9]+ results before this, and now [0-9]+'
check picture shows 'fabric.dot: 16 cables, 1 of them cut; dot .*'
check nothing_is_left eval '! pgrep -x softhca-fabric && ! pgrep -x opensm && ! ip netns list | grep .'
