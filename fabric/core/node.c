// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Nodes and cables: how they begin, and what becomes of the ports at both ends of a link. */
#include "data_internal.h"

#define PREFIX			0xfe80000000000000ull
#define PKEY_DEFAULT		0xffff
#define LIMITS			0x88
#define HOQ_FOR_EVER		0x14
#define LIFE		0x12
#define WIDTH_4X		2
#define SPEED_SDR		1
#define SPEED_QDR		4

/* CapabilityMask of an end port. */
#define CAP_TRAP		(1u << 3)
#define CAP_SL_MAP		(1u << 6)
#define CAP_SYSTEM_GUID		(1u << 11)
#define CAP_EXT_SPEEDS		(1u << 14)
#define CAP_MASK2		(1u << 15)
/* CapabilityMask2. */
#define CAP2_WIDTH_2X		(1u << 4)
#define CAP2_HDR		(1u << 5)
#define CAP2_NDR		(1u << 10)
#define CAP2_EXT_SPEEDS2	(1u << 11)
#define CAP2_XDR		(1u << 12)

/* Codes of LinkWidth, LinkSpeedExt and LinkSpeedExt2. */
#define RATE_1X			1
#define RATE_2X			16
#define RATE_HDR		4
#define RATE_NDR		8
#define RATE_XDR		1

static void end_init(struct fab_port *port)
{
	struct fab_end *end = &port->end;

	end->gid_prefix = PREFIX;
	end->guids[0] = port->guid;
	end->cap_mask = CAP_TRAP | CAP_SYSTEM_GUID | CAP_SL_MAP;
	end->subnet_timeout = LIFE;
}

static void port_init(struct fab_node *node, u8 number)
{
	struct fab_port *port = &node->ports[number];
	bool is_end = node->type != FAB_SWITCH || !number;

	port->node = node;
	port->number = number;
	port->state = SHCA_IB_STATE_DOWN;
	port->phys = SHCA_IB_PHYS_POLLING;
	port->down_default = SHCA_IB_PHYS_POLLING;
	port->mtu_cap = MTU_CAP;
	port->neighbor_mtu = MTU_CAP;
	port->lanes_set = SHCA_IB_VL_CAP;
	port->limits = LIMITS;
	port->hoq_life = HOQ_FOR_EVER;
	port->pkeys[0] = PKEY_DEFAULT;
	port->enabled = port->supported;
	shca_ib_lanes_init(&port->lanes, SHCA_IB_VL_CAP);
	if (is_end)
		end_init(port);
	if (node->type != FAB_SWITCH || number)
		return;
	/* Port 0 has no link, and must not be Down: OpenSM would leave the switch alone. */
	port->state = SHCA_IB_STATE_ACTIVE;
	port->phys = SHCA_IB_PHYS_LINK_UP;
	port->active = (struct fab_rate){ .width = WIDTH_4X, .speed = SPEED_QDR };
}

/* Both masks tell of the rates of all ports of a switch. */
static void rate_caps(struct fab_end *end, const struct fab_rate *rate)
{
	if (rate->ext | rate->ext2)
		end->cap_mask |= CAP_EXT_SPEEDS;
	if (rate->width & RATE_2X)
		end->cap_mask2 |= CAP2_WIDTH_2X;
	if (rate->ext & RATE_HDR)
		end->cap_mask2 |= CAP2_HDR;
	if (rate->ext & RATE_NDR)
		end->cap_mask2 |= CAP2_NDR;
	if (rate->ext2)
		end->cap_mask2 |= CAP2_EXT_SPEEDS2;
	if (rate->ext2 & RATE_XDR)
		end->cap_mask2 |= CAP2_XDR;
	if (end->cap_mask2)
		end->cap_mask |= CAP_MASK2;
}

void fab_node_init(struct fabric *fabric, struct fab_node *node)
{
	u32 i, first = node->type == FAB_SWITCH ? 0 : 1;

	node->fabric = fabric;
	node->traps.is_switch = node->type == FAB_SWITCH;
	for (i = first; i <= node->ports_nr; i++)
		port_init(node, i);
	for (i = 1; i <= node->ports_nr; i++)
		rate_caps(&fab_end_port(&node->ports[i])->end, &node->ports[i].supported);
	if (!node->sw)
		return;
	node->sw->life = LIFE;
	/* Only then does OpenSM rewrite the tables of a switch that was away. */
	node->sw->changed = true;
}

/* ---- links ------------------------------------------------------------------ */

/* The highest of each that both have. */
static u8 best(u8 a, u8 b)
{
	return (a & b) ? 1 << (fls(a & b) - 1) : 0;
}

/* A code for 2x came later than those for 4x and more, and is above them. */
static u8 widest(u8 a, u8 b)
{
	u8 both = a & b;

	return best(both, both & ~(RATE_1X | RATE_2X) ? ~RATE_2X : both);
}

