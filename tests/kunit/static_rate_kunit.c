// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The static rate of a path (IBTA 9.11), by a virtual clock: core/requester/rate.h.
 *
 * The time of a packet is that of its bytes at the rate.  Beside payload and headers these are
 * 66 of Ethernet (14 and 4), IPv6 (40) and UDP (8), and 4 of the ICRC.
 */
#include "fixture.h"

#define MBIT		1000u
#define SLOWEST		(2500 * MBIT)
#define BURST		SHCA_RATE_BURST_NS
#define OUTSIDE		(14 + 40 + 8 + 4 + 4)
/* a READ of so much has responses of this many packets */
#define READ_PKTS	1000u

static void start_req(struct fx *fx, u8 transport, u32 kbps)
{
	struct shca_req_attr attr;

	fx_req_attr(&attr);
	attr.transport = transport;
	attr.rate_kbps = kbps;
	fx_req_start(fx, &attr);
	/* from here on what was idle is not made up for */
	fx->now = 1000 * FX_MS;
}

static void start_resp(struct fx *fx, u32 kbps)
{
	struct shca_resp_attr attr;

	fx_resp_attr(&attr);
	attr.rate_kbps = kbps;
	shca_resp_reset(&fx->resp);
	fx_resp_start(fx, &attr);
	fx->now = 1000 * FX_MS;
}

/* Nanoseconds of @bytes at @kbps, as they are on the wire. */
static u64 time_of(u64 bytes, u32 kbps)
{
	return div64_u64(bytes * 8 * 1000000, kbps);
}

/* ---- one packet ------------------------------------------------------------------- */

struct time_row {
	const char *name;
	u8 opcode;
	u32 paylen;
	u32 span;
	u32 kbps;
	u64 ns;		/* expected, counted by hand */
};

static const struct time_row time_rows[] = {
	/* 12 + 1024 + 70 = 1106 bytes */
	{ "2.5 Gbit/s", SHCA_OP_WRITE_MIDDLE, 1024, 0, 2500000, 3540 },
	{ "5 Gbit/s", SHCA_OP_WRITE_MIDDLE, 1024, 0, 5000000, 1770 },
	{ "10 Gbit/s", SHCA_OP_WRITE_MIDDLE, 1024, 0, 10000000, 885 },
	/* 14.0625 */
	{ "FDR", SHCA_OP_WRITE_MIDDLE, 1024, 0, 14062000, 630 },
	{ "600 Gbit/s", SHCA_OP_WRITE_MIDDLE, 1024, 0, 637500000, 14 },
	/* 12 + 16 + 256 + 70 */
	{ "RETH", SHCA_OP_WRITE_FIRST, 256, 0, 8000000, 354 },
	/* 12 + 3 + 1 of padding + 70 */
	{ "padding", SHCA_OP_SEND_LAST, 3, 0, 8000000, 86 },
	/* 3 times 12 + 256 + 70 */
	{ "run", SHCA_OP_SEND_MIDDLE, 3 * 256, 2, 8000000, 3 * 338 },
	{ "ACK", SHCA_OP_ACK, 0, 0, 8000000, 12 + 4 + 70 },
	/* 86 bytes are 688 bits: 1 ns, and the smallest part of one that there is */
	{ "a part of a nanosecond", SHCA_OP_ACK, 0, 0, 687999999, 2 },
};

