// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A gap that fills by itself: reordering is found out, and then waited for, by the
 * requester (core/requester/recovery.c) and by the responder (shca_resp_gap()).
 */
#include "fixture.h"

#define P0	FX_SQ_PSN
#define RTT	FX_MS
#define MISSING(n)	(SHCA_AETH_MISSING - 1 + (n))

/* Four messages are out, to a peer that keeps what is out of order. */
static int late_init(struct kunit *test)
{
	int err = fx_init(test);
	struct fx *fx = test->priv;
	u32 i;

	if (err)
		return err;
	fx->req.attr.peer |= SHCA_PEER_OOO;
	fx->req.attr.ooo = true;
	fx->req.rtt.ns = RTT;
	for (i = 0; i < 4; i++)
		fx_post(fx, SHCA_WR_SEND, 8);
	return fx_drain(fx) == 4 ? 0 : -1;
}

static void expect_again(struct kunit *test, u32 psn)
{
	struct fx *fx = test->priv;

	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, psn);
	KUNIT_EXPECT_TRUE(test, fx->pkt.again);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
}

/* Two of so few are many. */
static void small_window(struct fx *fx)
{
	fx->req.cc.lossy = 12;
	fx->req.cc.cwnd = 12;
}

/* A second answer to packets that were sent again: the retransmission was spurious. */
static void late_answer_of_the_first_copy_undoes_the_loss(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 cwnd;

	small_window(fx);
	cwnd = fx->req.cc.cwnd;
	fx_ack(fx, P0, MISSING(2));
	KUNIT_EXPECT_LT(test, fx->req.cc.cwnd, cwnd);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2u);
	fx_ack(fx, P0, ACK);
	/* one of two may be late */
	fx_ack(fx, P0, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.reorders, 0);
	fx_ack(fx, P0 + 2, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.reorders, 0);
	KUNIT_EXPECT_LT(test, fx->req.cc.cwnd, cwnd);
	/* of what is before it, or of nothing */
	fx_ack(fx, P0 - 1, ACK);
	fx_ack(fx, P0 + 9, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.reorders, 0);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0 + 2, ACK), SHCA_RX_STALE_ACK);
	KUNIT_EXPECT_EQ(test, fx->req.cc.cwnd, cwnd);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.reorders, SHCA_REQ_REORDERS);
	/* once for a repair */
	fx->req.recovery.reorders = 0;
	fx_ack(fx, P0 + 2, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.reorders, 0);
}

/* One answer, however soon, is that of the repair; and an old repair tells nothing. */
static void late_answer_of_the_second_copy_does_not(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->req.rtt.psn = SHCA_PSN_NONE;
	fx_ack(fx, P0, MISSING(1));
	expect_again(test, P0);
	fx_ack(fx, P0, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.reorders, 0);
	fx->now += 2 * (RTT + RTT / 4) + 1;
	fx_ack(fx, P0, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.reorders, 0);
	fx->now--;
	fx_ack(fx, P0, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.reorders, SHCA_REQ_REORDERS);
}

/* Two copies of what was sent early are no sign of another order. */
static void late_is_not_what_was_sent_early(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->req.rtt.psn = SHCA_PSN_NONE;
	fx->now = shca_req_deadline(&fx->req);
	shca_req_timer(&fx->req, fx->now);
	expect_again(test, P0);
	KUNIT_EXPECT_EQ(test, fx->req.stats.early, 1ull);
	fx_ack(fx, P0, ACK);
	fx_ack(fx, P0, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.reorders, 0);
}

/* The first gap of a connection is one, whatever PSN it began with. */
static void late_first_gap_is_at_any_psn(struct kunit *test)
{
	/* (behind the second one, PSN 0 is outstanding) */
	static const u32 first[] = { 0xc00000, 0xfffffe };
	struct fx *fx = test->priv;
	struct shca_req_attr attr;
	u32 i, row;

	for (row = 0; row < ARRAY_SIZE(first); row++) {
		fx_req_attr(&attr);
		attr.sq_psn = first[row];
		attr.peer |= SHCA_PEER_OOO;
		fx_req_start(fx, &attr);
		small_window(fx);
		for (i = 0; i < 4; i++)
			fx_post(fx, SHCA_WR_SEND, 8);
		KUNIT_ASSERT_EQ(test, fx_drain(fx), 4u);
		fx->now += RTT;
		fx_ack(fx, first[row], MISSING(2));
		KUNIT_EXPECT_EQ(test, fx_drain(fx), 2u);
		KUNIT_EXPECT_EQ(test, fx->req.cc.cwnd, 12u - 12 / 4);
		/* a repair begins, and so does the time for its answer */
		KUNIT_EXPECT_EQ(test, fx->req.recovery.deadline, fx->now + FX_TIMEOUT);
	}
}

/* All that is outstanding but what tells of it: that is a gap, too. */
static void late_gap_of_all_is_repaired_once(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->req.rtt.psn = SHCA_PSN_NONE;
	fx_ack(fx, P0, MISSING(4));
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 4u);
	fx_ack(fx, P0, MISSING(4));
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
}

static void late_packets_are_waited_for(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 cwnd = fx->req.cc.cwnd;
	u64 start = fx->now;

	fx->req.recovery.reorders = 3;
	fx_ack(fx, P0, MISSING(2));
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), start + RTT);
	/* told again: no longer */
	fx->now += RTT / 4;
	fx_ack(fx, P0, MISSING(2));
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), start + RTT);
	/* the first of them comes, and the second is still waited for */
	fx_ack(fx, P0, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.reo.ns, start + RTT);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.reorders, SHCA_REQ_REORDERS);
	/* told of what is left: the wait is the same */
	fx_ack(fx, P0 + 1, MISSING(1));
	KUNIT_EXPECT_EQ(test, fx->req.recovery.reo.ns, start + RTT);
	shca_req_timer(&fx->req, start + RTT - 1);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->req.cc.cwnd, cwnd);
	fx->now = start + RTT;
	shca_req_timer(&fx->req, fx->now);
	expect_again(test, P0 + 1);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.reorders, SHCA_REQ_REORDERS - 1);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.retry_left, 3);
}

