// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The codec, both ways, for each extension header.  Bytes follow the figures of
 * IBTA 9.2 to 9.6.  They are decoded, compared field by field, encoded again and
 * compared with the bytes.
 */
#include "fixture.h"

struct hdr_row {
	const char *name;
	u32 len;
	u8 bytes[SHCA_HDR_MAX];
};

/* BTH of all rows: AckReq, P_Key 0x8001, QP 0x123456, PSN 0xabcdef */
#define BTH(opcode, flags) \
	opcode, flags, 0x80, 0x01, 0x00, 0x12, 0x34, 0x56, 0x80, 0xab, 0xcd, 0xef
#define VA	0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef
#define KEY	0xde, 0xad, 0xbe, 0xef
#define LEN	0x00, 0x01, 0x02, 0x03

static const struct hdr_row hdr_rows[] = {
	{ "BTH", 12, { BTH(0x04, 0x00) } },
	{ "BTH with SE and MigReq", 12, { BTH(0x04, 0xc0) } },
	{ "BTH with pad", 12, { BTH(0x04, 0x30) } },
	{ "RETH", 28, { BTH(0x0c, 0x40), VA, KEY, LEN } },
	{ "RETH and immediate", 32,
	  { BTH(0x0b, 0x40), VA, KEY, LEN, 0x11, 0x22, 0x33, 0x44 } },
	{ "FETH and RETH", 32,
	  { BTH(0x1c, 0x40), 0x00, 0x00, 0x00, 0x12, VA, KEY, LEN } },
	{ "XRCETH, FETH and RETH", 36,
	  { BTH(0xbc, 0x40), 0x00, 0x65, 0x43, 0x21, 0x00, 0x00, 0x00, 0x12, VA,
	    KEY, LEN } },
	{ "immediate", 16, { BTH(0x05, 0xc0), 0x11, 0x22, 0x33, 0x44 } },
	{ "IETH", 16, { BTH(0x17, 0x40), KEY } },
	{ "AETH", 16, { BTH(0x11, 0x40), 0x6a, 0x00, 0x10, 0x02 } },
	{ "AtomicETH", 40,
	  { BTH(0x13, 0x40), VA, KEY, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7,
	    0xf8, 0xe1, 0xe2, 0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8 } },
	{ "AtomicAckETH", 24,
	  { BTH(0x12, 0x40), 0x1f, 0x00, 0x10, 0x02, VA } },
	{ "DETH", 20, { BTH(0x64, 0x40), KEY, 0x00, 0x65, 0x43, 0x21 } },
	{ "XRCETH", 16, { BTH(0xa4, 0x40), 0x00, 0x65, 0x43, 0x21 } },
	{ "XRCETH and immediate", 20,
	  { BTH(0xa5, 0x40), 0x00, 0x65, 0x43, 0x21, 0x11, 0x22, 0x33, 0x44 } },
	{ "XRCETH and IETH", 20,
	  { BTH(0xb7, 0x40), 0x00, 0x65, 0x43, 0x21, KEY } },
	{ "XRCETH, RETH and immediate", 36,
	  { BTH(0xab, 0x40), 0x00, 0x65, 0x43, 0x21, VA, KEY, LEN, 0x11, 0x22,
	    0x33, 0x44 } },
	{ "XRCETH and AtomicETH", 44,
	  { BTH(0xb3, 0x40), 0x00, 0x65, 0x43, 0x21, VA, KEY, 0xf1, 0xf2, 0xf3,
	    0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xe1, 0xe2, 0xe3, 0xe4, 0xe5, 0xe6,
	    0xe7, 0xe8 } },
	{ "AETH of XRC", 16, { BTH(0xb1, 0x40), 0x6a, 0x00, 0x10, 0x02 } },
	{ "DETH and immediate", 24,
	  { BTH(0x65, 0x40), KEY, 0x00, 0x65, 0x43, 0x21, 0x11, 0x22, 0x33,
	    0x44 } },
};

