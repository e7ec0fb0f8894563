// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Credits of an InfiniBand link: the frame, and each bound alone. Then two ports with a
 * link between them that loses frames and packets, against what a model knows.
 */
#include "fixture.h"

#include "../../kernel/core/ib_credit.h"

#define LANES	SHCA_IB_LANES

static struct shca_ib_vcrc tables;

static void frame_both_ways(struct kunit *test)
{
	u8 built[SHCA_IB_SHIM_BYTES + SHCA_IB_CREDIT_BYTES];
	struct shca_ib_credit_frame frame = {
		.session = 0x01020304, .init = true, .sent = 0xa1a2,
		.received = 0xb1b2, .window = 0x0789,
	}, read;
	static const u8 at[] = { 6, 8, 10, 12, 13, 14, 55 };
	struct shca_ib_shim shim;
	u8 *body = built + SHCA_IB_SHIM_BYTES;
	u32 i;

	shca_ib_vcrc_init(&tables);
	for (i = 0; i < LANES; i++) {
		frame.lane[i].fctbs = 0x111 * i;
		frame.lane[i].fccl = 0xfff - i;
	}
	memset(built, 0xff, sizeof(built));
	KUNIT_EXPECT_EQ(test, shca_ib_credit_build(&frame, &tables, built),
			sizeof(built));
	KUNIT_EXPECT_EQ(test, built[0], 0x13);
	KUNIT_EXPECT_EQ(test, built[3], 56);
	KUNIT_EXPECT_EQ(test, body[0], 0xa1);
	KUNIT_EXPECT_EQ(test, body[3], 0xb2);
	KUNIT_EXPECT_EQ(test, body[5], 0x89);
	KUNIT_EXPECT_EQ(test, body[6], 8);
	/* lane 3: init, FCTBS 0x333, FCCL 0xffc */
	KUNIT_EXPECT_EQ(test, body[26], 0x13);
	KUNIT_EXPECT_EQ(test, body[27], 0x33);
	KUNIT_EXPECT_EQ(test, body[28], 0x3f);
	KUNIT_EXPECT_EQ(test, body[29], 0xfc);
	KUNIT_ASSERT_EQ(test, shca_ib_shim_parse(&shim, built, sizeof(built)),
			SHCA_IB_OK);
	memset(&read, 0xff, sizeof(read));
	KUNIT_ASSERT_EQ(test, shca_ib_credit_parse(&read, &tables, &shim, body),
			SHCA_IB_OK);
	KUNIT_EXPECT_EQ(test, read.session, 0x01020304u);
	KUNIT_EXPECT_TRUE(test, read.init);
	KUNIT_EXPECT_EQ(test, read.sent, 0xa1a2);
	KUNIT_EXPECT_EQ(test, read.received, 0xb1b2);
	KUNIT_EXPECT_EQ(test, read.window, 0x789);
	for (i = 0; i < LANES; i++) {
		KUNIT_EXPECT_EQ(test, read.lane[i].fctbs, 0x111 * i);
		KUNIT_EXPECT_EQ(test, read.lane[i].fccl, 0xfff - i);
	}
	/* Number of lanes, operation, lane, count, LPCRC. */
	for (i = 0; i < ARRAY_SIZE(at); i++) {
		body[at[i]] ^= 0x10;
		KUNIT_EXPECT_EQ(test, shca_ib_credit_parse(&read, &tables, &shim,
							   body), SHCA_IB_LENGTH);
		body[at[i]] ^= 0x10;
	}
	shim.len = 55;
	KUNIT_EXPECT_EQ(test, shca_ib_credit_parse(&read, &tables, &shim, body),
			SHCA_IB_SHORT);
	frame.init = false;
	shca_ib_credit_build(&frame, &tables, built);
	KUNIT_EXPECT_EQ(test, body[26], 0x03);
	shim.len = 56;
	KUNIT_ASSERT_EQ(test, shca_ib_credit_parse(&read, &tables, &shim, body),
			SHCA_IB_OK);
	KUNIT_EXPECT_FALSE(test, read.init);
}

