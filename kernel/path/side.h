/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What both sides of a QP do in the same way. They send packets, and take received packets,
 * which may have to wait. They continue in softirq when a budget is used up, and report events
 * and failures once the lock is released. struct shca_side_ops has the differences; sq.c and
 * rq.c have one each. The functions are inline, and the operations of a side are constants of
 * its file, so the compiler calls them directly.
 */
#ifndef SHCA_SIDE_H
#define SHCA_SIDE_H

#include "../base/counters.h"
#include "../core/psn.h"
#include "../queue/qp.h"
#include "../wire/page_wait.h"
#include "../wire/pkt_queue.h"
#include "../wire/tx.h"

/* Events of the sides, beside SHCA_EV_* of the core */
#define SHCA_EV_SQ_DRAINED	(1u << 16)
#define SHCA_EV_LAST_WQE	(1u << 17)
#define SHCA_EV_PATH_MIG	(1u << 18)

/**
 * struct shca_side_pending - pending events: reported once the lock is released
 * @events:	SHCA_EV_*
 * @failed:	the QP must enter the error state
 */
struct shca_side_pending {
	u32 events;
	bool failed;
};

/**
 * struct shca_side_ops - operations of a side; all with its lock held
 * @next:	get the next packet to send, of @max_run PSNs at most; false: none now
 * @failed:	sending stops at @pkt, which could not leave; SHCA_MEM_RETRY: not now
 * @accept:	give a packet from the wire to the core
 * @takes_run:	would the core take @pkt, which stands for several packets?
 * @take_run:	shca_side_take_run() of this side, and not inline
 * @later:	the core wants @pkt again later; @again: it was in the backlog. NULL: no-op
 * @must_wait:	the backlog is not empty: must @pkt join it? NULL: always
 * @queue:	shca_side_queue_ooo() of this side, and not inline; NULL: a packet that is out
 *		of order is lost
 * @ahead:	verdict of such a packet
 * @may_queue:	may it join the out-of-order queue?
 * @expected:	PSN that is due next
 * @asked:	does a packet ask what is missing, as shca_resp_is_asked()? NULL: none does
 * @missing:	report that all before @psn is missing. The packet at PSN @cause has
 *		triggered it, and asks for an answer: @asks
 */
struct shca_side_ops {
	bool (*next)(struct shca_qp *qp, u32 max_run, u64 now,
		     struct shca_pkt *pkt);
	void (*failed)(struct shca_qp *qp, const struct shca_batch *batch,
		       const struct shca_pkt *pkt, enum shca_mem_status status,
		       struct shca_side_pending *pending);
	enum shca_verdict (*accept)(struct shca_qp *qp,
				    const struct shca_pkt *pkt, u64 now,
				    struct shca_side_pending *pending);
	bool (*takes_run)(const struct shca_qp *qp, const struct shca_pkt *pkt);
	void (*take_run)(struct shca_qp *qp, const struct shca_pkt *pkt,
			 u64 now, struct shca_side_pending *pending);
	void (*later)(struct shca_qp *qp, const struct shca_pkt *pkt,
		      enum shca_verdict verdict, bool again);
	bool (*must_wait)(struct shca_qp *qp, const struct shca_pkt *pkt,
			  u64 now, struct shca_side_pending *pending);
	void (*queue)(struct shca_qp *qp, const struct shca_pkt *pkt,
		      enum shca_verdict verdict, u64 now,
		      struct shca_side_pending *pending);
	enum shca_verdict ahead;
	bool (*may_queue)(struct shca_qp *qp, const struct shca_pkt *pkt,
			  u64 now);
	u32 (*expected)(const struct shca_qp *qp);
	bool (*asked)(const struct shca_qp *qp, const struct shca_pkt *pkt,
		      enum shca_verdict verdict, bool is_ahead, bool goes_on);
	void (*missing)(struct shca_qp *qp, u32 psn, u32 cause, bool asks,
			u64 now);
};

