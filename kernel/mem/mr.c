// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Memory regions: registration, the table of keys, and the access check */
#include "mr.h"

#include <linux/mm.h>
#include <linux/random.h>
#include <linux/rhashtable.h>
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

#include "../base/compat.h"
#include "../base/dev.h"
#include "odp.h"
#include "place.h"

/* Keys are random, so the hash needs no mixing; see also qp_table.c. */
static u32 shca_mr_hash(const void *key, u32 len, u32 seed)
{
	return *(const u32 *)key ^ seed;
}

static int shca_mr_cmp(struct rhashtable_compare_arg *arg, const void *obj)
{
	return ((const struct shca_mr *)obj)->index != *(const u32 *)arg->key;
}

static const struct rhashtable_params shca_mr_params = {
	.hashfn = shca_mr_hash,
	.obj_cmpfn = shca_mr_cmp,
	.key_len = sizeof(u32),
	.key_offset = offsetof(struct shca_mr, index),
	.head_offset = offsetof(struct shca_mr, node),
	.automatic_shrinking = true,
};

int shca_mr_table_init(struct shca_dev *dev)
{
	return rhashtable_init(&dev->mrs, &shca_mr_params);
}

/* Keys are random, so that a peer cannot guess them (ReDMArk, 2021). */
int shca_mr_publish(struct shca_dev *dev, struct shca_mr *mr)
{
	int tries, err = -EEXIST;

	for (tries = 0; err == -EEXIST && tries < 64; tries++) {
		mr->key = get_random_u32();
		mr->index = mr->key >> 8;
		if (!mr->index)
			continue;	/* 0 is not a valid key */
		err = rhashtable_lookup_insert_fast(&dev->mrs, &mr->node,
						    shca_mr_params);
	}
	if (err) {
		shca_mr_free(dev, mr);
		return err == -EEXIST ? -ENOSPC : err;
	}
	mr->ibmr.lkey = mr->key;
	mr->ibmr.rkey = mr->key;
	return 0;
}

struct shca_mr *shca_mr_find(struct shca_dev *dev, u32 key)
{
	u32 index = key >> 8;
	struct shca_mr *mr;

	/* A region without references has left the table, and another one may have its index. */
	rcu_read_lock();
	do
		mr = rhashtable_lookup(&dev->mrs, &index, shca_mr_params);
	while (mr && !refcount_inc_not_zero(&mr->ref));
	rcu_read_unlock();
	return mr;
}

void shca_mr_unref(struct shca_mr *mr)
{
	/* RCU: kfree_rcu() in shca_mr_free() waits until complete() no longer uses @mr. */
	rcu_read_lock();
	if (refcount_dec_and_test(&mr->ref))
		complete(&mr->unused);
	rcu_read_unlock();
}

u64 shca_mr_start(struct shca_dev *dev, u32 key)
{
	struct shca_mr *mr = shca_mr_find(dev, key);
	u64 start = 0;

	if (mr) {
		start = READ_ONCE(mr->iova);
		shca_mr_unref(mr);
	}
	return start;
}

/* Return: the on-demand region that @mr is or is bound to, or NULL. Context: guard of @mr held. */
static struct shca_mr *shca_mr_on_demand(struct shca_mr *mr)
{
	if (mr->type == SHCA_MR_WINDOW)
		mr = mr->parent;
	return mr->type == SHCA_MR_ODP ? mr : NULL;
}

/*
 * Take the guard of a region for an access. An access that @copies lets a waiting invalidation
 * go first: a trylock fails while a writer waits, where a read lock with bottom halves off
 * overtakes it. (On PREEMPT_RT it does not, and so would wait for ever in a task that has the
 * lock for its other side.) Return: false: try again later, as if pages were absent.
 */
static bool shca_mr_guard(const struct shca_mr *mr, bool copies)
{
	local_bh_disable();
	if (!copies || !mr->odp) {
		read_lock(mr->guard);
	} else if (!read_trylock(mr->guard)) {
		local_bh_enable();
		return false;
	}
	return true;
}

/*
 * If the access @copies: are the pages of an on-demand region present? For a window on such a
 * region, take the region's guard, too. Context: holds the guard of @mr.
 */
