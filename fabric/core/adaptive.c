// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Adaptive routing: by which port of its group a packet leaves. */
#include "data_internal.h"

/* Tables are complete when they have not changed for so long. */
#define QUIET_NS		100000000ull
/* OpCodes of BTH: the three highest bits are the transport. */
#define TRANSPORT_RC		0
#define TRANSPORT_XRC		5
#define SIZE_OF_NUMBER		8	/* bits of a port's number */

/* ---- flows ------------------------------------------------------------------ */

static struct fab_flow **bucket_of(struct fab_adaptive *adaptive, u32 lids, u32 qp)
{
	return &adaptive->bucket[(lids + qp) % FAB_BUCKETS];
}

/* Each flow has a packet, so there is one for this packet. */
static struct fab_flow *new_flow(struct fab_adaptive *adaptive)
{
	struct fab_flow *flow = adaptive->unused;

	if (!flow)
		return &adaptive->flows[adaptive->flows_used++];
	adaptive->unused = flow->next;
	return flow;
}

/* The flow to which a packet belongs. */
static struct fab_flow *flow_of(struct fab_adaptive *adaptive, const u8 *lrh)
{
	const u8 *bth = fab_bth(lrh);
	u32 lids = (u32)get_be16(lrh + 6) << 16 | get_be16(lrh + 2);
	u32 qp = (get_be32(bth + 4) & 0xffffff) | (u32)(lrh[1] >> 4) << 24;
	struct fab_flow **bucket = bucket_of(adaptive, lids, qp), *flow;
	u8 transport = bth[0] >> 5;

	if (adaptive->works == FAB_ADAPTIVE_PACKET && (transport == TRANSPORT_RC || transport == TRANSPORT_XRC))
		return &adaptive->unordered;
	for (flow = *bucket; flow; flow = flow->next)
		if (flow->lids == lids && flow->qp == qp)
			return flow;
	flow = new_flow(adaptive);
	*flow = (struct fab_flow){ .next = *bucket, .lids = lids, .qp = qp };
	*bucket = flow;
	return flow;
}

void fab_flow_leave(struct fab_adaptive *adaptive, struct fab_flow *flow)
{
	struct fab_flow **at;

	if (--flow->packets)
		return;
	for (at = bucket_of(adaptive, flow->lids, flow->qp); *at != flow; at = &(*at)->next)
		;
	*at = flow->next;
	flow->next = adaptive->unused;
	adaptive->unused = flow;
}

/* ---- ports ------------------------------------------------------------------ */

/*
 * Does a port lead to the last switch of a LID, with no link on the path that is down? Each hop is
 * nearer to it. (Nothing can take the place of its own link to the host.)
 */
static bool leads(const struct fab_port *out, u16 lid)
{
	const struct fab_node *next = out->peer ? out->peer->node : NULL;
	u64 one[FAB_SET_WORDS];
	const u64 *set;
	u32 i;

	if (!next || !next->sw)
		return true;
	if (!fab_is_active(out))
		return false;
	set = fab_group(next, lid, one);
	for (i = fab_set_next(set, 0); i < FAB_SET_END; i = fab_set_next(set, i + 1))
		if (leads(&next->ports[i], lid))
			return true;
	return false;
}

static bool may_take(const struct fab_port *in, const struct fab_port *out, struct fab_packet *packet, u16 lid)
{
	return fab_why_not(in, out, packet) == FAB_TAKES && leads(out, lid);
}

/* Packets that wait for an output, and those in its cable and in the buffer behind it. */
static u32 load_of(const struct fab_port *in, const struct fab_port *out, u8 sl)
{
	u8 lane = fab_lane_of(in, out, sl);

	return out->io->coming + out->io->flying[lane] + out->peer->io->input[lane].packets;
}

/*
 * The port of a group at which least waits. Among equals they take turns.
 *
 * Return: @table, the port of the forwarding table: no other one takes the packet.
 */
