// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The responders of the unreliable transports: UC (IBTA 9.8.2), UD (9.8.3) and RAW_PACKET, which
 * has only the length of a frame. shca_resp_rx() calls them under the lock of the receive half.
 *
 * Operation. Nothing is answered: a packet is executed or dropped. A UC responder has an expected
 * PSN. A gap, or an opcode that does not follow, drops the message in progress, and all packets up
 * to the next message, whatever its PSN. The receive request of a dropped message serves the next
 * one. A receive of an SRQ would be lost to other QPs, maybe for ever, so it completes with
 * REM_ABORT_ERR (class E of the responder errors in IBTA 11.6.2).
 *
 * Errors. A receive request that is too short for its message completes with LOC_LEN_ERR (11.6.2),
 * which reminds its owner of the 40 bytes before a datagram. The message is dropped and the QP
 * continues, because an unknown sender must not end it. A kernel consumer takes such a completion
 * for the end of its QP (ib_mad does not post again), so its request serves the next message. A
 * receive request that is malformed, or names memory without write access, is the consumer's
 * fault: it completes in error, and the QP fails.
 */
#include "../opcode.h"
#include "resp_internal.h"

static void unr_complete(struct shca_resp *resp, const struct shca_pkt *pkt,
			 u32 flags, u32 byte_len, u8 opcode,
			 struct shca_resp_out *out)
{
	resp->msn = shca_psn_add(resp->msn, 1);
	out->has_wc = true;
	resp_received(resp, opcode, byte_len, pkt->se, flags & SHCA_OPF_IMM,
		      pkt->imm, &out->wc);
}

static void unr_spoil(struct shca_resp *resp, u8 status, u16 vendor_err,
		      struct shca_resp_out *out)
{
	out->has_wc = true;
	resp_end_wr(resp, SHCA_WC_RECV, status, &out->wc);
	out->wc.vendor_err = vendor_err;
}

/* The consumer's receive request is at fault: it completes, the side fails. */
static enum shca_verdict unr_fail(struct shca_resp *resp, u8 status, u16 vendor_err,
				  struct shca_resp_out *out)
{
	resp->state = SHCA_SIDE_ERR;
	unr_spoil(resp, status, vendor_err, out);
	return SHCA_RX_OPERATION;
}

/* The message does not fit. A kernel consumer's receive serves the next one. */
static enum shca_verdict unr_too_short(struct shca_resp *resp,
				       struct shca_resp_out *out)
{
	if (resp->attr.tells_short)
		unr_spoil(resp, SHCA_WC_LOC_LEN_ERR, SHCA_VERR_LENGTH, out);
	return SHCA_RX_DROPPED;
}

/* SHCA_RX_OK: @resp->wr is valid. */
static enum shca_verdict unr_take_wr(struct shca_resp *resp,
				     struct shca_resp_out *out)
{
	switch (resp_take_wr(resp)) {
	case SHCA_RECV_OK:
		return SHCA_RX_OK;
	case SHCA_RECV_EMPTY:
		return SHCA_RX_RNR;
	case SHCA_RECV_BAD:
		return unr_fail(resp, SHCA_WC_LOC_QP_OP_ERR, SHCA_VERR_WQE,
				out);
	case SHCA_RECV_BROKEN:
		break;
	}
	resp->state = SHCA_SIDE_ERR;
	out->events |= SHCA_EV_FATAL;
	return SHCA_RX_OPERATION;
}

/* ---- UD ------------------------------------------------------------------- */

enum shca_verdict shca_resp_rx_ud(struct shca_resp *resp, const struct shca_pkt *pkt,
				  struct shca_resp_out *out)
{
	u32 flags = shca_opcode_info(pkt->opcode)->flags;
	enum shca_mem_status status;
	enum shca_verdict verdict;

	if (!(flags & SHCA_OPF_SEND))
		return SHCA_RX_DROPPED;
	if (pkt->deth.qkey != resp->attr.qkey)
		return SHCA_RX_QKEY;
	verdict = unr_take_wr(resp, out);
	if (verdict != SHCA_RX_OK)
		return verdict;
	if (resp->wr.length < SHCA_GRH_BYTES ||
	    pkt->paylen > resp->wr.length - SHCA_GRH_BYTES)
		return unr_too_short(resp, out);

