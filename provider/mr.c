// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Memory regions: registration and re-registration. */
#include "softhca.h"

#include <errno.h>
#include <stdlib.h>

/* @flags: SHCA_REG_MR_* */
static struct ibv_mr *shca_reg(struct ibv_pd *pd, void *addr, size_t length,
			       uint64_t iova, int access, uint64_t flags)
{
	struct shca_cmd_reg_mr cmd = { .drv_payload.flags = flags };
	struct ib_uverbs_reg_mr_resp resp;
	struct verbs_mr *vmr;

	vmr = calloc(1, sizeof(*vmr));
	if (!vmr)
		return NULL;
	if (ibv_cmd_reg_mr(pd, addr, length, iova, access, vmr, &cmd.ibv_cmd,
			   sizeof(cmd), &resp, sizeof(resp))) {
		free(vmr);
		return NULL;
	}
	return &vmr->ibv_mr;
}

struct ibv_mr *shca_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			   uint64_t iova, int access)
{
	return shca_reg(pd, addr, length, iova, access, 0);
}

/* A region of its own: its key belongs to this PD, and is for local use only. */
struct ibv_mr *shca_alloc_null_mr(struct ibv_pd *pd)
{
	struct ibv_mr *mr;

	mr = shca_reg(pd, NULL, SIZE_MAX, 0, 0, SHCA_REG_MR_NULL);
	if (!mr)
		return NULL;
	mr->rkey = 0;
	verbs_get_mr(mr)->mr_type = IBV_MR_TYPE_NULL_MR;
	return mr;
}

struct ibv_mr *shca_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
				  size_t length, uint64_t iova, int fd,
				  int access)
{
	struct verbs_mr *vmr;
	int err;

	vmr = calloc(1, sizeof(*vmr));
	if (!vmr)
		return NULL;
	err = ibv_cmd_reg_dmabuf_mr(pd, offset, length, iova, fd, access, vmr,
				    NULL);
	if (err) {
		free(vmr);
		errno = err;
		return NULL;
	}
	return &vmr->ibv_mr;
}

int shca_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice,
		   uint32_t flags, struct ibv_sge *sg_list, uint32_t num_sge)
{
	return ibv_cmd_advise_mr(pd, advice, flags, sg_list, num_sge);
}

/*
 * The kernel changes the region completely or not at all. So the region is
 * never lost, although libibverbs says that an error may lose it.
 */
int shca_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd,
		  void *addr, size_t length, int access)
{
	struct ib_uverbs_rereg_mr_resp resp;
	struct ibv_rereg_mr cmd;

	return ibv_cmd_rereg_mr(vmr, flags, addr, length, (uintptr_t)addr,
				access, pd, &cmd, sizeof(cmd), &resp,
				sizeof(resp));
}

int shca_dereg_mr(struct verbs_mr *vmr)
{
	int err = ibv_cmd_dereg_mr(vmr);

	if (!err)
		free(vmr);
	return err;
}

#ifndef LIBIBVERBS_LACKS_DMAH
/* libibverbs computes an address from a buffer (IBV_REG_MR_MASK_BUF). */
#define SHCA_REG_MR_ATTRS \
	(IBV_REG_MR_MASK_IOVA | IBV_REG_MR_MASK_ADDR | IBV_REG_MR_MASK_FD | \
	 IBV_REG_MR_MASK_FD_OFFSET | IBV_REG_MR_MASK_DMAH)

struct ibv_mr *shca_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *attr)
{
	struct verbs_mr *vmr;
	int err;

	if (!check_comp_mask(attr->comp_mask, SHCA_REG_MR_ATTRS)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	vmr = calloc(1, sizeof(*vmr));
	if (!vmr)
		return NULL;
	err = ibv_cmd_reg_mr_ex(pd, vmr, attr);
	if (err) {
		free(vmr);
		errno = err;
		return NULL;
	}
	return &vmr->ibv_mr;
}
#endif
