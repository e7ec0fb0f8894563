// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* UC and UD: what is sent completes, what is broken is dropped. */
#include "fixture.h"

#define UC(op)	(SHCA_TRANSPORT_UC | SHCA_OP_##op)
#define UD(op)	(SHCA_TRANSPORT_UD | SHCA_OP_##op)
#define P0	FX_RQ_PSN
#define QKEY	0x11111111u
#define OWN_QKEY	0x80010000u

static void start(struct fx *fx, u8 transport)
{
	struct shca_resp_attr resp_attr;
	struct shca_req_attr req_attr;

	fx_req_attr(&req_attr);
	req_attr.transport = transport;
	req_attr.qkey = OWN_QKEY;
	req_attr.sqpn = 0x654321;
	fx_req_start(fx, &req_attr);
	fx_resp_attr(&resp_attr);
	resp_attr.transport = transport;
	resp_attr.qkey = QKEY;
	fx_resp_start(fx, &resp_attr);
}

/* ---- requester ------------------------------------------------------------- */

static void uc_send_completes_when_sent(struct kunit *test)
{
	struct fx *fx = test->priv;

	start(fx, SHCA_TRANSPORT_UC);
	fx_post(fx, SHCA_WR_SEND, FX_MTU + 1);
	fx_post(fx, SHCA_WR_RDMA_WRITE, 1);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, UC(SEND_FIRST));
	KUNIT_EXPECT_FALSE(test, fx->pkt.ackreq);
	KUNIT_EXPECT_FALSE(test, fx_pop(fx));
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, UC(SEND_LAST));
	KUNIT_EXPECT_FALSE(test, fx->pkt.ackreq);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, UC(WRITE_ONLY));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, FX_SQ_PSN + 2);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.opcode, SHCA_WC_RDMA_WRITE);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), 0ull);
	KUNIT_EXPECT_TRUE(test, shca_req_idle(&fx->req));
}

static void uc_read_and_atomics_are_refused(struct kunit *test)
{
	static const u8 opcodes[] = {
		SHCA_WR_RDMA_READ, SHCA_WR_ATOMIC_CMP_AND_SWP,
		SHCA_WR_ATOMIC_FETCH_AND_ADD, SHCA_WR_SEND_WITH_INV,
	};
	struct fx *fx = test->priv;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		start(fx, SHCA_TRANSPORT_UC);
		fx_post(fx, opcodes[i], 8);
		KUNIT_EXPECT_EQ(test, fx_drain(fx), 0u);
		KUNIT_ASSERT_TRUE(test, fx_pop(fx));
		KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_LOC_QP_OP_ERR);
	}
}

static void ud_send_carries_deth_of_request(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_send_wr *wr;

	start(fx, SHCA_TRANSPORT_UD);
	wr = fx_post(fx, SHCA_WR_SEND_WITH_IMM, FX_MTU);
	wr->ud.remote_qpn = 0x123;
	wr->ud.remote_qkey = QKEY;
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, UD(SEND_ONLY_IMM));
	KUNIT_EXPECT_EQ(test, fx->pkt.dqpn, 0x123u);
	KUNIT_EXPECT_EQ(test, fx->pkt.deth.qkey, QKEY);
	KUNIT_EXPECT_EQ(test, fx->pkt.deth.sqpn, 0x654321u);
	KUNIT_ASSERT_FALSE(test, fx_next(fx));
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_SUCCESS);
}

/* IBTA 10.2.5: the high bit asks for the QP's own Q_Key */
static void ud_send_with_privileged_qkey_uses_own(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_send_wr *wr;

	start(fx, SHCA_TRANSPORT_UD);
	wr = fx_post(fx, SHCA_WR_SEND, 1);
	wr->ud.remote_qkey = 0xffffffff;
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.deth.qkey, OWN_QKEY);
}

static void ud_send_longer_than_mtu_fails_and_resumes(struct kunit *test)
{
	struct fx *fx = test->priv;

	start(fx, SHCA_TRANSPORT_UD);
	fx_post(fx, SHCA_WR_SEND, FX_MTU + 1);
	fx_post(fx, SHCA_WR_SEND, 1);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 0u);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_LOC_LEN_ERR);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_WR_FLUSH_ERR);
	shca_req_resume(&fx->req);
	fx_post(fx, SHCA_WR_SEND, 1);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_SUCCESS);
}

