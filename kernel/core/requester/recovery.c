// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Recovery: what the requester sends again, and when. The completer (completer.c) calls it for
 * NAKs and gaps. The caller of the core calls it for time-outs, and for packets that could not be
 * transmitted.
 *
 * A peer with an out-of-order queue (SHCA_PEER_OOO) reports what is missing. Only that is sent
 * again, and then sending continues at new packets (shca_req_resend()).
 *
 * With any other peer recovery is go-back-N. It follows a sequence NAK, a time-out, a gap among the
 * responses and an RNR wait. Sending continues at the oldest unacknowledged PSN, anywhere in a
 * message. A partly answered READ requests the rest, at the PSN of the first missing packet.
 *
 * Packets sent before going back are still in flight. Their answers show more gaps, whose repair
 * has begun already. Going back for each would multiply traffic, so the requester goes back once
 * per missing PSN (SHCA_WAIT_BACK). If that repair is lost, too, tail loss probes and time-outs
 * serve until there is progress. Otherwise a gap and a retry would follow each time-out, and
 * retry_cnt would last half as long where small packets pass and large ones do not.
 *
 * The requester also goes back only once per round trip (@recovery.hold_ns). It remembers a cause
 * in between (SHCA_WAIT_HOLD), and goes back at the end of the round trip, unless there was
 * progress.
 */
#include "../opcode.h"
#include "req_internal.h"

/* Round trip until one is measured, if there is no time-out to derive it from. */
#define RTT_GUESS_NS	1000000ull
/* A tail loss probe waits for two round trips and this; twice as long until there is progress. */
#define EARLY_LEAST_NS	500000ull

/* ---- where sending continues ---------------------------------------------- */

/* Continue sending at the oldest packet; answers to what was asked and sent before are due. */
static void req_rewind(struct shca_req *req)
{
	const struct shca_send_wr *wr = req_wr(req, req->ring.una);

	req->ring.nxt = req->ring.una;
	req->psn.next = req->psn.una;
	req->ring.pkt_idx = 0;
	req->ackreq.nr_since = 0;
	req->ackreq.probed = false;
	req->ackreq.probe_ns = 0;
	req->recovery.resend_max = req->psn.max;
	req->recovery.tail_probes = 0;
	req->recovery.reo.ns = 0;
	if (req->ring.una != req->ring.prod && wr->flags_core & SHCA_WRF_STARTED)
		req->ring.pkt_idx = shca_psn_off(req->psn.una, wr->first_psn);
}

void shca_req_seek(struct shca_req *req)
{
	req_rewind(req);
	/* The last packet that is sent again has AckReq, whatever asked before. */
	req->ackreq.psn = req->psn.una;
	req->recovery.resend_end = SHCA_PSN_NONE;
	req->recovery.rest_end = SHCA_PSN_NONE;
}

/* Send again from the oldest packet up to @end, then continue at new packets. */
static void req_resend(struct shca_req *req, u32 end)
{
	struct shca_req_recovery *r = &req->recovery;

	/* The rest of a repair that this one interrupts follows it. */
	if (r->resend_end != SHCA_PSN_NONE && r->rest_end == SHCA_PSN_NONE &&
	    shca_psn_diff(end, req->psn.next) <= 0) {
		r->rest_psn = req->psn.next;
		r->rest_end = r->resend_end;
	}
	req_rewind(req);
	r->resend_end = end;
}

/* Continue sending at @psn, which is not before the present PSN. */
static void req_skip_to(struct shca_req *req, u32 psn)
{
	const struct shca_send_wr *wr;
	u32 i;

	for (i = req->ring.nxt; i != req->ring.prod; i++) {
		wr = req_wr(req, i);
		if (!(wr->flags_core & SHCA_WRF_STARTED) ||
		    shca_psn_diff(shca_psn_add(wr->first_psn, wr->nr_psn), psn) > 0)
			break;
	}
	req->ring.nxt = i;
	req->ring.pkt_idx = 0;
	if (i != req->ring.prod && wr->flags_core & SHCA_WRF_STARTED) {
		/* No peer misses the middle of a READ, but a forged packet may report it. */
		if (req_is_read(wr))
			psn = i == req->ring.una ? req->psn.una : wr->first_psn;
		req->ring.pkt_idx = shca_psn_off(psn, wr->first_psn);
	}
	req->psn.next = psn;
}

