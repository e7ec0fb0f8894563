// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Acknowledgements that leave with the reply; see reply.h. */
#include "reply.h"

#include "../queue/qp.h"

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

void shca_reply_init(struct shca_reply *reply)
{
	reply->wants = SHCA_REPLY_WANTS;
}

u64 __shca_reply_until(struct shca_qp *qp, u64 now)
{
	struct shca_reply *reply = &qp->reply;
	u32 psn = qp->rq.resp.ack.psn;
	bool is_new = psn != reply->psn;
	u64 turn = READ_ONCE(reply->turn);

	lockdep_assert_held(&qp->rq.lock);
	reply->psn = psn;
	if (!is_new)
		return 0;
	WRITE_ONCE(reply->answered, now);
	if (!shca_reply_is_likely(reply) || qp->state != IB_QPS_RTS)
		return 0;
	/* One that waits already, for an earlier request, is part of this one. */
	return reply->due ?: now + min_t(u64, turn * SHCA_REPLY_TURNS + SHCA_REPLY_LEAST_NS,
					 turn + SHCA_REPLY_MOST_NS);
}

void shca_reply_missed(struct shca_qp *qp)
{
	struct shca_reply *reply = &qp->reply;

	lockdep_assert_held(&qp->rq.lock);
	/* (else it has waited for the queue below, or for its rate) */
	if (!shca_reply_is_likely(reply) || !shca_resp_owes_ack(&qp->rq.resp))
		return;
	if (READ_ONCE(reply->replies) < reply->wants * SHCA_REPLY_TRUSTED)
		reply->wants = min_t(u32, reply->wants * 2, SHCA_REPLY_WANTS_MOST);
	WRITE_ONCE(reply->replies, 0);
}

void __shca_reply_sent(struct shca_qp *qp, u64 now)
{
	struct shca_reply *reply = &qp->reply;
	s64 turn = now - READ_ONCE(reply->answered);
	u32 bytes = U16_MAX;

	lockdep_assert_held(&qp->sq.lock);
	WRITE_ONCE(reply->answered, 0);
	if ((u64)turn > SHCA_REPLY_MOST_NS ||
	    qp->link->max_batch(qp->dev, &qp->av, &qp->sq.side.route, &bytes) < 2)
		return;
	if (reply->turn)
		turn = reply->turn + (turn - reply->turn) / SHCA_REPLY_SHARE;
	WRITE_ONCE(reply->turn, turn);
	WRITE_ONCE(reply->replies, READ_ONCE(reply->replies) + 1);
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
	taken = reply->due && shca_resp_owes_ack(resp) &&
		shca_resp_next(resp, now, pkt);
	if (taken)
		WRITE_ONCE(reply->due, 0);
	spin_unlock(&qp->rq.lock);
	return taken;
}
