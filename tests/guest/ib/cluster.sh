#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# A real port in a cluster of 40 switches and 581 simulated hosts: OpenSM on it makes the
# subnet up, and ibnetdiscover finds all of it.
#
# timeout: 300
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../subnet"

needs_fabric

python3 "$(dirname "$0")/../helpers/ib_topology.py" >/tmp/cluster.topo
softhca-fabric --tap 'rack 0 node 1 HCA-1=shib_tap1' /tmp/cluster.topo >/tmp/fabric.log 2>&1 &
at_exit kill -9 $!
run wait_for 20 grep -qx ready /tmp/fabric.log
add_port shib1 shib_tap1
began=$EPOCHREALTIME
patient_opensm
check up wait_for 60 grep -q 'SUBNET UP' /tmp/opensm.log
echo "# SUBNET UP after $((${EPOCHREALTIME/./} - ${began/./})) us"
check active has shib1 state ACTIVE
no_errors() { ! opensm_errors "$@"; }
check no_errors no_errors
finds_all() {
	ibnetdiscover -C shib1 >/tmp/net || return
	grep -c '^Switch' /tmp/net
	grep -c '^Ca' /tmp/net
	[ "$(grep -c '^Switch' /tmp/net) $(grep -c '^Ca' /tmp/net)" = "40 582" ]
}
check finds_all finds_all
