// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The direct path of datagrams; direct.c has that of connected QPs.
 *
 * Each datagram names its peer. It needs no packet if the route of its address vector ends in
 * this namespace, at an address of a device that has a UD QP of this number
 * (shca_link_ops.meets). The receiver gets the GRH, SL and VLAN that the packet would have
 * brought (.grh_sent). An unusual datagram becomes a packet, and so do all behind it in the
 * same critical section, so that their order stays. A capture at the netdev in between makes
 * packets, too.
 *
 * Datagrams in a row to one QP share a critical section of its lock. Most take the fast path
 * (core/requester/fast.h): one segment, or inline data, and one receive segment. The responder
 * gets the others as decoded packets.
 *
 * Locks: as in direct.c.
 */
#include "datagram.h"

#include <linux/ktime.h>

#include "../core/headers.h"
#include "../core/opcode.h"
#include "../core/requester/fast.h"
#include "../queue/qp_table.h"
#include "../queue/srq.h"
#include "../wire/payload.h"
#include "move.h"
#include "sq.h"

/**
 * struct shca_datagrams - datagrams to one address and QP, under both locks
 * @move:	state that direct.c has, too
 * @av:		their address vector
 * @qpn:	number of the peer
 * @path:	what the receiver would read from lower headers
 * @grh_len:	length of the packet that @grh is of; 0: @grh is not set
 * @grh:	the GRH that such a packet would bring
 * @refused:	the receiver's memory is being fetched: the rest goes as packets, which can wait
 *		for it
 */
struct shca_datagrams {
	struct shca_move move;
	const struct shca_av *av;
	u32 qpn;
	struct shca_path_info path;
	u32 grh_len;
	u8 grh[SHCA_GRH_BYTES];
	bool refused;
};

/* ---- the fast path ---------------------------------------------------------- */

/* Length of the packet that @wr would become, from BTH to ICRC. */
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
		d->move.qp->link->grh_sent(d->av, len, d->grh);
	d->grh_len = len;
	return d->grh;
}

/* Return: whether @wr was delivered without a packet; see shca_move_short(). */
static bool shca_datagram_short(struct shca_datagrams *d,
				const struct shca_send_wr *wr)
{
	struct shca_resp *resp = &d->move.peer->rq.resp;
	struct shca_req *req = &d->move.qp->sq.req;
	struct shca_wc wc __uninitialized;

	if (!shca_fast_takes_datagram(req, resp, wr) ||
	    !shca_move_short(&d->move, wr, shca_datagram_grh(d, wr)))
		return false;
	shca_fast_datagram_done(req, resp, wr, &d->path, &wc);
	/* If the CQ overflows, the responder fails, and drops the datagrams that follow. */
	shca_rq_complete(d->move.peer, &wc);
	return true;
}

/* ---- as decoded packets ---------------------------------------------------------- */

static noinline_for_stack void shca_datagram_packet(struct shca_datagrams *d)
{
	struct shca_pkt pkt __uninitialized;
	struct shca_move *m = &d->move;
	struct shca_req *req = &m->qp->sq.req;
	enum shca_verdict verdict;
	u64 now = ktime_get_ns();

	if (!shca_req_next(req, now, &pkt)) {
		d->refused = true;
		return;
	}
	m->pieces.kept = NULL;
	if (!shca_move_hold(m, &pkt)) {
		m->wait = true;
		return;
	}
	pkt.path = d->path;
	pkt.pkey = shca_qp_pkey(m->qp);
	shca_move_leaves(m, m->qp, &pkt);
	verdict = shca_rq_accept(m->peer, &pkt, now, &m->pending->rq);
	shca_mem_release(&m->pieces);
	if (unlikely(shca_rx_is_later(verdict))) {
		shca_req_gather_failed(req, &pkt, SHCA_MEM_RETRY);
		d->refused = true;
		return;
	}
	m->nr++;
	m->out += pkt.paylen;
}

