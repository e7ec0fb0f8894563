// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The pages of on-demand regions.  Each page of a range is in one batch.  Each
 * batch is in one chunk and within the region.  Pages have 4, 16 and 64 KiB.
 */
#include "fixture.h"
#include "../../kernel/mem/odp_pages.h"

/* A region of @bytes at @addr, looked up from @from bytes in it on. */
struct odp_row {
	const char *name;
	unsigned int page_shift;
	unsigned long addr;
	unsigned long bytes;
	unsigned long from;
};

#define ROWS(shift, size)						\
	{ "one byte, " size, shift, 0x7f000fff, 1, 0 },		\
	{ "one page, " size, shift, 0x7f000000, 4096, 0 },		\
	{ "across chunks, " size, shift, 0x7f1ff123, 8 << 20, 0 },	\
	{ "from the middle, " size, shift, 0x7f000123, 9 << 20, 3 << 20 },\
	{ "at address 0, " size, shift, 0, 5 << 20, 0 },		\
	{ "to the last address, " size, shift, ~0ul - (3 << 20), 3 << 20, 0 }

static const struct odp_row odp_rows[] = {
	ROWS(12, "4 KiB"),
	ROWS(14, "16 KiB"),
	ROWS(16, "64 KiB"),
};

static void odp_desc(const struct odp_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(odp, odp_rows, odp_desc);

static void odp_batches_are_within_chunks(struct kunit *test)
{
	const struct odp_row *row = test->param_value;
	unsigned long first = row->addr >> row->page_shift;
	unsigned long last = (row->addr + row->bytes - 1) >> row->page_shift;
	unsigned long page = (row->addr + row->from) >> row->page_shift;
	unsigned long index, begin, end;
	unsigned int nr;

	while (page <= last) {
		index = shca_odp_index(page);
		begin = shca_odp_chunk_first(index, first);
		end = shca_odp_chunk_last(index, last);
		nr = shca_odp_batch(page, last);

		KUNIT_ASSERT_GT(test, nr, 0u);
		KUNIT_ASSERT_LE(test, nr, SHCA_ODP_BATCH);
		/* what the arrays of a look-up and of a chunk have room for */
		KUNIT_ASSERT_LE(test, end - begin + 1,
				(unsigned long)SHCA_ODP_CHUNK_PAGES);
		KUNIT_ASSERT_GE(test, begin, first);
		KUNIT_ASSERT_LE(test, end, last);
		KUNIT_ASSERT_GE(test, page, begin);
		KUNIT_ASSERT_LE(test, page + nr - 1, end);
		page += nr;
	}
	KUNIT_EXPECT_EQ(test, page, last + 1);
}

/* Chunks follow each other, and a page is in the one that has its index. */
static void odp_chunks_are_adjacent(struct kunit *test)
{
	unsigned long all = ~0ul >> 12, index;

	for (index = 0; index < 5; index++) {
		KUNIT_EXPECT_EQ(test, shca_odp_chunk_last(index, all) + 1,
				shca_odp_chunk_first(index + 1, 0));
		KUNIT_EXPECT_EQ(test, index,
				shca_odp_index(shca_odp_chunk_first(index, 0)));
		KUNIT_EXPECT_EQ(test, index,
				shca_odp_index(shca_odp_chunk_last(index, all)));
	}
}

static struct kunit_case odp_cases[] = {
	KUNIT_CASE_PARAM(odp_batches_are_within_chunks, odp_gen_params),
	KUNIT_CASE(odp_chunks_are_adjacent),
	{}
};

static struct kunit_suite odp_suite = {
	.name = "softhca_odp",
	.test_cases = odp_cases,
};

kunit_test_suites(&odp_suite);
