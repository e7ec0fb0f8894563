// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The executor: the part of the responder that executes the expected request (IBTA 9.7.4). It
 * checks the sequence of opcodes, the rights of the QP, lengths and keys. It changes memory and
 * completes receives. shca_resp_rx() calls it under the lock of the receive half.
 *
 * Each failed check ends in resp_refuse(), which owes the NAK and moves the side to SHCA_SIDE_ERR.
 */
#include "../fault_rule.h"
#include "../opcode.h"
#include "answers.h"

void shca_resp_tm_end(struct shca_resp *resp, struct shca_wc *wc)
{
	enum shca_tm_kind kind = resp->tm_kind;

	if (wc->status != SHCA_WC_SUCCESS)
		resp_tm_break(resp);
	resp->tm_kind = SHCA_TM_NONE;
	switch (kind) {
	case SHCA_TM_NONE:
		return;
	case SHCA_TM_NO_TAG:
		wc->opcode = SHCA_WC_TM_NO_TAG;
		return;
	case SHCA_TM_UNEXPECTED:
		break;
	case SHCA_TM_MATCHED:
		wc->wc_flags |= SHCA_WC_TM_MATCH;
		if (wc->status == SHCA_WC_SUCCESS)
			wc->wc_flags |= SHCA_WC_TM_DATA_VALID;
		wc->tm_tag = resp->tm_msg.tmh.tag;
		wc->tm_priv = resp->tm_msg.tmh.app_ctx;
		break;
	case SHCA_TM_RNDV:
		wc->wc_flags |= SHCA_WC_TM_MATCH;
		wc->tm_tag = resp->tm_msg.tmh.tag;
		wc->tm_priv = resp->tm_msg.tmh.app_ctx;
		break;
	}
	wc->opcode = SHCA_WC_TM_RECV;
}

/* ---- refusals ----------------------------------------------------------- */

/*
 * Refuse a request: NAK and error state. The receive request in use, if any, completes with
 * @wc_status; otherwise an event reports the error.
 */
static enum shca_verdict resp_refuse(struct shca_resp *resp, u32 psn, u8 nak,
				     u8 wc_status, u16 vendor_err,
				     struct shca_resp_out *out)
{
	resp_owe_nak(resp, psn, resp->msn, SHCA_AETH_NAK | nak);
	resp->state = SHCA_SIDE_ERR;
	out->wc.vendor_err = vendor_err;
	out->has_wc = resp_has_wr(resp);
	if (out->has_wc)
		resp_end_wr(resp, SHCA_WC_RECV, wc_status, &out->wc);
	switch (nak) {
	case SHCA_NAK_INVALID:
		out->events |= out->has_wc ? 0 : SHCA_EV_REQ_ERR;
		return SHCA_RX_INVALID;
	case SHCA_NAK_ACCESS:
		out->events |= out->has_wc ? 0 : SHCA_EV_ACCESS_ERR;
		return SHCA_RX_ACCESS;
	default:
		out->events |= out->has_wc ? 0 : SHCA_EV_FATAL;
		return SHCA_RX_OPERATION;
	}
}

static enum shca_verdict resp_refuse_invalid(struct shca_resp *resp,
					     const struct shca_pkt *pkt,
					     struct shca_resp_out *out)
{
	return resp_refuse(resp, pkt->psn, SHCA_NAK_INVALID,
			   SHCA_WC_LOC_QP_OP_ERR, SHCA_VERR_NONE, out);
}

static enum shca_verdict resp_refuse_access(struct shca_resp *resp, u32 psn,
					    enum shca_mem_status status,
					    struct shca_resp_out *out)
{
	return resp_refuse(resp, psn, SHCA_NAK_ACCESS, SHCA_WC_LOC_ACCESS_ERR,
			   shca_mem_verr(status), out);
}

/* ---- records of READs and atomics --------------------------------------- */

/*
 * Room for one more record. The oldest one makes way once it was answered: the requester has that
 * answer, or would not have sent this request (max_rd_atomic). If it was not answered, there are
 * more requests than agreed upon, an invalid request (IBTA 9.7.5.2.4).
 */
