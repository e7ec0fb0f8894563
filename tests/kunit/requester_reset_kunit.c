// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A requester from one life to the next.  A reset, an error and a resumption each
 * leave a defined part of the life before.  If several errors lie ahead, one counts.
 */
#include "fixture.h"

#define P0	FX_SQ_PSN
#define OP_SEND	SHCA_WR_SEND

static void start(struct fx *fx, u8 transport)
{
	struct shca_req_attr attr;

	fx_req_attr(&attr);
	attr.transport = transport;
	fx_req_start(fx, &attr);
}

/* ---- reset --------------------------------------------------------------------- */

static void req_init_is_at_rest(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req *req = &fx->req;

	memset(req, 0xa5, sizeof(*req));
	shca_req_init(req, fx->ring, FX_ENTRIES, FX_STRIDE, NULL, fx);
	KUNIT_EXPECT_EQ(test, req->state, SHCA_SIDE_RESET);
	KUNIT_EXPECT_EQ(test, req->cc.window, (u32)SHCA_CC_WINDOW);
	KUNIT_EXPECT_EQ(test, req->recovery.resend_end, SHCA_PSN_NONE);
	KUNIT_EXPECT_EQ(test, req->psn.reach, 1u);
	KUNIT_EXPECT_EQ(test, req->ring.mask, FX_ENTRIES - 1u);
	/* no credits until a peer counts them (9.7.7.2) */
	KUNIT_EXPECT_FALSE(test, req->credit.valid);
	KUNIT_EXPECT_EQ(test, req->credit.psn, SHCA_PSN_NONE);
	KUNIT_EXPECT_EQ(test, req->psn.paused, SHCA_PSN_NONE);
	KUNIT_EXPECT_EQ(test, req->ring.prod + req->ring.nxt + req->ring.una + req->ring.head, 0u);
	KUNIT_EXPECT_NULL(test, shca_req_slot(req));
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_FALSE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, shca_req_deadline(req), 0ull);
}

/* Everything but the storage, the window and the counters. */
static void req_reset_forgets_all_of_a_life(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req *req = &fx->req, fresh;
	struct shca_req_stats stats;

	shca_req_init(&fresh, fx->ring, FX_ENTRIES, FX_STRIDE, req->mem, fx);
	memset(&stats, 0x77, sizeof(stats));
	fresh.cc.window = 7;
	fresh.stats = stats;
	memset(req, 0xa5, sizeof(*req));
	req->ring.base = fresh.ring.base;
	req->ring.mask = fresh.ring.mask;
	req->ring.stride = fresh.ring.stride;
	req->mem = fresh.mem;
	req->mem_ctx = fresh.mem_ctx;
	req->cc.window = 7;
	req->stats = stats;
	shca_req_reset(req);
	KUNIT_EXPECT_MEMEQ(test, req, &fresh, sizeof(fresh));
}

/* ---- errors ---------------------------------------------------------------------- */

/* Nothing is outstanding, and nothing is waited for. */
static void expect_nothing_outstanding(struct kunit *test, u32 psn)
{
	const struct shca_req *req = &((struct fx *)test->priv)->req;

	KUNIT_EXPECT_FALSE(test, req->fail.valid);
	KUNIT_EXPECT_FALSE(test, shca_req_rnr_waits(req));
	KUNIT_EXPECT_EQ(test, req->recovery.waits, SHCA_WAIT_ANSWER);
	KUNIT_EXPECT_FALSE(test, req->ackreq.probe_due);
	KUNIT_EXPECT_FALSE(test, req->ackreq.probed);
	KUNIT_EXPECT_EQ(test, req->recovery.deadline, 0ull);
	KUNIT_EXPECT_EQ(test, req->ackreq.probe_ns, 0ull);
	KUNIT_EXPECT_EQ(test, req->psn.nr_rd, 0u);
	KUNIT_EXPECT_EQ(test, req->psn.nr_rd_psns, 0u);
	KUNIT_EXPECT_EQ(test, req->ring.nxt, req->ring.una);
	KUNIT_EXPECT_EQ(test, req->ring.pkt_idx, 0u);
	KUNIT_EXPECT_EQ(test, req->psn.next, psn);
	KUNIT_EXPECT_EQ(test, req->psn.max, psn);
	KUNIT_EXPECT_EQ(test, req->psn.una, psn);
	KUNIT_EXPECT_EQ(test, req->ackreq.psn, psn);
}

