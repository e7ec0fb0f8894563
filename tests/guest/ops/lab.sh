#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# softhca up, down and run: namespaces with devices, of the pair and of other topologies.
# They can be made twice and removed twice, what is missing is added, a failure leaves
# nothing, and what others have made stays. Each mistake of a file is named. About 60 s.
#
# timeout: 300
. "$(dirname "$0")/../lib.sh"

away() { softhca down; rdma link delete shca1; ip link del dummy_x; for n in a b d other; do ip netns del $n; done; }
at_exit away
nothing_is_there() {
	! ip netns list | grep . && ! rdma link show | grep -e shca -e shib && [ -z "$(ls -A /run/netns)" ]
}

# ---- refusals, before anything is there

check refused.up_by_a_user says 1 "only root can use network namespaces (try 'sudo softhca up')" as_nobody softhca up
check refused.down_by_a_user says 1 "(try 'sudo softhca down')" as_nobody softhca down
check refused.run_by_a_user says 1 "(try 'sudo softhca run')" as_nobody softhca run -- true
check refused.run_without_up says 1 "there is no namespace a (try 'softhca up')" softhca run -- true
check down_of_nothing says 0 '' softhca down
check down_of_nothing_is_silent eval '[ ! -s /tmp/said ]'
check down_of_nothing_json says 0 '[]' softhca down --json
run modprobe -r softhca
module=$(modinfo -n softhca)
run mv "$module" /tmp/lab.ko
check refused.module says 1 "the softhca module cannot be loaded (try 'softhca doctor')" softhca up
run mv /tmp/lab.ko "$module"
check refused.module_leaves_nothing nothing_is_there

# ---- files with mistakes, before anything is there

# wrong NAME LINE MESSAGE TEXT-OF-LINE... : as the lines of a file; LINE 0: of none
wrong() {
	local name=$1 line=$2 message=$3
	shift 3
	printf '%s\n' "${@//\?/ }" >/tmp/lab.file
	[ "$line" = 0 ] || message="softhca: /tmp/lab.file line $line: $message"
	check "file.$name" says 2 "$message" softhca up /tmp/lab.file
}
one='end ns=a dev=shca0 addr=10.0.0.1/24' two='end ns=b dev=shca1 addr=10.0.0.2/24'
check file.missing says 1 "up: nonesuch: No such file or directory (a path, or one of: fat-tree, pair, rails, star, subnet)" softhca up nonesuch
check file.folder says 1 'up: /tmp: Is a directory' softhca up /tmp
check file.binary says 2 "/bin/true line 1: " softhca up /bin/true
check file.stdin says 2 "softhca: - line 1: unknown word 'rope'" softhca up - <<<'rope x'
check file.not_one says 2 "up: unexpected word 'rails'" softhca up pair rails
wrong empty 0 "softhca: /tmp/lab.file: no link (expected: a line 'link NAME', and 'end' for each of its ends)" '# nothing'
wrong word 2 "unknown word 'host' (expected: link or end)" '# a comment' 'host a'
wrong long_line 2 'longer than 1022 characters' 'link x' "$(printf '%01100d' 0)"
wrong link_without_name 1 'link: missing its name (expected: link NAME [type=TYPE] [mtu=MTU] [fabric=FILE])' 'link mtu=1500'
wrong link_name 1 "link: invalid name '../x' (expected: 1 to 31 letters, digits, '-', '_' and '.', a letter or digit first)" 'link ../x'
wrong link_twice 4 'link x is in line 1 already' 'link x' "$one" "$two" 'link x'
wrong link_word 1 "unknown word 'speed=10' of link (expected KEY=VALUE, of: type, mtu, fabric)" 'link x speed=10'
wrong link_type 1 "type: unknown type 'rxe' (expected: softhca or softhca_ib)" 'link x type=rxe'
wrong given_twice 1 'mtu: given twice' 'link x mtu=1500 mtu=9000'
for mtu in 67 65536 9k -1; do
	wrong "mtu.$mtu" 1 "mtu: invalid value '$mtu' (expected: 68 to 65535)" "link x mtu=$mtu"
