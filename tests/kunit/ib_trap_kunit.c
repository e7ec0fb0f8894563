// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Notices of a port: what each says, and when traps leave. */
#include "fixture.h"

#include "../../kernel/ib/core/ib_trap.h"

#define LID	0x1234
#define TID	0x8877665544332211ull
#define GAP	1000000000ull

struct fx_trap {
	struct shca_ib_traps traps;
	u8 mad[SHCA_IB_MAD_BYTES];
	u64 now;
};

static struct fx_trap *fx_trap(struct kunit *test)
{
	struct fx_trap *fx = kunit_kzalloc(test, sizeof(*fx), GFP_KERNEL);

	fx->traps.tid = TID;
	fx->now = 5;
	return fx;
}

/* Return: the number of the trap that leaves now, or 0. */
static u32 next(struct fx_trap *fx)
{
	memset(fx->mad, 0xee, sizeof(fx->mad));
	if (!shca_ib_trap_next(&fx->traps, GAP, fx->now, fx->mad))
		return 0;
	return fx->mad[68] << 8 | fx->mad[69];
}

static u64 tid(const struct fx_trap *fx)
{
	u64 v = 0;
	u32 i;

	for (i = 0; i < 8; i++)
		v = v << 8 | fx->mad[8 + i];
	return v;
}

static const struct shca_ib_bad_key bad = {
	.key = 0x01020304, .sl = 0xb, .slid = 0x1112, .dlid = 0x1314,
	.sqpn = 0x212223, .dqpn = 0x313233,
};

static const u8 smp[SHCA_IB_MAD_BYTES] = {
	1, 0x01, 1, 0x02, [7] = 31, [16] = 0x40, 0x15, 0, 0, 0x51, 0x52, 0x53, 0x54,
	0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, [32] = 0x71, 0x72,
	[192] = 0x80, 0x81, 0x82, 0x83,
};

static void trap_is_a_packet(struct kunit *test)
{
	static const u8 wanted[SHCA_IB_MAD_BYTES] = {
		1, 1, 1, 5, [8] = 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
		[17] = 2,
		[64] = 0x81, 0, 0, 1, 0, 129, 0x12, 0x34, 0, 0,
		0, 0, 0x12, 0x34, 1,
	};
	struct fx_trap *fx = fx_trap(test);

	KUNIT_EXPECT_EQ(test, next(fx), 0u);
	KUNIT_EXPECT_TRUE(test, shca_ib_trap_port(&fx->traps, SHCA_IB_TRAP_INTEGRITY, LID, 1));
	KUNIT_EXPECT_EQ(test, next(fx), 129u);
	KUNIT_EXPECT_EQ(test, memcmp(fx->mad, wanted, sizeof(wanted)), 0);
}

