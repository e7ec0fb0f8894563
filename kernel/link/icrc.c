// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * CRC-32 by the fastest method of this machine. On hardware that is a CRC instruction or
 * carry-less multiplication, through the kernel's crc32_le() or the crypto library's "crc32".
 * An emulator computes such a product bit by bit; there tables are faster, and folding by
 * shifts (core/crc_fold.c) is the fastest. So the module times the methods when it is loaded.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "icrc.h"

#include <linux/crc32.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#ifndef HAVE_CRC32_ACCELERATED
#include <crypto/hash.h>
#endif

#include "../core/crc_fold.h"
#include "../core/headers.h"

/* Shorter data, mostly headers of 12 to 40 bytes, is not worth a call or an FPU section. */
#define SHCA_CRC32_SHORT	256
/* Size of the timed data: the payload of the largest path MTU. */
#define SHCA_CRC32_TRIAL	4096
#define SHCA_CRC32_TRIALS	8

enum shca_crc32_way {
	SHCA_CRC32_LIBRARY,
	SHCA_CRC32_FOLD,
	SHCA_CRC32_CRYPTO,
};

/* Written only when the module is loaded. */
static enum shca_crc32_way shca_crc32_way __ro_after_init;

/* ---- short data ------------------------------------------------------------- */

/*
 * [n][b]: the CRC of byte @b followed by @n zeros. The look-ups of eight bytes are independent.
 * The kernel's crc32_le() uses the same method, but first steps to an aligned address byte by
 * byte, in each call.
 */
static u32 shca_crc32_tables[8][256] __ro_after_init;

static void __init shca_crc32_make_tables(void)
{
	unsigned int n, b;
	u8 byte;

	for (b = 0; b < 256; b++) {
		byte = b;
		shca_crc32_tables[0][b] = crc32_le(0, &byte, 1);
	}
	for (n = 1; n < 8; n++)
		for (b = 0; b < 256; b++)
			shca_crc32_tables[n][b] =
				shca_crc32_tables[n - 1][b] >> 8 ^
				shca_crc32_tables[0][shca_crc32_tables[n - 1][b] &
						     0xff];
}

/* CRC of eight bytes, to which the state before them was added (XOR). */
static u32 shca_crc32_word(u64 w)
{
	return shca_crc32_tables[7][w & 0xff] ^
	       shca_crc32_tables[6][w >> 8 & 0xff] ^
	       shca_crc32_tables[5][w >> 16 & 0xff] ^
	       shca_crc32_tables[4][w >> 24 & 0xff] ^
	       shca_crc32_tables[3][w >> 32 & 0xff] ^
	       shca_crc32_tables[2][w >> 40 & 0xff] ^
	       shca_crc32_tables[1][w >> 48 & 0xff] ^
	       shca_crc32_tables[0][w >> 56];
}

static u64 shca_crc32_load(const u8 *p)
{
	__le64 v;

	memcpy(&v, p, sizeof(v));
	return le64_to_cpu(v);
}

static u32 shca_crc32_load4(const u8 *p)
{
	__le32 v;

	memcpy(&v, p, sizeof(v));
	return le32_to_cpu(v);
}

/* @state: a CRC; the upper half has bits to flip in bytes 4 to 7 of @data. */
static u32 shca_crc32_short(u64 state, const u8 *data, unsigned int len)
{
	u32 crc;

	for (; len >= sizeof(u64); len -= sizeof(u64), data += sizeof(u64))
		state = shca_crc32_word(state ^ shca_crc32_load(data));
	crc = state;
	if (len >= sizeof(u32)) {
		crc ^= shca_crc32_load4(data);
		crc = shca_crc32_tables[3][crc & 0xff] ^
		      shca_crc32_tables[2][crc >> 8 & 0xff] ^
		      shca_crc32_tables[1][crc >> 16 & 0xff] ^
		      shca_crc32_tables[0][crc >> 24];
		len -= sizeof(u32);
		data += sizeof(u32);
	}
	while (len--)
		crc = crc >> 8 ^ shca_crc32_tables[0][(u8)(crc ^ *data++)];
	return crc;
}

/* ---- crypto library ------------------------------------------------------- */

#ifdef HAVE_CRC32_ACCELERATED	/* crc32_le() uses these instructions itself */

