// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tag matching: the list of tags, against a plain one; what the responder makes of
 * messages; and requests of the adapter's own.
 */
#include "fixture.h"

#define P0	FX_RQ_PSN

static int tm_init(struct kunit *test)
{
	struct shca_resp_attr attr;
	struct fx *fx;
	int err = fx_init(test);

	if (err)
		return err;
	fx = test->priv;
	fx_resp_attr(&attr);
	attr.recvs = SHCA_RECVS_TM;
	fx_resp_start(fx, &attr);
	return 0;
}

static bool add(struct fx *fx, u64 tag, u64 mask, u32 len, u32 *handle)
{
	const struct shca_tm_entry entry = {
		.tag = tag,
		.mask = mask,
		.wr_id = 2000 + tag,
		.sge = { .length = len },
	};

	if (!shca_tm_take(&fx->tm, handle))
		return false;
	shca_tm_post(&fx->tm, &entry, *handle);
	return true;
}

/* ---- the list --------------------------------------------------------------- */

static void list_first_that_fits_is_taken(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 handle;
	u16 slot;

	add(fx, 0x10, 0xf0, 1, &handle);
	add(fx, 0x12, ~0ull, 2, &handle);
	slot = shca_tm_match(&fx->tm, 0x12);
	KUNIT_ASSERT_TRUE(test, slot != SHCA_TM_NIL);
	KUNIT_EXPECT_EQ(test, fx->tags[slot].sge.length, 1u);
	shca_tm_free(&fx->tm, slot);
	slot = shca_tm_match(&fx->tm, 0x12);
	KUNIT_ASSERT_TRUE(test, slot != SHCA_TM_NIL);
	KUNIT_EXPECT_EQ(test, fx->tags[slot].sge.length, 2u);
	KUNIT_EXPECT_EQ(test, shca_tm_match(&fx->tm, 0x12), SHCA_TM_NIL);
}

static void list_handle_is_of_one_entry(struct kunit *test)
{
	u32 first, second, handle, i;
	struct fx *fx = test->priv;

	add(fx, 1, ~0ull, 0, &first);
	KUNIT_EXPECT_TRUE(test, shca_tm_del(&fx->tm, first));
	KUNIT_EXPECT_FALSE(test, shca_tm_del(&fx->tm, first));
	add(fx, 2, ~0ull, 0, &second);
	KUNIT_EXPECT_TRUE(test, first != second);
	KUNIT_EXPECT_FALSE(test, shca_tm_del(&fx->tm, first));
	KUNIT_EXPECT_FALSE(test, shca_tm_del(&fx->tm, ~0u));
	KUNIT_EXPECT_FALSE(test, shca_tm_del(&fx->tm, FX_TAGS));
	shca_tm_free(&fx->tm, shca_tm_match(&fx->tm, 2));
	KUNIT_EXPECT_FALSE(test, shca_tm_del(&fx->tm, second));
	for (i = 0; i < FX_TAGS; i++)
		KUNIT_EXPECT_TRUE(test, add(fx, i, 0, 0, &handle));
	KUNIT_EXPECT_FALSE(test, add(fx, i, 0, 0, &handle));
}

/* Its poster may not get to know the handle, and then gives the slot back. */
static void list_taken_slot_is_no_entry(struct kunit *test)
{
	const struct shca_tm_entry entry = { .tag = 2, .mask = ~0ull };
	u32 handle, other, i;
	struct fx *fx = test->priv;

	KUNIT_ASSERT_TRUE(test, shca_tm_take(&fx->tm, &handle));
	KUNIT_EXPECT_EQ(test, shca_tm_match(&fx->tm, 0), SHCA_TM_NIL);
	KUNIT_EXPECT_FALSE(test, shca_tm_del(&fx->tm, handle));
	add(fx, 1, ~0ull, 0, &other);
	shca_tm_free(&fx->tm, handle);
	/* The list is as it would be without it, and so is what is free. */
	for (i = 1; i < FX_TAGS; i++)
		KUNIT_EXPECT_TRUE(test, shca_tm_take(&fx->tm, &handle));
	KUNIT_EXPECT_FALSE(test, shca_tm_take(&fx->tm, &other));
	shca_tm_post(&fx->tm, &entry, handle);
	KUNIT_EXPECT_EQ(test, shca_tm_match(&fx->tm, 2), (u16)handle);
	KUNIT_EXPECT_TRUE(test, shca_tm_match(&fx->tm, 1) != SHCA_TM_NIL);
	KUNIT_EXPECT_EQ(test, fx->tm.first, SHCA_TM_NIL);
}

