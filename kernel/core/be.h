/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Big-endian fields of headers: byte by byte, because headers have no alignment on the wire.
 * Compilers make one load and one swap of it.
 */
#ifndef SHCA_CORE_BE_H
#define SHCA_CORE_BE_H

#include "os.h"

static inline u32 get_be16(const u8 *p)
{
	return (u32)p[0] << 8 | p[1];
}

static inline u32 get_be24(const u8 *p)
{
	return (u32)p[0] << 16 | (u32)p[1] << 8 | p[2];
}

static inline u32 get_be32(const u8 *p)
{
	return (u32)p[0] << 24 | get_be24(p + 1);
}

static inline u64 get_be64(const u8 *p)
{
	return (u64)get_be32(p) << 32 | get_be32(p + 4);
}

static inline void put_be16(u8 *p, u32 v)
{
	p[0] = v >> 8;
	p[1] = v;
}

static inline void put_be24(u8 *p, u32 v)
{
	p[0] = v >> 16;
	p[1] = v >> 8;
	p[2] = v;
}

static inline void put_be32(u8 *p, u32 v)
{
	p[0] = v >> 24;
	put_be24(p + 1, v);
}

static inline void put_be64(u8 *p, u64 v)
{
	put_be32(p, v >> 32);
	put_be32(p + 4, v);
}

#endif
