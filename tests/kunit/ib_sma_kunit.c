// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The subnet management agent: attributes read and set, states, protection, traps. */
#include "fixture.h"

#include "../../kernel/ib/core/ib_hello.h"
#include "../../kernel/ib/core/ib_sma.h"

#define GUID	0x0002030405060708ull
#define KEY	0x1122334455667788ull
#define LID_ROUTED	0x01
#define DIRECTED	0x81
#define GET	0x01
#define SET	0x02
#define DESC	0x10
#define NODE	0x11
#define GUIDINFO	0x14
#define PORTINFO	0x15
#define PKEYS	0x16
#define SL2VL	0x17
#define VLARB	0x18
#define SM_INFO	0x20
#define NOTICE	0x02
#define SECOND	1000000000ull
#define PERIOD	262144ull	/* 65,536 symbols of 4 ns */
#define ANSWERED	(SHCA_IB_SMA_REPLY | SHCA_IB_SMA_CONSUMED)

struct fx_sma {
	struct shca_ib_sma sma;
	struct shca_ib_sma was;		/* too large for the stack of a test */
	u8 in[SHCA_IB_MAD_BYTES];
	u8 out[SHCA_IB_MAD_BYTES];
	bool trusted;
	u64 now;
};

static struct fx_sma *fx_sma(struct kunit *test)
{
	struct fx_sma *fx = kunit_kzalloc(test, sizeof(*fx), GFP_KERNEL);

	memset(&fx->sma, 0xff, sizeof(fx->sma));
	shca_ib_sma_init(&fx->sma, GUID, 3);
	memset(fx->in, 0xdd, sizeof(fx->in));	/* paths, which come back */
	memcpy(fx->sma.desc, "softhca of a test", 18);
	fx->sma.vendor = 0x123456;
	fx->sma.device = 0x789a;
	fx->sma.revision = 0xbcdef012;
	fx->sma.partitions = 16;
	fx->sma.cap_mask = 0x02010800;
	return fx;
}

/* A request with the data of the last reply. */
static void prepare(struct fx_sma *fx, u8 class, u8 method, u8 attr, u32 mod)
{
	u8 *in = fx->in;

	memset(in, 0, 64);
	memcpy(in + 64, fx->out + 64, 64);
	in[0] = 1;
	in[1] = class;
	in[2] = 1;
	in[3] = method;
	in[15] = 0x77;		/* TID */
	in[17] = attr;
	in[20] = mod >> 24;
	in[23] = mod;
	memset(fx->out, 0xee, sizeof(fx->out));
}

static void set_key(struct fx_sma *fx, u64 key)
{
	u32 i;

	for (i = 0; i < 8; i++)
		fx->in[24 + i] = key >> (56 - 8 * i);
}

static u32 send(struct fx_sma *fx)
{
	const struct shca_ib_smp_from from = {
		.slid = 0x55,
		.trusted = fx->trusted,
		.now = fx->now,
	};

	return shca_ib_smp(&fx->sma, fx->in, fx->out, &from);
}

static u32 status(const struct fx_sma *fx)
{
	return fx->out[4] << 8 | fx->out[5];
}

static u32 get(struct fx_sma *fx, u8 attr)
{
	prepare(fx, LID_ROUTED, GET, attr, 0);
	/* Data of a request to read is not looked at. */
	memset(fx->in + 64, 0xee, 64);
	return send(fx);
}

/* Reads PortInfo; what is then changed in @fx->in is set by send(). */
static u8 *begin_set(struct kunit *test, struct fx_sma *fx)
{
	KUNIT_EXPECT_EQ(test, get(fx, PORTINFO), ANSWERED);
	prepare(fx, LID_ROUTED, SET, PORTINFO, 1);
	fx->in[64 + 32] &= 0xf0;	/* state: no change */
	fx->in[64 + 33] &= 0x0f;
	return fx->in + 64;
}

static void node_desc_is_read(struct kunit *test)
{
	struct fx_sma *fx = fx_sma(test);

	KUNIT_EXPECT_EQ(test, get(fx, DESC), ANSWERED);
	KUNIT_EXPECT_EQ(test, status(fx), 0u);
	KUNIT_EXPECT_EQ(test, memcmp(fx->out + 64, fx->sma.desc, 64), 0);
	/* The rest is that of the request. */
	KUNIT_EXPECT_EQ(test, fx->out[3], 0x81);
	KUNIT_EXPECT_EQ(test, memcmp(fx->out + 6, fx->in + 6, 58), 0);
	KUNIT_EXPECT_EQ(test, memcmp(fx->out + 128, fx->in + 128, 128), 0);
}

static void node_info_is_read(struct kunit *test)
{
	static const u8 wanted[64] = {
		1, 1, 1, 1, 0, 2, 3, 4, 5, 6, 7, 8, 0, 2, 3, 4, 5, 6, 7, 8,
		0, 2, 3, 4, 5, 6, 7, 8, 0, 16, 0x78, 0x9a, 0xbc, 0xde, 0xf0, 0x12,
		1, 0x12, 0x34, 0x56,
	};
	struct fx_sma *fx = fx_sma(test);

	KUNIT_EXPECT_EQ(test, get(fx, NODE), ANSWERED);
	KUNIT_EXPECT_EQ(test, memcmp(fx->out + 64, wanted, 64), 0);
	KUNIT_EXPECT_EQ(test, memcmp(fx->out + 128, fx->in + 128, 128), 0);
}

static void port_info_is_read(struct kunit *test)
{
	static const u8 wanted[64] = {
		[8] = 0xfe, 0x80, [20] = 0x02, 0x01, 0x08, 0x00,
		[28] = 1, 2, 2, 2, 0x11, 0x22, [35] = 0x11, 0x30, 0x40,
		0, 32, 32, [41] = 3, [43] = 0x40, [50] = 8, 0, 16, 0x88,
	};
	struct fx_sma *fx = fx_sma(test);

	KUNIT_EXPECT_EQ(test, get(fx, PORTINFO), ANSWERED);
	KUNIT_EXPECT_EQ(test, status(fx), 0u);
	KUNIT_EXPECT_EQ(test, memcmp(fx->out + 64, wanted, 64), 0);
	KUNIT_EXPECT_EQ(test, memcmp(fx->out + 128, fx->in + 128, 128), 0);
	KUNIT_EXPECT_EQ(test, shca_ib_sma_link(&fx->sma, SHCA_IB_PHYS_LINK_UP, true), 0u);
	get(fx, PORTINFO);
	KUNIT_EXPECT_EQ(test, fx->out[64 + 32], 0x12);
	KUNIT_EXPECT_EQ(test, fx->out[64 + 33], 0x52);
	prepare(fx, LID_ROUTED, GET, PORTINFO, 2);
	KUNIT_EXPECT_EQ(test, send(fx), ANSWERED);
	KUNIT_EXPECT_EQ(test, status(fx), 0x1cu);
}

/* A directed one goes back the way it came. */
static void directed_reply_says_so(struct kunit *test)
{
	struct fx_sma *fx = fx_sma(test);

	prepare(fx, DIRECTED, GET, NODE, 0);
	KUNIT_EXPECT_EQ(test, send(fx), ANSWERED);
	KUNIT_EXPECT_EQ(test, status(fx), 0x8000u);
	prepare(fx, DIRECTED, GET, 0x99, 0);
	KUNIT_EXPECT_EQ(test, send(fx), ANSWERED);
	KUNIT_EXPECT_EQ(test, status(fx), 0x800cu);
}

