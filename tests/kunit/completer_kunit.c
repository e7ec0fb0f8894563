// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The receiving half of the RC requester: what responses do. */
#include "fixture.h"

#define OP_SEND	SHCA_WR_SEND
#define OP_READ	SHCA_WR_RDMA_READ
#define OP_FADD	SHCA_WR_ATOMIC_FETCH_AND_ADD
#define P0	FX_SQ_PSN

static u32 count_pops(struct fx *fx)
{
	u32 nr = 0;

	while (fx_pop(fx) && fx->wc.status == SHCA_WC_SUCCESS)
		nr++;
	return nr;
}

/* ---- acknowledgements ----------------------------------------------------- */

static void req_rx_of_later_ack_completes_all_before(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_SEND, 1);
	fx_post(fx, OP_SEND, 2 * FX_MTU);
	fx_post(fx, OP_SEND, 1);
	fx_drain(fx);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0 + 2, ACK), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, count_pops(fx), 2u);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0 + 3, ACK), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, count_pops(fx), 1u);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), 0ull);
}

static void req_rx_of_ack_restarts_timer(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_SEND, 2 * FX_MTU);
	fx_drain(fx);
	fx->now += 1000;
	fx_ack(fx, P0, ACK);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req),
			fx->now + FX_TIMEOUT);
}

struct stale_row {
	const char *name;
	s32 off;	/* from the oldest outstanding PSN */
};

static const struct stale_row stale_rows[] = {
	{ "just acknowledged", -1 },
	{ "long acknowledged", -100 },
	{ "half the window ago", -0x800000 },
	{ "never sent", 3 },
	{ "far ahead", 0x7fffff },
};

static void stale_desc(const struct stale_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(stale, stale_rows, stale_desc);

static void req_rx_outside_of_outstanding_is_dropped(struct kunit *test)
{
	const struct stale_row *row = test->param_value;
	struct fx *fx = test->priv;
	u32 psn = P0 + 2 + row->off;

	fx_post(fx, OP_SEND, 2 * FX_MTU);
	fx_drain(fx);
	fx_ack(fx, P0 + 1, ACK);
	fx_post(fx, OP_SEND, 3 * FX_MTU);
	fx_drain(fx);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, psn, ACK), SHCA_RX_STALE_ACK);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, psn, NAK(0)), SHCA_RX_STALE_ACK);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, psn, NAK(2)), SHCA_RX_STALE_ACK);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, psn, RNR(1)), SHCA_RX_STALE_ACK);
	KUNIT_EXPECT_EQ(test, fx_read_resp(fx, SHCA_OP_READ_RESP_ONLY, psn, 1),
			SHCA_RX_STALE_ACK);
	KUNIT_EXPECT_EQ(test, count_pops(fx), 1u);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 0u);
	KUNIT_EXPECT_EQ(test, fx->req.state, SHCA_SIDE_READY);
}

/*
 * Each value of the syndrome (IBTA 9.7.5.2.3): ACK 0x00-0x1f, RNR 0x20-0x3f,
 * NAK 0x60-0x64; all others are reserved, 0x64 belongs to RD, and dropped.
 */
static enum shca_verdict expected_rx(u32 syndrome)
{
	switch (syndrome) {
	case 0x00 ... 0x1f:
		return SHCA_RX_OK;
	case 0x20 ... 0x3f:
		return SHCA_RX_NAK_RNR;
	case 0x60:
		return SHCA_RX_NAK_SEQ;
	case 0x61 ... 0x63:
		return SHCA_RX_NAK_FATAL;
	default:
		return SHCA_RX_STALE_ACK;
	}
}

static void req_rx_of_each_syndrome_is_told_apart(struct kunit *test)
{
	static const u8 status[] = {
		SHCA_WC_SUCCESS, SHCA_WC_REM_INV_REQ_ERR,
		SHCA_WC_REM_ACCESS_ERR, SHCA_WC_REM_OP_ERR,
	};
	struct fx *fx = test->priv;
	struct shca_req_attr attr;
	enum shca_verdict rx;
	u32 s;

	fx_req_attr(&attr);
	for (s = 0; s < 256; s++) {
		fx_req_start(fx, &attr);
		fx_post(fx, OP_SEND, 1);
		fx_drain(fx);
		rx = expected_rx(s);
		KUNIT_EXPECT_EQ(test, fx_ack(fx, P0, s), rx);
		KUNIT_EXPECT_EQ(test, fx->req.state == SHCA_SIDE_ERR,
				rx == SHCA_RX_NAK_FATAL);
		KUNIT_EXPECT_EQ(test, shca_req_rnr_waits(&fx->req), rx == SHCA_RX_NAK_RNR);
		KUNIT_EXPECT_EQ(test, fx_drain(fx), rx == SHCA_RX_NAK_SEQ);
		if (rx != SHCA_RX_NAK_FATAL)
			continue;
		KUNIT_ASSERT_TRUE(test, fx_pop(fx));
		KUNIT_EXPECT_EQ(test, fx->wc.status, status[s - 0x60]);
		KUNIT_EXPECT_EQ(test, fx->wc.vendor_err, SHCA_VERR_NAK);
	}
}

