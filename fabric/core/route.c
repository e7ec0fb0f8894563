// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The way of a management datagram: along the path that a directed one has in it (IBTA 14.2.2),
 * or by the forwarding tables of switches (IBTA 18.2.4).
 */
#include "agent.h"

/* LRH, BTH, DETH, MAD and ICRC in words of 32 bits, as PortXmitData counts them. */
#define MAD_WORDS		72
#define HOPS_MAX		63

static void count_error(struct fab_port *port, enum fab_error error)
{
	if (port->counters.error[error] != ~0u)
		port->counters.error[error]++;
}

static void count_detail(struct fab_port *port, enum fab_detail detail)
{
	if (port->counters.detail[detail] != ~0u)
		port->counters.detail[detail]++;
}

static void discard(struct fab_port *port)
{
	count_error(port, FAB_ERR_DISCARD);
	count_detail(port, FAB_DETAIL_INACTIVE);
}

/*
 * Leave by a port.
 * @vl15:	subnet management, which passes in any state of a link that is up
 *
 * Return: the port at the other end; NULL: dropped.
 */
static struct fab_port *cross(struct fab_port *out, bool vl15)
{
	struct fab_port *in = out->peer;

	if (!in || out->phys != SHCA_IB_PHYS_LINK_UP || in->phys != SHCA_IB_PHYS_LINK_UP ||
	    (!vl15 && (out->state != SHCA_IB_STATE_ACTIVE || in->state < SHCA_IB_STATE_ARMED))) {
		discard(out);
		return NULL;
	}
	out->counters.xmit_pkts++;
	out->counters.xmit_data += MAD_WORDS;
	in->counters.rcv_pkts++;
	in->counters.rcv_data += MAD_WORDS;
	return in;
}

static bool has_lid(const struct fab_port *port, u32 lid)
{
	const struct fab_end *end = &port->end;

	return end->lid && lid >= end->lid && lid < end->lid + (1u << end->lmc);
}

/*
 * A packet has come in by a port of a switch.
 *
 * Return: the port by which it leaves, which is 0 for the switch itself; NULL: dropped.
 */
static struct fab_port *forward(struct fab_port *in, u16 lid)
{
	const struct fab_switch *sw = in->node->sw;
	u8 out = lid <= sw->lft_top ? fab_lft_get(sw, lid) : 0xff;

	if (out > in->node->ports_nr) {
		count_error(in, FAB_ERR_RELAY);
		count_detail(in, FAB_DETAIL_DLID);
		return NULL;
	}
	if (out && out == in->number) {
		count_error(in, FAB_ERR_RELAY);
		count_detail(in, FAB_DETAIL_LOOP);
		return NULL;
	}
	return &in->node->ports[out];
}

struct fab_port *fab_route(struct fab_port *from, u16 lid, bool vl15, struct fab_port **by)
{
	struct fab_port *port = from, *out;
	u32 hops;

	*by = from;
	if (!lid || lid >= LID_MCAST)
		return NULL;
	if (has_lid(from, lid))
		return from;
	if (!from->node->sw) {
		port = cross(from, vl15);
		if (!port)
			return NULL;
	}
	for (hops = 0; hops <= HOPS_MAX && port->node->sw; hops++) {
		out = forward(port, lid);
		if (!out)
			return NULL;
		if (!out->number) {
			*by = port;
			return has_lid(out, lid) ? out : NULL;
		}
		port = cross(out, vl15);
		if (!port)
			return NULL;
	}
	*by = port;
	return !port->node->sw && has_lid(port, lid) ? port : NULL;
}

/* ---- directed --------------------------------------------------------------- */

/*
 * Follow a path from one node.
 * @path:	entry @first + @step * i is the port by which the packet leaves in hop i
 * @back:	entries of the way back, or NULL
 *
 * Return: the port by which it has come to its node; NULL: dropped.
 */
