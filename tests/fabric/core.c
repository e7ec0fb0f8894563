// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The core of the fabric by itself, under sanitizers: rows of the IBTA's tables, and a fuzzer of
 * management datagrams. Prints "ok NAME" or "not ok NAME # why" for each test.
 *
 *	core [DATAGRAMS [SEED]]
 */
#include "../../fabric/core/agent.h"
#define PROGRAM "core"
#include "checks.h"

#define SWITCHES	3
#define HOSTS		3
/* (more than the 16 of a position of a multicast table) */
#define PORTS		17
#define SECOND			1000000000ull

/* Offsets, numbers and limits as the IBTA has them: those of the core are under test. */
#define AT_POINTER		6
#define AT_DR_DLID		34
#define AT_PATH			128
#define SUBN_ADM		0x03
#define PERF_MGT		0x04
#define SWITCH_INFO		0x0012
#define LINEAR_TABLE		0x0019
#define MULTICAST_TABLE		0x001b
#define VENDOR_PORT_INFO	0xff90
#define LINEAR_LIDS		49152
#define GROUPS			1024
#define FIRST_MCAST		0xc000
#define PERMISSIVE		0xffff
#define MTU_4096		5

/* Switches in a row (port 2 to port 1 of the next), a host at port 3 of each, ports 5 and 6 of the first are joined. */
struct world {
	struct fabric fabric;
	struct fab_node node[SWITCHES + HOSTS];
	u8 *mad;
	u64 now;
};

/* The bytes of an attribute. */
struct data {
	u8 byte[SMP_DATA_BYTES];
};

#define DATA(...)	(((const struct data){ { __VA_ARGS__ } }).byte)

static struct fab_port *switch_port(struct world *w, u32 number, u32 port)
{
	return &w->node[number].ports[port];
}

static struct fab_port *host(struct world *w, u32 number)
{
	return &w->node[SWITCHES + number].ports[1];
}

static struct world *begin_at(struct fab_rate rate)
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
			node->sw->lft = zeros(LINEAR_LIDS);
			node->sw->mft = zeros(fab_mft_bytes(PORTS));
			node->sw->sl2vl = zeros(fab_sl2vl_bytes(PORTS));
		}
		for (j = 0; j <= node->ports_nr; j++) {
			node->ports[j].guid = node->guid + (i < SWITCHES ? 0 : j);
			node->ports[j].supported = rate;
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

static struct world *begin(void)
{
	return begin_at((struct fab_rate){ .width = 3, .speed = 7, .ext = 3 });
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
	put_be16(w->mad + SMP_SLID, PERMISSIVE);
	put_be16(w->mad + AT_DR_DLID, PERMISSIVE);
}

/* From a host; @lid is not looked at by a directed one. */
static enum fab_verdict send(struct world *w, u32 from, u16 lid)
{
	bool directed = w->mad[MAD_CLASS] == CLASS_DIRECTED;
	struct fab_mad mad = {
		.data = w->mad,
		.slid = directed ? PERMISSIVE : host(w, from)->end.lid,
		.dlid = directed ? PERMISSIVE : lid,
	};

	return fab_send(host(w, from), &mad, w->now);
}

static void directed(struct world *w, u8 method, u16 attr, u32 mod, u32 hops, const u8 *path)
{
	request(w, CLASS_DIRECTED, method, attr, mod);
	w->mad[SMP_HOPS] = hops;
	memcpy(w->mad + AT_PATH + 1, path, hops);
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
		{ 2, { 1, PORTS + 1 }, false },			/* no such port */
		{ 2, { 1, 255 }, false },
		{ 3, { 1, 3, 1 }, false },			/* a host passes nothing on */
	};
	struct world *w = begin();
	u8 longest[63];
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
		CHECK(w->mad[AT_POINTER], 0);
		CHECK(get_be64(w->mad + SMP_DATA + 12), w->node[rows[i].node].guid);
		CHECK(w->mad[SMP_DATA + 36], rows[i].by);
		if (rows[i].hops)
			CHECK(w->mad[SMP_RETURN + rows[i].hops], rows[i].by);
	}
	/* The agent of the sender begins; the path is 63 hops at most. */
	directed(w, METHOD_GET, ATTR_NODE_INFO, 0, 1, rows[1].path);
	w->mad[AT_POINTER] = 1;
	CHECK(send(w, 0, 0), FAB_DROPPED);
	directed(w, METHOD_GET, ATTR_NODE_INFO, 0, 0, rows[1].path);
	w->mad[SMP_HOPS] = 64;
	CHECK(send(w, 0, 0), FAB_DROPPED);
	memset(longest, 5, sizeof(longest));
	longest[0] = 1;
	directed(w, METHOD_GET, ATTR_NODE_INFO, 0, sizeof(longest), longest);
	CHECK(send(w, 0, 0), FAB_ANSWERED);
	CHECK(w->mad[SMP_DATA + 36], 6);
	directed(w, METHOD_GET, ATTR_NODE_INFO, 0, sizeof(longest), longest);
	w->mad[SMP_HOPS] = 64;
	w->mad[AT_PATH + 64] = 5;
	CHECK(send(w, 0, 0), FAB_DROPPED);
	/* The other port of the host has a cable now; a program has one port. */
	fab_join(&w->node[SWITCHES].ports[2], switch_port(w, 0, 4));
	directed(w, METHOD_GET, ATTR_NODE_INFO, 0, 1, (const u8[]){ 2 });
	CHECK(send(w, 0, 0), FAB_DROPPED);
	CHECK(switch_port(w, 0, 4)->counters.rcv_pkts, 0);
	/* Of the status only the direction makes it an answer. */
	directed(w, METHOD_GET, ATTR_NODE_INFO, 0, 1, rows[1].path);
	put_be16(w->mad + MAD_STATUS, 0x7fff);
	CHECK(send(w, 0, 0), FAB_ANSWERED);
	CHECK(status(w), STATUS_RETURNS);
	end(w);
}

#define NONE	PERMISSIVE

/* Before and behind its path a directed packet may be LID-routed, from and to a switch (IBTA 14.2.2.2). */
static void directed_by_lid(void)
{
	static const struct {
		u16 dr_slid;
		u16 dlid;		/* of the LRH */
		u8 hops;
		u8 path[3];
		u16 dr_dlid;
		bool answered;
		u8 node;
		u8 by;
	} rows[] = {
		/* before the path */
		{ 11, 2, 2, { 2, 3 }, NONE, true, SWITCHES + 2, 1 },
		{ 11, 2, 1, { 1 }, NONE, true, 0, 2 },
		{ 11, 2, 0, { 0 }, NONE, true, 1, 1 },
		{ 11, 2, 1, { 5 }, NONE, false },	/* no cable */
		{ 11, 12, 1, { 1 }, NONE, false },	/* a host passes nothing on */
		{ 11, 12, 0, { 0 }, NONE, true, SWITCHES + 1, 1 },
		{ 11, 12, 0, { 0 }, 13, false },
		{ 11, 11, 1, { 1 }, NONE, false },
		{ 11, 14, 1, { 1 }, NONE, false },	/* no such LID */
		{ 12, 2, 1, { 2 }, NONE, false },	/* the answer is for another one */
		/* behind it */
		{ NONE, NONE, 2, { 1, 2 }, 13, true, SWITCHES + 2, 1 },
		{ NONE, NONE, 1, { 1 }, 3, true, 2, 1 },
		{ NONE, NONE, 1, { 1 }, 11, true, SWITCHES, 1 },
		{ NONE, NONE, 2, { 1, 2 }, 2, true, 1, 0 },
		{ NONE, NONE, 2, { 1, 2 }, 1, true, 0, 2 },
		{ NONE, NONE, 2, { 1, 2 }, 14, false },
		{ NONE, NONE, 2, { 1, 3 }, 2, false },	/* the path ends at a host */
		{ NONE, NONE, 0, { 0 }, 2, false },
		/* both */
		{ 11, 2, 1, { 2 }, 12, true, SWITCHES + 1, 1 },
		{ 11, 2, 0, { 0 }, 13, true, SWITCHES + 2, 1 },
		{ 11, 1, 2, { 2, 2 }, 11, true, SWITCHES, 1 },
	};
	struct world *w = begin();
	struct fab_mad mad;
	u64 before;
	u32 i;

	set_up(w);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		mad = (struct fab_mad){ .data = w->mad, .slid = rows[i].dr_slid, .dlid = rows[i].dlid };
		directed(w, METHOD_GET, ATTR_NODE_INFO, 0, rows[i].hops, rows[i].path);
		put_be16(w->mad + SMP_SLID, rows[i].dr_slid);
		put_be16(w->mad + AT_DR_DLID, rows[i].dr_dlid);
		before = host(w, 0)->counters.rcv_pkts;
		CHECK(fab_send(host(w, 0), &mad, w->now), rows[i].answered ? FAB_ANSWERED : FAB_DROPPED);
		if (!rows[i].answered)
			continue;
		CHECK(status(w), STATUS_RETURNS);
		CHECK(get_be64(w->mad + SMP_DATA + 12), w->node[rows[i].node].guid);
		CHECK(w->mad[SMP_DATA + 36], rows[i].by);
		CHECK(host(w, 0)->counters.rcv_pkts - before, rows[i].node == SWITCHES ? 2 : 1);
		/* The LRH of the answer: DrSLID, and the switch that has sent it. */
		CHECK(mad.dlid, rows[i].dr_slid);
		CHECK(mad.slid == NONE, rows[i].dr_slid == NONE);
	}
	/* As all of subnet management, it passes before a manager has made links Active. */
	switch_port(w, 0, 2)->state = SHCA_IB_STATE_INIT;
	for (i = 0; i < 2; i++) {
		directed(w, METHOD_GET, ATTR_NODE_INFO, 0, i ? 1 : 2, i ? rows[11].path : rows[0].path);
		put_be16(w->mad + (i ? AT_DR_DLID : SMP_SLID), i ? 3 : 11);
		mad = (struct fab_mad){ .data = w->mad, .slid = 11, .dlid = 2 };
		CHECK(fab_send(host(w, 0), &mad, w->now), FAB_ANSWERED);
	}
	switch_port(w, 0, 2)->state = SHCA_IB_STATE_ACTIVE;
	/* The agent of the sender leaves the pointer at 0: the switch begins. */
	directed(w, METHOD_GET, ATTR_NODE_INFO, 0, 1, rows[0].path);
	put_be16(w->mad + SMP_SLID, 11);
	w->mad[AT_POINTER] = 1;
	CHECK(send(w, 0, 2), FAB_DROPPED);
	/* From a switch without a LID no answer finds back. */
	switch_port(w, 1, 0)->end.lid = 0;
	directed(w, METHOD_GET, ATTR_NODE_INFO, 0, 2, rows[10].path);
	put_be16(w->mad + AT_DR_DLID, 13);
	CHECK(send(w, 0, 0), FAB_DROPPED);
	end(w);
}

/* A manager at another host gets SMInfo, and its answer finds the way back. */
static void directed_to_a_manager(void)
{
	static const u8 path[] = { 1, 2, 3 };
	struct world *w = begin();
	struct fab_mad mad = { .data = w->mad, .slid = PERMISSIVE, .dlid = PERMISSIVE };

	directed(w, METHOD_GET, ATTR_SM_INFO, 0, 3, path);
	CHECK(fab_send(host(w, 0), &mad, w->now), FAB_ARRIVED);
	CHECK(mad.to == host(w, 1), true);
	/* (nothing has come back yet) */
	CHECK(host(w, 1)->counters.rcv_pkts, 1);
	CHECK(host(w, 0)->counters.rcv_pkts, 0);
	w->mad[MAD_METHOD] = 0x81;
	put_be16(w->mad + MAD_STATUS, STATUS_RETURNS);
	/* (the agent of a real host leaves it so) */
	w->mad[AT_POINTER] = 4;
	CHECK(fab_send(host(w, 1), &mad, w->now), FAB_ARRIVED);
	CHECK(mad.to == host(w, 0), true);
	CHECK(w->mad[AT_POINTER], 0);
	/* With both ends by LID: from switch 1 (LID 2) to switch 2 (LID 3), and there to host 2. */
	set_up(w);
	directed(w, METHOD_GET, ATTR_SM_INFO, 0, 1, path + 1);
	put_be16(w->mad + SMP_SLID, 11);
	put_be16(w->mad + AT_DR_DLID, 13);
	mad.slid = 11;
	mad.dlid = 2;
	CHECK(fab_send(host(w, 0), &mad, w->now), FAB_ARRIVED);
	CHECK(mad.to == host(w, 2), true);
	CHECK(mad.slid, 3);
	CHECK(mad.dlid, 13);
	w->mad[MAD_METHOD] = 0x81;
	put_be16(w->mad + MAD_STATUS, STATUS_RETURNS);
	mad.slid = 13;
	mad.dlid = 3;
	CHECK(fab_send(host(w, 2), &mad, w->now), FAB_ARRIVED);
	CHECK(mad.to == host(w, 0), true);
	CHECK(mad.slid, 2);
	CHECK(mad.dlid, 11);
	CHECK(w->mad[AT_POINTER], 0);
	end(w);
}

