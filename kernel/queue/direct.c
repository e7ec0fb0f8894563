// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The direct path: the peer QP is in this network namespace and the route to it
 * ends here, so requests need not become packets.  If both devices are told to, and
 * each to trust the other (SHCA_PATH_HOST, trust.h), that may be another namespace
 * of this kernel.
 *
 * The same requester and responder do the work, so the rules are those of the wire:
 * PSNs, RNR, NAKs, retries, fences, SRQs, events.  Only the way between them
 * differs.
 *
 * A "packet" is handed over in the posting call and stands for as many PSNs as fit
 * into SHCA_DIRECT_BYTES.  Its payload is the memory that it lies in, which the
 * memory operations copy once, page to page.  Answers are handed back before the
 * lock is released.
 *
 * Locks: sq.lock of the one, inside it rq.lock of the other, inside that CQ and
 * SRQ locks.  No path takes an sq.lock while it holds an rq.lock, so any number
 * of QPs may do this to each other, and one to itself.
 *
 * A small message between two QPs at rest takes a fast path (core/fast.h), which
 * skips the packets too.  Any unusual message goes by packets.
 *
 * Changing between direct path and wire: a request must not overtake packets that
 * are on their way.  So the direct path begins when nothing is outstanding. It also
 * begins at the oldest packet when sending went back there; what is on its way then
 * are duplicates.  The wire may take over at any time.
 */
#include "direct.h"

#include <linux/ktime.h>
#include <linux/netdevice.h>

#include "../base/compat.h"
#include "../base/counters.h"
#include "../base/dev.h"
#include "../base/trace.h"
#include "../base/trace_payload.h"
#include "../core/psn.h"
#include "../core/fast.h"
#include "../mem/mr.h"
#include "direct_internal.h"
#include "fault.h"
#include "payload.h"
#include "peer.h"
#include "qp_table.h"
#include "sq.h"
#include "tx.h"

/* Bytes of one hand-over: some tens of microseconds with bottom halves off. */
#define SHCA_DIRECT_BYTES	(256u << 10)
/* A peer that waits for memory is looked at every SHCA_BUSY_NS, so often doubled. */
#define SHCA_BUSY_FAR		8

static bool shca_direct_may_begin(const struct shca_qp *qp)
{
	const struct shca_req *req = &qp->sq.req;

	if (qp->sq.direct)
		return true;
	if (qp->type == IB_QPT_UC)	/* nothing is ever outstanding */
		return !req->ring.pkt_idx;
	return req->psn.next == req->psn.una;
}

/* Could packets of another namespace arrive there? */
static bool shca_direct_is_up(const struct shca_dev *dev,
			      const struct shca_dev *peer)
{
	return likely(dev->snet == peer->snet) ||
	       (netif_running(peer->ndev) && netif_carrier_ok(peer->ndev));
}

/*
 * Is @peer the one that the addresses are about?  Certain under its rq.lock,
 * which they are written under.
 */
static bool shca_direct_mirrors(const struct shca_qp *qp,
				const struct shca_qp *peer)
{
	return peer->type == shca_peer_type(qp) && peer->link == qp->link &&
	       shca_direct_may_meet(qp->dev, peer->dev) &&
	       qp->link->mirrors(&qp->av, &peer->av);
}

/* A guess, which is remembered: nothing that changes without a note of it. */
static bool shca_direct_guess(const struct shca_qp *qp,
			      const struct shca_qp *peer)
{
	/* Looked at again under the lock, by shca_direct_fits(). */
	return data_race(shca_direct_mirrors(qp, peer));
}

/* Is @peer connected back, and does it go this way? */
static bool shca_direct_fits(const struct shca_qp *qp,
			     const struct shca_qp *peer)
{
	lockdep_assert_held(&peer->rq.lock);
	/*
	 * Packets of another partition are dropped, and counted, as packets.  What is handed
	 * over takes no time, so a static rate is kept by packets, too.
	 */
	return !peer->dead && !(qp->av.rate_kbps | peer->av.rate_kbps) &&
	       peer->rq.resp.attr.dqpn == qp->qpn &&
	       shca_pkey_match(shca_qp_pkey(qp), shca_qp_pkey(peer)) &&
	       shca_direct_mirrors(qp, peer) &&
	       shca_direct_is_up(qp->dev, peer->dev);
}

/* The QP that it would be, valid as long as bottom halves are off; or NULL. */
static struct shca_qp *shca_direct_peer(struct shca_qp *qp)
{
	u32 dqpn = qp->sq.req.attr.dqpn;
	struct shca_dev *dev = qp->dev;
	u8 path = READ_ONCE(dev->path);

