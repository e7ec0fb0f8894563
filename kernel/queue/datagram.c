// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The direct path of datagrams (direct.c has that of connected QPs).
 *
 * A datagram names its receiver, so each is looked at by itself.  It needs no packet if
 * two things hold.  The route of its address vector ends in this namespace, at an
 * address of some device.  And that device has a UD QP of this number.
 *
 * What a receiver learns from lower headers (GRH, SL, VLAN) is what it would have learnt
 * from the packet (shca_link_ops.meets, .grh_sent).  Whatever is unusual goes as packets.
 * So does all behind it in this hold of the lock, and nothing is overtaken there.  A
 * capture at the netdev in between makes packets, too.
 *
 * Datagrams in a row for one QP share a hold of its lock.  Most take the fast path
 * (core/fast.h), which knows one segment, or inline data, and one receive segment.
 * The others are handed to the responder as decoded packets.
 *
 * Locks: as in direct.c.
 */
#include "datagram.h"

#include <linux/ktime.h>

#include "../base/counters.h"
#include "../core/fast.h"
#include "../core/headers.h"
#include "../core/opcode.h"
#include "direct_internal.h"
#include "payload.h"
#include "qp_table.h"
#include "sq.h"

/**
 * struct shca_datagrams - a hold of both locks, for datagrams to one address and QP
 * @qp:	sender
 * @peer:	receiver
 * @av:		where they go
 * @qpn:	of @peer
 * @path:	what lower headers would tell
 * @grh_len:	bytes of the packet that @grh is of; 0: of none yet
 * @grh:	what such a packet would bring
 * @near:	a region of the sender that one has reached, see shca_mr_get_kept()
 * @far:	the same of the receiver
 * @nr:		datagrams that have arrived
 * @bytes:	their payload
 * @budget:	what is left, in pages and hand-overs
 * @wait:	the sender's memory is being fetched: no more now
 * @refused:	the receiver's is: the rest goes as packets, which can wait for it
 * @news:	about @peer
 * @pieces:	payload of the packet being handed over
 */
struct shca_datagrams {
	struct shca_qp *qp;
	struct shca_qp *peer;
	const struct shca_av *av;
	u32 qpn;
	struct shca_path_info path;
	u32 grh_len;
	u8 grh[SHCA_GRH_BYTES];
	struct shca_mr *near;
	struct shca_mr *far;
	unsigned int nr;
	u32 bytes;
	int budget;
	bool wait;
	bool refused;
	struct shca_side_news *news;
	struct shca_pieces pieces;
};

/* ---- the fast path ---------------------------------------------------------- */

/* Bytes of the packet that @wr would be, from BTH to ICRC. */
static u32 shca_datagram_len(const struct shca_send_wr *wr)
{
	u32 imm = wr->opcode == SHCA_WR_SEND_WITH_IMM ? SHCA_IMM_BYTES : 0;

	return SHCA_BTH_BYTES + SHCA_DETH_BYTES + imm + wr->length +
	       shca_hdr_pad(wr->length) + SHCA_ICRC_BYTES;
}

static const u8 *shca_datagram_grh(struct shca_datagrams *d,
				   const struct shca_send_wr *wr)
{
	u32 len = shca_datagram_len(wr);

	if (d->grh_len != len)
		d->qp->link->grh_sent(d->av, len, d->grh);
	d->grh_len = len;
	return d->grh;
}

