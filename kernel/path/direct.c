// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The direct path: requests become no packets if the peer QP is in this network namespace and
 * the route to it ends here. With SHCA_PATH_HOST at both devices, which must trust each other
 * (trust.h), the peer may be in another namespace of this kernel.
 *
 * Requester and responder are those of the wire, and so are the rules: PSNs, RNR, NAKs,
 * retries, fences, SRQs, events. The posting call hands over packet descriptors, each of which
 * stands for as many PSNs as fit into SHCA_DIRECT_BYTES. The payload stays in the sender's
 * memory, from which the memory operations copy it once, page to page. Answers are handed back
 * before the lock is released. A small message between two idle QPs takes a fast path without
 * descriptors (core/requester/fast.h); any unusual message takes descriptors.
 *
 * Locks: rq.lock of the peer inside sq.lock, CQ and SRQ locks inside both. No path takes an
 * sq.lock while it holds an rq.lock, so any number of QPs may do this to each other, and one to
 * itself.
 *
 * A request must not overtake packets in flight. The direct path therefore begins when nothing
 * is outstanding, or when the requester has gone back to its oldest packet: packets in flight
 * then are duplicates. Packets may take over at any time.
 */
#include "direct.h"

#include <linux/ktime.h>
#include <linux/netdevice.h>

#include "../base/compat.h"
#include "../base/counters.h"
#include "../base/dev.h"
#include "../core/psn.h"
#include "../core/requester/fast.h"
#include "../queue/qp_table.h"
#include "../queue/srq.h"
#include "../wire/fault_points.h"
#include "../wire/peer.h"
#include "../wire/tx.h"
#include "move.h"
#include "sq.h"

/* Payload of one descriptor: some tens of microseconds with bottom halves off. */
#define SHCA_DIRECT_BYTES	(256u << 10)
/* Retries while the peer waits for memory: SHCA_BUSY_NS apart, doubled this often at most. */
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

/* Could packets reach a peer in another namespace? */
static bool shca_direct_is_up(const struct shca_dev *dev,
			      const struct shca_dev *peer)
{
	return likely(dev->snet == peer->snet) ||
	       (netif_running(peer->ndev) && netif_carrier_ok(peer->ndev));
}

/*
 * Do the addresses of both QPs match? Certain under rq.lock of @peer, under which they are
 * written.
 */
static bool shca_direct_mirrors(const struct shca_qp *qp,
				const struct shca_qp *peer)
{
	return peer->type == shca_peer_type(qp) && peer->link == qp->link &&
	       shca_move_may(qp->dev, peer->dev) &&
	       qp->link->mirrors(&qp->av, &peer->av);
}

/* shca_net_peek_other() caches the result until shca_net_note_change(). */
static bool shca_direct_guess(const struct shca_qp *qp,
			      const struct shca_qp *peer)
{
	/* shca_direct_fits() checks again under the lock. */
	return data_race(shca_direct_mirrors(qp, peer));
}

/* May requests of @qp go directly to @peer? */
static bool shca_direct_fits(const struct shca_qp *qp,
			     const struct shca_qp *peer)
{
	lockdep_assert_held(&peer->rq.lock);
	/* The packet path drops and counts other P_Keys, and keeps a static rate. */
	return !peer->dead && !(qp->av.rate_kbps | peer->av.rate_kbps) &&
	       peer->rq.resp.attr.dqpn == qp->qpn &&
	       shca_pkey_match(shca_qp_pkey(qp), shca_qp_pkey(peer)) &&
	       shca_direct_mirrors(qp, peer) &&
	       shca_direct_is_up(qp->dev, peer->dev);
}

/* Return: the peer, valid while bottom halves are off; NULL: requests become packets. */
static struct shca_qp *shca_direct_peer(struct shca_qp *qp)
{
	u32 dqpn = qp->sq.req.attr.dqpn;
	struct shca_dev *dev = qp->dev;
	u8 path = READ_ONCE(dev->path);

