/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The doorbell: how a process tells that it has written requests.
 */
#ifndef SHCA_DOORBELL_H
#define SHCA_DOORBELL_H

#include <rdma/uverbs_ioctl.h>

/* What this driver adds to uverbs; ib_device.driver_def. */
extern const struct uapi_definition shca_doorbell_defs[];

#endif
