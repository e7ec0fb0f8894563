// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What the responder owes: NAKs that become void, duplicates while something is
 * owed, answers that could not leave, receives that fail, and the end of a QP.
 */
#include "fixture.h"

#define P0	FX_RQ_PSN

/* ---- NAKs that are void --------------------------------------------------------- */

/*
 * An RNR NAK is owed and its packet comes again: what was dropped for an earlier gap is
 * no reason for a sequence NAK.
 */
static void resp_rnr_nak_that_is_void_acknowledges(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i;

	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + 5, 8);
	fx_expect_ack(test, P0, NAK(SHCA_NAK_PSN_SEQ));
	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + i,
					       8), SHCA_RX_OK);
	fx->recvs = 0;
	KUNIT_ASSERT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + 3, 8),
			SHCA_RX_RNR);
	fx->recvs = 1;
	KUNIT_ASSERT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + 3, 8),
			SHCA_RX_OK);
	fx_expect_ack(test, P0 + 3, ACK);
}

/* The response of a READ says that it came; what is before it is acknowledged. */
static void resp_nak_that_a_read_makes_void_acks_before_it(struct kunit *test)
{
	struct fx *fx = test->priv;

	KUNIT_ASSERT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0, 8),
			SHCA_RX_OK);
	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + 2, 8);
	KUNIT_ASSERT_EQ(test, fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0 + 1,
				       2 * FX_MTU), SHCA_RX_OK);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_ACK);
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_READ_RESP_FIRST);
}

struct absent_row {
	const char *name;
	u8 opcode;
};

static const struct absent_row absent_rows[] = {
	{ "SEND", SHCA_OP_SEND_ONLY },
	{ "WRITE", SHCA_OP_WRITE_ONLY },
	{ "READ", SHCA_OP_READ_REQUEST },
	{ "FetchAdd", SHCA_OP_FETCH_ADD },
	{ "FLUSH", SHCA_OP_FLUSH },
	{ "ATOMIC WRITE", SHCA_OP_ATOMIC_WRITE },
};

static void absent_desc(const struct absent_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(absent, absent_rows, absent_desc);

/* Memory that is not there yet: nothing has happened, and it may come again. */
static void resp_rx_with_memory_absent_changes_nothing(struct kunit *test)
{
	const struct absent_row *row = test->param_value;
	struct fx *fx = test->priv;

	fx->check = SHCA_MEM_RETRY;
	fx->scatter = SHCA_MEM_RETRY;
	fx->atomic = SHCA_MEM_RETRY;
	fx->bare = SHCA_MEM_RETRY;
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, row->opcode, P0, 8), SHCA_RX_RETRY);
	KUNIT_EXPECT_EQ(test, fx->resp.epsn, P0);
	KUNIT_EXPECT_FALSE(test, fx->out.has_wc);
	KUNIT_EXPECT_FALSE(test, fx_answer(fx));
	fx->check = SHCA_MEM_OK;
	fx->scatter = SHCA_MEM_OK;
	fx->atomic = SHCA_MEM_OK;
	fx->bare = SHCA_MEM_OK;
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, row->opcode, P0, 8), SHCA_RX_OK);
}

struct late_row {
	const char *name;
	u32 first;
	u32 second;
};

static const struct late_row late_rows[] = {
	{ "in order", 1, 3 },
	{ "in disorder", 3, 1 },
	{ "twice", 3, 3 },
};

static void late_desc(const struct late_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(late, late_rows, late_desc);

/* The furthest dropped packet counts: up to there something is missing. */
static void resp_nak_that_is_void_moves_on_to_what_is_missing(struct kunit *test)
{
	const struct late_row *row = test->param_value;
	struct fx *fx = test->priv;

	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + row->first, 8);
	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + row->second, 8);
	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0, 8);
	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + 1, 8);
	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + 2, 8);
	fx_expect_ack(test, P0 + 3, NAK(SHCA_NAK_PSN_SEQ));
}

/* ---- duplicates and what is owed already -------------------------------------------- */

