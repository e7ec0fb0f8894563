/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Limits and capabilities that a device reports */
#ifndef SHCA_ATTR_H
#define SHCA_ATTR_H

#include <rdma/ib_verbs.h>

/* Reported by query_device and sysfs */
#define SHCA_HW_VER	1

/* struct ib_device_ops */
int shca_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
		      struct ib_udata *udata);
void shca_fw_str(struct ib_device *ibdev, char *str);

#endif