static struct fab_port *follow(struct fab_port *from, const u8 *path, u32 first, s32 step, u32 hops,
			       u8 *back)
{
	struct fab_port *port = from;
	u32 i, at = first;

	for (i = 0; i < hops; i++, at += step) {
		const struct fab_node *node = port->node;
		u8 out = path[at];

		/* Only switches pass a packet on, and an adapter sends by the port of the program. */
		if (!out || out > node->ports_nr || (!node->sw && (i || out != port->number)))
			return NULL;
		port = cross(&node->ports[out], true);
		if (!port)
			return NULL;
		if (back)
			back[at] = port->number;
	}
	return port;
}

static enum fab_verdict directed(struct fab_port *from, struct fab_mad *mad, u64 now)
{
	u8 *data = mad->data;
	u32 hops = data[SMP_HOPS];
	bool returns = get_be16(data + MAD_STATUS) & STATUS_RETURNS;
	struct fab_port *in;

	/* Paths of which a part is LID-routed are not supported. */
	if (hops > HOPS_MAX || get_be16(data + SMP_SLID) != FAB_LID_PERMISSIVE ||
	    get_be16(data + SMP_DR_DLID) != FAB_LID_PERMISSIVE)
		return FAB_DROPPED;
	if (returns) {
		in = follow(from, data + SMP_RETURN, hops, -1, hops, NULL);
		if (!in)
			return FAB_DROPPED;
		data[SMP_POINTER] = 0;
		mad->to = fab_end_port(in);
		return FAB_ARRIVED;
	}
	/* The agent of the sender begins. */
	if (data[SMP_POINTER])
		return FAB_DROPPED;
	in = follow(from, data + SMP_PATH, 1, 1, hops, data + SMP_RETURN);
	if (!in)
		return FAB_DROPPED;
	mad->to = fab_end_port(in);
	/* The answer leaves before a link goes down that the request takes down. */
	if (hops && get_be16(data + MAD_ATTR) != ATTR_SM_INFO)
		follow(in, data + SMP_RETURN, hops, -1, hops, NULL);
	return fab_sma(in, data, now);
}

/* ---- by LID ----------------------------------------------------------------- */

static bool has_agent(u8 class)
{
	return class == CLASS_LID_ROUTED || class == CLASS_PERF;
}

static enum fab_verdict agent(struct fab_port *to, struct fab_port *by, struct fab_mad *mad, u64 now)
{
	switch (mad->data[MAD_CLASS]) {
	case CLASS_LID_ROUTED:
		return fab_sma(by, mad->data, now);
	case CLASS_PERF:
		return fab_perf(to, mad->data);
	default:
		return FAB_ARRIVED;
	}
}

static void swap_ends(struct fab_mad *mad)
{
	u16 lid = mad->slid;
	u32 qp = mad->sqp;

	mad->slid = mad->dlid;
	mad->dlid = lid;
	mad->sqp = mad->dqp;
	mad->dqp = qp;
}

enum fab_verdict fab_send(struct fab_port *from, struct fab_mad *mad, u64 now)
{
	bool vl15 = mad->data[MAD_CLASS] == CLASS_LID_ROUTED;
	struct fab_port *to, *by, *back = from, *back_by;
	u8 method = mad->data[MAD_METHOD];
	enum fab_verdict verdict;

	if (mad->data[MAD_CLASS] == CLASS_DIRECTED)
		return directed(from, mad, now);
	to = fab_route(from, mad->dlid, vl15, &by);
	if (!to)
		return FAB_DROPPED;
	mad->to = to;
	/*
	 * The answer goes by the tables of the switches on its own way. It leaves before a link goes
	 * down that the request takes down.
	 */
	if (has_agent(mad->data[MAD_CLASS]) && (method == METHOD_GET || method == METHOD_SET))
		back = fab_route(to, mad->slid, vl15, &back_by);
	verdict = agent(to, by, mad, now);
	if (verdict != FAB_ANSWERED)
		return verdict;
	swap_ends(mad);
	return back == from ? FAB_ANSWERED : FAB_DROPPED;
}
