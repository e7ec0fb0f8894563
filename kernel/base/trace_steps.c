// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Instantiates the trace events of further steps. */
#define CREATE_TRACE_POINTS
#include "trace_steps.h"
