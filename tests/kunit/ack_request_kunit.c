// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * When a requester asks for an acknowledgement, probes, and waits: its timers, local
 * requests between others, and packets that could not leave.
 */
#include "fixture.h"

#define P0	FX_SQ_PSN
#define OP_SEND	SHCA_WR_SEND
#define OP_WRITE	SHCA_WR_RDMA_WRITE
#define OP_READ	SHCA_WR_RDMA_READ
#define SIG	SHCA_SEND_SIGNALED

/* A request that nobody waits for leaves; does it ask? */
static bool silent_asks(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post_flags(fx, OP_WRITE, 8, 0)->xrc_srqn = 0x999;
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_ASSERT_NOT_NULL(test, fx->pkt.wr);
	return fx->pkt.ackreq;
}

static void expect_probe(struct kunit *test, u32 psn)
{
	struct fx *fx = test->priv;

	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_NULL(test, fx->pkt.wr);
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, psn);
	KUNIT_EXPECT_TRUE(test, fx->pkt.ackreq);
	KUNIT_EXPECT_TRUE(test, fx->pkt.again);
	KUNIT_EXPECT_TRUE(test, fx->pkt.mig);
	KUNIT_EXPECT_EQ(test, fx->pkt.pkey, 0xffff);
	KUNIT_EXPECT_EQ(test, fx->pkt.dqpn, 0x77u);
	/* no header of another transport, and nothing to place */
	KUNIT_EXPECT_EQ(test, fx->pkt.xrc_srqn, 0u);
	KUNIT_EXPECT_EQ(test, fx->pkt.paylen + fx->pkt.reth.len, 0u);
}

/* ---- local requests -------------------------------------------------------------- */

struct behind_row {
	const char *name;
	u8 opcode;
	u16 flags;
	bool asks;
};

static const struct behind_row behind_rows[] = {
	{ "signalled REG_MR", SHCA_WR_REG_MR, SIG, true },
	{ "REG_MR", SHCA_WR_REG_MR, 0, false },
	{ "fenced REG_MR", SHCA_WR_REG_MR, SHCA_SEND_FENCE, false },
	{ "signalled LOCAL_INV", SHCA_WR_LOCAL_INV, SIG, true },
	{ "LOCAL_INV", SHCA_WR_LOCAL_INV, 0, true },
	{ "signalled BIND_MW", SHCA_WR_BIND_MW, SIG, true },
	{ "BIND_MW", SHCA_WR_BIND_MW, 0, false },
	{ "signalled SEND", OP_SEND, SIG, false },
	{ "SEND", OP_SEND, 0, false },
};

static void behind_desc(const struct behind_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(behind, behind_rows, behind_desc);

/* A local request that waits for the one before it, or whose end is waited for. */
static void req_before_a_local_that_waits_asks(struct kunit *test)
{
	const struct behind_row *row = test->param_value;
	struct fx *fx = test->priv;

	fx_post_flags(fx, OP_WRITE, 8, 0);
	fx_post_flags(fx, row->opcode, 0, row->flags);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.ackreq, row->asks);
}

/* What stood in the ring a lap ago is not behind it. */
static void req_before_nothing_does_not_ask(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i;

	for (i = 0; i < FX_ENTRIES; i++) {
		fx_post(fx, SHCA_WR_LOCAL_INV, 0);
		fx_next(fx);
		KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	}
	KUNIT_EXPECT_FALSE(test, silent_asks(test));
}

/* Its completion waits for what has not asked, so that is probed at once. */
static void req_signalled_local_probes_about_what_is_before(struct kunit *test)
{
	struct fx *fx = test->priv;

	KUNIT_ASSERT_FALSE(test, silent_asks(test));
	fx_post_flags(fx, SHCA_WR_REG_MR, 0, 0);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	fx_post(fx, SHCA_WR_REG_MR, 0);
	expect_probe(test, P0 - 1);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->nr_local, 2u);
}

/* Where nothing is before it, or that has asked, there is nothing to probe about. */
static void req_signalled_local_alone_makes_nobody_ask(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, SHCA_WR_REG_MR, 0);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_FALSE(test, silent_asks(test));
	fx_ack(fx, P0, ACK);
	fx_post(fx, OP_WRITE, 8);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	fx_post(fx, SHCA_WR_REG_MR, 0);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_FALSE(test, silent_asks(test));
}