done
wrong mtu.ipv6 2 "mtu: 1000 is too small for fd00::1/64 (expected with IPv6: 1280 to 65535)" '' 'link x mtu=1000' "$one,fd00::1/64" "$two"
wrong mtu.infiniband 1 'mtu: 389 is too small for an InfiniBand link (expected: 390 to 65535)' 'link x type=softhca_ib mtu=389' "$one" "$two"
wrong one_end 1 'link x has 1 end (expected: 2 of a cable, or more of a switch)' 'link x' "$one"
wrong no_end 1 'link x has 0 ends' 'link x' 'link y' "$one" "$two"
wrong fabric.ethernet 1 'fabric: only InfiniBand has one (expected with it: type=softhca_ib)' 'link x fabric=mesh=2x2'
wrong fabric.shape 1 'fabric: softhca-fabric: --fat-tree=3: wanted is an even number' 'link x type=softhca_ib fabric=fat-tree=3' "$one" "$two"
wrong fabric.no_file 1 'fabric: /tmp/nonesuch: No such file' 'link x type=softhca_ib fabric=nonesuch' "$one" "$two"
wrong fabric.hosts 1 'link x has 2 ends, and its fabric 1 hosts' 'link x type=softhca_ib fabric=mesh=1x1' "$one" "$two"
wrong end_first 1 "end: no line 'link NAME' is before it" "$one"
wrong end_word 2 "unknown word 'device=shca0' of end (expected KEY=VALUE, of: ns, dev, netdev, addr)" 'link x' 'end ns=a device=shca0'
wrong no_ns 2 'ns: missing, the network namespace of the end' 'link x' 'end dev=shca0 addr=10.0.0.1/24'
wrong no_dev 2 'dev: missing, the RDMA device of the end' 'link x' 'end ns=a addr=10.0.0.1/24'
wrong no_addr 2 'addr: missing, which only an InfiniBand port can be without' 'link x' 'end ns=a dev=shca0'
for ns in '' .. . a/b -a "$(printf 'n%.0s' {1..32})"; do
	wrong "ns.$ns" 2 "ns: invalid name '$ns' (expected: 1 to 31 letters" 'link x' "end ns=$ns dev=shca0"
done
for dev in '' a/b a%d .. "$(printf 'd%.0s' {1..64})"; do
	wrong "dev.$dev" 2 "dev: invalid name '$dev' (expected: 1 to 63 characters, without '/' and '%')" 'link x' "end ns=a dev=$dev"
done
for netdev in '' a/b a%d a:b .. lo nnnnnnnnnnnnnnnn; do
	wrong "netdev.$netdev" 2 "netdev: invalid name '$netdev' (expected: 1 to 15 characters, without '/', ':' and '%', and not lo)" 'link x' "$one netdev=$netdev"
done
for addr in '' 10.0.0.1 10.0.0.1/ 10.0.0.1/0 10.0.0.1/33 10.0.0.256/24 127.0.0.1/8 224.0.0.1/24 0.0.0.0/24 fd00::1/129 ::1/64 ff02::1/64 ::ffff:1.2.3.4/64 a/24; do
	wrong "addr.$addr" 2 "addr: invalid address '$addr' (expected: that of a host with its prefix, as 10.0.0.1/24 or fd00::1/64)" 'link x' "end ns=a dev=shca0 addr=$addr"
