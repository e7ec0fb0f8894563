// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Congestion control (IBTA annex A10): the agent of a node, and the marks of a switch. A switch
 * marks packets (FECN) that leave by a lane with a long queue. The host that gets them tells their
 * sender, which slows down.
 */
#include "data_internal.h"

#define ATTR_LOG		0x0013
#define ATTR_SWITCH_SETTING	0x0014
#define ATTR_PORT_SETTING	0x0015
#define LOG_BYTES		(SHCA_IB_CONG_DATA + SHCA_IB_CONG_DATA_BYTES - SHCA_IB_CONG_LOG)
#define LOG_OF_SWITCH		1
#define LOG_MAP			8
#define LOG_EVENTS		40
#define MASK_BYTES		32
/* Ports of a block of SwitchPortCongestionSetting. */
#define PORT_BLOCK		32
/* Control_Map: what of SwitchCongestionSetting counts. */
#define MAP_VICTIMS		(1u << 0)
#define MAP_CREDIT		(1u << 1)
#define MAP_THRESHOLD		(1u << 2)
#define MAP_STARVATION		(1u << 3)
#define MAP_RATE		(1u << 4)
/* Places of SwitchCongestionSetting. */
#define AT_VICTIMS		4
#define AT_CREDIT		36
#define AT_THRESHOLD		68
#define AT_STARVATION		70
#define AT_RATE			74
/* A port element: bit 6 says that it is of credit starvation, which does not exist here. */
#define ELEMENT_VALID		0x80
#define ELEMENT_CREDIT		0x40
#define FECN			0x80
#define THRESHOLDS		16
#define BLOCK_BYTES		64

/* ---- attributes of a switch ------------------------------------------------- */

/* A mask of 256 bits is one number: bit 0 is in the last byte. */
static bool mask_has(const u8 *mask, u8 port)
{
	return mask[MASK_BYTES - 1 - port / 8] >> (port % 8) & 1;
}

static void switch_setting(struct fab_node *node, bool set, u8 *data)
{
	static const struct {
		u8 bit;
		u8 at;
		u8 bytes;
	} parts[] = {
		{ MAP_VICTIMS, AT_VICTIMS, MASK_BYTES },
		{ MAP_CREDIT, AT_CREDIT, MASK_BYTES },
		{ MAP_THRESHOLD, AT_THRESHOLD, 2 },
		{ MAP_STARVATION, AT_STARVATION, 4 },
		{ MAP_RATE, AT_RATE, 2 },
	};
	struct fab_cong *cong = &node->sw->cong;
	u32 map = get_be32(data), i;

	if (set)
		memcpy(cong->setting, data, AT_VICTIMS);
	for (i = 0; set && i < ARRAY_SIZE(parts); i++)
		if (map & parts[i].bit)
			memcpy(cong->setting + parts[i].at, data + parts[i].at, parts[i].bytes);
	for (i = 0; set && i <= node->ports_nr; i++) {
		if (map & MAP_THRESHOLD) {
			cong->port[i].threshold = data[AT_THRESHOLD] >> 4;
			cong->port[i].size = data[AT_THRESHOLD + 1];
		}
		if (map & MAP_RATE)
			cong->port[i].rate = get_be16(data + AT_RATE);
	}
	memset(data, 0, SHCA_IB_CONG_DATA_BYTES);
	memcpy(data, cong->setting, FAB_CONG_SETTING_BYTES);
}

static void port_setting(struct fab_node *node, u32 block, bool set, u8 *data)
{
	struct fab_cong_port *port = node->sw->cong.port + block * PORT_BLOCK;
	u32 nr = min_t(u32, PORT_BLOCK, node->ports_nr + 1 - block * PORT_BLOCK), i;

	for (i = 0; set && i < nr; i++) {
		const u8 *element = data + 4 * i;

		if ((element[0] & (ELEMENT_VALID | ELEMENT_CREDIT)) != ELEMENT_VALID)
			continue;
		port[i].threshold = element[0] & 0xf;
		port[i].size = element[1];
		port[i].rate = get_be16(element + 2);
	}
	memset(data, 0, SHCA_IB_CONG_DATA_BYTES);
	for (i = 0; i < nr; i++) {
		data[4 * i] = ELEMENT_VALID | port[i].threshold;
		data[4 * i + 1] = port[i].size;
		put_be16(data + 4 * i + 2, port[i].rate);
	}
}

