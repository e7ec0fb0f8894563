// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * CRC-32 by the fastest means of the kernel: crc32_le() where that is
 * accelerated itself, else whichever of it and the crypto library's "crc32"
 * proves to be the faster one here.  On hardware that is the latter (PCLMUL and
 * its like); in an emulated machine, which calculates a carry-less product bit
 * by bit, the former.
 */
#include "icrc.h"

#include <linux/crc32.h>
#include <linux/err.h>
#include <linux/skbuff.h>

#ifdef HAVE_CRC32_ACCELERATED

int shca_icrc_init(void)
{
	return 0;
}

void shca_icrc_exit(void)
{
}

u32 shca_crc32(u32 crc, const void *data, unsigned int len)
{
	return crc32_le(crc, data, len);
}

#else

#include <crypto/hash.h>
#include <linux/ktime.h>
#include <linux/slab.h>

/* What is timed: a payload of the largest path MTU, a few times. */
#define SHCA_CRC32_TRIAL	4096
#define SHCA_CRC32_TRIALS	8

/* NULL: crc32_le() serves; written once, when the module is loaded */
static struct crypto_shash *shca_crc32_tfm;

static u32 shca_crc32_shash(struct crypto_shash *tfm, u32 crc, const void *data,
			    unsigned int len)
{
	SHASH_DESC_ON_STACK(desc, tfm);
	u32 *state = (u32 *)desc->__ctx;

	desc->tfm = tfm;
	*state = crc;
	crypto_shash_update(desc, data, len);
	return *state;
}

/* The shortest of some trials, ns: interruptions only make one longer. */
static u64 shca_crc32_time(struct crypto_shash *tfm, const void *data)
{
	u64 start, time, best = U64_MAX;
	u32 crc = ~0u, sink;
	int i;

	for (i = 0; i < SHCA_CRC32_TRIALS; i++) {
		start = ktime_get_ns();
		crc = tfm ? shca_crc32_shash(tfm, crc, data, SHCA_CRC32_TRIAL) :
			    crc32_le(crc, data, SHCA_CRC32_TRIAL);
		/* Or the compiler finds that nobody wants the result. */
		WRITE_ONCE(sink, crc);
		time = ktime_get_ns() - start;
		best = min(best, time);
	}
	return best;
}

int shca_icrc_init(void)
{
	struct crypto_shash *tfm;
	void *data;

	tfm = crypto_alloc_shash("crc32", 0, 0);
	if (IS_ERR(tfm))
		return 0;
	data = kzalloc(SHCA_CRC32_TRIAL, GFP_KERNEL);
	/* The state on the stack above is the bare CRC. */
	if (data && crypto_shash_descsize(tfm) == sizeof(u32) &&
	    shca_crc32_time(tfm, data) < shca_crc32_time(NULL, data))
		shca_crc32_tfm = tfm;
	else
		crypto_free_shash(tfm);
	kfree(data);
	return 0;
}

void shca_icrc_exit(void)
{
	if (shca_crc32_tfm)
		crypto_free_shash(shca_crc32_tfm);
}

u32 shca_crc32(u32 crc, const void *data, unsigned int len)
{
	/* Entering the FPU section of the fast code costs more than this. */
	if (!shca_crc32_tfm || len < 256)
		return crc32_le(crc, data, len);
	return shca_crc32_shash(shca_crc32_tfm, crc, data, len);
}

#endif

u32 shca_crc32_skb(u32 crc, const struct sk_buff *skb, unsigned int off,
		   unsigned int len)
{
	struct skb_seq_state state;
	unsigned int done = 0, n;
	const u8 *data;

	if (likely(off + len <= skb_headlen(skb)))
		return shca_crc32(crc, skb->data + off, len);
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
