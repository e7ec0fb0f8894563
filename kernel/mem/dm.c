// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Device memory is kernel memory. A process accesses it through a mapping, as with adapters
 * that expose their memory over the bus. That needs no system call, and the mapping survives
 * the removal of the device. All other accesses go through regions.
 *
 * The amounts resemble an adapter's, so that programs meet the same limits. A context can
 * have the advertised size, all contexts together a multiple of it. Memory is allocated in
 * whole pages and charged to the memory cgroup, as rings are.
 */
#include "dm.h"

#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

#define UVERBS_MODULE_NAME softhca
#include <rdma/uverbs_named_ioctl.h>

#include "../base/dev.h"
#include "../inject/fault.h"
#include "../../uapi/softhca-abi.h"
#include "buf.h"
#include "user_mr.h"

/* @uctx outlives its device memory. */
struct shca_dm {
	struct ib_dm ibdm;
	struct shca_ucontext *uctx;
	struct shca_buf *buf;
	struct rdma_user_mmap_entry *mmap;
	u64 length;
};

static struct shca_dm *to_shca_dm(struct ib_dm *ibdm)
{
	return container_of(ibdm, struct shca_dm, ibdm);
}

/* ---- limits ----------------------------------------------------------------- */

/* Bytes of all contexts of a device */
#define SHCA_DM_TOTAL	(16 << 20)

static bool shca_dm_take(atomic_t *bytes, int wanted, int limit)
{
	int had = atomic_read(bytes);

	do {
		if (wanted > limit - had)
			return false;
	} while (!atomic_try_cmpxchg(bytes, &had, had + wanted));
	return true;
}

static bool shca_dm_charge(struct shca_dev *dev, struct shca_ucontext *uctx,
			   int bytes)
{
	if (!shca_dm_take(&uctx->dm_bytes, bytes,
			  shca_limit(dev, DM)))
		return false;
	if (shca_dm_take(&dev->nr[SHCA_LIMIT_DM], bytes, SHCA_DM_TOTAL))
		return true;
	atomic_sub(bytes, &uctx->dm_bytes);
	return false;
}

static void shca_dm_uncharge(struct shca_dev *dev, struct shca_ucontext *uctx,
			     int bytes)
{
	atomic_sub(bytes, &dev->nr[SHCA_LIMIT_DM]);
	atomic_sub(bytes, &uctx->dm_bytes);
}

/* ---- allocation --------------------------------------------------------------- */

static void shca_dm_free(struct shca_dev *dev, struct shca_dm *dm)
{
	rdma_user_mmap_entry_remove(dm->mmap);
	shca_dm_uncharge(dev, dm->uctx, dm->buf->len);
	shca_buf_put(dm->buf);
	kfree(dm);
}

static struct shca_dm *shca_dm_make(struct shca_dev *dev,
				    struct shca_ucontext *uctx, u64 length)
{
	int bytes = PAGE_ALIGN(length);
	int err = -ENOMEM;
	struct shca_dm *dm;

	dm = kzalloc(sizeof(*dm), GFP_KERNEL_ACCOUNT);
	if (!dm)
		return ERR_PTR(-ENOMEM);
	dm->uctx = uctx;
	dm->length = length;
	if (!shca_dm_charge(dev, uctx, bytes))
		goto err_free;
	dm->buf = shca_buf_alloc(length);
	if (!dm->buf)
		goto err_uncharge;
	err = shca_mmap_insert(&uctx->ibuc, dm->buf, true, &dm->mmap);
	if (!err)
		return dm;
	shca_buf_put(dm->buf);
err_uncharge:
	shca_dm_uncharge(dev, uctx, bytes);
err_free:
	kfree(dm);
	return ERR_PTR(err);
}

static int shca_dm_tell(struct uverbs_attr_bundle *attrs, size_t attr,
			const struct shca_dm *dm)
{
	struct shca_dm_resp resp = {
		.map_off = rdma_user_mmap_get_offset(dm->mmap),
		.map_len = dm->buf->len,
		.length = dm->length,
	};

	return uverbs_copy_to_struct_or_zero(attrs, attr, &resp, sizeof(resp));
}

