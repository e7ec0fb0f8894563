// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Congestion control (cc.h). A new algorithm is a number in enum shca_cc_algo, and a case where an
 * event means something to it.
 *
 * Losses. Going back costs up to a window, so the window follows the path. It shrinks by a quarter
 * on each loss, and grows by an eighth for each window that is acknowledged. If a queue on the path
 * is shorter than the window, the window converges to that length. Where only lost packets are
 * sent again, a loss costs little, and only many losses in a window reduce it (LOSS_SHARE).
 *
 * Width. A long path needs a wide window (cc_widen()).
 *
 * BECNs of an InfiniBand network raise an index of the port's table, and time lowers it. The entry at
 * the index is the delay behind each packet (IBTA annex A10.2.2).
 *
 * Pacing keeps a rate, or a window of less than AckReq needs. Packets may leave up to BURST_NS
 * ahead of the pacing rate, so that not each needs a timer. Then nothing leaves until the path has
 * carried all.
 */
#include "cc.h"

/* Packets may leave ahead of the pacing rate by as much as the path carries in this time. */
#define BURST_NS	1000000ull
/* Longest wait. A large READ at a small window would wait for minutes, while rates change. */
#define WAIT_NS		100000000ull
/* Shortest time over which the outgoing rate is measured. */
#define MEASURE_NS	2000000ull
/* Most bytes that NS_PER_S can multiply. READs may ask at once for more than any port sends. */
#define MEASURE_MOST	(~0ull / NS_PER_S)
#define NS_PER_S	1000000000ull
/* CCTI_Timer counts 1.024 us. CCT_Shift is above CCT_Multiplier. */
#define CCT_TICK_NS	1024
#define CCT_SHIFT	14
/* Bad wires lose one packet in twenty. If more than one in this many is lost, a queue is full. */
#define LOSS_SHARE	8

static u32 cc_least(const struct shca_cc *cc)
{
	return min_t(u32, cc->window, SHCA_CC_WINDOW_MIN);
}

/* Is the window so small that pacing has to keep it? */
static bool cc_is_small(const struct shca_cc *cc)
{
	return shca_cc_has_window(cc) &&
	       cc->win.cwnd >> SHCA_WIN_SHIFT < cc_least(cc);
}

/* ---- the table of InfiniBand ------------------------------------------------ */

/* Catch up on the timer. */
static void cct_decay(struct shca_cc *cc, u64 now)
{
	const struct shca_cct_sl *sl = &cc->attr.cct->sl[cc->attr.sl];
	u64 period = READ_ONCE(sl->timer) * (u64)CCT_TICK_NS, n;
	u16 least = min_t(u16, READ_ONCE(sl->min), cc->ccti);

	if (!period || now < cc->ccti_at + period)
		return;
	n = div64_u64(now - cc->ccti_at, period);
	cc->ccti -= min_t(u64, n, cc->ccti - least);
	cc->ccti_at += n * period;
}

static void cct_becn(struct shca_cc *cc, u64 now)
{
	const struct shca_cct *cct = cc->attr.cct;
	u32 increase = READ_ONCE(cct->sl[cc->attr.sl].increase);

	if (!increase)
		return;
	if (!cc->ccti)
		cc->ccti_at = now;
	cct_decay(cc, now);
	cc->ccti = min_t(u32, cc->ccti + increase, READ_ONCE(cct->limit));
}

/* Nanoseconds that the port takes for @bytes, and for the delay of the table; 0: there is none. */
static u64 cct_cost(const struct shca_cc *cc, u64 bytes)
{
	u16 index = min_t(u16, cc->ccti, READ_ONCE(cc->attr.cct->limit));
	u16 entry = READ_ONCE(cc->attr.cct->entries[index]);
	u64 line_ns = div64_u64(bytes * NS_PER_S, cc->attr.line);
	u64 delay = (line_ns >> (entry >> CCT_SHIFT)) * (entry & ((1 << CCT_SHIFT) - 1));

	return delay ? line_ns + delay : 0;
}

