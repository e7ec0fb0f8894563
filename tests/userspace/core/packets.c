// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What each packet must say.  The plan alone gives the PSNs of every operation, the
 * opcode and headers of each of its packets, and the MSN of a PSN.  Requests and
 * answers are compared with that as they leave.  Verdicts tell what the responder
 * has executed, and with it which answers are possible.
 */
#include "sim.h"

static bool is_read(const struct sim_op *op)
{
	return op->opcode == SHCA_WR_RDMA_READ;
}

static bool is_atomic(const struct sim_op *op)
{
	return op->opcode == SHCA_WR_ATOMIC_CMP_AND_SWP ||
	       op->opcode == SHCA_WR_ATOMIC_FETCH_AND_ADD;
}

/* Has a response of its own. */
static bool is_rd(const struct sim_op *op)
{
	return is_read(op) || is_atomic(op) || op->opcode == SHCA_WR_FLUSH ||
	       op->opcode == SHCA_WR_ATOMIC_WRITE;
}

static bool is_local(const struct sim_op *op)
{
	return op->opcode == SHCA_WR_LOCAL_INV ||
	       op->opcode == SHCA_WR_REG_MR || op->opcode == SHCA_WR_BIND_MW;
}

static u32 last_psn(const struct sim_op *op)
{
	return shca_psn_add(op->first_psn, op->nr_psn - 1);
}

/* The operation of @r that @psn belongs to; NULL: none. */
static struct sim_op *op_at(struct sim_node *r, u32 psn)
{
	u32 i;

	for (i = 0; i < r->nr_ops; i++)
		if (shca_psn_off(psn, r->ops[i].first_psn) < r->ops[i].nr_psn)
			return &r->ops[i];
	return NULL;
}

/*
 * Messages of @r up to @psn: the MSN of an answer there (C9-148).  A READ counts from
 * its first PSN on, for it is executed when it is accepted.
 */
static u32 msn_at(const struct sim_node *r, u32 psn)
{
	const struct sim_op *op;
	u32 i, msn = 0;

	for (i = 0; i < r->nr_ops; i++) {
		op = &r->ops[i];
		msn += op->nr_psn &&
		       shca_psn_diff(is_rd(op) ? op->first_psn : last_psn(op),
				     psn) <= 0;
	}
	return msn;
}

/* Both QPs start: from here on every PSN of the plan is known (IBTA 9.7.3.1). */
void sim_packets_start(struct sim_node *n)
{
	u32 psn = n->req_attr.sq_psn;
	struct sim_op *op;
	u32 i;

	memset(n->seen, 0, sizeof(n->seen));
	n->gave_back = false;
	n->tx_next = psn;
	n->tx_max = psn;
	n->tx_rest = psn;
	for (i = 0; i < ARRAY_SIZE(n->tx_missing); i++)
		n->tx_missing[i] = psn;
	n->tx_last = psn;
	n->exp_psn = n->peer->req_attr.sq_psn;
	n->has_nak = false;
	n->has_gap = false;
	n->ack_due = false;
	n->ce_seen = false;
	n->may_go_back = false;
	n->is_probed = false;
	n->probes_out = 0;
	n->rnr_seen = 0;
	n->tries = 0;
	n->timeouts = 0;
	n->has_credit = false;
	n->is_told = false;
	for (i = 0; i < n->nr_ops; i++) {
		op = &n->ops[i];
		op->first_psn = psn;
		op->nr_psn = is_local(op) ? 0 : 1;
		if (op->nr_psn && op->len && (is_read(op) || !is_rd(op)))
			op->nr_psn = (op->len - 1) / n->w->mtu + 1;
		psn = shca_psn_add(psn, op->nr_psn);
	}
}

/* ---- marks ------------------------------------------------------------------ */

/* Can both ends of a connection know each other by them? */
bool sim_may_mark(const struct sim_node *n)
{
	u8 here = n->req_attr.marking, there = n->peer->req_attr.marking;

	return sim_is_rc(n->w) && here && there &&
	       (here == SHCA_RESV8A_ON || there == SHCA_RESV8A_ON);
}

/*
 * A node that is set to marking marks all packets.  A node that is not, but may
 * mark, does so from the first marked packet that it has received on.  No packet to
 * a peer of unknown vendor is marked.
 */
