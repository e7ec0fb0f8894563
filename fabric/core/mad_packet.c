// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Management datagrams in packets: what a real port sends to an agent, and what it gets back. */
#include "data_internal.h"

#define OPCODE_UD_SEND		0x64
#define PKEY_DEFAULT		0xffff
#define QKEY_QP1		0x80010000u
#define QP_MASK			0x00ffffffu
/* Behind the BTH. */
#define DETH			SHCA_BTH_BYTES
#define MAD			(SHCA_BTH_BYTES + SHCA_DETH_BYTES)
/* From BTH to ICRC, and a packet without a GRH. */
#define TRANSPORT_BYTES		(MAD + FAB_MAD_BYTES + SHCA_ICRC_BYTES)
#define PACKET_BYTES		(SHCA_IB_LRH_BYTES + TRANSPORT_BYTES + SHCA_IB_VCRC_BYTES)

/* ---- packets ---------------------------------------------------------------- */

/*
 * Is this a packet with a datagram for this QP?
 * @bth:	result: its BTH
 */
static bool is_mad(const struct fab_data *data, struct fab_packet *packet, u32 qp, u8 **bth)
{
	u32 len = packet->len - SHCA_IB_VCRC_BYTES;
	u8 *lrh = fab_packet_lrh(packet);
	bool has_grh = packet->len == PACKET_BYTES + SHCA_IB_GRH_BYTES;

	if (packet->len != PACKET_BYTES && !has_grh)
		return false;
	if ((lrh[1] & 3) != (has_grh ? 3 : 2))
		return false;
	*bth = lrh + len - TRANSPORT_BYTES;
	return (*bth)[0] == OPCODE_UD_SEND && !((*bth)[1] & 0x3f) && (get_be32(*bth + 4) & QP_MASK) == qp &&
	       fab_icrc_ok(data, lrh, len);
}

/* Groups have no QP1: all of a group would answer, or one to a whole group. */
static bool is_between_ports(const u8 *lrh)
{
	u16 slid = get_be16(lrh + 6);

	return get_be16(lrh + 2) < LID_MCAST && slid && slid < LID_MCAST;
}

/* Turn a request of the general service into its answer. */
static void turn_round(u8 *lrh, u8 *bth)
{
	u8 *grh = lrh + SHCA_IB_LRH_BYTES, gid[16];
	u32 qp = get_be32(bth + DETH + 4) & QP_MASK;
	u16 lid = get_be16(lrh + 2);

	put_be16(lrh + 2, get_be16(lrh + 6));
	put_be16(lrh + 6, lid);
	if (bth - lrh == SHCA_IB_LOWER_MAX) {
		memcpy(gid, grh + 8, sizeof(gid));
		memcpy(grh + 8, grh + 24, sizeof(gid));
		memcpy(grh + 24, gid, sizeof(gid));
		grh[7] = 0xff;
	}
	put_be32(bth + 4, qp);
	put_be32(bth + DETH, QKEY_QP1);
	put_be32(bth + DETH + 4, 1);
}

/* An agent of the general service answers in place. Return: false: there is no answer. */
static bool serve(struct fab_port *to, u8 *mad)
{
	u64 now = to->node->fabric->now;

	if (mad[MAD_CLASS] == CLASS_PERF)
		return fab_perf(to, mad) == FAB_ANSWERED;
	if (fab_cong_takes(to, mad, now) != FAB_ANSWERED)
		return false;
	fab_cong(to, mad, now);
	return true;
}

/* A node sends a packet of its own, by the port that has received one. */
static void inject(struct fab_port *from, struct fab_packet *packet)
{
	struct fab_port *to = from->node->sw ? from : from->peer;
	u16 lid = get_be16(fab_packet_lrh(packet) + 2);
	u8 sl = fab_packet_lrh(packet)[1] >> 4;

	/* Port 0 has no link. Its queues are by output, so that a port that takes nothing stops few answers. */
	packet->lane = from->node->sw ? fab_lft_get(from->node->sw, lid) % SHCA_IB_LANES : shca_ib_lane_of(&from->lanes.sl2vl, from->lanes.code, sl);
	if (packet->lane == SHCA_IB_NO_LANE || to->io->input[packet->lane].packets >= FAB_LANE_PACKETS)
		fab_packet_put(from->node->fabric->data, packet);
	else
		fab_relay(to, packet);
}