static void resp_duplicate_leaves_the_nak_that_is_owed(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0, 8);
	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + 2, 8);
	KUNIT_EXPECT_EQ(test, fx_rx_asking(fx, SHCA_OP_SEND_ONLY, P0, 8), SHCA_RX_DUPLICATE);
	fx_expect_ack(test, P0 + 1, NAK(SHCA_NAK_PSN_SEQ));
}

static void resp_duplicate_acknowledges_the_latest(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_rx_asking(fx, SHCA_OP_SEND_ONLY, P0, 8);
	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + 1, 8);
	/* older than what it is about by now */
	fx_rx_asking(fx, SHCA_OP_SEND_ONLY, P0, 8);
	fx_expect_ack(test, P0 + 1, ACK);
	/* not back to what is before a READ */
	fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0 + 2, 8);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	fx_rx_asking(fx, SHCA_OP_SEND_ONLY, P0 + 3, 8);
	fx_rx_asking(fx, SHCA_OP_SEND_ONLY, P0, 8);
	fx_expect_ack(test, P0 + 3, ACK);
}

/* Behind a READ that comes again, too, and up to the next one. */
static void resp_duplicate_acknowledges_between_reads(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i;

	for (i = 0; i < 2; i++) {
		fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0 + 2 * i, 8);
		fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + 2 * i + 1, 8);
		KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	}
	fx_rx_asking(fx, SHCA_OP_SEND_ONLY, P0 + 1, 8);
	fx_expect_ack(test, P0 + 1, ACK);
	fx_rx_asking(fx, SHCA_OP_SEND_ONLY, P0 + 3, 8);
	fx_expect_ack(test, P0 + 3, ACK);
	/* at the PSN of a READ: a requester that repeats something else has its answer */
	fx_rx_asking(fx, SHCA_OP_SEND_ONLY, P0, 8);
	fx_expect_ack(test, P0 + 1, ACK);
}

/* One PSN of it is new: what was executed is acknowledged, the rest comes again. */
static void resp_rx_of_half_new_is_acknowledged(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0, 8);
	fx_request(&pkt, SHCA_OP_SEND_ONLY, P0, FX_MTU + 8);
	pkt.span = 1;
	KUNIT_EXPECT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_DUPLICATE);
	fx_expect_ack(test, P0, ACK);
	pkt.span = 0;
	pkt.paylen = 8;
	KUNIT_EXPECT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_DUPLICATE);
	KUNIT_EXPECT_FALSE(test, fx_answer(fx));
}

static void resp_read_again_of_the_next_packet_goes_on(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0, 3 * FX_MTU);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	fx_request(&pkt, SHCA_OP_READ_REQUEST, P0 + 1, 2 * FX_MTU);
	pkt.reth.va += FX_MTU;
	KUNIT_EXPECT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_DUPLICATE);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_READ_RESP_MIDDLE);
}

/* A READ of nothing is none of an atomic or a FLUSH, whose records have no length. */
static void resp_empty_read_in_place_of_others_is_dropped(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;
	u32 i;

	fx_rx_op(fx, SHCA_OP_FETCH_ADD, P0, 8);
	fx_rx_op(fx, SHCA_OP_FLUSH, P0 + 1, 8);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	for (i = 0; i < 2; i++) {
		fx_request(&pkt, SHCA_OP_READ_REQUEST, P0 + i, 0);
		pkt.xrc_srqn = 0;	/* as in the records */
		KUNIT_EXPECT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_DUPLICATE);
		KUNIT_EXPECT_FALSE(test, fx_answer(fx));
	}
}

/* ---- congestion ------------------------------------------------------------------------ */

static void resp_cnp_is_due_after_50_us_and_not_before(struct kunit *test)
{
	static const u32 after[] = { 0, 49999, 1, 49999, 1, 50000 };
	static const bool due[] = { true, false, true, false, true, true };
	struct fx *fx = test->priv;
	struct shca_resp_attr attr;
	struct shca_pkt pkt;
	u32 i;

	fx_resp_attr(&attr);
	attr.cnp = true;
	attr.cnp_interval_ns = 50000;
	fx_resp_start(fx, &attr);
	for (i = 0; i < ARRAY_SIZE(after); i++) {
		fx->now += after[i];
		fx_request(&pkt, SHCA_OP_SEND_ONLY, P0 + i, 8);
		pkt.path.ecn_ce = true;
		fx_rx(fx, &pkt);
		KUNIT_EXPECT_EQ(test, fx_answer(fx), due[i]);
	}
}

