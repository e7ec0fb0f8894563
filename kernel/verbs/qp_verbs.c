// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Creation, destruction and query of QPs: see qp.h for the order of destruction. */
#include "qp_verbs.h"

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/overflow.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <rdma/restrack.h>
#include <rdma/uverbs_ioctl.h>

#include "../base/dev.h"
#include "../base/netns.h"
#include "../base/refuse.h"
#include "../base/trace.h"
#include "../base/udata.h"
#include "../inject/fault.h"
#include "../mem/delayed.h"
#include "../path/path_migration.h"
#include "../path/qp_error.h"
#include "../path/rq.h"
#include "../path/sq.h"
#include "../queue/cq.h"
#include "../queue/last_error.h"
#include "../queue/qp_event.h"
#include "../queue/qp_table.h"
#include "../queue/srq.h"
#include "../wire/pkt_queue.h"
#include "../wire/payload.h"
#include "rss.h"

#define SHCA_SLOT_ALIGN	64
/* Minimum private send requests of a QP with tag matching */
#define SHCA_TM_WINDOW	16u

/* ---- references ----------------------------------------------------------- */

struct shca_qp *shca_qp_get(struct ib_qp *ibqp)
{
	struct shca_qp *qp;

	rcu_read_lock();
	qp = rcu_dereference(container_of(ibqp, struct shca_ibqp, ibqp)->qp);
	/* In destruction, it gives no new references, but stays for a grace period. */
	if (qp && !refcount_inc_not_zero(&qp->ref))
		qp = NULL;
	rcu_read_unlock();
	return qp;
}

/* ---- creation -------------------------------------------------------------- */

/* Newer kernels check it in the RDMA device's namespace. The frames are those of the netdev. */
bool shca_qp_may_be_raw(const struct shca_dev *dev)
{
	return ns_capable(dev->snet->net->user_ns, CAP_NET_RAW);
}

/* Return: does this QP type exist, for a process or a kernel consumer? */
static bool shca_qp_has_type(const struct shca_dev *dev, enum ib_qp_type type,
			     bool is_user)
{
	switch (type) {
	case IB_QPT_RC:
		return true;
	case IB_QPT_UC:
		return !shca_lacks(dev, UC);
	case IB_QPT_UD:
		return !shca_lacks(dev, UD);
	case IB_QPT_XRC_TGT:	/* of a process, but the RDMA core owns it */
		return !shca_lacks(dev, XRC);
	case IB_QPT_RAW_PACKET:	/* the RDMA core has checked CAP_NET_RAW */
		return is_user && !shca_lacks(dev, RAW_PACKET);
	case IB_QPT_XRC_INI:	/* no kernel consumer uses XRC */
		return is_user && !shca_lacks(dev, XRC);
	case IB_QPT_GSI:
		return !is_user;
	case IB_QPT_SMI:
		return !is_user && dev->ib;
	default:
		return false;
	}
}

/* The size of a queue that the QP does not have is ignored (ibv_create_qp(3)): set it to 0. */
static void shca_qp_drop_caps(struct ib_qp_init_attr *init)
{
	if (init->qp_type == IB_QPT_XRC_TGT)
		memset(&init->cap, 0, sizeof(init->cap));
	if (init->srq || init->qp_type == IB_QPT_XRC_INI) {
		init->cap.max_recv_wr = 0;
		init->cap.max_recv_sge = 0;
	}
}

/* Return: NULL, or which limit of the device @cap exceeds. */
static const char *shca_qp_cap_wrong(const struct shca_personality *is,
				     const struct ib_qp_cap *cap)
{
	if (cap->max_send_wr > is->limit[SHCA_LIMIT_QP_WR] ||
	    cap->max_recv_wr > is->limit[SHCA_LIMIT_QP_WR])
		return "max_send_wr or max_recv_wr is larger than max_qp_wr of the device";
	if (cap->max_send_sge > is->limit[SHCA_LIMIT_SEND_SGE] ||
	    cap->max_recv_sge > is->limit[SHCA_LIMIT_RECV_SGE])
		return "max_send_sge or max_recv_sge is larger than max_sge of the device";
	if (cap->max_inline_data > is->limit[SHCA_LIMIT_INLINE])
		return "max_inline_data is larger than the room in a request";
	return NULL;
}

