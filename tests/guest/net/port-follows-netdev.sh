#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# State, MTU, speed and GUID of the port are those of the network device, at
# once and with events.
. "$(dirname "$0")/../lib.sh"

attribute() { cat "/sys/class/infiniband/$1/ports/1/$2"; }
has() { attribute "$1" "$2" | grep -q "$3"; }
becomes() { wait_for 10 has "$@" || { attribute "$1" "$2"; return 1; }; }
mtu_of() { ibv_devinfo -d shca_a | awk '$1 == "active_mtu:" { print $2 }'; }
mtu_becomes() { wait_for 10 mtu_is "$1" || { mtu_of; return 1; }; }
mtu_is() { [ "$(mtu_of)" = "$1" ]; }
event() { wait_for 10 grep -q "$1" /tmp/events; }

make_pair 1500
watch_events shca_a

check active_at_first becomes shca_a state ACTIVE
check not_downed becomes shca_a counters/link_downed '^0$'
run in_a ip link set veth_a down
check down_when_set_down becomes shca_a state DOWN
check event_port_error event IBV_EVENT_PORT_ERR
run in_a ip link set veth_a up
check active_when_set_up becomes shca_a state ACTIVE
check event_port_active event IBV_EVENT_PORT_ACTIVE
run in_b ip link set veth_b down
check down_without_carrier becomes shca_a state DOWN
# (the kernel tells of a carrier somewhat later)
check downed_twice becomes shca_a counters/link_downed '^2$'
run in_b ip link set veth_b up
check active_with_carrier becomes shca_a state ACTIVE

# An IBTA MTU and the headers (IPv6 40, UDP 8, BTH and more, ICRC) must fit.
while read -r netdev_mtu ib_mtu; do
	run in_a ip link set veth_a mtu "$netdev_mtu"
	check "mtu_$netdev_mtu" mtu_becomes "$ib_mtu"
done <<-END
	9000 4096
	4300 4096
	2300 2048
	1500 1024
	700 512
	352 256
END
# One byte less, and no packet of any path MTU would fit.
run in_a ip link set veth_a mtu 351
check down_with_an_mtu_too_small becomes shca_a state DOWN
run in_a ip link set veth_a mtu 1500
check active_with_an_mtu_again becomes shca_a state ACTIVE

# the speed of a veth is fixed: a tap's can be set
modprobe tun || {
	echo "skip speed # this kernel has no tun"
	exit 0
}
run ip tuntap add shca_tap mode tap
at_exit ip tuntap del shca_tap mode tap
run ip link set shca_tap up
run rdma link add shca_tap type softhca netdev shca_tap
at_exit rdma link delete shca_tap
for speed in 1000 10000 25000 100000; do
	run ethtool -s shca_tap speed $speed duplex full
	attribute shca_tap rate
	case $speed in
	1000) rate='2.5 Gb/sec' ;; # the least that the field can say
	*) rate="$((speed / 1000)) Gb/sec" ;;
	esac
	check "speed_$speed" becomes shca_tap rate "^$rate"
done
