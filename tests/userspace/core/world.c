// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What happens when: the scenario that a seed stands for, and the queue of
 * events in virtual time.
 *
 * A seed has one or two connections; each lives for one or more epochs.  An epoch
 * is a fresh start of both QPs with a plan of operations for each.  It ends when
 * both plans are complete or both QPs in error, or by a reset.
 */
#include "sim.h"

#define MS		1000000ull
/* No seed needs as much; who gets there hangs. */
#define LAST_CALL	(3000000 * MS)
#define MAX_EVENTS	1000000

/* ---- the queue: a heap, ties in order of arrival -------------------------- */

static bool before(const struct sim_ev *a, const struct sim_ev *b)
{
	return a->at != b->at ? a->at < b->at : a->seq < b->seq;
}

void sim_push(struct sim_world *w, u64 at, enum sim_ev_kind kind, u32 node,
	      u32 arg, struct sim_wire *wire)
{
	struct sim_ev ev = { at, w->seq++, kind, node, arg, wire };
	u32 i = w->nr_ev++;

	if (i == w->max_ev) {
		w->max_ev = w->max_ev ? w->max_ev * 2 : 256;
		w->heap = realloc(w->heap, w->max_ev * sizeof(*w->heap));
	}
	for (; i && before(&ev, &w->heap[(i - 1) / 2]); i = (i - 1) / 2)
		w->heap[i] = w->heap[(i - 1) / 2];
	w->heap[i] = ev;
}

static struct sim_ev pull(struct sim_world *w)
{
	struct sim_ev top = w->heap[0];
	struct sim_ev last = w->heap[--w->nr_ev];
	u32 i = 0, c;

	for (; (c = 2 * i + 1) < w->nr_ev; i = c) {
		if (c + 1 < w->nr_ev && before(&w->heap[c + 1], &w->heap[c]))
			c++;
		if (!before(&w->heap[c], &last))
			break;
		w->heap[i] = w->heap[c];
	}
	w->heap[i] = last;
	return top;
}

/* The next event, if that is a packet for @n within this microsecond. */
struct sim_wire *sim_peek_packet(struct sim_node *n)
{
	struct sim_world *w = n->w;
	const struct sim_ev *ev = w->heap;

	return w->nr_ev && ev->kind == SIM_EV_PACKET && ev->node == n->idx &&
	       (!ev->arg || ev->arg == n->qpn) && ev->at < w->now + 1000 ?
	       ev->wire : NULL;
}

struct sim_wire *sim_pull_packet(struct sim_node *n)
{
	return pull(n->w).wire;
}

/* ---- the plan ------------------------------------------------------------- */

static u32 pick_len(struct sim_world *w)
{
	struct prng *rng = &w->rng;
	u32 len;

	switch (prng_below(rng, 8)) {
	case 0:
		return prng_chance(rng, 500) ? 0 : 1;
	case 1:
	case 2:
		return prng_range(rng, 1, 64);
	case 3:
		return prng_range(rng, 1, w->mtu);
	case 4:
		return w->mtu * prng_range(rng, 1, 4);
	case 5:
		len = w->mtu * prng_range(rng, 1, 4) - 1;
		return len + prng_below(rng, 3);
	case 6:
		return prng_range(rng, 1, 4 * w->mtu);
	default:
		return prng_chance(rng, 150) && w->mtu <= 1024 ?
		       w->mtu * prng_range(rng, 8, 160) :
		       prng_range(rng, 1, 8 * w->mtu);
	}
}

/* Cut @len bytes into segments, some of them empty, apart from each other. */
static u32 pick_sges(struct sim_node *n, u32 len, struct shca_sge *sge)
{
	struct prng *rng = &n->w->rng;
	u32 nr = prng_range(rng, 1, SIM_MAX_SGE);
	u32 i, part;

	if (!len && prng_chance(rng, 500))
		return 0;
	for (i = 0; i < nr; i++) {
		part = i + 1 == nr ? len : prng_below(rng, len + 1);
		sge[i].length = part;
		sge[i].addr = sim_region_take(n->w, &n->loc, part, 1);
		sge[i].lkey = n->loc.key;
		len -= part;
	}
	return nr;
}

static void fill_segments(struct sim_node *n, const struct sim_op *op)
{
	u32 i, k, off = 0;
	u8 *p;

	for (i = 0; i < op->nr_sge; i++) {
		p = sim_region_at(n->w, &n->loc, op->sge[i].addr,
				  op->sge[i].length);
		for (k = 0; k < op->sge[i].length; k++)
			p[k] = sim_pattern(op, off++);
	}
}

static void make_inline(struct sim_node *n, struct sim_op *op)
{
	u32 i;

	op->flags |= SHCA_SEND_INLINE;
	op->inline_data = malloc(op->len + 1);
	for (i = 0; i < op->len; i++)
		op->inline_data[i] = sim_pattern(op, i);
	/* the segments are free for other use as soon as it is posted */
	for (i = 0; i < op->nr_sge; i++)
		memset(sim_region_at(n->w, &n->loc, op->sge[i].addr,
				     op->sge[i].length), 0x11,
		       op->sge[i].length);
}

static void plan_atomic(struct sim_node *n, struct sim_op *op)
{
	struct prng *rng = &n->w->rng;

	op->len = 8;
	op->rem_va = n->counter_va;
	op->atomic_before = n->counter_model;
	op->compare_add = prng_next(rng);
	op->swap = prng_next(rng);
	if (op->opcode == SHCA_WR_ATOMIC_FETCH_AND_ADD) {
		n->counter_model += op->compare_add;
	} else if (prng_chance(rng, 600)) {
		op->compare_add = n->counter_model;
		n->counter_model = op->swap;
	}
}