static void list_new_entries_wait_for_the_poster(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 old, one, two;

	add(fx, 1, ~0ull, 0, &old);
	shca_tm_missed(&fx->tm);
	add(fx, 2, ~0ull, 0, &one);
	add(fx, 3, ~0ull, 0, &two);
	KUNIT_EXPECT_EQ(test, shca_tm_match(&fx->tm, 2), SHCA_TM_NIL);
	KUNIT_EXPECT_EQ(test, shca_tm_match(&fx->tm, 3), SHCA_TM_NIL);
	KUNIT_EXPECT_TRUE(test, shca_tm_match(&fx->tm, 1) != SHCA_TM_NIL);
	shca_tm_sync(&fx->tm, 0);
	KUNIT_EXPECT_FALSE(test, shca_tm_in_sync(&fx->tm));
	/* The first that waits goes: the next one still does. */
	KUNIT_EXPECT_TRUE(test, shca_tm_del(&fx->tm, one));
	KUNIT_EXPECT_EQ(test, shca_tm_match(&fx->tm, 3), SHCA_TM_NIL);
	shca_tm_sync(&fx->tm, 1);
	KUNIT_EXPECT_TRUE(test, shca_tm_match(&fx->tm, 3) != SHCA_TM_NIL);
	/* A message that broke off does not count. */
	fx->tm.unexpected++;
	add(fx, 4, ~0ull, 0, &one);
	KUNIT_EXPECT_EQ(test, shca_tm_match(&fx->tm, 4), SHCA_TM_NIL);
	shca_tm_undo(&fx->tm);
	KUNIT_EXPECT_TRUE(test, shca_tm_match(&fx->tm, 4) != SHCA_TM_NIL);
}

/* The same by copying: what is in the list, in order. */
struct plain {
	u64 tag;
	u32 handle;
	bool waits;
};

static int plain_match(struct plain *list, int nr, u64 tag)
{
	int i;

	for (i = 0; i < nr; i++)
		if (!list[i].waits && list[i].tag == tag)
			return i;
	return -1;
}

static void list_does_as_a_plain_one(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct plain list[FX_TAGS];
	int nr = 0, i, at, step;
	u64 seed = 1, tag;
	u32 handle;
	u16 slot;

	for (step = 0; step < 20000; step++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		tag = (seed >> 40) % 3;
		at = -1;
		switch ((seed >> 33) % 8) {
		case 0: case 1: case 2:
			KUNIT_ASSERT_EQ(test, add(fx, tag, ~0ull, 0, &handle),
					nr < FX_TAGS);
			if (nr < FX_TAGS)
				list[nr++] = (struct plain){
					tag, handle, !shca_tm_in_sync(&fx->tm) };
			break;
		case 3:
			if (!nr)
				break;
			at = (seed >> 50) % nr;
			KUNIT_ASSERT_TRUE(test, shca_tm_del(&fx->tm,
							    list[at].handle));
			break;
		case 4:
			shca_tm_sync(&fx->tm, fx->tm.unexpected);
			for (i = 0; i < nr; i++)
				list[i].waits = false;
			break;
		default:
			at = plain_match(list, nr, tag);
			slot = shca_tm_match(&fx->tm, tag);
			KUNIT_ASSERT_EQ(test, slot == SHCA_TM_NIL, at < 0);
			if (at < 0) {
				fx->tm.unexpected++;
				break;
			}
			KUNIT_ASSERT_EQ(test, slot, list[at].handle & 0xffff);
			shca_tm_free(&fx->tm, slot);
			break;
		}
		if (at < 0)
			continue;
		nr--;
		for (i = at; i < nr; i++)
			list[i] = list[i + 1];
	}
}

/* ---- messages ----------------------------------------------------------------- */

/* A message of @len bytes with its header, or the first packet of a longer one. */
static enum shca_verdict rx_msg(struct fx *fx, u8 op, u32 psn, u8 tmh_op, u64 tag,
				u32 len)
{
	const struct shca_tmh tmh = { .opcode = tmh_op, .tag = tag,
				      .app_ctx = 0x11223344 };

	memset(fx->payload, 0, sizeof(fx->payload));
	shca_tmh_build(&tmh, fx->payload);
	fx->payload[SHCA_TMH_BYTES + 15] = 200;	/* a rendezvous about 200 bytes */
	return fx_rx_op(fx, op, psn, len);
}

