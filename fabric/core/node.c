// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Nodes and cables: how they begin, and what becomes of the ports at both ends of a link. */
#include "agent.h"

#define PREFIX			0xfe80000000000000ull
#define PKEY_DEFAULT		0xffff
#define LIMITS			0x88
#define HOQ_FOR_EVER		0x14
#define LIFE		0x12
#define WIDTH_4X		2
#define SPEED_QDR		4

/* CapabilityMask of an end port. */
#define CAP_TRAP		(1u << 3)
#define CAP_SL_MAP		(1u << 6)
#define CAP_SYSTEM_GUID		(1u << 11)
#define CAP_EXT_SPEEDS		(1u << 14)
#define CAP_MASK2		(1u << 15)

static void end_init(struct fab_port *port)
{
	struct fab_end *end = &port->end;

	end->gid_prefix = PREFIX;
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

void fab_node_init(struct fabric *fabric, struct fab_node *node)
{
	u32 i, first = node->type == FAB_SWITCH ? 0 : 1;

	node->fabric = fabric;
	node->traps.is_switch = node->type == FAB_SWITCH;
	for (i = first; i <= node->ports_nr; i++)
		port_init(node, i);
	/* One bit of CapabilityMask tells of the speeds of all ports of a switch. */
	for (i = 1; i <= node->ports_nr; i++)
		if (node->ports[i].supported.ext | node->ports[i].supported.ext2)
			fab_end_port(&node->ports[i])->end.cap_mask |= CAP_EXT_SPEEDS | CAP_MASK2;
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

static struct fab_rate common(const struct fab_rate *a, const struct fab_rate *b)
{
	struct fab_rate rate = {
		.width = best(a->width, b->width),
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

static void port_set(struct fab_port *port, u8 phys, bool reports)
{
	bool was_up = port->state != SHCA_IB_STATE_DOWN;
	bool is_up = phys == SHCA_IB_PHYS_LINK_UP;

	port->phys = phys;
	port->state = is_up ? SHCA_IB_STATE_INIT : SHCA_IB_STATE_DOWN;
	if (was_up && port->counters.error[FAB_ERR_DOWNED] < 0xff)
		port->counters.error[FAB_ERR_DOWNED]++;
	if (port->node->sw && reports && (was_up || is_up)) {
		port->node->sw->changed = true;
		fab_trap_link(port->node);
	}
	if (!is_up)
		return;
	port->neighbor_mtu = MTU_CAP;
	port->lanes.code = min_t(u8, port->lanes_set, port->peer->lanes_set);
	port->active = common(&port->enabled, &port->peer->enabled);
}

void fab_link(struct fab_port *port, u8 phys, bool by_set)
{
	struct fab_port *peer = port->peer;
	u8 at_peer = phys;

	if (!peer) {
		port_set(port, phys == SHCA_IB_PHYS_DISABLED ? phys : SHCA_IB_PHYS_POLLING, !by_set);
		return;
	}
	/* A disabled port stays so, whatever its peer does. */
	if (peer->phys == SHCA_IB_PHYS_DISABLED) {
		at_peer = SHCA_IB_PHYS_DISABLED;
		if (phys == SHCA_IB_PHYS_LINK_UP)
			phys = SHCA_IB_PHYS_POLLING;
	} else if (phys == SHCA_IB_PHYS_DISABLED) {
		at_peer = SHCA_IB_PHYS_POLLING;
	}
	port_set(port, phys, !by_set);
	port_set(peer, at_peer, true);
}

void fab_join(struct fab_port *a, struct fab_port *b)
{
	a->peer = b;
	b->peer = a;
	fab_link(a, SHCA_IB_PHYS_LINK_UP, false);
}
