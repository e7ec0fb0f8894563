// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Faults of packets and work requests.
 *
 * Timer: shca_faults.timer, one of a device, armed for the first packet that waits.
 * It runs in softirq.
 */
#include "fault.h"

#include <linux/ktime.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "../base/compat.h"
#include "../base/counters.h"
#include "../core/headers.h"
#include "../core/packet.h"
#include "../core/wr.h"
#include "cq.h"
#include "qp.h"

/* A packet that others should overtake goes on after this time without them. */
#define SHCA_FAULT_REORDER_NS	(20 * NSEC_PER_MSEC)
/* How many packets go on in one turn of the timer. */
#define SHCA_FAULT_TURN		64

void shca_fault_port_event(struct shca_dev *dev, u8 event)
{
	if (event == IB_EVENT_PORT_ERR)
		atomic_inc(&dev->port.downed);
	shca_event(&dev->events, event);
}

/* The process that made a QP or CQ; the RDMA core keeps it as long as that. */
static const void *shca_fault_owner(const struct rdma_restrack_entry *res)
{
	return rdma_is_kernel_res(res) ? NULL : res->task;
}

static const void *shca_fault_qp_owner(const struct shca_qp *qp)
{
	/* (the RDMA core keeps no account of work queues) */
	return qp->ibqp ? shca_fault_owner(&qp->ibqp->res) : NULL;
}

/*
 * The number of a packet's message. What is answered has its own; a responder counts those
 * that are complete.
 */
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
	/* It is about the port. The packet only says when. */
	shca_fault_port_event(dev, hit->rule.event);
	return false;
}

void shca_fault_damage(struct sk_buff *skb, u32 off, u32 hdr_len, u32 len,
		       const struct shca_fault_hit *hit)
{
	u32 random = hit->random, at;
	u8 byte;

	switch (hit->rule.what) {
	case SHCA_FAULT_CORRUPT_PAYLOAD:
		at = hdr_len + random % (len - hdr_len - SHCA_ICRC_BYTES);
		break;
	case SHCA_FAULT_CORRUPT_HEADER:
		/* The PSN: the packet still reaches its QP, which counts it. */
		at = 9 + random % 3;
		break;
	default:
		at = len - 1 - random % SHCA_ICRC_BYTES;
		break;
	}
	if (skb_copy_bits(skb, off + at, &byte, 1))
		return;
	byte ^= 1 << (random >> 29);
	skb_store_bits(skb, off + at, &byte, 1);
}

/* ---- packets that wait ----------------------------------------------------------- */

/* The lock is held. */
static void shca_fault_arm(struct shca_faults *faults)
{
	struct shca_held *first;

	lockdep_assert_held(&faults->lock);
	first = list_first_entry_or_null(&faults->held, struct shca_held, node);
	/* (not in the past: what runs timers would run this one again before all else) */
	if (first)
		hrtimer_start(&faults->timer,
			      ns_to_ktime(max(first->due, ktime_get_ns())),
			      HRTIMER_MODE_ABS_SOFT);
}

static void shca_held_free(struct shca_held *held)
{
	if (held->go_on != shca_fault_leave)
		held->dev->link->keep(held->dev, held->skb, false);
	kfree_skb(held->skb);
	kfree(held);
}

void shca_fault_hold(struct shca_held *held, const struct shca_fault_hit *hit)
{
	struct shca_faults *faults = &held->dev->faults;
	struct shca_held *before;
	bool ok;

	held->ahead = 0;
	held->due = ktime_get_ns();
	if (hit->rule.what == SHCA_FAULT_REORDER) {
		held->ahead = hit->rule.distance;
		held->due += SHCA_FAULT_REORDER_NS;
	} else {
		held->due += hit->delay_ns;
	}
	spin_lock_bh(&faults->lock);
	ok = !faults->stopped && faults->nr_held < SHCA_FAULT_HELD;
	if (ok) {
		list_for_each_entry_reverse(before, &faults->held, node)
			if (before->due <= held->due)
				break;
		list_add(&held->node, &before->node);
		faults->nr_held++;
		shca_fault_arm(faults);
	}
	spin_unlock_bh(&faults->lock);
	if (!ok)
		shca_held_free(held);
}

void shca_fault_leave(struct shca_held *held)
{
	struct shca_route route = {};
	u32 len = held->skb->len;

	/* As any loss: nobody can be told any more. */
	held->dev->link->xmit(held->dev, &held->av, &route, held->skb, 1, len);
	shca_route_drop(&route);
	kfree(held);
}

void shca_fault_passed(struct shca_dev *dev, u32 qpn,
		       void (*go_on)(struct shca_held *held))
{
	struct shca_faults *faults = &dev->faults;
	struct shca_held *held, *next;
	LIST_HEAD(overtaken);

	if (!READ_ONCE(faults->nr_held))
		return;
	spin_lock_bh(&faults->lock);
	list_for_each_entry_safe(held, next, &faults->held, node) {
		if (held->qpn != qpn || held->go_on != go_on || !held->ahead ||
		    --held->ahead)
			continue;
		list_move_tail(&held->node, &overtaken);
		faults->nr_held--;
	}
	spin_unlock_bh(&faults->lock);
	list_for_each_entry_safe(held, next, &overtaken, node)
		go_on(held);
}

