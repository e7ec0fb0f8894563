// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The data path of the fabric by itself, under sanitizers: switches between real ports, which are
 * models of softhca's ports made of the module's own state machines. First the rows of the IBTA's
 * checks, then random fabrics with random traffic. Prints "ok NAME" or "not ok NAME # why".
 *
 *	data [SEEDS [FIRST]]
 */
#include "../../fabric/core/data_internal.h"
#include "../../reduce/member.h"
#define PROGRAM "data"
#include "checks.h"

#define SECOND			1000000000ull
#define MS			1000000ull
#define SWITCHES_MAX		20
#define RANDOM_SWITCHES		6
#define PORTS			8
#define HOSTS_MAX		8
#define INBOX			1024
#define POOL			(SWITCHES_MAX * (PORTS + 1) * SHCA_IB_LANES * FAB_LANE_PACKETS + \
				 HOSTS_MAX * SHCA_IB_LANES * FAB_EDGE_PACKETS)
#define PAYLOAD_MIN		16
#define PKEY			0xffff

struct frame {
	u32 len;
	u8 data[FAB_FRAME_MAX];
};

/* A real port. */
struct host {
	struct fab_edge edge;
	struct shca_ib_port phy;
	struct shca_ib_credits credits;
	u8 mac[SHCA_IB_MAC_BYTES];
	u16 lid;
	/* frames from the switch, not looked at yet */
	struct frame *inbox;
	u32 first;
	u32 last;
	/* of packets: sent, got; the next number by the other host, and SL */
	u64 sent;
	u64 got;
	u32 next_sent[HOSTS_MAX][SHCA_IB_SLS];
	u32 next_got[HOSTS_MAX][SHCA_IB_SLS];
	u64 turned;
	u64 tell_at;
	u64 turning;
	bool slow;	/* gives no credit back */
	bool mute;	/* sends no frames of credits */
	bool silent;	/* sends no hellos */
	u8 period;	/* of the switch, and when it began */
	u64 period_began;
	u32 credit_frames;	/* that have come */
	u32 asks;	/* of those */
	u32 damaged;	/* packets with a wrong VCRC */
	u32 marked;	/* packets with FECN */
	u16 marked_sl;	/* their service levels, as bits */
	u32 batches;	/* frames of batches that have come */
	u32 frames;	/* frames with packets that have come */
	u32 held[SHCA_IB_LANES];
	/* the last datagram that has come: its packet from LRH on, and how many */
	u8 mad[FAB_PACKET_MAX];
	u32 mads;
	u32 psn;	/* of the last packet of an aggregation node, or datagram of subnet management */
	struct shca_reduce_member *member;	/* of a job that reduces, or NULL */
	u8 lrh[SHCA_IB_LRH_BYTES];	/* of the last packet for it */
};

struct world {
	struct fabric fabric;
	struct fab_data data;
	struct fab_node node[SWITCHES_MAX];
	struct host host[HOSTS_MAX];
	struct fab_edge *edges[HOSTS_MAX];
	u32 switches;
	u32 ports;	/* of each */
	u32 hosts;
	u64 now;
	bool loses;	/* packets may be lost */
	bool is_mapped;	/* a switch has a table of lanes */
	bool damages;	/* packets may be damaged */
	u32 loss;	/* one frame of so many is lost, both ways; 0: none */
	bool reorders;	/* packets may overtake each other */
	u8 opcode;	/* of packets; 0: UC */
	u32 qp;		/* to which they go, beside 17 */
	u64 digest;	/* of all frames that have left the fabric */
	bool refuses;	/* no frame can leave the fabric */
	struct fab_adaptive adaptive;
	struct fab_node *nodes[SWITCHES_MAX];
	u32 refusals;
	bool draws_batches;	/* some hosts take batches, and send them */
};

static struct world *world;
static u64 random_state;
/* (one for all worlds: what was used is warm) */
static struct fab_packet pool[POOL];
static struct frame inbox[HOSTS_MAX][INBOX];

static u32 draw(u32 n)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (random_state >> 33) % n;
}

/* ---- a world ---------------------------------------------------------------- */

static struct host *host_of(struct fab_edge *edge)
{
	return (struct host *)((char *)edge - offsetof(struct host, edge));
}

static u64 digest(u64 sum, const u8 *data, u32 len)
{
	while (len--)
		sum = (sum ^ *data++) * 0x100000001b3;
	return sum;
}

static void to_inbox(struct host *host, const u8 *data, u32 len)
{
	struct frame *frame = &host->inbox[host->last++ % INBOX];

	CHECK(host->last - host->first <= INBOX, true);
	CHECK(len <= FAB_FRAME_MAX, true);
	frame->len = len;
	memcpy(frame->data, data, len);
}

#define TYPE_DATA	1
#define TYPE_BATCH	4
#define BATCH_MOST	60

/*
 * The frame of a batch becomes frames of its packets, by docs/infiniband.md: LRH and GRH of the first, and
 * each packet from BTH to ICRC, all as long as the first but the last.
 */
static void batch_to_inbox(struct host *host, const u8 *data, u32 len)
{
	const u8 *lrh = data + FAB_HEAD;
	u32 lower = (lrh[1] & 3) == 3 ? 48 : 8, unit = (get_be16(lrh + 4) & 0x7ff) * 4 - lower, at, bytes, packet, nr = 0;
	u8 frame[FAB_FRAME_MAX], *out = frame + FAB_HEAD;

	CHECK(host->phy.batches, true);
	CHECK(len - FAB_ETHER_BYTES <= host->edge.batch_mtu, true);
	CHECK(get_be16(data + FAB_ETHER_BYTES + 2), len - FAB_HEAD);
	CHECK(lrh[0] >> 4 < SHCA_IB_LANES && get_be16(lrh + 2) < LID_MCAST, true);
	for (at = FAB_HEAD + lower; at < len; at += bytes) {
		bytes = min_t(u32, unit, len - at);
		/* Only the first may be for QP 0 or for a group. */
		CHECK(!nr || ((get_be32(data + at + 4) & 0xffffff) && (get_be32(data + at + 4) & 0xffffff) != 0xffffff), true);
		packet = lower + bytes;
		memcpy(frame, data, FAB_HEAD + lower);
		memcpy(out + lower, data + at, bytes);
		frame[FAB_ETHER_BYTES] = 1 << 4 | TYPE_DATA;
		put_be16(frame + FAB_ETHER_BYTES + 2, packet + 2);
		put_be16(out + 4, packet / 4);
		if (lower == 48)
			put_be16(out + 12, bytes);
		shca_ib_vcrc_put(shca_ib_vcrc(&world->data.vcrc, SHCA_IB_VCRC_SEED, out, packet), out + packet);
		to_inbox(host, frame, FAB_HEAD + packet + 2);
		nr++;
	}
	CHECK(at, len);
	CHECK(nr && nr <= BATCH_MOST, true);
	host->batches++;
}

static bool send_to_host(struct fab_edge *edge, const u8 *data, u32 len)
{
	struct host *host = host_of(edge);

	CHECK(memcmp(data + SHCA_IB_MAC_BYTES, edge->mac, SHCA_IB_MAC_BYTES), 0);
	CHECK(data[0] == 0xff || !memcmp(data, host->mac, SHCA_IB_MAC_BYTES), true);
	CHECK(get_be16(data + 2 * SHCA_IB_MAC_BYTES), SHCA_IB_ETHERTYPE);
	if (world->refuses)
		return false;
	if (world->loss && !draw(world->loss))
		return true;
	world->digest = digest(world->digest, data, len);
	host->frames += data[FAB_ETHER_BYTES] == (1 << 4 | TYPE_BATCH) || data[FAB_ETHER_BYTES] == (1 << 4 | TYPE_DATA);
	if (data[FAB_ETHER_BYTES] == (1 << 4 | TYPE_BATCH))
		batch_to_inbox(host, data, len);
	else
		to_inbox(host, data, len);
	return true;
}

static void add_switch(struct world *w, u32 i)
{
	struct fab_node *node = &w->node[i];
	struct fab_io *io = zeros((w->ports + 1) * sizeof(*io));
	u32 j;

	node->type = FAB_SWITCH;
	node->ports_nr = w->ports;
	node->guid = 0x100 * (i + 1);
	node->ports = zeros((w->ports + 1) * sizeof(*node->ports));
	node->sw = zeros(sizeof(*node->sw));
	node->sw->lft = zeros(FAB_LFT_ENTRIES);
	node->sw->mft = zeros(fab_mft_bytes(w->ports));
	node->sw->sl2vl = zeros(fab_sl2vl_bytes(w->ports));
	for (j = 0; j <= w->ports; j++) {
		node->ports[j].guid = node->guid;
		node->ports[j].supported = (struct fab_rate){ .width = 2, .speed = 7 };
	}
	fab_node_init(&w->fabric, node);
	node->sw->lft_top = 100;
	for (j = 0; j <= w->ports; j++)
		fab_io_init(&node->ports[j], &io[j]);
}

static struct world *begin_ports(u32 switches, u32 ports)
{
	struct world *w = zeros(sizeof(*w));
	u32 i;

	steps_begin(endless);
	w->now = SECOND;
	w->switches = switches;
	w->ports = ports;
	w->data.pool = pool;
	w->data.pool_nr = POOL;
	w->data.edges = w->edges;
	w->data.send = send_to_host;
	for (i = 0; i < switches; i++)
		add_switch(w, i);
	fab_data_init(&w->fabric, &w->data);
	world = w;
	return w;
}

static struct world *begin(u32 switches)
{
	return begin_ports(switches, PORTS);
}

static struct fab_port *port(struct world *w, u32 sw, u32 number)
{
	return &w->node[sw].ports[number];
}

#define TAP_MTU		65521

/* Before the link is up. @mtu: of the netdev. */
static void take_batches(struct host *host, u32 mtu)
{
	host->phy.batches = true;
	fab_edge_batches(&host->edge, mtu);
}

/* A host at a port. LIDs of hosts are 1, 2 and so on. */
static struct host *add_host(struct world *w, u32 sw, u32 number)
{
	struct host *host = &w->host[w->hosts];
	u32 grant[SHCA_IB_LANES], i;

	for (i = 0; i < SHCA_IB_LANES; i++)
		grant[i] = SHCA_IB_GRANT;
	host->inbox = inbox[w->hosts];
	host->edge.mac[0] = 2;
	host->edge.mac[5] = w->hosts;
	host->mac[0] = 6;
	host->mac[5] = w->hosts;
	host->lid = ++w->hosts;
	fab_edge_init(&host->edge, port(w, sw, number), 0x1000 + w->hosts, SHCA_IB_MTU_MAX, FAB_EDGE_WINDOW);
	shca_ib_port_init(&host->phy, host->lid, 0x2000 + w->hosts, SHCA_IB_MTU_MAX);
	host->phy.lanes = SHCA_IB_VL_CAP;
	host->phy.credits = true;
	if (w->draws_batches && draw(2))
		take_batches(host, draw(2) ? TAP_MTU : 9000);
	shca_ib_credits_size(&host->credits, SHCA_IB_WINDOW, grant);
	shca_ib_port_carrier(&host->phy, true, w->now);
	fab_edge_carrier(&host->edge, true, w->now);
	return host;
}

static void end(struct world *w)
{
	u32 i;

	for (i = 0; i < w->switches; i++) {
		if (w->node[i].sw->groups)
			free(w->node[i].sw->groups->turns);
		free(w->node[i].sw->groups);
		free(w->node[i].ports[0].io);
		free(w->node[i].ports);
		free(w->node[i].sw->lft);
		free(w->node[i].sw->mft);
		free(w->node[i].sw->sl2vl);
		free(w->node[i].sw);
	}
	free(w->adaptive.flows);
	free(w);
}

/* ---- a host ----------------------------------------------------------------- */

static void put_ether(const struct host *host, u8 *frame)
{
	memcpy(frame, host->edge.mac, SHCA_IB_MAC_BYTES);
	memcpy(frame + SHCA_IB_MAC_BYTES, host->mac, SHCA_IB_MAC_BYTES);
	put_be16(frame + 2 * SHCA_IB_MAC_BYTES, SHCA_IB_ETHERTYPE);
}

/* A frame goes to the switch. */
static void to_switch(struct world *w, struct host *host, const u8 *frame, u32 len)
{
	struct fab_packet *packet;

	if (w->loss && !draw(w->loss))
		return;
	packet = fab_packet_get(&w->data);
	CHECK(!packet, false);
	if (!packet)
		return;
	memcpy(packet->frame, frame, min_t(u32, len, FAB_FRAME_MAX));
	if (len > FAB_FRAME_MAX)
		memcpy(w->data.rest, frame + FAB_FRAME_MAX, len - FAB_FRAME_MAX);
	put_ether(host, packet->frame);
	fab_edge_receive(&host->edge, packet, len, w->now);
}

static void host_tell(struct world *w, struct host *host, bool ask)
{
	struct shca_ib_credit_frame credits;
	u8 frame[FAB_ETHER_BYTES + SHCA_IB_SHIM_BYTES + SHCA_IB_CREDIT_BYTES];

	host->tell_at = w->now + 4 * MS;
	if (host->mute)
		return;
	if (w->now >= host->turning + 20 * MS)
		shca_ib_credits_reconcile(&host->credits);
	if (w->now >= host->turned + 40 * MS) {
		shca_ib_credits_turn(&host->credits);
		host->turned = w->now;
	}
	shca_ib_credits_tell(&host->credits, &credits);
	credits.session = host->phy.session;
	credits.ask = ask;
	shca_ib_credit_build(&credits, &w->data.vcrc, frame + FAB_ETHER_BYTES);
	to_switch(w, host, frame, sizeof(frame));
}

static void host_events(struct world *w, struct host *host, u32 events)
{
	if (events & SHCA_IB_EV_DOWN)
		shca_ib_credits_reset(&host->credits, false);
	if (events & SHCA_IB_EV_UP) {
		shca_ib_credits_reset(&host->credits, host->phy.peer.credits);
		host->turned = w->now;
		host->tell_at = w->now;
	}
}

/* What a packet of the tests has behind its BTH. */
struct stamp {
	u32 from;
	u32 number;
	u32 sl;
	u32 hole;
};

static u32 make_packet(struct world *w, u8 *lrh, u16 slid, u16 dlid, u8 sl, u8 vl, u16 pkey, u32 payload,
		       const struct stamp *stamp)
{
	u32 len = SHCA_IB_LRH_BYTES + SHCA_BTH_BYTES + payload + SHCA_ICRC_BYTES;
	const struct shca_ib_lower lower = { .vl = vl, .sl = sl, .dlid = dlid, .slid = slid, .len = len };
	u8 *bth = lrh + SHCA_IB_LRH_BYTES;

	memset(lrh, 0x5a, len);
	shca_ib_lower_build(&lower, lrh);
	bth[0] = w->opcode ?: 0x24;	/* UC SEND only */
	bth[1] = 0;
	put_be16(bth + 2, pkey);
	put_be32(bth + 4, 17 + w->qp);
	memcpy(bth + SHCA_BTH_BYTES, stamp, sizeof(*stamp));
	shca_ib_vcrc_put(shca_ib_vcrc(&w->data.vcrc, SHCA_IB_VCRC_SEED, lrh, len), lrh + len);
	return len + SHCA_IB_VCRC_BYTES;
}

static void send_packet(struct world *w, struct host *host, u8 *frame, u32 len)
{
	struct shca_ib_shim shim = {
		.type = SHCA_IB_FRAME_DATA,
		.period = host->credits.period,
		.len = len,
		.session = host->phy.session,
	};

	shca_ib_shim_build(&shim, frame + FAB_ETHER_BYTES);
	to_switch(w, host, frame, FAB_HEAD + len);
}

/* Return: false: no credit. */
static bool host_send(struct world *w, struct host *host, struct host *to, u8 sl, u32 payload)
{
	u32 other = to - w->host, len;
	struct stamp stamp = { .from = host - w->host, .number = host->next_sent[other][sl], .sl = sl };
	u8 frame[FAB_FRAME_MAX], lane = sl % SHCA_IB_LANES;

	if (shca_ib_credits_room(&host->credits, lane) < SHCA_IB_CHARGE)
		return false;
	shca_ib_credits_take(&host->credits, lane, SHCA_IB_CHARGE);
	host->next_sent[other][sl]++;
	host->sent++;
	len = make_packet(w, frame + FAB_HEAD, host->lid, to->lid, sl, lane, PKEY, payload, &stamp);
	send_packet(w, host, frame, len);
	return true;
}

/* A frame of a batch, as docs/infiniband.md has it: to be changed, and sent. */
struct batch {
	u32 len;	/* behind the shim */
	u8 frame[FAB_BATCH_MAX];
};

/* Packets with @payload bytes each, but @last in the last one. */
static void make_batch(struct world *w, struct batch *batch, struct host *host, struct host *to, u8 sl, u8 vl, u32 nr,
		       u32 payload, u32 last)
{
	u32 other = to - w->host, i, len;
	u8 packet[FAB_PACKET_MAX];

	batch->len = 0;
	for (i = 0; i < nr; i++) {
		const struct stamp stamp = { .from = host - w->host, .number = host->next_sent[other][sl]++, .sl = sl };

		len = make_packet(w, packet, host->lid, to->lid, sl, vl, PKEY, i + 1 < nr ? payload : last, &stamp) - 2;
		memcpy(batch->frame + FAB_HEAD + batch->len, packet + (i ? SHCA_IB_LRH_BYTES : 0), len - (i ? SHCA_IB_LRH_BYTES : 0));
		batch->len += len - (i ? SHCA_IB_LRH_BYTES : 0);
	}
}

static void send_batch(struct world *w, struct host *host, struct batch *batch)
{
	u8 *shim = batch->frame + FAB_ETHER_BYTES;

	shim[0] = 1 << 4 | TYPE_BATCH;
	shim[1] = host->credits.period;
	put_be16(shim + 2, batch->len);
	put_be32(shim + 4, host->phy.session);
	to_switch(w, host, batch->frame, FAB_HEAD + batch->len);
}

/* Return: false: no credit, or the switch takes no batches. */
static bool host_send_batch(struct world *w, struct host *host, struct host *to, u8 sl, u32 nr, u32 payload, u32 last)
{
	static struct batch batch;
	u8 lane = sl % SHCA_IB_LANES;

	if (!host->phy.peer.batches || shca_ib_credits_room(&host->credits, lane) < nr * SHCA_IB_CHARGE ||
	    nr * (payload + 16) + 200 > host->edge.batch_mtu)
		return false;
	shca_ib_credits_take(&host->credits, lane, nr * SHCA_IB_CHARGE);
	host->sent += nr;
	make_batch(w, &batch, host, to, sl, lane, nr, payload, last);
	send_batch(w, host, &batch);
	return true;
}

#define OPCODE_UD	0x64
#define MAD_AT		(SHCA_IB_LRH_BYTES + SHCA_BTH_BYTES + SHCA_DETH_BYTES)
#define MAD_LEN		(MAD_AT + FAB_MAD_BYTES + SHCA_ICRC_BYTES)

/* The invariant CRC by its definition (IBTA 7.8.1). */
static u32 icrc(const u8 *lrh, u32 len)
{
	bool has_grh = (lrh[1] & 3) == 3;
	u32 crc = ~0u, i, bit;
	u8 byte;

	for (i = 0; i < len - SHCA_ICRC_BYTES; i++) {
		byte = lrh[i];
		if (!i)
			byte |= 0xf0;	/* VL */
		if (has_grh && i == SHCA_IB_LRH_BYTES)
			byte |= 0x0f;	/* traffic class and flow label, hop limit */
		if (has_grh && (i < SHCA_IB_LRH_BYTES || (i > SHCA_IB_LRH_BYTES && i < SHCA_IB_LRH_BYTES + 4) ||
				i == SHCA_IB_LRH_BYTES + 7))
			byte = 0xff;
		if (i == (has_grh ? SHCA_IB_LOWER_MAX : SHCA_IB_LRH_BYTES) + 4u)
			byte = 0xff;
		for (bit = 0; bit < 8; bit++, byte >>= 1)
			crc = crc >> 1 ^ ((crc ^ byte) & 1 ? 0xedb88320u : 0);
	}
	return ~crc;
}

static u32 icrc_of(const u8 *lrh, u32 len)
{
	const u8 *at = lrh + len - SHCA_ICRC_BYTES;

	return at[0] | at[1] << 8 | at[2] << 16 | (u32)at[3] << 24;
}

static void get_mad(struct host *host, const u8 *lrh, u32 len)
{
	const u8 *bth = lrh + SHCA_IB_LRH_BYTES;

	CHECK(len, MAD_LEN + ((lrh[1] & 3) == 3 ? SHCA_IB_GRH_BYTES : 0));
	CHECK(icrc_of(lrh, len), icrc(lrh, len));
	if (lrh[0] >> 4 == SHCA_IB_VL_MGMT) {
		/* IBTA 13.5.1, 9.2: SL 0, the default P_Key, between QP 0 and QP 0, without a Q_Key */
		CHECK(lrh[1], 2);
		CHECK(get_be32(bth), (u32)OPCODE_UD << 24 | PKEY);
		CHECK(get_be32(bth + 4), 0);
		CHECK(get_be32(bth + SHCA_BTH_BYTES), 0);
		CHECK(get_be32(bth + SHCA_BTH_BYTES + 4), 0);
		CHECK(get_be32(bth + 8) > 0xffffff || (host->mads && get_be32(bth + 8) == host->psn), false);
		host->psn = get_be32(bth + 8);
	}
	memcpy(host->mad, lrh, len);
	host->mads++;
}

#define UD_AT		(SHCA_IB_LRH_BYTES + SHCA_BTH_BYTES + SHCA_DETH_BYTES)
#define UD_QP		0x123
#define UD_QKEY		0x7654

static void get_reduced(struct world *w, struct host *host, const u8 *lrh, u32 len)
{
	const u8 *bth = lrh + SHCA_IB_LRH_BYTES;

	memcpy(host->lrh, lrh, sizeof(host->lrh));
	CHECK(lrh[1] & 3, 2);
	CHECK(icrc_of(lrh, len), icrc(lrh, len));
	CHECK(get_be16(bth + 2), PKEY);
	CHECK(get_be32(bth + 4), UD_QP);
	CHECK(get_be32(bth + 8) != host->psn || !host->psn, true);
	CHECK(bth[8], 0);	/* no AckReq, nothing reserved */
	host->psn = get_be32(bth + 8);
	CHECK(get_be32(bth + SHCA_BTH_BYTES), UD_QKEY);
	CHECK(len >= UD_AT + SHCA_ICRC_BYTES, true);
	shca_reduce_member_receive(host->member, get_be16(lrh + 6), get_be32(bth + SHCA_BTH_BYTES + 4), lrh + UD_AT,
				   len - UD_AT - SHCA_ICRC_BYTES, w->now);
}

static void host_get_packet(struct world *w, struct host *host, const u8 *frame, const struct shca_ib_shim *shim)
{
	const u8 *lrh = frame + FAB_HEAD, *bth = lrh + ((lrh[1] & 3) == 3 ? SHCA_IB_LOWER_MAX : SHCA_IB_LRH_BYTES);
	u32 len = shim->len - SHCA_IB_VCRC_BYTES;
	struct shca_ib_lower lower;
	struct stamp stamp;

	CHECK(shim->session, host->phy.peer.session);
	if (!shca_ib_vcrc_ok(shca_ib_vcrc(&w->data.vcrc, SHCA_IB_VCRC_SEED, lrh, len), lrh + len)) {
		CHECK(w->damages, true);
		host->damaged++;
		return;
	}
	CHECK(shca_ib_lower_parse(&lower, lrh, shim->len, shim->len), SHCA_IB_OK);
	if (lower.vl == SHCA_IB_VL_MGMT) {
		get_mad(host, lrh, len);
		return;
	}
	shca_ib_credits_arrived(&host->credits, shim->period, lower.vl, SHCA_IB_CHARGE);
	CHECK(shca_ib_credits_keep(&host->credits, lower.vl, SHCA_IB_CHARGE), true);
	if (host->slow)
		host->held[lower.vl]++;
	else
		shca_ib_credits_free(&host->credits, lower.vl, SHCA_IB_CHARGE);
	if (!w->is_mapped)
		CHECK(lower.vl, lower.sl % SHCA_IB_LANES);
	if (bth[0] == OPCODE_UD && host->member) {
		get_reduced(w, host, lrh, len);
		return;
	}
	if (bth[0] == OPCODE_UD) {
		get_mad(host, lrh, len);
		return;
	}
	/* (of byte 4 only FECN is not covered by the ICRC and may change) */
	CHECK(bth[4] & 0x7f, 0);
	host->marked += bth[4] >> 7;
	host->marked_sl |= (bth[4] >> 7) << lower.sl;
	memcpy(&stamp, bth + SHCA_BTH_BYTES, sizeof(stamp));
	if (lower.dlid < LID_MCAST)
		CHECK(lower.dlid, host->lid);
	if (w->reorders)
		host->next_got[stamp.from][stamp.sl] = stamp.number;
	else if (w->loses)
		CHECK(stamp.number >= host->next_got[stamp.from][stamp.sl], true);
	else
		CHECK(stamp.number, host->next_got[stamp.from][stamp.sl]);
	host->next_got[stamp.from][stamp.sl] = stamp.number + 1;
	host->got++;
}

static void host_frame(struct world *w, struct host *host, const u8 *frame, u32 len)
{
	struct shca_ib_credit_frame credits;
	struct shca_ib_hello hello;
	struct shca_ib_shim shim;
	bool turning;

	CHECK(shca_ib_shim_parse(&shim, frame + FAB_ETHER_BYTES, len - FAB_ETHER_BYTES), SHCA_IB_OK);
	switch (shim.type) {
	case SHCA_IB_FRAME_HELLO:
		CHECK(shca_ib_hello_parse(&hello, &shim, frame + FAB_HEAD), SHCA_IB_OK);
		host_events(w, host, shca_ib_port_rx(&host->phy, &hello, frame + SHCA_IB_MAC_BYTES, w->now));
		return;
	case SHCA_IB_FRAME_CREDITS:
		CHECK(shca_ib_credit_parse(&credits, &w->data.vcrc, &shim, frame + FAB_HEAD), SHCA_IB_OK);
		host->credit_frames++;
		host->asks += credits.ask;
		/* A period has 40 ms at least. (The first one began with the link.) */
		if (!credits.init && credits.period != host->period) {
			CHECK(!host->period_began || w->now - host->period_began >= 40 * MS, true);
			host->period_began = w->now;
		}
		host->period = credits.period;
		if (!host->credits.on)
			return;
		turning = shca_ib_credits_turning(&host->credits);
		CHECK(shca_ib_credits_hear(&host->credits, &credits), true);
		if (!turning)
			host->turning = w->now;
		if (credits.init || credits.ask)
			host_tell(w, host, false);
		return;
	default:
		if (host->phy.phys == SHCA_IB_PHYS_LINK_UP)
			host_get_packet(w, host, frame, &shim);
	}
}

static void host_run(struct world *w, struct host *host)
{
	struct shca_ib_hello hello;
	u8 frame[FAB_HEAD + SHCA_IB_HELLO_BYTES];
	struct frame *next;

	while (host->first != host->last) {
		next = &host->inbox[host->first++ % INBOX];
		host_frame(w, host, next->data, next->len);
	}
	host_events(w, host, shca_ib_port_tick(&host->phy, w->now));
	if (shca_ib_port_tx(&host->phy, &hello, w->now)) {
		shca_ib_hello_build(&hello, frame + FAB_ETHER_BYTES);
		if (!host->silent)
			to_switch(w, host, frame, sizeof(frame));
	}
	if (host->credits.on && (w->now >= host->tell_at || shca_ib_credits_pending(&host->credits)))
		host_tell(w, host, false);
}

