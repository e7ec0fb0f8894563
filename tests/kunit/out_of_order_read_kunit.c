// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * READ responses that come out of order: what the requester asks for again if its caller
 * keeps the others (shca_req_attr.ooo). And how a responder answers a part.
 */
#include "fixture.h"

#define P0	FX_SQ_PSN
#define NR	6
#define FIRST	SHCA_OP_READ_RESP_FIRST
#define MIDDLE	SHCA_OP_READ_RESP_MIDDLE
#define LAST	SHCA_OP_READ_RESP_LAST
#define ONLY	SHCA_OP_READ_RESP_ONLY

/* A READ of NR packets has left, by a requester whose caller keeps responses. */
static int keep_init(struct kunit *test)
{
	int err = fx_init(test);
	struct fx *fx = test->priv;

	if (err)
		return err;
	fx->req.attr.ooo = true;
	fx_post(fx, SHCA_WR_RDMA_READ, NR * FX_MTU);
	return fx_next(fx) && fx->pkt.reth.len == NR * FX_MTU ? 0 : -1;
}

static void expect_part(struct kunit *test, u32 psn, u32 nr)
{
	struct fx *fx = test->priv;

	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, psn);
	KUNIT_EXPECT_EQ(test, fx->pkt.reth.len, nr * FX_MTU);
	KUNIT_EXPECT_TRUE(test, fx->pkt.again);
	KUNIT_EXPECT_TRUE(test, fx->pkt.ackreq);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->req.psn.next, fx->req.psn.max);
}

static void respond(struct kunit *test, u8 opcode, u32 i, enum shca_verdict want)
{
	KUNIT_EXPECT_EQ(test, fx_read_resp(test->priv, opcode, P0 + i, FX_MTU), want);
}

static bool may_hold(struct fx *fx, u8 opcode, u32 psn)
{
	struct shca_pkt pkt = { .opcode = opcode, .psn = psn };

	return shca_req_may_queue(&fx->req, &pkt);
}

static void keep_asks_for_the_missing_part(struct kunit *test)
{
	struct fx *fx = test->priv;

	respond(test, FIRST, 0, SHCA_RX_OK);
	respond(test, MIDDLE, 3, SHCA_RX_LOST_RESPONSE);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_TRUE(test, may_hold(fx, MIDDLE, P0 + 3));
	shca_req_gap(&fx->req, P0 + 3, P0 + 3, fx->now);
	expect_part(test, P0 + 1, 2);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.retry_left, 3);
	KUNIT_EXPECT_EQ(test, fx->req.cc.cwnd, fx->req.cc.window);
	/* once */
	shca_req_gap(&fx->req, P0 + 3, P0 + 3, fx->now + FX_MS);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	/* the end of the part is no end of the message */
	respond(test, FIRST, 1, SHCA_RX_OK);
	shca_req_gap(&fx->req, P0 + 3, P0 + 3, fx->now);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	respond(test, LAST, 2, SHCA_RX_OK);
	respond(test, MIDDLE, 3, SHCA_RX_OK);
	respond(test, MIDDLE, 4, SHCA_RX_OK);
	KUNIT_EXPECT_FALSE(test, fx_pop(fx));
	respond(test, LAST, 5, SHCA_RX_OK);
	KUNIT_EXPECT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_SUCCESS);
}

/* A later part of what was asked for again is here: the earlier one is lost once more. */
static void keep_asks_again_for_what_is_lost_again(struct kunit *test)
{
	struct fx *fx = test->priv;

	respond(test, FIRST, 0, SHCA_RX_OK);
	fx->req.rtt.ns = FX_MS;
	shca_req_gap(&fx->req, P0 + 4, P0 + 4, fx->now);
	expect_part(test, P0 + 1, 3);
	shca_req_gap(&fx->req, P0 + 2, P0 + 2, fx->now + FX_MS / 2 - 1);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	shca_req_gap(&fx->req, P0 + 2, P0 + 2, fx->now + FX_MS / 2);
	expect_part(test, P0 + 1, 1);
	/* then there is another gap */
	respond(test, ONLY, 1, SHCA_RX_OK);
	respond(test, MIDDLE, 2, SHCA_RX_OK);
	shca_req_gap(&fx->req, P0 + 4, P0 + 4, fx->now);
	expect_part(test, P0 + 3, 1);
}

/* A part of what is to be asked for again comes before that leaves: the rest of it is asked for. */
static void keep_asks_for_what_is_left_of_the_part(struct kunit *test)
{
	struct fx *fx = test->priv;

	respond(test, FIRST, 0, SHCA_RX_OK);
	shca_req_gap(&fx->req, P0 + 3, P0 + 3, fx->now);
	respond(test, MIDDLE, 1, SHCA_RX_OK);
	expect_part(test, P0 + 2, 1);
}

