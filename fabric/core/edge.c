// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Edges: ports whose cable ends at a real port. Frames, hellos and credits are those of every
 * softhca port (docs/infiniband.md). A switch changes MAC addresses, session, period, lane and
 * VCRC of a packet, and nothing else.
 */
#include "data_internal.h"

/* Interval of frames of credits: while packets wait, and otherwise. */
#define TELL_NS			4000000ull
#define TELL_IDLE_NS		100000000ull
/* Delay before a sender that waits asks for credits. */
#define ASK_NS			500000ull
/* Length of a period, and the time until its last packets have come, at least and at most. */
#define PERIOD_NS		40000000ull
#define DRAIN_NS		20000000ull
#define DRAIN_MOST_NS		(6 * PERIOD_NS)
#define CREDIT_FRAME_BYTES	(FAB_ETHER_BYTES + SHCA_IB_SHIM_BYTES + SHCA_IB_CREDIT_BYTES)
#define HELLO_FRAME_BYTES	(FAB_ETHER_BYTES + SHCA_IB_SHIM_BYTES + SHCA_IB_HELLO_BYTES)

static struct fabric *fabric_of(const struct fab_edge *edge)
{
	return edge->port->node->fabric;
}

/* ---- frames ----------------------------------------------------------------- */

static void put_ether(const struct fab_edge *edge, u8 *frame)
{
	if (shca_ib_port_has_peer(&edge->phy))
		memcpy(frame, edge->phy.peer_mac, SHCA_IB_MAC_BYTES);
	else
		memset(frame, 0xff, SHCA_IB_MAC_BYTES);
	memcpy(frame + SHCA_IB_MAC_BYTES, edge->mac, SHCA_IB_MAC_BYTES);
	put_be16(frame + 2 * SHCA_IB_MAC_BYTES, SHCA_IB_ETHERTYPE);
}

static bool send_frame(struct fab_edge *edge, u8 *frame, u32 len)
{
	put_ether(edge, frame);
	if (fabric_of(edge)->data->send(edge, frame, len))
		return true;
	edge->unsent++;
	return false;
}

static void send_hello(struct fab_edge *edge, const struct shca_ib_hello *hello)
{
	u8 frame[HELLO_FRAME_BYTES];

	shca_ib_hello_build(hello, frame + FAB_ETHER_BYTES);
	/* A lost one is repeated. */
	send_frame(edge, frame, sizeof(frame));
}

/* ---- credits ---------------------------------------------------------------- */

static bool is_up(const struct fab_edge *edge)
{
	return edge->phy.phys == SHCA_IB_PHYS_LINK_UP;
}

static void reconcile(struct fab_edge *edge, u64 now)
{
	if (!shca_ib_credits_turning(&edge->credits) || now < edge->turning + edge->drain)
		return;
	shca_ib_credits_reconcile(&edge->credits);
	/* doubled as soon as it is too short */
	edge->drain -= (edge->drain - DRAIN_NS) / 8;
}

static bool may_ask(const struct fab_edge *edge, u64 now)
{
	return edge->port->io->waits && now >= max_t(u64, edge->asked, edge->heard) + ASK_NS;
}

static void tell(struct fab_edge *edge)
{
	struct shca_ib_credit_frame credits;
	struct fabric *fabric = fabric_of(edge);
	u64 now = fabric->now;
	u8 frame[CREDIT_FRAME_BYTES];

	/* Packets leave in the period that they bear. */
	fab_edge_flush(edge);
	reconcile(edge, now);
	if (now >= edge->turned + PERIOD_NS) {
		shca_ib_credits_turn(&edge->credits);
		edge->turned = now;
	}
	shca_ib_credits_tell(&edge->credits, &credits);
	credits.session = edge->phy.session;
	/* Not in each frame: two ends that wait would answer each other endlessly. */
	if (may_ask(edge, now)) {
		credits.ask = true;
		edge->asked = now;
	}
	edge->tell_at = now + (edge->port->io->waits ? TELL_NS : TELL_IDLE_NS);
	shca_ib_credit_build(&credits, &fabric->data->vcrc, frame + FAB_ETHER_BYTES);
	send_frame(edge, frame, sizeof(frame));
}

