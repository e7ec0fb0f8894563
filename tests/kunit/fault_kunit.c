// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Rules of fault injection, which decide alike here, in the kernel and in the simulator. */
#include "fixture.h"

#include "../../kernel/core/fault_rule.h"
#include "../../kernel/core/opcode.h"

#define T0	(1000 * FX_MS)

static struct shca_fault_rule fault_rule(void)
{
	return (struct shca_fault_rule){
		.what = SHCA_FAULT_DROP,
		.stage = SHCA_FAULT_TX,
		.verb = SHCA_FAULT_ANY_VERB,
		.opcode = SHCA_FAULT_ANY_OPCODE,
		.when.probability = SHCA_FAULT_ALWAYS,
	};
}

/* Bit i: what the rule decides about number i + 1, of @nr, one a millisecond. */
static u64 fault_run(const struct shca_fault_rule *rule, int nr)
{
	struct shca_fault_state state;
	u64 bits = 0;
	int i;

	shca_fault_start(&state, T0);
	for (i = 0; i < nr; i++)
		if (shca_fault_due(&rule->when, &state, T0 + i * FX_MS))
			bits |= 1ull << i;
	return bits;
}

struct when_row {
	const char *name;
	u32 every;
	u32 nth;
	u32 count;
	u64 after_ns;
	u64 for_ns;
	u64 bits;	/* of ten */
};

static const struct when_row when_rows[] = {
	{ "all", 0, 0, 0, 0, 0, 0x3ff },
	{ "each third", 3, 0, 0, 0, 0, 0x124 },
	{ "the first", 0, 1, 0, 0, 0, 0x001 },
	{ "the fourth", 0, 4, 0, 0, 0, 0x008 },
	{ "from the fourth on, twice", 0, 4, 2, 0, 0, 0x018 },
	{ "once", 0, 0, 1, 0, 0, 0x001 },
	{ "from the second on each third", 3, 2, 0, 0, 0, 0x092 },
	{ "from the second on each third, twice", 3, 2, 2, 0, 0, 0x012 },
	{ "after a time", 0, 0, 0, 3 * FX_MS, 0, 0x3f8 },
	{ "for a time", 0, 0, 0, 0, 2 * FX_MS, 0x003 },
	{ "after a time for a time", 0, 0, 0, 3 * FX_MS, 2 * FX_MS, 0x018 },
	{ "the first after a time", 0, 1, 0, 3 * FX_MS, 0, 0x008 },
};