static void req_rx_of_nak_acknowledges_what_is_before(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_SEND, 1);
	fx_post(fx, OP_SEND, 1);
	fx_post(fx, OP_SEND, 1);
	fx_drain(fx);
	fx_ack(fx, P0 + 1, NAK(SHCA_NAK_ACCESS));
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_SUCCESS);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_REM_ACCESS_ERR);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_WR_FLUSH_ERR);
}

/*
 * IBTA 9.9.2: a responder that refuses for good is in error, and never repeats an
 * answer that is lost.  So there is nothing to wait for.
 */
static void req_rx_of_fatal_nak_behind_read_ends_it_as_told(struct kunit *test)
{
	static const u8 ops[] = { OP_READ, SHCA_WR_ATOMIC_FETCH_AND_ADD,
				  SHCA_WR_ATOMIC_WRITE };
	static const u8 status[] = {
		[SHCA_NAK_INVALID] = SHCA_WC_REM_INV_REQ_ERR,
		[SHCA_NAK_ACCESS] = SHCA_WC_REM_ACCESS_ERR,
		[SHCA_NAK_OPERATION] = SHCA_WC_REM_OP_ERR,
	};
	struct fx *fx = test->priv;
	struct shca_req_attr attr;
	u32 code, op;

	fx_req_attr(&attr);
	for (code = SHCA_NAK_INVALID; code <= SHCA_NAK_OPERATION; code++) {
		for (op = 0; op < ARRAY_SIZE(ops); op++) {
			fx_req_start(fx, &attr);
			fx_post(fx, OP_SEND, 1);
			fx_post(fx, ops[op], 8);
			fx_post(fx, OP_SEND, 1);
			KUNIT_EXPECT_EQ(test, fx_drain(fx), 3u);
			KUNIT_EXPECT_EQ(test, fx_ack(fx, P0 + 2, NAK(code)),
					SHCA_RX_NAK_FATAL);
			KUNIT_ASSERT_TRUE(test, fx_pop(fx));
			KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_SUCCESS);
			KUNIT_ASSERT_TRUE(test, fx_pop(fx));
			KUNIT_EXPECT_EQ(test, fx->wc.status, status[code]);
			KUNIT_EXPECT_EQ(test, fx->wc.vendor_err, SHCA_VERR_NAK);
			KUNIT_ASSERT_TRUE(test, fx_pop(fx));
			KUNIT_EXPECT_EQ(test, fx->wc.status,
					SHCA_WC_WR_FLUSH_ERR);
			KUNIT_EXPECT_FALSE(test, fx_next(fx));
		}
	}
}

static void post_read(struct fx *fx, u32 packets)
{
	fx_post(fx, OP_READ, (packets - 1) * FX_MTU + 7);
	fx_drain(fx);
}

/* ---- going back ----------------------------------------------------------- */

static void req_rx_of_seq_nak_goes_back_once(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_SEND, 4 * FX_MTU);
	fx_drain(fx);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0 + 1, NAK(0)), SHCA_RX_NAK_SEQ);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + 1);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2u);
	/* a copy of the NAK on the network */
	fx_ack(fx, P0 + 1, NAK(0));
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 0u);
	/* the repair was lost: the timer alone, until there is progress */
	fx_timeout(fx);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 3u);
	fx_ack(fx, P0 + 1, NAK(0));
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 0u);
	fx_ack(fx, P0 + 1, ACK);
	fx->now += FX_TIMEOUT / 2;	/* more than a round trip */
	fx_ack(fx, P0 + 2, NAK(0));
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2u);
}

/*
 * Small packets pass and large ones do not: each repetition shows the same gap.
 * The request lasts for all time-outs but one all the same.
 */
static void req_rx_of_same_gap_again_leaves_time_outs(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 n = 0;

	post_read(fx, 3);
	do {
		fx_read_resp(fx, SHCA_OP_READ_RESP_LAST, P0 + 2, 7);
		fx_drain(fx);
		fx->now += FX_TIMEOUT / 2;
		fx_read_resp(fx, SHCA_OP_READ_RESP_LAST, P0 + 2, 7);
		KUNIT_ASSERT_EQ(test, fx_drain(fx), 0u);
		fx_timeout(fx);
	} while (fx_drain(fx) && ++n < 100);
	KUNIT_EXPECT_EQ(test, n + 1, (u32)fx->req.attr.retry_cnt);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_RETRY_EXC_ERR);
	KUNIT_EXPECT_EQ(test, fx->wc.vendor_err, SHCA_VERR_TIMEOUT);
}

