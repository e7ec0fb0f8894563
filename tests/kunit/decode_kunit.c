// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Requests out of rings: what is taken over, and what is malformed (core/requester/decode.h). */
#include "fixture.h"

#include "../../kernel/core/requester/decode.h"
#include "../../kernel/core/opcode.h"
#include "../../kernel/core/wr_op.h"

#define SGES	4
#define INLINE	48

/* A slot, its queue, and what is made of them. */
struct decode_slot {
	struct shca_decode queue;
	struct shca_send_wqe wqe;
	struct shca_sge data[SGES + 1];
	union {
		struct shca_send_wr wr;
		u8 room[sizeof(struct shca_send_wr) + (SGES + 1) * sizeof(struct shca_sge)];
	};
};

static void slot_make(struct decode_slot *s, u8 transport, u8 opcode)
{
	u32 i;

	memset(s, 0, sizeof(*s));
	s->queue = (struct shca_decode){
		.max_sge = SGES,
		.max_inline = INLINE,
		.transport = transport,
		.is_user = true,
	};
	s->wqe.wr_id = 0x1122334455667788ull;
	s->wqe.opcode = opcode;
	for (i = 0; i <= SGES; i++)
		s->data[i] = (struct shca_sge){ 0x1000ull * i, 10 + i, 7 * i };
}

static bool slot_decode(struct decode_slot *s)
{
	/* what was there before is gone */
	memset(s->room, 0xff, sizeof(s->room));
	return shca_send_decode(&s->queue, &s->wqe, s->data, &s->wr);
}

static bool slot_is_refused(struct decode_slot *s)
{
	return !slot_decode(s) && s->wr.preset == SHCA_WC_LOC_QP_OP_ERR &&
	       s->wr.vendor_err == SHCA_VERR_WQE && s->wr.wr_id == s->wqe.wr_id;
}

static void decode_takes_segments(struct kunit *test)
{
	struct decode_slot s;

	slot_make(&s, SHCA_TRANSPORT_RC, SHCA_WR_SEND_WITH_IMM);
	s.wqe.num_sge = SGES;
	s.wqe.flags = SHCA_SEND_FENCE | SHCA_SEND_SOLICITED;
	s.wqe.imm_data = 0xabcdef01;
	KUNIT_EXPECT_TRUE(test, slot_decode(&s));
	KUNIT_EXPECT_EQ(test, s.wr.preset, SHCA_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, s.wr.wr_id, s.wqe.wr_id);
	KUNIT_EXPECT_EQ(test, s.wr.opcode, SHCA_WR_SEND_WITH_IMM);
	KUNIT_EXPECT_EQ(test, s.wr.flags, s.wqe.flags);
	KUNIT_EXPECT_EQ(test, s.wr.imm, 0xabcdef01u);
	KUNIT_EXPECT_EQ(test, s.wr.num_sge, SGES);
	KUNIT_EXPECT_EQ(test, s.wr.length, 10u + 11 + 12 + 13);
	KUNIT_EXPECT_EQ(test, memcmp(s.wr.sge, s.data, SGES * sizeof(s.data[0])), 0);
	KUNIT_EXPECT_NULL(test, s.wr.inline_data);
	KUNIT_EXPECT_NULL(test, s.wr.priv);
	s.queue.sig_all = true;
	KUNIT_EXPECT_TRUE(test, slot_decode(&s));
	KUNIT_EXPECT_EQ(test, s.wr.flags, s.wqe.flags | SHCA_SEND_SIGNALED);
	s.wqe.num_sge = SGES + 1;
	KUNIT_EXPECT_TRUE(test, slot_is_refused(&s));
	s.wqe.num_sge = 1;
	s.wqe.flags = SHCA_SEND_INLINE << 1;
	KUNIT_EXPECT_TRUE(test, slot_is_refused(&s));
	s.wqe.flags = 0;
	s.wqe.inline_len = 1;
	KUNIT_EXPECT_TRUE(test, slot_is_refused(&s));
}