static struct shca_rd *resp_rd_alloc(struct shca_resp *resp)
{
	u32 max = resp->attr.max_dest_rd_atomic;

	if (!max)
		return NULL;
	if (resp->reads.tail - resp->reads.head >= max) {
		if (!resp_rd(resp, resp->reads.head)->answered)
			return NULL;
		if (resp->reads.send == resp->reads.head)
			resp->reads.send++;
		resp->reads.head++;
	}
	return resp_rd(resp, resp->reads.tail);
}

bool shca_resp_has_room(const struct shca_resp *resp)
{
	u32 nr = resp->reads.tail - resp->reads.head;

	return nr < resp->attr.max_dest_rd_atomic ||
	       (nr && resp->reads.rd[resp->reads.head & resp->reads.mask].answered);
}

/* The request is executed: @rd, from resp_rd_alloc(), is the next to be answered. */
static void resp_rd_add(struct shca_resp *resp, const struct shca_pkt *pkt,
			struct shca_rd *rd, u32 nr_psn)
{
	memset(rd, 0, sizeof(*rd));
	rd->first_psn = pkt->psn;
	rd->nr_psn = nr_psn;
	rd->msn = resp->msn;
	resp_rd_send(resp, resp->reads.tail, 0, nr_psn);
	resp->reads.tail++;
}

/* Is a FLUSH or ATOMIC WRITE still to be answered? Soft-RoCE does not count those. */
static bool resp_rd_has_bare(struct shca_resp *resp)
{
	const struct shca_rd *rd;
	u32 i;

	for (i = resp->reads.head; i != resp->reads.tail; i++) {
		rd = resp_rd(resp, i);
		if (rd->bare && !rd->answered)
			return true;
	}
	return false;
}

/*
 * There is no record: more requests than agreed upon. If FLUSH or ATOMIC WRITE is among them, the
 * request waits until an answer has left.
 */
static enum shca_verdict resp_rd_none(struct shca_resp *resp,
				      const struct shca_pkt *pkt, u32 flags,
				      struct shca_resp_out *out)
{
	bool bare = flags & (SHCA_OPF_FLUSH | SHCA_OPF_ATOMIC_WRITE);

	if (resp->attr.max_dest_rd_atomic && (bare || resp_rd_has_bare(resp)))
		return SHCA_RX_BUSY;
	return resp_refuse_invalid(resp, pkt, out);
}

static u32 resp_nr_psn(const struct shca_resp *resp, u32 len)
{
	return len ? (len - 1) / resp->attr.mtu + 1 : 1;
}

/* ---- the expected PSN: checks ------------------------------------------- */

/* Does the packet follow the one before (IBTA 9.7.4.1.2)? */
static bool resp_opcode_follows(const struct shca_resp *resp, u32 flags)
{
	u32 class = flags & (SHCA_OPF_SEND | SHCA_OPF_WRITE);

	if (flags & SHCA_OPF_START)
		return !resp->msg.op;
	return resp->msg.op && resp->msg.op == class;
}

/* The rights that a FLUSH needs, of the QP and of the region. */
static u32 resp_flush_access(const struct shca_pkt *pkt)
{
	return (pkt->feth.type & SHCA_FLUSH_GLOBAL ?
		SHCA_ACCESS_FLUSH_GLOBAL : 0) |
	       (pkt->feth.type & SHCA_FLUSH_PERSISTENT ?
		SHCA_ACCESS_FLUSH_PERSISTENT : 0);
}

/*
 * Does the QP permit the operation? If not, the NAK is invalid request, as for an operation that is
 * not supported; an access error is about keys (IBTA 9.7.5.2.4).
 */
