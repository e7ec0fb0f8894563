// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The completer: last part of the requester (IBTA 9.7.5). It takes ACKs, READ responses and atomic
 * results, and stores their data. It moves @una and @psn.una of struct shca_req. The caller holds
 * the lock of the send half.
 *
 * Operation. A response acknowledges all PSNs before its own, with one exception: only its own
 * response completes a READ or atomic. If a later request is answered first, that response is
 * lost. A middle part of a READ is lost if a later part arrives. The requester then asks for the
 * missing part, or goes back to the first missing PSN (the implied NAK of IBTA 9.7.5).
 */
#include "../opcode.h"
#include "req_credit.h"
#include "req_internal.h"

/* A switch has marked packets of this requester, or responses to it. */
static void req_congested(struct shca_req *req, u64 now)
{
	shca_cc_on_cnp(&req->cc, req->rtt.ns, now);
	shca_req_set_pacing(req);
}

/* ---- progress ----------------------------------------------------------- */

/* @nr: PSNs acknowledged meanwhile, 0: unknown, as while one is missing */
static void req_sample_rtt(struct shca_req *req, u32 nr, u64 now)
{
	u64 rtt = now - req->rtt.start;
	bool guess = req->rtt.again;

	req->rtt.psn = SHCA_PSN_NONE;
	if (shca_cc_has_window(&req->cc) && !guess) {
		shca_cc_on_rtt(&req->cc, rtt, nr, now);
		shca_req_set_pacing(req);
	}
	/*
	 * Follow a rise at once and a fall slowly, because a short estimate costs traffic. The
	 * first packet that was sent only once ends a guess.
	 */
	if (rtt >= req->rtt.ns || unlikely(req->rtt.guess && !guess))
		req->rtt.ns = rtt;
	else
		req->rtt.ns -= (req->rtt.ns - rtt) >> 3;
	req->rtt.guess = guess;
	if (!guess && (!req->rtt.least || rtt < req->rtt.least))
		req->rtt.least = rtt;
	if (unlikely(2 * req->rtt.ns > req->attr.timeout_ns ||
		     req->recovery.timeout_ns != req->attr.timeout_ns))
		shca_req_set_timeout(req);
}

/*
 * The timed packet and all before it are acknowledged. If something was sent again since it left,
 * the answer may be to the first copy, to the second, or to the end of a repair. Within half of the
 * least round trip after the second copy it is to the first. (The smoothed round trip may include a
 * queue, or the wait for a repair, which would lengthen the next one.) After a tail loss probe or a
 * time-out the round trip is a guess. Without it, a path slower than these would stay unknown. What
 * may contain a time-out is no guess where a round trip is known.
 */
static void req_sample_in_order(struct shca_req *req, u64 now)
{
	if (likely(req->recovery.again_ns <= req->rtt.start))
		req_sample_rtt(req, shca_psn_off(req->psn.una, req->rtt.una), now);
	else if (now - req->recovery.again_ns <
			 (req->rtt.least ?: req->rtt.ns) / 2 ||
		 (req->rtt.again && (!req->rtt.ns || req->rtt.guess ||
				     now - req->rtt.start < req->recovery.timeout_ns)))
		req_sample_rtt(req, 0, now);
	else
		req->rtt.psn = SHCA_PSN_NONE;
}

void shca_req_time(struct shca_req *req, u32 psn, u64 now)
{
	req->recovery.behind_ns = now;
	/* While packets overtake each other, one that does has a shorter round trip than most. */
	if (req->rtt.psn != SHCA_PSN_NONE && !req->recovery.reorders &&
	    shca_psn_diff(psn, req->rtt.psn) >= 0)
		req_sample_rtt(req, 0, now);
}

static void req_ack_now(struct shca_req *req, u64 now);

/* The oldest packet has arrived within its reordering window: it was reordered. */
static void req_come_late(struct shca_req *req)
{
	req->recovery.reorders = SHCA_REQ_REORDERS;
	if (shca_psn_diff(req->psn.una, req->recovery.reo.end) >= 0)
		req->recovery.reo.ns = 0;
}

