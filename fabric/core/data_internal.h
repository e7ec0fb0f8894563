/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the files of the data path share. */
#ifndef SHCA_FABRIC_DATA_INTERNAL_H
#define SHCA_FABRIC_DATA_INTERNAL_H

#include "../../kernel/core/le.h"
#include "adaptive.h"
#include "agent.h"
#include "aggregator.h"
#include "data.h"

/* Bits of PartitionEnforcement in fab_port.filters. */
#define FAB_FILTER_PKEY_IN	0x8
#define FAB_FILTER_PKEY_OUT	0x4

/* Words of 32 bits, without the VCRC, as PortXmitData and PortRcvData count them. */
static inline u32 fab_words(const struct fab_packet *packet)
{
	return (packet->len - SHCA_IB_VCRC_BYTES) / 4;
}

/* NeighborMTU allows the packet. */
static inline bool fab_fits(const struct fab_port *out, const struct fab_packet *packet)
{
	return packet->len <= SHCA_IB_OVERHEAD + (128u << out->neighbor_mtu);
}

static inline bool fab_is_active(const struct fab_port *port)
{
	return port->phys == SHCA_IB_PHYS_LINK_UP && port->state == SHCA_IB_STATE_ACTIVE;
}

/* ---- sets of ports ---------------------------------------------------------- */

#define FAB_SET_END	(FAB_SET_WORDS * 64)

static inline bool fab_set_has(const u64 *set, u32 port)
{
	return set[port / 64] >> (port % 64) & 1;
}

static inline void fab_set_add(u64 *set, u32 port)
{
	set[port / 64] |= 1ull << (port % 64);
}

static inline void fab_set_remove(u64 *set, u32 port)
{
	set[port / 64] &= ~(1ull << (port % 64));
}

/* The first port from @port on; FAB_SET_END: none. */
static inline u32 fab_set_next(const u64 *set, u32 port)
{
	u32 word = port / 64;
	u64 rest = set[word] & ~0ull << (port % 64);

	while (!rest && ++word < FAB_SET_WORDS)
		rest = set[word];
	return rest ? word * 64 + __builtin_ctzll(rest) : FAB_SET_END;
}

/*
 * Something that carries so many bytes a second carries a packet.
 * @busy:	until then it does
 * @burst:	ns of lost time that it makes up for
 */
static inline void fab_pace(u64 *busy, u64 now, u64 burst, u32 len, u64 rate)
{
	*busy = max_t(u64, *busy + burst, now) - burst + len * 1000000000ull / rate;
}

/* ---- relay.c ---------------------------------------------------------------- */

/* @packet, in no buffer yet, is at a port of a node whose link has let it pass. */
void fab_relay(struct fab_port *in, struct fab_packet *packet);

/*
 * Lane of an output of a switch for packets of a service level that came by @in.
 *
 * Return: SHCA_IB_NO_LANE: none.
 */
u8 fab_lane_of(const struct fab_port *in, const struct fab_port *out, u8 sl);

/*
 * What a port has in its table for the P_Key of a packet.
 * @lrh:	from there on, with a BTH
 *
 * Return: 0: the packet is of no partition of the port.
 */
u16 fab_pkey_of(const struct fab_port *port, const u8 *lrh);

/* The same for an end port, which counts P_KeyViolations (IBTA 10.9.4). */
u16 fab_end_pkey(struct fab_port *to, const u8 *lrh);

/* The BTH of a packet. */
const u8 *fab_bth(const u8 *lrh);

/* Why an output does not take a packet. */
enum fab_refusal {
	FAB_TAKES,
	FAB_NOT_ACTIVE,
	FAB_HAS_NO_LANE,
	FAB_TOO_LONG,
	FAB_BAD_PKEY,
};

static inline enum fab_refusal fab_why_not(const struct fab_port *in, const struct fab_port *out,
						struct fab_packet *packet)
{
	const u8 *lrh = fab_packet_lrh(packet);

	if (!out->number)
		return FAB_TAKES;
	if (!fab_is_active(out))
		return FAB_NOT_ACTIVE;
	if (fab_lane_of(in, out, lrh[1] >> 4) == SHCA_IB_NO_LANE)
		return FAB_HAS_NO_LANE;
	if (!fab_fits(out, packet))
		return FAB_TOO_LONG;
	if (out->filters & FAB_FILTER_PKEY_OUT && !fab_pkey_of(out, lrh))
		return FAB_BAD_PKEY;
	return FAB_TAKES;
}

/* ---- adaptive.c ------------------------------------------------------------- */

/*
 * By which port a unicast packet leaves that has come by @in.
 * @table:	port of the forwarding table
 */
u8 fab_adapt(struct fab_port *in, struct fab_packet *packet, u8 table);