static void change_says_what(struct kunit *test)
{
	static const u8 wanted[] = {
		0x84, 0, 0, 1, 0, 144, 0x12, 0x34, 0, 0,
		0, 0, 0x12, 0x34, 0, 0, 0xa1, 0xa2, 0xa3, 0xa4, 0, 0,
	};
	struct fx_trap *fx = fx_trap(test);

	KUNIT_EXPECT_TRUE(test, shca_ib_trap_change(&fx->traps, LID, 0xa1a2a3a4, false));
	KUNIT_EXPECT_EQ(test, next(fx), 144u);
	KUNIT_EXPECT_EQ(test, memcmp(fx->mad + 64, wanted, sizeof(wanted)), 0);
	KUNIT_EXPECT_EQ(test, tid(fx), TID);
	/* Another change meanwhile: one trap tells both, and the old answer is not its. */
	KUNIT_EXPECT_FALSE(test, shca_ib_trap_change(&fx->traps, LID, 0xa1a2a3a4, true));
	KUNIT_EXPECT_FALSE(test, shca_ib_trap_is_own(&fx->traps, TID));
	KUNIT_EXPECT_FALSE(test, shca_ib_trap_is_own(&fx->traps, TID + 1));
	KUNIT_EXPECT_FALSE(test, shca_ib_trap_change(&fx->traps, LID, 0xa1a2a3a5, false));
	fx->now += GAP;
	KUNIT_EXPECT_EQ(test, next(fx), 144u);
	KUNIT_EXPECT_EQ(test, tid(fx), TID + 2);
	KUNIT_EXPECT_EQ(test, fx->mad[64 + 15], 1);
	KUNIT_EXPECT_EQ(test, fx->mad[64 + 19], 0xa5);
	KUNIT_EXPECT_EQ(test, fx->mad[64 + 20], 0);
	KUNIT_EXPECT_EQ(test, fx->mad[64 + 21], 1);
	shca_ib_trap_repress(&fx->traps, TID);
	KUNIT_EXPECT_TRUE(test, shca_ib_trap_is_own(&fx->traps, TID + 2));
	shca_ib_trap_repress(&fx->traps, TID + 2);
	KUNIT_EXPECT_FALSE(test, shca_ib_trap_is_own(&fx->traps, TID + 2));
	/* Then all begins anew. */
	KUNIT_EXPECT_TRUE(test, shca_ib_trap_change(&fx->traps, LID, 7, false));
	fx->now += GAP;
	KUNIT_EXPECT_EQ(test, next(fx), 144u);
	KUNIT_EXPECT_EQ(test, fx->mad[64 + 15], 0);
	KUNIT_EXPECT_EQ(test, fx->mad[64 + 21], 0);
}

static void bad_mkey_says_who(struct kunit *test)
{
	static const u8 wanted[64] = {
		0x82, 0, 0, 1, 1, 0, 0x12, 0x34, 0, 0,
		0, 0, 0x55, 0x66, 0, 0, 2, 0, 0x40, 0x15, 0x51, 0x52, 0x53, 0x54,
		0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68,
	};
	struct fx_trap *fx = fx_trap(test);
	u8 directed[SHCA_IB_MAD_BYTES];
	u32 hops;

	KUNIT_EXPECT_TRUE(test, shca_ib_trap_mkey(&fx->traps, LID, 0x5566, smp));
	KUNIT_EXPECT_FALSE(test, shca_ib_trap_mkey(&fx->traps, LID, 7, smp));
	KUNIT_EXPECT_EQ(test, next(fx), 256u);
	KUNIT_EXPECT_EQ(test, memcmp(fx->mad + 64, wanted, sizeof(wanted)), 0);
	memcpy(directed, smp, sizeof(smp));
	directed[1] = 0x81;
	memset(directed + 192, 0x99, 64);
	for (hops = 0; hops < 256; hops++) {
		u32 kept = hops > 30 ? 30 : hops, i;

		directed[7] = hops;
		fx->traps.pending = 0;
		KUNIT_EXPECT_TRUE(test, shca_ib_trap_mkey(&fx->traps, LID, 0x5566,
							  directed));
		fx->now += GAP;
		KUNIT_EXPECT_EQ(test, next(fx), 256u);
		KUNIT_EXPECT_EQ(test, fx->mad[64 + 14] << 8 | fx->mad[64 + 15], 0x7172);
		KUNIT_EXPECT_EQ(test, (u32)fx->mad[64 + 33],
				0x80 | (hops > 30 ? 0x40 : 0) | kept);
		for (i = 0; i < 30; i++)
			KUNIT_EXPECT_EQ(test, fx->mad[64 + 34 + i],
					i < kept ? 0x99 : 0);
		KUNIT_EXPECT_EQ(test, fx->mad[128], 0);
	}
}

