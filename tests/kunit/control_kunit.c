// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* What a running side is told from outside: core/requester/control.c. */
#include "fixture.h"

/* ---- attributes: those of the mask, and no other ------------------------------ */

struct req_row {
	const char *name;
	u32 mask;
	u32 size;
	u32 off;
};

#define REQ(field, bit)							\
	{ #field, bit, sizeof(((struct shca_req_attr *)0)->field),	\
	  offsetof(struct shca_req_attr, field) }

static const struct req_row req_rows[] = {
	REQ(qkey, SHCA_REQ_QKEY),
	REQ(timeout_ns, SHCA_REQ_TIMEOUT),
	REQ(retry_cnt, SHCA_REQ_RETRY_CNT),
	REQ(rnr_retry, SHCA_REQ_RNR_RETRY),
	REQ(max_rd_atomic, SHCA_REQ_MAX_RD_ATOMIC),
	REQ(peer, SHCA_REQ_PEER),
	REQ(rate_kbps, SHCA_REQ_RATE),
};

#define RESP(field, bit)						\
	{ #field, bit, sizeof(((struct shca_resp_attr *)0)->field),	\
	  offsetof(struct shca_resp_attr, field) }

static const struct req_row resp_rows[] = {
	RESP(access, SHCA_RESP_ACCESS),
	RESP(qkey, SHCA_RESP_QKEY),
	RESP(min_rnr_timer, SHCA_RESP_MIN_RNR_TIMER),
	RESP(max_dest_rd_atomic, SHCA_RESP_MAX_DEST_RD_ATOMIC),
	RESP(transport, SHCA_RESP_TRANSPORT),
	RESP(rate_kbps, SHCA_RESP_RATE),
};

static void row_desc(const struct req_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(req, req_rows, row_desc);
KUNIT_ARRAY_PARAM(resp, resp_rows, row_desc);

/* Only the bytes of the attribute have become 0x5a. */
static void expect_only(struct kunit *test, const struct req_row *row,
			const u8 *attr, u32 len)
{
	u32 i;

	for (i = 0; i < len; i++) {
		bool inside = i >= row->off && i < row->off + row->size;

		KUNIT_EXPECT_EQ(test, attr[i], inside ? 0x5a : 0);
	}
}

static void req_modify_takes_what_is_named(struct kunit *test)
{
	const struct req_row *row = test->param_value;
	struct fx *fx = test->priv;
	struct shca_req_attr attr;

	memset(&fx->req.attr, 0, sizeof(fx->req.attr));
	memset(&attr, 0x5a, sizeof(attr));
	shca_req_modify(&fx->req, &attr, row->mask);
	expect_only(test, row, (u8 *)&fx->req.attr, sizeof(fx->req.attr));
}

static void resp_modify_takes_what_is_named(struct kunit *test)
{
	const struct req_row *row = test->param_value;
	struct fx *fx = test->priv;
	struct shca_resp_attr attr;

	memset(&fx->resp.attr, 0, sizeof(fx->resp.attr));
	memset(&attr, 0x5a, sizeof(attr));
	shca_resp_modify(&fx->resp, &attr, row->mask);
	expect_only(test, row, (u8 *)&fx->resp.attr, sizeof(fx->resp.attr));
}

/* What is known of a peer is not forgotten. */
static void req_modify_of_peer_adds(struct kunit *test)
{
	struct shca_req_attr attr = { .peer = 2 };
	struct fx *fx = test->priv;

	fx->req.attr.peer = 1;
	shca_req_modify(&fx->req, &attr, SHCA_REQ_PEER);
	KUNIT_EXPECT_EQ(test, fx->req.attr.peer, 3u);
}

/* IBTA 10.3.1.4: in SQD no request begins, and what has begun ends. */
static void req_drain_starts_nothing_until_it_ends(struct kunit *test)
{
	struct fx *fx = test->priv;

	shca_req_drain(&fx->req, true);
	fx_post(fx, SHCA_WR_SEND, 1);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	shca_req_drain(&fx->req, false);
	KUNIT_EXPECT_TRUE(test, fx_next(fx));
}

/* ---- when --------------------------------------------------------------------- */

static void req_stall_ends_in_time(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, SHCA_WR_SEND, 1);
	shca_req_stall(&fx->req, fx->now + 500);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), fx->now + 500);
	fx->now += 500;
	KUNIT_EXPECT_TRUE(test, fx_next(fx));
}

