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
	fx->req.rtt.psn = SHCA_PSN_NONE;
	wait_for_timer(fx);
	expect_again(test, P0 + 1);
	fx->now += RTT;
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

/* The answer may be that of the first copy, until one to a packet that was sent once. */
static void early_round_trip_is_of_the_first_until_a_clean_one(struct kunit *test)
{
	struct fx *fx = test->priv;
	u64 start = fx->now;

	send(test, 1);
	wait_for_timer(fx);
	expect_again(test, P0 + 1);
	fx->now += RTT;
	fx_ack(fx, P0 + 1, ACK);
	start = fx->now - start;
	send(test, 1);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), fx->now + 2 * start + 500000);
	fx->now += RTT;
	fx_ack(fx, P0 + 2, ACK);
	send(test, 1);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), fx->now + WAIT);
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

/* The second probe is answered in its time, and alone: what is behind it was dropped. */
static void early_second_answer_alone_sends_the_rest(struct kunit *test)
{
	struct fx *fx = test->priv;

	send(test, 4);
	wait_for_timer(fx);
	expect_again(test, P0 + 1);
	fx_ack(fx, P0 + 1, ACK);
	expect_again(test, P0 + 2);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	fx->now += RTT;
	fx_ack(fx, P0 + 2, ACK);
	expect_again(test, P0 + 3);
	expect_again(test, P0 + 4);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
}

/*
 * More than was probed is acknowledged, and the rest of six not yet: one more probe shows whether
 * it was dropped.
 */
static void answered_for_more(struct kunit *test)
{
	struct fx *fx = test->priv;

	send(test, 6);
	fx->req.rtt.psn = SHCA_PSN_NONE;
	wait_for_timer(fx);
	expect_again(test, P0 + 1);
	fx->now += RTT;
	fx_ack(fx, P0 + 2, ACK);
	expect_again(test, P0 + 3);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	fx->now += RTT;
}

static void early_answer_for_more_and_then_alone_sends_the_rest(struct kunit *test)
{
	struct fx *fx = test->priv;

	answered_for_more(test);
	fx_ack(fx, P0 + 3, ACK);
	expect_again(test, P0 + 4);
	expect_again(test, P0 + 5);
	expect_again(test, P0 + 6);
}

static void early_answers_for_more_send_nothing(struct kunit *test)
{
	struct fx *fx = test->priv;

	answered_for_more(test);
	fx_ack(fx, P0 + 4, ACK);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	send(test, 1);
	KUNIT_EXPECT_FALSE(test, fx->pkt.again);
}

/* Most of a window is still to be sent again, and goes on where the answer ends. */
static void early_leaves_go_back_as_it_is(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 small = SHCA_CC_WINDOW_MIN;

	/* (a time-out earlier is no time at the beginning of the clock) */
	fx->now += FX_TIMEOUT;
	send(test, small + 2);
	fx->req.cc.lossy = small;
	fx->req.cc.cwnd = small;
	fx_ack(fx, P0 + 1, NAK(SHCA_NAK_PSN_SEQ));
	KUNIT_ASSERT_EQ(test, fx_drain(fx), small);
	fx->now += WAIT;
	shca_req_timer(&fx->req, fx->now);
	expect_again(test, P0 + 1);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	fx->now += RTT;
	fx_ack(fx, P0 + small, ACK);
	expect_again(test, P0 + small + 1);
	expect_again(test, P0 + small + 2);
}

/* The answer had to wait for a repair, too. */
static void early_guess_is_none_after_a_repair(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->req.attr.peer |= SHCA_PEER_OOO;
	fx_post(fx, SHCA_WR_SEND, 3 * FX_MTU);
	KUNIT_ASSERT_EQ(test, fx_drain(fx), 3u);
	fx->now += RTT;
	fx_ack(fx, P0 + 1, SHCA_AETH_MISSING);
	expect_again(test, P0 + 1);
	wait_for_timer(fx);
	expect_again(test, P0 + 1);
	fx->now += RTT;
	fx_ack(fx, P0 + 3, ACK);
	send(test, 1);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), fx->now + WAIT);
}

/*
 * A path that stands for @STAND, as a process that carries packets and gets the CPU when the
 * sender is done. Then it carries all at once. It loses nothing, so the peer sees the packets in
 * order. A duplicate is acknowledged by the last packet that the peer has (C9-105).
 */
#define STAND		(20 * WAIT)
/* Probes that are due in this time: each waits twice as long as the one before. */
#define STAND_PROBES	5
#define STAND_MOST	64

