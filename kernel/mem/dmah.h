/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * DMA handles, on kernels that have them: which CPU's cache a device's writes should go to, as
 * hints of the PCIe bus (TLP processing hints).  Here a CPU writes, through its own
 * cache, so a handle is checked as a device with a bus does and then has no effect.
 */
#ifndef SHCA_DMAH_H
#define SHCA_DMAH_H

#include <rdma/ib_verbs.h>

#ifdef HAVE_ALLOC_DMAH
/* struct ib_device_ops */
int shca_alloc_dmah(struct ib_dmah *dmah, struct uverbs_attr_bundle *attrs);
int shca_dealloc_dmah(struct ib_dmah *dmah, struct uverbs_attr_bundle *attrs);
#endif

#endif
