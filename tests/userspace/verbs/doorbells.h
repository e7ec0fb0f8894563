/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Counts the bells of softhca that this program rings, by standing between the
 * provider and ioctl().
 */
#ifndef BELLS_H
#define BELLS_H

#include <stdint.h>

/** my_bells - those of this thread, and all_bells - of all threads (atomic) */
extern __thread uint32_t my_bells;
extern uint32_t all_bells;

#endif