done
wrong addr.many 2 'addr: too many addresses (expected: up to 4)' 'link x' "$one,fd00::1/64,fd00::2/64,fd00::3/64,fd00::4/64"
wrong addr.same 2 'addr: fd00::01/64 is in line 2 already' 'link x' "$one,fd00::1/64,fd00::01/64"
wrong addr.taken 3 'addr: 10.0.0.1/8 is in line 2 already' 'link x' "$one" 'end ns=b dev=shca1 addr=10.0.0.1/8'
wrong dev.taken 3 'dev: shca0 is in line 2 already' 'link x' "$one" 'end ns=b dev=shca0 addr=10.0.0.2/24'
wrong netdev.taken 3 'netdev: eth0 of namespace a is in line 2 already' 'link x' "$one netdev=eth0" 'end ns=a dev=shca1 netdev=eth0 addr=10.0.0.2/24'
wrong switch_name 1 'link a: a switch has a namespace of this name, and so has an end (choose another name)' 'link a' "$one" "$two" 'end ns=c dev=shca2 addr=10.0.0.3/24'
# (lines whose blanks are question marks)
# shellcheck disable=SC2046 # lines
wrong ends 66 'too many ends (expected: up to 64)' 'link x' $(for i in {1..65}; do echo "end?ns=a?dev=d$i?addr=10.0.0.$i/24"; done)

check file.mistakes_leave_nothing nothing_is_there
module_is_away() { [ ! -e /sys/module/softhca ]; }
check file.mistakes_load_nothing module_is_away

# ---- up: the module is not loaded yet

check up says 0 'namespace a: shca0 on veth0, 10.0.0.1/24, GID index ' softhca up
cp /tmp/said /tmp/lab.up
check up.other_end grep 'namespace b: shca1 on veth1, 10.0.0.2/24, GID index ' /tmp/lab.up
check up.again softhca up
again() { softhca up | diff /tmp/lab.up -; }
check up.again_says_the_same again
json() {
	softhca up --json | python3 -c 'import json, sys; a, b = json.load(sys.stdin); print(a, b)
assert (a["namespace"], a["device"], a["netdev"], a["address"]) == ("a", "shca0", "veth0", "10.0.0.1/24")
assert (b["namespace"], b["device"], b["netdev"], b["address"]) == ("b", "shca1", "veth1", "10.0.0.2/24")
assert a["gid_index"] >= 0 and b["gid_index"] >= 0'
}
check up.json json
# What -v shows is what makes it: the same lines in a shell make what `up` then finds there.
run modprobe sit
commands_do_it() {
	softhca down && softhca up -v 2>/tmp/lab.commands >/dev/null && softhca down && grep -q '^ip link add veth0 netns a ' /tmp/lab.commands &&
		bash -ex /tmp/lab.commands && rdma dev show shca0 && softhca up -v 2>/tmp/lab.more | diff /tmp/lab.up - &&
		! grep -e ' add ' -e modprobe /tmp/lab.more
}
check up.verbose_commands_do_it commands_do_it
# (With sit, the kernel gives each new namespace a sit0, which is nobody's to delete.)
down_shows() { softhca down --verbose 2>&1 | diff - <(printf '%s\n' 'ip netns exec a rdma link delete shca0' 'ip netns exec b rdma link delete shca1' 'ip -n a link del veth0' 'ip netns del a' 'ip netns del b') && softhca up; }
check up.down_shows_its_commands down_shows
run modprobe -r sit
# README's loss: just one packet is lost, and it is sent again.
readme=$test_programs/docs/README.md
readme_loses() {
	{
		echo 'sudo() { "$@"; }; cd /tmp'
		sed -n '/^    sudo softhca fault add dev=shca0 do=drop nth=2/,/^$/p' "$readme"
	} >/tmp/lab.readme
	bash -e /tmp/lab.readme >/tmp/lab.output 2>&1
	cat /tmp/lab.output
	grep -q '✗.*lost' /tmp/lab.output && grep -q 'again' /tmp/lab.output &&
		grep -q 'do=drop nth=2 seen [0-9]* hits 1$' /tmp/lab.output && [ -z "$(softhca fault list)" ]
}
check up.readme_loses_one readme_loses
# README's failure: its commands as they stand, and what it shows of the output
shown() { sed -n '/^shca0\/0x.*: RC/,/^```/{/^```/d;p}' "$readme" | plain; }
plain() {
	sed -E 's/0x[0-9a-f]+/N/g; s/[0-9.]+ s ago/N s ago/; s/process [0-9]+/process N/; s/rule [0-9]+/rule N/; s/hit [0-9]+ times/hit N times/'
}
readme_fails() {
	{
		echo 'sudo() { "$@"; }'
		sed -n '/^    sudo softhca fault add dev=shca0 do=drop type=request/,/^$/p' "$readme"
	} >/tmp/lab.readme
	grep -q 'softhca explain$' /tmp/lab.readme && bash /tmp/lab.readme 2>&1 | tee /tmp/lab.output
	plain </tmp/lab.output >/tmp/lab.plain
	shown >/tmp/lab.shown
	[ "$(wc -l </tmp/lab.shown)" -ge 7 ] && ! grep -v -x -F -f /tmp/lab.plain /tmp/lab.shown
}
check up.readme_fails_and_explains readme_fails
run softhca fault del all
# What `up` proposes works as it stands.
try_it() {
	local server client pid
	server=$(sed -n 's/^  \(softhca run -n b.*\)/\1/p' /tmp/lab.up)
	client=$(sed -n 's/^  \(softhca run -n a.*\)/\1/p' /tmp/lab.up)
	# shellcheck disable=SC2086 # words
	timeout $((60 * slow)) $server &
	pid=$!
	wait_for 20 listening b 18515 || return
	# shellcheck disable=SC2086 # words
	timeout $((60 * slow)) $client && wait $pid
}
check up.proposal try_it
add_back() { rdma link delete shca0 && softhca up && rdma dev show shca0; }
check up.adds_a_device add_back
join_back() { ip -n a link del veth0 && softhca up && ip netns exec a ping -c 1 -W $((5 * slow)) 10.0.0.2; }
check up.joins_again join_back
exec 7< <(for _ in 1 2 3; do softhca up >/dev/null && echo finished & done; wait)
check up.at_the_same_time eval '[ "$(grep -c finished <&7)" = 3 ]'

