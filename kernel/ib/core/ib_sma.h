/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The subnet management agent of a channel adapter with one port (IBTA 14.2): what a subnet manager
 * reads and sets by SMPs. Without the packets that carry them, and without locks.
 */
#ifndef SHCA_CORE_IB_SMA_H
#define SHCA_CORE_IB_SMA_H

#include "ib_lanes.h"
#include "ib_trap.h"

#define SHCA_IB_DESC_BYTES	64
/* One block of GUIDInfo, and one of P_KeyTable (IBTA 14.2.5.5, 14.2.5.7). */
#define SHCA_IB_GUIDS		8
#define SHCA_IB_PKEYS		32
/* VLCap of PortInfo: SHCA_IB_LANES data lanes. */
#define SHCA_IB_VL_CAP		4

/* PortState of PortInfo (IBTA 14.2.5.6). */
enum shca_ib_state {
	SHCA_IB_STATE_NOP,
	SHCA_IB_STATE_DOWN,
	SHCA_IB_STATE_INIT,
	SHCA_IB_STATE_ARMED,
	SHCA_IB_STATE_ACTIVE,
};

/**
 * struct shca_ib_tally - packets with a bad key
 * @seen:	all; the caller updates it before each call
 * @base:	those before the subnet manager has reset the counter
 */
struct shca_ib_tally {
	u64 seen;
	u64 base;
};

/* The counter of PortInfo, which saturates. */
static inline u32 shca_ib_tally(const struct shca_ib_tally *tally)
{
	return min_t(u64, tally->seen - tally->base, 0xffff);
}

/**
 * struct shca_ib_mkey - M_Key of a port (IBTA 14.2.4)
 * @key:	0: none
 * @prot:	M_KeyProtectBits
 * @lease:	M_KeyLeasePeriod, seconds
 * @violations:	M_KeyViolations
 * @lease_end:	when the protection ends, unless a packet with @key comes before; 0: it does not
 */
struct shca_ib_mkey {
	u64 key;
	u8 prot;
	u16 lease;
	u16 violations;
	u64 lease_end;
};

/**
 * struct shca_ib_overruns - packets that had no buffer, by periods of flow control
 * @limit:	OverrunErrors
 * @row:	how many periods before @at had an overrun, too
 * @at:		last period with one
 * @count:	how often @row has reached @limit (ExcessiveBufferOverrunErrors)
 */
struct shca_ib_overruns {
	u8 limit;
	u8 row;
	u64 at;
	u32 count;
};

/**
 * struct shca_ib_sma - attributes of node and port
 * @desc:	NodeDescription
 * @port_guid:	also the GUID of node and system
 * @vendor:	NodeInfo: VendorID
 * @device:	NodeInfo: DeviceID
 * @revision:	NodeInfo: Revision
 * @partitions:	size of the P_Key table, at most SHCA_IB_PKEYS
 * @pkeys:	the table; the entries from @partitions on are 0
 * @guids:	GUIDInfo; entry 0 is @port_guid
 * @cap_mask:	CapabilityMask
 * @state:	enum shca_ib_state
 * @phys:	enum shca_ib_phys, of ib_hello.h
 * @mtu_cap:	MTUCap: codes 1 (256) to 5 (4096)
 * @neighbor_mtu: NeighborMTU: the same codes
 * @mkey:	M_Key, which protects the attributes
 * @bad_pkeys:	P_KeyViolations
 * @bad_qkeys:	Q_KeyViolations
 * @phys_limit:	LocalPhyErrors
 * @phys_errors: damaged packets, less intact ones
 * @integrity:	how often @phys_errors has exceeded @phys_limit (LocalLinkIntegrityErrors)
 * @overruns:	packets without a buffer
 * @gid_prefix:	of the subnet
 * @lid:	base LID; 0: none assigned
 * @sm_lid:	LID of the master subnet manager; 0: none assigned
 * @lmc:	LMC: the port has 2^this LIDs
 * @sm_sl:	service level of packets to the master subnet manager
 * @subnet_timeout:	least time between traps: 4.096 us * 2^this
 * @lanes:	those in use: the smaller one of the next two
 * @lanes_set:	code of those that the manager wants
 * @peer_lanes:	code of those that the peer has; 0: it has one
 * @peer_mtu:	largest path MTU of the peer in bytes; below 256: not known
 * @hoq_life:	4.096 us * 2^this is how long a packet waits as the first of its lane
 * @down_default: LinkDownDefaultState: kept for the subnet manager
 * @stall_count: VLStallCount: kept for it
 * @traps:	what it is told unasked
 */