/* A copy that is waited for a second time is no sooner answered than another one. */
static void late_repair_has_its_round_trip(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_ack(fx, P0, MISSING(1));
	expect_again(test, P0);
	fx->req.recovery.reorders = 3;
	fx->now += 3 * RTT;
	fx_ack(fx, P0, MISSING(1));
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	fx->now = fx->req.recovery.reo.ns;
	shca_req_timer(&fx->req, fx->now);
	expect_again(test, P0);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), fx->now + 2 * RTT + 500000);
}

static void late_packets_that_come_end_the_wait(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->req.recovery.reorders = 1;
	fx_ack(fx, P0, MISSING(2));
	fx_ack(fx, P0 + 1, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.reo.ns, 0ull);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	/* the next gap has a wait of its own */
	fx->now += 5;
	fx_ack(fx, P0 + 2, MISSING(1));
	KUNIT_EXPECT_EQ(test, fx->req.recovery.reo.ns,
			fx->now + fx->req.rtt.ns);
}

/* Some gaps later it is a loss like another. */
static void late_wait_is_given_up(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->req.recovery.reorders = 1;
	fx_ack(fx, P0, MISSING(1));
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	fx->now = shca_req_deadline(&fx->req);
	shca_req_timer(&fx->req, fx->now);
	expect_again(test, P0);
	fx->now += RTT;
	fx_ack(fx, P0, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.reorders, 0);
	fx_ack(fx, P0 + 1, MISSING(1));
	expect_again(test, P0 + 1);
}

static void late_wait_ends_with_going_back(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->req.recovery.reorders = 1;
	fx_ack(fx, P0, MISSING(1));
	KUNIT_EXPECT_NE(test, fx->req.recovery.reo.ns, 0ull);
	fx_ack(fx, P0, SHCA_AETH_RNR | 1);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.reo.ns, 0ull);
	KUNIT_EXPECT_TRUE(test, shca_req_rnr_waits(&fx->req));
}

static void missing(struct fx *fx, u32 psn, u32 nr, u32 cause)
{
	struct shca_pkt pkt = {
		.opcode = SHCA_OP_ACK,
		.psn = psn,
		.aeth = { .syndrome = MISSING(nr), .msn = cause },
	};

	shca_req_rx(&fx->req, &pkt, fx->now);
}

/* The second of two is there half a round trip after: the first is lost again. */
static void late_repair_is_repeated(struct kunit *test)
{
	struct fx *fx = test->priv;
	u64 deadline;

	fx->req.rtt.psn = SHCA_PSN_NONE;
	fx_ack(fx, P0, MISSING(2));
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2u);
	deadline = fx->req.recovery.deadline;
	fx->now += RTT / 2 - 1;
	missing(fx, P0, 1, P0 + 1);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	fx->now++;
	missing(fx, P0, 1, P0 + 1);
	expect_again(test, P0);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.deadline, deadline);
}

/* A repair that is overdue is no progress: the time-out stays. */
static void late_repair_that_is_repeated_keeps_the_time_out(struct kunit *test)
{
	struct fx *fx = test->priv;
	u64 deadline;

	fx->req.rtt.psn = SHCA_PSN_NONE;
	fx_ack(fx, P0, MISSING(1));
	expect_again(test, P0);
	deadline = fx->req.recovery.deadline;
	fx->now += 5 * RTT / 2;
	missing(fx, P0, 1, P0 + 1);
	expect_again(test, P0);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.deadline, deadline);
}

/* Missing packets that were reported long ago and have not left yet leave, and each once. */
static void late_repair_goes_on_where_it_stands(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 nr;

	for (nr = 1; nr <= 3; nr += 2) {
		fx->req.rtt.psn = SHCA_PSN_NONE;
		if (nr == 1)
			fx_ack(fx, P0, MISSING(3));
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
		KUNIT_EXPECT_EQ(test, fx->pkt.psn, nr == 1 ? P0 : P0 + 1);
		fx->now += 3 * RTT;
		missing(fx, P0, nr, P0 + 3);
	}
	expect_again(test, P0 + 2);
}

/* All is sent again after a wait for a receive request: what is missing is among it. */
static void late_gap_is_part_of_what_is_sent_again(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->req.rtt.psn = SHCA_PSN_NONE;
	fx_ack(fx, P0, MISSING(1));
	expect_again(test, P0);
	fx_ack(fx, P0, SHCA_AETH_RNR | 1);
	fx->now = shca_req_deadline(&fx->req) + 3 * RTT;
	shca_req_timer(&fx->req, fx->now);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_ASSERT_EQ(test, fx->pkt.psn, P0);
	missing(fx, P0, 1, P0 + 1);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + 1);
}

/* So it is after the way of other peers; and what has come counts until there is progress. */
static void late_gap_is_part_of_going_back(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->req.rtt.psn = SHCA_PSN_NONE;
	fx_ack(fx, P0, NAK(SHCA_NAK_PSN_SEQ));
	KUNIT_ASSERT_EQ(test, fx_drain(fx), 4u);
	fx->req.cc.wide = fx->req.cc.cwnd;
	missing(fx, P0, 1, P0 + 1);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.beyond, 1u);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 0u);
	fx_ack(fx, P0, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.beyond, 0u);
}

static void late_read_responses_are_waited_for(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_ack(fx, P0 + 3, ACK);
	fx_post(fx, SHCA_WR_RDMA_READ, 4 * FX_MTU);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	fx->req.recovery.reorders = 1;
	fx->req.rtt.ns = RTT;
	shca_req_gap(&fx->req, P0 + 6, P0 + 6, fx->now);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	fx->now += RTT;
	shca_req_timer(&fx->req, fx->now);
	expect_again(test, P0 + 4);
	KUNIT_EXPECT_EQ(test, fx->pkt.reth.len, 2u * FX_MTU);
}

