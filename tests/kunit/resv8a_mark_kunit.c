// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The mark in Resv8a, by which softhcas know each other: transport.h, SHCA_MARK. */
#include "fixture.h"

#define P0	FX_RQ_PSN
#define S0	FX_SQ_PSN
#define ACK	(SHCA_AETH_ACK | SHCA_AETH_CREDIT_NONE)
/* signature 101, SHCA_PEER_OOO and SHCA_PEER_FLUSHES_ACKS, in the lower six bits */
#define MARKED	0x2b
/* and SHCA_PEER_NO_ICRC */
#define BARE	0x2f

/* ---- the header -------------------------------------------------------------- */

/* Byte 4 of the BTH has FECN, BECN and six bits that are reserved (IBTA 9.2). */
static void mark_is_in_the_bits_beside_fecn_and_becn(struct kunit *test)
{
	u8 out[SHCA_HDR_MAX];
	struct shca_pkt pkt;

	memset(&pkt, 0, sizeof(pkt));
	pkt.opcode = SHCA_OP_SEND_ONLY;
	pkt.resv8a = 0xff;
	KUNIT_ASSERT_EQ(test, shca_hdr_build(&pkt, out), 12u);
	KUNIT_EXPECT_EQ(test, out[4], 0x3f);
	out[4] = 0xc0 | MARKED;
	memset(&pkt, 0, sizeof(pkt));
	KUNIT_ASSERT_EQ(test, shca_hdr_parse(&pkt, out, 12, 16),
			SHCA_PARSE_OK);
	KUNIT_EXPECT_EQ(test, pkt.resv8a, MARKED);
}

/* ---- each side --------------------------------------------------------------- */

struct mark_row {
	const char *name;
	u8 marking;
	u8 before;	/* its own mark, and after it has heard @heard */
	u8 heard;
	u8 after;
	u32 peer;	/* what is known by it */
};

#define FLUSHES	SHCA_PEER_FLUSHES_ACKS
#define HOLDS	SHCA_PEER_OOO
#define ALL	(FLUSHES | HOLDS | SHCA_PEER_NO_ICRC)

static const struct mark_row mark_rows[] = {
	{ "off hears a mark", SHCA_RESV8A_OFF, 0, MARKED, 0, 0 },
	{ "auto hears nothing", SHCA_RESV8A_AUTO, 0, 0, 0, 0 },
	{ "auto hears a mark", SHCA_RESV8A_AUTO, 0, MARKED, MARKED, FLUSHES | HOLDS },
	{ "auto hears all ones", SHCA_RESV8A_AUTO, 0, 0x3f, 0, 0 },
	{ "auto hears another signature", SHCA_RESV8A_AUTO, 0, 0x23, 0, 0 },
	{ "auto hears one that does neither", SHCA_RESV8A_AUTO, 0, 0x28, MARKED, 0 },
	{ "auto hears one that flushes", SHCA_RESV8A_AUTO, 0, 0x29, MARKED, FLUSHES },
	{ "auto hears one that holds", SHCA_RESV8A_AUTO, 0, 0x2a, MARKED, HOLDS },
	{ "on hears nothing", SHCA_RESV8A_ON, MARKED, 0, MARKED, 0 },
	{ "on hears a mark", SHCA_RESV8A_ON, MARKED, MARKED, MARKED, FLUSHES | HOLDS },
	{ "auto hears one that needs no ICRC", SHCA_RESV8A_AUTO, 0, BARE, MARKED, ALL },
	{ "off hears one that needs no ICRC", SHCA_RESV8A_OFF, 0, BARE, 0, 0 },
	{ "no ICRC hears nothing", SHCA_MARKING_NO_ICRC, BARE, 0, BARE, 0 },
	{ "no ICRC hears a mark", SHCA_MARKING_NO_ICRC, BARE, MARKED, BARE, FLUSHES | HOLDS },
	{ "no ICRC hears the same", SHCA_MARKING_NO_ICRC, BARE, BARE, BARE, ALL },
};