static bool resp_op_permitted(const struct shca_resp *resp,
			      const struct shca_pkt *pkt, u32 flags)
{
	u32 access = resp->attr.access;
	u32 flush = resp_flush_access(pkt);

	if (flags & (SHCA_OPF_WRITE | SHCA_OPF_ATOMIC_WRITE))
		return access & SHCA_ACCESS_REMOTE_WRITE;
	if (flags & SHCA_OPF_READ)
		return access & SHCA_ACCESS_REMOTE_READ;
	if (flags & SHCA_OPF_ATOMIC)
		return access & SHCA_ACCESS_REMOTE_ATOMIC;
	if (flags & SHCA_OPF_FLUSH)
		return (access & flush) == flush;
	return flags & SHCA_OPF_SEND;
}

bool shca_resp_paylen_fits(const struct shca_resp *resp,
			   const struct shca_pkt *pkt, u32 flags)
{
	u32 most = (pkt->span + 1) * resp->attr.mtu;

	if (!(flags & SHCA_OPF_END))
		return pkt->paylen == most && !pkt->pad;
	/* Only the one packet of an empty message is empty. */
	if ((!(flags & SHCA_OPF_START) || pkt->span) &&
	    pkt->paylen <= pkt->span * resp->attr.mtu)
		return false;
	return pkt->paylen <= most;
}

/* Length of one packet by its place in the message (IBTA 9.7.4.1.6). */
static bool resp_length_fits(const struct shca_resp *resp,
			     const struct shca_pkt *pkt, u32 flags)
{
	if (!(flags & SHCA_OPF_PAYLOAD))
		return !pkt->paylen && !pkt->pad;
	if ((pkt->paylen + pkt->pad) & 3)
		return false;
	return shca_resp_paylen_fits(resp, pkt, flags);
}

/* ---- the expected PSN: execution ---------------------------------------- */

/*
 * The packet of an owed NAK has come before the NAK left. If a packet behind it was dropped, the
 * NAK moves on to the first missing one. Otherwise an ACK takes its place, because a packet that
 * the NAK would have acknowledged may have asked.
 */
static void resp_void_nak(struct shca_resp *resp, u32 psn, u32 msn)
{
	if (resp->ack.syndrome == NAK_SEQ_SYNDROME &&
	    shca_psn_diff(resp->gap.dropped, resp->epsn) >= 0) {
		resp->stands = SHCA_STANDS_GAP;
		resp_owe_nak(resp, resp->epsn, resp->msn, NAK_SEQ_SYNDROME);
	} else {
		resp_owe_ack(resp, psn, msn);
	}
}

/* Did an RNR NAK make the requester wait for this packet's memory? An ACK ends that wait. */
static bool resp_waited(const struct shca_resp *resp, u32 psn)
{
	return unlikely(resp->stands == SHCA_STANDS_RNR) && shca_resp_said_not_yet(resp, psn);
}

/* The packet is executed: expect the next one, acknowledge if asked to. */
static void resp_accept(struct shca_resp *resp, const struct shca_pkt *pkt,
			u32 flags, u32 nr_psn)
{
	bool has_response = !(flags & (SHCA_OPF_SEND | SHCA_OPF_WRITE));
	bool asked = pkt->ackreq || resp_waited(resp, pkt->psn);
	u32 last_psn = shca_psn_add(pkt->psn, pkt->span);

	resp_advance(resp, nr_psn, flags & SHCA_OPF_END);
	resp->stands = SHCA_STANDS_NOTHING;
	if (resp->ack.owed == SHCA_ACK_NAK)
		/* If it has a response of its own, acknowledge up to the packet before. */
		resp_void_nak(resp, shca_psn_add(last_psn, -has_response),
			      shca_psn_add(resp->msn, -has_response));
	else if (asked && !has_response)
		resp_owe_ack(resp, last_psn, resp->msn);
	/* A response acknowledges, too. */
	resp->ack.unsaid = !asked && !has_response;
}

