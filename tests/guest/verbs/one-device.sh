#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The verbs on one device with itself: data, errors, states, events, objects;
# then data and errors again as packets.
#
# timeout: 900
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

make_pair 9000
for program in objects qp_states cq_events queue_events rc_errors rc_data; do
	verbs auto "$program" -d shca_a -f 4
done
verbs auto ud_data -d shca_a -f 4
verbs auto.ipv6 ud_data -d shca_a -f 6
verbs auto.ipv6 ud -d shca_a -f 6
run in_a softhca dev set shca_a path wire
for program in cq_events queue_events ud_data ud rc_errors rc_data; do
	verbs wire "$program" -d shca_a -f 6
done

# UC sends without being told what gets lost: as packets, its messages are shorter
# than a queue of the network, and a packet that overtakes another ends a message.
run in_order $ns_a lo
verbs wire.uc rc_errors -d shca_a -f 4 -q uc
verbs wire.uc rc_data -d shca_a -f 4 -q uc -m 20000
run in_a softhca dev set shca_a path auto
verbs auto.uc rc_errors -d shca_a -f 6 -q uc
verbs auto.uc rc_data -d shca_a -f 6 -q uc