/* IBTA 10.8.3.3: the fence is the request's own, and holds for READs and atomics. */
static void req_local_waits_for_reads_only_if_fenced(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_READ, 8);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	fx_post_flags(fx, SHCA_WR_REG_MR, 0, SIG);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->nr_local, 1u);
	fx_post_flags(fx, SHCA_WR_REG_MR, 0, SIG | SHCA_SEND_FENCE);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->nr_local, 1u);
	fx_read_resp(fx, SHCA_OP_READ_RESP_ONLY, P0, 8);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->nr_local, 2u);
}

/* Executed is executed: neither a time-out nor a refused batch does so again. */
static void req_local_is_executed_once(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt first;
	u32 i;

	fx_post(fx, OP_WRITE, 8);
	fx_post(fx, SHCA_WR_REG_MR, 0);
	fx_post(fx, OP_WRITE, 8);
	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
		first = fx->pkt;
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
		KUNIT_EXPECT_EQ(test, fx->nr_local, 1u);
		KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + 1);
		shca_req_gather_failed(&fx->req, &first, SHCA_MEM_RETRY);
	}
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2u);
	fx_timeout(fx);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2u);
	KUNIT_EXPECT_EQ(test, fx->nr_local, 1u);
	fx_ack(fx, P0 + 1, ACK);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_TRUE(test, fx_pop(fx));
}

/* ---- asking -------------------------------------------------------------------------- */

/* A question that is due goes with what is sent, and is asked once. */
static void req_probe_that_is_due_goes_with_a_request(struct kunit *test)
{
	struct fx *fx = test->priv;

	KUNIT_ASSERT_FALSE(test, silent_asks(test));
	fx_timeout(fx);
	fx->req.ackreq.sent_ns = fx->now;	/* (a pause would ask as well) */
	KUNIT_EXPECT_TRUE(test, silent_asks(test));
	KUNIT_EXPECT_FALSE(test, silent_asks(test));
	KUNIT_EXPECT_EQ(test, fx->req.stats.probes, 0ull);
}

/* IBTA 9.7.6.1.3: the timer is that of the oldest one that waits. */
static void req_timer_is_not_put_off_by_later_requests(struct kunit *test)
{
	struct fx *fx = test->priv;
	u64 at = fx->now + FX_TIMEOUT;

	fx_post(fx, OP_SEND, 8);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), at);
	fx->now += FX_TIMEOUT / 2;
	fx_post(fx, OP_SEND, 8);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), at);
	/* (progress starts it anew) */
	fx_ack(fx, P0, ACK);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req),
			fx->now + FX_TIMEOUT);
}

/* While sending again it runs from the first packet on, whether that asks or not. */
static void req_timer_of_repetition_runs_from_its_first_packet(struct kunit *test)
{
	struct fx *fx = test->priv;
	u64 at;

	fx_post(fx, OP_SEND, 4 * FX_MTU);
	fx_drain(fx);
	fx_timeout(fx);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), 0ull);
	at = fx->now + FX_TIMEOUT;
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_FALSE(test, fx->pkt.ackreq);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), at);
	fx->now += 5;
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), at);
}

/* Without a time-out there is none for what is sent again either. */
static void req_repetition_without_timeout_has_no_timer(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_attr attr;

	fx_req_attr(&attr);
	attr.timeout_ns = 0;
	fx_req_start(fx, &attr);
	fx_post(fx, OP_SEND, 4 * FX_MTU);
	fx_drain(fx);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0 + 1, NAK(SHCA_NAK_PSN_SEQ)),
			SHCA_RX_NAK_SEQ);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_FALSE(test, fx->pkt.ackreq);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), 0ull);
}

/* The pause is that behind the first one that did not ask. */
static void req_quiet_time_is_not_put_off(struct kunit *test)
{
	struct fx *fx = test->priv;
	u64 at = fx->now + SHCA_REQ_QUIET_NS;

	KUNIT_ASSERT_FALSE(test, silent_asks(test));
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), at);
	fx->now += 5;
	KUNIT_ASSERT_FALSE(test, silent_asks(test));
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), at);
	shca_req_timer(&fx->req, at - 1);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	shca_req_timer(&fx->req, at);
	expect_probe(test, P0 - 1);
}

/*
 * The first of several AckReqs is timed; the RTT would otherwise be that of the
 * last one.
 */
static void req_rtt_is_of_the_first_question(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_SEND, 8);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	fx->now += 100;
	fx_post(fx, OP_SEND, 8);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	fx->now += 200;
	fx_ack(fx, P0 + 1, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.rtt.ns, 300ull);
}

