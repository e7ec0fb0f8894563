/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A congestion window in the manner of DCTCP and of Swift: it grows by one packet a
 * round, and shrinks once a round at most.  A round is a window of packets.
 *
 * By marks: a CNP takes half of alpha of the window, where alpha is the share of rounds
 * that had a CNP.  It takes what stands in the queue, if that is more, and at most half.
 * A single round trip may be late for many reasons. So a queue is what the least of the
 * last five to eight has more than the least of all. Less than a quarter is none.
 * By delay: a round trip longer than the target takes a share of the window that follows
 * the excess.  Both scale with the path without a parameter, as acknowledgements are
 * their clock.
 *
 * A queue that makes the round trip n times as long makes the growth n * n times slower,
 * 32 times at most. Otherwise many senders whose packets are rarely marked would keep
 * that queue long.
 *
 * A window may be less than the packets that AckReq needs, and less than one packet.
 * The sender then keeps that minimum, and is paced.
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
 * @alpha:	of SHCA_WIN_ALPHA: share of rounds with a CNP
 * @marked:	this round had a CNP
 * @queued:	so had the last five seconds: their round trips had a queue in them
 * @span_ns:	the least round trip of the last ones, up to four
 * @span_nr:	so many
 * @before_ns:	and of the four before
 * @base_ns:	the least one of the last ten seconds, and of all that had a queue
 * @next_ns:	of those since @base_at
 * @base_at:	when @next_ns begins to replace @base_ns
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

/* Nothing is known of the path; @most: packets. */
void shca_window_start(struct shca_window *win, u32 most);

/* As wide as it may be, it may be wider: @most packets. */
void shca_window_widen(struct shca_window *win, u32 most);

/* @nr packets more have arrived, of a window that limits. */
void shca_window_ack(struct shca_window *win, u32 nr);

/* A round trip was measured: how long is the path, and its queue? */
void shca_window_path(struct shca_window *win, u64 rtt_ns, u64 now);

/*
 * A round trip was measured, and the window follows it.
 * @target_ns:	what it may have more than the least one
 */
void shca_window_rtt(struct shca_window *win, u64 rtt_ns, u64 target_ns,
		     u64 now);

/* The peer has received packets that were marked. */
void shca_window_cnp(struct shca_window *win);

/* Is the window less than it may be? */
static inline bool shca_window_limits(const struct shca_window *win)
{
	return win->cwnd < win->most << SHCA_WIN_SHIFT;
}

#endif
