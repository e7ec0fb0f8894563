// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Sequence numbers and the window by marks and delay: core/psn.h, core/requester/window.c. All numbers of
 * a kind; the bounds of times are in window_holds().
 */
#include "proof.h"
#include "core/psn.h"
#include "core/requester/cc.h"
#include "core/requester/window.c"

/*
 * Distances are what the 24 bits say, wherever they wrap.
 *
 * proof: psn quick
 * planted: core/psn.h: s/(s32)((a - b) << 8) >> 8/(s32)((a - b) << 7) >> 7/
 * planted: core/psn.h: s/SHCA_PSN_MASK		0xffffffu/SHCA_PSN_MASK		0x7fffffu/
 */
void psn(void)
{
	u32 a = any_u32(), b = any_u32(), n = any_u32();
	s32 diff;

	assume(a < 1u << 24 && b < 1u << 24 && n < 1u << 24);
	diff = shca_psn_diff(a, b);
	claim(diff >= -(1 << 23) && diff < 1 << 23);
	claim(shca_psn_add(b, (u32)diff) == a);
	claim(shca_psn_add(a, n) < 1u << 24);
	claim(shca_psn_off(shca_psn_add(a, n), a) == n);
	claim(shca_psn_diff(shca_psn_add(a, n), a) == (n < 1u << 23 ? (s32)n : (s32)n - (1 << 24)));
	claim((diff >= 0) == (shca_psn_off(a, b) < SHCA_PSN_WINDOW));
}

/* A year and a half of nanoseconds; no path is longer than a minute. */
#define CLOCK_MAX	(1ull << 55)
#define RTT_MAX		(60ull * 1000000000)

/* What holds of a window between two events. */
static bool window_holds(const struct shca_window *win)
{
	u32 most = win->most;

	return most && most <= SHCA_CC_WIDEST &&
	       win->cwnd >= SHCA_WIN_LEAST && win->cwnd <= most << SHCA_WIN_SHIFT &&
	       win->alpha <= SHCA_WIN_ALPHA && win->span_nr <= SPAN &&
	       win->cut_left <= SHCA_CC_WIDEST && win->round_left <= SHCA_CC_WIDEST &&
	       win->span_ns <= RTT_MAX && win->before_ns <= RTT_MAX &&
	       win->base_ns <= RTT_MAX && win->next_ns <= RTT_MAX &&
	       !win->base_ns == !win->next_ns && !win->base_ns == !win->span_nr &&
	       !win->base_ns == !win->span_ns;
}

static void any_window(struct shca_window *win)
{
	win->marked = any_bool();
	win->queued = any_bool();
	assume(window_holds(win));
}

/*
 * From any window, packets that arrive: it stays within its bounds, and grows by as many
 * packets at most. Nothing overflows, nothing is divided by zero.
 *
 * proof: window_ack quick
 * planted: core/requester/window.c: s/win_set(win, win->cwnd + max_t(u64, 1, more))/win->cwnd += more/
 */
void window_ack(void)
{
	struct shca_window win;
	u32 nr = any_u32(), was;

	any_window(&win);
	assume(nr <= SHCA_CC_WIDEST);
	was = win.cwnd;
	shca_window_ack(&win, nr);
	claim(window_holds(&win));
	claim(win.cwnd >= was && (win.cwnd <= was + (nr << SHCA_WIN_SHIFT) || win.cwnd == was + 1));
}

/*
 * A CNP: never grows, takes a half at most, and nothing within a round of a cut.
 *
 * proof: window_cnp quick
 * planted: core/requester/window.c: s/		     SHCA_WIN_ALPHA \/ 2);/		     SHCA_WIN_ALPHA);/
 */
void window_cnp(void)
{
	struct shca_window win;
	u32 was, left;

	any_window(&win);
	was = win.cwnd;
	left = win.cut_left;
	shca_window_cnp(&win);
	claim(window_holds(&win));
	claim(win.cwnd <= was);
	claim(win.cwnd >= was / 2);
	claim(!left || win.cwnd == was);
}

/*
 * A round trip is measured.
 *
 * proof: window_path quick
 * planted: core/requester/window.c: s/	rtt_ns = max_t(u64, rtt_ns, 1);//
 */
void window_path(void)
{
	struct shca_window win;
	u64 rtt_ns = any_u64(), now = any_u64();

	any_window(&win);
	assume(rtt_ns <= RTT_MAX && now <= CLOCK_MAX);
	shca_window_path(&win, rtt_ns, now);
	claim(window_holds(&win));
	claim(win.base_ns);
}
