// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The RC responder: what requests do, and what is answered. */
#include "fixture.h"

#include "../../kernel/core/requester/fast.h"

#define P0	FX_RQ_PSN

static void expect_ack(struct kunit *test, u32 psn, u8 syndrome, u32 msn)
{
	struct fx *fx = test->priv;

	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_ACK);
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, psn);
	KUNIT_EXPECT_EQ(test, fx->pkt.aeth.syndrome, syndrome);
	KUNIT_EXPECT_EQ(test, fx->pkt.aeth.msn, msn);
	KUNIT_EXPECT_TRUE(test, fx->pkt.mig);
	KUNIT_EXPECT_EQ(test, fx->pkt.dqpn, 0x88u);
}

/* ---- each opcode after each ------------------------------------------------ */

struct seq_row {
	const char *name;
	u8 begun;		/* opcode of the message in progress, 0xff: none */
	u32 accepted;		/* mask of RC opcodes */
};

#define OP(name)	(1u << SHCA_OP_##name)

static const struct seq_row seq_rows[] = {
	{ "no message", 0xff,
	  OP(SEND_FIRST) | OP(SEND_ONLY) | OP(SEND_ONLY_IMM) |
	  OP(SEND_ONLY_INV) | OP(WRITE_FIRST) | OP(WRITE_ONLY) |
	  OP(WRITE_ONLY_IMM) | OP(READ_REQUEST) | OP(CMP_SWAP) |
	  OP(FETCH_ADD) | OP(FLUSH) | OP(ATOMIC_WRITE) },
	{ "SEND", SHCA_OP_SEND_FIRST,
	  OP(SEND_MIDDLE) | OP(SEND_LAST) | OP(SEND_LAST_IMM) |
	  OP(SEND_LAST_INV) },
	{ "WRITE", SHCA_OP_WRITE_FIRST,
	  OP(WRITE_MIDDLE) | OP(WRITE_LAST) | OP(WRITE_LAST_IMM) },
};

static void seq_desc(const struct seq_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(seq, seq_rows, seq_desc);

static u32 begin_message(struct fx *fx, u8 opcode, u32 announced)
{
	struct shca_resp_attr attr;
	struct shca_pkt pkt;

	fx_resp_attr(&attr);
	fx_resp_start(fx, &attr);
	if (opcode == 0xff)
		return P0;
	fx_request(&pkt, opcode, P0, FX_MTU);
	pkt.reth.len = announced;
	fx_rx(fx, &pkt);
	return P0 + 1;
}

/* IBTA 9.7.4.1.2: what does not follow is an invalid request */
static void resp_rx_of_each_opcode_after_each_follows_rules(struct kunit *test)
{
	const struct seq_row *row = test->param_value;
	struct fx *fx = test->priv;
	u32 op, len, psn, flags;
	enum shca_verdict rx;

	for (op = 0; op < 32; op++) {
		flags = shca_opcode_info(op)->flags;
		len = flags & SHCA_OPF_END ? 10 : FX_MTU;
		if (op == SHCA_OP_ATOMIC_WRITE)
			len = 8;
		/* so much that this very packet fits into the message */
		psn = begin_message(fx, row->begun, FX_MTU + len +
				    (flags & SHCA_OPF_END ? 0 : 10));
		if (flags & SHCA_OPF_START && !(flags & SHCA_OPF_END)) {
			struct shca_pkt pkt;

			fx_request(&pkt, op, psn, FX_MTU);
			pkt.reth.len = FX_MTU + 1;
			rx = fx_rx(fx, &pkt);
		} else {
			rx = fx_rx_op(fx, op, psn, len);
		}
		if (row->accepted & 1u << op) {
			KUNIT_EXPECT_EQ(test, rx, SHCA_RX_OK);
			continue;
		}
		KUNIT_EXPECT_EQ(test, rx, SHCA_RX_INVALID);
		KUNIT_EXPECT_EQ(test, fx->resp.state, SHCA_SIDE_ERR);
		expect_ack(test, psn, NAK(SHCA_NAK_INVALID), 0);
		fx_expect_silence(test);
		/* the receive request of a SEND cut short tells, else an event */
		KUNIT_EXPECT_EQ(test, fx->out.has_wc,
				row->begun == SHCA_OP_SEND_FIRST);
		KUNIT_EXPECT_EQ(test, fx->out.events & SHCA_EV_REQ_ERR,
				fx->out.has_wc ? 0 : SHCA_EV_REQ_ERR);
	}
}

static void resp_rx_of_other_transport_is_dropped(struct kunit *test)
{
	struct fx *fx = test->priv;

	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, 0x24, P0, 1), SHCA_RX_STATE);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, 0x64, P0, 1), SHCA_RX_STATE);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, 0xa4, P0, 1), SHCA_RX_STATE);
	fx_expect_silence(test);
}

/* ---- lengths --------------------------------------------------------------- */

struct len_row {
	const char *name;
	u8 begun;
	u8 opcode;
	u32 len;
	bool ok;
};

static const struct len_row len_rows[] = {
	{ "FIRST of one MTU", 0xff, SHCA_OP_SEND_FIRST, 256, true },
	{ "FIRST shorter", 0xff, SHCA_OP_SEND_FIRST, 252, false },
	{ "FIRST longer", 0xff, SHCA_OP_SEND_FIRST, 260, false },
	{ "FIRST empty", 0xff, SHCA_OP_SEND_FIRST, 0, false },
	{ "MIDDLE of one MTU", SHCA_OP_SEND_FIRST, SHCA_OP_SEND_MIDDLE, 256,
	  true },
	{ "MIDDLE shorter", SHCA_OP_SEND_FIRST, SHCA_OP_SEND_MIDDLE, 255,
	  false },
	{ "LAST of one byte", SHCA_OP_SEND_FIRST, SHCA_OP_SEND_LAST, 1, true },
	{ "LAST of one MTU", SHCA_OP_SEND_FIRST, SHCA_OP_SEND_LAST, 256, true },
	{ "LAST empty", SHCA_OP_SEND_FIRST, SHCA_OP_SEND_LAST, 0, false },
	{ "LAST longer", SHCA_OP_SEND_FIRST, SHCA_OP_SEND_LAST, 257, false },
	{ "ONLY empty", 0xff, SHCA_OP_SEND_ONLY, 0, true },
	{ "ONLY of one MTU", 0xff, SHCA_OP_SEND_ONLY, 256, true },
	{ "ONLY longer", 0xff, SHCA_OP_SEND_ONLY, 257, false },
	{ "WRITE ONLY empty", 0xff, SHCA_OP_WRITE_ONLY, 0, true },
	{ "WRITE ONLY longer", 0xff, SHCA_OP_WRITE_ONLY, 257, false },
};

static void len_desc(const struct len_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(len, len_rows, len_desc);

static void resp_rx_of_packet_length_follows_rules(struct kunit *test)
{
	const struct len_row *row = test->param_value;
	struct fx *fx = test->priv;
	u32 psn = begin_message(fx, row->begun, 512);

	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, row->opcode, psn, row->len),
			row->ok ? SHCA_RX_OK : SHCA_RX_INVALID);
}

struct pad_row {
	const char *name;
	u8 opcode;
	u32 len;
	u8 pad;
	bool ok;
};

static const struct pad_row pad_rows[] = {
	{ "as needed", SHCA_OP_SEND_ONLY, 5, 3, true },
	{ "missing", SHCA_OP_SEND_ONLY, 5, 0, false },
	{ "too little", SHCA_OP_SEND_ONLY, 5, 2, false },
	{ "of a FIRST", SHCA_OP_SEND_FIRST, 256, 1, false },
	{ "of a READ", SHCA_OP_READ_REQUEST, 0, 3, false },
	{ "payload of a READ", SHCA_OP_READ_REQUEST, 4, 0, false },
	{ "payload of an atomic", SHCA_OP_FETCH_ADD, 4, 0, false },
	{ "payload of a FLUSH", SHCA_OP_FLUSH, 8, 0, false },
	{ "ATOMIC WRITE of eight", SHCA_OP_ATOMIC_WRITE, 8, 0, true },
	{ "of four", SHCA_OP_ATOMIC_WRITE, 4, 0, false },
	{ "of nine", SHCA_OP_ATOMIC_WRITE, 9, 3, false },
};

