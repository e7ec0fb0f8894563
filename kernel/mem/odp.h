/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* On-demand paging: regions whose pages are looked up when they are needed. */
#ifndef SHCA_ODP_H
#define SHCA_ODP_H

#include <linux/errno.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "../core/mem_ops.h"
#include "mr.h"

struct shca_mr;
struct shca_pager;
struct uverbs_attr_bundle;

/**
 * struct shca_odp_want - memory that was not there when it was needed
 * @who: @key: @access: @va: @len: as shca_mr_get() was asked
 * @span:	bytes from @va on that will be needed soon, at least @len
 */
struct shca_odp_want {
	struct shca_accessor who;
	u32 key;
	u32 access;
	u64 va;
	u64 len;
	u64 span;
};

/**
 * struct shca_odp_aim - the same, as pages
 * @odp:	of these, with a reference; NULL: there is nothing to fetch
 * @first: @last: what is needed
 * @ahead:	last page of what is fetched with it if it can be, at least @last
 */
struct shca_odp_aim {
	struct shca_odp *odp;
	unsigned long first;
	unsigned long last;
	unsigned long ahead;
	bool write;
};

/**
 * struct shca_odp - the pages of an on-demand region
 * @ref:	of the region, and of each fetch and advice
 * @lock:	that of the region (struct shca_mr.guard), which it outlives
 * @pager:	whose memory
 * @first: @last: pages of it
 * @dead:	the region is gone: nothing more is fetched
 * @mutex:	serialises look-ups; not held while a page is faulted in
 * @chunks:	by address; changed under @mutex, and erased with @lock held as well
 * @reap:	the end, once nobody refers to it
 */
struct shca_odp {
	refcount_t ref;
	rwlock_t lock;
	struct shca_pager *pager;
	unsigned long first;
	unsigned long last;
	bool writable;
	bool dead;
	struct mutex mutex;
	struct xarray chunks;
	struct work_struct reap;
};

#ifdef CONFIG_MMU_NOTIFIER

/** SHCA_ODP_CAP - enum ib_kernel_cap_flags of the device */
#define SHCA_ODP_CAP	IBK_ON_DEMAND_PAGING

/**
 * shca_odp_init() - @mr is to reach the current process's memory from @addr on
 * @length:	U64_MAX: all of it
 *
 * Context: process.  Undone by shca_odp_destroy().
 * Return: 0 or ENOMEM.
 */
int shca_odp_init(struct shca_mr *mr, u64 addr, u64 length, bool writable);

/**
 * shca_odp_destroy() - no access to @mr is under way
 *
 * Does not wait for fetches that are: they hold what they need.
 */
void shca_odp_destroy(struct shca_mr *mr);

/** shca_odp_put() - any context */
void shca_odp_put(struct shca_odp *odp);

/** shca_odp_page() - the page that is behind address @va of a region */
static inline unsigned long shca_odp_page(const struct shca_mr *mr, u64 va)
{
	return (va + mr->shift) >> PAGE_SHIFT;
}

/**
 * shca_odp_present() - can [@va, @va + @len) be reached now?
 *
 * Context: the region's guard held, and as long as it is the answer holds.
 */
bool shca_odp_present(const struct shca_mr *mr, u64 va, u64 len, bool write);

/** shca_odp_next() - as shca_mr_next() */
void *shca_odp_next(const struct shca_mr *mr, u64 va, u32 *len);

/**
 * shca_odp_aim() - which pages are wanted, if @want may still be had
 *
 * Context: any but hard interrupts.
 * Return: SHCA_MEM_OK, with a reference in @aim; or what the access has to fail
 * with.
 */
enum shca_mem_status shca_odp_aim(const struct shca_odp_want *want,
				  struct shca_odp_aim *aim);

/**
 * shca_odp_alloc() - zeroed memory for what fetches @aim
 *
 * Context: any but hard interrupts.
 */
void *shca_odp_alloc(const struct shca_odp_aim *aim, size_t size);

/**
 * shca_odp_queue() - have @work fetch @aim
 *
 * Context: any.  The reference in @aim is kept by whoever executes @work.
 */
void shca_odp_queue(const struct shca_odp_aim *aim, struct work_struct *work);

/**
 * shca_odp_fetch() - make @aim present
 *
 * Context: as shca_odp_queue() has it; may sleep for ever.
 * Return: SHCA_MEM_OK (and it may be gone again by now), or what the access has
 * to fail with.
 */
enum shca_mem_status shca_odp_fetch(const struct shca_odp_aim *aim);

/**
 * shca_odp_fetch_pages() - pages @page to @last of the region
 * @fault:	also those that the process does not have in memory
 *
 * Context: a worker of the pager; may sleep for ever.
 * Return: 0; EBUSY: not now; ENOENT: the region is gone; EPERM: @write, and the
 * process may not; EFAULT, ENOMEM, EHWPOISON.
 */
int shca_odp_fetch_pages(struct shca_odp *odp, unsigned long page,
			 unsigned long last, bool write, bool fault);

/** shca_odp_module_init() - undone by shca_odp_module_exit() */
int shca_odp_module_init(void);
void shca_odp_module_exit(void);

/** shca_odp_caps() - what query_device tells */
void shca_odp_caps(struct ib_odp_caps *caps);

#else

/*
 * A kernel that does not tell what becomes of a process's memory: the device does
 * not claim it, so the core refuses such regions, and there are none.
 */
#define SHCA_ODP_CAP	0

static inline int shca_odp_init(struct shca_mr *mr, u64 addr, u64 length,
				bool writable)
{
	return -EOPNOTSUPP;
}

static inline void shca_odp_destroy(struct shca_mr *mr)
{
}

static inline void shca_odp_put(struct shca_odp *odp)
{
}

static inline bool shca_odp_present(const struct shca_mr *mr, u64 va, u64 len,
				    bool write)
{
	return false;
}

static inline void *shca_odp_next(const struct shca_mr *mr, u64 va, u32 *len)
{
	return NULL;
}

static inline enum shca_mem_status
shca_odp_aim(const struct shca_odp_want *want, struct shca_odp_aim *aim)
{
	return SHCA_MEM_KEY;
}

static inline void *shca_odp_alloc(const struct shca_odp_aim *aim, size_t size)
{
	return NULL;
}

static inline void shca_odp_queue(const struct shca_odp_aim *aim,
				  struct work_struct *work)
{
}

static inline enum shca_mem_status
shca_odp_fetch(const struct shca_odp_aim *aim)
{
	return SHCA_MEM_KEY;
}

static inline int shca_odp_module_init(void)
{
	return 0;
}

static inline void shca_odp_module_exit(void)
{
}

static inline void shca_odp_caps(struct ib_odp_caps *caps)
{
}

#endif

#endif
