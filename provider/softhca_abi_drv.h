/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The commands of softhca as rdma-core sends them: the common part of
 * libibverbs, then the driver's part. softhca-abi.h defines the driver's part
 * once. It is accessed as .drv_payload, so nothing depends on the headers that
 * rdma-core generates.
 */
#ifndef SOFTHCA_ABI_DRV_H
#define SOFTHCA_ABI_DRV_H

#include <infiniband/kern-abi.h>

#if __has_include(<rdma/softhca-abi.h>)
#include <rdma/softhca-abi.h>
#include <rdma/softhca-fault.h>
#include <rdma/softhca-ops.h>
#else
#include <softhca-abi.h>
#include <softhca-fault.h>
#include <softhca-ops.h>
#endif

/* DECLARE_DRV_CMD would add these so that members need no .drv_payload. */
#define _STRUCT_shca_alloc_ucontext_req		struct {}
#define _STRUCT_shca_alloc_ucontext_resp	struct {}
#define _STRUCT_shca_create_cq_req		struct {}
#define _STRUCT_shca_create_cq_resp		struct {}
#define _STRUCT_shca_resize_cq_resp		struct {}
#define _STRUCT_shca_create_qp_req		struct {}
#define _STRUCT_shca_create_qp_resp		struct {}
#define _STRUCT_shca_modify_qp_req		struct {}
#define _STRUCT_shca_reg_mr_req			struct {}
#define _STRUCT_shca_create_srq_req		struct {}
#define _STRUCT_shca_create_srq_resp		struct {}
#define _STRUCT_shca_create_wq_req		struct {}
#define _STRUCT_shca_create_wq_resp		struct {}

DECLARE_DRV_CMD(shca_cmd_get_context, IB_USER_VERBS_CMD_GET_CONTEXT,
		shca_alloc_ucontext_req, shca_alloc_ucontext_resp);
DECLARE_DRV_CMD(shca_cmd_create_cq, IB_USER_VERBS_CMD_CREATE_CQ,
		shca_create_cq_req, shca_create_cq_resp);
DECLARE_DRV_CMD(shca_cmd_resize_cq, IB_USER_VERBS_CMD_RESIZE_CQ,
		empty, shca_resize_cq_resp);
DECLARE_DRV_CMD(shca_cmd_create_qp, IB_USER_VERBS_EX_CMD_CREATE_QP,
		shca_create_qp_req, shca_create_qp_resp);

DECLARE_DRV_CMD(shca_cmd_modify_qp, IB_USER_VERBS_EX_CMD_MODIFY_QP,
		shca_modify_qp_req, empty);

DECLARE_DRV_CMD(shca_cmd_reg_mr, IB_USER_VERBS_CMD_REG_MR,
		shca_reg_mr_req, empty);
DECLARE_DRV_CMD(shca_cmd_create_srq, IB_USER_VERBS_CMD_CREATE_SRQ,
		shca_create_srq_req, shca_create_srq_resp);
DECLARE_DRV_CMD(shca_cmd_create_xsrq, IB_USER_VERBS_CMD_CREATE_XSRQ,
		shca_create_srq_req, shca_create_srq_resp);

DECLARE_DRV_CMD(shca_cmd_create_wq, IB_USER_VERBS_EX_CMD_CREATE_WQ,
		shca_create_wq_req, shca_create_wq_resp);

/*
 * The common part of this response is 4 bytes long. So the driver's part begins
 * at offset 4; elsewhere it is 8-byte aligned.
 */
struct shca_cmd_create_ah_resp {
	struct ib_uverbs_create_ah_resp ibv_resp;
	struct shca_create_ah_resp drv_payload;
} __attribute__((packed, aligned(4)));

static_assert(offsetof(struct shca_cmd_create_ah_resp, drv_payload) ==
	      sizeof(struct ib_uverbs_create_ah_resp), "create_ah_resp");

