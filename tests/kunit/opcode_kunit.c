// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The opcode table against IBTA table 38 (9.2.1): which headers follow, in
 * bytes, and what the packet is; and the time codes.
 */
#include "fixture.h"

#define BTH	12
#define RETH	16
#define FETH	4	/* A19.4.1 */
#define AETH	4
#define IMM	4
#define IETH	4
#define ATOMIC	28
#define ATOMACK	8
#define DETH	8
#define XRC	4

#define REQ	SHCA_OPF_REQUEST
#define RESP	SHCA_OPF_RESPONSE
#define FIRST	SHCA_OPF_START
#define LAST	SHCA_OPF_END
#define ONLY	(SHCA_OPF_START | SHCA_OPF_END)
#define PAY	SHCA_OPF_PAYLOAD

struct op_row {
	u8 opcode;
	u8 hdr_len;
	u32 kind;	/* REQ or RESP, START, END */
};

static const struct op_row op_rows[] = {
	{ 0x00, BTH, REQ | FIRST },
	{ 0x01, BTH, REQ },
	{ 0x02, BTH, REQ | LAST },
	{ 0x03, BTH + IMM, REQ | LAST },
	{ 0x04, BTH, REQ | ONLY },
	{ 0x05, BTH + IMM, REQ | ONLY },
	{ 0x06, BTH + RETH, REQ | FIRST },
	{ 0x07, BTH, REQ },
	{ 0x08, BTH, REQ | LAST },
	{ 0x09, BTH + IMM, REQ | LAST },
	{ 0x0a, BTH + RETH, REQ | ONLY },
	{ 0x0b, BTH + RETH + IMM, REQ | ONLY },
	{ 0x0c, BTH + RETH, REQ | ONLY },
	{ 0x0d, BTH + AETH, RESP | FIRST },
	{ 0x0e, BTH, RESP },
	{ 0x0f, BTH + AETH, RESP | LAST },
	{ 0x10, BTH + AETH, RESP | ONLY },
	{ 0x11, BTH + AETH, RESP | ONLY },
	{ 0x12, BTH + AETH + ATOMACK, RESP | ONLY },
	{ 0x13, BTH + ATOMIC, REQ | ONLY },
	{ 0x14, BTH + ATOMIC, REQ | ONLY },
	{ 0x16, BTH + IETH, REQ | LAST },
	{ 0x17, BTH + IETH, REQ | ONLY },
	{ 0x1c, BTH + FETH + RETH, REQ | ONLY },
	{ 0x1d, BTH + RETH, REQ | ONLY },
	{ 0x20, BTH, REQ | FIRST },
	{ 0x21, BTH, REQ },
	{ 0x22, BTH, REQ | LAST },
	{ 0x23, BTH + IMM, REQ | LAST },
	{ 0x24, BTH, REQ | ONLY },
	{ 0x25, BTH + IMM, REQ | ONLY },
	{ 0x26, BTH + RETH, REQ | FIRST },
	{ 0x27, BTH, REQ },
	{ 0x28, BTH, REQ | LAST },
	{ 0x29, BTH + IMM, REQ | LAST },
	{ 0x2a, BTH + RETH, REQ | ONLY },
	{ 0x2b, BTH + RETH + IMM, REQ | ONLY },
	{ 0x64, BTH + DETH, REQ | ONLY },
	{ 0x65, BTH + DETH + IMM, REQ | ONLY },
	{ 0x80, BTH + 16, RESP },
	{ 0x81, BTH + 16, RESP },
	/* annex A14 */
	{ 0xa0, BTH + XRC, REQ | FIRST },
	{ 0xa1, BTH + XRC, REQ },
	{ 0xa2, BTH + XRC, REQ | LAST },
	{ 0xa3, BTH + XRC + IMM, REQ | LAST },
	{ 0xa4, BTH + XRC, REQ | ONLY },
	{ 0xa5, BTH + XRC + IMM, REQ | ONLY },
	{ 0xa6, BTH + XRC + RETH, REQ | FIRST },
	{ 0xa7, BTH + XRC, REQ },
	{ 0xa8, BTH + XRC, REQ | LAST },
	{ 0xa9, BTH + XRC + IMM, REQ | LAST },
	{ 0xaa, BTH + XRC + RETH, REQ | ONLY },
	{ 0xab, BTH + XRC + RETH + IMM, REQ | ONLY },
	{ 0xac, BTH + XRC + RETH, REQ | ONLY },
	{ 0xad, BTH + AETH, RESP | FIRST },
	{ 0xae, BTH, RESP },
	{ 0xaf, BTH + AETH, RESP | LAST },
	{ 0xb0, BTH + AETH, RESP | ONLY },
	{ 0xb1, BTH + AETH, RESP | ONLY },
	{ 0xb2, BTH + AETH + ATOMACK, RESP | ONLY },
	{ 0xb3, BTH + XRC + ATOMIC, REQ | ONLY },
	{ 0xb4, BTH + XRC + ATOMIC, REQ | ONLY },
	{ 0xb6, BTH + XRC + IETH, REQ | LAST },
	{ 0xb7, BTH + XRC + IETH, REQ | ONLY },
	{ 0xbc, BTH + XRC + FETH + RETH, REQ | ONLY },
	{ 0xbd, BTH + XRC + RETH, REQ | ONLY },
};