/* Memory that has come ends a stall, and does not make a QP faster than its rate. */
static void req_release_ends_stall_and_not_rate(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, SHCA_WR_SEND, 1);
	shca_req_rate(&fx->req, fx->now + 700);
	shca_req_stall(&fx->req, fx->now + 900);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), fx->now + 900);
	shca_req_release(&fx->req);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), fx->now + 700);
	fx->now += 700;
	KUNIT_EXPECT_TRUE(test, fx_next(fx));
}

/* The other way about: whichever is later. */
static void req_next_waits_for_the_later_of_stall_and_rate(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, SHCA_WR_SEND, 1);
	shca_req_stall(&fx->req, fx->now + 300);
	shca_req_rate(&fx->req, fx->now + 800);
	fx->now += 300;
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	fx->now += 500;
	KUNIT_EXPECT_TRUE(test, fx_next(fx));
}

/* The path's pace is a third thing: neither memory nor the rate ends it. */
static void req_next_obeys_the_pace(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, SHCA_WR_SEND, 1);
	shca_req_pace(&fx->req, fx->now + 600);
	shca_req_rate(&fx->req, fx->now + 400);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), fx->now + 600);
	shca_req_release(&fx->req);
	fx->now += 400;
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	fx->now += 200;
	KUNIT_EXPECT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->req.gate.pace_ns, 0ull);
}

/* What waits here to be resent is not late: the timer runs from when it has left. */
static void req_wait_of_our_own_is_no_timeout(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req *req = &fx->req;

	fx_post(fx, SHCA_WR_SEND, 1);
	fx_post(fx, SHCA_WR_SEND, 1);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2u);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, FX_SQ_PSN, RNR(1)), SHCA_RX_NAK_RNR);
	fx_timeout(fx);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	shca_req_pace(req, fx->now + 3 * FX_TIMEOUT);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, FX_SQ_PSN, ACK), SHCA_RX_OK);
	fx_timeout(fx);
	KUNIT_EXPECT_EQ(test, req->stats.timeouts, 0ull);
	KUNIT_EXPECT_EQ(test, req->recovery.retry_left, req->attr.retry_cnt);
	/* the wait is over: resent, and the timer is armed */
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, FX_SQ_PSN + 1);
	KUNIT_EXPECT_TRUE(test, fx->pkt.again);
	fx_timeout(fx);
	KUNIT_EXPECT_EQ(test, req->stats.timeouts, 1ull);
}

/* Sent again at a rate slower than the time-out: the timer runs from the packet that asks. */
static void req_slow_pace_is_no_timeout(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req *req = &fx->req;
	u64 asked;

	fx_post(fx, SHCA_WR_SEND, 2 * FX_MTU);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2u);
	fx_timeout(fx);
	KUNIT_EXPECT_EQ(test, req->stats.timeouts, 1ull);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_ASSERT_FALSE(test, fx->pkt.ackreq);
	shca_req_pace(req, fx->now + 3 * FX_TIMEOUT / 2);
	fx_timeout(fx);
	KUNIT_EXPECT_EQ(test, req->stats.timeouts, 1ull);
	fx_timeout(fx);	/* the end of pacing */
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, FX_SQ_PSN + 1);
	KUNIT_EXPECT_TRUE(test, fx->pkt.ackreq);
	asked = fx->now;
	fx_timeout(fx);
	KUNIT_EXPECT_EQ(test, req->stats.timeouts, 2ull);
	KUNIT_EXPECT_EQ(test, fx->now, asked + FX_TIMEOUT);
	/* a shorter pace: what was resent without AckReq has armed it before */
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	shca_req_pace(req, fx->now + FX_TIMEOUT / 2);
	fx->now += FX_TIMEOUT / 2;
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_TRUE(test, fx->pkt.ackreq);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(req), fx->now + FX_TIMEOUT);
}