/* Up to a quarter of the window: one more asks. */
static void req_quarter_of_the_window_asks(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_attr attr;
	u32 i;

	fx_req_attr(&attr);
	fx->req.cc.window = 20;
	fx_req_start(fx, &attr);
	fx_post_flags(fx, OP_WRITE, 100 * FX_MTU, 0);
	for (i = 1; i <= 20; i++) {
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
		KUNIT_EXPECT_EQ(test, fx->pkt.ackreq, i % 5 == 0);
	}
	/* the window is one of packets: a READ has a window of its own */
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
}

static void req_read_behind_a_full_window_leaves(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_attr attr;

	fx_req_attr(&attr);
	fx->req.cc.window = 4;
	fx_req_start(fx, &attr);
	fx_post(fx, OP_WRITE, 4 * FX_MTU);
	fx_post(fx, OP_READ, 8);
	fx_post(fx, OP_WRITE, 8);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 5u);
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_READ_REQUEST);
}

/* ---- ACK probes ------------------------------------------------------------------------ */

/* An error ahead waits for what is before it, so the question comes at once. */
static void req_error_ahead_makes_probe(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	KUNIT_ASSERT_FALSE(test, silent_asks(test));
	fx_post(fx, OP_SEND, 8);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	pkt = fx->pkt;
	shca_req_gather_failed(&fx->req, &pkt, SHCA_MEM_KEY);
	fx->req.ackreq.probe_due = false;
	fx->req.ring.prod = fx->req.ring.nxt;	/* (nothing else waits) */
	expect_probe(test, P0 - 1);
}

/* A full ring waits for its oldest request: that is asked about, and not before. */
static void req_full_ring_probes(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i;

	/* (not the first lap) */
	for (i = 0; i < FX_ENTRIES; i++) {
		fx_post(fx, SHCA_WR_REG_MR, 0);
		KUNIT_EXPECT_FALSE(test, fx_next(fx));
		KUNIT_EXPECT_TRUE(test, fx_pop(fx));
	}
	for (i = 0; i < FX_ENTRIES - 4; i++)
		KUNIT_EXPECT_EQ(test, silent_asks(test), i % 4 == 3);
	fx_ack(fx, P0 + FX_ENTRIES - 5, ACK);
	/* none of them has completed, since nobody has looked */
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_FALSE(test, silent_asks(test));
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_FALSE(test, shca_req_must_probe(&fx->req));
	fx_post_flags(fx, SHCA_WR_REG_MR, 0, 0);
	expect_probe(test, P0 + FX_ENTRIES - 5);
}

/* An AckReq is due or in flight already: of a packet that is sent again. */
static void req_probe_is_not_needed_while_packets_come_again(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_WRITE, 4 * FX_MTU);
	fx_drain(fx);
	fx_timeout(fx);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	fx->req.ackreq.probe_due = true;
	KUNIT_EXPECT_FALSE(test, shca_req_must_probe(&fx->req));
	/* in error, and before the first acknowledgement, there is nobody to ask */
	shca_req_fail(&fx->req);
	fx->req.psn.max = shca_psn_add(fx->req.psn.next, 1);
	fx->req.psn.next = fx->req.psn.max;
	fx->req.ackreq.probe_due = true;
	KUNIT_EXPECT_FALSE(test, shca_req_must_probe(&fx->req));
	fx->req.state = SHCA_SIDE_READY;
	KUNIT_EXPECT_TRUE(test, shca_req_must_probe(&fx->req));
	fx->req.ackreq.heard = false;
	KUNIT_EXPECT_FALSE(test, shca_req_must_probe(&fx->req));
}

/* An ACK probe that could not leave: no answer is due, and it comes again. */
static void req_probe_that_could_not_leave_comes_again(struct kunit *test)
{
	struct fx *fx = test->priv;

	KUNIT_ASSERT_FALSE(test, silent_asks(test));
	fx_timeout(fx);
	expect_probe(test, P0 - 1);
	shca_req_gather_failed(&fx->req, &fx->pkt, SHCA_MEM_RETRY);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), 0ull);
	KUNIT_EXPECT_EQ(test, fx->req.stats.tx_pkts, 2ull);
	/* it was no question, so this is no answer to it */
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0 - 1, ACK), SHCA_RX_STALE_ACK);
	expect_probe(test, P0 - 1);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0 - 1, ACK), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
}

/* ---- packets that could not leave ----------------------------------------------------- */

