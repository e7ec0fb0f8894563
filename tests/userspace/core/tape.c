// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * An oracle of the ladder.  What happens in a world is written as the module's trace events
 * would tell it. Then trace_model.c of the tool says which packet arrived, was lost or was
 * sent again, and which request it was for. Here all of that is known, and compared event
 * by event.
 *
 * A recording says less than is known here: wr_ids are the same for several requests, and
 * nothing tells two equal packets apart. So a packet may be taken for an equal one of which
 * nothing else could be seen.
 */
#include "../../../kernel/base/trace_names.h"
#include "../../../tools/softhca/trace/trace_model.h"
#include "sim.h"

/**
 * struct sim_truth - what is known of an event
 * @id:		packet, from 1 on; 0: none
 * @arrives:	tx: event of its first arrival, or -1
 * @op:		operation of its requester, or -1
 * @again: @probe:	a request
 */
struct sim_truth {
	u32 id;
	int arrives;
	int op;
	bool again;
	bool probe;
};

/**
 * struct sim_tape - a recording that grows
 * @sent:	by packet: event of shca_tx
 */
struct sim_tape {
	struct trace trace;
	struct sim_truth *truth;
	int *sent;
	u32 nr_sent;
	bool same_ids;
};

static bool tapes;
static struct sim_tape_totals totals;

void sim_tape_on(void)
{
	tapes = true;
}

const struct sim_tape_totals *sim_tape_totals(void)
{
	return &totals;
}

/* Forgeries, and the fast path, which is off while somebody traces, have no events. */
void sim_tape_start(struct sim_world *w)
{
	if (!tapes || w->f.hostile || w->f.fast || w->rules)
		return;
	w->tape = calloc(1, sizeof(*w->tape));
	w->tape->same_ids = w->seed & 1;
}

struct tape_name {
	u32 value;
	const char *name;
};

static const struct tape_name verdicts[] = { SHCA_TRACE_VERDICTS(SHCA_TRACE_ROW, SHCA_TRACE_LAST) };
static const struct tape_name works[] = {
	SHCA_TRACE_WR_OPCODES(SHCA_TRACE_ROW_WR, SHCA_TRACE_LAST_WR)
};

static const char *tape_name(const struct tape_name *names, u32 nr, u32 value)
{
	u32 i;

	for (i = 0; i < nr; i++)
		if (names[i].value == value)
			return names[i].name;
	return "?";
}

static struct trace_event *tape_add(struct sim_node *n, enum trace_kind kind,
				    const struct sim_truth *truth)
{
	struct sim_tape *tape = n->w->tape;
	struct trace *t = &tape->trace;
	struct trace_event *e;

	t->event = trace_grow(t->event, t->nr_events, sizeof(*e));
	tape->truth = trace_grow(tape->truth, t->nr_events, sizeof(*truth));
	tape->truth[t->nr_events] = *truth;
	e = &t->event[t->nr_events++];
	*e = (struct trace_event){
		.ns = n->w->now, .kind = kind, .dev = n->idx + 1, .qpn = n->qpn,
		.packets = 1, .word = "", .verdict = "", .info = "",
		.mate = -1, .judged = -1, .wr = -1, .conn = -1,
	};
	return e;
}

void sim_tape_ready(struct sim_node *n, bool again)
{
	const struct sim_truth truth = { .op = -1 };

	if (n->w->tape)
		tape_add(n, TRACE_STATE, &truth)->word = again ? "SQE to RTS" : "RTR to RTS";
}

static u64 tape_wr_id(const struct sim_node *n, u64 wr_id)
{
	return n->w->tape->same_ids ? wr_id / 16 : wr_id;
}

void sim_tape_post(struct sim_node *n, const struct shca_send_wr *wr)
{
	const struct sim_truth truth = { .op = wr->wr_id };
	struct trace_event *e;

	if (!n->w->tape)
		return;
	e = tape_add(n, TRACE_POST, &truth);
	e->wr_id = tape_wr_id(n, wr->wr_id);
	e->word = tape_name(works, ARRAY_SIZE(works), wr->opcode);
	e->length = wr->length;
	e->flags = wr->flags & SHCA_SEND_SIGNALED ? TRACE_SIGNALED : 0;
}