void shca_req_resend_done(struct shca_req *req)
{
	struct shca_req_recovery *r = &req->recovery;

	r->resend_end = r->rest_end;
	r->rest_end = SHCA_PSN_NONE;
	/* The repair that this one has interrupted goes on. */
	if (unlikely(r->resend_end != SHCA_PSN_NONE) &&
	    shca_psn_diff(r->resend_end, req->psn.next) > 0) {
		r->gap_end = r->resend_end;
		if (shca_psn_diff(r->rest_psn, req->psn.next) > 0)
			req_skip_to(req, r->rest_psn);
		return;
	}
	r->resend_end = SHCA_PSN_NONE;
	req_skip_to(req, req->psn.max);
	/* Packets since the last AckReq, at most: a READ among them has asked itself. */
	req->ackreq.nr_since = shca_psn_off(req->psn.next, req->ackreq.psn);
}

void shca_req_overtaken(struct shca_req *req)
{
	u32 end = req->recovery.resend_end;

	req_rewind(req);
	if (end != SHCA_PSN_NONE && shca_psn_diff(req->psn.una, end) >= 0)
		shca_req_resend_done(req);
}

/*
 * An armed requester continues on its alternate path, once. It has all retries again, and the
 * time-out that the caller sets as it exchanges the paths.
 */
static bool req_may_retry(struct shca_req *req)
{
	if (req->recovery.retry_left) {
		req->recovery.retry_left--;
		return true;
	}
	if (req->attr.apm != SHCA_APM_ARMED)
		return false;
	req->attr.apm = SHCA_APM_MIGRATED;
	req->recovery.retry_left = req->attr.retry_cnt;
	req->migrates = true;
	return true;
}

void shca_req_retry(struct shca_req *req, u16 vendor_err)
{
	if (!req_may_retry(req)) {
		shca_req_fail_una(req, SHCA_WC_RETRY_EXC_ERR, vendor_err);
		return;
	}
	shca_cc_on_loss(&req->cc);
	req->recovery.deadline = 0;	/* armed by the first packet sent again */
	req->rtt.psn = SHCA_PSN_NONE;
	req->recovery.gap_end = req->psn.una;
	shca_req_seek(req);
}

/* ---- refusals and gaps ---------------------------------------------------- */

/* Time in which answers to packets sent before going back may still come. */
static u64 req_round_trip(const struct shca_req *req)
{
	if (req->rtt.ns)
		return req->rtt.ns + (req->rtt.ns >> 2);
	if (req->attr.timeout_ns)
		return req->attr.timeout_ns >> 4;
	return RTT_GUESS_NS;
}

/* An answer within this time after a packet was sent again is not to that copy. */
static u64 req_too_soon(const struct shca_req *req)
{
	return (req->rtt.ns ?: req_round_trip(req)) / 2;
}

/* Was the oldest packet sent again because of a gap or a NAK, or does it wait for a receive? */
static bool req_is_repairing(const struct shca_req *req)
{
	return req->recovery.waits != SHCA_WAIT_ANSWER && req->recovery.waits != SHCA_WAIT_HOLD;
}

void shca_req_go_back(struct shca_req *req, u16 vendor_err, u64 now)
{
	if (req_is_repairing(req))
		return;
	if (now < req->recovery.hold_ns) {
		req->recovery.waits = SHCA_WAIT_HOLD;
		if (!req->recovery.deadline || req->recovery.hold_ns < req->recovery.deadline)
			req->recovery.deadline = req->recovery.hold_ns;
		return;
	}
	req->recovery.hold_ns = now + req_round_trip(req);
	req->recovery.waits = SHCA_WAIT_BACK;
	shca_req_retry(req, vendor_err);
}

/* @nr packets of a window are lost. */
static void req_lost(struct shca_req *req, u32 nr)
{
	u32 off = shca_psn_off(req->recovery.loss_psn, req->psn.una), of = 0;

	/* A @loss_psn beyond all that is outstanding is old, because PSNs come again. */
	if (!off || off > req_span(req)) {
		req->recovery.loss_psn = req->psn.max;
		of = req_span(req);
	}
	shca_cc_on_gap(&req->cc, nr, of);
}

/*
 * A repair of all from the oldest packet up to @end begins. Is it spurious? Where packets overtake
 * each other, many gaps are repaired before the second copy of one arrives, so one repair is
 * checked until it is too long ago. (An ACK names no single packet: it must come soon.)
 */
