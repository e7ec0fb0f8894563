// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The fast path of a small message: see fast.h. It knows what an undisturbed
 * exchange changes in both state machines, and nothing else. A unit test
 * compares each field with the result of packets (tests/kunit/fast_path_kunit.c).
 */
#include "fast.h"

#include "answers.h"
#include "req_internal.h"

static bool fast_req_ready(const struct shca_req *req)
{
	return req->state == SHCA_SIDE_READY &&
	       req->attr.transport == SHCA_TRANSPORT_RC &&
	       req->ring.una == req->ring.nxt && !req->ring.pkt_idx &&
	       req->psn.next == req->psn.una && req->psn.next == req->psn.max &&
	       req->recovery.waits == SHCA_WAIT_ANSWER && !req->draining && !req->fail.valid &&
	       !req->gate.until;
}

/* A response, an acknowledgement or a CNP that is owed would come first. */
static bool fast_resp_ready(const struct shca_resp *resp)
{
	return resp->state == SHCA_SIDE_READY && resp->comm_est &&
	       resp->attr.transport == SHCA_TRANSPORT_RC && !resp->op &&
	       !resp->attr.tm &&
	       !resp->nak_sent && !resp->rnr_sent &&
	       resp->ack == SHCA_ACK_NONE && !resp->cnp_due &&
	       resp->rd_send == resp->rd_tail;
}

bool shca_fast_ready(const struct shca_req *req, const struct shca_resp *resp)
{
	return fast_req_ready(req) && fast_resp_ready(resp) &&
	       req->psn.next == resp->epsn;
}

const struct shca_send_wr *shca_fast_next(const struct shca_req *req,
					   const struct shca_resp *resp)
{
	const struct shca_send_wr *wr = req_wr(req, req->ring.nxt);
	const struct shca_wr_op *op = shca_wr_op(wr->opcode);

	if (req->ring.nxt == req->ring.prod || wr->preset != SHCA_WC_SUCCESS ||
	    wr->own || !op->on || op->length != SHCA_LENGTH_ANY ||
	    wr->length > 1u << req->psn.mtu_shift || wr->length > resp->attr.mtu)
		return NULL;
	if (op->form == SHCA_FORM_SEND)
		return wr;
	if (op->form != SHCA_FORM_RDMA)
		return NULL;
	if (op->answer == SHCA_ANSWER_READ)
		return resp->attr.access & SHCA_ACCESS_REMOTE_READ &&
		       resp->attr.max_dest_rd_atomic ? wr : NULL;
	return resp->attr.access & SHCA_ACCESS_REMOTE_WRITE ? wr : NULL;
}

bool shca_fast_recv(struct shca_resp *resp)
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

static void fast_complete(struct shca_resp *resp,
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
static void fast_acknowledge(struct shca_resp *resp, u32 psn)
{
	resp_owe_ack(resp, psn, resp->msn);
	resp->ack = SHCA_ACK_NONE;
	resp->ack_sent = SHCA_ACK_ACK;
	resp->ack_seq = resp->out_seq;
	resp->stats.acks_sent++;
}

void shca_fast_resp_done(struct shca_resp *resp, const struct shca_send_wr *wr,
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
		resp->stats.rx_bytes += wr->length;
		fast_acknowledge(resp, psn);
	}
	resp->out_seq++;
	if (shca_fast_takes_recv(wr))
		fast_complete(resp, wr, wc);
}

void shca_fast_req_done(struct shca_req *req, const struct shca_send_wr *wr)
{
	req->psn.lsn = shca_psn_add(req->psn.lsn, 1);
	req->psn.next = shca_psn_add(req->psn.next, 1);
	req->psn.max = req->psn.next;
	req->psn.una = req->psn.next;
	req->ackreq.psn = req->psn.next;
	req->ackreq.heard = true;
	req->ring.nxt++;
	req->ring.una++;
	req->ackreq.nr_since = 0;
	req->stats.tx_pkts++;
	if (req_is_read(wr))
		req->stats.rx_bytes += wr->length;
	else
		req->stats.tx_bytes += wr->length;
	req->stats.rx[SHCA_RX_OK]++;
}

/* ---- datagrams -------------------------------------------------------------- */

const struct shca_send_wr *shca_fast_datagram(const struct shca_req *req)
{
	const struct shca_send_wr *wr = req_wr(req, req->ring.nxt);

	if (req->ring.nxt == req->ring.prod || req->state != SHCA_SIDE_READY ||
	    req->attr.transport != SHCA_TRANSPORT_UD || req->draining ||
	    req->fail.valid || req->gate.until || req->psn.next != req->psn.max ||
	    req->psn.next == req->psn.held || wr->preset != SHCA_WC_SUCCESS || wr->own ||
	    (wr->opcode != SHCA_WR_SEND && wr->opcode != SHCA_WR_SEND_WITH_IMM))
		return NULL;
	return wr;
}

bool shca_fast_takes_datagram(const struct shca_req *req, const struct shca_resp *resp,
			      const struct shca_send_wr *wr)
{
	return resp->state == SHCA_SIDE_READY &&
	       resp->attr.transport == SHCA_TRANSPORT_UD &&
	       req_qkey(req, wr) == resp->attr.qkey;
}

static void fast_sent(struct shca_req *req, u32 len)
{
	u32 psn = shca_psn_add(req->psn.next, 1);

	req->psn.lsn = shca_psn_add(req->psn.lsn, 1);
	req->psn.next = psn;
	req->psn.max = psn;
	req->psn.una = psn;
	req->ring.nxt++;
	req->ring.una = req->ring.nxt;
	req->stats.tx_pkts++;
	req->stats.tx_bytes += len;
}

void shca_fast_datagram_done(struct shca_req *req, struct shca_resp *resp,
			     const struct shca_send_wr *wr,
			     const struct shca_path_info *path, struct shca_wc *wc)
{
	resp->wr_valid = false;
	resp->msn = shca_psn_add(resp->msn, 1);
	resp->stats.rx[SHCA_RX_OK]++;
	resp->stats.rx_bytes += wr->length;
	memset(wc, 0, sizeof(*wc));
	wc->is_recv = true;
	wc->wr_id = resp->wr.wr_id;
	wc->opcode = SHCA_WC_RECV;
	wc->byte_len = SHCA_GRH_BYTES + wr->length;
	wc->solicited = wr->flags & SHCA_SEND_SOLICITED;
	if (wr->opcode == SHCA_WR_SEND_WITH_IMM) {
		wc->imm = wr->imm;
		wc->wc_flags = SHCA_WC_WITH_IMM;
	}
	if (path->grh_present)
		wc->wc_flags |= SHCA_WC_GRH;
	wc->src_qp = req->attr.sqpn;
	wc->has_path = true;
	wc->path = *path;
	fast_sent(req, wr->length);
}
