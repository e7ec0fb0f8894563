// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Automatic path migration: see core/apm.h.
 *
 * Both sides of a QP use the same path, so it is exchanged under both locks. Three events lead
 * to that: retries are exhausted (requester), a packet shows that the peer has migrated
 * (softirq, before it reaches a side), modify_qp.
 */
#include "path_migration.h"

#include <linux/minmax.h>
#include <rdma/ib_addr.h>

#include "../queue/qp_event.h"

static_assert((int)SHCA_APM_MIGRATED == (int)IB_MIG_MIGRATED &&
	      (int)SHCA_APM_REARM == (int)IB_MIG_REARM &&
	      (int)SHCA_APM_ARMED == (int)IB_MIG_ARMED);

/* Set the state of both sides; with @moved also time-out and rate of the new path. */
static void shca_apm_tell(struct shca_qp *qp, u64 timeout_ns, bool moved)
{
	const struct shca_req_attr req = {
		.apm = qp->apm.is.state,
		.timeout_ns = timeout_ns,
		.rate_kbps = qp->av.rate_kbps,
	};
	const struct shca_resp_attr resp = {
		.apm = qp->apm.is.state,
		.rate_kbps = qp->av.rate_kbps,
	};

	shca_req_modify(&qp->sq.req, &req, SHCA_REQ_APM |
			(moved ? SHCA_REQ_TIMEOUT | SHCA_REQ_RATE : 0));
	shca_resp_modify(&qp->rq.resp, &resp, SHCA_RESP_APM |
			 (moved ? SHCA_RESP_RATE : 0));
}

/* Packets sent by the old path count as lost if the timer expires before their answer. */
static void shca_apm_swap(struct shca_qp *qp)
{
	struct shca_qp_apm *apm = &qp->apm;
	u16 pkey_index = apm->pkey_index;
	u64 timeout_ns = apm->timeout_ns;

	lockdep_assert_held(&qp->sq.lock);
	lockdep_assert_held(&qp->rq.lock);
	swap(qp->av, apm->av);
	apm->pkey_index = qp->pkey_index;
	WRITE_ONCE(qp->pkey_index, pkey_index);
	apm->timeout_ns = qp->sq.req.attr.timeout_ns;
	apm->swapped = !apm->swapped;
	shca_route_drop(&qp->sq.side.route);
	shca_route_drop(&qp->rq.side.route);
	shca_apm_tell(qp, timeout_ns, true);
}

/* Return: whether the paths were exchanged. */
static bool shca_apm_do(struct shca_qp *qp, enum shca_apm_step step)
{
	if (step == SHCA_APM_MIGRATE)
		shca_apm_swap(qp);
	else if (step == SHCA_APM_ARM)
		shca_apm_tell(qp, 0, false);
	return step == SHCA_APM_MIGRATE;
}

/* ---- packets ------------------------------------------------------------------ */

static enum shca_apm_path shca_apm_came_by(const struct shca_qp *qp,
					   const struct sk_buff *skb,
					   const struct shca_pkt *pkt)
{
	const struct shca_av *alt = &qp->apm.av;
	u16 pkey;

	if (qp->link->check(qp->dev, &qp->av, skb))
		return SHCA_APM_PRIMARY;
	pkey = READ_ONCE(qp->dev->pkeys[qp->apm.pkey_index]);
	if (!shca_pkey_match(pkt->pkey, pkey))
		return SHCA_APM_STRANGE;
	if (qp->link->check(qp->dev, alt, skb))
		return SHCA_APM_ALTERNATE;
	/* Only InfiniBand has alternate paths. */
	return pkt->path.slid == alt->ib.dlid ||
	       pkt->path.slid == qp->av.ib.dlid ? SHCA_APM_PEER : SHCA_APM_STRANGE;
}

bool shca_apm_follows(struct shca_qp *qp, const struct sk_buff *skb,
		      const struct shca_pkt *pkt)
{
	enum shca_apm_step step = SHCA_APM_STAY;

	spin_lock(&qp->sq.lock);
	spin_lock(&qp->rq.lock);
	if (!qp->dead && qp->apm.is.state != SHCA_APM_MIGRATED)
		step = shca_apm_rx(&qp->apm.is, true,
				   shca_apm_came_by(qp, skb, pkt));
	shca_apm_do(qp, step);
	spin_unlock(&qp->rq.lock);
	spin_unlock(&qp->sq.lock);
	if (step == SHCA_APM_MIGRATE)
		shca_qp_event(qp, IB_EVENT_PATH_MIG);
	else if (step == SHCA_APM_REFUSE)
		shca_qp_event(qp, IB_EVENT_PATH_MIG_ERR);
	return step == SHCA_APM_MIGRATE;
}

