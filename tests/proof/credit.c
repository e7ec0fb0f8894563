// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Credits of a link (IBTA 7.9). From any state of a lane that holds, whatever takes credit, gives
 * it back, hears a frame of any numbers, keeps or frees leads to one that holds; zeros hold. So
 * whatever a peer says, and in whatever order it comes, no more leaves than two buffers of a lane
 * take, and no more is kept. Bound: one lane. Periods, and a link that goes down, are left out.
 */
#include "proof.h"
#include "ib/core/ib_credit.c"

/* Most that is outstanding: by the window, if each other lane's peer has lied as far as it can. */
#define MOST	(SHCA_IB_WINDOW + SHCA_IB_LANES * SHCA_IB_GRANT)

/* @ahead: blocks that were taken, and may still be given back */
static bool lane_holds(const struct shca_ib_credits *credits, u32 ahead)
{
	const struct shca_ib_lane_credit *l = &credits->lane[0];
	s64 landed = after(l->landed, l->fctbs), fccl = after(l->fccl, l->fctbs);

	return ahead <= SHCA_IB_GRANT && fccl + ahead <= 2 * SHCA_IB_GRANT &&
	       landed + ahead <= SHCA_IB_GRANT && landed >= -(s64)MOST &&
	       (!credits->on || l->held <= 2 * l->grant);
}

/*
 * proof: credit_step slow --unwind 33
 * planted: ib/core/ib_credit.c: s/if (by <= room)/if (by <= room + 1)/
 * planted: ib/core/ib_credit.c: s/l->held + blocks > 2 . l->grant/l->held > 2 * l->grant/
 * planted: ib/core/ib_credit.c: s/window -= credits/window += credits/
 */
void credit_step(void)
{
	struct shca_ib_lane_counts counts;
	struct shca_ib_credits credits;
	struct shca_ib_lane_credit *l = &credits.lane[0];
	u32 blocks = any_u32(), ahead = any_u32(), landed, i;

	credits.on = any_bool();
	assume(lane_holds(&credits, ahead) && credits.window <= SHCA_IB_WINDOW &&
	       l->grant <= SHCA_IB_GRANT);
	landed = l->landed;
	/* each other lane has -SHCA_IB_GRANT outstanding, or more */
	for (i = 1; i < SHCA_IB_LANES; i++)
		assume((s32)(credits.lane[i].fctbs - credits.lane[i].landed) >= -(s32)SHCA_IB_GRANT &&
		       (s32)(credits.lane[i].fctbs - credits.lane[i].landed) <= (s32)MOST);
	switch (any_u8()) {
	case 0:
		assume(blocks <= shca_ib_credits_room(&credits, 0) && ahead + blocks <= SHCA_IB_GRANT);
		shca_ib_credits_take(&credits, 0, blocks);
		ahead += blocks;
		break;
	case 1:
		assume(blocks <= ahead);
		shca_ib_credits_back(&credits, 0, blocks);
		ahead -= blocks;
		break;
	case 2:
		/* it has left */
		assume(blocks <= ahead);
		ahead -= blocks;
		break;
	case 3:
		assume(blocks <= SHCA_IB_GRANT);
		shca_ib_credits_keep(&credits, 0, blocks);
		break;
	case 4:
		shca_ib_credits_free(&credits, 0, blocks);
		break;
	default:
		hear_lane(l, &counts);
		claim(after(l->landed, landed) >= 0);
		break;
	}
	claim(lane_holds(&credits, ahead));
	claim(shca_ib_credits_room(&credits, 0) <= 2 * SHCA_IB_GRANT);
}