/* Let time pass. */
static void pass_by(struct world *w, u64 ns, u64 step)
{
	u64 until = w->now + ns;
	u32 i;

	for (; w->now < until; w->now += step) {
		steps_begin(endless);
		for (i = 0; i < w->hosts; i++)
			host_run(w, &w->host[i]);
		fab_data_run(&w->fabric, w->now);
		/* What is due was done, so the next time is later. */
		CHECK(fab_data_advance(&w->fabric, w->now) > w->now, true);
	}
}

static void pass(struct world *w, u64 ns)
{
	pass_by(w, ns, MS / 10);
}

/* What a subnet manager does: all ports Active. */
static void activate(struct world *w)
{
	u32 i, j;

	for (i = 0; i < w->switches; i++)
		for (j = 1; j <= w->ports; j++)
			if (port(w, i, j)->phys == SHCA_IB_PHYS_LINK_UP)
				port(w, i, j)->state = SHCA_IB_STATE_ACTIVE;
}

static void set_route(struct world *w, u32 sw, u16 lid, u8 out)
{
	w->node[sw].sw->lft[lid] = out + 1;
}

/* All outputs mark. */
static void set_thresholds(struct world *w, u8 threshold)
{
	u32 i, j;

	for (i = 0; i < w->switches; i++)
		for (j = 0; j <= w->ports; j++)
			w->node[i].sw->cong.port[j].threshold = threshold;
}

/* One switch, hosts at ports 1, 2, 3. */
static struct world *begin_one(void)
{
	struct world *w = begin(1);
	u32 i;

	for (i = 1; i <= 3; i++) {
		add_host(w, 0, i);
		set_route(w, 0, i, i);
	}
	pass(w, 50 * MS);
	for (i = 1; i <= 3; i++)
		CHECK(port(w, 0, i)->state, SHCA_IB_STATE_INIT);
	activate(w);
	return w;
}

/* ---- tests ------------------------------------------------------------------ */

static void links(void)
{
	struct world *w = begin_one();
	struct fab_port *p = port(w, 0, 1);

	CHECK(p->phys, SHCA_IB_PHYS_LINK_UP);
	CHECK(p->neighbor_mtu, 5);
	CHECK(p->active.speed, 1);
	CHECK(w->node[0].sw->changed, true);
	w->node[0].sw->changed = false;
	/* A frame of credits each 100 ms, and 500 us after a packet waits. */
	w->host[0].credit_frames = 0;
	pass(w, 250 * MS);
	CHECK(w->host[0].credit_frames, 2);
	CHECK(w->host[0].asks, 0);
	/* The cable of a host is pulled out. */
	host_events(w, &w->host[0], shca_ib_port_carrier(&w->host[0].phy, false, w->now));
	pass(w, 1500 * MS);
	CHECK(p->state, SHCA_IB_STATE_DOWN);
	CHECK(p->phys, SHCA_IB_PHYS_POLLING);
	CHECK(p->counters.error[FAB_ERR_DOWNED], 1);
	CHECK(w->node[0].sw->changed, true);
	shca_ib_port_carrier(&w->host[0].phy, true, w->now);
	pass(w, 300 * MS);
	CHECK(p->state, SHCA_IB_STATE_INIT);
	/* NeighborMTU is what both have: 3 is 1024. */
	host_events(w, &w->host[2], shca_ib_port_carrier(&w->host[2].phy, false, w->now));
	pass(w, 1500 * MS);
	w->host[2].phy.mtu = 1024;
	shca_ib_port_carrier(&w->host[2].phy, true, w->now);
	pass(w, 300 * MS);
	CHECK(port(w, 0, 3)->neighbor_mtu, 3);
	/* A goodbye takes the link down at once. */
	fab_edge_bye(&w->host[1].edge, w->now);
	pass(w, 1 * MS);
	CHECK(w->host[1].phy.phys, SHCA_IB_PHYS_POLLING);
	end(w);
}

/* Any frame of the peer's session shows that it is there, and no other frame does. */
static void signs_of_life(void)
{
	struct world *w = begin_one();
	struct fab_port *p = port(w, 0, 1);
	struct host *host = &w->host[0];
	u32 i;

	host->silent = true;
	pass(w, 3000 * MS);
	CHECK(p->phys, SHCA_IB_PHYS_LINK_UP);
	host->mute = true;
	for (i = 0; i < 30; i++) {
		CHECK(host_send(w, host, &w->host[1], 0, 16), true);
		pass(w, 100 * MS);
	}
	CHECK(p->phys, SHCA_IB_PHYS_LINK_UP);
	host->phy.session++;
	for (i = 0; i < 12; i++) {
		CHECK(p->phys == SHCA_IB_PHYS_LINK_UP || i >= 9, true);
		host_send(w, host, &w->host[1], 0, 16);
		pass(w, 100 * MS);
	}
	CHECK(p->phys, SHCA_IB_PHYS_POLLING);
	end(w);
}

static void passes(void)
{
	struct world *w = begin_one();
	u64 sent[3] = { 0 }, got[3] = { 0 };
	u32 i, j, sl, payload, words;

	for (i = 0; i < 3; i++)
		for (j = 0; j < 3; j++)
			for (sl = 0; sl < SHCA_IB_SLS && i != j; sl++) {
				payload = 16 + 4 * draw(1000);
				/* LRH, BTH, payload, ICRC */
				words = (8 + 12 + payload + 4) / 4;
				sent[i] += words;
				got[j] += words;
				CHECK(host_send(w, &w->host[i], &w->host[j], sl, payload), true);
			}
	pass(w, 10 * MS);
	for (i = 0; i < 3; i++) {
		CHECK(port(w, 0, i + 1)->counters.rcv_data, sent[i]);
		CHECK(port(w, 0, i + 1)->counters.xmit_data, got[i]);
	}
	for (i = 0; i < 3; i++) {
		CHECK(w->host[i].got, 2 * SHCA_IB_SLS);
		CHECK(port(w, 0, i + 1)->counters.rcv_pkts, 2 * SHCA_IB_SLS);
		CHECK(port(w, 0, i + 1)->counters.xmit_pkts, 2 * SHCA_IB_SLS);
	}
	end(w);
}

/* ---- one packet ------------------------------------------------------------- */

/* A packet of host 0. */
struct one {
	u16 dlid;
	u8 sl;
	u8 vl;
	u16 pkey;
	u32 payload;
};

static void send_one(struct world *w, const struct one *one)
{
	const struct stamp stamp = { .number = w->host[0].next_sent[1][0]++ };
	u8 frame[FAB_FRAME_MAX];
	u32 len = make_packet(w, frame + FAB_HEAD, 1, one->dlid, one->sl, one->vl, one->pkey, one->payload, &stamp);

	shca_ib_credits_take(&w->host[0].credits, one->vl % SHCA_IB_LANES, SHCA_IB_CHARGE);
	send_packet(w, &w->host[0], frame, len);
	pass(w, 2 * MS);
}

static u32 errors_of(const struct world *w, u32 number, enum fab_error error)
{
	return w->node[0].ports[number].counters.error[error];
}

static u32 details_of(const struct world *w, u32 number, enum fab_detail detail)
{
	return w->node[0].ports[number].counters.detail[detail];
}

#define NO_ERROR	FAB_ERR_NR
#define NO_DETAIL	FAB_DETAIL_NR

static void loops_to_itself(struct world *w)
{
	set_route(w, 0, 2, 1);
}

static void top_is_one(struct world *w)
{
	w->node[0].sw->lft_top = 1;
}

static void goes_by_an_empty_port(struct world *w)
{
	set_route(w, 0, 2, 5);
}

static void goes_by_no_port(struct world *w)
{
	set_route(w, 0, 2, PORTS + 1);
}

static void out_is_armed(struct world *w)
{
	port(w, 0, 2)->state = SHCA_IB_STATE_ARMED;
}

static void in_is_init(struct world *w)
{
	port(w, 0, 1)->state = SHCA_IB_STATE_INIT;
}

static void mtu_is_256(struct world *w)
{
	port(w, 0, 2)->neighbor_mtu = 1;
}

static void mtu_is_2048(struct world *w)
{
	port(w, 0, 2)->neighbor_mtu = 4;
}

static void in_enforces(struct world *w)
{
	port(w, 0, 1)->filters = FAB_FILTER_PKEY_IN;
	port(w, 0, 1)->pkeys[0] = 0x8001;
	port(w, 0, 1)->pkeys[5] = 0x8077;
	port(w, 0, 1)->pkeys[6] = 0x8000;	/* of no partition */
	port(w, 0, 1)->pkeys[SHCA_IB_PKEYS - 1] = 0x0078;	/* a limited member */
}

static void out_enforces(struct world *w)
{
	port(w, 0, 2)->filters = FAB_FILTER_PKEY_OUT;
	port(w, 0, 2)->pkeys[0] = 0x8001;
}

static void out_is_armed_and_mtu_256(struct world *w)
{
	out_is_armed(w);
	mtu_is_256(w);
}

/* SL 0 from port 1 to port 2 takes lane 15, which means: no packet. */
static void lane_is_15(struct world *w)
{
	static const u8 map[SHCA_IB_SLS / 2] = { 0xf1, 0x23, 0x45, 0x67 };

	shca_ib_sl2vl_set(fab_sl2vl(&w->node[0], 1, 2), map);
}

static void lane_is_15_and_mtu_256(struct world *w)
{
	lane_is_15(w);
	mtu_is_256(w);
}

static void output_has_one_lane(struct world *w)
{
	port(w, 0, 2)->lanes.code = 1;
}

/* A table that a manager has set does not follow the number of lanes. */
static void output_has_less_lanes(struct world *w)
{
	static const u8 map[SHCA_IB_SLS / 2] = { 0x01, 0x23, 0x45, 0x67 };

	shca_ib_sl2vl_set(fab_sl2vl(&w->node[0], 1, 2), map);
	port(w, 0, 2)->lanes.code = 2;
}

static void input_has_one_lane(struct world *w)
{
	port(w, 0, 1)->lanes.code = 1;
}

/* The checks of a switch, each with its counter (IBTA 18.2.4, 16.1.3.5, 16.1.4.4, 16.1.4.5). */
static void checks(void)
{
	static const struct {
		void (*change)(struct world *w);
		struct one one;
		bool passes;
		u8 at;
		enum fab_error error;
		enum fab_detail detail;
	} rows[] = {
		{ NULL, { 2, 0, 0, PKEY, 16 }, true, 0, NO_ERROR, NO_DETAIL },
		{ NULL, { 2, 9, 1, PKEY, 4096 }, true, 0, NO_ERROR, NO_DETAIL },
		{ NULL, { 2, 0, 9, PKEY, 16 }, false, 1, FAB_ERR_RCV, FAB_DETAIL_MALFORMED },
		{ NULL, { 2, 0, 14, PKEY, 16 }, false, 1, FAB_ERR_RCV, FAB_DETAIL_MALFORMED },
		{ input_has_one_lane, { 2, 1, 1, PKEY, 16 }, false, 1, FAB_ERR_RCV, FAB_DETAIL_MALFORMED },
		{ in_is_init, { 2, 0, 0, PKEY, 16 }, false, 0, NO_ERROR, NO_DETAIL },
		{ in_enforces, { 2, 0, 0, 0x7fff, 16 }, false, 1, FAB_ERR_RCV_CONSTRAINT, NO_DETAIL },
		{ in_enforces, { 2, 0, 0, 0x0001, 16 }, true, 0, NO_ERROR, NO_DETAIL },
		{ in_enforces, { 2, 0, 0, 0x8000, 16 }, false, 1, FAB_ERR_RCV_CONSTRAINT, NO_DETAIL },
		{ in_enforces, { 2, 0, 0, 0x8077, 16 }, true, 0, NO_ERROR, NO_DETAIL },
		{ in_enforces, { 2, 0, 0, 0x0078, 16 }, false, 1, FAB_ERR_RCV_CONSTRAINT, NO_DETAIL },
		{ in_enforces, { 2, 0, 0, 0x8078, 16 }, true, 0, NO_ERROR, NO_DETAIL },
		{ lane_is_15_and_mtu_256, { 2, 0, 0, PKEY, 512 }, false, 1, NO_ERROR, FAB_DETAIL_VL },
		{ in_enforces, { 2, 0, 0, 0x8001, 16 }, true, 0, NO_ERROR, NO_DETAIL },
		{ NULL, { 0, 0, 0, PKEY, 16 }, false, 1, FAB_ERR_RELAY, FAB_DETAIL_DLID },
		{ NULL, { 4, 0, 0, PKEY, 16 }, false, 1, FAB_ERR_RELAY, FAB_DETAIL_DLID },
		{ top_is_one, { 2, 0, 0, PKEY, 16 }, false, 1, FAB_ERR_RELAY, FAB_DETAIL_DLID },
		{ goes_by_no_port, { 2, 0, 0, PKEY, 16 }, false, 1, FAB_ERR_RELAY, FAB_DETAIL_DLID },
		{ loops_to_itself, { 2, 0, 0, PKEY, 16 }, false, 1, FAB_ERR_RELAY, FAB_DETAIL_LOOP },
		{ goes_by_an_empty_port, { 2, 0, 0, PKEY, 16 }, false, 5, FAB_ERR_DISCARD, FAB_DETAIL_INACTIVE },
		{ out_is_armed, { 2, 0, 0, PKEY, 16 }, false, 2, FAB_ERR_DISCARD, FAB_DETAIL_INACTIVE },
		{ out_is_armed_and_mtu_256, { 2, 0, 0, PKEY, 512 }, false, 2, FAB_ERR_DISCARD, FAB_DETAIL_INACTIVE },
		{ lane_is_15, { 2, 0, 0, PKEY, 16 }, false, 1, NO_ERROR, FAB_DETAIL_VL },
		{ output_has_one_lane, { 2, 3, 3, PKEY, 16 }, true, 0, NO_ERROR, NO_DETAIL },
		{ output_has_less_lanes, { 2, 3, 3, PKEY, 16 }, false, 1, NO_ERROR, FAB_DETAIL_VL },
		{ mtu_is_256, { 2, 0, 0, PKEY, 512 }, false, 2, FAB_ERR_DISCARD, FAB_DETAIL_MTU },
		{ mtu_is_256, { 2, 0, 0, PKEY, 256 }, true, 0, NO_ERROR, NO_DETAIL },
		/* (with all headers that a packet can have; these have 26 bytes around the payload) */
		{ mtu_is_2048, { 2, 0, 0, PKEY, 2048 + SHCA_IB_OVERHEAD - 26 }, true, 0, NO_ERROR, NO_DETAIL },
		{ mtu_is_2048, { 2, 0, 0, PKEY, 2048 + SHCA_IB_OVERHEAD - 22 }, false, 2, FAB_ERR_DISCARD, FAB_DETAIL_MTU },
		{ out_enforces, { 2, 0, 0, PKEY, 16 }, false, 2, FAB_ERR_XMIT_CONSTRAINT, NO_DETAIL },
		{ out_enforces, { 2, 0, 0, 0x8001, 16 }, true, 0, NO_ERROR, NO_DETAIL },
	};
	u32 i, j, k, wanted;
	struct world *w;

	for (i = 0; i < ARRAY_SIZE(rows) && !failed; i++) {
		w = begin_one();
		if (rows[i].change)
			rows[i].change(w);
		w->is_mapped = rows[i].change;
		send_one(w, &rows[i].one);
		CHECK(w->host[1].got, rows[i].passes);
		CHECK(w->host[2].got, 0);
		for (j = 0; j <= PORTS; j++) {
			for (k = 0; k < FAB_ERR_NR; k++) {
				wanted = j == rows[i].at && k == rows[i].error;
				CHECK(errors_of(w, j, k), wanted);
			}
			for (k = 0; k < FAB_DETAIL_NR; k++) {
				wanted = j == rows[i].at && k == rows[i].detail;
				CHECK(details_of(w, j, k), wanted);
			}
		}
		if (failed)
			printf("# row %u\n", i);
		end(w);
	}
}

/* What is no packet at all. */
static void broken(void)
{
	const struct stamp stamp = { 0 };
	struct world *w = begin_one();
	struct host *host = &w->host[0];
	u8 frame[FAB_FRAME_MAX + 64] = { 0 };
	u32 len = make_packet(w, frame + FAB_HEAD, 1, 2, 0, 0, PKEY, 64, &stamp), i;

	frame[FAB_HEAD + 40] ^= 1;
	send_packet(w, host, frame, len);
	CHECK(errors_of(w, 1, FAB_ERR_SYMBOL), 1);
	CHECK(errors_of(w, 1, FAB_ERR_RCV), 1);
	CHECK(details_of(w, 1, FAB_DETAIL_PHYSICAL), 1);
	frame[FAB_HEAD + 40] ^= 1;
	/* PktLen is wrong, the VCRC is right. */
	frame[FAB_HEAD + 5]++;
	shca_ib_vcrc_put(shca_ib_vcrc(&w->data.vcrc, SHCA_IB_VCRC_SEED, frame + FAB_HEAD, len - 2), frame + FAB_HEAD + len - 2);
	send_packet(w, host, frame, len);
	CHECK(errors_of(w, 1, FAB_ERR_RCV), 2);
	CHECK(details_of(w, 1, FAB_DETAIL_MALFORMED), 1);
	/* A packet that has no more than its VCRC, or less. */
	for (i = 0; i <= SHCA_IB_VCRC_BYTES; i++) {
		send_packet(w, host, frame, i);
		CHECK(details_of(w, 1, FAB_DETAIL_PHYSICAL), 2 + i);
	}
	/* Frames of nobody, and each length. */
	host->phy.session++;
	send_packet(w, host, frame, len);
	CHECK(host->edge.bad_frames, 1);
	host->phy.session--;
	for (i = 0; i < FAB_HEAD + len; i++)
		to_switch(w, host, frame, i);
	pass(w, 2 * MS);
	CHECK(w->host[1].got, 0);
	CHECK(port(w, 0, 1)->state, SHCA_IB_STATE_ACTIVE);
	end(w);
}

/* More than the grant: the buffer takes twice of it, the rest is lost and counted. */
static void overrun(void)
{
	const struct one one = { 2, 0, 0, PKEY, 16 };
	struct world *w = begin_one();
	const struct stamp stamp = { 0 };
	u8 frame[FAB_FRAME_MAX];
	u32 i, len;

	w->loses = true;
	/* Port 2 stops: nothing has credit. */
	w->host[1].edge.credits.window = 0;
	for (i = 0; i < FAB_EDGE_PACKETS + 10; i++) {
		len = make_packet(w, frame + FAB_HEAD, 1, one.dlid, 0, 0, PKEY, 16, &stamp);
		send_packet(w, &w->host[0], frame, len);
	}
	CHECK(errors_of(w, 1, FAB_ERR_OVERRUN) > 0, true);
	CHECK(errors_of(w, 1, FAB_ERR_OVERRUN) <= 11, true);
	CHECK(details_of(w, 1, FAB_DETAIL_OVERRUN), errors_of(w, 1, FAB_ERR_OVERRUN));
	/* Another lane is not full. */
	len = make_packet(w, frame + FAB_HEAD, 1, 2, 1, 1, PKEY, 16, &stamp);
	i = errors_of(w, 1, FAB_ERR_OVERRUN);
	send_packet(w, &w->host[0], frame, len);
	CHECK(errors_of(w, 1, FAB_ERR_OVERRUN), i);
	end(w);
}

/* A host gives no credit any longer. */
static void close_up(struct host *host)
{
	host->mute = true;
	host->edge.credits.window = 0;
}

/* ---- datagrams -------------------------------------------------------------- */

/* Performance management with a GRH: the answer has one, with its GIDs swapped (IBTA 13.5.4.5). */
static void send_mad_grh(struct world *w, u16 slid, u16 dlid, const u8 *mad)
{
	struct shca_ib_lower lower = {
		.dlid = dlid,
		.slid = slid,
		.len = MAD_LEN + SHCA_IB_GRH_BYTES,
		.has_grh = true,
		.hop_limit = 1,
	};
	u8 frame[FAB_FRAME_MAX] = { 0 }, *lrh = frame + FAB_HEAD, *bth = lrh + SHCA_IB_LOWER_MAX;
	u32 crc, i;

	for (i = 0; i < sizeof(lower.sgid); i++) {
		lower.sgid[i] = 1 + i;
		lower.dgid[i] = 101 + i;
	}
	shca_ib_lower_build(&lower, lrh);
	bth[0] = OPCODE_UD;
	put_be16(bth + 2, PKEY);
	put_be32(bth + 4, 1);
	put_be32(bth + SHCA_BTH_BYTES, 0x80010000);
	put_be32(bth + SHCA_BTH_BYTES + 4, 77);
	memcpy(lrh + MAD_AT + SHCA_IB_GRH_BYTES, mad, FAB_MAD_BYTES);
	crc = icrc(lrh, lower.len);
	for (i = 0; i < SHCA_ICRC_BYTES; i++)
		lrh[lower.len - SHCA_ICRC_BYTES + i] = crc >> 8 * i;
	shca_ib_vcrc_put(shca_ib_vcrc(&w->data.vcrc, SHCA_IB_VCRC_SEED, lrh, lower.len), lrh + lower.len);
	shca_ib_credits_take(&w->host[0].credits, 0, SHCA_IB_CHARGE);
	send_packet(w, &w->host[0], frame, lower.len + SHCA_IB_VCRC_BYTES);
	pass(w, 2 * MS);
}

static void send_mad_at_once(struct world *w, struct host *host, u8 sl, u16 slid, u16 dlid, u32 qp,
			     const u8 *mad)
{
	const struct shca_ib_lower lower = {
		.vl = qp ? sl : SHCA_IB_VL_MGMT,
		.sl = sl,
		.dlid = dlid,
		.slid = slid,
		.len = MAD_LEN,
	};
	u8 frame[FAB_FRAME_MAX] = { 0 }, *lrh = frame + FAB_HEAD, *bth = lrh + SHCA_IB_LRH_BYTES;
	u32 crc, i;

	shca_ib_lower_build(&lower, lrh);
	bth[0] = OPCODE_UD;
	put_be16(bth + 2, PKEY);
	put_be32(bth + 4, qp);
	put_be32(bth + SHCA_BTH_BYTES, qp ? 0x80010000 : 0);
	put_be32(bth + SHCA_BTH_BYTES + 4, qp ? 77 : 0);
	memcpy(lrh + MAD_AT, mad, FAB_MAD_BYTES);
	crc = icrc(lrh, MAD_LEN);
	for (i = 0; i < SHCA_ICRC_BYTES; i++)
		lrh[MAD_LEN - SHCA_ICRC_BYTES + i] = crc >> 8 * i;
	shca_ib_vcrc_put(shca_ib_vcrc(&w->data.vcrc, SHCA_IB_VCRC_SEED, lrh, MAD_LEN), lrh + MAD_LEN);
	if (qp)
		shca_ib_credits_take(&host->credits, sl, SHCA_IB_CHARGE);
	send_packet(w, host, frame, MAD_LEN + SHCA_IB_VCRC_BYTES);
}

static void send_mad_from(struct world *w, struct host *host, u8 sl, u16 slid, u16 dlid, u32 qp, const u8 *mad)
{
	send_mad_at_once(w, host, sl, slid, dlid, qp, mad);
	pass(w, 2 * MS);
}

/* Host 0 sends a datagram. */
static void send_mad(struct world *w, u16 slid, u16 dlid, u32 qp, const u8 *mad)
{
	send_mad_from(w, &w->host[0], 0, slid, dlid, qp, mad);
}

/* Two switches: host 0 at port 1 of the first, host 1 at port 2 of the second; cable 5 to 6. */
static struct world *begin_two(void)
{
	struct world *w = begin(2);

	fab_join(port(w, 0, 5), port(w, 1, 6));
	add_host(w, 0, 1);
	add_host(w, 1, 2);
	set_route(w, 0, 1, 1);
	set_route(w, 0, 2, 5);
	set_route(w, 1, 1, 6);
	set_route(w, 1, 2, 2);
	pass(w, 50 * MS);
	activate(w);
	return w;
}

/* Directed datagrams across edges: where they arrive, HopPointer, ReturnPath (IBTA 14.2.2). */
static void directed(void)
{
	static const struct {
		u8 pointer;
		u8 hops;
		u8 path[4];
		u32 answers;	/* NodeGUID; 0: none */
		u8 by;
		bool to_host;	/* it reaches host 1 */
	} rows[] = {
		{ 1, 1, { 0, 1 }, 0x100, 1 },
		{ 1, 2, { 0, 1, 5 }, 0x200, 6 },
		{ 1, 3, { 0, 1, 5, 2 }, 0, 0, true },
		{ 1, 3, { 0, 1, 5, 3 }, 0 },	/* no cable */
		{ 1, 2, { 0, 1, 9 }, 0 },	/* no port */
		{ 0, 1, { 0, 1 }, 0 },		/* the sender's own agent makes it 1 */
		{ 3, 1, { 0, 1 }, 0 },
		{ 2, 1, { 0, 1 }, 0 },
		{ 0, 0, { 0 }, 0 },		/* for the sender's own agent */
	};
	struct world *w = begin_two();
	u8 mad[FAB_MAD_BYTES], *got = w->host[0].mad + MAD_AT, *far = w->host[1].mad + MAD_AT;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		u32 mads = w->host[0].mads, far_mads = w->host[1].mads;

		memset(mad, 0, sizeof(mad));
		mad[MAD_BASE_VERSION] = 1;
		mad[MAD_CLASS] = CLASS_DIRECTED;
		mad[MAD_CLASS_VERSION] = 1;
		mad[MAD_METHOD] = METHOD_GET;
		mad[SMP_POINTER] = rows[i].pointer;
		mad[SMP_HOPS] = rows[i].hops;
		put_be64(mad + MAD_TID, 0x1234500000000 + i);
		put_be16(mad + MAD_ATTR, ATTR_NODE_INFO);
		put_be16(mad + SMP_SLID, 0xffff);
		put_be16(mad + SMP_DR_DLID, 0xffff);
		memcpy(mad + SMP_PATH, rows[i].path, sizeof(rows[i].path));
		send_mad(w, 0xffff, 0xffff, 0, mad);
		CHECK(w->host[0].mads - mads, rows[i].answers ? 1 : 0);
		CHECK(w->host[1].mads - far_mads, rows[i].to_host);
		if (rows[i].answers) {
			CHECK(got[MAD_METHOD], 0x81);
			CHECK(get_be16(got + MAD_STATUS), STATUS_RETURNS);
			CHECK(get_be64(got + MAD_TID), 0x1234500000000 + i);
			CHECK(get_be64(got + SMP_DATA + 12), rows[i].answers);
			CHECK(got[SMP_DATA + 36], rows[i].by);
			CHECK(got[SMP_POINTER], rows[i].hops ? 1 : 0);
			CHECK(get_be16(w->host[0].mad + 2), 0xffff);
		}
		if (rows[i].to_host) {
			CHECK(far[SMP_POINTER], 3);
			CHECK(far[SMP_RETURN + 1], 1);
			CHECK(far[SMP_RETURN + 2], 6);
			/* Its answer takes the same way back. */
			memcpy(mad, far, sizeof(mad));
			mad[MAD_METHOD] = 0x81;
			put_be16(mad + MAD_STATUS, STATUS_RETURNS);
			send_mad_from(w, &w->host[1], 0, 0xffff, 0xffff, 0, mad);
			CHECK(w->host[0].mads - mads, 1);
			CHECK(got[SMP_POINTER], 1);
			CHECK(got[MAD_METHOD], 0x81);
		}
	}
	end(w);
}

/*
 * Directed datagrams of which a part is LID-routed, from host 0 (LID 1): to switch 1 (LID 20) and from there by its
 * port 6 to switch 0; or by port 5 to switch 1, and from there to host 1 (LID 2).
 */
