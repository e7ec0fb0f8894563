// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Packets out of order between two ends that know of each other that they keep them. The
 * responder says which are missing, and the requester sends those again and no other.
 */
#include "fixture.h"
#include "../../kernel/core/responder/resp_internal.h"

#define P0	FX_SQ_PSN
#define R0	FX_RQ_PSN
#define SEQ(n)	(SHCA_AETH_MISSING - 1 + (n))

static int hold_init(struct kunit *test)
{
	struct shca_req_attr req;
	struct shca_resp_attr resp;
	int err = fx_init(test);
	struct fx *fx = test->priv;

	if (err)
		return err;
	fx_req_attr(&req);
	req.peer |= SHCA_PEER_OOO;
	fx_req_start(fx, &req);
	fx_resp_attr(&resp);
	resp.peer = SHCA_PEER_OOO;
	fx_resp_start(fx, &resp);
	return 0;
}

/* ---- the responder ---------------------------------------------------------------- */

static bool may_hold(struct fx *fx, u8 opcode, u32 psn)
{
	struct shca_pkt pkt;

	fx_request(&pkt, opcode, psn, 8);
	return shca_resp_may_queue(&fx->resp, &pkt);
}

static void expect_told(struct kunit *test, u32 psn, u32 nr)
{
	struct fx *fx = test->priv;

	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_ACK);
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, psn);
	KUNIT_EXPECT_EQ(test, fx->pkt.aeth.syndrome, SEQ(nr));
	KUNIT_EXPECT_FALSE(test, fx_answer(fx));
}

static void resp_tells_what_is_missing_once(struct kunit *test)
{
	struct fx *fx = test->priv;

	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_ONLY, R0 + 3, 8),
			SHCA_RX_OUT_OF_SEQ);
	KUNIT_EXPECT_FALSE(test, fx_answer(fx));
	shca_resp_gap(&fx->resp, R0 + 3, R0 + 3, false);
	expect_told(test, R0, 3);
	KUNIT_EXPECT_EQ(test, fx->pkt.aeth.msn, R0 + 3);
	fx_rx_op(fx, SHCA_OP_SEND_ONLY, R0 + 4, 8);
	shca_resp_gap(&fx->resp, R0 + 3, R0 + 3, false);
	KUNIT_EXPECT_FALSE(test, fx_answer(fx));
	/* a part of it has come, and the rest is in flight */
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_ONLY, R0, 8), SHCA_RX_OK);
	shca_resp_gap(&fx->resp, R0 + 3, R0 + 3, false);
	KUNIT_EXPECT_FALSE(test, fx_answer(fx));
	/* or is not */
	shca_resp_gap(&fx->resp, R0 + 3, R0 + 5, true);
	expect_told(test, R0 + 1, 2);
	KUNIT_EXPECT_EQ(test, fx->pkt.aeth.msn, R0 + 5);
}

/* Several packets before the answer leaves: it names the latest one. */
static void resp_names_the_latest_cause(struct kunit *test)
{
	struct fx *fx = test->priv;

	shca_resp_gap(&fx->resp, R0 + 1, R0 + 7, true);
	shca_resp_gap(&fx->resp, R0 + 1, R0 + 4, true);
	expect_told(test, R0, 1);
	KUNIT_EXPECT_EQ(test, fx->pkt.aeth.msn, R0 + 7);
	shca_resp_gap(&fx->resp, R0 + 1, R0 + 4, true);
	shca_resp_gap(&fx->resp, R0 + 1, R0 + 5, true);
	expect_told(test, R0, 1);
	KUNIT_EXPECT_EQ(test, fx->pkt.aeth.msn, R0 + 5);
	/* of another gap it says nothing */
	shca_resp_gap(&fx->resp, R0 + 1, R0 + 9, true);
	fx_rx_op(fx, SHCA_OP_SEND_ONLY, R0, 8);
	fx_answer(fx);
	shca_resp_gap(&fx->resp, R0 + 3, R0 + 3, false);
	expect_told(test, R0 + 1, 2);
	KUNIT_EXPECT_EQ(test, fx->pkt.aeth.msn, R0 + 3);
}

/* A part of the gap has come before the answer leaves: what is missing counts, not the cause. */
static void resp_tells_of_the_gap_as_it_is(struct kunit *test)
{
	struct fx *fx = test->priv;

	shca_resp_gap(&fx->resp, R0 + 2, R0 + 9, true);
	shca_resp_gap(&fx->resp, R0 + 1, R0 + 4, true);
	expect_told(test, R0, 1);
	KUNIT_EXPECT_EQ(test, fx->pkt.aeth.msn, R0 + 4);
	/* a cause that is earlier by one is earlier */
	shca_resp_gap(&fx->resp, R0 + 1, R0 + 5, true);
	shca_resp_gap(&fx->resp, R0 + 1, R0 + 4, true);
	expect_told(test, R0, 1);
	KUNIT_EXPECT_EQ(test, fx->pkt.aeth.msn, R0 + 5);
}

static void resp_tells_the_next_gap(struct kunit *test)
{
	struct fx *fx = test->priv;

	shca_resp_gap(&fx->resp, R0 + 1, R0 + 1, false);
	expect_told(test, R0, 1);
	fx_rx_op(fx, SHCA_OP_SEND_ONLY, R0, 8);
	fx_rx_op(fx, SHCA_OP_SEND_ONLY, R0 + 1, 8);
	shca_resp_gap(&fx->resp, R0 + 4, R0 + 4, false);
	expect_told(test, R0 + 2, 2);
}

/* As many as a syndrome can say, and then the rest. */
static void resp_tells_a_long_gap_in_parts(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i;

	shca_resp_gap(&fx->resp, R0 + 33, R0 + 33, false);
	expect_told(test, R0, 32);
	for (i = 0; i < 31; i++)
		fx_rx_op(fx, SHCA_OP_WRITE_ONLY, R0 + i, 0);
	shca_resp_gap(&fx->resp, R0 + 33, R0 + 33, false);
	KUNIT_EXPECT_FALSE(test, fx_answer(fx));
	fx_rx_op(fx, SHCA_OP_WRITE_ONLY, R0 + 31, 0);
	shca_resp_gap(&fx->resp, R0 + 33, R0 + 33, false);
	expect_told(test, R0 + 32, 1);
}

/* Reported packets are sent in order: a later one of them shows that the rest is lost. */
static void resp_tells_again_of_what_is_lost_again(struct kunit *test)
{
	struct fx *fx = test->priv;

	shca_resp_gap(&fx->resp, R0 + 3, R0 + 3, false);
	expect_told(test, R0, 3);
	shca_resp_gap(&fx->resp, R0 + 2, R0 + 2, false);
	expect_told(test, R0, 2);
	shca_resp_gap(&fx->resp, R0 + 2, R0 + 4, false);
	KUNIT_EXPECT_FALSE(test, fx_answer(fx));
}

/* The first gap of a connection is reported, wherever its PSNs begin. */
static void resp_tells_the_first_gap(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_resp_attr attr;
	u32 closed;

	for (closed = 0; closed < 2; closed++) {
		shca_resp_reset(&fx->resp);
		fx_resp_attr(&attr);
		attr.peer = SHCA_PEER_OOO;
		attr.rq_psn = SHCA_PSN_MASK;
		fx_resp_start(fx, &attr);
		if (closed)
			shca_resp_gap(&fx->resp, SHCA_PSN_MASK, SHCA_PSN_MASK, false);
		shca_resp_gap(&fx->resp, 3, 3, false);
		expect_told(test, SHCA_PSN_MASK, 4);
	}
}

