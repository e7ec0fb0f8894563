/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* CRC-32 of the invariant CRC (ICRC). */
#ifndef SHCA_ICRC_H
#define SHCA_ICRC_H

#include <linux/types.h>

struct sk_buff;

/* Continue a little-endian CRC-32; any context. */
u32 shca_crc32(u32 crc, const void *data, unsigned int len);

/*
 * Continue a CRC-32 over @len bytes, at least SHCA_BTH_BYTES, the first of which are the BTH.
 * FECN, BECN and the reserved bits beside them may change on the path, so they count as ones
 * (IBTA A17.3.3).
 */
u32 shca_crc32_bth(u32 crc, const u8 *bth, unsigned int len);

/**
 * shca_icrc_ok() - does a received packet have a correct ICRC?
 * @crc:	over its lower headers
 * @skb:	the packet, or a batch that has it
 * @bth:	address of its BTH; NULL: the packet is not contiguous
 * @off:	offset of its BTH in @skb
 * @len:	bytes from BTH to ICRC
 *
 * Return: whether it is intact.
 */
bool shca_icrc_ok(u32 crc, const struct sk_buff *skb, const u8 *bth, u32 off,
		  u32 len);

/* Select the method. Return: 0 or errno. Undone by shca_icrc_exit(). */
int shca_icrc_init(void);
void shca_icrc_exit(void);

#endif