static void not_for_the_agent(struct kunit *test)
{
	static const u8 methods[] = { 0x81, 0x82, 0x05, 0x06, 0x07, 0xff };
	struct fx_sma *fx = fx_sma(test);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(methods); i++) {
		prepare(fx, LID_ROUTED, methods[i], NODE, 0);
		KUNIT_EXPECT_EQ(test, send(fx), 0u);
	}
	prepare(fx, 0x03, GET, NODE, 0);
	KUNIT_EXPECT_EQ(test, send(fx), 0u);
	/* A subnet manager here answers for itself, and for nothing else. */
	KUNIT_EXPECT_EQ(test, get(fx, SM_INFO), ANSWERED);
	KUNIT_EXPECT_EQ(test, status(fx), 0xcu);
	fx->sma.cap_mask |= 2;
	KUNIT_EXPECT_EQ(test, get(fx, SM_INFO), 0u);
	KUNIT_EXPECT_EQ(test, get(fx, NODE), ANSWERED);
}

static void what_is_wrong_is_said(struct kunit *test)
{
	struct fx_sma *fx = fx_sma(test);
	static const struct {
		u8 at, value;
		u16 status;
	} rows[] = {
		{ 0, 2, 0x04 }, { 2, 2, 0x04 }, { 3, 0x03, 0x08 },
		{ 3, 0x20, 0x08 }, { 17, 0x12, 0x0c }, { 16, 0x01, 0x0c },
		{ 23, 1, 0x1c }, { 20, 1, 0x1c }, { 3, SET, 0x0c },
	};
	static const u8 attrs[] = { NODE, DESC };
	u32 i, j;

	for (j = 0; j < 2; j++)
		for (i = 0; i < ARRAY_SIZE(rows); i++) {
			prepare(fx, LID_ROUTED, GET, attrs[j], 0);
			fx->in[rows[i].at] = rows[i].value;
			KUNIT_EXPECT_EQ(test, send(fx), ANSWERED);
			KUNIT_EXPECT_EQ(test, status(fx), rows[i].status);
		}
}

static void port_info_is_set(struct kunit *test)
{
	struct fx_sma *fx = fx_sma(test);
	u8 *data = begin_set(test, fx);
	u8 sent[64];

	data[8] = 0xfd;			/* prefix */
	data[16] = 0x12;
	data[17] = 0x34;	/* LID */
	data[18] = 0x23;
	data[19] = 0x45;	/* SM's */
	data[26] = 0x01;
	data[27] = 0x02;	/* lease */
	data[29] = 0xff;		/* width: all */
	data[33] = 0x01;		/* sleep by default */
	data[34] = 0x45;		/* protection 1, LMC 5 */
	data[35] = 0x1f;		/* speed: all */
	data[36] = 0x29;		/* MTU 512, SL 9 */
	data[38] = 0x55;		/* limit of high priority */
	data[42] = 0x53;		/* stall count 2, HOQ life */
	data[43] = 0x30;		/* four lanes */
	data[51] = 0x93;		/* reregister, timeout 19 */
	data[53] = 0x97;		/* thresholds */
	memcpy(sent, data, sizeof(sent));
	KUNIT_EXPECT_EQ(test, send(fx),
			ANSWERED | SHCA_IB_SMA_LID | SHCA_IB_SMA_SM |
			SHCA_IB_SMA_GID | SHCA_IB_SMA_REREGISTER |
			SHCA_IB_SMA_LANES);
	KUNIT_EXPECT_EQ(test, status(fx), 0u);
	KUNIT_EXPECT_EQ(test, fx->sma.lid, 0x1234);
	KUNIT_EXPECT_EQ(test, fx->sma.lmc, 5);
	KUNIT_EXPECT_EQ(test, fx->sma.sm_lid, 0x2345);
	KUNIT_EXPECT_EQ(test, fx->sma.sm_sl, 9);
	KUNIT_EXPECT_EQ(test, fx->sma.gid_prefix, 0xfd80000000000000ull);
	/* The reply is what is now; so is a later read. */
	sent[29] = 2;
	sent[32] = 0x11;
	sent[33] = 0x21;
	sent[35] = 0x11;
	sent[51] = 0x13;
	KUNIT_EXPECT_EQ(test, memcmp(fx->out + 64, sent, sizeof(sent)), 0);
	get(fx, PORTINFO);
	KUNIT_EXPECT_EQ(test, memcmp(fx->out + 64, sent, sizeof(sent)), 0);
	/* The same once more is no change. */
	begin_set(test, fx);
	KUNIT_EXPECT_EQ(test, send(fx), ANSWERED);
	/* Zero leaves these as they are. */
	data = begin_set(test, fx);
	data[29] = 0;
	data[33] = 0;
	data[35] = 0x10;
	data[36] = 0x09;
	data[43] = 0;
	KUNIT_EXPECT_EQ(test, send(fx), ANSWERED);
	KUNIT_EXPECT_EQ(test, memcmp(fx->out + 64, sent, sizeof(sent)), 0);
	/* the least MTU: 256 */
	data = begin_set(test, fx);
	data[36] = 0x19;
	KUNIT_EXPECT_EQ(test, send(fx), ANSWERED);
	KUNIT_EXPECT_EQ(test, fx->sma.neighbor_mtu, 1);
}

/* Each change alone is told. */
static void changes_are_told_one_by_one(struct kunit *test)
{
	static const struct {
		u8 at, value;
		u32 what;
	} rows[] = {
		{ 17, 5, SHCA_IB_SMA_LID }, { 34, 1, SHCA_IB_SMA_LID },
		{ 19, 5, SHCA_IB_SMA_SM }, { 36, 0x31, SHCA_IB_SMA_SM },
		{ 15, 9, SHCA_IB_SMA_GID },
		{ 51, 0x80, SHCA_IB_SMA_REREGISTER },
		{ 51, 0x13, 0 }, { 42, 3, 0 },
	};
	struct fx_sma *fx = fx_sma(test);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		begin_set(test, fx)[rows[i].at] = rows[i].value;
		KUNIT_EXPECT_EQ(test, send(fx), ANSWERED | rows[i].what);
	}
}

static void bad_fields_change_nothing(struct kunit *test)
{
	static const struct {
		u8 at, value;
	} rows[] = {
		{ 16, 0xc0 }, { 18, 0xc0 }, { 29, 1 }, { 29, 3 }, { 29, 0xfe },
		{ 35, 0x12 }, { 35, 0x1e }, { 33, 0x03 }, { 36, 0x40 },
		{ 43, 0x50 }, { 32, 0x13 }, { 32, 0x14 }, { 32, 0x12 },
		{ 32, 0x15 }, { 33, 0x12 }, { 33, 0x42 }, { 33, 0x52 },
	};
	struct fx_sma *fx = fx_sma(test);
	u8 *data;
	u32 i;

	memcpy(&fx->was, &fx->sma, sizeof(fx->was));
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		data = begin_set(test, fx);
		data[17] = 7;		/* would be good */
		data[rows[i].at] = rows[i].value;
		KUNIT_EXPECT_EQ(test, send(fx), ANSWERED);
		KUNIT_EXPECT_EQ(test, status(fx), 0x1cu);
		KUNIT_EXPECT_MEMEQ(test, &fx->was, &fx->sma, sizeof(fx->was));
	}
	/* the first bad LID of each, the last good ones */
	data = begin_set(test, fx);
	data[16] = 0xc0;
	KUNIT_EXPECT_EQ(test, send(fx), ANSWERED);
	KUNIT_EXPECT_EQ(test, status(fx), 0x1cu);
	data = begin_set(test, fx);
	data[18] = 0xc0;
	KUNIT_EXPECT_EQ(test, send(fx), ANSWERED);
	KUNIT_EXPECT_EQ(test, status(fx), 0x1cu);
	data = begin_set(test, fx);
	data[16] = 0xbf;
	data[17] = 0xff;
	data[18] = 0xbf;
	data[19] = 0xff;
	data[36] = 0x30;
	data[43] = 0x40;
	KUNIT_EXPECT_EQ(test, send(fx),
			ANSWERED | SHCA_IB_SMA_LID | SHCA_IB_SMA_SM);
	data = begin_set(test, fx);
	data[43] = 0x50;	/* 15 lanes: more than there are */
	KUNIT_EXPECT_EQ(test, send(fx), ANSWERED);
	KUNIT_EXPECT_EQ(test, status(fx), 0x1cu);
	KUNIT_EXPECT_EQ(test, fx->sma.lanes.code, 4);
}

