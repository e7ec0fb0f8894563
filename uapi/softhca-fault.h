/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause) */
/*
 * Decides when a fault happens, among the packets, requests or calls that match its rule
 * (softhca-netlink.h). The module, the provider and the simulator use this function. Same
 * rule, seed and traffic: same faults.
 */
#ifndef SOFTHCA_FAULT_H
#define SOFTHCA_FAULT_H

#include <linux/types.h>

/* shca_fault_when.probability: always. */
#define SHCA_FAULT_ALWAYS	1000000
/* SHCA_FA_ERRNO: Linux's largest errno, EHWPOISON. */
#define SHCA_FAULT_ERRNO_MAX	133

/**
 * struct shca_fault_when - when a rule applies; constant
 * @seed:	of the random numbers
 * @after_ns:	not before, from the rule's creation
 * @for_ns:	not after, from then on; 0: no limit
 * @probability: parts of SHCA_FAULT_ALWAYS
 * @every:	each n-th match; 0: no limit
 * @nth:	not before the n-th match, from 1 on; 0: no limit
 * @count:	maximum number of faults; 0: no limit
 * @nr_at:	length of @at, or 0
 * @at:		instead of these but @seed: numbers of the matches, ascending; or NULL
 */
struct shca_fault_when {
	__u64 seed;
	__u64 after_ns;
	__u64 for_ns;
	__u32 probability;
	__u32 every;
	__u32 nth;
	__u32 count;
	__u32 nr_at;
	const __u32 *at;
};

/**
 * struct shca_fault_state - progress of a rule; the caller serialises access
 * @rng:	state of its random numbers, which follow from the seed and @fitted. Therefore
 *		a list of hits reproduces the faults
 * @fitted:	matches
 * @seen:	matches within its time
 * @hits:	faults that have happened
 * @since:	creation of the rule, in ns
 * @listed:	entries of @at that are past
 */
struct shca_fault_state {
	__u64 rng;
	__u64 fitted;
	__u64 seen;
	__u64 hits;
	__u64 since;
	__u32 listed;
};

/* splitmix64; any seed will do, 0 included */
#define SHCA_FAULT_STEP		0x9e3779b97f4a7c15ull
/* Random numbers per match: shca_fault_due() takes one, its caller up to three. */
#define SHCA_FAULT_DRAWS	4

/* The rule's next random number. */
static inline __u64 shca_fault_next(struct shca_fault_state *state)
{
	__u64 z = state->rng += SHCA_FAULT_STEP;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* The next random number below @limit; 0 if @limit is 0. */
static inline __u32 shca_fault_random(struct shca_fault_state *state, __u32 limit)
{
	return (shca_fault_next(state) >> 32) * limit >> 32;
}

/* Does the @seen-th match (from 1 on) count? */
static inline _Bool shca_fault_counts(const struct shca_fault_when *when, __u64 seen)
{
	if (seen < when->nth)
		return 0;
	if (when->every)
		return !((seen - when->nth) % when->every);
	/* @nth alone means that match only. */
	return !when->nth || when->count || seen == when->nth;
}

static inline _Bool shca_fault_is_listed(const struct shca_fault_when *when,
					 struct shca_fault_state *state)
{
	if (state->listed == when->nr_at ||
	    when->at[state->listed] != state->fitted)
		return 0;
	state->listed++;
	return 1;
}

/* Count a match at @now (ns). Return: does the fault happen? */
static inline _Bool shca_fault_due(const struct shca_fault_when *when,
				   struct shca_fault_state *state, __u64 now)
{
	__u64 age = now - state->since;
	__u32 random;

	state->fitted++;
	state->rng = when->seed + state->fitted * SHCA_FAULT_DRAWS * SHCA_FAULT_STEP;
	random = shca_fault_random(state, SHCA_FAULT_ALWAYS);
	if (age < when->after_ns ||
	    (when->for_ns && age - when->after_ns >= when->for_ns))
		return 0;
	state->seen++;
	if ((when->count && state->hits >= when->count) ||
	    !shca_fault_counts(when, state->seen) || random >= when->probability ||
	    (when->at && !shca_fault_is_listed(when, state)))
		return 0;
	state->hits++;
	return 1;
}

#endif
