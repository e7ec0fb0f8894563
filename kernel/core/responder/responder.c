// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The responder of the reliable connected transport (IBTA 9.7.4, 9.7.5.1): request packets in;
 * memory changes, receive completions, ACKs and READ responses out. The caller holds the lock of
 * the receive half. The responder accesses memory through struct shca_mem_ops only.
 *
 * Operation. shca_resp_rx() sorts a packet by its PSN. The expected one is checked and executed
 * (executor.c). A packet ahead of the expected PSN was reordered or follows a loss. It draws one
 * sequence NAK per gap. If the peer is a softhca, the caller puts it into the out-of-order queue
 * instead, and shca_resp_gap() reports the gap. A packet before the expected PSN is a duplicate.
 * Duplicate SENDs and WRITEs are acknowledged again, and never executed again. READs and atomics
 * are answered again from a ring of records.
 *
 * Answers are owed, not sent: answers.c hands them out. One ACK covers all requests before it, so
 * a batch of requests costs one.
 *
 * Errors. When the side enters SHCA_SIDE_ERR by itself, responses and NAKs that it owes still
 * leave, so the peer learns the cause. After shca_resp_fail() nothing leaves.
 */
#include "../opcode.h"
#include "answers.h"
#include "resp_internal.h"


void shca_resp_init(struct shca_resp *resp, struct shca_rd *rd, u32 rd_entries,
		    const struct shca_mem_ops *mem, void *mem_ctx)
{
	memset(resp, 0, sizeof(*resp));
	resp->reads.rd = rd;
	resp->reads.mask = rd_entries - 1;
	resp->recv = SHCA_RECV_EMPTY;
	resp->reach = 1;
	resp->first_psn = SHCA_PSN_NONE;
	resp->gap.reported = SHCA_PSN_NONE;
	resp->gap.unreported = SHCA_PSN_NONE;
	resp->not_yet_psn = SHCA_PSN_NONE;
	resp->mem = mem;
	resp->mem_ctx = mem_ctx;
}

void shca_resp_move_rd(struct shca_resp *resp, struct shca_rd *rd,
		       u32 rd_entries)
{
	u32 i;

	for (i = resp->reads.head; i != resp->reads.tail; i++)
		rd[i & (rd_entries - 1)] = resp->reads.rd[i & resp->reads.mask];
	resp->reads.rd = rd;
	resp->reads.mask = rd_entries - 1;
}

void shca_resp_reset(struct shca_resp *resp)
{
	struct shca_resp_stats stats = resp->stats;

	resp_tm_break(resp);
	shca_resp_init(resp, resp->reads.rd, resp->reads.mask + 1, resp->mem,
		       resp->mem_ctx);
	resp->stats = stats;
}

void shca_resp_start(struct shca_resp *resp, const struct shca_resp_attr *attr)
{
	resp->attr = *attr;
	resp->attr.max_dest_rd_atomic =
		min_t(u32, attr->max_dest_rd_atomic, resp->reads.mask + 1);
	resp->epsn = attr->rq_psn & SHCA_PSN_MASK;
	resp->marks = shca_marks(attr->marking);
	shca_rate_set(&resp->rate, attr->rate_kbps, attr->mtu);
	resp->state = SHCA_SIDE_READY;
}

bool shca_resp_flush_acks(struct shca_resp *resp)
{
	if (resp->state != SHCA_SIDE_READY || resp->reads.send != resp->reads.tail)
		return false;
	/* An owed NAK acknowledges as much. */
	if (resp->ack.unsaid && resp->ack.owed != SHCA_ACK_NAK)
		resp_owe_ack(resp, shca_psn_add(resp->epsn, -1), resp->msn);
	resp->ack.unsaid = false;
	return resp->ack.owed != SHCA_ACK_NONE;
}

