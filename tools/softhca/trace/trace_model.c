// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What belongs together in a recording. Events hold QP numbers, PSNs and wr_ids.
 * From these follow which packet arrived, what was sent again, and which work
 * request it was for.
 */
#include "trace_op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_MTU		4096
/* How many of the latest work requests are looked at for a PSN */
#define LOOK_BACK	8192

/* QP0 and QP1, which each device has */
#define IS_WELL_KNOWN(qpn)	((qpn) <= 1)

#define BTH_BYTES		12
#define XRCETH_BYTES		4

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

static bool op_is_middle(unsigned int op)
{
	return (1u << OP(op)) & (1u << 1 | 1u << 7 | 1u << 14);
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

void *trace_grow(void *array, int nr, size_t size)
{
	/* Each power of two is a new size. */
	if (nr & (nr - 1))
		return array;
	array = realloc(array, (nr ? 2 * (size_t)nr : 1) * size);
	if (!array) {
		fputs("softhca: trace: out of memory\n", stderr);
		exit(EXIT_FAILURE);
	}
	return array;
}

/* ---- queue pairs ------------------------------------------------------------------ */

/* A device that is not known (0) may be any of this machine. */
struct trace_qp *trace_qp(const struct trace *t, uint32_t dev, uint32_t qpn)
{
	struct trace_qp *qp;
	int i;

	for (i = 0; i < t->nr_qps; i++) {
		qp = &t->qp[i];
		if (qp->qpn == qpn && (qp->dev == dev || ((!dev || !qp->dev) &&
							  qp->dev + dev != TRACE_ELSEWHERE)))
			return qp;
	}
	return NULL;
}

struct trace_qp *trace_take_qp(struct trace *t, uint32_t dev, uint32_t qpn)
{
	struct trace_qp *qp = trace_qp(t, dev, qpn);

	if (qp) {
		qp->dev = qp->dev ?: dev;
		return qp;
	}
	t->qp = trace_grow(t->qp, t->nr_qps, sizeof(*qp));
	qp = &t->qp[t->nr_qps++];
	*qp = (struct trace_qp){ .qpn = qpn, .dev = dev, .device = "", .comm = "", .conn = -1 };
	return qp;
}

static void find_qps(struct trace *t)
{
	struct trace_event *e;
	int i;

	for (i = 0; i < t->nr_events; i++) {
		e = &t->event[i];
		e->qp = e->peer = -1;
		if (e->qpn)
			e->qp = trace_take_qp(t, e->dev, e->qpn) - t->qp;
	}
	for (i = 0; i < t->nr_qps; i++) {
		t->qp[i].current_wr = t->qp[i].last_in = t->qp[i].conn = -1;
		t->qp[i].before = t->nr_events;
	}
}

/* ---- which packet arrived ------------------------------------------------------- */

#define HASH_BITS	16

static unsigned int hash(uint32_t qpn, uint32_t psn, unsigned int op)
{
	return (qpn * 2654435761u ^ psn * 40503u ^ op * 97u) >> 3 & ((1 << HASH_BITS) - 1);
}

/* The sender of a datagram, by its DETH; 0: unknown */
static uint32_t source_of(const struct trace_event *e)
{
	if (!OP_IS_UD(e->number) || e->hdr_len < BTH_BYTES + 8)
		return 0;
	return e->hdr[BTH_BYTES + 5] << 16 | e->hdr[BTH_BYTES + 6] << 8 | e->hdr[BTH_BYTES + 7];
}

/* May @rx be the packet @tx?  All that the network leaves as it is, is equal. */
static bool is_same(const struct trace_event *tx, const struct trace_event *rx)
{
	uint32_t from = source_of(rx);

	if (tx->dqpn != rx->qpn || tx->psn != rx->psn || tx->number != rx->number ||
	    (from && from != tx->qpn))
		return false;
	/* (which of several MIDDLE packets, received as one, had AckReq, is not known) */
	return rx->kind == TRACE_REFUSED_RX ||
	       (tx->length == rx->length &&
		(tx->ackreq == rx->ackreq || op_is_middle(tx->number)) &&
		tx->syndrome == rx->syndrome && tx->msn == rx->msn &&
		tx->packets == rx->packets);
}

/* The same of two that arrive */
static bool is_alike(const struct trace_event *a, const struct trace_event *b)
{
	return a->qp == b->qp && a->kind == b->kind && a->psn == b->psn &&
	       a->number == b->number && a->length == b->length && a->syndrome == b->syndrome &&
	       a->msn == b->msn && a->packets == b->packets && source_of(a) == source_of(b) &&
	       (a->ackreq == b->ackreq || op_is_middle(a->number));
}

/*
 * Packets by what they are, the latest first.
 * @sent: @arrived:	events that begin a chain
 * @next:	of an event, in its chain
 */
struct pairing {
	int sent[1 << HASH_BITS], arrived[1 << HASH_BITS];
	int *next;
};

/* The latest that was sent before it, and (@in_order) before that of the arrival behind it */
static int find_sent(const struct trace *t, const struct pairing *p, int arrived, bool in_order)
{
	const struct trace_event *rx = &t->event[arrived], *tx;
	int at, own = -1;

	for (at = p->sent[hash(rx->qpn, rx->psn, rx->number)]; at >= 0; at = p->next[at]) {
		tx = &t->event[at];
		if (at > arrived || tx->mate >= 0 || !is_same(tx, rx))
			continue;
		/* Each device has a QP1, and seldom sends to its own. */
		if (tx->qp == rx->qp && IS_WELL_KNOWN(rx->qpn))
			own = own < 0 ? at : own;
		else if (!in_order || at < t->qp[rx->qp].before || OP_IS_UD(tx->number))
			return at;
	}
	return in_order ? -1 : own;
}

static void pair(struct trace *t, int sent, int arrived)
{
	t->event[arrived].mate = sent;
	t->event[sent].mate = arrived;
}

/* More have arrived than were sent: the network has copied one. The first is no copy. */
static void find_copy(struct trace *t, const struct pairing *p, int left)
{
	struct trace_event *rx = &t->event[left], *tx;
	int at;

	for (at = p->sent[hash(rx->qpn, rx->psn, rx->number)]; at >= 0; at = p->next[at]) {
		tx = &t->event[at];
		if (at > left || tx->mate < 0 || !is_same(tx, rx))
			continue;
		if (tx->mate > left) {
			t->event[tx->mate].mate = -1;
			t->event[tx->mate].flags |= TRACE_COPY;
			pair(t, at, left);
		} else {
			rx->flags |= TRACE_COPY;
		}
		return;
	}
}

/* One is left over: the order was another. All that are alike are paired without it. */
static void pair_alike(struct trace *t, const struct pairing *p, int left)
{
	const struct trace_event *rx = &t->event[left];
	int first = p->arrived[hash(rx->qpn, rx->psn, rx->number)], at, sent;

	for (at = first; at >= 0; at = p->next[at]) {
		if (t->event[at].mate < 0 || !is_alike(&t->event[at], rx))
			continue;
		t->event[t->event[at].mate].mate = -1;
		t->event[at].mate = -1;
	}
	for (at = first; at >= 0; at = p->next[at]) {
		sent = is_alike(&t->event[at], rx) ? find_sent(t, p, at, false) : -1;
		if (sent >= 0)
			pair(t, sent, at);
	}
	for (at = first; at >= 0; at = p->next[at])
		if (t->event[at].mate < 0 && is_alike(&t->event[at], rx))
			find_copy(t, p, at);
}

/*
 * Which packet has arrived, if several are equal?  A network seldom changes the order. So
 * this goes from the last arrival to the first. It takes the latest packet that was sent
 * before that of the arrival behind. If there is none, the network has changed the
 * order, and it takes the latest that was sent before the arrival.
 */
static void pair_packets(struct trace *t)
{
	struct pairing *p = trace_grow(NULL, 0, sizeof(*p));
	struct trace_event *e;
	int i, *at, sent;

	memset(p, -1, sizeof(*p));
	p->next = trace_grow(NULL, 0, (t->nr_events + 1) * sizeof(*p->next));
	for (i = 0; i < t->nr_events; i++) {
		e = &t->event[i];
		if (e->qp < 0 || (e->kind != TRACE_TX && e->kind != TRACE_RX &&
				  e->kind != TRACE_REFUSED_RX))
			continue;
		at = e->kind == TRACE_TX ? &p->sent[hash(e->dqpn, e->psn, e->number)] :
					   &p->arrived[hash(e->qpn, e->psn, e->number)];
		p->next[i] = *at;
		*at = i;
	}
	for (i = t->nr_events - 1; i >= 0; i--) {
		e = &t->event[i];
		if ((e->kind != TRACE_RX && e->kind != TRACE_REFUSED_RX) || e->qp < 0)
			continue;
		sent = find_sent(t, p, i, true);
		if (sent < 0)
			sent = find_sent(t, p, i, false);
		if (sent < 0)
			continue;
		pair(t, sent, i);
		t->qp[e->qp].before = sent;
	}
	for (i = 0; i < t->nr_events; i++) {
		e = &t->event[i];
		if (e->kind == TRACE_RX && e->qp >= 0 && e->mate < 0 && !(e->flags & TRACE_COPY))
			pair_alike(t, p, i);
	}
	free(p->next);
	free(p);
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
			if (t->event[j].kind == TRACE_RX && t->event[j].qp == e->qp &&
			    t->event[j].psn == e->psn && t->event[j].number == e->number) {
				t->event[j].judged = i;
				e->mate = j;
				break;
			}
	}
}