/* A request behind a READ, whose responses are in flight. */
static void late_request_behind_a_read_is_waited_for(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i;

	fx_ack(fx, P0 + 3, ACK);
	fx_post(fx, SHCA_WR_RDMA_READ, 2 * FX_MTU);
	for (i = 0; i < 4; i++)
		fx_post(fx, SHCA_WR_SEND, 8);
	KUNIT_ASSERT_EQ(test, fx_drain(fx), 5u);
	fx->req.recovery.reorders = 2;
	fx->req.rtt.ns = RTT;
	missing(fx, P0 + 6, 2, P0 + 8);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->req.recovery.reo.ns, fx->now + RTT);
	/* what comes meanwhile does not end the wait */
	KUNIT_EXPECT_EQ(test, fx_read_resp(fx, SHCA_OP_READ_RESP_FIRST, P0 + 4, FX_MTU),
			SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.reo.ns, fx->now + RTT);
	fx->now += RTT;
	shca_req_timer(&fx->req, fx->now);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + 6);
	expect_again(test, P0 + 7);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.ahead_end, P0 + 8);
	/* waited for once more, and all before it comes: it is the oldest then */
	fx->now += 3 * RTT;
	missing(fx, P0 + 6, 2, P0 + 8);
	KUNIT_EXPECT_EQ(test, fx_read_resp(fx, SHCA_OP_READ_RESP_LAST, P0 + 5, FX_MTU),
			SHCA_RX_OK);
	fx->now = fx->req.recovery.reo.ns;
	KUNIT_EXPECT_NE(test, fx->now, 0ull);
	shca_req_timer(&fx->req, fx->now);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.gap_end, P0 + 8);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2u);
}

/* All that were missing have come. */
static void late_request_behind_a_read_that_comes_ends_the_wait(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i;

	fx_ack(fx, P0 + 3, ACK);
	fx_post(fx, SHCA_WR_RDMA_READ, FX_MTU);
	for (i = 0; i < 4; i++)
		fx_post(fx, SHCA_WR_SEND, 8);
	KUNIT_ASSERT_EQ(test, fx_drain(fx), 5u);
	fx->req.recovery.reorders = 2;
	fx->req.rtt.ns = RTT;
	missing(fx, P0 + 5, 2, P0 + 7);
	KUNIT_EXPECT_NE(test, fx->req.recovery.reo.ns, 0ull);
	KUNIT_EXPECT_EQ(test, fx_read_resp(fx, SHCA_OP_READ_RESP_ONLY, P0 + 4, FX_MTU),
			SHCA_RX_OK);
	KUNIT_EXPECT_NE(test, fx->req.recovery.reo.ns, 0ull);
	fx_ack(fx, P0 + 5, ACK);
	KUNIT_EXPECT_NE(test, fx->req.recovery.reo.ns, 0ull);
	fx_ack(fx, P0 + 6, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.reo.ns, 0ull);
}

static void response(struct kunit *test, u8 opcode, u32 psn, enum shca_verdict verdict)
{
	KUNIT_EXPECT_EQ(test, fx_read_resp(test->priv, opcode, psn, FX_MTU), verdict);
}

/*
 * The first two responses are asked for again, and then come; the watch of one gap lasts
 * while others are repaired.
 */
static void late_response_is_watched(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_recovery *r = &fx->req.recovery;

	fx_ack(fx, P0 + 3, ACK);
	fx_post(fx, SHCA_WR_RDMA_READ, 6 * FX_MTU);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	shca_req_gap(&fx->req, P0 + 6, P0 + 6, fx->now);
	expect_again(test, P0 + 4);
	/* (of what is missing yet it is no second copy) */
	response(test, SHCA_OP_READ_RESP_FIRST, P0 + 4, SHCA_RX_OK);
	response(test, SHCA_OP_READ_RESP_FIRST, P0 + 4, SHCA_RX_STALE_ACK);
	KUNIT_EXPECT_EQ(test, r->reorders, 0);
	response(test, SHCA_OP_READ_RESP_MIDDLE, P0 + 5, SHCA_RX_OK);
	response(test, SHCA_OP_READ_RESP_MIDDLE, P0 + 6, SHCA_RX_OK);
	fx->now += 20 * RTT;
	shca_req_gap(&fx->req, P0 + 8, P0 + 8, fx->now);
	expect_again(test, P0 + 7);
	KUNIT_EXPECT_EQ(test, r->undo.psn, P0 + 4);
	response(test, SHCA_OP_READ_RESP_MIDDLE, P0 + 6, SHCA_RX_STALE_ACK);
	response(test, SHCA_OP_READ_RESP_MIDDLE, P0 + 3, SHCA_RX_STALE_ACK);
	KUNIT_EXPECT_EQ(test, r->reorders, 0);
	fx->req.cc.least_ns = 1;
	response(test, SHCA_OP_READ_RESP_MIDDLE, P0 + 5, SHCA_RX_STALE_ACK);
	KUNIT_EXPECT_EQ(test, r->reorders, SHCA_REQ_REORDERS);
	KUNIT_EXPECT_EQ(test, fx->req.cc.least_ns, 0ull);
	/* once, and what is measured from then on stays */
	r->reorders = 1;
	fx->req.cc.least_ns = 1;
	response(test, SHCA_OP_READ_RESP_MIDDLE, P0 + 5, SHCA_RX_STALE_ACK);
	KUNIT_EXPECT_EQ(test, r->reorders, 1);
	r->undo.end = P0 + 6;
	response(test, SHCA_OP_READ_RESP_MIDDLE, P0 + 5, SHCA_RX_STALE_ACK);
	KUNIT_EXPECT_EQ(test, r->reorders, SHCA_REQ_REORDERS);
	KUNIT_EXPECT_EQ(test, fx->req.cc.least_ns, 1ull);
}

