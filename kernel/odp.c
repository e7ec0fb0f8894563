// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * On-demand paging.  Such a region pins nothing.  It remembers, page by page,
 * where the process's memory is, and forgets what the kernel is about to move or
 * take (an MMU interval notifier per chunk of 2 MiB).  What it does not remember
 * is looked up by a worker when a packet needs it; the packet waits (fault.c).
 *
 * Accesses hold the region's lock for reading while they copy, invalidation
 * takes it for writing, so no access outlives an invalidation and pages need no
 * reference.  Look-ups work as hmm.rst has it: the sequence of the notifier is
 * read before, and compared under the lock before the result is kept.
 *
 * An implicit region, all of a process's memory, is one without an end; chunks
 * exist where something was looked up.  One mutex serialises the look-ups of a
 * region: chunks come and go under it.
 *
 * Order: shca_odp.mutex, mmap_lock, the notifier's own, shca_mr.lock.
 */
#include "odp.h"

#include <linux/hmm.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/xarray.h>

#include "dev.h"
#include "mr.h"

#define SHCA_ODP_SHIFT		21	/* log2 of a chunk's bytes */
#define SHCA_ODP_CHUNK_PAGES	(1u << (SHCA_ODP_SHIFT - PAGE_SHIFT))
/* Pages looked up at once. */
#define SHCA_ODP_BATCH		64
/* Pages forgotten in one hold of the lock. */
#define SHCA_ODP_ZAP		32
/* How long one look-up may be overtaken by invalidations. */
#define SHCA_ODP_PATIENCE	(10 * HZ)
/* Fetched with what a packet needs, of the same message. */
#define SHCA_ODP_AHEAD		(1u << 20)
/* Of one segment, fetched without the caller waiting. */
#define SHCA_ODP_PREFETCH	(1ull << 30)

/*
 * struct shca_odp_chunk - part of a region, aligned to its size
 * @sub:	tells what becomes of its memory
 * @first: @nr:	pages of the process that it is about
 * @nr_present:	of them
 * @page:	their kernel addresses, with SHCA_ODP_WRITE; 0: not known
 *
 * @nr_present and @page are guarded by the region's lock.
 */
struct shca_odp_chunk {
	struct mmu_interval_notifier sub;
	struct shca_mr *mr;
	unsigned long first;
	unsigned int nr;
	unsigned int nr_present;
	unsigned long page[];
};

#define SHCA_ODP_WRITE	1ul

/*
 * struct shca_odp - an on-demand region
 * @mm:	whose memory; its address space may be gone
 * @first: @last: pages of it
 * @chunks:	by address; changed under @mutex, and erased with the region's
 *		lock held as well
 */
struct shca_odp {
	struct mm_struct *mm;
	unsigned long first;
	unsigned long last;
	bool writable;
	struct mutex mutex;
	struct xarray chunks;
};

static struct workqueue_struct *shca_odp_wq;

/* ---- looking ------------------------------------------------------------------ */

static unsigned long shca_odp_index(unsigned long page)
{
	return page >> (SHCA_ODP_SHIFT - PAGE_SHIFT);
}

static unsigned long shca_odp_page(const struct shca_mr *mr, u64 va)
{
	return (va + mr->shift) >> PAGE_SHIFT;
}

static unsigned long shca_odp_entry(const struct shca_odp *odp,
				    unsigned long page)
{
	const struct shca_odp_chunk *chunk;

	chunk = xa_load((struct xarray *)&odp->chunks, shca_odp_index(page));
	return chunk ? chunk->page[page - chunk->first] : 0;
}

bool shca_odp_present(const struct shca_mr *mr, u64 va, u64 len, bool write)
{
	unsigned long page = shca_odp_page(mr, va);
	unsigned long last = shca_odp_page(mr, va + len - 1);
	unsigned long need = write ? SHCA_ODP_WRITE : 0, entry;

	for (; page <= last; page++) {
		entry = shca_odp_entry(mr->odp, page);
		if (!entry || (entry & need) != need)
			return false;
	}
	return true;
}

void *shca_odp_next(const struct shca_mr *mr, u64 va, u32 *len)
{
	unsigned long entry = shca_odp_entry(mr->odp, shca_odp_page(mr, va));
	u32 in_page = (va + mr->shift) & ~PAGE_MASK;

	*len = min_t(u32, *len, PAGE_SIZE - in_page);
	return (void *)(entry & ~SHCA_ODP_WRITE) + in_page;
}

/* ---- forgetting --------------------------------------------------------------- */