/* All of it comes: nothing is asked for again, and the next READ is asked for as a whole. */
static void keep_asks_for_no_part_that_has_come(struct kunit *test)
{
	struct fx *fx = test->priv;

	respond(test, FIRST, 0, SHCA_RX_OK);
	shca_req_gap(&fx->req, P0 + 2, P0 + 2, fx->now);
	respond(test, MIDDLE, 1, SHCA_RX_OK);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	fx_post(fx, SHCA_WR_RDMA_READ, 2 * FX_MTU);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + NR);
	KUNIT_EXPECT_EQ(test, fx->pkt.reth.len, 2u * FX_MTU);
	KUNIT_EXPECT_EQ(test, fx->req.psn.next, P0 + NR + 2);
}

/* After a wait for the responder all that is left is asked for. */
static void keep_asks_for_all_after_a_wait(struct kunit *test)
{
	struct fx *fx = test->priv;

	respond(test, FIRST, 0, SHCA_RX_OK);
	shca_req_gap(&fx->req, P0 + 3, P0 + 3, fx->now);
	KUNIT_ASSERT_EQ(test, fx_ack(fx, P0 + 1, RNR(1)), SHCA_RX_NAK_RNR);
	fx_timeout(fx);
	expect_part(test, P0 + 1, NR - 1);
}

/* The response of a request that left after it is here, and the part is not. */
static void keep_asks_again_where_a_later_answer_comes_first(struct kunit *test)
{
	struct fx *fx = test->priv;

	respond(test, FIRST, 0, SHCA_RX_OK);
	shca_req_gap(&fx->req, P0 + 3, P0 + 3, fx->now);
	expect_part(test, P0 + 1, 2);
	fx_post(fx, SHCA_WR_RDMA_READ, 2 * FX_MTU);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	shca_req_gap(&fx->req, P0 + 3, P0 + NR - 1, fx->now);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	shca_req_gap(&fx->req, P0 + 3, P0 + NR, fx->now);
	expect_part(test, P0 + 1, 2);
	/* it is overdue */
	fx->req.rtt.ns = FX_MS;
	fx->now += 2 * FX_MS + FX_MS / 2 - 1;
	shca_req_gap(&fx->req, P0 + 3, P0 + NR + 1, fx->now);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	fx->now++;
	shca_req_gap(&fx->req, P0 + 3, P0 + NR + 1, fx->now);
	expect_part(test, P0 + 1, 2);
}

/*
 * A request behind it is lost, too, and the peer says so: that one is sent again. Answers
 * behind it show that a response is missing.
 */
static void keep_sends_a_missing_request_alone(struct kunit *test)
{
	struct shca_pkt nak = {
		.opcode = SHCA_OP_ACK,
		.psn = P0 + NR,
		.aeth = { .syndrome = SHCA_AETH_MISSING, .msn = P0 + NR + 1 },
	};
	struct fx *fx = test->priv;

	fx->req.attr.peer |= SHCA_PEER_OOO;
	respond(test, FIRST, 0, SHCA_RX_OK);
	fx_post(fx, SHCA_WR_RDMA_READ, FX_MTU);
	fx_post(fx, SHCA_WR_RDMA_READ, FX_MTU);
	KUNIT_ASSERT_EQ(test, fx_drain(fx), 2u);
	KUNIT_EXPECT_EQ(test, shca_req_rx(&fx->req, &nak, fx->now), SHCA_RX_NAK_SEQ);
	expect_part(test, P0 + NR, 1);
	shca_req_gap(&fx->req, P0 + NR, P0 + NR, fx->now);
	expect_part(test, P0 + 1, NR - 1);
}

/* None that is honest misses the middle of a READ: it is asked for from where it may be. */
static void keep_asks_for_no_middle_that_a_peer_misses(struct kunit *test)
{
	struct shca_pkt nak = {
		.opcode = SHCA_OP_ACK,
		.psn = P0 + NR + 1,
		.aeth = { .syndrome = SHCA_AETH_MISSING, .msn = P0 + NR + 2 },
	};
	struct fx *fx = test->priv;

	fx->req.attr.peer |= SHCA_PEER_OOO;
	respond(test, FIRST, 0, SHCA_RX_OK);
	fx_post(fx, SHCA_WR_RDMA_READ, 3 * FX_MTU);
	KUNIT_ASSERT_EQ(test, fx_drain(fx), 1u);
	KUNIT_EXPECT_EQ(test, shca_req_rx(&fx->req, &nak, fx->now), SHCA_RX_NAK_SEQ);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + NR);
	fx_drain(fx);
	fx->now += FX_TIMEOUT / 2;
	nak.psn = P0 + 2;
	KUNIT_EXPECT_EQ(test, shca_req_rx(&fx->req, &nak, fx->now), SHCA_RX_NAK_SEQ);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + 1);
}