/* ---- connections -------------------------------------------------------------- */

/* Where a packet goes that nobody has received: the local QP of that number, if there is one. */
static int find_peer(struct trace *t, const struct trace_event *e)
{
	struct trace_qp *qp;
	int i;

	if (OP_IS_RAW(e->number))
		return -1;
	for (i = 0; !IS_WELL_KNOWN(e->dqpn) && i < t->nr_qps; i++)
		if (t->qp[i].qpn == e->dqpn && t->qp[i].local)
			return i;
	/* Any device has a QP1: it goes where the one before has gone. */
	for (i = e - t->event - 1; IS_WELL_KNOWN(e->dqpn) && i >= 0 && i > e - t->event - 4096; i--)
		if (t->event[i].kind == TRACE_TX && t->event[i].qp == e->qp &&
		    t->event[i].dqpn == e->dqpn && t->event[i].mate >= 0)
			return t->event[i].peer;
	qp = trace_take_qp(t, TRACE_ELSEWHERE, e->dqpn);
	qp->current_wr = qp->last_in = -1;
	return qp - t->qp;
}

static void find_peers(struct trace *t)
{
	struct trace_event *e;
	int i;

	for (i = 0; i < t->nr_events; i++)
		if (t->event[i].qp >= 0)
			t->qp[t->event[i].qp].local = true;
	for (i = 0; i < t->nr_events; i++) {
		e = &t->event[i];
		if (e->kind == TRACE_TX)
			e->peer = e->mate >= 0 ? t->event[e->mate].qp : find_peer(t, e);
	}
}

