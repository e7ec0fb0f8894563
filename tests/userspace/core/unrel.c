// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What must be true of UC and UD (IBTA 9.8.2, 9.8.3).  Their rules are short enough
 * to be told again in another form.  So the model predicts the result of each
 * packet that arrives.
 *
 * The simulated wire remembers which packet of which operation it carries, and the
 * model goes by that: it looks at no opcode and no PSN.  A UC message is delivered
 * if its packets arrive one directly after the other, from first to last.  Each of
 * them must be acceptable; otherwise the message is not delivered at all.  A
 * datagram is delivered as often as it arrives.
 */
#include "sim.h"

#define TOMB		0xdd

static bool is_write(const struct sim_op *op)
{
	return op->opcode == SHCA_WR_RDMA_WRITE ||
	       op->opcode == SHCA_WR_RDMA_WRITE_WITH_IMM;
}

static bool is_local(const struct sim_op *op)
{
	return op->opcode == SHCA_WR_LOCAL_INV ||
	       op->opcode == SHCA_WR_REG_MR || op->opcode == SHCA_WR_BIND_MW;
}

static bool has_imm(const struct sim_op *op)
{
	return op->opcode == SHCA_WR_SEND_WITH_IMM ||
	       op->opcode == SHCA_WR_RDMA_WRITE_WITH_IMM;
}

static u32 op_parts(const struct sim_world *w, const struct sim_op *op)
{
	return op->len ? (op->len - 1) / w->mtu + 1 : 1;
}

static u32 front(const struct sim_world *w)
{
	return sim_is_ud(w) ? SHCA_GRH_BYTES : 0;
}

/* ---- the plan ------------------------------------------------------------- */

/* Lengths around those of the messages to come; most are long enough. */
static u32 pick_recv_len(struct sim_node *n)
{
	struct prng *rng = &n->w->rng;
	struct sim_node *from = n->peer;
	u32 i, len = 0;

	if (!from->nr_ops)
		from = n;
	if (from->nr_ops && prng_chance(rng, 400)) {
		len = from->ops[prng_below(rng, from->nr_ops)].len;
	} else {
		for (i = 0; i < from->nr_ops; i++)
			len = max_t(u32, len, from->ops[i].len);
	}
	len += front(n->w) + (prng_chance(rng, 500) ? prng_below(rng, 100) : 0);
	return prng_chance(rng, 80) ? prng_below(rng, len + 1) : len;
}

static void plan_recv(struct sim_node *n, struct sim_recv *recv, u32 *room)
{
	struct prng *rng = &n->w->rng;
	u32 i, part, left;

	memset(recv, 0, sizeof(*recv));
	recv->len = min_t(u32, pick_recv_len(n), *room);
	*room -= recv->len;
	recv->nr_sge = prng_range(rng, 1, SIM_MAX_SGE);
	left = recv->len;
	for (i = 0; i < recv->nr_sge; i++) {
		part = i + 1 == recv->nr_sge ? left : prng_below(rng, left + 1);
		recv->sge[i].length = part;
		recv->sge[i].addr =
			sim_region_take(n->w, &n->own_supply.mem, part, 1);
		recv->sge[i].lkey = n->own_supply.mem.key;
		left -= part;
	}
}

void sim_unrel_plan_recvs(struct sim_node *n, bool has_fault)
{
	u32 room = n->w->mtu * 48 + SIM_MAX_RECVS * (SHCA_GRH_BYTES + 64);
	struct prng *rng = &n->w->rng;
	struct sim_supply *s = &n->own_supply;
	struct sim_recv *bad;
	u32 i;

	s->nr = n->peer->nr_ops ?
		prng_range(rng, 1, n->peer->nr_ops + n->peer->nr_ops / 2) : 0;
	sim_region_init(n->w, &s->mem, room + SIM_MAX_RECVS * SIM_MAX_SGE * 8,
			SHCA_ACCESS_LOCAL_WRITE);
	for (i = 0; i < s->nr; i++)
		plan_recv(n, &s->recv[i], &room);
	if (!has_fault || !s->nr)
		return;
	bad = &s->recv[prng_below(rng, s->nr)];
	bad->fault = prng_chance(rng, 500) ? SIM_RECV_MALFORMED :
					     SIM_RECV_BAD_LKEY;
	if (bad->fault == SIM_RECV_BAD_LKEY)
		for (i = 0; i < bad->nr_sge; i++)
			bad->sge[i].lkey ^= 0x300;
}

