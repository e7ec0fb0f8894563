// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* DCQCN, reaction point (dcqcn.h); names of QCN, IEEE 802.1Qau. */
#include "dcqcn.h"

#define NS_PER_US	1000ull
/* Most stages that a sender catches up on after it was idle. */
#define MAX_STAGES	100

const struct shca_cc_params shca_cc_presets = {
#define SHCA_CC_PARAM(name, preset, least, most) .name = preset,
	SHCA_CC_PARAMS(SHCA_CC_PARAM)
#undef SHCA_CC_PARAM
};

void shca_dcqcn_start(struct shca_dcqcn *dc, u64 line)
{
	memset(dc, 0, sizeof(*dc));
	dc->line = line;
}

/* ---- alpha ----------------------------------------------------------------- */

/* @value * (@g / 1024)^@n, by squares. */
static u32 dcqcn_decay(u32 value, u32 g, u64 n)
{
	u64 result = value, power = (u64)g << (SHCA_DCQCN_ALPHA_SHIFT - 10);

	for (; n && result; n >>= 1) {
		if (n & 1)
			result = result * power >> SHCA_DCQCN_ALPHA_SHIFT;
		power = power * power >> SHCA_DCQCN_ALPHA_SHIFT;
	}
	return result;
}

/* A period of alpha is at least a round trip, or it would fall between the marks of a slow link. */
static u64 dcqcn_period(const struct shca_dcqcn *dc,
			const struct shca_cc_params *params)
{
	return max_t(u64, READ_ONCE(params->rp_dce_tcp_rtt) * NS_PER_US,
		     dc->round_ns);
}

/* Catch up on periods of alpha that have passed: a CNP, if one came, counts in the first. */
static void dcqcn_alpha(struct shca_dcqcn *dc,
			const struct shca_cc_params *params, u64 now)
{
	u64 period = dcqcn_period(dc, params);
	u32 g = READ_ONCE(params->rp_dce_tcp_g);
	u64 n;

	if (now < dc->alpha_at)
		return;
	n = div64_u64(now - dc->alpha_at, period);
	dc->alpha = dcqcn_decay(dc->alpha, g, 1);
	if (dc->marked)
		dc->alpha += (1024 - g) << (SHCA_DCQCN_ALPHA_SHIFT - 10);
	dc->marked = false;
	dc->alpha = dcqcn_decay(dc->alpha, g, n);
	dc->alpha_at = now + period;
}

/* ---- rising ---------------------------------------------------------------- */

static u64 dcqcn_most(const struct shca_dcqcn *dc,
		      const struct shca_cc_params *params)
{
	u64 most = (u64)READ_ONCE(params->rp_max_rate) * SHCA_CC_MBIT;

	return most ? min_t(u64, most, dc->line) : dc->line;
}

/* A stage has ended without a CNP. */
static void dcqcn_rise(struct shca_dcqcn *dc,
		       const struct shca_cc_params *params)
{
	u32 more = max_t(u32, dc->by_time, dc->by_bytes);
	u32 less = min_t(u32, dc->by_time, dc->by_bytes);
	u32 threshold = READ_ONCE(params->rp_threshold);
	u64 most = dcqcn_most(dc, params);

	if (less > threshold)
		dc->target += (u64)(less - threshold) *
			      READ_ONCE(params->rp_hai_rate) * SHCA_CC_MBIT;
	else if (more >= threshold)
		dc->target += (u64)READ_ONCE(params->rp_ai_rate) * SHCA_CC_MBIT;
	dc->target = min_t(u64, dc->target, most);
	dc->rate = (dc->rate + dc->target) / 2;
	/* Near the speed of the port there is no limit again, unless rp_max_rate is lower. */
	if (dc->rate + dc->rate / 64 >= dc->line)
		dc->rate = 0;
}

static void dcqcn_stage(u8 *stage)
{
	if (*stage < 255)
		++*stage;
}