/* Combine the results of the algorithms into the limits that the requester obeys. */
static void cc_apply(struct shca_cc *cc)
{
	u32 cwnd = cc->lossy;

	if (shca_cc_has_window(cc)) {
		cwnd = min_t(u32, cwnd, cc->win.cwnd >> SHCA_WIN_SHIFT);
		cc->paces = cc_is_small(cc) || cc->ccti;
		cc->burst = cc->paces ? 1 : SHCA_CC_NO_BURST;
	}
	cc->cwnd = max_t(u32, cwnd, cc_least(cc));
}

void shca_cc_start(struct shca_cc *cc, const struct shca_cc_attr *attr, u32 mtu)
{
	u32 window = cc->window;

	memset(cc, 0, sizeof(*cc));
	cc->attr = *attr;
	cc->mtu = mtu;
	cc->window = window;
	cc->wide = window;
	cc->lossy = window;
	cc->burst = SHCA_CC_NO_BURST;
	if (shca_cc_has_window(cc)) {
		shca_window_start(&cc->win, window);
	} else if (attr->params) {
		shca_dcqcn_start(&cc->dcqcn, attr->line);
		cc->paces = true;
	}
	cc_apply(cc);
}

void shca_cc_grow(struct shca_cc *cc, u32 nr_psn)
{
	if (shca_cc_has_window(cc) && shca_window_limits(&cc->win))
		shca_window_ack(&cc->win, nr_psn);
	cc->acked += nr_psn;
	if (cc->acked >= cc->lossy) {
		cc->acked = 0;
		cc->lossy = min_t(u32, cc->lossy + cc->lossy / 8, cc->wide);
	}
	cc_apply(cc);
}

void shca_cc_on_loss(struct shca_cc *cc)
{
	cc->undo = cc->lossy;
	cc->lossy = max_t(u32, cc->lossy - cc->lossy / 4, cc_least(cc));
	cc->acked = 0;
	cc_apply(cc);
}

void shca_cc_on_gap(struct shca_cc *cc, u32 nr, u32 of)
{
	if (of) {
		cc->lost = 0;
		cc->lost_of = max_t(u32, of, cc->lossy);
		cc->undo = 0;
	}
	cc->lost += nr;
	if (cc->lost * LOSS_SHARE <= cc->lost_of || !cc->lost_of)
		return;
	cc->lost_of = 0;
	shca_cc_on_loss(cc);
}

void shca_cc_on_undo(struct shca_cc *cc)
{
	/* cc_narrow() may have reduced @wide since. */
	cc->lossy = max_t(u32, cc->lossy, min_t(u32, cc->undo, cc->wide));
	cc_apply(cc);
}

void shca_cc_on_cnp(struct shca_cc *cc, u64 rtt_ns, u64 now)
{
	if (!cc->attr.params)
		return;
	if (cc->attr.cct)
		cct_becn(cc, now);
	else if (shca_cc_has_window(cc))
		shca_window_cnp(&cc->win);
	else
		shca_dcqcn_cnp(&cc->dcqcn, cc->attr.params, cc->measured,
			       rtt_ns, now);
	cc_apply(cc);
}

static void cc_be_wide(struct shca_cc *cc, u32 wide)
{
	cc->wide = wide;
	cc->lossy = wide;
	shca_window_widen(&cc->win, wide);
	cc_apply(cc);
}

/*
 * A queue stands on the path. What the path has carried in its least round trip, and a quarter,
 * fills the path as well. A wider window makes a longer queue, which delays each repair.
 */
static void cc_narrow(struct shca_cc *cc, u64 rtt_ns, u32 nr_psn)
{
	u32 wide = div64_u64(nr_psn * cc->least_ns, rtt_ns);

	wide = max_t(u32, wide + wide / 4, SHCA_CC_WIDE_ENOUGH);
	if (nr_psn < cc->wide / 2 || wide >= cc->wide)
		return;
	cc->narrowed = true;
	cc_be_wide(cc, wide);
}

