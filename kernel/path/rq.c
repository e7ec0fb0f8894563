// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The receive side: requests of the peer through the responder, responses to the wire, receive
 * requests from the ring, and their flushing.
 *
 * Timer: shca_rq.side.timer, for a full queue below, for the static rate, and for an
 * acknowledgement that waits for a reply (reply.h). shca_rq_wait() arms it for shca_reply.due,
 * and shca_rq_timer() lets the responder go on then. Softirq.
 */
#include "rq.h"

#include <linux/ktime.h>

#include "../base/compat.h"
#include "../base/counters.h"
#include "../base/dev.h"
#include "../base/trace.h"
#include "../core/opcode.h"
#include "../core/psn.h"
#include "../mem/delayed.h"
#include "../queue/cq.h"
#include "../queue/last_error.h"
#include "../queue/srq.h"
#include "../queue/xrc.h"
#include "../wire/fault_points.h"
#include "../wire/payload.h"
#include "../wire/peer.h"
#include "reply.h"
#include "side.h"
#include "sq.h"

/* Receive requests flushed in one critical section. */
#define SHCA_FLUSH_BUDGET	32
/* Packets of the backlog processed in one critical section. */
#define SHCA_BACKLOG_BUDGET	64

/* ---- responses ----------------------------------------------------------- */

/* Post to the CQ of the SRQ by number: it may have been destroyed, and then nothing completes. */
static bool shca_rq_post_xrc(struct shca_qp *qp, const struct shca_wc *wc)
{
	struct shca_xrc_target *target;
	bool ok = true;

	target = shca_xrc_find(qp->dev, qp->xrcd, wc->xrc_srqn);
	if (target) {
		ok = shca_cq_post(to_shca_cq(target->cq), qp->ibqp, qp->qpn,
				  wc);
		shca_xrc_put(target);
	}
	return ok;
}

bool shca_rq_complete(struct shca_qp *qp, const struct shca_wc *wc)
{
	bool ok;

	/* A receive completion says that all earlier data is in memory (IBTA o9-20). */
	if (static_branch_unlikely(&shca_manners_on) && qp->rq.delayed)
		shca_delayed_place(qp->rq.delayed);
	ok = qp->type == IB_QPT_XRC_TGT ?
	     shca_rq_post_xrc(qp, wc) :
	     shca_cq_post(qp->rq.cq, qp->ibqp, qp->qpn, wc);
	if (unlikely(wc->status) && wc->status != SHCA_WC_WR_FLUSH_ERR)
		shca_last_error_wc(&qp->rq.side, wc, qp->rq.resp.epsn);
	if (likely(ok))
		return true;
	shca_last_error_queue(&qp->rq.side, SHCA_ERROR_CQ);
	shca_resp_fail(&qp->rq.resp);
	shca_side_fatal(qp, &qp->rq.side);
	return false;
}

/* Let the responder continue at @at. The timer is never postponed: shca_rq_timer() re-arms it. */
static void shca_rq_wait(struct shca_qp *qp, u64 at)
{
	struct hrtimer *timer = &qp->rq.side.timer;

	lockdep_assert_held(&qp->rq.lock);
	WRITE_ONCE(qp->reply.due, at);
	if (!qp->dead && (!hrtimer_is_queued(timer) ||
			  hrtimer_get_expires(timer) > ns_to_ktime(at)))
		hrtimer_start(timer, ns_to_ktime(at), HRTIMER_MODE_ABS_SOFT);
}

void shca_rq_wait_below(struct shca_qp *qp)
{
	shca_rq_wait(qp, shca_tx_busy_until(&qp->rq.side.route, ktime_get_ns()));
}

bool shca_rq_unsend_ack(struct shca_qp *qp, const struct shca_pkt *pkt)
{
	bool is_ack = shca_opcode_info(pkt->opcode)->flags & SHCA_OPF_RESPONSE;
	struct shca_pkt last = { .opcode = SHCA_OP_ACK };
	struct shca_resp *resp = &qp->rq.resp;

	lockdep_assert_held(&qp->sq.lock);
	if (!is_ack && likely(!shca_reply_is_likely(&qp->reply)))
		return false;
	spin_lock(&qp->rq.lock);
	last.out_seq = resp->ack.seq;
	if (resp->ack.sent == SHCA_ACK_ACK)
		shca_resp_link_full(resp, &last);
	shca_rq_wait_below(qp);
	spin_unlock(&qp->rq.lock);
	return is_ack;
}

