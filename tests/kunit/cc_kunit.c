// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Congestion control of a requester: what algorithms say, and how it is kept (core/requester/cc.h). */
#include "fixture.h"

#define W	SHCA_CC_WINDOW
#define MTU	1024u
#define RTT	(8 * FX_MS)

/* Losses alone make the window. */
#define NONE	__SHCA_CC_ALGO_MAX

static void cc_make(struct shca_cc *cc, u8 algorithm)
{
	const struct shca_cc_attr attr = {
		.algorithm = algorithm,
		.params = algorithm == NONE ? NULL : &shca_cc_presets,
		.line = 10000ull * SHCA_CC_MBIT,
	};

	memset(cc, 0, sizeof(*cc));
	cc->window = W;
	shca_cc_start(cc, &attr, MTU);
}

static void cc_begins_with_its_window(struct kunit *test)
{
	struct shca_cc cc;
	u8 algorithm;

	for (algorithm = 0; algorithm <= NONE; algorithm++) {
		cc_make(&cc, algorithm);
		KUNIT_EXPECT_EQ(test, cc.window, W);
		KUNIT_EXPECT_EQ(test, cc.cwnd, W);
		KUNIT_EXPECT_EQ(test, cc.paces, algorithm == SHCA_CC_ALGO_DCQCN);
		KUNIT_EXPECT_EQ(test, cc.burst, SHCA_CC_NO_BURST);
	}
}

/* More than one in eight of what is outstanding, of the window at least. */
static void cc_many_losses_are_a_queue(struct kunit *test)
{
	struct shca_cc cc;

	cc_make(&cc, NONE);
	shca_cc_on_gap(&cc, W / 8, W / 2);
	KUNIT_EXPECT_EQ(test, cc.cwnd, W);
	shca_cc_on_gap(&cc, 1, 0);
	KUNIT_EXPECT_EQ(test, cc.cwnd, W - W / 4);
	shca_cc_on_gap(&cc, W, 0);
	KUNIT_EXPECT_EQ(test, cc.cwnd, W - W / 4);
	shca_cc_on_undo(&cc);
	KUNIT_EXPECT_EQ(test, cc.cwnd, W);
	/* READs have more of them outstanding */
	shca_cc_on_gap(&cc, W / 4, 2 * W);
	KUNIT_EXPECT_EQ(test, cc.cwnd, W);
	shca_cc_on_gap(&cc, 1, 0);
	KUNIT_EXPECT_EQ(test, cc.cwnd, W - W / 4);
	/* what these have not made smaller is not undone */
	shca_cc_on_gap(&cc, 1, W);
	shca_cc_on_undo(&cc);
	KUNIT_EXPECT_EQ(test, cc.cwnd, W - W / 4);
}

static void cc_window_follows_cnps_where_it_is_asked_to(struct kunit *test)
{
	struct shca_cc cc;

	cc_make(&cc, NONE);
	shca_cc_on_cnp(&cc, RTT, FX_MS);
	KUNIT_EXPECT_EQ(test, cc.cwnd, W);
	cc_make(&cc, SHCA_CC_ALGO_DCQCN);
	shca_cc_on_cnp(&cc, RTT, FX_MS);
	KUNIT_EXPECT_EQ(test, cc.cwnd, W);
	cc_make(&cc, SHCA_CC_ALGO_WINDOW);
	shca_cc_on_cnp(&cc, RTT, FX_MS);
	KUNIT_EXPECT_EQ(test, cc.cwnd, W / 2);
	cc_make(&cc, SHCA_CC_ALGO_DELAY);
	shca_cc_on_cnp(&cc, RTT, FX_MS);
	KUNIT_EXPECT_EQ(test, cc.cwnd, W / 2);
}

/* A round trip that is a quarter above the target, and the least one. */
static void cc_window_follows_the_delay(struct kunit *test)
{
	u64 target = shca_cc_presets.delay_target * 1000ull;
	struct shca_cc cc;

	cc_make(&cc, SHCA_CC_ALGO_DELAY);
	shca_cc_on_rtt(&cc, target, 0, FX_MS);
	shca_cc_on_rtt(&cc, 2 * target, 0, FX_MS);
	KUNIT_EXPECT_EQ(test, cc.cwnd, W);
	shca_cc_on_rtt(&cc, 4 * target, 0, FX_MS);
	KUNIT_EXPECT_EQ(test, cc.cwnd, W / 2);
}

static void cc_smaller_window_counts(struct kunit *test)
{
	struct shca_cc cc;

	cc_make(&cc, SHCA_CC_ALGO_WINDOW);
	shca_cc_on_loss(&cc);
	KUNIT_EXPECT_EQ(test, cc.cwnd, W * 3 / 4);
	shca_cc_on_cnp(&cc, RTT, FX_MS);
	KUNIT_EXPECT_EQ(test, cc.cwnd, W / 2);
	shca_cc_on_loss(&cc);
	shca_cc_on_loss(&cc);
	KUNIT_EXPECT_EQ(test, cc.cwnd, 54u);
	KUNIT_EXPECT_EQ(test, cc.lossy, 54u);
}

/* An eighth for each window of what losses have left, a packet for CNPs'. */
static void cc_windows_grow_at_their_own_pace(struct kunit *test)
{
	struct shca_cc cc;

	cc_make(&cc, SHCA_CC_ALGO_WINDOW);
	shca_cc_on_loss(&cc);
	shca_cc_on_ack(&cc, W * 3 / 4 - 1);
	KUNIT_EXPECT_EQ(test, cc.cwnd, W * 3 / 4);
	shca_cc_on_ack(&cc, 1);
	KUNIT_EXPECT_EQ(test, cc.cwnd, W * 3 / 4 + W * 3 / 32);
	cc_make(&cc, SHCA_CC_ALGO_WINDOW);
	shca_cc_on_cnp(&cc, RTT, FX_MS);
	shca_cc_on_ack(&cc, W);		/* was in flight */
	shca_cc_on_ack(&cc, W / 2);
	KUNIT_EXPECT_EQ(test, cc.cwnd, W / 2 + 1);
	while (cc.cwnd < W)
		shca_cc_on_ack(&cc, W);
	shca_cc_on_ack(&cc, 100 * W);
	KUNIT_EXPECT_EQ(test, cc.cwnd, W);
}