# ---- run

check run.default says 0 10.0.0.1 softhca run -- ip -br addr show veth0
check run.other says 0 10.0.0.2 softhca run -n b -- ip -br addr show veth1
check run.long_option says 0 10.0.0.2 softhca run --namespace b ip -br addr show veth1
check run.sys_is_of_the_namespace says 0 veth1 softhca run -n b -- ls /sys/class/net
check run.options_of_the_program says 0 '--json -n b --help' softhca run -- echo --json -n b --help
check run.environment says 0 '=b' softhca run -n b -- sh -c 'echo "=$SOFTHCA_NAMESPACE"'
check run.status says 7 '' softhca run -- sh -c 'exit 7'
check run.signal says 143 '' softhca run -- sh -c 'kill -TERM $$'
check run.not_found says 127 'softhca: run: nonesuch: No such file or directory' softhca run -- nonesuch
check run.not_a_program says 126 'softhca: run: /etc/passwd: Permission denied' softhca run -- /etc/passwd
check run.shell says 0 'in b' env SHELL=/bin/sh softhca run -n b <<<'echo in $SOFTHCA_NAMESPACE'
check run.another_name says 1 "run: there is no namespace c (of 'softhca up' there is a and b)" softhca run -n c -- true
check run.path says 1 'run: there is no namespace ../netns/a' softhca run -n ../netns/a -- true
check run.no_name says 2 "option '-n' needs a value" softhca run -n
mount -t tracefs none /sys/kernel/tracing 2>/dev/null
traced() { softhca run -- test -d /sys/kernel/tracing/events/softhca; }
check run.keeps_tracing traced
outside() { mountpoint -q /sys && [ -e /sys/class/infiniband/shca0 ] && [ ! -e /sys/class/net/veth0 ]; }
check run.leaves_sys_outside outside
check complete.namespaces offers 'a b' run -n ''
check complete.namespace_of_the_long_option offers b run --namespace b
# (files of this folder are offered, too, and it has none)
run eval 'mkdir -p /tmp/lab.empty && cd /tmp/lab.empty'
check complete.topologies offers 'fat-tree pair rails star subnet' up ''
check complete.topology offers 'star subnet' up s

