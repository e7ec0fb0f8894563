// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The verbs sanitizer: the functions in the operations of a context. Each calls the real
 * one, which may be one of SOFTHCA_FAULTS.
 */
#include "lint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SHCA_LINT_GIDS	1024

/* ---- regions, windows, address handles ------------------------------------ */

static struct shca_lint_mr *shca_lint_mr(const struct ibv_mr *mr, uint64_t addr,
					 uint64_t length, uint64_t iova,
					 uint32_t access, bool readable)
{
	struct shca_lint_mr *region = calloc(1, sizeof(*region));

	if (!region)
		return NULL;
	region->lkey = mr->lkey;
	region->addr = addr;
	region->length = length;
	region->iova = iova;
	region->access = access;
	region->readable = readable;
	return region;
}

static struct ibv_mr *shca_lint_reg_mr(struct ibv_pd *pd, void *addr,
				       size_t length, uint64_t iova, int access)
{
	struct shca_lint *lint = shca_lint_of(pd->context);
	struct ibv_mr *mr = lint->next.reg_mr(pd, addr, length, iova, access);

	if (mr)
		shca_lint_mr_add(lint, shca_lint_mr(mr, (uintptr_t)addr, length,
						    iova, access, true));
	return mr;
}

static struct ibv_mr *shca_lint_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
					      size_t length, uint64_t iova,
					      int fd, int access)
{
	struct shca_lint *lint = shca_lint_of(pd->context);
	struct ibv_mr *mr = lint->next.reg_dmabuf_mr(pd, offset, length, iova, fd,
						     access);

	if (mr)
		shca_lint_mr_add(lint, shca_lint_mr(mr, 0, length, iova, access,
						    false));
	return mr;
}

static struct ibv_mr *shca_lint_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm,
					  uint64_t offset, size_t length,
					  unsigned int access)
{
	struct shca_lint *lint = shca_lint_of(pd->context);
	struct ibv_mr *mr = lint->next.reg_dm_mr(pd, dm, offset, length, access);

	if (mr)
		shca_lint_mr_add(lint, shca_lint_mr(mr, 0, length, 0, access,
						    false));
	return mr;
}

static bool shca_lint_uses_mr(const struct shca_lint_post *post, uint64_t lkey)
{
	uint32_t i;

	for (i = 0; i < post->nr_sge; i++)
		if (post->sge[i].length && post->sge[i].lkey == lkey)
			return true;
	return post->mr_lkey && post->mr_lkey == lkey;
}

static int shca_lint_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd,
			      void *addr, size_t length, int access)
{
	struct shca_lint *lint = shca_lint_of(vmr->ibv_mr.context);
	uint32_t lkey = vmr->ibv_mr.lkey;
	struct shca_lint_mr *old, new;
	int err;

	err = lint->next.rereg_mr(vmr, flags, pd, addr, length, access);
	if (err)
		return err;
	pthread_mutex_lock(&lint->lock);
	old = shca_lint_mr_find(lint, lkey);
	if (old)
		new = *old;
	pthread_mutex_unlock(&lint->lock);
	if (!old)
		return 0;
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		new.addr = new.iova = (uintptr_t)addr;
		new.length = length;
	}
	if (flags & IBV_REREG_MR_CHANGE_ACCESS)
		new.access = access;
	shca_lint_mr_del(lint, lkey);
	shca_lint_mr_add(lint, shca_lint_mr(&vmr->ibv_mr, new.addr, new.length,
					    new.iova, new.access, new.readable));
	return 0;
}

static int shca_lint_dereg_mr(struct verbs_mr *vmr)
{
	struct shca_lint *lint = shca_lint_of(vmr->ibv_mr.context);
	uint32_t lkey = vmr->ibv_mr.lkey;
	int err;

	shca_lint_used(lint, SHCA_LINT_MR_IN_USE, shca_lint_uses_mr, lkey,
		       "its memory region is deregistered while it is posted");
	err = lint->next.dereg_mr(vmr);
	if (!err)
		shca_lint_mr_del(lint, lkey);
	return err;
}

/* A window keeps its index in all its keys. */
static bool shca_lint_uses_mw(const struct shca_lint_post *post, uint64_t rkey)
{
	return post->mw && post->mw >> 8 == rkey >> 8;
}

static int shca_lint_dealloc_mw(struct ibv_mw *mw)
{
	struct shca_lint *lint = shca_lint_of(mw->context);

	shca_lint_used(lint, SHCA_LINT_MW_IN_USE, shca_lint_uses_mw, mw->rkey,
		       "its memory window is deallocated while it is posted");
	return lint->next.dealloc_mw(mw);
}

