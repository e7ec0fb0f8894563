/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Streams: posts without a doorbell.
 *
 * A process that posts one small request after the other pays most for the system call of the
 * doorbell.  While that goes on and nobody waits for the requests (they are not
 * signalled, see shca_qp_status.sq_doorbell for what the process has to see to), the
 * doorbell is not needed for each: the kernel says from which index on it is, and looks
 * at the ring by itself after a while.
 *
 * A stream is found by what it is not: a QP that answers its peer (a request of the
 * peer came since the last doorbell) and one that posts now and then.  It ends where its
 * next batch is not full in time (stream.c), and where it has not filled one the next
 * row of posts has to be twice as long: whoever posts a few and waits for what they
 * bring about, through another QP or in memory, has waited for that a few times.
 *
 * Invariant: wherever sq_doorbell is ahead of shca_sq.seen, @until is not 0 and the timer
 * of the send side is armed for it or for earlier, or runs.  It is never cancelled
 * nor put off while the QP lives, so it looks at the ring once more after a stream has
 * been stopped by a doorbell.
 */
#ifndef SHCA_STREAM_H
#define SHCA_STREAM_H

#include <linux/types.h>

struct shca_qp;

/**
 * struct shca_stream - of a send side, under its lock
 * @batch:	posts that need one doorbell; 0: each needs its own, for good
 * @patience:	posts that make a stream
 * @seen:	shca_sq.seen at the last doorbell
 * @epsn:	PSN expected of the peer then
 * @full:	this stream has filled a batch
 * @alone:	doorbells in a row for one post each, as it was waited for
 * @posts:	so many came in a row
 * @since:	when the row began, ns
 * @until:	when the ring is looked at next, ns; 0: no stream
 */
struct shca_stream {
	u32 batch;
	u32 patience;
	u32 seen;
	u32 epsn;
	bool full;
	u8 alone;
	u64 posts;
	u64 since;
	u64 until;
};

/** shca_stream_init() - the process that posts knows sq_doorbell */
void shca_stream_init(struct shca_qp *qp);

/**
 * shca_stream_doorbell() - the doorbell was rung, and the ring has been looked at
 *
 * Context: sq.lock held.
 */
void shca_stream_doorbell(struct shca_qp *qp);

/**
 * shca_stream_timer() - time has passed; the ring is looked at after this
 *
 * Context: sq.lock held.
 */
void shca_stream_timer(struct shca_qp *qp, u64 now);

/**
 * shca_stream_stop() - each post needs a doorbell again
 *
 * Some of the posts under way may not know yet: a look at the ring has to follow, or
 * the timer, which stays armed, has one.  Full barrier.
 * Context: sq.lock held.
 */
void shca_stream_stop(struct shca_qp *qp);

#endif
