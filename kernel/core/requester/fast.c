// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The fast path of a small message: see fast.h. It changes what an undisturbed exchange of packets
 * changes in both state machines, and nothing else. A unit test compares each field with the
 * result of packets (tests/kunit/fast_path_kunit.c).
 */
#include "fast.h"

#include "../responder/answers.h"
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

/* An owed response, ACK or CNP would come first. */
static bool fast_resp_ready(const struct shca_resp *resp)
{
	return resp->state == SHCA_SIDE_READY && resp->comm_est &&
	       resp->attr.transport == SHCA_TRANSPORT_RC && !resp->msg.op &&
	       resp->attr.recvs != SHCA_RECVS_TM &&
	       resp->stands == SHCA_STANDS_NOTHING &&
	       resp->ack.owed == SHCA_ACK_NONE && !resp->cnp_due &&
	       resp->reads.send == resp->reads.tail;
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
	return resp_take_wr(resp) == SHCA_RECV_OK;
}

static void fast_received(struct shca_resp *resp, const struct shca_send_wr *wr,
			  u8 opcode, u32 len, struct shca_wc *wc)
{
	memset(wc, 0, sizeof(*wc));
	resp_received(resp, opcode, len, wr->flags & SHCA_SEND_SOLICITED,
		      wr->opcode != SHCA_WR_SEND, wr->imm, wc);
}

void shca_fast_resp_done(struct shca_resp *resp, const struct shca_send_wr *wr,
			  struct shca_wc *wc)
{
	bool is_read = req_is_read(wr);
	u32 psn = resp->epsn;

	resp_advance(resp, 1, true);
	resp->stats.rx[SHCA_RX_OK]++;
	resp->stats.tx_pkts++;
	if (is_read) {
		resp->stats.tx_bytes += wr->length;
	} else {
		resp->msg.off = wr->length;
		resp->stats.rx_bytes += wr->length;
		resp_owe_ack(resp, psn, resp->msn);
		resp_ack_leaves(resp);
	}
	resp->out_seq++;
	if (shca_fast_takes_recv(wr))
		fast_received(resp, wr, wr->opcode == SHCA_WR_RDMA_WRITE_WITH_IMM ?
			      SHCA_WC_RECV_RDMA_WITH_IMM : SHCA_WC_RECV,
			      wr->length, wc);
}

/* The next request, of one PSN, is complete. */
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

void shca_fast_req_done(struct shca_req *req, const struct shca_send_wr *wr)
{
	bool is_read = req_is_read(wr);

	fast_sent(req, is_read ? 0 : wr->length);
	req->ackreq.psn = req->psn.next;
	req->ackreq.heard = true;
	req->ackreq.nr_since = 0;
	if (is_read)
		req->stats.rx_bytes += wr->length;
	req->stats.rx[SHCA_RX_OK]++;
}

/* ---- datagrams -------------------------------------------------------------- */

const struct shca_send_wr *shca_fast_datagram(const struct shca_req *req)
{
	const struct shca_send_wr *wr = req_wr(req, req->ring.nxt);

	if (req->ring.nxt == req->ring.prod || req->state != SHCA_SIDE_READY ||
	    req->attr.transport != SHCA_TRANSPORT_UD || req->draining ||
	    req->fail.valid || req->gate.until || req->psn.next != req->psn.max ||
	    req->psn.next == req->psn.paused || wr->preset != SHCA_WC_SUCCESS || wr->own ||
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

void shca_fast_datagram_done(struct shca_req *req, struct shca_resp *resp,
			     const struct shca_send_wr *wr,
			     const struct shca_path_info *path, struct shca_wc *wc)
{
	resp->msn = shca_psn_add(resp->msn, 1);
	resp->stats.rx[SHCA_RX_OK]++;
	resp->stats.rx_bytes += wr->length;
	fast_received(resp, wr, SHCA_WC_RECV, SHCA_GRH_BYTES + wr->length, wc);
	if (path->grh_present)
		wc->wc_flags |= SHCA_WC_GRH;
	wc->src_qp = req->attr.sqpn;
	wc->has_path = true;
	wc->path = *path;
	fast_sent(req, wr->length);
}
