#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Batches of two real ports behind softhca-fabric, one TAP each: a message crosses TAP and process as
# a frame, its data is checked, RC and UC, and counters have packets. A TAP whose MTU has room for
# one packet, and `path wire`, get packets one by one.
#
# timeout: 400
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"
. "$(dirname "$0")/../subnet"

needs_fabric

cat >/tmp/fabric.topo <<-END
	Switch 8 "S-1" # "switch" enhanced port 0
	[1] "H-1"[1]
	[2] "H-2"[1]
	[3] "H-3"[1]
	Ca 1 "H-1" # "host 1"
	Ca 1 "H-2" # "host 2"
	Ca 1 "H-3" # "host 3"
END
for n in 1 2 3; do
	run ip tuntap add shib_tap$n mode tap
	at_exit ip link delete shib_tap$n
done
run ip link set shib_tap1 mtu 65521 up
run ip link set shib_tap2 mtu 65521 up
run ip link set shib_tap3 mtu 4230 up
softhca-fabric --tap H-1=shib_tap1 --tap H-2=shib_tap2 --tap H-3=shib_tap3 /tmp/fabric.topo >/tmp/fabric.log 2>&1 &
at_exit kill -9 $!
run wait_for 20 grep -qx ready /tmp/fabric.log
for n in 1 2 3; do add_port shib$n shib_tap$n; done
patient_opensm
for n in 1 2 3; do check active.$n wait_for 60 has shib$n state ACTIVE; done

frames() { cat "/sys/class/net/shib_tap$1/statistics/$2"; }
lost() { cat /sys/class/infiniband/shib?/ports/1/hw_counters/{rx_vcrc_errors,rx_icrc_errors,rx_malformed,rx_truncated,tx_dropped_locally} | paste -sd+ | bc; }
# crosses LEAST MOST FROM TO COMMAND... : so many frames, from one TAP to the other, and no packet is lost
crosses() {
	local least=$1 most=$2 from=$3 to=$4 out in bad n
	shift 4
	out=$(frames "$from" tx_packets) in=$(frames "$to" rx_packets) bad=$(lost)
	between "shib$from" "shib$to" "$@" || return
	[ "$(lost)" = "$bad" ] || { grep -H . /sys/class/infiniband/shib?/ports/1/hw_counters/* | grep -v ':0$'; return 1; }
	for n in $(($(frames "$from" tx_packets) - out)) $(($(frames "$to" rx_packets) - in)); do
		if [ "$n" -lt "$least" ] || [ "$n" -gt "$most" ]; then
			echo "$n frames"
			return 1
		fi
	done
}
write=(ib_write_bw -F -u 18 -m 4096 -n 50 -s 65536 -t 4)
# 50 messages of 16 packets
check write crosses 50 400 1 2 "${write[@]}"
check write_back crosses 50 400 2 1 "${write[@]}"
check write_grh crosses 50 400 1 2 "${write[@]}" -x 0
check read crosses 1 400 1 2 ib_read_bw -F -u 18 -n 50 -s 65536
check uc crosses 50 400 1 2 ib_write_bw -c UC -F -m 4096 -n 50 -s 61001
check list crosses 10 400 1 2 ib_write_bw -F -u 18 -n 512 -s 8 -l 16 -t 64
# The data is right: 20 messages of 1 MiB both ways, of some 20 frames each
for kind in rc uc; do
	check data.$kind crosses 300 3000 1 2 ibv_${kind}_pingpong -c -m 4096 -s 1048576 -n 20
done
# One by one: the other TAP has no room, the port has been told so, a capture
# left LEAST NUMBER COMMAND... : so many frames from its TAP
left() {
	local least=$1 number=$2 before
	before=$(frames "$number" tx_packets)
	"${@:3}" || return
	before=$(($(frames "$number" tx_packets) - before))
	[ $before -ge "$least" ] || { echo "$before frames"; return 1; }
}
# The switch splits them.
to_single() {
	local bad before
	bad=$(lost) before=$(frames 3 rx_packets)
	left 50 1 between shib1 shib3 "${write[@]}" && [ "$(lost)" = "$bad" ] && [ $(($(frames 3 rx_packets) - before)) -ge 800 ]
}
check to_single to_single
check from_single left 800 3 between shib3 shib1 "${write[@]}"
run softhca dev set shib1 path wire
check path_wire left 800 1 between shib1 shib2 "${write[@]}"
run softhca dev set shib1 path auto
tcpdump --immediate-mode -i shib_tap1 -w /dev/null 2>/tmp/tcpdump &
run wait_for 10 grep -q listening /tmp/tcpdump
check captured left 800 1 between shib1 shib2 "${write[@]}"
run pkill tcpdump
check whole_again crosses 50 400 1 2 "${write[@]}"