static void tell_if_due(struct fab_edge *edge)
{
	if (is_up(edge) && shca_ib_credits_pending(&edge->credits))
		tell(edge);
}

bool fab_edge_has_room(const struct fab_edge *edge, u8 lane)
{
	return !edge->credits.on || shca_ib_credits_room(&edge->credits, lane) >= SHCA_IB_CHARGE;
}

void fab_edge_free(struct fab_edge *edge, u8 lane)
{
	shca_ib_credits_free(&edge->credits, lane, SHCA_IB_CHARGE);
	tell_if_due(edge);
}

void fab_edge_waits(struct fab_edge *edge)
{
	u64 now = fabric_of(edge)->now;

	if (edge->credits.on && may_ask(edge, now))
		tell(edge);
	edge->tell_at = min_t(u64, edge->tell_at, now + TELL_NS);
}

static void credits_arrive(struct fab_edge *edge, const struct shca_ib_shim *shim, const u8 *body)
{
	struct shca_ib_credit_frame frame;
	u64 now = fabric_of(edge)->now;
	bool answer, turning;

	if (shca_ib_credit_parse(&frame, &fabric_of(edge)->data->vcrc, shim, body)) {
		edge->bad_frames++;
		return;
	}
	if (!edge->credits.on)
		return;
	/* The peer waits for the first frame. */
	answer = !edge->credits.heard || frame.init || frame.ask;
	reconcile(edge, now);
	turning = shca_ib_credits_turning(&edge->credits);
	if (!shca_ib_credits_hear(&edge->credits, &frame))
		edge->bad_credits++;
	edge->heard = now;
	if (!turning)
		edge->turning = now;
	if (answer)
		tell(edge);
	else
		tell_if_due(edge);
	fab_output_kick(edge->port);
}

/* ---- packets ---------------------------------------------------------------- */

void fab_put_vcrc(const struct fab_data *data, struct fab_packet *packet)
{
	u8 *lrh = fab_packet_lrh(packet);
	u32 covered = packet->len - SHCA_IB_VCRC_BYTES;

	if (packet->bare)
		shca_ib_vcrc_put(shca_ib_vcrc(&data->vcrc, SHCA_IB_VCRC_SEED, lrh, covered), lrh + covered);
	packet->bare = false;
}

static bool send_packets(struct fab_edge *edge, u8 *frame, enum shca_ib_frame type, u32 len, u8 period)
{
	const struct shca_ib_shim shim = {
		.type = type,
		.period = period,
		.len = len,
		.session = edge->phy.session,
	};

	shca_ib_shim_build(&shim, frame + FAB_ETHER_BYTES);
	return send_frame(edge, frame, FAB_HEAD + len);
}

/* Return: the period that a packet with data bears. */
static u8 take_credit(struct fab_edge *edge, u8 lane)
{
	if (!edge->credits.on)
		return 0;
	shca_ib_credits_take(&edge->credits, lane, SHCA_IB_CHARGE);
	return edge->credits.period;
}

bool fab_edge_send(struct fab_edge *edge, struct fab_packet *packet, u8 lane)
{
	fab_edge_flush(edge);
	fab_put_vcrc(fabric_of(edge)->data, packet);
	return send_packets(edge, packet->frame, SHCA_IB_FRAME_DATA, packet->len,
			    lane == SHCA_IB_VL_MGMT ? 0 : take_credit(edge, lane));
}

/* ---- batches ---------------------------------------------------------------- */

void fab_edge_flush(struct fab_edge *edge)
{
	struct fab_gather *gather = &fabric_of(edge)->data->gather;
	bool batch = gather->nr > 1 || gather->bare;

	if (gather->edge != edge)
		return;
	gather->edge = NULL;
	if (send_packets(edge, gather->frame, batch ? SHCA_IB_FRAME_BATCH : SHCA_IB_FRAME_DATA,
			 gather->len + (batch ? 0 : SHCA_IB_VCRC_BYTES), gather->period))
		return;
	while (gather->nr--)
		fab_count(edge->port, FAB_ERR_DISCARD);
}