static void hdr_desc(const struct hdr_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(hdr, hdr_rows, hdr_desc);

static void expect_fields(struct kunit *test, const struct shca_pkt *pkt)
{
	static const u8 imm[4] = { 0x11, 0x22, 0x33, 0x44 };
	u32 flags = shca_opcode_info(pkt->opcode)->flags;

	KUNIT_EXPECT_EQ(test, pkt->pkey, 0x8001);
	KUNIT_EXPECT_EQ(test, pkt->dqpn, 0x123456u);
	KUNIT_EXPECT_EQ(test, pkt->psn, 0xabcdefu);
	KUNIT_EXPECT_TRUE(test, pkt->ackreq);
	if (flags & SHCA_OPF_FETH) {
		KUNIT_EXPECT_EQ(test, pkt->feth.type, 2);
		KUNIT_EXPECT_EQ(test, pkt->feth.level, 1);
	}
	if (flags & SHCA_OPF_RETH) {
		KUNIT_EXPECT_EQ(test, pkt->reth.va, 0x0123456789abcdefull);
		KUNIT_EXPECT_EQ(test, pkt->reth.rkey, 0xdeadbeefu);
		KUNIT_EXPECT_EQ(test, pkt->reth.len, 0x00010203u);
	}
	if (flags & SHCA_OPF_IMM)
		KUNIT_EXPECT_MEMEQ(test, &pkt->imm, imm, sizeof(imm));
	if (flags & SHCA_OPF_INV)
		KUNIT_EXPECT_EQ(test, pkt->inv_rkey, 0xdeadbeefu);
	if (flags & SHCA_OPF_AETH)
		KUNIT_EXPECT_EQ(test, pkt->aeth.msn, 0x001002u);
	if (flags & SHCA_OPF_ATOMICETH) {
		KUNIT_EXPECT_EQ(test, pkt->atomic.va, 0x0123456789abcdefull);
		KUNIT_EXPECT_EQ(test, pkt->atomic.rkey, 0xdeadbeefu);
		KUNIT_EXPECT_EQ(test, pkt->atomic.swap_add,
				0xf1f2f3f4f5f6f7f8ull);
		KUNIT_EXPECT_EQ(test, pkt->atomic.compare,
				0xe1e2e3e4e5e6e7e8ull);
	}
	if (flags & SHCA_OPF_ATOMICACKETH)
		KUNIT_EXPECT_EQ(test, pkt->atomic_ack, 0x0123456789abcdefull);
	if (flags & SHCA_OPF_XRCETH)
		KUNIT_EXPECT_EQ(test, pkt->xrc_srqn, 0x654321u);
	if (flags & SHCA_OPF_DETH) {
		KUNIT_EXPECT_EQ(test, pkt->deth.qkey, 0xdeadbeefu);
		KUNIT_EXPECT_EQ(test, pkt->deth.sqpn, 0x654321u);
	}
}

static void hdr_of_wire_bytes_goes_both_ways(struct kunit *test)
{
	const struct hdr_row *row = test->param_value;
	u8 out[SHCA_HDR_MAX] = { 0 };
	struct shca_pkt pkt;

	memset(&pkt, 0, sizeof(pkt));
	KUNIT_ASSERT_EQ(test, shca_hdr_parse(&pkt, row->bytes, row->len,
					     row->len + 8 + SHCA_ICRC_BYTES),
			SHCA_PARSE_OK);
	KUNIT_EXPECT_EQ(test, pkt.opcode, row->bytes[0]);
	KUNIT_EXPECT_EQ(test, pkt.se, row->bytes[1] >> 7);
	KUNIT_EXPECT_EQ(test, pkt.mig, row->bytes[1] >> 6 & 1);
	KUNIT_EXPECT_EQ(test, pkt.pad, row->bytes[1] >> 4 & 3);
	KUNIT_EXPECT_EQ(test, pkt.paylen, 8u - pkt.pad);
	KUNIT_EXPECT_EQ(test, pkt.data_off, row->len);
	expect_fields(test, &pkt);
	KUNIT_EXPECT_EQ(test, shca_hdr_build(&pkt, out), row->len);
	KUNIT_EXPECT_MEMEQ(test, out, row->bytes, row->len);
}

/* What a packet does not carry is not taken from what follows it, nor written there. */
static void hdr_without_a_field_leaves_it(struct kunit *test)
{
	const struct hdr_row *row = test->param_value;
	u8 in[SHCA_HDR_MAX + 16], out[SHCA_HDR_MAX + 16];
	struct shca_pkt pkt;
	u32 flags, i;

	memset(in, 0x99, sizeof(in));
	memset(out, 0xaa, sizeof(out));
	memcpy(in, row->bytes, row->len);
	memset(&pkt, 0, sizeof(pkt));
	KUNIT_ASSERT_EQ(test, shca_hdr_parse(&pkt, in, sizeof(in), sizeof(in)),
			SHCA_PARSE_OK);
	flags = shca_opcode_info(pkt.opcode)->flags;
	if (!(flags & SHCA_OPF_IMM))
		KUNIT_EXPECT_EQ(test, pkt.imm, 0u);
	if (!(flags & SHCA_OPF_INV))
		KUNIT_EXPECT_EQ(test, pkt.inv_rkey, 0u);
	if (!(flags & SHCA_OPF_XRCETH))
		KUNIT_EXPECT_EQ(test, pkt.xrc_srqn, 0u);
	if (!(flags & SHCA_OPF_DETH))
		KUNIT_EXPECT_EQ(test, pkt.deth.qkey + pkt.deth.sqpn, 0u);
	if (!(flags & (SHCA_OPF_RETH | SHCA_OPF_ATOMICETH | SHCA_OPF_AETH)))
		for (i = 0; i < sizeof(pkt.atomic); i++)
			KUNIT_EXPECT_EQ(test, ((u8 *)&pkt.atomic)[i], 0);
	KUNIT_ASSERT_EQ(test, shca_hdr_build(&pkt, out), row->len);
	for (i = row->len; i < sizeof(out); i++)
		KUNIT_EXPECT_EQ(test, out[i], 0xaa);
}

/* KEY is in the rows where a key is, and nowhere else: of each its upper byte is left. */
static void hdr_hide_keys_leaves_the_upper_byte(struct kunit *test)
{
	static const u8 key[4] = { KEY };
	const struct hdr_row *row = test->param_value;
	u8 want[SHCA_HDR_MAX], out[SHCA_HDR_MAX];
	u32 i;

	memcpy(out, row->bytes, sizeof(out));
	memcpy(want, row->bytes, sizeof(want));
	for (i = SHCA_BTH_BYTES; i + sizeof(key) <= row->len; i++)
		if (!memcmp(want + i, key, sizeof(key)))
			memset(want + i + 1, 0, sizeof(key) - 1);
	shca_hdr_hide_keys(out);
	KUNIT_EXPECT_MEMEQ(test, out, want, sizeof(want));
}

/* A packet from a link stands for itself, whatever the descriptor held before. */
static void hdr_parse_forgets_the_packet_before(struct kunit *test)
{
	u8 bytes[12] = { BTH(0x04, 0x00) };
	struct shca_pkt pkt;

	memset(&pkt, 0xa5, sizeof(pkt));
	KUNIT_ASSERT_EQ(test, shca_hdr_parse(&pkt, bytes, 12, 16),
			SHCA_PARSE_OK);
	KUNIT_EXPECT_EQ(test, pkt.span, 0u);
	KUNIT_EXPECT_EQ(test, pkt.unit, 0u);
	KUNIT_EXPECT_EQ(test, pkt.stride, 0u);
	KUNIT_EXPECT_EQ(test, pkt.kind, SHCA_PAY_NONE);
	KUNIT_EXPECT_EQ(test, pkt.paylen, 0u);
}

/*
 * IBTA 9.2: fields that are reserved change no other, and FECN (A17.9) is not looked at.
 * What is in Resv8a is told.
 */
static void hdr_parse_of_reserved_bth_bits_ignores_them(struct kunit *test)
{
	static const struct { u8 at, bit; } reserved[] = {
		{ 4, 0x80 }, { 4, 0x20 }, { 4, 0x10 }, { 4, 0x08 }, { 4, 0x04 },
		{ 4, 0x02 }, { 4, 0x01 }, { 8, 0x40 }, { 8, 0x20 }, { 8, 0x10 },
		{ 8, 0x08 }, { 8, 0x04 }, { 8, 0x02 }, { 8, 0x01 },
	};
	struct shca_pkt plain, pkt;
	bool ackreq;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(reserved); i++) {
		u8 bytes[12] = { BTH(0x04, 0x00) };

		bytes[8] = 0;
		memset(&plain, 0, sizeof(plain));
		memset(&pkt, 0, sizeof(pkt));
		KUNIT_ASSERT_EQ(test, shca_hdr_parse(&plain, bytes, 12, 16),
				SHCA_PARSE_OK);
		bytes[reserved[i].at] |= reserved[i].bit;
		KUNIT_ASSERT_EQ(test, shca_hdr_parse(&pkt, bytes, 12, 16),
				SHCA_PARSE_OK);
		KUNIT_EXPECT_EQ(test, pkt.resv8a, reserved[i].at == 4 ?
				reserved[i].bit & 0x3f : 0);
		pkt.resv8a = 0;
		KUNIT_EXPECT_MEMEQ(test, &pkt, &plain, sizeof(pkt));
		shca_bth_follows(bytes, bytes, 0xabcdef, &ackreq);
		KUNIT_EXPECT_FALSE(test, ackreq);
	}
}

