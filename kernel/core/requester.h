/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The reliable connected transport (IBTA 9.7) as two state machines:
 *
 *   requester  work requests in, request packets out, responses in (its
 *              second half is called completer), completions out
 *   responder  request packets in, completions out, acknowledgements and
 *              READ responses out
 *
 * They share nothing; each is guarded by one lock of its caller's, so post and
 * receive do not contend.  Everything is pulled: the caller asks for the next
 * packet (when its link may send), the next completion, the next deadline.
 * Time is in nanoseconds of a monotonic clock, always passed in.
 *
 * Caller's loop after any event on the requester (post, rx, timer):
 *	while (budget && shca_req_next(req, now, &pkt))
 *		gather payload (on failure shca_req_gather_failed()), transmit
 *	while (shca_req_pop(req, &wc))	(UC, UD: what was handed out has left)
 *		write wc to the send CQ
 *	if (req->state == SHCA_SIDE_ERR) the QP goes to the error state
 *	arm the timer for shca_req_deadline()
 * and on the responder:
 *	while (budget && shca_resp_next(resp, now, &pkt))
 *		gather payload (shca_resp_gather_failed()), transmit
 */
#ifndef SHCA_CORE_REQUESTER_H
#define SHCA_CORE_REQUESTER_H

#include "mem_ops.h"
#include "own.h"
#include "packet.h"
#include "wr.h"

/** enum shca_side_state - of a requester or a responder */
enum shca_side_state {
	SHCA_SIDE_RESET,	/* nothing moves; posts are not accepted */
	SHCA_SIDE_READY,
	SHCA_SIDE_ERR,		/* no packet moves; requests are flushed */
};

/**
 * enum shca_rx - what became of a received packet, one counter each
 */
enum shca_rx {
	SHCA_RX_OK,
	SHCA_RX_STATE,		/* side not ready for it: dropped */
	SHCA_RX_DUPLICATE,	/* duplicate request */
	SHCA_RX_OUT_OF_SEQ,	/* PSN ahead of the expected: sequence NAK or silent */
	SHCA_RX_RNR,		/* no receive request: RNR NAK sent or pending */
	SHCA_RX_INVALID,	/* request refused: NAK invalid request */
	SHCA_RX_ACCESS,		/* request refused: NAK remote access error */
	SHCA_RX_OPERATION,	/* request failed here: NAK remote operational error */
	SHCA_RX_STALE_ACK,	/* response outside of what is outstanding: dropped */
	SHCA_RX_NAK_SEQ,	/* received: PSN sequence error */
	SHCA_RX_NAK_RNR,	/* received: RNR */
	SHCA_RX_NAK_FATAL,	/* received: one of the three fatal NAKs */
	SHCA_RX_BAD_RESPONSE,	/* response that cannot be: BAD_RESP_ERR */
	SHCA_RX_LOST_RESPONSE,	/* a READ or atomic response is missing: retry */
	SHCA_RX_LOCAL_ERR,	/* placing the data failed */
	SHCA_RX_CNP,		/* congestion notification, consumed */
	SHCA_RX_DROPPED,	/* UC, UD: broken message, or longer than the buffer */
	SHCA_RX_QKEY,		/* UD: another Q_Key */
	SHCA_RX_RETRY,		/* memory not present: nothing changed; feed the
				 * packet again later, or drop it as lost
				 */
	SHCA_RX_BUSY,		/* the same, until an answer has left:
				 * shca_resp_has_room()
				 */
	SHCA_RX_NR
};

/** shca_rx_is_later() - has the packet to wait? */
static inline bool shca_rx_is_later(enum shca_rx rx)
{
	return rx >= SHCA_RX_RETRY;
}

/* AETH syndromes (IBTA 9.7.5.2.3) */
#define SHCA_AETH_TYPE		0xe0
#define SHCA_AETH_ACK		0x00
#define SHCA_AETH_RNR		0x20
#define SHCA_AETH_NAK		0x60
#define SHCA_AETH_VALUE		0x1f
#define SHCA_AETH_CREDIT_NONE	0x1f	/* credit count invalid: no flow control */
#define SHCA_NAK_PSN_SEQ	0
#define SHCA_NAK_INVALID	1
#define SHCA_NAK_ACCESS		2
#define SHCA_NAK_OPERATION	3
#define SHCA_NAK_INV_RD		4