/* It was waited for, and repaired a moment too early: the next wait is longer, up to a limit. */
static void late_wait_that_is_too_short_gets_longer(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_recovery *r = &fx->req.recovery;
	u32 i, shift;

	fx->req.rtt.psn = SHCA_PSN_NONE;
	for (i = 0; i < 3; i++) {
		shift = min_t(u32, i, SHCA_REQ_LATE_SHIFT);
		KUNIT_EXPECT_EQ(test, r->reo.shift, shift);
		r->reorders = 2;
		fx_ack(fx, P0 + i, MISSING(1));
		KUNIT_EXPECT_EQ(test, r->reo.ns, fx->now + ((u64)RTT << shift));
		/* (nothing is sent early meanwhile) */
		KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), r->reo.ns);
		fx->now = r->reo.ns;
		shca_req_timer(&fx->req, fx->now);
		expect_again(test, P0 + i);
		fx_ack(fx, P0 + i, ACK);
		fx_ack(fx, P0 + i, ACK);
		KUNIT_EXPECT_EQ(test, r->reorders, SHCA_REQ_REORDERS);
	}
	/* the last gap that is waited for: reordering is over */
	r->reorders = 1;
	fx_ack(fx, P0 + 3, MISSING(1));
	KUNIT_EXPECT_EQ(test, r->reo.ns, fx->now + ((u64)RTT << SHCA_REQ_LATE_SHIFT));
	fx->now = r->reo.ns;
	shca_req_timer(&fx->req, fx->now);
	KUNIT_EXPECT_EQ(test, r->reo.shift, 0);
}

/* Well before the time-out. */
static void late_wait_is_shorter_than_the_time_out(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_recovery *r = &fx->req.recovery;

	fx->req.rtt.psn = SHCA_PSN_NONE;
	r->reorders = 1;
	r->deadline = fx->now + RTT;
	fx_ack(fx, P0, MISSING(1));
	KUNIT_EXPECT_EQ(test, r->reo.ns, fx->now + RTT / 2);
}

/* One that was repaired at once tells nothing of waits. */
static void late_wait_stays_where_nothing_waited(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_recovery *r = &fx->req.recovery;

	fx->req.rtt.psn = SHCA_PSN_NONE;
	fx_ack(fx, P0, MISSING(1));
	expect_again(test, P0);
	fx_ack(fx, P0, ACK);
	fx_ack(fx, P0, ACK);
	KUNIT_EXPECT_EQ(test, r->reorders, SHCA_REQ_REORDERS);
	KUNIT_EXPECT_EQ(test, r->reo.shift, 0);
}

/* Too long ago: the next one is watched. */
static void late_watch_ends(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_recovery *r = &fx->req.recovery;
	u32 more;

	fx_ack(fx, P0 + 3, ACK);
	for (more = 0; more < 2; more++) {
		fx_post(fx, SHCA_WR_RDMA_READ, 2 * FX_MTU);
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
		r->undo.read = true;
		r->undo.psn = shca_psn_add(fx->req.psn.una, 1 - SHCA_REQ_WATCH * fx->req.cc.cwnd -
					     more);
		r->undo.end = r->undo.psn;
		shca_req_gap(&fx->req, fx->req.psn.una + 1, fx->req.psn.una + 1, fx->now);
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
		KUNIT_EXPECT_EQ(test, r->undo.psn == fx->req.psn.una, more == 1);
		fx->now += 9 * RTT;
		response(test, SHCA_OP_READ_RESP_FIRST, fx->req.psn.una, SHCA_RX_OK);
		response(test, SHCA_OP_READ_RESP_LAST, fx->req.psn.una, SHCA_RX_OK);
	}
}

/* How long a way takes is not known: the gap is repaired at once. */
static void late_wait_needs_a_round_trip(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->req.recovery.reorders = 1;
	fx->req.rtt.ns = 0;
	fx_ack(fx, P0, MISSING(1));
	expect_again(test, P0);
}

/* A requester without a time-out waits for a round trip, and one whose time is over not at all. */
static void late_wait_without_time_is_none(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_recovery *r = &fx->req.recovery;

	fx->req.rtt.psn = SHCA_PSN_NONE;
	r->reorders = 2;
	r->deadline = 0;
	fx_ack(fx, P0, MISSING(1));
	KUNIT_EXPECT_EQ(test, r->reo.ns, fx->now + RTT);
	fx_ack(fx, P0, ACK);
	r->deadline = fx->now;
	fx_ack(fx, P0 + 1, MISSING(1));
	KUNIT_EXPECT_EQ(test, r->reo.ns, fx->now);
}

/* An acknowledgement is of no single packet: that watch lasts two round trips and a quarter each. */
static void late_watch_of_an_acknowledgement_is_short(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_recovery *r = &fx->req.recovery;

	fx->req.rtt.psn = SHCA_PSN_NONE;
	fx_ack(fx, P0, MISSING(1));
	expect_again(test, P0);
	fx_ack(fx, P0, ACK);
	fx->now += 5 * RTT / 2;
	fx_ack(fx, P0 + 1, MISSING(1));
	expect_again(test, P0 + 1);
	KUNIT_EXPECT_EQ(test, r->undo.psn, P0);
	fx_ack(fx, P0 + 1, ACK);
	fx->now++;
	fx_ack(fx, P0 + 2, MISSING(1));
	expect_again(test, P0 + 2);
	KUNIT_EXPECT_EQ(test, r->undo.psn, P0 + 2);
}

/* After a tail loss probe a repair is a duplicate in any order of packets: no undo. */
static void late_watch_ends_with_an_early_copy(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_recovery *r = &fx->req.recovery;

	fx->req.rtt.psn = SHCA_PSN_NONE;
	fx_ack(fx, P0, MISSING(1));
	expect_again(test, P0);
	KUNIT_ASSERT_TRUE(test, r->undo.end != SHCA_PSN_NONE);
	fx->now = shca_req_deadline(&fx->req);
	shca_req_timer(&fx->req, fx->now);
	expect_again(test, P0);
	KUNIT_ASSERT_EQ(test, fx->req.stats.early, 1ull);
	KUNIT_EXPECT_EQ(test, r->undo.end, SHCA_PSN_NONE);
}

