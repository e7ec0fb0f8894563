// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Traps: what a node tells the subnet manager unasked. */
#include "agent.h"

/* Return: the end port that sends the traps of a node; NULL: no manager has set up any. */
static struct fab_port *sender(struct fab_node *node)
{
	u32 i, first = node->sw ? 0 : 1;

	for (i = first; i <= node->ports_nr; i++) {
		struct fab_port *port = &node->ports[i];

		if (port->state == SHCA_IB_STATE_ACTIVE && port->end.lid && port->end.sm_lid)
			return port;
		if (node->sw)
			break;
	}
	return NULL;
}

static void wait(struct fab_node *node)
{
	if (node->waits)
		return;
	node->waits = true;
	node->next = node->fabric->waiting;
	node->fabric->waiting = node;
}

void fab_trap_link(struct fab_node *node)
{
	struct fab_port *port = sender(node);

	if (port && shca_ib_trap_link(&node->traps, port->end.lid))
		wait(node);
}

void fab_trap_mkey(struct fab_port *port, const u8 *mad)
{
	if (port == sender(port->node) &&
	    shca_ib_trap_mkey(&port->node->traps, port->end.lid, FAB_LID_PERMISSIVE, mad))
		wait(port->node);
}

void fab_trap_port(struct fab_port *port, enum shca_ib_trap kind)
{
	struct fab_port *end = fab_end_port(port);

	if (end == sender(port->node) &&
	    shca_ib_trap_port(&port->node->traps, kind, end->end.lid, port->number))
		wait(port->node);
}

void fab_trap_pkey(struct fab_port *port, const struct shca_ib_bad_key *bad)
{
	struct fab_port *end = sender(port->node);

	if (end && shca_ib_trap_switch_pkey(&port->node->traps, end->end.lid, port->number, bad))
		wait(port->node);
}

void fab_trap_repress(struct fab_node *node, const u8 *mad)
{
	shca_ib_trap_repress(&node->traps, get_be64(mad + MAD_TID));
}

void fab_set_manager(struct fab_port *port, bool on)
{
	u32 mask = on ? port->end.cap_mask | CAP_IS_SM : port->end.cap_mask & ~CAP_IS_SM;

	if (mask == port->end.cap_mask)
		return;
	port->end.cap_mask = mask;
	if (port == sender(port->node) &&
	    shca_ib_trap_change(&port->node->traps, port->end.lid, mask, false))
		wait(port->node);
}

static u64 gap(const struct fab_port *port)
{
	return 4096ull << port->end.subnet_timeout;
}

bool fab_trap_next(struct fabric *fabric, struct fab_mad *mad, u64 now)
{
	struct fab_node **at = &fabric->waiting, *node;
	struct fab_port *from, *by;

	while ((node = *at)) {
		from = sender(node);
		if (!from)
			shca_ib_trap_forget(&node->traps);
		if (!node->traps.pending) {
			*at = node->next;
			node->waits = false;
			continue;
		}
		at = &node->next;
		if (!shca_ib_trap_next(&node->traps, gap(from), now, mad->data))
			continue;
		mad->slid = from->end.lid;
		mad->dlid = from->end.sm_lid;
		mad->sqp = 0;
		mad->dqp = 0;
		mad->to = fab_route(from, mad->dlid, true, &by);
		if (mad->to)
			return true;
		if (by)
			fab_mad_leave(by, mad);
	}
	return false;
}

u64 fab_trap_deadline(const struct fabric *fabric)
{
	const struct fab_node *node;
	u64 deadline = ~0ull;

	for (node = fabric->waiting; node; node = node->next) {
		struct fab_port *from = sender((struct fab_node *)node);

		deadline = min_t(u64, deadline, from ?
				 shca_ib_trap_deadline(&node->traps, gap(from)) : 0);
	}
	return deadline;
}
