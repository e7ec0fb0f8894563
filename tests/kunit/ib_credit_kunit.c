// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Credits of an InfiniBand link: the frame, each bound alone, and what hostile or late
 * frames do. Then two ports with a link between them that loses frames and packets, against
 * what a model knows. At last, how much of a fast link a stream uses.
 */
#include "fixture.h"

#include "../../kernel/ib/core/ib_credit.h"

#define LANES	SHCA_IB_LANES

static struct shca_ib_vcrc tables;

static void frame_both_ways(struct kunit *test)
{
	u8 built[SHCA_IB_SHIM_BYTES + SHCA_IB_CREDIT_BYTES];
	struct shca_ib_credit_frame frame = {
		.session = 0x01020304, .init = true, .period = 0xa7,
		.window = 0x12345678,
	}, read;
	struct shca_ib_shim shim;
	u8 *body = built + SHCA_IB_SHIM_BYTES;
	u32 i;

	shca_ib_vcrc_init(&tables);
	for (i = 0; i < LANES; i++)
		frame.lane[i] = (struct shca_ib_lane_counts){
			.fctbs = 0x11111111 * i, .began = 0x01010101 * i,
			.abr = ~i, .fccl = 0xf0f0f0f0 + i,
		};
	memset(built, 0xff, sizeof(built));
	KUNIT_EXPECT_EQ(test, shca_ib_credit_build(&frame, &tables, built),
			sizeof(built));
	KUNIT_EXPECT_EQ(test, built[0], 0x13);
	KUNIT_EXPECT_EQ(test, built[3], 138);
	KUNIT_EXPECT_EQ(test, body[0], 8);
	KUNIT_EXPECT_EQ(test, body[1], 1);
	KUNIT_EXPECT_EQ(test, body[2], 0xa7);
	KUNIT_EXPECT_EQ(test, body[3], 0);
	KUNIT_EXPECT_EQ(test, body[7], 0x78);
	/* lane 3 */
	KUNIT_EXPECT_EQ(test, body[8 + 48], 0x33);
	KUNIT_EXPECT_EQ(test, body[8 + 48 + 7], 0x03);
	KUNIT_EXPECT_EQ(test, body[8 + 48 + 11], 0xfc);
	KUNIT_EXPECT_EQ(test, body[8 + 48 + 15], 0xf3);
	/* The CRC is that of a packet, which begins with all ones (IBTA 7.8.2). */
	KUNIT_EXPECT_TRUE(test, shca_ib_vcrc_ok(shca_ib_vcrc(&tables, 0xffff, body, 136),
						body + 136));
	KUNIT_ASSERT_EQ(test, shca_ib_shim_parse(&shim, built, sizeof(built)),
			SHCA_IB_OK);
	memset(&read, 0xff, sizeof(read));
	KUNIT_ASSERT_EQ(test, shca_ib_credit_parse(&read, &tables, &shim, body),
			SHCA_IB_OK);
	KUNIT_EXPECT_EQ(test, read.session, 0x01020304u);
	KUNIT_EXPECT_TRUE(test, read.init);
	KUNIT_EXPECT_FALSE(test, read.ask);
	KUNIT_EXPECT_EQ(test, read.period, 0xa7);
	KUNIT_EXPECT_EQ(test, read.window, 0x12345678u);
	for (i = 0; i < LANES; i++)
		KUNIT_EXPECT_EQ(test, memcmp(&read.lane[i], &frame.lane[i],
					     sizeof(read.lane[i])), 0);
	/* Every byte counts. */
	for (i = 0; i < SHCA_IB_CREDIT_BYTES; i++) {
		body[i] ^= 0x10;
		KUNIT_EXPECT_EQ(test, shca_ib_credit_parse(&read, &tables, &shim,
							   body), SHCA_IB_LENGTH);
		body[i] ^= 0x10;
	}
	shim.len = SHCA_IB_CREDIT_BYTES - 1;
	KUNIT_EXPECT_EQ(test, shca_ib_credit_parse(&read, &tables, &shim, body),
			SHCA_IB_SHORT);
	frame.init = false;
	frame.ask = true;
	shca_ib_credit_build(&frame, &tables, built);
	shim.len = SHCA_IB_CREDIT_BYTES;
	KUNIT_ASSERT_EQ(test, shca_ib_credit_parse(&read, &tables, &shim, body),
			SHCA_IB_OK);
	KUNIT_EXPECT_FALSE(test, read.init);
	KUNIT_EXPECT_TRUE(test, read.ask);
	/* Another number of lanes, with a CRC that is right. */
	body[0] = 4;
	shca_ib_vcrc_put(shca_ib_vcrc(&tables, SHCA_IB_VCRC_SEED, body, 136),
			 body + 136);
	KUNIT_EXPECT_EQ(test, shca_ib_credit_parse(&read, &tables, &shim, body),
			SHCA_IB_LENGTH);
}

/* What @to is told by @from; a frame that is not lost. Return: could it be so? */
static bool tell(struct shca_ib_credits *from, struct shca_ib_credits *to)
{
	struct shca_ib_credit_frame frame;

	shca_ib_credits_tell(from, &frame);
	return shca_ib_credits_hear(to, &frame);
}

/* A port whose lanes have equal buffers. */
static void make(struct shca_ib_credits *port, u32 window, u32 blocks)
{
	u32 grant[LANES], i;

	memset(port, 0, sizeof(*port));
	for (i = 0; i < LANES; i++)
		grant[i] = blocks;
	shca_ib_credits_size(port, window, grant);
}

static void begin(struct shca_ib_credits *a, struct shca_ib_credits *b)
{
	make(a, 16384, 12288);
	make(b, 16384, 12288);
	shca_ib_credits_reset(a, true);
	shca_ib_credits_reset(b, true);
	tell(a, b);
	tell(b, a);
}

/* ABR of a lane, as a port tells it. */
static u32 told_abr(struct shca_ib_credits *port, u8 lane)
{
	struct shca_ib_credit_frame frame;

	shca_ib_credits_tell(port, &frame);
	return frame.lane[lane].abr;
}

/* A period of @from ends, and @to is sure that nothing of it is in flight. */
static void turn(struct shca_ib_credits *from, struct shca_ib_credits *to)
{
	shca_ib_credits_turn(from);
	tell(from, to);
	shca_ib_credits_reconcile(to);
}

/* Packets that leave before one may not. */
static u32 send_all(struct shca_ib_credits *a, u8 lane)
{
	u32 nr;

	for (nr = 0; shca_ib_credits_room(a, lane) >= 68; nr++)
		shca_ib_credits_take(a, lane, 68);
	return nr;
}

static void arrive(struct shca_ib_credits *b, u8 period, u8 lane, u32 nr)
{
	shca_ib_credits_arrived(b, period, lane, nr * 68);
}

