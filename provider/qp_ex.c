// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The work request interface: ibv_wr_start(), builders and setters,
 * ibv_wr_complete() or ibv_wr_abort().
 *
 * A builder writes its request to the next slot of the send ring, and setters
 * complete it there. ibv_wr_complete() moves sq_prod over all slots of the
 * section, which shows them to the kernel. So an abort only forgets them.
 * sq.lock is held from start to complete or abort.
 *
 * ibv_wr_complete() reports the first error. After an error there is no current
 * request, and nothing more is written.
 */
#include "softhca.h"

#include <errno.h>
#include <string.h>

#include "poller.h"
#include "ring.h"

/* What this libibverbs has. */
#ifdef LIBIBVERBS_LACKS_FLUSH
#define SHCA_EX_OPS(X)	SHCA_SEND_OPS_BUT_FLUSH(X)
#else
#define SHCA_EX_OPS(X)	SHCA_SEND_OPS(X)
#endif

/*
 * The setter decides about IBV_SEND_INLINE, so the flag is ignored. Flags
 * without a meaning here are ignored, too, as by other adapters.
 */
#define SHCA_EX_FLAGS	(IBV_SEND_FENCE | IBV_SEND_SIGNALED | \
			 IBV_SEND_SOLICITED)

static inline struct shca_qp *to_shca_qp_ex(struct ibv_qp_ex *qpx)
{
	return container_of(qpx, struct shca_qp, vqp.qp_ex);
}

/*
 * Release: another thread that sees no current request sees the published index
 * (shca_sq_end() in ah.c).
 */
static inline void shca_ex_set_wqe(struct shca_qp *qp, struct shca_send_wqe *wqe)
{
	__atomic_store_n(&qp->ex.wqe, wqe, __ATOMIC_RELEASE);
}

/* From here on there is no current request; the first error counts. */
static void shca_ex_fail(struct shca_qp *qp, int err)
{
	if (!qp->ex.err)
		qp->ex.err = err;
	shca_ex_set_wqe(qp, NULL);
}

/* ---- the section --------------------------------------------------------- */

static void shca_wr_start(struct ibv_qp_ex *qpx)
{
	struct shca_qp *qp = to_shca_qp_ex(qpx);

	shca_lock(&qp->sq.lock);
	__atomic_store_n(&qp->ex.prod, qp->sq.prod, __ATOMIC_RELAXED);
	/* IBTA 10.3.1: an immediate error before RTS. */
	qp->ex.err = unlikely(qpx->qp_base.state < IBV_QPS_RTS) ? EINVAL : 0;
}

static int shca_wr_complete(struct ibv_qp_ex *qpx)
{
	struct shca_qp *qp = to_shca_qp_ex(qpx);
	int err = qp->ex.err;
	bool posted = !err && qp->ex.prod != qp->sq.prod;
	uint32_t prod = qp->ex.prod;
	bool urgent = false;

	if (posted) {
		for (; qp->sq.prod != prod; qp->sq.prod++) {
			struct shca_send_wqe *wqe = shca_wq_slot(&qp->sq,
								 qp->sq.prod);

			urgent |= shca_send_is_urgent(wqe);
			if (unlikely(wqe->opcode == SHCA_WR_BIND_MW))
				shca_mw_set_key((void *)(uintptr_t)
						wqe->bind.user_data,
						wqe->bind.mw_key);
		}
		shca_sq_publish(qp->index, prod);
	}
	shca_ex_set_wqe(qp, NULL);
	shca_unlock(&qp->sq.lock);
	if (posted)
		return shca_post_ring(qp, prod, urgent);
	return err == ENOMEM ? shca_post_full(qp) : err;
}

static void shca_wr_abort(struct ibv_qp_ex *qpx)
{
	struct shca_qp *qp = to_shca_qp_ex(qpx);

	shca_ex_set_wqe(qp, NULL);
	shca_unlock(&qp->sq.lock);
}

/* ---- builders ------------------------------------------------------------ */

/* Return: the slot of a new request, or NULL after an error. */
static struct shca_send_wqe *shca_ex_begin(struct shca_qp *qp, uint8_t opcode)
{
	const struct ibv_qp_ex *qpx = &qp->vqp.qp_ex;
	struct shca_send_wqe *wqe;

