/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Virtual lanes of an InfiniBand port: which lane a service level takes (IBTA 7.6.6), and which
 * lane has its turn (IBTA 7.6.9). Without packets, queues and locks.
 */
#ifndef SHCA_CORE_IB_LANES_H
#define SHCA_CORE_IB_LANES_H

#include "../../core/os.h"

/* Data lanes at most, beside that of management. */
#define SHCA_IB_LANES		8
#define SHCA_IB_SLS		16
/* In place of a lane: there is none. */
#define SHCA_IB_NO_LANE		0xff
/* Entries of a table: one block of VLArbitrationTable (IBTA 14.2.5.9). */
#define SHCA_IB_ARB_ENTRIES	32
/* The unit of weights, and of credits. */
#define SHCA_IB_BLOCK		64

/*
 * SLtoVLMappingTable (IBTA 14.2.5.8), of a port, or of an input and an output of a switch; zeros
 * are one that no manager has set.
 * @is_set:	one has
 * @vl:		lane of each service level, 4 bits, in the order of the attribute
 */
struct shca_ib_sl2vl {
	bool is_set;
	u8 vl[SHCA_IB_SLS / 2];
};

void shca_ib_sl2vl_set(struct shca_ib_sl2vl *map, const u8 *data);
void shca_ib_sl2vl_get(const struct shca_ib_sl2vl *map, u8 *data);

/*
 * Lane of a service level (IBTA 7.6.6); SHCA_IB_NO_LANE: it is not operational.
 * @code:	OperationalVLs of the port by which the packet leaves
 *
 * Until a manager has set the table, it is the SL modulo the number of lanes.
 */
u8 shca_ib_lane_of(const struct shca_ib_sl2vl *map, u8 code, u8 sl);

/* @weight blocks of lane @vl; 0: the entry is skipped. */
struct shca_ib_arb_entry {
	u8 vl;
	u8 weight;
};

enum shca_ib_arb_table {
	SHCA_IB_ARB_LOW,
	SHCA_IB_ARB_HIGH,
	SHCA_IB_ARB_TABLES,
};

/**
 * struct shca_ib_lanes - what a subnet manager sets
 * @code:	OperationalVLs of PortInfo: 1, 2, 3, 4 for 1, 2, 4, 8 data lanes
 * @high_limit:	4 KiB that the high table may send while the low one waits; 0: one packet; 255: all
 * @sl2vl:	lanes of service levels
 * @arb:	entries of each table
 */
struct shca_ib_lanes {
	u8 code;
	u8 high_limit;
	struct shca_ib_sl2vl sl2vl;
	struct shca_ib_arb_entry arb[SHCA_IB_ARB_TABLES][SHCA_IB_ARB_ENTRIES];
};

/* Data lanes of a code of VLCap and OperationalVLs. */
static inline u32 shca_ib_lanes_nr(u8 code)
{
	return 1u << (code - 1);
}

/* @code lanes, each with the same weight. */
void shca_ib_lanes_init(struct shca_ib_lanes *lanes, u8 code);

/* ---- turns ------------------------------------------------------------------ */

/*
 * The state of arbitration.
 * @at: @left:	of each table: the entry that sends, and the blocks that it may still send
 * @debt:	blocks that an entry has sent in advance, as one batch
 * @high_left:	bytes that the high table may send before the low one
 */
struct shca_ib_arb {
	u8 at[SHCA_IB_ARB_TABLES];
	s32 left[SHCA_IB_ARB_TABLES];
	s32 debt[SHCA_IB_ARB_TABLES][SHCA_IB_ARB_ENTRIES];
	s32 high_left;
};

void shca_ib_arb_init(struct shca_ib_arb *arb,
		      const struct shca_ib_lanes *lanes);

/**
 * shca_ib_arb_next() - the lane that sends next
 * @arb:	state of arbitration
 * @lanes:	with the tables
 * @blocks:	of each lane: length of its first packet or batch, if that may leave now; else 0
 * @packet:	of each lane with @blocks: length of the first packet
 *
 * The lane is charged for its blocks. A lane without an entry sends what others leave.
 *
 * Return: the lane; SHCA_IB_NO_LANE if none has a packet.
 */
u8 shca_ib_arb_next(struct shca_ib_arb *arb, const struct shca_ib_lanes *lanes,
		    const u32 blocks[SHCA_IB_LANES],
		    const u32 packet[SHCA_IB_LANES]);

#endif
