/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Counts the doorbells of softhca that this program rings, by standing between the
 * provider and ioctl().
 */
#ifndef DOORBELLS_H
#define DOORBELLS_H

#include <stdint.h>

/** my_doorbells - those of this thread, and all_doorbells - of all threads (atomic) */
extern __thread uint32_t my_doorbells;
extern uint32_t all_doorbells;

#endif