static void req_watch(struct shca_req *req, u32 end, bool read, u64 now)
{
	struct shca_req_recovery *r = &req->recovery;
	bool one_packet = shca_req_one_packet(req);
	bool may_be_spurious = r->undo.end != SHCA_PSN_NONE;
	bool lasts = r->undo.read ?
		shca_psn_off(req->psn.una, r->undo.psn) < SHCA_REQ_WATCH * req->cc.cwnd :
		now - r->undo.ns <= 2 * req_round_trip(req);

	/* The second copy of a tail loss probe shows nothing. */
	if (may_be_spurious && one_packet && shca_psn_diff(req->psn.una, r->undo.end) < 0)
		lasts = false;
	if (may_be_spurious && lasts && (read || !one_packet))
		return;
	/* Both copies of a tail loss probe usually arrive. */
	r->undo.read = read;
	r->undo.psn = req->psn.una;
	r->undo.end = one_packet ? SHCA_PSN_NONE : end;
	r->undo.ns = now;
}

/* Is something outstanding before the end of the last gap? An end beyond all of it is old. */
static bool req_gap_lasts(const struct shca_req *req)
{
	u32 off = shca_psn_off(req->recovery.gap_end, req->psn.una);

	return off && off <= req_span(req);
}

/* Has the peer executed the oldest request, so that only responses are missing? */
static bool req_is_executed(const struct shca_req *req)
{
	return req_wr(req, req->ring.una)->flags_core & SHCA_WRF_EXECUTED;
}

/* A repair of all from the oldest packet up to @end begins. */
static void req_gap_is(struct shca_req *req, u32 end, u64 now)
{
	req_watch(req, end, req_is_read(req_wr(req, req->ring.una)), now);
	req->recovery.gap_end = end;
	req->recovery.again_ns = now;
}

/* Send packets again from the oldest one up to @end, because of a gap. */
static void req_repair(struct shca_req *req, u32 end, u64 now)
{
	bool anew = !req_gap_lasts(req);

	req_lost(req, shca_psn_off(end, req->psn.una));
	if (req->recovery.waits != SHCA_WAIT_HOLD)
		req->recovery.waits = req_is_executed(req) ? SHCA_WAIT_ANSWER :
							     SHCA_WAIT_REPAIR;
	/* The next packet arms the timer. Without progress it runs on, or would never expire. */
	if (anew)
		req->recovery.deadline = 0;
	req_gap_is(req, end, now);
	req_resend(req, end);
}

/*
 * Send packets again from @psn up to @end, behind the oldest: answers before them are in flight. If
 * one of those is lost, the answers to these show it.
 */
static void req_repair_ahead(struct shca_req *req, u32 psn, u32 end, u64 now)
{
	struct shca_req_recovery *r = &req->recovery;

	req_lost(req, shca_psn_off(end, psn));
	r->ahead_end = end;
	r->again_ns = now;
	req_resend(req, end);
	req_skip_to(req, psn);
}

/*
 * A gap from @psn up to @end: open a reordering window if packets were reordered not long ago,
 * because the gap may fill by itself. At its end the gap is repaired.
 *
 * Return: whether a window is open.
 */
static bool req_may_be_late(struct shca_req *req, u32 psn, u32 end, u64 now)
{
	u64 wait;

	if (!req->recovery.reorders || !req->rtt.ns)
		return false;
	if (req->recovery.reo.ns)
		return true;
	wait = req->rtt.ns << req->recovery.reo.shift;
	/* The window ends well before the time-out, which costs a retry. */
	if (req->recovery.deadline)
		wait = min_t(u64, wait, req->recovery.deadline > now ?
			     (req->recovery.deadline - now) / 2 : 0);
	req->recovery.reo.ns = now + wait;
	req->recovery.reo.psn = psn;
	req->recovery.reo.end = end;
	return true;
}

/*
 * The gap from the oldest packet up to @end is reported by @cause, which has arrived. Is a repair
 * of it in flight? No, if @cause was sent after the repair, or if a later packet of it has arrived.
 */
