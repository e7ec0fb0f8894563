// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What the requester counts and how far it goes: retries, the window of READs,
 * requests while it drains, probes, and answers that cannot be.
 */
#include "fixture.h"

#define P0	FX_SQ_PSN

/* ---- retries ------------------------------------------------------------------ */

/* IBTA 9.7.5.2.8: rnr_retry is of one request; the next one has its own. */
static void req_rnr_after_progress_counts_afresh(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i, k;

	fx_post(fx, SHCA_WR_SEND, 1);
	fx_post(fx, SHCA_WR_SEND, 1);
	fx_drain(fx);
	for (k = 0; k < 2; k++) {
		for (i = 0; i < 3; i++) {
			KUNIT_EXPECT_EQ(test, fx_ack(fx, P0 + k, RNR(1)),
					SHCA_RX_NAK_RNR);
			KUNIT_ASSERT_EQ(test, fx->req.state, SHCA_SIDE_READY);
			fx_timeout(fx);
			KUNIT_ASSERT_TRUE(test, fx_drain(fx));
		}
		fx_ack(fx, P0 + k, ACK);
		KUNIT_EXPECT_TRUE(test, fx_pop(fx));
		KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_SUCCESS);
	}
}

/* A NAK that acknowledges what is before it is progress, too. */
static void req_rnr_of_a_later_request_counts_afresh(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i;

	for (i = 0; i < 8; i++)
		fx_post(fx, SHCA_WR_SEND, 1);
	fx_drain(fx);
	for (i = 0; i < 8; i++) {
		fx_ack(fx, P0 + i, RNR(1));
		KUNIT_ASSERT_EQ(test, fx->req.state, SHCA_SIDE_READY);
		fx_timeout(fx);
		/* refused anew, it is the window that is tried */
		KUNIT_EXPECT_EQ(test, fx_drain(fx), 8 - i);
	}
}

/* ---- the round trip ---------------------------------------------------------------- */

/* One request, acknowledged after @ns. */
static void round_trip(struct fx *fx, u64 ns)
{
	fx_post(fx, SHCA_WR_SEND, 1);
	fx_drain(fx);
	fx->now += ns;
	fx_ack(fx, fx->pkt.psn, ACK);
}

static void req_rtt_rises_at_once_and_falls_slowly(struct kunit *test)
{
	struct fx *fx = test->priv;

	round_trip(fx, 800);
	KUNIT_EXPECT_EQ(test, fx->req.rtt.ns, 800ull);
	round_trip(fx, 1600);
	KUNIT_EXPECT_EQ(test, fx->req.rtt.ns, 1600ull);
	round_trip(fx, 800);
	KUNIT_EXPECT_EQ(test, fx->req.rtt.ns, 1500ull);
	/* which of two is answered is a guess, and ends with the next that is sent once */
	fx_post(fx, SHCA_WR_SEND, 1);
	fx_drain(fx);
	fx_timeout(fx);
	fx_drain(fx);
	fx->now += 9999;
	fx_ack(fx, fx->pkt.psn, ACK);
	round_trip(fx, 1500);
	KUNIT_EXPECT_EQ(test, fx->req.rtt.ns, 1500ull);
}

static void req_rtt_is_that_of_the_packet_that_asked(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, SHCA_WR_SEND, 3 * FX_MTU);
	fx_drain(fx);
	fx->now += 100;
	fx_ack(fx, P0 + 1, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.rtt.ns, 0ull);
	fx->now += 200;
	fx_ack(fx, P0 + 2, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.rtt.ns, 300ull);
	/* it is not timed any more */
	fx_post_flags(fx, SHCA_WR_RDMA_WRITE, 1, 0);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_FALSE(test, fx->pkt.ackreq);
	fx->now += 5000;
	fx_ack(fx, P0 + 3, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.rtt.ns, 300ull);
}

/* ---- the window after a loss ---------------------------------------------------------- */

/* A quarter less, and an eighth more for each window that comes through. */
static void req_window_grows_by_an_eighth_per_window(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, SHCA_WR_SEND, 400 * FX_MTU);
	fx_drain(fx);
	fx_timeout(fx);
	KUNIT_EXPECT_EQ(test, fx->req.cc.cwnd, 96u);
	fx_drain(fx);
	fx_ack(fx, P0 + 94, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.cc.cwnd, 96u);
	fx_ack(fx, P0 + 95, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.cc.cwnd, 108u);
	fx_drain(fx);
	fx_ack(fx, P0 + 95 + 107, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.cc.cwnd, 108u);
	fx_drain(fx);
	fx_ack(fx, P0 + 95 + 108, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.cc.cwnd, 121u);
}