static void time_desc(const struct time_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(time, time_rows, time_desc);

static void rate_gives_a_packet_its_time(struct kunit *test)
{
	const struct time_row *row = test->param_value;
	struct shca_pkt pkt = {
		.opcode = row->opcode,
		.paylen = row->paylen,
		.pad = shca_hdr_pad(row->paylen),
		.span = row->span,
	};
	struct shca_rate rate;

	shca_rate_set(&rate, row->kbps, 1024);
	KUNIT_EXPECT_TRUE(test, rate.on);
	shca_rate_sent(&rate, row->kbps, &pkt, FX_MS);
	KUNIT_EXPECT_EQ(test, rate.due_ns, FX_MS - BURST + row->ns);
	shca_rate_sent(&rate, row->kbps, &pkt, FX_MS);
	KUNIT_EXPECT_EQ(test, rate.due_ns, FX_MS - BURST + 2 * row->ns);
}

/* Ahead by a burst, and no more; then until all of it is over. */
static void rate_waits_for_all_that_is_ahead(struct kunit *test)
{
	struct shca_rate rate;

	shca_rate_set(&rate, SLOWEST, 1024);
	rate.due_ns = FX_MS + BURST;
	KUNIT_EXPECT_EQ(test, shca_rate_until(&rate, FX_MS), 0ull);
	rate.due_ns++;
	KUNIT_EXPECT_EQ(test, shca_rate_until(&rate, FX_MS), FX_MS + BURST + 1);
	KUNIT_EXPECT_EQ(test, shca_rate_until(&rate, FX_MS + BURST), FX_MS + BURST + 1);
	KUNIT_EXPECT_EQ(test, shca_rate_until(&rate, FX_MS + BURST + 1), 0ull);
	/* (an acknowledgement in between makes it no longer) */
	rate.due_ns = FX_MS + 3 * BURST;
	KUNIT_EXPECT_EQ(test, shca_rate_until(&rate, FX_MS), FX_MS + 3 * BURST);
	rate.due_ns += 10;
	KUNIT_EXPECT_EQ(test, shca_rate_until(&rate, FX_MS), FX_MS + 3 * BURST);
}

/* A clock that begins at 0, and no rate. */
static void rate_begins_at_any_time(struct kunit *test)
{
	struct shca_pkt pkt = { .opcode = SHCA_OP_SEND_ONLY, .paylen = 2 };
	struct shca_rate rate;

	shca_rate_set(&rate, SLOWEST, 4096);
	shca_rate_sent(&rate, 8000000, &pkt, 5);
	KUNIT_EXPECT_EQ(test, rate.due_ns, 12ull + 2 + OUTSIDE);
	/* a nanosecond more than a burst later */
	shca_rate_set(&rate, SLOWEST, 4096);
	shca_rate_sent(&rate, 8000000, &pkt, BURST + 1);
	KUNIT_EXPECT_EQ(test, rate.due_ns, 1 + 12ull + 2 + OUTSIDE);
	shca_rate_set(&rate, 0, 4096);
	KUNIT_EXPECT_FALSE(test, rate.on);
	KUNIT_EXPECT_EQ(test, rate.due_ns, 0ull);
}

/* ---- a requester --------------------------------------------------------------------- */

static const u32 kbps_rows[] = {
	2500 * MBIT, 5000 * MBIT, 10000 * MBIT, 14062 * MBIT, 25781 * MBIT, 40000 * MBIT,
};

static void kbps_desc(const u32 *kbps, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u kbit/s", *kbps);
}

KUNIT_ARRAY_PARAM(kbps, kbps_rows, kbps_desc);

/* Go on whenever the deadline says so, @late after it; how many bytes of the wire have left. */
static u64 send_for(struct kunit *test, u64 ns, u64 late, bool acks)
{
	struct fx *fx = test->priv;
	u64 end = fx->now + ns, bytes = 0, at;

	while (fx->now <= end) {
		while (fx_next(fx)) {
			bytes += fx->pkt.paylen + (fx->pkt.span + 1) *
				 (shca_opcode_info(fx->pkt.opcode)->hdr_len + OUTSIDE);
			if (acks && fx->pkt.ackreq)
				fx_ack(fx, fx->pkt.psn + fx->pkt.span, ACK);
			while (fx_pop(fx))
				fx_post(fx, SHCA_WR_RDMA_WRITE, 64 * FX_MTU);
		}
		at = shca_req_deadline(&fx->req);
		KUNIT_ASSERT_GT(test, at, fx->now);
		fx->now = at + late;
		shca_req_timer(&fx->req, fx->now);
	}
	return bytes;
}

static void fill(struct fx *fx)
{
	while (fx_post(fx, SHCA_WR_RDMA_WRITE, 64 * FX_MTU))
		;
}

/* Not faster, and not slower: within two bursts and the run that ends one. */
static void expect_rate(struct kunit *test, u64 bytes, u32 kbps, u64 from)
{
	struct fx *fx = test->priv;
	u64 ns = time_of(bytes, kbps), most = 3 * BURST;

	KUNIT_EXPECT_LE(test, ns, fx->now - from + most);
	KUNIT_EXPECT_GE(test, ns + most, fx->now - from);
	KUNIT_EXPECT_EQ(test, fx->req.stats.timeouts, 0ull);
	KUNIT_EXPECT_EQ(test, fx->req.stats.retransmits, 0ull);
}

static void req_keeps_its_rate(struct kunit *test)
{
	u32 kbps = *(const u32 *)test->param_value;
	struct fx *fx = test->priv;
	u64 from;

	start_req(fx, SHCA_TRANSPORT_RC, kbps);
	fx->req.psn.max_run = 62;
	from = fx->now;
	fill(fx);
	expect_rate(test, send_for(test, 50 * FX_MS, 0, true), kbps, from);
}

/* UC has no acknowledgements; and a timer that is late by less than a burst costs nothing. */
static void req_of_uc_keeps_its_rate_with_late_timers(struct kunit *test)
{
	u32 kbps = *(const u32 *)test->param_value;
	struct fx *fx = test->priv;
	u64 from;

	start_req(fx, SHCA_TRANSPORT_UC, kbps);
	fx->req.psn.max_run = 62;
	from = fx->now;
	fill(fx);
	expect_rate(test, send_for(test, 50 * FX_MS, BURST / 2, false), kbps, from);
}

/* 31556 bytes in 100 us are 98 packets of 256 bytes and 66; and one is the least. */
static void req_run_is_what_a_burst_has(struct kunit *test)
{
	static const u32 rows[][2] = {
		{ 2524480, 98 }, { 2524479, 97 }, { 51520, 2 }, { 51519, 1 }, { 10, 1 },
	};
	struct fx *fx = test->priv;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		start_req(fx, SHCA_TRANSPORT_RC, rows[i][0]);
		KUNIT_EXPECT_EQ(test, fx->req.rate.run, rows[i][1]);
	}
}