static void tables(void)
{
	struct world *w = begin();
	struct fab_mad mad;
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
	/* The answer has both ends the other way round. */
	mad = (struct fab_mad){ .data = w->mad, .slid = 11, .dlid = 13, .sqp = 0x123, .dqp = 1 };
	request(w, PERF_MGT, METHOD_GET, 1, 0);
	CHECK(fab_send(host(w, 0), &mad, w->now), FAB_ANSWERED);
	CHECK(mad.slid, 13);
	CHECK(mad.dlid, 11);
	CHECK(mad.sqp, 1);
	CHECK(mad.dqp, 0x123);
	/* It goes to the LID that the request came from, whoever has that, and by the tables of its own way. */
	for (i = 0; i < 2; i++) {
		mad = (struct fab_mad){ .data = w->mad, .slid = 12, .dlid = 13 };
		request(w, CLASS_LID_ROUTED, i ? METHOD_SET : METHOD_GET, LINEAR_TABLE, 1);
		CHECK(fab_send(host(w, 0), &mad, w->now), FAB_DROPPED);
		w->node[2].sw->lft[11] = 0;
		request(w, CLASS_LID_ROUTED, i ? METHOD_SET : METHOD_GET, ATTR_GUID_INFO, 0);
		CHECK(send(w, 0, 13), FAB_DROPPED);
		w->node[2].sw->lft[11] = 1 + 1;
	}
	/* LinearFDBTop is the last LID that has an entry. */
	for (i = 0; i < SWITCHES; i++)
		w->node[i].sw->lft_top = 13;
	request(w, CLASS_LID_ROUTED, METHOD_GET, ATTR_NODE_INFO, 0);
	CHECK(send(w, 0, 13), FAB_ANSWERED);
	/* By the last port of a switch. */
	fab_join(switch_port(w, 0, PORTS), switch_port(w, 1, PORTS));
	w->node[0].sw->lft[13] = PORTS + 1;
	request(w, CLASS_LID_ROUTED, METHOD_GET, ATTR_NODE_INFO, 0);
	CHECK(send(w, 0, 13), FAB_ANSWERED);
	CHECK(switch_port(w, 1, PORTS)->counters.rcv_pkts, 1);
	w->node[0].sw->lft[13] = 2 + 1;
	directed(w, METHOD_GET, ATTR_NODE_INFO, 0, 2, (const u8[]){ 1, PORTS });
	CHECK(send(w, 0, 0), FAB_ANSWERED);
	CHECK(w->mad[SMP_DATA + 36], PORTS);
	/* LMC 2: four LIDs, of which the table has to know. */
	for (i = 0; i < SWITCHES; i++)
		w->node[i].sw->lft_top = 20;
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
	struct fab_mad mad;
	u64 before;

	set_up(w);
	in = switch_port(w, 0, 3);
	/* none; beyond LinearFDBTop; no such port; 0, multicast and permissive are no destination */
	request(w, PERF_MGT, METHOD_GET, 1, 0);
	CHECK(send(w, 0, 15), FAB_DROPPED);
	CHECK(send(w, 0, 21), FAB_DROPPED);
	w->node[0].sw->lft[14] = PORTS + 1 + 1;
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
	CHECK(in->counters.error[FAB_ERR_RELAY], 4);
	/* (counters end, they do not begin anew) */
	in->counters.error[FAB_ERR_RELAY] = ~0u;
	in->counters.detail[FAB_DETAIL_LOOP] = ~0u;
	CHECK(send(w, 0, 14), FAB_DROPPED);
	CHECK(in->counters.error[FAB_ERR_RELAY], ~0u);
	CHECK(in->counters.detail[FAB_DETAIL_LOOP], ~0u);
	/* two switches send it to each other for ever, by two cables */
	fab_join(switch_port(w, 0, 4), switch_port(w, 1, 4));
	w->node[0].sw->lft[14] = 2 + 1;
	w->node[1].sw->lft[14] = 4 + 1;
	request(w, CLASS_LID_ROUTED, METHOD_GET, ATTR_NODE_INFO, 0);
	CHECK(send(w, 0, 14), FAB_DROPPED);
	CHECK(switch_port(w, 0, 2)->counters.xmit_pkts > 20, true);
	/* to a host that has another LID, or none */
	w->node[1].sw->lft[14] = 3 + 1;
	CHECK(send(w, 0, 14), FAB_DROPPED);
	host(w, 1)->end.lid = 0;
	host(w, 1)->end.lmc = 3;
	w->node[0].sw->lft[5] = 2 + 1;
	w->node[1].sw->lft[5] = 3 + 1;
	CHECK(send(w, 0, 5), FAB_DROPPED);
	host(w, 1)->end.lid = 12;
	host(w, 1)->end.lmc = 0;
	request(w, PERF_MGT, METHOD_GET, 1, 0);
	/* to a node that does not have the LID */
	w->node[0].sw->lft[14] = 0 + 1;
	CHECK(send(w, 0, 14), FAB_DROPPED);
	mad = (struct fab_mad){ .data = w->mad, .slid = 1, .dlid = 14 };
	CHECK(fab_send(switch_port(w, 0, 0), &mad, w->now), FAB_DROPPED);
	CHECK(switch_port(w, 0, 0)->counters.error[FAB_ERR_RELAY], 0);
	/* all but subnet management needs a link that is Active, to a port that is Armed */
	out = switch_port(w, 0, 2);
	CHECK(send(w, 0, 12), FAB_ANSWERED);
	out->state = SHCA_IB_STATE_ARMED;
	request(w, PERF_MGT, METHOD_GET, 1, 0);
	CHECK(send(w, 0, 12), FAB_DROPPED);
	CHECK(out->counters.error[FAB_ERR_DISCARD], 1);
	CHECK(out->counters.detail[FAB_DETAIL_INACTIVE], 1);
	request(w, CLASS_LID_ROUTED, METHOD_GET, ATTR_NODE_INFO, 0);
	CHECK(send(w, 0, 12), FAB_ANSWERED);
	out->state = SHCA_IB_STATE_ACTIVE;
	out->peer->state = SHCA_IB_STATE_INIT;
	request(w, PERF_MGT, METHOD_GET, 1, 0);
	CHECK(send(w, 0, 12), FAB_DROPPED);
	/* no agent, so there is no answer that could be lost */
	request(w, SUBN_ADM, METHOD_GET, 1, 0);
	CHECK(send(w, 0, 12), FAB_DROPPED);
	out->peer->state = SHCA_IB_STATE_ARMED;
	before = host(w, 0)->counters.rcv_pkts;
	CHECK(send(w, 0, 12), FAB_ARRIVED);
	request(w, CLASS_LID_ROUTED, 0x81, ATTR_NODE_INFO, 0);
	CHECK(send(w, 0, 12), FAB_ARRIVED);
	CHECK(host(w, 0)->counters.rcv_pkts, before);
	request(w, SUBN_ADM, METHOD_GET, 1, 0);
	CHECK(send(w, 0, 11), FAB_ARRIVED);
	end(w);
}

/* ---- attributes ------------------------------------------------------------- */

/* A directed Get or Set. Return: the status, without the direction. */
static u32 ask_at(struct world *w, u8 method, u16 attr, u32 mod, const u8 *data, u32 hops, const u8 *path)
{
	u32 i;

	directed(w, method, attr, mod, hops, path);
	memset(w->mad + SMP_DATA, 0xee, SMP_DATA_BYTES);
	w->mad[AT_PATH] = 0xdd;
	if (data)
		memcpy(w->mad + SMP_DATA, data, SMP_DATA_BYTES);
	if (send(w, 0, 0) != FAB_ANSWERED)
		return ~0u;
	/* An attribute ends where its 64 bytes end. */
	for (i = 0; i < 64; i++)
		CHECK(w->mad[AT_PATH + i], i > hops ? 0 : i ? path[i - 1] : 0xdd);
	CHECK(status(w) & STATUS_RETURNS, STATUS_RETURNS);
	return status(w) & 0x7fff;
}

/* The same at the first switch. */
static u32 ask(struct world *w, u8 method, u16 attr, u32 mod, const u8 *data)
{
	return ask_at(w, method, attr, mod, data, 1, (const u8[]){ 1 });
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
		{ SWITCH_INFO, 0, 0, 0 },
		{ ATTR_GUID_INFO, 0, 0, 0 },
		{ ATTR_GUID_INFO, 1, STATUS_FIELD, STATUS_FIELD },
		{ ATTR_PORT_INFO, PORTS, 0, 0 },
		{ ATTR_PORT_INFO, 0x80000006, 0, 0 },
		{ ATTR_PORT_INFO, PORTS + 1, STATUS_FIELD, STATUS_FIELD },
		{ ATTR_PORT_INFO, 0x106, STATUS_FIELD, STATUS_FIELD },
		{ ATTR_PKEY_TABLE, PORTS << 16, 0, 0 },
		{ ATTR_PKEY_TABLE, (PORTS + 1) << 16, STATUS_FIELD, STATUS_FIELD },
		{ ATTR_PKEY_TABLE, 1, STATUS_FIELD, STATUS_FIELD },
		{ ATTR_SL_TO_VL, PORTS << 8 | PORTS, 0, 0 },
		{ ATTR_SL_TO_VL, PORTS << 8 | (PORTS + 1), STATUS_FIELD, STATUS_FIELD },
		{ ATTR_SL_TO_VL, (PORTS + 1) << 8 | PORTS, STATUS_FIELD, STATUS_FIELD },
		{ ATTR_SL_TO_VL, 0x20001, STATUS_FIELD, STATUS_FIELD },	/* OptimizedSLtoVLMapping is 0 */
		{ ATTR_VL_ARB, 0x10006, 0, 0 },
		{ ATTR_VL_ARB, 0x30000, 0, 0 },
		{ ATTR_VL_ARB, 0x20001, STATUS_FIELD, STATUS_FIELD },
		{ ATTR_VL_ARB, 0x10000 | (PORTS + 1), STATUS_FIELD, STATUS_FIELD },
		{ LINEAR_TABLE, 767, 0, 0 },
		{ LINEAR_TABLE, 768, STATUS_FIELD, STATUS_FIELD },
		{ MULTICAST_TABLE, 31, 0, 0 },
		{ MULTICAST_TABLE, 32, STATUS_FIELD, STATUS_FIELD },
		{ MULTICAST_TABLE, 0x10000000, 0, 0 },
		{ MULTICAST_TABLE, 0x20000000, STATUS_FIELD, STATUS_FIELD },
		{ MULTICAST_TABLE, 0x00000200, STATUS_FIELD, STATUS_FIELD },
		{ ATTR_NOTICE, 0, 0, 0 },
		{ ATTR_NOTICE, 1, STATUS_FIELD, STATUS_FIELD },
		{ VENDOR_PORT_INFO, 1, 0, 0 },
		{ VENDOR_PORT_INFO, PORTS + 1, STATUS_FIELD, STATUS_FIELD },
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
			{ LINEAR_TABLE, 255, 64 }, { MULTICAST_TABLE, 10, 64 }, { ATTR_SL_TO_VL, 0x201, 8 },
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
	CHECK(ask(w, METHOD_GET, LINEAR_TABLE, 1, NULL), 0);
	CHECK(w->mad[SMP_DATA], 255);
	CHECK(ask(w, METHOD_GET, ATTR_SL_TO_VL, 0x0105, NULL), 0);
	CHECK(get_be64(w->mad + SMP_DATA), 0x0123456701234567ull);
	CHECK(shca_ib_lane_of(fab_sl2vl(&w->node[0], 1, 5), 3, 5), 1);
	/* Each way through the switch has a table of its own. */
	put_be64(data, 0xf012345601234567ull);
	CHECK(ask(w, METHOD_SET, ATTR_SL_TO_VL, 0x0105, data), 0);
	CHECK(shca_ib_lane_of(fab_sl2vl(&w->node[0], 1, 5), 3, 0), SHCA_IB_NO_LANE);
	CHECK(shca_ib_lane_of(fab_sl2vl(&w->node[0], 1, 5), 3, 4), 3);
	CHECK(shca_ib_lane_of(fab_sl2vl(&w->node[0], 1, 5), 3, 5), SHCA_IB_NO_LANE);
	CHECK(shca_ib_lane_of(fab_sl2vl(&w->node[0], 5, 1), 3, 5), 1);
	CHECK(ask(w, METHOD_GET, ATTR_SL_TO_VL, 0x0501, NULL), 0);
	CHECK(get_be64(w->mad + SMP_DATA), 0x0123456701234567ull);
	end(w);
}

/* All bytes of an attribute. What is shown are the offset and the byte, of two digits each. */
static void check_all(const struct world *w, const u8 *wanted, u32 line)
{
	u32 i;

	for (i = 0; i < SMP_DATA_BYTES; i++)
		check(i << 8 | w->mad[SMP_DATA + i], i << 8 | wanted[i], "offset, byte", line);
}

#define CHECK_ALL(...)	check_all(w, DATA(__VA_ARGS__), __LINE__)

/* Of the third host, whose other port has no cable. */
static const u8 to_host[] = { 1, 2, 2, 3 };

static u32 ask_host(struct world *w, u8 method, u16 attr, u32 mod, const u8 *data)
{
	return ask_at(w, method, attr, mod, data, ARRAY_SIZE(to_host), to_host);
}