struct shca_ib_sma {
	u8 desc[SHCA_IB_DESC_BYTES];
	u64 port_guid;
	u32 vendor;
	u16 device;
	u32 revision;
	u16 partitions;
	u16 pkeys[SHCA_IB_PKEYS];
	u64 guids[SHCA_IB_GUIDS];
	u32 cap_mask;
	u8 state;
	u8 phys;
	u8 mtu_cap;
	u8 neighbor_mtu;
	struct shca_ib_mkey mkey;
	struct shca_ib_tally bad_pkeys;
	struct shca_ib_tally bad_qkeys;
	u8 phys_limit;
	u8 phys_errors;
	u32 integrity;
	struct shca_ib_overruns overruns;
	u64 gid_prefix;
	u16 lid;
	u16 sm_lid;
	u8 lmc;
	u8 sm_sl;
	u8 subnet_timeout;
	struct shca_ib_lanes lanes;
	u8 lanes_set;
	u8 peer_lanes;
	u16 peer_mtu;
	u8 hoq_life;
	u8 down_default;
	u8 stall_count;
	struct shca_ib_traps traps;
};

/**
 * struct shca_ib_smp_from - what is not in a subnet management packet itself
 * @slid:	its source
 * @trusted:	from this machine, so the M_Key does not matter
 * @now:	the time in ns
 */
struct shca_ib_smp_from {
	u16 slid;
	bool trusted;
	u64 now;
};

/* ---- attributes of any port, for the agent of a channel adapter and that of a switch -------- */

/* May a subnet manager ask a port in state @now for PortState @state and PortPhysicalState @phys? */
bool shca_ib_state_ok(u8 now, u8 state, u8 phys);

/* The one block of GUIDInfo (IBTA 14.2.5.5). */
void shca_ib_guids_get(const u64 guids[SHCA_IB_GUIDS], u8 *data);

/* The first GUID is the port's own, and stays. Return: whether another one changed. */
bool shca_ib_guids_set(u64 guids[SHCA_IB_GUIDS], const u8 *data);

/* A block of P_KeyTable (IBTA 14.2.5.7). */
void shca_ib_pkeys_get(const u16 pkeys[SHCA_IB_PKEYS], u8 *data);

/* Only the first @nr entries exist, the others are ignored. Return: whether one changed. */
bool shca_ib_pkeys_set(u16 pkeys[SHCA_IB_PKEYS], u32 nr, const u8 *data);

/* Return: a block of VLArbitrationTable, by its number; NULL: there is no such. */
struct shca_ib_arb_entry *shca_ib_arb_block(struct shca_ib_lanes *lanes, u32 block);
void shca_ib_arb_get(const struct shca_ib_arb_entry *entry, u8 *data);
void shca_ib_arb_set(struct shca_ib_arb_entry *entry, const u8 *data);

/**
 * shca_ib_mkey_admit() - may the sender of a subnet management packet do what it asks for?
 * @mkey:	key, lease and violations of the port
 * @in:		the packet
 * @trusted:	from this machine, so the M_Key does not matter
 * @now:	the time in ns
 *
 * A packet with a wrong key is counted, and begins the lease.
 *
 * Return: false: the packet is dropped, and trap 256 is due.
 */
bool shca_ib_mkey_admit(struct shca_ib_mkey *mkey, const u8 *in, bool trusted, u64 now);

/* ---- the agent -------------------------------------------------------------- */

