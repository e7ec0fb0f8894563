// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The last error of a QP: a copy of what a side's completion or answer said, known after the
 * process has dropped it. An error that a retry cures, such as a missing receive request, does
 * not replace a serious one until the QP is reset.
 */
#include "last_error.h"

#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <net/ipv6.h>

#include "../core/wr.h"
#include "qp_table.h"

/* Destroyed QPs that a device remembers. */
#define SHCA_HISTORY	64

/* A destroyed QP. */
struct shca_past {
	kuid_t uid;
	bool is_user;
	struct shca_dump_fate errors;
};

/**
 * struct shca_history - QPs that were destroyed after an error
 * @lock:	all of it; process context, alone
 * @nr:		how many there have been
 * @past:	the last of them; a ring
 */
struct shca_history {
	spinlock_t lock;
	u32 nr;
	struct shca_past past[SHCA_HISTORY];
};

/* ---- writing ---------------------------------------------------------------- */

/* Does the QP fail for it, or does a retry cure it? */
static bool shca_reason_is_serious(u8 reason)
{
	return reason == SHCA_REASON_INVALID || reason == SHCA_REASON_ACCESS ||
	       reason == SHCA_REASON_OPERATION ||
	       reason == SHCA_REASON_RESPONSE;
}

static bool shca_error_is_serious(const struct shca_dump_error *error)
{
	switch (error->what) {
	case SHCA_ERROR_NONE:
		return false;
	case SHCA_ERROR_PACKET:
		return shca_reason_is_serious(error->reason);
	default:
		return true;
	}
}

void shca_last_error_wc(struct shca_side *side, const struct shca_wc *wc, u32 psn)
{
	struct shca_dump_error *error = &side->error;

	error->when = ktime_get_coarse_boottime_ns();
	error->wr_id = wc->wr_id;
	error->psn = psn;
	error->count++;
	error->what = SHCA_ERROR_COMPLETION;
	error->opcode = wc->opcode;
	error->status = wc->status;
	error->reason = 0;
	error->vendor_err = wc->vendor_err;
}

static const u8 shca_verdict_reasons[SHCA_RX_NR] = {
	[SHCA_RX_INVALID] = SHCA_REASON_INVALID,
	[SHCA_RX_ACCESS] = SHCA_REASON_ACCESS,
	[SHCA_RX_OPERATION] = SHCA_REASON_OPERATION,
	[SHCA_RX_RNR] = SHCA_REASON_RNR,
	[SHCA_RX_QKEY] = SHCA_REASON_QKEY,
	[SHCA_RX_DROPPED] = SHCA_REASON_MESSAGE,
	[SHCA_RX_STATE] = SHCA_REASON_STATE,
	[SHCA_RX_BAD_RESPONSE] = SHCA_REASON_RESPONSE,
};

void shca_last_error_packet(struct shca_side *side, const struct shca_pkt *pkt,
			    enum shca_verdict verdict, u16 vendor_err)
{
	struct shca_dump_error *error = &side->error;
	u8 reason = shca_verdict_reasons[verdict];

	if (!reason)
		return;
	error->count++;
	if (shca_error_is_serious(error))
		return;
	error->when = ktime_get_coarse_boottime_ns();
	error->psn = pkt->psn;
	error->what = SHCA_ERROR_PACKET;
	error->opcode = pkt->opcode;
	error->reason = reason;
	error->vendor_err = vendor_err;
}

void shca_last_error_queue(struct shca_side *side, u8 what)
{
	struct shca_dump_error *error = &side->error;

	error->count++;
	/* Completions that are flushed after the first failure do not fit either. */
	if (shca_error_is_serious(error))
		return;
	error->when = ktime_get_coarse_boottime_ns();
	error->what = what;
}

void shca_last_error_dropped(struct shca_qp *qp, const struct shca_pkt *pkt,
			     enum shca_counter id)
{
	struct shca_dump_error *error = &qp->dropped;
	u8 reason;

	switch (id) {
	case SHCA_CNT_RX_PATH:
		/* A QP without a peer accepts no path. */
		reason = READ_ONCE(qp->state) < IB_QPS_RTR ?
			 SHCA_REASON_STATE : SHCA_REASON_PATH;
		break;
	case SHCA_CNT_RX_TRANSPORT:
		reason = SHCA_REASON_TRANSPORT;
		break;
	case SHCA_CNT_RX_ICRC:
		reason = SHCA_REASON_ICRC;
		break;
	case SHCA_CNT_RX_PKEY:
		reason = SHCA_REASON_PKEY;
		break;
	default:
		return;
	}
	/* Several CPUs may write: a mixture of two packets does no harm. */
	WRITE_ONCE(error->when, ktime_get_coarse_boottime_ns());
	WRITE_ONCE(error->psn, pkt->psn);
	WRITE_ONCE(error->count, READ_ONCE(error->count) + 1);
	WRITE_ONCE(error->opcode, pkt->opcode);
	WRITE_ONCE(error->reason, reason);
	WRITE_ONCE(error->what, SHCA_ERROR_PACKET);
}

void shca_last_error_clear(struct shca_qp *qp)
{
	lockdep_assert_held(&qp->sq.lock);
	lockdep_assert_held(&qp->rq.lock);
	memset(&qp->sq.side.error, 0, sizeof(qp->sq.side.error));
	memset(&qp->rq.side.error, 0, sizeof(qp->rq.side.error));
	WRITE_ONCE(qp->dropped.what, SHCA_ERROR_NONE);
	WRITE_ONCE(qp->dropped.count, 0);
}

/* ---- reading ---------------------------------------------------------------- */

