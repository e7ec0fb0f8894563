// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Shared receive queues: creation, change of size and limit, events; and where receive requests
 * of a QP come from.
 *
 * The ring can be replaced while QPs consume from it. Nothing is posted meanwhile: the provider
 * holds its lock across modify_srq, and post_lock excludes kernel consumers. The lock excludes
 * QPs, and indices keep their values, so no request is lost or taken twice.
 */
#include "srq.h"

#include <linux/overflow.h>
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

#include "../base/dev.h"
#include "../base/udata.h"
#include "../inject/fault.h"
#include "qp.h"
#include "xrc.h"

#define SHCA_SRQ_START	ALIGN(sizeof(struct shca_qp_index), 64)

/* ---- consuming --------------------------------------------------------------- */

/* An armed limit is reached once; with @armed, not again unless requests came or went since. */
static void shca_srq_check_limit(struct shca_srq *srq, bool armed)
{
	u64 level;

	lockdep_assert_held(&srq->lock);
	if (!srq->limit)
		return;
	level = (u64)srq->ring.fetched << 32 | shca_recv_ring_count(&srq->ring);
	if ((u32)level >= srq->limit || (armed && level == srq->reported))
		return;
	srq->reported = level;
	/* @limit and @failed, too, are also read without the lock. */
	WRITE_ONCE(srq->limit, 0);
	WRITE_ONCE(srq->limit_hit, true);
}

enum shca_recv_status shca_srq_fetch(struct shca_srq *srq,
				     struct shca_recv_wr *wr)
{
	enum shca_recv_status status;
	unsigned long flags;

	spin_lock_irqsave(&srq->lock, flags);
	status = shca_recv_ring_fetch(to_shca_dev(srq->ibsrq.device),
				      &srq->ring, wr);
	if (status == SHCA_RECV_BAD || status == SHCA_RECV_BROKEN)
		WRITE_ONCE(srq->failed, true);
	shca_srq_check_limit(srq, false);
	spin_unlock_irqrestore(&srq->lock, flags);
	return status;
}

static void shca_srq_tell(struct shca_events *events, enum ib_event_type type)
{
	struct shca_srq *srq = container_of(events, struct shca_srq, events);
	struct ib_event ev = {
		.device = srq->ibsrq.device,
		.element.srq = &srq->ibsrq,
		.event = type,
	};

	if (srq->ibsrq.event_handler)
		srq->ibsrq.event_handler(&ev, srq->ibsrq.srq_context);
}

void shca_srq_report(struct shca_srq *srq)
{
	bool limit_hit, failed;
	unsigned long flags;

	if (likely(!READ_ONCE(srq->limit_hit) && !READ_ONCE(srq->failed)))
		return;
	spin_lock_irqsave(&srq->lock, flags);
	limit_hit = srq->limit_hit;
	failed = srq->failed;
	WRITE_ONCE(srq->limit_hit, false);
	WRITE_ONCE(srq->failed, false);
	spin_unlock_irqrestore(&srq->lock, flags);
	if (limit_hit)
		shca_event(&srq->events, IB_EVENT_SRQ_LIMIT_REACHED);
	if (failed)
		shca_event(&srq->events, IB_EVENT_SRQ_ERR);
}

/* ---- the receive requests of a QP ------------------------------------------------ */

enum shca_recv_status shca_rq_fetch(void *ctx, struct shca_recv_wr *wr)
{
	struct shca_mem_ctx *mem = ctx;
	struct shca_qp *qp = mem->qp;

	if (qp->rq.xrc)
		return shca_srq_fetch(qp->rq.xrc->srq, wr);
	if (qp->rq.srq)
		return shca_srq_fetch(qp->rq.srq, wr);
	return shca_recv_ring_fetch(qp->dev, &qp->rq.ring, wr);
}

u32 shca_rq_count(void *ctx)
{
	const struct shca_mem_ctx *mem = ctx;

	return shca_recv_ring_count(&mem->qp->rq.ring);
}

struct ib_pd *shca_rq_pd(const struct shca_qp *qp)
{
	if (qp->rq.xrc)
		return qp->rq.xrc->pd;
	return qp->rq.srq ? qp->rq.srq->ibsrq.pd : qp->pd;
}

