// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Requests of one QP at another of this machine: see move.h. */
#include "move.h"

#include "../base/counters.h"
#include "../base/trace.h"
#include "../base/trace_payload.h"
#include "../base/trace_steps.h"
#include "../core/requester/fast.h"
#include "../mem/mr.h"
#include "../queue/srq.h"
#include "sq.h"

bool shca_move_is_short(const struct shca_move *m)
{
	return !trace_shca_direct_enabled() && !trace_shca_rx_verdict_enabled() &&
	       !trace_shca_payload_enabled() && !trace_shca_place_enabled() &&
	       !static_branch_unlikely(&shca_optional_counters) &&
	       !shca_fault_is_on(m->peer->dev, BIT(SHCA_FAULT_RESPOND));
}

/* Find the memory at the peer that @wr names, or its receive request. */
static bool shca_move_far(struct shca_move *m, const struct shca_send_wr *wr,
			  u32 len, u64 *va, struct shca_mr **mr)
{
	const struct shca_recv_wr *recv = &m->peer->rq.resp.wr;
	struct shca_accessor who = m->peer->who;
	u32 access = IB_ACCESS_LOCAL_WRITE;
	u32 key = recv->sge[0].lkey;

	if (shca_wr_op(wr->opcode)->form == SHCA_FORM_RDMA) {
		access = wr->opcode == SHCA_WR_RDMA_READ ?
			 IB_ACCESS_REMOTE_READ : IB_ACCESS_REMOTE_WRITE;
		key = wr->rdma.rkey;
		*va = wr->rdma.remote_addr;
	} else {
		if (recv->num_sge != 1 || recv->sge[0].length < len)
			return false;
		who.pd = shca_rq_pd(m->peer);
		*va = recv->sge[0].addr;
	}
	return shca_mr_get_kept(&m->far, &who, key, access, *va, len,
				mr) == SHCA_MEM_OK;
}

bool shca_move_short(struct shca_move *m, const struct shca_send_wr *wr,
		     const u8 *grh)
{
	bool is_read = wr->opcode == SHCA_WR_RDMA_READ;
	u32 head = grh ? SHCA_GRH_BYTES : 0;
	struct shca_mr *near = NULL, *far = NULL;
	const struct shca_sge *sge = wr->sge;
	u64 va;
	bool ok;

	if (wr->length && !wr->inline_data &&
	    (wr->num_sge != 1 ||
	     shca_mr_get_kept(&m->near, &m->qp->who, sge->lkey,
			      is_read ? IB_ACCESS_LOCAL_WRITE : SHCA_MR_LOCAL_READ,
			      sge->addr, wr->length, &near) != SHCA_MEM_OK))
		return false;
	/* Only now, so that no receive request is taken for a message that cannot be sent. */
	ok = (!shca_fast_takes_recv(wr) || shca_fast_recv(&m->peer->rq.resp)) &&
	     (!(head + wr->length) ||
	      shca_move_far(m, wr, head + wr->length, &va, &far));
	if (far) {
		if (is_read) {
			shca_mr_copy(near, sge->addr, far, va, NULL, wr->length);
		} else {
			if (head)
				shca_mr_copy(far, va, NULL, 0, grh, head);
			shca_mr_copy(far, va + head, near, sge->addr,
				     wr->inline_data, wr->length);
		}
		shca_mr_put_kept(&m->far, far);
	}
	if (near)
		shca_mr_put_kept(&m->near, near);
	if (!ok)
		return false;
	m->nr++;
	m->out += is_read ? 0 : wr->length;
	m->back += is_read ? wr->length : 0;
	return true;
}

bool shca_move_hold(struct shca_move *m, const struct shca_pkt *pkt)
{
	struct shca_sq *sq = &m->qp->sq;
	enum shca_mem_status status;

	status = shca_mem_hold(&sq->side.mem, pkt, &m->pieces);
	if (status == SHCA_MEM_OK)
		return true;
	shca_req_gather_failed(&sq->req, pkt, status);
	if (status == SHCA_MEM_RETRY) {
		shca_sq_pause(sq);
		m->wait = true;
	}
	return false;
}

void shca_move_leaves(struct shca_move *m, const struct shca_qp *from,
		      struct shca_pkt *pkt)
{
	pkt->data = &m->pieces;
	if (trace_shca_payload_enabled())
		shca_payload_trace(from->qpn, pkt, true);
	trace_shca_direct(from->qpn, pkt);
}

void shca_move_count(const struct shca_qp *from, const struct shca_qp *to,
		     unsigned int nr, u32 bytes)
{
	shca_count_n(from, TX_PKTS, nr);
	shca_count_n(from, TX_BYTES, bytes);
	shca_count_n(from, TX_DIRECT, nr);
	shca_count_n(to, RX_PKTS, nr);
	shca_count_n(to, RX_BYTES, bytes);
}

void shca_move_end(struct shca_move *m)
{
	struct shca_direct_pending *pending = m->pending;
	struct shca_qp *peer = m->peer;

	shca_mem_forget(&m->near);
	shca_mem_forget(&m->far);
	if (m->nr) {
		shca_move_count(m->qp, peer, m->nr, m->out);
		/* A connected peer has answered each message. */
		if (peer->type != IB_QPT_UD)
			shca_move_count(peer, m->qp, m->nr, m->back);
	}
	shca_rq_finish(peer, &pending->rq);
	/* Reporting needs the peer after the locks are released. */
	if (likely(!pending->rq.events && !pending->rq.failed && !peer->rq.srq) ||
	    pending->peer)
		return;
	/* The peer is not dead, so the reference of the object itself exists. */
	refcount_inc(&peer->ref);
	pending->peer = peer;
}
