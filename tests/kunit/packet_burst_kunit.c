// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Middle packets of a message as one.  The requester hands out a burst, and a link
 * takes it apart into its packets.  A link also finds which received packets may be
 * put together.
 */
#include "fixture.h"

#define BURST	8
#define PKTS	20

static struct fx *begin(struct kunit *test, u8 opcode, u32 pkts)
{
	struct fx *fx = test->priv;

	fx->req.psn.max_run = BURST;
	fx->resp.max_run = BURST;
	fx_post(fx, opcode, pkts * FX_MTU);
	return fx;
}

/* First, middle ones in runs, last: each byte and PSN once and in order. */
static void burst_is_of_middle_packets(struct kunit *test)
{
	static const u32 nr[] = { 1, BURST, BURST, PKTS - 2 * BURST - 2, 1 };
	struct fx *fx = begin(test, SHCA_WR_RDMA_WRITE, PKTS);
	u32 i, done = 0;

	for (i = 0; i < ARRAY_SIZE(nr); i++) {
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
		KUNIT_EXPECT_EQ(test, fx->pkt.span + 1, nr[i]);
		KUNIT_EXPECT_EQ(test, fx->pkt.psn, FX_SQ_PSN + done);
		KUNIT_EXPECT_EQ(test, fx->pkt.off, done * FX_MTU);
		KUNIT_EXPECT_EQ(test, fx->pkt.paylen, nr[i] * FX_MTU);
		done += nr[i];
		KUNIT_EXPECT_EQ(test, fx->pkt.rest, (PKTS - done) * FX_MTU);
		KUNIT_EXPECT_EQ(test, fx->pkt.ackreq, done == PKTS);
	}
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_WRITE_LAST);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->req.stats.tx_pkts, (u64)PKTS);
}

static void burst_asks_and_ends_with_the_window(struct kunit *test)
{
	struct fx *fx = begin(test, SHCA_WR_SEND, 4 * SHCA_CC_WINDOW);
	u32 sent = 0, since = 0;

	fx->req.psn.max_run = SHCA_CC_WINDOW;
	while (fx_next(fx)) {
		sent += fx->pkt.span + 1;
		since += fx->pkt.span + 1;
		KUNIT_EXPECT_LE(test, since, SHCA_CC_WINDOW / 4);
		since = fx->pkt.ackreq ? 0 : since;
	}
	KUNIT_EXPECT_EQ(test, sent, SHCA_CC_WINDOW);
	KUNIT_EXPECT_TRUE(test, fx->pkt.ackreq);
	/* A part of it is open again. */
	fx_ack(fx, FX_SQ_PSN + 4, SHCA_AETH_ACK | SHCA_AETH_CREDIT_NONE);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.span + 1, 5u);
	KUNIT_EXPECT_TRUE(test, fx->pkt.ackreq);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
}

/* A run is no longer than the burst that pacing permits. */
static void burst_is_no_more_than_a_pace_lets_go(struct kunit *test)
{
	struct fx *fx = begin(test, SHCA_WR_RDMA_WRITE, PKTS);

	fx->req.cc.paces = true;
	fx->req.cc.burst = 3;
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.span + 1, 3u);
}

/* What is sent again may have been refused, or lost, in part. */
static void burst_is_not_of_what_is_sent_again(struct kunit *test)
{
	struct fx *fx = begin(test, SHCA_WR_SEND, PKTS);
	u32 i;

	fx_drain(fx);
	fx_timeout(fx);
	for (i = 0; i < PKTS; i++) {
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
		KUNIT_EXPECT_EQ(test, fx->pkt.span, 0u);
	}
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
}