static void when_desc(const struct when_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(when, when_rows, when_desc);

static void fault_happens_when_due(struct kunit *test)
{
	const struct when_row *row = test->param_value;
	struct shca_fault_rule rule = fault_rule();

	rule.when.every = row->every;
	rule.when.nth = row->nth;
	rule.when.count = row->count;
	rule.when.after_ns = row->after_ns;
	rule.when.for_ns = row->for_ns;
	KUNIT_EXPECT_EQ(test, fault_run(&rule, 10), row->bits);
}

static void fault_counts_what_it_saw(struct kunit *test)
{
	struct shca_fault_rule rule = fault_rule();
	struct shca_fault_state state;
	int i;

	rule.when.every = 2;
	rule.when.after_ns = FX_MS;
	shca_fault_start(&state, T0);
	for (i = 0; i < 6; i++)
		shca_fault_due(&rule.when, &state, T0 + i * FX_MS);
	KUNIT_EXPECT_EQ(test, state.seen, 5);
	KUNIT_EXPECT_EQ(test, state.hits, 2);
}

/* Same seed, same decisions; another seed, others; and about as many as asked for. */
static void fault_has_its_probability(struct kunit *test)
{
	struct shca_fault_rule rule = fault_rule();
	struct shca_fault_state state;
	int i;

	rule.when.probability = SHCA_FAULT_ALWAYS / 2;
	KUNIT_EXPECT_EQ(test, fault_run(&rule, 64), 0x238ad5b72cb7b98bull);
	rule.when.seed = 1;
	KUNIT_EXPECT_EQ(test, fault_run(&rule, 64), 0xfd6f5fa0c26010f7ull);
	rule.when.probability = SHCA_FAULT_ALWAYS / 100;
	shca_fault_start(&state, T0);
	for (i = 0; i < 100000; i++)
		shca_fault_due(&rule.when, &state, T0);
	KUNIT_EXPECT_TRUE(test, state.hits > 900 && state.hits < 1100);
}

static void fault_random_is_below_its_limit(struct kunit *test)
{
	struct shca_fault_state state = {};
	u32 seen = 0;
	int i;

	for (i = 0; i < 100; i++) {
		u32 random = shca_fault_random(&state, 5);

		KUNIT_EXPECT_TRUE(test, random < 5);
		seen |= 1u << random;
	}
	KUNIT_EXPECT_EQ(test, seen, 0x1f);
	KUNIT_EXPECT_EQ(test, shca_fault_random(&state, 0), 0);
}

/* splitmix64 from 0 on, the upper half; a run is the same on each machine. */
static void fault_random_is_the_same_everywhere(struct kunit *test)
{
	static const u32 values[] = {
		0xe220a839, 0x6e789e6a, 0x06c45d18, 0xf88bb8a8,
		0x1b39896a, 0x53cb9f0c, 0x2c829abe, 0xc584133a,
	};
	struct shca_fault_state state = {};
	size_t i;

	/* (a limit of 2^32 - 1 takes 1 off) */
	for (i = 0; i < ARRAY_SIZE(values); i++)
		KUNIT_EXPECT_EQ(test, shca_fault_random(&state, ~0u),
				values[i] - 1);
}

/* To the millionth: this seed draws 883310 first. */
static void fault_has_its_probability_exactly(struct kunit *test)
{
	struct shca_fault_rule rule = fault_rule();

	rule.when.seed = 0x8722191a02d60facull;
	rule.when.probability = 883310;
	KUNIT_EXPECT_EQ(test, fault_run(&rule, 1), 0);
	rule.when.probability++;
	KUNIT_EXPECT_EQ(test, fault_run(&rule, 1), 1);
}

/* A list of what was hit, and the same seed, give the same faults in all details. */
static void fault_is_replayed(struct kunit *test)
{
	struct shca_fault_rule rule = fault_rule(), again = fault_rule();
	struct shca_fault_state state, state_again;
	u32 list[20], random[20], nr = 0;
	int i, hits = 0;

	rule.when.seed = 9;
	rule.when.probability = SHCA_FAULT_ALWAYS / 2;
	rule.when.after_ns = 3 * FX_MS;
	rule.when.for_ns = 30 * FX_MS;
	rule.when.count = 7;
	shca_fault_start(&state, T0);
	for (i = 0; i < 60; i++)
		if (shca_fault_due(&rule.when, &state, T0 + i * FX_MS)) {
			random[nr] = shca_fault_random(&state, ~0u);
			list[nr++] = state.fitted;
		}
	KUNIT_ASSERT_EQ(test, nr, 7);
	KUNIT_EXPECT_TRUE(test, list[0] > 3);
	again.when.seed = 9;
	again.when.at = list;
	again.when.nr_at = nr;
	shca_fault_start(&state_again, T0 + 1000 * FX_MS);
	for (i = 1; i <= 60; i++) {
		if (!shca_fault_due(&again.when, &state_again, T0 + 2000 * FX_MS))
			continue;
		KUNIT_ASSERT_TRUE(test, hits < 7);
		KUNIT_EXPECT_EQ(test, i, list[hits]);
		KUNIT_EXPECT_EQ(test, shca_fault_random(&state_again, ~0u),
				random[hits]);
		hits++;
	}
	KUNIT_EXPECT_EQ(test, hits, 7);
	KUNIT_EXPECT_EQ(test, state_again.hits, 7);
	KUNIT_EXPECT_EQ(test, state_again.seen, 60);
}

/* Behind the last one of a list nothing is looked at. */
static void fault_list_ends(struct kunit *test)
{
	static const u32 list[] = { 1, 2 };
	struct shca_fault_rule rule = fault_rule();

	rule.when.at = list;
	rule.when.nr_at = 1;
	KUNIT_EXPECT_EQ(test, fault_run(&rule, 3), 1);
}

static void fault_list_says_which(struct kunit *test)
{
	static const u32 list[] = { 1, 2, 5, 10 };
	struct shca_fault_rule rule = fault_rule();

	rule.when.at = list;
	rule.when.nr_at = ARRAY_SIZE(list);
	KUNIT_EXPECT_EQ(test, fault_run(&rule, 20), 0x213);
}

/* ---- where ---------------------------------------------------------------- */

#define RC(op)	(SHCA_TRANSPORT_RC + SHCA_OP_##op)

struct type_row {
	u8 opcode;
	u8 syndrome;
	u32 types;	/* bits of enum shca_fault_type, without ANY */
};

#define OF(type)	(1u << SHCA_FAULT_TYPE_##type)

static const struct type_row type_rows[] = {
	{ RC(SEND_ONLY), 0, OF(REQUEST) | OF(SEND) },
	{ RC(SEND_LAST_INV), 0, OF(REQUEST) | OF(SEND) },
	{ RC(WRITE_FIRST), 0, OF(REQUEST) | OF(WRITE) },
	{ RC(READ_REQUEST), 0, OF(REQUEST) | OF(READ) },
	{ RC(READ_RESP_MIDDLE), 0, OF(RESPONSE) | OF(READ_RESPONSE) },
	{ RC(READ_RESP_ONLY), 0, OF(RESPONSE) | OF(READ_RESPONSE) },
	/* A NAK with data is none. */
	{ RC(READ_RESP_ONLY), 0x60, OF(RESPONSE) | OF(READ_RESPONSE) },
	{ RC(CMP_SWAP), 0, OF(REQUEST) | OF(ATOMIC) },
	{ RC(ATOMIC_ACK), 0, OF(RESPONSE) | OF(ATOMIC_ACK) },
	{ RC(ACK), 0x1f, OF(RESPONSE) | OF(ACK) },
	{ RC(ACK), 0x60, OF(RESPONSE) | OF(NAK) },
	{ RC(ACK), 0x21, OF(RESPONSE) | OF(NAK) },
	{ SHCA_OPCODE_CNP, 0, OF(RESPONSE) | OF(CNP) },
	{ 0xff, 0, 0 },
};

static void fault_knows_packets_by_type(struct kunit *test)
{
	struct shca_fault_rule rule = fault_rule();
	size_t i;
	u32 type;

	for (i = 0; i < ARRAY_SIZE(type_rows); i++) {
		struct shca_pkt pkt = { .opcode = type_rows[i].opcode };
		struct shca_fault_at at = { .stage = SHCA_FAULT_TX, .pkt = &pkt };

		pkt.aeth.syndrome = type_rows[i].syndrome;
		rule.type = SHCA_FAULT_TYPE_ANY;
		KUNIT_EXPECT_TRUE(test, shca_fault_fits(&rule, &at));
		rule.type = SHCA_FAULT_TYPE_NR;
		KUNIT_EXPECT_FALSE(test, shca_fault_fits(&rule, &at));
		for (type = 1; type < SHCA_FAULT_TYPE_NR; type++) {
			rule.type = type;
			KUNIT_EXPECT_EQ(test, shca_fault_fits(&rule, &at),
					!!(type_rows[i].types & 1u << type));
		}
	}
}

static void fault_fits_where_it_says(struct kunit *test)
{
	struct shca_pkt pkt = { .opcode = RC(SEND_ONLY), .psn = 5 };
	struct shca_fault_at at = {
		.stage = SHCA_FAULT_TX,
		.qpn = 17,
		.pkt = &pkt,
	};
	struct shca_fault_rule rule = fault_rule();

	rule.qpn = 17;
	KUNIT_EXPECT_TRUE(test, shca_fault_fits(&rule, &at));
	rule.qpn = 18;
	KUNIT_EXPECT_FALSE(test, shca_fault_fits(&rule, &at));
	rule.qpn = 0;
	rule.stage = SHCA_FAULT_RX;
	KUNIT_EXPECT_FALSE(test, shca_fault_fits(&rule, &at));
	rule.stage = SHCA_FAULT_TX;
	rule.opcode = RC(SEND_ONLY);
	KUNIT_EXPECT_TRUE(test, shca_fault_fits(&rule, &at));
	rule.opcode = RC(SEND_FIRST);
	KUNIT_EXPECT_FALSE(test, shca_fault_fits(&rule, &at));
	rule.opcode = SHCA_FAULT_ANY_OPCODE;
	/* There is nothing to corrupt. */
	rule.what = SHCA_FAULT_CORRUPT_PAYLOAD;
	KUNIT_EXPECT_FALSE(test, shca_fault_fits(&rule, &at));
	pkt.paylen = 1;
	KUNIT_EXPECT_TRUE(test, shca_fault_fits(&rule, &at));
}

static void fault_range_of_psns_may_wrap(struct kunit *test)
{
	static const struct {
		u32 psn;
		bool fits;
	} rows[] = {
		{ 0xfffffd, false }, { 0xfffffe, true }, { 0xffffff, true },
		{ 0, true }, { 1, true }, { 2, false },
	};
	struct shca_fault_rule rule = fault_rule();
	struct shca_pkt pkt = { .opcode = RC(SEND_ONLY) };
	struct shca_fault_at at = { .stage = SHCA_FAULT_TX, .pkt = &pkt };
	size_t i;

	rule.has_psn = true;
	rule.psn = 0xfffffe;
	rule.psn_last = 1;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		pkt.psn = rows[i].psn;
		KUNIT_EXPECT_EQ(test, shca_fault_fits(&rule, &at), rows[i].fits);
	}
}