/* Segments and flags are copied unchanged. */
static_assert(sizeof(struct shca_sge) == sizeof(struct ibv_sge), "sge");
static_assert(offsetof(struct shca_sge, addr) ==
	      offsetof(struct ibv_sge, addr), "sge.addr");
static_assert(offsetof(struct shca_sge, length) ==
	      offsetof(struct ibv_sge, length), "sge.length");
static_assert(offsetof(struct shca_sge, lkey) ==
	      offsetof(struct ibv_sge, lkey), "sge.lkey");
static_assert(SHCA_SEND_FENCE == IBV_SEND_FENCE, "flags");
static_assert(SHCA_SEND_SIGNALED == IBV_SEND_SIGNALED, "flags");
static_assert(SHCA_SEND_SOLICITED == IBV_SEND_SOLICITED, "flags");
static_assert(SHCA_SEND_INLINE == IBV_SEND_INLINE, "flags");
#define SHCA_IS_SAME(name, ...) \
	static_assert(SHCA_WR_##name == IBV_WR_##name, "opcode");
SHCA_SEND_OPS_BUT_FLUSH(SHCA_IS_SAME)
#undef SHCA_IS_SAME
static_assert(offsetof(struct shca_cmd_resize_cq_resp, drv_payload) ==
	      sizeof(struct ib_uverbs_resize_cq_resp), "resize_cq_resp");
#define SHCA_VLAN_NONE 0xffff	/* struct shca_cqe.vlan */

static_assert(SHCA_RX_HASH_TOEPLITZ == IBV_RX_HASH_FUNC_TOEPLITZ, "rx_hash");
static_assert(SHCA_RX_HASH_SRC_IPV4 == IBV_RX_HASH_SRC_IPV4, "rx_hash");
static_assert(SHCA_RX_HASH_DST_IPV4 == IBV_RX_HASH_DST_IPV4, "rx_hash");
static_assert(SHCA_RX_HASH_SRC_IPV6 == IBV_RX_HASH_SRC_IPV6, "rx_hash");
static_assert(SHCA_RX_HASH_DST_IPV6 == IBV_RX_HASH_DST_IPV6, "rx_hash");
static_assert(SHCA_RX_HASH_SRC_PORT_TCP == IBV_RX_HASH_SRC_PORT_TCP, "rx_hash");
static_assert(SHCA_RX_HASH_DST_PORT_TCP == IBV_RX_HASH_DST_PORT_TCP, "rx_hash");
static_assert(SHCA_RX_HASH_SRC_PORT_UDP == IBV_RX_HASH_SRC_PORT_UDP, "rx_hash");
static_assert(SHCA_RX_HASH_DST_PORT_UDP == IBV_RX_HASH_DST_PORT_UDP, "rx_hash");

static_assert(SHCA_WC_GRH == IBV_WC_GRH, "wc_flags");
static_assert(SHCA_WC_WITH_IMM == IBV_WC_WITH_IMM, "wc_flags");
static_assert(SHCA_WC_WITH_INV == IBV_WC_WITH_INV, "wc_flags");
static_assert(SHCA_WC_TM_SYNC_REQ == IBV_WC_TM_SYNC_REQ, "wc_flags");
static_assert(SHCA_WC_TM_MATCH == IBV_WC_TM_MATCH, "wc_flags");
static_assert(SHCA_WC_TM_DATA_VALID == IBV_WC_TM_DATA_VALID, "wc_flags");
static_assert(SHCA_OP_TAG_ADD == IBV_WR_TAG_ADD, "ops_wr_opcode");
static_assert(SHCA_OP_TAG_DEL == IBV_WR_TAG_DEL, "ops_wr_opcode");
static_assert(SHCA_OP_TAG_SYNC == IBV_WR_TAG_SYNC, "ops_wr_opcode");
static_assert(SHCA_OP_SIGNALED == IBV_OPS_SIGNALED, "ops_flags");
static_assert(SHCA_OP_TM_SYNC == IBV_OPS_TM_SYNC, "ops_flags");

#endif