/* Some range of what this requester writes to; of level MR none is named. */
static void plan_flush(struct sim_node *n, struct sim_op *op)
{
	struct sim_region *rem = &n->peer->rem;
	struct prng *rng = &n->w->rng;
	bool mr = prng_chance(rng, 300);

	op->imm = prng_range(rng, 1, 3) |
		  (mr ? SHCA_FLUSH_LEVEL_MR : SHCA_FLUSH_LEVEL_RANGE) << 8;
	op->rem_va = mr ? prng_next(rng) :
			  rem->base + prng_below(rng, rem->len / 2);
	op->swap = mr ? 0 : prng_below(rng, rem->len / 2);
}

static void plan_recv(struct sim_node *n, struct sim_op *op)
{
	struct prng *rng = &n->w->rng;
	u32 i, spare;

	op->recv_idx = n->nr_consuming;
	n->recv_of[n->nr_consuming++] = op - n->ops;
	spare = prng_below(rng, 3);
	op->recv_len = op->len + spare * prng_below(rng, 100);
	if (op->fault == SIM_RECV_SHORT)
		op->recv_len = prng_below(rng, op->len);
	op->nr_recv_sge = pick_sges(n->peer, op->recv_len, op->recv_sge);
	if (op->fault == SIM_RECV_BAD_LKEY)
		for (i = 0; i < op->nr_recv_sge; i++)
			op->recv_sge[i].lkey ^= 0x300;
}

static bool is_send(const struct sim_op *op)
{
	return op->opcode == SHCA_WR_SEND ||
	       op->opcode == SHCA_WR_SEND_WITH_IMM ||
	       op->opcode == SHCA_WR_SEND_WITH_INV;
}

static bool is_atomic(const struct sim_op *op)
{
	return op->opcode == SHCA_WR_ATOMIC_CMP_AND_SWP ||
	       op->opcode == SHCA_WR_ATOMIC_FETCH_AND_ADD;
}

static bool is_flush(const struct sim_op *op)
{
	return op->opcode == SHCA_WR_FLUSH;
}

static bool is_atomic_write(const struct sim_op *op)
{
	return op->opcode == SHCA_WR_ATOMIC_WRITE;
}

static bool is_read_or_atomic(const struct sim_op *op)
{
	return op->opcode == SHCA_WR_RDMA_READ || is_atomic(op);
}

static bool is_local(const struct sim_op *op)
{
	return op->opcode == SHCA_WR_LOCAL_INV ||
	       op->opcode == SHCA_WR_REG_MR || op->opcode == SHCA_WR_BIND_MW;
}

/* A fault that makes sense for the operation, else none. */
static enum sim_op_fault fit_fault(const struct sim_world *w,
				   const struct sim_op *op,
				   enum sim_op_fault fault)
{
	bool send = is_send(op);
	bool imm = op->opcode == SHCA_WR_RDMA_WRITE_WITH_IMM;
	bool inv = op->opcode == SHCA_WR_SEND_WITH_INV;
	bool local = is_local(op);
	bool atomic = is_atomic(op);

	if (!sim_is_rc(w) && fault >= SIM_RECV_SHORT &&
	    fault <= SIM_RECV_MALFORMED)
		return SIM_OK;	/* receives have faults of their own */
	switch (fault) {
	case SIM_BAD_LKEY:
		return op->len && !(op->flags & SHCA_SEND_INLINE) ? fault :
								    SIM_OK;
	case SIM_BAD_RKEY:
		if (is_flush(op))
			return fault;
		fallthrough;
	case SIM_RKEY_RANGE:
		return !send && op->len ? fault : SIM_OK;
	case SIM_BAD_INV:
		return inv ? fault : SIM_OK;
	case SIM_BAD_LOCAL:
		return local ? fault : SIM_OK;
	case SIM_RECV_SHORT:
	case SIM_RECV_BAD_LKEY:
		return send && op->len ? fault : SIM_OK;
	case SIM_RECV_MALFORMED:
		return send || imm ? fault : SIM_OK;
	case SIM_MISALIGNED:
		return atomic || is_atomic_write(op) ? fault : SIM_OK;
	case SIM_TOO_LONG:
	case SIM_BAD_QKEY:
		return sim_is_ud(w) ? fault : SIM_OK;
	default:
		return fault;
	}
}

static u32 op_packets(const struct sim_world *w, const struct sim_op *op)
{
	bool rd = op->opcode == SHCA_WR_RDMA_READ;
	u32 nr = op->len ? (op->len - 1) / w->mtu + 1 : 1;

	if (is_local(op))
		return 0;
	return rd ? 1 + nr : 2 * nr;	/* with a response for each */
}

/*
 * UD: to the peer or to itself.  A Q_Key with its high bit set means that of
 * the sender, which then is the right one if both have the same.
 */
static void plan_datagram(struct sim_node *n, struct sim_op *op)
{
	struct prng *rng = &n->w->rng;

	op->target = prng_chance(rng, 200) ? n : n->peer;
	op->qkey = op->target->req_attr.qkey;
	if (op->fault == SIM_BAD_QKEY)
		op->qkey ^= 1u << prng_below(rng, 31);
	else if (n->req_attr.qkey == op->qkey && prng_chance(rng, 300))
		op->qkey = 1u << 31 | (u32)prng_next(rng);
	if (op->fault == SIM_TOO_LONG)
		op->len = n->w->mtu + prng_range(rng, 1, 3);
}

/* Behind a good beginning, often: what was sent before it counts as sent. */
static void spoil_segments(struct sim_node *n, struct sim_op *op)
{
	u32 i, k, from = prng_below(&n->w->rng, op->nr_sge), left = 0;

	for (i = from; i < op->nr_sge; i++)
		left += op->sge[i].length;
	for (k = left ? from : 0; k < op->nr_sge; k++)
		op->sge[k].lkey ^= 0x300;
}