/* Async events that a verdict asks for: shca_resp_out.events */
#define SHCA_EV_COMM_EST	(1u << 0)	/* first packet in RTR */
#define SHCA_EV_REQ_ERR		(1u << 1)	/* invalid request on this QP */
#define SHCA_EV_ACCESS_ERR	(1u << 2)	/* access violation on this QP */
#define SHCA_EV_FATAL		(1u << 3)	/* local failure without a WR */

/* ---- requester ---------------------------------------------------------- */

/* Request packets outstanding at once, unless shca_req.window is changed. */
#define SHCA_REQ_WINDOW		128
/* However much is lost, so many may be; AckReq needs four. */
#define SHCA_REQ_WINDOW_MIN	8
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
/* Before it ends it acknowledges what it has executed, unasked: shca_resp_part(). */
#define SHCA_PEER_PARTS		(1u << 0)

/*
 * The bits that the BTH reserves beside FECN and BECN (Resv8a).  Senders write zeroes,
 * receivers and switches ignore them (IBTA 9.2), and the ICRC does not cover them.  So
 * where nothing else tells, one softhca knows another by a mark in them: four bits of
 * signature and two of what it does.
 */
#define SHCA_MARK		0x28
#define SHCA_MARK_SIGNATURE	0x3c
#define SHCA_MARK_PARTS		0x01	/* SHCA_PEER_PARTS */

/**
 * enum shca_marking - which packets of a connection carry SHCA_MARK
 * @SHCA_MARKING_OFF:	none, and that of the peer is not looked at
 * @SHCA_MARKING_AUTO:	a side's own once it has heard a marked one, so that a stranger
 *			never sees any
 * @SHCA_MARKING_ON:	all
 *
 * Numbers of the ABI: enum shca_resv8a in uapi/softhca-netlink.h.
 */
enum shca_marking {
	SHCA_MARKING_OFF,
	SHCA_MARKING_AUTO,
	SHCA_MARKING_ON,
};

/* What a side's packets carry before it has heard anything. */
static inline u8 shca_marks(u8 marking)
{
	return marking == SHCA_MARKING_ON ? SHCA_MARK | SHCA_MARK_PARTS : 0;
}

static inline bool shca_is_marked(const struct shca_pkt *pkt)
{
	return (pkt->resv8a & SHCA_MARK_SIGNATURE) == SHCA_MARK;
}

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
	u64 inquiries;
	u64 rx[SHCA_RX_NR];
};

/**
 * struct shca_req - a requester
 * @attr:	as started
 * @state:	ERR is entered by the side itself or by shca_req_fail()
 * @ring: @ring_mask: @stride: private work requests, storage by the caller
 * @mem: @mem_ctx: the access to memory
 *
 * Free-running indices into the ring, head <= una <= nxt <= prod:
 * @prod:	posted
 * @nxt:	next to be sent (or being sent, when @off or @pkt_idx is not 0)
 * @una:	oldest not yet acknowledged
 * @head:	oldest not yet popped as a completion
 *
 * @psn:	next PSN to be sent; @max_psn: first never sent
 * @una_psn:	oldest PSN not acknowledged
 * @pkt_idx:	packet of the request at @nxt
 * @nr_rd:	READs and atomics outstanding
 * @rd_psns:	PSNs outstanding that are READ responses or atomics
 * @window:	packets that may be outstanding on a path without losses
 * @allowed:	how many of them at present
 * @grown:	PSNs acknowledged since @allowed has changed
 * @reach:	PSNs that one packet may stand for: 1 on a wire
 * @burst:	middle packets of a message that are handed out as one, which the link
 *		takes apart: at most so many, 0 is 1
 * @unacked_ackreq: packets since the last AckReq
 * @asked_psn:	first PSN that an AckReq has not been sent at or after, of what was
 *		sent since going back
 * @asked_before: the one before the last AckReq
 * @inquired_psn: @max_psn at the last inquiry
 * @held_psn:	nothing leaves at this PSN: its memory is being fetched;
 *		SHCA_REQ_NOT_HELD: none is
 * @quiet_ns:	when to inquire if nothing asks until then, 0: all has asked
 * @sent_ns:	when the last packet was handed out
 * @inquire:	that time has come, or somebody waits
 * @inquired:	an inquiry was sent, and no answer has come
 * @heard:	the peer has acknowledged something: only then there is a PSN to
 *		inquire at, so until then each request asks
 * @deadline:	retransmission or RNR time-out, 0: none
 * @stall_ns:	nothing may leave before: the link takes no more, or there is nobody to ask
 *		for memory; 0: at once
 * @rate_ns:	nor before this, so that a static rate is kept; 0: at once
 * @hold_ns:	a NAK or a gap seen before is about packets sent before going
 *		back
 * @recheck:	@deadline is @hold_ns: go back then if nothing has moved
 * @rtt_ns: @rtt_start: @rtt_psn: smoothed round trip; the packet being timed
 * @rnr_wait:	@deadline is the end of an RNR wait; nothing is sent
 * @rnr_row:	RNR NAKs that came since something has moved, and may for ever; it
 *		stops at 255
 * @rnr_again:	an RNR NAK came and nothing has moved since
 * @probe:	send the packet at @una_psn only
 * @went_back:	went back to @una_psn already on a NAK or a gap
 * @rtt_valid:	@rtt_psn is being timed
 * @own:	requests of the adapter's own (shca_send_wr.own) below @head
 * @lsn: @credits: end-to-end credits; SHCA_AETH_CREDIT_NONE: not in use
 */
