// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// does the driver say how long its struct rdma_counter is?
#include <rdma/ib_verbs.h>

const struct ib_device_ops probe = { .size_rdma_counter = 1 };
