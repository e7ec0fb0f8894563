// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Acknowledgements that leave with the reply; see reply.h. */
#include "reply.h"

#include <linux/ktime.h>

#include "../core/opcode.h"
#include "../core/psn.h"
#include "qp.h"

/*
 * A reply that takes longer is none. The peer looks for a lost answer after 500 us and
 * twice the time that answers take. An answer that leaves with a reply takes as long as
 * the reply. So one may wait for this and the time of a reply.
 */
#define SHCA_REPLY_MOST_NS	450000
/* A reply is awaited for so many times what one takes, and a little more. */
#define SHCA_REPLY_TURNS	4
#define SHCA_REPLY_LEAST_NS	20000
/* Replies after which one is likely, at first and at most. */
#define SHCA_REPLY_WANTS	16
#define SHCA_REPLY_WANTS_MOST	8192
/* So many times more than were wanted: the one that did not come was an exception. */
#define SHCA_REPLY_TRUSTED	16
/* One part in so many of the average is the last reply. */
#define SHCA_REPLY_SHARE	8

/* Units of shca_reply.answered and .turn */
static u32 shca_reply_units(u64 ns)
{
	return ns >> 10;
}

void shca_reply_init(struct shca_reply *reply)
{
	reply->wants = SHCA_REPLY_WANTS;
}

static u64 shca_reply_wait(const struct shca_reply *reply)
{
	u64 turn = (u64)READ_ONCE(reply->turn) << 10;

	return min_t(u64, turn * SHCA_REPLY_TURNS + SHCA_REPLY_LEAST_NS,
		     turn + SHCA_REPLY_MOST_NS);
}

/* A timer that runs is left alone: for a queue that is full, it sends all that waits. */
static void shca_reply_arm(struct shca_qp *qp, u64 at)
{
	lockdep_assert_held(&qp->rq.lock);
	if (qp->dead || hrtimer_is_queued(&qp->rq.side.timer))
		return;
	qp->reply.armed = true;
	hrtimer_start(&qp->rq.side.timer, ns_to_ktime(at), HRTIMER_MODE_ABS_SOFT);
}

bool __shca_reply_awaits(struct shca_qp *qp, u64 now)
{
	struct shca_reply *reply = &qp->reply;
	u32 psn = qp->rq.resp.ack_psn;
	bool is_new = psn != reply->psn;

	lockdep_assert_held(&qp->rq.lock);
	reply->psn = psn;
	if (!is_new)
		return false;
	/* (0 means none) */
	WRITE_ONCE(reply->answered, shca_reply_units(now) | 1);
	if (READ_ONCE(reply->replies) - reply->seen < reply->wants ||
	    qp->state != IB_QPS_RTS)
		return false;
	/* One that waits already, for an earlier request, is part of this one. */
	if (reply->held)
		return now < reply->due;
	reply->due = now + shca_reply_wait(reply);
	WRITE_ONCE(reply->held, true);
	/* A timer that comes too early is armed again: most never have to be. */
	shca_reply_arm(qp, reply->due);
	return true;
}

bool shca_reply_timer(struct shca_qp *qp)
{
	struct shca_reply *reply = &qp->reply;
	bool goes_on = true;
	u64 now;

	spin_lock_bh(&qp->rq.lock);
	if (!reply->armed)
		goto out;	/* it was for a queue that was full: rq.c */
	reply->armed = false;
	goes_on = false;
	if (!reply->held)
		goto out;
	now = ktime_get_ns();
	if (now < reply->due) {
		shca_reply_arm(qp, reply->due);
		goto out;
	}
	if (READ_ONCE(reply->replies) - reply->seen <
	    reply->wants * SHCA_REPLY_TRUSTED)
		reply->wants = min_t(u32, reply->wants * 2, SHCA_REPLY_WANTS_MOST);
	reply->seen = READ_ONCE(reply->replies);
	goes_on = true;
out:
	spin_unlock_bh(&qp->rq.lock);
	return goes_on;
}

void __shca_reply_sent(struct shca_qp *qp, u64 now)
{
	struct shca_reply *reply = &qp->reply;
	u32 turn = shca_reply_units(now) - READ_ONCE(reply->answered);
	u32 bytes = U16_MAX;

	lockdep_assert_held(&qp->sq.lock);
	WRITE_ONCE(reply->answered, 0);
	if (turn > shca_reply_units(SHCA_REPLY_MOST_NS) ||
	    qp->link->max_batch(qp->dev, &qp->av, &qp->sq.side.route, &bytes) < 2)
		return;
	if (reply->replies)
		turn = reply->turn + (s32)(turn - reply->turn) / SHCA_REPLY_SHARE;
	WRITE_ONCE(reply->turn, turn);
	WRITE_ONCE(reply->replies, reply->replies + 1);
}

bool __shca_reply_take(struct shca_qp *qp, u64 now, struct shca_pkt *pkt)
{
	struct shca_resp *resp = &qp->rq.resp;
	struct shca_reply *reply = &qp->reply;
	bool taken;

	lockdep_assert_held(&qp->sq.lock);
	/* It is held by the receive side, which may be about to send what waits. */
	if (!spin_trylock(&qp->rq.lock))
		return false;
	taken = reply->held && shca_resp_owes_ack(resp) &&
		shca_resp_next(resp, now, pkt);
	WRITE_ONCE(reply->held, false);
	spin_unlock(&qp->rq.lock);
	if (taken) {
		reply->taken = true;
		reply->out_seq = pkt->out_seq;
	}
	return taken;
}

bool shca_reply_return(struct shca_qp *qp, const struct shca_pkt *pkt)
{
	struct shca_pkt last = { .opcode = SHCA_OP_ACK };
	struct shca_reply *reply = &qp->reply;

	lockdep_assert_held(&qp->sq.lock);
	if (!reply->taken)
		return false;
	reply->taken = false;
	last.out_seq = reply->out_seq;
	spin_lock(&qp->rq.lock);
	shca_resp_link_full(&qp->rq.resp, &last);
	/* The requester comes back with its packets, the timer without. */
	reply->due = ktime_get_ns() + SHCA_REPLY_MOST_NS;
	WRITE_ONCE(reply->held, true);
	shca_reply_arm(qp, reply->due);
	spin_unlock(&qp->rq.lock);
	return shca_opcode_info(pkt->opcode)->flags & SHCA_OPF_RESPONSE;
}