void shca_resp_fail(struct shca_resp *resp)
{
	if (resp->state == SHCA_SIDE_ERR)
		return;
	resp->state = SHCA_SIDE_ERR;
	resp->reads.head = resp->reads.tail;
	resp->reads.send = resp->reads.tail;
	resp->ack.owed = SHCA_ACK_NONE;
	resp->ack.sent = SHCA_ACK_NONE;
	resp->cnp_due = false;
}

/* ---- ahead and behind --------------------------------------------------- */

/* A packet ahead: one NAK per gap, none while an RNR NAK stands (IBTA 9.7.5.1.2). */
static enum shca_verdict resp_ahead(struct shca_resp *resp, u32 psn)
{
	/* The caller reports the gap to a softhca: shca_resp_gap(). */
	if (resp->stands == SHCA_STANDS_RNR || resp->attr.peer & SHCA_PEER_OOO)
		return SHCA_RX_OUT_OF_SEQ;
	if (resp->stands != SHCA_STANDS_GAP) {
		resp->stands = SHCA_STANDS_GAP;
		resp->gap.dropped = psn;
		resp_owe_nak(resp, resp->epsn, resp->msn, NAK_SEQ_SYNDROME);
	} else if (shca_psn_diff(psn, resp->gap.dropped) > 0) {
		resp->gap.dropped = psn;
	}
	return SHCA_RX_OUT_OF_SEQ;
}

/* Is @pkt the recorded READ, or a part of it from one packet boundary to another? */
static bool resp_same_read(const struct shca_resp *resp,
			   const struct shca_rd *rd, const struct shca_pkt *pkt)
{
	u32 byte = shca_psn_off(pkt->psn, rd->first_psn) * resp->attr.mtu;

	if (rd->is_atomic || rd->bare || pkt->paylen ||
	    pkt->xrc_srqn != rd->xrc_srqn)
		return false;
	if (pkt->reth.len != rd->len - byte &&
	    (!pkt->reth.len || pkt->reth.len > rd->len - byte ||
	     pkt->reth.len % resp->attr.mtu))
		return false;
	return !rd->len || (pkt->reth.va == rd->va + byte &&
			    pkt->reth.rkey == rd->rkey);
}

/* Four times as long each time: the time of code @n + 2 is twice that of @n; 0 is the longest. */
static u8 resp_not_yet_code(struct shca_resp *resp, u32 psn)
{
	u8 code = resp->attr.min_rnr_timer & 31;

	if (psn != resp->not_yet_psn)
		resp->not_yet = 0;
	resp->not_yet_psn = psn;
	code = code ? min_t(u32, code + 4 * resp->not_yet, 31) : 0;
	resp->not_yet = min_t(u32, resp->not_yet + 1, 31);
	return code;
}

/* Owe an RNR NAK for the duplicate READ @psn; false if another answer is owed. */
static bool resp_dup_not_yet(struct shca_resp *resp, const struct shca_rd *rd,
			     u32 psn)
{
	u8 code;

	if (resp->ack.owed != SHCA_ACK_NONE)
		return false;
	code = resp_not_yet_code(resp, psn);
	resp_owe_nak(resp, psn,
		     shca_psn_add(rd->msn, (psn != rd->first_psn) - 1),
		     SHCA_AETH_RNR | code);
	return true;
}

/*
 * A duplicate READ. Without a record, or with a revoked key, it is dropped and not refused: it may
 * be a ghost, whose requester has had the response for long.
 */
