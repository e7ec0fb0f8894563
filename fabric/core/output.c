// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Outputs of switches: which packet leaves next, by VL arbitration and credit (IBTA 7.6.9, 7.9),
 * and which has waited too long (IBTA 18.2.5.4). A packet stays in the buffer of its input until
 * it leaves. The first packet of a buffer waits for one output at a time, and the others behind it.
 */
#include "data_internal.h"

#define LIFE_FOR_EVER		20
/* A lane that is stalled is so for this many times HOQLife. */
#define STALL_LIVES		8
/*
 * A cable with a rate makes up for what its output has not sent in so many ns: while nothing waited,
 * and while a packet waited for the cable, since the caller may have been late.
 */
#define BURST_NS		100000
#define BURST_LATE_NS		1000000000ull
/* Packets that leave outputs in one call: they may go round in a circle of cables. */
#define RUN_MOST		1024

static u64 life_ns(u8 life)
{
	return life < LIFE_FOR_EVER ? 4096ull << life : ~0ull;
}

static struct fab_data *data_of(const struct fab_port *port)
{
	return port->node->fabric->data;
}

/* A slow host has the last packet in its buffer. */
static bool is_taking(const struct fab_port *port)
{
	return port->takes && port->taking > port->node->fabric->now;
}

static bool has_room(const struct fab_port *out, u8 lane)
{
	const struct fab_io *io;

	if (out->edge)
		return fab_edge_has_room(out->edge, lane);
	io = out->peer->io;
	if (!io)
		return !is_taking(out->peer);
	return io->input[lane].packets + out->io->flying[lane] < FAB_LANE_PACKETS;
}

/* ---- lists ------------------------------------------------------------------ */

void fab_output_kick(struct fab_port *out)
{
	struct fab_data *data = data_of(out);
	struct fab_io *io = out->io;

	if (!io || !io->wanted || io->is_ready)
		return;
	io->is_ready = true;
	io->next_ready = NULL;
	if (data->ready)
		data->ready_tail->io->next_ready = out;
	else
		data->ready = out;
	data->ready_tail = out;
}

static void watch(struct fab_port *out)
{
	struct fab_data *data = data_of(out);

	if (out->io->is_late)
		return;
	out->io->is_late = true;
	out->io->next_late = data->late;
	data->late = out;
}

/* ---- buffers ---------------------------------------------------------------- */

/* An output of the first packet that takes it now. Return: NULL: none does. */
static struct fab_port *open_output(const struct fab_buffer *buffer)
{
	struct fab_port *ports = buffer->in->node->ports;
	const u64 *outputs = buffer->head->outputs;
	u8 sl = fab_packet_lrh(buffer->head)[1] >> 4, lane;
	u32 i;

	for (i = fab_set_next(outputs, 0); i < FAB_SET_END; i = fab_set_next(outputs, i + 1)) {
		lane = i ? fab_lane_of(buffer->in, &ports[i], sl) : 0;
		if (!i || (lane != SHCA_IB_NO_LANE && fab_is_active(&ports[i]) && has_room(&ports[i], lane)))
			return &ports[i];
	}
	return NULL;
}

/*
 * An output of the first packet: one that has room, so that a group of which one port waits does
 * not keep the others waiting. Without any, the first.
 */
static struct fab_port *pick_output(const struct fab_buffer *buffer)
{
	struct fab_port *open = open_output(buffer);

	return open ?: &buffer->in->node->ports[fab_set_next(buffer->head->outputs, 0)];
}

/*
 * The first packet does not need this output any longer.
 *
 * Return: the packet, if it needs no other and is in no buffer now. fab_output_ask() follows.
 */
static struct fab_packet *served(struct fab_buffer *buffer, u32 port)
{
	struct fab_packet *packet = buffer->head;
	struct fab_port *in = buffer->in;

	fab_set_remove(packet->outputs, port);
	if (packet->flow)
		in->node->ports[port].io->coming--;
	if (packet->queue != SHCA_IB_NO_LANE)
		in->node->ports[port].io->output[packet->queue].queued--;
	if (fab_set_next(packet->outputs, 0) < FAB_SET_END)
		return NULL;
	buffer->head = packet->next;
	buffer->packets--;
	if (in->edge)
		fab_edge_free(in->edge, buffer->lane);
	else if (in->peer)
		fab_output_kick(in->peer);
	return packet;
}

static void drop(struct fab_buffer *buffer, u32 port)
{
	struct fab_packet *packet = served(buffer, port);

	if (packet)
		fab_packet_put(data_of(buffer->in), packet);
}

/* Return: is each packet for the lane dropped now? */
static bool is_stalled(const struct fab_port *out, u8 lane)
{
	return out->node->fabric->now < out->io->output[lane].stalled;
}

