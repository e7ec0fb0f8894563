/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A kernel that is made up, for `softhca top`: kernel.c answers what rtnl.c would ask. */
#ifndef KERNEL_H
#define KERNEL_H

#include "dev/top.h"

#define QPS_OF_A_PROCESS	10

/* Queue pairs that there are, half of them of each of two devices */
extern uint32_t nr_qps;
/* How often it was asked: each time queue pair i has done i more requests. */
extern unsigned int nr_looks;
/* This one has errors, the more the more often it was asked. */
extern uint32_t failing_qp;

/* The compiler calls it in what is counted. */
void __sanitizer_cov_trace_pc(void);

/** number_of() - of queue pair @i: as the kernel draws them, in no order, each once */
uint32_t number_of(uint32_t i);

#endif