/* Begun by a packet that never left, it has not begun; what is behind it neither. */
static void req_first_packet_that_could_not_leave_has_no_psn(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt first;

	fx_post(fx, OP_READ, 2 * FX_MTU);
	fx_post(fx, OP_READ, FX_MTU);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	first = fx->pkt;
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	fx_post(fx, OP_READ, FX_MTU);	/* has not begun anyway */
	KUNIT_EXPECT_EQ(test, fx->req.psn.lsn, 2u);
	shca_req_gather_failed(&fx->req, &first, SHCA_MEM_RETRY);
	KUNIT_EXPECT_EQ(test, fx->req.psn.lsn, 0u);
	KUNIT_EXPECT_EQ(test, fx->req.psn.nr_rd, 0u);
	KUNIT_EXPECT_EQ(test, fx->req.psn.nr_rd_psns, 0u);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), 0ull);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 3u);
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + 3);
	KUNIT_EXPECT_FALSE(test, fx->pkt.again);
	KUNIT_EXPECT_EQ(test, fx->req.psn.nr_rd_psns, 4u);
	KUNIT_EXPECT_EQ(test, fx->req.stats.retransmits, 0ull);
}

/* In the middle it has begun, and goes on where it was. */
static void req_middle_packet_that_could_not_leave_goes_on(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_SEND, 3 * FX_MTU);
	fx_post(fx, OP_SEND, 8);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	shca_req_link_full(&fx->req, &fx->pkt, 0);
	KUNIT_EXPECT_EQ(test, fx->req.psn.lsn, 1u);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_SEND_MIDDLE);
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + 1);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2u);
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + 3);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0 + 3, ACK), SHCA_RX_OK);
	KUNIT_EXPECT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_TRUE(test, fx_pop(fx));
}

/* Before the first answer, too: the AckReq of the packet before it has left and counts. */
static void req_packet_that_could_not_leave_voids_its_own_ackreq(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt last;
	u32 i;

	fx->req.ackreq.heard = false;
	fx->req.cc.cwnd = 3;	/* so small that each packet asks */
	fx_post(fx, OP_WRITE, 3 * FX_MTU);
	for (i = 0; i < 3; i++) {
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
		KUNIT_EXPECT_TRUE(test, fx->pkt.ackreq);
	}
	last = fx->pkt;
	shca_req_gather_failed(&fx->req, &last, SHCA_MEM_RETRY);
	KUNIT_EXPECT_EQ(test, fx->req.ackreq.psn, P0 + 2);
	shca_req_stall(&fx->req, fx->now + 1000);
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0, ACK), SHCA_RX_OK);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	shca_req_release(&fx->req);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + 2);
	KUNIT_EXPECT_FALSE(test, fx->pkt.again);
	KUNIT_EXPECT_EQ(test, fx->req.stats.probes, 0ull);
}

/* The first copy has been answered meanwhile, so an error of the second one is void. */
static void req_copy_that_could_not_leave_after_its_answer_is_void(struct kunit *test)
{
	static const enum shca_mem_status status[] = { SHCA_MEM_KEY,
						       SHCA_MEM_RETRY };
	struct fx *fx = test->priv;
	struct shca_pkt pkt;
	u32 i;

	for (i = 0; i < 2; i++) {
		fx_post(fx, OP_SEND, 8);
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
		pkt = fx->pkt;
		fx_post(fx, OP_SEND, 8);
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
		fx_ack(fx, pkt.psn, ACK);
		shca_req_gather_failed(&fx->req, &pkt, status[i]);
		KUNIT_EXPECT_FALSE(test, fx_next(fx));
		KUNIT_EXPECT_EQ(test, fx->req.state, SHCA_SIDE_READY);
		fx_ack(fx, pkt.psn + 1, ACK);
		/* all of them */
		shca_req_gather_failed(&fx->req, &pkt, status[i]);
		KUNIT_EXPECT_FALSE(test, fx_next(fx));
		KUNIT_EXPECT_TRUE(test, shca_req_idle(&fx->req));
		KUNIT_EXPECT_TRUE(test, fx_pop(fx));
		KUNIT_EXPECT_TRUE(test, fx_pop(fx));
	}
}

/* The same of the first packet of a message, of which that one is acknowledged. */
static void req_copy_of_what_is_acknowledged_in_part_is_void(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	fx_post(fx, OP_SEND, 3 * FX_MTU);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	pkt = fx->pkt;
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	fx_ack(fx, P0, ACK);
	shca_req_gather_failed(&fx->req, &pkt, SHCA_MEM_RETRY);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + 2);
}

static void req_packet_that_could_not_leave_after_the_end_is_void(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_SEND, 8);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	shca_req_fail(&fx->req);
	shca_req_gather_failed(&fx->req, &fx->pkt, SHCA_MEM_KEY);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, fx->wc.vendor_err, SHCA_VERR_NONE);
	/* nor does time end anything more */
	fx->req.recovery.deadline = 1;
	shca_req_timer(&fx->req, fx->now);
	KUNIT_EXPECT_EQ(test, fx->req.stats.timeouts, 0ull);
}

