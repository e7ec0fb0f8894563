// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Asynchronous events of a QP: see qp_event.h. */
#include "qp_event.h"

#include "../base/dev.h"
#include "../base/trace.h"

/* A work queue has only one kind of event. */
static void shca_qp_tell(struct shca_events *events, enum ib_event_type type)
{
	struct shca_qp *qp = container_of(events, struct shca_qp, events);
	struct ib_event ev = { .device = &qp->dev->ibdev, .event = type };

	if (qp->wq) {
		ev.event = IB_EVENT_WQ_FATAL;
		ev.element.wq = &qp->wq->ibwq;
		qp->wq->ibwq.event_handler(&ev, qp->wq->ibwq.wq_context);
	} else {
		ev.element.qp = qp->ibqp;
		qp->ibqp->event_handler(&ev, qp->ibqp->qp_context);
	}
}

void shca_qp_event(struct shca_qp *qp, enum ib_event_type event)
{
	trace_shca_event(qp->qpn, event);
	if (qp->wq ? event == IB_EVENT_QP_FATAL : !!qp->ibqp->event_handler)
		shca_event(&qp->events, event);
}

void shca_qp_events_init(struct shca_qp *qp, bool is_user)
{
	shca_events_init(&qp->events, is_user, SHCA_EVENT_GAP_NS, shca_qp_tell);
}