static void directed_by_lid(void)
{
	struct world *w = begin_two();
	u8 mad[FAB_MAD_BYTES] = { 1, CLASS_DIRECTED, 1, METHOD_GET }, *got = w->host[0].mad + MAD_AT;
	u8 *far = w->host[1].mad + MAD_AT;

	w->node[0].ports[0].end.lid = 10;
	w->node[1].ports[0].end.lid = 20;
	set_route(w, 0, 10, 0);
	set_route(w, 0, 20, 5);
	set_route(w, 1, 10, 6);
	set_route(w, 1, 20, 0);
	put_be16(mad + MAD_ATTR, ATTR_NODE_INFO);
	mad[SMP_HOPS] = 1;
	mad[SMP_PATH + 1] = 6;
	put_be16(mad + SMP_SLID, 1);
	put_be16(mad + SMP_DR_DLID, 0xffff);
	send_mad(w, 1, 20, 0, mad);
	CHECK(w->host[0].mads, 1);
	CHECK(get_be64(got + SMP_DATA + 12), 0x100);
	CHECK(got[SMP_DATA + 36], 5);
	CHECK(got[SMP_POINTER], 0);
	CHECK(get_be16(w->host[0].mad + 2), 1);
	CHECK(get_be16(w->host[0].mad + 6), 20);
	/* Behind the path. */
	mad[SMP_HOPS] = 2;
	mad[SMP_POINTER] = 1;
	mad[SMP_PATH + 1] = 1;
	mad[SMP_PATH + 2] = 5;
	put_be16(mad + SMP_SLID, 0xffff);
	put_be16(mad + SMP_DR_DLID, 2);
	send_mad(w, 0xffff, 0xffff, 0, mad);
	CHECK(w->host[1].mads, 1);
	CHECK(far[SMP_POINTER], 3);
	CHECK(far[SMP_RETURN + 2], 6);
	CHECK(get_be16(w->host[1].mad + 2), 2);
	CHECK(get_be16(w->host[1].mad + 6), 20);
	/* The answer of that host: to the switch by LID, and by the path. */
	memcpy(mad, far, sizeof(mad));
	mad[MAD_METHOD] = 0x81;
	put_be16(mad + MAD_STATUS, STATUS_RETURNS);
	put_be16(mad + SMP_SLID, 0xffff);
	put_be16(mad + SMP_DR_DLID, 2);
	send_mad_from(w, &w->host[1], 0, 2, 20, 0, mad);
	CHECK(w->host[0].mads, 2);
	CHECK(got[MAD_METHOD], 0x81);
	CHECK(got[SMP_POINTER], 1);
	/* A pointer in the middle of the path does not fit a datagram that comes by LID. */
	mad[SMP_POINTER] = 1;
	send_mad_from(w, &w->host[1], 0, 2, 20, 0, mad);
	CHECK(w->host[0].mads, 2);
	end(w);
}

/* By LID: subnet management on lane 15, performance management on a lane, with credit. */
static void by_lid(void)
{
	struct world *w = begin_two();
	u8 mad[FAB_MAD_BYTES] = { 1, CLASS_LID_ROUTED, 1, METHOD_GET }, *got = w->host[0].mad + MAD_AT;
	u64 packets;
	u32 i;

	w->node[1].ports[0].end.lid = 20;
	set_route(w, 0, 20, 5);
	set_route(w, 1, 20, 0);
	put_be16(mad + MAD_ATTR, ATTR_NODE_INFO);
	/* Subnet management passes links that are not Active. */
	port(w, 0, 5)->state = SHCA_IB_STATE_INIT;
	port(w, 1, 6)->state = SHCA_IB_STATE_INIT;
	send_mad(w, 1, 20, 0, mad);
	activate(w);
	CHECK(w->host[0].mads, 1);
	CHECK(get_be64(got + SMP_DATA + 12), 0x200);
	CHECK(get_be16(w->host[0].mad + 2), 1);
	CHECK(get_be16(w->host[0].mad + 6), 20);
	/* to another host: 72 words from LRH to ICRC at each port */
	port(w, 0, 1)->counters = (struct fab_counters){ 0 };
	packets = port(w, 1, 2)->counters.xmit_data;
	send_mad(w, 1, 2, 0, mad);
	CHECK(w->host[1].mads, 1);
	CHECK(port(w, 1, 2)->counters.xmit_data - packets, MAD_LEN / 4);
	CHECK(port(w, 0, 1)->counters.rcv_data, MAD_LEN / 4);
	CHECK(port(w, 0, 1)->counters.rcv_pkts, 1);
	/* performance: PortCounters of port 6, which has seen this packet */
	packets = port(w, 1, 6)->counters.rcv_pkts;
	mad[MAD_CLASS] = CLASS_PERF;
	put_be16(mad + MAD_ATTR, 0x12);
	mad[SMP_DATA + 1] = 6;
	send_mad(w, 1, 20, 1, mad);
	CHECK(w->host[0].mads, 2);
	CHECK(got[MAD_METHOD], 0x81);
	CHECK(get_be32(got + SMP_DATA + 36), packets + 1);
	CHECK(get_be16(w->host[0].mad + 2), 1);
	CHECK(get_be16(w->host[0].mad + 6), 20);
	CHECK(get_be32(w->host[0].mad + SHCA_IB_LRH_BYTES + 4) & 0xffffff, 77);
	CHECK(get_be32(w->host[0].mad + SHCA_IB_LRH_BYTES + SHCA_BTH_BYTES), 0x80010000);
	CHECK(get_be32(w->host[0].mad + SHCA_IB_LRH_BYTES + SHCA_BTH_BYTES + 4), 1);
	CHECK(w->host[0].credits.lane[0].abr, SHCA_IB_CHARGE);
	/* The answer has the service level of the request. */
	send_mad_from(w, &w->host[0], 3, 1, 20, 1, mad);
	CHECK(w->host[0].mads, 3);
	CHECK(w->host[0].mad[0] >> 4, 3);
	CHECK(w->host[0].mad[1] >> 4, 3);
	send_mad_grh(w, 1, 20, mad);
	CHECK(w->host[0].mads, 4);
	for (i = 0; i < 16; i++) {
		CHECK(w->host[0].mad[SHCA_IB_LRH_BYTES + 8 + i], 101 + i);
		CHECK(w->host[0].mad[SHCA_IB_LRH_BYTES + 24 + i], 1 + i);
	}
	CHECK(w->host[0].mad[SHCA_IB_LRH_BYTES + 7], 0xff);	/* HopLimit */
	/* What a switch sends itself, no port has received. */
	CHECK(port(w, 1, 0)->counters.rcv_pkts, 0);
	CHECK(get_be32(w->host[0].mad + SHCA_IB_LOWER_MAX + 4) & 0xffffff, 77);
	end(w);
}

/* What is no datagram, or is broken, has no answer. On lane 15 it is malformed. */
static void wrong_mads(void)
{
	/* by offset from the BTH, and bits; UNCHANGED: none */
	enum { UNCHANGED = 0xff, ICRC = SHCA_BTH_BYTES + SHCA_DETH_BYTES + FAB_MAD_BYTES };
	static const struct {
		u16 at;
		u8 bits;
	} rows[] = {
		{ UNCHANGED, 0 },
		{ 0, 0x01 },	/* OpCode */
		{ 1, 0x01 },	/* TVer */
		{ 1, 0x10 },	/* PadCnt */
		{ 5, 0x01 }, { 7, 0x02 },	/* DestQP */
		{ SHCA_BTH_BYTES, 0x01 },	/* Q_Key, which subnet management has not */
		{ ICRC, 0x01 }, { ICRC + 3, 0x80 },
	};
	u8 mad[FAB_MAD_BYTES] = { 1, CLASS_PERF, 1, METHOD_GET }, frame[FAB_FRAME_MAX] = { 0 }, *lrh = frame + FAB_HEAD, *bth;
	u32 i, general, crc, j, answers;
	struct world *w = begin_one();
	bool good;

	port(w, 0, 0)->end.lid = 20;
	set_route(w, 0, 20, 0);
	bth = lrh + SHCA_IB_LRH_BYTES;
	for (i = 0; i < 2 * ARRAY_SIZE(rows) && !failed; i++) {
		const struct shca_ib_lower lower = { .vl = i % 2 ? 0 : SHCA_IB_VL_MGMT, .dlid = 20, .slid = 1, .len = MAD_LEN };

		general = i % 2;
		mad[MAD_CLASS] = general ? CLASS_PERF : CLASS_LID_ROUTED;
		put_be16(mad + MAD_ATTR, general ? 0x12 : ATTR_NODE_INFO);
		memset(lrh, 0, MAD_LEN);
		shca_ib_lower_build(&lower, lrh);
		bth[0] = OPCODE_UD;
		put_be16(bth + 2, PKEY);
		put_be32(bth + 4, general);
		put_be32(bth + SHCA_BTH_BYTES, general ? 0x80010000 : 0);
		put_be32(bth + SHCA_BTH_BYTES + 4, general);
		memcpy(lrh + MAD_AT, mad, FAB_MAD_BYTES);
		if (rows[i / 2].at < ICRC && rows[i / 2].at != UNCHANGED)
			bth[rows[i / 2].at] ^= rows[i / 2].bits;
		crc = icrc(lrh, MAD_LEN);
		for (j = 0; j < SHCA_ICRC_BYTES; j++)
			lrh[MAD_LEN - SHCA_ICRC_BYTES + j] = crc >> 8 * j;
		if (rows[i / 2].at >= ICRC)
			bth[rows[i / 2].at] ^= rows[i / 2].bits;
		shca_ib_vcrc_put(shca_ib_vcrc(&w->data.vcrc, SHCA_IB_VCRC_SEED, lrh, MAD_LEN), lrh + MAD_LEN);
		if (general)
			shca_ib_credits_take(&w->host[0].credits, 0, SHCA_IB_CHARGE);
		answers = w->host[0].mads;
		w->node[0].ports[1].counters.error[FAB_ERR_RCV] = 0;
		w->node[0].ports[1].counters.detail[FAB_DETAIL_MALFORMED] = 0;
		send_packet(w, &w->host[0], frame, MAD_LEN + SHCA_IB_VCRC_BYTES);
		pass(w, MS);
		good = rows[i / 2].at == UNCHANGED || (!general && rows[i / 2].at == SHCA_BTH_BYTES);
		CHECK(w->host[0].mads - answers, good);
		CHECK(errors_of(w, 1, FAB_ERR_RCV), !good && !general);
		CHECK(details_of(w, 1, FAB_DETAIL_MALFORMED), !good && !general);
		if (failed)
			printf("# row %u\n", i);
	}
	end(w);
	/* A GRH that the length does not tell, or the LRH does not. Subnet management has none. */
	w = begin_one();
	port(w, 0, 0)->end.lid = 20;
	set_route(w, 0, 20, 0);
	mad[MAD_CLASS] = CLASS_PERF;
	put_be16(mad + MAD_ATTR, 0x12);
	send_mad_grh(w, 1, 20, mad);
	CHECK(w->host[0].mads, 1);
	for (i = 0; i < 2; i++) {
		u32 len = MAD_LEN + (i ? SHCA_IB_GRH_BYTES : 0);
		const struct shca_ib_lower lower = { .dlid = 20, .slid = 1, .len = len };

		memset(lrh, 0, len);
		shca_ib_lower_build(&lower, lrh);
		bth = lrh + len - SHCA_ICRC_BYTES - FAB_MAD_BYTES - SHCA_BTH_BYTES - SHCA_DETH_BYTES;
		bth[0] = OPCODE_UD;
		put_be16(bth + 2, PKEY);
		put_be16(lrh + SHCA_IB_LRH_BYTES + 2, PKEY);
		put_be32(bth + 4, 1);
		put_be32(bth + SHCA_BTH_BYTES, 0x80010000);
		put_be32(bth + SHCA_BTH_BYTES + 4, 1);
		memcpy(bth + SHCA_BTH_BYTES + SHCA_DETH_BYTES, mad, FAB_MAD_BYTES);
		/* (0: raw, without a BTH) */
		if (!i)
			lrh[1] &= ~3;
		crc = icrc(lrh, len);
		for (j = 0; j < SHCA_ICRC_BYTES; j++)
			lrh[len - SHCA_ICRC_BYTES + j] = crc >> 8 * j;
		shca_ib_vcrc_put(shca_ib_vcrc(&w->data.vcrc, SHCA_IB_VCRC_SEED, lrh, len), lrh + len);
		shca_ib_credits_take(&w->host[0].credits, 0, SHCA_IB_CHARGE);
		send_packet(w, &w->host[0], frame, len + SHCA_IB_VCRC_BYTES);
		pass(w, MS);
		CHECK(w->host[0].mads, 1);
	}
	end(w);
}

/* Programs of the fabric reach what is beyond an edge by subnet management only. Nothing is counted as lost by a port that is Active. */
static void from_programs(void)
{
	struct world *w = begin_two();
	u8 mad[FAB_MAD_BYTES] = { 1, CLASS_PERF, 1, METHOD_GET };
	struct fab_mad to = { .data = mad, .slid = 20, .dlid = 2, .dqp = 1, .sqp = 1 };

	port(w, 0, 0)->end.lid = 20;
	put_be16(mad + MAD_ATTR, 0x12);
	CHECK(fab_send(port(w, 0, 0), &to, w->now), FAB_DROPPED);
	CHECK(w->node[1].ports[2].counters.error[FAB_ERR_DISCARD], 0);
	port(w, 1, 2)->state = SHCA_IB_STATE_ARMED;
	CHECK(fab_send(port(w, 0, 0), &to, w->now), FAB_DROPPED);
	CHECK(w->node[1].ports[2].counters.error[FAB_ERR_DISCARD], 1);
	mad[MAD_CLASS] = CLASS_LID_ROUTED;
	put_be16(mad + MAD_ATTR, ATTR_NODE_INFO);
	to.sqp = 0;
	to.dqp = 0;
	CHECK(fab_send(port(w, 0, 0), &to, w->now), FAB_LEFT);
	pass(w, MS);
	CHECK(w->host[1].mads, 1);
	CHECK(w->node[1].ports[2].counters.error[FAB_ERR_DISCARD], 1);
	/* A message of performance management that is no request has no answer. */
	set_route(w, 0, 20, 0);
	mad[MAD_CLASS] = CLASS_PERF;
	mad[MAD_METHOD] = METHOD_TRAP_REPRESS;
	activate(w);
	to.dlid = 20;
	CHECK(fab_send(port(w, 0, 0), &to, w->now), FAB_DROPPED);
	end(w);
}

/* A P_Key that a port refuses: trap 259 goes to the manager, until it is repressed (IBTA 13.4.9). */
static void trap_pkey(void)
{
	const struct one one = { 2, 11, 3, 0x8005, 16 };
	u8 mad[FAB_MAD_BYTES], *got;
	struct fab_mad trap = { .data = mad };
	struct world *w = begin_one();
	struct fab_end *sw = &w->node[0].ports[0].end;
	u32 i;

	got = w->host[2].mad + MAD_AT;
	sw->lid = 20;
	sw->sm_lid = 3;
	in_enforces(w);
	send_one(w, &one);
	CHECK(fab_trap_next(&w->fabric, &trap, w->now), false);
	pass(w, 1 * MS);
	CHECK(w->host[2].mads, 1);
	CHECK(got[MAD_METHOD], METHOD_TRAP);
	CHECK(got[SMP_DATA], 0x80 | 2);
	CHECK(get_be16(got + SMP_DATA + 4), 259);
	CHECK(get_be16(got + SMP_DATA + 6), 20);
	CHECK(get_be16(got + SMP_DATA + 12), 1);
	CHECK(get_be16(got + SMP_DATA + 14), 2);
	CHECK(get_be16(got + SMP_DATA + 16), 0x8005);
	CHECK(got[SMP_DATA + 18] >> 4, 11);
	CHECK(get_be32(got + SMP_DATA + 22) & 0xffffff, 17);
	CHECK(get_be16(got + SMP_DATA + 10 + 48), 20);
	CHECK(got[SMP_DATA + 10 + 50], 1);
	for (i = 0; i < 32; i++)
		CHECK(got[SMP_DATA + 10 + 16 + i], 0);
	end(w);
	/* With GIDs, if the packet has them. */
	w = begin_one();
	got = w->host[2].mad + MAD_AT;
	w->node[0].ports[0].end.lid = 20;
	w->node[0].ports[0].end.sm_lid = 3;
	in_enforces(w);
	w->node[0].ports[1].pkeys[0] = 0x8002;
	memset(mad, 0, sizeof(mad));
	send_mad_grh(w, 1, 2, mad);
	CHECK(fab_trap_next(&w->fabric, &trap, w->now), false);
	pass(w, 1 * MS);
	CHECK(w->host[2].mads, 1);
	for (i = 0; i < 16; i++) {
		CHECK(got[SMP_DATA + 10 + 16 + i], 1 + i);
		CHECK(got[SMP_DATA + 10 + 32 + i], 101 + i);
	}
	end(w);
}

/* ---- groups, lanes, time ---------------------------------------------------- */

static void groups(void)
{
	struct world *w = begin_one();
	u32 positions = fab_positions(PORTS);
	struct one one = { 0xc003, 0, 0, PKEY, 256 };

	w->loses = true;
	w->node[0].sw->mft[3 * positions] = 0xe;	/* ports 1, 2, 3 */
	send_one(w, &one);
	/* Never back by the port that it came by. */
	CHECK(w->host[0].got, 0);
	CHECK(w->host[1].got, 1);
	CHECK(w->host[2].got, 1);
	/* Each port takes it or not by its own P_Keys. */
	port(w, 0, 3)->filters = FAB_FILTER_PKEY_OUT;
	port(w, 0, 3)->pkeys[0] = 0x8001;
	send_one(w, &one);
	CHECK(w->host[1].got, 2);
	CHECK(w->host[2].got, 1);
	CHECK(errors_of(w, 3, FAB_ERR_XMIT_CONSTRAINT), 1);
	port(w, 0, 3)->filters = 0;
	/* One that waits does not keep the others waiting. */
	close_up(&w->host[1]);
	send_one(w, &one);
	CHECK(w->host[2].got, 2);
	/* A group without members. (On another lane: what waits is first on lane 0.) */
	one.sl = 1;
	one.vl = 1;
	one.dlid = 0xc004;
	send_one(w, &one);
	CHECK(w->host[1].got, 2);
	/* Beyond the table: by the default ports. */
	one.dlid = 0xc000 + FAB_MFT_GROUPS;
	w->node[0].sw->default_ports[1] = 3;
	send_one(w, &one);
	CHECK(w->host[2].got, 3);
	/* So also above MulticastFDBTop, and not up to it. */
	w->node[0].sw->mft_top = 0xc003;
	one.dlid = 0xc004;
	send_one(w, &one);
	CHECK(w->host[2].got, 4);
	w->node[0].sw->mft_top = 0xc004;
	send_one(w, &one);
	CHECK(w->host[2].got, 4);
	/* The lowest group may be the highest one. */
	w->node[0].sw->mft_top = 0xc000;
	send_one(w, &one);
	CHECK(w->host[2].got, 5);
	w->node[0].sw->mft_top = 0;
	one.dlid = 0xc000 + FAB_MFT_GROUPS;
	w->node[0].sw->default_ports[1] = 1;
	w->node[0].sw->default_ports[2] = 3;
	send_one(w, &one);
	CHECK(w->host[2].got, 6);
	end(w);
}

/* A switch of 254 ports: hosts at the ends of each word of a set of ports. */
static void many_ports(void)
{
	static const u8 numbers[] = { 1, 63, 64, 127, 128, 254 };
	struct world *w = begin_ports(1, FAB_PORTS_MAX);
	u32 i, j, positions = fab_positions(FAB_PORTS_MAX);

	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		add_host(w, 0, numbers[i]);
		set_route(w, 0, i + 1, numbers[i]);
		w->node[0].sw->mft[7 * positions + numbers[i] / 16] |= 1 << numbers[i] % 16;
	}
	pass(w, 50 * MS);
	activate(w);
	for (i = 0; i < w->hosts; i++)
		for (j = 0; j < w->hosts; j++)
			if (i != j)
				CHECK(host_send(w, &w->host[i], &w->host[j], 0, 16), true);
	pass(w, 2 * MS);
	for (i = 0; i < w->hosts; i++)
		CHECK(w->host[i].got, w->hosts - 1);
	w->loses = true;
	send_one(w, &(const struct one){ 0xc007, 2, 2, PKEY, 16 });
	for (i = 1; i < w->hosts; i++)
		CHECK(w->host[i].got, w->hosts);
	end(w);
}

/* Each input and output has its table: from port 1 to 2 SL 0 takes lane 5, from port 3 to 2 lane 0. */
static void lanes(void)
{
	struct world *w = begin_one();
	static const u8 map[SHCA_IB_SLS / 2] = { 0x51, 0x23, 0x45, 0x67 };
	u32 i;

	w->is_mapped = true;
	shca_ib_sl2vl_set(fab_sl2vl(&w->node[0], 1, 2), map);
	for (i = 0; i < 10; i++) {
		CHECK(host_send(w, &w->host[0], &w->host[1], 0, 100), true);
		CHECK(host_send(w, &w->host[2], &w->host[1], 0, 100), true);
	}
	pass(w, 5 * MS);
	CHECK(w->host[1].got, 20);
	CHECK(w->host[1].credits.lane[5].abr, 10 * SHCA_IB_CHARGE);
	CHECK(w->host[1].credits.lane[0].abr, 10 * SHCA_IB_CHARGE);
	end(w);
}

/* Time passes from one time that fab_data_advance() names to the next: what is due is named. */
static void times(void)
{
	static const struct one one = { 2, 0, 0, PKEY, 16 };
	struct world *w = begin_one();
	u64 since, next, at = 0;

	w->loses = true;
	close_up(&w->host[1]);
	port(w, 0, 2)->hoq_life = 12;
	send_one(w, &one);
	since = w->now - 2 * MS;
	for (next = w->now; next >= w->now && next < since + SECOND;) {
		w->now = next;
		next = fab_data_advance(&w->fabric, w->now);
		CHECK(next > w->now, true);
		at = w->now - since;
		if (port(w, 0, 2)->counters.detail[FAB_DETAIL_HOQ] || next <= w->now)
			break;
	}
	CHECK(at >= 4096ull << 12 && at <= (4096ull << 12) + MS / 10, true);
	end(w);
}

/* Without memory for copies, groups lose packets, which is counted, and nothing else happens. */
static void no_memory(void)
{
	struct world *w = begin_one();
	struct one one = { 0xc003, 0, 0, PKEY, 256 };

	w->loses = true;
	w->node[0].sw->mft[3 * fab_positions(PORTS)] = 0xe;
	w->data.pool_nr = w->data.pool_used;
	CHECK(w->data.pool_used, 1);
	send_one(w, &one);
	CHECK(w->host[1].got + w->host[2].got, 1);
	CHECK(port(w, 0, 2)->counters.error[FAB_ERR_DISCARD] + port(w, 0, 3)->counters.error[FAB_ERR_DISCARD], 1);
	end(w);
}

/* A port that has no credits sends and gets when it likes. */
static void without_credits(void)
{
	struct world *w = begin(1);
	const struct one one = { 2, 0, 0, PKEY, 16 };
	u32 i;

	for (i = 1; i <= 2; i++) {
		add_host(w, 0, i)->phy.credits = false;
		set_route(w, 0, i, i);
	}
	pass(w, 50 * MS);
	activate(w);
	for (i = 0; i < 400; i++)
		send_one(w, &one);
	CHECK(w->host[1].got, 400);
	CHECK(w->host[1].credit_frames, 0);
	/* Its frame of credits is none of this link. */
	host_tell(w, &w->host[0], true);
	pass(w, 1 * MS);
	CHECK(w->host[0].credit_frames, 0);
	end(w);
}

/* The host at port 2 has no credit for what waits. */
static void waits(void)
{
	static const struct one one = { 2, 0, 0, PKEY, 16 };
	struct world *w = begin_one();
	struct fab_port *out = port(w, 0, 2);
	u32 i;

	w->loses = true;
	close_up(&w->host[1]);
	out->hoq_life = 0x14;
	send_one(w, &one);
	pass(w, 98 * MS);
	CHECK(out->counters.error[FAB_ERR_DISCARD], 0);
	/* It is asked, each 500 us at most and each 4 ms at least. */
	CHECK(w->host[1].asks >= 23 && w->host[1].asks <= 200, true);
	end(w);

	/* HOQLife: 4.096 us * 2^12 are 17 ms. */
	w = begin_one();
	w->loses = true;
	out = port(w, 0, 2);
	out->hoq_life = 12;
	out->stall_count = 3;
	close_up(&w->host[1]);
	for (i = 0; i < 5; i++)
		send_one(w, &one);
	CHECK(out->counters.detail[FAB_DETAIL_HOQ], 0);
	pass(w, 12 * MS);
	CHECK(out->counters.detail[FAB_DETAIL_HOQ], 1);
	pass(w, 17 * MS);
	CHECK(out->counters.detail[FAB_DETAIL_HOQ], 2);
	/* The third in a row stalls the lane: all for it are dropped for 8 * HOQLife. */
	pass(w, 17 * MS);
	CHECK(out->counters.detail[FAB_DETAIL_HOQ], 5);
	send_one(w, &one);
	CHECK(out->counters.detail[FAB_DETAIL_HOQ], 6);
	pass(w, 8 * 17 * MS);
	send_one(w, &one);
	CHECK(out->counters.detail[FAB_DETAIL_HOQ], 6);
	CHECK(out->counters.xmit_wait >= 50 * MS && out->counters.xmit_wait <= 54 * MS, true);
	end(w);

	/* LifeTimeValue bounds the whole stay. */
	w = begin_one();
	w->loses = true;
	out = port(w, 0, 2);
	w->node[0].sw->life = 12;
	close_up(&w->host[1]);
	for (i = 0; i < 3; i++)
		send_one(w, &one);
	pass(w, 20 * MS);
	CHECK(out->counters.detail[FAB_DETAIL_LIFE], 3);
	CHECK(out->counters.error[FAB_ERR_DISCARD], 3);
	end(w);
}

/* A host that takes no answers of a switch does not keep them from another one. */
static void answers_wait(void)
{
	struct world *w = begin_one();
	u8 mad[FAB_MAD_BYTES] = { 1, CLASS_PERF, 1, METHOD_GET };
	u32 i;

	w->loses = true;
	put_be16(mad + MAD_ATTR, 0x12);
	mad[SMP_DATA + 1] = 1;
	port(w, 0, 0)->end.lid = 20;
	set_route(w, 0, 20, 0);
	w->node[0].sw->life = 0x14;
	close_up(&w->host[0]);
	for (i = 0; i < 2 * FAB_LANE_PACKETS; i++)
		send_mad_from(w, &w->host[0], 0, 1, 20, 1, mad);
	send_mad_from(w, &w->host[1], 0, 2, 20, 1, mad);
	CHECK(w->host[1].mads, 1);
	end(w);
}

/* The manager takes lanes away while a packet waits: it leaves by another one. */
static void less_lanes(void)
{
	struct world *w = begin_one();

	close_up(&w->host[1]);
	CHECK(host_send(w, &w->host[0], &w->host[1], 5, 64), true);
	pass(w, MS);
	w->is_mapped = true;
	port(w, 0, 2)->lanes.code = 1;
	w->host[1].edge.credits.window = SHCA_IB_WINDOW;
	w->host[1].mute = false;
	pass(w, 200 * MS);
	CHECK(w->host[1].got, 1);
	CHECK(w->host[1].credits.lane[5].abr, 0);
	CHECK(w->host[1].credits.lane[0].abr, SHCA_IB_CHARGE);
	end(w);
}

static void check_pool(struct world *w)
{
	struct fab_packet *packet;
	u32 free = 0;

	for (packet = w->data.unused; packet; packet = packet->next)
		free++;
	CHECK(free, w->data.pool_used);
}

