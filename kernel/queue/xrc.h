/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * XRC (IBTA annex A14): domains, and SRQs as targets of requests that name them by number. A
 * target outlives its SRQ for a grace period; destruction of the SRQ waits for QPs that use it.
 */
#ifndef SHCA_XRC_H
#define SHCA_XRC_H

#include <linux/completion.h>
#include <linux/refcount.h>
#include <rdma/ib_verbs.h>

struct shca_dev;
struct shca_srq;

/*
 * An SRQ of an XRC domain.
 * @ref: @unused: references of shca_xrc_find()
 */
struct shca_xrc_target {
	struct rcu_head rcu;
	refcount_t ref;
	struct completion unused;
	struct shca_srq *srq;
	struct ib_xrcd *xrcd;
	struct ib_pd *pd;
	struct ib_cq *cq;
};

/* Publish an SRQ under a new number. Context: may sleep. shca_xrc_del() waits for users. */
int shca_xrc_add(struct shca_dev *dev, struct shca_srq *srq);
void shca_xrc_del(struct shca_dev *dev, struct shca_srq *srq);

/*
 * Return: the SRQ of a number, if it is of @xrcd; else NULL. The reference is for a short time,
 * until shca_xrc_put(). Context: any.
 */
struct shca_xrc_target *shca_xrc_find(struct shca_dev *dev,
				      const struct ib_xrcd *xrcd, u32 srqn);
void shca_xrc_put(struct shca_xrc_target *target);

/* struct ib_device_ops */
int shca_alloc_xrcd(struct ib_xrcd *xrcd, struct ib_udata *udata);
int shca_dealloc_xrcd(struct ib_xrcd *xrcd, struct ib_udata *udata);

#endif