static void resp_rx_matched_is_placed_without_its_header(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 handle;

	add(fx, 7, ~0ull, 1000, &handle);
	KUNIT_EXPECT_EQ(test, rx_msg(fx, SHCA_OP_SEND_FIRST, P0, SHCA_TMH_EAGER,
				     7, FX_MTU), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->last_len, FX_MTU - SHCA_TMH_BYTES);
	KUNIT_EXPECT_EQ(test, fx->last_off, 0u);
	KUNIT_EXPECT_EQ(test, fx->last_data_off, (u32)SHCA_TMH_BYTES);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_LAST, P0 + 1, 100),
			SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->last_len, 100u);
	KUNIT_EXPECT_EQ(test, fx->last_off, FX_MTU - SHCA_TMH_BYTES);
	KUNIT_ASSERT_TRUE(test, fx->out.has_wc);
	KUNIT_EXPECT_EQ(test, fx->out.wc.wr_id, 2007u);
	KUNIT_EXPECT_EQ(test, fx->out.wc.opcode, SHCA_WC_TM_RECV);
	KUNIT_EXPECT_EQ(test, fx->out.wc.wc_flags,
			SHCA_WC_TM_MATCH | SHCA_WC_TM_DATA_VALID);
	KUNIT_EXPECT_EQ(test, fx->out.wc.byte_len,
			FX_MTU - SHCA_TMH_BYTES + 100);
	KUNIT_EXPECT_EQ(test, fx->out.wc.tm_tag, 7u);
	KUNIT_EXPECT_EQ(test, fx->out.wc.tm_priv, 0x11223344u);
	KUNIT_EXPECT_EQ(test, fx->nr_recv, 0u);
	KUNIT_EXPECT_EQ(test, fx->tm.unexpected, 0u);
}

struct kind_row {
	const char *name;
	u8 tmh_op;
	u64 tag;
	u32 len;
	u8 opcode;
	u32 unexpected;
};

static const struct kind_row kind_rows[] = {
	{ "unexpected", SHCA_TMH_EAGER, 8, 100, SHCA_WC_TM_RECV, 1 },
	{ "unexpected rendezvous", SHCA_TMH_RNDV, 8, 32, SHCA_WC_TM_RECV, 1 },
	{ "no tag", SHCA_TMH_NO_TAG, 7, 100, SHCA_WC_TM_NO_TAG, 0 },
	{ "FIN", SHCA_TMH_FIN, 7, 16, SHCA_WC_TM_NO_TAG, 0 },
	{ "no such opcode", 9, 7, 16, SHCA_WC_TM_NO_TAG, 0 },
	{ "no room for a header", SHCA_TMH_EAGER, 7, 15, SHCA_WC_TM_NO_TAG, 0 },
	{ "nothing", SHCA_TMH_EAGER, 7, 0, SHCA_WC_TM_NO_TAG, 0 },
};

static void kind_desc(const struct kind_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(kind, kind_rows, kind_desc);

static void resp_rx_of_no_tag_takes_a_receive(struct kunit *test)
{
	const struct kind_row *row = test->param_value;
	struct fx *fx = test->priv;
	u32 handle;

	add(fx, 7, ~0ull, 1000, &handle);
	KUNIT_EXPECT_EQ(test, rx_msg(fx, SHCA_OP_SEND_ONLY, P0, row->tmh_op,
				     row->tag, row->len), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->nr_recv, 1u);
	KUNIT_EXPECT_EQ(test, fx->out.wc.opcode, row->opcode);
	KUNIT_EXPECT_EQ(test, fx->out.wc.wc_flags, 0u);
	KUNIT_EXPECT_EQ(test, fx->out.wc.byte_len, row->len);
	KUNIT_EXPECT_EQ(test, fx->out.wc.tm_tag, 0u);
	KUNIT_EXPECT_EQ(test, fx->tm.unexpected, row->unexpected);
	KUNIT_EXPECT_FALSE(test, fx->out.rndv);
	KUNIT_EXPECT_TRUE(test, shca_tm_del(&fx->tm, handle));
}

static void resp_rx_rendezvous_moves_nothing_yet(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 handle;

	add(fx, 7, ~0ull, 200, &handle);
	KUNIT_EXPECT_EQ(test, rx_msg(fx, SHCA_OP_SEND_ONLY, P0, SHCA_TMH_RNDV, 7,
				     SHCA_TM_RNDV_MAX), SHCA_RX_OK);
	KUNIT_EXPECT_TRUE(test, fx->out.rndv);
	KUNIT_EXPECT_EQ(test, fx->nr_scatter, 0u);
	KUNIT_EXPECT_EQ(test, fx->out.wc.wc_flags, SHCA_WC_TM_MATCH);
	KUNIT_EXPECT_EQ(test, fx->out.wc.byte_len, 0u);
	KUNIT_EXPECT_EQ(test, fx->out.wc.opcode, SHCA_WC_TM_RECV);
	KUNIT_EXPECT_EQ(test, fx->out.wc.tm_tag, 7u);
	KUNIT_EXPECT_EQ(test, fx->out.wc.tm_priv, 0x11223344u);
	/* The next message is one of its own. */
	KUNIT_EXPECT_EQ(test, rx_msg(fx, SHCA_OP_SEND_ONLY, P0 + 1,
				     SHCA_TMH_NO_TAG, 7, 16), SHCA_RX_OK);
	KUNIT_EXPECT_FALSE(test, fx->out.rndv);
	KUNIT_EXPECT_EQ(test, fx->nr_recv, 1u);
}

static void resp_rx_malformed_rendezvous_is_refused(struct kunit *test)
{
	static const u32 lens[] = { 16, 31, SHCA_TM_RNDV_MAX + 1 };
	struct fx *fx = test->priv;
	u32 handle, i;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		tm_init(test);
		fx = test->priv;
		add(fx, 7, ~0ull, 200, &handle);
		KUNIT_EXPECT_EQ(test, rx_msg(fx, SHCA_OP_SEND_ONLY, P0,
					     SHCA_TMH_RNDV, 7, lens[i]),
				SHCA_RX_INVALID);
		KUNIT_EXPECT_FALSE(test, fx->out.has_wc);
		KUNIT_EXPECT_TRUE(test, shca_tm_del(&fx->tm, handle));
	}
	tm_init(test);
	fx = test->priv;
	KUNIT_EXPECT_EQ(test, rx_msg(fx, SHCA_OP_SEND_FIRST, P0, SHCA_TMH_RNDV,
				     7, FX_MTU), SHCA_RX_INVALID);
}