static int shca_qp_check_init(struct shca_dev *dev,
			      const struct ib_qp_init_attr *init, bool is_user)
{
	const char *why;

	if (!shca_qp_has_type(dev, init->qp_type, is_user))
		return shca_refuse(dev, 0, -EOPNOTSUPP,
				   "the device does not support this QP type");
	if (init->qp_type == IB_QPT_RAW_PACKET && !shca_qp_may_be_raw(dev))
		return shca_refuse(dev, 0, -EPERM,
				   "CAP_NET_RAW is missing in the network namespace of the netdev");
	if (init->create_flags)
		return shca_refuse(dev, 0, -EOPNOTSUPP,
				   "the device does not support these create_flags");
	if (init->srq && init->srq->srq_type == IB_SRQT_TM &&
	    init->qp_type != IB_QPT_RC)
		return shca_refuse(dev, 0, -EINVAL,
				   "an SRQ with tag matching is for RC only");
	if (init->rwq_ind_tbl)
		return shca_rss_check(init, is_user);
	if (init->qp_type == IB_QPT_XRC_TGT ? !init->xrcd :
	    !init->send_cq || (init->qp_type != IB_QPT_XRC_INI &&
			       !init->recv_cq))
		return shca_refuse(dev, 0, -EINVAL,
				   "send_cq, recv_cq or the xrcd of an XRC target is missing");
	/* The RDMA core's own QPs have a fixed size, on every device. */
	why = shca_qp_cap_wrong(init->qp_type == IB_QPT_GSI ||
				init->qp_type == IB_QPT_SMI ?
				&shca_native : &dev->personality, &init->cap);
	return why ? shca_refuse(dev, 0, -EINVAL, why) : 0;
}

static bool shca_qp_has_sq(const struct shca_qp *qp)
{
	return qp->type != IB_QPT_XRC_TGT && !qp->rss && !qp->wq;
}

/* Does the QP have a receive ring of its own? */
static bool shca_qp_has_rq(const struct shca_qp *qp)
{
	return !qp->rq.srq && !qp->rss && qp->type != IB_QPT_XRC_INI &&
	       qp->type != IB_QPT_XRC_TGT;
}

/* Without a send queue, the ring has no entries. */
static void shca_qp_size_sq(struct shca_qp *qp, struct ib_qp_cap *cap)
{
	struct shca_sq *sq = &qp->sq;
	u32 data;

	if (!shca_qp_has_sq(qp)) {
		cap->max_send_wr = 0;
		cap->max_send_sge = 0;
		cap->max_inline_data = 0;
		return;
	}
	sq->max_wr = max(cap->max_send_wr, 1u);
	sq->max_sge = max(cap->max_send_sge, 1u);
	data = max_t(u32, sq->max_sge * sizeof(struct shca_sge),
		     cap->max_inline_data);
	sq->stride = ALIGN(sizeof(struct shca_send_wqe) + data,
			   SHCA_SLOT_ALIGN);
	sq->max_inline = min_t(u32, sq->stride - sizeof(struct shca_send_wqe),
			       shca_limit(qp->dev, INLINE));
	sq->entries = roundup_pow_of_two(sq->max_wr);

	cap->max_send_wr = sq->max_wr;
	cap->max_send_sge = sq->max_sge;
	cap->max_inline_data = sq->max_inline;
}

static void shca_qp_size_rings(struct shca_qp *qp, struct ib_qp_cap *cap)
{
	shca_qp_size_sq(qp, cap);
	if (!shca_qp_has_rq(qp)) {
		cap->max_recv_wr = 0;
		cap->max_recv_sge = 0;
	} else {
		shca_recv_ring_size(&qp->rq.ring, &cap->max_recv_wr,
				    &cap->max_recv_sge);
	}
}

