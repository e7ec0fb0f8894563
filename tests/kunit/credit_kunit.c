// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * End-to-end credits (IBTA 9.7.7.2): the codes, what an answer tells, and what a
 * requester may send by it.
 */
#include "fixture.h"

#include "../../kernel/core/requester/req_credit.h"
#include "../../kernel/core/responder/credit.h"

#define P0	FX_SQ_PSN
#define OP_SEND	SHCA_WR_SEND
#define CREDIT(code)	(SHCA_AETH_ACK | (code))

/* ---- IBTA table 48 ----------------------------------------------------------- */

static const u16 counts[] = {
	0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768,
	1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768,
};

static void codes_are_those_of_the_table(struct kunit *test)
{
	u32 code = 0, nr;

	for (nr = 0; nr < 70000; nr++) {
		if (code + 1 < ARRAY_SIZE(counts) && counts[code + 1] == nr)
			code++;
		KUNIT_ASSERT_EQ(test, shca_credit_code(nr), code);
	}
	for (code = 0; code < ARRAY_SIZE(counts); code++)
		KUNIT_EXPECT_EQ(test, shca_credit_count(code), counts[code]);
	KUNIT_EXPECT_EQ(test, shca_credit_code(0xffffffff), 30);
}

/* ---- responder ------------------------------------------------------------ */

static void resp_start(struct fx *fx, bool credits)
{
	struct shca_resp_attr attr;

	fx_resp_attr(&attr);
	attr.credits = credits;
	fx_resp_start(fx, &attr);
}

static void answers_tell_what_is_posted(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 psn = FX_RQ_PSN;

	resp_start(fx, true);
	fx->recvs = 7;
	fx_rx_asking(fx, SHCA_OP_SEND_ONLY, psn, 8);
	fx_expect_ack(test, psn++, CREDIT(5));
	fx_rx_asking(fx, SHCA_OP_WRITE_ONLY, psn, 8);
	fx_expect_ack(test, psn++, CREDIT(5));
	/* the request of a message in progress is not used up */
	fx_rx_asking(fx, SHCA_OP_SEND_FIRST, psn, FX_MTU);
	fx_expect_ack(test, psn++, CREDIT(5));
	fx_rx_asking(fx, SHCA_OP_SEND_LAST, psn, 8);
	fx_expect_ack(test, psn++, CREDIT(4));
	fx->recvs = 0;
	fx_rx_asking(fx, SHCA_OP_WRITE_ONLY, psn, 8);
	fx_expect_ack(test, psn++, CREDIT(0));
	fx_rx_asking(fx, SHCA_OP_SEND_ONLY, psn, 8);
	fx_expect_ack(test, psn, RNR(fx->resp.attr.min_rnr_timer));
}

static void responses_tell_it_too(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 psn = FX_RQ_PSN;

	resp_start(fx, true);
	fx->recvs = 4;
	fx_rx_op(fx, SHCA_OP_READ_REQUEST, psn, 3 * FX_MTU);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.aeth.syndrome, CREDIT(4));
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.aeth.syndrome, CREDIT(4));
	fx_rx_op(fx, SHCA_OP_FETCH_ADD, psn + 3, 8);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.aeth.syndrome, CREDIT(4));
}

/* Those of an SRQ may be another QP's, and a hand-over needs none. */
static void others_tell_none(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 psn = FX_RQ_PSN;

	resp_start(fx, false);
	fx->recvs = 4;
	fx_rx_asking(fx, SHCA_OP_SEND_ONLY, psn, 8);
	fx_expect_ack(test, psn, ACK);
	resp_start(fx, true);
	fx->resp.reach = 2;
	fx_rx_asking(fx, SHCA_OP_SEND_ONLY, psn, 8);
	fx_expect_ack(test, psn, ACK);
	fx->resp.reach = 1;
}

/* ---- requester ------------------------------------------------------------ */

/* One SEND is acknowledged with this code; P0 + 1 is the next PSN. */
static void told(struct kunit *test, u8 code)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_SEND, 8);
	KUNIT_ASSERT_EQ(test, fx_drain(fx), 1);
	KUNIT_ASSERT_EQ(test, fx_ack(fx, P0, CREDIT(code)), SHCA_RX_OK);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
}

static void post(struct fx *fx, u8 opcode, u32 nr)
{
	while (nr--)
		fx_post(fx, opcode, 8);
}

struct code_row {
	u8 code;
	u32 nr;
};

static const struct code_row code_rows[] = {
	{ 0, 1 }, { 1, 2 }, { 2, 3 }, { 4, 5 }, { 5, 7 }, { 6, 9 }, { 7, 13 },
};

static void code_desc(const struct code_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "code %u", row->code);
}
KUNIT_ARRAY_PARAM(code, code_rows, code_desc);