/* NodeInfo, NodeDescription and SwitchInfo, byte by byte (IBTA 14.2.5.2 to 14.2.5.4). */
static void node_attributes(void)
{
	struct world *w = begin();
	struct fab_node *host_node = &w->node[SWITCHES + 2];
	u8 data[SMP_DATA_BYTES];
	u32 i;

	w->node[0].system_guid = 0x0102030405060708ull;
	w->node[0].guid = 0x1112131415161718ull;
	w->node[0].vendor = 0x212223;
	w->node[0].device = 0x3132;
	w->node[0].revision = 0x41424344;
	CHECK(ask(w, METHOD_GET, ATTR_NODE_INFO, 0, NULL), 0);
	CHECK_ALL(1, 1, 2, PORTS, 1, 2, 3, 4, 5, 6, 7, 8, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
		  [26] = 1, [29] = 32, 0x31, 0x32, 0x41, 0x42, 0x43, 0x44, 3, 0x21, 0x22, 0x23);
	CHECK(ask_host(w, METHOD_GET, ATTR_NODE_INFO, 0, NULL), 0);
	CHECK_ALL(1, 1, 1, 2, [18] = 6, [26] = 6, 1, [29] = 32, [36] = 1);
	for (i = 0; i < SMP_DATA_BYTES; i++)
		host_node->desc[i] = data[i] = i + 1;
	CHECK(ask_host(w, METHOD_GET, ATTR_NODE_DESC, 0, NULL), 0);
	check_all(w, data, __LINE__);

	CHECK(ask(w, METHOD_GET, SWITCH_INFO, 0, NULL), 0);
	CHECK_ALL([0] = 0xc0, [4] = 4, [11] = 0x94, [15] = 32, 0xc0);
	/* What can be set; LinearFDBCap and the like cannot, and PortStateChange is cleared by a 1 only. */
	memset(data, 0xee, sizeof(data));
	memcpy(data + 6, (const u8[]){ 0xbf, 0xff, 0x11, 0x22, 0x33, 0xfb }, 6);
	put_be16(data + 18, 0xc123);
	CHECK(ask(w, METHOD_SET, SWITCH_INFO, 0, data), 0);
	CHECK_ALL([0] = 0xc0, [4] = 4, [6] = 0xbf, 0xff, 0x11, 0x22, 0x33, 0xfc, [15] = 32, 0xc0, 0, 0xc1, 0x23);
	CHECK(ask(w, METHOD_GET, SWITCH_INFO, 0, NULL), 0);
	CHECK_ALL([0] = 0xc0, [4] = 4, [6] = 0xbf, 0xff, 0x11, 0x22, 0x33, 0xfc, [15] = 32, 0xc0, 0, 0xc1, 0x23);
	data[11] = 0x04;
	w->node[0].sw->is_enhanced = true;
	CHECK(ask(w, METHOD_SET, SWITCH_INFO, 0, data), 0);
	CHECK_ALL([0] = 0xc0, [4] = 4, [6] = 0xbf, 0xff, 0x11, 0x22, 0x33, 0, [15] = 32, 0xc8, 0, 0xc1, 0x23);
	put_be16(data + 6, LINEAR_LIDS);
	data[8] = 0x99;
	CHECK(ask(w, METHOD_SET, SWITCH_INFO, 0, data), STATUS_FIELD);
	CHECK(ask(w, METHOD_GET, SWITCH_INFO, 0, NULL), 0);
	CHECK(get_be24(w->mad + SMP_DATA + 6), 0xbfff11);
	/* These are of switches. */
	CHECK(ask_host(w, METHOD_GET, SWITCH_INFO, 0, NULL), STATUS_ATTR);
	CHECK(ask_host(w, METHOD_GET, LINEAR_TABLE, 0, NULL), STATUS_ATTR);
	CHECK(ask_host(w, METHOD_GET, MULTICAST_TABLE, 0, NULL), STATUS_ATTR);
	end(w);
}

/* PortInfo, byte by byte (IBTA 14.2.5.6), with each field set to another value. */
static void port_attributes(void)
{
	struct world *w = begin();
	u8 data[SMP_DATA_BYTES];

	/* Port 0: fields of an end port. */
	CHECK(ask(w, METHOD_GET, ATTR_PORT_INFO, 0, NULL), 0);
	CHECK_ALL([8] = 0xfe, 0x80, [22] = 0x48, 0x48, [28] = 3, 3, 3, 2, 0x74, 0x52, 0, 0x47, 0x50, 0x40, 0, 32, 32, 5,
		  0x14, 0x40, [50] = 8, 0x12, 16, 0x88, [62] = 0x03, 3);
	memset(data, 0xee, sizeof(data));
	memcpy(data, (const u8[]){ 1, 2, 3, 4, 5, 6, 7, 8, 0xfe, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7,
				   0xbf, 0xff, 0xbf, 0xfe }, 20);
	put_be16(data + 26, 0x1234);
	data[34] = 0x7d;	/* M_KeyProtectBits 1, LMC 5 */
	data[36] = 0xed;	/* MasterSMSL 13 */
	data[51] = 0xf5;	/* SubnetTimeOut 21 */
	CHECK(ask(w, METHOD_SET, ATTR_PORT_INFO, 0, data), 0);
	/* (who has set the key need not know it any more, nor is it told) */
	CHECK(ask(w, METHOD_GET, ATTR_PORT_INFO, 0, NULL), 0);
	CHECK_ALL([8] = 0xfe, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xbf, 0xff, 0xbf, 0xfe, 0, 0, 0x48, 0x48,
		  [26] = 0x12, 0x34, 3, 3, 3, 2, 0x74, 0x52, 0x45, 0x47, 0x5d, 0x40, 0, 32, 32, 5, 0x14, 0x40,
		  [50] = 8, 0x15, 16, 0x88, [62] = 0x03, 3);
	directed(w, METHOD_GET, ATTR_PORT_INFO, 0, 1, to_host);
	put_be64(w->mad + SMP_MKEY, 0x0102030405060708ull);
	CHECK(send(w, 0, 0), FAB_ANSWERED);
	CHECK(get_be64(w->mad + SMP_DATA), 0x0102030405060708ull);
	end(w);

	/* A port with a cable; what is of an end port is ignored. */
	w = begin();
	CHECK(ask(w, METHOD_GET, ATTR_PORT_INFO, 2, NULL), 0);
	CHECK_ALL([28] = 3, 3, 3, 2, 0x72, 0x52, 0, 0x47, 0x50, 0x40, 0, 32, 32, 5, 0x14, 0x40, [53] = 0x88, [62] = 0x23, 3);
	memset(data, 0xee, sizeof(data));
	memcpy(data + 28, (const u8[]){ 0xee, 1, 0xee, 0xee, 0xe0, 0x01, 0xff, 0xe1, 0x3f, 0xee, 0x77, 0xee, 0xee, 0xee,
					0xab, 0x2f }, 16);
	data[53] = 0x5a;
	data[56] = 0xf8;
	data[63] = 0xe1;
	CHECK(ask(w, METHOD_SET, ATTR_PORT_INFO, 2, data), 0);
	CHECK_ALL([28] = 3, 1, 3, 2, 0x72, 0x51, 0, 0x41, 0x30, 0x40, 0x77, 32, 32, 5, 0xab, 0x2f, [53] = 0x5a, [62] = 0x23, 1);
	CHECK(ask(w, METHOD_GET, ATTR_PORT_INFO, 2, NULL), 0);
	CHECK_ALL([28] = 3, 1, 3, 2, 0x72, 0x51, 0, 0x41, 0x30, 0x40, 0x77, 32, 32, 5, 0xab, 0x2f, [53] = 0x5a, [62] = 0x23, 1);
	/* 0 changes none of these: rates, LinkDownDefaultState, NeighborMTU, OperationalVLs */
	memset(data, 0, sizeof(data));
	CHECK(ask(w, METHOD_SET, ATTR_PORT_INFO, 2, data), 0);
	CHECK_ALL([28] = 3, 1, 3, 2, 0x72, 0x51, 0, 0x41, 0x30, 0x40, 0, 32, 32, 5, 0, 0x20, [62] = 0x23, 1);
	/* No other port has changed: one without a cable */
	CHECK(ask(w, METHOD_GET, ATTR_PORT_INFO, PORTS, NULL), 0);
	CHECK_ALL([28] = 3, 3, 3, 0, 0x71, 0x22, 0, 0x07, 0x50, 0x40, 0, 32, 32, 5, 0x14, 0x40, [53] = 0x88, [62] = 0x03, 3);
	/* When the link is trained anew, lanes are those of the end that has less, and the MTU is the largest. */
	CHECK(ask(w, METHOD_SET, ATTR_PORT_INFO, 2, DATA([32] = SHCA_IB_STATE_DOWN)), 0);
	CHECK_ALL([28] = 3, 1, 3, 1, 0x72, 0x51, 0, 0x11, 0x50, 0x40, 0, 32, 32, 5, 0, 0x20, [62] = 0x13, 1);
	CHECK(switch_port(w, 1, 1)->lanes.code, 2);
	/* A host: its port has both. It answers for the one that is asked, and changes none but that. */
	CHECK(ask_host(w, METHOD_GET, ATTR_PORT_INFO, 0, NULL), 0);
	CHECK_ALL([8] = 0xfe, 0x80, [22] = 0x48, 0x48, [28] = 1, 3, 3, 2, 0x72, 0x52, 0, 0x47, 0x50, 0x40, 0, 32, 32, 5,
		  0x14, 0x40, [50] = 8, 0x12, 16, 0x88, [62] = 0x23, 3);
	put_be16(data + 16, 7);
	data[42] = 0x11;
	CHECK(ask_host(w, METHOD_SET, ATTR_PORT_INFO, 1, data), 0);
	CHECK(get_be16(w->mad + SMP_DATA + 16), 7);
	CHECK(w->mad[SMP_DATA + 42], 0x11);
	CHECK(ask_host(w, METHOD_GET, ATTR_PORT_INFO, 2, NULL), 0);
	CHECK_ALL([8] = 0xfe, 0x80, [22] = 0x48, 0x48, [28] = 1, 3, 3, 0, 0x71, 0x22, 0, 0x07, 0x50, 0x40, 0, 32, 32, 5,
		  0x14, 0x40, [50] = 8, 0x12, 16, 0x88, [62] = 0x03, 3);
	CHECK(ask_host(w, METHOD_SET, ATTR_PORT_INFO, 2, data), STATUS_FIELD);
	CHECK(ask_host(w, METHOD_GET, ATTR_PORT_INFO, 3, NULL), STATUS_FIELD);
	end(w);
}

/* Fields of which a Set is refused, or not, at a port with a cable. */
static void port_limits(void)
{
	static const struct {
		u8 at;
		u8 value;
		u32 status;
	} rows[] = {
		{ 36, 0x50, 0 }, { 36, 0x60, STATUS_FIELD },			/* NeighborMTU */
		{ 43, 0x40, 0 }, { 43, 0x50, STATUS_FIELD },			/* OperationalVLs */
		{ 33, 0x02, 0 }, { 33, 0x01, 0 }, { 33, 0x03, STATUS_FIELD },	/* LinkDownDefaultState */
		{ 33, 0x10, STATUS_FIELD }, { 33, 0x50, STATUS_FIELD },		/* PortPhysicalState */
		{ 32, 2, STATUS_FIELD }, { 32, 5, STATUS_FIELD },		/* PortState */
	};
	struct world *w = begin();
	u8 data[SMP_DATA_BYTES];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		memset(data, 0, sizeof(data));
		data[rows[i].at] = rows[i].value;
		CHECK(ask(w, METHOD_SET, ATTR_PORT_INFO, 2, data), rows[i].status);
		if (rows[i].at == 33 && !rows[i].status)
			CHECK(w->mad[SMP_DATA + 33] & 0xf, rows[i].value);
		CHECK(ask(w, METHOD_SET, ATTR_PORT_INFO, 0, data), 0);
	}
	/* Violations are counted, and reset by a 0 only. */
	w->node[0].ports[0].end.mkey.violations = 0x0102;
	w->node[0].ports[0].end.bad_pkeys = 0x0304;
	w->node[0].ports[0].end.bad_qkeys = 0x0506;
	for (i = 0; i < 2; i++) {
		memset(data, 0, sizeof(data));
		memcpy(data + 44, i ? (const u8[]){ 0, 1, 1, 0, 0, 1 } : (const u8[]){ 1, 0, 0, 1, 0, 1 }, 6);
		CHECK(ask(w, METHOD_SET, ATTR_PORT_INFO, 0, data), 0);
	}
	for (i = 0; i < 4; i++) {
		static const u64 counted[] = { 0x010203040506ull, 0x03040506, 0x0506, 0 };

		CHECK(ask(w, METHOD_GET, ATTR_PORT_INFO, 0, NULL), 0);
		CHECK(get_be64(w->mad + SMP_DATA + 44) >> 16, counted[i]);
		memset(data, 0xff, sizeof(data));
		memset(data, 0, 36);
		memset(data + 44, 0, 2 * (i + 1));
		CHECK(ask(w, METHOD_SET, ATTR_PORT_INFO, 0, data), 0);
	}
	end(w);
}

static void fill(u8 *data, u32 seed)
{
	u32 i;

	for (i = 0; i < SMP_DATA_BYTES; i++)
		data[i] = (seed * 2654435761u + i * 40503u) >> 13;
}

