// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Congestion control (cc.h).  A new algorithm is a number in enum shca_cc_algorithm and
 * a case where an event means something to it.
 *
 * SHCA_CC_LOSS.  To go back costs up to a window, so the window follows the path: each
 * time a quarter less, and an eighth more for each window that is acknowledged.  Where a
 * queue on the way is shorter than the window, it settles at that.  Marks and round trips
 * mean nothing to it.
 */
#include "cc.h"

void shca_cc_start(struct shca_cc *cc)
{
	cc->cwnd = cc->window;
}

void shca_cc_grow(struct shca_cc *cc, u32 nr_psn)
{
	cc->acked += nr_psn;
	if (cc->acked < cc->cwnd)
		return;
	cc->acked = 0;
	cc->cwnd = min_t(u32, cc->cwnd + cc->cwnd / 8, cc->window);
}

void shca_cc_on_loss(struct shca_cc *cc)
{
	cc->cwnd = max_t(u32, cc->cwnd - cc->cwnd / 4,
			 min_t(u32, cc->window, SHCA_CC_WINDOW_MIN));
	cc->acked = 0;
}
