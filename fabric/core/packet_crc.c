// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The invariant CRC of packets that end at an agent, or begin there (IBTA 7.8.1). */
#include "data_internal.h"

#define POLY			0xedb88320u

void fab_icrc_init(struct fab_data *data)
{
	u32 byte, bit, i, crc;

	for (byte = 0; byte < 256; byte++) {
		crc = byte;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? POLY : 0);
		data->icrc[0][byte] = crc;
	}
	for (i = 1; i < FAB_ICRC_STEP; i++)
		for (byte = 0; byte < 256; byte++) {
			crc = data->icrc[i - 1][byte];
			data->icrc[i][byte] = crc >> 8 ^ data->icrc[0][crc & 0xff];
		}
}

/* Eight bytes at a time: each table has what a byte becomes behind some others. */
static u32 crc_of(const struct fab_data *data, u32 crc, const u8 *at, u32 len)
{
	u64 word;
	u32 i, next;

	for (; len >= FAB_ICRC_STEP; len -= FAB_ICRC_STEP, at += FAB_ICRC_STEP) {
		word = get_le64(at) ^ crc;
		next = 0;
		for (i = 0; i < FAB_ICRC_STEP; i++)
			next ^= data->icrc[FAB_ICRC_STEP - 1 - i][word >> 8 * i & 0xff];
		crc = next;
	}
	while (len--)
		crc = crc >> 8 ^ data->icrc[0][(crc ^ *at++) & 0xff];
	return crc;
}

/* On the wire the lowest byte is the first. */
static void icrc(const struct fab_data *data, const u8 *lrh, u32 len, u8 *out)
{
	u8 masked[SHCA_IB_LOWER_MAX + SHCA_BTH_BYTES];
	u32 lower = shca_ib_icrc_mask(lrh, masked), covered = lower + SHCA_BTH_BYTES, crc, i;

	memcpy(masked + lower, lrh + lower, SHCA_BTH_BYTES);
	masked[lower + 4] = 0xff;
	crc = ~crc_of(data, crc_of(data, ~0u, masked, covered), lrh + covered, len - SHCA_ICRC_BYTES - covered);
	for (i = 0; i < SHCA_ICRC_BYTES; i++)
		out[i] = (u8)(crc >> 8 * i);
}

bool fab_icrc_ok(const struct fab_data *data, const u8 *lrh, u32 len)
{
	u8 crc[SHCA_ICRC_BYTES];

	icrc(data, lrh, len, crc);
	return !memcmp(lrh + len - SHCA_ICRC_BYTES, crc, sizeof(crc));
}

void fab_put_crcs(const struct fab_data *data, u8 *lrh, u32 len)
{
	icrc(data, lrh, len, lrh + len - SHCA_ICRC_BYTES);
	shca_ib_vcrc_put(shca_ib_vcrc(&data->vcrc, SHCA_IB_VCRC_SEED, lrh, len), lrh + len);
}