/* Each block of each table has a place of its own: all are set before any is read. */
static void whole_tables(void)
{
	struct world *w = begin();
	u8 data[SMP_DATA_BYTES], wanted[SMP_DATA_BYTES];
	u32 pass, i, j, k;

	for (pass = 0; pass < 2; pass++) {
		u8 method = pass ? METHOD_GET : METHOD_SET;

		for (i = 0; i < LINEAR_LIDS / 64; i++) {
			fill(data, i);
			CHECK(ask(w, method, LINEAR_TABLE, i, pass ? NULL : data), 0);
			check_all(w, data, __LINE__);
		}
		for (i = 0; i < 2; i++)
			for (j = 0; j < GROUPS / 32; j++) {
				fill(data, 1000 + 100 * i + j);
				CHECK(ask(w, method, MULTICAST_TABLE, i << 28 | j, pass ? NULL : data), 0);
				check_all(w, data, __LINE__);
			}
		for (i = 0; i <= PORTS; i++) {
			fill(data, 2000 + i);
			CHECK(ask(w, method, ATTR_PKEY_TABLE, i << 16, pass ? NULL : data), 0);
			check_all(w, data, __LINE__);
			for (j = 0; j <= PORTS; j++) {
				fill(data, 3000 + 100 * i + j);
				CHECK(ask(w, method, ATTR_SL_TO_VL, i << 8 | j, pass ? NULL : data), 0);
				/* (the other bytes are reserved) */
				memset(data + 8, 0, sizeof(data) - 8);
				check_all(w, data, __LINE__);
			}
			for (j = 1; j <= 4; j++) {
				for (k = 0; k < 32; k++) {
					data[2 * k] = (i + j + k) % 8;
					data[2 * k + 1] = 17 * i + 50 * j + k;
				}
				CHECK(ask(w, method, ATTR_VL_ARB, j << 16 | i, pass ? NULL : data), j % 2 ? 0 : STATUS_FIELD);
				if (j % 2)
					check_all(w, data, __LINE__);
			}
		}
		/* A host has them for the port that is asked. */
		fill(data, 4000);
		CHECK(ask_host(w, method, ATTR_PKEY_TABLE, 0, pass ? NULL : data), 0);
		check_all(w, data, __LINE__);
		fill(data, 4001);
		/* (it has eight lanes) */
		for (i = 0; i < 8; i++)
			wanted[i] = data[i] & 0x77;
		memset(wanted + 8, 0, sizeof(wanted) - 8);
		memcpy(data, wanted, 8);
		CHECK(ask_host(w, method, ATTR_SL_TO_VL, 0, pass ? NULL : data), 0);
		check_all(w, wanted, __LINE__);
		for (j = 1; j <= 3; j += 2) {
			for (k = 0; k < 64; k++)
				data[k] = k % 2 ? 60 * j + k : (j + k) % 8;
			CHECK(ask_host(w, method, ATTR_VL_ARB, j << 16, pass ? NULL : data), 0);
			check_all(w, data, __LINE__);
		}
	}
	/* (whatever the modifier says of ports) */
	CHECK(ask_host(w, METHOD_GET, ATTR_VL_ARB, 0x30002, NULL), 0);
	check_all(w, data, __LINE__);
	fill(data, 4000);
	CHECK(ask_host(w, METHOD_GET, ATTR_PKEY_TABLE, 0x20000, NULL), 0);
	check_all(w, data, __LINE__);
	/* A host has no other block of P_Keys. */
	CHECK(ask_host(w, METHOD_GET, ATTR_PKEY_TABLE, 1, NULL), STATUS_FIELD);
	CHECK(ask_host(w, METHOD_GET, ATTR_VL_ARB, 0x50000, NULL), STATUS_FIELD);
	end(w);
}

/* FDR10 is in an attribute of the vendor: supported, enabled, active. */
static void vendor_speeds(void)
{
	struct world *w = begin_at((struct fab_rate){ .width = 3, .speed = 7, .fdr10 = 1 });

	CHECK(ask(w, METHOD_GET, VENDOR_PORT_INFO, 2, NULL), 0);
	CHECK_ALL([7] = 1, [11] = 1, [15] = 1);
	CHECK(ask(w, METHOD_SET, VENDOR_PORT_INFO, 2, DATA([11] = 0)), 0);
	CHECK_ALL([7] = 1, [11] = 0, [15] = 1);
	CHECK(ask(w, METHOD_SET, ATTR_PORT_INFO, 2, DATA([32] = SHCA_IB_STATE_DOWN)), 0);
	CHECK(ask(w, METHOD_SET, VENDOR_PORT_INFO, 2, DATA([11] = 3)), 0);
	CHECK_ALL([7] = 1, [11] = 1, [15] = 0);
	CHECK(ask(w, METHOD_GET, VENDOR_PORT_INFO, 5, NULL), 0);
	CHECK_ALL([7] = 1, [11] = 1, [15] = 1);
	end(w);
	/* With FDR, FDR10 is not what the link has. */
	w = begin_at((struct fab_rate){ .width = 3, .speed = 7, .ext = 1, .fdr10 = 1 });
	CHECK(ask(w, METHOD_GET, VENDOR_PORT_INFO, 2, NULL), 0);
	CHECK_ALL([7] = 1, [11] = 1, [15] = 0);
	end(w);
}

/* Versions, methods, and what is for a program and not for the agent (IBTA 13.4.7, 14.2.3). */
static void methods(void)
{
	static const struct {
		u8 at;
		u8 value;
		enum fab_verdict verdict;
		u32 status;
	} rows[] = {
		{ MAD_BASE_VERSION, 2, FAB_ANSWERED, STATUS_VERSION },
		{ MAD_CLASS_VERSION, 2, FAB_ANSWERED, STATUS_VERSION },
		{ MAD_METHOD, 3, FAB_ANSWERED, STATUS_METHOD },
		{ MAD_METHOD, METHOD_GET, FAB_ANSWERED, 0 },
		{ MAD_METHOD, 0x81, FAB_ARRIVED, 0 },
		{ MAD_METHOD, METHOD_TRAP, FAB_ARRIVED, 0 },
		{ MAD_METHOD, METHOD_REPORT, FAB_ARRIVED, 0 },
		{ MAD_METHOD, METHOD_TRAP_REPRESS, FAB_CONSUMED, 0 },
		{ MAD_ATTR + 1, ATTR_SM_INFO, FAB_ARRIVED, 0 },
	};
	struct world *w = begin();
	u32 i, by_lid;

	set_up(w);
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		for (by_lid = 0; by_lid < 2; by_lid++) {
			if (by_lid)
				request(w, CLASS_LID_ROUTED, METHOD_GET, ATTR_NODE_INFO, 0);
			else
				directed(w, METHOD_GET, ATTR_NODE_INFO, 0, 2, to_host);
			w->mad[rows[i].at] = rows[i].value;
			CHECK(send(w, 0, 2), rows[i].verdict);
			if (rows[i].verdict != FAB_ANSWERED)
				continue;
			CHECK(w->mad[MAD_METHOD], 0x81);
			CHECK(status(w), rows[i].status | (by_lid ? 0 : STATUS_RETURNS));
			CHECK(get_be64(w->mad + MAD_TID), 0x1122334455667788ull);
		}
	end(w);
}

/* A datagram and its answer are a packet each, of 72 words, in either direction of each cable of their way. */
static void counted(void)
{
	static const struct {
		u8 node;
		u8 port;
	} way[] = { { SWITCHES, 1 }, { 0, 3 }, { 0, 2 }, { 1, 1 }, { 1, 2 }, { 2, 1 } };
	struct world *w = begin();
	u32 i, kind, j;

	set_up(w);
	for (kind = 0; kind < 3; kind++) {
		if (!kind)
			directed(w, METHOD_GET, ATTR_NODE_INFO, 0, 3, to_host);
		else
			request(w, kind == 1 ? CLASS_LID_ROUTED : PERF_MGT, METHOD_GET,
				kind == 1 ? ATTR_NODE_INFO : 1, 0);
		CHECK(send(w, 0, 3), FAB_ANSWERED);
		for (i = 0; i < SWITCHES + HOSTS; i++)
			for (j = 0; j <= w->node[i].ports_nr; j++) {
				const struct fab_counters *c = &w->node[i].ports[j].counters;
				u32 k, is_of_it = 0;

				for (k = 0; k < ARRAY_SIZE(way); k++)
					is_of_it |= way[k].node == i && way[k].port == j;
				CHECK(c->xmit_pkts, is_of_it * (kind + 1));
				CHECK(c->rcv_pkts, is_of_it * (kind + 1));
				CHECK(c->xmit_data, is_of_it * (kind + 1) * 72);
				CHECK(c->rcv_data, is_of_it * (kind + 1) * 72);
			}
	}
	/* Where there is no agent, there is no answer. */
	request(w, SUBN_ADM, METHOD_GET, 1, 0);
	CHECK(send(w, 0, 12), FAB_ARRIVED);
	request(w, CLASS_LID_ROUTED, 0x81, ATTR_NODE_INFO, 0);
	CHECK(send(w, 0, 12), FAB_ARRIVED);
	CHECK(host(w, 0)->counters.rcv_pkts, 3);
	end(w);
}

/* Port 0 of a switch and each port of a host have eight GUIDs, of which the first one stays (IBTA 14.2.5.5). */
static void guids(void)
{
	static const struct {
		u8 hops;
		u8 path[2];
		u64 guid;
	} rows[] = {
		{ 1, { 1 }, 0x100 },
		{ 2, { 1, 2 }, 0x200 },
		{ 2, { 1, 3 }, 0x401 },
	};
	struct world *w = begin();
	u32 i, j;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		directed(w, METHOD_SET, ATTR_GUID_INFO, 0, rows[i].hops, rows[i].path);
		for (j = 0; j < 8; j++)
			put_be64(w->mad + SMP_DATA + 8 * j, 0x1000 * (i + 1) + j);
		CHECK(send(w, 0, 0), FAB_ANSWERED);
		CHECK(status(w), STATUS_RETURNS);
	}
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		directed(w, METHOD_GET, ATTR_GUID_INFO, 0, rows[i].hops, rows[i].path);
		CHECK(send(w, 0, 0), FAB_ANSWERED);
		for (j = 0; j < 8; j++)
			CHECK(get_be64(w->mad + SMP_DATA + 8 * j), j ? 0x1000 * (i + 1) + j : rows[i].guid);
	}
	end(w);
}

