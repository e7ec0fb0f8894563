// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The responder's rights and bounds: what a peer may reach, and how far. */
#include "fixture.h"

#define P0	FX_RQ_PSN

/* ---- FLUSH ------------------------------------------------------------------ */

/* IBTA A19.4.1: each placement type has its own right, and both need both. */
static void resp_flush_needs_each_right_that_it_names(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_resp_attr attr;
	u32 type, rights;
	struct shca_pkt pkt;
	enum shca_verdict rx;

	for (type = 1; type < 4; type++) {
		for (rights = 0; rights < 4; rights++) {
			fx_resp_attr(&attr);
			attr.access = rights << 8;
			fx_resp_start(fx, &attr);
			fx_request(&pkt, SHCA_OP_FLUSH, P0, 8);
			pkt.feth.type = type;
			fx->nr_flush = 0;
			rx = fx_rx(fx, &pkt);
			if ((rights & type) == type) {
				KUNIT_EXPECT_EQ(test, rx, SHCA_RX_OK);
				KUNIT_EXPECT_EQ(test, fx->nr_flush, 1u);
				continue;
			}
			KUNIT_EXPECT_EQ(test, rx, SHCA_RX_INVALID);
			KUNIT_EXPECT_EQ(test, fx->nr_flush, 0u);
			fx_expect_ack(test, P0, NAK(SHCA_NAK_INVALID));
		}
	}
}

/* ---- the right that a region must have ------------------------------------- */

struct access_row {
	const char *name;
	u8 opcode;
	u32 access;
};

static const struct access_row access_rows[] = {
	{ "WRITE", SHCA_OP_WRITE_ONLY, SHCA_ACCESS_REMOTE_WRITE },
	{ "WRITE imm", SHCA_OP_WRITE_ONLY_IMM, SHCA_ACCESS_REMOTE_WRITE },
	{ "READ", SHCA_OP_READ_REQUEST, SHCA_ACCESS_REMOTE_READ },
	{ "UC WRITE", SHCA_TRANSPORT_UC | SHCA_OP_WRITE_ONLY,
	  SHCA_ACCESS_REMOTE_WRITE },
};

static void access_desc(const struct access_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(access, access_rows, access_desc);

/* The whole range, by that key, for what the request does with it */
static void resp_rx_checks_the_right_of_its_operation(struct kunit *test)
{
	const struct access_row *row = test->param_value;
	struct fx *fx = test->priv;
	struct shca_resp_attr attr;

	fx_resp_attr(&attr);
	attr.transport = row->opcode & SHCA_TRANSPORT_MASK;
	fx_resp_start(fx, &attr);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, row->opcode, P0, 8), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->nr_check, 1u);
	KUNIT_EXPECT_EQ(test, fx->last_access, row->access);
	KUNIT_EXPECT_EQ(test, fx->last_va, 0x20000ull);
	KUNIT_EXPECT_EQ(test, fx->last_rkey, 0x4321u);
	KUNIT_EXPECT_EQ(test, fx->last_len, 8u);
}

static void resp_read_again_checks_its_right_again(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i;

	for (i = 0; i < 2; i++) {
		fx->last_access = 0;
		fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0, 8);
		KUNIT_EXPECT_EQ(test, fx->nr_check, i + 1);
		KUNIT_EXPECT_EQ(test, fx->last_access, SHCA_ACCESS_REMOTE_READ);
		KUNIT_EXPECT_TRUE(test, fx_answer(fx));
	}
	fx->check = SHCA_MEM_ACCESS;
	fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0, 8);
	KUNIT_EXPECT_FALSE(test, fx_answer(fx));
}

/* ---- resources for READs and their like -------------------------------------- */

struct none_row {
	const char *name;
	u8 opcode;
};

static const struct none_row none_rows[] = {
	{ "READ", SHCA_OP_READ_REQUEST },
	{ "CmpSwap", SHCA_OP_CMP_SWAP },
	{ "FetchAdd", SHCA_OP_FETCH_ADD },
	{ "FLUSH", SHCA_OP_FLUSH },
	{ "ATOMIC WRITE", SHCA_OP_ATOMIC_WRITE },
};