/* @psn.una has moved: reset counters, and set the timer for what is left. */
static void req_progress(struct shca_req *req, u64 now)
{
	req->recovery.retry_left = req->attr.retry_cnt;
	/* The refused packet is the oldest, so a copy of it was accepted. */
	req->recovery.waits = SHCA_WAIT_ANSWER;
	req->recovery.rnr_row = 0;
	req->recovery.early_row = 0;
	req->ackreq.heard = true;
	if (req->rtt.psn != SHCA_PSN_NONE &&
	    shca_psn_diff(req->psn.una, req->rtt.psn) > 0)
		req_sample_in_order(req, now);

	req->recovery.deadline = 0;
	req->ackreq.probe_ns = 0;
	req->ackreq.probed = false;
	if (!req_span(req))
		req->ackreq.probe_due = false;
	else if (req->ackreq.psn == req->psn.una && req->psn.next == req->psn.max)
		req->ackreq.probe_ns = now + shca_req_quiet_time(req);
	else if (req->recovery.timeout_ns && req->psn.next != req->psn.una)
		req->recovery.deadline = now + req->recovery.timeout_ns;
	/* Otherwise all that is left waits to be sent again, which arms the timer. */
	req->recovery.beyond = 0;
	if (unlikely(req->recovery.reo.ns))
		req_come_late(req);
	if (unlikely(req->recovery.acked_psn != SHCA_PSN_NONE))
		req_ack_now(req, now);
}

/* The first @n outstanding PSNs of the request at @una are done. */
static void req_take(struct shca_req *req, u32 n)
{
	const struct shca_send_wr *wr = req_wr(req, req->ring.una);
	u32 lead = shca_psn_off(req->psn.next, req->psn.una);

	req->psn.una = shca_psn_add(req->psn.una, n);
	shca_cc_on_ack(&req->cc, n);
	if (req_is_rd(wr))
		req->psn.nr_rd_psns -= n;
	/* A peer may acknowledge without being asked. */
	if (shca_psn_diff(req->psn.una, req->ackreq.psn) > 0)
		req->ackreq.psn = req->psn.una;
	if (shca_psn_off(req->psn.una, wr->first_psn) == wr->nr_psn) {
		if (req_is_rd(wr))
			req->psn.nr_rd--;
		req->ring.una++;
		shca_req_skip_local(req);
	}
	if (lead < n)
		shca_req_overtaken(req);
}

/*
 * Acknowledge @n PSNs from @psn.una on; the caller made sure that so many are outstanding.
 *
 * Return: how many of them remain, because a READ or atomic is in the way.
 */
static u32 req_ack(struct shca_req *req, u32 n, u64 now)
{
	const struct shca_send_wr *wr;
	bool moved = false;
	u32 left;

	while (n) {
		wr = req_wr(req, req->ring.una);
		if (req_is_rd(wr))
			break;
		left = wr->nr_psn - shca_psn_off(req->psn.una, wr->first_psn);
		left = min_t(u32, left, n);
		req_take(req, left);
		n -= left;
		moved = true;
	}
	if (moved)
		req_progress(req, now);
	return n;
}

/* The response that an ACK had to wait for is here: process the ACK. */
static void req_ack_now(struct shca_req *req, u64 now)
{
	u32 off = shca_psn_off(req->recovery.acked_psn, req->psn.una);

	if (off < req_span(req)) {
		if (req_ack(req, off + 1, now))
			return;
		shca_req_credit(req, req->recovery.acked_syndrome);
	}
	req->recovery.acked_psn = SHCA_PSN_NONE;
}

/* ---- refusals ----------------------------------------------------------- */

static enum shca_verdict req_bad(struct shca_req *req, u8 status, u16 vendor_err)
{
	shca_req_fail_una(req, status, vendor_err);
	return SHCA_RX_BAD_RESPONSE;
}

