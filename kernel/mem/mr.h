/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Memory regions, and the access check for all local and remote accesses. */
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

enum shca_mr_type {
	SHCA_MR_USER,	/* pinned pages of a process, or memory mapped for it */
	SHCA_MR_DMA,	/* all kernel memory; for kernel consumers only */
	SHCA_MR_FAST,	/* kernel pages, registered by a work request */
	SHCA_MR_WINDOW,	/* part of another region, bound by a work request */
	SHCA_MR_ODP,	/* memory of a process, faulted in on demand */
	SHCA_MR_NULL,	/* reads as zeros, ignores writes */
};

/* Right to read by lkey. Complements enum ib_access_flags; windows do not have it. */
#define SHCA_MR_LOCAL_READ	(1u << 31)

/* access rights that permit writes */
#define SHCA_MR_WRITES	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_ATOMIC)

/**
 * struct shca_accessor - QP and PD on whose behalf memory is accessed
 * @dev:	device of the keys
 * @pd:		PD of the region, unless the QP owns the key
 * @serial:	serial number of the QP, unique for all time
 */
struct shca_accessor {
	struct shca_dev *dev;
	struct ib_pd *pd;
	u64 serial;
};

/**
 * struct shca_mr - a memory region or window
 * @ibmr:	the RDMA core's part; unused in a window
 * @node:	in struct shca_dev.mrs
 * @type:	constant
 * @lock:	see @guard
 * @guard:	@lock, or the lock of @odp if only the pages change. With @locked it is
 *		read-locked from shca_mr_get() to shca_mr_put(), and write-locked while a work
 *		request changes the region. Therefore no access outlives an invalidation
 * @locked:	the region can change while it is registered. Otherwise all members below
 *		except @valid (shca_mr_revoke()) are constant after shca_mr_publish()
 * @valid:	region: registered and not invalidated; window: bound
 * @is_user:	belongs to a process, and is counted
 * @replaced:	neither in the table nor counted: it will replace another region, or one has
 *		replaced it
 * @max_blocks:	SHCA_MR_FAST: capacity of @blocks
 * @nr_blocks:	SHCA_MR_FAST: used entries of @blocks
 * @index:	key without its low byte; index in the table
 * @key:	lkey and rkey
 * @access:	enum ib_access_flags
 * @flags:	enum ib_access_flags as registered
 * @pd:		its PD
 * @owner:	owner of the key: the address of the PD, or for a window of type 2 the serial
 *		of the QP
 * @iova:	first address that requests use
 * @length:	bytes from there on
 * @start:	first address of the process, as registered
 * @reg_iova:	@iova as registered
 * @block_shift: log2 of the block size
 * @offset:	of @iova in the first block
 * @blocks:	kernel addresses of the blocks
 * @umem:	pinned pages of a process, or NULL
 * @release:	releases @backing; or NULL
 * @backing:	what the memory depends on
 * @windows:	windows bound to this region; negative once it is being deregistered, so that
 *		no window can be bound
 * @parent:	window: region that it is bound to while @valid
 * @shift:	offset added to request addresses; window: to get those of @parent; on-demand:
 *		those of the process
 * @odp:	on-demand: state of its pages
 * @mw_type:	window: its type
 * @ref:	one for the registration, one per access in progress. Accesses are bounded
 *		copies in atomic context, so deregistration waits briefly; with delayed
 *		placement up to late_us
 * @unused:	completes when @ref is 0
 * @rcu:	defers the free: the table is read under RCU
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

/* Create the empty table of regions. Return: 0 or -ENOMEM. */
int shca_mr_table_init(struct shca_dev *dev);

/*
 * shca_mr_alloc() - allocate a region, without a key
 * shca_mr_alloc_uncounted() - allocate a region that will replace another
 * shca_mr_free() - free a region that is not in the table
 *
 * Context: may sleep.
 * Return: a region with one reference, or -ENOMEM (shca_mr_alloc_uncounted(): NULL).
 */
struct shca_mr *shca_mr_alloc(struct ib_pd *ibpd, enum shca_mr_type type);
struct shca_mr *shca_mr_alloc_uncounted(struct ib_pd *ibpd,
					enum shca_mr_type type);
void shca_mr_free(struct shca_dev *dev, struct shca_mr *mr);

/*
 * The last step of creation: give the region a key; on failure, free it.
 * Return: 0 (shca_mr_finish(): the region), -ENOMEM or -ENOSPC.
 */
int shca_mr_publish(struct shca_dev *dev, struct shca_mr *mr);
struct ib_mr *shca_mr_finish(struct shca_dev *dev, struct shca_mr *mr);

/* Remove a region from the table and wait for its accesses, which are bounded. May sleep. */
void shca_mr_retire(struct shca_dev *dev, struct shca_mr *mr);

/*
 * Give @next the place and the key of @mr, atomically. No access to @mr is in progress at the
 * return.
 * @next:	from shca_mr_alloc_uncounted()
 * Context: may sleep, as shca_mr_retire().
 * Return: 0, or -EBUSY if windows are bound to @mr; then nothing has changed.
 */
int shca_mr_replace(struct shca_dev *dev, struct shca_mr *mr,
		    struct shca_mr *next);

/* Close a window if it is open; the caller holds its lock. */
void shca_mr_unbind(struct shca_mr *mw);

/*
 * shca_mr_find() - look up a region by the index of @key, in any state
 * shca_mr_unref() - drop the reference of shca_mr_find(); any context
 *
 * Return: the region with a reference, or NULL.
 */
struct shca_mr *shca_mr_find(struct shca_dev *dev, u32 key);
void shca_mr_unref(struct shca_mr *mr);

