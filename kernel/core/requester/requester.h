/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The requester: sends requests, receives their responses, completes them (transport.h).
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

#include "../apm.h"
#include "../mem_ops.h"
#include "../own.h"
#include "../packet.h"
#include "../transport.h"
#include "../wr.h"
#include "cc.h"
#include "../responder/rate.h"

/*
 * Maximum outstanding PSNs, including those of READ responses: half of the range that separates a
 * duplicate from a new request (IBTA 9.7.2). A larger READ is outstanding alone.
 */
#define SHCA_REQ_SPAN		0x400000u
/* RAW_PACKET: length of the Ethernet header, the minimum of a frame. */
#define SHCA_RAW_MIN		14
/* Delay of an ACK probe after a packet without AckReq, unless a quarter of the time-out is less. */
#define SHCA_REQ_QUIET_NS	1000000ull
/*
 * Outstanding PSNs of READ responses per packet of the window, without and with an out-of-order
 * queue for responses. A single READ may take more.
 */
#define SHCA_REQ_READ_FACTOR	8
#define SHCA_REQ_READ_KEPT	2
/* A path is long if its window is at least as wide as this, in packets. */
#define SHCA_REQ_LONG		(SHCA_CC_WIDEST / 4)
/*
 * A request that RNR NAKs refuse, maybe for ever (rnr_retry 7), waits this many times for the time
 * that the NAK names, which is a minimum. After that each wait is twice as long, up to
 * SHCA_REQ_RNR_MOST_NS, or to the time of the NAK if that is longer.
 */
#define SHCA_REQ_RNR_THRESHOLD	8
#define SHCA_REQ_RNR_MOST_NS	1000000000ull

/* After a reordered packet, number of gaps that get a reordering window before their repair. */
#define SHCA_REQ_REORDERS	4

/* The reordering window is doubled at most this many times. */
#define SHCA_REQ_LATE_SHIFT	2

/* Windows after a repair in which a stale response shows that the repair was spurious. */
#define SHCA_REQ_WATCH		4

/* shca_req_recovery.early_row from which on there is no tail loss probe before the time-out. */
#define SHCA_REQ_EARLY_NEVER	32

/**
 * struct shca_req_attr - what a requester is started with (RTR to RTS)
 * @mtu:	path MTU in bytes: 256 .. 4096; RAW: length of the longest frame
 * @sq_psn:	first PSN
 * @dqpn:	peer's QP number, copied into each packet
 * @pkey:	P_Key, copied into each packet
 * @transport:	SHCA_TRANSPORT_RC, _XRC, _UC, _UD or _RAW. UC uses no member
 *		below, UD only @qkey and @sqpn
 * @qkey:	sent when a request's own has its high bit set (IBTA 10.2.5)
 * @sqpn:	this QP's number
 * @timeout_ns:	local ACK timeout, already 4.096 us * 2^n; 0: never
 * @retry_cnt:	0 .. 7; 7 means seven, not infinite
 * @rnr_retry:	0 .. 7; 7 means infinite (IBTA 9.7.5.2.8)
 * @max_rd_atomic: READs and atomics outstanding, 0: none may be posted
 * @peer:	SHCA_PEER_*; bits may be added at any time
 * @marking:	enum shca_resv8a, or SHCA_MARKING_NO_ICRC
 * @apm:	enum shca_apm_state: MigReq, and whether exhausted retries mean migration
 * @ooo:	the caller has an out-of-order queue for responses: shca_req_may_queue()
 * @ecn:	packets are ECN-capable; without it a CNP is forged, and ignored
 * @rate_kbps:	static rate of the path; 0: none. UD: that of each request counts
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
	u8 apm;
	bool ooo;
	bool ecn;
	u32 peer;
	u32 rate_kbps;
	struct shca_cc_attr cc;
};

/* attributes for shca_req_modify() */
#define SHCA_REQ_QKEY		(1u << 0)
#define SHCA_REQ_TIMEOUT	(1u << 1)
#define SHCA_REQ_RETRY_CNT	(1u << 2)
#define SHCA_REQ_RNR_RETRY	(1u << 3)
#define SHCA_REQ_MAX_RD_ATOMIC	(1u << 4)
#define SHCA_REQ_PEER		(1u << 5)	/* adds bits */
#define SHCA_REQ_APM		(1u << 6)	/* ends shca_req.migrates; all retries are left */
#define SHCA_REQ_RATE		(1u << 7)
#define SHCA_REQ_ECN		(1u << 8)

