/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The port of an InfiniBand device: attributes for the RDMA core. */
#ifndef SHCA_IB_PORT_H
#define SHCA_IB_PORT_H

#include <rdma/ib_verbs.h>

/* operations in struct ib_device_ops */
enum rdma_link_layer shca_ib_link_layer(struct ib_device *ibdev, u32 port);
int shca_ib_port_immutable(struct ib_device *ibdev, u32 port,
			   struct ib_port_immutable *immutable);
int shca_ib_modify_device(struct ib_device *ibdev, int mask,
			  struct ib_device_modify *modify);
int shca_ib_modify_port(struct ib_device *ibdev, u32 port, int mask,
			struct ib_port_modify *modify);
int shca_ib_process_mad(struct ib_device *ibdev, int flags, u32 port,
			const struct ib_wc *wc, const struct ib_grh *grh,
			const struct ib_mad *in, struct ib_mad *out,
			size_t *out_size, u16 *out_pkey_index);
int shca_ib_query_gid(struct ib_device *ibdev, u32 port, int index,
		      union ib_gid *gid);
int shca_ib_query_port(struct ib_device *ibdev, u32 port,
		       struct ib_port_attr *attr);
int shca_ib_query_port_speed(struct ib_device *ibdev, u32 port, u64 *speed);

#endif