/*
 * Forget up to SHCA_ODP_ZAP pages from @page on; those that may have been written
 * are returned, with a reference: marking them dirty takes locks that are not
 * safe under ours, which softirq takes.
 *
 * Return: where to go on.
 */
static unsigned int shca_odp_zap_locked(struct shca_odp_chunk *chunk,
					unsigned int page, unsigned int end,
					struct page **dirty, unsigned int *nr)
{
	unsigned long entry;

	lockdep_assert_held_write(&chunk->mr->lock);
	for (; page < end && *nr < SHCA_ODP_ZAP; page++) {
		entry = chunk->page[page];
		if (!entry)
			continue;
		chunk->page[page] = 0;
		chunk->nr_present--;
		if (!(entry & SHCA_ODP_WRITE))
			continue;
		dirty[*nr] = virt_to_page((void *)(entry & ~SHCA_ODP_WRITE));
		get_page(dirty[(*nr)++]);
	}
	return page;
}

/* @seq: of the invalidation that asks for it, or 0. */
static void shca_odp_zap(struct shca_odp_chunk *chunk, unsigned int page,
			 unsigned int end, unsigned long seq)
{
	struct page *dirty[SHCA_ODP_ZAP];
	unsigned int nr;

	do {
		nr = 0;
		write_lock_bh(&chunk->mr->lock);
		if (seq)
			mmu_interval_set_seq(&chunk->sub, seq);
		page = shca_odp_zap_locked(chunk, page, end, dirty, &nr);
		write_unlock_bh(&chunk->mr->lock);
		while (nr) {
			folio_mark_dirty(page_folio(dirty[--nr]));
			put_page(dirty[nr]);
		}
	} while (page < end);
}

static bool shca_odp_invalidate(struct mmu_interval_notifier *sub,
				const struct mmu_notifier_range *range,
				unsigned long seq)
{
	struct shca_odp_chunk *chunk =
		container_of(sub, struct shca_odp_chunk, sub);
	unsigned long first = range->start >> PAGE_SHIFT;
	unsigned long end = (range->end - 1) >> PAGE_SHIFT;

	first = max(first, chunk->first) - chunk->first;
	end = min(end, chunk->first + chunk->nr - 1) - chunk->first + 1;
	shca_odp_zap(chunk, first, end, seq);
	return true;
}

static const struct mmu_interval_notifier_ops shca_odp_ops = {
	.invalidate = shca_odp_invalidate,
};

/* ---- chunks ------------------------------------------------------------------- */

static struct shca_odp_chunk *shca_odp_chunk_make(struct shca_mr *mr,
						  unsigned long index)
{
	struct shca_odp *odp = mr->odp;
	struct shca_odp_chunk *chunk;
	unsigned long first, last;
	int err;

	first = max(index << (SHCA_ODP_SHIFT - PAGE_SHIFT), odp->first);
	last = min(((index + 1) << (SHCA_ODP_SHIFT - PAGE_SHIFT)) - 1,
		   odp->last);
	chunk = kvzalloc(struct_size(chunk, page, last - first + 1),
			 GFP_KERNEL_ACCOUNT);
	if (!chunk)
		return ERR_PTR(-ENOMEM);
	chunk->mr = mr;
	chunk->first = first;
	chunk->nr = last - first + 1;
	err = mmu_interval_notifier_insert(&chunk->sub, odp->mm,
					   first << PAGE_SHIFT,
					   (unsigned long)chunk->nr << PAGE_SHIFT,
					   &shca_odp_ops);
	if (err) {
		kvfree(chunk);
		return ERR_PTR(err);
	}
	/* Its lock is taken under the region's too, which softirqs wait for. */
	err = xa_err(xa_store_bh(&odp->chunks, index, chunk,
				 GFP_KERNEL_ACCOUNT));
	if (err) {
		mmu_interval_notifier_remove(&chunk->sub);
		kvfree(chunk);
		return ERR_PTR(err);
	}
	return chunk;
}

/* Chunks of which nothing is known are not kept: they would only cost memory. */
static void shca_odp_chunk_trim(struct shca_mr *mr, struct shca_odp_chunk *chunk)
{
	bool empty;

	lockdep_assert_held(&mr->odp->mutex);
	write_lock_bh(&mr->lock);
	empty = !chunk->nr_present;
	if (empty)
		xa_erase(&mr->odp->chunks, shca_odp_index(chunk->first));
	write_unlock_bh(&mr->lock);
	if (!empty)
		return;
	mmu_interval_notifier_remove(&chunk->sub);
	kvfree(chunk);
}

