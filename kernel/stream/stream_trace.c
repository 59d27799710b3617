// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The one place where the tracepoints of streams are defined.
 */
#define CREATE_TRACE_POINTS
#include "stream_trace.h"