/* ---- answers that could not leave -------------------------------------------------- */

static void resp_run_of_two_is_a_run(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->resp.max_run = 2;
	fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0, 5 * FX_MTU);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.span, 0u);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.span, 1u);
	KUNIT_EXPECT_EQ(test, fx->resp.stats.tx_pkts, 3ull);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.span, 0u);
}

/* Handed over, a packet is one, whatever it stands for. */
static void resp_packets_handed_over_count_one_each(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->resp.reach = 2;
	fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0, 4 * FX_MTU);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.span, 1u);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.span, 1u);
	KUNIT_EXPECT_EQ(test, fx->resp.stats.tx_pkts, 2ull);
}

/* Its memory is not there, or a queue below is full. */
static void resp_response_that_could_not_leave_comes_again(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt first;
	u32 i;

	fx_rx_op(fx, SHCA_OP_FETCH_ADD, P0, 8);
	fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0 + 1, 8);
	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_TRUE(test, fx_answer(fx));
		KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_ATOMIC_ACK);
		first = fx->pkt;
		KUNIT_ASSERT_TRUE(test, fx_answer(fx));
		KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_READ_RESP_ONLY);
		KUNIT_ASSERT_FALSE(test, fx_answer(fx));
		if (i)
			shca_resp_link_full(&fx->resp, &first);
		else
			shca_resp_gather_failed(&fx->resp, &first,
						SHCA_MEM_RETRY, &fx->out);
	}
	KUNIT_EXPECT_FALSE(test, fx->resp.reads.rd[0].answered);
	KUNIT_EXPECT_FALSE(test, fx->resp.reads.rd[1].answered);
}

/* What was answered before remains so, though its repetition could not leave. */
static void resp_repetition_that_could_not_leave_was_answered(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0, 8);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0, 8);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	memset(&fx->out, 0xff, sizeof(fx->out));
	shca_resp_gather_failed(&fx->resp, &fx->pkt, SHCA_MEM_RETRY, &fx->out);
	KUNIT_EXPECT_FALSE(test, fx->out.has_wc);
	KUNIT_EXPECT_EQ(test, fx->out.events, 0u);
	KUNIT_EXPECT_TRUE(test, fx->resp.reads.rd[0].answered);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
}

/* A READ response that has gone is not sent again for the acknowledgement's sake. */
static void resp_ack_that_could_not_leave_comes_alone(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0, 8);
	fx_request(&pkt, SHCA_OP_SEND_ONLY, P0 + 1, 8);
	pkt.ackreq = true;
	fx_rx(fx, &pkt);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_ACK);
	shca_resp_gather_failed(&fx->resp, &fx->pkt, SHCA_MEM_RETRY, &fx->out);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_ACK);
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + 1);
	KUNIT_EXPECT_FALSE(test, fx_answer(fx));
}

/*
 * A CNP goes between the packets of a response.  When it could not leave, what was
 * handed out behind it has not left either; what had gone before stays gone.
 */
