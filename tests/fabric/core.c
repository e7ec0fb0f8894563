// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The core of the fabric by itself, under sanitizers: rows of the IBTA's tables, and a fuzzer of
 * management datagrams. Prints "ok NAME" or "not ok NAME # why" for each test.
 *
 *	core [DATAGRAMS [SEED]]
 */
#include <stdio.h>
#include <stdlib.h>

#include "../../fabric/core/agent.h"

#define SWITCHES	3
#define HOSTS		3
#define PORTS		6
#define SECOND		1000000000ull

/* Switches in a row (port 2 to port 1 of the next), a host at port 3 of each, ports 5 and 6 of the first are joined. */
struct world {
	struct fabric fabric;
	struct fab_node node[SWITCHES + HOSTS];
	u8 *mad;
	u64 now;
};

static const char *failed;
static u32 failed_line;
static u64 failed_is, failed_wanted;

#define CHECK(is, wanted)	check((is), (wanted), #is, __LINE__)

static void check(u64 is, u64 wanted, const char *what, u32 line)
{
	if (is == wanted || failed)
		return;
	failed = what;
	failed_line = line;
	failed_is = is;
	failed_wanted = wanted;
}

static void *zeros(size_t bytes)
{
	void *memory = calloc(1, bytes);

	if (!memory)
		exit(2);
	return memory;
}

static struct fab_port *switch_port(struct world *w, u32 number, u32 port)
{
	return &w->node[number].ports[port];
}

static struct fab_port *host(struct world *w, u32 number)
{
	return &w->node[SWITCHES + number].ports[1];
}

static struct world *begin(void)
{
	struct world *w = zeros(sizeof(*w));
	u32 i, j;

	/* (as long as it may be: what is read or written beyond is found) */
	w->mad = zeros(FAB_MAD_BYTES);
	w->now = SECOND;
	for (i = 0; i < SWITCHES + HOSTS; i++) {
		struct fab_node *node = &w->node[i];

		node->type = i < SWITCHES ? FAB_SWITCH : FAB_CA;
		node->ports_nr = i < SWITCHES ? PORTS : 2;
		node->guid = 0x100 * (i + 1);
		node->ports = zeros((node->ports_nr + 1) * sizeof(*node->ports));
		if (i < SWITCHES) {
			node->sw = zeros(sizeof(*node->sw));
			node->sw->lft = zeros(FAB_LFT_ENTRIES);
			node->sw->mft = zeros(fab_mft_bytes(PORTS));
			node->sw->sl2vl = zeros(fab_sl2vl_bytes(PORTS));
		}
		for (j = 0; j <= node->ports_nr; j++) {
			node->ports[j].guid = node->guid + (i < SWITCHES ? 0 : j);
			node->ports[j].supported = (struct fab_rate){ .width = 3, .speed = 7, .ext = 3 };
		}
		fab_node_init(&w->fabric, node);
	}
	for (i = 0; i < SWITCHES; i++) {
		fab_join(switch_port(w, i, 3), host(w, i));
		if (i)
			fab_join(switch_port(w, i - 1, 2), switch_port(w, i, 1));
	}
	fab_join(switch_port(w, 0, 5), switch_port(w, 0, 6));
	return w;
}

static void end(struct world *w)
{
	u32 i;

	for (i = 0; i < SWITCHES + HOSTS; i++) {
		if (w->node[i].sw) {
			free(w->node[i].sw->lft);
			free(w->node[i].sw->mft);
			free(w->node[i].sw->sl2vl);
		}
		free(w->node[i].sw);
		free(w->node[i].ports);
	}
	free(w->mad);
	free(w);
}

/* LIDs 1 to 3 are switches, 11 to 13 hosts; all is Active, and routed. */
static void set_up(struct world *w)
{
	u32 i, j, k;

	for (i = 0; i < SWITCHES; i++) {
		struct fab_switch *sw = w->node[i].sw;

		sw->lft_top = 20;
		sw->changed = false;
		switch_port(w, i, 0)->end.lid = 1 + i;
		switch_port(w, i, 0)->end.sm_lid = 11;
		host(w, i)->end.lid = 11 + i;
		host(w, i)->end.sm_lid = 11;
		host(w, i)->state = SHCA_IB_STATE_ACTIVE;
		for (j = 0; j < SWITCHES; j++) {
			u8 out = j < i ? 1 : 2;

			sw->lft[1 + j] = (j == i ? 0 : out) + 1;
			sw->lft[11 + j] = (j == i ? 3 : out) + 1;
		}
		for (k = 1; k <= PORTS; k++)
			if (switch_port(w, i, k)->peer)
				switch_port(w, i, k)->state = SHCA_IB_STATE_ACTIVE;
	}
}

