// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * VL arbitration (IBTA 7.6.9), for any tables, weights, turns and packets. What an entry sends in
 * advance is less than its batch (lanes_take), and each of its later turns pays a packet of it, or
 * it sends (lanes_advance). So the search for a turn ends, and nobody misses his turns for ever.
 */
#include "proof.h"
#include "ib/core/ib_lanes.c"

/* A batch at most: the window of the credits. */
#define BATCH	16384

/*
 * proof: lanes_take quick --unwind 1
 * planted: ib/core/ib_lanes.c: s/if (over >= (s32)packet)/if (true)/
 * planted: ib/core/ib_lanes.c: s/arb->left.table. -= blocks;/arb->left[table] = -(s32)blocks;/
 */
void lanes_take(void)
{
	u8 table = any_u8() % SHCA_IB_ARB_TABLES;
	u32 blocks = any_u32(), packet = any_u32();
	struct shca_ib_arb arb;
	s32 left, debt;

	assume(arb.at[table] < SHCA_IB_ARB_ENTRIES);
	assume(packet && packet <= blocks && blocks <= BATCH);
	left = arb.left[table];
	debt = arb.debt[table][arb.at[table]];
	assume(left > 0 && left <= 255 && debt >= 0 && debt < BATCH);
	table_take(&arb, table, blocks, packet);
	claim(arb.left[table] == left - (s32)blocks);
	/* (the last packet may take more than is left) */
	if (left > (s32)(blocks - packet))
		claim(arb.debt[table][arb.at[table]] == debt);
	claim(arb.debt[table][arb.at[table]] >= 0 && arb.debt[table][arb.at[table]] < BATCH);
}

/*
 * proof: lanes_advance slow --unwind 9
 * planted: ib/core/ib_lanes.c: s/DIV_ROUND_UP(entry->weight, /(entry->weight \/ /
 * planted: ib/core/ib_lanes.c: s/arb->left.table. = entry->weight;/arb->left[table] += entry->weight;/
 * planted: ib/core/ib_lanes.c: s/arb->at.table. + 1/arb->at[table] + 2/
 */
void lanes_advance(void)
{
	u8 table = any_u8() % SHCA_IB_ARB_TABLES, at, next;
	u32 blocks[SHCA_IB_LANES], packet[SHCA_IB_LANES];
	const struct shca_ib_arb_entry *entry;
	struct shca_ib_lanes lanes;
	struct shca_ib_arb arb;
	s32 debt, paid, length;
	u32 i;

	at = arb.at[table];
	assume(at < SHCA_IB_ARB_ENTRIES);
	next = (at + 1) % SHCA_IB_ARB_ENTRIES;
	entry = &lanes.arb[table][next];
	debt = any_u16() % BATCH;
	arb.debt[table][next] = debt;
	/* (the longest path MTU is 68 blocks; this is solved sooner than any_u32() with a bound) */
	for (i = 0; i < SHCA_IB_LANES; i++)
		packet[i] = any_u8();
	if (entry->vl < SHCA_IB_LANES)
		assume(packet[entry->vl]);
	table_advance(&arb, &lanes, table, blocks, packet);
	claim(arb.at[table] == next);
	paid = debt - arb.debt[table][next];
	claim(paid >= 0 && paid <= debt);
	if (!has_turn(entry, blocks)) {
		claim(paid == debt && arb.left[table] == entry->weight);
		return;
	}
	length = packet[entry->vl];
	claim(arb.left[table] == entry->weight - paid && arb.left[table] > -length);
	claim(paid == debt || paid >= length);
	/* whoever pays nothing has his turn */
	claim(paid || arb.left[table] > 0);
}