static void none_desc(const struct none_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(none, none_rows, none_desc);

/* IBTA 9.7.5.2.4: with no resources for it, the request is invalid. */
static void resp_rx_with_max_dest_rd_atomic_0_is_invalid(struct kunit *test)
{
	const struct none_row *row = test->param_value;
	struct fx *fx = test->priv;
	struct shca_resp_attr attr;

	/* records of a former life count for nothing */
	KUNIT_ASSERT_EQ(test, fx_rx_op(fx, row->opcode, P0, 8), SHCA_RX_OK);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	fx->nr_flush = 0;
	fx->nr_atomic_write = 0;
	fx->nr_atomic = 0;
	fx_resp_attr(&attr);
	attr.max_dest_rd_atomic = 0;
	fx_resp_start(fx, &attr);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, row->opcode, P0, 8),
			SHCA_RX_INVALID);
	KUNIT_EXPECT_EQ(test, fx->nr_flush + fx->nr_atomic_write +
			fx->nr_atomic, 0u);
	fx_expect_ack(test, P0, NAK(SHCA_NAK_INVALID));
}

/* The records are the caller's storage: no attribute makes more of them. */
static void resp_start_bounds_records_by_their_ring(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_resp_attr attr;
	u32 i;

	fx_resp_attr(&attr);
	attr.max_dest_rd_atomic = FX_RDS + 1;
	fx_resp_start(fx, &attr);
	for (i = 0; i < FX_RDS; i++)
		KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_READ_REQUEST,
					       P0 + i, 8), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0 + FX_RDS,
				       8), SHCA_RX_INVALID);
}

/* The former use of a record does not make it one that may go. */
static void resp_record_used_again_is_a_new_one(struct kunit *test)
{
	const struct none_row *row = test->param_value;
	struct fx *fx = test->priv;
	struct shca_resp_attr attr;
	u32 i;

	fx_resp_attr(&attr);
	attr.access |= SHCA_ACCESS_FLUSH_GLOBAL;
	fx_resp_start(fx, &attr);
	for (i = 0; i < 2 * FX_RDS; i++) {
		KUNIT_ASSERT_EQ(test, fx_rx_op(fx, i & 1 ? SHCA_OP_FLUSH :
					       SHCA_OP_FETCH_ADD, P0 + i, 8),
				SHCA_RX_OK);
		KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	}
	for (i = 0; i < 4; i++)
		KUNIT_ASSERT_EQ(test, fx_rx_op(fx, row->opcode,
					       P0 + 2 * FX_RDS + i, 8),
				SHCA_RX_OK);
	KUNIT_EXPECT_NE(test, fx_rx_op(fx, row->opcode, P0 + 2 * FX_RDS + 4, 8),
			SHCA_RX_OK);
	/* the first of them is what it is, and nothing of before */
	fx_rx_op(fx, SHCA_OP_FLUSH, P0 + 2 * FX_RDS, 8);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, P0 + 2 * FX_RDS);
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode == SHCA_OP_ATOMIC_ACK,
			row->opcode == SHCA_OP_CMP_SWAP ||
			row->opcode == SHCA_OP_FETCH_ADD);
}

/* ---- lengths ------------------------------------------------------------------ */

struct long_row {
	const char *name;
	u8 transport;
	u8 opcode;
	u32 len;
	enum shca_verdict rx;
};

/* IBTA 9.7.6, C9-88: 2^31 bytes, and no more */
static const struct long_row long_rows[] = {
	{ "WRITE of 2^31", SHCA_TRANSPORT_RC, SHCA_OP_WRITE_FIRST,
	  0x80000000u, SHCA_RX_OK },
	{ "WRITE of 2^31 + 1", SHCA_TRANSPORT_RC, SHCA_OP_WRITE_FIRST,
	  0x80000001u, SHCA_RX_INVALID },
	{ "READ of 2^31", SHCA_TRANSPORT_RC, SHCA_OP_READ_REQUEST,
	  0x80000000u, SHCA_RX_OK },
	{ "READ of 2^31 + 1", SHCA_TRANSPORT_RC, SHCA_OP_READ_REQUEST,
	  0x80000001u, SHCA_RX_INVALID },
	{ "UC WRITE of 2^31", SHCA_TRANSPORT_UC, SHCA_OP_WRITE_FIRST,
	  0x80000000u, SHCA_RX_OK },
	{ "UC WRITE of 2^31 + 1", SHCA_TRANSPORT_UC, SHCA_OP_WRITE_FIRST,
	  0x80000001u, SHCA_RX_INVALID },
};