/* The peer has fewer lanes, or none; what a manager has set stays below that. */
static void lanes_are_those_of_both_ends(struct kunit *test)
{
	static const u8 rows[][3] = {	/* set, of the peer, operational */
		{ 4, 4, 4 }, { 4, 2, 2 }, { 3, 4, 3 }, { 2, 0, 1 }, { 1, 15, 1 },
	};
	struct fx_sma *fx = fx_sma(test);
	u32 i;

	/* before a manager has set any */
	fx->sma.peer_lanes = 15;
	shca_ib_sma_link(&fx->sma, SHCA_IB_PHYS_LINK_UP, true);
	get(fx, PORTINFO);
	KUNIT_EXPECT_EQ(test, fx->out[64 + 43], 0x40);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		shca_ib_sma_link(&fx->sma, SHCA_IB_PHYS_POLLING, false);
		fx->sma.lanes_set = rows[i][0];
		fx->sma.peer_lanes = rows[i][1];
		shca_ib_sma_link(&fx->sma, SHCA_IB_PHYS_LINK_UP, true);
		get(fx, PORTINFO);
		KUNIT_EXPECT_EQ(test, fx->out[64 + 43], rows[i][2] << 4);
	}
	/* The same number, or 0, is no change. */
	begin_set(test, fx);
	KUNIT_EXPECT_EQ(test, send(fx), ANSWERED);
	begin_set(test, fx)[43] = 0;
	KUNIT_EXPECT_EQ(test, send(fx), ANSWERED);
	KUNIT_EXPECT_EQ(test, fx->out[64 + 43], 0x10);
	begin_set(test, fx)[43] = 0x20;
	KUNIT_EXPECT_EQ(test, send(fx), ANSWERED | SHCA_IB_SMA_LANES);
	KUNIT_EXPECT_EQ(test, fx->sma.lanes_set, 2);
	begin_set(test, fx)[38] = 1;
	KUNIT_EXPECT_EQ(test, send(fx), ANSWERED | SHCA_IB_SMA_LANES);
}

static u8 lane_of(const struct fx_sma *fx, u8 sl)
{
	return shca_ib_lane_of(&fx->sma.lanes.sl2vl, fx->sma.lanes.code, sl);
}

static void sl_to_vl_is_read_and_set(struct kunit *test)
{
	static const u8 initial[64] = { 0x01, 0x23, 0x45, 0x67, 0x01, 0x23, 0x45, 0x67 };
	struct fx_sma *fx = fx_sma(test);
	struct shca_ib_lanes was;
	u32 i;

	KUNIT_EXPECT_EQ(test, get(fx, SL2VL), ANSWERED);
	KUNIT_EXPECT_EQ(test, status(fx), 0u);
	KUNIT_EXPECT_EQ(test, memcmp(fx->out + 64, initial, 64), 0);
	KUNIT_EXPECT_MEMEQ(test, fx->out + 128, fx->in + 128, 128);
	for (i = 0; i < SHCA_IB_SLS; i++)
		KUNIT_EXPECT_EQ(test, lane_of(fx, i), i % 8);
	/* A modifier with ports is that of a switch. */
	prepare(fx, LID_ROUTED, SET, SL2VL, 0x01000002);
	fx->in[64] = 0x7f;
	fx->in[65] = 0x80;
	/* (behind the sixteen, nothing is looked at) */
	memset(fx->in + 64 + 8, 0xff, 56);
	was = fx->sma.lanes;
	KUNIT_EXPECT_EQ(test, send(fx), ANSWERED | SHCA_IB_SMA_LANES);
	KUNIT_EXPECT_EQ(test, status(fx), 0u);
	KUNIT_EXPECT_MEMEQ(test, fx->sma.lanes.arb, was.arb, sizeof(was.arb));
	KUNIT_EXPECT_EQ(test, lane_of(fx, 0), 7);
	KUNIT_EXPECT_EQ(test, lane_of(fx, 1), SHCA_IB_NO_LANE);
	KUNIT_EXPECT_EQ(test, lane_of(fx, 2), SHCA_IB_NO_LANE);
	KUNIT_EXPECT_EQ(test, lane_of(fx, 3), 0);
	get(fx, SL2VL);
	KUNIT_EXPECT_EQ(test, fx->out[64], 0x7f);
	KUNIT_EXPECT_EQ(test, fx->out[65], 0x80);
	KUNIT_EXPECT_EQ(test, fx->out[66], 0x45);
	/* Lanes that are no longer there are those of no service level. */
	fx->sma.lanes.code = 3;
	KUNIT_EXPECT_EQ(test, lane_of(fx, 0), SHCA_IB_NO_LANE);
	KUNIT_EXPECT_EQ(test, lane_of(fx, 8), 0);
	/* Before a manager has set any, there is one for each. */
	shca_ib_lanes_init(&fx->sma.lanes, 2);
	KUNIT_EXPECT_EQ(test, lane_of(fx, 15), 1);
	fx->sma.lanes.code = 1;
	KUNIT_EXPECT_EQ(test, lane_of(fx, 15), 0);
}

/* A table is one block (IBTA 14.2.5.9): a Set is of that, and of nothing else. */
static void vl_arb_is_read_and_set(struct kunit *test)
{
	static const u8 blocks[] = { 3, 1 };
	struct fx_sma *fx = fx_sma(test);
	u8 sent[2][64];
	u32 i, j;

	for (i = 0; i < 6; i++) {
		prepare(fx, LID_ROUTED, GET, VLARB, 0);
		fx->in[21] = i;
		KUNIT_EXPECT_EQ(test, send(fx), ANSWERED);
		KUNIT_EXPECT_EQ(test, status(fx), i == 1 || i == 3 ? 0u : 0x1cu);
	}
	for (i = 0; i < 2; i++) {
		for (j = 0; j < 32; j++) {
			sent[i][2 * j] = (j + i) % 16;
			sent[i][2 * j + 1] = 0xff - 64 * i - j;
		}
		prepare(fx, LID_ROUTED, SET, VLARB, 1);
		fx->in[21] = blocks[i];
		memcpy(fx->in + 64, sent[i], 64);
		fx->in[64] |= 0xf0;	/* reserved */
		KUNIT_EXPECT_EQ(test, send(fx), ANSWERED | SHCA_IB_SMA_LANES);
		KUNIT_EXPECT_EQ(test, status(fx), 0u);
	}
	for (i = 0; i < 2; i++) {
		prepare(fx, LID_ROUTED, GET, VLARB, 1);
		fx->in[21] = blocks[i];
		memset(fx->in + 64, 0xee, 64);
		send(fx);
		KUNIT_EXPECT_MEMEQ(test, fx->out + 64, sent[i], 64);
		KUNIT_EXPECT_MEMEQ(test, fx->out + 128, fx->in + 128, 128);
	}
	KUNIT_EXPECT_EQ(test, fx->sma.lanes.arb[SHCA_IB_ARB_LOW][31].weight, 0xff - 64 - 31);
	KUNIT_EXPECT_EQ(test, fx->sma.lanes.arb[SHCA_IB_ARB_HIGH][31].weight, 0xff - 31);
}