static bool shca_lint_uses_ah(const struct shca_lint_post *post, uint64_t ah)
{
	return post->ah == ah;
}

static int shca_lint_destroy_ah(struct ibv_ah *ah)
{
	struct shca_lint *lint = shca_lint_of(ah->context);

	shca_lint_used(lint, SHCA_LINT_AH_IN_USE, shca_lint_uses_ah,
		       SHCA_LINT_AH | to_shca_ah(ah)->handle,
		       "its address handle is destroyed while it is posted");
	return lint->next.destroy_ah(ah);
}

/* ---- completion queues ----------------------------------------------------- */

static inline struct shca_cq *to_shca_cq_ex(struct ibv_cq_ex *cqx)
{
	return container_of(cqx, struct shca_cq, vcq.cq_ex);
}

/* Requests come, but not the one with rq_psn: a lost one comes again within this time. */
#define SHCA_LINT_PSN_MS	1000
#define SHCA_LINT_CHECK_MS	100

/*
 * Is sq_psn of the peer another PSN than rq_psn? @ending: no more will come, so it is
 * not waited for. Context: lint->lock held.
 */
static void shca_lint_check_psn(struct shca_lint *lint, struct shca_lint_qp *qp,
				uint64_t now, bool ending)
{
	uint32_t first = __atomic_load_n(&qp->qp->status->first_psn, __ATOMIC_RELAXED);
	struct shca_lint_stack stack;

	if (!first) {
		qp->psn_at = 0;
		return;
	}
	if (!qp->psn_at)
		qp->psn_at = now;
	if (qp->psn_said || (!ending && now - qp->psn_at < SHCA_LINT_PSN_MS))
		return;
	qp->psn_said = true;
	shca_lint_stack_get(&stack);
	shca_lint_say(lint, SHCA_LINT_FIRST_PSN, &qp->recv, NULL, &stack,
		      "the first request has PSN %u, but rq_psn is %u, and no request with it has come",
		      first & ~SHCA_QPS_FIRST_PSN, qp->rq_psn);
}

/* A program that waits for a message polls an empty CQ. */
static void shca_lint_check_psns(struct shca_lint *lint)
{
	struct shca_lint_qp *qp;
	struct timespec ts;
	uint64_t now;
	int i;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	now = ts.tv_sec * 1000ull + ts.tv_nsec / 1000000;
	pthread_mutex_lock(&lint->lock);
	if (now - lint->psn_checked >= SHCA_LINT_CHECK_MS) {
		lint->psn_checked = now;
		for (i = 0; i < SHCA_LINT_BUCKETS; i++)
			list_for_each(&lint->qps[i], qp, entry)
				if (!qp->ending)
					shca_lint_check_psn(lint, qp, now, false);
	}
	pthread_mutex_unlock(&lint->lock);
}

static int shca_lint_poll_cq(struct ibv_cq *ibcq, int num_entries,
			     struct ibv_wc *wc)
{
	struct shca_lint *lint = shca_lint_of(ibcq->context);
	int n = lint->next.poll_cq(ibcq, num_entries, wc), i;

	for (i = 0; i < n; i++)
		shca_lint_completed(lint, wc[i].wr_id, wc[i].status, wc[i].opcode,
				    wc[i].qp_num, wc[i].byte_len);
	if (!n)
		shca_lint_check_psns(lint);
	return n;
}

static void shca_lint_see(struct shca_cq *cq)
{
	const struct shca_cqe *cqe = cq->cur;

	shca_lint_completed(shca_lint_of(cq->vcq.cq.context), cqe->wr_id,
			    cqe->status, cqe->opcode, cqe->qp_num, cqe->byte_len);
}

static int shca_lint_start_poll(struct ibv_cq_ex *cqx,
				struct ibv_poll_cq_attr *attr)
{
	struct shca_cq *cq = to_shca_cq_ex(cqx);
	int err = cq->lint->start_poll(cqx, attr);

	if (!err)
		shca_lint_see(cq);
	else if (err == ENOENT)
		shca_lint_check_psns(shca_lint_of(cq->vcq.cq.context));
	return err;
}

static int shca_lint_next_poll(struct ibv_cq_ex *cqx)
{
	struct shca_cq *cq = to_shca_cq_ex(cqx);
	int err = cq->lint->next_poll(cqx);

	if (!err)
		shca_lint_see(cq);
	return err;
}

