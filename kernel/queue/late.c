// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Data that is placed late: see late.h.
 *
 * Timer: shca_late.timer. shca_late_hold() arms it, and it places what is late. Softirq.
 */
#include "late.h"

#include <linux/slab.h>

#include "../base/compat.h"
#include "../base/dev.h"
#include "../core/opcode.h"
#include "../core/packet.h"
#include "../mem/mr.h"
#include "cq.h"
#include "qp.h"

/* To where they belong. The reference to @mr goes. */
static void shca_late_copy(struct shca_mr *mr, u64 va, const u8 *bytes, u32 len)
{
	shca_mr_copy(mr, va, NULL, 0, bytes, len);
	shca_mr_unref(mr);
}

/* ---- in a QP ----------------------------------------------------------------- */

void shca_late_place(struct shca_late *late)
{
	lockdep_assert_held(&late->qp->rq.lock);
	if (!late->mr)
		return;
	shca_late_copy(late->mr, late->va, late->bytes, late->len);
	late->mr = NULL;
}

void shca_late_begin(struct shca_late *late, const struct shca_pkt *pkt)
{
	if (!(shca_opcode_info(pkt->opcode)->flags & SHCA_OPF_START))
		return;
	shca_late_place(late);
	late->begun = false;
	/* What it writes or reads may be what an earlier SEND has brought. */
	if (!(shca_opcode_info(pkt->opcode)->flags & SHCA_OPF_SEND) && late->qp->rq.cq)
		shca_cq_place(late->qp->rq.cq);
}

u32 shca_late_hold(struct shca_late *late, struct shca_mr *mr, u64 va, u32 len)
{
	/*
	 * Its last byte comes in time. A region of another kind can change under the
	 * request, so nobody may keep it.
	 */
	if (late->begun || len < 2 || mr->type != SHCA_MR_USER)
		return 0;
	late->begun = true;
	late->va = va;
	late->len = shca_late_bytes(len);
	/* The caller has a reference for the time of the access only. */
	refcount_inc(&mr->ref);
	late->mr = mr;
	hrtimer_start(&late->timer, ns_to_ktime((u64)late->us * NSEC_PER_USEC),
		      HRTIMER_MODE_REL_SOFT);
	return late->len;
}

static enum hrtimer_restart shca_late_timer(struct hrtimer *timer)
{
	struct shca_late *late = container_of(timer, struct shca_late, timer);

	spin_lock(&late->qp->rq.lock);
	/* That of a later message has armed it anew, and so is still to come. */
	if (!hrtimer_is_queued(timer))
		shca_late_place(late);
	spin_unlock(&late->qp->rq.lock);
	return HRTIMER_NORESTART;
}

int shca_late_make(struct shca_qp *qp)
{
	u32 us = shca_limit(qp->dev, LATE_US);
	struct shca_late *late;

	if (!us)
		return 0;
	late = kzalloc(sizeof(*late), GFP_KERNEL_ACCOUNT);
	if (!late)
		return -ENOMEM;
	late->qp = qp;
	late->us = us;
	hrtimer_setup(&late->timer, shca_late_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
	qp->rq.late = late;
	return 0;
}

void shca_late_end(struct shca_qp *qp)
{
	struct shca_late *late = qp->rq.late;

	if (!late)
		return;
	hrtimer_cancel(&late->timer);
	spin_lock_bh(&qp->rq.lock);
	shca_late_place(late);
	spin_unlock_bh(&qp->rq.lock);
}

/* ---- in a CQ ----------------------------------------------------------------- */

void shca_late_cq_add(struct shca_late_cq *late, struct shca_mr *mr, u64 va,
		      const u8 *bytes, u32 len)
{
	struct shca_late_piece *piece = &late->piece[late->nr++];

	/* The caller has a reference for the time of the access only. */
	refcount_inc(&mr->ref);
	piece->mr = mr;
	piece->va = va;
	piece->len = len;
	memcpy(piece->bytes, bytes, len);
}

void shca_late_cq_place(struct shca_late_cq *late)
{
	u32 i;

	for (i = 0; i < late->nr; i++)
		shca_late_copy(late->piece[i].mr, late->piece[i].va,
			       late->piece[i].bytes, late->piece[i].len);
	late->nr = 0;
}

bool shca_late_cq_meets(const struct shca_late_cq *late, u64 va, u64 len)
{
	const struct shca_late_piece *piece;
	u32 i;

	for (i = 0; i < late->nr; i++) {
		piece = &late->piece[i];
		if (va - piece->va < piece->len || piece->va - va < len)
			return true;
	}
	return false;
}
