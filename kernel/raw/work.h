/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What a bring-up by hand does when something has happened to it, or when it is time.
 */
#ifndef SRN_RAW_WORK_H
#define SRN_RAW_WORK_H

struct work_struct;

void srn_raw_work(struct work_struct *work);

#endif /* SRN_RAW_WORK_H */