/* Longer than any message is told as such, and of UD the address is found nevertheless. */
static void decode_tells_of_what_is_too_long(struct kunit *test)
{
	struct decode_slot s;

	slot_make(&s, SHCA_TRANSPORT_RC, SHCA_WR_SEND);
	s.wqe.num_sge = 2;
	s.data[0].length = SHCA_MAX_MSG - 1;
	s.data[1].length = 1;
	KUNIT_EXPECT_TRUE(test, slot_decode(&s));
	KUNIT_EXPECT_EQ(test, s.wr.preset, SHCA_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, s.wr.length, SHCA_MAX_MSG);
	s.data[1].length = 2;
	KUNIT_EXPECT_TRUE(test, slot_decode(&s));
	KUNIT_EXPECT_EQ(test, s.wr.preset, SHCA_WC_LOC_LEN_ERR);
	KUNIT_EXPECT_EQ(test, s.wr.vendor_err, SHCA_VERR_LENGTH);
	KUNIT_EXPECT_EQ(test, s.wr.length, 0u);
}

static void decode_leaves_inline_data_in_its_slot(struct kunit *test)
{
	struct decode_slot s;

	slot_make(&s, SHCA_TRANSPORT_RC, SHCA_WR_RDMA_WRITE);
	s.wqe.flags = SHCA_SEND_INLINE;
	s.wqe.inline_len = INLINE;
	s.wqe.rdma.remote_addr = 0x123456789abull;
	s.wqe.rdma.rkey = 0x456;
	KUNIT_EXPECT_TRUE(test, slot_decode(&s));
	KUNIT_EXPECT_EQ(test, s.wr.length, INLINE);
	KUNIT_EXPECT_TRUE(test, s.wr.inline_data == s.data);
	KUNIT_EXPECT_EQ(test, s.wr.num_sge, 0);
	KUNIT_EXPECT_EQ(test, s.wr.rdma.remote_addr, 0x123456789abull);
	KUNIT_EXPECT_EQ(test, s.wr.rdma.rkey, 0x456u);
	s.wqe.inline_len = INLINE + 1;
	KUNIT_EXPECT_TRUE(test, slot_is_refused(&s));
	s.wqe.inline_len = 0;
	s.wqe.num_sge = 1;
	KUNIT_EXPECT_TRUE(test, slot_is_refused(&s));
	s.wqe.num_sge = 0;
	s.wqe.rdma.reserved = 1;
	KUNIT_EXPECT_TRUE(test, slot_is_refused(&s));
}

static void decode_knows_each_form(struct kunit *test)
{
	struct decode_slot s;

	slot_make(&s, SHCA_TRANSPORT_RC, SHCA_WR_ATOMIC_CMP_AND_SWP);
	s.wqe.rdma.remote_addr = 0x1000;
	s.wqe.rdma.compare_add = 0x22ull << 40;
	s.wqe.rdma.swap = 0x33ull << 40;
	s.wqe.rdma.rkey = 0x44;
	KUNIT_EXPECT_TRUE(test, slot_decode(&s));
	KUNIT_EXPECT_EQ(test, s.wr.atomic.remote_addr, 0x1000ull);
	KUNIT_EXPECT_EQ(test, s.wr.atomic.compare_add, 0x22ull << 40);
	KUNIT_EXPECT_EQ(test, s.wr.atomic.swap, 0x33ull << 40);
	KUNIT_EXPECT_EQ(test, s.wr.atomic.rkey, 0x44u);

	slot_make(&s, SHCA_TRANSPORT_RC, SHCA_WR_REG_MR);
	s.wqe.rdma.compare_add = 0x55;
	s.wqe.rdma.rkey = 0x66;
	s.wqe.rdma.swap = 0x77;
	KUNIT_EXPECT_TRUE(test, slot_is_refused(&s));
	s.queue.is_user = false;
	KUNIT_EXPECT_TRUE(test, slot_decode(&s));
	KUNIT_EXPECT_EQ(test, s.wr.reg.key, 0x55u);
	KUNIT_EXPECT_EQ(test, s.wr.reg.new_key, 0x66u);
	KUNIT_EXPECT_EQ(test, s.wr.reg.access, 0x77u);

	slot_make(&s, SHCA_TRANSPORT_RC, SHCA_WR_LOCAL_INV);
	s.wqe.imm_data = 0x88;
	KUNIT_EXPECT_TRUE(test, slot_decode(&s));
	KUNIT_EXPECT_EQ(test, s.wr.inv_rkey, 0x88u);
	/* the last one of a process, and of nobody */
	s.wqe.opcode = SHCA_WR_KERNEL - 1;
	KUNIT_EXPECT_TRUE(test, slot_decode(&s));
}

