// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Work queues: each is the receive half of a QP without a send half. So rings, on-demand
 * paging, completions, flushing and destruction are the same as for QPs. WQ numbers are QP
 * numbers, lest completions of two queues look alike. Packets from the wire that name one are
 * refused as those to any RAW_PACKET QP.
 *
 * QP states stand for those of the WQ: RESET, RTR for RDY, ERR.
 *
 * Lifetime. The RDMA core counts uses: a WQ stays while a table has it, and a table while a
 * QP has it. Such a QP waits for all packets that have found it.
 */
#include "wq.h"

#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

#include "../base/dev.h"
#include "../base/trace.h"
#include "../base/udata.h"
#include "../inject/fault.h"
#include "../path/qp_error.h"
#include "../queue/cq.h"
#include "../queue/qp.h"
#include "../queue/qp_table.h"
#include "qp_modify.h"
#include "qp_verbs.h"

/* ---- work queues --------------------------------------------------------------- */

static int shca_wq_check_init(const struct shca_dev *dev,
			      const struct ib_wq_init_attr *init)
{
	if (init->wq_type != IB_WQT_RQ || IS_ERR_OR_NULL(init->cq))
		return -EINVAL;
	if (init->create_flags)
		return -EOPNOTSUPP;
	if (init->max_wr > shca_limit(dev, QP_WR) ||
	    init->max_sge > shca_limit(dev, RECV_SGE))
		return -EINVAL;
	return 0;
}

static int shca_wq_map_user(struct shca_qp *qp, struct ib_udata *udata)
{
	struct shca_ucontext *uctx =
		rdma_udata_to_drv_context(udata, struct shca_ucontext, ibuc);
	struct shca_create_wq_resp resp = {
		.ring_len = qp->ring_buf->len,
		.start = shca_qp_rq_start(qp),
		.entries = qp->rq.ring.entries,
		.stride = qp->rq.ring.stride,
		.max_sge = qp->rq.ring.max_sge,
	};
	struct shca_create_wq_req req;
	int err;

	err = shca_udata_in(udata, &req, sizeof(req));
	if (err)
		return err;
	if (req.comp_mask || req.flags)
		return -EINVAL;
	err = shca_qp_share(qp, &uctx->ibuc);
	if (err)
		return err;
	resp.ring_off = rdma_user_mmap_get_offset(qp->ring_mmap);
	resp.status_off = rdma_user_mmap_get_offset(qp->status_mmap);
	return shca_udata_out(udata, &resp, sizeof(resp));
}

/* Create the receive half of @wq. */
static int shca_wq_make_qp(struct shca_wq *wq, struct ib_pd *pd,
			   struct ib_wq_init_attr *init, struct ib_udata *udata)
{
	struct ib_qp_init_attr qp_init = {
		.qp_type = IB_QPT_RAW_PACKET,
		.recv_cq = init->cq,
		.cap = { .max_recv_wr = init->max_wr,
			 .max_recv_sge = init->max_sge },
	};
	struct shca_dev *dev = to_shca_dev(pd->device);
	struct shca_qp *qp;
	int err;

	qp = shca_qp_make(dev, pd, &qp_init, wq, NULL, true);
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	err = shca_wq_map_user(qp, udata);
	if (!err)
		err = shca_net_add_qp(dev->snet, qp, udata);
	if (err) {
		shca_qp_free(qp);
		return err;
	}
	wq->qp = qp;
	init->max_wr = qp_init.cap.max_recv_wr;
	init->max_sge = qp_init.cap.max_recv_sge;
	return 0;
}

struct ib_wq *shca_create_wq(struct ib_pd *pd, struct ib_wq_init_attr *init,
			     struct ib_udata *udata)
{
	struct shca_wq *wq;
	int err;

	if (!udata)	/* no kernel consumer has work queues */
		return ERR_PTR(-EOPNOTSUPP);
	err = shca_fault_verb(pd->device, SHCA_FAULT_VERB_CREATE_WQ);
	if (err)
		return ERR_PTR(err);
	err = shca_wq_check_init(to_shca_dev(pd->device), init);
	if (err)
		return ERR_PTR(err);
	wq = kzalloc(sizeof(*wq), GFP_KERNEL_ACCOUNT);
	if (!wq)
		return ERR_PTR(-ENOMEM);
	wq->ibwq.device = pd->device;
	wq->ibwq.event_handler = init->event_handler;
	wq->ibwq.wq_context = init->wq_context;
	wq->ibwq.state = IB_WQS_RESET;
	err = shca_wq_make_qp(wq, pd, init, udata);
	if (err) {
		kfree(wq);
		return ERR_PTR(err);
	}
	wq->ibwq.wq_num = wq->qp->qpn;
	return &wq->ibwq;
}

