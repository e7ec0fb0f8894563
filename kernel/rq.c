// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The receive side: requests of the peer through the responder, its responses
 * to the wire, receive requests from the ring, and their flushing.
 */
#include "rq.h"

#include <linux/ktime.h>

#include "compat.h"
#include "counters.h"
#include "cq.h"
#include "dev.h"
#include "mem.h"
#include "trace.h"
#include "tx.h"

/* Response packets, or flushed requests, per hold of the lock. */
#define SHCA_RQ_BUDGET	32

/* ---- receive requests ---------------------------------------------------- */

enum shca_recv_status shca_rq_fetch(void *ctx, struct shca_recv_wr *wr)
{
	struct shca_qp *qp = ctx;
	struct shca_rq *rq = &qp->rq;
	struct shca_recv_wqe wqe;
	const void *slot;
	u64 length = 0;
	u32 prod, i;

	/* Pairs with the provider's release of rq_prod after the slots. */
	prod = smp_load_acquire(&qp->index->rq_prod);
	if (prod == rq->fetched)
		return SHCA_RECV_EMPTY;
	wr->wr_id = 0;
	wr->num_sge = 0;
	wr->length = 0;
	if (prod - rq->fetched > rq->entries) {
		/* Once: from here on the ring counts as empty. */
		shca_count(qp->dev, BAD_RING);
		WRITE_ONCE(qp->index->rq_prod, rq->fetched);
		return SHCA_RECV_BAD;
	}
	slot = rq->slots + (size_t)(rq->fetched & (rq->entries - 1)) *
	       rq->stride;
	memcpy(&wqe, slot, sizeof(wqe));
	barrier();	/* @wqe is a copy, not re-read from the slot */
	wr->wr_id = wqe.wr_id;
	if (wqe.num_sge <= rq->max_sge && !wqe.reserved) {
		wr->num_sge = wqe.num_sge;
		memcpy(wr->sge, slot + sizeof(wqe),
		       wr->num_sge * sizeof(wr->sge[0]));
	}
	for (i = 0; i < wr->num_sge; i++)
		length += wr->sge[i].length;
	wr->length = min_t(u64, length, SHCA_MAX_MSG);
	rq->fetched++;
	/* The slot may be written anew: our reads are done. */
	smp_store_release(&qp->status->rq_cons, rq->fetched);
	return wr->num_sge == wqe.num_sge ? SHCA_RECV_OK : SHCA_RECV_BAD;
}

/* ---- responses ----------------------------------------------------------- */

/* Return: false when the CQ overflowed. */
static bool shca_rq_complete(struct shca_qp *qp, const struct shca_wc *wc)
{
	if (likely(shca_cq_post(qp->rq.cq, qp->ibqp, qp->qpn, wc)))
		return true;
	shca_resp_fail(&qp->rq.resp);
	return false;
}

/* The queue below is full: continue in a moment. */
static void shca_rq_wait(struct shca_qp *qp)
{
	if (!qp->dead)
		hrtimer_start(&qp->rq.timer, ns_to_ktime(SHCA_BUSY_NS),
			      HRTIMER_MODE_REL_SOFT);
}

/* Transmit what the responder owes. Return: whether the budget ended it. */
static bool shca_rq_respond(struct shca_qp *qp, u32 *events)
{
	unsigned int budget = SHCA_RQ_BUDGET;
	struct shca_rq *rq = &qp->rq;
	enum shca_mem_status status;
	struct shca_resp_out out;
	struct shca_pkt pkt;

	lockdep_assert_held(&rq->lock);
	while (shca_resp_next(&rq->resp, ktime_get_ns(), &pkt)) {
		status = shca_tx(qp, &rq->route, &pkt);
		if (unlikely(status != SHCA_MEM_OK)) {
			shca_resp_gather_failed(&rq->resp, &pkt, status, &out);
			if (status == SHCA_MEM_RETRY) {
				shca_rq_wait(qp);
				return false;
			}
			*events |= out.events;
			if (out.has_wc)
				shca_rq_complete(qp, &out.wc);
		}
		if (!--budget)
			return true;
	}
	return false;
}

static void shca_rq_report(struct shca_qp *qp, u32 events, bool failed)
{
	if (events & SHCA_EV_COMM_EST)
		shca_qp_event(qp, IB_EVENT_COMM_EST);
	if (failed)
		shca_qp_enter_error(qp);
	if (events & SHCA_EV_REQ_ERR)
		shca_qp_event(qp, IB_EVENT_QP_REQ_ERR);
	if (events & SHCA_EV_ACCESS_ERR)
		shca_qp_event(qp, IB_EVENT_QP_ACCESS_ERR);
	if (events & SHCA_EV_FATAL)
		shca_qp_event(qp, IB_EVENT_QP_FATAL);
}