static bool req_is_under_way(const struct shca_req *req, u32 end, u32 cause, u64 now)
{
	const struct shca_req_recovery *r = &req->recovery;

	/* Not all of it has left: a small window may stop it until what has left is repaired. */
	if (r->resend_end != SHCA_PSN_NONE && shca_psn_diff(end, req->psn.next) >= 0)
		return true;
	if (!req_gap_lasts(req))
		return false;
	if (r->resend_end == SHCA_PSN_NONE && req->psn.next != req->psn.max)
		return true;
	if (shca_psn_diff(cause, r->resend_max) >= 0)
		return false;
	if (shca_psn_diff(end, r->gap_end) < 0)
		return now - r->again_ns < req_too_soon(req);
	return now - r->again_ns < 2 * req_round_trip(req);
}

/*
 * All before @end is missing, and @cause has arrived. Most packets between them have, too, and are
 * not in flight: new ones may leave in their place. Otherwise the path would drain until the gap is
 * repaired, and then get a whole window at once.
 */
static void req_come(struct shca_req *req, u32 end, u32 cause)
{
	s32 nr = shca_psn_diff(cause, end) + 1;

	if (nr <= 0 || (u32)nr > req_span(req))
		return;
	/* After losses or marks the bottleneck's queue is full, and gets nothing more. */
	if (req->cc.cwnd < req->cc.wide)
		return;
	/* An earlier report may have shown more. */
	req->recovery.beyond = max_t(u32, req->recovery.beyond,
				     min_t(u32, nr, req->cc.cwnd));
}

void shca_req_resend(struct shca_req *req, u32 nr, u32 cause, u64 now)
{
	u32 end;

	nr = min_t(u32, nr, req_span(req));
	end = shca_psn_add(req->psn.una, nr);
	shca_req_time(req, cause, now);
	req_come(req, end, cause);
	/* Go-back-N sends all of it again. */
	if (shca_req_rnr_waits(req) || req->recovery.waits == SHCA_WAIT_BACK ||
	    req_is_under_way(req, end, cause, now))
		return;
	if (!req_may_be_late(req, req->psn.una, end, now))
		req_repair(req, end, now);
}

/* Does an ACK that waits for a response cover @psn? */
static bool req_has_acked(const struct shca_req *req, u32 psn)
{
	return req->recovery.acked_psn != SHCA_PSN_NONE &&
	       shca_psn_diff(req->recovery.acked_psn, psn) >= 0;
}

void shca_req_resend_ahead(struct shca_req *req, u32 psn, u32 nr, u32 cause, u64 now)
{
	const struct shca_req_recovery *r = &req->recovery;
	u32 end;

	/* Go-back-N or a repair of more is under way, or an ACK has overtaken this report. */
	if (shca_req_rnr_waits(req) || r->waits == SHCA_WAIT_BACK ||
	    req->psn.next != req->psn.max || req_has_acked(req, psn))
		return;
	nr = min_t(u32, nr, shca_psn_off(req->psn.max, psn));
	end = shca_psn_add(psn, nr);
	if (shca_psn_diff(r->ahead_end, psn) > 0 &&
	    shca_psn_diff(cause, r->resend_max) < 0 &&
	    now - r->again_ns < 2 * req_round_trip(req))
		return;
	if (!req_may_be_late(req, psn, end, now))
		req_repair_ahead(req, psn, end, now);
}

/* The reordering window has ended, and the packets have not come. */
static void req_is_late(struct shca_req *req, u64 now)
{
	u32 end = req->recovery.reo.end, psn = req->recovery.reo.psn;
	struct shca_send_wr *wr = req_wr(req, req->ring.una);

	req->recovery.reo.ns = 0;
	/* A tail loss probe was not due in the window, and waits for the answer to this repair. */
	req->recovery.behind_ns = now;
	if (req->psn.next != req->psn.max)
		return;
	if (!--req->recovery.reorders)
		req->recovery.reo.shift = 0;
	if (shca_psn_diff(psn, req->psn.una) > 0) {
		if (!req_has_acked(req, psn)) {
			req_repair_ahead(req, psn, end, now);
			return;
		}
		/* The packets have come: the response is missing. */
		end = shca_psn_add(wr->first_psn, wr->nr_psn);
		wr->flags_core |= SHCA_WRF_EXECUTED;
	}
	req_repair(req, end, now);
}