/* ---- both ------------------------------------------------------------------- */

static bool shca_datagram_goes_there(const struct shca_datagrams *d,
				     const struct shca_send_wr *wr)
{
	const struct shca_av *av = wr->priv;

	return wr->ud.remote_qpn == d->qpn && av->tag == d->av->tag;
}

/* Context: both locks held. */
static void shca_datagram_run(struct shca_datagrams *d,
			      const struct shca_send_wr *wr)
{
	struct shca_move *m = &d->move;
	bool is_short = shca_move_is_short(m);

	do {
		m->budget -= 2 + (wr->length >> PAGE_SHIFT);
		if (!is_short || !shca_datagram_short(d, wr))
			shca_datagram_packet(d);
		wr = shca_fast_datagram(&m->qp->sq.req);
	} while (wr && m->budget > 0 && !m->wait && !d->refused &&
		 shca_datagram_goes_there(d, wr));
	shca_move_end(m);
}

/* May datagrams go directly to @peer? Not past its backlog. Context: its rq.lock held. */
static bool shca_datagram_fits(const struct shca_qp *qp, const struct shca_qp *peer)
{
	return !peer->dead && peer->type == IB_QPT_UD && peer->link == qp->link &&
	       !peer->rss && !peer->rq.side.backlog.nr &&
	       shca_pkey_match(shca_qp_pkey(qp), shca_qp_pkey(peer)) &&
	       shca_move_may(qp->dev, peer->dev);
}

/* Return: the QP that @wr names, valid while bottom halves are off; or NULL. */
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

/* Send datagrams to @peer. Return: false: it cannot be reached directly. */
static bool shca_datagrams(struct shca_datagrams *d, struct shca_qp *qp,
			   struct shca_qp *peer, const struct shca_send_wr *wr,
			   struct shca_direct_pending *pending)
{
	d->av = wr->priv;
	d->qpn = wr->ud.remote_qpn;
	d->grh_len = 0;
	spin_lock(&peer->rq.lock);
	if (unlikely(!shca_datagram_fits(qp, peer))) {
		spin_unlock(&peer->rq.lock);
		return false;
	}
	shca_move_begin(&d->move, qp, peer, pending);
	shca_datagram_run(d, wr);
	spin_unlock(&peer->rq.lock);
	return true;
}

enum shca_direct_end shca_datagram_transmit(struct shca_qp *qp,
					    struct shca_direct_pending *pending)
{
	struct shca_datagrams d __uninitialized;
	const struct shca_send_wr *wr;
	struct shca_qp *peer;

	lockdep_assert_held(&qp->sq.lock);
	qp->sq.direct = false;
	if (!qp->link->meets || READ_ONCE(qp->dev->path) == SHCA_PATH_WIRE ||
	    shca_fault_is_on(qp->dev, SHCA_FAULT_PACKETS))
		return SHCA_DIRECT_NO;
	d.move.budget = SHCA_DIRECT_BUDGET;
	d.move.wait = false;
	d.refused = false;
	while ((wr = shca_fast_datagram(&qp->sq.req))) {
		if (d.move.budget <= 0)
			return SHCA_DIRECT_MORE;
		peer = shca_datagram_peer(qp, wr, &d.path);
		if (!peer)
			return SHCA_DIRECT_NO;
		/* Pending events are of one peer: the next critical section is for this one. */
		if (unlikely(pending->peer && pending->peer != peer))
			return SHCA_DIRECT_MORE;
		if (!shca_datagrams(&d, qp, peer, wr, pending))
			return SHCA_DIRECT_NO;
		qp->sq.direct = true;
		if (unlikely(d.move.wait))
			return SHCA_DIRECT_DONE;
		if (unlikely(d.refused))
			return SHCA_DIRECT_NO;
	}
	return qp->sq.req.ring.nxt == qp->sq.req.ring.prod ? SHCA_DIRECT_DONE :
							     SHCA_DIRECT_NO;
}
