// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Fat trees, leaves and spines, tori, meshes, rings, dragonflies. A switch has its hosts at the ports from 1 on. */
#include <ctype.h>
#include <stdlib.h>

#include "shape.h"

#define AXES		3
#define SWITCHES_MAX	20000

/* Switches and their links; hosts come between. */
struct plan {
	struct topology *topo;
	struct fab_node **switches;
	u32 nr;
};

static struct fab_node *add(struct plan *plan, enum fab_type type, const char *name, u32 ports)
{
	struct topo_node *added = topo_add(plan->topo, type, name, ports, 0, 0);

	if (!added)
		return NULL;
	fab_node_init(&plan->topo->fabric, &added->node);
	return &added->node;
}

static void join(struct plan *plan, struct fab_port *a, struct fab_port *b)
{
	fab_join(a, b);
	plan->topo->cables_nr++;
}

/* A switch with hosts at its first ports. Return: false: it would have too many ports. */
static bool add_switch(struct plan *plan, const char *name, u32 ports, u32 hosts)
{
	char host[96];
	struct fab_node *node = add(plan, FAB_SWITCH, name, ports), *end;
	u32 i;

	if (!node) {
		fprintf(stderr, "softhca-fabric: a switch would have %u ports, and 254 are the most\n", ports);
		return false;
	}
	node->sw->is_enhanced = true;
	plan->switches[plan->nr++] = node;
	for (i = 0; i < hosts; i++) {
		snprintf(host, sizeof(host), "%s host %u", name, i);
		end = add(plan, FAB_CA, host, 1);
		if (!end)
			return false;
		join(plan, &node->ports[1 + i], &end->ports[1]);
	}
	return true;
}

/*
 * @k pods, each of k/2 leaves and k/2 switches above them, and (k/2)^2 switches on top: all of
 * k ports, if each leaf has k/2 hosts.
 */
static bool fat_tree(struct plan *plan, const u32 *k_only, u32 axes, u32 hosts)
{
	u32 k = k_only[0], half = k / 2, leaves = k * half, pod, i, j;
	char name[64];

	hosts = hosts ? hosts : half;
	for (i = 0; i < leaves; i++) {
		snprintf(name, sizeof(name), "leaf %u.%u", i / half, i % half);
		if (!add_switch(plan, name, hosts + half, hosts))
			return false;
	}
	for (i = 0; i < leaves; i++) {
		snprintf(name, sizeof(name), "middle %u.%u", i / half, i % half);
		if (!add_switch(plan, name, k, 0))
			return false;
	}
	for (i = 0; i < half * half; i++) {
		snprintf(name, sizeof(name), "top %u", i);
		if (!add_switch(plan, name, k, 0))
			return false;
	}
	for (pod = 0; pod < k; pod++) {
		for (i = 0; i < half; i++) {
			struct fab_node *leaf = plan->switches[pod * half + i];
			struct fab_node *middle = plan->switches[leaves + pod * half + i];

			for (j = 0; j < half; j++) {
				join(plan, &leaf->ports[hosts + 1 + j],
				     &plan->switches[leaves + pod * half + j]->ports[1 + i]);
				join(plan, &middle->ports[half + 1 + j],
				     &plan->switches[2 * leaves + i * half + j]->ports[1 + pod]);
			}
		}
	}
	return true;
}

/* @size[0] leaves, each with a cable to each of @size[1] spines. */
static bool leaf_spine(struct plan *plan, const u32 *size, u32 axes, u32 hosts)
{
	u32 leaves = size[0], spines = size[1], i, j;
	char name[64];

	hosts = hosts ? hosts : spines;
	for (i = 0; i < leaves; i++) {
		snprintf(name, sizeof(name), "leaf %u", i);
		if (!add_switch(plan, name, hosts + spines, hosts))
			return false;
	}
	for (i = 0; i < spines; i++) {
		snprintf(name, sizeof(name), "spine %u", i);
		if (!add_switch(plan, name, leaves, 0))
			return false;
		for (j = 0; j < leaves; j++)
			join(plan, &plan->switches[j]->ports[hosts + 1 + i], &plan->switches[leaves + i]->ports[1 + j]);
	}
	return true;
}

/* A grid of up to three axes. @wraps: its ends are joined. Two ports for each axis. */
static bool grid(struct plan *plan, const u32 *size, u32 axes, u32 hosts, bool wraps, const char *kind)
{
	u32 total = 1, i, axis, step;
	char name[64];

	hosts = hosts ? hosts : 1;
	for (axis = 0; axis < axes; axis++)
		total *= size[axis];
	for (i = 0; i < total; i++) {
		u32 rest = i, len = snprintf(name, sizeof(name), "%s ", kind);

		for (axis = 0; axis < axes; axis++) {
			len += snprintf(name + len, sizeof(name) - len, axis ? ".%u" : "%u", rest % size[axis]);
			rest /= size[axis];
		}
		if (!add_switch(plan, name, hosts + 2 * axes, hosts))
			return false;
	}
	for (i = 0; i < total; i++) {
		for (axis = 0, step = 1; axis < axes; step *= size[axis++]) {
			u32 at = i / step % size[axis], to = i + step;

			/* (of two, there is one cable) */
			if (at == size[axis] - 1) {
				if (!wraps || size[axis] < 3)
					continue;
				to = i - at * step;
			}
			join(plan, &plan->switches[i]->ports[hosts + 1 + 2 * axis],
			     &plan->switches[to]->ports[hosts + 2 + 2 * axis]);
		}
	}
	return true;
}

