/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* On-demand paging: regions whose pages are looked up when they are needed. */
#ifndef SHCA_ODP_H
#define SHCA_ODP_H

#include <linux/errno.h>
#include <rdma/ib_verbs.h>

#include "core/mem.h"
#include "mr.h"

struct shca_mr;
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

#ifdef CONFIG_HMM_MIRROR

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

/** shca_odp_destroy() - no access to @mr is under way; may sleep */
void shca_odp_destroy(struct shca_mr *mr);

/**
 * shca_odp_present() - can [@va, @va + @len) be reached now?
 *
 * Context: the region's lock held, and as long as it is the answer holds.
 */
bool shca_odp_present(const struct shca_mr *mr, u64 va, u64 len, bool write);

/** shca_odp_next() - as shca_mr_next() */
void *shca_odp_next(const struct shca_mr *mr, u64 va, u32 *len);

/**
 * shca_odp_fetch() - make present what is wanted
 *
 * Context: process, no locks.
 * Return: SHCA_MEM_OK (and it may be gone again by now), or what the access has
 * to fail with.
 */
enum shca_mem_status shca_odp_fetch(const struct shca_odp_want *want);

/** shca_odp_module_init() - the worker; undone by shca_odp_module_exit() */
int shca_odp_module_init(void);
void shca_odp_module_exit(void);

/** shca_odp_queue() - have @work fetch pages; it may sleep for long */
void shca_odp_queue(struct work_struct *work);

/** shca_odp_caps() - what query_device tells */
void shca_odp_caps(struct ib_odp_caps *caps);

/* struct ib_device_ops */
int shca_advise_mr(struct ib_pd *ibpd, enum ib_uverbs_advise_mr_advice advice,
		   u32 flags, struct ib_sge *sg_list, u32 num_sge,
		   struct uverbs_attr_bundle *attrs);

#else

/*
 * A kernel that cannot look at a process's memory in this way: the device does not
 * claim it, so the core refuses such regions, and there are none.
 */
#define SHCA_ODP_CAP	0
#define shca_advise_mr	NULL

static inline int shca_odp_init(struct shca_mr *mr, u64 addr, u64 length,
				bool writable)
{
	return -EOPNOTSUPP;
}

static inline void shca_odp_destroy(struct shca_mr *mr)
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
shca_odp_fetch(const struct shca_odp_want *want)
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

static inline void shca_odp_queue(struct work_struct *work)
{
}

static inline void shca_odp_caps(struct ib_odp_caps *caps)
{
}

#endif

#endif