/* ---- to the wire --------------------------------------------------------- */

/* P_Key of a packet of QP1. */
static inline u16 shca_side_pkey(const struct shca_qp *qp,
				 const struct shca_pkt *pkt)
{
	const struct shca_av *av = pkt->wr ? pkt->wr->priv : NULL;

	return READ_ONCE(qp->dev->pkeys[av ? av->pkey_index : 0]);
}

/*
 * Send the packets that are due.
 * Context: softirq or bottom halves off, the side's lock held.
 * Return: whether the budget is used up.
 */
static inline bool
shca_side_transmit(struct shca_qp *qp, struct shca_side *side,
		   const struct shca_side_ops *ops, u64 now,
		   struct shca_side_pending *pending)
{
	struct shca_batch batch __uninitialized;
	struct shca_pkt pkt __uninitialized;
	unsigned int budget = SHCA_TX_PKTS;
	const struct shca_pkt *failed;
	enum shca_mem_status status;
	bool per_wr = qp->type == IB_QPT_GSI;
	u16 pkey = shca_qp_pkey(qp);
	bool wait = false;

	shca_tx_begin(&batch, &side->mem, &side->route);
	while (budget && batch.handed < SHCA_TX_SKBS &&
	       ops->next(qp, shca_tx_max_run(&batch), now, &pkt)) {
		budget -= min(pkt.span + 1, budget);
		pkt.pkey = pkey;
		if (unlikely(per_wr))
			pkt.pkey = shca_side_pkey(qp, &pkt);
		status = shca_tx_add(&batch, &pkt, &failed);
		if (likely(status == SHCA_MEM_OK))
			continue;
		ops->failed(qp, &batch, failed, status, pending);
		wait = status == SHCA_MEM_RETRY;
		if (wait)
			break;
	}
	/* Packets built before the one that has to wait leave. */
	status = shca_tx_end(&batch, &failed);
	if (status != SHCA_MEM_OK) {
		ops->failed(qp, &batch, failed, status, pending);
		wait = true;
	}
	return !wait && (!budget || batch.handed >= SHCA_TX_SKBS);
}

/* Leave the rest to the continuation, on this CPU. Context: the side's lock held. */
static inline void shca_side_queue(struct shca_qp *qp, struct shca_side *side)
{
	if (qp->dead)
		return;
	side->continuing = true;
	shca_bh_schedule(&side->bh);
}

/* ---- from the wire ------------------------------------------------------- */

/*
 * Would nothing resume a packet with this @verdict? There was no memory to request the fetch of
 * its pages (shca_mem_ctx.starved, of the last access).
 */
static inline bool shca_side_is_starved(const struct shca_side *side,
					enum shca_verdict verdict)
{
	return verdict == SHCA_RX_RETRY && side->mem.starved;
}

/*
 * Process a received packet. It joins the backlog if its memory is not present, or if an answer
 * has to leave first. Inline where it is called twice, as most packets are small and come here.
 */
static inline void
shca_side_take(struct shca_qp *qp, struct shca_side *side,
	       const struct shca_side_ops *ops, const struct shca_pkt *pkt,
	       u64 now, struct shca_side_pending *pending)
{
	enum shca_verdict verdict = SHCA_RX_BUSY;

	if (likely(!side->backlog.nr)) {
		verdict = ops->accept(qp, pkt, now, pending);
		if (likely(!shca_rx_is_later(verdict))) {
			if (ops->queue && unlikely(verdict == ops->ahead ||
						   side->ooo.nr))
				ops->queue(qp, pkt, verdict, now, pending);
			return;
		}
		if (ops->later)
			ops->later(qp, pkt, verdict, false);
	} else if (ops->must_wait && !ops->must_wait(qp, pkt, now, pending)) {
		return;
	}
	if (shca_side_is_starved(side, verdict) ||
	    !shca_pkt_queue_add(&side->mem, &side->backlog, pkt))
		shca_count(qp, RX_BACKLOG);
}