/*
 * If no queue stands on the path, a window that limits the sender has not filled the path: it may
 * be wider. With a queue only the queue would get longer. The least round trip is that of the whole
 * connection: if it were forgotten, a standing queue would be taken for the path.
 */
static void cc_widen(struct shca_cc *cc, u64 rtt_ns, u32 nr_psn)
{
	bool limited = cc->limits;

	if (!cc->least_ns || rtt_ns < cc->least_ns)
		cc->least_ns = rtt_ns;
	cc->limits = false;
	/* Losses or marks limit the sender, and not the width. */
	if (cc->cwnd < cc->wide || (!limited && cc->wide <= SHCA_CC_WIDE_ENOUGH))
		return;
	if (rtt_ns > cc->least_ns + cc->least_ns / 4)
		cc_narrow(cc, rtt_ns, nr_psn);
	else if (limited && cc->wide < SHCA_CC_WIDEST &&
		 (!cc->narrowed || rtt_ns <= cc->least_ns + cc->least_ns / 16))
		cc_be_wide(cc, min_t(u32, cc->wide + cc->wide / (cc->narrowed ? 16 : 2),
				     SHCA_CC_WIDEST));
}

void shca_cc_on_rtt(struct shca_cc *cc, u64 rtt_ns, u32 nr_psn, u64 now)
{
	u32 target_us;

	cc_widen(cc, rtt_ns, nr_psn);
	if (cc->attr.algorithm == SHCA_CC_ALGO_WINDOW) {
		shca_window_path(&cc->win, rtt_ns, now);
		return;
	}
	target_us = READ_ONCE(cc->attr.params->delay_target);
	shca_window_rtt(&cc->win, rtt_ns, target_us * 1000ull, now);
	cc_apply(cc);
}

/* ---- pacing ---------------------------------------------------------------- */

static void cc_measure(struct shca_cc *cc, u32 bytes, u64 now)
{
	u64 span = now - cc->since;

	if (span >= MEASURE_NS) {
		cc->measured = div64_u64(cc->bytes * NS_PER_S, span);
		cc->since = now;
		cc->bytes = 0;
	}
	cc->bytes = min_t(u64, cc->bytes + bytes, MEASURE_MOST);
}

/* Nanoseconds that the path takes for @nr_psn packets; 0: there is no limit. */
static u64 cc_cost(struct shca_cc *cc, u32 nr_psn, u64 rtt_ns, u64 now)
{
	u64 bytes = (u64)nr_psn * cc->mtu, cost;

	if (cc->ccti) {
		cct_decay(cc, now);
		if (!cc->ccti) {
			cc_apply(cc);
			return 0;
		}
		cost = cct_cost(cc, bytes);
		cc->burst = cost ? 1 + div64_u64(nr_psn * BURST_NS, cost) : SHCA_CC_NO_BURST;
		return cost;
	}
	if (shca_cc_has_window(cc))
		return div64_u64(nr_psn * rtt_ns << SHCA_WIN_SHIFT,
				 cc->win.cwnd);
	cc_measure(cc, bytes, now);
	if (cc->dcqcn.rate)
		shca_dcqcn_sent(&cc->dcqcn, cc->attr.params, bytes, now);
	cc->burst = SHCA_CC_NO_BURST;
	if (!cc->dcqcn.rate)
		return 0;
	cc->burst = 1 + div64_u64(cc->dcqcn.rate * (BURST_NS >> 10),
				  (NS_PER_S >> 10) * cc->mtu);
	return div64_u64(bytes * NS_PER_S, cc->dcqcn.rate);
}

u64 shca_cc_on_sent(struct shca_cc *cc, u32 nr_psn, u64 rtt_ns, u64 now)
{
	u64 cost = cc_cost(cc, nr_psn, rtt_ns, now);

	if (!cost)
		return 0;
	cc->due_ns = min_t(u64, max_t(u64, cc->due_ns, now) + cost,
			   now + WAIT_NS);
	return cc->due_ns - now > BURST_NS ? cc->due_ns : 0;
}
