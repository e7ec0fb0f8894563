/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Creates, finds and changes devices. */
#ifndef SHCA_DEVICE_H
#define SHCA_DEVICE_H

#include "../base/dev.h"

/*
 * Set an entry of the P_Key table; tells consumers.
 * @index:	from 1 on, in the table of a RoCE device; the caller has checked that
 * Context: may sleep.
 */
void shca_dev_set_pkey(struct shca_dev *dev, u32 index, u16 pkey);

/*
 * `rdma link add`: struct rdma_link_ops.newlink. It takes the personality that waits in the
 * netdev's network namespace, whatever it returns.
 * Context: process, without RTNL.
 * Return: 0, -EADDRINUSE (port 4791 has another owner), -EEXIST (the name is in use), -EINVAL
 * (not an Ethernet netdev), -ENODEV (the netdev is being removed), -ENOMEM.
 */
int shca_newlink(const char *name, struct net_device *ndev);

/*
 * The same for a device with an InfiniBand port.
 * Return: as shca_newlink(), without -EADDRINUSE. -EINVAL: also, the netdev's MTU is too small.
 */
int shca_newlink_ib(const char *name, struct net_device *ndev);

/* Find a registered device by name, or NULL; put: ib_device_put(). */
struct shca_dev *shca_dev_find(const char *name);

/*
 * Call @fn for each registered device from index @start on.
 * Context: may sleep. A non-zero return value of @fn ends the walk and is returned.
 */
int shca_dev_walk(int start, int (*fn)(struct shca_dev *dev, int idx,
				       void *arg), void *arg);

/*
 * Name of the device with this id, if @net may see it.
 * @net:	NULL to see all devices
 * Context: within the @fn of shca_dev_walk().
 * Return: NULL if there is no such device, or it is not visible.
 */
const char *shca_dev_name_of(u64 id, struct net *net);

/*
 * Register the client and the notifiers.
 * Return: 0 or errno. Undone by shca_dev_exit(), once no device is left.
 */
int shca_dev_init(void);
void shca_dev_exit(void);

#endif
