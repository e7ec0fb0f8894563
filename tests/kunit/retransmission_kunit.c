// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * How the completer repairs.  Cases: when sending goes back and when not yet,
 * answers to ACK probes, receivers that are not ready, and impossible responses.
 */
#include "fixture.h"

#define P0	FX_SQ_PSN
#define OP_SEND	SHCA_WR_SEND
#define OP_READ	SHCA_WR_RDMA_READ
#define SEQ	NAK(SHCA_NAK_PSN_SEQ)

static void start(struct fx *fx, u64 timeout_ns, u8 retry_cnt)
{
	struct shca_req_attr attr;

	fx_req_attr(&attr);
	attr.timeout_ns = timeout_ns;
	attr.retry_cnt = retry_cnt;
	fx_req_start(fx, &attr);
}

static u32 post_and_drain(struct fx *fx, u32 nr)
{
	while (nr--)
		fx_post(fx, OP_SEND, 8);
	return fx_drain(fx);
}

/* Requests that nobody waits for have left, and none has asked. */
static void leave_behind(struct kunit *test, u32 nr)
{
	struct fx *fx = test->priv;

	fx->req.ackreq.sent_ns = fx->now;
	while (nr--) {
		fx_post_flags(fx, SHCA_WR_RDMA_WRITE, 8, 0);
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
		KUNIT_ASSERT_FALSE(test, fx->pkt.ackreq);
	}
}

static void probe(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_timeout(fx);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_ASSERT_NULL(test, fx->pkt.wr);
}

static void expect_error(struct kunit *test, u8 status, u16 vendor_err)
{
	struct fx *fx = test->priv;

	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, status);
	KUNIT_EXPECT_EQ(test, fx->wc.vendor_err, vendor_err);
}

/* ---- requests that have a response of their own -------------------------------------- */

struct own_row {
	const char *name;
	u8 opcode;
	u32 len;
	u8 response;
};

static const struct own_row own_rows[] = {
	{ "READ", OP_READ, 8, SHCA_OP_READ_RESP_ONLY },
	{ "CmpSwap", SHCA_WR_ATOMIC_CMP_AND_SWP, 8, SHCA_OP_ATOMIC_ACK },
	{ "FetchAdd", SHCA_WR_ATOMIC_FETCH_AND_ADD, 8, SHCA_OP_ATOMIC_ACK },
	{ "ATOMIC WRITE", SHCA_WR_ATOMIC_WRITE, 8, SHCA_OP_READ_RESP_ONLY },
	{ "FLUSH", SHCA_WR_FLUSH, 0, SHCA_OP_READ_RESP_ONLY },
};

static void own_desc(const struct own_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(own, own_rows, own_desc);

static void post_own(struct fx *fx, const struct own_row *row)
{
	struct shca_send_wr *wr = shca_req_slot(&fx->req);

	memset(wr, 0, FX_STRIDE);
	wr->opcode = row->opcode;
	wr->flags = SHCA_SEND_SIGNALED;
	if (row->opcode == SHCA_WR_FLUSH)
		wr->flush.type = SHCA_FLUSH_GLOBAL;
	wr->length = row->len;
	shca_req_post(&fx->req);
}

/* The response of @row's operation at @psn; of READs it has what was asked for. */
static enum shca_verdict answer_own(struct fx *fx, const struct own_row *row,
				    u32 psn)
{
	return row->response == SHCA_OP_ATOMIC_ACK ? fx_atomic_ack(fx, psn, 1) :
		fx_read_resp(fx, row->response, psn,
			     row->opcode == OP_READ ? row->len : 0);
}

/* IBTA 9.7.5.1.1, A19.4: it is lost if anything later is answered, and comes again. */
static void request_with_a_response_is_not_acknowledged(struct kunit *test)
{
	const struct own_row *row = test->param_value;
	struct fx *fx = test->priv;

	post_own(fx, row);
	post_and_drain(fx, 1);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0 + 1, ACK), SHCA_RX_LOST_RESPONSE);
	KUNIT_EXPECT_FALSE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2u);
	KUNIT_EXPECT_EQ(test, answer_own(fx, row, P0), SHCA_RX_OK);
	KUNIT_EXPECT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_SUCCESS);
	KUNIT_EXPECT_FALSE(test, fx_pop(fx));
}