static void tape_packet(struct trace_event *e, const struct shca_pkt *pkt)
{
	bool aeth = shca_opcode_info(pkt->opcode)->flags & SHCA_OPF_AETH;

	e->number = pkt->opcode;
	e->dqpn = pkt->dqpn;
	e->psn = pkt->psn;
	e->packets = pkt->span + 1;
	e->length = pkt->paylen;
	e->ackreq = pkt->ackreq;
	e->syndrome = aeth ? pkt->aeth.syndrome : 0;
	e->msn = aeth ? pkt->aeth.msn : 0;
	if (shca_opcode_info(pkt->opcode)->flags & (SHCA_OPF_DETH | SHCA_OPF_RETH)) {
		e->hdr = malloc(SHCA_HDR_MAX);
		e->hdr_len = shca_hdr_build(pkt, e->hdr);
	}
}

/* Several that were received as one are shown one by one, as the tool's reader does. */
static u32 tape_parts(const struct shca_pkt *pkt)
{
	const struct sim_wire *wire = pkt->data;

	return wire->run ? pkt->span + 1 : 1;
}

u32 sim_tape_tx(struct sim_node *n, const struct shca_pkt *pkt)
{
	bool is_answer = shca_opcode_info(pkt->opcode)->flags & SHCA_OPF_RESPONSE;
	struct sim_tape *tape = n->w->tape;
	struct sim_truth truth = {
		.arrives = -1,
		.op = pkt->wr ? (int)pkt->wr->wr_id : -1,
		.again = !is_answer && pkt->wr && pkt->again,
		.probe = !is_answer && !pkt->wr && pkt->again,
	};

	if (!tape)
		return 0;
	truth.id = ++tape->nr_sent;
	tape->sent = trace_grow(tape->sent, truth.id - 1, sizeof(*tape->sent));
	tape->sent[truth.id - 1] = tape->trace.nr_events;
	tape_packet(tape_add(n, TRACE_TX, &truth), pkt);
	return truth.id;
}

void sim_tape_rx(struct sim_node *n, const struct shca_pkt *pkt, const u32 *ids)
{
	struct sim_tape *tape = n->w->tape;
	struct sim_truth truth = { .op = -1 };
	struct shca_pkt part;
	u32 i, nr = tape_parts(pkt);
	int *arrives;

	if (!tape)
		return;
	for (i = 0; i < nr; i++) {
		truth.id = ids[i];
		arrives = &tape->truth[tape->sent[truth.id - 1]].arrives;
		*arrives = *arrives < 0 ? tape->trace.nr_events : *arrives;
		part = nr > 1 ? shca_pkt_part(pkt, i) : *pkt;
		tape_packet(tape_add(n, TRACE_RX, &truth), &part);
	}
}

void sim_tape_verdict(struct sim_node *n, const struct shca_pkt *pkt, enum shca_verdict rx)
{
	const struct sim_truth truth = { .op = -1 };
	struct trace_event *e;
	struct shca_pkt part;
	u32 i, nr = tape_parts(pkt);

	for (i = 0; n->w->tape && i < nr; i++) {
		part = nr > 1 ? shca_pkt_part(pkt, i) : *pkt;
		e = tape_add(n, TRACE_VERDICT, &truth);
		e->number = part.opcode;
		e->psn = part.psn;
		e->verdict = tape_name(verdicts, ARRAY_SIZE(verdicts), rx);
	}
}

void sim_tape_timeout(struct sim_node *n)
{
	const struct sim_truth truth = { .op = -1 };

	if (n->w->tape)
		tape_add(n, TRACE_TIMEOUT, &truth)->psn = n->req.psn.una;
}

void sim_tape_complete(struct sim_node *n, const struct shca_wc *wc)
{
	const struct sim_truth truth = { .op = wc->is_recv ? -1 : (int)wc->wr_id };
	struct trace_event *e;

	if (!n->w->tape)
		return;
	e = tape_add(n, TRACE_COMPLETE, &truth);
	e->wr_id = wc->is_recv ? wc->wr_id : tape_wr_id(n, wc->wr_id);
	e->word = wc->is_recv ? "RECV" : "SEND";
	e->verdict = wc->status == SHCA_WC_SUCCESS ? "SUCCESS" : "an error";
}

/* ---- what the model says of it --------------------------------------------------- */

