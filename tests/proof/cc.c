// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Congestion control, its rate, and the static rate of a path: core/requester/cc.c, core/requester/dcqcn.c,
 * core/responder/rate.h. Parameters of DCQCN are any that an administrator can set.
 *
 * Bounds. A clock up to 2^55 ns (a year), round trips up to a minute, lines up to 400 Gbit/s.
 * Products of two unknown 64-bit numbers are hard for CBMC, so the proofs of rates take one
 * event, and one stage of time that has passed.
 */
#include "proof.h"
#include "core/requester/cc.c"
#include "core/requester/window.c"
#include "core/requester/dcqcn.c"
#include "core/opcode.c"
#include "core/responder/rate.h"
#include "core/wr.h"

#define CLOCK_MAX	(1ull << 55)
#define RTT_MAX		(60ull * 1000000000)
/* 400 Gbit/s */
#define LINE_MAX	(400000ull * SHCA_CC_MBIT)

static struct shca_cc_params any_params(void)
{
	struct shca_cc_params params;

#define SHCA_CC_PARAM(name, preset, least, most) \
	assume(params.name >= (least) && params.name <= (most));
	SHCA_CC_PARAMS(SHCA_CC_PARAM)
#undef SHCA_CC_PARAM
	return params;
}

/* What holds of the windows between two events; @win is beside them. */
static bool cc_holds(const struct shca_cc *cc)
{
	u32 least = cc->window < SHCA_CC_WINDOW_MIN ? cc->window : SHCA_CC_WINDOW_MIN;

	return cc->window && cc->window <= SHCA_CC_WIDEST &&
	       cc->wide >= least && cc->wide <= SHCA_CC_WIDEST &&
	       cc->lossy >= least && cc->lossy <= cc->wide &&
	       cc->cwnd >= least && cc->cwnd <= cc->wide &&
	       cc->undo <= SHCA_CC_WIDEST && cc->lost <= 1u << 24 && cc->lost_of <= 1u << 24 &&
	       cc->acked <= 1u << 24;
}

static void any_cc(struct shca_cc *cc)
{
	cc->paces = any_bool();
	cc->limits = any_bool();
	cc->narrowed = any_bool();
	cc->attr.params = NULL;
	assume(cc_holds(cc));
}

/*
 * Losses and acknowledgements, from any state: the window stays between its least and widest.
 *
 * proof: loss quick
 * planted: core/requester/cc.c: s/cc->lossy + cc->lossy \/ 8, cc->wide)/cc->lossy + cc->lossy \/ 8, cc->wide + 1)/
 * planted: core/requester/cc.c: s/cc->lossy - cc->lossy \/ 4, cc_least(cc))/cc->lossy - cc->lossy \/ 4, 0)/
 */
void loss(void)
{
	struct shca_cc cc;
	u32 nr = any_u32(), of = any_u32();

	any_cc(&cc);
	assume(nr <= SHCA_CC_WIDEST && of <= SHCA_CC_WIDEST);
	assume(cc.acked < cc.lossy && cc.lost <= SHCA_CC_WIDEST && cc.lost_of <= SHCA_CC_WIDEST);
	switch (any_u8()) {
	case 0:
		shca_cc_grow(&cc, nr);
		claim(cc.acked < cc.lossy);
		break;
	case 1:
		shca_cc_on_loss(&cc);
		break;
	case 2:
		shca_cc_on_gap(&cc, nr, of);
		break;
	default:
		shca_cc_on_undo(&cc);
		break;
	}
	claim(cc_holds(&cc));
	claim(shca_cc_ask_after(&cc) <= cc.cwnd / 4);
}

/*
 * A round trip was measured: the width stays between its bounds, and nothing is divided by zero.
 *
 * proof: widen quick
 * planted: core/requester/cc.c: s/cc->wide < SHCA_CC_WIDEST \&\&/cc->wide <= SHCA_CC_WIDEST \&\&/;s/	*SHCA_CC_WIDEST));/SHCA_CC_WIDEST + 1));/
 */
void widen(void)
{
	struct shca_cc cc;
	u64 rtt_ns = any_u64();
	u32 nr = any_u32();

	any_cc(&cc);
	assume(rtt_ns && rtt_ns <= RTT_MAX && cc.least_ns <= RTT_MAX && nr <= SHCA_CC_WIDEST);
	cc_widen(&cc, rtt_ns, nr);
	claim(cc_holds(&cc));
	claim(cc.least_ns && cc.least_ns <= rtt_ns);
}

/* What holds of DCQCN between two events. */
static bool dcqcn_holds(const struct shca_dcqcn *dc)
{
	return dc->line && dc->line <= LINE_MAX && dc->rate <= dc->line && dc->target <= dc->line &&
	       dc->alpha <= SHCA_DCQCN_ALPHA && dc->round_ns <= RTT_MAX &&
	       dc->alpha_at <= CLOCK_MAX + RTT_MAX && dc->rise_at <= CLOCK_MAX + RTT_MAX;
}

/*
 * Alpha after any time: a share, and 2^20 of 2^20 at most.
 *
 * proof: alpha slow --unwind 4
 * planted: core/requester/dcqcn.c: s/dc->alpha += (1024 - g) <</dc->alpha += (1025 - g) <</
 */
void alpha(void)
{
	struct shca_dcqcn dc;
	struct shca_cc_params params = any_params();
	u64 now = any_u64();

	dc.marked = any_bool();
	assume(dcqcn_holds(&dc) && now <= CLOCK_MAX);
	/* three periods at most: each more is one more multiplication by a share */
	assume(now < dc.alpha_at + 3 * dcqcn_period(&dc, &params));
	dcqcn_alpha(&dc, &params, now);
	claim(dcqcn_holds(&dc));
}