/* Reads a table, and changes @at of the copy that send() sets. */
static void change_table(struct kunit *test, struct fx_sma *fx, u8 attr, u8 at,
			 u8 value)
{
	KUNIT_EXPECT_EQ(test, get(fx, attr), ANSWERED);
	KUNIT_EXPECT_EQ(test, status(fx), 0u);
	prepare(fx, LID_ROUTED, SET, attr, 0);
	fx->in[64 + at] = value;
}

static void guids_are_read_and_set(struct kunit *test)
{
	static const u8 own[64] = { 0, 2, 3, 4, 5, 6, 7, 8 };
	struct fx_sma *fx = fx_sma(test);

	KUNIT_EXPECT_EQ(test, get(fx, GUIDINFO), ANSWERED);
	KUNIT_EXPECT_EQ(test, memcmp(fx->out + 64, own, 64), 0);
	KUNIT_EXPECT_EQ(test, memcmp(fx->out + 128, fx->in + 128, 128), 0);
	/* The port's own stays, and that is no change. */
	change_table(test, fx, GUIDINFO, 7, 9);
	KUNIT_EXPECT_EQ(test, send(fx), ANSWERED);
	KUNIT_EXPECT_EQ(test, memcmp(fx->out + 64, own, 64), 0);
	change_table(test, fx, GUIDINFO, 15, 9);
	KUNIT_EXPECT_EQ(test, send(fx), ANSWERED | SHCA_IB_SMA_GID);
	KUNIT_EXPECT_EQ(test, fx->sma.guids[1], 9ull);
	change_table(test, fx, GUIDINFO, 56, 0x80);
	KUNIT_EXPECT_EQ(test, send(fx), ANSWERED | SHCA_IB_SMA_GID);
	KUNIT_EXPECT_EQ(test, fx->sma.guids[7], 1ull << 63);
	KUNIT_EXPECT_EQ(test, fx->out[64 + 56], 0x80);
	prepare(fx, LID_ROUTED, GET, GUIDINFO, 1);
	KUNIT_EXPECT_EQ(test, send(fx), ANSWERED);
	KUNIT_EXPECT_EQ(test, status(fx), 0x1cu);
}

static void pkeys_are_read_and_set(struct kunit *test)
{
	static const u8 first[64] = { 0xff, 0xff };
	struct fx_sma *fx = fx_sma(test);

	KUNIT_EXPECT_EQ(test, get(fx, PKEYS), ANSWERED);
	KUNIT_EXPECT_EQ(test, memcmp(fx->out + 64, first, 64), 0);
	KUNIT_EXPECT_MEMEQ(test, fx->out + 128, fx->in + 128, 128);
	change_table(test, fx, PKEYS, 1, 0xff);
	KUNIT_EXPECT_EQ(test, send(fx), ANSWERED);
	change_table(test, fx, PKEYS, 0, 0x7f);
	KUNIT_EXPECT_EQ(test, send(fx), ANSWERED | SHCA_IB_SMA_PKEYS);
	KUNIT_EXPECT_EQ(test, fx->sma.pkeys[0], 0x7fff);
	/* the last of 16, and the first that is none */
	change_table(test, fx, PKEYS, 31, 5);
	KUNIT_EXPECT_EQ(test, send(fx), ANSWERED | SHCA_IB_SMA_PKEYS);
	KUNIT_EXPECT_EQ(test, fx->sma.pkeys[15], 5);
	change_table(test, fx, PKEYS, 33, 5);
	KUNIT_EXPECT_EQ(test, send(fx), ANSWERED);
	KUNIT_EXPECT_EQ(test, fx->out[64 + 33], 0);
	/* A switch has ports above the block. */
	prepare(fx, LID_ROUTED, GET, PKEYS, 1u << 24);
	KUNIT_EXPECT_EQ(test, send(fx), ANSWERED);
	KUNIT_EXPECT_EQ(test, status(fx), 0u);
	prepare(fx, LID_ROUTED, GET, PKEYS, 1);
	KUNIT_EXPECT_EQ(test, send(fx), ANSWERED);
	KUNIT_EXPECT_EQ(test, status(fx), 0x1cu);
}

/* @state: upper half a physical state, lower half a port state */
static u32 ask(struct kunit *test, struct fx_sma *fx, u8 state)
{
	u8 *data = begin_set(test, fx);

	data[32] |= state & 0xf;
	data[33] |= state & 0xf0;
	return send(fx);
}

static void states_follow_each_other(struct kunit *test)
{
	struct fx_sma *fx = fx_sma(test);

	KUNIT_EXPECT_EQ(test, fx->sma.state, SHCA_IB_STATE_DOWN);
	fx->sma.neighbor_mtu = 1;
	KUNIT_EXPECT_EQ(test, shca_ib_sma_link(&fx->sma, SHCA_IB_PHYS_LINK_UP, true), 0u);
	KUNIT_EXPECT_EQ(test, fx->sma.state, SHCA_IB_STATE_INIT);
	KUNIT_EXPECT_EQ(test, fx->sma.neighbor_mtu, 3);
	/* not yet */
	ask(test, fx, SHCA_IB_STATE_ACTIVE);
	KUNIT_EXPECT_EQ(test, status(fx), 0x1cu);
	KUNIT_EXPECT_EQ(test, ask(test, fx, SHCA_IB_STATE_ARMED), ANSWERED);
	KUNIT_EXPECT_EQ(test, status(fx), 0u);
	KUNIT_EXPECT_EQ(test, fx->out[64 + 32], 0x13);
	KUNIT_EXPECT_EQ(test, ask(test, fx, SHCA_IB_STATE_ARMED), ANSWERED);
	KUNIT_EXPECT_EQ(test, status(fx), 0u);
	/* a physical state with it makes no sense */
	ask(test, fx, 0x20 | SHCA_IB_STATE_ACTIVE);
	KUNIT_EXPECT_EQ(test, status(fx), 0x1cu);
	ask(test, fx, 0x30 | SHCA_IB_STATE_ARMED);
	KUNIT_EXPECT_EQ(test, status(fx), 0x1cu);
	KUNIT_EXPECT_EQ(test, ask(test, fx, SHCA_IB_STATE_ACTIVE),
			ANSWERED | SHCA_IB_SMA_ACTIVE);
	KUNIT_EXPECT_EQ(test, fx->out[64 + 32], 0x14);
	KUNIT_EXPECT_EQ(test, ask(test, fx, SHCA_IB_STATE_ACTIVE), ANSWERED);
	KUNIT_EXPECT_EQ(test, status(fx), 0u);
	KUNIT_EXPECT_EQ(test, ask(test, fx, SHCA_IB_STATE_NOP), ANSWERED);
	KUNIT_EXPECT_EQ(test, fx->sma.state, SHCA_IB_STATE_ACTIVE);
	/* back to ARMED is no way */
	ask(test, fx, SHCA_IB_STATE_ARMED);
	KUNIT_EXPECT_EQ(test, status(fx), 0x1cu);
	KUNIT_EXPECT_EQ(test, shca_ib_sma_link(&fx->sma, SHCA_IB_PHYS_POLLING, false),
			SHCA_IB_SMA_INACTIVE);
	KUNIT_EXPECT_EQ(test, fx->sma.state, SHCA_IB_STATE_DOWN);
	KUNIT_EXPECT_EQ(test, fx->sma.phys, SHCA_IB_PHYS_POLLING);
	KUNIT_EXPECT_EQ(test, shca_ib_sma_link(&fx->sma, SHCA_IB_PHYS_POLLING, false), 0u);
}

