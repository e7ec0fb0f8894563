// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What a responder owes: which message count goes with which PSN, and requests that
 * wait for an answer to leave.
 */
#include "fixture.h"

#define P0	FX_RQ_PSN
/* as fx_resp_attr() has it */
#define MAX_RD	4

static void expect_answer(struct kunit *test, u8 opcode, u32 psn, u8 syndrome,
			  u32 msn)
{
	struct fx *fx = test->priv;

	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, opcode);
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, psn);
	KUNIT_EXPECT_EQ(test, fx->pkt.aeth.syndrome, syndrome);
	KUNIT_EXPECT_EQ(test, fx->pkt.aeth.msn, msn);
}

/* ---- waiting for an answer to leave ---------------------------------------- */

static const u8 bare_ops[] = { SHCA_OP_FLUSH, SHCA_OP_ATOMIC_WRITE };

/*
 * Some requesters do not count FLUSH and ATOMIC WRITE among what max_rd_atomic
 * bounds (A19.4 does, rxe does not).  Such a request is neither refused nor
 * forgotten.
 */
static void resp_bare_without_a_record_waits_for_an_answer(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 op, i, psn = P0;

	for (op = 0; op < ARRAY_SIZE(bare_ops); op++) {
		for (i = 0; i < MAX_RD; i++, psn++)
			KUNIT_EXPECT_EQ(test, fx_rx_op(fx, bare_ops[op], psn, 8),
					SHCA_RX_OK);
		KUNIT_EXPECT_FALSE(test, shca_resp_has_room(&fx->resp));
		KUNIT_EXPECT_EQ(test, fx_rx_op(fx, bare_ops[op], psn, 8),
				SHCA_RX_BUSY);
		expect_answer(test, SHCA_OP_READ_RESP_ONLY, psn - MAX_RD, ACK,
			      psn - MAX_RD - P0 + 1);
		KUNIT_EXPECT_TRUE(test, shca_resp_has_room(&fx->resp));
		KUNIT_EXPECT_EQ(test, fx_rx_op(fx, bare_ops[op], psn, 8),
				SHCA_RX_OK);
		psn++;
		for (i = MAX_RD; i; i--)
			expect_answer(test, SHCA_OP_READ_RESP_ONLY, psn - i, ACK,
				      psn - i - P0 + 1);
		fx_expect_silence(test);
	}
	KUNIT_EXPECT_EQ(test, fx->nr_flush, MAX_RD + 1u);
	KUNIT_EXPECT_EQ(test, fx->nr_atomic_write, MAX_RD + 1u);
}

/* Requesters that do not count these still count READs and atomics. */
static void resp_read_behind_bare_waits_for_an_answer(struct kunit *test)
{
	static const u8 ops[] = { SHCA_OP_READ_REQUEST, SHCA_OP_FETCH_ADD };
	struct fx *fx = test->priv;
	struct shca_resp_attr attr;
	u32 op, i;

	fx_resp_attr(&attr);
	for (op = 0; op < ARRAY_SIZE(ops); op++) {
		fx_resp_start(fx, &attr);
		for (i = 0; i + 1 < MAX_RD; i++)
			fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0 + i, 1);
		KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_FLUSH, P0 + i, 8),
				SHCA_RX_OK);
		KUNIT_EXPECT_EQ(test, fx_rx_op(fx, ops[op], P0 + MAX_RD, 1),
				SHCA_RX_BUSY);
		KUNIT_ASSERT_TRUE(test, fx_answer(fx));
		KUNIT_EXPECT_EQ(test, fx_rx_op(fx, ops[op], P0 + MAX_RD, 1),
				SHCA_RX_OK);
	}
	KUNIT_EXPECT_EQ(test, fx->nr_atomic, 1u);
}

/* Nothing would ever leave. */
static void resp_bare_without_resources_is_refused(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_resp_attr attr;
	u32 op;

	fx_resp_attr(&attr);
	attr.max_dest_rd_atomic = 0;
	for (op = 0; op < ARRAY_SIZE(bare_ops); op++) {
		fx_resp_start(fx, &attr);
		KUNIT_EXPECT_FALSE(test, shca_resp_has_room(&fx->resp));
		KUNIT_EXPECT_EQ(test, fx_rx_op(fx, bare_ops[op], P0, 8),
				SHCA_RX_INVALID);
	}
	KUNIT_EXPECT_EQ(test, fx->nr_flush + fx->nr_atomic_write, 0u);
}