/* A host that took nothing takes packets again. */
static void open_again(struct host *host)
{
	host->edge.credits.window = SHCA_IB_WINDOW;
	host->mute = false;
}

/* A link that begins anew has no lane that is stalled, and counts the next packets that expire from none on. */
static void stall_ends(void)
{
	static const struct one one = { 2, 0, 0, PKEY, 16 };
	struct world *w = begin_one();
	struct fab_port *out = port(w, 0, 2);

	w->loses = true;
	out->hoq_life = 16;	/* 268 ms */
	out->stall_count = 1;
	close_up(&w->host[1]);
	send_one(w, &one);
	pass(w, 300 * MS);
	send_one(w, &one);
	CHECK(out->counters.detail[FAB_DETAIL_HOQ], 2);
	fab_link(out, SHCA_IB_PHYS_LINK_UP, true);
	pass(w, 300 * MS);
	CHECK(out->state, SHCA_IB_STATE_INIT);
	activate(w);
	open_again(&w->host[1]);
	send_one(w, &one);
	CHECK(w->host[1].got, 1);
	out->stall_count = 2;
	close_up(&w->host[1]);
	send_one(w, &one);
	pass(w, 300 * MS);
	CHECK(out->counters.detail[FAB_DETAIL_HOQ], 3);
	fab_link(out, SHCA_IB_PHYS_LINK_UP, true);
	pass(w, 300 * MS);
	activate(w);
	close_up(&w->host[1]);
	send_one(w, &one);
	pass(w, 300 * MS);
	send_one(w, &one);
	CHECK(out->counters.detail[FAB_DETAIL_HOQ], 4);
	end(w);
}

/* The manager lowers NeighborMTU while packets wait: what is too long now does not leave. */
static void less_mtu(void)
{
	struct world *w = begin_one();

	w->loses = true;
	close_up(&w->host[1]);
	CHECK(host_send(w, &w->host[0], &w->host[1], 0, 512), true);
	CHECK(host_send(w, &w->host[0], &w->host[1], 0, 256), true);
	pass(w, MS);
	port(w, 0, 2)->neighbor_mtu = 1;
	open_again(&w->host[1]);
	pass(w, 200 * MS);
	CHECK(w->host[1].got, 1);
	CHECK(details_of(w, 2, FAB_DETAIL_MTU), 1);
	CHECK(errors_of(w, 2, FAB_ERR_DISCARD), 1);
	check_pool(w);
	end(w);
}

/* ---- what fabrics suffer from ----------------------------------------------- */

#define RING		5
/* (of a buffer's content, hundreds leave in that time) */
#define LONG_NS		(200 * MS)

/* Five switches in a ring, a host each. Host i sends to host i + 2, the short way: all in one direction. */
static struct world *begin_ring(void)
{
	struct world *w = begin(RING);
	u32 i, j;

	for (i = 0; i < RING; i++)
		fab_join(port(w, i, 1), port(w, (i + 1) % RING, 2));
	for (i = 0; i < RING; i++)
		add_host(w, i, 3);
	/* 1 KiB in 10 us */
	for (i = 0; i < RING; i++)
		port(w, i, 1)->io->rate = 100000000;
	for (i = 0; i < RING; i++)
		for (j = 0; j < RING; j++)
			set_route(w, i, j + 1, i == j ? 3 : (j + RING - i) % RING <= 2 ? 1 : 2);
	pass(w, 50 * MS);
	activate(w);
	return w;
}

/* Send as much as there is credit for. @sl: by host. */
static void send_round(struct world *w, const u8 *sl, u64 ns)
{
	u64 until = w->now + ns;
	u32 i;

	while (w->now < until) {
		for (i = 0; i < RING; i++)
			while (host_send(w, &w->host[i], &w->host[(i + 2) % RING], sl[i], 1024))
				;
		pass(w, MS);
	}
}

static u64 got(const struct world *w)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < w->hosts; i++)
		sum += w->host[i].got;
	return sum;
}

static u64 discards(const struct world *w)
{
	u64 sum = 0;
	u32 i, j;

	for (i = 0; i < w->switches; i++)
		for (j = 0; j <= PORTS; j++)
			sum += w->node[i].ports[j].counters.error[FAB_ERR_DISCARD];
	return sum;
}

static void set_hoq(struct world *w, u8 life)
{
	u32 i, j;

	for (i = 0; i < w->switches; i++) {
		w->node[i].sw->life = 0x14;
		for (j = 1; j <= PORTS; j++)
			port(w, i, j)->hoq_life = life;
	}
}

/* Each cable of the ring waits for the next one. */
static void deadlock(void)
{
	static const u8 one_lane[RING] = { 0 }, two_lanes[RING] = { 0, 0, 0, 1, 1 };
	struct world *w = begin_ring();
	u64 before, waited;
	u32 i;

	set_hoq(w, 0x14);
	send_round(w, one_lane, LONG_NS);
	before = got(w);
	waited = port(w, 0, 1)->counters.xmit_wait;
	send_round(w, one_lane, LONG_NS);
	/* It stops for ever, and nothing is lost. */
	CHECK(got(w), before);
	CHECK(discards(w), 0);
	fab_output_account(port(w, 0, 1));
	CHECK(port(w, 0, 1)->counters.xmit_wait - waited >= LONG_NS, true);
	for (i = 0; i < RING; i++)
		CHECK(port(w, i, 2)->io->input[0].packets, FAB_LANE_PACKETS);
	/* HOQLife resolves it by losses: 4.096 us * 2^12. */
	set_hoq(w, 12);
	w->loses = true;
	send_round(w, one_lane, LONG_NS);
	CHECK(got(w) > before, true);
	CHECK(discards(w) > 0, true);
	end(w);
	/* What crosses from the last switch to the first one has a lane of its own. */
	w = begin_ring();
	set_hoq(w, 0x14);
	send_round(w, two_lanes, LONG_NS);
	before = got(w);
	send_round(w, two_lanes, LONG_NS);
	CHECK(got(w) - before > 1000, true);
	CHECK(discards(w), 0);
	end(w);
}

/* Hosts 0 and 1 share a cable. Host 0 sends to host 2, which takes nothing; host 1 to host 3. */
static u64 victim(u8 sl)
{
	struct world *w = begin(2);
	u64 until;
	u32 i;

	fab_join(port(w, 0, 5), port(w, 1, 5));
	add_host(w, 0, 1);
	add_host(w, 0, 2);
	add_host(w, 1, 1);
	add_host(w, 1, 2);
	for (i = 0; i < 4; i++) {
		set_route(w, 0, i + 1, i < 2 ? i + 1 : 5);
		set_route(w, 1, i + 1, i < 2 ? 5 : i - 1);
	}
	pass(w, 50 * MS);
	activate(w);
	set_hoq(w, 0x14);
	w->host[2].slow = true;
	for (until = w->now + LONG_NS; w->now < until;) {
		while (host_send(w, &w->host[0], &w->host[2], 0, 1024))
			;
		while (host_send(w, &w->host[1], &w->host[3], sl, 1024))
			;
		pass(w, MS);
	}
	until = w->host[3].got;
	CHECK(discards(w), 0);
	end(w);
	return until;
}

/* Credits come back: what was lost is found by periods, at both ends of each cable. */
static void check_credits(struct world *w)
{
	u32 i, k;

	for (i = 0; i < w->hosts; i++)
		for (k = 0; k < SHCA_IB_LANES; k++) {
			CHECK(shca_ib_credits_room(&w->host[i].credits, k), FAB_EDGE_LANE_PACKETS * SHCA_IB_CHARGE);
			CHECK(shca_ib_credits_room(&w->host[i].edge.credits, k), SHCA_IB_GRANT);
		}
}

/* A cable is pulled out and plugged in, between switches and at a host. */
static void cables(void)
{
	struct world *w = begin_two();
	struct fab_port *a = port(w, 0, 5), *b = port(w, 1, 6), *edge = port(w, 0, 1);
	u64 packets;
	u32 i;

	w->node[0].sw->changed = false;
	w->node[1].sw->changed = false;
	fab_cut(b, true, w->now);
	CHECK(a->state, SHCA_IB_STATE_DOWN);
	CHECK(b->state, SHCA_IB_STATE_DOWN);
	CHECK(w->node[0].sw->changed && w->node[1].sw->changed, true);
	/* What is sent meanwhile is lost, and counted. */
	CHECK(host_send(w, &w->host[0], &w->host[1], 0, 16), true);
	pass(w, 2 * MS);
	CHECK(a->counters.detail[FAB_DETAIL_INACTIVE], 1);
	/* No manager brings it up. */
	fab_link(a, SHCA_IB_PHYS_LINK_UP, true);
	CHECK(a->state, SHCA_IB_STATE_DOWN);
	CHECK(b->phys, SHCA_IB_PHYS_POLLING);
	fab_cut(a, false, w->now);
	CHECK(a->state, SHCA_IB_STATE_INIT);
	CHECK(b->state, SHCA_IB_STATE_INIT);
	/* A disabled port stays so. */
	fab_link(a, SHCA_IB_PHYS_DISABLED, true);
	fab_cut(a, true, w->now);
	fab_cut(a, false, w->now);
	CHECK(a->phys, SHCA_IB_PHYS_DISABLED);
	CHECK(b->phys, SHCA_IB_PHYS_POLLING);
	fab_link(a, SHCA_IB_PHYS_LINK_UP, true);
	CHECK(b->state, SHCA_IB_STATE_INIT);
	/* A host notices after a second without hellos. */
	w->loses = true;
	fab_cut(edge, true, w->now);
	CHECK(edge->state, SHCA_IB_STATE_DOWN);
	/* What it sends until then is no sign of anything. */
	packets = edge->counters.rcv_pkts;
	CHECK(host_send(w, &w->host[0], &w->host[1], 0, 16), true);
	CHECK(edge->counters.rcv_pkts, packets);
	CHECK(w->host[0].edge.bad_frames, 0);
	pass(w, 1200 * MS);
	CHECK(w->host[0].phy.phys, SHCA_IB_PHYS_POLLING);
	fab_cut(edge, false, w->now);
	pass(w, 300 * MS);
	CHECK(edge->state, SHCA_IB_STATE_INIT);
	CHECK(w->host[0].phy.phys, SHCA_IB_PHYS_LINK_UP);
	activate(w);
	for (i = 0; i < 10; i++)
		CHECK(host_send(w, &w->host[0], &w->host[1], 0, 16), true);
	pass(w, 2 * MS);
	CHECK(w->host[1].got, 10);
	end(w);
}

/* A cable with a rate: 100 packets of 1,050 B at 10 MB/s take 10.5 ms, less what it makes up for. */
static void rate(void)
{
	struct world *w = begin_one();
	u64 since;
	u32 i;

	port(w, 0, 2)->io->rate = 10000000;
	for (i = 0; i < 100; i++)
		CHECK(host_send(w, &w->host[0], &w->host[1], 0, 1024), true);
	for (since = w->now; w->host[1].got < 100 && w->now < since + SECOND;)
		pass(w, MS / 10);
	CHECK(w->now - since >= 10200000 && w->now - since <= 10800000, true);
	/* Time in which the cable carries a packet is no wait. */
	CHECK(port(w, 0, 2)->counters.xmit_wait, 0);
	end(w);
}

/* A cable loses or damages one of so many packets. The receiver counts what is damaged. */
static void bad_cables(void)
{
	struct world *w = begin_two();
	struct fab_io *io = port(w, 0, 5)->io;
	u32 i;

	w->loses = true;
	io->lose_each = 3;
	for (i = 0; i < 30; i++)
		CHECK(host_send(w, &w->host[0], &w->host[1], 0, 16), true);
	pass(w, 2 * MS);
	CHECK(w->host[1].got, 20);
	CHECK(port(w, 0, 5)->counters.xmit_pkts, 30);
	CHECK(port(w, 1, 6)->counters.rcv_pkts, 20);
	io->lose_each = 0;
	io->damage_each = 5;
	io->left = 0;
	for (i = 0; i < 30; i++)
		CHECK(host_send(w, &w->host[0], &w->host[1], 0, 16), true);
	pass(w, 2 * MS);
	CHECK(w->host[1].got, 20 + 24);
	CHECK(port(w, 1, 6)->counters.error[FAB_ERR_SYMBOL], 6);
	CHECK(port(w, 1, 6)->counters.error[FAB_ERR_RCV], 6);
	CHECK(port(w, 1, 6)->counters.detail[FAB_DETAIL_PHYSICAL], 6);
	CHECK(w->data.pool_used < 64, true);
	check_pool(w);
	/* To a host: what is lost costs credit until the next period; what is damaged, the host counts. */
	io->damage_each = 0;
	port(w, 1, 2)->io->lose_each = 2;
	for (i = 0; i < 30; i++)
		CHECK(host_send(w, &w->host[0], &w->host[1], 0, 16), true);
	pass(w, 2 * MS);
	CHECK(w->host[1].got, 44 + 15);
	CHECK(shca_ib_credits_room(&w->host[1].edge.credits, 0) < SHCA_IB_GRANT, true);
	port(w, 1, 2)->io->lose_each = 0;
	port(w, 1, 2)->io->damage_each = 2;
	w->damages = true;
	for (i = 0; i < 30; i++)
		CHECK(host_send(w, &w->host[0], &w->host[1], 0, 16), true);
	pass(w, 400 * MS);
	CHECK(w->host[1].damaged, 15);
	CHECK(w->host[1].got, 59 + 15);
	check_credits(w);
	end(w);
}

/* A frame on its way to the switch. */
struct late {
	u64 at;
	u32 len;
	u8 data[FAB_FRAME_MAX];
};

#define LATE_NR		512
static struct late late[LATE_NR];

/* Packets of host 0 to host 1 that arrive @ns later, one a millisecond, or as many as there is credit for. Return: how many. */
static u32 send_late(struct world *w, u64 ns, u64 lasts, bool all)
{
	u32 first = 0, last = 0, sent = 0, len;
	u64 until = w->now + lasts;
	struct host *host = &w->host[0];
	struct stamp stamp = { 0 };
	struct late *frame;
	struct shca_ib_shim shim = { .type = SHCA_IB_FRAME_DATA, .session = host->phy.session };

	while (w->now < until || first != last) {
		while (w->now < until && last - first < LATE_NR && shca_ib_credits_room(&host->credits, 0) >= SHCA_IB_CHARGE) {
			frame = &late[last++ % LATE_NR];
			stamp.number = host->next_sent[1][0]++;
			len = make_packet(w, frame->data + FAB_HEAD, 1, 2, 0, 0, PKEY, 16, &stamp);
			shim.len = len;
			shim.period = host->credits.period;
			shca_ib_shim_build(&shim, frame->data + FAB_ETHER_BYTES);
			frame->len = FAB_HEAD + len;
			frame->at = w->now + ns;
			shca_ib_credits_take(&host->credits, 0, SHCA_IB_CHARGE);
			sent++;
			if (!all)
				break;
		}
		for (; first != last && late[first % LATE_NR].at <= w->now; first++)
			to_switch(w, host, late[first % LATE_NR].data, late[first % LATE_NR].len);
		pass(w, MS);
	}
	return sent;
}

/*
 * Packets that come after the time of their period: the switch waits longer for those of the next ones, so it takes
 * no more of them for lost, for which it would give credit. Then it waits less again.
 */
static void late_packets(void)
{
	struct world *w = begin_one();
	u32 i;

	w->loses = true;
	send_late(w, 100 * MS, 1500 * MS, false);
	close_up(&w->host[1]);
	pass(w, 300 * MS);
	i = w->host[0].edge.port->io->input[0].packets;
	CHECK(send_late(w, 100 * MS, 800 * MS, true) + i <= FAB_EDGE_LANE_PACKETS, true);
	CHECK(errors_of(w, 1, FAB_ERR_OVERRUN), 0);
	end(w);
	w = begin_one();
	w->loses = true;
	send_late(w, 100 * MS, 1500 * MS, false);
	send_late(w, 0, 3000 * MS, false);
	/* What is lost comes back with the next period: 40 to 100 ms, and 20 ms. */
	for (i = 0; i < 100; i++)
		shca_ib_credits_take(&w->host[0].credits, 0, SHCA_IB_CHARGE);
	pass(w, 250 * MS);
	check_credits(w);
	end(w);
}

/* A frame of credits lets what waits for them leave. */
static void credit_comes(void)
{
	struct world *w = begin_one();

	close_up(&w->host[1]);
	CHECK(host_send(w, &w->host[0], &w->host[1], 0, 64), true);
	/* The host is asked for them at once, and again after 500 us. */
	w->host[1].asks = 0;
	pass(w, 700000);
	CHECK(w->host[1].asks, 2);
	CHECK(w->host[1].got, 0);
	open_again(&w->host[1]);
	host_tell(w, &w->host[1], false);
	fab_data_run(&w->fabric, w->now);
	host_run(w, &w->host[1]);
	CHECK(w->host[1].got, 1);
	end(w);
}

/* Nothing is told of credits while the link is down. Hellos are for everybody until a peer has said one. */
static void no_link(void)
{
	static const u8 all[SHCA_IB_MAC_BYTES] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	struct world *w = begin(1);
	struct host *host = add_host(w, 0, 1);

	fab_data_advance(&w->fabric, w->now);
	CHECK(host->last, 1);
	CHECK(memcmp(host->inbox[0].data, all, sizeof(all)), 0);
	end(w);
	w = begin_one();
	fab_cut(port(w, 0, 2), true, w->now);
	w->host[1].credit_frames = 0;
	pass(w, 500 * MS);
	CHECK(w->host[1].credit_frames, 0);
	end(w);
}

/* Frames that the machine does not take are lost, and counted: data as discarded, subnet management as that of lane 15. */
static void unsent(void)
{
	static const struct one one = { 2, 0, 0, PKEY, 16 };
	struct world *w = begin_one();
	u8 mad[FAB_MAD_BYTES] = { 1, CLASS_LID_ROUTED, 1, METHOD_GET };

	w->loses = true;
	w->refuses = true;
	send_one(w, &one);
	CHECK(errors_of(w, 2, FAB_ERR_DISCARD), 1);
	CHECK(errors_of(w, 2, FAB_ERR_VL15), 0);
	CHECK(w->host[1].edge.unsent, 1);
	put_be16(mad + MAD_ATTR, ATTR_NODE_INFO);
	send_mad(w, 1, 2, 0, mad);
	CHECK(errors_of(w, 2, FAB_ERR_VL15), 1);
	CHECK(errors_of(w, 2, FAB_ERR_DISCARD), 1);
	CHECK(w->host[1].edge.unsent, 2);
	w->refuses = false;
	pass(w, 200 * MS);
	check_credits(w);
	check_pool(w);
	end(w);
}

/* Tables change while packets wait: those that have not had their turn yet go by the new ones. */
static void other_lanes(void)
{
	struct world *w = begin_one();

	w->loses = true;
	close_up(&w->host[1]);
	CHECK(host_send(w, &w->host[0], &w->host[1], 0, 64), true);
	CHECK(host_send(w, &w->host[0], &w->host[1], 0, 64), true);
	pass(w, MS);
	lane_is_15(w);
	open_again(&w->host[1]);
	pass(w, 200 * MS);
	CHECK(w->host[1].got, 1);
	CHECK(details_of(w, 1, FAB_DETAIL_VL), 1);
	check_credits(w);
	check_pool(w);
	end(w);
}

/* HOQLife begins when a packet is the first at its output: 17 ms, and three inputs of whose packets one leaves in 12 ms. */
static void first_in_turn(void)
{
	struct world *w = begin_one();
	u32 i;

	add_host(w, 0, 4);
	set_route(w, 0, 4, 4);
	pass(w, 50 * MS);
	activate(w);
	port(w, 0, 2)->hoq_life = 12;
	port(w, 0, 2)->io->rate = 98 * 1000 / 12;	/* (64 bytes of payload are 90 from LRH to VCRC) */
	for (i = 0; i < 4; i++)
		if (i != 1)
			CHECK(host_send(w, &w->host[i], &w->host[1], 0, 64), true);
	pass(w, 40 * MS);
	CHECK(w->host[1].got, 3);
	CHECK(discards(w), 0);
	end(w);
}

/* What the switch refuses costs no credit for ever. */
static void refused(void)
{
	static const struct one one = { 4, 0, 0, PKEY, 16 };
	struct world *w = begin_one();
	u32 i;

	for (i = 0; i < FAB_EDGE_LANE_PACKETS; i++)
		send_one(w, &one);
	CHECK(errors_of(w, 1, FAB_ERR_RELAY), FAB_EDGE_LANE_PACKETS);
	pass(w, 200 * MS);
	check_credits(w);
	CHECK(w->host[0].edge.credits.lane[0].held, 0);
	check_pool(w);
	end(w);
}

/* A port without credits fills its buffers, and not the memory. */
static void no_credits_fill(void)
{
	static const struct stamp stamp = { 0 };
	struct world *w = begin(1);
	u8 frame[FAB_FRAME_MAX];
	u32 i, len;

	for (i = 1; i <= 2; i++) {
		add_host(w, 0, i)->phy.credits = i == 2;
		set_route(w, 0, i, i);
	}
	pass(w, 50 * MS);
	activate(w);
	w->loses = true;
	close_up(&w->host[1]);
	for (i = 0; i < FAB_EDGE_PACKETS + 10; i++) {
		len = make_packet(w, frame + FAB_HEAD, 1, 2, 0, 0, PKEY, 16, &stamp);
		send_packet(w, &w->host[0], frame, len);
	}
	CHECK(port(w, 0, 1)->io->input[0].packets, FAB_EDGE_PACKETS);
	CHECK(errors_of(w, 1, FAB_ERR_OVERRUN), 10);
	CHECK(w->data.pool_used <= FAB_EDGE_PACKETS + 1, true);
	end(w);
}

/* Tables that lead round in a circle: packets circle, and everything else goes on. */
static void circle(void)
{
	static const struct one one = { 9, 0, 0, PKEY, 16 };
	struct world *w = begin_ring();
	u32 i;

	for (i = 0; i < RING; i++) {
		set_route(w, i, 9, 1);
		port(w, i, 1)->io->rate = 0;
	}
	w->loses = true;
	send_one(w, &one);
	CHECK(fab_data_advance(&w->fabric, w->now), w->now + 1);
	CHECK(host_send(w, &w->host[1], &w->host[3], 0, 64), true);
	pass(w, MS);
	CHECK(w->host[3].got, 1);
	/* A manager opens it. */
	set_route(w, 2, 9, 0);
	pass(w, MS);
	CHECK(fab_data_advance(&w->fabric, w->now) > w->now + MS, true);
	check_pool(w);
	end(w);
}

#define DELAYED		100

/* A cable with a delay: 60 packets at most are in it and in the buffer behind it, and each arrives at its time. */
static void delay(void)
{
	struct world *w = begin_two();
	struct fab_port *out = port(w, 0, 5), *in = port(w, 1, 6);
	u64 since, next;
	u32 i;

	out->io->delay = 10 * MS;
	CHECK(host_send(w, &w->host[0], &w->host[1], 0, 16), true);
	since = w->now;
	for (next = w->now; next < since + 100 * MS && !in->counters.rcv_pkts;) {
		w->now = next;
		next = fab_data_advance(&w->fabric, w->now);
		CHECK(next > w->now, true);
	}
	CHECK(w->now - since, 10 * MS);
	pass(w, MS);
	CHECK(w->host[1].got, 1);
	/* In each 10 ms 60 of one lane; another lane has its own. */
	for (i = 0; i < DELAYED; i++) {
		CHECK(host_send(w, &w->host[0], &w->host[1], 0, 16), true);
		CHECK(host_send(w, &w->host[0], &w->host[1], 1, 16), true);
	}
	pass(w, 5 * MS);
	CHECK(out->counters.xmit_pkts, 1 + 2 * FAB_LANE_PACKETS);
	CHECK(w->host[1].got, 1);
	pass(w, 10 * MS);
	CHECK(out->counters.xmit_pkts, 1 + 2 * DELAYED);
	CHECK(w->host[1].got, 1 + 2 * FAB_LANE_PACKETS);
	/* A shorter delay lets nothing overtake. */
	out->io->delay = 0;
	CHECK(host_send(w, &w->host[0], &w->host[1], 0, 16), true);
	pass(w, 30 * MS);
	CHECK(w->host[1].got, 2 + 2 * DELAYED);
	CHECK(discards(w), 0);
	pass(w, 200 * MS);
	check_credits(w);
	check_pool(w);
	/* What is in a cable that is pulled out does not arrive. */
	out->io->delay = 10 * MS;
	w->loses = true;
	for (i = 0; i < 10; i++)
		CHECK(host_send(w, &w->host[0], &w->host[1], 0, 16), true);
	pass(w, MS);
	CHECK(out->counters.xmit_pkts, 2 + 2 * DELAYED + 10);
	fab_cut(in, true, w->now);
	fab_cut(in, false, w->now);
	activate(w);
	pass(w, 30 * MS);
	CHECK(w->host[1].got, 2 + 2 * DELAYED);
	check_pool(w);
	for (i = 0; i < 2 * FAB_LANE_PACKETS; i++)
		CHECK(host_send(w, &w->host[0], &w->host[1], 0, 16), true);
	pass(w, 30 * MS);
	CHECK(w->host[1].got, 2 + 2 * DELAYED + 2 * FAB_LANE_PACKETS);
	end(w);
}

/* A cable with a rate is free again at a time that is named. */
static void rate_times(void)
{
	struct world *w = begin_one();
	u64 next, since;
	u32 i;

	/* 1,126 bytes in 1 ms */
	port(w, 0, 2)->io->rate = 1126000;
	for (i = 0; i < 20; i++)
		CHECK(host_send(w, &w->host[0], &w->host[1], 0, 1024), true);
	since = w->now;
	for (next = w->now; next < since + 100 * MS;) {
		w->now = next;
		next = fab_data_advance(&w->fabric, w->now);
		if (port(w, 0, 2)->counters.xmit_pkts == 20)
			break;
	}
	CHECK(w->now - since < 20 * MS, true);
	end(w);
}

/*
 * A caller that is late does not make the cable slower: packets that waited for it leave at once. One
 * that has carried nothing makes up for 0.1 ms only.
 */
static void rate_late(void)
{
	struct world *w = begin_one();
	const u64 *sent = &port(w, 0, 2)->counters.xmit_pkts;
	u64 late = 25 * MS;
	u32 i;

	port(w, 0, 2)->io->rate = 1050000;	/* a packet takes 1 ms */
	for (i = 0; i < 30; i++)
		CHECK(host_send(w, &w->host[0], &w->host[1], 0, 1024), true);
	pass(w, MS / 10);
	CHECK(*sent, 1);
	w->now += late;
	fab_data_advance(&w->fabric, w->now);
	CHECK(*sent, 26);
	w->now += late;
	fab_data_advance(&w->fabric, w->now);
	CHECK(*sent, 30);
	pass(w, MS / 10);
	for (i = 0; i < 10; i++)
		CHECK(host_send(w, &w->host[0], &w->host[1], 0, 1024), true);
	pass(w, MS / 10);
	CHECK(*sent, 31);
	end(w);
}

/* Of a packet that expired while it waited for the cable, no time is left to make up for. */
static void rate_after_expiry(void)
{
	struct world *w = begin_one();
	const u64 *sent = &port(w, 0, 2)->counters.xmit_pkts;
	u32 i;

	w->loses = true;
	port(w, 0, 2)->io->rate = 1050000;
	port(w, 0, 2)->hoq_life = 7;	/* 0.5 ms */
	for (i = 0; i < 2; i++)
		CHECK(host_send(w, &w->host[0], &w->host[1], 0, 1024), true);
	pass(w, MS / 10);
	CHECK(*sent, 1);
	w->now += 25 * MS;
	fab_data_advance(&w->fabric, w->now);
	CHECK(*sent, 1);
	for (i = 0; i < 10; i++)
		CHECK(host_send(w, &w->host[0], &w->host[1], 0, 1024), true);
	pass(w, MS / 10);
	CHECK(*sent, 2);
	end(w);
}

