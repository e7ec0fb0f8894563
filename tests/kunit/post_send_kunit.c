// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What may be posted on which transport, and the completion status if it may not:
 * each operation, each flag, each length.  If there are two faults, the one that is
 * checked first counts.
 */
#include "fixture.h"

#define RC	SHCA_TRANSPORT_RC
#define UC	SHCA_TRANSPORT_UC
#define UD	SHCA_TRANSPORT_UD
#define XRC	SHCA_TRANSPORT_XRC
#define RAW	SHCA_TRANSPORT_RAW

/* the result of a request */
enum end { OK, NO_OP, NO_LEN };

static const struct {
	u8 status;
	u16 vendor_err;
} ends[] = {
	[OK] = { SHCA_WC_SUCCESS, SHCA_VERR_NONE },
	[NO_OP] = { SHCA_WC_LOC_QP_OP_ERR, SHCA_VERR_WQE },
	[NO_LEN] = { SHCA_WC_LOC_LEN_ERR, SHCA_VERR_LENGTH },
};

#define INLINE	SHCA_SEND_INLINE
#define BOTH	(SHCA_FLUSH_GLOBAL | SHCA_FLUSH_PERSISTENT)
#define LEVEL(l) ((l) << 8)

struct post_row {
	u8 transport;
	u8 opcode;
	u16 flags;
	u32 length;
	u32 imm;	/* FLUSH: type and level */
	u64 range;	/* FLUSH: bytes */
	bool no_rd;	/* no READs and atomics at all */
	enum end end;
};

