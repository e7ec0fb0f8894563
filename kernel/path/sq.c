// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The send side.
 *
 * shca_sq_fetch() copies a request from the ring once, bounded, into the private ring of the
 * requester. After that only the private copy counts. Inline data stays in its slot: a process
 * that rewrites it before the request has retired sends what it wrote.
 *
 * Every event (doorbell, response, timer) ends in shca_sq_step() and shca_sq_arm(): fetch,
 * transmit, complete, arm the timer.
 *
 * Timer: shca_sq.side.timer. It serves the earlier of two times. One is the requester's
 * deadline (shca_req_deadline(): time-out, RNR wait, ACK probe, rate, full queue below). The
 * other is the next poll of a ring without doorbells (stream.h). shca_sq_arm() never postpones
 * it, so shca_sq_timer() may come early and checks both. A scheduled continuation arms it when
 * it has run. Softirq, on the CPU that armed it.
 */
#include "sq.h"

#include <linux/ktime.h>
#include <linux/string.h>
#include <rdma/ib_mad.h>

#include "../base/compat.h"
#include "../base/counters.h"
#include "../base/dev.h"
#include "../base/trace.h"
#include "../base/trace_steps.h"
#include "../core/requester/decode.h"
#include "../queue/ah.h"
#include "../queue/cq.h"
#include "../queue/last_error.h"
#include "../queue/tm.h"
#include "../wire/fault_points.h"
#include "../wire/payload.h"
#include "../wire/peer.h"
#include "../wire/raw.h"
#include "datagram.h"
#include "direct.h"
#include "path_migration.h"
#include "reply.h"
#include "rq.h"
#include "side.h"
#include "wqe.h"

/* Critical sections in one post; the continuation does the rest. */
#define SHCA_SQ_ROUNDS	16
/* Passes in one critical section, which a process could prolong by moving its index. */
#define SHCA_SQ_PASSES	4
/* Least interval of the timer while an answer waits for memory. */
#define SHCA_BACKLOG_LOOK_NS	(100 * NSEC_PER_MSEC)

/* ---- from the ring to the requester -------------------------------------- */

/* UD: copy the address vector. Return: false: there is no such address handle. */
static bool shca_sq_find_ah(struct shca_qp *qp, const struct shca_send_wqe *wqe,
			    struct shca_send_wr *wr)
{
	/* Behind the segments, see shca_qp_alloc_rings(). */
	struct shca_av *av = (void *)wr + shca_req_stride(qp->sq.max_sge);

	wr->priv = av;
	if (!shca_ah_find(qp->dev, qp->pd, wqe->ud.ah, av))
		return false;
	av->pkey_index = wqe->ud.pkey_index;
	wr->rate_kbps = av->rate_kbps;
	return true;
}

/* The queue itself has failed (SHCA_ERROR_*), which no completion reports. */
static void shca_sq_fatal(struct shca_qp *qp, u8 what)
{
	lockdep_assert_held(&qp->sq.lock);
	shca_last_error_queue(&qp->sq.side, what);
	shca_req_fail(&qp->sq.req);
	shca_side_fatal(qp, &qp->sq.side);
}

/*
 * Take requests from the ring while the requester has room. The process writes the producer
 * index, so it is read once. An index beyond the ring is a fatal error of the QP.
 * Return: requests taken, or -EINVAL for a broken index or an injected failure.
 */
static int shca_sq_fetch(struct shca_qp *qp)
{
	struct shca_send_wqe wqe __uninitialized;
	struct shca_sq *sq = &qp->sq;
	const struct shca_decode queue = {
		.max_sge = sq->max_sge,
		.max_inline = sq->max_inline,
		.transport = shca_qp_transport(qp->type),
		.is_user = qp->is_user,
		.is_gsi = qp->type == IB_QPT_GSI,
		.sig_all = sq->sig_all,
	};
	struct shca_send_wr *wr;
	const void *slot;
	int taken = 0;
	bool fails;
	u32 prod;

	if (sq->req.state == SHCA_SIDE_RESET || !sq->entries)
		return 0;
	/* Pairs with the provider's release of sq_prod after the slots (litmus: sq-prod). */
	prod = smp_load_acquire(&qp->index->sq_prod);
	if (prod - sq->fetched > sq->entries) {
		/* Reset the index, so that requests posted before are flushed. */
		shca_count(qp, BAD_RING);
		WRITE_ONCE(qp->index->sq_prod, sq->seen);
		return -EINVAL;
	}
	sq->seen = prod;
	while (sq->fetched != prod && (wr = shca_req_slot(&sq->req))) {
		slot = sq->slots +
		       (size_t)(sq->fetched & (sq->entries - 1)) * sq->stride;
		memcpy(&wqe, slot, sizeof(wqe));
		barrier();	/* @wqe is a copy, not re-read from the slot */
		if (shca_send_decode(&queue, &wqe, slot + sizeof(wqe), wr) &&
		    queue.transport == SHCA_TRANSPORT_UD &&
		    !shca_sq_find_ah(qp, &wqe, wr))
			shca_send_refuse(wr);
		fails = shca_fault_is_on(qp->dev, BIT(SHCA_FAULT_SEND)) &&
			!shca_fault_send(qp, wr);
		trace_shca_post(qp->qpn, wr);
		shca_req_post(&sq->req);
		sq->fetched++;
		taken++;
		if (unlikely(fails))
			return -EINVAL;
	}
	if (trace_shca_fetch_enabled() && taken)
		trace_shca_fetch(qp->qpn, taken);
	return taken;
}