/* Both packets have the same LRH and GRH, but for lengths. */
static bool same_lower(const u8 *a, const u8 *b)
{
	if (memcmp(a, b, 4) || memcmp(a + 6, b + 6, 2))
		return false;
	return !shca_ib_lrh_has_grh(a) || (!memcmp(a + SHCA_IB_LRH_BYTES, b + SHCA_IB_LRH_BYTES, 4) &&
					   !memcmp(a + SHCA_IB_LRH_BYTES + 6, b + SHCA_IB_LRH_BYTES + 6,
						   SHCA_IB_GRH_BYTES - 6));
}

/* A receiver checks the headers of the first packet of a batch for all (shca_ib_batch_parse()). */
static bool may_join_others(const u8 *lrh)
{
	u32 dqpn = get_be32(fab_bth(lrh) + 4) & 0xffffff;

	return get_be16(lrh + 2) < SHCA_IB_LID_MCAST && dqpn && dqpn != 0xffffff;
}

static bool joins(const struct fab_gather *gather, const struct fab_edge *edge, const u8 *lrh, u32 bytes)
{
	return gather->edge == edge && bytes <= gather->unit && gather->nr < SHCA_IB_BATCH_MOST &&
	       SHCA_IB_SHIM_BYTES + gather->len + bytes <= edge->batch_mtu &&
	       same_lower(gather->frame + FAB_HEAD, lrh);
}

/* The frame is copied: it leaves with one call of the system, and buffers stay those of one packet. */
void fab_edge_gather(struct fab_edge *edge, struct fab_packet *packet, u8 lane)
{
	struct fab_gather *gather = &fabric_of(edge)->data->gather;
	const u8 *lrh = fab_packet_lrh(packet);
	u32 lower = fab_bth(lrh) - lrh, bytes = packet->len - SHCA_IB_VCRC_BYTES - lower;

	if (!edge->batch_mtu || !edge->phy.peer.batches || !may_join_others(lrh)) {
		if (!fab_edge_send(edge, packet, lane))
			fab_count(edge->port, FAB_ERR_DISCARD);
		return;
	}
	if (joins(gather, edge, lrh, bytes)) {
		memcpy(gather->frame + FAB_HEAD + gather->len, lrh + lower, bytes);
		gather->len += bytes;
		gather->nr++;
	} else {
		fab_edge_flush(edge);
		memcpy(gather->frame + FAB_HEAD, lrh, packet->len);
		gather->edge = edge;
		gather->nr = 1;
		gather->unit = bytes;
		gather->len = lower + bytes;
		gather->bare = packet->bare;
	}
	gather->period = take_credit(edge, lane);
	/* Only the last packet of a batch is shorter. */
	if (bytes < gather->unit)
		fab_edge_flush(edge);
}

void fab_edge_lose(struct fab_edge *edge, u8 lane)
{
	if (edge->credits.on)
		shca_ib_credits_take(&edge->credits, lane, SHCA_IB_CHARGE);
}

void fab_damaged(struct fab_port *in)
{
	fab_count(in, FAB_ERR_SYMBOL);
	fab_count(in, FAB_ERR_RCV);
	fab_count_detail(in, FAB_DETAIL_PHYSICAL);
}

static bool vcrc_ok(const struct fab_edge *edge, const u8 *lrh, u32 len)
{
	u32 covered = len - SHCA_IB_VCRC_BYTES;

	return shca_ib_vcrc_ok(shca_ib_vcrc(&fabric_of(edge)->data->vcrc, SHCA_IB_VCRC_SEED, lrh, covered),
			       lrh + covered);
}

static bool lane_ok(const struct fab_edge *edge, u8 lane)
{
	return lane == SHCA_IB_VL_MGMT || lane < shca_ib_lanes_nr(edge->port->lanes.code);
}

/* Return: false: the packet is broken, which is counted. */
static bool packet_ok(struct fab_edge *edge, const u8 *lrh, u32 len, struct shca_ib_lower *lower)
{
	struct fab_port *port = edge->port;

	if (len > FAB_PACKET_MAX || len <= SHCA_IB_VCRC_BYTES || !vcrc_ok(edge, lrh, len)) {
		fab_damaged(port);
		return false;
	}
	if (shca_ib_lower_parse(lower, lrh, len, len) || !lane_ok(edge, lower->vl)) {
		fab_count(port, FAB_ERR_RCV);
		fab_count_detail(port, FAB_DETAIL_MALFORMED);
		return false;
	}
	return true;
}

