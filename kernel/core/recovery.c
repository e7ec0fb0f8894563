// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Recovery: what the requester sends again, and when.  The completer (completer.c)
 * calls it for refusals and gaps, the glue for time-outs and for packets that could
 * not be transmitted.
 *
 * It is go-back-N: after a sequence NAK, a time-out, a gap among the
 * responses or an RNR wait, sending continues at the oldest unacknowledged
 * PSN, wherever in a message that is.  A READ of which a part arrived is asked
 * for the rest, at the PSN of the first missing packet.
 *
 * To go back costs up to a window, so the window follows the path: each time a
 * quarter less, and an eighth more for each window that is acknowledged.  Where a
 * queue on the way is shorter than the window, it settles at that.
 *
 * Packets that were sent before going back are still on their way, and their
 * answers show more gaps, which are being repaired already.  To go back for
 * each would multiply traffic.  So it is done once per missing PSN (@went_back:
 * if that repair is lost too, time-outs serve until there is progress; were each
 * of them followed by a gap and a retry more, retry_cnt would last half as long
 * where small packets pass and large ones do not) and once per round trip
 * (@hold_ns): what comes in between is remembered (@recheck), and acted upon at
 * the end of the round trip unless there was progress.
 */
#include "opcode.h"
#include "req_internal.h"

/* Used until the first round trip was measured and no time-out tells more. */
#define RTT_GUESS_NS	1000000ull

/* ---- where sending continues ---------------------------------------------- */

void shca_req_seek(struct shca_req *req)
{
	const struct shca_send_wr *wr = req_wr(req, req->una);

	req->nxt = req->una;
	req->psn = req->una_psn;
	req->pkt_idx = 0;
	/* What is sent again asks with its end, whatever asked before. */
	req->unacked_ackreq = 0;
	req->asked_psn = req->una_psn;
	req->inquired = false;
	req->quiet_ns = 0;
	if (req->una != req->prod && wr->flags_core & SHCA_WRF_STARTED)
		req->pkt_idx = shca_psn_off(req->una_psn, wr->first_psn);
}

void shca_req_retry(struct shca_req *req, u16 vendor_err)
{
	if (!req->retry_left) {
		shca_req_fail_una(req, SHCA_WC_RETRY_EXC_ERR, vendor_err);
		return;
	}
	req->retry_left--;
	req->allowed = max_t(u32, req->allowed - req->allowed / 4,
			     min_t(u32, req->window, SHCA_REQ_WINDOW_MIN));
	req->grown = 0;
	req->deadline = 0;	/* armed by the first packet sent again */
	req->rtt_valid = false;
	shca_req_seek(req);
}

/* ---- refusals and gaps ---------------------------------------------------- */

/* How long answers may still come to what was sent before going back. */
static u64 req_round_trip(const struct shca_req *req)
{
	if (req->rtt_ns)
		return req->rtt_ns + (req->rtt_ns >> 2);
	if (req->attr.timeout_ns)
		return req->attr.timeout_ns >> 4;
	return RTT_GUESS_NS;
}

void shca_req_go_back(struct shca_req *req, u16 vendor_err, u64 now)
{
	if (req->rnr_wait || req->went_back)
		return;
	if (now < req->hold_ns) {
		req->recheck = true;
		if (!req->deadline || req->hold_ns < req->deadline)
			req->deadline = req->hold_ns;
		return;
	}
	req->hold_ns = now + req_round_trip(req);
	req->went_back = true;
	shca_req_retry(req, vendor_err);
}

void shca_req_missing(struct shca_req *req, u64 now)
{
	if (req->rnr_wait || req->went_back)
		return;
	req->hold_ns = now + req_round_trip(req);
	req->went_back = true;
	req->rtt_valid = false;
	req->deadline = 0;	/* armed by the first packet sent again */
	shca_req_seek(req);
}

/*
 * How long to wait where the peer asks for @asked.  That is a minimum (IBTA
 * 9.7.5.2.8), and a peer which refuses for ever may ask for 10 us: so a request that is
 * refused again and again comes less and less often.  It waits for about as long again
 * as it has waited already, at most.  A count of retries is used up at the pace of the
 * peer.
 */
static u64 req_rnr_wait_ns(struct shca_req *req, u64 asked)
{
	u32 doublings;

	if (req->attr.rnr_retry != 7)
		return asked;
	if (req->rnr_row != 0xff)
		req->rnr_row++;
	if (req->rnr_row <= SHCA_REQ_RNR_PATIENCE)
		return asked;
	doublings = min_t(u32, req->rnr_row - SHCA_REQ_RNR_PATIENCE, 17);
	return max_t(u64, asked,
		     min_t(u64, asked << doublings, SHCA_REQ_RNR_MOST_NS));
}

void shca_req_wait_rnr(struct shca_req *req, u64 asked, u64 now)
{
	if (req->attr.rnr_retry != 7)	/* 7: for ever (IBTA 9.7.5.2.8) */
		req->rnr_left--;
	req->went_back = false;
	req->recheck = false;
	req->rtt_valid = false;
	/* Refused twice: the next attempt is one packet, not a window. */
	req->probe = req->rnr_again;
	req->rnr_again = true;
	req->rnr_wait = true;
	req->deadline = now + req_rnr_wait_ns(req, asked);
	shca_req_seek(req);
}

