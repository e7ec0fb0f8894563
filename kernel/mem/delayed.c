// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Delayed placement: see delayed.h.
 *
 * Timer: shca_delayed.timer. shca_delayed_hold() arms it, and it places delayed bytes.
 * Softirq.
 */
#include "delayed.h"

#include <linux/slab.h>

#include "../base/compat.h"
#include "../core/opcode.h"
#include "../core/packet.h"
#include "mr.h"

/* Place the bytes, and drop the reference to @mr. */
static void shca_delayed_copy(struct shca_mr *mr, u64 va, const u8 *bytes, u32 len)
{
	shca_mr_copy(mr, va, NULL, 0, bytes, len);
	shca_mr_unref(mr);
}

/* ---- in a QP ----------------------------------------------------------------- */

void shca_delayed_place(struct shca_delayed *delayed)
{
	lockdep_assert_held(delayed->lock);
	if (!delayed->mr)
		return;
	shca_delayed_copy(delayed->mr, delayed->va, delayed->bytes, delayed->len);
	delayed->mr = NULL;
}

bool shca_delayed_begin(struct shca_delayed *delayed, const struct shca_pkt *pkt)
{
	if (!(shca_opcode_info(pkt->opcode)->flags & SHCA_OPF_START))
		return false;
	shca_delayed_place(delayed);
	delayed->begun = false;
	return !(shca_opcode_info(pkt->opcode)->flags & SHCA_OPF_SEND);
}

u32 shca_delayed_hold(struct shca_delayed *delayed, struct shca_mr *mr, u64 va, u32 len)
{
	/* The last byte is never delayed. Other region types need their lock until the copy. */
	if (delayed->begun || len < 2 || mr->type != SHCA_MR_USER)
		return 0;
	delayed->begun = true;
	delayed->va = va;
	delayed->len = shca_delayed_bytes(len);
	/* The caller's reference ends with the access. */
	refcount_inc(&mr->ref);
	delayed->mr = mr;
	hrtimer_start(&delayed->timer, ns_to_ktime((u64)delayed->us * NSEC_PER_USEC),
		      HRTIMER_MODE_REL_SOFT);
	return delayed->len;
}

static enum hrtimer_restart shca_delayed_timer(struct hrtimer *timer)
{
	struct shca_delayed *delayed = container_of(timer, struct shca_delayed, timer);

	spin_lock(delayed->lock);
	/* Queued: a later message has armed it again. */
	if (!hrtimer_is_queued(timer))
		shca_delayed_place(delayed);
	spin_unlock(delayed->lock);
	return HRTIMER_NORESTART;
}

int shca_delayed_make(u32 us, spinlock_t *lock, struct shca_delayed **made)
{
	struct shca_delayed *delayed;

	if (!us)
		return 0;
	delayed = kzalloc(sizeof(*delayed), GFP_KERNEL_ACCOUNT);
	if (!delayed)
		return -ENOMEM;
	delayed->lock = lock;
	delayed->us = us;
	hrtimer_setup(&delayed->timer, shca_delayed_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
	*made = delayed;
	return 0;
}

void shca_delayed_end(struct shca_delayed *delayed)
{
	if (!delayed)
		return;
	hrtimer_cancel(&delayed->timer);
	spin_lock_bh(delayed->lock);
	shca_delayed_place(delayed);
	spin_unlock_bh(delayed->lock);
}

/* ---- in a CQ ----------------------------------------------------------------- */

void shca_delayed_cq_add(struct shca_delayed_cq *delayed, struct shca_mr *mr, u64 va,
			 const u8 *bytes, u32 len)
{
	struct shca_delayed_piece *piece = &delayed->piece[delayed->nr++];

	refcount_inc(&mr->ref);
	piece->mr = mr;
	piece->va = va;
	piece->len = len;
	memcpy(piece->bytes, bytes, len);
}

void shca_delayed_cq_place(struct shca_delayed_cq *delayed)
{
	u32 i;

	for (i = 0; i < delayed->nr; i++)
		shca_delayed_copy(delayed->piece[i].mr, delayed->piece[i].va,
				  delayed->piece[i].bytes, delayed->piece[i].len);
	delayed->nr = 0;
}

bool shca_delayed_cq_meets(const struct shca_delayed_cq *delayed, u64 va, u64 len)
{
	const struct shca_delayed_piece *piece;
	u32 i;

	for (i = 0; i < delayed->nr; i++) {
		piece = &delayed->piece[i];
		if (va - piece->va < piece->len || piece->va - va < len)
			return true;
	}
	return false;
}