static void pad_desc(const struct pad_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(pad, pad_rows, pad_desc);

static void resp_rx_of_pad_follows_rules(struct kunit *test)
{
	const struct pad_row *row = test->param_value;
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	fx_request(&pkt, row->opcode, P0, 8);
	pkt.paylen = row->len;
	pkt.pad = row->pad;
	KUNIT_EXPECT_EQ(test, fx_rx(fx, &pkt),
			row->ok ? SHCA_RX_OK : SHCA_RX_INVALID);
}

/* ---- SEND ------------------------------------------------------------------ */

static void resp_rx_of_send_fills_receive(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_FIRST, P0, FX_MTU),
			SHCA_RX_OK);
	KUNIT_EXPECT_FALSE(test, fx->out.has_wc);
	fx_expect_silence(test);
	fx_request(&pkt, SHCA_OP_SEND_LAST_IMM, P0 + 1, 3);
	pkt.ackreq = true;
	pkt.se = true;
	KUNIT_EXPECT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->last_off, 256u);
	KUNIT_ASSERT_TRUE(test, fx->out.has_wc);
	KUNIT_EXPECT_EQ(test, fx->out.wc.byte_len, 259u);
	KUNIT_EXPECT_EQ(test, fx->out.wc.wr_id, 1000ull);
	KUNIT_EXPECT_EQ(test, fx->out.wc.opcode, SHCA_WC_RECV);
	KUNIT_EXPECT_EQ(test, fx->out.wc.wc_flags, SHCA_WC_WITH_IMM);
	KUNIT_EXPECT_EQ(test, fx->out.wc.imm, pkt.imm);
	KUNIT_EXPECT_TRUE(test, fx->out.wc.solicited);
	KUNIT_EXPECT_TRUE(test, fx->out.wc.is_recv);
	expect_ack(test, P0 + 1, ACK, 1);
	fx_expect_silence(test);
}

static void resp_rx_of_send_longer_than_buffer_is_refused(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->recv_len = FX_MTU + 9;
	fx_rx_op(fx, SHCA_OP_SEND_FIRST, P0, FX_MTU);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_LAST, P0 + 1, 10),
			SHCA_RX_INVALID);
	KUNIT_EXPECT_EQ(test, fx->nr_scatter, 1u);
	KUNIT_ASSERT_TRUE(test, fx->out.has_wc);
	KUNIT_EXPECT_EQ(test, fx->out.wc.status, SHCA_WC_LOC_LEN_ERR);
	expect_ack(test, P0 + 1, NAK(SHCA_NAK_INVALID), 0);
}

static void resp_rx_of_send_into_bad_lkey_is_operational(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->scatter = SHCA_MEM_ACCESS;
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0, 1),
			SHCA_RX_OPERATION);
	KUNIT_ASSERT_TRUE(test, fx->out.has_wc);
	KUNIT_EXPECT_EQ(test, fx->out.wc.status, SHCA_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_EQ(test, fx->out.wc.vendor_err, SHCA_VERR_ACCESS);
	expect_ack(test, P0, NAK(SHCA_NAK_OPERATION), 0);
}

static void resp_rx_of_malformed_receive_is_operational(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->recv = SHCA_RECV_BAD;
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0, 1),
			SHCA_RX_OPERATION);
	KUNIT_ASSERT_TRUE(test, fx->out.has_wc);
	KUNIT_EXPECT_EQ(test, fx->out.wc.status, SHCA_WC_LOC_QP_OP_ERR);
	KUNIT_EXPECT_EQ(test, fx->out.wc.vendor_err, SHCA_VERR_WQE);
	expect_ack(test, P0, NAK(SHCA_NAK_OPERATION), 0);
}

/* A ring that is broken has no request that could complete. */
static void resp_rx_of_broken_receive_queue_is_fatal(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_wc wc;

	fx->recv = SHCA_RECV_BROKEN;
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0, 1),
			SHCA_RX_OPERATION);
	KUNIT_EXPECT_FALSE(test, fx->out.has_wc);
	KUNIT_EXPECT_EQ(test, fx->out.events & SHCA_EV_FATAL, SHCA_EV_FATAL);
	expect_ack(test, P0, NAK(SHCA_NAK_OPERATION), 0);
	KUNIT_EXPECT_EQ(test, fx->resp.state, SHCA_SIDE_ERR);
	KUNIT_EXPECT_FALSE(test, shca_resp_flush(&fx->resp, &wc));
}

static void resp_rx_with_page_absent_keeps_receive(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->scatter = SHCA_MEM_RETRY;
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0, 1),
			SHCA_RX_RETRY);
	fx_expect_silence(test);
	fx->scatter = SHCA_MEM_OK;
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0, 1),
			SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->out.wc.wr_id, 1000ull);
	KUNIT_EXPECT_EQ(test, fx->nr_recv, 1u);
}

static void resp_rx_of_send_inv_invalidates(struct kunit *test)
{
	struct fx *fx = test->priv;

	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_ONLY_INV, P0, 1),
			SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->nr_inv, 1u);
	KUNIT_EXPECT_EQ(test, fx->last_rkey, 0x5555u);
	KUNIT_EXPECT_EQ(test, fx->out.wc.wc_flags, SHCA_WC_WITH_INV);
	KUNIT_EXPECT_EQ(test, fx->out.wc.imm, 0x5555u);
	/* a duplicate does it no second time */
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_ONLY_INV, P0, 1),
			SHCA_RX_DUPLICATE);
	KUNIT_EXPECT_EQ(test, fx->nr_inv, 1u);
	fx->inv_ok = false;
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_ONLY_INV, P0 + 1, 1),
			SHCA_RX_ACCESS);
}

/* ---- receiver not ready ---------------------------------------------------- */

static void resp_rx_without_receive_is_rnr_then_silent(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->recvs = 0;
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_FIRST, P0, FX_MTU),
			SHCA_RX_RNR);
	expect_ack(test, P0, SHCA_AETH_RNR | 12, 0);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_LAST, P0 + 1, 1),
			SHCA_RX_OUT_OF_SEQ);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + 2, 1),
			SHCA_RX_OUT_OF_SEQ);
	fx_expect_silence(test);
	fx->recvs = 1;
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_FIRST, P0, FX_MTU),
			SHCA_RX_OK);
	/* from here a gap is a gap again */
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + 2, 1),
			SHCA_RX_OUT_OF_SEQ);
	expect_ack(test, P0 + 1, NAK(SHCA_NAK_PSN_SEQ), 0);
}

/* Only the last packet is refused, and nothing of it is placed. */
static void resp_rx_of_write_imm_without_receive_is_rnr(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	fx->recvs = 0;
	fx_request(&pkt, SHCA_OP_WRITE_FIRST, P0, FX_MTU);
	pkt.reth.len = FX_MTU + 4;
	KUNIT_EXPECT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_WRITE_LAST_IMM, P0 + 1, 4),
			SHCA_RX_RNR);
	KUNIT_EXPECT_EQ(test, fx->nr_write, 1u);
	expect_ack(test, P0 + 1, SHCA_AETH_RNR | 12, 0);
	fx->recvs = 1;
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_WRITE_LAST_IMM, P0 + 1, 4),
			SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->nr_write, 2u);
	KUNIT_EXPECT_EQ(test, fx->last_va, 0x20000ull + FX_MTU);
	KUNIT_EXPECT_EQ(test, fx->out.wc.opcode, SHCA_WC_RECV_RDMA_WITH_IMM);
	KUNIT_EXPECT_EQ(test, fx->out.wc.byte_len, 260u);
}

/* ---- WRITE ----------------------------------------------------------------- */

static void resp_rx_of_empty_write_ignores_key(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->check = SHCA_MEM_KEY;
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_WRITE_ONLY, P0, 0),
			SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_WRITE_ONLY_IMM, P0 + 1, 0),
			SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0 + 2, 0),
			SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->nr_check + fx->nr_write, 0u);
}

struct key_row {
	const char *name;
	u8 opcode;
	enum shca_mem_status status;
};

