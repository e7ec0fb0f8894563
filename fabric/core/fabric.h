/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A fabric of simulated switches and channel adapters: their management agents, and the ways of
 * management datagrams (MADs) between them. Without memory, locks, files and sockets: the caller
 * has those. Nothing is allocated for a packet.
 */
#ifndef SHCA_FABRIC_H
#define SHCA_FABRIC_H

#include "../../kernel/ib/core/ib_cong.h"
#include "../../kernel/ib/core/ib_sma.h"

/* LinearFDBCap: all unicast LIDs (IBTA 4.1.3). */
#define FAB_LFT_ENTRIES		49152
/* MulticastFDBCap, and ports of a position of a multicast forwarding table. */
#define FAB_MFT_GROUPS		1024
#define FAB_MFT_PORTS		16
#define FAB_PORTS_MAX		254
#define FAB_LID_PERMISSIVE	0xffff

/* NodeType of NodeInfo (IBTA 14.2.5.3). */
enum fab_type {
	FAB_CA = 1,
	FAB_SWITCH = 2,
	FAB_ROUTER = 3,
};

/**
 * struct fab_rate - width and speeds that a port can, may and does use; codes of PortInfo
 * @width:	LinkWidth
 * @speed:	LinkSpeed: up to QDR
 * @ext:	LinkSpeedExt: FDR, EDR, HDR, NDR
 * @ext2:	LinkSpeedExt 2: XDR
 * @fdr10:	FDR10, which only the vendor's ExtendedPortInfo tells
 */
struct fab_rate {
	u8 width;
	u8 speed;
	u8 ext;
	u8 ext2;
	u8 fdr10;
};

/* Errors that a port counts, in the order of PortCounters (IBTA 16.1.3.5). */
enum fab_error {
	FAB_ERR_SYMBOL,
	FAB_ERR_RECOVERY,
	FAB_ERR_DOWNED,
	FAB_ERR_RCV,
	FAB_ERR_REMOTE,
	FAB_ERR_RELAY,
	FAB_ERR_DISCARD,
	FAB_ERR_XMIT_CONSTRAINT,
	FAB_ERR_RCV_CONSTRAINT,
	FAB_ERR_INTEGRITY,
	FAB_ERR_OVERRUN,
	FAB_ERR_VL15,
	FAB_ERR_NR,
};

/* Why packets are dropped, of the details of errors. */
enum fab_detail {
	FAB_DETAIL_INACTIVE,	/* PortInactiveDiscards */
	FAB_DETAIL_DLID,	/* PortDLIDMappingErrors */
	FAB_DETAIL_LOOP,	/* PortLoopingErrors */
	FAB_DETAIL_VL,		/* PortVLMappingErrors */
	FAB_DETAIL_PHYSICAL,	/* PortLocalPhysicalErrors */
	FAB_DETAIL_MALFORMED,	/* PortMalformedPacketErrors */
	FAB_DETAIL_OVERRUN,	/* PortBufferOverrunErrors */
	FAB_DETAIL_MTU,		/* PortNeighborMTUDiscards */
	FAB_DETAIL_LIFE,	/* PortSwLifetimeLimitDiscards */
	FAB_DETAIL_HOQ,		/* PortSwHOQLifetimeLimitDiscards */
	FAB_DETAIL_NR,
};

/**
 * struct fab_counters - what performance management tells of a port
 * @xmit_data:	words of 32 bits sent
 * @rcv_data:	received
 * @xmit_pkts:	packets sent
 * @rcv_pkts:	received
 * @base:	what was to be subtracted from the four for PortCounters, which has counters
 *		of its own that are reset on their own
 * @xmit_wait:	ns in which a packet waited and none left
 * @xmit_wait_base: what is to be subtracted from it
 * @error:	by enum fab_error
 * @detail:	by enum fab_detail
 */