/* 3155 bytes in 100 us: a run of packets that is handed out as one is no longer than a burst. */
static void req_run_is_within_a_burst(struct kunit *test)
{
	struct fx *fx = test->priv;

	start_req(fx, SHCA_TRANSPORT_UC, 252448);
	fx->req.psn.max_run = 62;
	fx_post(fx, SHCA_WR_RDMA_WRITE, 100 * FX_MTU);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.span + 1, 9u);
}

static void resp_run_is_within_a_burst(struct kunit *test)
{
	struct fx *fx = test->priv;

	start_resp(fx, 252448);
	fx->resp.max_run = 62;
	fx_rx_op(fx, SHCA_OP_READ_REQUEST, FX_RQ_PSN, 100 * FX_MTU);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.span + 1, 9u);
}

/* The gap between single packets: what is ahead has to be over. */
static void req_gap_is_the_time_of_the_packets(struct kunit *test)
{
	struct fx *fx = test->priv;
	u64 each = time_of(12 + 16 + FX_MTU + OUTSIDE, 8000000);
	u64 begin, nr = 0;

	start_req(fx, SHCA_TRANSPORT_UC, 8000000);
	begin = fx->now;
	for (; nr < 1000; nr++) {
		fx_post(fx, SHCA_WR_RDMA_WRITE, FX_MTU);
		if (!fx_next(fx))
			break;
		fx_pop(fx);
	}
	/* 354 ns each: after a pause two bursts leave at once */
	KUNIT_EXPECT_EQ(test, nr, 2 * BURST / each + 1);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), begin - BURST + nr * each);
	fx->now = shca_req_deadline(&fx->req) - 1;
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	fx->now++;
	KUNIT_EXPECT_TRUE(test, fx_next(fx));
}

/* READ requests are short, whatever they ask for: responses are the responder's. */
static void req_read_counts_as_what_it_is(struct kunit *test)
{
	struct fx *fx = test->priv;

	start_req(fx, SHCA_TRANSPORT_RC, 8000000);
	fx_post(fx, SHCA_WR_RDMA_READ, 100 * FX_MTU);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->req.rate.due_ns, fx->now - BURST + 12 + 16 + OUTSIDE);
}

/* An ACK probe is a packet as others are. */
static void req_probe_counts(struct kunit *test)
{
	struct fx *fx = test->priv;
	u64 due;

	start_req(fx, SHCA_TRANSPORT_RC, 8000000);
	fx->req.ackreq.sent_ns = fx->now;
	fx_post_flags(fx, SHCA_WR_RDMA_WRITE, 8, 0);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_ASSERT_FALSE(test, fx->pkt.ackreq);
	due = fx->req.rate.due_ns;
	fx->req.ackreq.probe_due = true;
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_ASSERT_NULL(test, fx->pkt.wr);
	KUNIT_EXPECT_EQ(test, fx->req.rate.due_ns, due + 12 + 16 + OUTSIDE);
}