struct memory_row {
	const char *name;
	u8 opcode;
	u64 va;
	u32 len;
	bool has_va;
	bool has_rkey;
	u32 rkey;
	bool fits;
};

/* The rule names 0x1000 to 0x1fff, and the packet key 0x77. */
static const struct memory_row memory_rows[] = {
	{ "within", SHCA_OP_WRITE_FIRST, 0x1100, 8, true, false, 0, true },
	{ "its first byte", SHCA_OP_WRITE_ONLY, 0x1fff, 8, true, false, 0, true },
	{ "its last byte", SHCA_OP_READ_REQUEST, 0xff0, 17, true, false, 0, true },
	{ "before", SHCA_OP_READ_REQUEST, 0xff0, 16, true, false, 0, false },
	{ "behind", SHCA_OP_WRITE_ONLY, 0x2000, 8, true, false, 0, false },
	{ "around", SHCA_OP_WRITE_FIRST, 0, 0x3000, true, false, 0, true },
	{ "a place", SHCA_OP_WRITE_ONLY, 0x1000, 0, true, false, 0, true },
	{ "a place before", SHCA_OP_WRITE_ONLY, 0xfff, 0, true, false, 0, false },
	{ "past the end of all", SHCA_OP_WRITE_ONLY, ~0ull, 8, true, false, 0, false },
	{ "an atomic", SHCA_OP_FETCH_ADD, 0x1fff, 0, true, false, 0, true },
	{ "an atomic, its last byte", SHCA_OP_CMP_SWAP, 0xff9, 0, true, false, 0, true },
	{ "an atomic before", SHCA_OP_CMP_SWAP, 0xff8, 0, true, false, 0, false },
	{ "key", SHCA_OP_WRITE_ONLY, 0, 8, false, true, 0x77, true },
	{ "another key", SHCA_OP_WRITE_ONLY, 0, 8, false, true, 0x78, false },
	{ "key of an atomic", SHCA_OP_FETCH_ADD, 0, 8, false, true, 0x77, true },
	{ "key and another place", SHCA_OP_WRITE_ONLY, 0, 8, true, true, 0x77, false },
	{ "it goes on", SHCA_OP_WRITE_MIDDLE, 0x1100, 8, true, false, 0, false },
	{ "a SEND", SHCA_OP_SEND_ONLY, 0x1100, 8, false, true, 0x77, false },
	{ "an answer", SHCA_OP_READ_RESP_ONLY, 0x1100, 8, true, false, 0, false },
};

