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
 * pays for that a few times. The peer begins to look for a lost answer later than that
 * (EARLY_LEAST_NS of core/recovery.c).
 *
 * What is not new (a request came again, or the peer probes) is answered at once, as are
 * READs and atomics, and whatever goes wrong. A path without batches has nothing to gain,
 * so no reply counts there.
 */
#ifndef SHCA_REPLY_H
#define SHCA_REPLY_H

#include <linux/types.h>

#include "qp.h"

/* No reply is likely yet. */
void shca_reply_init(struct shca_reply *reply);

/* Parts of the two below. */
bool __shca_reply_awaits(struct shca_qp *qp, u64 now);
void __shca_reply_sent(struct shca_qp *qp, u64 now);
bool __shca_reply_take(struct shca_qp *qp, u64 now, struct shca_pkt *pkt);

/* Does what the responder owes wait for a reply? Context: softirq, rq.lock held. */
static inline bool shca_reply_awaits(struct shca_qp *qp, u64 now)
{
	return shca_resp_owes_ack(&qp->rq.resp) && __shca_reply_awaits(qp, now);
}

/*
 * The send side is about to send: that may be a reply.
 * Context: softirq or bottom halves off, sq.lock held.
 */
static inline void shca_reply_sent(struct shca_qp *qp, u64 now)
{
	qp->reply.taken = false;
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
	return unlikely(READ_ONCE(qp->reply.held)) && __shca_reply_take(qp, now, pkt);
}

/*
 * The timer of the receive side has come.
 * Context: softirq; takes rq.lock.
 * Return: whether the receive side has to go on.
 */
bool shca_reply_timer(struct shca_qp *qp);

/*
 * @pkt, where sending resumes, could not leave. Nor could what the send side took after it,
 * which is owed again.
 * Context: sq.lock held, bottom halves off; takes rq.lock.
 * Return: whether @pkt itself is an acknowledgement, and the requester's packets left.
 */
bool shca_reply_return(struct shca_qp *qp, const struct shca_pkt *pkt);

#endif
