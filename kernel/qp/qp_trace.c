// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The one place where the tracepoints of queue pairs are defined.
 */
#define CREATE_TRACE_POINTS
#include "qp_trace.h"
