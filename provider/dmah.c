// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * DMA handles, and the registration that takes one (rdma-core 65; some release after 56).
 * What makes a handle valid is the kernel's to say.
 */
#include "softhca.h"

#ifndef LIBIBVERBS_LACKS_DMAH
#include <errno.h>
#include <stdlib.h>

#define SHCA_DMAH_ATTRS \
	(IBV_DMAH_INIT_ATTR_MASK_CPU_ID | IBV_DMAH_INIT_ATTR_MASK_PH | \
	 IBV_DMAH_INIT_ATTR_MASK_TPH_MEM_TYPE)
/* Of a buffer (IBV_REG_MR_MASK_BUF) libibverbs makes an address. */
#define SHCA_REG_MR_ATTRS \
	(IBV_REG_MR_MASK_IOVA | IBV_REG_MR_MASK_ADDR | IBV_REG_MR_MASK_FD | \
	 IBV_REG_MR_MASK_FD_OFFSET | IBV_REG_MR_MASK_DMAH)

struct ibv_dmah *shca_alloc_dmah(struct ibv_context *ibctx,
				 struct ibv_dmah_init_attr *attr)
{
	struct verbs_dmah *dmah;
	int err;

	if (!check_comp_mask(attr->comp_mask, SHCA_DMAH_ATTRS)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	dmah = calloc(1, sizeof(*dmah));
	if (!dmah)
		return NULL;
	err = ibv_cmd_alloc_dmah(ibctx, dmah, attr);
	if (err) {
		free(dmah);
		errno = err;
		return NULL;
	}
	return &dmah->dmah;
}

int shca_dealloc_dmah(struct ibv_dmah *ibdmah)
{
	struct verbs_dmah *dmah = verbs_get_dmah(ibdmah);
	int err = ibv_cmd_free_dmah(dmah);

	if (!err)
		free(dmah);
	return err;
}

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