/* ---- fetching ----------------------------------------------------------------- */

static void shca_odp_keep(struct shca_odp_chunk *chunk, unsigned long page,
			  const unsigned long *pfns, unsigned int nr, bool write)
{
	unsigned long *entry = &chunk->page[page - chunk->first];
	unsigned int i;

	lockdep_assert_held_write(&chunk->mr->lock);
	for (i = 0; i < nr; i++, entry++) {
		if (!(pfns[i] & HMM_PFN_VALID) || pfns[i] & HMM_PFN_ERROR)
			continue;
		if (!*entry)
			chunk->nr_present++;
		*entry &= SHCA_ODP_WRITE;
		*entry |= (unsigned long)page_address(hmm_pfn_to_page(pfns[i]));
		if (write && pfns[i] & HMM_PFN_WRITE)
			*entry |= SHCA_ODP_WRITE;
	}
}

/* @nr pages from @page on, all of @chunk, SHCA_ODP_BATCH at most. */
static int shca_odp_look_up(struct shca_odp_chunk *chunk, unsigned long page,
			    unsigned int nr, bool write, bool fault)
{
	unsigned long deadline = jiffies + SHCA_ODP_PATIENCE;
	struct mm_struct *mm = chunk->mr->odp->mm;
	unsigned long pfns[SHCA_ODP_BATCH];
	struct hmm_range range = {
		.notifier = &chunk->sub,
		.start = page << PAGE_SHIFT,
		.end = (page + nr) << PAGE_SHIFT,
		.hmm_pfns = pfns,
	};
	bool kept = false;
	int err;

	if (fault)
		range.default_flags = HMM_PFN_REQ_FAULT |
				      (write ? HMM_PFN_REQ_WRITE : 0);
	do {
		if (time_after(jiffies, deadline))
			return -EBUSY;
		range.notifier_seq = mmu_interval_read_begin(&chunk->sub);
		mmap_read_lock(mm);
		err = hmm_range_fault(&range);
		mmap_read_unlock(mm);
		if (err == -EBUSY)
			continue;
		if (err)
			return err;
		write_lock_bh(&chunk->mr->lock);
		kept = !mmu_interval_read_retry(&chunk->sub,
						range.notifier_seq);
		if (kept)
			shca_odp_keep(chunk, page, pfns, nr, write);
		write_unlock_bh(&chunk->mr->lock);
	} while (!kept);
	return 0;
}

/* The same, of a chunk that need not exist yet. */
static int shca_odp_fetch_batch(struct shca_mr *mr, unsigned long page,
				unsigned int nr, bool write, bool fault)
{
	struct shca_odp *odp = mr->odp;
	struct shca_odp_chunk *chunk;
	int err;

	lockdep_assert_held(&odp->mutex);
	chunk = xa_load(&odp->chunks, shca_odp_index(page));
	if (!chunk)
		chunk = shca_odp_chunk_make(mr, shca_odp_index(page));
	if (IS_ERR(chunk))
		return PTR_ERR(chunk);
	err = shca_odp_look_up(chunk, page, nr, write, fault);
	if (err || !fault)
		shca_odp_chunk_trim(mr, chunk);
	return err;
}

/*
 * Pages @page to @last.  A process that is about to end, or wants to, is not
 * kept from it.
 */
static int shca_odp_fetch_pages(struct shca_mr *mr, unsigned long page,
				unsigned long last, bool write, bool fault)
{
	struct shca_odp *odp = mr->odp;
	unsigned long nr;
	int err = 0;

	if (!mmget_not_zero(odp->mm))
		return -EFAULT;
	for (; !err && page <= last; page += nr) {
		nr = min(last - page + 1,
			 SHCA_ODP_BATCH - page % SHCA_ODP_BATCH);
		mutex_lock(&odp->mutex);
		err = shca_odp_fetch_batch(mr, page, nr, write, fault);
		mutex_unlock(&odp->mutex);
		if (!err && fatal_signal_pending(current))
			err = -EINTR;
		cond_resched();
	}
	mmput(odp->mm);
	return err;
}

/* A reference to the on-demand region behind @want, and the range there. */
static enum shca_mem_status shca_odp_find(struct shca_odp_want *want,
					  struct shca_mr **out)
{
	struct shca_mr *mr = shca_mr_find(want->who.dev, want->key);
	enum shca_mem_status status;
	struct shca_mr *target = mr;