static int find_conn(struct trace *t, int from, int to)
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
		if (e->kind != TRACE_TX || OP_IS_CNP(e->number) || e->qp < 0)
			continue;
		/* A response shows a connection whose requests come from elsewhere. */
		e->conn = op_is_answer(e->number) ? find_conn(t, e->peer, e->qp) :
						    find_conn(t, e->qp, e->peer);
		qp = &t->qp[e->qp];
		if (qp->conn < 0)
			qp->conn = e->conn;
		qp = e->peer < 0 ? qp : &t->qp[e->peer];
		if (qp->conn < 0)
			qp->conn = e->conn;
	}
	for (i = 0; i < t->nr_events; i++) {
		e = &t->event[i];
		qp = e->conn < 0 && e->qp >= 0 ? &t->qp[e->qp] : NULL;
		if ((e->kind == TRACE_RX || e->kind == TRACE_VERDICT) && e->mate >= 0)
			e->conn = t->event[e->mate].conn;
		if (e->conn < 0 && qp)
			e->conn = qp->conn;
		/* a QP of which no packet left: a lane of its own */
		if (e->conn < 0 && qp && e->kind != TRACE_REFUSED)
			e->conn = qp->conn = find_conn(t, e->qp, -1);
		if (e->conn < 0)
			continue;
		t->conn[e->conn].nr_events++;
		e->right = e->qp == t->conn[e->conn].right && e->qp != t->conn[e->conn].left;
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
	struct trace_event *e;
	struct trace_qp *qp;
	uint32_t size, mtu;
	int i;

	for (i = 0; i < t->nr_events; i++) {
		e = &t->event[i];
		if ((e->kind != TRACE_TX && e->kind != TRACE_RX) || e->qp < 0 ||
		    (!op_is_full(e->number) && e->packets == 1))
			continue;
		size = e->length / e->packets + !!(e->length % e->packets);
		for (mtu = 256; mtu < size && mtu < MAX_MTU; mtu *= 2)
			;
		qp = &t->qp[e->qp];
		if (mtu > qp->mtu)
			qp->mtu = mtu;
		qp = e->peer < 0 ? qp : &t->qp[e->peer];
		if (mtu > qp->mtu)
			qp->mtu = mtu;
	}
}

