/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What both sides of a QP do in the same way.  They send packets.  They take received
 * packets, which may have to wait.  They continue in softirq when a budget is used up.
 * They report events and failures once the lock is released.  A struct shca_side_ops
 * says where the sides differ; sq.c and rq.c have one each.
 *
 * The functions are inline, and the operations of a side are constants of its file.
 * So the compiler calls them directly: this costs what two copies would.
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
 * struct shca_side_pending - what the outside must be told once the lock is released
 * @events:	SHCA_EV_*
 * @failed:	the QP must enter the error state
 */
struct shca_side_pending {
	u32 events;
	bool failed;
};

/**
 * struct shca_side_ops - a side, for the functions below; all with its lock held
 * @next:	the next packet to send, of @max_run PSNs at most; false: none now
 * @failed:	@pkt, where sending resumes, could not leave: SHCA_MEM_RETRY: now
 * @accept:	a packet from the wire to the core
 * @takes_run:	would the core take @pkt, which stands for several?
 * @take_run:	shca_side_take_run() of this side, and not inline
 * @later:	the core wants @pkt again later; @again: it has waited.  NULL: that is
 *		nothing to the side
 * @must_wait:	others wait: must @pkt, too?  NULL: always
 * @queue:	shca_side_queue_ooo() of this side, and not inline; NULL: a packet that is out
 *		of order is lost
 * @ahead:	the verdict of such a packet
 * @may_queue:	may it be kept?
 * @expected:	the PSN that is due next
 * @asked:	does a packet ask what is missing?  As shca_resp_is_asked(); NULL: none does
 * @missing:	all before @psn is missing.  @cause is of the packet that came, and it asks
 *		for an answer: @asks
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

/* What a packet of QP1 carries. */
static inline u16 shca_side_pkey(const struct shca_qp *qp,
				 const struct shca_pkt *pkt)
{
	const struct shca_av *av = pkt->wr ? pkt->wr->priv : NULL;

	return READ_ONCE(qp->dev->pkeys[av ? av->pkey_index : 0]);
}

/*
 * Send what the side has to send.
 * Context: softirq or bottom halves off, the side's lock held.
 * Return: whether the budget ended it.
 */
static __always_inline bool
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
	/* What was built before the packet that has to wait leaves. */
	status = shca_tx_end(&batch, &failed);
	if (status != SHCA_MEM_OK) {
		ops->failed(qp, &batch, failed, status, pending);
		wait = true;
	}
	return !wait && (!budget || batch.handed >= SHCA_TX_SKBS);
}

/* The rest is for the continuation, on this CPU. Context: the side's lock held. */
static inline void shca_side_queue(struct shca_qp *qp, struct shca_side *side)
{
	if (qp->dead)
		return;
	side->continuing = true;
	shca_bh_schedule(&side->bh);
}

/* ---- from the wire ------------------------------------------------------- */

/*
 * Would nobody come back to a packet with this @verdict? There was no memory to ask
 * for that of the packet (shca_mem_ctx.starved, which is of the last access).
 */
static inline bool shca_side_is_starved(const struct shca_side *side,
					enum shca_verdict verdict)
{
	return verdict == SHCA_RX_RETRY && side->mem.starved;
}

/*
 * A packet from the wire; it waits for memory that is not present, or for an answer
 * to leave.  (Inline where it is called twice: most are small, and go the way of
 * those.)
 */
static __always_inline void
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

/*
 * Packets that differ in their PSN only; as one, where all of them are as expected and their
 * memory is there.
 */
static __always_inline void
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

/* @nr packets from the wire. Context: softirq, the side's lock held. */
static __always_inline void
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

/* Packets that were out of order and are fed in a hold of the lock. */
#define SHCA_FEED_BUDGET	256

/* A packet that is out of order is kept, if it may be. Return: false: there is no room. */
static __always_inline bool
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
 * Keep packets that are out of order, and feed them in order. After SHCA_FEED_BUDGET packets
 * the rest is for the continuation (shca_side.feeds), and what comes until then joins it.
 * @pkt:	was fed with this @verdict, and joins them if it is out of order
 * Context: softirq or bottom halves off, the side's lock held.
 */
static __always_inline void
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

	/* (the peer sends on as far as it is told that packets have come) */
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
		/* (what is behind came again meanwhile) */
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
	else if (!is_ahead)	/* (one that could not be kept tells as much) */
		psn = ops->expected(qp);
	ops->missing(qp, psn, cause, asks, now);
}

/*
 * Packets that have waited, @budget of them at most; then those that were out of order
 * (shca_side_queue_ooo()). One to which nobody would come back is lost, as if it had not been
 * in the backlog.
 * Context: softirq or bottom halves off, the side's lock held.
 * Return: whether the budget ended it.
 */
static __always_inline bool
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

/* ---- the end of a hold of the lock --------------------------------------- */

/*
 * The side has failed, and no completion can tell. Told once: what is flushed after that does
 * not fit either.
 * Context: the side's lock held.
 */
static inline void shca_side_fatal(const struct shca_qp *qp,
				   struct shca_side *side)
{
	if (qp->state != IB_QPS_ERR)
		side->fatal = true;
}

/*
 * The last of these in a hold of the lock.
 * @failed:	the core has failed, and the QP does not know it yet
 */
static __always_inline void shca_side_finish(struct shca_side *side,
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

/* The rest of shca_side_report(). */
void shca_side_tell(struct shca_qp *qp, const struct shca_side_pending *pending);

/* Tell what was collected; without any lock of a QP. */
static inline void shca_side_report(struct shca_qp *qp,
				    const struct shca_side_pending *pending)
{
	if (unlikely(pending->events || pending->failed))
		shca_side_tell(qp, pending);
}

/* ---- lifetime ------------------------------------------------------------ */

/*
 * Set up all but the timer and the continuation, which the side sets.
 * @resume:	memory that was waited for is there, or cannot be had; context process,
 *		no lock; the QP may be dead
 */
void shca_side_init(struct shca_side *side, struct shca_qp *qp,
		    void (*resume)(struct shca_qp *qp));
/* Move packets that wait or are kept to @lost; the side's lock held. */
void shca_side_purge(struct shca_side *side, struct list_head *lost);
/* There is no timer and no continuation any more; the QP is dead. */
void shca_side_stop(struct shca_side *side);

#endif
