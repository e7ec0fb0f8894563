// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The sending half of the RC requester: packets, windows, time, completions. */
#include "fixture.h"

#define OP_SEND	SHCA_WR_SEND
#define OP_WRITE	SHCA_WR_RDMA_WRITE
#define OP_READ	SHCA_WR_RDMA_READ

/* ---- packets of a message ------------------------------------------------- */

struct msg_row {
	const char *name;
	u8 wr_opcode;
	u32 len;
	u32 nr;		/* packets */
	u8 opcodes[3];	/* of the first, second, last */
	u32 last_len;
};

static const struct msg_row msg_rows[] = {
	{ "SEND of nothing", OP_SEND, 0, 1, { 0x04 }, 0 },
	{ "SEND of a byte", OP_SEND, 1, 1, { 0x04 }, 1 },
	{ "SEND of one MTU", OP_SEND, 256, 1, { 0x04 }, 256 },
	{ "SEND of one MTU and a byte", OP_SEND, 257, 2, { 0x00, 0x02 }, 1 },
	{ "SEND of three MTU", OP_SEND, 768, 3, { 0x00, 0x01, 0x02 }, 256 },
	{ "SEND imm of a byte", SHCA_WR_SEND_WITH_IMM, 1, 1, { 0x05 }, 1 },
	{ "SEND imm of two", SHCA_WR_SEND_WITH_IMM, 300, 2, { 0x00, 0x03 },
	  44 },
	{ "SEND inv of a byte", SHCA_WR_SEND_WITH_INV, 1, 1, { 0x17 }, 1 },
	{ "SEND inv of two", SHCA_WR_SEND_WITH_INV, 300, 2, { 0x00, 0x16 },
	  44 },
	{ "WRITE of nothing", OP_WRITE, 0, 1, { 0x0a }, 0 },
	{ "WRITE of a byte", OP_WRITE, 1, 1, { 0x0a }, 1 },
	{ "WRITE of three MTU", OP_WRITE, 768, 3, { 0x06, 0x07, 0x08 }, 256 },
	{ "WRITE imm of nothing", SHCA_WR_RDMA_WRITE_WITH_IMM, 0, 1, { 0x0b },
	  0 },
	{ "WRITE imm of three", SHCA_WR_RDMA_WRITE_WITH_IMM, 513, 3,
	  { 0x06, 0x07, 0x09 }, 1 },
	{ "READ of nothing", OP_READ, 0, 1, { 0x0c }, 0 },
	{ "READ of three MTU", OP_READ, 768, 1, { 0x0c }, 0 },
	{ "CmpSwap", SHCA_WR_ATOMIC_CMP_AND_SWP, 8, 1, { 0x13 }, 0 },
	{ "FetchAdd", SHCA_WR_ATOMIC_FETCH_AND_ADD, 8, 1, { 0x14 }, 0 },
	{ "ATOMIC WRITE", SHCA_WR_ATOMIC_WRITE, 8, 1, { 0x1d }, 8 },
};

static void msg_desc(const struct msg_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(msg, msg_rows, msg_desc);

static void req_next_of_message_yields_its_packets(struct kunit *test)
{
	const struct msg_row *row = test->param_value;
	struct fx *fx = test->priv;
	u32 i;

	fx_post(fx, row->wr_opcode, row->len);
	for (i = 0; i < row->nr; i++) {
		bool last = i + 1 == row->nr;

		KUNIT_ASSERT_TRUE(test, fx_next(fx));
		KUNIT_EXPECT_EQ(test, fx->pkt.opcode, row->opcodes[i]);
		KUNIT_EXPECT_EQ(test, fx->pkt.psn, FX_SQ_PSN + i);
		KUNIT_EXPECT_EQ(test, fx->pkt.ackreq, last);
		KUNIT_EXPECT_TRUE(test, fx->pkt.mig);
		KUNIT_EXPECT_EQ(test, fx->pkt.dqpn, 0x77u);
		KUNIT_EXPECT_EQ(test, fx->pkt.paylen,
				last ? row->last_len : FX_MTU);
		KUNIT_EXPECT_EQ(test, (fx->pkt.paylen + fx->pkt.pad) % 4, 0u);
		if (fx->pkt.paylen)
			KUNIT_EXPECT_EQ(test, fx->pkt.off, i * FX_MTU);
	}
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
}

static void req_next_of_read_takes_psns_of_response(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_READ, 3 * FX_MTU + 1);
	fx_post(fx, OP_SEND, 1);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.reth.len, 3u * FX_MTU + 1);
	KUNIT_EXPECT_EQ(test, fx->pkt.reth.va, 0x10000ull);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, FX_SQ_PSN + 4);
}

static void req_next_of_compare_swap_orders_operands(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_send_wr *wr = fx_post(fx, SHCA_WR_ATOMIC_CMP_AND_SWP, 8);

	wr->atomic.compare_add = 1;
	wr->atomic.swap = 2;
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.atomic.compare, 1ull);
	KUNIT_EXPECT_EQ(test, fx->pkt.atomic.swap_add, 2ull);
	wr = fx_post(fx, SHCA_WR_ATOMIC_FETCH_AND_ADD, 8);
	wr->atomic.compare_add = 3;
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.atomic.swap_add, 3ull);
}

/* Post a FLUSH of @len bytes; @imm is type and level. */
static struct shca_send_wr *post_flush(struct fx *fx, u32 imm, u64 len)
{
	struct shca_send_wr *wr = shca_req_slot(&fx->req);

	memset(wr, 0, FX_STRIDE);
	wr->wr_id = fx->req.ring.prod;
	wr->opcode = SHCA_WR_FLUSH;
	wr->flags = SHCA_SEND_SIGNALED;
	wr->flush.type = imm & 0xff;
	wr->flush.level = imm >> 8;
	wr->flush.length = len;
	wr->flush.rkey = 0x1234;
	wr->flush.remote_addr = 0x10000;
	shca_req_post(&fx->req);
	return wr;
}

static void req_next_of_flush_names_range_type_level(struct kunit *test)
{
	struct fx *fx = test->priv;

	post_flush(fx, SHCA_FLUSH_GLOBAL | SHCA_FLUSH_PERSISTENT |
		   SHCA_FLUSH_LEVEL_MR << 8, 12345);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, 0x1c);
	KUNIT_EXPECT_EQ(test, fx->pkt.feth.type, 3);
	KUNIT_EXPECT_EQ(test, fx->pkt.feth.level, 1);
	KUNIT_EXPECT_EQ(test, fx->pkt.reth.va, 0x10000ull);
	KUNIT_EXPECT_EQ(test, fx->pkt.reth.rkey, 0x1234u);
	KUNIT_EXPECT_EQ(test, fx->pkt.reth.len, 12345u);
	KUNIT_EXPECT_EQ(test, fx->pkt.paylen, 0u);
	KUNIT_EXPECT_TRUE(test, fx->pkt.ackreq);
	/* one PSN, whatever the range */
	fx_post(fx, OP_SEND, 1);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, FX_SQ_PSN + 1);
}

