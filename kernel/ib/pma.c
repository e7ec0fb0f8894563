// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The performance management agent (IBTA 16.1.3). The RDMA core reads
 * /sys/class/infiniband/<device>/ports/1/counters from it. A RoCE port has no subnet manager
 * and answers no MADs from the network, so its counters are private. Ports of the subnet read
 * and reset those of an InfiniBand port (ib_port.c).
 */
#include "pma.h"

#include <rdma/ib_mad.h>
#include <rdma/ib_pma.h>
#include <rdma/ib_verbs.h>

#include "../base/counters.h"
#include "../base/dev.h"
#include "ib_link.h"

/* Offset of the attribute in the data of a performance MAD. */
#define SHCA_PMA_DATA	40

/* Error statuses of a MAD (IBTA 13.4.7). */
#define SHCA_MAD_VERSION	cpu_to_be16(0x0004)
#define SHCA_MAD_METHOD		cpu_to_be16(0x0008)
#define SHCA_MAD_ATTR		cpu_to_be16(0x000c)
#define SHCA_MAD_FIELD		cpu_to_be16(0x001c)

#define SHCA_PMA_PORT		1
#define SHCA_PMA_SEL2_XMIT_WAIT	BIT(0)
#define SHCA_PMA_ALL_PORTS	0xff
/* 4.096 us * 2^18: responses come within a second */
#define SHCA_PMA_RESP_TIME	18

/* ---- counters --------------------------------------------------------------- */

/* Value since the port was created */
static u64 shca_pma_total(struct shca_dev *dev, enum shca_pma_counter counter)
{
	switch (counter) {
	case SHCA_PMA_SYMBOL_ERRORS:
		return shca_counter_total(dev, SHCA_CNT_RX_VCRC);
	case SHCA_PMA_LINK_DOWNED:
		return atomic_read(&dev->port.downed);
	case SHCA_PMA_RCV_ERRORS:
		return shca_counter_total(dev, SHCA_CNT_RX_SHORT) +
		       shca_counter_total(dev, SHCA_CNT_RX_HEADER) +
		       shca_counter_total(dev, SHCA_CNT_RX_ICRC) +
		       shca_counter_total(dev, SHCA_CNT_RX_VCRC);
	case SHCA_PMA_XMIT_DISCARDS:
		return shca_counter_total(dev, SHCA_CNT_TX_NO_ROUTE) +
		       shca_counter_total(dev, SHCA_CNT_TX_NO_MEM) +
		       shca_counter_total(dev, SHCA_CNT_TX_DROP);
	case SHCA_PMA_INTEGRITY:
		return dev->ib ? READ_ONCE(dev->ib->sma.integrity) : 0;
	case SHCA_PMA_OVERRUNS:
		return dev->ib ? READ_ONCE(dev->ib->sma.overruns.count) : 0;
	case SHCA_PMA_XMIT_DATA:
		return shca_counter_total(dev, SHCA_CNT_TX_BYTES) / 4;
	case SHCA_PMA_RCV_DATA:
		return shca_counter_total(dev, SHCA_CNT_RX_BYTES) / 4;
	case SHCA_PMA_XMIT_PKTS:
		return shca_counter_total(dev, SHCA_CNT_TX_PKTS);
	case SHCA_PMA_RCV_PKTS:
		return shca_counter_total(dev, SHCA_CNT_RX_PKTS);
	case SHCA_PMA_XMIT_WAIT:
		return shca_ib_of(dev) ? div_u64(shca_ib_flow_waited(&dev->ib->flow),
						 NSEC_PER_USEC) : 0;
	case SHCA_PMA_NR:
		break;
	}
	return 0;
}

/* Value since the last reset */
static u64 shca_pma_value(struct shca_dev *dev, enum shca_pma_counter counter)
{
	u64 total = shca_pma_total(dev, counter);

	return dev->ib ? total - READ_ONCE(dev->ib->pma_base[counter]) : total;
}

/* These counters stick at their maximum (16.1.3.5). */
static u64 shca_pma_up_to(struct shca_dev *dev, enum shca_pma_counter counter,
			  u64 max)
{
	return min(shca_pma_value(dev, counter), max);
}

