// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Personalities: what restricts a device. */
#include "personality.h"

#include "dev.h"

DEFINE_STATIC_KEY_FALSE(shca_manners_on);

#define X(id, name, min, max, native) [SHCA_LIMIT_##id] = (native),
const struct shca_personality shca_native = {
	.name = SHCA_PERSONALITY_NATIVE,
	.limit = { SHCA_LIMITS(X) },
};
#undef X

bool shca_personality_has_manners(const struct shca_personality *personality)
{
	return personality->limit[SHCA_LIMIT_LATE_US] ||
	       personality->limit[SHCA_LIMIT_BURST] > 1 ||
	       personality->statuses;
}

void shca_personality_normalize(struct shca_personality *personality)
{
	static const struct {
		u8 lack;
		u8 limit;
	} pairs[] = {
		{ SHCA_LACK_MW, SHCA_LIMIT_MW },
		{ SHCA_LACK_SRQ, SHCA_LIMIT_SRQ },
		{ SHCA_LACK_DM, SHCA_LIMIT_DM },
		{ SHCA_LACK_WQ, SHCA_LIMIT_WQ },
		{ SHCA_LACK_WQ, SHCA_LIMIT_RWQ_TBL },
		{ SHCA_LACK_FLOW, SHCA_LIMIT_FLOW },
		{ SHCA_LACK_MCAST, SHCA_LIMIT_MCAST_GRP },
		{ SHCA_LACK_MCAST, SHCA_LIMIT_MCAST_QP },
		{ SHCA_LACK_MCAST, SHCA_LIMIT_MCAST_TOTAL },
		{ SHCA_LACK_ATOMICS, SHCA_LIMIT_ATOMIC_CAP },
	};
	u64 *limit = personality->limit;
	int i;

	for (i = 0; i < ARRAY_SIZE(pairs); i++)
		if (!limit[pairs[i].limit])
			personality->lacks |= BIT_ULL(pairs[i].lack);
	/* Both are made of SRQs. */
	if (personality->lacks & BIT_ULL(SHCA_LACK_SRQ))
		personality->lacks |= BIT_ULL(SHCA_LACK_XRC) |
				      BIT_ULL(SHCA_LACK_TM);
	for (i = 0; i < ARRAY_SIZE(pairs); i++)
		if (personality->lacks & BIT_ULL(pairs[i].lack))
			limit[pairs[i].limit] = 0;
	/* No single completion waits for others. */
	if (limit[SHCA_LIMIT_BURST] < 2)
		limit[SHCA_LIMIT_BURST] = 1;
}

/*
 * The RDMA core takes an operation that is NULL for one that the device has not, and
 * answers EOPNOTSUPP for it. Objects lose all of their operations.
 */
void shca_personality_prune(const struct shca_personality *personality,
			    struct ib_device_ops *ops)
{
	const u64 lacks = personality->lacks;

	if (lacks & BIT_ULL(SHCA_LACK_XRC)) {
		ops->alloc_xrcd = NULL;
		ops->dealloc_xrcd = NULL;
	}
	if (lacks & BIT_ULL(SHCA_LACK_FLOW)) {
		ops->create_flow = NULL;
		ops->destroy_flow = NULL;
	}
	if (lacks & BIT_ULL(SHCA_LACK_SRQ)) {
		ops->create_srq = NULL;
		ops->destroy_srq = NULL;
		ops->modify_srq = NULL;
		ops->query_srq = NULL;
		ops->post_srq_recv = NULL;
	}
#ifdef HAVE_RESIZE_USER_CQ
	if (lacks & BIT_ULL(SHCA_LACK_RESIZE_CQ))
		ops->resize_user_cq = NULL;
#else
	if (lacks & BIT_ULL(SHCA_LACK_RESIZE_CQ))
		ops->resize_cq = NULL;
#endif
	if (lacks & BIT_ULL(SHCA_LACK_MODIFY_CQ))
		ops->modify_cq = NULL;
	if (lacks & BIT_ULL(SHCA_LACK_REREG_MR))
		ops->rereg_user_mr = NULL;
	if (lacks & BIT_ULL(SHCA_LACK_MW)) {
		ops->alloc_mw = NULL;
		ops->dealloc_mw = NULL;
	}
	if (lacks & BIT_ULL(SHCA_LACK_ADVISE_MR))
		ops->advise_mr = NULL;
	if (lacks & BIT_ULL(SHCA_LACK_DMABUF))
		ops->reg_user_mr_dmabuf = NULL;
	if (lacks & BIT_ULL(SHCA_LACK_DM)) {
		ops->alloc_dm = NULL;
		ops->dealloc_dm = NULL;
		ops->reg_dm_mr = NULL;
	}
	if (lacks & BIT_ULL(SHCA_LACK_MCAST)) {
		ops->attach_mcast = NULL;
		ops->detach_mcast = NULL;
	}
	if (lacks & BIT_ULL(SHCA_LACK_WQ)) {
		ops->create_wq = NULL;
		ops->destroy_wq = NULL;
		ops->modify_wq = NULL;
		ops->create_rwq_ind_table = NULL;
		ops->destroy_rwq_ind_table = NULL;
	}
}
