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

#include "../apm.h"
#include "../mem_ops.h"
#include "../own.h"
#include "../packet.h"
#include "../transport.h"
#include "../wr.h"
#include "cc.h"
#include "../responder/rate.h"

/*
 * Maximum outstanding PSNs, including those of READ responses: half of the
 * range that separates a duplicate from a new request (IBTA 9.7.2). One READ
 * larger than that goes alone.
 */
#define SHCA_REQ_SPAN		0x400000u
/* RAW_PACKET: length of the Ethernet header, the minimum of a frame. */
#define SHCA_RAW_MIN		14
/*
 * Delay of an ACK probe after a packet without AckReq, unless a quarter of the
 * time-out is less.
 */
#define SHCA_REQ_QUIET_NS	1000000ull
/*
 * Outstanding PSNs of READ responses per packet of the window, and where those out of
 * order are kept; one READ alone may take more.
 */
#define SHCA_REQ_READ_FACTOR	8
#define SHCA_REQ_READ_KEPT	2
/* A path with a window of so many packets, which it has filled, is long. */
#define SHCA_REQ_LONG		(SHCA_CC_WIDEST / 4)
/*
 * A request refused by RNR, maybe forever (rnr_retry 7), waits this many times
 * for the time that the peer asks for, which is a minimum. After that, each
 * wait is twice as long. The limit is SHCA_REQ_RNR_MOST_NS, or the time asked for
 * if that is longer.
 */
#define SHCA_REQ_RNR_THRESHOLD	8
#define SHCA_REQ_RNR_MOST_NS	1000000000ull

/* So many losses follow a reordered packet until a gap is repaired at once again. */
#define SHCA_REQ_REORDERS	4

/* What may be late is waited for up to so many doublings of a round trip. */
#define SHCA_REQ_LATE_SHIFT	2

/* A repair is so many windows ago: it is not looked whether it comes twice. */
#define SHCA_REQ_WATCH		4

/* So many early retransmissions mean none: the time-out comes before. */
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
 * @marking:	enum shca_resv8a
 * @apm:	enum shca_apm_state: MigReq, and whether exhausted retries mean migration
 * @ooo:	the caller has a queue for responses that are out of order: shca_req_may_queue()
 * @ecn:	packets are ECN-capable: others draw no CNP, so one that comes is forged
 * @rate_kbps:	static rate of the path; 0: none.  UD: that of each request counts
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
 * @tx_bytes:	payload handed out, what is resent included
 * @rx_bytes:	payload of accepted responses
 */
struct shca_req_stats {
	u64 tx_pkts;
	u64 tx_bytes;
	u64 rx_bytes;
	u64 retransmits;	/* resent packets */
	u64 timeouts;
	u64 probes;
	u64 early;		/* packets resent before their time-out */
	u64 rx[SHCA_RX_NR];
};

