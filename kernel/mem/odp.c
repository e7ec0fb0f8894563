// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * On-demand paging. Such a region pins nothing. It remembers the kernel address
 * of each page that was looked up. An MMU interval notifier per chunk of pages
 * makes it forget a page before the kernel moves or frees it. If a packet needs
 * a page that is not known, a worker fetches it while the packet waits
 * (page_wait.c).
 *
 * Access. An access holds the lock of the pages for reading while it copies. An
 * invalidation takes that lock for writing, so no access outlives it, and pages
 * need no reference. While it waits no access begins (shca_mr_guard()), so it waits
 * for one packet. A look-up works as in hmm.rst: it reads the notifier's
 * sequence first, and compares it under the lock before it keeps the result.
 * Reading is enough for that: accesses may see a page come, and no two look-ups
 * run at a time.
 *
 * Fetch. A fetch repeats two steps. get_user_pages_remote() looks a page up as
 * it is. It refuses memory that the kernel must not read: secret memory, device
 * mappings. Device pages are refused here, except those of files on DAX. If a
 * page is not present, handle_mm_fault() faults it in. It holds none of our
 * locks, because it may sleep forever, and it drops the mmap_lock meanwhile. It
 * drops that lock only on a first try. On a second one (FAULT_FLAG_TRIED) it
 * keeps it, and reports a failed read. A worker cannot be killed, so such a try
 * could hold the mmap_lock forever. So each try is a first one. A read that
 * fails looks like one that slept. So tries are counted, and a page that still
 * does not come is an error.
 *
 * Dirty pages. A look-up for writing succeeds only if the process may write the
 * page at that moment. get_user_pages_remote() ensures that the page table
 * entry or the page is dirty then. The kernel invalidates our copy of the
 * address before it cleans either, so it sees all earlier writes. So no page
 * must be marked dirty when it is forgotten, where sleeping is forbidden or it
 * is too late.
 *
 * Lifetime. The region and each fetch hold the pages (struct shca_odp). These
 * need neither region nor device. Deregistration marks them dead and does not
 * wait. The last reference is dropped to a worker that frees them, because
 * mmu_interval_notifier_remove() may sleep.
 *
 * Memory of chunks is charged to the process (pager.h). If there is none, other
 * chunks of the region are dropped. If that is not enough, the access fails.
 *
 * An implicit region covers all of a process's memory and has no end. It has
 * chunks where pages were looked up.
 *
 * Lock order: shca_odp.mutex, mmap_lock, the notifier's own, shca_odp.lock.
 */
#include "odp.h"

#include <linux/delay.h>
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "../base/compat.h"
#include "../base/dev.h"
#include "advice.h"
#include "mr.h"
#include "odp_pages.h"
#include "pager.h"

/*
 * Maximum time of one look-up that invalidations, or other users of locked
 * pages, disturb.
 */
#define SHCA_ODP_RETRY_TIME	(10 * HZ)
/*
 * Tries to fault in a page that slept and brought nothing. Many, because others
 * lock the page, too, for example for write-back.
 */
#define SHCA_ODP_TRIES		256
/* Successful faults of a page that a look-up does not find, without an invalidation. */
#define SHCA_ODP_ANSWERS	64
/*
 * Rounds without a new page before there is a pause between them, and the log2 of
 * the longest pause in microseconds. A worker's CPU time is not the process's.
 */
#define SHCA_ODP_EAGER		8
#define SHCA_ODP_PAUSE_SHIFT	9
/* Bytes of the same message that are prefetched with what a packet needs. */
#define SHCA_ODP_AHEAD		(1u << 20)

/*
 * struct shca_odp_chunk - an aligned part of a region
 * @sub:	notifier for its range
 * @first: @nr:	its pages in the process
 * @nr_present:	number of known pages
 * @page:	kernel addresses of the pages, with SHCA_ODP_WRITE; 0 if not
 *		known
 *
 * shca_odp.lock protects @nr_present and @page: writing forgets pages, reading and
 * shca_odp.mutex add them.
 */
struct shca_odp_chunk {
	struct mmu_interval_notifier sub;
	struct shca_odp *odp;
	unsigned long first;
	unsigned int nr;
	unsigned int nr_present;
	unsigned long page[];
};

