/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The part of KUnit that the suites in tests/kunit use, for a user process.  The
 * same sources run in the kernel and here, in milliseconds and under the
 * sanitizers.  Results are lines "ok SUITE.CASE" and "not ok SUITE.CASE # why".
 */
#ifndef SHCA_KUNIT_SHIM_H
#define SHCA_KUNIT_SHIM_H

#include <setjmp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KUNIT_PARAM_DESC_SIZE	128
#define GFP_KERNEL		0
#define swap(a, b) \
	do { __typeof__(a) t_ = (a); (a) = (b); (b) = t_; } while (0)
#define MODULE_LICENSE(s)
#define MODULE_DESCRIPTION(s)

struct kunit_alloc {
	struct kunit_alloc *next;
	max_align_t memory[];
};

struct kunit {
	const void *param_value;
	void *priv;
	int failed;
	char why[256];
	struct kunit_alloc *allocs;
	jmp_buf abort;
};

struct kunit_case {
	void (*run_case)(struct kunit *test);
	const char *name;
	const void *(*generate_params)(const void *prev, char *desc);
};

struct kunit_suite {
	const char *name;
	int (*init)(struct kunit *test);
	struct kunit_case *test_cases;
	struct kunit_suite *next;
};

void kunit_shim_register(struct kunit_suite *suite);
void kunit_shim_fail(struct kunit *test, const char *file, int line,
		     const char *what, long long left, long long right);
void *kunit_kzalloc(struct kunit *test, size_t size, int gfp);

#define KUNIT_CASE(f)		{ .run_case = f, .name = #f }
#define KUNIT_CASE_PARAM(f, gen) \
	{ .run_case = f, .name = #f, .generate_params = gen }

#define kunit_test_suites(suite)					\
	static void __attribute__((constructor)) kunit_shim_add(void)	\
	{								\
		kunit_shim_register(suite);				\
	}

#define KUNIT_ARRAY_PARAM(name, array, get_desc)			\
	static const void *name##_gen_params(const void *prev, char *desc) \
	{								\
		const __typeof__((array)[0]) *next = prev;		\
									\
		next = next ? next + 1 : (array);			\
		if (next - (array) >=					\
		    (long)(sizeof(array) / sizeof((array)[0])))		\
			return NULL;					\
		((void (*)(__typeof__(next), char *))(get_desc))(next, desc); \
		return next;						\
	}

#define KUNIT_SHIM_CMP(test, l, op, r, ends)				\
	do {								\
		__typeof__(l) l_ = (l);					\
		__typeof__(r) r_ = (r);					\
									\
		if (!(l_ op r_)) {					\
			kunit_shim_fail(test, __FILE__, __LINE__,	\
					#l " " #op " " #r,		\
					(long long)l_, (long long)r_);	\
			if (ends)					\
				longjmp((test)->abort, 1);		\
		}							\
	} while (0)

#define KUNIT_EXPECT_EQ(t, l, r)	KUNIT_SHIM_CMP(t, l, ==, r, 0)
#define KUNIT_EXPECT_NE(t, l, r)	KUNIT_SHIM_CMP(t, l, !=, r, 0)
#define KUNIT_EXPECT_LT(t, l, r)	KUNIT_SHIM_CMP(t, l, <, r, 0)
#define KUNIT_EXPECT_LE(t, l, r)	KUNIT_SHIM_CMP(t, l, <=, r, 0)
#define KUNIT_EXPECT_GT(t, l, r)	KUNIT_SHIM_CMP(t, l, >, r, 0)
#define KUNIT_EXPECT_GE(t, l, r)	KUNIT_SHIM_CMP(t, l, >=, r, 0)
#define KUNIT_EXPECT_TRUE(t, c)		KUNIT_SHIM_CMP(t, !!(c), ==, 1, 0)
#define KUNIT_EXPECT_FALSE(t, c)	KUNIT_SHIM_CMP(t, !!(c), ==, 0, 0)
#define KUNIT_EXPECT_NULL(t, p)		KUNIT_EXPECT_TRUE(t, !(p))
#define KUNIT_EXPECT_NOT_NULL(t, p)	KUNIT_EXPECT_TRUE(t, (p) != NULL)
#define KUNIT_EXPECT_STREQ(t, l, r)	KUNIT_EXPECT_TRUE(t, !strcmp(l, r))
#define KUNIT_EXPECT_MEMEQ(t, l, r, n)	KUNIT_EXPECT_TRUE(t, !memcmp(l, r, n))
#define KUNIT_ASSERT_EQ(t, l, r)	KUNIT_SHIM_CMP(t, l, ==, r, 1)
#define KUNIT_ASSERT_LE(t, l, r)	KUNIT_SHIM_CMP(t, l, <=, r, 1)
#define KUNIT_ASSERT_GT(t, l, r)	KUNIT_SHIM_CMP(t, l, >, r, 1)
#define KUNIT_ASSERT_GE(t, l, r)	KUNIT_SHIM_CMP(t, l, >=, r, 1)
#define KUNIT_ASSERT_TRUE(t, c)		KUNIT_SHIM_CMP(t, !!(c), ==, 1, 1)
#define KUNIT_ASSERT_FALSE(t, c)	KUNIT_SHIM_CMP(t, !!(c), ==, 0, 1)
#define KUNIT_ASSERT_NOT_NULL(t, p)	KUNIT_ASSERT_TRUE(t, (p) != NULL)
#define KUNIT_ASSERT_NULL(t, p)		KUNIT_ASSERT_TRUE(t, !(p))

#endif
