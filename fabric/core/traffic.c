// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Traffic of simulated hosts: a host sends datagrams to a LID, as fast as a rate and credit allow,
 * and the host that has the LID counts those that arrive. So buffers fill and cables are lost
 * without a real port.
 */
#include "data_internal.h"

#define OPCODE_UD_SEND		0x64
#define QP_FIRST		0x1000	/* (not one of management) */
#define QP_MASK			0x00ffffffu
/* A flow makes up for so many ns in which the process did not run. */
#define BURST_NS		10000000

/* Write the packet that all of a flow are copies of. */
static void make_packet(struct fab_source *flow, u8 lane)
{
	const struct shca_ib_lower lower = {
		.vl = lane,
		.sl = flow->sl,
		.dlid = flow->dlid,
		.slid = flow->from->end.lid,
		.len = FAB_SOURCE_BYTES - SHCA_IB_VCRC_BYTES,
	};
	u8 *lrh = flow->packet, *bth = lrh + SHCA_IB_LRH_BYTES;

	memset(flow->packet, 0, sizeof(flow->packet));
	shca_ib_lower_build(&lower, lrh);
	bth[0] = OPCODE_UD_SEND;
	put_be16(bth + 2, flow->pkey);
	put_be32(bth + 4, flow->qp);
	put_be32(bth + SHCA_BTH_BYTES + 4, flow->qp);
	fab_put_crcs(flow->from->node->fabric->data, lrh, lower.len);
}

/* The lane of a flow. Return: SHCA_IB_NO_LANE: its port is not ready, or has none for its SL. */
static u8 lane_of(const struct fab_source *flow)
{
	const struct fab_port *from = flow->from;

	if (!from->peer || !fab_is_active(from))
		return SHCA_IB_NO_LANE;
	return shca_ib_lane_of(&from->lanes.sl2vl, from->lanes.code, flow->sl);
}

/* Return: false: no memory. */
static bool send_one(struct fab_source *flow, u8 lane)
{
	struct fab_port *from = flow->from;
	struct fabric *fabric = from->node->fabric;
	struct fab_packet *packet = fab_packet_get(fabric->data);
	const u8 *lrh = flow->packet;

	if (!packet)
		return false;
	/* (its manager has given the host another LID, or its service level another lane) */
	if (lrh[0] >> 4 != lane || get_be16(lrh + 6) != from->end.lid)
		make_packet(flow, lane);
	memcpy(fab_packet_lrh(packet), flow->packet, FAB_SOURCE_BYTES);
	packet->len = FAB_SOURCE_BYTES;
	packet->lane = lane;
	from->counters.xmit_pkts++;
	from->counters.xmit_data += fab_words(packet);
	flow->sent++;
	flow->left--;
	fab_pace(&flow->due, fabric->now, BURST_NS, FAB_SOURCE_BYTES, flow->rate);
	fab_relay(from->peer, packet);
	return true;
}

/* Return: can the flow send now, but for its rate? */
static bool can_send(const struct fab_source *flow, u8 *lane)
{
	if (!flow->from || !flow->left)
		return false;
	*lane = lane_of(flow);
	return *lane != SHCA_IB_NO_LANE && flow->from->peer->io->input[*lane].packets < FAB_LANE_PACKETS;
}

void fab_sources_run(struct fabric *fabric)
{
	struct fab_data *data = fabric->data;
	struct fab_source *flow;
	bool any = true;
	u8 lane;

	/* One packet of each in turn, so that flows of one host share its buffer. */
	while (any) {
		any = false;
		for (flow = data->sources; flow < data->sources + FAB_SOURCES; flow++) {
			if (!data->moves || !can_send(flow, &lane) || flow->due > fabric->now)
				continue;
			data->moves--;
			any |= send_one(flow, lane);
		}
	}
}

u64 fab_sources_deadline(const struct fabric *fabric)
{
	const struct fab_source *flow;
	u64 deadline = ~0ull;
	u8 lane;

	for (flow = fabric->data->sources; flow < fabric->data->sources + FAB_SOURCES; flow++)
		if (can_send(flow, &lane))
			deadline = min_t(u64, deadline, flow->due);
	return deadline;
}

bool fab_source_arrive(struct fab_port *to, struct fab_packet *packet)
{
	struct fab_data *data = to->node->fabric->data;
	const u8 *lrh = fab_packet_lrh(packet), *bth = lrh + SHCA_IB_LRH_BYTES;
	u32 qp = get_be32(bth + 4) & QP_MASK;
	struct fab_source *flow = &data->sources[qp % FAB_SOURCES];

	if (packet->len != FAB_SOURCE_BYTES || (lrh[1] & 3) != 2 || bth[0] != OPCODE_UD_SEND ||
	    !flow->from || flow->qp != qp)
		return false;
	if (fab_end_pkey(to, lrh))
		flow->arrived++;
	return true;
}

struct fab_source *fab_source_start(struct fab_port *from, const struct fab_source *wanted)
{
	struct fab_data *data = from->node->fabric->data;
	struct fab_source *flow;

	for (flow = data->sources; flow < data->sources + FAB_SOURCES && flow->from; flow++)
		;
	if (flow == data->sources + FAB_SOURCES)
		return NULL;
	*flow = *wanted;
	flow->from = from;
	/* What a flow before has under way is not counted as this one's. */
	flow->qp = (QP_FIRST + data->sources_started++ * FAB_SOURCES + (flow - data->sources)) & QP_MASK;
	make_packet(flow, 0);
	return flow;
}

void fab_sources_stop(struct fab_port *from)
{
	struct fab_data *data = from->node->fabric->data;
	struct fab_source *flow;

	for (flow = data->sources; flow < data->sources + FAB_SOURCES; flow++)
		if (flow->from == from)
			flow->from = NULL;
}
