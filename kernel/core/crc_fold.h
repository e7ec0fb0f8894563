/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * CRC-32 without tables and without carry-less multiplication, for machines without a better
 * method. Folding shortens long data to a few bytes with the same CRC.
 */
#ifndef SHCA_CORE_CRC_FOLD_H
#define SHCA_CORE_CRC_FOLD_H

#include "os.h"

/* Bytes that long data is shortened to, and that one step consumes. */
#define SHCA_FOLD_BYTES	40u

/**
 * struct shca_fold - data that has been shortened
 * @w:		to be added to the next five words (64 bits, little endian). Initially @w[0] is the
 *		CRC of the data before; its bits above bit 31 flip bits of the data
 */
struct shca_fold {
	u64 w[SHCA_FOLD_BYTES / 8];
};

/* Consume @len bytes, a multiple of SHCA_FOLD_BYTES. */
void shca_fold(struct shca_fold *fold, const u8 *data, u32 len);

/*
 * Consume the last SHCA_FOLD_BYTES at @data.
 * @rest:	result; its CRC, started with 0, is the CRC of all data
 */
void shca_fold_end(const struct shca_fold *fold, const u8 *data,
		   u8 rest[SHCA_FOLD_BYTES]);

#endif