/* Packets are reordered: restore the window, and give the next gaps a reordering window. */
static void req_reordered(struct shca_req *req)
{
	shca_cc_on_reorder(&req->cc);
	req->recovery.reorders = SHCA_REQ_REORDERS;
	shca_cc_on_undo(&req->cc);
	req->recovery.loss_psn = req->psn.una;
}

void shca_req_stale(struct shca_req *req, u32 psn, u64 now)
{
	struct shca_req_recovery *r = &req->recovery;

	if (r->undo.end == SHCA_PSN_NONE || shca_psn_diff(req->psn.una, r->undo.end) < 0 ||
	    shca_psn_diff(psn, r->undo.psn) < 0)
		return;
	if (r->undo.read ? shca_psn_diff(psn, r->undo.end) >= 0 :
			    now - r->undo.ns > 2 * req_round_trip(req))
		return;
	r->undo.end = SHCA_PSN_NONE;
	/* The reordering window was too short. */
	if (r->reorders && r->reo.shift < SHCA_REQ_LATE_SHIFT)
		r->reo.shift++;
	req_reordered(req);
}

void shca_req_unanswered(struct shca_req *req, u32 psn, u32 cause, u64 now)
{
	struct shca_send_wr *wr = req_wr(req, req->ring.una);
	u32 nr = shca_psn_off(psn, req->psn.una);

	/* While packets are sent again, it is not known what is missing. */
	if (req->state != SHCA_SIDE_READY || shca_req_rnr_waits(req) ||
	    req->psn.next != req->psn.max || !nr || nr > req_span(req))
		return;
	/*
	 * The response may have waited at the peer for a repair. Timed, each wait would lengthen
	 * the round trip, and the next wait.
	 */
	if (req->recovery.again_ns > req->rtt.start)
		req->rtt.psn = SHCA_PSN_NONE;
	shca_req_time(req, cause, now);
	wr->flags_core |= SHCA_WRF_EXECUTED;
	if (req_is_under_way(req, psn, cause, now))
		return;
	/* Packets behind this request may be acknowledged: the repair ends with it. */
	nr = min_t(u32, nr, wr->nr_psn -
			    shca_psn_off(req->psn.una, wr->first_psn));
	nr = shca_psn_add(req->psn.una, nr);
	if (!req_may_be_late(req, req->psn.una, nr, now))
		req_repair(req, nr, now);
}

void shca_req_gap(struct shca_req *req, u32 psn, u32 cause, u64 now)
{
	/* @psn may be of an answer that was ahead until a queued one before it was processed. */
	if (req->state == SHCA_SIDE_READY && shca_psn_diff(psn, req->psn.una) > 0)
		req_come(req, psn, cause);
	shca_req_unanswered(req, psn, cause, now);
}

void shca_req_missing(struct shca_req *req, u64 now)
{
	if (req_is_repairing(req))
		return;
	req->recovery.hold_ns = now + req_round_trip(req);
	req->recovery.waits = SHCA_WAIT_BACK;
	req->rtt.psn = SHCA_PSN_NONE;
	req->recovery.deadline = 0;	/* armed by the first packet sent again */
	shca_req_seek(req);
}

/*
 * RNR wait where the peer asks for @asked, a minimum (IBTA 9.7.5.2.8). A peer that refuses for ever
 * may ask for 10 us. A request with rnr_retry 7 therefore comes less and less often: it waits at
 * most for about as long again as it has waited already. Counted retries obey @asked.
 */
static u64 req_rnr_wait_ns(struct shca_req *req, u64 asked)
{
	u32 doublings;

	if (req->attr.rnr_retry != 7 || req->recovery.rnr_row <= SHCA_REQ_RNR_THRESHOLD)
		return asked;
	doublings = min_t(u32, req->recovery.rnr_row - SHCA_REQ_RNR_THRESHOLD, 17);
	return max_t(u64, asked,
		     min_t(u64, asked << doublings, SHCA_REQ_RNR_MOST_NS));
}

void shca_req_wait_rnr(struct shca_req *req, u64 asked, u64 now)
{
	req->rtt.psn = SHCA_PSN_NONE;
	/* The peer has answered. (After a second refusal the next attempt is one packet.) */
	req->recovery.early_row = 0;
	if (req->recovery.rnr_row != 0xff)
		req->recovery.rnr_row++;
	req->recovery.waits = SHCA_WAIT_RNR;
	req->recovery.deadline = now + req_rnr_wait_ns(req, asked);
	shca_req_seek(req);
}

