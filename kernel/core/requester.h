/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The requester: sends requests, receives their responses, completes them
 * (transport.h).
 *
 * Caller's loop after any event (post, rx, timer):
 *	while (budget && shca_req_next(req, now, &pkt))
 *		gather payload (on failure shca_req_gather_failed()), transmit
 *	while (shca_req_pop(req, &wc))	(UC, UD: after transmission)
 *		write wc to the send CQ
 *	if (req->state == SHCA_SIDE_ERR) the QP goes to the error state
 *	arm the timer for shca_req_deadline()
 */
#ifndef SHCA_CORE_REQUESTER_H
#define SHCA_CORE_REQUESTER_H

#include "cc.h"
#include "mem_ops.h"
#include "own.h"
#include "packet.h"
#include "transport.h"
#include "wr.h"

/*
 * PSNs outstanding at once, those of READ responses included: half of what
 * keeps a duplicate apart from a new request (IBTA 9.7.2).  One READ larger
 * than that goes alone.
 */
#define SHCA_REQ_SPAN		0x400000u
/* RAW_PACKET: bytes of an Ethernet header, without which there is no frame. */
#define SHCA_RAW_MIN		14
/*
 * A sender that has not asked for an acknowledgement does so after this time, or
 * after a quarter of its time-out if that is less.
 */
#define SHCA_REQ_QUIET_NS	1000000ull
/* PSNs of READ responses outstanding per packet of the window, unless one READ alone takes more. */
#define SHCA_REQ_READ_FACTOR	8
/*
 * A request that is refused for want of a receive, and may be for ever (rnr_retry
 * 7), waits so often as long as the peer asks for, which is a minimum.  After that it
 * waits twice as long each time, up to the longer one of this and of what is asked.
 */
#define SHCA_REQ_RNR_PATIENCE	8
#define SHCA_REQ_RNR_MOST_NS	1000000000ull

/* No PSN. */
#define SHCA_REQ_NOT_HELD	0xffffffffu

/*
 * What is known of a peer (shca_req_attr.peer), beyond what the specification
 * demands of each.  The caller finds out, sets bits at any time, and takes none back
 * but with the connection.
 */
/* Before it ends it acknowledges what it has executed, unasked: shca_resp_flush_acks(). */
#define SHCA_PEER_FLUSHES_ACKS		(1u << 0)

/**
 * struct shca_req_attr - what a requester is started with (RTR to RTS)
 * @mtu:	path MTU in bytes: 256 .. 4096; RAW: of the longest frame
 * @sq_psn:	first PSN
 * @dqpn: @pkey: copied into each packet
 * @transport:	SHCA_TRANSPORT_RC, _XRC, _UC, _UD or _RAW; of what follows UC and UD use
 *		only @qkey and @sqpn (both UD)
 * @qkey:	sent when a request's own has its high bit set (IBTA 10.2.5)
 * @sqpn:	this QP's number
 * @timeout_ns:	local ACK timeout, already 4.096 us * 2^n; 0: never
 * @retry_cnt:	0 .. 7; 7 is seven, not for ever
 * @rnr_retry:	0 .. 7; 7 is for ever (IBTA 9.7.5.2.8)
 * @max_rd_atomic: READs and atomics outstanding, 0: none may be posted
 * @peer:	SHCA_PEER_*; bits join while it runs
 * @marking:	enum shca_marking
 * @cc:		congestion control of RC and XRC
 */
struct shca_req_attr {
	u32 mtu;
	u32 sq_psn;
	u32 dqpn;
	u16 pkey;
	u8 transport;
	u32 qkey;
	u32 sqpn;
	u64 timeout_ns;
	u8 retry_cnt;
	u8 rnr_retry;
	u16 max_rd_atomic;
	u8 marking;
	u32 peer;
	struct shca_cc_attr cc;
};

/* Which of them: shca_req_modify(). */
#define SHCA_REQ_QKEY		(1u << 0)
#define SHCA_REQ_TIMEOUT	(1u << 1)
#define SHCA_REQ_RETRY_CNT	(1u << 2)
#define SHCA_REQ_RNR_RETRY	(1u << 3)
#define SHCA_REQ_MAX_RD_ATOMIC	(1u << 4)
#define SHCA_REQ_PEER		(1u << 5)	/* bits that join */

/**
 * struct shca_req_stats - counted by the side, read without its lock
 */