	*out = NULL;
	if (!mr)
		return SHCA_MEM_KEY;
	read_lock_bh(&mr->lock);
	status = shca_mr_check(mr, &want->who, want->key, want->access,
			       want->va, want->len);
	if (status == SHCA_MEM_OK) {
		want->span = min(want->span,
				 mr->length - (want->va - mr->iova));
		if (mr->type == SHCA_MR_WINDOW) {
			want->va += mr->shift;
			target = mr->parent;
		}
		/* Something else has the key by now: it is looked up again. */
		if (target->type != SHCA_MR_ODP)
			target = NULL;
		else
			refcount_inc(&target->ref);
	}
	read_unlock_bh(&mr->lock);
	shca_mr_unref(mr);
	*out = status == SHCA_MEM_OK ? target : NULL;
	return status;
}

static enum shca_mem_status shca_odp_status(int err)
{
	switch (err) {
	case 0:
	case -EBUSY:	/* no end of invalidations: the packet asks again */
		return SHCA_MEM_OK;
	case -EPERM:
		return SHCA_MEM_ACCESS;
	default:
		return SHCA_MEM_RANGE;
	}
}

enum shca_mem_status shca_odp_fetch(const struct shca_odp_want *asked)
{
	struct shca_odp_want want = *asked;
	enum shca_mem_status status;
	unsigned long first, last;
	struct shca_mr *mr;
	bool write;

	status = shca_odp_find(&want, &mr);
	if (!mr)
		return status;
	write = want.access & SHCA_MR_WRITES;
	first = shca_odp_page(mr, want.va);
	last = shca_odp_page(mr, want.va + want.len - 1);
	status = shca_odp_status(shca_odp_fetch_pages(mr, first, last, write,
						      true));
	/* What comes next is not needed yet: it may also fail. */
	want.span = min(want.span, want.len + SHCA_ODP_AHEAD);
	if (status == SHCA_MEM_OK && want.span > want.len)
		shca_odp_fetch_pages(mr, last + 1,
				     shca_odp_page(mr, want.va + want.span - 1),
				     write, true);
	shca_mr_unref(mr);
	return status;
}

/* ---- advice ------------------------------------------------------------------- */

/*
 * struct shca_odp_advice - what ibv_advise_mr() wants of one segment
 * @mr:	with a reference
 */
struct shca_odp_advice {
	struct work_struct work;
	struct shca_mr *mr;
	u64 va;
	u64 len;
	bool write;
	bool fault;
};

static int shca_odp_advise(const struct shca_odp_advice *advice)
{
	if (!advice->len)
		return 0;
	return shca_odp_fetch_pages(advice->mr,
				    shca_odp_page(advice->mr, advice->va),
				    shca_odp_page(advice->mr, advice->va +
						  advice->len - 1),
				    advice->write, advice->fault);
}

static void shca_odp_advise_work(struct work_struct *work)
{
	struct shca_odp_advice *advice =
		container_of(work, struct shca_odp_advice, work);

	shca_odp_advise(advice);
	shca_mr_unref(advice->mr);
	kfree(advice);
}

/* Return: with a reference to the region; or an errno of ibv_advise_mr(). */
static int shca_odp_check_advice(struct ib_pd *ibpd, const struct ib_sge *sge,
				 struct shca_odp_advice *advice)
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
	else if (advice->write && !mr->odp->writable)
		err = -EPERM;
	else if (!shca_mr_in_range(mr, sge->addr, sge->length))
		err = -EFAULT;
	if (err) {
		shca_mr_unref(mr);
		return err;
	}
	advice->mr = mr;
	advice->va = sge->addr;
	advice->len = sge->length;
	return 0;
}

static int shca_odp_prefetch(struct ib_pd *ibpd, const struct ib_sge *sge,
			     const struct shca_odp_advice *how, bool wait)
{
	struct shca_odp_advice *advice;
	int err;

	advice = kmemdup(how, sizeof(*how), GFP_KERNEL);
	if (!advice)
		return -ENOMEM;
	err = shca_odp_check_advice(ibpd, sge, advice);
	if (err) {
		kfree(advice);
		return err;
	}
	INIT_WORK(&advice->work, shca_odp_advise_work);
	if (!wait) {
		advice->len = min(advice->len, SHCA_ODP_PREFETCH);
		queue_work(shca_odp_wq, &advice->work);
		return 0;
	}
	err = shca_odp_advise(advice);
	shca_mr_unref(advice->mr);
	kfree(advice);
	/* Advice is taken as far as it can be. */
	return err == -EBUSY ? 0 : err == -EPERM ? -EFAULT : err;
}