/* Until it is below the least one: CNPs for each window. */
static void cc_make_small(struct shca_cc *cc)
{
	cc_make(cc, SHCA_CC_ALGO_WINDOW);
	while (!cc->paces) {
		shca_cc_on_cnp(cc, RTT, FX_MS);
		shca_cc_on_ack(cc, cc->cwnd);
	}
}

/* A window of 4 packets a round trip of 8 ms: 2 ms for each. */
static void cc_small_window_is_kept_by_a_pace(struct kunit *test)
{
	u64 now = 1000 * FX_MS;
	struct shca_cc cc;

	cc_make_small(&cc);
	KUNIT_EXPECT_TRUE(test, cc.win.cwnd < SHCA_CC_WINDOW_MIN << SHCA_WIN_SHIFT);
	KUNIT_EXPECT_EQ(test, cc.cwnd, SHCA_CC_WINDOW_MIN);
	KUNIT_EXPECT_EQ(test, cc.burst, 1u);
	cc.win.cwnd = 4 << SHCA_WIN_SHIFT;
	KUNIT_EXPECT_EQ(test, shca_cc_on_sent(&cc, 1, RTT, now), now + RTT / 4);
	KUNIT_EXPECT_EQ(test, shca_cc_on_sent(&cc, 2, RTT, now),
			now + RTT * 3 / 4);
	/* time that has passed is no credit */
	now += 10 * RTT;
	KUNIT_EXPECT_EQ(test, shca_cc_on_sent(&cc, 1, RTT, now), now + RTT / 4);
	/* a millisecond may go ahead */
	now += 10 * RTT;
	KUNIT_EXPECT_EQ(test, shca_cc_on_sent(&cc, 1, 4 * FX_MS, now), 0ull);
	KUNIT_EXPECT_EQ(test, shca_cc_on_sent(&cc, 1, 4 * FX_MS, now),
			now + 2 * FX_MS);
	/* and not a nanosecond more */
	now += 10 * RTT;
	KUNIT_EXPECT_EQ(test, shca_cc_on_sent(&cc, 1, 4 * FX_MS + 4, now),
			now + FX_MS + 1);
}

static void cc_window_that_grows_needs_no_pace(struct kunit *test)
{
	struct shca_cc cc;
	u32 i;

	cc_make_small(&cc);
	for (i = 0; i < 1000 && cc.paces; i++)
		shca_cc_on_ack(&cc, SHCA_CC_WINDOW_MIN);
	KUNIT_EXPECT_FALSE(test, cc.paces);
	KUNIT_EXPECT_EQ(test, cc.burst, SHCA_CC_NO_BURST);
	KUNIT_EXPECT_EQ(test, cc.win.cwnd >> SHCA_WIN_SHIFT, SHCA_CC_WINDOW_MIN);
}

/* 10 MB in 10 ms before a CNP: what it leaves of that rate is 750 bytes a microsecond. */
static void cc_rate_is_kept_by_a_pace(struct kunit *test)
{
	u64 now = 1000 * FX_MS, rate;
	struct shca_cc cc;
	u32 i;

	cc_make(&cc, SHCA_CC_ALGO_DCQCN);
	for (i = 0; i < 10; i++, now += FX_MS)
		KUNIT_EXPECT_EQ(test, shca_cc_on_sent(&cc, 1000, RTT, now), 0ull);
	KUNIT_EXPECT_TRUE(test, cc.measured > 1000ull * MTU * 900);
	KUNIT_EXPECT_TRUE(test, cc.measured < 1000ull * MTU * 1600);
	shca_cc_on_cnp(&cc, RTT, now);
	rate = cc.dcqcn.rate;
	KUNIT_EXPECT_TRUE(test, rate >= cc.measured * 75 / 100);
	KUNIT_EXPECT_TRUE(test, rate <= cc.measured * 76 / 100);
	/* (no stage has ended, so the rate is the same) */
	KUNIT_EXPECT_EQ(test, shca_cc_on_sent(&cc, 20, RTT, now), 0ull);
	KUNIT_EXPECT_TRUE(test, cc.burst > 1);
	KUNIT_EXPECT_TRUE(test, (u64)(cc.burst - 1) * MTU * 1000 <= rate);
	KUNIT_EXPECT_TRUE(test, (u64)(cc.burst + 1) * MTU * 1000 >= rate);
	KUNIT_EXPECT_TRUE(test, shca_cc_on_sent(&cc, 10000, RTT, now) > now);
}

/* The bytes of 2 ms at least, and each counts once. */
static void cc_rate_is_measured_over_two_ms(struct kunit *test)
{
	u64 now = 1000 * FX_MS;
	struct shca_cc cc;
	int i;

	cc_make(&cc, SHCA_CC_ALGO_DCQCN);
	shca_cc_on_sent(&cc, 2000, RTT, now);
	for (i = 0; i < 2; i++) {
		shca_cc_on_sent(&cc, 1, RTT, now + 2 * FX_MS - 1);
		KUNIT_EXPECT_EQ(test, cc.measured, i * 2001ull * MTU * 500);
		now += 2 * FX_MS;
		shca_cc_on_sent(&cc, 2000, RTT, now);
		KUNIT_EXPECT_EQ(test, cc.measured, 2001ull * MTU * 500);
	}
}

/* READs of 2 GB each ask for more bytes at once than nanoseconds can be counted with. */
static void cc_rate_of_many_long_reads_is_measured(struct kunit *test)
{
	u64 now = 1000 * FX_MS;
	struct shca_cc cc;
	int i;

	cc_make(&cc, SHCA_CC_ALGO_DCQCN);
	for (i = 0; i < 128; i++)
		shca_cc_on_sent(&cc, 1u << 21, RTT, now);
	shca_cc_on_sent(&cc, 1, RTT, now + 2 * FX_MS);
	KUNIT_EXPECT_TRUE(test, cc.measured > 8ull << 40);
}

/* Its stages are of a limited rate: without a CNP there are none. */
static void cc_rate_rises_where_it_is_limited(struct kunit *test)
{
	u64 now = 1000 * FX_MS, rate;
	struct shca_dcqcn before;
	struct shca_cc cc;

	cc_make(&cc, SHCA_CC_ALGO_DCQCN);
	before = cc.dcqcn;
	KUNIT_EXPECT_EQ(test, shca_cc_on_sent(&cc, 1000, RTT, now), 0ull);
	KUNIT_EXPECT_EQ(test, memcmp(&before, &cc.dcqcn, sizeof(before)), 0);
	shca_cc_on_cnp(&cc, RTT, now);
	/* the second one takes something */
	now += 10 * FX_MS;
	shca_cc_on_cnp(&cc, RTT, now);
	rate = cc.dcqcn.rate;
	shca_cc_on_sent(&cc, 1, RTT, now + RTT + FX_MS);
	KUNIT_EXPECT_GT(test, cc.dcqcn.rate, rate);
}