/* Widths and speeds: what a Set enables, what a Get says then, and what the link has once it is trained anew. */
static void rates(void)
{
	static const struct {
		u8 at;			/* byte of PortInfo */
		u8 set;
		u32 status;
		u8 get;			/* the whole byte, after the Set */
		u8 trained[4];		/* LinkWidthActive; LinkSpeedActive; ...Ext; ...Ext2 */
	} rows[] = {
		{ 29, 0, 0, 0x13, { 2, 4, 0, 2 } },
		{ 29, 1, 0, 0x01, { 1, 4, 0, 2 } },
		{ 29, 0, 0, 0x01, { 1, 4, 0, 2 } },
		{ 29, 4, STATUS_FIELD, 0x01, { 1, 4, 0, 2 } },
		{ 29, 0xff, 0, 0x13, { 2, 4, 0, 2 } },
		{ 35, 3, 0, 0x43, { 2, 2, 0, 2 } },
		{ 35, 8, STATUS_FIELD, 0x23, { 2, 2, 0, 2 } },
		{ 35, 0xf, 0, 0x27, { 2, 4, 0, 2 } },
		/* LinkSpeedExt2: XDR, and what may come after it; LinkSpeedExt: FDR, EDR, HDR, NDR */
		{ 56, 0, 0, 0x5b, { 2, 4, 0, 2 } },
		{ 56, 1, 0, 0x59, { 2, 4, 0, 1 } },
		{ 56, 4, STATUS_FIELD, 0x39, { 2, 4, 0, 1 } },
		{ 56, 0, 0, 0x39, { 2, 4, 0, 1 } },
		{ 56, 7, 0, 0x3b, { 2, 4, 0, 2 } },
		{ 63, 4, 0, 0x04, { 2, 4, 0, 2 } },
		{ 63, 0x10, STATUS_FIELD, 0x04, { 2, 4, 0, 2 } },
		{ 63, 30, 0, 30, { 2, 4, 0, 2 } },
		{ 63, 0, 0, 30, { 2, 4, 0, 2 } },
		{ 63, 31, 0, 15, { 2, 4, 0, 2 } },
	};
	struct world *w = begin_at((struct fab_rate){ .width = 0x13, .speed = 7, .ext = 15, .ext2 = 3 });
	u8 data[SMP_DATA_BYTES] = { 0 };
	u32 i;

	/* CapabilityMask: extended speeds, CapabilityMask2; in that 2x, HDR, NDR, extended speeds 2, XDR */
	CHECK(ask(w, METHOD_GET, ATTR_PORT_INFO, 0, NULL), 0);
	CHECK(get_be32(w->mad + SMP_DATA + 20), 0xc848);
	CHECK(get_be16(w->mad + SMP_DATA + 60), 0x1c30);
	end(w);
	w = begin_at((struct fab_rate){ .width = 3, .speed = 7, .ext2 = 2 });
	CHECK(ask(w, METHOD_GET, ATTR_PORT_INFO, 0, NULL), 0);
	CHECK(get_be32(w->mad + SMP_DATA + 20), 0xc848);
	CHECK(get_be16(w->mad + SMP_DATA + 60), 0x0800);
	CHECK(w->mad[SMP_DATA + 63], 0);
	end(w);
	w = begin_at((struct fab_rate){ .width = 0x13, .speed = 7, .ext = 15, .ext2 = 3 });
	CHECK(ask(w, METHOD_GET, ATTR_PORT_INFO, 2, NULL), 0);
	CHECK(w->mad[SMP_DATA + 30], 0x13);
	CHECK(w->mad[SMP_DATA + 32] >> 4, 7);
	CHECK(w->mad[SMP_DATA + 62], 0x0f);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		memset(data, 0, sizeof(data));
		data[rows[i].at] = rows[i].set;
		CHECK(ask(w, METHOD_SET, ATTR_PORT_INFO, 2, data), rows[i].status);
		CHECK(ask(w, METHOD_GET, ATTR_PORT_INFO, 2, NULL), 0);
		CHECK(w->mad[SMP_DATA + rows[i].at], rows[i].get);
		memset(data, 0, sizeof(data));
		data[32] = SHCA_IB_STATE_DOWN;
		CHECK(ask(w, METHOD_SET, ATTR_PORT_INFO, 2, data), 0);
		CHECK(ask(w, METHOD_GET, ATTR_PORT_INFO, 2, NULL), 0);
		CHECK(w->mad[SMP_DATA + 31], rows[i].trained[0]);
		CHECK(w->mad[SMP_DATA + 35] >> 4, rows[i].trained[1]);
		CHECK(w->mad[SMP_DATA + 62] >> 4, rows[i].trained[2]);
		CHECK(w->mad[SMP_DATA + 56] >> 5, rows[i].trained[3]);
	}
	end(w);
	w = begin_at((struct fab_rate){ .width = 0x11, .speed = 7 });
	CHECK(ask(w, METHOD_GET, ATTR_PORT_INFO, 2, NULL), 0);
	CHECK(w->mad[SMP_DATA + 31], 0x10);
	end(w);
	/* Without XDR the extended speeds count, and without those the others. */
	w = begin();
	CHECK(ask(w, METHOD_GET, ATTR_PORT_INFO, 0, NULL), 0);
	CHECK(get_be32(w->mad + SMP_DATA + 20), 0x4848);
	CHECK(get_be16(w->mad + SMP_DATA + 60), 0);
	for (i = 0; i < 4; i++) {
		static const u8 enabled[] = { 0, 1, 30, 31 }, active[] = { 2, 1, 0, 2 };

		memset(data, 0, sizeof(data));
		data[63] = enabled[i];
		data[32] = SHCA_IB_STATE_DOWN;
		CHECK(ask(w, METHOD_SET, ATTR_PORT_INFO, 2, data), 0);
		CHECK(ask(w, METHOD_GET, ATTR_PORT_INFO, 2, NULL), 0);
		CHECK(w->mad[SMP_DATA + 62] >> 4, active[i]);
		/* (and at the other end) */
		CHECK(switch_port(w, 1, 1)->active.ext, active[i]);
		CHECK(w->mad[SMP_DATA + 56], 0);
	}
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
	a->node->sw->changed = false;
	/* disabled until somebody enables it */
	data[32] = SHCA_IB_STATE_DOWN;
	data[33] = SHCA_IB_PHYS_DISABLED << 4 | 2;
	CHECK(ask(w, METHOD_SET, ATTR_PORT_INFO, 2, data), 0);
	CHECK(a->phys, SHCA_IB_PHYS_DISABLED);
	CHECK(b->phys, SHCA_IB_PHYS_POLLING);
	CHECK(a->node->sw->changed, false);
	CHECK(a->state, SHCA_IB_STATE_DOWN);
	CHECK(b->state, SHCA_IB_STATE_DOWN);
	fab_link(b, SHCA_IB_PHYS_LINK_UP, true);
	CHECK(a->phys, SHCA_IB_PHYS_DISABLED);
	CHECK(b->phys, SHCA_IB_PHYS_POLLING);
	data[33] = SHCA_IB_PHYS_POLLING << 4 | 2;
	CHECK(ask(w, METHOD_SET, ATTR_PORT_INFO, 2, data), 0);
	CHECK(a->state, SHCA_IB_STATE_INIT);
	CHECK(b->phys, SHCA_IB_PHYS_LINK_UP);
	/* at both ends: each stays so until its own is enabled */
	CHECK(ask(w, METHOD_SET, ATTR_PORT_INFO, 2, DATA([33] = 0x30)), 0);
	fab_link(b, SHCA_IB_PHYS_DISABLED, true);
	CHECK(a->phys, SHCA_IB_PHYS_DISABLED);
	CHECK(b->phys, SHCA_IB_PHYS_DISABLED);
	CHECK(ask(w, METHOD_SET, ATTR_PORT_INFO, 2, DATA([33] = 0x20)), 0);
	CHECK(a->phys, SHCA_IB_PHYS_POLLING);
	CHECK(b->phys, SHCA_IB_PHYS_DISABLED);
	fab_link(b, SHCA_IB_PHYS_LINK_UP, true);
	CHECK(a->phys, SHCA_IB_PHYS_LINK_UP);
	CHECK(b->phys, SHCA_IB_PHYS_LINK_UP);
	/* The same without a cable. */
	CHECK(ask(w, METHOD_SET, ATTR_PORT_INFO, 4, DATA([33] = 0x30)), 0);
	CHECK(w->mad[SMP_DATA + 32] & 0xf, SHCA_IB_STATE_DOWN);
	CHECK(w->mad[SMP_DATA + 33], 0x32);
	CHECK(ask(w, METHOD_SET, ATTR_PORT_INFO, 4, DATA([33] = 0x20)), 0);
	CHECK(w->mad[SMP_DATA + 33], 0x22);
	/* What no port can have is refused. */
	data[36] = (MTU_4096 + 1) << 4;
	CHECK(ask(w, METHOD_SET, ATTR_PORT_INFO, 2, data), STATUS_FIELD);
	data[36] = MTU_4096 << 4;
	put_be16(data + 16, FIRST_MCAST);
	CHECK(ask(w, METHOD_SET, ATTR_PORT_INFO, 0, data), STATUS_FIELD);
	put_be16(data + 16, FIRST_MCAST - 1);
	put_be16(data + 18, FIRST_MCAST);
	CHECK(ask(w, METHOD_SET, ATTR_PORT_INFO, 0, data), STATUS_FIELD);
	put_be16(data + 18, 1);
	/* Port 0 stays as it is. */
	data[32] = SHCA_IB_STATE_DOWN;
	CHECK(ask(w, METHOD_SET, ATTR_PORT_INFO, 0, data), 0);
	CHECK(switch_port(w, 0, 0)->state, SHCA_IB_STATE_ACTIVE);
	end(w);
}

/* @fill: of the first byte of counters; the next ones are larger, unless it is 0 */
static u32 perf(struct world *w, u8 method, u16 attr, u8 port, u16 select, u8 fill)
{
	u32 i;

	request(w, PERF_MGT, method, attr, 0);
	for (i = 4; i < SMP_DATA_BYTES; i++)
		w->mad[SMP_DATA + i] = fill ? fill + i - 4 : 0;
	/* (CounterSelect2 selects PortXmitWait) */
	if (attr == 0x12)
		w->mad[SMP_DATA + 18] = 0;
	w->mad[SMP_DATA] = 0;
	w->mad[SMP_DATA + 1] = port;
	put_be16(w->mad + SMP_DATA + 2, select);
	memset(w->mad + 128, 0xdd, 128);
	if (send(w, 0, 1) != FAB_ANSWERED)
		return ~0u;
	for (i = 128; i < FAB_MAD_BYTES; i++)
		CHECK(w->mad[i], 0xdd);
	return status(w);
}

/* What a switch tells of links that come and go by themselves: PortStateChange and LinkDowned at both ends. */
static void links(void)
{
	struct world *w = begin();
	struct fab_port *ends[] = { switch_port(w, 0, 2), switch_port(w, 1, 1) };
	struct fab_mad mad = { .data = w->mad, .slid = PERMISSIVE, .dlid = PERMISSIVE };
	static const u8 states[] = { SHCA_IB_STATE_INIT, SHCA_IB_STATE_ARMED, SHCA_IB_STATE_ACTIVE };
	u32 i, j;

	for (i = 0; i < ARRAY_SIZE(states); i++) {
		for (j = 0; j < 2; j++) {
			ends[j]->state = states[i];
			ends[j]->node->sw->changed = false;
		}
		fab_link(ends[0], SHCA_IB_PHYS_POLLING, false);
		for (j = 0; j < 2; j++) {
			CHECK(ends[j]->counters.error[FAB_ERR_DOWNED], i + 1);
			CHECK(ends[j]->state, SHCA_IB_STATE_DOWN);
			CHECK(ends[j]->node->sw->changed, true);
			ends[j]->node->sw->changed = false;
		}
		/* Down is no change. */
		fab_link(ends[0], SHCA_IB_PHYS_POLLING, false);
		for (j = 0; j < 2; j++)
			CHECK(ends[j]->counters.error[FAB_ERR_DOWNED], i + 1);
		CHECK(ends[0]->node->sw->changed || ends[1]->node->sw->changed, false);
		fab_link(ends[0], SHCA_IB_PHYS_LINK_UP, false);
		CHECK(ends[0]->node->sw->changed && ends[1]->node->sw->changed, true);
	}
	/* PortCounters has eight bits of it. */
	ends[0]->counters.error[FAB_ERR_DOWNED] = 254;
	for (i = 0; i < 2; i++) {
		fab_link(ends[0], SHCA_IB_PHYS_POLLING, false);
		fab_link(ends[0], SHCA_IB_PHYS_LINK_UP, false);
		set_up(w);
		CHECK(perf(w, METHOD_GET, 0x12, 2, 0, 0), 0);
		CHECK(w->mad[SMP_DATA + 7], 255);
	}
	/* A new cable. */
	ends[0]->node->sw->changed = false;
	ends[1]->node->sw->changed = false;
	fab_join(switch_port(w, 0, 4), switch_port(w, 1, 4));
	CHECK(ends[0]->node->sw->changed && ends[1]->node->sw->changed, true);
	/* A switch that is switched on, without any. */
	memset(w->node[2].ports, 0, (PORTS + 1) * sizeof(*w->node[2].ports));
	w->node[2].sw->changed = false;
	w->node[2].sw->lft_top = 0;
	fab_node_init(&w->fabric, &w->node[2]);
	directed(w, METHOD_GET, SWITCH_INFO, 0, 0, (const u8[]){ 0 });
	CHECK(fab_send(switch_port(w, 2, 0), &mad, w->now), FAB_ANSWERED);
	CHECK_ALL([0] = 0xc0, [4] = 4, [11] = 0x94, [15] = 32, 0xc0);
	/* P_Keys to begin with: the default one, of a full member */
	for (i = 0; i <= PORTS; i++) {
		CHECK(ask(w, METHOD_GET, ATTR_PKEY_TABLE, i << 16, NULL), 0);
		CHECK_ALL(0xff, 0xff);
	}
	CHECK(ask_host(w, METHOD_GET, ATTR_PKEY_TABLE, 0, NULL), ~0u);
	/* A manager at a port is a bit of CapabilityMask. */
	for (i = 0; i < 2; i++) {
		fab_set_manager(switch_port(w, 0, 0), !i);
		CHECK(ask(w, METHOD_GET, ATTR_PORT_INFO, 0, NULL), 0);
		CHECK(get_be32(w->mad + SMP_DATA + 20), i ? 0x4848 : 0x484a);
	}
	end(w);
}

/* Tables have room for port 0, too. */
static void sizes(void)
{
	CHECK(fab_positions(15), 1);
	CHECK(fab_positions(16), 2);
	CHECK(fab_positions(31), 2);
	CHECK(fab_mft_bytes(16), 1024 * 2 * 2);
	CHECK(fab_sl2vl_bytes(2) >= 3 * 3 * 8, true);
}

static void keys(void)
{
	struct world *w = begin();
	struct fab_end *end_port = &switch_port(w, 0, 0)->end;
	u64 sent;

	set_up(w);
	end_port->mkey.key = 7;
	CHECK(ask(w, METHOD_GET, ATTR_PORT_INFO, 0, NULL), 0);
	CHECK(get_be64(w->mad + SMP_DATA), 7);
	end_port->mkey.prot = 1;
	CHECK(ask(w, METHOD_GET, ATTR_PORT_INFO, 0, NULL), 0);
	CHECK(get_be64(w->mad + SMP_DATA), 0);	/* who has not the key does not see it */
	sent = switch_port(w, 0, 3)->counters.xmit_pkts;
	CHECK(ask(w, METHOD_SET, LINEAR_TABLE, 0, NULL), ~0u);
	CHECK(end_port->mkey.violations, 1);
	/* What has no answer sends none. */
	CHECK(switch_port(w, 0, 3)->counters.xmit_pkts, sent);
	CHECK(ask(w, METHOD_GET, LINEAR_TABLE, 0, NULL), 0);
	CHECK(switch_port(w, 0, 3)->counters.xmit_pkts, sent + 1);
	request(w, CLASS_LID_ROUTED, METHOD_SET, LINEAR_TABLE, 0);
	CHECK(send(w, 0, end_port->lid), FAB_DROPPED);
	CHECK(switch_port(w, 0, 3)->counters.xmit_pkts, sent + 1);
	CHECK(end_port->mkey.violations, 2);
	CHECK(w->fabric.waiting == &w->node[0], true);
	end_port->mkey.prot = 2;
	end_port->mkey.lease = 3;
	CHECK(ask(w, METHOD_GET, LINEAR_TABLE, 0, NULL), ~0u);
	w->now += 3 * SECOND;
	CHECK(ask(w, METHOD_GET, LINEAR_TABLE, 0, NULL), 0);
	/* Who has the key, and sets PortInfo, ends the lease. */
	end_port->mkey = (struct shca_ib_mkey){ .key = 7, .prot = 2, .lease = 3, .lease_end = w->now + SECOND };
	directed(w, METHOD_SET, ATTR_PORT_INFO, 0, 1, (const u8[]){ 1 });
	put_be64(w->mad + SMP_MKEY, 7);
	put_be64(w->mad + SMP_DATA, 7);
	w->mad[SMP_DATA + 34] = 0x80;
	CHECK(send(w, 0, 0), FAB_ANSWERED);
	w->now += 3 * SECOND;
	CHECK(ask(w, METHOD_GET, LINEAR_TABLE, 0, NULL), ~0u);
	end(w);
}