static enum ib_wq_state shca_wq_state(const struct shca_qp *qp)
{
	switch (READ_ONCE(qp->state)) {
	case IB_QPS_RESET:
		return IB_WQS_RESET;
	case IB_QPS_ERR:
		return IB_WQS_ERR;
	default:
		return IB_WQS_RDY;
	}
}

/* Only RESET leads out of the error state, and a WQ in RESET cannot fail. */
static bool shca_wq_may_become(enum ib_wq_state cur, enum ib_wq_state next)
{
	switch (next) {
	case IB_WQS_RESET:
		return true;
	case IB_WQS_RDY:
		return cur != IB_WQS_ERR;
	case IB_WQS_ERR:
		return cur != IB_WQS_RESET;
	}
	return false;
}

/* Under both locks. The RDMA core's copy of the state cannot follow a WQ that fails. */
static void shca_wq_become(struct shca_wq *wq, enum ib_wq_state next)
{
	const struct shca_resp_attr attr = {
		.transport = SHCA_TRANSPORT_RAW,
		.tells_short = true,
	};
	struct shca_qp *qp = wq->qp;

	if (shca_wq_state(qp) == next)
		return;
	if (next == IB_WQS_ERR) {
		shca_qp_set_error_locked(qp);
		return;
	}
	if (next == IB_WQS_RESET)
		shca_qp_reset_locked(qp);
	else
		shca_resp_start(&qp->rq.resp, &attr);
	trace_shca_state(&qp->dev->ibdev, qp->qpn, qp->state,
			 next == IB_WQS_RDY ? IB_QPS_RTR : IB_QPS_RESET);
	WRITE_ONCE(qp->state, next == IB_WQS_RDY ? IB_QPS_RTR : IB_QPS_RESET);
}

int shca_modify_wq(struct ib_wq *ibwq, struct ib_wq_attr *attr, u32 mask,
		   struct ib_udata *udata)
{
	struct shca_wq *wq = to_shca_wq(ibwq);
	struct shca_qp *qp = wq->qp;
	enum ib_wq_state cur;
	int err = 0;

	if (udata->inlen && !ib_is_udata_cleared(udata, 0, udata->inlen))
		return -EINVAL;
	if (mask & IB_WQ_FLAGS && attr->flags_mask)
		return -EOPNOTSUPP;
	spin_lock_bh(&qp->sq.lock);
	spin_lock(&qp->rq.lock);
	cur = shca_wq_state(qp);
	if ((mask & IB_WQ_CUR_STATE && attr->curr_wq_state != cur) ||
	    (mask & IB_WQ_STATE && !shca_wq_may_become(cur, attr->wq_state)))
		err = -EINVAL;
	else if (mask & IB_WQ_STATE)
		shca_wq_become(wq, attr->wq_state);
	shca_qp_unlock(qp);
	/* As for a QP, completions of before are dropped. */
	if (!err && mask & IB_WQ_STATE && attr->wq_state == IB_WQS_RESET)
		shca_qp_purge_cqs(qp);
	return err;
}

int shca_destroy_wq(struct ib_wq *ibwq, struct ib_udata *udata)
{
	struct shca_wq *wq = to_shca_wq(ibwq);

	shca_qp_end(wq->qp);
	kfree(wq);
	return 0;
}

/* ---- indirection tables ------------------------------------------------------------ */

int shca_create_rwq_ind_table(struct ib_rwq_ind_table *ibtbl,
			      struct ib_rwq_ind_table_init_attr *init,
			      struct ib_udata *udata)
{
	struct shca_dev *dev = to_shca_dev(ibtbl->device);

	if (udata->inlen && !ib_is_udata_cleared(udata, 0, udata->inlen))
		return -EINVAL;
	if (init->log_ind_tbl_size > ilog2(shca_limit(dev, RWQ_TBL_SIZE)))
		return -EINVAL;
	return shca_limit_get(dev, SHCA_LIMIT_RWQ_TBL, true) ? 0 : -ENOMEM;
}

int shca_destroy_rwq_ind_table(struct ib_rwq_ind_table *ibtbl)
{
	shca_limit_put(to_shca_dev(ibtbl->device), SHCA_LIMIT_RWQ_TBL, true);
	return 0;
}