/* GRH and payload to their place.  Return: false: nothing has happened. */
static bool shca_datagram_move(struct shca_datagrams *d,
			       const struct shca_send_wr *wr)
{
	const struct shca_recv_wr *recv = &d->peer->rq.resp.wr;
	struct shca_accessor who = d->peer->who;
	const struct shca_sge *to = &recv->sge[0];
	u32 len = SHCA_GRH_BYTES + wr->length;
	struct shca_mr *near = NULL, *far;

	if (recv->num_sge != 1 || to->length < len)
		return false;
	if (wr->length && !wr->inline_data &&
	    (wr->num_sge != 1 ||
	     shca_mr_get_kept(&d->near, &d->qp->who, wr->sge[0].lkey,
			      SHCA_MR_LOCAL_READ, wr->sge[0].addr, wr->length,
			      &near) != SHCA_MEM_OK))
		return false;
	who.pd = shca_rq_pd(d->peer);
	if (shca_mr_get_kept(&d->far, &who, to->lkey, IB_ACCESS_LOCAL_WRITE,
			     to->addr, len, &far) != SHCA_MEM_OK) {
		if (near)
			shca_mr_put_kept(&d->near, near);
		return false;
	}
	shca_mr_copy(far, to->addr, NULL, 0, shca_datagram_grh(d, wr),
		     SHCA_GRH_BYTES);
	shca_mr_copy(far, to->addr + SHCA_GRH_BYTES, near, wr->sge[0].addr,
		     wr->inline_data, wr->length);
	shca_mr_put_kept(&d->far, far);
	if (near)
		shca_mr_put_kept(&d->near, near);
	return true;
}

/* Return: false: nothing has happened. */
static bool shca_datagram_short(struct shca_datagrams *d,
				const struct shca_send_wr *wr)
{
	struct shca_resp *resp = &d->peer->rq.resp;
	struct shca_req *req = &d->qp->sq.req;
	struct shca_wc wc __uninitialized;

	if (!shca_fast_takes_datagram(req, resp, wr) || !shca_fast_recv(resp) ||
	    !shca_datagram_move(d, wr))
		return false;
	d->nr++;
	d->bytes += wr->length;
	shca_fast_datagram_done(req, resp, wr, &d->path, &wc);
	/* Where the CQ overflows, the receiver has failed: what follows is dropped there. */
	shca_rq_complete(d->peer, &wc);
	return true;
}

/* ---- the others ------------------------------------------------------------- */

static noinline_for_stack void shca_datagram_packet(struct shca_datagrams *d)
{
	struct shca_sq *sq = &d->qp->sq;
	struct shca_pkt pkt __uninitialized;
	enum shca_mem_status status;
	enum shca_verdict verdict;
	u64 now = ktime_get_ns();

	if (!shca_req_next(&sq->req, now, &pkt)) {
		d->refused = true;
		return;
	}
	d->pieces.kept = NULL;
	status = shca_mem_hold(&sq->side.mem, &pkt, &d->pieces);
	if (status != SHCA_MEM_OK) {
		shca_req_gather_failed(&sq->req, &pkt, status);
		if (status == SHCA_MEM_RETRY)
			shca_sq_hold(sq);
		d->wait = true;
		return;
	}
	pkt.path = d->path;
	pkt.pkey = shca_qp_pkey(d->qp);
	pkt.data = &d->pieces;
	if (trace_shca_payload_enabled())
		shca_payload_trace(d->qp->qpn, &pkt, true);
	trace_shca_direct(d->qp->qpn, &pkt);
	verdict = shca_rq_accept(d->peer, &pkt, now, d->news);
	shca_mem_release(&d->pieces);
	if (unlikely(shca_rx_is_later(verdict))) {
		shca_req_gather_failed(&sq->req, &pkt, SHCA_MEM_RETRY);
		d->refused = true;
		return;
	}
	d->nr++;
	d->bytes += pkt.paylen;
}

/* ---- both ------------------------------------------------------------------- */

static bool shca_datagram_goes_there(const struct shca_datagrams *d,
				     const struct shca_send_wr *wr)
{
	const struct shca_av *av = wr->priv;

	return wr->ud.remote_qpn == d->qpn && av->tag == d->av->tag;
}

/* Both locks are held. */
static void shca_datagram_run(struct shca_datagrams *d,
			      const struct shca_send_wr *wr)
{
	bool is_fast = !shca_fast_watched() &&
		       !shca_fault_is_on(d->peer->dev, BIT(SHCA_FAULT_RESPOND));

	do {
		d->budget -= 2 + (wr->length >> PAGE_SHIFT);
		if (!is_fast || !shca_datagram_short(d, wr))
			shca_datagram_packet(d);
		wr = shca_fast_datagram(&d->qp->sq.req);
	} while (wr && d->budget > 0 && !d->wait && !d->refused &&
		 shca_datagram_goes_there(d, wr));
	shca_mem_forget(&d->near);
	shca_mem_forget(&d->far);
}

