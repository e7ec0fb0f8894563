// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* DMA handles; see dmah.h. */
#include "dmah.h"

#ifdef HAVE_ALLOC_DMAH
int shca_alloc_dmah(struct ib_dmah *dmah, struct uverbs_attr_bundle *attrs)
{
	const u8 target = BIT(IB_DMAH_CPU_ID_EXISTS) |
			  BIT(IB_DMAH_MEM_TYPE_EXISTS);
	u8 given = dmah->valid_fields & target;

	/* A steering tag needs CPU and memory type; the RDMA core has checked each of them. */
	if (!(dmah->valid_fields & BIT(IB_DMAH_PH_EXISTS)) ||
	    (given && given != target))
		return -EINVAL;
	return 0;
}

int shca_dealloc_dmah(struct ib_dmah *dmah, struct uverbs_attr_bundle *attrs)
{
	return 0;
}
#endif