	lockdep_assert_held(&qp->sq.lock);
	if ((!shca_qp_is_reliable(qp) && qp->type != IB_QPT_UC) ||
	    path == SHCA_PATH_WIRE || !shca_direct_may_begin(qp) ||
	    shca_fault_is_on(dev, SHCA_FAULT_PACKETS))
		return NULL;
	if (qp->link->local(dev, &qp->av, &qp->sq.side.route))
		return shca_net_peek_qp(dev->snet, dqpn, &qp->sq.peer);
	/* Without a route packets would not get there either. */
	if (path != SHCA_PATH_HOST || !qp->sq.side.route.dst)
		return NULL;
	return shca_net_peek_other(qp, dqpn, shca_direct_guess, &qp->sq.peer);
}

/**
 * struct shca_direct - one hold of both locks
 * @qp:	requester
 * @peer:	responder
 * @now:	ns
 * @budget:	what is left, in pages and hand-overs
 * @wait:	memory is being fetched: no more now
 * @owed:	for an answer; it is given again when @qp resumes.  (When it was
 *		for what is answered, @peer resumes, and answers by packets.)
 * @news:	about @peer
 * @pieces:	payload of the packet being handed over
 */
struct shca_direct {
	struct shca_qp *qp;
	struct shca_qp *peer;
	u64 now;
	int budget;
	bool wait;
	bool owed;
	struct shca_side_news *news;
	struct shca_pieces pieces;
};

/* What a receiver would have read from lower headers. */
static void shca_direct_arrive(struct shca_direct *d, struct shca_pkt *pkt,
			       struct shca_qp *from, struct shca_qp *to)
{
	pkt->path.port = 1;
	pkt->path.grh_present = true;
	pkt->data = &d->pieces;
	shca_count_n(from, TX_PKTS, pkt->span + 1);
	shca_count_n(from, TX_BYTES, pkt->paylen);
	shca_count_n(from, TX_DIRECT, pkt->span + 1);
	shca_count_n(to, RX_PKTS, pkt->span + 1);
	shca_count_n(to, RX_BYTES, pkt->paylen);
	if (trace_shca_payload_enabled())
		shca_payload_trace(from->qpn, pkt, true);
	trace_shca_direct(from->qpn, pkt);
}

/* Sending goes back to @pkt; when its memory is being fetched, once it is there. */
static void shca_direct_refused(struct shca_direct *d,
				const struct shca_pkt *pkt,
				enum shca_mem_status status)
{
	struct shca_sq *sq = &d->qp->sq;

	shca_req_gather_failed(&sq->req, pkt, status);
	if (status == SHCA_MEM_RETRY) {
		shca_sq_hold(sq);
		d->wait = true;
	}
}

/*
 * The peer's memory is being fetched.  Where the peer knows us it tells when it is
 * there (shca_rq_resume()).  It may end before, and then nobody does: so there is a
 * timer, which is in no hurry.
 */
static void shca_direct_put_off(struct shca_direct *d,
				const struct shca_pkt *pkt)
{
	struct shca_sq *sq = &d->qp->sq;
	u32 waits = min_t(u32, ++sq->far_waits, SHCA_BUSY_FAR);

	shca_req_gather_failed(&sq->req, pkt, SHCA_MEM_RETRY);
	shca_req_stall(&sq->req, d->now + (SHCA_BUSY_NS << waits));
	d->peer->rq.far_waits = true;
	d->wait = true;
}

/*
 * An answer waits for memory of the side @mem. That side resumes when it is there;
 * but where the kernel had no memory to ask with, nobody tells. Then the peer
 * continues in a moment, by packets.
 */
static void shca_direct_answer_waits(struct shca_direct *d,
				     const struct shca_mem_ctx *mem)
{
	d->wait = true;
	if (unlikely(mem->starved))
		shca_rq_wait_below(d->peer);
}

/* Not inline, this and the next: a frame with both packets would be large. */
static noinline_for_stack void shca_direct_requests(struct shca_direct *d)
{
	struct shca_req *req = &d->qp->sq.req;
	struct shca_pkt pkt __uninitialized;
	enum shca_mem_status status;
	enum shca_verdict verdict;

	while (d->budget > 0 && !d->wait && shca_req_next(req, d->now, &pkt)) {
		d->budget -= 1 + (pkt.paylen >> PAGE_SHIFT);
		if (unlikely(!pkt.wr))
			shca_count(d->qp, TX_ACK_PROBE);
		status = shca_mem_hold(&d->qp->sq.side.mem, &pkt, &d->pieces);
		if (status != SHCA_MEM_OK) {
			shca_direct_refused(d, &pkt, status);
			continue;
		}
		shca_direct_arrive(d, &pkt, d->qp, d->peer);
		d->peer->rq.held = &d->pieces;
		verdict = shca_rq_accept(d->peer, &pkt, d->now, d->news);
		d->peer->rq.held = NULL;
		/* Nothing is kept here: the peer hears what is missing, and all comes again. */
		if (unlikely(verdict == SHCA_RX_OUT_OF_SEQ))
			shca_rq_missing(d->peer, pkt.psn, pkt.psn, true, d->now);
		if (unlikely(shca_rx_is_later(verdict)))
			shca_direct_put_off(d, &pkt);
		else
			d->qp->sq.far_waits = 0;
		shca_mem_release(&d->pieces);
	}
}

