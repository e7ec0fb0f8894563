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
			SHCA_ACCESS_FLUSH_GLOBAL | IB_ACCESS_OPTIONAL)

/* Keys are random already, so that they need no mixing; see also net.c. */
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

/* A reference to what is under the index of @key, whatever its state. */
static struct shca_mr *shca_mr_find(struct shca_dev *dev, u32 key)
{
	u32 index = key >> 8;
	struct shca_mr *mr;

	rcu_read_lock();
	mr = rhashtable_lookup(&dev->mrs, &index, shca_mr_params);
	if (mr && !refcount_inc_not_zero(&mr->ref))
		mr = NULL;
	rcu_read_unlock();
	return mr;
}

static void shca_mr_unref(struct shca_mr *mr)
{
	/* complete() under RCU: shca_dereg_mr() frees @mr after a grace period,
	 * so the completion is not freed under complete()'s feet.
	 */
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

static enum shca_mem_status shca_mr_check(const struct shca_mr *mr,
					  const struct ib_pd *pd, u32 key,
					  u32 access, u64 va, u64 len)
{
	if (mr->key != key || mr->pd != pd || !mr->valid)
		return SHCA_MEM_KEY;
	if ((mr->access & access) != access)
		return SHCA_MEM_ACCESS;
	/* Compared such that no sum can wrap. */
	if (va < mr->iova || len > mr->length ||
	    va - mr->iova > mr->length - len)
		return SHCA_MEM_RANGE;
	return SHCA_MEM_OK;
}

enum shca_mem_status shca_mr_get(struct shca_dev *dev, struct ib_pd *pd,
				 u32 key, u32 access, u64 va, u64 len,
				 struct shca_mr **out)
{
	struct shca_mr *mr = shca_mr_find(dev, key);
	enum shca_mem_status status;

	if (!mr)
		return SHCA_MEM_KEY;
	if (mr->type == SHCA_MR_FAST)
		read_lock_bh(&mr->lock);
	status = shca_mr_check(mr, pd, key, access, va, len);
	if (status == SHCA_MEM_OK)
		*out = mr;
	else
		shca_mr_put(mr);
	return status;
}

void shca_mr_put(struct shca_mr *mr)
{
	if (mr->type == SHCA_MR_FAST)
		read_unlock_bh(&mr->lock);
	shca_mr_unref(mr);
}

enum shca_mem_status shca_mr_get_kept(struct shca_mr **kept,
				      struct shca_dev *dev, struct ib_pd *pd,
				      u32 key, u32 access, u64 va, u64 len,
				      struct shca_mr **out)
{
	enum shca_mem_status status;

	if (kept && *kept &&
	    shca_mr_check(*kept, pd, key, access, va, len) == SHCA_MEM_OK) {
		*out = *kept;
		return SHCA_MEM_OK;
	}
	status = shca_mr_get(dev, pd, key, access, va, len, out);
	if (status == SHCA_MEM_OK && kept && !*kept &&
	    (*out)->type != SHCA_MR_FAST)
		*kept = *out;
	return status;
}

void shca_mr_put_kept(struct shca_mr **kept, struct shca_mr *mr)
{
	if (!kept || mr != *kept)
		shca_mr_put(mr);
}

void *shca_mr_next(const struct shca_mr *mr, u64 va, u32 *len)
{
	u64 pos, in_block;

	/* Virtual DMA: an address of the kernel is one. */
	if (mr->type == SHCA_MR_DMA)
		return (void *)(uintptr_t)va;
	pos = va - mr->iova + mr->offset;
	in_block = pos & ((1ull << mr->block_shift) - 1);
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

/* ---- creation ------------------------------------------------------------------ */

static struct shca_mr *shca_mr_alloc(struct ib_pd *ibpd, enum shca_mr_type type)
{
	struct shca_dev *dev = to_shca_dev(ibpd->device);
	bool is_user = type == SHCA_MR_USER;
	struct shca_mr *mr;

	if (!shca_limit_get(&dev->nr_mr, SHCA_LIM_MR, is_user))
		return ERR_PTR(-ENOMEM);
	mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	if (!mr) {
		shca_limit_put(&dev->nr_mr, is_user);
		return ERR_PTR(-ENOMEM);
	}
	mr->type = type;
	mr->pd = ibpd;
	rwlock_init(&mr->lock);
	refcount_set(&mr->ref, 1);
	init_completion(&mr->unused);
	return mr;
}

/* Nobody can reach it. */
static void shca_mr_free(struct shca_dev *dev, struct shca_mr *mr)
{
	kvfree(mr->blocks);
	if (!IS_ERR_OR_NULL(mr->umem))
		ib_umem_release(mr->umem);
	shca_limit_put(&dev->nr_mr, mr->type == SHCA_MR_USER);
	kfree_rcu(mr, rcu);
}

/* The last step of creation: from here on packets may find it. */
static struct ib_mr *shca_mr_finish(struct shca_dev *dev, struct shca_mr *mr)
{
	int err = shca_mr_publish(dev, mr);

	if (err) {
		shca_mr_free(dev, mr);
		return ERR_PTR(err);
	}
	mr->ibmr.lkey = mr->key;
	mr->ibmr.rkey = mr->key;
	return &mr->ibmr;
}

static struct ib_mr *shca_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
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
	mr = shca_mr_alloc(ibpd, SHCA_MR_USER);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->umem = ib_umem_get(ibpd->device, start, length, access);
	if (IS_ERR(mr->umem)) {
		err = PTR_ERR(mr->umem);
		goto err_free;
	}
	err = shca_mr_map(mr, iova);
	if (err)
		goto err_free;
	mr->iova = iova;
	mr->length = length;
	mr->access = access & ~IB_ACCESS_OPTIONAL;
	mr->valid = true;
	mr->ibmr.iova = iova;
	mr->ibmr.length = length;
	mr->ibmr.page_size = 1u << min(mr->block_shift, 31u);
	return shca_mr_finish(dev, mr);

err_free:
	shca_mr_free(dev, mr);
	return ERR_PTR(err);
}

#ifdef HAVE_REG_USER_MR_DMAH
struct ib_mr *shca_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
			       u64 iova, int access, struct ib_dmah *dmah,
			       struct ib_udata *udata)
{
	/* Hints for a bus; there is none. */
	if (dmah)
		return ERR_PTR(-EOPNOTSUPP);
	return shca_user_mr(ibpd, start, length, iova, access, udata);
}
#else
struct ib_mr *shca_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
			       u64 iova, int access, struct ib_udata *udata)
{
	return shca_user_mr(ibpd, start, length, iova, access, udata);
}
#endif

