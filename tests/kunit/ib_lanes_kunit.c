// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Which lane has its turn: weights, the limit of the high table, lanes that wait. */
#include "fixture.h"

#include "../../kernel/ib/core/ib_lanes.h"

/*
 * struct fx_turns - lanes that have as much to send as @blocks, again and again
 * @most:	blocks of a packet; what is longer is a batch
 */
struct fx_turns {
	struct shca_ib_lanes lanes;
	struct shca_ib_arb arb;
	u32 blocks[SHCA_IB_LANES];
	u32 most;
	u32 sent[SHCA_IB_LANES];
};

static struct fx_turns *fx_turns(struct kunit *test)
{
	struct fx_turns *fx = kunit_kzalloc(test, sizeof(*fx), GFP_KERNEL);

	memset(fx, 0xff, sizeof(*fx));
	memset(fx->blocks, 0, sizeof(fx->blocks));
	shca_ib_lanes_init(&fx->lanes, 4);
	memset(fx->lanes.arb, 0, sizeof(fx->lanes.arb));
	fx->most = 66;
	return fx;
}

static void entry(struct fx_turns *fx, u32 table, u32 i, u8 vl, u8 weight)
{
	fx->lanes.arb[table][i].vl = vl;
	fx->lanes.arb[table][i].weight = weight;
}

static u8 next(struct fx_turns *fx)
{
	u32 packet[SHCA_IB_LANES], i;

	for (i = 0; i < SHCA_IB_LANES; i++)
		packet[i] = min_t(u32, fx->blocks[i], fx->most);
	return shca_ib_arb_next(&fx->arb, &fx->lanes, fx->blocks, packet);
}

/* Blocks that each lane sends in @turns. */
static void take_turns(struct fx_turns *fx, u32 turns)
{
	u8 lane;

	memset(fx->sent, 0, sizeof(fx->sent));
	shca_ib_arb_init(&fx->arb, &fx->lanes);
	while (turns--) {
		lane = next(fx);
		if (lane < SHCA_IB_LANES)
			fx->sent[lane] += fx->blocks[lane];
	}
}

static void lanes_are_equal_at_first(struct kunit *test)
{
	struct fx_turns *fx = fx_turns(test);
	u32 i;

	shca_ib_lanes_init(&fx->lanes, 3);
	for (i = 0; i < SHCA_IB_LANES; i++)
		fx->blocks[i] = 1;
	take_turns(fx, 4 * 128);
	for (i = 0; i < SHCA_IB_LANES; i++)
		KUNIT_EXPECT_EQ(test, fx->sent[i], i < 4 ? 128u : 0u);
}

static void weights_share(struct kunit *test)
{
	struct fx_turns *fx = fx_turns(test);

	entry(fx, SHCA_IB_ARB_LOW, 0, 0, 10);
	entry(fx, SHCA_IB_ARB_LOW, 5, 1, 30);
	/* (one that is skipped, a lane that does not exist, and lane 15) */
	entry(fx, SHCA_IB_ARB_LOW, 6, 2, 0);
	entry(fx, SHCA_IB_ARB_LOW, 7, 9, 255);
	entry(fx, SHCA_IB_ARB_LOW, 8, 15, 255);
	fx->blocks[0] = 1;
	fx->blocks[1] = 1;
	fx->blocks[2] = 1;
	take_turns(fx, 400);
	KUNIT_EXPECT_EQ(test, fx->sent[0], 100u);
	KUNIT_EXPECT_EQ(test, fx->sent[1], 300u);
	KUNIT_EXPECT_EQ(test, fx->sent[2], 0u);
	/* Two entries of one lane add up. */
	entry(fx, SHCA_IB_ARB_LOW, 9, 0, 20);
	take_turns(fx, 600);
	KUNIT_EXPECT_EQ(test, fx->sent[0], 300u);
	KUNIT_EXPECT_EQ(test, fx->sent[1], 300u);
	/* A weight is worth a packet at least, and the last one may be too long. */
	fx->blocks[0] = 66;
	fx->blocks[1] = 16;
	entry(fx, SHCA_IB_ARB_LOW, 9, 0, 0);
	take_turns(fx, 300);
	KUNIT_EXPECT_EQ(test, fx->sent[0], 66u * 100);
	KUNIT_EXPECT_EQ(test, fx->sent[1], 32u * 100);
}

