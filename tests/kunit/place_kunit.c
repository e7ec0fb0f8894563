// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The order in which bytes of a message get into memory.  IBTA o9-20 promises none. Yet
 * programs that see the last byte, or an aligned word at the end, take it for the whole
 * message. Those that see a byte of the next message take the one before for whole.
 */
#include "fixture.h"

static void place_barrier(void);
#undef smp_wmb
/* Not the kernel's: this one looks at the memory. */
#define smp_wmb() place_barrier()
#include "../../kernel/mem/place.h"

#define PLACE_BYTES	4200
#define PLACE_EMPTY	0xee

/* @len bytes at @off from an aligned address: the last @last come in one store. */
struct place_row {
	u32 off, len, last;
};

static const struct place_row place_rows[] = {
	{ 0, 1, 1 },	{ 3, 1, 1 },	{ 7, 1, 1 },
	{ 0, 2, 2 },	{ 6, 2, 2 },	{ 7, 2, 1 },
	{ 5, 3, 2 },	{ 4, 4, 4 },	{ 6, 4, 2 },
	{ 2, 6, 4 },	{ 0, 7, 1 },	{ 1, 7, 4 },
	{ 0, 8, 8 },	{ 1, 8, 1 },	{ 4, 8, 4 },
	{ 0, 12, 4 },	{ 0, 64, 8 },	{ 3, 61, 8 },
	{ 8, 65, 1 },	{ 3, 4093, 8 },	{ 0, 4094, 2 },
};

static void place_desc(const struct place_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u bytes at %u", row->len, row->off);
}

KUNIT_ARRAY_PARAM(place, place_rows, place_desc);

/*
 * @first:	bytes of the source that have been read
 * @before:	bytes that a program sees at the first barrier
 * @after:	the same at the second one
 */
struct place_memory {
	u8 bytes[PLACE_BYTES] __attribute__((__aligned__(8)));
	const struct place_row *row;
	u32 first, reads, barriers, before, after;
};

static struct place_memory *place_now;

/* What is never empty. */
static u8 place_byte(u32 i)
{
	return i % 199;
}

static void place_give(void *from, void *dst, u32 len)
{
	struct place_memory *memory = from;
	u8 *p = dst;

	memory->reads++;
	while (len--)
		*p++ = place_byte(memory->first++);
}

/* How many of the first bytes are there, if no other one is. */
static u32 place_there(const struct place_memory *memory)
{
	u32 nr = 0, i;

	while (nr < memory->row->len &&
	       memory->bytes[memory->row->off + nr] == place_byte(nr))
		nr++;
	for (i = 0; i < PLACE_BYTES; i++)
		if ((i < memory->row->off || i >= memory->row->off + nr) &&
		    memory->bytes[i] != PLACE_EMPTY)
			return ~0u;
	return nr;
}

static void place_barrier(void)
{
	if (!place_now->barriers++)
		place_now->before = place_there(place_now);
	else
		place_now->after = place_there(place_now);
}

static void place_end_is_last(struct kunit *test)
{
	struct place_memory *memory = kunit_kzalloc(test, sizeof(*memory), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, memory);
	memory->row = test->param_value;
	memset(memory->bytes, PLACE_EMPTY, sizeof(memory->bytes));
	place_now = memory;
	shca_place(memory->bytes + memory->row->off, memory->row->len, place_give, memory);

	KUNIT_EXPECT_EQ(test, memory->barriers, 2u);
	KUNIT_EXPECT_EQ(test, memory->before, memory->row->len - memory->row->last);
	KUNIT_EXPECT_EQ(test, memory->after, memory->row->len);
	KUNIT_EXPECT_EQ(test, place_there(memory), memory->row->len);
	KUNIT_EXPECT_LE(test, memory->reads, 2u);
}

static struct kunit_case place_cases[] = {
	KUNIT_CASE_PARAM(place_end_is_last, place_gen_params),
	{}
};

static struct kunit_suite place_suite = {
	.name = "softhca_place",
	.test_cases = place_cases,
};

kunit_test_suites(&place_suite);
