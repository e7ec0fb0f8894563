// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What is received and not acknowledged (UC, UD, RAW_PACKET).  Rows cover each
 * field of its completion, and each way in which memory or a receive request can
 * fail.  They also cover UC messages with wrong packets.
 */
#include "fixture.h"

#define UC(op)	(SHCA_TRANSPORT_UC | SHCA_OP_##op)
#define UD(op)	(SHCA_TRANSPORT_UD | SHCA_OP_##op)
#define FRAME	(SHCA_TRANSPORT_RAW | SHCA_OP_SEND_ONLY)
#define P0	FX_RQ_PSN
#define QKEY	0x11111111u

static void start(struct fx *fx, u8 transport)
{
	struct shca_resp_attr attr;

	fx_resp_attr(&attr);
	attr.transport = transport;
	attr.qkey = QKEY;
	fx_resp_start(fx, &attr);
}

static void make(struct shca_pkt *pkt, u8 opcode, u32 psn, u32 len)
{
	fx_request(pkt, opcode, psn, len);
	pkt->paylen = len;
	pkt->pad = shca_hdr_pad(len);
	pkt->deth.qkey = QKEY;
	pkt->deth.sqpn = 0x321;
}

static enum shca_verdict rx(struct fx *fx, u8 opcode, u32 psn, u32 len)
{
	struct shca_pkt pkt;

	make(&pkt, opcode, psn, len);
	return fx_rx(fx, &pkt);
}

/* ---- completions -------------------------------------------------------------- */

struct kind_row {
	const char *name;
	u8 opcode;
	u32 len;
	u32 byte_len;
	u8 wc;
	u16 wc_flags;
};

static const struct kind_row kind_rows[] = {
	{ "UC SEND", UC(SEND_ONLY), 60, 60, SHCA_WC_RECV, 0 },
	{ "UC SEND of nothing", UC(SEND_ONLY), 0, 0, SHCA_WC_RECV, 0 },
	{ "UC SEND imm", UC(SEND_ONLY_IMM), 60, 60, SHCA_WC_RECV,
	  SHCA_WC_WITH_IMM },
	{ "UC WRITE imm", UC(WRITE_ONLY_IMM), 60, 60,
	  SHCA_WC_RECV_RDMA_WITH_IMM, SHCA_WC_WITH_IMM },
	{ "UD SEND", UD(SEND_ONLY), 60, 100, SHCA_WC_RECV, SHCA_WC_GRH },
	{ "UD SEND of nothing", UD(SEND_ONLY), 0, 40, SHCA_WC_RECV,
	  SHCA_WC_GRH },
	{ "UD SEND imm", UD(SEND_ONLY_IMM), 60, 100, SHCA_WC_RECV,
	  SHCA_WC_GRH | SHCA_WC_WITH_IMM },
	{ "frame", FRAME, 60, 60, SHCA_WC_RECV, 0 },
};

static void kind_desc(const struct kind_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(kind, kind_rows, kind_desc);

static bool is_ud(u8 opcode)
{
	return (opcode & SHCA_TRANSPORT_MASK) == SHCA_TRANSPORT_UD;
}

/* IBTA 11.4.2.1: all that a completion tells, and nothing of what it does not know. */
static void unr_completion_tells_all_of_its_message(struct kunit *test)
{
	const struct kind_row *row = test->param_value;
	struct fx *fx = test->priv;
	struct shca_wc want;
	struct shca_pkt pkt;
	u32 se;

	for (se = 0; se < 2; se++) {
		start(fx, row->opcode & SHCA_TRANSPORT_MASK);
		make(&pkt, row->opcode, P0, row->len);
		pkt.se = se;
		pkt.path.grh_present = is_ud(row->opcode);
		pkt.path.sl = 5;
		pkt.path.vlan = 77;
		KUNIT_ASSERT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_OK);
		memset(&want, 0, sizeof(want));
		want.is_recv = true;
		want.wr_id = 1000 + se;
		want.opcode = row->wc;
		want.byte_len = row->byte_len;
		want.solicited = se;
		want.wc_flags = row->wc_flags;
		if (row->wc_flags & SHCA_WC_WITH_IMM)
			want.imm = 0x01020304;
		if (is_ud(row->opcode)) {
			want.src_qp = 0x321;
			want.has_path = true;
			want.path = pkt.path;
		}
		KUNIT_ASSERT_TRUE(test, fx->out.has_wc);
		KUNIT_EXPECT_MEMEQ(test, &fx->out.wc, &want, sizeof(want));
		KUNIT_EXPECT_EQ(test, fx->resp.msn, 1u);
		/* where it was placed, if there was anything to place */
		KUNIT_EXPECT_EQ(test, fx->resp.recv, SHCA_RECV_EMPTY);
		fx_expect_silence(test);
	}
}