struct shca_req_stats {
	u64 tx_pkts;
	u64 tx_bytes;
	u64 retransmits;	/* packets sent again */
	u64 timeouts;
	u64 probes;
	u64 rx[SHCA_RX_NR];
};

/**
 * struct shca_req_ring - private work requests, storage by the caller
 * @base: @mask: @stride: where they lie, their number less one, bytes of each
 *
 * Free-running indices, head <= una <= nxt <= prod:
 * @prod:	posted
 * @nxt:	next to be sent (or being sent, when @pkt_idx is not 0)
 * @una:	oldest not yet acknowledged
 * @head:	oldest not yet popped as a completion
 *
 * @own:	requests of the adapter's own (shca_send_wr.own) below @head
 * @pkt_idx:	packet of the request at @nxt
 */
struct shca_req_ring {
	u8 *base;
	u32 mask;
	u32 stride;
	u32 prod;
	u32 nxt;
	u32 una;
	u32 head;
	u32 own;
	u32 pkt_idx;
};

/**
 * struct shca_req_psn - sequence numbers
 * @next:	PSN to be sent next
 * @max:	first never sent
 * @una:	oldest not acknowledged
 * @nr_rd:	READs and atomics outstanding
 * @nr_rd_psns:	PSNs outstanding that are READ responses or atomics
 * @reach:	PSNs that one packet may stand for: 1 on a wire
 * @burst:	middle packets of a message that are handed out as one, which the link
 *		takes apart: at most so many, 0 is 1
 * @held:	nothing leaves at this PSN: its memory is being fetched;
 *		SHCA_REQ_NOT_HELD: none is
 * @mtu_shift:	bytes of a PSN, as a power of two
 * @lsn:	requests that have been started
 */
struct shca_req_psn {
	u32 next;
	u32 max;
	u32 una;
	u32 nr_rd;
	u32 nr_rd_psns;
	u32 reach;
	u32 burst;
	u32 held;
	u32 mtu_shift;
	u32 lsn;
};

/**
 * struct shca_req_ackreq - when to ask for an acknowledgement
 * @probe_ns:	when to send an ACK probe if nothing asks until then, 0: all has asked
 * @sent_ns:	when the last packet was handed out
 * @nr_since:	packets since the last AckReq
 * @psn:	first PSN that an AckReq has not been sent at or after, of what was
 *		sent since going back
 * @before:	the one before the last AckReq
 * @probe_end:	first PSN never sent, at the last ACK probe
 * @probe_due:	that time has come, or somebody waits
 * @probed:	an ACK probe was sent, and no answer has come
 * @heard:	the peer has acknowledged something: only then there is a PSN to
 *		probe at, so until then each request asks
 */
struct shca_req_ackreq {
	u64 probe_ns;
	u64 sent_ns;
	u32 nr_since;
	u32 psn;
	u32 before;
	u32 probe_end;
	bool probe_due;
	bool probed;
	bool heard;
};

/* struct shca_req_gate.until: a time that has passed, but is looked at. */
#define SHCA_GATE_OPEN		1

/**
 * struct shca_req_gate - nothing leaves before; 0: at once, and SHCA_GATE_OPEN, too
 * @until:	the latest of what follows
 * @stall_ns:	the link takes no more, or there is nobody to ask for memory
 * @rate_ns:	so that a static rate is kept
 * @pace_ns:	so that the path is not overrun: congestion control
 * @psn:	what is before it has been paced, where that is needed (shca_cc.watches);
 *		@until is SHCA_GATE_OPEN at least then
 */
struct shca_req_gate {
	u64 until;
	u64 stall_ns;
	u64 rate_ns;
	u64 pace_ns;
	u32 psn;
};

/**
 * struct shca_req_recovery - what is sent again, and when (recovery.c)
 * @deadline:	retransmission or RNR time-out, 0: none
 * @hold_ns:	a NAK or a gap seen before is about packets sent before going
 *		back
 * @rtt_ns: @rtt_start: @rtt_psn: smoothed round trip; the packet being timed
 * @rtt_valid:	@rtt_psn is being timed
 * @recheck:	@deadline is @hold_ns: go back then if nothing has moved
 * @went_back:	went back to the oldest PSN already on a NAK or a gap
 * @one_packet:	send the oldest packet only
 * @rnr_wait:	@deadline is the end of an RNR wait; nothing is sent
 * @rnr_again:	an RNR NAK came and nothing has moved since
 * @rnr_row:	RNR NAKs that came since something has moved, and may for ever; it
 *		stops at 255
 * @retry_left: @rnr_left: retries left
 */