void shca_apm_agreed(struct shca_qp *qp)
{
	if (READ_ONCE(qp->apm.is.state) != SHCA_APM_REARM)
		return;
	spin_lock(&qp->sq.lock);
	spin_lock(&qp->rq.lock);
	if (!qp->dead)
		shca_apm_do(qp, shca_apm_rx(&qp->apm.is, false, SHCA_APM_PRIMARY));
	spin_unlock(&qp->rq.lock);
	spin_unlock(&qp->sq.lock);
}

void shca_apm_exhausted_locked(struct shca_qp *qp, struct shca_side_pending *pending)
{
	lockdep_assert_held(&qp->sq.lock);
	spin_lock(&qp->rq.lock);
	if (shca_apm_do(qp, shca_apm_exhausted(&qp->apm.is)))
		pending->events |= SHCA_EV_PATH_MIG;
	spin_unlock(&qp->rq.lock);
}

/* ---- attributes ---------------------------------------------------------------- */

const char *shca_apm_attr_wrong(const struct shca_qp *qp,
				const struct ib_qp_attr *attr, int mask)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(&attr->alt_ah_attr);
	bool loads = mask & IB_QP_ALT_PATH;

	/* The RDMA core refuses alternate paths on RoCE ports. */
	if (!shca_link_has_sm(qp->link))
		return loads || (mask & IB_QP_PATH_MIG_STATE &&
				 attr->path_mig_state != IB_MIG_MIGRATED) ?
		       "the device has no alternate paths" : NULL;
	if (loads && attr->alt_port_num != 1)
		return "alt_port_num is not 1, the only port";
	if (loads && attr->alt_pkey_index >= shca_limit(qp->dev, PKEYS))
		return "alt_pkey_index is beyond the P_Key table";
	if (loads && attr->alt_timeout > 31)
		return "alt_timeout is larger than 31";
	if (loads && rdma_is_multicast_addr((struct in6_addr *)grh->dgid.raw))
		return "the alternate path's dgid is a multicast address";
	return mask & IB_QP_PATH_MIG_STATE ?
	       shca_apm_wrong(&qp->apm.is, attr->path_mig_state, loads) : NULL;
}

static void shca_apm_swap_attr(struct ib_qp_attr *attr)
{
	swap(attr->ah_attr, attr->alt_ah_attr);
	swap(attr->pkey_index, attr->alt_pkey_index);
	swap(attr->timeout, attr->alt_timeout);
}

void shca_apm_fold_locked(struct shca_qp *qp)
{
	lockdep_assert_held(&qp->attr_lock);
	if (qp->apm.swapped)
		shca_apm_swap_attr(&qp->attr);
	qp->apm.swapped = false;
}

bool shca_apm_modify_locked(struct shca_qp *qp, const struct shca_av *av,
			    int mask)
{
	struct shca_qp_apm *apm = &qp->apm;
	bool migrated = false;

	if (mask & IB_QP_ALT_PATH) {
		apm->av = *av;
		apm->pkey_index = qp->attr.alt_pkey_index;
		apm->timeout_ns = shca_ack_timeout_ns(qp->attr.alt_timeout);
		apm->is.loaded = true;
	}
	if (mask & IB_QP_PATH_MIG_STATE && shca_link_has_sm(qp->link))
		migrated = shca_apm_do(qp, shca_apm_set(&apm->is,
							qp->attr.path_mig_state));
	return migrated;
}

void shca_apm_reset_locked(struct shca_qp *qp)
{
	struct ib_qp_attr *attr = &qp->attr;

	memset(&qp->apm, 0, sizeof(qp->apm));
	memset(&attr->alt_ah_attr, 0, sizeof(attr->alt_ah_attr));
	attr->alt_pkey_index = 0;
	attr->alt_port_num = 0;
	attr->alt_timeout = 0;
}

void shca_apm_query_locked(const struct shca_qp *qp, struct ib_qp_attr *attr)
{
	if (qp->apm.swapped)
		shca_apm_swap_attr(attr);
	attr->path_mig_state = qp->apm.is.state;
}