/* Where nothing comes there is nothing to place, but for the GRH. */
static void unr_message_of_nothing_touches_no_payload(struct kunit *test)
{
	struct fx *fx = test->priv;

	start(fx, SHCA_TRANSPORT_UC);
	KUNIT_EXPECT_EQ(test, rx(fx, UC(SEND_ONLY), P0, 0), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, rx(fx, UC(WRITE_ONLY), P0 + 1, 0), SHCA_RX_OK);
	start(fx, SHCA_TRANSPORT_UD);
	fx->recv_len = 40;
	KUNIT_EXPECT_EQ(test, rx(fx, UD(SEND_ONLY), 0, 0), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->out.wc.wc_flags, 0u);
	KUNIT_EXPECT_EQ(test, fx->nr_scatter + fx->nr_write + fx->nr_check, 0u);
	KUNIT_EXPECT_EQ(test, fx->nr_grh, 1u);
}

/* ---- receive requests and memory that fail ----------------------------------------- */

static void unr_bad_receive_completes_and_ends(struct kunit *test)
{
	const struct kind_row *row = test->param_value;
	struct fx *fx = test->priv;

	start(fx, row->opcode & SHCA_TRANSPORT_MASK);
	fx->resp.comm_est = true;
	fx->recv = SHCA_RECV_BAD;
	KUNIT_EXPECT_EQ(test, rx(fx, row->opcode, P0, row->len),
			SHCA_RX_OPERATION);
	KUNIT_EXPECT_EQ(test, fx->resp.state, SHCA_SIDE_ERR);
	KUNIT_ASSERT_TRUE(test, fx->out.has_wc);
	KUNIT_EXPECT_TRUE(test, fx->out.wc.is_recv);
	KUNIT_EXPECT_EQ(test, fx->out.wc.wr_id, 1000ull);
	KUNIT_EXPECT_EQ(test, fx->out.wc.opcode, SHCA_WC_RECV);
	KUNIT_EXPECT_EQ(test, fx->out.wc.status, SHCA_WC_LOC_QP_OP_ERR);
	KUNIT_EXPECT_EQ(test, fx->out.wc.vendor_err, SHCA_VERR_WQE);
	KUNIT_EXPECT_EQ(test, fx->out.events, 0u);
	KUNIT_EXPECT_EQ(test, fx->resp.recv, SHCA_RECV_EMPTY);
}

static void unr_broken_receive_queue_is_fatal(struct kunit *test)
{
	const struct kind_row *row = test->param_value;
	struct fx *fx = test->priv;

	start(fx, row->opcode & SHCA_TRANSPORT_MASK);
	fx->resp.comm_est = true;
	fx->recv = SHCA_RECV_BROKEN;
	KUNIT_EXPECT_EQ(test, rx(fx, row->opcode, P0, row->len),
			SHCA_RX_OPERATION);
	KUNIT_EXPECT_EQ(test, fx->resp.state, SHCA_SIDE_ERR);
	KUNIT_EXPECT_FALSE(test, fx->out.has_wc);
	KUNIT_EXPECT_EQ(test, fx->out.events, SHCA_EV_FATAL);
}

static void unr_without_receive_is_dropped(struct kunit *test)
{
	const struct kind_row *row = test->param_value;
	struct fx *fx = test->priv;

	start(fx, row->opcode & SHCA_TRANSPORT_MASK);
	fx->recvs = 0;
	KUNIT_EXPECT_EQ(test, rx(fx, row->opcode, P0, row->len), SHCA_RX_RNR);
	KUNIT_EXPECT_EQ(test, fx->resp.state, SHCA_SIDE_READY);
	KUNIT_EXPECT_FALSE(test, fx->out.has_wc);
	KUNIT_EXPECT_EQ(test, fx->nr_scatter + fx->nr_grh + fx->nr_write, 0u);
	fx_expect_silence(test);
	fx->recvs = 1;
	KUNIT_EXPECT_EQ(test, rx(fx, row->opcode, P0 + 1, row->len),
			SHCA_RX_OK);
}

