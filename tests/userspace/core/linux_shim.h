/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What kernel/link/icrc.c includes of the kernel, for a user process (native.c): the
 * Makefile includes it first, and the headers that icrc.c names are empty.
 *
 * icrc.c is built twice, with different names: as for kernel 6.12, whose crc32_le() uses
 * tables and whose crypto library has "crc32", and as for kernel 7.2, with
 * HAVE_CRC32_ACCELERATED.
 */
#ifndef LINUX_SHIM_H
#define LINUX_SHIM_H

#include <endian.h>
#include <time.h>

#include "../../../kernel/core/os.h"
#include "native_crc.h"

#ifdef HAVE_CRC32_ACCELERATED
#define shca_crc32		native_crc32_lib
#define shca_crc32_bth		native_crc32_bth_lib
#define shca_icrc_init		native_icrc_init_lib
#define shca_icrc_exit		native_icrc_exit_lib
#define shca_icrc_ok		native_icrc_ok_lib
#define crc32_le(crc, data, len) crc_clmul_512(crc, data, len)
#else
#define shca_crc32		native_crc32_crypto
#define shca_crc32_bth		native_crc32_bth_crypto
#define shca_icrc_init		native_icrc_init_crypto
#define shca_icrc_exit		native_icrc_exit_crypto
#define shca_icrc_ok		native_icrc_ok_crypto
#define crc32_le(crc, data, len) crc_tables(crc, data, len)
#endif

#define __init
#define __ro_after_init
#define __aligned(x)		__attribute__((__aligned__(x)))
#define __uninitialized		__attribute__((__uninitialized__))
#define GFP_KERNEL		0
#define ENOMEM			12
#define U64_MAX			UINT64_MAX
#define min(a, b)		({ __typeof__(a) a_ = (a); __typeof__(b) b_ = (b); \
				   a_ < b_ ? a_ : b_; })
#define pr_debug(...)		native_debug(__VA_ARGS__)
#define le64_to_cpu(v)		le64toh(v)
#define le32_to_cpu(v)		le32toh(v)
#define cpu_to_le32(v)		htole32(v)

static inline void *kzalloc(size_t len, int gfp)
{
	return native_zeros(len);
}

static inline void kfree(void *p)
{
}

static inline u64 ktime_get_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* ---- the crypto library --------------------------------------------------- */

struct crypto_shash {
	int unused;
};

struct shash_desc {
	struct crypto_shash *tfm;
	void *__ctx[];
};

#define IS_ERR(p)		(!(p))

static inline struct crypto_shash *crypto_alloc_shash(const char *name, u32 type,
						      u32 mask)
{
	static struct crypto_shash crc32;

	return crc_has_clmul() ? &crc32 : NULL;
}

static inline u32 crypto_shash_descsize(struct crypto_shash *tfm)
{
	return sizeof(u32);
}

static inline void crypto_free_shash(struct crypto_shash *tfm)
{
}

static inline int crypto_shash_update(struct shash_desc *desc, const u8 *data, u32 len)
{
	u32 *state = (u32 *)desc->__ctx;

	*state = crc_clmul_128(*state, data, len);
	return 0;
}

/* ---- packets in pieces, which native.c does not have ----------------------- */

struct sk_buff;

struct skb_seq_state {
	int unused;
};

static inline void skb_prepare_seq_read(struct sk_buff *skb, u32 from, u32 to,
					struct skb_seq_state *state)
{
}

static inline u32 skb_seq_read(u32 done, const u8 **data, struct skb_seq_state *state)
{
	return 0;
}

static inline void skb_abort_seq_read(struct skb_seq_state *state)
{
}

static inline int skb_copy_bits(const struct sk_buff *skb, u32 off, void *to, u32 len)
{
	return -1;
}

#endif