	if (unlikely(qp->ex.err))
		return NULL;
	if (unlikely(shca_wq_is_full(&qp->sq, qp->ex.prod,
				     &qp->status->sq_cons))) {
		shca_ex_fail(qp, ENOMEM);
		return NULL;
	}
	wqe = shca_wq_slot(&qp->sq, qp->ex.prod);
	__atomic_store_n(&qp->ex.prod, qp->ex.prod + 1, __ATOMIC_RELAXED);
	memset(wqe, 0, sizeof(*wqe));
	wqe->wr_id = qpx->wr_id;
	wqe->opcode = opcode;
	wqe->flags = (qpx->wr_flags & SHCA_EX_FLAGS) |
		     (qp->sig_all ? SHCA_SEND_SIGNALED : 0);
	shca_ex_set_wqe(qp, wqe);
	return wqe;
}

static void shca_ex_rdma(struct ibv_qp_ex *qpx, uint8_t opcode, uint32_t rkey,
			 uint64_t remote_addr, uint32_t imm_data)
{
	struct shca_send_wqe *wqe = shca_ex_begin(to_shca_qp_ex(qpx), opcode);

	if (unlikely(!wqe))
		return;
	wqe->rdma.remote_addr = remote_addr;
	wqe->rdma.rkey = rkey;
	wqe->imm_data = imm_data;
}

static void shca_wr_rdma_write(struct ibv_qp_ex *qpx, uint32_t rkey,
			       uint64_t remote_addr)
{
	shca_ex_rdma(qpx, SHCA_WR_RDMA_WRITE, rkey, remote_addr, 0);
}

static void shca_wr_rdma_write_imm(struct ibv_qp_ex *qpx, uint32_t rkey,
				   uint64_t remote_addr, __be32 imm_data)
{
	shca_ex_rdma(qpx, SHCA_WR_RDMA_WRITE_WITH_IMM, rkey, remote_addr,
		     (__force uint32_t)imm_data);
}

static void shca_wr_rdma_read(struct ibv_qp_ex *qpx, uint32_t rkey,
			      uint64_t remote_addr)
{
	shca_ex_rdma(qpx, SHCA_WR_RDMA_READ, rkey, remote_addr, 0);
}

static void shca_ex_atomic(struct ibv_qp_ex *qpx, uint8_t opcode, uint32_t rkey,
			   uint64_t remote_addr, uint64_t compare_add,
			   uint64_t swap)
{
	struct shca_send_wqe *wqe = shca_ex_begin(to_shca_qp_ex(qpx), opcode);

	if (unlikely(!wqe))
		return;
	wqe->rdma.remote_addr = remote_addr;
	wqe->rdma.compare_add = compare_add;
	wqe->rdma.swap = swap;
	wqe->rdma.rkey = rkey;
}

static void shca_wr_atomic_cmp_swp(struct ibv_qp_ex *qpx, uint32_t rkey,
				   uint64_t remote_addr, uint64_t compare,
				   uint64_t swap)
{
	shca_ex_atomic(qpx, SHCA_WR_ATOMIC_CMP_AND_SWP, rkey, remote_addr,
		       compare, swap);
}

static void shca_wr_atomic_fetch_add(struct ibv_qp_ex *qpx, uint32_t rkey,
				     uint64_t remote_addr, uint64_t add)
{
	shca_ex_atomic(qpx, SHCA_WR_ATOMIC_FETCH_AND_ADD, rkey, remote_addr,
		       add, 0);
}

static void shca_ex_simple(struct ibv_qp_ex *qpx, uint8_t opcode, uint32_t imm)
{
	struct shca_send_wqe *wqe = shca_ex_begin(to_shca_qp_ex(qpx), opcode);

	if (likely(wqe))
		wqe->imm_data = imm;
}

static void shca_wr_send(struct ibv_qp_ex *qpx)
{
	shca_ex_simple(qpx, SHCA_WR_SEND, 0);
}