#define SHCA_ODP_WRITE	1ul

static struct workqueue_struct *shca_odp_wq;	/* frees struct shca_odp */

/* ---- access ------------------------------------------------------------------- */

static unsigned long shca_odp_entry(const struct shca_odp *odp,
				    unsigned long page)
{
	const struct shca_odp_chunk *chunk;

	chunk = xa_load((struct xarray *)&odp->chunks, shca_odp_index(page));
	/* A look-up may add it at this moment. */
	return chunk ? READ_ONCE(chunk->page[page - chunk->first]) : 0;
}

static bool shca_odp_knows(const struct shca_odp *odp, unsigned long page,
			   bool write)
{
	unsigned long entry = shca_odp_entry(odp, page);

	return entry && (!write || entry & SHCA_ODP_WRITE);
}

bool shca_odp_present(const struct shca_mr *mr, u64 va, u64 len, bool write)
{
	unsigned long page = shca_odp_page(mr, va);
	unsigned long last = shca_odp_page(mr, va + len - 1);

	for (; page <= last; page++)
		if (!shca_odp_knows(mr->odp, page, write))
			return false;
	return true;
}

void *shca_odp_next(const struct shca_mr *mr, u64 va, u32 *len)
{
	unsigned long entry = shca_odp_entry(mr->odp, shca_odp_page(mr, va));
	u32 in_page = (va + mr->shift) & ~PAGE_MASK;

	*len = min_t(u32, *len, PAGE_SIZE - in_page);
	return (void *)(entry & ~SHCA_ODP_WRITE) + in_page;
}

/* ---- invalidation ------------------------------------------------------------- */

/*
 * No access is in progress afterwards. It waits for those that are, not for new ones. Bottom
 * halves are off from the beginning. A task that is preempted with @awaited raised would make
 * accesses, and the workers behind them, try again until it runs.
 */
static void shca_odp_write_lock(struct shca_odp *odp)
{
	local_bh_disable();
	atomic_inc(&odp->awaited);
	write_lock(&odp->lock);
	atomic_dec(&odp->awaited);
}

static bool shca_odp_invalidate(struct mmu_interval_notifier *sub,
				const struct mmu_notifier_range *range,
				unsigned long seq)
{
	struct shca_odp_chunk *chunk =
		container_of(sub, struct shca_odp_chunk, sub);
	unsigned long first = range->start >> PAGE_SHIFT;
	unsigned long last = (range->end - 1) >> PAGE_SHIFT;
	unsigned int i, end;

	first = max(first, chunk->first);
	last = min(last, chunk->first + chunk->nr - 1);
	end = last - chunk->first + 1;
	shca_odp_write_lock(chunk->odp);
	mmu_interval_set_seq(&chunk->sub, seq);
	for (i = first - chunk->first; i < end; i++) {
		if (chunk->page[i])
			chunk->nr_present--;
		/* A look-up may be asking whether it knows the page. */
		WRITE_ONCE(chunk->page[i], 0);
	}
	write_unlock_bh(&chunk->odp->lock);
	return true;
}

static const struct mmu_interval_notifier_ops shca_odp_ops = {
	.invalidate = shca_odp_invalidate,
};

/* ---- chunks ------------------------------------------------------------------- */

/* Frees a chunk that is in no table. */
static void shca_odp_chunk_free(struct shca_odp_chunk *chunk)
{
	mmu_interval_notifier_remove(&chunk->sub);
	kfree(chunk);
}

static void shca_odp_chunk_drop(struct shca_odp *odp,
				struct shca_odp_chunk *chunk)
{
	/* The lock ensures that no access is about to use the chunk. */
	shca_odp_write_lock(odp);
	xa_erase(&odp->chunks, shca_odp_index(chunk->first));
	write_unlock_bh(&odp->lock);
	shca_odp_chunk_free(chunk);
}

static void shca_odp_chunk_drop_all(struct shca_odp *odp)
{
	struct shca_odp_chunk *chunk;
	unsigned long index;

	xa_for_each(&odp->chunks, index, chunk) {
		shca_odp_chunk_drop(odp, chunk);
		cond_resched();
	}
}

