/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Memory regions, and the one access check through which every local and remote
 * access goes.
 */
#ifndef SHCA_MR_H
#define SHCA_MR_H

#include <linux/completion.h>
#include <linux/refcount.h>
#include <linux/rhashtable-types.h>
#include <rdma/ib_verbs.h>

#include "../core/mem_ops.h"

struct shca_dev;
struct shca_odp;
struct shca_qp;

/** enum shca_mr_type - what kind of region */
enum shca_mr_type {
	SHCA_MR_USER,	/* pinned pages of a process, or memory mapped for it */
	SHCA_MR_DMA,	/* all kernel memory, kernel consumers only */
	SHCA_MR_FAST,	/* kernel pages, registered by a work request */
	SHCA_MR_WINDOW,	/* part of another region, opened by a work request */
	SHCA_MR_ODP,	/* memory of a process, looked up on demand */
	SHCA_MR_NULL,	/* reads as zeros, and what is written is dropped */
};

/* Beside enum ib_access_flags: as lkey for reading; windows do not have it. */
#define SHCA_MR_LOCAL_READ	(1u << 31)

/* Rights to write. */
#define SHCA_MR_WRITES	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_ATOMIC)

/**
 * struct shca_accessor - on whose behalf memory is reached
 * @serial:	of the QP, which no other QP ever has
 */
struct shca_accessor {
	struct shca_dev *dev;
	struct ib_pd *pd;
	u64 serial;
};

/**
 * struct shca_mr - a region of memory
 * @lock:	see @guard
 * @guard:	where @locked: held for reading from shca_mr_get() to
 *		shca_mr_put(), for writing while a work request changes the
 *		region, so that no access outlives an invalidation: @lock, or that of
 *		@odp, where nothing but the pages changes
 * @locked:	the region changes while it is registered; else nothing below
 *		does once it is published
 * @valid:	registered and not invalidated, bound and not unbound
 * @is_user:	a process's: it is counted
 * @replaced:	not in the table and not counted: another one is, which it will
 *		replace or has been replaced by
 * @max_blocks: @nr_blocks: SHCA_MR_FAST: length of @blocks, how many are set
 * @index:	key without its low byte; what the table is keyed by
 * @key:	lkey and rkey
 * @access:	enum ib_access_flags
 * @flags:	enum ib_access_flags as registered
 * @owner:	who may use the key: the address of the PD, or, a window of type
 *		2, the serial of the QP; never both
 * @iova: @length: what requests address
 * @start: @reg_iova: as registered, of a process's
 * @block_shift: log2 of the contiguous blocks
 * @offset:	of @iova in the first block
 * @blocks:	kernel addresses of the blocks
 * @release:	undoes @backing, which its memory depends on; NULL: there is none
 * @windows:	bound to this region; negative: it goes, none is bound any more
 * @parent:	window: the region that it is bound to, while @valid
 * @shift:	from the addresses of requests to, window: those of @parent;
 *		on-demand: those of the process
 * @odp:	on-demand: its pages
 * @mw_type:	window
 * @ref:	one for the registration, one for each access under way; accesses
 *		are bounded copies in atomic context, so dereg waits briefly
 */
