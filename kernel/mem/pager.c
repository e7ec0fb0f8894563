// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The pagers of processes; what they are and how they live is told in pager.h. */
#include "pager.h"

#include <linux/hashtable.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/wait.h>

/* Workers of a process: for some faults that sleep, and for advice. */
#define SHCA_PAGER_WORKERS	5

static DEFINE_MUTEX(shca_pagers_lock);
static DEFINE_HASHTABLE(shca_pagers, 8);	/* by mm; under the lock */
static atomic_t shca_nr_pagers = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(shca_pagers_wait);

static struct shca_pager *shca_pager_find(const struct mm_struct *mm)
{
	struct shca_pager *pager;

	lockdep_assert_held(&shca_pagers_lock);
	hash_for_each_possible(shca_pagers, pager, node, (unsigned long)mm)
		if (pager->mm == mm)
			return pager;
	return NULL;
}

static struct shca_pager *shca_pager_make(struct mm_struct *mm,
					  work_func_t advise)
{
	struct shca_pager *pager;

	pager = kzalloc(sizeof(*pager), GFP_KERNEL_ACCOUNT);
	if (!pager)
		return NULL;
	/* Not a CPU's: what sleeps or takes long there is in nobody's way. */
	pager->wq = alloc_workqueue("softhca_pager", WQ_UNBOUND,
				    SHCA_PAGER_WORKERS);
	if (!pager->wq) {
		kfree(pager);
		return NULL;
	}
	refcount_set(&pager->ref, 1);
	spin_lock_init(&pager->lock);
	INIT_LIST_HEAD(&pager->advice);
	INIT_WORK(&pager->advise, advise);
	/* The struct, so that nobody else gets its address; not the memory. */
	pager->mm = mm;
	mmgrab(mm);
	atomic_inc(&shca_nr_pagers);
	hash_add(shca_pagers, &pager->node, (unsigned long)mm);
	return pager;
}

struct shca_pager *shca_pager_get(work_func_t advise)
{
	struct shca_pager *pager;

	mutex_lock(&shca_pagers_lock);
	pager = shca_pager_find(current->mm);
	if (pager)
		refcount_inc(&pager->ref);	/* it is not 0, see the put */
	else
		pager = shca_pager_make(current->mm, advise);
	mutex_unlock(&shca_pagers_lock);
	return pager;
}

void shca_pager_put(struct shca_pager *pager)
{
	if (!refcount_dec_and_mutex_lock(&pager->ref, &shca_pagers_lock))
		return;
	hash_del(&pager->node);
	mutex_unlock(&shca_pagers_lock);
	/* Whatever was queued had a reference: at most a worker is to return. */
	destroy_workqueue(pager->wq);
	mmdrop(pager->mm);
	kfree(pager);
	if (atomic_dec_and_test(&shca_nr_pagers))
		wake_up_all(&shca_pagers_wait);
}

void shca_pagers_gone(void)
{
	wait_event(shca_pagers_wait, !atomic_read(&shca_nr_pagers));
}

/* ---- steps -------------------------------------------------------------------- */

static bool shca_pager_hold(struct shca_pager *pager)
{
	struct mm_struct *mm = pager->mm;
	bool held = false;

	/* The lock: so that the two counts belong together. */
	spin_lock(&pager->lock);
	if (mmget_not_zero(mm)) {
		held = atomic_read(&mm->mm_users) > (int)pager->inside + 1;
		if (held)
			pager->inside++;
		else
			mmput_async(mm);
	}
	spin_unlock(&pager->lock);
	return held;
}

int shca_pager_enter(struct shca_pager *pager, struct shca_pager_stay *stay)
{
	/* From exit on it fails, and none is held then: exit waits for us. */
	if (!try_module_get(THIS_MODULE))
		return -EBUSY;
	if (!shca_pager_hold(pager)) {
		module_put(THIS_MODULE);
		return -EFAULT;
	}
	stay->memcg = get_mem_cgroup_from_mm(pager->mm);
	stay->before = set_active_memcg(stay->memcg);
	return 0;
}

void shca_pager_leave(struct shca_pager *pager, struct shca_pager_stay *stay)
{
	set_active_memcg(stay->before);
	mem_cgroup_put(stay->memcg);
	spin_lock(&pager->lock);
	pager->inside--;
	/* Should we be the last, its end is not for this worker to wait for. */
	mmput_async(pager->mm);
	spin_unlock(&pager->lock);
	module_put(THIS_MODULE);
}

void *shca_pager_alloc(struct shca_pager *pager, size_t size)
{
	struct mem_cgroup *memcg = get_mem_cgroup_from_mm(pager->mm);
	struct mem_cgroup *before = set_active_memcg(memcg);
	void *p;

	p = kzalloc(size, GFP_ATOMIC | __GFP_NOWARN | __GFP_ACCOUNT);
	set_active_memcg(before);
	mem_cgroup_put(memcg);
	return p;
}