/* As many at a time as the peer answers; a fence waits for each of them (10.8.3.3). */
static void request_with_a_response_is_counted_and_fenced(struct kunit *test)
{
	const struct own_row *row = test->param_value;
	struct fx *fx = test->priv;
	u32 i;

	for (i = 0; i < 5; i++)
		post_own(fx, row);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 4u);
	KUNIT_EXPECT_EQ(test, answer_own(fx, row, P0), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
	fx_post_flags(fx, OP_SEND, 8, SHCA_SEND_FENCE);
	for (i = 1; i < 5; i++) {
		KUNIT_EXPECT_EQ(test, fx_drain(fx), 0u);
		KUNIT_EXPECT_EQ(test, answer_own(fx, row, P0 + i), SHCA_RX_OK);
	}
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
	KUNIT_EXPECT_EQ(test, fx->req.psn.nr_rd, 0u);
	KUNIT_EXPECT_EQ(test, fx->req.psn.nr_rd_psns, 0u);
}

/* ---- going back ------------------------------------------------------------------ */

struct trip_row {
	const char *name;
	u64 timeout;
	u64 rtt;
	u64 expected;
};

static const struct trip_row trip_rows[] = {
	{ "measured", FX_TIMEOUT, 800, 1000 },
	{ "not measured", 32 * FX_MS, 0, 2 * FX_MS },
	{ "neither measured nor limited", 0, 0, 1000000 },
	{ "measured, without a limit", 0, 4000, 5000 },
};

static void trip_desc(const struct trip_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(trip, trip_rows, trip_desc);

/* For so long answers to what was sent before may show more gaps. */
static void gap_within_the_round_trip_waits_for_its_end(struct kunit *test)
{
	const struct trip_row *row = test->param_value;
	struct fx *fx = test->priv;

	start(fx, row->timeout, 3);
	fx->req.rtt.ns = row->rtt;
	post_and_drain(fx, 8);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0, SEQ), SHCA_RX_NAK_SEQ);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 8u);
	fx_ack(fx, P0, ACK);
	fx->now += row->expected - 1;
	fx_ack(fx, P0 + 1, SEQ);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), fx->now + 1);
	/* progress, and then at its very end: at once */
	fx_ack(fx, P0 + 1, ACK);
	fx->now++;
	fx_ack(fx, P0 + 2, SEQ);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 6u);
}

/* A timer that fires before is not put off. */
static void gap_within_the_round_trip_keeps_an_earlier_timer(struct kunit *test)
{
	struct fx *fx = test->priv;

	post_and_drain(fx, 2);
	fx->req.recovery.hold_ns = fx->now + 1000;
	fx->req.recovery.deadline = fx->now + 999;
	fx_ack(fx, P0, SEQ);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), fx->now + 999);
	start(fx, 0, 3);
	post_and_drain(fx, 2);
	fx->req.recovery.hold_ns = fx->now + 1000;
	fx_ack(fx, P0, SEQ);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), fx->now + 1000);
}

/* Nor is the end of the round trip, by a packet that is the first to ask. */
static void gap_within_the_round_trip_keeps_its_end(struct kunit *test)
{
	struct fx *fx = test->priv;

	leave_behind(test, 2);
	fx->req.recovery.hold_ns = fx->now + 1000;
	fx_ack(fx, P0, SEQ);
	KUNIT_ASSERT_EQ(test, shca_req_deadline(&fx->req), fx->now + 1000);
	fx_post(fx, OP_SEND, 8);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_TRUE(test, fx->pkt.ackreq);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), fx->now + 1000);
}

struct lost_row {
	const char *name;
	u8 syndrome;
};

static const struct lost_row lost_rows[] = {
	{ "ACK", ACK },
	{ "RNR", RNR(1) },
	{ "sequence NAK", SEQ },
};

