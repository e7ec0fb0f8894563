/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * CRC-32 without tables and without carry-less multiplication, for machines
 * without a better method. It shortens long data to a few bytes with the same
 * CRC.
 */
#ifndef SHCA_CORE_CRC_FOLD_H
#define SHCA_CORE_CRC_FOLD_H

#include "os.h"

/* What long data is shortened to; it is consumed in pieces of so many bytes. */
#define SHCA_FOLD_BYTES	40u

/**
 * struct shca_fold - data that has been shortened
 * @w:	to be added to the five words (little endian, of 64 bits) that follow;
 *	the CRC of what was before is @w[0] at the beginning.  Bits beyond the
 *	32 of a CRC flip those of the data.
 */
struct shca_fold {
	u64 w[SHCA_FOLD_BYTES / 8];
};

/** shca_fold() - go on with @len bytes, a multiple of SHCA_FOLD_BYTES */
void shca_fold(struct shca_fold *fold, const u8 *data, u32 len);

/**
 * shca_fold_end() - the last SHCA_FOLD_BYTES at @data
 * @rest:	has, begun with 0, the CRC of everything
 */
void shca_fold_end(const struct shca_fold *fold, const u8 *data,
		   u8 rest[SHCA_FOLD_BYTES]);

#endif