static void shca_wr_send_imm(struct ibv_qp_ex *qpx, __be32 imm_data)
{
	shca_ex_simple(qpx, SHCA_WR_SEND_WITH_IMM, (__force uint32_t)imm_data);
}

static void shca_wr_send_inv(struct ibv_qp_ex *qpx, uint32_t invalidate_rkey)
{
	shca_ex_simple(qpx, SHCA_WR_SEND_WITH_INV, invalidate_rkey);
}

static void shca_wr_local_inv(struct ibv_qp_ex *qpx, uint32_t invalidate_rkey)
{
	shca_ex_simple(qpx, SHCA_WR_LOCAL_INV, invalidate_rkey);
}

static void shca_wr_bind_mw(struct ibv_qp_ex *qpx, struct ibv_mw *mw,
			    uint32_t rkey,
			    const struct ibv_mw_bind_info *bind_info)
{
	struct shca_send_wqe *wqe = shca_ex_begin(to_shca_qp_ex(qpx),
						  SHCA_WR_BIND_MW);

	if (unlikely(!wqe))
		return;
	shca_fill_bind(wqe, mw, bind_info, rkey);
	/* The window has its new key once the section is complete. */
	wqe->bind.user_data = (uintptr_t)mw;
}

/* The request itself carries the eight bytes, always. */
static void shca_wr_atomic_write(struct ibv_qp_ex *qpx, uint32_t rkey,
				 uint64_t remote_addr, const void *atomic_wr)
{
	struct shca_send_wqe *wqe = shca_ex_begin(to_shca_qp_ex(qpx),
						  SHCA_WR_ATOMIC_WRITE);

	if (unlikely(!wqe))
		return;
	wqe->rdma.remote_addr = remote_addr;
	wqe->rdma.rkey = rkey;
	wqe->flags |= SHCA_SEND_INLINE;
	wqe->inline_len = sizeof(uint64_t);
	memcpy(wqe + 1, atomic_wr, sizeof(uint64_t));
}

#ifndef LIBIBVERBS_LACKS_FLUSH
static void shca_wr_flush(struct ibv_qp_ex *qpx, uint32_t rkey,
			  uint64_t remote_addr, size_t len, uint8_t type,
			  uint8_t level)
{
	struct shca_send_wqe *wqe = shca_ex_begin(to_shca_qp_ex(qpx),
						  SHCA_WR_FLUSH);

	if (unlikely(!wqe))
		return;
	wqe->flush.remote_addr = remote_addr;
	wqe->flush.length = len;
	wqe->flush.rkey = rkey;
	wqe->flush.type = type;
	wqe->flush.level = level;
}
#endif

/* ---- setters ------------------------------------------------------------- */

static void shca_wr_set_ud_addr(struct ibv_qp_ex *qpx, struct ibv_ah *ah,
				uint32_t remote_qpn, uint32_t remote_qkey)
{
	struct shca_qp *qp = to_shca_qp_ex(qpx);
	struct shca_send_wqe *wqe = qp->ex.wqe;

	if (unlikely(!wqe))
		return;
	shca_ah_used(qp, to_shca_ah(ah));
	wqe->ud.ah = to_shca_ah(ah)->handle;
	wqe->ud.remote_qpn = remote_qpn;
	wqe->ud.remote_qkey = remote_qkey;
}

static void shca_wr_set_xrc_srqn(struct ibv_qp_ex *qpx, uint32_t remote_srqn)
{
	struct shca_send_wqe *wqe = to_shca_qp_ex(qpx)->ex.wqe;

	if (likely(wqe))
		wqe->xrc_srqn = remote_srqn;
}

static void shca_wr_set_sge_list(struct ibv_qp_ex *qpx, size_t num_sge,
				 const struct ibv_sge *sg_list)
{
	struct shca_qp *qp = to_shca_qp_ex(qpx);
	struct shca_send_wqe *wqe = qp->ex.wqe;

	if (unlikely(!wqe))
		return;
	if (unlikely(num_sge > qp->sq.max_sge)) {
		shca_ex_fail(qp, EINVAL);
		return;
	}
	wqe->num_sge = num_sge;
	memcpy(wqe + 1, sg_list, num_sge * sizeof(*sg_list));
}