static const struct post_row post_rows[] = {
	/* what each transport offers (IBTA 10.8.3) */
	{ RC, SHCA_WR_SEND, 0, 8, 0, 0, 0, OK },
	{ RC, SHCA_WR_SEND_WITH_IMM, 0, 8, 0, 0, 0, OK },
	{ RC, SHCA_WR_SEND_WITH_INV, 0, 8, 0, 0, 0, OK },
	{ RC, SHCA_WR_RDMA_WRITE, 0, 8, 0, 0, 0, OK },
	{ RC, SHCA_WR_RDMA_WRITE_WITH_IMM, 0, 8, 0, 0, 0, OK },
	{ RC, SHCA_WR_RDMA_READ, 0, 8, 0, 0, 0, OK },
	{ RC, SHCA_WR_ATOMIC_CMP_AND_SWP, 0, 8, 0, 0, 0, OK },
	{ RC, SHCA_WR_ATOMIC_FETCH_AND_ADD, 0, 8, 0, 0, 0, OK },
	{ RC, SHCA_WR_ATOMIC_WRITE, 0, 8, 0, 0, 0, OK },
	{ RC, SHCA_WR_LOCAL_INV, 0, 0, 0, 0, 0, OK },
	{ RC, SHCA_WR_BIND_MW, 0, 0, 0, 0, 0, OK },
	{ RC, SHCA_WR_REG_MR, 0, 0, 0, 0, 0, OK },
	{ RC, SHCA_WR_REG_MR, 0, 0, 0, 0, true, OK },
	{ RC, 99, 0, 8, 0, 0, 0, NO_OP },
	{ XRC, SHCA_WR_SEND, 0, 8, 0, 0, 0, OK },
	{ XRC, SHCA_WR_RDMA_READ, 0, 8, 0, 0, 0, OK },
	{ UC, SHCA_WR_SEND, 0, 8, 0, 0, 0, OK },
	{ UC, SHCA_WR_SEND_WITH_IMM, 0, 8, 0, 0, 0, OK },
	{ UC, SHCA_WR_RDMA_WRITE, 0, 8, 0, 0, 0, OK },
	{ UC, SHCA_WR_RDMA_WRITE_WITH_IMM, 0, 8, 0, 0, 0, OK },
	{ UC, SHCA_WR_LOCAL_INV, 0, 0, 0, 0, 0, OK },
	{ UC, SHCA_WR_BIND_MW, 0, 0, 0, 0, 0, OK },
	{ UC, SHCA_WR_REG_MR, 0, 0, 0, 0, 0, OK },
	{ UC, SHCA_WR_SEND_WITH_INV, 0, 8, 0, 0, 0, NO_OP },
	{ UC, SHCA_WR_RDMA_READ, 0, 8, 0, 0, 0, NO_OP },
	{ UC, SHCA_WR_ATOMIC_CMP_AND_SWP, 0, 8, 0, 0, 0, NO_OP },
	{ UC, SHCA_WR_ATOMIC_FETCH_AND_ADD, 0, 8, 0, 0, 0, NO_OP },
	{ UC, SHCA_WR_ATOMIC_WRITE, 0, 8, 0, 0, 0, NO_OP },
	{ UC, SHCA_WR_FLUSH, 0, 0, BOTH, 8, 0, NO_OP },
	{ UD, SHCA_WR_SEND, 0, FX_MTU, 0, 0, 0, OK },
	{ UD, SHCA_WR_SEND, 0, FX_MTU + 1, 0, 0, 0, NO_LEN },
	{ UD, SHCA_WR_SEND_WITH_IMM, 0, FX_MTU, 0, 0, 0, OK },
	{ UD, SHCA_WR_SEND_WITH_IMM, 0, FX_MTU + 1, 0, 0, 0, NO_LEN },
	{ UD, SHCA_WR_SEND_WITH_INV, 0, 8, 0, 0, 0, NO_OP },
	{ UD, SHCA_WR_RDMA_WRITE, 0, 8, 0, 0, 0, NO_OP },
	{ UD, SHCA_WR_RDMA_READ, 0, 8, 0, 0, 0, NO_OP },
	{ UD, SHCA_WR_LOCAL_INV, 0, 0, 0, 0, 0, NO_OP },
	{ RAW, SHCA_WR_SEND, 0, SHCA_RAW_MIN, 0, 0, 0, OK },
	{ RAW, SHCA_WR_SEND, 0, FX_MTU, 0, 0, 0, OK },
	{ RAW, SHCA_WR_SEND, 0, SHCA_RAW_MIN - 1, 0, 0, 0, NO_LEN },
	{ RAW, SHCA_WR_SEND, 0, FX_MTU + 1, 0, 0, 0, NO_LEN },
	{ RAW, SHCA_WR_SEND_WITH_IMM, 0, 60, 0, 0, 0, NO_OP },
	{ RAW, SHCA_WR_RDMA_WRITE, 0, 60, 0, 0, 0, NO_OP },
	/* flags */
	{ RC, SHCA_WR_SEND, SHCA_SEND_FENCE, 8, 0, 0, 0, OK },
	{ RC, SHCA_WR_SEND, SHCA_SEND_SOLICITED, 8, 0, 0, 0, OK },
	{ RC, SHCA_WR_SEND, INLINE, 8, 0, 0, 0, OK },
	{ RC, SHCA_WR_ATOMIC_WRITE, INLINE, 8, 0, 0, 0, OK },
	{ RC, SHCA_WR_RDMA_READ, INLINE, 8, 0, 0, 0, NO_OP },
	{ RC, SHCA_WR_ATOMIC_FETCH_AND_ADD, INLINE, 8, 0, 0, 0, NO_OP },
	{ RC, SHCA_WR_ATOMIC_CMP_AND_SWP, INLINE, 8, 0, 0, 0, NO_OP },
	{ RC, SHCA_WR_LOCAL_INV, INLINE, 0, 0, 0, 0, OK },
	{ RC, SHCA_WR_SEND, 1 << 4, 8, 0, 0, 0, NO_OP },
	{ RC, SHCA_WR_SEND, 1 << 15, 8, 0, 0, 0, NO_OP },
	/* lengths, 9.7.6 */
	{ RC, SHCA_WR_SEND, 0, SHCA_MAX_MSG, 0, 0, 0, OK },
	{ RC, SHCA_WR_SEND, 0, SHCA_MAX_MSG + 1, 0, 0, 0, NO_LEN },
	{ RC, SHCA_WR_RDMA_READ, 0, SHCA_MAX_MSG, 0, 0, 0, OK },
	{ RC, SHCA_WR_RDMA_READ, 0, SHCA_MAX_MSG + 1, 0, 0, 0, NO_LEN },
	{ UC, SHCA_WR_RDMA_WRITE, 0, SHCA_MAX_MSG, 0, 0, 0, OK },
	{ UC, SHCA_WR_RDMA_WRITE, 0, SHCA_MAX_MSG + 1, 0, 0, 0, NO_LEN },
	{ RC, SHCA_WR_ATOMIC_CMP_AND_SWP, 0, 7, 0, 0, 0, NO_LEN },
	{ RC, SHCA_WR_ATOMIC_FETCH_AND_ADD, 0, 7, 0, 0, 0, NO_LEN },
	{ RC, SHCA_WR_ATOMIC_WRITE, 0, 7, 0, 0, 0, NO_LEN },
	{ RC, SHCA_WR_ATOMIC_WRITE, 0, 9, 0, 0, 0, NO_LEN },
	/* A19.4: range, type, level, and nothing else */
	{ RC, SHCA_WR_FLUSH, 0, 0, SHCA_FLUSH_GLOBAL, 8, 0, OK },
	{ RC, SHCA_WR_FLUSH, 0, 0, SHCA_FLUSH_PERSISTENT, 8, 0, OK },
	{ RC, SHCA_WR_FLUSH, 0, 0, BOTH | LEVEL(SHCA_FLUSH_LEVEL_MR), 0, 0,
	  OK },
	{ RC, SHCA_WR_FLUSH, 0, 0, BOTH, SHCA_MAX_MSG, 0, OK },
	{ RC, SHCA_WR_FLUSH, 0, 0, BOTH, SHCA_MAX_MSG + 1ull, 0, NO_LEN },
	{ RC, SHCA_WR_FLUSH, 0, 0, BOTH, 1ull << 32, 0, NO_LEN },
	{ RC, SHCA_WR_FLUSH, 0, 0, 0, 8, 0, NO_OP },
	{ RC, SHCA_WR_FLUSH, 0, 0, BOTH | 4, 8, 0, NO_OP },
	{ RC, SHCA_WR_FLUSH, 0, 0, BOTH | 0x80, 8, 0, NO_OP },
	{ RC, SHCA_WR_FLUSH, 0, 0, BOTH | LEVEL(2), 8, 0, NO_OP },
	{ RC, SHCA_WR_FLUSH, 0, 0, BOTH | LEVEL(0x10000), 8, 0, NO_OP },
	{ RC, SHCA_WR_FLUSH, 0, 8, BOTH, 8, 0, NO_OP },
	{ RC, SHCA_WR_FLUSH, INLINE, 0, BOTH, 8, 0, NO_OP },
	/* a peer that answers none */
	{ RC, SHCA_WR_SEND, 0, 8, 0, 0, 1, OK },
	{ RC, SHCA_WR_RDMA_READ, 0, 8, 0, 0, 1, NO_OP },
	{ RC, SHCA_WR_ATOMIC_CMP_AND_SWP, 0, 8, 0, 0, 1, NO_OP },
	{ RC, SHCA_WR_ATOMIC_FETCH_AND_ADD, 0, 8, 0, 0, 1, NO_OP },
	{ RC, SHCA_WR_ATOMIC_WRITE, 0, 8, 0, 0, 1, NO_OP },
	{ RC, SHCA_WR_FLUSH, 0, 0, BOTH, 8, 1, NO_OP },
	/* of two faults */
	{ RC, SHCA_WR_SEND, 1 << 4, SHCA_MAX_MSG + 1, 0, 0, 0, NO_OP },
	{ UD, SHCA_WR_SEND, 1 << 4, FX_MTU + 1, 0, 0, 0, NO_OP },
	{ UD, SHCA_WR_RDMA_WRITE, 0, SHCA_MAX_MSG + 1, 0, 0, 0, NO_OP },
	{ RAW, SHCA_WR_RDMA_WRITE, 0, SHCA_MAX_MSG + 1, 0, 0, 0, NO_OP },
	{ UC, SHCA_WR_RDMA_READ, 0, SHCA_MAX_MSG + 1, 0, 0, 0, NO_OP },
	{ RC, 99, 0, SHCA_MAX_MSG + 1, 0, 0, 0, NO_OP },
	{ RC, SHCA_WR_ATOMIC_WRITE, 0, 7, 0, 0, 1, NO_LEN },
	{ RC, SHCA_WR_ATOMIC_WRITE, 0, SHCA_MAX_MSG + 1, 0, 0, 1, NO_LEN },
	{ RC, SHCA_WR_FLUSH, 0, 0, 0, SHCA_MAX_MSG + 1ull, 0, NO_LEN },
	{ RC, SHCA_WR_FLUSH, 0, SHCA_MAX_MSG + 1, BOTH, 8, 0, NO_OP },
	{ RC, SHCA_WR_ATOMIC_CMP_AND_SWP, INLINE, 7, 0, 0, 0, NO_LEN },
	{ RC, SHCA_WR_RDMA_READ, INLINE, SHCA_MAX_MSG + 1, 0, 0, 0, NO_OP },
};