/* So it is if the next packet is sent early, since an acknowledgement is of both. */
static void late_watch_ends_with_the_next_early_copy(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_recovery *r = &fx->req.recovery;

	fx->req.rtt.psn = SHCA_PSN_NONE;
	fx_ack(fx, P0, MISSING(1));
	expect_again(test, P0);
	fx_ack(fx, P0, ACK);
	KUNIT_ASSERT_TRUE(test, r->undo.end != SHCA_PSN_NONE);
	fx->now = shca_req_deadline(&fx->req);
	shca_req_timer(&fx->req, fx->now);
	expect_again(test, P0 + 1);
	KUNIT_ASSERT_EQ(test, fx->req.stats.early, 1ull);
	KUNIT_EXPECT_EQ(test, r->undo.end, SHCA_PSN_NONE);
}

/* But each response has its PSN: the watch of one goes on. */
static void late_watch_of_a_response_outlives_an_early_copy(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_recovery *r = &fx->req.recovery;

	fx->req.rtt.psn = SHCA_PSN_NONE;
	fx_ack(fx, P0 + 3, ACK);
	fx_post(fx, SHCA_WR_RDMA_READ, 6 * FX_MTU);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	fx->req.rtt.psn = SHCA_PSN_NONE;
	shca_req_gap(&fx->req, P0 + 6, P0 + 6, fx->now);
	expect_again(test, P0 + 4);
	response(test, SHCA_OP_READ_RESP_FIRST, P0 + 4, SHCA_RX_OK);
	response(test, SHCA_OP_READ_RESP_MIDDLE, P0 + 5, SHCA_RX_OK);
	fx->now = shca_req_deadline(&fx->req);
	shca_req_timer(&fx->req, fx->now);
	expect_again(test, P0 + 6);
	KUNIT_ASSERT_EQ(test, fx->req.stats.early, 1ull);
	KUNIT_EXPECT_NE(test, r->undo.end, SHCA_PSN_NONE);
	KUNIT_EXPECT_EQ(test, r->undo.psn, P0 + 4);
}

/* A READ response that is requested early once more is a duplicate, too: no undo. */
static void late_watch_of_a_response_ends_with_its_early_copy(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_ack(fx, P0 + 3, ACK);
	fx_post(fx, SHCA_WR_RDMA_READ, 6 * FX_MTU);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	shca_req_gap(&fx->req, P0 + 6, P0 + 6, fx->now);
	expect_again(test, P0 + 4);
	KUNIT_ASSERT_TRUE(test, fx->req.recovery.undo.end != SHCA_PSN_NONE);
	fx->now = shca_req_deadline(&fx->req);
	shca_req_timer(&fx->req, fx->now);
	expect_again(test, P0 + 4);
	KUNIT_ASSERT_EQ(test, fx->req.stats.early, 1ull);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.undo.end, SHCA_PSN_NONE);
}

/* A gap that is repaired once more, in part, is watched as it was. */
static void late_watch_is_of_the_first_repair(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->req.rtt.psn = SHCA_PSN_NONE;
	fx_ack(fx, P0, MISSING(2));
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2u);
	fx->now += RTT / 2;
	missing(fx, P0, 1, P0 + 1);
	expect_again(test, P0);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.undo.end, P0 + 2);
}

/* What has overtaken others does not tell how long the way of most is. */
static void late_round_trip_is_that_of_what_is_in_order(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_recovery *r = &fx->req.recovery;

	KUNIT_ASSERT_TRUE(test, fx->req.rtt.psn != SHCA_PSN_NONE);
	KUNIT_ASSERT_EQ(test, fx->req.rtt.psn, P0);
	r->reorders = 1;
	fx->now += RTT / 4;
	missing(fx, P0, 3, P0 + 3);
	KUNIT_EXPECT_NE(test, fx->req.rtt.psn, SHCA_PSN_NONE);
	KUNIT_EXPECT_EQ(test, fx->req.rtt.ns, (u64)RTT);
	fx->now += RTT;
	fx_ack(fx, P0 + 3, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.rtt.psn, SHCA_PSN_NONE);
	KUNIT_EXPECT_EQ(test, fx->req.rtt.ns, RTT + RTT / 4ull);
}

/* A new packet that leaves with the repair was sent once: its answer tells the round trip. */
static void late_round_trip_is_of_what_left_with_the_repair(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->req.rtt.psn = SHCA_PSN_NONE;
	fx_ack(fx, P0, MISSING(1));
	expect_again(test, P0);
	fx_post(fx, SHCA_WR_SEND, 8);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	fx->now += 2 * RTT;
	fx_ack(fx, P0 + 4, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.rtt.ns, 2ull * RTT);
}

/* The least round trip is one that was measured, and no guess. */
static void late_least_round_trip_is_measured(struct kunit *test)
{
	static const struct {
		u64 rtt, least;
		bool guess;
	} rows[] = {
		{ RTT, RTT, false },
		{ 2 * RTT, RTT, false },
		{ RTT / 2, RTT, true },
		{ RTT / 4, RTT / 4, false },
	};
	struct fx *fx = test->priv;
	u32 i;

	KUNIT_EXPECT_EQ(test, fx->req.rtt.least, 0ull);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		KUNIT_ASSERT_TRUE(test, fx->req.rtt.psn != SHCA_PSN_NONE);
		fx->req.rtt.again = rows[i].guess;
		fx->now += rows[i].rtt;
		fx_ack(fx, P0 + 3 + i, ACK);
		KUNIT_EXPECT_EQ(test, fx->req.rtt.least, rows[i].least);
		fx_post(fx, SHCA_WR_SEND, 8);
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
	}
}

