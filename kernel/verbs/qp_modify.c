// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Modification of a QP: refuse, prepare what may sleep, apply under both sides' locks. */
#include "qp_modify.h"

#include <linux/slab.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "../base/dev.h"
#include "../base/refuse.h"
#include "../base/trace.h"
#include "../base/udata.h"
#include "../core/psn.h"
#include "../inject/fault.h"
#include "../mem/delayed.h"
#include "../path/path_migration.h"
#include "../path/qp_error.h"
#include "../path/rq.h"
#include "../path/sq.h"
#include "../queue/ah.h"
#include "../queue/cq.h"
#include "../queue/last_error.h"
#include "../queue/qp.h"
#include "../queue/qp_event.h"
#include "../wire/page_wait.h"
#include "../wire/payload.h"
#include "../wire/peer.h"
#include "../wire/raw.h"
#include "../../uapi/softhca-abi.h"
#include "qp_verbs.h"

/* ---- refuse ------------------------------------------------------------------ */

/* Return: NULL, or why the path is refused. */
static const char *shca_path_wrong(const struct shca_qp *qp,
				   const struct ib_qp_attr *attr, int mask)
{
	if ((mask & IB_QP_PORT) && attr->port_num != 1)
		return "port_num is not 1, the only port";
	if ((mask & IB_QP_PKEY_INDEX) &&
	    attr->pkey_index >= shca_limit(qp->dev, PKEYS))
		return "pkey_index is beyond the P_Key table";
	if ((mask & IB_QP_PATH_MTU) &&
	    (attr->path_mtu < IB_MTU_256 || attr->path_mtu > IB_MTU_4096))
		return "path_mtu is not one of IBV_MTU_256 to IBV_MTU_4096";
	if ((mask & IB_QP_PATH_MTU) &&
	    ib_mtu_enum_to_int(attr->path_mtu) > shca_link_mtu(qp->dev))
		return "path_mtu is larger than the port's active_mtu, which follows from the netdev's MTU";
	/* A connection has one peer. */
	if (mask & IB_QP_AV &&
	    rdma_is_multicast_addr((struct in6_addr *)
				   rdma_ah_read_grh(&attr->ah_attr)->dgid.raw))
		return "the path's dgid is a multicast address";
	return shca_apm_attr_wrong(qp, attr, mask);
}

/* Return: NULL, or why an attribute is refused. The RDMA core checks privileged Q_Keys. */
static const char *shca_attr_wrong(const struct shca_dev *dev,
				   const struct ib_qp_attr *attr, int mask)
{
	if ((mask & IB_QP_MAX_QP_RD_ATOMIC) &&
	    attr->max_rd_atomic > shca_limit(dev, INIT_RD_ATOM))
		return "max_rd_atomic is larger than max_qp_init_rd_atom of the device";
	if ((mask & IB_QP_MAX_DEST_RD_ATOMIC) &&
	    attr->max_dest_rd_atomic > shca_limit(dev, RD_ATOM))
		return "max_dest_rd_atomic is larger than max_qp_rd_atom of the device";
	if ((mask & IB_QP_TIMEOUT) && attr->timeout > 31)
		return "timeout is larger than 31";
	if ((mask & IB_QP_RETRY_CNT) && attr->retry_cnt > 7)
		return "retry_cnt is larger than 7";
	if ((mask & IB_QP_RNR_RETRY) && attr->rnr_retry > 7)
		return "rnr_retry is larger than 7";
	if ((mask & IB_QP_MIN_RNR_TIMER) && attr->min_rnr_timer > 31)
		return "min_rnr_timer is larger than 31";
	return NULL;
}

static int shca_qp_check(struct shca_qp *qp, const struct ib_qp_attr *attr,
			 int mask)
{
	const char *why;

	if (mask & ~(IB_QP_ATTR_STANDARD_BITS | IB_QP_RATE_LIMIT))
		return shca_refuse(qp->dev, qp->qpn, -EOPNOTSUPP,
				   "the attribute mask has an unknown bit");
	why = shca_path_wrong(qp, attr, mask) ?: shca_attr_wrong(qp->dev, attr, mask);
	return why ? shca_refuse(qp->dev, qp->qpn, -EINVAL, why) : 0;
}