static enum shca_verdict resp_dup_read(struct shca_resp *resp,
				       const struct shca_pkt *pkt)
{
	enum shca_mem_status status = SHCA_MEM_OK;
	const struct shca_rd *rd;
	u32 idx, start, end;

	if (!resp_rd_find(resp, pkt->psn, &idx))
		return SHCA_RX_DUPLICATE;
	rd = resp_rd(resp, idx);
	if (!resp_same_read(resp, rd, pkt))
		return SHCA_RX_DUPLICATE;
	start = shca_psn_off(pkt->psn, rd->first_psn);
	end = start + max_t(u32, 1, DIV_ROUND_UP(pkt->reth.len, resp->attr.mtu));
	/* Is it part of the response that is being sent, and still to come? */
	if (start >= rd->send_idx && end <= rd->send_end)
		return SHCA_RX_DUPLICATE;
	/* Finish the response that is being sent, too. */
	if (rd->send_idx < rd->send_end)
		end = max_t(u32, end, rd->send_end);
	if (resp->attr.transport == SHCA_TRANSPORT_XRC &&
	    !resp->mem->xrc_select(resp->mem_ctx, pkt->xrc_srqn))
		return SHCA_RX_DUPLICATE;
	if (pkt->reth.len)
		status = resp->mem->remote_check(resp->mem_ctx, pkt->reth.rkey,
						 pkt->reth.va, pkt->reth.len,
						 SHCA_ACCESS_REMOTE_READ);
	/* After an RNR NAK the packet does not wait: the peer repeats it, or has the response. */
	if (status == SHCA_MEM_RETRY && !resp_dup_not_yet(resp, rd, pkt->psn))
		return SHCA_RX_RETRY;
	if (status == SHCA_MEM_OK)
		resp_rd_send(resp, idx, start, end);
	return SHCA_RX_DUPLICATE;
}

/* A duplicate FLUSH or ATOMIC WRITE: answer it again, do not execute it again (oA19-14). */
static void resp_dup_bare(struct shca_resp *resp, const struct shca_pkt *pkt,
			  u32 flags)
{
	u32 idx;

	if (resp_rd_find(resp, pkt->psn, &idx) &&
	    resp_rd(resp, idx)->bare & flags)
		resp_rd_send(resp, idx, 0, 1);
}

static void resp_dup_atomic(struct shca_resp *resp, const struct shca_pkt *pkt)
{
	u32 idx;

	if (resp_rd_find(resp, pkt->psn, &idx) && resp_rd(resp, idx)->is_atomic)
		resp_rd_send(resp, idx, 0, 1);
}

/*
 * A duplicate SEND or WRITE: acknowledge the latest state (C9-105), but not beyond a later READ or
 * atomic. An ACK beyond it is an implied NAK, while its response may be in flight. A requester that
 * sends another request at the PSN of a READ has had its response (and probes, see requester.c).
 */
static void resp_dup_ack(struct shca_resp *resp, u32 psn)
{
	u32 last = resp->epsn;
	const struct shca_rd *rd;
	u32 msn = resp->msn;
	u32 i;

	if (resp->ack.owed == SHCA_ACK_NAK)
		return;	/* it acknowledges as much */
	for (i = resp->reads.tail; i != resp->reads.head; i--) {
		rd = resp_rd(resp, i - 1);
		if (shca_psn_diff(rd->first_psn, psn) <= 0 ||
		    shca_psn_diff(rd->first_psn, last) >= 0)
			break;
		last = rd->first_psn;
		msn = shca_psn_add(rd->msn, -1);
	}
	last = shca_psn_add(last, -1);
	if (resp->ack.owed == SHCA_ACK_NONE ||
	    shca_psn_diff(last, resp->ack.psn) > 0)
		resp_owe_ack(resp, last, msn);
}

/*
 * Has @pkt new PSNs? On the direct path a packet may stand for several of the wire, of which only
 * the first came. It is dropped, and acknowledged, or the requester would repeat it for ever.
 */
static bool resp_is_half_new(const struct shca_resp *resp,
			     const struct shca_pkt *pkt)
{
	return shca_psn_diff(shca_psn_add(pkt->psn, pkt->span),
			     resp->epsn) >= 0;
}