struct fab_counters {
	u64 xmit_data;
	u64 rcv_data;
	u64 xmit_pkts;
	u64 rcv_pkts;
	u64 base[4];
	u64 xmit_wait;
	u64 xmit_wait_base;
	u32 error[FAB_ERR_NR];
	u32 detail[FAB_DETAIL_NR];
};

/**
 * struct fab_end - what PortInfo has of an end port: port 0 of a switch, or a port of another node
 * @mkey:	M_Key
 * @gid_prefix:	GidPrefix
 * @guids:	GUIDInfo; entry 0 is PortGUID
 * @cap_mask:	CapabilityMask
 * @cap_mask2:	CapabilityMask2
 * @lid:	base LID; 0: none
 * @sm_lid:	MasterSMLID
 * @lmc:	LMC
 * @sm_sl:	MasterSMSL
 * @subnet_timeout: SubnetTimeOut
 * @bad_pkeys:	P_KeyViolations
 * @bad_qkeys:	Q_KeyViolations
 */
struct fab_end {
	struct shca_ib_mkey mkey;
	u64 gid_prefix;
	u64 guids[SHCA_IB_GUIDS];
	u32 cap_mask;
	u16 cap_mask2;
	u16 lid;
	u16 sm_lid;
	u8 lmc;
	u8 sm_sl;
	u8 subnet_timeout;
	u16 bad_pkeys;
	u16 bad_qkeys;
};

/**
 * struct fab_port - a port
 * @node:	whose it is
 * @peer:	the port at the other end of its cable, or NULL
 * @edge:	its cable ends at a real port, or NULL
 * @io:		its buffers, or NULL
 * @guid:	PortGUID
 * @number:	0 is the management port of a switch
 * @is_cut:	its cable is pulled out
 * @takes:	bytes a second that a simulated host takes from it, packet by packet; 0: as many as come
 * @taking:	until then the last packet is being taken, and the switch has no credit
 * @state:	PortState
 * @phys:	PortPhysicalState
 * @down_default: LinkDownDefaultState
 * @mtu_cap:	MTUCap
 * @neighbor_mtu: NeighborMTU
 * @lanes_set:	OperationalVLs that the manager wants
 * @hoq_life:	HOQLife
 * @stall_count: VLStallCount
 * @filters:	PartitionEnforcement and FilterRaw, inbound and outbound
 * @limits:	LocalPhyErrors and OverrunErrors
 * @supported:	rates that it can
 * @enabled:	rates that the manager allows
 * @active:	rate of the link
 * @lanes:	VL arbitration, and SL to VL unless the node is a switch
 * @pkeys:	P_Key table
 * @end:	valid for end ports
 * @counters:	performance management
 */
struct fab_port {
	struct fab_node *node;
	struct fab_port *peer;
	struct fab_edge *edge;
	struct fab_io *io;
	u64 guid;
	u8 number;
	bool is_cut;
	u64 takes;
	u64 taking;
	u8 state;
	u8 phys;
	u8 down_default;
	u8 mtu_cap;
	u8 neighbor_mtu;
	u8 lanes_set;
	u8 hoq_life;
	u8 stall_count;
	u8 filters;
	u8 limits;
	struct fab_rate supported;
	struct fab_rate enabled;
	struct fab_rate active;
	struct shca_ib_lanes lanes;
	u16 pkeys[SHCA_IB_PKEYS];
	struct fab_end end;
	struct fab_counters counters;
};

#define FAB_CONG_SETTING_BYTES	76
#define FAB_CONG_LOG_NR		15
#define FAB_CONG_EVENT_BYTES	12

/**
 * struct fab_cong_port - when an output marks packets (IBTA A10.4.3.7)
 * @threshold:	Threshold: 0: it marks none; 15: a short queue is enough
 * @size:	Packet_Size: shorter packets have no mark; in blocks of 64 bytes
 * @rate:	Marking_Rate: packets between two that are marked
 */
struct fab_cong_port {
	u8 threshold;
	u8 size;
	u16 rate;
};