/* ---- apply -------------------------------------------------------------------- */

static void shca_qp_save_attr(struct shca_qp *qp, const struct ib_qp_attr *attr,
			      int mask)
{
	struct ib_qp_attr *a = &qp->attr;

	if (mask & IB_QP_ACCESS_FLAGS)
		a->qp_access_flags = attr->qp_access_flags;
	if (mask & IB_QP_PKEY_INDEX)
		a->pkey_index = attr->pkey_index;
	if (mask & IB_QP_PORT)
		a->port_num = attr->port_num;
	if (mask & IB_QP_QKEY)
		a->qkey = attr->qkey;
	if (mask & IB_QP_PATH_MTU)
		a->path_mtu = attr->path_mtu;
	if (mask & IB_QP_TIMEOUT)
		a->timeout = attr->timeout;
	if (mask & IB_QP_RETRY_CNT)
		a->retry_cnt = attr->retry_cnt;
	if (mask & IB_QP_RNR_RETRY)
		a->rnr_retry = attr->rnr_retry;
	if (mask & IB_QP_RQ_PSN)
		a->rq_psn = attr->rq_psn & SHCA_PSN_MASK;
	if (mask & IB_QP_SQ_PSN)
		a->sq_psn = attr->sq_psn & SHCA_PSN_MASK;
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		a->max_rd_atomic = attr->max_rd_atomic;
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		a->max_dest_rd_atomic = attr->max_dest_rd_atomic;
	if (mask & IB_QP_MIN_RNR_TIMER)
		a->min_rnr_timer = attr->min_rnr_timer;
	if (mask & IB_QP_DEST_QPN)
		a->dest_qp_num = attr->dest_qp_num;
	if (mask & IB_QP_RATE_LIMIT)
		a->rate_limit = attr->rate_limit;
	if (mask & IB_QP_PATH_MIG_STATE)
		a->path_mig_state = attr->path_mig_state;
	if (mask & IB_QP_AV) {
		a->ah_attr = attr->ah_attr;
		/* The RDMA core has the GID's reference; only its bytes are kept. */
		a->ah_attr.grh.sgid_attr = NULL;
	}
	if (mask & IB_QP_ALT_PATH) {
		a->alt_port_num = attr->alt_port_num;
		a->alt_pkey_index = attr->alt_pkey_index;
		a->alt_timeout = attr->alt_timeout;
		a->alt_ah_attr = attr->alt_ah_attr;
		a->alt_ah_attr.grh.sgid_attr = NULL;
	}
}

/* Datagrams have the port's current MTU. */
static u32 shca_qp_mtu(const struct shca_qp *qp)
{
	if (shca_qp_transport(qp->type) == SHCA_TRANSPORT_UD)
		return shca_link_mtu(qp->dev);
	if (qp->type == IB_QPT_RAW_PACKET)
		return shca_raw_max_len(qp->dev);
	return ib_mtu_enum_to_int(qp->attr.path_mtu);
}

/* Only marks show a peer that needs no ICRC. Without them there is none. */
static u8 shca_qp_marking(const struct shca_qp *qp)
{
	u8 marking = READ_ONCE(qp->dev->resv8a);

	if (marking != SHCA_RESV8A_OFF && READ_ONCE(qp->dev->icrc) == SHCA_ICRC_OFF)
		return SHCA_MARKING_NO_ICRC;
	return marking;
}