/*
 * An acknowledgement of what is behind it has overtaken what the peer says of a gap: nothing
 * of that is missing any more.  What is behind the acknowledgement may be.
 */
static void keep_sends_no_request_that_is_acknowledged(struct kunit *test)
{
	struct shca_pkt nak = {
		.opcode = SHCA_OP_ACK,
		.psn = P0 + NR,
		.aeth = { .syndrome = SHCA_AETH_MISSING, .msn = P0 + NR + 1 },
	};
	struct fx *fx = test->priv;

	fx->req.attr.peer |= SHCA_PEER_OOO;
	respond(test, FIRST, 0, SHCA_RX_OK);
	fx_post(fx, SHCA_WR_SEND, FX_MTU);
	fx_post(fx, SHCA_WR_SEND, FX_MTU);
	fx_post(fx, SHCA_WR_SEND, FX_MTU);
	KUNIT_ASSERT_EQ(test, fx_drain(fx), 3u);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0 + NR, ACK), SHCA_RX_LOST_RESPONSE);
	expect_part(test, P0 + 1, NR - 1);
	KUNIT_EXPECT_EQ(test, shca_req_rx(&fx->req, &nak, fx->now), SHCA_RX_NAK_SEQ);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	nak.psn++;
	nak.aeth.msn++;
	KUNIT_EXPECT_EQ(test, shca_req_rx(&fx->req, &nak, fx->now), SHCA_RX_NAK_SEQ);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + NR + 1);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
}

/* The same, while it is waited for what was reported: the response alone is asked for. */
static void keep_waits_for_no_request_that_is_acknowledged(struct kunit *test)
{
	struct shca_pkt nak = {
		.opcode = SHCA_OP_ACK,
		.psn = P0 + NR,
		.aeth = { .syndrome = SHCA_AETH_MISSING, .msn = P0 + NR + 1 },
	};
	struct fx *fx = test->priv;

	fx->req.attr.peer |= SHCA_PEER_OOO;
	fx->req.recovery.reorders = SHCA_REQ_REORDERS;
	fx->req.rtt.ns = FX_MS;
	respond(test, FIRST, 0, SHCA_RX_OK);
	fx_post(fx, SHCA_WR_SEND, FX_MTU);
	fx_post(fx, SHCA_WR_SEND, FX_MTU);
	KUNIT_ASSERT_EQ(test, fx_drain(fx), 2u);
	KUNIT_EXPECT_EQ(test, shca_req_rx(&fx->req, &nak, fx->now), SHCA_RX_NAK_SEQ);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0 + NR + 1, ACK), SHCA_RX_LOST_RESPONSE);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	fx_timeout(fx);
	expect_part(test, P0 + 1, NR - 1);
}

/* A part ends what is sent again, and nothing that is new. */
static void keep_asks_for_all_of_a_new_read(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->req.recovery.resend_end = P0 + NR + 2;
	fx_post(fx, SHCA_WR_RDMA_READ, 4 * FX_MTU);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + NR);
	KUNIT_EXPECT_EQ(test, fx->pkt.reth.len, 4 * FX_MTU);
}

/* The part that was missing half of all PSNs before is none of this READ. */
static void keep_early_is_no_part_of_long_ago(struct kunit *test)
{
	struct fx *fx = test->priv;

	respond(test, FIRST, 0, SHCA_RX_OK);
	fx->req.rtt.ns = FX_MS;
	fx->req.recovery.gap_end = P0 + 0x400000;
	fx->now = shca_req_deadline(&fx->req);
	shca_req_timer(&fx->req, fx->now);
	expect_part(test, P0 + 1, NR - 1);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.gap_end, P0 + NR);
}

/*
 * What a loss has kept at the peer tells of no round trip: a longer one would make the next
 * wait longer.
 */
static void keep_response_behind_what_was_sent_again_is_not_timed(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->req.rtt.ns = FX_MS;
	KUNIT_ASSERT_TRUE(test, fx->req.rtt.psn != SHCA_PSN_NONE);
	fx->now += 20 * FX_MS;
	fx->req.recovery.again_ns = fx->now;
	shca_req_gap(&fx->req, P0 + 3, P0 + 3, fx->now);
	KUNIT_EXPECT_EQ(test, fx->req.rtt.ns, (u64)FX_MS);
	KUNIT_EXPECT_EQ(test, fx->req.rtt.psn, SHCA_PSN_NONE);
}