/* ---- waiting for memory ------------------------------------------------------ */

/* IBTA 9.7.5.2.8, table 45: each time four times as long, from the QP's own on. */
static void resp_not_yet_tells_to_come_back_ever_later(struct kunit *test)
{
	static const u8 codes[] = { 12, 16, 20, 24, 28, 31, 31 };
	struct fx *fx = test->priv;
	u32 i, k;

	for (k = 0; k < 2; k++) {
		fx->check = SHCA_MEM_RETRY;
		for (i = 0; i < ARRAY_SIZE(codes); i++) {
			KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_WRITE_ONLY,
						       P0 + k, 8),
					SHCA_RX_RETRY);
			shca_resp_not_yet(&fx->resp, P0 + k);
			expect_answer(test, SHCA_OP_ACK, P0 + k,
				      SHCA_AETH_RNR | codes[i], k);
		}
		/* said once, however often asked, and what is behind waits */
		fx_rx_op(fx, SHCA_OP_WRITE_ONLY, P0 + k + 1, 8);
		fx_expect_silence(test);
		/* a requester that was told to wait hears when that is over */
		fx->check = SHCA_MEM_OK;
		KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_WRITE_ONLY, P0 + k, 8),
				SHCA_RX_OK);
		expect_answer(test, SHCA_OP_ACK, P0 + k, ACK, k + 1);
	}
}

/* Only for memory: after a missing receive it answers as asked. */
static void resp_after_rnr_of_no_receive_only_asked_is_answered(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->recvs = 0;
	fx_rx_op(fx, SHCA_OP_SEND_FIRST, P0, FX_MTU);
	expect_answer(test, SHCA_OP_ACK, P0, SHCA_AETH_RNR | 12, 0);
	fx->recvs = 1;
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_FIRST, P0, FX_MTU),
			SHCA_RX_OK);
	fx_expect_silence(test);
	fx_rx_asking(fx, SHCA_OP_SEND_LAST, P0 + 1, 1);
	expect_answer(test, SHCA_OP_ACK, P0 + 1, ACK, 1);
}

/* Code 0 is the longest that there is. */
static void resp_not_yet_of_longest_timer_keeps_it(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i;

	fx->resp.attr.min_rnr_timer = 0;
	for (i = 0; i < 3; i++) {
		shca_resp_not_yet(&fx->resp, P0);
		expect_answer(test, SHCA_OP_ACK, P0, SHCA_AETH_RNR, 0);
	}
}

/* A READ that is asked for again is told so at its own PSN, and holds up nobody. */
static void resp_not_yet_of_repeated_read_is_about_it(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_rx_op(fx, SHCA_OP_WRITE_ONLY, P0, 8);
	fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0 + 1, 3 * FX_MTU);
	while (fx_answer(fx))
		;
	shca_resp_not_yet(&fx->resp, P0 + 1);
	expect_answer(test, SHCA_OP_ACK, P0 + 1, SHCA_AETH_RNR | 12, 1);
	shca_resp_not_yet(&fx->resp, P0 + 3);
	expect_answer(test, SHCA_OP_ACK, P0 + 3, SHCA_AETH_RNR | 12, 2);
	/* not in place of what is owed */
	fx_rx_asking(fx, SHCA_OP_WRITE_ONLY, P0 + 4, 8);
	shca_resp_not_yet(&fx->resp, P0 + 1);
	expect_answer(test, SHCA_OP_ACK, P0 + 4, ACK, 3);
	/* nor of what is not on record */
	shca_resp_not_yet(&fx->resp, P0);
	fx_expect_silence(test);
}

/* ---- message counts (C9-148) ----------------------------------------------- */

/*
 * An answer at a PSN counts the messages up to there.  An acknowledgement that
 * stops before a READ must not count that READ.  A requester that goes by the
 * count would take it for done.
 */