struct stand {
	u32 epsn;
	u32 again;
	u32 nr;
	struct {
		u32 psn;
		bool ackreq;
	} pkt[STAND_MOST];
};

static void stand_take(struct kunit *test, struct stand *path)
{
	struct fx *fx = test->priv;

	while (fx_next(fx)) {
		KUNIT_ASSERT_GT(test, (u32)STAND_MOST, path->nr);
		path->again += fx->pkt.again;
		path->pkt[path->nr].psn = fx->pkt.psn;
		path->pkt[path->nr++].ackreq = fx->pkt.ackreq;
	}
}

static void stand_still(struct kunit *test, struct stand *path)
{
	struct fx *fx = test->priv;
	u64 until = fx->now + STAND, at;

	stand_take(test, path);
	while ((at = shca_req_deadline(&fx->req)) && at < until) {
		fx->now = at;
		shca_req_timer(&fx->req, at);
		stand_take(test, path);
	}
	fx->now = until;
}

/* What the answers cause stands on the path next time. */
static void stand_ends(struct kunit *test, struct stand *path)
{
	struct fx *fx = test->priv;
	struct stand was = *path;
	u32 i;

	path->nr = 0;
	for (i = 0; i < was.nr; i++) {
		KUNIT_ASSERT_TRUE(test, was.pkt[i].psn <= path->epsn);
		if (was.pkt[i].psn == path->epsn)
			path->epsn++;
		fx->now += RTT / 10;
		if (was.pkt[i].ackreq)
			fx_ack(fx, path->epsn - 1, ACK);
		stand_take(test, path);
	}
}

/* As many messages of @len bytes as there is room for, and all that they cause. */
static void stand_round(struct kunit *test, struct stand *path, u32 len)
{
	struct fx *fx = test->priv;
	u32 left = 0;

	while (fx_post(fx, SHCA_WR_RDMA_WRITE, len))
		left++;
	do {
		stand_still(test, path);
		stand_ends(test, path);
	} while (path->nr);
	for (; fx_pop(fx); left--)
		KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, left, 0u);
}

/* Probes show how long the path takes, and no window is sent twice for them. */
static void expect_stands_are_learnt(struct kunit *test, u32 len)
{
	struct fx *fx = test->priv;
	struct stand path = { .epsn = P0 + 1 };
	u32 i, again;

	stand_round(test, &path, len);
	again = path.again;
	KUNIT_EXPECT_GE(test, again, (u32)STAND_PROBES);
	KUNIT_EXPECT_LE(test, again, STAND_PROBES + 1u);
	for (i = 0; i < 20; i++)
		stand_round(test, &path, len);
	KUNIT_EXPECT_EQ(test, path.again, again);
	KUNIT_EXPECT_EQ(test, fx->req.stats.timeouts, 0ull);
}

/* The first answer may be to the first copy of what was probed, or to the second. */
static void early_path_that_stands_is_learnt(struct kunit *test)
{
	expect_stands_are_learnt(test, 8);
}

/* The first answer covers more than was probed, so nothing was lost. */
static void early_path_that_stands_is_learnt_by_long_messages(struct kunit *test)
{
	expect_stands_are_learnt(test, 3 * FX_MTU);
}

static void early_path_that_stands_is_learnt_with_a_friend(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->req.attr.peer |= SHCA_PEER_OOO;
	expect_stands_are_learnt(test, 8);
}

static struct kunit_case early_retransmit_cases[] = {
	KUNIT_CASE(early_second_answer_alone_sends_the_rest),
	KUNIT_CASE(early_answer_for_more_and_then_alone_sends_the_rest),
	KUNIT_CASE(early_answers_for_more_send_nothing),
	KUNIT_CASE(early_leaves_go_back_as_it_is),
	KUNIT_CASE(early_guess_is_none_after_a_repair),
	KUNIT_CASE(early_path_that_stands_is_learnt),
	KUNIT_CASE(early_path_that_stands_is_learnt_by_long_messages),
	KUNIT_CASE(early_path_that_stands_is_learnt_with_a_friend),
	KUNIT_CASE(early_needs_no_round_trip_of_a_friend),
	KUNIT_CASE(early_waits_from_the_last_word_on),
	KUNIT_CASE(early_is_one_packet_that_asks),
	KUNIT_CASE(early_answer_to_it_alone_sends_the_rest),
	KUNIT_CASE(early_answer_to_all_sends_nothing),
	KUNIT_CASE(early_comes_less_often_and_then_the_time_out),
	KUNIT_CASE(early_round_trip_is_of_the_first_until_a_clean_one),
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