/* NeighborMTU is the smaller MTUCap of both ends, else OpenSM resets the link at each sweep. */
static void neighbor_mtu_is_that_of_both_ends(struct kunit *test)
{
	static const struct {
		u8 own;
		u16 peer;
		u8 neighbor;
	} rows[] = {
		{ 5, 2048, 4 }, { 4, 4096, 4 }, { 5, 4096, 5 }, { 5, 4095, 4 }, { 5, 256, 1 },
		{ 5, 65535, 5 }, { 1, 4096, 1 }, { 3, 512, 2 },
		/* not known */
		{ 5, 0, 5 }, { 3, 255, 3 },
	};
	struct fx_sma *fx = fx_sma(test);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		fx->sma.mtu_cap = rows[i].own;
		fx->sma.peer_mtu = rows[i].peer;
		shca_ib_sma_link(&fx->sma, SHCA_IB_PHYS_LINK_UP, true);
		get(fx, PORTINFO);
		KUNIT_EXPECT_EQ(test, fx->out[64 + 36] >> 4, rows[i].neighbor);
		KUNIT_EXPECT_EQ(test, fx->out[64 + 41] & 0xf, rows[i].own);
		shca_ib_sma_link(&fx->sma, SHCA_IB_PHYS_POLLING, false);
	}
}

static void link_is_disabled_and_trained(struct kunit *test)
{
	struct fx_sma *fx = fx_sma(test);

	KUNIT_EXPECT_EQ(test, ask(test, fx, 0x30), ANSWERED | SHCA_IB_SMA_DISABLE);
	KUNIT_EXPECT_EQ(test, fx->sma.state, SHCA_IB_STATE_DOWN);
	KUNIT_EXPECT_EQ(test, status(fx), 0u);
	KUNIT_EXPECT_EQ(test, ask(test, fx, 0x31), ANSWERED | SHCA_IB_SMA_DISABLE);
	KUNIT_EXPECT_EQ(test, ask(test, fx, 0x20), ANSWERED | SHCA_IB_SMA_POLL);
	KUNIT_EXPECT_EQ(test, ask(test, fx, 0x21), ANSWERED | SHCA_IB_SMA_POLL);
	KUNIT_EXPECT_EQ(test, ask(test, fx, SHCA_IB_STATE_DOWN),
			ANSWERED | SHCA_IB_SMA_POLL);
	/* Nothing but management passes at once. */
	shca_ib_sma_link(&fx->sma, SHCA_IB_PHYS_LINK_UP, true);
	ask(test, fx, SHCA_IB_STATE_ARMED);
	ask(test, fx, SHCA_IB_STATE_ACTIVE);
	KUNIT_EXPECT_EQ(test, ask(test, fx, SHCA_IB_STATE_DOWN),
			ANSWERED | SHCA_IB_SMA_POLL | SHCA_IB_SMA_INACTIVE);
	KUNIT_EXPECT_EQ(test, fx->out[64 + 32], 0x11);
	ask(test, fx, SHCA_IB_STATE_ARMED);
	KUNIT_EXPECT_EQ(test, status(fx), 0x1cu);
}

/* M_Key: reading is free up to protection 1, and the key shows up to 0. */
static void key_protects(struct kunit *test)
{
	struct fx_sma *fx = fx_sma(test);
	u32 prot, good;

	for (prot = 0; prot < 4; prot++)
		for (good = 0; good < 2; good++) {
			bool readable = good || prot < 2;

			fx->sma.mkey.key = KEY;
			fx->sma.mkey.prot = prot;
			fx->sma.mkey.violations = 0;
			prepare(fx, LID_ROUTED, GET, PORTINFO, 0);
			set_key(fx, good ? KEY : 5);
			KUNIT_EXPECT_EQ(test, send(fx), readable ? ANSWERED :
					SHCA_IB_SMA_CONSUMED);
			KUNIT_EXPECT_EQ(test, fx->sma.mkey.violations, !readable);
			if (readable)
				KUNIT_EXPECT_EQ(test, fx->out[64 + 7],
						good || !prot ? KEY & 0xff : 0);
			prepare(fx, LID_ROUTED, SET, PORTINFO, 0);
			memset(fx->in + 64, 0, 64);
			fx->in[64 + 17] = 1;
			set_key(fx, good ? KEY : 5);
			fx->sma.lid = 0;
			KUNIT_EXPECT_EQ(test, send(fx), good ?
					ANSWERED | SHCA_IB_SMA_LID | SHCA_IB_SMA_GID :
					SHCA_IB_SMA_CONSUMED);
			KUNIT_EXPECT_EQ(test, fx->sma.lid, good);
			fx->sma.gid_prefix = 1;
		}
	/* A port without a key takes any, and a Set gives it one. */
	fx->sma.mkey.key = 0;
	fx->sma.mkey.prot = 3;
	prepare(fx, LID_ROUTED, SET, PORTINFO, 0);
	memset(fx->in + 64, 0, 64);
	fx->in[64 + 7] = 9;
	fx->in[64 + 17] = 1;
	set_key(fx, 5);
	send(fx);
	KUNIT_EXPECT_EQ(test, fx->sma.mkey.key, 9ull);
	/* from this machine, with another key */
	fx->sma.mkey.key = KEY;
	fx->sma.mkey.prot = 3;
	fx->trusted = true;
	KUNIT_EXPECT_EQ(test, get(fx, PORTINFO), ANSWERED);
	KUNIT_EXPECT_EQ(test, fx->out[64 + 7], KEY & 0xff);
	fx->trusted = false;
	fx->sma.mkey.violations = 0xffff;
	KUNIT_EXPECT_EQ(test, get(fx, NODE), SHCA_IB_SMA_CONSUMED);
	KUNIT_EXPECT_EQ(test, fx->sma.mkey.violations, 0xffff);
}

