/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The InfiniBand link: an InfiniBand port on an Ethernet netdev. docs/infiniband.md
 * has the frames.
 */
#ifndef SHCA_IB_H
#define SHCA_IB_H

#include <linux/netdevice.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "../base/dev.h"
#include "../core/ib_hello.h"
#include "../core/ib_sma.h"
#include "link.h"

extern const struct shca_link_ops shca_ib_ops;

/**
 * struct shca_ib_link - the port of an InfiniBand link
 * @ptype:	receives the netdev's frames while @running
 * @hello:	sends hellos and notices that none come
 * @lock:	protects all below; taken in softirq
 * @running:	frames are received and sent
 * @phy:	physical state
 * @sma:	state and other attributes, as a subnet manager sees them
 */
struct shca_ib_link {
	struct shca_dev *dev;
	struct packet_type ptype;
	struct delayed_work hello;
	spinlock_t lock;
	bool running;
	struct shca_ib_port phy;
	struct shca_ib_sma sma;
};

/**
 * shca_ib_init_dev() - make the port of an InfiniBand device
 *
 * Context: may sleep. Return: 0 or errno. Undone by shca_ib_exit_dev().
 */
int shca_ib_init_dev(struct shca_dev *dev);
void shca_ib_exit_dev(struct shca_dev *dev);

/**
 * shca_ib_start() - begin to send and receive; nothing on a RoCE device
 *
 * Context: may sleep. Undone by shca_ib_stop(), before the RDMA core takes the device
 * from its consumers.
 */
void shca_ib_start(struct shca_dev *dev);
void shca_ib_stop(struct shca_dev *dev);

/**
 * shca_ib_process_smp() - give a subnet management packet to the port's agent
 * @in: @out:	SHCA_IB_MAD_BYTES each
 *
 * Context: any. Return: as shca_ib_smp().
 */
u32 shca_ib_process_smp(struct shca_dev *dev, const void *in, void *out,
			bool trusted);

/** shca_ib_carrier() - the netdev may have changed: up, carrier, MTU; any context */
void shca_ib_carrier(struct shca_dev *dev);

#endif
