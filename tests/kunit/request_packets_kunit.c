// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What request packets carry and how many PSNs each stands for.  Fields are
 * compared with the headers of the opcode, runs with window and span.  Some packets
 * are handed over.
 */
#include "fixture.h"

#define P0	FX_SQ_PSN
#define UC	SHCA_TRANSPORT_UC
#define UD	SHCA_TRANSPORT_UD
#define RAW	SHCA_TRANSPORT_RAW
#define XRC	SHCA_TRANSPORT_XRC

static void start(struct fx *fx, u8 transport)
{
	struct shca_req_attr attr;

	fx_req_attr(&attr);
	attr.transport = transport;
	attr.qkey = 0x80000001u;
	attr.sqpn = 0x4444;
	fx_req_start(fx, &attr);
}

/* ---- fields ----------------------------------------------------------------- */

struct field_row {
	const char *name;
	u8 transport;
	u8 opcode;
	u32 len;
	u8 wc;
};

static const struct field_row field_rows[] = {
	{ "SEND", 0, SHCA_WR_SEND, 3 * FX_MTU, SHCA_WC_SEND },
	{ "SEND of nothing", 0, SHCA_WR_SEND, 0, SHCA_WC_SEND },
	{ "SEND imm", 0, SHCA_WR_SEND_WITH_IMM, 3 * FX_MTU, SHCA_WC_SEND },
	{ "SEND imm, one packet", 0, SHCA_WR_SEND_WITH_IMM, 8, SHCA_WC_SEND },
	{ "SEND inv", 0, SHCA_WR_SEND_WITH_INV, 3 * FX_MTU, SHCA_WC_SEND },
	{ "WRITE", 0, SHCA_WR_RDMA_WRITE, 3 * FX_MTU, SHCA_WC_RDMA_WRITE },
	{ "WRITE imm", 0, SHCA_WR_RDMA_WRITE_WITH_IMM, 3 * FX_MTU,
	  SHCA_WC_RDMA_WRITE },
	{ "WRITE imm, one packet", 0, SHCA_WR_RDMA_WRITE_WITH_IMM, 5,
	  SHCA_WC_RDMA_WRITE },
	{ "READ", 0, SHCA_WR_RDMA_READ, 3 * FX_MTU, SHCA_WC_RDMA_READ },
	{ "CmpSwap", 0, SHCA_WR_ATOMIC_CMP_AND_SWP, 8, SHCA_WC_COMP_SWAP },
	{ "FetchAdd", 0, SHCA_WR_ATOMIC_FETCH_AND_ADD, 8, SHCA_WC_FETCH_ADD },
	{ "FLUSH", 0, SHCA_WR_FLUSH, 0, SHCA_WC_FLUSH },
	{ "ATOMIC WRITE", 0, SHCA_WR_ATOMIC_WRITE, 8, SHCA_WC_ATOMIC_WRITE },
	{ "XRC SEND", XRC, SHCA_WR_SEND, 3 * FX_MTU, SHCA_WC_SEND },
	{ "XRC READ", XRC, SHCA_WR_RDMA_READ, 8, SHCA_WC_RDMA_READ },
	{ "XRC WRITE imm", XRC, SHCA_WR_RDMA_WRITE_WITH_IMM, 8,
	  SHCA_WC_RDMA_WRITE },
	{ "XRC FetchAdd", XRC, SHCA_WR_ATOMIC_FETCH_AND_ADD, 8,
	  SHCA_WC_FETCH_ADD },
	{ "UC SEND imm", UC, SHCA_WR_SEND_WITH_IMM, 3 * FX_MTU, SHCA_WC_SEND },
	{ "UC WRITE", UC, SHCA_WR_RDMA_WRITE, 3 * FX_MTU, SHCA_WC_RDMA_WRITE },
	{ "UD SEND", UD, SHCA_WR_SEND, 7, SHCA_WC_SEND },
	{ "UD SEND imm", UD, SHCA_WR_SEND_WITH_IMM, 7, SHCA_WC_SEND },
};