/* One that left at the same moment left before, or it would not have been timed. */
static void keep_response_of_the_same_moment_is_timed(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->req.rtt.ns = FX_MS;
	fx->now += 20 * FX_MS;
	fx->req.recovery.again_ns = fx->req.rtt.start;
	shca_req_gap(&fx->req, P0 + 3, P0 + NR - 1, fx->now);
	KUNIT_EXPECT_EQ(test, fx->req.rtt.ns, 20ull * FX_MS);
}

/*
 * Responses in the out-of-order queue are not in flight: others are requested in their place,
 * where the path is long.
 */
static void keep_asks_on_behind_a_gap(struct kunit *test)
{
	const u32 room = SHCA_CC_WINDOW * SHCA_REQ_READ_KEPT;
	struct fx *fx = test->priv;
	u32 i;

	fx->req.attr.max_rd_atomic = 128;
	for (i = 0; i < 8; i++)
		fx_post(fx, SHCA_WR_RDMA_READ, room / 4 * FX_MTU);
	KUNIT_ASSERT_EQ(test, fx_drain(fx), 3u);
	shca_req_gap(&fx->req, P0 + 1, P0 + room / 4 + 1, fx->now);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.beyond, room / 4 + 1);
	/* the part that is missing */
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
	/* (a long one has a quarter of the widest window, and no less) */
	fx->req.cc.wide = SHCA_CC_WIDEST / 4 - 1;
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 0u);
	fx->req.cc.wide++;
	/* and one in place of what has come */
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
}

/* A response to what never left makes no room for others. */
static void keep_cause_is_one_that_has_left(struct kunit *test)
{
	struct fx *fx = test->priv;

	shca_req_gap(&fx->req, P0 + 1, P0 + NR + 1, fx->now);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.beyond, 0u);
	shca_req_gap(&fx->req, P0 + 1, P0 + NR - 1, fx->now);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.beyond, NR - 1u);
}

/* As many responses are outstanding as are kept. */
static void keep_has_a_smaller_window(struct kunit *test)
{
	u32 most = SHCA_CC_WINDOW * SHCA_REQ_READ_KEPT;
	struct fx *fx = test->priv;

	fx_post(fx, SHCA_WR_RDMA_READ, (most - NR) * FX_MTU);
	fx_post(fx, SHCA_WR_RDMA_READ, 8);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
	respond(test, FIRST, 0, SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
}

/* A congestion window that is small leaves room for two responses per packet of it. */
static void keep_has_a_window_by_congestion(struct kunit *test)
{
	u32 most = SHCA_CC_WINDOW / 4 * SHCA_REQ_READ_KEPT;
	struct fx *fx = test->priv;

	fx->req.cc.cwnd = SHCA_CC_WINDOW / 4;
	fx_post(fx, SHCA_WR_RDMA_READ, (most - NR) * FX_MTU);
	fx_post(fx, SHCA_WR_RDMA_READ, 8);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
}

/* A request that was lost is asked for as it was, though it is sent early twice. */
static void keep_early_is_no_part_of_what_was_never_answered(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i;

	fx->req.attr.peer |= SHCA_PEER_OOO;
	fx->req.rtt.ns = FX_MS;
	for (i = 0; i < 2; i++) {
		fx->now = shca_req_deadline(&fx->req);
		shca_req_timer(&fx->req, fx->now);
		expect_part(test, P0, NR);
	}
	KUNIT_EXPECT_EQ(test, fx->req.stats.early, 2ull);
}

/* No progress, no new time: or a time-out would never come. */
static void keep_lets_the_time_run(struct kunit *test)
{
	struct fx *fx = test->priv;
	u64 deadline;

	respond(test, FIRST, 0, SHCA_RX_OK);
	fx->req.rtt.ns = FX_MS;
	fx->now += FX_MS;
	shca_req_gap(&fx->req, P0 + 4, P0 + 4, fx->now);
	expect_part(test, P0 + 1, 3);
	deadline = fx->req.recovery.deadline;
	KUNIT_EXPECT_EQ(test, deadline, fx->now + FX_TIMEOUT);
	fx->now += FX_MS;
	shca_req_gap(&fx->req, P0 + 2, P0 + 2, fx->now);
	expect_part(test, P0 + 1, 1);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.deadline, deadline);
}

