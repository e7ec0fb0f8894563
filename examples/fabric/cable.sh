#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# A cable is cut, and then it flaps. In a ring of five switches there is a second way.
#
# What to look at:
#   - both ends of the cable are Down, and LinkDownedCounter of both has grown by one
#   - a switch sends trap 128, so OpenSM sweeps at once (-s 600: it would look by itself after ten
#     minutes), and ibtracert shows another way
#   - packets that were under way, or came before OpenSM was ready, are lost. A reliable connection
#     sends them again
#   - a cable that flaps looks well at any moment. LinkDownedCounter and OpenSM's log tell
#
#   cable.sh [FLAPS]      (default: 5)
. "$(dirname "$0")/lib.sh"

flaps=${1:-5} a='ring 0 host 0' b='ring 1 host 0'

# way : switches between the two hosts
way() { at "$a" ibtracert "$(value lid "$a" 1)" "$(value lid "$b" 1)" 2>"$work/why" | sed -n 's/.* -> switch.*"\(.*\)"/\1/p' | paste -sd ,; }
is_way() { [ "$(way)" = "$1" ]; }
# downs : LinkDownedCounter at both ends
downs() { at "$a" ibqueryerrors 2>"$work/why" | sed -n 's/.*port [0-9]*: .*\[LinkDownedCounter == \([0-9]*\).*/\1/p' | xargs; }
traps() { grep -c 'num:128 (Link state change)' "$work/$a.log"; }

fabric --ring=5
manager "$a" -s 600
ask send "$a" 1 "$b" mb=1
before=$(way)
echo "way: $before"

ask cut 'ring 0' 2
echo "cut: $(value state 'ring 0' 2), and $(value state 'ring 1' 3) at the other end; LinkDownedCounter $(downs)"
wait_for 20 is_way 'ring 0,ring 4,ring 3,ring 2,ring 1'
arrives "$a"
echo "another way: $(way); traffic goes on; $(value discards 'ring 0' 2) packets were lost"

ask mend 'ring 0' 2
wait_for 20 is_way "$before"
echo "mended; way: $(way)"
for ((i = 0; i < flaps; i++)); do
	ask cut 'ring 0' 2
	ask mend 'ring 0' 2
done
wait_for 20 is_way "$before"
wait_for 20 has state Active 'ring 0' 2
arrives "$a"
echo "after $flaps flaps: $(value state 'ring 0' 2); LinkDownedCounter $(downs); OpenSM has heard $(traps) traps 128"
