// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What belongs together in a recording. Events hold QP numbers, PSNs and wr_ids.
 * From these follow which packet arrived, what was sent again, and which work
 * request it was for.
 */
#include "trace.h"

#include <stdlib.h>
#include <string.h>

#define PSN_MASK	0xffffffu
#define MAX_MTU		4096
/* How many of the latest work requests are looked at for a PSN */
#define LOOK_BACK	8192

/* Opcodes of RC, without the transport in the upper three bits: IBTA 9.2.1 */
#define OP(number)		(0x1f & (number))
#define OP_IS_READ(op)		(OP(op) == 12)
#define OP_IS_RESPONSE(op)	(OP(op) >= 13 && OP(op) <= 18)
#define OP_IS_CNP(op)		((op) == 0x81)

static bool op_begins(unsigned int op)
{
	/* FIRST and ONLY; READ, atomics, FLUSH and ATOMIC WRITE are one packet. */
	return (1u << OP(op)) & (1u << 0 | 1u << 4 | 1u << 5 | 1u << 6 | 1u << 10 |
				 1u << 11 | 1u << 12 | 1u << 19 | 1u << 20 |
				 1u << 23 | 1u << 28 | 1u << 29);
}

/* FIRST and MIDDLE packets have the path MTU. */
static bool op_is_full(unsigned int op)
{
	return (1u << OP(op)) & (1u << 0 | 1u << 1 | 1u << 6 | 1u << 7 | 1u << 13 |
				 1u << 14);
}

/* Does the packet consume a receive request as it ends? */
static bool op_takes_receive(unsigned int op)
{
	return (1u << OP(op)) & (1u << 2 | 1u << 3 | 1u << 4 | 1u << 5 | 1u << 9 |
				 1u << 11 | 1u << 22 | 1u << 23);
}

/* @a after @b, on the circle of PSNs */
static bool psn_after(uint32_t a, uint32_t b)
{
	uint32_t ahead = (a - b) & PSN_MASK;

	return ahead && ahead < 0x800000;
}

static bool in_range(uint32_t psn, uint32_t first, uint32_t nr)
{
	return ((psn - first) & PSN_MASK) < nr;
}

/* ---- which packet arrived ------------------------------------------------------- */

#define HASH_BITS	16

/* chains of packets that were sent and have not arrived */
struct flight {
	int head[1 << HASH_BITS];
	int *next;
};

static unsigned int hash(uint32_t qpn, uint32_t psn, unsigned int op)
{
	return (qpn * 2654435761u ^ psn * 40503u ^ op * 97u) >> 3 & ((1 << HASH_BITS) - 1);
}

static void pair_packets(struct trace *t)
{
	struct flight *f = malloc(sizeof(*f));
	struct trace_event *e, *x;
	int i, *at;

	f = f ?: (exit(fail("trace: out of memory")), NULL);
	f->next = calloc(t->nr_events + 1, sizeof(*f->next));
	memset(f->head, -1, sizeof(f->head));
	for (i = 0; f->next && i < t->nr_events; i++) {
		e = &t->event[i];
		if (e->kind == TRACE_TX) {
			at = &f->head[hash(e->dqpn, e->psn, e->number)];
			f->next[i] = *at;
			*at = i;
		}
		if (e->kind != TRACE_RX && e->kind != TRACE_REFUSED_RX)
			continue;
		/* the latest of the same PSN, as of one sent again */
		for (at = &f->head[hash(e->qpn, e->psn, e->number)]; *at >= 0;
		     at = &f->next[*at]) {
			x = &t->event[*at];
			if (x->dqpn != e->qpn || x->psn != e->psn || x->number != e->number)
				continue;
			x->mate = i;
			e->mate = *at;
			*at = f->next[*at];
			break;
		}
	}
	free(f->next);
	free(f);
}

/* A verdict comes right after its packet, or after those that wait for memory. */
static void pair_verdicts(struct trace *t)
{
	struct trace_event *e;
	int i, j;

	for (i = 0; i < t->nr_events; i++) {
		e = &t->event[i];
		if (e->kind == TRACE_REFUSED_RX) {
			e->judged = i;
			e->flags |= TRACE_FAULT;
		}
		if (e->kind != TRACE_VERDICT)
			continue;
		for (j = i - 1; j >= 0 && j > i - 4096; j--)
			if (t->event[j].kind == TRACE_RX && t->event[j].qpn == e->qpn &&
			    t->event[j].psn == e->psn && t->event[j].number == e->number) {
				t->event[j].judged = i;
				e->mate = j;
				break;
			}
	}
}