static const struct key_row key_rows[] = {
	{ "WRITE, no key", SHCA_OP_WRITE_ONLY, SHCA_MEM_KEY },
	{ "WRITE, no right", SHCA_OP_WRITE_ONLY, SHCA_MEM_ACCESS },
	{ "WRITE, beyond", SHCA_OP_WRITE_ONLY, SHCA_MEM_RANGE },
	{ "WRITE imm", SHCA_OP_WRITE_ONLY_IMM, SHCA_MEM_KEY },
	{ "READ", SHCA_OP_READ_REQUEST, SHCA_MEM_KEY },
	{ "CmpSwap", SHCA_OP_CMP_SWAP, SHCA_MEM_KEY },
	{ "FetchAdd", SHCA_OP_FETCH_ADD, SHCA_MEM_ACCESS },
	{ "ATOMIC WRITE", SHCA_OP_ATOMIC_WRITE, SHCA_MEM_KEY },
	{ "FLUSH", SHCA_OP_FLUSH, SHCA_MEM_ACCESS },
};

static void key_desc(const struct key_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(key, key_rows, key_desc);

static void resp_rx_of_bad_key_is_access_error(struct kunit *test)
{
	const struct key_row *row = test->param_value;
	struct fx *fx = test->priv;

	fx->check = row->status;
	fx->atomic = row->status;
	fx->bare = row->status;
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, row->opcode, P0, 8),
			SHCA_RX_ACCESS);
	KUNIT_EXPECT_EQ(test, fx->nr_write, 0u);
	/* no receive request is taken for it, but of a WRITE with immediate data */
	if (row->opcode == SHCA_OP_WRITE_ONLY_IMM) {
		KUNIT_EXPECT_TRUE(test, fx->out.has_wc);
		KUNIT_EXPECT_EQ(test, fx->out.wc.status, SHCA_WC_LOC_ACCESS_ERR);
		KUNIT_EXPECT_EQ(test, fx->nr_recv, 1u);
	} else {
		KUNIT_EXPECT_FALSE(test, fx->out.has_wc);
		KUNIT_EXPECT_EQ(test, fx->nr_recv, 0u);
	}
	KUNIT_EXPECT_EQ(test, fx->out.events & SHCA_EV_ACCESS_ERR,
			fx->out.has_wc ? 0 : SHCA_EV_ACCESS_ERR);
	KUNIT_EXPECT_EQ(test, fx->resp.state, SHCA_SIDE_ERR);
	expect_ack(test, P0, NAK(SHCA_NAK_ACCESS), 0);
	fx_expect_silence(test);
}

/* There is none to tell of it, and an RNR NAK would have it tried again in vain. */
static void resp_rx_of_write_imm_with_bad_key_without_receive(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->recvs = 0;
	fx->check = SHCA_MEM_KEY;
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_WRITE_ONLY_IMM, P0, 8),
			SHCA_RX_ACCESS);
	KUNIT_EXPECT_FALSE(test, fx->out.has_wc);
	KUNIT_EXPECT_EQ(test, fx->out.events & SHCA_EV_ACCESS_ERR,
			SHCA_EV_ACCESS_ERR);
	expect_ack(test, P0, NAK(SHCA_NAK_ACCESS), 0);
}

/* The receive request that it takes is malformed, or its queue is broken. */
static void resp_rx_of_write_imm_with_bad_key_and_bad_receive(struct kunit *test)
{
	static const struct {
		enum shca_recv_status recv;
		bool has_wc;
	} rows[] = { { SHCA_RECV_BAD, true }, { SHCA_RECV_BROKEN, false } };
	struct fx *fx = test->priv;
	struct shca_resp_attr attr;
	u32 i;

	fx_resp_attr(&attr);
	fx->check = SHCA_MEM_KEY;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		fx_resp_start(fx, &attr);
		fx->recv = rows[i].recv;
		KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_WRITE_ONLY_IMM, P0, 8),
				SHCA_RX_ACCESS);
		KUNIT_EXPECT_EQ(test, fx->out.has_wc, rows[i].has_wc);
		if (fx->out.has_wc)
			KUNIT_EXPECT_EQ(test, fx->out.wc.status,
					SHCA_WC_LOC_ACCESS_ERR);
	}
}

/* One receive request reports it: the one that was taken for it before. */
static void resp_rx_of_write_imm_with_bad_key_uses_receive_taken_ahead(struct kunit *test)
{
	struct fx *fx = test->priv;

	KUNIT_ASSERT_TRUE(test, shca_fast_recv(&fx->resp));
	fx->check = SHCA_MEM_KEY;
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_WRITE_ONLY_IMM, P0, 8),
			SHCA_RX_ACCESS);
	KUNIT_ASSERT_TRUE(test, fx->out.has_wc);
	KUNIT_EXPECT_EQ(test, fx->out.wc.wr_id, 1000ull);
	KUNIT_EXPECT_EQ(test, fx->nr_recv, 1u);
}

static void resp_rx_of_write_checks_once_and_advances(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	fx_request(&pkt, SHCA_OP_WRITE_FIRST, P0, FX_MTU);
	pkt.reth.len = 2 * FX_MTU + 1;
	fx_rx(fx, &pkt);
	KUNIT_EXPECT_EQ(test, fx->last_va, 0x20000ull);
	fx_rx_op(fx, SHCA_OP_WRITE_MIDDLE, P0 + 1, FX_MTU);
	KUNIT_EXPECT_EQ(test, fx->last_va, 0x20100ull);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_WRITE_LAST, P0 + 2, 1),
			SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->last_va, 0x20200ull);
	KUNIT_EXPECT_EQ(test, fx->last_rkey, 0x4321u);
	KUNIT_EXPECT_EQ(test, fx->nr_check, 1u);
	KUNIT_EXPECT_EQ(test, fx->nr_recv, 0u);
	KUNIT_EXPECT_FALSE(test, fx->out.has_wc);
}

struct total_row {
	const char *name;
	u32 announced;
	u8 second;
	u32 len;
};

static const struct total_row total_rows[] = {
	{ "FIRST has it all", 256, SHCA_OP_WRITE_LAST, 1 },
	{ "LAST has too little", 300, SHCA_OP_WRITE_LAST, 43 },
	{ "LAST has too much", 300, SHCA_OP_WRITE_LAST, 45 },
	{ "MIDDLE has the rest", 512, SHCA_OP_WRITE_MIDDLE, 256 },
	{ "MIDDLE has too much", 300, SHCA_OP_WRITE_MIDDLE, 256 },
	{ "more than 2^31", 0x80000001, SHCA_OP_WRITE_MIDDLE, 256 },
};

static void total_desc(const struct total_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(total, total_rows, total_desc);

static void resp_rx_of_write_with_other_total_is_refused(struct kunit *test)
{
	const struct total_row *row = test->param_value;
	struct fx *fx = test->priv;
	struct shca_pkt pkt;
	enum shca_verdict rx;

	fx_request(&pkt, SHCA_OP_WRITE_FIRST, P0, FX_MTU);
	pkt.reth.len = row->announced;
	rx = fx_rx(fx, &pkt);
	if (rx == SHCA_RX_OK)
		rx = fx_rx_op(fx, row->second, P0 + 1, row->len);
	KUNIT_EXPECT_EQ(test, rx, SHCA_RX_INVALID);
	KUNIT_EXPECT_LE(test, fx->nr_write, 1u);
}

static void resp_rx_of_write_only_with_other_total_is_refused(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	fx_request(&pkt, SHCA_OP_WRITE_ONLY, P0, 16);
	pkt.reth.len = 8;
	KUNIT_EXPECT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_INVALID);
	KUNIT_EXPECT_EQ(test, fx->nr_write, 0u);
}

static void resp_rx_of_write_to_region_gone_is_access_error(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	fx_request(&pkt, SHCA_OP_WRITE_FIRST, P0, FX_MTU);
	pkt.reth.len = FX_MTU + 1;
	fx_rx(fx, &pkt);
	fx->write = SHCA_MEM_KEY;
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_WRITE_LAST, P0 + 1, 1),
			SHCA_RX_ACCESS);
	expect_ack(test, P0 + 1, NAK(SHCA_NAK_ACCESS), 0);
}

/* ---- rights of the QP ------------------------------------------------------ */

struct right_row {
	const char *name;
	u8 opcode;
	u32 access;
};