static u32 shca_sq_start(void)
{
	return ALIGN(sizeof(struct shca_qp_index), SHCA_SLOT_ALIGN);
}

u32 shca_qp_rq_start(const struct shca_qp *qp)
{
	return shca_sq_start() + qp->sq.entries * qp->sq.stride;
}

static int shca_qp_alloc_rings(struct shca_qp *qp)
{
	struct shca_sq *sq = &qp->sq;
	struct shca_recv_ring *ring = &qp->rq.ring;
	u32 window = min_t(u32, sq->entries, SHCA_SQ_WINDOW);
	u32 stride = shca_req_stride(sq->max_sge);

	/* Rendezvous need requests that the process did not ask for. */
	if (shca_qp_tm(qp))
		window = max(window, SHCA_TM_WINDOW);
	/* UD: each request has its address vector after its segments. */
	if (shca_qp_transport(qp->type) == SHCA_TRANSPORT_UD)
		stride += ALIGN(sizeof(struct shca_av), 8);

	qp->ring_buf = shca_buf_alloc(shca_qp_rq_start(qp) +
				      ring->entries * ring->stride);
	qp->status_buf = shca_buf_alloc(sizeof(struct shca_qp_status));
	sq->wrs = kvzalloc(array_size(window, stride), GFP_KERNEL_ACCOUNT);
	if (!qp->ring_buf || !qp->status_buf || !sq->wrs)
		return -ENOMEM;
	qp->index = qp->ring_buf->va;
	qp->status = qp->status_buf->va;
	sq->slots = qp->ring_buf->va + shca_sq_start();
	ring->slots = qp->ring_buf->va + shca_qp_rq_start(qp);
	ring->user_prod = &qp->index->rq_prod;
	ring->user_cons = &qp->status->rq_cons;
	shca_req_init(&sq->req, sq->wrs, window, stride, &shca_mem_ops,
		      &sq->side.mem);
	shca_resp_init(&qp->rq.resp, NULL, 0, &shca_mem_ops, &qp->rq.side.mem);
	return 0;
}

int shca_qp_share(struct shca_qp *qp, struct ib_ucontext *uctx)
{
	qp->uctx = uctx;
	return shca_mmap_insert(uctx, qp->ring_buf, true, &qp->ring_mmap) ?:
	       shca_mmap_insert(uctx, qp->status_buf, false, &qp->status_mmap);
}

/* A QP without rings has no mapping and no doorbell. */
static int shca_qp_map_user(struct shca_qp *qp, struct ib_udata *udata)
{
	struct shca_ucontext *uctx = rdma_udata_to_drv_context(udata,
					   struct shca_ucontext, ibuc);
	struct shca_create_qp_resp resp = {
		.sq_start = shca_sq_start(),
		.rq_start = shca_qp_rq_start(qp),
		.sq_entries = qp->sq.entries,
		.rq_entries = qp->rq.ring.entries,
		.sq_stride = qp->sq.stride,
		.rq_stride = qp->rq.ring.stride,
		.max_inline = qp->sq.max_inline,
		.max_send_sge = qp->sq.max_sge,
		.max_recv_sge = qp->rq.ring.max_sge,
	};
	int err;

	if (shca_qp_has_sq(qp) || shca_qp_has_rq(qp)) {
		err = shca_qp_share(qp, &uctx->ibuc);
		if (err)
			return err;
		resp.ring_off = rdma_user_mmap_get_offset(qp->ring_mmap);
		resp.ring_len = qp->ring_buf->len;
		resp.status_off = rdma_user_mmap_get_offset(qp->status_mmap);
		if (uctx->features & SHCA_FEATURE_DOORBELL_INDEX)
			shca_stream_init(qp);
	}
	return shca_udata_out(udata, &resp, sizeof(resp));
}