# ---- down

run ip netns add other
run ip -n other link set lo up
add_device shca_a lo other
softhca run -n b -- sleep 1000 &
sleeper=$!
in_it() { [ "$(cat /proc/$sleeper/comm)" = sleep ]; }
run wait_for 20 in_it
check down says 0 "1 process is still in namespace b, which has no device any more: $sleeper" softhca down
kill $sleeper
wait $sleeper 2>/dev/null
gone() { ! ip netns list | grep -w -e a -e b && ! rdma link show | grep -e shca0 -e shca1; }
check down.is_gone gone
check down.leaves_others eval 'ip netns list | grep -w other && rdma dev show shca_a'
check down.again says 0 '' softhca down
check down.up_again says 0 'namespace a' softhca up
check down.json says 0 '["a", "b"]' softhca down --json
run ip netns del other

# ---- what another has made

run ip netns add b
check foreign.up says 1 "a network namespace 'b' exists that 'softhca up' has not made (see 'ip netns'); nothing was changed" softhca up
check foreign.run says 1 "('ip netns exec b' runs programs there)" softhca run -n b -- true
check foreign.down says 1 "'softhca up' has not made the network namespace 'b'; it is left alone" softhca down
check foreign.stays eval 'ip netns exec b true && ! ip netns list | grep -w a'
run ip netns del b
# The number of a namespace that is gone may be that of the next.
check foreign.same_name says 0 'namespace a' softhca up
run ip netns del a
run ip netns add a
check foreign.same_name_is_not_ours says 1 "'softhca up' has not made the network namespace 'a'" softhca down
check foreign.same_name_stays ip netns exec a true
run ip netns del a
run ip link add dummy_x type dummy
run ip link set dummy_x up
add_device shca1 dummy_x
gone_but_it() { ! ip netns list | grep -w -e a -e b && ! rdma link show | grep shca0 && rdma dev show shca1; }
check foreign.device says 1 "an RDMA device shca1 exists already (see 'rdma link show'" softhca up
check foreign.device_leaves_nothing gone_but_it
run ip link del dummy_x

# ---- two rails

# pingpong SERVER-NAMESPACE DEVICE GID-INDEX CLIENT-NAMESPACE DEVICE GID-INDEX ADDRESS
pingpong() {
	local server
	timeout $((60 * slow)) softhca run -n "$1" -- ibv_rc_pingpong -d "$2" ${3:+-g "$3"} -n 100 &
	server=$!
	wait_for 20 listening "$1" 18515 && timeout $((60 * slow)) softhca run -n "$4" -- \
		ibv_rc_pingpong -d "$5" ${6:+-g "$6"} -n 100 "$7" && wait $server
}
# index_of DEVICE ADDRESS : as `up` has printed it
index_of() { sed -n "s|^namespace .*: $1 on .*, $2/[0-9]*, GID index \([0-9]*\).*|\1|p" /tmp/lab.up; }
up() { softhca up "$@" >/tmp/lab.up && cat /tmp/lab.up; }
both_rails() {
	local device
	pingpong b shca1 "$(index_of shca1 10.0.0.2)" a shca0 "$(index_of shca0 10.0.0.1)" 10.0.0.2 &&
		pingpong b shca3 "$(index_of shca3 10.0.1.2)" a shca2 "$(index_of shca2 10.0.1.1)" 10.0.1.2 || return
	for device in shca0 shca1 shca2 shca3; do [ "$(attribute $device counters/port_xmit_packets)" -ge 100 ] || return; done
}
# The second rail is added to the pair; if that fails, the pair is as it was.
run softhca up
run ip link add dummy_x type dummy
run ip link set dummy_x up
add_device shca3 dummy_x
check rails.fails says 1 'an RDMA device shca3 exists already' softhca up rails
pair_only() { rdma dev show shca0 && ! rdma dev show shca2 && ip -n a link show veth0 && ! ip -n a link show veth2; }
check rails.leaves_the_pair pair_only
run rdma link delete shca3
run ip link del dummy_x
check rails up rails
check rails.traffic both_rails
check rails.fits_the_pair says 0 'namespace b: shca1 on veth1' softhca up
check rails.other_cable says 1 "up: namespace a has a veth0 already, at another cable (a/veth0 b/veth1); 'softhca down' removes it" softhca up star
check rails.is_still_there says 0 'namespace b: shca3 on veth3, 10.0.1.2/24' softhca up rails
check rails.down says 0 '["a", "b"]' softhca down --json
check rails.is_gone nothing_is_there

