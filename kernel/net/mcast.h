/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * QPs join and leave multicast groups, and so does the host, so that switches and
 * its own IP stack let the packets in.
 */
#ifndef SHCA_MCAST_H
#define SHCA_MCAST_H

#include <rdma/ib_verbs.h>

struct net;

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