struct shca_req {
	SHCA_OWN struct {
		struct shca_req_attr attr;
		enum shca_side_state state;
		u8 *ring;
		u32 ring_mask;
		u32 stride;
		const struct shca_mem_ops *mem;
		void *mem_ctx;

		u32 prod;
		u32 nxt;
		u32 una;
		u32 head;
		u32 own;

		u32 psn;
		u32 max_psn;
		u32 una_psn;
		u32 pkt_idx;
		u32 nr_rd;
		u32 rd_psns;
		u32 window;
		u32 allowed;
		u32 grown;
		u32 reach;
		u32 burst;
		u32 unacked_ackreq;
		u32 asked_psn;
		u32 asked_before;
		u32 inquired_psn;
		u32 held_psn;
		u32 mtu_shift;

		u64 deadline;
		u64 stall_ns;
		u64 rate_ns;
		u64 hold_ns;
		u64 quiet_ns;
		u64 sent_ns;
		u64 rtt_ns;
		u64 rtt_start;
		u32 rtt_psn;
		bool rnr_wait;
		bool rnr_again;
		bool probe;
		bool recheck;
		bool went_back;
		bool rtt_valid;
		bool inquire;
		bool inquired;
		bool heard;
		bool draining;		/* SQD: start no further request */
		u8 retry_left;
		u8 rnr_left;
		u8 rnr_row;
		u8 marks;		/* shca_pkt.resv8a of its packets */
		u32 lsn;
		u8 credits;

		u16 fail_status;	/* of the request at fail_idx, when fail_valid */
		u16 fail_vendor;
		u32 fail_idx;
		bool fail_valid;
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
 *		inquiry, which is of no request
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

/*
 * shca_req_hold() - memory of the packet at which it resumes is being fetched
 *
 * After shca_req_gather_failed() with SHCA_MEM_RETRY: that packet is not handed out
 * again before shca_req_release(), so that nobody needs a timer for it.  What is sent
 * again before it is, and so is an inquiry.
 */
void shca_req_hold(struct shca_req *req);

/* shca_req_release() - the memory may be there: ends shca_req_hold() and _stall() */
void shca_req_release(struct shca_req *req);

/**
 * shca_req_stall() - what was handed out last cannot leave now: none before @until
 *
 * After shca_req_gather_failed() with SHCA_MEM_RETRY, where nobody will say when it can:
 * a queue below is full, memory is that of a peer, or none was left to ask with.
 */
void shca_req_stall(struct shca_req *req, u64 until);

/** shca_req_rate() - the next packet leaves at @until at the earliest, by the QP's rate */
void shca_req_rate(struct shca_req *req, u64 until);

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
enum shca_rx shca_req_rx(struct shca_req *req, const struct shca_pkt *pkt,
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

/** shca_req_must_inquire() - is it time to ask, for what has not asked? */
bool shca_req_must_inquire(const struct shca_req *req);

/** shca_req_may_send() - can shca_req_next() have a packet? */
static inline bool shca_req_may_send(const struct shca_req *req)
{
	return req->nxt != req->prod || (req->asked_psn != req->max_psn &&
					 shca_req_must_inquire(req));
}

/** shca_req_idle() - nothing outstanding: SQD is drained, QP may be freed */
static inline bool shca_req_idle(const struct shca_req *req)
{
	return req->una == req->nxt && !req->pkt_idx &&
	       req->una_psn == req->max_psn;
}

/* ---- responder ---------------------------------------------------------- */

/**
 * struct shca_resp_attr - what a responder is started with (INIT to RTR)
 * @access:	SHCA_ACCESS_REMOTE_* of the QP
 * @transport:	SHCA_TRANSPORT_RC, _XRC, _UC, _UD or _RAW; of these the last
 *		three answer nothing
 * @qkey:	UD: the only one accepted
 * @min_rnr_timer: code, 0 .. 31
 * @max_dest_rd_atomic: READs and atomics held for replay, 0 .. ring size
 * @cnp:	answer CE marks with CNPs (RoCEv2, annex A17.9)
 * @shared:	UC: receive requests come from an SRQ
 * @tells_short: UC, UD: one that is too short completes in error
 * @tm:		RC: SENDs begin with the header of tag matching (tm.h)
 * @marking:	enum shca_marking
 */
struct shca_resp_attr {
	u32 mtu;
	u32 rq_psn;
	u32 dqpn;
	u16 pkey;
	u32 access;
	u8 transport;
	u32 qkey;
	u8 min_rnr_timer;
	u16 max_dest_rd_atomic;
	bool cnp;
	bool shared;
	bool tells_short;
	bool tm;
	u8 marking;
};

/* Which of them: shca_resp_modify(). */
#define SHCA_RESP_ACCESS	(1u << 0)
#define SHCA_RESP_QKEY		(1u << 1)
#define SHCA_RESP_MIN_RNR_TIMER	(1u << 2)
#define SHCA_RESP_MAX_DEST_RD_ATOMIC (1u << 3)
#define SHCA_RESP_TRANSPORT	(1u << 4)	/* a work queue's, which has no QP */

/**
 * struct shca_rd - a READ, or what is answered like one, kept for its response
 * and for replay
 * @first_psn: @nr_psn: PSNs of the response
 * @send_start:	packet at which the response being sent began
 * @send_idx:	packet to be sent next; @nr_psn: none
 * @out_seq:	of the last packet of the response that was handed out
 * @va: @rkey: @len: READ, as first requested
 * @xrc_srqn:	XRC: by whose rights it was requested
 * @value:	atomic: value before the operation
 * @bare:	FLUSH or ATOMIC WRITE: which, SHCA_OPF_*; the response is one of a
 *		READ of nothing; else 0
 * @msn:	MSN of the response's AETH
 * @answered:	the response was sent to its end; from then on the record is
 *		kept for replay only and may be overwritten
 * @replay:	the response being sent is not the first one
 */
struct shca_rd {
	u32 first_psn;
	u32 nr_psn;
	u32 send_start;
	u32 send_idx;
	u64 out_seq;
	u64 va;
	u32 rkey;
	u32 len;
	u32 xrc_srqn;
	u64 value;
	u32 bare;
	u32 msn;
	bool is_atomic;
	bool answered;
	bool replay;
};

/** enum shca_ack_kind - the acknowledgement that is owed */
enum shca_ack_kind {
	SHCA_ACK_NONE,
	SHCA_ACK_ACK,
	SHCA_ACK_NAK,		/* any NAK or RNR NAK */
};

/** enum shca_tm_kind - of a message, what tag matching makes of it */
enum shca_tm_kind {
	SHCA_TM_NONE,		/* no part of it */
	SHCA_TM_NO_TAG,
	SHCA_TM_UNEXPECTED,
	SHCA_TM_MATCHED,
	SHCA_TM_RNDV,		/* matched, and its data is to be read */
};

struct shca_resp_stats {
	u64 tx_pkts;
	u64 tx_bytes;
	u64 acks_sent;
	u64 naks_sent;
	u64 rnr_naks_sent;
	u64 rx[SHCA_RX_NR];
};

/**
 * struct shca_resp - a responder
 * @epsn:	expected PSN
 * @msn:	messages completed
 * @op:		opcode class of the message in progress, 0: none
 * @wr: @wr_valid: receive request of the message in progress
 * @wr_ahead:	what became of a receive request taken ahead of its message
 *		(fast.h), unless that is SHCA_RECV_OK: then it is @wr
 * @off:	bytes of the message that have arrived
 * @va: @rkey: @left: WRITE in progress
 * @nak_sent:	a sequence NAK stands until @epsn arrives (IBTA 9.7.5.1.2)
 * @drop_psn:	with @nak_sent: the furthest that was dropped
 * @rnr_sent:	an RNR NAK stands: what is ahead of @epsn is dropped silently
 * @not_yet_psn: @not_yet: packet that waits for its memory; how often that was said
 * @unsaid:	what was executed last has not asked for an answer
 * @ack: @ack_psn: @ack_msn: @ack_syndrome: what is owed; sent after responses
 *		of earlier READs
 * @ack_sent: @ack_seq: the one handed out last, and when
 * @out_seq:	packets handed out
 * @rd: @rd_mask: @rd_head: @rd_tail: ring of READs and atomics, storage by
 *		the caller; oldest kept and next free, free-running
 * @rd_send:	the one whose response is being sent
 * @reach:	PSNs that one response may stand for: 1 on a wire
 * @burst:	packets in the middle of a response, as of struct shca_req
 * @xrc_srqn:	XRC: SRQ of the message in progress
 * @skip:	UC: packets up to the next message that begins are dropped
 * @cnp_due:	a CE mark came: a CNP is owed
 * @cnp_ns:	none is owed again before
 * @hold:	out-of-order buffer of the caller's (later), NULL: none
 * @tm_kind: @tm_msg: what tag matching has made of the message in progress, as long
 *		as @wr_valid
 */
struct shca_resp {
	SHCA_OWN struct {
		struct shca_resp_attr attr;
		enum shca_side_state state;
		const struct shca_mem_ops *mem;
		void *mem_ctx;

		u32 epsn;
		u32 msn;
		u32 op;
		u32 off;
		u32 reach;
		u32 burst;
		u32 xrc_srqn;
		u32 drop_psn;
		u32 not_yet_psn;
		u32 not_yet;
		enum shca_recv_status wr_ahead;
		bool wr_valid;
		bool nak_sent;
		bool rnr_sent;
		bool unsaid;
		bool comm_est;
		bool skip;
		bool cnp_due;
		u8 marks;		/* shca_pkt.resv8a of its packets */
		u64 va;
		u32 rkey;
		u32 left;

		enum shca_ack_kind ack;
		u32 ack_psn;
		u32 ack_msn;
		u8 ack_syndrome;
		enum shca_ack_kind ack_sent;
		u64 ack_seq;
		u64 out_seq;
		u64 cnp_ns;

		struct shca_rd *rd;
		u32 rd_mask;
		u32 rd_head;
		u32 rd_tail;
		u32 rd_send;
		void *hold;
		struct shca_resp_stats stats;
		struct shca_recv_wr wr;
		enum shca_tm_kind tm_kind;
		struct shca_tm_msg tm_msg;
	};
};

/**
 * struct shca_resp_out - what a received packet led to, besides packets
 * @events:	SHCA_EV_*
 * @has_wc:	@wc is to be written to the receive CQ
 * @rndv:	after that the rendezvous that shca_mem_ops.tm_get has matched begins
 *
 * When the side went to SHCA_SIDE_ERR the caller moves the QP to error.
 */
struct shca_resp_out {
	u32 events;
	bool has_wc;
	bool rndv;
	struct shca_wc wc;
};

/** shca_resp_init() - @rd: storage for @rd_entries (power of two) */
void shca_resp_init(struct shca_resp *resp, struct shca_rd *rd, u32 rd_entries,
		    const struct shca_mem_ops *mem, void *mem_ctx);

/**
 * shca_resp_move_rd() - go on with a larger ring of READs and atomics
 * @rd:		storage for @rd_entries (power of two), not fewer than before
 */
void shca_resp_move_rd(struct shca_resp *resp, struct shca_rd *rd,
		       u32 rd_entries);

/** shca_resp_start() - to SHCA_SIDE_READY: receive requests from here on */
void shca_resp_start(struct shca_resp *resp, const struct shca_resp_attr *attr);

/* shca_resp.burst, as shca_req_set_burst() */
void shca_resp_set_burst(struct shca_resp *resp, u32 burst);

/* shca_req.reach of both ends, which are on this machine; 1: packets fit the path MTU */
void shca_set_reach(struct shca_req *req, struct shca_resp *resp, u32 reach);

/**
 * shca_resp_modify() - attributes that may change while it runs
 * @mask:	SHCA_RESP_*: those that are taken from @attr
 */
void shca_resp_modify(struct shca_resp *resp,
		      const struct shca_resp_attr *attr, u32 mask);
/** shca_resp_reset() - as after shca_resp_init(), counters excepted */
void shca_resp_reset(struct shca_resp *resp);

/**
 * shca_resp_part() - the side is about to end by its owner's will
 *
 * What was executed and did not ask for an acknowledgement is acknowledged, as its
 * requester would find out by an inquiry, which nobody will answer from now on.
 * Return: whether there is something to send, which reads no memory.
 */
bool shca_resp_part(struct shca_resp *resp);

/** shca_resp_fail() - to SHCA_SIDE_ERR from outside */
void shca_resp_fail(struct shca_resp *resp);

/** shca_resp_rx() - a request packet; @out is overwritten */
enum shca_rx shca_resp_rx(struct shca_resp *resp, const struct shca_pkt *pkt,
			  u64 now, struct shca_resp_out *out);

/**
 * shca_resp_takes_run() - may middle packets of a message be fed as one?
 * @pkt:	with a span
 *
 * They are expected, of the right length, and there is room for all of them, so that
 * none would be refused for what it is. Else feed its parts.
 */
bool shca_resp_takes_run(const struct shca_resp *resp,
			 const struct shca_pkt *pkt);

/**
 * shca_resp_not_yet() - a packet waits for its memory (SHCA_RX_RETRY)
 * @psn:	it is expected, or that of a READ that came again
 *
 * To be called when it begins to wait, and each time that it comes again.  The peer
 * is told so by an RNR NAK, lest it takes us for dead; the longer it lasts, the
 * longer it is to wait (the QP's timer is the least, IBTA 9.7.5.2.8).  When the
 * packet has been executed, that is acknowledged, asked for or not.
 */
void shca_resp_not_yet(struct shca_resp *resp, u32 psn);

/**
 * shca_resp_has_room() - would what had to wait for an answer to leave
 * (SHCA_RX_BUSY) go on?
 */
bool shca_resp_has_room(const struct shca_resp *resp);

/**
 * shca_resp_next() - the next response packet: READ responses in order of
 * their requests, then the acknowledgement, CNPs first
 *
 * A NAK that is owed is still sent when the side is in SHCA_SIDE_ERR.
 */
bool shca_resp_next(struct shca_resp *resp, u64 now, struct shca_pkt *pkt);

/**
 * shca_resp_gather_failed() - a packet could not be transmitted
 * @pkt:	from shca_resp_next(); it is not transmitted
 * @status:	KEY, ACCESS, RANGE: the peer gets a NAK; RETRY: neither @pkt nor
 *		what was handed out after it was transmitted; all of it comes
 *		again
 */
void shca_resp_gather_failed(struct shca_resp *resp, const struct shca_pkt *pkt,
			     enum shca_mem_status status,
			     struct shca_resp_out *out);

/**
 * shca_resp_flush() - the receive request in progress, when in error
 *
 * The caller flushes the rest of its ring itself.
 */
bool shca_resp_flush(struct shca_resp *resp, struct shca_wc *wc);

/* ---- times -------------------------------------------------------------- */

/** shca_timeout_ns() - local ACK timeout code (0 .. 31) to ns; 0: never */
static inline u64 shca_timeout_ns(u8 code)
{
	return code ? 4096ull << (code & 31) : 0;
}

/** shca_rnr_ns() - RNR timer code (0 .. 31) to ns, IBTA table 45 */
u64 shca_rnr_ns(u8 code);

#endif