void shca_rq_xrc_drop(struct shca_rq *rq)
{
	if (!rq->xrc)
		return;
	shca_srq_report(rq->xrc->srq);
	shca_xrc_put(rq->xrc);
	rq->xrc = NULL;
}

bool shca_rq_xrc_select(void *ctx, u32 srqn)
{
	struct shca_qp *qp = ((struct shca_mem_ctx *)ctx)->qp;

	lockdep_assert_held(&qp->rq.lock);
	shca_rq_xrc_drop(&qp->rq);
	qp->rq.xrc = shca_xrc_find(qp->dev, qp->xrcd, srqn);
	return qp->rq.xrc;
}

/* ---- memory --------------------------------------------------------------------- */

/* Allocate memory for @ring, which is not in use yet. */
static int shca_srq_alloc(struct shca_srq *srq, struct ib_ucontext *uctx,
			  struct shca_recv_ring *ring, struct shca_buf **buf,
			  struct rdma_user_mmap_entry **mmap)
{
	int err;

	*mmap = NULL;
	*buf = shca_buf_alloc(size_add(SHCA_SRQ_START,
				       array_size(ring->entries,
						  ring->stride)));
	if (!*buf)
		return -ENOMEM;
	ring->slots = (*buf)->va + SHCA_SRQ_START;
	ring->user_prod = &((struct shca_qp_index *)(*buf)->va)->rq_prod;
	ring->user_cons = &srq->status->cons;
	if (!uctx)
		return 0;
	err = shca_mmap_insert(uctx, *buf, true, mmap);
	if (err) {
		shca_buf_put(*buf);
		*buf = NULL;
	}
	return err;
}

/* Publish the memory in use; the process reads this after the command. */
static void shca_srq_publish(struct shca_srq *srq)
{
	srq->status->entries = srq->ring.entries;
	srq->status->ring_len = srq->ring_buf->len;
	if (srq->ring_mmap)
		srq->status->ring_off =
			rdma_user_mmap_get_offset(srq->ring_mmap);
}

/* ---- struct ib_device_ops ----------------------------------------------------------- */

static int shca_srq_map_user(struct shca_srq *srq, struct ib_ucontext *uctx,
			     struct ib_udata *udata)
{
	struct shca_create_srq_resp resp = {
		.start = SHCA_SRQ_START,
		.stride = srq->ring.stride,
		.max_sge = srq->ring.max_sge,
	};
	struct shca_create_srq_req req;
	int err;

	err = shca_udata_in(udata, &req, sizeof(req));
	if (err)
		return err;
	if (req.comp_mask || req.flags)
		return -EINVAL;
	err = shca_mmap_insert(uctx, srq->status_buf, false, &srq->status_mmap);
	if (err)
		return err;
	resp.status_off = rdma_user_mmap_get_offset(srq->status_mmap);
	return shca_udata_out(udata, &resp, sizeof(resp));
}

static void shca_srq_free(struct shca_srq *srq)
{
	rdma_user_mmap_entry_remove(srq->status_mmap);
	rdma_user_mmap_entry_remove(srq->ring_mmap);
	shca_buf_put(srq->ring_buf);
	shca_buf_put(srq->status_buf);
	shca_srq_tm_free(srq->tm);
	mutex_destroy(&srq->resize);
	shca_limit_put(to_shca_dev(srq->ibsrq.device), SHCA_LIMIT_SRQ, srq->is_user);
}

