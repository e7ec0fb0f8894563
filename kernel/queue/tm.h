/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tag matching: SRQs of type IB_SRQT_TM.
 *
 * The list of tags (core/responder/tag_list.h) is the SRQ's; a process changes it by a method of
 * uverbs' ioctl interface.  A message that is matched with a tag leaves the list at
 * once.  If it asks for a rendezvous, its slot stays in use and is a job.  The QP
 * that received it reads the data and then tells the sender so (FIN).  The QP's
 * requester sends these requests, which are in no ring.  They go before the
 * requests that the process has posted and that are not yet fetched.
 *
 * A job belongs to the QP, on one of its lists.  It lasts from its match to the end
 * of the FIN, or to the reset or destruction of the QP.  An SRQ outlives its QPs,
 * so it has no jobs when it goes.
 *
 * Locks: struct shca_srq_tm.lock inside either side's lock of a QP; inside it those
 * of the SRQ and of its CQ.
 */
#ifndef SHCA_TM_H
#define SHCA_TM_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <rdma/uverbs_ioctl.h>

#include "../core/mem_ops.h"
#include "../core/tag_list.h"
#include "../core/wr.h"

struct shca_qp;
struct shca_srq;

/* What a job is going to do next. */
enum shca_tm_step {
	SHCA_TM_READ,
	SHCA_TM_FIN,
	SHCA_TM_END,
};

/*
 * A rendezvous.
 * @node:	in a list of its QP's
 * @step:	that is to be posted next
 * @wr_id: @sge: of the tag
 * @rvh:	where the data is
 * @fin:	the message that ends it
 */
struct shca_tm_job {
	struct list_head node;
	enum shca_tm_step step;
	u64 wr_id;
	struct shca_sge sge;
	struct shca_rvh rvh;
	u8 fin[SHCA_TMH_BYTES];
};

/*
 * The tags of an SRQ.
 * @lock:	all of it, and the lists of its QPs
 * @jobs:	one for each slot of @tags
 */
struct shca_srq_tm {
	spinlock_t lock;
	struct shca_tm tags;
	struct shca_tm_entry *slots;
	struct shca_tm_job *jobs;
};

/**
 * struct shca_qp_tm - rendezvous of a QP
 * @matched:	by the message being received
 * @due:	jobs of which something is to be posted
 * @posted:	the others
 */
struct shca_qp_tm {
	struct shca_tm_job *matched;
	struct list_head due;
	struct list_head posted;
};

/* A list of @nr_tags.  Return: NULL: no memory. */
struct shca_srq_tm *shca_srq_tm_alloc(u32 nr_tags);
/* Free it, with what tags are in it; NULL is fine. */
void shca_srq_tm_free(struct shca_srq_tm *tm);

/* The tags of the QP's SRQ, or NULL. */
struct shca_srq_tm *shca_qp_tm(const struct shca_qp *qp);

/* There is no rendezvous yet. */
void shca_qp_tm_init(struct shca_qp *qp);

/*
 * shca_tm_get() - struct shca_mem_ops.tm_get
 * shca_tm_broke_off() - struct shca_mem_ops.tm_undo
 *
 * Context: rq.lock held.
 */
enum shca_recv_status shca_tm_get(void *ctx, const struct shca_tm_msg *msg,
				  struct shca_recv_wr *wr, bool *matched);
void shca_tm_broke_off(void *ctx);

/*
 * The message being received has completed.
 * @rndv:	successfully, so the rendezvous it asked for begins
 * Context: rq.lock held.
 */
void shca_tm_begin(struct shca_qp *qp, bool rndv);

/* Is there something for shca_tm_next()? */
bool shca_tm_is_due(const struct shca_qp *qp);

/*
 * The next request of the adapter's own into @wr, a free slot.
 * Context: sq.lock held.
 * Return: false: there is none.
 */
bool shca_tm_next(struct shca_qp *qp, struct shca_send_wr *wr);

/*
 * Such a request has ended (shca_wc.own).
 * Context: sq.lock held.
 * Return: false: the SRQ's CQ has overflowed.
 */
bool shca_tm_done(struct shca_qp *qp, const struct shca_wc *wc);

/* Forget all of a QP; both sides' locks held, both reset. */
void shca_tm_reset(struct shca_qp *qp);

/* How a process changes the list; ib_device.driver_def. */
extern const struct uapi_definition shca_tm_defs[];

#endif
