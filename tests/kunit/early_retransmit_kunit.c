// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What is sent again before its time-out, since its answer is overdue by the round trips
 * that were measured: core/requester/recovery.c.
 */
#include "fixture.h"
#include "../../kernel/core/requester/req_internal.h"

#define P0	FX_SQ_PSN
#define RTT	10000ull
#define WAIT	(2 * RTT + 500000)

/* A first message tells how long a round trip takes. */
static int early_init(struct kunit *test)
{
	int err = fx_init(test);
	struct fx *fx = test->priv;

	if (err)
		return err;
	fx_post(fx, SHCA_WR_SEND, 8);
	if (!fx_next(fx))
		return -1;
	fx->now += RTT;
	fx_ack(fx, P0, ACK);
	return fx->req.rtt.ns == RTT && fx_pop(fx) ? 0 : -1;
}

/* @nr messages leave, of which the answers do not come. */
static void send(struct kunit *test, u32 nr)
{
	struct fx *fx = test->priv;

	while (nr--) {
		fx_post(fx, SHCA_WR_SEND, 8);
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
	}
}

/* By what the last answer has told. */
static u64 wait_now(const struct fx *fx)
{
	return 2 * fx->req.rtt.ns + 500000;
}

static void wait_for_timer(struct fx *fx)
{
	fx->now = shca_req_deadline(&fx->req);
	shca_req_timer(&fx->req, fx->now);
}

static void expect_again(struct kunit *test, u32 psn)
{
	struct fx *fx = test->priv;

	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, psn);
	KUNIT_EXPECT_TRUE(test, fx->pkt.again);
}

/* A peer with an out-of-order queue gets a copy on any path; others wait for the time-out. */
static void early_needs_no_round_trip_of_a_friend(struct kunit *test)
{
	struct fx *fx = test->priv;
	u64 start = fx->now;

	fx->req.rtt.ns = 0;
	send(test, 1);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), start + FX_TIMEOUT);
	fx->req.attr.peer |= SHCA_PEER_OOO;
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req),
			start + FX_TIMEOUT / 4 + 500000);
	wait_for_timer(fx);
	expect_again(test, P0 + 1);
	KUNIT_EXPECT_EQ(test, fx->req.stats.early, 1ull);
}

/* The peer reports packets behind the oldest: the time for those in flight begins anew. */
static void early_waits_from_the_last_word_on(struct kunit *test)
{
	struct fx *fx = test->priv;
	u64 start = fx->now;

	send(test, 3);
	fx->req.rtt.psn = SHCA_PSN_NONE;
	shca_req_time(&fx->req, P0 + 2, start + RTT);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), start + RTT + WAIT);
	/* but never past the time-out */
	shca_req_time(&fx->req, P0 + 2, start + FX_TIMEOUT - WAIT);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), start + FX_TIMEOUT);
	shca_req_time(&fx->req, P0 + 2, start + FX_TIMEOUT - WAIT - 1);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), start + FX_TIMEOUT - 1);
}

static void early_is_one_packet_that_asks(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 cwnd = fx->req.cc.cwnd;
	u64 start = fx->now;

	send(test, 3);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), start + WAIT);
	shca_req_timer(&fx->req, start + WAIT - 1);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	wait_for_timer(fx);
	expect_again(test, P0 + 1);
	KUNIT_EXPECT_TRUE(test, fx->pkt.ackreq);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->req.stats.early, 1ull);
	KUNIT_EXPECT_EQ(test, fx->req.stats.timeouts, 0ull);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.retry_left, 3);
	KUNIT_EXPECT_EQ(test, fx->req.cc.cwnd, cwnd);
}

/* The peer dropped what was behind it. */
static void early_answer_to_it_alone_sends_the_rest(struct kunit *test)
{
	struct fx *fx = test->priv;

	send(test, 3);
	wait_for_timer(fx);
	expect_again(test, P0 + 1);
	fx_ack(fx, P0 + 1, ACK);
	expect_again(test, P0 + 2);
	expect_again(test, P0 + 3);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
}