/* After a gap is closed the next one is reported, wherever it ends. */
static void resp_forgets_a_gap_that_is_closed(struct kunit *test)
{
	struct fx *fx = test->priv;

	shca_resp_gap(&fx->resp, R0 + 8, R0 + 8, false);
	expect_told(test, R0, 8);
	shca_resp_gap(&fx->resp, R0, R0, false);
	KUNIT_EXPECT_FALSE(test, fx_answer(fx));
	shca_resp_gap(&fx->resp, R0 + 2, R0 + 2, false);
	expect_told(test, R0, 2);
}

/* It was not said yet, and came: then that is said. */
static void resp_gap_that_closes_in_time_is_acknowledged(struct kunit *test)
{
	struct fx *fx = test->priv;

	shca_resp_gap(&fx->resp, R0 + 1, R0 + 1, false);
	fx_rx_op(fx, SHCA_OP_SEND_ONLY, R0, 8);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, R0);
	KUNIT_EXPECT_EQ(test, fx->pkt.aeth.syndrome,
			SHCA_AETH_ACK | SHCA_AETH_CREDIT_NONE);
}

static void resp_holds_requests_within_reach(struct kunit *test)
{
	struct fx *fx = test->priv;

	KUNIT_EXPECT_FALSE(test, may_hold(fx, SHCA_OP_SEND_ONLY, R0 - 1));
	KUNIT_EXPECT_FALSE(test, may_hold(fx, SHCA_OP_SEND_ONLY, R0));
	KUNIT_EXPECT_TRUE(test, may_hold(fx, SHCA_OP_SEND_ONLY, R0 + 1));
	KUNIT_EXPECT_TRUE(test, may_hold(fx, SHCA_OP_READ_REQUEST, R0 + 1));
	KUNIT_EXPECT_TRUE(test, may_hold(fx, SHCA_OP_SEND_ONLY, R0 + SHCA_OOO_PSNS));
	KUNIT_EXPECT_FALSE(test, may_hold(fx, SHCA_OP_SEND_ONLY, R0 + SHCA_OOO_PSNS + 1));
	/* a window of requests and all READs that may be outstanding with them */
	KUNIT_EXPECT_GT(test, SHCA_OOO_PSNS,
			SHCA_CC_WINDOW * (1 + SHCA_REQ_READ_FACTOR));
	KUNIT_EXPECT_FALSE(test, may_hold(fx, SHCA_OP_ACK, R0 + 1));
	fx->resp.stands = SHCA_STANDS_RNR;
	KUNIT_EXPECT_FALSE(test, may_hold(fx, SHCA_OP_SEND_ONLY, R0 + 1));
	shca_resp_gap(&fx->resp, R0 + 1, R0 + 1, true);
	KUNIT_EXPECT_FALSE(test, fx_answer(fx));
	fx->resp.stands = SHCA_STANDS_NOTHING;
	shca_resp_fail(&fx->resp);
	KUNIT_EXPECT_FALSE(test, may_hold(fx, SHCA_OP_SEND_ONLY, R0 + 1));
	shca_resp_gap(&fx->resp, R0 + 1, R0 + 1, true);
	KUNIT_EXPECT_FALSE(test, fx_answer(fx));
}

/* A peer of unknown vendor gets a sequence NAK, and what is behind the gap is dropped. */
static void resp_holds_nothing_of_a_unknown_peer(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_resp_attr attr;

	fx_resp_attr(&attr);
	fx_resp_start(fx, &attr);
	KUNIT_EXPECT_FALSE(test, may_hold(fx, SHCA_OP_SEND_ONLY, R0 + 1));
	fx_rx_op(fx, SHCA_OP_SEND_ONLY, R0 + 1, 8);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.aeth.syndrome,
			SHCA_AETH_NAK | SHCA_NAK_PSN_SEQ);
	attr.peer = SHCA_PEER_OOO;
	shca_resp_modify(&fx->resp, &attr, SHCA_RESP_PEER);
	KUNIT_EXPECT_TRUE(test, may_hold(fx, SHCA_OP_SEND_ONLY, R0 + 1));
	attr.peer = 0;
	shca_resp_modify(&fx->resp, &attr, SHCA_RESP_PEER);
	KUNIT_EXPECT_TRUE(test, may_hold(fx, SHCA_OP_SEND_ONLY, R0 + 1));
}

/* ---- the requester ---------------------------------------------------------------- */

/* @nr messages leave. */
static void send(struct kunit *test, u32 nr)
{
	struct fx *fx = test->priv;

	while (nr--) {
		fx_post(fx, SHCA_WR_SEND, 8);
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
	}
}

static void expect_next(struct kunit *test, u32 psn, bool again)
{
	struct fx *fx = test->priv;

	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_ASSERT_NOT_NULL(test, fx->pkt.wr);
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, psn);
	KUNIT_EXPECT_EQ(test, fx->pkt.again, again);
}

static void req_sends_again_what_is_missing(struct kunit *test)
{
	struct fx *fx = test->priv;

	send(test, 6);
	fx_post(fx, SHCA_WR_SEND, 8);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0 + 2, SEQ(2)), SHCA_RX_NAK_SEQ);
	KUNIT_EXPECT_EQ(test, fx->req.psn.una, P0 + 2);
	expect_next(test, P0 + 2, true);
	expect_next(test, P0 + 3, true);
	KUNIT_EXPECT_TRUE(test, fx->pkt.ackreq);
	expect_next(test, P0 + 6, false);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->req.stats.retransmits, 2ull);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.retry_left,
			fx->req.attr.retry_cnt);
	fx_ack(fx, P0 + 6, ACK);
	KUNIT_EXPECT_TRUE(test, shca_req_idle(&fx->req));
}

/* In the middle of a message, and up to one that has not been sent to its end. */
static void req_sends_again_within_a_message(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i;

	fx_post(fx, SHCA_WR_RDMA_WRITE, 4 * FX_MTU);
	fx_post(fx, SHCA_WR_RDMA_WRITE, 4 * FX_MTU);
	for (i = 0; i < 6; i++)
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
	fx_ack(fx, P0 + 1, SEQ(1));
	expect_next(test, P0 + 1, true);
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_WRITE_MIDDLE);
	KUNIT_EXPECT_EQ(test, fx->pkt.off, (u32)FX_MTU);
	KUNIT_EXPECT_TRUE(test, fx->pkt.ackreq);
	expect_next(test, P0 + 6, false);
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_WRITE_MIDDLE);
	KUNIT_EXPECT_EQ(test, fx->pkt.off, 2u * FX_MTU);
	expect_next(test, P0 + 7, false);
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_WRITE_LAST);
}

/* Nobody but who holds may say so: the type is a reserved one. */
static void req_takes_it_from_no_unknown_peer(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->req.attr.peer = SHCA_PEER_FLUSHES_ACKS;
	send(test, 3);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0 + 1, SEQ(1)), SHCA_RX_STALE_ACK);
	KUNIT_EXPECT_EQ(test, fx->req.psn.una, P0);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
}