/* Requests of tag matching come before those of the process: the peer waits for them. */
static void shca_sq_fetch_own(struct shca_qp *qp)
{
	struct shca_req *req = &qp->sq.req;
	struct shca_send_wr *wr;

	while (shca_tm_is_due(qp) && (wr = shca_req_slot(req)) &&
	       shca_tm_next(qp, wr)) {
		trace_shca_post(qp->qpn, wr);
		shca_req_post(req);
	}
}

/* ---- from the requester to the wire and the CQ --------------------------- */

static void shca_sq_arm(struct shca_qp *qp)
{
	struct shca_sq *sq = &qp->sq;
	u64 deadline = shca_req_deadline(&sq->req);
	u64 look = sq->stream.until;

	/*
	 * The continuation arms the timer when it has run. Nothing is sent until then, so an
	 * overdue timer would expire again and again, in the softirq that keeps the
	 * continuation from running.
	 */
	if (sq->side.continuing)
		return;
	if (look && (!deadline || look < deadline))
		deadline = look;
	if (!deadline || qp->dead || (sq->armed && sq->armed <= deadline))
		return;
	sq->armed = deadline;
	/* Not in the past: the hrtimer softirq would run it again before all else. */
	hrtimer_start(&sq->side.timer, ns_to_ktime(max(deadline, ktime_get_ns())),
		      HRTIMER_MODE_ABS_PINNED_SOFT);
}

static int shca_sq_complete(struct shca_qp *qp)
{
	struct shca_sq *sq = &qp->sq;
	struct shca_wc wc __uninitialized;
	u32 head = sq->req.ring.head;

	while (shca_req_pop(&sq->req, &wc)) {
		if (unlikely(wc.own)) {
			if (!shca_tm_done(qp, &wc))
				shca_sq_fatal(qp, SHCA_ERROR_CQ);
			continue;
		}
		if (unlikely(wc.status) && wc.status != SHCA_WC_WR_FLUSH_ERR)
			shca_last_error_wc(&sq->side, &wc, sq->req.psn.una);
		/*
		 * First the slot (release: our reads of it are done), then the completion: the
		 * poller can then post (litmus: wq-cons).
		 */
		smp_store_release(&qp->status->sq_cons,
				  sq->req.ring.head - sq->req.ring.own);
		if (!shca_cq_post(sq->cq, qp->ibqp, qp->qpn, &wc))
			shca_sq_fatal(qp, SHCA_ERROR_CQ);
	}
	if (head != sq->req.ring.head)
		/* For requests that retired without a completion (litmus: wq-cons). */
		smp_store_release(&qp->status->sq_cons,
				  sq->req.ring.head - sq->req.ring.own);
	return sq->req.ring.head - head;
}

/*
 * The requester resumes at @pkt: after a delay if the queue below is full, or by
 * shca_sq_resume() when its memory was fetched. That call cannot come too early, as it takes
 * the lock, which is held since the fetch was requested.
 */
static void shca_sq_failed(struct shca_qp *qp, const struct shca_batch *batch,
			   const struct shca_pkt *pkt,
			   enum shca_mem_status status,
			   struct shca_side_pending *pending)
{
	struct shca_sq *sq = &qp->sq;

	lockdep_assert_held(&sq->lock);
	if (shca_tx_found_full(batch, pkt)) {
		if (shca_rq_unsend_ack(qp, pkt))
			return;
		shca_req_link_full(&sq->req, pkt,
				   shca_tx_busy_until(&sq->side.route,
						      ktime_get_ns()));
		return;
	}
	shca_req_gather_failed(&sq->req, pkt, status);
	if (status == SHCA_MEM_RETRY)
		shca_sq_pause(sq);
}