/* Is [@va, @va + @len) within the region? */
static inline bool shca_mr_in_range(const struct shca_mr *mr, u64 va, u64 len)
{
	/* This comparison cannot wrap. */
	return va >= mr->iova && len <= mr->length &&
	       va - mr->iova <= mr->length - len;
}

/*
 * The access check: may @who access [@va, @va + @len) of @mr, found by @key? Checks key and
 * PD, rights, range, in that order (IBTA 10.6.3). scripts/layers admits no callers but
 * shca_mr_get() and shca_mr_get_kept(). Context: holds the region's lock if it is @locked.
 */
static inline enum shca_mem_status
shca_mr_check(const struct shca_mr *mr, const struct shca_accessor *who,
	      u32 key, u32 access, u64 va, u64 len)
{
	/* READ_ONCE(): shca_mr_revoke() clears it without a lock. */
	if (mr->key != key || !READ_ONCE(mr->valid) ||
	    (mr->owner != (uintptr_t)who->pd && mr->owner != who->serial))
		return SHCA_MEM_KEY;
	if ((mr->access & access) != access)
		return SHCA_MEM_ACCESS;
	if (!shca_mr_in_range(mr, va, len))
		return SHCA_MEM_RANGE;
	return SHCA_MEM_OK;
}

/* First address of the region that @key names, or 0. No access check. */
u64 shca_mr_start(struct shca_dev *dev, u32 key);

/**
 * shca_mr_get() - the only way to a region's memory: may @who access [@va, @va + @len) by
 * @key?
 * @who:	the accessing QP
 * @key:	lkey or rkey
 * @access:	enum ib_access_flags, all of which must be granted; or SHCA_MR_LOCAL_READ
 * @va:		first address, as requests name it
 * @len:	bytes; 0 checks an address, which may be the end of the region
 * @copies:	the bytes are copied now: pages of an on-demand region must be present
 * @mr:		result, with a reference: shca_mr_put() it before leaving the atomic section
 *
 * Context: any.
 * Return: SHCA_MEM_OK; SHCA_MEM_RETRY, with @copies, if pages are not present or are about to
 * be invalidated; or another status.
 */
enum shca_mem_status shca_mr_get(const struct shca_accessor *who, u32 key,
				 u32 access, u64 va, u64 len, bool copies,
				 struct shca_mr **mr);
void shca_mr_put(struct shca_mr *mr);

/*
 * shca_mr_get() to copy, with a cache of the region that was accessed last.
 * @kept:	region that the first packet of a batch accessed, or NULL
 * @mr:		result: shca_mr_put_kept() it, and shca_mr_put() the kept one, before leaving
 *		the atomic section
 *
 * Regions that can change (@locked) are not kept, because a later packet may invalidate them.
 * A kept region is constant, so the second check refuses for the same reason. The second
 * look-up may find the region that has replaced the kept one (shca_rereg_user_mr()); the
 * replacement waits until the caller puts the kept one.
 * Context: any.
 */
static inline enum shca_mem_status
shca_mr_get_kept(struct shca_mr **kept, const struct shca_accessor *who, u32 key,
		 u32 access, u64 va, u64 len, struct shca_mr **mr)
{
	enum shca_mem_status status;

	if (kept && *kept &&
	    likely(shca_mr_check(*kept, who, key, access, va, len) == SHCA_MEM_OK)) {
		*mr = *kept;
		return SHCA_MEM_OK;
	}
	status = shca_mr_get(who, key, access, va, len, true, mr);
	if (status == SHCA_MEM_OK && kept && !*kept && !(*mr)->locked)
		*kept = *mr;
	return status;
}

static inline void shca_mr_put_kept(struct shca_mr **kept, struct shca_mr *mr)
{
	if (!kept || mr != *kept)
		shca_mr_put(mr);
}

/* shca_mr_next() of all types */
void *__shca_mr_next(const struct shca_mr *mr, u64 va, u32 *len);

/**
 * shca_mr_next() - the contiguous run of memory at @va
 * @mr:		from shca_mr_get(), which has checked the range
 * @va:		as requests name it
 * @len:	in: bytes wanted, not 0; out: bytes in the run
 *
 * The caller must not write to a SHCA_MR_NULL: all such regions share their bytes.
 * Return: its kernel address.
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

/* Copy to @to from @from, or from @buf if @from is NULL. Both accesses are in progress. */
void shca_mr_copy(const struct shca_mr *to, u64 to_va, const struct shca_mr *from,
		  u64 from_va, const u8 *buf, u32 len);

/*
 * shca_mr_register() - REG_MR: give a mapped region its key and rights
 * shca_mr_invalidate() - LOCAL_INV, or SEND_WITH_INV of the peer
 *
 * Context: any.
 * Return: false if @who has no such region or window, or its state is wrong.
 */
bool shca_mr_register(const struct shca_accessor *who, u32 index_key,
		      u32 new_key, u32 access);
bool shca_mr_invalidate(const struct shca_accessor *who, u32 key);

/**
 * shca_mr_revoke() - make the key of a region or window invalid (fault injection)
 * @who:	the region must be of its PD
 * @key:	lkey or rkey
 *
 * A region of a process keeps its memory until it is deregistered, and ibv_rereg_mr() makes
 * it valid again. Context: softirq or bottom halves off; no region's lock held.
 */
void shca_mr_revoke(const struct shca_accessor *who, u32 key);

/* operations in struct ib_device_ops */
struct ib_mr *shca_get_dma_mr(struct ib_pd *ibpd, int access);
struct ib_mr *shca_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type,
			    u32 max_num_sg);
int shca_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nr_sg,
		   unsigned int *offset);
int shca_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);

#endif
