// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Groups of ports for adaptive routing, and whether packets can wait for themselves in a circle.
 *
 * A port is in the group of a LID if the switch behind it has fewer hops to the LID by its own
 * table. So each hop leads nearer, whatever a switch chooses. A packet in the buffer of an input
 * waits for an output, which waits for the buffer at its other end. If these dependencies have
 * no circle, there is no deadlock (Dally and Seitz, 1987). Lanes are taken as one. Ways begin at
 * switches with hosts and end at real ports: simulated hosts take what comes, and datagrams
 * between switches have the lane of their own.
 */
#include "data_internal.h"

#define NO_WAY			(~0u)

/* The port by which a switch sends a LID by its forwarding table. Return: NULL: none. */
static struct fab_port *table_port(const struct fab_node *node, u16 lid)
{
	u8 out = fab_lft_get(node->sw, lid);

	return lid <= node->sw->lft_top && out <= node->ports_nr ? &node->ports[out] : NULL;
}

/* The switch at the other end of a port's cable, or NULL. */
static struct fab_node *switch_behind(const struct fab_port *out)
{
	return out && out->peer && out->peer->node->sw ? out->peer->node : NULL;
}

const u64 *fab_group(const struct fab_node *node, u16 lid, u64 *one)
{
	const struct fab_groups *groups = node->sw->groups;
	const struct fab_port *out;

	if (groups->of[lid])
		return groups->set[groups->of[lid]];
	memset(one, 0, FAB_SET_WORDS * sizeof(*one));
	out = table_port(node, lid);
	if (out)
		fab_set_add(one, out->number);
	return one;
}

/* ---- groups ----------------------------------------------------------------- */

/* Hops of a switch and of those on its path. */
static void count_hops(const struct fab_adaptive *adaptive, struct fab_node *from, u16 lid)
{
	struct fab_node *node = from;
	u32 steps = 0, hops;

	/* (tables may lead round in a circle) */
	while (node && node->sw->groups->hops == NO_WAY && steps <= adaptive->switches_nr) {
		node = switch_behind(table_port(node, lid));
		steps++;
	}
	if (!node || node->sw->groups->hops == NO_WAY)
		return;
	hops = node->sw->groups->hops + steps;
	for (node = from; steps; steps--) {
		node->sw->groups->hops = hops--;
		node = switch_behind(table_port(node, lid));
	}
}

/* Return: number of the group; 0: there is no room for one more. */
static u8 add_group(struct fab_groups *groups, const u64 *set)
{
	u32 i;

	for (i = 1; i < groups->nr; i++)
		if (!memcmp(groups->set[i], set, sizeof(groups->set[i])))
			return i;
	if (groups->nr == FAB_GROUPS)
		return 0;
	memcpy(groups->set[i], set, sizeof(groups->set[i]));
	groups->nr++;
	return i;
}

static void make_group(struct fab_node *node, u16 lid)
{
	struct fab_groups *groups = node->sw->groups;
	u64 set[FAB_SET_WORDS] = { 0 };
	u32 i, ports = 0;

	if (groups->hops == NO_WAY)
		return;
	for (i = 1; i <= node->ports_nr; i++) {
		const struct fab_node *behind = switch_behind(&node->ports[i]);

		if (behind && behind->sw->groups->hops < groups->hops) {
			fab_set_add(set, i);
			ports++;
		}
	}
	if (ports > 1)
		groups->of[lid] = add_group(groups, set);
}

/* ---- turns ------------------------------------------------------------------ */

static struct fab_turns *turns_of(const struct fab_port *in)
{
	return &in->node->sw->groups->turns[in->number];
}

static void see(struct fab_node *node, struct fab_node **list)
{
	struct fab_groups *groups = node->sw->groups;

	if (groups->is_seen)
		return;
	groups->is_seen = true;
	groups->next = *list;
	*list = node;
}

