// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Sequence numbers: 24 bits, a window of 2^23 (IBTA 9.7.2). */
#include "fixture.h"

struct psn_row {
	const char *name;
	u32 a;
	u32 b;
	s32 diff;	/* expected: a ahead of b */
};

static const struct psn_row psn_rows[] = {
	{ "equal", 0, 0, 0 },
	{ "one ahead", 1, 0, 1 },
	{ "one behind", 0, 1, -1 },
	{ "ahead across the wrap", 0, 0xffffff, 1 },
	{ "behind across the wrap", 0xffffff, 0, -1 },
	{ "far ahead across the wrap", 0x7ffffe, 0xffffff, 0x7fffff },
	{ "last one ahead", 0x7fffff, 0, 0x7fffff },
	{ "first one behind", 0x800000, 0, -0x800000 },
	{ "first one behind, shifted", 0x812345, 0x012345, -0x800000 },
	{ "last one ahead, shifted", 0x812344, 0x012345, 0x7fffff },
};

static void psn_desc(const struct psn_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(psn, psn_rows, psn_desc);

static void psn_diff_of_window_is_signed(struct kunit *test)
{
	const struct psn_row *row = test->param_value;

	KUNIT_EXPECT_EQ(test, shca_psn_diff(row->a, row->b), row->diff);
}

static void psn_add_of_difference_returns(struct kunit *test)
{
	const struct psn_row *row = test->param_value;

	KUNIT_EXPECT_EQ(test, shca_psn_add(row->b, row->diff), row->a);
	KUNIT_EXPECT_EQ(test, shca_psn_add(row->b, shca_psn_off(row->a, row->b)),
			row->a);
}

static void psn_off_is_unsigned(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, shca_psn_off(0, 1), 0xffffffu);
	KUNIT_EXPECT_EQ(test, shca_psn_off(5, 0xfffffe), 7u);
	KUNIT_EXPECT_EQ(test, shca_psn_off(9, 9), 0u);
}

static struct kunit_case psn_cases[] = {
	KUNIT_CASE_PARAM(psn_diff_of_window_is_signed, psn_gen_params),
	KUNIT_CASE_PARAM(psn_add_of_difference_returns, psn_gen_params),
	KUNIT_CASE(psn_off_is_unsigned),
	{}
};

static struct kunit_suite psn_suite = {
	.name = "softhca_psn",
	.test_cases = psn_cases,
};

kunit_test_suites(&psn_suite);
