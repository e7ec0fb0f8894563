// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Memory regions of processes: registration of pinned pages, and rereg_mr.
 *
 * rereg_mr creates another region, and replaces the old one under the same key, atomically. A
 * packet in flight finds the old region or the new one, never a mix. If anything fails
 * before, the old one is unchanged. If the translation stays, the pages move to the new
 * region. They are not looked up again, because the process may have remapped these
 * addresses.
 */
#include "user_mr.h"

#include <linux/mm.h>
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

#include "../base/compat.h"
#include "../base/dev.h"
#include "../base/udata.h"
#include "../inject/fault.h"
#include "mr.h"
#include "odp.h"

#define SHCA_MR_ACCESS (SHCA_MR_RIGHTS | IB_ZERO_BASED | IB_ACCESS_ON_DEMAND | \
			IB_ACCESS_HUGETLB | IB_ACCESS_OPTIONAL)

/* How ibv_reg_mr() asks for all memory of the process. */
static bool shca_is_implicit(u64 start, u64 length, u64 iova, int access)
{
	return access & IB_ACCESS_ON_DEMAND && !start && !iova &&
	       length == U64_MAX;
}

static int shca_user_mr_check(const struct shca_dev *dev, u64 start, u64 length,
			      u64 iova, int access)
{
	if (access & ~SHCA_MR_ACCESS ||
	    (access & IB_ACCESS_ON_DEMAND && shca_lacks(dev, ODP)) ||
	    (access & IB_ACCESS_MW_BIND && shca_lacks(dev, MW)) ||
	    (access & IB_ACCESS_REMOTE_ATOMIC && shca_lacks(dev, ATOMICS)))
		return -EOPNOTSUPP;
	if (shca_is_implicit(start, length, iova, access))
		return 0;
	if (start + length < start)
		return -EINVAL;
	if (length > shca_limit(dev, MR_SIZE) || iova + length < iova)
		return -EINVAL;
	/* Length 0 is valid (messages of length 0 use it), but has no pages to fault in. */
	return !length && access & IB_ACCESS_ON_DEMAND ? -EINVAL : 0;
}

/* Requests address a region from @iova on, or from 0 on if it is zero-based. */
static void shca_user_mr_init(struct shca_mr *mr, u64 start, u64 length,
			      u64 iova, int access)
{
	mr->start = start;
	mr->reg_iova = iova;
	mr->iova = access & IB_ZERO_BASED ? 0 : iova;
	mr->length = length;
	mr->flags = access;
	mr->access = (access & SHCA_MR_RIGHTS) | SHCA_MR_LOCAL_READ;
	mr->valid = true;
	mr->ibmr.iova = mr->iova;
	mr->ibmr.length = length;
}

static int shca_user_mr_map(struct shca_mr *mr, u64 iova)
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
	mr->ibmr.page_size = 1u << min(mr->block_shift, 31u);
	/* Virtual DMA: a DMA address is the kernel address of the page. */
	rdma_umem_for_each_dma_block(mr->umem, &biter, pgsz)
		mr->blocks[i++] =
			(void *)(uintptr_t)rdma_block_iter_dma_address(&biter);
	return 0;
}

/* Pin [@start, @start + @length) for @mr, or register it for on-demand paging. */
static int shca_user_mr_fill(struct shca_mr *mr, u64 start, u64 length,
			     u64 iova, int access)
{
	if (access & IB_ACCESS_ON_DEMAND) {
		mr->shift = start - (access & IB_ZERO_BASED ? 0 : iova);
		mr->ibmr.page_size = PAGE_SIZE;
		return shca_odp_init(mr, start, length,
				     ib_access_writable(access));
	}
	if (!length) {
		/* ib_umem_get() refuses length 0 if @start is page-aligned. */
		mr->ibmr.page_size = PAGE_SIZE;
		return 0;
	}
	mr->umem = ib_umem_get(mr->pd->device, start, length, access);
	if (IS_ERR(mr->umem))
		return PTR_ERR(mr->umem);
	return shca_user_mr_map(mr, iova);
}

/* For local requests only: peers get no access. */
static void shca_null_mr_init(struct shca_mr *mr)
{
	mr->length = U64_MAX;
	mr->access = IB_ACCESS_LOCAL_WRITE | SHCA_MR_LOCAL_READ;
	mr->valid = true;
	mr->ibmr.length = U64_MAX;
	mr->ibmr.page_size = PAGE_SIZE;
}

static int shca_user_mr_type(const struct shca_dev *dev, u64 start, u64 length,
			     u64 iova, int access,
			     const struct shca_reg_mr_req *req)
{
	int err;

	if (req->comp_mask || req->flags & ~SHCA_REG_MR_NULL)
		return -EINVAL;
	if (req->flags & SHCA_REG_MR_NULL)
		return start || iova || access ? -EINVAL : SHCA_MR_NULL;
	err = shca_user_mr_check(dev, start, length, iova, access);
	if (err)
		return err;
	return access & IB_ACCESS_ON_DEMAND ? SHCA_MR_ODP : SHCA_MR_USER;
}

