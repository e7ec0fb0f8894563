// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Reductions of several threads, a member of the job each: all operations and types, and each
 * element compared with what the order of the tree gives, to the bit.
 *
 *	reduce-test NODE ORDER COUNT ROUNDS DEVICE...
 *
 * NODE is the LID of an aggregation node, ORDER the tree such as ((0 1) (2 3)), of which ranks are
 * places in the list of devices. Then, for one line of output: the sum of COUNT f32, ROUNDS times.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "softhca-reduce.h"

#define MEMBERS_MAX	64

union value {
	int32_t i32;
	int64_t i64;
	float f32;
	double f64;
	uint64_t bits;
};

struct member {
	pthread_t thread;
	const char *device;
	struct softhca_reduce_attr attr;
	uint64_t again;
	bool failed;
};

static struct member members[MEMBERS_MAX];
static const char *order;
static size_t most;
static int rounds;

static size_t size_of(int type)
{
	return type == SOFTHCA_REDUCE_I32 || type == SOFTHCA_REDUCE_F32 ? 4 : 8;
}

/* An element of a member, of a magnitude that depends on its place. */
static union value element(int type, int rank, size_t i)
{
	uint64_t x = (i + 1) * 0x9e3779b97f4a7c15ull + rank * 0xbf58476d1ce4e5b9ull;
	union value value = { .bits = 0 };
	double d;

	x ^= x >> 29;
	x *= 0x94d049bb133111ebull;
	x ^= x >> 32;
	d = (double)(int64_t)x / (double)(1ull << (x % 61));
	if (type == SOFTHCA_REDUCE_F32)
		value.f32 = d;
	else if (type == SOFTHCA_REDUCE_F64)
		value.f64 = d;
	else if (type == SOFTHCA_REDUCE_I32)
		value.i32 = x;
	else
		value.bits = x;
	return value;
}

#define APPLY(a, b) (op == SOFTHCA_REDUCE_MIN ? ((b) < (a) ? (b) : (a)) : ((b) > (a) ? (b) : (a)))

static union value apply(int type, int op, union value a, union value b)
{
	bool sums = op == SOFTHCA_REDUCE_SUM;
	union value c = { .bits = 0 };

	if (type == SOFTHCA_REDUCE_F32)
		c.f32 = sums ? a.f32 + b.f32 : APPLY(a.f32, b.f32);
	else if (type == SOFTHCA_REDUCE_F64)
		c.f64 = sums ? a.f64 + b.f64 : APPLY(a.f64, b.f64);
	else if (op == SOFTHCA_REDUCE_AND)
		c.bits = a.bits & b.bits;
	else if (op == SOFTHCA_REDUCE_OR)
		c.bits = a.bits | b.bits;
	else if (type == SOFTHCA_REDUCE_I32)
		c.i32 = sums ? (int32_t)((uint32_t)a.i32 + (uint32_t)b.i32) : APPLY(a.i32, b.i32);
	else
		c.i64 = sums ? (int64_t)((uint64_t)a.i64 + (uint64_t)b.i64) : APPLY(a.i64, b.i64);
	return c;
}

/* What the tree gives: a number, or a list in parentheses. */
static union value expected(int type, int op, size_t i, const char **at)
{
	union value value = { .bits = 0 }, other;
	bool any = false;

	*at += strspn(*at, " ");
	if (**at != '(')
		return element(type, strtol(*at, (char **)at, 10), i);
	for (++*at; *at += strspn(*at, " "), **at && **at != ')';) {
		other = expected(type, op, i, at);
		value = any ? apply(type, op, value, other) : other;
		any = true;
	}
	if (**at)
		++*at;
	return value;
}

/* Results that are expected, which all threads compare with: made by the first that needs them. */
static struct {
	union value *values;
	size_t count;
} results[SOFTHCA_REDUCE_F64 + 1][SOFTHCA_REDUCE_OR + 1];
static pthread_mutex_t results_lock = PTHREAD_MUTEX_INITIALIZER;