static void request(struct world *w, u8 class, u8 method, u16 attr, u32 mod)
{
	memset(w->mad, 0, FAB_MAD_BYTES);
	w->mad[MAD_BASE_VERSION] = 1;
	w->mad[MAD_CLASS] = class;
	w->mad[MAD_CLASS_VERSION] = 1;
	w->mad[MAD_METHOD] = method;
	put_be64(w->mad + MAD_TID, 0x1122334455667788ull);
	put_be16(w->mad + MAD_ATTR, attr);
	put_be32(w->mad + MAD_ATTR_MOD, mod);
	put_be16(w->mad + SMP_SLID, FAB_LID_PERMISSIVE);
	put_be16(w->mad + SMP_DR_DLID, FAB_LID_PERMISSIVE);
}

/* From a host; @lid is not looked at by a directed one. */
static enum fab_verdict send(struct world *w, u32 from, u16 lid)
{
	bool directed = w->mad[MAD_CLASS] == CLASS_DIRECTED;
	struct fab_mad mad = {
		.data = w->mad,
		.slid = directed ? FAB_LID_PERMISSIVE : host(w, from)->end.lid,
		.dlid = directed ? FAB_LID_PERMISSIVE : lid,
	};

	return fab_send(host(w, from), &mad, w->now);
}

static void directed(struct world *w, u8 method, u16 attr, u32 mod, u32 hops, const u8 *path)
{
	request(w, CLASS_DIRECTED, method, attr, mod);
	w->mad[SMP_HOPS] = hops;
	memcpy(w->mad + SMP_PATH + 1, path, hops);
}

static u32 status(const struct world *w)
{
	return get_be16(w->mad + MAD_STATUS);
}

/* ---- ways ------------------------------------------------------------------- */

static void directed_paths(void)
{
	static const struct {
		u8 hops;
		u8 path[5];
		bool answered;
		u8 node;
		u8 by;
	} rows[] = {
		{ 0, { 0 }, true, SWITCHES, 1 },		/* the own agent */
		{ 1, { 1 }, true, 0, 3 },
		{ 2, { 1, 2 }, true, 1, 1 },
		{ 3, { 1, 2, 2 }, true, 2, 1 },
		{ 4, { 1, 2, 2, 3 }, true, SWITCHES + 2, 1 },
		{ 2, { 1, 3 }, true, SWITCHES, 1 },		/* back to the sender */
		{ 2, { 1, 5 }, true, 0, 6 },			/* a cable of a switch to itself */
		{ 1, { 2 }, false },				/* not the port of the program */
		{ 1, { 0 }, false },
		{ 2, { 1, 0 }, false },
		{ 2, { 1, 4 }, false },				/* no cable */
		{ 2, { 1, 7 }, false },				/* no such port */
		{ 2, { 1, 255 }, false },
		{ 3, { 1, 3, 1 }, false },			/* a host passes nothing on */
	};
	struct world *w = begin();
	u32 i, discards;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		discards = switch_port(w, 0, 4)->counters.error[FAB_ERR_DISCARD];
		directed(w, METHOD_GET, ATTR_NODE_INFO, 0, rows[i].hops, rows[i].path);
		CHECK(send(w, 0, 0), rows[i].answered ? FAB_ANSWERED : FAB_DROPPED);
		CHECK(switch_port(w, 0, 4)->counters.error[FAB_ERR_DISCARD] - discards,
		      rows[i].hops == 2 && rows[i].path[1] == 4);
		if (!rows[i].answered)
			continue;
		CHECK(status(w), STATUS_RETURNS);
		CHECK(w->mad[MAD_METHOD], 0x81);
		CHECK(w->mad[SMP_POINTER], 0);
		CHECK(get_be64(w->mad + SMP_DATA + 12), w->node[rows[i].node].guid);
		CHECK(w->mad[SMP_DATA + 36], rows[i].by);
		if (rows[i].hops)
			CHECK(w->mad[SMP_RETURN + rows[i].hops], rows[i].by);
	}
	/* The agent of the sender begins; the way is 63 hops at most; no part is LID-routed. */
	directed(w, METHOD_GET, ATTR_NODE_INFO, 0, 1, rows[1].path);
	w->mad[SMP_POINTER] = 1;
	CHECK(send(w, 0, 0), FAB_DROPPED);
	directed(w, METHOD_GET, ATTR_NODE_INFO, 0, 0, rows[1].path);
	w->mad[SMP_HOPS] = 64;
	CHECK(send(w, 0, 0), FAB_DROPPED);
	directed(w, METHOD_GET, ATTR_NODE_INFO, 0, 1, rows[1].path);
	put_be16(w->mad + SMP_SLID, 1);
	CHECK(send(w, 0, 0), FAB_DROPPED);
	end(w);
}

