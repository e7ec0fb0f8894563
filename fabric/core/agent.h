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

/* ---- node.c ----------------------------------------------------------------- */

/*
 * The link of a port, and so that of its peer, gets a new physical state.
 * @by_set:	a Set of this port asks for it, so its own switch does not report that (IBTA 14.2.5.4)
 */
void fab_link(struct fab_port *port, u8 phys, bool by_set);

/* ---- trap.c ----------------------------------------------------------------- */

/* PortStateChange of a switch: trap 128. */
void fab_trap_link(struct fab_node *node);

/* A packet with a bad M_Key: trap 256. */
void fab_trap_mkey(struct fab_port *port, const u8 *mad);

/* A TrapRepress has arrived at a node. */
void fab_trap_repress(struct fab_node *node, const u8 *mad);

/* ---- route.c ---------------------------------------------------------------- */

/*
 * Follow the forwarding tables to a LID.
 * @vl15:	subnet management, which passes in any state of a link that is up
 * @by:		result: the port by which the packet comes to its node
 *
 * Return: the end port that has the LID; NULL: dropped.
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
 * The subnet management agent of a node answers in place.
 * @in:		the port that the packet came by
 *
 * Return: FAB_ANSWERED (the answer is not in flight yet), FAB_ARRIVED (not for the agent),
 * FAB_CONSUMED or FAB_DROPPED.
 */
enum fab_verdict fab_sma(struct fab_port *in, u8 *mad, u64 now);

/* ---- perf.c ----------------------------------------------------------------- */

/* The same of performance management. */
enum fab_verdict fab_perf(struct fab_port *in, u8 *mad);

#endif