static struct fab_rate common(const struct fab_rate *a, const struct fab_rate *b)
{
	struct fab_rate rate = {
		.width = widest(a->width, b->width),
		.speed = best(a->speed, b->speed),
		.ext = best(a->ext, b->ext),
		.ext2 = best(a->ext2, b->ext2),
		.fdr10 = best(a->fdr10, b->fdr10),
	};

	/* The faster ones leave no room for the slower ones. */
	if (rate.ext2)
		rate.ext = 0;
	if (rate.ext | rate.ext2)
		rate.fdr10 = 0;
	return rate;
}

/* Rate of a real port. */
static const struct fab_rate real = { .width = WIDTH_4X, .speed = SPEED_SDR };

/* What the port at the other end has. */
static void meet(struct fab_port *port)
{
	const struct fab_edge *edge = port->edge;
	u32 lanes = edge ? max_t(u32, edge->phy.peer.lanes, 1) : port->peer->lanes_set;
	/* 1 is 256, the least that there is. */
	u32 mtu = edge ? max_t(s32, fls(edge->phy.peer.mtu) - 8, 1) : port->peer->mtu_cap;

	port->neighbor_mtu = min_t(u32, port->mtu_cap, mtu);
	port->lanes.code = min_t(u32, port->lanes_set, lanes);
	port->active = common(&port->enabled, edge ? &real : &port->peer->enabled);
	if (port->io)
		shca_ib_arb_init(&port->io->arb, &port->lanes);
}

void fab_port_set(struct fab_port *port, u8 phys, bool reports)
{
	bool was_up = port->state != SHCA_IB_STATE_DOWN;
	bool is_up = phys == SHCA_IB_PHYS_LINK_UP;

	port->phys = phys;
	port->state = is_up ? SHCA_IB_STATE_INIT : SHCA_IB_STATE_DOWN;
	if (was_up)
		port->counters.error[FAB_ERR_DOWNED]++;
	fab_output_reset(port);
	if (port->node->sw && reports && (was_up || is_up)) {
		port->node->sw->changed = true;
		fab_trap_link(port->node);
	}
	if (is_up)
		meet(port);
}

void fab_link(struct fab_port *port, u8 phys, bool by_set)
{
	struct fab_port *peer = port->peer;
	u8 at_peer = phys;

	if (port->edge) {
		fab_edge_ask(port->edge, phys);
		return;
	}
	if (!peer) {
		fab_port_set(port, phys == SHCA_IB_PHYS_DISABLED ? phys : SHCA_IB_PHYS_POLLING, !by_set);
		return;
	}
	if (port->is_cut && phys == SHCA_IB_PHYS_LINK_UP) {
		phys = SHCA_IB_PHYS_POLLING;
		at_peer = phys;
	}
	/* A disabled port stays so, whatever its peer does. */
	if (peer->phys == SHCA_IB_PHYS_DISABLED) {
		at_peer = SHCA_IB_PHYS_DISABLED;
		if (phys == SHCA_IB_PHYS_LINK_UP)
			phys = SHCA_IB_PHYS_POLLING;
	} else if (phys == SHCA_IB_PHYS_DISABLED) {
		at_peer = SHCA_IB_PHYS_POLLING;
	}
	fab_port_set(port, phys, !by_set);
	fab_port_set(peer, at_peer, true);
}

void fab_join(struct fab_port *a, struct fab_port *b)
{
	a->peer = b;
	b->peer = a;
	fab_link(a, SHCA_IB_PHYS_LINK_UP, false);
}

void fab_part(struct fab_port *port)
{
	struct fab_port *peer = port->peer;

	port->peer = NULL;
	peer->peer = NULL;
	fab_link(port, SHCA_IB_PHYS_POLLING, false);
	fab_link(peer, SHCA_IB_PHYS_POLLING, false);
}

/* The state of a port whose cable is pulled out or plugged in. */
static void cut_end(struct fab_port *port, bool is_up)
{
	if (port->phys != SHCA_IB_PHYS_DISABLED)
		fab_port_set(port, is_up ? SHCA_IB_PHYS_LINK_UP : SHCA_IB_PHYS_POLLING, true);
}

void fab_cut(struct fab_port *port, bool cut, u64 now)
{
	struct fab_port *peer = port->peer;
	bool is_up;

	port->node->fabric->now = now;
	if (port->is_cut == cut)
		return;
	if (port->edge) {
		port->is_cut = cut;
		fab_edge_carrier(port->edge, !cut, now);
		return;
	}
	if (!peer)
		return;
	port->is_cut = cut;
	peer->is_cut = cut;
	is_up = !cut && port->phys != SHCA_IB_PHYS_DISABLED && peer->phys != SHCA_IB_PHYS_DISABLED;
	cut_end(port, is_up);
	cut_end(peer, is_up);
}
