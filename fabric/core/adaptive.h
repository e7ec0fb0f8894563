/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Adaptive routing: a switch has a group of ports for a LID, each of which leads nearer to it by
 * the forwarding tables, and a packet leaves by the one at which least waits. Multicast and lane
 * 15 have no groups. It works only while no packet can wait for itself in a circle of buffers,
 * which is checked whenever tables have changed.
 */
#ifndef SHCA_FABRIC_ADAPTIVE_H
#define SHCA_FABRIC_ADAPTIVE_H

#include "data.h"

/* Groups of a switch, of which 0 is none; its other LIDs go by the forwarding table. */
#define FAB_GROUPS		256
/* Switches with a choice on the path of a flow; at others it goes by the forwarding table. */
#define FAB_CHOICES		8
#define FAB_BUCKETS		1024
/* Ports of a circle that are named. */
#define FAB_CIRCLE_PORTS	16

/**
 * enum fab_adaptive_mode - what may take another port
 * @FAB_ADAPTIVE_OFF:	nothing
 * @FAB_ADAPTIVE_FLOWLET: a flow of which no packet is in the fabric, so that packets keep their order
 * @FAB_ADAPTIVE_PACKET: each packet of RC and XRC; other flows as before
 */
enum fab_adaptive_mode {
	FAB_ADAPTIVE_OFF,
	FAB_ADAPTIVE_FLOWLET,
	FAB_ADAPTIVE_PACKET,
};

/**
 * struct fab_flow - packets that keep their order, as long as one of them is in the fabric
 * @next:	in its bucket, or among those not in use
 * @lids:	SLID and DLID
 * @qp:		destination QP, and SL
 * @packets:	how many are in the fabric
 * @choices_nr:	switches that have chosen
 * @choices:	a switch, and the port that it has chosen
 */
struct fab_flow {
	struct fab_flow *next;
	u32 lids;
	u32 qp;
	u32 packets;
	u32 choices_nr;
	struct {
		const struct fab_node *node;
		u8 port;
	} choices[FAB_CHOICES];
};

/**
 * struct fab_turns - where packets can go that have come by a port of a switch
 * @to:		outputs
 * @from:	while circles are looked for: the port before
 * @at:		the next output to look at
 * @is_open:	a way from the port is being looked at
 */
struct fab_turns {
	u64 to[FAB_SET_WORDS];
	struct fab_port *from;
	u32 at;
	bool is_open;
};

/**
 * struct fab_groups - groups of a switch
 * @of:		group of a LID; 0: none
 * @set:	ports of a group
 * @nr:		how many of them are in use
 * @last:	port of a group that was chosen last
 * @turns:	of each port
 * @hops:	to a LID, by the forwarding tables
 * @has_hosts:	a host or an edge is at one of its ports
 * @is_seen:	packets for the LID come here
 * @next:	next switch where they do
 */
struct fab_groups {
	u8 of[FAB_LFT_ENTRIES];
	u64 set[FAB_GROUPS][FAB_SET_WORDS];
	u32 nr;
	u8 last[FAB_GROUPS];
	struct fab_turns *turns;
	u32 hops;
	bool has_hosts;
	bool is_seen;
	struct fab_node *next;
};

/**
 * struct fab_adaptive - adaptive routing of a fabric
 * @switches:	all switches
 * @switches_nr: how many
 * @flows:	memory for as many flows as there can be packets
 * @flows_used:	how many of them have been used
 * @unused:	those of them that are not in use now
 * @bucket:	those that are
 * @unordered:	packets that may overtake each other
 * @mode:	what is wanted
 * @works:	what is done now: nothing while tables change, or while there is a circle
 * @due:	when groups are to be made of changed tables; ~0: they are
 * @circle_nr:	ports of the circle that was found; 0: none
 * @circle:	the last of these ports, from the last one on
 * @refuse:	called when tables have changed, and a circle was found
 */
struct fab_adaptive {
	struct fab_node **switches;
	u32 switches_nr;
	struct fab_flow *flows;
	u32 flows_used;
	struct fab_flow *unused;
	struct fab_flow *bucket[FAB_BUCKETS];
	struct fab_flow unordered;
	enum fab_adaptive_mode mode;
	enum fab_adaptive_mode works;
	u64 due;
	u32 circle_nr;
	struct fab_port *circle[FAB_CIRCLE_PORTS];
	void (*refuse)(struct fab_adaptive *adaptive);
};

/**
 * fab_adaptive_init() - begin, switched off
 * @fabric:	with a data path
 * @adaptive:	zeros but for @switches, @flows, and @refuse
 *
 * Each switch has its @groups then: zeros but for @turns, which are zeros, too.
 */
void fab_adaptive_init(struct fabric *fabric, struct fab_adaptive *adaptive);

/**
 * fab_adaptive_set() - switch it on or off
 * @adaptive:	of a fabric
 * @mode:	what is wanted
 *
 * Return: false: there is a circle, and it is off now.
 */
bool fab_adaptive_set(struct fab_adaptive *adaptive, enum fab_adaptive_mode mode);

#endif