static void memory_desc(const struct memory_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(memory, memory_rows, memory_desc);

static void fault_fits_remote_memory(struct kunit *test)
{
	const struct memory_row *row = test->param_value;
	struct shca_fault_rule rule = fault_rule();
	struct shca_pkt pkt = { .opcode = row->opcode };
	struct shca_fault_at at = { .stage = SHCA_FAULT_TX, .pkt = &pkt };

	if (row->opcode == SHCA_OP_FETCH_ADD || row->opcode == SHCA_OP_CMP_SWAP) {
		pkt.atomic.va = row->va;
		pkt.atomic.rkey = 0x77;
	} else {
		pkt.reth.va = row->va;
		pkt.reth.len = row->len;
		pkt.reth.rkey = 0x77;
	}
	rule.has_va = row->has_va;
	rule.va = 0x1000;
	rule.va_last = 0x1fff;
	rule.has_rkey = row->has_rkey;
	rule.rkey = row->rkey;
	KUNIT_EXPECT_EQ(test, shca_fault_fits(&rule, &at), row->fits);
}

/* An address that wraps ends with the last byte of all. */
static void fault_range_of_memory_ends_with_all(struct kunit *test)
{
	struct shca_fault_rule rule = fault_rule();
	struct shca_pkt pkt = { .opcode = SHCA_OP_WRITE_ONLY };
	struct shca_fault_at at = { .stage = SHCA_FAULT_TX, .pkt = &pkt };

	pkt.reth.va = ~0ull - 3;
	pkt.reth.len = 8;
	rule.has_va = true;
	rule.va = ~0ull;
	rule.va_last = ~0ull;
	KUNIT_EXPECT_TRUE(test, shca_fault_fits(&rule, &at));
	pkt.reth.len = 3;
	KUNIT_EXPECT_FALSE(test, shca_fault_fits(&rule, &at));
}

static void fault_fits_messages_by_number(struct kunit *test)
{
	struct shca_fault_at at = { .stage = SHCA_FAULT_SEND };
	struct shca_fault_rule rule = fault_rule();
	u32 fits = 0;

	rule.stage = SHCA_FAULT_SEND;
	rule.msg = 2;
	rule.msg_last = 3;
	/* 0: it has no number */
	for (at.msg = 0; at.msg < 6; at.msg++)
		fits |= shca_fault_fits(&rule, &at) << at.msg;
	KUNIT_EXPECT_EQ(test, fits, 0x0c);
	/* a rule that names none */
	rule.msg = 0;
	KUNIT_EXPECT_TRUE(test, shca_fault_fits(&rule, &at));
}

static void fault_fits_completion_queues(struct kunit *test)
{
	struct shca_fault_at at = { .stage = SHCA_FAULT_NOTIFY, .cqn = 3 };
	struct shca_fault_rule rule = fault_rule();

	rule.stage = SHCA_FAULT_NOTIFY;
	KUNIT_EXPECT_TRUE(test, shca_fault_fits(&rule, &at));
	rule.cqn = 3;
	KUNIT_EXPECT_TRUE(test, shca_fault_fits(&rule, &at));
	rule.cqn = 4;
	KUNIT_EXPECT_FALSE(test, shca_fault_fits(&rule, &at));
}

/* A message is refused at its beginning, and not within. */
static void fault_refuses_messages(struct kunit *test)
{
	struct shca_fault_rule rule = fault_rule();
	struct shca_pkt pkt = { .opcode = SHCA_OP_SEND_FIRST };
	struct shca_fault_at at = { .stage = SHCA_FAULT_RESPOND, .pkt = &pkt };

	rule.what = SHCA_FAULT_NAK;
	rule.stage = SHCA_FAULT_RESPOND;
	KUNIT_EXPECT_TRUE(test, shca_fault_fits(&rule, &at));
	pkt.opcode = SHCA_OP_SEND_MIDDLE;
	KUNIT_EXPECT_FALSE(test, shca_fault_fits(&rule, &at));
	pkt.opcode = SHCA_OP_WRITE_ONLY;
	KUNIT_EXPECT_TRUE(test, shca_fault_fits(&rule, &at));
}

/* Only what has a key, or goes on with one, can lose it. */
static void fault_revokes_what_has_a_key(struct kunit *test)
{
	static const struct {
		u8 opcode;
		bool fits;
	} rows[] = {
		{ SHCA_OP_WRITE_FIRST, true }, { SHCA_OP_WRITE_MIDDLE, true },
		{ SHCA_OP_WRITE_LAST_IMM, true }, { SHCA_OP_READ_REQUEST, true },
		{ SHCA_OP_FETCH_ADD, true }, { SHCA_OP_FLUSH, true },
		{ SHCA_OP_SEND_ONLY, false }, { SHCA_OP_SEND_ONLY_INV, false },
	};
	struct shca_fault_rule rule = fault_rule();
	struct shca_pkt pkt = {};
	struct shca_fault_at at = { .stage = SHCA_FAULT_RESPOND, .pkt = &pkt };
	size_t i;

	rule.what = SHCA_FAULT_REVOKE;
	rule.stage = SHCA_FAULT_RESPOND;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		pkt.opcode = rows[i].opcode;
		KUNIT_EXPECT_EQ(test, shca_fault_fits(&rule, &at), rows[i].fits);
	}
}

