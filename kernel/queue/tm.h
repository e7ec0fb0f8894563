/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tag matching: SRQs of type IB_SRQT_TM.
 *
 * The list of tags (core/tag_list.h) is the SRQ's; a process changes it by a method of uverbs'
 * ioctl interface. A tag that matches a message leaves the list at once. If the message asks
 * for a rendezvous, the slot of the tag stays in use, as a job: the QP that received the
 * message reads the data, and then sends a FIN. Its requester sends these requests, which are
 * in no ring, before requests of the process that are not fetched yet.
 *
 * A job belongs to the QP, on one of its lists. It lasts from its match to the end of the FIN,
 * or to the reset or destruction of the QP. An SRQ outlives its QPs, so it has no jobs when it
 * goes.
 *
 * Locks: struct shca_srq_tm.lock inside either side's lock of a QP, those of the SRQ and its CQ
 * inside it.
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

/* Next step of a job. */
enum shca_tm_step {
	SHCA_TM_READ,
	SHCA_TM_FIN,
	SHCA_TM_END,
};

/*
 * A rendezvous.
 * @node:	in a list of its QP
 * @step:	to be posted next
 * @wr_id: @sge: of the tag
 * @rvh:	where the data is
 * @fin:	message that ends it
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
 * @matched:	job of the message being received
 * @due:	jobs whose next step is to be posted
 * @posted:	the others
 */
struct shca_qp_tm {
	struct shca_tm_job *matched;
	struct list_head due;
	struct list_head posted;
};

/* List of @nr_tags. Return: NULL: no memory. shca_srq_tm_free(NULL) is fine. */
struct shca_srq_tm *shca_srq_tm_alloc(u32 nr_tags);
void shca_srq_tm_free(struct shca_srq_tm *tm);

/* The tags of the QP's SRQ, or NULL. */
struct shca_srq_tm *shca_qp_tm(const struct shca_qp *qp);

/* Initialise, without rendezvous. */
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
 * The message being received has completed. Context: rq.lock held.
 * @rndv:	successfully, so the rendezvous it asked for begins
 */
void shca_tm_begin(struct shca_qp *qp, bool rndv);

/* Is there something for shca_tm_next()? */
bool shca_tm_is_due(const struct shca_qp *qp);

/*
 * Write the next request of a rendezvous into @wr, a free slot. Context: sq.lock held.
 * Return: false: there is none.
 */
bool shca_tm_next(struct shca_qp *qp, struct shca_send_wr *wr);

/*
 * A request of shca_tm_next() has ended (shca_wc.own). Context: sq.lock held.
 * Return: false: the SRQ's CQ has overflowed.
 */
bool shca_tm_done(struct shca_qp *qp, const struct shca_wc *wc);

/* Forget all jobs of a QP; both sides' locks held, both reset. */
void shca_tm_reset(struct shca_qp *qp);

/* Method by which a process changes the list; ib_device.driver_def. */
extern const struct uapi_definition shca_tm_defs[];

#endif
