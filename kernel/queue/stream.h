/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Streams: posts without a doorbell.
 *
 * A process that posts small requests one at a time spends most of its time on the
 * system call of the doorbell.  While that goes on and nobody waits for the
 * requests, not each of them needs the doorbell.  (They are not signalled;
 * shca_qp_status.sq_doorbell tells the duties of the process.) The kernel publishes
 * the index from which a doorbell is needed, and looks at the ring by itself after
 * a while.
 *
 * Two kinds of QP have no stream.  One answers its peers (a request of theirs came
 * since the last doorbell), the other posts now and then.  A stream ends where its
 * next batch is not full in time (stream.c).  If it has filled no batch, the next
 * row of posts must be twice as long before a stream begins.  A process may post a
 * few requests and wait for their effect, through another QP or in memory.  It pays
 * the delay only a few times.
 *
 * The first doorbells of a row are timed. What is long, for a post or between two of
 * them, is told by what a doorbell takes: a machine may be slow, or shared.
 *
 * Invariant: wherever sq_doorbell is ahead of shca_sq.seen, @until is not 0.  The
 * timer of the send side is then armed for @until or earlier, or runs.  It is never
 * cancelled nor put off while the QP lives.  So it looks at the ring once more
 * after a doorbell has stopped a stream.
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
 * @heard:	what the peers had sent then (shca_stream_heard())
 * @full:	this stream has filled a batch
 * @alone:	doorbells in a row for one post each, as it was waited for
 * @timed:	doorbells of this row that were timed
 * @bell:	the least time of these, ns
 * @posts:	so many came in a row
 * @since:	when the row began, ns
 * @hold:	of a stream: how long after a look at the ring the next one is due, ns
 * @until:	when the ring is looked at next, ns; 0: no stream
 */
struct shca_stream {
	u32 batch;
	u32 patience;
	u32 seen;
	u32 heard;
	bool full;
	u8 alone;
	u8 timed;
	u32 bell;
	u64 posts;
	u64 since;
	u64 hold;
	u64 until;
};

/* The process that posts knows sq_doorbell. */
void shca_stream_init(struct shca_qp *qp);

/* The doorbell was rung, and the ring has been looked at. Context: sq.lock held. */
void shca_stream_doorbell(struct shca_qp *qp);

/*
 * A doorbell begins.
 * Return: the time for shca_stream_end() behind the doorbell, or 0: it is not timed.
 */
u64 shca_stream_begin(const struct shca_qp *qp);

/* A doorbell that is timed ends. Context: no lock held. */
void shca_stream_end(struct shca_qp *qp, u64 begun);

/*
 * A response has come, and the ring is looked at. The peer answers what the last doorbell has
 * sent. Until then the process may not have this CPU, and each answer looks at the ring.
 * Context: sq.lock held.
 */
static inline void shca_stream_looked(struct shca_stream *stream, u64 now)
{
	if (stream->until)
		stream->until = now + stream->hold;
}

/* Time has passed; the ring is looked at after this. Context: sq.lock held. */
void shca_stream_timer(struct shca_qp *qp, u64 now);

/*
 * Each post needs a doorbell again. Some of the posts under way may not know yet.  So a look at
 * the ring has to follow; if not, the timer looks, which stays armed.  Full barrier.
 * Context: sq.lock held.
 */
void shca_stream_stop(struct shca_qp *qp);

#endif