/* The parts before have left, and have not asked. */
static void burst_that_ends_early_resumes_at_its_part(struct kunit *test)
{
	struct fx *fx = begin(test, SHCA_WR_SEND, 2 * SHCA_CC_WINDOW);
	struct shca_pkt part;
	u32 since;

	fx->req.psn.max_run = SHCA_CC_WINDOW;
	fx_next(fx);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_ASSERT_TRUE(test, fx->pkt.span > 5);
	part = shca_pkt_part(&fx->pkt, 5);
	shca_req_gather_failed(&fx->req, &part, SHCA_MEM_RETRY);
	since = 1 + 5;
	do {
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
		if (since == 1 + 5)
			KUNIT_EXPECT_EQ(test, fx->pkt.psn, part.psn);
		since += fx->pkt.span + 1;
	} while (!fx->pkt.ackreq);
	KUNIT_EXPECT_LE(test, since, SHCA_CC_WINDOW / 4);
}

/* The AckReq has not left: no answer will come, so nothing is late. */
static void burst_that_has_not_left_is_not_late(struct kunit *test)
{
	struct fx *fx = begin(test, SHCA_WR_SEND, 2 * SHCA_CC_WINDOW);
	struct shca_pkt part;

	fx->req.psn.max_run = SHCA_CC_WINDOW;
	fx_next(fx);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_ASSERT_TRUE(test, fx->pkt.ackreq);
	part = shca_pkt_part(&fx->pkt, 0);
	shca_req_gather_failed(&fx->req, &part, SHCA_MEM_RETRY);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.deadline, 0ull);
}

static void burst_of_a_response(struct kunit *test)
{
	static const u32 nr[] = { 1, BURST, BURST, PKTS - 2 * BURST - 2, 1 };
	struct fx *fx = test->priv;
	struct shca_pkt pkt;
	u32 i, done = 0;

	fx->resp.max_run = BURST;
	fx_request(&pkt, SHCA_OP_READ_REQUEST, FX_RQ_PSN, PKTS * FX_MTU);
	KUNIT_ASSERT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_OK);
	for (i = 0; i < ARRAY_SIZE(nr); i++) {
		KUNIT_ASSERT_TRUE(test, shca_resp_next(&fx->resp, fx->now,
						       &fx->pkt));
		KUNIT_EXPECT_EQ(test, fx->pkt.span + 1, nr[i]);
		KUNIT_EXPECT_EQ(test, fx->pkt.psn, FX_RQ_PSN + done);
		KUNIT_EXPECT_EQ(test, fx->pkt.va, pkt.reth.va + done * FX_MTU);
		KUNIT_EXPECT_EQ(test, fx->pkt.unit, (u32)FX_MTU);
		done += nr[i];
		KUNIT_EXPECT_EQ(test, fx->pkt.rest, (PKTS - done) * FX_MTU);
	}
	KUNIT_EXPECT_FALSE(test, shca_resp_next(&fx->resp, fx->now, &fx->pkt));
}

static void burst_of_a_response_resumes_at_its_part(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt, part;

	fx->resp.max_run = BURST;
	fx_request(&pkt, SHCA_OP_READ_REQUEST, FX_RQ_PSN, PKTS * FX_MTU);
	KUNIT_ASSERT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_OK);
	shca_resp_next(&fx->resp, fx->now, &fx->pkt);
	KUNIT_ASSERT_TRUE(test, shca_resp_next(&fx->resp, fx->now, &fx->pkt));
	part = shca_pkt_part(&fx->pkt, 3);
	shca_resp_gather_failed(&fx->resp, &part, SHCA_MEM_RETRY, &fx->out);
	KUNIT_ASSERT_TRUE(test, shca_resp_next(&fx->resp, fx->now, &fx->pkt));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, FX_RQ_PSN + 4);
	KUNIT_EXPECT_EQ(test, fx->pkt.va, pkt.reth.va + 4 * FX_MTU);
}