/* What @to is told by @from; a frame that is not lost. */
static void tell(struct shca_ib_credits *from, struct shca_ib_credits *to)
{
	struct shca_ib_credit_frame frame;

	shca_ib_credits_tell(from, &frame);
	shca_ib_credits_hear(to, &frame, true);
}

static void begin(struct shca_ib_credits *a, struct shca_ib_credits *b)
{
	memset(a, 0xff, sizeof(*a));
	memset(b, 0xff, sizeof(*b));
	shca_ib_credits_init(a, true);
	shca_ib_credits_init(b, true);
	tell(a, b);
	tell(b, a);
}

/* Packets of so many blocks that may leave before one may not. */
static u32 send_all(struct shca_ib_credits *a, u8 lane, u32 blocks)
{
	u32 nr;

	for (nr = 0; shca_ib_credits_may(a, lane, blocks, 1); nr++)
		shca_ib_credits_take(a, lane, blocks, 1);
	return nr;
}

static bool arrives_one(struct shca_ib_credits *b, u8 lane, u32 blocks)
{
	return shca_ib_credits_arrived(b, lane, blocks, shca_ib_units(blocks, 1));
}

static void nothing_leaves_before_a_frame(struct kunit *test)
{
	struct shca_ib_credits a, b;

	shca_ib_credits_init(&a, true);
	shca_ib_credits_init(&b, true);
	KUNIT_EXPECT_FALSE(test, shca_ib_credits_may(&a, 0, 1, 1));
	tell(&b, &a);
	KUNIT_EXPECT_TRUE(test, shca_ib_credits_may(&a, 0, 1, 1));
	/* A peer without credits takes everything, and is told nothing. */
	shca_ib_credits_init(&a, false);
	KUNIT_EXPECT_EQ(test, a.heard, false);
	KUNIT_EXPECT_TRUE(test, shca_ib_credits_may(&a, 7, 4000, 1));
	KUNIT_EXPECT_FALSE(test, arrives_one(&a, 0, 4000));
}

/*
 * 384 of the smallest, 42 of the longest, of which one lane may send 31. What has arrived
 * makes room for as many.
 */
static void window_bounds_frames(struct kunit *test)
{
	static const struct {
		u32 blocks, lane, all, news;
	} rows[] = {
		{ 1, 384, 384, 192 }, { 66, 31, 42, 16 }, { 17, 120, 128, 61 },
	};
	struct shca_ib_credits a, b;
	u32 i, nr, blocks;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		begin(&a, &b);
		blocks = rows[i].blocks;
		KUNIT_EXPECT_EQ(test, send_all(&a, i, blocks), rows[i].lane);
		KUNIT_EXPECT_EQ(test, send_all(&a, 7, blocks),
				rows[i].all - rows[i].lane);
		/* They arrive; half of the window, or of a lane, is worth a frame. */
		for (nr = 1; !arrives_one(&b, i, blocks); nr++)
			KUNIT_ASSERT_GT(test, 200u, nr);
		KUNIT_EXPECT_EQ(test, nr, rows[i].news);
		tell(&b, &a);
		KUNIT_EXPECT_EQ(test, send_all(&a, 6, blocks), nr);
	}
	/* A batch is as much as its packets. */
	begin(&a, &b);
	KUNIT_EXPECT_TRUE(test, shca_ib_credits_may(&a, 0, 2048, 146));
	KUNIT_EXPECT_FALSE(test, shca_ib_credits_may(&a, 0, 2048, 147));
}