/* It parses no more bytes than there are; KASAN and its like see the rest. */
static void hdr_parse_reads_only_what_there_is(struct kunit *test)
{
	const struct hdr_row *row = test->param_value;
	struct shca_pkt pkt;
	u32 len;
	u8 *p;

	for (len = 1; len <= row->len; len++) {
		p = kunit_kzalloc(test, len, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, p);
		memcpy(p, row->bytes, len);
		KUNIT_EXPECT_EQ(test, shca_hdr_parse(&pkt, p, len, row->len + 4),
				len < row->len ? SHCA_PARSE_SHORT :
				row->bytes[1] & 0x30 ? SHCA_PARSE_PAD :
						       SHCA_PARSE_OK);
	}
	/* (whatever its opcode is, a BTH and an ICRC are a packet) */
	for (len = 0; len < 16; len++) {
		u8 bytes[12] = { BTH(0x15, 0x00) };

		KUNIT_EXPECT_EQ(test, shca_hdr_parse(&pkt, bytes, 12, len),
				SHCA_PARSE_SHORT);
		bytes[0] = row->bytes[0];
		KUNIT_EXPECT_EQ(test, shca_hdr_parse(&pkt, bytes, 12, len),
				SHCA_PARSE_SHORT);
	}
}

static void hdr_of_each_flush_type_goes_both_ways(struct kunit *test)
{
	u8 in[32] = { BTH(0x1c, 0x40) }, out[SHCA_HDR_MAX];
	struct shca_pkt pkt;
	u32 i;

	for (i = 0; i < 16; i++) {
		in[15] = (i & 3) | (i >> 2) << 4;
		memset(&pkt, 0, sizeof(pkt));
		KUNIT_ASSERT_EQ(test, shca_hdr_parse(&pkt, in, 32, 36),
				SHCA_PARSE_OK);
		KUNIT_EXPECT_EQ(test, pkt.feth.type, i & 3);
		KUNIT_EXPECT_EQ(test, pkt.feth.level, i >> 2);
		shca_hdr_build(&pkt, out);
		KUNIT_EXPECT_MEMEQ(test, in, out, 32);
	}
}

