/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Packet and message sequence numbers: 24 bits, modulo 2^24, with a window of 2^23 (IBTA 9.7.2). */
#ifndef SHCA_CORE_PSN_H
#define SHCA_CORE_PSN_H

#include "os.h"

#define SHCA_PSN_MASK		0xffffffu
#define SHCA_PSN_WINDOW		0x800000u
/* Stands for "no PSN". */
#define SHCA_PSN_NONE		0xffffffffu

static inline u32 shca_psn_add(u32 psn, u32 n)
{
	return (psn + n) & SHCA_PSN_MASK;
}

/* Distance from @base up to @psn, in [0, 2^24). */
static inline u32 shca_psn_off(u32 psn, u32 base)
{
	return (psn - base) & SHCA_PSN_MASK;
}

/* Distance of @a ahead of @b, in [-2^23, 2^23). */
static inline s32 shca_psn_diff(u32 a, u32 b)
{
	return (s32)((a - b) << 8) >> 8;
}

#endif