static u8 least(const struct fab_port *in, struct fab_packet *packet, const u64 *set, u16 lid, u8 table)
{
	const struct fab_node *node = in->node;
	u8 sl = fab_packet_lrh(packet)[1] >> 4, best = table;
	u8 last = node->sw->groups->last[node->sw->groups->of[lid]];
	u32 i, rank, best_rank = ~0u;

	for (i = fab_set_next(set, 0); i < FAB_SET_END; i = fab_set_next(set, i + 1)) {
		if (!may_take(in, &node->ports[i], packet, lid))
			continue;
		rank = load_of(in, &node->ports[i], sl) << SIZE_OF_NUMBER | (u8)(i - last - 1);
		if (rank < best_rank) {
			best_rank = rank;
			best = i;
		}
	}
	return best;
}

/* The port that a switch has chosen for a flow: an entry with a port that is 0, if it has not. NULL: there is no room. */
static u8 *choice_of(struct fab_flow *flow, const struct fab_node *node)
{
	u32 i;

	for (i = 0; i < flow->choices_nr; i++)
		if (flow->choices[i].node == node)
			return &flow->choices[i].port;
	if (i == FAB_CHOICES)
		return NULL;
	flow->choices_nr++;
	flow->choices[i].node = node;
	flow->choices[i].port = 0;
	return &flow->choices[i].port;
}

u8 fab_adapt(struct fab_port *in, struct fab_packet *packet, u8 table)
{
	struct fab_node *node = in->node;
	struct fab_adaptive *adaptive = node->fabric->data->adaptive;
	struct fab_groups *groups = node->sw->groups;
	struct fab_port *port = &node->ports[table];
	u16 lid = get_be16(fab_packet_lrh(packet) + 2);
	const u64 *set = groups->set[groups->of[lid]];
	u8 *choice = NULL, out;

	if (adaptive->works == FAB_ADAPTIVE_OFF || !groups->of[lid])
		return table;
	if (!packet->flow) {
		packet->flow = flow_of(adaptive, fab_packet_lrh(packet));
		packet->flow->packets++;
	}
	if (packet->flow != &adaptive->unordered) {
		choice = choice_of(packet->flow, node);
		if (!choice)
			return table;
	}
	if (choice && *choice && fab_set_has(set, *choice) && may_take(in, &node->ports[*choice], packet, lid)) {
		out = *choice;
	} else {
		out = least(in, packet, set, lid, table);
		groups->last[groups->of[lid]] = out;
	}
	if (choice)
		*choice = out;
	if (out != table) {
		port->io->moved++;
		if (!leads(port, lid))
			port->io->replaced++;
	}
	return out;
}

/* ---- on and off ------------------------------------------------------------- */

void fab_tables_changed(struct fabric *fabric)
{
	struct fab_adaptive *adaptive = fabric->data ? fabric->data->adaptive : NULL;

	if (!adaptive || adaptive->mode == FAB_ADAPTIVE_OFF)
		return;
	adaptive->works = FAB_ADAPTIVE_OFF;
	adaptive->due = fabric->now + QUIET_NS;
}

u64 fab_adaptive_advance(struct fab_adaptive *adaptive, u64 now)
{
	if (now < adaptive->due)
		return adaptive->due;
	adaptive->due = ~0ull;
	if (fab_groups_make(adaptive))
		adaptive->works = adaptive->mode;
	else
		adaptive->refuse(adaptive);
	return ~0ull;
}

bool fab_adaptive_set(struct fab_adaptive *adaptive, enum fab_adaptive_mode mode)
{
	adaptive->circle_nr = 0;
	if (mode != FAB_ADAPTIVE_OFF && !fab_groups_make(adaptive))
		mode = FAB_ADAPTIVE_OFF;
	adaptive->mode = mode;
	adaptive->works = mode;
	adaptive->due = ~0ull;
	return !adaptive->circle_nr;
}

void fab_adaptive_init(struct fabric *fabric, struct fab_adaptive *adaptive)
{
	adaptive->due = ~0ull;
	/* (it never ends) */
	adaptive->unordered.packets = 1;
	fabric->data->adaptive = adaptive;
}
