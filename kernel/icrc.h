/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The CRC-32 behind the invariant CRC. */
#ifndef SHCA_ICRC_H
#define SHCA_ICRC_H

#include <linux/types.h>

struct sk_buff;

/** shca_crc32() - continue a little-endian CRC-32; any context */
u32 shca_crc32(u32 crc, const void *data, unsigned int len);

/** shca_crc32_skb() - the same over @len bytes of @skb from @off, any layout */
u32 shca_crc32_skb(u32 crc, const struct sk_buff *skb, unsigned int off,
		   unsigned int len);

/** shca_icrc_init() - undone by shca_icrc_exit().  Return: 0 or errno. */
int shca_icrc_init(void);
void shca_icrc_exit(void);

#endif