static const struct right_row right_rows[] = {
	{ "WRITE", SHCA_OP_WRITE_ONLY,
	  SHCA_ACCESS_REMOTE_READ | SHCA_ACCESS_REMOTE_ATOMIC },
	{ "WRITE imm", SHCA_OP_WRITE_ONLY_IMM, SHCA_ACCESS_REMOTE_READ },
	{ "READ", SHCA_OP_READ_REQUEST,
	  SHCA_ACCESS_REMOTE_WRITE | SHCA_ACCESS_REMOTE_ATOMIC },
	{ "CmpSwap", SHCA_OP_CMP_SWAP,
	  SHCA_ACCESS_REMOTE_WRITE | SHCA_ACCESS_REMOTE_READ },
	{ "FetchAdd", SHCA_OP_FETCH_ADD, 0 },
	{ "ATOMIC WRITE", SHCA_OP_ATOMIC_WRITE,
	  SHCA_ACCESS_REMOTE_READ | SHCA_ACCESS_REMOTE_ATOMIC },
	{ "FLUSH", SHCA_OP_FLUSH, SHCA_ACCESS_REMOTE_WRITE |
	  SHCA_ACCESS_REMOTE_READ | SHCA_ACCESS_FLUSH_PERSISTENT },
};

static void right_desc(const struct right_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(right, right_rows, right_desc);

static void resp_rx_of_op_not_permitted_is_invalid(struct kunit *test)
{
	const struct right_row *row = test->param_value;
	struct fx *fx = test->priv;
	struct shca_resp_attr attr;

	fx_resp_attr(&attr);
	attr.access = row->access;
	fx_resp_start(fx, &attr);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, row->opcode, P0, 8),
			SHCA_RX_INVALID);
	expect_ack(test, P0, NAK(SHCA_NAK_INVALID), 0);
	fx_resp_start(fx, &attr);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0, 8),
			SHCA_RX_OK);
}

/* ---- sequence -------------------------------------------------------------- */

static void resp_rx_of_gap_draws_one_nak(struct kunit *test)
{
	struct fx *fx = test->priv;

	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + 1, 1),
			SHCA_RX_OUT_OF_SEQ);
	expect_ack(test, P0, NAK(SHCA_NAK_PSN_SEQ), 0);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + 2, 1),
			SHCA_RX_OUT_OF_SEQ);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + 0x7fffff, 1),
			SHCA_RX_OUT_OF_SEQ);
	fx_expect_silence(test);
	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0, 1);
	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + 2, 1);
	expect_ack(test, P0 + 1, NAK(SHCA_NAK_PSN_SEQ), 1);
	KUNIT_EXPECT_EQ(test, fx->nr_recv, 1u);
}

/* A reserved opcode ahead is a gap like any other. */
static void resp_rx_of_reserved_opcode_ahead_is_gap(struct kunit *test)
{
	struct fx *fx = test->priv;

	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, 0x1f, P0 + 1, 0),
			SHCA_RX_OUT_OF_SEQ);
	expect_ack(test, P0, NAK(SHCA_NAK_PSN_SEQ), 0);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, 0x1f, P0 - 1, 0),
			SHCA_RX_DUPLICATE);
	fx_expect_silence(test);
	KUNIT_EXPECT_EQ(test, fx->resp.state, SHCA_SIDE_READY);
}

/* The NAK did not leave before its packet came: it follows the gap. */
static void resp_nak_of_gap_filled_moves_on(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + 2, 1);
	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0, 1);
	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + 1, 1);
	expect_ack(test, P0 + 2, NAK(SHCA_NAK_PSN_SEQ), 2);
	fx_expect_silence(test);
	/* and becomes an acknowledgement when nothing is missing any more */
	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + 3, 1);
	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + 2, 1);
	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + 3, 1);
	KUNIT_EXPECT_EQ(test, fx->resp.epsn, P0 + 4);
	fx_expect_silence(test);
	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + 5, 1);
	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + 4, 1);
	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + 5, 1);
	expect_ack(test, P0 + 5, ACK, 6);
}

struct dup_row {
	const char *name;
	u32 behind;
};

static const struct dup_row dup_rows[] = {
	{ "the last", 1 },
	{ "long ago", 1000 },
	{ "half the space ago", 0x800000 },
};

static void dup_desc(const struct dup_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(dup, dup_rows, dup_desc);

/* C9-105, and only if asked to: an ACK for each would be a storm */
static void resp_rx_of_duplicate_is_acknowledged_on_request(struct kunit *test)
{
	const struct dup_row *row = test->param_value;
	struct fx *fx = test->priv;

	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0, 1);
	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + 1, 1);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_ONLY,
				       P0 + 2 - row->behind, 1),
			SHCA_RX_DUPLICATE);
	fx_expect_silence(test);
	KUNIT_EXPECT_EQ(test, fx_rx_asking(fx, SHCA_OP_WRITE_ONLY,
					   P0 + 2 - row->behind, 1),
			SHCA_RX_DUPLICATE);
	KUNIT_EXPECT_EQ(test, fx->nr_recv, 2u);
	KUNIT_EXPECT_EQ(test, fx->nr_write, 0u);
	expect_ack(test, P0 + 1, ACK, 2);
	fx_expect_silence(test);
}

/* It was counted when it came first, or is yet to come. */
static void resp_rx_counts_payload_of_accepted_requests(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_rx_op(fx, SHCA_OP_WRITE_ONLY, P0, 8);
	KUNIT_EXPECT_EQ(test, fx->resp.stats.rx_bytes, 8ull);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_WRITE_ONLY, P0, 8),
			SHCA_RX_DUPLICATE);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_WRITE_ONLY, P0 + 2, 8),
			SHCA_RX_OUT_OF_SEQ);
	fx->write = SHCA_MEM_RETRY;
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_WRITE_ONLY, P0 + 1, 8),
			SHCA_RX_RETRY);
	KUNIT_EXPECT_EQ(test, fx->resp.stats.rx_bytes, 8ull);
}

static void resp_acks_of_batch_are_one(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_rx_asking(fx, SHCA_OP_SEND_ONLY, P0, 1);
	fx_rx_asking(fx, SHCA_OP_WRITE_ONLY, P0 + 1, 1);
	fx_rx_asking(fx, SHCA_OP_SEND_ONLY, P0 + 2, 1);
	expect_ack(test, P0 + 2, ACK, 3);
	fx_expect_silence(test);
}

/* A requester that did not ask would probe, and the QP would be gone. */
static void resp_flush_acks_acknowledges_what_did_not_ask(struct kunit *test)
{
	struct fx *fx = test->priv;

	KUNIT_EXPECT_FALSE(test, shca_resp_flush_acks(&fx->resp));
	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0, 1);
	fx_rx_op(fx, SHCA_OP_SEND_FIRST, P0 + 1, FX_MTU);
	fx_expect_silence(test);
	KUNIT_EXPECT_TRUE(test, shca_resp_flush_acks(&fx->resp));
	expect_ack(test, P0 + 1, ACK, 1);
	KUNIT_EXPECT_FALSE(test, shca_resp_flush_acks(&fx->resp));
	fx_expect_silence(test);
}

static void resp_flush_acks_after_answer_is_silent(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0, 1);
	fx_rx_asking(fx, SHCA_OP_SEND_ONLY, P0 + 1, 1);
	expect_ack(test, P0 + 1, ACK, 2);
	KUNIT_EXPECT_FALSE(test, shca_resp_flush_acks(&fx->resp));
	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + 2, 1);
	fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0 + 3, 1);
	/* its response is to come, and would be of memory that may go */
	KUNIT_EXPECT_FALSE(test, shca_resp_flush_acks(&fx->resp));
	KUNIT_EXPECT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_FALSE(test, shca_resp_flush_acks(&fx->resp));
	fx_expect_silence(test);
}

static void resp_flush_acks_of_failed_side_is_silent(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0, 1);
	shca_resp_fail(&fx->resp);
	KUNIT_EXPECT_FALSE(test, shca_resp_flush_acks(&fx->resp));
	fx_expect_silence(test);
}

static void resp_rx_across_wrap_goes_on(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_resp_attr attr;

	fx_resp_attr(&attr);
	attr.rq_psn = 0xffffff;
	fx_resp_start(fx, &attr);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_ONLY, 0xffffff, 1),
			SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx_rx_asking(fx, SHCA_OP_SEND_ONLY, 0, 1),
			SHCA_RX_OK);
	expect_ack(test, 0, ACK, 2);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_ONLY, 0xffffff, 1),
			SHCA_RX_DUPLICATE);
}

