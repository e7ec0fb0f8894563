// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Memory windows, type 1 and type 2B (IBTA 10.6.7): a key for part of a region, which work
 * requests bind and invalidate.
 *
 * A window is a region without memory of its own (mr.h), in the same table and with the same
 * access check. While it is open, accesses continue in the region that it is bound to. Each
 * access holds the window's lock for reading, so no access outlives the closing. A region
 * with an open window cannot be deregistered.
 *
 * Type 1 belongs to a PD. It may be bound while it is open, and a bind of length 0 closes it.
 * Type 2B belongs to the QP that has bound it. It must be closed to be bound; LOCAL_INV of
 * that QP, or an invalidation by its peer, closes it. Windows of a destroyed QP stay open
 * without a user until they are deallocated.
 */
#include "mw.h"

#include <rdma/uverbs_ioctl.h>

#include "../base/dev.h"
#include "../inject/fault.h"
#include "mr.h"

#define SHCA_MW_RIGHTS (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | \
			IB_ACCESS_REMOTE_ATOMIC)
static bool shca_mw_may_open(const struct shca_mr *mw, const struct shca_mr *mr,
			     const struct shca_mw_bind *bind)
{
	u32 needed = IB_ACCESS_MW_BIND;

	if (bind->access & (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC))
		needed |= IB_ACCESS_LOCAL_WRITE;
	return (mr->type == SHCA_MR_USER || mr->type == SHCA_MR_ODP) &&
	       mr->pd == mw->pd &&
	       mr->key == bind->mr_key && mr->valid &&
	       (mr->access & needed) == needed &&
	       shca_mr_in_range(mr, bind->addr, bind->length);
}

static bool shca_mw_may_bind(const struct shca_accessor *who,
			     const struct shca_mr *mw,
			     const struct shca_mw_bind *bind)
{
	/* Other flags than SHCA_MW_RIGHTS and IB_ZERO_BASED are ignored, as by adapters. */
	if (mw->type != SHCA_MR_WINDOW || mw->pd != who->pd)
		return false;
	if (mw->mw_type == IB_MW_TYPE_1)
		return !(bind->access & IB_ZERO_BASED);
	return !mw->valid && bind->length;
}

/* Return: false if the region is being deregistered. */
static bool shca_mw_open(const struct shca_accessor *who, struct shca_mr *mw,
			 struct shca_mr *mr, const struct shca_mw_bind *bind)
{
	if (!atomic_inc_unless_negative(&mr->windows))
		return false;
	shca_mr_unbind(mw);
	mw->parent = mr;
	mw->key = bind->key;
	mw->access = bind->access & SHCA_MW_RIGHTS;
	mw->iova = bind->access & IB_ZERO_BASED ? 0 : bind->addr;
	mw->shift = bind->addr - mw->iova;
	mw->length = bind->length;
	mw->owner = mw->mw_type == IB_MW_TYPE_1 ? (uintptr_t)mw->pd :
						  who->serial;
	mw->valid = true;
	return true;
}

/* @mr is NULL if the region does not exist. */
static bool shca_mw_change(const struct shca_accessor *who, struct shca_mr *mw,
			   struct shca_mr *mr, const struct shca_mw_bind *bind)
{
	bool ok = false;

	write_lock_bh(&mw->lock);
	if (!shca_mw_may_bind(who, mw, bind)) {
		;
	} else if (!bind->length) {
		shca_mr_unbind(mw);
		mw->key = bind->key;
		ok = true;
	} else if (mr && shca_mw_may_open(mw, mr, bind)) {
		ok = shca_mw_open(who, mw, mr, bind);
	}
	write_unlock_bh(&mw->lock);
	return ok;
}

bool shca_mw_bind(const struct shca_accessor *who,
		  const struct shca_mw_bind *bind)
{
	struct shca_mr *mw, *mr;
	bool ok;

	mw = shca_mr_find(who->dev, bind->key);
	if (!mw)
		return false;
	mr = bind->length ? shca_mr_find(who->dev, bind->mr_key) : NULL;
	ok = shca_mw_change(who, mw, mr, bind);
	if (mr)
		shca_mr_unref(mr);
	shca_mr_unref(mw);
	return ok;
}

int shca_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata)
{
	struct shca_mw *mw = container_of(ibmw, struct shca_mw, ibmw);
	struct shca_dev *dev = to_shca_dev(ibmw->device);
	struct shca_mr *window;
	int err;

	err = shca_fault_verb(ibmw->device, SHCA_FAULT_VERB_ALLOC_MW);
	if (err)
		return err;
	if (!ib_is_udata_cleared(udata, 0, udata->inlen))
		return -EINVAL;
	window = shca_mr_alloc(ibmw->pd, SHCA_MR_WINDOW);
	if (IS_ERR(window))
		return PTR_ERR(window);
	window->mw_type = ibmw->type;
	err = shca_mr_publish(dev, window);
	if (err)
		return err;
	ibmw->rkey = window->key;
	mw->window = window;
	return 0;
}

int shca_dealloc_mw(struct ib_mw *ibmw)
{
	struct shca_mw *mw = container_of(ibmw, struct shca_mw, ibmw);
	struct shca_dev *dev = to_shca_dev(ibmw->device);
	struct shca_mr *window = mw->window;

	shca_mr_retire(dev, window);
	write_lock_bh(&window->lock);
	shca_mr_unbind(window);
	write_unlock_bh(&window->lock);
	shca_mr_free(dev, window);
	return 0;
}