static bool torus(struct plan *plan, const u32 *size, u32 axes, u32 hosts)
{
	return grid(plan, size, axes, hosts, true, "torus");
}

static bool mesh(struct plan *plan, const u32 *size, u32 axes, u32 hosts)
{
	return grid(plan, size, axes, hosts, false, "mesh");
}

static bool ring(struct plan *plan, const u32 *size, u32 axes, u32 hosts)
{
	return grid(plan, size, axes, hosts, true, "ring");
}

/*
 * Groups of @size[0] switches, all joined with each other; each has @size[1] links to other
 * groups, so that each group has one link to each other one.
 */
static bool dragonfly(struct plan *plan, const u32 *size, u32 axes, u32 hosts)
{
	u32 a = size[0], h = size[1], groups = a * h + 1, i, j, p;
	char name[64];

	hosts = hosts ? hosts : h;
	for (i = 0; i < groups * a; i++) {
		snprintf(name, sizeof(name), "group %u.%u", i / a, i % a);
		if (!add_switch(plan, name, hosts + a - 1 + h, hosts))
			return false;
	}
	for (i = 0; i < groups; i++) {
		struct fab_node **group = plan->switches + i * a;

		for (p = 0; p < a; p++)
			for (j = p + 1; j < a; j++)
				join(plan, &group[p]->ports[hosts + j], &group[j]->ports[hosts + 1 + p]);
		/* Link p of group i ends at group i + p + 1. */
		for (p = 0; i + p + 1 < groups; p++) {
			u32 back = groups - p - 2;

			join(plan, &group[p / h]->ports[hosts + a + p % h],
			     &group[(p + 1) * a + back / h]->ports[hosts + a + back % h]);
		}
	}
	return true;
}

static const struct {
	const char *name;
	const char *form;
	u32 axes_min;
	u32 axes_max;
	u32 least;
	bool (*make)(struct plan *plan, const u32 *size, u32 axes, u32 hosts);
} shapes[] = {
	[SHAPE_FAT_TREE] = { "fat-tree", "an even number from 2", 1, 1, 2, fat_tree },
	[SHAPE_LEAF_SPINE] = { "leaf-spine", "such as 4x2: leaves, spines", 2, 2, 1, leaf_spine },
	[SHAPE_TORUS] = { "torus", "such as 4x4 or 4x4x4, from 2", 2, 3, 2, torus },
	[SHAPE_MESH] = { "mesh", "such as 4x4 or 4x4x4", 2, 3, 1, mesh },
	[SHAPE_RING] = { "ring", "a number from 3", 1, 1, 3, ring },
	[SHAPE_DRAGONFLY] = { "dragonfly", "such as 4x2: switches of a group, links to other groups of each", 2, 2, 1, dragonfly },
};

/* Return: how many numbers there are; 0: something else. */
static u32 parse(const char *text, u32 size[AXES])
{
	u32 axes = 0;
	char *end;

	while (axes < AXES && isdigit((u8)*text)) {
		unsigned long value = strtoul(text, &end, 10);

		if (value > SWITCHES_MAX)
			return 0;
		size[axes++] = value;
		if (!*end)
			return axes;
		if (*end != 'x')
			return 0;
		text = end + 1;
	}
	return 0;
}

/* How many switches there will be. */
static u64 switches_of(enum shape shape, const u32 *size, u32 axes)
{
	u64 total = 1;
	u32 i;

	if (shape == SHAPE_FAT_TREE)
		return (u64)size[0] * size[0] * 5 / 4;
	if (shape == SHAPE_DRAGONFLY)
		return ((u64)size[0] * size[1] + 1) * size[0];
	if (shape == SHAPE_LEAF_SPINE)
		return (u64)size[0] + size[1];
	for (i = 0; i < axes; i++)
		total *= size[i];
	return total;
}

bool shape_make(struct topology *topo, enum shape shape, const char *text, u32 hosts)
{
	struct plan plan = { .topo = topo };
	u32 size[AXES] = { 0 }, axes = parse(text, size), i;
	bool good = axes >= shapes[shape].axes_min && axes <= shapes[shape].axes_max;

	for (i = 0; good && i < axes; i++)
		good = size[i] >= shapes[shape].least;
	if (shape == SHAPE_FAT_TREE && size[0] % 2)
		good = false;
	if (!good || switches_of(shape, size, axes) > SWITCHES_MAX) {
		fprintf(stderr, "softhca-fabric: --%s=%s: wanted is %s, and no more than %u switches\n",
			shapes[shape].name, text, shapes[shape].form, SWITCHES_MAX);
		return false;
	}
	plan.switches = calloc(switches_of(shape, size, axes), sizeof(*plan.switches));
	good = plan.switches && shapes[shape].make(&plan, size, axes, hosts);
	free(plan.switches);
	return good;
}
