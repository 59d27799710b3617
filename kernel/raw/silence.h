/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What happens to sends when the host of a queue pair's peer has vanished.
 */
#ifndef SRN_RAW_SILENCE_H
#define SRN_RAW_SILENCE_H

#include "raw.h"

void srn_raw_silence_begin(struct srn_raw *raw);
void srn_raw_silence_end(struct srn_raw *raw);
void srn_raw_silence_work(struct work_struct *work);

#endif /* SRN_RAW_SILENCE_H */