void sim_packet_mark(struct sim_node *n, const struct shca_pkt *pkt)
{
	bool must = sim_is_rc(n->w) && n->req_attr.marking == SHCA_RESV8A_ON;
	bool may = must || sim_may_mark(n) || (n->w->f.hostile &&
					       n->req_attr.marking);
	u8 marked = shca_own_mark(SHCA_RESV8A_ON);

	if (pkt->opcode == SHCA_OPCODE_CNP)
		must = may = false;
	sim_check(n->w, pkt->resv8a == marked ? may : !must && !pkt->resv8a,
		  "node %u: psn %06x with %02x in Resv8a", n->idx, pkt->psn,
		  pkt->resv8a);
}

/* ---- requests --------------------------------------------------------------- */

static u8 request_opcode(const struct sim_op *op, bool first, bool last)
{
	u8 at = first ? (last ? 2 : 0) : (last ? 3 : 1);
	/* FIRST, MIDDLE, ONLY, LAST */
	static const u8 opcodes[][4] = {
		[SHCA_WR_SEND] = { 0x00, 0x01, 0x04, 0x02 },
		[SHCA_WR_SEND_WITH_IMM] = { 0x00, 0x01, 0x05, 0x03 },
		[SHCA_WR_SEND_WITH_INV] = { 0x00, 0x01, 0x17, 0x16 },
		[SHCA_WR_RDMA_WRITE] = { 0x06, 0x07, 0x0a, 0x08 },
		[SHCA_WR_RDMA_WRITE_WITH_IMM] = { 0x06, 0x07, 0x0b, 0x09 },
		[SHCA_WR_RDMA_READ] = { 0x0c, 0x0c, 0x0c, 0x0c },
		[SHCA_WR_ATOMIC_CMP_AND_SWP] = { 0, 0, 0x13, 0 },
		[SHCA_WR_ATOMIC_FETCH_AND_ADD] = { 0, 0, 0x14, 0 },
		[SHCA_WR_FLUSH] = { 0, 0, 0x1c, 0 },
		[SHCA_WR_ATOMIC_WRITE] = { 0, 0, 0x1d, 0 },
	};

	return opcodes[op->opcode][at];
}

#define check(field, want)						\
	sim_check(n->w, (u64)(field) == (u64)(want),			\
		  "node %u: op %u psn %06x: " #field " is %llx, not %llx", \
		  n->idx, (u32)(op - n->ops), pkt->psn,			\
		  (unsigned long long)(field), (unsigned long long)(want))

static void check_remote(struct sim_node *n, const struct sim_op *op,
			 const struct shca_pkt *pkt, u32 part)
{
	u32 left, key = n->peer->rem.key ^ (op->fault == SIM_BAD_RKEY ? 0x100 : 0);
	u32 off = part * n->w->mtu;

	if (is_atomic(op)) {
		check(pkt->atomic.va, op->rem_va);
		check(pkt->atomic.rkey, key);
		if (op->opcode == SHCA_WR_ATOMIC_FETCH_AND_ADD) {
			check(pkt->atomic.swap_add, op->compare_add);
			return;
		}
		check(pkt->atomic.swap_add, op->swap);
		check(pkt->atomic.compare, op->compare_add);
		return;
	}
	check(pkt->reth.rkey, key);
	check(pkt->reth.va, op->rem_va + (is_read(op) ? off : 0));
	if (op->opcode == SHCA_WR_FLUSH) {
		check(pkt->reth.len, op->swap);
		check(pkt->feth.type, op->imm & 0xff);
		check(pkt->feth.level, op->imm >> 8 & 0xff);
	} else {
		left = op->len - (is_read(op) ? off : 0);
		/* a part, up to where a packet of the response ends */
		if (is_read(op) && n->w->f.keeps && pkt->again &&
		    pkt->reth.len && pkt->reth.len < left &&
		    pkt->reth.len % n->w->mtu == 0)
			left = pkt->reth.len;
		check(pkt->reth.len, left);
	}
}

static void check_data(struct sim_node *n, const struct sim_op *op,
		       const struct shca_pkt *pkt, u32 part)
{
	u32 mtu = n->w->mtu, off = part * mtu;
	u32 len = min_t(u32, op->len - off, (pkt->span + 1) * mtu);

	check(pkt->off, off);
	check(pkt->paylen, len);
	check(pkt->rest, op->len - off - len);
	check(pkt->kind, len ? SHCA_PAY_WR : SHCA_PAY_NONE);
}

static u32 op_parts(const struct sim_world *w, const struct sim_op *op)
{
	if (is_rd(op) && !is_read(op))
		return 1;
	return op->len ? (op->len - 1) / w->mtu + 1 : 1;
}

