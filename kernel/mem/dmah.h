/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * DMA handles, on kernels that have them. A handle names the CPU whose cache a device should
 * write to, as PCIe TLP processing hints (TPH) do. softhca's writes are those of a CPU,
 * through its own cache. So a handle is checked as a PCIe device checks it, and has no
 * effect.
 */
#ifndef SHCA_DMAH_H
#define SHCA_DMAH_H

#include <rdma/ib_verbs.h>

#ifdef HAVE_ALLOC_DMAH
/* operations in struct ib_device_ops */
int shca_alloc_dmah(struct ib_dmah *dmah, struct uverbs_attr_bundle *attrs);
int shca_dealloc_dmah(struct ib_dmah *dmah, struct uverbs_attr_bundle *attrs);
#endif

#endif
