/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Little-endian words of data: CRCs begin with the lowest bit of the first byte. */
#ifndef SHCA_CORE_LE_H
#define SHCA_CORE_LE_H

#include "os.h"

static inline u64 get_le64(const u8 *p)
{
	u64 v;

	memcpy(&v, p, sizeof(v));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = __builtin_bswap64(v);
#endif
	return v;
}

static inline void put_le64(u8 *p, u64 v)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = __builtin_bswap64(v);
#endif
	memcpy(p, &v, sizeof(v));
}

#endif