/* A packet of @op leaves, whatever the transport. */
void sim_packet_request(struct sim_node *n, const struct sim_op *op,
			const struct shca_pkt *pkt)
{
	u32 part = is_read(op) ? shca_psn_off(pkt->psn, op->first_psn) :
				 pkt->off / n->w->mtu;
	u32 parts = op_parts(n->w, op);
	bool last = part + pkt->span + 1 == parts || is_rd(op);
	bool send = op->opcode == SHCA_WR_SEND ||
		    op->opcode == SHCA_WR_SEND_WITH_IMM ||
		    op->opcode == SHCA_WR_SEND_WITH_INV;

	sim_check(n->w, part + pkt->span < parts,
		  "node %u: op %u: part %u of %u", n->idx, (u32)(op - n->ops),
		  part + pkt->span, parts);
	check(pkt->opcode, n->w->transport | request_opcode(op, !part, last));
	check(pkt->pkey, 0xffff);
	check(pkt->tver, 0);
	if (!is_rd(op) || op->opcode == SHCA_WR_ATOMIC_WRITE)
		check_data(n, op, pkt, part);
	else
		check(pkt->paylen, 0);
	if (!send && (!part || is_read(op)))
		check_remote(n, op, pkt, part);
	if (last && (op->opcode == SHCA_WR_SEND_WITH_IMM ||
		     op->opcode == SHCA_WR_RDMA_WRITE_WITH_IMM))
		check(pkt->imm, op->imm);
	if (last && op->opcode == SHCA_WR_SEND_WITH_INV)
		check(pkt->inv_rkey, op->imm);
	if (sim_is_xrc(n->w))
		check(pkt->xrc_srqn, sim_srqn(n->w, op));
	if (sim_is_ud(n->w)) {
		check(pkt->deth.sqpn, n->qpn);
		check(pkt->deth.qkey, op->qkey >> 31 ? n->req_attr.qkey :
						       op->qkey);
	}
	if (sim_is_rc(n->w))
		check(pkt->psn, shca_psn_add(op->first_psn, part));
}

/* PSNs at or after the oldest outstanding one and before @op, of one kind. */
static u32 psns_before(const struct sim_node *n, const struct sim_op *end,
		       bool rd)
{
	const struct sim_op *op;
	u32 nr = 0, off;

	for (op = n->ops; op < end; op++) {
		if (is_rd(op) != rd || !op->nr_psn ||
		    shca_psn_diff(last_psn(op), n->req.psn.una) < 0)
			continue;
		off = shca_psn_off(n->req.psn.una, op->first_psn);
		nr += op->nr_psn - (off < op->nr_psn ? off : 0);
	}
	return nr;
}

/*
 * How far the peer has packets, from the oldest outstanding one on, with an out-of-order
 * queue.  Packets in that are not in flight, and others may leave in their place, for a window
 * at most.
 */
static u32 beyond(const struct sim_node *n)
{
	u32 end = sim_queue_end(n->peer);
	s32 nr = shca_psn_diff(end, n->req.psn.una);

	if (!n->w->f.holds && !n->w->f.keeps)
		return 0;
	/* (in error it has dropped them, after it told; a forged answer may tell the same) */
	if (n->peer->resp.state != SHCA_SIDE_READY || n->w->f.hostile)
		return n->req.cc.wide;
	return nr > 0 ? min_t(u32, nr, n->req.cc.wide) : 0;
}

/* What is outstanding is bounded: by the window, and of READs by eight of them. */
static void check_window(struct sim_node *n, const struct sim_op *op,
			 const struct shca_pkt *pkt)
{
	u32 nr = psns_before(n, op, is_rd(op));
	s32 off;

	if (is_rd(op)) {
		sim_check(n->w, !nr || nr + op->nr_psn <=
			  n->req.cc.wide * SHCA_REQ_READ_FACTOR + beyond(n),
			  "node %u: READ of %u with %u outstanding", n->idx,
			  op->nr_psn, nr);
		return;
	}
	off = shca_psn_diff(n->req.psn.una, op->first_psn);
	nr += shca_psn_off(pkt->psn, off > 0 ? n->req.psn.una : op->first_psn);
	sim_check(n->w, nr + pkt->span < n->req.cc.wide + beyond(n) + n->w->reach - 1,
		  "node %u: %u packets outstanding", n->idx,
		  nr + pkt->span + 1);
}

/*
 * The peer has told that a packet is missing.  What is sent again for that may wait for the
 * window, while the peer tells of the next one.
 */
