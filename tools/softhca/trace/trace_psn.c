// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * PSNs, counted from the first request of each direction: #0, #1, ... A reader can compare
 * these, and a PSN begins anywhere.
 */
#include "trace_op.h"

#include <stdlib.h>
#include <string.h>

/* The QP whose requests the event's PSN counts; -1: nobody is known */
static int requester_of(const struct trace *t, const struct trace_event *e)
{
	const struct trace_conn *c = e->conn < 0 ? NULL : &t->conn[e->conn];
	bool answer = op_is_answer(e->number);
	int other = e->peer;

	if (e->kind == TRACE_TIMEOUT || e->kind == TRACE_INJECTED)
		return e->qp;
	if (e->kind != TRACE_TX && c)
		other = c->left == e->qp ? c->right : c->left;
	if (e->kind != TRACE_TX && e->mate >= 0 && t->event[e->mate].kind == TRACE_TX)
		other = t->event[e->mate].qp;
	return answer == (e->kind == TRACE_TX) ? other : e->qp;
}

static bool has_psn(const struct trace_event *e)
{
	switch (e->kind) {
	case TRACE_TX:
	case TRACE_RX:
	case TRACE_VERDICT:
	case TRACE_REFUSED_RX:
		return !OP_IS_CNP(e->number) && !OP_IS_RAW(e->number);
	case TRACE_TIMEOUT:
	case TRACE_INJECTED:
		return true;
	default:
		return false;
	}
}

/* The first request of @qp from event @at on, before it is reset; -1: there is none */
static int first_request(const struct trace *t, int qp, int at)
{
	const struct trace_event *e;

	for (; at < t->nr_events; at++) {
		e = &t->event[at];
		if (e->kind == TRACE_STATE && e->qp == qp && strstr(e->word, "to RESET"))
			break;
		if ((e->kind == TRACE_TX || e->kind == TRACE_RX) && has_psn(e) &&
		    !op_is_answer(e->number) && requester_of(t, e) == qp)
			return at;
	}
	return -1;
}

/* From @first to @psn on the circle */
static int32_t distance(uint32_t psn, uint32_t first)
{
	return (int32_t)((psn - first) << 8) >> 8;
}

static struct trace_qp *other_end(const struct trace *t, const struct trace_event *e)
{
	const struct trace_conn *c = e->conn < 0 ? NULL : &t->conn[e->conn];
	int other = !c ? -1 : c->left == e->qp ? c->right : c->left;

	return other < 0 ? NULL : &t->qp[other];
}

void trace_number(struct trace *t)
{
	struct trace_event *e;
	struct trace_qp *qp;
	int i, from, first;
	bool foreign;

	for (i = 0; i < t->nr_events; i++) {
		e = &t->event[i];
		e->nth = INT32_MIN;
		if (e->qp < 0)
			continue;
		if (e->kind == TRACE_STATE && strstr(e->word, "to RESET"))
			t->qp[e->qp].has_first[0] = t->qp[e->qp].has_first[1] = false;
		if (!has_psn(e))
			continue;
		from = requester_of(t, e);
		foreign = from < 0;
		qp = &t->qp[foreign ? e->qp : from];
		if (!qp->has_first[foreign]) {
			/* (a fault, or an answer, may come before the first request) */
			first = foreign ? -1 : first_request(t, from, i);
			qp->first_psn[foreign] = first < 0 ? e->psn : t->event[first].psn;
			qp->has_first[foreign] = true;
		}
		e->nth = distance(e->psn, qp->first_psn[foreign]);
		/* (a fault does not say which way its packet went) */
		qp = e->kind == TRACE_INJECTED ? other_end(t, e) : NULL;
		if (qp && qp->has_first[0] && abs(distance(e->psn, qp->first_psn[0])) < abs(e->nth))
			e->nth = distance(e->psn, qp->first_psn[0]);
	}
}
