// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Lanes of service levels: see ib_lanes.h. */
#include "ib_lanes.h"

/* Weight of each lane before a manager sets it: some packets. */
#define WEIGHT		128

void shca_ib_lanes_init(struct shca_ib_lanes *lanes, u8 code)
{
	u32 i;

	memset(lanes, 0, sizeof(*lanes));
	lanes->code = code;
	for (i = 0; i < shca_ib_lanes_nr(code); i++)
		lanes->arb[SHCA_IB_ARB_LOW][i] = (struct shca_ib_arb_entry){
			.vl = i,
			.weight = WEIGHT,
		};
	for (i = 0; i < SHCA_IB_SLS; i++)
		lanes->sl2vl[i] = i % shca_ib_lanes_nr(code);
}

u8 shca_ib_lane_of(const struct shca_ib_lanes *lanes, u8 sl)
{
	u32 nr = shca_ib_lanes_nr(lanes->code);

	if (!lanes->is_mapped)
		return sl % nr;
	return lanes->sl2vl[sl] < nr ? lanes->sl2vl[sl] : SHCA_IB_NO_LANE;
}
