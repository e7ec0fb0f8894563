// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * End-to-end credits (IBTA 9.7.7.2): see credit.h.
 *
 * The specification numbers messages (SSN). An AETH limits them to its MSN plus its
 * credits (LSN). Here the index in the ring is the number, and the oldest
 * unacknowledged request has the MSN. So nothing is counted per message. Requests that
 * take no receive request (WRITE, READ, local ones) have an index, too. Only where the
 * limit is reached, those among the outstanding ones are left out.
 *
 * A limit is never taken back: receive requests do not vanish. An AETH that says less
 * is older, or rounded.
 *
 * Without credit one message is sent, so that its answer tells of new ones. A SEND then
 * sends its first packet only, which asks for an acknowledgement. If the peer has no
 * receive request, that is an RNR NAK. So no responder needs to tell of new credits
 * unasked. None could: a process posts receive requests without a call.
 */
#include "credit.h"

/* Codes from 2 on are a power of two, and one and a half of it. */
u8 shca_credit_code(u32 nr)
{
	u32 log;

	if (nr < 2)
		return nr;
	log = fls(nr) - 1;
	return min_t(u32, 2 * log + (nr >> (log - 1) & 1),
		     SHCA_AETH_CREDIT_NONE - 1);
}

/* (of the invalid code: 49152) */
u32 shca_credit_count(u8 code)
{
	return code < 2 ? code : (2u | (code & 1)) << (code / 2 - 1);
}

/* ---- responder ------------------------------------------------------------ */

/* The request of the message in progress counts: its MSN does not. */
u8 shca_resp_count_credit(const struct shca_resp *resp)
{
	return shca_credit_code(resp->mem->recv_count(resp->mem_ctx) +
				(resp->recv == SHCA_RECV_OK));
}

/* ---- requester ------------------------------------------------------------ */

bool shca_req_take_credit(struct shca_req *req, u8 code)
{
	struct shca_req_credit *credit = &req->credit;
	bool was_valid = credit->valid;
	u32 limit;

	if (unlikely(code != credit->code || !was_valid)) {
		/* (the invalid code counts as more than may be outstanding) */
		credit->valid = code != SHCA_AETH_CREDIT_NONE;
		credit->code = code;
		credit->nr = shca_credit_count(code);
	}
	limit = req->ring.una + credit->nr;
	if (was_valid && (s32)(limit - credit->limit) <= 0)
		return false;
	credit->limit = limit;
	credit->ask = limit - 1 - credit->nr / 2;
	/*
	 * The request at @nxt may be a message in progress, which has credit now.  While
	 * packets are sent again @nxt is another one.
	 */
	if (unlikely(credit->psn != SHCA_REQ_NOT_HELD) &&
	    (s32)(limit - req->ring.nxt) > 0 && req->psn.next == req->psn.max)
		credit->psn = SHCA_REQ_NOT_HELD;
	return true;
}

bool shca_req_may_exceed(struct shca_req *req, const struct shca_send_wr *wr,
			 u32 nr_psn)
{
	struct shca_req_credit *credit = &req->credit;
	/* beyond the limit, if all that is acknowledged took a receive request */
	s32 over = req->ring.una - credit->limit;
	u32 i;

	if (!req_takes_recv(wr))
		return true;
	for (i = req->ring.una; i != req->ring.nxt; i++) {
		if (req_takes_recv(req_wr(req, i)) && ++over > 0)
			return false;
	}
	/* No credit.  A WRITE takes its receive request with its last packet. */
	if (over >= 0 && nr_psn > 1 && req->psn.reach == 1 &&
	    shca_wr_op(wr->opcode)->form != SHCA_FORM_RDMA)
		credit->psn = shca_psn_add(req->psn.next, 1);
	return true;
}
