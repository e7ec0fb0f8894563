#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# softhca doctor: each of its findings is provoked, and its cure is what it proposes. About
# 30 s.
. "$(dirname "$0")/../lib.sh"

library=$(echo /usr/lib/*-linux-gnu/libibverbs/libsofthca-rdmav*.so)
# finds CHECK TEXT CURE [COMMAND...] : the doctor (run by COMMAND) has this problem and this
# cure for it, and its status says so
finds() {
	local check=$1 text=$2 cure=$3 status=0
	shift 3
	"$@" softhca doctor >/tmp/doctor 2>&1 || status=$?
	sed 's/^/# /' /tmp/doctor	# it says "ok", as a test does
	[ "$status" = 1 ] && grep -A 1 "^problem  $check " /tmp/doctor >/tmp/doctor.problem &&
		grep -q -F -e "$text" /tmp/doctor.problem && grep -q -F -e "cure:   $cure" /tmp/doctor.problem
}
healthy() { softhca doctor >/tmp/doctor.healthy && ! grep -q '^problem' /tmp/doctor.healthy; }
cure() { sed -n "s/^  *cure:   \([^(]*[^ (]\).*/\1/p" /tmp/doctor.problem; }
# cured COMMAND... : the cure, as it stands, ends the problem
cured() { echo "cure: $(cure)"; eval "$(cure)" && wait_for 10 healthy; }

# ---- without a device

modprobe -r softhca
check module.missing finds module 'the kernel module softhca is not loaded' 'modprobe softhca '
run modprobe softhca
run modprobe rdma_ucm	# which udev does elsewhere
check device.none finds device 'this network namespace has no softhca device' 'rdma link add shca0 type softhca netdev '
check port.free grep '^ok *port *UDP port 4791 is free' /tmp/doctor
nc -u -l -p 4791 </dev/null >/dev/null 2>&1 &
listener=$!
bound() { ss -Hlun 'sport = :4791' | grep -q .; }
run wait_for 20 bound
check port.program finds port 'another program has UDP port 4791' "ss -ulnp 'sport = :4791'"
kill $listener
wait $listener 2>/dev/null
soft_roce() {
	local status=0
	modprobe rdma_rxe && { ss -Hlun 'sport = :4791' | grep -q . || rdma link add rxe_d type rxe netdev dummy_d; } || return
	finds port 'Soft-RoCE (rdma_rxe) has UDP port 4791' 'modprobe -r rdma_rxe' || status=1
	rdma link delete rxe_d 2>/dev/null
	modprobe -r rdma_rxe
	return "$status"
}
run ip link add dummy_d type dummy
at_exit ip link del dummy_d
run ip addr add 192.0.2.1/24 dev dummy_d
run ip link set dummy_d up
check port.soft_roce soft_roce
up_healthy() { softhca up >/dev/null && softhca doctor >/tmp/doctor; local status=$?; sed 's/^/# /' /tmp/doctor; return $status; }
check device.of_up_is_healthy up_healthy
softhca down

# ---- a healthy one

add_device shca_d dummy_d
check healthy wait_for 10 healthy
as_user() { setpriv --reuid 65534 --regid 65534 --clear-groups softhca doctor | sed 's/^/# /'; return "${PIPESTATUS[0]}"; }
check healthy.as_a_user as_user
healthy_json() {
	softhca doctor --json | python3 -c 'import json, sys; checks = json.load(sys.stdin); print(checks)
assert all(check["ok"] and check["text"] for check in checks) and {check["check"] for check in checks} > {"module", "provider", "gid", "port"}'
}
check healthy.json healthy_json

# ---- the network device

run ip link set dummy_d down
check netdev.down finds netdev 'the network device dummy_d is down' 'ip link set dev dummy_d up'
problem_json() {
	softhca doctor --json | python3 -c 'import json, sys; checks = json.load(sys.stdin); print(checks)
assert [check["cure"] for check in checks if not check["ok"]] == ["ip link set dev dummy_d up"]'
}
check netdev.down_json problem_json
check netdev.down_cured cured
run ip link set dummy_d carrier off
check netdev.carrier finds netdev 'dummy_d has no carrier' "connect it, or bring up its other end ('ip link show dev dummy_d')"
run ip link set dummy_d carrier on
check netdev.carrier_again wait_for 10 healthy
run ip link set dummy_d mtu 300
check mtu finds mtu 'the MTU of dummy_d is 300, and a RoCE packet needs 352' 'ip link set dev dummy_d mtu 1500'
check mtu.cured cured
run ip addr flush dev dummy_d scope global
no_gid() { finds gid 'dummy_d has no IP address but a link-local one' 'ip address add 10.0.0.1/24 dev dummy_d '; }
check gid wait_for 10 no_gid
check gid.cured cured
# A rule that has hit, which is told before a firewall. (tests/guest/ops/usual-shell.sh has netem and MTUs.)
run softhca fault add dev=shca_d do=fail verb=query_port errno=EIO nth=1
ibv_devinfo -d shca_d >/dev/null 2>&1
rule_finds() { finds faults "rule $(softhca fault list | cut -d: -f1) of fault injection has hit 1 time: dev=shca_d do=fail" 'softhca fault del '; }
check fault rule_finds
check fault.cured cured
run nft add table inet doctor
run nft add chain inet doctor input '{ type filter hook input priority 0; }'
run nft add rule inet doctor input udp dport 4791 drop
check port.firewall finds port 'a packet to UDP port 4791 of 10.0.0.1 does not arrive: a firewall drops it' 'allow UDP port 4791'
run nft delete table inet doctor
check port.open_again healthy

# ---- files and limits

check memlock finds memlock 'programs started here may register 64 KiB of memory only' 'ulimit -l unlimited' prlimit --memlock=65536
uverbs=/dev/infiniband/$(ls /sys/class/infiniband/shca_d/device/infiniband_verbs 2>/dev/null || basename "$(dirname "$(grep -lx shca_d /sys/class/infiniband_verbs/*/ibdev)")")
run chmod 600 "$uverbs"
check file.mode finds file "only root can open $uverbs" "chmod 666 $uverbs "
check file.mode_cured cured
cannot_open() { chmod 600 "$uverbs"; finds provider 'libibverbs finds the device, and cannot open it' 'ls -l /dev/infiniband' setpriv --reuid 65534 --regid 65534 --clear-groups; local status=$?; chmod 666 "$uverbs"; return $status; }
check provider.open cannot_open
# while_away FILE CHECK TEXT CURE : the problem where this file is missing. (It stays in its
# file system: the kernel takes a node in /dev away with its device only if it is its own,
# and not a copy. A program that opened the copy once was led to the device before.)
while_away() {
	local file=$1 away=${1/libibverbs.d\//}.away status=0
	shift
	mv "$file" "$away" && { finds "$@" || status=1; } && mv "$away" "$file"
	return "$status"
}
check file.missing while_away "$uverbs" file "there is no $uverbs" 'udevadm trigger (in a container'
run chmod 600 /dev/infiniband/rdma_cm
check rdma_cm.mode finds rdma_cm 'only root can open /dev/infiniband/rdma_cm' 'chmod 666 /dev/infiniband/rdma_cm '
check rdma_cm.mode_cured cured
check rdma_cm.missing while_away /dev/infiniband/rdma_cm rdma_cm 'there is no /dev/infiniband/rdma_cm' 'modprobe rdma_ucm '
check provider.missing while_away "$library" provider "cannot load the provider ${library##*/}" 'make && sudo make install'
check provider.unknown while_away /etc/libibverbs.d/softhca.driver provider \
	'libibverbs does not know the provider: there is no /etc/libibverbs.d/softhca.driver' 'sudo make install'
lib=$(readlink -f /usr/lib/*-linux-gnu/libibverbs.so.1)
check provider.no_libibverbs while_away "$lib" provider 'libibverbs is not installed' 'apt-get install libibverbs1'
echo 0.0 >/tmp/doctor.version
run mount --bind /tmp/doctor.version /sys/module/softhca/version
check module.version finds module 'the loaded module is version 0.0, and this tool is ' 'modprobe -r softhca && modprobe softhca'
run umount /sys/module/softhca/version
check healthy_again healthy

# ---- exclusive mode: the device is in another namespace than its network device

exclusive() {
	local status=0
	wait_for 20 rdma system set netns exclusive || return
	ip netns add doctor && rdma dev set shca_d netns doctor || status=1
	[ "$status" = 1 ] || finds mode 'this one belongs to another' 'rdma dev set shca_d netns NAME' || status=1
	ip netns exec doctor rdma link delete shca_d
	ip netns del doctor
	wait_for 20 rdma system set netns shared || status=1
	return "$status"
}
check mode.exclusive exclusive
