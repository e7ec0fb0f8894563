// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Codec of what an InfiniBand link adds to transport packets, and its CRCs. */
#include "../../core/be.h"
#include "../../core/le.h"
#include "ib_wire.h"

static_assert(SHCA_IB_LOWER_MAX + SHCA_HDR_MAX + 3 + SHCA_ICRC_BYTES +
	      SHCA_IB_VCRC_BYTES <= SHCA_IB_OVERHEAD);

/* ---- the shim --------------------------------------------------------------- */

#define SHIM_VERSION	1

enum shca_ib_parse shca_ib_shim_parse(struct shca_ib_shim *shim,
				      const u8 *frame, u32 len)
{
	if (len < SHCA_IB_SHIM_BYTES)
		return SHCA_IB_SHORT;
	if (frame[0] >> 4 != SHIM_VERSION)
		return SHCA_IB_VERSION;
	shim->type = frame[0] & 0x0f;
	shim->period = frame[1];
	shim->len = get_be16(frame + 2);
	shim->session = get_be32(frame + 4);
	if (shim->type < SHCA_IB_FRAME_DATA || shim->type > SHCA_IB_FRAME_BATCH)
		return SHCA_IB_TYPE;
	if (!shim->session)
		return SHCA_IB_TYPE;
	if (shim->len > len - SHCA_IB_SHIM_BYTES)
		return SHCA_IB_SHORT;
	return SHCA_IB_OK;
}

void shca_ib_shim_build(const struct shca_ib_shim *shim, u8 *frame)
{
	frame[0] = SHIM_VERSION << 4 | shim->type;
	frame[1] = shim->period;
	put_be16(frame + 2, shim->len);
	put_be32(frame + 4, shim->session);
}

/* ---- LRH and GRH ------------------------------------------------------------ */

/*
 * LRH (IBTA 7.7): VL, version; SL, reserved, next header; DLID; reserved, length in words of 4
 * bytes without the VCRC; SLID.
 */
#define LRH_LVER_MASK	0x0f
#define LRH_VL_SHIFT	4
#define LRH_VL		0xf0
#define LRH_SL_SHIFT	4
#define LRH_LNH_MASK	3
#define LRH_LNH_LOCAL	2
#define LRH_LNH_GLOBAL	3
#define LRH_LEN_MASK	0x7ff

/*
 * GRH (IBTA 8.3): version, traffic class, flow label; bytes from behind the GRH to the ICRC; next
 * header, hop limit; GIDs.
 */
#define GRH_IPVER	6
#define GRH_NXTHDR	0x1b

static enum shca_ib_parse grh_parse(struct shca_ib_lower *lower, const u8 *grh)
{
	u32 first = get_be32(grh);

	if (first >> 28 != GRH_IPVER || grh[6] != GRH_NXTHDR)
		return SHCA_IB_GRH;
	if (get_be16(grh + 4) != lower->len - SHCA_IB_LOWER_MAX)
		return SHCA_IB_LENGTH;
	lower->tclass = first >> 20;
	lower->flow_label = first & 0xfffff;
	lower->hop_limit = grh[7];
	memcpy(lower->sgid, grh + 8, sizeof(lower->sgid));
	memcpy(lower->dgid, grh + 24, sizeof(lower->dgid));
	return SHCA_IB_OK;
}

/* From LRH to ICRC. */
static u32 lrh_len(const u8 *lrh)
{
	return (get_be16(lrh + 4) & LRH_LEN_MASK) * 4;
}

enum shca_ib_parse shca_ib_lower_parse(struct shca_ib_lower *lower,
				       const u8 *pkt, u32 avail, u32 len)
{
	u32 lnh, bytes;

	if (avail < SHCA_IB_LRH_BYTES)
		return SHCA_IB_SHORT;
	if (pkt[0] & LRH_LVER_MASK)
		return SHCA_IB_VERSION;
	lnh = pkt[1] & LRH_LNH_MASK;
	if (lnh < LRH_LNH_LOCAL)
		return SHCA_IB_RAW;
	lower->vl = pkt[0] >> LRH_VL_SHIFT;
	lower->sl = pkt[1] >> LRH_SL_SHIFT;
	lower->dlid = get_be16(pkt + 2);
	lower->len = lrh_len(pkt);
	lower->slid = get_be16(pkt + 6);
	lower->has_grh = lnh == LRH_LNH_GLOBAL;
	if (lower->len + SHCA_IB_VCRC_BYTES != len)
		return SHCA_IB_LENGTH;
	bytes = shca_ib_lower_bytes(lower);
	if (avail < bytes || lower->len < bytes + SHCA_BTH_BYTES +
					  SHCA_ICRC_BYTES)
		return SHCA_IB_SHORT;
	return lower->has_grh ? grh_parse(lower, pkt + SHCA_IB_LRH_BYTES) :
				SHCA_IB_OK;
}