static struct ibv_cq *shca_lint_create_cq(struct ibv_context *ibctx, int cqe,
					  struct ibv_comp_channel *channel,
					  int vector)
{
	struct shca_lint_cq *cq;
	struct ibv_cq *ibcq;

	ibcq = shca_lint_of(ibctx)->next.create_cq(ibctx, cqe, channel, vector);
	if (!ibcq)
		return NULL;
	cq = calloc(1, sizeof(*cq));
	if (cq)
		cq->ibcq = ibcq;
	to_shca_cq(ibcq)->lint = cq;
	return ibcq;
}

static struct ibv_cq_ex *shca_lint_create_cq_ex(struct ibv_context *ibctx,
						struct ibv_cq_init_attr_ex *attr)
{
	struct ibv_cq_ex *cqx = shca_lint_of(ibctx)->next.create_cq_ex(ibctx, attr);
	struct shca_lint_cq *cq;

	if (!cqx)
		return NULL;
	cq = calloc(1, sizeof(*cq));
	to_shca_cq_ex(cqx)->lint = cq;
	if (!cq)
		return cqx;
	cq->ibcq = ibv_cq_ex_to_cq(cqx);
	cq->may_overrun = attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS &&
			  attr->flags & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
	cq->start_poll = cqx->start_poll;
	cq->next_poll = cqx->next_poll;
	cqx->start_poll = shca_lint_start_poll;
	cqx->next_poll = shca_lint_next_poll;
	return cqx;
}

static int shca_lint_destroy_cq(struct ibv_cq *ibcq)
{
	struct shca_lint_cq *cq = to_shca_cq(ibcq)->lint;
	int err = shca_lint_of(ibcq->context)->next.destroy_cq(ibcq);

	if (!err)
		free(cq);
	return err;
}

/* ---- shared receive queues -------------------------------------------------- */

/*
 * An SRQ of XRC completes by QPs that this process may not have, and one with tags in
 * ways of its own. They are not watched.
 */
static void shca_lint_add_srq(struct shca_lint *lint, struct shca_srq *srq)
{
	struct shca_lint_srq *new = calloc(1, sizeof(*new));

	if (!new)
		return;
	new->srq = srq;
	shca_lint_queue_init(&new->queue, lint, &srq->wq, false);
	pthread_mutex_lock(&lint->lock);
	list_add_tail(&lint->srqs, &new->entry);
	pthread_mutex_unlock(&lint->lock);
}

static struct ibv_srq *shca_lint_create_srq(struct ibv_pd *pd,
					    struct ibv_srq_init_attr *attr)
{
	struct shca_lint *lint = shca_lint_of(pd->context);
	struct ibv_srq *srq = lint->next.create_srq(pd, attr);

	if (srq)
		shca_lint_add_srq(lint, to_shca_srq(srq));
	return srq;
}

static struct ibv_srq *shca_lint_create_srq_ex(struct ibv_context *ibctx,
					       struct ibv_srq_init_attr_ex *attr)
{
	struct shca_lint *lint = shca_lint_of(ibctx);
	struct ibv_srq *srq = lint->next.create_srq_ex(ibctx, attr);

	if (srq && (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) ||
		    attr->srq_type == IBV_SRQT_BASIC))
		shca_lint_add_srq(lint, to_shca_srq(srq));
	return srq;
}

static struct shca_lint_srq *shca_lint_srq_of(struct ibv_srq *ibsrq)
{
	struct shca_lint_queue *queue = ibsrq ? to_shca_srq(ibsrq)->wq.lint : NULL;

	return queue ? container_of(queue, struct shca_lint_srq, queue) : NULL;
}

static int shca_lint_destroy_srq(struct ibv_srq *ibsrq)
{
	struct shca_lint *lint = shca_lint_of(ibsrq->context);
	struct shca_lint_srq *srq = shca_lint_srq_of(ibsrq);
	int err = lint->next.destroy_srq(ibsrq);

	if (err || !srq)
		return err;
	pthread_mutex_lock(&lint->lock);
	list_del(&srq->entry);
	shca_lint_queue_clear(&srq->queue);
	pthread_mutex_unlock(&lint->lock);
	free(srq);
	return 0;
}

/* ---- queue pairs ------------------------------------------------------------- */

