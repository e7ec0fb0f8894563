// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* See xrc.h. */
#include "xrc.h"

#include <linux/slab.h>
#include <linux/xarray.h>

#include "../base/dev.h"
#include "../inject/fault.h"
#include "srq.h"

/* Numbers have 24 bits, and are used again after all others. */
#define SHCA_XRC_NUMBERS XA_LIMIT(1, 0xffffff)

int shca_xrc_add(struct shca_dev *dev, struct shca_srq *srq)
{
	struct shca_xrc_target *target;
	int err;

	target = kzalloc(sizeof(*target), GFP_KERNEL_ACCOUNT);
	if (!target)
		return -ENOMEM;
	refcount_set(&target->ref, 1);
	init_completion(&target->unused);
	target->srq = srq;
	target->xrcd = srq->ibsrq.ext.xrc.xrcd;
	target->pd = srq->ibsrq.pd;
	target->cq = srq->ibsrq.ext.cq;
	err = xa_alloc_cyclic(&dev->xrc_srqs.table, &srq->ibsrq.ext.xrc.srq_num,
			      target, SHCA_XRC_NUMBERS, &dev->xrc_srqs.next,
			      GFP_KERNEL_ACCOUNT);
	if (err < 0) {
		kfree(target);
		return err;
	}
	return 0;
}

void shca_xrc_del(struct shca_dev *dev, struct shca_srq *srq)
{
	struct shca_xrc_target *target;

	target = xa_erase(&dev->xrc_srqs.table, srq->ibsrq.ext.xrc.srq_num);
	if (!target)
		return;
	shca_xrc_put(target);
	wait_for_completion(&target->unused);
	kfree_rcu(target, rcu);
}

struct shca_xrc_target *shca_xrc_find(struct shca_dev *dev,
				      const struct ib_xrcd *xrcd, u32 srqn)
{
	struct shca_xrc_target *target;

	rcu_read_lock();
	target = xa_load(&dev->xrc_srqs.table, srqn);
	if (target && (target->xrcd != xrcd ||
		       !refcount_inc_not_zero(&target->ref)))
		target = NULL;
	rcu_read_unlock();
	return target;
}

void shca_xrc_put(struct shca_xrc_target *target)
{
	/* The last put still needs @target for complete(), as in shca_qp_put(). */
	rcu_read_lock();
	if (refcount_dec_and_test(&target->ref))
		complete(&target->unused);
	rcu_read_unlock();
}

/* The RDMA core counts users of a domain, and shares it by inode. */
int shca_alloc_xrcd(struct ib_xrcd *xrcd, struct ib_udata *udata)
{
	return shca_fault_verb(xrcd->device, SHCA_FAULT_VERB_OPEN_XRCD);
}

int shca_dealloc_xrcd(struct ib_xrcd *xrcd, struct ib_udata *udata)
{
	return 0;
}