/* A later response shows that one at @psn.una is missing. The caller may queue the later one. */
static enum shca_verdict req_ahead(struct shca_req *req, u64 now)
{
	if (!req->attr.ooo)
		shca_req_go_back(req, SHCA_VERR_RESPONSE, now);
	return SHCA_RX_LOST_RESPONSE;
}

/* The same for an ACK, which counts once the missing response is here. */
static enum shca_verdict req_ack_ahead(struct shca_req *req,
				       const struct shca_pkt *pkt, u64 now)
{
	const struct shca_send_wr *wr = req_wr(req, req->ring.una);

	if (!req->attr.ooo)
		return req_ahead(req, now);
	req->recovery.acked_psn = pkt->psn;
	req->recovery.acked_syndrome = pkt->aeth.syndrome;
	shca_req_unanswered(req, shca_psn_add(wr->first_psn, wr->nr_psn), pkt->psn,
			    now);
	return SHCA_RX_LOST_RESPONSE;
}

/* The same for a NAK, which needs more than the missing response. */
static enum shca_verdict req_gap(struct shca_req *req, u64 now)
{
	shca_req_go_back(req, SHCA_VERR_RESPONSE, now);
	return SHCA_RX_LOST_RESPONSE;
}

/*
 * Does this answer show that nothing of what was probed has come? A peer that acknowledges a
 * duplicate by another PSN than its last one sends it, too; then a packet sent again draws an ACK.
 */
static bool req_is_nothing(const struct shca_req *req,
			   const struct shca_pkt *pkt)
{
	return req->ackreq.probed && !pkt->paylen &&
	       pkt->opcode == (req->attr.transport | SHCA_OP_ACK) &&
	       (pkt->aeth.syndrome & ~SHCA_AETH_VALUE) == SHCA_AETH_ACK &&
	       shca_psn_diff(pkt->psn, req->psn.una) < 0;
}

/* The last acknowledgement again, with more credits: IBTA 9.7.7.2. */
static bool req_is_unasked_credit(struct shca_req *req,
				  const struct shca_pkt *pkt)
{
	return req->credit.valid && !pkt->paylen &&
	       pkt->opcode == (req->attr.transport | SHCA_OP_ACK) &&
	       (pkt->aeth.syndrome & ~SHCA_AETH_VALUE) == SHCA_AETH_ACK &&
	       pkt->aeth.syndrome != (SHCA_AETH_ACK | SHCA_AETH_CREDIT_NONE) &&
	       pkt->psn == shca_psn_add(req->psn.una, -1) &&
	       shca_req_credit(req, pkt->aeth.syndrome);
}

/* ---- acknowledgements --------------------------------------------------- */

static enum shca_verdict req_rx_rnr(struct shca_req *req, const struct shca_pkt *pkt,
				    u64 now)
{
	if (shca_req_rnr_waits(req))
		return SHCA_RX_NAK_RNR;	/* a copy of what began the wait */
	if (!shca_req_rnr_left(req)) {
		shca_req_fail_una(req, SHCA_WC_RNR_RETRY_EXC_ERR,
				  SHCA_VERR_RNR);
		return SHCA_RX_NAK_RNR;
	}
	shca_req_wait_rnr(req,
			  shca_rnr_ns(pkt->aeth.syndrome & SHCA_AETH_VALUE),
			  now);
	return SHCA_RX_NAK_RNR;
}

/* Learn SHCA_PEER_* from the mark of an answer, and mark the requests that follow. */
static void req_learn(struct shca_req *req, const struct shca_pkt *pkt)
{
	if (!req->attr.marking)
		return;
	req->marks = shca_own_mark(req->attr.marking);
	req->attr.peer |= shca_marked_peer(pkt);
}

/*
 * @behind: an answer before it is missing. A responder that sends a fatal NAK is in error and
 * answers nothing more, so the oldest request ends with the status of that NAK.
 */