void shca_rq_rx(struct shca_qp *qp, const struct shca_pkt *pkt)
{
	struct shca_rq *rq = &qp->rq;
	struct shca_resp_out out;
	enum shca_rx verdict;
	bool failed;

	spin_lock(&rq->lock);
	verdict = shca_resp_rx(&rq->resp, pkt, ktime_get_ns(), &out);
	if (out.has_wc)
		shca_rq_complete(qp, &out.wc);
	if (shca_rq_respond(qp, &out.events) && !qp->dead)
		shca_bh_schedule(&rq->bh);
	failed = rq->resp.state == SHCA_SIDE_ERR && qp->state != IB_QPS_ERR;
	/* The specification has it between RTR and RTS only. */
	if (qp->state != IB_QPS_RTR)
		out.events &= ~SHCA_EV_COMM_EST;
	spin_unlock(&rq->lock);
	shca_count_rx(qp->dev, verdict);
	trace_shca_rx_verdict(qp->qpn, pkt, verdict);
	shca_rq_report(qp, out.events, failed);
}

/* ---- flushing and continuing --------------------------------------------- */

/* Return: whether the budget ended it. */
static bool shca_rq_flush(struct shca_qp *qp)
{
	struct shca_rq *rq = &qp->rq;
	struct shca_recv_wr wr;
	struct shca_wc wc;
	unsigned int i;

	lockdep_assert_held(&rq->lock);
	if (shca_resp_flush(&rq->resp, &wc))
		shca_rq_complete(qp, &wc);
	for (i = 0; i < SHCA_RQ_BUDGET; i++) {
		if (shca_rq_fetch(qp, &wr) == SHCA_RECV_EMPTY)
			return false;
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

SHCA_BH_HANDLER(shca_rq_continue)
{
	struct shca_qp *qp = container_of(bh, struct shca_qp, rq.bh);
	struct shca_rq *rq = &qp->rq;
	bool more, failed;
	u32 events = 0;

	spin_lock_bh(&rq->lock);
	if (qp->dead) {
		spin_unlock_bh(&rq->lock);
		return;
	}
	more = shca_rq_respond(qp, &events);
	if (qp->state == IB_QPS_ERR)
		more |= shca_rq_flush(qp);
	if (more)
		shca_bh_schedule(&rq->bh);
	failed = rq->resp.state == SHCA_SIDE_ERR && qp->state != IB_QPS_ERR;
	spin_unlock_bh(&rq->lock);
	shca_rq_report(qp, events, failed);
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

/* ---- posting by kernel consumers ------------------------------------------ */

static int shca_rq_write(struct shca_rq *rq, const struct ib_recv_wr *wr,
			 u32 cons)
{
	struct shca_recv_wqe *wqe;
	struct shca_sge *sge;
	int i;

	if (rq->prod - cons >= rq->max_wr)
		return -ENOMEM;
	if (wr->num_sge > rq->max_sge || wr->num_sge < 0)
		return -EINVAL;
	wqe = rq->slots + (size_t)(rq->prod & (rq->entries - 1)) * rq->stride;
	wqe->wr_id = wr->wr_id;
	wqe->num_sge = wr->num_sge;
	wqe->reserved = 0;
	sge = (struct shca_sge *)(wqe + 1);
	for (i = 0; i < wr->num_sge; i++, sge++) {
		sge->addr = wr->sg_list[i].addr;
		sge->length = wr->sg_list[i].length;
		sge->lkey = wr->sg_list[i].lkey;
	}
	rq->prod++;
	return 0;
}

int shca_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad_wr)
{
	struct shca_qp *qp = to_shca_qp(ibqp);
	struct shca_rq *rq = &qp->rq;
	unsigned long flags;
	int err = 0;

	if (qp->is_user || READ_ONCE(qp->state) == IB_QPS_RESET) {
		*bad_wr = wr;
		return -EINVAL;
	}
	spin_lock_irqsave(&rq->post_lock, flags);
	for (; wr && !err; wr = err ? wr : wr->next)
		/* Pairs with the release in shca_rq_fetch(). */
		err = shca_rq_write(rq, wr,
				    smp_load_acquire(&qp->status->rq_cons));
	if (err)
		*bad_wr = wr;
	smp_store_release(&qp->index->rq_prod, rq->prod);
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
	spin_lock_init(&qp->rq.post_lock);
	shca_bh_init(&qp->rq.bh, shca_rq_continue);
	hrtimer_setup(&qp->rq.timer, shca_rq_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
}

void shca_rq_stop(struct shca_qp *qp)
{
	/* @dead is set: neither is started again once cancelled. */
	hrtimer_cancel(&qp->rq.timer);
	shca_bh_cancel(&qp->rq.bh);
	shca_route_drop(&qp->rq.route);
}