void sim_unrel_start(struct sim_node *n)
{
	n->held = -1;
	n->supply = &n->own_supply;
	n->written = calloc(1, n->rem.len);
}

void sim_unrel_wipe(struct sim_node *n)
{
	sim_region_free(&n->own_supply.mem);
	memset(&n->own_supply, 0, sizeof(n->own_supply));
	free(n->written);
	n->written = NULL;
	n->held = -1;
	n->msg = NULL;
	n->heard = false;
	n->is_sqe = false;
	n->first_live = 0;
	n->has_sent = false;
}

/* ---- the requester -------------------------------------------------------- */

static void check_psn(struct sim_node *n, const struct shca_pkt *pkt)
{
	const struct sim_faults *f = &n->w->f;
	s32 diff = shca_psn_diff(pkt->psn, n->last_psn);

	/* What was built and refused, and then failed, leaves a gap. */
	if (n->has_sent)
		sim_check(n->w, diff == 1 || (diff > 0 && f->link_busy),
			  "node %u: psn %06x after %06x", n->idx, pkt->psn,
			  n->last_psn);
	n->has_sent = true;
	n->last_psn = shca_psn_add(pkt->psn, pkt->span);
}

/* Each packet of each operation leaves once, in order. */
void sim_unrel_tx(struct sim_node *n, const struct shca_pkt *pkt)
{
	struct sim_world *w = n->w;
	u32 idx = pkt->wr->wr_id, i;
	struct sim_op *op = &n->ops[idx];
	const struct sim_op *before;

	sim_check(w, (pkt->opcode & SHCA_TRANSPORT_MASK) == w->transport,
		  "node %u: opcode %02x of another transport", n->idx,
		  pkt->opcode);
	sim_check(w, pkt->off == op->nr_left * w->mtu,
		  "node %u: op %u: byte %u where %u packets have left", n->idx,
		  idx, pkt->off, op->nr_left);
	for (i = n->first_live; i < idx; i++) {
		before = &n->ops[i];
		sim_check(w, is_local(before) ||
			  before->nr_left == op_parts(w, before),
			  "node %u: op %u sent before %u has left", n->idx, idx,
			  i);
	}
	op->nr_left += pkt->span + 1;
	sim_check(w, !pkt->ackreq && !pkt->again,
		  "node %u: op %u repeated or to be acknowledged", n->idx, idx);
	check_psn(n, pkt);
	if (sim_is_ud(w))
		sim_check(w, pkt->deth.sqpn == n->qpn &&
			  pkt->deth.qkey == (op->qkey >> 31 ?
					     n->req_attr.qkey : op->qkey),
			  "node %u: op %u: DETH", n->idx, idx);
}

/* @op completed successfully: wherever it is now, it has left. */
void sim_unrel_done(struct sim_node *n, const struct sim_op *op)
{
	sim_check(n->w, is_local(op) || op->nr_left == op_parts(n->w, op),
		  "node %u: op %u done with %u of %u packets sent", n->idx,
		  (u32)(op - n->ops), op->nr_left, op_parts(n->w, op));
	if (!is_local(op))
		sim_bury(n, &n->loc, op->sge, op->nr_sge);
}

/* ---- the responder: what must become of a packet --------------------------- */

enum fate {
	LOST,			/* dropped, nothing changes */
	TAKEN,			/* executed, the message goes on or is silent */
	DELIVERED,		/* a receive completes */
	SPOILED,		/* a receive completes in error, the QP goes on */
	FAILED,			/* a receive completes in error, so does the QP */
	LATER,			/* the same packet again */
};

struct verdict {
	enum fate fate;
	u8 status;
	int recv;		/* receive taken, or held already; -1: none */
	bool perhaps;		/* refused before or after it was taken */
	bool gives_up;		/* executed, and what was held for another is told */
};

