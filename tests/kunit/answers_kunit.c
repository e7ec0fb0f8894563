// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What a responder owes: requests that wait for an answer to leave.
 */
#include "fixture.h"

#define P0	FX_RQ_PSN
#define ACK	(SHCA_AETH_ACK | SHCA_AETH_CREDIT_NONE)
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

static void expect_silence(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, fx_answer(test->priv));
}

/* ---- waiting for an answer to leave ---------------------------------------- */

static const u8 bare_ops[] = { SHCA_OP_FLUSH, SHCA_OP_ATOMIC_WRITE };

/*
 * Some requesters do not count FLUSH and ATOMIC WRITE among what max_rd_atomic
 * bounds (A19.4 does, rxe does not): not to be refused, and not to be forgotten.
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
		expect_silence(test);
	}
	KUNIT_EXPECT_EQ(test, fx->nr_flush, MAX_RD + 1u);
	KUNIT_EXPECT_EQ(test, fx->nr_atomic_write, MAX_RD + 1u);
}

/* Those who do not count these count READs and atomics still. */
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

static struct kunit_case answers_cases[] = {
	KUNIT_CASE(resp_bare_without_a_record_waits_for_an_answer),
	KUNIT_CASE(resp_read_behind_bare_waits_for_an_answer),
	KUNIT_CASE(resp_bare_without_resources_is_refused),
	{}
};

static struct kunit_suite answers_suite = {
	.name = "softhca_answers",
	.init = fx_init,
	.test_cases = answers_cases,
};

kunit_test_suites(&answers_suite);
