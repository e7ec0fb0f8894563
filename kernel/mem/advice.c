// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * ibv_advise_mr(): fetches memory before packets need it.
 *
 * The pager of the process (pager.h) has a list of advice, with one entry per segment. One
 * work item takes a step of each entry in turn. Therefore advice occupies at most one worker,
 * and no entry waits for the end of another. A caller that asks for FLUSH waits in its call.
 *
 * Bounds. Advice without a waiter is a hint. A hint that an entry covers already is not
 * added, and one that continues an entry extends it. If there are too many entries or pages,
 * further hints are dropped. Entries with a waiter are as many as the waiting threads.
 *
 * End. Each step first checks whether the region or the process is gone (odp.c, pager.c), and
 * whether the waiter has given up, because it was killed or the device is being removed. The
 * waiter waits for a completion and not for a page, so its wait always ends.
 */
#include "advice.h"

#include <linux/completion.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "../base/dev.h"
#include "../inject/fault.h"
#include "mr.h"
#include "odp.h"
#include "pager.h"

/* Maximum hints of a process, and bytes in all of them. */
#define SHCA_ADVICE_MAX		64
#define SHCA_ADVICE_BYTES	(4ull << 30)
/* Maximum bytes of a hint. */
#define SHCA_ADVICE_SEGMENT	(1ull << 30)
/* Pages per step. */
#define SHCA_ADVICE_STEP	256
/* Interval at which a waiter checks whether the device is being removed. */
#define SHCA_ADVICE_LOOK	(HZ / 20)

/*
 * struct shca_advice - an entry of the list
 * @node:	in the pager's list. The pager's lock protects this member and all others but
 *		@odp, @write, @fault, @wait
 * @ref:	one for the list, one for the waiter
 * @odp:	pages of the region, with a reference
 * @first: @next: @last:	its range in pages; @next is the first one not done
 * @write: @fault:	arguments of shca_odp_fetch_pages()
 * @wait:	a thread waits for @done and then reads @err
 * @stop:	the waiter has given up
 */
struct shca_advice {
	struct list_head node;
	refcount_t ref;
	struct shca_odp *odp;
	unsigned long first;
	unsigned long next;
	unsigned long last;
	bool write;
	bool fault;
	bool wait;
	bool stop;
	int err;
	struct completion done;
};

static void shca_advice_put(struct shca_advice *a)
{
	if (!refcount_dec_and_test(&a->ref))
		return;
	shca_odp_put(a->odp);
	kfree(a);
}

/* ---- execution ------------------------------------------------------------------ */

/* Return: is the entry finished? */
static bool shca_advice_step_done(struct shca_pager *pager,
				  struct shca_advice *a, unsigned long end,
				  int err)
{
	lockdep_assert_held(&pager->lock);
	if (!a->wait)
		pager->hinted -= end + 1 - a->next;
	a->next = end + 1;
	if (!err && !a->stop && a->next <= a->last) {
		list_move_tail(&a->node, &pager->advice);
		return false;
	}
	list_del(&a->node);
	if (!a->wait) {
		pager->nr_advice--;
		pager->hinted -= a->last + 1 - a->next;
	}
	a->err = err;
	return true;
}

void shca_advise_work(struct work_struct *work)
{
	struct shca_pager *pager =
		container_of(work, struct shca_pager, advise);
	unsigned long next, end;
	struct shca_advice *a;
	bool stop, over;
	int err = 0;

	spin_lock(&pager->lock);
	/* The work is queued only while the list has entries. */
	a = list_first_entry(&pager->advice, struct shca_advice, node);
	next = a->next;
	end = min(a->last, next + SHCA_ADVICE_STEP - 1);
	stop = a->stop;
	spin_unlock(&pager->lock);
	if (!stop)
		err = shca_odp_fetch_pages(a->odp, next, end, a->write,
					   a->fault);
	spin_lock(&pager->lock);
	over = shca_advice_step_done(pager, a, end, err);
	/* Before the last reference to the pager may go, and behind queued page faults */
	if (!list_empty(&pager->advice))
		queue_work(pager->wq, &pager->advise);
	spin_unlock(&pager->lock);
	if (!over)
		return;
	complete(&a->done);
	shca_advice_put(a);
}

/* ---- requests ------------------------------------------------------------------- */

/* Find the entry that contains or precedes @new; or NULL. */
static struct shca_advice *shca_advice_find(struct shca_pager *pager,
					    const struct shca_advice *new)
{
	struct shca_advice *a;

	lockdep_assert_held(&pager->lock);
	list_for_each_entry(a, &pager->advice, node)
		if (!a->wait && a->odp == new->odp && a->write == new->write &&
		    a->fault == new->fault && new->first >= a->first &&
		    new->first <= a->last + 1)
			return a;
	return NULL;
}

/* Return: has @new become an entry of its own? */
static bool shca_advice_hint(struct shca_pager *pager, struct shca_advice *new)
{
	unsigned long room = (SHCA_ADVICE_BYTES >> PAGE_SHIFT) - pager->hinted;
	struct shca_advice *a = shca_advice_find(pager, new);
	unsigned long more;

	if (a) {
		more = new->last > a->last ? new->last - a->last : 0;
		if (more > room)
			return false;
		a->last += more;
	} else {
		more = new->last + 1 - new->first;
		if (more > room || pager->nr_advice == SHCA_ADVICE_MAX)
			return false;
		pager->nr_advice++;
	}
	pager->hinted += more;
	return !a;
}

