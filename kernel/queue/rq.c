// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The receive side: requests of the peer through the responder, its responses
 * to the wire, receive requests from the ring, and their flushing.
 */
#include "rq.h"

#include <linux/ktime.h>

#include "../base/compat.h"
#include "../base/counters.h"
#include "../base/dev.h"
#include "../base/trace.h"
#include "../core/psn.h"
#include "cq.h"
#include "page_wait.h"
#include "payload.h"
#include "sq.h"
#include "srq.h"
#include "tx.h"
#include "xrc.h"

/* Requests flushed per hold of the lock. */
#define SHCA_FLUSH_BUDGET	32
/* Packets that have waited, likewise. */
#define SHCA_UNPARK_BUDGET	64

/* ---- receive requests ---------------------------------------------------- */

enum shca_recv_status shca_rq_fetch(void *ctx, struct shca_recv_wr *wr)
{
	struct shca_mem_ctx *mem = ctx;
	struct shca_qp *qp = mem->qp;

	if (qp->rq.xrc)
		return shca_srq_fetch(qp->rq.xrc->srq, wr);
	if (qp->rq.srq)
		return shca_srq_fetch(qp->rq.srq, wr);
	return shca_recv_ring_fetch(qp->dev, &qp->rq.ring, wr);
}

struct ib_pd *shca_rq_pd(const struct shca_qp *qp)
{
	if (qp->rq.xrc)
		return qp->rq.xrc->pd;
	return qp->rq.srq ? qp->rq.srq->ibsrq.pd : qp->pd;
}

/* ---- responses ----------------------------------------------------------- */

/*
 * The SRQ's number tells whose completion it is: the request may have been
 * taken from it a while ago.  One that has gone completes nothing.
 */
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
	bool ok = qp->type == IB_QPT_XRC_TGT ?
		  shca_rq_post_xrc(qp, wc) :
		  shca_cq_post(qp->rq.cq, qp->ibqp, qp->qpn, wc);

	if (likely(ok))
		return true;
	shca_resp_fail(&qp->rq.resp);
	/* Told once: what is flushed after that does not fit either. */
	if (qp->state != IB_QPS_ERR)
		qp->rq.fatal = true;
	return false;
}

/* The queue below is full: continue in a moment. */
static void shca_rq_wait(struct shca_qp *qp)
{
	u64 at;

	lockdep_assert_held(&qp->rq.lock);
	if (qp->dead)
		return;
	at = shca_tx_busy_until(&qp->rq.route, ktime_get_ns());
	hrtimer_start(&qp->rq.timer, ns_to_ktime(at),
		      HRTIMER_MODE_ABS_SOFT);
}

void shca_rq_refused(struct shca_qp *qp, const struct shca_pkt *pkt,
		     enum shca_mem_status status, struct shca_rq_news *news)
{
	struct shca_resp_out out;

	shca_resp_gather_failed(&qp->rq.resp, pkt, status, &out);
	news->events |= out.events;
	if (out.has_wc)
		shca_rq_complete(qp, &out.wc);
}

/*
 * The responder resumes at @pkt: a bit later, when the queue below is full; when its
 * memory is there, by shca_rq_kick().
 */
static void shca_rq_failed(struct shca_qp *qp, const struct shca_batch *batch,
			   const struct shca_pkt *pkt,
			   enum shca_mem_status status,
			   struct shca_rq_news *news)
{
	if (shca_tx_found_full(batch, pkt)) {
		shca_resp_link_full(&qp->rq.resp, pkt);
		shca_rq_wait(qp);
		return;
	}
	shca_rq_refused(qp, pkt, status, news);
	if (status == SHCA_MEM_RETRY && qp->rq.mem.starved)
		shca_rq_wait(qp);
}

/* A process's SRQ, whose events only wake up who reads them. */
static void shca_rq_xrc_drop(struct shca_rq *rq)
{
	if (!rq->xrc)
		return;
	shca_srq_report(rq->xrc->srq);
	shca_xrc_put(rq->xrc);
	rq->xrc = NULL;
}

/* Transmit what the responder owes. Return: whether the budget ended it. */
static bool shca_rq_respond(struct shca_qp *qp, u64 now,
			    struct shca_rq_news *news)
{
	struct shca_batch batch __uninitialized;
	struct shca_pkt pkt __uninitialized;
	unsigned int budget = SHCA_TX_PKTS;
	struct shca_rq *rq = &qp->rq;
	const struct shca_pkt *failed;
	enum shca_mem_status status;
	u16 pkey = shca_qp_pkey(qp);
	bool wait = false;