static void hdr_build_has_the_version(struct kunit *test)
{
	u8 out[SHCA_HDR_MAX];
	struct shca_pkt pkt;

	memset(&pkt, 0, sizeof(pkt));
	pkt.opcode = SHCA_OP_SEND_ONLY;
	pkt.tver = 0x15;
	pkt.pad = 7;
	shca_hdr_build(&pkt, out);
	KUNIT_EXPECT_EQ(test, out[1], 0x35);
}

static void hdr_parse_of_each_shorter_length_is_short(struct kunit *test)
{
	const struct hdr_row *row = test->param_value;
	struct shca_pkt pkt;
	u32 len;

	for (len = 0; len < row->len; len++) {
		KUNIT_EXPECT_EQ(test, shca_hdr_parse(&pkt, row->bytes, len,
						     row->len + 4 + 4),
				SHCA_PARSE_SHORT);
		KUNIT_EXPECT_EQ(test, shca_hdr_parse(&pkt, row->bytes, len,
						     len),
				SHCA_PARSE_SHORT);
	}
	/* without room for the ICRC */
	for (len = row->len; len < row->len + SHCA_ICRC_BYTES; len++)
		KUNIT_EXPECT_EQ(test, shca_hdr_parse(&pkt, row->bytes, row->len,
						     len),
				SHCA_PARSE_SHORT);
}

