// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The one place where the tracepoints of the connection manager are defined.
 */
#define CREATE_TRACE_POINTS
#include "cm_trace.h"
