/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A congestion window in the manner of DCTCP and of Swift: it grows by one packet a round, and
 * shrinks at most once a round. A round is a window of packets.
 *
 * By marks: a CNP takes half of alpha of the window, where alpha is the share of rounds that had a
 * CNP. It takes the part that stands in the queue, if that is more, and at most half. A single
 * round trip may be long for many reasons, so the queue is the difference between the least of the
 * last five to eight and the least of all. Less than a quarter of the latter counts as none. By
 * delay: a round trip longer than the target takes a share of the window that follows the excess.
 * Both scale with the path without a parameter, because ACKs are their clock.
 *
 * A queue that makes the round trip n times as long makes the growth n * n times slower, 32 times
 * at most. Otherwise many senders whose packets are rarely marked would keep that queue long.
 *
 * A window may be less than the packets that AckReq needs, and less than one packet. The sender
 * then keeps that minimum, and is paced.
 */
#ifndef SHCA_CORE_WINDOW_H
#define SHCA_CORE_WINDOW_H

#include "../os.h"
#include "../own.h"

/* Packets are counted in 256ths. */
#define SHCA_WIN_SHIFT		8
/* The least window: a sixteenth of a packet a round trip. */
#define SHCA_WIN_LEAST		(1u << (SHCA_WIN_SHIFT - 4))

/*
 * The state of a sender.
 * @cwnd:	packets in 256ths
 * @most:	packets of the largest window
 * @alpha:	share of rounds with a CNP, of SHCA_WIN_ALPHA
 * @marked:	this round had a CNP
 * @queued:	the last five seconds had one, so their round trips may include a queue
 * @span_ns:	the least of the last @span_nr round trips, up to four
 * @before_ns:	the least of the four before
 * @base_ns:	the least round trip of the last ten seconds, and of all that had a queue
 * @next_ns:	the least since @base_at was set
 * @base_at:	when @next_ns replaces @base_ns, unless @queued
 * @round_left:	packets to arrive until this round ends
 * @cut_left:	packets to arrive until the window may shrink again
 */
struct shca_window {
	SHCA_OWN struct {
		u32 cwnd;
		u32 most;
		u16 alpha;
		bool marked;
		bool queued;
		u8 span_nr;
		u64 span_ns;
		u64 before_ns;
		u64 base_ns;
		u64 next_ns;
		u64 base_at;
		u32 round_left;
		u32 cut_left;
	};
};

#define SHCA_WIN_ALPHA		1024u

/* Start on an unknown path with a window of @most packets. */
void shca_window_start(struct shca_window *win, u32 most);

/* Set both the largest and the present window to @most packets. */
void shca_window_widen(struct shca_window *win, u32 most);

/* @nr packets have arrived, of a window that limits the sender. */
void shca_window_ack(struct shca_window *win, u32 nr);

/* A round trip was measured: update the lengths of the path and of its queue. */
void shca_window_path(struct shca_window *win, u64 rtt_ns, u64 now);

/*
 * A round trip was measured: reduce the window if it is too long.
 * @target_ns:	by how much it may exceed the least one
 */
void shca_window_rtt(struct shca_window *win, u64 rtt_ns, u64 target_ns,
		     u64 now);

void shca_window_cnp(struct shca_window *win);

static inline bool shca_window_limits(const struct shca_window *win)
{
	return win->cwnd < win->most << SHCA_WIN_SHIFT;
}

#endif