static void ud_gather_failed_completes_with_error(struct kunit *test)
{
	struct fx *fx = test->priv;

	start(fx, SHCA_TRANSPORT_UD);
	fx_post(fx, SHCA_WR_SEND, 1);
	fx_post(fx, SHCA_WR_SEND, 1);
	fx_next(fx);
	fx_next(fx);
	shca_req_gather_failed(&fx->req, &fx->pkt, SHCA_MEM_KEY);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_SUCCESS);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_LOC_PROT_ERR);
}

/* A batch that the link refuses is not lost, and has not been sent. */
static void unr_refused_batch_comes_again(struct kunit *test)
{
	static const u8 transports[] = {
		SHCA_TRANSPORT_UC, SHCA_TRANSPORT_UD,
	};
	struct fx *fx = test->priv;
	struct shca_pkt first;
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(transports); i++) {
		start(fx, transports[i]);
		for (k = 0; k < 3; k++)
			fx_post(fx, SHCA_WR_SEND, 1);
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
		first = fx->pkt;
		KUNIT_EXPECT_EQ(test, fx_drain(fx), 2u);
		shca_req_gather_failed(&fx->req, &first, SHCA_MEM_RETRY);
		KUNIT_EXPECT_FALSE(test, fx_pop(fx));
		for (k = 0; k < 3; k++) {
			KUNIT_ASSERT_TRUE(test, fx_next(fx));
			KUNIT_EXPECT_EQ(test, fx->pkt.psn, FX_SQ_PSN + k);
			KUNIT_EXPECT_FALSE(test, fx->pkt.again);
		}
		KUNIT_EXPECT_FALSE(test, fx_next(fx));
		for (k = 0; k < 3; k++)
			KUNIT_EXPECT_TRUE(test, fx_pop(fx));
		KUNIT_EXPECT_EQ(test, fx->req.stats.retransmits, 0ull);
	}
}

/* What is sent may need the key until it has left. */
static void uc_local_inv_waits_for_the_batch(struct kunit *test)
{
	struct fx *fx = test->priv;

	start(fx, SHCA_TRANSPORT_UC);
	fx_post(fx, SHCA_WR_SEND, 1);
	fx_post(fx, SHCA_WR_LOCAL_INV, 0);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
	KUNIT_EXPECT_EQ(test, fx->nr_local, 0u);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 0u);
	KUNIT_EXPECT_EQ(test, fx->nr_local, 1u);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.opcode, SHCA_WC_LOCAL_INV);
}

/*
 * Two packets of a message have left when the third fails.  Were their PSNs
 * used again, the rest of the next message could continue this one.
 */
static void uc_error_within_message_uses_no_psn_twice(struct kunit *test)
{
	struct fx *fx = test->priv;

	start(fx, SHCA_TRANSPORT_UC);
	fx_post(fx, SHCA_WR_SEND, 3 * FX_MTU);
	fx_next(fx);
	fx_next(fx);
	KUNIT_EXPECT_FALSE(test, fx_pop(fx));
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	shca_req_gather_failed(&fx->req, &fx->pkt, SHCA_MEM_KEY);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_LOC_PROT_ERR);
	shca_req_resume(&fx->req);
	fx_post(fx, SHCA_WR_SEND, 2 * FX_MTU);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, UC(SEND_FIRST));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, FX_SQ_PSN + 2);
}

static void unr_post_with_unknown_flag_is_refused(struct kunit *test)
{
	static const u8 transports[] = {
		SHCA_TRANSPORT_UC, SHCA_TRANSPORT_UD,
	};
	struct fx *fx = test->priv;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(transports); i++) {
		start(fx, transports[i]);
		fx_post_flags(fx, SHCA_WR_SEND, 1, SHCA_SEND_SIGNALED | 1u << 9);
		KUNIT_EXPECT_EQ(test, fx_drain(fx), 0u);
		KUNIT_ASSERT_TRUE(test, fx_pop(fx));
		KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_LOC_QP_OP_ERR);
	}
}

/* ---- responder, UC ---------------------------------------------------------- */

static void uc_message_fills_receive_without_answer(struct kunit *test)
{
	struct fx *fx = test->priv;

	start(fx, SHCA_TRANSPORT_UC);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, UC(SEND_FIRST), P0, FX_MTU),
			SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, UC(SEND_LAST_IMM), P0 + 1, 5),
			SHCA_RX_OK);
	KUNIT_ASSERT_TRUE(test, fx->out.has_wc);
	KUNIT_EXPECT_EQ(test, fx->out.wc.byte_len, 261u);
	KUNIT_EXPECT_EQ(test, fx->out.wc.wc_flags, SHCA_WC_WITH_IMM);
	KUNIT_EXPECT_FALSE(test, fx_answer(fx));
}