# ---- a star, with IPv6 and multicast

# When `up` returns, each address takes packets, and the kernel can ask for neighbours: from
# link-local addresses. Work items of the kernel see to that, some time after the port is
# active. Those who take RTNL all the time let them be late.
usable_at_once() {
	python3 - <<'END'
import ctypes, subprocess
busy = 'while :; do ip link add busy%d type dummy; ip link del busy%d; done'
hogs = [subprocess.Popen(["bash", "-c", busy % (i, i)], start_new_session=True) for i in range(3)]
try:
    with open("/tmp/lab.up", "w") as out:
        subprocess.run(["softhca", "up", "star"], stdout=out, check=True)
    missing = []
    for i, name in enumerate("abcd"):
        with open(f"/run/netns/{name}") as netns:
            assert not ctypes.CDLL(None).setns(netns.fileno(), 0)
        with open("/proc/thread-self/net/ipv6_route") as f:
            routes = [line.split() for line in f]
        local = [r[0] for r in routes if r[1] == "80" and int(r[8], 16) >> 31 and r[9] == f"veth{i}"]
        missing += [f"{name}: {what}" for what in ("fe80", f"fd00{i + 1:028x}")
                    if not any(address.startswith(what) for address in local)]
    print("not there yet:", missing)
finally:
    for hog in hogs:
        subprocess.run(["kill", "--", f"-{hog.pid}"])
assert not missing
END
	local i status=$?
	for i in 0 1 2; do ip link del busy$i; done 2>/dev/null
	return $status
}
check star.addresses_are_usable_at_once usable_at_once
check star up star
star_json() {
	softhca up star --json | python3 -c 'import json, sys; ends = json.load(sys.stdin); print(ends)
assert [e["namespace"] for e in ends] == ["a", "b", "c", "d"]
assert all(e["switch"] and e["link"] == "switch" and e["type"] == "softhca" for e in ends)
assert [a["address"] for a in ends[2]["addresses"]] == ["10.0.0.3/24", "fd00::3/64"]
assert ends[2]["address"] == "10.0.0.3/24" and ends[2]["gid_index"] == ends[2]["addresses"][0]["gid_index"]'
}
check star.json star_json
check star.ipv4 pingpong d shca3 "$(index_of shca3 10.0.0.4)" c shca2 "$(index_of shca2 10.0.0.3)" 10.0.0.4
index6_of() { sed -n "s|^namespace .*: $1 on .*, $2/64, GID index \([0-9]*\)|\1|p" /tmp/lab.up; }
check star.ipv6 pingpong d shca3 "$(index6_of shca3 fd00::4)" b shca1 "$(index6_of shca1 fd00::2)" 10.0.0.4
check star.multicast "$test_programs/mcast" -d shca0 -p shca3 -f 4 members_get
check star.complete offers 'a b c d switch' run -n ''
check star.switch says 0 port3 softhca run -n switch -- ls /sys/class/net/br0/brif
plug_back() { ip -n c link del veth2 && softhca up star && ip netns exec c ping -c 1 -W $((5 * slow)) 10.0.0.2; }
check star.plugs_in_again plug_back
check star.down says 0 '["a", "b", "c", "d", "switch"]' softhca down --json
check star.is_gone nothing_is_there

