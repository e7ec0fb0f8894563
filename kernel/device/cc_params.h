/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Parameters of congestion control in sysfs: /sys/class/infiniband/DEVICE/ports/1/cc_params,
 * a file each, with the names and units of mlx5 (its debugfs cc_params). Writing needs root
 * of the initial user namespace. It takes effect at once for all QPs, except
 * np_min_time_between_cnps, which a QP takes over as it goes to RTR.
 */
#ifndef SHCA_CC_PARAMS_H
#define SHCA_CC_PARAMS_H

struct attribute_group;

/* struct ib_device_ops.port_groups */
extern const struct attribute_group *shca_port_groups[];

#endif
