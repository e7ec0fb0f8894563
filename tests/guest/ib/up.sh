#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# softhca up with InfiniBand switches: a fat tree, and one switch. They are made twice and
# removed twice; a process that has died is made anew; a failure leaves nothing. (With a
# subnet manager: ib/demo-fabric. Mistakes in files, and all else of up: ops/lab.)
#
# timeout: 300
. "$(dirname "$0")/../lib.sh"

modinfo tun ib_ipoib >/dev/null || skip "this kernel has no tun or no ib_ipoib"
at_exit softhca down
at_exit eval 'ip link del dummy_x 2>/dev/null'
nothing_is_there() {
	! ip netns list | grep . && ! rdma link show | grep -e shca -e shib && [ -z "$(ls -A /run/netns)" ]
}

check fabric says 0 'namespace h8: shib8 on veth7, InfiniBand, GUID 0x' softhca up fat-tree
check fabric.switches eval 'grep -x "namespace tree: InfiniBand switches; for a bad cable: softhca-fabric --ask=/run/softhca-tree.ctl" /tmp/said'
check fabric.again eval 'softhca up fat-tree | diff /tmp/said -'
one_process() { [ "$(pgrep -c -x softhca-fabric)" = 1 ]; }
check fabric.one_process one_process
check fabric.address says 0 '10.0.0.8/24' softhca run -n h8 -- ip -br addr show ib0
# its hosts are what is at the switches' ports, leaf by leaf
check fabric.leaf says 0 'leaf 3' smpquery -C shib8 -P 1 -D nodedesc 0,1
check fabric.spine says 0 'spine 1' smpquery -C shib8 -P 1 -D nodedesc 0,1,4
check fabric.taken says 1 'up: namespace h1 has a veth0 already' eval 'sed "s/link tree/link bush/" /usr/local/share/softhca/topologies/fat-tree | softhca up -'
fabric_dies() {
	pkill -KILL -x softhca-fabric && softhca up fat-tree && one_process && softhca run -n h8 -- ip -br addr show ib0 | grep 10.0.0.8
}
check fabric.made_anew fabric_dies
check fabric.down says 0 '["h1", "h2", "h3", "h4", "h5", "h6", "h7", "h8", "tree"]' softhca down --json
check fabric.is_gone nothing_is_there
# What the user has begun there is the user's.
check fabric.up_again says 0 'namespace h8' softhca up fat-tree
run softhca run -n h1 -- setsid -f softhca-fabric --ring=3 >/dev/null 2>&1
check fabric.leaves_other_processes says 0 '1 process is still in namespace h1' softhca down
run pkill -x softhca-fabric
check fabric.process_is_gone eval '! pgrep -x softhca-fabric && [ ! -e /run/softhca-tree.ctl ]'
# (one switch, of its own accord)
cat >/tmp/lab.file <<-END
	link one type=softhca_ib
	end ns=a dev=shib0 addr=10.0.0.1/24
	end ns=a dev=shib1 addr=10.0.1.1/24
	end ns=b dev=shib2
END
check switch says 0 'namespace one: InfiniBand switches' softhca up /tmp/lab.file
check switch.both_addresses says 0 '10.0.1.1/24' softhca run -n a -- ip -br addr show ib1
check switch.peers says 0 'mesh 0.0' smpquery -C shib2 -P 1 -D nodedesc 0,1
check switch.down softhca down
check switch.is_gone nothing_is_there
# (what fails leaves nothing)
run ip link add dummy_x type dummy
run ip link set dummy_x up
add_device shca_b dummy_x
check switch.fails says 1 'an RDMA device shca_b exists already' eval 'sed s/shib2/shca_b/ /tmp/lab.file | softhca up -'
run rdma link delete shca_b
run ip link del dummy_x
check switch.failure_leaves_nothing nothing_is_there
check switch.failure_leaves_no_process eval '! pgrep -x softhca-fabric'