/* IBTA 9.8.2: all up to the next FIRST or ONLY, whatever its PSN */
static void uc_gap_drops_message_and_keeps_receive(struct kunit *test)
{
	struct fx *fx = test->priv;

	start(fx, SHCA_TRANSPORT_UC);
	fx_rx_op(fx, UC(SEND_FIRST), P0, FX_MTU);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, UC(SEND_MIDDLE), P0 + 2, FX_MTU),
			SHCA_RX_DROPPED);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, UC(SEND_LAST), P0 + 3, 1),
			SHCA_RX_DROPPED);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, UC(SEND_ONLY), P0 + 9, 3),
			SHCA_RX_OK);
	KUNIT_ASSERT_TRUE(test, fx->out.has_wc);
	KUNIT_EXPECT_EQ(test, fx->out.wc.wr_id, 1000ull);
	KUNIT_EXPECT_EQ(test, fx->out.wc.byte_len, 3u);
	KUNIT_EXPECT_EQ(test, fx->resp.state, SHCA_SIDE_READY);
}

/* After a broken WRITE the next message must get through. */
static void uc_broken_write_does_not_stick(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	start(fx, SHCA_TRANSPORT_UC);
	fx_request(&pkt, UC(WRITE_FIRST), P0, FX_MTU);
	pkt.reth.len = 2 * FX_MTU;
	KUNIT_EXPECT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, UC(WRITE_LAST), P0 + 2, FX_MTU),
			SHCA_RX_DROPPED);
	KUNIT_EXPECT_EQ(test, fx->nr_write, 1u);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, UC(WRITE_ONLY), P0 + 3, 8),
			SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, UC(SEND_ONLY), P0 + 4, 8),
			SHCA_RX_OK);
}

static void uc_write_with_bad_key_is_dropped(struct kunit *test)
{
	struct fx *fx = test->priv;

	start(fx, SHCA_TRANSPORT_UC);
	fx->check = SHCA_MEM_KEY;
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, UC(WRITE_ONLY), P0, 8),
			SHCA_RX_ACCESS);
	KUNIT_EXPECT_EQ(test, fx->nr_write, 0u);
	KUNIT_EXPECT_EQ(test, fx->resp.state, SHCA_SIDE_READY);
}

/* IBTA 11.6.2: local length error; the QP goes on (class D leaves it alone) */
static void expect_too_short(struct kunit *test, u64 wr_id)
{
	struct fx *fx = test->priv;

	KUNIT_ASSERT_TRUE(test, fx->out.has_wc);
	KUNIT_EXPECT_TRUE(test, fx->out.wc.is_recv);
	KUNIT_EXPECT_EQ(test, fx->out.wc.wr_id, wr_id);
	KUNIT_EXPECT_EQ(test, fx->out.wc.status, SHCA_WC_LOC_LEN_ERR);
	KUNIT_EXPECT_EQ(test, fx->out.wc.vendor_err, SHCA_VERR_LENGTH);
	KUNIT_EXPECT_EQ(test, fx->out.wc.opcode, SHCA_WC_RECV);
	KUNIT_EXPECT_EQ(test, fx->resp.state, SHCA_SIDE_READY);
	KUNIT_EXPECT_EQ(test, fx->out.events & ~SHCA_EV_COMM_EST, 0u);
}

static void uc_send_longer_than_buffer_is_told(struct kunit *test)
{
	struct fx *fx = test->priv;

	start(fx, SHCA_TRANSPORT_UC);
	fx->resp.attr.tells_short = true;
	fx->recv_len = FX_MTU;
	fx_rx_op(fx, UC(SEND_FIRST), P0, FX_MTU);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, UC(SEND_MIDDLE), P0 + 1, FX_MTU),
			SHCA_RX_DROPPED);
	expect_too_short(test, 1000);
	/* once, whatever comes of it still */
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, UC(SEND_LAST), P0 + 2, 1),
			SHCA_RX_DROPPED);
	KUNIT_EXPECT_FALSE(test, fx->out.has_wc);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, UC(SEND_ONLY), P0 + 3, 4),
			SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->out.wc.wr_id, 1001ull);
}