/* Return: whether there was an answer. */
static noinline_for_stack bool shca_direct_answers(struct shca_direct *d)
{
	struct shca_pkt pkt __uninitialized;
	enum shca_mem_status status;
	bool answered = false;
	enum shca_verdict verdict;

	while (d->budget > 0 && !d->wait &&
	       shca_resp_next(&d->peer->rq.resp, d->now, &pkt)) {
		d->budget -= 1 + (pkt.paylen >> PAGE_SHIFT);
		status = shca_mem_hold(&d->peer->rq.side.mem, &pkt, &d->pieces);
		if (status != SHCA_MEM_OK) {
			shca_rq_refused(d->peer, &pkt, status, d->news);
			if (status == SHCA_MEM_RETRY)
				shca_direct_answer_waits(d, &d->peer->rq.side.mem);
			continue;
		}
		shca_direct_arrive(d, &pkt, d->peer, d->qp);
		verdict = shca_sq_accept(d->qp, &pkt, d->now);
		/* Nothing is kept here: it comes again. */
		if (unlikely(verdict == SHCA_RX_LOST_RESPONSE))
			shca_req_gap(&d->qp->sq.req, pkt.psn, pkt.psn,
				     d->now);
		shca_mem_release(&d->pieces);
		if (verdict == SHCA_RX_RETRY) {
			shca_rq_refused(d->peer, &pkt, SHCA_MEM_RETRY, d->news);
			shca_direct_answer_waits(d, &d->qp->sq.side.mem);
			d->owed = true;
		}
		answered = true;
	}
	return answered;
}

/* ---- the fast path ---------------------------------------------------------- */

/**
 * struct shca_fast_run - small messages of one hold of both locks
 * @near:	a region of ours that one of them has reached, see shca_mr_get_kept()
 * @far:	the same of the peer's
 * @nr:		messages
 * @out:	bytes that went to the peer
 * @back:	bytes that came from it (READ)
 */
struct shca_fast_run {
	struct shca_mr *near;
	struct shca_mr *far;
	unsigned int nr;
	u32 out;
	u32 back;
};

/* The far end's memory: where @wr says, or where its receive request does. */
static enum shca_mem_status shca_fast_far(struct shca_direct *d,
					   const struct shca_send_wr *wr,
					   struct shca_fast_run *s, u64 *va,
					   struct shca_mr **mr)
{
	const struct shca_recv_wr *recv = &d->peer->rq.resp.wr;
	struct shca_accessor who = d->peer->who;
	u32 access = IB_ACCESS_LOCAL_WRITE;
	u32 key = recv->sge[0].lkey;

	if (shca_wr_op(wr->opcode)->form == SHCA_FORM_RDMA) {
		access = wr->opcode == SHCA_WR_RDMA_READ ?
			 IB_ACCESS_REMOTE_READ : IB_ACCESS_REMOTE_WRITE;
		key = wr->rdma.rkey;
		*va = wr->rdma.remote_addr;
	} else {
		if (recv->num_sge != 1 || recv->sge[0].length < wr->length)
			return SHCA_MEM_RANGE;
		who.pd = shca_rq_pd(d->peer);
		*va = recv->sge[0].addr;
	}
	return shca_mr_get_kept(&s->far, &who, key, access, *va, wr->length, mr);
}

/* Return: false: nothing has happened. */
static bool shca_fast_move(struct shca_direct *d,
			    const struct shca_send_wr *wr,
			    struct shca_fast_run *s)
{
	bool is_read = wr->opcode == SHCA_WR_RDMA_READ;
	const struct shca_sge *sge = wr->sge;
	struct shca_mr *near = NULL, *far;
	u64 far_va;

	if (!wr->inline_data) {
		if (wr->num_sge != 1 ||
		    shca_mr_get_kept(&s->near, &d->qp->who, sge->lkey,
				     is_read ? IB_ACCESS_LOCAL_WRITE :
					       SHCA_MR_LOCAL_READ,
				     sge->addr, wr->length,
				     &near) != SHCA_MEM_OK)
			return false;
	}
	/* After that: a receive request is not taken for what cannot be sent. */
	if ((shca_fast_takes_recv(wr) && !shca_fast_recv(&d->peer->rq.resp)) ||
	    shca_fast_far(d, wr, s, &far_va, &far) != SHCA_MEM_OK) {
		if (near)
			shca_mr_put_kept(&s->near, near);
		return false;
	}
	if (is_read)
		shca_mr_copy(near, sge->addr, far, far_va, NULL, wr->length);
	else
		shca_mr_copy(far, far_va, near, sge->addr, wr->inline_data,
			     wr->length);
	shca_mr_put_kept(&s->far, far);
	if (near)
		shca_mr_put_kept(&s->near, near);
	return true;
}