/* A batch counts as its packets would. What it has in advance, it waits for. */
static void batches_share_as_packets(struct kunit *test)
{
	static const struct {
		u32 blocks[2];
		u32 turns, sent[2];	/* batches */
	} rows[] = {
		{ { 65 * 15, 65 * 15 }, 400, { 100, 300 } },
		{ { 65 * 15, 65 }, 460, { 10, 450 } },
		{ { 65, 65 * 15 }, 240, { 200, 40 } },
	};
	struct fx_turns *fx = fx_turns(test);
	u32 i, lane;

	fx->most = 65;
	entry(fx, SHCA_IB_ARB_LOW, 0, 0, 64);
	entry(fx, SHCA_IB_ARB_LOW, 1, 1, 192);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		memcpy(fx->blocks, rows[i].blocks, sizeof(rows[i].blocks));
		take_turns(fx, rows[i].turns);
		for (lane = 0; lane < 2; lane++) {
			u32 sent = fx->sent[lane] / fx->blocks[lane];

			/* (the last one may be in advance) */
			KUNIT_EXPECT_GE(test, sent + 5, rows[i].sent[lane]);
			KUNIT_EXPECT_LE(test, sent, rows[i].sent[lane] + 5);
		}
	}
	/* A lane that was empty meanwhile owes nothing. */
	fx->blocks[0] = 65 * 60;
	fx->blocks[1] = 65;
	take_turns(fx, 2);
	KUNIT_EXPECT_EQ(test, fx->sent[0], 65u * 60);
	fx->blocks[0] = 0;
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, next(fx), 1);
	fx->blocks[0] = 65;
	for (i = 0; i < 3 && next(fx); i++)
		;
	KUNIT_EXPECT_LT(test, i, 3u);
}

/* A lane in neither table takes what others leave. */
static void lane_without_weight_is_last(struct kunit *test)
{
	struct fx_turns *fx = fx_turns(test);

	entry(fx, SHCA_IB_ARB_LOW, 0, 1, 1);
	fx->blocks[1] = 66;
	fx->blocks[2] = 1;
	take_turns(fx, 10);
	KUNIT_EXPECT_EQ(test, fx->sent[1], 660u);
	fx->blocks[1] = 0;
	KUNIT_EXPECT_EQ(test, next(fx), 2);
}

/* A lane that has nothing to send, or no credit, does not keep others waiting. */
static void lanes_that_wait_are_passed(struct kunit *test)
{
	struct fx_turns *fx = fx_turns(test);

	entry(fx, SHCA_IB_ARB_LOW, 31, 3, 2);
	fx->blocks[3] = 1;
	take_turns(fx, 5);
	KUNIT_EXPECT_EQ(test, fx->sent[3], 5u);
	entry(fx, SHCA_IB_ARB_LOW, 0, 0, 255);
	take_turns(fx, 5);
	KUNIT_EXPECT_EQ(test, fx->sent[3], 5u);
	fx->blocks[3] = 0;
	KUNIT_EXPECT_EQ(test, next(fx),
			SHCA_IB_NO_LANE);
	fx->blocks[0] = 1;
	KUNIT_EXPECT_EQ(test, next(fx), 0);
}

static void high_table_goes_first(struct kunit *test)
{
	static const struct {
		u8 limit;
		u32 high, low;	/* of 120 turns with packets of 1 KiB */
	} rows[] = {
		{ 0, 60, 60 },		/* one packet */
		{ 1, 100, 20 },		/* 4 KiB, and the packet that uses it up */
		{ 255, 120, 0 },
	};
	struct fx_turns *fx = fx_turns(test);
	u32 i;

	entry(fx, SHCA_IB_ARB_HIGH, 0, 5, 1);
	entry(fx, SHCA_IB_ARB_LOW, 0, 2, 1);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		fx->lanes.high_limit = rows[i].limit;
		fx->blocks[2] = 16;
		fx->blocks[5] = 16;
		take_turns(fx, 120);
		KUNIT_EXPECT_EQ(test, fx->sent[5], rows[i].high * 16);
		KUNIT_EXPECT_EQ(test, fx->sent[2], rows[i].low * 16);
		/* Alone, each sends all. */
		fx->blocks[2] = 0;
		take_turns(fx, 120);
		KUNIT_EXPECT_EQ(test, fx->sent[5], 120u * 16);
		fx->blocks[2] = 16;
		fx->blocks[5] = 0;
		take_turns(fx, 120);
		KUNIT_EXPECT_EQ(test, fx->sent[2], 120u * 16);
	}
}

static void turns_begin_with_the_first_entries(struct kunit *test)
{
	struct fx_turns *fx = fx_turns(test);
	u32 table;

	shca_ib_lanes_init(&fx->lanes, 3);
	KUNIT_EXPECT_EQ(test, fx->lanes.arb[SHCA_IB_ARB_LOW][4].weight, 0);
	fx->lanes.high_limit = 3;
	for (table = 0; table < SHCA_IB_ARB_TABLES; table++) {
		entry(fx, table, 0, 0, 10 + table);
		entry(fx, table, 1, 1, 20);
	}
	shca_ib_arb_init(&fx->arb, &fx->lanes);
	for (table = 0; table < SHCA_IB_ARB_TABLES; table++) {
		KUNIT_EXPECT_EQ(test, fx->arb.at[table], 0);
		KUNIT_EXPECT_EQ(test, fx->arb.left[table], 10 + table);
	}
	KUNIT_EXPECT_EQ(test, fx->arb.high_left, 3 * 4096);
}

/* Lane 0 needs no entry, and lane 8 does not exist. */
static void lanes_are_0_to_7(struct kunit *test)
{
	struct fx_turns *fx = fx_turns(test);

	fx->blocks[0] = 1;
	take_turns(fx, 1);
	KUNIT_EXPECT_EQ(test, fx->sent[0], 1u);
	entry(fx, SHCA_IB_ARB_LOW, 0, 8, 255);
	entry(fx, SHCA_IB_ARB_LOW, 1, 0, 1);
	take_turns(fx, 5);
	KUNIT_EXPECT_EQ(test, fx->sent[0], 5u);
}