/* Packets that waited for pacing need not wait any more. */
static void cc_limit_that_ended_holds_nothing(struct kunit *test)
{
	u64 now = 1000 * FX_MS;
	struct shca_cc cc;

	cc_make(&cc, SHCA_CC_ALGO_DCQCN);
	cc.due_ns = now + 50 * FX_MS;
	cc.burst = 1;
	KUNIT_EXPECT_EQ(test, shca_cc_on_sent(&cc, 1, RTT, now), 0ull);
	KUNIT_EXPECT_EQ(test, cc.burst, SHCA_CC_NO_BURST);
}

/* A rate of less than a packet in a millisecond: one at a time, each for its time. */
static void cc_low_rate_lets_one_packet_go(struct kunit *test)
{
	u64 now = 1000 * FX_MS;
	struct shca_cc cc;

	cc_make(&cc, SHCA_CC_ALGO_DCQCN);
	shca_cc_on_cnp(&cc, RTT, now);
	cc.dcqcn.rate = 100409;
	cc.dcqcn.target = 100409;
	cc.dcqcn.rise_at = now + RTT;
	KUNIT_EXPECT_EQ(test, shca_cc_on_sent(&cc, 1, RTT, now), now + 10198288);
	KUNIT_EXPECT_EQ(test, cc.burst, 1u);
}

/* Acknowledgements make the window of losses larger, and are nothing to a rate. */
static void cc_ack_leaves_the_rate(struct kunit *test)
{
	struct shca_dcqcn before;
	struct shca_cc cc;

	cc_make(&cc, SHCA_CC_ALGO_DCQCN);
	cc.dcqcn.rate = 1ull << 32;	/* 34 Gbit/s */
	before = cc.dcqcn;
	shca_cc_on_loss(&cc);
	shca_cc_on_ack(&cc, W);
	KUNIT_EXPECT_EQ(test, memcmp(&before, &cc.dcqcn, sizeof(before)), 0);
}

/* Whatever was known of the path before, only the window at first stays. */
static void cc_start_forgets(struct kunit *test)
{
	struct shca_cc fresh, used;
	u8 algorithm;

	for (algorithm = 0; algorithm <= NONE; algorithm++) {
		cc_make(&fresh, algorithm);
		memset(&used, 0x5a, sizeof(used));
		used.window = W;
		shca_cc_start(&used, &fresh.attr, MTU);
		KUNIT_EXPECT_EQ(test, memcmp(&used, &fresh, sizeof(used)), 0);
	}
}

/* A microsecond above a target of a thousand: a thousandth of the window. */
static void cc_target_is_in_microseconds(struct kunit *test)
{
	u64 target = shca_cc_presets.delay_target * 1000ull;
	struct shca_cc cc;

	cc_make(&cc, SHCA_CC_ALGO_DELAY);
	shca_cc_on_rtt(&cc, 1, 0, FX_MS);
	shca_cc_on_rtt(&cc, 1 + target, 0, FX_MS);
	KUNIT_EXPECT_EQ(test, cc.cwnd, W);
	shca_cc_on_rtt(&cc, 1 + target + target / 1000, 0, FX_MS);
	KUNIT_EXPECT_EQ(test, cc.cwnd, W - 1);
}

/* ---- the table of InfiniBand (IBTA annex A10.2.2) ---------------------------- */

#define SL	3
/* CCTI_Timer of 100 */
#define PERIOD	(100 * 1024ull)
/* a packet at 1 GB/s */
#define PACKET	((u64)MTU)

static void cct_make(struct shca_cc *cc, struct shca_cct *cct)
{
	const struct shca_cc_attr attr = {
		.algorithm = SHCA_CC_ALGO_WINDOW,
		.params = &shca_cc_presets,
		.line = 1000000000,
		.cct = cct,
		.sl = SL,
	};
	u32 i;

	memset(cct, 0, sizeof(*cct));
	cct->limit = 9;
	for (i = 0; i < SHCA_CCT_ENTRIES; i++)
		cct->entries[i] = i;
	cct->sl[SL] = (struct shca_cct_sl){ .timer = 100, .increase = 4 };
	memset(cc, 0, sizeof(*cc));
	cc->window = W;
	shca_cc_start(cc, &attr, MTU);
}

/* Nanoseconds from one packet to the next. */
static u64 cct_gap(struct shca_cc *cc, u64 now)
{
	cc->due_ns = 0;
	shca_cc_on_sent(cc, 1, RTT, now);
	return cc->due_ns ? cc->due_ns - now : 0;
}

static void cc_table_is_the_delay_between_packets(struct kunit *test)
{
	struct shca_cct cct;
	struct shca_cc cc;
	u64 now = FX_MS;
	u32 i;

	cct_make(&cc, &cct);
	KUNIT_EXPECT_FALSE(test, cc.paces);
	/* Each BECN raises the index by CCTI_Increase, up to CCTI_Limit. */
	for (i = 1; i <= 4; i++) {
		shca_cc_on_cnp(&cc, RTT, now);
		KUNIT_EXPECT_TRUE(test, cc.paces);
		KUNIT_EXPECT_EQ(test, cct_gap(&cc, now), PACKET + PACKET * min_t(u32, 4 * i, 9));
	}
	/* (the window stays: the delay is all) */
	KUNIT_EXPECT_EQ(test, cc.cwnd, W);
	/* CCTI_Timer lowers it by one each time. */
	KUNIT_EXPECT_EQ(test, cct_gap(&cc, now + PERIOD - 1), 10 * PACKET);
	KUNIT_EXPECT_EQ(test, cct_gap(&cc, now + PERIOD), 9 * PACKET);
	KUNIT_EXPECT_EQ(test, cct_gap(&cc, now + 3 * PERIOD + PERIOD / 2), 7 * PACKET);
	KUNIT_EXPECT_EQ(test, cct_gap(&cc, now + 4 * PERIOD), 6 * PACKET);
	/* A BECN between does not move the timer. */
	shca_cc_on_cnp(&cc, RTT, now + 4 * PERIOD + PERIOD / 2);
	KUNIT_EXPECT_EQ(test, cct_gap(&cc, now + 5 * PERIOD), 9 * PACKET);
	KUNIT_EXPECT_EQ(test, cct_gap(&cc, now + 12 * PERIOD), 2 * PACKET);
	KUNIT_EXPECT_EQ(test, cct_gap(&cc, now + 13 * PERIOD), 0ull);
	KUNIT_EXPECT_FALSE(test, cc.paces);
	KUNIT_EXPECT_EQ(test, cc.burst, SHCA_CC_NO_BURST);
	/* The timer begins anew with the next BECN. */
	now += 20 * PERIOD + PERIOD / 2;
	shca_cc_on_cnp(&cc, RTT, now);
	KUNIT_EXPECT_EQ(test, cct_gap(&cc, now + PERIOD - 1), 5 * PACKET);
	KUNIT_EXPECT_EQ(test, cct_gap(&cc, now + 1000000 * PERIOD), 0ull);
}