/* Requests of ibv_wr_*(): the lock of the queue is held since ibv_wr_start(). */
static int shca_lint_wr_complete(struct ibv_qp_ex *qpx)
{
	struct shca_qp *qp = container_of(qpx, struct shca_qp, vqp.qp_ex);

	if (!qp->ex.err && qp->ex.prod != qp->sq.prod)
		shca_lint_posted(&qp->sq, qp->ex.prod);
	return qp->sq.lint->qp->wr_complete(qpx);
}

static void shca_lint_add_qp(struct shca_lint *lint, struct shca_qp *qp,
			     const struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp_ex *qpx = &qp->vqp.qp_ex;
	struct shca_lint_qp *new;

	/* One without rings is not posted to. */
	if (!qp->index)
		return;
	new = calloc(1, sizeof(*new));
	if (!new)
		return;
	new->qp = qp;
	new->qp_num = qp->vqp.qp.qp_num;
	new->srq = shca_lint_srq_of(attr->srq);
	shca_lint_queue_init(&new->send, lint, &qp->sq, true);
	shca_lint_queue_init(&new->recv, lint, &qp->rq, false);
	new->send.qp = new;
	new->recv.qp = new;
	if (attr->send_cq)
		new->send.cq = to_shca_cq(attr->send_cq)->lint;
	if (attr->recv_cq)
		new->recv.cq = to_shca_cq(attr->recv_cq)->lint;
	if (qp->vqp.comp_mask & VERBS_QP_EX) {
		new->wr_complete = qpx->wr_complete;
		qpx->wr_complete = shca_lint_wr_complete;
	}
	pthread_mutex_lock(&lint->lock);
	list_add(&lint->qps[new->qp_num % SHCA_LINT_BUCKETS], &new->entry);
	pthread_mutex_unlock(&lint->lock);
}

static struct ibv_qp *shca_lint_create_qp(struct ibv_pd *pd,
					  struct ibv_qp_init_attr *attr)
{
	struct shca_lint *lint = shca_lint_of(pd->context);
	struct ibv_qp_init_attr_ex attr_ex = {
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
	};
	struct ibv_qp *qp = lint->next.create_qp(pd, attr);

	if (qp)
		shca_lint_add_qp(lint, to_shca_qp(qp), &attr_ex);
	return qp;
}

static struct ibv_qp *shca_lint_create_qp_ex(struct ibv_context *ibctx,
					     struct ibv_qp_init_attr_ex *attr)
{
	struct shca_lint *lint = shca_lint_of(ibctx);
	struct ibv_qp *qp = lint->next.create_qp_ex(ibctx, attr);

	if (qp)
		shca_lint_add_qp(lint, to_shca_qp(qp), attr);
	return qp;
}

static struct shca_lint_qp *shca_lint_qp_of(struct ibv_qp *ibqp)
{
	struct shca_lint_queue *queue = to_shca_qp(ibqp)->sq.lint;

	return queue ? queue->qp : NULL;
}

static int shca_lint_destroy_qp(struct ibv_qp *ibqp)
{
	struct shca_lint *lint = shca_lint_of(ibqp->context);
	struct shca_lint_qp *qp = shca_lint_qp_of(ibqp);
	struct shca_lint_cq *send_cq, *recv_cq;
	int err;

	if (!qp)
		return lint->next.destroy_qp(ibqp);
	pthread_mutex_lock(&lint->lock);
	shca_lint_check_psn(lint, qp, 0, true);
	qp->ending = true;
	/* Once the real one is gone, another thread may destroy its CQs. */
	send_cq = qp->send.cq;
	recv_cq = qp->recv.cq;
	shca_lint_queue_set_cq(&qp->send, NULL);
	shca_lint_queue_set_cq(&qp->recv, NULL);
	pthread_mutex_unlock(&lint->lock);
	err = lint->next.destroy_qp(ibqp);
	pthread_mutex_lock(&lint->lock);
	qp->ending = false;
	if (!err) {
		list_del(&qp->entry);
		shca_lint_queue_clear(&qp->send);
		shca_lint_queue_clear(&qp->recv);
	} else {
		shca_lint_queue_set_cq(&qp->send, send_cq);
		shca_lint_queue_set_cq(&qp->recv, recv_cq);
	}
	pthread_mutex_unlock(&lint->lock);
	if (!err)
		free(qp);
	return err;
}

