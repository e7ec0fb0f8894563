/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Sends the traps of an InfiniBand port (ib/core/ib_trap.h) to the subnet manager. */
#ifndef SHCA_LINK_IB_TRAP_H
#define SHCA_LINK_IB_TRAP_H

struct shca_ib_link;

/* Before all other functions of this header */
void shca_ib_trap_init_dev(struct shca_ib_link *link);

/* Permit traps, once the RDMA core serves management packets of the port. May sleep. */
void shca_ib_trap_start(struct shca_ib_link *link);
void shca_ib_trap_stop(struct shca_ib_link *link);

/* Schedule the next trap, if there is one; under the lock of @link. */
void shca_ib_trap_arm(struct shca_ib_link *link);

#endif