struct flush_row {
	const char *name;
	u32 imm;
	u64 len;
	u8 status;
};

static const struct flush_row flush_rows[] = {
	{ "no type", 0, 1, SHCA_WC_LOC_QP_OP_ERR },
	{ "unknown type", 4, 1, SHCA_WC_LOC_QP_OP_ERR },
	{ "unknown level", SHCA_FLUSH_GLOBAL | 2 << 8, 1,
	  SHCA_WC_LOC_QP_OP_ERR },
	{ "range too long", SHCA_FLUSH_GLOBAL, SHCA_MAX_MSG + 1ull,
	  SHCA_WC_LOC_LEN_ERR },
};

static void flush_desc(const struct flush_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(flush, flush_rows, flush_desc);

static void req_post_of_bad_flush_is_refused(struct kunit *test)
{
	const struct flush_row *row = test->param_value;
	struct fx *fx = test->priv;

	post_flush(fx, row->imm, row->len);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, row->status);
	KUNIT_EXPECT_EQ(test, fx->wc.opcode, SHCA_WC_FLUSH);
}

static void req_next_across_wrap_keeps_24_bits(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_attr attr;

	fx_req_attr(&attr);
	attr.sq_psn = 0xffffff;
	fx_req_start(fx, &attr);
	fx_post(fx, OP_SEND, 2 * FX_MTU);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, 0xffffffu);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, 0u);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, 0, ACK), SHCA_RX_OK);
	KUNIT_EXPECT_TRUE(test, fx_pop(fx));
}

static void req_next_sets_solicited_on_last_of_send_only(struct kunit *test)
{
	u16 flags = SHCA_SEND_SIGNALED | SHCA_SEND_SOLICITED;
	struct fx *fx = test->priv;

	fx_post_flags(fx, OP_SEND, FX_MTU + 1, flags);
	fx_post_flags(fx, OP_WRITE, 1, flags);
	fx_post_flags(fx, SHCA_WR_RDMA_WRITE_WITH_IMM, 1, flags);
	fx_post_flags(fx, OP_READ, 1, flags);
	fx_next(fx);
	KUNIT_EXPECT_FALSE(test, fx->pkt.se);
	fx_next(fx);
	KUNIT_EXPECT_TRUE(test, fx->pkt.se);
	fx_next(fx);
	KUNIT_EXPECT_FALSE(test, fx->pkt.se);
	fx_next(fx);
	KUNIT_EXPECT_TRUE(test, fx->pkt.se);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_FALSE(test, fx->pkt.se);
}

/* ---- limits --------------------------------------------------------------- */

static void req_next_with_window_full_waits_with_ackreq(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i, since = 0;

	fx_post(fx, OP_WRITE, 1 << 20);
	for (i = 0; i < SHCA_CC_WINDOW; i++) {
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
		since = fx->pkt.ackreq ? 0 : since + 1;
		KUNIT_EXPECT_LT(test, since, SHCA_CC_WINDOW / 4);
	}
	KUNIT_EXPECT_TRUE(test, fx->pkt.ackreq);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	fx_ack(fx, FX_SQ_PSN, ACK);
	KUNIT_EXPECT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_TRUE(test, fx->pkt.ackreq);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
}

static void req_next_beyond_max_rd_atomic_waits(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i;

	for (i = 0; i < 6; i++)
		fx_post(fx, i & 1 ? SHCA_WR_ATOMIC_FETCH_AND_ADD : OP_READ, 8);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 4u);
	fx_read_resp(fx, SHCA_OP_READ_RESP_ONLY, FX_SQ_PSN, 8);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
	fx_atomic_ack(fx, FX_SQ_PSN + 1, 0);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
}

static void req_next_of_fenced_waits_for_reads(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_READ, 8);
	fx_post_flags(fx, OP_SEND, 8, SHCA_SEND_SIGNALED | SHCA_SEND_FENCE);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
	fx_read_resp(fx, SHCA_OP_READ_RESP_ONLY, FX_SQ_PSN, 8);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
}

static void req_next_of_fenced_does_not_wait_for_writes(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_WRITE, 8);
	fx_post_flags(fx, OP_SEND, 8, SHCA_SEND_SIGNALED | SHCA_SEND_FENCE);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2u);
}

/* 2^31 bytes at an MTU of 256: 2^23 PSNs, so nothing may be beside it. */
static void req_next_of_largest_read_goes_alone(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_SEND, 1);
	fx_post(fx, OP_READ, SHCA_MAX_MSG);
	fx_post(fx, OP_SEND, 1);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
	fx_ack(fx, FX_SQ_PSN, ACK);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
	KUNIT_EXPECT_EQ(test, fx->pkt.reth.len, SHCA_MAX_MSG);
	/* the first and the last PSN of its response are both known */
	KUNIT_EXPECT_EQ(test, fx_read_resp(fx, SHCA_OP_READ_RESP_LAST,
					   FX_SQ_PSN + 0x800000, FX_MTU),
			SHCA_RX_LOST_RESPONSE);
	KUNIT_EXPECT_EQ(test, fx_read_resp(fx, SHCA_OP_READ_RESP_FIRST,
					   FX_SQ_PSN + 1, FX_MTU), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx_read_resp(fx, SHCA_OP_READ_RESP_FIRST,
					   FX_SQ_PSN + 0x800001, FX_MTU),
			SHCA_RX_STALE_ACK);
}

static void req_next_while_draining_finishes_message(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_SEND, 3 * FX_MTU);
	fx_post(fx, OP_SEND, 1);
	fx_next(fx);
	fx->req.draining = true;
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2u);
	KUNIT_EXPECT_FALSE(test, shca_req_idle(&fx->req));
	fx_ack(fx, FX_SQ_PSN + 2, ACK);
	KUNIT_EXPECT_TRUE(test, shca_req_idle(&fx->req));
	fx->req.draining = false;
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
}

static void req_next_before_pace_waits_until_then(struct kunit *test)
{
	struct fx *fx = test->priv;

	shca_req_stall(&fx->req, fx->now + 500);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), 0ull);
	fx_post(fx, OP_SEND, 1);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), fx->now + 500);
	fx->now += 500;
	KUNIT_EXPECT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_GT(test, shca_req_deadline(&fx->req), fx->now);
}