void shca_rq_refused(struct shca_qp *qp, const struct shca_pkt *pkt,
		     enum shca_mem_status status, struct shca_side_pending *pending)
{
	struct shca_resp_out out;

	shca_resp_gather_failed(&qp->rq.resp, pkt, status, &out);
	pending->events |= out.events;
	if (out.has_wc)
		shca_rq_complete(qp, &out.wc);
	else if (status != SHCA_MEM_RETRY)
		shca_last_error_packet(&qp->rq.side, pkt, SHCA_RX_ACCESS,
				       shca_mem_verr(status));
}

/* The responder resumes at @pkt: after a delay (full queue below), or by shca_rq_resume(). */
static void shca_rq_failed(struct shca_qp *qp, const struct shca_batch *batch,
			   const struct shca_pkt *pkt,
			   enum shca_mem_status status,
			   struct shca_side_pending *pending)
{
	if (shca_tx_found_full(batch, pkt)) {
		shca_resp_link_full(&qp->rq.resp, pkt);
		shca_rq_wait_below(qp);
		return;
	}
	shca_rq_refused(qp, pkt, status, pending);
	if (status == SHCA_MEM_RETRY && qp->rq.side.mem.starved)
		shca_rq_wait_below(qp);
}

static bool shca_rq_next(struct shca_qp *qp, u32 max_run, u64 now,
			 struct shca_pkt *pkt)
{
	struct shca_resp *resp = &qp->rq.resp;

	shca_resp_set_max_run(resp, max_run);
	if (!shca_resp_next(resp, now, pkt))
		return false;
	if (unlikely(shca_opcode_is_cnp(pkt->opcode)))
		shca_count(qp, TX_CNP);
	return true;
}

static const struct shca_side_ops shca_rq_ops;

/* Transmit owed responses. Return: whether the budget is used up. */
static bool shca_rq_respond(struct shca_qp *qp, u64 now,
			    struct shca_side_pending *pending)
{
	bool more;
	u64 at;

	lockdep_assert_held(&qp->rq.lock);
	WRITE_ONCE(qp->reply.due, 0);
	more = shca_side_transmit(qp, &qp->rq.side, &shca_rq_ops, now, pending);
	at = shca_resp_deadline(&qp->rq.resp);
	/* If @at has passed, a full queue below stopped transmission first, and has set a time. */
	if (unlikely(at > now))
		shca_rq_wait(qp, at);
	return more;
}

static void shca_rq_queue(struct shca_qp *qp)
{
	lockdep_assert_held(&qp->rq.lock);
	shca_side_queue(qp, &qp->rq.side);
}

static void shca_rq_judged(struct shca_qp *qp, const struct shca_pkt *pkt,
			   enum shca_verdict verdict, u16 vendor_err)
{
	shca_last_error_packet(&qp->rq.side, pkt, verdict, vendor_err);
	if (verdict == SHCA_RX_QKEY && qp->link->bad_key)
		qp->link->bad_key(qp->dev, pkt, true);
}

enum shca_verdict shca_rq_accept(struct shca_qp *qp, const struct shca_pkt *pkt,
				 u64 now, struct shca_side_pending *pending)
{
	struct shca_resp_out out __uninitialized;
	enum shca_verdict verdict;

	lockdep_assert_held(&qp->rq.lock);
	/* A work queue accepts any packet that its RSS QPs have passed. */
	if (unlikely(qp->wq)) {
		const struct shca_resp_attr attr = {
			.transport = pkt->opcode & SHCA_TRANSPORT_MASK,
			.qkey = pkt->deth.qkey,
		};

		shca_resp_modify(&qp->rq.resp, &attr,
				 SHCA_RESP_TRANSPORT | SHCA_RESP_QKEY);
	}
	if (static_branch_unlikely(&shca_manners_on) && qp->rq.delayed &&
	    shca_delayed_begin(qp->rq.delayed, pkt) && qp->rq.cq)
		shca_cq_place(qp->rq.cq);
	if (!shca_fault_is_on(qp->dev, BIT(SHCA_FAULT_RESPOND)) ||
	    !shca_fault_respond(qp, pkt, &out, &verdict))
		verdict = shca_resp_rx(&qp->rq.resp, pkt, now, &out);
	if (out.has_wc)
		shca_rq_complete(qp, &out.wc);
	if (unlikely(qp->tm.matched))
		shca_tm_begin(qp, out.rndv);
	shca_rq_xrc_drop(&qp->rq);
	pending->events |= out.events;
	shca_count_rx(qp, verdict);
	if (verdict == SHCA_RX_OK) {
		qp->rq.side.route.heard = true;
		shca_count_request(qp, pkt->opcode);
	} else if (!out.has_wc) {	/* otherwise shca_rq_complete() records the error */
		shca_rq_judged(qp, pkt, verdict, out.wc.vendor_err);
	}
	trace_shca_rx_verdict(qp->qpn, pkt, verdict);
	return verdict;
}