/* ---- READ ------------------------------------------------------------------ */

static void expect_read(struct kunit *test, u8 opcode, u32 psn, u32 off,
			u32 len)
{
	struct fx *fx = test->priv;

	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, opcode);
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, psn);
	KUNIT_EXPECT_EQ(test, fx->pkt.paylen, len);
	KUNIT_EXPECT_EQ(test, fx->pkt.va, 0x20000ull + off);
	KUNIT_EXPECT_EQ(test, fx->pkt.rkey, 0x4321u);
}

/* A READ request for bytes [@off, 3 * MTU + 9) of 0x20000 */
static enum shca_verdict rx_read(struct fx *fx, u32 psn, u32 off)
{
	struct shca_pkt pkt;

	fx_request(&pkt, SHCA_OP_READ_REQUEST, psn, 3 * FX_MTU + 9 - off);
	pkt.reth.va += off;
	pkt.ackreq = true;
	return fx_rx(fx, &pkt);
}

static void resp_read_is_answered_in_packets(struct kunit *test)
{
	struct fx *fx = test->priv;

	KUNIT_EXPECT_EQ(test, rx_read(fx, P0, 0), SHCA_RX_OK);
	expect_read(test, SHCA_OP_READ_RESP_FIRST, P0, 0, FX_MTU);
	KUNIT_EXPECT_EQ(test, fx->pkt.aeth.syndrome, ACK);
	KUNIT_EXPECT_EQ(test, fx->pkt.aeth.msn, 1u);	/* C9-148 */
	expect_read(test, SHCA_OP_READ_RESP_MIDDLE, P0 + 1, 256, FX_MTU);
	expect_read(test, SHCA_OP_READ_RESP_MIDDLE, P0 + 2, 512, FX_MTU);
	expect_read(test, SHCA_OP_READ_RESP_LAST, P0 + 3, 768, 9);
	KUNIT_EXPECT_EQ(test, fx->pkt.pad, 3);
	/* the response is the acknowledgement */
	fx_expect_silence(test);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + 4, 1),
			SHCA_RX_OK);
}

static void resp_empty_read_is_answered_by_one(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0, 0);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_READ_RESP_ONLY);
	KUNIT_EXPECT_EQ(test, fx->pkt.kind, SHCA_PAY_NONE);
	/* again, with other addresses: they mean nothing */
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0, 0),
			SHCA_RX_DUPLICATE);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0);
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_READ_RESP_ONLY);
}

static void resp_read_longer_than_2_31_is_refused(struct kunit *test)
{
	struct fx *fx = test->priv;

	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0,
				       0x80000001), SHCA_RX_INVALID);
	KUNIT_EXPECT_EQ(test, fx->nr_check, 0u);
}

static void resp_read_of_2_31_spans_half_the_space(struct kunit *test)
{
	struct fx *fx = test->priv;

	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0,
				       0x80000000), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->resp.epsn, P0 + 0x800000);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0,
				       0x80000000), SHCA_RX_DUPLICATE);
}

/* The rest, then the whole: the record of the request is not damaged. */
static void resp_read_again_in_part_then_whole_is_answered(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i;

	rx_read(fx, P0, 0);
	for (i = 0; i < 4; i++)
		fx_answer(fx);
	KUNIT_EXPECT_EQ(test, rx_read(fx, P0 + 2, 512), SHCA_RX_DUPLICATE);
	expect_read(test, SHCA_OP_READ_RESP_FIRST, P0 + 2, 512, FX_MTU);
	expect_read(test, SHCA_OP_READ_RESP_LAST, P0 + 3, 768, 9);
	fx_expect_silence(test);
	KUNIT_EXPECT_EQ(test, rx_read(fx, P0, 0), SHCA_RX_DUPLICATE);
	expect_read(test, SHCA_OP_READ_RESP_FIRST, P0, 0, FX_MTU);
	expect_read(test, SHCA_OP_READ_RESP_MIDDLE, P0 + 1, 256, FX_MTU);
	/* meanwhile the last packet alone */
	KUNIT_EXPECT_EQ(test, rx_read(fx, P0 + 1, 256), SHCA_RX_DUPLICATE);
	expect_read(test, SHCA_OP_READ_RESP_FIRST, P0 + 1, 256, FX_MTU);
	expect_read(test, SHCA_OP_READ_RESP_MIDDLE, P0 + 2, 512, FX_MTU);
	expect_read(test, SHCA_OP_READ_RESP_LAST, P0 + 3, 768, 9);
	fx_expect_silence(test);
	KUNIT_EXPECT_EQ(test, rx_read(fx, P0 + 3, 768), SHCA_RX_DUPLICATE);
	expect_read(test, SHCA_OP_READ_RESP_ONLY, P0 + 3, 768, 9);
}

static void resp_read_again_before_answer_is_not_doubled(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 nr = 0;

	rx_read(fx, P0, 0);
	rx_read(fx, P0, 0);
	rx_read(fx, P0 + 1, 256);
	while (fx_answer(fx))
		nr++;
	KUNIT_EXPECT_EQ(test, nr, 4u);
}

struct other_row {
	const char *name;
	s32 psn;
	s32 va;
	s32 len;
	u32 rkey;
	enum shca_mem_status check;
};

static const struct other_row other_rows[] = {
	{ "other address", 0, 8, 0, 0, SHCA_MEM_OK },
	{ "address of another packet", 1, 0, -256, 0, SHCA_MEM_OK },
	{ "longer", 0, 0, 1, 0, SHCA_MEM_OK },
	{ "shorter", 0, 0, -1, 0, SHCA_MEM_OK },
	{ "other key", 0, 0, 0, 1, SHCA_MEM_OK },
	{ "key revoked", 0, 0, 0, 0, SHCA_MEM_KEY },
	{ "not on record", -1, 0, 0, 0, SHCA_MEM_OK },
};

static void other_desc(const struct other_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(other, other_rows, other_desc);

/* Dropped, not refused: it may be a ghost of what was answered long ago. */
static void resp_read_again_with_other_fields_is_dropped(struct kunit *test)
{
	const struct other_row *row = test->param_value;
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	rx_read(fx, P0, 0);
	while (fx_answer(fx))
		;
	fx->check = row->check;
	fx_request(&pkt, SHCA_OP_READ_REQUEST, P0 + row->psn,
		   3 * FX_MTU + 9 + row->len);
	pkt.reth.va += row->va;
	pkt.reth.rkey += row->rkey;
	KUNIT_EXPECT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_DUPLICATE);
	fx_expect_silence(test);
	KUNIT_EXPECT_EQ(test, fx->resp.state, SHCA_SIDE_READY);
}

/* Its first copy would have been refused. */
static void resp_read_again_with_payload_is_dropped(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0, 8);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	fx_request(&pkt, SHCA_OP_READ_REQUEST, P0, 8);
	pkt.paylen = 4;
	KUNIT_EXPECT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_DUPLICATE);
	fx_expect_silence(test);
}

/*
 * The peer may have the answer already, so nothing is held behind the request: it is told
 * to come again.
 */
static void resp_read_again_with_page_absent_comes_again(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0, 1);
	fx_answer(fx);
	fx->check = SHCA_MEM_RETRY;
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0, 1),
			SHCA_RX_DUPLICATE);
	fx_expect_ack(test, P0, RNR(fx->resp.attr.min_rnr_timer));
	fx_expect_silence(test);
	KUNIT_EXPECT_EQ(test, fx_rx_asking(fx, SHCA_OP_SEND_ONLY, P0 + 1, 8),
			SHCA_RX_OK);
	/* which cannot be told in place of what is owed: then it waits */
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0, 1),
			SHCA_RX_RETRY);
	fx_expect_ack(test, P0 + 1, ACK);
	fx->check = SHCA_MEM_OK;
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0, 1),
			SHCA_RX_DUPLICATE);
	KUNIT_EXPECT_TRUE(test, fx_answer(fx));
}

static void resp_reads_beyond_max_dest_rd_atomic_are_refused(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i;

	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_READ_REQUEST,
					       P0 + i, 1), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0 + 4, 1),
			SHCA_RX_INVALID);
	/* those before are answered first, then comes the refusal */
	for (i = 0; i < 4; i++) {
		KUNIT_ASSERT_TRUE(test, fx_answer(fx));
		KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + i);
		KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_READ_RESP_ONLY);
	}
	expect_ack(test, P0 + 4, NAK(SHCA_NAK_INVALID), 4);
	fx_expect_silence(test);
}

