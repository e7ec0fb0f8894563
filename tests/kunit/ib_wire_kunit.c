// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Packets of an InfiniBand link: headers both ways, what is refused, and both CRCs
 * against the bit by bit definition.
 */
#include "fixture.h"

#include "../../kernel/ib/core/ib_wire.h"

/* ---- the shim --------------------------------------------------------------- */

struct shim_row {
	const char *name;
	enum shca_ib_parse parse;
	u32 len;
	u8 bytes[12];
};

static const struct shim_row shim_rows[] = {
	{ "data", SHCA_IB_OK, 12,
	  { 0x11, 0, 0, 4, 0xde, 0xad, 0xbe, 0xef } },
	{ "padded hello", SHCA_IB_OK, 12,
	  { 0x12, 0, 0, 3, 0xde, 0xad, 0xbe, 0xef } },
	{ "nothing behind it", SHCA_IB_OK, 8, { 0x12, 0, 0, 0, 0, 0, 0, 1 } },
	{ "period", SHCA_IB_OK, 8, { 0x12, 9, 0, 0, 0, 0, 0, 1 } },
	{ "cut", SHCA_IB_SHORT, 7, { 0x11, 0, 0, 0, 0, 0, 0, 1 } },
	{ "longer than the frame", SHCA_IB_SHORT, 12,
	  { 0x11, 0, 0, 5, 0xde, 0xad, 0xbe, 0xef } },
	{ "length in the upper byte", SHCA_IB_SHORT, 12,
	  { 0x11, 0, 1, 0, 0xde, 0xad, 0xbe, 0xef } },
	{ "version 0", SHCA_IB_VERSION, 12, { 0x01, 0, 0, 4, 0, 0, 0, 1 } },
	{ "version 3", SHCA_IB_VERSION, 12, { 0x31, 0, 0, 4, 0, 0, 0, 1 } },
	{ "type 0", SHCA_IB_TYPE, 12, { 0x10, 0, 0, 4, 0, 0, 0, 1 } },
	{ "batch", SHCA_IB_OK, 12, { 0x14, 0, 0, 4, 0, 0, 0, 1 } },
	{ "type 5", SHCA_IB_TYPE, 12, { 0x15, 0, 0, 4, 0, 0, 0, 1 } },
	{ "type 9", SHCA_IB_TYPE, 12, { 0x19, 0, 0, 4, 0, 0, 0, 1 } },
	{ "no session", SHCA_IB_TYPE, 12, { 0x11, 0, 0, 4, 0, 0, 0, 0 } },
};