/* Only the answer was lost, or late. */
static void early_answer_to_all_sends_nothing(struct kunit *test)
{
	struct fx *fx = test->priv;

	send(test, 3);
	wait_for_timer(fx);
	expect_again(test, P0 + 1);
	fx_ack(fx, P0 + 3, ACK);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_TRUE(test, shca_req_idle(&fx->req));
	send(test, 1);
	KUNIT_EXPECT_FALSE(test, fx->pkt.again);
}

/* Each time later, and the time-out is where it was. */
static void early_comes_less_often_and_then_the_time_out(struct kunit *test)
{
	struct fx *fx = test->priv;
	u64 start = fx->now;
	u32 i;

	send(test, 1);
	for (i = 0; WAIT << i < FX_TIMEOUT; i++) {
		KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req),
				start + (WAIT << i));
		wait_for_timer(fx);
		expect_again(test, P0 + 1);
	}
	KUNIT_EXPECT_GT(test, i, 3u);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), start + FX_TIMEOUT);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.retry_left, 3);
	wait_for_timer(fx);
	KUNIT_EXPECT_EQ(test, fx->req.stats.timeouts, 1ull);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.retry_left, 2);
	expect_again(test, P0 + 1);
	/* of the next one, too, unless something moves */
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), fx->now + FX_TIMEOUT);
	fx_ack(fx, P0 + 1, ACK);
	send(test, 1);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), fx->now + WAIT);
}

/* An answer that comes too soon for the second is that of the first. */
static void early_round_trip_is_of_the_first_or_of_none(struct kunit *test)
{
	struct fx *fx = test->priv;
	u64 start = fx->now;

	send(test, 1);
	wait_for_timer(fx);
	expect_again(test, P0 + 1);
	fx->now += RTT / 2;
	fx_ack(fx, P0 + 1, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.rtt.ns, RTT);

	start = fx->now;
	send(test, 1);
	wait_for_timer(fx);
	expect_again(test, P0 + 2);
	fx->now += RTT / 2 - 1;
	fx_ack(fx, P0 + 2, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.rtt.ns, fx->now - start);
}

static void early_is_not_before_a_round_trip_is_known(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->req.rtt.ns = 0;
	send(test, 1);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), fx->now + FX_TIMEOUT);
	shca_req_timer(&fx->req, fx->now + FX_TIMEOUT - 1);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
}

static void early_is_not_after_the_time_out(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->req.rtt.ns = FX_TIMEOUT / 2;
	send(test, 1);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), fx->now + FX_TIMEOUT);
}

/* It is here, and waits for memory. */
static void early_is_not_for_an_answer_that_waits(struct kunit *test)
{
	struct fx *fx = test->priv;

	send(test, 1);
	shca_req_answer_waits(&fx->req, fx->now + 3 * FX_TIMEOUT);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req),
			fx->now + 3 * FX_TIMEOUT);
	fx_ack(fx, P0 + 1, ACK);
	send(test, 1);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), fx->now + wait_now(fx));
}

/* A peer that asks to wait is alive. */
static void early_is_not_while_the_peer_is_not_ready(struct kunit *test)
{
	struct fx *fx = test->priv;

	send(test, 1);
	fx_ack(fx, P0 + 1, SHCA_AETH_RNR | 13);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req),
			fx->now + shca_rnr_ns(13));
	shca_req_timer(&fx->req, fx->now + WAIT);
	KUNIT_EXPECT_TRUE(test, shca_req_rnr_waits(&fx->req) ||
			  shca_rnr_ns(13) <= WAIT);
	KUNIT_EXPECT_EQ(test, fx->req.stats.early, 0ull);
}

/* Nor while a gap is repaired at the end of the round trip. */
static void early_is_not_before_a_second_look(struct kunit *test)
{
	struct fx *fx = test->priv;

	/* (a time-out earlier is no time at the beginning of the clock) */
	fx->now += FX_TIMEOUT;
	send(test, 2);
	fx->req.recovery.hold_ns = fx->now + 2 * WAIT;
	fx_ack(fx, P0 + 1, SHCA_AETH_NAK | SHCA_NAK_PSN_SEQ);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.waits, SHCA_WAIT_HOLD);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), fx->now + 2 * WAIT);
}

static void early_read_asks_for_the_rest(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, SHCA_WR_RDMA_READ, 3 * FX_MTU);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	fx_read_resp(fx, SHCA_OP_READ_RESP_FIRST, P0 + 1, FX_MTU);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), fx->now + wait_now(fx));
	wait_for_timer(fx);
	expect_again(test, P0 + 2);
	KUNIT_EXPECT_EQ(test, fx->pkt.reth.len, 2u * FX_MTU);
}