/* No rate: no gate, so the fast path stays open. */
static void req_without_rate_has_no_gate(struct kunit *test)
{
	struct fx *fx = test->priv;

	start_req(fx, SHCA_TRANSPORT_RC, 0);
	KUNIT_EXPECT_EQ(test, fx->req.gate.until, 0ull);
	fx_post(fx, SHCA_WR_RDMA_WRITE, 4000 * FX_MTU);
	fx_drain(fx);
	KUNIT_EXPECT_EQ(test, fx->req.rate.due_ns, 0ull);
	KUNIT_EXPECT_EQ(test, fx->req.gate.until, 0ull);
}

/* The smaller of this rate and the pacing rate: the later of two times. */
static void req_keeps_the_smaller_of_rate_and_pace(struct kunit *test)
{
	/* 354 bytes take 2.832 ms and 28.32 ms; pacing has 16 ms */
	static const struct {
		u32 kbps;
		u64 wait;
	} rows[] = {
		{ 1000, 16 * FX_MS },
		{ 100, 28320000 - BURST },
	};
	struct fx *fx = test->priv;
	struct shca_req_attr attr;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		fx_req_attr(&attr);
		attr.rate_kbps = rows[i].kbps;
		attr.cc.algorithm = SHCA_CC_ALGO_WINDOW;
		attr.cc.params = &shca_cc_presets;
		fx_req_start(fx, &attr);
		fx->now += 1000 * FX_MS;
		/* a window of a sixteenth: a packet in 16 round trips */
		fx->req.cc.win.cwnd = SHCA_WIN_LEAST;
		shca_cc_on_cnp(&fx->req.cc, 0, fx->now);
		KUNIT_ASSERT_TRUE(test, fx->req.cc.paces);
		fx->req.rtt.ns = FX_MS;
		fx_post(fx, SHCA_WR_RDMA_WRITE, FX_MTU);
		fx_post(fx, SHCA_WR_RDMA_WRITE, FX_MTU);
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
		KUNIT_EXPECT_FALSE(test, fx_next(fx));
		KUNIT_EXPECT_EQ(test, fx->req.gate.until, fx->now + rows[i].wait);
		fx->now += rows[i].wait - 1;
		KUNIT_EXPECT_FALSE(test, fx_next(fx));
		fx->now++;
		KUNIT_EXPECT_TRUE(test, fx_next(fx));
	}
}

/* Another path (APM, or modify_qp): its rate, and nothing is owed to the one before. */
static void req_modify_takes_another_rate(struct kunit *test)
{
	struct shca_req_attr attr = { .rate_kbps = 1000 };
	struct fx *fx = test->priv;

	start_req(fx, SHCA_TRANSPORT_RC, 0);
	shca_req_modify(&fx->req, &attr, SHCA_REQ_RATE);
	fx_post(fx, SHCA_WR_RDMA_WRITE, FX_MTU);
	fx_post(fx, SHCA_WR_RDMA_WRITE, FX_MTU);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
	/* 354 bytes at a megabit */
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), fx->now - BURST + 2832000);
	attr.rate_kbps = 0;
	shca_req_modify(&fx->req, &attr, SHCA_REQ_RATE);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
	KUNIT_EXPECT_EQ(test, fx->req.gate.until, 0ull);
	/* a stall has nothing to do with it, and is not over */
	shca_req_stall(&fx->req, fx->now + 5);
	attr.rate_kbps = 1000;
	shca_req_modify(&fx->req, &attr, SHCA_REQ_RATE);
	KUNIT_EXPECT_EQ(test, fx->req.gate.until, fx->now + 5);
}

/* It waits here by its own will: no time-out, and the deadline is the rate's. */
static void req_rate_is_no_timeout(struct kunit *test)
{
	struct fx *fx = test->priv;

	/* a packet takes longer than the time-out */
	start_req(fx, SHCA_TRANSPORT_RC, 10);
	fx_post(fx, SHCA_WR_SEND, 2 * FX_MTU);
	KUNIT_ASSERT_EQ(test, fx_drain(fx), 1u);
	KUNIT_EXPECT_GT(test, fx->req.gate.until, fx->now + 2 * FX_TIMEOUT);
	while (!fx_next(fx))
		fx_timeout(fx);
	KUNIT_EXPECT_EQ(test, fx->req.stats.timeouts, 0ull);
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_SEND_LAST);
}

