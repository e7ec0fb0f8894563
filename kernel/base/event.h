/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Asynchronous events of one object: a port, a QP or an SRQ.
 *
 * The RDMA core queues each event until the process reads it, in memory that is charged to
 * nobody, and does not notify the driver of reads. Therefore events of a kind are
 * rate-limited: one that repeats within the gap waits until its end, and further ones of its
 * kind coalesce with it.
 */
#ifndef SHCA_EVENT_H
#define SHCA_EVENT_H

#include <linux/hrtimer.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

/*
 * Least time between two events of a kind. Port events go to each process that has opened the
 * device, so their gap grows up to a second while they repeat.
 */
#define SHCA_EVENT_GAP_NS	(20 * NSEC_PER_MSEC)
#define SHCA_EVENT_PORT_GAP_NS	NSEC_PER_SEC

/**
 * struct shca_events - rate-limited events of one object
 * @tell:	reports one event; softirq, or with @is_direct the context of shca_event()
 * @is_direct:	shca_event() itself reports the first event of a kind
 * @timer:	reports events that wait; softirq
 * @lock:	protects all below
 * @stopped:	@timer is not armed
 * @waits:	one of @due was reported since @since, so all wait until @gap is over
 * @due:	kinds (bits IB_EVENT_*) that @timer will report
 * @raised:	kinds reported since @since, or about to be
 * @since:	when the current gap began, ns
 * @gap:	ns from @since until the next event of such a kind; doubles each time that one
 *		has to wait
 * @max_gap:	the longest @gap, ns
 */
struct shca_events {
	void (*tell)(struct shca_events *events, enum ib_event_type type);
	bool is_direct;
	struct hrtimer timer;
	spinlock_t lock;
	bool stopped;
	bool waits;
	u32 due;
	u32 raised;
	u64 since;
	u64 gap;
	u64 max_gap;
};

/* @events is zeroed. See the struct for the others. */
void shca_events_init(struct shca_events *events, bool is_direct, u64 max_gap,
		      void (*tell)(struct shca_events *events,
				   enum ib_event_type type));

/* Undoes shca_events_stop(). */
void shca_events_start(struct shca_events *events);

/*
 * Make events wait for shca_events_start().
 * @rest:	report those that wait already
 * Context: may sleep. The timer does not call shca_events.tell after the return.
 */
void shca_events_stop(struct shca_events *events, bool rest);

/* Report an event, now or soon. Context: any that shca_events.tell can run in. */
void shca_event(struct shca_events *events, enum ib_event_type type);

#endif
