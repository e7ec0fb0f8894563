/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Faults of packets. Delayed and reordered packets wait in a list of the device,
 * SHCA_FAULT_HELD of them at most. More are lost, as in a full queue of a network.
 */
#ifndef SHCA_HELD_H
#define SHCA_HELD_H

#include "../link/link.h"
#include "fault.h"

/* Packets of one device that wait. */
#define SHCA_FAULT_HELD		1024

/*
 * A packet that waits.
 * @due:	when it goes on, ktime in ns
 * @ahead:	packets of @qpn that overtake it before that; 0: only time counts
 * @go_on:	processes and frees it; shca_fault_leave(): it is to leave, else it was received
 * @av:		destination, if it leaves
 * @idx: @off: @len:	of a received batch, see shca_rx_again()
 * @ifindex:	netdev of its arrival, which may go meanwhile; 0: none
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

/* Raise an event of port or device, whose state stays; counts PORT_ERR. Context: any. */
void shca_fault_port_event(struct shca_dev *dev, u8 event);

/* Delay a packet; takes over @held and its skb. */
void shca_fault_hold(struct shca_held *held, const struct shca_fault_hit *hit);

/* Flip a bit of a packet at @off; nobody else reads @skb. */
void shca_fault_damage(struct sk_buff *skb, u32 off, u32 hdr_len, u32 len,
		       const struct shca_fault_hit *hit);

/* Does a packet with this fault overtake those that wait? */
static inline bool shca_fault_passes(const struct shca_fault_hit *hit)
{
	return hit->rule.what != SHCA_FAULT_DROP &&
	       hit->rule.what != SHCA_FAULT_DELAY &&
	       hit->rule.what != SHCA_FAULT_REORDER;
}

/* A packet of @qpn passed in the direction of @go_on: release those overtaken often enough. */
void shca_fault_passed(struct shca_dev *dev, u32 qpn,
		       void (*go_on)(struct shca_held *held));

/* Transmit a packet that has waited; frees @held. */
void shca_fault_leave(struct shca_held *held);

#if IS_ENABLED(CONFIG_SOFTHCA_FAULT_INJECTION)
/* Called before the device can be found. */
void shca_fault_init_dev(struct shca_dev *dev);
/* Let packets wait again after shca_fault_stop_dev(). */
void shca_fault_start_dev(struct shca_dev *dev);
/* The device is removed: drop packets that wait. */
void shca_fault_stop_dev(struct shca_dev *dev);
#else
static inline void shca_fault_init_dev(struct shca_dev *dev) { }
static inline void shca_fault_start_dev(struct shca_dev *dev) { }
static inline void shca_fault_stop_dev(struct shca_dev *dev) { }
#endif

#endif