static void long_desc(const struct long_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(long, long_rows, long_desc);

static void resp_rx_of_longest_message_is_bounded(struct kunit *test)
{
	const struct long_row *row = test->param_value;
	struct fx *fx = test->priv;
	struct shca_resp_attr attr;
	struct shca_pkt pkt;

	fx_resp_attr(&attr);
	attr.transport = row->transport;
	fx_resp_start(fx, &attr);
	fx_request(&pkt, row->transport | row->opcode, P0, FX_MTU);
	if (row->opcode == SHCA_OP_READ_REQUEST)
		pkt.paylen = 0;
	pkt.reth.len = row->len;
	KUNIT_EXPECT_EQ(test, fx_rx(fx, &pkt), row->rx);
	if (row->rx != SHCA_RX_OK) {
		KUNIT_EXPECT_EQ(test, fx->nr_check + fx->nr_write, 0u);
		return;
	}
	KUNIT_EXPECT_EQ(test, fx->nr_check, 1u);
}

/* ---- runs of middle packets ----------------------------------------------------- */

static void begin_send(struct fx *fx, u32 recv_len)
{
	fx->recv_len = recv_len;
	fx_rx_op(fx, SHCA_OP_SEND_FIRST, P0, FX_MTU);
}

static void make_run(struct shca_pkt *pkt, u8 opcode, u32 packets)
{
	fx_request(pkt, opcode, P0 + 1, packets * FX_MTU);
	pkt->span = packets - 1;
	pkt->unit = FX_MTU;
	pkt->stride = FX_MTU;
}

/* The whole run has to fit: of one that does not, nothing is placed. */
static void resp_run_longer_than_receive_is_refused(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	begin_send(fx, 3 * FX_MTU);
	make_run(&pkt, SHCA_OP_SEND_MIDDLE, 3);
	KUNIT_EXPECT_FALSE(test, shca_resp_takes_run(&fx->resp, &pkt));
	make_run(&pkt, SHCA_OP_SEND_MIDDLE, 2);
	KUNIT_EXPECT_TRUE(test, shca_resp_takes_run(&fx->resp, &pkt));
	make_run(&pkt, SHCA_OP_SEND_MIDDLE, 3);
	KUNIT_EXPECT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_INVALID);
	KUNIT_EXPECT_EQ(test, fx->nr_scatter, 1u);
	KUNIT_ASSERT_TRUE(test, fx->out.has_wc);
	KUNIT_EXPECT_EQ(test, fx->out.wc.status, SHCA_WC_LOC_LEN_ERR);
}

static void resp_run_that_fills_receive_is_placed(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	begin_send(fx, 4 * FX_MTU);
	make_run(&pkt, SHCA_OP_SEND_MIDDLE, 3);
	KUNIT_EXPECT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx->last_off, FX_MTU);
	KUNIT_EXPECT_EQ(test, fx->last_len, 3 * FX_MTU);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_LAST, P0 + 4, 1),
			SHCA_RX_INVALID);
}

/* A run of a WRITE leaves something for the last packet. */
static void resp_run_up_to_the_end_of_a_write_is_not_taken(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	fx_request(&pkt, SHCA_OP_WRITE_FIRST, P0, FX_MTU);
	pkt.reth.len = 4 * FX_MTU + 1;
	KUNIT_ASSERT_EQ(test, fx_rx(fx, &pkt), SHCA_RX_OK);
	make_run(&pkt, SHCA_OP_WRITE_MIDDLE, 3);
	KUNIT_EXPECT_TRUE(test, shca_resp_takes_run(&fx->resp, &pkt));
	fx->resp.msg.left--;
	KUNIT_EXPECT_FALSE(test, shca_resp_takes_run(&fx->resp, &pkt));
}