static void burst_parts_are_all_of_it(struct kunit *test)
{
	struct fx *fx = begin(test, SHCA_WR_SEND, PKTS);
	struct shca_pkt whole, part;
	u32 i;

	fx_next(fx);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	whole = fx->pkt;
	whole.ackreq = true;
	whole.data_off = 100;
	whole.stride = FX_MTU + 16;
	for (i = 0; i <= whole.span; i++) {
		part = shca_pkt_part(&whole, i);
		KUNIT_EXPECT_EQ(test, part.span, 0u);
		KUNIT_EXPECT_EQ(test, part.opcode, SHCA_OP_SEND_MIDDLE);
		KUNIT_EXPECT_EQ(test, part.psn, whole.psn + i);
		KUNIT_EXPECT_EQ(test, part.paylen, FX_MTU);
		KUNIT_EXPECT_EQ(test, part.off, whole.off + i * FX_MTU);
		KUNIT_EXPECT_EQ(test, part.off + part.paylen + part.rest,
				PKTS * FX_MTU);
		KUNIT_EXPECT_EQ(test, part.data_off, 100 + i * (FX_MTU + 16));
		KUNIT_EXPECT_EQ(test, part.ackreq, i == whole.span);
	}
}

/* ---- reception ------------------------------------------------------------- */

static void burst_received_is_executed_as_one(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	fx_request(&pkt, SHCA_OP_WRITE_FIRST, FX_RQ_PSN, FX_MTU);
	pkt.reth.len = 6 * FX_MTU;
	KUNIT_ASSERT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_OK);
	fx_request(&pkt, SHCA_OP_WRITE_MIDDLE, FX_RQ_PSN + 1, 4 * FX_MTU);
	pkt.span = 3;
	pkt.unit = FX_MTU;
	pkt.stride = FX_MTU + 16;
	pkt.ackreq = true;
	pkt.psn++;
	KUNIT_EXPECT_FALSE(test, shca_resp_takes_run(&fx->resp, &pkt));
	pkt.psn--;
	pkt.unit--;
	KUNIT_EXPECT_FALSE(test, shca_resp_takes_run(&fx->resp, &pkt));
	pkt.unit++;
	pkt.paylen += FX_MTU;
	KUNIT_EXPECT_FALSE(test, shca_resp_takes_run(&fx->resp, &pkt));
	pkt.paylen -= FX_MTU;
	pkt.opcode = SHCA_OP_SEND_MIDDLE;
	KUNIT_EXPECT_FALSE(test, shca_resp_takes_run(&fx->resp, &pkt));
	pkt.opcode = SHCA_OP_WRITE_MIDDLE;
	KUNIT_EXPECT_TRUE(test, shca_resp_takes_run(&fx->resp, &pkt));
	KUNIT_EXPECT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->nr_write, 2u);
	KUNIT_EXPECT_EQ(test, fx->last_len, 4 * FX_MTU);
	KUNIT_ASSERT_TRUE(test, shca_resp_next(&fx->resp, fx->now, &fx->pkt));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, FX_RQ_PSN + 4);
	KUNIT_EXPECT_EQ(test, fx->resp.epsn, FX_RQ_PSN + 5);
}

static void burst_of_a_response_is_placed_as_one(struct kunit *test)
{
	struct fx *fx = begin(test, SHCA_WR_RDMA_READ, 6);
	struct shca_pkt pkt = {
		.opcode = SHCA_OP_READ_RESP_MIDDLE,
		.psn = FX_SQ_PSN + 1,
		.span = 3,
		.paylen = 4 * FX_MTU,
		.unit = FX_MTU,
		.stride = FX_MTU + 16,
	};

	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_FALSE(test, shca_req_takes_run(&fx->req, &pkt));
	fx_read_resp(fx, SHCA_OP_READ_RESP_FIRST, FX_SQ_PSN, FX_MTU);
	KUNIT_EXPECT_TRUE(test, shca_req_takes_run(&fx->req, &pkt));
	pkt.span++;	/* up to the last one, which is none in the middle */
	KUNIT_EXPECT_FALSE(test, shca_req_takes_run(&fx->req, &pkt));
	pkt.span--;
	pkt.unit--;
	KUNIT_EXPECT_FALSE(test, shca_req_takes_run(&fx->req, &pkt));
	pkt.unit++;
	KUNIT_EXPECT_EQ(test, shca_req_rx(&fx->req, &pkt, fx->now), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->nr_scatter, 2u);
	KUNIT_EXPECT_FALSE(test, shca_req_takes_run(&fx->req, &pkt));
	fx_read_resp(fx, SHCA_OP_READ_RESP_LAST, FX_SQ_PSN + 5, FX_MTU);
	KUNIT_EXPECT_TRUE(test, fx_pop(fx));
}