/* The lease of the key, in seconds: from the first violation, until one has the key. */
static void lease_ends_protection(struct kunit *test)
{
	struct fx_sma *fx = fx_sma(test);
	u32 i;

	fx->sma.mkey.key = KEY;
	fx->sma.mkey.prot = 3;
	fx->sma.mkey.lease = 20;
	fx->now = 7;
	/* (nothing runs before the first violation) */
	prepare(fx, LID_ROUTED, GET, PORTINFO, 0);
	set_key(fx, KEY);
	KUNIT_EXPECT_EQ(test, send(fx), ANSWERED);
	fx->now += 100 * SECOND;
	KUNIT_EXPECT_EQ(test, get(fx, PORTINFO), SHCA_IB_SMA_CONSUMED);
	fx->now += 19 * SECOND;
	/* one who has it begins the time anew; one on this machine does not */
	fx->trusted = true;
	KUNIT_EXPECT_EQ(test, get(fx, PORTINFO), ANSWERED);
	fx->trusted = false;
	KUNIT_EXPECT_NE(test, fx->sma.mkey.lease_end, 0ull);
	prepare(fx, LID_ROUTED, GET, NODE, 0);
	set_key(fx, KEY);
	KUNIT_EXPECT_EQ(test, send(fx), ANSWERED);
	KUNIT_EXPECT_EQ(test, fx->sma.mkey.lease_end, 0ull);
	fx->now += 5 * SECOND;
	/* later violations do not move the end */
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, get(fx, PORTINFO), SHCA_IB_SMA_CONSUMED);
		fx->now += 10 * SECOND - i;
	}
	KUNIT_EXPECT_EQ(test, get(fx, PORTINFO), SHCA_IB_SMA_CONSUMED);
	fx->now++;
	/* Now anybody can read the key, and sets with it. */
	KUNIT_EXPECT_EQ(test, get(fx, PORTINFO), ANSWERED);
	KUNIT_EXPECT_EQ(test, fx->out[64 + 7], KEY & 0xff);
	KUNIT_EXPECT_EQ(test, fx->sma.mkey.key, KEY);
	KUNIT_EXPECT_EQ(test, fx->sma.mkey.prot, 0);
	KUNIT_EXPECT_EQ(test, fx->sma.mkey.lease_end, 0ull);
	prepare(fx, LID_ROUTED, SET, PORTINFO, 0);
	KUNIT_EXPECT_EQ(test, send(fx), SHCA_IB_SMA_CONSUMED);
	KUNIT_EXPECT_EQ(test, fx->sma.mkey.lease_end, fx->now + 20 * SECOND);
	/* A Set ends it, from this machine, too. */
	fx->trusted = true;
	begin_set(test, fx);
	KUNIT_EXPECT_EQ(test, send(fx), ANSWERED);
	fx->trusted = false;
	KUNIT_EXPECT_EQ(test, fx->sma.mkey.lease_end, 0ull);
	/* A lease of 0 is for ever. */
	fx->sma.mkey.prot = 2;
	fx->sma.mkey.lease = 0;
	KUNIT_EXPECT_EQ(test, get(fx, PORTINFO), SHCA_IB_SMA_CONSUMED);
	fx->now += 1ull << 50;
	KUNIT_EXPECT_EQ(test, get(fx, PORTINFO), SHCA_IB_SMA_CONSUMED);
}

/* Zero resets; another value is what a manager has read, and changes nothing. */
static void violations_are_counted(struct kunit *test)
{
	static const struct {
		u64 seen;
		u16 shown;
	} rows[] = {
		{ 3, 3 }, { 0xffff, 0xffff }, { 0x10000, 0xffff },
		{ 1ull << 40, 0xffff },
	};
	struct fx_sma *fx = fx_sma(test);
	u8 *data;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		fx->sma.bad_pkeys.seen = rows[i].seen;
		fx->sma.bad_qkeys.seen = rows[i].seen / 2;
		get(fx, PORTINFO);
		KUNIT_EXPECT_EQ(test, fx->out[64 + 46] << 8 | fx->out[64 + 47],
				rows[i].shown);
		KUNIT_EXPECT_EQ(test, fx->out[64 + 48] << 8 | fx->out[64 + 49],
				(int)min_t(u64, rows[i].seen / 2, 0xffff));
	}
	fx->sma.mkey.violations = 0x0203;
	data = begin_set(test, fx);
	data[45] = 9;
	data[47] = 9;
	data[49] = 9;
	KUNIT_EXPECT_EQ(test, send(fx), ANSWERED);
	KUNIT_EXPECT_EQ(test, fx->sma.mkey.violations, 0x0203);
	KUNIT_EXPECT_EQ(test, fx->out[64 + 44], 2);
	KUNIT_EXPECT_EQ(test, fx->out[64 + 46], 0xff);
	KUNIT_EXPECT_EQ(test, fx->out[64 + 48], 0xff);
	for (i = 0; i < 3; i++) {
		data = begin_set(test, fx);
		memset(data + 44 + 2 * i, 0, 2);
		KUNIT_EXPECT_EQ(test, send(fx), ANSWERED);
		KUNIT_EXPECT_EQ(test, fx->out[64 + 45], 0);
		KUNIT_EXPECT_EQ(test, fx->out[64 + 47], i < 1 ? 0xff : 0);
		KUNIT_EXPECT_EQ(test, fx->out[64 + 49], i < 2 ? 0xff : 0);
	}
	fx->sma.bad_pkeys.seen += 5;
	fx->sma.bad_qkeys.seen += 6;
	get(fx, PORTINFO);
	KUNIT_EXPECT_EQ(test, fx->out[64 + 47], 5);
	KUNIT_EXPECT_EQ(test, fx->out[64 + 49], 6);
}

/* Each counter by its own 16 bits. */
static void violations_are_reset_one_by_one(struct kunit *test)
{
	struct fx_sma *fx = fx_sma(test);
	u8 *data;
	u32 i, j;

	for (i = 0; i < 3; i++) {
		fx->sma.mkey.violations = 3;
		fx->sma.bad_pkeys = (struct shca_ib_tally){ .seen = 3 };
		fx->sma.bad_qkeys = (struct shca_ib_tally){ .seen = 3 };
		data = begin_set(test, fx);
		memset(data + 44, 0, 6);
		data[45 + 2 * i] = 9;
		KUNIT_EXPECT_EQ(test, send(fx), ANSWERED);
		for (j = 0; j < 3; j++)
			KUNIT_EXPECT_EQ(test, fx->out[64 + 45 + 2 * j], i == j ? 3 : 0);
	}
}

/* The trap that leaves now; its transaction is in the TrapRepress of repress(). */
static u32 trap_now(struct fx_sma *fx)
{
	if (!shca_ib_trap_next(&fx->sma.traps, shca_ib_sma_trap_gap(&fx->sma),
			       fx->now, fx->out))
		return 0;
	return fx->out[64 + 4] << 8 | fx->out[64 + 5];
}

static u32 repress(struct fx_sma *fx, u64 key)
{
	u8 trap[SHCA_IB_MAD_BYTES];

	memcpy(trap, fx->out, sizeof(trap));
	prepare(fx, LID_ROUTED, 0x07, NOTICE, 0);
	memcpy(fx->in + 8, trap + 8, 8);
	set_key(fx, key);
	return send(fx);
}

/* A buffer is exceeded in so many periods in a row, twice in each. Return: what the last says */
static u32 overrun(struct fx_sma *fx, u32 periods)
{
	u32 what = 0;

	fx->now = (fx->now / PERIOD + 2) * PERIOD;
	while (periods--) {
		what = shca_ib_sma_overrun(&fx->sma, fx->now);
		if (shca_ib_sma_overrun(&fx->sma, fx->now + PERIOD - 1))
			return ~0u;
		fx->now += PERIOD;
	}
	return what;
}

