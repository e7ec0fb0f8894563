// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * CRC-32 by the fastest means of the kernel: crc32_le() where that is
 * accelerated itself, else the crypto library's "crc32", which is.
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

static struct crypto_shash *shca_crc32_tfm;

int shca_icrc_init(void)
{
	shca_crc32_tfm = crypto_alloc_shash("crc32", 0, 0);
	if (IS_ERR(shca_crc32_tfm))
		return PTR_ERR(shca_crc32_tfm);
	/* The state on the stack below is the bare CRC. */
	if (crypto_shash_descsize(shca_crc32_tfm) != sizeof(u32)) {
		crypto_free_shash(shca_crc32_tfm);
		return -EOPNOTSUPP;
	}
	return 0;
}

void shca_icrc_exit(void)
{
	crypto_free_shash(shca_crc32_tfm);
}

u32 shca_crc32(u32 crc, const void *data, unsigned int len)
{
	SHASH_DESC_ON_STACK(desc, shca_crc32_tfm);
	u32 *state = (u32 *)desc->__ctx;

	/* Entering the FPU section of the fast code costs more than this. */
	if (len < 256)
		return crc32_le(crc, data, len);
	desc->tfm = shca_crc32_tfm;
	*state = crc;
	crypto_shash_update(desc, data, len);
	return *state;
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