static struct shca_odp_chunk *shca_odp_chunk_make(struct shca_odp *odp,
						  unsigned long index)
{
	/* A full memory cgroup fails the allocation; nobody is killed. */
	const gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_NOWARN |
			  __GFP_RETRY_MAYFAIL;
	unsigned long first = shca_odp_chunk_first(index, odp->first);
	unsigned long last = shca_odp_chunk_last(index, odp->last);
	struct shca_odp_chunk *chunk;
	int err;

	lockdep_assert_held(&odp->mutex);
	chunk = kzalloc(struct_size(chunk, page, last - first + 1), gfp);
	if (!chunk)
		return ERR_PTR(-ENOMEM);
	chunk->odp = odp;
	chunk->first = first;
	chunk->nr = last - first + 1;
	err = mmu_interval_notifier_insert(&chunk->sub, odp->pager->mm,
					   first << PAGE_SHIFT,
					   (unsigned long)chunk->nr << PAGE_SHIFT,
					   &shca_odp_ops);
	if (err) {
		kfree(chunk);
		return ERR_PTR(err);
	}
	/*
	 * The array's lock nests in the lock of the pages, which softirqs take.
	 * Hence _bh.
	 */
	err = xa_err(xa_store_bh(&odp->chunks, index, chunk, gfp));
	if (err) {
		shca_odp_chunk_free(chunk);
		return ERR_PTR(err);
	}
	return chunk;
}

static struct shca_odp_chunk *shca_odp_chunk_get(struct shca_odp *odp,
						 unsigned long index)
{
	struct shca_odp_chunk *chunk = xa_load(&odp->chunks, index);

	if (chunk)
		return chunk;
	chunk = shca_odp_chunk_make(odp, index);
	if (PTR_ERR(chunk) != -ENOMEM)
		return chunk;
	shca_odp_chunk_drop_all(odp);
	return shca_odp_chunk_make(odp, index);
}

/* Frees a chunk without known pages, which would only cost memory. */
static void shca_odp_chunk_trim(struct shca_odp *odp, unsigned long index)
{
	struct shca_odp_chunk *chunk;
	bool empty;

	mutex_lock(&odp->mutex);
	chunk = xa_load(&odp->chunks, index);
	read_lock_bh(&odp->lock);
	empty = chunk && !chunk->nr_present;
	read_unlock_bh(&odp->lock);
	/* It stays empty: pages are added under the mutex only. */
	if (empty)
		shca_odp_chunk_drop(odp, chunk);
	mutex_unlock(&odp->mutex);
}

/* ---- look-up ------------------------------------------------------------------ */

static void shca_odp_keep(struct shca_odp_chunk *chunk, unsigned long page,
			  struct page **pages, unsigned int nr, bool write)
{
	unsigned long *entry = &chunk->page[page - chunk->first];
	unsigned long may = write ? SHCA_ODP_WRITE : 0;
	unsigned int i;

	lockdep_assert_held(&chunk->odp->mutex);
	lockdep_assert_held(&chunk->odp->lock);
	for (i = 0; i < nr; i++, entry++) {
		if (!*entry)
			chunk->nr_present++;
		/*
		 * It is the same page: an invalidation would have removed the entry. At
		 * once: an access may be reading it.
		 */
		WRITE_ONCE(*entry, (unsigned long)page_address(pages[i]) |
				   (*entry & SHCA_ODP_WRITE) | may);
	}
}

/*
 * A device page may have no kernel address, and goes with its device. One of a file on DAX
 * has an address. Truncation and the end of its device unmap it first, and so invalidate it.
 */
static bool shca_odp_may_keep(const struct page *page)
{
	return !is_zone_device_page(page) ||
	       page_pgmap(page)->type == MEMORY_DEVICE_FS_DAX;
}

/*
 * Looks up a run of present pages, from @page on, at most @nr.
 *
 * Return: length of the run, or -EAGAIN if an invalidation came between.
 */