u32 shca_ib_lower_build(const struct shca_ib_lower *lower, u8 *pkt)
{
	u8 *grh = pkt + SHCA_IB_LRH_BYTES;

	pkt[0] = lower->vl << LRH_VL_SHIFT;
	pkt[1] = lower->sl << LRH_SL_SHIFT |
		 (lower->has_grh ? LRH_LNH_GLOBAL : LRH_LNH_LOCAL);
	put_be16(pkt + 2, lower->dlid);
	put_be16(pkt + 4, lower->len / 4);
	put_be16(pkt + 6, lower->slid);
	if (!lower->has_grh)
		return SHCA_IB_LRH_BYTES;
	put_be32(grh, (u32)GRH_IPVER << 28 | (u32)lower->tclass << 20 |
		      lower->flow_label);
	put_be16(grh + 4, lower->len - SHCA_IB_LOWER_MAX);
	grh[6] = GRH_NXTHDR;
	grh[7] = lower->hop_limit;
	memcpy(grh + 8, lower->sgid, sizeof(lower->sgid));
	memcpy(grh + 24, lower->dgid, sizeof(lower->dgid));
	return SHCA_IB_LOWER_MAX;
}

void shca_ib_lower_set_len(u8 *lower, u32 len)
{
	bool has_grh = shca_ib_lrh_has_grh(lower);
	u32 all = len + (has_grh ? SHCA_IB_LOWER_MAX : SHCA_IB_LRH_BYTES);

	put_be16(lower + 4, all / 4);
	if (has_grh)
		put_be16(lower + SHCA_IB_LRH_BYTES + 4, len);
}

/* ---- batches ---------------------------------------------------------------- */

enum shca_ib_parse shca_ib_batch_parse(struct shca_ib_batch *batch, const u8 *pkt, u32 avail, u32 len)
{
	enum shca_ib_parse parse;
	u32 first, rest;

	if (avail < SHCA_IB_LRH_BYTES)
		return SHCA_IB_SHORT;
	first = lrh_len(pkt);
	if (first > len)
		return SHCA_IB_LENGTH;
	parse = shca_ib_lower_parse(&batch->lower, pkt, min_t(u32, avail, first), first + SHCA_IB_VCRC_BYTES);
	if (parse)
		return parse;
	if (batch->lower.vl == SHCA_IB_VL_MGMT || batch->lower.dlid >= SHCA_IB_LID_MCAST)
		return SHCA_IB_ALONE;
	rest = len - shca_ib_lower_bytes(&batch->lower);
	batch->unit = first - shca_ib_lower_bytes(&batch->lower);
	batch->nr = DIV_ROUND_UP(rest, batch->unit);
	batch->last = rest - (batch->nr - 1) * batch->unit;
	if (batch->nr > SHCA_IB_BATCH_MOST || batch->last % 4 || batch->last < SHCA_BTH_BYTES + SHCA_ICRC_BYTES)
		return SHCA_IB_LENGTH;
	return SHCA_IB_OK;
}

/* ---- CRCs ------------------------------------------------------------------- */

/* A switch chooses the VL. A router replaces the LRH, traffic class, flow label and hop limit. */
u32 shca_ib_icrc_mask(const u8 *lower, u8 *masked)
{
	u8 *grh = masked + SHCA_IB_LRH_BYTES;

	if ((lower[1] & LRH_LNH_MASK) != LRH_LNH_GLOBAL) {
		memcpy(masked, lower, SHCA_IB_LRH_BYTES);
		masked[0] |= LRH_VL;
		return SHCA_IB_LRH_BYTES;
	}
	memset(masked, 0xff, SHCA_IB_LRH_BYTES);
	memcpy(grh, lower + SHCA_IB_LRH_BYTES, SHCA_IB_GRH_BYTES);
	grh[0] |= 0x0f;
	memset(grh + 1, 0xff, 3);
	grh[7] = 0xff;
	return SHCA_IB_LOWER_MAX;
}

/* x^16 + x^12 + x^3 + x + 1 (0x100b), the lowest bit of a byte first. */
#define VCRC_POLY	0xd008