/*
 * A stage ends: the rate is not above the port's, and nothing overflows. Rates are any number of
 * Mbit/s, and not of bytes: these have seventeen bits less.
 *
 * proof: rise quick
 * planted: core/requester/dcqcn.c: s/dc->target = min_t(u64, dc->target, most)/dc->target = min_t(u64, dc->target, most + 1000000)/
 */
void rise(void)
{
	struct shca_dcqcn dc;
	struct shca_cc_params params = any_params();
	u32 rate = any_u32(), target = any_u32(), line = any_u32();

	assume(rate && line && line <= 400000 && rate <= line && target <= line);
	dc.rate = (u64)rate * SHCA_CC_MBIT;
	dc.target = (u64)target * SHCA_CC_MBIT;
	dc.line = (u64)line * SHCA_CC_MBIT;
	assume(dcqcn_holds(&dc));
	dcqcn_rise(&dc, &params);
	claim(dcqcn_holds(&dc));
}

/*
 * A CNP cuts: not below what parameters leave, and not up, unless the rate was below the least.
 *
 * proof: cut slow
 * planted: core/requester/dcqcn.c: s/>> READ_ONCE(params->rp_gd)/>> (READ_ONCE(params->rp_gd) - 1)/
 */
void cut(void)
{
	struct shca_dcqcn dc;
	struct shca_cc_params params = any_params();
	u64 was, floor = params.rp_min_rate * (u64)SHCA_CC_MBIT;

	assume(dcqcn_holds(&dc) && dc.rate && floor <= dc.line);
	was = dc.rate;
	dcqcn_cut(&dc, &params);
	claim(dc.rate <= dc.line);
	claim(dc.rate >= floor);
	claim(dc.rate <= was || dc.rate == floor);
}

/*
 * Pacing of a window: a wait is bounded, and nothing is divided by zero.
 *
 * proof: pace slow
 * planted: core/requester/cc.c: s/			   now + WAIT_NS);/			   now + WAIT_NS + 1);/
 */
void pace(void)
{
	struct shca_cc cc;
	u64 rtt_ns = any_u64(), now = any_u64(), until;
	u32 nr = any_u32();

	cc.attr.algorithm = SHCA_CC_ALGO_WINDOW;
	cc.attr.params = &shca_cc_presets;
	assume(cc.win.cwnd >= SHCA_WIN_LEAST && cc.win.cwnd <= SHCA_CC_WIDEST << SHCA_WIN_SHIFT);
	/* a READ of 2 GB at an MTU of 256 */
	assume(nr <= 1u << 23 && rtt_ns <= RTT_MAX && now <= CLOCK_MAX);
	assume(cc.due_ns <= now + WAIT_NS);
	until = shca_cc_on_sent(&cc, nr, rtt_ns, now);
	claim(cc.due_ns <= now + WAIT_NS);
	claim(!until || (until > now && until == cc.due_ns));
}

/*
 * Pacing of DCQCN, as above.
 *
 * proof: pace_rate slow --unwind 3
 * planted: core/requester/cc.c: s/cc->burst = 1 + div64_u64/cc->burst = div64_u64/
 */
void pace_rate(void)
{
	struct shca_cc cc;
	struct shca_cc_params params = any_params();
	u64 now = any_u64(), until;
	u32 nr = any_u32();

	cc.attr.algorithm = SHCA_CC_ALGO_DCQCN;
	cc.attr.params = &params;
	assume(dcqcn_holds(&cc.dcqcn));
	/* no stage ends now: that is rise() */
	assume(now < cc.dcqcn.rise_at && now < cc.dcqcn.alpha_at && now < cc.dcqcn.calm_at);
	assume(cc.mtu >= 256 && cc.mtu <= 4096 && nr <= 1u << 23 && now <= CLOCK_MAX);
	assume(cc.since <= now && cc.bytes <= MEASURE_MOST);
	assume((u64)nr * cc.mtu <= SHCA_MAX_MSG + 4096ull);
	assume(cc.due_ns <= now + WAIT_NS);
	until = shca_cc_on_sent(&cc, nr, 0, now);
	claim(cc.due_ns <= now + WAIT_NS);
	claim(!until || (until > now && until == cc.due_ns));
	claim(cc.burst && cc.bytes <= MEASURE_MOST);
}

/*
 * The static rate of a path, all rates and MTUs: a burst has a packet at least, and what has left
 * takes its time.
 *
 * proof: static_rate slow
 * planted: core/responder/rate.h: s/rate->run = max_t(u64, 1,/rate->run = max_t(u64, 0,/
 * planted: core/responder/rate.h: s/rate->due_ns > now + SHCA_RATE_BURST_NS/rate->due_ns >= now/
 */
void static_rate(void)
{
	struct shca_rate rate;
	struct shca_pkt pkt;
	u32 kbps = any_u32(), mtu = any_u32();
	u64 now = any_u64(), due, until;

	assume(kbps && kbps <= 1u << 31 && mtu >= 256 && mtu <= 4096 && now <= CLOCK_MAX);
	shca_rate_set(&rate, kbps, mtu);
	claim(rate.on && rate.run);
	claim(!shca_rate_until(&rate, now));
	rate.due_ns = any_u64();
	assume(rate.due_ns <= now + SHCA_RATE_BURST_NS);
	due = rate.due_ns;
	assume(pkt.span < 1u << 20 && pkt.paylen <= SHCA_MAX_MSG && pkt.pad < 4);
	shca_rate_sent(&rate, kbps, &pkt, now);
	claim(rate.due_ns > due);
	until = shca_rate_until(&rate, now);
	claim(!until || until > now + SHCA_RATE_BURST_NS);
}
