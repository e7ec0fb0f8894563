/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The part of struct shca_resp that responder.c, executor.c and unreliable.c share. */
#ifndef SHCA_CORE_RESP_INTERNAL_H
#define SHCA_CORE_RESP_INTERNAL_H

#include "psn.h"
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
 * Add the fields of tag matching to a completion.
 * @wc:		complete otherwise
 */
void shca_resp_tm_fill(const struct shca_resp *resp, struct shca_wc *wc);

/* The message in progress never ends: count it if it is unexpected. */
static inline void resp_tm_break(struct shca_resp *resp)
{
	if (unlikely(resp->wr_valid && resp->tm_kind == SHCA_TM_UNEXPECTED))
		resp->mem->tm_undo(resp->mem_ctx);
}

/* Is the payload length of @pkt valid for its position in the message (IBTA 9.7.4.1.6)? */
bool shca_resp_paylen_fits(const struct shca_resp *resp,
			   const struct shca_pkt *pkt, u32 flags);

/* Take a receive request into @resp->wr; the fast path may have looked already. */
static inline enum shca_recv_status resp_recv_get(struct shca_resp *resp)
{
	enum shca_recv_status status = resp->wr_ahead;

	if (likely(status == SHCA_RECV_OK))
		return resp->mem->recv_get(resp->mem_ctx, &resp->wr);
	resp->wr_ahead = SHCA_RECV_OK;
	return status;
}

#endif
