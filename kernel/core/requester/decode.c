// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Requests out of rings: see decode.h. */
#include "decode.h"

#include "../opcode.h"
#include "../wr_op.h"

#define SEND_FLAGS	(SHCA_SEND_FENCE | SHCA_SEND_SIGNALED |		\
			 SHCA_SEND_SOLICITED | SHCA_SEND_INLINE)

/* The process may write a segment while it is read. Return: bytes of all. */
static u64 decode_sges(struct shca_sge *to, const struct shca_sge *from, u32 nr)
{
	u64 length = 0;
	u32 i;

	for (i = 0; i < nr; i++) {
		to[i].addr = READ_ONCE(from[i].addr);
		to[i].length = READ_ONCE(from[i].length);
		to[i].lkey = READ_ONCE(from[i].lkey);
		length += to[i].length;
	}
	return length;
}

/* ---- sends -------------------------------------------------------------- */

/* Return, here and below: false if the request is malformed. */
static bool decode_flush(const struct shca_send_wqe *wqe, struct shca_send_wr *wr)
{
	if (wqe->flush.reserved || wqe->flush.type > 0xff ||
	    wqe->flush.level > 0xff || wqe->imm_data)
		return false;
	wr->flush.remote_addr = wqe->flush.remote_addr;
	wr->flush.rkey = wqe->flush.rkey;
	wr->flush.type = wqe->flush.type;
	wr->flush.level = wqe->flush.level;
	if (wqe->flush.level != SHCA_FLUSH_LEVEL_MR)
		wr->flush.length = wqe->flush.length;
	return true;
}

static bool decode_bind(const struct shca_send_wqe *wqe, struct shca_send_wr *wr)
{
	if (wqe->imm_data || wqe->num_sge || wqe->flags & SHCA_SEND_INLINE)
		return false;
	wr->bind.addr = wqe->bind.addr;
	wr->bind.length = wqe->bind.length;
	/*
	 * The consumer owns the low byte of a key, the device the rest (IBTA 10.6.3.3). As in
	 * adapters, nothing else of the new key counts.
	 */
	wr->bind.key = (wqe->bind.mw_handle & ~0xffu) |
		       (wqe->bind.mw_key & 0xff);
	wr->bind.mr_lkey = wqe->bind.mr_lkey;
	wr->bind.access = wqe->bind.access;
	return true;
}

static bool decode_ud(const struct shca_decode *queue,
		      const struct shca_send_wqe *wqe, struct shca_send_wr *wr)
{
	const u32 *reserved = wqe->ud.reserved;

	static_assert(ARRAY_SIZE(wqe->ud.reserved) == 4);
	/* Only QP1, which no process has, selects a P_Key. */
	if ((reserved[0] | reserved[1] | reserved[2] | reserved[3]) ||
	    (wqe->ud.pkey_index && !queue->is_gsi))
		return false;
	wr->ud.remote_qpn = wqe->ud.remote_qpn & 0xffffff;
	wr->ud.remote_qkey = wqe->ud.remote_qkey;
	return true;
}

/* The part that differs by transport and operation. */
static bool decode_remote(const struct shca_decode *queue,
			  const struct shca_send_wqe *wqe,
			  struct shca_send_wr *wr)
{
	u8 form = shca_wr_op(wr->opcode)->form;

	/* Only 24 bits of an SRQ number count, as in adapters. */
	if (queue->transport == SHCA_TRANSPORT_XRC)
		wr->xrc_srqn = wqe->xrc_srqn & 0xffffff;
	else if (wqe->xrc_srqn)
		return false;
	if (form == SHCA_FORM_BIND)
		return decode_bind(wqe, wr);
	if (queue->transport == SHCA_TRANSPORT_UD)
		return decode_ud(queue, wqe, wr);
	if (form == SHCA_FORM_FLUSH)
		return decode_flush(wqe, wr);
	if (wqe->rdma.reserved)
		return false;
	switch (form) {
	case SHCA_FORM_RDMA:
		wr->rdma.remote_addr = wqe->rdma.remote_addr;
		wr->rdma.rkey = wqe->rdma.rkey;
		break;
	case SHCA_FORM_ATOMIC:
		wr->atomic.remote_addr = wqe->rdma.remote_addr;
		wr->atomic.rkey = wqe->rdma.rkey;
		wr->atomic.compare_add = wqe->rdma.compare_add;
		wr->atomic.swap = wqe->rdma.swap;
		break;
	case SHCA_FORM_REG:
		wr->reg.key = wqe->rdma.compare_add;
		wr->reg.new_key = wqe->rdma.rkey;
		wr->reg.access = wqe->rdma.swap;
		break;
	}
	return true;
}

static bool decode_data(const struct shca_decode *queue,
			const struct shca_send_wqe *wqe, const void *data,
			struct shca_send_wr *wr)
{
	u64 length;

	if (wqe->flags & SHCA_SEND_INLINE) {
		if (wqe->inline_len > queue->max_inline || wqe->num_sge)
			return false;
		wr->inline_data = (void *)data;
		wr->length = wqe->inline_len;
		return true;
	}
	if (wqe->inline_len)
		return false;
	wr->num_sge = wqe->num_sge;
	length = decode_sges(wr->sge, data, wr->num_sge);
	if (length > SHCA_MAX_MSG) {
		wr->preset = SHCA_WC_LOC_LEN_ERR;
		wr->vendor_err = SHCA_VERR_LENGTH;
		return true;
	}
	wr->length = length;
	return true;
}

void shca_send_refuse(struct shca_send_wr *wr)
{
	wr->preset = SHCA_WC_LOC_QP_OP_ERR;
	wr->vendor_err = SHCA_VERR_WQE;
}

bool shca_send_decode(const struct shca_decode *queue,
		      const struct shca_send_wqe *wqe, const void *data,
		      struct shca_send_wr *wr)
{
	memset(wr, 0, sizeof(*wr));
	wr->wr_id = wqe->wr_id;
	wr->opcode = wqe->opcode;
	wr->flags = wqe->flags;
	wr->imm = wqe->imm_data;
	if (queue->sig_all)
		wr->flags |= SHCA_SEND_SIGNALED;
	if (!(wqe->flags & ~SEND_FLAGS) && wqe->num_sge <= queue->max_sge &&
	    !(queue->is_user && wqe->opcode >= SHCA_WR_KERNEL) &&
	    decode_remote(queue, wqe, wr) && decode_data(queue, wqe, data, wr))
		return true;
	shca_send_refuse(wr);
	return false;
}

/* ---- receives ----------------------------------------------------------- */

bool shca_recv_decode(u32 max_sge, const struct shca_recv_wqe *wqe,
		      const void *data, struct shca_recv_wr *wr)
{
	bool ok = wqe->num_sge <= max_sge && !wqe->reserved;

	wr->wr_id = wqe->wr_id;
	wr->num_sge = ok ? wqe->num_sge : 0;
	wr->length = min_t(u64, decode_sges(wr->sge, data, wr->num_sge),
			   SHCA_MAX_MSG);
	return ok;
}
