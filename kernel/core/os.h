/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The environment of the core, so that the same sources build into the module, into KUnit and into
 * a user process. Nothing here may allocate, sleep, lock or read a clock.
 */
#ifndef SHCA_CORE_OS_H
#define SHCA_CORE_OS_H

#ifdef __KERNEL__

#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/barrier.h>
#include <asm/byteorder.h>

#else /* a user process: tests/userspace/core */

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <linux/types.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int32_t s32;
typedef int64_t s64;

#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define min_t(t, a, b)		({ t a_ = (a), b_ = (b); a_ < b_ ? a_ : b_; })
#define max_t(t, a, b)		({ t a_ = (a), b_ = (b); a_ > b_ ? a_ : b_; })
#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)
#ifndef static_assert
#define static_assert(e, ...)	_Static_assert(e, #e)
#endif
#define fallthrough		__attribute__((__fallthrough__))
#define READ_ONCE(x)		(*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, value)	(*(volatile __typeof__(x) *)&(x) = (value))
/* Used by functions in headers, whose callers say what it orders. */
#define smp_wmb()		__atomic_thread_fence(__ATOMIC_RELEASE)
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define fls(x)			((x) ? 32 - __builtin_clz(x) : 0)
#define div64_u64(n, d)		((u64)(n) / (u64)(d))

#endif
#endif
