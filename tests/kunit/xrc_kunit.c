// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * XRC (IBTA annex A14) where it differs from RC: each request names an SRQ, whose
 * number the responder checks before anything else.
 */
#include "fixture.h"

#define P0	FX_RQ_PSN
#define XRC	SHCA_TRANSPORT_XRC

static int xrc_init(struct kunit *test)
{
	struct shca_resp_attr resp_attr;
	struct shca_req_attr req_attr;
	struct fx *fx;
	int err = fx_init(test);

	if (err)
		return err;
	fx = test->priv;
	fx_req_attr(&req_attr);
	fx_resp_attr(&resp_attr);
	req_attr.transport = XRC;
	resp_attr.transport = XRC;
	fx_req_start(fx, &req_attr);
	fx_resp_start(fx, &resp_attr);
	return 0;
}

static enum shca_verdict rx_to(struct fx *fx, u8 op, u32 psn, u32 len, u32 srqn)
{
	struct shca_pkt pkt;

	fx_request(&pkt, XRC | op, psn, len);
	pkt.xrc_srqn = srqn;
	return fx_rx(fx, &pkt);
}

/* IBTA annex A14: all packets of a message name one SRQ. */
static void resp_rx_of_a_message_is_of_one_srq(struct kunit *test)
{
	struct fx *fx = test->priv;

	KUNIT_EXPECT_EQ(test, rx_to(fx, SHCA_OP_SEND_FIRST, FX_RQ_PSN, FX_MTU,
				    FX_SRQN), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, rx_to(fx, SHCA_OP_SEND_MIDDLE, FX_RQ_PSN + 1,
				    FX_MTU, FX_SRQN), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, rx_to(fx, SHCA_OP_SEND_LAST, FX_RQ_PSN + 2, 8,
				    FX_SRQN), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->out.wc.xrc_srqn, FX_SRQN);
	/* the next one may name another; its own packets may not */
	KUNIT_EXPECT_EQ(test, rx_to(fx, SHCA_OP_SEND_FIRST, FX_RQ_PSN + 3,
				    FX_MTU, FX_SRQN + 1), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, rx_to(fx, SHCA_OP_SEND_LAST, FX_RQ_PSN + 4, 8,
				    FX_SRQN), SHCA_RX_INVALID);
}

/* Also of one that takes no receive request. */
static void resp_rx_of_a_write_is_of_one_srq(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	fx_request(&pkt, XRC | SHCA_OP_WRITE_FIRST, P0, FX_MTU);
	pkt.reth.len = 4 * FX_MTU;
	KUNIT_EXPECT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, rx_to(fx, SHCA_OP_WRITE_MIDDLE, P0 + 1, FX_MTU, FX_SRQN),
			SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, rx_to(fx, SHCA_OP_WRITE_MIDDLE, P0 + 2, FX_MTU, FX_SRQN + 1),
			SHCA_RX_INVALID);
}

/* ---- requester ------------------------------------------------------------ */

static const u8 xrc_ops[] = {
	SHCA_WR_SEND, SHCA_WR_SEND_WITH_IMM, SHCA_WR_SEND_WITH_INV,
	SHCA_WR_RDMA_WRITE, SHCA_WR_RDMA_WRITE_WITH_IMM, SHCA_WR_RDMA_READ,
	SHCA_WR_ATOMIC_CMP_AND_SWP, SHCA_WR_ATOMIC_FETCH_AND_ADD,
};

static void req_next_of_each_operation_names_the_srq(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_send_wr *wr;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(xrc_ops); i++) {
		wr = fx_post(fx, xrc_ops[i], 8);
		KUNIT_ASSERT_NOT_NULL(test, wr);
		wr->xrc_srqn = 0x100 + i;
	}
	for (i = 0; i < 4; i++) {
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
		KUNIT_EXPECT_EQ(test, fx->pkt.xrc_srqn, 0x100 + i);
		KUNIT_EXPECT_EQ(test, fx->pkt.opcode & SHCA_TRANSPORT_MASK,
				XRC);
		KUNIT_EXPECT_TRUE(test, shca_opcode_info(fx->pkt.opcode)->flags &
				  SHCA_OPF_XRCETH);
	}
}

static void req_next_of_a_long_message_names_it_in_each_packet(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_send_wr *wr = fx_post(fx, SHCA_WR_SEND, 3 * FX_MTU);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, wr);
	wr->xrc_srqn = 0xabcdef;
	for (i = 0; i < 3; i++) {
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
		KUNIT_EXPECT_EQ(test, fx->pkt.xrc_srqn, 0xabcdefu);
	}
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, XRC | SHCA_OP_SEND_LAST);
}