/*
 * Private work requests, storage by the caller.
 * @base: @mask: @stride:	their address, their number less one, bytes of
 *		each
 *
 * Free-running indices, head <= una <= nxt <= prod:
 * @prod:	posted
 * @nxt:	next to send (or partly sent, if @pkt_idx is not 0)
 * @una:	oldest not yet acknowledged
 * @head:	oldest not yet popped as a completion
 *
 * @own:	number of the adapter's own requests (shca_send_wr.own) below
 *		@head
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
 * @max_run: maximum middle packets of a message that are handed out as one,
 *		for the link to split; 0 means 1
 * @paused:	PSN at which sending stops, because its memory is being fetched;
 *		or SHCA_PSN_NONE
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
 * @probe_ns:	time of an ACK probe, unless a packet has AckReq before; 0 if
 *		all are covered by an AckReq
 * @sent_ns:	time of the last packet
 * @nr_since:	packets since the last AckReq
 * @psn:	first PSN without an AckReq at or after it, among packets sent
 *		since going back
 * @before:	value of @psn before the last AckReq
 * @probe_end:	first PSN never sent, at the last ACK probe
 * @probe_due:	the time has come, or a program waits
 * @probed:	an ACK probe was sent and is unanswered
 * @heard:	the peer has acknowledged something. Before that there is no PSN
 *		to probe at, so each request has AckReq
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

/*
 * Times before which nothing leaves; 0 for no limit.
 * @until:	the latest of the times below
 * @stall_ns:	the link is full, or a peer's memory is absent
 * @rate_ns:	rate of the path, of a datagram, or of RAW_PACKET
 * @pace_ns:	pace of the congestion control
 * @paces:	what leaves is paced: @until is at least SHCA_GATE_OPEN
 * @rates:	a static rate is looked at: likewise
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
 * @start: @psn: @una:	of the packet that is being timed: when it left, its PSN
 *		(SHCA_PSN_NONE: none is timed), and the oldest PSN at that time
 * @again:	it was resent after a time-out
 * @guess:	@ns is of such a packet, so it may contain a time-out
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
 * @SHCA_WAIT_REPAIR:	the answer to the oldest packets, sent again because of a gap
 * @SHCA_WAIT_BACK:	the answer to all, sent again from the oldest packet on
 * @SHCA_WAIT_HOLD:	the time to go back
 * @SHCA_WAIT_RNR:	a receive of the peer
 */
enum shca_req_waits {
	SHCA_WAIT_ANSWER, SHCA_WAIT_REPAIR, SHCA_WAIT_BACK, SHCA_WAIT_HOLD, SHCA_WAIT_RNR
};

/*
 * A gap that was repaired since a later packet had come.  If its packets come twice, the
 * repair was spurious, and the window is undone (as TCP does).
 * @ns:		when it was repaired
 * @psn: @end:	the oldest PSN then, and the end of the gap; @end SHCA_PSN_NONE: none
 * @read:	its packets are responses, each of which has its PSN
 */
struct shca_req_undo {
	u64 ns;
	u32 psn;
	u32 end;
	bool read;
};

/*
 * Where packets were reordered, a gap is waited for (the reordering window of RACK).
 * @ns: @psn: @end:	unless they come before @ns, packets from @psn up to @end are
 *			sent again; @ns 0: none
 * @shift:	doublings of the round trip that a gap may last, since one was too short
 */
struct shca_req_reo {
	u64 ns;
	u32 psn;
	u32 end;
	u8 shift;
};

/*
 * What is resent, and when (recovery.c).
 * @deadline: @waits:	time-out, 0: none; and what it is for
 * @timeout_ns:	time-out in use: that of the attributes, or two round trips if those are
 *		longer, but at most four times the former (IBTA 9.7.6.1)
 * @hold_ns:	NAKs and gaps before this time concern packets sent before going
 *		back
 * @rnr_row:	RNR NAKs since the last progress; stops at 255
 * @retry_left:	retries left
 * @resend_end:	resending ends here, and continues at new packets;
 *		SHCA_PSN_NONE: at new packets
 * @resend_max:	first PSN that was new when sending went back
 * @gap_end:	what is missing before it was sent or asked for again
 * @acked_psn: @acked_syndrome:	acknowledged up to here, with these credits, while
 *		the response of a READ or an atomic before it is missing
 * @ahead_end:	packets up to it were sent again while answers before them were on their way
 * @rest_psn: @rest_end:	a repair was interrupted by another one, and goes on at
 *		@rest_psn up to @rest_end
 * @tail_probes:	so many packets up to @gap_end were sent again after all others, without which
 *		nothing tells of those; 0: none.  The first is sent early (1).  If its answer
 *		comes soon, one more is sent (2), then a few, then twice as many
 * @beyond:	PSNs behind the oldest gap that have come, as far as that is known: they are
 *		not on their way any more
 * @reorders:	so many more gaps are repaired a round trip later, because packets were
 *		reordered
 * @loss_psn:	losses before it belong to the window that was made smaller already
 * @again_ns:	time of the last packet sent again early or because of a gap
 * @behind_ns:	when the peer was last found to have something behind the oldest packet
 * @early_row:	early retransmissions since the last progress; there is none from
 *		SHCA_REQ_EARLY_NEVER on
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
	/* (beside each other: progress clears them at once) */
	u8 waits;
	u8 rnr_row;
	u8 early_row;
};

