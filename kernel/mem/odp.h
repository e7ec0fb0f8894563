/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* On-demand paging: regions whose pages are faulted in when they are accessed. */
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
 * struct shca_odp_want - memory that was absent at an access
 * @who:	argument of shca_mr_get(), as the next four
 * @key:	lkey or rkey
 * @access:	enum ib_access_flags
 * @va:		first address
 * @len:	bytes
 * @span:	bytes from @va on to be accessed soon, at least @len
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
 * struct shca_odp_aim - pages to fetch
 * @odp:	their region, with a reference; NULL if there is nothing to fetch
 * @first:	first page that is needed
 * @last:	last one
 * @ahead:	last page to prefetch, at least @last
 * @write:	they will be written to
 */
struct shca_odp_aim {
	struct shca_odp *odp;
	unsigned long first;
	unsigned long last;
	unsigned long ahead;
	bool write;
};

/*
 * The pages of an on-demand region.
 * @ref:	one for the region, one per fetch and advice
 * @lock:	lock of the region (struct shca_mr.guard); it outlives the region
 * @pager:	pager of the process
 * @first: @last:	range of the region, in pages of the process
 * @dead:	the region is gone: fetches stop
 * @mutex:	serialises look-ups; not held while a page is faulted in
 * @chunks:	struct shca_odp_chunk by index; changed under @mutex, erased under @mutex and
 *		@lock
 * @reap:	frees it after the last reference
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

/*
 * Map @mr to the current process's memory from @addr on.
 * @length:	U64_MAX for all of it
 * Context: process. Undone by shca_odp_destroy().
 * Return: 0, or an error of shca_pager_get().
 */
int shca_odp_init(struct shca_mr *mr, u64 addr, u64 length, bool writable);

/* No access to @mr is in progress. Fetches may be, with references of their own. */
void shca_odp_destroy(struct shca_mr *mr);

/* Drop a reference; any context. */
void shca_odp_put(struct shca_odp *odp);

static inline unsigned long shca_odp_page(const struct shca_mr *mr, u64 va)
{
	return (va + mr->shift) >> PAGE_SHIFT;
}

/* The answer is valid until the region's guard, which the caller holds, is released. */
bool shca_odp_present(const struct shca_mr *mr, u64 va, u64 len, bool write);

/* shca_mr_next() for on-demand regions. */
void *shca_odp_next(const struct shca_mr *mr, u64 va, u32 *len);

/*
 * Find the pages that @want needs, and check access again.
 * Context: any but hard interrupts.
 * Return: SHCA_MEM_OK, with a reference in @aim; or the status of the access.
 */
enum shca_mem_status shca_odp_aim(const struct shca_odp_want *want,
				  struct shca_odp_aim *aim);

/* Allocate a zeroed work item that fetches @aim. Context: any but hard interrupts. */
void *shca_odp_alloc(const struct shca_odp_aim *aim, size_t size);

/* Queue @work, which fetches @aim. Context: any. The reference in @aim passes to @work. */
void shca_odp_queue(const struct shca_odp_aim *aim, struct work_struct *work);

/*
 * Make the pages of @aim present.
 * Context: a worker, see shca_odp_queue(); may sleep forever.
 * Return: SHCA_MEM_OK (the pages may be gone again by now), or the status of the access.
 */
enum shca_mem_status shca_odp_fetch(const struct shca_odp_aim *aim);

/*
 * Fetch pages @page to @last of the region.
 * @fault:	fault in pages that are not in memory, too
 * Context: a worker of the pager; may sleep forever.
 * Return: 0; -EBUSY if the module is being removed; -ENOENT if the region is gone; -EPERM if
 * the process may not @write; -EFAULT, -ENOMEM, -EHWPOISON.
 */
int shca_odp_fetch_pages(struct shca_odp *odp, unsigned long page,
			 unsigned long last, bool write, bool fault);

/* Undone by shca_odp_module_exit(). */
int shca_odp_module_init(void);
void shca_odp_module_exit(void);

void shca_odp_caps(struct ib_odp_caps *caps);

#endif