static void resp_rx_longer_than_the_tag_is_refused(struct kunit *test)
{
	static const u8 ops[] = { SHCA_TMH_EAGER, SHCA_TMH_RNDV };
	struct fx *fx;
	u32 handle, i;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		tm_init(test);
		fx = test->priv;
		add(fx, 7, ~0ull, 10, &handle);
		KUNIT_EXPECT_EQ(test, rx_msg(fx, SHCA_OP_SEND_ONLY, P0, ops[i],
					     7, 40), SHCA_RX_INVALID);
		KUNIT_ASSERT_TRUE(test, fx->out.has_wc);
		KUNIT_EXPECT_EQ(test, fx->out.wc.status, SHCA_WC_LOC_LEN_ERR);
		KUNIT_EXPECT_EQ(test, fx->out.wc.wr_id, 2007u);
		KUNIT_EXPECT_FALSE(test, fx->out.rndv);
		KUNIT_EXPECT_EQ(test, fx->nr_scatter, 0u);
		/* its tag has matched, and there is no data */
		KUNIT_EXPECT_EQ(test, fx->out.wc.opcode, SHCA_WC_TM_RECV);
		KUNIT_EXPECT_EQ(test, fx->out.wc.wc_flags, SHCA_WC_TM_MATCH);
		KUNIT_EXPECT_EQ(test, fx->out.wc.tm_tag, 7u);
		KUNIT_EXPECT_EQ(test, fx->out.wc.tm_priv, 0x11223344u);
		KUNIT_EXPECT_EQ(test, fx->out.wc.vendor_err, SHCA_VERR_LENGTH);
		KUNIT_EXPECT_EQ(test, fx->out.events, SHCA_EV_COMM_EST);
	}
}

/* A rendezvous is one packet, about 2^31 bytes at most. */
static void resp_rx_rendezvous_is_bounded(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 handle, i;
	const struct shca_tmh tmh = { .opcode = SHCA_TMH_RNDV, .tag = 7 };

	for (i = 0; i < 2; i++) {
		tm_init(test);
		fx = test->priv;
		add(fx, 7, ~0ull, 0x80000000u, &handle);
		memset(fx->payload, 0, sizeof(fx->payload));
		shca_tmh_build(&tmh, fx->payload);
		fx->payload[SHCA_TMH_BYTES + 12] = 0x80;
		fx->payload[SHCA_TMH_BYTES + 15] = i;
		KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0, 32),
				i ? SHCA_RX_INVALID : SHCA_RX_OK);
		KUNIT_EXPECT_EQ(test, fx->out.rndv, !i);
		KUNIT_EXPECT_EQ(test, fx->out.has_wc, !i);
	}
	/* the first packet of more, however short that packet is said to be */
	tm_init(test);
	fx = test->priv;
	fx->resp.attr.mtu = SHCA_TM_RNDV_MAX;
	KUNIT_EXPECT_EQ(test, rx_msg(fx, SHCA_OP_SEND_FIRST, P0, SHCA_TMH_RNDV,
				     7, SHCA_TM_RNDV_MAX), SHCA_RX_INVALID);
}

