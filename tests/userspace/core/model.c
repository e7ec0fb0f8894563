// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What must be true.  The model knows the plan of each requester and watches
 * completions, packets and memory; it never looks at how the core came to its
 * verdicts.
 */
#include "sim.h"

#define MASK(status)	(1u << (status))
/* What a buffer is filled with once its completion was seen. */
#define TOMB		0xdd

static bool is_read(const struct sim_op *op)
{
	return op->opcode == SHCA_WR_RDMA_READ;
}

static bool is_atomic(const struct sim_op *op)
{
	return op->opcode == SHCA_WR_ATOMIC_CMP_AND_SWP ||
	       op->opcode == SHCA_WR_ATOMIC_FETCH_AND_ADD;
}

static bool is_write(const struct sim_op *op)
{
	return op->opcode == SHCA_WR_RDMA_WRITE ||
	       op->opcode == SHCA_WR_RDMA_WRITE_WITH_IMM ||
	       op->opcode == SHCA_WR_ATOMIC_WRITE;
}

/* Answered by a response that carries nothing. */
static bool is_bare(const struct sim_op *op)
{
	return op->opcode == SHCA_WR_FLUSH ||
	       op->opcode == SHCA_WR_ATOMIC_WRITE;
}

static bool is_inv(const struct sim_op *op)
{
	return op->opcode == SHCA_WR_SEND_WITH_INV;
}

static bool is_send(const struct sim_op *op)
{
	return op->opcode == SHCA_WR_SEND ||
	       op->opcode == SHCA_WR_SEND_WITH_IMM || is_inv(op);
}

/* Executed where it is posted, without a packet. */
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

/* ---- data ----------------------------------------------------------------- */

/* Segments hold the pattern of @op for @len bytes; then bury them. */
static void check_segments(struct sim_node *n, const struct sim_op *op,
			   const struct shca_sge *sge, u32 nr, u32 len,
			   const char *what)
{
	u32 i, k, off = 0;
	u8 *p;

	for (i = 0; i < nr; i++) {
		p = sim_region_at(n->w, &n->loc, sge[i].addr, sge[i].length);
		for (k = 0; k < sge[i].length && off < len; k++, off++) {
			sim_check(n->w, p[k] == sim_pattern(op, off),
				  "node %u: %s of op %u: byte %u is wrong",
				  n->idx, what, op->id, off);
			p[k] = TOMB;
		}
	}
}

static void check_write(struct sim_node *n, const struct sim_op *op)
{
	struct sim_node *t = n->peer;
	u8 *p = sim_region_at(n->w, &t->rem, op->rem_va, op->len);
	u32 i;

	for (i = 0; i < op->len; i++) {
		sim_check(n->w, p[i] == sim_pattern(op, i),
			  "node %u: WRITE op %u: byte %u is wrong", n->idx,
			  (u32)(op - n->ops), i);
		p[i] = TOMB;
	}
}

static void check_atomic(struct sim_node *n, const struct sim_op *op)
{
	u8 *p, bytes[8];
	u32 i, k, off = 0;
	u64 v;

	for (i = 0; i < op->nr_sge; i++) {
		p = sim_region_at(n->w, &n->loc, op->sge[i].addr,
				  op->sge[i].length);
		for (k = 0; k < op->sge[i].length && off < 8; k++, off++) {
			bytes[off] = p[k];
			p[k] = TOMB;
		}
	}
	memcpy(&v, bytes, sizeof(v));
	sim_check(n->w, v == op->atomic_before,
		  "node %u: atomic op %u returned the wrong value", n->idx,
		  (u32)(op - n->ops));
}

/*
 * Completed, so the owner may reuse it: what is sent from here later, or placed
 * here, shows.
 */
void sim_bury(struct sim_node *n, struct sim_region *r,
	      const struct shca_sge *sge, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		memset(sim_region_at(n->w, r, sge[i].addr, sge[i].length), TOMB,
		       sge[i].length);
}

/* Faults that the requester cannot know of, where nothing is acknowledged. */
static bool fails_unheard(const struct sim_node *n, const struct sim_op *op)
{
	return !sim_is_rc(n->w) &&
	       (op->fault == SIM_BAD_RKEY || op->fault == SIM_RKEY_RANGE ||
		op->fault == SIM_BAD_QKEY);
}

/* Operation @idx is known to be complete. */
static void op_done(struct sim_node *n, u32 idx)
{
	struct sim_op *op = &n->ops[idx];
	struct sim_node *t = n->peer;

	sim_check(n->w, op->fault == SIM_OK || fails_unheard(n, op) ||
		  (n->w->f.hostile && sim_is_rc(n->w)),
		  "node %u: op %u succeeded with fault %d", n->idx, idx,
		  op->fault);
	op->done = true;
	if (!sim_is_rc(n->w)) {
		sim_unrel_done(n, op);
		return;
	}
	if (n->w->f.hostile)
		return;
	sim_check(n->w, op->started, "node %u: op %u done, never sent", n->idx,
		  idx);
	if (op->recv_idx >= 0)
		sim_check(n->w, t->recv_done > (u32)op->recv_idx,
			  "node %u: op %u done before its receive", n->idx,
			  idx);
	if (is_write(op))
		check_write(n, op);
	else if (is_read(op))
		check_segments(n, op, op->sge, op->nr_sge, op->len, "READ");
	else if (is_atomic(op))
		check_atomic(n, op);
	if (is_read(op))
		memset(sim_region_at(n->w, &t->rem, op->rem_va, op->len), TOMB,
		       op->len);
	if (is_write(op) || is_send(op))
		sim_bury(n, &n->loc, op->sge, op->nr_sge);
}