static void keep_asks_only_where_something_is_missing(struct kunit *test)
{
	struct fx *fx = test->priv;

	respond(test, FIRST, 0, SHCA_RX_OK);
	shca_req_gap(&fx->req, P0 + 1, P0 + 1, fx->now);
	/* (the one that is expected is held behind nothing) */
	KUNIT_EXPECT_EQ(test, fx->req.recovery.beyond, 0u);
	shca_req_gap(&fx->req, P0 + NR + 1, P0 + NR + 1, fx->now);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	fx->req.recovery.waits = SHCA_WAIT_RNR;
	shca_req_gap(&fx->req, P0 + 3, P0 + 3, fx->now);
	KUNIT_EXPECT_EQ(test, fx->req.psn.next, fx->req.psn.max);
	fx->req.recovery.waits = SHCA_WAIT_ANSWER;
	/* up to all of it, and while that waits to leave nothing else */
	shca_req_gap(&fx->req, P0 + NR, P0 + NR, fx->now);
	KUNIT_EXPECT_EQ(test, fx->req.psn.next, P0 + 1);
	shca_req_gap(&fx->req, P0 + 3, P0 + 3, fx->now);
	expect_part(test, P0 + 1, NR - 1);
	shca_req_fail(&fx->req);
	shca_req_gap(&fx->req, P0 + 3, P0 + 3, fx->now);
	KUNIT_EXPECT_FALSE(test, may_hold(fx, MIDDLE, P0 + 3));
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
}

static void keep_is_of_outstanding_responses(struct kunit *test)
{
	struct fx *fx = test->priv;

	KUNIT_EXPECT_TRUE(test, may_hold(fx, LAST, P0 + NR - 1));
	KUNIT_EXPECT_TRUE(test, may_hold(fx, SHCA_OP_ATOMIC_ACK, P0 + 1));
	KUNIT_EXPECT_FALSE(test, may_hold(fx, LAST, P0 + NR));
	KUNIT_EXPECT_FALSE(test, may_hold(fx, LAST, P0 - 1));
	KUNIT_EXPECT_FALSE(test, may_hold(fx, SHCA_OP_ACK, P0 + 1));
	KUNIT_EXPECT_FALSE(test, may_hold(fx, SHCA_OP_READ_REQUEST, P0 + 1));
	KUNIT_EXPECT_FALSE(test, may_hold(fx, SHCA_TRANSPORT_XRC | LAST, P0 + 1));
	fx->req.attr.ooo = false;
	KUNIT_EXPECT_FALSE(test, may_hold(fx, LAST, P0 + NR - 1));
	/* then all of it comes again */
	respond(test, MIDDLE, 3, SHCA_RX_LOST_RESPONSE);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.reth.len, NR * FX_MTU);
}

/* A later SEND is acknowledged first: that counts when the response is there. */
static void keep_remembers_an_acknowledgement(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, SHCA_WR_SEND, 8);
	fx_post(fx, SHCA_WR_SEND, 8);
	KUNIT_ASSERT_EQ(test, fx_drain(fx), 2u);
	respond(test, FIRST, 0, SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0 + NR, ACK), SHCA_RX_LOST_RESPONSE);
	expect_part(test, P0 + 1, NR - 1);
	KUNIT_EXPECT_EQ(test, fx_read_resp(fx, FIRST, P0 + 1, FX_MTU), SHCA_RX_OK);
	respond(test, MIDDLE, 2, SHCA_RX_OK);
	respond(test, MIDDLE, 3, SHCA_RX_OK);
	respond(test, MIDDLE, 4, SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->req.psn.una, P0 + 5);
	respond(test, LAST, 5, SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->req.psn.una, P0 + NR + 1);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.acked_psn, SHCA_PSN_NONE);
	KUNIT_EXPECT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_FALSE(test, fx_pop(fx));
}

/* So does one that comes before all is sent again, after a time-out. */
static void keep_remembers_an_acknowledgement_after_a_time_out(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i;

	fx_post(fx, SHCA_WR_SEND, 8);
	KUNIT_ASSERT_EQ(test, fx_drain(fx), 1u);
	fx_timeout(fx);
	KUNIT_ASSERT_EQ(test, fx->req.stats.timeouts, 1ull);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0 + NR, ACK), SHCA_RX_LOST_RESPONSE);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2u);
	for (i = 0; i < NR; i++)
		respond(test, i ? i < NR - 1 ? MIDDLE : LAST : FIRST, i, SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->req.psn.una, P0 + NR + 1);
	KUNIT_EXPECT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_TRUE(test, fx_pop(fx));
}

