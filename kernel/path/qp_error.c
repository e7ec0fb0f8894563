// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* A QP goes to the error state: see qp_error.h. */
#include "qp_error.h"

#include "../base/trace.h"
#include "../queue/stream.h"
#include "../wire/pkt_queue.h"
#include "rq.h"

void shca_qp_unlock(struct shca_qp *qp)
{
	LIST_HEAD(lost);

	list_splice_init(&qp->lost, &lost);
	spin_unlock(&qp->rq.lock);
	spin_unlock_bh(&qp->sq.lock);
	shca_pkt_queue_free(&lost);
}

void shca_qp_set_error_locked(struct shca_qp *qp)
{
	lockdep_assert_held(&qp->sq.lock);
	lockdep_assert_held(&qp->rq.lock);
	if (qp->dead || qp->state == IB_QPS_ERR)
		return;
	trace_shca_state(&qp->dev->ibdev, qp->qpn, qp->state, IB_QPS_ERR);
	WRITE_ONCE(qp->state, IB_QPS_ERR);
	shca_req_fail(&qp->sq.req);
	shca_resp_fail(&qp->rq.resp);
	/* Nothing will process out-of-order packets any more. */
	shca_pkt_queue_take(&qp->sq.side.ooo, &qp->lost);
	shca_pkt_queue_take(&qp->rq.side.ooo, &qp->lost);
	qp->sq.drain_event = false;
	WRITE_ONCE(qp->status->flags, SHCA_QPS_ERR);
	shca_stream_stop(qp);
	/*
	 * Set the flag before the flush reads rq_prod: pairs with the barrier of post_recv,
	 * here and in the provider, between rq_prod and the flag (litmus: rq-flags). Likewise
	 * sq_doorbell and sq_prod (litmus: sq-doorbell).
	 */
	smp_mb();
	shca_bh_schedule(&qp->sq.side.bh);
	shca_bh_schedule(&qp->rq.side.bh);
}

/*
 * Only the send queue of an unreliable QP stops when a request fails (IBTA 10.3.1.7), but a
 * failure of the queue itself ends the QP.
 */
static void shca_qp_send_failed_locked(struct shca_qp *qp, bool fatal)
{
	if (shca_qp_is_reliable(qp) || fatal ||
	    qp->state != IB_QPS_RTS) {
		if (qp->state != IB_QPS_SQE || fatal)
			shca_qp_set_error_locked(qp);
		return;
	}
	trace_shca_state(&qp->dev->ibdev, qp->qpn, qp->state, IB_QPS_SQE);
	WRITE_ONCE(qp->state, IB_QPS_SQE);
	shca_bh_schedule(&qp->sq.side.bh);
}

void shca_qp_enter_error(struct shca_qp *qp, bool fatal)
{
	/* Send an acknowledgement that waits for a reply. */
	if (READ_ONCE(qp->reply.due))
		shca_rq_flush_acks(qp);
	spin_lock_bh(&qp->sq.lock);
	spin_lock(&qp->rq.lock);
	/* The QP may have been reset since the side failed. */
	if (qp->rq.resp.state == SHCA_SIDE_ERR)
		shca_qp_set_error_locked(qp);
	else if (qp->sq.req.state == SHCA_SIDE_ERR)
		shca_qp_send_failed_locked(qp, fatal);
	shca_qp_unlock(qp);
}