static void wait_for(struct fab_buffer *buffer, struct fab_port *out, u8 lane)
{
	struct fab_turn *turn = &out->io->output[lane];

	buffer->next = NULL;
	if (turn->head) {
		turn->tail->next = buffer;
	} else {
		turn->head = buffer;
		turn->since = out->node->fabric->now;
		out->io->wanted |= 1 << lane;
	}
	turn->tail = buffer;
	fab_output_kick(out);
}

void fab_output_ask(struct fab_buffer *buffer)
{
	struct fab_port *out;
	u8 lane;

	for (; buffer->head; drop(buffer, out->number)) {
		out = pick_output(buffer);
		if (!out->number) {
			fab_arrive(out, buffer->in, buffer->head);
			continue;
		}
		/* The tables may have changed since the packet came. */
		lane = fab_lane_of(buffer->in, out, fab_packet_lrh(buffer->head)[1] >> 4);
		if (lane == SHCA_IB_NO_LANE) {
			fab_count_detail(buffer->in, FAB_DETAIL_VL);
			continue;
		}
		if (!is_stalled(out, lane)) {
			wait_for(buffer, out, lane);
			return;
		}
		fab_count(out, FAB_ERR_DISCARD);
		fab_count_detail(out, FAB_DETAIL_HOQ);
	}
}

/* ---- turns ------------------------------------------------------------------ */

/* The buffer that is next at a lane of an output does not wait any longer. */
static struct fab_buffer *take_turn(struct fab_port *out, u8 lane)
{
	struct fab_turn *turn = &out->io->output[lane];
	struct fab_buffer *buffer = turn->head;

	turn->head = buffer->next;
	turn->since = out->node->fabric->now;
	if (!turn->head)
		out->io->wanted &= ~(1 << lane);
	return buffer;
}

/* The packet that is next at a lane of an output is dropped. */
static void discard(struct fab_port *out, u8 lane, enum fab_detail why)
{
	struct fab_buffer *buffer = take_turn(out, lane);

	fab_count(out, FAB_ERR_DISCARD);
	fab_count_detail(out, why);
	drop(buffer, out->number);
	fab_output_ask(buffer);
}

/* ---- cables ----------------------------------------------------------------- */

/* A packet enters a cable. It has its room in the buffer at the other end. */
static void fly(struct fab_port *out, struct fab_packet *packet, u8 lane)
{
	struct fab_io *io = out->io;

	packet->next = NULL;
	packet->arrived = out->node->fabric->now + io->delay;
	if (io->flight) {
		/* (the delay may have been a longer one) */
		packet->arrived = max_t(u64, packet->arrived, io->flight_tail->arrived);
		io->flight_tail->next = packet;
	} else {
		io->flight = packet;
	}
	io->flight_tail = packet;
	io->flying[lane]++;
	watch(out);
}

/* The first packet leaves the cable. */
static struct fab_packet *land(struct fab_io *io)
{
	struct fab_packet *packet = io->flight;

	io->flight = packet->next;
	io->flying[packet->lane]--;
	return packet;
}

void fab_output_reset(struct fab_port *out)
{
	struct fab_io *io = out->io;
	u32 lane;

	if (!io)
		return;
	for (lane = 0; lane < SHCA_IB_LANES; lane++) {
		io->output[lane].stalled = 0;
		io->output[lane].expired = 0;
	}
	while (io->flight)
		fab_packet_put(data_of(out), land(io));
}

/* ---- what leaves ------------------------------------------------------------ */

/* The lane whose turn it is. Return: SHCA_IB_NO_LANE: none has credit. */
static u8 next_lane(struct fab_port *out)
{
	u32 blocks[SHCA_IB_LANES] = { 0 }, lane;
	struct fab_io *io = out->io;
	u8 one = SHCA_IB_NO_LANE;
	bool several = false;

	for (lane = 0; lane < SHCA_IB_LANES; lane++) {
		if (!(io->wanted >> lane & 1))
			continue;
		if (!has_room(out, lane)) {
			io->output[lane].starved = FAB_EDGE_LANE_PACKETS;
			continue;
		}
		blocks[lane] = SHCA_IB_CHARGE;
		several = one != SHCA_IB_NO_LANE;
		one = lane;
	}
	/* (weights divide what several want) */
	return several ? shca_ib_arb_next(&io->arb, &out->lanes, blocks, blocks) : one;
}

struct fab_packet *fab_packet_copy(struct fab_data *data, const struct fab_packet *packet)
{
	struct fab_packet *other = fab_packet_get(data);

	if (!other)
		return NULL;
	other->len = packet->len;
	other->queue = packet->queue;
	other->bare = packet->bare;
	memcpy(fab_packet_lrh(other), packet->frame + FAB_HEAD, packet->len);
	return other;
}