/* The receive that this packet finds, held from before or to be taken. */
static struct sim_recv *find_recv(struct sim_node *n, int held, u32 taken,
				  struct verdict *v)
{
	struct sim_supply *s = n->supply;

	v->recv = held >= 0 ? held : taken < s->posted ? (int)taken : -1;
	if (v->recv < 0)
		return NULL;
	if (s->recv[v->recv].fault == SIM_RECV_MALFORMED) {
		v->fate = FAILED;
		v->status = SHCA_WC_LOC_QP_OP_ERR;
	}
	return &s->recv[v->recv];
}

static void recv_denied(struct verdict *v)
{
	v->fate = FAILED;
	v->status = SHCA_WC_LOC_PROT_ERR;
}

static void recv_too_short(const struct sim_node *n, struct verdict *v)
{
	if (!n->resp_attr.tells_short)
		return;
	v->fate = SPOILED;
	v->status = SHCA_WC_LOC_LEN_ERR;
}

/* UD: the datagram of @op arrives. */
static void judge_ud(struct sim_node *n, const struct sim_wire *wire, u32 qkey,
		     int held, u32 taken, struct verdict *v)
{
	const struct sim_op *op = wire->op;
	struct sim_recv *recv;

	if (qkey != n->resp_attr.qkey)
		return;
	recv = find_recv(n, held, taken, v);
	if (!recv || v->fate == FAILED)
		return;
	if (op->len + SHCA_GRH_BYTES > recv->len) {
		recv_too_short(n, v);
		return;
	}
	if (n->access == SHCA_MEM_RETRY) {
		recv->dirty = SHCA_GRH_BYTES;
		v->fate = LATER;
	} else if (n->access != SHCA_MEM_OK) {
		recv->dirty = recv->len;
		recv_denied(v);
	} else {
		v->fate = DELIVERED;
	}
}

/* Does the packet directly follow what came before it? */
static bool continues(struct sim_node *n, const struct sim_wire *wire)
{
	if (wire->part && (n->msg != wire->op || n->msg_part != wire->part))
		return false;
	n->msg = wire->op;
	n->msg_part = wire->part + wire->span + 1;
	return true;
}

static bool write_denied(const struct sim_node *n, const struct sim_op *op)
{
	if (!(n->resp_attr.access & SHCA_ACCESS_REMOTE_WRITE))
		return true;
	/* it had not come to that */
	return n->access != SHCA_MEM_RETRY &&
	       (op->fault == SIM_BAD_RKEY || op->fault == SIM_RKEY_RANGE);
}

static void judge_uc_write(struct sim_node *n, const struct sim_wire *wire,
			   u32 len, bool last, int held, u32 taken,
			   struct verdict *v)
{
	const struct sim_op *op = wire->op;
	u32 at = op->slot_va - n->rem.base + wire->part * n->w->mtu;
	const struct sim_recv *recv = NULL;

	if (write_denied(n, op))
		return;
	if (last && has_imm(op))
		recv = find_recv(n, held, taken, v);
	if (n->access == SHCA_MEM_RETRY) {
		v->fate = LATER;
		v->perhaps = true;
		return;
	}
	if (n->access != SHCA_MEM_OK) {
		v->fate = LOST;
		v->perhaps = true;
		return;
	}
	if (last && has_imm(op) && (!recv || v->fate == FAILED))
		return;
	memset(n->written + at, 1, len);
	v->fate = last && has_imm(op) ? DELIVERED : TAKEN;
}

static void judge_uc_send(struct sim_node *n, const struct sim_wire *wire,
			  u32 len, bool last, int held, u32 taken,
			  struct verdict *v)
{
	struct sim_recv *recv = find_recv(n, held, taken, v);
	u32 end = wire->part * n->w->mtu + len;

	if (!recv || v->fate == FAILED)
		return;
	if (end > recv->len) {
		recv_too_short(n, v);
		return;
	}
	if (n->access == SHCA_MEM_RETRY) {
		v->fate = LATER;
		return;
	}
	if (n->access != SHCA_MEM_OK) {
		recv_denied(v);
		return;
	}
	recv->dirty = max_t(u32, recv->dirty, end);
	v->fate = last ? DELIVERED : TAKEN;
}

