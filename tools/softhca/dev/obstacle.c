// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What stands in the way of a device's packets on purpose or by a setting, as far as the kernel
 * tells it. These are rules of fault injection that have hit, netem on the network devices of the
 * way, and a link whose ends have different MTUs. They are certain, so they are told before what
 * only may be, such as a firewall.
 */
#include "obstacle.h"

#include <net/if.h>
#include <stdarg.h>
#include <string.h>

#include <linux/netlink.h>
#include <linux/pkt_sched.h>

#include "../fault/fault_rule.h"
#include "../rtnl.h"

/* Network devices above each other, at most; two ends of a veth are below each other. */
#define MAX_DEPTH	4

/* passes obstacles_of()'s arguments on; @netdev: the device's, then those below it */
struct search {
	const char *device;
	char netdev[IFNAMSIZ];
	void (*each)(const struct obstacle *obstacle, void *arg);
	void *arg;
};

/* ---- rules of fault injection ------------------------------------------------- */

static void look_at_rule(struct nlattr **attrs, void *arg)
{
	struct obstacle obstacle = { .check = "faults" };
	struct nlattr *tb[SHCA_FA_MAX + 1];
	const struct search *search = arg;
	unsigned long long hits;
	char words[200];

	if (!attrs[SHCA_A_FAULT] || !attrs[SHCA_A_DEV_NAME] ||
	    strcmp(nla_get_string(attrs[SHCA_A_DEV_NAME]), search->device) ||
	    nla_parse_nested(tb, SHCA_FA_MAX, attrs[SHCA_A_FAULT], NULL) ||
	    !tb[SHCA_FA_ID] || !tb[SHCA_FA_HITS])
		return;
	hits = nla_get_u64(tb[SHCA_FA_HITS]);
	if (!hits)
		return;
	rule_text(tb, words, sizeof(words));
	snprintf(obstacle.text, sizeof(obstacle.text),
		 "rule %u of fault injection has hit %llu time%s: dev=%.32s %s",
		 nla_get_u32(tb[SHCA_FA_ID]), hits, hits == 1 ? "" : "s", search->device, words);
	snprintf(obstacle.cure, sizeof(obstacle.cure), "softhca fault del %u",
		 nla_get_u32(tb[SHCA_FA_ID]));
	search->each(&obstacle, search->arg);
}

/* ---- netem --------------------------------------------------------------------- */

/* Adds ", loses 20%" */
static void add(char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void add(char *text, size_t size, const char *format, ...)
{
	size_t used = strlen(text);
	va_list args;

	if (used && used < size)
		used += snprintf(text + used, size - used, ", ");
	if (used >= size)
		return;
	va_start(args, format);
	vsnprintf(text + used, size - used, format, args);
	va_end(args);
}

static void look_at_netem(const struct link_netem *netem, void *arg)
{
	struct obstacle obstacle = { .check = "netem" };
	const struct search *search = arg;
	char does[128] = "";

	if (netem->loss > 0)
		add(does, sizeof(does), "loses %.3g%% of the packets", 100 * netem->loss);
	if (netem->model)
		add(does, sizeof(does), "loses packets by a model");
	if (netem->rate)
		add(does, sizeof(does), "limits the rate");
	if (netem->delay > 0)
		add(does, sizeof(does), "delays by %.6g ms", netem->delay / 1e3);
	if (netem->corrupt > 0)
		add(does, sizeof(does), "damages %.3g%%", 100 * netem->corrupt);
	if (netem->duplicate > 0)
		add(does, sizeof(does), "doubles %.3g%%", 100 * netem->duplicate);
	if (netem->reorder > 0)
		add(does, sizeof(does), "lets %.3g%% overtake", 100 * netem->reorder);
	if (!*does)
		return;
	snprintf(obstacle.text, sizeof(obstacle.text), "netem on %s %s", search->netdev, does);
	if (netem->parent == TC_H_ROOT)
		snprintf(obstacle.cure, sizeof(obstacle.cure), "tc qdisc del dev %s root",
			 search->netdev);
	else
		snprintf(obstacle.cure, sizeof(obstacle.cure), "tc qdisc del dev %s parent %x:%x",
			 search->netdev, netem->parent >> 16, netem->parent & 0xffff);
	search->each(&obstacle, search->arg);
}

/* ---- the way ------------------------------------------------------------------- */

/* The other end of a veth in another namespace, of which only this is told */
static void look_at_other_netem(const struct search *search, const struct link_info *here,
				const struct link_info *there)
{
	struct obstacle obstacle = { .check = "netem" };

	if (strcmp(there->qdisc, "netem"))
		return;
	snprintf(obstacle.text, sizeof(obstacle.text), "netem is on %s, the other end of %s",
		 there->name, here->name);
	snprintf(obstacle.cure, sizeof(obstacle.cure),
		 "'tc qdisc del dev %s root' in its network namespace", there->name);
	search->each(&obstacle, search->arg);
}

static void compare_mtus(const struct search *search, const struct link_info *here,
			 const struct link_info *there)
{
	struct obstacle obstacle = { .check = "mtu" };

	if (here->mtu == there->mtu)
		return;
	snprintf(obstacle.text, sizeof(obstacle.text),
		 "the MTU of %s is %u, and that of its other end %s is %u: larger packets are lost",
		 here->name, here->mtu, there->name, there->mtu);
	snprintf(obstacle.cure, sizeof(obstacle.cure), "ip link set dev %s mtu %u", here->name,
		 there->mtu);
	search->each(&obstacle, search->arg);
}

static void look_at_way(struct search *search)
{
	int index = if_nametoindex(search->netdev), first = index, depth;
	struct link_info here, there;

	for (depth = 0; index && depth < MAX_DEPTH; depth++) {
		if (link_read(index, -1, &here))
			return;
		snprintf(search->netdev, sizeof(search->netdev), "%s", here.name);
		link_netem(index, look_at_netem, search);
		/* (in another namespace it may have the same number) */
		if (!here.lower || (here.lower_netns < 0 && here.lower == index))
			return;
		if (link_read(here.lower, here.lower_netns, &there))
			return;
		if (here.lower_netns >= 0)
			look_at_other_netem(search, &here, &there);
		if (here.lower_netns < 0 && here.lower == first)
			return;
		/* (in one namespace: the two ends of a veth name each other) */
		if (there.lower == index)
			compare_mtus(search, &here, &there);
		if (here.lower_netns >= 0)
			return;
		index = here.lower;
	}
}

static void take_netdev(const char *name, const char *netdev, void *arg)
{
	struct search *search = arg;

	if (!strcmp(name, search->device))
		snprintf(search->netdev, sizeof(search->netdev), "%s", netdev);
}

void obstacles_of(const char *device, void (*each)(const struct obstacle *obstacle, void *arg),
		  void *arg)
{
	struct search search = { .device = device, .each = each, .arg = arg };

	if (genl_open(true))
		return;
	device_netdevs(take_netdev, &search);
	genl_send(genl_request(SHCA_CMD_FAULT_GET, NLM_F_DUMP), NULL, look_at_rule, &search);
	if (*search.netdev)
		look_at_way(&search);
}
