// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The port: attributes, computed from the netdev, and changes of its state */
#include "port.h"

#include <linux/ethtool.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

#include "../base/dev.h"
#include "../ib/ib_link.h"
#include "../inject/fault.h"
#include "../link/link.h"

/* Without the smallest path MTU there is no link. */
static bool shca_port_is_up(const struct shca_dev *dev)
{
	return netif_running(dev->ndev) && netif_carrier_ok(dev->ndev) &&
	       dev->link->mtu(dev);
}

/*
 * Speed and width, which the RDMA core computes from ethtool. But it logs a line for each
 * netdev without a speed (dummy, lo, ...), and fails for one that is being removed, so these
 * cases are handled here.
 */
static void shca_port_speed(struct shca_dev *dev, u32 port,
			    struct ib_port_attr *attr)
{
	struct ethtool_link_ksettings link = {};
	bool known;

	rtnl_lock();
	known = dev->ndev->reg_state == NETREG_REGISTERED &&
		!__ethtool_get_link_ksettings(dev->ndev, &link) &&
		link.base.speed != (u32)SPEED_UNKNOWN;
	rtnl_unlock();
	WRITE_ONCE(dev->port.mbps, known ? link.base.speed : 0);
	if (known && !ib_get_eth_speed(&dev->ibdev, port, &attr->active_speed,
				       &attr->active_width))
		return;
	attr->active_speed = IB_SPEED_SDR;
	attr->active_width = IB_WIDTH_1X;
}

int shca_query_port(struct ib_device *ibdev, u32 port,
		    struct ib_port_attr *attr)
{
	struct shca_dev *dev = to_shca_dev(ibdev);
	bool up = shca_port_is_up(dev);
	int err = shca_fault_verb(ibdev, SHCA_FAULT_VERB_QUERY_PORT);

	if (err)
		return err;
	/* The caller has zeroed the other members. */
	attr->state = up ? IB_PORT_ACTIVE : IB_PORT_DOWN;
	attr->phys_state = up ? IB_PORT_PHYS_STATE_LINK_UP :
				IB_PORT_PHYS_STATE_DISABLED;
	if (netif_running(dev->ndev) && !netif_carrier_ok(dev->ndev))
		attr->phys_state = IB_PORT_PHYS_STATE_POLLING;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = dev->link->mtu(dev) ?: IB_MTU_256;
	attr->gid_tbl_len = ibdev->port_data ?
			    ibdev->port_data[port].immutable.gid_tbl_len : 0;
	attr->ip_gids = true;
	attr->port_cap_flags = IB_UVERBS_PCF_CM_SUP;
	attr->max_msg_sz = 1u << 31;
	attr->pkey_tbl_len = shca_limit(dev, PKEYS);
	attr->bad_pkey_cntr = min_t(u64, U16_MAX,
				    shca_counter_total(dev, SHCA_CNT_RX_PKEY));
	attr->qkey_viol_cntr = min_t(u64, U16_MAX,
				     shca_counter_total(dev, SHCA_CNT_RX_QKEY));
	attr->max_vl_num = 1;
	shca_port_speed(dev, port, attr);
	return 0;
}

#ifdef HAVE_QUERY_PORT_SPEED
/* Speed in units of 100 Mbit/s, from the port's speed and width */
int shca_query_port_speed(struct ib_device *ibdev, u32 port, u64 *speed)
{
	struct ib_port_speed_info info;
	struct ib_port_attr attr = {};
	int err;

	shca_port_speed(to_shca_dev(ibdev), port, &attr);
	err = ib_port_attr_to_speed_info(&attr, &info);
	if (!err)
		*speed = info.rate;
	return err;
}
#endif

static void shca_port_tell(struct shca_events *events, enum ib_event_type type)
{
	struct ib_event ev = {
		.device = &container_of(events, struct shca_dev, events)->ibdev,
		.element.port_num = 1,
		.event = type,
	};

	ib_dispatch_event(&ev);
}

void shca_port_init(struct shca_dev *dev)
{
	shca_events_init(&dev->events, false, SHCA_EVENT_PORT_GAP_NS,
			 shca_port_tell);
	shca_events_stop(&dev->events, false);
}

void shca_port_update(struct shca_dev *dev)
{
	bool up = shca_port_is_up(dev);

	if (shca_ib_of(dev)) {
		shca_ib_carrier(dev);
		return;
	}
	if (up == dev->port.up)
		return;
	dev->port.up = up;
	if (up)
		WRITE_ONCE(dev->port.up_at, jiffies ?: 1);
	else
		atomic_inc(&dev->port.downed);
	shca_event(&dev->events, up ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR);
}
