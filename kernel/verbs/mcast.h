/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Multicast: QPs attach to groups, and the host joins them. */
#ifndef SHCA_MCAST_H
#define SHCA_MCAST_H

#include <rdma/ib_verbs.h>

struct shca_net;

/*
 * Update memberships after a netdev went, came, entered a bond or bridge, or lost its IP part
 * for a time.
 * Context: RTNL held.
 */
void shca_mcast_refresh(struct shca_net *snet);

/* operations in struct ib_device_ops */
int shca_attach_mcast(struct ib_qp *ibqp, union ib_gid *mgid, u16 mlid);
int shca_detach_mcast(struct ib_qp *ibqp, union ib_gid *mgid, u16 mlid);

#endif