static void hdr_parse_of_pad_beyond_payload_is_refused(struct kunit *test)
{
	u8 bytes[12] = { BTH(0x04, 0x30) };
	struct shca_pkt pkt;

	KUNIT_EXPECT_EQ(test, shca_hdr_parse(&pkt, bytes, 12, 12 + 2 + 4),
			SHCA_PARSE_PAD);
	KUNIT_EXPECT_EQ(test, shca_hdr_parse(&pkt, bytes, 12, 12 + 3 + 4),
			SHCA_PARSE_OK);
	KUNIT_EXPECT_EQ(test, pkt.paylen, 0u);
}

static void hdr_parse_of_other_version_is_refused(struct kunit *test)
{
	u8 bytes[12] = { BTH(0x04, 0x01) };
	struct shca_pkt pkt;

	KUNIT_EXPECT_EQ(test, shca_hdr_parse(&pkt, bytes, 12, 16),
			SHCA_PARSE_TVER);
}

static void hdr_parse_of_reserved_opcode_decodes_bth(struct kunit *test)
{
	u8 bytes[12] = { BTH(0x15, 0x00) };
	struct shca_pkt pkt;

	KUNIT_EXPECT_EQ(test, shca_hdr_parse(&pkt, bytes, 12, 16),
			SHCA_PARSE_OPCODE);
	KUNIT_EXPECT_EQ(test, pkt.opcode, 0x15);
	KUNIT_EXPECT_EQ(test, pkt.dqpn, 0x123456u);
	KUNIT_EXPECT_EQ(test, pkt.psn, 0xabcdefu);
}

/* RoCEv2 annex A17.9.3: BECN, PSN 0, sixteen reserved bytes */
static void hdr_build_of_cnp_is_bth_and_16_zeros(struct kunit *test)
{
	static const u8 expected[28] = {
		0x81, 0x40, 0xff, 0xff, 0x40, 0x00, 0x00, 0x07,
	};
	u8 out[SHCA_HDR_MAX];
	struct shca_pkt pkt;
	u32 i;

	memset(&pkt, 0, sizeof(pkt));
	memset(out, 0xaa, sizeof(out));
	pkt.opcode = SHCA_OPCODE_CNP;
	pkt.mig = true;
	pkt.pkey = 0xffff;
	pkt.dqpn = 7;
	KUNIT_ASSERT_EQ(test, shca_hdr_build(&pkt, out), 28u);
	KUNIT_EXPECT_MEMEQ(test, out, expected, sizeof(expected));
	for (i = sizeof(expected); i < sizeof(out); i++)
		KUNIT_EXPECT_EQ(test, out[i], 0xaa);
	/* That of an InfiniBand link has another opcode (annex A10), and BECN, too. */
	pkt.opcode = 0x80;
	KUNIT_ASSERT_EQ(test, shca_hdr_build(&pkt, out), 28u);
	KUNIT_EXPECT_EQ(test, out[0], 0x80);
	KUNIT_EXPECT_MEMEQ(test, out + 1, expected + 1, sizeof(expected) - 1);
	KUNIT_EXPECT_FALSE(test, shca_bth_has_fecn(out));
	out[4] |= 0x80;
	KUNIT_EXPECT_TRUE(test, shca_bth_has_fecn(out));
	memset(&pkt, 0, sizeof(pkt));
	KUNIT_EXPECT_EQ(test, shca_hdr_parse(&pkt, out, 28, 32), SHCA_PARSE_OK);
	KUNIT_EXPECT_EQ(test, pkt.paylen, 0u);
}

/* Each opcode, with rubbish as headers: what is decoded is what was there. */
static void hdr_of_each_opcode_survives_both_ways(struct kunit *test)
{
	u8 in[SHCA_HDR_MAX], out[SHCA_HDR_MAX];
	const struct shca_opcode_info *info;
	struct shca_pkt pkt;
	u32 op, i;

	for (op = 0; op < 256; op++) {
		info = shca_opcode_info(op);
		if (!info->flags || info->flags & SHCA_OPF_CNP)
			continue;
		for (i = 0; i < sizeof(in); i++)
			in[i] = op * 7 + i * 13 + 1;
		in[0] = op;
		in[1] &= 0xf0;	/* version 0 */
		in[4] = 0;	/* BECN, which only CNPs have, and reserved bits */
		in[8] &= 0x80;
		if (info->flags & SHCA_OPF_XRCETH)
			in[12] = 0;
		if (info->flags & SHCA_OPF_DETH)
			in[16] = 0;
		if (info->flags & SHCA_OPF_FETH) {
			i = info->flags & SHCA_OPF_XRCETH ? 16 : 12;
			memset(&in[i], 0, 3);
			in[i + 3] &= 0x33;
		}
		memset(&pkt, 0, sizeof(pkt));
		KUNIT_EXPECT_EQ(test, shca_hdr_parse(&pkt, in, sizeof(in), 60),
				SHCA_PARSE_OK);
		KUNIT_EXPECT_EQ(test, shca_hdr_build(&pkt, out), info->hdr_len);
		KUNIT_EXPECT_MEMEQ(test, in, out, info->hdr_len);
	}
}