static void shca_datagram_count(const struct shca_datagrams *d)
{
	shca_count_n(d->qp, TX_PKTS, d->nr);
	shca_count_n(d->qp, TX_BYTES, d->bytes);
	shca_count_n(d->qp, TX_DIRECT, d->nr);
	shca_count_n(d->peer, RX_PKTS, d->nr);
	shca_count_n(d->peer, RX_BYTES, d->bytes);
}

/* Is the peer one that takes them, and not behind packets that wait?  Under its rq.lock. */
static bool shca_datagram_fits(const struct shca_qp *qp, const struct shca_qp *peer)
{
	return !peer->dead && peer->type == IB_QPT_UD && peer->link == qp->link &&
	       !peer->rss && !peer->rq.side.park.nr &&
	       shca_pkey_match(shca_qp_pkey(qp), shca_qp_pkey(peer)) &&
	       shca_direct_may_meet(qp->dev, peer->dev);
}

/* The QP that @wr names, valid as long as bottom halves are off; or NULL. */
static struct shca_qp *shca_datagram_peer(struct shca_qp *qp,
					  const struct shca_send_wr *wr,
					  struct shca_path_info *path)
{
	struct shca_qp *peer;

	peer = shca_net_peek_qp(qp->dev->snet, wr->ud.remote_qpn, &qp->sq.peer);
	if (!peer || peer->link != qp->link ||
	    !qp->link->meets(qp->dev, wr->priv, &qp->sq.side.route, peer->dev, path))
		return NULL;
	return peer;
}

/* Datagrams to one peer.  Return: false: it cannot be reached in this way. */
static bool shca_datagrams(struct shca_datagrams *d, const struct shca_send_wr *wr,
			   struct shca_direct_news *news)
{
	struct shca_qp *peer = d->peer;

	d->av = wr->priv;
	d->qpn = wr->ud.remote_qpn;
	d->grh_len = 0;
	d->near = NULL;
	d->far = NULL;
	d->nr = 0;
	d->bytes = 0;
	spin_lock(&peer->rq.lock);
	if (unlikely(!shca_datagram_fits(d->qp, peer))) {
		spin_unlock(&peer->rq.lock);
		return false;
	}
	shca_datagram_run(d, wr);
	if (d->nr)
		shca_datagram_count(d);
	shca_rq_settle(peer, &news->rq);
	shca_direct_note(peer, news);
	spin_unlock(&peer->rq.lock);
	return true;
}

enum shca_direct_end shca_datagram_transmit(struct shca_qp *qp,
					    struct shca_direct_news *news)
{
	struct shca_datagrams d __uninitialized;
	const struct shca_send_wr *wr;

	lockdep_assert_held(&qp->sq.lock);
	qp->sq.direct = false;
	if (!qp->link->meets || READ_ONCE(qp->dev->path) == SHCA_PATH_WIRE ||
	    shca_fault_is_on(qp->dev, SHCA_FAULT_PACKETS))
		return SHCA_DIRECT_NO;
	d.qp = qp;
	d.budget = SHCA_DIRECT_BUDGET;
	d.wait = false;
	d.refused = false;
	d.news = &news->rq;
	while ((wr = shca_fast_datagram(&qp->sq.req))) {
		if (d.budget <= 0)
			return SHCA_DIRECT_MORE;
		d.peer = shca_datagram_peer(qp, wr, &d.path);
		if (!d.peer)
			return SHCA_DIRECT_NO;
		/* News are of one peer: the next hold of the lock is for this one. */
		if (unlikely(news->peer && news->peer != d.peer))
			return SHCA_DIRECT_MORE;
		if (!shca_datagrams(&d, wr, news))
			return SHCA_DIRECT_NO;
		qp->sq.direct = true;
		if (unlikely(d.wait))
			return SHCA_DIRECT_DONE;
		if (unlikely(d.refused))
			return SHCA_DIRECT_NO;
	}
	return qp->sq.req.ring.nxt == qp->sq.req.ring.prod ? SHCA_DIRECT_DONE :
							     SHCA_DIRECT_NO;
}
