// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Memory shared with processes. The pages are allocated one by one, and vm_map_pages_zero()
 * takes a reference per mapped page. A mapping may therefore outlive the object, the device
 * and the module, and device removal never waits for a process to unmap.
 */
#include "buf.h"

#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <rdma/ib_verbs.h>

#include "../base/compat.h"

struct shca_mmap_entry {
	struct rdma_user_mmap_entry rdma;
	struct shca_buf *buf;
	bool writable;
};

static void shca_buf_free_pages(struct shca_buf *buf)
{
	unsigned int i;

	for (i = 0; i < buf->nr_pages && buf->pages[i]; i++)
		__free_page(buf->pages[i]);
	kvfree(buf->pages);
	kfree(buf);
}

struct shca_buf *shca_buf_alloc(size_t len)
{
	struct shca_buf *buf;
	unsigned int i;

	buf = kzalloc(sizeof(*buf), GFP_KERNEL_ACCOUNT);
	if (!buf)
		return NULL;
	kref_init(&buf->ref);
	buf->len = PAGE_ALIGN(len);
	buf->nr_pages = buf->len >> PAGE_SHIFT;
	buf->pages = kvcalloc(buf->nr_pages, sizeof(*buf->pages),
			      GFP_KERNEL_ACCOUNT);
	if (!buf->pages) {
		kfree(buf);
		return NULL;
	}
	for (i = 0; i < buf->nr_pages; i++) {
		/* A full memory cgroup fails the allocation and kills nobody. */
		buf->pages[i] = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO |
					   __GFP_NOWARN | __GFP_RETRY_MAYFAIL);
		if (!buf->pages[i])
			goto err_pages;
	}
	/* One page needs no mapping: it is in the direct map. */
	buf->va = buf->nr_pages == 1 ?
		  page_address(buf->pages[0]) :
		  vmap(buf->pages, buf->nr_pages, VM_MAP, PAGE_KERNEL);
	if (!buf->va)
		goto err_pages;
	return buf;

err_pages:
	shca_buf_free_pages(buf);
	return NULL;
}

static void shca_buf_release(struct kref *ref)
{
	struct shca_buf *buf = container_of(ref, struct shca_buf, ref);

	if (buf->nr_pages > 1)
		vunmap(buf->va);
	shca_buf_free_pages(buf);
}

void shca_buf_put(struct shca_buf *buf)
{
	if (buf)
		kref_put(&buf->ref, shca_buf_release);
}

int shca_mmap_insert(struct ib_ucontext *uctx, struct shca_buf *buf, bool writable,
		     struct rdma_user_mmap_entry **mmap)
{
	struct shca_mmap_entry *entry;
	int err;

	entry = kzalloc(sizeof(*entry), GFP_KERNEL_ACCOUNT);
	if (!entry)
		return -ENOMEM;
	entry->buf = buf;
	entry->writable = writable;
	kref_get(&buf->ref);
	err = rdma_user_mmap_entry_insert(uctx, &entry->rdma, buf->len);
	if (err) {
		shca_buf_put(buf);
		kfree(entry);
		return err;
	}
	*mmap = &entry->rdma;
	return 0;
}

void shca_mmap_free(struct rdma_user_mmap_entry *rdma)
{
	struct shca_mmap_entry *entry =
		container_of(rdma, struct shca_mmap_entry, rdma);

	shca_buf_put(entry->buf);
	kfree(entry);
}

int shca_mmap(struct ib_ucontext *uctx, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *rdma;
	struct shca_mmap_entry *entry;
	int err = -EINVAL;

	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	rdma = rdma_user_mmap_entry_get(uctx, vma);
	if (!rdma)
		return -EINVAL;
	entry = container_of(rdma, struct shca_mmap_entry, rdma);

	if (!entry->writable) {
		if (vma->vm_flags & VM_WRITE) {
			err = -EPERM;
			goto out;
		}
		vm_flags_clear(vma, VM_MAYWRITE);
	}
	vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);
	if (vma_pages(vma) == entry->buf->nr_pages)
		err = vm_map_pages_zero(vma, entry->buf->pages,
					entry->buf->nr_pages);
out:
	rdma_user_mmap_entry_put(rdma);
	return err;
}