/* What the caller does after an SMP, or tells. */
#define SHCA_IB_SMA_REPLY	(1u << 0)	/* @out is to be sent back */
#define SHCA_IB_SMA_CONSUMED	(1u << 1)	/* nobody else gets it */
#define SHCA_IB_SMA_ACTIVE	(1u << 2)	/* the port became active */
#define SHCA_IB_SMA_INACTIVE	(1u << 3)	/* it was active */
#define SHCA_IB_SMA_LID		(1u << 4)	/* LID or LMC changed */
#define SHCA_IB_SMA_SM		(1u << 5)	/* LID or SL of the master SM changed */
#define SHCA_IB_SMA_GID		(1u << 6)	/* the subnet prefix or a GUID changed */
#define SHCA_IB_SMA_REREGISTER	(1u << 7)	/* clients shall register again */
#define SHCA_IB_SMA_DISABLE	(1u << 8)	/* disable the port, once the answer has left */
#define SHCA_IB_SMA_POLL	(1u << 9)	/* enable it then, and train the link again */
#define SHCA_IB_SMA_PKEYS	(1u << 10)	/* the P_Key table changed */
#define SHCA_IB_SMA_TRAP	(1u << 11)	/* there is a trap to send */
#define SHCA_IB_SMA_LANES	(1u << 12)	/* lanes, their weights or SLs changed */

/* A port that is down, in the default subnet. */
void shca_ib_sma_init(struct shca_ib_sma *sma, u64 guid, u8 mtu_cap);

/* The physical state has changed. Return: SHCA_IB_SMA_INACTIVE or 0. */
u32 shca_ib_sma_link(struct shca_ib_sma *sma, u8 phys, bool up);

/**
 * shca_ib_smp() - process a subnet management packet
 * @sma:	what it reads or sets
 * @in:		the packet, SHCA_IB_MAD_BYTES
 * @out:	the answer, SHCA_IB_MAD_BYTES; valid with SHCA_IB_SMA_REPLY
 * @from:	what is not in the packet
 *
 * Return: SHCA_IB_SMA_*; 0: not for the agent.
 */
u32 shca_ib_smp(struct shca_ib_sma *sma, const u8 *in, u8 *out,
		const struct shca_ib_smp_from *from);

/*
 * Events of a port. Return: SHCA_IB_SMA_TRAP or 0. Only an active port sends traps
 * (IBTA o14-3.2.1); the subnet manager reads earlier changes by itself.
 */

/* Another NodeDescription, SHCA_IB_DESC_BYTES. */
u32 shca_ib_sma_describe(struct shca_ib_sma *sma, const u8 *desc);

u32 shca_ib_sma_caps(struct shca_ib_sma *sma, u32 cap_mask);

/* A packet was refused for its P_Key or Q_Key. */
u32 shca_ib_sma_bad_key(struct shca_ib_sma *sma, enum shca_ib_trap kind,
			const struct shca_ib_bad_key *bad);

/* A packet has arrived, @damaged or intact. An intact one makes good for one (IBTA 7.12.2). */
u32 shca_ib_sma_arrived(struct shca_ib_sma *sma, bool damaged);

/*
 * Number of the period of flow control, from 1 on: 2^18 ns are 65,536 symbols at 2.5 Gbit/s, in
 * which credits are sent once (IBTA 7.9).
 */
static inline u64 shca_ib_sma_period(u64 now)
{
	return (now >> 18) + 1;
}

/*
 * There was no buffer for a packet, whose lane had no credit for it. OverrunErrors periods of flow
 * control in a row, each with such a packet, are one excessive overrun (IBTA 14.2.5.6). 0 is taken
 * as 1.
 */
u32 shca_ib_sma_overrun(struct shca_ib_sma *sma, u64 now);

/* Hellos of the peer arrive, but no frame of credits for too long. */
u32 shca_ib_sma_watchdog(struct shca_ib_sma *sma);

/* Least time between traps that the subnet manager has set, in ns. */
u64 shca_ib_sma_trap_gap(const struct shca_ib_sma *sma);

#endif