static void field_desc(const struct field_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(field, field_rows, field_desc);

static struct shca_send_wr *post(struct fx *fx, const struct field_row *row)
{
	struct shca_send_wr *wr = shca_req_slot(&fx->req);

	memset(wr, 0, FX_STRIDE);
	wr->opcode = row->opcode;
	wr->num_sge = 1;
	wr->flags = SHCA_SEND_SIGNALED | SHCA_SEND_SOLICITED;
	wr->imm = 0xaabbccdd;
	wr->length = row->len;
	wr->xrc_srqn = 0x5555;
	wr->rdma.rkey = 0x1234;		/* and of all that begin like it */
	wr->rdma.remote_addr = 0x10000;
	if (row->opcode == SHCA_WR_FLUSH) {
		wr->flush.type = SHCA_FLUSH_GLOBAL;
		wr->flush.length = 0x2222;
	} else {
		wr->atomic.compare_add = 0x1111;
		wr->atomic.swap = 0x2222;
	}
	if (row->transport == UD) {
		wr->ud.remote_qpn = 0x5555;
		wr->ud.remote_qkey = 0x3333;
	}
	wr->sge[0].length = row->len;
	shca_req_post(&fx->req);
	return wr;
}

/* Table 38 says which fields a packet has: what it is built and parsed from agrees. */
static void expect_fields(struct kunit *test, const struct shca_pkt *pkt)
{
	u32 flags = shca_opcode_info(pkt->opcode)->flags;
	u8 bytes[SHCA_HDR_MAX];
	struct shca_pkt wire;
	u32 len;

	memset(&wire, 0, sizeof(wire));
	len = shca_hdr_build(pkt, bytes);
	KUNIT_ASSERT_EQ(test, shca_hdr_parse(&wire, bytes, len, len + 4 +
					     pkt->paylen + pkt->pad),
			SHCA_PARSE_OK);
	KUNIT_EXPECT_EQ(test, pkt->pkey, 0xffff);
	KUNIT_EXPECT_EQ(test, wire.paylen, pkt->paylen);
	KUNIT_EXPECT_EQ(test, wire.se, pkt->se);
	KUNIT_EXPECT_EQ(test, wire.xrc_srqn, pkt->xrc_srqn);
	KUNIT_EXPECT_EQ(test, wire.deth.qkey, pkt->deth.qkey);
	KUNIT_EXPECT_EQ(test, wire.deth.sqpn, pkt->deth.sqpn);
	KUNIT_EXPECT_EQ(test, wire.imm, pkt->imm);
	KUNIT_EXPECT_EQ(test, wire.inv_rkey, pkt->inv_rkey);
	/* (the union of RETH and FETH, AtomicETH, AETH) */
	KUNIT_EXPECT_MEMEQ(test, &wire.atomic, &pkt->atomic,
			   sizeof(pkt->atomic));
	KUNIT_EXPECT_EQ(test, pkt->kind,
			pkt->paylen ? SHCA_PAY_WR : SHCA_PAY_NONE);
	if (flags & SHCA_OPF_RETH) {
		KUNIT_EXPECT_EQ(test, pkt->reth.va, 0x10000ull);
		KUNIT_EXPECT_EQ(test, pkt->reth.rkey, 0x1234u);
	}
	if (flags & SHCA_OPF_ATOMICETH) {
		KUNIT_EXPECT_EQ(test, pkt->atomic.va, 0x10000ull);
		KUNIT_EXPECT_EQ(test, pkt->atomic.rkey, 0x1234u);
	}
	if (flags & SHCA_OPF_IMM)
		KUNIT_EXPECT_EQ(test, pkt->imm, 0xaabbccddu);
	if (flags & SHCA_OPF_INV)
		KUNIT_EXPECT_EQ(test, pkt->inv_rkey, 0xaabbccddu);
	if (flags & SHCA_OPF_XRCETH)
		KUNIT_EXPECT_EQ(test, pkt->xrc_srqn, 0x5555u);
	if (flags & SHCA_OPF_DETH) {
		KUNIT_EXPECT_EQ(test, pkt->deth.qkey, 0x3333u);
		KUNIT_EXPECT_EQ(test, pkt->deth.sqpn, 0x4444u);
		KUNIT_EXPECT_EQ(test, pkt->dqpn, 0x5555u);
	}
}

static void packet_has_the_fields_of_its_opcode(struct kunit *test)
{
	const struct field_row *row = test->param_value;
	struct fx *fx = test->priv;
	u32 nr = 0, sent = 0, flags;

	start(fx, row->transport);
	post(fx, row);
	while (fx_next(fx)) {
		expect_fields(test, &fx->pkt);
		KUNIT_EXPECT_EQ(test, fx->pkt.opcode & SHCA_TRANSPORT_MASK,
				row->transport);
		sent += fx->pkt.paylen;
		flags = shca_opcode_info(fx->pkt.opcode)->flags;
		KUNIT_EXPECT_EQ(test, !!(flags & SHCA_OPF_START), !nr);
		KUNIT_EXPECT_EQ(test, !!(flags & SHCA_OPF_END),
				sent == row->len || !fx->pkt.paylen);
		KUNIT_EXPECT_FALSE(test, fx->pkt.again);
		nr++;
	}
	KUNIT_EXPECT_EQ(test, fx->req.stats.tx_pkts, (u64)nr);
	KUNIT_EXPECT_EQ(test, fx->req.stats.tx_bytes, (u64)sent);
	KUNIT_EXPECT_EQ(test, fx->req.stats.retransmits, 0ull);
}

/* Whatever it was, its completion names it (11.6.2), and so do those that are flushed. */
static void completion_has_the_opcode_of_its_request(struct kunit *test)
{
	const struct field_row *row = test->param_value;
	struct fx *fx = test->priv;

	start(fx, row->transport);
	post(fx, row);
	shca_req_fail(&fx->req);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.opcode, row->wc);
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, fx->wc.byte_len, 0u);
	KUNIT_EXPECT_FALSE(test, fx_pop(fx));
}

