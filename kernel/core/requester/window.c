// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* A congestion window by marks and by delay (window.h). */
#include "window.h"

/* The least round trip is forgotten after twice this time, because paths change. */
#define BASE_NS		5000000000ull
/* Weight of a round with a CNP, or without, in alpha: 1/16 (RFC 8257). */
#define ALPHA_SHIFT	4
/* Growth without a queue: one packet a round. */
#define GROWTH		256u
/* Round trips that @span_ns is the least of. */
#define SPAN		4

void shca_window_start(struct shca_window *win, u32 most)
{
	memset(win, 0, sizeof(*win));
	win->most = most;
	win->cwnd = most << SHCA_WIN_SHIFT;
	/* The first CNP finds a window that nothing has adapted to the path. */
	win->alpha = SHCA_WIN_ALPHA;
}

void shca_window_widen(struct shca_window *win, u32 most)
{
	win->most = most;
	win->cwnd = most << SHCA_WIN_SHIFT;
}

static void win_set(struct shca_window *win, u64 cwnd)
{
	cwnd = max_t(u64, cwnd, SHCA_WIN_LEAST);
	win->cwnd = min_t(u64, cwnd, (u64)win->most << SHCA_WIN_SHIFT);
}

static u32 win_round(const struct shca_window *win)
{
	return max_t(u32, win->cwnd >> SHCA_WIN_SHIFT, 1);
}

/* Reduce the window by @num / @den of it, once for the packets that are outstanding. */
static void win_cut(struct shca_window *win, u64 num, u64 den)
{
	if (win->cut_left)
		return;
	win->cut_left = win_round(win);
	win_set(win, win->cwnd - div64_u64(win->cwnd * num, den));
}

/* @nr packets of this round have arrived: did it have a CNP? */
static void win_alpha(struct shca_window *win, u32 nr)
{
	if (nr < win->round_left) {
		win->round_left -= nr;
		return;
	}
	win->round_left = win_round(win);
	win->alpha -= win->alpha >> ALPHA_SHIFT;
	if (win->marked)
		win->alpha += SHCA_WIN_ALPHA >> ALPHA_SHIFT;
	win->marked = false;
}

/* Time by which a queue makes round trips longer than the path; 0: no queue. */
static u64 win_queue(const struct shca_window *win)
{
	u64 least = min_t(u64, win->before_ns, win->span_ns);

	return least <= win->base_ns + win->base_ns / 4 ? 0 :
							  least - win->base_ns;
}

/*
 * A part of GROWTH: less behind a queue, by the square, because rounds are longer there, too. With
 * the floor, senders that started at queues of different length become equal.
 */
static u32 win_growth(const struct shca_window *win)
{
	u32 part;

	if (win->span_ns <= win->base_ns)
		return GROWTH;
	part = div64_u64(win->base_ns * GROWTH, win->span_ns);
	return max_t(u32, part * part / GROWTH, GROWTH / 32);
}

void shca_window_ack(struct shca_window *win, u32 nr)
{
	u64 one = 1u << SHCA_WIN_SHIFT, more = nr * one;

	win_alpha(win, nr);
	/* Packets sent before a cut show nothing about the window since. */
	if (win->cut_left) {
		win->cut_left -= min_t(u32, win->cut_left, nr);
		return;
	}
	/* By a packet a round: 1 / cwnd for each, and never more than 1. */
	if (win->cwnd > one)
		more = div64_u64(more * one, win->cwnd) * win_growth(win) /
		       GROWTH;
	win_set(win, win->cwnd + max_t(u64, 1, more));
}

void shca_window_path(struct shca_window *win, u64 rtt_ns, u64 now)
{
	rtt_ns = max_t(u64, rtt_ns, 1);
	if (win->span_nr == SPAN) {
		win->before_ns = win->span_ns;
		win->span_nr = 0;
	}
	if (!win->span_nr++ || rtt_ns < win->span_ns)
		win->span_ns = rtt_ns;
	if (now >= win->base_at) {
		if (!win->queued)
			win->base_ns = win->next_ns;
		win->queued = false;
		win->next_ns = 0;
		win->base_at = now + BASE_NS;
	}
	if (!win->next_ns || rtt_ns < win->next_ns)
		win->next_ns = rtt_ns;
	if (!win->base_ns || rtt_ns < win->base_ns)
		win->base_ns = rtt_ns;
}

void shca_window_rtt(struct shca_window *win, u64 rtt_ns, u64 target_ns,
		     u64 now)
{
	u64 most;

	shca_window_path(win, rtt_ns, now);
	most = win->base_ns + target_ns;
	/* Swift: by the share of the delay above the target, a half at most. */
	if (rtt_ns > most)
		win_cut(win, min_t(u64, rtt_ns - most, rtt_ns / 2), rtt_ns);
}

/* Share of the window that stands in the queue, of SHCA_WIN_ALPHA; a half at most. */
static u32 win_queued(const struct shca_window *win)
{
	u64 queue = win_queue(win);

	if (!queue)	/* or nothing was measured */
		return 0;
	return min_t(u64, div64_u64(queue * SHCA_WIN_ALPHA, win->base_ns + queue),
		     SHCA_WIN_ALPHA / 2);
}

void shca_window_cnp(struct shca_window *win)
{
	win->marked = true;
	win->queued = true;
	win_cut(win, max_t(u32, win->alpha / 2, win_queued(win)),
		SHCA_WIN_ALPHA);
}
