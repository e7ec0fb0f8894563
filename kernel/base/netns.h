/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * State per network namespace: the sockets of the link (roce/net.c), and the tables by which
 * received packets find QPs (queue/qp_table.c, queue/group.c).
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
struct shca_personality;
struct socket;

/* IPv4 and IPv6 */
#define SHCA_NF_HOOKS 2

/* A freed QP number is reused after this many others were freed. */
#define SHCA_FREED_QPNS		128
/* Hash buckets of multicast groups. */
#define SHCA_MCAST_CHAINS	256

/**
 * struct shca_net - state of one network namespace
 * @net:	the namespace
 * @node:	in the list of all namespaces, read under RCU
 * @lock:	protects @users and the sockets
 * @users:	number of RoCE devices; the sockets are open while it is not 0
 * @sk4:	UDP socket of IPv4
 * @sk6:	that of IPv6; NULL if IPv6 is off
 * @hooks:	netfilter hooks that take batches at LOCAL_IN (roce/udp.c)
 * @qps:	struct shca_qp by number; read under RCU
 * @freed_lock:	protects @freed and @nr_freed
 * @freed:	QP numbers freed lately; ring
 * @nr_freed:	how many were freed, free-running
 * @mgmt_lock:	held to change @mgmt
 * @mgmt:	QP0 and QP1 of each device, oldest first; read under RCU
 * @groups_lock: held to change @groups
 * @groups:	struct shca_group by MGID; read under RCU
 * @next:	personality of the next device, or NULL: native. Replaced as a whole
 * @refs:	calls and devices that use this struct; the end of the namespace waits for
 *		them. @lock is not enough: a task that unlocks a mutex may still read it when
 *		the next owner holds it
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
	spinlock_t mgmt_lock;
	struct list_head mgmt;
	struct mutex groups_lock;
	struct hlist_head groups[SHCA_MCAST_CHAINS];
	struct shca_personality *next;
	atomic_t refs;
};

#endif