struct own_row {
	const char *name;
	u8 opcode;
	u8 wc;
};

static const struct own_row own_rows[] = {
	{ "LOCAL_INV", SHCA_WR_LOCAL_INV, SHCA_WC_LOCAL_INV },
	{ "REG_MR", SHCA_WR_REG_MR, SHCA_WC_REG_MR },
	{ "BIND_MW", SHCA_WR_BIND_MW, SHCA_WC_BIND_MW },
};

static void own_desc(const struct own_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(own, own_rows, own_desc);

/* Executed here: no packet, and the end of it is told, with whose it was. */
static void local_request_ends_without_a_packet(struct kunit *test)
{
	const struct own_row *row = test->param_value;
	struct fx *fx = test->priv;
	struct shca_send_wr *wr = fx_post(fx, row->opcode, 0);

	wr->own = fx;
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->nr_local, 1u);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.opcode, row->wc);
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, fx->wc.own == fx);
	KUNIT_EXPECT_EQ(test, fx->req.ring.own, 1u);
	fx_post(fx, row->opcode, 0);
	fx_next(fx);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_TRUE(test, !fx->wc.own);
	KUNIT_EXPECT_EQ(test, fx->req.ring.own, 1u);
}

static const u32 mtus[] = { 256, 512, 1024, 2048, 4096 };

static void packet_is_as_long_as_the_path_mtu(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_attr attr;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(mtus); i++) {
		fx_req_attr(&attr);
		attr.mtu = mtus[i];
		fx_req_start(fx, &attr);
		fx_post(fx, SHCA_WR_SEND, 2 * mtus[i] + 1);
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
		KUNIT_EXPECT_EQ(test, fx->pkt.paylen, mtus[i]);
		KUNIT_EXPECT_EQ(test, fx->pkt.unit, mtus[i]);
		KUNIT_EXPECT_EQ(test, fx->pkt.rest, mtus[i] + 1);
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
		KUNIT_EXPECT_EQ(test, fx->pkt.off, mtus[i]);
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
		KUNIT_EXPECT_EQ(test, fx->pkt.paylen, 1u);
		KUNIT_EXPECT_FALSE(test, fx_next(fx));
	}
}

/* IBTA 10.2.5: a Q_Key with its high bit set stands for the QP's own. */
static void datagram_with_privileged_qkey_has_the_own_one(struct kunit *test)
{
	static const struct field_row row = {
		"", UD, SHCA_WR_SEND, 8, SHCA_WC_SEND,
	};
	struct fx *fx = test->priv;

	start(fx, UD);
	post(fx, &row)->ud.remote_qkey = 0x80000000u;
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.deth.qkey, 0x80000001u);
	post(fx, &row)->ud.remote_qkey = 0x7fffffffu;
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.deth.qkey, 0x7fffffffu);
}

