// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The way of a management datagram: along the path that a directed one has in it (IBTA 14.2.2),
 * or by the forwarding tables of switches (IBTA 18.2.4).
 */
#include "data_internal.h"

/* LRH, BTH, DETH, MAD and ICRC in words of 32 bits, as PortXmitData counts them. */
#define MAD_WORDS		72
#define HOPS_MAX		63

static void discard(struct fab_port *port)
{
	fab_count(port, FAB_ERR_DISCARD);
	fab_count_detail(port, FAB_DETAIL_INACTIVE);
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
		fab_count(in, FAB_ERR_RELAY);
		fab_count_detail(in, FAB_DETAIL_DLID);
		return NULL;
	}
	if (out && out == in->number) {
		fab_count(in, FAB_ERR_RELAY);
		fab_count_detail(in, FAB_DETAIL_LOOP);
		return NULL;
	}
	return &in->node->ports[out];
}

/* ---- steps ------------------------------------------------------------------ */

/*
 * Where a datagram is. Neither: it was dropped.
 * @in:		it has come to a node by this port, or is sent there
 * @edge:	it leaves the fabric by this edge
 */
struct place {
	struct fab_port *in;
	struct fab_port *edge;
};

static void drop(struct place *at)
{
	*at = (struct place){ 0 };
}

/* Leave by a port. Return: does it go on in the fabric? */
static bool step(struct place *at, struct fab_port *out, bool vl15)
{
	if (!out->edge) {
		at->in = cross(out, vl15);
		return at->in;
	}
	drop(at);
	if (out->phys == SHCA_IB_PHYS_LINK_UP && (vl15 || out->state == SHCA_IB_STATE_ACTIVE))
		at->edge = out;
	else
		discard(out);
	return false;
}

/*
 * Go by forwarding tables to the node that has a LID.
 * @own:	the node where it is sends it
 */
static void go_by_lid(struct place *at, u16 lid, bool vl15, bool own)
{
	struct fab_port *out;
	u32 hops;

	if (!lid || lid >= LID_MCAST) {
		drop(at);
		return;
	}
	if (own) {
		at->in = fab_end_port(at->in);
		if (has_lid(at->in, lid) || (!at->in->node->sw && !step(at, at->in, vl15)))
			return;
	}
	for (hops = 0; hops <= HOPS_MAX && at->in->node->sw; hops++) {
		out = forward(at->in, lid);
		if (!out)
			break;
		if (!out->number) {
			if (!has_lid(out, lid))
				drop(at);
			return;
		}
		if (!step(at, out, vl15))
			return;
	}
	if (at->in->node->sw || !has_lid(at->in, lid))
		drop(at);
}

struct fab_port *fab_route(struct fab_port *from, u16 lid, bool vl15, struct fab_port **by)
{
	struct place at = { .in = from };

	go_by_lid(&at, lid, vl15, true);
	*by = at.in ?: at.edge;
	return at.in ? fab_end_port(at.in) : NULL;
}

/* ---- directed --------------------------------------------------------------- */

/*
 * Go along the path. HopPointer is the entry of the cable by which the datagram has come.
 * @own:	the path begins at the sender, and the datagram is there
 */
static void go_by_path(struct place *at, u8 *data, bool returns, bool own)
{
	const u8 *path = data + (returns ? SMP_RETURN : SMP_PATH);
	u8 *pointer = data + SMP_POINTER, hops = data[SMP_HOPS], out;

	for (;; own = false) {
		const struct fab_node *node = at->in->node;

		if (!returns && *pointer && *pointer <= hops)
			data[SMP_RETURN + *pointer] = at->in->number;
		if (returns ? *pointer <= 1 : *pointer >= hops)
			break;
		*pointer += returns ? -1 : 1;
		out = path[*pointer];
		/* Only switches pass a datagram on, and an adapter sends by the port of the program. */
		if (!out || out > node->ports_nr || (!node->sw && (!own || out != at->in->number))) {
			drop(at);
			return;
		}
		if (!step(at, &node->ports[out], true))
			return;
	}
	*pointer = returns ? 0 : hops + 1;
}