/* A packet with data, in no buffer yet. Return: did it keep the packet? */
static bool packet_enters(struct fab_edge *edge, struct fab_packet *packet, u8 lane, u8 period)
{
	struct fab_port *port = edge->port;
	u64 now = fabric_of(edge)->now;

	packet->lane = lane;
	if (edge->credits.on) {
		if (!shca_ib_credits_arrived(&edge->credits, period, lane, SHCA_IB_CHARGE))
			edge->drain = min_t(u64, 2 * edge->drain, DRAIN_MOST_NS);
		reconcile(edge, now);
	}
	/* Without credits, a sender takes no notice of the buffer: its lane has no more of the memory. */
	if (port->io->input[lane].packets >= FAB_EDGE_PACKETS ||
	    !shca_ib_credits_keep(&edge->credits, lane, SHCA_IB_CHARGE)) {
		fab_count(port, FAB_ERR_OVERRUN);
		fab_count(port, FAB_ERR_RCV);
		fab_count_detail(port, FAB_DETAIL_OVERRUN);
		return false;
	}
	fab_relay(port, packet);
	return true;
}

/* Return: did it keep the packet? */
static bool packet_arrives(struct fab_edge *edge, struct fab_packet *packet,
			   const struct shca_ib_shim *shim)
{
	struct shca_ib_lower lower;

	packet->len = shim->len;
	if (!packet_ok(edge, fab_packet_lrh(packet), shim->len, &lower))
		return false;
	if (lower.vl != SHCA_IB_VL_MGMT)
		return packet_enters(edge, packet, lower.vl, shim->period);
	fab_arrive_smp(edge->port, packet);
	return false;
}

/* Bytes of a frame from @at on, counted from the LRH: the first are in @packet. */
static void copy_out(const struct fab_data *data, const struct fab_packet *packet, u32 at, u8 *to, u32 len)
{
	u32 here = at < FAB_PACKET_MAX ? min_t(u32, len, FAB_PACKET_MAX - at) : 0;

	memcpy(to, packet->frame + FAB_HEAD + at, here);
	if (here < len)
		memcpy(to + here, data->rest + (at + here - FAB_PACKET_MAX), len - here);
}

/*
 * Each packet gets a buffer of its own, as if it had come alone: order, lanes, credits, faults and
 * ways are by packet. Only the first one stays where it is.
 *
 * Return: false: there was none.
 */
static bool batch_arrives(struct fab_edge *edge, struct fab_packet *packet, const struct shca_ib_shim *shim)
{
	struct fab_packet *first = packet, *last = packet, *next;
	struct fab_data *data = fabric_of(edge)->data;
	u8 *lrh = fab_packet_lrh(packet);
	struct shca_ib_batch batch;
	u32 lower, bytes, i;

	if (shca_ib_batch_parse(&batch, lrh, min_t(u32, shim->len, FAB_PACKET_MAX), shim->len) ||
	    batch.lower.len > FAB_PACKET_MAX - SHCA_IB_VCRC_BYTES || !lane_ok(edge, batch.lower.vl)) {
		fab_count(edge->port, FAB_ERR_RCV);
		fab_count_detail(edge->port, FAB_DETAIL_MALFORMED);
		return false;
	}
	lower = shca_ib_lower_bytes(&batch.lower);
	for (i = 1; i < batch.nr; i++) {
		next = fab_packet_get(data);
		if (!next)
			break;
		bytes = i + 1 < batch.nr ? batch.unit : batch.last;
		memcpy(fab_packet_lrh(next), lrh, lower);
		copy_out(data, first, lower + i * batch.unit, fab_packet_lrh(next) + lower, bytes);
		shca_ib_lower_set_len(fab_packet_lrh(next), bytes);
		next->len = lower + bytes + SHCA_IB_VCRC_BYTES;
		last->next = next;
		last = next;
	}
	last->next = NULL;
	first->len = batch.lower.len + SHCA_IB_VCRC_BYTES;
	/* (the first may be in another use by then) */
	for (packet = first; packet; packet = next) {
		next = packet->next;
		packet->bare = true;
		if (!packet_enters(edge, packet, batch.lower.vl, shim->period))
			fab_packet_put(data, packet);
	}
	return true;
}