/* Has a receive request been taken?  @verdict is set if not. */
static bool resp_took_wr(struct shca_resp *resp, const struct shca_pkt *pkt,
			 struct shca_resp_out *out, enum shca_verdict *verdict)
{
	if (likely(resp->recv == SHCA_RECV_OK))
		return true;
	*verdict = resp->recv == SHCA_RECV_EMPTY ? resp_rnr(resp, pkt->psn) :
		   resp_refuse(resp, pkt->psn, SHCA_NAK_OPERATION,
			       SHCA_WC_LOC_QP_OP_ERR, SHCA_VERR_WQE, out);
	return false;
}

/* Take a receive request for this message; @verdict is set if there is none. */
static bool resp_needs_wr(struct shca_resp *resp, const struct shca_pkt *pkt,
			  struct shca_resp_out *out, enum shca_verdict *verdict)
{
	resp_take_wr(resp);
	return resp_took_wr(resp, pkt, out, verdict);
}

static void resp_complete(struct shca_resp *resp, const struct shca_pkt *pkt,
			  u32 flags, u8 opcode, struct shca_resp_out *out)
{
	out->has_wc = true;
	resp_received(resp, opcode, resp->msg.off, pkt->se, flags & SHCA_OPF_IMM,
		      pkt->imm, &out->wc);
	if (flags & SHCA_OPF_INV) {
		out->wc.imm = pkt->inv_rkey;
		out->wc.wc_flags |= SHCA_WC_WITH_INV;
	}
}

/* @body: the part of @pkt, usually all of it, that goes to the buffer. */
static enum shca_verdict resp_send_body(struct shca_resp *resp,
					const struct shca_pkt *pkt,
					const struct shca_pkt *body, u32 flags,
					struct shca_resp_out *out)
{
	enum shca_mem_status status = SHCA_MEM_OK;

	if (body->paylen > resp->wr.length - resp->msg.off)
		return resp_refuse(resp, pkt->psn, SHCA_NAK_INVALID,
				   SHCA_WC_LOC_LEN_ERR, SHCA_VERR_LENGTH, out);
	if (body->paylen)
		status = resp->mem->local_scatter(resp->mem_ctx, resp->wr.sge,
						  resp->wr.num_sge, resp->msg.off,
						  body);
	if (status == SHCA_MEM_RETRY)
		return SHCA_RX_RETRY;
	if (status != SHCA_MEM_OK)
		return resp_refuse(resp, pkt->psn, SHCA_NAK_OPERATION,
				   SHCA_WC_LOC_PROT_ERR, shca_mem_verr(status),
				   out);

	/*
	 * Invalidate after the data is placed, and before the completion shows and the SEND is
	 * acknowledged, so that a refusal is a NAK (IBTA 9.4.1.1), and not the silent end of class
	 * J (9.9.6.3).
	 */
	if (flags & SHCA_OPF_INV &&
	    !resp->mem->invalidate(resp->mem_ctx, pkt->inv_rkey))
		return resp_refuse_access(resp, pkt->psn, SHCA_MEM_KEY, out);

	resp->msg.off += body->paylen;
	resp->msg.op = flags & SHCA_OPF_END ? 0 : SHCA_OPF_SEND;
	resp_accept(resp, pkt, flags, pkt->span + 1);
	if (flags & SHCA_OPF_END)
		resp_complete(resp, pkt, flags, SHCA_WC_RECV, out);
	return SHCA_RX_OK;
}

/* ---- tag matching ------------------------------------------------------- */

/* A rendezvous request is one packet, with both headers and at most SHCA_TM_RNDV_MAX bytes. */
static bool resp_rndv_valid(const struct shca_resp *resp,
			    const struct shca_pkt *pkt, u32 flags)
{
	return flags & SHCA_OPF_END && !pkt->span &&
	       pkt->paylen >= SHCA_TMH_BYTES + SHCA_RVH_BYTES &&
	       pkt->paylen <= SHCA_TM_RNDV_MAX &&
	       resp->tm_msg.rvh.len <= SHCA_MAX_MSG;
}

/*
 * Take the buffer for the message that begins with @pkt: as its header says, a tagged one or a
 * receive request. @verdict is set if there is none.
 */