struct memory_row {
	const char *name;
	u8 opcode;
	u32 len;
	bool grh;	/* it is the GRH that finds no place */
	enum shca_mem_status status;
	u16 vendor_err;
};

static const struct memory_row memory_rows[] = {
	{ "UC, key", UC(SEND_ONLY), 8, false, SHCA_MEM_KEY, SHCA_VERR_KEY },
	{ "UC, right", UC(SEND_ONLY), 8, false, SHCA_MEM_ACCESS,
	  SHCA_VERR_ACCESS },
	{ "UC, range", UC(SEND_FIRST), FX_MTU, false, SHCA_MEM_RANGE,
	  SHCA_VERR_RANGE },
	{ "UD, GRH", UD(SEND_ONLY), 8, true, SHCA_MEM_KEY, SHCA_VERR_KEY },
	{ "UD, GRH alone", UD(SEND_ONLY), 0, true, SHCA_MEM_RANGE,
	  SHCA_VERR_RANGE },
	{ "UD, payload", UD(SEND_ONLY), 8, false, SHCA_MEM_ACCESS,
	  SHCA_VERR_ACCESS },
	{ "frame", FRAME, 60, false, SHCA_MEM_RANGE, SHCA_VERR_RANGE },
};

static void memory_desc(const struct memory_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(memory, memory_rows, memory_desc);

static void set_memory(struct fx *fx, const struct memory_row *row,
		       enum shca_mem_status status)
{
	if (row->grh)
		fx->store = status;
	else
		fx->scatter = status;
}

/* The consumer has named memory that it may not write: its queue is in error. */
static void unr_memory_that_is_refused_ends(struct kunit *test)
{
	const struct memory_row *row = test->param_value;
	struct fx *fx = test->priv;

	start(fx, row->opcode & SHCA_TRANSPORT_MASK);
	set_memory(fx, row, row->status);
	KUNIT_EXPECT_EQ(test, rx(fx, row->opcode, P0, row->len),
			SHCA_RX_OPERATION);
	KUNIT_EXPECT_EQ(test, fx->resp.state, SHCA_SIDE_ERR);
	KUNIT_ASSERT_TRUE(test, fx->out.has_wc);
	KUNIT_EXPECT_EQ(test, fx->out.wc.status, SHCA_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_EQ(test, fx->out.wc.vendor_err, row->vendor_err);
	KUNIT_EXPECT_EQ(test, fx->out.wc.wr_id, 1000ull);
	KUNIT_EXPECT_EQ(test, fx->nr_scatter, !row->grh);
	/* it has completed, and so is not flushed */
	KUNIT_EXPECT_FALSE(test, shca_resp_flush(&fx->resp, &fx->wc));
}

/* Not there yet: the same packet comes again and finds the same receive. */
static void unr_memory_that_is_absent_is_waited_for(struct kunit *test)
{
	const struct memory_row *row = test->param_value;
	struct fx *fx = test->priv;
	u32 i;

	start(fx, row->opcode & SHCA_TRANSPORT_MASK);
	set_memory(fx, row, SHCA_MEM_RETRY);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, rx(fx, row->opcode, P0, row->len),
				SHCA_RX_RETRY);
		KUNIT_EXPECT_FALSE(test, fx->out.has_wc);
		KUNIT_EXPECT_EQ(test, fx->resp.msn, 0u);
	}
	set_memory(fx, row, SHCA_MEM_OK);
	KUNIT_EXPECT_EQ(test, rx(fx, row->opcode, P0, row->len), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->nr_recv, 1u);
}

/* ---- UD -------------------------------------------------------------------------------- */