static void shca_start_responder(struct shca_qp *qp)
{
	const struct shca_resp_attr attr = {
		.mtu = shca_qp_mtu(qp),
		.rq_psn = qp->attr.rq_psn,
		.transport = shca_qp_transport(qp->type),
		.qkey = qp->attr.qkey,
		.dqpn = qp->attr.dest_qp_num,
		.pkey = shca_qp_pkey(qp),
		.access = qp->attr.qp_access_flags,
		.min_rnr_timer = qp->attr.min_rnr_timer,
		.max_dest_rd_atomic = qp->attr.max_dest_rd_atomic,
		.recvs = shca_qp_tm(qp) ? SHCA_RECVS_TM :
			 qp->rq.srq ? SHCA_RECVS_SRQ : SHCA_RECVS_OWN,
		.tells_short = qp->is_user,
		.marking = shca_qp_marking(qp),
		.apm = qp->apm.is.state,
		/* rdma_cm exchanges ECE before RTR: the peer's requester has our options then. */
		.peer = shca_peer_of_ece(qp->peer_ece) & SHCA_PEER_OOO,
		/* An SRQ has no credits: other QPs may take its requests (IBTA 9.7.7.2). */
		.credits = qp->type == IB_QPT_RC && qp->rq.ring.entries,
		.rate_kbps = qp->av.rate_kbps,
		.cnp = READ_ONCE(qp->dev->cc.mode) != SHCA_CC_MODE_OFF,
		.cnp_ib = shca_link_has_sm(qp->link),
		.cnp_interval_ns =
			READ_ONCE(qp->dev->cc.params.np_min_time_between_cnps) *
			  NSEC_PER_USEC,
	};

	shca_resp_start(&qp->rq.resp, &attr);
}

/* Upper bound of DCQCN's rate: 100 Gbit/s. A netdev's speed needs RTNL; veth's is invented. */
#define SHCA_CC_LINE	12500000000ull
/* An InfiniBand port says 4x SDR: 10 Gbit/s, of which 8 are data. */
#define SHCA_CC_LINE_IB	1000000000ull

/* Does the QP have congestion control? Not if the device's is off, and not for datagrams. */
static bool shca_qp_has_cc(const struct shca_qp *qp)
{
	return shca_qp_is_reliable(qp) &&
	       READ_ONCE(qp->dev->cc.mode) != SHCA_CC_MODE_OFF;
}

static void shca_start_requester(struct shca_qp *qp)
{
	const struct shca_req_attr attr = {
		.mtu = shca_qp_mtu(qp),
		.sq_psn = qp->attr.sq_psn,
		.transport = shca_qp_transport(qp->type),
		.qkey = qp->attr.qkey,
		.sqpn = qp->qpn,
		.dqpn = qp->attr.dest_qp_num,
		.pkey = shca_qp_pkey(qp),
		.timeout_ns = shca_ack_timeout_ns(qp->attr.timeout),
		.retry_cnt = qp->attr.retry_cnt,
		.rnr_retry = qp->attr.rnr_retry,
		.max_rd_atomic = qp->attr.max_rd_atomic,
		.marking = shca_qp_marking(qp),
		.apm = qp->apm.is.state,
		.ooo = true,
		.rate_kbps = qp->av.rate_kbps,
		.cc = {
			.algorithm = READ_ONCE(qp->dev->cc.algo),
			.params = shca_qp_has_cc(qp) ? &qp->dev->cc.params : NULL,
			.line = qp->link->cct ? SHCA_CC_LINE_IB : SHCA_CC_LINE,
			.cct = qp->link->cct ? qp->link->cct(qp->dev) : NULL,
			.sl = qp->av.sl,
		},
	};

	shca_req_start(&qp->sq.req, &attr);
	shca_peer_start(qp);
}