static void sends_as_many_and_one(struct kunit *test)
{
	const struct code_row *row = test->param_value;
	struct fx *fx = test->priv;

	told(test, row->code);
	post(fx, OP_SEND, FX_ENTRIES - 1);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), row->nr);
	KUNIT_EXPECT_TRUE(test, fx->pkt.ackreq);
	/* its answer grants three, and one */
	fx_ack(fx, P0 + row->nr, CREDIT(3));
	KUNIT_EXPECT_EQ(test, fx_drain(fx),
			min_t(u32, 4, FX_ENTRIES - 1 - row->nr));
}

/* Once the peer does not count, nothing is limited. */
static void no_credits_limit_nothing(struct kunit *test)
{
	struct fx *fx = test->priv;

	told(test, 0);
	post(fx, OP_SEND, 8);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1);
	fx_ack(fx, P0 + 1, ACK);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 7);
}

/* If it counts again, what it tells then is the limit. */
static void credits_return(struct kunit *test)
{
	struct fx *fx = test->priv;

	told(test, 6);
	post(fx, OP_SEND, 1);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1);
	fx_ack(fx, P0 + 1, ACK);
	post(fx, OP_SEND, 1);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1);
	fx_ack(fx, P0 + 2, CREDIT(0));
	post(fx, OP_SEND, 4);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1);
}

static void only_what_takes_a_receive_counts(struct kunit *test)
{
	struct fx *fx = test->priv;

	told(test, 2);
	post(fx, SHCA_WR_RDMA_WRITE, 3);
	post(fx, SHCA_WR_RDMA_READ, 1);
	post(fx, SHCA_WR_RDMA_WRITE_WITH_IMM, 2);
	post(fx, SHCA_WR_RDMA_WRITE, 2);
	post(fx, OP_SEND, 1);		/* without credit */
	post(fx, SHCA_WR_RDMA_WRITE, 2);
	post(fx, SHCA_WR_SEND_WITH_INV, 1);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 11);
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_WRITE_ONLY);
}

/* A code says less than there is, and an answer may be late: no credit is lost. */
static void credits_are_not_taken_back(struct kunit *test)
{
	struct fx *fx = test->priv;

	told(test, 6);
	post(fx, OP_SEND, 4);
	KUNIT_ASSERT_EQ(test, fx_drain(fx), 4);
	fx_ack(fx, P0 + 1, CREDIT(3));
	fx_ack(fx, P0 + 2, CREDIT(0));
	post(fx, OP_SEND, 8);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 5);
}

/* Also if it has two packets only. */
static void first_of_two_packets_asks(struct kunit *test)
{
	struct fx *fx = test->priv;

	told(test, 0);
	fx_post(fx, OP_SEND, 2 * FX_MTU);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1);
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_SEND_FIRST);
	KUNIT_EXPECT_TRUE(test, fx->pkt.ackreq);
}

/* Requests before it are acknowledged, and none of these answers brings credit. */
static void message_waits_as_long_as_there_is_no_credit(struct kunit *test)
{
	struct fx *fx = test->priv;

	told(test, 1);
	post(fx, OP_SEND, 1);
	post(fx, SHCA_WR_RDMA_WRITE, 2);
	fx_post(fx, OP_SEND, 3 * FX_MTU);
	KUNIT_ASSERT_EQ(test, fx_drain(fx), 4);
	fx_ack(fx, P0 + 2, CREDIT(0));
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 0);
	fx_ack(fx, P0 + 3, CREDIT(0));
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 0);
	/* its first packet has found a receive request */
	fx_ack(fx, P0 + 4, CREDIT(0));
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2);
}

/* A SEND without credit sends its first packet, which asks. */
static void first_packet_asks(struct kunit *test)
{
	struct fx *fx = test->priv;

	told(test, 0);
	fx_post(fx, OP_SEND, 3 * FX_MTU);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1);
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_SEND_FIRST);
	KUNIT_EXPECT_TRUE(test, fx->pkt.ackreq);
	/* lost: the same again */
	fx_timeout(fx);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1);
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + 1);
	KUNIT_EXPECT_TRUE(test, fx->pkt.ackreq);
	/* refused: the same after the wait */
	fx_ack(fx, P0 + 1, RNR(1));
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 0);
	fx_timeout(fx);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1);
	fx_ack(fx, P0 + 1, CREDIT(1));
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2);
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_SEND_LAST);
}

/* An answer to what was sent before may bring the credit that it waits for. */
static void credit_comes_in_mid_message(struct kunit *test)
{
	struct fx *fx = test->priv;

	told(test, 1);
	fx_post(fx, OP_SEND, 8);
	fx_post(fx, OP_SEND, 3 * FX_MTU);
	KUNIT_ASSERT_EQ(test, fx_drain(fx), 2);
	fx_ack(fx, P0 + 1, CREDIT(1));
	KUNIT_EXPECT_EQ(test, fx->req.credit.psn, SHCA_PSN_NONE);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2);
}