/* Process packets that differ in their PSN only: as one if all are expected and have memory. */
static inline void
shca_side_take_run(struct shca_qp *qp, struct shca_side *side,
		   const struct shca_side_ops *ops, const struct shca_pkt *pkt,
		   u64 now, struct shca_side_pending *pending)
{
	struct shca_pkt part;
	u32 i;

	if (likely(!side->backlog.nr && ops->takes_run(qp, pkt)) &&
	    likely(!shca_rx_is_later(ops->accept(qp, pkt, now, pending)))) {
		if (ops->queue && unlikely(side->ooo.nr))
			ops->queue(qp, pkt, SHCA_RX_OK, now, pending);
		return;
	}
	for (i = 0; i <= pkt->span; i++) {
		part = shca_pkt_part(pkt, i);
		shca_side_take(qp, side, ops, &part, now, pending);
	}
}

/* Process @nr packets from the wire. Context: softirq, the side's lock held. */
static inline void
shca_side_take_all(struct shca_qp *qp, struct shca_side *side,
		   const struct shca_side_ops *ops, const struct shca_pkt *pkt,
		   unsigned int nr, u64 now, struct shca_side_pending *pending)
{
	for (; nr; nr--, pkt++) {
		if (pkt->span)
			ops->take_run(qp, pkt, now, pending);
		else
			shca_side_take(qp, side, ops, pkt, now, pending);
	}
}

/* Packets of the out-of-order queue that are fed in one critical section. */
#define SHCA_FEED_BUDGET	256

/* Queue a packet that is out of order, if it may be. Return: false: there is no room. */
static inline bool
shca_side_add_ooo(struct shca_qp *qp, struct shca_side *side,
		  const struct shca_side_ops *ops, const struct shca_pkt *pkt,
		  u64 now)
{
	if (!ops->may_queue(qp, pkt, now) ||
	    shca_pkt_queue_add_ooo(&side->mem, &side->ooo, pkt))
		return true;
	shca_count(qp, RX_BACKLOG);
	return false;
}

/*
 * Queue a packet that is out of order, feed those that are due, and report what is missing.
 * After SHCA_FEED_BUDGET packets the continuation feeds the rest (shca_side.feeds), and packets
 * only join the queue until then.
 * @pkt:	was fed with this @verdict, and joins the queue if it is out of order
 * Context: softirq or bottom halves off, the side's lock held.
 */
static inline void
shca_side_queue_ooo(struct shca_qp *qp, struct shca_side *side,
		    const struct shca_side_ops *ops, const struct shca_pkt *pkt,
		    enum shca_verdict verdict, u64 now, struct shca_side_pending *pending)
{
	bool is_ahead = verdict == ops->ahead;
	bool goes_on = verdict == SHCA_RX_DUPLICATE &&
		       pkt == shca_pkt_queue_first(&side->ooo);
	bool asks = ops->asked && ops->asked(qp, pkt, verdict, is_ahead, goes_on);
	u32 cause = shca_psn_add(pkt->psn, pkt->span);
	unsigned int budget = SHCA_FEED_BUDGET;
	const struct shca_pkt *next = NULL;
	u32 psn = pkt->psn;
	s32 ahead;

	/* No room: the cause is the last queued packet, so that the peer does not send on. */
	if (is_ahead && unlikely(!shca_side_add_ooo(qp, side, ops, pkt, now)) &&
	    side->ooo.nr)
		cause = shca_pkt_queue_last(&side->ooo)->psn;
	if (side->feeds)
		return;
	while (!side->backlog.nr && (next = shca_pkt_queue_first(&side->ooo))) {
		ahead = shca_psn_diff(next->psn, ops->expected(qp));
		if (ahead > 0)
			break;
		side->feeds = !budget--;
		if (side->feeds)
			return;
		/* Otherwise it was executed meanwhile, as a retransmission. */
		if (!ahead) {
			verdict = ops->accept(qp, next, now, pending);
			if (shca_rx_is_later(verdict)) {
				if (ops->later)
					ops->later(qp, next, verdict, false);
				if (shca_side_is_starved(side, verdict) ||
				    !shca_pkt_queue_add(&side->mem, &side->backlog, next))
					shca_count(qp, RX_BACKLOG);
			}
		}
		shca_pkt_queue_drop(&side->ooo);
	}
	if (side->backlog.nr)
		return;
	if (next)
		psn = next->psn;
	else if (!is_ahead)	/* without room, @pkt still shows a gap */
		psn = ops->expected(qp);
	ops->missing(qp, psn, cause, asks, now);
}