# ---- a file: MTU, made up names, other namespaces

cat >/tmp/lab.file <<-END
	link long mtu=9000	# jumbo frames
	end ns=h1 dev=left addr=10.1.0.1/24
	end addr=10.1.0.2/24 dev=right ns=h2
	link short mtu=1280
	end ns=h2 dev=right2 netdev=veth0 addr=fd01::1/64
	end ns=h1 dev=left2 addr=fd01::2/64
END
check file says 0 'namespace h1: left on veth1, 10.1.0.1/24, GID index ' softhca up /tmp/lab.file
check file.made_up_name grep -q 'namespace h2: right on veth2, ' /tmp/said
check file.proposal grep -q 'run -n h2 -- ibv_rc_pingpong -d right -g' /tmp/said
mtus() {
	ip -n h2 link show veth2 | grep -q ' mtu 9000 ' && ibv_devinfo -d left | grep -q 'active_mtu:.*4096' &&
		ip -n h1 link show veth3 | grep -q ' mtu 1280 ' && ibv_devinfo -d right2 | grep -q 'active_mtu:.*1024'
}
check file.mtu mtus
check file.other_mtu says 0 'left on veth1' eval 'sed "s/9000/2000/" /tmp/lab.file | softhca up -'
check file.mtu_is_set_again eval 'ip -n h1 link show veth1 | grep " mtu 2000 "'
check file.run_has_no_a says 1 "there is no namespace a (of 'softhca up' there is h1 and h2)" softhca run -- true
check file.explain says 0 'No queue pair has failed lately.' softhca explain
run ip netns add b
check file.down_leaves_others says 0 '["h1", "h2"]' softhca down --json
run ip netns del b
check file.is_gone nothing_is_there
run ip netns add d
check star.refuses says 1 "a network namespace 'd' exists that 'softhca up' has not made" softhca up star
run ip netns del d
check star.refusal_leaves_nothing nothing_is_there

# ---- an InfiniBand link

check subnet says 0 'namespace a: shib0 on veth0, InfiniBand, GUID 0x' softhca up subnet
check subnet.state eval 'grep "namespace b: shib1 .*, Initializing, 10.0.0.2/24$" /tmp/said'
check subnet.proposal eval 'grep -E "softhca run -n a -- opensm -B -g 0x[0-9a-f]{16}$" /tmp/said'
subnet_json() {
	softhca up subnet --json | python3 -c 'import json, sys; a, b = json.load(sys.stdin); print(a, b)
assert a["type"] == "softhca_ib" and a["state"] == "Initializing" and len(a["guid"]) == 16
assert "gid_index" not in a and a["address"] == "10.0.0.1/24" and not a["switch"]'
}
check subnet.json subnet_json
peer() { smpquery -C shib0 -P 1 -D nodeinfo 0,1 | tee /tmp/said && grep -q "$(tr -d : </sys/class/infiniband/shib1/node_guid)" /tmp/said; }
check subnet.peer wait_for 10 peer
active() { ibstat shib0 | grep -q 'State: Initializing' && ibv_devinfo -d shib0 | grep -q 'max_mtu:.*2048'; }
check subnet.ibstat active
check subnet.another_type says 1 "up: shib0 exists already and is no device of the type softhca ('softhca down' removes it)" \
	eval 'sed "s/type=softhca_ib//" /usr/local/share/softhca/topologies/subnet | softhca up -'
check subnet.down says 0 '' softhca down
check subnet.is_gone nothing_is_there