/* A manager at another host gets SMInfo, and its answer finds the way back. */
static void directed_to_a_manager(void)
{
	static const u8 path[] = { 1, 2, 3 };
	struct world *w = begin();
	struct fab_mad mad = { .data = w->mad, .slid = FAB_LID_PERMISSIVE, .dlid = FAB_LID_PERMISSIVE };

	directed(w, METHOD_GET, ATTR_SM_INFO, 0, 3, path);
	CHECK(fab_send(host(w, 0), &mad, w->now), FAB_ARRIVED);
	CHECK(mad.to == host(w, 1), true);
	w->mad[MAD_METHOD] = 0x81;
	put_be16(w->mad + MAD_STATUS, STATUS_RETURNS);
	CHECK(fab_send(host(w, 1), &mad, w->now), FAB_ARRIVED);
	CHECK(mad.to == host(w, 0), true);
	end(w);
}

static void tables(void)
{
	struct world *w = begin();
	u32 i;

	/* Nobody has a LID. */
	request(w, CLASS_LID_ROUTED, METHOD_GET, ATTR_NODE_INFO, 0);
	CHECK(send(w, 0, 1), FAB_DROPPED);
	set_up(w);
	for (i = 0; i < SWITCHES + HOSTS; i++) {
		request(w, CLASS_LID_ROUTED, METHOD_GET, ATTR_NODE_INFO, 0);
		CHECK(send(w, 0, i < SWITCHES ? 1 + i : 11 + i - SWITCHES), FAB_ANSWERED);
		CHECK(get_be64(w->mad + SMP_DATA + 12), w->node[i].guid);
	}
	/* LMC 2: four LIDs, of which the table has to know. */
	host(w, 2)->end.lid = 12;
	host(w, 2)->end.lmc = 2;
	host(w, 1)->end.lid = 16;
	for (i = 0; i < SWITCHES; i++)
		memset(w->node[i].sw->lft + 12, i < 2 ? 2 + 1 : 3 + 1, 4);
	for (i = 11; i <= 16; i++) {
		request(w, CLASS_LID_ROUTED, METHOD_GET, ATTR_NODE_INFO, 0);
		CHECK(send(w, 0, i), i < 16 ? FAB_ANSWERED : FAB_DROPPED);
	}
	end(w);
}

static void drops(void)
{
	struct world *w = begin();
	struct fab_port *in, *out;

	set_up(w);
	in = switch_port(w, 0, 3);
	/* none; beyond LinearFDBTop; no such port; 0, multicast and permissive are no destination */
	request(w, CLASS_PERF, METHOD_GET, 1, 0);
	CHECK(send(w, 0, 15), FAB_DROPPED);
	CHECK(send(w, 0, 21), FAB_DROPPED);
	w->node[0].sw->lft[14] = 7 + 1;
	CHECK(send(w, 0, 14), FAB_DROPPED);
	CHECK(in->counters.error[FAB_ERR_RELAY], 3);
	CHECK(in->counters.detail[FAB_DETAIL_DLID], 3);
	CHECK(send(w, 0, 0), FAB_DROPPED);
	CHECK(send(w, 0, 0xc000), FAB_DROPPED);
	CHECK(send(w, 0, 0xffff), FAB_DROPPED);
	CHECK(in->counters.error[FAB_ERR_RELAY], 3);
	/* out by the port that it came in */
	w->node[0].sw->lft[14] = 3 + 1;
	CHECK(send(w, 0, 14), FAB_DROPPED);
	CHECK(in->counters.detail[FAB_DETAIL_LOOP], 1);
	/* two switches send it to each other for ever */
	w->node[0].sw->lft[14] = 2 + 1;
	w->node[1].sw->lft[14] = 2 + 1;
	w->node[2].sw->lft[14] = 1 + 1;
	CHECK(send(w, 0, 14), FAB_DROPPED);
	/* to a node that does not have the LID */
	w->node[0].sw->lft[14] = 0 + 1;
	CHECK(send(w, 0, 14), FAB_DROPPED);
	/* all but subnet management needs a link that is Active, to a port that is Armed */
	out = switch_port(w, 0, 2);
	CHECK(send(w, 0, 12), FAB_ANSWERED);
	out->state = SHCA_IB_STATE_ARMED;
	request(w, CLASS_PERF, METHOD_GET, 1, 0);
	CHECK(send(w, 0, 12), FAB_DROPPED);
	CHECK(out->counters.error[FAB_ERR_DISCARD], 1);
	CHECK(out->counters.detail[FAB_DETAIL_INACTIVE], 1);
	request(w, CLASS_LID_ROUTED, METHOD_GET, ATTR_NODE_INFO, 0);
	CHECK(send(w, 0, 12), FAB_ANSWERED);
	out->state = SHCA_IB_STATE_ACTIVE;
	out->peer->state = SHCA_IB_STATE_INIT;
	request(w, CLASS_PERF, METHOD_GET, 1, 0);
	CHECK(send(w, 0, 12), FAB_DROPPED);
	/* no agent, so there is no answer that could be lost */
	request(w, CLASS_SA, METHOD_GET, 1, 0);
	CHECK(send(w, 0, 12), FAB_DROPPED);
	out->peer->state = SHCA_IB_STATE_ARMED;
	CHECK(send(w, 0, 12), FAB_ARRIVED);
	CHECK(send(w, 0, 11), FAB_ARRIVED);
	end(w);
}