/*
 * A second gap within the round trip: the repair may be in flight.  So sending
 * goes back at the end of the round trip, unless there was progress.
 */
static void req_rx_of_second_nak_waits_a_round_trip(struct kunit *test)
{
	struct fx *fx = test->priv;
	u64 at;

	fx_post(fx, OP_SEND, 8 * FX_MTU);
	fx_drain(fx);
	fx->now += 1000;
	fx_ack(fx, P0 + 1, NAK(0));
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 7u);
	fx_ack(fx, P0 + 2, NAK(0));
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 0u);
	at = shca_req_deadline(&fx->req);
	KUNIT_EXPECT_GT(test, at, fx->now);
	KUNIT_EXPECT_LT(test, at, fx->now + FX_TIMEOUT);
	fx_timeout(fx);
	KUNIT_EXPECT_EQ(test, fx->req.stats.timeouts, 0ull);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 6u);
	/* and this time there is progress */
	fx_ack(fx, P0 + 3, NAK(0));
	fx_ack(fx, P0 + 7, ACK);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), 0ull);
	KUNIT_EXPECT_EQ(test, count_pops(fx), 1u);
}

static void req_rx_of_seq_nak_without_retries_fails(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_attr attr;

	fx_req_attr(&attr);
	attr.retry_cnt = 0;
	fx_req_start(fx, &attr);
	fx_post(fx, OP_SEND, 1);
	fx_post(fx, OP_SEND, 1);
	fx_drain(fx);
	fx_ack(fx, P0 + 1, NAK(0));
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_SUCCESS);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_RETRY_EXC_ERR);
	KUNIT_EXPECT_EQ(test, fx->wc.vendor_err, SHCA_VERR_SEQ_NAK);
}

static void req_rx_of_ack_while_going_back_moves_on(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_SEND, 4 * FX_MTU);
	fx_post(fx, OP_SEND, 2 * FX_MTU);
	fx_drain(fx);
	fx_timeout(fx);
	fx_next(fx);
	fx_ack(fx, P0 + 4, ACK);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + 5);
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_SEND_LAST);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 0u);
	KUNIT_EXPECT_FALSE(test, shca_req_idle(&fx->req));
}

static void req_idle_while_going_back_is_false(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_SEND, 1);
	fx_drain(fx);
	fx_timeout(fx);
	KUNIT_EXPECT_FALSE(test, shca_req_idle(&fx->req));
}

/* ---- receiver not ready ---------------------------------------------------- */

static void req_rx_of_rnr_waits_as_told(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_attr attr;
	u32 code;

	fx_req_attr(&attr);
	for (code = 0; code < 32; code++) {
		fx_req_start(fx, &attr);
		fx_post(fx, OP_SEND, 1);
		fx_post(fx, OP_SEND, 1);
		fx_drain(fx);
		KUNIT_EXPECT_EQ(test, fx_ack(fx, P0 + 1, RNR(code)),
				SHCA_RX_NAK_RNR);
		KUNIT_EXPECT_EQ(test, count_pops(fx), 1u);
		KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req),
				fx->now + shca_rnr_ns(code));
		fx_post(fx, OP_SEND, 1);
		KUNIT_EXPECT_FALSE(test, fx_next(fx));
		fx->now = shca_req_deadline(&fx->req) - 1;
		shca_req_timer(&fx->req, fx->now);
		KUNIT_EXPECT_FALSE(test, fx_next(fx));
		fx->now++;
		shca_req_timer(&fx->req, fx->now);
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
		KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + 1);
		KUNIT_EXPECT_TRUE(test, fx_next(fx));
	}
}

struct rnr_row {
	u32 rnr_retry;
};

static const struct rnr_row rnr_rows[] = {
	{ 0 }, { 1 }, { 2 }, { 3 }, { 4 }, { 5 }, { 6 }, { 7 },
};

static void rnr_desc(const struct rnr_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u", row->rnr_retry);
}

KUNIT_ARRAY_PARAM(rnr, rnr_rows, rnr_desc);

/* IBTA 9.7.5.2.8: 0 to 6 are counts, 7 is for ever */
static void req_rx_of_rnr_counts_rnr_retry(struct kunit *test)
{
	const struct rnr_row *row = test->param_value;
	u32 i, rounds = row->rnr_retry == 7 ? 50 : row->rnr_retry;
	struct fx *fx = test->priv;
	struct shca_req_attr attr;

	fx_req_attr(&attr);
	attr.rnr_retry = row->rnr_retry;
	fx_req_start(fx, &attr);
	fx_post(fx, OP_SEND, 1);
	fx_drain(fx);
	for (i = 0; i < rounds; i++) {
		fx_ack(fx, P0, RNR(1));
		fx_timeout(fx);
		KUNIT_ASSERT_EQ(test, fx_drain(fx), 1u);
	}
	fx_ack(fx, P0, RNR(1));
	if (row->rnr_retry == 7) {
		KUNIT_EXPECT_EQ(test, fx->req.state, SHCA_SIDE_READY);
		return;
	}
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_RNR_RETRY_EXC_ERR);
	KUNIT_EXPECT_EQ(test, fx->wc.vendor_err, SHCA_VERR_RNR);
}