static void lost_desc(const struct lost_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(lost, lost_rows, lost_desc);

/* IBTA 9.7.5.1.1: whatever comes behind a READ says that its response is lost. */
static void answer_behind_a_read_is_an_implied_nak(struct kunit *test)
{
	const struct lost_row *row = test->param_value;
	struct fx *fx = test->priv;
	u32 retries;

	for (retries = 0; retries < 2; retries++) {
		start(fx, FX_TIMEOUT, retries);
		fx_post(fx, OP_READ, 8);
		post_and_drain(fx, 1);
		KUNIT_EXPECT_EQ(test, fx_ack(fx, P0 + 1, row->syndrome),
				SHCA_RX_LOST_RESPONSE);
		KUNIT_EXPECT_FALSE(test, shca_req_rnr_waits(&fx->req));
		KUNIT_EXPECT_EQ(test, fx_drain(fx), 2 * retries);
	}
	start(fx, FX_TIMEOUT, 0);
	fx_post(fx, OP_READ, 8);
	post_and_drain(fx, 1);
	fx_ack(fx, P0 + 1, row->syndrome);
	expect_error(test, SHCA_WC_RETRY_EXC_ERR, SHCA_VERR_RESPONSE);
}

/* While packets come again there is no pause: the time-out is theirs. */
static void progress_while_sending_again_keeps_the_timer(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_SEND, 4 * FX_MTU);
	fx_drain(fx);
	fx_timeout(fx);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	fx->now += 5;
	fx_ack(fx, P0, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.ackreq.probe_ns, 0ull);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req),
			fx->now + FX_TIMEOUT);
}

static void progress_without_a_time_out_starts_none(struct kunit *test)
{
	struct fx *fx = test->priv;

	start(fx, 0, 3);
	post_and_drain(fx, 2);
	fx_ack(fx, P0, ACK);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), 0ull);
}

/* The rest of one message and the next one, by one acknowledgement. */
static void ack_goes_from_the_middle_of_a_message_to_the_next(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_SEND, 4 * FX_MTU);
	fx_post(fx, OP_SEND, 2 * FX_MTU);
	fx_drain(fx);
	fx_ack(fx, P0 + 1, ACK);
	KUNIT_EXPECT_FALSE(test, fx_pop(fx));
	fx_ack(fx, P0 + 4, ACK);
	KUNIT_EXPECT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_FALSE(test, fx_pop(fx));
	fx_ack(fx, P0 + 5, ACK);
	KUNIT_EXPECT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_TRUE(test, shca_req_idle(&fx->req));
}

/* ---- answers to ACK probes ------------------------------------------------------------ */

/* It left something out: that comes again at once, once, and is timed anew. */
static void answer_that_leaves_out_is_acted_on_once(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->now += FX_TIMEOUT;
	leave_behind(test, 2);
	fx->now += 5000;
	probe(test);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0 - 1, ACK), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), 0ull);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2u);
	fx_ack(fx, P0, SEQ);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->req.recovery.waits, SHCA_WAIT_BACK);
	/* the next gap within the round trip is looked at again at its end */
	fx->now += 100;
	fx_ack(fx, P0, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.rtt.ns, 0ull);
	fx_ack(fx, P0 + 1, SEQ);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->req.recovery.waits, SHCA_WAIT_HOLD);
}

struct none_row {
	const char *name;
	u8 opcode;
	s32 off;	/* from the oldest one */
	u8 syndrome;
	u32 len;
};

static const struct none_row none_rows[] = {
	{ "a READ response", SHCA_OP_READ_RESP_ONLY, -1, ACK, 0 },
	{ "an atomic's", SHCA_OP_ATOMIC_ACK, -1, ACK, 0 },
	{ "with a payload", SHCA_OP_ACK, -1, ACK, 4 },
	{ "sequence NAK", SHCA_OP_ACK, -1, SEQ, 0 },
	{ "access NAK", SHCA_OP_ACK, -1, NAK(SHCA_NAK_ACCESS), 0 },
	{ "RNR", SHCA_OP_ACK, -1, RNR(1), 0 },
	{ "of what was never sent", SHCA_OP_ACK, 2, ACK, 0 },
	{ "of XRC", SHCA_TRANSPORT_XRC | SHCA_OP_ACK, -1, ACK, 0 },
};