/*
 * A message is lost, or a WRITE has come in its place, which needs no receive.  A
 * receive of an SRQ is not kept for the next message.
 */
static void judge_broken(struct sim_node *n, const struct sim_wire *wire,
			 int held, u32 taken, struct verdict *v)
{
	if (n->resp_attr.recvs == SHCA_RECVS_OWN)
		return;
	if (v->fate == TAKEN && is_write(wire->op) && held >= 0) {
		v->recv = held;
		v->gives_up = true;
		v->status = SHCA_WC_REM_ABORT_ERR;
	}
	if (v->fate != LOST)
		return;
	if (held < 0 && n->supply->taken != taken)
		held = taken;
	if (held < 0)
		return;
	v->recv = held;
	v->fate = SPOILED;
	v->status = SHCA_WC_REM_ABORT_ERR;
}

static void judge_uc(struct sim_node *n, const struct sim_wire *wire, int held,
		     u32 taken, struct verdict *v)
{
	const struct sim_op *op = wire->op;
	u32 off = wire->part * n->w->mtu;
	u32 len = min_t(u32, op->len - off, (wire->span + 1) * n->w->mtu);
	bool last = off + len == op->len;

	if (!continues(n, wire)) {
		n->msg = NULL;
		return;
	}
	if (is_write(op))
		judge_uc_write(n, wire, len, last, held, taken, v);
	else
		judge_uc_send(n, wire, len, last, held, taken, v);
	if (v->fate == LATER && wire->part)
		n->msg_part = wire->part;	/* it is still the next */
	else if (v->fate != TAKEN)
		n->msg = NULL;
}

/* ---- completions ----------------------------------------------------------- */

static void check_grh(struct sim_node *n, struct sim_recv *recv,
		      const struct sim_wire *wire)
{
	u32 i, k, off = 0;
	u8 *p;

	for (i = 0; i < recv->nr_sge; i++) {
		p = sim_region_at(n->w, &n->supply->mem, recv->sge[i].addr,
				  recv->sge[i].length);
		for (k = 0; k < recv->sge[i].length; k++, off++)
			if (off < SHCA_GRH_BYTES)
				sim_check(n->w,
					  p[k] == sim_grh_byte(wire, off),
					  "node %u: byte %u of the GRH is wrong",
					  n->idx, off);
	}
}

static void check_data(struct sim_node *n, struct sim_recv *recv,
		       const struct sim_op *op)
{
	u32 i, k, off = 0, start = front(n->w);
	u8 *p;

	for (i = 0; i < recv->nr_sge; i++) {
		p = sim_region_at(n->w, &n->supply->mem, recv->sge[i].addr,
				  recv->sge[i].length);
		for (k = 0; k < recv->sge[i].length; k++, off++)
			if (off >= start && off - start < op->len)
				sim_check(n->w, p[k] ==
					  sim_pattern(op, off - start),
					  "node %u: byte %u of op %u is wrong",
					  n->idx, off - start, op->id);
	}
}

static void check_datagram(struct sim_node *n, const struct sim_wire *wire,
			   const struct shca_wc *wc)
{
	sim_check(n->w, wc->src_qp == wire->from_qpn && wc->has_path &&
		  wc->wc_flags & SHCA_WC_GRH &&
		  wc->path.slid == (u16)wire->from_qpn &&
		  wc->path.sl == (wire->from_qpn & 7),
		  "node %u: source of a datagram", n->idx);
}