static void ud_packet_that_is_no_send_is_dropped(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 op;

	start(fx, SHCA_TRANSPORT_UD);
	for (op = 0; op < 32; op++) {
		if (op == SHCA_OP_SEND_ONLY || op == SHCA_OP_SEND_ONLY_IMM)
			continue;
		KUNIT_EXPECT_EQ(test, rx(fx, SHCA_TRANSPORT_UD | op, 0, 8),
				SHCA_RX_DROPPED);
	}
	KUNIT_EXPECT_EQ(test, fx->nr_recv + fx->nr_grh + fx->nr_scatter, 0u);
}

/* ---- UC: sequence ------------------------------------------------------------------------ */

static void uc_first_packet_establishes_communication(struct kunit *test)
{
	struct fx *fx = test->priv;

	start(fx, SHCA_TRANSPORT_UC);
	KUNIT_EXPECT_EQ(test, rx(fx, UC(SEND_LAST), P0, 8), SHCA_RX_DROPPED);
	KUNIT_EXPECT_EQ(test, fx->out.events, SHCA_EV_COMM_EST);
	KUNIT_EXPECT_EQ(test, rx(fx, UC(SEND_ONLY), P0 + 1, 8), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->out.events, 0u);
}

/* A message goes on with its own kind, at its own place, and up to its end. */
static void uc_packet_that_does_not_follow_is_dropped(struct kunit *test)
{
	static const struct {
		u8 first, next;
		u32 skip;
		bool ok;
	} rows[] = {
		{ UC(SEND_FIRST), UC(SEND_MIDDLE), 0, true },
		{ UC(SEND_FIRST), UC(SEND_MIDDLE), 1, false },
		{ UC(SEND_FIRST), UC(WRITE_MIDDLE), 0, false },
		{ UC(SEND_ONLY), UC(SEND_MIDDLE), 0, false },
		{ UC(WRITE_FIRST), UC(WRITE_MIDDLE), 0, true },
		{ UC(WRITE_FIRST), UC(WRITE_MIDDLE), 1, false },
		{ UC(WRITE_FIRST), UC(SEND_MIDDLE), 0, false },
	};
	struct fx *fx = test->priv;
	struct shca_pkt pkt;
	u32 i, before;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		start(fx, SHCA_TRANSPORT_UC);
		make(&pkt, rows[i].first, P0, FX_MTU);
		pkt.reth.len = 4 * FX_MTU;
		KUNIT_ASSERT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_OK);
		before = fx->nr_scatter + fx->nr_write;
		KUNIT_EXPECT_EQ(test, rx(fx, rows[i].next, P0 + 1 + rows[i].skip,
					 FX_MTU),
				rows[i].ok ? SHCA_RX_OK : SHCA_RX_DROPPED);
		KUNIT_EXPECT_EQ(test, fx->nr_scatter + fx->nr_write,
				before + rows[i].ok);
		/* what has broken does not go on, wherever the PSN goes on */
		KUNIT_EXPECT_EQ(test, rx(fx, rows[i].first == UC(WRITE_FIRST) ?
					 UC(WRITE_MIDDLE) : UC(SEND_MIDDLE),
					 P0 + 2 + rows[i].skip, FX_MTU),
				rows[i].ok ? SHCA_RX_OK : SHCA_RX_DROPPED);
	}
}

/* After a message that broke the next one goes through, however many packets it has. */
static void uc_message_after_a_broken_one_is_whole(struct kunit *test)
{
	struct fx *fx = test->priv;

	start(fx, SHCA_TRANSPORT_UC);
	KUNIT_EXPECT_EQ(test, rx(fx, UC(SEND_LAST), P0, 8), SHCA_RX_DROPPED);
	KUNIT_EXPECT_EQ(test, rx(fx, UC(SEND_FIRST), P0 + 1, FX_MTU),
			SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, rx(fx, UC(SEND_MIDDLE), P0 + 2, FX_MTU),
			SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, rx(fx, UC(SEND_LAST), P0 + 3, 8), SHCA_RX_OK);
}

/* An operation that UC does not have goes on with nothing. */
static void uc_packet_of_another_service_is_dropped(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;
	u32 op;

	for (op = SHCA_OP_READ_REQUEST; op < 32; op++) {
		start(fx, SHCA_TRANSPORT_UC);
		make(&pkt, UC(WRITE_FIRST), P0, FX_MTU);
		pkt.reth.len = 8 * FX_MTU;
		KUNIT_ASSERT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_OK);
		KUNIT_ASSERT_EQ(test, rx(fx, UC(SEND_ONLY), P0 + 1, 8),
				SHCA_RX_OK);
		fx->nr_write = 0;
		KUNIT_EXPECT_EQ(test, rx(fx, SHCA_TRANSPORT_UC | op, P0 + 2,
					 FX_MTU), SHCA_RX_DROPPED);
		KUNIT_EXPECT_EQ(test, fx->nr_write, 0u);
	}
}