/* How many rows at the start of the table of opcodes there are to choose from. */
static u32 nr_opcodes(const struct sim_node *n, u32 all)
{
	if (sim_is_ud(n->w))
		return 3;
	if (!sim_is_rc(n->w))
		return 8;
	return n->req_attr.max_rd_atomic ? all : 9;
}

/*
 * A requester that does not count FLUSH and ATOMIC WRITE among what its peer can
 * answer at a time, as rxe does not.  A READ or an atomic is counted by all, so
 * that here there is one at most.
 */
static u8 greedy_opcode(const struct sim_node *n, const struct sim_op *op)
{
	u32 nr_planned = op - n->ops;
	u32 i;

	if (!n->is_greedy || !is_read_or_atomic(op))
		return op->opcode;
	for (i = 0; i < nr_planned; i++)
		if (is_read_or_atomic(&n->ops[i]))
			return op->id & 1 ? SHCA_WR_FLUSH : SHCA_WR_ATOMIC_WRITE;
	return op->opcode;
}

static void plan_op(struct sim_node *n, struct sim_op *op,
		    enum sim_op_fault fault)
{
	static const u8 opcodes[] = {
		SHCA_WR_SEND, SHCA_WR_SEND, SHCA_WR_SEND_WITH_IMM,
		SHCA_WR_RDMA_WRITE, SHCA_WR_RDMA_WRITE,
		SHCA_WR_RDMA_WRITE_WITH_IMM, SHCA_WR_LOCAL_INV,
		SHCA_WR_REG_MR, SHCA_WR_SEND_WITH_INV, SHCA_WR_RDMA_READ,
		SHCA_WR_RDMA_READ, SHCA_WR_ATOMIC_CMP_AND_SWP,
		SHCA_WR_ATOMIC_FETCH_AND_ADD, SHCA_WR_ATOMIC_WRITE,
		SHCA_WR_FLUSH,
	};
	struct sim_world *w = n->w;
	struct prng *rng = &w->rng;
	u32 nr = nr_opcodes(n, ARRAY_SIZE(opcodes));
	struct sim_region *rem = &n->peer->rem;
	u32 i;
	u8 *p;

	memset(op, 0, sizeof(*op));
	op->id = w->next_op++;
	op->opcode = opcodes[prng_below(rng, nr)];
	op->opcode = greedy_opcode(n, op);
	if (is_local(op) && prng_chance(rng, 700))
		op->opcode = SHCA_WR_RDMA_WRITE;
	if (!sim_is_ud(w) && prng_chance(rng, w->f.locals))
		op->opcode = SHCA_WR_REG_MR;
	if (op->opcode == SHCA_WR_REG_MR && op->id & 1)
		op->opcode = SHCA_WR_BIND_MW;
	op->flags = prng_chance(rng, 600) ? SHCA_SEND_SIGNALED : 0;
	op->flags |= prng_chance(rng, 150) ? SHCA_SEND_FENCE : 0;
	op->flags |= prng_chance(rng, 300) ? SHCA_SEND_SOLICITED : 0;
	op->len = pick_len(w);
	if (sim_is_ud(w))
		op->len = min_t(u32, op->len, w->mtu);
	op->len = min_t(u32, op->len, n->room);
	if (is_atomic_write(op))
		op->len = 8;
	if (is_flush(op))
		op->len = 0;
	n->room -= min_t(u32, op->len, n->room);
	op->imm = prng_next(rng);
	if (op->opcode != SHCA_WR_SEND_WITH_INV)
		op->imm = htobe32(op->imm);
	op->recv_idx = -1;
	if (is_local(op)) {
		op->len = 0;
		op->fault = fit_fault(w, op, fault);
		return;
	}
	if (sim_is_ud(w)) {
		op->fault = fault == SIM_TOO_LONG || fault == SIM_BAD_QKEY ?
			    fault : SIM_OK;
		plan_datagram(n, op);
	}
	if (is_flush(op)) {
		plan_flush(n, op);
		op->fault = fit_fault(w, op, fault);
		n->needed += op_packets(w, op);
		return;
	}
	if (is_atomic(op))
		plan_atomic(n, op);
	op->nr_sge = pick_sges(n, op->len, op->sge);
	if (op->opcode != SHCA_WR_RDMA_READ && !is_atomic(op)) {
		fill_segments(n, op);
		if (op->len <= 256 && prng_chance(rng, 250))
			make_inline(n, op);
	}
	op->fault = fit_fault(w, op, fault);
	if (sim_is_rc(w) &&
	    (is_send(op) || op->opcode == SHCA_WR_RDMA_WRITE_WITH_IMM))
		plan_recv(n, op);
	if (op->opcode == SHCA_WR_RDMA_WRITE ||
	    op->opcode == SHCA_WR_RDMA_WRITE_WITH_IMM ||
	    op->opcode == SHCA_WR_RDMA_READ)
		op->rem_va = sim_region_take(w, rem, op->len, 1);
	if (is_atomic_write(op))
		op->rem_va = sim_region_take(w, rem, op->len, 8);
	if (op->opcode == SHCA_WR_RDMA_READ) {
		p = sim_region_at(w, rem, op->rem_va, op->len);
		for (i = 0; i < op->len; i++)
			p[i] = sim_pattern(op, i);
	}
	op->slot_va = op->rem_va;
	if (op->fault == SIM_RKEY_RANGE)
		op->rem_va = rem->base + rem->len - op->len + 1 +
			     (is_atomic(op) || is_atomic_write(op)) * 7;
	if (op->fault == SIM_MISALIGNED)
		op->rem_va += prng_range(rng, 1, 7);
	if (op->fault == SIM_BAD_LKEY)
		spoil_segments(n, op);
	n->needed += op_packets(w, op);
}