static void shca_rq_later(struct shca_qp *qp, const struct shca_pkt *pkt,
			  enum shca_verdict verdict, bool again)
{
	struct shca_rq *rq = &qp->rq;

	/* A request that waits for an answer to leave continues by shca_rq_finish(). */
	rq->behind = verdict == SHCA_RX_BUSY;
	/* A packet that waited behind another one has not drawn an RNR NAK yet. */
	if (!rq->behind &&
	    (!again || !shca_resp_said_not_yet(&rq->resp, pkt->psn)))
		shca_resp_not_yet(&rq->resp, pkt->psn);
}

/* The backlog is not empty. Return: whether @pkt must join it. */
static bool shca_rq_must_wait(struct shca_qp *qp, const struct shca_pkt *pkt,
			      u64 now, struct shca_side_pending *pending)
{
	struct shca_pkt_queue *backlog = &qp->rq.side.backlog;
	s32 behind;

	if (!shca_qp_is_reliable(qp) ||
	    shca_psn_diff(pkt->psn, shca_pkt_queue_last(backlog)->psn) > 0)
		return true;
	/* @pkt is in the backlog or was executed: a retransmission, or an ACK probe. */
	behind = shca_psn_diff(pkt->psn, shca_pkt_queue_first(backlog)->psn);
	if (!behind)
		shca_resp_not_yet(&qp->rq.resp, pkt->psn);
	else if (behind < 0)
		shca_rq_accept(qp, pkt, now, pending);
	return false;
}

static bool shca_rq_takes_run(const struct shca_qp *qp,
			      const struct shca_pkt *pkt)
{
	return shca_resp_takes_run(&qp->rq.resp, pkt) &&
	       !shca_fault_is_on(qp->dev, BIT(SHCA_FAULT_RESPOND));
}

static u32 shca_rq_expected(const struct shca_qp *qp)
{
	return qp->rq.resp.epsn;
}

static bool shca_rq_may_queue(struct shca_qp *qp, const struct shca_pkt *pkt,
			      u64 now)
{
	const struct shca_resp *resp = &qp->rq.resp;

	if (!(resp->attr.peer & SHCA_PEER_OOO))
		shca_peer_look_ahead(qp, now);
	return shca_resp_may_queue(resp, pkt);
}

static bool shca_rq_asked(const struct shca_qp *qp, const struct shca_pkt *pkt,
			  enum shca_verdict verdict, bool is_ahead, bool goes_on)
{
	return shca_resp_is_asked(&qp->rq.resp, pkt, verdict, is_ahead,
				  qp->rq.side.ooo.nr, goes_on);
}

void shca_rq_missing(struct shca_qp *qp, u32 psn, u32 cause, bool asks, u64 now)
{
	struct shca_resp *resp = &qp->rq.resp;

	if (resp->attr.peer & SHCA_PEER_OOO)
		shca_resp_gap(resp, psn, cause, asks);
}

static void
shca_rq_queue_ooo(struct shca_qp *qp, const struct shca_pkt *pkt,
		  enum shca_verdict verdict, u64 now, struct shca_side_pending *pending)
{
	shca_side_queue_ooo(qp, &qp->rq.side, &shca_rq_ops, pkt, verdict, now, pending);
}

static void
shca_rq_take_run(struct shca_qp *qp, const struct shca_pkt *pkt, u64 now,
		 struct shca_side_pending *pending)
{
	shca_side_take_run(qp, &qp->rq.side, &shca_rq_ops, pkt, now, pending);
}

static const struct shca_side_ops shca_rq_ops = {
	.next = shca_rq_next,
	.failed = shca_rq_failed,
	.accept = shca_rq_accept,
	.takes_run = shca_rq_takes_run,
	.take_run = shca_rq_take_run,
	.later = shca_rq_later,
	.must_wait = shca_rq_must_wait,
	.ahead = SHCA_RX_OUT_OF_SEQ,
	.queue = shca_rq_queue_ooo,
	.may_queue = shca_rq_may_queue,
	.expected = shca_rq_expected,
	.asked = shca_rq_asked,
	.missing = shca_rq_missing,
};