/* IBTA 9.7.5.2.8: two counters; only an acknowledgement restarts that of retries. */
static void req_rx_of_rnr_does_not_restart_retries(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_SEND, 1);
	fx_drain(fx);
	fx_timeout(fx);
	fx_drain(fx);
	fx_timeout(fx);
	fx_drain(fx);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0, SHCA_AETH_RNR | 1),
			SHCA_RX_NAK_RNR);
	fx_timeout(fx);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
	/* the third and last of retry_cnt, and then none */
	fx_timeout(fx);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
	fx_timeout(fx);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_RETRY_EXC_ERR);
}

struct back_off_row {
	u8 code;
	u64 asked_us;
	u64 most_us;
};

static const struct back_off_row back_off_rows[] = {
	{ 1, 10, 1000000 },
	{ 12, 640, 1000000 },
	{ 20, 10240, 1000000 },
	{ 0, 655360, 1000000 },
};

static void back_off_desc(const struct back_off_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "code %u", row->code);
}

KUNIT_ARRAY_PARAM(back_off, back_off_rows, back_off_desc);

/* Refused once more. Return: the wait. */
static u64 refused_wait(struct kunit *test, u8 code)
{
	struct fx *fx = test->priv;
	u64 wait;

	KUNIT_EXPECT_EQ(test, fx_ack(fx, fx->req.psn.una, RNR(code)),
			SHCA_RX_NAK_RNR);
	wait = shca_req_deadline(&fx->req) - fx->now;
	fx_timeout(fx);
	KUNIT_EXPECT_GE(test, fx_drain(fx), 1u);
	return wait;
}

/* The time asked for is a minimum (IBTA 9.7.5.2.8): for ever is not at that pace. */
static void req_rx_of_rnr_for_ever_comes_less_often(struct kunit *test)
{
	const struct back_off_row *row = test->param_value;
	struct fx *fx = test->priv;
	struct shca_req_attr attr;
	u64 want = row->asked_us;
	u32 i;

	fx_req_attr(&attr);
	attr.rnr_retry = 7;
	fx_req_start(fx, &attr);
	fx_post(fx, OP_SEND, 1);
	fx_post(fx, OP_SEND, 1);
	fx_drain(fx);
	for (i = 1; i <= 8; i++) {
		KUNIT_EXPECT_EQ(test, refused_wait(test, row->code),
				row->asked_us * 1000);
	}
	for (; i < 300; i++) {
		want = min_t(u64, want * 2, row->most_us);
		KUNIT_EXPECT_EQ(test, refused_wait(test, row->code),
				want * 1000);
	}
	fx_ack(fx, fx->req.psn.una, RNR(row->code));
	/* the next request begins anew */
	fx_timeout(fx);
	fx_drain(fx);
	fx_ack(fx, P0, ACK);
	fx_drain(fx);
	KUNIT_EXPECT_EQ(test, refused_wait(test, row->code),
			row->asked_us * 1000);
}

/* With a limited rnr_retry, RNR waits do not grow. */
static void req_rx_of_rnr_with_a_count_waits_as_told(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_attr attr;
	u32 i;

	fx_req_attr(&attr);
	attr.rnr_retry = 6;
	fx_req_start(fx, &attr);
	fx_post(fx, OP_SEND, 1);
	fx_drain(fx);
	for (i = 0; i < 6; i++)
		KUNIT_EXPECT_EQ(test, refused_wait(test, 1), 10000ull);
	fx_ack(fx, P0, RNR(1));
	KUNIT_EXPECT_EQ(test, fx->req.state, SHCA_SIDE_ERR);
}

static void req_rx_of_rnr_copy_is_ignored(struct kunit *test)
{
	struct fx *fx = test->priv;
	u64 at;

	fx_post(fx, OP_SEND, 1);
	fx_drain(fx);
	fx_ack(fx, P0, RNR(5));
	at = shca_req_deadline(&fx->req);
	fx->now += 10;
	fx_ack(fx, P0, RNR(9));
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), at);
	KUNIT_EXPECT_EQ(test, shca_req_rnr_left(&fx->req), 2);
}

static void req_rx_of_ack_ends_rnr_wait(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_SEND, 1);
	fx_post(fx, OP_SEND, 1);
	fx_drain(fx);
	fx_ack(fx, P0, RNR(20));
	/* a copy of the request found a receive request after all */
	fx_ack(fx, P0, ACK);
	KUNIT_EXPECT_FALSE(test, shca_req_rnr_waits(&fx->req));
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + 1);
}