static void req_rx_acknowledges_by_its_own_transport(struct kunit *test)
{
	struct shca_pkt ack = {
		.opcode = SHCA_OP_ACK,
		.psn = FX_SQ_PSN,
		.aeth.syndrome = SHCA_AETH_ACK | SHCA_AETH_CREDIT_NONE,
	};
	struct fx *fx = test->priv;

	fx_post(fx, SHCA_WR_SEND, 8);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_TRUE(test, fx->pkt.ackreq);
	KUNIT_EXPECT_EQ(test, shca_req_rx(&fx->req, &ack, fx->now),
			SHCA_RX_STATE);
	KUNIT_EXPECT_FALSE(test, fx_pop(fx));
	ack.opcode |= XRC;
	KUNIT_EXPECT_EQ(test, shca_req_rx(&fx->req, &ack, fx->now), SHCA_RX_OK);
	KUNIT_EXPECT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_SUCCESS);
}

static void req_rx_places_a_read_response(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, SHCA_WR_RDMA_READ, 8);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx_read_resp(fx, XRC | SHCA_OP_READ_RESP_ONLY,
					   FX_SQ_PSN, 8), SHCA_RX_OK);
	KUNIT_EXPECT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->nr_scatter, 1u);
}

/* ---- responder ------------------------------------------------------------ */

static void resp_rx_completes_for_the_srq_that_is_named(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i;

	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, rx_to(fx, SHCA_OP_SEND_ONLY, P0 + i, 8,
					    FX_SRQN + i), SHCA_RX_OK);
		KUNIT_EXPECT_EQ(test, fx->last_srqn, FX_SRQN + i);
		KUNIT_ASSERT_TRUE(test, fx->out.has_wc);
		KUNIT_EXPECT_EQ(test, fx->out.wc.xrc_srqn, FX_SRQN + i);
	}
}

struct srqn_row {
	const char *name;
	u8 op;
};

static const struct srqn_row srqn_rows[] = {
	{ "SEND", SHCA_OP_SEND_ONLY },
	{ "SEND inv", SHCA_OP_SEND_ONLY_INV },
	{ "WRITE", SHCA_OP_WRITE_ONLY },
	{ "WRITE imm", SHCA_OP_WRITE_ONLY_IMM },
	{ "READ", SHCA_OP_READ_REQUEST },
	{ "CmpSwap", SHCA_OP_CMP_SWAP },
	{ "FetchAdd", SHCA_OP_FETCH_ADD },
};

static void srqn_desc(const struct srqn_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(srqn, srqn_rows, srqn_desc);

static void resp_rx_of_an_srq_not_there_is_an_invalid_request(struct kunit *test)
{
	const struct srqn_row *row = test->param_value;
	struct fx *fx = test->priv;

	KUNIT_EXPECT_EQ(test, rx_to(fx, row->op, P0, 8, FX_SRQN + 7),
			SHCA_RX_INVALID);
	KUNIT_EXPECT_EQ(test, fx->resp.state, SHCA_SIDE_ERR);
	KUNIT_EXPECT_EQ(test, fx->out.events & SHCA_EV_REQ_ERR, SHCA_EV_REQ_ERR);
	KUNIT_EXPECT_FALSE(test, fx->out.has_wc);
	KUNIT_EXPECT_EQ(test, fx->nr_check + fx->nr_write + fx->nr_recv +
			fx->nr_atomic + fx->nr_scatter + fx->nr_inv, 0u);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, XRC | SHCA_OP_ACK);
	KUNIT_EXPECT_EQ(test, fx->pkt.aeth.syndrome,
			SHCA_AETH_NAK | SHCA_NAK_INVALID);
}

static void resp_rx_of_another_srq_within_a_message_is_refused(struct kunit *test)
{
	struct fx *fx = test->priv;

	KUNIT_EXPECT_EQ(test, rx_to(fx, SHCA_OP_SEND_FIRST, P0, FX_MTU, FX_SRQN),
			SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, rx_to(fx, SHCA_OP_SEND_LAST, P0 + 1, 8,
				    FX_SRQN + 1), SHCA_RX_INVALID);
	/* the receive was the first one's */
	KUNIT_ASSERT_TRUE(test, fx->out.has_wc);
	KUNIT_EXPECT_EQ(test, fx->out.wc.xrc_srqn, FX_SRQN);
	KUNIT_EXPECT_EQ(test, fx->out.wc.status, SHCA_WC_LOC_QP_OP_ERR);
}

static void resp_flush_tells_the_srq_of_the_message(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_wc wc;

	rx_to(fx, SHCA_OP_SEND_FIRST, P0, FX_MTU, FX_SRQN + 1);
	shca_resp_fail(&fx->resp);
	KUNIT_ASSERT_TRUE(test, shca_resp_flush(&fx->resp, &wc));
	KUNIT_EXPECT_EQ(test, wc.xrc_srqn, FX_SRQN + 1);
}