static void cc_table_of_a_manager(struct kunit *test)
{
	struct shca_cct cct;
	struct shca_cc cc;
	u64 now = FX_MS;

	/* Without an increase the level has none. */
	cct_make(&cc, &cct);
	cct.sl[SL].increase = 0;
	shca_cc_on_cnp(&cc, RTT, now);
	KUNIT_EXPECT_FALSE(test, cc.paces);
	KUNIT_EXPECT_EQ(test, cc.cwnd, W);
	/* CCTI_Min, once it was above; a level without a timer stays. */
	cct.sl[SL].increase = 200;
	cct.sl[SL].min = 2;
	shca_cc_on_cnp(&cc, RTT, now);
	KUNIT_EXPECT_EQ(test, cct_gap(&cc, now), 10 * PACKET);
	KUNIT_EXPECT_EQ(test, cct_gap(&cc, now + 100 * PERIOD), 3 * PACKET);
	cct.sl[SL].min = 0;
	cct.sl[SL].timer = 0;
	KUNIT_EXPECT_EQ(test, cct_gap(&cc, now + 1000 * PERIOD), 3 * PACKET);
	/* CCT_Shift divides the time of the packet by a power of two. */
	cct.entries[2] = 3 << 14 | 5;
	KUNIT_EXPECT_EQ(test, cct_gap(&cc, now + 1000 * PERIOD), PACKET + PACKET / 8 * 5);
	/* The last entry counts for an index that the manager has taken away. */
	cct.limit = 1;
	KUNIT_EXPECT_EQ(test, cct_gap(&cc, now + 1000 * PERIOD), 2 * PACKET);
	/* An entry of 0 is no delay. */
	cct.entries[1] = 0;
	KUNIT_EXPECT_EQ(test, cct_gap(&cc, now + 1000 * PERIOD), 0ull);
	KUNIT_EXPECT_EQ(test, cc.burst, SHCA_CC_NO_BURST);
	/* So many packets are a millisecond. */
	cct.entries[1] = 9;
	cct_gap(&cc, now + 1000 * PERIOD);
	KUNIT_EXPECT_EQ(test, cc.burst, 1 + FX_MS / (10 * (u32)PACKET));
}

/* ---- the requester ----------------------------------------------------------- */

static enum shca_verdict fx_cnp(struct fx *fx)
{
	struct shca_pkt pkt;

	memset(&pkt, 0, sizeof(pkt));
	pkt.opcode = SHCA_OPCODE_CNP;
	return shca_req_rx(&fx->req, &pkt, fx->now);
}

/* With a table, packets need not be ECN-capable: a switch of InfiniBand marks all. */
static void cc_cnp_of_infiniband(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_attr attr;
	struct shca_pkt pkt;
	struct shca_cct cct;
	struct shca_cc cc;

	cct_make(&cc, &cct);
	fx_req_attr(&attr);
	attr.cc = cc.attr;
	attr.ecn = false;
	fx_req_start(fx, &attr);
	memset(&pkt, 0, sizeof(pkt));
	pkt.opcode = 0x80;
	KUNIT_EXPECT_EQ(test, shca_req_rx(&fx->req, &pkt, fx->now), SHCA_RX_CNP);
	KUNIT_EXPECT_EQ(test, fx->req.cc.ccti, 4);
}

static void cc_requester_keeps_the_pace(struct kunit *test)
{
	struct shca_cc_params params = shca_cc_presets;
	struct fx *fx = test->priv;
	struct shca_req_attr attr;
	u64 at;

	params.rp_time_reset = 100000;	/* nothing rises meanwhile */
	params.rp_byte_reset = 0;

	fx_req_attr(&attr);
	attr.cc.algorithm = SHCA_CC_ALGO_DCQCN;
	attr.cc.params = &params;
	attr.cc.line = SHCA_CC_MBIT;
	fx_req_start(fx, &attr);
	fx_post(fx, SHCA_WR_RDMA_WRITE, 3 * FX_MTU);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->req.gate.until, (u64)SHCA_GATE_OPEN);
	KUNIT_ASSERT_EQ(test, fx_cnp(fx), SHCA_RX_CNP);
	/* what has left is counted as the next one wants to: 2 ms at 1 Mbit/s */
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	at = fx->req.gate.until;
	KUNIT_EXPECT_TRUE(test, at >= fx->now + 2 * FX_MS);
	fx->now = at - 1;
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	fx->now = at;
	KUNIT_EXPECT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
}

/*
 * Pacing does not count packets that left before it began, also if a full queue stalls the
 * requester at that time.  It continues after a stall.
 */
static void cc_pace_may_begin_in_a_stall(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_attr attr;

	fx_req_attr(&attr);
	attr.cc.algorithm = SHCA_CC_ALGO_WINDOW;
	attr.cc.params = &shca_cc_presets;
	fx_req_start(fx, &attr);
	fx_post(fx, SHCA_WR_RDMA_WRITE, 5 * FX_MTU);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	shca_req_stall(&fx->req, fx->now + FX_MS);
	fx->req.cc.win.cwnd = SHCA_WIN_LEAST;
	KUNIT_ASSERT_EQ(test, fx_cnp(fx), SHCA_RX_CNP);
	KUNIT_ASSERT_TRUE(test, fx->req.cc.paces);
	fx->req.rtt.ns = FX_MS;
	fx->now += FX_MS;
	KUNIT_EXPECT_TRUE(test, fx_next(fx));
	/* a packet of a window of a sixteenth: 16 round trips */
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->req.gate.until, fx->now + 16 * FX_MS);
	fx->now += 16 * FX_MS;
	KUNIT_EXPECT_TRUE(test, fx_next(fx));
	shca_req_stall(&fx->req, 0);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
}

