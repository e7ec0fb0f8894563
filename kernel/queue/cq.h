/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Completion queues. */
#ifndef SHCA_CQ_H
#define SHCA_CQ_H

#include <linux/hrtimer.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#include "../base/bh.h"
#include "../base/compat.h"
#include "../core/wr.h"
#include "../mem/buf.h"

struct shca_delayed_cq;
struct shca_mr;

/* Completions that have raised no event. */
enum shca_cq_pending {
	SHCA_CQ_PENDING_NONE,
	SHCA_CQ_PENDING_SOME,
	SHCA_CQ_PENDING_SOLICITED,	/* one is solicited, or an error */
};

/*
 * A completion queue.
 * @lock:	everything below; a kernel consumer's is taken from any context
 * @ring:	completions; a process has it mapped read-only
 * @resize_lock: one change of the size at a time
 * @index:	written by the process (or, for a kernel consumer, by poll);
 *		read once, never trusted
 * @entries:	power of two
 * @prod:	completions written
 * @burst:	if more than 1: completions are shown in groups of this size (personality)
 * @delayed:	of a process, or NULL: delayed placement, before completions are shown
 * @late_us:	longest delay of placement (personality)
 * @wait_us:	longest wait of a completion to be shown, for one of these two reasons; 0: none
 * @shown:	with @wait_us: completions that the consumer can see. Others, and those moved
 *		by a resize, may have raised no event yet (enum shca_cq_pending)
 * @burst_timer: ends @wait_us and @late_us
 * @armed:	last value of index->arm that has fired
 * @cons:	kernel consumer: completions polled. A process: those that the trace event
 *		shca_poll has reported
 * @notify:	kernel consumer: SHCA_CQ_ARM_* or 0
 * @flags:	SHCA_CQ_*; constant. With SHCA_CQ_IGNORE_OVERRUN a completion that does not
 *		fit is lost, and nothing else happens
 * @overflow:	a completion was lost; CQ_ERR is raised
 * @qps:	kernel consumer: the QP of each slot
 * @mod_count: @mod_period_us: moderation: this many completions that the consumer armed for
 *		share an event, or those of this time from the first of them on; 0: none
 * @held:	completions whose event waits
 * @mod_timer:	ends @mod_period_us
 * @comp_bh:	kernel consumer: runs the handler, never inside a post call
 *		(core_locking.rst), and never on two CPUs
 * @comp_cpu:	its CPU, by the completion vector
 * @comp_turns:	how many times @comp_bh has begun
 * @err_bh:	raises CQ_ERR: completions are written under a QP's locks, and
 *		a handler may call any verb
 */
struct shca_cq {
	struct ib_cq ibcq;
	spinlock_t lock;
	struct mutex resize_lock;
	struct shca_buf *ring_buf;
	struct shca_buf *index_buf;
	struct shca_cqe *ring;
	struct shca_cq_index *index;
	u32 entries;
	u32 prod;
	u32 armed;
	u32 cons;
	u32 notify;
	bool is_user;
	bool overflow;
	u8 flags;
	struct ib_qp **qps;
	struct rdma_user_mmap_entry *ring_mmap;
	struct rdma_user_mmap_entry *index_mmap;
	u16 mod_count;
	u16 mod_period_us;
	u32 held;
	struct hrtimer mod_timer;
	u32 burst;
	struct shca_delayed_cq *delayed;
	u32 late_us;
	u32 wait_us;
	u32 shown;
	enum shca_cq_pending pending;
	struct hrtimer burst_timer;
	struct shca_bh comp_bh;
	u32 comp_cpu;
	u32 comp_turns;
	struct shca_bh err_bh;
};

static inline struct shca_cq *to_shca_cq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct shca_cq, ibcq);
}

/*
 * Write one completion and wake its waiters.
 * @qp:		the consumer's QP, of which @wc is a completion
 * @qpn:	its number
 * Context: softirq or bottom halves off.
 * Return: false: the CQ is full, the completion is lost and CQ_ERR raised; the caller must put its
 * QP into the error state (IBTA 11.6.3.1).
 */
bool shca_cq_post(struct shca_cq *cq, struct ib_qp *qp, u32 qpn,
		  const struct shca_wc *wc);

/*
 * Drop the completions of a kernel consumer's QP that was reset or destroyed, because they
 * point to it. A process's provider does so for itself, by QP number.
 * @qp:		completes nothing any more
 */
void shca_cq_purge(struct shca_cq *cq, const struct ib_qp *qp);

/*
 * A QP of a kernel consumer has ended: its completions raise their events now. The consumer may
 * free the CQ next. ib_free_cq() first ends what the handler has queued, and then destroys the
 * CQ: no event may come in between. Context: may sleep.
 */
void shca_cq_drain(struct shca_cq *cq);

/*
 * Place delayed bytes and show completions, before a consumer gets the event that a QP has
 * failed or drained. Context: softirq or process.
 */
void shca_cq_show(struct shca_cq *cq);

/*
 * shca_cq_keep() - delay the first @len bytes of a message, SHCA_DELAYED_BYTES at most
 * shca_cq_place() - place all delayed bytes now
 * shca_cq_keep_order() - the same, if any of them belong into these segments
 *
 * The CQ, which has @delayed, gets the message's completion. Completions that are not shown yet
 * stay so. shca_cq_place() is for any CQ of a process. Context: softirq or bottom halves off; a
 * lock of a QP may be held.
 */
void shca_cq_keep(struct shca_cq *cq, struct shca_mr *mr, u64 va, const u8 *bytes,
		  u32 len);
void shca_cq_place(struct shca_cq *cq);
void shca_cq_keep_order(struct shca_cq *cq, const struct shca_sge *sge, u32 nr);

/* struct ib_device_ops */
int shca_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		   struct uverbs_attr_bundle *attrs);
int shca_resize_cq(struct ib_cq *ibcq, unsigned int cqe,
		   struct ib_udata *udata);
int shca_modify_cq(struct ib_cq *ibcq, u16 count, u16 period_us);
int shca_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int shca_poll_cq(struct ib_cq *ibcq, int nr, struct ib_wc *wc);
int shca_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);

#endif