/*
 * Counters of the side since the QP was made.
 * @tx_bytes:	payload handed out, including what is sent again
 * @rx_bytes:	payload of accepted responses
 */
struct shca_req_stats {
	u64 tx_pkts;
	u64 tx_bytes;
	u64 rx_bytes;
	u64 retransmits;	/* resent packets */
	u64 timeouts;
	u64 probes;
	u64 early;		/* tail loss probes */
	u64 rx[SHCA_RX_NR];
};

/*
 * Private work requests, storage by the caller.
 * @base: @mask: @stride:	their address, their number less one, bytes of each
 * Free-running indices, head <= una <= nxt <= prod:
 * @prod:	posted
 * @nxt:	next to send (or partly sent, if @pkt_idx is not 0)
 * @una:	oldest not yet acknowledged
 * @head:	oldest not yet popped as a completion
 *
 * @own:	number of the adapter's own requests (shca_send_wr.own) below @head
 * @pkt_idx:	next packet of the request at @nxt
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

/*
 * Sequence numbers.
 * @next:	next PSN to send
 * @max:	first never sent
 * @una:	oldest not acknowledged
 * @nr_rd:	READs and atomics outstanding
 * @nr_rd_psns:	PSNs outstanding that are READ responses or atomics
 * @rd_waits:	PSNs of the READ at @nxt, which found no room for them; or 0
 * @reach:	maximum PSNs of a packet: 1 on a wire
 * @max_run: maximum middle packets of a message that are handed out as one, for the link to split;
 *		0 means 1
 * @paused:	PSN at which sending stops, because its memory is being fetched; or SHCA_PSN_NONE
 * @mtu_shift:	log2 of the bytes per PSN
 * @lsn:	number of started requests
 */
struct shca_req_psn {
	u32 next;
	u32 max;
	u32 una;
	u32 nr_rd;
	u32 nr_rd_psns;
	u32 rd_waits;
	u32 reach;
	u32 max_run;
	u32 paused;
	u32 mtu_shift;
	u32 lsn;
};

/*
 * When to ask for an acknowledgement.
 * @probe_ns:	time of an ACK probe, unless a packet has AckReq before; 0 if an AckReq covers all
 * @sent_ns:	time of the last packet
 * @nr_since:	packets since the last AckReq
 * @psn:	first PSN without an AckReq at or after it, among packets sent since going back
 * @before:	value of @psn before the last AckReq
 * @probe_end:	first PSN never sent, at the last ACK probe
 * @probe_due:	an ACK probe is due: its time has come, or a program waits
 * @probed:	an ACK probe was sent and is unanswered
 * @heard:	the peer has acknowledged something. Before that there is no PSN to probe at, so
 *		each request has AckReq
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

/* shca_req_gate.until: a time that has passed, so that shca_req_next() checks what is below. */
#define SHCA_GATE_OPEN		1

/*
 * Times before which nothing leaves; 0 for no limit.
 * @until:	the latest of the times below
 * @stall_ns:	the link is full, or a peer's memory is absent
 * @rate_ns:	rate of the path, of a datagram, or of RAW_PACKET
 * @pace_ns:	pacing by congestion control
 * @paces:	pacing is on: @until is at least SHCA_GATE_OPEN
 * @rates:	a static rate is on: likewise
 * @psn:	with @paces: PSNs before it have been paced
 */