/* ---- send completions ----------------------------------------------------- */

static u32 excused(const struct sim_node *n, const struct sim_op *op)
{
	static const u32 by_fault[SIM_FAULT_NR] = {
		[SIM_BAD_LKEY] = MASK(SHCA_WC_LOC_PROT_ERR),
		[SIM_BAD_RKEY] = MASK(SHCA_WC_REM_ACCESS_ERR),
		[SIM_RKEY_RANGE] = MASK(SHCA_WC_REM_ACCESS_ERR),
		[SIM_BAD_WR] = MASK(SHCA_WC_LOC_QP_OP_ERR),
		[SIM_RECV_SHORT] = MASK(SHCA_WC_REM_INV_REQ_ERR),
		[SIM_RECV_BAD_LKEY] = MASK(SHCA_WC_REM_OP_ERR),
		[SIM_RECV_MALFORMED] = MASK(SHCA_WC_REM_OP_ERR),
		[SIM_MISALIGNED] = MASK(SHCA_WC_REM_INV_REQ_ERR),
		[SIM_BAD_INV] = MASK(SHCA_WC_REM_ACCESS_ERR),
		[SIM_BAD_LOCAL] = MASK(SHCA_WC_MW_BIND_ERR),
		[SIM_TOO_LONG] = MASK(SHCA_WC_LOC_LEN_ERR),
	};

	u32 mask = n->extra_status;

	if (!fails_unheard(n, op))
		mask |= by_fault[op->fault];
	/* nobody answers any more, but what is at fault was told so before */
	if (n->is_alone && op->fault == SIM_OK)
		mask |= MASK(SHCA_WC_RETRY_EXC_ERR);
	return mask;
}

/*
 * Its answer is lost or overtaken by the refusal of a request behind it, or by a copy of
 * that.  Nobody will answer it any more.
 */
static u32 refused_behind(const struct sim_node *n, const struct sim_op *op)
{
	const struct sim_faults *f = &n->w->f;
	u32 mask = 0;

	if (!n->is_refused || !(f->rules || f->loss || f->corrupt || f->reorder ||
				f->dup || f->mem_retry) ||
	    !(is_read(op) || is_atomic(op) || is_bare(op)))
		return 0;
	while (++op < &n->ops[n->nr_posted])
		if (op->started)
			mask |= excused(n, op);
	return mask & (MASK(SHCA_WC_REM_INV_REQ_ERR) |
		       MASK(SHCA_WC_REM_ACCESS_ERR) |
		       MASK(SHCA_WC_REM_OP_ERR));
}

static void check_wc_opcode(struct sim_node *n, const struct sim_op *op,
			    const struct shca_wc *wc)
{
	static const u8 of[] = {
		[SHCA_WR_RDMA_WRITE] = SHCA_WC_RDMA_WRITE,
		[SHCA_WR_RDMA_WRITE_WITH_IMM] = SHCA_WC_RDMA_WRITE,
		[SHCA_WR_SEND] = SHCA_WC_SEND,
		[SHCA_WR_SEND_WITH_IMM] = SHCA_WC_SEND,
		[SHCA_WR_SEND_WITH_INV] = SHCA_WC_SEND,
		[SHCA_WR_LOCAL_INV] = SHCA_WC_LOCAL_INV,
		[SHCA_WR_REG_MR] = SHCA_WC_REG_MR,
		[SHCA_WR_BIND_MW] = SHCA_WC_BIND_MW,
		[SHCA_WR_RDMA_READ] = SHCA_WC_RDMA_READ,
		[SHCA_WR_ATOMIC_CMP_AND_SWP] = SHCA_WC_COMP_SWAP,
		[SHCA_WR_ATOMIC_FETCH_AND_ADD] = SHCA_WC_FETCH_ADD,
		[SHCA_WR_FLUSH] = SHCA_WC_FLUSH,
		[SHCA_WR_ATOMIC_WRITE] = SHCA_WC_ATOMIC_WRITE,
	};

	if (op->fault == SIM_BAD_WR)
		return;
	sim_check(n->w, wc->opcode == of[op->opcode],
		  "node %u: completion opcode %u", n->idx, wc->opcode);
}