/* ---- how long it delays ------------------------------------------------------ */

struct wait_row {
	const char *name;
	u8 dist;
	u64 mean;	/* of the random part, in us: exact to a hundredth */
	u64 below;	/* so many of 10,000 are less than 250 us ... */
	u64 most;	/* ... and no random part is longer than this */
};

/*
 * Jitter 1 ms. An even one: a quarter. A normal one, the sum of four: (4 * 0.25)^4 / 24 of all.
 * Exponential: 1 - e^-0.25.
 */
static const struct wait_row wait_rows[] = {
	{ "uniform", SHCA_FAULT_DIST_UNIFORM, 500, 2500, 1000 },
	{ "normal", SHCA_FAULT_DIST_NORMAL, 500, 417, 1000 },
	{ "exponential", SHCA_FAULT_DIST_EXPONENTIAL, 1000, 2212, 22181 },
};

static void wait_desc(const struct wait_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(wait, wait_rows, wait_desc);

static void fault_waits_as_distributed(struct kunit *test)
{
	const struct wait_row *row = test->param_value;
	struct shca_fault_rule rule = fault_rule();
	struct shca_fault_state state = {};
	u64 sum = 0, below = 0, most = 0, us;
	int i;

	rule.delay_ns = 5 * FX_MS;
	rule.jitter_ns = FX_MS;
	rule.dist = row->dist;
	for (i = 0; i < 10000; i++) {
		us = div64_u64(shca_fault_wait(&rule, &state) - rule.delay_ns, 1000);
		sum += us;
		below += us < 250;
		most = max_t(u64, most, us);
	}
	KUNIT_EXPECT_TRUE(test, sum > row->mean * 9700 && sum < row->mean * 10500);
	KUNIT_EXPECT_TRUE(test, below > row->below - 150 && below < row->below + 150);
	KUNIT_EXPECT_TRUE(test, most <= row->most);
	/* The tail is what it is for. */
	KUNIT_EXPECT_EQ(test, most > 6 * FX_MS / 1000,
			row->dist == SHCA_FAULT_DIST_EXPONENTIAL);
}

/*
 * The same seed gives the same waits. By splitmix64 from 0 on: the sum of four parts of 16
 * bits, or the natural logarithm of the upper half, each of 4 s.
 */
static void fault_wait_is_the_same_everywhere(struct kunit *test)
{
	static const u32 normal[] = { 2824784, 2080307, 1160949, 2646164 };
	static const u32 exponential[] = { 124078 * 4, 840423 * 4, 3633113, 29550 * 4 };
	struct shca_fault_rule rule = fault_rule();
	struct shca_fault_state state = {};
	u64 us;
	u32 i;

	rule.dist = SHCA_FAULT_DIST_NORMAL;
	rule.jitter_ns = 4000 * FX_MS;
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, shca_fault_wait(&rule, &state), normal[i] * 1000ull);
	state.rng = 0;
	rule.dist = SHCA_FAULT_DIST_EXPONENTIAL;
	for (i = 0; i < 4; i++) {
		/* (none is longer than 5 s) */
		rule.jitter_ns = (i == 2 ? 1000 : 4000) * FX_MS;
		us = div64_u64(shca_fault_wait(&rule, &state), 1000);
		/* the error of the parabola: a hundredth of a place */
		KUNIT_EXPECT_LE(test, us, exponential[i] + 27726u);
		KUNIT_EXPECT_GE(test, us + 27726u, exponential[i]);
	}
}