struct shca_req_gate {
	u64 until;
	u64 stall_ns;
	u64 rate_ns;
	u64 pace_ns;
	u32 psn;
	bool paces;
	bool rates;
};

/*
 * The round trip.
 * @ns:		smoothed; 0: unknown
 * @least:	the least that was measured; 0: unknown
 * @start: @psn: @una:	of the packet that is being timed: when it left, its PSN (SHCA_PSN_NONE:
 *		none is timed), and the oldest PSN at that time
 * @again:	packets up to this one were sent again after a time-out, or by tail loss probes
 * @guess:	@ns is of such a packet, so it may contain the wait for these
 */
struct shca_req_rtt {
	u64 ns;
	u64 least;
	u64 start;
	u32 psn;
	u32 una;
	bool again;
	bool guess;
};

/*
 * What the requester waits for: struct shca_req_recovery.waits.
 * @SHCA_WAIT_ANSWER:	an answer
 * @SHCA_WAIT_REPAIR:	the answer to a repair of the oldest packets
 * @SHCA_WAIT_BACK:	the answer to go-back-N from the oldest packet on
 * @SHCA_WAIT_HOLD:	the end of the round trip, to go back
 * @SHCA_WAIT_RNR:	a receive request of the peer
 */
enum shca_req_waits {
	SHCA_WAIT_ANSWER, SHCA_WAIT_REPAIR, SHCA_WAIT_BACK, SHCA_WAIT_HOLD, SHCA_WAIT_RNR
};

/*
 * The repair that may turn out to be spurious. If both copies of its packets arrive, the window is
 * restored (undo).
 * @ns:		time of the repair
 * @psn: @end:	the oldest PSN then, and the end of the gap; @end SHCA_PSN_NONE: none
 * @read:	the packets are responses, each of which has its PSN
 */
struct shca_req_undo {
	u64 ns;
	u32 psn;
	u32 end;
	bool read;
};

/*
 * The reordering window (RACK): where packets were reordered, the repair of a gap waits.
 * @ns: @psn: @end:	unless they come before @ns, packets from @psn up to @end are sent again;
 *		@ns 0: none
 * @shift:	the window is a round trip, doubled this many times
 */
struct shca_req_reo {
	u64 ns;
	u32 psn;
	u32 end;
	u8 shift;
};

/*
 * What is sent again, and when (recovery.c).
 * @deadline: @waits:	time-out, 0: none; and what it is for
 * @timeout_ns:	time-out in use: that of the attributes, or two round trips if those are longer,
 *		but at most four times the former (IBTA 9.7.6.1)
 * @hold_ns:	NAKs and gaps before this time concern packets sent before going back
 * @rnr_row:	RNR NAKs since the last progress; stops at 255
 * @resend_end:	end of a repair, after which sending continues at new packets; SHCA_PSN_NONE:
 *		none, or all is sent again
 * @resend_max:	first PSN that was new when sending went back
 * @gap_end:	end of the last gap that was repaired
 * @acked_psn: @acked_syndrome:	an ACK up to here, with these credits, waits for the response of
 *		an earlier READ or atomic
 * @ahead_end:	end of a repair behind responses that were in flight
 * @rest_psn: @rest_end:	rest of a repair that another one has interrupted; @rest_end
 *		SHCA_PSN_NONE: none
 * @tail_probes:	packets up to @gap_end that were sent again after all others; 0: none. First
 *		a tail loss probe (1), a second one if its answer comes soon (2), then
 *		SHCA_CC_WINDOW_MIN packets, then twice as many each time
 * @beyond:	PSNs behind the oldest gap that have arrived, as far as is known: they are not in
 *		flight
 * @reorders:	number of gaps that still get a reordering window
 * @loss_psn:	losses before it belong to a window that was reduced already
 * @again_ns:	time of the last repair or tail loss probe
 * @behind_ns:	when the peer was last found to have something behind the oldest packet
 * @early_row:	tail loss probes since the last progress; SHCA_REQ_EARLY_NEVER: no more
 */