static void req_payload_of_the_oldest_that_is_gone_ends_at_once(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_SEND, 8);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	shca_req_gather_failed(&fx->req, &fx->pkt, SHCA_MEM_ACCESS);
	KUNIT_EXPECT_EQ(test, fx->req.state, SHCA_SIDE_ERR);
}

/* The packet that was timed has not left: what is measured begins with the next one. */
static void req_rtt_of_what_could_not_leave_is_not_measured(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_SEND, 8);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	shca_req_gather_failed(&fx->req, &fx->pkt, SHCA_MEM_RETRY);
	fx->now += 1000;
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	fx->now += 7;
	fx_ack(fx, P0, ACK);
	KUNIT_EXPECT_EQ(test, fx->req.rtt.ns, 7ull);
}

/*
 * The only AckReq has not left.  A requester that has not asked sends an ACK probe.
 * One that has asked, by an earlier AckReq, does not ask again.
 */
static void req_question_that_could_not_leave_is_asked_anew(struct kunit *test)
{
	struct fx *fx = test->priv;

	KUNIT_ASSERT_FALSE(test, silent_asks(test));
	fx_post(fx, OP_SEND, 8);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_ASSERT_TRUE(test, fx->pkt.ackreq);
	shca_req_gather_failed(&fx->req, &fx->pkt, SHCA_MEM_RETRY);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.deadline, 0ull);
	shca_req_pause(&fx->req);
	expect_probe(test, P0 - 1);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	fx_ack(fx, P0, ACK);
	shca_req_release(&fx->req);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 1u);
	fx_ack(fx, P0 + 1, ACK);

	/* two questions, of which the second has not left: an answer is still due */
	fx_post(fx, OP_SEND, 8);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	fx_post(fx, OP_SEND, 8);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	shca_req_gather_failed(&fx->req, &fx->pkt, SHCA_MEM_RETRY);
	KUNIT_EXPECT_EQ(test, fx->req.ackreq.psn, P0 + 3);
	KUNIT_EXPECT_FALSE(test, fx->req.ackreq.probe_due);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.deadline, fx->now + FX_TIMEOUT);
}

/* Only the previous AckReq is kept: of two that have not left, none counts. */
static void req_questions_that_could_not_leave_count_for_nothing(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt first;

	fx_post(fx, OP_SEND, 8);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	first = fx->pkt;
	fx_post(fx, OP_SEND, 8);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	shca_req_gather_failed(&fx->req, &first, SHCA_MEM_RETRY);
	KUNIT_EXPECT_EQ(test, fx->req.ackreq.psn, P0);
	/* one that did not ask takes no question back */
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 2u);
	KUNIT_ASSERT_FALSE(test, silent_asks(test));
	shca_req_gather_failed(&fx->req, &fx->pkt, SHCA_MEM_RETRY);
	KUNIT_EXPECT_EQ(test, fx->req.ackreq.psn, P0 + 2);
	KUNIT_EXPECT_FALSE(test, fx->req.ackreq.probe_due);
}

/* Nor does one before them, which is behind the oldest: that has not asked. */
static void req_questions_that_could_not_leave_leave_the_oldest_unasked(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt first;

	KUNIT_ASSERT_FALSE(test, silent_asks(test));
	fx_post(fx, OP_SEND, 8);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	first = fx->pkt;
	fx_post(fx, OP_SEND, 8);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	shca_req_gather_failed(&fx->req, &first, SHCA_MEM_RETRY);
	KUNIT_EXPECT_EQ(test, fx->req.ackreq.psn, P0);
	shca_req_pause(&fx->req);
	expect_probe(test, P0 - 1);
}

/* All of a full ring has left, and a copy of the first could not: nothing has become new. */
static void req_copy_that_could_not_leave_makes_nothing_new(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i;

	for (i = 0; i < FX_ENTRIES; i++)
		fx_post(fx, OP_SEND, 8);
	KUNIT_ASSERT_EQ(test, fx_drain(fx), (u32)FX_ENTRIES);
	fx_timeout(fx);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	shca_req_gather_failed(&fx->req, &fx->pkt, SHCA_MEM_RETRY);
	KUNIT_EXPECT_EQ(test, fx->req.psn.lsn, (u32)FX_ENTRIES);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), (u32)FX_ENTRIES);
	KUNIT_EXPECT_TRUE(test, fx->pkt.again);
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + FX_ENTRIES - 1);
}

