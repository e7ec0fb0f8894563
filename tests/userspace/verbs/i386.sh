#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# A process of 32 bits and one of 64 bits exchange messages. A guest test that tests/userspace/verbs/i386
# brings along; /usr/local/bin has the programs of 32 bits, /usr/bin those of 64 bits.
# shellcheck source=tests/guest/lib.sh
. "$(dirname "$0")/../lib.sh"

is() { [ "$(od -An -j 4 -N 1 -t u1 "$1" | xargs)" = "$2" ]; }
run is /usr/local/bin/ibv_rc_pingpong 1
run is /usr/bin/ibv_rc_pingpong 2
run is "$test_programs/rc_data" 1

make_pair 1500
gid_a=$(gid_index shca_a $ip4_a) gid_b=$(gid_index shca_b $ip4_b)
for path in auto wire; do
	run in_a softhca dev set shca_a path $path
	run in_b softhca dev set shca_b path $path
	for kind in rc uc ud srq; do
		for bits in local/bin:bin bin:local/bin local/bin:local/bin; do
			name=${bits//local\/bin/32} name=${name//bin/64}
			check "$path.$kind.${name/:/_to_}" between_pair "/usr/${bits#*:}/ibv_${kind}_pingpong" -c -n 50 -s 2048 -d shca_b -g "$gid_b" -- \
				"/usr/${bits%:*}/ibv_${kind}_pingpong" -c -n 50 -s 2048 -d shca_a -g "$gid_a" ADDRESS
		done
	done
done