static void resp_run_is_taken_in_its_place_only(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	begin_send(fx, 10 * FX_MTU);
	make_run(&pkt, SHCA_OP_SEND_MIDDLE, 3);
	KUNIT_EXPECT_TRUE(test, shca_resp_takes_run(&fx->resp, &pkt));
	fx->resp.recv = SHCA_RECV_EMPTY;
	KUNIT_EXPECT_FALSE(test, shca_resp_takes_run(&fx->resp, &pkt));
	fx->resp.recv = SHCA_RECV_OK;
	fx->resp.msg.op = 0;
	KUNIT_EXPECT_FALSE(test, shca_resp_takes_run(&fx->resp, &pkt));
	fx->resp.msg.op = SHCA_OPF_SEND;
	fx->resp.msg.left = 100 * FX_MTU;
	pkt.opcode = SHCA_OP_WRITE_MIDDLE;
	KUNIT_EXPECT_FALSE(test, shca_resp_takes_run(&fx->resp, &pkt));
	pkt.opcode = SHCA_OP_SEND_MIDDLE;
	pkt.opcode |= SHCA_TRANSPORT_XRC;
	KUNIT_EXPECT_FALSE(test, shca_resp_takes_run(&fx->resp, &pkt));
	pkt.opcode = SHCA_OP_SEND_MIDDLE;
	shca_resp_fail(&fx->resp);
	KUNIT_EXPECT_FALSE(test, shca_resp_takes_run(&fx->resp, &pkt));
}

/* ---- receiver not ready ---------------------------------------------------------- */

/* IBTA 9.7.5.2.8: the wait is the responder's own minimum. */
static void resp_rnr_nak_tells_min_rnr_timer(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_resp_attr attr;
	u32 code;

	fx_resp_attr(&attr);
	fx->recvs = 0;
	for (code = 0; code < 32; code++) {
		attr.min_rnr_timer = code;
		fx_resp_start(fx, &attr);
		KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0, 8),
				SHCA_RX_RNR);
		fx_expect_ack(test, P0, SHCA_AETH_RNR | code);
	}
}

static void resp_not_yet_is_receiver_not_ready(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_resp_attr attr;

	shca_resp_not_yet(&fx->resp, fx->resp.epsn);
	fx_expect_ack(test, P0, SHCA_AETH_RNR | 12);
	/* what is ahead of it is dropped silently (IBTA 9.7.5.1.2) */
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + 1, 8),
			SHCA_RX_OUT_OF_SEQ);
	KUNIT_EXPECT_FALSE(test, fx_answer(fx));

	/* XRC as well; a NAK that is owed says more; UC and UD have none */
	fx_resp_attr(&attr);
	attr.transport = SHCA_TRANSPORT_XRC;
	fx_resp_start(fx, &attr);
	shca_resp_not_yet(&fx->resp, fx->resp.epsn);
	fx_expect_ack(test, P0, SHCA_AETH_RNR | 12);
	attr.transport = SHCA_TRANSPORT_RC;
	fx_resp_start(fx, &attr);
	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + 1, 8);
	shca_resp_not_yet(&fx->resp, fx->resp.epsn);
	fx_expect_ack(test, P0, NAK(SHCA_NAK_PSN_SEQ));
	attr.transport = SHCA_TRANSPORT_UC;
	fx_resp_start(fx, &attr);
	shca_resp_not_yet(&fx->resp, fx->resp.epsn);
	KUNIT_EXPECT_FALSE(test, fx_answer(fx));
	attr.transport = SHCA_TRANSPORT_RC;
	fx_resp_start(fx, &attr);
	shca_resp_fail(&fx->resp);
	shca_resp_not_yet(&fx->resp, fx->resp.epsn);
	KUNIT_EXPECT_FALSE(test, fx_answer(fx));
}

/* ---- duplicates -------------------------------------------------------------------- */

struct mixed_row {
	const char *name;
	u8 first;
	u8 again;
	bool answered;
};

static const struct mixed_row mixed_rows[] = {
	{ "READ as atomic", SHCA_OP_READ_REQUEST, SHCA_OP_FETCH_ADD, false },
	{ "READ as FLUSH", SHCA_OP_READ_REQUEST, SHCA_OP_FLUSH, false },
	{ "atomic as READ", SHCA_OP_FETCH_ADD, SHCA_OP_READ_REQUEST, false },
	{ "atomic as FLUSH", SHCA_OP_FETCH_ADD, SHCA_OP_FLUSH, false },
	{ "FLUSH as READ", SHCA_OP_FLUSH, SHCA_OP_READ_REQUEST, false },
	{ "FLUSH as atomic", SHCA_OP_FLUSH, SHCA_OP_CMP_SWAP, false },
	{ "READ", SHCA_OP_READ_REQUEST, SHCA_OP_READ_REQUEST, true },
	{ "atomic", SHCA_OP_FETCH_ADD, SHCA_OP_FETCH_ADD, true },
	{ "FLUSH", SHCA_OP_FLUSH, SHCA_OP_FLUSH, true },
};