static enum shca_verdict resp_duplicate(struct shca_resp *resp,
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

bool shca_resp_may_queue(const struct shca_resp *resp, const struct shca_pkt *pkt)
{
	s32 ahead = shca_psn_diff(pkt->psn, resp->epsn);

	return resp->attr.peer & SHCA_PEER_OOO &&
	       resp->state == SHCA_SIDE_READY && resp->stands != SHCA_STANDS_RNR &&
	       ahead > 0 && ahead <= SHCA_OOO_PSNS &&
	       shca_opcode_info(pkt->opcode)->flags & SHCA_OPF_REQUEST;
}

/*
 * May a gap fill without a report? Gaps have filled lately (quiet), or the packet that came has
 * filled one, behind which there often is another. A packet that asks may be the last one.
 */
static bool resp_may_fill(const struct shca_resp *resp, u32 cause, bool asks)
{
	return !asks && (resp->gap.quiet || shca_psn_diff(cause, resp->epsn) < 0);
}

void shca_resp_gap(struct shca_resp *resp, u32 psn, u32 cause, bool asks)
{
	u32 nr = shca_psn_off(psn, resp->epsn);
	u8 syndrome;
	bool knows;

	if (resp->state != SHCA_SIDE_READY || resp->stands == SHCA_STANDS_RNR)
		return;
	/* The gap filled without a report: packets overtake each other. (A repair would ask.) */
	if (resp->gap.unreported != SHCA_PSN_NONE &&
	    shca_psn_diff(resp->epsn, resp->gap.unreported) >= 0) {
		resp->gap.unreported = SHCA_PSN_NONE;
		if (!asks)
			resp->gap.quiet = SHCA_RESP_QUIET;
	}
	if (!nr) {
		resp->gap.reported = SHCA_PSN_NONE;
		return;
	}
	/*
	 * The peer sends the reported packets again in order. If a later one is here, the earlier
	 * ones are lost again.
	 */
	knows = resp->gap.reported != SHCA_PSN_NONE &&
		shca_psn_diff(resp->gap.reported, resp->epsn) > 0 &&
		shca_psn_diff(psn, resp->gap.reported) >= 0;
	/* Any host may send packets beyond the queue, and many of them. */
	if (knows && (!asks || shca_psn_diff(cause, resp->epsn) > SHCA_OOO_PSNS))
		return;
	if (!knows && resp_may_fill(resp, cause, asks)) {
		resp->gap.unreported = psn;
		return;
	}
	resp->gap.unreported = SHCA_PSN_NONE;
	if (resp->gap.quiet)
		resp->gap.quiet--;
	nr = min_t(u32, nr, SHCA_AETH_VALUE + 1);
	resp->gap.reported = shca_psn_add(resp->epsn, nr);
	syndrome = SHCA_AETH_MISSING | (nr - 1);
	/* Keep the latest trigger. */
	if (resp->ack.owed == SHCA_ACK_NAK && resp->ack.psn == resp->epsn &&
	    resp->ack.syndrome == syndrome &&
	    shca_psn_diff(resp->ack.msn, cause) > 0)
		return;
	resp_owe_nak(resp, resp->epsn, cause, syndrome);
}

static void resp_congestion(struct shca_resp *resp, u64 now)
{
	if (!resp->attr.cnp || now < resp->cnp_ns)
		return;
	resp->cnp_due = true;
	resp->cnp_ns = now + resp->attr.cnp_interval_ns;
}

static bool resp_answers(const struct shca_resp *resp)
{
	return resp->attr.transport == SHCA_TRANSPORT_RC ||
	       resp->attr.transport == SHCA_TRANSPORT_XRC;
}

static enum shca_verdict resp_rx_unreliable(struct shca_resp *resp,
					    const struct shca_pkt *pkt,
					    struct shca_resp_out *out)
{
	if (resp->attr.transport == SHCA_TRANSPORT_UD)
		return shca_resp_rx_ud(resp, pkt, out);
	if (resp->attr.transport == SHCA_TRANSPORT_RAW)
		return shca_resp_rx_raw(resp, pkt, out);
	return shca_resp_rx_uc(resp, pkt, out);
}

/* Called until the first packet with the expected PSN has come. */
static void resp_establish(struct shca_resp *resp, u32 psn, s32 diff,
			   struct shca_resp_out *out)
{
	if (resp->first_psn == SHCA_PSN_NONE) {
		resp->first_psn = psn;
		out->events |= SHCA_EV_COMM_EST;
		if (diff)
			out->events |= SHCA_EV_PSN;
	} else if (!diff) {
		out->events |= SHCA_EV_PSN;
	}
	resp->comm_est = !diff;
}

static enum shca_verdict resp_rx(struct shca_resp *resp, const struct shca_pkt *pkt,
				 u64 now, struct shca_resp_out *out)
{
	s32 diff = shca_psn_diff(pkt->psn, resp->epsn);

	/* Another transport's opcode is not for this QP: dropped (IBTA 9.6). */
	if (resp->state != SHCA_SIDE_READY ||
	    (pkt->opcode & SHCA_TRANSPORT_MASK) != resp->attr.transport)
		return SHCA_RX_STATE;
	if (!resp_answers(resp))
		return resp_rx_unreliable(resp, pkt, out);
	if (pkt->path.ecn_ce)
		resp_congestion(resp, now);
	if (!resp->comm_est)
		resp_establish(resp, pkt->psn, diff, out);
	if (diff > 0)
		return resp_ahead(resp, pkt->psn);
	if (diff < 0)
		return resp_duplicate(resp, pkt);
	return shca_resp_execute(resp, pkt, out);
}

enum shca_verdict shca_resp_rx(struct shca_resp *resp, const struct shca_pkt *pkt,
			       u64 now, struct shca_resp_out *out)
{
	enum shca_verdict rx;

	memset(out, 0, sizeof(*out));
	rx = resp_rx(resp, pkt, now, out);
	/* Only the expected packet is trusted: any host may send others. */
	if (unlikely(shca_is_marked(pkt)) && rx == SHCA_RX_OK &&
	    resp->attr.marking && resp_answers(resp)) {
		resp->marks = shca_own_mark(resp->attr.marking);
		/* The mark of the gap report shows the requester that we are a softhca. */
		resp->attr.peer |= shca_marked_peer(pkt);
	}
	resp->stats.rx[rx]++;
	/* Queued packets, and those that wait for memory, come here again. */
	if (rx == SHCA_RX_OK)
		resp->stats.rx_bytes += pkt->paylen;
	return rx;
}

bool shca_resp_takes_run(const struct shca_resp *resp,
			 const struct shca_pkt *pkt)
{
	u32 flags = shca_opcode_info(pkt->opcode)->flags;

	if (resp->state != SHCA_SIDE_READY || pkt->psn != resp->epsn ||
	    (pkt->opcode & SHCA_TRANSPORT_MASK) != resp->attr.transport ||
	    pkt->unit != resp->attr.mtu || !resp->msg.op ||
	    resp->msg.op != (flags & (SHCA_OPF_SEND | SHCA_OPF_WRITE)))
		return false;
	if (flags & SHCA_OPF_WRITE)
		return pkt->paylen < resp->msg.left;
	return resp->recv == SHCA_RECV_OK && pkt->paylen <= resp->wr.length - resp->msg.off;
}

void shca_resp_not_yet(struct shca_resp *resp, u32 psn)
{
	u32 idx;
	u8 code;

	if (resp->state != SHCA_SIDE_READY || resp->ack.owed == SHCA_ACK_NAK ||
	    !resp_answers(resp))
		return;
	if (psn == resp->epsn) {
		code = resp_not_yet_code(resp, psn);
		resp_rnr(resp, psn);
		resp->ack.syndrome = SHCA_AETH_RNR | code;
		return;
	}
	if (resp_rd_find(resp, psn, &idx))
		resp_dup_not_yet(resp, resp_rd(resp, idx), psn);
}

bool shca_resp_flush(struct shca_resp *resp, struct shca_wc *wc)
{
	if (resp->state != SHCA_SIDE_ERR || !resp_has_wr(resp))
		return false;
	memset(wc, 0, sizeof(*wc));
	resp_end_wr(resp, SHCA_WC_RECV, SHCA_WC_WR_FLUSH_ERR, wc);
	return true;
}