/* Of each port of a switch, and of the first port of an adapter, to the manager's. */
static void traps_of_ports(void)
{
	static const struct shca_ib_bad_key bad = {
		.key = 0x8007, .sl = 3, .slid = 11, .dlid = 12, .sqpn = 0x123456, .dqpn = 0x654321,
	};
	struct world *w = begin();
	struct fab_mad mad = { .data = w->mad };
	const u8 *notice = w->mad + SMP_DATA;

	/* No manager has set up anything. */
	fab_trap_pkey(switch_port(w, 1, 2), &bad);
	fab_trap_port(switch_port(w, 1, 2), SHCA_IB_TRAP_WATCHDOG);
	CHECK(fab_trap_deadline(&w->fabric), ~0ull);
	set_up(w);
	fab_trap_pkey(switch_port(w, 1, 2), &bad);
	fab_trap_pkey(switch_port(w, 1, 2), &bad);
	fab_trap_pkey(switch_port(w, 1, 3), &bad);
	CHECK(fab_trap_next(&w->fabric, &mad, w->now), true);
	CHECK(mad.to == host(w, 0), true);
	CHECK(mad.slid, 2);
	CHECK(get_be24(notice + 1), 2);
	CHECK(get_be16(notice + 4), 259);
	CHECK(get_be16(notice + 10 + 6), 0x8007);
	CHECK(get_be16(notice + 10 + 48), 2);
	CHECK(notice[10 + 50], 2);
	w->mad[MAD_METHOD] = METHOD_TRAP_REPRESS;
	CHECK(send(w, 0, 2), FAB_CONSUMED);
	w->now += 100 * SECOND;
	CHECK(fab_trap_next(&w->fabric, &mad, w->now), true);
	CHECK(get_be16(notice + 4), 259);
	CHECK(notice[10 + 50], 3);
	w->mad[MAD_METHOD] = METHOD_TRAP_REPRESS;
	CHECK(send(w, 0, 2), FAB_CONSUMED);
	CHECK(fab_trap_deadline(&w->fabric), ~0ull);
	fab_trap_port(switch_port(w, 1, 2), SHCA_IB_TRAP_WATCHDOG);
	w->now += 100 * SECOND;
	CHECK(fab_trap_next(&w->fabric, &mad, w->now), true);
	CHECK(get_be16(notice + 4), 131);
	CHECK(get_be16(notice + 10 + 2), 2);
	CHECK(notice[10 + 4], 2);
	/* a channel adapter */
	fab_trap_port(host(w, 2), SHCA_IB_TRAP_INTEGRITY);
	CHECK(fab_trap_next(&w->fabric, &mad, w->now), true);
	CHECK(get_be24(notice + 1), 1);
	CHECK(mad.slid, host(w, 2)->end.lid);
	CHECK(get_be16(notice + 4), 129);
	CHECK(notice[10 + 4], host(w, 2)->number);
	end(w);
}

static void traps(void)
{
	struct world *w = begin();
	struct fab_mad mad = { .data = w->mad, .sqp = 0x10, .dqp = 0x20 };
	u32 i;

	CHECK(fab_trap_deadline(&w->fabric), ~0ull);
	set_up(w);
	fab_link(switch_port(w, 2, 1), SHCA_IB_PHYS_POLLING, true);
	/* the second switch reports it, the third one was told */
	CHECK(fab_trap_next(&w->fabric, &mad, w->now), true);
	CHECK(mad.to == host(w, 0), true);
	CHECK(mad.slid, 2);
	CHECK(mad.dlid, 11);
	CHECK(w->mad[MAD_METHOD], METHOD_TRAP);
	CHECK(w->mad[SMP_DATA], 0x81);
	CHECK(get_be24(w->mad + SMP_DATA + 1), 2);	/* a switch */
	CHECK(get_be16(w->mad + SMP_DATA + 4), 128);
	CHECK(mad.sqp | mad.dqp, 0);
	CHECK(fab_trap_next(&w->fabric, &mad, w->now), false);
	/* again, until it is repressed */
	w->now = fab_trap_deadline(&w->fabric);
	CHECK(fab_trap_next(&w->fabric, &mad, w->now), true);
	w->mad[MAD_METHOD] = METHOD_TRAP_REPRESS;
	switch_port(w, 1, 0)->end.mkey = (struct shca_ib_mkey){ .key = 7, .prot = 1 };
	CHECK(send(w, 0, 2), FAB_CONSUMED);
	w->now = fab_trap_deadline(&w->fabric);
	CHECK(fab_trap_next(&w->fabric, &mad, w->now), true);
	w->mad[MAD_METHOD] = METHOD_TRAP_REPRESS;
	put_be64(w->mad + SMP_MKEY, 7);
	CHECK(send(w, 0, 2), FAB_CONSUMED);
	switch_port(w, 1, 0)->end.mkey = (struct shca_ib_mkey){ 0 };
	/* The notice can be read, until a Set with its toggle bit drops it. */
	for (i = 0; i < 2; i++) {
		request(w, CLASS_LID_ROUTED, METHOD_GET, ATTR_NOTICE, 0);
		CHECK(send(w, 0, 2), FAB_ANSWERED);
		CHECK(get_be16(w->mad + SMP_DATA + 4), i ? 0 : 128);
		w->mad[MAD_METHOD] = METHOD_SET;
		CHECK(send(w, 0, 2), FAB_ANSWERED);
		CHECK(get_be16(w->mad + SMP_DATA + 4), 0);
	}
	w->now += 100 * SECOND;
	CHECK(fab_trap_next(&w->fabric, &mad, w->now), false);
	CHECK(fab_trap_deadline(&w->fabric), ~0ull);
	/* Of several nodes, each once, whichever ends first. */
	fab_link(switch_port(w, 2, 1), SHCA_IB_PHYS_LINK_UP, false);
	CHECK(fab_trap_next(&w->fabric, &mad, w->now), true);
	fab_set_manager(host(w, 0), true);
	CHECK(fab_trap_next(&w->fabric, &mad, w->now), true);
	CHECK(get_be16(w->mad + SMP_DATA + 4), 144);
	CHECK(get_be24(w->mad + SMP_DATA + 1), 1);	/* a channel adapter */
	/* its CapabilityMask has changed, and nothing else */
	CHECK(w->mad[SMP_DATA + 10 + 5], 0);
	CHECK(get_be32(w->mad + SMP_DATA + 10 + 6), host(w, 0)->end.cap_mask);
	CHECK(get_be16(w->mad + SMP_DATA + 10 + 10), 0);
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

static void counters(void)
{
	struct world *w = begin();
	struct fab_counters *c;
	u64 before;
	u8 select;

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
	CHECK(c->error[FAB_ERR_SYMBOL], 0x1112);
	c->xmit_pkts += 5;
	CHECK(perf(w, METHOD_SET, 0x1d, 4, 1u << 2, 0), 0);
	CHECK(c->xmit_pkts, 0);
	CHECK(perf(w, METHOD_GET, 0x12, 4, 0, 0), 0);
	CHECK(get_be32(w->mad + SMP_DATA + 32), 5);
	/* PortXmitWait, in microseconds, which bit 0 of CounterSelect2 sets. */
	c->xmit_wait = 0x12345678ull * 1000 + 999;
	CHECK(perf(w, METHOD_GET, 0x12, 4, 0, 0), 0);
	CHECK(get_be32(w->mad + SMP_DATA + 40), 0x12345678);
	CHECK(get_be32(w->mad + SMP_DATA + 44), 0);
	for (select = 2; select; select--) {
		request(w, PERF_MGT, METHOD_SET, 0x12, 0);
		w->mad[SMP_DATA + 1] = 4;
		w->mad[SMP_DATA + 18] = select;
		put_be32(w->mad + SMP_DATA + 40, 0x11111111);
		CHECK(send(w, 0, 1), FAB_ANSWERED);
		CHECK(get_be32(w->mad + SMP_DATA + 40), select == 1 ? 0x11111111 : 0x12345678);
	}
	c->xmit_wait += 2000;
	CHECK(perf(w, METHOD_GET, 0x12, 4, 0, 0), 0);
	CHECK(get_be32(w->mad + SMP_DATA + 40), 0x11111113);
	c->xmit_wait += 0x100000000ull * 1000;
	CHECK(perf(w, METHOD_GET, 0x12, 4, 0, 0), 0);
	CHECK(get_be32(w->mad + SMP_DATA + 40), 0xffffffff);
	/* all ports; no such port */
	before = switch_port(w, 0, 3)->counters.rcv_pkts;
	CHECK(perf(w, METHOD_GET, 0x1d, 255, 0, 0), 0);
	CHECK(get_be64(w->mad + SMP_DATA + 32), before + 1);
	CHECK(perf(w, METHOD_GET, 0x12, PORTS + 1, 0, 0), STATUS_FIELD);
	CHECK(perf(w, METHOD_GET, 0x77, 1, 0, 0), STATUS_ATTR);
	CHECK(perf(w, 3, 0x12, 1, 0, 0), STATUS_METHOD);
	end(w);
}

/* Counters of PortCounters (IBTA 16.1.3.5), in the order of the bits of CounterSelect. */
static const struct {
	u8 offset;
	u8 bits;
	u8 shift;
} places[] = {
	{ 4, 16 }, { 6, 8 }, { 7, 8 }, { 8, 16 }, { 10, 16 }, { 12, 16 }, { 14, 16 }, { 16, 8 }, { 17, 8 }, { 19, 4, 4 },
	{ 19, 4 }, { 22, 16 }, { 24, 32 }, { 28, 32 }, { 32, 32 }, { 36, 32 },
};

#define SELECTS		ARRAY_SIZE(places)

static void put_counter(u8 *data, u32 i, u32 value)
{
	u8 *at = data + places[i].offset;

	if (places[i].bits == 32)
		put_be32(at, value);
	else if (places[i].bits == 16)
		put_be16(at, value);
	else if (places[i].bits == 8)
		*at = value;
	else
		*at = (*at & ~(0xf << places[i].shift)) | value << places[i].shift;
}

static void set_counters(struct fab_counters *c, const u64 values[SELECTS])
{
	u32 i;

	memset(c, 0, sizeof(*c));
	for (i = 0; i < FAB_ERR_NR; i++)
		c->error[i] = values[i];
	c->xmit_data = values[12];
	c->rcv_data = values[13];
	c->xmit_pkts = values[14];
	c->rcv_pkts = values[15];
}

/* Each counter by itself: where it is, where it ends, what sets it, and the sum of all ports. */
static void counters_each(void)
{
	struct world *w = begin();
	struct fab_counters *c = &switch_port(w, 0, 4)->counters;
	u64 values[SELECTS], most;
	u8 wanted[SMP_DATA_BYTES];
	u32 i, j, k;

	set_up(w);
	for (i = 0; i < SELECTS; i++) {
		for (j = 0; j < SELECTS; j++)
			values[j] = j % 13 + 1;
		most = (1ull << places[i].bits) - 1;
		for (j = 0; j < 3; j++) {
			/* the largest value, and beyond */
			values[i] = most + j;
			if (values[i] > 0xffffffffull && i < FAB_ERR_NR)
				continue;
			set_counters(c, values);
			memset(wanted, 0, sizeof(wanted));
			wanted[1] = 4;
			put_be16(wanted + 2, 0x1234);
			for (k = 0; k < SELECTS; k++)
				put_counter(wanted, k, k == i ? most : values[k]);
			CHECK(perf(w, METHOD_GET, 0x12, 4, 0x1234, 0xee), 0);
			check_all(w, wanted, __LINE__);
		}
		/* A Set of it changes it and no other. */
		values[i] = 3;
		set_counters(c, values);
		put_be16(wanted + 2, 1u << i);
		/* (what perf() fills it with) */
		for (j = 0, most = 0; j < 4; j++)
			most = most << 8 | (0x21 + places[i].offset - 4 + j);
		put_counter(wanted, i, places[i].bits == 4 ? (most >> 24) >> places[i].shift & 0xf : most >> (32 - places[i].bits));
		CHECK(perf(w, METHOD_SET, 0x12, 4, 1u << i, 0x21), 0);
		check_all(w, wanted, __LINE__);
		/* PortCountersExtended are others. */
		CHECK(perf(w, METHOD_GET, 0x1d, 4, 0x1234, 0xee), 0);
		memset(wanted, 0, sizeof(wanted));
		wanted[1] = 4;
		put_be16(wanted + 2, 0x1234);
		for (j = 0; j < 4; j++)
			put_be64(wanted + 8 + 8 * j, values[12 + j]);
		put_be64(wanted + 40, values[14]);
		put_be64(wanted + 48, values[15]);
		check_all(w, wanted, __LINE__);
	}
	CHECK(perf(w, METHOD_SET, 0x1d, 4, 0xffff, 0), 0);
	/* The other way round. */
	for (i = 0; i < 4; i++) {
		for (j = 0; j < 4; j++)
			values[12 + j] = 0x100 + j;
		set_counters(c, values);
		CHECK(perf(w, METHOD_SET, 0x1d, 4, 1u << i, 1), 0);
		for (j = 0; j < 4; j++)
			CHECK(get_be64(w->mad + SMP_DATA + 8 + 8 * j),
			      i == j ? 0x05060708090a0b0cull + 0x0808080808080808ull * i : 0x100 + j);
		CHECK(perf(w, METHOD_GET, 0x12, 4, 0, 0), 0);
		for (j = 0; j < 4; j++)
			CHECK(get_be32(w->mad + SMP_DATA + 24 + 4 * j), 0x100 + j);
	}
	end(w);
}

static void counters_of_all(void)
{
	struct world *w = begin();
	u64 values[SELECTS];
	u8 wanted[SMP_DATA_BYTES] = { 0 };
	u32 i, j;

	/* (asked by a path that no counter is of: from the switch itself) */
	switch_port(w, 0, 0)->end.lid = 1;
	for (i = 0; i <= PORTS; i++) {
		for (j = 0; j < SELECTS; j++)
			values[j] = i == 0 || i == 4 || i == PORTS ? j % 4 + 1 : 0;
		set_counters(&switch_port(w, 0, i)->counters, values);
		for (j = 0; j < FAB_DETAIL_NR; j++)
			switch_port(w, 0, i)->counters.detail[j] = values[j];
	}
	wanted[1] = 255;
	for (j = 0; j < SELECTS; j++)
		put_counter(wanted, j, 3 * (j % 4 + 1));
	for (i = 0; i < 6; i++) {
		static const struct {
			u8 method;
			u16 attr;
			u8 port;
		} asks[] = {
			{ METHOD_GET, 0x12, 255 }, { METHOD_GET, 0x15, 255 }, { METHOD_GET, 0x16, 255 },
			{ METHOD_SET, 0x15, 4 }, { METHOD_GET, 0x15, 255 }, { METHOD_GET, 0x16, 255 },
		};
		static const u8 lost[] = { 0, 6, 3, 0, 4, 3 };
		struct fab_mad mad = { .data = w->mad, .slid = 1, .dlid = 1 };

		request(w, PERF_MGT, asks[i].method, asks[i].attr, 0);
		memset(w->mad + SMP_DATA + 4, asks[i].method == METHOD_SET ? 0 : 0xee, 60);
		w->mad[SMP_DATA + 1] = asks[i].port;
		if (asks[i].method == METHOD_SET)
			put_be16(w->mad + SMP_DATA + 2, 0xffff);
		CHECK(fab_send(switch_port(w, 0, 0), &mad, w->now), FAB_ANSWERED);
		CHECK(status(w), 0);
		if (asks[i].attr == 0x12)
			check_all(w, wanted, __LINE__);
		if (asks[i].method == METHOD_SET)
			continue;
		if (asks[i].attr == 0x15) {
			CHECK(get_be16(w->mad + SMP_DATA + 10), lost[i]);
			CHECK(get_be16(w->mad + SMP_DATA + 14), lost[i] / 2 * 3);
		}
		if (asks[i].attr == 0x16)
			CHECK(get_be16(w->mad + SMP_DATA + 4), lost[i]);
	}
	end(w);
}

static void perf_agent(void)
{
	struct world *w = begin();
	struct fab_counters *c = &switch_port(w, 0, 4)->counters;
	u32 i;

	set_up(w);
	/* ClassPortInfo: AllPortSelect, extended widths, PortXmitWait; RespTimeValue */
	CHECK(perf(w, METHOD_GET, 1, 0, 0, 0xee), 0);
	CHECK_ALL(1, 1, 0x13, 0, [7] = 18);
	CHECK(perf(w, METHOD_SET, 1, 0, 0, 0), STATUS_ATTR);
	/* Details end at 65,535, and a Set resets those of its attribute. */
	for (i = 0; i < FAB_DETAIL_NR; i++)
		c->detail[i] = 0x10000 + i;
	CHECK(perf(w, METHOD_GET, 0x15, 4, 0x1234, 0xee), 0);
	CHECK(get_be32(w->mad + SMP_DATA), 0x00041234);
	CHECK(get_be32(w->mad + SMP_DATA + 8) & 0xffff, 0xffff);
	CHECK(get_be16(w->mad + SMP_DATA + 14), 0xffff);
	for (i = 16; i < SMP_DATA_BYTES; i++)
		CHECK(w->mad[SMP_DATA + i], 0);
	CHECK(perf(w, METHOD_GET, 0x16, 4, 0x1234, 0xee), 0);
	CHECK(get_be16(w->mad + SMP_DATA + 4), 0xffff);
	for (i = 12; i < SMP_DATA_BYTES; i++)
		CHECK(w->mad[SMP_DATA + i], 0);
	CHECK(perf(w, METHOD_SET, 0x16, 4, 0xffff, 0), 0);
	CHECK_ALL(0, 4, 0xff, 0xff);
	CHECK(perf(w, METHOD_GET, 0x15, 4, 0, 0), 0);
	CHECK(get_be16(w->mad + SMP_DATA + 10), 0xffff);
	CHECK(perf(w, METHOD_SET, 0x15, 4, 0xffff, 0), 0);
	CHECK(get_be16(w->mad + SMP_DATA + 10), 0);
	CHECK(get_be16(w->mad + SMP_DATA + 14), 0);
	for (i = 12; i < SMP_DATA_BYTES; i++)
		CHECK(w->mad[SMP_DATA + i], 0);
	/* A host has no port 0. */
	for (i = 0; i <= 3; i++) {
		request(w, PERF_MGT, METHOD_GET, 0x12, 0);
		w->mad[SMP_DATA + 1] = i;
		CHECK(send(w, 0, 12), FAB_ANSWERED);
		CHECK(status(w), i == 1 || i == 2 ? 0 : STATUS_FIELD);
	}
	w->node[SWITCHES + 1].ports[1].counters.error[FAB_ERR_SYMBOL] = 4;
	w->node[SWITCHES + 1].ports[2].counters.error[FAB_ERR_SYMBOL] = 5;
	CHECK(perf(w, METHOD_GET, 0x12, 0, 0, 0), 0);
	request(w, PERF_MGT, METHOD_GET, 0x12, 0);
	w->mad[SMP_DATA + 1] = 255;
	CHECK(send(w, 0, 12), FAB_ANSWERED);
	CHECK(get_be16(w->mad + SMP_DATA + 4), 9);
	/* Versions; an answer is for a program. */
	for (i = 0; i < 3; i++) {
		static const u8 at[] = { MAD_BASE_VERSION, MAD_CLASS_VERSION, MAD_METHOD }, value[] = { 2, 2, 0x81 };

		request(w, PERF_MGT, METHOD_GET, 0x12, 0);
		w->mad[at[i]] = value[i];
		CHECK(send(w, 0, 1), i < 2 ? FAB_ANSWERED : FAB_ARRIVED);
		CHECK(status(w), i < 2 ? STATUS_VERSION : 0);
		CHECK(w->mad[MAD_METHOD], 0x81);
	}
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
			CHECK(port->neighbor_mtu >= 1 && port->neighbor_mtu <= MTU_4096, true);
			CHECK(port->lanes.code >= 1 && port->lanes.code <= SHCA_IB_VL_CAP, true);
			CHECK(port->end.lid < FIRST_MCAST && port->end.lmc < 8, true);
			CHECK((port->enabled.width & ~port->supported.width) ||
			      (port->enabled.speed & ~port->supported.speed), false);
			if (node->sw && !j)
				CHECK(port->state, SHCA_IB_STATE_ACTIVE);
		}
	}
}

