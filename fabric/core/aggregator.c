// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Aggregation nodes: packets in and out, and trees of forwarding tables. */
#include "data_internal.h"

#define OPCODE_UD_SEND		0x64
#define QP_MASK			0x00ffffffu
#define LNH_GRH			3
#define LNH_BTH			2
/* Behind the BTH. */
#define DETH			SHCA_BTH_BYTES
#define PAYLOAD			(SHCA_BTH_BYTES + SHCA_DETH_BYTES)
#define AROUND			(SHCA_IB_LRH_BYTES + PAYLOAD + SHCA_ICRC_BYTES + SHCA_IB_VCRC_BYTES)

static struct fab_aggregators *of(const struct fab_reduce *reduce)
{
	return (struct fab_aggregators *)((char *)reduce - offsetof(struct fab_aggregators, reduce));
}

/* ---- the tree --------------------------------------------------------------- */

static u16 lid_of(const struct fab_reduce *reduce, u16 node)
{
	return of(reduce)->all[node].port->end.lid;
}

static struct fab_node *switch_of(struct fab_reduce *reduce, u16 node)
{
	return of(reduce)->all[node].port->peer->node;
}

/* The port by which a switch sends to a LID. Return: NULL: it has none. */
static struct fab_port *port_to(struct fab_node *node, u16 lid)
{
	u8 out = lid && lid <= node->sw->lft_top ? fab_lft_get(node->sw, lid) : 0xff;

	return out && out <= node->ports_nr ? &node->ports[out] : NULL;
}

/* Return: the switch at the other end of a cable; NULL: there is none. */
static struct fab_node *switch_behind(const struct fab_port *port)
{
	return port->peer && port->peer->node->sw ? port->peer->node : NULL;
}

/* The last switch on the way to a member. */
static u16 leaf_of(struct fab_reduce *reduce, u16 root, u16 lid)
{
	struct fab_node *at = switch_of(reduce, root), *next;
	struct fab_port *out;
	u32 hops;

	for (hops = 0; hops < FAB_REDUCE_HOPS; hops++, at = next) {
		out = port_to(at, lid);
		if (!out)
			return FAB_REDUCE_NONE;
		next = switch_behind(out);
		if (!next)
			return at->aggregator;
	}
	return FAB_REDUCE_NONE;
}

static u16 up_of(struct fab_reduce *reduce, u16 node, u16 root)
{
	struct fab_port *out = port_to(switch_of(reduce, node), lid_of(reduce, root));
	struct fab_node *next = out ? switch_behind(out) : NULL;

	return next ? next->aggregator : FAB_REDUCE_NONE;
}

/* ---- packets out ------------------------------------------------------------ */

static bool is_ready(const struct fab_port *port)
{
	return port->peer && port->peer->io && fab_is_active(port);
}

/* Has the switch room for a packet of each lane? */
static bool has_room(const struct fab_port *port)
{
	u32 i;

	for (i = 0; i < SHCA_IB_LANES; i++)
		if (port->peer->io->input[i].packets >= FAB_LANE_PACKETS)
			return false;
	return true;
}

/*
 * Make a packet of a datagram, and let it go.
 * @packet:	with the datagram at its place
 */
static void leave(struct fab_aggregators *aggregators, struct fab_port *from, struct fab_packet *packet,
		  const struct fab_reduce_way *to, u32 len)
{
	struct fab_data *data = from->node->fabric->data;
	u8 *lrh = fab_packet_lrh(packet), *bth = lrh + SHCA_IB_LRH_BYTES;
	const struct shca_ib_lower lower = {
		.vl = shca_ib_lane_of(&from->lanes.sl2vl, from->lanes.code, to->sl),
		.sl = to->sl,
		.dlid = to->lid,
		.slid = from->end.lid,
		.len = AROUND - SHCA_IB_VCRC_BYTES + len,
	};

	if (lower.vl == SHCA_IB_NO_LANE) {
		fab_packet_put(data, packet);
		return;
	}
	packet->len = AROUND + len;
	packet->lane = lower.vl;
	memset(lrh, 0, AROUND - SHCA_IB_VCRC_BYTES - SHCA_ICRC_BYTES);
	shca_ib_lower_build(&lower, lrh);
	bth[0] = OPCODE_UD_SEND;
	put_be16(bth + 2, to->pkey);
	put_be32(bth + 4, to->qp);
	put_be32(bth + 8, aggregators->psn++ & QP_MASK);
	put_be32(bth + DETH, to->qkey);
	put_be32(bth + DETH + 4, SHCA_REDUCE_QP);
	fab_put_crcs(data, lrh, lower.len);
	from->counters.xmit_pkts++;
	from->counters.xmit_data += fab_words(packet);
	fab_relay(from->peer, packet);
}