/* ---- quiet senders ----------------------------------------------------------------------- */

/* A peer that acknowledges unasked leaves nothing to ask about. */
static void req_acknowledged_unasked_does_not_probe(struct kunit *test)
{
	struct fx *fx = test->priv;

	round_trip(fx, 10);
	fx_post_flags(fx, SHCA_WR_RDMA_WRITE, 1, 0);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_FALSE(test, fx->pkt.ackreq);
	KUNIT_EXPECT_NE(test, shca_req_deadline(&fx->req), 0ull);
	fx_ack(fx, fx->pkt.psn, ACK);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), 0ull);

	/* nor does the next request, when the time had come before */
	fx_post_flags(fx, SHCA_WR_RDMA_WRITE, 1, 0);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	fx_timeout(fx);
	fx_ack(fx, fx->pkt.psn, ACK);
	fx->req.ackreq.sent_ns = fx->now;
	fx_post_flags(fx, SHCA_WR_RDMA_WRITE, 1, 0);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_FALSE(test, fx->pkt.ackreq);
}

/* Part of it is acknowledged: the rest has its own quiet time from then on. */
static void req_quiet_time_begins_with_progress(struct kunit *test)
{
	struct fx *fx = test->priv;

	round_trip(fx, 10);
	fx_post_flags(fx, SHCA_WR_RDMA_WRITE, 1, 0);
	fx_post_flags(fx, SHCA_WR_RDMA_WRITE, 1, 0);
	KUNIT_ASSERT_EQ(test, fx_drain(fx), 2u);
	fx->now += 1000;
	fx_ack(fx, P0 + 1, ACK);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req),
			fx->now + SHCA_REQ_QUIET_NS);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.deadline, 0ull);
}

/* What was to be looked at again has come: no going back for it. */
static void req_progress_ends_a_second_look(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, SHCA_WR_SEND, 6 * FX_MTU);
	fx_drain(fx);
	fx_ack(fx, P0, SHCA_AETH_NAK | SHCA_NAK_PSN_SEQ);
	fx_drain(fx);
	fx_ack(fx, P0 + 1, ACK);
	/* within a round trip: remembered */
	fx_ack(fx, P0 + 2, SHCA_AETH_NAK | SHCA_NAK_PSN_SEQ);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.waits, SHCA_WAIT_HOLD);
	fx_ack(fx, P0 + 3, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.waits, SHCA_WAIT_ANSWER);
	fx->now = fx->req.recovery.hold_ns;
	shca_req_timer(&fx->req, fx->now);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
}

/* ---- READs ----------------------------------------------------------------------- */

/* Responses outstanding are bounded, unless it is those of one READ alone. */
static void req_next_of_reads_keeps_their_window(struct kunit *test)
{
	u32 most = SHCA_CC_WINDOW * SHCA_REQ_READ_FACTOR;
	struct fx *fx = test->priv;

	fx_post(fx, SHCA_WR_RDMA_READ, (most - 2) * FX_MTU);
	fx_post(fx, SHCA_WR_RDMA_READ, 2 * FX_MTU);
	fx_post(fx, SHCA_WR_ATOMIC_FETCH_AND_ADD, 8);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2u);
	fx_read_resp(fx, SHCA_OP_READ_RESP_FIRST, P0, FX_MTU);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_FETCH_ADD);
}

static void req_next_of_large_read_waits_for_others(struct kunit *test)
{
	u32 most = SHCA_CC_WINDOW * SHCA_REQ_READ_FACTOR;
	struct fx *fx = test->priv;

	fx_post(fx, SHCA_WR_RDMA_READ, 8);
	fx_post(fx, SHCA_WR_RDMA_READ, (most + 1) * FX_MTU);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
	fx_read_resp(fx, SHCA_OP_READ_RESP_ONLY, P0, 8);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
	KUNIT_EXPECT_EQ(test, fx->pkt.reth.len, (most + 1) * FX_MTU);
}