static bool resp_take_tm(struct shca_resp *resp, const struct shca_pkt *pkt,
			 u32 flags, struct shca_resp_out *out,
			 enum shca_verdict *verdict)
{
	u32 len = min_t(u32, pkt->paylen, SHCA_TMH_BYTES + SHCA_RVH_BYTES);
	u8 hdr[SHCA_TMH_BYTES + SHCA_RVH_BYTES];
	enum shca_tm_kind kind = SHCA_TM_NO_TAG;
	bool matched = false;
	bool rndv;

	if (resp_has_wr(resp))	/* it waits for memory, and was matched before */
		return true;
	if (len)
		resp->mem->payload(resp->mem_ctx, pkt, hdr, len);
	shca_tm_parse(hdr, len, &resp->tm_msg);
	rndv = resp->tm_msg.tmh.opcode == SHCA_TMH_RNDV;
	if (rndv && !resp_rndv_valid(resp, pkt, flags)) {
		*verdict = resp_refuse_invalid(resp, pkt, out);
		return false;
	}
	if (rndv || resp->tm_msg.tmh.opcode == SHCA_TMH_EAGER) {
		resp->recv = resp->mem->tm_get(resp->mem_ctx, &resp->tm_msg,
					       &resp->wr, &matched);
		kind = !matched ? SHCA_TM_UNEXPECTED :
				  rndv ? SHCA_TM_RNDV : SHCA_TM_MATCHED;
	} else {
		/* NO_TAG, FIN, and whatever is no header of tag matching. */
		resp_take_wr(resp);
	}
	if (!resp_took_wr(resp, pkt, out, verdict))
		return false;
	resp->tm_kind = kind;
	return true;
}

/* The rendezvous has matched: the caller reads the data from the peer. */
static enum shca_verdict resp_rndv(struct shca_resp *resp,
				   const struct shca_pkt *pkt, u32 flags,
				   struct shca_resp_out *out)
{
	if (resp->tm_msg.rvh.len > resp->wr.length)
		return resp_refuse(resp, pkt->psn, SHCA_NAK_INVALID,
				   SHCA_WC_LOC_LEN_ERR, SHCA_VERR_LENGTH, out);
	if (flags & SHCA_OPF_INV &&
	    !resp->mem->invalidate(resp->mem_ctx, pkt->inv_rkey))
		return resp_refuse_access(resp, pkt->psn, SHCA_MEM_KEY, out);
	resp_accept(resp, pkt, flags, 1);
	resp_complete(resp, pkt, flags, SHCA_WC_RECV, out);
	out->rndv = true;
	return SHCA_RX_OK;
}

/* The first packet of a SEND. */
static enum shca_verdict resp_send_tm(struct shca_resp *resp,
				      const struct shca_pkt *pkt, u32 flags,
				      struct shca_resp_out *out)
{
	struct shca_pkt body;
	enum shca_verdict verdict;

	if (!resp_take_tm(resp, pkt, flags, out, &verdict))
		return verdict;
	if (resp->tm_kind == SHCA_TM_RNDV)
		return resp_rndv(resp, pkt, flags, out);
	if (resp->tm_kind != SHCA_TM_MATCHED)
		return resp_send_body(resp, pkt, pkt, flags, out);
	/* The packet that matched had a header. No requester repeats it with fewer bytes. */
	if (pkt->paylen < SHCA_TMH_BYTES)
		return resp_refuse_invalid(resp, pkt, out);
	body = *pkt;
	body.data_off += SHCA_TMH_BYTES;
	body.paylen -= SHCA_TMH_BYTES;
	return resp_send_body(resp, pkt, &body, flags, out);
}

static enum shca_verdict resp_send(struct shca_resp *resp,
				   const struct shca_pkt *pkt, u32 flags,
				   struct shca_resp_out *out)
{
	enum shca_verdict verdict;

	if (flags & SHCA_OPF_START)
		resp->msg.off = 0;
	if (unlikely(resp->attr.recvs == SHCA_RECVS_TM && flags & SHCA_OPF_START))
		return resp_send_tm(resp, pkt, flags, out);
	if (!resp_needs_wr(resp, pkt, out, &verdict))
		return verdict;
	return resp_send_body(resp, pkt, pkt, flags, out);
}