static void bad_key_says_between_whom(struct kunit *test)
{
	static const u8 wanted[64] = {
		0x82, 0, 0, 1, 1, 1, 0x12, 0x34, 0, 0,
		0, 0, 0x11, 0x12, 0x13, 0x14, 1, 2, 3, 4, 0xb0, 0x21, 0x22, 0x23,
		0, 0x31, 0x32, 0x33,
	};
	struct fx_trap *fx = fx_trap(test);
	struct shca_ib_bad_key with = bad;
	u8 gids[32];
	u32 i;

	KUNIT_EXPECT_TRUE(test, shca_ib_trap_key(&fx->traps, SHCA_IB_TRAP_PKEY, LID, &bad));
	KUNIT_EXPECT_FALSE(test, shca_ib_trap_key(&fx->traps, SHCA_IB_TRAP_PKEY, LID, &bad));
	KUNIT_EXPECT_EQ(test, next(fx), 257u);
	KUNIT_EXPECT_EQ(test, memcmp(fx->mad + 64, wanted, sizeof(wanted)), 0);
	for (i = 0; i < 32; i++)
		gids[i] = i + 0x40;
	with.gids = gids;
	KUNIT_EXPECT_TRUE(test, shca_ib_trap_key(&fx->traps, SHCA_IB_TRAP_QKEY, LID, &with));
	fx->now += GAP;
	KUNIT_EXPECT_EQ(test, next(fx), 258u);
	KUNIT_EXPECT_EQ(test, memcmp(fx->mad + 64 + 6, wanted + 6, 22), 0);
	KUNIT_EXPECT_EQ(test, memcmp(fx->mad + 64 + 28, gids, 32), 0);
	KUNIT_EXPECT_EQ(test, fx->mad[64 + 60], 0);
}

/* However often something happens, traps keep their distance. */
static void traps_keep_a_distance(struct kunit *test)
{
	static const u16 order[] = { 129, 130, 131, 144, 256, 257, 258 };
	struct fx_trap *fx = fx_trap(test);
	u32 i;

	KUNIT_EXPECT_EQ(test, shca_ib_trap_deadline(&fx->traps, GAP), ~0ull);
	shca_ib_trap_key(&fx->traps, SHCA_IB_TRAP_QKEY, LID, &bad);
	shca_ib_trap_key(&fx->traps, SHCA_IB_TRAP_PKEY, LID, &bad);
	shca_ib_trap_mkey(&fx->traps, LID, 5, smp);
	shca_ib_trap_change(&fx->traps, LID, 5, false);
	shca_ib_trap_port(&fx->traps, SHCA_IB_TRAP_WATCHDOG, LID, 1);
	shca_ib_trap_port(&fx->traps, SHCA_IB_TRAP_OVERRUN, LID, 1);
	shca_ib_trap_port(&fx->traps, SHCA_IB_TRAP_INTEGRITY, LID, 1);
	KUNIT_EXPECT_EQ(test, shca_ib_trap_deadline(&fx->traps, GAP), 0ull);
	/* each in its turn, again and again */
	for (i = 0; i < 21; i++) {
		KUNIT_EXPECT_EQ(test, next(fx), order[i % 7]);
		/* (nothing of the one behind it) */
		KUNIT_EXPECT_EQ(test, fx->mad[128], 0);
		KUNIT_EXPECT_EQ(test, next(fx), 0u);
		KUNIT_EXPECT_EQ(test, shca_ib_trap_deadline(&fx->traps, GAP),
				fx->now + GAP);
		fx->now += GAP - 1;
		KUNIT_EXPECT_EQ(test, next(fx), 0u);
		fx->now++;
	}
	/* A flood that is repressed each time is one per distance, too. */
	fx->traps.pending = 0;
	for (i = 0; i < 1000; i++) {
		shca_ib_trap_key(&fx->traps, SHCA_IB_TRAP_PKEY, LID, &bad);
		KUNIT_EXPECT_EQ(test, next(fx), i % 100 ? 0u : 257u);
		if (!(i % 100)) {
			KUNIT_EXPECT_TRUE(test, shca_ib_trap_is_own(&fx->traps, tid(fx)));
			shca_ib_trap_repress(&fx->traps, tid(fx));
			KUNIT_EXPECT_EQ(test, fx->traps.pending, 0u);
		}
		fx->now += GAP / 100;
	}
	/* Management may ask for none. */
	shca_ib_trap_port(&fx->traps, SHCA_IB_TRAP_INTEGRITY, LID, 1);
	KUNIT_EXPECT_EQ(test, shca_ib_trap_deadline(&fx->traps, 0),
			fx->traps.sent_at + SHCA_IB_TRAP_GAP_NS);
	/* What is forgotten does not come, and what comes then waits for its time. */
	shca_ib_trap_forget(&fx->traps);
	fx->now = fx->traps.sent_at + 1;
	KUNIT_EXPECT_EQ(test, next(fx), 0u);
	shca_ib_trap_change(&fx->traps, LID, 5, true);
	KUNIT_EXPECT_EQ(test, next(fx), 0u);
	fx->now = fx->traps.sent_at + GAP;
	KUNIT_EXPECT_EQ(test, next(fx), 144u);
}

