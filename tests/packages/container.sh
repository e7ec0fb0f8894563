#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Containers of podman and crun in another network namespace: with the device files they exchange
# messages with a process of the host; without them, or without the right to open them, programs say
# what docs/when-it-does-not-work.md says. A guest test that tests/packages/container brings along.
#
# timeout: 600
# shellcheck source=tests/guest/lib.sh
. "$(dirname "$0")/../lib.sh"

make_pair 1500
node=$(grep -lx shca_b /sys/class/infiniband_verbs/uverbs*/ibdev)
node=${node%/ibdev} node=/dev/infiniband/${node##*/}
gid_a=$(gid_index shca_a $ip4_a) gid_b=$(gid_index shca_b $ip4_b)
page=$test_programs/docs/when-it-does-not-work.md
devices=(--device "$node" --device /dev/infiniband/rdma_cm)
memory=(--ulimit memlock=-1)
# (as process 1 of a container a program without a handler would ignore SIGTERM, too)
limit=(timeout $((60 * slow)))

# container [OPTION]... : COMMAND... : in the namespace b, with the guest's files (which it cannot
# change: what it writes goes to an overlay on a tmpfs). A program, since at() executes it; in the
# host's own mounts, since ip netns exec has no cgroups in its /sys.
container=/tmp/container
cat >$container <<-END
	#!/bin/bash
	options=()
	while [ "\$1" != : ]; do options+=("\$1"); shift; done
	shift
	exec nsenter --target 1 --mount --net podman --root /run/podman/root --runroot /run/podman/run \\
		--events-backend none --cgroup-manager cgroupfs --runtime crun \\
		run --rm --log-driver none --network ns:/run/netns/$ns_b "\${options[@]}" --rootfs /:O "\$@"
END
chmod +x $container
# says_as_documented TEXT COMMAND... : the page has that line, too
says_as_documented() {
	grep -q -F "| \`$1\`" "$page" || { echo "not on the page: $1"; return 1; }
	"${@:2}" >/tmp/said 2>&1
	cat /tmp/said
	grep -q -F -e "${1//shca0/shca_b}" /tmp/said
}

check runs says 0 in_container $container : echo in_container
check other_namespace says_like 0 "veth_b.*$ip4_b\|$ip4_b" $container : ip -4 addr show dev veth_b
check devinfo says_like 0 'PORT_ACTIVE' $container "${devices[@]}" : ibv_devinfo -d shca_b
check one_device_only says_like 0 "^$node\$" $container "${devices[@]}" : bash -c 'ls /dev/infiniband/uverbs*'
check pingpong between_pair $container "${devices[@]}" "${memory[@]}" : "${limit[@]}" ibv_rc_pingpong -c -n 50 -d shca_b -g "$gid_b" -- \
	"${limit[@]}" ibv_rc_pingpong -c -n 50 -d shca_a -g "$gid_a" ADDRESS
check pingpong_by_user between_pair $container "${devices[@]}" "${memory[@]}" --user nobody : \
	"${limit[@]}" ibv_rc_pingpong -c -n 50 -d shca_b -g "$gid_b" -- "${limit[@]}" ibv_rc_pingpong -c -n 50 -d shca_a -g "$gid_a" ADDRESS
# (no cgroup, so no list of devices that it may open)
check pingpong_without_cgroup between_pair $container "${devices[@]}" "${memory[@]}" --cgroups=disabled : \
	"${limit[@]}" ibv_rc_pingpong -c -n 50 -d shca_b -g "$gid_b" -- "${limit[@]}" ibv_rc_pingpong -c -n 50 -d shca_a -g "$gid_a" ADDRESS

# ---- what lacks

check no_device says_as_documented "IB device 'shca0' wasn't found" $container : ibv_devinfo -d shca_b
check other_device says_as_documented "IB device 'shca0' wasn't found" $container --device /dev/infiniband/rdma_cm : ibv_devinfo -d shca_b
check no_rdma_cm says_as_documented 'failed to create RDMA CM event channel: No such file or directory' \
	$container --device "$node" : rping -s -a $ip4_b
check no_device_rule says_as_documented 'Failed to open device' $container -v /dev/infiniband:/dev/infiniband : ibv_devinfo -d shca_b
check device_rule says_like 0 PORT_ACTIVE $container -v /dev/infiniband:/dev/infiniband \
	--device-cgroup-rule "c $((0x$(stat -c %t "$node"))):* rmw" : ibv_devinfo -d shca_b
check little_memory says_as_documented "Couldn't register MR" $container "${devices[@]}" --user nobody --ulimit memlock=8192:8192 : \
	"${limit[@]}" ibv_rc_pingpong -d shca_b -g "$gid_b" -s 65536
# it makes no devices, not even root's
check no_new_device says_as_documented 'error: Operation not permitted' $container "${devices[@]}" : rdma link add shca_x type softhca netdev veth_b

# ---- what ends

stays() { timeout $((300 * slow)) $container "${devices[@]}" "${memory[@]}" --name stays : ibv_rc_pingpong -d shca_b -g "$gid_b"; }
stays >/tmp/stays 2>&1 &
run wait_for 60 listening "$ns_b" 18515
check device_goes_with_a_container_on_it link_delete shca_b
podman_kill() { podman --root /run/podman/root --runroot /run/podman/run --cgroup-manager cgroupfs --runtime crun kill stays; }
run podman_kill
wait
check no_container_is_left test -z "$(podman --root /run/podman/root --runroot /run/podman/run ps -aq)"
