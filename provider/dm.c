// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Device memory: its mapping for copies, its import, and its regions. */
#include "softhca.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <infiniband/cmd_ioctl.h>
#include <rdma/ib_user_ioctl_cmds.h>

/* Adapters copy whole words only; a program that works here works there. */
#define SHCA_DM_WORD	4

static inline struct shca_dm *to_shca_dm(struct ibv_dm *ibdm)
{
	return container_of(ibdm, struct shca_dm, vdm.dm);
}

static int shca_dm_check(const struct shca_dm *dm, uint64_t offset,
			 size_t length)
{
	if (offset > dm->length || length > dm->length - offset)
		return EFAULT;
	return (offset | length) % SHCA_DM_WORD ? EINVAL : 0;
}

static int shca_memcpy_to_dm(struct ibv_dm *ibdm, uint64_t offset,
			     const void *host, size_t length)
{
	struct shca_dm *dm = to_shca_dm(ibdm);
	int err = shca_dm_check(dm, offset, length);

	if (!err)
		memcpy(dm->map + offset, host, length);
	return err;
}

static int shca_memcpy_from_dm(void *host, struct ibv_dm *ibdm, uint64_t offset,
			       size_t length)
{
	struct shca_dm *dm = to_shca_dm(ibdm);
	int err = shca_dm_check(dm, offset, length);

	if (!err)
		memcpy(host, dm->map + offset, length);
	return err;
}

static int shca_dm_map(struct shca_dm *dm, struct ibv_context *ibctx,
		       const struct shca_dm_resp *resp)
{
	void *map;

	map = mmap(NULL, resp->map_len, PROT_READ | PROT_WRITE, MAP_SHARED,
		   ibctx->cmd_fd, resp->map_off);
	if (map == MAP_FAILED)
		return errno;
	dm->map = map;
	dm->map_len = resp->map_len;
	dm->length = resp->length;
	dm->vdm.dm.memcpy_to_dm = shca_memcpy_to_dm;
	dm->vdm.dm.memcpy_from_dm = shca_memcpy_from_dm;
	return 0;
}

static void shca_dm_unmap(struct shca_dm *dm)
{
	munmap(dm->map, dm->map_len);
	free(dm);
}

struct ibv_dm *shca_alloc_dm(struct ibv_context *ibctx,
			     struct ibv_alloc_dm_attr *attr)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC,
			       1);
	struct shca_dm_resp resp = {};
	struct shca_dm *dm;
	int err;

	if (attr->comp_mask) {
		errno = EINVAL;
		return NULL;
	}
	dm = calloc(1, sizeof(*dm));
	if (!dm)
		return NULL;
	fill_attr_out_ptr(cmd, SHCA_ATTR_ALLOC_DM_RESP, &resp);
	err = ibv_cmd_alloc_dm(ibctx, attr, &dm->vdm, cmd);
	/* The kernel's word for a method that a personality is without. */
	if (err == EPROTONOSUPPORT)
		err = EOPNOTSUPP;
	if (err)
		goto err_free;
	err = shca_dm_map(dm, ibctx, &resp);
	if (err)
		goto err_dm;
	return &dm->vdm.dm;

err_dm:
	ibv_cmd_free_dm(&dm->vdm);
err_free:
	free(dm);
	errno = err;
	return NULL;
}

int shca_free_dm(struct ibv_dm *ibdm)
{
	struct shca_dm *dm = to_shca_dm(ibdm);
	int err = ibv_cmd_free_dm(&dm->vdm);

	if (!err)
		shca_dm_unmap(dm);
	return err;
}

struct ibv_dm *shca_import_dm(struct ibv_context *ibctx, uint32_t handle)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_DM, SHCA_METHOD_DM_QUERY, 2);
	struct shca_dm_resp resp = {};
	struct shca_dm *dm;
	int err;

	dm = calloc(1, sizeof(*dm));
	if (!dm)
		return NULL;
	fill_attr_in_obj(cmd, SHCA_ATTR_QUERY_DM_HANDLE, handle);
	fill_attr_out_ptr(cmd, SHCA_ATTR_QUERY_DM_RESP, &resp);
	err = execute_ioctl(ibctx, cmd);
	if (!err)
		err = shca_dm_map(dm, ibctx, &resp);
	if (err) {
		free(dm);
		errno = err;
		return NULL;
	}
	dm->vdm.handle = handle;
	dm->vdm.dm.handle = handle;
	dm->vdm.dm.comp_mask = IBV_DM_MASK_HANDLE;
	dm->vdm.dm.context = ibctx;
	return &dm->vdm.dm;
}

/* The memory itself stays. */
void shca_unimport_dm(struct ibv_dm *ibdm)
{
	shca_dm_unmap(to_shca_dm(ibdm));
}

struct ibv_mr *shca_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *ibdm,
			      uint64_t offset, size_t length,
			      unsigned int access)
{
	struct verbs_mr *vmr;
	int err;

	vmr = calloc(1, sizeof(*vmr));
	if (!vmr)
		return NULL;
	err = ibv_cmd_reg_dm_mr(pd, &to_shca_dm(ibdm)->vdm, offset, length,
				access, vmr, NULL);
	if (err) {
		free(vmr);
		errno = err;
		return NULL;
	}
	return &vmr->ibv_mr;
}
