/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Asynchronous events of one object: a port, a QP or an SRQ.
 *
 * The RDMA core keeps each event until the process reads it, in memory that nobody is
 * charged for. It does not tell the driver what was read. So an event of a kind that was
 * told a moment ago waits, and further ones of this kind join it. None is lost: what waits
 * is told at the end of the gap.
 */
#ifndef SHCA_EVENT_H
#define SHCA_EVENT_H

#include <linux/hrtimer.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

/*
 * The least time between two events of a kind. Each process that has opened the device gets
 * those of the port, so these become rarer while they repeat, down to one a second.
 */
#define SHCA_EVENT_GAP_NS	(20 * NSEC_PER_MSEC)
#define SHCA_EVENT_PORT_GAP_NS	NSEC_PER_SEC

/**
 * struct shca_events - what the owner of an object is told
 * @tell:	tells it of one event; softirq, or with @is_direct the context of
 *		shca_event()
 * @is_direct:	the first of a kind is told by shca_event() itself
 * @timer:	tells of those that wait; softirq
 * @lock:	protects all below
 * @stopped:	@timer does not run
 * @waits:	one of @due was told since @since, so all wait until @gap is over
 * @due:	kinds (bits IB_EVENT_*) of which @timer will tell
 * @raised:	kinds that were told, or are about to be, since @since
 * @since:	when the current gap began, ns
 * @gap:	ns from @since until the next event of such a kind; doubles each
 *		time that one has to wait
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

/* The struct is zeroed. For @is_direct, @max_gap and @tell see above. */
void shca_events_init(struct shca_events *events, bool is_direct, u64 max_gap,
		      void (*tell)(struct shca_events *events,
				   enum ib_event_type type));

/* Undoes shca_events_stop(). */
void shca_events_start(struct shca_events *events);

/*
 * From now on events wait for shca_events_start().
 * @rest:	tell those that wait already
 * Context: may sleep; shca_events.tell does not run after the return.
 */
void shca_events_stop(struct shca_events *events, bool rest);

/* Tell of an event, now or soon. Context: any that @tell can run in. */
void shca_event(struct shca_events *events, enum ib_event_type type);

#endif