static void resp_reads_once_answered_make_room(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i;

	for (i = 0; i < 20; i++) {
		KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_READ_REQUEST,
					       P0 + i, 1), SHCA_RX_OK);
		KUNIT_ASSERT_TRUE(test, fx_answer(fx));
		KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + i);
	}
	/* the last four are on record, the fifth is not */
	fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0 + 15, 1);
	fx_expect_silence(test);
	fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0 + 16, 1);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + 16);
	/* a repetition in progress is no reason to refuse a new one */
	fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0 + 16, 1);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0 + 20, 1),
			SHCA_RX_OK);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + 20);
	fx_expect_silence(test);
}

/* A ring of four grows after its indices have wrapped, while answers are owed. */
static void resp_larger_ring_keeps_what_is_on_record(struct kunit *test)
{
	struct shca_rd *small, *large;
	struct fx *fx = test->priv;
	u32 i;

	small = kunit_kzalloc(test, 4 * sizeof(*small), GFP_KERNEL);
	large = kunit_kzalloc(test, 8 * sizeof(*large), GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, small && large);
	fx->resp.reads.rd = small;
	fx->resp.reads.mask = 3;
	for (i = 0; i < 9; i++) {
		KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_READ_REQUEST,
					       P0 + i, 1), SHCA_RX_OK);
		if (i < 7)
			KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	}
	shca_resp_move_rd(&fx->resp, large, 8);
	memset(small, 0xff, 4 * sizeof(*small));
	fx->resp.attr.max_dest_rd_atomic = 8;
	for (i = 9; i < 13; i++)
		KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_READ_REQUEST,
					       P0 + i, 1), SHCA_RX_OK);
	for (i = 7; i < 13; i++) {
		KUNIT_ASSERT_TRUE(test, fx_answer(fx));
		KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + i);
	}
	fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0 + 5, 1);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + 5);
}

static void resp_read_without_resources_is_refused(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_resp_attr attr;

	fx_resp_attr(&attr);
	attr.max_dest_rd_atomic = 0;
	fx_resp_start(fx, &attr);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0, 1),
			SHCA_RX_INVALID);
	fx_resp_start(fx, &attr);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_FETCH_ADD, P0, 1),
			SHCA_RX_INVALID);
	KUNIT_EXPECT_EQ(test, fx->nr_atomic, 0u);
}

/* ---- order of answers ------------------------------------------------------ */

static void resp_answers_leave_in_order_of_requests(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_rx_asking(fx, SHCA_OP_SEND_ONLY, P0, 1);
	rx_read(fx, P0 + 1, 0);
	expect_ack(test, P0, ACK, 1);
	expect_read(test, SHCA_OP_READ_RESP_FIRST, P0 + 1, 0, FX_MTU);
	fx_rx_asking(fx, SHCA_OP_SEND_ONLY, P0 + 5, 1);
	expect_read(test, SHCA_OP_READ_RESP_MIDDLE, P0 + 2, 256, FX_MTU);
	expect_read(test, SHCA_OP_READ_RESP_MIDDLE, P0 + 3, 512, FX_MTU);
	expect_read(test, SHCA_OP_READ_RESP_LAST, P0 + 4, 768, 9);
	expect_ack(test, P0 + 5, ACK, 3);
	fx_expect_silence(test);
}

static void resp_gather_failed_becomes_nak_in_its_place(struct kunit *test)
{
	struct fx *fx = test->priv;

	rx_read(fx, P0, 0);
	fx_rx_asking(fx, SHCA_OP_SEND_ONLY, P0 + 4, 1);
	fx_answer(fx);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	shca_resp_gather_failed(&fx->resp, &fx->pkt, SHCA_MEM_KEY, &fx->out);
	KUNIT_EXPECT_EQ(test, fx->out.events, SHCA_EV_ACCESS_ERR);
	KUNIT_EXPECT_EQ(test, fx->resp.state, SHCA_SIDE_ERR);
	expect_ack(test, P0 + 1, NAK(SHCA_NAK_ACCESS), 1);
	fx_expect_silence(test);
}

static void resp_gather_failed_of_repetition_is_dropped(struct kunit *test)
{
	struct fx *fx = test->priv;

	rx_read(fx, P0, 0);
	while (fx_answer(fx))
		;
	rx_read(fx, P0, 0);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	shca_resp_gather_failed(&fx->resp, &fx->pkt, SHCA_MEM_KEY, &fx->out);
	KUNIT_EXPECT_EQ(test, fx->resp.state, SHCA_SIDE_READY);
	fx_expect_silence(test);
}

static void resp_gather_retry_yields_same_packet(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i;

	fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0, 1);
	for (i = 0; i < 3; i++) {
		expect_read(test, SHCA_OP_READ_RESP_ONLY, P0, 0, 1);
		shca_resp_gather_failed(&fx->resp, &fx->pkt, SHCA_MEM_RETRY,
					&fx->out);
	}
	/* not answered yet, so there is no room for a fifth */
	for (i = 1; i < 4; i++)
		fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0 + i, 1);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0 + 4, 1),
			SHCA_RX_INVALID);
	expect_read(test, SHCA_OP_READ_RESP_ONLY, P0, 0, 1);
}

/* A batch that did not leave is told by its first packet. */
static void resp_gather_retry_of_batch_owes_all_again(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt first;
	u32 i;

	fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0, 1);
	fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0 + 1, 1);
	fx_rx_op(fx, SHCA_OP_FETCH_ADD, P0 + 2, 0);
	fx_rx_asking(fx, SHCA_OP_SEND_ONLY, P0 + 3, 1);
	expect_read(test, SHCA_OP_READ_RESP_ONLY, P0, 0, 1);
	for (i = 0; i < 3; i++) {
		expect_read(test, SHCA_OP_READ_RESP_ONLY, P0 + 1, 0, 1);
		first = fx->pkt;
		KUNIT_ASSERT_TRUE(test, fx_answer(fx));
		KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_ATOMIC_ACK);
		expect_ack(test, P0 + 3, ACK, 4);
		fx_expect_silence(test);
		if (i < 2)
			shca_resp_gather_failed(&fx->resp, &first,
						SHCA_MEM_RETRY, &fx->out);
	}
	fx_expect_silence(test);
}

/* A READ request for the packet at byte @off of what rx_read() reads */
static void rx_read_packet(struct fx *fx, u32 psn, u32 off)
{
	struct shca_pkt pkt;

	fx_request(&pkt, SHCA_OP_READ_REQUEST, psn, FX_MTU);
	pkt.reth.va += off;
	fx_rx(fx, &pkt);
}

/* The rest of the response has not left either, whatever part was asked for meanwhile. */
static void resp_link_full_beside_requested_part_sends_all_from_there(struct kunit *test)
{
	static const struct {
		u32 early;
		u32 part;
	} rows[] = { { 1, 2 }, { 2, 1 } };
	struct fx *fx = test->priv;
	struct shca_resp_attr attr;
	struct shca_pkt early;
	u32 i, k;

	fx_resp_attr(&attr);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		fx_resp_start(fx, &attr);
		rx_read(fx, P0, 0);
		for (k = 0; fx_answer(fx); k++) {
			if (k == rows[i].early)
				early = fx->pkt;
		}
		KUNIT_ASSERT_EQ(test, k, 4u);
		rx_read_packet(fx, P0 + rows[i].part, rows[i].part * FX_MTU);
		shca_resp_link_full(&fx->resp, &early);
		for (k = rows[i].early; k < 4; k++) {
			KUNIT_ASSERT_TRUE(test, fx_answer(fx));
			KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + k);
		}
		fx_expect_silence(test);
	}
}

/* No more is sent again than was asked for. */
static void resp_link_full_of_requested_part_sends_that_part(struct kunit *test)
{
	struct fx *fx = test->priv;

	rx_read(fx, P0, 0);
	while (fx_answer(fx))
		;
	rx_read_packet(fx, P0 + 2, 512);
	expect_read(test, SHCA_OP_READ_RESP_ONLY, P0 + 2, 512, FX_MTU);
	shca_resp_link_full(&fx->resp, &fx->pkt);
	expect_read(test, SHCA_OP_READ_RESP_ONLY, P0 + 2, 512, FX_MTU);
	fx_expect_silence(test);
}