static void none_desc(const struct none_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(none, none_rows, none_desc);

/* A copy of anything else from before is no answer to an ACK probe. */
static void probe_is_answered_by_an_ack_alone(struct kunit *test)
{
	const struct none_row *row = test->param_value;
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	leave_behind(test, 2);
	probe(test);
	memset(&pkt, 0, sizeof(pkt));
	pkt.opcode = row->opcode;
	pkt.psn = P0 + row->off;
	pkt.aeth.syndrome = row->syndrome;
	pkt.paylen = row->len;
	KUNIT_EXPECT_EQ(test, shca_req_rx(&fx->req, &pkt, fx->now),
			SHCA_RX_STALE_ACK);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	/* the one that is due may come yet */
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0 + 1, ACK), SHCA_RX_OK);
	KUNIT_EXPECT_TRUE(test, shca_req_idle(&fx->req));
}

/* A lost ACK probe is no reason to send its packets twice. */
static void probe_that_was_lost_is_forgotten(struct kunit *test)
{
	struct fx *fx = test->priv;

	leave_behind(test, 3);
	probe(test);
	fx_timeout(fx);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 3u);
	fx_ack(fx, P0, ACK);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
}

/* It was about what had left by then. */
static void probe_is_not_about_what_leaves_later(struct kunit *test)
{
	struct fx *fx = test->priv;

	leave_behind(test, 1);
	probe(test);
	leave_behind(test, 1);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0, ACK), SHCA_RX_OK);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->req.recovery.waits, SHCA_WAIT_ANSWER);
	/* answered; a copy of an answer of before is about nothing */
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0 - 1, ACK), SHCA_RX_STALE_ACK);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
}

/* ---- receiver not ready ---------------------------------------------------------------- */

/* The verdict is told whatever becomes of it: counters depend on it. */
static void rnr_nak_is_counted_as_one(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i;

	post_and_drain(fx, 1);
	for (i = 0; i < 4; i++) {
		KUNIT_EXPECT_EQ(test, fx_ack(fx, P0, RNR(1)), SHCA_RX_NAK_RNR);
		/* a copy */
		if (i < 3)
			KUNIT_EXPECT_EQ(test, fx_ack(fx, P0, RNR(1)),
					SHCA_RX_NAK_RNR);
		fx_timeout(fx);
		fx_drain(fx);
	}
	KUNIT_EXPECT_EQ(test, fx->req.state, SHCA_SIDE_ERR);
	KUNIT_EXPECT_EQ(test, fx->req.stats.rx[SHCA_RX_NAK_RNR], 7ull);
	KUNIT_EXPECT_EQ(test, fx->req.stats.rx[SHCA_RX_NAK_FATAL], 0ull);
	expect_error(test, SHCA_WC_RNR_RETRY_EXC_ERR, SHCA_VERR_RNR);
}

/* The wait begins anew: neither a second look nor a measurement goes across it. */
static void rnr_wait_begins_anew(struct kunit *test)
{
	struct fx *fx = test->priv;

	post_and_drain(fx, 3);
	fx_ack(fx, P0, SEQ);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 3u);
	fx_ack(fx, P0, ACK);
	fx_ack(fx, P0 + 1, SEQ);
	KUNIT_ASSERT_EQ(test, fx->req.recovery.waits, SHCA_WAIT_HOLD);
	fx_ack(fx, P0 + 1, RNR(1));
	KUNIT_EXPECT_TRUE(test, shca_req_rnr_waits(&fx->req));
	fx_timeout(fx);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2u);
	/* a gap of this attempt is repaired */
	fx->now += FX_TIMEOUT / 2;
	fx_ack(fx, P0 + 1, SEQ);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2u);
	fx_ack(fx, P0 + 1, RNR(1));
	fx_timeout(fx);
	KUNIT_EXPECT_GE(test, fx_drain(fx), 1u);
	fx->now += FX_TIMEOUT / 2;
	fx_ack(fx, P0 + 1, SEQ);
	KUNIT_EXPECT_GE(test, fx_drain(fx), 1u);
	/* and what comes next is a time-out */
	fx_timeout(fx);
	KUNIT_EXPECT_EQ(test, fx->req.stats.timeouts, 1ull);
}

static void rnr_wait_is_no_part_of_a_round_trip(struct kunit *test)
{
	struct fx *fx = test->priv;

	post_and_drain(fx, 1);
	fx->now += 10;
	fx_ack(fx, P0, RNR(14));
	fx_timeout(fx);
	fx_drain(fx);
	fx->now += 10;
	fx_ack(fx, P0, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.rtt.ns, 0ull);
}