struct shca_mr {
	struct ib_mr ibmr;
	struct rhash_head node;
	enum shca_mr_type type;
	rwlock_t lock;
	rwlock_t *guard;
	bool locked;
	bool valid;
	bool is_user;
	bool replaced;
	u32 max_blocks;
	u32 nr_blocks;
	u32 index;
	u32 key;
	u32 access;
	u32 flags;
	struct ib_pd *pd;
	u64 owner;
	u64 iova;
	u64 length;
	u64 start;
	u64 reg_iova;
	unsigned int block_shift;
	u64 offset;
	void **blocks;
	struct ib_umem *umem;
	void (*release)(void *backing);
	void *backing;
	atomic_t windows;
	struct shca_mr *parent;
	u64 shift;
	struct shca_odp *odp;
	enum ib_mw_type mw_type;
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
 * shca_mr_alloc() - a region that nobody can reach yet
 * shca_mr_alloc_uncounted() - one that will replace another
 * shca_mr_free() - one that nobody can reach any more
 *
 * Context: may sleep.
 * Return: with one reference; or ENOMEM (the second one: NULL).
 */
struct shca_mr *shca_mr_alloc(struct ib_pd *ibpd, enum shca_mr_type type);
struct shca_mr *shca_mr_alloc_uncounted(struct ib_pd *ibpd,
					enum shca_mr_type type);
void shca_mr_free(struct shca_dev *dev, struct shca_mr *mr);

/**
 * shca_mr_publish() - the last step of creation: give it a key; from here on
 * packets may find it
 *
 * Return: 0, ENOMEM or ENOSPC.
 */
int shca_mr_publish(struct shca_dev *dev, struct shca_mr *mr);

/**
 * shca_mr_retire() - the end: no access finds it, none is under way
 *
 * Context: may sleep, for as long as bounded copies take.
 */
void shca_mr_retire(struct shca_dev *dev, struct shca_mr *mr);

/**
 * shca_mr_replace() - @next takes the place and the key of @mr, from one access
 * to the next; when this returns, no access to @mr is under way
 * @next:	from shca_mr_alloc_uncounted()
 *
 * Context: may sleep, as shca_mr_retire().
 * Return: 0; EBUSY: windows are bound to @mr.  Nothing has changed then.
 */
int shca_mr_replace(struct shca_dev *dev, struct shca_mr *mr,
		    struct shca_mr *next);

/** shca_mr_unbind() - close a window, if it is open; its lock held */
void shca_mr_unbind(struct shca_mr *mw);

/**
 * shca_mr_find() - what is under the index of @key, whatever its state
 * shca_mr_unref() - the end of that; any context
 *
 * Return: with a reference; or NULL.
 */
struct shca_mr *shca_mr_find(struct shca_dev *dev, u32 key);
void shca_mr_unref(struct shca_mr *mr);

/** shca_mr_in_range() - is [@va, @va + @len) within the region? */
static inline bool shca_mr_in_range(const struct shca_mr *mr, u64 va, u64 len)
{
	/* Compared such that no sum can wrap. */
	return va >= mr->iova && len <= mr->length &&
	       va - mr->iova <= mr->length - len;
}

/** shca_mr_is_key() - is @key, which has found @mr, one for @pd or QP @serial? */
static inline bool shca_mr_is_key(const struct shca_mr *mr,
				  const struct ib_pd *pd, u64 serial, u32 key)
{
	return mr->key == key && mr->valid &&
	       (mr->owner == (uintptr_t)pd || mr->owner == serial);
}

/**
 * shca_mr_check() - may @who reach [@va, @va + @len) by @key, which has found @mr?
 *
 * Context: the region's lock held, if it is @locked.
 */
enum shca_mem_status shca_mr_check(const struct shca_mr *mr,
				   const struct shca_accessor *who, u32 key,
				   u32 access, u64 va, u64 len);

/**
 * shca_mr_suits() - would shca_mr_check() say SHCA_MEM_OK?  @mr may be NULL; for the
 * packets of a batch, which have a region that does not change
 */
static inline bool shca_mr_suits(const struct shca_mr *mr,
				 const struct ib_pd *pd, u64 serial, u32 key,
				 u32 access, u64 va, u64 len)
{
	return mr && shca_mr_is_key(mr, pd, serial, key) &&
	       (mr->access & access) == access && shca_mr_in_range(mr, va, len);
}

/**
 * shca_mr_may() - the same, of whatever @key finds; any context
 * @changes:	result: it may be gone, or not present, when it is accessed
 */
enum shca_mem_status shca_mr_may(const struct shca_accessor *who, u32 key,
				 u32 access, u64 va, u64 len, bool *changes);

/**
 * shca_mr_get() - the access check: may @who reach [@va, @va + @len) by @key?
 * @access:	enum ib_access_flags, all of which must be granted; or
 *		SHCA_MR_LOCAL_READ
 * @mr:		result, with a reference: shca_mr_put() it before leaving the
 *		atomic section
 *
 * Checks key and PD, rights, range, in that order (IBTA 10.6.3).
 * Context: any.  @len 0 asks about an address, one beyond the end included.
 * Return: SHCA_MEM_OK; SHCA_MEM_RETRY: an on-demand region, not all of it is
 * present; or what is wrong.
 */
enum shca_mem_status shca_mr_get(const struct shca_accessor *who, u32 key,
				 u32 access, u64 va, u64 len,
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
 * Not one that is locked, which may have to be invalidated meanwhile.
 * Return: as shca_mr_get(); shca_mr_put_kept() what was got.
 */
enum shca_mem_status shca_mr_get_kept(struct shca_mr **kept,
				      const struct shca_accessor *who, u32 key,
				      u32 access, u64 va, u64 len,
				      struct shca_mr **mr);
/** shca_mr_put_kept() - what shca_mr_get_kept() gave is no longer looked at */
static inline void shca_mr_put_kept(struct shca_mr **kept, struct shca_mr *mr)
{
	if (!kept || mr != *kept)
		shca_mr_put(mr);
}

/* The same for any kind of region. */
void *__shca_mr_next(const struct shca_mr *mr, u64 va, u32 *len);

/**
 * shca_mr_next() - the contiguous run of memory at @va
 * @len:	in: bytes wanted, not 0; out: bytes in the run
 *
 * Nothing is written to a SHCA_MR_NULL: its bytes are shared by all.
 *
 * The range was checked by shca_mr_get().
 */
static inline void *shca_mr_next(const struct shca_mr *mr, u64 va, u32 *len)
{
	u64 pos, room;

	if (unlikely(mr->type != SHCA_MR_USER))
		return __shca_mr_next(mr, va, len);
	pos = va - mr->iova + mr->offset;
	room = (1ull << mr->block_shift) -
	       (pos & ((1ull << mr->block_shift) - 1));
	if (room < *len)
		*len = room;
	return mr->blocks[pos >> mr->block_shift] +
	       (pos & ((1ull << mr->block_shift) - 1));
}

/**
 * shca_mr_register() - REG_MR: give a mapped region its key, rights, life
 * shca_mr_invalidate() - LOCAL_INV, or the peer's SEND_WITH_INV
 *
 * Context: any.
 * Return: false: not such a region or window of @who's, or in the wrong state.
 */
bool shca_mr_register(const struct shca_accessor *who, u32 index_key,
		      u32 new_key, u32 access);
bool shca_mr_invalidate(const struct shca_accessor *who, u32 key);

/* struct ib_device_ops */
struct ib_mr *shca_get_dma_mr(struct ib_pd *ibpd, int access);
struct ib_mr *shca_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type,
			    u32 max_num_sg);
int shca_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nr_sg,
		   unsigned int *offset);
int shca_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);

#endif
