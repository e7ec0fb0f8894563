// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Instantiates the trace events. */
#define CREATE_TRACE_POINTS
#include "trace.h"