static void req_slot_of_full_ring_is_null(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i;

	for (i = 0; i < FX_ENTRIES; i++)
		KUNIT_ASSERT_NOT_NULL(test, fx_post(fx, OP_SEND, 1));
	KUNIT_EXPECT_NULL(test, shca_req_slot(&fx->req));
	fx_drain(fx);
	fx_ack(fx, FX_SQ_PSN, ACK);
	/* retired, not just acknowledged */
	KUNIT_EXPECT_NULL(test, shca_req_slot(&fx->req));
	fx_pop(fx);
	KUNIT_EXPECT_NOT_NULL(test, shca_req_slot(&fx->req));
}

/* ---- time ----------------------------------------------------------------- */

struct retry_row {
	u32 retry_cnt;
};

static const struct retry_row retry_rows[] = {
	{ 0 }, { 1 }, { 2 }, { 3 }, { 4 }, { 5 }, { 6 }, { 7 },
};

static void retry_desc(const struct retry_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u", row->retry_cnt);
}

KUNIT_ARRAY_PARAM(retry, retry_rows, retry_desc);

/* 7 is seven; only rnr_retry knows a "for ever" (IBTA 9.7.5.2.8). */
static void req_timer_sends_again_retry_cnt_times(struct kunit *test)
{
	const struct retry_row *row = test->param_value;
	struct fx *fx = test->priv;
	struct shca_req_attr attr;
	u32 i;

	fx_req_attr(&attr);
	attr.retry_cnt = row->retry_cnt;
	fx_req_start(fx, &attr);
	fx_post(fx, OP_SEND, 1);
	fx_post(fx, OP_SEND, 1);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2u);
	for (i = 0; i < row->retry_cnt; i++) {
		KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req),
				fx->now + FX_TIMEOUT);
		fx_timeout(fx);
		KUNIT_EXPECT_EQ(test, fx_drain(fx), 2u);
		KUNIT_EXPECT_EQ(test, fx->pkt.psn, FX_SQ_PSN + 1);
	}
	fx_timeout(fx);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->req.state, SHCA_SIDE_ERR);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_RETRY_EXC_ERR);
	KUNIT_EXPECT_EQ(test, fx->wc.vendor_err, SHCA_VERR_TIMEOUT);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), 0ull);
}

static void req_timer_with_code_zero_never_fires(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_attr attr;

	fx_req_attr(&attr);
	attr.timeout_ns = shca_timeout_ns(0);
	fx_req_start(fx, &attr);
	fx_post(fx, OP_SEND, 1);
	fx_drain(fx);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), 0ull);
	fx->now = ~0ull;
	shca_req_timer(&fx->req, fx->now);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
}

static void req_timer_early_is_harmless(struct kunit *test)
{
	struct fx *fx = test->priv;

	shca_req_timer(&fx->req, fx->now);
	fx_post(fx, OP_SEND, 1);
	fx_drain(fx);
	shca_req_timer(&fx->req, fx->now + FX_TIMEOUT - 1);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->req.stats.timeouts, 0ull);
}

static void req_timer_after_progress_counts_afresh(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i;

	fx_post(fx, OP_SEND, 3 * FX_MTU);
	fx_drain(fx);
	for (i = 0; i < 3; i++)
		fx_timeout(fx);
	fx_drain(fx);
	fx_ack(fx, FX_SQ_PSN, ACK);
	for (i = 0; i < 3; i++) {
		fx_timeout(fx);
		KUNIT_EXPECT_EQ(test, fx_drain(fx), 2u);
	}
	KUNIT_EXPECT_EQ(test, fx->req.state, SHCA_SIDE_READY);
}

/* In the middle of a message, with the middle opcode, the last with AckReq. */
static void req_timer_resumes_inside_message(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_WRITE, 5 * FX_MTU);
	fx_drain(fx);
	fx_ack(fx, FX_SQ_PSN + 1, ACK);
	fx_timeout(fx);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_WRITE_MIDDLE);
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, FX_SQ_PSN + 2);
	KUNIT_EXPECT_EQ(test, fx->pkt.off, 2u * FX_MTU);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2u);
	KUNIT_EXPECT_TRUE(test, fx->pkt.ackreq);
}

/* What was sent only in part is sent again up to there with AckReq. */
static void req_timer_with_window_closed_asks_at_its_end(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i;

	fx_post(fx, OP_WRITE, 1 << 20);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), SHCA_CC_WINDOW);
	fx_ack(fx, FX_SQ_PSN + SHCA_CC_WINDOW - 11, ACK);
	fx_timeout(fx);
	for (i = 0; i < 10; i++) {
		KUNIT_EXPECT_TRUE(test, fx_next(fx));
		KUNIT_EXPECT_EQ(test, fx->pkt.ackreq, i == 9);
	}
}

/* A loss takes a quarter of the window, of what is sent again, too. */
static void req_window_after_loss_is_smaller(struct kunit *test)
{
	struct fx *fx = test->priv;
	const u32 smaller = SHCA_CC_WINDOW - SHCA_CC_WINDOW / 4;
	u32 psn;

	fx_post(fx, OP_WRITE, 1 << 20);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), SHCA_CC_WINDOW);
	fx_ack(fx, FX_SQ_PSN, SHCA_AETH_NAK | SHCA_NAK_PSN_SEQ);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), smaller);
	KUNIT_EXPECT_TRUE(test, fx->pkt.ackreq);
	psn = fx->pkt.psn;
	/* What is left of the run, then what is new, in the same window. */
	fx_ack(fx, FX_SQ_PSN + SHCA_CC_WINDOW / 2 - 1, ACK);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), SHCA_CC_WINDOW / 2);
	KUNIT_EXPECT_TRUE(test, fx->pkt.ackreq);
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, psn + SHCA_CC_WINDOW / 2);
}

/* However often, some packets may be outstanding, and a peer that is back ... */
static void req_window_after_many_losses_comes_back(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i, n = 0, psn = FX_SQ_PSN;

	for (i = 0; i < 4; i++)
		fx_post(fx, OP_WRITE, 1 << 20);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), SHCA_CC_WINDOW);
	for (i = 0; i < 30; i++) {
		fx_timeout(fx);
		n = fx_drain(fx);
		fx_ack(fx, psn++, ACK);	/* or retry_cnt would end it */
		fx_drain(fx);
	}
	KUNIT_EXPECT_EQ(test, n, SHCA_CC_WINDOW_MIN);
	/* ... finds all of the window soon. */
	for (i = 0; i < 3000 && fx->req.cc.cwnd < SHCA_CC_WINDOW; i++) {
		fx_ack(fx, psn++, ACK);
		fx_drain(fx);
	}
	KUNIT_EXPECT_EQ(test, fx->req.cc.cwnd, SHCA_CC_WINDOW);
	KUNIT_EXPECT_LT(test, i, 12u * SHCA_CC_WINDOW);
	KUNIT_EXPECT_EQ(test, shca_psn_off(fx->req.psn.max, fx->req.psn.una),
			SHCA_CC_WINDOW);
}