static void burst_of_short_packets_is_refused(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	fx_request(&pkt, SHCA_OP_WRITE_FIRST, FX_RQ_PSN, FX_MTU);
	pkt.reth.len = 6 * FX_MTU;
	KUNIT_ASSERT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_OK);
	fx_request(&pkt, SHCA_OP_WRITE_MIDDLE, FX_RQ_PSN + 1, 2 * FX_MTU);
	pkt.span = 3;
	KUNIT_EXPECT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_INVALID);
	KUNIT_EXPECT_EQ(test, fx->nr_write, 1u);
}

struct follow_row {
	const char *name;
	u8 at;
	u8 flip;
	bool follows;
};

static const struct follow_row follow_rows[] = {
	{ "the same but for the PSN", 0, 0x00, true },
	{ "another opcode", 0, 0x01, false },
	{ "solicited", 1, 0x80, false },
	{ "padded", 1, 0x10, false },
	{ "another partition", 3, 0x01, false },
	{ "congestion", 4, 0x40, false },
	{ "another QP", 7, 0x01, false },
	{ "AckReq", 8, 0x80, true },
	{ "another PSN", 11, 0x02, false },
};

static void follow_desc(const struct follow_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(follow, follow_rows, follow_desc);

static void burst_goes_on_with(struct kunit *test)
{
	static const u8 bth[] = { 0x07, 0x40, 0xff, 0xff, 0x00, 0x12,
				  0x34, 0x56, 0x00, 0xff, 0xff, 0xff };
	const struct follow_row *row = test->param_value;
	u8 next[sizeof(bth)];
	bool ackreq;

	/* PSNs have 24 bits */
	memcpy(next, bth, sizeof(bth));
	memset(next + 9, 0, 3);
	next[row->at] ^= row->flip;
	KUNIT_EXPECT_EQ(test, shca_bth_follows(next, bth,
					       shca_psn_add(0xffffff, 1),
					       &ackreq), row->follows);
	KUNIT_EXPECT_EQ(test, ackreq, row->at == 8);
}

static struct kunit_case packet_burst_cases[] = {
	KUNIT_CASE(burst_is_of_middle_packets),
	KUNIT_CASE(burst_asks_and_ends_with_the_window),
	KUNIT_CASE(burst_is_no_more_than_a_pace_lets_go),
	KUNIT_CASE(burst_is_not_of_what_is_sent_again),
	KUNIT_CASE(burst_that_ends_early_resumes_at_its_part),
	KUNIT_CASE(burst_that_has_not_left_is_not_late),
	KUNIT_CASE(burst_of_a_response),
	KUNIT_CASE(burst_of_a_response_resumes_at_its_part),
	KUNIT_CASE(burst_parts_are_all_of_it),
	KUNIT_CASE(burst_received_is_executed_as_one),
	KUNIT_CASE(burst_of_a_response_is_placed_as_one),
	KUNIT_CASE(burst_of_short_packets_is_refused),
	KUNIT_CASE_PARAM(burst_goes_on_with, follow_gen_params),
	{}
};

static struct kunit_suite packet_burst_suite = {
	.name = "softhca_packet_burst",
	.init = fx_init,
	.test_cases = packet_burst_cases,
};

kunit_test_suites(&packet_burst_suite);
