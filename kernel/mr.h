/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Memory regions, and the one door through which every local and remote
 * access goes.
 */
#ifndef SHCA_MR_H
#define SHCA_MR_H

#include <linux/completion.h>
#include <linux/refcount.h>
#include <linux/rhashtable-types.h>
#include <rdma/ib_verbs.h>

#include "core/mem.h"

struct shca_dev;
struct shca_qp;

/** enum shca_mr_type - what kind of region */
enum shca_mr_type {
	SHCA_MR_USER,	/* pinned pages of a process */
	SHCA_MR_DMA,	/* all kernel memory, kernel consumers only */
	SHCA_MR_FAST,	/* kernel pages, registered by a work request */
};

/**
 * struct shca_mr - a region of memory
 * @lock:	SHCA_MR_FAST: held for reading from shca_mr_get() to
 *		shca_mr_put(), for writing while a work request changes the
 *		region, so that no access outlives an invalidation
 * @valid:	SHCA_MR_FAST: registered and not invalidated
 * @max_blocks: @nr_blocks: SHCA_MR_FAST: length of @blocks, how many are set
 * @index:	key without its low byte; what the table is keyed by
 * @key:	lkey and rkey
 * @access:	enum ib_access_flags
 * @iova: @length: what requests address
 * @block_shift: log2 of the contiguous blocks
 * @offset:	of @iova in the first block
 * @blocks:	kernel addresses of the blocks
 * @ref:	one for the registration, one for each access under way; accesses
 *		are bounded copies in atomic context, so dereg waits briefly
 */
struct shca_mr {
	struct ib_mr ibmr;
	struct rhash_head node;
	enum shca_mr_type type;
	rwlock_t lock;
	bool valid;
	u32 max_blocks;
	u32 nr_blocks;
	u32 index;
	u32 key;
	u32 access;
	struct ib_pd *pd;
	u64 iova;
	u64 length;
	unsigned int block_shift;
	u64 offset;
	void **blocks;
	struct ib_umem *umem;
	refcount_t ref;
	struct completion unused;
	struct rcu_head rcu;
};

static inline struct shca_mr *to_shca_mr(struct ib_mr *ibmr)
{
	return container_of(ibmr, struct shca_mr, ibmr);
}

/** shca_mr_table_init() - no regions yet.  Return: 0 or ENOMEM. */
int shca_mr_table_init(struct shca_dev *dev);
/** shca_mr_table_destroy() - the device is unregistered: none is left */
void shca_mr_table_destroy(struct shca_dev *dev);

/**
 * shca_mr_get() - the door: may @pd reach [@va, @va + @len) by @key?
 * @access:	enum ib_access_flags, all of which must be granted; 0: local read
 * @mr:		result, with a reference: shca_mr_put() it before leaving the
 *		atomic section
 *
 * Checks key and PD, rights, range, in that order (IBTA 10.6.3).
 * Context: any.  @len 0 asks about an address, one beyond the end included.
 */
enum shca_mem_status shca_mr_get(struct shca_dev *dev, struct ib_pd *pd,
				 u32 key, u32 access, u64 va, u64 len,
				 struct shca_mr **mr);
/**
 * shca_mr_start() - the first address of what @key names, 0 if that is nothing;
 * whether it may be reached is for shca_mr_get() to say
 */
u64 shca_mr_start(struct shca_dev *dev, u32 key);
/** shca_mr_put() - what shca_mr_get() gave is no longer looked at */
void shca_mr_put(struct shca_mr *mr);

/**
 * shca_mr_get_kept() - shca_mr_get() for the packets of a batch
 * @kept:	the region that one of them has reached; the first is kept. Give it
 *		back before leaving the atomic section, or pass NULL.
 *
 * Not a SHCA_MR_FAST, which may have to be invalidated meanwhile.
 * Return: as shca_mr_get(); shca_mr_put_kept() what was got.
 */
enum shca_mem_status shca_mr_get_kept(struct shca_mr **kept,
				      struct shca_dev *dev, struct ib_pd *pd,
				      u32 key, u32 access, u64 va, u64 len,
				      struct shca_mr **mr);
/** shca_mr_put_kept() - what shca_mr_get_kept() gave is no longer looked at */
void shca_mr_put_kept(struct shca_mr **kept, struct shca_mr *mr);

/**
 * shca_mr_next() - the contiguous run of memory at @va
 * @len:	in: bytes wanted, not 0; out: bytes in the run
 *
 * The range was checked by shca_mr_get().
 */
void *shca_mr_next(const struct shca_mr *mr, u64 va, u32 *len);

/**
 * shca_mr_register() - REG_MR: give a mapped region its key, rights, life
 * shca_mr_invalidate() - LOCAL_INV, or the peer's SEND_WITH_INV
 *
 * Context: any.
 * Return: false: not such a region of @pd, or in the wrong state.
 */
bool shca_mr_register(struct shca_dev *dev, struct ib_pd *pd, u32 index_key,
		      u32 new_key, u32 access);
bool shca_mr_invalidate(struct shca_dev *dev, struct ib_pd *pd, u32 key);

/* struct ib_device_ops */
struct ib_mr *shca_get_dma_mr(struct ib_pd *ibpd, int access);
struct ib_mr *shca_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type,
			    u32 max_num_sg);
int shca_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nr_sg,
		   unsigned int *offset);
#ifdef HAVE_REG_USER_MR_DMAH
struct ib_mr *shca_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
			       u64 iova, int access, struct ib_dmah *dmah,
			       struct ib_udata *udata);
#else
struct ib_mr *shca_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
			       u64 iova, int access, struct ib_udata *udata);
#endif
int shca_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);

#endif