/* Each packet is placed behind the one before it; one may stand for several PSNs. */
static void uc_message_is_placed_in_order(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	start(fx, SHCA_TRANSPORT_UC);
	rx(fx, UC(SEND_FIRST), P0, FX_MTU);
	KUNIT_EXPECT_EQ(test, fx->last_off, 0u);
	make(&pkt, UC(SEND_MIDDLE), P0 + 1, 2 * FX_MTU);
	pkt.span = 1;
	KUNIT_EXPECT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->last_off, (u32)FX_MTU);
	KUNIT_EXPECT_EQ(test, rx(fx, UC(SEND_LAST), P0 + 3, 5), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->last_off, 3u * FX_MTU);
	KUNIT_EXPECT_EQ(test, fx->out.wc.byte_len, 3u * FX_MTU + 5);
	/* and the next one begins at its beginning */
	rx(fx, UC(SEND_ONLY), P0 + 4, 7);
	KUNIT_EXPECT_EQ(test, fx->last_off, 0u);
	KUNIT_EXPECT_EQ(test, fx->out.wc.byte_len, 7u);

	make(&pkt, UC(WRITE_FIRST), P0 + 5, FX_MTU);
	pkt.reth.len = 3 * FX_MTU + 5;
	KUNIT_EXPECT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->last_va, 0x20000ull);
	KUNIT_EXPECT_EQ(test, fx->last_rkey, 0x4321u);
	make(&pkt, UC(WRITE_MIDDLE), P0 + 6, 2 * FX_MTU);
	pkt.span = 1;
	KUNIT_EXPECT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->last_va, 0x20000ull + FX_MTU);
	KUNIT_EXPECT_EQ(test, rx(fx, UC(WRITE_LAST_IMM), P0 + 8, 5),
			SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->last_va, 0x20000ull + 3 * FX_MTU);
	KUNIT_EXPECT_EQ(test, fx->last_len, 5u);
	KUNIT_EXPECT_EQ(test, fx->out.wc.byte_len, 3u * FX_MTU + 5);
}

/* IBTA 9.7.4.1.6 holds for UC as well: a packet that is not the last one is full. */
static void uc_packet_of_a_wrong_length_is_dropped(struct kunit *test)
{
	struct fx *fx = test->priv;

	start(fx, SHCA_TRANSPORT_UC);
	KUNIT_EXPECT_EQ(test, rx(fx, UC(SEND_FIRST), P0, FX_MTU - 4),
			SHCA_RX_DROPPED);
	KUNIT_EXPECT_EQ(test, rx(fx, UC(SEND_LAST), P0 + 1, 4),
			SHCA_RX_DROPPED);
	KUNIT_EXPECT_EQ(test, rx(fx, UC(SEND_ONLY), P0 + 2, FX_MTU + 1),
			SHCA_RX_DROPPED);
	KUNIT_EXPECT_EQ(test, fx->nr_scatter, 0u);
	KUNIT_EXPECT_EQ(test, fx->resp.state, SHCA_SIDE_READY);
}

/* No receive for it: what follows of it is dropped, whatever is posted meanwhile. */
static void uc_message_without_receive_is_dropped_whole(struct kunit *test)
{
	struct fx *fx = test->priv;

	start(fx, SHCA_TRANSPORT_UC);
	fx->recvs = 0;
	KUNIT_EXPECT_EQ(test, rx(fx, UC(SEND_FIRST), P0, FX_MTU), SHCA_RX_RNR);
	fx->recvs = 9;
	KUNIT_EXPECT_EQ(test, rx(fx, UC(SEND_LAST), P0 + 1, 8),
			SHCA_RX_DROPPED);
	KUNIT_EXPECT_FALSE(test, fx->out.has_wc);
	KUNIT_EXPECT_EQ(test, fx->nr_scatter, 0u);
	/* the same of a WRITE whose immediate data finds none */
	fx->recvs = 0;
	KUNIT_EXPECT_EQ(test, rx(fx, UC(WRITE_ONLY_IMM), P0 + 2, 8),
			SHCA_RX_RNR);
	KUNIT_EXPECT_EQ(test, fx->nr_write, 0u);
	KUNIT_EXPECT_EQ(test, rx(fx, UC(WRITE_ONLY), P0 + 3, 8), SHCA_RX_OK);
	KUNIT_EXPECT_FALSE(test, fx->out.has_wc);
}