/* A jitter of a microsecond is none or one. */
static void fault_wait_reaches_its_jitter(struct kunit *test)
{
	static const u8 dists[] = { SHCA_FAULT_DIST_UNIFORM, SHCA_FAULT_DIST_NORMAL };
	struct shca_fault_rule rule = fault_rule();
	struct shca_fault_state state = {};
	u64 wait;
	u32 d, i, ones;

	rule.jitter_ns = 1000;
	for (d = 0; d < ARRAY_SIZE(dists); d++) {
		rule.dist = dists[d];
		ones = 0;
		for (i = 0; i < 100; i++) {
			wait = shca_fault_wait(&rule, &state);
			KUNIT_EXPECT_TRUE(test, !wait || wait == 1000);
			ones += wait == 1000;
		}
		KUNIT_EXPECT_TRUE(test, ones > 25 && ones < 75);
	}
}

static void fault_waits_without_jitter(struct kunit *test)
{
	struct shca_fault_rule rule = fault_rule();
	struct shca_fault_state state = {};

	rule.delay_ns = 1234;
	rule.dist = SHCA_FAULT_DIST_EXPONENTIAL;
	KUNIT_EXPECT_EQ(test, shca_fault_wait(&rule, &state), 1234);
	KUNIT_EXPECT_EQ(test, state.rng, 0);
	/* Never longer than a packet may wait. */
	rule.delay_ns = SHCA_FAULT_DELAY_MAX - 1000;
	rule.jitter_ns = SHCA_FAULT_DELAY_MAX;
	KUNIT_EXPECT_EQ(test, shca_fault_wait(&rule, &state), SHCA_FAULT_DELAY_MAX);
}

static void fault_fits_calls_and_requests(struct kunit *test)
{
	struct shca_fault_at call = {
		.stage = SHCA_FAULT_VERB,
		.verb = SHCA_FAULT_VERB_REG_MR,
	};
	struct shca_fault_at wr = { .stage = SHCA_FAULT_SEND, .wr_id = 7 };
	struct shca_fault_rule rule = fault_rule();

	rule.stage = SHCA_FAULT_VERB;
	KUNIT_EXPECT_TRUE(test, shca_fault_fits(&rule, &call));
	rule.verb = SHCA_FAULT_VERB_REG_MR;
	KUNIT_EXPECT_TRUE(test, shca_fault_fits(&rule, &call));
	rule.verb = SHCA_FAULT_VERB_CREATE_CQ;
	KUNIT_EXPECT_FALSE(test, shca_fault_fits(&rule, &call));
	rule.stage = SHCA_FAULT_SEND;
	KUNIT_EXPECT_TRUE(test, shca_fault_fits(&rule, &wr));
	rule.has_wr_id = true;
	rule.wr_id = 7;
	KUNIT_EXPECT_TRUE(test, shca_fault_fits(&rule, &wr));
	rule.wr_id = 8;
	KUNIT_EXPECT_FALSE(test, shca_fault_fits(&rule, &wr));
}

static void fault_has_a_stage(struct kunit *test)
{
	static const u8 stages[SHCA_FAULT_NR] = {
		[SHCA_FAULT_NAK] = SHCA_FAULT_RESPOND,
		[SHCA_FAULT_COMPLETE] = SHCA_FAULT_SEND,
		[SHCA_FAULT_QP_FATAL] = SHCA_FAULT_SEND,
		[SHCA_FAULT_CQ_OVERRUN] = SHCA_FAULT_CQ,
		[SHCA_FAULT_FAIL] = SHCA_FAULT_VERB,
		[SHCA_FAULT_EVENT] = SHCA_FAULT_NOW,
		[SHCA_FAULT_REVOKE] = SHCA_FAULT_RESPOND,
		[SHCA_FAULT_LOSE_EVENT] = SHCA_FAULT_NOTIFY,
		[SHCA_FAULT_LOSE_DOORBELL] = SHCA_FAULT_DOORBELL,
		[SHCA_FAULT_DELAY_DOORBELL] = SHCA_FAULT_DOORBELL,
	};
	u8 what;

	/* All others are those of packets: 0 is SHCA_FAULT_TX. */
	for (what = 0; what < SHCA_FAULT_NR; what++) {
		KUNIT_EXPECT_EQ(test, shca_fault_stage_of(what, false),
				stages[what]);
		KUNIT_EXPECT_EQ(test, shca_fault_stage_of(what, true),
				stages[what] ? stages[what] : SHCA_FAULT_RX);
	}
}