/* A datagram for a group is for no agent: all would answer, and to whom its sender likes. */
static void group_mad(void)
{
	struct world *w = begin_one();
	u8 mad[FAB_MAD_BYTES] = { 1, CLASS_PERF, 1, METHOD_GET };

	put_be16(mad + MAD_ATTR, 0x12);
	mad[SMP_DATA + 1] = 1;
	w->node[0].sw->mft[3 * fab_positions(PORTS)] = 0x1;
	send_mad(w, 1, 0xc003, 1, mad);
	CHECK(w->host[0].mads, 0);
	/* nor does one from a group have an answer */
	w->node[0].ports[0].end.lid = 20;
	set_route(w, 0, 20, 0);
	w->node[0].sw->mft[3 * fab_positions(PORTS)] = 0x6;
	send_mad(w, 0xc003, 20, 1, mad);
	CHECK(w->host[0].mads + w->host[1].mads, 0);
	send_mad(w, 1, 20, 1, mad);
	CHECK(w->host[0].mads, 1);
	end(w);
}

/* An agent of the general service takes its own partitions only (IBTA 10.9.2). */
static void mad_pkeys(void)
{
	struct world *w = begin_one();
	u8 mad[FAB_MAD_BYTES] = { 1, CLASS_PERF, 1, METHOD_SET };
	struct fab_port *port0 = port(w, 0, 0);

	put_be16(mad + MAD_ATTR, 0x12);
	put_be16(mad + SMP_DATA + 2, 0xffff);
	mad[SMP_DATA + 1] = 2;
	port(w, 0, 2)->counters.error[FAB_ERR_RCV] = 7;
	port0->end.lid = 20;
	set_route(w, 0, 20, 0);
	port0->pkeys[0] = 0x8001;
	send_mad(w, 1, 20, 1, mad);
	CHECK(w->host[0].mads, 0);
	CHECK(errors_of(w, 2, FAB_ERR_RCV), 7);
	CHECK(port0->end.bad_pkeys, 1);
	/* The counter stays at its highest value. */
	port0->end.bad_pkeys = 0xffff;
	send_mad(w, 1, 20, 1, mad);
	CHECK(port0->end.bad_pkeys, 0xffff);
	/* One of both is a full member. */
	port0->pkeys[1] = 0x7fff;
	send_mad(w, 1, 20, 1, mad);
	CHECK(w->host[0].mads, 1);
	CHECK(errors_of(w, 2, FAB_ERR_RCV), 0);
	/* The answer has the P_Key of the agent: a limited member does not take that of another one. */
	CHECK(get_be16(w->host[0].mad + SHCA_IB_LRH_BYTES + 2), 0x7fff);
	end(w);
}

/* While all ports of a group wait, the first that has room gets its copy. */
static void group_waits(void)
{
	static const struct one one = { 0xc003, 0, 0, PKEY, 64 };
	struct world *w = begin_one();
	u32 window;

	w->loses = true;
	w->node[0].sw->mft[3 * fab_positions(PORTS)] = 0xe;
	close_up(&w->host[1]);
	window = w->host[2].edge.credits.window;
	w->host[2].edge.credits.window = 0;
	w->host[2].mute = true;
	/* Another one waits before it. */
	CHECK(host_send(w, &w->host[2], &w->host[1], 0, 64), true);
	send_one(w, &one);
	CHECK(w->host[1].got + w->host[2].got, 0);
	w->host[2].edge.credits.window = window;
	w->host[2].mute = false;
	pass(w, 200 * MS);
	CHECK(w->host[2].got, 1);
	CHECK(w->host[1].got, 0);
	w->host[1].edge.credits.window = window;
	w->host[1].mute = false;
	pass(w, 200 * MS);
	CHECK(w->host[1].got, 2);
	check_credits(w);
	end(w);
}

/* ---- traffic of simulated hosts --------------------------------------------- */

/* Simulated hosts, with a port each. */
static struct fab_node simulated[4];

/* One of them at a port, Active. */
static struct fab_port *simulate(struct world *w, u32 n, u32 sw, u32 number, u16 lid)
{
	struct fab_node *node = &simulated[n];

	*node = (struct fab_node){ .type = FAB_CA, .ports_nr = 1, .guid = 0x900 + n };
	node->ports = zeros(2 * sizeof(*node->ports));
	node->ports[1].guid = 0x910 + n;
	node->ports[1].supported = (struct fab_rate){ .width = 2, .speed = 7 };
	fab_node_init(&w->fabric, node);
	fab_join(&node->ports[1], port(w, sw, number));
	node->ports[1].state = SHCA_IB_STATE_ACTIVE;
	port(w, sw, number)->state = SHCA_IB_STATE_ACTIVE;
	node->ports[1].end.lid = lid;
	return &node->ports[1];
}

static void end_simulated(struct world *w)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(simulated); i++) {
		free(simulated[i].ports);
		simulated[i].ports = NULL;
	}
	end(w);
}

/* 256 bytes of data: 290 from LRH to VCRC, and 72 words without the VCRC. */
#define FLOW_WORDS	72

static const struct fab_source ten_at_once = { .dlid = 12, .pkey = PKEY, .rate = 1000000000, .left = 10 };

/* Two hosts at two switches, with a cable between them: LIDs 11 and 12. */
static struct world *begin_simulated(struct fab_port **from, struct fab_port **to)
{
	struct world *w = begin(2);
	u32 i;

	fab_join(port(w, 0, 5), port(w, 1, 6));
	activate(w);
	*from = simulate(w, 0, 0, 1, 11);
	*to = simulate(w, 1, 1, 2, 12);
	for (i = 11; i <= 12; i++) {
		set_route(w, 0, i, i == 11 ? 1 : 5);
		set_route(w, 1, i, i == 11 ? 6 : 2);
	}
	w->node[0].sw->life = 0x14;
	w->node[1].sw->life = 0x14;
	return w;
}

/* A flow sends what it has to, at its rate, and each port counts that. */
static void flows(void)
{
	struct fab_port *from, *to;
	struct world *w = begin_simulated(&from, &to);
	struct fab_source wanted = ten_at_once, *flow;
	u64 since, next;

	flow = fab_source_start(from, &wanted);
	fab_data_run(&w->fabric, w->now);
	CHECK(flow->sent, 10);
	CHECK(flow->arrived, 10);
	CHECK(flow->left, 0);
	pass(w, MS);
	CHECK(from->counters.xmit_pkts, 10);
	CHECK(from->counters.xmit_data, 10 * FLOW_WORDS);
	CHECK(port(w, 0, 1)->counters.rcv_pkts, 10);
	CHECK(port(w, 0, 5)->counters.xmit_data, 10 * FLOW_WORDS);
	CHECK(to->counters.rcv_pkts, 10);
	CHECK(fab_data_advance(&w->fabric, w->now), ~0ull);
	/* 1,000 packets of 290 bytes at 1 MB/s take 290 ms. Once it has waited, it makes up for 10 ms. */
	wanted.rate = 1000000;
	wanted.left = 1000;
	since = w->now;
	flow = fab_source_start(from, &wanted);
	CHECK(fab_data_advance(&w->fabric, w->now) > w->now, true);
	while (flow->left && w->now < since + SECOND)
		pass(w, MS / 10);
	CHECK(w->now - since >= 279 * MS && w->now - since <= 291 * MS, true);
	CHECK(flow->arrived, 1000);
	/* The same as a caller who sleeps until something is due sees it. */
	wanted.left = 100;
	flow = fab_source_start(from, &wanted);
	for (since = w->now; w->now < since + SECOND; w->now = next) {
		steps_begin(endless);
		next = fab_data_advance(&w->fabric, w->now);
		if (!flow->left)
			break;
	}
	CHECK(w->now - since >= 18 * MS && w->now - since <= 29 * MS, true);
	CHECK(flow->arrived, 100);
	/* However fast, and even if nothing takes them, one call sends so many packets. The rest is due at once. */
	wanted.rate = 100000000000ull;
	wanted.left = ~0ull;
	set_route(w, 0, 12, 0xff);
	flow = fab_source_start(from, &wanted);
	fab_data_run(&w->fabric, w->now);
	CHECK(flow->sent, 1024);
	CHECK(fab_data_advance(&w->fabric, w->now), w->now + 1);
	fab_sources_stop(from);
	set_route(w, 0, 12, 5);
	pass(w, MS);
	/* A flow that ends leaves its place, and what is under way is not counted as another one's. */
	wanted.rate = 1000000;
	port(w, 0, 5)->io->rate = 1000;
	fab_source_start(from, &wanted);
	pass(w, 50 * MS);
	CHECK(port(w, 0, 1)->io->input[0].packets, 60);
	/* Another lane has a buffer of its own. */
	wanted.sl = 1;
	flow = fab_source_start(from, &wanted);
	pass(w, MS);
	CHECK(flow->sent > 0, true);
	wanted.sl = 0;
	fab_sources_stop(from);
	port(w, 0, 5)->io->rate = 0;
	wanted.left = 1;
	flow = fab_source_start(from, &wanted);
	pass(w, 500 * MS);
	CHECK(flow->arrived, 1);
	CHECK(port(w, 0, 1)->io->input[0].packets, 0);
	check_pool(w);
	end_simulated(w);
}

/* When a flow sends, and what it sends. */
static void flow_rules(void)
{
	struct fab_port *from, *to;
	struct world *w = begin_simulated(&from, &to);
	struct fab_source wanted = ten_at_once, *flow;
	u8 lanes[] = { 0x01, 0x2f, 0x45, 0x67, 0x01, 0x23, 0x45, 0x67 };	/* SL 3: lane 15 */
	u32 i;

	/* Not by a port that is not Active. */
	from->state = SHCA_IB_STATE_ARMED;
	flow = fab_source_start(from, &wanted);
	pass(w, MS);
	CHECK(flow->sent, 0);
	CHECK(fab_data_advance(&w->fabric, w->now), ~0ull);
	from->state = SHCA_IB_STATE_ACTIVE;
	pass(w, MS);
	CHECK(flow->arrived, 10);
	/* Not on lane 15. */
	shca_ib_sl2vl_set(&from->lanes.sl2vl, lanes);
	wanted.sl = 3;
	flow = fab_source_start(from, &wanted);
	pass(w, MS);
	CHECK(flow->sent, 0);
	/* The lane is that of the service level, and the manager may change it. */
	lanes[1] = 0x24;
	shca_ib_sl2vl_set(&from->lanes.sl2vl, lanes);
	to->takes = 1;
	port(w, 0, 5)->io->rate = 1;
	pass(w, MS);
	/* (one has left) */
	CHECK(port(w, 0, 1)->io->input[4].packets, 9);
	CHECK(fab_packet_lrh(port(w, 0, 1)->io->input[4].head)[0] >> 4, 4);
	port(w, 0, 5)->io->rate = 0;
	fab_output_kick(port(w, 0, 5));
	to->takes = 0;
	fab_output_kick(port(w, 1, 2));
	pass(w, MS);
	CHECK(flow->arrived, 10);
	/* The LID is that of the port. */
	wanted.sl = 0;
	wanted.left = ~0ull;
	flow = fab_source_start(from, &wanted);
	from->end.lid = 14;
	port(w, 0, 5)->io->rate = 1;
	pass(w, MS);
	CHECK(get_be16(fab_packet_lrh(port(w, 0, 1)->io->input[0].tail) + 6), 14);
	CHECK(icrc_of(fab_packet_lrh(port(w, 0, 1)->io->input[0].tail), FLOW_WORDS * 4),
	      icrc(fab_packet_lrh(port(w, 0, 1)->io->input[0].tail), FLOW_WORDS * 4));
	port(w, 0, 5)->io->rate = 0;
	fab_output_kick(port(w, 0, 5));
	fab_sources_stop(from);
	pass(w, 10 * MS);
	/* A receiver takes its own partitions. */
	wanted.left = 10;
	wanted.pkey = 0x8001;
	flow = fab_source_start(from, &wanted);
	pass(w, MS);
	CHECK(flow->arrived, 0);
	CHECK(to->end.bad_pkeys, 10);
	fab_sources_stop(from);
	/* There are so many, and those of another host go on. */
	for (i = 0; i < FAB_SOURCES; i++)
		CHECK(!fab_source_start(i == 7 ? to : from, &ten_at_once), false);
	CHECK(!fab_source_start(from, &ten_at_once), true);
	pass(w, 10 * MS);
	CHECK(w->data.sources[6].arrived, 10);
	fab_sources_stop(from);
	CHECK(w->data.sources[7].from == to, true);
	CHECK(!w->data.sources[8].from, true);
	/* Without memory it waits, and loses nothing. */
	w->data.pool_nr = w->data.pool_used;
	w->data.unused = NULL;
	flow = fab_source_start(from, &ten_at_once);
	pass(w, MS);
	CHECK(flow->sent, 0);
	CHECK(flow->left, 10);
	end_simulated(w);
}

/* A simulated host answers on the service level of the request, if it has a lane for that. */
static void host_answers(void)
{
	static const u8 lanes[] = { 0x01, 0x2f, 0x45, 0x67, 0x01, 0x23, 0x45, 0x67 };	/* SL 3: lane 15 */
	struct world *w = begin_one();
	u8 mad[FAB_MAD_BYTES] = { 1, CLASS_PERF, 1, METHOD_GET };
	struct fab_port *host = simulate(w, 0, 0, 4, 11);
	u32 sl;

	set_route(w, 0, 11, 4);
	put_be16(mad + MAD_ATTR, 0x12);
	mad[SMP_DATA + 1] = 1;
	shca_ib_sl2vl_set(&host->lanes.sl2vl, lanes);
	for (sl = 0; sl < SHCA_IB_LANES; sl++) {
		w->host[0].mads = 0;
		send_mad_from(w, &w->host[0], sl, 1, 11, 1, mad);
		CHECK(w->host[0].mads, sl != 3);
		CHECK(sl == 3 || w->host[0].mad[1] >> 4 == sl, true);
	}
	end_simulated(w);
}

/* A slow host has no credit for its switch, whose port counts that; another flow behind it waits, too. */
static void slow_host(void)
{
	struct fab_port *from, *to;
	struct world *w = begin_simulated(&from, &to);
	struct fab_source wanted = ten_at_once, *flow, *victim;
	struct fab_port *beside = simulate(w, 2, 1, 3, 13), *second = simulate(w, 3, 0, 2, 14);
	u64 since, until, waited;

	set_route(w, 0, 13, 5);
	set_route(w, 1, 13, 3);
	/* 100 packets of 290 bytes at 290,000 B/s take 100 ms. */
	to->takes = 290000;
	wanted.left = 100;
	flow = fab_source_start(from, &wanted);
	for (since = w->now; flow->arrived < 100 && w->now < since + SECOND;)
		pass(w, MS / 10);
	CHECK(w->now - since >= 98 * MS && w->now - since <= 102 * MS, true);
	fab_output_account(port(w, 1, 2));
	waited = port(w, 1, 2)->counters.xmit_wait;
	CHECK(waited >= 90 * MS && waited <= 102 * MS, true);
	CHECK(port(w, 1, 3)->counters.xmit_wait, 0);
	CHECK(discards(w), 0);
	/* Inputs take turns at the cable that both use. */
	fab_sources_stop(from);
	wanted.left = ~0ull;
	flow = fab_source_start(from, &wanted);
	pass(w, 100 * MS);
	wanted.dlid = 13;
	wanted.left = 100;
	victim = fab_source_start(second, &wanted);
	since = flow->arrived;
	for (until = w->now + SECOND; victim->arrived < 100 && w->now < until;)
		pass(w, MS);
	CHECK(flow->arrived - since >= 90 && flow->arrived - since <= 160, true);
	/* Not on another lane. */
	wanted.sl = 1;
	victim = fab_source_start(second, &wanted);
	since = flow->arrived;
	for (until = w->now + SECOND; victim->arrived < 100 && w->now < until;)
		pass(w, MS);
	CHECK(flow->arrived - since <= 2, true);
	CHECK(beside->counters.rcv_pkts, 200);
	end_simulated(w);
}

/* ---- hosts that keep to nothing --------------------------------------------- */

#define HONEST		2
#define HOSTILE	5

/* Each packet of the memory is unused or in a buffer, and each buffer with packets has one turn. */
static void check_switch(struct world *w)
{
	u32 i, j, packets = 0, unused = 0, buffers = 0, turns = 0;
	struct fab_packet *packet;
	struct fab_buffer *buffer;

	for (packet = w->data.unused; packet; packet = packet->next)
		unused++;
	for (i = 0; i <= PORTS; i++)
		for (j = 0; j < SHCA_IB_LANES; j++) {
			struct fab_io *io = port(w, 0, i)->io;

			packets += io->input[j].packets;
			buffers += !!io->input[j].packets;
			for (buffer = io->output[j].head; buffer && turns < 1000; buffer = buffer->next)
				turns++;
			CHECK(io->wanted >> j & 1, !!io->output[j].head);
			if (port(w, 0, i)->edge)
				CHECK(port(w, 0, i)->edge->credits.lane[j].held, io->input[j].packets * SHCA_IB_CHARGE);
		}
	CHECK(packets + unused, w->data.pool_used);
	CHECK(turns, buffers);
}

static void random_bytes(u8 *data, u32 len)
{
	while (len--)
		*data++ = draw(256);
}

/* LIDs of hosts that are not honest, of the switch, of nobody, and of groups. */
static u16 strange_lid(void)
{
	static const u16 lids[] = { 0, 20, 21, 0xc000, 0xc001, 0xc3ff, 0xc400, 0xfffe, 0xffff };
	u32 i = draw(ARRAY_SIZE(lids) + HOSTILE);

	return i < HOSTILE ? HONEST + 1 + i : lids[i - HOSTILE];
}

/* Hellos, frames of credits and what is none, with contents that may be anything. */
static void strange_frame(struct world *w, struct host *host)
{
	u8 frame[FAB_FRAME_MAX], *body = frame + FAB_HEAD;
	struct shca_ib_shim shim = {
		.type = 1 + draw(4),
		.period = draw(256),
		.len = draw(4) ? SHCA_IB_CREDIT_BYTES : draw(FAB_PACKET_MAX),
		.session = draw(8) ? host->phy.session : 1 + draw(4),
	};
	u32 len = FAB_HEAD + shim.len;

	random_bytes(frame, sizeof(frame));
	shca_ib_shim_build(&shim, frame + FAB_ETHER_BYTES);
	if (draw(2))
		put_be32(body + 8, host->edge.phy.session);
	if (shim.type == SHCA_IB_FRAME_CREDITS) {
		body[0] = SHCA_IB_LANES;
		shca_ib_vcrc_put(shca_ib_vcrc(&w->data.vcrc, SHCA_IB_VCRC_SEED, body, SHCA_IB_CREDIT_BYTES - 2),
				 body + SHCA_IB_CREDIT_BYTES - 2);
	}
	if (!draw(4))
		len = FAB_ETHER_BYTES + draw(FAB_PACKET_MAX);
	to_switch(w, host, frame, len);
}

static void strange_mad(struct world *w, struct host *host)
{
	static const u16 attrs[] = { 2, 0x10, 0x11, 0x12, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1b, 0x1d, 0x20, 0xff90 };
	bool directed = draw(2), general = !directed && draw(2);
	u8 mad[FAB_MAD_BYTES];

	random_bytes(mad, sizeof(mad));
	mad[0] = 1;
	mad[MAD_CLASS] = directed ? CLASS_DIRECTED : general ? CLASS_PERF : CLASS_LID_ROUTED;
	mad[2] = 1;
	mad[MAD_METHOD] = draw(4) ? 1 + draw(2) : draw(256);
	put_be16(mad + MAD_STATUS, draw(2) ? 0 : 0x8000);
	put_be16(mad + MAD_ATTR, attrs[draw(ARRAY_SIZE(attrs))]);
	if (draw(2))
		put_be32(mad + MAD_ATTR_MOD, draw(PORTS + 2));
	mad[SMP_HOPS] = draw(66);
	mad[SMP_POINTER] = draw(66);
	if (draw(2)) {
		memset(mad + SMP_SLID, 0xff, 4);
		mad[SMP_HOPS] = draw(3);
		mad[SMP_POINTER] = draw(3);
		mad[SMP_PATH + 2] = HONEST + draw(PORTS);
	}
	send_mad_at_once(w, host, draw(8), strange_lid(), directed && draw(2) ? 0xffff : strange_lid(), general, mad);
}

static void strange_packet(struct world *w, struct host *host)
{
	const struct stamp stamp = { 0 };
	u8 frame[FAB_FRAME_MAX];
	u32 len = make_packet(w, frame + FAB_HEAD, strange_lid(), strange_lid(), draw(16), draw(9), draw(65536),
			      16 + 4 * draw(1000), &stamp);

	send_packet(w, host, frame, len);
}

static void strange_batch(struct world *w, struct host *host)
{
	u32 payload = 16 + 4 * draw(draw(2) ? 20 : 1000), nr = 1 + draw(draw(2) ? 10 : 70);
	static struct batch batch;

	if (nr * (payload + 20) > 60000)
		nr = 10;
	make_batch(w, &batch, host, &w->host[HONEST], draw(16), draw(9), nr, payload, 16 + 4 * draw(payload / 4 - 3));
	put_be16(batch.frame + FAB_HEAD + 2, strange_lid());
	if (!draw(4))
		random_bytes(batch.frame + FAB_HEAD, 8);
	if (!draw(4))
		batch.len = draw(batch.len);
	send_batch(w, host, &batch);
}

/* Honest hosts lose nothing, whatever others at their switch send that have not the manager's key. */
static void hostile(void)
{
	struct world *w = begin(1);
	u64 sent = 0;
	u32 i, round;

	for (i = 1; i <= HONEST + HOSTILE; i++) {
		take_batches(add_host(w, 0, i), TAP_MTU);
		set_route(w, 0, i, i);
	}
	pass(w, 50 * MS);
	w->is_mapped = true;
	w->node[0].sw->life = 0x14;
	port(w, 0, 0)->end.lid = 20;
	port(w, 0, 0)->end.sm_lid = 3;
	port(w, 0, 0)->end.mkey.key = 1;
	port(w, 0, 0)->end.mkey.prot = 2;
	set_route(w, 0, 20, 0);
	w->node[0].sw->mft[0] = 0xf9;
	w->node[0].sw->mft[fab_positions(PORTS)] = 0x98;
	for (round = 0; round < 2000 && !failed; round++) {
		activate(w);
		for (i = HONEST; i < HONEST + HOSTILE && round < 1500; i++) {
			struct host *host = &w->host[i];

			host->first = host->last;
			if (!draw(3))
				strange_frame(w, host);
			else if (!draw(2))
				strange_mad(w, host);
			else if (!draw(2))
				strange_batch(w, host);
			else
				strange_packet(w, host);
		}
		for (i = draw(8); i && round < 1500; i--)
			sent += host_send(w, &w->host[i % 2], &w->host[1 - i % 2], draw(16), 16 + 4 * draw(1000));
		fab_data_run(&w->fabric, w->now);
		CHECK(fab_data_advance(&w->fabric, w->now) > w->now, true);
		for (i = 0; i < HONEST; i++)
			host_run(w, &w->host[i]);
		for (; i < HONEST + HOSTILE; i++)
			w->host[i].first = w->host[i].last;
		check_switch(w);
		w->now += draw(MS / 2);
	}
	CHECK(w->host[0].got + w->host[1].got, sent);
	CHECK(sent > 1000, true);
	end(w);
}

/* ---- batches ---------------------------------------------------------------- */

/* One switch; hosts 0 and 1 take batches at a TAP, 2 takes none, 3 takes batches at a netdev of MTU 9000. */
static struct world *begin_batches(void)
{
	struct world *w = begin(1);
	u32 i;

	for (i = 1; i <= 4; i++) {
		add_host(w, 0, i);
		set_route(w, 0, i, i);
		if (i != 3)
			take_batches(&w->host[i - 1], i == 4 ? 9000 : TAP_MTU);
	}
	pass(w, 50 * MS);
	activate(w);
	for (i = 0; i < 4; i++)
		w->host[i].frames = 0;
	return w;
}

static void end_batches(struct world *w)
{
	pass(w, 400 * MS);
	check_credits(w);
	check_pool(w);
	end(w);
}

/* A batch is one frame where the peer takes it, and packets elsewhere. Counters have packets and words. */
static void batches(void)
{
	struct world *w = begin_batches();
	struct host *host = w->host;
	/* LRH, BTH, payload, ICRC */
	const u32 words = 14 * (8 + 12 + 4096 + 4) / 4 + (8 + 12 + 100 + 4) / 4;
	u32 i;

	CHECK(host_send_batch(w, &host[0], &host[1], 3, 15, 4096, 100), true);
	CHECK(host_send_batch(w, &host[0], &host[2], 3, 15, 4096, 100), true);
	pass(w, MS);
	CHECK(host[1].got, 15);
	CHECK(host[1].frames, 1);
	CHECK(host[1].batches, 1);
	CHECK(host[2].got, 15);
	CHECK(host[2].frames, 15);
	CHECK(host[2].batches, 0);
	CHECK(port(w, 0, 1)->counters.rcv_pkts, 30);
	CHECK(port(w, 0, 1)->counters.rcv_data, 2 * words);
	for (i = 2; i <= 3; i++) {
		CHECK(port(w, 0, i)->counters.xmit_pkts, 15);
		CHECK(port(w, 0, i)->counters.xmit_data, words);
	}
	/* Two packets of 4 KiB fit into an MTU of 9000. */
	CHECK(host_send_batch(w, &host[0], &host[3], 0, 15, 4096, 4096), true);
	pass(w, MS);
	CHECK(host[3].got, 15);
	CHECK(host[3].frames, 8);
	/* One of its own needs no VCRC either. */
	CHECK(host[3].batches, 8);
	end_batches(w);
}

/* What comes packet by packet leaves in one frame if it is next to each other, and of one length. */
static void batches_gather(void)
{
	struct world *w = begin_batches();
	struct host *host = w->host;
	u32 i;

	for (i = 0; i < 61; i++)
		CHECK(host_send(w, &host[2], &host[1], 0, 64), true);
	pass(w, MS);
	CHECK(host[1].got, 61);
	CHECK(host[1].frames, 2);
	CHECK(host[1].batches, 1);
	/* Another service level, source, lane, or a longer one begins a frame, and a shorter one ends it. */
	host[1].frames = 0;
	host_send(w, &host[2], &host[1], 0, 64);
	host_send(w, &host[2], &host[1], 0, 68);
	host_send(w, &host[2], &host[1], 0, 64);
	host_send(w, &host[2], &host[1], 0, 64);
	host_send(w, &host[2], &host[1], 8, 64);
	host_send(w, &host[0], &host[1], 0, 64);
	pass(w, MS);
	CHECK(host[1].got, 67);
	/* 64; 68 and 64; 64 */
	CHECK(host[1].frames, 5);
	CHECK(host[1].batches, 2);
	/* A time between them: they are not kept waiting. */
	host[1].frames = 0;
	for (i = 0; i < 3; i++) {
		host_send(w, &host[2], &host[1], 0, 64);
		fab_data_run(&w->fabric, w->now);
	}
	CHECK(host[1].frames, 3);
	end_batches(w);
}

