/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The secret of a link. Hosts that share it prove to each other that they know it, without telling
 * it: raw/proof.h.
 */
#ifndef SRN_SECRET_H
#define SRN_SECRET_H

#include "device.h"

/* Bytes that a secret has. Who can send requests may guess shorter ones, without asking again. */
#define SRN_SECRET_MIN	16
#define SRN_SECRET_MAX	1024

/* Bytes of a message authentication code: HMAC of RFC 2104 with SHA-256. */
#define SRN_SECRET_MAC	32

int srn_secret_set(struct srn_device *dev, const u8 *secret, size_t len);
bool srn_secret_is_set(const struct srn_device *dev);
int srn_secret_mac(struct srn_device *dev, const void *data, u32 len, u8 *mac);

#endif /* SRN_SECRET_H */
