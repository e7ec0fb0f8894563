/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What softhca has per network namespace: the sockets of its link (net/net.c), and
 * the tables by which received packets find QPs (queue/qp_table.c, queue/group.c).
 */
#ifndef SHCA_NETNS_H
#define SHCA_NETNS_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/netfilter.h>
#include <linux/rhashtable.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct net;
struct socket;

/* One for IPv4, one for IPv6. */
#define SHCA_NF_HOOKS 2

/* Numbers of QPs that are not given again before so many others were freed. */
#define SHCA_FREED_QPNS		128
/* Hash chains of multicast groups. */
#define SHCA_MCAST_CHAINS	256

/**
 * struct shca_net - per network namespace
 * @node:	in the list of all, read under RCU
 * @lock:	@users and the sockets
 * @users:	devices; the sockets are open while there are any
 * @sk4: @sk6:	@sk6 is NULL where IPv6 is off
 * @hooks:	take batches at LOCAL_IN (net/udp.c)
 * @qps:	struct shca_qp by number; read under RCU
 * @freed: @nr_freed: numbers that QPs had lately; under @freed_lock
 * @gsi:	QP1 of each device, oldest first; changed under @gsi_lock, read
 *		under RCU
 * @groups:	struct shca_mcast_group by MGID; see group.c
 * @refs:	calls and devices that use this struct; it is waited for before
 *		the namespace frees it (the mutex could not tell: its unlocker
 *		may still look at it when the next owner has it already)
 */
struct shca_net {
	struct net *net;
	struct list_head node;
	struct mutex lock;
	int users;
	struct socket *sk4;
	struct socket *sk6;
	struct nf_hook_ops hooks[SHCA_NF_HOOKS];
	struct rhashtable qps;
	spinlock_t freed_lock;
	u32 freed[SHCA_FREED_QPNS];
	u32 nr_freed;
	spinlock_t gsi_lock;
	struct list_head gsi;
	struct hlist_head groups[SHCA_MCAST_CHAINS];
	atomic_t refs;
};

#endif