/* The LID to which a directed datagram goes before its path, or behind it; permissive: none. */
static u16 lid_before(const u8 *data, bool returns)
{
	return get_be16(data + (returns ? SMP_DR_DLID : SMP_SLID));
}

static u16 lid_behind(const u8 *data, bool returns)
{
	return get_be16(data + (returns ? SMP_SLID : SMP_DR_DLID));
}

/*
 * Go the whole way of a directed datagram. Behind its path, and before it, there may be a part by
 * LID, from and to a switch.
 * @own:	the node where it is sends it
 * @mad:	LIDs are those of the LRH: as it comes here, and then as it arrives
 */
static void walk(struct place *at, struct fab_mad *mad, bool returns, bool own)
{
	u8 *data = mad->data, hops = data[SMP_HOPS];
	bool has_part = own ? lid_before(data, returns) != FAB_LID_PERMISSIVE :
			      mad->dlid != FAB_LID_PERMISSIVE;
	bool is_behind = !own && data[SMP_POINTER] == (returns ? 0 : hops + 1);

	if (own && returns)
		data[SMP_POINTER] = hops + 1;
	if (has_part) {
		go_by_lid(at, mad->dlid, true, own);
		if (at->in && hops && !is_behind && !at->in->node->sw)
			drop(at);
	}
	if (!at->in || is_behind)
		return;
	if (hops) {
		mad->slid = FAB_LID_PERMISSIVE;
		mad->dlid = FAB_LID_PERMISSIVE;
	}
	go_by_path(at, data, returns, own && !has_part);
	if (!at->in || lid_behind(data, returns) == FAB_LID_PERMISSIVE)
		return;
	/* A host passes nothing on, but answers who has reached it by its LID. */
	if (!at->in->node->sw && (hops || !returns)) {
		drop(at);
		return;
	}
	/* This node is the sender from here on, and so gets the answer. */
	mad->slid = fab_end_port(at->in)->end.lid;
	mad->dlid = lid_behind(data, returns);
	go_by_lid(at, mad->dlid, true, true);
}

static bool returns_of(const u8 *data)
{
	return get_be16(data + MAD_STATUS) & STATUS_RETURNS;
}

/*
 * A directed datagram has arrived.
 * @back:	result: where its answer arrives
 */
static enum fab_verdict directed_at(struct fab_port *in, struct fab_mad *mad, struct place *back, u64 now)
{
	u8 *data = mad->data;
	struct fab_mad answer = { .data = data, .slid = mad->dlid, .dlid = mad->slid };
	enum fab_verdict verdict = FAB_ARRIVED;

	mad->to = fab_end_port(in);
	if (!returns_of(data))
		verdict = fab_sma_takes(in, data, now);
	if (verdict == FAB_ANSWERED) {
		/* The answer leaves before a link goes down that the request takes down. */
		*back = (struct place){ .in = in };
		walk(back, &answer, true, true);
		fab_sma(in, data);
		mad->slid = answer.slid;
		mad->dlid = answer.dlid;
	} else {
		data[SMP_POINTER] = 0;
	}
	return verdict;
}

/* ---- by LID ----------------------------------------------------------------- */

/* Has an agent an answer to a datagram that has arrived by its LID? If not: what becomes of it. */
static enum fab_verdict agent_takes(struct fab_port *by, const u8 *data, u64 now)
{
	u8 method = data[MAD_METHOD];

	if (data[MAD_CLASS] == CLASS_LID_ROUTED)
		return fab_sma_takes(by, data, now);
	if (data[MAD_CLASS] == SHCA_IB_CLASS_CONG && !(method & METHOD_RESPONSE))
		return fab_cong_takes(by, data, now);
	if (data[MAD_CLASS] != CLASS_PERF || method & METHOD_RESPONSE)
		return FAB_ARRIVED;
	return method == METHOD_TRAP || method == METHOD_REPORT || method == METHOD_TRAP_REPRESS ? FAB_DROPPED : FAB_ANSWERED;
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

/*
 * A datagram has arrived by its LID.
 * @back:	result: where its answer arrives
 */
static enum fab_verdict arrived(struct fab_port *by, struct fab_mad *mad, struct place *back, u64 now)
{
	bool vl15 = mad->data[MAD_CLASS] == CLASS_LID_ROUTED;
	enum fab_verdict verdict = agent_takes(by, mad->data, now);