static void told_missing(struct sim_node *n, u32 psn)
{
	if (n->tx_missing[0] == psn)
		return;
	memmove(n->tx_missing + 1, n->tx_missing, sizeof(n->tx_missing) - sizeof(*n->tx_missing));
	n->tx_missing[0] = psn;
}

static bool was_missing(const struct sim_node *n, u32 psn)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(n->tx_missing) && n->tx_missing[i] != psn; i++)
		;
	return i < ARRAY_SIZE(n->tx_missing);
}

/*
 * PSNs follow each other.  Each step back needs a cause.  Causes are a NAK, a gap,
 * a time-out, the end of an RNR wait, an ACK probe's answer, and a link that was
 * busy.  To go forward takes an acknowledgement of what is left out.
 */
void sim_packet_order(struct sim_node *n, struct sim_op *op,
		      const struct shca_pkt *pkt)
{
	s32 ahead = shca_psn_diff(pkt->psn, n->tx_next);

	n->may_go_back |= n->w->f.hostile;	/* whatever it was told */
	if (ahead < 0) {
		sim_check(n->w, n->may_go_back,
			  "node %u: psn %06x again without a cause", n->idx,
			  pkt->psn);
		n->may_go_back = false;
		/* A repair that this interrupts goes on there, or where a first one has to. */
		n->tx_last = n->tx_next;
		if (n->tx_next == n->tx_max)
			n->tx_rest = pkt->psn;
		else if (shca_psn_diff(n->tx_rest, n->tx_next) < 0)
			n->tx_rest = n->tx_next;
	} else if (ahead > 0) {
		/*
		 * The peer has what is behind a gap: on to what is new, or to what it misses yet.
		 * It may have told that a request is missing, while answers before it are.
		 * Behind a tail loss probe nothing is known to be missing.
		 */
		sim_check(n->w, pkt->psn == n->req.psn.una ||
			  (n->is_probed && pkt->psn == n->tx_max) ||
			  ((n->w->f.holds || n->w->f.keeps) &&
			   (pkt->psn == n->tx_max || pkt->psn == n->tx_rest ||
			    pkt->psn == n->tx_last)) ||
			  (n->w->f.holds && was_missing(n, pkt->psn)),
			  "node %u: psn %06x, %d left out", n->idx, pkt->psn,
			  ahead);
	}
	if (is_read(op))
		sim_check(n->w, pkt->psn == op->first_psn ||
			  pkt->psn == n->req.psn.una,
			  "node %u: READ resumed at %06x", n->idx, pkt->psn);
	n->tx_next = is_read(op) && pkt->reth.len ?
		     shca_psn_add(pkt->psn, DIV_ROUND_UP(pkt->reth.len, n->w->mtu)) :
		     is_rd(op) ? shca_psn_add(last_psn(op), 1) :
				 shca_psn_add(pkt->psn, pkt->span + 1);
	if (shca_psn_diff(n->tx_next, n->tx_max) > 0)
		n->tx_max = n->tx_next;
	if (!pkt->again) {
		n->is_probed = false;
		check_window(n, op, pkt);
		sim_credit_used(n, op, pkt);
	}
}

/* ---- what the responder does ------------------------------------------------- */

/* A request has arrived at @n, which was ready, with this verdict. */
void sim_packet_executed(struct sim_node *n, const struct shca_pkt *pkt,
			 enum shca_verdict rx)
{
	s32 ahead = shca_psn_diff(pkt->psn, n->exp_psn);
	struct sim_op *op = op_at(n->peer, pkt->psn);
	u32 part, end;

	if (n->w->f.hostile)
		return;
	n->ce_seen |= pkt->path.ecn_ce;
	sim_check(n->w, ahead > 0 ? rx == SHCA_RX_OUT_OF_SEQ :
		  ahead < 0 ? rx == SHCA_RX_DUPLICATE || rx >= SHCA_RX_RETRY :
		  rx != SHCA_RX_OUT_OF_SEQ && rx != SHCA_RX_DUPLICATE,
		  "node %u: verdict %d of psn %06x, expected is %06x", n->idx,
		  rx, pkt->psn, n->exp_psn);
	/* the last one may be executed as a whole, or refused as half new */
	n->ack_due |= pkt->ackreq || ahead > 0 || (ahead < 0 && pkt->span);
	if (ahead > 0 && (!n->has_gap ||
			  shca_psn_diff(pkt->psn, n->gap_psn) > 0)) {
		n->has_gap = true;
		n->gap_psn = pkt->psn;
	}
	if (!op)
		return;		/* an ACK probe before the first */
	part = shca_psn_off(pkt->psn, op->first_psn);
	if (is_read(op) && part < 8 * sizeof(op->asked))
		op->asked[part / 8] |= 1u << part % 8;
	end = part + DIV_ROUND_UP(pkt->reth.len, n->w->mtu) - 1;
	if (is_read(op) && end < 8 * sizeof(op->asked_end))
		op->asked_end[end / 8] |= 1u << end % 8;
	if (rx != SHCA_RX_OK)
		return;
	n->exp_psn = is_rd(op) ? shca_psn_add(last_psn(op), 1) :
				 shca_psn_add(pkt->psn, pkt->span + 1);
	/* what was dropped behind a gap may be missing still */
	n->has_gap &= shca_psn_diff(n->gap_psn, n->exp_psn) >= 0;
	n->has_nak = false;
}

