/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The one port of a device. */
#ifndef SHCA_PORT_H
#define SHCA_PORT_H

#include <linux/types.h>

struct ib_device;
struct ib_port_attr;
struct shca_dev;

/* Events of the port wait for shca_events_start(). */
void shca_port_init(struct shca_dev *dev);

/* Report a change of the port's state to consumers. Context: RTNL held. */
void shca_port_update(struct shca_dev *dev);

/* operations in struct ib_device_ops */
int shca_query_port_speed(struct ib_device *ibdev, u32 port, u64 *speed);
int shca_query_port(struct ib_device *ibdev, u32 port,
		    struct ib_port_attr *attr);

#endif