struct life_row {
	const char *name;
	u8 transport;
};

static const struct life_row life_rows[] = {
	{ "RC", SHCA_TRANSPORT_RC },
	{ "XRC", SHCA_TRANSPORT_XRC },
	{ "UC", SHCA_TRANSPORT_UC },
	{ "UD", SHCA_TRANSPORT_UD },
};

static void life_desc(const struct life_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(life, life_rows, life_desc);

static void req_fail_leaves_nothing_outstanding(struct kunit *test)
{
	const struct life_row *row = test->param_value;
	bool rc = row->transport != SHCA_TRANSPORT_UC &&
		  row->transport != SHCA_TRANSPORT_UD;
	struct fx *fx = test->priv;
	struct shca_req *req = &fx->req;

	start(fx, row->transport);
	req->ring.prod = 9;
	req->ring.nxt = 7;
	req->ring.una = 5;
	req->ring.head = 4;
	req->psn.next = P0 + 6;
	req->psn.max = P0 + 8;
	req->psn.una = P0 + 2;
	req->ackreq.psn = P0 + 4;
	req->ring.pkt_idx = 3;
	req->psn.nr_rd = 2;
	req->psn.nr_rd_psns = 2;
	req->fail.valid = true;
	req->fail.idx = 6;
	req->recovery.waits = SHCA_WAIT_RNR;
	req->ackreq.probe_due = true;
	req->ackreq.probed = true;
	req->recovery.deadline = 5555;
	req->ackreq.probe_ns = 4444;
	shca_req_fail(req);
	KUNIT_EXPECT_EQ(test, req->state, SHCA_SIDE_ERR);
	/* UC, UD: a PSN that has left is not used again by what resumes here */
	expect_nothing_outstanding(test, rc ? P0 + 2 : P0 + 6);
	KUNIT_EXPECT_EQ(test, req->ring.una, 5u);
	KUNIT_EXPECT_EQ(test, req->ring.head, 4u);
}

/* What has come to an end is not failed again. */
static void req_fail_twice_is_once(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i;

	start(fx, SHCA_TRANSPORT_UC);
	for (i = 0; i < 3; i++)
		fx_post(fx, OP_SEND, 8);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	shca_req_fail(&fx->req);
	fx->req.psn.next = P0 + 100;	/* nobody's, so that a second time would show */
	shca_req_fail(&fx->req);
	KUNIT_EXPECT_EQ(test, fx->req.psn.una, P0 + 1);
}

/* Only a send queue of UC or UD survives its errors (10.3.1, SQE). */
static void req_resume_is_for_unreliable_queues_in_error(struct kunit *test)
{
	const struct life_row *row = test->param_value;
	bool rc = row->transport != SHCA_TRANSPORT_UC &&
		  row->transport != SHCA_TRANSPORT_UD;
	struct fx *fx = test->priv;
	struct shca_req_attr attr;

	fx_req_attr(&attr);
	shca_req_reset(&fx->req);
	fx->req.attr.transport = row->transport;
	shca_req_resume(&fx->req);
	KUNIT_EXPECT_EQ(test, fx->req.state, SHCA_SIDE_RESET);
	start(fx, row->transport);
	shca_req_resume(&fx->req);
	KUNIT_EXPECT_EQ(test, fx->req.state, SHCA_SIDE_READY);
	shca_req_fail(&fx->req);
	shca_req_resume(&fx->req);
	KUNIT_EXPECT_EQ(test, fx->req.state,
			rc ? SHCA_SIDE_ERR : SHCA_SIDE_READY);
}

/* The PSN goes on, and what was in the middle of a message does not. */
static void req_resume_begins_behind_what_has_left(struct kunit *test)
{
	struct fx *fx = test->priv;

	start(fx, SHCA_TRANSPORT_UC);
	fx_post(fx, OP_SEND, 4 * FX_MTU);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	shca_req_fail(&fx->req);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_WR_FLUSH_ERR);
	shca_req_resume(&fx->req);
	fx_post(fx, OP_SEND, 2 * FX_MTU);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode,
			SHCA_TRANSPORT_UC | SHCA_OP_SEND_FIRST);
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + 2);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_SUCCESS);
}

/* ---- errors ahead ------------------------------------------------------------------ */

