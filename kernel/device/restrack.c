// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Details of objects for `rdma resource show -dd`, and raw dumps for `-r`. All users see the
 * details, so they have no keys (the RDMA core hides keys, too).
 *
 * The RDMA core has a reference to the object. But before rdma_restrack_begin_del() existed,
 * an object could be in destruction meanwhile: its rings are freed first, the RDMA core's
 * part last. So for CQs and SRQs this file reads only the object itself. For a QP, which is a
 * separate allocation, it reads what a reference keeps. MRs, contexts and counters leave the
 * RDMA core's table before they are destroyed.
 */
#include "restrack.h"

#include <net/netlink.h>
#include <rdma/ib_verbs.h>
#include <rdma/restrack.h>
#include <uapi/rdma/rdma_netlink.h>

#include "../mem/mr.h"
#include "../queue/cq.h"
#include "../queue/qp.h"
#include "../queue/srq.h"
#include "../verbs/qp_verbs.h"
#include "../../uapi/softhca-dump.h"

struct shca_detail {
	const char *name;
	u32 value;
};

/* The tool expects driver details in a nest of their own. */
static int shca_put_details(struct sk_buff *msg, const struct shca_detail *d,
			    int nr)
{
	struct nlattr *table = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);

	if (!table)
		return -EMSGSIZE;
	for (; nr; nr--, d++) {
		if (rdma_nl_put_driver_u32(msg, d->name, d->value)) {
			nla_nest_cancel(msg, table);
			return -EMSGSIZE;
		}
	}
	nla_nest_end(msg, table);
	return 0;
}

/* ---- queue pairs ------------------------------------------------------------ */

static u32 shca_dump_qp_flags(const struct shca_qp *qp)
{
	const struct shca_req *req = &qp->sq.req;
	u32 flags = 0;

	if (qp->is_user)
		flags |= SHCA_DUMP_QP_USER;
	if (req->state == SHCA_SIDE_ERR)
		flags |= SHCA_DUMP_QP_SQ_ERR;
	if (qp->rq.resp.state == SHCA_SIDE_ERR)
		flags |= SHCA_DUMP_QP_RQ_ERR;
	if (shca_req_rnr_waits(req))
		flags |= SHCA_DUMP_QP_RNR_WAIT;
	if (req->draining)
		flags |= SHCA_DUMP_QP_DRAINING;
	if (qp->sq.direct)
		flags |= SHCA_DUMP_QP_DIRECT;
	if (req->attr.peer)
		flags |= SHCA_DUMP_QP_PEER;
	return flags;
}

static void shca_dump_qp_locked(const struct shca_qp *qp,
				struct shca_dump_qp *dump)
{
	const struct shca_recv_ring *ring = &qp->rq.ring;
	const struct shca_resp *resp = &qp->rq.resp;
	const struct shca_req *req = &qp->sq.req;

	dump->state = qp->state;
	dump->flags = shca_dump_qp_flags(qp);
	/* The process writes it; nothing depends on it. */
	if (qp->index)
		dump->sq_posted = READ_ONCE(qp->index->sq_prod);
	dump->sq_fetched = qp->sq.fetched;
	dump->req_una = req->ring.una;
	dump->req_next = req->ring.nxt;
	dump->req_end = req->ring.prod;
	dump->psn = req->psn.next;
	dump->una_psn = req->psn.una;
	dump->max_psn = req->psn.max;
	dump->retry_left = req->recovery.retry_left;
	dump->rnr_left = shca_req_rnr_left(req);
	if (ring->entries && ring->user_prod)
		dump->rq_posted = shca_recv_ring_count(ring);
	dump->epsn = resp->epsn;
	dump->msn = resp->msn;
	dump->window = req->cc.cwnd;
	dump->errors = qp->sq.side.error.count + qp->rq.side.error.count +
		       data_race(qp->dropped.count);
	dump->tx_bytes = req->stats.tx_bytes + resp->stats.tx_bytes;
	dump->rx_bytes = req->stats.rx_bytes + resp->stats.rx_bytes;
	dump->sent_again = req->stats.retransmits;
	dump->timeouts = req->stats.timeouts;
	dump->resets = qp->resets;
	dump->first_psn = req->attr.sq_psn;
}

/* Return: 0, or -EAGAIN if it is being destroyed; the RDMA core then leaves it out. */
static int shca_dump_qp(struct ib_qp *ibqp, struct shca_dump_qp *dump)
{
	struct shca_qp *qp = shca_qp_get(ibqp);

	memset(dump, 0, sizeof(*dump));
	if (!qp)
		return -EAGAIN;
	dump->size = sizeof(*dump);
	dump->qpn = qp->qpn;
	dump->type = qp->type;
	dump->sq_entries = qp->sq.entries;
	dump->sq_stride = qp->sq.stride;
	dump->rq_entries = qp->rq.ring.entries;
	dump->rq_stride = qp->rq.ring.stride;

	spin_lock_bh(&qp->sq.lock);
	spin_lock(&qp->rq.lock);
	shca_dump_qp_locked(qp, dump);
	spin_unlock(&qp->rq.lock);
	spin_unlock_bh(&qp->sq.lock);
	shca_qp_put(qp);
	return 0;
}

/* The last details show the progress of traffic, which needs privilege. */
#define SHCA_QP_LIVE_DETAILS	2

