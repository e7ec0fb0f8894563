/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The part of struct shca_req that post.c, requester.c, completer.c and recovery.c share.
 *
 * Invariants, between any two calls from outside and in SHCA_SIDE_READY:
 *
 *   head <= una <= nxt <= prod, as free-running indices
 *   @psn.una lies in the request at @ring.una, or is @psn.max
 *   @psn.next lies in [@psn.una, @psn.max]; below @psn.max packets are sent again
 *   requests with PSNs (SHCA_WRF_STARTED) are @ring.una up to the one of @psn.max
 *   @psn.nr_rd and @psn.nr_rd_psns count READs, atomics and their like among those, and their PSNs
 *   from @psn.una on
 */
#ifndef SHCA_CORE_REQ_INTERNAL_H
#define SHCA_CORE_REQ_INTERNAL_H

#include "../opcode.h"
#include "../psn.h"
#include "../wr_op.h"
#include "requester.h"

/* struct shca_send_wr.flags_core */
#define SHCA_WRF_STARTED	(1u << 0)	/* has PSNs, was sent in part; local: executed */
#define SHCA_WRF_RETRIED	(1u << 1)	/* sent again, partly or completely */
/* A later response has come, so the peer has executed the request: only responses are missing. */
#define SHCA_WRF_EXECUTED	(1u << 2)

static inline struct shca_send_wr *req_wr(const struct shca_req *req, u32 idx)
{
	return (void *)(req->ring.base + (size_t)(idx & req->ring.mask) *
			req->ring.stride);
}

/* Pace packets from now on, if congestion control asks for it. */
static inline void shca_req_set_pacing(struct shca_req *req)
{
	if (!req->cc.paces || req->gate.paces)
		return;
	req->gate.paces = true;
	req->gate.psn = req->psn.next;
	req->gate.until = max_t(u64, req->gate.until, SHCA_GATE_OPEN);
}

/* Obey a static rate from now on, that of the path or of a datagram. */
static inline void shca_req_set_rate_gate(struct shca_req *req)
{
	req->rate.on = true;
	req->gate.rates = true;
	req->gate.until = max_t(u64, req->gate.until, SHCA_GATE_OPEN);
}

/* Type of the answer that completes @wr, SHCA_ANSWER_*. */
static inline u8 req_answer(const struct shca_send_wr *wr)
{
	return shca_wr_op(wr->opcode)->answer;
}

static inline bool req_is_read(const struct shca_send_wr *wr)
{
	return req_answer(wr) == SHCA_ANSWER_READ;
}

static inline bool req_is_atomic(const struct shca_send_wr *wr)
{
	return req_answer(wr) == SHCA_ANSWER_ATOMIC;
}

/* answered by a READ response without data */
static inline bool req_is_bare(const struct shca_send_wr *wr)
{
	return req_answer(wr) == SHCA_ANSWER_BARE;
}

/* executed by the requester itself, in its turn; takes no PSN */
static inline bool req_is_local(const struct shca_send_wr *wr)
{
	return req_answer(wr) == SHCA_ANSWER_LOCAL;
}

/* has a response of its own; an acknowledgement does not complete it */
static inline bool req_is_rd(const struct shca_send_wr *wr)
{
	u8 answer = req_answer(wr);

	return answer != SHCA_ANSWER_ACK && answer != SHCA_ANSWER_LOCAL;
}

/* Begins when all before it is done. */
static inline bool req_waits_for_all(const struct shca_send_wr *wr)
{
	return shca_wr_op(wr->opcode)->flags & SHCA_OPS_WAITS;
}

static inline bool req_takes_recv(const struct shca_send_wr *wr)
{
	return shca_wr_op(wr->opcode)->flags & SHCA_OPS_RECV;
}

/* Reliable: RC, or XRC, which differs by a header only for a requester. */
static inline bool req_is_rc(const struct shca_req *req)
{
	return req->attr.transport == SHCA_TRANSPORT_RC ||
	       req->attr.transport == SHCA_TRANSPORT_XRC;
}

/* IBTA 10.2.5: only the QP's own Q_Key may be a privileged one. */
static inline u32 req_qkey(const struct shca_req *req, const struct shca_send_wr *wr)
{
	return wr->ud.remote_qkey & 0x80000000u ? req->attr.qkey :
						  wr->ud.remote_qkey;
}

/* PSNs outstanding; unsigned, so that one READ may take 2^23 of them. */
static inline u32 req_span(const struct shca_req *req)
{
	return shca_psn_off(req->psn.max, req->psn.una);
}

/* Continue sending at the oldest unacknowledged PSN. */
void shca_req_seek(struct shca_req *req);

/* Go back and use up a retry, or fail the oldest request. */
void shca_req_retry(struct shca_req *req, u16 vendor_err);

/* Go back because of a NAK or a gap, now or at the end of the round trip; uses up a retry. */
void shca_req_go_back(struct shca_req *req, u16 vendor_err, u64 now);

/*
 * Send again what the answer to an ACK probe does not cover. This uses up no retry, because there
 * may be none left. The packet has AckReq, so no second ACK probe follows.
 */
void shca_req_missing(struct shca_req *req, u64 now);

/*
 * Gap report: @nr packets from the oldest one on are missing.
 * @cause:	PSN of the packet that triggered the report
 */
void shca_req_resend(struct shca_req *req, u32 nr, u32 cause, u64 now);

/*
 * Gap report: @nr packets from @psn on are missing, and answers before them are not here yet.
 * @psn:	outstanding, and not the oldest
 * @nr:		1 .. 32
 * @cause:	PSN of the packet that triggered the report
 */
void shca_req_resend_ahead(struct shca_req *req, u32 psn, u32 nr, u32 cause, u64 now);

/* An ACK came while a tail loss probe is outstanding (shca_req_recovery.tail_probes). */
void shca_req_tail_probed(struct shca_req *req, u64 now);

/* shca_req_gap() for an ACK, which does not enter the out-of-order queue. */
void shca_req_unanswered(struct shca_req *req, u32 psn, u32 cause, u64 now);

/* The peer has the packet @psn, in order or not: if it is the timed one, take the round trip. */
void shca_req_time(struct shca_req *req, u32 psn, u64 now);

/*
 * An answer at @psn is stale. If it is of a packet that was sent again, both copies have arrived,
 * and the first was late, not lost.
 */
void shca_req_stale(struct shca_req *req, u32 psn, u64 now);

/* The missing packets were sent again: continue at new ones. */
void shca_req_resend_done(struct shca_req *req);

/* The packet to be sent next is acknowledged. */
void shca_req_overtaken(struct shca_req *req);

/* Called after a change of the attributes or of the round trip. */
void shca_req_set_timeout(struct shca_req *req);

/* Called after a change of the attributes: nothing is owed to the old rate. */
void shca_req_set_rate(struct shca_req *req);

/* The peer has no receive and asks for a wait of @asked ns. */
void shca_req_wait_rnr(struct shca_req *req, u64 asked, u64 now);

/* Record an error of request @idx, ahead of @una. That of the earliest request counts. */
void shca_req_fail_at(struct shca_req *req, u32 idx, u8 status, u16 vendor_err);

/* The oldest request fails: go to SHCA_SIDE_ERR. */
void shca_req_fail_una(struct shca_req *req, u8 status, u16 vendor_err);

/* Complete executed local requests at @una. */
void shca_req_skip_local(struct shca_req *req);

/* Delay before an idle requester probes for missing ACKs. */
u64 shca_req_quiet_time(const struct shca_req *req);

/* Act on an error ahead once all requests before it are acknowledged. */
void shca_req_finish(struct shca_req *req);

#endif
