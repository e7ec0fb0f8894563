// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A packet has come to a port of a node: the checks of a switch in the order of IBTA 18.2.4, the
 * choice of outputs, and the buffer in which it waits for them.
 */
#include "data_internal.h"

#define LNH_GRH			3
#define MCAST_TOP_MIN		LID_MCAST

static u32 bth_offset(const u8 *lrh)
{
	return (lrh[1] & 3) == LNH_GRH ? SHCA_IB_LOWER_MAX : SHCA_IB_LRH_BYTES;
}

const u8 *fab_bth(const u8 *lrh)
{
	return lrh + bth_offset(lrh);
}

/* IBTA 10.9.3: the base parts are equal, and at least one is of a full member. */
static bool pkeys_match(u16 a, u16 b)
{
	return ((a ^ b) & 0x7fff) == 0 && (a & 0x7fff) && ((a | b) & 0x8000);
}

u16 fab_pkey_of(const struct fab_port *port, const u8 *lrh)
{
	u16 pkey = get_be16(lrh + bth_offset(lrh) + 2);
	u32 i;

	for (i = 0; i < SHCA_IB_PKEYS; i++)
		if (pkeys_match(port->pkeys[i], pkey))
			return port->pkeys[i];
	return 0;
}

u16 fab_end_pkey(struct fab_port *to, const u8 *lrh)
{
	u16 pkey = fab_pkey_of(to, lrh);

	if (!pkey && to->end.bad_pkeys != 0xffff)
		to->end.bad_pkeys++;
	return pkey;
}

/* A port refuses a packet for its P_Key: trap 259. */
static void refuse_pkey(struct fab_port *port, enum fab_error error, const u8 *lrh)
{
	u32 bth = bth_offset(lrh);
	const struct shca_ib_bad_key bad = {
		.key = get_be16(lrh + bth + 2),
		.sl = lrh[1] >> 4,
		.slid = get_be16(lrh + 6),
		.dlid = get_be16(lrh + 2),
		.dqpn = get_be32(lrh + bth + 4) & 0xffffff,
		.gids = bth == SHCA_IB_LOWER_MAX ? lrh + SHCA_IB_LRH_BYTES + 8 : NULL,
	};

	fab_count(port, error);
	fab_trap_pkey(port, &bad);
}

/* ---- outputs ---------------------------------------------------------------- */

/* Return: false: no output, which is counted. */
static bool unicast(struct fab_port *in, u16 lid, struct fab_packet *packet)
{
	const struct fab_switch *sw = in->node->sw;
	u8 out = lid && lid <= sw->lft_top ? fab_lft_get(sw, lid) : 0xff;

	if (out > in->node->ports_nr) {
		fab_count(in, FAB_ERR_RELAY);
		fab_count_detail(in, FAB_DETAIL_DLID);
		return false;
	}
	if (out == in->number) {
		fab_count(in, FAB_ERR_RELAY);
		fab_count_detail(in, FAB_DETAIL_LOOP);
		return false;
	}
	if (in->node->fabric->data->adaptive)
		out = fab_adapt(in, packet, out);
	fab_set_add(packet->outputs, out);
	return true;
}

/* IBTA 18.2.4.3.3. A packet never returns by the port that it came by. */
static bool multicast(struct fab_port *in, u16 lid, u64 *outputs)
{
	const struct fab_switch *sw = in->node->sw;
	u32 ports = in->node->ports_nr, positions = fab_positions(ports), i;
	u32 group = lid - LID_MCAST;
	bool any = false;

	if (group >= FAB_MFT_GROUPS || (sw->mft_top >= MCAST_TOP_MIN && lid > sw->mft_top)) {
		u8 out = sw->default_ports[in->number == sw->default_ports[1] ? 2 : 1];

		if (!out || out > ports || out == in->number)
			return false;
		fab_set_add(outputs, out);
		return true;
	}
	for (i = 0; i <= ports; i++) {
		if (!(sw->mft[group * positions + i / FAB_MFT_PORTS] >> (i % FAB_MFT_PORTS) & 1) ||
		    i == in->number)
			continue;
		fab_set_add(outputs, i);
		any = true;
	}
	return any;
}