/* ---- congestion control ----------------------------------------------------- */

/* Numbers and places of annex A10.4. */
#define CONG_MGT		0x21
#define CONG_KEY_AT		24
#define CONG_LOG_AT		32
#define CONG_AT			64
#define CONG_INFO		0x11
#define CONG_KEY_INFO		0x12
#define CONG_LOG		0x13
#define SWITCH_SETTING		0x14
#define SWITCH_PORT_SETTING	0x15
#define CA_SETTING		0x16
#define CONG_TABLE		0x17
#define TIME_STAMP		0x18

/* @data: 192 bytes, or NULL. Return: status; ~0: no answer. */
static u32 cong(struct world *w, u16 lid, u8 method, u16 attr, u32 mod, u64 key, const u8 *data)
{
	enum fab_verdict verdict;

	request(w, CONG_MGT, method, attr, mod);
	w->mad[MAD_CLASS_VERSION] = 2;
	memset(w->mad + CONG_KEY_AT, 0, FAB_MAD_BYTES - CONG_KEY_AT);
	put_be64(w->mad + CONG_KEY_AT, key);
	if (data)
		memcpy(w->mad + CONG_AT, data, 192);
	verdict = send(w, 0, lid);
	if (verdict == FAB_DROPPED)
		return ~0u;
	CHECK(verdict, FAB_ANSWERED);
	CHECK(w->mad[MAD_METHOD], 0x81);
	CHECK(get_be64(w->mad + MAD_TID), 0x1122334455667788ull);
	return status(w);
}

/* Which node has which attribute, and what can be set (table of A10.4.3). */
static void cong_attributes(void)
{
	struct world *w = begin();
	static const struct {
		u16 attr;
		bool of_switch, of_ca, set;
	} rows[] = {
		{ 0x01, true, true, false }, { 0x02, false, false, false }, { 0x10, false, false, false },
		{ CONG_INFO, true, true, false }, { CONG_KEY_INFO, true, true, true }, { CONG_LOG, true, false, false },
		{ SWITCH_SETTING, true, false, true }, { SWITCH_PORT_SETTING, true, false, true },
		{ CA_SETTING, false, true, true }, { CONG_TABLE, false, true, true }, { TIME_STAMP, true, true, false },
		{ 0x19, false, false, false }, { 0xffff, false, false, false },
	};
	u32 i;

	set_up(w);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CHECK(cong(w, 1, METHOD_GET, rows[i].attr, 0, 0, NULL), rows[i].of_switch ? 0 : 0x0c);
		CHECK(cong(w, 12, METHOD_GET, rows[i].attr, 0, 0, NULL), rows[i].of_ca ? 0 : 0x0c);
		CHECK(cong(w, 1, METHOD_SET, rows[i].attr, 0, 0, NULL), rows[i].of_switch && rows[i].set ? 0 : 0x0c);
		CHECK(cong(w, 12, METHOD_SET, rows[i].attr, 0, 0, NULL), rows[i].of_ca && rows[i].set ? 0 : 0x0c);
		if (rows[i].of_switch)
			CHECK(cong(w, 1, METHOD_GET, rows[i].attr, 1, 0, NULL), 0x1c);
		if (rows[i].of_ca)
			CHECK(cong(w, 12, METHOD_GET, rows[i].attr, rows[i].attr == CONG_TABLE ? 2 : 1, 0, NULL), 0x1c);
	}
	CHECK(cong(w, 1, METHOD_GET, 1, 0, 0, NULL), 0);
	CHECK(get_be32(w->mad + CONG_AT), 0x01020000);
	CHECK(get_be32(w->mad + CONG_AT + 4), 18);
	CHECK(cong(w, 1, METHOD_GET, CONG_INFO, 0, 0, NULL), 0);
	CHECK(w->mad[CONG_AT + 2], 0);
	/* (blocks of 64 entries of the table) */
	CHECK(cong(w, 12, METHOD_GET, CONG_INFO, 0, 0, NULL), 0);
	CHECK(w->mad[CONG_AT + 2], 2);
	w->now = 5 * SECOND;
	CHECK(cong(w, 1, METHOD_GET, TIME_STAMP, 0, 0, NULL), 0);
	CHECK(get_be32(w->mad + CONG_AT), 4882812);
	/* versions and methods; other methods of the class are for a manager */
	CHECK(cong(w, 1, 0x03, CONG_INFO, 0, 0, NULL), 0x08);
	CHECK(cong(w, 1, METHOD_TRAP, 0x02, 0, 0, NULL), ~0u);
	CHECK(cong(w, 1, METHOD_TRAP_REPRESS, 0x02, 0, 0, NULL), ~0u);
	CHECK(cong(w, 1, METHOD_REPORT, 0x02, 0, 0, NULL), ~0u);
	request(w, CONG_MGT, 0x81, CONG_INFO, 0);
	CHECK(send(w, 0, 1), FAB_ARRIVED);
	request(w, CONG_MGT, METHOD_GET, CONG_INFO, 0);
	CHECK(send(w, 0, 1), FAB_ANSWERED);	/* class version 1 */
	CHECK(status(w), 0x04);
	request(w, CONG_MGT, METHOD_GET, CONG_INFO, 0);
	w->mad[MAD_CLASS_VERSION] = 2;
	w->mad[MAD_BASE_VERSION] = 2;
	CHECK(send(w, 0, 1), FAB_ANSWERED);
	CHECK(status(w), 0x04);
	end(w);
}