int shca_fill_res_qp_entry(struct sk_buff *msg, struct ib_qp *ibqp)
{
	struct shca_dump_qp dump;
	int err = shca_dump_qp(ibqp, &dump);
	const struct shca_detail details[] = {
		{ "sq_entries", dump.sq_entries },
		{ "sq_waiting", dump.sq_posted - dump.sq_fetched },
		{ "sq_running", dump.req_end - dump.req_una },
		{ "rq_entries", dump.rq_entries },
		{ "rq_posted", dump.rq_posted },
		{ "retry_left", dump.retry_left },
		{ "rnr_left", dump.rnr_left },
		{ "direct", !!(dump.flags & SHCA_DUMP_QP_DIRECT) },
		{ "peer_known", !!(dump.flags & SHCA_DUMP_QP_PEER) },
		{ "epsn", dump.epsn },
		{ "msn", dump.msn },
	};
	int nr = ARRAY_SIZE(details);

	if (err)
		return err;
	return shca_put_details(msg, details, shca_qp_may_watch(ibqp) ?
				nr : nr - SHCA_QP_LIVE_DETAILS);
}

/* The RDMA core checks CAP_NET_ADMIN. */
int shca_fill_res_qp_entry_raw(struct sk_buff *msg, struct ib_qp *ibqp)
{
	struct shca_dump_qp dump;
	int err = shca_dump_qp(ibqp, &dump);

	return err ?: nla_put(msg, RDMA_NLDEV_ATTR_RES_RAW, sizeof(dump), &dump);
}

/* ---- completion queues ------------------------------------------------------- */

static struct shca_dump_cq shca_dump_cq(struct shca_cq *cq)
{
	struct shca_dump_cq dump = { .size = sizeof(dump) };

	spin_lock_irq(&cq->lock);
	dump.flags = (cq->is_user ? SHCA_DUMP_CQ_USER : 0) |
		     (cq->overflow ? SHCA_DUMP_CQ_OVERFLOW : 0);
	dump.entries = cq->entries;
	dump.written = cq->prod;
	spin_unlock_irq(&cq->lock);
	return dump;
}

int shca_fill_res_cq_entry(struct sk_buff *msg, struct ib_cq *ibcq)
{
	struct shca_dump_cq dump = shca_dump_cq(to_shca_cq(ibcq));
	const struct shca_detail details[] = {
		{ "entries", dump.entries },
		{ "written", dump.written },
		{ "overflow", !!(dump.flags & SHCA_DUMP_CQ_OVERFLOW) },
	};

	return shca_put_details(msg, details, ARRAY_SIZE(details));
}

int shca_fill_res_cq_entry_raw(struct sk_buff *msg, struct ib_cq *ibcq)
{
	struct shca_dump_cq dump = shca_dump_cq(to_shca_cq(ibcq));

	return nla_put(msg, RDMA_NLDEV_ATTR_RES_RAW, sizeof(dump), &dump);
}

/* ---- memory regions ------------------------------------------------------------ */

/* The RDMA core does not show a deregistered region. */
static struct shca_dump_mr shca_dump_mr(const struct shca_mr *mr)
{
	/* A work request may change these members; a mixed reading is harmless. */
	return (struct shca_dump_mr){
		.size = sizeof(struct shca_dump_mr),
		.type = mr->type,
		.access = data_race(mr->access),
		.block_shift = data_race(mr->block_shift),
		.iova = data_race(mr->iova),
		.length = data_race(mr->length),
	};
}

int shca_fill_res_mr_entry(struct sk_buff *msg, struct ib_mr *ibmr)
{
	struct shca_dump_mr dump = shca_dump_mr(to_shca_mr(ibmr));
	const struct shca_detail details[] = {
		{ "type", dump.type },
		{ "access", dump.access },
		{ "block_shift", dump.block_shift },
	};

	return shca_put_details(msg, details, ARRAY_SIZE(details));
}

int shca_fill_res_mr_entry_raw(struct sk_buff *msg, struct ib_mr *ibmr)
{
	struct shca_dump_mr dump = shca_dump_mr(to_shca_mr(ibmr));

	return nla_put(msg, RDMA_NLDEV_ATTR_RES_RAW, sizeof(dump), &dump);
}

/* ---- shared receive queues -------------------------------------------------------- */

static struct shca_dump_srq shca_dump_srq(struct shca_srq *srq)
{
	struct shca_dump_srq dump = { .size = sizeof(dump) };

	spin_lock_irq(&srq->lock);
	dump.entries = srq->ring.entries;
	dump.stride = srq->ring.stride;
	dump.limit = srq->limit;
	dump.taken = srq->ring.fetched;
	spin_unlock_irq(&srq->lock);
	return dump;
}

int shca_fill_res_srq_entry(struct sk_buff *msg, struct ib_srq *ibsrq)
{
	struct shca_dump_srq dump = shca_dump_srq(to_shca_srq(ibsrq));
	const struct shca_detail details[] = {
		{ "entries", dump.entries },
		{ "limit", dump.limit },
		{ "taken", dump.taken },
	};

	return shca_put_details(msg, details, ARRAY_SIZE(details));
}

int shca_fill_res_srq_entry_raw(struct sk_buff *msg, struct ib_srq *ibsrq)
{
	struct shca_dump_srq dump = shca_dump_srq(to_shca_srq(ibsrq));

	return nla_put(msg, RDMA_NLDEV_ATTR_RES_RAW, sizeof(dump), &dump);
}
