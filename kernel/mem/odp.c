// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * On-demand paging. An on-demand region pins nothing. It caches the kernel address of each
 * page that was looked up. An MMU interval notifier per chunk of pages clears the entry
 * before the kernel moves or frees the page. If a packet needs a page that is absent, a
 * worker fetches it while the packet waits (page_wait.c).
 *
 * Access. An access holds the lock of the pages for reading while it copies, and an
 * invalidation takes it for writing. Therefore no access outlives an invalidation, and pages
 * need no references. While an invalidation waits no access begins (shca_mr_guard()), so it
 * waits for one packet. A look-up works as in hmm.rst: it reads the notifier's sequence
 * first, and compares it under the lock before it stores the result. A read lock suffices,
 * because accesses may see a page appear, and @mutex serialises look-ups.
 *
 * Fetch. A fetch repeats two steps. get_user_pages_remote() looks up a page as it is. It
 * refuses memory that the kernel must not read: secret memory, device mappings. Device pages
 * are refused here, except those of files on DAX. If a page is absent, handle_mm_fault()
 * faults it in, which may sleep forever. Therefore the worker holds none of our locks, and
 * handle_mm_fault() must release the mmap_lock before it sleeps. It does that only on a first
 * try. On a second try (FAULT_FLAG_TRIED) it holds the mmap_lock, possibly forever, because a
 * worker cannot be killed. So each try is a first one. A read that fails then looks like one
 * that slept, and the number of tries is limited.
 *
 * Dirty pages. A look-up for writing succeeds only if the process may write the page at that
 * moment. get_user_pages_remote() ensures that the page table entry or the page is dirty
 * then. The kernel invalidates our entry before it cleans either, so it sees all earlier
 * writes. An invalidation, where sleeping is forbidden, need not mark the page dirty.
 *
 * Lifetime. The region and each fetch have a reference to struct shca_odp, which needs
 * neither region nor device. Deregistration marks it dead and does not wait. A worker frees
 * it after the last reference, because mmu_interval_notifier_remove() may sleep.
 *
 * Memory of chunks is charged to the process (pager.h). If an allocation fails, all other
 * chunks of the region are dropped; if it fails again, so does the access.
 *
 * An implicit region covers all memory of a process and has no end. It has chunks only where
 * pages were looked up.
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

/* Maximum time of one look-up while invalidations, or other users of locked pages, interfere. */
#define SHCA_ODP_RETRY_TIME	(10 * HZ)
/* Maximum faults without success: others lock the page, too, for example for write-back. */
#define SHCA_ODP_TRIES		256
/* Successful faults of a page that a look-up does not find, without an invalidation. */
#define SHCA_ODP_ANSWERS	64
/*
 * After this many idle rounds the worker pauses, up to 2^9 us: a process is not charged for
 * its CPU time.
 */
#define SHCA_ODP_EAGER		8
#define SHCA_ODP_PAUSE_SHIFT	9
/* Bytes of the same message that are prefetched with those of a packet. */
#define SHCA_ODP_AHEAD		(1u << 20)

/*
 * struct shca_odp_chunk - an aligned part of a region
 * @sub:	notifier for its range
 * @first: @nr:	its pages in the process
 * @nr_present:	present pages
 * @page:	kernel addresses of the pages, with SHCA_ODP_WRITE; 0: absent
 *
 * shca_odp.lock protects @nr_present and @page: write-locked to clear entries, read-locked
 * with shca_odp.mutex to add them.
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

static struct workqueue_struct *shca_odp_wq;

/* ---- access ------------------------------------------------------------------- */

static unsigned long shca_odp_entry(const struct shca_odp *odp,
				    unsigned long page)
{
	const struct shca_odp_chunk *chunk;

	chunk = xa_load((struct xarray *)&odp->chunks, shca_odp_index(page));
	/* READ_ONCE(): a look-up may be adding the entry. */
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
	/* It waits for accesses in progress, not for new ones (shca_mr_guard()). */
	write_lock_bh(&chunk->odp->lock);
	mmu_interval_set_seq(&chunk->sub, seq);
	for (i = first - chunk->first; i < end; i++) {
		if (chunk->page[i])
			chunk->nr_present--;
		/* WRITE_ONCE(): a look-up reads entries without @lock. */
		WRITE_ONCE(chunk->page[i], 0);
	}
	write_unlock_bh(&chunk->odp->lock);
	return true;
}