/* A packet of a flow has left the fabric. */
void fab_flow_leave(struct fab_adaptive *adaptive, struct fab_flow *flow);

/* Return: when to call it again; ~0: never. */
u64 fab_adaptive_advance(struct fab_adaptive *adaptive, u64 now);

/* ---- groups.c --------------------------------------------------------------- */

/* Make all groups by the forwarding tables. Return: false: there is a circle. */
bool fab_groups_make(struct fab_adaptive *adaptive);

/*
 * Ports by which a switch can send a LID: its group, or the port of the forwarding table.
 * @one:	memory for the latter
 */
const u64 *fab_group(const struct fab_node *node, u16 lid, u64 *one);

/* ---- packet_crc.c ----------------------------------------------------------- */

void fab_icrc_init(struct fab_data *data);

/* @len: from LRH to ICRC. */
bool fab_icrc_ok(const struct fab_data *data, const u8 *lrh, u32 len);

/* Both CRCs of a packet. @len: from LRH to ICRC. The VCRC follows. */
void fab_put_crcs(const struct fab_data *data, u8 *lrh, u32 len);

/* ---- congestion.c ----------------------------------------------------------- */

/* A packet leaves by a lane in which it has waited, and is marked if that is congested (IBTA A10.2.1). */
void fab_cong_leave(struct fab_port *out, struct fab_packet *packet, u8 lane);

/* ---- aggregator.c ----------------------------------------------------------- */

/* A packet is at an aggregation node. The caller keeps it. Return: false: it is for another QP. */
bool fab_aggregator_receive(struct fab_port *to, struct fab_packet *packet);

/*
 * Aggregation nodes send what their switches have room for.
 *
 * Return: false: nothing.
 */
bool fab_aggregators_send(struct fab_aggregators *aggregators);

/* ---- mad_packet.c ----------------------------------------------------------- */

/*
 * A packet is at the end port @to, and came to its node by @in. The caller keeps it.
 */
void fab_arrive(struct fab_port *to, struct fab_port *in, struct fab_packet *packet);

/* A packet of subnet management, on lane 15, has come by an edge. */
void fab_arrive_smp(struct fab_port *in, struct fab_packet *packet);

/* ---- traffic.c -------------------------------------------------------------- */

/* Flows send what is due, and what their switches have room for. */
void fab_sources_run(struct fabric *fabric);

/* When the next one is due. */
u64 fab_sources_deadline(const struct fabric *fabric);

/* A packet is at the end port @to. Return: is it one of a flow? */
bool fab_source_arrive(struct fab_port *to, struct fab_packet *packet);

/* ---- route.c ---------------------------------------------------------------- */

/* A datagram of subnet management has come by an edge. */
void fab_smp_from_edge(struct fab_port *in, struct fab_mad *mad);

/* ---- output.c --------------------------------------------------------------- */

/* The first packet of a buffer is new. */
void fab_output_ask(struct fab_buffer *buffer);

/* Another packet with the same frame; NULL: there is no memory. */
struct fab_packet *fab_packet_copy(struct fab_data *data, const struct fab_packet *packet);

/* The link of a port begins anew: no lane is stalled, and what was in its cable is lost. */
void fab_output_reset(struct fab_port *out);

/* An output may have work. */
void fab_output_kick(struct fab_port *out);

/* PortXmitWait has the time up to now. */
void fab_output_account(struct fab_port *out);

/* Drop packets that have waited too long. */
void fab_output_late(struct fabric *fabric);

/* When the next one has, or a cable can carry another packet. */
u64 fab_output_deadline(const struct fabric *fabric);

/* ---- edge.c ----------------------------------------------------------------- */

bool fab_edge_has_room(const struct fab_edge *edge, u8 lane);

/* A packet leaves by itself. Return: false: it is lost. */
bool fab_edge_send(struct fab_edge *edge, struct fab_packet *packet, u8 lane);

/* A packet with data leaves, with others if it can. What is lost is counted. */
void fab_edge_gather(struct fab_edge *edge, struct fab_packet *packet, u8 lane);

/* Nothing follows at once: what was gathered leaves. */
void fab_edge_flush(struct fab_edge *edge);

/* A packet gets the VCRC that it lacks. */
void fab_put_vcrc(const struct fab_data *data, struct fab_packet *packet);

/* A packet leaves, and its cable loses it. */
void fab_edge_lose(struct fab_edge *edge, u8 lane);

/* A port has received a packet that its cable has damaged. */
void fab_damaged(struct fab_port *in);

/* A packet that came by the edge has left its buffer. */
void fab_edge_free(struct fab_edge *edge, u8 lane);

/* A packet waits for credit. */
void fab_edge_waits(struct fab_edge *edge);

/* The physical layer has changed: SHCA_IB_EV_*. */
void fab_edge_events(struct fab_edge *edge, u32 events);

#endif