static bool shca_crc32_find_crypto(void)
{
	return false;
}

static void shca_crc32_drop_crypto(void)
{
}

static u32 shca_crc32_crypto(u32 crc, const void *data, unsigned int len)
{
	return crc32_le(crc, data, len);
}

#else

static struct crypto_shash *shca_crc32_tfm;

static bool shca_crc32_find_crypto(void)
{
	struct crypto_shash *tfm = crypto_alloc_shash("crc32", 0, 0);

	if (IS_ERR(tfm))
		return false;
	/* The state on the stack below is the CRC and nothing else. */
	if (crypto_shash_descsize(tfm) != sizeof(u32)) {
		crypto_free_shash(tfm);
		return false;
	}
	shca_crc32_tfm = tfm;
	return true;
}

static void shca_crc32_drop_crypto(void)
{
	if (shca_crc32_tfm)
		crypto_free_shash(shca_crc32_tfm);
	shca_crc32_tfm = NULL;
}

/* The library processes aligned blocks of 16 bytes, and all other bytes one by one. */
#define SHCA_CRC32_BLOCK	16u

static u32 shca_crc32_crypto(u32 crc, const void *data, unsigned int len)
{
	unsigned int head = -(uintptr_t)data % SHCA_CRC32_BLOCK;
	unsigned int tail = (len - head) % SHCA_CRC32_BLOCK;
	/* SHASH_DESC_ON_STACK() would clear nearly 400 bytes, the room of any hash. */
	u8 room[sizeof(struct shash_desc) + sizeof(u32)]
		__aligned(__alignof__(struct shash_desc)) __uninitialized;
	struct shash_desc *desc = (struct shash_desc *)room;
	u32 *state = (u32 *)desc->__ctx;

	desc->tfm = shca_crc32_tfm;
	*state = shca_crc32_short(crc, data, head);
	crypto_shash_update(desc, data + head, len - head - tail);
	return shca_crc32_short(*state, data + len - tail, tail);
}

#endif

/* ---- folding --------------------------------------------------------------- */

/* @state: as in shca_crc32_short() */
static u32 shca_crc32_fold(u64 state, const u8 *data, unsigned int len)
{
	struct shca_fold fold = { .w = { state } };
	u8 rest[2 * SHCA_FOLD_BYTES];
	u32 n = len / SHCA_FOLD_BYTES * SHCA_FOLD_BYTES - SHCA_FOLD_BYTES;

	shca_fold(&fold, data, n);
	shca_fold_end(&fold, data + n, rest);
	n += SHCA_FOLD_BYTES;
	memcpy(rest + SHCA_FOLD_BYTES, data + n, len - n);
	return shca_crc32_short(0, rest, SHCA_FOLD_BYTES + len - n);
}

/* ---- selection -------------------------------------------------------------- */

static u32 shca_crc32_by(enum shca_crc32_way way, u32 crc, const void *data,
			 unsigned int len)
{
	switch (way) {
	case SHCA_CRC32_FOLD:
		return shca_crc32_fold(crc, data, len);
	case SHCA_CRC32_CRYPTO:
		return shca_crc32_crypto(crc, data, len);
	default:
		return crc32_le(crc, data, len);
	}
}

/* Return: ns of the shortest trial, as interruptions only make one longer. */
static u64 shca_crc32_time(enum shca_crc32_way way, const void *data)
{
	u64 start, time, best = U64_MAX;
	u32 crc = ~0u, sink;
	int i;

	for (i = 0; i < SHCA_CRC32_TRIALS; i++) {
		start = ktime_get_ns();
		crc = shca_crc32_by(way, crc, data, SHCA_CRC32_TRIAL);
		/* Keeps the compiler from dropping the unused result. */
		WRITE_ONCE(sink, crc);
		time = ktime_get_ns() - start;
		best = min(best, time);
	}
	return best;
}