/* An answer with the packet that caused it. */
static void missing(struct fx *fx, u32 psn, u32 nr, u32 cause)
{
	struct shca_pkt pkt = {
		.opcode = SHCA_OP_ACK,
		.psn = psn,
		.aeth = { .syndrome = SEQ(nr), .msn = cause },
	};

	shca_req_rx(&fx->req, &pkt, fx->now);
}

/* The response of the READ is usually in flight. */
static void req_missing_behind_a_read_is_sent_alone(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, SHCA_WR_RDMA_READ, 8);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	send(test, 3);
	/* (two of so few are many) */
	fx->req.cc.lossy = 12;
	fx->req.cc.cwnd = 12;
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0 + 1, SEQ(2)), SHCA_RX_NAK_SEQ);
	KUNIT_EXPECT_EQ(test, fx->req.cc.cwnd, 12u - 12 / 4);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.again_ns, fx->now);
	expect_next(test, P0 + 1, true);
	expect_next(test, P0 + 2, true);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->req.recovery.retry_left, 3);
	KUNIT_EXPECT_EQ(test, fx_read_resp(fx, SHCA_OP_READ_RESP_ONLY, P0, 8), SHCA_RX_OK);
	fx_ack(fx, P0 + 3, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.psn.una, P0 + 4);
}

/* As of the oldest ones: once in two round trips, unless it left before the cause. */
static void req_missing_behind_a_read_is_sent_once(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, SHCA_WR_RDMA_READ, 8);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	send(test, 3);
	fx->req.rtt.ns = FX_MS;
	missing(fx, P0 + 1, 1, P0 + 2);
	expect_next(test, P0 + 1, true);
	/* (the round trip and a quarter of it) */
	fx->now += 5 * FX_MS / 2 - 1;
	missing(fx, P0 + 1, 1, P0 + 3);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	/* another one is not of that */
	missing(fx, P0 + 2, 1, P0 + 3);
	expect_next(test, P0 + 2, true);
	fx->now++;
	fx->req.recovery.again_ns = fx->now - 5 * FX_MS / 2 + 1;
	fx_post(fx, SHCA_WR_SEND, 8);
	expect_next(test, P0 + 4, false);
	missing(fx, P0 + 2, 1, P0 + 3);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	missing(fx, P0 + 2, 1, P0 + 4);
	expect_next(test, P0 + 2, true);
	fx->now += 5 * FX_MS / 2;
	missing(fx, P0 + 2, 1, P0 + 4);
	expect_next(test, P0 + 2, true);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
}

/* Where all is sent again, or waits, that comes first. */
static void req_missing_behind_a_read_waits_for_others(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, SHCA_WR_RDMA_READ, 8);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	send(test, 3);
	fx->req.recovery.waits = SHCA_WAIT_RNR;
	missing(fx, P0 + 1, 1, P0 + 3);
	KUNIT_EXPECT_EQ(test, fx->req.psn.next, fx->req.psn.max);
	fx->req.recovery.waits = SHCA_WAIT_BACK;
	missing(fx, P0 + 1, 1, P0 + 3);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	/* (not by its own way, but for a gap, which ends) */
	fx->req.recovery.waits = SHCA_WAIT_REPAIR;
	missing(fx, P0 + 1, 1, P0 + 3);
	expect_next(test, P0 + 1, true);
	fx->now += 1000 * FX_MS;
	fx->req.recovery.waits = SHCA_WAIT_ANSWER;
	shca_req_gap(&fx->req, P0 + 1, P0 + 3, fx->now);
	missing(fx, P0 + 2, 1, P0 + 3);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0);
}

/* Nobody has what never left, nor lacks it. */
static void req_missing_is_of_what_has_left(struct kunit *test)
{
	struct fx *fx = test->priv;

	send(test, 3);
	missing(fx, P0, 1, P0 + 3);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	missing(fx, P0, 32, P0 + 2);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.gap_end, P0 + 3);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 3u);
	fx_ack(fx, P0 + 2, ACK);
	fx_post(fx, SHCA_WR_RDMA_READ, 8);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	send(test, 2);
	missing(fx, P0 + 4, 32, P0 + 5);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.ahead_end, P0 + 6);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2u);
}

/* PSNs come again after 2^24: losses and gaps of half that before are none of now. */
static void req_missing_long_ago_is_over(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 cwnd;

	send(test, 3);
	fx->req.cc.lossy = 12;
	fx->req.cc.cwnd = 12;
	cwnd = fx->req.cc.cwnd;
	fx->req.recovery.loss_psn = P0 + 0x400000;
	fx->req.recovery.gap_end = P0 + 0x400000;
	fx->req.recovery.again_ns = fx->now;
	missing(fx, P0, 2, P0 + 2);
	KUNIT_EXPECT_LT(test, fx->req.cc.cwnd, cwnd);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2u);
}

static void req_copy_of_it_is_void(struct kunit *test)
{
	struct fx *fx = test->priv;

	send(test, 4);
	fx_ack(fx, P0 + 1, SEQ(1));
	expect_next(test, P0 + 1, true);
	fx_ack(fx, P0 + 1, SEQ(1));
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	/* what is told after progress counts */
	fx_ack(fx, P0 + 2, SEQ(1));
	expect_next(test, P0 + 2, true);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
}

/* Packets behind a gap are not in flight: as many new ones leave in their place. */
static void req_sends_on_behind_a_gap(struct kunit *test)
{
	const u32 w = SHCA_CC_WINDOW;
	struct fx *fx = test->priv;

	fx_post(fx, SHCA_WR_RDMA_WRITE, 4 * w * FX_MTU);
	KUNIT_ASSERT_EQ(test, fx_drain(fx), w);
	missing(fx, P0 + 1, 2, P0 + 12);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.beyond, 10u);
	expect_next(test, P0 + 1, true);
	expect_next(test, P0 + 2, true);
	expect_next(test, P0 + w, false);
	/* (one more for the packet before the gap) */
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 10u);
	/* what is told later, and of less, takes nothing back */
	missing(fx, P0 + 1, 2, P0 + 5);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.beyond, 10u);
	missing(fx, P0 + 1, 2, P0 + 22);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 10u);
	/* when the gap is filled, only what was not counted before follows */
	fx_ack(fx, P0 + 22, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.beyond, 0u);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2u);
}

/* A second window at most: a peer keeps no more. What it cannot have counts nothing. */
static void req_sends_on_for_a_window(struct kunit *test)
{
	const u32 w = SHCA_CC_WINDOW;
	struct fx *fx = test->priv;
	u32 i;

	fx_post(fx, SHCA_WR_RDMA_WRITE, 4 * w * FX_MTU);
	KUNIT_ASSERT_EQ(test, fx_drain(fx), w);
	missing(fx, P0, 1, P0);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.beyond, 0u);
	for (i = 0; i < 3; i++) {
		missing(fx, P0, 1, fx->req.psn.max - 1);
		fx_drain(fx);
	}
	KUNIT_EXPECT_EQ(test, fx->req.recovery.beyond, w);
	KUNIT_EXPECT_EQ(test, fx->req.psn.max, P0 + 2 * w);
}

/* A window that a full queue has made smaller is all that may be there. */
static void req_sends_on_where_no_queue_is_full(struct kunit *test)
{
	const u32 w = SHCA_CC_WINDOW;
	struct fx *fx = test->priv;

	fx_post(fx, SHCA_WR_RDMA_WRITE, 4 * w * FX_MTU);
	KUNIT_ASSERT_EQ(test, fx_drain(fx), w);
	fx->req.cc.cwnd = w - 1;
	missing(fx, P0, 1, P0 + 12);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.beyond, 0u);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
}