void shca_qp_reset_locked(struct shca_qp *qp)
{
	lockdep_assert_held(&qp->sq.lock);
	lockdep_assert_held(&qp->rq.lock);
	qp->resets++;
	qp->peer_ece = 0;
	qp->sq.peer_looks = 0;
	/* After RESET, the kernel writes nothing into memory of the process. */
	if (static_branch_unlikely(&shca_manners_on) && qp->rq.delayed)
		shca_delayed_place(qp->rq.delayed);
	shca_req_reset(&qp->sq.req);
	shca_resp_reset(&qp->rq.resp);
	shca_tm_reset(qp);
	shca_side_purge(&qp->sq.side, &qp->lost);
	shca_side_purge(&qp->rq.side, &qp->lost);
	shca_apm_reset_locked(qp);
	qp->rq.peer_looks = 0;
	qp->rq.peer_ns = 0;
	qp->rq.behind = false;
	shca_route_drop(&qp->sq.side.route);
	shca_route_drop(&qp->rq.side.route);
	shca_recv_ring_reset(&qp->rq.ring);
	qp->rq.last_wqe = false;
	qp->sq.rate_kbps = 0;
	qp->attr.rate_limit = 0;
	qp->sq.fetched = 0;
	qp->sq.seen = 0;
	qp->sq.direct = false;
	qp->sq.direct_more = false;
	qp->sq.prod = 0;
	qp->sq.drain_event = false;
	shca_stream_stop(qp);
	WRITE_ONCE(qp->index->sq_prod, 0);
	WRITE_ONCE(qp->status->sq_cons, 0);
	WRITE_ONCE(qp->status->flags, 0);
	WRITE_ONCE(qp->status->first_psn, 0);
}

/* Attributes that may change while the sides run; more in SQD with nothing in flight */
static void shca_modify_sides(struct shca_qp *qp, int mask, bool in_sqd)
{
	const struct shca_req_attr req = {
		.qkey = qp->attr.qkey,
		.timeout_ns = shca_ack_timeout_ns(qp->attr.timeout),
		.retry_cnt = qp->attr.retry_cnt,
		.rnr_retry = qp->attr.rnr_retry,
		.max_rd_atomic = qp->attr.max_rd_atomic,
		.rate_kbps = qp->av.rate_kbps,
	};
	const struct shca_resp_attr resp = {
		.access = qp->attr.qp_access_flags,
		.qkey = qp->attr.qkey,
		.min_rnr_timer = qp->attr.min_rnr_timer,
		.max_dest_rd_atomic = qp->attr.max_dest_rd_atomic,
		.rate_kbps = qp->av.rate_kbps,
	};
	u32 req_mask = 0, resp_mask = 0;

	if (mask & IB_QP_ACCESS_FLAGS)
		resp_mask |= SHCA_RESP_ACCESS;
	if (mask & IB_QP_MIN_RNR_TIMER)
		resp_mask |= SHCA_RESP_MIN_RNR_TIMER;
	if (mask & IB_QP_QKEY) {
		resp_mask |= SHCA_RESP_QKEY;
		req_mask |= SHCA_REQ_QKEY;
	}
	if (mask & IB_QP_AV) {
		resp_mask |= SHCA_RESP_RATE;
		req_mask |= SHCA_REQ_RATE;
	}
	if (in_sqd && mask & IB_QP_TIMEOUT)
		req_mask |= SHCA_REQ_TIMEOUT;
	if (in_sqd && mask & IB_QP_RETRY_CNT)
		req_mask |= SHCA_REQ_RETRY_CNT;
	if (in_sqd && mask & IB_QP_RNR_RETRY)
		req_mask |= SHCA_REQ_RNR_RETRY;
	if (in_sqd && mask & IB_QP_MAX_QP_RD_ATOMIC)
		req_mask |= SHCA_REQ_MAX_RD_ATOMIC;
	if (in_sqd && mask & IB_QP_MAX_DEST_RD_ATOMIC)
		resp_mask |= SHCA_RESP_MAX_DEST_RD_ATOMIC;
	shca_req_modify(&qp->sq.req, &req, req_mask);
	shca_resp_modify(&qp->rq.resp, &resp, resp_mask);
}