int __init shca_icrc_init(void)
{
	u64 library, fold, crypto = U64_MAX;
	void *data;

	shca_crc32_make_tables();
	data = kzalloc(SHCA_CRC32_TRIAL, GFP_KERNEL);
	if (!data)
		return -ENOMEM;
	library = shca_crc32_time(SHCA_CRC32_LIBRARY, data);
	fold = shca_crc32_time(SHCA_CRC32_FOLD, data);
	if (shca_crc32_find_crypto())
		crypto = shca_crc32_time(SHCA_CRC32_CRYPTO, data);
	kfree(data);

	if (crypto < min(library, fold))
		shca_crc32_way = SHCA_CRC32_CRYPTO;
	else if (fold < library)
		shca_crc32_way = SHCA_CRC32_FOLD;
	if (shca_crc32_way != SHCA_CRC32_CRYPTO)
		shca_crc32_drop_crypto();
	pr_debug("CRC of %u bytes, ns: library %llu, folding %llu, crypto %lld\n",
		 SHCA_CRC32_TRIAL, library, fold, crypto);
	return 0;
}

void shca_icrc_exit(void)
{
	shca_crc32_drop_crypto();
}

u32 shca_crc32(u32 crc, const void *data, unsigned int len)
{
	if (len < SHCA_CRC32_SHORT)
		return shca_crc32_short(crc, data, len);
	return shca_crc32_by(shca_crc32_way, crc, data, len);
}

/* Byte of the BTH that counts as ones. */
#define SHCA_BTH_VARIANT	4

#ifdef HAVE_CRC32_ACCELERATED

/*
 * crc32_le() adds the state to the next four bytes. After one byte by table these end with
 * the one that is flipped. It reads unaligned data as fast: tables would take longer to
 * align it.
 */
static u32 shca_crc32_bth_long(u64 state, const u8 *bth, unsigned int len)
{
	u32 crc = state, flip = state >> 32;

	crc = crc >> 8 ^ shca_crc32_tables[0][(u8)(crc ^ bth[0])];
	return crc32_le(crc ^ flip << 24, bth + 1, len - 1);
}

#else

/* The library and the crypto library prefer aligned data. */
static u32 shca_crc32_bth_long(u64 state, const u8 *bth, unsigned int len)
{
	unsigned int head = SHCA_BTH_BYTES +
			    -(uintptr_t)(bth + SHCA_BTH_BYTES) % SHCA_CRC32_BLOCK;

	return shca_crc32_by(shca_crc32_way, shca_crc32_short(state, bth, head),
			     bth + head, len - head);
}

#endif

u32 shca_crc32_bth(u32 crc, const u8 *bth, unsigned int len)
{
	u64 state = crc | (u64)(u8)~bth[SHCA_BTH_VARIANT] <<
			  8 * SHCA_BTH_VARIANT;

	if (len < SHCA_CRC32_SHORT)
		return shca_crc32_short(state, bth, len);
	if (shca_crc32_way == SHCA_CRC32_FOLD)
		return shca_crc32_fold(state, bth, len);
	return shca_crc32_bth_long(state, bth, len);
}

static u32 shca_crc32_skb(u32 crc, const struct sk_buff *skb, unsigned int off,
			  unsigned int len)
{
	struct skb_seq_state state;
	unsigned int done = 0, n;
	const u8 *data;

	skb_prepare_seq_read((struct sk_buff *)skb, off, off + len, &state);
	while ((n = skb_seq_read(done, &data, &state))) {
		n = min(n, len - done);
		crc = shca_crc32(crc, data, n);
		done += n;
		if (done == len) {
			skb_abort_seq_read(&state);
			break;
		}
	}
	return crc;
}

bool shca_icrc_ok(u32 crc, const struct sk_buff *skb, const u8 *bth, u32 off,
		  u32 len)
{
	u32 covered = len - SHCA_ICRC_BYTES;
	u8 copy[SHCA_BTH_BYTES];
	__le32 icrc;

	if (likely(bth)) {
		crc = shca_crc32_bth(crc, bth, covered);
		memcpy(&icrc, bth + covered, sizeof(icrc));
	} else {
		if (skb_copy_bits(skb, off, copy, sizeof(copy)) ||
		    skb_copy_bits(skb, off + covered, &icrc, sizeof(icrc)))
			return false;
		crc = shca_crc32_bth(crc, copy, sizeof(copy));
		crc = shca_crc32_skb(crc, skb, off + sizeof(copy),
				     covered - sizeof(copy));
	}
	return icrc == cpu_to_le32(~crc);
}