static void mixed_desc(const struct mixed_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(mixed, mixed_rows, mixed_desc);

/* C9-105: a duplicate is answered by what is on record for it, or dropped. */
static void resp_rx_again_as_another_is_dropped(struct kunit *test)
{
	const struct mixed_row *row = test->param_value;
	struct fx *fx = test->priv;

	KUNIT_ASSERT_EQ(test, fx_rx_op(fx, row->first, P0, 8), SHCA_RX_OK);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, row->again, P0, 8),
			SHCA_RX_DUPLICATE);
	KUNIT_EXPECT_EQ(test, fx_answer(fx), row->answered);
}

/* What is on record has its PSNs and not the next one, which was another request's. */
static void resp_rx_again_behind_a_record_is_dropped(struct kunit *test)
{
	static const u8 ops[] = { SHCA_OP_FETCH_ADD, SHCA_OP_FLUSH,
				  SHCA_OP_ATOMIC_WRITE, SHCA_OP_READ_REQUEST };
	struct fx *fx = test->priv;
	u32 i, psn = P0;

	for (i = 0; i < ARRAY_SIZE(ops); i++, psn += 2) {
		KUNIT_ASSERT_EQ(test, fx_rx_op(fx, ops[i], psn, 8), SHCA_RX_OK);
		KUNIT_ASSERT_TRUE(test, fx_answer(fx));
		KUNIT_ASSERT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_ONLY, psn + 1,
					       8), SHCA_RX_OK);
		KUNIT_EXPECT_EQ(test, fx_rx_op(fx, ops[i], psn + 1, 8),
				SHCA_RX_DUPLICATE);
		fx_expect_silence(test);
	}
}

/* Nor does it matter that all records are of its kind, and that a READ of any could be of it. */
static void resp_rx_again_behind_all_records_is_dropped(struct kunit *test)
{
	static const struct {
		u8 op;
		u32 len, again;
	} rows[] = {
		{ SHCA_OP_FETCH_ADD, 8, 8 }, { SHCA_OP_FLUSH, 8, 8 },
		{ SHCA_OP_ATOMIC_WRITE, 8, 8 }, { SHCA_OP_READ_REQUEST, 0, FX_MTU },
	};
	struct fx *fx = test->priv;
	u32 i, j, psn = P0;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		for (j = 0; j < FX_RDS; j++, psn++) {
			KUNIT_ASSERT_EQ(test, fx_rx_op(fx, rows[i].op, psn, rows[i].len),
					SHCA_RX_OK);
			KUNIT_ASSERT_TRUE(test, fx_answer(fx));
		}
		KUNIT_ASSERT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_ONLY, psn, 8), SHCA_RX_OK);
		KUNIT_EXPECT_EQ(test, fx_rx_op(fx, rows[i].op, psn, rows[i].again),
				SHCA_RX_DUPLICATE);
		fx_expect_silence(test);
		psn++;
	}
}

/* A duplicate of nothing names no memory (C9-88), as the first one did not. */
static void resp_read_of_nothing_again_checks_no_memory(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i;

	for (i = 0; i < 2; i++) {
		fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0, 0);
		KUNIT_ASSERT_TRUE(test, fx_answer(fx));
		KUNIT_EXPECT_EQ(test, fx->pkt.opcode, SHCA_OP_READ_RESP_ONLY);
	}
	KUNIT_EXPECT_EQ(test, fx->nr_check, 0u);
}

/* A19.4.1: the range, or all of the region; no other level is known. */
static void resp_flush_level_is_range_or_region(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;
	u32 level;

	for (level = 0; level < 4; level++) {
		fx_request(&pkt, SHCA_OP_FLUSH, P0 + level, 8);
		pkt.feth.level = level;
		KUNIT_EXPECT_EQ(test, fx_rx(fx, &pkt), level < 2 ? SHCA_RX_OK :
				level == 2 ? SHCA_RX_INVALID : SHCA_RX_STATE);
	}
	KUNIT_EXPECT_EQ(test, fx->nr_flush, 2u);
}

