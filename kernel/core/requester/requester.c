// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The requester of the reliable connected transport, middle part: request packets out, completions
 * out. Work requests come in through post.c, responses through completer.c. recovery.c decides
 * what is sent again, and when. The caller holds the lock of the send half.
 *
 * Operation. Requests wait in a ring. Each takes its PSNs when its first packet is built: one per
 * packet, and for a READ one per packet of its response (IBTA 9.7.3.1). Three limits bound the
 * unacknowledged packets: the congestion window, max_rd_atomic, and a span of PSNs. The peer's
 * receive requests bound the messages that need one (req_credit.c).
 *
 * Acknowledgements. A packet asks for an ACK (AckReq) if a program waits for it: the last packet of
 * a signalled request. Others ask often enough that an answer is due before the window or the ring
 * is full. Most small requests are not signalled, and an answer to each would cost nearly as much
 * as the requests. To a peer of unknown vendor the last request of a post asks, too: the peer may
 * execute it and end, and then nobody acknowledges it. A peer that acknowledges before its end
 * (SHCA_PEER_FLUSHES_ACKS) needs no such AckReq.
 *
 * A program that pauses may leave requests without AckReq behind. The requester then sends an ACK
 * probe. It repeats, without payload, the PSN before the oldest of these requests. The peer has
 * executed that PSN long ago, and acknowledges it, as any duplicate, by the last PSN that it has
 * (C9-105). This answer shows whether something is missing, and from where. The probe needs no
 * memory, which the process may have freed meanwhile. It is no time-out: the transport timer runs
 * while an answer is due.
 *
 * Before the first ACK no probe is possible, because the PSN before the first one may belong to an
 * earlier connection of the peer's QP. Therefore each request has AckReq until then.
 *
 * Errors. Requests complete in order. An error found ahead (payload that cannot be gathered, a
 * malformed request) stops sending there, and waits until all requests before it are acknowledged.
 * Then, as for an error of the oldest request, the side enters SHCA_SIDE_ERR. That request
 * completes with its status, and all later ones with WR_FLUSH_ERR.
 */
#include "../headers.h"
#include "../opcode.h"
#include "req_credit.h"
#include "req_internal.h"

void shca_req_init(struct shca_req *req, void *ring, u32 entries, u32 stride,
		   const struct shca_mem_ops *mem, void *mem_ctx)
{
	memset(req, 0, sizeof(*req));
	req->ring.base = ring;
	req->ring.mask = entries - 1;
	req->ring.stride = stride;
	req->mem = mem;
	req->mem_ctx = mem_ctx;
	req->cc.window = SHCA_CC_WINDOW;
	req->psn.reach = 1;
	req->rtt.psn = SHCA_PSN_NONE;
	req->recovery.resend_end = SHCA_PSN_NONE;
	req->recovery.rest_end = SHCA_PSN_NONE;
	req->recovery.undo.end = SHCA_PSN_NONE;
	req->recovery.acked_psn = SHCA_PSN_NONE;
	req->credit.psn = SHCA_PSN_NONE;
	shca_req_release(req);
}

void shca_req_reset(struct shca_req *req)
{
	struct shca_req_stats stats = req->stats;
	u32 window = req->cc.window;

	shca_req_init(req, req->ring.base, req->ring.mask + 1, req->ring.stride,
		      req->mem, req->mem_ctx);
	req->cc.window = window;
	req->stats = stats;
}

void shca_req_start(struct shca_req *req, const struct shca_req_attr *attr)
{
	req->attr = *attr;
	for (req->psn.mtu_shift = 8; req->psn.mtu_shift < 12; req->psn.mtu_shift++)
		if (1u << req->psn.mtu_shift >= attr->mtu)
			break;
	if (attr->transport == SHCA_TRANSPORT_RAW)
		req->psn.mtu_shift = 31;	/* one packet, of whatever length */
	req->psn.next = attr->sq_psn & SHCA_PSN_MASK;
	req->psn.max = req->psn.next;
	req->psn.una = req->psn.next;
	req->ackreq.psn = req->psn.next;
	req->recovery.loss_psn = req->psn.next;
	req->recovery.gap_end = req->psn.next;
	req->recovery.retry_left = attr->retry_cnt;
	shca_req_set_timeout(req);
	shca_cc_start(&req->cc, &attr->cc, 1u << min_t(u32, req->psn.mtu_shift, 12));
	shca_req_set_pacing(req);
	shca_req_set_rate(req);
	req->marks = req_is_rc(req) ? shca_marks(attr->marking) : 0;
	req->state = SHCA_SIDE_READY;
}