	lockdep_assert_held(&rq->lock);
	shca_tx_begin(&batch, &rq->mem, &rq->route);
	while (budget && batch.handed < SHCA_TX_SKBS) {
		shca_resp_set_burst(&rq->resp, shca_tx_burst(&batch));
		if (!shca_resp_next(&rq->resp, now, &pkt))
			break;
		budget -= min(pkt.span + 1, budget);
		pkt.pkey = pkey;
		if (unlikely(pkt.opcode == SHCA_OPCODE_CNP))
			shca_count(qp, TX_CNP);
		status = shca_tx_add(&batch, &pkt, &failed);
		if (likely(status == SHCA_MEM_OK))
			continue;
		shca_rq_failed(qp, &batch, failed, status, news);
		wait = status == SHCA_MEM_RETRY;
		if (wait)
			break;
	}
	/* What was built before the packet that has to wait leaves. */
	status = shca_tx_end(&batch, &failed);
	if (status != SHCA_MEM_OK) {
		shca_rq_failed(qp, &batch, failed, status, news);
		wait = true;
	}
	return !wait && (!budget || batch.handed >= SHCA_TX_SKBS);
}

static void shca_rq_queue(struct shca_qp *qp)
{
	lockdep_assert_held(&qp->rq.lock);
	if (qp->dead)
		return;
	qp->rq.continuing = true;
	shca_bh_schedule(&qp->rq.bh);
}

bool shca_rq_xrc_select(void *ctx, u32 srqn)
{
	struct shca_qp *qp = ((struct shca_mem_ctx *)ctx)->qp;

	lockdep_assert_held(&qp->rq.lock);
	shca_rq_xrc_drop(&qp->rq);
	qp->rq.xrc = shca_xrc_find(qp->dev, qp->xrcd, srqn);
	return qp->rq.xrc;
}

enum shca_verdict shca_rq_accept(struct shca_qp *qp, const struct shca_pkt *pkt,
				 u64 now, struct shca_rq_news *news)
{
	struct shca_resp_out out __uninitialized;
	enum shca_verdict verdict;

	lockdep_assert_held(&qp->rq.lock);
	/* A work queue takes from QPs of any type what they have let through. */
	if (unlikely(qp->wq)) {
		const struct shca_resp_attr attr = {
			.transport = pkt->opcode & SHCA_TRANSPORT_MASK,
			.qkey = pkt->deth.qkey,
		};

		shca_resp_modify(&qp->rq.resp, &attr,
				 SHCA_RESP_TRANSPORT | SHCA_RESP_QKEY);
	}
	verdict = shca_resp_rx(&qp->rq.resp, pkt, now, &out);
	if (out.has_wc)
		shca_rq_complete(qp, &out.wc);
	if (unlikely(qp->tm.matched))
		shca_tm_begin(qp, out.rndv);
	shca_rq_xrc_drop(&qp->rq);
	news->events |= out.events;
	shca_count_rx(qp, verdict);
	if (verdict == SHCA_RX_OK)
		shca_count_request(qp, pkt->opcode);
	trace_shca_rx_verdict(qp->qpn, pkt, verdict);
	return verdict;
}

/* Return: whether @pkt, which was not waiting, has to. */
static bool shca_rq_is_later(struct shca_rq *rq, enum shca_verdict verdict)
{
	if (likely(!shca_rx_is_later(verdict)))
		return false;
	/* Nobody comes back to it but who sends the answers: shca_rq_settle(). */
	rq->behind = verdict == SHCA_RX_BUSY;
	return true;
}

/* Others wait already. Return: whether @pkt, too, has to. */
static bool shca_rq_must_wait(struct shca_qp *qp, const struct shca_pkt *pkt,
			      u64 now, struct shca_rq_news *news)
{
	struct shca_park *park = &qp->rq.park;
	s32 behind;

	if (!shca_qp_is_reliable(qp) ||
	    shca_psn_diff(pkt->psn, shca_park_last(park)->psn) > 0)
		return true;
	/* It does, or has been executed: the peer has sent it again, or probes. */
	behind = shca_psn_diff(pkt->psn, shca_park_first(park)->psn);
	if (!behind)
		shca_resp_not_yet(&qp->rq.resp, pkt->psn);
	else if (behind < 0)
		shca_rq_accept(qp, pkt, now, news);
	return false;
}

/*
 * A packet from the wire waits for memory that is not present, or for an answer to
 * leave.  (Inline where it
 * is called twice: most are small, and go the way of those.)
 */