/* A repetition has a timer from its first packet on, and keeps it. */
static void req_repetition_that_could_not_leave_keeps_its_timer(struct kunit *test)
{
	struct fx *fx = test->priv;
	u64 at;

	fx_post(fx, OP_SEND, 2 * FX_MTU);
	fx_post(fx, OP_SEND, 8);
	fx_drain(fx);
	fx_timeout(fx);
	at = fx->now + FX_TIMEOUT;
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_ASSERT_TRUE(test, fx->pkt.ackreq);
	shca_req_gather_failed(&fx->req, &fx->pkt, SHCA_MEM_RETRY);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.deadline, at);
}

/* It was answered before it could not leave: what asked before that is of the past. */
static void req_question_before_the_oldest_counts_for_nothing(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt last;

	fx_post(fx, OP_SEND, 8);	/* asked_before: behind this one */
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_ASSERT_FALSE(test, silent_asks(test));
	KUNIT_ASSERT_FALSE(test, silent_asks(test));
	fx_post(fx, OP_SEND, 8);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	last = fx->pkt;
	fx_ack(fx, P0 + 1, ACK);	/* unasked, in part */
	shca_req_gather_failed(&fx->req, &last, SHCA_MEM_RETRY);
	KUNIT_EXPECT_EQ(test, fx->req.ackreq.psn, P0 + 2);
	shca_req_pause(&fx->req);
	expect_probe(test, P0 + 1);
}

/* ---- deadlines ------------------------------------------------------------------------- */

struct wait_row {
	const char *name;
	u64 deadline;
	u64 late;
	u64 quiet;
	u64 rate;
	u64 stall;
	bool rnr_wait;
	u64 expected;
};

static const struct wait_row wait_rows[] = {
	{ "nothing", 0, 0, 0, 0, 0, false, 0 },
	{ "an answer", 5000, 0, 0, 0, 0, false, 5000 },
	{ "what may be late", 0, 5000, 0, 0, 0, false, 5000 },
	{ "what may be late, and an answer after it", 6000, 5000, 0, 0, 0, false, 5000 },
	{ "what may be late, and a pause before it", 0, 5000, 4000, 0, 0, false, 4000 },
	{ "a pause", 0, 0, 6000, 0, 0, false, 6000 },
	{ "a pause, and an answer before its end", 5000, 0, 6000, 0, 0, false, 5000 },
	{ "a pause that ends before the answer", 6000, 0, 5000, 0, 0, false, 5000 },
	{ "the rate", 0, 0, 0, 7000, 0, false, 7000 },
	/* (1 ns is an open gate, and 2 ns are a time) */
	{ "the rate, of a young clock", 0, 0, 0, 2, 0, false, 2 },
	{ "the link", 0, 0, 0, 0, 7000, false, 7000 },
	{ "the rate, and the link before it", 0, 0, 0, 7000, 6000, false, 7000 },
	{ "the link, and the rate before it", 0, 0, 0, 6000, 7000, false, 7000 },
	{ "the rate, and an answer before it", 5000, 0, 0, 7000, 0, false, 5000 },
	{ "the rate before the answer", 7000, 0, 0, 5000, 0, false, 5000 },
	{ "RNR, whatever the rate", 7000, 0, 0, 5000, 0, true, 7000 },
};

static void wait_desc(const struct wait_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(wait, wait_rows, wait_desc);

/* The first of all that it waits for; in error it waits for nothing. */
static void req_deadline_is_the_first_of_all(struct kunit *test)
{
	const struct wait_row *row = test->param_value;
	struct fx *fx = test->priv;

	fx_post(fx, OP_SEND, 8);
	fx->req.recovery.deadline = row->deadline;
	fx->req.recovery.reo.ns = row->late;
	fx->req.ackreq.probe_ns = row->quiet;
	shca_req_rate(&fx->req, row->rate);
	shca_req_stall(&fx->req, row->stall);
	fx->req.recovery.waits = row->rnr_wait ? SHCA_WAIT_RNR : SHCA_WAIT_ANSWER;
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), row->expected);
	fx->req.state = SHCA_SIDE_ERR;
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), 0ull);
}

/*
 * The rate does not hold back a requester with nothing to send; an ACK probe is
 * something.
 */