static void shca_wr_set_sge(struct ibv_qp_ex *qpx, uint32_t lkey, uint64_t addr,
			    uint32_t length)
{
	struct shca_send_wqe *wqe = to_shca_qp_ex(qpx)->ex.wqe;
	struct shca_sge *sge;

	if (unlikely(!wqe))
		return;
	sge = (struct shca_sge *)(wqe + 1);
	wqe->num_sge = 1;
	sge->addr = addr;
	sge->length = length;
	sge->lkey = lkey;
}

static void shca_wr_set_inline_data_list(struct ibv_qp_ex *qpx, size_t num_buf,
					 const struct ibv_data_buf *buf_list)
{
	struct shca_qp *qp = to_shca_qp_ex(qpx);
	struct shca_send_wqe *wqe = qp->ex.wqe;
	size_t i, room = qp->max_inline;
	uint8_t *p;

	if (unlikely(!wqe))
		return;
	if (unlikely(!shca_op_may_inline(wqe->opcode))) {
		shca_ex_fail(qp, EINVAL);
		return;
	}
	for (i = 0, p = (uint8_t *)(wqe + 1); i < num_buf; i++) {
		if (unlikely(buf_list[i].length > room)) {
			shca_ex_fail(qp, EINVAL);
			return;
		}
		memcpy(p, buf_list[i].addr, buf_list[i].length);
		p += buf_list[i].length;
		room -= buf_list[i].length;
	}
	wqe->flags |= SHCA_SEND_INLINE;
	wqe->inline_len = qp->max_inline - room;
}

static void shca_wr_set_inline_data(struct ibv_qp_ex *qpx, void *addr,
				    size_t length)
{
	const struct ibv_data_buf buf = { .addr = addr, .length = length };

	shca_wr_set_inline_data_list(qpx, 1, &buf);
}

/* ---- creation ------------------------------------------------------------ */

/*
 * Can a QP post all requested operations?
 * @opcodes:	opcodes of its type, one bit each
 * @flags:	enum ibv_qp_create_send_ops_flags
 * Return: 0 or EOPNOTSUPP.
 */
int shca_qp_ex_check(uint32_t opcodes, uint64_t flags)
{
#define SHCA_EX_FLAG(name, ...) \
	| (opcodes & 1u << SHCA_WR_##name ? IBV_QP_EX_WITH_##name : 0)
	uint64_t known = 0 SHCA_EX_OPS(SHCA_EX_FLAG);
#undef SHCA_EX_FLAG

	return flags & ~known ? EOPNOTSUPP : 0;
}

/*
 * Set up the work request interface of a QP.
 * @flags:	enum ibv_qp_create_send_ops_flags of the requested builders
 *
 * Other builders stay NULL, as do setters without a use for this type of QP. Programs choose a
 * method by what is not NULL.
 */
void shca_qp_ex_init(struct shca_qp *qp, uint64_t flags)
{
	struct ibv_qp_ex *qpx = &qp->vqp.qp_ex;

	qp->vqp.comp_mask |= VERBS_QP_EX;
	qpx->wr_start = shca_wr_start;
	qpx->wr_complete = shca_wr_complete;
	qpx->wr_abort = shca_wr_abort;

#define SHCA_EX_BUILDER(name, verb, ...) \
	qpx->wr_##verb = flags & IBV_QP_EX_WITH_##name ? shca_wr_##verb : NULL;
	SHCA_EX_OPS(SHCA_EX_BUILDER)
#undef SHCA_EX_BUILDER

	qpx->wr_set_inline_data = shca_wr_set_inline_data;
	qpx->wr_set_inline_data_list = shca_wr_set_inline_data_list;
	qpx->wr_set_sge = shca_wr_set_sge;
	qpx->wr_set_sge_list = shca_wr_set_sge_list;
	if (qpx->qp_base.qp_type == IBV_QPT_UD)
		qpx->wr_set_ud_addr = shca_wr_set_ud_addr;
	if (qpx->qp_base.qp_type == IBV_QPT_XRC_SEND)
		qpx->wr_set_xrc_srqn = shca_wr_set_xrc_srqn;
}