/* Behind READs, which a requester counts, FLUSH and its like wait; READs do not. */
static void resp_bare_behind_reads_waits_for_an_answer(struct kunit *test)
{
	const struct none_row *row = test->param_value;
	bool bare = row->opcode == SHCA_OP_FLUSH ||
		    row->opcode == SHCA_OP_ATOMIC_WRITE;
	struct fx *fx = test->priv;
	u32 i;

	for (i = 0; i < 4; i++)
		KUNIT_ASSERT_EQ(test, fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0 + i,
					       8), SHCA_RX_OK);
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, row->opcode, P0 + 4, 8),
			bare ? SHCA_RX_BUSY : SHCA_RX_INVALID);
}

static void resp_room_is_for_as_many_as_agreed(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_resp_attr attr;
	u32 i;

	KUNIT_EXPECT_TRUE(test, shca_resp_has_room(&fx->resp));
	for (i = 0; i < 4; i++)
		fx_rx_op(fx, SHCA_OP_FLUSH, P0 + i, 8);
	KUNIT_EXPECT_FALSE(test, shca_resp_has_room(&fx->resp));
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_TRUE(test, shca_resp_has_room(&fx->resp));
	/* its record is taken, and then memory has to be waited for: there is room */
	fx->bare = SHCA_MEM_RETRY;
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_FLUSH, P0 + 4, 8),
			SHCA_RX_RETRY);
	KUNIT_EXPECT_TRUE(test, shca_resp_has_room(&fx->resp));
	/* none was agreed upon: whatever was answered in a life before */
	fx_resp_attr(&attr);
	attr.max_dest_rd_atomic = 0;
	fx_resp_start(fx, &attr);
	fx->rd[0].answered = true;
	KUNIT_EXPECT_FALSE(test, shca_resp_has_room(&fx->resp));
}

struct wait_row {
	u32 timer;
	u8 codes[10];
};

/* IBTA table 45: four codes further is four times as long; 31 is the longest but 0 */
static const struct wait_row wait_rows[] = {
	{ 0, { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 } },
	{ 1, { 1, 5, 9, 13, 17, 21, 25, 29, 31, 31 } },
	{ 12, { 12, 16, 20, 24, 28, 31, 31, 31, 31, 31 } },
	{ 31, { 31, 31, 31, 31, 31, 31, 31, 31, 31, 31 } },
};

static void wait_desc(const struct wait_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "min_rnr_timer %u", row->timer);
}

KUNIT_ARRAY_PARAM(wait, wait_rows, wait_desc);

/* A requester that comes back before its memory is there is told to wait longer. */
static void resp_not_yet_again_takes_longer(struct kunit *test)
{
	const struct wait_row *row = test->param_value;
	struct fx *fx = test->priv;
	struct shca_resp_attr attr;
	u32 i;

	fx_resp_attr(&attr);
	attr.min_rnr_timer = row->timer;
	fx_resp_start(fx, &attr);
	for (i = 0; i < 50; i++) {
		shca_resp_not_yet(&fx->resp, P0);
		fx_expect_ack(test, P0, RNR(row->codes[min_t(u32, i, 9)]));
		KUNIT_EXPECT_EQ(test, fx->resp.stats.rnr_naks_sent, i + 1ull);
		KUNIT_EXPECT_EQ(test, fx->resp.stats.naks_sent, 0ull);
	}
	/* executed, and another packet begins anew; it is acknowledged unasked */
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0, 8),
			SHCA_RX_OK);
	fx_expect_ack(test, P0, ACK);
	shca_resp_not_yet(&fx->resp, P0 + 1);
	fx_expect_ack(test, P0 + 1, RNR(row->codes[0]));
}

/* Neither expected nor on record: it is nobody's, and what is owed stands. */
static void resp_not_yet_of_another_psn_is_nothing(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_rx_op(fx, SHCA_OP_READ_REQUEST, P0, 8);
	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	fx_rx_op(fx, SHCA_OP_SEND_ONLY, P0 + 1, 8);
	shca_resp_not_yet(&fx->resp, P0 + 1);
	shca_resp_not_yet(&fx->resp, P0 + 9);
	fx_expect_silence(test);
	fx_rx_asking(fx, SHCA_OP_SEND_ONLY, P0 + 2, 8);
	shca_resp_not_yet(&fx->resp, P0 + 1);
	shca_resp_not_yet(&fx->resp, P0);
	fx_expect_ack(test, P0 + 2, ACK);
}