/* ---- packets that did not leave ------------------------------------------- */

/* The request that @psn belongs to; false: it was acknowledged meanwhile. */
static bool req_find(const struct shca_req *req, u32 psn, u32 *idx)
{
	const struct shca_send_wr *wr;
	u32 i;

	if (shca_psn_off(psn, req->psn.una) >= req_span(req))
		return false;
	for (i = req->ring.una; i != req->ring.prod; i++) {
		wr = req_wr(req, i);
		if (shca_psn_off(psn, wr->first_psn) < wr->nr_psn) {
			*idx = i;
			return true;
		}
	}
	return false;
}

/* Undo req_start_wr() of a request whose first packet never left. */
static void req_unstart(struct shca_req *req, struct shca_send_wr *wr)
{
	wr->flags_core &= ~SHCA_WRF_STARTED;
	req->psn.lsn = shca_psn_add(req->psn.lsn, -1);
	if (req_is_rd(wr)) {
		req->psn.nr_rd--;
		req->psn.nr_rd_psns -= wr->nr_psn;
	}
}

/* @psn of request @idx was to leave for the first time, and all after it: make them new again. */
static void req_unsend_new(struct shca_req *req, u32 idx, u32 psn)
{
	struct shca_send_wr *wr;
	u32 i;

	for (i = idx; i != req->ring.prod; i++) {
		wr = req_wr(req, i);
		if (!(wr->flags_core & SHCA_WRF_STARTED))
			break;
		/* Local requests stay executed. */
		if (!req_is_local(wr) && (i != idx || psn == wr->first_psn))
			req_unstart(req, wr);
	}
	req->psn.max = psn;
	if (!req_span(req)) {
		req->recovery.deadline = 0;
		req->ackreq.probe_ns = 0;
	}
}

/* Packets from @psn on have not left, so their AckReqs do not count. */
static void req_unask(struct shca_req *req, u32 psn)
{
	if (shca_psn_diff(req->ackreq.psn, psn) <= 0)
		return;
	/*
	 * Only the previous AckReq is known, and it may not have left either. Until the first
	 * answer the last packet of each request carries one.
	 */
	req->ackreq.psn = req->ackreq.before;
	if (shca_psn_diff(req->ackreq.psn, psn) > 0 && !req->ackreq.heard)
		req->ackreq.psn = req_wr(req, req->ring.nxt)->first_psn;
	if (shca_psn_diff(req->ackreq.psn, psn) > 0 ||
	    shca_psn_diff(req->ackreq.psn, req->psn.una) < 0)
		req->ackreq.psn = req->psn.una;
	req->ackreq.probed = false;
	req->ackreq.probe_due = req->ackreq.psn != req->psn.next;
	/* No answer is due, and no packet is sent again. */
	if (req->ackreq.psn == req->psn.una && req->psn.next == req->psn.max &&
	    req->recovery.waits != SHCA_WAIT_HOLD)
		req->recovery.deadline = 0;
}

/*
 * Sending resumes at @pkt of request @idx. A packet that was to leave for the first time is new
 * again; what was sent before stays outstanding, because the peer may acknowledge it yet.
 */
static void req_unsend(struct shca_req *req, u32 idx,
		       const struct shca_pkt *pkt)
{
	u32 psn = pkt->psn, first_new;

	req->rtt.psn = SHCA_PSN_NONE;
	req->ring.nxt = idx;
	req->psn.next = psn;
	req->ring.pkt_idx = shca_psn_off(psn, req_wr(req, idx)->first_psn);
	if (!pkt->again)
		req_unsend_new(req, idx, psn);
	else if (req_find(req, req->recovery.resend_max, &first_new))
		/* New packets followed the resent ones. */
		req_unsend_new(req, first_new, req->recovery.resend_max);
	req_unask(req, psn);
	/* Only the last packet of a run carries AckReq; its first ones may have left. */
	req->ackreq.nr_since = shca_psn_off(psn, req->ackreq.psn);
}

/* Resume sending at @pkt, of request @idx; false: it is of none any more. */
static bool req_take_back(struct shca_req *req, const struct shca_pkt *pkt,
			  u32 *idx)
{
	if (req->state != SHCA_SIDE_READY)
		return false;
	if (!pkt->wr) {	/* an ACK probe */
		req->recovery.deadline = 0;
		req_unask(req, req->psn.una);
		return false;
	}
	if (!req_find(req, pkt->psn, idx))
		return false;
	req_unsend(req, *idx, pkt);
	return true;
}

