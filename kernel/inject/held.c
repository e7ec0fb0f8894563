// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Faults of packets: see held.h.
 * Timer: shca_faults.timer, one for each device, for the first packet that waits. Softirq.
 */
#include "held.h"

#include <linux/ktime.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "../base/compat.h"
#include "../core/headers.h"

/* A packet that is not overtaken goes on after this time. */
#define SHCA_FAULT_REORDER_NS	(20 * NSEC_PER_MSEC)
/* Packets that go on in one run of the timer, at most. */
#define SHCA_FAULT_TURN		64

void shca_fault_port_event(struct shca_dev *dev, u8 event)
{
	if (event == IB_EVENT_PORT_ERR)
		atomic_inc(&dev->port.downed);
	shca_event(&dev->events, event);
}

void shca_fault_damage(struct sk_buff *skb, u32 off, u32 hdr_len, u32 len,
		       const struct shca_fault_hit *hit)
{
	u32 random = hit->random, at;
	u8 byte;

	switch (hit->rule.what) {
	case SHCA_FAULT_CORRUPT_PAYLOAD:
		at = hdr_len + random % (len - hdr_len - SHCA_ICRC_BYTES);
		break;
	case SHCA_FAULT_CORRUPT_HEADER:
		/* Damage the PSN: the packet still reaches its QP, which counts it. */
		at = 9 + random % 3;
		break;
	default:
		at = len - 1 - random % SHCA_ICRC_BYTES;
		break;
	}
	if (skb_copy_bits(skb, off + at, &byte, 1))
		return;
	byte ^= 1 << (random >> 29);
	skb_store_bits(skb, off + at, &byte, 1);
}

/* ---- packets that wait ----------------------------------------------------------- */

/* Context: the lock held. */
static void shca_fault_arm(struct shca_faults *faults)
{
	struct shca_held *first;

	lockdep_assert_held(&faults->lock);
	first = list_first_entry_or_null(&faults->held, struct shca_held, node);
	/* Not in the past: the hrtimer softirq would run it again before all else. */
	if (first)
		hrtimer_start(&faults->timer,
			      ns_to_ktime(max(first->due, ktime_get_ns())),
			      HRTIMER_MODE_ABS_SOFT);
}

static void shca_held_free(struct shca_held *held)
{
	if (held->go_on != shca_fault_leave && held->dev->link->keep)
		held->dev->link->keep(held->dev, held->skb, false);
	kfree_skb(held->skb);
	kfree(held);
}

void shca_fault_hold(struct shca_held *held, const struct shca_fault_hit *hit)
{
	struct shca_faults *faults = &held->dev->faults;
	struct shca_held *before;
	bool ok;

	held->ahead = 0;
	held->due = ktime_get_ns();
	if (hit->rule.what == SHCA_FAULT_REORDER) {
		held->ahead = hit->rule.distance;
		held->due += SHCA_FAULT_REORDER_NS;
	} else {
		held->due += hit->delay_ns;
	}
	spin_lock_bh(&faults->lock);
	ok = !faults->stopped && faults->nr_held < SHCA_FAULT_HELD;
	if (ok) {
		list_for_each_entry_reverse(before, &faults->held, node)
			if (before->due <= held->due)
				break;
		list_add(&held->node, &before->node);
		faults->nr_held++;
		shca_fault_arm(faults);
	}
	spin_unlock_bh(&faults->lock);
	if (!ok)
		shca_held_free(held);
}

void shca_fault_leave(struct shca_held *held)
{
	struct shca_route route = {};
	u32 len = held->skb->len;

	/* An error is a loss, as no sender waits any more. */
	held->dev->link->xmit(held->dev, &held->av, &route, held->skb, 1, len);
	shca_route_drop(&route);
	kfree(held);
}

void shca_fault_passed(struct shca_dev *dev, u32 qpn,
		       void (*go_on)(struct shca_held *held))
{
	struct shca_faults *faults = &dev->faults;
	struct shca_held *held, *next;
	LIST_HEAD(overtaken);

	if (!READ_ONCE(faults->nr_held))
		return;
	spin_lock_bh(&faults->lock);
	list_for_each_entry_safe(held, next, &faults->held, node) {
		if (held->qpn != qpn || held->go_on != go_on || !held->ahead ||
		    --held->ahead)
			continue;
		list_move_tail(&held->node, &overtaken);
		faults->nr_held--;
	}
	spin_unlock_bh(&faults->lock);
	list_for_each_entry_safe(held, next, &overtaken, node)
		go_on(held);
}

static struct shca_held *shca_fault_first_due(struct shca_faults *faults)
{
	struct shca_held *held;

	spin_lock_bh(&faults->lock);
	held = list_first_entry_or_null(&faults->held, struct shca_held, node);
	if (held && !faults->stopped && held->due <= ktime_get_ns()) {
		list_del(&held->node);
		faults->nr_held--;
	} else {
		if (!faults->stopped)
			shca_fault_arm(faults);
		held = NULL;
	}
	spin_unlock_bh(&faults->lock);
	return held;
}

static enum hrtimer_restart shca_fault_timer(struct hrtimer *timer)
{
	struct shca_faults *faults = container_of(timer, struct shca_faults,
						  timer);
	struct shca_held *held;
	int i;

	/* Bounded, because packets may be delayed faster meanwhile. */
	rcu_read_lock();
	for (i = 0; i < SHCA_FAULT_TURN; i++) {
		held = shca_fault_first_due(faults);
		if (!held)
			break;
		held->go_on(held);
	}
	rcu_read_unlock();
	if (i == SHCA_FAULT_TURN) {
		spin_lock_bh(&faults->lock);
		if (!faults->stopped)
			shca_fault_arm(faults);
		spin_unlock_bh(&faults->lock);
	}
	return HRTIMER_NORESTART;
}

/* ---- lifetime ------------------------------------------------------------------------ */

void shca_fault_init_dev(struct shca_dev *dev)
{
	struct shca_faults *faults = &dev->faults;

	INIT_LIST_HEAD(&faults->rules);
	INIT_LIST_HEAD(&faults->held);
	spin_lock_init(&faults->lock);
	hrtimer_setup(&faults->timer, shca_fault_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_SOFT);
}

void shca_fault_start_dev(struct shca_dev *dev)
{
	spin_lock_bh(&dev->faults.lock);
	dev->faults.stopped = false;
	spin_unlock_bh(&dev->faults.lock);
}

void shca_fault_stop_dev(struct shca_dev *dev)
{
	struct shca_faults *faults = &dev->faults;
	struct shca_held *held, *next;
	LIST_HEAD(held_list);

	spin_lock_bh(&faults->lock);
	faults->stopped = true;
	list_splice_init(&faults->held, &held_list);
	faults->nr_held = 0;
	spin_unlock_bh(&faults->lock);
	/* @stopped keeps it from being armed again. */
	hrtimer_cancel(&faults->timer);
	list_for_each_entry_safe(held, next, &held_list, node)
		shca_held_free(held);
}