/* ---- answers ----------------------------------------------------------------- */

/* All that has a response of its own and lies before @psn was answered (9.7.5.1.1). */
static void check_answered(struct sim_node *n, u32 psn)
{
	const struct sim_op *op;
	u32 i;

	for (i = 0; i < n->peer->nr_ops; i++) {
		op = &n->peer->ops[i];
		if (op->nr_psn && is_rd(op) &&
		    shca_psn_diff(last_psn(op), psn) < 0)
			sim_check(n->w, op->nr_answered == op->nr_psn,
				  "node %u: answer %06x before that of op %u",
				  n->idx, psn, i);
	}
}

/*
 * MSN and PSN belong together, also where an answer stops before a READ.  What tells of
 * missing packets has the cause in place of it, which may be a ghost.
 */
static void check_msn(struct sim_node *n, const struct shca_pkt *pkt, u32 psn)
{
	u32 msn = msn_at(n->peer, psn);

	if ((pkt->aeth.syndrome & SHCA_AETH_TYPE) == SHCA_AETH_MISSING)
		return;
	sim_check(n->w, pkt->aeth.msn == msn,
		  "node %u: answer %06x syndrome %02x has MSN %u, not %u",
		  n->idx, pkt->psn, pkt->aeth.syndrome, pkt->aeth.msn, msn);
}

static void check_nak(struct sim_node *n, const struct shca_pkt *pkt)
{
	u32 before = shca_psn_add(pkt->psn, -1);
	u8 syndrome = pkt->aeth.syndrome;
	bool is_rnr = (syndrome & ~SHCA_AETH_VALUE) == SHCA_AETH_RNR;
	u8 code = syndrome & SHCA_AETH_VALUE;

	check_answered(n, pkt->psn);
	check_msn(n, pkt, before);
	if ((syndrome == (SHCA_AETH_NAK | SHCA_NAK_ACCESS) ||
	     (is_rnr && n->w->f.mem_retry)) && pkt->psn != n->exp_psn) {
		/* in place of a response whose memory is gone, or not there yet */
		sim_check(n->w, shca_psn_diff(pkt->psn, n->exp_psn) < 0,
			  "node %u: NAK ahead of what is expected", n->idx);
		return;
	}
	sim_check(n->w, pkt->psn == n->exp_psn,
		  "node %u: NAK %02x of %06x, expected is %06x", n->idx,
		  syndrome, pkt->psn, n->exp_psn);
	if (is_rnr) {
		/* (longer, where memory is waited for) */
		sim_check(n->w, code == n->resp_attr.min_rnr_timer ||
			  (n->w->f.mem_retry && shca_rnr_ns(code) >
			   shca_rnr_ns(n->resp_attr.min_rnr_timer)),
			  "node %u: RNR timer %u", n->idx, code);
	} else if ((syndrome & ~SHCA_AETH_VALUE) == SHCA_AETH_MISSING) {
		sim_check(n->w, n->w->f.holds && n->has_gap,
			  "node %u: %u of %06x are missing, without a gap", n->idx,
			  code + 1, pkt->psn);
	} else if (syndrome == (SHCA_AETH_NAK | SHCA_NAK_PSN_SEQ)) {
		sim_check(n->w, n->has_gap && !n->has_nak,
			  "node %u: NAK of %06x, without a gap or once more",
			  n->idx, pkt->psn);
		n->has_nak = true;
	}
}

static void check_credits(struct sim_node *n, const struct shca_pkt *pkt)
{
	/* (the plan does not count the request with which the side has failed) */
	sim_check(n->w, pkt->aeth.syndrome == sim_credit_syndrome(n) ||
		  n->resp.state == SHCA_SIDE_ERR,
		  "node %u: answer %06x: %02x with %u receives", n->idx,
		  pkt->psn, pkt->aeth.syndrome, n->recv_posted - n->recv_done);
}

