/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Answers that a responder owes its peer: an ACK or a NAK, and the records of READs and atomics.
 * responder.c and executor.c enter them, and answers.c hands them out.
 */
#ifndef SHCA_CORE_ANSWERS_H
#define SHCA_CORE_ANSWERS_H

#include "../headers.h"
#include "resp_internal.h"

#define NAK_SEQ_SYNDROME	(SHCA_AETH_NAK | SHCA_NAK_PSN_SEQ)

/*
 * @msn:	messages completed up to @psn; for a NAK, up to the PSN before. A READ counts from
 *		its first PSN on, and not before (C9-148), because a requester may rely on it
 */
static inline void resp_owe_ack(struct shca_resp *resp, u32 psn, u32 msn)
{
	resp->ack.owed = SHCA_ACK_ACK;
	resp->ack.psn = psn;
	resp->ack.msn = msn;
}

static inline void resp_owe_nak(struct shca_resp *resp, u32 psn, u32 msn,
				u8 syndrome)
{
	resp->ack.owed = SHCA_ACK_NAK;
	resp->ack.psn = psn;
	resp->ack.msn = msn;
	resp->ack.syndrome = syndrome;
}

/* The owed ACK or NAK is handed out. */
static inline void resp_ack_leaves(struct shca_resp *resp)
{
	resp->ack.sent = resp->ack.owed;
	resp->ack.seq = resp->out_seq;
	resp->stats.acks_sent += resp->ack.owed == SHCA_ACK_ACK;
	resp->ack.owed = SHCA_ACK_NONE;
}

/* @nr_psn expected PSNs are executed; @ends: a message ends with them. */
static inline void resp_advance(struct shca_resp *resp, u32 nr_psn, bool ends)
{
	resp->epsn = shca_psn_add(resp->epsn, nr_psn);
	resp->msn = shca_psn_add(resp->msn, ends);
}

static inline enum shca_verdict resp_rnr(struct shca_resp *resp, u32 psn)
{
	resp->stands = SHCA_STANDS_RNR;
	resp_owe_nak(resp, psn, resp->msn,
		     SHCA_AETH_RNR | (resp->attr.min_rnr_timer & 31));
	return SHCA_RX_RNR;
}

static inline struct shca_rd *resp_rd(struct shca_resp *resp, u32 idx)
{
	return &resp->reads.rd[idx & resp->reads.mask];
}

/* Send the response of record @idx, packets @start up to @end. */
static inline void resp_rd_send(struct shca_resp *resp, u32 idx, u32 start,
				u32 end)
{
	struct shca_rd *rd = resp_rd(resp, idx);

	rd->replay = rd->answered;
	rd->send_start = start;
	rd->send_end = end;
	rd->send_idx = start;
	if ((s32)(idx - resp->reads.send) < 0)
		resp->reads.send = idx;
}

/* Find the record of @psn; false if there is none any more. */
static inline bool resp_rd_find(struct shca_resp *resp, u32 psn, u32 *idx)
{
	const struct shca_rd *rd;
	u32 i;

	for (i = resp->reads.tail; i != resp->reads.head; i--) {
		rd = resp_rd(resp, i - 1);
		if (shca_psn_off(psn, rd->first_psn) < rd->nr_psn) {
			*idx = i - 1;
			return true;
		}
	}
	return false;
}

#endif