static u32 plan_room(const struct sim_world *w)
{
	return w->mtu * (w->mtu == 256 ? 160 : 24);
}

/* Without a connection to lose there can be many; most fail half-way. */
static enum sim_op_fault another_fault(struct prng *rng)
{
	if (!prng_chance(rng, 150))
		return SIM_OK;
	return prng_chance(rng, 600) ? SIM_BAD_LKEY :
				       prng_range(rng, 1, SIM_FAULT_NR - 1);
}

/* Send queues of UC and UD survive their errors, so these are for any world. */
static bool plans_fault(struct sim_world *w, bool chosen)
{
	if (sim_is_rc(w))
		return chosen && !w->f.strict;
	return chosen || prng_chance(&w->rng, 200);
}

/*
 * A responder does not keep that many answers for a requester that loses one and
 * does not count them.  So this needs a link that loses nothing.
 */
static bool may_be_greedy(const struct sim_node *n)
{
	const struct sim_faults *f = &n->w->f;

	return sim_is_rc(n->w) && n->req_attr.max_rd_atomic > 1 &&
	       !f->rules && !f->loss && !f->corrupt && !f->reorder && !f->hostile;
}

static void plan_ops(struct sim_node *n, bool has_fault)
{
	struct prng *rng = &n->w->rng;
	enum sim_op_fault fault;
	u32 i, at = SIM_MAX_OPS;
	u8 *p;

	n->nr_ops = prng_chance(rng, 700) ? prng_range(rng, 1, 14) :
					    prng_below(rng, SIM_MAX_OPS);
	if (has_fault && n->nr_ops)
		at = prng_below(rng, n->nr_ops);
	n->room = plan_room(n->w);
	n->is_greedy = may_be_greedy(n) && prng_chance(rng, 500);
	if (sim_is_rc(n->w)) {
		n->counter_va = sim_region_take(n->w, &n->peer->rem, 8, 8);
		n->counter_model = prng_next(rng) | 1;
		p = sim_region_at(n->w, &n->peer->rem, n->counter_va, 8);
		memcpy(p, &(__le64){ htole64(n->counter_model) }, 8);
	}
	for (i = 0; i < n->nr_ops; i++) {
		fault = SIM_OK;
		if (i == at)
			fault = prng_range(rng, 1, SIM_FAULT_NR - 1);
		else if (has_fault && !sim_is_rc(n->w))
			fault = another_fault(rng);
		plan_op(n, &n->ops[i], fault);
	}
	/* so that the end is seen; RC: where requests have retired, too */
	if (n->nr_ops && (!sim_is_rc(n->w) || prng_chance(rng, 500)))
		n->ops[n->nr_ops - 1].flags |= SHCA_SEND_SIGNALED;
}

/* ---- an epoch ------------------------------------------------------------- */

static u32 pick_psn(struct prng *rng)
{
	if (prng_chance(rng, 300))	/* wraps soon */
		return SHCA_PSN_MASK - prng_below(rng, 40);
	return prng_next(rng) & SHCA_PSN_MASK;
}

/* 100 Mbit/s to 12.8 Gbit/s.  It follows from the seed alone: what is drawn stays as it was. */
u32 sim_rate(const struct sim_world *w, u32 idx)
{
	struct prng rng = { .state = w->seed + idx };

	return prng_chance(&rng, 125) ? 100000u << prng_below(&rng, 8) : 0;
}

static void pick_attr(struct sim_node *n)
{
	struct sim_faults *f = &n->w->f;
	struct prng *rng = &n->w->rng;
	struct shca_req_attr *a = &n->req_attr;
	u32 algorithm;

	memset(a, 0, sizeof(*a));
	a->mtu = n->w->mtu;
	a->sq_psn = pick_psn(rng);
	a->pkey = 0xffff;
	a->transport = n->w->transport;
	a->sqpn = n->qpn;
	a->qkey = prng_next(rng);
	/* the second of a pair: often the same as the first */
	if (n->idx & 1 && prng_chance(rng, 500))
		a->qkey = n->peer->req_attr.qkey;
	else if (prng_chance(rng, 600))
		a->qkey &= ~(1u << 31);
	a->retry_cnt = prng_below(rng, 8);
	a->rnr_retry = prng_below(rng, 8);
	a->max_rd_atomic = prng_below(rng, 9);
	a->peer = prng_chance(rng, 500) ? SHCA_PEER_FLUSHES_ACKS : 0;
	if (f->holds && !f->tells)
		a->peer |= SHCA_PEER_OOO;
	a->ooo = f->keeps;
	a->ecn = f->ecn;
	a->marking = prng_below(rng, 3);
	if (f->tells)
		a->marking = SHCA_RESV8A_ON;
	if (!sim_is_ud(n->w))
		a->rate_kbps = sim_rate(n->w, n->idx);
	/* one in four has none */
	algorithm = prng_below(rng, __SHCA_CC_ALGO_MAX + 1);
	if (algorithm) {
		a->cc.algorithm = algorithm - 1;
		a->cc.params = &shca_cc_presets;
	}
	a->cc.line = 125000ull << prng_below(rng, 17);
	/* 2.1 ms to 0.27 s, beyond any delay here */
	a->timeout_ns = shca_timeout_ns(prng_range(rng, 9, 16));
	if (f->strict) {
		a->retry_cnt = prng_range(rng, 3, 7);
		a->rnr_retry = 7;
		a->timeout_ns = shca_timeout_ns(prng_range(rng, 14, 16));
	} else if (prng_chance(rng, 300)) {
		a->timeout_ns = shca_timeout_ns(prng_range(rng, 0, 16));
	}
}