static void resp_cnp_that_could_not_leave_keeps_responses(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_resp_attr attr;
	struct shca_pkt cnp, pkt;

	fx_resp_attr(&attr);
	attr.cnp = true;
	attr.cnp_interval_ns = 50000;
	attr.rq_psn = 0;
	fx_resp_start(fx, &attr);
	fx_rx_op(fx, SHCA_OP_READ_REQUEST, 0, 8);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	fx_rx_op(fx, SHCA_OP_READ_REQUEST, 1, 3 * FX_MTU);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, 1u);
	fx_request(&pkt, SHCA_OP_SEND_ONLY, 4, 8);
	pkt.path.ecn_ce = true;
	fx_rx(fx, &pkt);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_ASSERT_EQ(test, fx->pkt.opcode, SHCA_OPCODE_CNP);
	cnp = fx->pkt;
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, 2u);
	shca_resp_gather_failed(&fx->resp, &cnp, SHCA_MEM_RETRY, &fx->out);
	/* not the first READ's; of the second all that did not leave */
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_LE(test, fx->pkt.psn, 2u);
	KUNIT_EXPECT_GE(test, fx->pkt.psn, 1u);
	/* On an InfiniBand link it has another opcode. */
	attr.cnp_ib = true;
	fx_resp_start(fx, &attr);
	fx_request(&pkt, SHCA_OP_SEND_ONLY, 0, 8);
	pkt.path.ecn_ce = true;
	fx_rx(fx, &pkt);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, 0x80);
}

/* Until its last packet was handed out a record is in use. */
static void resp_record_of_a_response_under_way_is_kept(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_resp_attr attr;

	fx_resp_attr(&attr);
	attr.max_dest_rd_atomic = 1;
	fx_resp_start(fx, &attr);
	fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0, 3 * FX_MTU);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0 + 3, 8),
			SHCA_RX_INVALID);
}

/* The NAK of a response whose memory has gone is an access error, once. */
static void resp_nak_of_a_response_counts(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0, 8);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	shca_resp_gather_failed(&fx->resp, &fx->pkt, SHCA_MEM_KEY, &fx->out);
	KUNIT_EXPECT_EQ(test, fx->out.events, SHCA_EV_ACCESS_ERR);
	KUNIT_EXPECT_EQ(test, fx->resp.stats.rx[SHCA_RX_ACCESS], 1ull);
	fx_expect_ack(test, P0, NAK(SHCA_NAK_ACCESS));
	KUNIT_EXPECT_EQ(test, fx->resp.stats.naks_sent, 1ull);
	KUNIT_EXPECT_EQ(test, fx->resp.stats.rnr_naks_sent, 0ull);
}

/* ---- receives that fail -------------------------------------------------------------- */

/* The error is the receive's, and no event besides. */
static void resp_rx_into_malformed_receive_is_no_fatal_event(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->resp.comm_est = true;
	fx->recv = SHCA_RECV_BAD;
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0, 8),
			SHCA_RX_OPERATION);
	KUNIT_ASSERT_TRUE(test, fx->out.has_wc);
	KUNIT_EXPECT_EQ(test, fx->out.events, 0u);
	KUNIT_EXPECT_EQ(test, fx->out.wc.opcode, SHCA_WC_RECV);
	KUNIT_EXPECT_EQ(test, fx->out.wc.vendor_err, SHCA_VERR_WQE);
}

static void resp_rx_of_bad_invalidate_is_an_access_error(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->resp.comm_est = true;
	fx->inv_ok = false;
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_ONLY_INV, P0, 8),
			SHCA_RX_ACCESS);
	KUNIT_ASSERT_TRUE(test, fx->out.has_wc);
	KUNIT_EXPECT_EQ(test, fx->out.wc.status, SHCA_WC_LOC_ACCESS_ERR);
	KUNIT_EXPECT_EQ(test, fx->out.wc.vendor_err, SHCA_VERR_KEY);
	KUNIT_EXPECT_EQ(test, fx->out.events, 0u);
	fx_expect_ack(test, P0, NAK(SHCA_NAK_ACCESS));
}

static void resp_rx_longer_than_receive_tells_the_length(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->recv_len = 7;
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0, 8),
			SHCA_RX_INVALID);
	KUNIT_ASSERT_TRUE(test, fx->out.has_wc);
	KUNIT_EXPECT_EQ(test, fx->out.wc.vendor_err, SHCA_VERR_LENGTH);
	KUNIT_EXPECT_EQ(test, fx->out.wc.opcode, SHCA_WC_RECV);
	KUNIT_EXPECT_TRUE(test, fx->out.wc.is_recv);
	KUNIT_EXPECT_EQ(test, fx->out.wc.wr_id, 1000ull);
}