void fab_arrive(struct fab_port *to, struct fab_port *in, struct fab_packet *packet)
{
	struct fab_data *data = to->node->fabric->data;
	struct fab_packet *answer;
	u8 *lrh, *bth, *mad;
	u16 pkey;

	if (to->node->is_aggregator && fab_aggregator_receive(to, packet))
		return;
	/* (first, as the ICRC of a datagram costs more) */
	if (fab_source_arrive(to, packet))
		return;
	if (!is_mad(data, packet, 1, &bth) || get_be32(bth + DETH) != QKEY_QP1 ||
	    (bth[MAD + MAD_CLASS] != CLASS_PERF && bth[MAD + MAD_CLASS] != SHCA_IB_CLASS_CONG) || !is_between_ports(fab_packet_lrh(packet)))
		return;
	pkey = fab_end_pkey(to, fab_packet_lrh(packet));
	if (!pkey)
		return;
	answer = fab_packet_copy(data, packet);
	if (!answer)
		return;
	lrh = fab_packet_lrh(answer);
	bth = lrh + (bth - fab_packet_lrh(packet));
	mad = bth + MAD;
	if (!serve(to, mad)) {
		fab_packet_put(data, answer);
		return;
	}
	turn_round(lrh, bth);
	put_be16(bth + 2, pkey);
	fab_put_crcs(data, lrh, answer->len - SHCA_IB_VCRC_BYTES);
	inject(to, answer);
}

/* ---- subnet management ------------------------------------------------------ */

void fab_arrive_smp(struct fab_port *in, struct fab_packet *packet)
{
	u8 *lrh = fab_packet_lrh(packet), *bth;
	struct fab_mad mad = {
		.slid = get_be16(lrh + 6),
		.dlid = get_be16(lrh + 2),
	};

	/* No GRH (IBTA 13.5.1). */
	if (packet->len != PACKET_BYTES || !is_mad(in->node->fabric->data, packet, 0, &bth)) {
		fab_count(in, FAB_ERR_RCV);
		fab_count_detail(in, FAB_DETAIL_MALFORMED);
		return;
	}
	in->counters.rcv_pkts++;
	in->counters.rcv_data += fab_words(packet);
	mad.data = bth + MAD;
	mad.sqp = get_be32(bth + DETH + 4) & QP_MASK;
	fab_smp_from_edge(in, &mad);
}

void fab_mad_leave(struct fab_port *out, const struct fab_mad *mad)
{
	struct fab_data *data = out->node->fabric->data;
	struct fab_packet packet;	/* (of the longest kind; only its first part is used) */
	const struct shca_ib_lower lower = {
		.vl = SHCA_IB_VL_MGMT,
		.dlid = mad->dlid,
		.slid = mad->slid,
		.len = SHCA_IB_LRH_BYTES + TRANSPORT_BYTES,
	};
	u8 *lrh = fab_packet_lrh(&packet), *bth = lrh + SHCA_IB_LRH_BYTES;

	packet.len = PACKET_BYTES;
	packet.bare = false;
	shca_ib_lower_build(&lower, lrh);
	/* QP 0 is at both ends. */
	memset(bth, 0, MAD);
	bth[0] = OPCODE_UD_SEND;
	put_be16(bth + 2, PKEY_DEFAULT);
	put_be32(bth + 8, data->mad_psn++ & QP_MASK);
	put_be32(bth + DETH + 4, mad->sqp);
	memcpy(bth + MAD, mad->data, FAB_MAD_BYTES);
	fab_put_crcs(data, lrh, lower.len);
	out->counters.xmit_pkts++;
	out->counters.xmit_data += fab_words(&packet);
	if (!fab_edge_send(out->edge, &packet, SHCA_IB_VL_MGMT))
		fab_count(out, FAB_ERR_VL15);
}
