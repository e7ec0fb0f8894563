/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The pager of a process: fetches its memory on its behalf, for all on-demand
 * regions that it has, on all devices.
 *
 * Operation.  A page fault may sleep for ever: the memory may be a file of a dead
 * NFS server, or of a FUSE file system that never answers, and neither the fault
 * nor the worker that is in it can be ended then.  So each address space has
 * workers of its own, a workqueue with room for a few: what one process waits for
 * is never in front of what another one needs.  Advice is one work item of that
 * queue, of a bounded step at a time, so faults find a worker beside it.
 *
 * Lifetime.  A worker holds what it touches, and what it touches is neither device
 * nor queue pair nor region: the pages of a region (struct shca_odp), which hold
 * the pager, which holds the mm_struct.  So destroying any of those never waits
 * for a fault.  The address space and the module are held while in a step only
 * (shca_pager_enter()):
 *  - the address space unless only our own workers still do: a process that has
 *    been killed ends, whatever else it has asked for;
 *  - the module so that rmmod is refused, at once, while a fault is under way,
 *    instead of waiting for it.
 * The last reference to a pager is dropped by another workqueue than its own.
 *
 * Memory.  What is allocated in a step is charged to the memory cgroup of the
 * process, as if it had done it itself.
 *
 * Errors.  ENOMEM where there is no pager to be had; a step that may not be
 * entered says why, see there.
 */
#ifndef SHCA_PAGER_H
#define SHCA_PAGER_H

#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct mem_cgroup;
struct mm_struct;

/**
 * struct shca_pager - the pager of an address space
 * @node: @ref:	in the table of all; under its lock, the last one is dropped
 * @mm:		whose memory; the address space may be gone
 * @lock:	guards what follows
 * @inside:	references to the address space that steps hold
 * @advice: @advise: advice that is to be carried out, and what does (advice.c)
 * @nr_advice: @hinted: entries of it that nobody waits for, and pages of those
 */
struct shca_pager {
	struct hlist_node node;
	refcount_t ref;
	struct mm_struct *mm;
	struct workqueue_struct *wq;
	spinlock_t lock;
	unsigned int inside;
	struct list_head advice;
	unsigned int nr_advice;
	unsigned long hinted;
	struct work_struct advise;
};

/** struct shca_pager_stay - in a step */
struct shca_pager_stay {
	struct mem_cgroup *memcg;
	struct mem_cgroup *before;
};

/**
 * shca_pager_get() - the pager of the current process
 * @advise:	see struct shca_pager
 *
 * Return: with a reference; or NULL: no memory.
 */
struct shca_pager *shca_pager_get(work_func_t advise);

/** shca_pager_put() - may sleep; not in one of its workers */
void shca_pager_put(struct shca_pager *pager);

/**
 * shca_pager_enter() - a step begins: the address space can be looked at, and what
 * is allocated is the process's
 *
 * Context: one of the pager's workers; it may sleep for ever until
 * shca_pager_leave().
 * Return: 0; EBUSY: the module is being removed; EFAULT: the process has ended.
 */
int shca_pager_enter(struct shca_pager *pager, struct shca_pager_stay *stay);
void shca_pager_leave(struct shca_pager *pager, struct shca_pager_stay *stay);

/**
 * shca_pager_alloc() - zeroed memory, charged to the process
 *
 * Context: any but hard interrupts.
 */
void *shca_pager_alloc(struct shca_pager *pager, size_t size);

/** shca_pagers_gone() - wait until the last one is; none is made any more */
void shca_pagers_gone(void);

#endif