static enum shca_limit shca_qp_limit(const struct shca_wq *wq)
{
	return wq ? SHCA_LIMIT_WQ : SHCA_LIMIT_QP;
}

void shca_qp_free(struct shca_qp *qp)
{
	rdma_user_mmap_entry_remove(qp->status_mmap);
	rdma_user_mmap_entry_remove(qp->ring_mmap);
	shca_buf_put(qp->status_buf);
	shca_buf_put(qp->ring_buf);
	kvfree(qp->sq.wrs);
	kfree(qp->rq.delayed);
	kfree(qp->rq.rd);
	kfree(qp->rss);
	mutex_destroy(&qp->attr_lock);
	shca_limit_put(qp->dev, shca_qp_limit(qp->wq), qp->is_user);
	kfree_rcu(qp, rcu);
}

static struct shca_qp *shca_qp_alloc(struct shca_dev *dev, struct ib_pd *pd,
				     const struct ib_qp_init_attr *init,
				     struct shca_wq *wq, bool is_user)
{
	struct shca_qp *qp;

	if (!shca_limit_get(dev, shca_qp_limit(wq), is_user))
		return NULL;
	qp = kzalloc(sizeof(*qp), GFP_KERNEL_ACCOUNT);
	if (!qp) {
		shca_limit_put(dev, shca_qp_limit(wq), is_user);
		return NULL;
	}
	qp->dev = dev;
	qp->counters = dev->counters;
	qp->wq = wq;
	qp->pd = pd;
	qp->who = (struct shca_accessor){
		.dev = dev,
		.pd = pd,
		.serial = atomic64_inc_return(&dev->qp_serial),
	};
	qp->link = dev->link;
	qp->type = init->qp_type;
	qp->is_user = is_user;
	qp->uid = current_euid();
	qp->pid = is_user ? task_tgid_nr(current) : 0;
	qp->state = IB_QPS_RESET;
	qp->xrcd = init->xrcd;
	qp->sq.cq = init->send_cq ? to_shca_cq(init->send_cq) : NULL;
	qp->rq.cq = init->recv_cq ? to_shca_cq(init->recv_cq) : NULL;
	/*
	 * An XRC target has no SRQ: each packet names one. The RDMA core accepts an SRQ, but
	 * does not count its use, so it may be destroyed at any time.
	 */
	if (init->srq && init->qp_type != IB_QPT_XRC_TGT)
		qp->rq.srq = to_shca_srq(init->srq);
	if (shca_qp_tm(qp))	/* completes to the SRQ's CQ */
		qp->rq.cq = to_shca_cq(init->srq->ext.cq);
	shca_qp_tm_init(qp);
	qp->sq.sig_all = init->sq_sig_type == IB_SIGNAL_ALL_WR;
	refcount_set(&qp->ref, 1);
	init_completion(&qp->unused);
	mutex_init(&qp->attr_lock);
	/* A process's event handler only wakes up readers, in any context. */
	shca_qp_events_init(qp, is_user);
	shca_sq_init(qp);
	shca_rq_init(qp);
	return qp;
}

struct shca_qp *shca_qp_make(struct shca_dev *dev, struct ib_pd *pd,
			     struct ib_qp_init_attr *init, struct shca_wq *wq,
			     struct shca_rss *rss, bool is_user)
{
	struct shca_qp *qp = shca_qp_alloc(dev, pd, init, wq, is_user);
	int err;

	if (!qp)
		return ERR_PTR(-ENOMEM);
	qp->rss = rss;
	shca_qp_size_rings(qp, &init->cap);
	err = shca_qp_alloc_rings(qp) ?:
	      shca_delayed_make(shca_limit(dev, LATE_US), &qp->rq.lock, &qp->rq.delayed);
	if (err) {
		qp->rss = NULL;	/* stays the caller's */
		shca_qp_free(qp);
		return ERR_PTR(err);
	}
	qp->attr.cap = init->cap;
	qp->attr.path_mtu = IB_MTU_256;
	qp->attr.port_num = 1;
	return qp;
}