static bool shca_fast_one(struct shca_direct *d, const struct shca_send_wr *wr,
			   struct shca_fast_run *s)
{
	struct shca_wc wc __uninitialized;
	struct shca_qp *peer = d->peer;

	if (!wr->length) {
		if (shca_fast_takes_recv(wr) &&
		    !shca_fast_recv(&peer->rq.resp))
			return false;
	} else if (!shca_fast_move(d, wr, s)) {
		return false;
	}
	s->nr++;
	if (wr->opcode == SHCA_WR_RDMA_READ)
		s->back += wr->length;
	else
		s->out += wr->length;
	shca_fast_resp_done(&peer->rq.resp, wr, &wc);
	/* Where the CQ overflows the answer is lost, so packets find out. */
	if (shca_fast_takes_recv(wr) && !shca_rq_complete(peer, &wc))
		return false;
	shca_fast_req_done(&d->qp->sq.req, wr);
	return true;
}

/* A request packet and an answer for each. */
static void shca_fast_count(const struct shca_qp *qp, unsigned int nr,
			     u32 out, u32 in)
{
	shca_count_n(qp, TX_PKTS, nr);
	shca_count_n(qp, TX_BYTES, out);
	shca_count_n(qp, TX_DIRECT, nr);
	shca_count_n(qp, RX_PKTS, nr);
	shca_count_n(qp, RX_BYTES, in);
}

/* Return: whether all has been sent, and nothing is owed. */
static noinline_for_stack bool shca_direct_short(struct shca_direct *d)
{
	struct shca_resp *resp = &d->peer->rq.resp;
	struct shca_req *req = &d->qp->sq.req;
	const struct shca_send_wr *wr;
	struct shca_fast_run s = {};

	if (!shca_fast_ready(req, resp) || shca_fast_watched() ||
	    shca_fault_is_on(d->peer->dev, BIT(SHCA_FAULT_RESPOND)))
		return false;
	while (d->budget > 0 && (wr = shca_fast_next(req, resp))) {
		if (!shca_fast_one(d, wr, &s))
			break;
		d->budget -= 2;
	}
	shca_mem_forget(&s.near);
	shca_mem_forget(&s.far);
	if (s.nr) {
		shca_fast_count(d->qp, s.nr, s.out, s.back);
		shca_fast_count(d->peer, s.nr, s.back, s.out);
	}
	return req->ring.nxt == req->ring.prod && req->ring.una == req->ring.nxt;
}

/* By packets: both machines see each. */
static noinline_for_stack void shca_direct_packets(struct shca_direct *d)
{
	struct shca_resp *resp = &d->peer->rq.resp;
	struct shca_req *req = &d->qp->sq.req;

	d->now = ktime_get_ns();
	d->pieces.kept = NULL;
	shca_set_reach(req, resp, SHCA_DIRECT_BYTES >> req->psn.mtu_shift);
	/* An answer may let the next requests go. */
	do
		shca_direct_requests(d);
	while (shca_direct_answers(d));
	shca_set_reach(req, resp, 1);
}

void shca_direct_report(const struct shca_direct_news *news)
{
	if (likely(!news->peer))
		return;
	shca_rq_report(news->peer, &news->rq);
	shca_qp_put(news->peer);
}

enum shca_direct_end shca_direct_transmit(struct shca_qp *qp,
					  struct shca_direct_news *news)
{
	struct shca_qp *peer = shca_direct_peer(qp);
	struct shca_direct d __uninitialized;

	qp->sq.direct = false;
	qp->sq.direct_more = false;
	/* News are of one peer. */
	if (!peer || unlikely(news->peer && news->peer != peer))
		return SHCA_DIRECT_NO;
	spin_lock(&peer->rq.lock);
	if (unlikely(!shca_direct_fits(qp, peer))) {
		spin_unlock(&peer->rq.lock);
		return SHCA_DIRECT_NO;
	}
	qp->sq.direct = true;
	d.qp = qp;
	d.peer = peer;
	d.budget = SHCA_DIRECT_BUDGET;
	d.wait = false;
	d.owed = false;
	d.news = &news->rq;
	if (!shca_direct_short(&d))
		shca_direct_packets(&d);
	shca_rq_settle(peer, &news->rq);
	shca_direct_note(peer, news);
	spin_unlock(&peer->rq.lock);
	qp->sq.direct_more = d.budget <= 0 || d.owed;
	return d.budget <= 0 && !d.wait ? SHCA_DIRECT_MORE : SHCA_DIRECT_DONE;
}