struct shca_req_recovery {
	u64 deadline;
	u64 timeout_ns;
	u64 hold_ns;
	u64 again_ns;
	u64 behind_ns;
	u32 resend_end;
	u32 resend_max;
	u32 loss_psn;
	u32 gap_end;
	struct shca_req_undo undo;
	struct shca_req_reo reo;
	u32 acked_psn;
	u32 beyond;
	u32 rest_psn;
	u32 rest_end;
	u32 tail_probes;
	u8 acked_syndrome;
	u32 ahead_end;
	u8 reorders;
	u8 retry_left;
	/* adjacent, so that progress clears them at once */
	u8 waits;
	u8 rnr_row;
	u8 early_row;
};

/*
 * Messages that the peer has receive requests for, by index in the ring (req_credit.c).
 * @valid:	the peer counts them; else only @psn has a meaning
 * @code: @nr:	the last code, and its number of receive requests
 * @limit:	first request beyond them
 * @ask:	request that asks for an ACK, with new credits
 * @psn:	where a message without credit waits for the answer to its first packet; or
 *		SHCA_PSN_NONE
 */
struct shca_req_credit {
	bool valid;
	u8 code;
	u32 nr;
	u32 limit;
	u32 ask;
	u32 psn;
};

/* An error of request @idx, which is not the oldest yet, if @valid. */
struct shca_req_fail {
	u32 idx;
	u16 status;
	u16 vendor;
	bool valid;
};

/*
 * A requester.
 * @attr:	attributes at the start
 * @state:	the side itself or shca_req_fail() enters ERR
 * @draining:	SQD: start no further request
 * @migrates:	retries are exhausted, and the path is to be exchanged before the next packet
 * @marks:	shca_pkt.resv8a of its packets
 * @mem: @mem_ctx:	memory operations
 */
struct shca_req {
	SHCA_OWN struct {
		struct shca_req_attr attr;
		enum shca_side_state state;
		bool draining;
		bool migrates;
		u8 marks;
		const struct shca_mem_ops *mem;
		void *mem_ctx;

		struct shca_req_ring ring;
		struct shca_req_psn psn;
		struct shca_cc cc;
		struct shca_req_credit credit;
		struct shca_req_fail fail;
		struct shca_req_ackreq ackreq;
		struct shca_req_gate gate;
		struct shca_rate rate;
		struct shca_req_rtt rtt;
		struct shca_req_recovery recovery;
		struct shca_req_stats stats;
	};
};

/**
 * shca_req_init() - initialise a requester in SHCA_SIDE_RESET
 * @req:	its content does not matter
 * @ring:	storage of requests
 * @entries:	their number, a power of two
 * @stride:	bytes of each, at least shca_req_stride()
 * @mem:	memory operations
 * @mem_ctx:	their argument
 */
void shca_req_init(struct shca_req *req, void *ring, u32 entries, u32 stride,
		   const struct shca_mem_ops *mem, void *mem_ctx);

/* Size of a private request with @max_sge segments. */
static inline u32 shca_req_stride(u32 max_sge)
{
	return (sizeof(struct shca_send_wr) +
		max_sge * sizeof(struct shca_sge) + 7) & ~7u;
}

/* Go to SHCA_SIDE_READY; the ring must be empty. */
void shca_req_start(struct shca_req *req, const struct shca_req_attr *attr);

/**
 * shca_req_modify() - change attributes at run time
 * @req:	the requester
 * @attr:	new values
 * @mask:	SHCA_REQ_* of the members of @attr to use
 */
void shca_req_modify(struct shca_req *req, const struct shca_req_attr *attr,
		     u32 mask);

/* Go to SHCA_SIDE_RESET. Storage, shca_cc.window and counters stay. */
void shca_req_reset(struct shca_req *req);