/* UC: a packet that is not the last one has no padding (IBTA 9.7.4.1.6). */
static void resp_rx_of_uc_first_with_pad_is_dropped(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_resp_attr attr;
	struct shca_pkt pkt;

	fx_resp_attr(&attr);
	attr.transport = SHCA_TRANSPORT_UC;
	fx_resp_start(fx, &attr);
	fx_request(&pkt, SHCA_TRANSPORT_UC | SHCA_OP_SEND_FIRST, P0, FX_MTU);
	pkt.pad = 1;
	KUNIT_EXPECT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_DROPPED);
	KUNIT_EXPECT_EQ(test, fx->nr_scatter, 0u);
}

/* ---- the end ------------------------------------------------------------------------ */

/* Whatever was owed: nothing leaves, and a reset forgets all but counters. */
static void resp_fail_owes_nothing(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_resp_attr attr;
	struct shca_pkt pkt;

	fx_resp_attr(&attr);
	attr.cnp = true;
	attr.cnp_interval_ns = 50000;
	fx_resp_start(fx, &attr);
	fx_request(&pkt, SHCA_OP_READ_REQUEST, P0, 8);
	pkt.path.ecn_ce = true;
	KUNIT_ASSERT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_OK);
	fx_request(&pkt, SHCA_OP_SEND_ONLY, P0 + 1, 8);
	pkt.ackreq = true;
	KUNIT_ASSERT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_OK);
	shca_resp_fail(&fx->resp);
	KUNIT_EXPECT_FALSE(test, fx_answer(fx));
	shca_resp_reset(&fx->resp);
	KUNIT_EXPECT_EQ(test, fx->resp.state, SHCA_SIDE_RESET);
	KUNIT_EXPECT_EQ(test, fx->resp.stats.rx[SHCA_RX_OK], 2ull);
	KUNIT_EXPECT_EQ(test, fx->resp.reach, 1u);
}

/* The receive of a message that broke off is told in full, whatever @wc held. */
static void resp_flush_tells_the_receive(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_wc wc;

	memset(&wc, 0xff, sizeof(wc));
	fx_rx_op(fx, SHCA_OP_SEND_FIRST, P0, FX_MTU);
	KUNIT_EXPECT_FALSE(test, shca_resp_flush(&fx->resp, &wc));
	shca_resp_fail(&fx->resp);
	KUNIT_ASSERT_TRUE(test, shca_resp_flush(&fx->resp, &wc));
	KUNIT_EXPECT_TRUE(test, wc.is_recv);
	KUNIT_EXPECT_EQ(test, wc.wr_id, 1000ull);
	KUNIT_EXPECT_EQ(test, wc.status, SHCA_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, wc.opcode, SHCA_WC_RECV);
	KUNIT_EXPECT_EQ(test, wc.byte_len, 0u);
	KUNIT_EXPECT_EQ(test, wc.wc_flags, 0u);
	KUNIT_EXPECT_FALSE(test, shca_resp_flush(&fx->resp, &wc));
}

/* An acknowledgement that could not leave is not owed again after the end. */
static void resp_fail_takes_back_what_could_not_leave(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	fx_request(&pkt, SHCA_OP_SEND_ONLY, P0, 8);
	pkt.ackreq = true;
	fx_rx(fx, &pkt);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	pkt = fx->pkt;
	shca_resp_fail(&fx->resp);
	shca_resp_gather_failed(&fx->resp, &pkt, SHCA_MEM_RETRY, &fx->out);
	KUNIT_EXPECT_FALSE(test, fx_answer(fx));
}

static void resp_fail_forgets_reads(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0, 8);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	pkt = fx->pkt;
	shca_resp_fail(&fx->resp);
	shca_resp_gather_failed(&fx->resp, &pkt, SHCA_MEM_RETRY, &fx->out);
	KUNIT_EXPECT_FALSE(test, fx_answer(fx));
}

/* Handed over, a packet for two PSNs has more than one packet's payload. */
static void resp_rx_of_only_for_two_psns_is_long_enough(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	fx_request(&pkt, SHCA_OP_SEND_ONLY, P0, FX_MTU + 1);
	pkt.span = 1;
	KUNIT_EXPECT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_OK);
	fx_request(&pkt, SHCA_OP_SEND_ONLY, P0 + 2, FX_MTU);
	pkt.span = 1;
	KUNIT_EXPECT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_INVALID);
}