/*
 * Sooner than half of the least round trip after the second copy, an answer is that of the
 * first one. The smoothed one may contain a queue.
 */
static void late_answer_soon_is_by_the_least_round_trip(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_recovery *r = &fx->req.recovery;

	KUNIT_ASSERT_TRUE(test, fx->req.rtt.psn != SHCA_PSN_NONE);
	fx->req.rtt.least = RTT / 4;
	fx->now += 10 * RTT;
	r->again_ns = fx->now;
	fx->now += RTT / 8;
	fx_ack(fx, P0 + 3, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.rtt.ns, (u64)RTT);
	/* and the least is what was measured */
	fx_post(fx, SHCA_WR_SEND, 8);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_ASSERT_TRUE(test, fx->req.rtt.psn != SHCA_PSN_NONE);
	fx->now += RTT / 5;
	fx_ack(fx, P0 + 4, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.rtt.least, RTT / 5ull);
	fx_post(fx, SHCA_WR_SEND, 8);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	fx->now += 10 * RTT;
	r->again_ns = fx->now;
	fx->now += RTT / 10 - 1;
	fx_ack(fx, P0 + 5, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.rtt.ns, 10 * RTT + RTT / 10 - 1ull);
	KUNIT_EXPECT_EQ(test, fx->req.rtt.least, RTT / 5ull);
}

/* An answer of another transport, or to what was never sent, says nothing of the repair. */
static void late_sign_is_an_answer_to_what_was_sent(struct kunit *test)
{
	struct shca_pkt pkt = {
		.opcode = SHCA_TRANSPORT_XRC | SHCA_OP_ACK,
		.psn = P0 + 3,
		.aeth = { .syndrome = ACK },
	};
	struct fx *fx = test->priv;

	fx->req.rtt.psn = SHCA_PSN_NONE;
	fx_ack(fx, P0, MISSING(1));
	expect_again(test, P0);
	fx_ack(fx, P0 + 3, ACK);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0 + 4, ACK), SHCA_RX_STALE_ACK);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.reorders, 0);
	KUNIT_EXPECT_EQ(test, shca_req_rx(&fx->req, &pkt, fx->now), SHCA_RX_STALE_ACK);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.reorders, 0);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0 + 3, ACK), SHCA_RX_STALE_ACK);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.reorders, SHCA_REQ_REORDERS);
}

/* They come one after the other: the last of them ends the wait. */
static void late_packets_that_come_in_turn_end_the_wait(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->req.recovery.reorders = 1;
	fx_ack(fx, P0, MISSING(2));
	fx_ack(fx, P0, ACK);
	KUNIT_EXPECT_NE(test, fx->req.recovery.reo.ns, 0ull);
	fx_ack(fx, P0 + 1, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.reo.ns, 0ull);
}

/* A repair after a wait is one: the way of other peers tells of the same gap. */
static void late_repair_makes_a_sequence_nak_void(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->req.recovery.reorders = 1;
	fx_ack(fx, P0, MISSING(1));
	fx->now = fx->req.recovery.reo.ns;
	shca_req_timer(&fx->req, fx->now);
	expect_again(test, P0);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0, NAK(SHCA_NAK_PSN_SEQ)), SHCA_RX_NAK_SEQ);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 0u);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.retry_left, 3);
}

/* While a repair has not left as a whole, a wait that ends begins no other one. */
static void late_wait_within_a_repair_lets_it_go_on(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_recovery *r = &fx->req.recovery;

	fx->req.rtt.psn = SHCA_PSN_NONE;
	fx_ack(fx, P0, MISSING(3));
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_ASSERT_EQ(test, fx->pkt.psn, P0 + 1);
	/* the second one has come soon, and the first has not */
	r->reorders = 2;
	fx->now += RTT;
	missing(fx, P0, 1, P0 + 1);
	KUNIT_ASSERT_EQ(test, r->reo.ns, fx->now + RTT);
	fx->now = r->reo.ns;
	shca_req_timer(&fx->req, fx->now);
	KUNIT_EXPECT_EQ(test, r->reo.ns, 0ull);
	KUNIT_EXPECT_EQ(test, r->reorders, 2);
	KUNIT_EXPECT_GT(test, shca_req_deadline(&fx->req), fx->now);
	expect_again(test, P0 + 2);
}

/* A loss that is undone was none: the next one makes the window smaller. */
static void late_loss_after_one_undone_counts(struct kunit *test)
{
	struct fx *fx = test->priv;

	small_window(fx);
	fx_ack(fx, P0, MISSING(2));
	KUNIT_ASSERT_EQ(test, fx_drain(fx), 2u);
	fx_ack(fx, P0 + 1, ACK);
	fx_ack(fx, P0 + 1, ACK);
	KUNIT_ASSERT_EQ(test, fx->req.cc.cwnd, 12u);
	fx->req.recovery.reorders = 0;
	fx_ack(fx, P0 + 2, MISSING(2));
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2u);
	KUNIT_EXPECT_EQ(test, fx->req.cc.cwnd, 12u - 12 / 4);
}

/* ---- the responder ---------------------------------------------------------------- */

#define R0	FX_RQ_PSN

static void arrives(struct kunit *test, u32 psn, u32 len, enum shca_verdict verdict)
{
	KUNIT_EXPECT_EQ(test, fx_rx_op(test->priv, SHCA_OP_WRITE_ONLY, psn, len), verdict);
}

static void expect_told(struct kunit *test, u32 psn, u32 nr)
{
	struct fx *fx = test->priv;

	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, psn);
	KUNIT_EXPECT_EQ(test, fx->pkt.aeth.syndrome, MISSING(nr));
	KUNIT_EXPECT_FALSE(test, fx_answer(fx));
}

static void gap(struct kunit *test, u32 psn, u32 cause, bool asks)
{
	struct fx *fx = test->priv;

	fx->resp.attr.peer |= SHCA_PEER_OOO;
	shca_resp_gap(&fx->resp, psn, cause, asks);
}

