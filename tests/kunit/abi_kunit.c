// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The layout of uapi/softhca-abi.h, field by field, written out a second time.  A
 * change of the header that moves a field fails here, not in a process that was
 * built before.  The numbers that must equal those of the verbs are here too.
 */
#include "fixture.h"

struct abi_row {
	const char *name;
	u32 offset;
	u32 expected;
};

#define AT(type, member, off) \
	{ #type "." #member, offsetof(struct type, member), off }

static const struct abi_row abi_rows[] = {
	AT(shca_sge, addr, 0),
	AT(shca_sge, length, 8),
	AT(shca_sge, lkey, 12),
	AT(shca_send_wqe, wr_id, 0),
	AT(shca_send_wqe, opcode, 8),
	AT(shca_send_wqe, num_sge, 9),
	AT(shca_send_wqe, flags, 10),
	AT(shca_send_wqe, imm_data, 12),
	AT(shca_send_wqe, inline_len, 16),
	AT(shca_send_wqe, xrc_srqn, 20),
	AT(shca_send_wqe, rdma.remote_addr, 24),
	AT(shca_send_wqe, rdma.compare_add, 32),
	AT(shca_send_wqe, rdma.swap, 40),
	AT(shca_send_wqe, rdma.rkey, 48),
	AT(shca_send_wqe, ud.ah, 24),
	AT(shca_send_wqe, ud.remote_qpn, 28),
	AT(shca_send_wqe, ud.remote_qkey, 32),
	AT(shca_send_wqe, bind.addr, 24),
	AT(shca_send_wqe, bind.mr_lkey, 48),
	AT(shca_send_wqe, flush.level, 48),
	AT(shca_recv_wqe, wr_id, 0),
	AT(shca_recv_wqe, num_sge, 8),
	AT(shca_cqe, wr_id, 0),
	AT(shca_cqe, timestamp, 8),
	AT(shca_cqe, status, 16),
	AT(shca_cqe, opcode, 17),
	AT(shca_cqe, vendor_err, 18),
	AT(shca_cqe, byte_len, 20),
	AT(shca_cqe, imm_data, 24),
	AT(shca_cqe, qp_num, 28),
	AT(shca_cqe, src_qp, 32),
	AT(shca_cqe, wc_flags, 36),
	AT(shca_cqe, pkey_index, 38),
	AT(shca_cqe, slid, 40),
	AT(shca_cqe, sl, 42),
	AT(shca_cqe, dlid_path_bits, 43),
	AT(shca_cqe, smac, 44),
	AT(shca_cqe, vlan, 50),
	AT(shca_cqe, tm_tag_lo, 40),
	AT(shca_cqe, tm_tag_hi, 44),
	AT(shca_cqe, tm_priv, 48),
	AT(shca_cqe, port, 52),
	AT(shca_cqe, seq, 60),
	AT(shca_cq_index, cons, 0),
	AT(shca_cq_index, arm, 64),
	AT(shca_qp_index, sq_prod, 0),
	AT(shca_qp_index, rq_prod, 64),
	AT(shca_qp_status, sq_cons, 0),
	AT(shca_qp_status, rq_cons, 4),
	AT(shca_qp_status, flags, 8),
	AT(shca_create_cq_resp, ring_off, 8),
	AT(shca_create_cq_resp, ring_len, 16),
	AT(shca_create_cq_resp, index_off, 24),
	AT(shca_create_cq_resp, entries, 32),
	AT(shca_create_qp_resp, ring_off, 8),
	AT(shca_create_qp_resp, ring_len, 16),
	AT(shca_create_qp_resp, status_off, 24),
	AT(shca_create_qp_resp, sq_start, 32),
	AT(shca_create_qp_resp, rq_start, 36),
	AT(shca_create_qp_resp, sq_entries, 40),
	AT(shca_create_qp_resp, rq_entries, 44),
	AT(shca_create_qp_resp, sq_stride, 48),
	AT(shca_create_qp_resp, rq_stride, 52),
	AT(shca_create_qp_resp, max_inline, 56),
	AT(shca_create_qp_resp, max_send_sge, 60),
	AT(shca_create_qp_resp, max_recv_sge, 64),
	AT(shca_srq_op, wr_id, 0),
	AT(shca_srq_op, recv_wr_id, 8),
	AT(shca_srq_op, tag, 16),
	AT(shca_srq_op, mask, 24),
	AT(shca_srq_op, sge, 32),
	AT(shca_srq_op, opcode, 48),
	AT(shca_srq_op, flags, 52),
	AT(shca_srq_op, unexpected_cnt, 56),
	AT(shca_srq_op, handle, 60),
};

static void abi_desc(const struct abi_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(abi, abi_rows, abi_desc);

static void abi_offset_of_field_is_fixed(struct kunit *test)
{
	const struct abi_row *row = test->param_value;

	KUNIT_EXPECT_EQ(test, row->offset, row->expected);
}

/* enum ibv_wr_opcode, ibv_send_flags, ibv_wc_flags, ibv_wc_status */
static void abi_numbers_equal_those_of_verbs(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, SHCA_WR_RDMA_WRITE, 0);
	KUNIT_EXPECT_EQ(test, SHCA_WR_RDMA_WRITE_WITH_IMM, 1);
	KUNIT_EXPECT_EQ(test, SHCA_WR_SEND, 2);
	KUNIT_EXPECT_EQ(test, SHCA_WR_SEND_WITH_IMM, 3);
	KUNIT_EXPECT_EQ(test, SHCA_WR_RDMA_READ, 4);
	KUNIT_EXPECT_EQ(test, SHCA_WR_ATOMIC_CMP_AND_SWP, 5);
	KUNIT_EXPECT_EQ(test, SHCA_WR_ATOMIC_FETCH_AND_ADD, 6);
	KUNIT_EXPECT_EQ(test, SHCA_WR_LOCAL_INV, 7);
	KUNIT_EXPECT_EQ(test, SHCA_WR_BIND_MW, 8);
	KUNIT_EXPECT_EQ(test, SHCA_WR_SEND_WITH_INV, 9);
	KUNIT_EXPECT_EQ(test, SHCA_SEND_FENCE, 1u);
	KUNIT_EXPECT_EQ(test, SHCA_SEND_SIGNALED, 2u);
	KUNIT_EXPECT_EQ(test, SHCA_SEND_SOLICITED, 4u);
	KUNIT_EXPECT_EQ(test, SHCA_SEND_INLINE, 8u);
	KUNIT_EXPECT_EQ(test, SHCA_WC_GRH, 1u);
	KUNIT_EXPECT_EQ(test, SHCA_WC_WITH_IMM, 2u);
	KUNIT_EXPECT_EQ(test, SHCA_WC_WITH_INV, 8u);
	KUNIT_EXPECT_EQ(test, SHCA_WC_WR_FLUSH_ERR, 5);
	KUNIT_EXPECT_EQ(test, SHCA_WC_BAD_RESP_ERR, 7);
	KUNIT_EXPECT_EQ(test, SHCA_WC_REM_INV_REQ_ERR, 9);
	KUNIT_EXPECT_EQ(test, SHCA_WC_REM_ACCESS_ERR, 10);
	KUNIT_EXPECT_EQ(test, SHCA_WC_REM_OP_ERR, 11);
	KUNIT_EXPECT_EQ(test, SHCA_WC_RETRY_EXC_ERR, 12);
	KUNIT_EXPECT_EQ(test, SHCA_WC_RNR_RETRY_EXC_ERR, 13);
	KUNIT_EXPECT_EQ(test, SHCA_WC_GENERAL_ERR, 21);
	KUNIT_EXPECT_EQ(test, SHCA_WC_RECV, 128);
	KUNIT_EXPECT_EQ(test, SHCA_WC_RECV_RDMA_WITH_IMM, 129);
}

static struct kunit_case abi_cases[] = {
	KUNIT_CASE_PARAM(abi_offset_of_field_is_fixed, abi_gen_params),
	KUNIT_CASE(abi_numbers_equal_those_of_verbs),
	{}
};

static struct kunit_suite abi_suite = {
	.name = "softhca_abi",
	.test_cases = abi_cases,
};

kunit_test_suites(&abi_suite);