/* ---- attributes ------------------------------------------------------------- */

/* Return: the status of a Get or Set at the first switch. */
static u32 ask(struct world *w, u8 method, u16 attr, u32 mod, const u8 *data)
{
	static const u8 path[] = { 1 };

	directed(w, method, attr, mod, 1, path);
	if (data)
		memcpy(w->mad + SMP_DATA, data, SMP_DATA_BYTES);
	if (send(w, 0, 0) != FAB_ANSWERED)
		return ~0u;
	return status(w) & 0x7fff;
}

static void attributes(void)
{
	static const struct {
		u16 attr;
		u32 mod;
		u32 get;
		u32 set;
	} rows[] = {
		{ ATTR_NODE_DESC, 0, 0, STATUS_METHOD },
		{ ATTR_NODE_INFO, 0, 0, STATUS_METHOD },
		{ ATTR_SWITCH_INFO, 0, 0, 0 },
		{ ATTR_GUID_INFO, 0, 0, STATUS_METHOD },
		{ ATTR_GUID_INFO, 1, STATUS_FIELD, STATUS_METHOD },
		{ ATTR_PORT_INFO, 6, 0, 0 },
		{ ATTR_PORT_INFO, 0x80000006, 0, 0 },
		{ ATTR_PORT_INFO, 7, STATUS_FIELD, STATUS_FIELD },
		{ ATTR_PORT_INFO, 0x106, STATUS_FIELD, STATUS_FIELD },
		{ ATTR_PKEY_TABLE, 0x60000, 0, 0 },
		{ ATTR_PKEY_TABLE, 0x70000, STATUS_FIELD, STATUS_FIELD },
		{ ATTR_PKEY_TABLE, 1, STATUS_FIELD, STATUS_FIELD },
		{ ATTR_SL_TO_VL, 0x0606, 0, 0 },
		{ ATTR_SL_TO_VL, 0x0607, STATUS_FIELD, STATUS_FIELD },
		{ ATTR_SL_TO_VL, 0x0706, STATUS_FIELD, STATUS_FIELD },
		{ ATTR_SL_TO_VL, 0x20001, STATUS_FIELD, STATUS_FIELD },	/* OptimizedSLtoVLMapping is 0 */
		{ ATTR_VL_ARB, 0x10006, 0, 0 },
		{ ATTR_VL_ARB, 0x30000, 0, 0 },
		{ ATTR_VL_ARB, 0x20001, STATUS_FIELD, STATUS_FIELD },
		{ ATTR_VL_ARB, 0x10007, STATUS_FIELD, STATUS_FIELD },
		{ ATTR_LFT, 767, 0, 0 },
		{ ATTR_LFT, 768, STATUS_FIELD, STATUS_FIELD },
		{ ATTR_MFT, 31, 0, 0 },
		{ ATTR_MFT, 32, STATUS_FIELD, STATUS_FIELD },
		{ ATTR_MFT, 0x10000000, STATUS_FIELD, STATUS_FIELD },
		{ ATTR_NOTICE, 0, 0, 0 },
		{ ATTR_VENDOR_PORT_INFO, 1, 0, 0 },
		{ ATTR_VENDOR_PORT_INFO, 7, STATUS_FIELD, STATUS_FIELD },
		{ 0x7777, 0, STATUS_ATTR, STATUS_ATTR },
	};
	static const u8 none[SMP_DATA_BYTES];
	struct world *w = begin();
	u8 data[SMP_DATA_BYTES];
	u32 i, j;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CHECK(ask(w, METHOD_GET, rows[i].attr, rows[i].mod, NULL), rows[i].get);
		CHECK(ask(w, METHOD_SET, rows[i].attr, rows[i].mod, none), rows[i].set);
	}
	/* What is set is read, from each table in each place. */
	for (i = 0; i < 4; i++) {
		static const struct {
			u16 attr;
			u32 step;
			u32 bytes;
		} sets[] = {
			{ ATTR_LFT, 255, 64 }, { ATTR_MFT, 10, 64 }, { ATTR_SL_TO_VL, 0x201, 8 },
			{ ATTR_PKEY_TABLE, 0x20000, 64 },
		};

		for (j = 0; j < 4; j++) {
			memset(data, 0x11 * j + i, sizeof(data));
			CHECK(ask(w, METHOD_SET, sets[i].attr, j * sets[i].step, data), 0);
		}
		for (j = 0; j < 4; j++) {
			memset(data, 0x11 * j + i, sizeof(data));
			CHECK(ask(w, METHOD_GET, sets[i].attr, j * sets[i].step, NULL), 0);
			CHECK(memcmp(w->mad + SMP_DATA, data, sets[i].bytes), 0);
		}
	}
	/* Before it is set: no port; lanes in turn. */
	CHECK(ask(w, METHOD_GET, ATTR_LFT, 1, NULL), 0);
	CHECK(w->mad[SMP_DATA], 255);
	CHECK(ask(w, METHOD_GET, ATTR_SL_TO_VL, 0x0105, NULL), 0);
	CHECK(get_be64(w->mad + SMP_DATA), 0x0123456701234567ull);
	end(w);
}

