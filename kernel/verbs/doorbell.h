/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The doorbell, by which a process makes the kernel read the rings of a QP */
#ifndef SHCA_DOORBELL_H
#define SHCA_DOORBELL_H

#include <rdma/uverbs_ioctl.h>

/* Methods of uverbs; part of ib_device.driver_def. */
extern const struct uapi_definition shca_doorbell_defs[];

#endif