/* The threshold of the next request counts from zero, as that of the first. */
static void rnr_patience_begins_anew_with_progress(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_attr attr;
	u32 psn, i;

	fx_req_attr(&attr);
	attr.rnr_retry = 7;
	fx_req_start(fx, &attr);
	post_and_drain(fx, 2);
	for (psn = P0; psn < P0 + 2; psn++) {
		for (i = 0; i < SHCA_REQ_RNR_THRESHOLD; i++) {
			fx_ack(fx, psn, RNR(1));
			KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req),
					fx->now + 10000);
			fx_timeout(fx);
			fx_drain(fx);
		}
		fx_ack(fx, psn, ACK);
		fx_drain(fx);
	}
	KUNIT_EXPECT_TRUE(test, shca_req_idle(&fx->req));
}

/* ---- responses that cannot be -------------------------------------------------------------- */

static void ack_with_payload_is_a_bad_response(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	post_and_drain(fx, 1);
	memset(&pkt, 0, sizeof(pkt));
	pkt.opcode = SHCA_OP_ACK;
	pkt.psn = P0;
	pkt.paylen = 4;
	KUNIT_EXPECT_EQ(test, shca_req_rx(&fx->req, &pkt, fx->now),
			SHCA_RX_BAD_RESPONSE);
	expect_error(test, SHCA_WC_BAD_RESP_ERR, SHCA_VERR_RESPONSE);
}

static void flush_answered_by_data_is_a_bad_response(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, SHCA_WR_ATOMIC_WRITE, 8);
	fx_drain(fx);
	KUNIT_EXPECT_EQ(test, fx_read_resp(fx, SHCA_OP_READ_RESP_ONLY, P0, 8),
			SHCA_RX_BAD_RESPONSE);
	expect_error(test, SHCA_WC_BAD_RESP_ERR, SHCA_VERR_RESPONSE);
}

/* A run of middle packets that goes beyond the READ: nothing of it is placed. */
static void run_beyond_its_read_is_a_bad_response(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	fx_post(fx, OP_READ, 4 * FX_MTU);
	fx_drain(fx);
	fx_read_resp(fx, SHCA_OP_READ_RESP_FIRST, P0, FX_MTU);
	fx_post(fx, OP_SEND, 8 * FX_MTU);
	fx_drain(fx);
	memset(&pkt, 0, sizeof(pkt));
	pkt.opcode = SHCA_OP_READ_RESP_MIDDLE;
	pkt.psn = P0 + 1;
	pkt.span = 3;
	pkt.unit = FX_MTU;
	pkt.paylen = 3 * FX_MTU;
	KUNIT_EXPECT_EQ(test, shca_req_rx(&fx->req, &pkt, fx->now),
			SHCA_RX_BAD_RESPONSE);
	KUNIT_EXPECT_EQ(test, fx->nr_scatter, 1u);
	expect_error(test, SHCA_WC_BAD_RESP_ERR, SHCA_VERR_RESPONSE);
}

/* Middle packets have no AETH (table 38): what may stand in its place is not read. */
static void middle_of_a_read_has_no_aeth(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	fx_post(fx, OP_READ, 4 * FX_MTU);
	fx_drain(fx);
	fx_read_resp(fx, SHCA_OP_READ_RESP_FIRST, P0, FX_MTU);
	memset(&pkt, 0, sizeof(pkt));
	pkt.opcode = SHCA_OP_READ_RESP_MIDDLE;
	pkt.psn = P0 + 1;
	pkt.paylen = FX_MTU;
	pkt.aeth.syndrome = NAK(SHCA_NAK_ACCESS);
	KUNIT_EXPECT_EQ(test, shca_req_rx(&fx->req, &pkt, fx->now), SHCA_RX_OK);
}

/* A request, or a response that only a requester of another kind expects. */
static void packet_that_is_no_response_is_dropped(struct kunit *test)
{
	static const u8 ops[] = { SHCA_OP_SEND_ONLY, SHCA_OP_READ_REQUEST,
				  SHCA_OP_FLUSH,
				  SHCA_TRANSPORT_XRC | SHCA_OP_ACK,
				  SHCA_TRANSPORT_UC | SHCA_OP_SEND_ONLY };
	struct fx *fx = test->priv;
	struct shca_pkt pkt;
	u32 i;

	post_and_drain(fx, 1);
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		memset(&pkt, 0, sizeof(pkt));
		pkt.opcode = ops[i];
		pkt.psn = P0;
		KUNIT_EXPECT_EQ(test, shca_req_rx(&fx->req, &pkt, fx->now),
				SHCA_RX_STATE);
	}
	KUNIT_EXPECT_FALSE(test, fx_pop(fx));
}

