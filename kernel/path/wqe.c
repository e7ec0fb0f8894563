// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Send requests of kernel consumers, as entries of the ring. Processes write their own. */
#include "wqe.h"

#include <linux/string.h>

#include "../base/dev.h"
#include "../core/wr_op.h"
#include "../queue/ah.h"
#include "../queue/qp.h"

static int shca_wqe_check_inline(const struct shca_sq *sq,
				 const struct shca_wr_op *op,
				 const struct ib_send_wr *wr)
{
	u64 length = 0;
	int i;

	if (!(wr->send_flags & IB_SEND_INLINE))
		return 0;
	for (i = 0; i < wr->num_sge; i++)
		length += wr->sg_list[i].length;
	return op->flags & SHCA_OPS_INLINE && length <= sq->max_inline ?
	       0 : -EINVAL;
}

/* Segments of inline data name kernel memory by its address, without a key. */
static void shca_wqe_copy_inline(struct shca_send_wqe *wqe,
				 const struct ib_send_wr *wr)
{
	void *data = wqe + 1;
	int i;

	wqe->num_sge = 0;
	for (i = 0; i < wr->num_sge; i++) {
		memcpy(data + wqe->inline_len,
		       (void *)(uintptr_t)wr->sg_list[i].addr,
		       wr->sg_list[i].length);
		wqe->inline_len += wr->sg_list[i].length;
	}
}

/* Opcode in the ring, those of kernel consumers included; 255: none. */
static u8 shca_wqe_opcode(enum ib_wr_opcode opcode)
{
	if (opcode == IB_WR_REG_MR)
		return SHCA_WR_REG_MR;
	return opcode < SHCA_WR_KERNEL ? opcode : 255;
}

/* Write the fields that differ by operation. Return: false: not for a kernel consumer. */
static bool shca_wqe_write_remote(const struct shca_qp *qp,
				  const struct shca_wr_op *op,
				  struct shca_send_wqe *wqe,
				  const struct ib_send_wr *wr)
{
	switch (op->form) {
	case SHCA_FORM_RDMA:
		wqe->rdma.remote_addr = rdma_wr(wr)->remote_addr;
		wqe->rdma.rkey = rdma_wr(wr)->rkey;
		return true;
	case SHCA_FORM_SEND:
		if (shca_qp_transport(qp->type) != SHCA_TRANSPORT_UD)
			return true;
		/* QP1 is of all partitions: each request selects one. */
		if (qp->type == IB_QPT_GSI) {
			if (ud_wr(wr)->pkey_index >= shca_limit(qp->dev, PKEYS))
				return false;
			wqe->ud.pkey_index = ud_wr(wr)->pkey_index;
		}
		wqe->ud.ah = to_shca_ah(ud_wr(wr)->ah)->handle;
		wqe->ud.remote_qpn = ud_wr(wr)->remote_qpn;
		wqe->ud.remote_qkey = ud_wr(wr)->remote_qkey;
		return true;
	case SHCA_FORM_INV:
		wqe->imm_data = wr->ex.invalidate_rkey;
		return true;
	case SHCA_FORM_REG:
		wqe->rdma.compare_add = reg_wr(wr)->mr->rkey;
		wqe->rdma.rkey = reg_wr(wr)->key;
		wqe->rdma.swap = reg_wr(wr)->access;
		return true;
	case SHCA_FORM_ATOMIC:
		wqe->rdma.remote_addr = atomic_wr(wr)->remote_addr;
		wqe->rdma.compare_add = atomic_wr(wr)->compare_add;
		wqe->rdma.swap = atomic_wr(wr)->swap;
		wqe->rdma.rkey = atomic_wr(wr)->rkey;
		return true;
	default:
		/* FLUSH, BIND_MW: no struct of the RDMA core has fields for them. */
		return false;
	}
}

static int shca_wqe_write(struct shca_qp *qp, const struct ib_send_wr *wr,
			  u32 cons)
{
	u8 opcode = shca_wqe_opcode(wr->opcode);
	const struct shca_wr_op *op = shca_wr_op(opcode);
	struct shca_sq *sq = &qp->sq;
	struct shca_send_wqe *wqe;
	struct shca_sge *sge;
	int i, err;

	if (sq->prod - cons >= sq->max_wr)
		return -ENOMEM;
	if (wr->num_sge > sq->max_sge || wr->num_sge < 0)
		return -EINVAL;
	err = shca_wqe_check_inline(sq, op, wr);
	if (err)
		return err;
	wqe = sq->slots + (size_t)(sq->prod & (sq->entries - 1)) * sq->stride;
	memset(wqe, 0, sizeof(*wqe));
	wqe->wr_id = wr->wr_id;
	wqe->opcode = opcode;
	wqe->flags = wr->send_flags & SHCA_SEND_FLAGS;
	wqe->num_sge = wr->num_sge;
	wqe->imm_data = (__force u32)wr->ex.imm_data;
	if (!op->on || !shca_wqe_write_remote(qp, op, wqe, wr))
		return -EINVAL;
	sq->prod++;
	if (wr->send_flags & IB_SEND_INLINE) {
		shca_wqe_copy_inline(wqe, wr);
		return 0;
	}
	sge = (struct shca_sge *)(wqe + 1);
	for (i = 0; i < wr->num_sge; i++, sge++) {
		sge->addr = wr->sg_list[i].addr;
		sge->length = wr->sg_list[i].length;
		sge->lkey = wr->sg_list[i].lkey;
	}
	return 0;
}

int shca_wqe_post(struct shca_qp *qp, const struct ib_send_wr *wr,
		  const struct ib_send_wr **bad_wr)
{
	struct shca_sq *sq = &qp->sq;
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&sq->post_lock, flags);
	for (; wr && !err; wr = err ? wr : wr->next) {
		/* Pairs with the release in shca_sq_complete() (litmus: wq-cons). */
		u32 cons = smp_load_acquire(&qp->status->sq_cons);

		err = shca_wqe_write(qp, wr, cons);
	}
	if (err)
		*bad_wr = wr;
	/* Pairs with the acquire in shca_sq_fetch() (litmus: sq-prod). */
	smp_store_release(&qp->index->sq_prod, sq->prod);
	spin_unlock_irqrestore(&sq->post_lock, flags);
	return err;
}