/* What could not leave is sent for the first time, a moment later; no retry is used. */
static void req_full_link_is_no_loss(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 cwnd = fx->req.cc.cwnd;
	struct shca_pkt first;

	fx_post(fx, SHCA_WR_SEND, 3 * FX_MTU);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	first = fx->pkt;
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	shca_req_link_full(&fx->req, &first, fx->now + 250);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), fx->now + 250);
	/* nothing is out that could be answered */
	KUNIT_EXPECT_EQ(test, fx->req.recovery.deadline, 0ull);
	fx->now += 250;
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, first.psn);
	KUNIT_EXPECT_FALSE(test, fx->pkt.again);
	KUNIT_EXPECT_EQ(test, fx->req.stats.retransmits, 0ull);
	KUNIT_EXPECT_EQ(test, fx->req.cc.cwnd, cwnd);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.retry_left,
			fx->req.attr.retry_cnt);
}

/* What was sent before may be in the queue that is full: its time-out begins anew. */
static void req_full_link_restarts_the_time_out(struct kunit *test)
{
	struct fx *fx = test->priv;
	u64 sent = fx->now;

	fx_post(fx, SHCA_WR_SEND, 1);
	fx_post(fx, SHCA_WR_SEND, 1);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->req.recovery.deadline, sent + FX_TIMEOUT);
	KUNIT_EXPECT_FALSE(test, shca_req_is_overdue(&fx->req, sent));
	fx->now += FX_TIMEOUT - 1;
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	shca_req_link_full(&fx->req, &fx->pkt, fx->now + 250);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.deadline,
			fx->now + 250 + FX_TIMEOUT);
	fx->now += 250;
	shca_req_timer(&fx->req, fx->now);
	KUNIT_EXPECT_EQ(test, fx->req.stats.timeouts, 0ull);
	KUNIT_EXPECT_FALSE(test, shca_req_is_overdue(&fx->req, fx->now));
	fx->now += FX_TIMEOUT;
	KUNIT_EXPECT_TRUE(test, shca_req_is_overdue(&fx->req, fx->now));
	/* never earlier than it was */
	shca_req_stall(&fx->req, 0);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	shca_req_link_full(&fx->req, &fx->pkt, 0);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.deadline, fx->now);
}

/* Nor does it put off the end of a wait for a receive request, or a second look at a gap. */
static void req_full_link_leaves_other_times(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_attr attr;
	u32 gap;

	attr = fx->req.attr;
	for (gap = 0; gap < 2; gap++) {
		fx_req_start(fx, &attr);
		fx_post(fx, SHCA_WR_SEND, 1);
		fx_post(fx, SHCA_WR_SEND, 1);
		KUNIT_ASSERT_EQ(test, fx_drain(fx), 2u);
		fx->req.recovery.hold_ns = fx->now + 10000;
		/* RNR code 1 is 10 us (IBTA table 46) */
		fx_ack(fx, FX_SQ_PSN, gap ? NAK(SHCA_NAK_PSN_SEQ) : RNR(1));
		shca_req_link_full(&fx->req, &fx->pkt, fx->now + 250);
		KUNIT_EXPECT_EQ(test, fx->req.recovery.deadline, fx->now + 10000);
	}
}

/* In RESET nothing was handed out, and nothing is owed again. */
static void resp_full_link_in_reset_owes_nothing(struct kunit *test)
{
	struct fx *fx = test->priv;

	shca_resp_reset(&fx->resp);
	fx->resp.ack.sent = SHCA_ACK_ACK;
	memset(&fx->pkt, 0, sizeof(fx->pkt));
	shca_resp_link_full(&fx->resp, &fx->pkt);
	KUNIT_EXPECT_EQ(test, fx->resp.ack.owed, SHCA_ACK_NONE);
}