/* The receive of the message before is not touched once more. */
static void resp_rx_malformed_rendezvous_has_no_buffer(struct kunit *test)
{
	struct fx *fx = test->priv;

	KUNIT_ASSERT_EQ(test, rx_msg(fx, SHCA_OP_SEND_ONLY, P0,
				     SHCA_TMH_NO_TAG, 7, 100), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->nr_scatter, 1u);
	KUNIT_EXPECT_EQ(test, rx_msg(fx, SHCA_OP_SEND_ONLY, P0 + 1,
				     SHCA_TMH_RNDV, 7, 31), SHCA_RX_INVALID);
	KUNIT_EXPECT_EQ(test, fx->nr_scatter, 1u);
	KUNIT_EXPECT_EQ(test, fx->nr_recv, 1u);
	KUNIT_EXPECT_FALSE(test, fx->out.has_wc);
}

/* A header and nothing else is a message of no length. */
static void resp_rx_of_header_alone_is_matched(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 handle;

	add(fx, 7, ~0ull, 0, &handle);
	KUNIT_EXPECT_EQ(test, rx_msg(fx, SHCA_OP_SEND_ONLY, P0, SHCA_TMH_EAGER,
				     7, SHCA_TMH_BYTES), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->out.wc.byte_len, 0u);
	KUNIT_EXPECT_EQ(test, fx->nr_scatter, 0u);
}

/* A rendezvous may ask to invalidate as any SEND: before it begins. */
static void resp_rx_rendezvous_invalidates(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 handle;

	add(fx, 7, ~0ull, 200, &handle);
	add(fx, 7, ~0ull, 200, &handle);
	add(fx, 7, ~0ull, 200, &handle);
	KUNIT_EXPECT_EQ(test, rx_msg(fx, SHCA_OP_SEND_ONLY, P0, SHCA_TMH_RNDV,
				     7, 32), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->nr_inv, 0u);
	KUNIT_EXPECT_EQ(test, rx_msg(fx, SHCA_OP_SEND_ONLY_INV, P0 + 1,
				     SHCA_TMH_RNDV, 7, 32), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->nr_inv, 1u);
	KUNIT_EXPECT_EQ(test, fx->last_rkey, 0x5555u);
	KUNIT_EXPECT_TRUE(test, fx->out.rndv);
	fx->inv_ok = false;
	KUNIT_EXPECT_EQ(test, rx_msg(fx, SHCA_OP_SEND_ONLY_INV, P0 + 2,
				     SHCA_TMH_RNDV, 7, 32), SHCA_RX_ACCESS);
	KUNIT_EXPECT_FALSE(test, fx->out.rndv);
	KUNIT_ASSERT_TRUE(test, fx->out.has_wc);
	KUNIT_EXPECT_EQ(test, fx->out.wc.status, SHCA_WC_LOC_ACCESS_ERR);
	KUNIT_EXPECT_EQ(test, fx->out.wc.vendor_err, SHCA_VERR_KEY);
}

/* What waits for memory has its tag, and gets no other one. */
static void resp_rx_again_keeps_its_tag(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 handle;

	add(fx, 7, ~0ull, 100, &handle);
	add(fx, 7, ~0ull, 1, &handle);
	fx->scatter = SHCA_MEM_RETRY;
	KUNIT_EXPECT_EQ(test, rx_msg(fx, SHCA_OP_SEND_ONLY, P0, SHCA_TMH_EAGER,
				     7, 100), SHCA_RX_RETRY);
	fx->scatter = SHCA_MEM_OK;
	KUNIT_EXPECT_EQ(test, rx_msg(fx, SHCA_OP_SEND_ONLY, P0, SHCA_TMH_EAGER,
				     7, 100), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->out.wc.byte_len, 84u);
	KUNIT_EXPECT_TRUE(test, shca_tm_del(&fx->tm, handle));
}

/* It comes again with less in it than a header: no byte is counted below zero. */
static void resp_rx_again_with_less_is_refused(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 handle;

	add(fx, 7, ~0ull, 100, &handle);
	fx->scatter = SHCA_MEM_RETRY;
	rx_msg(fx, SHCA_OP_SEND_ONLY, P0, SHCA_TMH_EAGER, 7, 100);
	fx->scatter = SHCA_MEM_OK;
	KUNIT_EXPECT_EQ(test, rx_msg(fx, SHCA_OP_SEND_ONLY, P0, SHCA_TMH_EAGER,
				     7, 4), SHCA_RX_INVALID);
	KUNIT_EXPECT_EQ(test, fx->nr_scatter, 1u);
}

