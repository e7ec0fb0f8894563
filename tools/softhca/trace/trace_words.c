// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What a recording's events are called: packets, what became of them, queue pairs, times.
 * All forms of a drawing say it in these words.
 */
#include "trace_op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool trace_is_wanted(const struct trace *t, const struct trace_event *e,
		     const struct trace_choice *choice)
{
	const struct trace_conn *c = e->conn < 0 ? NULL : &t->conn[e->conn];
	uint32_t left = c && c->left >= 0 ? t->qp[c->left].qpn : 0;
	uint32_t right = c && c->right >= 0 ? t->qp[c->right].qpn : 0;
	int64_t ns = e->ns - t->zero_ns;

	if (ns < choice->from_ns || ns > choice->to_ns)
		return false;
	if (choice->qpn && e->qpn != choice->qpn && left != choice->qpn && right != choice->qpn)
		return false;
	if (!choice->has_wr_id)
		return true;
	return e->wr >= 0 && t->wr[e->wr].wr_id == choice->wr_id &&
	       (!choice->qpn || t->wr[e->wr].qpn == choice->qpn);
}

const char *trace_packet_text(const struct trace *t, const struct trace_event *e)
{
	const struct trace_event *rx = e;
	const char *verdict;

	if (e->kind == TRACE_TX) {
		if (e->flags & TRACE_LOST)
			return "lost";
		if (e->mate < 0)
			return "";
		rx = &t->event[e->mate];
	}
	if (rx->judged < 0)
		return "";
	verdict = t->event[rx->judged].verdict;
	if (e->flags & TRACE_PROBE && !strcmp(verdict, "duplicate"))
		return "ok";
	return e->flags & TRACE_MISSING && !strcmp(verdict, "nak-sequence") ? "gap" : verdict;
}

const char *trace_packet_name(const struct trace_event *e, char *text, size_t size)
{
	const char *at = strchr(e->word, '_');
	char *c;

	if (e->flags & TRACE_PROBE)
		snprintf(text, size, "ACK PROBE");
	else if (e->flags & TRACE_MISSING)
		snprintf(text, size, "GAP REPORT");
	else if (e->flags & TRACE_RNR && e->flags & TRACE_RESPONSE)
		snprintf(text, size, "RNR NAK");
	else if (e->flags & TRACE_RESPONSE && (e->syndrome & AETH_TYPE) == AETH_NAK)
		snprintf(text, size, "NAK");
	else
		snprintf(text, size, "%s", at ? at + 1 : e->word);
	for (c = text; *c; c++)
		if (*c == '_')
			*c = ' ';
	return text;
}

const char *trace_memory_text(const struct trace *t, const struct trace_event *e)
{
	unsigned int op = OP(e->number);

	if (e->kind != TRACE_RX || e->judged < 0 ||
	    strcmp(t->event[e->judged].verdict, "ok"))
		return "";
	if (op == 12)
		return "read";
	if (op >= 13 && op <= 16)
		return "placed";
	if (op == 19 || op == 20)
		return "atomic";
	if (op == 28)
		return "flush";
	return op != 17 && op != 18 && e->length ? "placed" : op == 18 ? "placed" : "";
}

const char *trace_qp_name(const struct trace *t, int qp, char *text, size_t size)
{
	const char *device = qp < 0 ? "" : t->qp[qp].device;

	if (qp < 0)
		snprintf(text, size, "nobody");
	else
		snprintf(text, size, "%s%s%#x", device, *device ? " " : "", t->qp[qp].qpn);
	return text;
}

/* With as many digits as ten characters have room for */
const char *trace_time_text(int64_t ns, char *text, size_t size)
{
	double us = ns / 1e3, size_us = us < 0 ? -us : us;
	int digits = 6 - (us < 0);

	if (size_us < 999.95) {
		snprintf(text, size, "%.1f µs", us);
	} else if (size_us < 999999.5) {
		snprintf(text, size, "%.*f ms", us < -99999.5 ? 2 : 3, us / 1e3);
	} else {
		for (; size_us >= 1e7 && digits; size_us /= 10)
			digits--;
		snprintf(text, size, "%.*f s", digits, us / 1e6);
	}
	return text;
}
