// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * An exporter of dma-bufs for tests/userspace/verbs/mem/dmabuf.c. It exports
 * ordinary memory, for kernels with neither udmabuf nor a heap, and buffers
 * that an importer must refuse. The parameters show which are in use.
 *
 * An ioctl() on /dev/softhca_exporter makes a buffer. The command is one of
 * KIND, the argument is the number of pages, and the result is a file
 * descriptor.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/dma-buf.h>
#include <linux/fs.h>
#include <linux/iosys-map.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

/* Commands that differ from those of all files; dmabuf.c has the same. */
enum kind {
	KIND_PLAIN = 0x5300,
	KIND_NO_VMAP,		/* cannot be mapped for the kernel */
	KIND_IOMEM,		/* has only a mapping of I/O memory */
	KIND_NO_ACCESS,		/* refuses access by the CPU, with EIO */
};

#define MAX_PAGES	4096

static atomic_t nr_buffers, nr_mapped, nr_accesses;

static int get_counter(char *text, const struct kernel_param *param)
{
	return sysfs_emit(text, "%d\n", atomic_read(param->arg));
}

static const struct kernel_param_ops counter_ops = { .get = get_counter };
module_param_cb(buffers, &counter_ops, &nr_buffers, 0444);
MODULE_PARM_DESC(buffers, "that there are");
module_param_cb(mapped, &counter_ops, &nr_mapped, 0444);
MODULE_PARM_DESC(mapped, "buffers that are mapped for the kernel");
module_param_cb(accesses, &counter_ops, &nr_accesses, 0444);
MODULE_PARM_DESC(accesses, "by the CPU that have begun and not ended");

struct buffer {
	enum kind kind;
	void *va;
};

static struct sg_table *map_attachment(struct dma_buf_attachment *attach,
				       enum dma_data_direction dir)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static void unmap_attachment(struct dma_buf_attachment *attach,
			     struct sg_table *table, enum dma_data_direction dir)
{
}

static void release(struct dma_buf *dmabuf)
{
	struct buffer *buf = dmabuf->priv;

	vfree(buf->va);
	kfree(buf);
	atomic_dec(&nr_buffers);
}

static int map_user(struct dma_buf *dmabuf, struct vm_area_struct *vma)
{
	struct buffer *buf = dmabuf->priv;

	return remap_vmalloc_range(vma, buf->va, vma->vm_pgoff);
}

static int map_kernel(struct dma_buf *dmabuf, struct iosys_map *map)
{
	struct buffer *buf = dmabuf->priv;

	if (buf->kind == KIND_IOMEM)
		iosys_map_set_vaddr_iomem(map, (void __iomem *)buf->va);
	else
		iosys_map_set_vaddr(map, buf->va);
	atomic_inc(&nr_mapped);
	return 0;
}

static void unmap_kernel(struct dma_buf *dmabuf, struct iosys_map *map)
{
	atomic_dec(&nr_mapped);
}

static int begin_access(struct dma_buf *dmabuf, enum dma_data_direction dir)
{
	struct buffer *buf = dmabuf->priv;

	might_sleep();
	if (buf->kind == KIND_NO_ACCESS)
		return -EIO;
	atomic_inc(&nr_accesses);
	return 0;
}

static int end_access(struct dma_buf *dmabuf, enum dma_data_direction dir)
{
	might_sleep();
	atomic_dec(&nr_accesses);
	return 0;
}

#define OPS						\
	.map_dma_buf = map_attachment,			\
	.unmap_dma_buf = unmap_attachment,		\
	.release = release,				\
	.mmap = map_user,				\
	.begin_cpu_access = begin_access,		\
	.end_cpu_access = end_access

static const struct dma_buf_ops ops = {
	OPS,
	.vmap = map_kernel,
	.vunmap = unmap_kernel,
};

static const struct dma_buf_ops ops_no_vmap = { OPS };

static struct dma_buf *export(enum kind kind, unsigned long pages)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct dma_buf *dmabuf;
	struct buffer *buf;

	buf = kzalloc(sizeof(*buf), GFP_KERNEL);
	if (!buf)
		return ERR_PTR(-ENOMEM);
	buf->kind = kind;
	buf->va = vmalloc_user(pages << PAGE_SHIFT);
	if (!buf->va) {
		kfree(buf);
		return ERR_PTR(-ENOMEM);
	}
	info.ops = kind == KIND_NO_VMAP ? &ops_no_vmap : &ops;
	info.size = pages << PAGE_SHIFT;
	info.flags = O_RDWR | O_CLOEXEC;
	info.priv = buf;
	dmabuf = dma_buf_export(&info);
	if (IS_ERR(dmabuf)) {
		vfree(buf->va);
		kfree(buf);
		return dmabuf;
	}
	atomic_inc(&nr_buffers);
	return dmabuf;
}

static long exporter_ioctl(struct file *file, unsigned int kind,
			   unsigned long pages)
{
	struct dma_buf *dmabuf;
	int fd;

	if (kind < KIND_PLAIN || kind > KIND_NO_ACCESS || !pages || pages > MAX_PAGES)
		return -EINVAL;
	dmabuf = export(kind, pages);
	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	fd = dma_buf_fd(dmabuf, O_CLOEXEC);
	if (fd < 0)
		dma_buf_put(dmabuf);
	return fd;
}

static const struct file_operations exporter_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = exporter_ioctl,
};

static struct miscdevice exporter = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "softhca_exporter",
	.fops = &exporter_fops,
};

module_misc_device(exporter);

MODULE_AUTHOR("The softhca developers");
MODULE_DESCRIPTION("An exporter of dma-bufs, for tests of their importers");
MODULE_LICENSE("Dual BSD/GPL");
/* MODULE_IMPORT_NS() takes a string on new kernels and an identifier on old ones. */
MODULE_INFO(import_ns, "DMA_BUF");