/* The next acknowledgement says as much. */
static void keep_forgets_an_acknowledgement(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, SHCA_WR_SEND, 8);
	KUNIT_ASSERT_EQ(test, fx_drain(fx), 1u);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0, ACK), SHCA_RX_LOST_RESPONSE);
	KUNIT_EXPECT_NE(test, fx->req.recovery.acked_psn, SHCA_PSN_NONE);
	expect_part(test, P0, NR);
	shca_req_fail(&fx->req);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.acked_psn, SHCA_PSN_NONE);
}

static void keep_early_asks_for_the_missing_part(struct kunit *test)
{
	struct fx *fx = test->priv;

	respond(test, FIRST, 0, SHCA_RX_OK);
	shca_req_gap(&fx->req, P0 + 3, P0 + 3, fx->now);
	expect_part(test, P0 + 1, 2);
	fx->req.rtt.ns = FX_MS;
	fx->now = shca_req_deadline(&fx->req);
	shca_req_timer(&fx->req, fx->now);
	KUNIT_EXPECT_EQ(test, fx->req.stats.early, 1ull);
	expect_part(test, P0 + 1, 2);
	/* it is in flight, so a gap does not make the requester ask for it again */
	shca_req_gap(&fx->req, P0 + 3, P0 + NR - 1, fx->now);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	/* the next early one is for that part, too */
	fx->now = shca_req_deadline(&fx->req);
	shca_req_timer(&fx->req, fx->now);
	KUNIT_EXPECT_EQ(test, fx->req.stats.early, 2ull);
	expect_part(test, P0 + 1, 2);
}

/* A response says that the peer has executed the request: so long is the way. */
static void keep_response_behind_a_gap_is_timed(struct kunit *test)
{
	struct fx *fx = test->priv;

	KUNIT_ASSERT_TRUE(test, fx->req.rtt.psn != SHCA_PSN_NONE);
	fx->now += 500;
	shca_req_gap(&fx->req, P0 + 2, P0 + 2, fx->now);
	KUNIT_EXPECT_EQ(test, fx->req.rtt.psn, SHCA_PSN_NONE);
	KUNIT_EXPECT_EQ(test, fx->req.rtt.ns, 500ull);
}

/* The first response that is here belongs to the next READ: this one is asked for to its end. */
static void keep_asks_for_the_rest_of_one_read(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, SHCA_WR_RDMA_READ, 2 * FX_MTU);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	respond(test, FIRST, 0, SHCA_RX_OK);
	shca_req_gap(&fx->req, P0 + NR + 1, P0 + NR + 1, fx->now);
	expect_part(test, P0 + 1, NR - 1);
}

/* One round trip later than was measured the oldest is sent early. */
static void wait_for_early(struct fx *fx)
{
	fx->req.rtt.psn = SHCA_PSN_NONE;
	fx->req.rtt.ns = FX_MS;
	fx->now = shca_req_deadline(&fx->req);
	shca_req_timer(&fx->req, fx->now);
}

/* A part that was asked for again, from the first packet on, is asked for early as it was. */
static void keep_early_asks_for_a_part_from_the_first_packet_on(struct kunit *test)
{
	struct fx *fx = test->priv;

	shca_req_gap(&fx->req, P0 + 2, P0 + 2, fx->now);
	expect_part(test, P0, 2);
	wait_for_early(fx);
	KUNIT_EXPECT_EQ(test, fx->req.stats.early, 1ull);
	expect_part(test, P0, 2);
}

/* The last packet of the part is missing. Or none is, and then it is the rest of the READ. */
static void keep_early_asks_for_what_is_left(struct kunit *test)
{
	struct shca_req_attr attr;
	struct fx *fx = test->priv;
	u32 come;

	attr = fx->req.attr;
	for (come = 1; come <= 2; come++) {
		fx_req_start(fx, &attr);
		fx_post(fx, SHCA_WR_RDMA_READ, NR * FX_MTU);
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
		respond(test, FIRST, 0, SHCA_RX_OK);
		shca_req_gap(&fx->req, P0 + 3, P0 + 3, fx->now);
		expect_part(test, P0 + 1, 2);
		respond(test, FIRST, 1, SHCA_RX_OK);
		if (come == 2)
			respond(test, LAST, 2, SHCA_RX_OK);
		wait_for_early(fx);
		expect_part(test, P0 + 1 + come, come == 1 ? 1 : NR - 3);
	}
}

/* The peer has executed the READ, and so what is behind it is not sent again. */
static void keep_early_asks_for_the_rest_alone(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, SHCA_WR_SEND, 8);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	respond(test, FIRST, 0, SHCA_RX_OK);
	wait_for_early(fx);
	KUNIT_EXPECT_EQ(test, fx->req.stats.early, 1ull);
	expect_part(test, P0 + 1, NR - 1);
}