static bool shca_sq_next(struct shca_qp *qp, u32 max_run, u64 now,
			 struct shca_pkt *pkt)
{
	struct shca_req *req = &qp->sq.req;

	shca_req_set_max_run(req, max_run);
	if (!shca_req_next(req, now, pkt))
		return shca_reply_take(qp, now, pkt);
	if (unlikely(!pkt->wr))
		shca_count(qp, TX_ACK_PROBE);
	return true;
}

static const struct shca_side_ops shca_sq_ops;

/* Return: whether the budget is used up. */
static bool shca_sq_transmit(struct shca_qp *qp, struct shca_side_pending *pending)
{
	struct shca_sq *sq = &qp->sq;
	u64 now = ktime_get_ns();	/* for all packets: the budget is short */

	shca_peer_learn(qp, now);
	shca_reply_sent(qp, now);
	return shca_side_transmit(qp, &sq->side, &shca_sq_ops, now, pending);
}

/**
 * struct shca_sq_pending - pending events
 * @side:	of this QP
 * @direct:	of its peer on the direct path
 */
struct shca_sq_pending {
	struct shca_side_pending side;
	struct shca_direct_pending direct;
};

static void shca_sq_queue(struct shca_qp *qp)
{
	lockdep_assert_held(&qp->sq.lock);
	shca_side_queue(qp, &qp->sq.side);
}

/* Return: whether the budget is used up. */
static bool shca_sq_send(struct shca_qp *qp, struct shca_sq_pending *pending)
{
	struct shca_sq *sq = &qp->sq;
	enum shca_direct_end end;

	if (sq->side.continuing ||
	    (!shca_req_may_send(&sq->req) && !sq->direct_more))
		return false;
	if (unlikely(sq->req.migrates))
		shca_apm_exhausted_locked(qp, &pending->side);
	if (qp->type == IB_QPT_RAW_PACKET)
		return shca_raw_transmit(qp);
	end = qp->type == IB_QPT_UD ?
	      shca_datagram_transmit(qp, &pending->direct) :
	      shca_direct_transmit(qp, &pending->direct);
	if (end != SHCA_DIRECT_NO)
		return end == SHCA_DIRECT_MORE;
	return shca_sq_transmit(qp, &pending->side);
}

/* Return: whether the budget is used up. */
static bool shca_sq_step(struct shca_qp *qp, struct shca_sq_pending *pending)
{
	struct shca_sq *sq = &qp->sq;
	int retired, passes = 0;
	bool more;

	lockdep_assert_held(&sq->lock);
	/*
	 * Again if requests have retired, which makes room in the ring or ends a wait. Later
	 * posts have a doorbell of their own, or the timer.
	 */
	do {
		shca_sq_fetch_own(qp);
		if (shca_sq_fetch(qp) < 0)
			shca_sq_fatal(qp, SHCA_ERROR_RING);
		more = shca_sq_send(qp, pending) ||
		       ++passes == SHCA_SQ_PASSES;
		retired = shca_sq_complete(qp);
	} while (!more && retired && (sq->fetched != sq->seen ||
				      sq->req.ring.nxt != sq->req.ring.prod ||
				      shca_tm_is_due(qp)));
	return more;
}

/* Last call in a critical section. */
static void shca_sq_finish(struct shca_qp *qp, struct shca_sq_pending *pending)
{
	struct shca_sq *sq = &qp->sq;

	lockdep_assert_held(&sq->lock);
	if (unlikely(sq->side.feeds))
		shca_sq_queue(qp);
	shca_side_finish(&sq->side, sq->req.state == SHCA_SIDE_ERR &&
			 qp->state < IB_QPS_SQE, &pending->side);
	if (unlikely(sq->drain_event) && shca_req_idle(&sq->req)) {
		sq->drain_event = false;
		pending->side.events |= SHCA_EV_SQ_DRAINED;
	}
}

/* Context: no lock of a QP held. */
static void shca_sq_report(struct shca_qp *qp, const struct shca_sq_pending *pending)
{
	shca_side_report(qp, &pending->side);
	shca_direct_report(&pending->direct);
}