/* ---- connections -------------------------------------------------------------- */

static int find_conn(struct trace *t, uint32_t from, uint32_t to)
{
	struct trace_conn *c;
	int i;

	for (i = 0; i < t->nr_conns; i++) {
		c = &t->conn[i];
		if ((c->left == from && c->right == to) || (c->left == to && c->right == from))
			return i;
	}
	t->conn = trace_grow(t->conn, t->nr_conns, sizeof(*c));
	t->conn[t->nr_conns] = (struct trace_conn){ .left = from, .right = to };
	return t->nr_conns++;
}

static void find_conns(struct trace *t)
{
	struct trace_event *e;
	struct trace_qp *qp;
	int i;

	for (i = 0; i < t->nr_events; i++) {
		e = &t->event[i];
		if (e->kind != TRACE_TX || OP_IS_CNP(e->number))
			continue;
		/* A response shows a connection whose requests come from elsewhere. */
		e->conn = OP_IS_RESPONSE(e->number) && (e->number >> 5) != 3 ?
			find_conn(t, e->dqpn, e->qpn) : find_conn(t, e->qpn, e->dqpn);
		qp = trace_qp(t, e->qpn);
		if (qp && qp->conn < 0)
			qp->conn = e->conn;
		qp = trace_qp(t, e->dqpn);
		if (qp && qp->conn < 0)
			qp->conn = e->conn;
	}
	for (i = 0; i < t->nr_events; i++) {
		e = &t->event[i];
		qp = e->conn < 0 ? trace_qp(t, e->qpn) : NULL;
		if (e->kind == TRACE_RX && e->mate >= 0)
			e->conn = t->event[e->mate].conn;
		else if (e->kind == TRACE_VERDICT && e->mate >= 0)
			e->conn = t->event[e->mate].conn;
		else if (qp)
			e->conn = qp->conn;
		/* a QP of which no packet left: a lane of its own */
		if (e->conn < 0 && qp && e->kind != TRACE_REFUSED)
			e->conn = qp->conn = find_conn(t, e->qpn, 0);
		if (e->conn < 0)
			continue;
		t->conn[e->conn].nr_events++;
		e->right = e->qpn == t->conn[e->conn].right &&
			   e->qpn != t->conn[e->conn].left;
	}
}

/* ---- work requests -------------------------------------------------------------- */

/* The packets that a message takes; 1 where the path MTU is not known */
static uint32_t packets_of(const struct trace_qp *qp, uint32_t length)
{
	if (!qp->mtu || !length)
		return 1;
	return length / qp->mtu + !!(length % qp->mtu);
}

static void find_mtus(struct trace *t)
{
	struct trace_qp *qp, *peer;
	struct trace_event *e;
	uint32_t size, mtu;
	int i;

	for (i = 0; i < t->nr_events; i++) {
		e = &t->event[i];
		if ((e->kind != TRACE_TX && e->kind != TRACE_RX) ||
		    (!op_is_full(e->number) && e->packets == 1))
			continue;
		size = e->length / e->packets + !!(e->length % e->packets);
		for (mtu = 256; mtu < size && mtu < MAX_MTU; mtu *= 2)
			;
		qp = trace_qp(t, e->qpn);
		peer = trace_qp(t, e->dqpn);
		if (qp && mtu > qp->mtu)
			qp->mtu = mtu;
		if (peer && mtu > peer->mtu)
			peer->mtu = mtu;
	}
}

/*
 * A QP's work requests are not next to each other in the array: those of one QP
 * are found by @qpn, from @from backwards.
 */
static int wr_of_psn(const struct trace *t, uint32_t qpn, uint32_t psn, int from)
{
	int i;

	for (i = from; i >= 0 && i > from - LOOK_BACK; i--)
		if (t->wr[i].qpn == qpn && in_range(psn, t->wr[i].psn, t->wr[i].psns))
			return i;
	return -1;
}

static int wr_next(const struct trace *t, uint32_t qpn, int from)
{
	for (; from < t->nr_wrs; from++)
		if (t->wr[from].qpn == qpn)
			break;
	return from;
}

/* Those that are executed without a packet */
static bool is_local(const char *word)
{
	return !strcmp(word, "LOCAL_INV") || !strcmp(word, "BIND_MW") ||
	       !strcmp(word, "REG_MR");
}

static void take_post(struct trace *t, struct trace_event *e, int at)
{
	t->wr = trace_grow(t->wr, t->nr_wrs, sizeof(*t->wr));
	t->wr[t->nr_wrs] = (struct trace_wr){
		.qpn = e->qpn, .wr_id = e->wr_id, .length = e->length, .word = e->word,
		.status = "", .post = at, .done = -1, .conn = e->conn,
	};
	e->wr = t->nr_wrs++;
	if (e->conn >= 0)
		t->conn[e->conn].nr_wrs++;
}