	lockdep_assert_held(&qp->sq.lock);
	if ((!shca_qp_is_reliable(qp) && qp->type != IB_QPT_UC) ||
	    !qp->link->local || path == SHCA_PATH_WIRE || !shca_direct_may_begin(qp) ||
	    shca_fault_is_on(dev, SHCA_FAULT_PACKETS))
		return NULL;
	if (qp->link->local(dev, &qp->av, &qp->sq.side.route))
		return shca_net_peek_qp(dev->snet, dqpn, &qp->sq.peer);
	/* Without a route, packets would not reach another namespace either. */
	if (path != SHCA_PATH_HOST || !qp->sq.side.route.dst)
		return NULL;
	return shca_net_peek_other(qp, dqpn, shca_direct_guess, &qp->sq.peer);
}

/* Set what the receiver would have read from lower headers, and count. */
static void shca_direct_arrive(struct shca_move *m, struct shca_pkt *pkt,
			       struct shca_qp *from, struct shca_qp *to)
{
	pkt->path.port = 1;
	pkt->path.grh_present = true;
	shca_move_count(from, to, pkt->span + 1, pkt->paylen);
	shca_move_leaves(m, from, pkt);
}

/*
 * The peer's memory is being fetched. Then shca_rq_resume() of the peer resumes this requester.
 * It cannot if the peer is destroyed first, or is in another namespace; therefore a timer tries
 * again, less and less often.
 */
static void shca_direct_put_off(struct shca_move *m,
				const struct shca_pkt *pkt)
{
	struct shca_sq *sq = &m->qp->sq;
	u32 waits = min_t(u32, ++sq->far_waits, SHCA_BUSY_FAR);

	shca_req_gather_failed(&sq->req, pkt, SHCA_MEM_RETRY);
	shca_req_stall(&sq->req, m->now + (SHCA_BUSY_NS << waits));
	m->peer->rq.far_waits = true;
	m->wait = true;
}

/*
 * An answer waits for memory of the side @mem, which resumes when its memory was fetched. If it
 * could not request the fetch, the peer continues after a delay, by packets.
 */
static void shca_direct_answer_waits(struct shca_move *m,
				     const struct shca_mem_ctx *mem)
{
	m->wait = true;
	if (unlikely(mem->starved))
		shca_rq_wait_below(m->peer);
}

/* This function and the next are not inlined: a frame with both packets would be large. */
static noinline_for_stack void shca_direct_requests(struct shca_move *m)
{
	struct shca_req *req = &m->qp->sq.req;
	struct shca_pkt pkt __uninitialized;
	enum shca_verdict verdict;

	while (m->budget > 0 && !m->wait && shca_req_next(req, m->now, &pkt)) {
		m->budget -= 1 + (pkt.paylen >> PAGE_SHIFT);
		if (unlikely(!pkt.wr))
			shca_count(m->qp, TX_ACK_PROBE);
		if (!shca_move_hold(m, &pkt))
			continue;
		shca_direct_arrive(m, &pkt, m->qp, m->peer);
		m->peer->rq.held = &m->pieces;
		verdict = shca_rq_accept(m->peer, &pkt, m->now, &m->pending->rq);
		m->peer->rq.held = NULL;
		/* Nothing is queued: after the gap report the requester sends all again. */
		if (unlikely(verdict == SHCA_RX_OUT_OF_SEQ))
			shca_rq_missing(m->peer, pkt.psn, pkt.psn, true, m->now);
		if (unlikely(shca_rx_is_later(verdict)))
			shca_direct_put_off(m, &pkt);
		else
			m->qp->sq.far_waits = 0;
		shca_mem_release(&m->pieces);
	}
}

