/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Congestion control: how many packets may be outstanding, and when the next one may leave. The
 * requester, the completer and recovery.c report events of the path by the functions below. The
 * requester obeys @cwnd, @burst and the pacing of shca_cc_on_sent(), which has nothing to do with
 * stalls of the link or static rates (struct shca_req_gate).
 */
#ifndef SHCA_CORE_CC_H
#define SHCA_CORE_CC_H

#include "../os.h"
#include "../transport.h"
#include "../../../uapi/softhca-netlink.h"
#include "dcqcn.h"
#include "window.h"

/* Packets of the window of a new connection, unless shca_cc.window is changed. */
#define SHCA_CC_WINDOW		128
/* Packets of the widest window. The out-of-order queue of a softhca takes as many. */
#define SHCA_CC_WIDEST		4096
/* From here on the window gets no wider if a loss repeats all of it (no out-of-order queue). */
#define SHCA_CC_WIDE_ENOUGH	256
/* Least window after losses, in packets; AckReq needs four. */
#define SHCA_CC_WINDOW_MIN	8
/* shca_cc.burst: any number. */
#define SHCA_CC_NO_BURST	(~0u)

/**
 * struct shca_cc_attr - fixed while the requester runs
 * @algorithm:	enum shca_cc_algo: a window (window.h) or a rate (dcqcn.h). A number,
 *		so that the default costs no indirect call per packet
 * @params:	of the device; NULL: no algorithm
 * @line:	bytes a second of the port
 * @cct:	the table of an InfiniBand port, by which BECNs count, and not by @algorithm; or NULL
 * @sl:		service level, for @cct
 *
 * Beside the algorithm, a loss reduces the window by a quarter, and a window that is acknowledged
 * increases it by an eighth. The smaller window counts.
 */
struct shca_cc_attr {
	u8 algorithm;
	const struct shca_cc_params *params;
	u64 line;
	const struct shca_cct *cct;
	u8 sl;
};

/*
 * The congestion control of a requester.
 * @window:	packets that may be outstanding at first, on a path without losses
 * @wide:	packets on this path: more than @window if that did not fill it, and less again if
 *		it made a queue
 * @limits:	@cwnd has limited the sender since the last round trip was measured
 * @narrowed:	@wide was more than the path carries: it grows only without any queue
 * @overtaken:	packets have overtaken others
 * @least_ns:	the least round trip of this connection
 * @cwnd:	congestion window: packets that may be outstanding at present
 * @burst:	packets that may leave before shca_cc_on_sent() is called, if @paces
 * @lossy:	the window that losses leave
 * @undo:	@lossy before the last loss
 * @lost: @lost_of:	packets of a window that were lost, and all of it; @lost_of is 0 once they
 *		have reduced the window
 * @acked:	PSNs acknowledged since @lossy has changed
 * @paces:	shca_cc_on_sent() has something to do
 * @mtu:	path MTU, bytes
 * @due_ns:	when the path has carried what has left, at the present pacing rate
 * @ccti:	index of the table (CCTI): the entry there is the delay between packets
 * @ccti_at:	when it last fell, or began to be more than 0
 * @win:	WINDOW and DELAY
 * @dcqcn:	DCQCN, and bytes a second @measured, from the @bytes that have left since @since
 */
struct shca_cc {
	u32 window;
	u32 wide;
	u32 cwnd;
	u32 burst;
	u32 lossy;
	u32 undo;
	u32 lost;
	u32 lost_of;
	u32 acked;
	bool paces;
	bool limits;
	bool narrowed;
	bool overtaken;
	u32 mtu;
	u64 least_ns;
	u64 due_ns;
	u16 ccti;
	u64 ccti_at;
	struct shca_cc_attr attr;
	union {
		struct shca_window win;
		struct {
			struct shca_dcqcn dcqcn;
			u64 measured;
			u64 bytes;
			u64 since;
		};
	};
};

void shca_cc_start(struct shca_cc *cc, const struct shca_cc_attr *attr, u32 mtu);

/* Slow path of shca_cc_on_ack(). */
void shca_cc_grow(struct shca_cc *cc, u32 nr_psn);

/* The peer has acknowledged @nr_psn more PSNs. */
static inline void shca_cc_on_ack(struct shca_cc *cc, u32 nr_psn)
{
	if (unlikely(cc->cwnd < cc->wide))
		shca_cc_grow(cc, nr_psn);
}

/*
 * Packets have left, and shca_cc.paces is set.
 * @nr_psn:	their PSNs, or those of the responses that they ask for
 * @rtt_ns:	smoothed round trip
 *
 * Return: time before which no more may leave; 0: at once.
 */
u64 shca_cc_on_sent(struct shca_cc *cc, u32 nr_psn, u64 rtt_ns, u64 now);

/* Reduce the window: sending goes back, or too much of a window is lost. */
void shca_cc_on_loss(struct shca_cc *cc);

/*
 * Lost packets are sent again, and no others.
 * @nr:		number of them
 * @of:		packets outstanding, of which these are the first losses; 0: the same as last time
 */
void shca_cc_on_gap(struct shca_cc *cc, u32 nr, u32 of);

/* The last repair was spurious: undo its reduction. */
void shca_cc_on_undo(struct shca_cc *cc);

/* Packets overtake each other, as those may have whose round trips were measured until now. */
static inline void shca_cc_on_reorder(struct shca_cc *cc)
{
	if (!cc->overtaken)
		cc->least_ns = 0;
	cc->overtaken = true;
}

/*
 * A switch has marked packets: the peer reports it, or a response has the mark.
 * @rtt_ns:	smoothed round trip, 0: unknown
 */
void shca_cc_on_cnp(struct shca_cc *cc, u64 rtt_ns, u64 now);

/* Packets after which one asks for an ACK. ACKs are the clock: a wide window has more of them. */
static inline u32 shca_cc_ask_after(const struct shca_cc *cc)
{
	return min_t(u32, cc->cwnd, SHCA_CC_WINDOW) / 4;
}

static inline bool shca_cc_has_window(const struct shca_cc *cc)
{
	return cc->attr.params && cc->attr.algorithm != SHCA_CC_ALGO_DCQCN;
}

/*
 * A round trip was measured; only with shca_cc_has_window().
 * @nr_psn:	PSNs that were acknowledged in this time, 0: unknown
 */
void shca_cc_on_rtt(struct shca_cc *cc, u64 rtt_ns, u32 nr_psn, u64 now);

#endif
