// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The secret of a link: a keyed hash, which is replaced as a whole.
 */
#include <crypto/hash.h>

#include "secret.h"

static struct crypto_shash *new_hash(const u8 *secret, size_t len)
{
	struct crypto_shash *hash = crypto_alloc_shash("hmac(sha256)", 0, 0);
	int ret;

	if (IS_ERR(hash))
		return hash;
	ret = crypto_shash_setkey(hash, secret, len);
	if (ret) {
		crypto_free_shash(hash);
		return ERR_PTR(ret);
	}
	return hash;
}

/**
 * srn_secret_set - give a link a secret, or take it away
 * @dev: link
 * @secret: new secret
 * @len: bytes; 0: the link has none from now on
 *
 * Context: process, sleeps.
 *
 * Return: 0; -EINVAL if it is too short or too long; -ENOENT if the kernel has no HMAC with
 * SHA-256; -ENOMEM.
 */
int srn_secret_set(struct srn_device *dev, const u8 *secret, size_t len)
{
	struct crypto_shash *hash = NULL;

	if (len && (len < SRN_SECRET_MIN || len > SRN_SECRET_MAX))
		return -EINVAL;
	if (len)
		hash = new_hash(secret, len);
	if (IS_ERR(hash))
		return PTR_ERR(hash);
	hash = unrcu_pointer(xchg(&dev->secret, RCU_INITIALIZER(hash)));
	if (hash) {
		synchronize_rcu();
		crypto_free_shash(hash);
	}
	return 0;
}

/**
 * srn_secret_is_set - has the link a secret?
 * @dev: link
 *
 * Context: any.
 *
 * Return: true if it has.
 */
bool srn_secret_is_set(const struct srn_device *dev)
{
	return rcu_access_pointer(dev->secret);
}

/**
 * srn_secret_mac - the message authentication code that the link's secret gives data
 * @dev: link
 * @data: data
 * @len: its length, bytes
 * @mac: result, %SRN_SECRET_MAC bytes
 *
 * Context: any but hard interrupts.
 *
 * Return: 0; -ENOKEY if the link has no secret; another negative errno if the hash fails.
 */
int srn_secret_mac(struct srn_device *dev, const void *data, u32 len, u8 *mac)
{
	struct crypto_shash *hash;
	int ret = -ENOKEY;

	rcu_read_lock();
	hash = rcu_dereference(dev->secret);
	if (hash)
		ret = crypto_shash_tfm_digest(hash, data, len, mac);
	rcu_read_unlock();
	return ret;
}
