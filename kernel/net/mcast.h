/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Multicast groups: which QPs are attached to which, and the memberships of the
 * host by which switches and its own IP stack let their packets in.
 */
#ifndef SHCA_MCAST_H
#define SHCA_MCAST_H

#include <rdma/ib_verbs.h>

struct net;
struct shca_net;
struct shca_qp;
struct sk_buff;

/**
 * shca_mcast_walk() - call @fn for each QP attached to the group of a packet
 * @fn:		@vlan: where the group's device received it
 *
 * Context: softirq.  The QP does not go while @fn runs.
 * Return: how many these were.
 */
unsigned int shca_mcast_walk(struct shca_net *snet, const struct sk_buff *skb,
			     void (*fn)(struct shca_qp *qp, u16 vlan, void *arg),
			     void *arg);

/**
 * shca_mcast_refresh() - a netdev has changed: memberships follow
 *
 * It went, came, was put into a bond or bridge, or lost its IP part for a time.
 * Context: RTNL held.
 */
void shca_mcast_refresh(struct net *net);

/* struct ib_device_ops */
int shca_attach_mcast(struct ib_qp *ibqp, union ib_gid *mgid, u16 mlid);
int shca_detach_mcast(struct ib_qp *ibqp, union ib_gid *mgid, u16 mlid);

#endif