/*
 * A QP's work requests are not next to each other in the array: those of one QP
 * are found by @qp, from @from backwards.
 */
static int wr_of_psn(const struct trace *t, int qp, uint32_t psn, int from)
{
	int i;

	for (i = from; i >= 0 && i > from - LOOK_BACK; i--)
		if (t->wr[i].qp == qp && in_range(psn, t->wr[i].psn, t->wr[i].psns))
			return i;
	return -1;
}

static int wr_next(const struct trace *t, int qp, int from)
{
	for (; from < t->nr_wrs; from++)
		if (t->wr[from].qp == qp)
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
		.qp = e->qp, .qpn = e->qpn, .wr_id = e->wr_id, .length = e->length,
		.word = e->word, .signaled = e->flags & TRACE_SIGNALED, .status = "",
		.post = at, .done = -1, .conn = e->conn,
	};
	e->wr = t->nr_wrs++;
	if (e->conn >= 0)
		t->conn[e->conn].nr_wrs++;
}

/* Has the peer acknowledged up to before @end? */
static bool is_acked(const struct trace_qp *qp, uint32_t end)
{
	return qp->heard && !psn_after(end, qp->una);
}

/*
 * An ACK probe repeats the PSN before the oldest request that is not acknowledged, as a
 * WRITE of nothing (kernel/core/requester/requester.c).
 */
static bool is_probe(const struct trace *t, const struct trace_event *e,
		     const struct trace_qp *qp)
{
	const struct trace_wr *wr = e->wr < 0 ? NULL : &t->wr[e->wr];
	unsigned int i;

	if (OP(e->number) != OP_WRITE_ONLY || e->length || !e->ackreq)
		return false;
	/* Its RETH is zeros. */
	for (i = BTH_BYTES + (e->number >> 5 == 5 ? XRCETH_BYTES : 0); i < e->hdr_len; i++)
		if (e->hdr[i])
			return false;
	return is_acked(qp, (e->psn + 1) & PSN_MASK) || !wr || wr->length ||
	       strcmp(wr->word, "RDMA_WRITE");
}

/* Return: whether it was sent before, and need not be looked at any more */
static bool take_again(struct trace *t, struct trace_event *e, struct trace_qp *qp)
{
	if (!qp->sent || psn_after(e->psn, (qp->next_psn - 1) & PSN_MASK) ||
	    !op_is_reliable(e->number))
		return false;
	e->wr = wr_of_psn(t, e->qp, e->psn, t->nr_wrs - 1);
	if (is_probe(t, e, qp)) {
		e->flags |= TRACE_PROBE;
		e->wr = -1;
		return true;
	}
	e->flags |= TRACE_RETRANS;
	if (e->wr >= 0)
		t->wr[e->wr].retrans++;
	return true;
}