/* ---- errors ------------------------------------------------------------- */

static void req_enter_err(struct shca_req *req)
{
	req->state = SHCA_SIDE_ERR;
	req->fail.valid = false;
	req->recovery.acked_psn = SHCA_PSN_NONE;
	req->recovery.waits = SHCA_WAIT_ANSWER;
	req->recovery.deadline = 0;
	req->ring.nxt = req->ring.una;
	req->ring.pkt_idx = 0;
	/*
	 * UC and UD resume from here: a PSN that has left is not used again, or the rest of one
	 * message could continue another.
	 */
	if (!req_is_rc(req))
		req->psn.una = req->psn.next;
	req->psn.next = req->psn.una;
	req->psn.max = req->psn.una;
	req->ackreq.psn = req->psn.una;
	req->ackreq.probe_due = false;
	req->ackreq.probed = false;
	req->ackreq.probe_ns = 0;
	req->psn.nr_rd = 0;
	req->psn.nr_rd_psns = 0;
	req->psn.rd_waits = 0;
}

void shca_req_fail(struct shca_req *req)
{
	if (req->state != SHCA_SIDE_ERR)
		req_enter_err(req);
}

void shca_req_fail_una(struct shca_req *req, u8 status, u16 vendor_err)
{
	struct shca_send_wr *wr = req_wr(req, req->ring.una);

	wr->status = status;
	wr->vendor_err = vendor_err;
	req_enter_err(req);
}

void shca_req_fail_at(struct shca_req *req, u32 idx, u8 status, u16 vendor_err)
{
	if (req->fail.valid && (s32)(idx - req->fail.idx) >= 0)
		return;
	req->fail.valid = true;
	req->fail.idx = idx;
	req->fail.status = status;
	req->fail.vendor = vendor_err;
}

void shca_req_finish(struct shca_req *req)
{
	if (req->state != SHCA_SIDE_READY || !req->fail.valid)
		return;
	if (req->ring.una == req->fail.idx)
		shca_req_fail_una(req, req->fail.status, req->fail.vendor);
	else if ((s32)(req->ring.una - req->fail.idx) > 0)
		/* The request was acknowledged before it had to be sent again. */
		req->fail.valid = false;
}

void shca_req_resume(struct shca_req *req)
{
	if (req->state == SHCA_SIDE_ERR && !req_is_rc(req))
		req->state = SHCA_SIDE_READY;
}

/* ---- sending ------------------------------------------------------------ */

static u32 req_nr_psn(const struct shca_req *req, const struct shca_send_wr *wr)
{
	if (!wr->length || req_is_atomic(wr) || req_is_bare(wr))
		return 1;
	return ((wr->length - 1) >> req->psn.mtu_shift) + 1;
}

/* Has the peer an out-of-order queue? Then a loss repeats few packets. */
static bool req_is_held(const struct shca_req *req)
{
	return req->attr.peer & SHCA_PEER_OOO;
}

/*
 * Limit of outstanding PSNs of READ responses: a loss may repeat them, and the response of a repair
 * waits behind them. Responses that wait behind a gap do not count on a path so long that it would
 * drain. On a short one more of them would only be hit by more losses.
 */
static u32 req_read_room(const struct shca_req *req)
{
	if (req->attr.ooo)
		return max_t(u32, req_is_held(req) ? req->cc.cwnd : 0,
			     min_t(u32, req->cc.cwnd * SHCA_REQ_READ_KEPT, SHCA_CC_WIDE_ENOUGH)) +
		       (req->cc.wide >= SHCA_REQ_LONG ? req->recovery.beyond : 0);
	return req->cc.cwnd * SHCA_REQ_READ_FACTOR;
}

/* A measured round trip clears cc.limits. Then req_may_start() must set it again. */
bool shca_req_read_waits(const struct shca_req *req)
{
	return req->cc.limits && req->psn.next == req->psn.max && !req->fail.valid &&
	       req->psn.nr_rd && req->psn.nr_rd_psns + req->psn.rd_waits > req_read_room(req);
}