/* A peer that expects more than this responder offers is refused. */
static void permit_less(struct sim_node *n, struct shca_resp_attr *a)
{
	struct prng *rng = &n->w->rng;

	if (prng_chance(rng, 500))
		a->access &= prng_next(rng);
	else
		a->max_dest_rd_atomic =
			prng_below(rng, a->max_dest_rd_atomic + 1);
	n->peer->extra_status |= 1u << SHCA_WC_REM_INV_REQ_ERR;
}

static void start_node(struct sim_node *n)
{
	struct prng *rng = &n->w->rng;
	struct shca_resp_attr *a = &n->resp_attr;

	n->req_attr.dqpn = n->peer->qpn;
	memset(a, 0, sizeof(*a));
	a->mtu = n->w->mtu;
	a->rq_psn = n->peer->req_attr.sq_psn;
	a->dqpn = n->peer->qpn;
	a->pkey = 0xffff;
	a->transport = n->w->transport;
	a->qkey = n->req_attr.qkey;
	a->access = SHCA_ACCESS_REMOTE_WRITE | SHCA_ACCESS_REMOTE_READ |
		    SHCA_ACCESS_REMOTE_ATOMIC | SHCA_ACCESS_FLUSH_GLOBAL |
		    SHCA_ACCESS_FLUSH_PERSISTENT;
	a->min_rnr_timer = prng_range(rng, 1, prng_chance(rng, 50) ? 24 : 14);
	a->max_dest_rd_atomic = n->peer->req_attr.max_rd_atomic +
				prng_below(rng, 2);
	if (n->peer->is_greedy)
		a->max_dest_rd_atomic =
			prng_range(rng, 1, n->peer->req_attr.max_rd_atomic);
	a->cnp = n->w->f.ecn;
	a->cnp_interval_ns = 50000;
	a->marking = n->req_attr.marking;
	a->rate_kbps = n->req_attr.rate_kbps;
	a->peer = n->w->f.holds && !n->w->f.tells ? SHCA_PEER_OOO : 0;
	/* (of the seed alone: what is drawn stays as it was) */
	a->credits = n->w->transport == SHCA_TRANSPORT_RC &&
		     (n->w->seed ^ n->idx) & 1;
	a->tells_short = prng_chance(rng, 700);
	a->recvs = n->supply == n->peer->supply && !sim_is_rc(n->w) ? SHCA_RECVS_SRQ :
								       SHCA_RECVS_OWN;
	if (!n->w->f.strict && !n->w->f.is_clean && prng_chance(rng, 60))
		permit_less(n, a);
	shca_req_reset(&n->req);
	shca_resp_reset(&n->resp);
	memset(&n->req.stats, 0, sizeof(n->req.stats));
	memset(&n->resp.stats, 0, sizeof(n->resp.stats));
	n->req.cc.window = prng_chance(rng, 300) ? prng_range(rng, 1, 16) :
						SHCA_CC_WINDOW;
	n->req.psn.reach = n->w->reach;
	n->resp.reach = n->w->reach;
	shca_req_start(&n->req, &n->req_attr);
	shca_resp_start(&n->resp, a);
	n->state = SIM_NODE_RUN;
	sim_tape_ready(n, false);
	n->last_una_psn = n->req.psn.una;
}

/* Statuses that this world may inflict on any operation. */
static u32 world_excuses(const struct sim_node *n)
{
	const struct sim_faults *f = &n->w->f;
	u32 mask = 0;

	if (f->strict || !sim_is_rc(n->w))
		return 0;
	if (f->rules || f->loss || f->corrupt || f->reorder || f->dup || f->mem_retry ||
	    f->budget || f->link_busy || n->req_attr.timeout_ns < 5 * MS)
		mask |= 1u << SHCA_WC_RETRY_EXC_ERR;
	if (n->req_attr.rnr_retry != 7)
		mask |= 1u << SHCA_WC_RNR_RETRY_EXC_ERR;
	return mask;
}

static void wipe_node(struct sim_node *n)
{
	struct sim_world *w = n->w;
	u32 i;

	for (i = 0; i < n->nr_ops; i++)
		free(n->ops[i].inline_data);
	sim_region_free(&n->loc);
	sim_region_free(&n->rem);
	sim_unrel_wipe(n);
	sim_queue_purge(n);
	n->nr_ops = 0;
	n->nr_posted = 0;
	n->nr_done = 0;
	n->failed = false;
	n->nr_consuming = 0;
	n->next_atomic = 0;
	n->next_inv = 0;
	n->next_flush = 0;
	n->recv_posted = 0;
	n->recv_taken = 0;
	n->recv_done = 0;
	n->recv_failed = false;
	n->check_len = 0;
	n->quiet_until = 0;
	n->drops = 0;
	n->faults = 0;
	n->tx_req = 0;
	n->tx_resp = 0;
	n->tx_probes = 0;
	n->early = 0;
	n->rnrs = 0;
	n->is_held = false;
	n->unasked = 0;
	n->needed = 0;
	n->cnps = 0;
	n->extra_status = 0;
	n->is_alone = false;
	n->is_refused = false;
	n->qpn = ++w->next_qpn;
}

static void start_memory(struct sim_node *n)
{
	u32 room = plan_room(n->w);
	u32 gaps = SIM_MAX_OPS * SIM_MAX_SGE * 8;

	/* own payload, and the receive buffers with what they have to spare */
	sim_region_init(n->w, &n->loc, 2 * (room + gaps) + SIM_MAX_OPS * 220,
			SHCA_ACCESS_LOCAL_WRITE);
	sim_region_init(n->w, &n->rem, room + SIM_MAX_OPS * 20,
			SHCA_ACCESS_REMOTE_WRITE | SHCA_ACCESS_REMOTE_READ |
			SHCA_ACCESS_REMOTE_ATOMIC | SHCA_ACCESS_FLUSH_GLOBAL |
			SHCA_ACCESS_FLUSH_PERSISTENT);
}