/* Control_Map says which parts of the setting of a switch count. It is that of all ports, until one has another. */
static void cong_of_switch(void)
{
	struct world *w = begin();
	u8 data[192] = { 0 }, want[192] = { 0 };
	u32 i;

	set_up(w);
	for (i = 4; i < 76; i++)
		data[i] = 1 + i;
	put_be32(data, 0x1f);
	memcpy(want, data, 76);
	CHECK(cong(w, 1, METHOD_SET, SWITCH_SETTING, 0, 0, data), 0);
	CHECK(memcmp(w->mad + CONG_AT, want, 192), 0);
	CHECK(cong(w, 1, METHOD_GET, SWITCH_SETTING, 0, 0, NULL), 0);
	CHECK(memcmp(w->mad + CONG_AT, want, 192), 0);
	/* (another switch has its own) */
	CHECK(cong(w, 2, METHOD_GET, SWITCH_SETTING, 0, 0, NULL), 0);
	CHECK(get_be32(w->mad + CONG_AT), 0);
	CHECK(cong(w, 1, METHOD_GET, SWITCH_PORT_SETTING, 0, 0, NULL), 0);
	for (i = 0; i < 32; i++)
		/* Threshold 4, Packet_Size 70, Marking_Rate 0x4b4c, of ports that there are */
		CHECK(get_be32(w->mad + CONG_AT + 4 * i), i <= PORTS ? 0x84464b4c : 0);
	for (i = 0; i < 5; i++) {
		static const struct {
			u8 at, nr;
		} parts[] = { { 4, 32 }, { 36, 32 }, { 68, 2 }, { 70, 4 }, { 74, 2 } };

		memset(data, 0xa0 + i, 76);
		put_be32(data, 1u << i);
		put_be32(want, 1u << i);
		memset(want + parts[i].at, 0xa0 + i, parts[i].nr);
		CHECK(cong(w, 1, METHOD_SET, SWITCH_SETTING, 0, 0, data), 0);
		CHECK(memcmp(w->mad + CONG_AT, want, 192), 0);
	}
	CHECK(cong(w, 1, METHOD_GET, SWITCH_PORT_SETTING, 0, 0, NULL), 0);
	CHECK(get_be32(w->mad + CONG_AT + 4 * PORTS), 0x8aa2a4a4);
	/* One port: those that are not valid, or of credit starvation, stay. */
	memset(data, 0, sizeof(data));
	put_be32(data + 4, 0x0f010002);
	put_be32(data + 8, 0xcf010002);
	put_be32(data + 12, 0xbf010002);
	CHECK(cong(w, 1, METHOD_SET, SWITCH_PORT_SETTING, 0, 0, data), 0);
	for (i = 0; i < 5; i++)
		CHECK(get_be32(w->mad + CONG_AT + 4 * i), i == 3 ? 0x8f010002 : 0x8aa2a4a4);
	CHECK(cong(w, 1, METHOD_GET, CONG_LOG, 0, 0, NULL), 0);
	CHECK(get_be32(w->mad + CONG_LOG_AT), 0x01010000);
	CHECK(cong(w, 2, METHOD_GET, CONG_LOG, 0, 0, NULL), 0);
	CHECK(get_be32(w->mad + CONG_LOG_AT), 0x01000000);
	end(w);
}

/* The setting of an adapter: entries of service levels in Control_Map, and both blocks of the table. */
static void cong_of_adapter(void)
{
	struct world *w = begin();
	u8 data[192] = { 0 };
	u32 i;

	set_up(w);
	put_be32(data, 0x00018001);
	for (i = 0; i < 16; i++) {
		put_be32(data + 4 + 8 * i, 0x01020304 + i);
		data[8 + 8 * i] = 5;
	}
	CHECK(cong(w, 12, METHOD_SET, CA_SETTING, 0, 0, data), 0);
	CHECK(get_be32(w->mad + CONG_AT), 0x00018001);
	for (i = 0; i < 16; i++) {
		CHECK(get_be32(w->mad + CONG_AT + 4 + 8 * i), i == 0 || i == 15 ? 0x01020304 + i : 0);
		CHECK(get_be32(w->mad + CONG_AT + 8 + 8 * i), i == 0 || i == 15 ? 0x05000000 : 0);
	}
	put_be32(data, 2);
	CHECK(cong(w, 12, METHOD_SET, CA_SETTING, 0, 0, data), 0);
	for (i = 0; i < 3; i++)
		CHECK(get_be32(w->mad + CONG_AT + 4 + 8 * i), i < 2 ? 0x01020304 + i : 0);
	for (i = 0; i < 2; i++) {
		memset(data, 0, sizeof(data));
		put_be16(data, 126 + i);
		memset(data + 4, 0x11 + i, 128);
		CHECK(cong(w, 12, METHOD_SET, CONG_TABLE, i, 0, data), 0);
		CHECK(memcmp(w->mad + CONG_AT, data, 192), 0);
	}
	for (i = 0; i < 2; i++) {
		CHECK(cong(w, 12, METHOD_GET, CONG_TABLE, i, 0, NULL), 0);
		CHECK(get_be16(w->mad + CONG_AT), 127);
		CHECK(get_be16(w->mad + CONG_AT + 4), i ? 0x1212 : 0x1111);
		CHECK(get_be16(w->mad + CONG_AT + 4 + 2 * 63), get_be16(w->mad + CONG_AT + 4));
	}
	put_be16(data, 128);
	CHECK(cong(w, 12, METHOD_SET, CONG_TABLE, 0, 0, data), 0x1c);
	CHECK(cong(w, 12, METHOD_GET, CONG_TABLE, 0, 0, NULL), 0);
	CHECK(get_be16(w->mad + CONG_AT), 127);
	CHECK(cong(w, 12, METHOD_SET, CONG_TABLE, 0xffffffff, 0, data), 0x1c);
	end(w);
}

#define OWN_KEY		0x1234567890ull

/* CC_Key: what has a wrong one is counted and has no answer. The lease ends the protection of the key, and of nothing else. */
static void cong_key(void)
{
	struct world *w = begin();
	u8 data[192] = { 0 };

	set_up(w);
	put_be64(data, OWN_KEY);
	data[8] = 0x80;
	put_be16(data + 10, 2);
	CHECK(cong(w, 1, METHOD_SET, CONG_KEY_INFO, 0, 77, data), 0);
	CHECK(memcmp(w->mad + CONG_AT, data, 192), 0);
	CHECK(cong(w, 1, METHOD_GET, SWITCH_SETTING, 0, 0, NULL), ~0u);
	CHECK(cong(w, 1, METHOD_SET, SWITCH_SETTING, 0, OWN_KEY + 1, data), ~0u);
	CHECK(cong(w, 1, METHOD_GET, CONG_KEY_INFO, 0, 0, NULL), ~0u);
	CHECK(cong(w, 1, METHOD_GET, SWITCH_SETTING, 0, OWN_KEY, NULL), 0);
	CHECK(get_be32(w->mad + CONG_AT), 0);
	CHECK(cong(w, 1, METHOD_GET, CONG_KEY_INFO, 0, OWN_KEY, NULL), 0);
	CHECK(get_be16(w->mad + CONG_AT + 12), 3);
	/* The packet with the key has ended the lease that had begun. */
	w->now += 3 * SECOND;
	CHECK(cong(w, 1, METHOD_GET, CONG_KEY_INFO, 0, 0, NULL), ~0u);
	w->now += 2 * SECOND - 1;
	CHECK(cong(w, 1, METHOD_GET, CONG_KEY_INFO, 0, 0, NULL), ~0u);
	w->now++;
	CHECK(cong(w, 1, METHOD_GET, CONG_KEY_INFO, 0, 0, NULL), 0);
	CHECK(get_be64(w->mad + CONG_AT), OWN_KEY);
	CHECK(w->mad[CONG_AT + 8], 0);
	CHECK(get_be16(w->mad + CONG_AT + 12), 5);
	CHECK(cong(w, 1, METHOD_SET, CONG_KEY_INFO, 0, 0, data), ~0u);
	CHECK(cong(w, 1, METHOD_GET, SWITCH_SETTING, 0, 0, NULL), ~0u);
	/* Zero resets the counter, which else stays, and ends at its highest value. */
	put_be16(data + 12, 9);
	CHECK(cong(w, 1, METHOD_SET, CONG_KEY_INFO, 0, OWN_KEY, data), 0);
	CHECK(get_be16(w->mad + CONG_AT + 12), 7);
	w->node[0].cong.violations = 0xffff;
	CHECK(cong(w, 1, METHOD_GET, SWITCH_SETTING, 0, 0, NULL), ~0u);
	CHECK(w->node[0].cong.violations, 0xffff);
	put_be16(data + 12, 0);
	/* Without a lease the protection never ends. */
	put_be16(data + 10, 0);
	CHECK(cong(w, 1, METHOD_SET, CONG_KEY_INFO, 0, OWN_KEY, data), 0);
	CHECK(get_be16(w->mad + CONG_AT + 12), 0);
	CHECK(cong(w, 1, METHOD_GET, CONG_KEY_INFO, 0, 0, NULL), ~0u);
	w->now += 0x10000 * SECOND;
	CHECK(cong(w, 1, METHOD_GET, CONG_KEY_INFO, 0, 0, NULL), ~0u);
	/* Another node has its own key. */
	CHECK(cong(w, 2, METHOD_GET, CONG_KEY_INFO, 0, 0, NULL), 0);
	CHECK(get_be64(w->mad + CONG_AT), 0);
	end(w);
}

static void fuzz_one(struct world *w)
{
	static const u16 attrs[] = {
		ATTR_NOTICE, ATTR_NODE_DESC, ATTR_NODE_INFO, SWITCH_INFO, ATTR_GUID_INFO,
		ATTR_PORT_INFO, ATTR_PORT_INFO, ATTR_PORT_INFO, ATTR_PKEY_TABLE, ATTR_SL_TO_VL, ATTR_VL_ARB,
		LINEAR_TABLE, MULTICAST_TABLE, ATTR_SM_INFO, VENDOR_PORT_INFO, 0x12, 0x15, 0x16, 0x1d, 1,
		CONG_LOG, SWITCH_SETTING, CONG_TABLE, TIME_STAMP,
	};
	static const u8 classes[] = { CLASS_LID_ROUTED, CLASS_DIRECTED, CLASS_DIRECTED, PERF_MGT, SUBN_ADM, CONG_MGT };
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
	for (i = AT_PATH; i < FAB_MAD_BYTES; i++)
		w->mad[i] = draw(4) ? 1 + draw(3) : draw(256);
	w->mad[SMP_HOPS] = draw(20) ? draw(5) : draw(256);
	if (!draw(4))
		put_be16(w->mad + SMP_SLID, draw(20));
	if (!draw(4))
		put_be16(w->mad + AT_DR_DLID, draw(20));
	w->mad[AT_POINTER] = draw(20) ? 0 : draw(256);
	if (!draw(20))
		w->mad[draw(64)] = draw(256);
	if (!draw(10))
		put_be16(w->mad + MAD_STATUS, draw(0x10000));
	/* (a key that nobody knows would end all) */
	put_be64(w->mad + SMP_MKEY, draw(3));
	put_be64(w->mad + SMP_DATA, draw(30) ? 0 : draw(2));
	if (w->mad[MAD_CLASS] == CONG_MGT && draw(20))
		w->mad[MAD_CLASS_VERSION] = 2;
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
			steps_begin(endless);
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
	{ "directed_by_lid", directed_by_lid },
	{ "directed_to_a_manager", directed_to_a_manager },
	{ "tables", tables },
	{ "drops", drops },
	{ "attributes", attributes },
	{ "node_attributes", node_attributes },
	{ "port_attributes", port_attributes },
	{ "port_limits", port_limits },
	{ "whole_tables", whole_tables },
	{ "vendor_speeds", vendor_speeds },
	{ "methods", methods },
	{ "counted", counted },
	{ "guids", guids },
	{ "rates", rates },
	{ "states", states },
	{ "links", links },
	{ "sizes", sizes },
	{ "keys", keys },
	{ "traps", traps },
	{ "traps_of_ports", traps_of_ports },
	{ "counters", counters },
	{ "counters_each", counters_each },
	{ "counters_of_all", counters_of_all },
	{ "perf_agent", perf_agent },
	{ "cong_attributes", cong_attributes },
	{ "cong_of_switch", cong_of_switch },
	{ "cong_of_adapter", cong_of_adapter },
	{ "cong_key", cong_key },
};

int main(int argc, char **argv)
{
	u32 datagrams = argc > 1 ? strtoul(argv[1], NULL, 0) : 200000, bad = 0, i;

	if (argc > 2)
		random_state = strtoull(argv[2], NULL, 0);
	for (i = 0; i < ARRAY_SIZE(tests); i++) {
		failed = NULL;
		steps_begin(endless);
		tests[i].run();
		bad += tell(tests[i].name);
	}
	failed = NULL;
	fuzz(datagrams);
	bad += tell("fuzz");
	return bad ? 1 : 0;
}