static enum shca_mem_status shca_mr_enter(struct shca_mr *mr, u32 access,
					  u64 va, u64 len, bool copies)
{
	struct shca_mr *odp = shca_mr_on_demand(mr);

	if (!odp)
		return SHCA_MEM_OK;
	if (odp != mr) {
		if (!shca_mr_guard(odp, copies))
			return SHCA_MEM_RETRY;
		va += mr->shift;
	}
	if (!copies || shca_odp_present(odp, va, len, access & SHCA_MR_WRITES))
		return SHCA_MEM_OK;
	if (odp != mr)
		read_unlock_bh(odp->guard);
	return SHCA_MEM_RETRY;
}

static void shca_mr_leave(struct shca_mr *mr)
{
	struct shca_mr *odp = shca_mr_on_demand(mr);

	if (odp && odp != mr)
		read_unlock_bh(odp->guard);
	read_unlock_bh(mr->guard);
}

enum shca_mem_status shca_mr_get(const struct shca_accessor *who, u32 key,
				 u32 access, u64 va, u64 len, bool copies,
				 struct shca_mr **out)
{
	struct shca_mr *mr = shca_mr_find(who->dev, key);
	enum shca_mem_status status;

	if (!mr)
		return SHCA_MEM_KEY;
	if (mr->locked && !shca_mr_guard(mr, copies)) {
		shca_mr_unref(mr);
		return SHCA_MEM_RETRY;
	}
	status = shca_mr_check(mr, who, key, access, va, len);
	if (mr->locked && status == SHCA_MEM_OK)
		status = shca_mr_enter(mr, access, va, len, copies);
	if (status == SHCA_MEM_OK) {
		*out = mr;
		return SHCA_MEM_OK;
	}
	if (mr->locked)
		read_unlock_bh(mr->guard);
	shca_mr_unref(mr);
	return status;
}

void shca_mr_put(struct shca_mr *mr)
{
	if (mr->locked)
		shca_mr_leave(mr);
	shca_mr_unref(mr);
}

void *__shca_mr_next(const struct shca_mr *mr, u64 va, u32 *len)
{
	u64 pos, in_block;

	if (mr->type == SHCA_MR_WINDOW) {
		va += mr->shift;
		mr = mr->parent;
	}
	/* Virtual DMA: a DMA address is a kernel address. */
	if (mr->type == SHCA_MR_DMA)
		return (void *)(uintptr_t)va;
	if (mr->type == SHCA_MR_ODP)
		return shca_odp_next(mr, va, len);
	if (mr->type == SHCA_MR_NULL) {
		*len = min_t(u32, *len, PAGE_SIZE);
		return page_address(ZERO_PAGE(0));
	}
	pos = va - mr->iova + mr->offset;
	in_block = pos & ((1ull << mr->block_shift) - 1);
	*len = min_t(u64, *len, (1ull << mr->block_shift) - in_block);
	return mr->blocks[pos >> mr->block_shift] + in_block;
}

/* @from: pointer that advances; for shca_place() */
static inline void shca_read_bytes(void *from, void *dst, u32 len)
{
	const u8 **p = from;

	memcpy(dst, *p, len);
	*p += len;
}

void shca_mr_copy(const struct shca_mr *to, u64 to_va, const struct shca_mr *from,
		  u64 from_va, const u8 *buf, u32 len)
{
	const u8 *p = buf;
	u32 run;
	u8 *q;

	if (unlikely(to->type == SHCA_MR_NULL))
		return;
	for (; len; len -= run, to_va += run, from_va += run) {
		run = len;
		if (from)
			p = shca_mr_next(from, from_va, &run);
		q = shca_mr_next(to, to_va, &run);
		if (run == len)
			shca_place(q, run, shca_read_bytes, &p);
		else
			shca_read_bytes(&p, q, run);
	}
}

/* ---- creation ------------------------------------------------------------------ */

static enum shca_limit shca_mr_limit(enum shca_mr_type type)
{
	return type == SHCA_MR_WINDOW ? SHCA_LIMIT_MW : SHCA_LIMIT_MR;
}

static bool shca_mr_is_user(enum shca_mr_type type)
{
	return type != SHCA_MR_DMA && type != SHCA_MR_FAST;
}

