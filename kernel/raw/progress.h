/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The work of a bring-up, which goes as far as possible.
 */
#ifndef SRN_RAW_PROGRESS_H
#define SRN_RAW_PROGRESS_H

#include "raw.h"

void srn_raw_progress(struct work_struct *work);

#endif /* SRN_RAW_PROGRESS_H */