/* What is farther ahead than any is kept may be anybody's, and each draws no answer. */
static void late_gap_from_afar_is_told_once(struct kunit *test)
{
	const u32 last = R0 + SHCA_OOO_PSNS;

	gap(test, last + 1, last + 1, true);
	expect_told(test, R0, 32);
	gap(test, last + 1, last + 1, true);
	KUNIT_EXPECT_FALSE(test, fx_answer(test->priv));
	gap(test, last, last, true);
	expect_told(test, R0, 32);
}

/* Behind the one that was filled: the next packet may fill it, too. */
static void late_gap_is_told_a_packet_later(struct kunit *test)
{
	struct fx *fx = test->priv;

	arrives(test, R0, 8, SHCA_RX_OK);
	gap(test, R0 + 3, R0, false);
	KUNIT_EXPECT_FALSE(test, fx_answer(fx));
	gap(test, R0 + 3, R0 + 3, false);
	expect_told(test, R0 + 1, 2);
	KUNIT_EXPECT_EQ(test, fx->resp.gap.quiet, 0);
	/* at once where one asks */
	arrives(test, R0 + 1, 8, SHCA_RX_OK);
	arrives(test, R0 + 2, 8, SHCA_RX_OK);
	gap(test, R0 + 6, R0 + 2, true);
	expect_told(test, R0 + 3, 3);
	KUNIT_EXPECT_EQ(test, fx->resp.gap.quiet, 0);
}

/* What came is expected still, as it was not executed: it has filled no gap. */
static void late_gap_is_told_at_once_where_none_was_filled(struct kunit *test)
{
	gap(test, R0 + 3, R0, false);
	expect_told(test, R0, 3);
}

/* Packets behind it, which are in order, tell nothing. */
static void late_gap_that_fills_by_itself_is_one_sign(struct kunit *test)
{
	struct fx *fx = test->priv;

	arrives(test, R0, 8, SHCA_RX_OK);
	gap(test, R0 + 2, R0, false);
	arrives(test, R0 + 1, 8, SHCA_RX_OK);
	gap(test, R0 + 2, R0 + 1, false);
	KUNIT_EXPECT_EQ(test, fx->resp.gap.quiet, SHCA_RESP_QUIET);
	fx->resp.gap.quiet = 1;
	arrives(test, R0 + 2, 8, SHCA_RX_OK);
	gap(test, R0 + 3, R0 + 2, false);
	KUNIT_EXPECT_EQ(test, fx->resp.gap.quiet, 1);
}

static void late_gap_is_told_where_packets_ask(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i;

	fx->resp.gap.quiet = SHCA_RESP_QUIET;
	gap(test, R0 + 2, R0 + 2, false);
	gap(test, R0 + 2, R0 + 3, false);
	KUNIT_EXPECT_FALSE(test, fx_answer(fx));
	/* (nobody else may come) */
	for (i = SHCA_RESP_QUIET; i--;) {
		gap(test, R0 + 2, R0 + 4, true);
		expect_told(test, R0, 2);
		KUNIT_EXPECT_EQ(test, fx->resp.gap.quiet, i);
	}
	/* what was told comes in parts: each that asks hears of the rest */
	fx->resp.gap.quiet = SHCA_RESP_QUIET;
	arrives(test, R0, 8, SHCA_RX_OK);
	gap(test, R0 + 2, R0, true);
	expect_told(test, R0 + 1, 1);
	arrives(test, R0 + 1, 8, SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->resp.gap.unreported, SHCA_PSN_NONE);
	/* after so many it is told at once again */
	fx->resp.gap.quiet = 0;
	gap(test, R0 + 4, R0 + 4, false);
	expect_told(test, R0 + 2, 2);
}

/* One that fills before anybody was told: so will others. */
static void late_gap_that_fills_by_itself_is_a_sign(struct kunit *test)
{
	struct fx *fx = test->priv;

	arrives(test, R0, 8, SHCA_RX_OK);
	gap(test, R0 + 3, R0, false);
	arrives(test, R0 + 1, 8, SHCA_RX_OK);
	gap(test, R0 + 3, R0 + 1, false);
	KUNIT_EXPECT_EQ(test, fx->resp.gap.quiet, 0);
	arrives(test, R0 + 2, 8, SHCA_RX_OK);
	gap(test, R0 + 6, R0 + 2, false);
	KUNIT_EXPECT_EQ(test, fx->resp.gap.quiet, SHCA_RESP_QUIET);
	/* the last of them, too */
	fx->resp.gap.quiet = 1;
	arrives(test, R0 + 3, 8, SHCA_RX_OK);
	arrives(test, R0 + 4, 8, SHCA_RX_OK);
	arrives(test, R0 + 5, 8, SHCA_RX_OK);
	gap(test, R0 + 6, R0 + 5, false);
	KUNIT_EXPECT_EQ(test, fx->resp.gap.quiet, SHCA_RESP_QUIET);
	KUNIT_EXPECT_FALSE(test, fx_answer(fx));
	/* what asks may be what the peer has sent again by its own clock */
	gap(test, R0 + 8, R0 + 9, false);
	KUNIT_EXPECT_EQ(test, fx->resp.gap.unreported, R0 + 8);
	arrives(test, R0 + 6, 8, SHCA_RX_OK);
	arrives(test, R0 + 7, 8, SHCA_RX_OK);
	fx->resp.gap.quiet = 1;
	gap(test, R0 + 9, R0 + 7, true);
	expect_told(test, R0 + 8, 1);
	KUNIT_EXPECT_EQ(test, fx->resp.gap.quiet, 0);
}