/* May this request, which has not started, take its PSNs now? */
static bool req_may_start(struct shca_req *req,
			  const struct shca_send_wr *wr, u32 nr_psn)
{
	u32 span = req_span(req);

	if (req->draining)
		return false;
	/* IBTA 10.8.3.3: after all READs and atomics before it. */
	if (wr->flags & SHCA_SEND_FENCE && req->psn.nr_rd)
		return false;
	if (!req_is_rd(wr))
		return shca_req_credit_allows(req, wr, nr_psn);
	if (req->psn.nr_rd >= req->attr.max_rd_atomic)
		return false;
	if (req->psn.nr_rd && req->psn.nr_rd_psns + nr_psn > req_read_room(req)) {
		req->psn.rd_waits = nr_psn;
		req->cc.limits = true;
		return false;
	}
	return !span || span + nr_psn <= SHCA_REQ_SPAN;
}

/* Packets that may be outstanding: those in the peer's out-of-order queue are not in flight. */
static u32 req_window(const struct shca_req *req)
{
	return req->cc.cwnd + req->recovery.beyond;
}

/*
 * Would a packet of a SEND or WRITE at @psn be outside of the window? While packets are sent again,
 * all PSNs before it count, because only the READ responses of the whole span are counted.
 */
static bool req_window_full(const struct shca_req *req, u32 psn)
{
	u32 ahead = shca_psn_off(psn, req->psn.una);

	if (req->psn.next != req->psn.max)
		return ahead >= req->cc.cwnd;
	return ahead - req->psn.nr_rd_psns >= req_window(req) || ahead >= SHCA_REQ_SPAN;
}

static void req_start_wr(struct shca_req *req, struct shca_send_wr *wr,
			 u32 nr_psn)
{
	wr->flags_core |= SHCA_WRF_STARTED;
	wr->first_psn = req->psn.next;
	wr->nr_psn = nr_psn;
	req->psn.lsn = shca_psn_add(req->psn.lsn, 1);
	if (req_is_rd(wr)) {
		req->psn.rd_waits = 0;
		req->psn.nr_rd++;
		req->psn.nr_rd_psns += nr_psn;
	}
}

void shca_req_skip_local(struct shca_req *req)
{
	const struct shca_send_wr *wr;

	/* Not up to @nxt, which may be behind while packets are sent again. */
	for (; req->ring.una != req->ring.prod; req->ring.una++) {
		wr = req_wr(req, req->ring.una);
		if (!req_is_local(wr) || !(wr->flags_core & SHCA_WRF_STARTED))
			break;
	}
	/* Then @nxt may be at one of them, whose slot may be used for another request now. */
	if ((s32)(req->ring.nxt - req->ring.una) < 0) {
		req->ring.nxt = req->ring.una;
		req->ring.pkt_idx = 0;
	}
}

/*
 * Execute the local request at @nxt. Registration and the binding of a window take effect at once,
 * for the requests behind them. Invalidation waits until all before it is acknowledged, because a
 * packet that is sent again may need the key.
 *
 * Return: false: not now, or it failed.
 */
static bool req_execute_local(struct shca_req *req, struct shca_send_wr *wr)
{
	enum shca_wc_status status;

	if (!(wr->flags_core & SHCA_WRF_STARTED)) {
		if (req->draining || (wr->flags & SHCA_SEND_FENCE && req->psn.nr_rd))
			return false;
		if (req_waits_for_all(wr) && req->ring.una != req->ring.nxt)
			return false;
		status = req->mem->local_op(req->mem_ctx, wr);
		if (status != SHCA_WC_SUCCESS) {
			shca_req_fail_at(req, req->ring.nxt, status, SHCA_VERR_KEY);
			shca_req_finish(req);
			return false;
		}
		wr->flags_core |= SHCA_WRF_STARTED;
		wr->first_psn = req->psn.next;
	}
	req->ring.nxt++;
	shca_req_skip_local(req);
	/* Requests before it complete first, and may not have asked. */
	if (wr->flags & SHCA_SEND_SIGNALED && req->ring.una != req->ring.nxt &&
	    req->ackreq.psn != req->psn.max)
		req->ackreq.probe_due = true;
	return true;
}

/* Execute local requests at @nxt. Return: the request behind them, which takes packets, or NULL. */
static struct shca_send_wr *req_head(struct shca_req *req)
{
	struct shca_send_wr *wr;