void shca_req_link_full(struct shca_req *req, const struct shca_pkt *pkt,
			u64 until)
{
	u32 idx;

	req_take_back(req, pkt, &idx);
	if (shca_req_is_awaiting(req))
		req->recovery.deadline = max_t(u64, req->recovery.deadline,
					       until + req->attr.timeout_ns);
	shca_req_stall(req, until);
}

void shca_req_gather_failed(struct shca_req *req, const struct shca_pkt *pkt,
			    enum shca_mem_status status)
{
	u32 idx;

	if (!req_take_back(req, pkt, &idx) || status == SHCA_MEM_RETRY)
		return;
	shca_req_fail_at(req, idx, SHCA_WC_LOC_PROT_ERR, shca_mem_verr(status));
	shca_req_finish(req);
}

/* ---- time --------------------------------------------------------------- */

/*
 * When a tail loss probe is due: the oldest packet once more, before its time-out, because its
 * answer is overdue by measured round trips. It may be the last packet of all, so that no later one
 * shows a gap, or a repair may be lost.
 *
 * Return: 0 if too little is known, if the time-out is as soon, or during a reordering window,
 * which ends sooner.
 */
static u64 req_early_at(const struct shca_req *req)
{
	const struct shca_req_recovery *r = &req->recovery;
	u64 wait = req->rtt.ns;

	if (!shca_req_is_awaiting(req) || r->reo.ns ||
	    r->early_row >= SHCA_REQ_EARLY_NEVER)
		return 0;
	/* With an out-of-order queue a needless probe costs little, so an estimate will do. */
	if (!wait && req->attr.peer & SHCA_PEER_OOO)
		wait = r->timeout_ns >> 3;
	if (!wait)
		return 0;
	wait = (2 * wait + EARLY_LEAST_NS) << r->early_row;
	/* From when the answer became due, or from the last sign of something behind it. */
	wait += max_t(u64, r->deadline - r->timeout_ns, r->behind_ns);
	return wait < r->deadline ? wait : 0;
}

bool shca_req_is_early(const struct shca_req *req, u64 now)
{
	u64 at = req_early_at(req);

	return at && now >= at;
}

/* Has the peer executed the oldest request, a READ? Then ask for its missing part, up to @end. */
static bool req_early_part(const struct shca_req *req, u32 *end)
{
	const struct shca_send_wr *wr = req_wr(req, req->ring.una);
	bool executed = req_is_executed(req);

	if (!req->attr.ooo || !req_is_read(wr) ||
	    (!executed && req->psn.una == wr->first_psn))
		return false;
	*end = executed && req_gap_lasts(req) ? req->recovery.gap_end :
					    shca_psn_add(wr->first_psn, wr->nr_psn);
	return true;
}

/*
 * Send a tail loss probe: one packet, with AckReq. If the oldest packet was lost, the answer shows
 * what else was. If not, the answer covers all. It uses up no retry, and the time-out stays. A peer
 * of unknown vendor gets all behind it as well, if it is a READ or an atomic, or if the requester
 * has gone back already.
 */
static void req_send_early(struct shca_req *req, u64 now)
{
	struct shca_send_wr *wr = req_wr(req, req->ring.una);
	u32 end;

	req->recovery.early_row++;
	/* The path may have become slow. Without a guess each window would be probed in vain. */
	if (req->recovery.again_ns <= req->rtt.start)
		req->rtt.again = true;
	req->recovery.again_ns = now;
	req->stats.early++;
	if (req_early_part(req, &end)) {
		wr->flags_core |= SHCA_WRF_EXECUTED;
		req_gap_is(req, end, now);
		req_resend(req, end);
	} else if (req->attr.peer & SHCA_PEER_OOO ||
		   (!req_is_rd(wr) && req->psn.next == req->psn.max)) {
		end = shca_psn_add(req->psn.una, 1);
		req_gap_is(req, end, now);
		req_resend(req, end);
		req->recovery.tail_probes = 1;
	} else {
		shca_req_seek(req);
	}
}