/* The two ends. (Too large for a stack of the kernel; suites run one by one.) */
static struct shca_ib_credits a, b;

static void clear(void)
{
	make(&a, 16384, 12288);
	make(&b, 16384, 12288);
}

static void nothing_leaves_before_a_frame(struct kunit *test)
{
	clear();
	shca_ib_credits_reset(&a, true);
	shca_ib_credits_reset(&b, true);
	KUNIT_EXPECT_EQ(test, shca_ib_credits_room(&a, 0), 0u);
	/* (one that has not heard does not know what it grants) */
	tell(&b, &a);
	KUNIT_EXPECT_EQ(test, shca_ib_credits_room(&a, 0), 0u);
	tell(&a, &b);
	KUNIT_EXPECT_EQ(test, shca_ib_credits_room(&b, 0), 12288u);
	tell(&b, &a);
	KUNIT_EXPECT_EQ(test, shca_ib_credits_room(&a, 0), 12288u);
	/* The link goes down. */
	shca_ib_credits_reset(&a, false);
	KUNIT_EXPECT_EQ(test, shca_ib_credits_room(&a, 0), 0u);
	KUNIT_EXPECT_FALSE(test, shca_ib_credits_pending(&a));
}

/* 240 packets, of which one lane may send 180. What has arrived makes room for as many. */
static void window_bounds_frames(struct kunit *test)
{
	begin(&a, &b);
	KUNIT_EXPECT_EQ(test, send_all(&a, 0), 180u);
	KUNIT_EXPECT_EQ(test, send_all(&a, 7), 60u);
	arrive(&b, 0, 0, 50);
	tell(&b, &a);
	KUNIT_EXPECT_EQ(test, send_all(&a, 6), 50u);
}

/* What a device has refused was not sent. */
static void refused_comes_back(struct kunit *test)
{
	struct shca_ib_credit_frame frame;

	begin(&a, &b);
	shca_ib_credits_take(&a, 1, 12000);
	shca_ib_credits_take(&a, 2, 4384);
	KUNIT_EXPECT_EQ(test, shca_ib_credits_room(&a, 1), 0u);
	KUNIT_EXPECT_EQ(test, shca_ib_credits_room(&a, 3), 0u);
	KUNIT_EXPECT_EQ(test, shca_ib_credits_of_lane(&a, 1), 288u);
	KUNIT_EXPECT_EQ(test, shca_ib_credits_of_lane(&a, 3), 12288u);
	shca_ib_credits_back(&a, 1, 1000);
	shca_ib_credits_tell(&a, &frame);
	KUNIT_EXPECT_EQ(test, frame.lane[1].fctbs, 11000u);
	KUNIT_EXPECT_EQ(test, frame.lane[2].fctbs, 4384u);
	KUNIT_EXPECT_EQ(test, shca_ib_credits_room(&a, 1), 1000u);
	KUNIT_EXPECT_EQ(test, shca_ib_credits_room(&a, 3), 1000u);
	shca_ib_credits_back(&a, 2, 4384);
	KUNIT_EXPECT_EQ(test, shca_ib_credits_room(&a, 1), 1288u);
	KUNIT_EXPECT_EQ(test, shca_ib_credits_room(&a, 3), 5384u);
	/* A peer that takes less than others. */
	frame = (struct shca_ib_credit_frame){ .window = 11100 };
	KUNIT_EXPECT_TRUE(test, shca_ib_credits_hear(&a, &frame));
	KUNIT_EXPECT_EQ(test, shca_ib_credits_room(&a, 3), 100u);
	/* More has been sent on a lane than its buffer takes now: not less than nothing. */
	shca_ib_credits_take(&a, 3, 12289);
	KUNIT_EXPECT_EQ(test, shca_ib_credits_of_lane(&a, 3), 0u);
}

/* What stays in a lane's buffer stops that lane, and no other. */
static void lane_stops_itself(struct kunit *test)
{
	u32 nr = 0, i;

	begin(&a, &b);
	while (shca_ib_credits_room(&a, 2) >= 96) {
		shca_ib_credits_take(&a, 2, 96);
		shca_ib_credits_arrived(&b, 0, 2, 96);
		KUNIT_ASSERT_TRUE(test, shca_ib_credits_keep(&b, 2, 96));
		tell(&b, &a);
		KUNIT_ASSERT_GT(test, 200u, nr++);
	}
	KUNIT_EXPECT_EQ(test, nr, 12288u / 96);
	for (i = 0; i < LANES; i++)
		KUNIT_EXPECT_EQ(test, shca_ib_credits_room(&a, i), i == 2 ? 0 : 12288u);
	/* A third of it is worth a frame; the sender gets exactly what is free. */
	for (i = 0; !shca_ib_credits_pending(&b); i++) {
		shca_ib_credits_free(&b, 2, 96);
		KUNIT_ASSERT_GT(test, 100u, i);
	}
	KUNIT_EXPECT_EQ(test, i, 43u);
	tell(&b, &a);
	KUNIT_EXPECT_EQ(test, shca_ib_credits_room(&a, 2), 43u * 96);
	KUNIT_EXPECT_FALSE(test, shca_ib_credits_pending(&b));
}

/* Beyond what was granted twice, nothing is kept. A new link finds full buffers full. */
static void buffer_has_an_end(struct kunit *test)
{
	begin(&a, &b);
	KUNIT_EXPECT_TRUE(test, shca_ib_credits_keep(&b, 1, 24576));
	KUNIT_EXPECT_FALSE(test, shca_ib_credits_keep(&b, 1, 1));
	KUNIT_EXPECT_TRUE(test, shca_ib_credits_keep(&b, 0, 1));
	tell(&b, &a);
	/* (what was granted before is not taken back) */
	KUNIT_EXPECT_EQ(test, shca_ib_credits_room(&a, 1), 12288u);
	shca_ib_credits_reset(&a, true);
	shca_ib_credits_reset(&b, true);
	tell(&a, &b);
	tell(&b, &a);
	KUNIT_EXPECT_EQ(test, shca_ib_credits_room(&a, 1), 0u);
	/* Without credits, nobody was promised a buffer. */
	shca_ib_credits_reset(&b, false);
	KUNIT_EXPECT_TRUE(test, shca_ib_credits_keep(&b, 1, 1));
	shca_ib_credits_free(&b, 1, 24577);
	shca_ib_credits_free(&b, 0, 1);
	shca_ib_credits_reset(&b, true);
	tell(&a, &b);
	tell(&b, &a);
	KUNIT_EXPECT_EQ(test, shca_ib_credits_room(&a, 1), 12288u);
}

