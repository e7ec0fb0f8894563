// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Sampling of a port's counters: PortSamplesControl and its results, byte by byte. */
#include "fixture.h"

#include "../../kernel/ib/core/ib_sample.h"

#define ATTR_BYTES	192

static const u8 ask[ATTR_BYTES] = {
	[1] = 1, [28] = 0, 0, 0x01, 0x02, 0, 0, 0x03, 0x04, 0x12, 0x34,
	/* CounterSelect, and one more than there are */
	0, 1, 0, 3, 0, 5, 0xab, 0xcd, 0, 2, 0, 4,
};

static const u64 before[SHCA_IB_SAMPLES] = { 10, 20, 30, 40, 1ull << 40 };
static const u64 after[SHCA_IB_SAMPLES] = { 11, 20, 35, 40, 3ull << 40 };

static void set_begins_a_sample(struct kunit *test)
{
	struct shca_ib_sample sample = {};

	KUNIT_EXPECT_TRUE(test, shca_ib_sample_set(&sample, ask));
	KUNIT_EXPECT_EQ(test, sample.status, SHCA_IB_SAMPLE_STARTED);
	KUNIT_EXPECT_EQ(test, sample.start, 0x102u);
	KUNIT_EXPECT_EQ(test, sample.interval, 0x304u);
	KUNIT_EXPECT_EQ(test, sample.tag, 0x1234);
	KUNIT_EXPECT_EQ(test, sample.select[0], SHCA_IB_SAMPLE_XMIT_DATA);
	KUNIT_EXPECT_EQ(test, sample.select[3], 0xabcd);
	KUNIT_EXPECT_EQ(test, sample.select[4], SHCA_IB_SAMPLE_RCV_DATA);
}

static void set_changes_nothing_while_one_is_under_way(struct kunit *test)
{
	struct shca_ib_sample sample = {}, copy;
	u8 other[ATTR_BYTES];

	memcpy(other, ask, sizeof(other));
	other[36] = 0x56;
	shca_ib_sample_set(&sample, ask);
	copy = sample;
	KUNIT_EXPECT_FALSE(test, shca_ib_sample_set(&sample, other));
	KUNIT_EXPECT_EQ(test, sample.tag, copy.tag);
	shca_ib_sample_step(&sample, before);
	KUNIT_EXPECT_FALSE(test, shca_ib_sample_set(&sample, other));
	KUNIT_EXPECT_EQ(test, sample.value[1], 20ull);
	shca_ib_sample_step(&sample, after);
	KUNIT_EXPECT_TRUE(test, shca_ib_sample_set(&sample, other));
	KUNIT_EXPECT_EQ(test, sample.tag, 0x5634);
	KUNIT_EXPECT_EQ(test, sample.value[2], 0ull);
}

static void control_tells_what_was_asked_for(struct kunit *test)
{
	static const u8 wanted[ATTR_BYTES] = {
		/* a tick of 250 symbols, 32 bits, five counters, RUNNING */
		[2] = 249, 4, 0x09, 0x24, 0x80, 0, [11] = 2,
		[28] = 0, 0, 0x01, 0x02, 0, 0, 0x03, 0x04, 0x12, 0x34,
		0, 1, 0, 3, 0, 5, 0xab, 0xcd, 0, 2,
	};
	struct shca_ib_sample sample = {};
	u8 out[ATTR_BYTES] = {};

	shca_ib_sample_set(&sample, ask);
	KUNIT_EXPECT_TRUE(test, shca_ib_sample_step(&sample, before));
	shca_ib_sample_control(&sample, out);
	KUNIT_EXPECT_MEMEQ(test, out, wanted, ATTR_BYTES);
}

static void result_is_what_was_counted(struct kunit *test)
{
	static const u8 wanted[ATTR_BYTES] = {
		0x12, 0x34, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0,
		0xff, 0xff, 0xff, 0xff,	/* stays at its maximum */
	};
	static const u8 wanted_ext[ATTR_BYTES] = {
		0x12, 0x34, 0, 0, 0x80, 0, 0, 0, [15] = 1, [31] = 5, [42] = 2,
	};
	static const u8 running[ATTR_BYTES] = { 0x12, 0x34, 0, 2 };
	struct shca_ib_sample sample = {};
	u8 out[ATTR_BYTES] = {};

	shca_ib_sample_set(&sample, ask);
	KUNIT_EXPECT_TRUE(test, shca_ib_sample_step(&sample, before));
	shca_ib_sample_result(&sample, false, out);
	KUNIT_EXPECT_MEMEQ(test, out, running, ATTR_BYTES);
	KUNIT_EXPECT_FALSE(test, shca_ib_sample_step(&sample, after));
	shca_ib_sample_result(&sample, false, out);
	KUNIT_EXPECT_MEMEQ(test, out, wanted, ATTR_BYTES);
	memset(out, 0, sizeof(out));
	shca_ib_sample_result(&sample, true, out);
	KUNIT_EXPECT_MEMEQ(test, out, wanted_ext, ATTR_BYTES);
	/* a step too many */
	KUNIT_EXPECT_FALSE(test, shca_ib_sample_step(&sample, before));
	KUNIT_EXPECT_EQ(test, sample.value[2], 5ull);
}

/* Only as many counters as there are: the attributes have room for more. */
static void sample_has_five_counters(struct kunit *test)
{
	struct {
		struct shca_ib_sample sample;
		u64 behind;
	} fx;
	u8 out[ATTR_BYTES] = {};

	memset(&fx, 0xff, sizeof(fx));
	fx.sample.status = SHCA_IB_SAMPLE_DONE;
	KUNIT_EXPECT_TRUE(test, shca_ib_sample_set(&fx.sample, ask));
	KUNIT_EXPECT_EQ(test, fx.behind, ~0ull);
	KUNIT_EXPECT_TRUE(test, shca_ib_sample_step(&fx.sample, before));
	KUNIT_EXPECT_EQ(test, fx.behind, ~0ull);
	shca_ib_sample_control(&fx.sample, out);
	KUNIT_EXPECT_EQ(test, out[48], 0);
	KUNIT_EXPECT_EQ(test, out[49], 0);
}

static struct kunit_case ib_sample_cases[] = {
	KUNIT_CASE(set_begins_a_sample),
	KUNIT_CASE(set_changes_nothing_while_one_is_under_way),
	KUNIT_CASE(control_tells_what_was_asked_for),
	KUNIT_CASE(result_is_what_was_counted),
	KUNIT_CASE(sample_has_five_counters),
	{}
};

static struct kunit_suite ib_sample_suite = {
	.name = "softhca_ib_sample",
	.test_cases = ib_sample_cases,
};

kunit_test_suites(&ib_sample_suite);