/* Bits of CounterSelect, those of PortCounters first. */
static const struct {
	__be16 select;
	enum shca_pma_counter counter;
} shca_pma_selects[] = {
	{ IB_PMA_SEL_SYMBOL_ERROR, SHCA_PMA_SYMBOL_ERRORS },
	{ IB_PMA_SEL_LINK_DOWNED, SHCA_PMA_LINK_DOWNED },
	{ IB_PMA_SEL_PORT_RCV_ERRORS, SHCA_PMA_RCV_ERRORS },
	{ IB_PMA_SEL_PORT_XMIT_DISCARDS, SHCA_PMA_XMIT_DISCARDS },
	{ IB_PMA_SEL_LOCAL_LINK_INTEGRITY_ERRORS, SHCA_PMA_INTEGRITY },
	{ IB_PMA_SEL_EXCESSIVE_BUFFER_OVERRUNS, SHCA_PMA_OVERRUNS },
	{ IB_PMA_SEL_PORT_XMIT_DATA, SHCA_PMA_XMIT_DATA },
	{ IB_PMA_SEL_PORT_RCV_DATA, SHCA_PMA_RCV_DATA },
	{ IB_PMA_SEL_PORT_XMIT_PACKETS, SHCA_PMA_XMIT_PKTS },
	{ IB_PMA_SEL_PORT_RCV_PACKETS, SHCA_PMA_RCV_PKTS },
}, shca_pma_ext_selects[] = {
	{ IB_PMA_SELX_PORT_XMIT_DATA, SHCA_PMA_XMIT_DATA },
	{ IB_PMA_SELX_PORT_RCV_DATA, SHCA_PMA_RCV_DATA },
	{ IB_PMA_SELX_PORT_XMIT_PACKETS, SHCA_PMA_XMIT_PKTS },
	{ IB_PMA_SELX_PORT_RCV_PACKETS, SHCA_PMA_RCV_PKTS },
	{ IB_PMA_SELX_PORT_UNI_XMIT_PACKETS, SHCA_PMA_XMIT_PKTS },
	{ IB_PMA_SELX_PORT_UNI_RCV_PACKETS, SHCA_PMA_RCV_PKTS },
};

/* Concurrent counts fall into either period. */
static void shca_pma_reset(struct shca_dev *dev, enum shca_pma_counter counter)
{
	WRITE_ONCE(dev->ib->pma_base[counter], shca_pma_total(dev, counter));
}

/* ---- attributes ------------------------------------------------------------- */

static void shca_pma_class(void *data)
{
	struct ib_class_port_info *info = data;

	info->base_version = 1;
	info->class_version = 1;
	info->capability_mask = IB_PMA_CLASS_CAP_EXT_WIDTH |
				IB_PMA_CLASS_CAP_ALLPORTSELECT |
				IB_PMA_CLASS_CAP_XMIT_WAIT;
	info->cap_mask2_resp_time = cpu_to_be32(SHCA_PMA_RESP_TIME);
}

/* Data is in words of 4 bytes. */
static void shca_pma_counters(struct shca_dev *dev, void *data)
{
	struct ib_pma_portcounters *c = data;

	c->symbol_error_counter =
		cpu_to_be16(shca_pma_up_to(dev, SHCA_PMA_SYMBOL_ERRORS, U16_MAX));
	c->link_downed_counter = shca_pma_up_to(dev, SHCA_PMA_LINK_DOWNED, U8_MAX);
	c->port_rcv_errors =
		cpu_to_be16(shca_pma_up_to(dev, SHCA_PMA_RCV_ERRORS, U16_MAX));
	c->port_xmit_discards =
		cpu_to_be16(shca_pma_up_to(dev, SHCA_PMA_XMIT_DISCARDS, U16_MAX));
	c->link_overrun_errors = shca_pma_up_to(dev, SHCA_PMA_INTEGRITY, 15) << 4 |
				 shca_pma_up_to(dev, SHCA_PMA_OVERRUNS, 15);
	c->port_xmit_data =
		cpu_to_be32(shca_pma_up_to(dev, SHCA_PMA_XMIT_DATA, U32_MAX));
	c->port_rcv_data =
		cpu_to_be32(shca_pma_up_to(dev, SHCA_PMA_RCV_DATA, U32_MAX));
	c->port_xmit_packets =
		cpu_to_be32(shca_pma_up_to(dev, SHCA_PMA_XMIT_PKTS, U32_MAX));
	c->port_rcv_packets =
		cpu_to_be32(shca_pma_up_to(dev, SHCA_PMA_RCV_PKTS, U32_MAX));
	c->port_xmit_wait =
		cpu_to_be32(shca_pma_up_to(dev, SHCA_PMA_XMIT_WAIT, U32_MAX));
}