static int shca_odp_look_run(struct shca_odp_chunk *chunk, unsigned long page,
			     unsigned int nr, bool write)
{
	struct shca_odp *odp = chunk->odp;
	struct mm_struct *mm = odp->pager->mm;
	struct page *pages[SHCA_ODP_BATCH];
	int got, usable = 0, i;
	unsigned long seq;

	seq = mmu_interval_read_begin(&chunk->sub);
	mmap_read_lock(mm);
	got = shca_gup_remote(mm, page << PAGE_SHIFT, nr,
			      FOLL_NOFAULT | (write ? FOLL_WRITE : 0), pages);
	mmap_read_unlock(mm);
	if (got <= 0)
		return 0;
	while (usable < got && shca_odp_may_keep(pages[usable]))
		usable++;
	read_lock_bh(&odp->lock);
	if (mmu_interval_read_retry(&chunk->sub, seq))
		usable = -EAGAIN;
	else
		shca_odp_keep(chunk, page, pages, usable, write);
	read_unlock_bh(&odp->lock);
	/* The notifier protects kept pages, so they need no reference. */
	for (i = 0; i < got; i++)
		put_page(pages[i]);
	return usable;
}

/*
 * Looks up @nr pages from @page on, all of one chunk.
 * @holes:	skip pages that are not present and go on
 *
 * Return: how many are done, or an error.
 */
static int shca_odp_look(struct shca_odp *odp, unsigned long page,
			 unsigned int nr, bool write, bool holes)
{
	struct shca_odp_chunk *chunk;
	unsigned int done = 0;
	int got = 0;

	mutex_lock(&odp->mutex);
	chunk = shca_odp_chunk_get(odp, shca_odp_index(page));
	if (IS_ERR(chunk)) {
		mutex_unlock(&odp->mutex);
		return PTR_ERR(chunk);
	}
	while (done < nr) {
		/* An access that made way for an invalidation misses no page. */
		if (shca_odp_knows(odp, page + done, write)) {
			done++;
			continue;
		}
		got = shca_odp_look_run(chunk, page + done, nr - done, write);
		if (got <= 0 && !(holes && !got))
			break;
		done += max(got, 1);
	}
	mutex_unlock(&odp->mutex);
	return done ?: got;
}

/* ---- page faults -------------------------------------------------------------- */

/* Refuses what get_user_pages() would refuse without trying. */
static int shca_odp_may(const struct vm_area_struct *vma, unsigned long va,
			bool write)
{
	if (!vma || va < vma->vm_start || vma->vm_flags & (VM_IO | VM_PFNMAP))
		return -EFAULT;
	if (write)
		return vma->vm_flags & VM_WRITE ? 0 : -EPERM;
	return vma->vm_flags & VM_READ ? 0 : -EFAULT;
}

/*
 * Faults in pages from @page on, until one sleeps or fails, at most @nr. While
 * one sleeps, the mmap_lock is not held: never FAULT_FLAG_TRIED (see above).
 *
 * Return: 0 to look up again; 1 if it has slept, too; or the error of the first
 * page.
 */
static int shca_odp_fault(struct mm_struct *mm, unsigned long page,
			  unsigned int nr, bool write)
{
	unsigned int flags = FAULT_FLAG_REMOTE | FAULT_FLAG_ALLOW_RETRY |
			     FAULT_FLAG_KILLABLE |
			     (write ? FAULT_FLAG_WRITE : 0);
	struct vm_area_struct *vma;
	unsigned long va;
	unsigned int i;
	vm_fault_t ret;
	int err = 0;

	mmap_read_lock(mm);
	for (i = 0; i < nr && !err; i++) {
		va = (page + i) << PAGE_SHIFT;
		vma = find_vma(mm, va);
		err = shca_odp_may(vma, va, write);
		if (err)
			break;
		ret = handle_mm_fault(vma, va, flags, NULL);
		/* handle_mm_fault() has dropped the mmap_lock. */
		if (ret & (VM_FAULT_RETRY | VM_FAULT_COMPLETED))
			return !!(ret & VM_FAULT_RETRY);
		if (ret & VM_FAULT_ERROR) {
			err = vm_fault_to_errno(ret, 0);
			break;
		}
		/* Each may have zeroed a huge page. */
		cond_resched();
	}
	mmap_read_unlock(mm);
	return i ? 0 : err;
}