static int tape_op(const struct sim_tape *tape, int wr)
{
	return wr < 0 ? -1 : tape->truth[tape->trace.wr[wr].post].op;
}

/* Nothing in a recording tells these apart. */
static bool are_equal(const struct trace_event *a, const struct trace_event *b)
{
	bool middle = (a->number & 0x1f) == 1 || (a->number & 0x1f) == 7 || (a->number & 0x1f) == 14;

	return a->qp == b->qp && a->dqpn == b->dqpn && a->psn == b->psn &&
	       a->number == b->number && a->length == b->length &&
	       (a->ackreq == b->ackreq || middle) &&
	       a->syndrome == b->syndrome && a->msn == b->msn && a->packets == b->packets;
}

#define tape_check(w, i, cond, text)						\
	sim_check(w, cond, "ladder: event %d (kind %d, qp %x, psn %06x, opcode %u): " text, \
		  i, (w)->tape->trace.event[i].kind, (w)->tape->trace.event[i].qpn,	\
		  (w)->tape->trace.event[i].psn, (w)->tape->trace.event[i].number)

static void check_tx(struct sim_world *w, int i)
{
	const struct sim_truth *truth = &w->tape->truth[i];
	const struct trace *t = &w->tape->trace;
	const struct trace_event *e = &t->event[i];
	bool lost = e->flags & TRACE_LOST;

	totals.packets++;
	totals.lost += lost;
	totals.again += truth->again;
	totals.probes += truth->probe;
	tape_check(w, i, lost == (e->mate < 0), "lost, and arrived");
	if (e->mate != truth->arrives)
		totals.unclear++;
	tape_check(w, i, !(e->flags & TRACE_RETRANS) == !truth->again, "sent again, or not");
	tape_check(w, i, !(e->flags & TRACE_PROBE) == !truth->probe, "an ACK probe, or not");
	if (truth->op >= 0)
		tape_check(w, i, tape_op(w->tape, e->wr) == truth->op, "of another request");
}

static void check_rx(struct sim_world *w, int i)
{
	const struct sim_truth *truth = &w->tape->truth[i];
	const struct trace *t = &w->tape->trace;
	const struct trace_event *e = &t->event[i], *tx;
	int sent = w->tape->sent[truth->id - 1];

	tape_check(w, i, e->mate >= 0 || (e->flags & TRACE_COPY && w->f.dup), "came from nowhere");
	if (e->mate < 0)
		return;
	tx = &t->event[e->mate];
	tape_check(w, i, tx->mate == i, "its mate has another");
	tape_check(w, i, e->mate == sent || are_equal(tx, &t->event[sent]),
		   "another packet is taken for it");
}

static void check_complete(struct sim_world *w, int i)
{
	const struct sim_truth *truth = &w->tape->truth[i];
	const struct trace *t = &w->tape->trace;
	const struct trace_event *e = &t->event[i];

	if (truth->op < 0)
		return;
	totals.completions++;
	tape_check(w, i, tape_op(w->tape, e->wr) == truth->op && t->wr[e->wr].done == i,
		   "of another request");
}

void sim_tape_end(struct sim_world *w)
{
	struct trace *t;
	int i, lost = 0, unseen = 0;

	if (!w->tape)
		return;
	t = &w->tape->trace;
	trace_model(t);
	totals.seeds++;
	totals.events += t->nr_events;
	for (i = 0; i < t->nr_events; i++) {
		if (t->event[i].kind == TRACE_TX)
			check_tx(w, i);
		else if (t->event[i].kind == TRACE_RX)
			check_rx(w, i);
		else if (t->event[i].kind == TRACE_COMPLETE)
			check_complete(w, i);
		lost += !!(t->event[i].flags & TRACE_LOST);
		unseen += t->event[i].kind == TRACE_TX && w->tape->truth[i].arrives < 0;
	}
	/* (one of two equal packets is taken for the other; as many are lost) */
	sim_check(w, lost == unseen || w->f.dup, "ladder: %d packets lost, not %d", lost, unseen);
	for (i = 0; i < t->nr_events; i++)
		free(t->event[i].hdr);
	free(t->event);
	free(t->wr);
	free(t->qp);
	free(t->conn);
	free(w->tape->truth);
	free(w->tape->sent);
	free(w->tape);
	w->tape = NULL;
}