/* ---- WRITE and what is answered ----------------------------------------- */

/*
 * Check the RETH of the first packet, length and key, before any byte is placed. The key of a
 * zero-length request is not checked (C9-88).
 */
static enum shca_verdict resp_write_begin(struct shca_resp *resp,
					  const struct shca_pkt *pkt, u32 flags,
					  struct shca_resp_out *out)
{
	enum shca_mem_status status = SHCA_MEM_OK;

	if (pkt->reth.len > SHCA_MAX_MSG)
		return resp_refuse_invalid(resp, pkt, out);
	if (pkt->reth.len)
		status = resp->mem->remote_check(resp->mem_ctx, pkt->reth.rkey,
						 pkt->reth.va, pkt->reth.len,
						 SHCA_ACCESS_REMOTE_WRITE);
	if (status == SHCA_MEM_RETRY)
		return SHCA_RX_RETRY;
	if (status != SHCA_MEM_OK) {
		/*
		 * The receive request that the WRITE would complete reports this, if there is one
		 * (LOC_ACCESS_ERR, IBTA 11.6.2). A first packet does not show if it would.
		 */
		if (flags & SHCA_OPF_IMM)
			resp_take_wr(resp);
		return resp_refuse_access(resp, pkt->psn, status, out);
	}
	resp->msg.va = pkt->reth.va;
	resp->msg.rkey = pkt->reth.rkey;
	resp->msg.left = pkt->reth.len;
	resp->msg.off = 0;
	return SHCA_RX_OK;
}

static enum shca_verdict resp_write(struct shca_resp *resp,
				    const struct shca_pkt *pkt, u32 flags,
				    struct shca_resp_out *out)
{
	enum shca_mem_status status = SHCA_MEM_OK;
	enum shca_verdict verdict;

	if (flags & SHCA_OPF_START) {
		verdict = resp_write_begin(resp, pkt, flags, out);
		if (verdict != SHCA_RX_OK)
			return verdict;
	}
	/* All packets together carry what the RETH announced, no more or less. */
	if (flags & SHCA_OPF_END ? pkt->paylen != resp->msg.left :
				   pkt->paylen >= resp->msg.left)
		return resp_refuse_invalid(resp, pkt, out);
	/* Take the receive request first: after an RNR NAK nothing was placed. */
	if (flags & SHCA_OPF_IMM && !resp_needs_wr(resp, pkt, out, &verdict))
		return verdict;
	if (pkt->paylen)
		status = resp->mem->remote_write(resp->mem_ctx, resp->msg.rkey,
						 resp->msg.va + resp->msg.off, pkt);
	if (status == SHCA_MEM_RETRY)
		return SHCA_RX_RETRY;
	if (status != SHCA_MEM_OK)
		return resp_refuse_access(resp, pkt->psn, status, out);

	resp->msg.off += pkt->paylen;
	resp->msg.left -= pkt->paylen;
	resp->msg.op = flags & SHCA_OPF_END ? 0 : SHCA_OPF_WRITE;
	resp_accept(resp, pkt, flags, pkt->span + 1);
	if (flags & SHCA_OPF_IMM)
		resp_complete(resp, pkt, flags, SHCA_WC_RECV_RDMA_WITH_IMM,
			      out);
	return SHCA_RX_OK;
}

static enum shca_verdict resp_read(struct shca_resp *resp,
				   const struct shca_pkt *pkt, u32 flags,
				   struct shca_resp_out *out)
{
	enum shca_mem_status status = SHCA_MEM_OK;
	u32 len = pkt->reth.len;
	struct shca_rd *rd;