struct ib_mr *shca_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
			       u64 iova, int access, struct ib_dmah *dmah,
			       struct ib_udata *udata)
{
	struct shca_dev *dev = to_shca_dev(ibpd->device);
	struct shca_reg_mr_req req;
	struct shca_mr *mr;
	int err, type;

#ifdef HAVE_REG_USER_MR_DMAH
	/* DMA handles are for pinned memory; see dmah.h. */
	if (dmah && access & IB_ACCESS_ON_DEMAND)
		return ERR_PTR(-EINVAL);
#endif
	err = shca_fault_verb(ibpd->device, SHCA_FAULT_VERB_REG_MR);
	if (err)
		return ERR_PTR(err);
	err = shca_udata_in(udata, &req, sizeof(req));
	if (err)
		return ERR_PTR(err);
	type = shca_user_mr_type(to_shca_dev(ibpd->device), start, length,
				 iova, access, &req);
	if (type < 0)
		return ERR_PTR(type);
	mr = shca_mr_alloc(ibpd, type);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	if (type == SHCA_MR_NULL) {
		shca_null_mr_init(mr);
	} else {
		err = shca_user_mr_fill(mr, start, length, iova, access);
		if (err) {
			shca_mr_free(dev, mr);
			return ERR_PTR(err);
		}
		shca_user_mr_init(mr, start, length, iova, access);
	}
	return shca_mr_finish(dev, mr);
}

/* ---- mapped memory ---------------------------------------------------------------- */

/* One block, longer than any region. */
#define SHCA_MAPPED_SHIFT	62

struct ib_mr *shca_mapped_mr(struct ib_pd *ibpd, const struct shca_mapped *mem)
{
	struct shca_dev *dev = to_shca_dev(ibpd->device);
	struct shca_mr *mr;

	mr = shca_mr_alloc(ibpd, SHCA_MR_USER);
	if (IS_ERR(mr)) {
		mem->release(mem->backing);
		return ERR_CAST(mr);
	}
	mr->backing = mem->backing;
	mr->release = mem->release;
	mr->blocks = kmalloc(sizeof(*mr->blocks), GFP_KERNEL_ACCOUNT);
	if (!mr->blocks) {
		shca_mr_free(dev, mr);
		return ERR_PTR(-ENOMEM);
	}
	mr->blocks[0] = mem->va;
	mr->block_shift = SHCA_MAPPED_SHIFT;
	mr->ibmr.page_size = PAGE_SIZE;
	shca_user_mr_init(mr, 0, mem->length, mem->iova, mem->access);
	return shca_mr_finish(dev, mr);
}

/* ---- rereg_mr ------------------------------------------------------------------- */

/*
 * Move the pages to @next with other rights. Pages that were pinned for reading only may be
 * shared with another process or a file, so writing needs a new pin, in the process that owns
 * them.
 */
static int shca_rereg_access(struct shca_mr *mr, struct shca_mr *next,
			     int access)
{
	if (mr->length && ib_access_writable(access) && !mr->umem->writable)
		return shca_user_mr_fill(next, mr->start, mr->length,
					 mr->reg_iova, access);
	next->umem = mr->umem;
	next->blocks = mr->blocks;
	next->block_shift = mr->block_shift;
	next->offset = mr->offset;
	next->ibmr.page_size = mr->ibmr.page_size;
	return 0;
}

/* If both regions refer to the same pages, they are the winner's. */
static void shca_rereg_finish(struct shca_mr *loser, const struct shca_mr *winner)
{
	if (!loser->blocks || loser->blocks != winner->blocks)
		return;
	loser->blocks = NULL;
	loser->umem = NULL;
}

struct ib_mr *shca_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				 u64 length, u64 iova, int access,
				 struct ib_pd *pd, struct ib_udata *udata)
{
	struct shca_dev *dev = to_shca_dev(ibmr->device);
	struct shca_mr *mr = to_shca_mr(ibmr);
	struct shca_mr *next;
	int err;

	err = shca_fault_verb(ibmr->device, SHCA_FAULT_VERB_REREG_MR);
	if (err)
		return ERR_PTR(err);
	if (!ib_is_udata_cleared(udata, 0, udata->inlen))
		return ERR_PTR(-EINVAL);
	if (!(flags & IB_MR_REREG_ACCESS))
		access = mr->flags;
	/* libibverbs and the RDMA core expect that memory stays pinned, on demand or mapped. */
	if ((mr->type != SHCA_MR_ODP && !mr->umem && mr->length) ||
	    !(access & IB_ACCESS_ON_DEMAND) != (mr->type != SHCA_MR_ODP))
		return ERR_PTR(-EOPNOTSUPP);
	if (!(flags & IB_MR_REREG_TRANS)) {
		start = mr->start;
		iova = mr->reg_iova;
		length = mr->length;
	}
	err = shca_user_mr_check(to_shca_dev(ibmr->device), start, length,
				 iova, access);
	if (err)
		return ERR_PTR(err);
	next = shca_mr_alloc_uncounted(pd, mr->type);
	if (!next)
		return ERR_PTR(-ENOMEM);
	if (flags & IB_MR_REREG_TRANS || mr->type == SHCA_MR_ODP)
		err = shca_user_mr_fill(next, start, length, iova, access);
	else
		err = shca_rereg_access(mr, next, access);
	if (err)
		goto err_free;
	shca_user_mr_init(next, start, length, iova, access);
	err = shca_mr_replace(dev, mr, next);
	if (err)
		goto err_free;
	shca_rereg_finish(mr, next);
	return &next->ibmr;	/* the RDMA core deregisters the old region */

err_free:
	shca_rereg_finish(next, mr);
	shca_mr_free(dev, next);
	return ERR_PTR(err);
}