struct ib_dm *shca_alloc_dm(struct ib_device *ibdev, struct ib_ucontext *ibuc,
			    struct ib_dm_alloc_attr *attr,
			    struct uverbs_attr_bundle *attrs)
{
	struct shca_dev *dev = to_shca_dev(ibdev);
	struct shca_dm *dm;
	int err;

	err = shca_fault_verb(ibdev, SHCA_FAULT_VERB_ALLOC_DM);
	if (err)
		return ERR_PTR(err);
	/* Device memory is page-aligned. */
	if (!attr->length || attr->alignment > PAGE_SHIFT)
		return ERR_PTR(-EINVAL);
	if (attr->length > shca_limit(dev, DM))
		return ERR_PTR(-ENOMEM);
	dm = shca_dm_make(dev, container_of(ibuc, struct shca_ucontext, ibuc),
			  attr->length);
	if (IS_ERR(dm))
		return ERR_CAST(dm);
	err = shca_dm_tell(attrs, SHCA_ATTR_ALLOC_DM_RESP, dm);
	if (err) {
		shca_dm_free(dev, dm);
		return ERR_PTR(err);
	}
	return &dm->ibdm;
}

int shca_dealloc_dm(struct ib_dm *ibdm, struct uverbs_attr_bundle *attrs)
{
	shca_dm_free(to_shca_dev(ibdm->device), to_shca_dm(ibdm));
	return 0;
}

/* ---- regions ------------------------------------------------------------------ */

static void shca_dm_release(void *backing)
{
	shca_buf_put(backing);
}

struct ib_mr *shca_reg_dm_mr(struct ib_pd *ibpd, struct ib_dm *ibdm,
			     struct ib_dm_mr_attr *attr,
			     struct uverbs_attr_bundle *attrs)
{
	struct shca_buf *buf = to_shca_dm(ibdm)->buf;

	/* The RDMA core has checked the range (length 0 is valid), and that it is zero-based. */
	if (attr->access_flags & ~(SHCA_MR_RIGHTS | IB_ZERO_BASED |
				   IB_ACCESS_OPTIONAL))
		return ERR_PTR(-EOPNOTSUPP);
	kref_get(&buf->ref);
	return shca_mapped_mr(ibpd, &(struct shca_mapped){
		.va = buf->va + attr->offset,
		.length = attr->length,
		.access = attr->access_flags,
		.backing = buf,
		.release = shca_dm_release,
	});
}

/* ---- uverbs methods ------------------------------------------------------------- */

static int UVERBS_HANDLER(SHCA_METHOD_DM_QUERY)(struct uverbs_attr_bundle *attrs)
{
	struct ib_dm *ibdm;

	ibdm = uverbs_attr_get_obj(attrs, SHCA_ATTR_QUERY_DM_HANDLE);
	if (IS_ERR(ibdm))
		return PTR_ERR(ibdm);
	return shca_dm_tell(attrs, SHCA_ATTR_QUERY_DM_RESP, to_shca_dm(ibdm));
}

ADD_UVERBS_ATTRIBUTES_SIMPLE(
	shca_dm_alloc, UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC,
	UVERBS_ATTR_PTR_OUT(SHCA_ATTR_ALLOC_DM_RESP,
			    UVERBS_ATTR_STRUCT(struct shca_dm_resp, length),
			    UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(
	SHCA_METHOD_DM_QUERY,
	UVERBS_ATTR_IDR(SHCA_ATTR_QUERY_DM_HANDLE, UVERBS_OBJECT_DM,
			UVERBS_ACCESS_READ, UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(SHCA_ATTR_QUERY_DM_RESP,
			    UVERBS_ATTR_STRUCT(struct shca_dm_resp, length),
			    UA_MANDATORY));

ADD_UVERBS_METHODS(shca_dm_methods, UVERBS_OBJECT_DM,
		   &UVERBS_METHOD(SHCA_METHOD_DM_QUERY));

const struct uapi_definition shca_dm_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DM, &shca_dm_alloc),
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DM, &shca_dm_methods),
	{},
};
