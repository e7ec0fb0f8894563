// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tag matching: see tm.h. */
#include "tm.h"

#include <linux/slab.h>

#define UVERBS_MODULE_NAME softhca
#include <rdma/uverbs_named_ioctl.h>

#include "../../uapi/softhca-abi.h"
#include "../base/bh.h"
#include "../base/dev.h"
#include "cq.h"
#include "qp.h"
#include "srq.h"

static_assert(SHCA_LIM_TAGS < SHCA_TM_NIL);

/* ---- lifetime --------------------------------------------------------------- */

struct shca_srq_tm *shca_srq_tm_alloc(u32 nr_tags)
{
	struct shca_srq_tm *tm;

	tm = kzalloc(sizeof(*tm), GFP_KERNEL_ACCOUNT);
	if (!tm)
		return NULL;
	tm->slots = kvcalloc(nr_tags, sizeof(*tm->slots), GFP_KERNEL_ACCOUNT);
	tm->jobs = kvcalloc(nr_tags, sizeof(*tm->jobs), GFP_KERNEL_ACCOUNT);
	if (!tm->slots || !tm->jobs) {
		shca_srq_tm_free(tm);
		return NULL;
	}
	spin_lock_init(&tm->lock);
	shca_tm_init(&tm->tags, tm->slots, nr_tags);
	return tm;
}

void shca_srq_tm_free(struct shca_srq_tm *tm)
{
	if (!tm)
		return;
	kvfree(tm->jobs);
	kvfree(tm->slots);
	kfree(tm);
}

struct shca_srq_tm *shca_qp_tm(const struct shca_qp *qp)
{
	return qp->rq.srq ? qp->rq.srq->tm : NULL;
}

void shca_qp_tm_init(struct shca_qp *qp)
{
	INIT_LIST_HEAD(&qp->tm.due);
	INIT_LIST_HEAD(&qp->tm.posted);
}

static void shca_tm_release(struct shca_srq_tm *tm, struct shca_tm_job *job)
{
	lockdep_assert_held(&tm->lock);
	shca_tm_free(&tm->tags, job - tm->jobs);
}

static void shca_tm_release_all(struct shca_srq_tm *tm, struct list_head *list)
{
	struct shca_tm_job *job, *next;

	list_for_each_entry_safe(job, next, list, node)
		shca_tm_release(tm, job);
	INIT_LIST_HEAD(list);
}

void shca_tm_reset(struct shca_qp *qp)
{
	struct shca_srq_tm *tm = shca_qp_tm(qp);

	if (!tm)
		return;
	spin_lock(&tm->lock);
	shca_tm_release_all(tm, &qp->tm.due);
	shca_tm_release_all(tm, &qp->tm.posted);
	spin_unlock(&tm->lock);
}

/* ---- messages --------------------------------------------------------------- */

/* Make the job of a rendezvous of the tag in @slot. */
static struct shca_tm_job *shca_tm_make_job(struct shca_srq_tm *tm, u16 slot,
					    const struct shca_tm_msg *msg)
{
	const struct shca_tm_entry *tag = &tm->slots[slot];
	const struct shca_tmh fin = {
		.opcode = SHCA_TMH_FIN,
		.app_ctx = msg->tmh.app_ctx,
		.tag = msg->tmh.tag,
	};
	struct shca_tm_job *job = &tm->jobs[slot];

	job->step = SHCA_TM_READ;
	job->wr_id = tag->wr_id;
	job->sge = tag->sge;
	job->rvh = msg->rvh;
	shca_tmh_build(&fin, job->fin);
	return job;
}

/* The search, and the count of a miss, share a critical section: no tag is added in between. */
enum shca_recv_status shca_tm_get(void *ctx, const struct shca_tm_msg *msg,
				  struct shca_recv_wr *wr, bool *matched)
{
	struct shca_qp *qp = ((struct shca_mem_ctx *)ctx)->qp;
	enum shca_recv_status status = SHCA_RECV_OK;
	struct shca_srq_tm *tm = shca_qp_tm(qp);
	const struct shca_tm_entry *tag;
	u16 slot;

	lockdep_assert_held(&qp->rq.lock);
	spin_lock(&tm->lock);
	slot = shca_tm_match(&tm->tags, msg->tmh.tag);
	*matched = slot != SHCA_TM_NIL;
	if (*matched) {
		tag = &tm->slots[slot];
		wr->wr_id = tag->wr_id;
		wr->length = tag->sge.length;
		wr->num_sge = tag->sge.length ? 1 : 0;
		wr->sge[0] = tag->sge;
		if (msg->tmh.opcode == SHCA_TMH_RNDV)
			qp->tm.matched = shca_tm_make_job(tm, slot, msg);
		else
			shca_tm_free(&tm->tags, slot);
	} else {
		status = shca_srq_fetch(qp->rq.srq, wr);
		if (status == SHCA_RECV_OK)
			shca_tm_missed(&tm->tags);
	}
	spin_unlock(&tm->lock);
	return status;
}