/* ---- refusals ------------------------------------------------------------- */

struct refuse_row {
	const char *name;
	u8 opcode;
	u16 flags;
	u32 len;
	u8 status;
};

#define SIG	SHCA_SEND_SIGNALED

static const struct refuse_row refuse_rows[] = {
	{ "unknown opcode", 99, SIG, 8, SHCA_WC_LOC_QP_OP_ERR },
	/* the fixture's immediate data is neither a type nor a level */
	{ "FLUSH of no known type", SHCA_WR_FLUSH, SIG, 0,
	  SHCA_WC_LOC_QP_OP_ERR },
	{ "ATOMIC WRITE of four", SHCA_WR_ATOMIC_WRITE, SIG, 4,
	  SHCA_WC_LOC_LEN_ERR },
	{ "ATOMIC WRITE of sixteen", SHCA_WR_ATOMIC_WRITE, SIG, 16,
	  SHCA_WC_LOC_LEN_ERR },
	{ "unknown flag", OP_SEND, SIG | 0x10, 8, SHCA_WC_LOC_QP_OP_ERR },
	{ "inline READ", OP_READ, SIG | SHCA_SEND_INLINE, 8,
	  SHCA_WC_LOC_QP_OP_ERR },
	{ "SEND too long", OP_SEND, SIG, SHCA_MAX_MSG + 1, SHCA_WC_LOC_LEN_ERR },
	{ "READ too long", OP_READ, SIG, ~0u, SHCA_WC_LOC_LEN_ERR },
	{ "atomic of four bytes", SHCA_WR_ATOMIC_FETCH_AND_ADD, SIG, 4,
	  SHCA_WC_LOC_LEN_ERR },
	{ "unsignalled", 99, 0, 8, SHCA_WC_LOC_QP_OP_ERR },
};

static void refuse_desc(const struct refuse_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(refuse, refuse_rows, refuse_desc);

/* One before completes first, one after is flushed, nothing of it is sent. */
static void req_post_of_malformed_completes_in_turn(struct kunit *test)
{
	const struct refuse_row *row = test->param_value;
	struct fx *fx = test->priv;

	fx_post(fx, OP_SEND, 1);
	fx_post_flags(fx, row->opcode, row->len, row->flags);
	fx_post_flags(fx, OP_SEND, 1, 0);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
	KUNIT_EXPECT_FALSE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->req.state, SHCA_SIDE_READY);
	fx_ack(fx, FX_SQ_PSN, ACK);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_SUCCESS);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.wr_id, 1ull);
	KUNIT_EXPECT_EQ(test, fx->wc.status, row->status);
	KUNIT_EXPECT_EQ(test, fx->req.state, SHCA_SIDE_ERR);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.wr_id, 2ull);
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_FALSE(test, fx_pop(fx));
}

static void req_post_of_read_without_rd_atomic_is_refused(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_attr attr;

	fx_req_attr(&attr);
	attr.max_rd_atomic = 0;
	fx_req_start(fx, &attr);
	fx_post(fx, OP_READ, 8);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_LOC_QP_OP_ERR);
}

static void req_post_with_preset_keeps_status(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_send_wr *wr = shca_req_slot(&fx->req);

	memset(wr, 0, FX_STRIDE);
	wr->preset = SHCA_WC_LOC_PROT_ERR;
	wr->vendor_err = SHCA_VERR_KEY;
	shca_req_post(&fx->req);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_EQ(test, fx->wc.vendor_err, SHCA_VERR_KEY);
}

/* ---- gathering ------------------------------------------------------------ */

static void req_gather_failed_lets_earlier_complete(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_SEND, 1);
	fx_post(fx, OP_SEND, 3 * FX_MTU);
	fx_post(fx, OP_SEND, 1);
	fx_next(fx);
	fx_next(fx);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_SEND_MIDDLE);
	shca_req_gather_failed(&fx->req, &fx->pkt, SHCA_MEM_RANGE);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->req.state, SHCA_SIDE_READY);
	/* the one before may still be lost, and is the only one to be sent again */
	fx_timeout(fx);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, FX_SQ_PSN);
	fx_ack(fx, FX_SQ_PSN, ACK);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_SUCCESS);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.wr_id, 1ull);
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_EQ(test, fx->wc.vendor_err, SHCA_VERR_RANGE);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_WR_FLUSH_ERR);
}

static void req_gather_failed_of_only_request_fails_at_once(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_SEND, 1);
	fx_next(fx);
	shca_req_gather_failed(&fx->req, &fx->pkt, SHCA_MEM_KEY);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_EQ(test, fx->req.state, SHCA_SIDE_ERR);
}

/* Not sent, so not outstanding: no timer runs, the same packet comes again. */
static void req_gather_retry_yields_same_packet(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i;

	fx_post(fx, OP_SEND, 2 * FX_MTU);
	for (i = 0; i < 3; i++) {
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
		KUNIT_EXPECT_EQ(test, fx->pkt.psn, FX_SQ_PSN);
		KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_SEND_FIRST);
		shca_req_gather_failed(&fx->req, &fx->pkt, SHCA_MEM_RETRY);
		KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), 0ull);
		KUNIT_EXPECT_TRUE(test, shca_req_idle(&fx->req));
	}
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2u);
	KUNIT_EXPECT_EQ(test, fx->req.stats.retransmits, 0ull);
}

/* Memory is being fetched: not a word before it is there, but about what has left. */
static void req_hold_keeps_the_packet_until_release(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post_flags(fx, OP_WRITE, 8, 0);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_FALSE(test, fx->pkt.ackreq);
	fx_post(fx, OP_WRITE, 8);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	shca_req_gather_failed(&fx->req, &fx->pkt, SHCA_MEM_RETRY);
	shca_req_pause(&fx->req);
	/* the one before it has not asked, and somebody waits now */
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_NULL(test, fx->pkt.wr);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	fx_ack(fx, FX_SQ_PSN, ACK);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	/* nothing is outstanding: no timer at all */
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), 0ull);
	shca_req_release(&fx->req);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, FX_SQ_PSN + 1);
	fx_ack(fx, FX_SQ_PSN + 1, ACK);
	KUNIT_EXPECT_TRUE(test, shca_req_idle(&fx->req));
}

