/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The responder: receives requests, executes and answers them (transport.h).
 *
 * Caller's loop after any event (rx, memory, room below):
 *	while (budget && shca_resp_next(resp, now, &pkt))
 *		gather payload (shca_resp_gather_failed()), transmit
 */
#ifndef SHCA_CORE_RESPONDER_H
#define SHCA_CORE_RESPONDER_H

#include "../apm.h"
#include "../mem_ops.h"
#include "../opcode.h"
#include "../own.h"
#include "../packet.h"
#include "../psn.h"
#include "rate.h"
#include "../transport.h"
#include "../wr.h"

/* Source of the receive requests. */
enum shca_recvs {
	SHCA_RECVS_OWN,		/* nobody else takes them */
	SHCA_RECVS_TM,		/* an SRQ: SENDs begin with a header of tag matching */
	SHCA_RECVS_SRQ,		/* any other */
};

/**
 * struct shca_resp_attr - what a responder is started with (INIT to RTR)
 * @mtu:	path MTU in bytes
 * @rq_psn:	first PSN expected
 * @dqpn:	peer's QP number, copied into each packet
 * @pkey:	P_Key, copied into each packet
 * @access:	SHCA_ACCESS_REMOTE_* of the QP
 * @transport:	SHCA_TRANSPORT_RC, _XRC, _UC, _UD or _RAW; the last three answer
 *		nothing
 * @qkey:	UD: the accepted Q_Key
 * @min_rnr_timer: code, 0 .. 31
 * @max_dest_rd_atomic: READs and atomics recorded for replay, 0 .. ring size
 * @cnp:	answer CE marks with CNPs (RoCEv2, annex A17.9)
 * @cnp_ib:	with the opcode of an InfiniBand link (annex A10)
 * @cnp_interval_ns: least time between two CNPs
 * @recvs:	RC, UC: enum shca_recvs
 * @tells_short:	UC, UD: a receive that is too short completes in error
 * @marking:	enum shca_resv8a, or SHCA_MARKING_NO_ICRC
 * @apm:	enum shca_apm_state, for MigReq
 * @peer:	SHCA_PEER_*; bits may be added at any time
 * @credits:	RC, with SHCA_RECVS_OWN: answers report the number of posted receive requests
 * @rate_kbps:	static rate of the path; 0: none
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
	bool cnp_ib;
	u64 cnp_interval_ns;
	u8 recvs;
	bool tells_short;
	u8 marking;
	u8 apm;
	u32 peer;
	bool credits;
	u32 rate_kbps;
};

/* attributes for shca_resp_modify() */
#define SHCA_RESP_ACCESS	(1u << 0)
#define SHCA_RESP_QKEY		(1u << 1)
#define SHCA_RESP_MIN_RNR_TIMER	(1u << 2)
#define SHCA_RESP_MAX_DEST_RD_ATOMIC (1u << 3)
#define SHCA_RESP_TRANSPORT	(1u << 4)	/* for a work queue, which has no QP */
#define SHCA_RESP_PEER		(1u << 5)	/* adds bits */
#define SHCA_RESP_APM		(1u << 6)
#define SHCA_RESP_RATE		(1u << 7)

/* PSNs ahead of the expected one that the out-of-order queue takes: two of the widest windows. */
#define SHCA_OOO_PSNS		8192

/* After a gap that filled without a report, number of gaps reported only to packets that ask. */
#define SHCA_RESP_QUIET	4

/*
 * Record of a READ, or of a request that is answered like one, for its response and for replay.
 * @first_psn: @nr_psn:	PSNs of the response
 * @send_start: @send_end:	packets of the response to send, the first and the one after the
 *		last: a requester may ask for a part again
 * @send_idx:	next packet to send; @send_end: none
 * @out_seq:	sequence number of the response's last packet handed out
 * @va: @rkey: @len:	READ, as first requested
 * @xrc_srqn:	XRC: SRQ whose protection domain the request uses
 * @value:	atomic: value before the operation
 * @bare:	FLUSH or ATOMIC WRITE: its SHCA_OPF_*; the response is a READ response without
 *		data. Otherwise 0
 * @answered:	the response was sent completely; the record is for replay only, and may be
 *		overwritten
 * @replay:	the response being sent is not the first one
 */
