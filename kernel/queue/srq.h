/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Shared receive queues. */
#ifndef SHCA_SRQ_H
#define SHCA_SRQ_H

#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#include "../base/event.h"
#include "../mem/buf.h"
#include "recv_ring.h"
#include "tm.h"

struct shca_rq;

/*
 * A shared receive queue.
 * @lock:	consuming side of @ring and the limit; inside rq.lock of a QP
 * @post_lock:	producing side, kernel consumers
 * @resize:	one change of size at a time
 * @limit:	raise SRQ_LIMIT_REACHED once fewer are posted; 0: not armed
 * @limit_hit: @failed: pending events
 * @reported: number of requests taken and posted when the limit was reached last
 * @events:	to its owner; a kernel consumer's handler runs in softirq
 * @tm:		IB_SRQT_TM: its tags; else NULL
 */
struct shca_srq {
	struct ib_srq ibsrq;
	spinlock_t lock;
	spinlock_t post_lock;
	struct mutex resize;
	struct shca_recv_ring ring;
	u32 limit;
	bool limit_hit;
	bool failed;
	bool is_user;
	u64 reported;
	struct shca_events events;
	struct shca_srq_tm *tm;
	struct shca_buf *ring_buf;
	struct shca_buf *status_buf;
	struct shca_srq_status *status;
	struct rdma_user_mmap_entry *ring_mmap;
	struct rdma_user_mmap_entry *status_mmap;
};

static inline struct shca_srq *to_shca_srq(struct ib_srq *ibsrq)
{
	return container_of(ibsrq, struct shca_srq, ibsrq);
}

/* Take the next request. Context: softirq or bottom halves off, rq.lock held. */
enum shca_recv_status shca_srq_fetch(struct shca_srq *srq,
				     struct shca_recv_wr *wr);

/* Raise pending events, as shca_qp_event() does. Context: any; no lock held. */
void shca_srq_report(struct shca_srq *srq);

/* The next receive request; struct shca_mem_ops.recv_get. */
enum shca_recv_status shca_rq_fetch(void *ctx, struct shca_recv_wr *wr);

/* Receive requests left; struct shca_mem_ops.recv_count. */
u32 shca_rq_count(void *ctx);

/* PD of receive requests: an SRQ may have another one than the QP. */
struct ib_pd *shca_rq_pd(const struct shca_qp *qp);

/*
 * Select the SRQ of a number for the request that is being executed. Context: rq.lock held.
 * Return: false: the QP's domain has none such.
 */
bool shca_rq_xrc_select(void *ctx, u32 srqn);

/* Drop the selected SRQ and raise its events, which only wake readers. Context: rq.lock held. */
void shca_rq_xrc_drop(struct shca_rq *rq);

/* struct ib_device_ops */
int shca_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		    struct ib_udata *udata);
int shca_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		    enum ib_srq_attr_mask mask, struct ib_udata *udata);
int shca_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr);
int shca_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata);
int shca_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad_wr);

#endif