static void resp_ack_before_read_does_not_count_it(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0, 1);
	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + 1, 1);
	fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0 + 2, 1);
	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + 3, 1);
	fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0 + 4, 1);
	while (fx_answer(fx))
		;
	fx_rx_asking(fx, SHCA_OP_SEND_ONLY, P0, 1);
	expect_answer(test, SHCA_OP_ACK, P0 + 1, ACK, 2);
	fx_rx_asking(fx, SHCA_OP_SEND_ONLY, P0 + 3, 1);
	expect_answer(test, SHCA_OP_ACK, P0 + 3, ACK, 4);
	fx_expect_silence(test);
}

/* Told to come back later (RNR), and executed before that has left. */
static void resp_ack_in_place_of_nak_before_read_does_not_count_it(struct kunit *test)
{
	static const u8 ops[] = { SHCA_OP_READ_REQUEST, SHCA_OP_FETCH_ADD,
				  SHCA_OP_FLUSH };
	struct fx *fx = test->priv;
	struct shca_resp_attr attr;
	u32 op;

	fx_resp_attr(&attr);
	for (op = 0; op < ARRAY_SIZE(ops); op++) {
		fx_resp_start(fx, &attr);
		fx_rx_op(fx, SHCA_OP_WRITE_ONLY, P0, 1);
		shca_resp_not_yet(&fx->resp, fx->resp.epsn);
		fx_rx_op(fx, ops[op], P0 + 1, 8);
		expect_answer(test, SHCA_OP_ACK, P0, ACK, 1);
		KUNIT_ASSERT_TRUE(test, fx_answer(fx));
		KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + 1);
		KUNIT_EXPECT_EQ(test, fx->pkt.aeth.msn, 2u);
		fx_expect_silence(test);
	}
}

/* The NAK that comes instead of a response; requests behind it were executed. */
static void resp_nak_in_place_of_response_does_not_count_it(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0, 1);
	fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0 + 1, 1);
	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + 2, 1);
	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + 3, 1);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	shca_resp_gather_failed(&fx->resp, &fx->pkt, SHCA_MEM_KEY, &fx->out);
	expect_answer(test, SHCA_OP_ACK, P0 + 1, NAK(SHCA_NAK_ACCESS), 1);
	fx_expect_silence(test);
}

/* The response had begun: its first packet has counted the READ. */
static void resp_nak_in_mid_response_counts_as_its_beginning(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0, 1);
	fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0 + 1, 3 * FX_MTU);
	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + 4, 1);
	expect_answer(test, SHCA_OP_READ_RESP_FIRST, P0 + 1, ACK, 2);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	shca_resp_gather_failed(&fx->resp, &fx->pkt, SHCA_MEM_RANGE, &fx->out);
	expect_answer(test, SHCA_OP_ACK, P0 + 2, NAK(SHCA_NAK_ACCESS), 2);
	fx_expect_silence(test);
}

static struct kunit_case msn_cases[] = {
	KUNIT_CASE(resp_bare_without_a_record_waits_for_an_answer),
	KUNIT_CASE(resp_read_behind_bare_waits_for_an_answer),
	KUNIT_CASE(resp_bare_without_resources_is_refused),
	KUNIT_CASE(resp_not_yet_tells_to_come_back_ever_later),
	KUNIT_CASE(resp_after_rnr_of_no_receive_only_asked_is_answered),
	KUNIT_CASE(resp_not_yet_of_longest_timer_keeps_it),
	KUNIT_CASE(resp_not_yet_of_repeated_read_is_about_it),
	KUNIT_CASE(resp_ack_before_read_does_not_count_it),
	KUNIT_CASE(resp_ack_in_place_of_nak_before_read_does_not_count_it),
	KUNIT_CASE(resp_nak_in_place_of_response_does_not_count_it),
	KUNIT_CASE(resp_nak_in_mid_response_counts_as_its_beginning),
	{}
};

static struct kunit_suite msn_suite = {
	.name = "softhca_msn",
	.init = fx_init,
	.test_cases = msn_cases,
};

kunit_test_suites(&msn_suite);
