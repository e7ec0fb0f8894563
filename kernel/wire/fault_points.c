// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Where the data path of a QP asks for faults: see fault_points.h. */
#include "fault_points.h"

#include <linux/ktime.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "../base/compat.h"
#include "../base/counters.h"
#include "../core/headers.h"
#include "../core/packet.h"
#include "../core/wr.h"
#include "../mem/mr.h"
#include "../queue/cq.h"
#include "../queue/qp.h"
#include "../queue/xrc.h"

static const void *shca_fault_qp_owner(const struct shca_qp *qp)
{
	/* The RDMA core does not track work queues. */
	return qp->ibqp ? shca_fault_owner(&qp->ibqp->res) : NULL;
}

/* Number of a packet's message: an answer's MSN, or at a responder the next one. */
static u32 shca_fault_msg(const struct shca_qp *qp, enum shca_fault_stage stage,
			  const struct shca_pkt *pkt)
{
	if (shca_opcode_info(pkt->opcode)->flags & SHCA_OPF_AETH)
		return pkt->aeth.msn;
	if (stage == SHCA_FAULT_RESPOND)
		return shca_psn_add(qp->rq.resp.msn, 1);
	if (stage == SHCA_FAULT_TX && pkt->wr)
		return shca_req_number(&qp->sq.req, pkt->wr);
	return 0;
}

bool shca_fault_packet(struct shca_qp *qp, enum shca_fault_stage stage,
		       const struct shca_pkt *pkt, struct shca_fault_hit *hit)
{
	const struct shca_fault_at at = {
		.stage = stage,
		.qpn = qp->qpn,
		.msg = shca_fault_msg(qp, stage, pkt),
		.pkt = pkt,
		.owner = shca_fault_qp_owner(qp),
	};
	struct shca_dev *dev = qp->dev;

	if (!shca_fault_ask(dev, &at, hit))
		return false;
	if (hit->rule.what != SHCA_FAULT_EVENT)
		return true;
	/* The event is one of the port: the packet only triggers it. */
	shca_fault_port_event(dev, hit->rule.event);
	return false;
}

/* ---- packets that leave ------------------------------------------------------------ */

static int shca_fault_put_off(struct shca_qp *qp, const struct shca_av *av,
			      struct sk_buff *skb,
			      const struct shca_fault_hit *hit)
{
	struct shca_held *held = kmalloc(sizeof(*held), GFP_ATOMIC | __GFP_NOWARN);

	if (!held) {
		kfree_skb(skb);
		shca_count(qp, TX_NO_MEM);
		return 0;
	}
	held->skb = skb;
	held->dev = qp->dev;
	held->qpn = qp->qpn;
	held->go_on = shca_fault_leave;
	held->av = *av;
	shca_fault_hold(held, hit);
	return 0;
}

int shca_fault_xmit(struct shca_qp *qp, const struct shca_av *av,
		    struct shca_route *route, struct sk_buff *skb, u32 hdr_len,
		    const struct shca_fault_hit *hit)
{
	u32 len = skb->len;
	struct shca_av marked;
	struct sk_buff *twin;

	switch (hit->rule.what) {
	case SHCA_FAULT_DROP:
		kfree_skb(skb);
		return 0;
	case SHCA_FAULT_DELAY:
	case SHCA_FAULT_REORDER:
		return shca_fault_put_off(qp, av, skb, hit);
	case SHCA_FAULT_DUPLICATE:
		twin = skb_copy(skb, GFP_ATOMIC | __GFP_NOWARN);
		if (twin)
			qp->link->xmit(qp->dev, av, route, twin, 1, len);
		else
			shca_count(qp, TX_NO_MEM);
		break;
	case SHCA_FAULT_ECN:
		marked = *av;
		if (qp->link->mark)
			qp->link->mark(&marked);
		return qp->link->xmit(qp->dev, &marked, route, skb, 1, len);
	default:
		shca_fault_damage(skb, 0, hdr_len, len, hit);
		break;
	}
	return qp->link->xmit(qp->dev, av, route, skb, 1, len);
}

/* ---- work requests ----------------------------------------------------------------- */

bool shca_fault_send(struct shca_qp *qp, struct shca_send_wr *wr)
{
	const struct shca_fault_at at = {
		.stage = SHCA_FAULT_SEND,
		.qpn = qp->qpn,
		.msg = shca_req_number(&qp->sq.req, wr),
		.cqn = qp->sq.cq->ibcq.res.id,
		.wr_id = wr->wr_id,
		.owner = shca_fault_qp_owner(qp),
	};
	struct shca_fault_hit hit;

	if (!shca_fault_ask(qp->dev, &at, &hit))
		return true;
	if (hit.rule.what == SHCA_FAULT_QP_FATAL)
		return false;
	wr->preset = hit.rule.status;
	wr->vendor_err = SHCA_VERR_NONE;
	return true;
}

/* ---- doorbells ---------------------------------------------------------------------- */

bool shca_fault_doorbell(struct shca_qp *qp, u64 *delay_ns)
{
	const struct shca_fault_at at = {
		.stage = SHCA_FAULT_DOORBELL,
		.qpn = qp->qpn,
		.owner = shca_fault_qp_owner(qp),
	};
	struct shca_fault_hit hit;

	if (!shca_fault_ask(qp->dev, &at, &hit))
		return false;
	*delay_ns = hit.rule.what == SHCA_FAULT_DELAY_DOORBELL ? hit.delay_ns : 0;
	return true;
}

/* ---- the responder ----------------------------------------------------------------- */

/* Key of a request; without one in its header, that of the message's first packet. */
static u32 shca_fault_key(const struct shca_qp *qp, const struct shca_pkt *pkt)
{
	u32 flags = shca_opcode_info(pkt->opcode)->flags;

	if (flags & SHCA_OPF_RETH)
		return pkt->reth.rkey;
	return flags & SHCA_OPF_ATOMICETH ? pkt->atomic.rkey : qp->rq.resp.msg.rkey;
}

/* An XRC target has the rights of the SRQ that the packet names. */
static void shca_fault_revoke(struct shca_qp *qp, const struct shca_pkt *pkt)
{
	struct shca_accessor who = qp->who;
	struct shca_xrc_target *target;
	u32 key = shca_fault_key(qp, pkt);

	if (qp->type != IB_QPT_XRC_TGT) {
		shca_mr_revoke(&who, key);
		return;
	}
	target = shca_xrc_find(qp->dev, qp->xrcd, pkt->xrc_srqn);
	if (!target)
		return;
	who.pd = target->pd;
	shca_mr_revoke(&who, key);
	shca_xrc_put(target);
}

bool shca_fault_respond(struct shca_qp *qp, const struct shca_pkt *pkt,
			struct shca_resp_out *out, enum shca_verdict *verdict)
{
	struct shca_fault_hit hit;

	/* Duplicates and packets ahead are not executed anyway. */
	if (!shca_resp_is_next(&qp->rq.resp, pkt) ||
	    !shca_fault_packet(qp, SHCA_FAULT_RESPOND, pkt, &hit))
		return false;
	if (hit.rule.what == SHCA_FAULT_REVOKE) {
		shca_fault_revoke(qp, pkt);
		return false;
	}
	*verdict = shca_resp_forge(&qp->rq.resp, pkt, hit.rule.nak,
				   hit.rule.status, out);
	return true;
}
