// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Posting: puts work requests into the requester's ring, and checks each
 * against the rules of its transport. A refused request is posted, too.
 * Requests complete in order, so it fails in its turn (requester.c, "Errors").
 * The glue calls it under the lock of the send side.
 */
#include "req_internal.h"

struct shca_send_wr *shca_req_slot(struct shca_req *req)
{
	if (req->state == SHCA_SIDE_RESET ||
	    req->ring.prod - req->ring.head > req->ring.mask)
		return NULL;
	return req_wr(req, req->ring.prod);
}

static void req_refuse(struct shca_send_wr *wr, u8 status, u16 vendor_err)
{
	wr->preset = status;
	wr->vendor_err = vendor_err;
}

/* What UD allows: one packet (IBTA 9.8.3). */
static void req_validate_ud(const struct shca_req *req, struct shca_send_wr *wr)
{
	if (wr->opcode != SHCA_WR_SEND && wr->opcode != SHCA_WR_SEND_WITH_IMM)
		req_refuse(wr, SHCA_WC_LOC_QP_OP_ERR, SHCA_VERR_WQE);
	else if (wr->length > 1u << req->psn.mtu_shift)
		req_refuse(wr, SHCA_WC_LOC_LEN_ERR, SHCA_VERR_LENGTH);
}

/* What RAW_PACKET allows: a frame, with its Ethernet header. */
static void req_validate_raw(const struct shca_req *req,
			     struct shca_send_wr *wr)
{
	if (wr->opcode != SHCA_WR_SEND)
		req_refuse(wr, SHCA_WC_LOC_QP_OP_ERR, SHCA_VERR_WQE);
	else if (wr->length < SHCA_RAW_MIN || wr->length > req->attr.mtu)
		req_refuse(wr, SHCA_WC_LOC_LEN_ERR, SHCA_VERR_LENGTH);
}

/* What UC allows: SENDs and WRITEs. */
static bool req_op_of_uc(u8 opcode)
{
	return opcode == SHCA_WR_SEND || opcode == SHCA_WR_SEND_WITH_IMM ||
	       opcode == SHCA_WR_RDMA_WRITE ||
	       opcode == SHCA_WR_RDMA_WRITE_WITH_IMM ||
	       opcode == SHCA_WR_LOCAL_INV || opcode == SHCA_WR_BIND_MW ||
	       opcode == SHCA_WR_REG_MR;
}

/* What it flushes is named by a range, a type and a level. */
static bool req_flush_fits(const struct shca_send_wr *wr)
{
	u32 type = wr->imm & 0xff, level = wr->imm >> 8;

	return !wr->length && !(wr->flags & SHCA_SEND_INLINE) && type &&
	       !(type & ~(SHCA_FLUSH_GLOBAL | SHCA_FLUSH_PERSISTENT)) &&
	       level <= SHCA_FLUSH_LEVEL_MR;
}

/* What the transport allows; the glue has seen to the segments. */
static void req_validate(const struct shca_req *req, struct shca_send_wr *wr)
{
	if (wr->flags & ~(SHCA_SEND_FENCE | SHCA_SEND_SIGNALED |
			  SHCA_SEND_SOLICITED | SHCA_SEND_INLINE)) {
		req_refuse(wr, SHCA_WC_LOC_QP_OP_ERR, SHCA_VERR_WQE);
		return;
	}
	if (req->attr.transport == SHCA_TRANSPORT_UD) {
		req_validate_ud(req, wr);
		return;
	}
	if (req->attr.transport == SHCA_TRANSPORT_RAW) {
		req_validate_raw(req, wr);
		return;
	}
	if (req->attr.transport == SHCA_TRANSPORT_UC &&
	    !req_op_of_uc(wr->opcode)) {
		req_refuse(wr, SHCA_WC_LOC_QP_OP_ERR, SHCA_VERR_WQE);
		return;
	}
	switch (wr->opcode) {
	case SHCA_WR_SEND:
	case SHCA_WR_SEND_WITH_IMM:
	case SHCA_WR_SEND_WITH_INV:
	case SHCA_WR_RDMA_WRITE:
	case SHCA_WR_RDMA_WRITE_WITH_IMM:
	case SHCA_WR_LOCAL_INV:
	case SHCA_WR_BIND_MW:
	case SHCA_WR_REG_MR:
		break;
	case SHCA_WR_ATOMIC_WRITE:
		if (wr->length != sizeof(u64)) {
			req_refuse(wr, SHCA_WC_LOC_LEN_ERR, SHCA_VERR_LENGTH);
			return;
		}
		if (req->attr.max_rd_atomic)
			break;
		req_refuse(wr, SHCA_WC_LOC_QP_OP_ERR, SHCA_VERR_WQE);
		return;
	case SHCA_WR_FLUSH:
		if (wr->swap > SHCA_MAX_MSG) {
			req_refuse(wr, SHCA_WC_LOC_LEN_ERR, SHCA_VERR_LENGTH);
			return;
		}
		if (req_flush_fits(wr) && req->attr.max_rd_atomic)
			break;
		req_refuse(wr, SHCA_WC_LOC_QP_OP_ERR, SHCA_VERR_WQE);
		return;
	case SHCA_WR_ATOMIC_CMP_AND_SWP:
	case SHCA_WR_ATOMIC_FETCH_AND_ADD:
		if (wr->length < sizeof(u64)) {
			req_refuse(wr, SHCA_WC_LOC_LEN_ERR, SHCA_VERR_LENGTH);
			return;
		}
		fallthrough;
	case SHCA_WR_RDMA_READ:
		if (!(wr->flags & SHCA_SEND_INLINE) && req->attr.max_rd_atomic)
			break;
		fallthrough;
	default:
		req_refuse(wr, SHCA_WC_LOC_QP_OP_ERR, SHCA_VERR_WQE);
		return;
	}
	if (wr->length > SHCA_MAX_MSG)
		req_refuse(wr, SHCA_WC_LOC_LEN_ERR, SHCA_VERR_LENGTH);
}

void shca_req_post(struct shca_req *req)
{
	struct shca_send_wr *wr = req_wr(req, req->ring.prod);

	wr->status = SHCA_WC_SUCCESS;
	wr->flags_core = 0;
	wr->first_psn = 0;
	wr->nr_psn = 0;
	if (wr->preset == SHCA_WC_SUCCESS) {
		wr->vendor_err = SHCA_VERR_NONE;
		req_validate(req, wr);
	}
	req->ring.prod++;
}