/* ib_mad, for one, takes a receive in error for the end of its QP. */
static void uc_send_longer_than_buffer_of_kernel_is_dropped(struct kunit *test)
{
	struct fx *fx = test->priv;

	start(fx, SHCA_TRANSPORT_UC);
	fx->recv_len = 4;
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, UC(SEND_ONLY), P0, 8),
			SHCA_RX_DROPPED);
	KUNIT_EXPECT_FALSE(test, fx->out.has_wc);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, UC(SEND_ONLY), P0 + 1, 4),
			SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->out.wc.wr_id, 1000ull);
}

/* IBTA 11.6.2, class E: other QPs take from the same queue */
static void uc_gap_gives_up_receive_of_srq(struct kunit *test)
{
	struct fx *fx = test->priv;

	start(fx, SHCA_TRANSPORT_UC);
	fx->resp.attr.recvs = SHCA_RECVS_SRQ;
	fx_rx_op(fx, UC(SEND_FIRST), P0, FX_MTU);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, UC(SEND_MIDDLE), P0 + 2, FX_MTU),
			SHCA_RX_DROPPED);
	KUNIT_ASSERT_TRUE(test, fx->out.has_wc);
	KUNIT_EXPECT_EQ(test, fx->out.wc.wr_id, 1000ull);
	KUNIT_EXPECT_EQ(test, fx->out.wc.status, SHCA_WC_REM_ABORT_ERR);
	KUNIT_EXPECT_EQ(test, fx->resp.state, SHCA_SIDE_READY);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, UC(SEND_LAST), P0 + 3, 1),
			SHCA_RX_DROPPED);
	KUNIT_EXPECT_FALSE(test, fx->out.has_wc);
	/* one that begins in place of the rest serves itself */
	fx_rx_op(fx, UC(SEND_FIRST), P0 + 4, FX_MTU);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, UC(SEND_ONLY), P0 + 5, 3),
			SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->out.wc.status, SHCA_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, fx->out.wc.wr_id, 1001ull);
}

/* A WRITE takes none: it gives up that of a SEND that it interrupts, if there is one. */
static void uc_write_gives_up_receive_of_srq(struct kunit *test)
{
	struct fx *fx = test->priv;

	start(fx, SHCA_TRANSPORT_UC);
	fx->resp.attr.recvs = SHCA_RECVS_SRQ;
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, UC(WRITE_ONLY), P0, 8), SHCA_RX_OK);
	KUNIT_EXPECT_FALSE(test, fx->out.has_wc);
	fx_rx_op(fx, UC(SEND_FIRST), P0 + 1, FX_MTU);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, UC(WRITE_ONLY), P0 + 2, 8), SHCA_RX_OK);
	KUNIT_ASSERT_TRUE(test, fx->out.has_wc);
	KUNIT_EXPECT_EQ(test, fx->out.wc.status, SHCA_WC_REM_ABORT_ERR);
	KUNIT_EXPECT_EQ(test, fx->out.wc.vendor_err, SHCA_VERR_NONE);
}

static void uc_each_opcode_after_each_never_fails(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 a, b;

	start(fx, SHCA_TRANSPORT_UC);
	for (a = 0; a < 32; a++) {
		for (b = 0; b < 32; b++) {
			fx->recvs = 3;
			fx_rx_op(fx, SHCA_TRANSPORT_UC | a, P0, FX_MTU);
			fx_rx_op(fx, SHCA_TRANSPORT_UC | b, P0 + 1, 1);
			KUNIT_ASSERT_EQ(test, fx->resp.state,
					SHCA_SIDE_READY);
			KUNIT_ASSERT_FALSE(test, fx_answer(fx));
			/* a whole message still gets through */
			KUNIT_ASSERT_EQ(test, fx_rx_op(fx, UC(SEND_ONLY),
						       P0 + 2, 1), SHCA_RX_OK);
		}
	}
}

/* ---- responder, UD ---------------------------------------------------------- */

static enum shca_verdict rx_ud(struct fx *fx, u32 len, u32 qkey)
{
	struct shca_pkt pkt;

	fx_request(&pkt, UD(SEND_ONLY), 7, len);
	pkt.deth.qkey = qkey;
	pkt.deth.sqpn = 0x321;
	pkt.path.grh_present = true;
	return fx_rx(fx, &pkt);
}

static void ud_message_counts_grh(struct kunit *test)
{
	struct fx *fx = test->priv;

	start(fx, SHCA_TRANSPORT_UD);
	KUNIT_EXPECT_EQ(test, rx_ud(fx, 60, QKEY), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->nr_grh, 1u);
	KUNIT_EXPECT_EQ(test, fx->last_off, 40u);
	KUNIT_ASSERT_TRUE(test, fx->out.has_wc);
	KUNIT_EXPECT_EQ(test, fx->out.wc.byte_len, 100u);
	KUNIT_EXPECT_EQ(test, fx->out.wc.src_qp, 0x321u);
	KUNIT_EXPECT_EQ(test, fx->out.wc.wc_flags, SHCA_WC_GRH);
	KUNIT_EXPECT_FALSE(test, fx_answer(fx));
}

