// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * GIDs of a device on a netdev that is not Ethernet (`lo`, tun). The RDMA core follows
 * address changes of Ethernet netdevs only, so this file makes it rescan such netdevs. A
 * rescan adds new GIDs. An address that was removed keeps its GID until the device goes.
 */
#include "lo.h"

#include <linux/if_arp.h>
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <rdma/ib_verbs.h>

#include "device.h"

static void shca_lo_rescan(struct work_struct *work)
{
	struct shca_dev *dev = container_of(work, struct shca_dev, rescan);

	rdma_roce_rescan_device(&dev->ibdev);
	ib_device_put(&dev->ibdev);	/* shca_lo_schedule() */
}

static int shca_lo_schedule(struct shca_dev *dev, int idx, void *arg)
{
	if (dev->ndev->type == ARPHRD_ETHER || !ib_device_try_get(&dev->ibdev))
		return 0;
	if (!schedule_work(&dev->rescan))
		ib_device_put(&dev->ibdev);
	return 0;
}

/* Rescan all: the netdev of the event may be gone by now. */
static void shca_lo_walk(struct work_struct *work)
{
	shca_dev_walk(0, shca_lo_schedule, NULL);
}

static DECLARE_WORK(shca_lo_walk_work, shca_lo_walk);

/* Deferred: a rescan takes RTNL, and the list of devices has a mutex, but a notifier is atomic. */
static int shca_lo_changed(const struct net_device *ndev, unsigned long event)
{
	if (event == NETDEV_UP && ndev->type != ARPHRD_ETHER)
		schedule_work(&shca_lo_walk_work);
	return NOTIFY_DONE;
}

static int shca_lo_inetaddr(struct notifier_block *nb, unsigned long event,
			    void *arg)
{
	return shca_lo_changed(((struct in_ifaddr *)arg)->ifa_dev->dev, event);
}

static struct notifier_block shca_lo_inetaddr_nb = {
	.notifier_call = shca_lo_inetaddr,
};

static int shca_lo_inet6addr(struct notifier_block *nb, unsigned long event,
			     void *arg)
{
	return shca_lo_changed(((struct inet6_ifaddr *)arg)->idev->dev, event);
}

static struct notifier_block shca_lo_inet6addr_nb = {
	.notifier_call = shca_lo_inet6addr,
};

void shca_lo_init_dev(struct shca_dev *dev)
{
	INIT_WORK(&dev->rescan, shca_lo_rescan);
}

void shca_lo_exit_dev(struct shca_dev *dev)
{
	/* The work has dropped its reference, but may not have returned. */
	cancel_work_sync(&dev->rescan);
}

int shca_lo_init(void)
{
	int err;

	err = register_inetaddr_notifier(&shca_lo_inetaddr_nb);
	if (err)
		return err;
	err = register_inet6addr_notifier(&shca_lo_inet6addr_nb);
	if (err)
		unregister_inetaddr_notifier(&shca_lo_inetaddr_nb);
	return err;
}

void shca_lo_exit(void)
{
	unregister_inet6addr_notifier(&shca_lo_inet6addr_nb);
	unregister_inetaddr_notifier(&shca_lo_inetaddr_nb);
	cancel_work_sync(&shca_lo_walk_work);
}