/* By marks, too, the path is measured: a CNP takes what stands in the queue. */
static void cc_window_by_marks_knows_the_queue(struct kunit *test)
{
	struct shca_cc cc;

	cc_make_small(&cc);
	shca_cc_on_rtt(&cc, FX_MS, 0, FX_MS);
	shca_cc_on_rtt(&cc, 4 * FX_MS, 0, 2 * FX_MS);
	KUNIT_EXPECT_EQ(test, cc.win.base_ns, FX_MS);
	KUNIT_EXPECT_EQ(test, cc.win.span_nr, 2);
}

/* A READ of many packets at the least window: no wait is longer than 100 ms. */
static void cc_no_wait_outlives_its_reason(struct kunit *test)
{
	u64 now = 1000 * FX_MS;
	struct shca_cc cc;
	int i;

	cc_make_small(&cc);
	cc.win.cwnd = SHCA_WIN_LEAST;
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, shca_cc_on_sent(&cc, 1024, RTT, now),
				now + 100 * FX_MS);
}

/* No switch marks packets that are not ECN-capable, so no mark has caused this CNP. */
static void cc_cnp_is_for_ecn_capable_packets(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_attr attr;

	fx_req_attr(&attr);
	attr.cc.algorithm = SHCA_CC_ALGO_WINDOW;
	attr.cc.params = &shca_cc_presets;
	attr.ecn = false;
	fx_req_start(fx, &attr);
	KUNIT_EXPECT_EQ(test, fx_cnp(fx), SHCA_RX_CNP);
	KUNIT_EXPECT_EQ(test, fx->req.cc.cwnd, SHCA_CC_WINDOW);
	attr.ecn = true;
	shca_req_modify(&fx->req, &attr, SHCA_REQ_ECN);
	KUNIT_EXPECT_EQ(test, fx_cnp(fx), SHCA_RX_CNP);
	KUNIT_EXPECT_EQ(test, fx->req.cc.cwnd, SHCA_CC_WINDOW / 2);
}

/* A marked READ response stands for what was sent before it, as a CNP does. */
static void cc_marked_response_is_a_cnp(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_attr attr;
	struct shca_pkt pkt;

	fx_req_attr(&attr);
	attr.cc.algorithm = SHCA_CC_ALGO_WINDOW;
	attr.cc.params = &shca_cc_presets;
	fx_req_start(fx, &attr);
	fx_post(fx, SHCA_WR_RDMA_READ, 8);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	memset(&pkt, 0, sizeof(pkt));
	pkt.opcode = SHCA_OP_READ_RESP_ONLY;
	pkt.psn = FX_SQ_PSN;
	pkt.paylen = 8;
	pkt.aeth.syndrome = ACK;
	pkt.path.ecn_ce = true;
	KUNIT_EXPECT_EQ(test, shca_req_rx(&fx->req, &pkt, fx->now), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->req.cc.cwnd, SHCA_CC_WINDOW / 2);
}

/* A round trip of @rtt, in which the window has held something back. */
static void cc_round(struct shca_cc *cc, u64 rtt, u64 now)
{
	cc->limits = true;
	shca_cc_on_rtt(cc, rtt, 0, now);
}

/* A window that holds something back, where no queue is, gets wider by a half. */
static void cc_long_path_gets_a_wide_window(struct kunit *test)
{
	u8 algorithm;
	struct shca_cc cc;

	for (algorithm = SHCA_CC_ALGO_WINDOW; algorithm <= SHCA_CC_ALGO_DELAY; algorithm++) {
		cc_make(&cc, algorithm);
		shca_cc_on_rtt(&cc, RTT, 0, FX_MS);
		KUNIT_EXPECT_EQ(test, cc.cwnd, W);
		cc_round(&cc, RTT, FX_MS);
		KUNIT_EXPECT_EQ(test, cc.cwnd, W * 3 / 2);
		KUNIT_EXPECT_FALSE(test, cc.limits);
		/* once a round trip, if it holds something back again */
		shca_cc_on_rtt(&cc, RTT, 0, FX_MS);
		KUNIT_EXPECT_EQ(test, cc.cwnd, W * 3 / 2);
		while (cc.cwnd < SHCA_CC_WIDEST)
			cc_round(&cc, RTT, FX_MS);
		cc_round(&cc, RTT, FX_MS);
		KUNIT_EXPECT_EQ(test, cc.cwnd, SHCA_CC_WIDEST);
		/* another connection knows nothing of it */
		cc_make(&cc, algorithm);
		KUNIT_EXPECT_EQ(test, cc.wide, W);
	}
}

/* A quarter of the least round trip is a queue, also after a minute of it. */
static void cc_queue_keeps_the_window(struct kunit *test)
{
	struct shca_cc cc;
	u32 s;

	cc_make(&cc, SHCA_CC_ALGO_WINDOW);
	cc_round(&cc, RTT + RTT / 4, FX_MS);
	KUNIT_EXPECT_EQ(test, cc.wide, W * 3 / 2);
	shca_cc_on_rtt(&cc, RTT, 0, FX_MS);
	for (s = 0; s < 60; s++)
		cc_round(&cc, RTT + RTT / 4 + 1, s * 1000 * FX_MS);
	KUNIT_EXPECT_EQ(test, cc.wide, W * 3 / 2);
	cc_round(&cc, RTT + RTT / 4, FX_MS);
	KUNIT_EXPECT_EQ(test, cc.wide, W * 9 / 4);
}