static void dcqcn_by_time(struct shca_dcqcn *dc,
			  const struct shca_cc_params *params, u64 now)
{
	u64 period = READ_ONCE(params->rp_time_reset) * NS_PER_US;
	u32 stages = 0;

	while (dc->rate && now >= dc->rise_at && stages++ < MAX_STAGES) {
		dcqcn_stage(&dc->by_time);
		dcqcn_rise(dc, params);
		dc->rise_at += period;
	}
	if (now >= dc->rise_at)
		dc->rise_at = now + period;
}

void shca_dcqcn_sent(struct shca_dcqcn *dc, const struct shca_cc_params *params,
		     u32 bytes, u64 now)
{
	u32 stage = READ_ONCE(params->rp_byte_reset);

	dcqcn_alpha(dc, params, now);
	dcqcn_by_time(dc, params, now);
	if (now < dc->calm_at)
		return;
	dc->bytes += bytes;
	if (!dc->rate || !stage || dc->bytes < stage)
		return;
	/* One stage, however many bytes: a batch is one event. */
	dc->bytes = 0;
	dcqcn_stage(&dc->by_bytes);
	dcqcn_rise(dc, params);
}

/* ---- falling --------------------------------------------------------------- */

/* The first CNP: until now there was no limit. */
static void dcqcn_first(struct shca_dcqcn *dc,
			const struct shca_cc_params *params, u64 measured,
			u64 now)
{
	u64 rate = READ_ONCE(params->rp_rate_to_set_on_first_cnp);

	rate = rate ? rate * SHCA_CC_MBIT : measured;
	dc->rate = rate ? min_t(u64, rate, dcqcn_most(dc, params)) :
		   dcqcn_most(dc, params);
	dc->target = dc->rate;
	dc->alpha = READ_ONCE(params->rp_initial_alpha_value) <<
		    (SHCA_DCQCN_ALPHA_SHIFT - 10);
	dc->alpha_at = now + dcqcn_period(dc, params);
}

static void dcqcn_cut(struct shca_dcqcn *dc,
		      const struct shca_cc_params *params)
{
	/* alpha has ten bits more here than in the parameters */
	u64 share = (u64)dc->alpha >> (SHCA_DCQCN_ALPHA_SHIFT - 10);
	u64 least = div64_u64(dc->rate * READ_ONCE(params->rp_min_dec_fac), 100);
	u64 floor = (u64)READ_ONCE(params->rp_min_rate) * SHCA_CC_MBIT;
	u64 rate = dc->rate - (dc->rate * share >> READ_ONCE(params->rp_gd));

	dc->rate = max_t(u64, max_t(u64, rate, least), floor);
}

/*
 * After a CNP, stages begin anew, but not within a round trip: the next mark of a slow link may be
 * as far away, and a cut takes as long to show in the queue.
 */
static void dcqcn_restart(struct shca_dcqcn *dc,
			  const struct shca_cc_params *params, u64 now)
{
	dc->by_time = 0;
	dc->by_bytes = 0;
	dc->bytes = 0;
	dc->calm_at = now + dc->round_ns;
	dc->rise_at = dc->calm_at + READ_ONCE(params->rp_time_reset) * NS_PER_US;
}

void shca_dcqcn_cnp(struct shca_dcqcn *dc, const struct shca_cc_params *params,
		    u64 measured, u64 rtt_ns, u64 now)
{
	bool rose;

	dcqcn_alpha(dc, params, now);
	dcqcn_by_time(dc, params, now);
	dc->marked = true;
	dc->round_ns = max_t(u64, rtt_ns,
			     READ_ONCE(params->rp_rate_reduce_monitor_period) * NS_PER_US);
	rose = dc->by_time;
	dcqcn_restart(dc, params, now);
	if (now < dc->cut_at)
		return;
	if (!dc->rate)
		dcqcn_first(dc, params, measured, now);
	else if (READ_ONCE(params->rp_clamp_tgt_rate) ||
		 (READ_ONCE(params->rp_clamp_tgt_rate_ati) && rose))
		dc->target = dc->rate;
	dcqcn_cut(dc, params);
	/* Packets sent before the cut draw CNPs for a round trip. */
	dc->cut_at = now + dc->round_ns;
}