static void check_delivery(struct sim_node *n, const struct sim_wire *wire,
			   const struct shca_wc *wc, struct sim_recv *recv)
{
	const struct sim_op *op = wire->op;
	u16 flags = wc->wc_flags & ~(sim_is_ud(n->w) ? SHCA_WC_GRH : 0);

	sim_check(n->w, wc->opcode == (is_write(op) ?
				       SHCA_WC_RECV_RDMA_WITH_IMM :
				       SHCA_WC_RECV) &&
		  wc->byte_len == op->len + front(n->w),
		  "node %u: receive %u: opcode %u byte_len %u", n->idx,
		  (u32)wc->wr_id, wc->opcode, wc->byte_len);
	sim_check(n->w, flags == (has_imm(op) ? SHCA_WC_WITH_IMM : 0) &&
		  (!has_imm(op) || wc->imm == op->imm),
		  "node %u: receive %u: immediate data", n->idx,
		  (u32)wc->wr_id);
	sim_check(n->w, wc->solicited == !!(op->flags & SHCA_SEND_SOLICITED),
		  "node %u: receive %u: solicited", n->idx, (u32)wc->wr_id);
	recv->done = true;
	if (is_write(op))
		return;
	check_data(n, recv, op);
	if (sim_is_ud(n->w)) {
		check_grh(n, recv, wire);
		check_datagram(n, wire, wc);
	}
	sim_bury(n, &n->supply->mem, recv->sge, recv->nr_sge);
	recv->buried = true;
}

static void check_verdict(struct sim_node *n, const struct sim_wire *wire,
			  const struct verdict *v, enum shca_verdict rx,
			  const struct shca_resp_out *out)
{
	bool completes = v->fate == DELIVERED || v->fate == SPOILED ||
			 v->fate == FAILED || v->gives_up;
	bool executed = v->fate == DELIVERED || v->fate == TAKEN;
	struct sim_world *w = n->w;

	sim_check(w, executed == (rx == SHCA_RX_OK) &&
		  (v->fate == LATER) == (rx == SHCA_RX_RETRY),
		  "node %u: op %u part %u: verdict %d, outcome %d", n->idx,
		  wire->op->id, wire->part, rx, v->fate);
	sim_check(w, out->has_wc == completes &&
		  (v->fate == FAILED) == (n->resp.state == SHCA_SIDE_ERR),
		  "node %u: op %u part %u: completion %d state %d, outcome %d",
		  n->idx, wire->op->id, wire->part, out->has_wc, n->resp.state,
		  v->fate);
	if (!completes)
		return;
	sim_check(w, (int)out->wc.wr_id == v->recv &&
		  out->wc.status == v->status,
		  "node %u: receive %u status %u, want %d status %u", n->idx,
		  (u32)out->wc.wr_id, out->wc.status, v->recv, v->status);
	if (v->fate == DELIVERED)
		check_delivery(n, wire, &out->wc, &n->supply->recv[v->recv]);
}

/* Tracks which receive the QP holds; this is true whatever arrives. */
static void follow_recv(struct sim_node *n, const struct shca_resp_out *out)
{
	struct sim_recv *recv;

	if (!out->has_wc)
		return;
	sim_check(n->w, out->wc.is_recv && n->held >= 0 &&
		  out->wc.wr_id == (u32)n->held,
		  "node %u: completion of receive %u, held is %d", n->idx,
		  (u32)out->wc.wr_id, n->held);
	recv = &n->supply->recv[n->held];
	sim_check(n->w, !recv->done, "node %u: receive %d completes twice",
		  n->idx, n->held);
	recv->done = out->wc.status == SHCA_WC_SUCCESS;
	n->held = -1;
}

static u32 sent_qkey(const struct sim_wire *wire)
{
	u32 qkey = wire->op->qkey;

	return qkey >> 31 ? wire->from->req_attr.qkey : qkey;
}

enum shca_verdict sim_unrel_rx(struct sim_node *n, const struct shca_pkt *pkt)
{
	bool was_up = n->resp.state == SHCA_SIDE_READY;
	bool comm_est = sim_is_ud(n->w) || n->heard;
	const struct sim_wire *wire = pkt->data;
	struct verdict v = { .fate = LOST, .recv = -1 };
	u32 taken = n->supply->taken;
	struct shca_resp_out out;
	int held = n->held;
	enum shca_verdict rx;