/* The detail belongs to the status, and what says nothing is zero. */
static void check_wc_rest(struct sim_node *n, const struct shca_wc *wc)
{
	bool is_memory = wc->vendor_err >= SHCA_VERR_KEY &&
			 wc->vendor_err <= SHCA_VERR_RANGE;
	bool fits = true;

	switch (wc->status) {
	case SHCA_WC_SUCCESS:
	case SHCA_WC_WR_FLUSH_ERR:
		fits = wc->vendor_err == SHCA_VERR_NONE;
		break;
	case SHCA_WC_LOC_PROT_ERR:
	case SHCA_WC_LOC_ACCESS_ERR:
		fits = is_memory;
		break;
	case SHCA_WC_REM_INV_REQ_ERR:
	case SHCA_WC_REM_ACCESS_ERR:
	case SHCA_WC_REM_OP_ERR:
		fits = wc->vendor_err == SHCA_VERR_NAK;
		break;
	case SHCA_WC_RNR_RETRY_EXC_ERR:
		fits = wc->vendor_err == SHCA_VERR_RNR;
		break;
	case SHCA_WC_RETRY_EXC_ERR:
		fits = wc->vendor_err == SHCA_VERR_TIMEOUT ||
		       wc->vendor_err == SHCA_VERR_SEQ_NAK ||
		       wc->vendor_err == SHCA_VERR_RESPONSE;
		break;
	}
	sim_check(n->w, fits, "node %u: status %u with detail %u", n->idx,
		  wc->status, wc->vendor_err);
	sim_check(n->w, wc->is_recv || (!wc->imm && !wc->src_qp &&
		  !wc->xrc_srqn && !wc->solicited && !wc->has_path),
		  "node %u: send completion tells of a receive", n->idx);
	sim_check(n->w, wc->status == SHCA_WC_SUCCESS ||
		  (!wc->byte_len && !wc->imm && !wc->wc_flags &&
		   (!wc->is_recv || wc->opcode == SHCA_WC_RECV)),
		  "node %u: fields of a completion in error", n->idx);
}

void sim_model_send_wc(struct sim_node *n, const struct shca_wc *wc)
{
	struct sim_world *w = n->w;
	u32 idx = wc->wr_id;
	struct sim_op *op = &n->ops[idx];

	sim_tape_complete(n, wc);
	sim_log(w, "node %u send wc op %u status %u verr %u", n->idx, idx,
		wc->status, wc->vendor_err);
	sim_check(w, idx >= n->nr_done && idx < n->nr_posted,
		  "node %u: completion of op %u after %u", n->idx, idx,
		  n->nr_done);
	sim_check(w, !wc->is_recv && !wc->wc_flags && !wc->own && !n->req.ring.own,
		  "node %u: send completion with flags", n->idx);
	check_wc_opcode(n, op, wc);
	check_wc_rest(n, wc);

	if (n->failed) {
		sim_check(w, idx == n->nr_done &&
			  wc->status == SHCA_WC_WR_FLUSH_ERR,
			  "node %u: op %u status %u after an error", n->idx,
			  idx, wc->status);
		n->nr_done++;
		return;
	}
	for (; n->nr_done < idx; n->nr_done++) {
		sim_check(w, !(n->ops[n->nr_done].flags & SHCA_SEND_SIGNALED),
			  "node %u: completion of op %u missing", n->idx,
			  n->nr_done);
		op_done(n, n->nr_done);
	}
	n->nr_done++;
	if (wc->status == SHCA_WC_SUCCESS) {
		sim_check(w, op->flags & SHCA_SEND_SIGNALED,
			  "node %u: op %u was not signalled", n->idx, idx);
		sim_check(w, wc->byte_len == (is_read(op) ? op->len :
					      is_atomic(op) ? 8 : 0),
			  "node %u: op %u byte_len", n->idx, idx);
		op_done(n, idx);
		return;
	}
	n->failed = true;
	sim_check(w, wc->status != SHCA_WC_RETRY_EXC_ERR || !n->is_refused,
		  "node %u: op %u exhausts its retries after a fatal NAK",
		  n->idx, idx);
	if (wc->status == SHCA_WC_RETRY_EXC_ERR)
		sim_packet_gave_up(n);
	sim_check(w, (excused(n, op) | refused_behind(n, op)) &
		  MASK(wc->status) || w->f.hostile,
		  "node %u: op %u (fault %d) ended with status %u verr %u",
		  n->idx, idx, op->fault, wc->status, wc->vendor_err);
}

/*
 * An unsignalled request ends without a completion, when it and all before it have
 * been acknowledged.  For the last ones this is the only sign.
 */
void sim_model_retired(struct sim_node *n)
{
	u32 end = n->state == SIM_NODE_ERR ? n->quiet : n->nr_posted;

	if (!sim_is_rc(n->w) || n->req.ring.head != n->req.ring.prod ||
	    (n->req.state != SHCA_SIDE_READY && n->state != SIM_NODE_ERR))
		return;
	for (; n->nr_done < end; n->nr_done++) {
		sim_check(n->w, !(n->ops[n->nr_done].flags & SHCA_SEND_SIGNALED),
			  "node %u: completion of op %u missing", n->idx,
			  n->nr_done);
		op_done(n, n->nr_done);
	}
}

/* ---- receive completions -------------------------------------------------- */