static void shca_last_error_read_dropped(const struct shca_qp *qp,
					 struct shca_dump_error *error)
{
	error->what = READ_ONCE(qp->dropped.what);
	error->when = READ_ONCE(qp->dropped.when);
	error->psn = READ_ONCE(qp->dropped.psn);
	error->count = READ_ONCE(qp->dropped.count);
	error->opcode = READ_ONCE(qp->dropped.opcode);
	error->reason = READ_ONCE(qp->dropped.reason);
}

static void shca_last_error_read_locked(const struct shca_qp *qp,
					struct shca_dump_fate *errors)
{
	const struct shca_recv_ring *ring = &qp->rq.ring;
	const struct shca_req *req = &qp->sq.req;

	errors->state = qp->state;
	if (qp->rq.srq || qp->rss || qp->type == IB_QPT_XRC_TGT)
		errors->flags |= SHCA_FATE_SRQ;
	if (shca_req_rnr_waits(req))
		errors->flags |= SHCA_FATE_RNR_WAIT;
	if (qp->type != IB_QPT_UD && qp->type != IB_QPT_GSI &&
	    qp->type != IB_QPT_SMI &&
	    qp->type != IB_QPT_RAW_PACKET && qp->state >= IB_QPS_RTR) {
		errors->dest_qpn = qp->rq.resp.attr.dqpn;
		if (qp->av.link == SHCA_LINK_ROCE)
			memcpy(errors->dest, &qp->av.roce.daddr,
			       sizeof(errors->dest));
	}
	/* The process writes this index; nothing depends on it. */
	if (qp->index && qp->sq.entries)
		errors->unfinished = READ_ONCE(qp->index->sq_prod) -
				   (req->ring.head - req->ring.own);
	if (ring->entries && ring->user_prod)
		errors->rq_posted = shca_recv_ring_count(ring);
	errors->retry_left = req->recovery.retry_left;
	errors->rnr_left = shca_req_rnr_left(req);
	errors->send = qp->sq.side.error;
	errors->recv = qp->rq.side.error;
}

static void shca_last_error_read(struct shca_qp *qp, struct shca_dump_fate *errors)
{
	memset(errors, 0, sizeof(*errors));
	errors->size = sizeof(*errors);
	errors->qpn = qp->qpn;
	errors->type = qp->type;
	errors->pid = qp->pid;
	if (qp->is_user)
		errors->flags |= SHCA_FATE_USER;
	shca_last_error_read_dropped(qp, &errors->dropped);
	spin_lock_bh(&qp->sq.lock);
	spin_lock(&qp->rq.lock);
	shca_last_error_read_locked(qp, errors);
	spin_unlock(&qp->rq.lock);
	spin_unlock_bh(&qp->sq.lock);
}

void shca_last_error_bury(struct shca_qp *qp)
{
	struct shca_history *history = qp->dev->history;
	struct shca_past past = { .uid = qp->uid, .is_user = qp->is_user };

	/* Nobody knows a work queue by number. */
	if (qp->wq)
		return;
	shca_last_error_read(qp, &past.errors);
	if (!past.errors.send.what && !past.errors.recv.what &&
	    !past.errors.dropped.what)
		return;
	past.errors.flags |= SHCA_FATE_DESTROYED;
	spin_lock(&history->lock);
	history->past[history->nr++ % SHCA_HISTORY] = past;
	spin_unlock(&history->lock);
}

/* Arguments of shca_last_error_walk(); @pass: QPs that are still to be skipped */
struct shca_last_error_walk {
	const struct shca_dev *dev;
	long pass;
	kuid_t uid;
	int (*fn)(const struct shca_dump_fate *errors, void *arg);
	void *arg;
};

static bool shca_last_error_is_for(const struct shca_last_error_walk *walk, kuid_t uid,
				   bool is_user)
{
	return !uid_valid(walk->uid) || (is_user && uid_eq(walk->uid, uid));
}

static int shca_last_error_visit(struct shca_qp *qp, void *arg)
{
	struct shca_last_error_walk *walk = arg;
	struct shca_dump_fate errors;

	if (qp->dev != walk->dev || !shca_last_error_is_for(walk, qp->uid, qp->is_user))
		return 0;
	if (walk->pass) {
		walk->pass--;
		return 0;
	}
	shca_last_error_read(qp, &errors);
	return walk->fn(&errors, walk->arg);
}

/* Return: false: there is none. */
static bool shca_history_get(struct shca_history *history, u32 i,
			     struct shca_past *past)
{
	bool found;

	spin_lock(&history->lock);
	found = i < min_t(u32, history->nr, SHCA_HISTORY);
	if (found)
		/* The oldest one first */
		*past = history->past[(history->nr <= SHCA_HISTORY ? i :
				       history->nr + i) % SHCA_HISTORY];
	spin_unlock(&history->lock);
	return found;
}

int shca_last_error_walk(struct shca_dev *dev, long from, kuid_t uid,
			 int (*fn)(const struct shca_dump_fate *errors, void *arg),
			 void *arg)
{
	struct shca_last_error_walk walk = {
		.dev = dev, .pass = from, .uid = uid, .fn = fn, .arg = arg,
	};
	struct shca_past past;
	int err;
	u32 i;

	err = shca_net_walk_qps(dev->snet, shca_last_error_visit, &walk);
	for (i = 0; !err && shca_history_get(dev->history, i, &past); i++) {
		if (!shca_last_error_is_for(&walk, past.uid, past.is_user))
			continue;
		if (walk.pass)
			walk.pass--;
		else
			err = fn(&past.errors, arg);
	}
	return err;
}

int shca_history_init(struct shca_dev *dev)
{
	dev->history = kzalloc(sizeof(*dev->history), GFP_KERNEL);
	if (!dev->history)
		return -ENOMEM;
	spin_lock_init(&dev->history->lock);
	return 0;
}