/* A frame that was overtaken takes nothing away, and neither does data that overtakes. */
static void late_frames_take_nothing(struct kunit *test)
{
	struct shca_ib_credit_frame early, from_a;
	u32 i, nr;

	begin(&a, &b);
	shca_ib_credits_tell(&b, &early);
	for (i = 0; i < 1000; i++) {
		shca_ib_credits_tell(&a, &from_a);
		nr = send_all(&a, 0);
		arrive(&b, a.period, 0, nr);
		/* (it was sent before the packets) */
		KUNIT_EXPECT_TRUE(test, shca_ib_credits_hear(&b, &from_a));
		tell(&b, &a);
		KUNIT_EXPECT_TRUE(test, shca_ib_credits_hear(&a, &early));
		KUNIT_ASSERT_EQ(test, shca_ib_credits_room(&a, 0), 12288u);
		if (i % 50 == 7)
			turn(&a, &b);
	}
	/* That of a period before does not, either. */
	turn(&a, &b);
	KUNIT_EXPECT_TRUE(test, shca_ib_credits_hear(&b, &from_a));
	shca_ib_credits_reconcile(&b);
	tell(&b, &a);
	KUNIT_EXPECT_EQ(test, shca_ib_credits_room(&a, 0), 12288u);
}

/* What was lost in a period comes back when no packet of it is in flight any more. */
static void loss_heals(struct kunit *test)
{
	begin(&a, &b);
	KUNIT_EXPECT_EQ(test, send_all(&a, 3), 180u);
	arrive(&b, 0, 3, 13);
	tell(&a, &b);
	tell(&b, &a);
	KUNIT_EXPECT_EQ(test, send_all(&a, 3), 13u);
	shca_ib_credits_turn(&a);
	tell(&a, &b);
	/* A packet of the next period and one of the last arrive before it is sure. */
	arrive(&b, 0, 3, 2);
	tell(&b, &a);
	KUNIT_EXPECT_EQ(test, send_all(&a, 3), 2u);
	arrive(&b, 1, 3, 1);
	KUNIT_EXPECT_TRUE(test, shca_ib_credits_turning(&b));
	tell(&b, &a);
	KUNIT_EXPECT_EQ(test, send_all(&a, 3), 1u);
	shca_ib_credits_reconcile(&b);
	tell(&b, &a);
	/* All but the two of the new period that have not arrived. */
	KUNIT_EXPECT_EQ(test, shca_ib_credits_room(&a, 3), 12288u - 2 * 68);
	/* It heals as well if frames of some periods are lost. */
	KUNIT_EXPECT_EQ(test, send_all(&a, 3), 178u);
	shca_ib_credits_turn(&a);
	shca_ib_credits_turn(&a);
	turn(&a, &b);
	tell(&b, &a);
	KUNIT_EXPECT_EQ(test, shca_ib_credits_room(&a, 3), 12288u);
	/* and of many */
	KUNIT_EXPECT_EQ(test, send_all(&a, 3), 180u);
	a.period += 100;
	turn(&a, &b);
	tell(&b, &a);
	KUNIT_EXPECT_EQ(test, shca_ib_credits_room(&a, 3), 12288u);
}

/* Packets that arrive a second time, or long after their period, count only for a while. */
static void surplus_ends(struct kunit *test)
{
	u32 i;

	begin(&a, &b);
	KUNIT_EXPECT_EQ(test, send_all(&a, 0), 180u);
	arrive(&b, 0, 0, 180 + 5);
	KUNIT_EXPECT_FALSE(test, tell(&b, &a));
	/* More than was sent has not arrived, and more than a buffer is not granted. */
	KUNIT_EXPECT_EQ(test, shca_ib_credits_room(&a, 0), 12288u);
	KUNIT_EXPECT_EQ(test, shca_ib_credits_room(&a, 1), 12288u);
	turn(&a, &b);
	KUNIT_EXPECT_TRUE(test, tell(&b, &a));
	KUNIT_EXPECT_EQ(test, told_abr(&b, 0), 180u * 68);
	/* Late ones were taken for lost, of whatever period that is told apart. */
	KUNIT_EXPECT_FALSE(test, shca_ib_credits_arrived(&b, 0, 0, 5 * 68));
	KUNIT_EXPECT_FALSE(test, shca_ib_credits_arrived(&b, (u8)-7, 0, 5 * 68));
	KUNIT_EXPECT_TRUE(test, tell(&b, &a));
	KUNIT_EXPECT_EQ(test, a.lane[0].fccl, a.lane[0].fctbs + 12288);
	/* One that comes before the frame with its period is not late. */
	KUNIT_EXPECT_TRUE(test, shca_ib_credits_arrived(&b, 8, 0, 0));
	/* late ones that look as those of a later period */
	arrive(&b, 8, 0, 5);
	for (i = 0; i < 17; i++) {
		send_all(&a, 0);
		arrive(&b, a.period, 0, 180);
		turn(&a, &b);
		tell(&b, &a);
	}
	KUNIT_EXPECT_EQ(test, shca_ib_credits_room(&a, 0), 12288u);
	/* (and what is told now, can be so) */
	KUNIT_EXPECT_TRUE(test, tell(&b, &a));
	KUNIT_EXPECT_EQ(test, a.lane[0].fccl, a.lane[0].fctbs + 12288);
}

/* Nothing of before counts for a peer that begins anew. */
static void new_beginning_forgets_what_has_come(struct kunit *test)
{
	begin(&a, &b);
	arrive(&b, 0, 0, send_all(&a, 0));
	arrive(&b, 0, 0, 5);
	KUNIT_EXPECT_EQ(test, told_abr(&b, 0), 185u * 68);
	shca_ib_credits_reset(&a, true);
	tell(&a, &b);
	KUNIT_EXPECT_EQ(test, told_abr(&b, 0), 180u * 68);
	/* (nor later) */
	turn(&a, &b);
	KUNIT_EXPECT_EQ(test, told_abr(&b, 0), 180u * 68);
}

/* One end has begun anew, and the other one has not noticed; or both have. */
static void restart_heals(struct kunit *test)
{
	u32 i, which;

	for (which = 1; which < 4; which++) {
		begin(&a, &b);
		for (i = 0; i < 40; i++) {
			arrive(&b, a.period, 0, send_all(&a, 0));
			if (i % 10 == 3)
				turn(&a, &b);
			tell(&b, &a);
		}
		/* (in flight, and lost) */
		send_all(&a, 0);
		if (which & 1)
			shca_ib_credits_reset(&a, true);
		if (which & 2)
			shca_ib_credits_reset(&b, true);
		if (which & 1)
			KUNIT_EXPECT_EQ(test, shca_ib_credits_room(&a, 0), 0u);
		for (i = 0; i < 2; i++) {
			tell(&b, &a);
			tell(&a, &b);
		}
		/* (what was lost meanwhile) */
		turn(&a, &b);
		tell(&b, &a);
		KUNIT_EXPECT_EQ(test, send_all(&a, 0), 180u);
		arrive(&b, a.period, 0, 180);
		tell(&b, &a);
		KUNIT_EXPECT_EQ(test, send_all(&a, 0), 180u);
		/* and the other way */
		KUNIT_EXPECT_EQ(test, send_all(&b, 0), 180u);
	}
}