u8 fab_lane_of(const struct fab_port *in, const struct fab_port *out, u8 sl)
{
	return shca_ib_lane_of(fab_sl2vl(in->node, in->number, out->number), out->lanes.code, sl);
}

/* Return: may the packet leave by this port? If not, that is counted. */
static bool output_takes(struct fab_port *in, struct fab_port *out, struct fab_packet *packet)
{
	switch (fab_why_not(in, out, packet)) {
	case FAB_TAKES:
		return true;
	case FAB_NOT_ACTIVE:
		fab_count(out, FAB_ERR_DISCARD);
		fab_count_detail(out, FAB_DETAIL_INACTIVE);
		return false;
	case FAB_HAS_NO_LANE:
		fab_count_detail(in, FAB_DETAIL_VL);
		return false;
	case FAB_TOO_LONG:
		fab_count(out, FAB_ERR_DISCARD);
		fab_count_detail(out, FAB_DETAIL_MTU);
		return false;
	case FAB_BAD_PKEY:
		refuse_pkey(out, FAB_ERR_XMIT_CONSTRAINT, fab_packet_lrh(packet));
		return false;
	}
	return false;
}

/* Return: false: the packet has no output. */
static bool choose(struct fab_port *in, struct fab_packet *packet)
{
	const u8 *lrh = fab_packet_lrh(packet);
	u16 lid = get_be16(lrh + 2);
	bool any = false;
	u32 i;

	memset(packet->outputs, 0, sizeof(packet->outputs));
	if (!(lid >= LID_MCAST ? multicast(in, lid, packet->outputs) :
				 unicast(in, lid, packet)))
		return false;
	for (i = fab_set_next(packet->outputs, 0); i < FAB_SET_END; i = fab_set_next(packet->outputs, i + 1)) {
		if (output_takes(in, &in->node->ports[i], packet))
			any = true;
		else
			fab_set_remove(packet->outputs, i);
	}
	return any;
}

/* A unicast packet will wait for a lane of its only output. */
static void join_queue(struct fab_port *in, struct fab_packet *packet)
{
	struct fab_port *out = &in->node->ports[fab_set_next(packet->outputs, 0)];

	packet->queue = SHCA_IB_NO_LANE;
	if (get_be16(fab_packet_lrh(packet) + 2) >= LID_MCAST || !out->number)
		return;
	packet->queue = fab_lane_of(in, out, fab_packet_lrh(packet)[1] >> 4);
	out->io->output[packet->queue].queued++;
}

/* ---- arrival ---------------------------------------------------------------- */

static void count_arrival(struct fab_port *in, const struct fab_packet *packet)
{
	in->counters.rcv_pkts++;
	in->counters.rcv_data += fab_words(packet);
}

void fab_relay(struct fab_port *in, struct fab_packet *packet)
{
	struct fab_data *data = in->node->fabric->data;
	struct fab_buffer *buffer;

	if (in->number)
		count_arrival(in, packet);
	if (in->number && in->state != SHCA_IB_STATE_ARMED && in->state != SHCA_IB_STATE_ACTIVE)
		goto drop;
	if (!in->node->sw) {
		fab_arrive(in, in, packet);
		goto drop;
	}
	if (in->filters & FAB_FILTER_PKEY_IN && !fab_pkey_of(in, fab_packet_lrh(packet))) {
		refuse_pkey(in, FAB_ERR_RCV_CONSTRAINT, fab_packet_lrh(packet));
		goto drop;
	}
	if (!choose(in, packet))
		goto drop;
	if (packet->flow)
		in->node->ports[fab_set_next(packet->outputs, 0)].io->coming++;
	join_queue(in, packet);
	buffer = &in->io->input[packet->lane];
	packet->arrived = in->node->fabric->now;
	packet->next = NULL;
	if (buffer->packets++) {
		buffer->tail->next = packet;
		buffer->tail = packet;
		return;
	}
	buffer->head = packet;
	buffer->tail = packet;
	fab_output_ask(buffer);
	return;
drop:
	if (in->edge)
		fab_edge_free(in->edge, packet->lane);
	fab_packet_put(data, packet);
}