/* The manager cannot repress what it has not seen. */
static void unsent_is_not_repressed(struct kunit *test)
{
	struct fx_trap *fx = fx_trap(test);

	shca_ib_trap_port(&fx->traps, SHCA_IB_TRAP_INTEGRITY, LID, 1);
	KUNIT_EXPECT_FALSE(test, shca_ib_trap_is_own(&fx->traps, TID));
	shca_ib_trap_repress(&fx->traps, TID);
	KUNIT_EXPECT_EQ(test, next(fx), 129u);
	KUNIT_EXPECT_FALSE(test, shca_ib_trap_is_own(&fx->traps, TID + 1));
	shca_ib_trap_repress(&fx->traps, TID + 1);
	KUNIT_EXPECT_TRUE(test, shca_ib_trap_is_own(&fx->traps, TID));
	shca_ib_trap_repress(&fx->traps, TID);
	KUNIT_EXPECT_EQ(test, fx->traps.pending, 0u);
}

static void notices_queue(struct kunit *test)
{
	struct fx_trap *fx = fx_trap(test);
	u8 data[SHCA_IB_NOTICE_BYTES + 1], wrong[SHCA_IB_NOTICE_BYTES];
	u32 i;

	memset(data, 0xee, sizeof(data));
	shca_ib_notice_get(&fx->traps, data);
	for (i = 0; i < SHCA_IB_NOTICE_BYTES; i++)
		KUNIT_EXPECT_EQ(test, data[i], 0);
	shca_ib_notice_clear(&fx->traps, data);
	KUNIT_EXPECT_FALSE(test, fx->traps.toggle);
	for (i = 0; i < SHCA_IB_NOTICES + 2; i++) {
		fx->traps.pending = 0;
		shca_ib_trap_port(&fx->traps, SHCA_IB_TRAP_INTEGRITY, i, 1);
	}
	for (i = 0; i < SHCA_IB_NOTICES; i++) {
		shca_ib_notice_get(&fx->traps, data);
		KUNIT_EXPECT_EQ(test, data[5], 129);
		KUNIT_EXPECT_EQ(test, (u32)data[7], i);
		KUNIT_EXPECT_EQ(test, data[8], i % 2 ? 0x80 : 0);
		KUNIT_EXPECT_EQ(test, (u32)data[9], SHCA_IB_NOTICES - i);
		KUNIT_EXPECT_EQ(test, data[SHCA_IB_NOTICE_BYTES], 0xee);
		memcpy(wrong, data, sizeof(wrong));
		wrong[8] ^= 0x80;
		shca_ib_notice_clear(&fx->traps, wrong);
		KUNIT_EXPECT_EQ(test, (u32)fx->traps.nr, SHCA_IB_NOTICES - i);
		/* The bits of NoticeCount beside the toggle do not matter. */
		data[8] |= 0x7f;
		shca_ib_notice_clear(&fx->traps, data);
		KUNIT_EXPECT_EQ(test, (u32)fx->traps.nr, SHCA_IB_NOTICES - i - 1);
	}
	shca_ib_notice_get(&fx->traps, data);
	KUNIT_EXPECT_EQ(test, data[5], 0);
	KUNIT_EXPECT_EQ(test, data[9], 0);
}

