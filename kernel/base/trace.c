// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The one place where the trace events are instantiated. */
#define CREATE_TRACE_POINTS
#include "trace.h"
