// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The responder of the reliable connected transport (IBTA 9.7.4, 9.7.5.1):
 * request packets in, memory changed, receive completions, acknowledgements
 * and READ responses out.  Called by the glue under the lock of the receive
 * side; knows no sockets and touches memory through struct shca_mem_ops only.
 *
 * Operation.  shca_resp_rx() sorts a packet by its PSN.  The expected one is
 * checked (sequence of opcodes, rights of the QP, lengths, keys) and executed;
 * each check that fails has one exit, resp_refuse(), which owes the NAK and
 * moves the side to SHCA_SIDE_ERR.  What is ahead of the expected PSN was
 * overtaken or follows a loss: one sequence NAK per gap, then silence.  What is
 * behind is a duplicate: SENDs and WRITEs are acknowledged again and never
 * executed again, READs and atomics are answered again from a ring of records.
 *
 * Answers are owed, not sent: answers.c hands them out.  One acknowledgement
 * stands for all before it, so a batch of requests costs one.
 *
 * Error handling.  Responses and NAKs that the side owed when it entered
 * SHCA_SIDE_ERR by itself still leave, so the peer learns the cause; after
 * shca_resp_fail() nothing does.
 */
#include "answers.h"
#include "opcode.h"
#include "responder.h"

/* Least time between two CNPs of one QP (annex A17.9.3 leaves it to us). */
#define CNP_INTERVAL_NS		50000

void shca_resp_init(struct shca_resp *resp, struct shca_rd *rd, u32 rd_entries,
		    const struct shca_mem_ops *mem, void *mem_ctx)
{
	memset(resp, 0, sizeof(*resp));
	resp->rd = rd;
	resp->rd_mask = rd_entries - 1;
	resp->reach = 1;
	resp->mem = mem;
	resp->mem_ctx = mem_ctx;
}

void shca_resp_move_rd(struct shca_resp *resp, struct shca_rd *rd,
		       u32 rd_entries)
{
	u32 i;

	for (i = resp->rd_head; i != resp->rd_tail; i++)
		rd[i & (rd_entries - 1)] = resp->rd[i & resp->rd_mask];
	resp->rd = rd;
	resp->rd_mask = rd_entries - 1;
}

/* The message in progress never ends: who counts unexpected ones must know. */
static void resp_tm_break(struct shca_resp *resp)
{
	if (unlikely(resp->wr_valid && resp->tm_kind == SHCA_TM_UNEXPECTED))
		resp->mem->tm_undo(resp->mem_ctx);
}

/* Everything but the storage and the counters. */
void shca_resp_reset(struct shca_resp *resp)
{
	struct shca_resp_stats stats = resp->stats;
	void *hold = resp->hold;

	resp_tm_break(resp);
	shca_resp_init(resp, resp->rd, resp->rd_mask + 1, resp->mem,
		       resp->mem_ctx);
	resp->stats = stats;
	resp->hold = hold;
}

void shca_resp_start(struct shca_resp *resp, const struct shca_resp_attr *attr)
{
	resp->attr = *attr;
	resp->attr.max_dest_rd_atomic =
		min_t(u32, attr->max_dest_rd_atomic, resp->rd_mask + 1);
	resp->epsn = attr->rq_psn & SHCA_PSN_MASK;
	resp->state = SHCA_SIDE_READY;
}

bool shca_resp_part(struct shca_resp *resp)
{
	if (resp->state != SHCA_SIDE_READY || resp->rd_send != resp->rd_tail)
		return false;
	if (resp->unsaid && resp->ack == SHCA_ACK_NONE)
		resp_owe_ack(resp, shca_psn_add(resp->epsn, -1));
	resp->unsaid = false;
	return resp->ack != SHCA_ACK_NONE;
}

void shca_resp_fail(struct shca_resp *resp)
{
	if (resp->state == SHCA_SIDE_ERR)
		return;
	resp->state = SHCA_SIDE_ERR;
	resp->rd_head = resp->rd_tail;
	resp->rd_send = resp->rd_tail;
	resp->ack = SHCA_ACK_NONE;
	resp->ack_sent = SHCA_ACK_NONE;
	resp->cnp_due = false;
}

