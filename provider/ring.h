/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Words shared with the kernel, and the order of accesses to them. Each access
 * to a shared index, flag or sequence is one of these functions. Each function
 * names the reason for its order, and the place in the kernel that it pairs
 * with. The provider has no other barriers on these words. Each pair has a test, which the
 * kernel's memory model judges (tests/litmus).
 *
 *	word		writer		ordered by		litmus
 *	cqe.seq		kernel		shca_cqe_is_valid()	cqe-seq
 *	index.cons	process		shca_cq_publish_cons()	cq-cons
 *	index.arm	process		shca_cq_publish_arm()	cq-arm
 *	index.sq_prod	process		shca_sq_publish()	sq-prod
 *	index.rq_prod	process		shca_rq_publish()	rq-prod
 *	status.*_cons	kernel		shca_wq_read_cons()	wq-cons
 *	status.flags	kernel		shca_rq_must_ring()	rq-flags
 *	status.sq_doorbell	kernel		shca_sq_must_ring()	sq-doorbell
 */
#ifndef SOFTHCA_RING_H
#define SOFTHCA_RING_H

#include <errno.h>
#include <string.h>

#include "softhca.h"

static inline uint32_t shca_load_acquire(const __u32 *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline void shca_store_release(__u32 *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/*
 * Has the kernel written the completion @index? Acquire: the fields of the completion are read
 * after its sequence. Pairs with the release store of seq that ends the kernel's writing
 * (litmus: cqe-seq).
 */
static inline bool shca_cqe_is_valid(const struct shca_cqe *cqe, uint32_t index)
{
	return shca_load_acquire(&cqe->seq) == index + 1;
}

/*
 * Slots below @cons may be overwritten. Release: the completions are copied before the kernel
 * may reuse their slots. Pairs with the kernel's control dependency: it writes a slot only if
 * the value of cons that it has read shows room (litmus: cq-cons).
 */
static inline void shca_cq_publish_cons(struct shca_cq_index *index,
					uint32_t cons)
{
	shca_store_release(&index->cons, cons);
}

/* The last request for an event; only this process writes it. */
static inline uint32_t shca_cq_read_arm(const struct shca_cq_index *index)
{
	return __atomic_load_n(&index->arm, __ATOMIC_RELAXED);
}

/*
 * Ask for an event.
 * @was:	the last request, on which @arm is based
 *
 * Full: the program polls once more after this. Either that poll sees the completion, or the
 * kernel sees the request. Pairs with the kernel's full barrier between storing a completion and
 * reading arm (litmus: cq-arm).
 *
 * Threads that arm have no lock. The exchange keeps each from overwriting a request that it has
 * not seen, which may be a stronger one.
 * Return: false: another thread was first; *@was is its request.
 */
static inline bool shca_cq_publish_arm(struct shca_cq_index *index,
				       uint32_t *was, uint32_t arm)
{
	if (!__atomic_compare_exchange_n(&index->arm, was, arm, false,
					 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return false;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return true;
}

/*
 * The send requests below @prod are complete. Release: slots are written before the index. Pairs
 * with the kernel's acquire of sq_prod (litmus: sq-prod). A doorbell follows, unless
 * shca_sq_must_ring() says that none is due.
 */
static inline void shca_sq_publish(struct shca_qp_index *index, uint32_t prod)
{
	shca_store_release(&index->sq_prod, prod);
}

/* A request with more bytes is worth a doorbell. */
#define SHCA_FEW_BYTES	1024

/* Does a request need a doorbell, whatever sq_doorbell is? */
static inline bool shca_send_is_urgent(const struct shca_send_wqe *wqe)
{
	const struct shca_sge *sge = (const struct shca_sge *)(wqe + 1);

	if (wqe->flags & ~SHCA_SEND_INLINE)
		return true;
	switch (wqe->opcode) {
	case SHCA_WR_SEND:
	case SHCA_WR_SEND_WITH_IMM:
	case SHCA_WR_RDMA_WRITE:
	case SHCA_WR_RDMA_WRITE_WITH_IMM:
	case SHCA_WR_RDMA_READ:
	case SHCA_WR_ATOMIC_CMP_AND_SWP:
	case SHCA_WR_ATOMIC_FETCH_AND_ADD:
		return wqe->inline_len > SHCA_FEW_BYTES || wqe->num_sge > 1 ||
		       (wqe->num_sge && sge->length > SHCA_FEW_BYTES);
	default:
		return true;
	}
}

/* A datagram is posted to @ah, whose end has to know of it (ah.c). */
static inline void shca_ah_used(const struct shca_qp *qp, struct shca_ah *ah)
{
	uint32_t qpn = __atomic_load_n(&ah->qpn, __ATOMIC_RELAXED);

	if (qpn == qp->vqp.qp.qp_num ||
	    (!qpn && __atomic_compare_exchange_n(&ah->qpn, &qpn, qp->vqp.qp.qp_num,
						 false, __ATOMIC_RELAXED,
						 __ATOMIC_RELAXED)))
		return;
	/* Written once: others read this line with each post. */
	if (unlikely(!__atomic_load_n(&ah->shared, __ATOMIC_RELAXED)))
		__atomic_store_n(&ah->shared, true, __ATOMIC_RELAXED);
}

/*
 * Is a doorbell due for requests up to @prod? Call after shca_sq_publish(). Full: the kernel
 * moves sq_doorbell back, executes a full barrier and reads the ring, at once or by the timer
 * that is due anyway. Either the kernel sees the new sq_prod, or this function sees the new
 * sq_doorbell (litmus: sq-doorbell).
 */
static inline bool shca_sq_must_ring(const struct shca_qp *qp, uint32_t prod)
{
	const __u32 *doorbell = &qp->status->sq_doorbell;

	/* Mostly a doorbell is due, and finding that out needs no barrier. */
	if (__atomic_load_n(doorbell, __ATOMIC_RELAXED) - prod - 1 > qp->sq.mask)
		return true;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return __atomic_load_n(doorbell, __ATOMIC_RELAXED) - prod - 1 > qp->sq.mask;
}

/* As shca_sq_publish(), for receive requests (litmus: rq-prod). */
static inline void shca_rq_publish(struct shca_qp_index *index, uint32_t prod)
{
	shca_store_release(&index->rq_prod, prod);
}

/*
 * Has the QP failed, so that nobody reads its ring? Call after shca_rq_publish(). Full: the
 * kernel sets the flag, executes a full barrier and flushes the ring. Either it sees the new
 * rq_prod, or this function sees the flag (litmus: rq-flags).
 */
static inline bool shca_rq_must_ring(const struct shca_qp_status *status)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return __atomic_load_n(&status->flags, __ATOMIC_RELAXED) &
	       SHCA_QPS_ERR;
}

/*
 * Slots below this index may be written again. Acquire: a slot is written only after the kernel
 * has fetched it. Pairs with the kernel's release store of sq_cons or rq_cons (litmus: wq-cons).
 */
static inline uint32_t shca_wq_read_cons(const __u32 *cons)
{
	return shca_load_acquire(cons);
}

/* Slot of the request @index. */
static inline void *shca_wq_slot(const struct shca_wq *wq, uint32_t index)
{
	return wq->slots + (size_t)(index & wq->mask) * wq->stride;
}

/*
 * Is there no room for a request at @prod? Reads the kernel's index only if the cached one shows
 * no room.
 * Context: wq->lock held.
 */
static inline bool shca_wq_is_full(struct shca_wq *wq, uint32_t prod,
				   const __u32 *cons)
{
	if (prod - wq->cons < wq->max_wr)
		return false;
	wq->cons = shca_wq_read_cons(cons);
	return prod - wq->cons >= wq->max_wr;
}

/* EINVAL if a receive request has too many segments. */
static inline int shca_wq_check_recv(const struct shca_wq *wq,
				     const struct ibv_recv_wr *wr)
{
	if (unlikely(wr->num_sge < 0 || (uint32_t)wr->num_sge > wq->max_sge))
		return EINVAL;
	return 0;
}

/* Write a checked receive request to its slot. */
static inline void shca_wq_fill_recv(struct shca_recv_wqe *wqe,
				     const struct ibv_recv_wr *wr)
{
	wqe->wr_id = wr->wr_id;
	wqe->num_sge = wr->num_sge;
	wqe->reserved = 0;
	memcpy(wqe + 1, wr->sg_list, wr->num_sge * sizeof(*wr->sg_list));
}

/*
 * Post a list of receive requests, of a QP, an SRQ or a WQ.
 * @index: @cons: the words of this ring
 * @watch:	see shca_watch_fn
 *
 * Called with wq->lock held.
 * Return: 0; ENOMEM (full) or EINVAL with @bad_wr set: those before it are posted.
 */
static SHCA_ALWAYS_INLINE int
shca_wq_write_recv(struct shca_wq *wq, struct shca_qp_index *index,
		   const __u32 *cons, struct ibv_recv_wr *wr,
		   struct ibv_recv_wr **bad_wr, shca_watch_fn *watch)
{
	uint32_t prod = wq->prod;
	int err = 0;

	for (; wr; wr = wr->next, prod++) {
		if (unlikely(shca_wq_is_full(wq, prod, cons)))
			err = ENOMEM;
		else
			err = shca_wq_check_recv(wq, wr);
		if (unlikely(err)) {
			*bad_wr = wr;
			break;
		}
		shca_wq_fill_recv(shca_wq_slot(wq, prod), wr);
	}
	if (prod != wq->prod) {
		if (watch)
			watch(wq, prod);
		wq->prod = prod;
		shca_rq_publish(index, prod);
	}
	return err;
}

/*
 * The same for a QP or a WQ, which may have failed.
 * @must_ring:	a doorbell is due
 */
static SHCA_ALWAYS_INLINE int
shca_rq_post(struct shca_wq *rq, struct shca_qp_index *index,
	     const struct shca_qp_status *status, struct ibv_recv_wr *wr,
	     struct ibv_recv_wr **bad_wr, bool *must_ring, shca_watch_fn *watch)
{
	uint32_t prod;
	bool posted;
	int err;

	shca_lock(&rq->lock);
	prod = rq->prod;
	err = shca_wq_write_recv(rq, index, &status->rq_cons, wr, bad_wr,
				 watch);
	posted = rq->prod != prod;
	shca_unlock(&rq->lock);
	*must_ring = posted && shca_rq_must_ring(status);
	return err;
}

#endif
