#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# An InfiniBand cluster in one machine: eight hosts, four leaves and two spines (softhca up
# fat-tree), OpenSM, a route, an MPI program over all of it, and a cable that is cut under it.
# Needs root, softhca, opensm, infiniband-diags and openmpi-bin. `make demo-fabric` runs it in a
# guest. In the working directory it leaves fabric.dot, for dot -Tsvg of graphviz.

set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
hosts="1 2 3 4 5 6 7 8"
control=/run/softhca-tree.ctl
pids=()

title() { printf '\n--- %s\n' "$*"; }
fail() { echo "demo-fabric: failed: $*" >&2; exit 1; }
run() {
	echo "\$ $*"
	"$@" || fail "$*"
}
cleanup() {
	kill "${pids[@]}" 2>/dev/null
	wait 2>/dev/null
	softhca down >/dev/null
	rm -rf "$work"
}
trap cleanup EXIT
# wait_for SECONDS COMMAND... : until it succeeds (an emulated machine is slow)
wait_for() {
	local until=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $until ] || fail "waited in vain for: $*"
		sleep 0.1
	done
}
lid() { printf %d "$(cat "/sys/class/infiniband/shib$1/ports/1/lid")"; }
all_active() {
	local n
	for n in $hosts; do grep -q ACTIVE "/sys/class/infiniband/shib$n/ports/1/state" || return; done
}
# route FROM TO : the LIDs of switches on the way
route() { ibtracert -C shib1 "$(lid "$1")" "$(lid "$2")"; }

title "six switches, eight hosts"
run softhca up fat-tree

title "OpenSM at the first host"
# (packets may wait for ever in front of a host: an emulated machine is slow)
printf '%s 0x14\n' head_of_queue_lifetime leaf_head_of_queue_lifetime >"$work/opensm.conf"
guid=$(tr -d : </sys/class/infiniband/shib1/node_guid)
export OSM_CACHE_DIR=$work OSM_TMP_DIR=$work
opensm -F "$work/opensm.conf" -g "0x$guid" -s 5 -f "$work/opensm.log" >"$work/opensm.out" 2>&1 &
pids+=($!)
began=$SECONDS
wait_for 300 all_active
echo "all eight ports are active after $((SECONDS - began)) s"

title "what there is"
ibnetdiscover -C shib1 >"$work/before" || fail ibnetdiscover
run ibswitches -C shib1
run ibhosts -C shib1

title "the way from the first host to the last"
run route 1 8

title "each host has another's address"
for n in $hosts; do
	wait_for 300 softhca run -n "h$n" -- ping -c 1 -W 1 10.0.0.$((n % 8 + 1))
done
run softhca run -n h1 -- ping -c 2 -q 10.0.0.8

title "MPI_Allreduce of eight ranks, one at each host; each element is compared"
# Each rank has its own host's port, and no other way to its peers.
cat >"$work/rank" <<'END'
#!/bin/sh
export UCX_NET_DEVICES=shib$((OMPI_COMM_WORLD_RANK + 1)):1 UCX_TLS=ud_v,self
exec python3 "$@"
END
chmod +x "$work/rank"
allreduce() { mpirun --allow-run-as-root --oversubscribe -np 8 --mca pml ucx "$work/rank" "$here/mpi-allreduce.py" "$@"; }
run allreduce

title "a cable of the way is cut under it"
allreduce forever >"$work/mpi" 2>&1 &
pids+=($!)
results() { [ "$(grep -c right "$work/mpi")" -ge "$1" ]; }
wait_for 300 results 10
# The second hop of the way goes from the first leaf to a spine, by this port.
port=$(route 1 8 | sed -n 's/^\[\([0-9]*\)\] -> switch.*/\1/p' | sed -n 2p)
before=$(route 1 8 | md5sum)
run softhca-fabric --ask=$control cut "leaf 0" "$port"
other_way() { [ "$(route 1 8 | md5sum)" != "$before" ]; }
wait_for 300 other_way
run route 1 8
have=$(grep -c right "$work/mpi")
wait_for 300 results $((have + 10))
echo "the program goes on: $have results before this, and now $(grep -c right "$work/mpi")"

title "a picture"
"$here/fabric-picture.py" -C shib1 --before "$work/before" >fabric.dot || fail fabric-picture.py
echo "fabric.dot: $(grep -c ' -- ' fabric.dot) cables, $(grep -c dashed fabric.dot) of them cut; dot -Tsvg fabric.dot >fabric.svg"

echo
echo "demo-fabric: all of it worked"