/* ---- datagrams -------------------------------------------------------------------------- */

static void post_datagram(struct fx *fx, u32 kbps)
{
	struct shca_send_wr *wr = shca_req_slot(&fx->req);

	memset(wr, 0, sizeof(*wr));
	wr->wr_id = fx->req.ring.prod;
	wr->opcode = SHCA_WR_SEND;
	wr->flags = SHCA_SEND_SIGNALED;
	wr->rate_kbps = kbps;
	shca_req_post(&fx->req);
}

/* 12 + 8 + 70 = 90 bytes: 90 us at 8 Mbit/s, so after a pause three, and it waits for 170 us. */
#define DG_KBPS		8000
#define DG_NS		90000ull

static void ud_waits_in_order(struct kunit *test)
{
	static const u32 kbps[] = { DG_KBPS, DG_KBPS, 0, DG_KBPS, 0, DG_KBPS, 0 };
	struct fx *fx = test->priv;
	u64 begin;
	u32 i;

	start_req(fx, SHCA_TRANSPORT_UD, 0);
	begin = fx->now;
	for (i = 0; i < ARRAY_SIZE(kbps); i++)
		post_datagram(fx, kbps[i]);
	/* three with a rate, and those without one between and behind them */
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 5u);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), begin - BURST + 3 * DG_NS);
	/* the last one has no rate, and waits for the one before it */
	fx->now = begin - BURST + 3 * DG_NS - 1;
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	fx->now++;
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2u);
	for (i = 0; i < ARRAY_SIZE(kbps); i++) {
		KUNIT_ASSERT_TRUE(test, fx_pop(fx));
		KUNIT_EXPECT_EQ(test, fx->wc.wr_id, (u64)i);
	}
}

/* What is owed is remembered while datagrams without a rate are sent, or none. */
static void ud_rate_outlives_an_empty_queue(struct kunit *test)
{
	struct fx *fx = test->priv;
	u64 begin;
	int i;

	start_req(fx, SHCA_TRANSPORT_UD, 0);
	begin = fx->now;
	for (i = 0; i < 3; i++) {
		post_datagram(fx, DG_KBPS);
		KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
		fx_pop(fx);
	}
	/* after the last one, nothing is looked at: the fast path is open again */
	KUNIT_EXPECT_FALSE(test, fx->req.rate.on);
	KUNIT_EXPECT_EQ(test, fx->req.gate.until, 0ull);
	post_datagram(fx, 0);
	KUNIT_EXPECT_EQ(test, fx->req.gate.until, 0ull);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
	post_datagram(fx, DG_KBPS);
	KUNIT_EXPECT_EQ(test, fx->req.gate.until, (u64)SHCA_GATE_OPEN);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 0u);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), begin - BURST + 3 * DG_NS);
}

/* Each address has its rate. */
static void ud_rates_are_those_of_the_addresses(struct kunit *test)
{
	struct fx *fx = test->priv;

	start_req(fx, SHCA_TRANSPORT_UD, 0);
	post_datagram(fx, DG_KBPS);
	post_datagram(fx, 2 * DG_KBPS);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2u);
	KUNIT_EXPECT_EQ(test, fx->req.rate.due_ns, fx->now - BURST + DG_NS + DG_NS / 2);
}

/* 90 bytes at 7.2 Mbit/s take 100 us: two of them are ahead by a burst, and no more. */
static void ud_waits_beyond_a_burst(struct kunit *test)
{
	struct fx *fx = test->priv;
	int i;

	start_req(fx, SHCA_TRANSPORT_UD, 0);
	for (i = 0; i < 4; i++)
		post_datagram(fx, 7200);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 3u);
}

/* The end of a stall is not that of the rate. */
static void ud_keeps_its_rate_after_a_stall(struct kunit *test)
{
	struct fx *fx = test->priv;
	int i;

	start_req(fx, SHCA_TRANSPORT_UD, 0);
	for (i = 0; i < 4; i++)
		post_datagram(fx, 7200);
	shca_req_stall(&fx->req, fx->now + 1);
	shca_req_release(&fx->req);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 3u);
}

