// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Posts without a doorbell; see stream.h. */
#include "stream.h"

#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#include "qp.h"

/*
 * Posts per doorbell in a stream.  A doorbell costs less than 32 posts do.  A short
 * ring has fewer: it must not be full before the doorbell is due.
 */
#define SHCA_STREAM_BATCH	32
#define SHCA_STREAM_OF_RING	4
#define SHCA_STREAM_BATCH_MIN	8
/* Posts in a row that make a stream, at first and at most. */
#define SHCA_STREAM_MIN		16
#define SHCA_STREAM_MAX		4096
/* After this many one-post doorbells in a row, streaming no longer pays. */
#define SHCA_STREAM_ALONE	8
/*
 * Maximum average time from post to post of a stream: that of so many doorbells, on
 * machines of any speed. Where a doorbell is cheap it may be more.
 */
#define SHCA_STREAM_GAP_BELLS	3
#define SHCA_STREAM_GAP_NS	50000
/*
 * A post waits as long as two batches take; the first may still be on its way up
 * the receiver's stack, on this CPU.  It waits at most MOST, or the time of so many
 * doorbells, and at most that part of the stream's age. It waits at least LEAST: a
 * shorter timer does not pay.
 */
#define SHCA_STREAM_PART	2
#define SHCA_STREAM_MOST_BELLS	25
#define SHCA_STREAM_MOST_NS	250000
#define SHCA_STREAM_LEAST_NS	20000
/*
 * Doorbells that are timed at the beginning of a row, and what one takes at most.  The
 * least counts: another one may include what some process did on this CPU.
 */
#define SHCA_STREAM_TIMED	8
#define SHCA_STREAM_BELL_MAX_NS	400000

static void shca_stream_set(struct shca_qp *qp, u32 doorbell)
{
	WRITE_ONCE(qp->status->sq_doorbell, doorbell);
}

void shca_stream_init(struct shca_qp *qp)
{
	struct shca_stream *stream = &qp->sq.stream;

	/* The kinds whose peers' requests arrive at the same QP. */
	if (qp->type != IB_QPT_RC && qp->type != IB_QPT_UC &&
	    qp->type != IB_QPT_UD)
		return;
	stream->patience = SHCA_STREAM_MIN;
	stream->bell = SHCA_STREAM_BELL_MAX_NS;
	stream->batch = min_t(u32, SHCA_STREAM_BATCH,
			      qp->sq.max_wr / SHCA_STREAM_OF_RING);
	if (stream->batch < SHCA_STREAM_BATCH_MIN)
		stream->batch = 0;
}

void shca_stream_stop(struct shca_qp *qp)
{
	struct shca_stream *stream = &qp->sq.stream;

	lockdep_assert_held(&qp->sq.lock);
	if (stream->until)
		stream->patience = stream->full ? SHCA_STREAM_MIN :
				   min_t(u32, stream->patience * 2,
					 SHCA_STREAM_MAX);
	stream->full = false;
	stream->alone = 0;
	stream->posts = 0;
	WRITE_ONCE(stream->timed, 0);
	stream->bell = SHCA_STREAM_BELL_MAX_NS;
	stream->until = 0;
	/* This and @timed are read without the lock by shca_stream_begin(). */
	WRITE_ONCE(stream->since, 0);
	shca_stream_set(qp, qp->sq.seen);
	/*
	 * Pairs with the barrier of the posting process between sq_prod and
	 * sq_doorbell. Either the process sees that a doorbell is due, or the next
	 * look at the ring sees its post (litmus: sq-doorbell).
	 */
	smp_mb();
}

u64 shca_stream_begin(const struct shca_qp *qp)
{
	const struct shca_stream *stream = &qp->sq.stream;

	/*
	 * Without the lock: the process holds nobody up by this, and where another
	 * of its threads rings meanwhile, one doorbell more or less is timed.
	 */
	if (!READ_ONCE(stream->since) ||
	    READ_ONCE(stream->timed) >= SHCA_STREAM_TIMED)
		return 0;
	return ktime_get_ns();
}

void shca_stream_end(struct shca_qp *qp, u64 begun)
{
	struct shca_stream *stream = &qp->sq.stream;
	u64 spent = ktime_get_ns() - begun;

	spin_lock_bh(&qp->sq.lock);
	if (stream->since && stream->timed < SHCA_STREAM_TIMED) {
		stream->bell = min_t(u64, stream->bell, spent);
		WRITE_ONCE(stream->timed, stream->timed + 1);
	}
	spin_unlock_bh(&qp->sq.lock);
}

/* What @bells doorbells take on this machine, or @least_ns where they take less. */
static u32 shca_stream_time(const struct shca_stream *stream, u32 bells,
			    u32 least_ns)
{
	return stream->timed ? max(stream->bell * bells, least_ns) : least_ns;
}

static u64 shca_stream_hold(const struct shca_stream *stream, u64 now)
{
	u64 age = now - stream->since;
	u64 two = div64_u64(age, stream->posts) * stream->batch * 2;

	return clamp_t(u64, min(two, age / SHCA_STREAM_PART),
		       SHCA_STREAM_LEAST_NS,
		       shca_stream_time(stream, SHCA_STREAM_MOST_BELLS,
					SHCA_STREAM_MOST_NS));
}

/*
 * What the peers' requests move: a datagram has no expected PSN.  Written under the other
 * lock: an old value is as good.
 */
static u32 shca_stream_heard(const struct shca_qp *qp)
{
	return READ_ONCE(*(qp->type == IB_QPT_UD ? &qp->rq.resp.msn :
			   &qp->rq.resp.epsn));
}

void shca_stream_doorbell(struct shca_qp *qp)
{
	struct shca_stream *stream = &qp->sq.stream;
	u32 posts = qp->sq.seen - stream->seen;
	u32 heard, gap;
	u64 now;

	lockdep_assert_held(&qp->sq.lock);
	stream->seen = qp->sq.seen;
	/* Unless there is a stream, and never left behind: indices wrap. */
	shca_stream_set(qp, qp->sq.seen);
	heard = shca_stream_heard(qp);
	if (!stream->batch || heard != stream->heard || qp->state != IB_QPS_RTS) {
		stream->heard = heard;
		if (stream->since)
			shca_stream_stop(qp);
		return;
	}
	stream->posts += posts;
	if (!stream->since) {
		WRITE_ONCE(stream->since, ktime_get_ns());
		return;
	}
	if (stream->posts < stream->patience)
		return;
	if (stream->until) {
		stream->full |= posts >= stream->batch;
		stream->alone = posts == 1 ? stream->alone + 1 : 0;
	}
	now = ktime_get_ns();
	gap = shca_stream_time(stream, SHCA_STREAM_GAP_BELLS,
			       SHCA_STREAM_GAP_NS);
	if (stream->alone == SHCA_STREAM_ALONE ||
	    now - stream->since > stream->posts * gap) {
		shca_stream_stop(qp);
		return;
	}
	stream->hold = shca_stream_hold(stream, now);
	stream->until = now + stream->hold;
	shca_stream_set(qp, qp->sq.seen + stream->batch);
}

void shca_stream_timer(struct shca_qp *qp, u64 now)
{
	const struct shca_stream *stream = &qp->sq.stream;

	lockdep_assert_held(&qp->sq.lock);
	/* A batch is not full in twice its time: the process has paused. */
	if (stream->until && now >= stream->until)
		shca_stream_stop(qp);
}