/* Under both locks; qp->attr has the attributes of @mask already. */
static void shca_apply_state(struct shca_qp *qp, enum ib_qp_state cur,
			     enum ib_qp_state next, int mask)
{
	switch (next) {
	case IB_QPS_RESET:
		shca_qp_reset_locked(qp);
		break;
	case IB_QPS_RTR:
		if (cur == IB_QPS_INIT && qp->type != IB_QPT_XRC_INI)
			shca_start_responder(qp);
		/* The QP has a peer now, which may have looked for it before. */
		shca_net_note_change();
		break;
	case IB_QPS_RTS:
		if (cur == IB_QPS_RTR && qp->type != IB_QPT_XRC_TGT)
			shca_start_requester(qp);
		if (cur == IB_QPS_SQE)
			shca_req_resume(&qp->sq.req);
		shca_req_drain(&qp->sq.req, false);
		break;
	case IB_QPS_SQD:
		if (cur == IB_QPS_RTS)
			shca_req_drain(&qp->sq.req, true);
		break;
	case IB_QPS_ERR:
		shca_qp_set_error_locked(qp);
		break;
	case IB_QPS_INIT:
		if (cur == IB_QPS_RESET)
			shca_last_error_clear(qp);
		break;
	case IB_QPS_SQE:
		break;
	}
	if (mask & IB_QP_PKEY_INDEX)
		WRITE_ONCE(qp->pkey_index, qp->attr.pkey_index);
	if (mask & IB_QP_RATE_LIMIT)
		qp->sq.rate_kbps = qp->attr.rate_limit;
	shca_modify_sides(qp, mask, cur == IB_QPS_SQD);
}

/* ---- the operation ---------------------------------------------------------- */

static int shca_qp_alloc_rd(struct shca_qp *qp, u32 depth,
			    struct shca_rd **rd, u32 *entries)
{
	*entries = roundup_pow_of_two(max(depth, 1u));
	*rd = kcalloc(*entries, sizeof(**rd), GFP_KERNEL_ACCOUNT);
	return *rd ? 0 : -ENOMEM;
}

/* Return: NULL, or why a path is refused. */
static const char *shca_qp_make_paths(struct shca_qp *qp,
				      const struct ib_qp_attr *attr, int mask,
				      struct shca_av *av, struct shca_av *alt)
{
	u32 rqpn = mask & IB_QP_DEST_QPN ? attr->dest_qp_num :
					   qp->attr.dest_qp_num;
	u32 hash = rdma_calc_flow_label(qp->qpn, rqpn);
	const char *why = NULL;

	if (mask & IB_QP_AV)
		why = shca_av_init(qp->dev, &attr->ah_attr, hash, av);
	if (!why && mask & IB_QP_ALT_PATH)
		why = shca_av_init(qp->dev, &attr->alt_ah_attr, hash, alt);
	return why;
}

