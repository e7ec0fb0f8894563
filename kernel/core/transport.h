/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Shared by requester and responder: states, verdicts, syndromes, marks, times. The reliable
 * connected transport (IBTA 9.7) and XRC have
 *
 *   requester  work requests in, request packets out, responses in (its second half, the
 *              completer), completions out: requester.h
 *   responder  request packets in, completions out, ACKs and READ responses out: responder.h
 *
 * UC, UD and RAW_PACKET have the same two, without answers. The two share no state. A lock of the
 * caller protects each, so posting and receiving do not contend. The caller pulls everything: the
 * next packet (when its link may send), the next completion, the next deadline. Time is in
 * nanoseconds of a monotonic clock, and always an argument.
 */
#ifndef SHCA_CORE_TRANSPORT_H
#define SHCA_CORE_TRANSPORT_H

#include "../../uapi/softhca-netlink.h"
#include "packet.h"

struct shca_req;
struct shca_resp;

enum shca_side_state {
	SHCA_SIDE_RESET,	/* nothing moves; posts are not accepted */
	SHCA_SIDE_READY,
	SHCA_SIDE_ERR,		/* no packet moves; requests are flushed */
};

/* Verdict on a received packet, one counter each. */
enum shca_verdict {
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

/* Must the packet wait? */
static inline bool shca_rx_is_later(enum shca_verdict rx)
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
/*
 * Gap report: a reserved type, used only between peers with out-of-order queues (SHCA_PEER_OOO).
 * From its PSN on, the value plus one packets are missing. The field of the MSN has the PSN of the
 * packet that triggered the report, so the requester sees whether that left after a repair.
 */
#define SHCA_AETH_MISSING	0x40
#define SHCA_NAK_PSN_SEQ	0
#define SHCA_NAK_INVALID	1
#define SHCA_NAK_ACCESS		2
#define SHCA_NAK_OPERATION	3
#define SHCA_NAK_INV_RD		4

/* Asynchronous events of a received packet: shca_resp_out.events */
#define SHCA_EV_COMM_EST	(1u << 0)	/* first packet in RTR */
#define SHCA_EV_REQ_ERR		(1u << 1)	/* invalid request on this QP */
#define SHCA_EV_ACCESS_ERR	(1u << 2)	/* access violation on this QP */
#define SHCA_EV_FATAL		(1u << 3)	/* local failure without a WR */
/* No event: the first request had another PSN than the expected one, or that PSN has come now. */
#define SHCA_EV_PSN		(1u << 4)

/* ---- peers ----------------------------------------------------------------- */

/*
 * Properties of a peer beyond the specification (shca_req_attr.peer, shca_resp_attr.peer). The
 * caller finds them out, and sets bits at any time. Only a new connection clears them.
 */
/* Acknowledges all executed requests before its end: shca_resp_flush_acks(). */
#define SHCA_PEER_FLUSHES_ACKS	(1u << 0)
/* Has an out-of-order queue, and sends gap reports. */
#define SHCA_PEER_OOO		(1u << 1)
/* Takes packets without an ICRC (SHCA_MARKING_NO_ICRC). Known by its marks only. */
#define SHCA_PEER_NO_ICRC	(1u << 2)

/* ---- marks -------------------------------------------------------------- */

/*
 * The bits that the BTH reserves beside FECN and BECN (Resv8a). Senders write zeros, receivers and
 * switches ignore them (IBTA 9.2), and the ICRC does not cover them. One softhca can therefore
 * recognise another by a mark in them: three bits of signature, and three for SHCA_PEER_*.
 */
#define SHCA_MARK		0x28
#define SHCA_MARK_SIGNATURE	0x38
#define SHCA_MARK_FLUSHES_ACKS		0x01	/* SHCA_PEER_FLUSHES_ACKS */
#define SHCA_MARK_OOO			0x02	/* SHCA_PEER_OOO */
#define SHCA_MARK_NO_ICRC		0x04	/* SHCA_PEER_NO_ICRC */

/*
 * In place of an enum shca_resv8a: mark all packets, with SHCA_MARK_NO_ICRC. Packets to a peer
 * that does so, too, have zeros in place of an ICRC. Those that it marks are not checked.
 */
#define SHCA_MARKING_NO_ICRC	__SHCA_RESV8A_MAX

/* The mark of packets to a softhca */
static inline u8 shca_own_mark(u8 marking)
{
	return SHCA_MARK | SHCA_MARK_FLUSHES_ACKS | SHCA_MARK_OOO |
	       (marking == SHCA_MARKING_NO_ICRC ? SHCA_MARK_NO_ICRC : 0);
}

/* Marks of a side's packets before it has received any */
static inline u8 shca_marks(u8 marking)
{
	return marking >= SHCA_RESV8A_ON ? shca_own_mark(marking) : 0;
}

static inline bool shca_is_marked(const struct shca_pkt *pkt)
{
	return (pkt->resv8a & SHCA_MARK_SIGNATURE) == SHCA_MARK;
}

/* SHCA_PEER_* that the mark of @pkt stands for */
static inline u32 shca_marked_peer(const struct shca_pkt *pkt)
{
	return (pkt->resv8a & SHCA_MARK_FLUSHES_ACKS ? SHCA_PEER_FLUSHES_ACKS : 0) |
	       (pkt->resv8a & SHCA_MARK_OOO ? SHCA_PEER_OOO : 0) |
	       (pkt->resv8a & SHCA_MARK_NO_ICRC ? SHCA_PEER_NO_ICRC : 0);
}

/* Is @pkt from a peer that takes packets without an ICRC, and sends some, too? */
static inline bool shca_is_marked_no_icrc(const struct shca_pkt *pkt)
{
	return (pkt->resv8a & (SHCA_MARK_SIGNATURE | SHCA_MARK_NO_ICRC)) ==
	       (SHCA_MARK | SHCA_MARK_NO_ICRC);
}

/* ---- times -------------------------------------------------------------- */

/* Local ACK timeout code (0 .. 31) to ns; 0: never. */
static inline u64 shca_timeout_ns(u8 code)
{
	return code ? 4096ull << (code & 31) : 0;
}

/*
 * Time-out of a requester for that code. IBTA 9.7.6.1.3 permits between T and 4 T. A
 * sixteenth above T ensures that retry_cnt + 1 time-outs never end early.
 */
static inline u64 shca_ack_timeout_ns(u8 code)
{
	u64 ns = shca_timeout_ns(code);

	return ns + (ns >> 4);
}

/* RNR timer code (0 .. 31) to ns, IBTA table 45. */
u64 shca_rnr_ns(u8 code);

/* ---- both sides --------------------------------------------------------- */

/* Set the maximum PSNs of a packet: more than 1 on the direct path only. */
void shca_set_reach(struct shca_req *req, struct shca_resp *resp, u32 reach);

/*
 * The congestion control table of a channel adapter (IBTA annex A10.2.2): what a manager sets, and
 * every requester of the port reads. It may change at any time, so READ_ONCE().
 */

/* Two blocks of a datagram, as many as OpenSM sets. */
#define SHCA_CCT_BLOCK		64
#define SHCA_CCT_ENTRIES	128
#define SHCA_CCT_SLS		16

/**
 * struct shca_cct_sl - CACongestionEntry of a service level
 * @timer:	CCTI_Timer: after so many times 1.024 us the index falls by one; 0: it never does
 * @increase:	CCTI_Increase: by so much a BECN raises it; 0: the level has no congestion control
 * @trigger:	Trigger_Threshold: kept for the manager, as there is no log
 * @min:	CCTI_Min
 */
struct shca_cct_sl {
	u16 timer;
	u8 increase;
	u8 trigger;
	u8 min;
};

/**
 * struct shca_cct - table and service levels of a port
 * @limit:	CCTI_Limit: highest index in use, below SHCA_CCT_ENTRIES
 * @entries:	by index: CCT_Shift in bits 15:14, CCT_Multiplier below
 * @sl:		by service level
 */
struct shca_cct {
	u16 limit;
	u16 entries[SHCA_CCT_ENTRIES];
	struct shca_cct_sl sl[SHCA_CCT_SLS];
};

#endif
