/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Flow steering: rules that give Ethernet frames to RAW_PACKET QPs */
#ifndef SHCA_FLOW_H
#define SHCA_FLOW_H

#include <rdma/ib_verbs.h>

struct shca_dev;

/* Prepare a device without rules. */
void shca_flow_init_dev(struct shca_dev *dev);
/* Undo it. The device is unregistered and has no rules. */
void shca_flow_exit_dev(struct shca_dev *dev);

/* operations in struct ib_device_ops */
struct ib_flow *shca_create_flow(struct ib_qp *ibqp, struct ib_flow_attr *attr,
				 struct ib_udata *udata);
int shca_destroy_flow(struct ib_flow *ibflow);

#endif