/* A wide window that makes a queue gets what the path has carried without it, and a quarter. */
static void cc_wide_window_that_makes_a_queue_gets_smaller(struct kunit *test)
{
	struct shca_cc cc;

	cc_make(&cc, SHCA_CC_ALGO_WINDOW);
	cc_round(&cc, RTT, FX_MS);
	while (cc.cwnd < SHCA_CC_WIDEST)
		cc_round(&cc, RTT, FX_MS);
	/* up to a quarter more is none; and of what was not measured nothing is known */
	shca_cc_on_rtt(&cc, RTT + RTT / 4, 4000, FX_MS);
	shca_cc_on_rtt(&cc, 2 * RTT, 0, FX_MS);
	KUNIT_EXPECT_EQ(test, cc.cwnd, SHCA_CC_WIDEST);
	/* nor where less than half of it was used */
	shca_cc_on_rtt(&cc, 2 * RTT, SHCA_CC_WIDEST / 2 - 1, FX_MS);
	KUNIT_EXPECT_EQ(test, cc.cwnd, SHCA_CC_WIDEST);
	shca_cc_on_rtt(&cc, 2 * RTT, 4000, FX_MS);
	KUNIT_EXPECT_EQ(test, cc.cwnd, 2500u);
	KUNIT_EXPECT_EQ(test, cc.wide, 2500u);
	KUNIT_EXPECT_EQ(test, cc.win.cwnd >> SHCA_WIN_SHIFT, 2500u);
	/* it does not grow by that */
	shca_cc_on_rtt(&cc, 3 * RTT / 2, 4000, FX_MS);
	KUNIT_EXPECT_EQ(test, cc.wide, 2500u);
	/* from now on it grows slowly, where there is no queue at all */
	cc_round(&cc, RTT + RTT / 16 + 1, FX_MS);
	KUNIT_EXPECT_EQ(test, cc.wide, 2500u);
	cc_round(&cc, RTT + RTT / 16, FX_MS);
	KUNIT_EXPECT_EQ(test, cc.wide, 2500u + 2500 / 16);
	/* a window that is not wide stays */
	shca_cc_on_rtt(&cc, 100 * RTT, 2000, FX_MS);
	KUNIT_EXPECT_EQ(test, cc.wide, SHCA_CC_WIDE_ENOUGH);
	shca_cc_on_rtt(&cc, 100 * RTT, 200, FX_MS);
	KUNIT_EXPECT_EQ(test, cc.wide, SHCA_CC_WIDE_ENOUGH);
}

/* A loss that was none gives a window back, but not a width that the path did not have. */
static void cc_undo_leaves_the_width(struct kunit *test)
{
	struct shca_cc cc;

	cc_make(&cc, SHCA_CC_ALGO_WINDOW);
	cc_round(&cc, RTT, FX_MS);
	while (cc.cwnd < SHCA_CC_WIDEST)
		cc_round(&cc, RTT, FX_MS);
	shca_cc_on_loss(&cc);
	while (cc.cwnd < SHCA_CC_WIDEST)
		shca_cc_on_ack(&cc, SHCA_CC_WIDEST);
	shca_cc_on_rtt(&cc, 2 * RTT, 4000, FX_MS);
	KUNIT_EXPECT_EQ(test, cc.wide, 2500u);
	shca_cc_on_undo(&cc);
	KUNIT_EXPECT_EQ(test, cc.cwnd, 2500u);
	shca_cc_on_loss(&cc);
	KUNIT_EXPECT_EQ(test, cc.cwnd, 2500u - 625);
}

/* The bounds of getting smaller, and of getting wider where nothing was held back. */
static void cc_width_at_its_bounds(struct kunit *test)
{
	struct shca_cc cc;

	cc_make(&cc, SHCA_CC_ALGO_WINDOW);
	cc_round(&cc, RTT, FX_MS);
	cc_round(&cc, RTT, FX_MS);
	KUNIT_EXPECT_EQ(test, cc.wide, W * 9 / 4);
	/* (wider than what is wide enough) */
	shca_cc_on_rtt(&cc, RTT, 0, FX_MS);
	KUNIT_EXPECT_EQ(test, cc.wide, W * 9 / 4);
	while (cc.cwnd < SHCA_CC_WIDEST)
		cc_round(&cc, RTT, FX_MS);
	/* 3277 and a quarter: it is as wide as the path and its queue take */
	shca_cc_on_rtt(&cc, 2 * RTT, 2 * 3277, FX_MS);
	KUNIT_EXPECT_EQ(test, cc.wide, SHCA_CC_WIDEST);
	KUNIT_EXPECT_FALSE(test, cc.narrowed);
	/* half of it was used; 205 and a quarter would be 256 */
	shca_cc_on_rtt(&cc, 10 * RTT, SHCA_CC_WIDEST / 2, FX_MS);
	KUNIT_EXPECT_EQ(test, cc.wide, SHCA_CC_WIDE_ENOUGH);
	cc_make(&cc, SHCA_CC_ALGO_WINDOW);
	cc_round(&cc, RTT, FX_MS);
	while (cc.cwnd < SHCA_CC_WIDEST)
		cc_round(&cc, RTT, FX_MS);
	/* 206 and a quarter */
	shca_cc_on_rtt(&cc, 10 * RTT, 2060, FX_MS);
	KUNIT_EXPECT_EQ(test, cc.wide, SHCA_CC_WIDE_ENOUGH + 1);
	shca_cc_on_rtt(&cc, 100 * RTT, 200, FX_MS);
	KUNIT_EXPECT_EQ(test, cc.wide, SHCA_CC_WIDE_ENOUGH);
}

/* What made it smaller is the limit then: losses and marks. It comes back to its width. */
static void cc_smaller_window_gets_no_wider(struct kunit *test)
{
	struct shca_cc cc;

	cc_make(&cc, SHCA_CC_ALGO_WINDOW);
	cc_round(&cc, RTT, FX_MS);
	shca_cc_on_loss(&cc);
	cc_round(&cc, RTT, FX_MS);
	KUNIT_EXPECT_EQ(test, cc.wide, W * 3 / 2);
	while (cc.cwnd < W * 3 / 2)
		shca_cc_on_ack(&cc, W);
	shca_cc_on_cnp(&cc, RTT, FX_MS);
	KUNIT_EXPECT_EQ(test, cc.cwnd, W * 3 / 4);
	cc_round(&cc, RTT, FX_MS);
	KUNIT_EXPECT_EQ(test, cc.wide, W * 3 / 2);
	cc.win.cwnd = (cc.wide << SHCA_WIN_SHIFT) - 1;
	while (cc.cwnd < cc.wide)
		shca_cc_on_ack(&cc, W);
	cc_round(&cc, RTT, FX_MS);
	KUNIT_EXPECT_EQ(test, cc.wide, W * 9 / 4);
}