struct shca_rd {
	u32 first_psn;
	u32 nr_psn;
	u32 send_start;
	u32 send_end;
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

/*
 * NAK that stands until @epsn is executed (IBTA 9.7.5.1.2). After an RNR NAK the peer sends @epsn
 * again in any case, so no gap is reported meanwhile.
 */
enum shca_resp_stands {
	SHCA_STANDS_NOTHING,
	SHCA_STANDS_GAP,	/* a sequence NAK: the next one is for another gap */
	SHCA_STANDS_RNR,	/* packets ahead of @epsn are dropped silently */
};

/*
 * Ring of READs and atomics, in storage by the caller.
 * @head: @tail:	oldest record and next free one, free-running
 * @send:	record whose response is being sent
 */
struct shca_resp_reads {
	struct shca_rd *rd;
	u32 mask;
	u32 head;
	u32 tail;
	u32 send;
};

/* Gaps before packets that are ahead of the expected one. */
struct shca_resp_gap {
	u32 dropped;		/* with a sequence NAK: the highest dropped PSN */
	u32 reported;		/* gap reports cover packets up to here; or SHCA_PSN_NONE */
	u32 unreported;		/* end of a gap without a report; or SHCA_PSN_NONE */
	u8 quiet;		/* number of gaps to report only to packets that ask */
};

enum shca_ack_kind {
	SHCA_ACK_NONE,
	SHCA_ACK_ACK,
	SHCA_ACK_NAK,		/* any NAK or RNR NAK */
};

/*
 * The owed answer; sent after responses of earlier READs.
 * @owed: @psn: @msn: @syndrome:	what is to be sent
 * @unsaid:	the last executed request had no AckReq
 * @sent: @seq:	the last answer handed out, and its sequence number
 */
struct shca_resp_ack {
	enum shca_ack_kind owed;
	u32 psn;
	u32 msn;
	u8 syndrome;
	bool unsaid;
	enum shca_ack_kind sent;
	u64 seq;
};

/* Result of tag matching for a message. */
enum shca_tm_kind {
	SHCA_TM_NONE,		/* not used */
	SHCA_TM_NO_TAG,
	SHCA_TM_UNEXPECTED,
	SHCA_TM_MATCHED,
	SHCA_TM_RNDV,		/* matched, and its data must be read */
};

/*
 * The message in progress.
 * @op:		its opcode class; 0: there is none, and UC drops packets until one begins
 * @off:	received bytes of it
 * @rkey: @left: @va:	of a WRITE
 * @xrc_srqn:	XRC: its SRQ
 */
struct shca_resp_msg {
	u32 op;
	u32 off;
	u32 rkey;
	u32 left;
	u64 va;
	u32 xrc_srqn;
};

/*
 * Counters of the side since the QP was made.
 * @tx_bytes:	payload of responses handed out, including those sent again
 * @rx_bytes:	payload of accepted requests
 */
struct shca_resp_stats {
	u64 tx_pkts;
	u64 tx_bytes;
	u64 rx_bytes;
	u64 acks_sent;
	u64 naks_sent;
	u64 rnr_naks_sent;
	u64 rx[SHCA_RX_NR];
};

/*
 * A responder.
 * @epsn:	expected PSN
 * @msn:	messages completed
 * @msg:	message in progress
 * @wr: @recv: receive request of the message in progress, or of the next one (fast.h), and the
 *		result of taking it. SHCA_RECV_EMPTY: none was taken
 * @stands:	NAK that stands
 * @gap:	gaps from @epsn on
 * @not_yet_psn: @not_yet:	packet that waits for its memory; number of RNR
 *		NAKs for it
 * @ack:	owed answer, besides @reads
 * @out_seq:	number of packets handed out
 * @reads:	READs and atomics
 * @reach:	maximum PSNs of a response packet: 1 on a wire
 * @max_run: middle packets of a response, as struct shca_req_psn.max_run
 * @rate:	static rate: delays responses of READs and atomics; all packets count
 * @first_psn: @comm_est:	PSN of the first packet that has come; RC, XRC: one with the
 *		expected PSN has come
 * @cnp_due:	a CNP is owed, because of a CE mark
 * @cnp_ns:	time before which no further CNP is owed
 * @tm_kind: @tm_msg:	result of tag matching for the message in progress
 */
struct shca_resp {
	SHCA_OWN struct {
		struct shca_resp_attr attr;
		enum shca_side_state state;
		const struct shca_mem_ops *mem;
		void *mem_ctx;

		u32 epsn;
		u32 msn;
		struct shca_resp_msg msg;
		u32 reach;
		u32 max_run;
		u32 not_yet_psn;
		u32 not_yet;
		u32 first_psn;
		enum shca_recv_status recv;
		enum shca_resp_stands stands;
		struct shca_resp_gap gap;
		bool comm_est;
		bool cnp_due;
		u8 marks;		/* shca_pkt.resv8a of its packets */
		struct shca_resp_ack ack;
		u64 out_seq;
		u64 cnp_ns;
		struct shca_rate rate;

		struct shca_resp_reads reads;
		struct shca_resp_stats stats;
		struct shca_recv_wr wr;
		enum shca_tm_kind tm_kind;
		struct shca_tm_msg tm_msg;
	};
};

/**
 * struct shca_resp_out - results of a received packet, other than packets
 * @events:	SHCA_EV_*
 * @has_wc:	@wc is to be written to the receive CQ
 * @wc:		without @has_wc, @wc.vendor_err of a request that RC refuses
 * @rndv:	after @wc, the rendezvous that shca_mem_ops.tm_get has matched
 * If the side entered SHCA_SIDE_ERR, the caller moves the QP to ERR.
 *
 * If the side went to SHCA_SIDE_ERR, the caller moves the QP to ERR.
 */
struct shca_resp_out {
	u32 events;
	bool has_wc;
	bool rndv;
	struct shca_wc wc;
};

/* Initialise; @rd: storage for @rd_entries (power of two). */
void shca_resp_init(struct shca_resp *resp, struct shca_rd *rd, u32 rd_entries,
		    const struct shca_mem_ops *mem, void *mem_ctx);

/*
 * Replace the ring of READs and atomics by a larger one.
 * @rd:		storage for @rd_entries (power of two), at least as many as before
 */
void shca_resp_move_rd(struct shca_resp *resp, struct shca_rd *rd,
		       u32 rd_entries);

/* Go to SHCA_SIDE_READY: receive requests from here on. */
void shca_resp_start(struct shca_resp *resp, const struct shca_resp_attr *attr);

void shca_resp_set_max_run(struct shca_resp *resp, u32 max_run);

/**
 * shca_resp_modify() - change attributes at run time
 * @resp:	the responder
 * @attr:	new values
 * @mask:	SHCA_RESP_* of the members of @attr to use
 */
void shca_resp_modify(struct shca_resp *resp,
		      const struct shca_resp_attr *attr, u32 mask);
/* As after shca_resp_init(), except the counters. */
void shca_resp_reset(struct shca_resp *resp);

/*
 * Send owed ACKs before destroy or reset, also for executed requests without AckReq: nobody would
 * answer the requester's ACK probe afterwards.
 *
 * Return: whether there is something to send; sending it reads no memory.
 */
bool shca_resp_flush_acks(struct shca_resp *resp);

/* When shca_resp_next() may continue, by the static rate; 0: no limit. */
static inline u64 shca_resp_deadline(const struct shca_resp *resp)
{
	return unlikely(resp->rate.until_ns) && resp->reads.send != resp->reads.tail ?
	       resp->rate.until_ns : 0;
}

/* Is an acknowledgement owed, and nothing else? */
static inline bool shca_resp_owes_ack(const struct shca_resp *resp)
{
	return resp->ack.owed == SHCA_ACK_ACK && resp->reads.send == resp->reads.tail &&
	       resp->stands != SHCA_STANDS_GAP && !resp->cnp_due && resp->state == SHCA_SIDE_READY;
}

/* Go to SHCA_SIDE_ERR from outside. */
void shca_resp_fail(struct shca_resp *resp);

/*
 * May a packet with the verdict SHCA_RX_OUT_OF_SEQ enter the out-of-order queue?
 *
 * The caller feeds it when its PSN is expected. The caller calls shca_resp_gap() to report the gap.
 */
bool shca_resp_may_queue(const struct shca_resp *resp, const struct shca_pkt *pkt);

/**
 * shca_resp_is_asked() - does a packet ask for a gap report?
 * @resp:	the responder
 * @pkt:	the packet, which was fed
 * @verdict:	of shca_resp_rx()
 * @is_ahead:	the packet is behind a gap
 * @holds:	the out-of-order queue has packets
 * @goes_on:	the packet is the first of the queue, and feeding the queue was interrupted
 *
 * A duplicate shows that the peer has got no answer. An executed READ has its response, which
 * suffices where gaps fill by themselves, but not after the repair of a reported gap.
 * Return: true for a packet that is behind a gap, or was executed, and wants an answer.
 */
static inline bool shca_resp_is_asked(const struct shca_resp *resp,
				      const struct shca_pkt *pkt,
				      enum shca_verdict verdict, bool is_ahead,
				      bool holds, bool goes_on)
{
	if (is_ahead)
		return pkt->ackreq;
	if (verdict == SHCA_RX_DUPLICATE)
		return goes_on || (pkt->ackreq && holds);
	if (!pkt->ackreq || verdict != SHCA_RX_OK)
		return false;
	return !resp->gap.quiet || resp->gap.reported != SHCA_PSN_NONE ||
	       !(shca_opcode_info(pkt->opcode)->flags & SHCA_OPF_READ);
}

/**
 * shca_resp_gap() - the packets before @psn are missing
 * @resp:	the responder
 * @psn:	the first packet that has come ahead; if there is none, the expected PSN
 * @cause:	PSN of the packet that has arrived; if the queue is full, the last one in it
 * @asks:	this packet asks for an answer: repeat a report
 *
 * Where packets overtake each other, most gaps fill by themselves, and each report is a packet.
 * Such gaps are therefore reported only to packets that ask (SHCA_RESP_QUIET).
 */
void shca_resp_gap(struct shca_resp *resp, u32 psn, u32 cause, bool asks);

/* Process a request packet; @out is overwritten. */
enum shca_verdict shca_resp_rx(struct shca_resp *resp, const struct shca_pkt *pkt,
			       u64 now, struct shca_resp_out *out);

/*
 * Can a run of middle packets of a message be processed as one?
 * @pkt:	with a span
 *
 * The run must be expected, and have the right length and room, so that no part would be refused.
 * Otherwise process its parts.
 */
bool shca_resp_takes_run(const struct shca_resp *resp,
			 const struct shca_pkt *pkt);

/* Is @pkt the request packet that would be executed next? RC, XRC. */
bool shca_resp_is_next(const struct shca_resp *resp, const struct shca_pkt *pkt);

/* Is @pkt the one of shca_resp_is_next(), and does it begin a message? */
bool shca_resp_expects(const struct shca_resp *resp, const struct shca_pkt *pkt);

/**
 * shca_resp_forge() - refuse the expected request in place of shca_resp_rx()
 * @resp:	the responder
 * @pkt:	the request
 * @nak:	enum shca_fault_nak
 * @status:	enum shca_wc_status of the receive request that it takes, if any
 * @out:	as of shca_resp_rx()
 *
 * The responder behaves as after a NAK of its own: after a fatal one the side is in error.
 * Return: the verdict, as of shca_resp_rx().
 */
enum shca_verdict shca_resp_forge(struct shca_resp *resp,
				  const struct shca_pkt *pkt, u8 nak, u8 status,
				  struct shca_resp_out *out);

/*
 * A packet waits for its memory (SHCA_RX_RETRY).
 * @psn:	the expected one, or that of a duplicate READ
 *
 * Call it when the wait begins, and each time that the packet comes again. It owes an RNR NAK, so
 * that the peer does not time out. The longer the wait lasts, the longer the time in the NAK (at
 * least the QP's timer, IBTA 9.7.5.2.8). The packet is acknowledged when it is executed, with or
 * without AckReq.
 */
void shca_resp_not_yet(struct shca_resp *resp, u32 psn);

/* Was an RNR NAK owed because the packet @psn waits? */
static inline bool shca_resp_said_not_yet(const struct shca_resp *resp, u32 psn)
{
	return resp->not_yet_psn == psn;
}

/* Can a request that waits for an answer to leave (SHCA_RX_BUSY) be fed again? */
bool shca_resp_has_room(const struct shca_resp *resp);

/*
 * Return the next response packet.
 *
 * CNPs come first, then READ responses and the ACK in the order of the requests. An owed NAK leaves
 * even in SHCA_SIDE_ERR.
 */
bool shca_resp_next(struct shca_resp *resp, u64 now, struct shca_pkt *pkt);

/**
 * shca_resp_gather_failed() - a packet could not be transmitted
 * @resp:	the responder
 * @pkt:	from shca_resp_next(); it is not transmitted
 * @status:	KEY, ACCESS, RANGE: the peer gets a NAK. RETRY: neither @pkt nor
 *		later packets were transmitted; all of them come again
 * @out:	events and completion, as of shca_resp_rx()
 */
void shca_resp_gather_failed(struct shca_resp *resp, const struct shca_pkt *pkt,
			     enum shca_mem_status status,
			     struct shca_resp_out *out);

/**
 * shca_resp_link_full() - a queue below has no room for a packet
 * @resp:	the responder
 * @pkt:	from shca_resp_next(); neither it nor later packets were
 *		transmitted, and all of them come again
 */
void shca_resp_link_full(struct shca_resp *resp, const struct shca_pkt *pkt);

/* In error: return the receive request in progress. The caller flushes the rest of the ring. */
bool shca_resp_flush(struct shca_resp *resp, struct shca_wc *wc);

#endif
