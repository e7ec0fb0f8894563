// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Lanes and turns. A table is a ring of entries: a lane and its weight. The entry that
 * has its turn sends until its weight is used up, or its lane has nothing to send. The
 * last packet may take more than is left, so that a weight smaller than a packet is
 * worth a packet (IBTA 7.6.9.2).
 */
#include "ib_lanes.h"

/* Of each lane, before a manager says something else: some packets. */
#define WEIGHT		128
#define HIGH_UNIT	4096
#define HIGH_ALL	255

void shca_ib_lanes_init(struct shca_ib_lanes *lanes, u8 code)
{
	u32 i;

	memset(lanes, 0, sizeof(*lanes));
	lanes->code = code;
	for (i = 0; i < shca_ib_lanes_nr(code); i++)
		lanes->arb[SHCA_IB_ARB_LOW][i] = (struct shca_ib_arb_entry){
			.vl = i,
			.weight = WEIGHT,
		};
	for (i = 0; i < SHCA_IB_SLS; i++)
		lanes->sl2vl[i] = i % shca_ib_lanes_nr(code);
}

u8 shca_ib_lane_of(const struct shca_ib_lanes *lanes, u8 sl)
{
	u32 nr = shca_ib_lanes_nr(lanes->code);

	if (!lanes->is_mapped)
		return sl % nr;
	return lanes->sl2vl[sl] < nr ? lanes->sl2vl[sl] : SHCA_IB_NO_LANE;
}

/* ---- turns ------------------------------------------------------------------ */

static s32 high_limit(const struct shca_ib_lanes *lanes)
{
	return lanes->high_limit * HIGH_UNIT;
}

void shca_ib_arb_init(struct shca_ib_arb *arb,
		      const struct shca_ib_lanes *lanes)
{
	u32 i;

	for (i = 0; i < SHCA_IB_ARB_TABLES; i++) {
		arb->at[i] = 0;
		arb->left[i] = lanes->arb[i][0].weight;
	}
	arb->high_left = high_limit(lanes);
}

/* Return: the lane of the entry that has its turn, which moves on to it. */
static u8 table_next(struct shca_ib_arb *arb, const struct shca_ib_lanes *lanes,
		     enum shca_ib_arb_table table,
		     const u32 blocks[SHCA_IB_LANES])
{
	const struct shca_ib_arb_entry *entry;
	u32 i;

	/* All others, and again the one that was first, with its weight renewed. */
	for (i = 0; i <= SHCA_IB_ARB_ENTRIES; i++) {
		entry = &lanes->arb[table][arb->at[table]];
		if (arb->left[table] > 0 && entry->vl < SHCA_IB_LANES &&
		    blocks[entry->vl])
			return entry->vl;
		arb->at[table] = (arb->at[table] + 1) % SHCA_IB_ARB_ENTRIES;
		arb->left[table] = lanes->arb[table][arb->at[table]].weight;
	}
	return SHCA_IB_NO_LANE;
}

u8 shca_ib_arb_next(struct shca_ib_arb *arb, const struct shca_ib_lanes *lanes,
		    const u32 blocks[SHCA_IB_LANES])
{
	u8 high = table_next(arb, lanes, SHCA_IB_ARB_HIGH, blocks);
	u8 low = table_next(arb, lanes, SHCA_IB_ARB_LOW, blocks);

	/* A limit of 0 is one packet: it is used up by the one before. */
	if (high != SHCA_IB_NO_LANE &&
	    (low == SHCA_IB_NO_LANE || lanes->high_limit == HIGH_ALL ||
	     arb->high_left >= 0)) {
		arb->left[SHCA_IB_ARB_HIGH] -= blocks[high];
		arb->high_left -= blocks[high] * SHCA_IB_BLOCK;
		/* Nobody waits for the end of it. */
		if (low == SHCA_IB_NO_LANE)
			arb->high_left = high_limit(lanes);
		return high;
	}
	arb->high_left = high_limit(lanes);
	if (low != SHCA_IB_NO_LANE)
		arb->left[SHCA_IB_ARB_LOW] -= blocks[low];
	return low;
}
