// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Asynchronous events: rate limit, see event.h.
 *
 * Timer: shca_events.timer, armed for the first event that waits. It runs in softirq.
 */
#include "event.h"

#include <linux/ktime.h>

#include "compat.h"

/* If both are due, PORT_ACTIVE is the later one (see shca_events_add()). */
static void shca_events_tell(struct shca_events *events, u32 kinds)
{
	const u32 last = BIT(IB_EVENT_PORT_ACTIVE);
	unsigned long rest = kinds & ~(BIT(IB_EVENT_PORT_ERR) | last);
	unsigned int type;

	if (kinds & BIT(IB_EVENT_PORT_ERR))
		events->tell(events, IB_EVENT_PORT_ERR);
	for_each_set_bit(type, &rest, BITS_PER_LONG)
		events->tell(events, type);
	if (kinds & last)
		events->tell(events, IB_EVENT_PORT_ACTIVE);
}

static void shca_events_tell_due(struct shca_events *events)
{
	unsigned long flags;
	u32 kinds;

	spin_lock_irqsave(&events->lock, flags);
	kinds = events->due;
	events->due = 0;
	if (events->waits) {
		events->waits = false;
		events->raised = kinds;
		events->since = ktime_get_ns();
	}
	spin_unlock_irqrestore(&events->lock, flags);
	shca_events_tell(events, kinds);
}

static enum hrtimer_restart shca_events_timer(struct hrtimer *timer)
{
	shca_events_tell_due(container_of(timer, struct shca_events, timer));
	return HRTIMER_NORESTART;
}

static void shca_events_arm(struct shca_events *events, u64 due)
{
	lockdep_assert_held(&events->lock);
	if (!events->stopped)
		hrtimer_start(&events->timer, ns_to_ktime(due),
			      HRTIMER_MODE_ABS_SOFT);
}

/* Return: does the caller report the event itself? */
static bool shca_events_add(struct shca_events *events, u32 kind, u64 now)
{
	lockdep_assert_held(&events->lock);
	if (!events->due && now - events->since >= events->gap) {
		events->raised = 0;
		events->since = now;
		events->gap = SHCA_EVENT_GAP_NS;
	}
	if (!events->waits && !(events->raised & kind)) {
		events->raised |= kind;
		if (events->is_direct)
			return true;
		shca_events_arm(events, now);
	} else if (!events->waits && !(events->due & kind)) {
		events->waits = true;
		events->gap = min(2 * events->gap, events->max_gap);
		shca_events_arm(events, events->since + events->gap);
	}
	if (kind == BIT(IB_EVENT_PORT_ERR))
		events->due &= ~BIT(IB_EVENT_PORT_ACTIVE);
	events->due |= kind;
	return false;
}

void shca_event(struct shca_events *events, enum ib_event_type type)
{
	unsigned long flags;
	bool direct;

	spin_lock_irqsave(&events->lock, flags);
	direct = shca_events_add(events, BIT(type), ktime_get_ns());
	spin_unlock_irqrestore(&events->lock, flags);
	if (direct)
		events->tell(events, type);
}

void shca_events_init(struct shca_events *events, bool is_direct, u64 max_gap,
		      void (*tell)(struct shca_events *events,
				   enum ib_event_type type))
{
	events->tell = tell;
	events->is_direct = is_direct;
	events->max_gap = max_gap;
	events->gap = SHCA_EVENT_GAP_NS;
	spin_lock_init(&events->lock);
	hrtimer_setup(&events->timer, shca_events_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_SOFT);
}

void shca_events_start(struct shca_events *events)
{
	spin_lock_irq(&events->lock);
	events->stopped = false;
	if (events->due)
		shca_events_arm(events, ktime_get_ns());
	spin_unlock_irq(&events->lock);
}

void shca_events_stop(struct shca_events *events, bool rest)
{
	spin_lock_irq(&events->lock);
	events->stopped = true;
	spin_unlock_irq(&events->lock);
	/* @stopped keeps the timer from being armed again. */
	hrtimer_cancel(&events->timer);
	if (rest)
		shca_events_tell_due(events);
}