/* What a sender borrows has left, as far as others are told; the rest comes back. */
static void credit_is_lent(struct kunit *test)
{
	struct shca_ib_credits a, b;
	struct shca_ib_credit_frame frame;

	begin(&a, &b);
	KUNIT_EXPECT_EQ(test, send_all(&a, 1, 48), 42u);
	KUNIT_EXPECT_EQ(test, shca_ib_credits_lend(&a, 1), 2048u - 42 * 48);
	KUNIT_EXPECT_EQ(test, shca_ib_credits_lend(&a, 1), 0u);
	KUNIT_EXPECT_EQ(test, shca_ib_credits_lend_window(&a), 3072u - 42 * 55);
	KUNIT_EXPECT_EQ(test, shca_ib_credits_lend_window(&a), 0u);
	KUNIT_EXPECT_FALSE(test, shca_ib_credits_may(&a, 0, 1, 1));
	shca_ib_credits_back(&a, 1, 30);
	shca_ib_credits_back_window(&a, 700);
	KUNIT_EXPECT_TRUE(test, shca_ib_credits_may(&a, 1, 30, 1));
	KUNIT_EXPECT_FALSE(test, shca_ib_credits_may(&a, 1, 31, 1));
	KUNIT_EXPECT_FALSE(test, shca_ib_credits_may(&a, 0, 694, 1));
	shca_ib_credits_tell(&a, &frame);
	KUNIT_EXPECT_EQ(test, frame.sent, 3072 - 700);
	KUNIT_EXPECT_EQ(test, frame.lane[1].fctbs, 2048 - 30);
	/* A peer that takes less than it did grants nothing, until it does. */
	a.peer_window = 100;
	KUNIT_EXPECT_EQ(test, shca_ib_credits_lend_window(&a), 0u);
	a.lane[1].fccl = 2000;
	KUNIT_EXPECT_EQ(test, shca_ib_credits_lend(&a, 1), 0u);
}

/* What stays in a lane's buffer stops that lane, and no other. */
static void lane_stops_itself(struct kunit *test)
{
	struct shca_ib_credits a, b;
	u32 nr = 0, i;

	begin(&a, &b);
	while (shca_ib_credits_may(&a, 2, 64, 1)) {
		shca_ib_credits_take(&a, 2, 64, 1);
		arrives_one(&b, 2, 64);
		KUNIT_ASSERT_TRUE(test, shca_ib_credits_keep(&b, 2, 64));
		tell(&b, &a);
		KUNIT_ASSERT_GT(test, 100u, nr++);
	}
	KUNIT_EXPECT_EQ(test, nr, 2048u / 64);
	for (i = 0; i < LANES; i++)
		KUNIT_EXPECT_EQ(test, shca_ib_credits_may(&a, i, 1, 1), i != 2);
	/* Half of it is news; the sender gets exactly what is free. */
	for (i = 1; !shca_ib_credits_free(&b, 2, 64); i++)
		KUNIT_ASSERT_GT(test, 100u, i);
	KUNIT_EXPECT_EQ(test, i, 1024u / 64);
	tell(&b, &a);
	KUNIT_EXPECT_TRUE(test, shca_ib_credits_may(&a, 2, 1024, 1));
	KUNIT_EXPECT_FALSE(test, shca_ib_credits_may(&a, 2, 1025, 1));
	/* One that did not leave gives its credit back. */
	shca_ib_credits_take(&a, 2, 1024, 1);
	KUNIT_EXPECT_FALSE(test, shca_ib_credits_may(&a, 2, 1, 1));
	shca_ib_credits_undo(&a, 2, 1024, 1);
	KUNIT_EXPECT_TRUE(test, shca_ib_credits_may(&a, 2, 1024, 1));
}