/* A packet too many is in advance, and is waited for. */
static void batch_of_a_packet_too_many_waits(struct kunit *test)
{
	struct fx_turns *fx = fx_turns(test);

	fx->most = 10;
	entry(fx, SHCA_IB_ARB_LOW, 0, 0, 10);
	entry(fx, SHCA_IB_ARB_LOW, 1, 1, 10);
	fx->blocks[0] = 20;
	fx->blocks[1] = 10;
	take_turns(fx, 300);
	KUNIT_EXPECT_EQ(test, fx->sent[0], 2000u);
	KUNIT_EXPECT_EQ(test, fx->sent[1], 2000u);
}

/* What it had in advance is forgotten, all of it. */
static void lane_that_was_passed_has_its_whole_turn(struct kunit *test)
{
	struct fx_turns *fx = fx_turns(test);
	u32 i;

	entry(fx, SHCA_IB_ARB_LOW, 0, 0, 64);
	entry(fx, SHCA_IB_ARB_LOW, 1, 1, 1);
	fx->blocks[0] = 66 * 60;
	fx->blocks[1] = 1;
	take_turns(fx, 1);
	KUNIT_EXPECT_EQ(test, fx->sent[0], 66u * 60);
	fx->blocks[0] = 0;
	KUNIT_EXPECT_EQ(test, next(fx), 1);
	KUNIT_EXPECT_EQ(test, next(fx), 1);
	fx->blocks[0] = 1;
	for (i = 0; i < 64; i++)
		KUNIT_EXPECT_EQ(test, next(fx), 0);
	KUNIT_EXPECT_EQ(test, next(fx), 1);
}

static void high_table_has_weights(struct kunit *test)
{
	struct fx_turns *fx = fx_turns(test);

	fx->lanes.high_limit = 255;
	entry(fx, SHCA_IB_ARB_HIGH, 0, 5, 10);
	entry(fx, SHCA_IB_ARB_HIGH, 1, 6, 30);
	fx->blocks[5] = 1;
	fx->blocks[6] = 1;
	take_turns(fx, 400);
	KUNIT_EXPECT_EQ(test, fx->sent[5], 100u);
	KUNIT_EXPECT_EQ(test, fx->sent[6], 300u);
}

/* 255 is no number of 4 KiB, and 254 is one: 1016 packets, and one that uses it up. */
static void high_limit_of_255_is_none(struct kunit *test)
{
	struct fx_turns *fx = fx_turns(test);

	entry(fx, SHCA_IB_ARB_HIGH, 0, 5, 1);
	entry(fx, SHCA_IB_ARB_LOW, 0, 2, 1);
	fx->blocks[2] = 16;
	fx->blocks[5] = 16;
	fx->lanes.high_limit = 255;
	take_turns(fx, 3000);
	KUNIT_EXPECT_EQ(test, fx->sent[2], 0u);
	fx->lanes.high_limit = 254;
	take_turns(fx, 1018);
	KUNIT_EXPECT_EQ(test, fx->sent[2], 16u);
}

/* The limit is for a low table that waits: what was sent while it did not counts not. */
static void high_limit_begins_with_who_waits(struct kunit *test)
{
	struct fx_turns *fx = fx_turns(test);
	u32 i;

	fx->lanes.high_limit = 1;
	entry(fx, SHCA_IB_ARB_HIGH, 0, 5, 1);
	entry(fx, SHCA_IB_ARB_LOW, 0, 2, 1);
	fx->blocks[5] = 16;
	take_turns(fx, 10);
	fx->blocks[2] = 16;
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_EQ(test, next(fx), 5);
	/* it does not wait any more, and a lane without an entry is last */
	fx->blocks[2] = 0;
	fx->blocks[1] = 16;
	KUNIT_EXPECT_EQ(test, next(fx), 5);
}

static struct kunit_case ib_lanes_cases[] = {
	KUNIT_CASE(turns_begin_with_the_first_entries),
	KUNIT_CASE(lanes_are_0_to_7),
	KUNIT_CASE(batch_of_a_packet_too_many_waits),
	KUNIT_CASE(lane_that_was_passed_has_its_whole_turn),
	KUNIT_CASE(high_table_has_weights),
	KUNIT_CASE(high_limit_of_255_is_none),
	KUNIT_CASE(high_limit_begins_with_who_waits),
	KUNIT_CASE(lanes_are_equal_at_first),
	KUNIT_CASE(weights_share),
	KUNIT_CASE(batches_share_as_packets),
	KUNIT_CASE(lane_without_weight_is_last),
	KUNIT_CASE(lanes_that_wait_are_passed),
	KUNIT_CASE(high_table_goes_first),
	{}
};

static struct kunit_suite ib_lanes_suite = {
	.name = "softhca_ib_lanes",
	.test_cases = ib_lanes_cases,
};

kunit_test_suites(&ib_lanes_suite);