static void check_ack(struct sim_node *n, const struct shca_pkt *pkt)
{
	u32 next = shca_psn_add(pkt->psn, 1);
	const struct sim_op *at;

	if ((pkt->aeth.syndrome & ~SHCA_AETH_VALUE) != SHCA_AETH_ACK) {
		check_nak(n, pkt);
		return;
	}
	check_credits(n, pkt);
	/*
	 * A requester that waits for memory is told that the wait has ended.  Packets of a
	 * gap that come before are acknowledged.
	 */
	sim_check(n->w, shca_psn_diff(pkt->psn, n->exp_psn) < 0 &&
		  (n->ack_due || n->w->f.mem_retry || n->w->f.holds),
		  "node %u: acknowledges %06x, expected is %06x", n->idx,
		  pkt->psn, n->exp_psn);
	n->ack_due = false;
	at = op_at(n->peer, pkt->psn);
	sim_check(n->w, !at || !is_rd(at) || last_psn(at) == pkt->psn,
		  "node %u: acknowledges %06x, within a READ", n->idx,
		  pkt->psn);
	check_answered(n, next);
	check_msn(n, pkt, pkt->psn);
}

/* A part of the answer to a READ, or to what is answered alike. */
static void check_response(struct sim_node *n, const struct shca_pkt *pkt,
			   struct sim_op *op)
{
	u32 part = shca_psn_off(pkt->psn, op->first_psn);
	bool ends = part + pkt->span + 1 == op->nr_psn;
	u8 opcode = pkt->opcode & ~SHCA_TRANSPORT_MASK;
	bool begins = opcode == SHCA_OP_READ_RESP_FIRST ||
		      opcode == SHCA_OP_READ_RESP_ONLY;
	u32 len = is_read(op) ? op->len : 0;
	u32 last = part + pkt->span;
	u32 off = part * n->w->mtu;

	/* the end of a part that was asked for */
	if (last < 8 * sizeof(op->asked_end) &&
	    op->asked_end[last / 8] & 1u << last % 8)
		ends |= opcode == SHCA_OP_READ_RESP_ONLY ||
			opcode == SHCA_OP_READ_RESP_LAST;
	sim_check(n->w, shca_psn_diff(pkt->psn, n->exp_psn) < 0 &&
		  part + pkt->span < op->nr_psn,
		  "node %u: answer %06x to nothing", n->idx, pkt->psn);
	check_answered(n, op->first_psn);
	if (is_atomic(op)) {
		sim_check(n->w, opcode == SHCA_OP_ATOMIC_ACK &&
			  pkt->atomic_ack == op->atomic_before,
			  "node %u: answer %06x to an atomic", n->idx,
			  pkt->psn);
	} else {
		sim_check(n->w, opcode == (begins ?
			  (ends ? SHCA_OP_READ_RESP_ONLY :
				  SHCA_OP_READ_RESP_FIRST) :
			  (ends ? SHCA_OP_READ_RESP_LAST :
				  SHCA_OP_READ_RESP_MIDDLE)) &&
			  (begins || op->nr_answered >= part),
			  "node %u: answer %06x is part %u of %u", n->idx,
			  pkt->psn, part, op->nr_psn);
		sim_check(n->w, !begins || !part ||
			  op->asked[part / 8] & 1u << part % 8,
			  "node %u: answer %06x begins, nobody asked", n->idx,
			  pkt->psn);
		sim_check(n->w, pkt->paylen == min_t(u32, len - off,
			  (pkt->span + 1) * n->w->mtu) &&
			  pkt->rest == len - off - pkt->paylen,
			  "node %u: answer %06x of %u bytes", n->idx, pkt->psn,
			  pkt->paylen);
	}
	if (shca_opcode_info(pkt->opcode)->flags & SHCA_OPF_AETH)
		check_credits(n, pkt);
	check_msn(n, pkt, last_psn(op));
	op->nr_answered = max_t(u32, op->nr_answered, part + pkt->span + 1);
}