/* Beyond what was granted twice, nothing is kept; a new link has empty buffers. */
static void buffer_has_an_end(struct kunit *test)
{
	struct shca_ib_credits a, b;

	begin(&a, &b);
	KUNIT_EXPECT_TRUE(test, shca_ib_credits_keep(&b, 1, 4096));
	KUNIT_EXPECT_FALSE(test, shca_ib_credits_keep(&b, 1, 1));
	KUNIT_EXPECT_TRUE(test, shca_ib_credits_keep(&b, 0, 1));
	tell(&b, &a);
	KUNIT_EXPECT_FALSE(test, shca_ib_credits_may(&a, 1, 1, 1));
	shca_ib_credits_init(&b, true);
	shca_ib_credits_free(&b, 1, 4096);
	KUNIT_EXPECT_EQ(test, b.lane[1].held, 0);
}

/* Lost packets come back as credit by two frames of the sender, not by one. */
static void loss_heals(struct kunit *test)
{
	struct shca_ib_credit_frame frame;
	struct shca_ib_credits a, b;

	begin(&a, &b);
	KUNIT_EXPECT_EQ(test, send_all(&a, 3, 66), 31u);
	tell(&a, &b);
	tell(&b, &a);
	KUNIT_EXPECT_EQ(test, send_all(&a, 3, 66), 0u);
	/* (nor by one that comes too soon) */
	shca_ib_credits_tell(&a, &frame);
	KUNIT_EXPECT_FALSE(test, shca_ib_credits_hear(&b, &frame, false));
	tell(&b, &a);
	KUNIT_EXPECT_EQ(test, send_all(&a, 3, 66), 0u);
	shca_ib_credits_tell(&a, &frame);
	KUNIT_EXPECT_TRUE(test, shca_ib_credits_hear(&b, &frame, true));
	tell(&b, &a);
	KUNIT_EXPECT_EQ(test, send_all(&a, 3, 66), 31u);
	KUNIT_EXPECT_EQ(test, b.lane[3].abr, 31 * 66);
}

/* The other end has begun anew, and this one has not noticed. */
static void restart_heals(struct kunit *test)
{
	struct shca_ib_credits a, b;
	u32 i, j;

	begin(&a, &b);
	for (i = 0; i < 40; i++) {
		for (j = send_all(&a, 0, 66); j; j--)
			arrives_one(&b, 0, 66);
		tell(&b, &a);
	}
	shca_ib_credits_init(&b, true);
	for (i = 0; i < 2; i++) {
		tell(&b, &a);
		tell(&a, &b);
	}
	tell(&b, &a);
	KUNIT_EXPECT_EQ(test, send_all(&a, 0, 66), 31u);
	for (j = 31; j; j--)
		arrives_one(&b, 0, 66);
	tell(&b, &a);
	KUNIT_EXPECT_EQ(test, send_all(&a, 0, 66), 31u);
	/* and the other way */
	KUNIT_EXPECT_EQ(test, send_all(&b, 0, 66), 31u);
}

/* ---- a model ---------------------------------------------------------------- */

#define WIRE	1024

/**
 * struct fx_wire - what is on its way from a to b, in order
 * @item:	packets, and frames of credits (no @blocks)
 * @packets:	of these, packets
 * @held:	blocks that lie in buffers of b
 */
struct fx_wire {
	struct shca_ib_credits a, b;
	struct {
		struct shca_ib_credit_frame frame;
		u8 lane;
		u8 blocks;
	} item[WIRE];
	u32 head, tail, packets;
	u32 held[LANES];
	u64 random;
};

static u32 draw(struct fx_wire *fx, u32 below)
{
	fx->random = fx->random * 6364136223846793005ull + 1442695040888963407ull;
	return (u32)(fx->random >> 33) % below;
}

static void arrives(struct kunit *test, struct fx_wire *fx)
{
	u32 i = fx->head % WIRE, lane = fx->item[i].lane, blocks = fx->item[i].blocks;

	if (fx->head == fx->tail)
		return;
	fx->head++;
	if (!blocks) {
		shca_ib_credits_hear(&fx->b, &fx->item[i].frame, true);
		return;
	}
	fx->packets--;
	arrives_one(&fx->b, lane, blocks);
	if (draw(fx, 2))
		return;
	/* There is room, whatever was lost. */
	KUNIT_EXPECT_TRUE(test, shca_ib_credits_keep(&fx->b, lane, blocks));
	fx->held[lane] += blocks;
}