/* What left after a repair has come, and what was sent again has not. */
static void req_repair_that_is_lost_comes_again(struct kunit *test)
{
	struct fx *fx = test->priv;

	send(test, 8);
	missing(fx, P0 + 1, 2, P0 + 3);
	expect_next(test, P0 + 1, true);
	expect_next(test, P0 + 2, true);
	/* from before */
	missing(fx, P0 + 1, 2, P0 + 7);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	send(test, 1);
	missing(fx, P0 + 1, 2, P0 + 8);
	expect_next(test, P0 + 1, true);
	expect_next(test, P0 + 2, true);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	/* and so again */
	missing(fx, P0 + 1, 2, P0 + 8);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	send(test, 1);
	missing(fx, P0 + 1, 2, P0 + 9);
	expect_next(test, P0 + 1, true);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.retry_left,
			fx->req.attr.retry_cnt);
}

/* A part of the repair has come, the end of it too. */
static void req_repair_that_is_lost_in_part_comes_again(struct kunit *test)
{
	struct fx *fx = test->priv;

	send(test, 8);
	fx->req.rtt.ns = FX_MS;
	missing(fx, P0 + 1, 3, P0 + 4);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 3u);
	fx->now += FX_MS;
	/* the first one is here, and the rest is in flight */
	missing(fx, P0 + 2, 2, P0 + 7);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	missing(fx, P0 + 2, 1, P0 + 3);
	expect_next(test, P0 + 2, true);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
}

/* Nothing new can leave, so nothing shows it; but it is overdue. */
static void req_repair_that_is_overdue_comes_again(struct kunit *test)
{
	struct fx *fx = test->priv;

	send(test, 4);
	fx->req.rtt.ns = FX_MS;
	missing(fx, P0, 1, P0 + 1);
	expect_next(test, P0, true);
	fx->req.rtt.ns = FX_MS;
	fx->now += 2 * FX_MS + FX_MS / 2 - 1;
	missing(fx, P0, 1, P0 + 3);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	fx->now++;
	missing(fx, P0, 1, P0 + 3);
	expect_next(test, P0, true);
}

/* The timed packet is named as the cause: it is there, behind a gap. */
static void req_packet_behind_a_gap_is_timed(struct kunit *test)
{
	struct fx *fx = test->priv;

	send(test, 4);
	KUNIT_ASSERT_EQ(test, fx->req.rtt.psn, P0);
	fx_ack(fx, P0, ACK);
	fx->now += 5 * FX_MS;
	send(test, 1);
	KUNIT_ASSERT_EQ(test, fx->req.rtt.psn, P0 + 4);
	fx->now += 300;
	missing(fx, P0 + 1, 1, P0 + 3);
	KUNIT_EXPECT_NE(test, fx->req.rtt.psn, SHCA_PSN_NONE);
	fx->now += 300;
	missing(fx, P0 + 1, 1, P0 + 4);
	KUNIT_EXPECT_EQ(test, fx->req.rtt.psn, SHCA_PSN_NONE);
	KUNIT_EXPECT_EQ(test, fx->req.rtt.ns, 600ull);
}

static void req_missing_while_not_ready_is_void(struct kunit *test)
{
	struct fx *fx = test->priv;

	send(test, 2);
	fx_ack(fx, P0, SHCA_AETH_RNR | 14);
	fx_ack(fx, P0, SEQ(1));
	KUNIT_EXPECT_EQ(test, fx->req.recovery.deadline,
			fx->now + shca_rnr_ns(14));
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_TRUE(test, shca_req_rnr_waits(&fx->req));
}

/* All of what is outstanding: as far as it goes, and no jump. */
static void req_all_that_is_missing_comes_again(struct kunit *test)
{
	struct fx *fx = test->priv;

	send(test, 2);
	fx_post(fx, SHCA_WR_SEND, 8);
	fx_ack(fx, P0, SEQ(9));
	expect_next(test, P0, true);
	expect_next(test, P0 + 1, true);
	expect_next(test, P0 + 2, false);
}

/* A few losses are the path's, and more than one in eight are of a window too large. */
static void req_window_shrinks_once_for_its_losses(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->req.cc.lossy = 16;
	fx->req.cc.cwnd = 16;
	send(test, 15);
	fx_ack(fx, P0 + 1, SEQ(2));
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2u);
	KUNIT_EXPECT_EQ(test, fx->req.cc.cwnd, 16u);
	fx_ack(fx, P0 + 4, SEQ(1));
	KUNIT_EXPECT_EQ(test, fx->req.cc.cwnd, 12u);
	expect_next(test, P0 + 4, true);
	/* once */
	fx_ack(fx, P0 + 6, SEQ(8));
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 8u);
	KUNIT_EXPECT_EQ(test, fx->req.cc.cwnd, 12u);
	/* and those of the next window */
	fx_ack(fx, P0 + 14, ACK);
	while (fx_pop(fx))
		;
	fx->req.cc.cwnd = 12;
	fx->req.cc.lossy = 12;
	send(test, 4);
	fx_ack(fx, P0 + 15, SEQ(2));
	KUNIT_EXPECT_EQ(test, fx->req.cc.cwnd, 9u);
}

/* A copy that was late after all: what is new goes on, and nothing comes again. */
static void req_missing_that_has_come_is_not_sent(struct kunit *test)
{
	struct fx *fx = test->priv;

	send(test, 8);
	fx_post(fx, SHCA_WR_SEND, 8);
	fx_ack(fx, P0 + 1, SEQ(4));
	expect_next(test, P0 + 1, true);
	fx_ack(fx, P0 + 2, ACK);
	expect_next(test, P0 + 3, true);
	fx_ack(fx, P0 + 4, ACK);
	expect_next(test, P0 + 8, false);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
}

/* What had asked for an answer before is still to have it. */
static void req_answer_stays_due_after_a_repair(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->req.attr.timeout_ns = FX_TIMEOUT;
	send(test, 3);
	KUNIT_ASSERT_EQ(test, fx->req.ackreq.psn, P0 + 3);
	fx->now += 100;
	fx_ack(fx, P0 + 1, SEQ(1));
	expect_next(test, P0 + 1, true);
	KUNIT_EXPECT_EQ(test, fx->req.ackreq.psn, P0 + 3);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.deadline, fx->now + FX_TIMEOUT);
	fx->now += 100;
	fx_ack(fx, P0 + 1, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.ackreq.probe_ns, 0ull);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.deadline, fx->now + FX_TIMEOUT);
}

/* Also where it is told of another gap before it has sent what was missing. */
static void req_answer_stays_due_after_two_repairs(struct kunit *test)
{
	struct fx *fx = test->priv;

	send(test, 6);
	fx_ack(fx, P0 + 1, SEQ(3));
	expect_next(test, P0 + 1, true);
	fx_ack(fx, P0 + 3, SEQ(1));
	expect_next(test, P0 + 3, true);
	KUNIT_EXPECT_EQ(test, fx->req.ackreq.psn, P0 + 6);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
}