/*
 * How many messages the peer has receive requests for.
 * @valid:	the peer counts them; else only @psn has a meaning
 * @code: @nr:	what it has told last
 * @limit:	first request beyond them
 * @ask:	request that asks for an acknowledgement, with new credits
 * @psn:	where a message without credit waits for the answer to its first
 *		packet; or SHCA_PSN_NONE
 *
 * Requests by their index in the ring: credit.c
 */
struct shca_req_credit {
	bool valid;
	u8 code;
	u32 nr;
	u32 limit;
	u32 ask;
	u32 psn;
};

/* An error ahead, of request @idx, if @valid. */
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

/* Forget everything, go to SHCA_SIDE_RESET. */
void shca_req_reset(struct shca_req *req);

/*
 * Go to SHCA_SIDE_ERR from outside (modify to ERR, other side).
 *
 * Acknowledged requests complete, and shca_req_pop() flushes the rest. Also
 * from SHCA_SIDE_RESET: a QP that has never sent flushes its posts.
 */
void shca_req_fail(struct shca_req *req);

/*
 * The number of a request, from 1 on, since the ring was empty.
 * @wr:		in the ring, or from shca_req_slot()
 */
u32 shca_req_number(const struct shca_req *req, const struct shca_send_wr *wr);

/* Slot of the next request; NULL if the ring is full. */
struct shca_send_wr *shca_req_slot(struct shca_req *req);

/*
 * Publish the request in shca_req_slot().
 *
 * It checks opcode, length and flags against the transport. A refused request
 * completes in its turn with LOC_QP_OP_ERR (or LOC_LEN_ERR), and the QP fails.
 */
void shca_req_post(struct shca_req *req);

/**
 * shca_req_next() - the next packet to transmit
 * @req:	the requester
 * @now:	the time, ns
 * @pkt:	result; kind, wr, off, paylen describe the payload. wr is NULL
 *		in an ACK probe, which belongs to no request
 *
 * Return: false if there is nothing to send before an event or the deadline.
 */
bool shca_req_next(struct shca_req *req, u64 now, struct shca_pkt *pkt);

/**
 * shca_req_gather_failed() - a packet could not be transmitted
 * @req:	the requester
 * @pkt:	from shca_req_next(); it is not transmitted
 * @status:	KEY, ACCESS, RANGE: the request ends in LOC_PROT_ERR after all
 *		before it have completed. RETRY: neither @pkt nor later packets
 *		were transmitted; all of them come again
 */
void shca_req_gather_failed(struct shca_req *req, const struct shca_pkt *pkt,
			    enum shca_mem_status status);

/**
 * shca_req_link_full() - a queue below has no room for a packet
 * @req:	the requester
 * @pkt:	from shca_req_next(); neither it nor later packets were
 *		transmitted
 * @until:	time before which nothing leaves
 *
 * It is no failure and no loss. A packet handed out for the first time comes
 * again as a new one, and no retry is used. What was sent before may be in that
 * queue, so its time-out begins anew at @until.
 */
void shca_req_link_full(struct shca_req *req, const struct shca_pkt *pkt, u64 until);

/*
 * Stop at a packet whose memory is being fetched.
 *
 * Call it after shca_req_gather_failed() with SHCA_MEM_RETRY. That packet is
 * not handed out again before shca_req_release(), so it needs no timer. Packets
 * before it are still resent, and so are ACK probes.
 */
void shca_req_pause(struct shca_req *req);

/* Memory may be present: end shca_req_pause() and _stall(). */
void shca_req_release(struct shca_req *req);

/*
 * Hand out nothing before @until.
 *
 * Call it after shca_req_gather_failed() with SHCA_MEM_RETRY if nobody reports
 * the memory: it is a peer's, or the request for it failed.
 */