/*
 * Go to SHCA_SIDE_ERR from outside (modify to ERR, other side).
 *
 * Acknowledged requests complete, and shca_req_pop() flushes the rest. Also from SHCA_SIDE_RESET:
 * a QP that has never sent flushes its posts.
 */
void shca_req_fail(struct shca_req *req);

/* The number of @wr, in the ring or from shca_req_slot(): from 1 on, since the ring was empty. */
u32 shca_req_number(const struct shca_req *req, const struct shca_send_wr *wr);

/* Slot of the next request; NULL if the ring is full. */
struct shca_send_wr *shca_req_slot(struct shca_req *req);

/*
 * Publish the request in shca_req_slot().
 *
 * It checks opcode, length and flags against the transport. A refused request completes in its
 * turn with LOC_QP_OP_ERR (or LOC_LEN_ERR), and the QP fails.
 */
void shca_req_post(struct shca_req *req);

/**
 * shca_req_next() - the next packet to transmit
 * @req:	the requester
 * @now:	the time, ns
 * @pkt:	result; kind, wr, off, paylen describe the payload. wr is NULL in an ACK probe,
 *		which belongs to no request
 *
 * Return: false if there is nothing to send before an event or the deadline.
 */
bool shca_req_next(struct shca_req *req, u64 now, struct shca_pkt *pkt);

/**
 * shca_req_gather_failed() - a packet could not be transmitted
 * @req:	the requester
 * @pkt:	from shca_req_next(); it is not transmitted
 * @status:	KEY, ACCESS, RANGE: the request ends in LOC_PROT_ERR after all before it have
 *		completed. RETRY: neither @pkt nor later packets were transmitted; all of them
 *		come again
 */
void shca_req_gather_failed(struct shca_req *req, const struct shca_pkt *pkt,
			    enum shca_mem_status status);

/**
 * shca_req_link_full() - a queue below has no room for a packet
 * @req:	the requester
 * @pkt:	from shca_req_next(); neither it nor later packets were transmitted
 * @until:	time before which nothing leaves
 *
 * This is no failure and no loss, and uses up no retry. A packet handed out for the first time
 * comes again as a new one. Packets sent before may be in that queue, so the time-out begins anew
 * at @until.
 */
void shca_req_link_full(struct shca_req *req, const struct shca_pkt *pkt, u64 until);

/*
 * Stop at a packet whose memory is being fetched.
 *
 * Call it after shca_req_gather_failed() with SHCA_MEM_RETRY. That packet is not handed out again
 * before shca_req_release(), so it needs no timer. Packets before it are still sent again, and ACK
 * probes are still sent.
 */
void shca_req_pause(struct shca_req *req);

/* Memory may be present: end shca_req_pause() and _stall(). */
void shca_req_release(struct shca_req *req);

/*
 * Hand out nothing before @until.
 *
 * Call it after shca_req_gather_failed() with SHCA_MEM_RETRY if nobody reports the memory: it is a
 * peer's, or the request for it failed.
 */
void shca_req_stall(struct shca_req *req, u64 until);

/* Hand out nothing before @until, by a static rate or that of RAW_PACKET. */
void shca_req_rate(struct shca_req *req, u64 until);

/* Hand out nothing before @until, by pacing. */
void shca_req_pace(struct shca_req *req, u64 until);

/*
 * Do not let the transport timer expire before @until: an answer has arrived, and shca_req_rx()
 * gets it later, or the request has not left.
 */
void shca_req_answer_waits(struct shca_req *req, u64 until);

/* RNR NAKs that the oldest request may still get; 7: no limit (IBTA 9.7.5.2.8). */
static inline u8 shca_req_rnr_left(const struct shca_req *req)
{
	u8 most = req->attr.rnr_retry;

	return most == 7 ? most : most - min_t(u8, most, req->recovery.rnr_row);
}

/* Is this an RNR wait? Nothing is sent before the deadline. */
static inline bool shca_req_rnr_waits(const struct shca_req *req)
{
	return req->recovery.waits == SHCA_WAIT_RNR;
}