/* It has not, and drops what is behind it, which comes again once the READ is answered. */
static void keep_early_read_that_was_lost_sends_the_rest(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i;

	fx_post(fx, SHCA_WR_SEND, 8);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	wait_for_early(fx);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	for (i = 0; i < NR; i++)
		respond(test, i ? i < NR - 1 ? MIDDLE : LAST : FIRST, i, SHCA_RX_OK);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + NR);
	KUNIT_EXPECT_TRUE(test, fx->pkt.again);
}

/* A SEND is no READ, though a part of it was acknowledged: all behind that comes again. */
static void keep_early_send_has_no_part(struct kunit *test)
{
	struct shca_req_attr attr;
	struct fx *fx = test->priv;
	u32 psn;

	attr = fx->req.attr;
	fx_req_start(fx, &attr);
	fx_post(fx, SHCA_WR_SEND, 2 * FX_MTU);
	fx_post(fx, SHCA_WR_SEND, 8);
	KUNIT_ASSERT_EQ(test, fx_drain(fx), 3u);
	fx_ack(fx, P0, ACK);
	wait_for_early(fx);
	for (psn = P0 + 1; psn <= P0 + 2; psn++) {
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
		KUNIT_EXPECT_EQ(test, fx->pkt.psn, psn);
		KUNIT_EXPECT_TRUE(test, fx->pkt.again);
		fx_ack(fx, psn, ACK);
	}
}

/* ---- the responder ------------------------------------------------------- */

static void expect_answer(struct kunit *test, u8 opcode, u32 psn)
{
	struct fx *fx = test->priv;

	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, opcode);
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, psn);
	KUNIT_EXPECT_EQ(test, fx->pkt.paylen, (u32)FX_MTU);
}

static void ask(struct kunit *test, u32 i, u32 len, enum shca_verdict want)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	fx_request(&pkt, SHCA_OP_READ_REQUEST, FX_RQ_PSN + i, len);
	pkt.reth.va += i * FX_MTU;
	KUNIT_EXPECT_EQ(test, fx_rx(fx, &pkt), want);
}

static void resp_answers_a_part(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i;

	ask(test, 0, NR * FX_MTU, SHCA_RX_OK);
	for (i = 0; i < NR; i++)
		KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	ask(test, 2, 2 * FX_MTU, SHCA_RX_DUPLICATE);
	expect_answer(test, FIRST, FX_RQ_PSN + 2);
	expect_answer(test, LAST, FX_RQ_PSN + 3);
	fx_expect_silence(test);
	ask(test, 1, FX_MTU, SHCA_RX_DUPLICATE);
	expect_answer(test, ONLY, FX_RQ_PSN + 1);
	fx_expect_silence(test);
	/* behind what was sent last */
	ask(test, 4, FX_MTU, SHCA_RX_DUPLICATE);
	expect_answer(test, ONLY, FX_RQ_PSN + 4);
	fx_expect_silence(test);
	/* not of whole packets, beyond the end, or of nothing */
	ask(test, 1, FX_MTU + 1, SHCA_RX_DUPLICATE);
	ask(test, 2, (NR - 1) * FX_MTU, SHCA_RX_DUPLICATE);
	ask(test, 2, 0, SHCA_RX_DUPLICATE);
	fx_expect_silence(test);
}

static void resp_part_goes_on_to_what_is_being_sent(struct kunit *test)
{
	ask(test, 0, NR * FX_MTU, SHCA_RX_OK);
	expect_answer(test, FIRST, FX_RQ_PSN);
	expect_answer(test, MIDDLE, FX_RQ_PSN + 1);
	expect_answer(test, MIDDLE, FX_RQ_PSN + 2);
	ask(test, 3, FX_MTU, SHCA_RX_DUPLICATE);
	ask(test, 1, FX_MTU, SHCA_RX_DUPLICATE);
	expect_answer(test, FIRST, FX_RQ_PSN + 1);
	expect_answer(test, MIDDLE, FX_RQ_PSN + 2);
	expect_answer(test, MIDDLE, FX_RQ_PSN + 3);
	expect_answer(test, MIDDLE, FX_RQ_PSN + 4);
	expect_answer(test, LAST, FX_RQ_PSN + 5);
	fx_expect_silence(test);
}