static void resp_rx_looks_for_a_tag_again_when_not_ready(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 handle;

	fx->recvs = 0;
	KUNIT_EXPECT_EQ(test, rx_msg(fx, SHCA_OP_SEND_ONLY, P0, SHCA_TMH_EAGER,
				     7, 100), SHCA_RX_RNR);
	KUNIT_EXPECT_EQ(test, fx->tm.unexpected, 0u);
	add(fx, 7, ~0ull, 100, &handle);
	KUNIT_EXPECT_EQ(test, rx_msg(fx, SHCA_OP_SEND_ONLY, P0, SHCA_TMH_EAGER,
				     7, 100), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->out.wc.wr_id, 2007u);
}

/* The poster never hears of it as of a message, so it must not count. */
static void resp_unexpected_that_breaks_off_does_not_count(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_wc wc;

	rx_msg(fx, SHCA_OP_SEND_FIRST, P0, SHCA_TMH_EAGER, 7, FX_MTU);
	KUNIT_EXPECT_EQ(test, fx->tm.unexpected, 1u);
	shca_resp_fail(&fx->resp);
	KUNIT_EXPECT_TRUE(test, shca_resp_flush(&fx->resp, &wc));
	KUNIT_EXPECT_EQ(test, wc.opcode, SHCA_WC_TM_RECV);
	KUNIT_EXPECT_EQ(test, fx->tm.unexpected, 0u);
	/* once */
	shca_resp_reset(&fx->resp);
	KUNIT_EXPECT_EQ(test, fx->tm.unexpected, 0u);

	tm_init(test);
	fx = test->priv;
	rx_msg(fx, SHCA_OP_SEND_FIRST, P0, SHCA_TMH_EAGER, 7, FX_MTU);
	shca_resp_reset(&fx->resp);
	KUNIT_EXPECT_EQ(test, fx->tm.unexpected, 0u);

	tm_init(test);
	fx = test->priv;
	rx_msg(fx, SHCA_OP_SEND_FIRST, P0, SHCA_TMH_EAGER, 7, FX_MTU);
	fx->scatter = SHCA_MEM_KEY;
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_LAST, P0 + 1, 4),
			SHCA_RX_OPERATION);
	KUNIT_EXPECT_EQ(test, fx->tm.unexpected, 0u);
}

/* Nor does one that breaks off take back what another message was counted for. */
static void resp_counted_message_stays_counted(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_wc wc;
	u32 handle, kind;

	for (kind = 0; kind < 3; kind++) {
		tm_init(test);
		fx = test->priv;
		rx_msg(fx, SHCA_OP_SEND_ONLY, P0, SHCA_TMH_EAGER, 7, 100);
		KUNIT_ASSERT_EQ(test, fx->tm.unexpected, 1u);
		shca_tm_sync(&fx->tm, 1);
		add(fx, 8, ~0ull, 4096, &handle);
		if (kind < 2)
			rx_msg(fx, SHCA_OP_SEND_FIRST, P0 + 1,
			       kind ? SHCA_TMH_NO_TAG : SHCA_TMH_EAGER, 8,
			       FX_MTU);
		else	/* its receive is taken, and its memory has gone */
			fx->write = SHCA_MEM_KEY;
		if (kind == 2)
			fx_rx_op(fx, SHCA_OP_WRITE_ONLY_IMM, P0 + 1, 8);
		shca_resp_fail(&fx->resp);
		shca_resp_flush(&fx->resp, &wc);
		shca_resp_reset(&fx->resp);
		KUNIT_EXPECT_EQ(test, fx->tm.unexpected, 1u);
	}
}

static void resp_write_imm_takes_a_receive(struct kunit *test)
{
	struct fx *fx = test->priv;

	rx_msg(fx, SHCA_OP_SEND_ONLY, P0, SHCA_TMH_EAGER, 7, 20);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_WRITE_ONLY_IMM, P0 + 1, 8),
			SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->out.wc.opcode, SHCA_WC_RECV_RDMA_WITH_IMM);
	KUNIT_EXPECT_EQ(test, fx->tm.unexpected, 1u);
}

/* The message before was matched, which is nothing to this one. */
static void resp_refused_write_imm_has_no_tag(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 handle;

	add(fx, 7, ~0ull, 1000, &handle);
	KUNIT_EXPECT_EQ(test, rx_msg(fx, SHCA_OP_SEND_ONLY, P0, SHCA_TMH_EAGER,
				     7, 20), SHCA_RX_OK);
	fx->check = SHCA_MEM_KEY;
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_WRITE_ONLY_IMM, P0 + 1, 8),
			SHCA_RX_ACCESS);
	KUNIT_ASSERT_TRUE(test, fx->out.has_wc);
	KUNIT_EXPECT_EQ(test, fx->out.wc.opcode, SHCA_WC_RECV);
	KUNIT_EXPECT_EQ(test, fx->out.wc.wc_flags, 0u);
}

