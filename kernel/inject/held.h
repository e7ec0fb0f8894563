/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What faults do to packets. A delayed or reordered packet waits in a list of the device.
 * The list has SHCA_FAULT_HELD packets at most. More are lost, as in a full queue of a
 * network.
 */
#ifndef SHCA_HELD_H
#define SHCA_HELD_H

#include "../link/link.h"
#include "fault.h"

/* Packets that wait, of one device. */
#define SHCA_FAULT_HELD		1024

/*
 * A packet that waits.
 * @due:	when it goes on, ktime in ns
 * @ahead:	packets that overtake it before that; 0: nothing but time counts
 * @qpn:	of those
 * @go_on:	what happens to it then, which frees it; shca_fault_leave(): it is to leave,
 *		else it was received
 * @av:		where to, if it leaves
 * @idx: @off: @len:	of a received batch, see shca_rx_again()
 * @ifindex:	of the netdev of its arrival, which may go meanwhile; 0: none
 */
struct shca_held {
	struct list_head node;
	struct sk_buff *skb;
	struct shca_dev *dev;
	u64 due;
	u32 qpn;
	u32 ahead;
	void (*go_on)(struct shca_held *held);
	union {
		struct shca_av av;
		struct {
			unsigned int idx;
			u32 off;
			u32 len;
			int ifindex;
		};
	};
};

/*
 * An event of the port or of the device; its state stays.
 * Context: any. The event of a port that goes down counts as one.
 */
void shca_fault_port_event(struct shca_dev *dev, u8 event);

/* A packet waits; takes @held and its skb over. */
void shca_fault_hold(struct shca_held *held, const struct shca_fault_hit *hit);

/* Change a bit of a packet at @off; nobody else reads @skb. */
void shca_fault_damage(struct sk_buff *skb, u32 off, u32 hdr_len, u32 len,
		       const struct shca_fault_hit *hit);

/* Does a packet with this fault overtake those that wait? */
static inline bool shca_fault_passes(const struct shca_fault_hit *hit)
{
	return hit->rule.what != SHCA_FAULT_DROP &&
	       hit->rule.what != SHCA_FAULT_DELAY &&
	       hit->rule.what != SHCA_FAULT_REORDER;
}

/*
 * A packet of @qpn has passed, in the direction of @go_on. Those that were to be overtaken
 * by so many go on.
 */
void shca_fault_passed(struct shca_dev *dev, u32 qpn,
		       void (*go_on)(struct shca_held *held));

/* A packet that has waited leaves, and @held is freed. */
void shca_fault_leave(struct shca_held *held);

#if IS_ENABLED(CONFIG_SOFTHCA_FAULT_INJECTION)
/* Called before the device can be found. */
void shca_fault_init_dev(struct shca_dev *dev);
/* Packets may wait, if it was stopped. */
void shca_fault_start_dev(struct shca_dev *dev);
/* The device is removed: packets that wait are dropped. */
void shca_fault_stop_dev(struct shca_dev *dev);
#else
static inline void shca_fault_init_dev(struct shca_dev *dev) { }
static inline void shca_fault_start_dev(struct shca_dev *dev) { }
static inline void shca_fault_stop_dev(struct shca_dev *dev) { }
#endif

#endif