/* The lane changes: in a batch there is no VCRC to change, and singles have the right one. */
static void batches_change_lanes(void)
{
	static const u8 map[SHCA_IB_SLS / 2] = { 0x25, 0x25, 0x25, 0x25, 0x25, 0x25, 0x25, 0x25 };
	struct world *w = begin_batches();
	struct host *host = w->host;
	u32 i;

	w->is_mapped = true;
	for (i = 2; i <= 4; i++) {
		shca_ib_sl2vl_set(fab_sl2vl(&w->node[0], 1, i), map);
		shca_ib_sl2vl_set(fab_sl2vl(&w->node[0], 3, i), map);
	}
	for (i = 1; i < 4; i++) {
		CHECK(host_send_batch(w, &host[0], &host[i], 1, 10, 256, 16), true);
		CHECK(host_send(w, &host[2], &host[i == 2 ? 3 : i], 1, 512), true);
	}
	pass(w, MS);
	CHECK(host[1].got, 11);
	CHECK(host[2].got, 10);
	CHECK(host[2].frames, 10);
	CHECK(host[3].got, 12);
	/* SL 1 */
	CHECK(host[1].credits.lane[5].abr, 11 * SHCA_IB_CHARGE);
	end_batches(w);
}

/* Faults are by packet: a bad cable loses or damages some of a batch. So is what cannot be sent. */
static void batches_meet_faults(void)
{
	struct world *w = begin_batches();
	struct host *host = w->host;

	w->loses = true;
	w->damages = true;
	port(w, 0, 2)->io->lose_each = 5;
	port(w, 0, 2)->io->damage_each = 3;
	CHECK(host_send_batch(w, &host[0], &host[1], 0, 14, 1024, 1024), true);
	pass(w, MS);
	/* 5 and 10 are lost, 3, 6, 9, 12 damaged */
	CHECK(host[1].got, 8);
	CHECK(host[1].damaged, 4);
	port(w, 0, 2)->io->lose_each = 0;
	port(w, 0, 2)->io->damage_each = 0;
	w->refuses = true;
	CHECK(host_send_batch(w, &host[0], &host[1], 0, 14, 1024, 1024), true);
	pass(w, MS);
	CHECK(errors_of(w, 2, FAB_ERR_DISCARD), 14);
	CHECK(host[1].edge.unsent, 1);
	w->refuses = false;
	end_batches(w);
}

/* Each packet has a PktLen and a PayLen of its own. */
static void batches_with_grh(void)
{
	static struct batch batch;
	struct world *w = begin_batches();
	struct host *host = w->host;
	u8 *lrh = batch.frame + FAB_HEAD;
	u32 i;

	for (i = 1; i < 3; i++) {
		make_batch(w, &batch, &host[0], &host[i], 0, 0, 12, 512, 32);
		memmove(lrh + SHCA_IB_LOWER_MAX, lrh + SHCA_IB_LRH_BYTES, batch.len - SHCA_IB_LRH_BYTES);
		lrh[1] |= 3;
		put_be16(lrh + 4, (SHCA_IB_LOWER_MAX + 12 + 512 + 4) / 4);
		memset(lrh + SHCA_IB_LRH_BYTES, 0, SHCA_IB_GRH_BYTES);
		lrh[8] = 0x60;
		put_be16(lrh + 12, 12 + 512 + 4);
		lrh[14] = 0x1b;
		batch.len += SHCA_IB_GRH_BYTES;
		shca_ib_credits_take(&host[0].credits, 0, 12 * SHCA_IB_CHARGE);
		send_batch(w, &host[0], &batch);
		pass(w, MS);
		CHECK(host[i].got, 12);
		CHECK(host[i].frames, i == 1 ? 1 : 12);
	}
	end_batches(w);
}

struct bad_batch {
	const char *what;
	void (*make)(struct world *w, struct batch *batch);
	bool is_frame;	/* no packet has come */
};

static void batch_is_long(struct world *w, struct batch *batch)
{
	make_batch(w, batch, &w->host[0], &w->host[1], 0, 0, 61, 64, 64);
}

static void batch_ends_early(struct world *w, struct batch *batch)
{
	make_batch(w, batch, &w->host[0], &w->host[1], 0, 0, 3, 64, 64);
	/* 12 of BTH, 3 of ICRC */
	batch->len -= 64 + 4;
}

static void batch_is_odd(struct world *w, struct batch *batch)
{
	make_batch(w, batch, &w->host[0], &w->host[1], 0, 0, 3, 64, 64);
	batch->len -= 2;
}

static void batch_of_management(struct world *w, struct batch *batch)
{
	make_batch(w, batch, &w->host[0], &w->host[1], 0, 15, 3, 64, 64);
}

static void batch_of_no_lane(struct world *w, struct batch *batch)
{
	make_batch(w, batch, &w->host[0], &w->host[1], 0, 9, 3, 64, 64);
}

static void batch_to_a_group(struct world *w, struct batch *batch)
{
	make_batch(w, batch, &w->host[0], &w->host[1], 0, 0, 3, 64, 64);
	put_be16(batch->frame + FAB_HEAD + 2, 0xc000);
}

static void batch_to_all(struct world *w, struct batch *batch)
{
	make_batch(w, batch, &w->host[0], &w->host[1], 0, 0, 3, 64, 64);
	put_be16(batch->frame + FAB_HEAD + 2, 0xffff);
}

static void batch_with_less_than_it_says(struct world *w, struct batch *batch)
{
	make_batch(w, batch, &w->host[0], &w->host[1], 0, 0, 3, 64, 64);
	put_be16(batch->frame + FAB_HEAD + 4, batch->len / 4 + 1);
}

static void batch_of_nothing(struct world *w, struct batch *batch)
{
	make_batch(w, batch, &w->host[0], &w->host[1], 0, 0, 3, 64, 64);
	put_be16(batch->frame + FAB_HEAD + 4, SHCA_IB_LRH_BYTES / 4);
}

static void batch_is_raw(struct world *w, struct batch *batch)
{
	make_batch(w, batch, &w->host[0], &w->host[1], 0, 0, 3, 64, 64);
	batch->frame[FAB_HEAD + 1] &= ~3;
}

static void batch_of_giants(struct world *w, struct batch *batch)
{
	make_batch(w, batch, &w->host[0], &w->host[1], 0, 0, 3, 4000, 4000);
	put_be16(batch->frame + FAB_HEAD + 4, (FAB_PACKET_MAX + 2) / 4);
}

static void batch_is_cut(struct world *w, struct batch *batch)
{
	make_batch(w, batch, &w->host[0], &w->host[1], 0, 0, 1, 64, 64);
	batch->len = SHCA_IB_LRH_BYTES - 1;
}

static void batch_from_who_may_not(struct world *w, struct batch *batch)
{
	make_batch(w, batch, &w->host[0], &w->host[1], 0, 0, 3, 64, 64);
	w->host[0].edge.batch_mtu = 0;
}

/* No packet of a frame that is wrong counts, and nothing of it passes. */
static void batches_broken(void)
{
	static const struct bad_batch rows[] = {
		{ "long", batch_is_long },
		{ "ends_early", batch_ends_early },
		{ "odd", batch_is_odd },
		{ "management", batch_of_management },
		{ "no_lane", batch_of_no_lane },
		{ "group", batch_to_a_group },
		{ "all", batch_to_all },
		{ "less", batch_with_less_than_it_says },
		{ "nothing", batch_of_nothing },
		{ "raw", batch_is_raw },
		{ "giants", batch_of_giants },
		{ "cut", batch_is_cut },
		{ "may_not", batch_from_who_may_not, true },
	};
	static struct batch batch;
	struct world *w;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows) && !failed; i++) {
		w = begin_batches();
		rows[i].make(w, &batch);
		send_batch(w, &w->host[0], &batch);
		pass(w, MS);
		CHECK(errors_of(w, 1, FAB_ERR_RCV), !rows[i].is_frame);
		CHECK(details_of(w, 1, FAB_DETAIL_MALFORMED), !rows[i].is_frame);
		CHECK(w->host[0].edge.bad_frames, rows[i].is_frame);
		CHECK(port(w, 0, 1)->counters.rcv_pkts, 0);
		CHECK(w->host[1].frames, 0);
		if (failed)
			printf("# row %s\n", rows[i].what);
		end_batches(w);
	}
}

/* One that says how many bytes follow, and has fewer; a packet for QP 0 and one of a group that hide behind another. */
static void batches_lie(void)
{
	static struct batch batch;
	struct world *w = begin_batches();
	u32 first, i;

	make_batch(w, &batch, &w->host[0], &w->host[1], 0, 0, 3, 64, 64);
	first = batch.len;
	batch.len += 4;
	send_batch(w, &w->host[0], &batch);
	batch.len = first;
	put_be16(batch.frame + FAB_ETHER_BYTES + 2, first + 1);
	to_switch(w, &w->host[0], batch.frame, FAB_HEAD + first);
	pass(w, MS);
	CHECK(details_of(w, 1, FAB_DETAIL_MALFORMED), 1);
	CHECK(w->host[0].edge.bad_frames, 1);
	/* A packet that is as long as a batch. */
	memset(&batch, 0, sizeof(batch));
	send_packet(w, &w->host[0], batch.frame, 60000);
	CHECK(details_of(w, 1, FAB_DETAIL_PHYSICAL), 1);
	for (i = 0; i < 2; i++) {
		w->host[1].frames = 0;
		w->host[1].batches = 0;
		make_batch(w, &batch, &w->host[0], &w->host[1], 1, 1, 5, 64, 64);
		/* BTH of the third: each has 12, 64, 4 */
		put_be32(batch.frame + FAB_HEAD + SHCA_IB_LRH_BYTES + 2 * 80 + 4, i ? 0xffffff : 0);
		shca_ib_credits_take(&w->host[0].credits, 1, 5 * SHCA_IB_CHARGE);
		send_batch(w, &w->host[0], &batch);
		pass(w, MS);
		/* It leaves alone, and each end checks it as such. */
		CHECK(w->host[1].frames, 3);
		CHECK(w->host[1].batches, 2);
	}
	end_batches(w);
}

/* No memory for all of a batch: the rest is lost, and its credit comes back. */
static void batches_without_memory(void)
{
	struct world *w = begin_batches();

	w->loses = true;
	w->data.pool_nr = w->data.pool_used + 4;
	CHECK(host_send_batch(w, &w->host[0], &w->host[1], 0, 10, 64, 64), true);
	pass(w, MS);
	CHECK(w->host[1].got, 5);
	w->data.pool_nr = POOL;
	end_batches(w);
}

/* ---- adaptive routing ------------------------------------------------------- */

#define SPINES		4
#define SPINE(n)	(2 + (n))	/* number of the switch */
#define UP(n)		(5 + (n))	/* port of a leaf that leads to it */
#define OPCODE_RC	0x04		/* SEND only */
#define OPCODE_XRC	0xa4

static void refuse(struct fab_adaptive *adaptive)
{
	CHECK(adaptive->circle_nr > 0, true);
	world->refusals++;
}

/* Give a fabric what adaptive routing needs. */
static void make_adaptive(struct world *w)
{
	u32 i;

	for (i = 0; i < w->switches; i++) {
		w->nodes[i] = &w->node[i];
		w->node[i].sw->groups = zeros(sizeof(struct fab_groups));
		w->node[i].sw->groups->turns = zeros((w->ports + 1) * sizeof(struct fab_turns));
	}
	w->adaptive.switches = w->nodes;
	w->adaptive.switches_nr = w->switches;
	w->adaptive.flows = zeros(POOL * sizeof(struct fab_flow));
	w->adaptive.refuse = refuse;
	fab_adaptive_init(&w->fabric, &w->adaptive);
}

/* Two leaves with four hosts each, at ports 1 to 4, and four spines. All routes are by the first spine. */
static struct world *begin_spines(void)
{
	struct world *w = begin(2 + SPINES);
	u32 i, lid, leaf;

	for (i = 0; i < SPINES; i++)
		for (leaf = 0; leaf < 2; leaf++)
			fab_join(port(w, leaf, UP(i)), port(w, SPINE(i), 1 + leaf));
	for (i = 0; i < 8; i++)
		add_host(w, i / 4, 1 + i % 4);
	for (lid = 1; lid <= 8; lid++) {
		leaf = (lid - 1) / 4;
		set_route(w, leaf, lid, 1 + (lid - 1) % 4);
		set_route(w, 1 - leaf, lid, UP(0));
		for (i = 0; i < SPINES; i++)
			set_route(w, SPINE(i), lid, 1 + leaf);
	}
	pass(w, 50 * MS);
	activate(w);
	set_hoq(w, 0x14);
	make_adaptive(w);
	return w;
}

/* All cables between switches carry so many bytes a second. */
static void set_rates(struct world *w, u64 bytes)
{
	u32 i, j;

	for (i = 0; i < w->switches; i++)
		for (j = 1; j <= PORTS; j++)
			if (port(w, i, j)->peer)
				port(w, i, j)->io->rate = bytes;
}

/* Host i sends to host 4 + i, as much as there is credit for. */
static void four_flows(struct world *w, u64 ns, u32 payload)
{
	u64 until = w->now + ns;
	u32 i;

	while (w->now < until) {
		for (i = 0; i < 4; i++)
			while (host_send(w, &w->host[i], &w->host[4 + i], 0, payload))
				;
		pass(w, MS / 2);
	}
}

static u64 sent_up(const struct world *w, u32 leaf, u32 spine)
{
	return w->node[leaf].ports[UP(spine)].counters.xmit_pkts;
}

static u64 throughput(enum fab_adaptive_mode mode, u8 opcode)
{
	struct world *w = begin_spines();
	u64 least = ~0ull, packets;
	u32 i;

	w->opcode = opcode;
	w->reorders = mode == FAB_ADAPTIVE_PACKET && opcode;
	set_rates(w, 10000000);
	CHECK(fab_adaptive_set(&w->adaptive, mode), true);
	four_flows(w, 100 * MS, 1024);
	packets = got(w);
	for (i = 0; i < SPINES; i++)
		least = min_t(u64, least, sent_up(w, 0, i));
	/* All spines have their share, or one has all. */
	CHECK(mode ? least * 5 > packets : sent_up(w, 0, 0) >= packets && !sent_up(w, 0, 1), true);
	CHECK(discards(w), 0);
	CHECK(port(w, 0, UP(0))->io->moved > 0, mode != FAB_ADAPTIVE_OFF);
	CHECK(port(w, 0, UP(0))->io->replaced, 0);
	end(w);
	return packets;
}

/* Four flows that the tables send by one of four spines: 2.5 times the throughput. */
static void adaptive_spreads(void)
{
	u64 off = throughput(FAB_ADAPTIVE_OFF, 0);

	/* 100 ms at 1,050 B and 10 MB/s */
	CHECK(off > 900 && off < 1000, true);
	CHECK(throughput(FAB_ADAPTIVE_FLOWLET, 0) * 2 >= off * 5, true);
	CHECK(throughput(FAB_ADAPTIVE_PACKET, 0) * 2 >= off * 5, true);
	CHECK(throughput(FAB_ADAPTIVE_PACKET, OPCODE_RC) * 2 >= off * 5, true);
	CHECK(throughput(FAB_ADAPTIVE_PACKET, OPCODE_XRC) * 2 >= off * 5, true);
}

/* One flow: by packets it takes all spines, and by flowlets one of them, until nothing of it is in the fabric. */
static void adaptive_flows(void)
{
	static const struct {
		enum fab_adaptive_mode mode;
		u8 opcode;
		u32 spines;
	} rows[] = {
		{ FAB_ADAPTIVE_FLOWLET, OPCODE_RC, 1 },
		{ FAB_ADAPTIVE_FLOWLET, 0, 1 },
		{ FAB_ADAPTIVE_PACKET, 0, 1 },
		{ FAB_ADAPTIVE_PACKET, 0x65, 1 },	/* UD */
		{ FAB_ADAPTIVE_PACKET, OPCODE_RC, SPINES },
		{ FAB_ADAPTIVE_PACKET, OPCODE_XRC, SPINES },
		{ FAB_ADAPTIVE_PACKET, 0x84, 1 },	/* no transport of data */
	};
	u32 i, j, n, spines;
	struct world *w;

	for (i = 0; i < ARRAY_SIZE(rows) && !failed; i++) {
		w = begin_spines();
		w->opcode = rows[i].opcode;
		w->reorders = true;
		CHECK(fab_adaptive_set(&w->adaptive, rows[i].mode), true);
		set_rates(w, 1000000);
		for (n = 0; n < 20; n++)
			CHECK(host_send(w, &w->host[0], &w->host[4], 0, 64), true);
		pass(w, 50 * MS);
		for (spines = 0, j = 0; j < SPINES; j++)
			spines += !!sent_up(w, 0, j);
		CHECK(spines, rows[i].spines);
		/* Then it is free: each new one takes the next spine. */
		for (n = 0; n < 4; n++) {
			CHECK(host_send(w, &w->host[0], &w->host[4], 0, 64), true);
			pass(w, 50 * MS);
		}
		for (spines = 0, j = 0; j < SPINES; j++)
			spines += !!sent_up(w, 0, j);
		CHECK(spines, SPINES);
		CHECK(discards(w), 0);
		if (failed)
			printf("# row %u\n", i);
		end(w);
	}
}

/* What makes flows different ones: while none of their packets leaves, each takes its own spine. */
static void adaptive_keys(void)
{
	struct world *w = begin_spines();
	u32 i;

	CHECK(fab_adaptive_set(&w->adaptive, FAB_ADAPTIVE_FLOWLET), true);
	w->loses = true;
	for (i = 0; i < SPINES; i++)
		close_up(&w->host[4 + i]);
	/* QP, SL, DLID, and SLID: the next ones lie in the buffers of other inputs. */
	CHECK(host_send(w, &w->host[0], &w->host[4], 0, 64), true);
	fab_data_run(&w->fabric, w->now);
	w->qp = -1;
	CHECK(host_send(w, &w->host[0], &w->host[4], 0, 64), true);
	w->qp = 0;
	fab_data_run(&w->fabric, w->now);
	CHECK(host_send(w, &w->host[0], &w->host[4], 1, 64), true);
	fab_data_run(&w->fabric, w->now);
	CHECK(host_send(w, &w->host[0], &w->host[5], 0, 64), true);
	fab_data_run(&w->fabric, w->now);
	for (i = 0; i < SPINES; i++)
		CHECK(sent_up(w, 0, i), 1);
	/* The same ones again take the same ways. */
	CHECK(host_send(w, &w->host[0], &w->host[4], 1, 64), true);
	CHECK(host_send(w, &w->host[0], &w->host[5], 0, 64), true);
	CHECK(host_send(w, &w->host[0], &w->host[4], 0, 64), true);
	w->qp = -1;
	CHECK(host_send(w, &w->host[0], &w->host[4], 0, 64), true);
	w->qp = 0;
	fab_data_run(&w->fabric, w->now);
	for (i = 0; i < SPINES; i++)
		CHECK(sent_up(w, 0, i), 2);
	/* Another sender is another flow. */
	for (i = SPINES; i--;)
		CHECK(host_send(w, &w->host[1], &w->host[4 + i], 0, 64), true);
	fab_data_run(&w->fabric, w->now);
	for (i = 0; i < SPINES; i++)
		CHECK(sent_up(w, 0, i), 3);
	end(w);
}

/* The port at which least waits: what waits in this switch, and what is in the buffer behind it. */
static void adaptive_least(void)
{
	struct world *w = begin_spines();
	u32 i;

	w->reorders = true;
	w->opcode = OPCODE_RC;
	CHECK(fab_adaptive_set(&w->adaptive, FAB_ADAPTIVE_PACKET), true);
	/* Of three spines nothing goes on. */
	for (i = 0; i < 3; i++)
		port(w, SPINE(i), 2)->io->busy = ~0ull;
	for (i = 0; i < 3; i++)
		port(w, SPINE(i), 2)->io->rate = 1;
	for (i = 0; i < 40; i++) {
		CHECK(host_send(w, &w->host[0], &w->host[4], 3, 64), true);
		pass(w, MS);
	}
	for (i = 0; i < 3; i++)
		CHECK(sent_up(w, 0, i) <= 1, true);
	CHECK(sent_up(w, 0, 3) >= 37, true);
	/* Behind the fourth one waits more now: the next ones take others. */
	port(w, SPINE(3), 2)->io->rate = 1;
	port(w, SPINE(3), 2)->io->busy = ~0ull;
	for (i = 0; i < 40; i++) {
		CHECK(host_send(w, &w->host[0], &w->host[4], 3, 64), true);
		pass(w, MS);
	}
	for (i = 0; i < SPINES; i++)
		CHECK(port(w, SPINE(i), 1)->io->input[3].packets >= 10, true);
	end(w);
	/* In this switch: one cable carries nothing. */
	w = begin_spines();
	w->reorders = true;
	w->opcode = OPCODE_RC;
	CHECK(fab_adaptive_set(&w->adaptive, FAB_ADAPTIVE_PACKET), true);
	port(w, 0, UP(2))->io->rate = 1;
	port(w, 0, UP(2))->io->busy = ~0ull;
	for (i = 0; i < 12; i++) {
		CHECK(host_send(w, &w->host[i % 4], &w->host[4], i / 4, 64), true);
		pass(w, MS);
	}
	CHECK(w->host[4].got >= 11, true);
	CHECK(sent_up(w, 0, 2), 0);
	end(w);
}

static u64 plays(bool has, bool was_on)
{
	struct world *w = begin_spines();
	u64 sum;
	u32 i;

	if (!has)
		w->data.adaptive = NULL;
	if (was_on) {
		CHECK(fab_adaptive_set(&w->adaptive, FAB_ADAPTIVE_PACKET), true);
		CHECK(fab_adaptive_set(&w->adaptive, FAB_ADAPTIVE_OFF), true);
	}
	set_rates(w, 10000000);
	random_state = 7;
	w->digest = 0;
	for (i = 0; i < 100; i++) {
		host_send(w, &w->host[draw(4)], &w->host[4 + draw(4)], draw(16), 16 + 4 * draw(1000));
		host_send(w, &w->host[4 + draw(4)], &w->host[draw(4)], draw(16), 16 + 4 * draw(1000));
		pass(w, MS / 2);
	}
	CHECK(got(w) > 100, true);
	sum = w->digest;
	end(w);
	return sum;
}

/* Switched off, not a byte is another one. */
static void adaptive_off(void)
{
	u64 without = plays(false, false);

	CHECK(plays(true, false), without);
	CHECK(plays(true, true), without);
}

/* A group of hosts goes by its table: ports 5 of both leaves. So does subnet management. */
static void adaptive_never(void)
{
	static const struct one one = { 0xc001, 0, 0, PKEY, 64 };
	struct world *w = begin_spines();
	u8 mad[FAB_MAD_BYTES] = { 1, CLASS_LID_ROUTED, 1, METHOD_GET };
	u32 positions = fab_positions(PORTS), i;

	CHECK(fab_adaptive_set(&w->adaptive, FAB_ADAPTIVE_FLOWLET), true);
	w->loses = true;
	w->node[0].sw->mft[positions] = 1 << 1 | 1 << UP(0);
	w->node[1].sw->mft[positions] = 1 << 1 | 1 << UP(0);
	w->node[SPINE(0)].sw->mft[positions] = 0x6;
	for (i = 0; i < 8; i++)
		send_one(w, &one);
	CHECK(sent_up(w, 0, 0), 8);
	CHECK(w->host[4].got, 8);
	put_be16(mad + MAD_ATTR, ATTR_NODE_INFO);
	for (i = 0; i < 8; i++)
		send_mad(w, 1, 5, 0, mad);
	CHECK(w->host[4].mads, 8);
	CHECK(sent_up(w, 0, 0), 16);
	/* Nor has the LID of a switch a group: datagrams for it go by the table. */
	port(w, 1, 0)->end.lid = 20;
	for (i = 0; i < SPINES; i++)
		set_route(w, SPINE(i), 20, 2);
	set_route(w, 0, 20, UP(0));
	set_route(w, 1, 20, 0);
	CHECK(fab_adaptive_set(&w->adaptive, FAB_ADAPTIVE_FLOWLET), true);
	mad[MAD_CLASS] = CLASS_PERF;
	put_be16(mad + MAD_ATTR, 0x12);
	mad[SMP_DATA + 1] = 1;
	for (i = 0; i < 8; i++)
		send_mad(w, 1, 20, 1, mad);
	CHECK(w->host[0].mads, 8);
	CHECK(sent_up(w, 0, 0), 24);
	/* Its answers are data: they take all spines. */
	for (i = 0; i < SPINES; i++)
		CHECK(sent_up(w, 1, i), 2);
	end(w);
}

/* Other ports that do not take a packet: too short an MTU, no lane, a P_Key, an input. The table's port takes it. */
static void adaptive_fits(void)
{
	static const u8 no_lane[SHCA_IB_SLS / 2] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	struct world *w = begin_spines();
	u32 i;

	CHECK(fab_adaptive_set(&w->adaptive, FAB_ADAPTIVE_FLOWLET), true);
	port(w, 0, UP(1))->neighbor_mtu = 1;
	shca_ib_sl2vl_set(fab_sl2vl(&w->node[0], 1, UP(2)), no_lane);
	port(w, 0, UP(3))->filters = FAB_FILTER_PKEY_OUT;
	port(w, 0, UP(3))->pkeys[0] = 0x8001;
	for (i = 0; i < 8; i++) {
		CHECK(host_send(w, &w->host[0], &w->host[4], 0, 512), true);
		pass(w, MS);
	}
	CHECK(sent_up(w, 0, 0), 8);
	CHECK(w->host[4].got, 8);
	/* A short one may take two of them. */
	for (i = 0; i < 8; i++) {
		CHECK(host_send(w, &w->host[0], &w->host[4], 0, 256), true);
		pass(w, MS);
	}
	CHECK(sent_up(w, 0, 0), 12);
	CHECK(sent_up(w, 0, 1), 4);
	CHECK(port(w, 0, UP(0))->io->moved, 4);
	CHECK(discards(w), 0);
	CHECK(port(w, 0, UP(3))->counters.error[FAB_ERR_XMIT_CONSTRAINT], 0);
	/* If none takes it, the table's port says why. */
	port(w, 0, UP(0))->neighbor_mtu = 1;
	w->loses = true;
	CHECK(host_send(w, &w->host[0], &w->host[4], 0, 512), true);
	pass(w, MS);
	CHECK(port(w, 0, UP(0))->counters.detail[FAB_DETAIL_MTU], 1);
	end(w);
}

/* A cable is pulled out, at this switch or beyond it: what was queued is lost, and nothing else, before a manager acts. */
static void adaptive_dead(void)
{
	struct world *w = begin_spines();
	u64 sent, queued, lost;
	u32 i, round;

	CHECK(fab_adaptive_set(&w->adaptive, FAB_ADAPTIVE_FLOWLET), true);
	w->loses = true;
	w->reorders = true;
	set_rates(w, 10000000);
	four_flows(w, 20 * MS, 1024);
	for (queued = 0, i = 1; i <= 4; i++)
		queued += port(w, 0, i)->io->input[0].packets;
	fab_cut(port(w, 0, UP(0)), true, w->now);
	for (round = 0; round < 100; round++) {
		for (i = 0; i < 4; i++) {
			host_send(w, &w->host[i], &w->host[4 + i], 0, 1024);
			host_send(w, &w->host[4 + i], &w->host[i], 0, 64);
		}
		pass(w, MS);
	}
	pass(w, 500 * MS);
	for (sent = 0, i = 0; i < 8; i++)
		sent += w->host[i].sent;
	lost = sent - got(w);
	CHECK(lost <= queued, true);
	CHECK(lost <= discards(w), true);
	CHECK(port(w, 0, UP(0))->io->replaced > 100 && port(w, 0, UP(0))->io->replaced <= 400, true);
	/* The other leaf's own cable is good: the spine behind it has no way. */
	CHECK(port(w, 1, UP(0))->state, SHCA_IB_STATE_ACTIVE);
	CHECK(port(w, 1, UP(0))->io->replaced >= 400, true);
	CHECK(port(w, SPINE(0), 1)->counters.detail[FAB_DETAIL_INACTIVE] <= queued, true);
	/* Without it, each packet is lost until the manager acts. */
	CHECK(fab_adaptive_set(&w->adaptive, FAB_ADAPTIVE_OFF), true);
	sent = got(w);
	for (i = 0; i < 10; i++) {
		CHECK(host_send(w, &w->host[0], &w->host[4], 0, 64), true);
		CHECK(host_send(w, &w->host[4], &w->host[0], 0, 64), true);
		pass(w, MS);
	}
	CHECK(got(w), sent);
	/* All ways are dead: the table's port counts it. */
	CHECK(fab_adaptive_set(&w->adaptive, FAB_ADAPTIVE_FLOWLET), true);
	for (i = 1; i < SPINES; i++)
		fab_cut(port(w, SPINE(i), 2), true, w->now);
	lost = port(w, 0, UP(0))->counters.detail[FAB_DETAIL_INACTIVE];
	CHECK(host_send(w, &w->host[0], &w->host[4], 0, 64), true);
	pass(w, MS);
	CHECK(port(w, 0, UP(0))->counters.detail[FAB_DETAIL_INACTIVE], lost + 1);
	/* Mended, it is used again. */
	fab_cut(port(w, SPINE(2), 2), false, w->now);
	activate(w);
	CHECK(host_send(w, &w->host[0], &w->host[4], 0, 64), true);
	pass(w, MS);
	CHECK(got(w), sent + 1);
	end(w);
}