	if (len > SHCA_MAX_MSG)
		return resp_refuse_invalid(resp, pkt, out);
	if (len)	/* else C9-88 */
		status = resp->mem->remote_check(resp->mem_ctx, pkt->reth.rkey,
						 pkt->reth.va, len,
						 SHCA_ACCESS_REMOTE_READ);
	if (status == SHCA_MEM_RETRY)
		return SHCA_RX_RETRY;
	if (status != SHCA_MEM_OK)
		return resp_refuse_access(resp, pkt->psn, status, out);
	rd = resp_rd_alloc(resp);
	if (!rd)
		return resp_rd_none(resp, pkt, flags, out);

	/* A READ counts as a message when it is accepted (C9-148). */
	resp_accept(resp, pkt, flags, resp_nr_psn(resp, len));
	resp_rd_add(resp, pkt, rd, resp_nr_psn(resp, len));
	rd->va = pkt->reth.va;
	rd->rkey = pkt->reth.rkey;
	rd->len = len;
	rd->xrc_srqn = pkt->xrc_srqn;
	return SHCA_RX_OK;
}

static enum shca_verdict resp_atomic(struct shca_resp *resp,
				     const struct shca_pkt *pkt, u32 flags,
				     struct shca_resp_out *out)
{
	enum shca_mem_status status;
	struct shca_rd *rd;
	u64 value = 0;

	/* IBTA 9.4.5: naturally aligned, else an invalid request. */
	if (pkt->atomic.va & 7)
		return resp_refuse_invalid(resp, pkt, out);
	rd = resp_rd_alloc(resp);
	if (!rd)
		return resp_rd_none(resp, pkt, flags, out);
	status = resp->mem->remote_atomic(resp->mem_ctx, pkt, &value);
	if (status == SHCA_MEM_RETRY)
		return SHCA_RX_RETRY;
	if (status != SHCA_MEM_OK)
		return resp_refuse_access(resp, pkt->psn, status, out);

	resp_accept(resp, pkt, flags, 1);
	resp_rd_add(resp, pkt, rd, 1);
	rd->value = value;
	rd->is_atomic = true;
	return SHCA_RX_OK;
}

/*
 * Select the SRQ that the request names. Its protection domain decides about memory, also of READs
 * and atomics. It is the same throughout a message.
 */
static bool resp_xrc_select(struct shca_resp *resp, const struct shca_pkt *pkt,
			    u32 flags)
{
	/* The first packet comes again if its receive waits for memory. */
	if ((!(flags & SHCA_OPF_START) || resp->recv == SHCA_RECV_OK) &&
	    pkt->xrc_srqn != resp->msg.xrc_srqn)
		return false;
	if (!resp->mem->xrc_select(resp->mem_ctx, pkt->xrc_srqn))
		return false;
	resp->msg.xrc_srqn = pkt->xrc_srqn;
	return true;
}

/* IBTA A19.4.2: eight bytes, naturally aligned. */
static bool resp_atomic_write_valid(const struct shca_pkt *pkt)
{
	return pkt->paylen == sizeof(u64) && pkt->reth.len == sizeof(u64) &&
	       !(pkt->reth.va & 7);
}

/* IBTA A19.4.1: one or both types, and a range or a region. */
static bool resp_flush_valid(const struct shca_pkt *pkt)
{
	return pkt->feth.type & (SHCA_FLUSH_GLOBAL | SHCA_FLUSH_PERSISTENT) &&
	       pkt->feth.level <= SHCA_FLUSH_LEVEL_MR;
}

/* FLUSH and ATOMIC WRITE: executed at once, and answered without data. */
static enum shca_verdict resp_bare(struct shca_resp *resp,
				   const struct shca_pkt *pkt, u32 flags,
				   struct shca_resp_out *out)
{
	bool flush = flags & SHCA_OPF_FLUSH;
	enum shca_mem_status status;
	struct shca_rd *rd;

