// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* What both sides of a QP share outside of the data path: see side.h. */
#include "side.h"

#include "../queue/cq.h"
#include "../queue/qp_event.h"
#include "qp_error.h"

/* Completions are visible before the event that the QP is drained. */
static void shca_side_show(struct shca_qp *qp)
{
	if (qp->rq.cq)
		shca_cq_show(qp->rq.cq);
	if (qp->sq.cq && qp->sq.cq != qp->rq.cq)
		shca_cq_show(qp->sq.cq);
}

void shca_side_tell(struct shca_qp *qp, const struct shca_side_pending *pending)
{
	static const struct {
		u32 event;
		enum ib_event_type type;
	} rows[] = {
		{ SHCA_EV_REQ_ERR, IB_EVENT_QP_REQ_ERR },
		{ SHCA_EV_ACCESS_ERR, IB_EVENT_QP_ACCESS_ERR },
		{ SHCA_EV_FATAL, IB_EVENT_QP_FATAL },
		{ SHCA_EV_SQ_DRAINED, IB_EVENT_SQ_DRAINED },
		{ SHCA_EV_LAST_WQE, IB_EVENT_QP_LAST_WQE_REACHED },
		{ SHCA_EV_PATH_MIG, IB_EVENT_PATH_MIG },
	};
	int i;

	if (pending->events & SHCA_EV_COMM_EST)
		shca_qp_event(qp, IB_EVENT_COMM_EST);
	/* The events below come after the change of state that they report. */
	if (pending->failed)
		shca_qp_enter_error(qp, pending->events & SHCA_EV_FATAL);
	if (pending->events & (SHCA_EV_SQ_DRAINED | SHCA_EV_LAST_WQE))
		shca_side_show(qp);
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		if (pending->events & rows[i].event)
			shca_qp_event(qp, rows[i].type);
}

void shca_side_init(struct shca_side *side, struct shca_qp *qp,
		    void (*resume)(struct shca_qp *qp))
{
	shca_mem_ctx_init(&side->mem, qp, resume);
}

void shca_side_purge(struct shca_side *side, struct list_head *lost)
{
	shca_pkt_queue_take(&side->backlog, lost);
	shca_pkt_queue_take(&side->ooo, lost);
	side->feeds = false;
}

void shca_side_stop(struct shca_side *side)
{
	/* @dead is set, so nothing that is cancelled is started again. */
	shca_mem_ctx_stop(&side->mem);
	hrtimer_cancel(&side->timer);
	shca_bh_cancel(&side->bh);
	shca_route_drop(&side->route);
}