/* All counters go round. */
static void counters_go_round(struct kunit *test)
{
	u32 i, nr;

	clear();
	a.lane[5].fctbs = 0u - 100000;
	a.period = 250;
	shca_ib_credits_reset(&a, true);
	shca_ib_credits_reset(&b, true);
	tell(&a, &b);
	tell(&b, &a);
	for (i = 0; i < 200; i++) {
		nr = send_all(&a, 5);
		KUNIT_ASSERT_EQ(test, nr, 180u);
		arrive(&b, a.period, 5, nr - i % 3);
		if (i % 3)
			turn(&a, &b);
		KUNIT_EXPECT_TRUE(test, tell(&b, &a));
	}
	KUNIT_EXPECT_GT(test, 0x80000000u, a.lane[5].fctbs);
}

/* Whatever a frame says: once true ones come, all is well after some periods. */
static void lies_end(struct kunit *test)
{
	struct shca_ib_credit_frame lie;
	u64 random = 1;
	u32 i, j, nr;
	u8 *byte;

	for (i = 0; i < 80; i++) {
		begin(&a, &b);
		arrive(&b, 0, 0, send_all(&a, 0));
		for (byte = (u8 *)&lie, j = 0; j < sizeof(lie); j++) {
			random = random * 6364136223846793005ull + 1442695040888963407ull;
			byte[j] = random >> 33;
		}
		lie.init = i & 1;
		lie.ask = false;
		lie.window &= 0xffff;
		shca_ib_credits_hear(i & 2 ? &a : &b, &lie);
		for (j = 0; j < LANES; j++)
			KUNIT_EXPECT_GE(test, 12288u, shca_ib_credits_room(&a, j));
		/* (a lie may tell a period that has yet to come) */
		for (j = 0; j < SHCA_IB_PERIODS + 4; j++) {
			tell(&a, &b);
			tell(&b, &a);
			nr = send_all(&a, 0);
			arrive(&b, a.period, 0, nr);
			turn(&a, &b);
			turn(&b, &a);
		}
		KUNIT_ASSERT_EQ(test, shca_ib_credits_room(&a, 0), 12288u);
		KUNIT_ASSERT_EQ(test, shca_ib_credits_room(&a, 1), 12288u);
		KUNIT_ASSERT_EQ(test, shca_ib_credits_room(&b, 0), 12288u);
	}
}

/* ---- the bounds of what is heard and told ----------------------------------- */

static void news_are_a_third_of_a_buffer(struct kunit *test)
{
	u32 i;

	for (i = 0; i < LANES; i++) {
		begin(&a, &b);
		tell(&b, &a);
		shca_ib_credits_arrived(&b, 0, i, 4000);
		shca_ib_credits_arrived(&b, 0, 7 - i, 95);
		KUNIT_EXPECT_FALSE(test, shca_ib_credits_pending(&b));
		shca_ib_credits_arrived(&b, 0, i, 1);
		KUNIT_EXPECT_TRUE(test, shca_ib_credits_pending(&b));
		tell(&b, &a);
		KUNIT_EXPECT_FALSE(test, shca_ib_credits_pending(&b));
		/* what becomes free is worth a frame, too */
		shca_ib_credits_keep(&b, i, 4096);
		KUNIT_EXPECT_FALSE(test, shca_ib_credits_pending(&b));
		shca_ib_credits_free(&b, i, 4096);
		KUNIT_EXPECT_TRUE(test, shca_ib_credits_pending(&b));
		/* nobody is told where credits are not used */
		shca_ib_credits_reset(&b, false);
		KUNIT_EXPECT_FALSE(test, shca_ib_credits_pending(&b));
	}
}

struct report_row {
	const char *name;
	u32 window;
	u32 grant;
	u32 packets;	/* that arrive, until a frame leaves */
};

static const struct report_row report_rows[] = {
	{ "a window and buffers as large as may be", 16384, 12288, 61 },
	{ "buffers of 36 packets", 16384, 36 * 68, 11 },
	{ "buffers of five packets", 16384, 5 * 68, 2 },
	{ "buffers of three packets", 16384, 3 * 68, 1 },
	{ "buffers of one packet", 16384, 68, 1 },
	{ "a window of nine packets", 9 * 68, 12288, 3 },
	{ "a window of one packet", 68, 12288, 1 },
};