	if (!(flush ? resp_flush_valid(pkt) : resp_atomic_write_valid(pkt)))
		return resp_refuse_invalid(resp, pkt, out);
	rd = resp_rd_alloc(resp);
	if (!rd)
		return resp_rd_none(resp, pkt, flags, out);
	status = flush ? resp->mem->remote_flush(resp->mem_ctx, pkt) :
			 resp->mem->remote_atomic_write(resp->mem_ctx, pkt);
	if (status == SHCA_MEM_RETRY)
		return SHCA_RX_RETRY;
	if (status != SHCA_MEM_OK)
		return resp_refuse_access(resp, pkt->psn, status, out);
	resp_accept(resp, pkt, flags, 1);
	resp_rd_add(resp, pkt, rd, 1);
	rd->bare = flags & (SHCA_OPF_FLUSH | SHCA_OPF_ATOMIC_WRITE);
	return SHCA_RX_OK;
}

enum shca_verdict shca_resp_execute(struct shca_resp *resp,
				    const struct shca_pkt *pkt,
				    struct shca_resp_out *out)
{
	u32 flags = shca_opcode_info(pkt->opcode)->flags;

	if (!(flags & SHCA_OPF_REQUEST) || !resp_opcode_follows(resp, flags) ||
	    !resp_op_permitted(resp, pkt, flags) ||
	    !resp_length_fits(resp, pkt, flags))
		return resp_refuse_invalid(resp, pkt, out);

	if (resp->attr.transport == SHCA_TRANSPORT_XRC &&
	    !resp_xrc_select(resp, pkt, flags))
		return resp_refuse_invalid(resp, pkt, out);

	if (flags & SHCA_OPF_SEND)
		return resp_send(resp, pkt, flags, out);
	if (flags & SHCA_OPF_WRITE)
		return resp_write(resp, pkt, flags, out);
	if (flags & SHCA_OPF_READ)
		return resp_read(resp, pkt, flags, out);
	if (flags & (SHCA_OPF_FLUSH | SHCA_OPF_ATOMIC_WRITE))
		return resp_bare(resp, pkt, flags, out);
	return resp_atomic(resp, pkt, flags, out);
}

/* ---- faults ------------------------------------------------------------- */

bool shca_resp_is_next(const struct shca_resp *resp, const struct shca_pkt *pkt)
{
	return resp->state == SHCA_SIDE_READY && pkt->psn == resp->epsn &&
	       (resp->attr.transport == SHCA_TRANSPORT_RC ||
		resp->attr.transport == SHCA_TRANSPORT_XRC) &&
	       (pkt->opcode & SHCA_TRANSPORT_MASK) == resp->attr.transport &&
	       shca_opcode_info(pkt->opcode)->flags & SHCA_OPF_REQUEST;
}

bool shca_resp_expects(const struct shca_resp *resp, const struct shca_pkt *pkt)
{
	return shca_resp_is_next(resp, pkt) &&
	       shca_opcode_info(pkt->opcode)->flags & SHCA_OPF_START;
}

enum shca_verdict shca_resp_forge(struct shca_resp *resp,
				  const struct shca_pkt *pkt, u8 nak, u8 status,
				  struct shca_resp_out *out)
{
	u32 flags = shca_opcode_info(pkt->opcode)->flags;
	enum shca_verdict verdict;

	memset(out, 0, sizeof(*out));
	if (nak == SHCA_FAULT_NAK_RNR) {
		verdict = resp_rnr(resp, pkt->psn);
	} else if (flags & SHCA_OPF_SEND &&
		   resp->attr.transport == SHCA_TRANSPORT_RC &&
		   !resp_needs_wr(resp, pkt, out, &verdict)) {
		/* There is no receive request to complete in error: @verdict is set. */
	} else {
		static const u8 naks[] = {
			[SHCA_FAULT_NAK_INVALID] = SHCA_NAK_INVALID,
			[SHCA_FAULT_NAK_ACCESS] = SHCA_NAK_ACCESS,
			[SHCA_FAULT_NAK_OPERATION] = SHCA_NAK_OPERATION,
		};

		verdict = resp_refuse(resp, pkt->psn, naks[nak], status,
				      SHCA_VERR_NONE, out);
	}
	resp->stats.rx[verdict]++;
	return verdict;
}
