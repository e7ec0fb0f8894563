// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* End-to-end credits at the responder: see credit.h. */
#include "credit.h"

/* Codes from 2 on are, in turn, a power of two, and one and a half of it. */
u8 shca_credit_code(u32 nr)
{
	u32 log;

	if (nr < 2)
		return nr;
	log = fls(nr) - 1;
	return min_t(u32, 2 * log + (nr >> (log - 1) & 1),
		     SHCA_AETH_CREDIT_NONE - 1);
}

/* The invalid code gives 49152. */
u32 shca_credit_count(u8 code)
{
	return code < 2 ? code : (2u | (code & 1)) << (code / 2 - 1);
}

/* The receive request of the message in progress counts, because the MSN does not count it yet. */
u8 shca_resp_count_credit(const struct shca_resp *resp)
{
	return shca_credit_code(resp->mem->recv_count(resp->mem_ctx) +
				(resp->recv == SHCA_RECV_OK));
}