static void post_desc(const struct post_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE,
		 "%02x op %02x flags %x length %x imm %x range %llx%s",
		 row->transport, row->opcode, row->flags, row->length, row->imm,
		 (unsigned long long)row->range, row->no_rd ? " no READs" : "");
}

KUNIT_ARRAY_PARAM(post, post_rows, post_desc);

static void req_post_is_judged_by_transport_operation_length(struct kunit *test)
{
	const struct post_row *row = test->param_value;
	u16 vendor_err = ends[row->end].vendor_err;
	u8 status = ends[row->end].status;
	struct fx *fx = test->priv;
	struct shca_req_attr attr;
	struct shca_send_wr *wr;

	fx_req_attr(&attr);
	attr.transport = row->transport;
	if (row->no_rd)
		attr.max_rd_atomic = 0;
	fx_req_start(fx, &attr);
	wr = shca_req_slot(&fx->req);
	memset(wr, 0, FX_STRIDE);
	wr->opcode = row->opcode;
	wr->flags = row->flags | SHCA_SEND_SIGNALED;
	wr->length = row->length;
	wr->imm = row->imm;
	if (row->opcode == SHCA_WR_FLUSH) {
		wr->flush.type = row->imm & 0xff;
		wr->flush.level = row->imm >> 8;
		wr->flush.length = row->range;
	}
	shca_req_post(&fx->req);
	KUNIT_EXPECT_EQ(test, wr->preset, status);
	KUNIT_EXPECT_EQ(test, wr->vendor_err, vendor_err);
	if (status == SHCA_WC_SUCCESS) {
		KUNIT_EXPECT_EQ(test, fx_next(fx) + fx->nr_local, 1u);
		KUNIT_EXPECT_EQ(test, fx->req.state, SHCA_SIDE_READY);
		return;
	}
	/* it is the queue's turn that ends with it, and no packet */
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, status);
	KUNIT_EXPECT_EQ(test, fx->wc.vendor_err, vendor_err);
}

