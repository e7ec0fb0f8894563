// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Shortening data for its CRC-32, against the bit by bit definition. */
#include "fixture.h"

#include "../../kernel/core/crc_fold.h"

/* Up to a packet of the largest path MTU, and a bit. */
#define DATA_BYTES (105 * SHCA_FOLD_BYTES)

/* CRC-32 as IEEE 802.3 defines it, bits reflected, no inversions. */
static u32 crc_bitwise(u32 crc, const u8 *p, u32 len)
{
	u32 i;

	while (len--) {
		crc ^= *p++;
		for (i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return crc;
}

static void fill(u8 *p, u32 len)
{
	u32 x = 2463534242u, i;

	for (i = 0; i < len; i++) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
		p[i] = x;
	}
}

static u32 crc_folded(u32 crc, const u8 *p, u32 len)
{
	struct shca_fold fold = { .w = { crc } };
	u8 rest[SHCA_FOLD_BYTES];

	shca_fold(&fold, p, len - SHCA_FOLD_BYTES);
	shca_fold_end(&fold, p + len - SHCA_FOLD_BYTES, rest);
	return crc_bitwise(0, rest, sizeof(rest));
}

static void fold_keeps_the_crc(struct kunit *test)
{
	u8 *data = kunit_kzalloc(test, DATA_BYTES + 8, GFP_KERNEL);
	u32 len, off;

	fill(data, DATA_BYTES + 8);
	for (len = SHCA_FOLD_BYTES; len <= DATA_BYTES; len += SHCA_FOLD_BYTES) {
		off = len / SHCA_FOLD_BYTES % 8;	/* any alignment */
		KUNIT_EXPECT_EQ(test, crc_folded(~0u, data + off, len),
				crc_bitwise(~0u, data + off, len));
		KUNIT_EXPECT_EQ(test, crc_folded(len * 40503, data + off, len),
				crc_bitwise(len * 40503, data + off, len));
	}
}

/* As data comes: in pieces, and each goes on where the one before has ended. */
static void fold_in_pieces_is_the_same(struct kunit *test)
{
	u8 *data = kunit_kzalloc(test, DATA_BYTES, GFP_KERNEL);
	u8 rest[SHCA_FOLD_BYTES];
	u32 piece, at, len;

	fill(data, DATA_BYTES);
	for (piece = 1; piece < 8; piece++) {
		struct shca_fold fold = { .w = { ~0u } };

		for (at = 0; at < DATA_BYTES - SHCA_FOLD_BYTES; at += len) {
			len = min_t(u32, piece * SHCA_FOLD_BYTES,
				    DATA_BYTES - SHCA_FOLD_BYTES - at);
			shca_fold(&fold, data + at, len);
		}
		shca_fold_end(&fold, data + at, rest);
		KUNIT_EXPECT_EQ(test, crc_bitwise(0, rest, sizeof(rest)),
				crc_bitwise(~0u, data, DATA_BYTES));
	}
}

/* Each bit counts, wherever it is. */
static void fold_sees_every_bit(struct kunit *test)
{
	u8 data[3 * SHCA_FOLD_BYTES] = {};
	u32 i;

	for (i = 0; i < 8 * sizeof(data); i++) {
		data[i / 8] = 1 << (i & 7);
		KUNIT_EXPECT_EQ(test, crc_folded(0, data, sizeof(data)),
				crc_bitwise(0, data, sizeof(data)));
		data[i / 8] = 0;
	}
}

/* Bits beyond the CRC in the first word flip those of the data. */
static void fold_begins_with_flipped_bits(struct kunit *test)
{
	u8 data[2 * SHCA_FOLD_BYTES], rest[SHCA_FOLD_BYTES];
	struct shca_fold fold = { .w = { ~0u | 0xa5ull << 32 } };

	fill(data, sizeof(data));
	shca_fold(&fold, data, SHCA_FOLD_BYTES);
	shca_fold_end(&fold, data + SHCA_FOLD_BYTES, rest);
	data[4] ^= 0xa5;
	KUNIT_EXPECT_EQ(test, crc_bitwise(0, rest, sizeof(rest)),
			crc_bitwise(~0u, data, sizeof(data)));
}

static struct kunit_case crc_fold_cases[] = {
	KUNIT_CASE(fold_keeps_the_crc),
	KUNIT_CASE(fold_in_pieces_is_the_same),
	KUNIT_CASE(fold_sees_every_bit),
	KUNIT_CASE(fold_begins_with_flipped_bits),
	{}
};

static struct kunit_suite crc_fold_suite = {
	.name = "softhca_crc_fold",
	.test_cases = crc_fold_cases,
};

kunit_test_suites(&crc_fold_suite);