static const struct mmu_interval_notifier_ops shca_odp_ops = {
	.invalidate = shca_odp_invalidate,
};

/* ---- chunks ------------------------------------------------------------------- */

/* @chunk is in no table. */
static void shca_odp_chunk_free(struct shca_odp_chunk *chunk)
{
	mmu_interval_notifier_remove(&chunk->sub);
	kfree(chunk);
}

static void shca_odp_chunk_drop(struct shca_odp *odp,
				struct shca_odp_chunk *chunk)
{
	/* With the lock, no access is about to use the chunk. */
	write_lock_bh(&odp->lock);
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
	/* A full memory cgroup fails the allocation and kills nobody. */
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
	/* _bh: the array's lock nests in the lock of the pages, which softirqs take. */
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

/* Free a chunk without pages, which only costs memory. */
static void shca_odp_chunk_trim(struct shca_odp *odp, unsigned long index)
{
	struct shca_odp_chunk *chunk;
	bool empty;

	mutex_lock(&odp->mutex);
	chunk = xa_load(&odp->chunks, index);
	read_lock_bh(&odp->lock);
	empty = chunk && !chunk->nr_present;
	read_unlock_bh(&odp->lock);
	/* The chunk stays empty: pages are added under @mutex. */
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
		 * Still the same page: an invalidation would have cleared the entry. An
		 * access may read it.
		 */
		WRITE_ONCE(*entry, (unsigned long)page_address(pages[i]) |
				   (*entry & SHCA_ODP_WRITE) | may);
	}
}

/*
 * A device page may have no kernel address, and goes with its device. A page of a file on DAX
 * has an address; truncation and removal of the device unmap it first, and so invalidate it.
 */
static bool shca_odp_may_keep(const struct page *page)
{
	return !is_zone_device_page(page) ||
	       page_pgmap(page)->type == MEMORY_DEVICE_FS_DAX;
}

/*
 * Look up a run of at most @nr present pages from @page on.
 * Return: length of the run, or -EAGAIN if an invalidation interfered.
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
	/* The notifier protects entries, so they need no reference. */
	for (i = 0; i < got; i++)
		put_page(pages[i]);
	return usable;
}

/*
 * Look up @nr pages from @page on, all of one chunk.
 * @holes:	skip absent pages
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
		/* A page is present, too, if its access had to let an invalidation go first. */
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

/* Refuse what get_user_pages() refuses without trying. */
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
 * Fault in at most @nr pages from @page on, until one sleeps or fails. Never FAULT_FLAG_TRIED
 * (see above). Return: 0 to look up again; 1 likewise, after a sleep; or the error of the
 * first page.
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
		/* A fault may have zeroed a huge page. */
		cond_resched();
	}
	mmap_read_unlock(mm);
	return i ? 0 : err;
}

/* After a round of a fetch; the last @idle rounds brought nothing. */
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

/* Fetch @nr pages from @page on, all of one chunk, which need not exist yet. */
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
		 * The page is in memory but not mapped, and may be reclaimed during the next
		 * pause.
		 */
		if (err > 0)
			err = shca_odp_fault(odp->pager->mm, page, nr, write);
		if (err < 0)
			return err;
		/* For example unreadable pages, or secret memory, which cannot be looked up. */
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
		/* Batches that were present did not reschedule. */
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
	/* Otherwise the key names another region by now, and the retry looks it up. */
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
	case -EBUSY:	/* too many invalidations: the packet retries */
	case -ENOENT:	/* the retry finds that the region is gone */
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
	/* Prefetch may fail: these pages are not needed yet. */
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
	/* Freeing may sleep, and on the pager's workqueue the worker would wait for itself. */
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

/* Some kernels with FLUSH lack these bits in their uapi. */
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
	/* No region is left and no step can begin, so queued fetches end by themselves. */
	shca_pagers_gone();
	destroy_workqueue(shca_odp_wq);
}
