/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The RoCEv2 link. */
#ifndef SHCA_ROCE_H
#define SHCA_ROCE_H

#include "../link/link.h"

extern const struct shca_link_ops shca_roce_ops;

/* Compute the ICRC tables, after shca_icrc_init(). */
void shca_roce_init(void);

#endif