static void req_rate_is_of_who_has_something_to_send(struct kunit *test)
{
	struct fx *fx = test->priv;
	u64 quiet;

	shca_req_rate(&fx->req, 77);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), 0ull);
	shca_req_rate(&fx->req, 0);
	KUNIT_ASSERT_FALSE(test, silent_asks(test));
	quiet = shca_req_deadline(&fx->req);
	shca_req_rate(&fx->req, fx->now + 10);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), quiet);
	fx->req.ackreq.probe_due = true;
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), fx->now + 10);
}

/* A rate limit that is over is not waited for again. */
static void req_rate_that_is_over_is_forgotten(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_SEND, 8);
	fx_post(fx, OP_SEND, 8);
	shca_req_stall(&fx->req, fx->now + 10);
	shca_req_release(&fx->req);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), 0ull);
	shca_req_rate(&fx->req, fx->now + 10);
	shca_req_stall(&fx->req, fx->now + 5);
	fx->now += 10;
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_GT(test, shca_req_deadline(&fx->req), fx->now);
	/* each of them keeps it */
	shca_req_rate(&fx->req, fx->now + 1);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	shca_req_rate(&fx->req, 0);
	shca_req_stall(&fx->req, fx->now + 1);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	fx->now++;
	KUNIT_EXPECT_TRUE(test, fx_next(fx));
}

static void req_quiet_time_that_is_over_is_forgotten(struct kunit *test)
{
	struct fx *fx = test->priv;

	KUNIT_ASSERT_FALSE(test, silent_asks(test));
	fx_timeout(fx);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), 0ull);
	/* nor does a timer that is early fire it */
	fx_ack(fx, P0, ACK);
	fx->req.ackreq.sent_ns = fx->now;
	KUNIT_ASSERT_FALSE(test, silent_asks(test));
	shca_req_timer(&fx->req, fx->now);
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
}

static void req_rnr_wait_that_is_over_is_forgotten(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_SEND, 8);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, fx_ack(fx, P0, RNR(1)), SHCA_RX_NAK_RNR);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), fx->now + 10000);
	fx_timeout(fx);
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), 0ull);
	KUNIT_EXPECT_EQ(test, fx->req.stats.timeouts, 0ull);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req),
			fx->now + FX_TIMEOUT);
}

/* The answer is due, whether or not other packets may leave. */
static void req_time_out_comes_though_the_link_is_full(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_post(fx, OP_SEND, 8);
	KUNIT_ASSERT_TRUE(test, fx_next(fx));
	KUNIT_ASSERT_TRUE(test, fx->pkt.ackreq);
	shca_req_stall(&fx->req, fx->now + 2 * FX_TIMEOUT);
	fx->now += FX_TIMEOUT;
	shca_req_timer(&fx->req, fx->now);
	KUNIT_EXPECT_EQ(test, fx->req.stats.timeouts, 1ull);
}

/* A copy that did not ask has left, and the next one does not leave before the link has room. */
static void req_time_out_waits_for_the_link_to_let_one_ask(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 early;

	for (early = 0; early < 2; early++) {
		fx_post(fx, OP_SEND, 4 * FX_MTU);
		fx_drain(fx);
		fx_timeout(fx);
		KUNIT_ASSERT_TRUE(test, fx_next(fx));
		KUNIT_ASSERT_FALSE(test, fx->pkt.ackreq);
		fx->req.stats.timeouts = 0;
		shca_req_stall(&fx->req, fx->now + FX_TIMEOUT + early);
		fx->now += FX_TIMEOUT;
		shca_req_timer(&fx->req, fx->now);
		KUNIT_EXPECT_EQ(test, fx->req.stats.timeouts, early ? 0ull : 1ull);
		shca_req_release(&fx->req);
		fx_drain(fx);
		fx_ack(fx, fx->req.psn.max - 1, ACK);
		KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	}
}

/*
 * A gap within the round trip of the one before is looked at again when that is
 * over.  It counts as a retry, not as a time-out.  It is the last such look until
 * something moves.
 */
static void req_second_look_goes_back_once(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i;

	for (i = 0; i < 3; i++)
		fx_post(fx, OP_SEND, 8);
	fx_drain(fx);
	fx->req.recovery.hold_ns = fx->now + 500;
	fx_ack(fx, P0, NAK(SHCA_NAK_PSN_SEQ));
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	KUNIT_EXPECT_EQ(test, shca_req_deadline(&fx->req), fx->now + 500);
	fx_timeout(fx);
	KUNIT_EXPECT_EQ(test, fx_drain(fx), 3u);
	KUNIT_EXPECT_EQ(test, fx->req.stats.timeouts, 0ull);
	KUNIT_EXPECT_EQ(test, fx->req.recovery.retry_left, 2u);
	fx->now += 1000;
	fx_ack(fx, P0, NAK(SHCA_NAK_PSN_SEQ));
	KUNIT_EXPECT_FALSE(test, fx_next(fx));
	fx_timeout(fx);
	KUNIT_EXPECT_EQ(test, fx->req.stats.timeouts, 1ull);
}