/* What was lost before it is sent again meanwhile. */
static void req_hold_lets_what_is_before_it_be_sent_again(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_SEND, 8);
	fx_post(fx, OP_SEND, 8);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	shca_req_gather_failed(&fx->req, &fx->pkt, SHCA_MEM_RETRY);
	shca_req_pause(&fx->req);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	fx_timeout(fx);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, FX_SQ_PSN);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
}

static void req_gather_retry_while_sending_again_resumes(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_SEND, 3 * FX_MTU);
	fx_drain(fx);
	fx_timeout(fx);
	fx_next(fx);
	fx_next(fx);
	shca_req_gather_failed(&fx->req, &fx->pkt, SHCA_MEM_RETRY);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2u);
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, FX_SQ_PSN + 2);
}

/* Several requests in a batch that never left: none of them has begun. */
static void req_gather_retry_of_batch_leaves_nothing_outstanding(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt first;
	u32 k;

	fx_post(fx, OP_SEND, 1);
	fx_post(fx, OP_READ, 3 * FX_MTU);
	fx_post(fx, OP_SEND, 1);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	first = fx->pkt;
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2u);
	shca_req_gather_failed(&fx->req, &first, SHCA_MEM_RETRY);
	KUNIT_EXPECT_EQ(test, fx->req.psn.max, FX_SQ_PSN);
	KUNIT_EXPECT_EQ(test, fx->req.psn.nr_rd, 0u);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), 0ull);
	for (k = 0; k < 3; k++) {
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
		KUNIT_EXPECT_FALSE(test, fx->pkt.again);
	}
	KUNIT_EXPECT_EQ(test, fx->req.psn.nr_rd, 1u);
	KUNIT_EXPECT_EQ(test, fx->req.stats.retransmits, 0ull);
}

/*
 * The memory of a packet that was sent once is gone when it is sent again.  The
 * first transmission may be acknowledged yet; then all is well.
 */
static void req_gather_failed_of_repetition_yields_to_ack(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_attr attr;
	bool delivered;
	u32 i;

	for (i = 0; i < 2; i++) {
		delivered = i;
		fx_req_attr(&attr);
		fx_req_start(fx, &attr);
		fx_post(fx, OP_SEND, 1);
		fx_post(fx, OP_SEND, 1);
		KUNIT_EXPECT_EQ(test, fx_drain(fx), 2u);
		fx_timeout(fx);
		fx_next(fx);
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
		KUNIT_EXPECT_TRUE(test, fx->pkt.again);
		shca_req_gather_failed(&fx->req, &fx->pkt, SHCA_MEM_KEY);
		KUNIT_EXPECT_EQ(test, fx->req.state, SHCA_SIDE_READY);
		fx_ack(fx, FX_SQ_PSN + delivered, ACK);
		KUNIT_ASSERT_TRUE(test, fx_pop(fx));
		KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_SUCCESS);
		KUNIT_ASSERT_TRUE(test, fx_pop(fx));
		KUNIT_EXPECT_EQ(test, fx->wc.status,
				delivered ? SHCA_WC_SUCCESS :
					    SHCA_WC_LOC_PROT_ERR);
	}
}

/* ---- completions ---------------------------------------------------------- */

static void req_pop_of_unsignalled_is_silent(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post_flags(fx, OP_SEND, 1, 0);
	fx_post_flags(fx, OP_SEND, 1, 0);
	fx_post(fx, OP_WRITE, 1);
	fx_drain(fx);
	fx_ack(fx, FX_SQ_PSN + 2, ACK);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.wr_id, 2ull);
	KUNIT_EXPECT_EQ(test, fx->wc.opcode, SHCA_WC_RDMA_WRITE);
	KUNIT_EXPECT_EQ(test, fx->wc.wc_flags, 0);
	KUNIT_EXPECT_FALSE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->req.ring.head, 3u);
}

static void req_fail_completes_acknowledged_and_flushes(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_SEND, 1);
	fx_post(fx, OP_SEND, 1);
	fx_drain(fx);
	fx_ack(fx, FX_SQ_PSN, ACK);
	shca_req_fail(&fx->req);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), 0ull);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_SUCCESS);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_WR_FLUSH_ERR);
	/* posted in error: flushed, signalled or not */
	KUNIT_ASSERT_NOT_NULL(test, fx_post_flags(fx, OP_READ, 8, 0));
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, fx->wc.opcode, SHCA_WC_RDMA_READ);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, FX_SQ_PSN + 1, ACK), SHCA_RX_STATE);
}

static void req_fail_before_start_flushes_posts(struct kunit *test)
{
	struct fx *fx = test->priv;

	shca_req_reset(&fx->req);
	KUNIT_EXPECT_NULL(test, shca_req_slot(&fx->req));
	shca_req_fail(&fx->req);
	KUNIT_ASSERT_NOT_NULL(test, fx_post(fx, OP_SEND, 1));
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_WR_FLUSH_ERR);
}

/* ---- local requests ------------------------------------------------------- */

/* The key may be needed to send something before it again. */
static void req_local_inv_waits_for_acknowledgement(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_SEND, 1);
	fx_post(fx, SHCA_WR_LOCAL_INV, 0);
	fx_post(fx, OP_SEND, 1);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
	KUNIT_EXPECT_EQ(test, fx->nr_local, 0u);
	fx_ack(fx, FX_SQ_PSN, ACK);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
	KUNIT_EXPECT_EQ(test, fx->nr_local, 1u);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.opcode, SHCA_WC_LOCAL_INV);
	KUNIT_EXPECT_FALSE(test, fx_pop(fx));
}

/* A window opens in its turn, and what follows may be about it. */
static void req_bind_mw_is_executed_at_once_and_in_order(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_SEND, 1);
	fx_post(fx, SHCA_WR_BIND_MW, 0);
	fx_post(fx, OP_SEND, 1);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2u);
	KUNIT_EXPECT_EQ(test, fx->nr_local, 1u);
	KUNIT_EXPECT_FALSE(test, fx_pop(fx));
	fx_ack(fx, FX_SQ_PSN, ACK);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.opcode, SHCA_WC_BIND_MW);
	KUNIT_EXPECT_FALSE(test, fx_pop(fx));
}

/* Slots of an earlier lap say "executed"; they must not count. */
static void req_local_of_earlier_lap_does_not_count(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i;

	for (i = 0; i < FX_ENTRIES; i++) {
		fx_post(fx, SHCA_WR_REG_MR, 0);
		fx_drain(fx);
		KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	}
	fx_post(fx, OP_SEND, 1);
	fx_post(fx, OP_SEND, 1);
	fx_drain(fx);
	fx_timeout(fx);
	/* overtakes what is about to be sent again */
	fx_ack(fx, FX_SQ_PSN + 1, ACK);
	KUNIT_EXPECT_TRUE(test, shca_req_idle(&fx->req));
	KUNIT_EXPECT_EQ(test, fx->req.ring.una, fx->req.ring.prod);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_FALSE(test, fx_pop(fx));
}

