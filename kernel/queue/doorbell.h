/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The bell: how a process tells that it has written requests.
 */
#ifndef SHCA_BELL_H
#define SHCA_BELL_H

#include <rdma/uverbs_ioctl.h>

/** shca_bell_defs - what this driver adds to uverbs; ib_device.driver_def */
extern const struct uapi_definition shca_bell_defs[];

#endif