void shca_tm_broke_off(void *ctx)
{
	struct shca_srq_tm *tm = shca_qp_tm(((struct shca_mem_ctx *)ctx)->qp);

	spin_lock(&tm->lock);
	shca_tm_undo(&tm->tags);
	spin_unlock(&tm->lock);
}

void shca_tm_begin(struct shca_qp *qp, bool rndv)
{
	struct shca_srq_tm *tm = shca_qp_tm(qp);
	struct shca_tm_job *job = qp->tm.matched;

	lockdep_assert_held(&qp->rq.lock);
	qp->tm.matched = NULL;
	spin_lock(&tm->lock);
	if (rndv)
		list_add_tail(&job->node, &qp->tm.due);
	else
		shca_tm_release(tm, job);
	spin_unlock(&tm->lock);
	/* The send side goes on; its lock is not taken inside rq.lock. */
	if (rndv && !qp->dead)
		shca_bh_schedule(&qp->sq.side.bh);
}

/* ---- rendezvous ------------------------------------------------------------- */

bool shca_tm_is_due(const struct shca_qp *qp)
{
	/* The CPU that adds one schedules the send side after that. */
	return data_race(!list_empty(&qp->tm.due));
}

bool shca_tm_next(struct shca_qp *qp, struct shca_send_wr *wr)
{
	struct shca_srq_tm *tm = shca_qp_tm(qp);
	struct shca_tm_job *job;

	lockdep_assert_held(&qp->sq.lock);
	spin_lock(&tm->lock);
	job = list_first_entry_or_null(&qp->tm.due, struct shca_tm_job, node);
	if (!job) {
		spin_unlock(&tm->lock);
		return false;
	}
	memset(wr, 0, sizeof(*wr));
	wr->own = job;
	wr->flags = SHCA_SEND_SIGNALED;
	if (job->step++ == SHCA_TM_READ) {
		wr->opcode = SHCA_WR_RDMA_READ;
		wr->rdma.remote_addr = job->rvh.va;
		wr->rdma.rkey = job->rvh.rkey;
		wr->length = job->rvh.len;
		wr->num_sge = 1;
		wr->sge[0] = job->sge;
	} else {
		/* A fence, as the sender may reuse its memory after the FIN. */
		wr->opcode = SHCA_WR_SEND;
		wr->flags |= SHCA_SEND_FENCE;
		wr->inline_data = job->fin;
		wr->length = sizeof(job->fin);
		list_move_tail(&job->node, &qp->tm.posted);
	}
	spin_unlock(&tm->lock);
	return true;
}

bool shca_tm_done(struct shca_qp *qp, const struct shca_wc *wc)
{
	bool ok = wc->status == SHCA_WC_SUCCESS;
	struct shca_srq_tm *tm = shca_qp_tm(qp);
	struct shca_tm_job *job = wc->own;
	struct shca_wc data;

	lockdep_assert_held(&qp->sq.lock);
	if (wc->opcode == SHCA_WC_SEND) {	/* the FIN, whatever became of it */
		spin_lock(&tm->lock);
		list_del(&job->node);
		shca_tm_release(tm, job);
		spin_unlock(&tm->lock);
		return true;
	}
	data = (struct shca_wc){
		.is_recv = true,
		.wr_id = job->wr_id,
		.opcode = SHCA_WC_TM_RECV,
		.status = ok ? SHCA_WC_SUCCESS : SHCA_WC_TM_RNDV_INCOMPLETE,
		.vendor_err = wc->vendor_err,
		.byte_len = ok ? job->rvh.len : 0,
		.wc_flags = ok ? SHCA_WC_TM_DATA_VALID : 0,
	};
	return shca_cq_post(qp->rq.cq, qp->ibqp, qp->qpn, &data);
}

/* ---- operations ------------------------------------------------------------- */

static int shca_tm_check(const struct shca_srq_op *op)
{
	if (op->opcode > SHCA_OP_TAG_SYNC ||
	    op->flags & ~(SHCA_OP_SIGNALED | SHCA_OP_TM_SYNC))
		return -EINVAL;
	return op->sge.length > SHCA_MAX_MSG ? -EINVAL : 0;
}