/* The rest of the response is of the request before (IBTA 9.7.5.1.1). */
static void resp_rnr_of_read_again_follows_rest_of_response(struct kunit *test)
{
	struct fx *fx = test->priv;

	rx_read(fx, P0, 0);
	expect_read(test, SHCA_OP_READ_RESP_FIRST, P0, 0, FX_MTU);
	fx->check = SHCA_MEM_RETRY;
	KUNIT_EXPECT_EQ(test, rx_read(fx, P0, 0), SHCA_RX_DUPLICATE);
	expect_read(test, SHCA_OP_READ_RESP_MIDDLE, P0 + 1, 256, FX_MTU);
	expect_read(test, SHCA_OP_READ_RESP_MIDDLE, P0 + 2, 512, FX_MTU);
	expect_read(test, SHCA_OP_READ_RESP_LAST, P0 + 3, 768, 9);
	fx_expect_ack(test, P0, RNR(fx->resp.attr.min_rnr_timer));
}

/* 2^23 PSNs lie between the first of the READ and the acknowledgement. */
static void resp_ack_after_largest_read_waits(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0, 0x80000000);
	KUNIT_EXPECT_EQ(test, fx_rx_asking(fx, SHCA_OP_SEND_ONLY,
					   P0 + 0x800000, 1), SHCA_RX_OK);
	expect_read(test, SHCA_OP_READ_RESP_FIRST, P0, 0, FX_MTU);
	expect_read(test, SHCA_OP_READ_RESP_MIDDLE, P0 + 1, 256, FX_MTU);
}

/* ---- atomics --------------------------------------------------------------- */

static void resp_atomic_again_replays_result(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i;

	fx->atomic_value = 42;
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_FETCH_ADD, P0, 0),
				i ? SHCA_RX_DUPLICATE : SHCA_RX_OK);
		KUNIT_ASSERT_TRUE(test, fx_answer(fx));
		KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_ATOMIC_ACK);
		KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0);
		KUNIT_EXPECT_EQ(test, fx->pkt.atomic_ack, 42ull);
		KUNIT_EXPECT_EQ(test, fx->pkt.aeth.syndrome, ACK);
		KUNIT_EXPECT_EQ(test, fx->pkt.aeth.msn, 1u);
		fx_expect_silence(test);
	}
	KUNIT_EXPECT_EQ(test, fx->nr_atomic, 1u);
}

static void resp_atomic_misaligned_is_invalid(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;
	u32 i;

	for (i = 1; i < 8; i++) {
		struct shca_resp_attr attr;

		fx_resp_attr(&attr);
		fx_resp_start(fx, &attr);
		fx_request(&pkt, SHCA_OP_CMP_SWAP, P0, 0);
		pkt.atomic.va += i;
		KUNIT_EXPECT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_INVALID);
	}
	KUNIT_EXPECT_EQ(test, fx->nr_atomic, 0u);
}

/* ---- FLUSH and ATOMIC WRITE ------------------------------------------------ */

static const u8 bare_ops[] = { SHCA_OP_FLUSH, SHCA_OP_ATOMIC_WRITE };

/* Done once, answered each time, by a READ response of nothing (A19.4). */
static void resp_bare_again_is_answered_not_done(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 op, i;

	for (op = 0; op < ARRAY_SIZE(bare_ops); op++) {
		for (i = 0; i < 3; i++) {
			KUNIT_EXPECT_EQ(test, fx_rx_op(fx, bare_ops[op],
						       P0 + op, 8),
					i ? SHCA_RX_DUPLICATE : SHCA_RX_OK);
			KUNIT_ASSERT_TRUE(test, fx_answer(fx));
			KUNIT_EXPECT_EQ(test, fx->pkt.opcode,
					SHCA_OP_READ_RESP_ONLY);
			KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + op);
			KUNIT_EXPECT_EQ(test, fx->pkt.paylen, 0u);
			KUNIT_EXPECT_EQ(test, fx->pkt.aeth.syndrome, ACK);
			KUNIT_EXPECT_EQ(test, fx->pkt.aeth.msn, op + 1);
			fx_expect_silence(test);
		}
	}
	KUNIT_EXPECT_EQ(test, fx->nr_flush, 1u);
	KUNIT_EXPECT_EQ(test, fx->nr_atomic_write, 1u);
}

/* The record is neither a READ's nor that of the other kind. */
static void resp_bare_again_as_another_is_dropped(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_rx_op(fx, SHCA_OP_FLUSH, P0, 0);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	fx_rx_op(fx, SHCA_OP_ATOMIC_WRITE, P0, 8);
	fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0, 0);
	fx_rx_op(fx, SHCA_OP_FETCH_ADD, P0, 0);
	fx_expect_silence(test);
}

/* Behind a READ, before an acknowledgement: in the order of the requests. */
static void resp_bare_is_answered_in_order(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0, 1);
	fx_rx_op(fx, SHCA_OP_FLUSH, P0 + 1, 8);
	fx_rx_asking(fx, SHCA_OP_SEND_ONLY, P0 + 2, 1);
	expect_read(test, SHCA_OP_READ_RESP_ONLY, P0, 0, 1);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + 1);
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_READ_RESP_ONLY);
	expect_ack(test, P0 + 2, ACK, 3);
}

struct bare_bad_row {
	const char *name;
	u8 opcode;
	u64 va;
	u32 len;
	u8 type;
	u8 level;
};

static const struct bare_bad_row bare_bad_rows[] = {
	{ "misaligned", SHCA_OP_ATOMIC_WRITE, 0x20004, 8, 1, 0 },
	{ "misaligned by one", SHCA_OP_ATOMIC_WRITE, 0x20001, 8, 1, 0 },
	{ "announces nine", SHCA_OP_ATOMIC_WRITE, 0x20000, 9, 1, 0 },
	{ "no type", SHCA_OP_FLUSH, 0x20000, 8, 0, 0 },
	{ "no known type", SHCA_OP_FLUSH, 0x20000, 8, 4, 0 },
	{ "unknown level", SHCA_OP_FLUSH, 0x20000, 8, 1, 2 },
};

static void bare_bad_desc(const struct bare_bad_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(bare_bad, bare_bad_rows, bare_bad_desc);

static void resp_rx_of_bad_bare_is_invalid(struct kunit *test)
{
	const struct bare_bad_row *row = test->param_value;
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	fx_request(&pkt, row->opcode, P0, 8);
	pkt.reth.va = row->va;
	pkt.reth.len = row->len;
	pkt.feth.type = row->type;
	pkt.feth.level = row->level;
	KUNIT_EXPECT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_INVALID);
	KUNIT_EXPECT_EQ(test, fx->nr_flush + fx->nr_atomic_write, 0u);
	expect_ack(test, P0, NAK(SHCA_NAK_INVALID), 0);
}

/* ---- congestion, events, state ---------------------------------------------- */

static void resp_ce_mark_draws_cnp_at_most_each_50_us(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_resp_attr attr;
	struct shca_pkt pkt;
	u32 i, cnps = 0;

	fx_resp_attr(&attr);
	attr.cnp = true;
	attr.cnp_interval_ns = 50000;
	fx_resp_start(fx, &attr);
	for (i = 0; i < 100; i++) {
		fx_request(&pkt, SHCA_OP_SEND_ONLY, P0 + i, 1);
		pkt.path.ecn_ce = true;
		fx_rx(fx, &pkt);
		while (fx_answer(fx)) {
			KUNIT_EXPECT_EQ(test, fx->pkt.opcode,
					SHCA_OPCODE_CNP);
			cnps++;
		}
		fx->now += 1000;
	}
	KUNIT_EXPECT_EQ(test, cnps, 2u);
}

static void resp_ce_mark_by_default_is_ignored(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	fx_request(&pkt, SHCA_OP_SEND_ONLY, P0, 1);
	pkt.path.ecn_ce = true;
	fx_rx(fx, &pkt);
	fx_expect_silence(test);
}

static void resp_first_packet_establishes_once(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0, 1);
	KUNIT_EXPECT_EQ(test, fx->out.events, SHCA_EV_COMM_EST);
	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + 1, 1);
	KUNIT_EXPECT_EQ(test, fx->out.events, 0u);
}