static void active_port_traps(struct kunit *test)
{
	static const struct shca_ib_bad_key bad = { .key = 5 };
	struct fx_sma *fx = fx_sma(test);
	u8 desc[64] = "another";
	u32 round, i;

	fx->sma.lid = 0x21;
	for (round = 0; round < 2; round++) {
		bool active = round;

		fx->sma.state = active ? SHCA_IB_STATE_ACTIVE :
					 SHCA_IB_STATE_ARMED;
		fx->sma.mkey.key = KEY;
		fx->sma.mkey.prot = 2;
		KUNIT_EXPECT_EQ(test, get(fx, NODE), SHCA_IB_SMA_CONSUMED |
				(active ? SHCA_IB_SMA_TRAP : 0));
		/* the same once more waits already */
		KUNIT_EXPECT_EQ(test, get(fx, NODE), SHCA_IB_SMA_CONSUMED);
		desc[0] = 'A' + round;
		KUNIT_EXPECT_EQ(test, shca_ib_sma_describe(&fx->sma, desc),
				active ? SHCA_IB_SMA_TRAP : 0);
		KUNIT_EXPECT_EQ(test, shca_ib_sma_describe(&fx->sma, desc), 0u);
		KUNIT_EXPECT_EQ(test, memcmp(fx->sma.desc, desc, 64), 0);
		KUNIT_EXPECT_EQ(test, shca_ib_sma_bad_key(&fx->sma, SHCA_IB_TRAP_PKEY,
							  &bad),
				active ? SHCA_IB_SMA_TRAP : 0);
		KUNIT_EXPECT_EQ(test, shca_ib_sma_bad_key(&fx->sma, SHCA_IB_TRAP_QKEY,
							  &bad),
				active ? SHCA_IB_SMA_TRAP : 0);
		fx->sma.integrity = ~0u - 1;
		for (i = 0; i < 8; i++)
			KUNIT_EXPECT_EQ(test, shca_ib_sma_arrived(&fx->sma, true), 0u);
		KUNIT_EXPECT_EQ(test, shca_ib_sma_arrived(&fx->sma, true),
				active ? SHCA_IB_SMA_TRAP : 0);
		KUNIT_EXPECT_EQ(test, fx->sma.integrity, ~0u);
		for (i = 0; i < 9; i++)
			KUNIT_EXPECT_EQ(test, shca_ib_sma_arrived(&fx->sma, true), 0u);
		KUNIT_EXPECT_EQ(test, fx->sma.integrity, ~0u);
		KUNIT_EXPECT_EQ(test, overrun(fx, 8), active ? SHCA_IB_SMA_TRAP : 0);
		KUNIT_EXPECT_EQ(test, overrun(fx, 8), 0u);
		KUNIT_EXPECT_EQ(test, shca_ib_sma_watchdog(&fx->sma), active ? SHCA_IB_SMA_TRAP : 0);
		KUNIT_EXPECT_EQ(test, shca_ib_sma_watchdog(&fx->sma), 0u);
		KUNIT_EXPECT_EQ(test, fx->sma.traps.pending, active ? 0xfeu : 0);
	}
	/* Each trap names the port. */
	for (i = 0; i < 7; i++) {
		fx->now += SECOND;
		KUNIT_EXPECT_NE(test, trap_now(fx), 0u);
		KUNIT_EXPECT_EQ(test, fx->out[64 + 7], 0x21);
		KUNIT_EXPECT_EQ(test, repress(fx, KEY), SHCA_IB_SMA_CONSUMED);
	}
	KUNIT_EXPECT_EQ(test, fx->sma.traps.pending, 0u);
	/* What is left when the link goes down is for nobody. */
	KUNIT_EXPECT_EQ(test, shca_ib_sma_caps(&fx->sma, 7), SHCA_IB_SMA_TRAP);
	KUNIT_EXPECT_EQ(test, fx->sma.cap_mask, 7u);
	KUNIT_EXPECT_EQ(test, shca_ib_sma_caps(&fx->sma, 7), 0u);
	shca_ib_sma_link(&fx->sma, SHCA_IB_PHYS_POLLING, false);
	KUNIT_EXPECT_EQ(test, fx->sma.traps.pending, 0u);
	KUNIT_EXPECT_EQ(test, shca_ib_sma_caps(&fx->sma, 8), 0u);
	KUNIT_EXPECT_EQ(test, fx->sma.traps.pending, 0u);
}

/* One trap for each change, and what it says is what has changed (IBTA 14.2.5.1). */
static void changes_are_told_once(struct kunit *test)
{
	static const struct shca_ib_bad_key bad = { .key = 5 };
	struct fx_sma *fx = fx_sma(test);
	u8 desc[64] = "another";

	fx->sma.state = SHCA_IB_STATE_ACTIVE;
	KUNIT_EXPECT_EQ(test, shca_ib_sma_describe(&fx->sma, desc), SHCA_IB_SMA_TRAP);
	/* The trap that waits tells of this one, too. */
	desc[0]++;
	KUNIT_EXPECT_EQ(test, shca_ib_sma_describe(&fx->sma, desc), 0u);
	KUNIT_EXPECT_EQ(test, trap_now(fx), 144u);
	KUNIT_EXPECT_EQ(test, fx->out[64 + 15], 1);
	KUNIT_EXPECT_EQ(test, fx->out[64 + 21], 1);
	shca_ib_trap_forget(&fx->sma.traps);
	KUNIT_EXPECT_EQ(test, shca_ib_sma_describe(&fx->sma, desc), 0u);
	KUNIT_EXPECT_EQ(test, fx->sma.traps.pending, 0u);

	fx->now += SECOND;
	KUNIT_EXPECT_EQ(test, shca_ib_sma_caps(&fx->sma, 5), SHCA_IB_SMA_TRAP);
	KUNIT_EXPECT_EQ(test, shca_ib_sma_caps(&fx->sma, 6), 0u);
	KUNIT_EXPECT_EQ(test, trap_now(fx), 144u);
	KUNIT_EXPECT_EQ(test, fx->out[64 + 15], 0);
	KUNIT_EXPECT_EQ(test, fx->out[64 + 19], 6);
	KUNIT_EXPECT_EQ(test, fx->out[64 + 21], 0);
	shca_ib_trap_forget(&fx->sma.traps);
	KUNIT_EXPECT_EQ(test, shca_ib_sma_caps(&fx->sma, 6), 0u);
	KUNIT_EXPECT_EQ(test, fx->sma.traps.pending, 0u);

	KUNIT_EXPECT_EQ(test, shca_ib_sma_bad_key(&fx->sma, SHCA_IB_TRAP_PKEY, &bad),
			SHCA_IB_SMA_TRAP);
	KUNIT_EXPECT_EQ(test, shca_ib_sma_bad_key(&fx->sma, SHCA_IB_TRAP_PKEY, &bad), 0u);
}

/* Intact packets make good for damaged ones, one for one. */
static void damage_is_made_good(struct kunit *test)
{
	struct fx_sma *fx = fx_sma(test);
	u32 i;

	fx->sma.phys_limit = 2;
	for (i = 0; i < 50; i++) {
		shca_ib_sma_arrived(&fx->sma, true);
		KUNIT_EXPECT_EQ(test, fx->sma.phys_errors, 1);
		KUNIT_EXPECT_EQ(test, shca_ib_sma_arrived(&fx->sma, false), 0u);
		shca_ib_sma_arrived(&fx->sma, false);
		KUNIT_EXPECT_EQ(test, fx->sma.phys_errors, 0);
	}
	KUNIT_EXPECT_EQ(test, fx->sma.integrity, 0u);
	shca_ib_sma_arrived(&fx->sma, true);
	shca_ib_sma_arrived(&fx->sma, true);
	KUNIT_EXPECT_EQ(test, fx->sma.integrity, 0u);
	shca_ib_sma_arrived(&fx->sma, true);
	KUNIT_EXPECT_EQ(test, fx->sma.integrity, 1u);
	KUNIT_EXPECT_EQ(test, fx->sma.phys_errors, 0);
	/* each is too many */
	fx->sma.phys_limit = 0;
	shca_ib_sma_arrived(&fx->sma, true);
	KUNIT_EXPECT_EQ(test, fx->sma.integrity, 2u);
}