/* Refused twice: one packet asks, and the window follows when it is taken. */
static void req_rx_of_second_rnr_sends_one_packet(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_SEND, 8 * FX_MTU);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 8u);
	fx_ack(fx, P0, RNR(1));
	fx_timeout(fx);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 8u);
	fx_ack(fx, P0, RNR(1));
	fx_timeout(fx);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
	KUNIT_EXPECT_TRUE(test, fx->pkt.ackreq);
	fx_ack(fx, P0, ACK);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 7u);
}

/* ---- READ ----------------------------------------------------------------- */

static void req_rx_of_read_places_each_packet(struct kunit *test)
{
	struct fx *fx = test->priv;

	post_read(fx, 3);
	KUNIT_EXPECT_EQ(test, fx_read_resp(fx, SHCA_OP_READ_RESP_FIRST, P0,
					   FX_MTU), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->last_off, 0u);
	KUNIT_EXPECT_EQ(test, fx_read_resp(fx, SHCA_OP_READ_RESP_MIDDLE,
					   P0 + 1, FX_MTU), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->last_off, 256u);
	KUNIT_EXPECT_FALSE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx_read_resp(fx, SHCA_OP_READ_RESP_LAST, P0 + 2,
					   7), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->last_off, 512u);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.byte_len, 519u);
	KUNIT_EXPECT_EQ(test, fx->wc.opcode, SHCA_WC_RDMA_READ);
}

static void req_rx_of_empty_read_touches_no_memory(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_READ, 0);
	fx_drain(fx);
	KUNIT_EXPECT_EQ(test, fx_read_resp(fx, SHCA_OP_READ_RESP_ONLY, P0, 0),
			SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->nr_scatter, 0u);
	KUNIT_EXPECT_EQ(test, count_pops(fx), 1u);
}

static void req_rx_of_read_acknowledges_what_is_before(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_SEND, 2 * FX_MTU);
	fx_post(fx, OP_READ, 1);
	fx_drain(fx);
	KUNIT_EXPECT_EQ(test, fx_read_resp(fx, SHCA_OP_READ_RESP_ONLY, P0 + 2,
					   1), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, count_pops(fx), 2u);
}

static void req_rx_of_ack_beyond_read_asks_for_it_again(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_SEND, 1);
	fx_post(fx, OP_READ, 2 * FX_MTU);
	fx_post(fx, OP_SEND, 1);
	fx_post(fx, OP_SEND, 1);
	fx_drain(fx);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0 + 3, ACK), SHCA_RX_LOST_RESPONSE);
	KUNIT_EXPECT_EQ(test, count_pops(fx), 1u);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_READ_REQUEST);
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + 1);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2u);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.retry_left, 2);
	/* the next acknowledgement tells nothing new */
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0 + 4, ACK), SHCA_RX_LOST_RESPONSE);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 0u);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.retry_left, 2);
}

/* An ACK at the PSN of a READ is no response to it either. */
static void req_rx_of_ack_at_read_asks_for_it_again(struct kunit *test)
{
	struct fx *fx = test->priv;

	post_read(fx, 1);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0, ACK), SHCA_RX_LOST_RESPONSE);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
	KUNIT_EXPECT_FALSE(test, fx_pop(fx));
}

static void req_rx_of_read_gap_asks_for_the_rest(struct kunit *test)
{
	struct fx *fx = test->priv;

	post_read(fx, 5);
	fx_read_resp(fx, SHCA_OP_READ_RESP_FIRST, P0, FX_MTU);
	fx_read_resp(fx, SHCA_OP_READ_RESP_MIDDLE, P0 + 1, FX_MTU);
	KUNIT_EXPECT_EQ(test, fx_read_resp(fx, SHCA_OP_READ_RESP_MIDDLE,
					   P0 + 3, FX_MTU),
			SHCA_RX_LOST_RESPONSE);
	KUNIT_EXPECT_EQ(test, fx->nr_scatter, 2u);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + 2);
	KUNIT_EXPECT_EQ(test, fx->pkt.reth.va, 0x10000ull + 2 * FX_MTU);
	KUNIT_EXPECT_EQ(test, fx->pkt.reth.len, 2u * FX_MTU + 7);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	/* the response of the repetition begins with FIRST */
	KUNIT_EXPECT_EQ(test, fx_read_resp(fx, SHCA_OP_READ_RESP_FIRST, P0 + 2,
					   FX_MTU), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->last_off, 512u);
	fx_read_resp(fx, SHCA_OP_READ_RESP_MIDDLE, P0 + 3, FX_MTU);
	KUNIT_EXPECT_EQ(test, fx_read_resp(fx, SHCA_OP_READ_RESP_LAST, P0 + 4,
					   7), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, count_pops(fx), 1u);
}