/* ---- the responder that refuses ------------------------------------------- */

struct forge_row {
	const char *name;
	u8 opcode;
	u8 nak;
	u8 syndrome;
	enum shca_verdict verdict;
	u32 events;
	bool takes_recv;
	bool fails;
};

static const struct forge_row forge_rows[] = {
	{ "SEND: RNR", SHCA_OP_SEND_ONLY, SHCA_FAULT_NAK_RNR, 0x2c,
	  SHCA_RX_RNR, 0, false, false },
	{ "SEND: invalid request", SHCA_OP_SEND_ONLY, SHCA_FAULT_NAK_INVALID,
	  0x61, SHCA_RX_INVALID, 0, true, true },
	{ "SEND: access error", SHCA_OP_SEND_ONLY, SHCA_FAULT_NAK_ACCESS,
	  0x62, SHCA_RX_ACCESS, 0, true, true },
	{ "SEND: operation error", SHCA_OP_SEND_ONLY,
	  SHCA_FAULT_NAK_OPERATION, 0x63, SHCA_RX_OPERATION, 0, true, true },
	{ "WRITE: access error", SHCA_OP_WRITE_ONLY, SHCA_FAULT_NAK_ACCESS,
	  0x62, SHCA_RX_ACCESS, SHCA_EV_ACCESS_ERR, false, true },
	{ "READ: operation error", SHCA_OP_READ_REQUEST,
	  SHCA_FAULT_NAK_OPERATION, 0x63, SHCA_RX_OPERATION, SHCA_EV_FATAL,
	  false, true },
};