/* Most packets of a response make no room, and nobody has to look for a READ then. */
static void req_may_send_a_read_when_there_is_room(struct kunit *test)
{
	u32 most = SHCA_CC_WINDOW * SHCA_REQ_READ_FACTOR;
	struct fx *fx = test->priv;
	struct shca_req *req = &fx->req;

	fx_post(fx, SHCA_WR_RDMA_READ, (most - 1) * FX_MTU);
	fx_post(fx, SHCA_WR_RDMA_READ, 3 * FX_MTU);
	KUNIT_EXPECT_TRUE(test, shca_req_may_send(req));
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
	KUNIT_EXPECT_FALSE(test, shca_req_may_send(req));
	fx_read_resp(fx, SHCA_OP_READ_RESP_FIRST, P0, FX_MTU);
	KUNIT_EXPECT_FALSE(test, shca_req_may_send(req));
	/* the window is to hear that it holds something back, once a round trip */
	req->cc.limits = false;
	KUNIT_EXPECT_TRUE(test, shca_req_may_send(req));
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_TRUE(test, req->cc.limits);
	KUNIT_EXPECT_FALSE(test, shca_req_may_send(req));
	fx_read_resp(fx, SHCA_OP_READ_RESP_MIDDLE, P0 + 1, FX_MTU);
	KUNIT_EXPECT_TRUE(test, shca_req_may_send(req));
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
	KUNIT_EXPECT_EQ(test, fx->pkt.reth.len, 3u * FX_MTU);
	/* one that is posted later waits for itself */
	fx_post(fx, SHCA_WR_RDMA_WRITE, 8);
	KUNIT_EXPECT_TRUE(test, shca_req_may_send(req));
}

/* A READ that waits keeps nothing else from happening. */
static void req_may_send_before_a_read_that_waits(struct kunit *test)
{
	u32 most = SHCA_CC_WINDOW * SHCA_REQ_READ_FACTOR;
	struct fx *fx = test->priv;
	struct shca_req *req = &fx->req;

	fx_post(fx, SHCA_WR_RDMA_READ, most * FX_MTU);
	fx_post(fx, SHCA_WR_RDMA_READ, 8);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
	KUNIT_EXPECT_FALSE(test, shca_req_may_send(req));
	/* it is sent again */
	fx_timeout(fx);
	KUNIT_EXPECT_TRUE(test, shca_req_may_send(req));
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
	KUNIT_EXPECT_FALSE(test, shca_req_may_send(req));
	/* an error that was found ahead */
	req->fail.valid = true;
	KUNIT_EXPECT_TRUE(test, shca_req_may_send(req));
	req->fail.valid = false;
	KUNIT_EXPECT_FALSE(test, shca_req_may_send(req));
	/* there is nothing any more that it would have to wait for */
	shca_req_fail(req);
	KUNIT_EXPECT_EQ(test, req->psn.rd_waits, 0u);
}

/* READs do not take the window of SENDs and WRITEs. */
static void req_next_behind_a_read_has_its_window(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, SHCA_WR_RDMA_READ, 1000 * FX_MTU);
	fx_post(fx, SHCA_WR_SEND, 200 * FX_MTU);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1 + SHCA_CC_WINDOW);
}

/* ---- SQD -------------------------------------------------------------------------- */

struct sqd_row {
	const char *name;
	u8 opcode;
};

static const struct sqd_row sqd_rows[] = {
	{ "SEND", SHCA_WR_SEND },
	{ "READ", SHCA_WR_RDMA_READ },
	{ "BIND_MW", SHCA_WR_BIND_MW },
	{ "LOCAL_INV", SHCA_WR_LOCAL_INV },
	{ "REG_MR", SHCA_WR_REG_MR },
};

static void sqd_desc(const struct sqd_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(sqd, sqd_rows, sqd_desc);

/* In SQD no request begins, neither a packet's nor a local one. */
static void req_next_while_draining_begins_nothing(struct kunit *test)
{
	const struct sqd_row *row = test->param_value;
	struct fx *fx = test->priv;

	fx->req.draining = true;
	fx_post(fx, row->opcode, 0);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->nr_local, 0u);
	KUNIT_EXPECT_FALSE(test, fx_pop(fx));
	KUNIT_EXPECT_TRUE(test, shca_req_idle(&fx->req));
	fx->req.draining = false;
	KUNIT_EXPECT_EQ(test, fx_drain(fx) + fx->nr_local, 1u);
}

