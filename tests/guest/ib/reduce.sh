#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Reduction in the network: eight real ports behind four leaves and two spines of
# softhca-fabric, with an aggregation node at each switch. All operations, bit by bit in
# the order of the tree; the bytes on the hosts' cables; a bad cable; members that are
# killed; and the sum beside that of MPI.
#
# timeout: 900
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"
. "$(dirname "$0")/../subnet"

hosts="1 2 3 4 5 6 7 8"
devices=(shib1 shib2 shib3 shib4 shib5 shib6 shib7 shib8)
# Two hosts at each leaf, and all leaves below the root.
order='((0 1) (2 3) (4 5) (6 7))'

begin_leaves 8 2 --aggregate --leaf-spine=4x2
patient_opensm
for n in $hosts; do check "active.$n" wait_for 100 has "shib$n" state ACTIVE; done

# node_lid NAME : of the aggregation node of a switch
node_lid() { sed -n "s/.*\"softhca aggregation node $1\" lid \([0-9]*\) .*/\1/p" /tmp/net | head -n 1; }
has_nodes() {
	ibnetdiscover -C shib1 >/tmp/net 2>/dev/null
	[ "$(node_lid 'spine 0')" -gt 0 ] && [ "$(grep -c '^Ca.*"softhca aggregation node' /tmp/net)" = 6 ]
}
check nodes wait_for 60 has_nodes
node=$(node_lid 'spine 0')
reduce() { timeout $((100 * slow)) "$test_programs/reduce-test" "$node" "$order" "$@" "${devices[@]}"; }
check all_operations reduce 1 0

# ---- bytes on the cables of hosts
for leaf in 0 1 2 3; do
	leaves[leaf]=$(sed -n "s/^Switch.*\"leaf $leaf\" enhanced port 0 lid \([0-9]*\) .*/\1/p" /tmp/net)
done
# words : that each leaf has sent to, and received from, each of its hosts
words() {
	local lid port
	for lid in "${leaves[@]}"; do
		for port in 1 2; do
			perfquery -C shib1 -x "$lid" $port | sed -n 's/^Port\(Xmit\|Rcv\)Data:\.*//p'
		done
	done
}
# most COMMAND... : prints the most words that a cable has carried either way meanwhile (of OpenSM and these queries, too)
most() {
	local before after i most=0
	mapfile -t before < <(words)
	"$@" >&2 || return
	mapfile -t after < <(words)
	[ ${#after[@]} = 16 ] || return
	for i in "${!after[@]}"; do
		[ $((after[i] - before[i])) -le $most ] || most=$((after[i] - before[i]))
	done
	echo $most
}
# (A ring of eight sends 2 * 7/8 of the array over each cable, each way: 1,835,008 bytes. This has six tenths of that at most.)
few() {
	local carried
	carried=$(most "$@") && echo "# $((4 * carried)) bytes on the busiest cable of a host" &&
		[ "$carried" -gt 0 ] && [ "$((4 * carried))" -le $((6 * 1835008 / 10)) ]
}
check bytes few reduce 262144 1

# ---- loss
run ask lose 'leaf 2' 1 100
check loss reduce 262144 3
run ask lose 'leaf 2' 1 0

# ---- members that die
die() {
	reduce 262144 100000 >/tmp/reduce.out 2>&1 &
	local victim=$!
	# (it has sent for a while)
	wait_for 30 sent || return
	kill -KILL "$(pgrep -x reduce-test)"
	! wait $victim
}
sent() { [ "$(attribute shib8 counters/port_xmit_packets)" -gt $((packets + 1000)) ]; }
for n in 1 2 3; do
	packets=$(attribute shib8 counters/port_xmit_packets)
	check die.$n die
done
check after_deaths reduce 1000 5

# ---- beside MPI
if command -v mpirun >/dev/null && compgen -G '/usr/lib/*/ucx/libuct_ib.so*' >/dev/null; then
	cat >/tmp/rank <<'END'
#!/bin/sh
export UCX_NET_DEVICES=shib$((OMPI_COMM_WORLD_RANK + 1)):1 UCX_TLS=ud_v,self
exec python3 "$@"
END
	chmod +x /tmp/rank
	beside_mpi() {
		timeout $((200 * slow)) mpirun --allow-run-as-root --oversubscribe -np 8 --mca pml ucx /tmp/rank \
			/usr/local/share/softhca/examples/mpi-reduce.py /usr/local/lib/libsofthca-reduce.so.1 "$node" \
			"$(IFS=,; echo "${devices[*]}")" "$@" | tee /tmp/mpi.out
		grep -q 'equal: .* 8 ranks' /tmp/mpi.out
	}
	check mpi beside_mpi 20000 2
fi

opensm_is_content() { ! opensm_errors '' | grep .; }
check opensm opensm_is_content
check fabric_lives kill -0 $fabric
