// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * End-to-end credits at the requester (IBTA 9.7.7.2).
 *
 * The specification numbers messages (SSN). An AETH limits them to its MSN plus its credits (LSN).
 * Here the index in the ring is the number, and the oldest unacknowledged request has the MSN, so
 * nothing is counted per message. Requests that take no receive request (WRITE, READ, local ones)
 * have an index, too. Where the limit is reached, those among the outstanding ones are left out.
 *
 * A limit is never taken back, because receive requests do not vanish. An AETH with less is older,
 * or rounded.
 *
 * Without credit one message is sent, so that its answer has new credits. Of a SEND only the first
 * packet is sent, which asks for an ACK. If the peer has no receive request, it draws an RNR NAK.
 * Therefore no responder needs to send credits unasked. None could: a process posts receive
 * requests without a call.
 */
#include "req_credit.h"

#include "../responder/credit.h"

bool shca_req_take_credit(struct shca_req *req, u8 code)
{
	struct shca_req_credit *credit = &req->credit;
	bool was_valid = credit->valid;
	u32 limit;

	if (unlikely(code != credit->code || !was_valid)) {
		/* The count of the invalid code exceeds what may be outstanding. */
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
	 * The request at @nxt may be a message in progress, which has credit now. While packets are
	 * sent again @nxt is another one.
	 */
	if (unlikely(credit->psn != SHCA_PSN_NONE) &&
	    (s32)(limit - req->ring.nxt) > 0 && req->psn.next == req->psn.max)
		credit->psn = SHCA_PSN_NONE;
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
	/* No credit. A WRITE takes its receive request with its last packet. */
	if (over >= 0 && nr_psn > 1 && req->psn.reach == 1 &&
	    shca_wr_op(wr->opcode)->form != SHCA_FORM_RDMA)
		credit->psn = shca_psn_add(req->psn.next, 1);
	return true;
}