/* Rings are refused, by their tables alone, or by what groups add. The ports of the circle are named. */
static void adaptive_refused(void)
{
	/* A square whose tables have no circle: to the other corner, 0 and 2 go by 1, 1 and 3 by 0. */
	static const u8 out[4][4] = { { 3, 1, 1, 2 }, { 2, 3, 1, 2 }, { 2, 2, 3, 1 }, { 1, 1, 2, 3 } };
	struct world *w = begin_ring();
	u32 i, j;

	make_adaptive(w);
	CHECK(fab_adaptive_set(&w->adaptive, FAB_ADAPTIVE_FLOWLET), false);
	CHECK(w->adaptive.circle_nr, RING);
	for (i = 0; i < RING; i++) {
		/* All in one direction. From the last one on, each is the one before. */
		CHECK(w->adaptive.circle[i]->number, w->adaptive.circle[0]->number);
		j = (i + 1) % RING;
		CHECK(w->adaptive.circle[j]->peer->node == w->adaptive.circle[i]->node, true);
	}
	CHECK(w->adaptive.mode, FAB_ADAPTIVE_OFF);
	CHECK(fab_adaptive_set(&w->adaptive, FAB_ADAPTIVE_OFF), true);
	end(w);
	w = begin(4);
	for (i = 0; i < 4; i++)
		fab_join(port(w, i, 1), port(w, (i + 1) % 4, 2));
	for (i = 0; i < 4; i++) {
		add_host(w, i, 3);
		for (j = 0; j < 4; j++)
			set_route(w, i, j + 1, out[i][j]);
	}
	pass(w, 50 * MS);
	activate(w);
	for (i = 0; i < 4; i++)
		for (j = 0; j < 4; j++)
			if (i != j)
				CHECK(host_send(w, &w->host[i], &w->host[j], 0, 64), true);
	pass(w, 2 * MS);
	CHECK(got(w), 12);
	make_adaptive(w);
	CHECK(fab_adaptive_set(&w->adaptive, FAB_ADAPTIVE_FLOWLET), false);
	CHECK(w->adaptive.circle_nr, 4);
	/* Without its last cable there is one way for each. */
	for (i = 0; i < 4; i++)
		for (j = 0; j < 4; j++)
			if (i != j)
				set_route(w, i, j + 1, j > i ? 1 : 2);
	fab_part(port(w, 3, 1));
	CHECK(fab_adaptive_set(&w->adaptive, FAB_ADAPTIVE_FLOWLET), true);
	CHECK(w->adaptive.circle_nr, 0);
	end(w);
}

/* Tables that lead round in a circle, to nobody, or away from a host that is there have no groups. */
static void adaptive_astray(void)
{
	struct world *w = begin_spines();
	u32 i;

	w->loses = true;
	/* LID 5 from the second spine: back to the first leaf, which sends it to the second spine. */
	set_route(w, SPINE(1), 5, 1);
	w->node[SPINE(2)].sw->lft_top = 4;
	set_route(w, SPINE(3), 5, 99);
	set_route(w, 0, 6, UP(1));
	set_route(w, SPINE(1), 6, 1);
	CHECK(fab_adaptive_set(&w->adaptive, FAB_ADAPTIVE_FLOWLET), false);
	set_route(w, SPINE(1), 5, 8);
	set_route(w, SPINE(1), 6, 8);
	CHECK(fab_adaptive_set(&w->adaptive, FAB_ADAPTIVE_FLOWLET), true);
	for (i = 0; i < 8; i++) {
		CHECK(host_send(w, &w->host[0], &w->host[4], 0, 64), true);
		pass(w, MS);
	}
	CHECK(w->host[4].got, 8);
	CHECK(sent_up(w, 0, 0), 8);
	/* The table has no way for LID 6, so there is none, whatever other spines have. */
	CHECK(host_send(w, &w->host[0], &w->host[5], 0, 64), true);
	pass(w, MS);
	CHECK(w->host[5].got, 0);
	/*
	 * Spines that have lost their cable send down to a leaf that sends up again. Packets of hosts do not come
	 * there, so the circle is none.
	 */
	set_route(w, 0, 5, UP(1));
	set_route(w, SPINE(1), 5, 2);
	set_route(w, SPINE(0), 5, 1);
	set_route(w, 1, 1, UP(0));
	set_route(w, SPINE(1), 1, 2);
	CHECK(fab_adaptive_set(&w->adaptive, FAB_ADAPTIVE_FLOWLET), true);
	CHECK(host_send(w, &w->host[0], &w->host[4], 0, 64), true);
	pass(w, MS);
	CHECK(w->host[4].got, 9);
	/* LIDs above the top have none. */
	w->node[0].sw->lft_top = 4;
	CHECK(fab_adaptive_set(&w->adaptive, FAB_ADAPTIVE_FLOWLET), true);
	CHECK(host_send(w, &w->host[0], &w->host[4], 0, 64), true);
	pass(w, MS);
	CHECK(w->host[4].got, 9);
	end(w);
}

/* A circle of switches 1 to 5, into which hosts of switch 0 send: it is found from there, and gone with the tables. */
static void adaptive_lead_in(void)
{
	/* (the highest ports of 70) */
	enum { NEXT = 68, BEFORE = 69, LAST = 70 };
	struct world *w = begin_ports(6, LAST);
	u32 i, j;

	fab_join(port(w, 0, 1), port(w, 1, 1));
	for (i = 0; i < RING; i++)
		fab_join(port(w, 1 + i, NEXT), port(w, 1 + (i + 1) % RING, BEFORE));
	for (i = 0; i <= RING; i++)
		add_host(w, i, i == 3 ? 2 : LAST);
	for (i = 0; i <= RING; i++)
		for (j = 0; j <= RING; j++)
			set_route(w, i, j + 1, i == j ? port(w, i, 2)->edge ? 2 : LAST : !i || (!j && i == 1) ? 1 : !j ? BEFORE :
				  (j - i + RING) % RING <= 2 ? NEXT : BEFORE);
	make_adaptive(w);
	CHECK(fab_adaptive_set(&w->adaptive, FAB_ADAPTIVE_FLOWLET), false);
	CHECK(w->adaptive.circle_nr, RING);
	/* One way without the first cable: no circle. */
	for (i = 1; i <= RING; i++)
		for (j = 1; j <= RING; j++)
			if (i != j)
				set_route(w, i, j + 1, j > i ? NEXT : BEFORE);
	CHECK(fab_adaptive_set(&w->adaptive, FAB_ADAPTIVE_FLOWLET), true);
	end(w);
}

/* A circle with more ports than have names. Hosts at four switches of 18 send a third of the way round, and more. */
static void adaptive_long_circle(void)
{
	static const u8 at[] = { 0, 3, 9, 12 };
	enum { LONG = 18 };
	struct world *w = begin(LONG);
	u32 i, j;

	for (i = 0; i < LONG; i++)
		fab_join(port(w, i, 1), port(w, (i + 1) % LONG, 2));
	for (j = 0; j < ARRAY_SIZE(at); j++) {
		add_host(w, at[j], 3);
		for (i = 0; i < LONG; i++)
			set_route(w, i, j + 1, i == at[j] ? 3 : 1);
	}
	make_adaptive(w);
	CHECK(fab_adaptive_set(&w->adaptive, FAB_ADAPTIVE_FLOWLET), false);
	CHECK(w->adaptive.circle_nr, LONG);
	end(w);
}

/* Ten switches in a row with two cables each between them: more choices than a flow can have. */
static void adaptive_row(void)
{
	enum { ROW = 10 };
	struct world *w = begin(ROW);
	u32 i, cable;

	for (i = 0; i + 1 < ROW; i++)
		for (cable = 0; cable < 2; cable++)
			fab_join(port(w, i, 1 + cable), port(w, i + 1, 3 + cable));
	add_host(w, 0, 5);
	add_host(w, ROW - 1, 5);
	for (i = 0; i < ROW; i++) {
		set_route(w, i, 1, i ? 3 : 5);
		set_route(w, i, 2, i < ROW - 1 ? 1 : 5);
	}
	pass(w, 50 * MS);
	activate(w);
	make_adaptive(w);
	CHECK(fab_adaptive_set(&w->adaptive, FAB_ADAPTIVE_FLOWLET), true);
	for (i = 0; i < 8; i++) {
		CHECK(host_send(w, &w->host[0], &w->host[1], 0, 64), true);
		CHECK(host_send(w, &w->host[1], &w->host[0], 0, 64), true);
		pass(w, MS);
	}
	CHECK(w->host[0].got, 8);
	CHECK(w->host[1].got, 8);
	CHECK(port(w, 0, 1)->counters.xmit_pkts, 4);
	CHECK(port(w, 0, 2)->counters.xmit_pkts, 4);
	/* The last one with a choice has none for this flow. */
	CHECK(port(w, ROW - 2, 1)->counters.xmit_pkts, 8);
	/* One of two cables is dead: those before it lead there as before. */
	fab_cut(port(w, 5, 1), true, w->now);
	for (i = 0; i < 8; i++) {
		CHECK(host_send(w, &w->host[0], &w->host[1], 0, 64), true);
		pass(w, MS);
	}
	CHECK(w->host[1].got, 16);
	CHECK(port(w, 4, 1)->counters.xmit_pkts, 8);
	CHECK(port(w, 4, 2)->counters.xmit_pkts, 8);
	CHECK(port(w, 4, 1)->io->replaced, 0);
	end(w);
}

/* Where there is no choice, there are no flows. */
static void adaptive_no_choice(void)
{
	struct world *w = begin_two();

	make_adaptive(w);
	CHECK(fab_adaptive_set(&w->adaptive, FAB_ADAPTIVE_FLOWLET), true);
	CHECK(host_send(w, &w->host[0], &w->host[1], 0, 64), true);
	CHECK(host_send(w, &w->host[1], &w->host[0], 0, 64), true);
	pass(w, MS);
	CHECK(got(w), 2);
	CHECK(w->adaptive.flows_used, 0);
	end(w);
}

static void set_lft(struct world *w, u32 sw, u16 lid, u8 out)
{
	u8 mad[FAB_MAD_BYTES] = { 1, CLASS_LID_ROUTED, 1, METHOD_SET };
	struct fab_mad to = { .data = mad, .slid = 50, .dlid = 50 };
	u32 i;

	port(w, sw, 0)->end.lid = 50;
	put_be16(mad + MAD_ATTR, ATTR_LFT);
	for (i = 0; i < 64; i++)
		mad[SMP_DATA + i] = fab_lft_get(w->node[sw].sw, i);
	mad[SMP_DATA + lid] = out;
	CHECK(fab_send(port(w, sw, 0), &to, w->now), FAB_ANSWERED);
}

static void set_top(struct world *w, u32 sw, u16 top)
{
	u8 mad[FAB_MAD_BYTES] = { 1, CLASS_LID_ROUTED, 1, METHOD_SET };
	struct fab_mad to = { .data = mad, .slid = 50, .dlid = 50 };

	port(w, sw, 0)->end.lid = 50;
	put_be16(mad + MAD_ATTR, ATTR_SWITCH_INFO);
	put_be16(mad + SMP_DATA + 6, top);
	CHECK(fab_send(port(w, sw, 0), &to, w->now), FAB_ANSWERED);
}

/* Packets of host 0 to host 4, one after the other. Return: spines that had some. */
static u32 spines_used(struct world *w)
{
	u64 before[SPINES];
	u32 i, used = 0;

	for (i = 0; i < SPINES; i++)
		before[i] = sent_up(w, 0, i);
	for (i = 0; i < 8; i++) {
		CHECK(host_send(w, &w->host[0], &w->host[4], 0, 64), true);
		pass(w, MS);
	}
	for (i = 0; i < SPINES; i++)
		used += sent_up(w, 0, i) > before[i];
	return used;
}

/* A manager changes tables: until they have been the same for 100 ms, packets go by them. Then it is as with new ones. */
static void adaptive_tables(void)
{
	struct world *w = begin_spines();

	/* (switched off, a change means nothing) */
	set_lft(w, 0, 5, UP(0));
	set_lft(w, 0, 6, UP(1));
	CHECK(w->adaptive.due, ~0ull);
	CHECK(fab_adaptive_set(&w->adaptive, FAB_ADAPTIVE_FLOWLET), true);
	CHECK(spines_used(w), 4);
	set_lft(w, 0, 5, UP(0));
	CHECK(spines_used(w), 4);
	set_lft(w, 0, 5, UP(2));
	CHECK(spines_used(w), 1);
	pass(w, 80 * MS);
	set_lft(w, 0, 5, UP(1));
	pass(w, 80 * MS);
	CHECK(spines_used(w), 1);
	pass(w, 20 * MS);
	CHECK(spines_used(w), 4);
	set_top(w, 0, w->node[0].sw->lft_top);
	CHECK(spines_used(w), 4);
	set_top(w, 0, 90);
	CHECK(spines_used(w), 1);
	pass(w, 100 * MS);
	CHECK(spines_used(w), 4);
	/* The highest LID of a table is one of it. */
	set_top(w, 1, 5);
	pass(w, 99 * MS);
	/* What is due is done once. */
	w->now += 2 * MS;
	fab_data_advance(&w->fabric, w->now);
	CHECK(fab_data_advance(&w->fabric, w->now) > w->now + MS / 10, true);
	CHECK(spines_used(w), 4);
	CHECK(w->refusals, 0);
	set_top(w, 1, 90);
	/* The spine sends a LID back to the leaf, and the leaf to the spine: a circle, and off. */
	w->loses = true;
	set_lft(w, 0, 8, UP(1));
	set_lft(w, SPINE(1), 8, 1);
	pass(w, 200 * MS);
	CHECK(w->refusals, 1);
	CHECK(spines_used(w), 1);
	/* Who has switched it off hears nothing of it. */
	set_lft(w, 0, 8, UP(2));
	CHECK(fab_adaptive_set(&w->adaptive, FAB_ADAPTIVE_FLOWLET), true);
	set_lft(w, 0, 8, UP(1));
	CHECK(fab_adaptive_set(&w->adaptive, FAB_ADAPTIVE_OFF), true);
	pass(w, 200 * MS);
	CHECK(w->refusals, 1);
	end(w);
	w = begin_ring();
	make_adaptive(w);
	set_route(w, 0, 3, 255);
	set_route(w, 4, 3, 255);
	CHECK(fab_adaptive_set(&w->adaptive, FAB_ADAPTIVE_FLOWLET), true);
	CHECK(w->refusals, 0);
	set_lft(w, 0, 3, 1);
	pass(w, 200 * MS);
	CHECK(w->refusals, 1);
	CHECK(w->adaptive.works, FAB_ADAPTIVE_OFF);
	/* The manager takes the circle away. */
	set_lft(w, 0, 3, 255);
	pass(w, 200 * MS);
	CHECK(w->refusals, 1);
	CHECK(w->adaptive.works, FAB_ADAPTIVE_FLOWLET);
	end(w);
}

/* Head-of-line blocking: the victim stops behind packets that wait, unless it has another lane. */
static void head_of_line(void)
{
	u64 same = victim(0), other = victim(1);

	CHECK(same < 300, true);
	CHECK(other > 10 * same, true);
}

/* ---- congestion control ----------------------------------------------------- */

#define PACKETS_MARKED	40
#define BIG		1024	/* bytes of data; a packet of 1,050 from LRH to VCRC */

/* A cable that is slower than what comes: @nr packets wait for it. Return: how many of them have a mark. */
static u32 marks(struct fab_cong_port setting, u32 nr, u8 sl)
{
	struct world *w = begin_one();
	u32 i, marked;

	port(w, 0, 2)->io->rate = 10000000;
	w->node[0].sw->cong.port[2] = setting;
	for (i = 0; i < nr; i++)
		CHECK(host_send(w, &w->host[0], &w->host[1], sl, BIG), true);
	pass(w, 20 * MS);
	CHECK(w->host[1].got, nr);
	marked = w->host[1].marked;
	CHECK(port(w, 0, 2)->io->marked, marked);
	CHECK(w->node[0].sw->cong.events, marked);
	end(w);
	return marked;
}

/*
 * A threshold of n is 16 - n sixteenths of 60 packets, which have to wait behind the packet that is
 * marked: of 40 packets that come at once, the first n have more behind them.
 */