/* A packet that did not ask does so when it is sent again. */
static void req_repair_asks(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i;

	for (i = 0; i < 3; i++) {
		fx_post_flags(fx, SHCA_WR_SEND, 8, 0);
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
		KUNIT_ASSERT_FALSE(test, fx->pkt.ackreq);
	}
	KUNIT_ASSERT_EQ(test, fx->req.ackreq.psn, P0);
	fx_ack(fx, P0, SEQ(2));
	expect_next(test, P0, true);
	expect_next(test, P0 + 1, true);
	KUNIT_EXPECT_EQ(test, fx->req.ackreq.psn, P0 + 2);
	/* the third one has still not asked */
	KUNIT_EXPECT_EQ(test, fx->req.ackreq.nr_since, 1u);
}

/* What waited for a repair tells nothing of round trips. */
static void req_repair_is_not_timed(struct kunit *test)
{
	struct fx *fx = test->priv;

	send(test, 4);
	fx->now += 500;
	fx_ack(fx, P0, SEQ(1));
	expect_next(test, P0, true);
	/* its answer is due from now on */
	KUNIT_EXPECT_EQ(test, fx->req.recovery.deadline, fx->now + FX_TIMEOUT);
	fx->now += 500;
	fx_ack(fx, P0 + 3, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.rtt.ns, 0ull);
}

/* A time-out before it has sent what was missing. */
static void req_time_out_ends_a_repair(struct kunit *test)
{
	struct fx *fx = test->priv;

	send(test, 4);
	fx_ack(fx, P0 + 1, SEQ(2));
	expect_next(test, P0 + 1, true);
	fx->now = fx->req.recovery.deadline;
	shca_req_timer(&fx->req, fx->now);
	expect_next(test, P0 + 1, true);
	expect_next(test, P0 + 2, true);
	expect_next(test, P0 + 3, true);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
}

/* After one packet that was sent early the peer has what is behind it. */
static void req_early_is_one_packet_and_no_more(struct kunit *test)
{
	struct fx *fx = test->priv;

	send(test, 1);
	fx->now += 1000;
	fx_ack(fx, P0, ACK);
	send(test, 3);
	fx_post(fx, SHCA_WR_SEND, 8);
	fx->now = shca_req_deadline(&fx->req);
	shca_req_timer(&fx->req, fx->now);
	expect_next(test, P0 + 1, true);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	fx->now += 1000;
	fx_ack(fx, P0 + 3, ACK);
	expect_next(test, P0 + 4, false);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
}

/* The answer to the first copy says nothing of what left after it: one more packet does. */
static void req_early_answered_soon_is_one_more(struct kunit *test)
{
	struct fx *fx = test->priv;

	send(test, 1);
	fx->now += 1000;
	fx_ack(fx, P0, ACK);
	send(test, 4);
	fx->now = shca_req_deadline(&fx->req);
	shca_req_timer(&fx->req, fx->now);
	expect_next(test, P0 + 1, true);
	/* (half of the 1000 ns that were measured) */
	fx->req.rtt.psn = SHCA_PSN_NONE;
	fx->now += 499;
	fx_ack(fx, P0 + 1, ACK);
	expect_next(test, P0 + 2, true);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->req.stats.early, 2ull);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.tail_probes, 2u);
	/* and if its answer is soon, too, the queue has become short */
	fx->now += 500;
	fx_ack(fx, P0 + 2, ACK);
	expect_next(test, P0 + 3, true);
	expect_next(test, P0 + 4, true);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	/* the next time it is the same */
	fx_ack(fx, P0 + 4, ACK);
	send(test, 3);
	fx->req.rtt.psn = SHCA_PSN_NONE;
	fx->now = shca_req_deadline(&fx->req);
	shca_req_timer(&fx->req, fx->now);
	expect_next(test, P0 + 5, true);
	fx_ack(fx, P0 + 5, ACK);
	expect_next(test, P0 + 6, true);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->req.stats.early, 4ull);
	/* sooner than on any path: the first copies have arrived, and the last one may have */
	fx->now += 499;
	fx_ack(fx, P0 + 6, ACK);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
}

/* Nor does the answer to one that was refused, after which all is sent again. */
static void req_early_that_is_refused_tells_nothing(struct kunit *test)
{
	struct fx *fx = test->priv;

	send(test, 1);
	fx->now += 1000;
	fx_ack(fx, P0, ACK);
	send(test, 2);
	fx->now = shca_req_deadline(&fx->req);
	shca_req_timer(&fx->req, fx->now);
	expect_next(test, P0 + 1, true);
	fx_ack(fx, P0 + 1, SHCA_AETH_RNR | 13);
	fx->now = shca_req_deadline(&fx->req);
	shca_req_timer(&fx->req, fx->now);
	expect_next(test, P0 + 1, true);
	expect_next(test, P0 + 2, true);
	fx->now += fx->req.rtt.ns / 2;
	fx_ack(fx, P0 + 1, ACK);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
}

/* All that left before it is lost: a few packets again, then twice as many. */
static void req_early_answered_alone_sends_the_rest(struct kunit *test)
{
	const u32 w = SHCA_CC_WINDOW;
	struct fx *fx = test->priv;

	send(test, 1);
	fx->now += 1000;
	fx_ack(fx, P0, ACK);
	fx_post(fx, SHCA_WR_RDMA_WRITE, w * FX_MTU);
	KUNIT_ASSERT_EQ(test, fx_drain(fx), w);
	fx->now = shca_req_deadline(&fx->req);
	shca_req_timer(&fx->req, fx->now);
	expect_next(test, P0 + 1, true);
	fx->now += fx->req.rtt.ns / 2;
	fx_ack(fx, P0 + 1, ACK);
	expect_next(test, P0 + 2, true);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 7u);
	KUNIT_EXPECT_TRUE(test, fx->pkt.ackreq);
	/* (the way of other peers tells of what is under repair) */
	fx_ack(fx, P0 + 2, NAK(SHCA_NAK_PSN_SEQ));
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	/* (a part of them tells nothing) */
	fx->now += fx->req.rtt.ns / 2;
	fx_ack(fx, P0 + 8, ACK);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	fx_ack(fx, P0 + 9, ACK);
	expect_next(test, P0 + 10, true);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 15u);
	KUNIT_EXPECT_EQ(test, fx->req.stats.early, 1ull);
	/* what comes behind a gap ends it */
	fx->now += fx->req.rtt.ns;
	missing(fx, P0 + 20, 2, P0 + 25);
	expect_next(test, P0 + 20, true);
	expect_next(test, P0 + 21, true);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.tail_probes, 0u);
}

/* The peer has more than what was sent early: it has told of no gap, so there is none. */
static void req_early_answered_for_more_is_no_more(struct kunit *test)
{
	struct fx *fx = test->priv;

	send(test, 1);
	fx->now += 1000;
	fx_ack(fx, P0, ACK);
	send(test, 3);
	fx->now = shca_req_deadline(&fx->req);
	shca_req_timer(&fx->req, fx->now);
	expect_next(test, P0 + 1, true);
	fx_ack(fx, P0 + 2, ACK);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->req.recovery.tail_probes, 0u);
}