	for (;;) {
		wr = req_wr(req, req->ring.nxt);
		if (req->ring.nxt == req->ring.prod ||
		    (req->fail.valid && (s32)(req->ring.nxt - req->fail.idx) >= 0))
			return NULL;
		if (wr->preset != SHCA_WC_SUCCESS) {
			shca_req_fail_at(req, req->ring.nxt, wr->preset, wr->vendor_err);
			shca_req_finish(req);
			return NULL;
		}
		if (!req_is_local(wr))
			return wr;
		if (!req_execute_local(req, wr))
			return NULL;
	}
}

/* The request at @nxt, if it may send a packet; a new one takes its PSNs. */
static struct shca_send_wr *req_pick(struct shca_req *req)
{
	struct shca_send_wr *wr = req_head(req);
	u32 nr_psn;

	if (!wr)
		return NULL;
	if (shca_req_one_packet(req) && req->psn.next != req->psn.una)
		return NULL;
	if (unlikely(req->psn.next == req->psn.paused) || shca_req_credit_waits(req))
		return NULL;
	if (req_is_rc(req) && !req_is_rd(wr) && req_window_full(req, req->psn.next)) {
		if (req_is_held(req) || req->cc.wide < SHCA_CC_WIDE_ENOUGH)
			req->cc.limits = true;
		return NULL;
	}
	if (!(wr->flags_core & SHCA_WRF_STARTED)) {
		nr_psn = req_nr_psn(req, wr);
		if (!req_may_start(req, wr, nr_psn))
			return NULL;
		req_start_wr(req, wr, nr_psn);
	}
	return wr;
}

/* Length of a run of new middle packets: within the window, up to the one that asks for an ACK. */
static u32 req_burst(const struct shca_req *req, const struct shca_send_wr *wr)
{
	u32 nr = min_t(u32, req->psn.max_run, wr->nr_psn - req->ring.pkt_idx - 1);
	u32 ahead = shca_psn_off(req->psn.next, req->psn.una);
	u32 ask;

	if (nr < 2 || !req->ring.pkt_idx || req_is_rd(wr) || shca_req_one_packet(req) ||
	    req->psn.next != req->psn.max)
		return 1;
	if (unlikely(req->rate.on))
		nr = min_t(u32, nr, req->rate.run);
	if (!req_is_rc(req))
		return nr;
	nr = min_t(u32, nr, req_window(req) - (ahead - req->psn.nr_rd_psns));
	if (unlikely(req->cc.paces))
		nr = min_t(u32, nr, req->cc.burst);
	nr = min_t(u32, nr, SHCA_REQ_SPAN - ahead);
	ask = shca_cc_ask_after(&req->cc);
	if (req->ackreq.nr_since >= ask)
		return 1;
	return min_t(u32, nr, ask - req->ackreq.nr_since);
}

/*
 * PSNs of the next packet. One that is sent again ends where it ended first, so that a peer never
 * finds a part of it new.
 */
static u32 req_reach(const struct shca_req *req, const struct shca_send_wr *wr)
{
	u32 nr = min_t(u32, req->psn.reach, wr->nr_psn - req->ring.pkt_idx);

	if (wr->nr_psn == 1)
		return 1;
	if (req->psn.reach == 1)
		nr = req_burst(req, wr);
	else if (req->psn.next != req->psn.max)
		nr = min_t(u32, nr, shca_psn_off(req->psn.max, req->psn.next));
	/* Up to a packet whose memory is being fetched, and not beyond. */
	if (unlikely(req->psn.paused != SHCA_PSN_NONE) &&
	    shca_psn_diff(req->psn.paused, req->psn.next) > 0)
		nr = min_t(u32, nr, shca_psn_off(req->psn.paused, req->psn.next));
	return nr;
}

static void req_build_data(const struct shca_req *req,
			   const struct shca_send_wr *wr, u32 off, u32 nr_psn,
			   struct shca_pkt *pkt)
{
	u32 flags = shca_opcode_info(pkt->opcode)->flags;