static enum shca_verdict req_rx_nak(struct shca_req *req, u8 code, bool behind,
				    u64 now)
{
	static const u8 status[] = {
		[SHCA_NAK_INVALID] = SHCA_WC_REM_INV_REQ_ERR,
		[SHCA_NAK_ACCESS] = SHCA_WC_REM_ACCESS_ERR,
		[SHCA_NAK_OPERATION] = SHCA_WC_REM_OP_ERR,
	};

	if (code != SHCA_NAK_PSN_SEQ) {
		shca_req_fail_una(req, status[code], SHCA_VERR_NAK);
		return SHCA_RX_NAK_FATAL;
	}
	if (behind)
		return req_gap(req, now);
	shca_req_go_back(req, SHCA_VERR_SEQ_NAK, now);
	return SHCA_RX_NAK_SEQ;
}

/*
 * Acknowledge packet. Reserved syndromes, and the NAK code of RD, are dropped as if lost, because
 * IBTA 9.7.5.2.3 reserves them for later versions: a requester must not fail on them.
 */
static enum shca_verdict req_rx_ack(struct shca_req *req, const struct shca_pkt *pkt,
				    u32 off, u64 now)
{
	u8 code = pkt->aeth.syndrome & SHCA_AETH_VALUE;
	bool probed;
	u32 tail_probes;

	if (pkt->paylen)
		return req_bad(req, SHCA_WC_BAD_RESP_ERR, SHCA_VERR_RESPONSE);

	switch (pkt->aeth.syndrome & ~SHCA_AETH_VALUE) {
	case SHCA_AETH_ACK:
		probed = req->ackreq.probed;
		tail_probes = req->recovery.tail_probes;
		if (req_ack(req, off + 1, now))
			return req_ack_ahead(req, pkt, now);
		shca_req_credit(req, pkt->aeth.syndrome);
		if (probed &&
		    shca_psn_diff(req->ackreq.probe_end, req->psn.una) > 0)
			shca_req_missing(req, now);
		else if (unlikely(tail_probes))
			shca_req_tail_probed(req, now);
		return SHCA_RX_OK;
	case SHCA_AETH_RNR:
		if (req_ack(req, off, now))
			return req_gap(req, now);
		return req_rx_rnr(req, pkt, now);
	case SHCA_AETH_MISSING:
		/* It may be the first answer of a peer that is known only by its mark. */
		if (unlikely(shca_is_marked(pkt)))
			req_learn(req, pkt);
		/* A trigger that never left is forged. */
		if (!(req->attr.peer & SHCA_PEER_OOO) ||
		    shca_psn_diff(pkt->aeth.msn, req->psn.max) >= 0)
			return SHCA_RX_STALE_ACK;
		if (req_ack(req, off, now))
			shca_req_resend_ahead(req, pkt->psn, code + 1, pkt->aeth.msn, now);
		else
			shca_req_resend(req, code + 1, pkt->aeth.msn, now);
		return SHCA_RX_NAK_SEQ;
	case SHCA_AETH_NAK:
		if (code > SHCA_NAK_OPERATION)
			return SHCA_RX_STALE_ACK;
		return req_rx_nak(req, code, req_ack(req, off, now), now);
	default:
		return SHCA_RX_STALE_ACK;
	}
}

/* ---- responses with data ------------------------------------------------ */

/*
 * May a response with the table entry @flags be packet @idx of @wr's READ, or @nr of them from
 * there on? FIRST and ONLY begin a response, LAST and ONLY end it. So they may stand in the middle
 * only if a part was requested again.
 */
static bool req_read_opcode_fits(const struct shca_send_wr *wr, u32 idx,
				 u32 nr, u32 flags)
{
	u32 again = wr->flags_core & SHCA_WRF_RETRIED;
	bool begins = flags & SHCA_OPF_START;
	bool ends = flags & SHCA_OPF_END;

	if (idx + nr > wr->nr_psn)
		return false;
	if (unlikely(ends != (idx + nr == wr->nr_psn)) && !(ends && again))
		return false;
	if (begins)
		return !idx || again;
	return idx;
}