/* It was the only one. */
static void req_early_answered_as_the_last_is_no_more(struct kunit *test)
{
	struct fx *fx = test->priv;

	send(test, 1);
	fx->now += 1000;
	fx_ack(fx, P0, ACK);
	send(test, 1);
	fx->now = shca_req_deadline(&fx->req);
	shca_req_timer(&fx->req, fx->now);
	expect_next(test, P0 + 1, true);
	fx_ack(fx, P0 + 1, ACK);
	KUNIT_EXPECT_TRUE(test, shca_req_idle(&fx->req));
	KUNIT_EXPECT_EQ(test, fx->req.stats.early, 1ull);
	send(test, 1);
	KUNIT_EXPECT_FALSE(test, fx->pkt.again);
}

/* It could not leave, and so all is sent again from the oldest on: no more is to be told. */
static void req_early_that_could_not_leave_sends_all(struct kunit *test)
{
	struct fx *fx = test->priv;

	send(test, 1);
	fx->now += 1000;
	fx_ack(fx, P0, ACK);
	send(test, 4);
	fx->now = shca_req_deadline(&fx->req);
	shca_req_timer(&fx->req, fx->now);
	expect_next(test, P0 + 1, true);
	shca_req_link_full(&fx->req, &fx->pkt, 0);
	fx_ack(fx, P0 + 1, ACK);
	expect_next(test, P0 + 2, true);
	expect_next(test, P0 + 3, true);
	expect_next(test, P0 + 4, true);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
}

/* A packet that left after the rest of them shows itself what is missing. */
static void req_early_then_a_new_packet_is_no_more(struct kunit *test)
{
	struct fx *fx = test->priv;

	send(test, 1);
	fx->now += 1000;
	fx_ack(fx, P0, ACK);
	send(test, SHCA_CC_WINDOW_MIN + 3);
	fx->now = shca_req_deadline(&fx->req);
	shca_req_timer(&fx->req, fx->now);
	expect_next(test, P0 + 1, true);
	fx->req.rtt.psn = SHCA_PSN_NONE;
	fx->now += 1000;
	fx_ack(fx, P0 + 1, ACK);
	KUNIT_ASSERT_EQ(test, fx_drain(fx), SHCA_CC_WINDOW_MIN);
	send(test, 1);
	fx->now += 1000;
	fx_ack(fx, P0 + 1 + SHCA_CC_WINDOW_MIN, ACK);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
}

/* A small window ends a repair of @nr half way, and some of the eight are lost again. */
static void interrupt(struct kunit *test, u32 psn, u32 nr, u32 lost)
{
	const u32 small = SHCA_CC_WINDOW_MIN;
	struct fx *fx = test->priv;

	fx->req.cc.lossy = small;
	fx->req.cc.cwnd = small;
	missing(fx, psn, nr, psn + nr + 1);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), small);
	fx->now += FX_TIMEOUT / 16;
	missing(fx, psn + 1, lost, psn + 7);
}

static void interrupt_a_repair(struct kunit *test)
{
	const u32 w = SHCA_CC_WINDOW;
	struct fx *fx = test->priv;

	fx_post(fx, SHCA_WR_RDMA_WRITE, w * FX_MTU);
	KUNIT_ASSERT_EQ(test, fx_drain(fx), w);
	interrupt(test, P0, 32, 2);
}

static void req_repair_goes_on_after_what_it_has_lost(struct kunit *test)
{
	struct fx *fx = test->priv;

	interrupt_a_repair(test);
	expect_next(test, P0 + 1, true);
	expect_next(test, P0 + 2, true);
	KUNIT_EXPECT_TRUE(test, fx->pkt.ackreq);
	/* the rest of it, and not what it has sent already */
	expect_next(test, P0 + 8, true);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	/* what it has not sent yet is not lost */
	missing(fx, P0 + 8, 24, P0 + 40);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), fx->req.cc.cwnd - 1);
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + 8 + fx->req.cc.cwnd - 1);
	/* and what it has sent is in flight */
	missing(fx, P0 + 8, 1, P0 + 9);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	while (fx->req.psn.next != fx->req.psn.max) {
		fx_ack(fx, fx->pkt.psn, ACK);
		KUNIT_ASSERT_GT(test, fx_drain(fx), 0u);
	}
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + 31);
	KUNIT_EXPECT_EQ(test, fx->req.stats.retransmits, 32ull + 2);
	/* the last packet of all had asked before, and is to be answered yet */
	KUNIT_EXPECT_EQ(test, fx->req.ackreq.psn, P0 + SHCA_CC_WINDOW);
}

/* And not at what has been acknowledged meanwhile. */
static void req_repair_goes_on_behind_what_is_acknowledged(struct kunit *test)
{
	struct fx *fx = test->priv;

	interrupt_a_repair(test);
	fx_ack(fx, P0 + SHCA_CC_WINDOW_MIN + 2, ACK);
	expect_next(test, P0 + SHCA_CC_WINDOW_MIN + 3, true);
}

/* The last packet of it, or all of it: then nothing of it goes on. */
static void req_repair_ends_with_what_is_acknowledged(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_attr attr;
	u32 come;

	attr = fx->req.attr;
	for (come = 31; come <= 33; come++) {
		fx_req_start(fx, &attr);
		interrupt_a_repair(test);
		fx_ack(fx, P0 + come - 1, ACK);
		if (come == 31)
			expect_next(test, P0 + come, true);
		KUNIT_EXPECT_FALSE(test, fx_next(fx));
	}
}

/* One packet is between what is lost again and the rest: that does not leave a second time. */
static void req_repair_goes_on_behind_one_packet(struct kunit *test)
{
	const u32 w = SHCA_CC_WINDOW;
	struct fx *fx = test->priv;
	u32 i;

	fx_post(fx, SHCA_WR_RDMA_WRITE, w * FX_MTU);
	KUNIT_ASSERT_EQ(test, fx_drain(fx), w);
	interrupt(test, P0, 32, SHCA_CC_WINDOW_MIN - 2);
	/* (as many as the window has) */
	fx->req.cc.cwnd = SHCA_CC_WINDOW_MIN + 2;
	for (i = 1; i < SHCA_CC_WINDOW_MIN - 1; i++)
		expect_next(test, P0 + i, true);
	expect_next(test, P0 + SHCA_CC_WINDOW_MIN, true);
}

/* Before all of it has left again, the first packet is lost once more: the rest is the same. */
static void req_repair_goes_on_after_two_interruptions(struct kunit *test)
{
	const u32 w = SHCA_CC_WINDOW;
	struct fx *fx = test->priv;

	fx_post(fx, SHCA_WR_RDMA_WRITE, w * FX_MTU);
	KUNIT_ASSERT_EQ(test, fx_drain(fx), w);
	interrupt(test, P0, 32, 3);
	expect_next(test, P0 + 1, true);
	expect_next(test, P0 + 2, true);
	fx->now += FX_TIMEOUT / 16;
	missing(fx, P0 + 1, 1, P0 + 7);
	expect_next(test, P0 + 1, true);
	expect_next(test, P0 + SHCA_CC_WINDOW_MIN, true);
}

/* The rest is interrupted, and then goes on where it stands. */
static void req_rest_of_a_repair_goes_on(struct kunit *test)
{
	struct fx *fx = test->priv;

	interrupt_a_repair(test);
	expect_next(test, P0 + 1, true);
	expect_next(test, P0 + 2, true);
	expect_next(test, P0 + SHCA_CC_WINDOW_MIN, true);
	fx->now += FX_TIMEOUT / 16;
	missing(fx, P0 + 1, 1, P0 + 7);
	expect_next(test, P0 + 1, true);
	/* (as many as the window has) */
	fx->req.cc.cwnd = SHCA_CC_WINDOW_MIN + 2;
	expect_next(test, P0 + SHCA_CC_WINDOW_MIN + 1, true);
}