/* Three requests have left and come again; the packets of each into @pkt. */
static void send_again(struct kunit *test, struct shca_pkt *pkt)
{
	struct fx *fx = test->priv;
	u32 i;

	for (i = 0; i < 3; i++)
		fx_post(fx, OP_SEND, 8);
	fx_drain(fx);
	fx_timeout(fx);
	for (i = 0; i < 3; i++) {
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
		KUNIT_ASSERT_TRUE(test, fx->pkt.again);
		pkt[i] = fx->pkt;
	}
}

static void expect_end(struct kunit *test, u8 status, u16 vendor_err)
{
	struct fx *fx = test->priv;

	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, status);
	KUNIT_EXPECT_EQ(test, fx->wc.vendor_err, vendor_err);
}

struct ahead_row {
	const char *name;
	u32 first;
	u32 second;
	u32 counts;	/* request, from 0 on */
	u16 vendor_err;
};

/* the first one found is KEY, the second one RANGE */
static const struct ahead_row ahead_rows[] = {
	{ "the later one is found last", 1, 2, 1, SHCA_VERR_KEY },
	{ "the later one is found first", 2, 1, 1, SHCA_VERR_RANGE },
	{ "both are one request's", 1, 1, 1, SHCA_VERR_KEY },
};

static void ahead_desc(const struct ahead_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(ahead, ahead_rows, ahead_desc);

/* Requests complete in order, so the error of the earlier one ends the queue. */
static void req_of_two_errors_ahead_the_earlier_counts(struct kunit *test)
{
	const struct ahead_row *row = test->param_value;
	struct fx *fx = test->priv;
	struct shca_pkt pkt[3];

	send_again(test, pkt);
	shca_req_gather_failed(&fx->req, &pkt[row->first], SHCA_MEM_KEY);
	shca_req_gather_failed(&fx->req, &pkt[row->second], SHCA_MEM_RANGE);
	KUNIT_EXPECT_FALSE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0 + row->counts - 1, ACK),
			SHCA_RX_OK);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->req.state, SHCA_SIDE_ERR);
	expect_end(test, SHCA_WC_SUCCESS, SHCA_VERR_NONE);
	expect_end(test, SHCA_WC_LOC_PROT_ERR, row->vendor_err);
	expect_end(test, SHCA_WC_WR_FLUSH_ERR, SHCA_VERR_NONE);
}

/* It could not be sent again, and did not have to be: forgotten, however many follow. */
static void req_error_ahead_of_what_is_acknowledged_is_void(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt[3];

	send_again(test, pkt);
	shca_req_gather_failed(&fx->req, &pkt[1], SHCA_MEM_KEY);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0 + 1, ACK), SHCA_RX_OK);
	expect_end(test, SHCA_WC_SUCCESS, SHCA_VERR_NONE);
	expect_end(test, SHCA_WC_SUCCESS, SHCA_VERR_NONE);
	KUNIT_EXPECT_FALSE(test, fx->req.fail.valid);
	fx_post(fx, OP_SEND, 8);
	/* the third one again, and the new one */
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2u);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0 + 3, ACK), SHCA_RX_OK);
	expect_end(test, SHCA_WC_SUCCESS, SHCA_VERR_NONE);
	expect_end(test, SHCA_WC_SUCCESS, SHCA_VERR_NONE);
}

/* The owner looks at the state when it has asked for packets, so it is told then. */
static void req_next_that_meets_an_error_ends_at_once(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, 99, 8);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->req.state, SHCA_SIDE_ERR);
	start(fx, SHCA_TRANSPORT_RC);
	fx->local = SHCA_WC_MW_BIND_ERR;
	fx_post(fx, SHCA_WR_REG_MR, 0);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->req.state, SHCA_SIDE_ERR);
	expect_end(test, SHCA_WC_MW_BIND_ERR, SHCA_VERR_KEY);
}

/* ---- going back ---------------------------------------------------------------------- */

/* Growth is counted from the loss on, and not from before. */
static void req_window_after_a_second_loss_grows_from_there(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_SEND, 400 * FX_MTU);
	fx_drain(fx);
	fx_timeout(fx);
	fx_drain(fx);
	fx_ack(fx, P0 + 90, ACK);
	fx_timeout(fx);
	KUNIT_EXPECT_EQ(test, fx->req.cc.cwnd, 72u);
	fx_drain(fx);
	fx_ack(fx, P0 + 90 + 71, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.cc.cwnd, 72u);
	fx_ack(fx, P0 + 90 + 72, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.cc.cwnd, 81u);
}