static u32 excused_recv(const struct sim_node *n, const struct sim_op *op)
{
	static const u32 by_fault[SIM_FAULT_NR] = {
		[SIM_RECV_SHORT] = MASK(SHCA_WC_LOC_LEN_ERR),
		[SIM_RECV_BAD_LKEY] = MASK(SHCA_WC_LOC_PROT_ERR),
		[SIM_RECV_MALFORMED] = MASK(SHCA_WC_LOC_QP_OP_ERR),
		[SIM_BAD_INV] = MASK(SHCA_WC_LOC_ACCESS_ERR),
		/* of a WRITE with immediate data */
		[SIM_BAD_RKEY] = MASK(SHCA_WC_LOC_ACCESS_ERR),
		[SIM_RKEY_RANGE] = MASK(SHCA_WC_LOC_ACCESS_ERR),
	};
	/* memory gone: of a SEND, or of a WRITE whose receive was taken */
	u32 extra = n->extra_status & (MASK(SHCA_WC_LOC_PROT_ERR) |
				       MASK(SHCA_WC_LOC_ACCESS_ERR));

	return by_fault[op->fault] | extra | MASK(SHCA_WC_WR_FLUSH_ERR);
}

static void check_recv(struct sim_node *n, const struct sim_op *op,
		       const struct shca_wc *wc)
{
	sim_check(n->w, wc->opcode == (is_send(op) ? SHCA_WC_RECV :
				       SHCA_WC_RECV_RDMA_WITH_IMM) &&
		  wc->byte_len == op->len,
		  "node %u: receive %u: opcode %u byte_len %u", n->idx,
		  n->recv_done, wc->opcode, wc->byte_len);
	sim_check(n->w, wc->wc_flags == (has_imm(op) ? SHCA_WC_WITH_IMM :
					 is_inv(op) ? SHCA_WC_WITH_INV : 0) &&
		  (!wc->wc_flags || wc->imm == op->imm),
		  "node %u: receive %u: immediate data", n->idx, n->recv_done);
	sim_check(n->w, wc->solicited == !!(op->flags & SHCA_SEND_SOLICITED),
		  "node %u: receive %u: solicited", n->idx, n->recv_done);
	sim_check(n->w, wc->xrc_srqn == sim_srqn(n->w, op),
		  "node %u: receive %u: of SRQ %x", n->idx, n->recv_done,
		  wc->xrc_srqn);
	sim_check(n->w, op->started, "node %u: receive %u of nothing", n->idx,
		  n->recv_done);
	if (is_send(op))
		check_segments(n, op, op->recv_sge, op->nr_recv_sge, op->len,
			       "receive");
}

void sim_model_recv_wc(struct sim_node *n, const struct shca_wc *wc)
{
	struct sim_world *w = n->w;
	struct sim_op *op;

	sim_tape_complete(n, wc);
	sim_log(w, "node %u recv wc %u status %u len %u", n->idx,
		(u32)wc->wr_id, wc->status, wc->byte_len);
	sim_check(w, wc->is_recv && wc->wr_id == n->recv_done &&
		  n->recv_done < n->recv_taken && !n->recv_failed,
		  "node %u: receive completion %u after %u", n->idx,
		  (u32)wc->wr_id, n->recv_done);
	op = &n->peer->ops[n->peer->recv_of[n->recv_done]];
	check_wc_rest(n, wc);
	if (wc->status == SHCA_WC_SUCCESS) {
		if (!w->f.hostile)
			check_recv(n, op, wc);
		op->recv_done = true;
		n->recv_done++;
		return;
	}
	n->recv_failed = true;
	sim_check(w, excused_recv(n, op) & MASK(wc->status) || w->f.hostile,
		  "node %u: receive %u (fault %d) ended with status %u",
		  n->idx, n->recv_done, op->fault, wc->status);
}

/* ---- atomics -------------------------------------------------------------- */

/* @n executes an atomic: it must be its peer's next one, and only once. */
void sim_model_atomic(struct sim_node *n, const struct shca_pkt *pkt,
		      u64 before)
{
	struct sim_node *r = n->peer;
	const struct sim_op *op;
	bool is_add = (pkt->opcode & ~SHCA_TRANSPORT_MASK) == SHCA_OP_FETCH_ADD;

	if (n->w->f.hostile)
		return;
	while (r->next_atomic < r->nr_ops &&
	       !is_atomic(&r->ops[r->next_atomic]))
		r->next_atomic++;
	sim_check(n->w, r->next_atomic < r->nr_posted,
		  "node %u executes an atomic too many", n->idx);
	op = &r->ops[r->next_atomic++];
	sim_check(n->w, is_add == (op->opcode == SHCA_WR_ATOMIC_FETCH_AND_ADD) &&
		  pkt->atomic.swap_add == (is_add ? op->compare_add : op->swap) &&
		  (is_add || pkt->atomic.compare == op->compare_add) &&
		  before == op->atomic_before,
		  "node %u executes an atomic out of order or twice", n->idx);
}

/* ---- FLUSH ------------------------------------------------------------------ */

/*
 * @n executes a FLUSH: its peer's next one, only once, and all that the peer
 * wrote before stands in memory.
 */