/* In the middle, too, memory that is absent changes nothing. */
static void uc_middle_with_memory_absent_comes_again(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	start(fx, SHCA_TRANSPORT_UC);
	rx(fx, UC(SEND_FIRST), P0, FX_MTU);
	fx->scatter = SHCA_MEM_RETRY;
	KUNIT_EXPECT_EQ(test, rx(fx, UC(SEND_LAST), P0 + 1, 8), SHCA_RX_RETRY);
	fx->scatter = SHCA_MEM_OK;
	KUNIT_EXPECT_EQ(test, rx(fx, UC(SEND_LAST), P0 + 1, 8), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->out.wc.byte_len, FX_MTU + 8u);

	make(&pkt, UC(WRITE_FIRST), P0 + 2, FX_MTU);
	pkt.reth.len = FX_MTU + 8;
	fx->check = SHCA_MEM_RETRY;
	KUNIT_EXPECT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_RETRY);
	KUNIT_EXPECT_EQ(test, fx->nr_write, 0u);
	fx->check = SHCA_MEM_OK;
	fx->write = SHCA_MEM_RETRY;
	KUNIT_EXPECT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_RETRY);
	fx->write = SHCA_MEM_OK;
	KUNIT_EXPECT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_OK);
	fx->write = SHCA_MEM_RETRY;
	KUNIT_EXPECT_EQ(test, rx(fx, UC(WRITE_LAST), P0 + 3, 8), SHCA_RX_RETRY);
	fx->write = SHCA_MEM_OK;
	KUNIT_EXPECT_EQ(test, rx(fx, UC(WRITE_LAST), P0 + 3, 8), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->last_va, 0x20000ull + FX_MTU);
}

/* ---- UC: WRITE ------------------------------------------------------------------------------ */

struct write_row {
	const char *name;
	u8 opcode;	/* behind a FIRST of a WRITE of three and a half packets */
	u32 len;
	bool ok;
};

static const struct write_row write_rows[] = {
	{ "as announced", UC(WRITE_LAST), FX_MTU / 2, true },
	{ "a byte more", UC(WRITE_LAST), FX_MTU / 2 + 1, false },
	{ "a byte less", UC(WRITE_LAST), FX_MTU / 2 - 1, false },
	{ "no end where it is", UC(WRITE_MIDDLE), FX_MTU, false },
};

static void write_desc(const struct write_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(write, write_rows, write_desc);

/* Not a byte beyond what was announced, and checked (9.7.4.1.7). */
static void uc_write_is_as_long_as_announced(struct kunit *test)
{
	const struct write_row *row = test->param_value;
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	start(fx, SHCA_TRANSPORT_UC);
	make(&pkt, UC(WRITE_FIRST), P0, FX_MTU);
	pkt.reth.len = 3 * FX_MTU + FX_MTU / 2;
	KUNIT_ASSERT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_OK);
	KUNIT_ASSERT_EQ(test, rx(fx, UC(WRITE_MIDDLE), P0 + 1, FX_MTU),
			SHCA_RX_OK);
	KUNIT_ASSERT_EQ(test, rx(fx, UC(WRITE_MIDDLE), P0 + 2, FX_MTU),
			SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, rx(fx, row->opcode, P0 + 3, row->len),
			row->ok ? SHCA_RX_OK : SHCA_RX_DROPPED);
	KUNIT_EXPECT_EQ(test, fx->nr_write, 3u + row->ok);
	/* exactly all of it before its last packet is too much as well */
	make(&pkt, UC(WRITE_FIRST), P0 + 4, FX_MTU);
	pkt.reth.len = FX_MTU;
	KUNIT_EXPECT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_DROPPED);
}