static void states(void)
{
	struct world *w = begin();
	struct fab_port *a = switch_port(w, 0, 2), *b = switch_port(w, 1, 1);
	u8 data[SMP_DATA_BYTES];

	CHECK(ask(w, METHOD_GET, ATTR_PORT_INFO, 2, NULL), 0);
	memcpy(data, w->mad + SMP_DATA, sizeof(data));
	CHECK(data[28], 3);
	CHECK(data[32] & 0xf, SHCA_IB_STATE_INIT);
	CHECK(data[33] >> 4, SHCA_IB_PHYS_LINK_UP);
	/* PortStateChange, until it is cleared */
	CHECK(a->node->sw->changed && b->node->sw->changed, true);
	a->node->sw->changed = false;
	b->node->sw->changed = false;
	data[33] = 0x02;
	data[32] = SHCA_IB_STATE_ACTIVE;
	CHECK(ask(w, METHOD_SET, ATTR_PORT_INFO, 2, data), STATUS_FIELD);
	data[32] = SHCA_IB_STATE_ARMED;
	CHECK(ask(w, METHOD_SET, ATTR_PORT_INFO, 2, data), 0);
	data[32] = SHCA_IB_STATE_ACTIVE;
	CHECK(ask(w, METHOD_SET, ATTR_PORT_INFO, 2, data), 0);
	CHECK(a->state, SHCA_IB_STATE_ACTIVE);
	CHECK(b->state, SHCA_IB_STATE_INIT);
	/* Down: trained anew at both ends, and only the other switch reports it */
	data[32] = SHCA_IB_STATE_DOWN;
	CHECK(ask(w, METHOD_SET, ATTR_PORT_INFO, 2, data), 0);
	CHECK(a->state, SHCA_IB_STATE_INIT);
	CHECK(a->node->sw->changed, false);
	CHECK(b->node->sw->changed, true);
	/* disabled until somebody enables it */
	data[32] = SHCA_IB_STATE_DOWN;
	data[33] = SHCA_IB_PHYS_DISABLED << 4 | 2;
	CHECK(ask(w, METHOD_SET, ATTR_PORT_INFO, 2, data), 0);
	CHECK(a->phys, SHCA_IB_PHYS_DISABLED);
	CHECK(b->phys, SHCA_IB_PHYS_POLLING);
	CHECK(a->state, SHCA_IB_STATE_DOWN);
	CHECK(b->state, SHCA_IB_STATE_DOWN);
	fab_link(b, SHCA_IB_PHYS_LINK_UP, true);
	CHECK(a->phys, SHCA_IB_PHYS_DISABLED);
	CHECK(b->phys, SHCA_IB_PHYS_POLLING);
	data[33] = SHCA_IB_PHYS_POLLING << 4 | 2;
	CHECK(ask(w, METHOD_SET, ATTR_PORT_INFO, 2, data), 0);
	CHECK(a->state, SHCA_IB_STATE_INIT);
	CHECK(b->phys, SHCA_IB_PHYS_LINK_UP);
	/* What no port can have is refused. */
	data[36] = (MTU_CAP + 1) << 4;
	CHECK(ask(w, METHOD_SET, ATTR_PORT_INFO, 2, data), STATUS_FIELD);
	data[36] = MTU_CAP << 4;
	put_be16(data + 16, LID_MCAST);
	CHECK(ask(w, METHOD_SET, ATTR_PORT_INFO, 0, data), STATUS_FIELD);
	put_be16(data + 16, LID_MCAST - 1);
	put_be16(data + 18, LID_MCAST);
	CHECK(ask(w, METHOD_SET, ATTR_PORT_INFO, 0, data), STATUS_FIELD);
	put_be16(data + 18, 1);
	/* Port 0 stays as it is. */
	data[32] = SHCA_IB_STATE_DOWN;
	CHECK(ask(w, METHOD_SET, ATTR_PORT_INFO, 0, data), 0);
	CHECK(switch_port(w, 0, 0)->state, SHCA_IB_STATE_ACTIVE);
	end(w);
}