void sim_model_flush(struct sim_node *n, const struct shca_pkt *pkt)
{
	struct sim_node *r = n->peer;
	const struct sim_op *op;
	u32 i, k;
	u8 *p;

	if (n->w->f.hostile)
		return;
	while (r->next_flush < r->nr_ops &&
	       r->ops[r->next_flush].opcode != SHCA_WR_FLUSH)
		r->next_flush++;
	sim_check(n->w, r->next_flush < r->nr_posted,
		  "node %u executes a FLUSH too many", n->idx);
	op = &r->ops[r->next_flush];
	sim_check(n->w, pkt->feth.type == (op->imm & 0xff) &&
		  pkt->feth.level == op->imm >> 8 &&
		  pkt->reth.va == op->rem_va && pkt->reth.len == op->swap,
		  "node %u executes a FLUSH out of order or twice", n->idx);
	for (i = 0; i < r->next_flush; i++) {
		op = &r->ops[i];
		if (!is_write(op) || op->done)
			continue;
		p = sim_region_at(n->w, &n->rem, op->rem_va, op->len);
		for (k = 0; k < op->len; k++)
			sim_check(n->w, p[k] == sim_pattern(op, k),
				  "node %u: op %u is not in memory at FLUSH %u",
				  n->idx, i, r->next_flush);
	}
	r->next_flush++;
}

/* An answer of the peer's, which was not dropped: it is in error by its own word. */
void sim_model_refusal(struct sim_node *n, const struct shca_pkt *pkt)
{
	if ((pkt->opcode & ~SHCA_TRANSPORT_MASK) == SHCA_OP_ACK &&
	    (pkt->aeth.syndrome & SHCA_AETH_TYPE) == SHCA_AETH_NAK &&
	    (pkt->aeth.syndrome & SHCA_AETH_VALUE) != SHCA_NAK_PSN_SEQ)
		n->is_refused = true;
}

/* A response was accepted: is it that of a FLUSH or an ATOMIC WRITE? */
void sim_model_bare_answer(struct sim_node *n, const struct shca_pkt *pkt)
{
	struct sim_op *op;
	u32 i;

	if ((pkt->opcode & ~SHCA_TRANSPORT_MASK) != SHCA_OP_READ_RESP_ONLY)
		return;
	for (i = 0; i < n->nr_posted; i++) {
		op = &n->ops[i];
		if (is_bare(op) && op->started && op->psn == pkt->psn)
			op->placed = 8;
	}
}

/* ---- invalidation and local requests --------------------------------------- */

/* @n is asked by its peer to invalidate: in order, and only once. */
bool sim_model_invalidate(struct sim_node *n, u32 rkey)
{
	struct sim_node *r = n->peer;
	const struct sim_op *op;

	if (n->w->f.hostile)
		return prng_chance(&n->w->rng, 800);
	while (r->next_inv < r->nr_ops && !is_inv(&r->ops[r->next_inv]))
		r->next_inv++;
	sim_check(n->w, r->next_inv < r->nr_posted,
		  "node %u: invalidates once too often", n->idx);
	op = &r->ops[r->next_inv++];
	sim_check(n->w, rkey == op->imm, "node %u: invalidates another key",
		  n->idx);
	return op->fault != SIM_BAD_INV;
}

static void check_start(struct sim_node *n, u32 idx);

enum shca_wc_status sim_model_local(struct sim_node *n,
				    const struct shca_send_wr *wr)
{
	struct sim_op *op = &n->ops[wr->wr_id];

	sim_check(n->w, !op->started, "node %u: local op %u executed twice",
		  n->idx, (u32)wr->wr_id);
	check_start(n, wr->wr_id);
	op->started = true;
	return op->fault == SIM_BAD_LOCAL ? SHCA_WC_MW_BIND_ERR :
					    SHCA_WC_SUCCESS;
}

/* ---- packets -------------------------------------------------------------- */

static void check_fence(struct sim_node *n, u32 idx)
{
	const struct sim_op *op;
	u32 i;

	for (i = 0; i < idx; i++) {
		op = &n->ops[i];
		if (is_read(op))
			sim_check(n->w, op->placed == op->len,
				  "node %u: op %u sent across the fence after "
				  "READ %u", n->idx, idx, i);
		else if (is_atomic(op) || is_bare(op))
			sim_check(n->w, op->placed == 8,
				  "node %u: op %u sent across the fence after "
				  "atomic %u", n->idx, idx, i);
	}
}

static void check_start(struct sim_node *n, u32 idx)
{
	const struct sim_op *op = &n->ops[idx];
	u32 i, rds = 0;

	sim_check(n->w, !n->req.draining, "node %u: op %u begun in SQD", n->idx,
		  idx);
	sim_check(n->w, idx == n->first_live || n->ops[idx - 1].started,
		  "node %u: op %u sent before its turn", n->idx, idx);
	for (i = n->first_live; i < idx; i++)
		sim_check(n->w, n->ops[i].fault != SIM_BAD_WR &&
			  n->ops[i].fault != SIM_TOO_LONG &&
			  n->ops[i].fault != SIM_BAD_LOCAL &&
			  /* unless what had left before was enough */
			  (!n->ops[i].failed || i < n->req.ring.una),
			  "node %u: op %u sent after a malformed one", n->idx,
			  idx);
	if (n->w->f.hostile)
		return;
	if (op->flags & SHCA_SEND_FENCE)
		check_fence(n, idx);
	if (!is_read(op) && !is_atomic(op) && !is_bare(op))
		return;
	for (i = 0; i < idx; i++) {
		if (is_read(&n->ops[i]) && n->ops[i].len)
			rds += n->ops[i].placed < n->ops[i].len;
		else if (is_atomic(&n->ops[i]) || is_bare(&n->ops[i]))
			rds += !n->ops[i].placed;
	}
	sim_check(n->w, rds < n->req_attr.max_rd_atomic,
		  "node %u: op %u is one READ or atomic too many", n->idx, idx);
}