/* Between rounds of a fetch. @idle: how many have brought nothing */
static void shca_odp_pause(unsigned int idle)
{
	unsigned int us;

	cond_resched();
	if (idle <= SHCA_ODP_EAGER)
		return;
	us = 1u << min_t(unsigned int, idle - SHCA_ODP_EAGER + 3,
			 SHCA_ODP_PAUSE_SHIFT);
	usleep_range(us, 2 * us);
}

/* Fetches @nr pages from @page on, all of one chunk, which need not exist yet. */
static int shca_odp_fetch_some(struct shca_odp *odp, unsigned long page,
			       unsigned int nr, bool write, bool fault)
{
	unsigned long deadline = jiffies + SHCA_ODP_RETRY_TIME;
	unsigned int idle = 0, tries = 0, answers = 0;
	int got, err;

	for (;; idle++) {
		got = shca_odp_look(odp, page, nr, write, !fault);
		if (got < 0 && got != -EAGAIN)
			return got;
		if (got > 0) {
			page += got;
			nr -= got;
			tries = 0;
			idle = 0;
		}
		if (got)
			answers = 0;
		if (!nr)
			return 0;
		if (READ_ONCE(odp->dead))
			return -ENOENT;
		shca_odp_pause(idle);
		if (time_after(jiffies, deadline))
			return -EBUSY;
		if (got == -EAGAIN || !fault)
			continue;
		err = shca_odp_fault(odp->pager->mm, page, nr, write);
		/*
		 * What it slept for is there now, but not mapped, and may not stay: the
		 * kernel may drop it during the next pause.
		 */
		if (err > 0)
			err = shca_odp_fault(odp->pager->mm, page, nr, write);
		if (err < 0)
			return err;
		/*
		 * A page that cannot be read, for example; or memory that cannot
		 * be looked up: secret memory.
		 */
		if (err ? ++tries > SHCA_ODP_TRIES :
			  ++answers > SHCA_ODP_ANSWERS)
			return -EFAULT;
	}
}

static int shca_odp_fetch_batch(struct shca_odp *odp, unsigned long page,
				unsigned int nr, bool write, bool fault)
{
	int err = shca_odp_fetch_some(odp, page, nr, write, fault);

	if (err || !fault)
		shca_odp_chunk_trim(odp, shca_odp_index(page));
	return err;
}

int shca_odp_fetch_pages(struct shca_odp *odp, unsigned long page,
			 unsigned long last, bool write, bool fault)
{
	struct shca_pager_stay stay;
	unsigned int nr;
	int err;

	err = shca_pager_enter(odp->pager, &stay);
	if (err)
		return err;
	for (; !err && page <= last; page += nr) {
		nr = shca_odp_batch(page, last);
		err = READ_ONCE(odp->dead) ? -ENOENT :
		      shca_pager_is_orphan(odp->pager) ? -EFAULT :
		      shca_odp_fetch_batch(odp, page, nr, write, fault);
		/* A batch that is present already has done without. */
		cond_resched();
	}
	shca_pager_leave(odp->pager, &stay);
	return err;
}

/* ---- for packets -------------------------------------------------------------- */

enum shca_mem_status shca_odp_aim(const struct shca_odp_want *want,
				  struct shca_odp_aim *aim)
{
	u64 va = want->va, len = want->len, span;
	const struct shca_mr *pages;
	enum shca_mem_status status;
	struct shca_mr *mr;

	aim->odp = NULL;
	aim->write = want->access & SHCA_MR_WRITES;
	status = shca_mr_get(&want->who, want->key, want->access, va, len,
			     false, &mr);
	if (status != SHCA_MEM_OK)
		return status;
	pages = mr->type == SHCA_MR_WINDOW ? mr->parent : mr;
	/* If the key names another region by now, it is looked up again. */
	if (pages->type == SHCA_MR_ODP) {
		span = min(want->span, mr->length - (va - mr->iova));
		span = clamp_t(u64, span, len, len + SHCA_ODP_AHEAD);
		va += pages == mr ? 0 : mr->shift;
		aim->odp = pages->odp;
		aim->first = shca_odp_page(pages, va);
		aim->last = shca_odp_page(pages, va + len - 1);
		aim->ahead = shca_odp_page(pages, va + span - 1);
		refcount_inc(&aim->odp->ref);
	}
	shca_mr_put(mr);
	return SHCA_MEM_OK;
}