/* IBTA 13.4.9: types of notices and their numbers. */
static void notice_has_the_type_of_its_number(struct kunit *test)
{
	static const struct {
		enum shca_ib_trap kind;
		u8 type;
		u16 number;
	} rows[] = {
		{ SHCA_IB_TRAP_INTEGRITY, 0x81, 129 }, { SHCA_IB_TRAP_OVERRUN, 0x81, 130 },
		{ SHCA_IB_TRAP_WATCHDOG, 0x81, 131 }, { SHCA_IB_TRAP_PKEY, 0x82, 257 },
		{ SHCA_IB_TRAP_QKEY, 0x82, 258 },
	};
	struct fx_trap *fx = fx_trap(test);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].type == 0x81)
			shca_ib_trap_port(&fx->traps, rows[i].kind, LID, 1);
		else
			shca_ib_trap_key(&fx->traps, rows[i].kind, LID, &bad);
		fx->now += GAP;
		KUNIT_EXPECT_EQ(test, next(fx), rows[i].number);
		KUNIT_EXPECT_EQ(test, fx->mad[64], rows[i].type);
		shca_ib_trap_forget(&fx->traps);
	}
}

/* A switch tells of its links by one trap, whatever they do until it is heard. */
static void link_of_a_switch_is_told_once(struct kunit *test)
{
	static const u8 wanted[64] = {
		0x81, 0, 0, 2, 0, 128, LID >> 8, LID & 0xff, 0, 0, LID >> 8, LID & 0xff,
	};
	struct fx_trap *fx = fx_trap(test);

	fx->traps.is_switch = true;
	KUNIT_EXPECT_TRUE(test, shca_ib_trap_link(&fx->traps, LID));
	KUNIT_EXPECT_FALSE(test, shca_ib_trap_link(&fx->traps, LID));
	KUNIT_EXPECT_EQ(test, next(fx), 128u);
	KUNIT_EXPECT_EQ(test, memcmp(fx->mad + 64, wanted, sizeof(wanted)), 0);
	shca_ib_trap_repress(&fx->traps, tid(fx));
	KUNIT_EXPECT_TRUE(test, shca_ib_trap_link(&fx->traps, LID));
	KUNIT_EXPECT_EQ(test, next(fx), 0u);
	fx->now += GAP;
	KUNIT_EXPECT_EQ(test, next(fx), 128u);
}

static void bad_pkey_at_a_switch_says_where(struct kunit *test)
{
	static const u8 wanted[64] = {
		0x82, 0, 0, 2, 0x01, 0x03, LID >> 8, LID & 0xff, 0, 0,
		0, 0xff, 0x11, 0x12, 0x13, 0x14, 0x03, 0x04, 0xb0, 0x21, 0x22, 0x23, 0, 0x31, 0x32, 0x33,
		1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
		17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32,
		LID >> 8, LID & 0xff, 36,
	};
	struct shca_ib_bad_key with = bad;
	struct fx_trap *fx = fx_trap(test);

	fx->traps.is_switch = true;
	with.gids = wanted + 26;
	KUNIT_EXPECT_TRUE(test, shca_ib_trap_switch_pkey(&fx->traps, LID, 36, &with));
	KUNIT_EXPECT_FALSE(test, shca_ib_trap_switch_pkey(&fx->traps, LID, 36, &bad));
	KUNIT_EXPECT_EQ(test, next(fx), 259u);
	KUNIT_EXPECT_EQ(test, memcmp(fx->mad + 64, wanted, sizeof(wanted)), 0);
	/* a packet without GRH, and one that does not say where it is from */
	shca_ib_trap_forget(&fx->traps);
	with.gids = NULL;
	with.sqpn = 0;
	KUNIT_EXPECT_TRUE(test, shca_ib_trap_switch_pkey(&fx->traps, LID, 36, &with));
	fx->now += GAP;
	KUNIT_EXPECT_EQ(test, next(fx), 259u);
	KUNIT_EXPECT_EQ(test, fx->mad[64 + 11], 0x2f);
	KUNIT_EXPECT_MEMEQ(test, fx->mad + 64 + 14, wanted + 14, 5);
	KUNIT_EXPECT_EQ(test, fx->mad[64 + 26], 0);
}