	mad->to = fab_end_port(by);
	if (verdict != FAB_ANSWERED)
		return verdict;
	/*
	 * The answer goes by the tables of the switches on its own way. It leaves before a link goes
	 * down that the request takes down.
	 */
	*back = (struct place){ .in = by };
	go_by_lid(back, mad->slid, vl15, true);
	if (vl15)
		fab_sma(by, mad->data);
	else if (mad->data[MAD_CLASS] == SHCA_IB_CLASS_CONG)
		fab_cong(mad->to, mad->data, now);
	else
		fab_perf(mad->to, mad->data);
	swap_ends(mad);
	return verdict;
}

static bool is_directed(const struct fab_mad *mad)
{
	return mad->data[MAD_CLASS] == CLASS_DIRECTED;
}

static enum fab_verdict handle(struct fab_port *in, struct fab_mad *mad, struct place *back, u64 now)
{
	return is_directed(mad) ? directed_at(in, mad, back, now) : arrived(in, mad, back, now);
}

enum fab_verdict fab_send(struct fab_port *from, struct fab_mad *mad, u64 now)
{
	bool vl15 = is_directed(mad) || mad->data[MAD_CLASS] == CLASS_LID_ROUTED;
	struct place at = { .in = from }, back = { 0 };
	enum fab_verdict verdict;

	from->node->fabric->now = now;
	if (is_directed(mad)) {
		/* The agent of the sender begins. */
		if (mad->data[SMP_HOPS] > HOPS_MAX || (!returns_of(mad->data) && mad->data[SMP_POINTER]))
			return FAB_DROPPED;
		walk(&at, mad, returns_of(mad->data), true);
	} else {
		go_by_lid(&at, mad->dlid, vl15, true);
	}
	/* (the general service of programs ends at edges) */
	if (at.edge && vl15) {
		fab_mad_leave(at.edge, mad);
		return FAB_LEFT;
	}
	if (!at.in)
		return FAB_DROPPED;
	verdict = handle(at.in, mad, &back, now);
	if (verdict != FAB_ANSWERED)
		return verdict;
	return back.in && fab_end_port(back.in) == from ? FAB_ANSWERED : FAB_DROPPED;
}

/* ---- from outside ----------------------------------------------------------- */

/* IBTA 14.2.2: does HopPointer fit a datagram that comes by a cable? */
static bool pointer_ok(const struct fab_mad *mad)
{
	const u8 *data = mad->data;
	u8 pointer = data[SMP_POINTER], hops = data[SMP_HOPS];

	if (hops > HOPS_MAX || pointer > hops + 1)
		return false;
	/* By LID, it comes to the beginning of its path, or from the end. */
	if (mad->dlid != FAB_LID_PERMISSIVE)
		return !pointer || pointer == hops + 1;
	return pointer && pointer <= hops;
}

void fab_smp_from_edge(struct fab_port *in, struct fab_mad *mad)
{
	struct fabric *fabric = in->node->fabric;
	struct place at = { .in = in }, back = { 0 };
	enum fab_verdict verdict;

	if (is_directed(mad)) {
		if (!pointer_ok(mad))
			return;
		walk(&at, mad, returns_of(mad->data), false);
	} else if (mad->data[MAD_CLASS] == CLASS_LID_ROUTED) {
		go_by_lid(&at, mad->dlid, true, false);
	} else {
		return;
	}
	if (at.edge)
		fab_mad_leave(at.edge, mad);
	if (!at.in)
		return;
	verdict = handle(at.in, mad, &back, fabric->now);
	if (verdict == FAB_ANSWERED && back.edge)
		fab_mad_leave(back.edge, mad);
	else if (verdict == FAB_ARRIVED && fabric->data->arrive)
		fabric->data->arrive(fabric->data, mad);
}
