/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Parameters of congestion control in sysfs: /sys/class/infiniband/DEVICE/ports/1/cc_params,
 * a file each, with the names and units of mlx5 (its debugfs cc_params).  Writing needs
 * root of the initial user namespace, and counts at once for all queue pairs.
 */
#ifndef SHCA_CC_PARAMS_H
#define SHCA_CC_PARAMS_H

struct attribute_group;

/** shca_port_groups - ib_device_ops.port_groups */
extern const struct attribute_group *shca_port_groups[];

#endif