static void marks_by_threshold(void)
{
	static const struct {
		u8 threshold;
		u32 packets;
		u32 marked;
	} rows[] = {
		{ 0, 60, 0 }, { 1, 56, 0 }, { 1, 57, 0 }, { 1, 58, 1 }, { 1, 60, 3 }, { 4, 45, 0 }, { 4, 46, 0 }, { 4, 47, 1 },
		{ 8, 40, 9 }, { 15, 40, 36 }, { 15, 4, 0 }, { 15, 5, 1 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK(marks((struct fab_cong_port){ .threshold = rows[i].threshold }, rows[i].packets, 0), rows[i].marked);
	CHECK(marks((struct fab_cong_port){ .threshold = 8 }, PACKETS_MARKED, 5), 9);
	/* Marking_Rate: so many lie between two. */
	CHECK(marks((struct fab_cong_port){ .threshold = 8, .rate = 1 }, PACKETS_MARKED, 0), 5);
	CHECK(marks((struct fab_cong_port){ .threshold = 8, .rate = 2 }, PACKETS_MARKED, 0), 3);
	CHECK(marks((struct fab_cong_port){ .threshold = 8, .rate = 0xffff }, PACKETS_MARKED, 0), 1);
	/* Packet_Size, in blocks of 64 bytes: 1,050 bytes are more than 16 of them. */
	CHECK(marks((struct fab_cong_port){ .threshold = 8, .size = 16 }, PACKETS_MARKED, 0), 9);
	CHECK(marks((struct fab_cong_port){ .threshold = 8, .size = 17 }, PACKETS_MARKED, 0), 0);
}

/* A queue is one of an output and a lane: neither other lanes nor other outputs, whose packets wait in the same buffers. */
static void marks_one_queue(void)
{
	struct world *w = begin_one();
	u32 i;

	set_thresholds(w, 8);
	port(w, 0, 2)->io->rate = 10000000;
	for (i = 0; i < PACKETS_MARKED; i++)
		CHECK(host_send(w, &w->host[0], &w->host[1], 0, BIG), true);
	for (i = 0; i < 20; i++) {
		CHECK(host_send(w, &w->host[0], &w->host[2], 0, BIG), true);
		CHECK(host_send(w, &w->host[0], &w->host[1], 1, BIG), true);
		CHECK(host_send(w, &w->host[2], &w->host[0], 0, BIG), true);
	}
	pass(w, 20 * MS);
	CHECK(w->host[1].got, PACKETS_MARKED + 20);
	CHECK(w->host[1].marked, 9);
	CHECK(w->host[1].marked_sl, 1);	/* of SL 0 only */
	CHECK(w->host[2].got, 20);
	CHECK(w->host[2].marked, 0);
	CHECK(w->host[0].marked, 0);
	/* A group's packets have no mark. */
	w->node[0].sw->mft[0] = 1 << 2;
	w->host[1].marked = 0;
	w->host[1].lid = 0xc000;
	for (i = 0; i < PACKETS_MARKED; i++)
		CHECK(host_send(w, &w->host[0], &w->host[1], 0, BIG), true);
	pass(w, 20 * MS);
	CHECK(w->host[1].got, 2 * PACKETS_MARKED + 20);
	CHECK(w->host[1].marked, 0);
	end(w);
}

/* The log has the last 15 packets with a mark, and begins anew when it was read. */
static void marks_in_log(void)
{
	struct world *w = begin_one();
	u8 mad[FAB_MAD_BYTES] = { 1, 0x21, 2, METHOD_GET }, *got = w->host[0].mad + MAD_AT;
	u64 before;
	u32 i;

	w->node[0].ports[0].end.lid = 20;
	set_route(w, 0, 20, 0);
	/* SwitchCongestionSetting: Threshold 8, by a packet as OpenSM sends it */
	mad[MAD_METHOD] = METHOD_SET;
	put_be16(mad + MAD_ATTR, 0x14);
	mad[64 + 3] = 4;
	mad[64 + 68] = 0x80;
	send_mad(w, 1, 20, 1, mad);
	CHECK(w->host[0].mads, 1);
	CHECK(got[MAD_METHOD], 0x81);
	CHECK(get_be16(got + MAD_STATUS), 0);
	CHECK(got[64 + 68], 0x80);
	port(w, 0, 2)->io->rate = 10000000;
	before = w->now;
	for (i = 0; i < 50; i++)
		CHECK(host_send(w, &w->host[0], &w->host[1], 3, BIG), true);
	pass(w, 20 * MS);
	CHECK(w->host[1].marked, 19);
	memset(mad + 32, 0, sizeof(mad) - 32);
	mad[MAD_METHOD] = METHOD_GET;
	put_be16(mad + MAD_ATTR, 0x13);
	send_mad(w, 1, 20, 1, mad);
	CHECK(w->host[0].mads, 2);
	CHECK(get_be32(got + 32), 0x01010000 + 19);
	for (i = 0; i < 32; i++)
		CHECK(got[40 + i], i == 31 ? 1 << 2 : 0);
	for (i = 0; i < 15; i++) {
		CHECK(get_be32(got + 72 + 12 * i), 0x00010002);
		CHECK(get_be32(got + 76 + 12 * i), 0x30000000);
		CHECK(get_be32(got + 80 + 12 * i) >= (u32)(before >> 10) && get_be32(got + 80 + 12 * i) <= get_be32(got + 36), true);
	}
	send_mad(w, 1, 20, 1, mad);
	CHECK(get_be32(got + 32), 0x01010000);
	CHECK(got[40 + 31], 0);
	CHECK(get_be32(got + 72), 0);
	/* With a wrong CC_Key there is no answer. */
	w->node[0].cong.key = 5;
	send_mad(w, 1, 20, 1, mad);
	CHECK(w->host[0].mads, 3);
	CHECK(w->node[0].cong.violations, 1);
	put_be64(mad + 24, 5);
	send_mad(w, 1, 20, 1, mad);
	CHECK(w->host[0].mads, 4);
	end(w);
}

/*
 * The root of congestion marks: port 2 of the second switch, whose cable is slow. Port 5 of the first has as
 * long a queue, since it waits for credit. With its bit in Victim_Mask it marks, too.
 */
static void marks_at_the_root(void)
{
	u32 with_mask, i;
	struct world *w;

	for (with_mask = 0; with_mask < 2; with_mask++) {
		w = begin_two();
		set_thresholds(w, 8);
		if (with_mask)
			w->node[0].sw->cong.setting[4 + 31] = 1 << 5;
		port(w, 1, 2)->io->rate = 2000000;
		for (i = 0; i < 600; i++) {
			host_send(w, &w->host[0], &w->host[1], 0, BIG);
			pass(w, MS / 10);
		}
		CHECK(port(w, 0, 5)->io->output[0].queued > 100, true);
		CHECK(port(w, 1, 2)->io->marked > 50, true);
		CHECK(port(w, 0, 5)->io->marked > 20, with_mask);
		CHECK(with_mask || !port(w, 0, 5)->io->marked, true);
		pass(w, SECOND);
		CHECK(w->host[1].got, w->host[0].sent);
		CHECK(port(w, 0, 5)->io->output[0].queued, 0);
		end(w);
	}
	/* A slow host is behind a port that waits for credit: its mask decides. */
	for (with_mask = 0; with_mask < 2; with_mask++) {
		w = begin_one();
		set_thresholds(w, 15);
		if (with_mask)
			w->node[0].sw->cong.setting[4 + 31] = 1 << 2;
		w->host[1].slow = true;
		for (i = 0; i < 300; i++) {
			host_send(w, &w->host[0], &w->host[1], 0, BIG);
			pass(w, MS / 10);
		}
		w->host[1].slow = false;
		shca_ib_credits_free(&w->host[1].credits, 0, w->host[1].held[0] * SHCA_IB_CHARGE);
		pass(w, 100 * MS);
		CHECK(w->host[1].got, w->host[0].sent);
		CHECK(w->host[1].marked > 50, with_mask);
		CHECK(with_mask || !w->host[1].marked, true);
		end(w);
	}
}

/* Traffic with queues. Return: a digest of all frames that have left the fabric. */
static u64 queues(struct fab_cong_port setting)
{
	struct world *w = begin_one();
	u64 sum;
	u32 i;

	for (i = 0; i <= PORTS; i++)
		w->node[0].sw->cong.port[i] = setting;
	port(w, 0, 2)->io->rate = 2000000;
	for (i = 0; i < 200; i++) {
		host_send(w, &w->host[i % 3], &w->host[(i + 1 + i / 8 % 2) % 3], i % 2, 16 + 4 * (i % 200));
		if (i % 20 == 0)
			pass(w, MS / 10);
	}
	pass(w, 100 * MS);
	sum = w->digest;
	end(w);
	return sum;
}

/* Without marks not a byte is another one. */
static void marks_off(void)
{
	u64 off = queues((struct fab_cong_port){ 0 });

	CHECK(queues((struct fab_cong_port){ .size = 1, .rate = 3 }), off);
	CHECK(queues((struct fab_cong_port){ .threshold = 15, .size = 255 }), off);
	CHECK(queues((struct fab_cong_port){ .threshold = 15 }) != off, true);
}

/* ---- random fabrics --------------------------------------------------------- */

/* Switch @i > 0 is a child of an earlier one; port 1 leads up. Routes follow the tree. */
static void route_tree(struct world *w, const u32 *parent, const u32 *below, const u32 *at)
{
	u32 h, sw, child, out;

	for (h = 0; h < w->hosts; h++)
		for (sw = 0; sw < w->switches; sw++) {
			out = 1;
			if (at[h] == sw) {
				out = w->host[h].edge.port->number;
			} else {
				for (child = at[h]; child && parent[child] != sw; child = parent[child])
					;
				if (child)
					out = below[child];
			}
			set_route(w, sw, h + 1, out);
		}
}

static struct world *begin_random(bool batches)
{
	u32 parent[SWITCHES_MAX] = { 0 }, below[SWITCHES_MAX] = { 0 }, used[SWITCHES_MAX] = { 0 }, at[HOSTS_MAX];
	struct world *w = begin(1 + draw(RANDOM_SWITCHES)), *made = w;
	u32 i, hosts = 2 + draw(HOSTS_MAX - 2), sw;	/* (one switch has seven ports for them) */

	w->draws_batches = batches;
	for (i = 1; i < w->switches; i++) {
		/* (each switch keeps ports for a host) */
		do {
			parent[i] = draw(i);
		} while (used[parent[i]] >= PORTS - 3);
		below[i] = 2 + used[parent[i]]++;
		fab_join(port(w, i, 1), port(w, parent[i], below[i]));
	}
	for (i = 0; i < hosts; i++) {
		do {
			sw = draw(w->switches);
		} while (used[sw] >= PORTS - 1);
		at[i] = sw;
		add_host(w, sw, 2 + used[sw]++);
	}
	route_tree(w, parent, below, at);
	pass_by(w, 50 * MS, MS);
	activate(w);
	return made;
}

/* Leaves with two hosts each, and spines, with one or two cables between each leaf and each spine. */
static struct world *begin_layers(bool batches)
{
	u32 leaves = 2 + draw(2), spines = 1 + draw(3), i, j, n, h;
	struct world *w = begin(leaves + spines), *made = w;
	u8 cables[SWITCHES_MAX][SWITCHES_MAX] = { { 0 } };

	w->draws_batches = batches;
	for (i = 0; i < leaves; i++)
		for (j = 0; j < spines; j++) {
			cables[i][j] = 1 + draw(2);
			for (n = 0; n < cables[i][j]; n++)
				fab_join(port(w, i, 3 + 2 * j + n), port(w, leaves + j, 1 + 2 * i + n));
		}
	for (h = 0; h < 2 * leaves; h++)
		add_host(w, h / 2, 1 + h % 2);
	for (h = 0; h < w->hosts; h++) {
		for (i = 0; i < leaves; i++) {
			j = draw(spines);
			set_route(w, i, h + 1, i == h / 2 ? 1 + h % 2 : 3 + 2 * j + draw(cables[i][j]));
		}
		for (j = 0; j < spines; j++)
			set_route(w, leaves + j, h + 1, 1 + 2 * (h / 2) + draw(cables[h / 2][j]));
	}
	pass_by(w, 50 * MS, MS);
	activate(w);
	return made;
}

static void check_buffers(struct world *w)
{
	u32 i, j, k;

	for (i = 0; i < w->switches; i++)
		for (j = 1; j <= PORTS; j++)
			for (k = 0; k < SHCA_IB_LANES; k++)
				CHECK(port(w, i, j)->io->input[k].packets <=
				      (port(w, i, j)->edge ? FAB_EDGE_LANE_PACKETS : FAB_LANE_PACKETS), true);
}

/* Each host sends for a while to others, some lanes more than others; some receive slowly. */
static void traffic(struct world *w, u32 rounds, bool flaps)
{
	u32 i, k, burst;

	while (rounds-- && !failed) {
		for (i = 0; i < w->hosts; i++) {
			struct host *host = &w->host[i];

			for (burst = draw(40); burst; burst--) {
				struct host *to = &w->host[draw(w->hosts)];

				if (to != host && host->phy.batches && !draw(3)) {
					u32 payload = 16 + 4 * draw(draw(2) ? 20 : 1000);

					host_send_batch(w, host, to, draw(4) ? draw(4) : draw(16), 1 + draw(20), payload,
							16 + 4 * draw(payload / 4 - 3));
				} else if (to != host) {
					host_send(w, host, to, draw(4) ? draw(4) : draw(16), 16 + 4 * draw(draw(4) ? 20 : 1000));
				}
			}
			if (!draw(30))
				host->slow = !host->slow;
			for (k = 0; k < SHCA_IB_LANES && !host->slow; k++)
				for (; host->held[k]; host->held[k]--)
					shca_ib_credits_free(&host->credits, k, SHCA_IB_CHARGE);
		}
		if (flaps && !draw(20)) {
			struct fab_port *p = port(w, draw(w->switches), 1);

			if (p->peer)
				fab_link(p, SHCA_IB_PHYS_LINK_UP, true);
		}
		pass(w, 100000 * draw(20));
		activate(w);
		check_buffers(w);
	}
}

static void settle(struct world *w)
{
	u32 i, k;

	for (i = 0; i < w->hosts; i++) {
		w->host[i].slow = false;
		for (k = 0; k < SHCA_IB_LANES; k++)
			for (; w->host[i].held[k]; w->host[i].held[k]--)
				shca_ib_credits_free(&w->host[i].credits, k, SHCA_IB_CHARGE);
	}
	pass_by(w, 400 * MS, MS);
}

/* What may go wrong in a random fabric. */
enum trouble {
	NO_TROUBLE,
	LINKS_GO_DOWN,
	FRAMES_ARE_LOST,
};

/* No packet is in the fabric: nothing waits, and all memory for flows is unused. */
static void check_flows(struct world *w)
{
	struct fab_flow *flow;
	u32 i, j, unused = 0;

	for (i = 0; i < w->switches; i++)
		for (j = 0; j <= PORTS; j++)
			CHECK(port(w, i, j)->io->coming, 0);
	for (flow = w->adaptive.unused; flow; flow = flow->next)
		unused++;
	CHECK(unused, w->adaptive.flows_used);
	/* (each flow had a packet) */
	CHECK(w->adaptive.flows_used <= w->data.pool_used, true);
	for (i = 0; i < FAB_BUCKETS; i++)
		CHECK(!w->adaptive.bucket[i], true);
}

static void one_random(u64 seed, enum trouble trouble, enum fab_adaptive_mode mode, bool batches)
{
	u64 sent = 0, got = 0, lost = 0;
	struct world *w;
	u32 i, j;

	random_state = seed;
	w = mode ? begin_layers(batches) : begin_random(batches);
	/* Some cables have a delay. (What is in one that goes down is lost without a counter.) */
	for (i = 0; i < w->switches && trouble != LINKS_GO_DOWN; i++)
		if (!draw(3))
			port(w, i, 1 + draw(PORTS))->io->delay = draw(3 * MS);
	/* (a mark is a new VCRC, which hosts check) */
	if (seed % 2)
		set_thresholds(w, 15);
	if (mode) {
		make_adaptive(w);
		CHECK(fab_adaptive_set(&w->adaptive, mode), true);
		w->opcode = OPCODE_RC;
		/* (a link that goes down leaves packets behind it that others overtake) */
		w->reorders = mode == FAB_ADAPTIVE_PACKET || trouble;
	}
	w->loses = trouble;
	w->loss = trouble == FRAMES_ARE_LOST ? 50 : 0;
	traffic(w, 30, trouble == LINKS_GO_DOWN);
	w->loss = 0;
	settle(w);
	for (i = 0; i < w->hosts; i++) {
		sent += w->host[i].sent;
		got += w->host[i].got;
	}
	for (i = 0; i < w->switches; i++)
		for (j = 0; j <= PORTS; j++)
			lost += port(w, i, j)->counters.error[FAB_ERR_DISCARD] + port(w, i, j)->counters.error[FAB_ERR_RELAY];
	CHECK(sent > 100, true);
	CHECK(trouble || got == sent, true);
	CHECK(got <= sent && (got + lost >= sent || trouble == FRAMES_ARE_LOST), true);
	check_credits(w);
	check_pool(w);
	check_flows(w);
	if (failed)
		printf("# seed %llu: %llu sent, %llu arrived, %llu lost\n", (unsigned long long)seed,
		       (unsigned long long)sent, (unsigned long long)got, (unsigned long long)lost);
	end(w);
}

/* ---- reduction -------------------------------------------------------------- */

#define LEAVES		2
#define AT_LEAF		2
#define MEMBERS		(LEAVES * AT_LEAF)
#define NODE_LID	50
#define REDUCED		5000	/* values: five chunks */

struct reducers {
	struct world *w;
	struct fab_aggregators all;
	struct fab_aggregator one[1 + LEAVES];
	struct fab_reduce_node nodes[1 + LEAVES];
	struct fab_node node[1 + LEAVES];
	struct fab_port ports[1 + LEAVES][2];
	struct shca_reduce_member member[MEMBERS];
	float in[MEMBERS][REDUCED];
	float out[MEMBERS][REDUCED];
};

static void *take_zeros(struct fab_reduce *reduce, u64 bytes)
{
	return zeros(bytes);
}

static void give_back(struct fab_reduce *reduce, void *memory, u64 bytes)
{
	free(memory);
}

/* Switch 0 above two others, with two hosts each, and an aggregation node at the last port of all. */
static struct reducers *begin_reducers(void)
{
	struct reducers *r = zeros(sizeof(*r));
	struct world *w = begin(1 + LEAVES);
	u32 i, sw;

	r->w = w;
	r->all.all = r->one;
	r->all.reduce = (struct fab_reduce){ .nodes = r->nodes, .room = 1 << 30, .take = take_zeros, .give = give_back };
	for (i = 0; i <= LEAVES; i++) {
		struct fab_node *node = &r->node[i];

		node->type = FAB_CA;
		node->ports_nr = 1;
		node->ports = r->ports[i];
		node->ports[1].supported = (struct fab_rate){ .width = 2, .speed = 7 };
		fab_node_init(&w->fabric, node);
		fab_join(port(w, i, PORTS), &node->ports[1]);
		node->ports[1].end.lid = NODE_LID + i;
		node->ports[1].state = SHCA_IB_STATE_ACTIVE;
		/* (the highest LID of a table is one of it) */
		w->node[i].sw->lft_top = NODE_LID + LEAVES;
		fab_aggregator_init(&r->all, node);
		if (i)
			fab_join(port(w, 0, i), port(w, i, 1));
	}
	w->data.aggregators = &r->all;
	for (i = 0; i < MEMBERS; i++)
		add_host(w, 1 + i % LEAVES, 2 + i / LEAVES);
	for (sw = 0; sw <= LEAVES; sw++) {
		for (i = 0; i < MEMBERS; i++)
			set_route(w, sw, 1 + i, !sw ? 1 + i % LEAVES : sw == 1 + i % LEAVES ? 2 + i / LEAVES : 1);
		for (i = 0; i <= LEAVES; i++)
			set_route(w, sw, NODE_LID + i, i == sw ? PORTS : sw ? 1 : i);
	}
	pass(w, 50 * MS);
	activate(w);
	for (i = 0; i <= LEAVES; i++)
		r->node[i].ports[1].state = SHCA_IB_STATE_ACTIVE;
	return r;
}

static void end_reducers(struct reducers *r)
{
	r->w->now += 2 * FAB_REDUCE_IDLE_NS;
	CHECK(fab_reduce_advance(&r->all.reduce, r->w->now), ~0ull);
	CHECK(r->all.reduce.used, 0);
	end(r->w);
	free(r);
}

/* A datagram of a host to an aggregation node, on a service level. @wrong: bits of the ICRC */
static void send_reduced_by(struct world *w, struct host *host, u16 dlid, u8 sl, bool has_grh, u16 pkey, u32 qp, const u8 *data,
			    u32 bytes, u32 wrong)
{
	u32 grh = has_grh ? SHCA_IB_GRH_BYTES : 0, len = UD_AT + grh + bytes + SHCA_ICRC_BYTES, crc, i;
	const struct shca_ib_lower lower = {
		.vl = sl % SHCA_IB_LANES,
		.sl = sl,
		.dlid = dlid,
		.slid = host->lid,
		.len = len,
		.has_grh = has_grh,
	};
	u8 frame[FAB_FRAME_MAX] = { 0 }, *lrh = frame + FAB_HEAD, *bth = lrh + SHCA_IB_LRH_BYTES + grh;

	shca_ib_credits_take(&host->credits, lower.vl, SHCA_IB_CHARGE);
	shca_ib_lower_build(&lower, lrh);
	bth[0] = OPCODE_UD;
	put_be16(bth + 2, pkey);
	put_be32(bth + 4, qp);
	put_be32(bth + SHCA_BTH_BYTES, UD_QKEY);
	put_be32(bth + SHCA_BTH_BYTES + 4, UD_QP);
	memcpy(lrh + UD_AT + grh, data, bytes);
	crc = icrc(lrh, len) ^ wrong;
	for (i = 0; i < 4; i++)
		lrh[len - 4 + i] = crc >> 8 * i;
	shca_ib_vcrc_put(shca_ib_vcrc(&w->data.vcrc, SHCA_IB_VCRC_SEED, lrh, len), lrh + len);
	send_packet(w, host, frame, len + SHCA_IB_VCRC_BYTES);
}

static void send_reduced(struct world *w, struct host *host, u16 dlid, u16 pkey, u32 qp, const u8 *data, u32 bytes, u32 wrong)
{
	send_reduced_by(w, host, dlid, 0, false, pkey, qp, data, bytes, wrong);
}

/* Members from one on send what they have. */
static void members_from(struct reducers *r, u32 first)
{
	u8 data[SHCA_REDUCE_HEAD + SHCA_REDUCE_BYTES_MAX];
	struct host *host;
	u32 i, len;
	u16 lid;

	for (i = first; i < MEMBERS; i++) {
		host = &r->w->host[i];
		while (shca_ib_credits_room(&host->credits, 0) >= SHCA_IB_CHARGE &&
		       (len = shca_reduce_member_next(&r->member[i], r->w->now, &lid, data)))
			send_reduced(r->w, host, lid, PKEY, SHCA_REDUCE_QP, data, len, 0);
	}
}

static void members_send(struct reducers *r)
{
	members_from(r, 0);
}

static void join_begin(struct reducers *r)
{
	u32 i;

	for (i = 0; i < MEMBERS; i++) {
		r->member[i] = (struct shca_reduce_member){ .job = 9, .rank = i, .size = MEMBERS,
							    .mtu = SHCA_REDUCE_BYTES_MAX, .entry = NODE_LID };
		shca_reduce_member_init(&r->member[i]);
		r->w->host[i].member = &r->member[i];
	}
}

static void join_all(struct reducers *r)
{
	u32 i;

	join_begin(r);
	for (i = 0; i < 10000; i++) {
		members_send(r);
		pass(r->w, MS / 10);
		if (r->member[0].state && r->member[1].state && r->member[2].state && r->member[3].state)
			break;
	}
	for (i = 0; i < MEMBERS; i++) {
		CHECK(r->member[i].state, SHCA_REDUCE_RUNS);
		CHECK(r->member[i].lid, NODE_LID + 1 + i % LEAVES);
		CHECK(r->member[i].bytes, SHCA_REDUCE_BYTES_MAX);
	}
}

static void reduce_all(struct reducers *r)
{
	u32 i, j;

	for (i = 0; i < MEMBERS; i++) {
		for (j = 0; j < REDUCED; j++)
			r->in[i][j] = (float)(s32)(draw(1u << 30) - (1 << 29)) / (1 << draw(20));
		shca_reduce_member_begin(&r->member[i], SHCA_REDUCE_SUM, SHCA_REDUCE_F32, (u8 *)r->in[i], (u8 *)r->out[i],
					 sizeof(r->in[i]));
	}
	for (i = 0; i < 100000; i++) {
		members_send(r);
		pass(r->w, MS / 10);
		if (!r->member[0].left && !r->member[1].left && !r->member[2].left && !r->member[3].left)
			break;
	}
	for (i = 0; i < MEMBERS; i++) {
		CHECK(r->member[i].left, 0);
		for (j = 0; j < REDUCED; j++)
			CHECK(r->out[i][j] == (r->in[0][j] + r->in[2][j]) + (r->in[1][j] + r->in[3][j]), true);
	}
}

/* What each cable carries, each way: all values once. */
static void reduces(void)
{
	struct reducers *r = begin_reducers();
	u64 sent[MEMBERS], got[MEMBERS], words;
	struct fab_port *edge;
	u32 i, round, packets = DIV_ROUND_UP(sizeof(r->in[0]), SHCA_REDUCE_BYTES_MAX);

	join_all(r);
	for (round = 0; round < 3; round++) {
		for (i = 0; i < MEMBERS; i++) {
			sent[i] = r->w->host[i].edge.port->counters.rcv_data;
			got[i] = r->w->host[i].edge.port->counters.xmit_data;
		}
		reduce_all(r);
		words = (sizeof(r->in[0]) + packets * (UD_AT + SHCA_REDUCE_HEAD + SHCA_ICRC_BYTES)) / 4;
		for (i = 0; i < MEMBERS; i++) {
			edge = r->w->host[i].edge.port;
			CHECK(edge->counters.rcv_data - sent[i], words);
			CHECK(edge->counters.xmit_data - got[i], words);
		}
		CHECK(port(r->w, 0, 1)->counters.rcv_data, port(r->w, 0, 1)->peer->counters.xmit_data);
	}
	/* Frames are lost, on all cables of hosts. */
	r->w->loses = true;
	r->w->loss = 20;
	for (round = 0; round < 10; round++)
		reduce_all(r);
	r->w->loss = 0;
	end_reducers(r);
}

/* A job of more results than a switch has buffers for. */
static void reduces_fast(void)
{
	struct reducers *r = begin_reducers();
	u32 i;

	join_all(r);
	/* The cable of a host is slow, so results wait at its leaf, and then at the aggregation node. */
	r->w->host[1].edge.port->io->rate = 20000000;
	for (i = 0; i < 3; i++)
		reduce_all(r);
	CHECK(port(r->w, 1, 2)->counters.error[FAB_ERR_DISCARD], 0);
	end_reducers(r);
}

/* Packets that an aggregation node does not take. */
static void reduces_not(void)
{
	const struct shca_reduce_head head = { .kind = SHCA_REDUCE_JOIN, .job = 3 };
	const struct shca_reduce_join join = { .size = 2, .bytes = 100 };
	static const u8 no_lane[SHCA_IB_SLS / 2] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	static const u8 all_lanes[SHCA_IB_SLS / 2] = { 0x01, 0x23, 0x45, 0x67, 0x01, 0x23, 0x45, 0x67 };
	struct reducers *r = begin_reducers();
	struct host *host = &r->w->host[0];
	struct fab_port *to = &r->node[0].ports[1];
	u8 data[SHCA_REDUCE_MESSAGE];
	u64 answers, answers_1;

	host->member = &r->member[0];
	shca_reduce_build(&head, data);
	shca_reduce_join_build(&join, data);
	answers = to->counters.xmit_pkts;
	send_reduced(r->w, host, NODE_LID, PKEY, SHCA_REDUCE_QP, data, sizeof(data), 1);
	send_reduced(r->w, host, NODE_LID, PKEY, SHCA_REDUCE_QP + 1, data, sizeof(data), 0);
	send_reduced(r->w, host, NODE_LID, PKEY, SHCA_REDUCE_QP, data, 0, 0);
	pass(r->w, MS);
	CHECK(to->counters.xmit_pkts, answers);
	CHECK(to->end.bad_pkeys, 0);
	CHECK(to->counters.rcv_pkts, 3);
	send_reduced(r->w, host, NODE_LID, 0x8001, SHCA_REDUCE_QP, data, sizeof(data), 0);
	pass(r->w, MS);
	CHECK(to->counters.xmit_pkts, answers);
	CHECK(to->end.bad_pkeys, 1);
	send_reduced(r->w, host, NODE_LID, PKEY, SHCA_REDUCE_QP, data, sizeof(data), 0);
	pass(r->w, MS);
	CHECK(to->counters.xmit_pkts, answers + 1);
	/* A group that leads to one has no aggregation node. */
	r->w->node[1].sw->mft[0] = 1 << PORTS;
	answers_1 = r->node[1].ports[1].counters.xmit_pkts;
	send_reduced(r->w, host, LID_MCAST, PKEY, SHCA_REDUCE_QP, data, sizeof(data), 0);
	pass(r->w, MS);
	CHECK(r->node[1].ports[1].counters.rcv_pkts, 1);
	CHECK(r->node[1].ports[1].counters.xmit_pkts, answers_1);
	/* With a GRH, and on another service level, which is that of the answer. */
	host->lrh[1] = 0;
	send_reduced_by(r->w, host, NODE_LID, 13, true, PKEY, SHCA_REDUCE_QP, data, sizeof(data), 0);
	pass(r->w, MS);
	CHECK(to->counters.xmit_pkts, ++answers + 1);
	CHECK(host->lrh[0] >> 4, 13 % SHCA_IB_LANES);
	CHECK(host->lrh[1] >> 4, 13);
	/* No lane for it: no answer. */
	shca_ib_sl2vl_set(&to->lanes.sl2vl, no_lane);
	send_reduced(r->w, host, NODE_LID, PKEY, SHCA_REDUCE_QP, data, sizeof(data), 0);
	pass(r->w, MS);
	CHECK(to->counters.xmit_pkts, answers + 1);
	check_pool(r->w);
	shca_ib_sl2vl_set(&to->lanes.sl2vl, all_lanes);
	/* Its port is not Active. */
	to->state = SHCA_IB_STATE_ARMED;
	send_reduced(r->w, host, NODE_LID, PKEY, SHCA_REDUCE_QP, data, sizeof(data), 0);
	pass(r->w, MS);
	CHECK(to->counters.rcv_pkts, 8);
	CHECK(to->counters.xmit_pkts, answers + 1);
	/* Without memory: it is asked again. */
	to->state = SHCA_IB_STATE_ACTIVE;
	r->w->loses = true;
	r->w->data.pool_nr = r->w->data.pool_used;
	r->w->data.unused->next = NULL;
	send_reduced(r->w, host, NODE_LID, PKEY, SHCA_REDUCE_QP, data, sizeof(data), 0);
	pass(r->w, MS);
	CHECK(to->counters.rcv_pkts, 9);
	CHECK(to->counters.xmit_pkts, answers + 1);
	end_reducers(r);
}

/* The last of a job joins, and tables do not lead from the root to another member, or from its leaf to the root: there is no tree. */
static void reduces_nowhere(void)
{
	/* the switch, and the LID that it sends by the port */
	static const struct {
		u8 sw;
		u16 lid;
		u8 out;
	} rows[] = {
		{ 0, 1, 0xff }, { 0, 1, PORTS + 1 }, { 0, 1, 0 }, { 1, 1, 1 },
		{ 1, NODE_LID, 0xff }, { 1, NODE_LID, PORTS + 1 }, { 1, NODE_LID, 0 }, { 1, NODE_LID, 7 }, { 1, NODE_LID, 2 },
	};
	struct reducers *r;
	u32 i, n;

	for (i = 0; i < ARRAY_SIZE(rows) && !failed; i++) {
		r = begin_reducers();
		r->w->loses = true;
		join_begin(r);
		/* (all but the last one are there) */
		r->member[MEMBERS - 1].join_due = ~0ull;
		for (n = 0; n < 100; n++) {
			members_send(r);
			pass(r->w, MS / 10);
		}
		set_route(r->w, rows[i].sw, rows[i].lid, rows[i].out);
		r->member[MEMBERS - 1].join_due = 0;
		members_from(r, MEMBERS - 1);
		pass(r->w, MS);
		CHECK(r->member[MEMBERS - 1].state, SHCA_REDUCE_FAILS);
		CHECK(r->member[MEMBERS - 1].reason, SHCA_REDUCE_NO_TREE);
		if (failed)
			printf("# row %u\n", i);
		end_reducers(r);
	}
}

static const struct {
	const char *name;
	void (*run)(void);
} tests[] = {
	{ "links", links },
	{ "signs_of_life", signs_of_life },
	{ "passes", passes },
	{ "checks", checks },
	{ "broken", broken },
	{ "overrun", overrun },
	{ "directed", directed },
	{ "directed_by_lid", directed_by_lid },
	{ "by_lid", by_lid },
	{ "wrong_mads", wrong_mads },
	{ "from_programs", from_programs },
	{ "trap_pkey", trap_pkey },
	{ "groups", groups },
	{ "many_ports", many_ports },
	{ "lanes", lanes },
	{ "without_credits", without_credits },
	{ "waits", waits },
	{ "answers_wait", answers_wait },
	{ "less_lanes", less_lanes },
	{ "stall_ends", stall_ends },
	{ "less_mtu", less_mtu },
	{ "times", times },
	{ "no_memory", no_memory },
	{ "deadlock", deadlock },
	{ "head_of_line", head_of_line },
	{ "rate", rate },
	{ "delay", delay },
	{ "cables", cables },
	{ "bad_cables", bad_cables },
	{ "refused", refused },
	{ "first_in_turn", first_in_turn },
	{ "other_lanes", other_lanes },
	{ "unsent", unsent },
	{ "no_link", no_link },
	{ "credit_comes", credit_comes },
	{ "late_packets", late_packets },
	{ "no_credits_fill", no_credits_fill },
	{ "circle", circle },
	{ "rate_times", rate_times },
	{ "rate_late", rate_late },
	{ "rate_after_expiry", rate_after_expiry },
	{ "group_mad", group_mad },
	{ "mad_pkeys", mad_pkeys },
	{ "group_waits", group_waits },
	{ "hostile", hostile },
	{ "batches", batches },
	{ "batches_gather", batches_gather },
	{ "batches_change_lanes", batches_change_lanes },
	{ "batches_meet_faults", batches_meet_faults },
	{ "batches_with_grh", batches_with_grh },
	{ "batches_broken", batches_broken },
	{ "batches_lie", batches_lie },
	{ "batches_without_memory", batches_without_memory },
	{ "adaptive_spreads", adaptive_spreads },
	{ "adaptive_flows", adaptive_flows },
	{ "adaptive_keys", adaptive_keys },
	{ "adaptive_least", adaptive_least },
	{ "adaptive_off", adaptive_off },
	{ "adaptive_never", adaptive_never },
	{ "adaptive_fits", adaptive_fits },
	{ "adaptive_dead", adaptive_dead },
	{ "adaptive_refused", adaptive_refused },
	{ "adaptive_astray", adaptive_astray },
	{ "adaptive_lead_in", adaptive_lead_in },
	{ "adaptive_long_circle", adaptive_long_circle },
	{ "adaptive_row", adaptive_row },
	{ "adaptive_no_choice", adaptive_no_choice },
	{ "adaptive_tables", adaptive_tables },
	{ "flows", flows },
	{ "flow_rules", flow_rules },
	{ "host_answers", host_answers },
	{ "slow_host", slow_host },
	{ "marks_by_threshold", marks_by_threshold },
	{ "marks_one_queue", marks_one_queue },
	{ "marks_in_log", marks_in_log },
	{ "marks_at_the_root", marks_at_the_root },
	{ "marks_off", marks_off },
	{ "reduces", reduces },
	{ "reduces_fast", reduces_fast },
	{ "reduces_not", reduces_not },
	{ "reduces_nowhere", reduces_nowhere },
};

int main(int argc, char **argv)
{
	u32 seeds = argc > 1 ? strtoul(argv[1], NULL, 0) : 50, bad = 0, i;
	static const struct {
		const char *name;
		enum trouble trouble;
		enum fab_adaptive_mode mode;
		bool batches;
	} kinds[] = {
		{ "nothing_is_lost", NO_TROUBLE },
		{ "links_go_down", LINKS_GO_DOWN },
		{ "frames_are_lost", FRAMES_ARE_LOST },
		{ "adaptive_flowlets_in_order", NO_TROUBLE, FAB_ADAPTIVE_FLOWLET },
		{ "adaptive_packets_all_arrive", NO_TROUBLE, FAB_ADAPTIVE_PACKET },
		{ "adaptive_links_go_down", LINKS_GO_DOWN, FAB_ADAPTIVE_FLOWLET },
		{ "batches_nothing_is_lost", NO_TROUBLE, .batches = true },
		{ "batches_links_go_down", LINKS_GO_DOWN, .batches = true },
		{ "batches_frames_are_lost", FRAMES_ARE_LOST, .batches = true },
		{ "batches_adaptive_all_arrive", NO_TROUBLE, FAB_ADAPTIVE_PACKET, true },
	};
	char name[64];
	u64 seed, first = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;

	/* Another beginning: only random fabrics. */
	for (i = 0; i < ARRAY_SIZE(tests) && argc < 3; i++) {
		failed = NULL;
		random_state = 1;
		tests[i].run();
		bad += tell(tests[i].name);
	}
	failed = NULL;
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		for (seed = first; seed < first + seeds && !failed; seed++)
			one_random(seed, kinds[i].trouble, kinds[i].mode, kinds[i].batches);
		snprintf(name, sizeof(name), "%s%s", argc < 3 ? "" : "more.", kinds[i].name);
		bad += tell(name);
		failed = NULL;
	}
	return bad ? 1 : 0;
}