/* @tells: @pkt has an AETH, whose credits count before those of an ACK that waited for @pkt. */
static enum shca_verdict req_placed(struct shca_req *req,
				    enum shca_mem_status status,
				    const struct shca_pkt *pkt, u32 nr_psn,
				    bool tells, u64 now)
{
	if (status == SHCA_MEM_RETRY)
		return SHCA_RX_RETRY;
	if (status != SHCA_MEM_OK) {
		shca_req_fail_una(req, SHCA_WC_LOC_PROT_ERR,
				  shca_mem_verr(status));
		return SHCA_RX_LOCAL_ERR;
	}
	req_take(req, nr_psn);
	if (tells)
		shca_req_credit(req, pkt->aeth.syndrome);
	req_progress(req, now);
	return SHCA_RX_OK;
}

/* The answer to a FLUSH or an ATOMIC WRITE is a READ response without data. */
static enum shca_verdict req_rx_bare(struct shca_req *req,
				     const struct shca_pkt *pkt, u64 now)
{
	if ((pkt->opcode & ~SHCA_TRANSPORT_MASK) != SHCA_OP_READ_RESP_ONLY ||
	    pkt->paylen ||
	    (pkt->aeth.syndrome & ~SHCA_AETH_VALUE) != SHCA_AETH_ACK)
		return req_bad(req, SHCA_WC_BAD_RESP_ERR, SHCA_VERR_RESPONSE);
	return req_placed(req, SHCA_MEM_OK, pkt, 1, true, now);
}

static enum shca_verdict req_rx_read(struct shca_req *req,
				     const struct shca_pkt *pkt, u32 off, u64 now)
{
	u32 flags = shca_opcode_info(pkt->opcode)->flags;
	enum shca_mem_status status = SHCA_MEM_OK;
	const struct shca_send_wr *wr;
	u32 nr_psn = pkt->span + 1;
	u32 idx, byte, want;

	if (req_ack(req, off, now))
		return req_ahead(req, now);
	wr = req_wr(req, req->ring.una);
	if (req_is_bare(wr))
		return req_rx_bare(req, pkt, now);
	idx = shca_psn_off(req->psn.una, wr->first_psn);
	if (!req_is_read(wr) || !req_read_opcode_fits(wr, idx, nr_psn, flags) ||
	    (flags & SHCA_OPF_AETH &&
	     (pkt->aeth.syndrome & ~SHCA_AETH_VALUE) != SHCA_AETH_ACK))
		return req_bad(req, SHCA_WC_BAD_RESP_ERR, SHCA_VERR_RESPONSE);

	byte = idx << req->psn.mtu_shift;
	want = min_t(u32, wr->length - byte, nr_psn << req->psn.mtu_shift);
	/* A local length error: too much or too little data (IBTA 9.9.2). */
	if (pkt->paylen != want)
		return req_bad(req, SHCA_WC_LOC_LEN_ERR, SHCA_VERR_RESPONSE);
	if (want)
		status = req->mem->local_scatter(req->mem_ctx, wr->sge,
						 wr->num_sge, byte, pkt);
	return req_placed(req, status, pkt, nr_psn, flags & SHCA_OPF_AETH, now);
}

static enum shca_verdict req_rx_atomic(struct shca_req *req,
				       const struct shca_pkt *pkt, u32 off, u64 now)
{
	const struct shca_send_wr *wr;

	if (req_ack(req, off, now))
		return req_ahead(req, now);
	wr = req_wr(req, req->ring.una);
	if (!req_is_atomic(wr) || pkt->paylen ||
	    (pkt->aeth.syndrome & ~SHCA_AETH_VALUE) != SHCA_AETH_ACK)
		return req_bad(req, SHCA_WC_BAD_RESP_ERR, SHCA_VERR_RESPONSE);
	return req_placed(req,
			  req->mem->local_store(req->mem_ctx, wr->sge,
						wr->num_sge, &pkt->atomic_ack,
						sizeof(pkt->atomic_ack)),
			  pkt, 1, true, now);
}

