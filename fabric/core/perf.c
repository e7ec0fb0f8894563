// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The performance management agent of a node (IBTA 16.1). */
#include "data_internal.h"

#define ATTR_CLASS_PORT_INFO	0x0001
#define ATTR_COUNTERS		0x0012
#define ATTR_RCV_DETAILS	0x0015
#define ATTR_XMIT_DETAILS	0x0016
#define ATTR_COUNTERS_EXT	0x001d
#define ALL_PORTS		0xff
#define CAP_ALL_PORTS		0x0100
#define CAP_EXT_WIDTH		0x0200
#define CAP_XMIT_WAIT		0x1000
#define RESP_TIME		18
#define TRAFFIC_NR		4
#define SELECT2			18
#define XMIT_WAIT		40
/* PortXmitWait is in microseconds, as that of real ports. */
#define NS_PER_TICK		1000

/* A counter of PortCounters: where, how many bits, and the bit of CounterSelect. */
static const struct {
	u8 offset;
	u8 bits;
	bool is_low;	/* the lower half of a byte that has two */
} errors[FAB_ERR_NR] = {
	[FAB_ERR_SYMBOL] = { 4, 16 },
	[FAB_ERR_RECOVERY] = { 6, 8 },
	[FAB_ERR_DOWNED] = { 7, 8 },
	[FAB_ERR_RCV] = { 8, 16 },
	[FAB_ERR_REMOTE] = { 10, 16 },
	[FAB_ERR_RELAY] = { 12, 16 },
	[FAB_ERR_DISCARD] = { 14, 16 },
	[FAB_ERR_XMIT_CONSTRAINT] = { 16, 8 },
	[FAB_ERR_RCV_CONSTRAINT] = { 17, 8 },
	[FAB_ERR_INTEGRITY] = { 19, 4 },
	[FAB_ERR_OVERRUN] = { 19, 4, true },
	[FAB_ERR_VL15] = { 22, 16 },
};

/* Where the details are, each of 16 bits. */
static const struct {
	u16 attr;
	u8 offset;
} details[FAB_DETAIL_NR] = {
	[FAB_DETAIL_PHYSICAL] = { ATTR_RCV_DETAILS, 4 },
	[FAB_DETAIL_MALFORMED] = { ATTR_RCV_DETAILS, 6 },
	[FAB_DETAIL_OVERRUN] = { ATTR_RCV_DETAILS, 8 },
	[FAB_DETAIL_DLID] = { ATTR_RCV_DETAILS, 10 },
	[FAB_DETAIL_VL] = { ATTR_RCV_DETAILS, 12 },
	[FAB_DETAIL_LOOP] = { ATTR_RCV_DETAILS, 14 },
	[FAB_DETAIL_INACTIVE] = { ATTR_XMIT_DETAILS, 4 },
	[FAB_DETAIL_MTU] = { ATTR_XMIT_DETAILS, 6 },
	[FAB_DETAIL_LIFE] = { ATTR_XMIT_DETAILS, 8 },
	[FAB_DETAIL_HOQ] = { ATTR_XMIT_DETAILS, 10 },
};

static void traffic(const struct fab_counters *c, u64 *now)
{
	now[0] = c->xmit_data;
	now[1] = c->rcv_data;
	now[2] = c->xmit_pkts;
	now[3] = c->rcv_pkts;
}

/* Counters of one port, or the sums of all. */
static void sum(const struct fab_counters *c, struct fab_counters *total)
{
	u64 now[TRAFFIC_NR];
	u32 i;

	traffic(c, now);
	total->xmit_data += now[0];
	total->rcv_data += now[1];
	total->xmit_pkts += now[2];
	total->rcv_pkts += now[3];
	for (i = 0; i < TRAFFIC_NR; i++)
		total->base[i] += now[i] - c->base[i];
	total->xmit_wait += c->xmit_wait - c->xmit_wait_base;
	for (i = 0; i < FAB_ERR_NR; i++)
		total->error[i] += c->error[i];
	for (i = 0; i < FAB_DETAIL_NR; i++)
		total->detail[i] += c->detail[i];
}

static u32 limit(u64 value, u32 bits)
{
	u64 most = (1ull << bits) - 1;

	return value < most ? value : most;
}

static void counters_get(const struct fab_counters *total, u8 *data)
{
	u32 i, value;

	memset(data + 4, 0, SMP_DATA_BYTES - 4);
	for (i = 0; i < FAB_ERR_NR; i++) {
		value = limit(total->error[i], errors[i].bits);
		if (errors[i].bits == 16)
			put_be16(data + errors[i].offset, value);
		else if (errors[i].bits == 8)
			data[errors[i].offset] = value;
		else
			data[errors[i].offset] |= errors[i].is_low ? value : value << 4;
	}
	for (i = 0; i < TRAFFIC_NR; i++)
		put_be32(data + 24 + 4 * i, limit(total->base[i], 32));
	put_be32(data + XMIT_WAIT, limit(total->xmit_wait / NS_PER_TICK, 32));
}

static u32 wanted(const u8 *data, u32 i)
{
	u32 at = errors[i].offset;

	if (errors[i].bits == 16)
		return get_be16(data + at);
	if (errors[i].bits == 8)
		return data[at];
	return errors[i].is_low ? data[at] & 0xf : data[at] >> 4;
}

