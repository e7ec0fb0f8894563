#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# examples/softhca-cni, called as a container runtime does: ADD, CHECK, DEL and VERSION with the
# environment and the JSON of the CNI specification (1.0.0, sections 2, 4 and 5). Two pods are
# namespaces joined by a veth pair, which the plugin before would have made. About 20 s.
. "$(dirname "$0")/../lib.sh"

plugin=/usr/local/share/softhca/examples/softhca-cni
id_a=0123456789abcdef0123456789abcdef0123456789abcdef id_b=pod_b.1-x
device_a=shca-${id_a:0:40}-veth_a device_b=shca-$id_b-veth_b
# (last, when there is no namespace)
at_exit rdma system set netns shared
at_exit rdma link delete "$device_a"
at_exit rdma link delete "$device_b"
make_namespaces
result() {
	echo "{\"cniVersion\": \"${2:-1.0.0}\", \"interfaces\": [{\"name\": \"$1\", \"sandbox\": \"/run/netns/x\"}]," \
		"\"ips\": [{\"address\": \"$ip4_a/24\", \"interface\": 0}], \"dns\": {\"search\": [\"a \\\"b\\\"\", \"\\u00e9\"]}}"
}
conf() { echo "{\"cniVersion\": \"${2:-1.0.0}\", \"name\": \"net\", \"type\": \"softhca\", \"prevResult\": $(result "$1" "${2:-1.0.0}")}"; }
# call COMMAND ID NAMESPACE NETDEV [CONFIGURATION] : its status; the answer is in /tmp/cni
call() {
	local status=0
	echo "${5-$(conf "$4")}" | env CNI_COMMAND="$1" CNI_CONTAINERID="$2" CNI_NETNS="$3" CNI_IFNAME="$4" \
		CNI_ARGS='' CNI_PATH=/opt/cni/bin "$plugin" >/tmp/cni || status=$?
	cat /tmp/cni
	return "$status"
}
same_json() { python3 -c 'import json, sys; sys.exit(json.loads(sys.argv[1]) != json.load(open("/tmp/cni")))' "$1"; }
silent() { call "$@" && [ ! -s /tmp/cni ]; }
# errs CODE WORD... : status 1, and an error as section 5 has it
errs() {
	local code=$1
	shift
	! call "$@" || return
	python3 - "$code" <<-'END'
		import json, sys
		answer = json.load(open("/tmp/cni"))
		assert answer["code"] == int(sys.argv[1]) and answer["msg"] and answer["cniVersion"], answer
	END
}
on() { [[ $(ip netns exec "$2" rdma link show "$1/1") == *" netdev $3"* ]]; }
gone() { [ ! -e "/sys/class/infiniband/$1" ]; }

is_version() { call VERSION '' '' '' '{"cniVersion": "1.0.0"}' && grep -q '"supportedVersions": .*"0.4.0", "1.0.0"' /tmp/cni; }
check version is_version
newer() { call VERSION '' '' '' '{"cniVersion": "9.0.0"}' && grep -q '^{"cniVersion": "1.0.0"' /tmp/cni; }
check version.of_a_newer_runtime newer

check check.before_add errs 100 CHECK $id_a /run/netns/$ns_a veth_a
added() { call ADD $id_a /run/netns/$ns_a veth_a && same_json "$(result veth_a)" && on "$device_a" $ns_a veth_a; }
check add.passes_the_result_through added
older() { call ADD $id_b /run/netns/$ns_b veth_b "$(conf veth_b 0.4.0)" && same_json "$(result veth_b 0.4.0)" && on "$device_b" $ns_b veth_b; }
check add.cni_0_4_0 older
check check silent CHECK $id_a /run/netns/$ns_a veth_a
check check.netdev_of_another_pod errs 100 CHECK $id_a /run/netns/$ns_b veth_b
check add.twice errs 101 ADD $id_a /run/netns/$ns_a veth_a
run wait_for 10 gid_index "$device_a" $ip4_a
run wait_for 10 gid_index "$device_b" $ip4_b
run wait_for 10 has_node "$device_a"
run wait_for 10 has_node "$device_b"
check pods_exchange_messages between_pair ibv_rc_pingpong -d "$device_b" -g "$(gid_index "$device_b" $ip4_b)" -n 20 -- \
	timeout $((60 * slow)) ibv_rc_pingpong -d "$device_a" -g "$(gid_index "$device_a" $ip4_a)" -n 20 ADDRESS

check del silent DEL $id_a /run/netns/$ns_a veth_a
check del.device_is_gone gone "$device_a"
check del.other_pod_stays on "$device_b" $ns_b veth_b
check del.twice silent DEL $id_a /run/netns/$ns_a veth_a
without_namespace() {
	call ADD $id_a /run/netns/$ns_a veth_a && silent DEL $id_a '' veth_a '{"cniVersion": "1.0.0"}' && gone "$device_a"
}
check del.without_namespace without_namespace
run ip netns del $ns_b
check del.namespace_is_gone silent DEL $id_b /run/netns/$ns_b veth_b
check del.device_went_with_it wait_for 10 gone "$device_b"

# ---- errors, by their codes

bad() { check "error.$1" errs "${@:2}"; }
pod=/run/netns/$ns_a
bad version 1 ADD $id_a $pod veth_a '{"cniVersion": "0.2.0"}'
bad version.injected 1 ADD $id_a $pod veth_a '{"cniVersion": "0.3.0\", \"0.3.1"}'
bad command 4 GET $id_a $pod veth_a
bad id 4 ADD '../x' $pod veth_a
bad id.injected 4 ADD 'a;touch /tmp/cni-injected' $pod veth_a
# shellcheck disable=SC2016 # is not to be expanded
bad interface 4 ADD $id_a $pod '$(touch /tmp/cni-injected)'
bad interface.path 4 ADD $id_a $pod ..
bad namespace 4 ADD $id_a /run/netns/nonesuch veth_a
bad no_json 6 ADD $id_a $pod veth_a 'prevResult'
bad no_object 6 ADD $id_a $pod veth_a '[1]'
bad empty 6 ADD $id_a $pod veth_a ''
bad no_prev_result 7 ADD $id_a $pod veth_a '{"cniVersion": "1.0.0"}'
bad no_interface 101 ADD $id_a $pod nonesuch
check error.nothing_was_made gone "$device_a"
check error.nothing_was_run eval '[ ! -e /tmp/cni-injected ]'

# ---- an exclusive system: the pod has the device, or none is left

run ip netns del $ns_a
run rdma system set netns exclusive
run ip netns add $ns_a
run ip link add veth_a netns $ns_a type dummy
exclusive() {
	if call ADD $id_a $pod veth_a; then on "$device_a" $ns_a veth_a; else grep '"code": 102' /tmp/cni && gone "$device_a"; fi
}
check exclusive exclusive