static int shca_qp_parse_udata(struct ib_qp_init_attr *init,
			       struct ib_udata *udata, struct shca_rss **rss)
{
	struct shca_create_qp_req req;
	int err;

	if (!udata)
		return 0;
	err = shca_udata_in(udata, &req, sizeof(req));
	if (err)
		return err;
	if (req.comp_mask || req.flags)
		return -EINVAL;
	*rss = shca_rss_make(init->rwq_ind_tbl, &req.rx_hash);
	return PTR_ERR_OR_ZERO(*rss);
}

int shca_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init,
		   struct ib_udata *udata)
{
	struct shca_dev *dev = to_shca_dev(ibqp->device);
	struct shca_rss *rss = NULL;
	struct shca_qp *qp;
	int err;

	err = shca_fault_verb(ibqp->device, SHCA_FAULT_VERB_CREATE_QP);
	if (err)
		return err;
	shca_qp_drop_caps(init);
	err = shca_qp_check_init(dev, init, udata);
	if (err)
		return err;
	err = shca_qp_parse_udata(init, udata, &rss);
	if (err)
		return err;
	qp = shca_qp_make(dev, ibqp->pd, init, NULL, rss,
			  udata || init->qp_type == IB_QPT_XRC_TGT);
	if (IS_ERR(qp)) {
		kfree(rss);
		return PTR_ERR(qp);
	}
	qp->ibqp = ibqp;
	/* A RAW_PACKET QP with work queues has no state changes; a UD QP needs its Q_Key first. */
	if (rss && qp->type == IB_QPT_RAW_PACKET)
		qp->state = IB_QPS_RTR;
	if (udata) {
		err = shca_qp_map_user(qp, udata);
		if (err)
			goto err_free;
	}
	/* Last, because packets find it from here on. */
	err = shca_net_add_qp(dev->snet, qp, udata);
	if (err)
		goto err_free;
	/* `rdma resource show` of 6.12 would read the PD, which an XRC target does not have. */
	if (init->qp_type == IB_QPT_XRC_TGT)
		rdma_restrack_no_track(&ibqp->res);
	/* Pairs with rcu_dereference() in shca_qp_get(). */
	rcu_assign_pointer(container_of(ibqp, struct shca_ibqp, ibqp)->qp, qp);
	ibqp->qp_num = qp->qpn;
	trace_shca_state(&qp->dev->ibdev, qp->qpn, IB_QPS_RESET, qp->state);
	return 0;

err_free:
	shca_qp_free(qp);
	return err;
}

/* The device is removed, but a poller still finds how each request ended. */
static void shca_qp_flush_all(struct shca_qp *qp)
{
	spin_lock_bh(&qp->sq.lock);
	spin_lock(&qp->rq.lock);
	if (qp->state != IB_QPS_RESET)
		shca_qp_set_error_locked(qp);
	shca_qp_unlock(qp);
	if (READ_ONCE(qp->state) != IB_QPS_ERR)
		return;
	shca_sq_flush_all(qp);
	shca_rq_flush_all(qp);
}

void shca_qp_flush_acks(struct shca_qp *qp)
{
	/* Run requests posted without a doorbell. */
	if (qp->sq.stream.batch)
		shca_sq_run(qp);
	shca_rq_flush_acks(qp);
}

void shca_qp_purge_cqs(struct shca_qp *qp)
{
	/* CQs of XRC QPs are processes', which purge them themselves. */
	if (qp->rq.cq) {
		shca_cq_purge(qp->rq.cq, qp->ibqp);
		shca_cq_show(qp->rq.cq);
	}
	if (qp->sq.cq && qp->sq.cq != qp->rq.cq) {
		shca_cq_purge(qp->sq.cq, qp->ibqp);
		shca_cq_show(qp->sq.cq);
	}
}

