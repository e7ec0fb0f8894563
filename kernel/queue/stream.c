// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Posts without a doorbell; see stream.h. */
#include "stream.h"

#include <linux/ktime.h>
#include <linux/minmax.h>

#include "qp.h"

/* Posts per doorbell, which costs less than 32 posts; a short ring must not fill before. */
#define SHCA_STREAM_BATCH	32
#define SHCA_STREAM_OF_RING	4
#define SHCA_STREAM_BATCH_MIN	8
/* Posts in a row that begin a stream, at first and at most. */
#define SHCA_STREAM_MIN		16
#define SHCA_STREAM_MAX		4096
/* After this many one-post doorbells in a row, streaming no longer pays. */
#define SHCA_STREAM_ALONE	8
/*
 * Maximum average time between posts before a stream, in doorbells, so that it fits machines of
 * any speed. Behind a longer pause a doorbell costs little. Where doorbells are cheap the time
 * is longer, as on a busy machine the process does not always run.
 */
#define SHCA_STREAM_GAP		3
#define SHCA_STREAM_GAP_NS	50000ull
/*
 * A post waits as long as this many doorbells take. A batch is full by then, as its posts take
 * about a third of the time of their doorbells. It also waits at most this part of the stream's
 * age, so a process that waits for the post loses little. A response polls the ring, too, and
 * restarts the time. LEAST: a shorter timer does not pay.
 */
#define SHCA_STREAM_HOLD	25
#define SHCA_STREAM_HOLD_NS	250000ull
#define SHCA_STREAM_PART	2
#define SHCA_STREAM_LEAST_NS	20000ull
#define SHCA_STREAM_MOST_NS	10000000ull

static void shca_stream_set(struct shca_qp *qp, u32 doorbell)
{
	WRITE_ONCE(qp->status->sq_doorbell, doorbell);
}

void shca_stream_init(struct shca_qp *qp)
{
	struct shca_stream *stream = &qp->sq.stream;

	/* QP types where requests of the peer arrive at the same QP. */
	if (qp->type != IB_QPT_RC && qp->type != IB_QPT_UC &&
	    qp->type != IB_QPT_UD)
		return;
	stream->threshold = SHCA_STREAM_MIN;
	stream->doorbell_ns = U32_MAX;
	stream->batch = min_t(u32, SHCA_STREAM_BATCH,
			      qp->sq.max_wr / SHCA_STREAM_OF_RING);
	if (stream->batch < SHCA_STREAM_BATCH_MIN)
		stream->batch = 0;
}

void shca_stream_stop(struct shca_qp *qp)
{
	struct shca_stream *stream = &qp->sq.stream;

	lockdep_assert_held(&qp->sq.lock);
	stream->row = 0;
	WRITE_ONCE(stream->doorbell_ns, U32_MAX);
	stream->until = 0;
	shca_stream_set(qp, qp->sq.seen);
	/*
	 * Pairs with the barrier of the posting process between sq_prod and sq_doorbell. Either
	 * the process sees that a doorbell is due, or the next poll of the ring sees its post
	 * (litmus: sq-doorbell).
	 */
	smp_mb();
}

u64 shca_stream_begin(const struct shca_qp *qp)
{
	const struct shca_stream *stream = &qp->sq.stream;

	/*
	 * Only the last doorbells before a stream, without the lock: one more or less may be
	 * timed.
	 */
	if (data_race(!stream->row || stream->until ||
		      stream->row + SHCA_STREAM_MIN < stream->threshold))
		return 0;
	return ktime_get_ns();
}

void shca_stream_end(struct shca_qp *qp, u64 begun)
{
	struct shca_stream *stream = &qp->sq.stream;
	u64 spent = ktime_get_ns() - begun;

	/* The least time counts: others may include another process. Races do no harm. */
	if (spent < READ_ONCE(stream->doorbell_ns))
		WRITE_ONCE(stream->doorbell_ns, spent);
}

/* Cost of this many @doorbells, at least @least; ns. */
static u64 shca_stream_cost(const struct shca_stream *stream, u32 doorbells, u64 least)
{
	return max((u64)READ_ONCE(stream->doorbell_ns) * doorbells, least);
}

/* When the ring is polled, if no doorbell comes. */
static u64 shca_stream_next(const struct shca_stream *stream, u64 now)
{
	u64 cost = shca_stream_cost(stream, SHCA_STREAM_HOLD, SHCA_STREAM_HOLD_NS);
	u64 part = (now - stream->since) / SHCA_STREAM_PART;

	return now + clamp(min(cost, part), SHCA_STREAM_LEAST_NS, SHCA_STREAM_MOST_NS);
}

/* Counter that requests of peers advance (UD has no expected PSN). An old value will do. */
static u32 shca_stream_heard(const struct shca_qp *qp)
{
	return READ_ONCE(*(qp->type == IB_QPT_UD ? &qp->rq.resp.msn :
			   &qp->rq.resp.epsn));
}

void shca_stream_doorbell(struct shca_qp *qp)
{
	struct shca_stream *stream = &qp->sq.stream;
	u32 posts = qp->sq.seen - qp->status->sq_doorbell;
	u32 heard = shca_stream_heard(qp);
	u64 now;

	lockdep_assert_held(&qp->sq.lock);
	if (stream->until)
		posts += stream->batch;
	/* Each post rings, unless there is a stream. The index never falls behind: it wraps. */
	shca_stream_set(qp, qp->sq.seen);
	if (!stream->batch || heard != stream->heard || qp->state != IB_QPS_RTS) {
		stream->heard = heard;
		shca_stream_stop(qp);
		return;
	}
	if (stream->until) {
		if (posts >= stream->batch)
			stream->threshold = SHCA_STREAM_MIN;
		stream->row = posts == 1 ? stream->row + 1 : 0;
	} else {
		if (!stream->row)
			stream->since = ktime_get_ns();
		stream->row += posts;
		/* The first doorbell was not timed. */
		if (stream->row < stream->threshold || stream->row == posts)
			return;
	}
	now = ktime_get_ns();
	if (stream->until ? stream->row == SHCA_STREAM_ALONE :
	    now - stream->since > stream->row *
	    shca_stream_cost(stream, SHCA_STREAM_GAP, SHCA_STREAM_GAP_NS)) {
		shca_stream_stop(qp);
		return;
	}
	if (!stream->until) {
		stream->row = 0;
		stream->threshold = min_t(u32, stream->threshold * 2,
					  SHCA_STREAM_MAX);
	}
	stream->until = shca_stream_next(stream, now);
	shca_stream_set(qp, qp->sq.seen + stream->batch);
}

void shca_stream_polled(struct shca_stream *stream, u64 now)
{
	if (stream->until)
		stream->until = shca_stream_next(stream, now);
}

void shca_stream_timer(struct shca_qp *qp, u64 now)
{
	const struct shca_stream *stream = &qp->sq.stream;

	lockdep_assert_held(&qp->sq.lock);
	/* The process has paused, as a batch was not full in its time. */
	if (stream->until && now >= stream->until)
		shca_stream_stop(qp);
}