static void ud_with_other_qkey_is_dropped(struct kunit *test)
{
	struct fx *fx = test->priv;

	start(fx, SHCA_TRANSPORT_UD);
	KUNIT_EXPECT_EQ(test, rx_ud(fx, 1, QKEY + 1), SHCA_RX_QKEY);
	KUNIT_EXPECT_EQ(test, fx->nr_recv, 0u);
}

/* The forgotten GRH, or one byte too few behind it. */
static void ud_without_room_for_grh_is_told(struct kunit *test)
{
	static const u32 lens[] = { 0, 2, 39, 41 };
	struct fx *fx = test->priv;
	u32 i;

	start(fx, SHCA_TRANSPORT_UD);
	fx->resp.attr.tells_short = true;
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		fx->recv_len = lens[i];
		KUNIT_EXPECT_EQ(test, rx_ud(fx, 2, QKEY), SHCA_RX_DROPPED);
		expect_too_short(test, 1000 + i);
	}
	KUNIT_EXPECT_EQ(test, fx->nr_grh + fx->nr_scatter, 0u);
	fx->recv_len = 42;
	KUNIT_EXPECT_EQ(test, rx_ud(fx, 2, QKEY), SHCA_RX_OK);
}

static void ud_without_room_for_grh_of_kernel_is_dropped(struct kunit *test)
{
	struct fx *fx = test->priv;

	start(fx, SHCA_TRANSPORT_UD);
	fx->recv_len = 41;
	KUNIT_EXPECT_EQ(test, rx_ud(fx, 2, QKEY), SHCA_RX_DROPPED);
	KUNIT_EXPECT_EQ(test, fx->nr_grh, 0u);
	KUNIT_EXPECT_EQ(test, rx_ud(fx, 1, QKEY), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->out.wc.wr_id, 1000ull);
}

/* A ring that is broken has no request that could complete. */
static void ud_broken_receive_queue_is_fatal(struct kunit *test)
{
	struct fx *fx = test->priv;

	start(fx, SHCA_TRANSPORT_UD);
	fx->recv = SHCA_RECV_BROKEN;
	KUNIT_EXPECT_EQ(test, rx_ud(fx, 1, QKEY), SHCA_RX_OPERATION);
	KUNIT_EXPECT_FALSE(test, fx->out.has_wc);
	KUNIT_EXPECT_EQ(test, fx->out.events, SHCA_EV_FATAL);
	KUNIT_EXPECT_EQ(test, fx->resp.state, SHCA_SIDE_ERR);
}

static void ud_without_receive_is_dropped(struct kunit *test)
{
	struct fx *fx = test->priv;

	start(fx, SHCA_TRANSPORT_UD);
	fx->recvs = 0;
	KUNIT_EXPECT_EQ(test, rx_ud(fx, 1, QKEY), SHCA_RX_RNR);
	KUNIT_EXPECT_FALSE(test, fx_answer(fx));
}

/* ---- Ethernet frames ------------------------------------------------------- */

static const struct { u8 op; u32 len; u8 status; } raw_rows[] = {
	{ SHCA_WR_SEND, SHCA_RAW_MIN, SHCA_WC_SUCCESS },
	{ SHCA_WR_SEND, 9018, SHCA_WC_SUCCESS },
	{ SHCA_WR_SEND, SHCA_RAW_MIN - 1, SHCA_WC_LOC_LEN_ERR },
	{ SHCA_WR_SEND, 0, SHCA_WC_LOC_LEN_ERR },
	{ SHCA_WR_SEND, 9019, SHCA_WC_LOC_LEN_ERR },
	{ SHCA_WR_SEND_WITH_IMM, 100, SHCA_WC_LOC_QP_OP_ERR },
	{ SHCA_WR_RDMA_WRITE, 100, SHCA_WC_LOC_QP_OP_ERR },
};

