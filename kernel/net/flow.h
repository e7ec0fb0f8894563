/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Flow steering: which Ethernet frames go to which RAW_PACKET QPs, past the
 * host's own stack or beside it.
 */
#ifndef SHCA_FLOW_H
#define SHCA_FLOW_H

#include <rdma/ib_verbs.h>

struct shca_dev;

/** shca_flow_init_dev() - no rules yet */
void shca_flow_init_dev(struct shca_dev *dev);
/** shca_flow_exit_dev() - the device is unregistered: no rule is left */
void shca_flow_exit_dev(struct shca_dev *dev);

/* struct ib_device_ops */
struct ib_flow *shca_create_flow(struct ib_qp *ibqp, struct ib_flow_attr *attr,
				 struct ib_udata *udata);
int shca_destroy_flow(struct ib_flow *ibflow);

#endif