static void report_desc(const struct report_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(report, report_rows, report_desc);

/* A third of a buffer, or of a smaller window, is worth a frame. So is one packet, if it is more. */
static void small_buffers_report_sooner(struct kunit *test)
{
	const struct report_row *row = test->param_value;
	struct shca_ib_credit_frame frame;
	u32 nr;

	make(&b, row->window, row->grant);
	shca_ib_credits_reset(&b, true);
	shca_ib_credits_tell(&b, &frame);
	KUNIT_EXPECT_EQ(test, frame.window, row->window);
	KUNIT_EXPECT_EQ(test, frame.lane[6].fccl, row->grant);
	for (nr = 0; !shca_ib_credits_pending(&b); nr++) {
		KUNIT_ASSERT_GT(test, 100u, nr);
		shca_ib_credits_arrived(&b, 0, 6, 68);
	}
	KUNIT_EXPECT_EQ(test, nr, row->packets);
	shca_ib_credits_tell(&b, &frame);
	KUNIT_EXPECT_FALSE(test, shca_ib_credits_pending(&b));
	/* what becomes free, too */
	KUNIT_EXPECT_TRUE(test, shca_ib_credits_keep(&b, 6, 2 * row->grant));
	KUNIT_EXPECT_FALSE(test, shca_ib_credits_keep(&b, 6, 1));
	shca_ib_credits_free(&b, 6, row->packets * 68 - 1);
	shca_ib_credits_free(&b, 6, 1);
	KUNIT_EXPECT_TRUE(test, shca_ib_credits_pending(&b));
}

static void frame_says_what_is_so(struct kunit *test)
{
	u8 built[SHCA_IB_SHIM_BYTES + SHCA_IB_CREDIT_BYTES];
	struct shca_ib_credit_frame frame;

	begin(&a, &b);
	/* a buffer that has more in it than was granted */
	shca_ib_credits_keep(&a, 1, 12289);
	memset(&frame, 0xff, sizeof(frame));
	shca_ib_credits_tell(&a, &frame);
	KUNIT_EXPECT_FALSE(test, frame.init);
	KUNIT_EXPECT_FALSE(test, frame.ask);
	KUNIT_EXPECT_EQ(test, frame.window, 16384u);
	KUNIT_EXPECT_EQ(test, frame.lane[0].fccl, 12288u);
	KUNIT_EXPECT_EQ(test, frame.lane[1].fccl, 0u);
	shca_ib_vcrc_init(&tables);
	shca_ib_credit_build(&frame, &tables, built);
	KUNIT_EXPECT_EQ(test, built[SHCA_IB_SHIM_BYTES + 1], 0);
	shca_ib_credits_reset(&a, true);
	shca_ib_credits_tell(&a, &frame);
	KUNIT_EXPECT_TRUE(test, frame.init);
	/* It grants nothing, and may be so. */
	KUNIT_EXPECT_TRUE(test, shca_ib_credits_hear(&b, &frame));
}

/* A new link finds the buffer of each lane full. */
static void reset_forgets_what_was_granted(struct kunit *test)
{
	u32 i;

	begin(&a, &b);
	for (i = 0; i < LANES; i++)
		shca_ib_credits_keep(&b, i, 12288);
	shca_ib_credits_turn(&a);
	tell(&a, &b);
	KUNIT_EXPECT_TRUE(test, shca_ib_credits_turning(&b));
	shca_ib_credits_reset(&a, true);
	shca_ib_credits_reset(&b, true);
	/* (packets of the link before are not waited for) */
	KUNIT_EXPECT_FALSE(test, shca_ib_credits_turning(&b));
	tell(&a, &b);
	tell(&b, &a);
	for (i = 0; i < LANES; i++)
		KUNIT_EXPECT_EQ(test, shca_ib_credits_room(&a, i), 0u);
}

/* Nobody grants more than a buffer, and nothing arrives that was not sent. */
static void lies_are_cut_exactly(struct kunit *test)
{
	struct shca_ib_credit_frame frame;

	begin(&a, &b);
	shca_ib_credits_take(&a, 0, 100);
	shca_ib_credits_tell(&b, &frame);
	/* one more of each is heard */
	frame.lane[0].fccl = 12288 + 1;
	frame.lane[0].abr = 1;
	KUNIT_EXPECT_TRUE(test, shca_ib_credits_hear(&a, &frame));
	KUNIT_EXPECT_EQ(test, a.lane[0].fccl, 12289u);
	KUNIT_EXPECT_EQ(test, a.lane[0].landed, 1u);
	/* as much as can be, and one more */
	frame.lane[0].fccl = 12288 + 100;
	frame.lane[0].abr = 100;
	KUNIT_EXPECT_TRUE(test, shca_ib_credits_hear(&a, &frame));
	frame.lane[0].fccl++;
	KUNIT_EXPECT_FALSE(test, shca_ib_credits_hear(&a, &frame));
	KUNIT_EXPECT_EQ(test, a.lane[0].fccl, 12388u);
	frame.lane[0].fccl--;
	frame.lane[0].abr++;
	KUNIT_EXPECT_FALSE(test, shca_ib_credits_hear(&a, &frame));
	KUNIT_EXPECT_EQ(test, a.lane[0].landed, 100u);
	frame.window = 16385;
	shca_ib_credits_hear(&a, &frame);
	KUNIT_EXPECT_EQ(test, a.window, 16384u);
}

struct period_row {
	const char *name;
	bool heard;
	bool init;
	bool turning;
	s8 ahead;
	bool anew;
	bool turns;	/* afterwards */
	u32 next;	/* ABR once that is reconciled */
};

static const struct period_row period_rows[] = {
	{ "the first frame", false, false, false, 0, true, false, 0 },
	{ "the same period", true, false, false, 0, false, false, 0 },
	{ "its sender has begun anew", true, true, false, 0, true, false, 0 },
	{ "its sender has begun anew, while turning", true, true, true, 1, true, false, 0 },
	{ "the next period", true, false, false, 1, false, true, 7 },
	{ "one more, while turning", true, false, true, 2, false, true, 0 },
	{ "the last one ahead", true, false, false, SHCA_IB_PERIODS - 1, false, true, 7 },
	{ "one too far ahead", true, false, false, SHCA_IB_PERIODS, true, false, 0 },
	{ "the last one behind", true, false, false, 1 - SHCA_IB_PERIODS, false, false, 0 },
	{ "one too far behind", true, false, false, -SHCA_IB_PERIODS, true, false, 0 },
};

static void period_desc(const struct period_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(period, period_rows, period_desc);

/* As many periods as are told apart; with another one all begins anew. */
static void period_is_near_or_begins_anew(struct kunit *test)
{
	const struct period_row *row = test->param_value;
	struct shca_ib_credit_frame frame = {
		.init = row->init,
		.period = 100 + row->ahead,
		.lane[0] = { .fctbs = 5000, .began = 7 },
	};

	memset(&b, 0, sizeof(b));
	b.on = true;
	b.heard = row->heard;
	b.oldest = 100;
	b.newest = row->turning ? 101 : 100;
	shca_ib_credits_hear(&b, &frame);
	KUNIT_EXPECT_TRUE(test, b.heard);
	KUNIT_EXPECT_EQ(test, told_abr(&b, 0), row->anew ? 5000u : 0u);
	KUNIT_EXPECT_EQ(test, b.oldest, row->anew ? frame.period : 100);
	KUNIT_EXPECT_EQ(test, shca_ib_credits_turning(&b), row->turns);
	shca_ib_credits_reconcile(&b);
	KUNIT_EXPECT_EQ(test, told_abr(&b, 0), row->anew ? 5000u : row->next);
}

/* ---- a model ---------------------------------------------------------------- */

#define WIRE	512

/*
 * struct fx_wire - what is in flight from a to b, in order
 * @item:	packets, and frames of credits
 * @packets:	of these, packets
 * @held:	blocks that lie in buffers of b
 */
struct fx_wire {
	struct shca_ib_credits a, b;
	struct {
		struct shca_ib_credit_frame frame;
		u8 period;
		u8 lane;
		bool packet;
	} item[WIRE];
	u32 head, tail, packets;
	u32 held[LANES];
	u64 random;
};

static u32 draw_of(u64 *random, u32 below)
{
	*random = *random * 6364136223846793005ull + 1442695040888963407ull;
	return (u32)(*random >> 33) % below;
}

static u32 draw(struct fx_wire *fx, u32 below)
{
	return draw_of(&fx->random, below);
}

static void arrives(struct kunit *test, struct fx_wire *fx)
{
	u32 i = fx->head % WIRE, lane = fx->item[i].lane;

	if (fx->head == fx->tail)
		return;
	fx->head++;
	if (!fx->item[i].packet) {
		/* In order: what was sent before is there. */
		shca_ib_credits_hear(&fx->b, &fx->item[i].frame);
		shca_ib_credits_reconcile(&fx->b);
		return;
	}
	fx->packets--;
	arrive(&fx->b, fx->item[i].period, lane, 1);
	if (draw(fx, 2))
		return;
	/* There is room, whatever was lost. */
	KUNIT_EXPECT_TRUE(test, shca_ib_credits_keep(&fx->b, lane, 68));
	fx->held[lane] += 68;
}

static void frame_leaves(struct fx_wire *fx, bool lost)
{
	if (fx->tail - fx->head >= WIRE / 2)
		return;
	shca_ib_credits_tell(&fx->a, &fx->item[fx->tail % WIRE].frame);
	fx->item[fx->tail % WIRE].packet = false;
	fx->tail += !lost;
}

static void step(struct kunit *test, struct fx_wire *fx, bool lossy)
{
	u32 lane = draw(fx, LANES), blocks = 1 + draw(fx, 68);
	struct shca_ib_credit_frame frame;

	switch (draw(fx, 9)) {
	case 0:
	case 1:
	case 2:
		if (shca_ib_credits_room(&fx->a, lane) < 68)
			break;
		shca_ib_credits_take(&fx->a, lane, 68);
		if (lossy && !draw(fx, 20))
			break;
		fx->item[fx->tail % WIRE].period = fx->a.period;
		fx->item[fx->tail % WIRE].lane = lane;
		fx->item[fx->tail++ % WIRE].packet = true;
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
			KUNIT_EXPECT_TRUE(test, shca_ib_credits_hear(&fx->a, &frame));
		break;
	case 7:
		frame_leaves(fx, lossy && !draw(fx, 3));
		break;
	case 8:
		if (!draw(fx, 20))
			shca_ib_credits_turn(&fx->a);
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

	KUNIT_ASSERT_NOT_NULL(test, fx);
	for (seed = 0; seed < 20; seed++) {
		memset(fx, 0, sizeof(*fx));
		begin(&fx->a, &fx->b);
		fx->random = seed;
		for (i = 0; i < 10000; i++) {
			step(test, fx, seed & 1);
			KUNIT_ASSERT_GE(test, 240u, fx->packets);
			for (lane = 0; lane < LANES; lane++)
				KUNIT_ASSERT_GE(test, 24576u, fx->held[lane]);
		}
		/* The sender rests; what is in flight arrives. */
		while (fx->head != fx->tail)
			arrives(test, fx);
		turn(&fx->a, &fx->b);
		tell(&fx->b, &fx->a);
		for (lane = 0; lane < LANES; lane++) {
			KUNIT_EXPECT_EQ(test, fx->a.lane[lane].landed,
					fx->a.lane[lane].fctbs);
			KUNIT_EXPECT_EQ(test, shca_ib_credits_room(&fx->a, lane),
					12288 - min_t(u32, fx->held[lane], 12288));
		}
	}
}

/* ---- unequal ends ----------------------------------------------------------- */

/* What each of two ends takes, in blocks. */
struct fx_ends {
	const char *name;
	u32 window[2];
	u32 grant[2][LANES];
};

#define EACH(grant)	{ grant, grant, grant, grant, grant, grant, grant, grant }

static const struct fx_ends fx_ends[] = {
	{ "one packet, and all", { 16384, 16384 }, { EACH(68), EACH(12288) } },
	{ "five packets, and two", { 16384, 16384 }, { EACH(340), EACH(136) } },
	{ "less than two packets, and four", { 16384, 16384 }, { EACH(135), EACH(300) } },
	{ "lanes differ", { 16384, 8192 },
	  { { 68, 136, 204, 12288, 340, 0, 100, 2448 }, { 0, 0, 12288, 68, 68, 68, 272, 0 } } },
	{ "a window of two packets, and of ten", { 136, 680 }, { EACH(340), EACH(12288) } },
	{ "a window of one packet, and of three", { 68, 204 }, { EACH(68), EACH(204) } },
};

static void fx_ends_desc(const struct fx_ends *ends, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", ends->name);
}

KUNIT_ARRAY_PARAM(fx_duplex, fx_ends, fx_ends_desc);

/*
 * struct fx_duplex - two ends, and what is in flight from each, in order
 * @packets:	of these, packets of each lane
 * @kept:	packets in the buffers of each end
 * @sent:	packets from each end
 */
struct fx_duplex {
	const struct fx_ends *ends;
	struct shca_ib_credits end[2];
	struct {
		struct shca_ib_credit_frame frame;
		u8 period;
		u8 lane;
		bool packet;
	} item[2][WIRE];
	u32 head[2], tail[2];
	u32 packets[2][LANES];
	u32 kept[2][LANES];
	u32 sent[2][LANES];
	u64 random;
	bool lossy;
};

static bool lost(struct fx_duplex *fx, u32 of)
{
	return fx->lossy && !draw_of(&fx->random, of);
}

/* Neither the buffers of the other end nor the queues before it have more than it takes. */
static void duplex_fits(struct kunit *test, const struct fx_duplex *fx, u32 from)
{
	u32 lane, all = 0;

	for (lane = 0; lane < LANES; lane++) {
		KUNIT_ASSERT_GE(test, fx->ends->grant[!from][lane],
				68 * (fx->packets[from][lane] + fx->kept[!from][lane]));
		all += fx->packets[from][lane];
	}
	KUNIT_ASSERT_GE(test, fx->ends->window[!from], 68 * all);
}

static bool duplex_send(struct kunit *test, struct fx_duplex *fx, u32 from, u32 lane)
{
	u32 at = fx->tail[from] % WIRE;

	if (shca_ib_credits_room(&fx->end[from], lane) < 68)
		return false;
	shca_ib_credits_take(&fx->end[from], lane, 68);
	fx->sent[from][lane]++;
	if (lost(fx, 10))
		return true;
	KUNIT_ASSERT_GT(test, (u32)WIRE, fx->tail[from] - fx->head[from]);
	fx->item[from][at].period = fx->end[from].period;
	fx->item[from][at].lane = lane;
	fx->item[from][at].packet = true;
	fx->tail[from]++;
	fx->packets[from][lane]++;
	duplex_fits(test, fx, from);
	return true;
}

static void duplex_tell(struct kunit *test, struct fx_duplex *fx, u32 from)
{
	u32 at = fx->tail[from] % WIRE;

	shca_ib_credits_tell(&fx->end[from], &fx->item[from][at].frame);
	if (lost(fx, 4))
		return;
	KUNIT_ASSERT_GT(test, (u32)WIRE, fx->tail[from] - fx->head[from]);
	fx->item[from][at].packet = false;
	fx->tail[from]++;
}

static void duplex_report(struct kunit *test, struct fx_duplex *fx, u32 from)
{
	if (shca_ib_credits_pending(&fx->end[from]))
		duplex_tell(test, fx, from);
}

/* Return: whether anything was in flight. */
static bool duplex_arrives(struct kunit *test, struct fx_duplex *fx, u32 from)
{
	u32 at = fx->head[from] % WIRE, lane = fx->item[from][at].lane;

	if (fx->head[from] == fx->tail[from])
		return false;
	fx->head[from]++;
	if (!fx->item[from][at].packet) {
		KUNIT_EXPECT_TRUE(test, shca_ib_credits_hear(&fx->end[!from],
							     &fx->item[from][at].frame));
		/* In order: what was sent before is there. */
		shca_ib_credits_reconcile(&fx->end[!from]);
		return true;
	}
	shca_ib_credits_arrived(&fx->end[!from], fx->item[from][at].period, lane, 68);
	KUNIT_EXPECT_TRUE(test, shca_ib_credits_keep(&fx->end[!from], lane, 68));
	fx->packets[from][lane]--;
	fx->kept[!from][lane]++;
	duplex_fits(test, fx, from);
	duplex_report(test, fx, !from);
	return true;
}

static void duplex_free(struct kunit *test, struct fx_duplex *fx, u32 end, u32 lane)
{
	if (!fx->kept[end][lane])
		return;
	fx->kept[end][lane]--;
	shca_ib_credits_free(&fx->end[end], lane, 68);
	duplex_report(test, fx, end);
}

static struct fx_duplex *duplex(struct kunit *test, bool lossy)
{
	struct fx_duplex *fx = kunit_kzalloc(test, sizeof(*fx), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, fx);
	fx->ends = test->param_value;
	fx->lossy = lossy;
	for (i = 0; i < 2; i++) {
		shca_ib_credits_size(&fx->end[i], fx->ends->window[i], fx->ends->grant[i]);
		shca_ib_credits_reset(&fx->end[i], true);
	}
	tell(&fx->end[0], &fx->end[1]);
	tell(&fx->end[1], &fx->end[0]);
	tell(&fx->end[0], &fx->end[1]);
	return fx;
}

/* Nothing is lost: no frame is needed but those that report a third of a buffer. */
static void reports_alone_go_on(struct kunit *test)
{
	struct fx_duplex *fx = duplex(test, false);
	u32 round, i, lane, end;

	for (round = 0; round < 400; round++) {
		for (end = 0; end < 2; end++)
			/* (each lane is the first one in turn, for the window may let one packet pass) */
			for (i = 0; i < 5 * LANES; i++)
				duplex_send(test, fx, end, (round + i) % LANES);
		for (end = 0; end < 2; end++) {
			while (duplex_arrives(test, fx, end))
				;
			for (lane = 0; lane < LANES; lane++)
				while (fx->kept[!end][lane])
					duplex_free(test, fx, !end, lane);
		}
		/* (the frames of the second end) */
		for (end = 0; end < 2; end++)
			while (duplex_arrives(test, fx, end))
				;
	}
	for (end = 0; end < 2; end++)
		for (lane = 0; lane < LANES; lane++)
			if (fx->ends->grant[!end][lane])
				KUNIT_EXPECT_GE(test, fx->sent[end][lane], round / LANES);
			else
				KUNIT_EXPECT_EQ(test, fx->sent[end][lane], 0u);
}

static void duplex_step(struct kunit *test, struct fx_duplex *fx)
{
	u32 end = draw_of(&fx->random, 2), lane = draw_of(&fx->random, LANES);

	switch (draw_of(&fx->random, 8)) {
	case 0:
	case 1:
	case 2:
		duplex_send(test, fx, end, lane);
		break;
	case 3:
	case 4:
	case 5:
		duplex_arrives(test, fx, end);
		break;
	case 6:
		duplex_free(test, fx, end, lane);
		break;
	case 7:
		if (draw_of(&fx->random, 10))
			break;
		shca_ib_credits_turn(&fx->end[end]);
		duplex_tell(test, fx, end);
		break;
	}
}

/* Packets and frames are lost. One period without loss later, all may be sent again. */
static void loss_of_small_buffers_heals(struct kunit *test)
{
	struct fx_duplex *fx = duplex(test, true);
	u32 i, lane, end, blocks;

	for (i = 0; i < 40000; i++) {
		duplex_step(test, fx);
		if (i % 2000 != 1999)
			continue;
		fx->lossy = false;
		for (end = 0; end < 2; end++) {
			while (duplex_arrives(test, fx, end))
				;
			for (lane = 0; lane < LANES; lane++)
				while (fx->kept[!end][lane])
					duplex_free(test, fx, !end, lane);
			shca_ib_credits_turn(&fx->end[end]);
			duplex_tell(test, fx, end);
		}
		while (duplex_arrives(test, fx, 0) || duplex_arrives(test, fx, 1))
			;
		for (end = 0; end < 2; end++)
			duplex_tell(test, fx, end);
		while (duplex_arrives(test, fx, 0) || duplex_arrives(test, fx, 1))
			;
		for (end = 0; end < 2; end++)
			for (lane = 0; lane < LANES; lane++) {
				blocks = min_t(u32, fx->ends->grant[!end][lane],
					       fx->ends->window[!end]);
				KUNIT_ASSERT_EQ(test, shca_ib_credits_room(&fx->end[end], lane),
						blocks);
			}
		fx->lossy = true;
	}
	for (end = 0; end < 2; end++)
		for (lane = 0; lane < LANES; lane++)
			KUNIT_EXPECT_EQ(test, !!fx->sent[end][lane],
					!!fx->ends->grant[!end][lane]);
}

/* ---- a fast link ------------------------------------------------------------ */

/*
 * struct fx_link - a stream of 4 KiB packets over a link, and how bad that is
 * @gbps:	of the link
 * @loss: @frame_loss: @stale:	of 1000 packets that are lost, frames that are lost, frames
 *		that take 20 ms
 * @reorder:	of 1000 packets that take 2 ms, so that frames and others overtake them
 * @wanted:	of 1000, how much of the link is used at least
 */
struct fx_link {
	const char *name;
	u32 gbps, loss, frame_loss, stale, reorder, wanted;
};

static const struct fx_link fx_links[] = {
	{ "1 Gbit/s", 1, 0, 0, 0, 0, 995 },
	{ "1 Gbit/s, stale frames", 1, 0, 0, 100, 0, 950 },
	{ "1 Gbit/s, lost and stale frames", 1, 0, 50, 50, 0, 950 },
	{ "1 Gbit/s, all at once", 1, 1, 20, 50, 10, 950 },
	{ "10 Gbit/s", 10, 0, 0, 0, 0, 995 },
	{ "10 Gbit/s, stale frames", 10, 0, 0, 100, 0, 950 },
	{ "10 Gbit/s, lost and stale frames", 10, 0, 20, 50, 0, 950 },
	{ "10 Gbit/s, overtaking", 10, 0, 0, 20, 5, 950 },
	{ "10 Gbit/s, lost packets", 10, 1, 0, 20, 0, 950 },
};

static void fx_link_desc(const struct fx_link *link, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", link->name);
}

KUNIT_ARRAY_PARAM(fx_link, fx_links, fx_link_desc);

#define FLIGHT	512
#define FRAMES	256
#define US	1000ull
#define MS	1000000ull

/*
 * struct fx_run - ports as ib/ib_queues.c runs them, on a link
 * @packet:	by arrival; @late: those that take longer
 * @frame:	in both directions
 * @fresh:	blocks that b has not told of
 */
struct fx_run {
	const struct fx_link *link;
	struct shca_ib_credits a, b;
	u64 now, random, turned, turning, asked, told, heard;
	struct fx_packet {
		u64 at;
		u8 period;
	} packet[FLIGHT], late[FLIGHT];
	u32 head, tail, late_head, late_tail, fresh, most;
	struct {
		u64 at;
		bool to_a, used;
		struct shca_ib_credit_frame frame;
	} frame[FRAMES];
};

static void run_tell(struct kunit *test, struct fx_run *run, bool to_a, bool ask)
{
	u64 at = run->now + 20 * US;
	u32 i;

	if (draw_of(&run->random, 1000) < run->link->stale)
		at += 20 * MS;
	for (i = 0; i < FRAMES && run->frame[i].used; i++)
		;
	KUNIT_ASSERT_GT(test, (u32)FRAMES, i);
	run->frame[i].at = at;
	run->frame[i].to_a = to_a;
	if (to_a) {
		run->fresh = 0;
		run->told = run->now;
	}
	shca_ib_credits_tell(to_a ? &run->b : &run->a, &run->frame[i].frame);
	run->frame[i].frame.ask = ask;
	run->frame[i].used = draw_of(&run->random, 1000) >= run->link->frame_loss;
}

static void run_hear(struct kunit *test, struct fx_run *run, u32 i)
{
	struct shca_ib_credit_frame *frame = &run->frame[i].frame;
	bool turning = shca_ib_credits_turning(&run->b);

	run->frame[i].used = false;
	if (run->frame[i].to_a) {
		shca_ib_credits_hear(&run->a, frame);
		run->heard = run->now;
		return;
	}
	shca_ib_credits_hear(&run->b, frame);
	if (shca_ib_credits_turning(&run->b) && !turning)
		run->turning = run->now;
	if (frame->ask)
		run_tell(test, run, true, false);
}

static void run_arrive(struct kunit *test, struct fx_run *run, u8 period)
{
	arrive(&run->b, period, 0, 1);
	run->fresh += 68;
	if (run->fresh >= SHCA_IB_REPORT)
		run_tell(test, run, true, false);
}

/* Time passes: all that is due. A tick of the kernel's is 4 ms. */
static void run_time(struct kunit *test, struct fx_run *run)
{
	u32 i;

	for (i = 0; i < FRAMES; i++)
		if (run->frame[i].used && run->frame[i].at <= run->now)
			run_hear(test, run, i);
	while (run->head != run->tail && run->packet[run->head % FLIGHT].at <= run->now)
		run_arrive(test, run, run->packet[run->head++ % FLIGHT].period);
	while (run->late_head != run->late_tail &&
	       run->late[run->late_head % FLIGHT].at <= run->now)
		run_arrive(test, run, run->late[run->late_head++ % FLIGHT].period);
	if (shca_ib_credits_turning(&run->b) && run->now - run->turning >= 24 * MS)
		shca_ib_credits_reconcile(&run->b);
	if (run->now - run->told >= 100 * MS)
		run_tell(test, run, true, false);
	if (run->now - run->turned >= 100 * MS) {
		shca_ib_credits_turn(&run->a);
		run->turned = run->now;
		run_tell(test, run, false, false);
	}
}

static void run_send(struct fx_run *run)
{
	u32 fate = draw_of(&run->random, 1000);
	struct fx_packet packet = { run->now + 20 * US, run->a.period };

	shca_ib_credits_take(&run->a, 0, 68);
	if (fate < run->link->loss)
		return;
	if (fate < run->link->loss + run->link->reorder) {
		packet.at += 2 * MS;
		run->late[run->late_tail++ % FLIGHT] = packet;
	} else {
		run->packet[run->tail++ % FLIGHT] = packet;
	}
	run->most = max_t(u32, run->most, run->tail - run->head +
			       run->late_tail - run->late_head);
}

/* A second of a stream that always has something to send. */
static void fast_link_is_used(struct kunit *test)
{
	struct fx_run *run = kunit_kzalloc(test, sizeof(*run), GFP_KERNEL);
	const struct fx_link *link = test->param_value;
	u64 ns = 68 * 64 * 8 / link->gbps;
	u32 sent = 0, all = 0;

	KUNIT_ASSERT_NOT_NULL(test, run);
	run->link = link;
	run->random = 7;
	begin(&run->a, &run->b);
	for (; run->now < 1000 * MS; run->now += ns, all++) {
		run_time(test, run);
		if (shca_ib_credits_room(&run->a, 0) >= 68) {
			run_send(run);
			sent++;
		} else if (run->now - max_t(u64, run->asked, run->heard) >= 500 * US) {
			run->asked = run->now;
			run_tell(test, run, false, true);
		}
	}
	KUNIT_EXPECT_GE(test, sent * 1000 / all, link->wanted);
	/* and the queues between the ends have an end */
	KUNIT_EXPECT_GE(test, 2 * 180u, run->most);
}

static struct kunit_case ib_credit_cases[] = {
	KUNIT_CASE(frame_both_ways),
	KUNIT_CASE(nothing_leaves_before_a_frame),
	KUNIT_CASE(window_bounds_frames),
	KUNIT_CASE(refused_comes_back),
	KUNIT_CASE(lane_stops_itself),
	KUNIT_CASE(buffer_has_an_end),
	KUNIT_CASE(late_frames_take_nothing),
	KUNIT_CASE(loss_heals),
	KUNIT_CASE(surplus_ends),
	KUNIT_CASE(new_beginning_forgets_what_has_come),
	KUNIT_CASE(restart_heals),
	KUNIT_CASE(counters_go_round),
	KUNIT_CASE(lies_end),
	KUNIT_CASE(news_are_a_third_of_a_buffer),
	KUNIT_CASE_PARAM(small_buffers_report_sooner, report_gen_params),
	KUNIT_CASE(frame_says_what_is_so),
	KUNIT_CASE(reset_forgets_what_was_granted),
	KUNIT_CASE(lies_are_cut_exactly),
	KUNIT_CASE_PARAM(period_is_near_or_begins_anew, period_gen_params),
	KUNIT_CASE(model_agrees),
	KUNIT_CASE_PARAM(reports_alone_go_on, fx_duplex_gen_params),
	KUNIT_CASE_PARAM(loss_of_small_buffers_heals, fx_duplex_gen_params),
	KUNIT_CASE_PARAM(fast_link_is_used, fx_link_gen_params),
	{}
};

static struct kunit_suite ib_credit_suite = {
	.name = "softhca_ib_credit",
	.test_cases = ib_credit_cases,
};

kunit_test_suites(&ib_credit_suite);