struct ib_mr *shca_get_dma_mr(struct ib_pd *ibpd, int access)
{
	struct shca_mr *mr = shca_mr_alloc(ibpd, SHCA_MR_DMA);

	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->length = U64_MAX;
	mr->access = access;
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
	if (max_num_sg > SHCA_LIM_FAST_PAGES)
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

int shca_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct shca_dev *dev = to_shca_dev(ibmr->device);
	struct shca_mr *mr = to_shca_mr(ibmr);

	/* No new access finds it; those under way are bounded copies. */
	rhashtable_remove_fast(&dev->mrs, &mr->node, shca_mr_params);
	shca_mr_unref(mr);
	wait_for_completion(&mr->unused);
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

/*
 * The consumer maps only while the region is not valid (it owns it then), so
 * no access looks at the blocks meanwhile.
 */
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

bool shca_mr_register(struct shca_dev *dev, struct ib_pd *pd, u32 index_key,
		      u32 new_key, u32 access)
{
	struct shca_mr *mr = shca_mr_find(dev, index_key);
	bool ok;

	if (!mr)
		return false;
	write_lock_bh(&mr->lock);
	ok = mr->type == SHCA_MR_FAST && mr->pd == pd && !mr->valid &&
	     new_key >> 8 == mr->index && mr->nr_blocks;
	if (ok) {
		mr->key = new_key;
		mr->ibmr.lkey = new_key;
		mr->ibmr.rkey = new_key;
		mr->access = access;
		mr->iova = mr->ibmr.iova;
		mr->length = mr->ibmr.length;
		mr->valid = true;
	}
	write_unlock_bh(&mr->lock);
	shca_mr_unref(mr);
	return ok;
}

bool shca_mr_invalidate(struct shca_dev *dev, struct ib_pd *pd, u32 key)
{
	struct shca_mr *mr = shca_mr_find(dev, key);
	bool ok;

	if (!mr)
		return false;
	write_lock_bh(&mr->lock);
	ok = mr->type == SHCA_MR_FAST && mr->pd == pd && mr->key == key;
	if (ok)
		mr->valid = false;
	write_unlock_bh(&mr->lock);
	shca_mr_unref(mr);
	return ok;
}