static enum shca_verdict
req_stale(struct shca_req *req, const struct shca_pkt *pkt, u64 now)
{
	if ((pkt->opcode & SHCA_TRANSPORT_MASK) == req->attr.transport &&
	    shca_psn_diff(pkt->psn, req->psn.una) < 0)
		shca_req_stale(req, pkt->psn, now);
	return SHCA_RX_STALE_ACK;
}

static enum shca_verdict req_rx(struct shca_req *req, const struct shca_pkt *pkt,
				u64 now)
{
	u32 off = shca_psn_off(pkt->psn, req->psn.una);

	if (shca_opcode_is_cnp(pkt->opcode)) {
		if (req->attr.ecn || req->cc.attr.cct)
			req_congested(req, now);
		return SHCA_RX_CNP;
	}
	if (req->state != SHCA_SIDE_READY)
		return SHCA_RX_STATE;
	/* Ghosts, duplicates, and PSNs never sent are dropped (IBTA 9.7.5). */
	if (off >= req_span(req)) {
		if (req_is_nothing(req, pkt))
			shca_req_missing(req, now);
		else if (!req_is_unasked_credit(req, pkt))
			return req_stale(req, pkt, now);
		return SHCA_RX_OK;
	}

	if ((pkt->opcode & SHCA_TRANSPORT_MASK) != req->attr.transport)
		return SHCA_RX_STATE;
	switch (pkt->opcode & ~SHCA_TRANSPORT_MASK) {
	case SHCA_OP_ACK:
		return req_rx_ack(req, pkt, off, now);
	case SHCA_OP_READ_RESP_FIRST:
	case SHCA_OP_READ_RESP_MIDDLE:
	case SHCA_OP_READ_RESP_LAST:
	case SHCA_OP_READ_RESP_ONLY:
		/* The requests of this side determine how many responses there are. */
		if (unlikely(pkt->path.ecn_ce))
			req_congested(req, now);
		return req_rx_read(req, pkt, off, now);
	case SHCA_OP_ATOMIC_ACK:
		return req_rx_atomic(req, pkt, off, now);
	default:
		return SHCA_RX_STATE;	/* not for this side */
	}
}

bool shca_req_may_queue(const struct shca_req *req, const struct shca_pkt *pkt)
{
	u32 flags = shca_opcode_info(pkt->opcode)->flags;

	return req->attr.ooo && req->state == SHCA_SIDE_READY &&
	       (pkt->opcode & SHCA_TRANSPORT_MASK) == req->attr.transport &&
	       flags & SHCA_OPF_RESPONSE &&
	       flags & (SHCA_OPF_READ | SHCA_OPF_ATOMIC) &&
	       shca_psn_off(pkt->psn, req->psn.una) < req_span(req);
}

bool shca_req_takes_run(const struct shca_req *req, const struct shca_pkt *pkt)
{
	const struct shca_send_wr *wr = req_wr(req, req->ring.una);
	u32 idx;

	if (req->state != SHCA_SIDE_READY || pkt->psn != req->psn.una ||
	    pkt->unit != 1u << req->psn.mtu_shift || pkt->span >= req_span(req) ||
	    !req_is_read(wr))
		return false;
	idx = shca_psn_off(req->psn.una, wr->first_psn);
	return idx && idx + pkt->span + 1 < wr->nr_psn;
}

enum shca_verdict shca_req_rx(struct shca_req *req, const struct shca_pkt *pkt,
			      u64 now)
{
	enum shca_verdict rx = req_rx(req, pkt, now);

	/* Only the answer to an outstanding request is trusted: any host may send others. */
	if (unlikely(shca_is_marked(pkt)) && rx == SHCA_RX_OK)
		req_learn(req, pkt);
	req->stats.rx[rx]++;
	/* Queued packets, and those that wait for memory, come here again. */
	if (rx == SHCA_RX_OK)
		req->stats.rx_bytes += pkt->paylen;
	return rx;
}