/*
 * A repetition is acknowledged up to local requests that were executed.  Their
 * slots are free, and a request that is posted there next is not the next one to
 * send.
 */
static void req_local_is_stepped_over_when_sent_again(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i;

	fx_post(fx, OP_SEND, 3 * FX_MTU);
	fx_post_flags(fx, SHCA_WR_BIND_MW, 0, 0);
	fx_post_flags(fx, SHCA_WR_BIND_MW, 0, 0);
	fx_post(fx, OP_SEND, 1);
	fx_drain(fx);
	KUNIT_EXPECT_EQ(test, fx->nr_local, 2u);
	fx_timeout(fx);
	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
	fx_ack(fx, FX_SQ_PSN + 2, ACK);
	while (fx_pop(fx))
		;
	while (fx->req.ring.prod - fx->req.ring.head < FX_ENTRIES)
		fx_post(fx, OP_SEND, 2);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, FX_SQ_PSN + 3);
	KUNIT_EXPECT_EQ(test, fx->pkt.wr->wr_id, 3ull);
}

static void req_local_that_fails_ends_the_queue(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->local = SHCA_WC_MW_BIND_ERR;
	fx_post(fx, SHCA_WR_REG_MR, 0);
	fx_post(fx, OP_SEND, 1);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 0u);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_MW_BIND_ERR);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_WR_FLUSH_ERR);
}

/* ---- who asks for an acknowledgement --------------------------------------- */

static void post_silent(struct fx *fx, u32 nr)
{
	while (nr--)
		fx_post_flags(fx, OP_WRITE, 8, 0);
}

/* @nr requests that nobody waits for have left, and none has asked. */
static void leave_behind(struct kunit *test, u32 nr)
{
	struct fx *fx = test->priv;

	post_silent(fx, nr);
	while (nr--) {
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
		KUNIT_EXPECT_FALSE(test, fx->pkt.ackreq);
	}
}

static void expect_probe(struct kunit *test)
{
	struct fx *fx = test->priv;

	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_NULL(test, fx->pkt.wr);
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_WRITE_ONLY);
	KUNIT_EXPECT_EQ(test, fx->pkt.psn,
			shca_psn_add(fx->req.psn.una, -1));
	KUNIT_EXPECT_EQ(test, fx->pkt.paylen, 0u);
	KUNIT_EXPECT_EQ(test, fx->pkt.reth.len, 0u);
	KUNIT_EXPECT_EQ(test, fx->pkt.kind, SHCA_PAY_NONE);
	KUNIT_EXPECT_TRUE(test, fx->pkt.ackreq);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
}

static void req_next_asks_where_somebody_waits(struct kunit *test)
{
	struct fx *fx = test->priv;

	leave_behind(test, 2);
	fx_post(fx, OP_SEND, FX_MTU + 1);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_FALSE(test, fx->pkt.ackreq);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_TRUE(test, fx->pkt.ackreq);
	fx_post_flags(fx, OP_READ, 8, 0);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_TRUE(test, fx->pkt.ackreq);
	/* the transport timer runs, and no other */
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req),
			fx->now + FX_TIMEOUT);
}

static void req_next_asks_once_a_quarter_of_the_ring(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i;

	post_silent(fx, FX_ENTRIES);
	for (i = 1; i <= FX_ENTRIES; i++) {
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
		KUNIT_EXPECT_EQ(test, fx->pkt.ackreq, i % (FX_ENTRIES / 4) == 0);
	}
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	fx_ack(fx, fx->pkt.psn, ACK);
	KUNIT_EXPECT_TRUE(test, shca_req_idle(&fx->req));
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), 0ull);
}

static void req_next_after_a_pause_asks(struct kunit *test)
{
	struct fx *fx = test->priv;

	leave_behind(test, 1);
	fx->now += SHCA_REQ_QUIET_NS / 4 - 1;
	leave_behind(test, 1);
	fx->now += SHCA_REQ_QUIET_NS / 4;
	post_silent(fx, 1);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_TRUE(test, fx->pkt.ackreq);
}

/* A peer that may be any adapter: it may execute the last one and end. */
static void req_next_to_a_unknown_peer_asks_with_the_last_of_a_post(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_attr attr;
	u32 i;

	fx_req_attr(&attr);
	attr.peer = 0;
	fx_req_start(fx, &attr);
	post_silent(fx, 3);
	for (i = 1; i <= 3; i++) {
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
		KUNIT_EXPECT_EQ(test, fx->pkt.ackreq, i == 3);
	}
	/* each post alone: each is the last */
	for (i = 0; i < 3; i++) {
		post_silent(fx, 1);
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
		KUNIT_EXPECT_TRUE(test, fx->pkt.ackreq);
	}
	/* of a long message only its end */
	fx_post_flags(fx, OP_WRITE, FX_MTU + 1, 0);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_FALSE(test, fx->pkt.ackreq);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_TRUE(test, fx->pkt.ackreq);
	/* nothing is left to probe about, and the transport timer runs */
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req),
			fx->now + FX_TIMEOUT);
	/* found out later that it is not */
	fx->req.attr.peer |= SHCA_PEER_FLUSHES_ACKS;
	leave_behind(test, 1);
}

static void req_next_handed_over_asks(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->req.psn.reach = 16;
	post_silent(fx, 1);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_TRUE(test, fx->pkt.ackreq);
}

static void req_timer_when_quiet_probes(struct kunit *test)
{
	struct fx *fx = test->priv;

	leave_behind(test, 2);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req),
			fx->now + SHCA_REQ_QUIET_NS);
	KUNIT_EXPECT_FALSE(test, shca_req_may_send(&fx->req));
	fx_timeout(fx);
	KUNIT_EXPECT_TRUE(test, shca_req_may_send(&fx->req));
	expect_probe(test);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req),
			fx->now + FX_TIMEOUT);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, FX_SQ_PSN + 1, ACK), SHCA_RX_OK);
	KUNIT_EXPECT_TRUE(test, shca_req_idle(&fx->req));
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), 0ull);
	KUNIT_EXPECT_EQ(test, fx->req.stats.probes, 1ull);
	KUNIT_EXPECT_EQ(test, fx->req.stats.timeouts, 0ull);
	KUNIT_EXPECT_EQ(test, fx->req.stats.retransmits, 0ull);
}

