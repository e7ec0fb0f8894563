#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The static rate of a path, between two devices and on one. Below the rate of the port, which
# is the netdev's (veth: 10 Gbit/s), it makes packets; the rest takes the direct path as ever.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

make_pair 9000
verbs pair rate -d shca_a -p shca_b -f 4
run in_order $ns_a veth_a
run in_order $ns_b veth_b
verbs pair.uc rate -d shca_a -p shca_b -f 6 -q uc
verbs itself rate -d shca_a -f 6

# goes none|some TEST... : so many packets on the direct path
goes() {
	local way=$1 before
	before=$(counter shca_a tx_direct_packets)
	"$test_programs/rate" -d shca_a -f 4 "${@:2}" || return 1
	before=$(($(counter shca_a tx_direct_packets) - before))
	echo "direct packets: $before"
	case $way in
	none) [ "$before" = 0 ] ;;
	some) [ "$before" -gt 0 ] ;;
	esac
}
check rate_makes_packets goes none requests_at_the_rate responses_at_the_rate datagrams_at_the_rate
check highest_rate_does_not goes some highest_rate_is_none
check others_go_on goes some datagrams_of_several_rates_keep_their_order