/* Caller of a round. Those after SHCA_TURN_POST leave what remains to the continuation. */
enum shca_sq_turn {
	SHCA_TURN_DOORBELL,		/* the caller goes on with SHCA_TURN_POST */
	SHCA_TURN_POST,		/* the caller goes on */
	SHCA_TURN_LAST,
	SHCA_TURN_CONTINUE,
	SHCA_TURN_TIMER,
};

/*
 * An answer is overdue. While the queue below is stopped, the requests may not have left:
 * nothing is sent again, and no retry is used. The time-out begins anew when the queue moves.
 */
static void shca_sq_look_below(struct shca_qp *qp, u64 now)
{
	struct shca_req *req = &qp->sq.req;
	bool overdue = shca_req_is_overdue(req, now);

	if (!overdue && !shca_req_is_early(req, now))
		return;
	switch (shca_tx_look(qp, &qp->sq.side.route, now)) {
	case SHCA_QUEUE_GOES:
	case SHCA_QUEUE_MOVES:
		break;
	case SHCA_QUEUE_HOLDS:
		if (overdue)
			shca_req_answer_waits(req, now + SHCA_STOPPED_NS);
		break;
	case SHCA_QUEUE_STOPPED:
		shca_req_answer_waits(req, overdue ? now + SHCA_STOPPED_NS :
						     req->recovery.deadline);
		break;
	case SHCA_QUEUE_RESUMED:
		shca_req_answer_waits(req, now + req->attr.timeout_ns);
		break;
	}
}

/* Process the backlog of responses. */
static void shca_sq_run_backlog(struct shca_qp *qp)
{
	struct shca_side_pending pending = {};	/* responses have no events */

	shca_side_run_backlog(qp, &qp->sq.side, &shca_sq_ops, UINT_MAX, ktime_get_ns(), &pending);
}

/* @before: congestion window before the event */
static inline void shca_sq_trace_congestion(const struct shca_qp *qp,
					    u32 before, bool cnp)
{
	const struct shca_cc *cc = &qp->sq.req.cc;

	if (trace_shca_congestion_enabled() && (cnp || cc->cwnd < before))
		trace_shca_congestion(qp->qpn, cc, cnp);
}

/* Return: whether the budget is used up. */
static bool shca_sq_round(struct shca_qp *qp, enum shca_sq_turn turn)
{
	struct shca_sq *sq = &qp->sq;
	struct shca_sq_pending pending = {};
	u64 timeouts, early, now;
	u32 window;
	bool more;

	spin_lock_bh(&sq->lock);
	if (qp->dead) {
		spin_unlock_bh(&sq->lock);
		return false;
	}
	if (turn == SHCA_TURN_CONTINUE) {
		sq->side.continuing = false;
		if (unlikely(sq->side.feeds))
			shca_sq_run_backlog(qp);
	}
	if (turn == SHCA_TURN_TIMER) {
		now = ktime_get_ns();
		sq->armed = 0;
		shca_stream_timer(qp, now);
		timeouts = sq->req.stats.timeouts;
		early = sq->req.stats.early;
		/*
		 * The answer has arrived and waits for memory: no time-out. shca_sq_resume()
		 * may never come, so the timer looks now and then.
		 */
		if (sq->side.backlog.nr || sq->direct_more)
			shca_req_answer_waits(&sq->req, now +
				max_t(u64, SHCA_BACKLOG_LOOK_NS,
				      sq->req.attr.timeout_ns));
		else
			shca_sq_look_below(qp, now);
		window = sq->req.cc.cwnd;
		shca_req_timer(&sq->req, now);
		shca_sq_trace_congestion(qp, window, false);
		timeouts = sq->req.stats.timeouts - timeouts;
		shca_count_n(qp, TIMEOUT, timeouts);
		shca_count_n(qp, TX_EARLY, sq->req.stats.early - early);
		if (timeouts)
			trace_shca_timeout(qp->qpn, &sq->req);
	}
	more = shca_sq_step(qp, &pending);
	if (turn == SHCA_TURN_DOORBELL)
		shca_stream_doorbell(qp);
	if (more && turn > SHCA_TURN_POST)
		shca_sq_queue(qp);
	shca_sq_arm(qp);
	shca_sq_finish(qp, &pending);
	spin_unlock_bh(&sq->lock);
	shca_sq_report(qp, &pending);
	return more;
}

static void shca_sq_rounds(struct shca_qp *qp, enum shca_sq_turn turn)
{
	/* Softirq leaves this CPU to others after one round. */
	int rounds = in_serving_softirq() ? 1 : SHCA_SQ_ROUNDS;

	while (--rounds > 0) {
		if (!shca_sq_round(qp, turn))
			return;
		turn = SHCA_TURN_POST;
	}
	shca_sq_round(qp, SHCA_TURN_LAST);
}

