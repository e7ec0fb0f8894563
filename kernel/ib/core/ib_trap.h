/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Notices of a port, or of a switch: traps to the subnet manager, and notices that it reads (IBTA 13.4.8, 13.4.9,
 * 14.2.5.1). Without the packets that carry them, and without locks and time.
 *
 * Peers and processes can cause notices at any rate. So at most one trap of a kind and port waits,
 * few ports do, and there is a least time between traps.
 */
#ifndef SHCA_CORE_IB_TRAP_H
#define SHCA_CORE_IB_TRAP_H

#include "../../core/os.h"

#define SHCA_IB_MAD_BYTES	256
#define SHCA_IB_NOTICE_BYTES	64
/* Notices that are stored for reading; later ones are dropped. */
#define SHCA_IB_NOTICES		8
/* Least time between two traps, even if the manager allows less. */
#define SHCA_IB_TRAP_GAP_NS	10000000ull

/* Traps of a kind that wait for further ports of a switch; the cause at one more port is dropped. */
#define SHCA_IB_TRAP_PORTS	4

/* Kinds of traps; the first ones are sent first, and those for further ports after them. */
enum shca_ib_trap {
	SHCA_IB_TRAP_LINK,	/* 128: a link of this switch has come up or gone */
	SHCA_IB_TRAP_INTEGRITY,	/* 129: many packets arrived damaged */
	SHCA_IB_TRAP_OVERRUN,	/* 130: buffers were exceeded for long */
	SHCA_IB_TRAP_WATCHDOG,	/* 131: the peer sends no frame of credits */
	SHCA_IB_TRAP_CHANGE,	/* 144: CapabilityMask or NodeDescription */
	SHCA_IB_TRAP_MKEY,	/* 256 */
	SHCA_IB_TRAP_PKEY,	/* 257 */
	SHCA_IB_TRAP_QKEY,	/* 258 */
	SHCA_IB_TRAP_SWITCH_PKEY, /* 259: P_Key at a port of this switch */
	SHCA_IB_TRAP_NR,
};

#define SHCA_IB_TRAP_SLOTS	(SHCA_IB_TRAP_NR + SHCA_IB_TRAP_PORTS)

/* The attribute Notice, as on the wire. */
struct shca_ib_notice {
	u8 data[SHCA_IB_NOTICE_BYTES];
};

/*
 * A trap.
 * @kind: @port:	of it; port 0 if it is not of one port
 * @tid:	its transaction
 * @sent: @sent_at:	when it was sent last, if it was
 */
struct shca_ib_trap_slot {
	u8 kind;
	u8 port;
	bool sent;
	u64 tid;
	u64 sent_at;
	struct shca_ib_notice notice;
};

/*
 * Notices of a port, or of a switch; zeros are none.
 * @is_switch:	the producer is a switch
 * @tid:	transaction of the next trap; the caller begins anywhere
 * @pending:	bit per trap that waits to be repressed
 * @trap:	of a pending one; the first trap of a kind is at that number
 * @sent_at:	when a trap was sent last, if @sent
 * @nr: @toggle: @notices:	those for reading, the oldest first
 */
struct shca_ib_traps {
	bool is_switch;
	u64 tid;
	u32 pending;
	struct shca_ib_trap_slot trap[SHCA_IB_TRAP_SLOTS];
	bool sent;
	u64 sent_at;
	u8 nr;
	bool toggle;
	struct shca_ib_notice notices[SHCA_IB_NOTICES];
};

/**
 * struct shca_ib_bad_key - a packet whose P_Key or Q_Key was refused
 * @key:	that key
 * @sl:		service level of the packet
 * @slid:	its source
 * @dlid:	its destination
 * @sqpn:	sending QP; 0 if the packet does not say
 * @dqpn:	QP that it is for
 * @gids:	GIDs of source and destination, if the packet has them, or NULL
 */
struct shca_ib_bad_key {
	u32 key;
	u8 sl;
	u16 slid;
	u16 dlid;
	u32 sqpn;
	u32 dqpn;
	const u8 *gids;
};

/*
 * 129 to 131: something is wrong with what the port receives.
 * @kind:	SHCA_IB_TRAP_INTEGRITY, SHCA_IB_TRAP_OVERRUN or SHCA_IB_TRAP_WATCHDOG
 * @lid:	own one
 * @port:	number of the port
 */
bool shca_ib_trap_port(struct shca_ib_traps *traps, enum shca_ib_trap kind, u16 lid, u8 port);

/*
 * 128: PortStateChange of a switch has been set.
 * @lid:	of its port 0
 */
bool shca_ib_trap_link(struct shca_ib_traps *traps, u16 lid);

/*
 * 144: what the manager knows of the port has changed.
 * @desc:	NodeDescription has; otherwise only @cap_mask has
 *
 * If a trap of this kind waits, it reports both.
 */
bool shca_ib_trap_change(struct shca_ib_traps *traps, u16 lid, u32 cap_mask,
			 bool desc);

/*
 * 256: a subnet management packet with a bad M_Key.
 * @lid:	own one
 * @slid:	of the packet
 * @smp:	SHCA_IB_MAD_BYTES
 */
bool shca_ib_trap_mkey(struct shca_ib_traps *traps, u16 lid, u16 slid,
		       const u8 *smp);

/*
 * 257, 258: a packet with a bad P_Key or Q_Key.
 * @kind:	SHCA_IB_TRAP_PKEY or SHCA_IB_TRAP_QKEY
 * @lid:	own one
 */
bool shca_ib_trap_key(struct shca_ib_traps *traps, enum shca_ib_trap kind,
		      u16 lid, const struct shca_ib_bad_key *bad);

/*
 * 259: a packet with a bad P_Key at a port of a switch that enforces partitions.
 * @lid:	of its port 0
 * @port:	number of the port
 *
 * Return, here and above: whether there is a trap now that did not wait before.
 */
bool shca_ib_trap_switch_pkey(struct shca_ib_traps *traps, u16 lid, u8 port,
			      const struct shca_ib_bad_key *bad);

/*
 * Must a trap be sent now? It is sent again, in turn with others, until it is repressed.
 * @gap:	least time between two traps in ns
 * @mad:	the trap, if so: SHCA_IB_MAD_BYTES
 */
bool shca_ib_trap_next(struct shca_ib_traps *traps, u64 gap, u64 now, u8 *mad);

/* When to call shca_ib_trap_next(); ~0: never. */
u64 shca_ib_trap_deadline(const struct shca_ib_traps *traps, u64 gap);

/* Is @tid the transaction of a trap that was sent and is pending? */
bool shca_ib_trap_is_own(const struct shca_ib_traps *traps, u64 tid);

/* The manager represses the trap @tid, which is not sent again. */
void shca_ib_trap_repress(struct shca_ib_traps *traps, u64 tid);

/* Drop pending traps: the next manager may be another one. The time to the next trap stays. */
void shca_ib_trap_forget(struct shca_ib_traps *traps);

/* The oldest notice, or an empty one. */
void shca_ib_notice_get(const struct shca_ib_traps *traps, u8 *data);

/* Drop the oldest one, if @data has its NoticeToggle. */
void shca_ib_notice_clear(struct shca_ib_traps *traps, const u8 *data);

#endif