struct shca_mr *shca_mr_alloc_uncounted(struct ib_pd *ibpd,
					enum shca_mr_type type)
{
	struct shca_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);

	if (!mr)
		return NULL;
	mr->type = type;
	mr->is_user = shca_mr_is_user(type);
	mr->replaced = true;
	mr->locked = type == SHCA_MR_FAST || type == SHCA_MR_WINDOW ||
		     type == SHCA_MR_ODP;
	mr->pd = ibpd;
	mr->owner = (uintptr_t)ibpd;
	rwlock_init(&mr->lock);
	mr->guard = &mr->lock;
	refcount_set(&mr->ref, 1);
	init_completion(&mr->unused);
	return mr;
}

struct shca_mr *shca_mr_alloc(struct ib_pd *ibpd, enum shca_mr_type type)
{
	struct shca_dev *dev = to_shca_dev(ibpd->device);
	bool is_user = shca_mr_is_user(type);
	struct shca_mr *mr;

	if (!shca_limit_get(dev, shca_mr_limit(type), is_user))
		return ERR_PTR(-ENOMEM);
	mr = shca_mr_alloc_uncounted(ibpd, type);
	if (!mr) {
		shca_limit_put(dev, shca_mr_limit(type), is_user);
		return ERR_PTR(-ENOMEM);
	}
	mr->replaced = false;
	return mr;
}

void shca_mr_free(struct shca_dev *dev, struct shca_mr *mr)
{
	shca_odp_destroy(mr);
	kvfree(mr->blocks);
	if (!IS_ERR_OR_NULL(mr->umem))
		ib_umem_release(mr->umem);
	if (mr->release)
		mr->release(mr->backing);
	if (!mr->replaced)
		shca_limit_put(dev, shca_mr_limit(mr->type), mr->is_user);
	kfree_rcu(mr, rcu);
}

struct ib_mr *shca_mr_finish(struct shca_dev *dev, struct shca_mr *mr)
{
	int err = shca_mr_publish(dev, mr);

	return err ? ERR_PTR(err) : &mr->ibmr;
}

struct ib_mr *shca_get_dma_mr(struct ib_pd *ibpd, int access)
{
	struct shca_mr *mr = shca_mr_alloc(ibpd, SHCA_MR_DMA);

	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->length = U64_MAX;
	mr->access = access | SHCA_MR_LOCAL_READ;
	mr->valid = true;
	return shca_mr_finish(to_shca_dev(ibpd->device), mr);
}

struct ib_mr *shca_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type,
			    u32 max_num_sg)
{
	struct shca_dev *dev = to_shca_dev(ibpd->device);
	struct shca_mr *mr;

	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EOPNOTSUPP);
	if (max_num_sg > shca_limit(dev, FAST_PAGES))
		return ERR_PTR(-EINVAL);
	mr = shca_mr_alloc(ibpd, SHCA_MR_FAST);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->max_blocks = max_num_sg;
	mr->blocks = kvcalloc(max_num_sg, sizeof(*mr->blocks), GFP_KERNEL);
	if (!mr->blocks) {
		shca_mr_free(dev, mr);
		return ERR_PTR(-ENOMEM);
	}
	return shca_mr_finish(dev, mr);
}

void shca_mr_retire(struct shca_dev *dev, struct shca_mr *mr)
{
	/* From here on no access finds it. Accesses in progress are bounded copies. */
	if (!mr->replaced)
		rhashtable_remove_fast(&dev->mrs, &mr->node, shca_mr_params);
	shca_mr_unref(mr);
	wait_for_completion(&mr->unused);
}

int shca_mr_replace(struct shca_dev *dev, struct shca_mr *mr,
		    struct shca_mr *next)
{
	int err;

	if (atomic_cmpxchg(&mr->windows, 0, INT_MIN))
		return -EBUSY;
	next->key = mr->key;
	next->index = mr->index;
	next->ibmr.lkey = mr->ibmr.lkey;
	next->ibmr.rkey = mr->ibmr.rkey;
	err = rhashtable_replace_fast(&dev->mrs, &mr->node, &next->node,
				      shca_mr_params);
	if (err) {
		atomic_set(&mr->windows, 0);
		return err;
	}
	/* @next is in the table, and counted, in place of @mr. */
	mr->replaced = true;
	next->replaced = false;
	shca_mr_retire(dev, mr);
	return 0;
}