/* The time-out is shorter than the path is long: it becomes two round trips. */
static void early_time_out_follows_a_slow_path(struct kunit *test)
{
	struct fx *fx = test->priv;
	u64 start = fx->now;

	fx->req.rtt.ns = 0;
	send(test, 1);
	wait_for_timer(fx);
	KUNIT_EXPECT_EQ(test, fx->req.stats.timeouts, 1ull);
	expect_again(test, P0 + 1);
	fx->now = start + FX_TIMEOUT + FX_TIMEOUT / 2;
	fx_ack(fx, P0 + 1, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.rtt.ns,
			FX_TIMEOUT + FX_TIMEOUT / 2);
	send(test, 1);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req),
			fx->now + 3 * FX_TIMEOUT);
	/* A time-out may be part of it; the next packet, sent once, tells. */
	fx->now += RTT;
	fx_ack(fx, P0 + 2, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.rtt.ns, RTT);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.timeout_ns, (u64)FX_TIMEOUT);
	/* no longer than four times what the QP was told */
	fx->req.rtt.ns = 9 * FX_TIMEOUT;
	shca_req_modify(&fx->req, &fx->req.attr, 0);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.timeout_ns, 4ull * FX_TIMEOUT);
	fx->req.attr.timeout_ns = 0;
	shca_req_modify(&fx->req, &fx->req.attr, 0);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.timeout_ns, 0ull);
}

/* So it does for a peer that is sent copies before the time-out, whatever was sent when. */
static void early_copies_do_not_hide_a_slow_path(struct kunit *test)
{
	struct fx *fx = test->priv;
	u64 start = fx->now;

	fx->req.rtt.ns = 0;
	fx->req.attr.peer |= SHCA_PEER_OOO;
	send(test, 1);
	while (!fx->req.stats.timeouts) {
		wait_for_timer(fx);
		expect_again(test, P0 + 1);
	}
	KUNIT_EXPECT_GT(test, fx->req.stats.early, 0ull);
	fx->now = start + FX_TIMEOUT + FX_TIMEOUT / 2;
	fx_ack(fx, P0 + 1, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.rtt.ns,
			FX_TIMEOUT + FX_TIMEOUT / 2);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.timeout_ns, 3ull * FX_TIMEOUT);
}

/* Half a time-out is no bound of a path: two of its round trips are. */
static void early_time_out_is_two_round_trips_at_least(struct kunit *test)
{
	struct fx *fx = test->priv;

	send(test, 1);
	fx->now += FX_TIMEOUT / 4 * 3;
	fx_ack(fx, P0 + 1, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.timeout_ns, FX_TIMEOUT / 4 * 6);
}

/* A guess is followed at once by what was sent once, and by another guess slowly. */
static void early_guess_falls_slowly_to_the_next_guess(struct kunit *test)
{
	struct fx *fx = test->priv;
	u64 start = fx->now;

	fx->req.rtt.ns = 0;
	send(test, 1);
	wait_for_timer(fx);
	expect_again(test, P0 + 1);
	fx->now = start + 8 * FX_TIMEOUT;
	fx_ack(fx, P0 + 1, ACK);
	KUNIT_ASSERT_EQ(test, fx->req.rtt.ns, 8 * FX_TIMEOUT);
	send(test, 1);
	wait_for_timer(fx);
	KUNIT_ASSERT_EQ(test, fx->req.stats.timeouts, 2ull);
	expect_again(test, P0 + 2);
	fx_ack(fx, P0 + 2, ACK);
	/* an eighth of the difference between 8 and 4 */
	KUNIT_EXPECT_EQ(test, fx->req.rtt.ns, 8 * FX_TIMEOUT - FX_TIMEOUT / 2);
}