/* A peer that does not count any more lets the rest go. */
static void end_of_credits_comes_in_mid_message(struct kunit *test)
{
	struct fx *fx = test->priv;

	told(test, 1);
	fx_post(fx, OP_SEND, 8);
	fx_post(fx, OP_SEND, 3 * FX_MTU);
	KUNIT_ASSERT_EQ(test, fx_drain(fx), 2);
	fx_ack(fx, P0 + 1, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.credit.psn, SHCA_PSN_NONE);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2);
}

/* WRITEs before it use no credit up, so this one has some. */
static void message_behind_writes_is_not_cut(struct kunit *test)
{
	struct fx *fx = test->priv;

	told(test, 2);
	post(fx, SHCA_WR_RDMA_WRITE, 3);
	fx_post(fx, OP_SEND, 3 * FX_MTU);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 6);
}

/* A WRITE takes its receive request with its last packet: all of it leaves. */
static void write_with_imm_is_not_cut(struct kunit *test)
{
	struct fx *fx = test->priv;

	told(test, 0);
	fx_post(fx, SHCA_WR_RDMA_WRITE_WITH_IMM, 3 * FX_MTU);
	fx_post(fx, SHCA_WR_RDMA_WRITE_WITH_IMM, 3 * FX_MTU);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 3);
}

/* The last acknowledgement again, with more credits. */
static void unasked_answer_is_heard(struct kunit *test)
{
	struct fx *fx = test->priv;

	told(test, 0);
	post(fx, OP_SEND, 8);
	KUNIT_ASSERT_EQ(test, fx_drain(fx), 1);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0, CREDIT(0)), SHCA_RX_STALE_ACK);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0 - 1, CREDIT(9)), SHCA_RX_STALE_ACK);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0, ACK), SHCA_RX_STALE_ACK);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0, RNR(9)), SHCA_RX_STALE_ACK);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 0);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0, CREDIT(3)), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 3);
}

/* It is an acknowledgement, and it comes from a peer that has told credits. */
static void other_ghosts_are_not_heard(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt = {
		.opcode = SHCA_OP_ACK,
		.psn = P0,
		.aeth.syndrome = CREDIT(9),
		.paylen = 4,
	};

	told(test, 0);
	post(fx, OP_SEND, 8);
	KUNIT_ASSERT_EQ(test, fx_drain(fx), 1);
	KUNIT_EXPECT_EQ(test, shca_req_rx(&fx->req, &pkt, fx->now),
			SHCA_RX_STALE_ACK);
	pkt.opcode = SHCA_OP_READ_RESP_ONLY;
	pkt.paylen = 0;
	KUNIT_EXPECT_EQ(test, shca_req_rx(&fx->req, &pkt, fx->now),
			SHCA_RX_STALE_ACK);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 0);
	fx_ack(fx, P0 + 1, ACK);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0 + 1, CREDIT(0)), SHCA_RX_STALE_ACK);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 7);
}

/* Nobody waits for these; they ask in time for more credits. */
static void half_way_asks(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i, asked = 0;

	fx->req.ackreq.sent_ns = fx->now;
	told(test, 2);
	for (i = 0; i < 3; i++) {
		fx->req.ackreq.sent_ns = fx->now;
		fx_post_flags(fx, OP_SEND, 8, 0);
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
		asked |= fx->pkt.ackreq << i;
	}
	KUNIT_EXPECT_EQ(test, asked, 7);
	fx_ack(fx, P0 + 3, CREDIT(6));
	for (i = 0, asked = 0; i < 3; i++) {
		fx_post_flags(fx, OP_SEND, 8, 0);
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
		asked |= fx->pkt.ackreq << i;
	}
	KUNIT_EXPECT_EQ(test, asked, 0);
	fx_post_flags(fx, OP_SEND, 8, 0);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_TRUE(test, fx->pkt.ackreq);
	/* and again with the last one that has credit */
	for (i = 0, asked = 0; i < 4; i++) {
		fx->req.ackreq.sent_ns = fx->now;
		fx_post_flags(fx, OP_SEND, 8, 0);
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
		asked |= fx->pkt.ackreq << i;
	}
	KUNIT_EXPECT_EQ(test, asked, 8);
}

/* WRITEs use no receive request up: they do not ask for its sake. */
static void writes_do_not_ask(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i;

	told(test, 0);
	for (i = 0; i < 3; i++) {
		fx->req.ackreq.sent_ns = fx->now;
		fx_post_flags(fx, SHCA_WR_RDMA_WRITE, 8, 0);
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
		KUNIT_EXPECT_FALSE(test, fx->pkt.ackreq);
	}
}