void *shca_odp_alloc(const struct shca_odp_aim *aim, size_t size)
{
	if (!aim->odp)
		return kzalloc(size, GFP_ATOMIC | __GFP_NOWARN);
	return shca_pager_alloc(aim->odp->pager, size);
}

void shca_odp_queue(const struct shca_odp_aim *aim, struct work_struct *work)
{
	queue_work(aim->odp ? aim->odp->pager->wq : shca_odp_wq, work);
}

static enum shca_mem_status shca_odp_status(int err)
{
	switch (err) {
	case 0:
	case -EBUSY:	/* too many invalidations: the packet tries again */
	case -ENOENT:	/* then it learns that there is no such region */
		return SHCA_MEM_OK;
	case -EPERM:
		return SHCA_MEM_ACCESS;
	default:
		return SHCA_MEM_RANGE;
	}
}

enum shca_mem_status shca_odp_fetch(const struct shca_odp_aim *aim)
{
	enum shca_mem_status status;

	if (!aim->odp)
		return SHCA_MEM_OK;
	status = shca_odp_status(shca_odp_fetch_pages(aim->odp, aim->first,
						      aim->last, aim->write,
						      true));
	/* The pages ahead are not needed yet, so their fetch may fail. */
	if (status == SHCA_MEM_OK && aim->ahead > aim->last)
		shca_odp_fetch_pages(aim->odp, aim->last + 1, aim->ahead,
				     aim->write, true);
	return status;
}

/* ---- lifetime ----------------------------------------------------------------- */

static void shca_odp_reap(struct work_struct *work)
{
	struct shca_odp *odp = container_of(work, struct shca_odp, reap);

	shca_odp_chunk_drop_all(odp);
	xa_destroy(&odp->chunks);
	mutex_destroy(&odp->mutex);
	shca_pager_put(odp->pager);
	kfree(odp);
}

void shca_odp_put(struct shca_odp *odp)
{
	/* On another workqueue: removing a notifier may sleep. A worker of the
	 * pager would wait for itself.
	 */
	if (refcount_dec_and_test(&odp->ref))
		queue_work(shca_odp_wq, &odp->reap);
}

int shca_odp_init(struct shca_mr *mr, u64 addr, u64 length, bool writable)
{
	struct shca_odp *odp = kzalloc(sizeof(*odp), GFP_KERNEL_ACCOUNT);
	int err;

	if (!odp)
		return -ENOMEM;
	odp->pager = shca_pager_get(shca_advise_work);
	if (IS_ERR(odp->pager)) {
		err = PTR_ERR(odp->pager);
		kfree(odp);
		return err;
	}
	refcount_set(&odp->ref, 1);
	rwlock_init(&odp->lock);
	odp->first = addr >> PAGE_SHIFT;
	odp->last = length == U64_MAX ? ULONG_MAX >> PAGE_SHIFT :
					(addr + length - 1) >> PAGE_SHIFT;
	odp->writable = writable;
	mutex_init(&odp->mutex);
	xa_init_flags(&odp->chunks, XA_FLAGS_LOCK_BH | XA_FLAGS_ACCOUNT);
	INIT_WORK(&odp->reap, shca_odp_reap);
	mr->odp = odp;
	mr->guard = &odp->lock;
	return 0;
}

void shca_odp_destroy(struct shca_mr *mr)
{
	if (!mr->odp)
		return;
	WRITE_ONCE(mr->odp->dead, true);
	shca_odp_put(mr->odp);
	mr->odp = NULL;
}

/*
 * The uapi of some kernels with these operations lacks them; those have no
 * FLUSH, either.
 */
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
	/* XRC receives through SRQs only. */
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
	/* No region is left. A queued fetch still ends by itself: no step is in
	 * progress, and none can begin.
	 */
	shca_pagers_gone();
	destroy_workqueue(shca_odp_wq);
}