static void decode_of_a_bind(struct kunit *test)
{
	struct decode_slot s;

	slot_make(&s, SHCA_TRANSPORT_RC, SHCA_WR_BIND_MW);
	s.wqe.bind.addr = 0x1000;
	s.wqe.bind.length = 0x2000;
	s.wqe.bind.mw_handle = 0x12345678;
	s.wqe.bind.mw_key = 0xaabbccdd;
	s.wqe.bind.mr_lkey = 0x99;
	s.wqe.bind.access = 3;
	KUNIT_EXPECT_TRUE(test, slot_decode(&s));
	KUNIT_EXPECT_EQ(test, s.wr.bind.addr, 0x1000ull);
	KUNIT_EXPECT_EQ(test, s.wr.bind.length, 0x2000ull);
	KUNIT_EXPECT_EQ(test, s.wr.bind.key, 0x123456ddu);
	KUNIT_EXPECT_EQ(test, s.wr.bind.mr_lkey, 0x99u);
	KUNIT_EXPECT_EQ(test, s.wr.bind.access, 3u);
	s.wqe.imm_data = 1;
	KUNIT_EXPECT_TRUE(test, slot_is_refused(&s));
	s.wqe.imm_data = 0;
	s.wqe.num_sge = 1;
	KUNIT_EXPECT_TRUE(test, slot_is_refused(&s));
	s.wqe.num_sge = 0;
	s.wqe.flags = SHCA_SEND_INLINE;
	KUNIT_EXPECT_TRUE(test, slot_is_refused(&s));
}

static void decode_of_a_flush(struct kunit *test)
{
	struct decode_slot s;

	slot_make(&s, SHCA_TRANSPORT_RC, SHCA_WR_FLUSH);
	s.wqe.flush.remote_addr = 0x1000;
	s.wqe.flush.length = 1ull << 33;
	s.wqe.flush.rkey = 0x44;
	s.wqe.flush.type = 0xff;
	s.wqe.flush.level = SHCA_FLUSH_LEVEL_RANGE;
	KUNIT_EXPECT_TRUE(test, slot_decode(&s));
	KUNIT_EXPECT_EQ(test, s.wr.flush.remote_addr, 0x1000ull);
	KUNIT_EXPECT_EQ(test, s.wr.flush.length, 1ull << 33);
	KUNIT_EXPECT_EQ(test, s.wr.flush.rkey, 0x44u);
	KUNIT_EXPECT_EQ(test, s.wr.flush.type, 0xffu);
	s.wqe.flush.level = SHCA_FLUSH_LEVEL_MR;
	KUNIT_EXPECT_TRUE(test, slot_decode(&s));
	KUNIT_EXPECT_EQ(test, s.wr.flush.level, SHCA_FLUSH_LEVEL_MR);
	KUNIT_EXPECT_EQ(test, s.wr.flush.length, 0ull);
	s.wqe.flush.level = 0xff;
	KUNIT_EXPECT_TRUE(test, slot_decode(&s));
	s.wqe.flush.level = 0x100;
	KUNIT_EXPECT_TRUE(test, slot_is_refused(&s));
	s.wqe.flush.level = 0;
	s.wqe.flush.type = 0x100;
	KUNIT_EXPECT_TRUE(test, slot_is_refused(&s));
	s.wqe.flush.type = 1;
	s.wqe.flush.reserved = 1;
	KUNIT_EXPECT_TRUE(test, slot_is_refused(&s));
	s.wqe.flush.reserved = 0;
	s.wqe.imm_data = 1;
	KUNIT_EXPECT_TRUE(test, slot_is_refused(&s));
}