/* ---- packets that did not leave ------------------------------------------- */

/* The request that @psn belongs to; false: it was acknowledged meanwhile. */
static bool req_find(const struct shca_req *req, u32 psn, u32 *idx)
{
	const struct shca_send_wr *wr;
	u32 i;

	if (shca_psn_off(psn, req->una_psn) >= req_span(req))
		return false;
	for (i = req->una; i != req->prod; i++) {
		wr = req_wr(req, i);
		if (shca_psn_off(psn, wr->first_psn) < wr->nr_psn) {
			*idx = i;
			return true;
		}
	}
	return false;
}

/* Request @wr, begun by a packet that never left, was not begun. */
static void req_unstart(struct shca_req *req, struct shca_send_wr *wr)
{
	wr->flags_core &= ~SHCA_WRF_STARTED;
	req->lsn = shca_psn_add(req->lsn, -1);
	if (req_is_rd(wr)) {
		req->nr_rd--;
		req->rd_psns -= wr->nr_psn;
	}
}

/* @psn of request @idx was to leave for the first time, and so was all after. */
static void req_unsend_new(struct shca_req *req, u32 idx, u32 psn)
{
	struct shca_send_wr *wr;
	u32 i;

	for (i = idx; i != req->prod; i++) {
		wr = req_wr(req, i);
		if (!(wr->flags_core & SHCA_WRF_STARTED))
			break;
		/* Local requests were executed, whatever became of packets. */
		if (!req_is_local(wr) && (i != idx || psn == wr->first_psn))
			req_unstart(req, wr);
	}
	req->max_psn = psn;
	if (!req_span(req)) {
		req->deadline = 0;
		req->quiet_ns = 0;
	}
}

/* What was handed out at @psn or after it has not left, and so has not asked. */
static void req_unask(struct shca_req *req, u32 psn)
{
	if (shca_psn_diff(req->asked_psn, psn) <= 0)
		return;
	/* Who did before is known of the last one only, or of all. */
	req->asked_psn = req->heard ? req->asked_before :
			 req_wr(req, req->nxt)->first_psn;
	if (shca_psn_diff(req->asked_psn, psn) > 0 ||
	    shca_psn_diff(req->asked_psn, req->una_psn) < 0)
		req->asked_psn = req->una_psn;
	req->inquired = false;
	req->inquire = req->asked_psn != req->psn;
	/* Nothing is left that an answer is due to, and nothing was sent again. */
	if (req->asked_psn == req->una_psn && req->psn == req->max_psn &&
	    !req->recheck)
		req->deadline = 0;
}

/*
 * Sending resumes at @pkt of request @idx.  A first attempt never happened; what
 * was sent before stays outstanding, since it may be acknowledged yet.
 */
static void req_unsend(struct shca_req *req, u32 idx,
		       const struct shca_pkt *pkt)
{
	u32 psn = pkt->psn;

	req->rtt_valid = false;
	req->nxt = idx;
	req->psn = psn;
	req->pkt_idx = shca_psn_off(psn, req_wr(req, idx)->first_psn);
	if (!pkt->again)
		req_unsend_new(req, idx, psn);
	req_unask(req, psn);
	/* Of a run only the last packet asks, and the first ones may have left. */
	req->unacked_ackreq = shca_psn_off(psn, req->asked_psn);
}

void shca_req_gather_failed(struct shca_req *req, const struct shca_pkt *pkt,
			    enum shca_mem_status status)
{
	u32 idx;

	if (req->state != SHCA_SIDE_READY)
		return;
	if (!pkt->wr) {	/* an inquiry */
		req->deadline = 0;
		req_unask(req, req->una_psn);
		return;
	}
	if (!req_find(req, pkt->psn, &idx))
		return;
	req_unsend(req, idx, pkt);
	if (status == SHCA_MEM_OK || status == SHCA_MEM_RETRY)
		return;
	shca_req_fail_at(req, idx, SHCA_WC_LOC_PROT_ERR, shca_mem_verr(status));
	shca_req_settle(req);
}

/* ---- time --------------------------------------------------------------- */

void shca_req_timer(struct shca_req *req, u64 now)
{
	if (req->state != SHCA_SIDE_READY)
		return;
	if (req->quiet_ns && now >= req->quiet_ns) {
		req->quiet_ns = 0;
		req->inquire = true;
	}
	if (!req->deadline || now < req->deadline)
		return;
	if (req->rnr_wait) {
		req->rnr_wait = false;
		req->deadline = 0;
		return;
	}
	if (req->recheck) {
		req->recheck = false;
		req->went_back = true;
		shca_req_retry(req, SHCA_VERR_SEQ_NAK);
		return;
	}
	req->stats.timeouts++;
	shca_req_retry(req, SHCA_VERR_TIMEOUT);
}

u64 shca_req_deadline(const struct shca_req *req)
{
	u64 at = req->deadline, earliest;

	if (req->state != SHCA_SIDE_READY)
		return 0;
	if (req->quiet_ns && (!at || req->quiet_ns < at))
		at = req->quiet_ns;
	earliest = max_t(u64, req->stall_ns, req->rate_ns);
	if (!earliest || req->rnr_wait || !shca_req_may_send(req))
		return at;
	return at ? min_t(u64, at, earliest) : earliest;
}
