// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * CRC-32 by folding along a sparse multiple of its generator (the idea of "Chorba",
 * arXiv 2412.16398).
 *
 * The generator of CRC-32 divides
 *
 *	x^300 + x^155 + x^117 + x^89 + 1
 *
 * This is its multiple with five terms that has the lowest degree. A data bit can be removed if
 * the bits 145, 183, 211 and 300 places after it are flipped: the remainder stays the same. Shifts
 * add a word of 64 bits to the second, third, fourth and fifth word after it, which are all in
 * registers. This takes one load per eight bytes; tables need eight more.
 *
 * Bits are numbered as in CRC-32: the lowest bit of a byte first.
 */
#include "crc_fold.h"

#include "le.h"

static_assert(300 - 155 == 2 * 64 + 17 && 300 - 117 == 2 * 64 + 55 &&
	      300 - 89 == 3 * 64 + 19 && 300 == 4 * 64 + 44);

/*
 * Fold one word. @w0 is to be added to this word, @w2 to the second one after it, and so on. @w0
 * becomes what is to be added to the fifth, so the names rotate with each word.
 */
#define FOLD_WORD(i, w0, w2, w3, w4)					\
	do {								\
		u64 v = get_le64(data + 8 * (i)) ^ w0;			\
									\
		w2 ^= v << 17 ^ v << 55;				\
		w3 ^= v >> 47 ^ v >> 9 ^ v << 19;			\
		w4 ^= v >> 45 ^ v << 44;				\
		w0 = v >> 20;						\
	} while (0)

void shca_fold(struct shca_fold *fold, const u8 *data, u32 len)
{
	u64 a = fold->w[0], b = fold->w[1], c = fold->w[2], d = fold->w[3];
	u64 e = fold->w[4];

	for (; len; len -= SHCA_FOLD_BYTES) {
		FOLD_WORD(0, a, c, d, e);
		FOLD_WORD(1, b, d, e, a);
		FOLD_WORD(2, c, e, a, b);
		FOLD_WORD(3, d, a, b, c);
		FOLD_WORD(4, e, b, c, d);
		data += SHCA_FOLD_BYTES;
	}
	fold->w[0] = a;
	fold->w[1] = b;
	fold->w[2] = c;
	fold->w[3] = d;
	fold->w[4] = e;
}

void shca_fold_end(const struct shca_fold *fold, const u8 *data,
		   u8 rest[SHCA_FOLD_BYTES])
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(fold->w); i++)
		put_le64(rest + 8 * i, fold->w[i] ^ get_le64(data + 8 * i));
}