/*
 * The core knows what has left before.  It may take for repeated what was in a
 * batch with repeated packets and did not leave with them.
 */
static void check_repetition(struct sim_node *n, struct sim_op *op,
			     const struct shca_pkt *pkt)
{
	const struct sim_faults *f = &n->w->f;
	u32 part = pkt->off / n->w->mtu;
	bool again = part < op->nr_left;

	sim_check(n->w, pkt->again == again ||
		  (pkt->again && (f->link_busy || f->mem_retry)),
		  "node %u: op %u part %u: again is %d", n->idx,
		  (u32)(op - n->ops), part, pkt->again);
	/* Half of it new: the peer would drop that half as a repetition. */
	sim_check(n->w, !again || part + pkt->span < op->nr_left ||
		  f->link_busy || f->mem_retry,
		  "node %u: op %u part %u: %u more, %u have left", n->idx,
		  (u32)(op - n->ops), part, pkt->span, op->nr_left);
	op->nr_left = max_t(u32, op->nr_left, part + pkt->span + 1);
}

/*
 * An ACK probe belongs to no request.  It carries nothing, and its PSN is one that
 * the peer has executed.  So it changes nothing, whatever was lost meanwhile.  A
 * PSN before the first one is of another life of the peer's QP.
 */
static void check_probe(struct sim_node *n, const struct shca_pkt *pkt)
{
	s32 behind = shca_psn_diff(pkt->psn, n->peer->resp.epsn);

	n->tx_probes++;
	n->probes_out++;
	n->unasked = 0;
	sim_check(n->w, sim_is_rc(n->w) && pkt->ackreq && !pkt->paylen &&
		  pkt->again && (behind < 0 || n->w->f.hostile),
		  "node %u: ACK probe at psn %06x, %d from what is expected",
		  n->idx, pkt->psn, behind);
	sim_check(n->w, shca_psn_diff(pkt->psn, n->req_attr.sq_psn) >= 0,
		  "node %u: ACK probe at psn %06x, which never was", n->idx,
		  pkt->psn);
}

/*
 * A requester that waits has asked; one of a few packets asks even if nobody waits.
 */
static void check_asks(struct sim_node *n, const struct sim_op *op,
		       const struct shca_pkt *pkt, u32 flags)
{
	if (!sim_is_rc(n->w)) {
		sim_check(n->w, !pkt->ackreq, "node %u: AckReq", n->idx);
		return;
	}
	/* What is sent again asks with its end. */
	if (pkt->ackreq || pkt->psn != n->next_psn)
		n->unasked = 0;
	n->unasked += !pkt->ackreq;
	n->next_psn = shca_psn_add(pkt->psn, pkt->span + 1);
	/* nor what has its answer */
	n->unasked = min_t(u32, n->unasked,
			   shca_psn_off(n->next_psn, n->req.psn.una));
	sim_check(n->w, pkt->ackreq || !(flags & SHCA_OPF_END) ||
		  !(op->flags & SHCA_SEND_SIGNALED),
		  "node %u: op %u does not ask for its answer", n->idx,
		  (u32)(op - n->ops));
	sim_check(n->w, pkt->ackreq || !(flags & SHCA_OPF_END) ||
		  n->req_attr.peer & SHCA_PEER_FLUSHES_ACKS ||
		  (sim_may_mark(n) && n->req.attr.peer & SHCA_PEER_FLUSHES_ACKS) ||
		  (u32)(op - n->ops) + 1 < n->nr_posted,
		  "node %u: op %u is the last word to a peer of unknown vendor, and does not ask",
		  n->idx, (u32)(op - n->ops));
	sim_check(n->w, n->unasked * 4 < SHCA_CC_WINDOW &&
		  (!(flags & SHCA_OPF_END) || !n->unasked ||
		   n->unasked * 4 < n->req_entries),
		  "node %u: %u packets, and none asks", n->idx, n->unasked);
}

