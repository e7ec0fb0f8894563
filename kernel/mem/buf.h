/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Memory shared with a process. The kernel has mapped the pages, and a process may map them
 * read-only or writable. They are freed when the object, the mmap offset and all mappings are
 * gone.
 */
#ifndef SHCA_BUF_H
#define SHCA_BUF_H

#include <linux/kref.h>
#include <linux/types.h>

struct ib_ucontext;
struct rdma_user_mmap_entry;
struct vm_area_struct;

/**
 * struct shca_buf - zeroed pages, virtually contiguous in the kernel
 * @ref:	one of the owner, and one of the mmap offset; a mapping of a process has
 *		references to the pages themselves
 * @va:		where the kernel has mapped them
 * @len:	bytes, a multiple of the page size
 * @nr_pages:	entries of @pages
 * @pages:	in their order
 */
struct shca_buf {
	struct kref ref;
	void *va;
	size_t len;
	unsigned int nr_pages;
	struct page **pages;
};

/**
 * shca_buf_alloc() - allocate zeroed pages
 * @len:	bytes, rounded up to pages
 *
 * The memory cgroup of the caller is charged.
 * Context: may sleep.
 * Return: the buffer with one reference, or NULL.
 */
struct shca_buf *shca_buf_alloc(size_t len);
/* Drop a reference; @buf may be NULL; may sleep. */
void shca_buf_put(struct shca_buf *buf);

/**
 * shca_mmap_insert() - give a buffer an mmap offset in a context
 * @uctx:	context of the process
 * @buf:	mapped as a whole
 * @writable:	whether the process may map it for writing
 * @mmap:	set to the entry, which holds a reference on @buf; unchanged on failure. Undone by
 *		rdma_user_mmap_entry_remove()
 *
 * Context: may sleep.
 * Return: 0 or errno.
 */
int shca_mmap_insert(struct ib_ucontext *uctx, struct shca_buf *buf, bool writable,
		     struct rdma_user_mmap_entry **mmap);

/* operations in struct ib_device_ops */
int shca_mmap(struct ib_ucontext *uctx, struct vm_area_struct *vma);
void shca_mmap_free(struct rdma_user_mmap_entry *entry);

#endif
