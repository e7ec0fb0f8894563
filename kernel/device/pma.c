// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The performance management agent, for the RDMA core: it reads
 * /sys/class/infiniband/<device>/ports/1/counters from it (IBTA 16.1.3). It
 * answers nobody on the network: a RoCE port has no subnet manager, and the
 * counters are private.
 */
#include "pma.h"

#include <rdma/ib_mad.h>
#include <rdma/ib_pma.h>
#include <rdma/ib_verbs.h>

#include "../base/counters.h"
#include "../base/dev.h"

/* Offset of the attribute in the data of a performance MAD. */
#define SHCA_PMA_DATA	40

static u64 shca_port_rcv_errors(struct shca_dev *dev)
{
	return shca_counter_total(dev, SHCA_CNT_RX_SHORT) +
	       shca_counter_total(dev, SHCA_CNT_RX_HEADER) +
	       shca_counter_total(dev, SHCA_CNT_RX_ICRC) +
	       shca_counter_total(dev, SHCA_CNT_RX_VCRC);
}

static u64 shca_port_xmit_discards(struct shca_dev *dev)
{
	return shca_counter_total(dev, SHCA_CNT_TX_NO_ROUTE) +
	       shca_counter_total(dev, SHCA_CNT_TX_NO_MEM) +
	       shca_counter_total(dev, SHCA_CNT_TX_DROP);
}

static void shca_pma_class(struct shca_dev *dev, void *data)
{
	struct ib_class_port_info *info = data;

	info->base_version = 1;
	info->class_version = 1;
	info->capability_mask = IB_PMA_CLASS_CAP_EXT_WIDTH;
}

/* These counters stick at their maximum (16.1.3.5) and count data in words of 4 bytes. */
static void shca_pma_counters(struct shca_dev *dev, void *data)
{
	struct ib_pma_portcounters *c = data;

	c->port_select = 1;
	c->link_downed_counter =
		min_t(u32, atomic_read(&dev->link_downed), U8_MAX);
	c->port_rcv_errors =
		cpu_to_be16(min_t(u64, shca_port_rcv_errors(dev), U16_MAX));
	c->port_xmit_discards =
		cpu_to_be16(min_t(u64, shca_port_xmit_discards(dev), U16_MAX));
	c->port_xmit_data = cpu_to_be32(min_t(u64,
		shca_counter_total(dev, SHCA_CNT_TX_BYTES) / 4, U32_MAX));
	c->port_rcv_data = cpu_to_be32(min_t(u64,
		shca_counter_total(dev, SHCA_CNT_RX_BYTES) / 4, U32_MAX));
	c->port_xmit_packets = cpu_to_be32(min_t(u64,
		shca_counter_total(dev, SHCA_CNT_TX_PKTS), U32_MAX));
	c->port_rcv_packets = cpu_to_be32(min_t(u64,
		shca_counter_total(dev, SHCA_CNT_RX_PKTS), U32_MAX));
}

static void shca_pma_counters_ext(struct shca_dev *dev, void *data)
{
	struct ib_pma_portcounters_ext *c = data;

	c->port_select = 1;
	c->port_xmit_data =
		cpu_to_be64(shca_counter_total(dev, SHCA_CNT_TX_BYTES) / 4);
	c->port_rcv_data =
		cpu_to_be64(shca_counter_total(dev, SHCA_CNT_RX_BYTES) / 4);
	c->port_xmit_packets =
		cpu_to_be64(shca_counter_total(dev, SHCA_CNT_TX_PKTS));
	c->port_rcv_packets =
		cpu_to_be64(shca_counter_total(dev, SHCA_CNT_RX_PKTS));
	c->port_unicast_xmit_packets = c->port_xmit_packets;
	c->port_unicast_rcv_packets = c->port_rcv_packets;
}

int shca_process_mad(struct ib_device *ibdev, int flags, u32 port,
		     const struct ib_wc *wc, const struct ib_grh *grh,
		     const struct ib_mad *in, struct ib_mad *out,
		     size_t *out_size, u16 *out_pkey_index)
{
	struct shca_dev *dev = to_shca_dev(ibdev);
	void *data = out->data + SHCA_PMA_DATA;

	/* A MAD from the network has a completion; other consumers handle it. */
	if (wc || port != 1 ||
	    in->mad_hdr.mgmt_class != IB_MGMT_CLASS_PERF_MGMT ||
	    in->mad_hdr.method != IB_MGMT_METHOD_GET)
		return IB_MAD_RESULT_SUCCESS;
	memset(out, 0, sizeof(*out));
	out->mad_hdr = in->mad_hdr;
	out->mad_hdr.method = IB_MGMT_METHOD_GET_RESP;
	switch (in->mad_hdr.attr_id) {
	case IB_PMA_CLASS_PORT_INFO:
		shca_pma_class(dev, data);
		break;
	case IB_PMA_PORT_COUNTERS:
		shca_pma_counters(dev, data);
		break;
	case IB_PMA_PORT_COUNTERS_EXT:
		shca_pma_counters_ext(dev, data);
		break;
	default:
		return IB_MAD_RESULT_SUCCESS;
	}
	return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
}