/**
 * struct fab_cong - congestion control of a switch (IBTA annex A10)
 * @setting:	SwitchCongestionSetting, as it was set
 * @port:	by output
 * @events:	packets marked since the log was read
 * @map:	the outputs that have marked them, in the order of masks on the wire
 * @log:	the last of them, as on the wire, from @log_next on
 * @log_next:	place of the next one
 */
struct fab_cong {
	u8 setting[FAB_CONG_SETTING_BYTES];
	struct fab_cong_port port[FAB_PORTS_MAX + 1];
	u16 events;
	u8 map[32];
	u8 log[FAB_CONG_LOG_NR][FAB_CONG_EVENT_BYTES];
	u8 log_next;
};

/**
 * struct fab_switch - tables of a switch
 * @lft:	output port of a LID, plus one, so that zeros are "none" (255)
 * @mft:	of a group, for each position of FAB_MFT_PORTS ports, a mask of them
 * @sl2vl:	SLtoVLMappingTable of each input port, for each output port: fab_sl2vl()
 * @groups:	for adaptive routing, or NULL
 * @cong:	congestion control
 * @lft_top:	LinearFDBTop
 * @mft_top:	MulticastFDBTop
 * @default_ports: DefaultPort, DefaultMulticastPrimaryPort, DefaultMulticastNotPrimaryPort
 * @life:	LifeTimeValue
 * @is_enhanced: port 0 is an enhanced one
 * @changed:	PortStateChange
 */
struct fab_switch {
	u8 *lft;
	u16 *mft;
	struct shca_ib_sl2vl *sl2vl;
	struct fab_groups *groups;
	struct fab_cong cong;
	u16 lft_top;
	u16 mft_top;
	u8 default_ports[3];
	u8 life;
	bool is_enhanced;
	bool changed;
};

/**
 * struct fabric - what all nodes share; zeros to begin with
 * @waiting:	nodes with traps that the subnet manager has not heard, by their @next
 * @data:	buffers and edges, or NULL: management only
 * @now:	the time in ns, as the caller has said it last
 */
struct fabric {
	struct fab_node *waiting;
	struct fab_data *data;
	u64 now;
};

/**
 * struct fab_node - a switch, channel adapter or router
 * @guid:	NodeGUID
 * @system_guid: SystemImageGUID
 * @vendor:	VendorID
 * @device:	DeviceID
 * @revision:	Revision
 * @type:	enum fab_type
 * @ports_nr:	external ports
 * @is_aggregator: an aggregation node
 * @aggregator:	its number, or that of the one at this switch
 * @desc:	NodeDescription
 * @ports:	@ports_nr + 1 of them; number 0 is used by a switch only
 * @sw:		tables of a switch, or NULL
 * @fabric:	to which it belongs
 * @traps:	notices
 * @cong:	congestion control, for all ports of an adapter
 * @next:	next node of that list
 * @waits:	the node is in the list
 */
struct fab_node {
	u64 guid;
	u64 system_guid;
	u32 vendor;
	u16 device;
	u32 revision;
	u8 type;
	u8 ports_nr;
	bool is_aggregator;
	u16 aggregator;
	u8 desc[SHCA_IB_DESC_BYTES];
	struct fab_port *ports;
	struct fab_switch *sw;
	struct fabric *fabric;
	struct shca_ib_traps traps;
	struct shca_ib_cong cong;
	struct fab_node *next;
	bool waits;
};

/* Sizes of tables of a switch with so many ports; the caller allocates them, with zeros. */
static inline u32 fab_positions(u32 ports)
{
	return ports / FAB_MFT_PORTS + 1;
}

static inline u32 fab_mft_bytes(u32 ports)
{
	return FAB_MFT_GROUPS * fab_positions(ports) * sizeof(u16);
}

static inline u32 fab_sl2vl_bytes(u32 ports)
{
	return (ports + 1) * (ports + 1) * sizeof(struct shca_ib_sl2vl);
}

