/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Congestion control: how many packets may be outstanding, and when the next one may
 * leave.  The completer and recovery.c tell what happens on the path by the functions
 * below.  The requester obeys @cwnd.  A pace is given by shca_req_pace(): it is not the
 * same as a stall by the link or a static rate (struct shca_req_gate).
 */
#ifndef SHCA_CORE_CC_H
#define SHCA_CORE_CC_H

#include "os.h"

/* Packets of the largest window, unless shca_cc.window is changed. */
#define SHCA_CC_WINDOW		128
/* However much is lost, so many may be outstanding; AckReq needs four. */
#define SHCA_CC_WINDOW_MIN	8

/**
 * enum shca_cc_algorithm - what makes of events a window and a pace
 * @SHCA_CC_LOSS:	a loss makes the window smaller by a quarter, and a window that is
 *			acknowledged makes it larger by an eighth; no pace
 *
 * An algorithm is a number, so that the default costs no indirect call per packet.
 */
enum shca_cc_algorithm {
	SHCA_CC_LOSS,
};

/**
 * struct shca_cc - the congestion control of a requester
 * @window:	packets that may be outstanding on a path without losses
 * @cwnd:	congestion window: how many of them at present
 * @acked:	PSNs acknowledged since @cwnd has changed
 * @algorithm:	enum shca_cc_algorithm
 */
struct shca_cc {
	u32 window;
	u32 cwnd;
	u32 acked;
	u8 algorithm;
};

/** shca_cc_start() - the connection is new: nothing is known of the path */
void shca_cc_start(struct shca_cc *cc);

/* Part of shca_cc_on_ack(). */
void shca_cc_grow(struct shca_cc *cc, u32 nr_psn);

/** shca_cc_on_ack() - @nr_psn PSNs more have come through */
static inline void shca_cc_on_ack(struct shca_cc *cc, u32 nr_psn)
{
	if (unlikely(cc->cwnd < cc->window))
		shca_cc_grow(cc, nr_psn);
}

/** shca_cc_on_loss() - something is sent again, because it was lost */
void shca_cc_on_loss(struct shca_cc *cc);

/** shca_cc_on_cnp() - the peer has received packets that were marked on the way */
static inline void shca_cc_on_cnp(struct shca_cc *cc, u64 now)
{
	switch ((enum shca_cc_algorithm)cc->algorithm) {
	case SHCA_CC_LOSS:
		break;
	}
}

/** shca_cc_on_rtt() - a packet and its answer took @rtt_ns */
static inline void shca_cc_on_rtt(struct shca_cc *cc, u64 rtt_ns, u64 now)
{
	switch ((enum shca_cc_algorithm)cc->algorithm) {
	case SHCA_CC_LOSS:
		break;
	}
}

#endif