void shca_sq_run(struct shca_qp *qp)
{
	shca_sq_rounds(qp, SHCA_TURN_POST);
}

void shca_sq_flush_all(struct shca_qp *qp)
{
	u32 rounds = qp->sq.entries / SHCA_SQ_WINDOW + 1;

	/* Bounded, because a process may go on posting. */
	while (rounds-- && shca_sq_round(qp, SHCA_TURN_POST))
		cond_resched();
}

SHCA_BH_HANDLER(shca_sq_continue)
{
	shca_sq_round(container_of(bh, struct shca_qp, sq.side.bh),
		      SHCA_TURN_CONTINUE);
}

static enum hrtimer_restart shca_sq_timer(struct hrtimer *timer)
{
	shca_sq_round(container_of(timer, struct shca_qp, sq.side.timer),
		      SHCA_TURN_TIMER);
	return HRTIMER_NORESTART;
}

/* ---- responses ----------------------------------------------------------- */

enum shca_verdict shca_sq_accept(struct shca_qp *qp, const struct shca_pkt *pkt,
				 u64 now, struct shca_side_pending *pending)
{
	u32 before = qp->sq.req.cc.cwnd;
	enum shca_verdict verdict;

	lockdep_assert_held(&qp->sq.lock);
	verdict = shca_req_rx(&qp->sq.req, pkt, now);
	shca_sq_trace_congestion(qp, before, verdict == SHCA_RX_CNP);
	if (unlikely(verdict == SHCA_RX_BAD_RESPONSE))
		shca_last_error_packet(&qp->sq.side, pkt, verdict,
				       SHCA_VERR_RESPONSE);
	if (verdict == SHCA_RX_OK)
		qp->sq.side.route.heard = true;
	shca_count_rx(qp, verdict);
	trace_shca_rx_verdict(qp->qpn, pkt, verdict);
	return verdict;
}

static u32 shca_sq_expected(const struct shca_qp *qp)
{
	return qp->sq.req.psn.una;
}

static bool shca_sq_may_queue(struct shca_qp *qp, const struct shca_pkt *pkt,
			      u64 now)
{
	return shca_req_may_queue(&qp->sq.req, pkt);
}

static void shca_sq_missing(struct shca_qp *qp, u32 psn, u32 cause, bool asks,
			    u64 now)
{
	shca_req_gap(&qp->sq.req, psn, cause, now);
}

static void
shca_sq_queue_ooo(struct shca_qp *qp, const struct shca_pkt *pkt,
		  enum shca_verdict verdict, u64 now,
		  struct shca_side_pending *pending)
{
	/* A CNP has no PSN. */
	if (verdict != SHCA_RX_CNP)
		shca_side_queue_ooo(qp, &qp->sq.side, &shca_sq_ops, pkt, verdict, now, pending);
}

static bool shca_sq_takes_run(const struct shca_qp *qp,
			      const struct shca_pkt *pkt)
{
	return shca_req_takes_run(&qp->sq.req, pkt);
}

static void
shca_sq_take_run(struct shca_qp *qp, const struct shca_pkt *pkt, u64 now,
		 struct shca_side_pending *pending)
{
	shca_side_take_run(qp, &qp->sq.side, &shca_sq_ops, pkt, now, pending);
}

/* Without @later: a response waits for memory only, and shca_sq_resume() comes. */
static const struct shca_side_ops shca_sq_ops = {
	.next = shca_sq_next,
	.failed = shca_sq_failed,
	.accept = shca_sq_accept,
	.takes_run = shca_sq_takes_run,
	.ahead = SHCA_RX_LOST_RESPONSE,
	.queue = shca_sq_queue_ooo,
	.may_queue = shca_sq_may_queue,
	.expected = shca_sq_expected,
	.missing = shca_sq_missing,
	.take_run = shca_sq_take_run,
};

void shca_sq_rx(struct shca_qp *qp, const struct shca_pkt *pkt, unsigned int nr)
{
	struct shca_sq *sq = &qp->sq;
	struct shca_sq_pending pending = {};
	u64 now;

	spin_lock(&sq->lock);
	now = ktime_get_ns();
	shca_side_take_all(qp, &sq->side, &shca_sq_ops, pkt, nr, now,
			   &pending.side);
	if (!qp->dead) {
		shca_stream_polled(&sq->stream, now);
		if (shca_sq_step(qp, &pending))
			shca_sq_queue(qp);
		shca_sq_arm(qp);
	}
	shca_sq_finish(qp, &pending);
	spin_unlock(&sq->lock);
	shca_sq_report(qp, &pending);
}

