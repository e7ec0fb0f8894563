// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * DMA handles, if libibverbs has them. The kernel checks a handle.
 * ibv_reg_mr_ex() registers a region with one (mr.c).
 */
#include "softhca.h"

#ifndef LIBIBVERBS_LACKS_DMAH
#include <errno.h>
#include <stdlib.h>

#define SHCA_DMAH_ATTRS \
	(IBV_DMAH_INIT_ATTR_MASK_CPU_ID | IBV_DMAH_INIT_ATTR_MASK_PH | \
	 IBV_DMAH_INIT_ATTR_MASK_TPH_MEM_TYPE)

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
#endif
