// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Memory regions: registration, the table of keys, and the door that checks an
 * access.  Knows nothing of QPs and packets; mem.c builds on it.
 */
#include "mr.h"

#include <linux/mm.h>
#include <linux/random.h>
#include <linux/rhashtable.h>
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

#include "compat.h"
#include "dev.h"

#define SHCA_MR_ACCESS (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC | \
			IB_ACCESS_OPTIONAL)

static const struct rhashtable_params shca_mr_params = {
	.key_len = sizeof(u32),
	.key_offset = offsetof(struct shca_mr, index),
	.head_offset = offsetof(struct shca_mr, node),
	.automatic_shrinking = true,
};

int shca_mr_table_init(struct shca_dev *dev)
{
	return rhashtable_init(&dev->mrs, &shca_mr_params);
}

void shca_mr_table_destroy(struct shca_dev *dev)
{
	rhashtable_destroy(&dev->mrs);
}

/* Keys are random, so that a peer cannot guess them (ReDMArk, 2021). */
static int shca_mr_publish(struct shca_dev *dev, struct shca_mr *mr)
{
	int tries, err;

	for (tries = 0; tries < 64; tries++) {
		mr->key = get_random_u32();
		mr->index = mr->key >> 8;
		if (!mr->index)
			continue;	/* 0 is no key */
		err = rhashtable_insert_fast(&dev->mrs, &mr->node,
					     shca_mr_params);
		if (err != -EEXIST)
			return err;
	}
	return -ENOSPC;
}

enum shca_mem_status shca_mr_get(struct shca_dev *dev, struct ib_pd *pd,
				 u32 key, u32 access, u64 va, u64 len,
				 struct shca_mr **out)
{
	u32 index = key >> 8;
	struct shca_mr *mr;

	rcu_read_lock();
	mr = rhashtable_lookup(&dev->mrs, &index, shca_mr_params);
	if (mr && !refcount_inc_not_zero(&mr->ref))
		mr = NULL;
	rcu_read_unlock();
	if (!mr)
		return SHCA_MEM_KEY;
	*out = mr;
	if (mr->key != key || mr->pd != pd) {
		shca_mr_put(mr);
		return SHCA_MEM_KEY;
	}
	if ((mr->access & access) != access) {
		shca_mr_put(mr);
		return SHCA_MEM_ACCESS;
	}
	/* Written so that no sum can wrap. */
	if (va < mr->iova || len > mr->length ||
	    va - mr->iova > mr->length - len) {
		shca_mr_put(mr);
		return SHCA_MEM_RANGE;
	}
	return SHCA_MEM_OK;
}

void shca_mr_put(struct shca_mr *mr)
{
	/* complete() under RCU: shca_dereg_mr() frees @mr after a grace period,
	 * so the completion is not freed under complete()'s feet.
	 */
	rcu_read_lock();
	if (refcount_dec_and_test(&mr->ref))
		complete(&mr->unused);
	rcu_read_unlock();
}

void *shca_mr_next(const struct shca_mr *mr, u64 va, u32 *len)
{
	u64 pos = va - mr->iova + mr->offset;
	u64 in_block = pos & ((1ull << mr->block_shift) - 1);

	*len = min_t(u64, *len, (1ull << mr->block_shift) - in_block);
	return mr->blocks[pos >> mr->block_shift] + in_block;
}

static int shca_mr_map(struct shca_mr *mr, u64 iova)
{
	struct ib_block_iter biter;
	unsigned long pgsz;
	size_t nr, i = 0;

	pgsz = ib_umem_find_best_pgsz(mr->umem, PAGE_MASK, iova);
	if (!pgsz)
		return -EINVAL;
	nr = ib_umem_num_dma_blocks(mr->umem, pgsz);
	mr->blocks = kvcalloc(nr, sizeof(*mr->blocks), GFP_KERNEL_ACCOUNT);
	if (!mr->blocks)
		return -ENOMEM;
	mr->block_shift = __ffs(pgsz);
	mr->offset = iova & (pgsz - 1);
	/* Virtual DMA: a "DMA address" is the kernel address of the page. */
	rdma_umem_for_each_dma_block(mr->umem, &biter, pgsz)
		mr->blocks[i++] =
			(void *)(uintptr_t)rdma_block_iter_dma_address(&biter);
	return 0;
}

struct ib_mr *shca_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
			       u64 iova, int access, struct ib_udata *udata)
{
	struct shca_dev *dev = to_shca_dev(ibpd->device);
	struct shca_mr *mr;
	int err;

	if (access & ~SHCA_MR_ACCESS)
		return ERR_PTR(-EOPNOTSUPP);
	if (!length || length > SHCA_LIM_MR_SIZE || iova + length < iova)
		return ERR_PTR(-EINVAL);
	if (!ib_is_udata_cleared(udata, 0, udata->inlen))
		return ERR_PTR(-EINVAL);
	if (atomic_inc_return(&dev->nr_mr) > SHCA_LIM_MR) {
		err = -ENOMEM;
		goto err_count;
	}
	mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	if (!mr) {
		err = -ENOMEM;
		goto err_count;
	}
	mr->umem = ib_umem_get(ibpd->device, start, length, access);
	if (IS_ERR(mr->umem)) {
		err = PTR_ERR(mr->umem);
		goto err_free;
	}
	mr->pd = ibpd;
	mr->iova = iova;
	mr->length = length;
	mr->access = access & ~IB_ACCESS_OPTIONAL;
	refcount_set(&mr->ref, 1);
	init_completion(&mr->unused);
	err = shca_mr_map(mr, iova);
	if (err)
		goto err_umem;
	/* Last: from here on packets may find it. */
	err = shca_mr_publish(dev, mr);
	if (err)
		goto err_blocks;
	mr->ibmr.lkey = mr->key;
	mr->ibmr.rkey = mr->key;
	mr->ibmr.iova = iova;
	mr->ibmr.length = length;
	mr->ibmr.page_size = 1u << min(mr->block_shift, 31u);
	return &mr->ibmr;

err_blocks:
	kvfree(mr->blocks);
err_umem:
	ib_umem_release(mr->umem);
err_free:
	kfree(mr);
err_count:
	atomic_dec(&dev->nr_mr);
	return ERR_PTR(err);
}

int shca_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct shca_dev *dev = to_shca_dev(ibmr->device);
	struct shca_mr *mr = to_shca_mr(ibmr);

	/* No new access finds it; those under way are bounded copies. */
	rhashtable_remove_fast(&dev->mrs, &mr->node, shca_mr_params);
	shca_mr_put(mr);
	wait_for_completion(&mr->unused);
	kvfree(mr->blocks);
	ib_umem_release(mr->umem);
	atomic_dec(&dev->nr_mr);
	kfree_rcu(mr, rcu);
	return 0;
}