static void take_request(struct trace *t, struct trace_event *e, struct trace_qp *qp)
{
	uint32_t last = e->psn + e->packets - 1;
	struct trace_wr *wr;
	int i;

	if (take_again(t, e, qp))
		return;
	if (op_begins(e->number)) {
		do {
			i = wr_next(t, e->qp, qp->next_wr);
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
	/* Nobody acknowledges it: it is done when its last packet has left. */
	if (!op_is_reliable(e->number) && !op_is_full(e->number)) {
		qp->una = qp->next_psn;
		qp->heard = true;
	}
}

/* What kind of answer: an ACK has no flag. */
static unsigned int answer_flags(const struct trace_event *e)
{
	if (OP(e->number) != OP_ACK)
		return TRACE_RESPONSE;
	switch (e->syndrome & AETH_TYPE) {
	case AETH_RNR:
		return TRACE_RESPONSE | TRACE_RNR | TRACE_FAULT;
	case AETH_NAK:
		return TRACE_RESPONSE | TRACE_FAULT;
	case AETH_MISSING:
		return TRACE_RESPONSE | TRACE_MISSING | TRACE_FAULT;
	default:
		return TRACE_RESPONSE;
	}
}

static void take_tx(struct trace *t, struct trace_event *e)
{
	if (e->qp < 0)
		return;
	if (op_is_answer(e->number)) {
		e->flags |= answer_flags(e);
		e->wr = e->peer < 0 ? -1 : wr_of_psn(t, e->peer, e->psn, t->nr_wrs - 1);
	} else if (!OP_IS_CNP(e->number)) {
		take_request(t, e, &t->qp[e->qp]);
	}
	/* (which QP1 it was for, is not known) */
	if (e->mate < 0 && e->peer >= 0 && t->qp[e->peer].local && !IS_WELL_KNOWN(e->dqpn))
		e->flags |= TRACE_LOST;
}

/* Is its acknowledgement a response of its own? */
static bool has_response(const char *word)
{
	return !strcmp(word, "RDMA_READ") || !strncmp(word, "ATOMIC", 6) || !strcmp(word, "FLUSH");
}

/* How many requests of a QP, from @from on, have no completion in error from event @at on? */
static int nr_left(const struct trace *t, int qp, int from, int at)
{
	const struct trace_event *e;
	int i, nr = 0, posted = 0;

	for (i = wr_next(t, qp, from); i < t->nr_wrs; i = wr_next(t, qp, i + 1))
		posted++;
	for (i = at; i < t->nr_events; i++) {
		e = &t->event[i];
		if (e->qp != qp)
			continue;
		posted += e->kind == TRACE_POST;
		if (e->kind != TRACE_COMPLETE || !strncmp(e->word, "RECV", 4))
			continue;
		if (!strcmp(e->verdict, "SUCCESS"))
			break;
		nr += posted - 1;
		posted = 0;
	}
	return nr;
}

/* The first request that has no completion: those before it have one, or need none. */
static int first_undone(const struct trace *t, const struct trace_qp *qp, bool good, int event)
{
	int at = qp - t->qp, i, first = wr_next(t, at, qp->done_wr), left;

	/* After an error each one is flushed. */
	if (good || qp->failed)
		return first;
	for (i = first; i < t->nr_wrs; i = wr_next(t, at, i + 1)) {
		if (!t->wr[i].psns)
			continue;
		if (has_response(t->wr[i].word) && !t->wr[i].answered)
			break;
		if (is_acked(qp, (t->wr[i].psn + t->wr[i].psns) & PSN_MASK))
			first = i + 1;
	}
	/* Nothing tells when a request without a packet is done: all that are not are flushed. */
	left = nr_left(t, at, first, event);
	for (first = wr_next(t, at, first); left > 0 && first < t->nr_wrs &&
	     is_local(t->wr[first].word); left--)
		first = wr_next(t, at, first + 1);
	return first;
}

static void take_complete(struct trace *t, struct trace_event *e, int at)
{
	bool good = !strcmp(e->verdict, "SUCCESS");
	struct trace_qp *qp;
	int i;

	if (!good)
		e->flags |= TRACE_FAULT;
	if (e->qp < 0)
		return;
	qp = &t->qp[e->qp];
	if (!strncmp(e->word, "RECV", 4) || !strncmp(e->word, "TM_", 3)) {
		e->wr = qp->last_in;
		return;
	}
	/* Only one in error has a completion without asking for it. */
	for (i = first_undone(t, qp, good, at); (i = wr_next(t, e->qp, i)) < t->nr_wrs; i++) {
		if (t->wr[i].wr_id != e->wr_id || (good && !t->wr[i].signaled))
			continue;
		t->wr[i].done = at;
		t->wr[i].status = e->verdict;
		e->wr = i;
		qp->done_wr = i + 1;
		qp->failed = !good;
		/* It has failed before it was sent: what is sent next is another. */
		if (!good && qp->next_wr <= i)
			qp->next_wr = i + 1;
		return;
	}
}

/*
 * An answer that the requester takes is about all PSNs before its own, too. An ACK and data
 * are about its own.
 */
static void take_answer(struct trace_qp *qp, const struct trace_event *e)
{
	bool is_nak = !strncmp(e->verdict, "nak-", 4);
	uint32_t una = (e->psn + !is_nak) & PSN_MASK;

	if (!is_nak && strcmp(e->verdict, "ok"))
		return;
	if (!qp->sent || psn_after(una, qp->next_psn) || (qp->heard && !psn_after(una, qp->una)))
		return;
	qp->una = una;
	qp->heard = true;
}

static void take_rx(struct trace *t, struct trace_event *e)
{
	struct trace_qp *qp = e->qp < 0 ? NULL : &t->qp[e->qp];

	if (e->mate >= 0) {
		e->wr = t->event[e->mate].wr;
		e->flags |= t->event[e->mate].flags & (TRACE_RESPONSE | TRACE_RNR | TRACE_FAULT |
						       TRACE_PROBE | TRACE_MISSING);
	} else if (op_is_answer(e->number)) {
		e->flags |= answer_flags(e);
		e->wr = wr_of_psn(t, e->qp, e->psn, t->nr_wrs - 1);
	}
	if (qp && op_takes_receive(e->number))
		qp->last_in = e->wr;
}

static void take_verdict(struct trace *t, struct trace_event *e)
{
	struct trace_event *rx = e->mate < 0 ? NULL : &t->event[e->mate];
	struct trace_wr *wr;

	if (rx) {
		e->wr = rx->wr;
		e->flags |= rx->flags & TRACE_RESPONSE;
	}
	if (e->flags & TRACE_RESPONSE && e->qp >= 0)
		take_answer(&t->qp[e->qp], e);
	wr = rx && rx->wr >= 0 ? &t->wr[rx->wr] : NULL;
	if (wr && e->flags & TRACE_RESPONSE && OP(e->number) != OP_ACK && !strcmp(e->verdict, "ok"))
		wr->answered |= in_range(trace_last_psn(rx) + 1, wr->psn + wr->psns, 1);
	if (strstr(e->verdict, "rnr"))
		e->flags |= TRACE_RNR;
	/* (a probe is to be a duplicate) */
	if (strcmp(e->verdict, "ok") && strcmp(e->verdict, "cnp") &&
	    !(rx && rx->flags & TRACE_PROBE && !strcmp(e->verdict, "duplicate")))
		e->flags |= TRACE_FAULT;
	if (rx)
		rx->flags |= e->flags & (TRACE_RNR | TRACE_FAULT);
}

/* The QP begins anew: with other PSNs, and without what was posted. */
static void take_reset(struct trace *t, struct trace_qp *qp)
{
	qp->sent = qp->heard = qp->failed = false;
	qp->next_wr = qp->done_wr = t->nr_wrs;
	qp->current_wr = qp->last_in = -1;
}

static void take_state(struct trace *t, struct trace_event *e)
{
	if (strstr(e->word, "to ERR") || strstr(e->word, "to SQE"))
		e->flags |= TRACE_FAULT;
	if (!strncmp(e->word, "SQE to RTS", 10) && e->qp >= 0)
		t->qp[e->qp].failed = false;
	if (strstr(e->word, "to RESET") && e->qp >= 0)
		take_reset(t, &t->qp[e->qp]);
}

static void find_zero(struct trace *t)
{
	int i;

	for (i = 0; i < t->nr_events && t->event[i].kind != TRACE_POST; i++)
		;
	t->zero_ns = i < t->nr_events ? t->event[i].ns : t->nr_events ? t->event[0].ns : 0;
}

void trace_model(struct trace *t)
{
	struct trace_event *e;
	int i;

	find_qps(t);
	pair_packets(t);
	pair_verdicts(t);
	find_peers(t);
	find_conns(t);
	find_mtus(t);
	find_zero(t);
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
			e->wr = wr_of_psn(t, e->qp, e->psn, t->nr_wrs - 1);
			break;
		case TRACE_STATE:
			take_state(t, e);
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

uint32_t trace_last_psn(const struct trace_event *e)
{
	uint32_t more = e->flags & TRACE_MISSING ? e->syndrome & AETH_VALUE : e->packets - 1;

	return (e->psn + more) & PSN_MASK;
}