static __always_inline void
shca_rq_take(struct shca_qp *qp, const struct shca_pkt *pkt, u64 now,
	     struct shca_rq_news *news)
{
	struct shca_rq *rq = &qp->rq;

	if (likely(!rq->park.nr)) {
		if (likely(!shca_rq_is_later(rq, shca_rq_accept(qp, pkt, now,
								news))))
			return;
		if (!rq->behind)
			shca_resp_not_yet(&rq->resp, pkt->psn);
	} else if (!shca_rq_must_wait(qp, pkt, now, news)) {
		return;
	}
	if (!shca_park_add(&rq->mem, &rq->park, pkt))
		shca_count(qp, RX_BACKLOG);
}

/*
 * Packets that differ in their PSN only, as one where all of them are as expected
 * and their memory is there.
 */
static noinline void
shca_rq_take_run(struct shca_qp *qp, const struct shca_pkt *pkt, u64 now,
		 struct shca_rq_news *news)
{
	struct shca_rq *rq = &qp->rq;
	struct shca_pkt part;
	u32 i;

	if (likely(!rq->park.nr && shca_resp_takes_run(&rq->resp, pkt)) &&
	    likely(!shca_rx_is_later(shca_rq_accept(qp, pkt, now, news))))
		return;
	for (i = 0; i <= pkt->span; i++) {
		part = shca_pkt_part(pkt, i);
		shca_rq_take(qp, &part, now, news);
	}
}

/* Return: whether the budget ended it. */
static bool shca_rq_unpark(struct shca_qp *qp, u64 now,
			   struct shca_rq_news *news)
{
	unsigned int budget = SHCA_UNPARK_BUDGET;
	struct shca_rq *rq = &qp->rq;
	const struct shca_pkt *pkt;

	lockdep_assert_held(&rq->lock);
	rq->behind = false;
	while (budget && (pkt = shca_park_first(&rq->park))) {
		if (shca_rq_is_later(rq, shca_rq_accept(qp, pkt, now, news)))
			return false;
		shca_park_drop(&rq->park);
		budget--;
	}
	return !budget;
}

void shca_rq_settle(struct shca_qp *qp, struct shca_rq_news *news)
{
	lockdep_assert_held(&qp->rq.lock);
	/* The answer that the first parked packet waits for has left. */
	if (unlikely(qp->rq.behind) && shca_resp_has_room(&qp->rq.resp))
		shca_rq_queue(qp);
	if (qp->rq.resp.state == SHCA_SIDE_ERR && qp->state != IB_QPS_ERR)
		news->failed = true;
	if (qp->rq.fatal)
		news->events |= SHCA_EV_FATAL;
	qp->rq.fatal = false;
	/* The specification has it between RTR and RTS only. */
	if (qp->state != IB_QPS_RTR)
		news->events &= ~SHCA_EV_COMM_EST;
}

void shca_rq_report(struct shca_qp *qp, const struct shca_rq_news *news)
{
	if (qp->rq.srq)
		shca_srq_report(qp->rq.srq);
	if (news->events & SHCA_EV_COMM_EST)
		shca_qp_event(qp, IB_EVENT_COMM_EST);
	if (news->failed)
		shca_qp_enter_error(qp, false);
	if (news->events & SHCA_EV_REQ_ERR)
		shca_qp_event(qp, IB_EVENT_QP_REQ_ERR);
	if (news->events & SHCA_EV_ACCESS_ERR)
		shca_qp_event(qp, IB_EVENT_QP_ACCESS_ERR);
	if (news->events & SHCA_EV_FATAL)
		shca_qp_event(qp, IB_EVENT_QP_FATAL);
}

void shca_rq_rx(struct shca_qp *qp, const struct shca_pkt *pkt, unsigned int nr,
		bool answer)
{
	struct shca_rq_news news = {};
	struct shca_rq *rq = &qp->rq;
	u64 now;

	spin_lock(&rq->lock);
	now = ktime_get_ns();
	for (; nr; nr--, pkt++) {
		if (pkt->span)
			shca_rq_take_run(qp, pkt, now, &news);
		else
			shca_rq_take(qp, pkt, now, &news);
	}
	if (answer && !rq->continuing && shca_rq_respond(qp, now, &news))
		shca_rq_queue(qp);
	shca_rq_settle(qp, &news);
	spin_unlock(&rq->lock);
	shca_rq_report(qp, &news);
}