/* IBTA 10.8.3.3: a fence is one for local requests as well. */
static void req_fenced_local_waits_for_reads(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, SHCA_WR_RDMA_READ, 8);
	fx_post_flags(fx, SHCA_WR_BIND_MW, 0, SHCA_SEND_FENCE);
	fx_post_flags(fx, SHCA_WR_BIND_MW, 0, 0);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
	KUNIT_EXPECT_EQ(test, fx->nr_local, 0u);
	fx_read_resp(fx, SHCA_OP_READ_RESP_ONLY, P0, 8);
	fx_drain(fx);
	KUNIT_EXPECT_EQ(test, fx->nr_local, 2u);
}

/* ---- probes ------------------------------------------------------------------------ */

/* IBTA A14: each request names an SRQ, also one that only asks. */
static void req_probe_of_xrc_names_the_srq(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_attr attr;
	struct shca_send_wr *wr;

	fx_req_attr(&attr);
	attr.transport = SHCA_TRANSPORT_XRC;
	fx_req_start(fx, &attr);
	/* nothing was acknowledged yet: the first one asks for itself */
	wr = fx_post_flags(fx, SHCA_WR_RDMA_WRITE, 8, 0);
	wr->xrc_srqn = 0x777;
	fx_drain(fx);
	fx->pkt.opcode = SHCA_TRANSPORT_XRC | SHCA_OP_ACK;
	fx->pkt.aeth.syndrome = ACK;
	fx->pkt.paylen = 0;
	shca_req_rx(&fx->req, &fx->pkt, fx->now);
	wr = fx_post_flags(fx, SHCA_WR_RDMA_WRITE, 8, 0);
	wr->xrc_srqn = 0x888;
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_FALSE(test, fx->pkt.ackreq);
	fx_timeout(fx);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_NULL(test, fx->pkt.wr);
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode,
			SHCA_TRANSPORT_XRC | SHCA_OP_WRITE_ONLY);
	KUNIT_EXPECT_EQ(test, fx->pkt.xrc_srqn, 0x888u);
	KUNIT_EXPECT_TRUE(test, fx->pkt.again);
	KUNIT_EXPECT_TRUE(test, fx->pkt.mig);
	KUNIT_EXPECT_EQ(test, fx->pkt.pkey, 0xffff);
	KUNIT_EXPECT_EQ(test, fx->pkt.dqpn, 0x77u);
}

/* ---- answers ------------------------------------------------------------------------ */

struct answer_row {
	const char *name;
	u8 opcode;
	u32 len;
	u8 syndrome;
	bool ok;
};

static const struct answer_row answer_rows[] = {
	{ "its own", SHCA_OP_ATOMIC_ACK, 0, ACK, true },
	{ "with credits", SHCA_OP_ATOMIC_ACK, 0, SHCA_AETH_ACK | 3, true },
	{ "NAK syndrome", SHCA_OP_ATOMIC_ACK, 0, SHCA_AETH_NAK | 2, false },
	{ "RNR syndrome", SHCA_OP_ATOMIC_ACK, 0, RNR(3), false },
	{ "with data", SHCA_OP_ATOMIC_ACK, 8, ACK, false },
	{ "READ response", SHCA_OP_READ_RESP_ONLY, 8, ACK, false },
};

static void answer_desc(const struct answer_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(answer, answer_rows, answer_desc);

/* IBTA 9.7.5.2.3: the AETH of an atomic's answer is that of an acknowledgement. */
static void req_rx_of_atomic_answer_looks_at_its_aeth(struct kunit *test)
{
	const struct answer_row *row = test->param_value;
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	fx_post(fx, SHCA_WR_ATOMIC_FETCH_AND_ADD, 8);
	fx_drain(fx);
	memset(&pkt, 0, sizeof(pkt));
	pkt.opcode = row->opcode;
	pkt.psn = P0;
	pkt.paylen = row->len;
	pkt.aeth.syndrome = row->syndrome;
	KUNIT_EXPECT_EQ(test, shca_req_rx(&fx->req, &pkt, fx->now),
			row->ok ? SHCA_RX_OK : SHCA_RX_BAD_RESPONSE);
	KUNIT_EXPECT_EQ(test, fx->nr_store, row->ok ? 1u : 0u);
	KUNIT_EXPECT_EQ(test, fx->nr_scatter, 0u);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, row->ok ? SHCA_WC_SUCCESS :
						       SHCA_WC_BAD_RESP_ERR);
	KUNIT_EXPECT_EQ(test, fx->wc.vendor_err, row->ok ? SHCA_VERR_NONE :
							   SHCA_VERR_RESPONSE);
}