static u8 *payload_of(struct fab_packet *packet)
{
	return fab_packet_lrh(packet) + SHCA_IB_LRH_BYTES + PAYLOAD;
}

/* What has no room is lost, as its receiver asks again. */
static void answer(struct fab_aggregators *aggregators, struct fab_port *from, const struct fab_reduce_way *to,
		   const u8 *message)
{
	struct fab_packet *packet;

	if (!is_ready(from) || !has_room(from))
		return;
	packet = fab_packet_get(from->node->fabric->data);
	if (!packet)
		return;
	memcpy(payload_of(packet), message, SHCA_REDUCE_MESSAGE);
	leave(aggregators, from, packet, to, SHCA_REDUCE_MESSAGE);
}

static void wait_for_turn(struct fab_aggregators *aggregators, struct fab_aggregator *one)
{
	if (one->is_waiting || !fab_reduce_pending(&aggregators->reduce, one - aggregators->all))
		return;
	one->is_waiting = true;
	one->next = NULL;
	if (aggregators->head)
		aggregators->tail->next = one;
	else
		aggregators->head = one;
	aggregators->tail = one;
}

/* A node sends what its switch has room for. Return: false: nothing. */
static bool send_all(struct fab_aggregators *aggregators, struct fab_aggregator *one)
{
	struct fab_data *data = one->port->node->fabric->data;
	struct fab_packet *packet;
	struct fab_reduce_way to;
	bool any = false;
	u32 len;

	while (is_ready(one->port) && has_room(one->port)) {
		packet = fab_packet_get(data);
		if (!packet)
			break;
		len = fab_reduce_next(&aggregators->reduce, one - aggregators->all, &to, payload_of(packet));
		if (!len) {
			fab_packet_put(data, packet);
			break;
		}
		leave(aggregators, one->port, packet, &to, len);
		any = true;
	}
	return any;
}

bool fab_aggregators_send(struct fab_aggregators *aggregators)
{
	struct fab_aggregator *one, *rest = aggregators->head;
	bool any = false;

	aggregators->head = NULL;
	while ((one = rest)) {
		rest = one->next;
		one->is_waiting = false;
		any |= send_all(aggregators, one);
		wait_for_turn(aggregators, one);
	}
	return any;
}

/* ---- packets in ------------------------------------------------------------- */

bool fab_aggregator_receive(struct fab_port *to, struct fab_packet *packet)
{
	const u8 *lrh = fab_packet_lrh(packet);
	bool has_grh = (lrh[1] & 3) == LNH_GRH;
	u32 lower = has_grh ? SHCA_IB_LOWER_MAX : SHCA_IB_LRH_BYTES, len = packet->len - SHCA_IB_VCRC_BYTES, pad;
	struct fab_aggregators *aggregators = to->node->fabric->data->aggregators;
	u16 number = to->node->aggregator, slid = get_be16(lrh + 6);
	const u8 *bth = lrh + lower;
	u8 message[SHCA_REDUCE_MESSAGE];
	struct fab_reduce_way from;

	if (!aggregators || (!has_grh && (lrh[1] & 3) != LNH_BTH) || len < lower + PAYLOAD + SHCA_ICRC_BYTES ||
	    bth[0] != OPCODE_UD_SEND || (get_be32(bth + 4) & QP_MASK) != SHCA_REDUCE_QP)
		return false;
	pad = bth[1] >> 4 & 3;
	len -= lower + PAYLOAD + SHCA_ICRC_BYTES;
	/* (a group has no aggregation node) */
	if (len < pad || get_be16(lrh + 2) >= LID_MCAST || !slid || slid >= LID_MCAST ||
	    !fab_icrc_ok(to->node->fabric->data, lrh, packet->len - SHCA_IB_VCRC_BYTES))
		return true;
	from = (struct fab_reduce_way){
		.lid = slid,
		.qp = get_be32(bth + DETH + 4) & QP_MASK,
		.qkey = get_be32(bth + DETH),
		.pkey = fab_end_pkey(to, lrh),
		.sl = lrh[1] >> 4,
	};
	if (!from.pkey)
		return true;
	if (fab_reduce_receive(&aggregators->reduce, number, &from, bth + PAYLOAD, len - pad, message,
			       to->node->fabric->now))
		answer(aggregators, to, &from, message);
	wait_for_turn(aggregators, &aggregators->all[number]);
	return true;
}

void fab_aggregator_init(struct fab_aggregators *aggregators, struct fab_node *node)
{
	u16 number = aggregators->reduce.nodes_nr++;

	aggregators->reduce.lid = lid_of;
	aggregators->reduce.leaf = leaf_of;
	aggregators->reduce.up = up_of;
	aggregators->all[number].port = &node->ports[1];
	node->is_aggregator = true;
	node->aggregator = number;
	node->ports[1].peer->node->aggregator = number;
}