/* One that is refused does not leave, so it changes nothing. */
static void ud_refused_has_no_rate(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_send_wr *wr;

	start_req(fx, SHCA_TRANSPORT_UD, 0);
	wr = shca_req_slot(&fx->req);
	memset(wr, 0, sizeof(*wr));
	wr->opcode = SHCA_WR_RDMA_READ;
	wr->rate_kbps = DG_KBPS;
	shca_req_post(&fx->req);
	KUNIT_EXPECT_FALSE(test, fx->req.rate.on);
	KUNIT_EXPECT_EQ(test, fx->req.gate.until, 0ull);
}

/* XRC has the number of an SRQ in that place. */
static void xrc_srqn_is_no_rate(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_send_wr *wr;

	start_req(fx, SHCA_TRANSPORT_XRC, 0);
	wr = shca_req_slot(&fx->req);
	memset(wr, 0, sizeof(*wr));
	wr->opcode = SHCA_WR_SEND;
	wr->xrc_srqn = FX_SRQN;
	shca_req_post(&fx->req);
	KUNIT_EXPECT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_FALSE(test, fx->req.rate.on);
	KUNIT_EXPECT_EQ(test, fx->req.gate.until, 0ull);
}

/* ---- a responder ----------------------------------------------------------------------- */

/* Responses of a READ leave at the rate, all of them, in order. */
static void resp_read_keeps_the_rate(struct kunit *test)
{
	u32 kbps = *(const u32 *)test->param_value;
	struct fx *fx = test->priv;
	u64 bytes = 0, begin;
	u32 next = 0;

	start_resp(fx, kbps);
	fx->resp.max_run = 62;
	begin = fx->now;
	KUNIT_ASSERT_EQ(test, fx_rx_op(fx, SHCA_OP_READ_REQUEST, FX_RQ_PSN, READ_PKTS * FX_MTU),
			SHCA_RX_OK);
	while (next < READ_PKTS) {
		if (!fx_answer(fx)) {
			KUNIT_ASSERT_GT(test, shca_resp_deadline(&fx->resp), fx->now);
			fx->now = shca_resp_deadline(&fx->resp);
			continue;
		}
		KUNIT_EXPECT_EQ(test, fx->pkt.psn, FX_RQ_PSN + next);
		next += fx->pkt.span + 1;
		bytes += fx->pkt.paylen + (fx->pkt.span + 1) *
			 (shca_opcode_info(fx->pkt.opcode)->hdr_len + OUTSIDE);
		/* never more than two bursts, and the run that ends the second */
		KUNIT_EXPECT_LE(test, time_of(bytes, kbps), fx->now - begin + 3 * BURST);
	}
	KUNIT_EXPECT_GE(test, time_of(bytes, kbps) + BURST, fx->now - begin);
	KUNIT_EXPECT_EQ(test, shca_resp_deadline(&fx->resp), 0ull);
}

/* An acknowledgement waits behind an earlier READ, and not for the rate. */
static void resp_acknowledgements_do_not_wait(struct kunit *test)
{
	struct fx *fx = test->priv;

	start_resp(fx, 1000);
	fx_rx_asking(fx, SHCA_OP_SEND_ONLY, FX_RQ_PSN, 1);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	/* 12 + 4 + 70 bytes at a megabit */
	KUNIT_EXPECT_EQ(test, fx->resp.rate.due_ns, fx->now - BURST + 688000);
	fx_rx_asking(fx, SHCA_OP_SEND_ONLY, FX_RQ_PSN + 1, 1);
	KUNIT_EXPECT_TRUE(test, fx_answer(fx));
	fx_rx_op(fx, SHCA_OP_READ_REQUEST, FX_RQ_PSN + 2, 1);
	fx_rx_asking(fx, SHCA_OP_SEND_ONLY, FX_RQ_PSN + 3, 1);
	KUNIT_EXPECT_FALSE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, shca_resp_deadline(&fx->resp), fx->now - BURST + 2 * 688000);
	fx->now = shca_resp_deadline(&fx->resp) - 1;
	KUNIT_EXPECT_FALSE(test, fx_answer(fx));
	fx->now++;
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_READ_RESP_ONLY);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_ACK);
}