/* It asks as often as before: what the answers let go is not a quarter of it at once. */
static void cc_wide_window_asks_as_often(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i, since = 0, longest = 0;

	fx->req.cc.cwnd = 8 * W;
	fx_post(fx, SHCA_WR_RDMA_WRITE, 1 << 20);
	fx_post(fx, SHCA_WR_RDMA_WRITE, 1 << 20);
	for (i = 0; fx_next(fx); i++) {
		since = fx->pkt.ackreq ? 0 : since + 1;
		longest = max_t(u32, longest, since);
		KUNIT_EXPECT_FALSE(test, fx->req.cc.limits);
	}
	KUNIT_EXPECT_EQ(test, i, 8 * W);
	KUNIT_EXPECT_EQ(test, longest, W / 4 - 1);
	KUNIT_EXPECT_TRUE(test, fx->req.cc.limits);
}

/* A peer of unknown vendor drops the whole window behind a gap. */
static void cc_unknown_peer_gets_no_window_of_thousands(struct kunit *test)
{
	static const struct {
		u32 peer, wide;
		bool limits;
	} rows[] = {
		{ 0, 255, true },
		{ 0, 256, false },
		{ SHCA_PEER_FLUSHES_ACKS, 256, false },
		{ SHCA_PEER_OOO, 256, true },
		{ SHCA_PEER_OOO, 4095, true },
	};
	struct fx *fx = test->priv;
	struct shca_req_attr attr;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		fx_req_attr(&attr);
		attr.peer = rows[i].peer;
		fx_req_start(fx, &attr);
		fx->req.cc.wide = rows[i].wide;
		fx_post(fx, SHCA_WR_RDMA_WRITE, (W + 1) * FX_MTU);
		KUNIT_EXPECT_EQ(test, fx_drain(fx), W);
		KUNIT_EXPECT_EQ(test, fx->req.cc.limits, rows[i].limits);
	}
}

/* A requester keeps as many responses to READs behind a gap, and no more. */
static void cc_reads_of_a_wide_window_are_kept(struct kunit *test)
{
	static const u32 most[] = { SHCA_CC_WIDE_ENOUGH, SHCA_CC_WIDEST };
	struct fx *fx = test->priv;
	struct shca_req_attr attr;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(most); i++) {
		fx_req_attr(&attr);
		attr.ooo = true;
		attr.peer = i ? SHCA_PEER_OOO : 0;
		fx_req_start(fx, &attr);
		fx->req.cc.cwnd = SHCA_CC_WIDEST;
		fx_post(fx, SHCA_WR_RDMA_READ, (most[i] - 1) * FX_MTU);
		fx_post(fx, SHCA_WR_RDMA_READ, FX_MTU);
		KUNIT_EXPECT_EQ(test, fx_drain(fx), 2u);
		fx_post(fx, SHCA_WR_RDMA_READ, 8);
		KUNIT_EXPECT_EQ(test, fx_drain(fx), 0u);
	}
}

/* So it is with READs, whose responses are the packets. */
static void cc_reads_tell_of_the_limit(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, SHCA_WR_RDMA_READ, W * SHCA_REQ_READ_FACTOR * FX_MTU);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
	KUNIT_EXPECT_FALSE(test, fx->req.cc.limits);
	fx_post(fx, SHCA_WR_RDMA_READ, 8);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 0u);
	KUNIT_EXPECT_TRUE(test, fx->req.cc.limits);
}

static void cc_start_requester(struct fx *fx, u8 algorithm)
{
	struct shca_req_attr attr;

	fx_req_attr(&attr);
	attr.cc.algorithm = algorithm;
	attr.cc.params = &shca_cc_presets;
	fx_req_start(fx, &attr);
}

/* One message, acknowledged after @ns. */
static void cc_message(struct kunit *test, u64 ns)
{
	struct fx *fx = test->priv;

	fx_post(fx, SHCA_WR_SEND, 8);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	fx->now += ns;
	KUNIT_ASSERT_EQ(test, fx_ack(fx, fx->pkt.psn, ACK), SHCA_RX_OK);
}

/* Without a stall, too: the CNP itself begins pacing. */
static void cc_pace_begins_with_the_cnp(struct kunit *test)
{
	struct fx *fx = test->priv;

	cc_start_requester(fx, SHCA_CC_ALGO_WINDOW);
	fx_post(fx, SHCA_WR_RDMA_WRITE, 5 * FX_MTU);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	fx->req.cc.win.cwnd = SHCA_WIN_LEAST;
	fx->req.rtt.ns = FX_MS;
	KUNIT_ASSERT_EQ(test, fx_cnp(fx), SHCA_RX_CNP);
	KUNIT_EXPECT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
}

/* A round trip far above the target makes the window small, and begins pacing. */
static void cc_pace_begins_with_the_delay(struct kunit *test)
{
	struct fx *fx = test->priv;

	cc_start_requester(fx, SHCA_CC_ALGO_DELAY);
	cc_message(test, FX_MS);
	fx->req.cc.win.cwnd = SHCA_CC_WINDOW_MIN << SHCA_WIN_SHIFT;
	cc_message(test, 40 * FX_MS);
	KUNIT_ASSERT_TRUE(test, fx->req.cc.paces);
	KUNIT_EXPECT_EQ(test, fx->req.gate.until, (u64)SHCA_GATE_OPEN);
	fx_post(fx, SHCA_WR_SEND, 8);
	fx_post(fx, SHCA_WR_SEND, 8);
	KUNIT_EXPECT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
}

/* A round trip that may contain a time-out says nothing of the queue on the path. */
static void cc_path_is_not_measured_by_a_guess(struct kunit *test)
{
	struct fx *fx = test->priv;

	cc_start_requester(fx, SHCA_CC_ALGO_WINDOW);
	fx_post(fx, SHCA_WR_SEND, 8);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	fx_timeout(fx);
	KUNIT_ASSERT_EQ(test, fx_drain(fx), 1u);
	fx->now += RTT;
	fx_ack(fx, FX_SQ_PSN, ACK);
	KUNIT_ASSERT_EQ(test, fx->req.rtt.ns, FX_TIMEOUT + RTT);
	KUNIT_EXPECT_EQ(test, fx->req.cc.least_ns, 0ull);
	KUNIT_EXPECT_EQ(test, fx->req.cc.win.span_nr, 0);
	cc_message(test, RTT);
	KUNIT_EXPECT_EQ(test, fx->req.cc.least_ns, RTT);
	KUNIT_EXPECT_EQ(test, fx->req.cc.win.span_nr, 1);
}