/* A packet of an earlier part has not left: all from there on comes again. */
static void resp_part_that_did_not_leave(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;
	u32 i;

	ask(test, 0, NR * FX_MTU, SHCA_RX_OK);
	for (i = 0; i < NR; i++)
		KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	ask(test, 4, FX_MTU, SHCA_RX_DUPLICATE);
	expect_answer(test, ONLY, FX_RQ_PSN + 4);
	pkt = fx->pkt;
	ask(test, 1, FX_MTU, SHCA_RX_DUPLICATE);
	expect_answer(test, ONLY, FX_RQ_PSN + 1);
	shca_resp_link_full(&fx->resp, &pkt);
	expect_answer(test, FIRST, FX_RQ_PSN + 4);
	expect_answer(test, LAST, FX_RQ_PSN + 5);
	fx_expect_silence(test);
}

/* PSNs come again after 2^24: a record of so long ago is not sent in place of the newest. */
static void keep_unsent_response_is_of_the_newest_record(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;
	u32 i;

	ask(test, 0, NR * FX_MTU, SHCA_RX_OK);
	for (i = 0; i < NR; i++)
		KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	fx->resp.epsn = FX_RQ_PSN;
	fx_request(&pkt, SHCA_OP_READ_REQUEST, FX_RQ_PSN, 2 * FX_MTU);
	pkt.reth.va += 0x100000;
	KUNIT_EXPECT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_OK);
	expect_answer(test, FIRST, FX_RQ_PSN);
	pkt = fx->pkt;
	shca_resp_link_full(&fx->resp, &pkt);
	for (i = 0; i < 2; i++) {
		expect_answer(test, i ? LAST : FIRST, FX_RQ_PSN + i);
		KUNIT_EXPECT_EQ(test, fx->pkt.va, pkt.va + i * FX_MTU);
	}
	fx_expect_silence(test);
}

static struct kunit_case out_of_order_read_cases[] = {
	KUNIT_CASE(keep_unsent_response_is_of_the_newest_record),
	KUNIT_CASE(keep_asks_for_the_missing_part),
	KUNIT_CASE(keep_asks_again_for_what_is_lost_again),
	KUNIT_CASE(keep_asks_for_what_is_left_of_the_part),
	KUNIT_CASE(keep_asks_for_no_part_that_has_come),
	KUNIT_CASE(keep_asks_for_all_after_a_wait),
	KUNIT_CASE(keep_asks_again_where_a_later_answer_comes_first),
	KUNIT_CASE(keep_sends_a_missing_request_alone),
	KUNIT_CASE(keep_asks_for_no_middle_that_a_peer_misses),
	KUNIT_CASE(keep_sends_no_request_that_is_acknowledged),
	KUNIT_CASE(keep_waits_for_no_request_that_is_acknowledged),
	KUNIT_CASE(keep_asks_for_all_of_a_new_read),
	KUNIT_CASE(keep_early_is_no_part_of_long_ago),
	KUNIT_CASE(keep_response_behind_what_was_sent_again_is_not_timed),
	KUNIT_CASE(keep_response_of_the_same_moment_is_timed),
	KUNIT_CASE(keep_asks_on_behind_a_gap),
	KUNIT_CASE(keep_cause_is_one_that_has_left),
	KUNIT_CASE(keep_has_a_smaller_window),
	KUNIT_CASE(keep_has_a_window_by_congestion),
	KUNIT_CASE(keep_early_is_no_part_of_what_was_never_answered),
	KUNIT_CASE(keep_lets_the_time_run),
	KUNIT_CASE(keep_asks_only_where_something_is_missing),
	KUNIT_CASE(keep_is_of_outstanding_responses),
	KUNIT_CASE(keep_remembers_an_acknowledgement),
	KUNIT_CASE(keep_remembers_an_acknowledgement_after_a_time_out),
	KUNIT_CASE(keep_forgets_an_acknowledgement),
	KUNIT_CASE(keep_early_asks_for_the_missing_part),
	KUNIT_CASE(keep_response_behind_a_gap_is_timed),
	KUNIT_CASE(keep_asks_for_the_rest_of_one_read),
	KUNIT_CASE(keep_early_asks_for_a_part_from_the_first_packet_on),
	KUNIT_CASE(keep_early_asks_for_what_is_left),
	KUNIT_CASE(keep_early_asks_for_the_rest_alone),
	KUNIT_CASE(keep_early_read_that_was_lost_sends_the_rest),
	KUNIT_CASE(keep_early_send_has_no_part),
	KUNIT_CASE(resp_answers_a_part),
	KUNIT_CASE(resp_part_goes_on_to_what_is_being_sent),
	KUNIT_CASE(resp_part_that_did_not_leave),
	{}
};

static struct kunit_suite out_of_order_read_suite = {
	.name = "softhca_out_of_order_read",
	.init = keep_init,
	.test_cases = out_of_order_read_cases,
};

kunit_test_suites(&out_of_order_read_suite);