/* Periods with an overrun count in a row; one without begins anew. */
static void overruns_count_in_a_row(struct kunit *test)
{
	struct fx_sma *fx = fx_sma(test);

	fx->sma.overruns.limit = 3;
	fx->now = 0;
	KUNIT_EXPECT_EQ(test, overrun(fx, 2), 0u);
	overrun(fx, 2);
	KUNIT_EXPECT_EQ(test, fx->sma.overruns.count, 0u);
	overrun(fx, 3);
	KUNIT_EXPECT_EQ(test, fx->sma.overruns.count, 1u);
	overrun(fx, 9);
	KUNIT_EXPECT_EQ(test, fx->sma.overruns.count, 4u);
	/* each is too many */
	fx->sma.overruns.limit = 1;
	overrun(fx, 2);
	KUNIT_EXPECT_EQ(test, fx->sma.overruns.count, 6u);
	fx->sma.overruns.limit = 0;
	overrun(fx, 2);
	KUNIT_EXPECT_EQ(test, fx->sma.overruns.count, 8u);
	fx->sma.overruns.count = ~0u - 1;
	overrun(fx, 2);
	KUNIT_EXPECT_EQ(test, fx->sma.overruns.count, ~0u);
}

/* The first period of all is one, and so is that behind it. */
static void overrun_of_the_first_period_counts(struct kunit *test)
{
	struct fx_sma *fx;
	u32 i;

	for (i = 0; i < 2; i++) {
		fx = fx_sma(test);
		fx->sma.overruns.limit = 1;
		shca_ib_sma_overrun(&fx->sma, i * PERIOD);
		KUNIT_EXPECT_EQ(test, fx->sma.overruns.count, 1u);
		shca_ib_sma_overrun(&fx->sma, (i + 1) * PERIOD - 1);
		KUNIT_EXPECT_EQ(test, fx->sma.overruns.count, 1u);
	}
}

static void trap_is_repressed(struct kunit *test)
{
	struct fx_sma *fx = fx_sma(test);

	fx->sma.state = SHCA_IB_STATE_ACTIVE;
	fx->sma.subnet_timeout = 18;
	KUNIT_EXPECT_EQ(test, shca_ib_sma_trap_gap(&fx->sma), 1073741824ull);
	KUNIT_EXPECT_EQ(test, shca_ib_sma_caps(&fx->sma, 1), SHCA_IB_SMA_TRAP);
	KUNIT_EXPECT_EQ(test, trap_now(fx), 144u);
	/* one that another agent of this machine waits for */
	fx->out[8] ^= 1;
	KUNIT_EXPECT_EQ(test, repress(fx, 0), 0u);
	fx->now = 1073741823;
	KUNIT_EXPECT_EQ(test, trap_now(fx), 0u);
	fx->now++;
	KUNIT_EXPECT_EQ(test, trap_now(fx), 144u);
	/* one without the key is a violation, and does nothing */
	fx->sma.mkey.key = KEY;
	KUNIT_EXPECT_EQ(test, repress(fx, 5),
			SHCA_IB_SMA_CONSUMED | SHCA_IB_SMA_TRAP);
	KUNIT_EXPECT_EQ(test, fx->sma.mkey.violations, 1);
	fx->now += 1073741824;
	KUNIT_EXPECT_EQ(test, trap_now(fx), 256u);
	KUNIT_EXPECT_EQ(test, fx->out[64 + 16], 7);	/* method */
	KUNIT_EXPECT_EQ(test, fx->out[64 + 13], 0x55);	/* from */
	KUNIT_EXPECT_EQ(test, repress(fx, KEY), SHCA_IB_SMA_CONSUMED);
	fx->now += 1073741824;
	KUNIT_EXPECT_EQ(test, trap_now(fx), 144u);
	KUNIT_EXPECT_EQ(test, repress(fx, KEY), SHCA_IB_SMA_CONSUMED);
	KUNIT_EXPECT_EQ(test, repress(fx, KEY), 0u);
	fx->now += 1073741824;
	KUNIT_EXPECT_EQ(test, trap_now(fx), 0u);
}

static void notices_are_read_and_cleared(struct kunit *test)
{
	struct fx_sma *fx = fx_sma(test);

	fx->sma.state = SHCA_IB_STATE_ACTIVE;
	shca_ib_sma_caps(&fx->sma, 1);
	KUNIT_EXPECT_EQ(test, get(fx, NOTICE), ANSWERED);
	KUNIT_EXPECT_EQ(test, status(fx), 0u);
	KUNIT_EXPECT_EQ(test, fx->out[64 + 5], 144);
	KUNIT_EXPECT_EQ(test, fx->out[64 + 9], 1);
	/* Reading does not clear it, even with its toggle. */
	prepare(fx, LID_ROUTED, GET, NOTICE, 0);
	KUNIT_EXPECT_EQ(test, send(fx), ANSWERED);
	KUNIT_EXPECT_EQ(test, fx->out[64 + 9], 1);
	/* the other toggle */
	prepare(fx, LID_ROUTED, SET, NOTICE, 0);
	fx->in[64 + 8] ^= 0x80;
	KUNIT_EXPECT_EQ(test, send(fx), ANSWERED);
	KUNIT_EXPECT_EQ(test, fx->out[64 + 9], 1);
	prepare(fx, LID_ROUTED, SET, NOTICE, 0);
	KUNIT_EXPECT_EQ(test, send(fx), ANSWERED);
	KUNIT_EXPECT_EQ(test, fx->out[64 + 5], 0);
	KUNIT_EXPECT_EQ(test, fx->out[64 + 9], 0);
	prepare(fx, LID_ROUTED, GET, NOTICE, 1);
	KUNIT_EXPECT_EQ(test, send(fx), ANSWERED);
	KUNIT_EXPECT_EQ(test, status(fx), 0x1cu);
}

static struct kunit_case ib_sma_cases[] = {
	KUNIT_CASE(node_desc_is_read),
	KUNIT_CASE(node_info_is_read),
	KUNIT_CASE(port_info_is_read),
	KUNIT_CASE(directed_reply_says_so),
	KUNIT_CASE(not_for_the_agent),
	KUNIT_CASE(what_is_wrong_is_said),
	KUNIT_CASE(port_info_is_set),
	KUNIT_CASE(guids_are_read_and_set),
	KUNIT_CASE(pkeys_are_read_and_set),
	KUNIT_CASE(changes_are_told_one_by_one),
	KUNIT_CASE(bad_fields_change_nothing),
	KUNIT_CASE(lanes_are_those_of_both_ends),
	KUNIT_CASE(sl_to_vl_is_read_and_set),
	KUNIT_CASE(vl_arb_is_read_and_set),
	KUNIT_CASE(states_follow_each_other),
	KUNIT_CASE(neighbor_mtu_is_that_of_both_ends),
	KUNIT_CASE(link_is_disabled_and_trained),
	KUNIT_CASE(key_protects),
	KUNIT_CASE(lease_ends_protection),
	KUNIT_CASE(violations_are_counted),
	KUNIT_CASE(violations_are_reset_one_by_one),
	KUNIT_CASE(active_port_traps),
	KUNIT_CASE(changes_are_told_once),
	KUNIT_CASE(damage_is_made_good),
	KUNIT_CASE(overruns_count_in_a_row),
	KUNIT_CASE(overrun_of_the_first_period_counts),
	KUNIT_CASE(trap_is_repressed),
	KUNIT_CASE(notices_are_read_and_cleared),
	{}
};

static struct kunit_suite ib_sma_suite = {
	.name = "softhca_ib_sma",
	.test_cases = ib_sma_cases,
};

kunit_test_suites(&ib_sma_suite);