/* Pacing counts bytes. */
static void cc_knows_the_path_mtu(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_attr attr;

	fx_req_attr(&attr);
	for (attr.mtu = 256; attr.mtu <= 4096; attr.mtu *= 2) {
		fx_req_start(fx, &attr);
		KUNIT_EXPECT_EQ(test, fx->req.cc.mtu, attr.mtu);
	}
}

/* 600 packets in two round trips: a path of 300, and a quarter more. */
static void cc_round_trip_counts_what_was_acknowledged(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_cc *cc = &fx->req.cc;

	cc_start_requester(fx, SHCA_CC_ALGO_WINDOW);
	cc->least_ns = RTT;
	cc->wide = 1024;
	cc->cwnd = 1024;
	cc->lossy = 1024;
	fx_post(fx, SHCA_WR_RDMA_WRITE, 600 * FX_MTU);
	KUNIT_ASSERT_EQ(test, fx_drain(fx), 600u);
	fx->now += 2 * RTT;
	KUNIT_ASSERT_EQ(test, fx_ack(fx, FX_SQ_PSN + 599, ACK), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, cc->wide, 375u);
}

/* A window that has grown again needs no pacing, even after packets that were paced. */
static void cc_pace_ends_with_its_cause(struct kunit *test)
{
	struct fx *fx = test->priv;

	cc_start_requester(fx, SHCA_CC_ALGO_WINDOW);
	fx_post(fx, SHCA_WR_RDMA_WRITE, 5 * FX_MTU);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	fx->req.cc.win.cwnd = SHCA_WIN_LEAST;
	fx->req.rtt.ns = 100 * FX_MS;
	KUNIT_ASSERT_EQ(test, fx_cnp(fx), SHCA_RX_CNP);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	fx->req.cc.win.cwnd = SHCA_CC_WINDOW_MIN << SHCA_WIN_SHIFT;
	fx->req.cc.paces = false;
	KUNIT_EXPECT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->req.gate.until, 0ull);
}

/* A rate is measured by what leaves, and not by looks at an empty queue. */
static void cc_rate_is_measured_by_what_leaves(struct kunit *test)
{
	struct fx *fx = test->priv;
	u64 since;

	cc_start_requester(fx, SHCA_CC_ALGO_DCQCN);
	fx_post(fx, SHCA_WR_RDMA_WRITE, FX_MTU);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	fx->now += 10 * FX_MS;
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	since = fx->now;
	KUNIT_EXPECT_EQ(test, fx->req.cc.since, since);
	fx->now += 10 * FX_MS;
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->req.cc.since, since);
}

/* Pacing that lets the next packet go needs no timer. */
static void cc_open_gate_has_no_deadline(struct kunit *test)
{
	struct fx *fx = test->priv;

	cc_start_requester(fx, SHCA_CC_ALGO_WINDOW);
	fx->req.cc.win.cwnd = SHCA_WIN_LEAST;
	KUNIT_ASSERT_EQ(test, fx_cnp(fx), SHCA_RX_CNP);
	shca_req_release(&fx->req);
	fx_post(fx, SHCA_WR_SEND, 8);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), 0ull);
}

static struct kunit_case cc_cases[] = {
	KUNIT_CASE(cc_begins_with_its_window),
	KUNIT_CASE(cc_many_losses_are_a_queue),
	KUNIT_CASE(cc_rate_is_measured_over_two_ms),
	KUNIT_CASE(cc_rate_rises_where_it_is_limited),
	KUNIT_CASE(cc_limit_that_ended_holds_nothing),
	KUNIT_CASE(cc_low_rate_lets_one_packet_go),
	KUNIT_CASE(cc_ack_leaves_the_rate),
	KUNIT_CASE(cc_start_forgets),
	KUNIT_CASE(cc_target_is_in_microseconds),
	KUNIT_CASE(cc_width_at_its_bounds),
	KUNIT_CASE(cc_undo_leaves_the_width),
	KUNIT_CASE(cc_rate_of_many_long_reads_is_measured),
	KUNIT_CASE(cc_window_follows_cnps_where_it_is_asked_to),
	KUNIT_CASE(cc_window_follows_the_delay),
	KUNIT_CASE(cc_smaller_window_counts),
	KUNIT_CASE(cc_windows_grow_at_their_own_pace),
	KUNIT_CASE(cc_small_window_is_kept_by_a_pace),
	KUNIT_CASE(cc_window_that_grows_needs_no_pace),
	KUNIT_CASE(cc_rate_is_kept_by_a_pace),
	KUNIT_CASE(cc_table_is_the_delay_between_packets),
	KUNIT_CASE(cc_table_of_a_manager),
	KUNIT_CASE(cc_cnp_of_infiniband),
	KUNIT_CASE(cc_requester_keeps_the_pace),
	KUNIT_CASE(cc_pace_may_begin_in_a_stall),
	KUNIT_CASE(cc_window_by_marks_knows_the_queue),
	KUNIT_CASE(cc_no_wait_outlives_its_reason),
	KUNIT_CASE(cc_cnp_is_for_ecn_capable_packets),
	KUNIT_CASE(cc_marked_response_is_a_cnp),
	KUNIT_CASE(cc_long_path_gets_a_wide_window),
	KUNIT_CASE(cc_queue_keeps_the_window),
	KUNIT_CASE(cc_wide_window_that_makes_a_queue_gets_smaller),
	KUNIT_CASE(cc_smaller_window_gets_no_wider),
	KUNIT_CASE(cc_wide_window_asks_as_often),
	KUNIT_CASE(cc_reads_tell_of_the_limit),
	KUNIT_CASE(cc_unknown_peer_gets_no_window_of_thousands),
	KUNIT_CASE(cc_reads_of_a_wide_window_are_kept),
	KUNIT_CASE(cc_pace_begins_with_the_cnp),
	KUNIT_CASE(cc_pace_begins_with_the_delay),
	KUNIT_CASE(cc_path_is_not_measured_by_a_guess),
	KUNIT_CASE(cc_knows_the_path_mtu),
	KUNIT_CASE(cc_round_trip_counts_what_was_acknowledged),
	KUNIT_CASE(cc_pace_ends_with_its_cause),
	KUNIT_CASE(cc_rate_is_measured_by_what_leaves),
	KUNIT_CASE(cc_open_gate_has_no_deadline),
	{}
};

static struct kunit_suite cc_suite = {
	.name = "softhca_cc",
	.init = fx_init,
	.test_cases = cc_cases,
};

kunit_test_suites(&cc_suite);
