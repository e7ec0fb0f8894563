#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Two hosts have one GUID: somebody has written the firmware of one adapter to another one. The
# second host is plugged in while the fabric works.
#
# What to look at:
#   - OpenSM writes ERR 0D01 with the GUID, and the switches and ports at which it has found it
#   - it begins its sweep again and again, and ends none: no port becomes Active, and no change is
#     obeyed, anywhere in the fabric. What has worked before still works
#   - ibnetdiscover and iblinkinfo show one of the two hosts only
#   - pulling out the cable ends it
#
#   duplicate-guid.sh
. "$(dirname "$0")/lib.sh"

a='ring 0 host 0' b='ring 1 host 0'
# The host at 'ring 2' is a copy of that at 'ring 1', and the one at 'ring 3' another newcomer.
softhca-fabric --write --ring=4 >"$work/ring"
sed '/^caguid=0x100004$/s/.*/caguid=0x100002/; s/(100005)/(100003)/' "$work/ring" >"$work/topology"

fabric "$work/topology"
ask cut 'ring 2' 1
ask cut 'ring 3' 1
manager "$a" -s 600
ask send "$a" 1 "$b" mb=1
arrives "$a"
sweeps() { grep -c 'SUBNET UP' "$work/$a.log" || :; }
duplicates() { grep -c 'ERR 0D01: Found duplicated node GUID' "$work/$a.log" || :; }
goes_round() { [ "$(duplicates)" -ge 20 ]; }
is_swept() { [ "$(sweeps)" -gt "$1" ]; }
before=$(sweeps)
echo "without the second host: $(duplicates) duplicates in OpenSM's log"

ask mend 'ring 2' 1
wait_for 20 goes_round
ask mend 'ring 3' 1
arrives "$a"
echo "with it: $(grep -A 1 -m 1 'ERR 0D01' "$work/$a.log" | tail -n 1)"
echo "  and so again and again; sweeps since then: $(($(sweeps) - before)); packets arrive"
echo "  another host is plugged in, and stays in $(value state 'ring 3' 1)"
echo "  hosts with this GUID in ibnetdiscover: $(at "$a" ibnetdiscover 2>"$work/why" | grep -c '^caguid=0x100002' || :)"

ask cut 'ring 2' 1
wait_for 20 has state Active 'ring 3' 1
echo "pulled out: the other host is $(value state 'ring 3' 1), $(is_swept "$before" && echo 'as sweeps end again')"