/* For SOFTHCA_LINT: report a first PSN other than rq_psn, until a request with rq_psn comes. */
static void shca_rq_established(struct shca_qp *qp, struct shca_side_pending *pending)
{
	const struct shca_resp *resp = &qp->rq.resp;

	if (pending->events & SHCA_EV_PSN)
		WRITE_ONCE(qp->status->first_psn,
			   resp->comm_est ? 0 : resp->first_psn | SHCA_QPS_FIRST_PSN);
	/* The specification has the event in RTR only. */
	if (qp->state != IB_QPS_RTR)
		pending->events &= ~SHCA_EV_COMM_EST;
}

void shca_rq_finish(struct shca_qp *qp, struct shca_side_pending *pending)
{
	lockdep_assert_held(&qp->rq.lock);
	/* The answer that the first queued packet waits for has left. */
	if (unlikely(qp->rq.behind) && shca_resp_has_room(&qp->rq.resp))
		shca_rq_queue(qp);
	if (unlikely(qp->rq.side.feeds))
		shca_rq_queue(qp);
	shca_side_finish(&qp->rq.side, qp->rq.resp.state == SHCA_SIDE_ERR &&
			 qp->state != IB_QPS_ERR, pending);
	if (unlikely(pending->events & (SHCA_EV_COMM_EST | SHCA_EV_PSN)))
		shca_rq_established(qp, pending);
}

void shca_rq_report(struct shca_qp *qp, const struct shca_side_pending *pending)
{
	if (qp->rq.srq)
		shca_srq_report(qp->rq.srq);
	shca_side_report(qp, pending);
}

void shca_rq_rx(struct shca_qp *qp, const struct shca_pkt *pkt, unsigned int nr,
		bool answer)
{
	struct shca_side_pending pending = {};
	struct shca_rq *rq = &qp->rq;
	u64 now, until;

	spin_lock(&rq->lock);
	now = ktime_get_ns();
	shca_side_take_all(qp, &rq->side, &shca_rq_ops, pkt, nr, now, &pending);
	if (answer && !rq->side.continuing) {
		until = shca_reply_until(qp, now);
		if (unlikely(until > now))
			shca_rq_wait(qp, until);
		else if (shca_rq_respond(qp, now, &pending))
			shca_rq_queue(qp);
	}
	shca_rq_finish(qp, &pending);
	spin_unlock(&rq->lock);
	shca_rq_report(qp, &pending);
}

void shca_rq_flush_acks(struct shca_qp *qp)
{
	struct shca_side_pending pending = {};

	spin_lock_bh(&qp->rq.lock);
	/* An acknowledgement reads no memory: there are no pending events. */
	if (shca_resp_flush_acks(&qp->rq.resp))
		shca_rq_respond(qp, ktime_get_ns(), &pending);
	spin_unlock_bh(&qp->rq.lock);
}

/* ---- flushing and continuing --------------------------------------------- */

/* Return: whether the budget is used up. */
static bool shca_rq_flush(struct shca_qp *qp)
{
	struct shca_rq *rq = &qp->rq;
	enum shca_recv_status status;
	struct shca_recv_wr wr;
	struct shca_wc wc;
	unsigned int i;

	lockdep_assert_held(&rq->lock);
	if (shca_resp_flush(&rq->resp, &wc))
		shca_rq_complete(qp, &wc);
	if (!rq->ring.entries)
		return false;	/* an SRQ's receive requests are not this QP's */
	for (i = 0; i < SHCA_FLUSH_BUDGET; i++) {
		status = shca_rq_fetch(&rq->side.mem, &wr);
		if (status == SHCA_RECV_EMPTY)
			return false;
		if (status == SHCA_RECV_BROKEN)
			continue;
		wc = (struct shca_wc){
			.wr_id = wr.wr_id,
			.status = SHCA_WC_WR_FLUSH_ERR,
			.opcode = SHCA_WC_RECV,
			.is_recv = true,
		};
		if (!shca_rq_complete(qp, &wc))
			return false;
	}
	return true;
}

void shca_rq_flush_all(struct shca_qp *qp)
{
	u32 rounds = qp->rq.ring.entries / SHCA_FLUSH_BUDGET + 1;
	bool more = true;

	/* Bounded, because a process may go on posting. */
	while (more && rounds--) {
		spin_lock_bh(&qp->rq.lock);
		more = shca_rq_flush(qp);
		spin_unlock_bh(&qp->rq.lock);
		cond_resched();
	}
}