/* A READ that is asked for again from the middle has the address of that. */
static void read_resumed_names_the_rest(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, SHCA_WR_RDMA_READ, 4 * FX_MTU + 3);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	fx_read_resp(fx, SHCA_OP_READ_RESP_FIRST, P0, FX_MTU);
	fx_read_resp(fx, SHCA_OP_READ_RESP_MIDDLE, P0 + 1, FX_MTU);
	fx_timeout(fx);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + 2);
	KUNIT_EXPECT_EQ(test, fx->pkt.reth.va, 0x10000ull + 2 * FX_MTU);
	KUNIT_EXPECT_EQ(test, fx->pkt.reth.len, 2u * FX_MTU + 3);
	KUNIT_EXPECT_TRUE(test, fx->pkt.again);
	KUNIT_EXPECT_EQ(test, fx->req.stats.retransmits, 1ull);
	/* and ends behind all of its response */
	fx_post(fx, SHCA_WR_SEND, 1);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + 5);
}

/* ---- runs ------------------------------------------------------------------- */

/* PSNs that leave in one go; the packets of each in @nr[], as many as there are. */
static u32 drain_psns(struct fx *fx, u32 *nr, u32 max)
{
	u32 i = 0, sent = 0;

	while (fx_next(fx)) {
		sent += fx->pkt.span + 1;
		if (i < max)
			nr[i++] = fx->pkt.span + 1;
	}
	return sent;
}

/* However small a window is, it is used up and not exceeded. */
static void run_in_each_window_fills_it(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_attr attr;
	u32 window, burst;

	fx_req_attr(&attr);
	for (window = 1; window < 20; window++) {
		for (burst = 0; burst < 5; burst++) {
			fx->req.cc.window = window;
			fx_req_start(fx, &attr);
			fx->req.psn.max_run = burst;
			fx_post(fx, SHCA_WR_SEND, 40 * FX_MTU);
			KUNIT_EXPECT_EQ(test, drain_psns(fx, NULL, 0), window);
		}
	}
}

/* Up to a quarter of the window, of which the last one asks. */
static void run_ends_where_a_quarter_of_the_window_does(struct kunit *test)
{
	static const u32 expected[] = { 1, 20, 4, 20, 5, 20, 5, 20, 5 };
	struct fx *fx = test->priv;
	struct shca_req_attr attr;
	u32 nr[9] = { 0 };

	fx_req_attr(&attr);
	fx->req.cc.window = 100;
	fx_req_start(fx, &attr);
	fx->req.psn.max_run = 20;
	fx_post(fx, SHCA_WR_SEND, 200 * FX_MTU);
	KUNIT_EXPECT_EQ(test, drain_psns(fx, nr, 9), 100u);
	KUNIT_EXPECT_MEMEQ(test, nr, expected, sizeof(expected));
}

/* PSNs of READ responses are not packets of the window. */
static void run_behind_a_read_fills_the_window(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_attr attr;

	fx_req_attr(&attr);
	fx->req.cc.window = 18;
	fx_req_start(fx, &attr);
	fx->req.psn.max_run = 8;
	fx_post(fx, SHCA_WR_RDMA_READ, 8 * FX_MTU);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	fx_post(fx, SHCA_WR_SEND, 40 * FX_MTU);
	KUNIT_EXPECT_EQ(test, drain_psns(fx, NULL, 0), 18u);
}

/* Half of what keeps new PSNs apart from old ones may be outstanding (9.7.2). */
static void run_ends_where_the_span_does(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 nr[2] = { 0 };

	fx->req.psn.max_run = 8;
	fx_post(fx, SHCA_WR_RDMA_READ, (SHCA_REQ_SPAN - 5) * FX_MTU);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	fx_post(fx, SHCA_WR_SEND, 40 * FX_MTU);
	KUNIT_EXPECT_EQ(test, drain_psns(fx, nr, 2), 5u);
	KUNIT_EXPECT_EQ(test, nr[0], 1u);
	KUNIT_EXPECT_EQ(test, nr[1], 4u);
}