/* The responses of READs come first; what is owed already is not owed twice. */
static void resp_flush_acks_waits_for_responses(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	fx_request(&pkt, SHCA_OP_SEND_ONLY, P0, 8);
	pkt.ackreq = true;
	fx_rx(fx, &pkt);
	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + 1, 8);
	KUNIT_EXPECT_TRUE(test, shca_resp_flush_acks(&fx->resp));
	/* of two the later one, since nobody will answer an ACK probe about it */
	fx_expect_ack(test, P0 + 1, ACK);
	fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0 + 2, 8);
	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + 3, 8);
	KUNIT_EXPECT_FALSE(test, shca_resp_flush_acks(&fx->resp));
}

/* A NAK says more, and stays. */
static void resp_flush_acks_keeps_the_nak_that_is_owed(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0, 8);
	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + 2, 8);
	KUNIT_EXPECT_TRUE(test, shca_resp_flush_acks(&fx->resp));
	fx_expect_ack(test, P0 + 1, NAK(SHCA_NAK_PSN_SEQ));
}

static struct kunit_case acknowledgement_cases[] = {
	KUNIT_CASE_PARAM(resp_nak_that_is_void_moves_on_to_what_is_missing,
			 late_gen_params),
	KUNIT_CASE_PARAM(resp_rx_with_memory_absent_changes_nothing,
			 absent_gen_params),
	KUNIT_CASE(resp_duplicate_leaves_the_nak_that_is_owed),
	KUNIT_CASE(resp_duplicate_acknowledges_the_latest),
	KUNIT_CASE(resp_duplicate_acknowledges_between_reads),
	KUNIT_CASE(resp_rx_of_half_new_is_acknowledged),
	KUNIT_CASE(resp_read_again_of_the_next_packet_goes_on),
	KUNIT_CASE(resp_empty_read_in_place_of_others_is_dropped),
	KUNIT_CASE(resp_cnp_is_due_after_50_us_and_not_before),
	KUNIT_CASE(resp_flush_tells_the_receive),
	KUNIT_CASE(resp_rnr_nak_that_is_void_acknowledges),
	KUNIT_CASE(resp_nak_that_a_read_makes_void_acks_before_it),
	KUNIT_CASE(resp_run_of_two_is_a_run),
	KUNIT_CASE(resp_packets_handed_over_count_one_each),
	KUNIT_CASE(resp_response_that_could_not_leave_comes_again),
	KUNIT_CASE(resp_repetition_that_could_not_leave_was_answered),
	KUNIT_CASE(resp_ack_that_could_not_leave_comes_alone),
	KUNIT_CASE(resp_cnp_that_could_not_leave_keeps_responses),
	KUNIT_CASE(resp_record_of_a_response_under_way_is_kept),
	KUNIT_CASE(resp_nak_of_a_response_counts),
	KUNIT_CASE(resp_rx_into_malformed_receive_is_no_fatal_event),
	KUNIT_CASE(resp_rx_of_bad_invalidate_is_an_access_error),
	KUNIT_CASE(resp_rx_longer_than_receive_tells_the_length),
	KUNIT_CASE(resp_rx_of_uc_first_with_pad_is_dropped),
	KUNIT_CASE(resp_fail_owes_nothing),
	KUNIT_CASE(resp_fail_takes_back_what_could_not_leave),
	KUNIT_CASE(resp_fail_forgets_reads),
	KUNIT_CASE(resp_rx_of_only_for_two_psns_is_long_enough),
	KUNIT_CASE(resp_flush_acks_waits_for_responses),
	KUNIT_CASE(resp_flush_acks_keeps_the_nak_that_is_owed),
	{}
};

static struct kunit_suite acknowledgement_suite = {
	.name = "softhca_acknowledgement",
	.init = fx_init,
	.test_cases = acknowledgement_cases,
};

kunit_test_suites(&acknowledgement_suite);