static void uc_write_without_the_right_is_invalid(struct kunit *test)
{
	struct fx *fx = test->priv;

	start(fx, SHCA_TRANSPORT_UC);
	fx->resp.attr.access = ~SHCA_ACCESS_REMOTE_WRITE;
	KUNIT_EXPECT_EQ(test, rx(fx, UC(WRITE_ONLY), P0, 8), SHCA_RX_INVALID);
	KUNIT_EXPECT_EQ(test, rx(fx, UC(WRITE_ONLY), P0 + 1, 0),
			SHCA_RX_INVALID);
	KUNIT_EXPECT_EQ(test, fx->nr_check + fx->nr_write, 0u);
	KUNIT_EXPECT_EQ(test, fx->resp.state, SHCA_SIDE_READY);
	KUNIT_EXPECT_FALSE(test, fx->out.has_wc);
	fx_expect_silence(test);
}

/* A region that goes between two packets: the rest is dropped, the QP goes on. */
static void uc_write_to_a_region_that_has_gone_is_dropped(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	start(fx, SHCA_TRANSPORT_UC);
	make(&pkt, UC(WRITE_FIRST), P0, FX_MTU);
	pkt.reth.len = 3 * FX_MTU;
	KUNIT_ASSERT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_OK);
	fx->write = SHCA_MEM_KEY;
	KUNIT_EXPECT_EQ(test, rx(fx, UC(WRITE_MIDDLE), P0 + 1, FX_MTU),
			SHCA_RX_ACCESS);
	fx->write = SHCA_MEM_OK;
	KUNIT_EXPECT_EQ(test, rx(fx, UC(WRITE_LAST), P0 + 2, FX_MTU),
			SHCA_RX_DROPPED);
	KUNIT_EXPECT_EQ(test, rx(fx, UC(WRITE_ONLY), P0 + 3, 8), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->resp.state, SHCA_SIDE_READY);
}

/* Where the receive is an SRQ's, all that breaks a message gives it up, in error. */
static void uc_receive_of_srq_is_given_up_in_full(struct kunit *test)
{
	struct fx *fx = test->priv;

	start(fx, SHCA_TRANSPORT_UC);
	fx->resp.attr.recvs = SHCA_RECVS_SRQ;
	rx(fx, UC(SEND_FIRST), P0, FX_MTU);
	KUNIT_EXPECT_EQ(test, rx(fx, UC(SEND_LAST), P0 + 2, 1),
			SHCA_RX_DROPPED);
	KUNIT_ASSERT_TRUE(test, fx->out.has_wc);
	KUNIT_EXPECT_TRUE(test, fx->out.wc.is_recv);
	KUNIT_EXPECT_EQ(test, fx->out.wc.opcode, SHCA_WC_RECV);
	KUNIT_EXPECT_EQ(test, fx->out.wc.vendor_err, SHCA_VERR_NONE);
	KUNIT_EXPECT_EQ(test, fx->out.wc.byte_len, 0u);
	KUNIT_EXPECT_EQ(test, fx->resp.msn, 0u);
	KUNIT_EXPECT_EQ(test, fx->resp.recv, SHCA_RECV_EMPTY);
}

/*
 * A WRITE in place of the rest of a SEND needs no receive.  The SRQ's other QPs may
 * wait for the receive that the SEND has taken.
 */
static void uc_write_in_place_of_the_rest_gives_up_receive_of_srq(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 imm;

	for (imm = 0; imm < 2; imm++) {
		start(fx, SHCA_TRANSPORT_UC);
		fx->resp.attr.recvs = SHCA_RECVS_SRQ;
		fx->nr_recv = 0;
		rx(fx, UC(SEND_FIRST), P0, FX_MTU);
		KUNIT_EXPECT_EQ(test, rx(fx, imm ? UC(WRITE_ONLY_IMM) :
						   UC(WRITE_ONLY), P0 + 1, 8),
				SHCA_RX_OK);
		KUNIT_ASSERT_TRUE(test, fx->out.has_wc);
		KUNIT_EXPECT_EQ(test, fx->out.wc.wr_id, 1000ull);
		/* immediate data has a use for it */
		KUNIT_EXPECT_EQ(test, fx->out.wc.status,
				imm ? SHCA_WC_SUCCESS : SHCA_WC_REM_ABORT_ERR);
		KUNIT_EXPECT_EQ(test, fx->resp.recv, SHCA_RECV_EMPTY);
		KUNIT_EXPECT_EQ(test, rx(fx, UC(SEND_ONLY), P0 + 2, 8),
				SHCA_RX_OK);
		KUNIT_EXPECT_EQ(test, fx->out.wc.wr_id, 1001ull);
		/* of a QP's own queue it serves the next message */
		fx->resp.attr.recvs = SHCA_RECVS_OWN;
		rx(fx, UC(SEND_FIRST), P0 + 3, FX_MTU);
		KUNIT_EXPECT_EQ(test, rx(fx, UC(WRITE_ONLY), P0 + 4, 8),
				SHCA_RX_OK);
		KUNIT_EXPECT_FALSE(test, fx->out.has_wc);
		KUNIT_EXPECT_EQ(test, fx->resp.recv, SHCA_RECV_OK);
	}
}