static void op_desc(const struct op_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%02x", row->opcode);
}

KUNIT_ARRAY_PARAM(op, op_rows, op_desc);

static void opcode_info_matches_table_38(struct kunit *test)
{
	const struct op_row *row = test->param_value;
	const struct shca_opcode_info *info = shca_opcode_info(row->opcode);

	KUNIT_ASSERT_TRUE(test, info->flags & SHCA_OPF_VALID);
	KUNIT_EXPECT_EQ(test, info->hdr_len, row->hdr_len);
	KUNIT_EXPECT_EQ(test, info->flags & (REQ | RESP | FIRST | LAST),
			row->kind);
	KUNIT_EXPECT_NOT_NULL(test, info->name);
}

/* What an operation is, by the lower five bits (table 38, A19), and what it carries. */
static const struct {
	const char *name;
	u32 flags;
} carried[32] = {
	[0x00] = { "SEND First", REQ | FIRST | PAY | SHCA_OPF_SEND },
	[0x01] = { "SEND Middle", REQ | PAY | SHCA_OPF_SEND },
	[0x02] = { "SEND Last", REQ | LAST | PAY | SHCA_OPF_SEND },
	[0x03] = { "SEND Last with Immediate",
		   REQ | LAST | PAY | SHCA_OPF_SEND | SHCA_OPF_IMM },
	[0x04] = { "SEND Only", REQ | ONLY | PAY | SHCA_OPF_SEND },
	[0x05] = { "SEND Only with Immediate",
		   REQ | ONLY | PAY | SHCA_OPF_SEND | SHCA_OPF_IMM },
	[0x06] = { "RDMA WRITE First",
		   REQ | FIRST | PAY | SHCA_OPF_WRITE | SHCA_OPF_RETH },
	[0x07] = { "RDMA WRITE Middle", REQ | PAY | SHCA_OPF_WRITE },
	[0x08] = { "RDMA WRITE Last", REQ | LAST | PAY | SHCA_OPF_WRITE },
	[0x09] = { "RDMA WRITE Last with Immediate",
		   REQ | LAST | PAY | SHCA_OPF_WRITE | SHCA_OPF_IMM },
	[0x0a] = { "RDMA WRITE Only",
		   REQ | ONLY | PAY | SHCA_OPF_WRITE | SHCA_OPF_RETH },
	[0x0b] = { "RDMA WRITE Only with Immediate",
		   REQ | ONLY | PAY | SHCA_OPF_WRITE | SHCA_OPF_RETH |
		   SHCA_OPF_IMM },
	[0x0c] = { "RDMA READ Request",
		   REQ | ONLY | SHCA_OPF_READ | SHCA_OPF_RETH },
	[0x0d] = { "RDMA READ response First",
		   RESP | FIRST | PAY | SHCA_OPF_READ | SHCA_OPF_AETH },
	[0x0e] = { "RDMA READ response Middle", RESP | PAY | SHCA_OPF_READ },
	[0x0f] = { "RDMA READ response Last",
		   RESP | LAST | PAY | SHCA_OPF_READ | SHCA_OPF_AETH },
	[0x10] = { "RDMA READ response Only",
		   RESP | ONLY | PAY | SHCA_OPF_READ | SHCA_OPF_AETH },
	[0x11] = { "Acknowledge", RESP | ONLY | SHCA_OPF_AETH },
	[0x12] = { "ATOMIC Acknowledge",
		   RESP | ONLY | SHCA_OPF_ATOMIC | SHCA_OPF_AETH |
		   SHCA_OPF_ATOMICACKETH },
	[0x13] = { "CmpSwap",
		   REQ | ONLY | SHCA_OPF_ATOMIC | SHCA_OPF_ATOMICETH },
	[0x14] = { "FetchAdd",
		   REQ | ONLY | SHCA_OPF_ATOMIC | SHCA_OPF_ATOMICETH },
	[0x16] = { "SEND Last with Invalidate",
		   REQ | LAST | PAY | SHCA_OPF_SEND | SHCA_OPF_INV },
	[0x17] = { "SEND Only with Invalidate",
		   REQ | ONLY | PAY | SHCA_OPF_SEND | SHCA_OPF_INV },
	[0x1c] = { "FLUSH", REQ | ONLY | SHCA_OPF_FLUSH | SHCA_OPF_FETH |
			    SHCA_OPF_RETH },
	[0x1d] = { "ATOMIC WRITE", REQ | ONLY | PAY | SHCA_OPF_ATOMIC_WRITE |
				   SHCA_OPF_RETH },
};