	status = resp->mem->grh_store(resp->mem_ctx, resp->wr.sge,
				      resp->wr.num_sge, pkt);
	if (status == SHCA_MEM_OK && pkt->paylen)
		status = resp->mem->local_scatter(resp->mem_ctx, resp->wr.sge,
						  resp->wr.num_sge,
						  SHCA_GRH_BYTES, pkt);
	if (status == SHCA_MEM_RETRY)
		return SHCA_RX_RETRY;
	if (status != SHCA_MEM_OK)
		return unr_fail(resp, SHCA_WC_LOC_PROT_ERR,
				shca_mem_verr(status), out);
	if (pkt->path.grh_present)
		out->wc.wc_flags = SHCA_WC_GRH;
	out->wc.src_qp = pkt->deth.sqpn;
	out->wc.has_path = true;
	out->wc.path = pkt->path;
	unr_complete(resp, pkt, flags, SHCA_GRH_BYTES + pkt->paylen,
		     SHCA_WC_RECV, out);
	return SHCA_RX_OK;
}

/* ---- Ethernet frames ------------------------------------------------------- */

enum shca_verdict shca_resp_rx_raw(struct shca_resp *resp,
				   const struct shca_pkt *pkt,
				   struct shca_resp_out *out)
{
	enum shca_mem_status status;
	enum shca_verdict verdict;

	verdict = unr_take_wr(resp, out);
	if (verdict != SHCA_RX_OK)
		return verdict;
	if (pkt->paylen > resp->wr.length)
		return SHCA_RX_DROPPED;
	status = resp->mem->local_scatter(resp->mem_ctx, resp->wr.sge,
					  resp->wr.num_sge, 0, pkt);
	if (status == SHCA_MEM_RETRY)
		return SHCA_RX_RETRY;
	if (status != SHCA_MEM_OK)
		return unr_fail(resp, SHCA_WC_LOC_PROT_ERR,
				shca_mem_verr(status), out);
	unr_complete(resp, pkt, 0, pkt->paylen, SHCA_WC_RECV, out);
	return SHCA_RX_OK;
}

/* ---- UC ------------------------------------------------------------------- */

/* Drop the message in progress. Its receive request, if any, stays, unless an SRQ owns it. */
static enum shca_verdict uc_drop(struct shca_resp *resp, enum shca_verdict verdict,
				 struct shca_resp_out *out)
{
	resp->msg.op = 0;
	if (resp->recv == SHCA_RECV_OK && resp->attr.recvs == SHCA_RECVS_SRQ)
		unr_spoil(resp, SHCA_WC_REM_ABORT_ERR, SHCA_VERR_NONE, out);
	return verdict;
}

/* The caller feeds @pkt again, so it stays the expected one. */
static enum shca_verdict uc_again(struct shca_resp *resp, const struct shca_pkt *pkt)
{
	resp->epsn = pkt->psn;
	return SHCA_RX_RETRY;
}

/* Does this packet continue, or begin, a message? Drops a message that it interrupts. */
static bool uc_in_sequence(struct shca_resp *resp, const struct shca_pkt *pkt,
			   u32 flags)
{
	u32 class = flags & (SHCA_OPF_SEND | SHCA_OPF_WRITE);
	bool gap = pkt->psn != resp->epsn;

	resp->epsn = shca_psn_add(pkt->psn, pkt->span + 1);
	if (flags & SHCA_OPF_START) {
		resp->msg.op = 0;
		return class;
	}
	return !gap && class && resp->msg.op == class;
}

static enum shca_verdict uc_send(struct shca_resp *resp, const struct shca_pkt *pkt,
				 u32 flags, struct shca_resp_out *out)
{
	enum shca_mem_status status = SHCA_MEM_OK;
	enum shca_verdict verdict;

	if (flags & SHCA_OPF_START)
		resp->msg.off = 0;
	verdict = unr_take_wr(resp, out);
	if (verdict != SHCA_RX_OK)
		return uc_drop(resp, verdict, out);
	if (pkt->paylen > resp->wr.length - resp->msg.off)
		return uc_drop(resp, unr_too_short(resp, out), out);
	if (pkt->paylen)
		status = resp->mem->local_scatter(resp->mem_ctx, resp->wr.sge,
						  resp->wr.num_sge, resp->msg.off,
						  pkt);
	if (status == SHCA_MEM_RETRY)
		return uc_again(resp, pkt);
	if (status != SHCA_MEM_OK)
		return unr_fail(resp, SHCA_WC_LOC_PROT_ERR,
				shca_mem_verr(status), out);
	resp->msg.off += pkt->paylen;
	resp->msg.op = flags & SHCA_OPF_END ? 0 : SHCA_OPF_SEND;
	if (flags & SHCA_OPF_END)
		unr_complete(resp, pkt, flags, resp->msg.off, SHCA_WC_RECV, out);
	return SHCA_RX_OK;
}