static void mark_desc(const struct mark_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(mark, mark_rows, mark_desc);

static void start_requester(struct fx *fx, const struct mark_row *row,
			    u8 transport)
{
	struct shca_req_attr attr;

	fx_req_attr(&attr);
	attr.peer = 0;
	attr.marking = row->marking;
	attr.transport = transport;
	fx_req_start(fx, &attr);
}

static void req_rx_learns_from_marked_answers(struct kunit *test)
{
	const struct mark_row *row = test->param_value;
	struct fx *fx = test->priv;
	struct shca_pkt ack;

	start_requester(fx, row, SHCA_TRANSPORT_RC);
	fx_post(fx, SHCA_WR_SEND, 1);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.resv8a, row->before);
	memset(&ack, 0, sizeof(ack));
	ack.opcode = SHCA_OP_ACK;
	ack.psn = S0;
	ack.aeth.syndrome = ACK;
	ack.resv8a = row->heard;
	KUNIT_EXPECT_EQ(test, shca_req_rx(&fx->req, &ack, fx->now),
			SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->req.attr.peer, row->peer);
	/* unsignalled, and the last of its post: AckReq to a peer of unknown vendor */
	fx_post_flags(fx, SHCA_WR_RDMA_WRITE, 1, 0);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.resv8a, row->after);
	KUNIT_EXPECT_EQ(test, fx->pkt.ackreq, !(row->peer & FLUSHES));
}

static void resp_rx_answers_marks_with_marks(struct kunit *test)
{
	const struct mark_row *row = test->param_value;
	struct fx *fx = test->priv;
	struct shca_resp_attr attr;
	struct shca_pkt pkt;

	fx_resp_attr(&attr);
	attr.marking = row->marking;
	fx_resp_start(fx, &attr);
	fx_request(&pkt, SHCA_OP_SEND_ONLY, P0, 1);
	pkt.ackreq = true;
	KUNIT_ASSERT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_OK);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.resv8a, row->before);
	fx_request(&pkt, SHCA_OP_READ_REQUEST, P0 + 1, 1);
	pkt.resv8a = row->heard;
	KUNIT_ASSERT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_OK);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_READ_RESP_ONLY);
	KUNIT_EXPECT_EQ(test, fx->pkt.resv8a, row->after);
	KUNIT_EXPECT_EQ(test, fx->resp.attr.peer, row->peer);
}

/* The first answer that it hears may be that a packet is missing. */
static void req_rx_knows_by_its_mark_who_misses_a_packet(struct kunit *test)
{
	static const struct mark_row on = { .marking = SHCA_RESV8A_ON };
	struct fx *fx = test->priv;
	struct shca_pkt nak;

	start_requester(fx, &on, SHCA_TRANSPORT_RC);
	fx_post(fx, SHCA_WR_SEND, 1);
	fx_post(fx, SHCA_WR_SEND, 1);
	fx_post(fx, SHCA_WR_SEND, 1);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	memset(&nak, 0, sizeof(nak));
	nak.opcode = SHCA_OP_ACK;
	nak.psn = S0;
	nak.aeth.syndrome = SHCA_AETH_MISSING;	/* one packet */
	nak.aeth.msn = S0 + 1;
	KUNIT_EXPECT_EQ(test, shca_req_rx(&fx->req, &nak, fx->now),
			SHCA_RX_STALE_ACK);
	nak.resv8a = MARKED;
	KUNIT_EXPECT_EQ(test, shca_req_rx(&fx->req, &nak, fx->now),
			SHCA_RX_NAK_SEQ);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, S0);
	KUNIT_EXPECT_TRUE(test, fx->pkt.again);
}

/* An ACK probe is a request as any other. */
static void req_probe_is_marked(struct kunit *test)
{
	static const struct mark_row on = { .marking = SHCA_RESV8A_ON };
	struct fx *fx = test->priv;

	start_requester(fx, &on, SHCA_TRANSPORT_RC);
	fx->req.attr.peer = SHCA_PEER_FLUSHES_ACKS;
	fx_post_flags(fx, SHCA_WR_RDMA_WRITE, 1, 0);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_ASSERT_FALSE(test, fx->pkt.ackreq);
	fx_timeout(fx);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, S0 - 1);
	KUNIT_EXPECT_EQ(test, fx->pkt.resv8a, MARKED);
}

/* Nothing is known of a peer that never answers, and CNPs are of no connection. */
static void only_connections_that_answer_are_marked(struct kunit *test)
{
	static const struct mark_row on = { .marking = SHCA_RESV8A_ON };
	struct fx *fx = test->priv;
	struct shca_resp_attr attr;
	struct shca_pkt pkt;

	start_requester(fx, &on, SHCA_TRANSPORT_UC);
	fx_post(fx, SHCA_WR_SEND, 1);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.resv8a, 0);

	fx_resp_attr(&attr);
	attr.marking = SHCA_RESV8A_ON;
	attr.cnp = true;
	attr.cnp_interval_ns = 50000;
	fx_resp_start(fx, &attr);
	fx_request(&pkt, SHCA_OP_SEND_ONLY, P0, 1);
	pkt.path.ecn_ce = true;
	fx->now += FX_MS;
	fx_rx(fx, &pkt);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_ASSERT_EQ(test, fx->pkt.opcode, SHCA_OPCODE_CNP);
	KUNIT_EXPECT_EQ(test, fx->pkt.resv8a, 0);
}