static void some_time(struct sim_node *n, enum sim_ev_kind kind, u64 within)
{
	sim_push(n->w, n->w->now + prng_next(&n->w->rng) % within, kind, n->idx,
		 n->qpn, NULL);
}

static void start_events(struct sim_node *n)
{
	struct sim_faults *f = &n->w->f;
	struct prng *rng = &n->w->rng;

	some_time(n, SIM_EV_POST, MS);
	some_time(n, SIM_EV_RECV, MS);
	if (prng_chance(rng, 100))
		some_time(n, SIM_EV_DRAIN, 5 * MS);
	if (prng_chance(rng, 100))
		some_time(n, SIM_EV_PACE, 5 * MS);
	if (f->hostile)
		some_time(n, SIM_EV_FORGE, MS);
	if (f->strict)
		return;
	if (!f->is_clean && prng_chance(rng, 100))
		some_time(n, SIM_EV_ERROR, 20 * MS);
	if (!f->is_clean && !f->hostile && prng_chance(rng, 50))
		some_time(n, SIM_EV_RESET, 20 * MS);
	if (!f->is_clean && prng_chance(rng, 150))
		some_time(n, SIM_EV_DEREG, prng_chance(rng, 500) ? MS : 10 * MS);
}

/* Without a time-out a loss stands for ever, and only the owner ends it. */
static void push_last_call(struct sim_node *n)
{
	u64 wait = n->req_attr.timeout_ns ? LAST_CALL : 1000 * MS;

	sim_push(n->w, n->w->now + wait, SIM_EV_ERROR, n->idx, n->qpn, NULL);
}

static void start_supply(struct sim_node *n, bool has_fault)
{
	sim_unrel_plan_recvs(n, has_fault);
	sim_unrel_start(n);
}

static void start_epoch(struct sim_node *a, struct sim_node *b)
{
	struct sim_world *w = a->w;
	u32 faulty = prng_below(&w->rng, 5);

	sim_log(w, "epoch: nodes %u and %u", a->idx, b->idx);
	wipe_node(a);
	wipe_node(b);
	start_memory(a);
	start_memory(b);
	pick_attr(a);
	pick_attr(b);
	plan_ops(a, plans_fault(w, faulty == 0));
	plan_ops(b, plans_fault(w, faulty == 1));
	a->extra_status = world_excuses(a);
	b->extra_status = world_excuses(b);
	if (!sim_is_rc(w)) {
		start_supply(a, !w->f.strict && faulty == 2);
		start_supply(b, !w->f.strict && faulty == 3);
		if (prng_chance(&w->rng, 250))
			b->supply = a->supply;
	}
	start_node(a);
	start_node(b);
	sim_packets_start(a);
	sim_packets_start(b);
	start_events(a);
	start_events(b);
	push_last_call(a);
	push_last_call(b);
}

static bool node_complete(const struct sim_node *n)
{
	if (n->state == SIM_NODE_ERR)
		return n->nr_done == n->nr_posted;
	return n->nr_done == n->nr_ops &&
	       (!sim_is_rc(n->w) || n->recv_done == n->peer->nr_consuming);
}

static bool epoch_over(const struct sim_node *a, const struct sim_node *b)
{
	if (a->state == SIM_NODE_IDLE || a->state != b->state)
		return false;
	return node_complete(a) && node_complete(b);
}

/* A place to wait that is full loses packets in the best of worlds. */
static bool was_full(const struct sim_node *n)
{
	return n->queue[0].was_full || n->queue[1].was_full;
}

/*
 * Is its path slower than any of IBTA's (2.5 Gbit/s)?  Then the time between two packets may be
 * longer than a requester waits for the second, and it is right to ask once more.
 */
static bool is_slow(const struct sim_node *n)
{
	return n->req_attr.rate_kbps && n->req_attr.rate_kbps < 2500000;
}

/* Without any fault there is nothing to repeat. */
static void check_clean(struct sim_node *n)
{
	const struct sim_faults *f = &n->w->f;

	if (f->rules || f->loss || f->corrupt || f->reorder || f->dup || f->mem_retry || f->link_busy ||
	    f->jitter_ns || f->budget || f->hostile ||
	    n->req_attr.timeout_ns < 100 * MS || n->state != SIM_NODE_RUN ||
	    n->peer->resp.stats.rnr_naks_sent || was_full(n) || was_full(n->peer) ||
	    is_slow(n->peer))
		return;
	/* (After an RNR NAK the peer counts on what it has sent since, and not all was kept.) */
	sim_check(n->w, !n->req.stats.retransmits && !n->req.stats.timeouts &&
		  (!n->resp.stats.naks_sent || n->resp.stats.rnr_naks_sent),
		  "node %u: repeats in a perfect world", n->idx);
	sim_check(n->w, shca_req_idle(&n->req), "node %u: not idle at the end",
		  n->idx);
}

/*
 * Where nothing is lost nothing needs a time-out, however busy the links, and however
 * long memory takes to come.
 */
static void check_no_timeouts(struct sim_node *n)
{
	const struct sim_faults *f = &n->w->f;

	if (f->rules || f->loss || f->corrupt || f->reorder || f->dup || f->hostile ||
	    (f->mem_retry && !f->strict) || n->req_attr.timeout_ns < 100 * MS ||
	    n->state != SIM_NODE_RUN || was_full(n) || was_full(n->peer))
		return;
	sim_check(n->w, !n->req.stats.timeouts,
		  "node %u: time-outs where nothing is lost", n->idx);
}

