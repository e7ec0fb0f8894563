// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The rate of a sender that hears of congestion: core/requester/dcqcn.h. */
#include "fixture.h"

#include "../../kernel/core/requester/dcqcn.h"

#define US	1000ull
#define MBIT	((u64)SHCA_CC_MBIT)
#define LINE	(10000 * MBIT)
#define T0	(1000 * FX_MS)
/* Stages begin once the cut at T0 can have shown: rp_rate_reduce_monitor_period later. */
#define BEGIN	(T0 + 4 * US)

/* The presets, so that a test says what it depends on. */
static struct shca_cc_params dc_params(void)
{
	struct shca_cc_params params = shca_cc_presets;

	params.rp_clamp_tgt_rate = 1;
	params.rp_time_reset = 300;
	params.rp_byte_reset = 0;
	params.rp_threshold = 1;
	params.rp_ai_rate = 5;
	params.rp_hai_rate = 50;
	params.rp_gd = 11;
	params.rp_dce_tcp_rtt = 100;
	params.rp_rate_reduce_monitor_period = 4;
	return params;
}

static void dcqcn_has_no_limit_before_the_first_cnp(struct kunit *test)
{
	struct shca_cc_params params = dc_params();
	struct shca_dcqcn dc;

	shca_dcqcn_start(&dc, LINE);
	shca_dcqcn_sent(&dc, &params, 100000, T0);
	KUNIT_EXPECT_EQ(test, dc.rate, 0);
	/* a stage by bytes makes none either */
	params.rp_byte_reset = 1000;
	shca_dcqcn_sent(&dc, &params, 100000, T0);
	KUNIT_EXPECT_EQ(test, dc.rate, 0);
}

struct first_row {
	const char *name;
	u32 param;	/* rp_rate_to_set_on_first_cnp */
	u32 most;	/* rp_max_rate */
	u64 measured;
	u64 rate;	/* half of what it begins at: alpha is 1023 of 1024 */
};

static const struct first_row first_rows[] = {
	{ "nothing is known", 0, 0, 0, 5000 },
	{ "what was measured", 0, 0, 800, 400 },
	{ "what was ordered", 600, 0, 800, 300 },
	{ "no more than the port", 20000, 0, 800, 5000 },
	{ "no more than was allowed", 0, 100, 800, 50 },
};

