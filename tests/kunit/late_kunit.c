// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A gap that fills by itself: reordering is found out, and then waited for
 * (core/recovery.c).
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
	fx->req.attr.peer |= SHCA_PEER_HOLDS;
	fx->req.attr.keeps = true;
	fx->req.recovery.rtt_ns = RTT;
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

/* What was sent again is answered a second time, so it has come twice. */
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
	KUNIT_EXPECT_FALSE(test, fx->req.recovery.repairs);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.repair_ns, 0ull);
	/* once for a repair */
	fx->req.recovery.reorders = 0;
	fx_ack(fx, P0 + 2, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.reorders, 0);
}

/* One answer, however soon, is that of the repair; and an old repair tells nothing. */
static void late_answer_of_the_second_copy_does_not(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->req.recovery.rtt_valid = false;
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

	fx->req.recovery.rtt_valid = false;
	fx->now = shca_req_deadline(&fx->req);
	shca_req_timer(&fx->req, fx->now);
	expect_again(test, P0);
	KUNIT_EXPECT_EQ(test, fx->req.stats.early, 1ull);
	fx_ack(fx, P0, ACK);
	fx_ack(fx, P0, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.reorders, 0);
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
	KUNIT_EXPECT_EQ(test, fx->req.recovery.late_ns, start + RTT);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.reorders, SHCA_REQ_REORDERS);
	shca_req_timer(&fx->req, start + RTT - 1);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->req.cc.cwnd, cwnd);
	fx->now = start + RTT;
	shca_req_timer(&fx->req, fx->now);
	expect_again(test, P0 + 1);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.reorders, SHCA_REQ_REORDERS - 1);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.retry_left, 3);
}

static void late_packets_that_come_end_the_wait(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->req.recovery.reorders = 1;
	fx_ack(fx, P0, MISSING(2));
	fx_ack(fx, P0 + 1, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.late_ns, 0ull);
	KUNIT_EXPECT_FALSE(test, fx->req.recovery.repairs);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	/* the next gap has a wait of its own */
	fx->now += 5;
	fx_ack(fx, P0 + 2, MISSING(1));
	KUNIT_EXPECT_EQ(test, fx->req.recovery.late_ns,
			fx->now + fx->req.recovery.rtt_ns);
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
	KUNIT_EXPECT_NE(test, fx->req.recovery.late_ns, 0ull);
	fx_ack(fx, P0, SHCA_AETH_RNR | 1);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.late_ns, 0ull);
	KUNIT_EXPECT_TRUE(test, fx->req.recovery.rnr_wait);
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

	fx->req.recovery.rtt_valid = false;
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

static void late_read_responses_are_waited_for(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_ack(fx, P0 + 3, ACK);
	fx_post(fx, SHCA_WR_RDMA_READ, 4 * FX_MTU);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	fx->req.recovery.reorders = 1;
	fx->req.recovery.rtt_ns = RTT;
	shca_req_gap(&fx->req, P0 + 6, P0 + 6, fx->now);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	fx->now += RTT;
	shca_req_timer(&fx->req, fx->now);
	expect_again(test, P0 + 4);
	KUNIT_EXPECT_EQ(test, fx->pkt.reth.len, 2u * FX_MTU);
}

static struct kunit_case late_cases[] = {
	KUNIT_CASE(late_answer_of_the_first_copy_undoes_the_loss),
	KUNIT_CASE(late_answer_of_the_second_copy_does_not),
	KUNIT_CASE(late_is_not_what_was_sent_early),
	KUNIT_CASE(late_packets_are_waited_for),
	KUNIT_CASE(late_packets_that_come_end_the_wait),
	KUNIT_CASE(late_wait_is_given_up),
	KUNIT_CASE(late_wait_ends_with_going_back),
	KUNIT_CASE(late_repair_is_repeated),
	KUNIT_CASE(late_read_responses_are_waited_for),
	{}
};

static struct kunit_suite late_suite = {
	.name = "softhca_late",
	.init = late_init,
	.test_cases = late_cases,
};

kunit_test_suites(&late_suite);
