/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Acknowledgements that leave with the reply.
 *
 * A server gets a request, and its process answers with a message of its own on the same
 * QP, at once. The acknowledgement of the request is a packet through the stack, and so
 * is the reply. Where such a reply is likely, the acknowledgement waits for it and is the
 * last packet of its batch. One skb takes both, and the peer handles both in one go.
 *
 * It is likely after some replies in a row that came within SHCA_REPLY_MOST_NS. The
 * acknowledgement waits a few times as long as they took. If none comes, it leaves alone,
 * and the next wait needs twice as many replies before. So a process that does not reply
 * pays for that a few times. (TCP delays acknowledgements for the same reason, in its
 * pingpong mode.) The peer begins to look for a lost answer later than that
 * (EARLY_LEAST_NS of core/requester/recovery.c).
 *
 * What is not new (a request came again, or the peer probes) is answered at once, as are
 * READs and atomics, and whatever goes wrong. A path without batches has nothing to gain,
 * so no reply counts there.
 */
#ifndef SHCA_REPLY_H
#define SHCA_REPLY_H

#include <linux/types.h>

#include "../queue/qp.h"

/* No reply is likely yet. */
void shca_reply_init(struct shca_reply *reply);

/* Parts of the three below. */
u64 __shca_reply_until(struct shca_qp *qp, u64 now);
void __shca_reply_sent(struct shca_qp *qp, u64 now);
bool __shca_reply_take(struct shca_qp *qp, u64 now, struct shca_pkt *pkt);

/*
 * Until when does what the responder owes wait for a reply?
 * Context: softirq, rq.lock held.
 * Return: a time, ns; @now or earlier: it does not wait.
 */
static inline u64 shca_reply_until(struct shca_qp *qp, u64 now)
{
	return shca_resp_owes_ack(&qp->rq.resp) ? __shca_reply_until(qp, now) : 0;
}

/*
 * The send side is about to send: that may be a reply.
 * Context: softirq or bottom halves off, sq.lock held.
 */
static inline void shca_reply_sent(struct shca_qp *qp, u64 now)
{
	if (unlikely(READ_ONCE(qp->reply.answered)))
		__shca_reply_sent(qp, now);
}

/*
 * The acknowledgement that waits, for the end of a batch.
 * Context: softirq or bottom halves off, sq.lock held; tries rq.lock.
 * Return: false: there is none.
 */
static inline bool shca_reply_take(struct shca_qp *qp, u64 now, struct shca_pkt *pkt)
{
	return unlikely(READ_ONCE(qp->reply.due)) && __shca_reply_take(qp, now, pkt);
}

/* Are acknowledgements held back for a reply? Context: any; without rq.lock it is a guess. */
static inline bool shca_reply_is_likely(const struct shca_reply *reply)
{
	/* @wants is written under rq.lock. */
	return READ_ONCE(reply->replies) >= data_race(reply->wants);
}

/* What waited leaves alone. Context: rq.lock held. */
void shca_reply_missed(struct shca_qp *qp);

#endif