int shca_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		    struct ib_udata *udata)
{
	struct shca_dev *dev = to_shca_dev(ibsrq->device);
	struct shca_srq *srq = to_shca_srq(ibsrq);
	struct ib_ucontext *uctx = NULL;
	int err = shca_fault_verb(ibsrq->device, SHCA_FAULT_VERB_CREATE_SRQ);

	if (err)
		return err;
	err = -ENOMEM;
	switch (init->srq_type) {
	case IB_SRQT_BASIC:
		break;
	case IB_SRQT_TM:
		if (udata && !shca_lacks(dev, TM))
			break;	/* no kernel consumer uses it, nor XRC */
		return -EOPNOTSUPP;
	case IB_SRQT_XRC:
		if (udata && !shca_lacks(dev, XRC))
			break;
		fallthrough;
	default:
		return -EOPNOTSUPP;
	}
	/* A size of 0 becomes 1; the real size is returned. */
	init->attr.max_wr = max(init->attr.max_wr, 1u);
	if (init->attr.max_wr > shca_limit(dev, SRQ_WR) ||
	    init->attr.max_sge > shca_limit(dev, SRQ_SGE))
		return -EINVAL;
	if (init->srq_type == IB_SRQT_TM &&
	    (!init->ext.tag_matching.max_num_tags ||
	     init->ext.tag_matching.max_num_tags > shca_limit(dev, TAGS)))
		return -EINVAL;
	srq->is_user = udata;
	if (!shca_limit_get(dev, SHCA_LIMIT_SRQ, srq->is_user))
		return -ENOMEM;
	if (udata)
		uctx = &rdma_udata_to_drv_context(udata, struct shca_ucontext,
						  ibuc)->ibuc;
	spin_lock_init(&srq->lock);
	spin_lock_init(&srq->post_lock);
	mutex_init(&srq->resize);
	shca_events_init(&srq->events, srq->is_user, SHCA_EVENT_GAP_NS,
			 shca_srq_tell);
	srq->reported = -1;
	shca_recv_ring_size(&srq->ring, &init->attr.max_wr,
			    &init->attr.max_sge);
	if (init->srq_type == IB_SRQT_TM) {
		srq->tm = shca_srq_tm_alloc(init->ext.tag_matching.max_num_tags);
		if (!srq->tm)
			goto err_free;
	}
	srq->status_buf = shca_buf_alloc(sizeof(struct shca_srq_status));
	if (!srq->status_buf)
		goto err_free;
	srq->status = srq->status_buf->va;
	err = shca_srq_alloc(srq, uctx, &srq->ring, &srq->ring_buf,
			     &srq->ring_mmap);
	if (err)
		goto err_free;
	shca_srq_publish(srq);
	if (udata)
		err = shca_srq_map_user(srq, uctx, udata);
	/* Last step: from here on requests find the SRQ. */
	if (!err && init->srq_type == IB_SRQT_XRC)
		err = shca_xrc_add(dev, srq);
	if (!err)
		return 0;
err_free:
	shca_srq_free(srq);
	return err;
}

static void shca_srq_copy(struct shca_recv_ring *to,
			  const struct shca_recv_ring *from, u32 first, u32 end)
{
	for (; first != end; first++)
		memcpy(shca_recv_slot(to, first), shca_recv_slot(from, first),
		       to->stride);
}

/* Return: number of posted requests; @first: index of the first. */
static u32 shca_srq_posted(struct shca_srq *srq, u32 *first)
{
	unsigned long flags;
	u32 count;

	spin_lock_irqsave(&srq->lock, flags);
	*first = srq->ring.fetched;
	count = shca_recv_ring_count(&srq->ring);
	spin_unlock_irqrestore(&srq->lock, flags);
	return count;
}

/*
 * The ring may have megabytes, so it is copied before the locks are taken. A request does not
 * change until it is fetched, and neither ring needs one that was fetched meanwhile. Requests
 * that kernel consumers have posted since are copied under the locks. A process does not post,
 * see above; a request that it posts nevertheless is lost.
 */