	pkt->paylen = min_t(u32, wr->length - off, nr_psn << req->psn.mtu_shift);
	pkt->unit = 1u << req->psn.mtu_shift;
	pkt->rest = wr->length - off - pkt->paylen;
	pkt->pad = shca_hdr_pad(pkt->paylen);
	pkt->kind = pkt->paylen ? SHCA_PAY_WR : SHCA_PAY_NONE;
	pkt->off = off;
	if (flags & SHCA_OPF_RETH) {
		pkt->reth.va = wr->rdma.remote_addr;
		pkt->reth.rkey = wr->rdma.rkey;
		pkt->reth.len = wr->length;
	}
	if (flags & SHCA_OPF_IMM)
		pkt->imm = wr->imm;
	if (flags & SHCA_OPF_INV)
		pkt->inv_rkey = wr->inv_rkey;
	if (flags & SHCA_OPF_DETH) {
		pkt->dqpn = wr->ud.remote_qpn;
		pkt->deth.sqpn = req->attr.sqpn;
		pkt->deth.qkey = req_qkey(req, wr);
	}
	/* Only the completion of a receive request can be a solicited event. */
	if (flags & SHCA_OPF_END && flags & (SHCA_OPF_SEND | SHCA_OPF_IMM))
		pkt->se = wr->flags & SHCA_SEND_SOLICITED;
}

/* PSN behind a READ or an atomic; a READ that is sent again may ask for a part. */
static u32 req_read_end(const struct shca_req *req,
			const struct shca_send_wr *wr)
{
	u32 end = shca_psn_add(wr->first_psn, wr->nr_psn);

	if (unlikely(wr->flags_core & SHCA_WRF_EXECUTED) &&
	    req->recovery.resend_end != SHCA_PSN_NONE &&
	    shca_psn_diff(req->recovery.resend_end, end) < 0)
		return req->recovery.resend_end;
	return end;
}

/* Bytes of a READ request from byte @off on. */
static u32 req_read_left(const struct shca_req *req,
			 const struct shca_send_wr *wr, u32 off)
{
	u32 nr_psn = shca_psn_off(req_read_end(req, wr), req->psn.next);

	return min_t(u64, wr->length - off, (u64)nr_psn << req->psn.mtu_shift);
}

static void req_build(const struct shca_req *req, const struct shca_send_wr *wr,
		      u32 nr_psn, bool last, struct shca_pkt *pkt)
{
	u32 off = req->ring.pkt_idx << req->psn.mtu_shift;

	memset(pkt, 0, sizeof(*pkt));
	pkt->opcode = req->attr.transport |
		      shca_wr_packets[wr->opcode][!req->ring.pkt_idx][last];
	pkt->mig = req->attr.apm == SHCA_APM_MIGRATED;
	pkt->pkey = req->attr.pkey;
	pkt->dqpn = req->attr.dqpn;
	pkt->psn = req->psn.next;
	pkt->resv8a = req->marks;
	pkt->wr = wr;
	if (req->attr.transport == SHCA_TRANSPORT_XRC)
		pkt->xrc_srqn = wr->xrc_srqn;

	if (req_is_read(wr)) {
		pkt->reth.va = wr->rdma.remote_addr + off;
		pkt->reth.rkey = wr->rdma.rkey;
		pkt->reth.len = req_read_left(req, wr, off);
	} else if (shca_wr_op(wr->opcode)->form == SHCA_FORM_FLUSH) {
		pkt->feth.type = wr->flush.type;
		pkt->feth.level = wr->flush.level;
		pkt->reth.va = wr->flush.remote_addr;
		pkt->reth.rkey = wr->flush.rkey;
		pkt->reth.len = wr->flush.length;
	} else if (req_is_atomic(wr)) {
		pkt->atomic.va = wr->atomic.remote_addr;
		pkt->atomic.rkey = wr->atomic.rkey;
		pkt->atomic.swap_add = wr->atomic.compare_add;
		if (wr->opcode == SHCA_WR_ATOMIC_CMP_AND_SWP) {
			pkt->atomic.swap_add = wr->atomic.swap;
			pkt->atomic.compare = wr->atomic.compare_add;
		}
	} else {
		pkt->span = nr_psn - 1;
		req_build_data(req, wr, off, nr_psn, pkt);
	}
}

u64 shca_req_quiet_time(const struct shca_req *req)
{
	u64 ns = req->attr.timeout_ns >> 2;

	return ns && ns < SHCA_REQ_QUIET_NS ? ns : SHCA_REQ_QUIET_NS;
}

/* Does the request behind the one at @nxt wait for its acknowledgement? */
static bool req_next_waits(const struct shca_req *req)
{
	const struct shca_send_wr *wr;

	if (req->ring.nxt + 1 == req->ring.prod)
		return false;
	wr = req_wr(req, req->ring.nxt + 1);
	return req_is_local(wr) && (req_waits_for_all(wr) ||
				    wr->flags & SHCA_SEND_SIGNALED);
}