/* A slot has been used before: nothing of that is left. */
static void req_post_forgets_the_lap_before(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_send_wr *wr = shca_req_slot(&fx->req);

	memset(wr, 0, FX_STRIDE);
	wr->opcode = SHCA_WR_SEND;
	wr->length = 3 * FX_MTU;
	wr->status = SHCA_WC_REM_OP_ERR;
	wr->vendor_err = SHCA_VERR_NAK;
	wr->flags_core = ~0u;
	wr->first_psn = 0x123;
	wr->nr_psn = 77;
	shca_req_post(&fx->req);
	KUNIT_EXPECT_EQ(test, wr->status, SHCA_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, wr->vendor_err, SHCA_VERR_NONE);
	KUNIT_EXPECT_EQ(test, wr->flags_core, 0u);
	KUNIT_EXPECT_EQ(test, wr->first_psn, 0u);
	KUNIT_EXPECT_EQ(test, wr->nr_psn, 0u);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 3u);
}

/* What the glue has found wrong stays as it has said it. */
static void req_post_keeps_what_was_found_before(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_send_wr *wr = shca_req_slot(&fx->req);

	memset(wr, 0, FX_STRIDE);
	wr->opcode = 99;
	wr->preset = SHCA_WC_LOC_PROT_ERR;
	wr->vendor_err = SHCA_VERR_KEY;
	shca_req_post(&fx->req);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_EQ(test, fx->wc.vendor_err, SHCA_VERR_KEY);
}

/* From 1 on, in the second lap of the ring, too; the slot has the number of what comes next. */
static void req_post_numbers_requests(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_send_wr *wr, *first;
	u32 i;

	for (i = 1; i <= FX_ENTRIES + 3; i++) {
		wr = shca_req_slot(&fx->req);
		KUNIT_EXPECT_EQ(test, shca_req_number(&fx->req, wr), i);
		first = fx_post(fx, SHCA_WR_LOCAL_INV, 0);
		KUNIT_EXPECT_EQ(test, shca_req_number(&fx->req, first), i);
		fx_next(fx);
		KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	}
	/* A whole ring of them: the oldest has its own number, too. */
	first = fx_post(fx, SHCA_WR_SEND, 8);
	for (i = 1; i < FX_ENTRIES; i++)
		wr = fx_post(fx, SHCA_WR_SEND, 8);
	KUNIT_EXPECT_EQ(test, shca_req_number(&fx->req, first), FX_ENTRIES + 4);
	KUNIT_EXPECT_EQ(test, shca_req_number(&fx->req, wr), 2 * FX_ENTRIES + 3);
}

static struct kunit_case post_send_cases[] = {
	KUNIT_CASE_PARAM(req_post_is_judged_by_transport_operation_length,
			 post_gen_params),
	KUNIT_CASE(req_post_forgets_the_lap_before),
	KUNIT_CASE(req_post_keeps_what_was_found_before),
	KUNIT_CASE(req_post_numbers_requests),
	{}
};

static struct kunit_suite post_send_suite = {
	.name = "softhca_post_send",
	.init = fx_init,
	.test_cases = post_send_cases,
};

kunit_test_suites(&post_send_suite);