/* Bits 0 to 11 of CounterSelect are the errors, 12 to 15 the traffic. */
static void counters_set(struct fab_counters *c, const u8 *data)
{
	u32 i, select = get_be16(data + 2);
	u64 now[TRAFFIC_NR];

	traffic(c, now);
	for (i = 0; i < FAB_ERR_NR; i++)
		if (select & 1u << i)
			c->error[i] = wanted(data, i);
	for (i = 0; i < TRAFFIC_NR; i++)
		if (select & 1u << (12 + i))
			c->base[i] = now[i] - get_be32(data + 24 + 4 * i);
	/* Bit 0 of CounterSelect2. */
	if (data[SELECT2] & 1)
		c->xmit_wait_base = c->xmit_wait - (u64)get_be32(data + XMIT_WAIT) * NS_PER_TICK;
}

static void ext_get(const struct fab_counters *total, u8 *data)
{
	u64 now[TRAFFIC_NR];
	u32 i;

	traffic(total, now);
	memset(data + 4, 0, SMP_DATA_BYTES - 4);
	for (i = 0; i < TRAFFIC_NR; i++)
		put_be64(data + 8 + 8 * i, now[i]);
	/* All of it is unicast. */
	put_be64(data + 40, now[2]);
	put_be64(data + 48, now[3]);
}

static void ext_set(struct fab_counters *c, const u8 *data)
{
	u32 i, select = get_be16(data + 2);
	u64 *counter[TRAFFIC_NR] = { &c->xmit_data, &c->rcv_data, &c->xmit_pkts, &c->rcv_pkts };
	u64 value;

	for (i = 0; i < TRAFFIC_NR; i++) {
		if (!(select & 1u << i))
			continue;
		/* PortCounters stays as it is. */
		value = get_be64(data + 8 + 8 * i);
		c->base[i] += value - *counter[i];
		*counter[i] = value;
	}
}

static void details_get(u32 attr, const struct fab_counters *total, u8 *data)
{
	u32 i;

	memset(data + 4, 0, SMP_DATA_BYTES - 4);
	for (i = 0; i < FAB_DETAIL_NR; i++)
		if (details[i].attr == attr)
			put_be16(data + details[i].offset, limit(total->detail[i], 16));
}

static void details_set(u32 attr, struct fab_counters *c)
{
	u32 i;

	for (i = 0; i < FAB_DETAIL_NR; i++)
		if (details[i].attr == attr)
			c->detail[i] = 0;
}

static void class_port_info(u8 *data)
{
	memset(data, 0, SMP_DATA_BYTES);
	data[0] = 1;
	data[1] = 1;
	put_be16(data + 2, CAP_ALL_PORTS | CAP_EXT_WIDTH | CAP_XMIT_WAIT);
	data[7] = RESP_TIME;
}

static void set_one(u32 attr, struct fab_counters *c, const u8 *data)
{
	if (attr == ATTR_COUNTERS)
		counters_set(c, data);
	else if (attr == ATTR_COUNTERS_EXT)
		ext_set(c, data);
	else
		details_set(attr, c);
}

/* Return: status. */
static u32 counters(struct fab_port *in, u32 attr, bool set, u8 *data)
{
	struct fab_node *node = in->node;
	u32 first = data[1], last = data[1], i;
	struct fab_counters total = { 0 };

	if (data[1] == ALL_PORTS) {
		first = node->sw ? 0 : 1;
		last = node->ports_nr;
	} else if (data[1] > node->ports_nr || (!data[1] && !node->sw)) {
		return STATUS_FIELD;
	}
	for (i = first; i <= last; i++) {
		fab_output_account(&node->ports[i]);
		if (set)
			set_one(attr, &node->ports[i].counters, data);
		sum(&node->ports[i].counters, &total);
	}
	if (attr == ATTR_COUNTERS)
		counters_get(&total, data);
	else if (attr == ATTR_COUNTERS_EXT)
		ext_get(&total, data);
	else
		details_get(attr, &total, data);
	return 0;
}

enum fab_verdict fab_perf(struct fab_port *in, u8 *mad)
{
	u8 method = mad[MAD_METHOD], *data = mad + SMP_DATA;
	u32 status, attr = get_be16(mad + MAD_ATTR);

	if (method & METHOD_RESPONSE)
		return FAB_ARRIVED;
	if (mad[MAD_BASE_VERSION] != 1 || mad[MAD_CLASS_VERSION] != 1) {
		status = STATUS_VERSION;
	} else if (method != METHOD_GET && method != METHOD_SET) {
		status = STATUS_METHOD;
	} else if (attr == ATTR_CLASS_PORT_INFO && method == METHOD_GET) {
		status = 0;
		class_port_info(data);
	} else if (attr == ATTR_COUNTERS || attr == ATTR_COUNTERS_EXT ||
		   attr == ATTR_RCV_DETAILS || attr == ATTR_XMIT_DETAILS) {
		status = counters(in, attr, method == METHOD_SET, data);
	} else {
		status = STATUS_ATTR;
	}
	mad[MAD_METHOD] = METHOD_RESPONSE | METHOD_GET;
	put_be16(mad + MAD_STATUS, status);
	return FAB_ANSWERED;
}