/* What waits for memory has broken nothing: the receive that is kept stays. */
static void uc_wait_keeps_the_receive_of_srq(struct kunit *test)
{
	struct fx *fx = test->priv;

	start(fx, SHCA_TRANSPORT_UC);
	fx->resp.attr.recvs = SHCA_RECVS_SRQ;
	rx(fx, UC(SEND_FIRST), P0, FX_MTU);
	fx->check = SHCA_MEM_RETRY;
	KUNIT_EXPECT_EQ(test, rx(fx, UC(WRITE_ONLY), P0 + 1, 8), SHCA_RX_RETRY);
	KUNIT_EXPECT_FALSE(test, fx->out.has_wc);
	fx->check = SHCA_MEM_OK;
	KUNIT_EXPECT_EQ(test, fx->resp.recv, SHCA_RECV_OK);
	KUNIT_EXPECT_EQ(test, rx(fx, UC(WRITE_ONLY_IMM), P0 + 1, 8),
			SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->out.wc.wr_id, 1000ull);
}

static struct kunit_case unreliable_recv_cases[] = {
	KUNIT_CASE(uc_message_after_a_broken_one_is_whole),
	KUNIT_CASE(uc_packet_of_another_service_is_dropped),
	KUNIT_CASE(uc_write_in_place_of_the_rest_gives_up_receive_of_srq),
	KUNIT_CASE(uc_wait_keeps_the_receive_of_srq),
	KUNIT_CASE_PARAM(unr_completion_tells_all_of_its_message,
			 kind_gen_params),
	KUNIT_CASE(unr_message_of_nothing_touches_no_payload),
	KUNIT_CASE_PARAM(unr_bad_receive_completes_and_ends, kind_gen_params),
	KUNIT_CASE_PARAM(unr_broken_receive_queue_is_fatal, kind_gen_params),
	KUNIT_CASE_PARAM(unr_without_receive_is_dropped, kind_gen_params),
	KUNIT_CASE_PARAM(unr_memory_that_is_refused_ends, memory_gen_params),
	KUNIT_CASE_PARAM(unr_memory_that_is_absent_is_waited_for,
			 memory_gen_params),
	KUNIT_CASE(ud_packet_that_is_no_send_is_dropped),
	KUNIT_CASE(uc_first_packet_establishes_communication),
	KUNIT_CASE(uc_packet_that_does_not_follow_is_dropped),
	KUNIT_CASE(uc_message_is_placed_in_order),
	KUNIT_CASE(uc_packet_of_a_wrong_length_is_dropped),
	KUNIT_CASE(uc_message_without_receive_is_dropped_whole),
	KUNIT_CASE(uc_middle_with_memory_absent_comes_again),
	KUNIT_CASE_PARAM(uc_write_is_as_long_as_announced, write_gen_params),
	KUNIT_CASE(uc_write_without_the_right_is_invalid),
	KUNIT_CASE(uc_write_to_a_region_that_has_gone_is_dropped),
	KUNIT_CASE(uc_receive_of_srq_is_given_up_in_full),
	{}
};

static struct kunit_suite unreliable_recv_suite = {
	.name = "softhca_unreliable_recv",
	.init = fx_init,
	.test_cases = unreliable_recv_cases,
};

kunit_test_suites(&unreliable_recv_suite);
