/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* End-to-end credits at the requester: beyond them it sends one message. */
#ifndef SHCA_CORE_REQ_CREDIT_H
#define SHCA_CORE_REQ_CREDIT_H

#include "req_internal.h"

/* Slow path of shca_req_credit(). */
bool shca_req_take_credit(struct shca_req *req, u8 code);

/*
 * Process the AETH of an ACK of all before @ring.una. A peer that does not count
 * (SHCA_AETH_CREDIT_NONE) limits nothing.
 *
 * Return: whether more may be sent than before.
 */
static inline bool shca_req_credit(struct shca_req *req, u8 syndrome)
{
	u8 code = syndrome & SHCA_AETH_VALUE;

	if (code == SHCA_AETH_CREDIT_NONE && !req->credit.valid)
		return false;
	return shca_req_take_credit(req, code);
}

/* Slow path of shca_req_credit_allows(). */
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

/* Is @psn.next behind the first packet of a message without credit, which is unanswered? */
static inline bool shca_req_credit_waits(struct shca_req *req)
{
	if (likely(req->psn.next != req->credit.psn))
		return false;
	if (shca_psn_diff(req->psn.una, req->credit.psn) < 0)
		return true;
	req->credit.psn = SHCA_PSN_NONE;
	return false;
}

/* Does @wr, at @ring.nxt, ask for credits, because half of them are used up, or all? */
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