static void req_timer_of_short_timeout_probes_sooner(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_attr attr;

	fx_req_attr(&attr);
	attr.timeout_ns = FX_MS;
	fx_req_start(fx, &attr);
	leave_behind(test, 1);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), fx->now + FX_MS / 4);
	/* none: an answer may take for ever, an ACK probe not */
	attr.timeout_ns = 0;
	fx_req_start(fx, &attr);
	leave_behind(test, 1);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req),
			fx->now + SHCA_REQ_QUIET_NS);
	fx_timeout(fx);
	expect_probe(test);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), 0ull);
}

/* What comes meanwhile asks in place of an ACK probe. */
static void req_post_before_the_probe_asks(struct kunit *test)
{
	struct fx *fx = test->priv;

	leave_behind(test, 1);
	fx_timeout(fx);
	post_silent(fx, 1);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, FX_SQ_PSN + 1u);
	KUNIT_EXPECT_TRUE(test, fx->pkt.ackreq);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
}

/* While one answer is due there is no second question. */
static void req_probe_waits_for_the_answer_that_is_due(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_WRITE, 8);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	leave_behind(test, 1);
	fx->req.draining = true;
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req),
			fx->now + FX_TIMEOUT);
	fx_ack(fx, FX_SQ_PSN, ACK);
	expect_probe(test);
}

struct missing_row {
	const char *name;
	s32 acked;	/* by the answer, from FX_SQ_PSN on */
	u32 again;	/* packets that are sent again */
};

static const struct missing_row missing_rows[] = {
	{ "all of three", -1, 3 },
	{ "all of three, by an older PSN", -7, 3 },
	{ "two of three", 0, 2 },
	{ "one of three", 1, 1 },
	{ "none of three", 2, 0 },
};

static void missing_desc(const struct missing_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(missing, missing_rows, missing_desc);

static void req_rx_of_answer_sends_what_is_missing(struct kunit *test)
{
	const struct missing_row *row = test->param_value;
	struct fx *fx = test->priv;
	struct shca_req_attr attr;
	u32 i;

	fx_req_attr(&attr);
	attr.retry_cnt = 0;	/* costs none */
	fx_req_start(fx, &attr);
	leave_behind(test, 3);
	fx_timeout(fx);
	expect_probe(test);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, FX_SQ_PSN + row->acked, ACK),
			SHCA_RX_OK);
	for (i = 3 - row->again; i < 3; i++) {
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
		KUNIT_EXPECT_EQ(test, fx->pkt.psn, FX_SQ_PSN + i);
		KUNIT_EXPECT_TRUE(test, fx->pkt.ackreq);
	}
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->req.stats.timeouts, 0ull);
	KUNIT_EXPECT_EQ(test, fx->req.state, SHCA_SIDE_READY);
	/* The same again is about what has been sent again. */
	fx_ack(fx, FX_SQ_PSN + row->acked, ACK);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req),
			row->again ? fx->now + FX_TIMEOUT : 0);
}

static void req_timer_of_unanswered_probe_is_a_timeout(struct kunit *test)
{
	struct fx *fx = test->priv;

	leave_behind(test, 2);
	fx_timeout(fx);
	expect_probe(test);
	fx_timeout(fx);
	KUNIT_EXPECT_EQ(test, fx->req.stats.timeouts, 1ull);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2u);
	KUNIT_EXPECT_EQ(test, fx->req.stats.retransmits, 2ull);
	KUNIT_EXPECT_EQ(test, fx->req.stats.probes, 1ull);
}

/* An ACK of before, from a network that repeats it, when nobody has probed. */
static void req_rx_of_old_ack_without_probe_is_stale(struct kunit *test)
{
	struct fx *fx = test->priv;

	leave_behind(test, 2);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, FX_SQ_PSN - 1, ACK),
			SHCA_RX_STALE_ACK);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
}

/* Nothing was acknowledged yet. */
static void req_start_of_life(struct fx *fx)
{
	struct shca_req_attr attr;

	fx_req_attr(&attr);
	shca_req_reset(&fx->req);
	shca_req_start(&fx->req, &attr);
	/* no pause: what was handed out last was so just now */
	fx->req.ackreq.sent_ns = fx->now;
}

/*
 * The peer has not executed the PSN before the first one.  It may be one of a
 * former life of its QP, and the peer may answer it from that life.
 */
static void req_next_asks_until_something_was_acknowledged(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i;

	req_start_of_life(fx);
	post_silent(fx, 3);
	for (i = 0; i < 3; i++) {
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
		KUNIT_EXPECT_TRUE(test, fx->pkt.ackreq);
	}
	/* an answer that acknowledges nothing is no word of these */
	fx_ack(fx, FX_SQ_PSN, SHCA_AETH_RNR | 1);
	fx_timeout(fx);
	while (fx_next(fx))
		KUNIT_EXPECT_TRUE(test, fx->pkt.ackreq);
	fx_ack(fx, FX_SQ_PSN, ACK);
	leave_behind(test, 1);
}

/* The second and the third request could not leave, and the queue drains. */
static void req_probe_before_the_first_psn_is_none(struct kunit *test)
{
	struct shca_pkt second;
	struct fx *fx = test->priv;

	req_start_of_life(fx);
	post_silent(fx, 3);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	second = fx->pkt;
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	shca_req_gather_failed(&fx->req, &second, SHCA_MEM_RETRY);
	fx->req.draining = true;
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	/* the first has asked */
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req),
			fx->now + FX_TIMEOUT);
	fx_ack(fx, FX_SQ_PSN, ACK);
	KUNIT_EXPECT_TRUE(test, shca_req_idle(&fx->req));
}

static void req_next_while_draining_probes_at_once(struct kunit *test)
{
	struct fx *fx = test->priv;

	leave_behind(test, 2);
	fx->req.draining = true;
	KUNIT_EXPECT_TRUE(test, shca_req_may_send(&fx->req));
	expect_probe(test);
	fx_ack(fx, FX_SQ_PSN + 1, ACK);
	KUNIT_EXPECT_TRUE(test, shca_req_idle(&fx->req));
}

static void req_error_ahead_probes_at_once(struct kunit *test)
{
	struct fx *fx = test->priv;

	leave_behind(test, 1);
	fx_post_flags(fx, 99, 1, 0);
	expect_probe(test);
	fx_ack(fx, FX_SQ_PSN, ACK);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.wr_id, 1ull);
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_LOC_QP_OP_ERR);
}