static void req_hold_keeps_a_packet_until_release(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, SHCA_WR_SEND, 1);
	shca_req_pause(&fx->req);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	shca_req_release(&fx->req);
	KUNIT_EXPECT_TRUE(test, fx_next(fx));
}

/* An answer that waits for memory is no answer that is late. */
static void req_answer_that_waits_moves_the_time_out(struct kunit *test)
{
	struct fx *fx = test->priv;
	u64 at;

	shca_req_answer_waits(&fx->req, fx->now + 5000);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), 0ull);
	fx_post(fx, SHCA_WR_SEND, 1);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	at = shca_req_deadline(&fx->req) + 5000;
	shca_req_answer_waits(&fx->req, at);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), at);
	/* nor does it shorten or lengthen what the peer has asked for */
	fx_ack(fx, FX_SQ_PSN, SHCA_AETH_RNR | 1);
	at = shca_req_deadline(&fx->req);
	KUNIT_ASSERT_TRUE(test, shca_req_rnr_waits(&fx->req));
	shca_req_answer_waits(&fx->req, at + 5000);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), at);
}

/* ---- how much at once ----------------------------------------------------------- */

static void reach_is_that_of_both_ends(struct kunit *test)
{
	struct fx *fx = test->priv;

	shca_set_reach(&fx->req, &fx->resp, 4);
	KUNIT_EXPECT_EQ(test, fx->req.psn.reach, 4u);
	KUNIT_EXPECT_EQ(test, fx->resp.reach, 4u);
	fx_post(fx, SHCA_WR_SEND, 3 * FX_MTU);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.span, 2u);
}

static void burst_is_of_middle_packets(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, SHCA_WR_SEND, 6 * FX_MTU);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	shca_req_set_max_run(&fx->req, 3);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_SEND_MIDDLE);
	KUNIT_EXPECT_EQ(test, fx->pkt.span, 2u);
	shca_resp_set_max_run(&fx->resp, 3);
	fx_rx_op(fx, SHCA_OP_READ_REQUEST, FX_RQ_PSN, 6 * FX_MTU);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_READ_RESP_MIDDLE);
	KUNIT_EXPECT_EQ(test, fx->pkt.span, 2u);
}

static struct kunit_case control_cases[] = {
	KUNIT_CASE_PARAM(req_modify_takes_what_is_named, req_gen_params),
	KUNIT_CASE_PARAM(resp_modify_takes_what_is_named, resp_gen_params),
	KUNIT_CASE(req_modify_of_peer_adds),
	KUNIT_CASE(req_drain_starts_nothing_until_it_ends),
	KUNIT_CASE(req_stall_ends_in_time),
	KUNIT_CASE(req_release_ends_stall_and_not_rate),
	KUNIT_CASE(req_next_waits_for_the_later_of_stall_and_rate),
	KUNIT_CASE(req_next_obeys_the_pace),
	KUNIT_CASE(req_wait_of_our_own_is_no_timeout),
	KUNIT_CASE(req_slow_pace_is_no_timeout),
	KUNIT_CASE(req_full_link_is_no_loss),
	KUNIT_CASE(req_full_link_restarts_the_time_out),
	KUNIT_CASE(req_full_link_leaves_other_times),
	KUNIT_CASE(resp_full_link_in_reset_owes_nothing),
	KUNIT_CASE(req_hold_keeps_a_packet_until_release),
	KUNIT_CASE(req_answer_that_waits_moves_the_time_out),
	KUNIT_CASE(reach_is_that_of_both_ends),
	KUNIT_CASE(burst_is_of_middle_packets),
	{}
};

static struct kunit_suite control_suite = {
	.name = "softhca_control",
	.init = fx_init,
	.test_cases = control_cases,
};

kunit_test_suites(&control_suite);