/* ---- requests of the adapter's own ---------------------------------------------- */

static void req_pop_tells_the_adapters_own(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_send_wr *wr;

	fx_post_flags(fx, SHCA_WR_SEND, 8, 0);
	wr = fx_post_flags(fx, SHCA_WR_SEND, 8, SHCA_SEND_SIGNALED);
	KUNIT_ASSERT_NOT_NULL(test, wr);
	wr->own = fx;
	fx_post(fx, SHCA_WR_SEND, 8);
	wr = fx_post_flags(fx, SHCA_WR_RDMA_READ, 8, SHCA_SEND_SIGNALED);
	KUNIT_ASSERT_NOT_NULL(test, wr);
	wr->own = fx;
	fx_drain(fx);
	fx_ack(fx, FX_SQ_PSN + 2, SHCA_AETH_ACK | SHCA_AETH_CREDIT_NONE);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_TRUE(test, fx->wc.own == fx);
	KUNIT_EXPECT_EQ(test, fx->req.ring.head - fx->req.ring.own, 1u);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_NULL(test, fx->wc.own);
	KUNIT_EXPECT_EQ(test, fx->req.ring.head - fx->req.ring.own, 2u);
	shca_req_fail(&fx->req);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_TRUE(test, fx->wc.own == fx);
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, fx->wc.opcode, SHCA_WC_RDMA_READ);
	KUNIT_EXPECT_FALSE(test, fx_pop(fx));
}

/* ---- headers ------------------------------------------------------------------ */

/* As mlx5 has them on the wire: opcode, 3 reserved bytes, context, tag; address, key, length. */
static const u8 tm_bytes[SHCA_TMH_BYTES + SHCA_RVH_BYTES] = {
	0x01, 0x00, 0x00, 0x00, 0x11, 0x22, 0x33, 0x44,
	0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88,
	0x91, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98,
	0xa1, 0xa2, 0xa3, 0xa4, 0xb1, 0xb2, 0xb3, 0xb4,
};

/* Each length has all headers that fit into it, and zeros for the others. */
static void tm_header_of_each_length_is_parsed(struct kunit *test)
{
	struct shca_tm_msg msg, want;
	u8 bytes[sizeof(tm_bytes) + 8];
	u32 len;

	for (len = 0; len <= sizeof(bytes); len++) {
		memset(bytes, 0xee, sizeof(bytes));
		memcpy(bytes, tm_bytes, min_t(u32, len, sizeof(tm_bytes)));
		memset(&msg, 0xa5, sizeof(msg));
		shca_tm_parse(bytes, len, &msg);
		memset(&want, 0, sizeof(want));
		if (len >= 16) {
			want.tmh.opcode = SHCA_TMH_RNDV;
			want.tmh.app_ctx = 0x11223344;
			want.tmh.tag = 0x8182838485868788ull;
		}
		if (len >= 32) {
			want.rvh.va = 0x9192939495969798ull;
			want.rvh.rkey = 0xa1a2a3a4;
			want.rvh.len = 0xb1b2b3b4;
		}
		KUNIT_EXPECT_EQ(test, msg.tmh.opcode, want.tmh.opcode);
		KUNIT_EXPECT_EQ(test, msg.tmh.app_ctx, want.tmh.app_ctx);
		KUNIT_EXPECT_EQ(test, msg.tmh.tag, want.tmh.tag);
		KUNIT_EXPECT_EQ(test, msg.rvh.va, want.rvh.va);
		KUNIT_EXPECT_EQ(test, msg.rvh.rkey, want.rvh.rkey);
		KUNIT_EXPECT_EQ(test, msg.rvh.len, want.rvh.len);
	}
}

static void tm_header_is_built_as_it_is_parsed(struct kunit *test)
{
	u8 bytes[SHCA_TMH_BYTES + 8];
	struct shca_tm_msg msg;
	u32 i;

	shca_tm_parse(tm_bytes, sizeof(tm_bytes), &msg);
	memset(bytes, 0xee, sizeof(bytes));
	shca_tmh_build(&msg.tmh, bytes);
	KUNIT_EXPECT_MEMEQ(test, bytes, tm_bytes, SHCA_TMH_BYTES);
	for (i = SHCA_TMH_BYTES; i < sizeof(bytes); i++)
		KUNIT_EXPECT_EQ(test, bytes[i], 0xee);
}

