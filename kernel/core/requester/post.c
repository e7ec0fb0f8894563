// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Posting: puts work requests into the requester's ring, and checks each against the rules of its
 * transport. A refused request is posted, too. Requests complete in order, so it fails in its turn
 * (requester.c, "Errors"). The caller holds the lock of the send half.
 */
#include "req_internal.h"

struct shca_send_wr *shca_req_slot(struct shca_req *req)
{
	if (req->state == SHCA_SIDE_RESET ||
	    req->ring.prod - req->ring.head > req->ring.mask)
		return NULL;
	return req_wr(req, req->ring.prod);
}

u32 shca_req_number(const struct shca_req *req, const struct shca_send_wr *wr)
{
	u32 slot = div64_u64((const u8 *)wr - req->ring.base, req->ring.stride);

	return req->ring.head + ((slot - req->ring.head) & req->ring.mask) + 1;
}

static void req_refuse(struct shca_send_wr *wr, u8 status, u16 vendor_err)
{
	wr->preset = status;
	wr->vendor_err = vendor_err;
}

/* Can @op have this length? req_validate() checks SHCA_MAX_MSG last. */
static bool req_length_fits(const struct shca_req *req,
			    const struct shca_wr_op *op,
			    const struct shca_send_wr *wr)
{
	/* UD: one packet (IBTA 9.8.3); RAW_PACKET: a frame, with its header. */
	if (req->attr.transport == SHCA_TRANSPORT_UD)
		return wr->length <= 1u << req->psn.mtu_shift;
	if (req->attr.transport == SHCA_TRANSPORT_RAW)
		return wr->length >= SHCA_RAW_MIN &&
		       wr->length <= req->attr.mtu;
	if (likely(op->length == SHCA_LENGTH_ANY))
		return true;
	switch (op->length) {
	case SHCA_LENGTH_8:
		return wr->length == sizeof(u64);
	case SHCA_LENGTH_8_UP:
		return wr->length >= sizeof(u64);
	default:	/* SHCA_LENGTH_RANGE */
		return wr->flush.length <= SHCA_MAX_MSG;
	}
}

/* Does the request name the memory to flush by a range, a type and a level? */
static bool req_flush_fits(const struct shca_send_wr *wr)
{
	u32 type = wr->flush.type;

	return !wr->length && type &&
	       !(type & ~(SHCA_FLUSH_GLOBAL | SHCA_FLUSH_PERSISTENT)) &&
	       wr->flush.level <= SHCA_FLUSH_LEVEL_MR;
}

/* May this QP execute it? A local request sends no data, so SHCA_SEND_INLINE is ignored. */
static bool req_op_fits(const struct shca_req *req, const struct shca_wr_op *op,
			const struct shca_send_wr *wr)
{
	if (op->answer == SHCA_ANSWER_ACK || op->answer == SHCA_ANSWER_LOCAL)
		return true;
	if (wr->flags & SHCA_SEND_INLINE && !(op->flags & SHCA_OPS_INLINE))
		return false;
	if (op->form == SHCA_FORM_FLUSH && !req_flush_fits(wr))
		return false;
	return req->attr.max_rd_atomic;
}

/* Check against the rules of the transport; decode.c has checked the segments. */
static void req_validate(const struct shca_req *req, struct shca_send_wr *wr)
{
	const struct shca_wr_op *op = shca_wr_op(wr->opcode);

	if (wr->flags & ~(SHCA_SEND_FENCE | SHCA_SEND_SIGNALED |
			  SHCA_SEND_SOLICITED | SHCA_SEND_INLINE) ||
	    !shca_wr_op_is_on(op, req->attr.transport))
		req_refuse(wr, SHCA_WC_LOC_QP_OP_ERR, SHCA_VERR_WQE);
	else if (!req_length_fits(req, op, wr))
		req_refuse(wr, SHCA_WC_LOC_LEN_ERR, SHCA_VERR_LENGTH);
	else if (!req_op_fits(req, op, wr))
		req_refuse(wr, SHCA_WC_LOC_QP_OP_ERR, SHCA_VERR_WQE);
	else if (wr->length > SHCA_MAX_MSG)
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
	if (req->attr.transport == SHCA_TRANSPORT_UD && unlikely(wr->rate_kbps) &&
	    wr->preset == SHCA_WC_SUCCESS)
		shca_req_set_rate_gate(req);
	req->ring.prod++;
}