/*
 * An answer to a tail loss probe. If it covers only the probed packets, all that left before them
 * is lost, too: the peer would have acknowledged it, or reported a gap. A full window lets no new
 * packet leave that shows the gap, and a probe for each takes two round trips. A queue that drops
 * all of a window is full, so it gets a few packets at first, then twice as many each round trip.
 * A peer of unknown vendor has discarded all, and gets all.
 *
 * But the answer may be to the first copy, which was late and not lost, with others behind it. So
 * it is, as a rule, if it covers more than was probed, or comes early. One more probe shows it, as
 * in F-RTO (RFC 5682). A softhca that covers more needs none, as it would have reported a gap.
 */
void shca_req_tail_probed(struct shca_req *req, u64 now)
{
	struct shca_req_recovery *r = &req->recovery;
	bool more = req->psn.una != r->gap_end;
	bool reports = req->attr.peer & SHCA_PEER_OOO;
	u32 nr = r->tail_probes;

	if (shca_psn_diff(req->psn.una, r->gap_end) < 0)
		return;
	r->tail_probes = 0;
	if ((more && reports) || req->psn.next != req->psn.max ||
	    r->resend_max != req->psn.max || !req_span(req))
		return;
	if (nr == 1 && (more || now - r->again_ns < req->rtt.ns / 2)) {
		req_send_early(req, now);
		r->tail_probes = 2;
		return;
	}
	/* Sooner than any round trip, it is to the first copy. */
	if (more || now - r->again_ns < req->rtt.least / 2)
		return;
	if (!reports) {
		shca_req_seek(req);
		return;
	}
	nr = nr <= 2 ? SHCA_CC_WINDOW_MIN : 2 * nr;
	nr = min_t(u32, nr, req_span(req));
	req_repair(req, shca_psn_add(req->psn.una, nr), now);
	r->tail_probes = nr;
}

void shca_req_timer(struct shca_req *req, u64 now)
{
	u32 timed;

	if (req->state != SHCA_SIDE_READY)
		return;
	if (req->ackreq.probe_ns && now >= req->ackreq.probe_ns) {
		req->ackreq.probe_ns = 0;
		req->ackreq.probe_due = true;
	}
	if (req->recovery.reo.ns && now >= req->recovery.reo.ns) {
		req_is_late(req, now);
		return;
	}
	if (!req->recovery.deadline)
		return;
	if (now < req->recovery.deadline) {
		if (shca_req_is_early(req, now))
			req_send_early(req, now);
		return;
	}
	if (shca_req_rnr_waits(req)) {
		req->recovery.waits = SHCA_WAIT_ANSWER;
		req->recovery.deadline = 0;
		return;
	}
	if (req->recovery.waits == SHCA_WAIT_HOLD) {
		req->recovery.waits = SHCA_WAIT_BACK;
		shca_req_retry(req, SHCA_VERR_SEQ_NAK);
		return;
	}
	/* The packet that asks waits at the gate. When it leaves, it arms the timer. */
	if (now < req->gate.until &&
	    (req->ackreq.psn == req->psn.una ||
	     req->recovery.resend_end != SHCA_PSN_NONE)) {
		req->recovery.deadline = 0;
		return;
	}
	req->stats.timeouts++;
	/* The packet stays timed. Otherwise a path slower than the time-out stays unknown. */
	timed = req->rtt.psn;
	shca_req_retry(req, SHCA_VERR_TIMEOUT);
	req->rtt.psn = timed;
	req->rtt.again = true;
}

void shca_req_set_timeout(struct shca_req *req)
{
	u64 least = req->attr.timeout_ns;

	req->recovery.timeout_ns =
		max_t(u64, least, min_t(u64, 2 * req->rtt.ns, 4 * least));
}

u64 shca_req_deadline(const struct shca_req *req)
{
	u64 at = req->recovery.deadline, earliest = req->gate.until;
	u64 early = req_early_at(req);

	if (req->state != SHCA_SIDE_READY)
		return 0;
	if (early)
		at = early;
	if (req->ackreq.probe_ns && (!at || req->ackreq.probe_ns < at))
		at = req->ackreq.probe_ns;
	if (req->recovery.reo.ns && (!at || req->recovery.reo.ns < at))
		at = req->recovery.reo.ns;
	if (earliest <= SHCA_GATE_OPEN || shca_req_rnr_waits(req) || !shca_req_may_send(req))
		return at;
	return at ? min_t(u64, at, earliest) : earliest;
}