/* Is it the last one of a post, to a peer that may end without an ACK? */
static bool req_may_be_last_word(const struct shca_req *req)
{
	return req->ring.nxt + 1 == req->ring.prod &&
	       !(req->attr.peer & SHCA_PEER_FLUSHES_ACKS);
}

/*
 * Does somebody wait for the end of @wr, whose last packet this is? After a pause the next one may
 * be as long: an answer at once is cheaper than an ACK probe. On the direct path (@reach) an answer
 * costs next to nothing, and an idle requester takes the fast path.
 */
static bool req_is_awaited(const struct shca_req *req,
			   const struct shca_send_wr *wr, u64 now)
{
	return wr->flags & SHCA_SEND_SIGNALED || req_is_rd(wr) ||
	       !req->ackreq.heard || req->psn.reach > 1 || req_next_waits(req) ||
	       req_may_be_last_word(req) || shca_req_credit_asks(req, wr) ||
	       now - req->ackreq.sent_ns >= shca_req_quiet_time(req) / 4;
}

/* Have so many packets not asked that the window or the ring would soon be full? */
static bool req_is_asking_due(const struct shca_req *req, u32 nr_pkts,
			      bool last)
{
	u32 nr = req->ackreq.nr_since + nr_pkts;

	return nr >= shca_cc_ask_after(&req->cc) ||
	       (last && nr >= (req->ring.mask + 1) / 4);
}

/*
 * Ask for an ACK with this packet? Yes if somebody waits for it. Also with the last packet of a
 * message or a run that is sent again, and of a window: nothing behind it may draw an answer, and
 * only the timer would help.
 */
static bool req_wants_ack(const struct shca_req *req,
			  const struct shca_send_wr *wr, u32 nr_pkts, bool last,
			  u32 end_psn, u64 now)
{
	bool is_new = req->psn.next == req->psn.max;

	if (!req_is_rc(req))
		return false;
	if (shca_req_one_packet(req) || req->ackreq.probe_due ||
	    req_is_asking_due(req, nr_pkts, last) ||
	    (last && (!is_new || req_is_awaited(req, wr, now))))
		return true;
	/* @end_psn is psn.max only if packets are sent again: a new one ends behind it. */
	return end_psn == req->psn.max || end_psn == req->credit.psn ||
	       end_psn == req->recovery.resend_end ||
	       req_window_full(req, end_psn);
}

/*
 * Is the last packet the first one that asks, so that its time-out begins now? A tail loss probe
 * and a repair leave the time as it is.
 */
static bool req_asks_first(const struct shca_req *req)
{
	return req->ackreq.before == req->psn.una && req->recovery.waits != SHCA_WAIT_HOLD &&
	       !shca_req_one_packet(req) &&
	       req->recovery.resend_end == SHCA_PSN_NONE;
}

/* An answer is due from now on for all up to @end_psn. */
static void req_asked(struct shca_req *req, u32 end_psn, u64 now)
{
	req->ackreq.before = req->ackreq.psn;
	/* During a repair, answers to earlier AckReqs are still due. */
	if (req->recovery.resend_end == SHCA_PSN_NONE ||
	    shca_psn_diff(end_psn, req->ackreq.psn) > 0)
		req->ackreq.psn = end_psn;
	req->ackreq.nr_since = 0;
	req->ackreq.probe_due = false;
	req->ackreq.probe_ns = 0;
	/* A packet that was sent again without AckReq may have armed the timer. */
	if (req->recovery.timeout_ns &&
	    (!req->recovery.deadline || req_asks_first(req)))
		req->recovery.deadline = now + req->recovery.timeout_ns;
}

static void req_sent(struct shca_req *req, struct shca_send_wr *wr,
		     const struct shca_pkt *pkt, u32 nr_pkts, bool last,
		     u32 end_psn, u64 now)
{
	bool is_new = req->psn.next == req->psn.max;

	if (is_new) {
		req->psn.max = end_psn;
	} else {
		wr->flags_core |= SHCA_WRF_RETRIED;
		req->stats.retransmits++;
	}
	if (is_new && pkt->ackreq && req->rtt.psn == SHCA_PSN_NONE) {
		req->rtt.again = false;
		req->rtt.psn = shca_psn_add(pkt->psn, pkt->span);
		req->rtt.una = req->psn.una;
		req->rtt.start = now;
	}
	req->psn.next = end_psn;
	req->ring.pkt_idx += pkt->span + 1;
	if (last) {
		req->ring.nxt++;
		req->ring.pkt_idx = 0;
	}
	req->ackreq.sent_ns = now;
	if (pkt->ackreq) {
		req_asked(req, end_psn, now);
	} else if (req_is_rc(req)) {
		req->ackreq.nr_since += nr_pkts;
		if (!is_new && !req->recovery.deadline &&
		    req->recovery.timeout_ns)
			req->recovery.deadline = now + req->recovery.timeout_ns;
		else if (is_new && !req->ackreq.probe_ns &&
			 req->ackreq.psn == req->psn.una)
			req->ackreq.probe_ns = now + shca_req_quiet_time(req);
	}
	req->stats.tx_pkts += nr_pkts;
	req->stats.tx_bytes += pkt->paylen;
}