static void read_beside_others_stays_within_the_span(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_attr attr;
	u32 more;

	for (more = 0; more < 2; more++) {
		fx_req_attr(&attr);
		fx_req_start(fx, &attr);
		fx_post(fx, SHCA_WR_SEND, 1);
		fx_post(fx, SHCA_WR_RDMA_READ,
			(SHCA_REQ_SPAN - 1) * FX_MTU + more);
		KUNIT_EXPECT_EQ(test, fx_drain(fx), 2 - more);
	}
}

/* UC has no window, and what nobody acknowledges is not asked about. */
static void run_of_uc_is_as_long_as_the_link_takes(struct kunit *test)
{
	static const u32 expected[] = { 1, 32, 32, 32, 2, 1 };
	struct fx *fx = test->priv;
	u32 nr[6] = { 0 };

	fx->req.cc.window = 4;
	start(fx, UC);
	fx->req.psn.max_run = 32;
	fx_post(fx, SHCA_WR_SEND, 100 * FX_MTU);
	KUNIT_EXPECT_EQ(test, drain_psns(fx, nr, 6), 100u);
	KUNIT_EXPECT_MEMEQ(test, nr, expected, sizeof(expected));
	KUNIT_EXPECT_FALSE(test, fx->pkt.ackreq);
}

/* Two are the shortest run; a READ is one packet whatever its response is. */
static void run_of_two_is_one(struct kunit *test)
{
	static const u32 expected[] = { 1, 2, 1 };
	struct fx *fx = test->priv;
	u32 nr[4] = { 0 };

	fx->req.psn.max_run = 2;
	fx_post(fx, SHCA_WR_SEND, 4 * FX_MTU);
	KUNIT_EXPECT_EQ(test, drain_psns(fx, nr, 4), 4u);
	KUNIT_EXPECT_MEMEQ(test, nr, expected, sizeof(expected));
	fx->req.psn.max_run = 8;
	fx_post(fx, SHCA_WR_RDMA_READ, 10 * FX_MTU);
	KUNIT_EXPECT_EQ(test, drain_psns(fx, nr, 4), 1u);
}

/* While one packet probes, it goes alone. */
static void run_is_not_of_a_probe(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i;

	fx->req.psn.max_run = 8;
	fx_post(fx, SHCA_WR_SEND, 10 * FX_MTU);
	for (i = 0; i < 2; i++) {
		while (fx_next(fx))
			;
		fx_ack(fx, P0 + 1, RNR(1));
		fx_timeout(fx);
	}
	/* as if nothing behind the first one had ever left */
	KUNIT_ASSERT_TRUE(test, shca_req_one_packet(&fx->req));
	fx->req.psn.max = fx->req.psn.next;
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.span, 0u);
}

/* ---- packets that are handed over --------------------------------------------- */

static void handed_over_message_is_in_packets_of_the_reach(struct kunit *test)
{
	static const u32 expected[] = { 4, 4, 2 };
	struct fx *fx = test->priv;
	u32 nr[4] = { 0 };

	fx->req.psn.reach = 4;
	fx_post(fx, SHCA_WR_SEND, 10 * FX_MTU);
	KUNIT_EXPECT_EQ(test, drain_psns(fx, nr, 4), 10u);
	KUNIT_EXPECT_MEMEQ(test, nr, expected, sizeof(expected));
	/* each is one packet, whatever it stands for */
	KUNIT_EXPECT_EQ(test, fx->req.stats.tx_pkts, 3ull);
	nr[0] = 0;
	fx_post(fx, SHCA_WR_SEND, 2 * FX_MTU);
	KUNIT_EXPECT_EQ(test, drain_psns(fx, nr, 4), 2u);
	KUNIT_EXPECT_EQ(test, nr[0], 2u);
	fx_post(fx, SHCA_WR_SEND, FX_MTU);
	KUNIT_EXPECT_EQ(test, drain_psns(fx, nr, 4), 1u);
	KUNIT_EXPECT_EQ(test, nr[0], 1u);
	KUNIT_EXPECT_EQ(test, fx->pkt.paylen, FX_MTU);
}

