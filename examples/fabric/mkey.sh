#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# A rogue host without the M_Key takes a port down, and wants to be the subnet manager. Then OpenSM
# gives all nodes a key, at protection level 2.
#
# What to look at:
#   - without a key, one command of any host takes any port down
#   - with it, the rogue gets no answer, neither to a Set nor to a Get
#   - the node counts M_KeyViolations, and sends trap 256 (bad M_Key): method, attribute, and the LID
#     of the node, which names the victim. A rogue that asks by LID is in the trap itself (LIDADDR)
#   - a rogue manager, which has the highest priority, cannot even read its own port
#
#   mkey.sh
. "$(dirname "$0")/lib.sh"

a='ring 0 host 0' rogue='ring 2 host 0' key=0x1234567890abcdef
# disable : the rogue takes the port of a host down
disable() {
	if at "$rogue" ibportstate -t 200 "$(value lid 'ring 1' 1)" 1 disable >"$work/why" 2>&1; then echo obeyed; else echo refused; fi
}
# violations : of the key, at the switch
violations() { at "$a" smpquery -y $key portinfo "$(value lid 'ring 1' 1)" 0 | sed -n 's/^MkeyViolations:\.*//p'; }
has_trap() { grep -q "$1" "$work/$a.log"; }

fabric --ring=3
manager "$a" -s 600
echo "without a key: disable: $(disable); the port is $(value state 'ring 1' 1)"

fabric --ring=3
manager "$a" -s 600 -F "$(config m_key=$key m_key_protection_level=2 m_key_lease_period=0)"
before=$(violations)
echo "with a key: disable: $(disable); the port is $(value state 'ring 1' 1)"
echo "M_KeyViolations: $((before)), then $(violations)"
wait_for 20 has_trap 'num:256'
wait_for 20 has_trap 'Reporting Security Notice'
echo "OpenSM: $(sed -n 's/.*Reporting Security Notice \("Bad M_Key" from LID [0-9]*\).*\(Method [^,]*, Attribute [^,]*\).*/\1, \2/p' "$work/$a.log" | head -n 1)"
begin_manager "$rogue" -p 15 -s 600
rogue_gives_up() { grep -q 'Possible mis-set mkey' "$work/$rogue.log" && grep -qi 'SM port is down' "$work/$rogue.log"; }
wait_for 20 rogue_gives_up
echo "the rogue manager: $(sed -n 's/.*ERR 3120: //p' "$work/$rogue.log" | head -n 1)"
echo "master: $(at "$a" sminfo -y $key | sed -n 's/.*sm guid \(0x[0-9a-f]*\).*_MASTER/\1/p')"