/* ---- the storage ---------------------------------------------------------------- */

/* Whatever the storage held: a new list has no entry, and all of its slots are free. */
static void list_begins_empty(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 handle, i;

	memset(&fx->tm, 0xa5, sizeof(fx->tm));
	memset(fx->tags, 0xa5, sizeof(fx->tags));
	shca_tm_init(&fx->tm, fx->tags, FX_TAGS);
	KUNIT_EXPECT_TRUE(test, shca_tm_in_sync(&fx->tm));
	KUNIT_EXPECT_EQ(test, fx->tm.unexpected, 0u);
	KUNIT_EXPECT_EQ(test, shca_tm_match(&fx->tm, 0), SHCA_TM_NIL);
	for (i = 0; i < FX_TAGS; i++) {
		KUNIT_EXPECT_FALSE(test, shca_tm_del(&fx->tm, 0xa5a50000 | i));
		KUNIT_EXPECT_FALSE(test, shca_tm_del(&fx->tm, i));
	}
	for (i = 0; i < FX_TAGS; i++) {
		KUNIT_ASSERT_TRUE(test, shca_tm_take(&fx->tm, &handle));
		/* the first use of the slot */
		KUNIT_EXPECT_EQ(test, handle, 1u << 16 | i);
	}
	KUNIT_EXPECT_FALSE(test, shca_tm_take(&fx->tm, &handle));
}

/* A handle comes from a process: one behind the last slot is nobody's. */
static void list_ends_with_its_last_slot(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 handle, i;

	shca_tm_init(&fx->tm, fx->tags, FX_TAGS - 1);
	for (i = 0; i < FX_TAGS - 1; i++)
		KUNIT_EXPECT_TRUE(test, add(fx, i, 0, 0, &handle));
	KUNIT_EXPECT_FALSE(test, add(fx, i, 0, 0, &handle));
	/* what lies there looks like an entry */
	fx->tags[FX_TAGS - 1] = fx->tags[0];
	KUNIT_ASSERT_TRUE(test, fx->tags[0].posted);
	KUNIT_EXPECT_FALSE(test, shca_tm_del(&fx->tm, 1u << 16 | (FX_TAGS - 1)));
	KUNIT_EXPECT_TRUE(test, shca_tm_del(&fx->tm, 1u << 16 | (FX_TAGS - 2)));
}

static struct kunit_case tag_matching_cases[] = {
	KUNIT_CASE(tm_header_of_each_length_is_parsed),
	KUNIT_CASE(tm_header_is_built_as_it_is_parsed),
	KUNIT_CASE(list_begins_empty),
	KUNIT_CASE(list_ends_with_its_last_slot),
	KUNIT_CASE(list_first_that_fits_is_taken),
	KUNIT_CASE(list_handle_is_of_one_entry),
	KUNIT_CASE(list_taken_slot_is_no_entry),
	KUNIT_CASE(list_new_entries_wait_for_the_poster),
	KUNIT_CASE(list_does_as_a_plain_one),
	KUNIT_CASE(resp_rx_matched_is_placed_without_its_header),
	KUNIT_CASE_PARAM(resp_rx_of_no_tag_takes_a_receive, kind_gen_params),
	KUNIT_CASE(resp_rx_rendezvous_moves_nothing_yet),
	KUNIT_CASE(resp_rx_malformed_rendezvous_is_refused),
	KUNIT_CASE(resp_rx_longer_than_the_tag_is_refused),
	KUNIT_CASE(resp_rx_rendezvous_is_bounded),
	KUNIT_CASE(resp_rx_malformed_rendezvous_has_no_buffer),
	KUNIT_CASE(resp_rx_of_header_alone_is_matched),
	KUNIT_CASE(resp_rx_rendezvous_invalidates),
	KUNIT_CASE(resp_rx_again_keeps_its_tag),
	KUNIT_CASE(resp_rx_again_with_less_is_refused),
	KUNIT_CASE(resp_rx_looks_for_a_tag_again_when_not_ready),
	KUNIT_CASE(resp_unexpected_that_breaks_off_does_not_count),
	KUNIT_CASE(resp_counted_message_stays_counted),
	KUNIT_CASE(resp_write_imm_takes_a_receive),
	KUNIT_CASE(resp_refused_write_imm_has_no_tag),
	KUNIT_CASE(req_pop_tells_the_adapters_own),
	{}
};

static struct kunit_suite tag_matching_suite = {
	.name = "softhca_tag_matching",
	.init = tm_init,
	.test_cases = tag_matching_cases,
};

kunit_test_suites(&tag_matching_suite);