static void first_desc(const struct first_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(first, first_rows, first_desc);

static void dcqcn_begins_with(struct kunit *test)
{
	const struct first_row *row = test->param_value;
	struct shca_cc_params params = dc_params();
	struct shca_dcqcn dc;

	params.rp_rate_to_set_on_first_cnp = row->param;
	params.rp_max_rate = row->most;
	shca_dcqcn_start(&dc, LINE);
	shca_dcqcn_cnp(&dc, &params, row->measured * MBIT, 0, T0);
	/* 1023 / 2^11 of it are gone */
	KUNIT_EXPECT_TRUE(test, dc.rate >= row->rate * MBIT);
	KUNIT_EXPECT_TRUE(test, dc.rate <= row->rate * MBIT * 1002 / 1000);
	KUNIT_EXPECT_EQ(test, dc.target, 2 * row->rate * MBIT);
	KUNIT_EXPECT_EQ(test, dc.alpha_at, T0 + 100 * US);
	/* a round trip at least */
	shca_dcqcn_start(&dc, LINE);
	shca_dcqcn_cnp(&dc, &params, row->measured * MBIT, 500 * US, T0);
	KUNIT_EXPECT_EQ(test, dc.alpha_at, T0 + 500 * US);
}

/* A rate of 1000 Mbit/s, whose target is 2000. */
static void dc_make(struct shca_dcqcn *dc, const struct shca_cc_params *params)
{
	shca_dcqcn_start(dc, LINE);
	shca_dcqcn_cnp(dc, params, 2000 * MBIT, 0, T0);
	dc->rate = 1000 * MBIT;
	dc->target = 2000 * MBIT;
}

struct cut_row {
	const char *name;
	u64 after_ns;
	u64 rtt_ns;	/* of the first CNP */
	bool cuts;
};

static const struct cut_row cut_rows[] = {
	{ "within the period", 3999, 0, false },
	{ "after the period", 4000, 0, true },
	{ "within the round trip", 9999, 10000, false },
	{ "after the round trip", 10000, 10000, true },
};

static void cut_desc(const struct cut_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(cut, cut_rows, cut_desc);

static void dcqcn_is_cut_by_a_cnp(struct kunit *test)
{
	const struct cut_row *row = test->param_value;
	struct shca_cc_params params = dc_params();
	struct shca_dcqcn dc;
	u64 before;

	shca_dcqcn_start(&dc, LINE);
	shca_dcqcn_cnp(&dc, &params, 2000 * MBIT, row->rtt_ns, T0);
	before = dc.rate;
	shca_dcqcn_cnp(&dc, &params, 0, row->rtt_ns, T0 + row->after_ns);
	if (!row->cuts) {
		KUNIT_EXPECT_EQ(test, dc.rate, before);
		return;
	}
	KUNIT_EXPECT_EQ(test, dc.rate, before - (before * 1023 >> 11));
	KUNIT_EXPECT_EQ(test, dc.target, before);
}

static void dcqcn_is_cut_by_so_much_at_most(struct kunit *test)
{
	struct shca_cc_params params = dc_params();
	struct shca_dcqcn dc;

	params.rp_gd = 10;	/* alpha of 1 would take all */
	dc_make(&dc, &params);
	shca_dcqcn_cnp(&dc, &params, 0, 0, T0 + 5 * US);
	KUNIT_EXPECT_EQ(test, dc.rate, 500 * MBIT);
	params.rp_min_dec_fac = 90;
	shca_dcqcn_cnp(&dc, &params, 0, 0, T0 + 10 * US);
	KUNIT_EXPECT_EQ(test, dc.rate, 450 * MBIT);
	params.rp_min_rate = 460;
	shca_dcqcn_cnp(&dc, &params, 0, 0, T0 + 15 * US);
	KUNIT_EXPECT_EQ(test, dc.rate, 460 * MBIT);
}

/* Many periods at once are what one after the other would be. */
static void dcqcn_alpha_falls_with_time(struct kunit *test)
{
	struct shca_cc_params params = dc_params();
	struct shca_dcqcn one, many;
	int i;

	params.rp_dce_tcp_g = 1019;
	dc_make(&one, &params);
	dc_make(&many, &params);
	/* the CNP of dc_make() counts for the first period */
	shca_dcqcn_sent(&one, &params, 1, T0 + 100 * US);
	KUNIT_EXPECT_EQ(test, one.alpha,
			(u32)(((u64)1023 << 10) * 1019 / 1024) + (5u << 10));
	for (i = 2; i <= 140; i++)
		shca_dcqcn_sent(&one, &params, 1, T0 + i * 100 * US);
	shca_dcqcn_sent(&many, &params, 1, T0 + 140 * 100 * US);
	KUNIT_EXPECT_TRUE(test, many.alpha >= one.alpha);
	KUNIT_EXPECT_TRUE(test, many.alpha - one.alpha <= 140);
	/* (1019/1024)^139 is a half */
	KUNIT_EXPECT_TRUE(test, one.alpha > SHCA_DCQCN_ALPHA * 49 / 100);
	KUNIT_EXPECT_TRUE(test, one.alpha < SHCA_DCQCN_ALPHA * 51 / 100);
}

/* First half of the way, then by AI, and by HAI where both stages say so. */
static void dcqcn_rises_by_stages(struct kunit *test)
{
	struct shca_cc_params params = dc_params();
	struct shca_dcqcn dc;
	u64 now = BEGIN;

	params.rp_threshold = 2;
	params.rp_byte_reset = 1000;
	dc_make(&dc, &params);
	shca_dcqcn_sent(&dc, &params, 999, now + 299 * US);
	KUNIT_EXPECT_EQ(test, dc.rate, 1000 * MBIT);
	/* a stage by time: the first of fast recovery */
	shca_dcqcn_sent(&dc, &params, 0, now + 300 * US);
	KUNIT_EXPECT_EQ(test, dc.rate, 1500 * MBIT);
	KUNIT_EXPECT_EQ(test, dc.target, 2000 * MBIT);
	/* the second one ends it */
	shca_dcqcn_sent(&dc, &params, 0, now + 600 * US);
	KUNIT_EXPECT_EQ(test, dc.target, 2005 * MBIT);
	KUNIT_EXPECT_EQ(test, dc.rate, (1500 + 2005) * MBIT / 2);
	/* three by bytes, of which only the third is beyond both thresholds */
	shca_dcqcn_sent(&dc, &params, 1, now + 601 * US);
	shca_dcqcn_sent(&dc, &params, 1000, now + 601 * US);
	KUNIT_EXPECT_EQ(test, dc.target, 2015 * MBIT);
	shca_dcqcn_sent(&dc, &params, 0, now + 900 * US);
	KUNIT_EXPECT_EQ(test, dc.target, 2020 * MBIT);
	shca_dcqcn_sent(&dc, &params, 1000, now + 901 * US);
	KUNIT_EXPECT_EQ(test, dc.target, 2070 * MBIT);
}

static void dcqcn_is_free_again_at_the_rate_of_the_port(struct kunit *test)
{
	struct shca_cc_params params = dc_params();
	struct shca_dcqcn dc;

	params.rp_ai_rate = 1000;
	dc_make(&dc, &params);
	shca_dcqcn_sent(&dc, &params, 0, T0 + 30 * 300 * US);
	KUNIT_EXPECT_EQ(test, dc.rate, 0);
	/* but for a lower limit */
	params.rp_max_rate = 3000;
	dc_make(&dc, &params);
	shca_dcqcn_sent(&dc, &params, 0, T0 + 60 * 300 * US);
	KUNIT_EXPECT_TRUE(test, dc.rate > 2990 * MBIT);
	KUNIT_EXPECT_TRUE(test, dc.rate <= 3000 * MBIT);
}

/* The target follows the rate always, after a rise by time, or never. */
static void dcqcn_target_follows_as_ordered(struct kunit *test)
{
	struct shca_cc_params params = dc_params();
	struct shca_dcqcn dc;

	params.rp_clamp_tgt_rate = 0;
	params.rp_clamp_tgt_rate_ati = 1;
	dc_make(&dc, &params);
	shca_dcqcn_cnp(&dc, &params, 0, 0, T0 + 10 * US);
	KUNIT_EXPECT_EQ(test, dc.target, 2000 * MBIT);
	/* a stage by time has passed */
	shca_dcqcn_cnp(&dc, &params, 0, 0, T0 + 400 * US);
	KUNIT_EXPECT_TRUE(test, dc.target < 1500 * MBIT);
	params.rp_clamp_tgt_rate_ati = 0;
	dc_make(&dc, &params);
	shca_dcqcn_cnp(&dc, &params, 0, 0, T0 + 400 * US);
	KUNIT_EXPECT_EQ(test, dc.target, 2005 * MBIT);
}

/* A sender that was idle makes up for a hundred stages, and the next one takes its time. */
static void dcqcn_makes_up_for_so_many_stages(struct kunit *test)
{
	struct shca_cc_params params = dc_params();
	struct shca_dcqcn dc;
	u64 now;
	u32 late;

	params.rp_max_rate = 3000;
	for (late = 0; late < 2; late++) {
		dc_make(&dc, &params);
		/* the stage after those that are made up for ends now, or has ended long ago */
		now = BEGIN + (late ? 1000 : 101) * 300 * US;
		shca_dcqcn_sent(&dc, &params, 0, now);
		KUNIT_EXPECT_EQ(test, dc.by_time, 100);
		KUNIT_EXPECT_EQ(test, dc.rise_at, now + 300 * US);
	}
}

static void dcqcn_counts_stages_up_to_a_limit(struct kunit *test)
{
	struct shca_cc_params params = dc_params();
	struct shca_dcqcn dc;
	u32 i;

	params.rp_max_rate = 3000;
	params.rp_byte_reset = 1000;
	dc_make(&dc, &params);
	for (i = 0; i < 300; i++)
		shca_dcqcn_sent(&dc, &params, 1000, BEGIN);
	KUNIT_EXPECT_EQ(test, dc.by_bytes, 255);
}

/* Bytes of a stage count for that one. */
static void dcqcn_stage_by_bytes_begins_with_none(struct kunit *test)
{
	struct shca_cc_params params = dc_params();
	struct shca_dcqcn dc;

	params.rp_byte_reset = 1000;
	dc_make(&dc, &params);
	shca_dcqcn_sent(&dc, &params, 1000, BEGIN);
	KUNIT_EXPECT_EQ(test, dc.by_bytes, 1);
	shca_dcqcn_sent(&dc, &params, 999, BEGIN);
	KUNIT_EXPECT_EQ(test, dc.by_bytes, 1);
	shca_dcqcn_sent(&dc, &params, 1, BEGIN);
	KUNIT_EXPECT_EQ(test, dc.by_bytes, 2);
}

/* 64 of 65 parts of the port are all of it. */
static void dcqcn_is_free_a_little_below_the_port(struct kunit *test)
{
	struct shca_cc_params params = dc_params();
	struct shca_dcqcn dc;
	u32 below;

	params.rp_threshold = 31;
	for (below = 0; below < 2; below++) {
		shca_dcqcn_start(&dc, 65 * MBIT);
		shca_dcqcn_cnp(&dc, &params, 0, 0, T0);
		dc.rate = 63 * MBIT;
		dc.target = 65 * MBIT - 2 * below;
		shca_dcqcn_sent(&dc, &params, 0, BEGIN + 300 * US);
		KUNIT_EXPECT_EQ(test, dc.rate, below ? 64 * MBIT - 1 : 0);
	}
}

/* A CNP begins all stages anew, and makes up for periods of alpha that have passed. */
static void dcqcn_begins_stages_anew_with_a_cnp(struct kunit *test)
{
	struct shca_cc_params params = dc_params();
	struct shca_dcqcn dc;
	u64 rate;
	u32 cuts;

	params.rp_byte_reset = 1000;
	/* also where it comes too early for a cut, within a round trip of the last one */
	for (cuts = 0; cuts < 2; cuts++) {
		dc_make(&dc, &params);
		shca_dcqcn_sent(&dc, &params, 1000, BEGIN + 300 * US);
		shca_dcqcn_sent(&dc, &params, 500, BEGIN + 300 * US);
		KUNIT_ASSERT_EQ(test, dc.by_time, 1);
		KUNIT_ASSERT_EQ(test, dc.by_bytes, 1);
		KUNIT_ASSERT_EQ(test, dc.bytes, 500u);
		if (!cuts)
			dc.cut_at = T0 + 700 * US;
		rate = dc.rate;
		shca_dcqcn_cnp(&dc, &params, 0, 0, T0 + 550 * US);
		KUNIT_EXPECT_EQ(test, dc.rate < rate, cuts);
		KUNIT_EXPECT_EQ(test, dc.by_time, 0);
		KUNIT_EXPECT_EQ(test, dc.by_bytes, 0);
		KUNIT_EXPECT_EQ(test, dc.bytes, 0u);
		KUNIT_EXPECT_EQ(test, dc.rise_at, T0 + 854 * US);
		KUNIT_EXPECT_EQ(test, dc.alpha_at, T0 + 650 * US);
	}
}

/* A round trip has to pass before the queue shows the cut: until then nothing rises. */
static void dcqcn_rises_a_round_trip_after_a_cut(struct kunit *test)
{
	struct shca_cc_params params = dc_params();
	struct shca_dcqcn dc;

	params.rp_byte_reset = 1000;
	dc_make(&dc, &params);
	shca_dcqcn_cnp(&dc, &params, 0, 1000 * US, T0 + 10 * US);
	shca_dcqcn_sent(&dc, &params, 1000, T0 + 1010 * US - 1);
	KUNIT_EXPECT_EQ(test, dc.by_time, 0);
	KUNIT_EXPECT_EQ(test, dc.by_bytes, 0);
	shca_dcqcn_sent(&dc, &params, 1000, T0 + 1010 * US);
	KUNIT_EXPECT_EQ(test, dc.by_bytes, 1);
	shca_dcqcn_sent(&dc, &params, 0, T0 + 1310 * US - 1);
	KUNIT_EXPECT_EQ(test, dc.by_time, 0);
	shca_dcqcn_sent(&dc, &params, 0, T0 + 1310 * US);
	KUNIT_EXPECT_EQ(test, dc.by_time, 1);
}

struct preset_row {
	const char *name;
	u32 off;
	u32 least;
	u32 most;
};

static const struct preset_row preset_rows[] = {
#define PRESET_ROW(param, preset, least, most)				\
	{ #param, offsetof(struct shca_cc_params, param), least, most },
	SHCA_CC_PARAMS(PRESET_ROW)
#undef PRESET_ROW
};

static void preset_desc(const struct preset_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(preset, preset_rows, preset_desc);

/* A preset is a value that may be written. */
static void dcqcn_preset_is_within_its_bounds(struct kunit *test)
{
	const struct preset_row *row = test->param_value;
	u32 preset = *(const u32 *)((const u8 *)&shca_cc_presets + row->off);

	KUNIT_EXPECT_GE(test, preset, row->least);
	KUNIT_EXPECT_LE(test, preset, row->most);
}

static struct kunit_case dcqcn_cases[] = {
	KUNIT_CASE_PARAM(dcqcn_preset_is_within_its_bounds, preset_gen_params),
	KUNIT_CASE(dcqcn_has_no_limit_before_the_first_cnp),
	KUNIT_CASE_PARAM(dcqcn_begins_with, first_gen_params),
	KUNIT_CASE_PARAM(dcqcn_is_cut_by_a_cnp, cut_gen_params),
	KUNIT_CASE(dcqcn_is_cut_by_so_much_at_most),
	KUNIT_CASE(dcqcn_alpha_falls_with_time),
	KUNIT_CASE(dcqcn_rises_by_stages),
	KUNIT_CASE(dcqcn_is_free_again_at_the_rate_of_the_port),
	KUNIT_CASE(dcqcn_target_follows_as_ordered),
	KUNIT_CASE(dcqcn_makes_up_for_so_many_stages),
	KUNIT_CASE(dcqcn_counts_stages_up_to_a_limit),
	KUNIT_CASE(dcqcn_stage_by_bytes_begins_with_none),
	KUNIT_CASE(dcqcn_is_free_a_little_below_the_port),
	KUNIT_CASE(dcqcn_begins_stages_anew_with_a_cnp),
	KUNIT_CASE(dcqcn_rises_a_round_trip_after_a_cut),
	{}
};

static struct kunit_suite dcqcn_suite = {
	.name = "softhca_dcqcn",
	.test_cases = dcqcn_cases,
};

kunit_test_suites(&dcqcn_suite);
