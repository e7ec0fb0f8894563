// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The pagers of processes; pager.h explains them. */
#include "pager.h"

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/hashtable.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include <linux/wait.h>

/* Workers per process: for some faults that sleep, and for advice. */
#define SHCA_PAGER_WORKERS	5
/* Maximum pagers of a user whose processes have ended, but not their steps */
#define SHCA_PAGER_ORPHANS	64

static DEFINE_MUTEX(shca_pagers_lock);
static DEFINE_HASHTABLE(shca_pagers, 8);	/* by mm; under shca_pagers_lock */
static atomic_t shca_nr_pagers = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(shca_pagers_wait);

/* ---- users ------------------------------------------------------------------------ */

/*
 * The user of the current process. Of processes in a user namespace it is the creator of the
 * outermost one, because a namespace may have any number of users.
 */
static kuid_t shca_pager_user(void)
{
	const struct user_namespace *ns = current_user_ns();

	while (ns->parent && ns->parent != &init_user_ns)
		ns = ns->parent;
	return ns->parent ? ns->owner : current_uid();
}

bool shca_pager_is_orphan(struct shca_pager *pager)
{
	bool orphan;

	spin_lock(&pager->lock);
	orphan = pager->inside &&
		 atomic_read(&pager->mm->mm_users) <= (int)pager->inside;
	spin_unlock(&pager->lock);
	return orphan;
}

/* May @user have one more? */
static bool shca_pager_may(kuid_t user)
{
	struct shca_pager *pager;
	unsigned int nr = 0;
	int bucket;

	lockdep_assert_held(&shca_pagers_lock);
	hash_for_each(shca_pagers, bucket, pager, node)
		nr += uid_eq(pager->user, user) && shca_pager_is_orphan(pager);
	return nr < SHCA_PAGER_ORPHANS || capable(CAP_SYS_RESOURCE);
}

/* ---- lifetime ------------------------------------------------------------------- */

/* Return: the pager of @mm with a reference, or NULL. */
static struct shca_pager *shca_pager_find(const struct mm_struct *mm)
{
	struct shca_pager *pager;

	lockdep_assert_held(&shca_pagers_lock);
	hash_for_each_possible(shca_pagers, pager, node, (unsigned long)mm)
		if (pager->mm == mm) {
			/* not 0: see shca_pager_put() */
			refcount_inc(&pager->ref);
			return pager;
		}
	return NULL;
}

/* @pager is not in the table. */
static void shca_pager_free(struct shca_pager *pager)
{
	destroy_workqueue(pager->wq);
	mmdrop(pager->mm);
	kfree(pager);
	if (atomic_dec_and_test(&shca_nr_pagers))
		wake_up_all(&shca_pagers_wait);
}

static struct shca_pager *shca_pager_make(struct mm_struct *mm,
					  work_func_t advise)
{
	struct shca_pager *pager;

	pager = kzalloc(sizeof(*pager), GFP_KERNEL_ACCOUNT);
	if (!pager)
		return NULL;
	/* WQ_UNBOUND: a worker that sleeps or takes long does not occupy its CPU. */
	pager->wq = alloc_workqueue("softhca_pager", WQ_UNBOUND,
				    SHCA_PAGER_WORKERS);
	if (!pager->wq) {
		kfree(pager);
		return NULL;
	}
	pager->user = shca_pager_user();
	refcount_set(&pager->ref, 1);
	spin_lock_init(&pager->lock);
	INIT_LIST_HEAD(&pager->advice);
	INIT_WORK(&pager->advise, advise);
	/* The reference keeps the address of the mm_struct unique; it does not keep the memory. */
	pager->mm = mm;
	mmgrab(mm);
	atomic_inc(&shca_nr_pagers);
	return pager;
}

struct shca_pager *shca_pager_get(work_func_t advise)
{
	struct shca_pager *pager, *new;

	mutex_lock(&shca_pagers_lock);
	pager = shca_pager_find(current->mm);
	mutex_unlock(&shca_pagers_lock);
	if (pager)
		return pager;
	/* Without the global lock: a full memory cgroup makes the allocation slow. */
	new = shca_pager_make(current->mm, advise);
	if (!new)
		return ERR_PTR(-ENOMEM);
	mutex_lock(&shca_pagers_lock);
	pager = shca_pager_find(current->mm);	/* made by another thread */
	if (!pager) {
		pager = shca_pager_may(new->user) ? new : ERR_PTR(-EAGAIN);
		if (pager == new)
			hash_add(shca_pagers, &new->node,
				 (unsigned long)new->mm);
	}
	mutex_unlock(&shca_pagers_lock);
	if (pager != new)
		shca_pager_free(new);
	return pager;
}

void shca_pager_put(struct shca_pager *pager)
{
	if (!refcount_dec_and_mutex_lock(&pager->ref, &shca_pagers_lock))
		return;
	hash_del(&pager->node);
	mutex_unlock(&shca_pagers_lock);
	/* Queued work has references, so at most a returning worker is left. */
	shca_pager_free(pager);
}

void shca_pagers_gone(void)
{
	wait_event(shca_pagers_wait, !atomic_read(&shca_nr_pagers));
}

/* ---- steps -------------------------------------------------------------------- */

/* Without this, faults of a process at nice 19 would run at nice 0. */
static int shca_pager_nice(struct mm_struct *mm)
{
	int nice = 0;
#ifdef CONFIG_MEMCG
	struct task_struct *owner;

	rcu_read_lock();
	owner = rcu_dereference(mm->owner);
	if (owner)
		nice = task_nice(owner);
	rcu_read_unlock();
#endif
	return nice;
}

static bool shca_pager_hold(struct shca_pager *pager)
{
	struct mm_struct *mm = pager->mm;
	bool held = false;

	/* The lock keeps mm_users and @inside consistent. */
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
	/* Fails once module exit has begun; exit waits for all steps. */
	if (!try_module_get(THIS_MODULE))
		return -EBUSY;
	if (!shca_pager_hold(pager)) {
		module_put(THIS_MODULE);
		return -EFAULT;
	}
	stay->memcg = get_mem_cgroup_from_mm(pager->mm);
	stay->before = set_active_memcg(stay->memcg);
	stay->nice = task_nice(current);
	set_user_nice(current, shca_pager_nice(pager->mm));
	return 0;
}

void shca_pager_leave(struct shca_pager *pager, struct shca_pager_stay *stay)
{
	set_user_nice(current, stay->nice);
	set_active_memcg(stay->before);
	mem_cgroup_put(stay->memcg);
	spin_lock(&pager->lock);
	pager->inside--;
	/* The worker must not wait for the exit of the mm, if this is the last reference. */
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