/* A response that was asked for again ends, too: by LAST or ONLY. */
static void req_rx_of_repeated_read_without_an_end_fails_it(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_READ, 2 * FX_MTU);
	fx_drain(fx);
	fx_timeout(fx);
	KUNIT_ASSERT_EQ(test, fx_drain(fx), 1u);
	KUNIT_EXPECT_EQ(test, fx_read_resp(fx, SHCA_OP_READ_RESP_FIRST, P0, FX_MTU),
			SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx_read_resp(fx, SHCA_OP_READ_RESP_MIDDLE, P0 + 1, FX_MTU),
			SHCA_RX_BAD_RESPONSE);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_BAD_RESP_ERR);
}

struct bad_row {
	const char *name;
	u32 taken;	/* packets of three that came before */
	u8 opcode;
	u32 len;
	u8 syndrome;
	u8 status;
};

static const struct bad_row bad_rows[] = {
	{ "MIDDLE first", 0, SHCA_OP_READ_RESP_MIDDLE, 256, ACK,
	  SHCA_WC_BAD_RESP_ERR },
	{ "LAST first", 0, SHCA_OP_READ_RESP_LAST, 256, ACK,
	  SHCA_WC_BAD_RESP_ERR },
	{ "ONLY first of three", 0, SHCA_OP_READ_RESP_ONLY, 256, ACK,
	  SHCA_WC_BAD_RESP_ERR },
	{ "FIRST in the middle", 1, SHCA_OP_READ_RESP_FIRST, 256, ACK,
	  SHCA_WC_BAD_RESP_ERR },
	{ "LAST in the middle", 1, SHCA_OP_READ_RESP_LAST, 256, ACK,
	  SHCA_WC_BAD_RESP_ERR },
	{ "MIDDLE at the end", 2, SHCA_OP_READ_RESP_MIDDLE, 256, ACK,
	  SHCA_WC_BAD_RESP_ERR },
	{ "ONLY at the end", 2, SHCA_OP_READ_RESP_ONLY, 7, ACK,
	  SHCA_WC_BAD_RESP_ERR },
	{ "atomic response", 0, SHCA_OP_ATOMIC_ACK, 0, ACK,
	  SHCA_WC_BAD_RESP_ERR },
	{ "NAK syndrome in a response", 0, SHCA_OP_READ_RESP_FIRST, 256, 0x62,
	  SHCA_WC_BAD_RESP_ERR },
	{ "RNR syndrome in a response", 0, SHCA_OP_READ_RESP_FIRST, 256, 0x22,
	  SHCA_WC_BAD_RESP_ERR },
	{ "FIRST too short", 0, SHCA_OP_READ_RESP_FIRST, 255, ACK,
	  SHCA_WC_LOC_LEN_ERR },
	{ "FIRST too long", 0, SHCA_OP_READ_RESP_FIRST, 260, ACK,
	  SHCA_WC_LOC_LEN_ERR },
	{ "LAST too short", 2, SHCA_OP_READ_RESP_LAST, 6, ACK,
	  SHCA_WC_LOC_LEN_ERR },
	{ "LAST too long", 2, SHCA_OP_READ_RESP_LAST, 8, ACK,
	  SHCA_WC_LOC_LEN_ERR },
};

static void bad_desc(const struct bad_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(bad, bad_rows, bad_desc);

/* IBTA 9.9.2: the opcode: bad response; the length: local length error. */
static void req_rx_of_impossible_response_fails_read(struct kunit *test)
{
	const struct bad_row *row = test->param_value;
	struct fx *fx = test->priv;
	struct shca_pkt pkt;
	u32 scatters, i;

	post_read(fx, 3);
	for (i = 0; i < row->taken; i++)
		fx_read_resp(fx, i ? SHCA_OP_READ_RESP_MIDDLE :
				     SHCA_OP_READ_RESP_FIRST, P0 + i, FX_MTU);
	scatters = fx->nr_scatter;
	memset(&pkt, 0, sizeof(pkt));
	pkt.opcode = row->opcode;
	pkt.psn = P0 + row->taken;
	pkt.paylen = row->len;
	pkt.aeth.syndrome = row->syndrome;
	KUNIT_EXPECT_EQ(test, shca_req_rx(&fx->req, &pkt, fx->now),
			SHCA_RX_BAD_RESPONSE);
	KUNIT_EXPECT_EQ(test, fx->nr_scatter, scatters);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, row->status);
	KUNIT_EXPECT_EQ(test, fx->wc.vendor_err, SHCA_VERR_RESPONSE);
}

static void req_rx_of_read_response_to_send_fails_it(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_SEND, 1);
	fx_drain(fx);
	KUNIT_EXPECT_EQ(test, fx_read_resp(fx, SHCA_OP_READ_RESP_ONLY, P0, 1),
			SHCA_RX_BAD_RESPONSE);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_BAD_RESP_ERR);
}

