/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * End-to-end credits (IBTA 9.7.7.2).  A responder tells in each AETH how many receive
 * requests are posted.  A requester sends no message for which there is none, but one.
 */
#ifndef SHCA_CORE_CREDIT_H
#define SHCA_CORE_CREDIT_H

#include "req_internal.h"
#include "responder.h"

/* The code of @nr receive requests, rounded down (table 48). */
u8 shca_credit_code(u32 nr);

/* Receive requests that a code stands for. */
u32 shca_credit_count(u8 code);

/* ---- responder ------------------------------------------------------------ */

/* The rest of shca_resp_credit(). */
u8 shca_resp_count_credit(const struct shca_resp *resp);

/*
 * The code for an AETH.
 *
 * Where requests are handed over (@reach), a message that finds no receive request
 * has cost nothing: there are no credits.
 */
static inline u8 shca_resp_credit(const struct shca_resp *resp)
{
	if (!resp->attr.credits || resp->reach > 1)
		return SHCA_AETH_CREDIT_NONE;
	return shca_resp_count_credit(resp);
}

/* ---- requester ------------------------------------------------------------ */

/* The rest of shca_req_credit(). */
bool shca_req_take_credit(struct shca_req *req, u8 code);

/*
 * An AETH acknowledges all before @ring.una.
 *
 * A peer that does not count (SHCA_AETH_CREDIT_NONE) limits nothing.
 * Return: whether more may be sent than before.
 */
static inline bool shca_req_credit(struct shca_req *req, u8 syndrome)
{
	u8 code = syndrome & SHCA_AETH_VALUE;

	if (code == SHCA_AETH_CREDIT_NONE && !req->credit.valid)
		return false;
	return shca_req_take_credit(req, code);
}

/* The rest of shca_req_credit_allows(). */
bool shca_req_may_exceed(struct shca_req *req, const struct shca_send_wr *wr,
			 u32 nr_psn);

/* May @wr, which is at @ring.nxt, begin? */
static inline bool shca_req_credit_allows(struct shca_req *req,
					  const struct shca_send_wr *wr,
					  u32 nr_psn)
{
	return !req->credit.valid ||
	       (s32)(req->credit.limit - req->ring.nxt) > 0 ||
	       shca_req_may_exceed(req, wr, nr_psn);
}

/* Is @psn.next behind a first packet that is unanswered? */
static inline bool shca_req_credit_waits(struct shca_req *req)
{
	if (likely(req->psn.next != req->credit.psn))
		return false;
	if (shca_psn_diff(req->psn.una, req->credit.psn) < 0)
		return true;
	req->credit.psn = SHCA_REQ_NOT_HELD;
	return false;
}

/*
 * Does @wr, at @ring.nxt, ask for more credits?
 *
 * Half of them are used up, or all.
 */
static inline bool shca_req_credit_asks(const struct shca_req *req,
					const struct shca_send_wr *wr)
{
	const struct shca_req_credit *credit = &req->credit;

	return credit->valid &&
	       (req->ring.nxt == credit->ask ||
		(s32)(req->ring.nxt + 1 - credit->limit) >= 0) &&
	       req_takes_recv(wr);
}

#endif
