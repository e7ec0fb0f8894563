#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# A rogue host sends packets of a partition that it is no member of: it has written the P_Key itself.
# OpenSM enforces partitions at the ports of switches, as it does by default.
#
# What to look at:
#   - the port of the switch in front of the rogue drops its packets where they arrive, and counts
#     PortRcvConstraintErrors. It names the rogue, and the packets go no further
#   - the switch sends trap 259 (bad P_Key at a switch port) with both LIDs, the P_Key and the port
#   - where OpenSM does not enforce (option -N), all of it arrives: a P_Key is no secret, and the
#     receiver looks only whether it has that key itself
#   - a member that is wrong about its peer harms nobody: a receiver without the key drops the
#     packets, and counts P_KeyViolations
#
#   pkey.sh [PACKETS]      (default: 100)
. "$(dirname "$0")/lib.sh"

packets=${1:-100} a='ring 0 host 0' b='ring 1 host 0' rogue='ring 2 host 0'
# guid HOST : of its port
guid() { softhca-fabric --write --ring=3 | sed -n "/^Ca.*\"$1\"/,/^\$/s/^\[1\](\([0-9a-f]*\)).*/0x\1/p"; }
# traffic FROM TO : sends packets with the P_Key of the partition, and says how many have arrived
traffic() {
	ask send "$1" 1 "$2" mb=20 pkey=0x8123 count="$packets"
	wait_for 60 all_sent "$1"
	echo "  $1 to $2: $(tell_flow "$1")"
}
# partition OPTION... : a fabric with a partition of two of the hosts
partition() {
	fabric --ring=3
	echo "Default=0x7fff : ALL, SELF=full; storage=0x0123 : $(guid "$a")=full, $(guid "$b")=full;" >"$work/partitions"
	manager "$a" -s 600 -P "$work/partitions" "$@"
}

echo 'enforced:'
partition
traffic "$a" "$b"
traffic "$rogue" "$b"
at "$a" ibqueryerrors 2>"$work/why" | sed -n 's/^ *GUID \(0x[0-9a-f]*\) port \([0-9]*\): /  \1 port \2: /p' || :
wait_for 20 grep -q 'num:259' "$work/$a.log"
echo "  OpenSM: $(grep -m 1 -o 'num:259 .*from LID:[0-9]*' "$work/$a.log"), which is $(value lid 'ring 2' 1)"
echo 'not enforced:'
partition -N
traffic "$rogue" "$b"
traffic "$b" "$rogue"
echo "  P_KeyViolations of $rogue: $(at "$a" smpquery portinfo "$(value lid "$rogue" 1)" 1 | sed -n 's/^PkeyViolations:\.*//p')"
