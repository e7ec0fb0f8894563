/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The only source of chance in the tests: splitmix64, the same on every
 * machine, so that a seed is a complete description of a run.
 */
#ifndef SHCA_TEST_PRNG_H
#define SHCA_TEST_PRNG_H

#include "../../../kernel/core/os.h"

struct prng {
	u64 state;
};

static inline u64 prng_next(struct prng *p)
{
	u64 z = p->state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* [0, n), n > 0; the bias of the modulo does not matter here */
static inline u32 prng_below(struct prng *p, u32 n)
{
	return (u32)(prng_next(p) >> 32) % n;
}

/* [lo, hi], both included */
static inline u32 prng_range(struct prng *p, u32 lo, u32 hi)
{
	return lo + prng_below(p, hi - lo + 1);
}

/* true @permille times in a thousand */
static inline bool prng_chance(struct prng *p, u32 permille)
{
	return prng_below(p, 1000) < permille;
}

#endif