static void keys(void)
{
	struct world *w = begin();
	struct fab_end *end_port = &switch_port(w, 0, 0)->end;

	set_up(w);
	end_port->mkey.key = 7;
	end_port->mkey.prot = 1;
	CHECK(ask(w, METHOD_GET, ATTR_PORT_INFO, 0, NULL), 0);
	CHECK(get_be64(w->mad + SMP_DATA), 0);	/* who has not the key does not see it */
	CHECK(ask(w, METHOD_SET, ATTR_LFT, 0, NULL), ~0u);
	CHECK(end_port->mkey.violations, 1);
	CHECK(w->fabric.waiting == &w->node[0], true);
	end_port->mkey.prot = 2;
	end_port->mkey.lease = 3;
	CHECK(ask(w, METHOD_GET, ATTR_LFT, 0, NULL), ~0u);
	w->now += 3 * SECOND;
	CHECK(ask(w, METHOD_GET, ATTR_LFT, 0, NULL), 0);
	end(w);
}

static void traps(void)
{
	struct world *w = begin();
	struct fab_mad mad = { .data = w->mad };

	CHECK(fab_trap_deadline(&w->fabric), ~0ull);
	set_up(w);
	fab_link(switch_port(w, 2, 1), SHCA_IB_PHYS_POLLING, true);
	/* the second switch reports it, the third one was told */
	CHECK(fab_trap_next(&w->fabric, &mad, w->now), true);
	CHECK(mad.to == host(w, 0), true);
	CHECK(mad.slid, 2);
	CHECK(mad.dlid, 11);
	CHECK(w->mad[MAD_METHOD], METHOD_TRAP);
	CHECK(get_be16(w->mad + SMP_DATA + 4), 128);
	CHECK(fab_trap_next(&w->fabric, &mad, w->now), false);
	/* again, until it is repressed */
	w->now = fab_trap_deadline(&w->fabric);
	CHECK(fab_trap_next(&w->fabric, &mad, w->now), true);
	w->mad[MAD_METHOD] = METHOD_TRAP_REPRESS;
	CHECK(send(w, 0, 2), FAB_CONSUMED);
	w->now += 100 * SECOND;
	CHECK(fab_trap_next(&w->fabric, &mad, w->now), false);
	CHECK(fab_trap_deadline(&w->fabric), ~0ull);
	/* Of several nodes, each once, whichever ends first. */
	fab_link(switch_port(w, 2, 1), SHCA_IB_PHYS_LINK_UP, false);
	CHECK(fab_trap_next(&w->fabric, &mad, w->now), true);
	fab_set_manager(host(w, 0), true);
	CHECK(fab_trap_next(&w->fabric, &mad, w->now), true);
	CHECK(get_be16(w->mad + SMP_DATA + 4), 144);
	CHECK(mad.slid, 11);
	CHECK(fab_trap_next(&w->fabric, &mad, w->now), true);
	CHECK(fab_trap_next(&w->fabric, &mad, w->now), false);
	w->mad[MAD_METHOD] = METHOD_TRAP_REPRESS;
	CHECK(send(w, 0, mad.slid), FAB_CONSUMED);
	w->now += 100 * SECOND;
	fab_link(switch_port(w, 0, 5), SHCA_IB_PHYS_LINK_UP, false);
	CHECK(fab_trap_next(&w->fabric, &mad, w->now), true);
	CHECK(fab_trap_next(&w->fabric, &mad, w->now), true);
	CHECK(fab_trap_next(&w->fabric, &mad, w->now), true);
	CHECK(fab_trap_next(&w->fabric, &mad, w->now), false);
	end(w);
}

