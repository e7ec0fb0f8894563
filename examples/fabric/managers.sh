#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The subnet manager dies: without another one, and with one in standby.
#
# What to look at:
#   - data goes on without a manager: switches have their tables
#   - but nobody repairs anything. A cable that is cut stops the traffic for good, and one that is
#     plugged in again stays in Initialize
#   - a manager in standby asks the master whether it is there (SMInfo, every polling time-out), and
#     takes over when there is no answer; then the cable is repaired (sminfo shows who is master)
#   - a manager of a higher priority takes over from one that lives (handover)
#
#   managers.sh
. "$(dirname "$0")/lib.sh"

a='ring 0 host 0' b='ring 1 host 0' c='ring 2 host 0' d='ring 3 host 0'
# master : where it is, as a program at the last host finds it
master() { at "$d" sminfo 2>"$work/why" | sed -n 's/.*sm guid \(0x[0-9a-f]*\), .*priority \([0-9]*\) .*_MASTER.*/\1 of priority \2/p'; }
is_in_standby_again() { [ "$(grep -ci 'entering standby' "$work/$c.log")" = 2 ]; }
is_master() { [ "$(master)" = "$1" ]; }

fabric --ring=4
conf=$(config sminfo_polling_timeout=300 polling_retry_number=2)
manager "$a" -F "$conf" -p 5 -s 600
first=$manager
ask send "$a" 1 "$b" mb=1
arrives "$a"
echo "master: $(master)"
die "$first"
arrives "$a"
echo 'it is dead: packets arrive'
ask cut 'ring 0' 2
before=$(arrived "$a")
sleep 1
echo "a cable is cut: $(($(arrived "$a") - before)) packets arrive in a second"

manager "$b" -F "$conf" -p 5 -s 600
second=$manager
arrives "$a"
echo "another one begins: packets arrive; master: $(master)"
manager "$c" -F "$conf" -p 4 -s 600
echo "a third one of priority 4: in standby; master: $(master)"
die "$second"
wait_for 20 is_master '0x100005 of priority 4'
ask mend 'ring 0' 2
wait_for 20 has state Active 'ring 0' 2
echo "the second one is dead; master: $(master); a cable that is plugged in is $(value state 'ring 0' 2)"
manager "$d" -F "$conf" -p 9 -s 600
wait_for 20 is_master '0x100007 of priority 9'
wait_for 20 is_in_standby_again
echo "a fourth one of priority 9; master: $(master); the third one is in standby"