/* The path is slower than the guess, and a gap was repaired meanwhile: the next guess. */
static void early_guess_rises_after_a_repair(struct kunit *test)
{
	struct fx *fx = test->priv;
	u64 start = fx->now;

	fx->req.attr.peer |= SHCA_PEER_OOO;
	fx->req.rtt.ns = FX_TIMEOUT / 2 * 3;
	fx->req.rtt.guess = true;
	shca_req_modify(&fx->req, &fx->req.attr, 0);
	fx_post(fx, SHCA_WR_SEND, 3 * FX_MTU);
	KUNIT_ASSERT_EQ(test, fx_drain(fx), 3u);
	fx->now += RTT;
	fx_ack(fx, P0 + 1, SHCA_AETH_MISSING);
	expect_again(test, P0 + 1);
	wait_for_timer(fx);
	KUNIT_ASSERT_EQ(test, fx->req.stats.timeouts, 1ull);
	fx_drain(fx);
	fx->now += RTT;
	fx_ack(fx, P0 + 3, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.rtt.ns, fx->now - start);
}

/* A peer of unknown vendor drops requests behind a READ, however much of its response came. */
static void early_read_that_is_answered_sends_the_rest(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, SHCA_WR_RDMA_READ, 3 * FX_MTU);
	fx_post(fx, SHCA_WR_SEND, 8);
	KUNIT_ASSERT_EQ(test, fx_drain(fx), 2u);
	fx_read_resp(fx, SHCA_OP_READ_RESP_FIRST, P0 + 1, FX_MTU);
	wait_for_timer(fx);
	expect_again(test, P0 + 2);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	fx_read_resp(fx, SHCA_OP_READ_RESP_FIRST, P0 + 2, FX_MTU);
	expect_again(test, P0 + 4);
}

/* However long the peer asks to wait: code 0 is 655.36 ms (IBTA table 46). */
static void early_is_not_before_the_end_of_a_long_wait(struct kunit *test)
{
	struct fx *fx = test->priv;

	send(test, 1);
	fx_ack(fx, P0 + 1, SHCA_AETH_RNR | 0);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), fx->now + 655360000);
}

/* Also where a round trip takes two seconds, whose doublings are more than 64 bits can hold. */
static void early_is_not_for_an_answer_that_waits_on_a_long_path(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_attr attr;
	u64 until;

	fx_req_attr(&attr);
	attr.timeout_ns = 4096ull << 31;
	fx_req_start(fx, &attr);
	/* (two of them, and 500 us: 2^32 ns) */
	fx->req.rtt.ns = (1ull << 31) - 250000;
	send(test, 1);
	until = fx->now + attr.timeout_ns;
	shca_req_answer_waits(&fx->req, until);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), until);
}

static struct kunit_case early_retransmit_cases[] = {
	KUNIT_CASE(early_needs_no_round_trip_of_a_friend),
	KUNIT_CASE(early_waits_from_the_last_word_on),
	KUNIT_CASE(early_is_one_packet_that_asks),
	KUNIT_CASE(early_answer_to_it_alone_sends_the_rest),
	KUNIT_CASE(early_answer_to_all_sends_nothing),
	KUNIT_CASE(early_comes_less_often_and_then_the_time_out),
	KUNIT_CASE(early_round_trip_is_of_the_first_or_of_none),
	KUNIT_CASE(early_is_not_before_a_round_trip_is_known),
	KUNIT_CASE(early_is_not_after_the_time_out),
	KUNIT_CASE(early_is_not_for_an_answer_that_waits),
	KUNIT_CASE(early_is_not_for_an_answer_that_waits_on_a_long_path),
	KUNIT_CASE(early_is_not_before_the_end_of_a_long_wait),
	KUNIT_CASE(early_read_that_is_answered_sends_the_rest),
	KUNIT_CASE(early_is_not_while_the_peer_is_not_ready),
	KUNIT_CASE(early_is_not_before_a_second_look),
	KUNIT_CASE(early_read_asks_for_the_rest),
	KUNIT_CASE(early_time_out_follows_a_slow_path),
	KUNIT_CASE(early_copies_do_not_hide_a_slow_path),
	KUNIT_CASE(early_time_out_is_two_round_trips_at_least),
	KUNIT_CASE(early_guess_falls_slowly_to_the_next_guess),
	KUNIT_CASE(early_guess_rises_after_a_repair),
	{}
};

static struct kunit_suite early_retransmit_suite = {
	.name = "softhca_early_retransmit",
	.init = early_init,
	.test_cases = early_retransmit_cases,
};

kunit_test_suites(&early_retransmit_suite);