static u32 perf(struct world *w, u8 method, u16 attr, u8 port, u16 select, u8 fill)
{
	request(w, CLASS_PERF, method, attr, 0);
	memset(w->mad + SMP_DATA + 4, fill, 60);
	w->mad[SMP_DATA + 1] = port;
	put_be16(w->mad + SMP_DATA + 2, select);
	return send(w, 0, 1) == FAB_ANSWERED ? status(w) : ~0u;
}

static void counters(void)
{
	struct world *w = begin();
	struct fab_counters *c;
	u64 before;

	set_up(w);
	c = &switch_port(w, 0, 4)->counters;
	c->error[FAB_ERR_SYMBOL] = 0x12345;
	c->error[FAB_ERR_INTEGRITY] = 0xa;
	c->error[FAB_ERR_OVERRUN] = 0x15;
	c->xmit_pkts = 0x123456789aull;
	CHECK(perf(w, METHOD_GET, 0x12, 4, 0, 0), 0);
	CHECK(get_be16(w->mad + SMP_DATA + 4), 0xffff);
	CHECK(w->mad[SMP_DATA + 19], 0xaf);
	CHECK(get_be32(w->mad + SMP_DATA + 32), 0xffffffff);
	CHECK(perf(w, METHOD_GET, 0x1d, 4, 0, 0), 0);
	CHECK(get_be64(w->mad + SMP_DATA + 24), 0x123456789aull);
	/* A Set writes those that it selects; the counters of 64 bits stay. */
	CHECK(perf(w, METHOD_SET, 0x12, 4, 1u << 14, 0), 0);
	CHECK(get_be32(w->mad + SMP_DATA + 32), 0);
	CHECK(get_be16(w->mad + SMP_DATA + 4), 0xffff);
	CHECK(c->xmit_pkts, 0x123456789aull);
	CHECK(perf(w, METHOD_SET, 0x12, 4, 1, 0x11), 0);
	CHECK(c->error[FAB_ERR_SYMBOL], 0x1111);
	c->xmit_pkts += 5;
	CHECK(perf(w, METHOD_SET, 0x1d, 4, 1u << 2, 0), 0);
	CHECK(c->xmit_pkts, 0);
	CHECK(perf(w, METHOD_GET, 0x12, 4, 0, 0), 0);
	CHECK(get_be32(w->mad + SMP_DATA + 32), 5);
	/* all ports; no such port */
	before = switch_port(w, 0, 3)->counters.rcv_pkts;
	CHECK(perf(w, METHOD_GET, 0x1d, 255, 0, 0), 0);
	CHECK(get_be64(w->mad + SMP_DATA + 32), before + 1);
	CHECK(perf(w, METHOD_GET, 0x12, 7, 0, 0), STATUS_FIELD);
	CHECK(perf(w, METHOD_GET, 0x77, 1, 0, 0), STATUS_ATTR);
	CHECK(perf(w, 3, 0x12, 1, 0, 0), STATUS_METHOD);
	end(w);
}

/* ---- the fuzzer ------------------------------------------------------------- */

static u64 random_state = 1;

static u32 draw(u32 below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (random_state >> 11) % below;
}

static void invariants(struct world *w)
{
	u32 i, j;

	for (i = 0; i < SWITCHES + HOSTS; i++) {
		const struct fab_node *node = &w->node[i];

		for (j = node->sw ? 0 : 1; j <= node->ports_nr; j++) {
			const struct fab_port *port = &node->ports[j];
			bool is_up = port->phys == SHCA_IB_PHYS_LINK_UP;

			CHECK(port->state >= SHCA_IB_STATE_DOWN && port->state <= SHCA_IB_STATE_ACTIVE, true);
			CHECK(is_up, port->state != SHCA_IB_STATE_DOWN);
			CHECK(is_up && j && !port->peer, false);
			CHECK(is_up && j && port->peer->phys != SHCA_IB_PHYS_LINK_UP, false);
			CHECK(port->neighbor_mtu >= 1 && port->neighbor_mtu <= MTU_CAP, true);
			CHECK(port->lanes.code >= 1 && port->lanes.code <= SHCA_IB_VL_CAP, true);
			CHECK(port->end.lid < LID_MCAST && port->end.lmc < 8, true);
			CHECK((port->enabled.width & ~port->supported.width) ||
			      (port->enabled.speed & ~port->supported.speed), false);
			if (node->sw && !j)
				CHECK(port->state, SHCA_IB_STATE_ACTIVE);
		}
	}
}