SHCA_BH_HANDLER(shca_rq_continue)
{
	struct shca_qp *qp = container_of(bh, struct shca_qp, rq.side.bh);
	struct shca_rq *rq = &qp->rq;
	struct shca_side_pending pending = {};
	u64 now = ktime_get_ns();
	bool more;

	spin_lock_bh(&rq->lock);
	if (qp->dead) {
		spin_unlock_bh(&rq->lock);
		return;
	}
	rq->side.continuing = false;
	rq->behind = false;
	more = shca_side_run_backlog(qp, &rq->side, &shca_rq_ops, SHCA_BACKLOG_BUDGET,
				     now, &pending);
	more |= shca_rq_respond(qp, now, &pending);
	if (qp->state == IB_QPS_ERR)
		more |= shca_rq_flush(qp);
	if (more)
		shca_rq_queue(qp);
	shca_rq_finish(qp, &pending);
	/* The QP takes nothing from its SRQ or XRC domain any more (IBTA 11.6.3.2). */
	if ((rq->srq || qp->type == IB_QPT_XRC_TGT) &&
	    qp->state == IB_QPS_ERR && !rq->last_wqe) {
		rq->last_wqe = true;
		pending.events |= SHCA_EV_LAST_WQE;
	}
	spin_unlock_bh(&rq->lock);
	shca_rq_report(qp, &pending);
}

static enum hrtimer_restart shca_rq_timer(struct hrtimer *timer)
{
	struct shca_qp *qp = container_of(timer, struct shca_qp, rq.side.timer);
	u64 due;

	spin_lock_bh(&qp->rq.lock);
	due = qp->reply.due;
	if (due > ktime_get_ns()) {
		shca_rq_wait(qp, due);
	} else if (due && !qp->dead) {
		shca_reply_missed(qp);
		shca_bh_schedule(&qp->rq.side.bh);
	}
	spin_unlock_bh(&qp->rq.lock);
	return HRTIMER_NORESTART;
}

void shca_rq_kick(struct shca_qp *qp)
{
	spin_lock_bh(&qp->rq.lock);
	if (!qp->dead)
		shca_bh_schedule(&qp->rq.side.bh);
	spin_unlock_bh(&qp->rq.lock);
}

/* The memory that this side waits for was fetched, or cannot be had. */
static void shca_rq_resume(struct shca_qp *qp)
{
	struct shca_qp *peer = NULL;
	bool far;
	u32 qpn;

	spin_lock_bh(&qp->rq.lock);
	far = qp->rq.far_waits && !qp->dead;
	qp->rq.far_waits = false;
	qpn = qp->rq.resp.attr.dqpn;
	spin_unlock_bh(&qp->rq.lock);
	shca_rq_kick(qp);
	/* This may find another QP: a new one, or one of another namespace. No harm. */
	if (far)
		peer = shca_net_find_qp(qp->dev->snet, qpn);
	if (!peer)
		return;
	shca_sq_resume(peer);
	shca_qp_put(peer);
}

/* ---- posting by kernel consumers ------------------------------------------ */

int shca_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad_wr)
{
	struct shca_qp *qp = to_shca_qp(ibqp);
	struct shca_rq *rq = &qp->rq;
	int err;

	if (qp->is_user || rq->srq || READ_ONCE(qp->state) == IB_QPS_RESET) {
		*bad_wr = wr;
		return -EINVAL;
	}
	err = shca_recv_ring_post(&rq->ring, &rq->post_lock, wr, bad_wr);
	/* rq_prod before the flag: pairs with shca_qp_set_error_locked() (litmus: rq-flags). */
	smp_mb();
	if (READ_ONCE(qp->status->flags) & SHCA_QPS_ERR)
		shca_bh_schedule(&rq->side.bh);
	return err;
}

/* ---- lifetime ------------------------------------------------------------ */

void shca_rq_init(struct shca_qp *qp)
{
	spin_lock_init(&qp->rq.lock);
	spin_lock_init(&qp->rq.post_lock);
	shca_reply_init(&qp->reply);
	shca_bh_init(&qp->rq.side.bh, shca_rq_continue);
	shca_side_init(&qp->rq.side, qp, shca_rq_resume);
	hrtimer_setup(&qp->rq.side.timer, shca_rq_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_SOFT);
}

void shca_rq_stop(struct shca_qp *qp)
{
	shca_side_stop(&qp->rq.side);
	shca_delayed_end(qp->rq.delayed);
}