/* Both QPs have said their last; ghosts of their packets may still come. */
static void check_over(struct sim_node *n)
{
	struct sim_node *a = n, *b = n->peer;

	if (!epoch_over(a, b))
		return;
	check_clean(a);
	check_clean(b);
	check_no_timeouts(a);
	check_no_timeouts(b);
	sim_check(n->w, !n->w->f.strict || a->state == SIM_NODE_RUN,
		  "node %u: error in a world without", n->idx);
	a->extra_status |= 1u << 31;
	if (b->extra_status >> 31)
		return;
	b->extra_status |= 1u << 31;
	some_time(a, SIM_EV_RESET, 100 * MS);
}

static void reset_conn(struct sim_node *n)
{
	struct sim_node *a = n, *b = n->peer;
	u32 conn = n->idx / 2;

	sim_model_epoch_end(a);
	sim_model_epoch_end(b);
	a->state = SIM_NODE_IDLE;
	b->state = SIM_NODE_IDLE;
	if (n->w->epochs_left[conn] && --n->w->epochs_left[conn])
		start_epoch(a, b);
}

/* ---- events --------------------------------------------------------------- */

static void post_recvs(struct sim_node *n)
{
	struct prng *rng = &n->w->rng;
	u32 nr = prng_range(rng, 1, prng_chance(rng, 500) ? 3 : 30);
	u64 wait = prng_chance(rng, 800) ? MS / 4 : 30 * MS;

	if (!sim_is_rc(n->w)) {
		n->supply->posted = min_t(u32, n->supply->posted + nr,
					  n->supply->nr);
		if (n->supply->posted < n->supply->nr)
			some_time(n, SIM_EV_RECV, wait);
		return;
	}
	n->recv_posted = min_t(u32, n->recv_posted + nr, n->peer->nr_consuming);
	if (n->recv_posted < n->peer->nr_consuming)
		some_time(n, SIM_EV_RECV, wait);
}

static void last_call(struct sim_node *n)
{
	sim_check(n->w, !n->req_attr.timeout_ns ||
		  n->nr_done == n->nr_ops || n->w->f.hostile,
		  "node %u: hangs: %u of %u done, una %06x max %06x", n->idx,
		  n->nr_done, n->nr_ops, n->req.psn.una, n->req.psn.max);
}

static void on_event(struct sim_world *w, struct sim_ev *ev)
{
	struct sim_node *n = &w->nodes[ev->node];
	struct prng *rng = &w->rng;

	/* what was meant for a QP that is no more */
	if (ev->arg && ev->arg != n->qpn)
		return;
	switch (ev->kind) {
	case SIM_EV_PACKET:
		if (n->state == SIM_NODE_IDLE)
			return;
		ev->wire = sim_run_join(n, ev->wire);
		sim_link_rx(n, ev->wire);
		return;
	case SIM_EV_TIMER:
		if (n->timer_at == ev->at)
			n->timer_at = 0;
		if (n->state != SIM_NODE_IDLE)
			sim_node_timer(n);
		return;
	case SIM_EV_POST:
		if (sim_node_post(n))
			some_time(n, SIM_EV_POST, MS / 2);
		else if (n->nr_posted < n->nr_ops && n->state != SIM_NODE_IDLE)
			some_time(n, SIM_EV_POST, 20 * MS);
		return;
	case SIM_EV_RECV:
		post_recvs(n);
		return;
	case SIM_EV_FETCHED:
		sim_node_fetched(n);
		return;
	case SIM_EV_PUMP:
		n->pump_queued = false;
		sim_node_pump(n);
		return;
	case SIM_EV_ERROR:
		if (n->state != SIM_NODE_RUN)
			return;
		if (w->now >= LAST_CALL)
			last_call(n);
		sim_node_error(n);
		return;
	case SIM_EV_RESET:
		reset_conn(n);
		return;
	case SIM_EV_DEREG:
		sim_region_vanish(n, prng_chance(rng, 500) ? &n->rem : &n->loc);
		return;
	case SIM_EV_DRAIN:
		n->req.draining = !n->req.draining;
		if (n->req.draining)
			some_time(n, SIM_EV_DRAIN, 5 * MS);
		sim_node_pump(n);
		return;
	case SIM_EV_PACE:
		shca_req_stall(&n->req, w->now + prng_next(rng) % (2 * MS));
		sim_node_pump(n);
		return;
	case SIM_EV_RESUME:
		sim_node_resume(n);
		return;
	case SIM_EV_FETCHED_RQ:
	case SIM_EV_FETCHED_SQ:
		sim_queue_fetched(n, ev->kind == SIM_EV_FETCHED_SQ);
		return;
	case SIM_EV_FED_RQ:
	case SIM_EV_FED_SQ:
		sim_queue_fed(n, ev->kind == SIM_EV_FED_SQ);
		return;
	case SIM_EV_HELD:
		sim_link_release(n, false);
		return;
	case SIM_EV_FORGE:
		sim_link_forge(n);
		if (prng_chance(rng, 950))
			some_time(n, SIM_EV_FORGE, MS / 20);
		return;
	}
}

static u32 sometimes(struct prng *rng, u32 permille, u32 max)
{
	return prng_chance(rng, permille) ? prng_range(rng, 1, max) : 0;
}

/* At random, as a rule, or each n-th packet; of one kind of packets now and then. */
static void pick_loss(struct sim_world *w)
{
	struct prng *rng = &w->rng;
	struct shca_fault_rule *rule = &w->loss_rule;

	*rule = (struct shca_fault_rule){
		.what = SHCA_FAULT_DROP,
		.stage = SHCA_FAULT_TX,
		.opcode = SHCA_FAULT_ANY_OPCODE,
		.when.probability = SHCA_FAULT_ALWAYS / 1000 * w->f.loss,
		.when.seed = prng_next(rng),
	};
	if (prng_chance(rng, 200)) {
		rule->when.probability = SHCA_FAULT_ALWAYS;
		rule->when.every = DIV_ROUND_UP(1000, w->f.loss);
		rule->when.nth = 1 + prng_below(rng, rule->when.every);
	}
	if (prng_chance(rng, 200))
		rule->type = prng_below(rng, SHCA_FAULT_TYPE_NR);
	shca_fault_start(&w->loss, w->now);
}

