/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Congestion control of IBTA annex A10: its management class, as far as all nodes have it. */
#ifndef SHCA_CORE_IB_CONG_H
#define SHCA_CORE_IB_CONG_H

#include "../../core/transport.h"

#define SHCA_IB_CLASS_CONG	0x21
/* A datagram of the class: CC_Key, log data and data. The log is in both. */
#define SHCA_IB_CONG_KEY	24
#define SHCA_IB_CONG_LOG	32
#define SHCA_IB_CONG_DATA	64
#define SHCA_IB_CONG_DATA_BYTES	192

/**
 * struct shca_ib_cong - what a manager of congestion control sets at a channel adapter, or at any node
 * @key:	CC_Key; 0: none
 * @protects:	CC_KeyProtectBit: nobody reads the key who does not have it
 * @lease:	CC_KeyLeasePeriod, seconds
 * @violations:	CC_KeyViolations
 * @lease_end:	when the protection ends, unless a datagram with @key comes before; 0: it does not
 * @port_control: Port_Control, kept for the manager: each queue pair has an index of its own
 * @map:	Control_Map of the last Set
 * @cct:	the table
 */
struct shca_ib_cong {
	u64 key;
	bool protects;
	u16 lease;
	u16 violations;
	u64 lease_end;
	u16 port_control;
	u16 map;
	struct shca_cct cct;
};

/*
 * Is a datagram of this class a request that the agent answers? A wrong CC_Key is counted and begins
 * the lease, and the datagram is dropped, as with an M_Key.
 */
bool shca_ib_cong_admit(struct shca_ib_cong *cong, const u8 *mad, u64 now);

/**
 * shca_ib_cong_attribute() - read or set an attribute, in place
 * @cong:	of the node
 * @mad:	the request; a Set has left in it what it did not change
 * @is_ca:	the node has the attributes of channel adapters
 * @now:	the time in ns
 *
 * Return: status; STATUS_ATTR of ib_smp.h: a switch may have the attribute.
 */
u32 shca_ib_cong_attribute(struct shca_ib_cong *cong, u8 *mad, bool is_ca, u64 now);

/* The request becomes its answer. */
void shca_ib_cong_reply(u8 *mad, u32 status);

/* All of these for a channel adapter. Return: false: there is no answer. */
bool shca_ib_cong_answer(struct shca_ib_cong *cong, u8 *mad, u64 now);

#endif