static void resp_next_of_a_read_tells_by_whose_rights(struct kunit *test)
{
	struct fx *fx = test->priv;

	KUNIT_EXPECT_EQ(test, rx_to(fx, SHCA_OP_READ_REQUEST, P0, 8, FX_SRQN),
			SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, rx_to(fx, SHCA_OP_READ_REQUEST, P0 + 1, 8,
				    FX_SRQN + 1), SHCA_RX_OK);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, XRC | SHCA_OP_READ_RESP_ONLY);
	KUNIT_EXPECT_EQ(test, fx->pkt.xrc_srqn, FX_SRQN);
	KUNIT_EXPECT_FALSE(test, shca_opcode_info(fx->pkt.opcode)->flags &
			   SHCA_OPF_XRCETH);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.xrc_srqn, FX_SRQN + 1);
	/* again: the same is answered, another's is dropped */
	KUNIT_EXPECT_EQ(test, rx_to(fx, SHCA_OP_READ_REQUEST, P0, 8,
				    FX_SRQN + 1), SHCA_RX_DUPLICATE);
	KUNIT_EXPECT_FALSE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, rx_to(fx, SHCA_OP_READ_REQUEST, P0, 8, FX_SRQN),
			SHCA_RX_DUPLICATE);
	KUNIT_EXPECT_TRUE(test, fx_answer(fx));
}

/* The SRQ's protection domain decides about memory: without it nothing is read. */
static void resp_read_again_without_its_srq_is_dropped(struct kunit *test)
{
	struct fx *fx = test->priv;

	KUNIT_ASSERT_EQ(test, rx_to(fx, SHCA_OP_READ_REQUEST, P0, 8, FX_SRQN),
			SHCA_RX_OK);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	/* another message has chosen another one meanwhile */
	rx_to(fx, SHCA_OP_WRITE_ONLY, P0 + 1, 8, FX_SRQN + 1);
	KUNIT_EXPECT_EQ(test, rx_to(fx, SHCA_OP_READ_REQUEST, P0, 8, FX_SRQN),
			SHCA_RX_DUPLICATE);
	KUNIT_EXPECT_EQ(test, fx->last_srqn, FX_SRQN);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	fx->srq_gone = true;
	KUNIT_EXPECT_EQ(test, rx_to(fx, SHCA_OP_READ_REQUEST, P0, 8, FX_SRQN),
			SHCA_RX_DUPLICATE);
	KUNIT_EXPECT_FALSE(test, fx_answer(fx));
}

static void resp_rx_without_a_receive_is_not_ready(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->recvs = 0;
	KUNIT_EXPECT_EQ(test, rx_to(fx, SHCA_OP_SEND_ONLY, P0, 8, FX_SRQN),
			SHCA_RX_RNR);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.aeth.syndrome & ~SHCA_AETH_VALUE,
			SHCA_AETH_RNR);
	/* and the retry may go to an SRQ that has one */
	fx->recvs = 1;
	KUNIT_EXPECT_EQ(test, rx_to(fx, SHCA_OP_SEND_ONLY, P0, 8, FX_SRQN + 1),
			SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->out.wc.xrc_srqn, FX_SRQN + 1);
}

/* A receive that waits for its memory is of the SRQ that it was taken from. */
static void resp_rx_again_takes_no_receive_of_another_srq(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->scatter = SHCA_MEM_RETRY;
	KUNIT_EXPECT_EQ(test, rx_to(fx, SHCA_OP_SEND_ONLY, P0, 8, FX_SRQN), SHCA_RX_RETRY);
	fx->scatter = SHCA_MEM_OK;
	KUNIT_EXPECT_EQ(test, rx_to(fx, SHCA_OP_SEND_ONLY, P0, 0, FX_SRQN + 1),
			SHCA_RX_INVALID);
	KUNIT_EXPECT_FALSE(test, fx->out.has_wc && fx->out.wc.xrc_srqn != FX_SRQN);
}

static void resp_rx_of_rc_is_not_for_xrc(struct kunit *test)
{
	struct fx *fx = test->priv;

	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0, 8),
			SHCA_RX_STATE);
	KUNIT_EXPECT_EQ(test, fx->nr_select, 0u);
}

static struct kunit_case xrc_cases[] = {
	KUNIT_CASE(resp_rx_of_a_message_is_of_one_srq),
	KUNIT_CASE(resp_rx_of_a_write_is_of_one_srq),
	KUNIT_CASE(req_next_of_each_operation_names_the_srq),
	KUNIT_CASE(req_next_of_a_long_message_names_it_in_each_packet),
	KUNIT_CASE(req_rx_acknowledges_by_its_own_transport),
	KUNIT_CASE(req_rx_places_a_read_response),
	KUNIT_CASE(resp_rx_completes_for_the_srq_that_is_named),
	KUNIT_CASE_PARAM(resp_rx_of_an_srq_not_there_is_an_invalid_request,
			 srqn_gen_params),
	KUNIT_CASE(resp_rx_of_another_srq_within_a_message_is_refused),
	KUNIT_CASE(resp_flush_tells_the_srq_of_the_message),
	KUNIT_CASE(resp_next_of_a_read_tells_by_whose_rights),
	KUNIT_CASE(resp_read_again_without_its_srq_is_dropped),
	KUNIT_CASE(resp_rx_without_a_receive_is_not_ready),
	KUNIT_CASE(resp_rx_again_takes_no_receive_of_another_srq),
	KUNIT_CASE(resp_rx_of_rc_is_not_for_xrc),
	{}
};

static struct kunit_suite xrc_suite = {
	.name = "softhca_xrc",
	.init = xrc_init,
	.test_cases = xrc_cases,
};

kunit_test_suites(&xrc_suite);