static void shim_desc(const struct shim_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(shim, shim_rows, shim_desc);

static void shim_both_ways(struct kunit *test)
{
	const struct shim_row *row = test->param_value;
	u8 built[SHCA_IB_SHIM_BYTES];
	struct shca_ib_shim shim;

	KUNIT_EXPECT_EQ(test, shca_ib_shim_parse(&shim, row->bytes, row->len),
			row->parse);
	if (row->parse)
		return;
	KUNIT_EXPECT_EQ(test, shim.type, row->bytes[0] & 0xf);
	KUNIT_EXPECT_EQ(test, shim.len, row->bytes[3]);
	KUNIT_EXPECT_EQ(test, shim.session,
			row->bytes[4] ? 0xdeadbeefu : 1u);
	memset(built, 0xff, sizeof(built));
	shca_ib_shim_build(&shim, built);
	KUNIT_EXPECT_EQ(test, shim.period, row->bytes[1]);
	shca_ib_shim_set_period(built, ~row->bytes[1]);
	KUNIT_EXPECT_EQ(test, built[1], (u8)~row->bytes[1]);
	shca_ib_shim_set_period(built, row->bytes[1]);
	KUNIT_EXPECT_EQ(test, memcmp(built, row->bytes, sizeof(built)), 0);
}

/* ---- LRH and GRH ------------------------------------------------------------ */

#define BTH_BYTES 0x64, 0x40, 0xff, 0xff, 0, 0, 0, 1, 0, 0, 0, 5
#define SGID 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8
#define DGID 0xff, 0x12, 0, 0, 0, 0, 0, 0, 9, 8, 7, 6, 5, 4, 3, 2
/* VL 15, SL 9, DLID 0xc001, SLID 0x0203 */
#define LRH(lnh, words) 0xf0, 0x90 | (lnh), 0xc0, 0x01, (words) >> 8, \
	(u8)(words), 0x02, 0x03
/* traffic class 0xab, flow label 0xcdef1, hop limit 0x3f */
#define GRH(ver, next, paylen) (ver) << 4 | 0xa, 0xbc, 0xde, 0xf1, \
	(paylen) >> 8, (u8)(paylen), next, 0x3f, SGID, DGID

struct lower_row {
	const char *name;
	enum shca_ib_parse parse;
	u32 avail;
	u32 len;
	u8 bytes[64];
};

static const struct lower_row lower_rows[] = {
	{ "local", SHCA_IB_OK, 8, 26, { LRH(2, 6), BTH_BYTES } },
	{ "local, longest", SHCA_IB_OK, 8, 8190, { LRH(2, 0x7ff), BTH_BYTES } },
	{ "global", SHCA_IB_OK, 48, 66,
	  { LRH(3, 16), GRH(6, 0x1b, 16), BTH_BYTES } },
	{ "global, long", SHCA_IB_OK, 48, 1090,
	  { LRH(3, 272), GRH(6, 0x1b, 1040), BTH_BYTES } },
	{ "empty", SHCA_IB_SHORT, 0, 0, { LRH(2, 6) } },
	{ "cut in the LRH", SHCA_IB_SHORT, 7, 7, { LRH(2, 6) } },
	{ "no room for BTH and ICRC", SHCA_IB_SHORT, 8, 22, { LRH(2, 5) } },
	{ "cut in the GRH", SHCA_IB_SHORT, 47, 66,
	  { LRH(3, 16), GRH(6, 0x1b, 16), BTH_BYTES } },
	{ "no room for BTH and ICRC behind the GRH", SHCA_IB_SHORT, 48, 62,
	  { LRH(3, 15), GRH(6, 0x1b, 12), BTH_BYTES } },
	{ "LRH version", SHCA_IB_VERSION, 8, 26,
	  { 0xf1, 0x92, 0xc0, 0x01, 0, 6, 2, 3, BTH_BYTES } },
	{ "LRH version, highest bit", SHCA_IB_VERSION, 8, 26,
	  { 0xf8, 0x92, 0xc0, 0x01, 0, 6, 2, 3, BTH_BYTES } },
	{ "raw", SHCA_IB_RAW, 8, 26, { LRH(0, 6), BTH_BYTES } },
	{ "raw IPv6", SHCA_IB_RAW, 8, 26, { LRH(1, 6), BTH_BYTES } },
	{ "PktLen too small", SHCA_IB_LENGTH, 8, 26, { LRH(2, 5), BTH_BYTES } },
	{ "PktLen too large", SHCA_IB_LENGTH, 8, 26, { LRH(2, 7), BTH_BYTES } },
	{ "length is no multiple of 4", SHCA_IB_LENGTH, 8, 27,
	  { LRH(2, 6), BTH_BYTES } },
	{ "PayLen too small", SHCA_IB_LENGTH, 48, 66,
	  { LRH(3, 16), GRH(6, 0x1b, 15), BTH_BYTES } },
	{ "PayLen too large", SHCA_IB_LENGTH, 48, 66,
	  { LRH(3, 16), GRH(6, 0x1b, 17), BTH_BYTES } },
	{ "GRH version", SHCA_IB_GRH, 48, 66,
	  { LRH(3, 16), GRH(4, 0x1b, 16), BTH_BYTES } },
	{ "next header", SHCA_IB_GRH, 48, 66,
	  { LRH(3, 16), GRH(6, 0x11, 16), BTH_BYTES } },
};

static void lower_desc(const struct lower_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(lower, lower_rows, lower_desc);

static void lower_both_ways(struct kunit *test)
{
	static const u8 sgid[] = { SGID }, dgid[] = { DGID };
	const struct lower_row *row = test->param_value;
	u8 built[SHCA_IB_LOWER_MAX];
	struct shca_ib_lower lower;

	KUNIT_ASSERT_EQ(test, shca_ib_lower_parse(&lower, row->bytes,
						  row->avail, row->len),
			row->parse);
	if (row->parse)
		return;
	KUNIT_EXPECT_EQ(test, lower.vl, SHCA_IB_VL_MGMT);
	KUNIT_EXPECT_EQ(test, lower.sl, 9);
	KUNIT_EXPECT_EQ(test, lower.dlid, 0xc001);
	KUNIT_EXPECT_EQ(test, lower.slid, 0x0203);
	KUNIT_EXPECT_EQ(test, lower.len, row->len - SHCA_IB_VCRC_BYTES);
	KUNIT_EXPECT_EQ(test, lower.has_grh, row->avail == SHCA_IB_LOWER_MAX);
	KUNIT_EXPECT_EQ(test, shca_ib_lower_bytes(&lower), row->avail);
	memset(built, 0xff, sizeof(built));
	KUNIT_EXPECT_EQ(test, shca_ib_lower_build(&lower, built), row->avail);
	KUNIT_EXPECT_EQ(test, memcmp(built, row->bytes, row->avail), 0);
	if (!lower.has_grh)
		return;
	KUNIT_EXPECT_EQ(test, lower.tclass, 0xab);
	KUNIT_EXPECT_EQ(test, lower.flow_label, 0xcdef1u);
	KUNIT_EXPECT_EQ(test, lower.hop_limit, 0x3f);
	KUNIT_EXPECT_EQ(test, memcmp(lower.sgid, sgid, sizeof(sgid)), 0);
	KUNIT_EXPECT_EQ(test, memcmp(lower.dgid, dgid, sizeof(dgid)), 0);
}

/* Reserved bits of received packets do not count: LRH between SL and LNH, and before PktLen. */
static void lower_ignores_reserved_bits(struct kunit *test)
{
	static const u8 bytes[] = { 0xf0, 0x9e, 0xc0, 0x01, 0xf8, 0x06, 0x02, 0x03 };
	struct shca_ib_lower lower;

	KUNIT_ASSERT_EQ(test, shca_ib_lower_parse(&lower, bytes, 8, 26),
			SHCA_IB_OK);
	KUNIT_EXPECT_EQ(test, lower.sl, 9);
	KUNIT_EXPECT_EQ(test, lower.len, 24u);
}

/* PktLen has words from the LRH to the ICRC (IBTA 7.7.5), PayLen bytes behind the GRH (8.3). */
static void lower_set_len_changes_only_lengths(struct kunit *test)
{
	static const struct {
		u32 len;
		u8 was[SHCA_IB_LOWER_MAX], wanted[SHCA_IB_LOWER_MAX];
	} rows[] = {
		{ 1040, { LRH(2, 6) }, { LRH(2, 262) } },
		{ 16, { LRH(2, 262) }, { LRH(2, 6) } },
		{ 1040, { LRH(3, 16), GRH(6, 0x1b, 16) },
		  { LRH(3, 272), GRH(6, 0x1b, 1040) } },
		{ 16, { LRH(3, 272), GRH(6, 0x1b, 1040) },
		  { LRH(3, 16), GRH(6, 0x1b, 16) } },
	};
	u8 lower[SHCA_IB_LOWER_MAX];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		memcpy(lower, rows[i].was, sizeof(lower));
		shca_ib_lower_set_len(lower, rows[i].len);
		KUNIT_EXPECT_MEMEQ(test, lower, rows[i].wanted, sizeof(lower));
	}
}

/* ---- batches ---------------------------------------------------------------- */

/* VL 5, DLID @dlid */
#define BATCH_LRH(lnh, words, vl, dlid) (vl) << 4, 0x90 | (lnh), (dlid) >> 8, (u8)(dlid), (words) >> 8, \
	(u8)(words), 0x02, 0x03

struct batch_row {
	const char *name;
	enum shca_ib_parse parse;
	u32 avail;
	u32 len;
	u32 unit;
	u32 nr;
	u32 last;
	u8 bytes[64];
};

/* A BTH and an ICRC have 16 bytes. */
static const struct batch_row batch_rows[] = {
	{ "one", SHCA_IB_OK, 8, 24, 16, 1, 16, { BATCH_LRH(2, 6, 5, 0x1234) } },
	{ "two", SHCA_IB_OK, 8, 40, 16, 2, 16, { BATCH_LRH(2, 6, 5, 0x1234) } },
	{ "the last one is shorter", SHCA_IB_OK, 8, 8 + 2 * 40 + 20, 40, 3, 20,
	  { BATCH_LRH(2, 12, 0, 0xbfff) } },
	{ "as long as a frame can be", SHCA_IB_OK, 8, 8 + 15 * 4112 + 3800, 4112, 16, 3800,
	  { BATCH_LRH(2, 1030, 5, 1) } },
	{ "60", SHCA_IB_OK, 8, 8 + 60 * 16, 16, 60, 16, { BATCH_LRH(2, 6, 5, 0x1234) } },
	{ "global", SHCA_IB_OK, 48, 48 + 3 * 1040, 1040, 3, 1040,
	  { BATCH_LRH(3, 272, 5, 0x1234), GRH(6, 0x1b, 1040) } },
	{ "61", SHCA_IB_LENGTH, 8, 8 + 61 * 16, 0, 0, 0, { BATCH_LRH(2, 6, 5, 0x1234) } },
	{ "nothing", SHCA_IB_SHORT, 0, 0, 0, 0, 0, { BATCH_LRH(2, 6, 5, 0x1234) } },
	{ "cut in the LRH", SHCA_IB_SHORT, 7, 7, 0, 0, 0, { BATCH_LRH(2, 6, 5, 0x1234) } },
	{ "cut in the first packet", SHCA_IB_LENGTH, 8, 20, 0, 0, 0, { BATCH_LRH(2, 6, 5, 0x1234) } },
	{ "cut in the GRH", SHCA_IB_SHORT, 47, 64, 0, 0, 0,
	  { BATCH_LRH(3, 16, 5, 0x1234), GRH(6, 0x1b, 16) } },
	{ "packets without a BTH", SHCA_IB_SHORT, 8, 32, 0, 0, 0, { BATCH_LRH(2, 5, 5, 0x1234) } },
	{ "packets of no length", SHCA_IB_SHORT, 8, 32, 0, 0, 0, { BATCH_LRH(2, 2, 5, 0x1234) } },
	{ "no length at all", SHCA_IB_SHORT, 8, 32, 0, 0, 0, { BATCH_LRH(2, 0, 5, 0x1234) } },
	{ "the last one has no ICRC", SHCA_IB_LENGTH, 8, 8 + 40 + 12, 0, 0, 0,
	  { BATCH_LRH(2, 12, 5, 0x1234) } },
	{ "the last one is odd", SHCA_IB_LENGTH, 8, 8 + 40 + 22, 0, 0, 0, { BATCH_LRH(2, 12, 5, 0x1234) } },
	{ "raw", SHCA_IB_RAW, 8, 24, 0, 0, 0, { BATCH_LRH(1, 6, 5, 0x1234) } },
	{ "PayLen", SHCA_IB_LENGTH, 48, 64, 0, 0, 0, { BATCH_LRH(3, 16, 5, 0x1234), GRH(6, 0x1b, 17) } },
	{ "management", SHCA_IB_ALONE, 8, 24, 0, 0, 0, { BATCH_LRH(2, 6, 15, 0x1234) } },
	{ "multicast", SHCA_IB_ALONE, 8, 24, 0, 0, 0, { BATCH_LRH(2, 6, 5, 0xc000) } },
	{ "permissive LID", SHCA_IB_ALONE, 8, 24, 0, 0, 0, { BATCH_LRH(2, 6, 5, 0xffff) } },
};

static void batch_desc(const struct batch_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(batch, batch_rows, batch_desc);

static void batch_has_packets(struct kunit *test)
{
	const struct batch_row *row = test->param_value;
	struct shca_ib_batch batch;

	KUNIT_ASSERT_EQ(test, shca_ib_batch_parse(&batch, row->bytes, row->avail, row->len), row->parse);
	if (row->parse)
		return;
	KUNIT_EXPECT_EQ(test, batch.unit, row->unit);
	KUNIT_EXPECT_EQ(test, batch.nr, row->nr);
	KUNIT_EXPECT_EQ(test, batch.last, row->last);
	KUNIT_EXPECT_EQ(test, batch.lower.len, row->unit + row->avail);
	KUNIT_EXPECT_EQ(test, batch.lower.dlid, row->bytes[2] << 8 | row->bytes[3]);
}

/* ---- invariant CRC ---------------------------------------------------------- */

static u32 crc32_bitwise(u32 crc, const u8 *p, u32 len)
{
	u32 i;

	while (len--) {
		crc ^= *p++;
		for (i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return crc;
}

/*
 * A local RDMA WRITE of 14 bytes (IBTA 7.8.3 has the packet; it was published on the
 * linux-rdma list, too). The VL is 7, and the BTH's period is 0.
 */
static const u8 golden[] = {
	0x70, 0x12, 0x37, 0x5c, 0x00, 0x0e, 0x17, 0xd2, 0x0a, 0x20, 0x24, 0x87,
	0x00, 0x87, 0xb1, 0xb3, 0x00, 0x0d, 0xec, 0x2a, 0x01, 0x71, 0x0a, 0x1c,
	0x01, 0x5d, 0x40, 0x02, 0x38, 0xf2, 0x7a, 0x05, 0x00, 0x00, 0x00, 0x0e,
	0xbb, 0x88, 0x4d, 0x85, 0xfd, 0x5c, 0xfb, 0xa4, 0x72, 0x8b, 0xc0, 0x69,
	0x0e, 0xd4, 0x00, 0x00,
	/* ICRC, VCRC (not looked at) */
	0x96, 0x25, 0xb7, 0x5a, 0x00, 0x00,
};

static u32 golden_icrc(const u8 *pkt, u32 lower_bytes, struct kunit *test)
{
	u8 masked[SHCA_IB_LOWER_MAX], bth[SHCA_BTH_BYTES];
	u32 len = shca_ib_icrc_mask(pkt, masked), crc;

	KUNIT_EXPECT_EQ(test, len, lower_bytes);
	memcpy(bth, pkt + len, sizeof(bth));
	bth[4] = 0xff;	/* what shca_crc32_bth() does in the kernel */
	crc = crc32_bitwise(~0u, masked, len);
	crc = crc32_bitwise(crc, bth, sizeof(bth));
	len += SHCA_BTH_BYTES;
	return ~crc32_bitwise(crc, pkt + len,
			      sizeof(golden) - 6 + lower_bytes - 8 - len);
}

static void icrc_of_golden_packet(struct kunit *test)
{
	struct shca_ib_lower lower;
	struct shca_pkt pkt = {};
	u32 icrc = golden_icrc(golden, SHCA_IB_LRH_BYTES, test);
	const u8 *wire = golden + sizeof(golden) - 6;

	KUNIT_EXPECT_EQ(test, icrc, wire[0] | wire[1] << 8 | wire[2] << 16 |
				    (u32)wire[3] << 24);
	KUNIT_ASSERT_EQ(test, shca_ib_lower_parse(&lower, golden, sizeof(golden),
						  sizeof(golden)), SHCA_IB_OK);
	KUNIT_EXPECT_EQ(test, lower.vl, 7);
	KUNIT_EXPECT_EQ(test, lower.sl, 1);
	KUNIT_EXPECT_EQ(test, lower.dlid, 0x375c);
	KUNIT_EXPECT_EQ(test, lower.slid, 0x17d2);
	KUNIT_EXPECT_EQ(test, shca_hdr_parse(&pkt, golden + 8, lower.len - 8,
					     lower.len - 8), SHCA_PARSE_OK);
	KUNIT_EXPECT_EQ(test, pkt.opcode, 0x0a);
	KUNIT_EXPECT_EQ(test, pkt.paylen, 14u);
	KUNIT_EXPECT_EQ(test, pkt.dqpn, 0x87b1b3u);
	KUNIT_EXPECT_EQ(test, pkt.reth.rkey, 0x38f27a05u);
}

/* The golden packet behind a GRH. Result in @pkt, with the ICRC left out. */
static void make_global(u8 pkt[SHCA_IB_GRH_BYTES + sizeof(golden)])
{
	static const u8 grh[] = { GRH(6, 0x1b, 48) };

	memcpy(pkt, golden, 8);
	pkt[1] |= 1;
	pkt[5] += SHCA_IB_GRH_BYTES / 4;
	memcpy(pkt + 8, grh, sizeof(grh));
	memcpy(pkt + 48, golden + 8, sizeof(golden) - 8);
}

/* A bit that switches or routers may change does not count, and each other one does. */
static void icrc_sees_invariant_bits(struct kunit *test)
{
	static const u8 variant_local[48] = { [0] = 0xf0 };
	static const u8 variant_global[48] = {
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		[8] = 0x0f, 0xff, 0xff, 0xff, [15] = 0xff,
	};
	u8 pkt[SHCA_IB_GRH_BYTES + sizeof(golden)];
	u32 global, i, bytes, icrc;
	const u8 *variant;

	for (global = 0; global < 2; global++) {
		bytes = global ? SHCA_IB_LOWER_MAX : SHCA_IB_LRH_BYTES;
		variant = global ? variant_global : variant_local;
		if (global)
			make_global(pkt);
		else
			memcpy(pkt, golden, sizeof(golden));
		icrc = golden_icrc(pkt, bytes, test);
		for (i = 0; i < 8 * bytes; i++) {
			/* the bits that say whether there is a GRH */
			if (i / 8 == 1 && i % 8 < 2)
				continue;
			pkt[i / 8] ^= 1 << i % 8;
			if (variant[i / 8] >> i % 8 & 1)
				KUNIT_EXPECT_EQ(test, golden_icrc(pkt, bytes, test),
						icrc);
			else
				KUNIT_EXPECT_NE(test, golden_icrc(pkt, bytes, test),
						icrc);
			pkt[i / 8] ^= 1 << i % 8;
		}
	}
}

/* What a global packet's mask starts with is what RoCE's ICRC starts with. No more is written. */
static void icrc_masks_with_ones(struct kunit *test)
{
	u8 pkt[SHCA_IB_GRH_BYTES + sizeof(golden)], masked[SHCA_IB_LOWER_MAX + 1];
	static const u8 head[] = {
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0x6f, 0xff, 0xff, 0xff, 0x00, 0x30, 0x1b, 0xff, SGID, DGID,
	};

	make_global(pkt);
	memset(masked, 0xee, sizeof(masked));
	KUNIT_EXPECT_EQ(test, shca_ib_icrc_mask(pkt, masked), sizeof(head));
	KUNIT_EXPECT_EQ(test, memcmp(masked, head, sizeof(head)), 0);
	KUNIT_EXPECT_EQ(test, masked[sizeof(head)], 0xee);
	memset(masked, 0xee, sizeof(masked));
	KUNIT_EXPECT_EQ(test, shca_ib_icrc_mask(golden, masked), 8u);
	KUNIT_EXPECT_EQ(test, masked[0], 0xf0);
	KUNIT_EXPECT_EQ(test, memcmp(masked + 1, golden + 1, 7), 0);
	KUNIT_EXPECT_EQ(test, masked[8], 0xee);
}

/* ---- variant CRC ------------------------------------------------------------ */

/*
 * IBTA 7.8.2: x^16 + x^12 + x^3 + x + 1, each byte's lowest bit first. A shift register
 * whose bit 15 is the highest power, so in the other order than in ib_wire.c.
 */
static u16 vcrc_serial(u16 reg, const u8 *p, u32 len)
{
	u32 i, in, out;

	while (len--) {
		for (i = 0; i < 8; i++) {
			in = *p >> i & 1;
			out = (reg >> 15 & 1) ^ in;
			reg <<= 1;
			if (out)
				reg ^= 0x100b;
		}
		p++;
	}
	return reg;
}

static u16 reversed(u16 v)
{
	u16 r = 0;
	u32 i;

	for (i = 0; i < 16; i++)
		r |= (v >> i & 1) << (15 - i);
	return r;
}

static struct shca_ib_vcrc *vcrc_tables(struct kunit *test)
{
	struct {
		struct shca_ib_vcrc tables;
		u16 behind;
	} *fx = kunit_kzalloc(test, sizeof(*fx), GFP_KERNEL);

	memset(fx, 0xff, sizeof(*fx));
	shca_ib_vcrc_init(&fx->tables);
	KUNIT_EXPECT_EQ(test, fx->behind, 0xffff);
	return &fx->tables;
}

/*
 * More than five times what is shortened at once, a packet of the largest MTU, and more blocks
 * than a block has bytes.
 */
#define VCRC_DATA 700
#define VCRC_LONGEST 4222
#define VCRC_BLOCKS (132 * 128)

static void expect_serial(struct kunit *test, const struct shca_ib_vcrc *tables,
			  const u8 *data, u32 len)
{
	u32 off = len % 8;

	KUNIT_EXPECT_EQ(test, shca_ib_vcrc(tables, SHCA_IB_VCRC_SEED, data + off, len),
			reversed(vcrc_serial(0xffff, data + off, len)));
	KUNIT_EXPECT_EQ(test, shca_ib_vcrc(tables, len * 40503, data, len),
			reversed(vcrc_serial(reversed(len * 40503), data, len)));
}

static void vcrc_is_the_serial_one(struct kunit *test)
{
	struct shca_ib_vcrc *tables = vcrc_tables(test);
	u8 *data = kunit_kzalloc(test, VCRC_BLOCKS + 8, GFP_KERNEL);
	u32 x = 2463534242u, len, i;

	for (i = 0; i < VCRC_BLOCKS + 8; i++) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
		data[i] = x;
	}
	for (len = 0; len <= VCRC_DATA; len++)
		expect_serial(test, tables, data, len);
	expect_serial(test, tables, data, VCRC_LONGEST);
	expect_serial(test, tables, data, VCRC_BLOCKS);
}

/* A packet comes in pieces: headers, payload, ICRC. */
static void vcrc_in_pieces_is_the_same(struct kunit *test)
{
	struct shca_ib_vcrc *tables = vcrc_tables(test);
	u32 len = sizeof(golden) - 2, cut;
	u16 whole = shca_ib_vcrc(tables, SHCA_IB_VCRC_SEED, golden, len);

	for (cut = 0; cut <= len; cut++)
		KUNIT_EXPECT_EQ(test, shca_ib_vcrc(tables,
				shca_ib_vcrc(tables, SHCA_IB_VCRC_SEED, golden, cut),
				golden + cut, len - cut), whole);
}

/*
 * No published packet with a VCRC was found. So this one is by the serial definition:
 * it holds the order of the two bytes, and that all bits are complemented.
 */
static void vcrc_on_the_wire(struct kunit *test)
{
	struct shca_ib_vcrc *tables = vcrc_tables(test);
	u32 len = sizeof(golden) - 2, i;
	u16 reg = ~vcrc_serial(0xffff, golden, len);
	u16 state = shca_ib_vcrc(tables, SHCA_IB_VCRC_SEED, golden, len);
	u8 pkt[sizeof(golden)];

	memcpy(pkt, golden, len);
	shca_ib_vcrc_put(state, pkt + len);
	/* The highest power leaves first, and the lowest bit of a byte. */
	for (i = 0; i < 16; i++)
		KUNIT_EXPECT_EQ(test, pkt[len + i / 8] >> i % 8 & 1,
				reg >> (15 - i) & 1);
	KUNIT_EXPECT_TRUE(test, shca_ib_vcrc_ok(state, pkt + len));
	for (i = 0; i < 16; i++) {
		pkt[len + i / 8] ^= 1 << i % 8;
		KUNIT_EXPECT_FALSE(test, shca_ib_vcrc_ok(state, pkt + len));
		pkt[len + i / 8] ^= 1 << i % 8;
	}
	/* Any good packet with its VCRC leaves the same state. */
	KUNIT_EXPECT_EQ(test, shca_ib_vcrc(tables, SHCA_IB_VCRC_SEED, pkt,
					   sizeof(pkt)),
			shca_ib_vcrc(tables, 0, (const u8 *)"\xff\xff", 2));
}

/* ---- MTU -------------------------------------------------------------------- */

struct mtu_row {
	u32 frame;
	u32 mtu;
};

static const struct mtu_row mtu_rows[] = {
	{ 0, 0 }, { 68, 0 }, { 389, 0 }, { 390, 256 }, { 645, 256 },
	{ 646, 512 }, { 1157, 512 }, { 1158, 1024 }, { 1500, 1024 },
	{ 2181, 1024 }, { 2182, 2048 }, { 4229, 2048 }, { 4230, 4096 },
	{ 9000, 4096 }, { 65535, 4096 },
};

static void mtu_by_netdev(struct kunit *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(mtu_rows); i++)
		KUNIT_EXPECT_EQ(test, shca_ib_mtu(mtu_rows[i].frame),
				mtu_rows[i].mtu);
	KUNIT_EXPECT_EQ(test, shca_ib_frame_mtu(SHCA_IB_MTU_MIN), 390u);
}

static struct kunit_case ib_wire_cases[] = {
	KUNIT_CASE_PARAM(shim_both_ways, shim_gen_params),
	KUNIT_CASE_PARAM(lower_both_ways, lower_gen_params),
	KUNIT_CASE(lower_ignores_reserved_bits),
	KUNIT_CASE(lower_set_len_changes_only_lengths),
	KUNIT_CASE_PARAM(batch_has_packets, batch_gen_params),
	KUNIT_CASE(icrc_of_golden_packet),
	KUNIT_CASE(icrc_sees_invariant_bits),
	KUNIT_CASE(icrc_masks_with_ones),
	KUNIT_CASE(vcrc_is_the_serial_one),
	KUNIT_CASE(vcrc_in_pieces_is_the_same),
	KUNIT_CASE(vcrc_on_the_wire),
	KUNIT_CASE(mtu_by_netdev),
	{}
};

static struct kunit_suite ib_wire_suite = {
	.name = "softhca_ib_wire",
	.test_cases = ib_wire_cases,
};

kunit_test_suites(&ib_wire_suite);