/* ---- static rate ------------------------------------------------------------- */

/* The rate of a request, or of an ACK probe (NULL). */
static u32 req_rate_of(const struct shca_req *req, const struct shca_send_wr *wr)
{
	return req->attr.transport == SHCA_TRANSPORT_UD ? wr->rate_kbps :
							  req->attr.rate_kbps;
}

/*
 * Datagrams leave in order: one without a rate waits only behind one that has to. After the last
 * one the gate is open, until shca_req_post() gets one with a rate.
 */
static void req_obey_rate(struct shca_req *req, u64 now)
{
	const struct shca_send_wr *wr = req_wr(req, req->ring.nxt);
	u64 until;

	if (req->attr.transport == SHCA_TRANSPORT_UD && req->ring.nxt == req->ring.prod) {
		req->rate.on = false;
		return;
	}
	shca_req_set_rate_gate(req);
	if (!req_rate_of(req, wr))
		return;
	until = shca_rate_until(&req->rate, now);
	if (until)
		shca_req_rate(req, until);
}

static void req_rated(struct shca_req *req, const struct shca_send_wr *wr,
		      const struct shca_pkt *pkt, u64 now)
{
	u32 kbps = req_rate_of(req, wr);

	if (kbps)
		shca_rate_sent(&req->rate, kbps, pkt, now);
}

/* ---- ACK probes ------------------------------------------------------------ */

bool shca_req_must_probe(const struct shca_req *req)
{
	/* While packets are sent again, or an answer is due, no probe is needed. */
	if (req->ackreq.psn == req->psn.max || req->psn.una != req->ackreq.psn ||
	    req->psn.next != req->psn.max || req->state != SHCA_SIDE_READY ||
	    !req->ackreq.heard || !req_is_rc(req))
		return false;
	/* The time has come, or somebody waits. */
	return req->ackreq.probe_due || req->draining || req->fail.valid ||
	       req->ring.nxt != req->ring.prod || req->ring.prod - req->ring.head > req->ring.mask;
}

/*
 * Send an ACK probe, if nothing else may be sent. It has the PSN before the oldest outstanding
 * packet. It is an empty WRITE, because a responder checks only the PSN of a duplicate.
 */
static bool req_probe(struct shca_req *req, u64 now, struct shca_pkt *pkt)
{
	if (!shca_req_must_probe(req))
		return false;
	memset(pkt, 0, sizeof(*pkt));
	pkt->opcode = req->attr.transport | SHCA_OP_WRITE_ONLY;
	pkt->mig = req->attr.apm == SHCA_APM_MIGRATED;
	pkt->pkey = req->attr.pkey;
	pkt->dqpn = req->attr.dqpn;
	pkt->psn = shca_psn_add(req->psn.una, -1);
	pkt->resv8a = req->marks;
	pkt->ackreq = true;
	pkt->again = true;
	if (req->attr.transport == SHCA_TRANSPORT_XRC)
		pkt->xrc_srqn = req_wr(req, req->ring.una)->xrc_srqn;
	req->ackreq.probed = true;
	req->ackreq.probe_end = req->psn.max;
	req_asked(req, req->psn.max, now);
	req->stats.probes++;
	req->stats.tx_pkts++;
	if (unlikely(req->rate.on))
		req_rated(req, NULL, pkt, now);
	return true;
}

/*
 * UC, UD, RAW_PACKET: a request is done when its last packet has left. That is known when
 * completions are asked for: until then the link may refuse a batch, or gathering may fail.
 */
