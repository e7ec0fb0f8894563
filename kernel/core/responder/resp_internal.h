/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The part of struct shca_resp that responder.c, executor.c and unreliable.c share. */
#ifndef SHCA_CORE_RESP_INTERNAL_H
#define SHCA_CORE_RESP_INTERNAL_H

#include "../psn.h"
#include "responder.h"

/* Called by shca_resp_rx() for a packet of UC, a datagram, an Ethernet frame; @out is clear. */
enum shca_verdict shca_resp_rx_uc(struct shca_resp *resp, const struct shca_pkt *pkt,
				  struct shca_resp_out *out);
enum shca_verdict shca_resp_rx_ud(struct shca_resp *resp, const struct shca_pkt *pkt,
				  struct shca_resp_out *out);
enum shca_verdict shca_resp_rx_raw(struct shca_resp *resp,
				   const struct shca_pkt *pkt,
				   struct shca_resp_out *out);

/* Called by shca_resp_rx() for the expected packet; @out has no completion yet. */
enum shca_verdict shca_resp_execute(struct shca_resp *resp,
				    const struct shca_pkt *pkt,
				    struct shca_resp_out *out);

/* The message in progress ends: add tag matching to @wc, which has status and opcode. */
void shca_resp_tm_end(struct shca_resp *resp, struct shca_wc *wc);

/* The message in progress was broken off: if it is unexpected, it does not count any more. */
static inline void resp_tm_break(const struct shca_resp *resp)
{
	if (unlikely(resp->tm_kind == SHCA_TM_UNEXPECTED))
		resp->mem->tm_undo(resp->mem_ctx);
}

/* Is the payload length of @pkt valid for its position in the message (IBTA 9.7.4.1.6)? */
bool shca_resp_paylen_fits(const struct shca_resp *resp,
			   const struct shca_pkt *pkt, u32 flags);

/* Take a receive request into @resp->wr, unless the message or the fast path has taken one. */
static inline enum shca_recv_status resp_take_wr(struct shca_resp *resp)
{
	if (resp->recv == SHCA_RECV_EMPTY)
		resp->recv = resp->mem->recv_get(resp->mem_ctx, &resp->wr);
	return resp->recv;
}

/* Has a receive request been taken, which completes now or later? */
static inline bool resp_has_wr(const struct shca_resp *resp)
{
	return resp->recv == SHCA_RECV_OK || resp->recv == SHCA_RECV_BAD;
}

/* The receive request that was taken completes; @wc is clear. */
static inline void resp_end_wr(struct shca_resp *resp, u8 opcode, u8 status,
			       struct shca_wc *wc)
{
	resp->recv = SHCA_RECV_EMPTY;
	wc->is_recv = true;
	wc->wr_id = resp->wr.wr_id;
	wc->opcode = opcode;
	wc->status = status;
	wc->xrc_srqn = resp->msg.xrc_srqn;
	if (unlikely(resp->attr.recvs == SHCA_RECVS_TM))
		shca_resp_tm_end(resp, wc);
}

/* The same, with a message of @len bytes. */
static inline void resp_received(struct shca_resp *resp, u8 opcode, u32 len,
				 bool solicited, bool has_imm, u32 imm,
				 struct shca_wc *wc)
{
	resp_end_wr(resp, opcode, SHCA_WC_SUCCESS, wc);
	wc->byte_len = len;
	wc->solicited = solicited;
	if (has_imm) {
		wc->imm = imm;
		wc->wc_flags |= SHCA_WC_WITH_IMM;
	}
}

#endif