static const union value *results_of(int type, int op, size_t count)
{
	union value *values;
	const char *at;
	size_t i;

	pthread_mutex_lock(&results_lock);
	values = results[type][op].values;
	if (results[type][op].count < count) {
		/* (another thread may look at those that are there already, so they stay) */
		values = calloc(count, sizeof(*values));
		if (!values)
			exit(2);
		for (i = 0; i < count; i++) {
			at = order;
			values[i] = expected(type, op, i, &at);
		}
		results[type][op].values = values;
		results[type][op].count = count;
	}
	pthread_mutex_unlock(&results_lock);
	return values;
}

static bool try_one(struct softhca_reduce *job, const struct member *member, int type, int op, size_t count, bool in_place)
{
	size_t size = size_of(type), i;
	char *in = calloc(count, size), *out = in_place ? in : malloc(count * size);
	const union value *wanted = results_of(type, op, count);
	bool right = false;
	union value value;
	int error;

	if (!in || !out)
		exit(2);
	for (i = 0; i < count; i++) {
		value = element(type, member->attr.rank, i);
		memcpy(in + i * size, &value, size);
	}
	error = softhca_reduce_all(job, in, out, count, type, op);
	if (error) {
		fprintf(stderr, "rank %u, type %d, operation %d, %zu elements: %s\n", member->attr.rank, type, op, count,
			strerror(error));
		goto out;
	}
	for (i = 0; i < count; i++) {
		if (memcmp(&wanted[i], out + i * size, size)) {
			fprintf(stderr, "rank %u, type %d, operation %d: element %zu of %zu is wrong\n", member->attr.rank, type,
				op, i, count);
			goto out;
		}
	}
	right = true;
out:
	if (!in_place)
		free(out);
	free(in);
	return right;
}

static bool try_all(struct softhca_reduce *job, const struct member *member)
{
	static const size_t counts[] = { 1, 3, 1000, 10000 };
	int type, op, i;

	for (type = SOFTHCA_REDUCE_I32; type <= SOFTHCA_REDUCE_F64; type++)
		for (op = SOFTHCA_REDUCE_SUM; op <= (type <= SOFTHCA_REDUCE_I64 ? SOFTHCA_REDUCE_OR : SOFTHCA_REDUCE_MAX); op++)
			for (i = 0; i < 4; i++)
				if (!try_one(job, member, type, op, counts[i], i % 2))
					return false;
	return true;
}

static void *run(void *argument)
{
	struct member *member = argument;
	struct softhca_reduce *job = softhca_reduce_open(member->device, &member->attr);
	int i;

	member->failed = true;
	if (!job) {
		fprintf(stderr, "rank %u joins: %s\n", member->attr.rank, strerror(errno));
		return NULL;
	}
	member->failed = rounds ? false : !try_all(job, member);
	for (i = 0; i < rounds && !member->failed; i++)
		member->failed = !try_one(job, member, SOFTHCA_REDUCE_F32, SOFTHCA_REDUCE_SUM, most, false);
	member->again = softhca_reduce_again(job);
	softhca_reduce_close(job);
	return NULL;
}

int main(int argc, char **argv)
{
	int nr = argc - 5, i, bad = 0;
	struct timespec begin, end;
	uint64_t key, again = 0;

	if (nr < 1 || nr > MEMBERS_MAX) {
		fputs("usage: reduce-test NODE ORDER COUNT ROUNDS DEVICE...\nROUNDS 0: all operations and types\n", stderr);
		return 2;
	}
	order = argv[2];
	most = strtoul(argv[3], NULL, 0);
	rounds = atoi(argv[4]);
	if (getrandom(&key, sizeof(key), 0) != sizeof(key))
		return 2;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (i = 0; i < nr; i++) {
		members[i].device = argv[5 + i];
		members[i].attr = (struct softhca_reduce_attr){ .key = key, .node = strtoul(argv[1], NULL, 0), .rank = i, .size = nr };
		if (pthread_create(&members[i].thread, NULL, run, &members[i]))
			return 2;
	}
	for (i = 0; i < nr; i++) {
		pthread_join(members[i].thread, NULL);
		bad += members[i].failed;
		again += members[i].again;
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%s: %d members, %.3f s, %llu datagrams again\n", bad ? "wrong" : "right", nr,
	       end.tv_sec - begin.tv_sec + (end.tv_nsec - begin.tv_nsec) / 1e9, (unsigned long long)again);
	return bad ? 1 : 0;
}