/* An answer of @n leaves. */
void sim_packet_answer(struct sim_node *n, const struct shca_pkt *pkt)
{
	struct sim_op *op;

	sim_check(n->w, pkt->pkey == 0xffff && !pkt->tver && !pkt->ackreq &&
		  !pkt->se, "node %u: header of answer %06x", n->idx, pkt->psn);
	if (n->w->f.hostile)
		return;
	if (pkt->opcode == SHCA_OPCODE_CNP) {
		sim_check(n->w, n->ce_seen && !pkt->psn, "node %u: CNP", n->idx);
		n->ce_seen = false;
		return;
	}
	sim_check(n->w, (pkt->opcode & SHCA_TRANSPORT_MASK) == n->w->transport,
		  "node %u: answer %06x opcode %02x", n->idx, pkt->psn, pkt->opcode);
	if ((pkt->opcode & ~SHCA_TRANSPORT_MASK) == SHCA_OP_ACK) {
		check_ack(n, pkt);
		return;
	}
	op = op_at(n->peer, pkt->psn);
	sim_check(n->w, op && is_rd(op), "node %u: answer %06x to no READ",
		  n->idx, pkt->psn);
	check_response(n, pkt, op);
}

/* ---- statistics ----------------------------------------------------------------- */

/* A packet leaves. */
void sim_packet_count(struct sim_node *n, const struct shca_pkt *pkt)
{
	u32 flags = shca_opcode_info(pkt->opcode)->flags;
	bool is_answer = flags & SHCA_OPF_RESPONSE;
	struct sim_count *c = &n->seen[is_answer];
	u8 type = pkt->aeth.syndrome & ~SHCA_AETH_VALUE;

	c->pkts++;
	c->bytes += pkt->paylen;
	if (!is_answer) {
		c->again += pkt->again && pkt->wr;
		c->probes += !pkt->wr;
	} else if (pkt->opcode == (n->w->transport | SHCA_OP_ACK)) {
		c->acks += type == SHCA_AETH_ACK;
		c->rnrs += type == SHCA_AETH_RNR;
		c->naks += type == SHCA_AETH_NAK || type == SHCA_AETH_MISSING;
	}
}

static void check_count(struct sim_node *n, const char *what, u64 is, u64 want)
{
	sim_check(n->w, is == want, "node %u: counted %llu %s, not %llu", n->idx,
		  (unsigned long long)is, what, (unsigned long long)want);
}

/* What the core has counted is what was seen, where no link gave a packet back. */
void sim_packet_counts_end(struct sim_node *n)
{
	const struct shca_resp_stats *resp = &n->resp.stats;
	const struct shca_req_stats *req = &n->req.stats;
	u32 i;

	for (i = 0; i < SHCA_RX_NR; i++) {
		check_count(n, "answers of a kind", req->rx[i],
			    n->seen[0].rx[i]);
		check_count(n, "requests of a kind", resp->rx[i],
			    n->seen[1].rx[i]);
	}
	/* also what may not be gathered was handed out */
	if (n->gave_back)
		return;
	check_count(n, "request packets", req->tx_pkts, n->seen[0].pkts);
	check_count(n, "request bytes", req->tx_bytes, n->seen[0].bytes);
	check_count(n, "repetitions", req->retransmits, n->seen[0].again);
	check_count(n, "ACK probes", req->probes, n->seen[0].probes);
	check_count(n, "answers", resp->tx_pkts, n->seen[1].pkts);
	check_count(n, "answered bytes", resp->tx_bytes, n->seen[1].bytes);
	check_count(n, "ACKs", resp->acks_sent, n->seen[1].acks);
	check_count(n, "NAKs", resp->naks_sent, n->seen[1].naks);
	check_count(n, "RNR NAKs", resp->rnr_naks_sent, n->seen[1].rnrs);
}

/* ---- the counters of the requester -------------------------------------------- */

/* @una: oldest outstanding PSN before */
static void check_progress(struct sim_node *n, u32 una)
{
	if (n->req.psn.una == una)
		return;
	n->rnr_seen = 0;
	n->tries = 0;
	n->timeouts = 0;
}

/*
 * An answer has arrived at @n, which was ready.  RNR NAKs are counted since the last
 * progress, copies of one that is waited for apart; rnr_retry 7 is for ever
 * (IBTA 9.7.5.2.8).
 */
void sim_packet_answered(struct sim_node *n, const struct shca_pkt *pkt,
			 enum shca_verdict rx, u32 una, bool was_waiting)
{
	const struct shca_req *req = &n->req;