/* Is the port's own address at the other end? Then nothing is lost. */
static bool shca_lint_is_self(struct ibv_context *ibctx,
			      const struct ibv_ah_attr *ah)
{
	struct ibv_gid_entry *entries;
	struct ibv_port_attr port;
	bool found = false;
	ssize_t nr, i;

	if (!ah->is_global)
		return !ibv_query_port(ibctx, ah->port_num, &port) &&
		       port.lid == ah->dlid;
	entries = calloc(SHCA_LINT_GIDS, sizeof(*entries));
	if (!entries)
		return true;
	nr = ibv_query_gid_table(ibctx, entries, SHCA_LINT_GIDS, 0);
	for (i = 0; i < nr && !found; i++)
		found = !memcmp(&entries[i].gid, &ah->grh.dgid,
				sizeof(ah->grh.dgid));
	free(entries);
	return found;
}

static void shca_lint_check_path(struct shca_lint *lint, struct shca_lint_qp *qp,
				 const struct ibv_qp_attr *attr, int mask)
{
	struct shca_lint_stack now;

	if (qp->self)
		return;
	shca_lint_stack_get(&now);
	if (mask & IBV_QP_TIMEOUT && !attr->timeout)
		shca_lint_say(lint, SHCA_LINT_NO_TIMEOUT, &qp->send, NULL, &now,
			      "timeout is 0, so it waits for ever if the last packet of a request is lost");
	if (mask & IBV_QP_RETRY_CNT && !attr->retry_cnt)
		shca_lint_say(lint, SHCA_LINT_NO_RETRY, &qp->send, NULL, &now,
			      "retry_cnt is 0, so the first packet that is lost ends it");
}

static int shca_lint_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr,
			       int mask)
{
	struct shca_lint *lint = shca_lint_of(ibqp->context);
	struct shca_lint_qp *qp = shca_lint_qp_of(ibqp);
	int err;

	if (!qp)
		return lint->next.modify_qp(ibqp, attr, mask);
	if (mask & IBV_QP_STATE &&
	    (attr->qp_state == IBV_QPS_RESET || attr->qp_state == IBV_QPS_ERR)) {
		pthread_mutex_lock(&lint->lock);
		shca_lint_check_psn(lint, qp, 0, true);
		pthread_mutex_unlock(&lint->lock);
	}
	err = lint->next.modify_qp(ibqp, attr, mask);
	if (err)
		return err;
	if (mask & IBV_QP_AV)
		qp->self = shca_lint_is_self(ibqp->context, &attr->ah_attr);
	pthread_mutex_lock(&lint->lock);
	if (mask & IBV_QP_MAX_QP_RD_ATOMIC) {
		qp->has_read_depth = true;
		qp->read_depth = attr->max_rd_atomic;
	}
	if (mask & IBV_QP_RQ_PSN)
		qp->rq_psn = attr->rq_psn & 0xffffff;
	if (mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RESET) {
		shca_lint_queue_clear(&qp->send);
		shca_lint_queue_clear(&qp->recv);
		qp->has_read_depth = false;
		qp->psn_at = 0;
		qp->psn_said = false;
	}
	pthread_mutex_unlock(&lint->lock);
	shca_lint_check_path(lint, qp, attr, mask);
	return 0;
}

void shca_lint_set_ops(struct verbs_context_ops *ops)
{
	ops->create_cq = shca_lint_create_cq;
	ops->create_cq_ex = shca_lint_create_cq_ex;
	ops->create_qp = shca_lint_create_qp;
	ops->create_qp_ex = shca_lint_create_qp_ex;
	ops->create_srq = shca_lint_create_srq;
	ops->create_srq_ex = shca_lint_create_srq_ex;
	ops->dealloc_mw = shca_lint_dealloc_mw;
	ops->dereg_mr = shca_lint_dereg_mr;
	ops->destroy_ah = shca_lint_destroy_ah;
	ops->destroy_cq = shca_lint_destroy_cq;
	ops->destroy_qp = shca_lint_destroy_qp;
	ops->destroy_srq = shca_lint_destroy_srq;
	ops->modify_qp = shca_lint_modify_qp;
	ops->poll_cq = shca_lint_poll_cq;
	ops->post_recv = shca_lint_post_recv;
	ops->post_send = shca_lint_post_send;
	ops->post_srq_recv = shca_lint_post_srq_recv;
	ops->reg_dm_mr = shca_lint_reg_dm_mr;
	ops->reg_dmabuf_mr = shca_lint_reg_dmabuf_mr;
	ops->reg_mr = shca_lint_reg_mr;
	ops->rereg_mr = shca_lint_rereg_mr;
}