/* The next connection knows nothing of the one before. */
static void req_start_forgets_marks(struct kunit *test)
{
	static const struct mark_row auto_row = {
		.marking = SHCA_RESV8A_AUTO,
	};
	struct fx *fx = test->priv;

	start_requester(fx, &auto_row, SHCA_TRANSPORT_RC);
	fx->req.marks = MARKED;
	start_requester(fx, &auto_row, SHCA_TRANSPORT_RC);
	KUNIT_EXPECT_EQ(test, fx->req.marks, 0);
}

/* Only from what it has waited for: other packets may be anybody's. */
static void mark_of_an_answer_to_nothing_is_not_learned(struct kunit *test)
{
	static const struct {
		u8 transport;
		u8 opcode;
		u32 psn;
		bool ended;
		bool learns;
	} rows[] = {
		{ SHCA_TRANSPORT_RC, SHCA_OP_ACK, S0, false, true },
		{ SHCA_TRANSPORT_XRC, SHCA_TRANSPORT_XRC | SHCA_OP_ACK, S0,
		  false, true },
		{ SHCA_TRANSPORT_RC, SHCA_OP_ACK, S0 + 1, false, false },
		{ SHCA_TRANSPORT_RC, SHCA_OP_ACK, S0, true, false },
		{ SHCA_TRANSPORT_RC, SHCA_OPCODE_CNP, S0, false, false },
		{ SHCA_TRANSPORT_UC, SHCA_OP_ACK, S0, false, false },
		{ SHCA_TRANSPORT_UD, SHCA_OP_ACK, S0, false, false },
	};
	struct fx *fx = test->priv;
	struct shca_req_attr attr;
	struct shca_pkt pkt;
	enum shca_verdict rx;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		fx_req_attr(&attr);
		attr.transport = rows[i].transport;
		attr.marking = SHCA_RESV8A_AUTO;
		attr.peer = 0;
		fx_req_start(fx, &attr);
		fx_post(fx, SHCA_WR_SEND, 1);
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
		if (rows[i].ended)
			shca_req_fail(&fx->req);
		memset(&pkt, 0, sizeof(pkt));
		pkt.opcode = rows[i].opcode;
		pkt.psn = rows[i].psn;
		pkt.aeth.syndrome = ACK;
		pkt.resv8a = MARKED;
		rx = shca_req_rx(&fx->req, &pkt, fx->now);
		KUNIT_EXPECT_EQ(test, rx == SHCA_RX_OK, rows[i].learns);
		KUNIT_EXPECT_EQ(test, fx->req.marks,
				rows[i].learns ? MARKED : 0);
		KUNIT_EXPECT_EQ(test, fx->req.attr.peer,
				rows[i].learns ? FLUSHES | HOLDS : 0);
	}
}

/* Nor does a responder answer with marks what is out of its turn. */
static void mark_of_a_request_out_of_turn_is_not_answered(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_resp_attr attr;
	struct shca_pkt pkt;

	fx_resp_attr(&attr);
	attr.marking = SHCA_RESV8A_AUTO;
	fx_resp_start(fx, &attr);
	fx_request(&pkt, SHCA_OP_SEND_ONLY, P0 + 5, 1);
	pkt.resv8a = MARKED;
	KUNIT_EXPECT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_OUT_OF_SEQ);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.resv8a, 0);
}

static struct kunit_case resv8a_mark_cases[] = {
	KUNIT_CASE(mark_is_in_the_bits_beside_fecn_and_becn),
	KUNIT_CASE_PARAM(req_rx_learns_from_marked_answers, mark_gen_params),
	KUNIT_CASE(req_rx_knows_by_its_mark_who_misses_a_packet),
	KUNIT_CASE_PARAM(resp_rx_answers_marks_with_marks, mark_gen_params),
	KUNIT_CASE(req_probe_is_marked),
	KUNIT_CASE(only_connections_that_answer_are_marked),
	KUNIT_CASE(req_start_forgets_marks),
	KUNIT_CASE(mark_of_an_answer_to_nothing_is_not_learned),
	KUNIT_CASE(mark_of_a_request_out_of_turn_is_not_answered),
	{}
};

static struct kunit_suite resv8a_mark_suite = {
	.name = "softhca_resv8a_mark",
	.init = fx_init,
	.test_cases = resv8a_mark_cases,
};

kunit_test_suites(&resv8a_mark_suite);
