/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Completion queues.
 */
#ifndef SHCA_CQ_H
#define SHCA_CQ_H

#include <linux/hrtimer.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#include "../base/bh.h"
#include "../core/wr.h"
#include "../mem/buf.h"

struct shca_delayed_cq;
struct shca_mr;

/* Completions that the consumer has not been told of. */
enum shca_cq_untold {
	SHCA_CQ_UNTOLD_NONE,
	SHCA_CQ_UNTOLD_SOME,
	SHCA_CQ_UNTOLD_SOLICITED,	/* one is solicited, or an error */
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
 * @burst:	if more than 1: so many are shown at a time (personality)
 * @delayed:	of a process, or NULL: what is placed before they are shown
 * @late_us:	for so long at most (personality)
 * @wait_us:	a completion waits for so long at most before it is shown, for one of
 *		these two reasons; 0: none does
 * @shown:	with @wait_us: completions that the consumer can see
 * @untold:	with @wait_us: what waits, or was moved by a resize, and fires nothing yet
 * @burst_timer: ends @wait_us and @late_us
 * @armed:	last value of index->arm that has fired
 * @cons:	kernel consumer: completions polled. A process: those that the trace event
 *		shca_poll has told of
 * @notify:	kernel consumer: SHCA_CQ_ARM_* or 0
 * @flags:	SHCA_CQ_* that it was made with; constant. After an overrun of one that
 *		ignores them a completion is lost, and nothing else happens
 * @overflow:	a completion was lost; CQ_ERR is raised
 * @qps:	kernel consumer: the QP of each slot
 * @mod_count: @mod_period_us: of what the consumer armed for, that many make an
 *		event, or that long after the first of them; 0: each does
 * @held:	of these, how many have been held back
 * @mod_timer:	ends @mod_period_us
 * @comp_bh:	kernel consumer: runs the handler, never inside a post call
 *		(core_locking.rst); never on two CPUs, so one handler at a time
 * @comp_cpu:	where that is, by the completion vector
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
	enum shca_cq_untold untold;
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
 * Return: false: the CQ is full; the completion is lost and CQ_ERR raised, the caller must put
 * its QP into the error state (IBTA 11.6.3.1).
 */
bool shca_cq_post(struct shca_cq *cq, struct ib_qp *qp, u32 qpn,
		  const struct shca_wc *wc);

/*
 * Drop the completions of a QP that was reset or destroyed. Only for kernel consumers, whose
 * completions point to the QP; a process's provider does it for itself, by QP number.
 * @qp:		produces none any more
 */
void shca_cq_purge(struct shca_cq *cq, const struct ib_qp *qp);

/*
 * A QP of a kernel consumer has ended: events of its completions come now. After the last one
 * the consumer frees the CQ.  ib_free_cq() first ends what the handler has queued, and then
 * destroys the CQ: no event may come in between.
 * Context: may sleep.
 */
void shca_cq_drain(struct shca_cq *cq);

/*
 * The completions that wait become visible, and late data is placed.
 * Context: softirq or process. Before a consumer is told that a QP has ended or drained.
 */
void shca_cq_show(struct shca_cq *cq);

/*
 * shca_cq_keep() - the first @len bytes of a message, SHCA_DELAYED_BYTES at most, come late
 * shca_cq_place() - what is late is placed now
 * shca_cq_keep_order() - the same, if any of it belongs into these segments
 *
 * The CQ, which has @delayed, gets the message's completion. Those that are not shown yet
 * stay so. shca_cq_place() is for any CQ of a process.
 * Context: softirq or bottom halves off; a lock of a QP may be held.
 */
void shca_cq_keep(struct shca_cq *cq, struct shca_mr *mr, u64 va, const u8 *bytes,
		  u32 len);
void shca_cq_place(struct shca_cq *cq);
void shca_cq_keep_order(struct shca_cq *cq, const struct shca_sge *sge, u32 nr);

/* struct ib_device_ops */
#ifdef HAVE_CREATE_CQ_ATTRS
int shca_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		   struct uverbs_attr_bundle *attrs);
#else
int shca_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		   struct ib_udata *udata);
#endif
#ifdef HAVE_RESIZE_USER_CQ
int shca_resize_cq(struct ib_cq *ibcq, unsigned int cqe,
		   struct ib_udata *udata);
#else
int shca_resize_cq(struct ib_cq *ibcq, int cqe, struct ib_udata *udata);
#endif
int shca_modify_cq(struct ib_cq *ibcq, u16 count, u16 period_us);
int shca_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int shca_poll_cq(struct ib_cq *ibcq, int nr, struct ib_wc *wc);
int shca_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);

#endif
