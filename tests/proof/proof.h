/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What proofs share. For CBMC a variable without a value has any value: it tries all at
 * once. assume() leaves out
 * those that a caller never has, and claim() must hold for all that remain.
 *
 * The core's sources are included, so a proof also reaches static functions.
 */
#ifndef SHCA_PROOF_H
#define SHCA_PROOF_H

#include "core/os.h"
#include <stdlib.h>

#define assume(x)	__CPROVER_assume(x)
#define claim(x)	__CPROVER_assert(x, #x)

/* Any value. */
static inline bool any_bool(void)
{
	bool any;

	return any;
}

static inline u8 any_u8(void)
{
	u8 any;

	return any;
}

static inline u16 any_u16(void)
{
	u16 any;

	return any;
}

static inline u32 any_u32(void)
{
	u32 any;

	return any;
}

static inline u64 any_u64(void)
{
	u64 any;

	return any;
}

/* @len bytes, each of any value; whoever looks beyond them is found. */
static inline u8 *any_bytes(size_t len)
{
	u8 *p = malloc(len);

	assume(p);
	return p;
}

#endif