void shca_ib_vcrc_init(struct shca_ib_vcrc *tables)
{
	u32 b, bit, n;
	u16 crc;

	for (b = 0; b < 256; b++) {
		crc = b;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? VCRC_POLY : 0);
		tables->by[0][b] = crc;
	}
	for (n = 1; n < 8; n++)
		for (b = 0; b < 256; b++) {
			crc = tables->by[n - 1][b];
			tables->by[n][b] = crc >> 8 ^
					   tables->by[0][crc & 0xff];
		}
}

/*
 * By the idea of crc_fold.c. The square of a polynomial over GF(2) has the squares of its terms, so
 * the generator divides x^1024 + x^768 + x^192 + x^64 + 1, which is its 64th power. A word of 64
 * bits can be removed if it is added to the 4th, 13th, 15th and 16th word after it. Nothing is
 * shifted: this takes five loads and a store for eight bytes, while tables need eight loads more.
 */
#define VCRC_WORDS	16
#define VCRC_BLOCK	(8 * VCRC_WORDS)

/* @w: the last 16 words, as they were removed; place @i has the oldest, and gets the next. */
#define VCRC_WORD(i)							\
	(w[i] ^= get_le64(data + 8 * (i)) ^ w[((i) + 12) % 16] ^	\
		 w[((i) + 3) % 16] ^ w[((i) + 1) % 16])

/*
 * Shorten @len bytes, a multiple of VCRC_BLOCK and not 0, to @rest, whose state, begun with 0, is
 * that of all bytes.
 */
static void vcrc_fold(u16 state, const u8 *data, u32 len, u8 *rest)
{
	u64 w[VCRC_WORDS] = { state }, v;
	u32 i;

	for (; len > VCRC_BLOCK; len -= VCRC_BLOCK) {
		VCRC_WORD(0);
		VCRC_WORD(1);
		VCRC_WORD(2);
		VCRC_WORD(3);
		VCRC_WORD(4);
		VCRC_WORD(5);
		VCRC_WORD(6);
		VCRC_WORD(7);
		VCRC_WORD(8);
		VCRC_WORD(9);
		VCRC_WORD(10);
		VCRC_WORD(11);
		VCRC_WORD(12);
		VCRC_WORD(13);
		VCRC_WORD(14);
		VCRC_WORD(15);
		data += VCRC_BLOCK;
	}
	/* The last block stays, with what was to be added to it. */
	for (i = 0; i < VCRC_WORDS; i++) {
		v = get_le64(data + 8 * i) ^ w[i];
		if (i < 15)
			v ^= w[i + 1];
		if (i < 13)
			v ^= w[i + 3];
		if (i < 4)
			v ^= w[i + 12];
		put_le64(rest + 8 * i, v);
	}
}

/* The look-ups of eight bytes are independent; the state is in the first two. */
static u16 vcrc_tables(const struct shca_ib_vcrc *tables, u16 state,
		       const u8 *data, u32 len)
{
	for (; len >= 8; len -= 8, data += 8)
		state = tables->by[7][data[0] ^ (state & 0xff)] ^
			tables->by[6][data[1] ^ state >> 8] ^
			tables->by[5][data[2]] ^ tables->by[4][data[3]] ^
			tables->by[3][data[4]] ^ tables->by[2][data[5]] ^
			tables->by[1][data[6]] ^ tables->by[0][data[7]];
	for (; len; len--)
		state = state >> 8 ^ tables->by[0][(state ^ *data++) & 0xff];
	return state;
}

u16 shca_ib_vcrc(const struct shca_ib_vcrc *tables, u16 state, const u8 *data,
		 u32 len)
{
	u32 n = len & ~(VCRC_BLOCK - 1u);
	u8 rest[VCRC_BLOCK];

	if (n > VCRC_BLOCK) {
		vcrc_fold(state, data, n, rest);
		state = vcrc_tables(tables, 0, rest, sizeof(rest));
		data += n;
		len -= n;
	}
	return vcrc_tables(tables, state, data, len);
}

/* ---- MTU -------------------------------------------------------------------- */

u32 shca_ib_mtu(u32 frame)
{
	u32 mtu = SHCA_IB_MTU_MAX;

	while (mtu >= SHCA_IB_MTU_MIN && shca_ib_frame_mtu(mtu) > frame)
		mtu /= 2;
	return mtu < SHCA_IB_MTU_MIN ? 0 : mtu;
}
