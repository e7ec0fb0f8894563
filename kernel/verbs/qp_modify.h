/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* State changes of a QP, and its attributes */
#ifndef SHCA_QP_MODIFY_H
#define SHCA_QP_MODIFY_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct shca_qp;

/* Reset the state of both sides. Context: both locks held. */
void shca_qp_reset_locked(struct shca_qp *qp);

/* struct ib_device_ops */
int shca_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_udata *udata);

#endif