/* After one whose rest has come, another one is interrupted in the same way. */
static void req_next_repair_goes_on_too(struct kunit *test)
{
	struct fx *fx = test->priv;

	interrupt_a_repair(test);
	fx_ack(fx, P0 + 33, ACK);
	KUNIT_ASSERT_FALSE(test, fx_next(fx));
	fx->now += FX_TIMEOUT / 16;
	interrupt(test, P0 + 34, 16, 1);
	expect_next(test, P0 + 35, true);
	expect_next(test, P0 + 34 + SHCA_CC_WINDOW_MIN, true);
}

/* A time-out sends all again, so the rest of a repair before it is forgotten. */
static void req_time_out_ends_the_rest_of_a_repair(struct kunit *test)
{
	struct fx *fx = test->priv;

	interrupt_a_repair(test);
	expect_next(test, P0 + 1, true);
	fx->now = fx->req.recovery.deadline;
	shca_req_timer(&fx->req, fx->now);
	KUNIT_ASSERT_EQ(test, fx->req.stats.timeouts, 1ull);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), fx->req.cc.cwnd);
	fx->now += FX_TIMEOUT / 16;
	missing(fx, P0 + 1, 2, P0 + 7);
	expect_next(test, P0 + 1, true);
	expect_next(test, P0 + 2, true);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
}

/* The others could not leave yet, and the first one is sent early: they leave after it. */
static void req_early_lets_the_repair_go_on(struct kunit *test)
{
	struct fx *fx = test->priv;

	send(test, 1);
	fx->now += 1000;
	fx_ack(fx, P0, ACK);
	send(test, 4);
	missing(fx, P0 + 1, 3, P0 + 4);
	expect_next(test, P0 + 1, true);
	shca_req_stall(&fx->req, fx->now + FX_TIMEOUT);
	fx->now = shca_req_deadline(&fx->req);
	shca_req_timer(&fx->req, fx->now);
	KUNIT_ASSERT_EQ(test, fx->req.stats.early, 1ull);
	shca_req_release(&fx->req);
	expect_next(test, P0 + 1, true);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	fx->now += 2 * FX_MS;
	fx_ack(fx, P0 + 1, ACK);
	expect_next(test, P0 + 2, true);
	expect_next(test, P0 + 3, true);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
}

/* Nothing of it could leave: the early packet takes its place, and its answer tells of the rest. */
static void req_early_takes_the_place_of_a_repair(struct kunit *test)
{
	struct fx *fx = test->priv;

	send(test, 1);
	fx->now += 1000;
	fx_ack(fx, P0, ACK);
	send(test, 4);
	missing(fx, P0 + 1, 2, P0 + 3);
	KUNIT_ASSERT_EQ(test, fx_drain(fx), 2u);
	/* it is overdue, and the link is full */
	fx->now += FX_MS / 4;
	missing(fx, P0 + 1, 2, P0 + 4);
	shca_req_stall(&fx->req, fx->now + FX_TIMEOUT);
	fx->now = shca_req_deadline(&fx->req);
	shca_req_timer(&fx->req, fx->now);
	KUNIT_ASSERT_EQ(test, fx->req.stats.early, 1ull);
	shca_req_release(&fx->req);
	expect_next(test, P0 + 1, true);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	fx->now += 2 * FX_MS;
	fx_ack(fx, P0 + 1, ACK);
	expect_next(test, P0 + 2, true);
	expect_next(test, P0 + 3, true);
	expect_next(test, P0 + 4, true);
}

/* A part of what was to be sent again has come: a READ behind it is asked for as a whole. */
static void req_repair_asks_for_a_whole_read(struct kunit *test)
{
	struct fx *fx = test->priv;

	send(test, 2);
	fx_post(fx, SHCA_WR_RDMA_READ, 4 * FX_MTU);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	send(test, 1);
	missing(fx, P0, 3, P0 + 6);
	fx_ack(fx, P0, ACK);
	expect_next(test, P0 + 1, true);
	expect_next(test, P0 + 2, true);
	KUNIT_EXPECT_EQ(test, fx->pkt.reth.len, 4u * FX_MTU);
}

/* The peer reports a gap before it has the early copy, which is in flight. */
static void req_early_is_the_repair(struct kunit *test)
{
	struct fx *fx = test->priv;

	send(test, 1);
	fx->now += 1000;
	fx_ack(fx, P0, ACK);
	send(test, 3);
	fx->now = shca_req_deadline(&fx->req);
	shca_req_timer(&fx->req, fx->now);
	expect_next(test, P0 + 1, true);
	missing(fx, P0 + 1, 1, P0 + 3);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->req.stats.retransmits, 1ull);
}

/* A time-out trusts nothing: all of it comes again. */
static void req_time_out_sends_all_again(struct kunit *test)
{
	struct fx *fx = test->priv;

	send(test, 4);
	fx_ack(fx, P0 + 1, SEQ(1));
	expect_next(test, P0 + 1, true);
	fx->now = fx->req.recovery.deadline;
	shca_req_timer(&fx->req, fx->now);
	expect_next(test, P0 + 1, true);
	expect_next(test, P0 + 2, true);
	expect_next(test, P0 + 3, true);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
}

/* What is new and could not leave, behind what is sent again, is new the next time. */
static void req_full_link_keeps_what_is_new(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	send(test, 4);
	fx_post(fx, SHCA_WR_SEND, 8);
	fx_post(fx, SHCA_WR_SEND, 8);
	fx_ack(fx, P0 + 1, SEQ(1));
	expect_next(test, P0 + 1, true);
	pkt = fx->pkt;
	expect_next(test, P0 + 4, false);
	shca_req_link_full(&fx->req, &pkt, 0);
	KUNIT_EXPECT_EQ(test, fx->req.psn.max, P0 + 4);
	expect_next(test, P0 + 1, true);
	expect_next(test, P0 + 2, true);
	expect_next(test, P0 + 3, true);
	expect_next(test, P0 + 4, false);
	expect_next(test, P0 + 5, false);
}

/* The same behind all that a time-out sends again: it is not left out afterwards. */
static void req_full_link_after_a_timeout_keeps_what_is_new(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	send(test, 2);
	fx_post(fx, SHCA_WR_SEND, 8);
	fx->now = fx->req.recovery.deadline;
	shca_req_timer(&fx->req, fx->now);
	expect_next(test, P0, true);
	pkt = fx->pkt;
	expect_next(test, P0 + 1, true);
	expect_next(test, P0 + 2, false);
	shca_req_link_full(&fx->req, &pkt, 0);
	KUNIT_EXPECT_EQ(test, fx->req.psn.max, P0 + 2);
	fx_ack(fx, P0, SEQ(1));
	expect_next(test, P0, true);
	expect_next(test, P0 + 2, false);
}