static void fuzz_one(struct world *w)
{
	static const u16 attrs[] = {
		ATTR_NOTICE, ATTR_NODE_DESC, ATTR_NODE_INFO, ATTR_SWITCH_INFO, ATTR_GUID_INFO,
		ATTR_PORT_INFO, ATTR_PORT_INFO, ATTR_PORT_INFO, ATTR_PKEY_TABLE, ATTR_SL_TO_VL, ATTR_VL_ARB,
		ATTR_LFT, ATTR_MFT, ATTR_SM_INFO, ATTR_VENDOR_PORT_INFO, 0x12, 0x15, 0x16, 0x1d, 1,
	};
	static const u8 classes[] = { CLASS_LID_ROUTED, CLASS_DIRECTED, CLASS_DIRECTED, CLASS_PERF, CLASS_SA };
	static const u32 mods[] = { 0, 1, 2, 0x10001, 0x30002, 0x80000001, 0xffffffff };
	struct fab_mad mad = { .data = w->mad, .slid = draw(20), .dlid = draw(20) };
	struct fab_mad trap = { .data = w->mad };
	struct fab_port *from = draw(2) ? host(w, draw(HOSTS)) : switch_port(w, draw(SWITCHES), 0);
	enum fab_verdict verdict;
	u32 i;

	request(w, classes[draw(ARRAY_SIZE(classes))], draw(4) ? 1 + draw(2) : draw(256),
		draw(50) ? attrs[draw(ARRAY_SIZE(attrs))] : draw(0x10000),
		draw(3) ? mods[draw(ARRAY_SIZE(mods))] : draw(0x10000));
	for (i = SMP_DATA; i < SMP_DATA + SMP_DATA_BYTES; i++)
		w->mad[i] = draw(3) ? 0 : draw(256);
	for (i = SMP_PATH; i < FAB_MAD_BYTES; i++)
		w->mad[i] = draw(4) ? 1 + draw(3) : draw(256);
	w->mad[SMP_HOPS] = draw(20) ? draw(5) : draw(256);
	w->mad[SMP_POINTER] = draw(20) ? 0 : draw(256);
	if (!draw(20))
		w->mad[draw(64)] = draw(256);
	if (!draw(10))
		put_be16(w->mad + MAD_STATUS, draw(0x10000));
	/* (a key that nobody knows would end all) */
	put_be64(w->mad + SMP_MKEY, draw(3));
	put_be64(w->mad + SMP_DATA, draw(30) ? 0 : draw(2));
	verdict = fab_send(from, &mad, w->now);
	CHECK(verdict <= FAB_CONSUMED, true);
	if (verdict == FAB_ANSWERED)
		CHECK(w->mad[MAD_METHOD], 0x81);
	if (verdict == FAB_ARRIVED)
		CHECK(mad.to != NULL, true);
	for (i = 0; i < 10 && fab_trap_next(&w->fabric, &trap, w->now); i++)
		CHECK(trap.to != NULL, true);
	w->now += draw(SECOND);
}

static void fuzz(u32 datagrams)
{
	struct world *w = NULL;
	u32 i;

	for (i = 0; i < datagrams && !failed; i++) {
		if (i % 1000 == 0) {
			if (w)
				end(w);
			w = begin();
			if (i % 2000)
				set_up(w);
		}
		fuzz_one(w);
		invariants(w);
	}
	if (w)
		end(w);
	if (failed)
		printf("# datagram %u\n", i - 1);
}

static const struct {
	const char *name;
	void (*run)(void);
} tests[] = {
	{ "directed_paths", directed_paths },
	{ "directed_to_a_manager", directed_to_a_manager },
	{ "tables", tables },
	{ "drops", drops },
	{ "attributes", attributes },
	{ "states", states },
	{ "keys", keys },
	{ "traps", traps },
	{ "counters", counters },
};

static u32 tell(const char *name)
{
	if (failed)
		printf("not ok core.%s # line %u: %s is %llu (0x%llx), not %llu (0x%llx)\n", name, failed_line, failed,
		       (unsigned long long)failed_is, (unsigned long long)failed_is,
		       (unsigned long long)failed_wanted, (unsigned long long)failed_wanted);
	else
		printf("ok core.%s\n", name);
	return failed ? 1 : 0;
}

int main(int argc, char **argv)
{
	u32 datagrams = argc > 1 ? strtoul(argv[1], NULL, 0) : 200000, bad = 0, i;

	if (argc > 2)
		random_state = strtoull(argv[2], NULL, 0);
	for (i = 0; i < ARRAY_SIZE(tests); i++) {
		failed = NULL;
		tests[i].run();
		bad += tell(tests[i].name);
	}
	failed = NULL;
	fuzz(datagrams);
	bad += tell("fuzz");
	return bad ? 1 : 0;
}