/* shca_resp_is_asked() */
static void late_gap_asked_for(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_resp *resp = &fx->resp;
	struct shca_pkt pkt = { .opcode = SHCA_OP_SEND_ONLY };

	KUNIT_EXPECT_FALSE(test, shca_resp_is_asked(resp, &pkt, SHCA_RX_OUT_OF_SEQ, true, true, false));
	KUNIT_EXPECT_FALSE(test, shca_resp_is_asked(resp, &pkt, SHCA_RX_OK, false, true, false));
	KUNIT_EXPECT_FALSE(test, shca_resp_is_asked(resp, &pkt, SHCA_RX_DUPLICATE, false, true, false));
	/* its feeding was interrupted: one of those that were fed may have asked */
	KUNIT_EXPECT_TRUE(test, shca_resp_is_asked(resp, &pkt, SHCA_RX_DUPLICATE, false, true, true));
	pkt.ackreq = true;
	KUNIT_EXPECT_TRUE(test, shca_resp_is_asked(resp, &pkt, SHCA_RX_OUT_OF_SEQ, true, true, false));
	KUNIT_EXPECT_TRUE(test, shca_resp_is_asked(resp, &pkt, SHCA_RX_OK, false, true, false));
	KUNIT_EXPECT_TRUE(test, shca_resp_is_asked(resp, &pkt, SHCA_RX_DUPLICATE, false, true, false));
	KUNIT_EXPECT_FALSE(test, shca_resp_is_asked(resp, &pkt, SHCA_RX_DUPLICATE, false, false, false));
	KUNIT_EXPECT_FALSE(test, shca_resp_is_asked(resp, &pkt, SHCA_RX_ACCESS, false, true, false));
	/* a READ that was executed: not while gaps fill, but for the repair of a reported one */
	pkt.opcode = SHCA_OP_READ_REQUEST;
	KUNIT_EXPECT_TRUE(test, shca_resp_is_asked(resp, &pkt, SHCA_RX_OK, false, true, false));
	resp->gap.quiet = 1;
	KUNIT_EXPECT_FALSE(test, shca_resp_is_asked(resp, &pkt, SHCA_RX_OK, false, true, false));
	KUNIT_EXPECT_TRUE(test, shca_resp_is_asked(resp, &pkt, SHCA_RX_OUT_OF_SEQ, true, true, false));
	resp->gap.reported = R0;
	KUNIT_EXPECT_TRUE(test, shca_resp_is_asked(resp, &pkt, SHCA_RX_OK, false, true, false));
}

static struct kunit_case reordering_cases[] = {
	KUNIT_CASE(late_request_behind_a_read_is_waited_for),
	KUNIT_CASE(late_request_behind_a_read_that_comes_ends_the_wait),
	KUNIT_CASE(late_gap_from_afar_is_told_once),
	KUNIT_CASE(late_least_round_trip_is_measured),
	KUNIT_CASE(late_answer_soon_is_by_the_least_round_trip),
	KUNIT_CASE(late_gap_of_all_is_repaired_once),
	KUNIT_CASE(late_gap_is_told_a_packet_later),
	KUNIT_CASE(late_gap_is_told_at_once_where_none_was_filled),
	KUNIT_CASE(late_gap_is_told_where_packets_ask),
	KUNIT_CASE(late_gap_that_fills_by_itself_is_a_sign),
	KUNIT_CASE(late_gap_that_fills_by_itself_is_one_sign),
	KUNIT_CASE(late_gap_asked_for),
	KUNIT_CASE(late_answer_of_the_first_copy_undoes_the_loss),
	KUNIT_CASE(late_answer_of_the_second_copy_does_not),
	KUNIT_CASE(late_is_not_what_was_sent_early),
	KUNIT_CASE(late_first_gap_is_at_any_psn),
	KUNIT_CASE(late_packets_are_waited_for),
	KUNIT_CASE(late_repair_has_its_round_trip),
	KUNIT_CASE(late_packets_that_come_end_the_wait),
	KUNIT_CASE(late_packets_that_come_in_turn_end_the_wait),
	KUNIT_CASE(late_repair_makes_a_sequence_nak_void),
	KUNIT_CASE(late_wait_within_a_repair_lets_it_go_on),
	KUNIT_CASE(late_loss_after_one_undone_counts),
	KUNIT_CASE(late_wait_is_given_up),
	KUNIT_CASE(late_wait_ends_with_going_back),
	KUNIT_CASE(late_repair_is_repeated),
	KUNIT_CASE(late_repair_that_is_repeated_keeps_the_time_out),
	KUNIT_CASE(late_repair_goes_on_where_it_stands),
	KUNIT_CASE(late_gap_is_part_of_what_is_sent_again),
	KUNIT_CASE(late_gap_is_part_of_going_back),
	KUNIT_CASE(late_read_responses_are_waited_for),
	KUNIT_CASE(late_response_is_watched),
	KUNIT_CASE(late_wait_that_is_too_short_gets_longer),
	KUNIT_CASE(late_wait_is_shorter_than_the_time_out),
	KUNIT_CASE(late_wait_stays_where_nothing_waited),
	KUNIT_CASE(late_watch_ends),
	KUNIT_CASE(late_wait_needs_a_round_trip),
	KUNIT_CASE(late_wait_without_time_is_none),
	KUNIT_CASE(late_watch_of_an_acknowledgement_is_short),
	KUNIT_CASE(late_watch_ends_with_an_early_copy),
	KUNIT_CASE(late_watch_ends_with_the_next_early_copy),
	KUNIT_CASE(late_watch_of_a_response_outlives_an_early_copy),
	KUNIT_CASE(late_watch_of_a_response_ends_with_its_early_copy),
	KUNIT_CASE(late_watch_is_of_the_first_repair),
	KUNIT_CASE(late_round_trip_is_that_of_what_is_in_order),
	KUNIT_CASE(late_round_trip_is_of_what_left_with_the_repair),
	KUNIT_CASE(late_sign_is_an_answer_to_what_was_sent),
	{}
};

static struct kunit_suite reordering_suite = {
	.name = "softhca_reordering",
	.init = late_init,
	.test_cases = reordering_cases,
};

kunit_test_suites(&reordering_suite);