/* ---- runs --------------------------------------------------------------------------- */

static void req_run_is_taken_in_its_place_only(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt = {
		.opcode = SHCA_OP_READ_RESP_MIDDLE,
		.psn = P0 + 1,
		.span = 3,
		.paylen = 4 * FX_MTU,
		.unit = FX_MTU,
		.stride = FX_MTU,
	};

	KUNIT_EXPECT_FALSE(test, shca_req_takes_run(&fx->req, &pkt));
	fx_post(fx, SHCA_WR_RDMA_READ, 6 * FX_MTU);
	fx_drain(fx);
	fx_read_resp(fx, SHCA_OP_READ_RESP_FIRST, P0, FX_MTU);
	KUNIT_EXPECT_TRUE(test, shca_req_takes_run(&fx->req, &pkt));
	pkt.psn++;
	KUNIT_EXPECT_FALSE(test, shca_req_takes_run(&fx->req, &pkt));
	pkt.psn--;
	pkt.span = 4;
	KUNIT_EXPECT_FALSE(test, shca_req_takes_run(&fx->req, &pkt));
	pkt.span = 5;
	KUNIT_EXPECT_FALSE(test, shca_req_takes_run(&fx->req, &pkt));
	pkt.span = 3;
	shca_req_fail(&fx->req);
	KUNIT_EXPECT_FALSE(test, shca_req_takes_run(&fx->req, &pkt));
}

/* Bytes of a response count once, and not those of a copy that is dropped. */
static void req_bytes_are_those_of_accepted_responses(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i;

	fx_post(fx, SHCA_WR_RDMA_READ, FX_MTU);
	fx_drain(fx);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, fx_read_resp(fx, SHCA_OP_READ_RESP_ONLY, P0, FX_MTU),
				i ? SHCA_RX_STALE_ACK : SHCA_RX_OK);
		KUNIT_EXPECT_EQ(test, fx->req.stats.rx_bytes, (u64)FX_MTU);
	}
}

static struct kunit_case requester_limits_cases[] = {
	KUNIT_CASE(req_rnr_after_progress_counts_afresh),
	KUNIT_CASE(req_rnr_of_a_later_request_counts_afresh),
	KUNIT_CASE(req_rtt_rises_at_once_and_falls_slowly),
	KUNIT_CASE(req_rtt_is_that_of_the_packet_that_asked),
	KUNIT_CASE(req_window_grows_by_an_eighth_per_window),
	KUNIT_CASE(req_acknowledged_unasked_does_not_probe),
	KUNIT_CASE(req_quiet_time_begins_with_progress),
	KUNIT_CASE(req_progress_ends_a_second_look),
	KUNIT_CASE(req_next_of_reads_keeps_their_window),
	KUNIT_CASE(req_next_of_large_read_waits_for_others),
	KUNIT_CASE(req_may_send_a_read_when_there_is_room),
	KUNIT_CASE(req_may_send_before_a_read_that_waits),
	KUNIT_CASE(req_next_behind_a_read_has_its_window),
	KUNIT_CASE_PARAM(req_next_while_draining_begins_nothing,
			 sqd_gen_params),
	KUNIT_CASE(req_fenced_local_waits_for_reads),
	KUNIT_CASE(req_probe_of_xrc_names_the_srq),
	KUNIT_CASE_PARAM(req_rx_of_atomic_answer_looks_at_its_aeth,
			 answer_gen_params),
	KUNIT_CASE(req_run_is_taken_in_its_place_only),
	KUNIT_CASE(req_bytes_are_those_of_accepted_responses),
	{}
};

static struct kunit_suite requester_limits_suite = {
	.name = "softhca_requester_limits",
	.init = fx_init,
	.test_cases = requester_limits_cases,
};

kunit_test_suites(&requester_limits_suite);