/* What a completion says of a message by tag matching; @wc is otherwise complete. */
static void resp_tm_fill(const struct shca_resp *resp, struct shca_wc *wc)
{
	switch (resp->tm_kind) {
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
 * The one exit for a request that cannot be executed: NAK, error state, and
 * the receive request in use, if any, completes with @wc_status.
 */
static enum shca_rx resp_refuse(struct shca_resp *resp, u32 psn, u8 nak,
				u8 wc_status, u16 vendor_err,
				struct shca_resp_out *out)
{
	resp_owe_nak(resp, psn, SHCA_AETH_NAK | nak);
	resp->state = SHCA_SIDE_ERR;
	if (resp->wr_valid) {
		resp_tm_break(resp);
		resp->wr_valid = false;
		out->has_wc = true;
		out->wc.is_recv = true;
		out->wc.wr_id = resp->wr.wr_id;
		out->wc.opcode = SHCA_WC_RECV;
		out->wc.status = wc_status;
		out->wc.xrc_srqn = resp->xrc_srqn;
		out->wc.vendor_err = vendor_err;
		if (unlikely(resp->attr.tm))
			resp_tm_fill(resp, &out->wc);
	}
	switch (nak) {
	case SHCA_NAK_INVALID:
		out->events |= SHCA_EV_REQ_ERR;
		return SHCA_RX_INVALID;
	case SHCA_NAK_ACCESS:
		out->events |= SHCA_EV_ACCESS_ERR;
		return SHCA_RX_ACCESS;
	default:
		if (!out->has_wc)
			out->events |= SHCA_EV_FATAL;
		return SHCA_RX_OPERATION;
	}
}

static enum shca_rx resp_refuse_invalid(struct shca_resp *resp,
					const struct shca_pkt *pkt,
					struct shca_resp_out *out)
{
	return resp_refuse(resp, pkt->psn, SHCA_NAK_INVALID,
			   SHCA_WC_LOC_QP_OP_ERR, SHCA_VERR_NONE, out);
}

static enum shca_rx resp_refuse_access(struct shca_resp *resp, u32 psn,
				       enum shca_mem_status status,
				       struct shca_resp_out *out)
{
	return resp_refuse(resp, psn, SHCA_NAK_ACCESS, SHCA_WC_LOC_ACCESS_ERR,
			   shca_mem_verr(status), out);
}

/* ---- records of READs and atomics --------------------------------------- */

/*
 * Room for one more record.  The oldest makes way once it was answered: the
 * requester would not have sent this request without having that answer
 * (max_rd_atomic).  One that was not answered means more requests than agreed
 * upon, an invalid request (IBTA 9.7.5.2.4).
 */
static struct shca_rd *resp_rd_alloc(struct shca_resp *resp)
{
	u32 max = resp->attr.max_dest_rd_atomic;

	if (!max)
		return NULL;
	if (resp->rd_tail - resp->rd_head >= max) {
		if (!resp_rd(resp, resp->rd_head)->answered)
			return NULL;
		if (resp->rd_send == resp->rd_head)
			resp->rd_send++;
		resp->rd_head++;
	}
	return resp_rd(resp, resp->rd_tail);
}

/* Send the response of record @idx, or what of it starts at packet @start. */
static void resp_rd_send(struct shca_resp *resp, u32 idx, u32 start)
{
	struct shca_rd *rd = resp_rd(resp, idx);

	rd->replay = rd->answered;
	rd->send_start = start;
	rd->send_idx = start;
	if ((s32)(idx - resp->rd_send) < 0)
		resp->rd_send = idx;
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
		return !resp->op;
	return resp->op && resp->op == class;
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
 * Is the operation offered?  One that the QP does not permit counts as not
 * supported, so it draws an invalid request NAK and not an access error, which
 * is about keys (IBTA 9.7.5.2.4).
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
	/* Only a message of nothing has a packet of nothing. */
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

static enum shca_rx resp_rnr(struct shca_resp *resp, u32 psn)
{
	resp->rnr_sent = true;
	resp_owe_nak(resp, psn,
		     SHCA_AETH_RNR | (resp->attr.min_rnr_timer & 31));
	return SHCA_RX_RNR;
}

/*
 * A NAK was owed, and before it could leave its packet came after all.  What
 * was dropped behind it is missing still: the NAK moves on to that.  If nothing
 * is, what the NAK would have acknowledged is acknowledged otherwise, since the
 * request to do so may have been in a packet before.
 */
static void resp_void_nak(struct shca_resp *resp, u32 psn)
{
	if (resp->ack_syndrome == NAK_SEQ_SYNDROME &&
	    shca_psn_diff(resp->drop_psn, resp->epsn) >= 0) {
		resp->nak_sent = true;
		resp_owe_nak(resp, resp->epsn, NAK_SEQ_SYNDROME);
	} else {
		resp_owe_ack(resp, psn);
	}
}

/* The packet is executed: expect the next, acknowledge if asked to. */
static void resp_accept(struct shca_resp *resp, const struct shca_pkt *pkt,
			u32 flags, u32 nr_psn)
{
	bool has_response = !(flags & (SHCA_OPF_SEND | SHCA_OPF_WRITE));
	u32 last_psn = shca_psn_add(pkt->psn, pkt->span);

	resp->epsn = shca_psn_add(pkt->psn, nr_psn);
	resp->nak_sent = false;
	resp->rnr_sent = false;
	if (flags & SHCA_OPF_END)
		resp->msn = shca_psn_add(resp->msn, 1);
	if (resp->ack == SHCA_ACK_NAK)
		resp_void_nak(resp, shca_psn_add(last_psn,
						 has_response ? -1 : 0));
	else if (pkt->ackreq && !has_response)
		resp_owe_ack(resp, last_psn);
	/* A response tells as much as an acknowledgement. */
	resp->unsaid = !pkt->ackreq && !has_response;
}

static enum shca_recv_status resp_recv_get(struct shca_resp *resp)
{
	enum shca_recv_status status = resp->wr_ahead;

	if (likely(status == SHCA_RECV_OK))
		return resp->mem->recv_get(resp->mem_ctx, &resp->wr);
	resp->wr_ahead = SHCA_RECV_OK;
	return status;
}

/*
 * @status: of taking a receive request for this message, which is in @resp->wr;
 * @verdict is set when there is none.
 */
static bool resp_took_wr(struct shca_resp *resp, const struct shca_pkt *pkt,
			 enum shca_recv_status status,
			 struct shca_resp_out *out, enum shca_rx *verdict)
{
	resp->tm_kind = SHCA_TM_NONE;
	switch (status) {
	case SHCA_RECV_OK:
		resp->wr_valid = true;
		return true;
	case SHCA_RECV_EMPTY:
		*verdict = resp_rnr(resp, pkt->psn);
		return false;
	case SHCA_RECV_BAD:
		resp->wr_valid = true;
		break;
	case SHCA_RECV_BROKEN:
		break;
	}
	*verdict = resp_refuse(resp, pkt->psn, SHCA_NAK_OPERATION,
			       SHCA_WC_LOC_QP_OP_ERR, SHCA_VERR_WQE, out);
	return false;
}

/* A receive request for this message; @verdict is set when there is none. */
static bool resp_take_wr(struct shca_resp *resp, const struct shca_pkt *pkt,
			 struct shca_resp_out *out, enum shca_rx *verdict)
{
	return resp->wr_valid ||
	       resp_took_wr(resp, pkt, resp_recv_get(resp), out, verdict);
}

static void resp_complete(struct shca_resp *resp, const struct shca_pkt *pkt,
			  u32 flags, u8 opcode, struct shca_resp_out *out)
{
	resp->wr_valid = false;
	out->has_wc = true;
	out->wc.is_recv = true;
	out->wc.wr_id = resp->wr.wr_id;
	out->wc.opcode = opcode;
	out->wc.byte_len = resp->off;
	out->wc.xrc_srqn = resp->xrc_srqn;
	out->wc.solicited = pkt->se;
	if (flags & SHCA_OPF_IMM) {
		out->wc.imm = pkt->imm;
		out->wc.wc_flags = SHCA_WC_WITH_IMM;
	}
	if (flags & SHCA_OPF_INV) {
		out->wc.imm = pkt->inv_rkey;
		out->wc.wc_flags = SHCA_WC_WITH_INV;
	}
	if (unlikely(resp->attr.tm))
		resp_tm_fill(resp, &out->wc);
}

/* @body: what of @pkt, in general all, goes to the buffer that was taken. */
static enum shca_rx resp_send_body(struct shca_resp *resp,
				   const struct shca_pkt *pkt,
				   const struct shca_pkt *body, u32 flags,
				   struct shca_resp_out *out)
{
	enum shca_mem_status status = SHCA_MEM_OK;

	if (body->paylen > resp->wr.length - resp->off)
		return resp_refuse(resp, pkt->psn, SHCA_NAK_INVALID,
				   SHCA_WC_LOC_LEN_ERR, SHCA_VERR_LENGTH, out);
	if (body->paylen)
		status = resp->mem->local_scatter(resp->mem_ctx, resp->wr.sge,
						  resp->wr.num_sge, resp->off,
						  body);
	if (status == SHCA_MEM_RETRY)
		return SHCA_RX_RETRY;
	if (status != SHCA_MEM_OK)
		return resp_refuse(resp, pkt->psn, SHCA_NAK_OPERATION,
				   SHCA_WC_LOC_PROT_ERR, shca_mem_verr(status),
				   out);

	/* After the data is placed and before the completion shows. */
	if (flags & SHCA_OPF_INV &&
	    !resp->mem->invalidate(resp->mem_ctx, pkt->inv_rkey))
		return resp_refuse_access(resp, pkt->psn, SHCA_MEM_KEY, out);

	resp->off += body->paylen;
	resp->op = flags & SHCA_OPF_END ? 0 : SHCA_OPF_SEND;
	resp_accept(resp, pkt, flags, pkt->span + 1);
	if (flags & SHCA_OPF_END)
		resp_complete(resp, pkt, flags, SHCA_WC_RECV, out);
	return SHCA_RX_OK;
}

/* ---- tag matching ------------------------------------------------------- */

/*
 * A request for a rendezvous is one packet, with both headers and at most what is
 * advertised of the program's own.
 */
static bool resp_rndv_valid(const struct shca_resp *resp,
			    const struct shca_pkt *pkt, u32 flags)
{
	return flags & SHCA_OPF_END && !pkt->span &&
	       pkt->paylen >= SHCA_TMH_BYTES + SHCA_RVH_BYTES &&
	       pkt->paylen <= SHCA_TM_RNDV_MAX &&
	       resp->tm_msg.rvh.len <= SHCA_MAX_MSG;
}

/*
 * The buffer for the message that begins with @pkt: as its header says, a tagged
 * one or a receive request.  @verdict is set when there is none.
 */
static bool resp_take_tm(struct shca_resp *resp, const struct shca_pkt *pkt,
			 u32 flags, struct shca_resp_out *out,
			 enum shca_rx *verdict)
{
	u32 len = min_t(u32, pkt->paylen, SHCA_TMH_BYTES + SHCA_RVH_BYTES);
	u8 hdr[SHCA_TMH_BYTES + SHCA_RVH_BYTES];
	enum shca_recv_status status;
	enum shca_tm_kind kind;
	bool matched = false;
	bool rndv;

	if (resp->wr_valid)	/* it waits for memory, and was matched before */
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
		status = resp->mem->tm_get(resp->mem_ctx, &resp->tm_msg,
					   &resp->wr, &matched);
		kind = !matched ? SHCA_TM_UNEXPECTED :
				  rndv ? SHCA_TM_RNDV : SHCA_TM_MATCHED;
	} else {
		/* FIN, too, and whatever is no header of ours. */
		status = resp_recv_get(resp);
		kind = SHCA_TM_NO_TAG;
	}
	if (!resp_took_wr(resp, pkt, status, out, verdict))
		return false;
	resp->tm_kind = kind;
	return true;
}

/* Matched: the caller reads the data, which is not here yet. */
static enum shca_rx resp_rndv(struct shca_resp *resp,
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

/* The first packet of a SEND.  Not inline: a packet on the stack. */
static noinline enum shca_rx resp_send_tm(struct shca_resp *resp,
					  const struct shca_pkt *pkt, u32 flags,
					  struct shca_resp_out *out)
{
	struct shca_pkt body;
	enum shca_rx verdict;

	if (!resp_take_tm(resp, pkt, flags, out, &verdict))
		return verdict;
	if (resp->tm_kind == SHCA_TM_RNDV)
		return resp_rndv(resp, pkt, flags, out);
	if (resp->tm_kind != SHCA_TM_MATCHED)
		return resp_send_body(resp, pkt, pkt, flags, out);
	/* Who repeats a packet with less in it than before is no requester. */
	if (pkt->paylen < SHCA_TMH_BYTES)
		return resp_refuse_invalid(resp, pkt, out);
	body = *pkt;
	body.data_off += SHCA_TMH_BYTES;
	body.paylen -= SHCA_TMH_BYTES;
	return resp_send_body(resp, pkt, &body, flags, out);
}

static enum shca_rx resp_send(struct shca_resp *resp,
			      const struct shca_pkt *pkt, u32 flags,
			      struct shca_resp_out *out)
{
	enum shca_rx verdict;

	if (flags & SHCA_OPF_START)
		resp->off = 0;
	if (unlikely(resp->attr.tm && flags & SHCA_OPF_START))
		return resp_send_tm(resp, pkt, flags, out);
	if (!resp_take_wr(resp, pkt, out, &verdict))
		return verdict;
	return resp_send_body(resp, pkt, pkt, flags, out);
}

/* ---- WRITE and what is answered ----------------------------------------- */

/*
 * The RETH of the first packet: length and key, before any byte is placed.
 * The key of a zero-length request is not looked at (C9-88).
 */
static enum shca_rx resp_write_begin(struct shca_resp *resp,
				     const struct shca_pkt *pkt,
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
	if (status != SHCA_MEM_OK)
		return resp_refuse_access(resp, pkt->psn, status, out);
	resp->va = pkt->reth.va;
	resp->rkey = pkt->reth.rkey;
	resp->left = pkt->reth.len;
	resp->off = 0;
	return SHCA_RX_OK;
}

static enum shca_rx resp_write(struct shca_resp *resp,
			       const struct shca_pkt *pkt, u32 flags,
			       struct shca_resp_out *out)
{
	enum shca_mem_status status = SHCA_MEM_OK;
	enum shca_rx verdict;

	if (flags & SHCA_OPF_START) {
		verdict = resp_write_begin(resp, pkt, out);
		if (verdict != SHCA_RX_OK)
			return verdict;
	}
	/* All packets together carry what the RETH announced, no more or less. */
	if (flags & SHCA_OPF_END ? pkt->paylen != resp->left :
				   pkt->paylen >= resp->left)
		return resp_refuse_invalid(resp, pkt, out);
	/* First the receive request: after an RNR NAK nothing was placed. */
	if (flags & SHCA_OPF_IMM && !resp_take_wr(resp, pkt, out, &verdict))
		return verdict;
	if (pkt->paylen)
		status = resp->mem->remote_write(resp->mem_ctx, resp->rkey,
						 resp->va + resp->off, pkt);
	if (status == SHCA_MEM_RETRY)
		return SHCA_RX_RETRY;
	if (status != SHCA_MEM_OK)
		return resp_refuse_access(resp, pkt->psn, status, out);

	resp->off += pkt->paylen;
	resp->left -= pkt->paylen;
	resp->op = flags & SHCA_OPF_END ? 0 : SHCA_OPF_WRITE;
	resp_accept(resp, pkt, flags, pkt->span + 1);
	if (flags & SHCA_OPF_IMM)
		resp_complete(resp, pkt, flags, SHCA_WC_RECV_RDMA_WITH_IMM,
			      out);
	return SHCA_RX_OK;
}

static enum shca_rx resp_read(struct shca_resp *resp,
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
		return resp_refuse_invalid(resp, pkt, out);

	/* A READ counts as a message when it is accepted (C9-148). */
	resp_accept(resp, pkt, flags, resp_nr_psn(resp, len));
	memset(rd, 0, sizeof(*rd));
	rd->first_psn = pkt->psn;
	rd->nr_psn = resp_nr_psn(resp, len);
	rd->va = pkt->reth.va;
	rd->rkey = pkt->reth.rkey;
	rd->len = len;
	rd->xrc_srqn = pkt->xrc_srqn;
	rd->msn = resp->msn;
	resp_rd_send(resp, resp->rd_tail, 0);
	resp->rd_tail++;
	return SHCA_RX_OK;
}

static enum shca_rx resp_atomic(struct shca_resp *resp,
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
		return resp_refuse_invalid(resp, pkt, out);
	status = resp->mem->remote_atomic(resp->mem_ctx, pkt, &value);
	if (status == SHCA_MEM_RETRY)
		return SHCA_RX_RETRY;
	if (status != SHCA_MEM_OK)
		return resp_refuse_access(resp, pkt->psn, status, out);

	resp_accept(resp, pkt, flags, 1);
	memset(rd, 0, sizeof(*rd));
	rd->first_psn = pkt->psn;
	rd->nr_psn = 1;
	rd->value = value;
	rd->msn = resp->msn;
	rd->is_atomic = true;
	resp_rd_send(resp, resp->rd_tail, 0);
	resp->rd_tail++;
	return SHCA_RX_OK;
}

/*
 * The SRQ whose number each request carries, and whose protection domain decides
 * about memory, also of READs and atomics.  It is the same throughout a message.
 */
static bool resp_xrc_select(struct shca_resp *resp, const struct shca_pkt *pkt,
			    u32 flags)
{
	if (!(flags & SHCA_OPF_START) && pkt->xrc_srqn != resp->xrc_srqn)
		return false;
	if (!resp->mem->xrc_select(resp->mem_ctx, pkt->xrc_srqn))
		return false;
	resp->xrc_srqn = pkt->xrc_srqn;
	return true;
}

/* Executed; the response says no more than that. */
static enum shca_rx resp_bare_done(struct shca_resp *resp,
				   const struct shca_pkt *pkt, u32 flags,
				   struct shca_rd *rd)
{
	resp_accept(resp, pkt, flags, 1);
	memset(rd, 0, sizeof(*rd));
	rd->first_psn = pkt->psn;
	rd->nr_psn = 1;
	rd->msn = resp->msn;
	rd->bare = flags & (SHCA_OPF_FLUSH | SHCA_OPF_ATOMIC_WRITE);
	resp_rd_send(resp, resp->rd_tail, 0);
	resp->rd_tail++;
	return SHCA_RX_OK;
}

/* IBTA A19.4.2: eight bytes, naturally aligned. */
static bool resp_atomic_write_valid(const struct shca_pkt *pkt)
{
	return pkt->paylen == sizeof(u64) && pkt->reth.len == sizeof(u64) &&
	       !(pkt->reth.va & 7);
}

/* IBTA A19.4.1: all that was placed before, of a range or of a region. */
static bool resp_flush_valid(const struct shca_pkt *pkt)
{
	return pkt->feth.type &&
	       !(pkt->feth.type &
		 ~(SHCA_FLUSH_GLOBAL | SHCA_FLUSH_PERSISTENT)) &&
	       pkt->feth.level <= SHCA_FLUSH_LEVEL_MR;
}

/* FLUSH and ATOMIC WRITE: done at once, and answered without data. */
static enum shca_rx resp_bare(struct shca_resp *resp,
			      const struct shca_pkt *pkt, u32 flags,
			      struct shca_resp_out *out)
{
	bool flush = flags & SHCA_OPF_FLUSH;
	enum shca_mem_status status;
	struct shca_rd *rd;

	if (!(flush ? resp_flush_valid(pkt) : resp_atomic_write_valid(pkt)))
		return resp_refuse_invalid(resp, pkt, out);
	if (!resp->attr.max_dest_rd_atomic)
		return resp_refuse_invalid(resp, pkt, out);
	/*
	 * There are requesters that do not count these among what max_rd_atomic
	 * bounds (rxe): with those before not yet answered this one is dropped
	 * as lost, and comes again.
	 */
	rd = resp_rd_alloc(resp);
	if (!rd)
		return SHCA_RX_RETRY;
	status = flush ? resp->mem->remote_flush(resp->mem_ctx, pkt) :
			 resp->mem->remote_atomic_write(resp->mem_ctx, pkt);
	if (status == SHCA_MEM_RETRY)
		return SHCA_RX_RETRY;
	if (status != SHCA_MEM_OK)
		return resp_refuse_access(resp, pkt->psn, status, out);
	return resp_bare_done(resp, pkt, flags, rd);
}

static enum shca_rx resp_expected(struct shca_resp *resp,
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

/* ---- ahead and behind --------------------------------------------------- */

/* Ahead: one NAK per gap; none while an RNR NAK stands (IBTA 9.7.5.1.2). */
static enum shca_rx resp_ahead(struct shca_resp *resp, u32 psn)
{
	if (resp->rnr_sent)
		return SHCA_RX_OUT_OF_SEQ;
	if (!resp->nak_sent) {
		resp->nak_sent = true;
		resp->drop_psn = psn;
		resp_owe_nak(resp, resp->epsn, NAK_SEQ_SYNDROME);
	} else if (shca_psn_diff(psn, resp->drop_psn) > 0) {
		resp->drop_psn = psn;
	}
	return SHCA_RX_OUT_OF_SEQ;
}

/*
 * Is it the READ on record, in whole or from one of its packets on?  A repeated
 * request ends where the first one ended.
 */
static bool resp_same_read(const struct shca_resp *resp,
			   const struct shca_rd *rd, const struct shca_pkt *pkt)
{
	u32 byte = shca_psn_off(pkt->psn, rd->first_psn) * resp->attr.mtu;

	if (rd->is_atomic || rd->bare || pkt->paylen ||
	    pkt->xrc_srqn != rd->xrc_srqn ||
	    pkt->reth.len != rd->len - byte)
		return false;
	return !rd->len || (pkt->reth.va == rd->va + byte &&
			    pkt->reth.rkey == rd->rkey);
}

/*
 * A READ again.  If it is not on record, or if its key was revoked meanwhile,
 * it is dropped and not refused: it may be a ghost, whose requester long has
 * what it asked for.
 */
static enum shca_rx resp_dup_read(struct shca_resp *resp,
				  const struct shca_pkt *pkt)
{
	enum shca_mem_status status = SHCA_MEM_OK;
	const struct shca_rd *rd;
	u32 idx, start;

	if (!resp_rd_find(resp, pkt->psn, &idx))
		return SHCA_RX_DUPLICATE;
	rd = resp_rd(resp, idx);
	if (!resp_same_read(resp, rd, pkt))
		return SHCA_RX_DUPLICATE;
	/* Still to come in the response that is being sent? */
	start = shca_psn_off(pkt->psn, rd->first_psn);
	if (start >= rd->send_idx)
		return SHCA_RX_DUPLICATE;
	if (resp->attr.transport == SHCA_TRANSPORT_XRC &&
	    !resp->mem->xrc_select(resp->mem_ctx, pkt->xrc_srqn))
		return SHCA_RX_DUPLICATE;
	if (pkt->reth.len)
		status = resp->mem->remote_check(resp->mem_ctx, pkt->reth.rkey,
						 pkt->reth.va, pkt->reth.len,
						 SHCA_ACCESS_REMOTE_READ);
	if (status == SHCA_MEM_RETRY)
		return SHCA_RX_RETRY;
	if (status == SHCA_MEM_OK)
		resp_rd_send(resp, idx, start);
	return SHCA_RX_DUPLICATE;
}

/* It was done: that is said again, and nothing is done again (oA19-14). */
static void resp_dup_bare(struct shca_resp *resp, const struct shca_pkt *pkt,
			  u32 flags)
{
	u32 idx;

	if (resp_rd_find(resp, pkt->psn, &idx) &&
	    resp_rd(resp, idx)->bare & flags)
		resp_rd_send(resp, idx, 0);
}

static void resp_dup_atomic(struct shca_resp *resp, const struct shca_pkt *pkt)
{
	u32 idx;

	if (resp_rd_find(resp, pkt->psn, &idx) && resp_rd(resp, idx)->is_atomic)
		resp_rd_send(resp, idx, 0);
}

/*
 * A SEND or WRITE again: acknowledge the latest state (C9-105), yet not beyond
 * a later READ or atomic, for that would tell the requester that the response
 * is lost while it may be on its way.  Who repeats another request than the READ at
 * its PSN has had that response (and inquires, see requester.c).
 */
static void resp_dup_ack(struct shca_resp *resp, u32 psn)
{
	u32 last = resp->epsn;
	u32 i, first;

	if (resp->ack == SHCA_ACK_NAK)
		return;	/* says as much, and more */
	for (i = resp->rd_tail; i != resp->rd_head; i--) {
		first = resp_rd(resp, i - 1)->first_psn;
		if (shca_psn_diff(first, psn) <= 0 ||
		    shca_psn_diff(first, last) >= 0)
			break;
		last = first;
	}
	last = shca_psn_add(last, -1);
	if (resp->ack == SHCA_ACK_NONE ||
	    shca_psn_diff(last, resp->ack_psn) > 0)
		resp_owe_ack(resp, last);
}

/*
 * Is a part of it new?  On the direct path a packet that is sent again may end
 * where several ended on the wire, of which only the first came.  It is dropped,
 * but the requester must hear of those that came, or it repeats this for ever.
 */
static bool resp_is_half_new(const struct shca_resp *resp,
			     const struct shca_pkt *pkt)
{
	return shca_psn_diff(shca_psn_add(pkt->psn, pkt->span),
			     resp->epsn) >= 0;
}

static enum shca_rx resp_duplicate(struct shca_resp *resp,
				   const struct shca_pkt *pkt)
{
	u32 flags = shca_opcode_info(pkt->opcode)->flags;

	if (!(flags & SHCA_OPF_REQUEST))
		return SHCA_RX_DUPLICATE;
	if (flags & SHCA_OPF_READ)
		return resp_dup_read(resp, pkt);
	if (flags & SHCA_OPF_ATOMIC)
		resp_dup_atomic(resp, pkt);
	else if (flags & (SHCA_OPF_FLUSH | SHCA_OPF_ATOMIC_WRITE))
		resp_dup_bare(resp, pkt, flags);
	else if (pkt->ackreq || resp_is_half_new(resp, pkt))
		resp_dup_ack(resp, pkt->psn);
	return SHCA_RX_DUPLICATE;
}

static void resp_congestion(struct shca_resp *resp, u64 now)
{
	if (!resp->attr.cnp || now < resp->cnp_ns)
		return;
	resp->cnp_due = true;
	resp->cnp_ns = now + CNP_INTERVAL_NS;
}

static enum shca_rx resp_rx(struct shca_resp *resp, const struct shca_pkt *pkt,
			    u64 now, struct shca_resp_out *out)
{
	s32 diff = shca_psn_diff(pkt->psn, resp->epsn);

	/* Another transport's opcode is not for this QP: dropped (IBTA 9.6). */
	if (resp->state != SHCA_SIDE_READY ||
	    (pkt->opcode & SHCA_TRANSPORT_MASK) != resp->attr.transport)
		return SHCA_RX_STATE;
	if (resp->attr.transport == SHCA_TRANSPORT_UD)
		return shca_resp_rx_ud(resp, pkt, out);
	if (resp->attr.transport == SHCA_TRANSPORT_RAW)
		return shca_resp_rx_raw(resp, pkt, out);
	if (resp->attr.transport == SHCA_TRANSPORT_UC)
		return shca_resp_rx_uc(resp, pkt, out);
	if (pkt->path.ecn_ce)
		resp_congestion(resp, now);
	if (!resp->comm_est) {
		resp->comm_est = true;
		out->events |= SHCA_EV_COMM_EST;
	}
	if (diff > 0)
		return resp_ahead(resp, pkt->psn);
	if (diff < 0)
		return resp_duplicate(resp, pkt);
	return resp_expected(resp, pkt, out);
}

enum shca_rx shca_resp_rx(struct shca_resp *resp, const struct shca_pkt *pkt,
			  u64 now, struct shca_resp_out *out)
{
	enum shca_rx rx;

	memset(out, 0, sizeof(*out));
	rx = resp_rx(resp, pkt, now, out);
	resp->stats.rx[rx]++;
	return rx;
}

bool shca_resp_takes_run(const struct shca_resp *resp,
			 const struct shca_pkt *pkt)
{
	u32 flags = shca_opcode_info(pkt->opcode)->flags;

	if (resp->state != SHCA_SIDE_READY || pkt->psn != resp->epsn ||
	    (pkt->opcode & SHCA_TRANSPORT_MASK) != resp->attr.transport ||
	    pkt->unit != resp->attr.mtu || resp->skip || !resp->op ||
	    resp->op != (flags & (SHCA_OPF_SEND | SHCA_OPF_WRITE)))
		return false;
	if (flags & SHCA_OPF_WRITE)
		return pkt->paylen < resp->left;
	return resp->wr_valid && pkt->paylen <= resp->wr.length - resp->off;
}

void shca_resp_not_yet(struct shca_resp *resp)
{
	if (resp->state == SHCA_SIDE_READY && resp->ack != SHCA_ACK_NAK &&
	    (resp->attr.transport == SHCA_TRANSPORT_RC ||
	     resp->attr.transport == SHCA_TRANSPORT_XRC))
		resp_rnr(resp, resp->epsn);
}

bool shca_resp_flush(struct shca_resp *resp, struct shca_wc *wc)
{
	if (resp->state != SHCA_SIDE_ERR ||
	    (!resp->wr_valid && resp->wr_ahead != SHCA_RECV_BAD))
		return false;
	resp_tm_break(resp);
	resp->wr_valid = false;
	resp->wr_ahead = SHCA_RECV_OK;
	memset(wc, 0, sizeof(*wc));
	wc->is_recv = true;
	wc->wr_id = resp->wr.wr_id;
	wc->status = SHCA_WC_WR_FLUSH_ERR;
	wc->xrc_srqn = resp->xrc_srqn;
	wc->opcode = SHCA_WC_RECV;
	if (unlikely(resp->attr.tm))
		resp_tm_fill(resp, wc);
	return true;
}