/* Middle packets are a READ's that has begun to be answered. */
static void run_is_of_a_read_that_has_begun(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;
	u32 i;

	for (i = 0; i < 2; i++) {
		start(fx, FX_TIMEOUT, 3);
		fx_post(fx, i ? OP_SEND : OP_READ, 8 * FX_MTU);
		fx_drain(fx);
		memset(&pkt, 0, sizeof(pkt));
		pkt.opcode = SHCA_OP_READ_RESP_MIDDLE;
		pkt.psn = P0;
		pkt.span = 2;
		pkt.unit = FX_MTU;
		pkt.paylen = 3 * FX_MTU;
		KUNIT_EXPECT_FALSE(test, shca_req_takes_run(&fx->req, &pkt));
		if (i)
			fx_ack(fx, P0, ACK);
		else
			fx_read_resp(fx, SHCA_OP_READ_RESP_FIRST, P0, FX_MTU);
		pkt.psn++;
		KUNIT_EXPECT_EQ(test, shca_req_takes_run(&fx->req, &pkt), !i);
	}
}

/* What is sent again because of a NAK is not timed: which of the two is answered? */
static void repair_is_no_part_of_a_round_trip(struct kunit *test)
{
	struct fx *fx = test->priv;

	post_and_drain(fx, 1);
	fx->now += 500;
	fx_ack(fx, P0, SEQ);
	KUNIT_ASSERT_EQ(test, fx_drain(fx), 1u);
	fx->now += 500;
	fx_ack(fx, P0, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.rtt.ns, 0ull);
}

static struct kunit_case retransmission_cases[] = {
	KUNIT_CASE_PARAM(request_with_a_response_is_not_acknowledged,
			 own_gen_params),
	KUNIT_CASE_PARAM(request_with_a_response_is_counted_and_fenced,
			 own_gen_params),
	KUNIT_CASE_PARAM(gap_within_the_round_trip_waits_for_its_end,
			 trip_gen_params),
	KUNIT_CASE(gap_within_the_round_trip_keeps_an_earlier_timer),
	KUNIT_CASE(gap_within_the_round_trip_keeps_its_end),
	KUNIT_CASE_PARAM(answer_behind_a_read_is_an_implied_nak,
			 lost_gen_params),
	KUNIT_CASE(progress_while_sending_again_keeps_the_timer),
	KUNIT_CASE(progress_without_a_time_out_starts_none),
	KUNIT_CASE(ack_goes_from_the_middle_of_a_message_to_the_next),
	KUNIT_CASE(answer_that_leaves_out_is_acted_on_once),
	KUNIT_CASE_PARAM(probe_is_answered_by_an_ack_alone, none_gen_params),
	KUNIT_CASE(probe_that_was_lost_is_forgotten),
	KUNIT_CASE(probe_is_not_about_what_leaves_later),
	KUNIT_CASE(rnr_nak_is_counted_as_one),
	KUNIT_CASE(rnr_wait_begins_anew),
	KUNIT_CASE(rnr_wait_is_no_part_of_a_round_trip),
	KUNIT_CASE(rnr_patience_begins_anew_with_progress),
	KUNIT_CASE(ack_with_payload_is_a_bad_response),
	KUNIT_CASE(flush_answered_by_data_is_a_bad_response),
	KUNIT_CASE(run_beyond_its_read_is_a_bad_response),
	KUNIT_CASE(middle_of_a_read_has_no_aeth),
	KUNIT_CASE(packet_that_is_no_response_is_dropped),
	KUNIT_CASE(run_is_of_a_read_that_has_begun),
	KUNIT_CASE(repair_is_no_part_of_a_round_trip),
	{}
};

static struct kunit_suite retransmission_suite = {
	.name = "softhca_retransmission",
	.init = fx_init,
	.test_cases = retransmission_cases,
};

kunit_test_suites(&retransmission_suite);