static void shca_pma_counters_ext(struct shca_dev *dev, void *data)
{
	struct ib_pma_portcounters_ext *c = data;

	c->port_xmit_data = cpu_to_be64(shca_pma_value(dev, SHCA_PMA_XMIT_DATA));
	c->port_rcv_data = cpu_to_be64(shca_pma_value(dev, SHCA_PMA_RCV_DATA));
	c->port_xmit_packets = cpu_to_be64(shca_pma_value(dev, SHCA_PMA_XMIT_PKTS));
	c->port_rcv_packets = cpu_to_be64(shca_pma_value(dev, SHCA_PMA_RCV_PKTS));
	c->port_unicast_xmit_packets = c->port_xmit_packets;
	c->port_unicast_rcv_packets = c->port_rcv_packets;
}

/* ---- samples ---------------------------------------------------------------- */

/* CounterSelect of a sample */
static const enum shca_pma_counter shca_pma_sampled[] = {
	[SHCA_IB_SAMPLE_XMIT_DATA] = SHCA_PMA_XMIT_DATA,
	[SHCA_IB_SAMPLE_RCV_DATA] = SHCA_PMA_RCV_DATA,
	[SHCA_IB_SAMPLE_XMIT_PKTS] = SHCA_PMA_XMIT_PKTS,
	[SHCA_IB_SAMPLE_RCV_PKTS] = SHCA_PMA_RCV_PKTS,
};

static void shca_pma_wait(struct shca_ib_link *link, u32 us)
{
	queue_delayed_work(system_unbound_wq, &link->sampling,
			   usecs_to_jiffies(us));
}

/* The selection is constant until the sample is done. */
static void shca_pma_sampling(struct work_struct *work)
{
	struct shca_ib_link *link = container_of(work, struct shca_ib_link,
						 sampling.work);
	u64 now[SHCA_IB_SAMPLES] = {};
	u16 what;
	int i;

	for (i = 0; i < SHCA_IB_SAMPLES; i++) {
		what = READ_ONCE(link->sample.select[i]);
		if (what != SHCA_IB_SAMPLE_NOTHING &&
		    what < ARRAY_SIZE(shca_pma_sampled))
			now[i] = shca_pma_total(link->dev, shca_pma_sampled[what]);
	}
	spin_lock(&link->sample_lock);
	if (shca_ib_sample_step(&link->sample, now))
		shca_pma_wait(link, link->sample.interval);
	spin_unlock(&link->sample_lock);
}

/* Return: the status of the MAD. */
static __be16 shca_pma_control(struct shca_ib_link *link, const u8 *asked,
			       u8 *data, bool set)
{
	if (asked[1] != SHCA_PMA_PORT && asked[1] != SHCA_PMA_ALL_PORTS)
		return SHCA_MAD_FIELD;
	spin_lock(&link->sample_lock);
	if (set && shca_ib_sample_set(&link->sample, asked))
		shca_pma_wait(link, link->sample.start);
	shca_ib_sample_control(&link->sample, data);
	spin_unlock(&link->sample_lock);
	data[1] = asked[1];
	return 0;
}

/* Return: the status of the MAD. */
static __be16 shca_pma_result(struct shca_ib_link *link, bool ext, u8 *data,
			      bool set)
{
	if (set)
		return SHCA_MAD_ATTR;
	spin_lock(&link->sample_lock);
	shca_ib_sample_result(&link->sample, ext, data);
	spin_unlock(&link->sample_lock);
	return 0;
}

void shca_pma_init(struct shca_dev *dev)
{
	if (!shca_ib_of(dev))
		return;
	spin_lock_init(&dev->ib->sample_lock);
	INIT_DELAYED_WORK(&dev->ib->sampling, shca_pma_sampling);
}

void shca_pma_exit(struct shca_dev *dev)
{
	if (dev->ib)
		cancel_delayed_work_sync(&dev->ib->sampling);
}

/* ---- requests --------------------------------------------------------------- */