/* What an earlier question was about is forgotten: what comes again asks. */
static void req_going_back_asks_afresh(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req *req = &fx->req;

	fx_post(fx, OP_SEND, 4 * FX_MTU);
	fx_drain(fx);
	KUNIT_ASSERT_EQ(test, req->ackreq.psn, P0 + 4);
	req->ackreq.nr_since = 3;
	req->ackreq.probed = true;
	req->recovery.deadline = fx->now;
	req->ackreq.probe_ns = fx->now + 50;
	shca_req_timer(req, fx->now);
	KUNIT_EXPECT_EQ(test, req->ackreq.nr_since, 0u);
	KUNIT_EXPECT_EQ(test, req->ackreq.psn, P0);
	KUNIT_EXPECT_FALSE(test, req->ackreq.probed);
	KUNIT_EXPECT_EQ(test, req->ackreq.probe_ns, 0ull);
	KUNIT_EXPECT_EQ(test, req->psn.next, P0);
	KUNIT_EXPECT_EQ(test, req->ring.pkt_idx, 0u);
}

/* The answer comes when sending has gone back: what is next has not begun. */
static void req_ack_while_going_back_leads_to_the_next(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_SEND, 2 * FX_MTU);
	fx_drain(fx);
	fx_post(fx, OP_SEND, 3 * FX_MTU);
	fx_timeout(fx);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0 + 1, ACK), SHCA_RX_OK);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_SEND_FIRST);
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + 2);
	KUNIT_EXPECT_EQ(test, fx->pkt.off, 0u);
}

/* A malformed request behind an error is flushed as any other is. */
static void req_flush_of_a_malformed_request_is_a_flush(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_SEND, 8);
	fx_post(fx, 99, 8);
	fx_drain(fx);
	fx_ack(fx, P0, NAK(SHCA_NAK_ACCESS));
	expect_end(test, SHCA_WC_REM_ACCESS_ERR, SHCA_VERR_NAK);
	expect_end(test, SHCA_WC_WR_FLUSH_ERR, SHCA_VERR_NONE);
}

/* An atomic has one PSN, whatever the buffer that its answer goes to could take. */
static void req_atomic_into_a_long_buffer_is_one_packet(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, SHCA_WR_ATOMIC_FETCH_AND_ADD, 3 * FX_MTU);
	fx_post(fx, OP_SEND, 1);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2u);
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + 1);
	KUNIT_EXPECT_EQ(test, fx_atomic_ack(fx, P0, 5), SHCA_RX_OK);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.byte_len, 8u);
}

/* What is acknowledged before a message leaves that in the middle where it is. */
static void req_ack_of_the_request_before_leaves_a_message_going(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_SEND, 8);
	fx_post(fx, OP_SEND, 4 * FX_MTU);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0, ACK), SHCA_RX_OK);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_SEND_MIDDLE);
	KUNIT_EXPECT_EQ(test, fx->pkt.off, 2u * FX_MTU);
}

static struct kunit_case requester_reset_cases[] = {
	KUNIT_CASE(req_init_is_at_rest),
	KUNIT_CASE(req_reset_forgets_all_of_a_life),
	KUNIT_CASE_PARAM(req_fail_leaves_nothing_outstanding, life_gen_params),
	KUNIT_CASE(req_fail_twice_is_once),
	KUNIT_CASE_PARAM(req_resume_is_for_unreliable_queues_in_error,
			 life_gen_params),
	KUNIT_CASE(req_resume_begins_behind_what_has_left),
	KUNIT_CASE_PARAM(req_of_two_errors_ahead_the_earlier_counts,
			 ahead_gen_params),
	KUNIT_CASE(req_error_ahead_of_what_is_acknowledged_is_void),
	KUNIT_CASE(req_next_that_meets_an_error_ends_at_once),
	KUNIT_CASE(req_window_after_a_second_loss_grows_from_there),
	KUNIT_CASE(req_going_back_asks_afresh),
	KUNIT_CASE(req_ack_while_going_back_leads_to_the_next),
	KUNIT_CASE(req_flush_of_a_malformed_request_is_a_flush),
	KUNIT_CASE(req_atomic_into_a_long_buffer_is_one_packet),
	KUNIT_CASE(req_ack_of_the_request_before_leaves_a_message_going),
	{}
};

static struct kunit_suite requester_reset_suite = {
	.name = "softhca_requester_reset",
	.init = fx_init,
	.test_cases = requester_reset_cases,
};

kunit_test_suites(&requester_reset_suite);