/* Is only one packet sent until there is progress? A tail loss probe, or one refused twice. */
static inline bool shca_req_one_packet(const struct shca_req *req)
{
	return (u8)(req->recovery.early_row - 1) < SHCA_REQ_EARLY_NEVER - 1 ||
	       req->recovery.rnr_row > 1;
}

/* Does the transport timer run? */
static inline bool shca_req_is_awaiting(const struct shca_req *req)
{
	return req->recovery.deadline && req->recovery.waits < SHCA_WAIT_HOLD;
}

/* Has the transport timer expired? */
static inline bool shca_req_is_overdue(const struct shca_req *req, u64 now)
{
	return shca_req_is_awaiting(req) && now >= req->recovery.deadline;
}

/* Is a tail loss probe due? */
bool shca_req_is_early(const struct shca_req *req, u64 now);

/* SQD: start no further request; or continue. */
void shca_req_drain(struct shca_req *req, bool draining);

void shca_req_set_max_run(struct shca_req *req, u32 max_run);

/* Process a response packet (ACK, READ response, atomic ACK, CNP). */
enum shca_verdict shca_req_rx(struct shca_req *req, const struct shca_pkt *pkt,
			      u64 now);

/*
 * May a response with the verdict SHCA_RX_LOST_RESPONSE enter the out-of-order queue?
 *
 * The caller feeds it when its PSN is the oldest outstanding one. The caller calls shca_req_gap()
 * to have the missing ones sent again.
 */
bool shca_req_may_queue(const struct shca_req *req, const struct shca_pkt *pkt);

/**
 * shca_req_gap() - responses from the oldest outstanding PSN up to @psn are missing
 * @req:	the requester
 * @psn:	of the first response that has come
 * @cause:	of the last one
 * @now:	the time, ns
 *
 * The peer has executed all requests before @psn. Only the missing part of a READ is asked for
 * again.
 */
void shca_req_gap(struct shca_req *req, u32 psn, u32 cause, u64 now);

/*
 * Can a run of middle packets of a response be processed as one?
 * @pkt:	with a span
 *
 * The run must be the next packets of the oldest READ. Otherwise process its parts.
 */
bool shca_req_takes_run(const struct shca_req *req, const struct shca_pkt *pkt);

/* From SHCA_SIDE_ERR back to READY (SQE to RTS); UC and UD only, with an empty ring. */
void shca_req_resume(struct shca_req *req);

/* The deadline may have passed; harmless if not. */
void shca_req_timer(struct shca_req *req, u64 now);

/* When to call shca_req_timer() or shca_req_next(); 0: never. */
u64 shca_req_deadline(const struct shca_req *req);

/*
 * Return the next completion of the send queue, in order.
 *
 * It also returns the end of the adapter's own requests (shca_wc.own). UC, UD: all packets handed
 * out since the last call were transmitted, or shca_req_gather_failed() was called. Unsignalled
 * successes are retired silently. @head has advanced past all retired requests, whatever is
 * returned.
 */
bool shca_req_pop(struct shca_req *req, struct shca_wc *wc);

/* Is an ACK probe due? */
bool shca_req_must_probe(const struct shca_req *req);

/* Does the READ that is next still wait for room? */
bool shca_req_read_waits(const struct shca_req *req);

/* Can shca_req_next() have a packet? Called for each response, of which few make room. */
static inline bool shca_req_may_send(const struct shca_req *req)
{
	if (req->ring.nxt != req->ring.prod &&
	    (likely(!req->psn.rd_waits) || !shca_req_read_waits(req)))
		return true;
	return req->ackreq.psn != req->psn.max && shca_req_must_probe(req);
}

/* Nothing is outstanding: SQD is drained, the QP may be freed. */
static inline bool shca_req_idle(const struct shca_req *req)
{
	return req->ring.una == req->ring.nxt && !req->ring.pkt_idx &&
	       req->psn.una == req->psn.max;
}

#endif
