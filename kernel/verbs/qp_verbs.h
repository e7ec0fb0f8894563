/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Creation, destruction and query of QPs */
#ifndef SHCA_QP_VERBS_H
#define SHCA_QP_VERBS_H

#include "../queue/qp.h"

/*
 * Get a reference from @ibqp, for dumps and counters. Destruction of the QP waits for
 * shca_qp_put().
 * Context: any.
 * Return: NULL: it is being destroyed.
 */
struct shca_qp *shca_qp_get(struct ib_qp *ibqp);

/* Its owner, and CAP_NET_ADMIN, may see the progress of a QP's traffic. Context: process. */
bool shca_qp_may_watch(const struct ib_qp *ibqp);

/* May this process have frames of the device's netdev? Context: process. */
bool shca_qp_may_be_raw(const struct shca_dev *dev);

/* Drop the completions of a QP that is reset or destroyed. */
void shca_qp_purge_cqs(struct shca_qp *qp);

/*
 * Send owed ACKs before destroy or reset, and run requests that were posted without a
 * doorbell.
 * Context: process; takes both locks, one after the other.
 */
void shca_qp_flush_acks(struct shca_qp *qp);

/*
 * Create a QP in RESET, with its rings, unpublished.
 * @init:	checked; its cap is corrected to what is granted
 * @wq:		work queue whose receive half it is, or NULL
 * @rss:	how it spreads received packets, or NULL; belongs to the QP on success
 * Return: it, or ERR_PTR(-ENOMEM). Undone by shca_qp_free(), or, once shca_net_add_qp() has
 * published it, by shca_qp_end().
 */
struct shca_qp *shca_qp_make(struct shca_dev *dev, struct ib_pd *pd,
			     struct ib_qp_init_attr *init, struct shca_wq *wq,
			     struct shca_rss *rss, bool is_user);

/* Let a process map rings and ring the doorbell. Return: 0; or an error, then only free the QP. */
int shca_qp_share(struct shca_qp *qp, struct ib_ucontext *uctx);

/* Offset of the receive requests in the region */
u32 shca_qp_rq_start(const struct shca_qp *qp);

/* Free a QP that was not published, or is no longer in use. */
void shca_qp_free(struct shca_qp *qp);

/* Unpublish, stop, wait and free; may sleep. */
void shca_qp_end(struct shca_qp *qp);

/* struct ib_device_ops */
int shca_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init,
		   struct ib_udata *udata);
int shca_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);
int shca_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init);

#endif
