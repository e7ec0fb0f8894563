/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The CRC-32 behind the invariant CRC. */
#ifndef SHCA_ICRC_H
#define SHCA_ICRC_H

#include <linux/types.h>

struct sk_buff;

/** shca_crc32() - continue a little-endian CRC-32; any context */
u32 shca_crc32(u32 crc, const void *data, unsigned int len);

/**
 * shca_crc32_bth() - the same over @len bytes from a BTH on
 *
 * FECN, BECN and the reserved bits beside them are taken as ones, for they may
 * change on the way (IBTA A17.3.3).  @len: SHCA_BTH_BYTES or more.
 */
u32 shca_crc32_bth(u32 crc, const u8 *bth, unsigned int len);

/** shca_crc32_bth_skb() - the same where the BTH is at @off of @skb, in pieces */
u32 shca_crc32_bth_skb(u32 crc, const struct sk_buff *skb, unsigned int off,
		       unsigned int len);

/** shca_icrc_init() - undone by shca_icrc_exit().  Return: 0 or errno. */
int shca_icrc_init(void);
void shca_icrc_exit(void);

#endif
