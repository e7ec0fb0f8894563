// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Lanes and turns. A table is a ring of entries: a lane and its weight. The entry that has its turn
 * sends until its weight is used up, or its lane has nothing to send. The last packet may take more
 * than is left, so a weight smaller than a packet is worth a packet (IBTA 7.6.9.2).
 *
 * A batch of packets leaves as a whole. If it takes more than one turn, the entry misses later
 * turns for it, so batches share a link as their packets would.
 */
#include "ib_lanes.h"

/* The weight of each lane until a subnet manager sets another: some packets. */
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
}

/* ---- lanes of service levels ------------------------------------------------ */

void shca_ib_sl2vl_set(struct shca_ib_sl2vl *map, const u8 *data)
{
	map->is_set = true;
	memcpy(map->vl, data, sizeof(map->vl));
}

void shca_ib_sl2vl_get(const struct shca_ib_sl2vl *map, u8 *data)
{
	static const u8 in_turn[] = { 0x01, 0x23, 0x45, 0x67, 0x01, 0x23, 0x45, 0x67 };

	memcpy(data, map->is_set ? map->vl : in_turn, sizeof(map->vl));
}

u8 shca_ib_lane_of(const struct shca_ib_sl2vl *map, u8 code, u8 sl)
{
	u32 nr = shca_ib_lanes_nr(code);
	u8 lane;

	if (!map->is_set)
		return sl % nr;
	lane = map->vl[sl / 2] >> (sl & 1 ? 0 : 4) & 0xf;
	return lane < nr ? lane : SHCA_IB_NO_LANE;
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
	memset(arb->debt, 0, sizeof(arb->debt));
	arb->high_left = high_limit(lanes);
}

static bool has_turn(const struct shca_ib_arb_entry *entry,
		     const u32 blocks[SHCA_IB_LANES])
{
	return entry->weight && entry->vl < SHCA_IB_LANES && blocks[entry->vl];
}

/* The next entry begins its turn, less what it has sent in advance. */
static void table_advance(struct shca_ib_arb *arb,
			  const struct shca_ib_lanes *lanes,
			  enum shca_ib_arb_table table,
			  const u32 blocks[SHCA_IB_LANES],
			  const u32 packet[SHCA_IB_LANES])
{
	u8 at = (arb->at[table] + 1) % SHCA_IB_ARB_ENTRIES;
	const struct shca_ib_arb_entry *entry = &lanes->arb[table][at];
	s32 *debt = &arb->debt[table][at], turn;

	arb->at[table] = at;
	arb->left[table] = entry->weight;
	if (likely(!*debt))
		return;
	/* A lane that lets others pass has paid. */
	if (!has_turn(entry, blocks)) {
		*debt = 0;
		return;
	}
	/* a turn in whole packets */
	turn = DIV_ROUND_UP(entry->weight, packet[entry->vl]) *
	       packet[entry->vl];
	arb->left[table] -= min_t(s32, *debt, turn);
	*debt -= min_t(s32, *debt, turn);
}

/* Move the turn on to the next entry that can send. Return: its lane. */
static u8 table_next(struct shca_ib_arb *arb, const struct shca_ib_lanes *lanes,
		     enum shca_ib_arb_table table,
		     const u32 blocks[SHCA_IB_LANES],
		     const u32 packet[SHCA_IB_LANES])
{
	const struct shca_ib_arb_entry *entry;
	bool any = false;
	u32 i;

	for (i = 0; i < SHCA_IB_ARB_ENTRIES; i++)
		any = any || has_turn(&lanes->arb[table][i], blocks);
	if (!any)
		return SHCA_IB_NO_LANE;
	/* Each round pays for a packet of a batch at least, so this ends. */
	for (;;) {
		entry = &lanes->arb[table][arb->at[table]];
		if (arb->left[table] > 0 && has_turn(entry, blocks))
			return entry->vl;
		table_advance(arb, lanes, table, blocks, packet);
	}
}

static void table_take(struct shca_ib_arb *arb, enum shca_ib_arb_table table,
		       u32 blocks, u32 packet)
{
	s32 over;

	arb->left[table] -= blocks;
	over = -arb->left[table];
	/* Less than a packet is forgiven. */
	if (over >= (s32)packet)
		arb->debt[table][arb->at[table]] = over;
}

/* A lane in neither table sends when nobody else does. */
static u8 any_lane(const u32 blocks[SHCA_IB_LANES])
{
	u8 lane;

	for (lane = 0; lane < SHCA_IB_LANES; lane++)
		if (blocks[lane])
			return lane;
	return SHCA_IB_NO_LANE;
}

u8 shca_ib_arb_next(struct shca_ib_arb *arb, const struct shca_ib_lanes *lanes,
		    const u32 blocks[SHCA_IB_LANES],
		    const u32 packet[SHCA_IB_LANES])
{
	u8 high = table_next(arb, lanes, SHCA_IB_ARB_HIGH, blocks, packet);
	u8 low = table_next(arb, lanes, SHCA_IB_ARB_LOW, blocks, packet);

	/* With a limit of 0, one packet uses it up. */
	if (high != SHCA_IB_NO_LANE &&
	    (low == SHCA_IB_NO_LANE || lanes->high_limit == HIGH_ALL ||
	     arb->high_left >= 0)) {
		table_take(arb, SHCA_IB_ARB_HIGH, blocks[high], packet[high]);
		arb->high_left -= blocks[high] * SHCA_IB_BLOCK;
		/* No low lane waits. */
		if (low == SHCA_IB_NO_LANE)
			arb->high_left = high_limit(lanes);
		return high;
	}
	arb->high_left = high_limit(lanes);
	if (low == SHCA_IB_NO_LANE)
		return any_lane(blocks);
	table_take(arb, SHCA_IB_ARB_LOW, blocks[low], packet[low]);
	return low;
}
