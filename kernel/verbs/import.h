/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Import of a context and of its objects by another process */
#ifndef SHCA_IMPORT_H
#define SHCA_IMPORT_H

#include <rdma/uverbs_ioctl.h>

/* Uverbs methods for import */
extern const struct uapi_definition shca_import_defs[];

/* operations in struct ib_device_ops */
int shca_query_ucontext(struct ib_ucontext *uctx,
			struct uverbs_attr_bundle *attrs);

#endif