static int shca_modify_locked(struct shca_qp *qp, struct ib_qp_attr *attr,
			      int mask)
{
	enum ib_qp_state cur = READ_ONCE(qp->state), next = cur;
	struct shca_rd *rd = NULL, *old_rd = NULL;
	const char *why;
	struct shca_av av, alt;
	u32 rd_entries = 0;
	bool migrated;
	int err;

	if ((mask & IB_QP_CUR_STATE) && attr->cur_qp_state != cur)
		return shca_refuse(qp->dev, qp->qpn, -EINVAL,
				   "cur_qp_state is not the current state of the QP");
	if (mask & IB_QP_STATE)
		next = attr->qp_state;
	if (qp->rss && qp->type == IB_QPT_RAW_PACKET)
		return -EOPNOTSUPP;
	/* There is no send queue to start. */
	if (qp->rss && next == IB_QPS_RTS)
		return -EINVAL;
	if (!ib_modify_qp_is_ok(cur, next, qp->type, mask))
		return shca_refuse(qp->dev, qp->qpn, -EINVAL,
				   "invalid state transition, or an attribute is missing or not allowed");
	err = shca_qp_check(qp, attr, mask);
	if (err)
		return err;
	why = shca_qp_make_paths(qp, attr, mask, &av, &alt);
	if (why)
		return shca_refuse(qp->dev, qp->qpn, -EINVAL, why);
	/* In SQD READs may be on record, so the ring can only grow. */
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC &&
	    (cur == IB_QPS_INIT ||
	     (cur == IB_QPS_SQD &&
	      attr->max_dest_rd_atomic > qp->rq.resp.reads.mask + 1))) {
		err = shca_qp_alloc_rd(qp, attr->max_dest_rd_atomic, &rd,
				       &rd_entries);
		if (err)
			return err;
	}

	/* Requests that were posted before are flushed, not executed (IBTA 10.3.1.7). */
	if (cur == IB_QPS_SQE && next == IB_QPS_RTS)
		shca_sq_flush_all(qp);

	if (next == IB_QPS_ERR || next == IB_QPS_RESET)
		shca_qp_flush_acks(qp);

	spin_lock_bh(&qp->sq.lock);
	spin_lock(&qp->rq.lock);
	/* Since the check, the QP may have gone to the error state. */
	if (qp->state != cur && next != IB_QPS_ERR && next != IB_QPS_RESET) {
		spin_unlock(&qp->rq.lock);
		spin_unlock_bh(&qp->sq.lock);
		kfree(rd);
		return -EINVAL;
	}
	if (mask & IB_QP_AV) {
		qp->av = av;
		shca_route_drop(&qp->sq.side.route);
		shca_route_drop(&qp->rq.side.route);
	}
	if (rd) {
		old_rd = qp->rq.rd;
		qp->rq.rd = rd;
		shca_resp_move_rd(&qp->rq.resp, rd, rd_entries);
	}
	shca_apm_fold_locked(qp);
	shca_qp_save_attr(qp, attr, mask);
	migrated = shca_apm_modify_locked(qp, &alt, mask);
	shca_apply_state(qp, cur, next, mask);
	if (next == IB_QPS_SQD && cur == IB_QPS_RTS)
		qp->sq.drain_event = (mask & IB_QP_EN_SQD_ASYNC_NOTIFY) &&
				     attr->en_sqd_async_notify;
	if (next != IB_QPS_ERR && next != cur) {
		trace_shca_state(&qp->dev->ibdev, qp->qpn, cur, next);
		WRITE_ONCE(qp->state, next);
	}
	shca_qp_unlock(qp);
	kfree(old_rd);
	if (migrated)
		shca_qp_event(qp, IB_EVENT_PATH_MIG);

	/* In RESET it produces no completions, and attr_lock keeps it there. */
	if (next == IB_QPS_RESET)
		shca_qp_purge_cqs(qp);
	if (next == IB_QPS_RTS || next == IB_QPS_SQD)
		shca_sq_run(qp);	/* posted requests, or the drained event */
	return 0;
}

int shca_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_udata *udata)
{
	struct shca_modify_qp_req req = {};
	struct shca_qp *qp = to_shca_qp(ibqp);
	int err;

	err = shca_fault_verb(ibqp->device, SHCA_FAULT_VERB_MODIFY_QP);
	if (err)
		return err;
	if (udata) {
		err = shca_udata_in(udata, &req, sizeof(req));
		if (err)
			return err;
		if (req.comp_mask || req.reserved)
			return -EINVAL;
	}
	/*
	 * Bits above the 24 of a QP number are ignored, as adapters do. 0 outstanding READs
	 * means 1 on ConnectX, which stores the logarithm.
	 */
	attr->dest_qp_num &= 0xffffff;
	if (mask & IB_QP_MAX_QP_RD_ATOMIC && !attr->max_rd_atomic)
		attr->max_rd_atomic = 1;
	mutex_lock(&qp->attr_lock);
	/* Before the state that it applies to; a change to RESET clears it. */
	if (req.peer_ece)
		qp->peer_ece = req.peer_ece;
	err = shca_modify_locked(qp, attr, mask);
	mutex_unlock(&qp->attr_lock);
	return err;
}
