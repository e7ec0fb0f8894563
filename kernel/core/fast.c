// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The short cut of a small message: see fast.h.  It knows of both machines what
 * an undisturbed exchange does to them and nothing else; a unit test compares
 * each field with what packets make of it (tests/kunit/fast_kunit.c).
 */
#include "fast.h"

#include "answers.h"
#include "req_internal.h"

static bool short_req_ready(const struct shca_req *req)
{
	return req->state == SHCA_SIDE_READY &&
	       req->attr.transport == SHCA_TRANSPORT_RC &&
	       req->una == req->nxt && !req->pkt_idx &&
	       req->psn == req->una_psn && req->psn == req->max_psn &&
	       !req->rnr_wait && !req->draining && !req->fail_valid &&
	       !req->stall_ns && !req->rate_ns;
}

/* A response, an acknowledgement or a CNP that is owed would come first. */
static bool short_resp_ready(const struct shca_resp *resp)
{
	return resp->state == SHCA_SIDE_READY && resp->comm_est &&
	       resp->attr.transport == SHCA_TRANSPORT_RC && !resp->op &&
	       !resp->attr.tm &&
	       !resp->nak_sent && !resp->rnr_sent &&
	       resp->ack == SHCA_ACK_NONE && !resp->cnp_due &&
	       resp->rd_send == resp->rd_tail;
}

bool shca_short_ready(const struct shca_req *req, const struct shca_resp *resp)
{
	return short_req_ready(req) && short_resp_ready(resp) &&
	       req->psn == resp->epsn;
}

const struct shca_send_wr *shca_short_next(const struct shca_req *req,
					   const struct shca_resp *resp)
{
	const struct shca_send_wr *wr = req_wr(req, req->nxt);

	if (req->nxt == req->prod || wr->preset != SHCA_WC_SUCCESS ||
	    wr->own ||
	    wr->length > 1u << req->mtu_shift || wr->length > resp->attr.mtu)
		return NULL;
	switch (wr->opcode) {
	case SHCA_WR_SEND:
	case SHCA_WR_SEND_WITH_IMM:
		return wr;
	case SHCA_WR_RDMA_WRITE:
	case SHCA_WR_RDMA_WRITE_WITH_IMM:
		return resp->attr.access & SHCA_ACCESS_REMOTE_WRITE ? wr : NULL;
	case SHCA_WR_RDMA_READ:
		return resp->attr.access & SHCA_ACCESS_REMOTE_READ &&
		       resp->attr.max_dest_rd_atomic ? wr : NULL;
	default:
		return NULL;
	}
}

bool shca_short_recv(struct shca_resp *resp)
{
	if (resp->wr_valid)
		return true;
	if (resp->wr_ahead != SHCA_RECV_OK)
		return false;
	switch (resp->mem->recv_get(resp->mem_ctx, &resp->wr)) {
	case SHCA_RECV_OK:
		resp->wr_valid = true;
		return true;
	case SHCA_RECV_EMPTY:
		return false;
	case SHCA_RECV_BAD:
		resp->wr_ahead = SHCA_RECV_BAD;
		return false;
	case SHCA_RECV_BROKEN:
		resp->wr_ahead = SHCA_RECV_BROKEN;
		return false;
	}
	return false;
}

static void short_complete(struct shca_resp *resp,
			   const struct shca_send_wr *wr, struct shca_wc *wc)
{
	resp->wr_valid = false;
	memset(wc, 0, sizeof(*wc));
	wc->is_recv = true;
	wc->wr_id = resp->wr.wr_id;
	wc->opcode = wr->opcode == SHCA_WR_RDMA_WRITE_WITH_IMM ?
		     SHCA_WC_RECV_RDMA_WITH_IMM : SHCA_WC_RECV;
	wc->byte_len = wr->length;
	wc->solicited = wr->flags & SHCA_SEND_SOLICITED;
	if (wr->opcode != SHCA_WR_SEND) {
		wc->imm = wr->imm;
		wc->wc_flags = SHCA_WC_WITH_IMM;
	}
}

/* The acknowledgement of @psn has been handed over. */
static void short_acknowledge(struct shca_resp *resp, u32 psn)
{
	resp_owe_ack(resp, psn, resp->msn);
	resp->ack = SHCA_ACK_NONE;
	resp->ack_sent = SHCA_ACK_ACK;
	resp->ack_seq = resp->out_seq;
	resp->stats.acks_sent++;
}

void shca_short_resp_done(struct shca_resp *resp, const struct shca_send_wr *wr,
			  struct shca_wc *wc)
{
	bool is_read = req_is_read(wr);
	u32 psn = resp->epsn;

	resp->epsn = shca_psn_add(psn, 1);
	resp->msn = shca_psn_add(resp->msn, 1);
	resp->stats.rx[SHCA_RX_OK]++;
	resp->stats.tx_pkts++;
	if (is_read) {
		resp->stats.tx_bytes += wr->length;
	} else {
		resp->off = wr->length;
		short_acknowledge(resp, psn);
	}
	resp->out_seq++;
	if (shca_short_takes_recv(wr))
		short_complete(resp, wr, wc);
}

void shca_short_req_done(struct shca_req *req, const struct shca_send_wr *wr)
{
	req->lsn = shca_psn_add(req->lsn, 1);
	req->psn = shca_psn_add(req->psn, 1);
	req->max_psn = req->psn;
	req->una_psn = req->psn;
	req->asked_psn = req->psn;
	req->heard = true;
	req->nxt++;
	req->una++;
	req->unacked_ackreq = 0;
	req->stats.tx_pkts++;
	if (!req_is_read(wr))
		req->stats.tx_bytes += wr->length;
	req->stats.rx[SHCA_RX_OK]++;
}
