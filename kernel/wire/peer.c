// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* What a QP knows of its peer; see peer.h. */
#include "peer.h"

#include "../../uapi/softhca-abi.h"
#include "../../uapi/softhca-netlink.h"

/*
 * Attempts to find the peer among the QPs of this kernel, and the unit of the delay between
 * them, which doubles each time. In most programs the peer is there before the first request.
 */
#define SHCA_PEER_LOOKS		12
#define SHCA_PEER_LOOK_NS	50000

u32 shca_peer_of_ece(u32 ece_options)
{
	u32 peer = 0;

	if ((ece_options & SHCA_ECE_SIGNATURE_MASK) != SHCA_ECE_SIGNATURE)
		return 0;
	if (ece_options & SHCA_ECE_FLUSHES_ACKS)
		peer |= SHCA_PEER_FLUSHES_ACKS;
	if (ece_options & SHCA_ECE_HOLDS)
		peer |= SHCA_PEER_OOO;
	return peer;
}

/*
 * With ECN-capable packets, a peer that does not answer marks makes a queue grow, which then
 * drops packets of others. So by default only packets to a known softhca are ECN-capable.
 */
void shca_peer_ecn(struct shca_qp *qp)
{
	struct shca_sq *sq = &qp->sq;
	struct shca_req_attr attr = {};

	lockdep_assert_held(&sq->lock);
	sq->ecn_peer = sq->req.attr.peer;
	attr.ecn = qp->link->ecn &&
		   qp->link->ecn(&qp->av, sq->cc_mode == SHCA_CC_MODE_ON ||
					  (sq->cc_mode == SHCA_CC_MODE_AUTO &&
					   sq->ecn_peer));
	shca_req_modify(&sq->req, &attr, SHCA_REQ_ECN);
}

void shca_peer_start(struct shca_qp *qp)
{
	struct shca_sq *sq = &qp->sq;
	struct shca_req_attr attr;

	lockdep_assert_held(&sq->lock);
	sq->peer_looks = 0;
	sq->cc_mode = SHCA_CC_MODE_OFF;
	if (!shca_qp_is_reliable(qp))
		return;
	sq->cc_mode = READ_ONCE(qp->dev->cc.mode);
	shca_peer_ecn(qp);
	attr.peer = shca_peer_of_ece(qp->peer_ece);
	shca_req_modify(&sq->req, &attr, SHCA_REQ_PEER);
	/* ECE may say too little, so this kernel is searched, too. (The core knows marks.) */
	sq->peer_looks = SHCA_PEER_LOOKS;
	sq->peer_ns = 0;
	sq->peer_changes = 0;
}

/*
 * Is @peer connected back? Its fields are read without its lock, since only AckReq depends on
 * the result. If the QP is changing right now, a wrong guess costs one ACK probe.
 */
static bool shca_peer_fits(const struct shca_qp *qp, const struct shca_qp *peer)
{
	return data_race(peer->type == shca_peer_type(qp) && !peer->dead &&
			 peer->rq.resp.state != SHCA_SIDE_RESET &&
			 peer->rq.resp.attr.dqpn == qp->qpn &&
			 peer->link == qp->link && qp->link->mirrors &&
			 qp->link->mirrors(&qp->av, &peer->av));
}

void shca_peer_look(struct shca_qp *qp, u64 now)
{
	u64 changes = shca_net_changes();
	struct shca_sq *sq = &qp->sq;

	lockdep_assert_held(&sq->lock);
	/* No QP has been created or connected since. */
	if (sq->peer_changes == changes)
		return;
	sq->peer_changes = changes;
	if (shca_net_has_qp(qp, sq->req.attr.dqpn, shca_peer_fits)) {
		const struct shca_req_attr attr = { .peer = SHCA_PEER_FLUSHES_ACKS |
							   SHCA_PEER_OOO };

		shca_req_modify(&sq->req, &attr, SHCA_REQ_PEER);
		sq->peer_looks = 0;
		return;
	}
	sq->peer_looks--;
	sq->peer_ns = now + (SHCA_PEER_LOOK_NS <<
			     (SHCA_PEER_LOOKS - sq->peer_looks));
}

/* Does the peer know that this side queues packets? Otherwise it ignores gap reports. */
static bool shca_peer_fits_ahead(const struct shca_qp *qp,
				 const struct shca_qp *peer)
{
	return shca_peer_fits(qp, peer) &&
	       data_race(peer->sq.req.attr.peer & SHCA_PEER_OOO);
}

void shca_peer_look_ahead(struct shca_qp *qp, u64 now)
{
	const struct shca_resp_attr attr = { .peer = SHCA_PEER_OOO };
	struct shca_rq *rq = &qp->rq;

	lockdep_assert_held(&rq->lock);
	if (!shca_qp_is_reliable(qp) || now < rq->peer_ns ||
	    rq->peer_looks == SHCA_PEER_LOOKS)
		return;
	rq->peer_ns = now + (SHCA_PEER_LOOK_NS << rq->peer_looks++);
	if (shca_net_has_qp(qp, rq->resp.attr.dqpn, shca_peer_fits_ahead))
		shca_resp_modify(&rq->resp, &attr, SHCA_RESP_PEER);
}