/* A peer never finds one half new: what is sent again ends where the new begins. */
static void handed_over_again_ends_where_the_new_begins(struct kunit *test)
{
	static const u32 expected[] = { 4, 2, 4 };
	struct fx *fx = test->priv;
	u32 nr[4] = { 0 }, i;

	fx->req.psn.reach = 2;
	fx_post(fx, SHCA_WR_SEND, 10 * FX_MTU);
	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->req.stats.tx_pkts, 3ull);
	fx->req.recovery.deadline = fx->now + 1;
	fx_timeout(fx);
	fx->req.psn.reach = 4;
	KUNIT_EXPECT_EQ(test, drain_psns(fx, nr, 4), 10u);
	KUNIT_EXPECT_MEMEQ(test, nr, expected, sizeof(expected));
}

/* Up to memory that is being fetched, and not beyond. */
static void handed_over_ends_before_what_is_held(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 held, i;

	for (held = 1; held < 4; held++) {
		struct shca_req_attr attr;
		u32 nr[2] = { 0 };

		fx_req_attr(&attr);
		fx_req_start(fx, &attr);
		fx_post(fx, SHCA_WR_SEND, 12 * FX_MTU);
		KUNIT_EXPECT_EQ(test, drain_psns(fx, nr, 2), 12u);
		fx_timeout(fx);
		for (i = 0; i <= held; i++)
			KUNIT_ASSERT_TRUE(test, fx_next(fx));
		shca_req_gather_failed(&fx->req, &fx->pkt, SHCA_MEM_RETRY);
		shca_req_pause(&fx->req);
		fx->req.recovery.deadline = fx->now + 1;
		fx_timeout(fx);
		fx->req.psn.reach = 8;
		KUNIT_EXPECT_EQ(test, drain_psns(fx, nr, 2), held);
		KUNIT_EXPECT_EQ(test, nr[0], held);
		shca_req_release(&fx->req);
		KUNIT_EXPECT_EQ(test, drain_psns(fx, nr, 2), 12 - held);
		KUNIT_EXPECT_EQ(test, nr[0], 8u);
	}
}

/* Where nothing is held, no PSN is an end, not the last one before the wrap either. */
static void handed_over_goes_across_the_wrap(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_attr attr;
	u32 nr[2] = { 0 };

	fx_req_attr(&attr);
	attr.sq_psn = 0xfffffc;
	fx_req_start(fx, &attr);
	fx->req.psn.reach = 8;
	fx_post(fx, SHCA_WR_SEND, 10 * FX_MTU);
	KUNIT_EXPECT_EQ(test, drain_psns(fx, nr, 2), 10u);
	KUNIT_EXPECT_EQ(test, nr[0], 8u);
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, 4u);
}

static struct kunit_case request_packets_cases[] = {
	KUNIT_CASE_PARAM(packet_has_the_fields_of_its_opcode, field_gen_params),
	KUNIT_CASE_PARAM(completion_has_the_opcode_of_its_request,
			 field_gen_params),
	KUNIT_CASE_PARAM(local_request_ends_without_a_packet, own_gen_params),
	KUNIT_CASE(packet_is_as_long_as_the_path_mtu),
	KUNIT_CASE(datagram_with_privileged_qkey_has_the_own_one),
	KUNIT_CASE(read_resumed_names_the_rest),
	KUNIT_CASE(run_in_each_window_fills_it),
	KUNIT_CASE(run_ends_where_a_quarter_of_the_window_does),
	KUNIT_CASE(run_behind_a_read_fills_the_window),
	KUNIT_CASE(run_ends_where_the_span_does),
	KUNIT_CASE(read_beside_others_stays_within_the_span),
	KUNIT_CASE(run_of_uc_is_as_long_as_the_link_takes),
	KUNIT_CASE(run_of_two_is_one),
	KUNIT_CASE(run_is_not_of_a_probe),
	KUNIT_CASE(handed_over_message_is_in_packets_of_the_reach),
	KUNIT_CASE(handed_over_again_ends_where_the_new_begins),
	KUNIT_CASE(handed_over_ends_before_what_is_held),
	KUNIT_CASE(handed_over_goes_across_the_wrap),
	{}
};

static struct kunit_suite request_packets_suite = {
	.name = "softhca_request_packets",
	.init = fx_init,
	.test_cases = request_packets_cases,
};

kunit_test_suites(&request_packets_suite);