void shca_req_stall(struct shca_req *req, u64 until);

/* Hand out nothing before @until, by a rate. */
void shca_req_rate(struct shca_req *req, u64 until);

/* Hand out nothing before @until, by congestion control. */
void shca_req_pace(struct shca_req *req, u64 until);

/*
 * An answer has arrived, and shca_req_rx() gets it later; or the request has not left.
 *
 * The transport timer does not expire before @until.
 */
void shca_req_answer_waits(struct shca_req *req, u64 until);

/* How often the peer may refuse the oldest request yet; 7: for ever (IBTA 9.7.5.2.8). */
static inline u8 shca_req_rnr_left(const struct shca_req *req)
{
	u8 most = req->attr.rnr_retry;

	return most == 7 ? most : most - min_t(u8, most, req->recovery.rnr_row);
}

/* Has the peer no receive? Nothing is sent before the deadline. */
static inline bool shca_req_rnr_waits(const struct shca_req *req)
{
	return req->recovery.waits == SHCA_WAIT_RNR;
}

/* Is one packet alone sent until there is progress?  It was sent early, or refused twice. */
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

/* Is an answer overdue by measured round trips? */
bool shca_req_is_early(const struct shca_req *req, u64 now);

/* SQD: start no further request; or continue. */
void shca_req_drain(struct shca_req *req, bool draining);

/* Set shca_req_psn.max_run. */
void shca_req_set_max_run(struct shca_req *req, u32 max_run);

/* Process a response packet (ACK, READ response, atomic ACK, CNP). */
enum shca_verdict shca_req_rx(struct shca_req *req, const struct shca_pkt *pkt,
			      u64 now);

/*
 * May a response that is out of order (SHCA_RX_LOST_RESPONSE) be kept?
 *
 * The caller keeps it, and feeds it when its PSN is the oldest outstanding one. It calls
 * shca_req_gap() to have the missing ones sent again.
 */
bool shca_req_may_queue(const struct shca_req *req, const struct shca_pkt *pkt);

/**
 * shca_req_gap() - responses from the oldest outstanding PSN up to @psn are missing
 * @req:	the requester
 * @psn:	of the first response that has come
 * @cause:	of the last one
 * @now:	the time, ns
 *
 * So the peer has executed all requests before @psn. Only the missing part of a READ is
 * asked for again.
 */
void shca_req_gap(struct shca_req *req, u32 psn, u32 cause, u64 now);

/*
 * Can middle packets of a response be processed as one?
 * @pkt:	with a span
 *
 * They must be the next ones of the oldest READ. Otherwise process its parts.
 */
bool shca_req_takes_run(const struct shca_req *req, const struct shca_pkt *pkt);

/*
 * From SHCA_SIDE_ERR back to READY (SQE to RTS).
 *
 * UC and UD only. The ring is empty, because all requests were flushed.
 */
void shca_req_resume(struct shca_req *req);

/* The deadline may have passed; harmless if not. */
void shca_req_timer(struct shca_req *req, u64 now);

/* Time for shca_req_timer() or _next(); 0 for none. */
u64 shca_req_deadline(const struct shca_req *req);

/*
 * Return the next completion of the send queue, in order.
 *
 * It also returns the end of the adapter's own requests (shca_wc.own). UC, UD:
 * all packets handed out since the last call were transmitted, or
 * shca_req_gather_failed() was called. Unsignalled successes are retired
 * silently. @head has advanced past all retired requests, whatever is returned.
 */
bool shca_req_pop(struct shca_req *req, struct shca_wc *wc);

/* Is an ACK probe due? */
bool shca_req_must_probe(const struct shca_req *req);

/* There was no room for the READ that is next: is there still none? */
bool shca_req_read_waits(const struct shca_req *req);

/*
 * Can shca_req_next() have a packet?
 *
 * It is asked for each packet of a response, and most of them make no room for a READ.
 */
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
