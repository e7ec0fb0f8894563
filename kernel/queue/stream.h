/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Streams: posts without a doorbell.
 *
 * A process that posts small requests one at a time spends most of its time on the system call
 * of the doorbell. While that goes on and nobody waits for the requests, not each of them needs
 * it. (They are not signalled; shca_qp_status.sq_doorbell has the duties of the process.) The
 * kernel publishes the index from which a doorbell is needed, and polls the ring by itself, as
 * a submission queue of io_uring is polled.
 *
 * A QP is in one of three states:
 *
 *   each post rings	@batch is 0
 *   counts		@until is 0: each post rings, and @row counts them
 *   stream		@until is not 0: one post in @batch rings
 *
 * @threshold posts in a row begin a stream, unless they are rare. A request of the peer ends
 * the row and the stream, because the QP then answers its peers, or the process waits for them.
 * A stream also ends after a few doorbells for one post each, which save nothing, and where no
 * doorbell comes in time (stream.c). A process may post a few requests and wait for their
 * effect, through another QP or in memory. It pays the delay only a few times, because each
 * stream doubles the threshold for the next one, until a batch is full.
 *
 * Invariant: wherever sq_doorbell is ahead of shca_sq.seen, @until is not 0, and the timer of
 * the send side is armed for @until or earlier, or runs. It is never cancelled nor postponed
 * while the QP lives, so it polls the ring once more after a doorbell has stopped a stream.
 */
#ifndef SHCA_STREAM_H
#define SHCA_STREAM_H

#include <linux/types.h>

struct shca_qp;

/**
 * struct shca_stream - stream of a send side, under its lock
 * @batch:	posts that need one doorbell; 0: each needs its own, for good
 * @threshold:	posts in a row that the next stream needs
 * @row:	posts in a row; in a stream: doorbells in a row for one post each
 * @heard:	requests of the peers at the last doorbell (shca_stream_heard())
 * @since:	when the row began, ns
 * @doorbell_ns:	doorbell cost: the least time in the row, ns; also written without the lock
 * @until:	when the ring is polled next, ns; 0: no stream
 */
struct shca_stream {
	u32 batch;
	u32 threshold;
	u32 row;
	u32 heard;
	u32 doorbell_ns;
	u64 since;
	u64 until;
};

/* The process that posts reads sq_doorbell. */
void shca_stream_init(struct shca_qp *qp);

/* A doorbell has polled the ring. Context: sq.lock held. */
void shca_stream_doorbell(struct shca_qp *qp);

/*
 * A doorbell begins.
 * Return: the time for shca_stream_end() after the doorbell, or 0: it is not timed.
 */
u64 shca_stream_begin(const struct shca_qp *qp);

/* End the measurement of a doorbell. */
void shca_stream_end(struct shca_qp *qp, u64 begun);

/*
 * A response has arrived, and the ring is polled: this restarts the time until the next poll.
 * While the peer answers the last doorbell, the process may not have this CPU. Context: sq.lock
 * held.
 */
void shca_stream_polled(struct shca_stream *stream, u64 now);

/* The timer has expired; the ring is polled after this. Context: sq.lock held. */
void shca_stream_timer(struct shca_qp *qp, u64 now);

/*
 * Each post needs a doorbell again. As some process may not have read that yet, the ring must
 * be polled after this; otherwise the timer does, which stays armed. Full barrier. Context:
 * sq.lock held.
 */
void shca_stream_stop(struct shca_qp *qp);

#endif