int shca_advise_mr(struct ib_pd *ibpd, enum ib_uverbs_advise_mr_advice advice,
		   u32 flags, struct ib_sge *sg_list, u32 num_sge,
		   struct uverbs_attr_bundle *attrs)
{
	struct shca_odp_advice how = {
		.write = advice == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE,
		.fault = advice != IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT,
	};
	struct shca_odp_advice check;
	u32 i;
	int err;

	if (advice != IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH &&
	    advice != IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE &&
	    advice != IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return -EOPNOTSUPP;
	/* All of it is right, or nothing is done. */
	for (i = 0; i < num_sge; i++) {
		check = how;
		err = shca_odp_check_advice(ibpd, &sg_list[i], &check);
		if (err)
			return err;
		shca_mr_unref(check.mr);
	}
	for (i = 0; i < num_sge; i++) {
		err = shca_odp_prefetch(ibpd, &sg_list[i], &how,
					flags & IB_UVERBS_ADVISE_MR_FLAG_FLUSH);
		if (err)
			return err;
	}
	return 0;
}

/* ---- lifetime ----------------------------------------------------------------- */

int shca_odp_init(struct shca_mr *mr, u64 addr, u64 length, bool writable)
{
	struct shca_odp *odp = kzalloc(sizeof(*odp), GFP_KERNEL_ACCOUNT);

	if (!odp)
		return -ENOMEM;
	odp->mm = current->mm;
	mmgrab(odp->mm);
	odp->first = addr >> PAGE_SHIFT;
	odp->last = length == U64_MAX ? ULONG_MAX >> PAGE_SHIFT :
					(addr + length - 1) >> PAGE_SHIFT;
	odp->writable = writable;
	mutex_init(&odp->mutex);
	xa_init_flags(&odp->chunks, XA_FLAGS_LOCK_BH);
	mr->odp = odp;
	return 0;
}

void shca_odp_destroy(struct shca_mr *mr)
{
	struct shca_odp *odp = mr->odp;
	struct shca_odp_chunk *chunk;
	unsigned long index;

	if (!odp)
		return;
	xa_for_each(&odp->chunks, index, chunk) {
		shca_odp_zap(chunk, 0, chunk->nr, 0);
		mmu_interval_notifier_remove(&chunk->sub);
		kvfree(chunk);
	}
	xa_destroy(&odp->chunks);
	mutex_destroy(&odp->mutex);
	mmdrop(odp->mm);
	kfree(odp);
	mr->odp = NULL;
}

void shca_odp_queue(struct work_struct *work)
{
	queue_work(shca_odp_wq, work);
}

/* Not in the uapi of every kernel that has the operations; without FLUSH, neither. */
#ifdef HAVE_IB_FLUSH
#define SHCA_ODP_FLUSH		(1u << 6)
#define SHCA_ODP_ATOMIC_WRITE	(1u << 7)
#else
#define SHCA_ODP_FLUSH		0
#define SHCA_ODP_ATOMIC_WRITE	0
#endif

void shca_odp_caps(struct ib_odp_caps *caps)
{
	const u32 send_recv = IB_ODP_SUPPORT_SEND | IB_ODP_SUPPORT_RECV |
			      IB_ODP_SUPPORT_SRQ_RECV;

	const u32 rc = send_recv | IB_ODP_SUPPORT_WRITE | IB_ODP_SUPPORT_READ |
		       IB_ODP_SUPPORT_ATOMIC;

	caps->general_caps = IB_ODP_SUPPORT | IB_ODP_SUPPORT_IMPLICIT;
	caps->per_transport_caps.rc_odp_caps = rc | SHCA_ODP_FLUSH |
					       SHCA_ODP_ATOMIC_WRITE;
	/* Its receives are those of SRQs. */
	caps->per_transport_caps.xrc_odp_caps = rc & ~IB_ODP_SUPPORT_RECV;
	caps->per_transport_caps.uc_odp_caps = send_recv | IB_ODP_SUPPORT_WRITE;
	caps->per_transport_caps.ud_odp_caps = send_recv;
}

int shca_odp_module_init(void)
{
	shca_odp_wq = alloc_workqueue("softhca_odp", WQ_UNBOUND, 0);
	return shca_odp_wq ? 0 : -ENOMEM;
}

void shca_odp_module_exit(void)
{
	destroy_workqueue(shca_odp_wq);
}