/* A19.4.1: type in bits 0 and 1 of four, level in bits 4 and 5, all others reserved */
static void hdr_parse_of_reserved_feth_bits_ignores_them(struct kunit *test)
{
	u8 in[32 + SHCA_ICRC_BYTES] = { BTH(0x1c, 0x40), 0xff, 0xff, 0xff, 0xde };
	struct shca_pkt pkt;

	memset(&pkt, 0, sizeof(pkt));
	KUNIT_EXPECT_EQ(test, shca_hdr_parse(&pkt, in, sizeof(in), sizeof(in)),
			SHCA_PARSE_OK);
	KUNIT_EXPECT_EQ(test, pkt.feth.type, 2);
	KUNIT_EXPECT_EQ(test, pkt.feth.level, 1);
}

static void hdr_pad_fills_to_four(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, shca_hdr_pad(0), 0);
	KUNIT_EXPECT_EQ(test, shca_hdr_pad(1), 3);
	KUNIT_EXPECT_EQ(test, shca_hdr_pad(2), 2);
	KUNIT_EXPECT_EQ(test, shca_hdr_pad(3), 1);
	KUNIT_EXPECT_EQ(test, shca_hdr_pad(4096), 0);
}

/* Nothing is read behind what is there: its version would be wrong. */
static void hdr_parse_of_a_part_of_a_bth_is_short(struct kunit *test)
{
	u8 buf[SHCA_BTH_BYTES] = { SHCA_OP_SEND_ONLY, 1 };
	struct shca_pkt pkt;

	KUNIT_EXPECT_EQ(test, shca_hdr_parse(&pkt, buf, SHCA_BTH_BYTES - 1, 64),
			SHCA_PARSE_SHORT);
	KUNIT_EXPECT_EQ(test, shca_hdr_parse(&pkt, buf, SHCA_BTH_BYTES, 64),
			SHCA_PARSE_TVER);
}

static struct kunit_case headers_cases[] = {
	KUNIT_CASE_PARAM(hdr_of_wire_bytes_goes_both_ways, hdr_gen_params),
	KUNIT_CASE_PARAM(hdr_without_a_field_leaves_it, hdr_gen_params),
	KUNIT_CASE_PARAM(hdr_hide_keys_leaves_the_upper_byte, hdr_gen_params),
	KUNIT_CASE(hdr_parse_forgets_the_packet_before),
	KUNIT_CASE(hdr_parse_of_reserved_bth_bits_ignores_them),
	KUNIT_CASE_PARAM(hdr_parse_reads_only_what_there_is, hdr_gen_params),
	KUNIT_CASE(hdr_of_each_flush_type_goes_both_ways),
	KUNIT_CASE(hdr_build_has_the_version),
	KUNIT_CASE_PARAM(hdr_parse_of_each_shorter_length_is_short,
			 hdr_gen_params),
	KUNIT_CASE(hdr_parse_of_pad_beyond_payload_is_refused),
	KUNIT_CASE(hdr_parse_of_other_version_is_refused),
	KUNIT_CASE(hdr_parse_of_reserved_opcode_decodes_bth),
	KUNIT_CASE(hdr_build_of_cnp_is_bth_and_16_zeros),
	KUNIT_CASE(hdr_of_each_opcode_survives_both_ways),
	KUNIT_CASE(hdr_parse_of_reserved_feth_bits_ignores_them),
	KUNIT_CASE(hdr_pad_fills_to_four),
	KUNIT_CASE(hdr_parse_of_a_part_of_a_bth_is_short),
	{}
};

static struct kunit_suite headers_suite = {
	.name = "softhca_headers",
	.test_cases = headers_cases,
};

kunit_test_suites(&headers_suite);