struct shca_req_recovery {
	u64 deadline;
	u64 hold_ns;
	u64 rtt_ns;
	u64 rtt_start;
	u32 rtt_psn;
	bool rtt_valid;
	bool recheck;
	bool went_back;
	bool one_packet;
	bool rnr_wait;
	bool rnr_again;
	u8 rnr_row;
	u8 retry_left;
	u8 rnr_left;
};

/**
 * struct shca_req_fail - an error ahead: of request @idx, when @valid
 */
struct shca_req_fail {
	u32 idx;
	u16 status;
	u16 vendor;
	bool valid;
};

/**
 * struct shca_req - a requester
 * @attr:	as started
 * @state:	ERR is entered by the side itself or by shca_req_fail()
 * @draining:	SQD: start no further request
 * @marks:	shca_pkt.resv8a of its packets
 * @credits:	end-to-end credits; SHCA_AETH_CREDIT_NONE: not in use
 * @mem: @mem_ctx: the access to memory
 */
struct shca_req {
	SHCA_OWN struct {
		struct shca_req_attr attr;
		enum shca_side_state state;
		bool draining;
		u8 marks;
		u8 credits;
		const struct shca_mem_ops *mem;
		void *mem_ctx;

		struct shca_req_ring ring;
		struct shca_req_psn psn;
		struct shca_cc cc;
		struct shca_req_fail fail;
		struct shca_req_ackreq ackreq;
		struct shca_req_gate gate;
		struct shca_req_recovery recovery;
		struct shca_req_stats stats;
	};
};

/**
 * shca_req_init() - a requester in SHCA_SIDE_RESET
 * @ring:	storage of @entries (power of two) requests, @stride bytes each
 *		(at least shca_req_stride())
 */
void shca_req_init(struct shca_req *req, void *ring, u32 entries, u32 stride,
		   const struct shca_mem_ops *mem, void *mem_ctx);

/** shca_req_stride() - bytes for a private request of @max_sge segments */
static inline u32 shca_req_stride(u32 max_sge)
{
	return (sizeof(struct shca_send_wr) +
		max_sge * sizeof(struct shca_sge) + 7) & ~7u;
}

/** shca_req_start() - to SHCA_SIDE_READY; the ring must be empty */
void shca_req_start(struct shca_req *req, const struct shca_req_attr *attr);

/**
 * shca_req_modify() - attributes that may change while it runs
 * @mask:	SHCA_REQ_*: those that are taken from @attr
 */
void shca_req_modify(struct shca_req *req, const struct shca_req_attr *attr,
		     u32 mask);

/** shca_req_reset() - forget everything, back to SHCA_SIDE_RESET */
void shca_req_reset(struct shca_req *req);

/**
 * shca_req_fail() - to SHCA_SIDE_ERR from outside (modify to ERR, other side)
 *
 * What is acknowledged completes, the rest is flushed by shca_req_pop().  Also
 * from SHCA_SIDE_RESET: a QP that never sent flushes what is posted to it.
 */
void shca_req_fail(struct shca_req *req);

/** shca_req_slot() - where to write the next request; NULL: ring full */
struct shca_send_wr *shca_req_slot(struct shca_req *req);

/**
 * shca_req_post() - the request in shca_req_slot() is complete
 *
 * Validates opcode, length, flags for the transport; a refused one completes
 * in its turn with LOC_QP_OP_ERR (or LOC_LEN_ERR) and the QP goes to error.
 */
void shca_req_post(struct shca_req *req);

/**
 * shca_req_next() - the next packet to transmit
 * @pkt:	filled; payload described by kind, wr, off, paylen; wr is NULL in an
 *		ACK probe, which is of no request
 *
 * Return: false: nothing to send now; wait for an event or the deadline.
 */
bool shca_req_next(struct shca_req *req, u64 now, struct shca_pkt *pkt);

/**
 * shca_req_gather_failed() - a packet could not be transmitted
 * @pkt:	from shca_req_next(); it is not transmitted
 * @status:	KEY, ACCESS, RANGE: the request ends in LOC_PROT_ERR after all
 *		before it have completed; RETRY: neither @pkt nor what was
 *		handed out after it was transmitted; all of it comes again
 */