void shca_rq_flush_acks(struct shca_qp *qp)
{
	struct shca_rq_news news = {};

	spin_lock_bh(&qp->rq.lock);
	/* One packet without payload: there can be no news. */
	if (shca_resp_flush_acks(&qp->rq.resp))
		shca_rq_respond(qp, ktime_get_ns(), &news);
	spin_unlock_bh(&qp->rq.lock);
}

/* ---- flushing and continuing --------------------------------------------- */

/* Return: whether the budget ended it. */
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
		return false;	/* what is posted elsewhere is not this QP's */
	for (i = 0; i < SHCA_FLUSH_BUDGET; i++) {
		status = shca_rq_fetch(&rq->mem, &wr);
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

	/* So often at most: a process may go on posting. */
	while (more && rounds--) {
		spin_lock_bh(&qp->rq.lock);
		more = shca_rq_flush(qp);
		spin_unlock_bh(&qp->rq.lock);
		cond_resched();
	}
}

SHCA_BH_HANDLER(shca_rq_continue)
{
	struct shca_qp *qp = container_of(bh, struct shca_qp, rq.bh);
	struct shca_rq *rq = &qp->rq;
	struct shca_rq_news news = {};
	u64 now = ktime_get_ns();
	bool more, last_wqe;

	spin_lock_bh(&rq->lock);
	if (qp->dead) {
		spin_unlock_bh(&rq->lock);
		return;
	}
	rq->continuing = false;
	more = shca_rq_unpark(qp, now, &news);
	more |= shca_rq_respond(qp, now, &news);
	if (qp->state == IB_QPS_ERR)
		more |= shca_rq_flush(qp);
	if (more)
		shca_rq_queue(qp);
	shca_rq_settle(qp, &news);
	/* In error it takes nothing from the SRQ any more (IBTA 11.6.3.2), nor, as
	 * a responder of XRC, from any of its domain.
	 */
	last_wqe = (rq->srq || qp->type == IB_QPT_XRC_TGT) &&
		   qp->state == IB_QPS_ERR && !rq->last_wqe;
	rq->last_wqe |= last_wqe;
	spin_unlock_bh(&rq->lock);
	shca_rq_report(qp, &news);
	if (last_wqe)
		shca_qp_event(qp, IB_EVENT_QP_LAST_WQE_REACHED);
}

static enum hrtimer_restart shca_rq_timer(struct hrtimer *timer)
{
	shca_rq_kick(container_of(timer, struct shca_qp, rq.timer));
	return HRTIMER_NORESTART;
}

void shca_rq_kick(struct shca_qp *qp)
{
	spin_lock_bh(&qp->rq.lock);
	if (!qp->dead)
		shca_bh_schedule(&qp->rq.bh);
	spin_unlock_bh(&qp->rq.lock);
}

/* Memory that the side has asked for is there, or cannot be had. */
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
	/* One in another namespace, or of a later life, is not the one: no harm. */
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
	unsigned long flags;
	int err;

	if (qp->is_user || rq->srq || READ_ONCE(qp->state) == IB_QPS_RESET) {
		*bad_wr = wr;
		return -EINVAL;
	}
	spin_lock_irqsave(&rq->post_lock, flags);
	err = shca_recv_ring_write(&rq->ring, wr, bad_wr);
	spin_unlock_irqrestore(&rq->post_lock, flags);
	/* Pairs with shca_qp_enter_error(): the flag set before it looks at
	 * rq_prod, rq_prod stored before we look at the flag.
	 */
	smp_mb();
	if (READ_ONCE(qp->status->flags) & SHCA_QPS_ERR)
		shca_bh_schedule(&rq->bh);
	return err;
}

/* ---- lifetime ------------------------------------------------------------ */

void shca_rq_init(struct shca_qp *qp)
{
	spin_lock_init(&qp->rq.lock);
	qp->rq.rps.cpu = -1;
	spin_lock_init(&qp->rq.post_lock);
	shca_bh_init(&qp->rq.bh, shca_rq_continue);
	shca_mem_ctx_init(&qp->rq.mem, qp, shca_rq_resume);
	hrtimer_setup(&qp->rq.timer, shca_rq_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_SOFT);
}

void shca_rq_stop(struct shca_qp *qp)
{
	/* @dead is set: none is started again once cancelled. */
	shca_mem_ctx_stop(&qp->rq.mem);
	hrtimer_cancel(&qp->rq.timer);
	shca_bh_cancel(&qp->rq.bh);
	shca_route_drop(&qp->rq.route);
}