static struct shca_held *shca_fault_first_due(struct shca_faults *faults)
{
	struct shca_held *held;

	spin_lock_bh(&faults->lock);
	held = list_first_entry_or_null(&faults->held, struct shca_held, node);
	if (held && !faults->stopped && held->due <= ktime_get_ns()) {
		list_del(&held->node);
		faults->nr_held--;
	} else {
		if (!faults->stopped)
			shca_fault_arm(faults);
		held = NULL;
	}
	spin_unlock_bh(&faults->lock);
	return held;
}

static enum hrtimer_restart shca_fault_timer(struct hrtimer *timer)
{
	struct shca_faults *faults = container_of(timer, struct shca_faults,
						  timer);
	struct shca_held *held;
	int i;

	/* Others put packets off meanwhile, perhaps faster: a turn has an end. */
	rcu_read_lock();
	for (i = 0; i < SHCA_FAULT_TURN; i++) {
		held = shca_fault_first_due(faults);
		if (!held)
			break;
		held->go_on(held);
	}
	rcu_read_unlock();
	if (i == SHCA_FAULT_TURN) {
		spin_lock_bh(&faults->lock);
		if (!faults->stopped)
			shca_fault_arm(faults);
		spin_unlock_bh(&faults->lock);
	}
	return HRTIMER_NORESTART;
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

/* ---- completions and doorbells ----------------------------------------------------- */

bool shca_fault_overruns(const struct shca_cq *cq, u32 qpn, const struct shca_wc *wc)
{
	const struct shca_fault_at at = {
		.stage = SHCA_FAULT_CQ,
		.qpn = qpn,
		.cqn = cq->ibcq.res.id,
		.wr_id = wc->wr_id,
		.owner = shca_fault_owner(&cq->ibcq.res),
	};
	struct shca_fault_hit hit;

	return shca_fault_ask(to_shca_dev(cq->ibcq.device), &at, &hit);
}

bool shca_fault_is_silent(const struct shca_cq *cq)
{
	const struct shca_fault_at at = {
		.stage = SHCA_FAULT_NOTIFY,
		.cqn = cq->ibcq.res.id,
		.owner = shca_fault_owner(&cq->ibcq.res),
	};
	struct shca_fault_hit hit;

	return shca_fault_ask(to_shca_dev(cq->ibcq.device), &at, &hit);
}

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

/* The key of a request that has one, or goes on with that of its first packet. */
static u32 shca_fault_key(const struct shca_qp *qp, const struct shca_pkt *pkt)
{
	u32 flags = shca_opcode_info(pkt->opcode)->flags;

	if (flags & SHCA_OPF_RETH)
		return pkt->reth.rkey;
	return flags & SHCA_OPF_ATOMICETH ? pkt->atomic.rkey : qp->rq.resp.msg.rkey;
}

bool shca_fault_respond(struct shca_qp *qp, const struct shca_pkt *pkt,
			struct shca_resp_out *out, enum shca_verdict *verdict)
{
	struct shca_fault_hit hit;

	/* Duplicates and what is ahead are not executed anyway. */
	if (!shca_resp_is_next(&qp->rq.resp, pkt) ||
	    !shca_fault_packet(qp, SHCA_FAULT_RESPOND, pkt, &hit))
		return false;
	if (hit.rule.what == SHCA_FAULT_REVOKE) {
		shca_mr_revoke(&qp->who, shca_fault_key(qp, pkt));
		return false;
	}
	*verdict = shca_resp_forge(&qp->rq.resp, pkt, hit.rule.nak,
				   hit.rule.status, out);
	return true;
}

/* ---- lifetime ------------------------------------------------------------------------ */

void shca_fault_init_dev(struct shca_dev *dev)
{
	struct shca_faults *faults = &dev->faults;

	INIT_LIST_HEAD(&faults->rules);
	INIT_LIST_HEAD(&faults->held);
	spin_lock_init(&faults->lock);
	hrtimer_setup(&faults->timer, shca_fault_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_SOFT);
}

void shca_fault_start_dev(struct shca_dev *dev)
{
	spin_lock_bh(&dev->faults.lock);
	dev->faults.stopped = false;
	spin_unlock_bh(&dev->faults.lock);
}

void shca_fault_stop_dev(struct shca_dev *dev)
{
	struct shca_faults *faults = &dev->faults;
	struct shca_held *held, *next;
	LIST_HEAD(held_list);

	spin_lock_bh(&faults->lock);
	faults->stopped = true;
	list_splice_init(&faults->held, &held_list);
	faults->nr_held = 0;
	spin_unlock_bh(&faults->lock);
	/* It is not armed again once @stopped is set. */
	hrtimer_cancel(&faults->timer);
	list_for_each_entry_safe(held, next, &held_list, node)
		shca_held_free(held);
}