void sim_model_tx(struct sim_node *n, const struct shca_pkt *pkt)
{
	u32 flags = shca_opcode_info(pkt->opcode)->flags;
	struct sim_world *w = n->w;
	struct sim_op *op;
	u32 idx, i;

	sim_check(w, flags && pkt->mig && pkt->span < w->reach &&
		  pkt->paylen <= (pkt->span + 1) * w->mtu &&
		  (!pkt->span || pkt->paylen > pkt->span * w->mtu) &&
		  (sim_is_ud(w) || pkt->dqpn == n->peer->qpn) &&
		  pkt->pad == shca_hdr_pad(pkt->paylen) &&
		  pkt->psn == (pkt->psn & SHCA_PSN_MASK),
		  "node %u: header of psn %06x", n->idx, pkt->psn);
	sim_packet_mark(n, pkt);
	n->cnps += pkt->opcode == SHCA_OPCODE_CNP;
	sim_packet_count(n, pkt);
	if (flags & SHCA_OPF_RESPONSE) {
		sim_check(w, sim_is_rc(w), "node %u: an answer", n->idx);
		n->tx_resp++;
		sim_packet_answer(n, pkt);
		return;
	}
	n->tx_req++;
	sim_check(w, w->now >= n->quiet_until,
		  "node %u: psn %06x sent during the RNR wait", n->idx,
		  pkt->psn);
	if (!pkt->wr) {
		check_probe(n, pkt);
		return;
	}
	idx = pkt->wr->wr_id;
	op = &n->ops[idx];
	if (is_bare(op))
		op->psn = pkt->psn;
	sim_packet_request(n, op, pkt);
	if (sim_is_rc(w))
		sim_packet_order(n, op, pkt);
	check_asks(n, op, pkt, flags);
	sim_check(w, !op->done, "node %u: op %u sent after its end", n->idx,
		  idx);
	for (i = idx + 1; i < n->nr_posted; i++)
		sim_check(w, n->ops[i].opcode != SHCA_WR_LOCAL_INV ||
			  !n->ops[i].started,
			  "node %u: op %u sent after LOCAL_INV %u", n->idx, idx,
			  i);
	sim_check(w, !op->target || pkt->dqpn == op->target->qpn,
		  "node %u: op %u goes to QP %u", n->idx, idx, pkt->dqpn);
	if (sim_is_rc(w))
		check_repetition(n, op, pkt);
	else
		sim_unrel_tx(n, pkt);
	sim_check(w, pkt->se == (op->flags & SHCA_SEND_SOLICITED &&
				 flags & SHCA_OPF_END &&
				 (is_send(op) || has_imm(op))),
		  "node %u: op %u solicited bit", n->idx, idx);
}

/* A request packet was handed out; whether it leaves is another matter. */
void sim_model_pull(struct sim_node *n, const struct shca_pkt *pkt)
{
	struct sim_op *op;

	if (!pkt->wr)
		return;
	op = &n->ops[pkt->wr->wr_id];
	sim_check(n->w, !n->is_held || pkt->psn != n->held_psn,
		  "node %u: psn %06x asked for before its memory is there",
		  n->idx, pkt->psn);
	sim_check(n->w, !op->failed, "node %u: psn %06x again after it failed",
		  n->idx, pkt->psn);
	if (!op->started)
		check_start(n, pkt->wr->wr_id);
	op->started = true;
}

/* A message of one packet takes the fast path. */
void sim_model_fast(struct sim_node *n, const struct shca_send_wr *wr)
{
	struct sim_op *op = &n->ops[wr->wr_id];

	sim_check(n->w, wr->wr_id < n->nr_posted && op->len <= n->w->mtu &&
		  (is_send(op) || is_write(op) || is_read(op)) &&
		  !is_bare(op) && !is_inv(op),
		  "node %u: op %u takes the fast path", n->idx,
		  (u32)wr->wr_id);
	if (!op->started)
		check_start(n, wr->wr_id);
	op->started = true;
	op->nr_left = 1;
	if (is_read(op))
		op->placed = op->len;
	n->unasked = 0;
	n->next_psn = shca_psn_add(n->req.psn.next, 1);
	n->last_una_psn = n->next_psn;
	n->drops = 0;
}

/* ---- the end of an epoch -------------------------------------------------- */

enum { COVER_NONE, COVER_MAYBE, COVER_TOMB, COVER_ANY };

/* What may stand in bytes that belong to an operation. */
static void check_cover(struct sim_node *n, struct sim_region *r, u8 *cover,
			u64 va, u32 len, const struct sim_op *op, u32 off,
			int kind)
{
	u32 at = va - r->base;
	u32 i;
	u8 b;

	for (i = 0; i < len; i++) {
		b = r->mem[at + i];
		cover[at + i] = 1;
		if (kind == COVER_ANY)
			continue;
		if (kind == COVER_TOMB)
			sim_check(n->w, b == TOMB,
				  "node %u: op %u: byte %u changed after the "
				  "end", n->idx, op->id, off + i);
		else
			sim_check(n->w, b == sim_background(r, at + i) ||
				  (kind == COVER_MAYBE &&
				   b == sim_pattern(op, off + i)),
				  "node %u: op %u: byte %u is neither old nor "
				  "new", n->idx, op->id, off + i);
	}
}

static void cover_sges(struct sim_node *n, u8 *cover, const struct sim_op *op,
		       const struct shca_sge *sge, u32 nr, u32 len, int kind)
{
	u32 i, part, off = 0;

	for (i = 0; i < nr; i++) {
		part = min_t(u32, sge[i].length, len - off);
		check_cover(n, &n->loc, cover, sge[i].addr, part, op, off,
			    kind);
		off += part;
	}
}

void sim_cover_own(struct sim_node *n, u8 *cover)
{
	const struct sim_op *op;
	u32 i, len;
	int kind;

	for (i = 0; i < n->nr_ops; i++) {
		op = &n->ops[i];
		if (is_local(op) || op->opcode == SHCA_WR_FLUSH)
			continue;
		kind = COVER_ANY;	/* sources: the core cannot write there */
		len = op->len;
		if (is_read(op) || is_atomic(op)) {
			kind = op->done ? COVER_TOMB :
			       op->started ? COVER_MAYBE : COVER_NONE;
			if (is_atomic(op) && !op->done)
				kind = COVER_ANY;
		}
		if (n->w->f.hostile)
			kind = COVER_ANY;
		cover_sges(n, cover, op, op->sge, op->nr_sge, len, kind);
	}
}