/*
 * Process the backlog, at most @budget packets; then the out-of-order queue
 * (shca_side_queue_ooo()). A packet that nothing would resume is lost.
 * Context: softirq or bottom halves off, the side's lock held.
 * Return: whether the budget is used up.
 */
static inline bool
shca_side_run_backlog(struct shca_qp *qp, struct shca_side *side,
		      const struct shca_side_ops *ops, unsigned int budget, u64 now,
		      struct shca_side_pending *pending)
{
	const struct shca_pkt *pkt;
	enum shca_verdict verdict;

	side->feeds = false;
	while (budget && (pkt = shca_pkt_queue_first(&side->backlog))) {
		verdict = ops->accept(qp, pkt, now, pending);
		if (shca_rx_is_later(verdict)) {
			if (ops->later)
				ops->later(qp, pkt, verdict, true);
			if (!shca_side_is_starved(side, verdict))
				return false;
			shca_count(qp, RX_BACKLOG);
		}
		if (ops->queue && verdict == ops->ahead)
			shca_side_add_ooo(qp, side, ops, pkt, now);
		shca_pkt_queue_drop(&side->backlog);
		budget--;
	}
	if (ops->queue && unlikely(side->ooo.nr))
		ops->queue(qp, shca_pkt_queue_first(&side->ooo), SHCA_RX_DUPLICATE,
			   now, pending);
	return !budget;
}

/* ---- the end of a critical section --------------------------------------- */

/*
 * The side has failed without a completion: QP_FATAL is due. Only once, as what is flushed
 * after that does not fit into the CQ either. Context: the side's lock held.
 */
static inline void shca_side_fatal(const struct shca_qp *qp,
				   struct shca_side *side)
{
	if (qp->state != IB_QPS_ERR)
		side->fatal = true;
}

/*
 * Last call in a critical section.
 * @failed:	the core has failed, and the QP is not in the error state yet
 */
static inline void shca_side_finish(struct shca_side *side,
				    bool failed,
				    struct shca_side_pending *pending)
{
	if (unlikely(side->fatal)) {
		side->fatal = false;
		pending->events |= SHCA_EV_FATAL;
		failed = true;
	}
	if (unlikely(failed))
		pending->failed = true;
}

/* Out-of-line part of shca_side_report(). */
void shca_side_tell(struct shca_qp *qp, const struct shca_side_pending *pending);

/* Report pending events. Context: no lock of a QP held. */
static inline void shca_side_report(struct shca_qp *qp,
				    const struct shca_side_pending *pending)
{
	if (unlikely(pending->events || pending->failed))
		shca_side_tell(qp, pending);
}

/* ---- lifetime ------------------------------------------------------------ */

/*
 * Set up all but timer and continuation, which the side sets.
 * @resume:	memory that the side waits for was fetched, or cannot be had; context process,
 *		no lock of a QP; the QP may be dead
 */
void shca_side_init(struct shca_side *side, struct shca_qp *qp,
		    void (*resume)(struct shca_qp *qp));
/* Move the packets of both queues to @lost; the side's lock held. */
void shca_side_purge(struct shca_side *side, struct list_head *lost);
/* Cancel timer and continuation of a dead QP. Context: may sleep. */
void shca_side_stop(struct shca_side *side);

#endif