/* One of each kind waits for each port, and for some ports only. */
static void ports_wait_for_themselves(struct kunit *test)
{
	struct fx_trap *fx = fx_trap(test);
	u32 port, nr;
	u64 second = 0;

	fx->traps.is_switch = true;
	for (port = 1; port <= 5; port++) {
		KUNIT_EXPECT_TRUE(test, shca_ib_trap_port(&fx->traps, SHCA_IB_TRAP_OVERRUN, LID, port));
		KUNIT_EXPECT_FALSE(test, shca_ib_trap_port(&fx->traps, SHCA_IB_TRAP_OVERRUN, LID, port));
	}
	/* There is no room for more, but for the first one of another kind. */
	KUNIT_EXPECT_FALSE(test, shca_ib_trap_port(&fx->traps, SHCA_IB_TRAP_OVERRUN, LID, 6));
	KUNIT_EXPECT_TRUE(test, shca_ib_trap_port(&fx->traps, SHCA_IB_TRAP_INTEGRITY, LID, 3));
	KUNIT_EXPECT_FALSE(test, shca_ib_trap_port(&fx->traps, SHCA_IB_TRAP_INTEGRITY, LID, 4));
	KUNIT_EXPECT_TRUE(test, shca_ib_trap_switch_pkey(&fx->traps, LID, 9, &bad));
	KUNIT_EXPECT_FALSE(test, shca_ib_trap_switch_pkey(&fx->traps, LID, 8, &bad));
	KUNIT_EXPECT_TRUE(test, shca_ib_trap_link(&fx->traps, LID));
	/* All leave, in turn; each port is named. */
	KUNIT_EXPECT_EQ(test, next(fx), 128u);
	fx->now += GAP;
	KUNIT_EXPECT_EQ(test, next(fx), 129u);
	KUNIT_EXPECT_EQ(test, fx->mad[64 + 14], 3);
	fx->now += GAP;
	KUNIT_EXPECT_EQ(test, next(fx), 130u);
	KUNIT_EXPECT_EQ(test, fx->mad[64 + 14], 1);
	fx->now += GAP;
	KUNIT_EXPECT_EQ(test, next(fx), 259u);
	for (port = 2; port <= 5; port++) {
		fx->now += GAP;
		KUNIT_EXPECT_EQ(test, next(fx), 130u);
		KUNIT_EXPECT_EQ(test, fx->mad[64 + 14], port);
		second = port == 2 ? tid(fx) : second;
	}
	/* One is repressed, and makes room for another one. */
	shca_ib_trap_repress(&fx->traps, second);
	KUNIT_EXPECT_FALSE(test, shca_ib_trap_is_own(&fx->traps, second));
	KUNIT_EXPECT_FALSE(test, shca_ib_trap_port(&fx->traps, SHCA_IB_TRAP_OVERRUN, LID, 1));
	KUNIT_EXPECT_TRUE(test, shca_ib_trap_port(&fx->traps, SHCA_IB_TRAP_OVERRUN, LID, 6));
	fx->now += GAP;
	KUNIT_EXPECT_EQ(test, next(fx), 130u);
	KUNIT_EXPECT_EQ(test, fx->mad[64 + 14], 6);
	shca_ib_trap_repress(&fx->traps, tid(fx));
	for (nr = 0; nr < 7; nr++) {
		fx->now += GAP;
		KUNIT_EXPECT_NE(test, next(fx), 0u);
		shca_ib_trap_repress(&fx->traps, tid(fx));
	}
	KUNIT_EXPECT_EQ(test, shca_ib_trap_deadline(&fx->traps, GAP), ~0ull);
}