void shca_req_gather_failed(struct shca_req *req, const struct shca_pkt *pkt,
			    enum shca_mem_status status);

/**
 * shca_req_link_full() - a queue below has no room for a packet
 * @pkt:	from shca_req_next(); neither it nor what was handed out after it was
 *		transmitted
 * @until:	nothing leaves before
 *
 * It is no failure and no loss: what was handed out for the first time will be so again,
 * and no retry is used.
 */
void shca_req_link_full(struct shca_req *req, const struct shca_pkt *pkt, u64 until);

/*
 * shca_req_hold() - memory of the packet at which it resumes is being fetched
 *
 * After shca_req_gather_failed() with SHCA_MEM_RETRY: that packet is not handed out
 * again before shca_req_release(), so that nobody needs a timer for it.  What is sent
 * again before it is, and so is an ACK probe.
 */
void shca_req_hold(struct shca_req *req);

/* shca_req_release() - the memory may be there: ends shca_req_hold() and _stall() */
void shca_req_release(struct shca_req *req);

/**
 * shca_req_stall() - what was handed out last cannot leave now: none before @until
 *
 * After shca_req_gather_failed() with SHCA_MEM_RETRY, where nobody will say when it can:
 * memory is that of a peer, or none was left to ask with.
 */
void shca_req_stall(struct shca_req *req, u64 until);

/** shca_req_rate() - the next packet leaves at @until at the earliest, by the QP's rate */
void shca_req_rate(struct shca_req *req, u64 until);

/** shca_req_pace() - the same by congestion control */
void shca_req_pace(struct shca_req *req, u64 until);

/**
 * shca_req_answer_waits() - an answer is here, and is given to shca_req_rx() later
 *
 * The time-out of what it may answer is not before @until.
 */
void shca_req_answer_waits(struct shca_req *req, u64 until);

/** shca_req_drain() - SQD: start no further request; or go on */
void shca_req_drain(struct shca_req *req, bool draining);

/* shca_req.burst: of how many like packets the next one may stand for */
void shca_req_set_burst(struct shca_req *req, u32 burst);

/** shca_req_rx() - a response packet (ACK, READ response, atomic ACK, CNP) */
enum shca_verdict shca_req_rx(struct shca_req *req, const struct shca_pkt *pkt,
			      u64 now);

/**
 * shca_req_takes_run() - may middle packets of a response be fed as one?
 * @pkt:	with a span
 *
 * They are the next ones of the READ that is waited for. Else feed its parts.
 */
bool shca_req_takes_run(const struct shca_req *req, const struct shca_pkt *pkt);

/**
 * shca_req_resume() - from SHCA_SIDE_ERR back to READY (SQE to RTS)
 *
 * UC and UD only; the ring is empty, all was flushed.
 */
void shca_req_resume(struct shca_req *req);

/** shca_req_timer() - the deadline may have passed; harmless if not */
void shca_req_timer(struct shca_req *req, u64 now);

/** shca_req_deadline() - when to call shca_req_timer() or _next(); 0: never */
u64 shca_req_deadline(const struct shca_req *req);

/**
 * shca_req_pop() - the next completion of the send queue, in order
 *
 * The end of a request of the adapter's own (shca_wc.own) is told as well.
 * UC, UD: all that was handed out since the last call has been transmitted, or
 * shca_req_gather_failed() told.  Unsignalled successes are retired silently.
 * @head has advanced past all that were retired, whatever is returned.
 */
bool shca_req_pop(struct shca_req *req, struct shca_wc *wc);

/** shca_req_must_probe() - is it time to ask, for what has not asked? */
bool shca_req_must_probe(const struct shca_req *req);

/** shca_req_may_send() - can shca_req_next() have a packet? */
static inline bool shca_req_may_send(const struct shca_req *req)
{
	return req->ring.nxt != req->ring.prod || (req->ackreq.psn != req->psn.max &&
					 shca_req_must_probe(req));
}

/** shca_req_idle() - nothing outstanding: SQD is drained, QP may be freed */
static inline bool shca_req_idle(const struct shca_req *req)
{
	return req->ring.una == req->ring.nxt && !req->ring.pkt_idx &&
	       req->psn.una == req->psn.max;
}

#endif