/*
 * Four kinds of worlds: nothing goes wrong but operations that were planned
 * so; much goes wrong, yet all must succeed; anything goes; and enemies.
 */
static void pick_world(struct sim_world *w)
{
	struct prng *rng = &w->rng;
	struct sim_faults *f = &w->f;
	static const u8 transports[] = {
		SHCA_TRANSPORT_RC, SHCA_TRANSPORT_RC, SHCA_TRANSPORT_RC,
		SHCA_TRANSPORT_XRC, SHCA_TRANSPORT_UC, SHCA_TRANSPORT_UD,
	};
	u32 kind = prng_below(rng, 20);

	w->transport = transports[prng_below(rng, ARRAY_SIZE(transports))];
	w->nr_conns = prng_chance(rng, 200) ? 2 : 1;
	w->mtu = prng_chance(rng, 600) ? 256 : 256 << prng_below(rng, 5);
	/* as between two QPs of one machine */
	w->reach = prng_chance(rng, 250) ? prng_range(rng, 2, 16) : 1;
	w->reach = min_t(u32, w->reach, SIM_PAY_MAX / w->mtu);
	f->delay_ns = prng_range(rng, 100, 50000);
	f->byte_ns = prng_below(rng, 3);
	f->pump_ns = prng_range(rng, 100, 20000);
	f->locals = sometimes(rng, 200, 700);
	f->fast = w->transport == SHCA_TRANSPORT_RC ?
		    sometimes(rng, 300, 1000) : 0;
	f->runs = sometimes(rng, 500, 1000);
	f->ecn = sometimes(rng, 100, 1000);
	f->together = sometimes(rng, 300, 900);
	/* (no draw of its own: the rest of the world is as it was) */
	f->holds = sim_is_rc(w) && w->reach == 1 && w->seed / 2 % 2;
	f->keeps = sim_is_rc(w) && w->reach == 1 && w->seed / 4 % 2;
	f->tells = f->holds && w->seed / 8 % 4 == 0;
	f->turn = w->seed / 32 % 2 ? 1 + w->seed / 64 % 4 : 0;
	f->is_clean = kind < 3;
	if (f->is_clean)
		return;
	f->strict = kind < 12;
	f->hostile = kind >= 17;
	f->loss = sometimes(rng, 700, prng_chance(rng, 200) ? 300 : 50);
	f->dup = sometimes(rng, 300, 100);
	f->reorder = sometimes(rng, 300, 250);
	f->corrupt = sometimes(rng, 300, 50);
	f->jitter_ns = sometimes(rng, 500, 200000);
	f->budget = sometimes(rng, 300, 8);
	f->mem_retry = sometimes(rng, 200, 100);
	f->link_busy = sometimes(rng, 200, 200);
	if (f->mem_retry)	/* what comes again has to be one packet */
		f->runs = 0;
	f->vanish = f->strict ? 0 : sometimes(rng, 200, 20);
	if (f->hostile)
		f->mutate = prng_range(rng, 1, 200);
	if (f->loss)
		pick_loss(w);
}

static void init_node(struct sim_world *w, u32 idx)
{
	struct sim_node *n = &w->nodes[idx];
	u32 stride = shca_req_stride(SIM_MAX_SGE);

	n->w = w;
	n->idx = idx;
	n->peer = &w->nodes[idx ^ 1];
	n->req_entries = 1u << prng_range(&w->rng, 0, 6);
	n->req_ring = malloc((size_t)n->req_entries * stride);
	memset(n->req_ring, 0xaa, (size_t)n->req_entries * stride);
	shca_req_init(&n->req, n->req_ring, n->req_entries, stride,
		      &sim_mem_ops, n);
	shca_resp_init(&n->resp, n->rd, SIM_RD_RING, &sim_mem_ops, n);
}

static bool world_over(const struct sim_world *w)
{
	u32 i;

	for (i = 0; i < 2 * w->nr_conns; i++)
		if (w->nodes[i].state != SIM_NODE_IDLE)
			return false;
	return true;
}

void sim_run(struct sim_world *w)
{
	struct sim_node *n;
	struct sim_ev ev;
	u32 i;

	w->rng.state = w->seed * 0x9e3779b97f4a7c15ull + 1;
	w->next_qpn = 0x100;	/* (the first ones are well-known) */
	pick_world(w);
	sim_rules_start(w);
	sim_tape_start(w);
	for (i = 0; i < 2 * w->nr_conns; i++)
		init_node(w, i);
	for (i = 0; i < w->nr_conns; i++) {
		w->epochs_left[i] = prng_chance(&w->rng, 300) ? 2 : 1;
		start_epoch(&w->nodes[2 * i], &w->nodes[2 * i + 1]);
	}
	while (!world_over(w)) {
		sim_check(w, w->nr_ev, "sim: no more events");
		sim_check(w, w->nr_events++ < MAX_EVENTS, "endless traffic");
		ev = pull(w);
		w->now = ev.at;
		sim_count_steps();
		on_event(w, &ev);
		free(ev.wire);
		n = &w->nodes[ev.node];
		if (n->state != SIM_NODE_IDLE && !(n->extra_status >> 31))
			check_over(n);
	}
	while (w->nr_ev)
		free(w->heap[--w->nr_ev].wire);
	free(w->heap);
	sim_rules_end(w);
	sim_tape_end(w);
	for (i = 0; i < 2 * w->nr_conns; i++) {
		wipe_node(&w->nodes[i]);
		free(w->nodes[i].req_ring);
	}
}