static void req_local_behind_makes_ask(struct kunit *test)
{
	struct fx *fx = test->priv;

	/* posted later: probes; together: the one before asks */
	leave_behind(test, 1);
	fx_post(fx, SHCA_WR_REG_MR, 0);
	expect_probe(test);
	fx_ack(fx, FX_SQ_PSN, ACK);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.opcode, SHCA_WC_REG_MR);

	leave_behind(test, 1);
	fx_post_flags(fx, SHCA_WR_LOCAL_INV, 0, 0);
	expect_probe(test);
	KUNIT_EXPECT_EQ(test, fx->nr_local, 1u);
	fx_ack(fx, FX_SQ_PSN + 1, ACK);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->nr_local, 2u);

	post_silent(fx, 1);
	fx_post_flags(fx, SHCA_WR_LOCAL_INV, 0, 0);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_TRUE(test, fx->pkt.ackreq);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	fx_ack(fx, FX_SQ_PSN + 2, ACK);

	/* nobody waits for these, which make the ring full */
	leave_behind(test, 1);
	while (fx_post_flags(fx, SHCA_WR_REG_MR, 0, 0))
		;
	expect_probe(test);
}

/* The packet that asks has not left: another one must ask. */
static void req_gather_retry_of_asking_packet_asks_again(struct kunit *test)
{
	struct fx *fx = test->priv;

	leave_behind(test, 1);
	fx_post(fx, OP_WRITE, 8);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_TRUE(test, fx->pkt.ackreq);
	shca_req_gather_failed(&fx->req, &fx->pkt, SHCA_MEM_KEY);
	expect_probe(test);
	/* nor has this one */
	shca_req_gather_failed(&fx->req, &fx->pkt, SHCA_MEM_RETRY);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), 0ull);
	expect_probe(test);
	fx_ack(fx, FX_SQ_PSN, ACK);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_LOC_PROT_ERR);
}

static struct kunit_case requester_cases[] = {
	KUNIT_CASE_PARAM(req_next_of_message_yields_its_packets,
			 msg_gen_params),
	KUNIT_CASE(req_next_of_read_takes_psns_of_response),
	KUNIT_CASE(req_next_of_compare_swap_orders_operands),
	KUNIT_CASE(req_next_across_wrap_keeps_24_bits),
	KUNIT_CASE(req_next_sets_solicited_on_last_of_send_only),
	KUNIT_CASE(req_next_with_window_full_waits_with_ackreq),
	KUNIT_CASE(req_next_of_flush_names_range_type_level),
	KUNIT_CASE_PARAM(req_post_of_bad_flush_is_refused, flush_gen_params),
	KUNIT_CASE(req_next_beyond_max_rd_atomic_waits),
	KUNIT_CASE(req_next_of_fenced_waits_for_reads),
	KUNIT_CASE(req_next_of_fenced_does_not_wait_for_writes),
	KUNIT_CASE(req_next_of_largest_read_goes_alone),
	KUNIT_CASE(req_next_while_draining_finishes_message),
	KUNIT_CASE(req_next_before_pace_waits_until_then),
	KUNIT_CASE(req_slot_of_full_ring_is_null),
	KUNIT_CASE_PARAM(req_timer_sends_again_retry_cnt_times,
			 retry_gen_params),
	KUNIT_CASE(req_timer_with_code_zero_never_fires),
	KUNIT_CASE(req_timer_early_is_harmless),
	KUNIT_CASE(req_timer_after_progress_counts_afresh),
	KUNIT_CASE(req_timer_resumes_inside_message),
	KUNIT_CASE(req_timer_with_window_closed_asks_at_its_end),
	KUNIT_CASE(req_window_after_loss_is_smaller),
	KUNIT_CASE(req_window_after_many_losses_comes_back),
	KUNIT_CASE_PARAM(req_post_of_malformed_completes_in_turn,
			 refuse_gen_params),
	KUNIT_CASE(req_post_of_read_without_rd_atomic_is_refused),
	KUNIT_CASE(req_post_with_preset_keeps_status),
	KUNIT_CASE(req_gather_failed_lets_earlier_complete),
	KUNIT_CASE(req_gather_failed_of_only_request_fails_at_once),
	KUNIT_CASE(req_gather_failed_of_repetition_yields_to_ack),
	KUNIT_CASE(req_gather_retry_yields_same_packet),
	KUNIT_CASE(req_gather_retry_of_batch_leaves_nothing_outstanding),
	KUNIT_CASE(req_hold_keeps_the_packet_until_release),
	KUNIT_CASE(req_hold_lets_what_is_before_it_be_sent_again),
	KUNIT_CASE(req_gather_retry_while_sending_again_resumes),
	KUNIT_CASE(req_pop_of_unsignalled_is_silent),
	KUNIT_CASE(req_fail_completes_acknowledged_and_flushes),
	KUNIT_CASE(req_fail_before_start_flushes_posts),
	KUNIT_CASE(req_local_inv_waits_for_acknowledgement),
	KUNIT_CASE(req_bind_mw_is_executed_at_once_and_in_order),
	KUNIT_CASE(req_local_of_earlier_lap_does_not_count),
	KUNIT_CASE(req_local_is_stepped_over_when_sent_again),
	KUNIT_CASE(req_local_that_fails_ends_the_queue),
	KUNIT_CASE(req_next_asks_where_somebody_waits),
	KUNIT_CASE(req_next_asks_once_a_quarter_of_the_ring),
	KUNIT_CASE(req_next_after_a_pause_asks),
	KUNIT_CASE(req_next_to_a_unknown_peer_asks_with_the_last_of_a_post),
	KUNIT_CASE(req_next_handed_over_asks),
	KUNIT_CASE(req_timer_when_quiet_probes),
	KUNIT_CASE(req_timer_of_short_timeout_probes_sooner),
	KUNIT_CASE(req_post_before_the_probe_asks),
	KUNIT_CASE(req_probe_waits_for_the_answer_that_is_due),
	KUNIT_CASE_PARAM(req_rx_of_answer_sends_what_is_missing,
			 missing_gen_params),
	KUNIT_CASE(req_timer_of_unanswered_probe_is_a_timeout),
	KUNIT_CASE(req_rx_of_old_ack_without_probe_is_stale),
	KUNIT_CASE(req_next_asks_until_something_was_acknowledged),
	KUNIT_CASE(req_probe_before_the_first_psn_is_none),
	KUNIT_CASE(req_next_while_draining_probes_at_once),
	KUNIT_CASE(req_error_ahead_probes_at_once),
	KUNIT_CASE(req_local_behind_makes_ask),
	KUNIT_CASE(req_gather_retry_of_asking_packet_asks_again),
	{}
};

static struct kunit_suite requester_suite = {
	.name = "softhca_requester",
	.init = fx_init,
	.test_cases = requester_cases,
};

kunit_test_suites(&requester_suite);