static void decode_of_ud(struct kunit *test)
{
	struct decode_slot s;
	u32 i;

	slot_make(&s, SHCA_TRANSPORT_UD, SHCA_WR_SEND);
	s.wqe.ud.remote_qpn = 0xff123456;
	s.wqe.ud.remote_qkey = 0x89abcdef;
	KUNIT_EXPECT_TRUE(test, slot_decode(&s));
	KUNIT_EXPECT_EQ(test, s.wr.ud.remote_qpn, 0x123456u);
	KUNIT_EXPECT_EQ(test, s.wr.ud.remote_qkey, 0x89abcdefu);
	KUNIT_EXPECT_EQ(test, s.wr.rate_kbps, 0u);
	for (i = 0; i < 4; i++) {
		s.wqe.ud.reserved[i] = 1;
		KUNIT_EXPECT_TRUE(test, slot_is_refused(&s));
		s.wqe.ud.reserved[i] = 0;
	}
	s.wqe.ud.pkey_index = 1;
	KUNIT_EXPECT_TRUE(test, slot_is_refused(&s));
	s.queue.is_gsi = true;
	KUNIT_EXPECT_TRUE(test, slot_decode(&s));
}

static void decode_of_xrc(struct kunit *test)
{
	struct decode_slot s;

	slot_make(&s, SHCA_TRANSPORT_XRC, SHCA_WR_SEND);
	s.wqe.xrc_srqn = 0xff123456;
	KUNIT_EXPECT_TRUE(test, slot_decode(&s));
	KUNIT_EXPECT_EQ(test, s.wr.xrc_srqn, 0x123456u);
	s.queue.transport = SHCA_TRANSPORT_RC;
	KUNIT_EXPECT_TRUE(test, slot_is_refused(&s));
}

static void decode_of_a_receive(struct kunit *test)
{
	struct shca_recv_wqe wqe = { .wr_id = 5, .num_sge = 2 };
	struct shca_sge data[3] = { { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 9 } };
	struct shca_recv_wr wr;

	KUNIT_EXPECT_TRUE(test, shca_recv_decode(2, &wqe, data, &wr));
	KUNIT_EXPECT_EQ(test, wr.wr_id, 5ull);
	KUNIT_EXPECT_EQ(test, wr.num_sge, 2u);
	KUNIT_EXPECT_EQ(test, wr.length, 7u);
	KUNIT_EXPECT_EQ(test, memcmp(wr.sge, data, 2 * sizeof(data[0])), 0);
	data[0].length = ~0u;
	KUNIT_EXPECT_TRUE(test, shca_recv_decode(2, &wqe, data, &wr));
	KUNIT_EXPECT_EQ(test, wr.length, SHCA_MAX_MSG);
	wqe.num_sge = 3;
	KUNIT_EXPECT_FALSE(test, shca_recv_decode(2, &wqe, data, &wr));
	KUNIT_EXPECT_EQ(test, wr.num_sge, 0u);
	KUNIT_EXPECT_EQ(test, wr.length, 0u);
	wqe.num_sge = 1;
	wqe.reserved = 1;
	KUNIT_EXPECT_FALSE(test, shca_recv_decode(2, &wqe, data, &wr));
	KUNIT_EXPECT_EQ(test, wr.num_sge, 0u);
}

static struct kunit_case decode_cases[] = {
	KUNIT_CASE(decode_takes_segments),
	KUNIT_CASE(decode_tells_of_what_is_too_long),
	KUNIT_CASE(decode_leaves_inline_data_in_its_slot),
	KUNIT_CASE(decode_knows_each_form),
	KUNIT_CASE(decode_of_a_bind),
	KUNIT_CASE(decode_of_a_flush),
	KUNIT_CASE(decode_of_ud),
	KUNIT_CASE(decode_of_xrc),
	KUNIT_CASE(decode_of_a_receive),
	{}
};

static struct kunit_suite decode_suite = {
	.name = "softhca_decode",
	.test_cases = decode_cases,
};

kunit_test_suites(&decode_suite);