static void req_rx_of_ack_with_payload_fails(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	fx_post(fx, OP_SEND, 1);
	fx_drain(fx);
	memset(&pkt, 0, sizeof(pkt));
	pkt.opcode = SHCA_OP_ACK;
	pkt.psn = P0;
	pkt.paylen = 4;
	KUNIT_EXPECT_EQ(test, shca_req_rx(&fx->req, &pkt, fx->now),
			SHCA_RX_BAD_RESPONSE);
}

static void req_rx_with_memory_gone_fails_read(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_SEND, 1);
	fx_post(fx, OP_READ, 1);
	fx_drain(fx);
	fx->scatter = SHCA_MEM_KEY;
	KUNIT_EXPECT_EQ(test, fx_read_resp(fx, SHCA_OP_READ_RESP_ONLY, P0 + 1,
					   1), SHCA_RX_LOCAL_ERR);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_SUCCESS);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_EQ(test, fx->wc.vendor_err, SHCA_VERR_KEY);
}

static void req_rx_with_page_absent_changes_nothing(struct kunit *test)
{
	struct fx *fx = test->priv;

	post_read(fx, 1);
	fx->scatter = SHCA_MEM_RETRY;
	KUNIT_EXPECT_EQ(test, fx_read_resp(fx, SHCA_OP_READ_RESP_ONLY, P0, 7),
			SHCA_RX_RETRY);
	KUNIT_EXPECT_FALSE(test, fx_pop(fx));
	fx->scatter = SHCA_MEM_OK;
	KUNIT_EXPECT_EQ(test, fx_read_resp(fx, SHCA_OP_READ_RESP_ONLY, P0, 7),
			SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, count_pops(fx), 1u);
}

/* The rest is asked for from where it is, though it was never sent from there */
static void req_rx_of_read_resumed_forward_takes_first(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_SEND, 1);
	fx_post(fx, OP_READ, 3 * FX_MTU);
	fx_drain(fx);
	fx_timeout(fx);
	/* late answers to the first transmission overtake the second */
	fx_read_resp(fx, SHCA_OP_READ_RESP_FIRST, P0 + 1, FX_MTU);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + 2);
	KUNIT_EXPECT_EQ(test, fx_read_resp(fx, SHCA_OP_READ_RESP_FIRST, P0 + 2,
					   FX_MTU), SHCA_RX_OK);
}

/* ---- atomics, congestion --------------------------------------------------- */

static void req_rx_of_atomic_stores_value(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_FADD, 8);
	fx_drain(fx);
	KUNIT_EXPECT_EQ(test, fx_atomic_ack(fx, P0, 0x1122334455667788ull),
			SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->last_stored, 0x1122334455667788ull);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.opcode, SHCA_WC_FETCH_ADD);
	KUNIT_EXPECT_EQ(test, fx->wc.byte_len, 8u);
	/* a copy finds nothing to do */
	KUNIT_EXPECT_EQ(test, fx_atomic_ack(fx, P0, 1), SHCA_RX_STALE_ACK);
	KUNIT_EXPECT_EQ(test, fx->nr_store, 1u);
}

struct bare_row {
	const char *name;
	u8 opcode;	/* of the response */
	u32 len;
	u8 syndrome;
	bool ok;
};

static const struct bare_row bare_rows[] = {
	{ "ONLY of nothing", SHCA_OP_READ_RESP_ONLY, 0, ACK, true },
	{ "ONLY with data", SHCA_OP_READ_RESP_ONLY, 8, ACK, false },
	{ "FIRST", SHCA_OP_READ_RESP_FIRST, 0, ACK, false },
	{ "NAK syndrome", SHCA_OP_READ_RESP_ONLY, 0, 0x62, false },
	{ "atomic response", SHCA_OP_ATOMIC_ACK, 0, ACK, false },
};

static void bare_desc(const struct bare_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(bare, bare_rows, bare_desc);

/* IBTA A19.4: a READ response of nothing, and no other, completes it. */
static void req_rx_of_atomic_write_response(struct kunit *test)
{
	const struct bare_row *row = test->param_value;
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	fx_post(fx, SHCA_WR_ATOMIC_WRITE, 8);
	fx_drain(fx);
	memset(&pkt, 0, sizeof(pkt));
	pkt.opcode = row->opcode;
	pkt.psn = P0;
	pkt.aeth.syndrome = row->syndrome;
	pkt.paylen = row->len;
	KUNIT_EXPECT_EQ(test, shca_req_rx(&fx->req, &pkt, fx->now),
			row->ok ? SHCA_RX_OK : SHCA_RX_BAD_RESPONSE);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.opcode, SHCA_WC_ATOMIC_WRITE);
	KUNIT_EXPECT_EQ(test, fx->wc.status, row->ok ? SHCA_WC_SUCCESS :
						       SHCA_WC_BAD_RESP_ERR);
	KUNIT_EXPECT_EQ(test, fx->wc.byte_len, 0u);
	KUNIT_EXPECT_EQ(test, fx->nr_scatter + fx->nr_store, 0u);
}