static int shca_srq_resize(struct shca_srq *srq, struct ib_ucontext *uctx,
			   u32 max_wr)
{
	struct shca_recv_ring ring = { .fetched = 0 };
	struct rdma_user_mmap_entry *mmap, *old_mmap;
	u32 max_sge = srq->ring.max_sge, first, end;
	struct shca_buf *buf, *old_buf;
	unsigned long flags;
	int err;

	shca_recv_ring_size(&ring, &max_wr, &max_sge);
	err = shca_srq_alloc(srq, uctx, &ring, &buf, &mmap);
	if (err)
		return err;
	end = shca_srq_posted(srq, &first);
	err = end > max_wr ? -EINVAL : 0; /* IBTA 11.2.3.4: more are posted */
	end += first;
	if (!err)
		shca_srq_copy(&ring, &srq->ring, first, end);

	spin_lock_irqsave(&srq->post_lock, flags);
	spin_lock(&srq->lock);
	first = srq->ring.fetched;
	if (!err && !srq->is_user) {
		if (srq->ring.prod - first > max_wr)
			err = -EINVAL;
		else
			shca_srq_copy(&ring, &srq->ring, end, srq->ring.prod);
		end = srq->ring.prod;
	}
	if ((s32)(end - first) < 0)
		end = first;
	if (err) {
		spin_unlock(&srq->lock);
		spin_unlock_irqrestore(&srq->post_lock, flags);
		rdma_user_mmap_entry_remove(mmap);
		shca_buf_put(buf);
		return err;
	}
	*ring.user_prod = end;
	ring.fetched = first;
	ring.seen = end;
	ring.prod = srq->ring.prod;
	srq->ring = ring;
	old_buf = srq->ring_buf;
	old_mmap = srq->ring_mmap;
	srq->ring_buf = buf;
	srq->ring_mmap = mmap;
	shca_srq_publish(srq);
	spin_unlock(&srq->lock);
	spin_unlock_irqrestore(&srq->post_lock, flags);
	rdma_user_mmap_entry_remove(old_mmap);
	shca_buf_put(old_buf);
	return 0;
}

int shca_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		    enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct shca_srq *srq = to_shca_srq(ibsrq);
	struct ib_ucontext *uctx = NULL;
	int err = shca_fault_verb(ibsrq->device, SHCA_FAULT_VERB_MODIFY_SRQ);

	if (err)
		return err;
	if (mask & ~(IB_SRQ_MAX_WR | IB_SRQ_LIMIT))
		return -EINVAL;
	if (srq->is_user)
		uctx = &rdma_udata_to_drv_context(udata, struct shca_ucontext,
						  ibuc)->ibuc;
	mutex_lock(&srq->resize);
	if (mask & IB_SRQ_MAX_WR &&
	    (!attr->max_wr || attr->max_wr > shca_limit(to_shca_dev(ibsrq->device), SRQ_WR)))
		err = -EINVAL;
	if (mask & IB_SRQ_LIMIT &&
	    attr->srq_limit > (mask & IB_SRQ_MAX_WR ? attr->max_wr :
						      srq->ring.max_wr))
		err = -EINVAL;
	/* An armed limit must be one that can be reached. */
	if (mask & IB_SRQ_MAX_WR && !(mask & IB_SRQ_LIMIT) &&
	    attr->max_wr < READ_ONCE(srq->limit))
		err = -EINVAL;
	if (!err && mask & IB_SRQ_MAX_WR)
		err = shca_srq_resize(srq, uctx, attr->max_wr);
	if (!err && mask & IB_SRQ_LIMIT) {
		spin_lock_irq(&srq->lock);
		WRITE_ONCE(srq->limit, attr->srq_limit);
		/* If the limit is reached already, raise the event now, as adapters do. */
		shca_srq_check_limit(srq, true);
		spin_unlock_irq(&srq->lock);
		shca_srq_report(srq);
	}
	mutex_unlock(&srq->resize);
	return err;
}

int shca_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	struct shca_srq *srq = to_shca_srq(ibsrq);
	int err = shca_fault_verb(ibsrq->device, SHCA_FAULT_VERB_QUERY_SRQ);

	if (err)
		return err;
	mutex_lock(&srq->resize);
	attr->max_wr = srq->ring.max_wr;
	attr->max_sge = srq->ring.max_sge;
	attr->srq_limit = READ_ONCE(srq->limit);
	mutex_unlock(&srq->resize);
	return 0;
}

int shca_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct shca_srq *srq = to_shca_srq(ibsrq);

	/* No QP is attached to it (the RDMA core counts), but XRC QPs of its domain may use it. */
	if (ibsrq->srq_type == IB_SRQT_XRC)
		shca_xrc_del(to_shca_dev(ibsrq->device), srq);
	shca_events_stop(&srq->events, false);
	shca_srq_free(srq);
	return 0;
}

int shca_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad_wr)
{
	struct shca_srq *srq = to_shca_srq(ibsrq);

	if (srq->is_user) {
		*bad_wr = wr;
		return -EINVAL;
	}
	return shca_recv_ring_post(&srq->ring, &srq->post_lock, wr, bad_wr);
}