static void shca_advice_queue(struct shca_advice *a)
{
	struct shca_pager *pager = a->odp->pager;
	bool add;

	spin_lock(&pager->lock);
	add = a->wait || shca_advice_hint(pager, a);
	if (add) {
		list_add_tail(&a->node, &pager->advice);
		queue_work(pager->wq, &pager->advise);
	}
	spin_unlock(&pager->lock);
	if (!add)
		shca_advice_put(a);
}

/* Return: the result of the advice, or why the wait ended early. */
static int shca_advice_wait(struct shca_dev *dev, struct shca_advice *a)
{
	long left;
	int err;

	do
		left = wait_for_completion_killable_timeout(&a->done,
							    SHCA_ADVICE_LOOK);
	while (!left && !READ_ONCE(dev->removing));
	spin_lock(&a->odp->pager->lock);
	a->stop = true;
	err = a->err;
	spin_unlock(&a->odp->pager->lock);
	if (left > 0)
		return err;
	return left ? -EINTR : -EIO;
}

/* On success, @a has the range and a reference to the pages. */
static int shca_advice_check(struct ib_pd *ibpd, const struct ib_sge *sge,
			     struct shca_advice *a)
{
	struct shca_mr *mr;
	int err = 0;

	mr = shca_mr_find(to_shca_dev(ibpd->device), sge->lkey);
	if (!mr)
		return -ENOENT;
	if (mr->type == SHCA_MR_WINDOW || mr->type == SHCA_MR_FAST)
		err = -EINVAL;
	else if (mr->key != sge->lkey)
		err = -ENOENT;
	else if (mr->pd != ibpd)
		err = -EPERM;
	else if (mr->type != SHCA_MR_ODP)
		err = -EINVAL;
	else if (a->write && !mr->odp->writable)
		err = -EPERM;
	else if (!shca_mr_in_range(mr, sge->addr, sge->length))
		err = -EFAULT;
	if (!err) {
		a->odp = mr->odp;
		refcount_inc(&a->odp->ref);
		a->first = shca_odp_page(mr, sge->addr);
		a->next = a->first;
		a->last = sge->length ?
			  shca_odp_page(mr, sge->addr + sge->length - 1) :
			  a->first;
	}
	shca_mr_unref(mr);
	return err;
}

static int shca_advise(struct ib_pd *ibpd, const struct ib_sge *sge,
		       const struct shca_advice *how)
{
	const unsigned long most = SHCA_ADVICE_SEGMENT >> PAGE_SHIFT;
	struct shca_dev *dev = to_shca_dev(ibpd->device);
	struct shca_advice *a;
	int err;

	a = kmemdup(how, sizeof(*how), GFP_KERNEL_ACCOUNT);
	if (!a)
		return -ENOMEM;
	err = shca_advice_check(ibpd, sge, a);
	if (err) {
		kfree(a);
		return err;
	}
	refcount_set(&a->ref, 1);
	init_completion(&a->done);
	if (!sge->length) {
		shca_advice_put(a);
		return 0;
	}
	if (!a->wait) {
		a->last = min(a->last, a->first + most - 1);
		shca_advice_queue(a);
		return 0;
	}
	refcount_inc(&a->ref);
	shca_advice_queue(a);
	err = shca_advice_wait(dev, a);
	shca_advice_put(a);
	/* Advice is best effort: a busy pager is no error. */
	return err == -EBUSY ? 0 : err == -EPERM ? -EFAULT : err;
}

int shca_advise_mr(struct ib_pd *ibpd, enum ib_uverbs_advise_mr_advice advice,
		   u32 flags, struct ib_sge *sg_list, u32 num_sge,
		   struct uverbs_attr_bundle *attrs)
{
	struct shca_dev *dev = to_shca_dev(ibpd->device);
	struct shca_advice how = {
		.write = advice == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE,
		.fault = advice != IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT,
		.wait = flags & IB_UVERBS_ADVISE_MR_FLAG_FLUSH,
	};
	struct shca_advice check;
	u32 i;
	int err;

	err = shca_fault_verb(ibpd->device, SHCA_FAULT_VERB_ADVISE_MR);
	if (err)
		return err;
	if (advice != IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH &&
	    advice != IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE &&
	    advice != IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return -EOPNOTSUPP;
	/* Check all segments before acting on any. */
	for (i = 0; i < num_sge; i++) {
		check = how;
		err = shca_advice_check(ibpd, &sg_list[i], &check);
		if (err)
			return err;
		shca_odp_put(check.odp);
	}
	for (i = 0; i < num_sge; i++) {
		if (fatal_signal_pending(current))
			return -EINTR;
		if (READ_ONCE(dev->removing))
			return -EIO;
		err = shca_advise(ibpd, &sg_list[i], &how);
		if (err)
			return err;
	}
	return 0;
}