/* What a READ response says counts as well, and acknowledges the one before. */
static void response_brings_credits(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	told(test, 0);
	post(fx, OP_SEND, 1);
	post(fx, SHCA_WR_RDMA_READ, 1);
	post(fx, OP_SEND, 4);
	KUNIT_ASSERT_EQ(test, fx_drain(fx), 2);
	memset(&pkt, 0, sizeof(pkt));
	pkt.opcode = SHCA_OP_READ_RESP_ONLY;
	pkt.psn = P0 + 2;
	pkt.paylen = 8;
	pkt.aeth.syndrome = CREDIT(2);
	KUNIT_EXPECT_EQ(test, shca_req_rx(&fx->req, &pkt, fx->now), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 3);
}

/*
 * SENDs behind a READ are acknowledged before its response is here.  Those credits count
 * once it is, and its own, which are older, do not count from there on.
 */
static void credits_ahead_of_a_response(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_attr attr;
	struct shca_pkt pkt;

	fx_req_attr(&attr);
	attr.ooo = true;
	fx_req_start(fx, &attr);
	told(test, 3);
	post(fx, SHCA_WR_RDMA_READ, 1);
	post(fx, OP_SEND, 3);
	KUNIT_ASSERT_EQ(test, fx_drain(fx), 4);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0 + 4, CREDIT(1)), SHCA_RX_LOST_RESPONSE);
	fx_drain(fx);
	memset(&pkt, 0, sizeof(pkt));
	pkt.opcode = SHCA_OP_READ_RESP_ONLY;
	pkt.psn = P0 + 1;
	pkt.paylen = 8;
	pkt.aeth.syndrome = CREDIT(3);
	KUNIT_EXPECT_EQ(test, shca_req_rx(&fx->req, &pkt, fx->now), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->req.psn.una, P0 + 5);
	post(fx, OP_SEND, 6);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2);
}

/* While packets before it are sent again, an answer to those brings it no credit. */
static void repetition_releases_no_message(struct kunit *test)
{
	struct fx *fx = test->priv;

	told(test, 1);
	post(fx, SHCA_WR_RDMA_WRITE, 1);
	post(fx, OP_SEND, 1);
	fx_post(fx, OP_SEND, 3 * FX_MTU);
	KUNIT_ASSERT_EQ(test, fx_drain(fx), 3);
	fx_timeout(fx);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + 1);
	fx_ack(fx, P0 + 1, CREDIT(1));
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2);
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_SEND_FIRST);
	KUNIT_EXPECT_TRUE(test, fx->pkt.ackreq);
	fx_ack(fx, P0 + 3, CREDIT(0));
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2);
}

static void new_connection_forgets(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_attr attr;

	told(test, 0);
	fx_req_attr(&attr);
	fx_req_start(fx, &attr);
	post(fx, OP_SEND, 8);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 8);
}

static struct kunit_case credit_cases[] = {
	KUNIT_CASE(codes_are_those_of_the_table),
	KUNIT_CASE(answers_tell_what_is_posted),
	KUNIT_CASE(responses_tell_it_too),
	KUNIT_CASE(others_tell_none),
	KUNIT_CASE_PARAM(sends_as_many_and_one, code_gen_params),
	KUNIT_CASE(no_credits_limit_nothing),
	KUNIT_CASE(credits_return),
	KUNIT_CASE(only_what_takes_a_receive_counts),
	KUNIT_CASE(credits_are_not_taken_back),
	KUNIT_CASE(first_of_two_packets_asks),
	KUNIT_CASE(message_waits_as_long_as_there_is_no_credit),
	KUNIT_CASE(first_packet_asks),
	KUNIT_CASE(credit_comes_in_mid_message),
	KUNIT_CASE(end_of_credits_comes_in_mid_message),
	KUNIT_CASE(message_behind_writes_is_not_cut),
	KUNIT_CASE(write_with_imm_is_not_cut),
	KUNIT_CASE(unasked_answer_is_heard),
	KUNIT_CASE(other_ghosts_are_not_heard),
	KUNIT_CASE(half_way_asks),
	KUNIT_CASE(writes_do_not_ask),
	KUNIT_CASE(response_brings_credits),
	KUNIT_CASE(credits_ahead_of_a_response),
	KUNIT_CASE(repetition_releases_no_message),
	KUNIT_CASE(new_connection_forgets),
	{}
};

static struct kunit_suite credit_suite = {
	.name = "softhca_credit",
	.init = fx_init,
	.test_cases = credit_cases,
};

kunit_test_suites(&credit_suite);