	n->access = SHCA_MEM_OK;
	rx = shca_resp_rx(&n->resp, pkt, n->w->now, &out);
	if (out.has_wc)
		sim_log(n->w, "node %u recv wc %u status %u len %u", n->idx,
			(u32)out.wc.wr_id, out.wc.status, out.wc.byte_len);
	follow_recv(n, &out);
	if (n->w->f.hostile || !wire->op)
		return rx;
	sim_check(n->w, out.events == (was_up && !comm_est ?
				       SHCA_EV_COMM_EST : 0),
		  "node %u: events %x", n->idx, out.events);
	if (!was_up) {
		sim_check(n->w, rx == SHCA_RX_STATE && !out.has_wc,
			  "node %u: verdict %d in error", n->idx, rx);
		return rx;
	}
	n->heard = true;
	if (sim_is_ud(n->w))
		judge_ud(n, wire, sent_qkey(wire), held, taken, &v);
	else
		judge_uc(n, wire, held, taken, &v);
	if (!sim_is_ud(n->w))
		judge_broken(n, wire, held, taken, &v);
	check_verdict(n, wire, &v, rx, &out);
	sim_check(n->w, n->supply->taken - taken ==
		  (held < 0 && v.recv >= 0) ||
		  (v.perhaps && n->supply->taken == taken),
		  "node %u: took %u receives", n->idx,
		  n->supply->taken - taken);
	return rx;
}

/* The receive of a broken message is flushed with the QP, and only that. */
void sim_unrel_flush(struct sim_node *n)
{
	struct shca_wc wc;

	if (shca_resp_flush(&n->resp, &wc)) {
		sim_check(n->w, n->held >= 0 && wc.wr_id == (u32)n->held &&
			  wc.is_recv && wc.status == SHCA_WC_WR_FLUSH_ERR,
			  "node %u: flush of receive %u, held is %d", n->idx,
			  (u32)wc.wr_id, n->held);
		n->held = -1;
	}
	sim_check(n->w, n->held < 0, "node %u: receive %d is never flushed",
		  n->idx, n->held);
}

/* ---- the end of an epoch ---------------------------------------------------- */

/* Each byte that a WRITE could reach: written if the model says so. */
static void check_written(struct sim_node *n)
{
	struct sim_node *r = n->peer;
	const struct sim_op *op;
	u32 i, k, at;
	u8 *cover, want;

	cover = calloc(1, n->rem.len);
	for (i = 0; i < r->nr_ops; i++) {
		op = &r->ops[i];
		if (!is_write(op))
			continue;
		for (k = 0; k < op->len; k++) {
			at = op->slot_va - n->rem.base + k;
			want = n->written[at] ? sim_pattern(op, k) :
						sim_background(&n->rem, at);
			sim_check(n->w, n->rem.mem[at] == want,
				  "node %u: WRITE %u: byte %u is %s", n->idx,
				  op->id, k, n->written[at] ? "lost" :
							      "too many");
			cover[at] = 1;
		}
	}
	sim_check_rest(n, &n->rem, cover);
	free(cover);
}

static void cover_recv(struct sim_node *n, const struct sim_recv *recv,
		       u8 *cover)
{
	const struct sim_region *r = &n->own_supply.mem;
	u32 i, k, at, off = 0;

	for (i = 0; i < recv->nr_sge; i++) {
		at = recv->sge[i].addr - r->base;
		for (k = 0; k < recv->sge[i].length; k++, off++) {
			cover[at + k] = off < recv->dirty ||
					recv->buried;
			sim_check(n->w, !recv->buried ||
				  r->mem[at + k] == TOMB,
				  "node %u: receive written to after its end",
				  n->idx);
		}
	}
}

static void check_recvs(struct sim_node *n)
{
	struct sim_supply *s = &n->own_supply;
	u8 *cover = calloc(1, s->mem.len);
	u32 i;

	for (i = 0; i < s->nr; i++)
		cover_recv(n, &s->recv[i], cover);
	sim_check_rest(n, &s->mem, cover);
	free(cover);
}

void sim_unrel_epoch_end(struct sim_node *n)
{
	u8 *cover = calloc(1, n->loc.len);

	sim_cover_own(n, cover);
	sim_check_rest(n, &n->loc, cover);
	free(cover);
	if (n->w->f.hostile) {
		sim_check_rest(n, &n->rem, NULL);
		sim_check_rest(n, &n->own_supply.mem, NULL);
		return;
	}
	check_written(n);
	check_recvs(n);
	sim_check(n->w, !n->req.stats.retransmits && !n->req.stats.timeouts &&
		  !n->resp.stats.tx_pkts, "node %u: answers or repeats", n->idx);
}
