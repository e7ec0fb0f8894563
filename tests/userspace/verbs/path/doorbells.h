/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Counts the doorbells that softhca's provider rings in this program, by
 * intercepting ioctl().
 */
#ifndef DOORBELLS_H
#define DOORBELLS_H

#include <stdint.h>

/** my_doorbells - count of this thread; all_doorbells - of all threads (atomic) */
extern __thread uint32_t my_doorbells;
extern uint32_t all_doorbells;

#endif