static u32 carried_by(u8 opcode)
{
	u32 flags = carried[opcode & 0x1f].flags | SHCA_OPF_VALID;

	if (opcode == 0x80 || opcode == 0x81)
		return SHCA_OPF_VALID | RESP | SHCA_OPF_CNP;
	if ((opcode & 0xe0) == 0x60)
		flags |= SHCA_OPF_DETH;
	/* annex A14: requests only */
	if ((opcode & 0xe0) == 0xa0 && flags & REQ)
		flags |= SHCA_OPF_XRCETH;
	return flags;
}

static void opcode_info_tells_what_it_carries(struct kunit *test)
{
	static const char transports[8][5] = {
		[0] = "RC ", [1] = "UC ", [3] = "UD ", [5] = "XRC ",
	};
	const struct op_row *row = test->param_value;
	const struct shca_opcode_info *info = shca_opcode_info(row->opcode);
	char name[64];

	KUNIT_EXPECT_EQ(test, info->flags, carried_by(row->opcode));
	if (row->opcode == 0x80 || row->opcode == 0x81)
		return;
	snprintf(name, sizeof(name), "%s%s", transports[row->opcode >> 5],
		 carried[row->opcode & 0x1f].name);
	KUNIT_EXPECT_STREQ(test, info->name, name);
}

static void opcode_info_of_others_has_no_flags(struct kunit *test)
{
	u32 opcode, i;

	for (opcode = 0; opcode < 256; opcode++) {
		for (i = 0; i < ARRAY_SIZE(op_rows); i++)
			if (op_rows[i].opcode == opcode)
				break;
		if (i < ARRAY_SIZE(op_rows))
			continue;
		KUNIT_EXPECT_EQ(test, shca_opcode_info(opcode)->flags, 0u);
		KUNIT_EXPECT_EQ(test, shca_opcode_info(opcode)->hdr_len, BTH);
		KUNIT_EXPECT_NOT_NULL(test, shca_opcode_info(opcode)->name);
	}
}

/* IBTA table 45 (9.7.5.2.8), in microseconds */
static const u32 rnr_us[32] = {
	655360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960,
	1280, 1920, 2560, 3840, 5120, 7680, 10240, 15360, 20480, 30720, 40960,
	61440, 81920, 122880, 163840, 245760, 327680, 491520,
};

static void rnr_ns_of_each_code_matches_table_45(struct kunit *test)
{
	u32 code;

	for (code = 0; code < 32; code++)
		KUNIT_EXPECT_EQ(test, shca_rnr_ns(code), rnr_us[code] * 1000ull);
}

static void timeout_ns_is_4096_ns_doubled(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, shca_timeout_ns(0), 0ull);
	KUNIT_EXPECT_EQ(test, shca_timeout_ns(1), 8192ull);
	KUNIT_EXPECT_EQ(test, shca_timeout_ns(14), 67108864ull);
	KUNIT_EXPECT_EQ(test, shca_timeout_ns(31), 4096ull << 31);
}

static struct kunit_case opcode_cases[] = {
	KUNIT_CASE_PARAM(opcode_info_matches_table_38, op_gen_params),
	KUNIT_CASE_PARAM(opcode_info_tells_what_it_carries, op_gen_params),
	KUNIT_CASE(opcode_info_of_others_has_no_flags),
	KUNIT_CASE(rnr_ns_of_each_code_matches_table_45),
	KUNIT_CASE(timeout_ns_is_4096_ns_doubled),
	{}
};

static struct kunit_suite opcode_suite = {
	.name = "softhca_opcode",
	.test_cases = opcode_cases,
};

kunit_test_suites(&opcode_suite);