/* The completion of a tag comes before that of a message that got it. */
static void shca_tm_complete(struct shca_srq *srq, const struct shca_srq_op *op,
			     u8 status)
{
	static const u8 opcodes[] = {
		[SHCA_OP_TAG_ADD] = SHCA_WC_TM_ADD,
		[SHCA_OP_TAG_DEL] = SHCA_WC_TM_DEL,
		[SHCA_OP_TAG_SYNC] = SHCA_WC_TM_SYNC,
	};
	struct shca_wc wc = {
		.wr_id = op->wr_id,
		.opcode = opcodes[op->opcode],
		.status = status,
		.is_recv = true,
	};

	lockdep_assert_held(&srq->tm->lock);
	if (!(op->flags & SHCA_OP_SIGNALED))
		return;
	if (!shca_tm_in_sync(&srq->tm->tags))
		wc.wc_flags = SHCA_WC_TM_SYNC_REQ;
	/* A lost completion is an error of the CQ, not of a QP. */
	shca_cq_post(to_shca_cq(srq->ibsrq.ext.cq), NULL, 0, &wc);
}

static int shca_tm_take_slot(struct shca_srq_tm *tm, u32 *handle)
{
	int err;

	spin_lock_bh(&tm->lock);
	err = shca_tm_take(&tm->tags, handle) ? 0 : -ENOMEM;
	spin_unlock_bh(&tm->lock);
	return err;
}

static void shca_tm_give_slot(struct shca_srq_tm *tm, u32 handle)
{
	spin_lock_bh(&tm->lock);
	shca_tm_free(&tm->tags, handle);
	spin_unlock_bh(&tm->lock);
}

/* @handle: of an added tag */
static void shca_tm_op(struct shca_srq *srq, const struct shca_srq_op *op,
		       u32 handle)
{
	const struct shca_tm_entry entry = {
		.tag = op->tag,
		.mask = op->mask,
		.wr_id = op->recv_wr_id,
		.sge = op->sge,
	};
	struct shca_srq_tm *tm = srq->tm;
	u8 status = SHCA_WC_SUCCESS;

	spin_lock_bh(&tm->lock);
	if (op->opcode == SHCA_OP_TAG_ADD)
		shca_tm_post(&tm->tags, &entry, handle);
	if (op->opcode == SHCA_OP_TAG_DEL &&
	    !shca_tm_del(&tm->tags, op->handle))
		status = SHCA_WC_TM_ERR;
	if (op->flags & SHCA_OP_TM_SYNC)
		shca_tm_sync(&tm->tags, op->unexpected_cnt);
	shca_tm_complete(srq, op, status);
	spin_unlock_bh(&tm->lock);
}

/*
 * The process gets the handle before the operation. An added tag may get its message, and the
 * CQ the completion, at once; neither could be taken back.
 */
static int UVERBS_HANDLER(SHCA_METHOD_SRQ_OP)(struct uverbs_attr_bundle *attrs)
{
	struct shca_srq_op op = {};
	struct shca_srq *srq;
	struct ib_srq *ibsrq;
	u32 handle = 0;
	int err;

	ibsrq = uverbs_attr_get_obj(attrs, SHCA_ATTR_SRQ_OP_SRQ);
	if (IS_ERR(ibsrq))
		return PTR_ERR(ibsrq);
	srq = to_shca_srq(ibsrq);
	if (!srq->tm)
		return -EINVAL;
	err = uverbs_copy_from(&op, attrs, SHCA_ATTR_SRQ_OP_OP);
	if (!err)
		err = shca_tm_check(&op);
	if (!err && op.opcode == SHCA_OP_TAG_ADD)
		err = shca_tm_take_slot(srq->tm, &handle);
	if (err)
		return err;
	err = uverbs_copy_to(attrs, SHCA_ATTR_SRQ_OP_HANDLE, &handle,
			     sizeof(handle));
	if (!err)
		shca_tm_op(srq, &op, handle);
	else if (op.opcode == SHCA_OP_TAG_ADD)
		shca_tm_give_slot(srq->tm, handle);
	return err;
}

DECLARE_UVERBS_NAMED_METHOD(
	SHCA_METHOD_SRQ_OP,
	UVERBS_ATTR_IDR(SHCA_ATTR_SRQ_OP_SRQ, UVERBS_OBJECT_SRQ,
			UVERBS_ACCESS_READ, UA_MANDATORY),
	UVERBS_ATTR_PTR_IN(SHCA_ATTR_SRQ_OP_OP,
			   UVERBS_ATTR_STRUCT(struct shca_srq_op, handle),
			   UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(SHCA_ATTR_SRQ_OP_HANDLE, UVERBS_ATTR_TYPE(u32),
			    UA_MANDATORY));

ADD_UVERBS_METHODS(shca_srq_methods, UVERBS_OBJECT_SRQ,
		   &UVERBS_METHOD(SHCA_METHOD_SRQ_OP));

const struct uapi_definition shca_tm_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_SRQ, &shca_srq_methods),
	{},
};
