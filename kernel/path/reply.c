// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Acknowledgements that leave with the reply; see reply.h. */
#include "reply.h"

#include "../queue/qp.h"

/*
 * A later message is no reply. The peer's tail loss probe leaves after 500 us and two round
 * trips. Acknowledgements that leave with replies make a round trip as long as a reply takes,
 * so one may wait for this time and that of a reply.
 */
#define SHCA_REPLY_MOST_NS	450000
/* An acknowledgement waits this many times the average time of a reply, and a bit longer. */
#define SHCA_REPLY_TURNS	4
#define SHCA_REPLY_LEAST_NS	20000
/* Replies in a row after which the next is likely, at first and at most. */
#define SHCA_REPLY_WANTS	16
#define SHCA_REPLY_WANTS_MOST	8192
/* After this many times shca_reply.wants replies, one that does not come is an exception. */
#define SHCA_REPLY_TRUSTED	16
/* Weight of the last reply in the average: one in this many. */
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
	/* An acknowledgement that waits already acknowledges this request, too. */
	return reply->due ?: now + min_t(u64, turn * SHCA_REPLY_TURNS + SHCA_REPLY_LEAST_NS,
					 turn + SHCA_REPLY_MOST_NS);
}

void shca_reply_missed(struct shca_qp *qp)
{
	struct shca_reply *reply = &qp->reply;

	lockdep_assert_held(&qp->rq.lock);
	/* Otherwise the wait was for the queue below, or for a rate. */
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
	/* If the receive side holds its lock, it may be about to send the acknowledgement. */
	if (!spin_trylock(&qp->rq.lock))
		return false;
	taken = reply->due && shca_resp_owes_ack(resp) &&
		shca_resp_next(resp, now, pkt);
	if (taken)
		WRITE_ONCE(reply->due, 0);
	spin_unlock(&qp->rq.lock);
	return taken;
}