/* Local requests between them have been executed, and are passed over. */
static void req_repair_passes_over_local_requests(struct kunit *test)
{
	struct fx *fx = test->priv;

	send(test, 2);
	fx_post_flags(fx, SHCA_WR_REG_MR, 0, 0);
	send(test, 2);
	fx_post(fx, SHCA_WR_SEND, 8);
	KUNIT_EXPECT_EQ(test, fx->nr_local, 1u);
	fx_ack(fx, P0 + 1, SEQ(1));
	expect_next(test, P0 + 1, true);
	expect_next(test, P0 + 4, false);
	KUNIT_EXPECT_EQ(test, fx->nr_local, 1u);
	fx_ack(fx, P0 + 4, ACK);
	KUNIT_EXPECT_TRUE(test, shca_req_idle(&fx->req));
}

/* Behind a repair nothing that has left leaves again: a local request has its place, too. */
static void req_repair_goes_on_behind_a_local_request(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_attr attr;

	fx_req_attr(&attr);
	attr.sq_psn = 0xc00000;
	attr.peer |= SHCA_PEER_OOO;
	fx_req_start(fx, &attr);
	fx_post(fx, SHCA_WR_SEND, 8);
	fx_post(fx, SHCA_WR_REG_MR, 0);
	fx_post(fx, SHCA_WR_SEND, 8);
	KUNIT_ASSERT_EQ(test, fx_drain(fx), 2u);
	fx_ack(fx, 0xc00000, SEQ(1));
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, 0xc00000u);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	/* (the question of the last one is still to be answered) */
	KUNIT_EXPECT_EQ(test, fx->req.ackreq.psn, 0xc00002u);
	fx_post(fx, SHCA_WR_SEND, 8);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, 0xc00002u);
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_SEND_ONLY);
}

/* The way of other peers tells of the same gap: it is under repair. */
static void req_sequence_nak_during_a_repair_is_void(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i;

	for (i = 0; i < 4; i++)
		fx_post(fx, SHCA_WR_SEND, 8);
	KUNIT_ASSERT_EQ(test, fx_drain(fx), 4u);
	fx_ack(fx, P0, SEQ(1));
	KUNIT_ASSERT_EQ(test, fx_drain(fx), 1u);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0, NAK(SHCA_NAK_PSN_SEQ)), SHCA_RX_NAK_SEQ);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 0u);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.retry_left, 3);
}

/* Behind a repair a message goes on where it stood, and the next one begins with its first packet. */
static void req_repair_leaves_messages_whole(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, SHCA_WR_SEND, 3 * FX_MTU);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	fx_ack(fx, P0, SEQ(1));
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + 2);
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_SEND_LAST);
	fx_ack(fx, P0, ACK);
	fx_ack(fx, P0 + 1, SEQ(1));
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + 1);
	fx_post(fx, SHCA_WR_SEND, 2 * FX_MTU);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + 3);
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_SEND_FIRST);
}

static struct kunit_case selective_repeat_cases[] = {
	KUNIT_CASE(resp_tells_what_is_missing_once),
	KUNIT_CASE(resp_names_the_latest_cause),
	KUNIT_CASE(resp_tells_of_the_gap_as_it_is),
	KUNIT_CASE(resp_tells_the_next_gap),
	KUNIT_CASE(resp_tells_a_long_gap_in_parts),
	KUNIT_CASE(resp_tells_again_of_what_is_lost_again),
	KUNIT_CASE(resp_tells_the_first_gap),
	KUNIT_CASE(resp_forgets_a_gap_that_is_closed),
	KUNIT_CASE(resp_gap_that_closes_in_time_is_acknowledged),
	KUNIT_CASE(resp_holds_requests_within_reach),
	KUNIT_CASE(resp_holds_nothing_of_a_unknown_peer),
	KUNIT_CASE(req_sends_again_what_is_missing),
	KUNIT_CASE(req_sends_again_within_a_message),
	KUNIT_CASE(req_takes_it_from_no_unknown_peer),
	KUNIT_CASE(req_missing_behind_a_read_is_sent_alone),
	KUNIT_CASE(req_missing_behind_a_read_is_sent_once),
	KUNIT_CASE(req_missing_behind_a_read_waits_for_others),
	KUNIT_CASE(req_missing_is_of_what_has_left),
	KUNIT_CASE(req_missing_long_ago_is_over),
	KUNIT_CASE(req_copy_of_it_is_void),
	KUNIT_CASE(req_sends_on_behind_a_gap),
	KUNIT_CASE(req_sends_on_for_a_window),
	KUNIT_CASE(req_sends_on_where_no_queue_is_full),
	KUNIT_CASE(req_repair_that_is_lost_comes_again),
	KUNIT_CASE(req_repair_that_is_lost_in_part_comes_again),
	KUNIT_CASE(req_repair_that_is_overdue_comes_again),
	KUNIT_CASE(req_packet_behind_a_gap_is_timed),
	KUNIT_CASE(req_missing_while_not_ready_is_void),
	KUNIT_CASE(req_all_that_is_missing_comes_again),
	KUNIT_CASE(req_window_shrinks_once_for_its_losses),
	KUNIT_CASE(req_missing_that_has_come_is_not_sent),
	KUNIT_CASE(req_answer_stays_due_after_a_repair),
	KUNIT_CASE(req_answer_stays_due_after_two_repairs),
	KUNIT_CASE(req_repair_asks),
	KUNIT_CASE(req_repair_is_not_timed),
	KUNIT_CASE(req_time_out_ends_a_repair),
	KUNIT_CASE(req_early_is_one_packet_and_no_more),
	KUNIT_CASE(req_early_answered_soon_is_one_more),
	KUNIT_CASE(req_early_that_is_refused_tells_nothing),
	KUNIT_CASE(req_early_answered_alone_sends_the_rest),
	KUNIT_CASE(req_early_answered_for_more_is_no_more),
	KUNIT_CASE(req_early_answered_as_the_last_is_no_more),
	KUNIT_CASE(req_early_that_could_not_leave_sends_all),
	KUNIT_CASE(req_early_then_a_new_packet_is_no_more),
	KUNIT_CASE(req_repair_goes_on_after_what_it_has_lost),
	KUNIT_CASE(req_repair_goes_on_behind_what_is_acknowledged),
	KUNIT_CASE(req_repair_ends_with_what_is_acknowledged),
	KUNIT_CASE(req_repair_goes_on_behind_one_packet),
	KUNIT_CASE(req_repair_goes_on_after_two_interruptions),
	KUNIT_CASE(req_rest_of_a_repair_goes_on),
	KUNIT_CASE(req_next_repair_goes_on_too),
	KUNIT_CASE(req_time_out_ends_the_rest_of_a_repair),
	KUNIT_CASE(req_early_lets_the_repair_go_on),
	KUNIT_CASE(req_early_takes_the_place_of_a_repair),
	KUNIT_CASE(req_repair_asks_for_a_whole_read),
	KUNIT_CASE(req_early_is_the_repair),
	KUNIT_CASE(req_time_out_sends_all_again),
	KUNIT_CASE(req_full_link_keeps_what_is_new),
	KUNIT_CASE(req_full_link_after_a_timeout_keeps_what_is_new),
	KUNIT_CASE(req_repair_passes_over_local_requests),
	KUNIT_CASE(req_repair_goes_on_behind_a_local_request),
	KUNIT_CASE(req_sequence_nak_during_a_repair_is_void),
	KUNIT_CASE(req_repair_leaves_messages_whole),
	{}
};

static struct kunit_suite selective_repeat_suite = {
	.name = "softhca_selective_repeat",
	.init = hold_init,
	.test_cases = selective_repeat_cases,
};

kunit_test_suites(&selective_repeat_suite);