static void forge_desc(const struct forge_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(forge, forge_rows, forge_desc);

static void fault_responder_refuses(struct kunit *test)
{
	const struct forge_row *row = test->param_value;
	struct fx *fx = test->priv;
	struct shca_resp_attr attr;
	struct shca_resp_out out;
	struct shca_pkt pkt;

	fx_resp_attr(&attr);
	attr.min_rnr_timer = 12;
	fx_resp_start(fx, &attr);
	fx->recvs = 1;
	fx_request(&pkt, row->opcode, FX_RQ_PSN, 8);
	KUNIT_ASSERT_TRUE(test, shca_resp_expects(&fx->resp, &pkt));
	KUNIT_EXPECT_EQ(test, shca_resp_forge(&fx->resp, &pkt, row->nak,
					      SHCA_WC_LOC_PROT_ERR, &out),
			row->verdict);
	KUNIT_EXPECT_EQ(test, fx->resp.stats.rx[row->verdict], 1);
	KUNIT_EXPECT_EQ(test, out.events, row->events);
	KUNIT_EXPECT_EQ(test, out.has_wc, row->takes_recv);
	if (out.has_wc)
		KUNIT_EXPECT_EQ(test, out.wc.status, SHCA_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_EQ(test, out.wc.vendor_err, SHCA_VERR_NONE);
	KUNIT_EXPECT_EQ(test, fx->nr_recv, row->takes_recv);
	fx_expect_ack(test, FX_RQ_PSN, row->syndrome);
	KUNIT_EXPECT_EQ(test, fx->resp.state,
			row->fails ? SHCA_SIDE_ERR : SHCA_SIDE_READY);
	/* After an RNR NAK it comes again, and is executed. */
	if (!row->fails)
		KUNIT_EXPECT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_OK);
}

/* A SEND that is to fail its receive request draws an RNR NAK where there is none. */
static void fault_without_a_receive_is_rnr(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_resp_attr attr;
	struct shca_resp_out out;
	struct shca_pkt pkt;

	fx_resp_attr(&attr);
	fx_resp_start(fx, &attr);
	fx->recv = SHCA_RECV_EMPTY;
	fx_request(&pkt, SHCA_OP_SEND_ONLY, FX_RQ_PSN, 8);
	KUNIT_EXPECT_EQ(test, shca_resp_forge(&fx->resp, &pkt,
					      SHCA_FAULT_NAK_OPERATION,
					      SHCA_WC_LOC_PROT_ERR, &out),
			SHCA_RX_RNR);
	KUNIT_EXPECT_EQ(test, fx->resp.state, SHCA_SIDE_READY);
}

/* XRC: no SRQ is selected for a request that is not executed. */
static void fault_of_xrc_takes_no_receive(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_resp_attr attr;
	struct shca_resp_out out;
	struct shca_pkt pkt;

	fx_resp_attr(&attr);
	attr.transport = SHCA_TRANSPORT_XRC;
	fx_resp_start(fx, &attr);
	fx_request(&pkt, SHCA_TRANSPORT_XRC | SHCA_OP_SEND_ONLY, FX_RQ_PSN, 8);
	KUNIT_EXPECT_EQ(test, shca_resp_forge(&fx->resp, &pkt,
					      SHCA_FAULT_NAK_ACCESS,
					      SHCA_WC_LOC_PROT_ERR, &out),
			SHCA_RX_ACCESS);
	KUNIT_EXPECT_FALSE(test, out.has_wc);
	KUNIT_EXPECT_EQ(test, fx->nr_recv, 0u);
}

static void fault_responder_expects(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_resp_attr attr;
	struct shca_pkt pkt;

	fx_request(&pkt, SHCA_OP_SEND_FIRST, FX_RQ_PSN, FX_MTU);
	shca_resp_reset(&fx->resp);
	KUNIT_EXPECT_FALSE(test, shca_resp_expects(&fx->resp, &pkt));
	fx_resp_attr(&attr);
	fx_resp_start(fx, &attr);
	KUNIT_EXPECT_TRUE(test, shca_resp_expects(&fx->resp, &pkt));
	/* In error it executes nothing. */
	shca_resp_fail(&fx->resp);
	KUNIT_EXPECT_FALSE(test, shca_resp_is_next(&fx->resp, &pkt));
	fx_resp_start(fx, &attr);
	pkt.psn = FX_RQ_PSN + 1;
	KUNIT_EXPECT_FALSE(test, shca_resp_expects(&fx->resp, &pkt));
	pkt.psn = FX_RQ_PSN;
	/* It begins no message, it is no request, it is another transport's. */
	pkt.opcode = SHCA_OP_SEND_MIDDLE;
	KUNIT_EXPECT_TRUE(test, shca_resp_is_next(&fx->resp, &pkt));
	KUNIT_EXPECT_FALSE(test, shca_resp_expects(&fx->resp, &pkt));
	pkt.opcode = SHCA_OP_ACK;
	KUNIT_EXPECT_FALSE(test, shca_resp_expects(&fx->resp, &pkt));
	pkt.opcode = SHCA_TRANSPORT_XRC | SHCA_OP_SEND_ONLY;
	KUNIT_EXPECT_FALSE(test, shca_resp_expects(&fx->resp, &pkt));
	attr.transport = SHCA_TRANSPORT_XRC;
	fx_resp_start(fx, &attr);
	KUNIT_EXPECT_TRUE(test, shca_resp_expects(&fx->resp, &pkt));
	attr.transport = SHCA_TRANSPORT_UC;
	pkt.opcode = SHCA_TRANSPORT_UC | SHCA_OP_SEND_ONLY;
	fx_resp_start(fx, &attr);
	KUNIT_EXPECT_FALSE(test, shca_resp_expects(&fx->resp, &pkt));
}

static struct kunit_case fault_cases[] = {
	KUNIT_CASE_PARAM(fault_happens_when_due, when_gen_params),
	KUNIT_CASE(fault_counts_what_it_saw),
	KUNIT_CASE(fault_has_its_probability),
	KUNIT_CASE(fault_random_is_below_its_limit),
	KUNIT_CASE(fault_random_is_the_same_everywhere),
	KUNIT_CASE(fault_has_its_probability_exactly),
	KUNIT_CASE(fault_is_replayed),
	KUNIT_CASE(fault_list_says_which),
	KUNIT_CASE(fault_knows_packets_by_type),
	KUNIT_CASE(fault_fits_where_it_says),
	KUNIT_CASE(fault_range_of_psns_may_wrap),
	KUNIT_CASE_PARAM(fault_fits_remote_memory, memory_gen_params),
	KUNIT_CASE(fault_fits_messages_by_number),
	KUNIT_CASE(fault_fits_completion_queues),
	KUNIT_CASE(fault_refuses_messages),
	KUNIT_CASE(fault_revokes_what_has_a_key),
	KUNIT_CASE_PARAM(fault_waits_as_distributed, wait_gen_params),
	KUNIT_CASE(fault_waits_without_jitter),
	KUNIT_CASE(fault_fits_calls_and_requests),
	KUNIT_CASE(fault_has_a_stage),
	KUNIT_CASE_PARAM(fault_responder_refuses, forge_gen_params),
	KUNIT_CASE(fault_without_a_receive_is_rnr),
	KUNIT_CASE(fault_of_xrc_takes_no_receive),
	KUNIT_CASE(fault_responder_expects),
	KUNIT_CASE(fault_range_of_memory_ends_with_all),
	KUNIT_CASE(fault_wait_is_the_same_everywhere),
	KUNIT_CASE(fault_wait_reaches_its_jitter),
	KUNIT_CASE(fault_list_ends),
	{}
};

static struct kunit_suite fault_suite = {
	.name = "softhca_fault",
	.init = fx_init,
	.test_cases = fault_cases,
};

kunit_test_suites(&fault_suite);
