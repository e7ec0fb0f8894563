/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the sources of fabric/core share. */
#ifndef SHCA_FABRIC_AGENT_H
#define SHCA_FABRIC_AGENT_H

#include "../../kernel/core/be.h"
#include "../../kernel/ib/core/ib_hello.h"
#include "../../kernel/ib/core/ib_smp.h"
#include "fabric.h"

#define CLASS_SA		0x03
#define CLASS_PERF		0x04
#define ATTR_SWITCH_INFO	0x0012
#define ATTR_LFT		0x0019
#define ATTR_MFT		0x001b
/* ExtendedPortInfo of Mellanox: OpenSM and ibnetdiscover ask some devices for it. */
#define ATTR_VENDOR_PORT_INFO	0xff90
#define SMP_POINTER		6
#define SMP_DR_DLID		34
#define SMP_PATH		128
#define LID_MCAST		0xc000
#define CAP_IS_SM		(1u << 1)
#define MTU_CAP			5	/* 4096 */

/* ---- counters, which stay at their highest value ---------------------------- */

static inline void fab_count(struct fab_port *port, enum fab_error error)
{
	if (port->counters.error[error] != ~0u)
		port->counters.error[error]++;
}

static inline void fab_count_detail(struct fab_port *port, enum fab_detail detail)
{
	if (port->counters.detail[detail] != ~0u)
		port->counters.detail[detail]++;
}

/* ---- node.c ----------------------------------------------------------------- */

/*
 * The link of a port, and so that of its peer, gets a new physical state.
 * @by_set:	a Set of this port asks for it, so its own switch does not report that (IBTA 14.2.5.4)
 */
void fab_link(struct fab_port *port, u8 phys, bool by_set);

/* The link of a port has this physical state now. @reports: its own switch reports that. */
void fab_port_set(struct fab_port *port, u8 phys, bool reports);

/* ---- mad_packet.c ----------------------------------------------------------- */

/* A datagram of subnet management leaves at an edge. */
void fab_mad_leave(struct fab_port *out, const struct fab_mad *mad);

/* ---- edge.c ----------------------------------------------------------------- */

/* Management wants the physical state of an edge. */
void fab_edge_ask(struct fab_edge *edge, u8 phys);

/* ---- trap.c ----------------------------------------------------------------- */

/* PortStateChange of a switch: trap 128. */
void fab_trap_link(struct fab_node *node);

/* A packet with a bad M_Key: trap 256. */
void fab_trap_mkey(struct fab_port *port, const u8 *mad);

/* Traps 129 to 131: something is wrong with what a port receives. */
void fab_trap_port(struct fab_port *port, enum shca_ib_trap kind);

/* A packet whose P_Key a port of a switch refused, by which it came or was to leave: trap 259. */
void fab_trap_pkey(struct fab_port *port, const struct shca_ib_bad_key *bad);

/* A TrapRepress has arrived at a node. */
void fab_trap_repress(struct fab_node *node, const u8 *mad);

/* ---- route.c ---------------------------------------------------------------- */

/*
 * Follow the forwarding tables to a LID.
 * @vl15:	subnet management, which passes in any state of a link that is up
 * @by:		result: the port by which the packet comes to its node, or the edge by which it
 *		leaves the fabric, or NULL
 *
 * Return: the end port that has the LID; NULL: there is none in the fabric.
 */
struct fab_port *fab_route(struct fab_port *from, u16 lid, bool vl15, struct fab_port **by);

/* ---- port_info.c ------------------------------------------------------------ */

/*
 * PortInfo.
 * @by:		number of the port that the packet came by
 */
void fab_port_info_get(const struct fab_port *port, u8 by, bool with_mkey, u8 *data);

/* Return: status of the answer. */
u32 fab_port_info_set(struct fab_port *port, const u8 *data);

/* ---- sma.c ------------------------------------------------------------------ */

/*
 * Has the subnet management agent of a node an answer to a datagram?
 * @in:		the port that the packet came by
 *
 * Return: FAB_ANSWERED (fab_sma() answers), FAB_ARRIVED (not for the agent), FAB_CONSUMED or
 * FAB_DROPPED.
 */
enum fab_verdict fab_sma_takes(struct fab_port *in, const u8 *mad, u64 now);

/* It answers in place. The answer is not in flight yet. */
void fab_sma(struct fab_port *in, u8 *mad);

/* ---- adaptive.c ------------------------------------------------------------- */

/* The forwarding table of a switch has changed. */
void fab_tables_changed(struct fabric *fabric);

/* ---- congestion.c ----------------------------------------------------------- */

/*
 * Has the agent of congestion control an answer to a datagram?
 *
 * Return: FAB_ANSWERED (fab_cong() answers) or FAB_DROPPED.
 */
enum fab_verdict fab_cong_takes(struct fab_port *to, const u8 *mad, u64 now);

/* It answers in place. */
void fab_cong(struct fab_port *to, u8 *mad, u64 now);

/* ---- perf.c ----------------------------------------------------------------- */

/* The same of performance management. */
enum fab_verdict fab_perf(struct fab_port *in, u8 *mad);

#endif