void shca_qp_end(struct shca_qp *qp)
{
	if (qp->is_user && READ_ONCE(qp->dev->removing))
		shca_qp_flush_all(qp);
	else
		shca_qp_flush_acks(qp);
	shca_last_error_bury(qp);
	/* From here on no packet finds the QP. */
	shca_net_del_qp(qp->dev->snet, qp);
	/* Packets that have found it start nothing that lasts. */
	spin_lock_bh(&qp->sq.lock);
	spin_lock(&qp->rq.lock);
	qp->dead = true;
	shca_req_reset(&qp->sq.req);
	shca_resp_reset(&qp->rq.resp);
	shca_tm_reset(qp);
	shca_side_purge(&qp->sq.side, &qp->lost);
	shca_side_purge(&qp->rq.side, &qp->lost);
	shca_qp_unlock(qp);
	/* Stop what was started. */
	shca_side_stop(&qp->sq.side);
	shca_rq_stop(qp);
	/* Wait for these packets. */
	shca_qp_put(qp);
	wait_for_completion(&qp->unused);
	shca_events_stop(&qp->events, false);
	shca_qp_purge_cqs(qp);
	if (qp->rq.cq)
		shca_cq_drain(qp->rq.cq);
	if (qp->sq.cq && qp->sq.cq != qp->rq.cq)
		shca_cq_drain(qp->sq.cq);
	/* A packet may have looked up a route after the stop. */
	shca_route_drop(&qp->sq.side.route);
	shca_route_drop(&qp->rq.side.route);
	shca_qp_free(qp);
}

int shca_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct shca_qp *qp = to_shca_qp(ibqp);

	/* Before the grace period of the free: a dump that does not see NULL has a reference. */
	RCU_INIT_POINTER(container_of(ibqp, struct shca_ibqp, ibqp)->qp, NULL);
	shca_qp_end(qp);
	return 0;
}

/* ---- query ------------------------------------------------------------------ */

bool shca_qp_may_watch(const struct ib_qp *ibqp)
{
	/* The RDMA core keeps the owner of an object during a dump. */
	struct task_struct *owner = ibqp->res.task;

	return (owner && same_thread_group(owner, current)) ||
	       ns_capable_noaudit(&init_user_ns, CAP_NET_ADMIN);
}

/*
 * Without a @mask the RDMA core asks, for a dump that any user may request. Current PSNs are
 * what an attacker lacks (docs/security.md), so the dump has the initial ones. The RDMA core
 * leaves out a QP whose query returns -EAGAIN.
 */
int shca_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init)
{
	int err = shca_fault_verb(ibqp->device, SHCA_FAULT_VERB_QUERY_QP);
	struct shca_qp *qp;

	if (err)
		return err;
	qp = shca_qp_get(ibqp);
	if (!qp)
		return -EAGAIN;
	mutex_lock(&qp->attr_lock);
	*attr = qp->attr;
	spin_lock_bh(&qp->sq.lock);
	shca_apm_query_locked(qp, attr);
	attr->qp_state = qp->state;
	attr->cur_qp_state = qp->state;
	if (mask || shca_qp_may_watch(ibqp))
		attr->sq_psn = qp->sq.req.psn.next;
	attr->sq_draining = qp->state == IB_QPS_SQD &&
			    !shca_req_idle(&qp->sq.req);
	spin_unlock_bh(&qp->sq.lock);
	mutex_unlock(&qp->attr_lock);

	init->event_handler = ibqp->event_handler;
	init->qp_context = ibqp->qp_context;
	init->send_cq = ibqp->send_cq;
	init->recv_cq = ibqp->recv_cq;
	init->srq = ibqp->srq;
	init->xrcd = qp->xrcd;
	init->cap = attr->cap;
	init->sq_sig_type = qp->sq.sig_all ? IB_SIGNAL_ALL_WR :
					     IB_SIGNAL_REQ_WR;
	init->qp_type = qp->type;
	shca_qp_put(qp);
	return 0;
}