/*
 * After a wait for a receive request, acknowledge as the requester has asked.  Only
 * for memory the requester cannot know when it has come.
 */
static void resp_rnr_for_a_receive_is_acknowledged_as_asked(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_resp_attr attr;
	u32 before;

	for (before = 0; before < 2; before++) {
		fx_resp_attr(&attr);
		attr.rq_psn = 0;
		fx_resp_start(fx, &attr);
		if (before) {
			shca_resp_not_yet(&fx->resp, 0);
			fx_expect_ack(test, 0, RNR(12));
			fx_rx_op(fx, SHCA_OP_SEND_ONLY, 0, 8);
			fx_expect_ack(test, 0, ACK);
		}
		fx->recvs = 0;
		KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_ONLY, before, 8),
				SHCA_RX_RNR);
		fx_expect_ack(test, before, RNR(12));
		fx->recvs = 9;
		KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_SEND_ONLY, before, 8),
				SHCA_RX_OK);
		fx_expect_silence(test);
	}
}

/* Found while its bytes are placed, absent memory changes as little as before. */
static void resp_write_with_memory_absent_changes_nothing(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx->write = SHCA_MEM_RETRY;
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_WRITE_ONLY, P0, 8),
			SHCA_RX_RETRY);
	KUNIT_EXPECT_EQ(test, fx->resp.state, SHCA_SIDE_READY);
	KUNIT_EXPECT_EQ(test, fx->resp.epsn, P0);
	fx_expect_silence(test);
	fx->write = SHCA_MEM_OK;
	KUNIT_EXPECT_EQ(test, fx_rx_op(fx, SHCA_OP_WRITE_ONLY, P0, 8),
			SHCA_RX_OK);
}

static struct kunit_case remote_access_cases[] = {
	KUNIT_CASE(resp_read_of_nothing_again_checks_no_memory),
	KUNIT_CASE(resp_flush_level_is_range_or_region),
	KUNIT_CASE_PARAM(resp_bare_behind_reads_waits_for_an_answer,
			 none_gen_params),
	KUNIT_CASE(resp_room_is_for_as_many_as_agreed),
	KUNIT_CASE_PARAM(resp_not_yet_again_takes_longer, wait_gen_params),
	KUNIT_CASE(resp_not_yet_of_another_psn_is_nothing),
	KUNIT_CASE(resp_rnr_for_a_receive_is_acknowledged_as_asked),
	KUNIT_CASE(resp_write_with_memory_absent_changes_nothing),
	KUNIT_CASE(resp_rx_again_behind_a_record_is_dropped),
	KUNIT_CASE(resp_rx_again_behind_all_records_is_dropped),
	KUNIT_CASE(resp_flush_needs_each_right_that_it_names),
	KUNIT_CASE_PARAM(resp_rx_checks_the_right_of_its_operation,
			 access_gen_params),
	KUNIT_CASE(resp_read_again_checks_its_right_again),
	KUNIT_CASE_PARAM(resp_record_used_again_is_a_new_one, none_gen_params),
	KUNIT_CASE_PARAM(resp_rx_with_max_dest_rd_atomic_0_is_invalid,
			 none_gen_params),
	KUNIT_CASE(resp_start_bounds_records_by_their_ring),
	KUNIT_CASE_PARAM(resp_rx_of_longest_message_is_bounded,
			 long_gen_params),
	KUNIT_CASE(resp_run_longer_than_receive_is_refused),
	KUNIT_CASE(resp_run_that_fills_receive_is_placed),
	KUNIT_CASE(resp_run_up_to_the_end_of_a_write_is_not_taken),
	KUNIT_CASE(resp_run_is_taken_in_its_place_only),
	KUNIT_CASE(resp_rnr_nak_tells_min_rnr_timer),
	KUNIT_CASE(resp_not_yet_is_receiver_not_ready),
	KUNIT_CASE_PARAM(resp_rx_again_as_another_is_dropped,
			 mixed_gen_params),
	{}
};

static struct kunit_suite remote_access_suite = {
	.name = "softhca_remote_access",
	.init = fx_init,
	.test_cases = remote_access_cases,
};

kunit_test_suites(&remote_access_suite);