static void take_request(struct trace *t, struct trace_event *e, struct trace_qp *qp)
{
	struct trace_wr *wr;
	uint32_t last = e->psn + e->packets - 1;
	int i;

	/* an ACK probe, or what begins before the recording */
	if (qp->sent && !psn_after(e->psn, (qp->next_psn - 1) & PSN_MASK)) {
		e->flags |= TRACE_RETRANS;
		e->wr = wr_of_psn(t, qp->qpn, e->psn, t->nr_wrs - 1);
		if (e->wr >= 0)
			t->wr[e->wr].retrans++;
		return;
	}
	if (op_begins(e->number)) {
		do {
			i = wr_next(t, qp->qpn, qp->next_wr);
			qp->next_wr = i + 1;
		} while (i < t->nr_wrs && is_local(t->wr[i].word));
		qp->current_wr = i < t->nr_wrs ? i : -1;
		if (i == t->nr_wrs)
			qp->next_wr = i;
	}
	e->wr = qp->current_wr;
	if (e->wr >= 0) {
		wr = &t->wr[e->wr];
		if (!wr->psns)
			wr->psn = e->psn;
		if (OP_IS_READ(e->number))
			last = e->psn + packets_of(qp, wr->length) - 1;
		wr->psns = ((last - wr->psn) & PSN_MASK) + 1;
		if (e->conn >= 0)
			wr->conn = e->conn;
	}
	qp->next_psn = (last + 1) & PSN_MASK;
	qp->sent = true;
}

static void take_tx(struct trace *t, struct trace_event *e)
{
	struct trace_qp *qp = trace_qp(t, e->qpn);
	bool reliable = (e->number >> 5) == 0 || (e->number >> 5) == 5;

	if (OP_IS_CNP(e->number) || !qp)
		return;
	if (reliable && OP_IS_RESPONSE(e->number)) {
		e->flags |= TRACE_RESPONSE;
		e->wr = wr_of_psn(t, e->dqpn, e->psn, t->nr_wrs - 1);
		if (OP(e->number) == 17 && (e->syndrome & 0x60) == 0x20)
			e->flags |= TRACE_RNR | TRACE_FAULT;
		if (OP(e->number) == 17 && (e->syndrome & 0x60) == 0x60)
			e->flags |= TRACE_FAULT;
	} else {
		take_request(t, e, qp);
	}
	if (e->mate < 0 && trace_qp(t, e->dqpn) && trace_qp(t, e->dqpn)->local)
		e->flags |= TRACE_LOST;
}

static void take_complete(struct trace *t, struct trace_event *e, int at)
{
	struct trace_qp *qp = trace_qp(t, e->qpn);
	int i;

	if (strcmp(e->verdict, "SUCCESS"))
		e->flags |= TRACE_FAULT;
	if (!qp)
		return;
	if (!strncmp(e->word, "RECV", 4) || !strncmp(e->word, "TM_", 3)) {
		e->wr = qp->last_in;
		return;
	}
	for (i = qp->done_wr; (i = wr_next(t, e->qpn, i)) < t->nr_wrs; i++) {
		if (t->wr[i].wr_id != e->wr_id)
			continue;
		t->wr[i].done = at;
		t->wr[i].status = e->verdict;
		e->wr = i;
		qp->done_wr = i + 1;
		return;
	}
}

static void take_rx(struct trace *t, struct trace_event *e)
{
	struct trace_qp *qp = trace_qp(t, e->qpn);

	if (e->mate >= 0) {
		e->wr = t->event[e->mate].wr;
		e->flags |= t->event[e->mate].flags & (TRACE_RESPONSE | TRACE_RNR | TRACE_FAULT);
	} else if (OP_IS_RESPONSE(e->number) && (e->number >> 5) == 0) {
		e->flags |= TRACE_RESPONSE;
		e->wr = wr_of_psn(t, e->qpn, e->psn, t->nr_wrs - 1);
		if (OP(e->number) == 17 && (e->syndrome & 0x60) == 0x20)
			e->flags |= TRACE_RNR | TRACE_FAULT;
	}
	if (qp && op_takes_receive(e->number))
		qp->last_in = e->wr;
}