static void req_second_look_without_retries_is_the_end(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_req_attr attr;

	fx_req_attr(&attr);
	attr.retry_cnt = 0;
	fx_req_start(fx, &attr);
	fx_post(fx, OP_SEND, 8);
	fx_drain(fx);
	fx->req.recovery.hold_ns = fx->now + 500;
	fx_ack(fx, P0, NAK(SHCA_NAK_PSN_SEQ));
	fx_timeout(fx);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_RETRY_EXC_ERR);
	KUNIT_EXPECT_EQ(test, fx->wc.vendor_err, SHCA_VERR_SEQ_NAK);
}

static struct kunit_case ack_request_cases[] = {
	KUNIT_CASE_PARAM(req_before_a_local_that_waits_asks, behind_gen_params),
	KUNIT_CASE(req_before_nothing_does_not_ask),
	KUNIT_CASE(req_signalled_local_probes_about_what_is_before),
	KUNIT_CASE(req_signalled_local_alone_makes_nobody_ask),
	KUNIT_CASE(req_local_waits_for_reads_only_if_fenced),
	KUNIT_CASE(req_local_is_executed_once),
	KUNIT_CASE(req_probe_that_is_due_goes_with_a_request),
	KUNIT_CASE(req_timer_is_not_put_off_by_later_requests),
	KUNIT_CASE(req_timer_of_repetition_runs_from_its_first_packet),
	KUNIT_CASE(req_repetition_without_timeout_has_no_timer),
	KUNIT_CASE(req_quiet_time_is_not_put_off),
	KUNIT_CASE(req_rtt_is_of_the_first_question),
	KUNIT_CASE(req_quarter_of_the_window_asks),
	KUNIT_CASE(req_read_behind_a_full_window_leaves),
	KUNIT_CASE(req_error_ahead_makes_probe),
	KUNIT_CASE(req_full_ring_probes),
	KUNIT_CASE(req_probe_is_not_needed_while_packets_come_again),
	KUNIT_CASE(req_probe_that_could_not_leave_comes_again),
	KUNIT_CASE(req_first_packet_that_could_not_leave_has_no_psn),
	KUNIT_CASE(req_middle_packet_that_could_not_leave_goes_on),
	KUNIT_CASE(req_packet_that_could_not_leave_voids_its_own_ackreq),
	KUNIT_CASE(req_copy_that_could_not_leave_after_its_answer_is_void),
	KUNIT_CASE(req_copy_of_what_is_acknowledged_in_part_is_void),
	KUNIT_CASE(req_packet_that_could_not_leave_after_the_end_is_void),
	KUNIT_CASE(req_payload_of_the_oldest_that_is_gone_ends_at_once),
	KUNIT_CASE(req_rtt_of_what_could_not_leave_is_not_measured),
	KUNIT_CASE(req_question_that_could_not_leave_is_asked_anew),
	KUNIT_CASE(req_questions_that_could_not_leave_count_for_nothing),
	KUNIT_CASE(req_questions_that_could_not_leave_leave_the_oldest_unasked),
	KUNIT_CASE(req_copy_that_could_not_leave_makes_nothing_new),
	KUNIT_CASE(req_repetition_that_could_not_leave_keeps_its_timer),
	KUNIT_CASE(req_question_before_the_oldest_counts_for_nothing),
	KUNIT_CASE_PARAM(req_deadline_is_the_first_of_all, wait_gen_params),
	KUNIT_CASE(req_rate_is_of_who_has_something_to_send),
	KUNIT_CASE(req_rate_that_is_over_is_forgotten),
	KUNIT_CASE(req_quiet_time_that_is_over_is_forgotten),
	KUNIT_CASE(req_rnr_wait_that_is_over_is_forgotten),
	KUNIT_CASE(req_time_out_comes_though_the_link_is_full),
	KUNIT_CASE(req_time_out_waits_for_the_link_to_let_one_ask),
	KUNIT_CASE(req_second_look_goes_back_once),
	KUNIT_CASE(req_second_look_without_retries_is_the_end),
	{}
};

static struct kunit_suite ack_request_suite = {
	.name = "softhca_ack_request",
	.init = fx_init,
	.test_cases = ack_request_cases,
};

kunit_test_suites(&ack_request_suite);
