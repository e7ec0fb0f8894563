/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The part of struct shca_resp that responder.c, executor.c and unreliable.c share. */
#ifndef SHCA_CORE_RESP_INTERNAL_H
#define SHCA_CORE_RESP_INTERNAL_H

#include "../psn.h"
#include "responder.h"

/*
 * Process a packet of UC, a datagram, or an Ethernet frame; @out is clear.
 *
 * Context: that of shca_resp_rx(), which calls them.
 */
enum shca_verdict shca_resp_rx_uc(struct shca_resp *resp, const struct shca_pkt *pkt,
				  struct shca_resp_out *out);
enum shca_verdict shca_resp_rx_ud(struct shca_resp *resp, const struct shca_pkt *pkt,
				  struct shca_resp_out *out);
enum shca_verdict shca_resp_rx_raw(struct shca_resp *resp,
				   const struct shca_pkt *pkt,
				   struct shca_resp_out *out);

/*
 * Execute the expected packet; @out has no completion yet.
 *
 * Context: that of shca_resp_rx(), which calls it.
 */
enum shca_verdict shca_resp_execute(struct shca_resp *resp,
				    const struct shca_pkt *pkt,
				    struct shca_resp_out *out);

/*
 * The message in progress ends: add the fields of tag matching to its completion.
 * @wc:		with its status and its opcode
 */
void shca_resp_tm_end(struct shca_resp *resp, struct shca_wc *wc);

/* The message in progress never ends: count it if it is unexpected. */
static inline void resp_tm_break(const struct shca_resp *resp)
{
	if (unlikely(resp->tm_kind == SHCA_TM_UNEXPECTED))
		resp->mem->tm_undo(resp->mem_ctx);
}

/* Is the payload length of @pkt valid for its position in the message (IBTA 9.7.4.1.6)? */
bool shca_resp_paylen_fits(const struct shca_resp *resp,
			   const struct shca_pkt *pkt, u32 flags);

/*
 * Take a receive request into @resp->wr, unless the message in progress has one, or the fast
 * path has looked already.
 */
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