/* Return: whether there was an answer. */
static noinline_for_stack bool shca_direct_answers(struct shca_move *m)
{
	struct shca_pkt pkt __uninitialized;
	enum shca_mem_status status;
	bool answered = false;
	enum shca_verdict verdict;

	while (m->budget > 0 && !m->wait &&
	       shca_resp_next(&m->peer->rq.resp, m->now, &pkt)) {
		m->budget -= 1 + (pkt.paylen >> PAGE_SHIFT);
		status = shca_mem_hold(&m->peer->rq.side.mem, &pkt, &m->pieces);
		if (status != SHCA_MEM_OK) {
			shca_rq_refused(m->peer, &pkt, status, &m->pending->rq);
			if (status == SHCA_MEM_RETRY)
				shca_direct_answer_waits(m, &m->peer->rq.side.mem);
			continue;
		}
		shca_direct_arrive(m, &pkt, m->peer, m->qp);
		verdict = shca_sq_accept(m->qp, &pkt, m->now, NULL);
		/* No response is queued here: the requester asks for it again. */
		if (unlikely(verdict == SHCA_RX_LOST_RESPONSE))
			shca_req_gap(&m->qp->sq.req, pkt.psn, pkt.psn,
				     m->now);
		shca_mem_release(&m->pieces);
		if (verdict == SHCA_RX_RETRY) {
			shca_rq_refused(m->peer, &pkt, SHCA_MEM_RETRY, &m->pending->rq);
			shca_direct_answer_waits(m, &m->qp->sq.side.mem);
			/* The answer comes again when @m->qp resumes. */
			m->qp->sq.direct_more = true;
		}
		answered = true;
	}
	return answered;
}

/* ---- the fast path ---------------------------------------------------------- */

/* Return: whether to go on. */
static bool shca_fast_one(struct shca_move *m, const struct shca_send_wr *wr)
{
	struct shca_wc wc __uninitialized;
	struct shca_qp *peer = m->peer;

	if (!shca_move_short(m, wr, NULL))
		return false;
	shca_fast_resp_done(&peer->rq.resp, wr, &wc);
	/* If the CQ overflows, the responder fails, and drops the packet that @wr becomes. */
	if (shca_fast_takes_recv(wr) && !shca_rq_complete(peer, &wc))
		return false;
	shca_fast_req_done(&m->qp->sq.req, wr);
	return true;
}

/* Return: whether all requests were sent and answered. */
static noinline_for_stack bool shca_direct_short(struct shca_move *m)
{
	struct shca_resp *resp = &m->peer->rq.resp;
	struct shca_req *req = &m->qp->sq.req;
	const struct shca_send_wr *wr;

	if (!shca_fast_ready(req, resp) || !shca_move_is_short(m))
		return false;
	while (m->budget > 0 && (wr = shca_fast_next(req, resp)) &&
	       shca_fast_one(m, wr))
		m->budget -= 2;
	return req->ring.nxt == req->ring.prod && req->ring.una == req->ring.nxt;
}

/* Hand over descriptors, which requester and responder process as packets. */
static noinline_for_stack void shca_direct_packets(struct shca_move *m)
{
	struct shca_resp *resp = &m->peer->rq.resp;
	struct shca_req *req = &m->qp->sq.req;

	m->now = ktime_get_ns();
	m->pieces.kept = NULL;
	shca_set_reach(req, resp, SHCA_DIRECT_BYTES >> req->psn.mtu_shift);
	/* An answer may permit further requests. */
	do
		shca_direct_requests(m);
	while (shca_direct_answers(m));
	shca_set_reach(req, resp, 1);
}

void shca_direct_report(const struct shca_direct_pending *pending)
{
	if (likely(!pending->peer))
		return;
	shca_rq_report(pending->peer, &pending->rq);
	shca_qp_put(pending->peer);
}

enum shca_direct_end shca_direct_transmit(struct shca_qp *qp,
					  struct shca_direct_pending *pending)
{
	struct shca_qp *peer = shca_direct_peer(qp);
	struct shca_move m __uninitialized;

	qp->sq.direct = false;
	qp->sq.direct_more = false;
	/* Pending events are of one peer. */
	if (!peer || unlikely(pending->peer && pending->peer != peer))
		return SHCA_DIRECT_NO;
	spin_lock(&peer->rq.lock);
	if (unlikely(!shca_direct_fits(qp, peer))) {
		spin_unlock(&peer->rq.lock);
		return SHCA_DIRECT_NO;
	}
	qp->sq.direct = true;
	m.budget = SHCA_DIRECT_BUDGET;
	m.wait = false;
	shca_move_begin(&m, qp, peer, pending);
	if (!shca_direct_short(&m))
		shca_direct_packets(&m);
	shca_move_end(&m);
	spin_unlock(&peer->rq.lock);
	if (m.budget > 0)
		return SHCA_DIRECT_DONE;
	qp->sq.direct_more = true;
	return m.wait ? SHCA_DIRECT_DONE : SHCA_DIRECT_MORE;
}