int shca_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct shca_dev *dev = to_shca_dev(ibmr->device);
	struct shca_mr *mr = to_shca_mr(ibmr);

	if (!mr->replaced) {
		/* No window may be open on a deregistered region (IBTA 10.6.7.2.4). */
		if (atomic_cmpxchg(&mr->windows, 0, INT_MIN))
			return -EBUSY;
		shca_mr_retire(dev, mr);
	}
	shca_mr_free(dev, mr);
	return 0;
}

/* ---- fast registration ------------------------------------------------------------ */

static int shca_mr_set_block(struct ib_mr *ibmr, u64 addr)
{
	struct shca_mr *mr = to_shca_mr(ibmr);

	if (mr->nr_blocks == mr->max_blocks)
		return -ENOMEM;
	mr->blocks[mr->nr_blocks++] = (void *)(uintptr_t)addr;
	return 0;
}

/* The consumer maps only while the region is invalid, so no access reads the blocks. */
int shca_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nr_sg,
		   unsigned int *offset)
{
	struct shca_mr *mr = to_shca_mr(ibmr);
	int nr;

	mr->nr_blocks = 0;
	nr = ib_sg_to_pages(ibmr, sg, nr_sg, offset, shca_mr_set_block);
	mr->block_shift = ilog2(ibmr->page_size);
	mr->offset = ibmr->iova & (ibmr->page_size - 1);
	return nr;
}

bool shca_mr_register(const struct shca_accessor *who, u32 index_key,
		      u32 new_key, u32 access)
{
	struct shca_mr *mr = shca_mr_find(who->dev, index_key);
	bool ok;

	if (!mr)
		return false;
	write_lock_bh(&mr->lock);
	ok = mr->type == SHCA_MR_FAST && mr->pd == who->pd && !mr->valid &&
	     new_key >> 8 == mr->index && mr->nr_blocks;
	if (ok) {
		mr->key = new_key;
		mr->ibmr.lkey = new_key;
		mr->ibmr.rkey = new_key;
		mr->access = access | SHCA_MR_LOCAL_READ;
		mr->iova = mr->ibmr.iova;
		mr->length = mr->ibmr.length;
		mr->valid = true;
	}
	write_unlock_bh(&mr->lock);
	shca_mr_unref(mr);
	return ok;
}

void shca_mr_unbind(struct shca_mr *mw)
{
	lockdep_assert_held_write(&mw->lock);
	if (mw->valid)
		atomic_dec(&mw->parent->windows);
	mw->valid = false;
	mw->parent = NULL;
}

/* Only a bind of length 0 closes a window of type 1. */
static bool shca_mr_may_invalidate(const struct shca_mr *mr,
				   const struct shca_accessor *who, u32 key)
{
	if (mr->pd != who->pd || mr->key != key)
		return false;
	if (mr->type == SHCA_MR_FAST)
		return true;
	return mr->type == SHCA_MR_WINDOW && mr->mw_type == IB_MW_TYPE_2 &&
	       (!mr->valid || mr->owner == who->serial);
}

bool shca_mr_invalidate(const struct shca_accessor *who, u32 key)
{
	struct shca_mr *mr = shca_mr_find(who->dev, key);
	bool ok;

	if (!mr)
		return false;
	write_lock_bh(&mr->lock);
	ok = shca_mr_may_invalidate(mr, who, key);
	if (ok && mr->type == SHCA_MR_WINDOW)
		shca_mr_unbind(mr);
	else if (ok)
		mr->valid = false;
	write_unlock_bh(&mr->lock);
	shca_mr_unref(mr);
	return ok;
}

void shca_mr_revoke(const struct shca_accessor *who, u32 key)
{
	struct shca_mr *mr = shca_mr_find(who->dev, key);

	if (!mr)
		return;
	/* A peer may name any key of the device. */
	if (mr->pd != who->pd) {
		shca_mr_unref(mr);
		return;
	}
	if (mr->type == SHCA_MR_WINDOW) {
		/* The caller does not hold this lock: local accesses do not use windows. */
		write_lock_bh(&mr->lock);
		if (mr->key == key)
			shca_mr_unbind(mr);
		write_unlock_bh(&mr->lock);
	} else if (READ_ONCE(mr->key) == key && mr->type != SHCA_MR_DMA) {
		/*
		 * Without the lock, which the caller may hold: the payload may come from this
		 * region. An access that has passed the check finishes its bounded copy.
		 */
		WRITE_ONCE(mr->valid, false);
	}
	shca_mr_unref(mr);
}
