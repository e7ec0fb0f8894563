/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* End-to-end credits (IBTA 9.7.7.2): each AETH has the number of posted receive requests. */
#ifndef SHCA_CORE_CREDIT_H
#define SHCA_CORE_CREDIT_H

#include "responder.h"

/* The code of @nr receive requests, rounded down (table 48). */
u8 shca_credit_code(u32 nr);

/* Receive requests that a code stands for. */
u32 shca_credit_count(u8 code);

/* Slow path of shca_resp_credit(). */
u8 shca_resp_count_credit(const struct shca_resp *resp);

/*
 * The code for an AETH. The direct path (@reach) has no credits, because a message that finds no
 * receive request costs nothing there.
 */
static inline u8 shca_resp_credit(const struct shca_resp *resp)
{
	if (!resp->attr.credits || resp->reach > 1)
		return SHCA_AETH_CREDIT_NONE;
	return shca_resp_count_credit(resp);
}

#endif