static void raw_send_is_one_packet_of_any_length(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_attr attr;
	u32 i;

	fx_req_attr(&attr);
	attr.transport = SHCA_TRANSPORT_RAW;
	attr.mtu = 9018;
	for (i = 0; i < ARRAY_SIZE(raw_rows); i++) {
		fx_req_start(fx, &attr);
		fx_post(fx, raw_rows[i].op, raw_rows[i].len);
		KUNIT_EXPECT_EQ(test, fx_drain(fx),
				raw_rows[i].status == SHCA_WC_SUCCESS);
		KUNIT_ASSERT_TRUE(test, fx_pop(fx));
		KUNIT_EXPECT_EQ(test, fx->wc.status, raw_rows[i].status);
		if (raw_rows[i].status != SHCA_WC_SUCCESS)
			continue;
		KUNIT_EXPECT_EQ(test, fx->pkt.paylen, raw_rows[i].len);
		KUNIT_EXPECT_EQ(test, fx->req.state, SHCA_SIDE_READY);
	}
}

static enum shca_verdict rx_raw(struct fx *fx, u32 len)
{
	struct shca_pkt pkt;

	fx_request(&pkt, SHCA_TRANSPORT_RAW | SHCA_OP_SEND_ONLY, 0, 0);
	pkt.paylen = len;
	return fx_rx(fx, &pkt);
}

static void raw_frame_is_placed_from_the_first_byte(struct kunit *test)
{
	struct fx *fx = test->priv;

	start(fx, SHCA_TRANSPORT_RAW);
	fx->recv_len = 100;
	KUNIT_EXPECT_EQ(test, rx_raw(fx, 101), SHCA_RX_DROPPED);
	KUNIT_EXPECT_EQ(test, rx_raw(fx, 100), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->last_off, 0u);
	KUNIT_EXPECT_EQ(test, fx->nr_grh, 0u);
	KUNIT_ASSERT_TRUE(test, fx->out.has_wc);
	KUNIT_EXPECT_EQ(test, fx->out.wc.byte_len, 100u);
	KUNIT_EXPECT_EQ(test, fx->out.wc.wc_flags, 0u);
	fx->recvs = 0;
	KUNIT_EXPECT_EQ(test, rx_raw(fx, 100), SHCA_RX_RNR);
	KUNIT_EXPECT_FALSE(test, fx_answer(fx));
	/* no header can say so */
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_ONLY, 0, 8),
			SHCA_RX_STATE);
}

static struct kunit_case unreliable_cases[] = {
	KUNIT_CASE(uc_send_completes_when_sent),
	KUNIT_CASE(uc_read_and_atomics_are_refused),
	KUNIT_CASE(ud_send_carries_deth_of_request),
	KUNIT_CASE(ud_send_with_privileged_qkey_uses_own),
	KUNIT_CASE(ud_send_longer_than_mtu_fails_and_resumes),
	KUNIT_CASE(ud_gather_failed_completes_with_error),
	KUNIT_CASE(unr_refused_batch_comes_again),
	KUNIT_CASE(uc_local_inv_waits_for_the_batch),
	KUNIT_CASE(uc_error_within_message_uses_no_psn_twice),
	KUNIT_CASE(unr_post_with_unknown_flag_is_refused),
	KUNIT_CASE(uc_message_fills_receive_without_answer),
	KUNIT_CASE(uc_gap_drops_message_and_keeps_receive),
	KUNIT_CASE(uc_broken_write_does_not_stick),
	KUNIT_CASE(uc_write_with_bad_key_is_dropped),
	KUNIT_CASE(uc_send_longer_than_buffer_is_told),
	KUNIT_CASE(uc_send_longer_than_buffer_of_kernel_is_dropped),
	KUNIT_CASE(uc_gap_gives_up_receive_of_srq),
	KUNIT_CASE(uc_write_gives_up_receive_of_srq),
	KUNIT_CASE(uc_each_opcode_after_each_never_fails),
	KUNIT_CASE(ud_message_counts_grh),
	KUNIT_CASE(ud_with_other_qkey_is_dropped),
	KUNIT_CASE(ud_without_room_for_grh_is_told),
	KUNIT_CASE(ud_without_room_for_grh_of_kernel_is_dropped),
	KUNIT_CASE(ud_without_receive_is_dropped),
	KUNIT_CASE(ud_broken_receive_queue_is_fatal),
	KUNIT_CASE(raw_send_is_one_packet_of_any_length),
	KUNIT_CASE(raw_frame_is_placed_from_the_first_byte),
	{}
};

static struct kunit_suite unreliable_suite = {
	.name = "softhca_unreliable",
	.init = fx_init,
	.test_cases = unreliable_cases,
};

kunit_test_suites(&unreliable_suite);