/* The log begins anew when it was read. */
static void congestion_log(struct fab_node *node, u64 now, u8 *log)
{
	struct fab_cong *cong = &node->sw->cong;
	u32 i;

	memset(log, 0, LOG_BYTES);
	log[0] = LOG_OF_SWITCH;
	for (i = 0; i <= node->ports_nr; i++)
		log[1] |= !!cong->port[i].threshold;	/* CC_Enable */
	put_be16(log + 2, cong->events);
	put_be32(log + 4, now >> 10);
	memcpy(log + LOG_MAP, cong->map, MASK_BYTES);
	memcpy(log + LOG_EVENTS, cong->log, sizeof(cong->log));
	cong->events = 0;
	memset(cong->map, 0, sizeof(cong->map));
	memset(cong->log, 0, sizeof(cong->log));
	cong->log_next = 0;
}

/* Return: status. */
static u32 switch_attribute(struct fab_node *node, u8 *mad, u64 now)
{
	u32 attr = get_be16(mad + MAD_ATTR), mod = get_be32(mad + MAD_ATTR_MOD);
	bool set = mad[MAD_METHOD] == METHOD_SET;
	u8 *data = mad + SHCA_IB_CONG_DATA;

	if (attr < ATTR_LOG || attr > ATTR_PORT_SETTING || (set && attr == ATTR_LOG))
		return STATUS_ATTR;
	if (mod && (attr != ATTR_PORT_SETTING || mod > node->ports_nr / PORT_BLOCK))
		return STATUS_FIELD;
	if (attr == ATTR_LOG)
		congestion_log(node, now, mad + SHCA_IB_CONG_LOG);
	else if (attr == ATTR_SWITCH_SETTING)
		switch_setting(node, set, data);
	else
		port_setting(node, mod, set, data);
	return 0;
}

enum fab_verdict fab_cong_takes(struct fab_port *to, const u8 *mad, u64 now)
{
	return shca_ib_cong_admit(&to->node->cong, mad, now) ? FAB_ANSWERED : FAB_DROPPED;
}

void fab_cong(struct fab_port *to, u8 *mad, u64 now)
{
	struct fab_node *node = to->node;
	u32 status = shca_ib_cong_attribute(&node->cong, mad, !node->sw, now);

	if (status == STATUS_ATTR && node->sw)
		status = switch_attribute(node, mad, now);
	shca_ib_cong_reply(mad, status);
}

/* ---- marks ------------------------------------------------------------------ */

static void log_mark(struct fab_cong *cong, u8 port, const u8 *lrh, u64 now)
{
	u8 *event = cong->log[cong->log_next];

	cong->log_next = (cong->log_next + 1) % FAB_CONG_LOG_NR;
	memcpy(event, lrh + 6, 2);	/* source LID */
	memcpy(event + 2, lrh + 2, 2);
	event[4] = lrh[1] & 0xf0;	/* SL */
	put_be32(event + 8, now >> 10);
	cong->map[MASK_BYTES - 1 - port / 8] |= 1 << (port % 8);
	if (cong->events != 0xffff)
		cong->events++;
}

void fab_cong_leave(struct fab_port *out, struct fab_packet *packet, u8 lane)
{
	struct fab_turn *turn = &out->io->output[lane];
	struct fab_cong *cong = &out->node->sw->cong;
	const struct fab_cong_port *setting = &cong->port[out->number];
	u8 *lrh = fab_packet_lrh(packet);
	bool victim = turn->starved;

	if (victim)
		turn->starved--;
	/* Threshold n is 16 - n sixteenths of the buffer that one input has. */
	if (!setting->threshold || packet->queue != lane ||
	    turn->queued * THRESHOLDS <= (THRESHOLDS - setting->threshold) * FAB_LANE_PACKETS)
		return;
	/*
	 * The root of congestion is the output that has credit, and not those whose packets wait for
	 * it. Where a slow host is behind a port, its victim mask is set.
	 */
	if (victim && !mask_has(cong->setting + AT_VICTIMS, out->number))
		return;
	if (packet->len < setting->size * BLOCK_BYTES || out->io->eligible++ % (setting->rate + 1))
		return;
	out->io->marked++;
	log_mark(cong, out->number, lrh, out->node->fabric->now);
	/* The ICRC does not cover the mark. The VCRC is made anew where the packet leaves the fabric. */
	lrh[fab_bth(lrh) - lrh + 4] |= FECN;
	packet->bare = true;
}
