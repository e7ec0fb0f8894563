/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The pager of a process faults in its memory, for all its on-demand regions on all devices.
 *
 * Operation. A page fault may sleep forever: the memory may be a file of a dead NFS server,
 * or of a FUSE file system that never answers. Neither the fault nor its worker can be ended
 * then. So each address space has a workqueue with a few workers of its own, and no process
 * waits for another one's pages. Advice is one work item of that queue, in bounded steps, so
 * workers remain for faults.
 *
 * Lifetime. A worker has a reference to the pages of a region (struct shca_odp), these to the
 * pager, and the pager to the mm_struct. A worker has no reference to a device, QP or region,
 * so destroying one of these never waits for a fault. A step (shca_pager_enter()) also has
 * references to:
 * - the address space, unless only our workers still have one. So a killed process ends,
 *   whatever else it has asked for;
 * - the module, so that rmmod fails at once during a fault, instead of waiting for it.
 *
 * The last reference to the pager is dropped outside of its own workqueue.
 *
 * Memory. Allocations in a step are charged to the memory cgroup of the process.
 *
 * Bounds. A worker whose fault never ends outlives its process, and no limit of the kernel
 * counts it. A user who has left too many of them behind gets no further pager.
 *
 * Errors. -ENOMEM: no memory for a pager. -EAGAIN: too many pagers of the user outlive their
 * processes.
 */
#ifndef SHCA_PAGER_H
#define SHCA_PAGER_H

#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <linux/workqueue.h>

struct mem_cgroup;
struct mm_struct;

/*
 * The pager of an address space.
 * @node: @ref:	in the table of all pagers; the last reference is dropped under the table's
 *		lock
 * @mm:		of the process; the address space may be gone
 * @user:	its creator
 * @lock:	protects the members below
 * @inside:	references of steps to the address space
 * @advice: @advise:	list of advice, and the work item that executes it (advice.c)
 * @nr_advice: @hinted:	entries of @advice without a waiter, and their pages
 */
struct shca_pager {
	struct hlist_node node;
	refcount_t ref;
	struct mm_struct *mm;
	kuid_t user;
	struct workqueue_struct *wq;
	spinlock_t lock;
	unsigned int inside;
	struct list_head advice;
	unsigned int nr_advice;
	unsigned long hinted;
	struct work_struct advise;
};

/* State of a step in progress. */
struct shca_pager_stay {
	struct mem_cgroup *memcg;
	struct mem_cgroup *before;
	int nice;
};

/*
 * Find or create the pager of the current process.
 * @advise:	function of shca_pager.advise
 * Context: process; may sleep.
 * Return: the pager with a reference, or an error: -ENOMEM, -EAGAIN.
 */
struct shca_pager *shca_pager_get(work_func_t advise);

/* Drop a reference; may sleep; not for the pager's own workers. */
void shca_pager_put(struct shca_pager *pager);

/*
 * Begin a step. The worker can access the address space, its allocations are charged to the
 * process, and it has the nice value of the process.
 * Context: a worker of the pager; it may sleep forever until shca_pager_leave().
 * Return: 0; -EBUSY if the module is being removed; -EFAULT if the process has ended.
 */
int shca_pager_enter(struct shca_pager *pager, struct shca_pager_stay *stay);
void shca_pager_leave(struct shca_pager *pager, struct shca_pager_stay *stay);

/* Has the process ended, so that only steps use its memory? Any context but softirq and irq. */
bool shca_pager_is_orphan(struct shca_pager *pager);

/* Allocate zeroed memory, charged to the process. Context: any but hard interrupts. */
void *shca_pager_alloc(struct shca_pager *pager, size_t size);

/* Wait until no pager is left. None can be created any more. */
void shca_pagers_gone(void);

#endif