static void take_verdict(struct trace *t, struct trace_event *e)
{
	if (e->mate >= 0) {
		e->wr = t->event[e->mate].wr;
		e->flags |= t->event[e->mate].flags & TRACE_RESPONSE;
	}
	if (strstr(e->verdict, "rnr"))
		e->flags |= TRACE_RNR;
	if (strcmp(e->verdict, "ok") && strcmp(e->verdict, "cnp"))
		e->flags |= TRACE_FAULT;
	if (e->mate >= 0)
		t->event[e->mate].flags |= e->flags & (TRACE_RNR | TRACE_FAULT);
}

void trace_model(struct trace *t)
{
	struct trace_event *e;
	int i;

	for (i = 0; i < t->nr_qps; i++) {
		t->qp[i].current_wr = t->qp[i].last_in = -1;
		t->qp[i].conn = -1;
	}
	pair_packets(t);
	pair_verdicts(t);
	find_conns(t);
	find_mtus(t);
	for (i = 0; i < t->nr_events; i++) {
		e = &t->event[i];
		switch (e->kind) {
		case TRACE_POST:
			take_post(t, e, i);
			break;
		case TRACE_TX:
			take_tx(t, e);
			break;
		case TRACE_RX:
			take_rx(t, e);
			break;
		case TRACE_VERDICT:
			take_verdict(t, e);
			break;
		case TRACE_COMPLETE:
			take_complete(t, e, i);
			break;
		case TRACE_TIMEOUT:
		case TRACE_INJECTED:
			e->flags |= TRACE_FAULT;
			e->wr = wr_of_psn(t, e->qpn, e->psn, t->nr_wrs - 1);
			break;
		case TRACE_STATE:
			if (strstr(e->word, "to ERR") || strstr(e->word, "to SQE"))
				e->flags |= TRACE_FAULT;
			break;
		case TRACE_REFUSED:
		case TRACE_REFUSED_RX:
			e->flags |= TRACE_FAULT;
			break;
		default:
			break;
		}
	}
}

/* ---- questions about events ------------------------------------------------------ */

bool trace_is_wanted(const struct trace *t, const struct trace_event *e,
		     const struct trace_choice *choice)
{
	const struct trace_conn *c = e->conn < 0 ? NULL : &t->conn[e->conn];

	if (e->ns < choice->from_ns || e->ns > choice->to_ns)
		return false;
	if (choice->qpn && e->qpn != choice->qpn &&
	    !(c && (c->left == choice->qpn || c->right == choice->qpn)))
		return false;
	if (!choice->has_wr_id)
		return true;
	return e->wr >= 0 && t->wr[e->wr].wr_id == choice->wr_id &&
	       (!choice->qpn || t->wr[e->wr].qpn == choice->qpn);
}

const char *trace_packet_text(const struct trace *t, const struct trace_event *e)
{
	const struct trace_event *rx = e;

	if (e->kind == TRACE_TX) {
		if (e->flags & TRACE_LOST)
			return "lost";
		if (e->mate < 0)
			return "";
		rx = &t->event[e->mate];
	}
	return rx->judged < 0 ? "" : t->event[rx->judged].verdict;
}

const char *trace_packet_name(const struct trace_event *e, char *text, size_t size)
{
	const char *at = strchr(e->word, '_');
	char *c;

	if (e->flags & TRACE_RESPONSE && (e->syndrome & 0x60) == 0x20)
		snprintf(text, size, "RNR NAK");
	else if (e->flags & TRACE_RESPONSE && (e->syndrome & 0x60) == 0x60)
		snprintf(text, size, "NAK");
	else
		snprintf(text, size, "%s", at ? at + 1 : e->word);
	for (c = text; *c; c++)
		if (*c == '_')
			*c = ' ';
	return text;
}

const char *trace_memory_text(const struct trace *t, const struct trace_event *e,
			      bool *right)
{
	unsigned int op = OP(e->number);

	*right = e->right;
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

const char *trace_qp_name(const struct trace *t, uint32_t qpn, char *text, size_t size)
{
	const struct trace_qp *qp = trace_qp(t, qpn);

	if (!qpn)
		snprintf(text, size, "nobody");
	else
		snprintf(text, size, "%s%s%#x", qp ? qp->device : "",
			 qp && *qp->device ? " " : "", qpn);
	return text;
}

void trace_json_string(FILE *out, const char *s)
{
	fputc('"', out);
	for (; *s; s++)
		/* "<" could end a script element of HTML */
		if ((unsigned char)*s < ' ' || strchr("\"\\<>&'", *s))
			fprintf(out, "\\u%04x", (unsigned char)*s);
		else if (text_is_c1(s))
			fprintf(out, "\\u%04x", (unsigned char)*++s);
		else
			fputc(*s, out);
	fputc('"', out);
}