/* What waits is told with what is new, whatever the CapabilityMask is; and no more than that. */
static void change_keeps_what_waits(struct kunit *test)
{
	struct fx_trap *fx = fx_trap(test);
	u32 desc;

	for (desc = 0; desc < 2; desc++) {
		shca_ib_trap_change(&fx->traps, LID, 0, desc);
		shca_ib_trap_change(&fx->traps, LID, 0, false);
		fx->now += GAP;
		KUNIT_EXPECT_EQ(test, next(fx), 144u);
		KUNIT_EXPECT_EQ(test, fx->mad[64 + 15], desc);
		KUNIT_EXPECT_EQ(test, fx->mad[64 + 21], desc);
		shca_ib_trap_forget(&fx->traps);
	}
}

/* A directed SMP: its method, the LID it came from, and the path back. */
static void bad_mkey_of_a_directed_smp_says_which_way(struct kunit *test)
{
	struct fx_trap *fx = fx_trap(test);
	u8 directed[SHCA_IB_MAD_BYTES];

	memcpy(directed, smp, sizeof(smp));
	directed[1] = 0x81;
	directed[7] = 3;
	KUNIT_EXPECT_TRUE(test, shca_ib_trap_mkey(&fx->traps, LID, 0x5566, directed));
	KUNIT_EXPECT_EQ(test, next(fx), 256u);
	KUNIT_EXPECT_MEMEQ(test, fx->mad + 64 + 14, directed + 32, 2);
	KUNIT_EXPECT_EQ(test, fx->mad[64 + 16], 2);
	KUNIT_EXPECT_MEMEQ(test, fx->mad + 64 + 34, directed + 192, 3);
}

/* A trap that was never sent comes before one that was, whenever that was sent. */
static void new_trap_comes_before_one_that_was_sent(struct kunit *test)
{
	struct fx_trap *fx = fx_trap(test);

	fx->now = 0;
	shca_ib_trap_port(&fx->traps, SHCA_IB_TRAP_INTEGRITY, LID, 1);
	KUNIT_EXPECT_EQ(test, next(fx), 129u);
	shca_ib_trap_key(&fx->traps, SHCA_IB_TRAP_QKEY, LID, &bad);
	fx->now += GAP;
	KUNIT_EXPECT_EQ(test, next(fx), 258u);
	fx->now += GAP;
	KUNIT_EXPECT_EQ(test, next(fx), 129u);
}

static struct kunit_case ib_trap_cases[] = {
	KUNIT_CASE(trap_is_a_packet),
	KUNIT_CASE(change_says_what),
	KUNIT_CASE(bad_mkey_says_who),
	KUNIT_CASE(bad_key_says_between_whom),
	KUNIT_CASE(traps_keep_a_distance),
	KUNIT_CASE(new_trap_comes_before_one_that_was_sent),
	KUNIT_CASE(unsent_is_not_repressed),
	KUNIT_CASE(notices_queue),
	KUNIT_CASE(notice_has_the_type_of_its_number),
	KUNIT_CASE(link_of_a_switch_is_told_once),
	KUNIT_CASE(bad_pkey_at_a_switch_says_where),
	KUNIT_CASE(ports_wait_for_themselves),
	KUNIT_CASE(change_keeps_what_waits),
	KUNIT_CASE(bad_mkey_of_a_directed_smp_says_which_way),
	{}
};

static struct kunit_suite ib_trap_suite = {
	.name = "softhca_ib_trap",
	.test_cases = ib_trap_cases,
};

kunit_test_suites(&ib_trap_suite);