static void cover_recv(struct sim_node *n, u8 *cover)
{
	const struct sim_op *op;
	u32 i, len;
	int kind;

	for (i = 0; i < n->peer->nr_consuming; i++) {
		op = &n->peer->ops[n->peer->recv_of[i]];
		len = min_t(u32, op->len, op->recv_len);
		kind = op->recv_done ? COVER_TOMB :
		       op->started ? COVER_MAYBE : COVER_NONE;
		if (is_write(op))
			len = 0;
		if (n->w->f.hostile) {
			kind = COVER_ANY;
			len = op->recv_len;
		}
		cover_sges(n, cover, op, op->recv_sge, op->nr_recv_sge, len,
			   kind);
	}
}

static void cover_remote(struct sim_node *n, u8 *cover)
{
	struct sim_node *r = n->peer;
	const struct sim_op *op;
	u32 i;
	int kind;

	for (i = 0; i < r->nr_ops; i++) {
		op = &r->ops[i];
		if (!is_write(op) && !is_read(op))
			continue;
		kind = op->done ? COVER_TOMB : op->started ? COVER_MAYBE :
		       COVER_NONE;
		if (is_read(op))
			kind = op->done ? COVER_TOMB : COVER_MAYBE;
		check_cover(r, &n->rem, cover, op->slot_va, op->len, op, 0,
			    kind);
	}
	memset(cover + (r->counter_va - n->rem.base), 1, 8);
}

/* No byte has changed outside of what a request was told to write. */
void sim_check_rest(struct sim_node *n, struct sim_region *r, const u8 *cover)
{
	u32 i;

	for (i = 0; i < SIM_GUARD; i++)
		sim_check(n->w, r->alloc[i] == 0xa5 &&
			  r->mem[r->len + i] == 0xa5,
			  "node %u: guard of a region", n->idx);
	for (i = 0; cover && i < r->len; i++)
		sim_check(n->w, cover[i] || r->mem[i] == sim_background(r, i),
			  "node %u: byte %u of region %08x belongs to nobody",
			  n->idx, i, r->key);
}

/* @n executed its peer's atomics up to @next_atomic, each once. */
static void check_counter(struct sim_node *n)
{
	struct sim_node *r = n->peer;
	u64 want = r->counter_model;
	__le64 v;
	u32 i;

	for (i = r->next_atomic; i < r->nr_ops; i++) {
		if (is_atomic(&r->ops[i])) {
			want = r->ops[i].atomic_before;
			break;
		}
	}
	memcpy(&v, sim_region_at(n->w, &n->rem, r->counter_va, 8), sizeof(v));
	sim_check(n->w, le64toh(v) == want, "node %u: final value of the counter",
		  n->idx);
}

/*
 * Traffic is in proportion.  The plan needs its packets.  Each thing that went
 * wrong adds at most twice what can be outstanding, with the NAKs.  The first time
 * is the repair.  The second time repairs what was still missing when the round
 * trip was over.
 */
static void check_storm(struct sim_node *n)
{
	u64 faults = n->faults + n->peer->resp.stats.rnr_naks_sent;
	u64 sent = n->tx_req + n->peer->tx_resp - n->peer->cnps;
	u64 each = 2 * (min_t(u64, n->needed, 160) + 1);

	/* An answer that is late is asked for again, less and less often. */
	sim_check(n->w, n->early <= 16 * (n->nr_ops + faults),
		  "node %u: %llu times early", n->idx,
		  (unsigned long long)n->early);
	faults += n->early;

	/* Each with its answer, about what was left behind by some request. */
	sim_check(n->w, n->tx_probes <= n->nr_ops + faults * each,
		  "node %u: %llu ACK probes", n->idx,
		  (unsigned long long)n->tx_probes);
	sent -= min_t(u64, sent, 2 * n->tx_probes);
	sim_check(n->w, sent <= n->needed + faults * each,
		  "node %u: storm: %llu packets for %llu and %llu faults",
		  n->idx, (unsigned long long)sent,
		  (unsigned long long)n->needed, (unsigned long long)faults);
}

void sim_model_epoch_end(struct sim_node *n)
{
	u8 *cover;

	n->w->stat_again += n->req.stats.retransmits;

	sim_packet_counts_end(n);
	if (!sim_is_rc(n->w)) {
		sim_unrel_epoch_end(n);
		return;
	}
	cover = calloc(1, n->loc.len);
	sim_cover_own(n, cover);
	cover_recv(n, cover);
	sim_check_rest(n, &n->loc, cover);
	free(cover);
	if (n->w->f.hostile) {	/* who holds the key may write anywhere */
		sim_check_rest(n, &n->rem, NULL);
		return;
	}
	cover = calloc(1, n->rem.len);
	cover_remote(n, cover);
	sim_check_rest(n, &n->rem, cover);
	free(cover);
	check_counter(n);
	check_storm(n);
}