/* A CNP leaves at once, and what waits does so no longer for it. */
static void resp_cnp_makes_no_wait_longer(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;
	u64 at;

	start_resp(fx, 1000);
	fx->resp.attr.cnp = true;
	fx_rx_op(fx, SHCA_OP_READ_REQUEST, FX_RQ_PSN, 2 * FX_MTU);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_ASSERT_FALSE(test, fx_answer(fx));
	at = shca_resp_deadline(&fx->resp);
	fx_request(&pkt, SHCA_OP_SEND_ONLY, FX_RQ_PSN + 2, 1);
	pkt.path.ecn_ce = true;
	fx_rx(fx, &pkt);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OPCODE_CNP);
	KUNIT_EXPECT_FALSE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, shca_resp_deadline(&fx->resp), at);
}

/* Atomic responses wait, too; and a path without a rate ends that. */
static void resp_modify_takes_another_rate(struct kunit *test)
{
	struct shca_resp_attr attr = { .rate_kbps = 1000 };
	struct fx *fx = test->priv;

	start_resp(fx, 0);
	shca_resp_modify(&fx->resp, &attr, SHCA_RESP_RATE);
	fx_rx_op(fx, SHCA_OP_FETCH_ADD, FX_RQ_PSN, 8);
	fx_rx_op(fx, SHCA_OP_FETCH_ADD, FX_RQ_PSN + 1, 8);
	KUNIT_EXPECT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_FALSE(test, fx_answer(fx));
	KUNIT_EXPECT_GT(test, shca_resp_deadline(&fx->resp), fx->now);
	attr.rate_kbps = 0;
	shca_resp_modify(&fx->resp, &attr, SHCA_RESP_RATE);
	KUNIT_EXPECT_EQ(test, shca_resp_deadline(&fx->resp), 0ull);
	KUNIT_EXPECT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_FALSE(test, fx_answer(fx));
}

/* In error nothing is waited for. */
static void resp_fail_ends_the_wait(struct kunit *test)
{
	struct fx *fx = test->priv;

	start_resp(fx, 1000);
	fx_rx_op(fx, SHCA_OP_READ_REQUEST, FX_RQ_PSN, 8 * FX_MTU);
	while (fx_answer(fx))
		;
	KUNIT_EXPECT_GT(test, shca_resp_deadline(&fx->resp), fx->now);
	shca_resp_fail(&fx->resp);
	KUNIT_EXPECT_EQ(test, shca_resp_deadline(&fx->resp), 0ull);
}

static struct kunit_case static_rate_cases[] = {
	KUNIT_CASE_PARAM(rate_gives_a_packet_its_time, time_gen_params),
	KUNIT_CASE(rate_waits_for_all_that_is_ahead),
	KUNIT_CASE(rate_begins_at_any_time),
	KUNIT_CASE_PARAM(req_keeps_its_rate, kbps_gen_params),
	KUNIT_CASE_PARAM(req_of_uc_keeps_its_rate_with_late_timers, kbps_gen_params),
	KUNIT_CASE(req_run_is_what_a_burst_has),
	KUNIT_CASE(req_run_is_within_a_burst),
	KUNIT_CASE(resp_run_is_within_a_burst),
	KUNIT_CASE(req_gap_is_the_time_of_the_packets),
	KUNIT_CASE(req_read_counts_as_what_it_is),
	KUNIT_CASE(req_probe_counts),
	KUNIT_CASE(req_without_rate_has_no_gate),
	KUNIT_CASE(req_keeps_the_smaller_of_rate_and_pace),
	KUNIT_CASE(req_modify_takes_another_rate),
	KUNIT_CASE(req_rate_is_no_timeout),
	KUNIT_CASE(ud_waits_in_order),
	KUNIT_CASE(ud_rate_outlives_an_empty_queue),
	KUNIT_CASE(ud_rates_are_those_of_the_addresses),
	KUNIT_CASE(ud_waits_beyond_a_burst),
	KUNIT_CASE(ud_keeps_its_rate_after_a_stall),
	KUNIT_CASE(ud_refused_has_no_rate),
	KUNIT_CASE(xrc_srqn_is_no_rate),
	KUNIT_CASE_PARAM(resp_read_keeps_the_rate, kbps_gen_params),
	KUNIT_CASE(resp_acknowledgements_do_not_wait),
	KUNIT_CASE(resp_cnp_makes_no_wait_longer),
	KUNIT_CASE(resp_modify_takes_another_rate),
	KUNIT_CASE(resp_fail_ends_the_wait),
	{}
};

static struct kunit_suite static_rate_suite = {
	.name = "softhca_static_rate",
	.init = fx_init,
	.test_cases = static_rate_cases,
};

kunit_test_suites(&static_rate_suite);