static enum shca_verdict uc_write_begin(struct shca_resp *resp,
					const struct shca_pkt *pkt)
{
	enum shca_mem_status status = SHCA_MEM_OK;

	if (!(resp->attr.access & SHCA_ACCESS_REMOTE_WRITE) ||
	    pkt->reth.len > SHCA_MAX_MSG)
		return SHCA_RX_INVALID;
	/* The key of a zero-length request is not checked (C9-88). */
	if (pkt->reth.len)
		status = resp->mem->remote_check(resp->mem_ctx, pkt->reth.rkey,
						 pkt->reth.va, pkt->reth.len,
						 SHCA_ACCESS_REMOTE_WRITE);
	if (status == SHCA_MEM_RETRY)
		return SHCA_RX_RETRY;
	if (status != SHCA_MEM_OK)
		return SHCA_RX_ACCESS;
	resp->msg.va = pkt->reth.va;
	resp->msg.rkey = pkt->reth.rkey;
	resp->msg.left = pkt->reth.len;
	resp->msg.off = 0;
	return SHCA_RX_OK;
}

static enum shca_verdict uc_write(struct shca_resp *resp, const struct shca_pkt *pkt,
				  u32 flags, struct shca_resp_out *out)
{
	enum shca_mem_status status = SHCA_MEM_OK;
	enum shca_verdict verdict = SHCA_RX_OK;

	if (flags & SHCA_OPF_START)
		verdict = uc_write_begin(resp, pkt);
	if (verdict == SHCA_RX_RETRY)
		return uc_again(resp, pkt);
	if (verdict != SHCA_RX_OK)
		return uc_drop(resp, verdict, out);
	if (flags & SHCA_OPF_END ? pkt->paylen != resp->msg.left :
				   pkt->paylen >= resp->msg.left)
		return uc_drop(resp, SHCA_RX_DROPPED, out);
	if (flags & SHCA_OPF_IMM) {
		verdict = unr_take_wr(resp, out);
		if (verdict != SHCA_RX_OK)
			return uc_drop(resp, verdict, out);
	}
	if (pkt->paylen)
		status = resp->mem->remote_write(resp->mem_ctx, resp->msg.rkey,
						 resp->msg.va + resp->msg.off, pkt);
	if (status == SHCA_MEM_RETRY)
		return uc_again(resp, pkt);
	if (status != SHCA_MEM_OK)
		return uc_drop(resp, SHCA_RX_ACCESS, out);
	resp->msg.off += pkt->paylen;
	resp->msg.left -= pkt->paylen;
	resp->msg.op = flags & SHCA_OPF_END ? 0 : SHCA_OPF_WRITE;
	if (flags & SHCA_OPF_IMM)
		unr_complete(resp, pkt, flags, resp->msg.off,
			     SHCA_WC_RECV_RDMA_WITH_IMM, out);
	else if (resp->recv == SHCA_RECV_OK && resp->attr.recvs == SHCA_RECVS_SRQ)
		/* the receive of a SEND that this interrupts, as in uc_drop() */
		unr_spoil(resp, SHCA_WC_REM_ABORT_ERR, SHCA_VERR_NONE, out);
	return SHCA_RX_OK;
}

enum shca_verdict shca_resp_rx_uc(struct shca_resp *resp, const struct shca_pkt *pkt,
				  struct shca_resp_out *out)
{
	u32 flags = shca_opcode_info(pkt->opcode)->flags;

	if (!resp->comm_est) {
		resp->comm_est = true;
		out->events |= SHCA_EV_COMM_EST;
	}
	if (!uc_in_sequence(resp, pkt, flags) ||
	    !shca_resp_paylen_fits(resp, pkt, flags))
		return uc_drop(resp, SHCA_RX_DROPPED, out);
	if (flags & SHCA_OPF_SEND)
		return uc_send(resp, pkt, flags, out);
	return uc_write(resp, pkt, flags, out);
}
