// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "personality.h"

#include "compat.h"
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
	/* XRC and tag matching need SRQs. */
	if (personality->lacks & BIT_ULL(SHCA_LACK_SRQ))
		personality->lacks |= BIT_ULL(SHCA_LACK_XRC) |
				      BIT_ULL(SHCA_LACK_TM);
	for (i = 0; i < ARRAY_SIZE(pairs); i++)
		if (personality->lacks & BIT_ULL(pairs[i].lack))
			limit[pairs[i].limit] = 0;
	/* A burst of 0 is one of 1: no completion waits for others. */
	if (limit[SHCA_LIMIT_BURST] < 2)
		limit[SHCA_LIMIT_BURST] = 1;
}

#define OP(lack, op) { SHCA_LACK_##lack, offsetof(struct ib_device_ops, op) }

/* Each object loses all of its operations. */
static const struct {
	u8 lack;
	u16 at;
} shca_lacking_ops[] = {
	OP(XRC, alloc_xrcd), OP(XRC, dealloc_xrcd),
	OP(FLOW, create_flow), OP(FLOW, destroy_flow),
	OP(SRQ, create_srq), OP(SRQ, destroy_srq), OP(SRQ, modify_srq), OP(SRQ, query_srq),
	OP(SRQ, post_srq_recv),
	OP(RESIZE_CQ, resize_user_cq),
	OP(MODIFY_CQ, modify_cq),
	OP(REREG_MR, rereg_user_mr),
	OP(MW, alloc_mw), OP(MW, dealloc_mw),
	OP(ADVISE_MR, advise_mr),
	OP(DMABUF, reg_user_mr_dmabuf),
	OP(DM, alloc_dm), OP(DM, dealloc_dm), OP(DM, reg_dm_mr),
	OP(MCAST, attach_mcast), OP(MCAST, detach_mcast),
	OP(WQ, create_wq), OP(WQ, destroy_wq), OP(WQ, modify_wq),
	OP(WQ, create_rwq_ind_table), OP(WQ, destroy_rwq_ind_table),
};

/* The RDMA core answers EOPNOTSUPP for an operation that is NULL. */
void shca_personality_prune(const struct shca_personality *personality,
			    struct ib_device_ops *ops)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(shca_lacking_ops); i++)
		if (personality->lacks & BIT_ULL(shca_lacking_ops[i].lack))
			memset((void *)ops + shca_lacking_ops[i].at, 0, sizeof(void (*)(void)));
}
