/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Acknowledgements that leave with the reply.
 *
 * A server often answers a request at once, by a message on the same QP. Acknowledgement and
 * reply would cross the stack as two packets. Where a reply is likely, the acknowledgement
 * waits for it, and leaves as the last packet of its batch. One skb takes both, and the peer
 * handles both in one go. (TCP delays acknowledgements for the same reason, in its pingpong
 * mode.)
 *
 * A reply is likely after some replies in a row within SHCA_REPLY_MOST_NS. The acknowledgement
 * waits a few times as long as they took. If none comes, it leaves alone, and the next wait
 * needs twice as many replies before. A process that does not reply thus pays for a few waits
 * only. The tail loss probe of the peer comes later (EARLY_LEAST_NS of
 * core/requester/recovery.c).
 *
 * Duplicates and ACK probes are answered at once, as are READs, atomics and errors. On a path
 * without batches waiting gains nothing, so no reply counts there.
 */
#ifndef SHCA_REPLY_H
#define SHCA_REPLY_H

#include <linux/types.h>

#include "../queue/qp.h"

/* Initialise: no reply is likely yet. */
void shca_reply_init(struct shca_reply *reply);

/* Out-of-line parts of the three below. */
u64 __shca_reply_until(struct shca_qp *qp, u64 now);
void __shca_reply_sent(struct shca_qp *qp, u64 now);
bool __shca_reply_take(struct shca_qp *qp, u64 now, struct shca_pkt *pkt);

/*
 * Until when does an owed acknowledgement wait for a reply?
 * Context: softirq, rq.lock held.
 * Return: a time, ns; @now or earlier: it does not wait.
 */
static inline u64 shca_reply_until(struct shca_qp *qp, u64 now)
{
	return shca_resp_owes_ack(&qp->rq.resp) ? __shca_reply_until(qp, now) : 0;
}

/* The send side may transmit a reply now. Context: bottom halves off, sq.lock held. */
static inline void shca_reply_sent(struct shca_qp *qp, u64 now)
{
	if (unlikely(READ_ONCE(qp->reply.answered)))
		__shca_reply_sent(qp, now);
}

/*
 * Take the acknowledgement that waits, for the end of a batch.
 * Context: softirq or bottom halves off, sq.lock held; tries rq.lock.
 * Return: false: there is none.
 */
static inline bool shca_reply_take(struct shca_qp *qp, u64 now, struct shca_pkt *pkt)
{
	return unlikely(READ_ONCE(qp->reply.due)) && __shca_reply_take(qp, now, pkt);
}

/* Do acknowledgements wait for replies? Context: any; without rq.lock a hint. */
static inline bool shca_reply_is_likely(const struct shca_reply *reply)
{
	/* @wants is written under rq.lock. */
	return READ_ONCE(reply->replies) >= data_race(reply->wants);
}

/* The wait ended without a reply. Context: rq.lock held. */
void shca_reply_missed(struct shca_qp *qp);

#endif