static void step(struct kunit *test, struct fx_wire *fx, bool lossy)
{
	u32 lane = draw(fx, LANES), blocks = 1 + draw(fx, 66);
	struct shca_ib_credit_frame frame;

	switch (draw(fx, 8)) {
	case 0:
	case 1:
	case 2:
		if (!shca_ib_credits_may(&fx->a, lane, blocks, 1))
			break;
		shca_ib_credits_take(&fx->a, lane, blocks, 1);
		if (lossy && !draw(fx, 20))
			break;
		fx->item[fx->tail % WIRE].lane = lane;
		fx->item[fx->tail++ % WIRE].blocks = blocks;
		fx->packets++;
		break;
	case 3:
	case 4:
		arrives(test, fx);
		break;
	case 5:
		blocks = min_t(u32, blocks, fx->held[lane]);
		shca_ib_credits_free(&fx->b, lane, blocks);
		fx->held[lane] -= blocks;
		break;
	case 6:
		shca_ib_credits_tell(&fx->b, &frame);
		if (!lossy || draw(fx, 3))
			shca_ib_credits_hear(&fx->a, &frame, true);
		break;
	case 7:
		if (fx->tail - fx->head >= WIRE / 2)
			break;
		shca_ib_credits_tell(&fx->a, &fx->item[fx->tail % WIRE].frame);
		if (!lossy || draw(fx, 3))
			fx->item[fx->tail++ % WIRE].blocks = 0;
		break;
	}
}

/*
 * However much is lost, the queues below have no more packets than the window, and
 * buffers no more blocks than they grant. Once all is quiet, just as much may be sent.
 */
static void model_agrees(struct kunit *test)
{
	struct fx_wire *fx = kunit_kzalloc(test, sizeof(*fx), GFP_KERNEL);
	u32 seed, i, lane;

	for (seed = 0; seed < 20; seed++) {
		begin(&fx->a, &fx->b);
		fx->random = seed;
		fx->head = 0;
		fx->tail = 0;
		fx->packets = 0;
		memset(fx->held, 0, sizeof(fx->held));
		for (i = 0; i < 10000; i++) {
			step(test, fx, seed & 1);
			KUNIT_ASSERT_GE(test, 384u, fx->packets);
			for (lane = 0; lane < LANES; lane++)
				KUNIT_ASSERT_GE(test, 2 * 2048u, fx->held[lane]);
		}
		/* The sender rests; what is on its way arrives. */
		while (fx->head != fx->tail)
			arrives(test, fx);
		tell(&fx->a, &fx->b);
		tell(&fx->a, &fx->b);
		tell(&fx->b, &fx->a);
		KUNIT_EXPECT_EQ(test, fx->a.sent, fx->a.peer_received);
		for (lane = 0; lane < LANES; lane++)
			KUNIT_EXPECT_EQ(test, (fx->a.lane[lane].fccl -
					       fx->a.lane[lane].fctbs) & 0xfff,
					2048 - min_t(u32, fx->held[lane], 2048));
	}
}

static struct kunit_case ib_credit_cases[] = {
	KUNIT_CASE(frame_both_ways),
	KUNIT_CASE(nothing_leaves_before_a_frame),
	KUNIT_CASE(window_bounds_frames),
	KUNIT_CASE(credit_is_lent),
	KUNIT_CASE(lane_stops_itself),
	KUNIT_CASE(buffer_has_an_end),
	KUNIT_CASE(loss_heals),
	KUNIT_CASE(restart_heals),
	KUNIT_CASE(model_agrees),
	{}
};

static struct kunit_suite ib_credit_suite = {
	.name = "softhca_ib_credit",
	.test_cases = ib_credit_cases,
};

kunit_test_suites(&ib_credit_suite);