/* Both attributes begin with the port and the counters that a Set resets. Return: status. */
static __be16 shca_pma_port(struct shca_dev *dev, const void *in, void *data,
			    bool set, bool ext)
{
	const struct ib_pma_portcounters *asked = in;
	struct ib_pma_portcounters *c = data;
	int i;

	if (asked->port_select != SHCA_PMA_PORT &&
	    asked->port_select != SHCA_PMA_ALL_PORTS)
		return SHCA_MAD_FIELD;
	for (i = 0; set && !ext && i < ARRAY_SIZE(shca_pma_selects); i++)
		if (asked->counter_select & shca_pma_selects[i].select)
			shca_pma_reset(dev, shca_pma_selects[i].counter);
	for (i = 0; set && ext && i < ARRAY_SIZE(shca_pma_ext_selects); i++)
		if (asked->counter_select & shca_pma_ext_selects[i].select)
			shca_pma_reset(dev, shca_pma_ext_selects[i].counter);
	/* CounterSelect2 */
	if (set && !ext && asked->reserved1 & SHCA_PMA_SEL2_XMIT_WAIT)
		shca_pma_reset(dev, SHCA_PMA_XMIT_WAIT);
	c->port_select = asked->port_select;
	c->counter_select = asked->counter_select;
	if (ext)
		shca_pma_counters_ext(dev, data);
	else
		shca_pma_counters(dev, data);
	return 0;
}

/* Return: the status of the MAD. */
static __be16 shca_pma_attr(struct shca_dev *dev, const struct ib_mad *in,
			    void *data)
{
	bool set = in->mad_hdr.method == IB_MGMT_METHOD_SET;
	const void *asked = in->data + SHCA_PMA_DATA;

	if (in->mad_hdr.base_version != IB_MGMT_BASE_VERSION ||
	    in->mad_hdr.class_version != 1)
		return SHCA_MAD_VERSION;
	/* Only counters of an InfiniBand port can be reset. */
	if (in->mad_hdr.method != IB_MGMT_METHOD_GET && !(set && dev->ib))
		return SHCA_MAD_METHOD;
	switch (in->mad_hdr.attr_id) {
	case IB_PMA_CLASS_PORT_INFO:
		if (set)
			return SHCA_MAD_ATTR;
		shca_pma_class(data);
		return 0;
	case IB_PMA_PORT_COUNTERS:
		return shca_pma_port(dev, asked, data, set, false);
	case IB_PMA_PORT_COUNTERS_EXT:
		return shca_pma_port(dev, asked, data, set, true);
	}
	if (!shca_ib_of(dev))
		return SHCA_MAD_ATTR;
	switch (in->mad_hdr.attr_id) {
	case IB_PMA_PORT_SAMPLES_CONTROL:
		return shca_pma_control(dev->ib, asked, data, set);
	case IB_PMA_PORT_SAMPLES_RESULT:
		return shca_pma_result(dev->ib, false, data, set);
	case IB_PMA_PORT_SAMPLES_RESULT_EXT:
		return shca_pma_result(dev->ib, true, data, set);
	default:
		return SHCA_MAD_ATTR;
	}
}

int shca_process_mad(struct ib_device *ibdev, int flags, u32 port,
		     const struct ib_wc *wc, const struct ib_grh *grh,
		     const struct ib_mad *in, struct ib_mad *out,
		     size_t *out_size, u16 *out_pkey_index)
{
	struct shca_dev *dev = to_shca_dev(ibdev);

	/* A MAD from the network has a completion; other consumers handle it, and responses. */
	if (wc || port != 1 ||
	    in->mad_hdr.mgmt_class != IB_MGMT_CLASS_PERF_MGMT ||
	    in->mad_hdr.method & IB_MGMT_METHOD_RESP ||
	    in->mad_hdr.method == IB_MGMT_METHOD_TRAP ||
	    in->mad_hdr.method == IB_MGMT_METHOD_TRAP_REPRESS ||
	    in->mad_hdr.method == IB_MGMT_METHOD_REPORT)
		return IB_MAD_RESULT_SUCCESS;
	memset(out, 0, sizeof(*out));
	out->mad_hdr = in->mad_hdr;
	out->mad_hdr.method = IB_MGMT_METHOD_GET_RESP;
	out->mad_hdr.status = shca_pma_attr(dev, in, out->data + SHCA_PMA_DATA);
	return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
}
