// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Memory regions made of dma-bufs (udmabuf, the system heap, GPUs that can).
 *
 * The adapter is the CPU, so no device can attach to a dma-buf. softhca uses a kernel mapping
 * (vmap). The exporter keeps the memory in place while the mapping exists, so softhca needs
 * no move notification. A dma-buf without such a mapping, or with a mapping of I/O memory, is
 * refused.
 *
 * CPU access begins with the registration and ends with the region, because packets arrive in
 * softirq, where neither can be called. Some devices and CPUs are not coherent. There the
 * process must bracket a device's accesses (DMA_BUF_IOCTL_SYNC), as for its own mapping.
 *
 * This file is the only caller of exporters, in process context with none of our locks held.
 */
#include "dmabuf.h"

#include <linux/dma-buf.h>
#include <linux/fs.h>
#include <linux/iosys-map.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "../base/compat.h"
#include "../base/dev.h"
#include "user_mr.h"

struct shca_dmabuf {
	struct dma_buf *buf;
	struct iosys_map map;
};

/* Older kernels have only the form that takes the lock, under this name. */
#ifdef HAVE_DMA_BUF_VMAP_UNLOCKED
#define shca_dmabuf_vmap	dma_buf_vmap_unlocked
#define shca_dmabuf_vunmap	dma_buf_vunmap_unlocked
#else
#define shca_dmabuf_vmap	dma_buf_vmap
#define shca_dmabuf_vunmap	dma_buf_vunmap
#endif

/*
 * Detects a defect of udmabuf in Linux 6.12: each page of a huge page is mapped as the first
 * one, so data would land elsewhere. The sign is a first page whose successor in the list is
 * not its second page. Buffers of only the first page of a huge page are refused, too, at
 * little harm.
 */
static bool shca_dmabuf_is_torn(const struct shca_dmabuf *db)
{
	struct page *page, *head = NULL;
	size_t off;

	if (strcmp(db->buf->exp_name, "udmabuf") ||
	    !is_vmalloc_addr(db->map.vaddr))
		return false;
	for (off = 0; off < db->buf->size; off += PAGE_SIZE) {
		page = vmalloc_to_page(db->map.vaddr + off);
		if (head && page_to_pfn(page) != page_to_pfn(head) + 1)
			return true;
		head = PageHead(page) ? page : NULL;
		cond_resched();
	}
	return head;
}

static int shca_dmabuf_map(struct shca_dmabuf *db)
{
	int err;

	/* The dma-buf core warns when a mapping fails. */
	if (!db->buf->ops->vmap)
		return -EOPNOTSUPP;
	err = shca_dmabuf_vmap(db->buf, &db->map);
	if (err)
		return err;
	if (db->map.is_iomem || shca_dmabuf_is_torn(db))
		err = -EOPNOTSUPP;
	else
		err = dma_buf_begin_cpu_access(db->buf, DMA_BIDIRECTIONAL);
	if (err)
		shca_dmabuf_vunmap(db->buf, &db->map);
	return err;
}

/*
 * The kernel's mapping is writable, whatever the mode of the file. So a region grants no more
 * than mmap() of that file does. Each region is readable by its lkey.
 */
static bool shca_dmabuf_may(const struct dma_buf *buf, int access)
{
	fmode_t needed = FMODE_READ;

	if (ib_access_writable(access))
		needed |= FMODE_WRITE;
	return (buf->file->f_mode & needed) == needed;
}

static struct shca_dmabuf *shca_dmabuf_get(int fd, u64 offset, u64 length,
					   int access)
{
	struct shca_dmabuf *db;
	int err;

	db = kzalloc(sizeof(*db), GFP_KERNEL_ACCOUNT);
	if (!db)
		return ERR_PTR(-ENOMEM);
	db->buf = dma_buf_get(fd);
	if (IS_ERR(db->buf)) {
		err = PTR_ERR(db->buf);
		goto err_free;
	}
	err = -EACCES;
	if (!shca_dmabuf_may(db->buf, access))
		goto err_put;
	err = -EINVAL;
	if (offset > db->buf->size || length > db->buf->size - offset)
		goto err_put;
	err = shca_dmabuf_map(db);
	if (err)
		goto err_put;
	return db;

err_put:
	dma_buf_put(db->buf);
err_free:
	kfree(db);
	return ERR_PTR(err);
}

static void shca_dmabuf_put(void *backing)
{
	struct shca_dmabuf *db = backing;

	dma_buf_end_cpu_access(db->buf, DMA_BIDIRECTIONAL);
	shca_dmabuf_vunmap(db->buf, &db->map);
	dma_buf_put(db->buf);
	kfree(db);
}

struct ib_mr *shca_reg_user_mr_dmabuf(struct ib_pd *ibpd, u64 offset,
				      u64 length, u64 iova, int fd, int access,
				      struct ib_dmah *dmah,
				      struct uverbs_attr_bundle *attrs)
{
	const struct shca_dev *dev = to_shca_dev(ibpd->device);
	struct shca_dmabuf *db;

	if (access & ~(SHCA_MR_RIGHTS | IB_ACCESS_OPTIONAL))
		return ERR_PTR(-EOPNOTSUPP);
	if (!length || length > shca_limit(dev, MR_SIZE) ||
	    iova + length < iova)
		return ERR_PTR(-EINVAL);
	db = shca_dmabuf_get(fd, offset, length, access);
	if (IS_ERR(db))
		return ERR_CAST(db);
	return shca_mapped_mr(ibpd, &(struct shca_mapped){
		.va = db->map.vaddr + offset,
		.length = length,
		.iova = iova,
		.access = access,
		.backing = db,
		.release = shca_dmabuf_put,
	});
}

/* MODULE_IMPORT_NS() takes a string on new kernels and an identifier on old ones. */
MODULE_INFO(import_ns, "DMA_BUF");