static void hello_arrives(struct fab_edge *edge, const struct shca_ib_shim *shim, const u8 *body,
			  const u8 *mac)
{
	struct shca_ib_hello hello;

	/* A group address is nobody's. */
	if (mac[0] & 1 || shca_ib_hello_parse(&hello, shim, body))
		edge->bad_frames++;
	else
		fab_edge_events(edge, shca_ib_port_rx(&edge->phy, &hello, mac, fabric_of(edge)->now));
}

/* Return: did it keep the packet? */
static bool frame_arrives(struct fab_edge *edge, struct fab_packet *packet, u32 len)
{
	u8 *frame = packet->frame, *body = frame + FAB_HEAD;
	struct shca_ib_shim shim;

	if (len < FAB_HEAD || get_be16(frame + 2 * SHCA_IB_MAC_BYTES) != SHCA_IB_ETHERTYPE)
		return false;	/* of another protocol */
	if (shca_ib_shim_parse(&shim, frame + FAB_ETHER_BYTES, len - FAB_ETHER_BYTES)) {
		edge->bad_frames++;
		return false;
	}
	if (shim.type == SHCA_IB_FRAME_HELLO) {
		hello_arrives(edge, &shim, body, frame + SHCA_IB_MAC_BYTES);
		return false;
	}
	/* Frames that come before the link is up are sent again. */
	if (!is_up(edge))
		return false;
	if (shim.session != edge->phy.peer.session) {
		edge->bad_frames++;
		return false;
	}
	/*
	 * The peer is there. A window of packets may be in front of its next hello, and this process
	 * late with them.
	 */
	edge->phy.heard_at = fabric_of(edge)->now;
	if (shim.type == SHCA_IB_FRAME_DATA)
		return packet_arrives(edge, packet, &shim);
	if (shim.type == SHCA_IB_FRAME_BATCH && edge->batch_mtu)
		return batch_arrives(edge, packet, &shim);
	if (shim.type == SHCA_IB_FRAME_BATCH) {
		edge->bad_frames++;
		return false;
	}
	credits_arrive(edge, &shim, body);
	return false;
}

void fab_edge_receive(struct fab_edge *edge, struct fab_packet *packet, u32 len, u64 now)
{
	struct fabric *fabric = fabric_of(edge);

	fabric->now = now;
	if (!frame_arrives(edge, packet, len))
		fab_packet_put(fabric->data, packet);
}

/* ---- the link --------------------------------------------------------------- */

void fab_edge_events(struct fab_edge *edge, u32 events)
{
	u64 now = fabric_of(edge)->now;

	if (events & SHCA_IB_EV_DOWN) {
		shca_ib_credits_reset(&edge->credits, false);
		fab_port_set(edge->port, SHCA_IB_PHYS_POLLING, !edge->by_set);
	}
	edge->port->phys = edge->phy.phys;
	if (!(events & SHCA_IB_EV_UP))
		return;
	edge->by_set = false;
	shca_ib_credits_reset(&edge->credits, edge->phy.peer.credits);
	edge->drain = DRAIN_NS;
	edge->turned = now;
	edge->tell_at = now;
	fab_port_set(edge->port, SHCA_IB_PHYS_LINK_UP, true);
}

void fab_edge_ask(struct fab_edge *edge, u8 phys)
{
	edge->by_set = true;
	fab_edge_events(edge, shca_ib_port_ask(&edge->phy, phys == SHCA_IB_PHYS_DISABLED,
					       fabric_of(edge)->now));
}

void fab_edge_carrier(struct fab_edge *edge, bool carrier, u64 now)
{
	fabric_of(edge)->now = now;
	fab_edge_events(edge, shca_ib_port_carrier(&edge->phy, carrier, now));
}

void fab_edge_bye(struct fab_edge *edge, u64 now)
{
	struct shca_ib_hello hello = shca_ib_port_bye(&edge->phy);

	send_hello(edge, &hello);
	fab_edge_carrier(edge, false, now);
}

/* Return: when to call it again. */
static u64 advance(struct fab_edge *edge, u64 now)
{
	struct shca_ib_hello hello;
	u64 deadline;

	fab_edge_events(edge, shca_ib_port_tick(&edge->phy, now));
	if (shca_ib_port_tx(&edge->phy, &hello, now))
		send_hello(edge, &hello);
	deadline = shca_ib_port_deadline(&edge->phy);
	if (!edge->credits.on)
		return deadline;
	reconcile(edge, now);
	if (now >= edge->tell_at)
		tell(edge);
	return min_t(u64, deadline, edge->tell_at);
}