/* A first packet with another PSN is told, and so is the end of that. */
static void resp_first_packet_with_another_psn_is_told(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + 7, 1);
	KUNIT_EXPECT_EQ(test, fx->out.events, SHCA_EV_COMM_EST | SHCA_EV_PSN);
	KUNIT_EXPECT_EQ(test, fx->resp.first_psn, P0 + 7u);
	KUNIT_EXPECT_FALSE(test, fx->resp.comm_est);
	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + 8, 1);
	KUNIT_EXPECT_EQ(test, fx->out.events, 0u);
	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0, 1);
	KUNIT_EXPECT_EQ(test, fx->out.events, SHCA_EV_PSN);
	KUNIT_EXPECT_TRUE(test, fx->resp.comm_est);
	KUNIT_EXPECT_EQ(test, fx->resp.first_psn, P0 + 7u);
	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + 1, 1);
	KUNIT_EXPECT_EQ(test, fx->out.events, 0u);
}

static void resp_fail_silences_and_flushes_once(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_rx_asking(fx, SHCA_OP_SEND_FIRST, P0, FX_MTU);
	shca_resp_fail(&fx->resp);
	fx_expect_silence(test);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_LAST, P0 + 1, 1),
			SHCA_RX_STATE);
	KUNIT_ASSERT_TRUE(test, shca_resp_flush(&fx->resp, &fx->wc));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, fx->wc.wr_id, 1000ull);
	KUNIT_EXPECT_FALSE(test, shca_resp_flush(&fx->resp, &fx->wc));
}

/* The glue moves the whole QP to ERR after a refusal; the NAK still leaves. */
static void resp_fail_after_refusal_keeps_nak(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0, 1);
	fx_rx_op(fx, 0x1f, P0 + 1, 0);
	shca_resp_fail(&fx->resp);
	expect_read(test, SHCA_OP_READ_RESP_ONLY, P0, 0, 1);
	expect_ack(test, P0 + 1, NAK(SHCA_NAK_INVALID), 1);
	fx_expect_silence(test);
}

static void resp_rx_in_reset_is_dropped(struct kunit *test)
{
	struct fx *fx = test->priv;

	shca_resp_reset(&fx->resp);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0, 1),
			SHCA_RX_STATE);
	fx_expect_silence(test);
}

static struct kunit_case responder_cases[] = {
	KUNIT_CASE_PARAM(resp_rx_of_each_opcode_after_each_follows_rules,
			 seq_gen_params),
	KUNIT_CASE(resp_rx_of_other_transport_is_dropped),
	KUNIT_CASE_PARAM(resp_rx_of_packet_length_follows_rules,
			 len_gen_params),
	KUNIT_CASE_PARAM(resp_rx_of_pad_follows_rules, pad_gen_params),
	KUNIT_CASE(resp_rx_of_send_fills_receive),
	KUNIT_CASE(resp_rx_of_send_longer_than_buffer_is_refused),
	KUNIT_CASE(resp_rx_of_send_into_bad_lkey_is_operational),
	KUNIT_CASE(resp_rx_of_malformed_receive_is_operational),
	KUNIT_CASE(resp_rx_of_broken_receive_queue_is_fatal),
	KUNIT_CASE(resp_rx_with_page_absent_keeps_receive),
	KUNIT_CASE(resp_rx_of_send_inv_invalidates),
	KUNIT_CASE(resp_rx_without_receive_is_rnr_then_silent),
	KUNIT_CASE(resp_rx_of_write_imm_without_receive_is_rnr),
	KUNIT_CASE(resp_rx_of_empty_write_ignores_key),
	KUNIT_CASE_PARAM(resp_rx_of_bad_key_is_access_error, key_gen_params),
	KUNIT_CASE(resp_rx_of_write_imm_with_bad_key_without_receive),
	KUNIT_CASE(resp_rx_of_write_imm_with_bad_key_and_bad_receive),
	KUNIT_CASE(resp_rx_of_write_imm_with_bad_key_uses_receive_taken_ahead),
	KUNIT_CASE(resp_rx_of_write_checks_once_and_advances),
	KUNIT_CASE_PARAM(resp_rx_of_write_with_other_total_is_refused,
			 total_gen_params),
	KUNIT_CASE(resp_rx_of_write_only_with_other_total_is_refused),
	KUNIT_CASE(resp_rx_of_write_to_region_gone_is_access_error),
	KUNIT_CASE_PARAM(resp_rx_of_op_not_permitted_is_invalid,
			 right_gen_params),
	KUNIT_CASE(resp_rx_of_gap_draws_one_nak),
	KUNIT_CASE(resp_rx_of_reserved_opcode_ahead_is_gap),
	KUNIT_CASE(resp_nak_of_gap_filled_moves_on),
	KUNIT_CASE_PARAM(resp_rx_of_duplicate_is_acknowledged_on_request,
			 dup_gen_params),
	KUNIT_CASE(resp_rx_counts_payload_of_accepted_requests),
	KUNIT_CASE(resp_acks_of_batch_are_one),
	KUNIT_CASE(resp_flush_acks_acknowledges_what_did_not_ask),
	KUNIT_CASE(resp_flush_acks_after_answer_is_silent),
	KUNIT_CASE(resp_flush_acks_of_failed_side_is_silent),
	KUNIT_CASE(resp_rx_across_wrap_goes_on),
	KUNIT_CASE(resp_read_is_answered_in_packets),
	KUNIT_CASE(resp_empty_read_is_answered_by_one),
	KUNIT_CASE(resp_read_longer_than_2_31_is_refused),
	KUNIT_CASE(resp_read_of_2_31_spans_half_the_space),
	KUNIT_CASE(resp_read_again_in_part_then_whole_is_answered),
	KUNIT_CASE(resp_read_again_before_answer_is_not_doubled),
	KUNIT_CASE_PARAM(resp_read_again_with_other_fields_is_dropped,
			 other_gen_params),
	KUNIT_CASE(resp_read_again_with_payload_is_dropped),
	KUNIT_CASE(resp_read_again_with_page_absent_comes_again),
	KUNIT_CASE(resp_reads_beyond_max_dest_rd_atomic_are_refused),
	KUNIT_CASE(resp_larger_ring_keeps_what_is_on_record),
	KUNIT_CASE(resp_reads_once_answered_make_room),
	KUNIT_CASE(resp_read_without_resources_is_refused),
	KUNIT_CASE(resp_answers_leave_in_order_of_requests),
	KUNIT_CASE(resp_gather_failed_becomes_nak_in_its_place),
	KUNIT_CASE(resp_gather_failed_of_repetition_is_dropped),
	KUNIT_CASE(resp_gather_retry_yields_same_packet),
	KUNIT_CASE(resp_gather_retry_of_batch_owes_all_again),
	KUNIT_CASE(resp_link_full_beside_requested_part_sends_all_from_there),
	KUNIT_CASE(resp_link_full_of_requested_part_sends_that_part),
	KUNIT_CASE(resp_rnr_of_read_again_follows_rest_of_response),
	KUNIT_CASE(resp_ack_after_largest_read_waits),
	KUNIT_CASE(resp_atomic_again_replays_result),
	KUNIT_CASE(resp_atomic_misaligned_is_invalid),
	KUNIT_CASE(resp_bare_again_is_answered_not_done),
	KUNIT_CASE(resp_bare_again_as_another_is_dropped),
	KUNIT_CASE(resp_bare_is_answered_in_order),
	KUNIT_CASE_PARAM(resp_rx_of_bad_bare_is_invalid, bare_bad_gen_params),
	KUNIT_CASE(resp_ce_mark_draws_cnp_at_most_each_50_us),
	KUNIT_CASE(resp_ce_mark_by_default_is_ignored),
	KUNIT_CASE(resp_first_packet_establishes_once),
	KUNIT_CASE(resp_first_packet_with_another_psn_is_told),
	KUNIT_CASE(resp_fail_silences_and_flushes_once),
	KUNIT_CASE(resp_fail_after_refusal_keeps_nak),
	KUNIT_CASE(resp_rx_in_reset_is_dropped),
	{}
};

static struct kunit_suite responder_suite = {
	.name = "softhca_responder",
	.init = fx_init,
	.test_cases = responder_cases,
};

kunit_test_suites(&responder_suite);