static void req_confirm(struct shca_req *req)
{
	if (req_is_rc(req) || req->state != SHCA_SIDE_READY)
		return;
	req->ring.una = req->ring.nxt;
	req->psn.una = req->ring.pkt_idx ? req_wr(req, req->ring.nxt)->first_psn :
				      req->psn.next;
}

/*
 * May the next packet leave? Pacing and static rates are computed here, and not as packets leave,
 * so that requesters without them pay nothing: shca_req_set_pacing().
 */
static bool req_pass_gate(struct shca_req *req, u64 now)
{
	s32 nr_psn = req->gate.paces ?
		     shca_psn_diff(req->psn.next, req->gate.psn) : 0;
	u64 until = 0;

	if (now < req->gate.until)
		return false;
	memset(&req->gate, 0, sizeof(req->gate));
	shca_req_set_pacing(req);
	if (req->cc.paces && nr_psn > 0)
		until = shca_cc_on_sent(&req->cc, nr_psn,
					req->rtt.ns, now);
	if (until)
		shca_req_pace(req, until);
	if (req->rate.on)
		req_obey_rate(req, now);
	return req->gate.until <= now;
}

bool shca_req_next(struct shca_req *req, u64 now, struct shca_pkt *pkt)
{
	u32 end_psn, nr_psn, nr_pkts;
	struct shca_send_wr *wr;
	bool last;

	shca_req_finish(req);
	if (req->state != SHCA_SIDE_READY || shca_req_rnr_waits(req))
		return false;
	if (unlikely(req->gate.until) && !req_pass_gate(req, now))
		return false;
	wr = req_pick(req);
	if (!wr)
		return req->ackreq.psn != req->psn.max &&
		       req_probe(req, now, pkt);

	nr_psn = req_reach(req, wr);
	nr_pkts = req->psn.reach > 1 ? 1 : nr_psn;
	last = req_is_rd(wr) || req->ring.pkt_idx + nr_psn == wr->nr_psn;
	if (req_is_rd(wr))
		end_psn = req_read_end(req, wr);
	else
		end_psn = shca_psn_add(req->psn.next, nr_psn);
	req_build(req, wr, nr_psn, last, pkt);
	pkt->ackreq = req_wants_ack(req, wr, nr_pkts, last, end_psn, now);
	pkt->again = req->psn.next != req->psn.max;
	req_sent(req, wr, pkt, nr_pkts, last, end_psn, now);
	if (unlikely(req->rate.on))
		req_rated(req, wr, pkt, now);
	if (unlikely(req->recovery.resend_end != SHCA_PSN_NONE) &&
	    shca_psn_diff(end_psn, req->recovery.resend_end) >= 0)
		shca_req_resend_done(req);
	return true;
}

/* ---- completions -------------------------------------------------------- */

static void req_fill_wc(struct shca_req *req, const struct shca_send_wr *wr,
			u8 status, struct shca_wc *wc)
{
	memset(wc, 0, sizeof(*wc));
	wc->wr_id = wr->wr_id;
	wc->status = status;
	wc->opcode = shca_wr_op(wr->opcode)->completion;
	if (unlikely(wr->own)) {
		req->ring.own++;
		wc->own = wr->own;
	}
	if (status != SHCA_WC_SUCCESS)
		wc->vendor_err = wr->vendor_err;
	else if (req_is_read(wr))
		wc->byte_len = wr->length;
	else if (req_is_atomic(wr))
		wc->byte_len = sizeof(u64);
}

bool shca_req_pop(struct shca_req *req, struct shca_wc *wc)
{
	const struct shca_send_wr *wr;
	u8 status;

	req_confirm(req);
	shca_req_finish(req);
	while (req->ring.head != req->ring.una) {
		wr = req_wr(req, req->ring.head++);
		if (!(wr->flags & SHCA_SEND_SIGNALED))
			continue;
		req_fill_wc(req, wr, SHCA_WC_SUCCESS, wc);
		return true;
	}
	if (req->state != SHCA_SIDE_ERR || req->ring.head == req->ring.prod)
		return false;

	wr = req_wr(req, req->ring.head++);
	req->ring.una = req->ring.head;
	req->ring.nxt = req->ring.head;
	status = wr->status;
	if (status == SHCA_WC_SUCCESS)
		status = SHCA_WC_WR_FLUSH_ERR;
	req_fill_wc(req, wr, status, wc);
	if (status == SHCA_WC_WR_FLUSH_ERR)
		wc->vendor_err = SHCA_VERR_NONE;
	return true;
}