/* Change the lane of a packet, and its VCRC: each bit adds what its place is worth. */
static void set_lane(const struct fab_data *data, struct fab_packet *packet, u8 lane)
{
	u8 *lrh = fab_packet_lrh(packet), *vcrc = lrh + packet->len - SHCA_IB_VCRC_BYTES;
	u8 changed = lrh[0] >> 4 ^ lane;
	u16 delta = 0;
	u32 bit;

	packet->lane = lane;
	/* (most packets keep theirs) */
	if (!changed)
		return;
	lrh[0] ^= changed << 4;
	if (packet->bare)
		return;
	for (bit = 0; bit < 4; bit++)
		if (changed >> bit & 1)
			delta ^= data->vl_crc[bit][fab_words(packet)];
	vcrc[0] ^= (u8)delta;
	vcrc[1] ^= (u8)(delta >> 8);
}

static bool is_busy(const struct fab_port *out)
{
	return out->io->rate && out->io->busy > out->node->fabric->now;
}

static void occupy(struct fab_port *out, u32 len)
{
	struct fab_io *io = out->io;

	if (io->rate)
		fab_pace(&io->busy, out->node->fabric->now, io->is_paced ? BURST_LATE_NS : BURST_NS, len, io->rate);
}

static bool is_each(const struct fab_io *io, u32 each)
{
	return each && io->left % each == 0;
}

/* The cable of a port carries a packet, or what becomes of it on a bad one. */
static void carry(struct fab_port *out, struct fab_packet *packet, u8 lane)
{
	struct fab_io *io = out->io;
	bool lost, damaged;

	io->left++;
	lost = is_each(io, io->lose_each);
	damaged = is_each(io, io->damage_each);
	if (!out->edge && !lost && !damaged) {
		if (out->peer->takes)
			fab_pace(&out->peer->taking, out->node->fabric->now, BURST_NS, packet->len, out->peer->takes);
		if ((io->delay || io->flight) && out->peer->io)
			fly(out, packet, lane);
		else
			fab_relay(out->peer, packet);
		return;
	}
	if (!out->edge) {
		/* (its receiver would drop it) */
		if (!lost)
			fab_damaged(out->peer);
	} else if (lost) {
		fab_edge_lose(out->edge, lane);
	} else if (damaged) {
		fab_put_vcrc(data_of(out), packet);
		fab_packet_lrh(packet)[packet->len - 1] ^= 1;
		if (!fab_edge_send(out->edge, packet, lane))
			fab_count(out, FAB_ERR_DISCARD);
	} else {
		fab_edge_gather(out->edge, packet, lane);
	}
	fab_packet_put(data_of(out), packet);
}

/* The packet whose turn it is leaves. */
static void leave(struct fab_port *out, u8 lane)
{
	struct fab_buffer *buffer = take_turn(out, lane);
	struct fab_data *data = data_of(out);
	struct fab_packet *packet = served(buffer, out->number);

	if (!packet)
		packet = fab_packet_copy(data, buffer->head);	/* the buffer keeps its own */
	fab_output_ask(buffer);
	out->io->output[lane].expired = 0;
	if (!packet) {
		fab_count(out, FAB_ERR_DISCARD);
		return;
	}
	set_lane(data, packet, lane);
	fab_cong_leave(out, packet, lane);
	occupy(out, packet->len);
	out->counters.xmit_pkts++;
	out->counters.xmit_data += fab_words(packet);
	carry(out, packet, lane);
}

void fab_output_account(struct fab_port *out)
{
	u64 now = out->node->fabric->now;
	struct fab_io *io = out->io;

	if (io && io->waits)
		out->counters.xmit_wait += now - io->waits_since;
	if (io)
		io->waits_since = now;
}

/* A packet waits, or does not any longer. */
static void set_waits(struct fab_port *out, bool waits)
{
	fab_output_account(out);
	out->io->waits = waits;
	if (!waits)
		return;
	watch(out);
	if (out->edge)
		fab_edge_waits(out->edge);
}

/* What waits for a lane that the manager has taken away gets another one. */
static void map_anew(struct fab_port *out)
{
	u8 gone = out->io->wanted & ~((1 << shca_ib_lanes_nr(out->lanes.code)) - 1);

	while (gone) {
		fab_output_ask(take_turn(out, __builtin_ctz(gone)));
		gone &= out->io->wanted;
	}
}

static void run(struct fab_port *out)
{
	struct fab_data *data = data_of(out);
	struct fab_io *io = out->io;
	u8 lane;

	map_anew(out);
	while (io->wanted) {
		if (!fab_is_active(out)) {
			discard(out, __builtin_ctz(io->wanted), FAB_DETAIL_INACTIVE);
			continue;
		}
		if (is_busy(out)) {
			io->is_paced = true;
			set_waits(out, false);
			watch(out);
			return;
		}
		lane = next_lane(out);
		if (lane == SHCA_IB_NO_LANE)
			break;
		if (!data->moves) {
			set_waits(out, false);
			fab_output_kick(out);
			return;
		}
		data->moves--;
		/* The manager may have lowered NeighborMTU while the packet waited. */
		if (fab_fits(out, io->output[lane].head->head))
			leave(out, lane);
		else
			discard(out, lane, FAB_DETAIL_MTU);
	}
	io->is_paced = false;
	set_waits(out, io->wanted);
}