/* As of a READ: an acknowledgement says that the response was lost. */
static void req_ack_of_atomic_write_goes_back(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, SHCA_WR_ATOMIC_WRITE, 8);
	fx_post(fx, OP_SEND, 1);
	fx_drain(fx);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0 + 1, ACK), SHCA_RX_LOST_RESPONSE);
	KUNIT_EXPECT_FALSE(test, fx_pop(fx));
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_ATOMIC_WRITE);
	KUNIT_EXPECT_TRUE(test, fx->pkt.again);
}

static void req_rx_of_cnp_changes_nothing(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	memset(&pkt, 0, sizeof(pkt));
	pkt.opcode = SHCA_OPCODE_CNP;
	fx_post(fx, OP_SEND, 1);
	fx_drain(fx);
	KUNIT_EXPECT_EQ(test, shca_req_rx(&fx->req, &pkt, fx->now),
			SHCA_RX_CNP);
	KUNIT_EXPECT_EQ(test, fx->req.stats.rx[SHCA_RX_CNP], 1ull);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 0u);
}

static struct kunit_case completer_cases[] = {
	KUNIT_CASE(req_rx_of_later_ack_completes_all_before),
	KUNIT_CASE(req_rx_of_ack_restarts_timer),
	KUNIT_CASE_PARAM(req_rx_outside_of_outstanding_is_dropped,
			 stale_gen_params),
	KUNIT_CASE(req_rx_of_each_syndrome_is_told_apart),
	KUNIT_CASE(req_rx_of_nak_acknowledges_what_is_before),
	KUNIT_CASE(req_rx_of_fatal_nak_behind_read_ends_it_as_told),
	KUNIT_CASE(req_rx_of_seq_nak_goes_back_once),
	KUNIT_CASE(req_rx_of_same_gap_again_leaves_time_outs),
	KUNIT_CASE(req_rx_of_second_nak_waits_a_round_trip),
	KUNIT_CASE(req_rx_of_seq_nak_without_retries_fails),
	KUNIT_CASE(req_rx_of_ack_while_going_back_moves_on),
	KUNIT_CASE(req_idle_while_going_back_is_false),
	KUNIT_CASE(req_rx_of_rnr_waits_as_told),
	KUNIT_CASE_PARAM(req_rx_of_rnr_counts_rnr_retry, rnr_gen_params),
	KUNIT_CASE(req_rx_of_rnr_does_not_restart_retries),
	KUNIT_CASE_PARAM(req_rx_of_rnr_for_ever_comes_less_often, back_off_gen_params),
	KUNIT_CASE(req_rx_of_rnr_with_a_count_waits_as_told),
	KUNIT_CASE(req_rx_of_rnr_copy_is_ignored),
	KUNIT_CASE(req_rx_of_ack_ends_rnr_wait),
	KUNIT_CASE(req_rx_of_second_rnr_sends_one_packet),
	KUNIT_CASE(req_rx_of_read_places_each_packet),
	KUNIT_CASE(req_rx_of_empty_read_touches_no_memory),
	KUNIT_CASE(req_rx_of_read_acknowledges_what_is_before),
	KUNIT_CASE(req_rx_of_ack_beyond_read_asks_for_it_again),
	KUNIT_CASE(req_rx_of_ack_at_read_asks_for_it_again),
	KUNIT_CASE(req_rx_of_read_gap_asks_for_the_rest),
	KUNIT_CASE_PARAM(req_rx_of_impossible_response_fails_read,
			 bad_gen_params),
	KUNIT_CASE(req_rx_of_read_response_to_send_fails_it),
	KUNIT_CASE(req_rx_of_ack_with_payload_fails),
	KUNIT_CASE(req_rx_with_memory_gone_fails_read),
	KUNIT_CASE(req_rx_with_page_absent_changes_nothing),
	KUNIT_CASE(req_rx_of_read_resumed_forward_takes_first),
	KUNIT_CASE(req_rx_of_atomic_stores_value),
	KUNIT_CASE_PARAM(req_rx_of_atomic_write_response, bare_gen_params),
	KUNIT_CASE(req_ack_of_atomic_write_goes_back),
	KUNIT_CASE(req_rx_of_cnp_changes_nothing),
	KUNIT_CASE(req_rx_of_repeated_read_without_an_end_fails_it),
	{}
};

static struct kunit_suite completer_suite = {
	.name = "softhca_completer",
	.init = fx_init,
	.test_cases = completer_cases,
};

kunit_test_suites(&completer_suite);
