/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Multicast groups of a namespace and their QPs. verbs/mcast.c changes them; readers use RCU. */
#ifndef SHCA_GROUP_H
#define SHCA_GROUP_H

#include <linux/in6.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <net/ipv6.h>

#include "../base/netns.h"

struct in_device;
struct inet6_dev;
struct shca_dev;
struct shca_link_ops;
struct shca_qp;
struct sk_buff;

/* A QP that is attached to a group. */
struct shca_group_member {
	struct list_head node;
	struct rcu_head rcu;
	struct shca_qp *qp;
};

/*
 * A group in which a device has QPs, at least one. @in_dev or @idev is the IP part of the
 * netdev that has joined, with a reference; they change under RTNL. Both are NULL while none
 * could join, and on an InfiniBand port.
 */
struct shca_group {
	struct hlist_node node;
	struct rcu_head rcu;
	struct shca_dev *dev;
	struct in6_addr mgid;
	struct list_head members;
	unsigned int nr_members;
	struct in_device *in_dev;
	struct inet6_dev *idev;
};

/* The hash chain of a group. */
static inline struct hlist_head *
shca_group_chain(struct shca_net *snet, const struct in6_addr *mgid)
{
	return &snet->groups[ipv6_addr_hash(mgid) % SHCA_MCAST_CHAINS];
}

/*
 * Call @fn for each QP attached to the group of a packet.
 * @fn:		@vlan: where the group's device received it. The QP does not go meanwhile
 * Context: softirq.
 * Return: the number of these QPs.
 */
unsigned int shca_group_walk(const struct shca_link_ops *link,
			     struct shca_net *snet, const struct sk_buff *skb,
			     void (*fn)(struct shca_qp *qp, u16 vlan, void *arg),
			     void *arg);

#endif