void fab_data_run(struct fabric *fabric, u64 now)
{
	struct fab_data *data = fabric->data;
	struct fab_port *out;

	fabric->now = now;
	data->moves = RUN_MOST;
	fab_sources_run(fabric);
	do {
		while (data->moves && (out = data->ready)) {
			data->ready = out->io->next_ready;
			out->io->is_ready = false;
			run(out);
			if (out->edge)
				fab_edge_flush(out->edge);
		}
	} while (data->moves && data->aggregators && fab_aggregators_send(data->aggregators));
}

/* ---- time ------------------------------------------------------------------- */

/* The first packet of a lane has waited for HOQLife (IBTA 18.2.5.4). */
static void expire(struct fab_port *out, u8 lane, u64 life)
{
	struct fab_turn *turn = &out->io->output[lane];

	if (out->stall_count && ++turn->expired >= out->stall_count) {
		turn->expired = 0;
		turn->stalled = out->node->fabric->now + STALL_LIVES * life;
	}
	discard(out, lane, FAB_DETAIL_HOQ);
	/* Those behind it do not wait either. */
	while (is_stalled(out, lane) && turn->head)
		discard(out, lane, FAB_DETAIL_HOQ);
}

/* When the first packet of a lane has waited for HOQLife. */
static u64 hoq_end(const struct fab_port *out, const struct fab_turn *turn)
{
	u64 life = life_ns(out->hoq_life);

	return life == ~0ull ? life : turn->since + life;
}

/* When it has been in the switch for LifeTimeValue. */
static u64 life_end(const struct fab_port *out, const struct fab_turn *turn)
{
	u64 life = life_ns(out->node->sw->life);

	return life == ~0ull ? life : turn->head->head->arrived + life;
}

static void lane_late(struct fab_port *out, u8 lane)
{
	struct fab_turn *turn = &out->io->output[lane];
	u64 now = out->node->fabric->now;

	while (turn->head) {
		if (hoq_end(out, turn) <= now)
			expire(out, lane, life_ns(out->hoq_life));
		else if (life_end(out, turn) <= now)
			discard(out, lane, FAB_DETAIL_LIFE);
		else
			return;
	}
}

/* While the packet of a group waits for a lane of an output, another one of its outputs may have got room. */
static void regroup(struct fab_port *out, u8 lane)
{
	struct fab_turn *turn = &out->io->output[lane];
	struct fab_buffer *buffer, *before = NULL, *next;
	struct fab_port *open;

	for (buffer = turn->head; buffer; buffer = next) {
		next = buffer->next;
		open = open_output(buffer);
		if (!open || open == out) {
			before = buffer;
			continue;
		}
		if (!before) {
			take_turn(out, lane);
		} else {
			before->next = next;
			if (!next)
				turn->tail = before;
		}
		fab_output_ask(buffer);
	}
}

void fab_output_late(struct fabric *fabric)
{
	struct fab_port *out, *next = fabric->data->late;
	u8 lane;

	fabric->data->late = NULL;
	while ((out = next)) {
		next = out->io->next_late;
		out->io->is_late = false;
		while (out->io->flight && out->io->flight->arrived <= fabric->now)
			fab_relay(out->peer, land(out->io));
		for (lane = 0; lane < SHCA_IB_LANES; lane++) {
			lane_late(out, lane);
			regroup(out, lane);
		}
		if (!out->io->wanted) {
			out->io->is_paced = false;
			set_waits(out, false);
		}
		if (out->io->wanted || out->io->flight)
			watch(out);
		fab_output_kick(out);
	}
}

u64 fab_output_deadline(const struct fabric *fabric)
{
	const struct fab_port *out;
	u64 deadline = ~0ull;
	u8 lane;

	for (out = fabric->data->late; out; out = out->io->next_late) {
		if (out->io->flight)
			deadline = min_t(u64, deadline, out->io->flight->arrived);
		if (is_busy(out))
			deadline = min_t(u64, deadline, out->io->busy);
		for (lane = 0; lane < SHCA_IB_LANES; lane++) {
			const struct fab_turn *turn = &out->io->output[lane];

			if (!turn->head)
				continue;
			if (out->peer && is_taking(out->peer))
				deadline = min_t(u64, deadline, out->peer->taking);
			deadline = min_t(u64, deadline, hoq_end(out, turn));
			deadline = min_t(u64, deadline, life_end(out, turn));
		}
	}
	return deadline;
}