u64 fab_data_advance(struct fabric *fabric, u64 now)
{
	struct fab_data *data = fabric->data;
	u64 deadline = ~0ull;
	u32 i;

	fabric->now = now;
	fab_output_late(fabric);
	for (i = 0; i < data->edges_nr; i++)
		deadline = min_t(u64, deadline, advance(data->edges[i], now));
	fab_data_run(fabric, now);
	/* (it may have left some for the next call) */
	deadline = data->ready || !data->moves ? now : min_t(u64, deadline, fab_output_deadline(fabric));
	if (data->adaptive)
		deadline = min_t(u64, deadline, fab_adaptive_advance(data->adaptive, now));
	deadline = min_t(u64, deadline, fab_sources_deadline(fabric));
	if (data->aggregators)
		deadline = min_t(u64, deadline, fab_reduce_advance(&data->aggregators->reduce, now));
	return max_t(u64, deadline, now + 1);
}

/* ---- the beginning ---------------------------------------------------------- */

void fab_edge_init(struct fab_edge *edge, struct fab_port *port, u32 session, u32 mtu, u32 window)
{
	struct fab_data *data = port->node->fabric->data;
	u32 grant[SHCA_IB_LANES], i;

	for (i = 0; i < SHCA_IB_LANES; i++)
		grant[i] = FAB_EDGE_LANE_PACKETS * SHCA_IB_CHARGE;
	shca_ib_credits_size(&edge->credits, window * SHCA_IB_CHARGE, grant);
	edge->port = port;
	edge->drain = DRAIN_NS;
	shca_ib_port_init(&edge->phy, port->guid, session, mtu);
	edge->phy.lanes = SHCA_IB_VL_CAP;
	edge->phy.credits = true;
	port->edge = edge;
	port->mtu_cap = fls(mtu) - 8;	/* 1 is 256 */
	data->edges[data->edges_nr++] = edge;
}

void fab_edge_batches(struct fab_edge *edge, u32 mtu)
{
	edge->batch_mtu = mtu;
	edge->phy.batches = true;
}

void fab_io_init(struct fab_port *port, struct fab_io *io)
{
	u32 i;

	for (i = 0; i < SHCA_IB_LANES; i++) {
		io->input[i].in = port;
		io->input[i].lane = i;
	}
	shca_ib_arb_init(&io->arb, &port->lanes);
	port->io = io;
}

struct fab_packet *fab_packet_get(struct fab_data *data)
{
	struct fab_packet *packet = data->unused;

	/* One that was used a short time ago is likely in a cache. */
	if (packet)
		data->unused = packet->next;
	else if (data->pool_used < data->pool_nr)
		packet = &data->pool[data->pool_used++];
	if (packet) {
		packet->flow = NULL;
		packet->bare = false;
	}
	return packet;
}

void fab_packet_put(struct fab_data *data, struct fab_packet *packet)
{
	packet->next = data->unused;
	data->unused = packet;
	if (packet->flow)
		fab_flow_leave(data->adaptive, packet->flow);
}

/* What a bit of the first byte adds to the VCRC of a packet with so many words. */
static void vl_crc_init(struct fab_data *data, u32 bit)
{
	static const u8 zeros[4];
	const u8 first[4] = { 0x10 << bit };
	/* Both CRCs are linear, so the difference needs no seed. */
	u16 state = shca_ib_vcrc(&data->vcrc, 0, first, sizeof(first));
	u32 words;

	for (words = 1; words <= FAB_PACKET_WORDS; words++) {
		data->vl_crc[bit][words] = state;
		state = shca_ib_vcrc(&data->vcrc, state, zeros, sizeof(zeros));
	}
}

void fab_data_init(struct fabric *fabric, struct fab_data *data)
{
	u32 bit;

	shca_ib_vcrc_init(&data->vcrc);
	fab_icrc_init(data);
	for (bit = 0; bit < 4; bit++)
		vl_crc_init(data, bit);
	fabric->data = data;
}