/* The table of a switch for packets from one port to another. */
static inline struct shca_ib_sl2vl *fab_sl2vl(const struct fab_node *node, u32 input, u32 output)
{
	return &node->sw->sl2vl[input * (node->ports_nr + 1) + output];
}

/* Output port of a LID; 255: none. */
static inline u8 fab_lft_get(const struct fab_switch *sw, u16 lid)
{
	return sw->lft[lid] - 1;
}

/* The end port of a node that @port belongs to: itself, or port 0 of its switch. */
static inline struct fab_port *fab_end_port(struct fab_port *port)
{
	return port->node->type == FAB_SWITCH ? port->node->ports : port;
}

/**
 * fab_node_init() - give a node and its ports the state in which they are switched on
 * @fabric:	to which it belongs
 * @node:	with type, GUIDs, number of ports, and zeroed ports and tables; a port has its
 *		GUID and the rates that it supports
 *
 * No port has a cable then.
 */
void fab_node_init(struct fabric *fabric, struct fab_node *node);

/**
 * fab_join() - plug in a cable, and train the link
 * @a:		a port without a cable
 * @b:		another one
 *
 * Both ports become LinkUp and Initialize.
 */
void fab_join(struct fab_port *a, struct fab_port *b);

/* A cable is gone for good: its ports have none now. */
void fab_part(struct fab_port *port);

/**
 * fab_cut() - pull a cable out, or plug it in again, at both ends
 * @port:	one of its ends; a port without a cable stays as it is
 * @cut:	pull it out
 * @now:	the time in ns
 */
void fab_cut(struct fab_port *port, bool cut, u64 now);

/**
 * fab_set_manager() - a subnet manager begins or ends at a port
 * @port:	an end port
 * @on:		it begins
 *
 * Another manager hears of it by trap 144.
 */
void fab_set_manager(struct fab_port *port, bool on);

/* ---- management datagrams --------------------------------------------------- */

#define FAB_MAD_BYTES		SHCA_IB_MAD_BYTES

/**
 * struct fab_mad - a management datagram under way
 * @data:	FAB_MAD_BYTES, changed in place
 * @slid:	source LID
 * @dlid:	destination LID; of a directed one, the switch where its path begins, if that is not
 *		at the sender
 * @sqp:	source QP
 * @dqp:	destination QP
 * @to:		result of fab_send(): the port where it has arrived
 */
struct fab_mad {
	u8 *data;
	u16 slid;
	u16 dlid;
	u32 sqp;
	u32 dqp;
	struct fab_port *to;
};

/* What became of a datagram. */
enum fab_verdict {
	FAB_DROPPED,
	FAB_ANSWERED,	/* it is the answer now, and back at its sender */
	FAB_ARRIVED,	/* it is for a program at @to */
	FAB_CONSUMED,	/* an agent took it, and does not answer */
	FAB_LEFT,	/* it has left the fabric for a real port, as its answer may come later */
};

/**
 * fab_send() - a program at a port sends a datagram
 * @from:	an end port
 * @mad:	a request, or an answer to one that has arrived
 * @now:	the time in ns
 *
 * The datagram goes its whole way at once, through the tables of each switch, and so does the
 * answer of an agent.
 *
 * Return: enum fab_verdict
 */
enum fab_verdict fab_send(struct fab_port *from, struct fab_mad *mad, u64 now);

/**
 * fab_trap_next() - the next trap that is due and reaches a subnet manager's port
 * @fabric:	of the nodes
 * @mad:	with @data; the rest is a result
 * @now:	the time in ns
 *
 * A trap leaves again and again until the manager represses it.
 *
 * Return: false: there is none now.
 */
bool fab_trap_next(struct fabric *fabric, struct fab_mad *mad, u64 now);

/* When to ask fab_trap_next(); ~0: never. */
u64 fab_trap_deadline(const struct fabric *fabric);

#endif
