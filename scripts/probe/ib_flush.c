// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// does the RDMA core know FLUSH and ATOMIC WRITE?
#include <rdma/ib_verbs.h>

u64 probe = IB_DEVICE_FLUSH_GLOBAL | IB_DEVICE_ATOMIC_WRITE;
int probe_access = IB_ACCESS_FLUSH_GLOBAL;