/* Go all ways from hosts to a LID. */
static void add_turns(struct fab_adaptive *adaptive, u16 lid)
{
	u64 one[FAB_SET_WORDS], behind[FAB_SET_WORDS];
	struct fab_node *node, *list = NULL;
	const u64 *set, *turns;
	u32 i, word;

	for (i = 0; i < adaptive->switches_nr; i++)
		adaptive->switches[i]->sw->groups->is_seen = false;
	for (i = 0; i < adaptive->switches_nr; i++)
		if (adaptive->switches[i]->sw->groups->has_hosts)
			see(adaptive->switches[i], &list);
	while ((node = list)) {
		list = node->sw->groups->next;
		set = fab_group(node, lid, one);
		for (i = fab_set_next(set, 0); i < FAB_SET_END; i = fab_set_next(set, i + 1)) {
			struct fab_node *next = switch_behind(&node->ports[i]);

			if (!next)
				continue;
			turns = fab_group(next, lid, behind);
			for (word = 0; word < FAB_SET_WORDS; word++)
				turns_of(node->ports[i].peer)->to[word] |= turns[word];
			see(next, &list);
		}
	}
}

static void make_lid(struct fab_adaptive *adaptive, struct fab_node *leaf, u16 lid)
{
	u32 i;

	for (i = 0; i < adaptive->switches_nr; i++)
		adaptive->switches[i]->sw->groups->hops = NO_WAY;
	leaf->sw->groups->hops = 0;
	for (i = 0; i < adaptive->switches_nr; i++)
		count_hops(adaptive, adaptive->switches[i], lid);
	for (i = 0; i < adaptive->switches_nr; i++)
		make_group(adaptive->switches[i], lid);
	add_turns(adaptive, lid);
}

/* ---- circles ---------------------------------------------------------------- */

/* The last port of the way leads back to @first. */
static void keep_circle(struct fab_adaptive *adaptive, struct fab_port *last, const struct fab_port *first)
{
	struct fab_port *in = last;

	for (;;) {
		if (adaptive->circle_nr < FAB_CIRCLE_PORTS)
			adaptive->circle[adaptive->circle_nr] = in->peer;
		adaptive->circle_nr++;
		if (in == first)
			return;
		in = turns_of(in)->from;
	}
}

/* Look at all ways from a port that were not looked at yet. */
static void look_from(struct fab_adaptive *adaptive, struct fab_port *first)
{
	struct fab_port *in = first, *next;
	struct fab_turns *turns;
	u32 out;

	turns_of(in)->is_open = true;
	while (in && !adaptive->circle_nr) {
		turns = turns_of(in);
		out = fab_set_next(turns->to, turns->at);
		if (out == FAB_SET_END) {
			turns->is_open = false;
			in = turns->from;
			continue;
		}
		turns->at = out + 1;
		if (!switch_behind(&in->node->ports[out]))
			continue;
		next = in->node->ports[out].peer;
		if (turns_of(next)->is_open) {
			keep_circle(adaptive, in, next);
		} else {
			turns_of(next)->is_open = true;
			turns_of(next)->from = in;
			in = next;
		}
	}
}

static void look_for_circles(struct fab_adaptive *adaptive)
{
	u32 i, j;

	for (i = 0; i < adaptive->switches_nr; i++)
		for (j = 1; j <= adaptive->switches[i]->ports_nr; j++)
			if (!adaptive->circle_nr)
				look_from(adaptive, &adaptive->switches[i]->ports[j]);
}

/* ---- all of it -------------------------------------------------------------- */

static void clear(struct fab_node *node)
{
	struct fab_groups *groups = node->sw->groups;
	u32 i;

	memset(groups->of, 0, sizeof(groups->of));
	memset(groups->turns, 0, (node->ports_nr + 1) * sizeof(*groups->turns));
	groups->nr = 1;
	groups->has_hosts = false;
	for (i = 1; i <= node->ports_nr; i++)
		if (node->ports[i].edge || (node->ports[i].peer && !node->ports[i].peer->node->sw))
			groups->has_hosts = true;
}

bool fab_groups_make(struct fab_adaptive *adaptive)
{
	const struct fab_data *data = adaptive->switches[0]->fabric->data;
	u32 i, lid;

	for (i = 0; i < adaptive->switches_nr; i++)
		clear(adaptive->switches[i]);
	for (i = 0; i < data->edges_nr; i++) {
		struct fab_port *edge = data->edges[i]->port;

		for (lid = 1; lid <= edge->node->sw->lft_top; lid++)
			if (table_port(edge->node, lid) == edge)
				make_lid(adaptive, edge->node, lid);
	}
	adaptive->circle_nr = 0;
	look_for_circles(adaptive);
	return !adaptive->circle_nr;
}