void shca_sq_resume(struct shca_qp *qp)
{
	spin_lock_bh(&qp->sq.lock);
	shca_sq_run_backlog(qp);
	shca_req_release(&qp->sq.req);
	spin_unlock_bh(&qp->sq.lock);
	shca_sq_run(qp);
}

/* ---- posting ------------------------------------------------------------- */

/* A fault delays the doorbell: the timer fetches the requests, or an earlier event does. */
static void shca_sq_ring_later(struct shca_qp *qp, u64 ns)
{
	struct shca_sq *sq = &qp->sq;
	u64 until = ktime_get_ns() + ns;

	spin_lock_bh(&sq->lock);
	if (!qp->dead && (!sq->armed || until < sq->armed)) {
		sq->armed = until;
		hrtimer_start(&sq->side.timer, ns_to_ktime(until),
			      HRTIMER_MODE_ABS_PINNED_SOFT);
	}
	spin_unlock_bh(&sq->lock);
}

void shca_sq_ring(struct shca_qp *qp)
{
	u64 begun, delay_ns;

	/* For the trace only: the fetch reads both indices again, under the lock. */
	if (trace_shca_doorbell_enabled() && qp->index)
		trace_shca_doorbell(qp->qpn, READ_ONCE(qp->index->sq_prod) -
					     READ_ONCE(qp->sq.fetched));
	if (shca_fault_is_on(qp->dev, BIT(SHCA_FAULT_DOORBELL)) &&
	    shca_fault_doorbell(qp, &delay_ns)) {
		if (delay_ns)
			shca_sq_ring_later(qp, delay_ns);
		return;
	}
	begun = shca_stream_begin(qp);
	shca_sq_rounds(qp, SHCA_TURN_DOORBELL);
	/* The time includes softirqs that ran behind the lock: the receiver's, as a rule. */
	if (unlikely(begun))
		shca_stream_end(qp, begun);
	if (READ_ONCE(qp->status->flags) & SHCA_QPS_ERR)
		shca_rq_kick(qp);
}

/*
 * Is it a request to a subnet administrator, while the device is removed? The RDMA core would
 * repeat it ten times, and the removal would wait. Other requests of QP1 still leave, as they
 * end connections.
 */
static bool shca_sq_is_vain(const struct shca_qp *qp, const struct ib_send_wr *wr)
{
	const struct ib_mad_hdr *hdr;

	if (!shca_link_has_sm(qp->link) || !READ_ONCE(qp->dev->removing) || !wr->num_sge)
		return false;
	/* Virtual DMA: the address is the kernel's. */
	hdr = (const void *)(uintptr_t)wr->sg_list[0].addr;
	return hdr->mgmt_class == IB_MGMT_CLASS_SUBN_ADM;
}

int shca_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad_wr)
{
	struct shca_qp *qp = to_shca_qp(ibqp);
	int err = 0;

	if (qp->is_user) {
		/* A process posts through its ring; an empty list is its doorbell. */
		if (wr) {
			*bad_wr = wr;
			return -EINVAL;
		}
		shca_sq_ring(qp);
		return 0;
	}
	if (READ_ONCE(qp->state) < IB_QPS_RTS) {
		*bad_wr = wr;
		return -EINVAL;
	}
	if (unlikely(qp->type == IB_QPT_GSI) && shca_sq_is_vain(qp, wr)) {
		*bad_wr = wr;
		return -EIO;
	}
	err = shca_wqe_post(qp, wr, bad_wr);
	/* Kernel consumers post from any context, but sq.lock is for softirq. */
	if (in_hardirq() || irqs_disabled())
		shca_bh_schedule(&qp->sq.side.bh);
	else
		shca_sq_run(qp);
	return err;
}

/* ---- lifetime ------------------------------------------------------------ */

void shca_sq_init(struct shca_qp *qp)
{
	spin_lock_init(&qp->sq.lock);
	INIT_LIST_HEAD(&qp->lost);
	spin_lock_init(&qp->sq.post_lock);
	shca_bh_init(&qp->sq.side.bh, shca_sq_continue);
	shca_side_init(&qp->sq.side, qp, shca_sq_resume);
	/* Pinned, because packets from two CPUs overtake each other. */
	hrtimer_setup(&qp->sq.side.timer, shca_sq_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_PINNED_SOFT);
}