	check_progress(n, una);
	/* The peer has what was probed. It may have nothing that is behind it. */
	n->may_go_back |= n->is_probed && req->psn.una != una;
	if (rx == SHCA_RX_NAK_SEQ &&
	    (pkt->aeth.syndrome & ~SHCA_AETH_VALUE) == SHCA_AETH_MISSING)
		told_missing(n, pkt->psn);
	/*
	 * (An acknowledgement ahead of a response that is kept for counts when that is here.
	 * So until then there may be more credit, but not the first.)
	 */
	if (rx == SHCA_RX_LOST_RESPONSE && n->req_attr.ooo && !n->has_credit) {
		/* (a NAK that comes after it is not kept) */
		if (pkt->opcode == (n->w->transport | SHCA_OP_ACK) &&
		    (pkt->aeth.syndrome & ~SHCA_AETH_VALUE) == SHCA_AETH_ACK) {
			n->told = *pkt;
			n->is_told = true;
		}
	} else if (rx == SHCA_RX_OK || (rx == SHCA_RX_LOST_RESPONSE && n->req_attr.ooo)) {
		sim_credit_told(n, pkt);
	}
	if (n->is_told && shca_psn_diff(req->psn.una, n->told.psn) > 0) {
		n->is_told = false;
		sim_credit_told(n, &n->told);
	}
	if (rx == SHCA_RX_OK && n->probes_out) {
		n->probes_out--;
		n->may_go_back = true;
	}
	if (n->w->f.hostile)
		return;
	switch (rx) {
	case SHCA_RX_NAK_SEQ:
	case SHCA_RX_LOST_RESPONSE:
		n->tries++;
		n->may_go_back = true;
		break;
	case SHCA_RX_NAK_RNR:
		if (was_waiting && req->psn.una == una) {
			sim_check(n->w, shca_req_rnr_waits(req),
				  "node %u: a copy ends the RNR wait", n->idx);
			break;
		}
		n->rnr_seen++;
		n->timeouts = 0;	/* the peer lives */
		n->may_go_back = true;
		if (n->req_attr.rnr_retry != 7 &&
		    n->rnr_seen > n->req_attr.rnr_retry)
			sim_check(n->w, req->state == SHCA_SIDE_ERR,
				  "node %u: %u RNR NAKs", n->idx, n->rnr_seen);
		else
			sim_check(n->w, req->state == SHCA_SIDE_READY &&
				  shca_req_rnr_waits(req),
				  "node %u: no wait after RNR NAK %u of %u",
				  n->idx, n->rnr_seen, n->req_attr.rnr_retry);
		break;
	default:
		break;
	}
}

/* The timer of @n was called; @back: sending has gone back. */
void sim_packet_timer(struct sim_node *n, bool back, bool timeout)
{
	n->may_go_back |= back;
	n->tries += back;
	n->timeouts += timeout;
	if (n->w->f.hostile)
		return;
	sim_check(n->w, n->timeouts <= n->req_attr.retry_cnt + 1u,
		  "node %u: %u time-outs, retry_cnt is %u", n->idx, n->timeouts,
		  n->req_attr.retry_cnt);
}

/* @wr has taken the fast path: its packet and the answer have come through. */
void sim_packet_fast(struct sim_node *n, const struct shca_send_wr *wr)
{
	struct sim_op *op = &n->ops[wr->wr_id];

	/* what is left out was acknowledged while it was sent again */
	sim_check(n->w, shca_psn_diff(n->tx_next, op->first_psn) <= 0 &&
		  op->nr_psn == 1 && n->peer->exp_psn == op->first_psn,
		  "node %u: op %u takes the fast path at %06x", n->idx,
		  (u32)(op - n->ops), n->tx_next);
	n->tx_next = shca_psn_add(op->first_psn, 1);
	n->peer->exp_psn = n->tx_next;
	n->peer->has_nak = false;
	n->peer->ack_due = false;
	op->nr_answered = is_rd(op);
	n->seen[0].pkts++;
	n->seen[0].bytes += is_rd(op) ? 0 : op->len;
	n->seen[0].rx[SHCA_RX_OK]++;
	n->peer->seen[1].pkts++;
	n->peer->seen[1].bytes += is_rd(op) ? op->len : 0;
	n->peer->seen[1].acks += !is_rd(op);
	n->peer->seen[1].rx[SHCA_RX_OK]++;
	n->rnr_seen = 0;
	n->tries = 0;
	n->timeouts = 0;
}

/* A request ends in RETRY_EXC: was it tried as often as it should? */
void sim_packet_gave_up(struct sim_node *n)
{
	sim_check(n->w, n->w->f.hostile || n->tries > n->req_attr.retry_cnt,
		  "node %u: gives up after %u tries, retry_cnt is %u", n->idx,
		  n->tries, n->req_attr.retry_cnt);
}
