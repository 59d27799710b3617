// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What a link asks for when connections are made. Each link has its settings in sysfs; module
 * parameters are the settings with which links that are added later begin.
 *
 *	/sys/class/infiniband/srn0/mpa/{crc,greeting,large_fpdus,markers,placed_completions}
 *	/sys/class/infiniband/srn0/mpa/same_host
 *	/sys/class/infiniband/srn0/raw/{port,secret}
 */
#include <linux/device.h>
#include <linux/moduleparam.h>

#include "device.h"
#include "secret.h"
#include "settings.h"

static bool crc = true;
module_param(crc, bool, 0644);
MODULE_PARM_DESC(crc, "Ask for CRC32C on connections of links that are added (default: Y)");

static bool markers;
module_param(markers, bool, 0644);
MODULE_PARM_DESC(markers, "Ask peers for MPA markers on links that are added (default: N)");

static bool large_fpdus;
module_param(large_fpdus, bool, 0644);
MODULE_PARM_DESC(large_fpdus, "Send FPDUs larger than a TCP segment on links that are added (default: N)");

static bool greeting = true;
module_param(greeting, bool, 0644);
MODULE_PARM_DESC(greeting, "Find out whether peers are softrnics, too, on links that are added (default: Y)");

static bool placed_completions;
module_param(placed_completions, bool, 0644);
MODULE_PARM_DESC(placed_completions, "Sends and Writes complete when a peer that is a softrnic, too, has placed them, on links that are added (default: N)");

static const char *const same_host_names[] = {
	[SRN_SAME_HOST_OFF] = "off",
	[SRN_SAME_HOST_NETNS] = "netns",
	[SRN_SAME_HOST_ANY] = "host",
};

static u8 same_host = SRN_SAME_HOST_NETNS;

static int same_host_parse(const char *text, u8 *setting)
{
	int value = sysfs_match_string(same_host_names, text);

	if (value < 0)
		return value;
	WRITE_ONCE(*setting, value);
	return 0;
}

static int same_host_set(const char *value, const struct kernel_param *param)
{
	return same_host_parse(value, &same_host);
}

static int same_host_get(char *buf, const struct kernel_param *param)
{
	return sysfs_emit(buf, "%s\n", same_host_names[READ_ONCE(same_host)]);
}

static const struct kernel_param_ops same_host_ops = {
	.set = same_host_set,
	.get = same_host_get,
};

module_param_cb(same_host, &same_host_ops, NULL, 0644);
MODULE_PARM_DESC(same_host, "Which connections within this host bypass TCP on links that are added: off, netns (within a network namespace) or host (default: netns)");

static ushort raw_port = 5040;
module_param(raw_port, ushort, 0644);
MODULE_PARM_DESC(raw_port, "TCP port for queue pairs that are brought up without rdma_cm on links that are added, 0: none (default: 5040)");

/**
 * srn_settings_init - give a new link its settings
 * @dev: device
 *
 * Context: process.
 */
void srn_settings_init(struct srn_device *dev)
{
	dev->crc = READ_ONCE(crc);
	dev->markers = READ_ONCE(markers);
	dev->large_fpdus = READ_ONCE(large_fpdus);
	dev->greeting = READ_ONCE(greeting);
	dev->placed_completions = READ_ONCE(placed_completions);
	dev->same_host = READ_ONCE(same_host);
	dev->raw_port = READ_ONCE(raw_port);
}

/* A setting that is a bool of struct srn_device, at @offset. */
struct setting {
	struct device_attribute attr;
	size_t offset;
};

static struct srn_device *link_of(struct device *device)
{
	return rdma_device_to_drv_device(device, struct srn_device, ibdev);
}

static bool *value_of(struct device *device, struct device_attribute *attr)
{
	return (void *)link_of(device) + container_of(attr, struct setting, attr)->offset;
}

static ssize_t setting_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(*value_of(device, attr)));
}

static ssize_t setting_store(struct device *device, struct device_attribute *attr,
			     const char *buf, size_t count)
{
	bool value;
	int ret;

	ret = kstrtobool(buf, &value);
	if (ret)
		return ret;
	WRITE_ONCE(*value_of(device, attr), value);
	return count;
}

#define BOOL_SETTING(field)						\
	static struct setting field##_setting = {			\
		.attr = {						\
			.attr = { .name = #field, .mode = 0644 },	\
			.show = setting_show, .store = setting_store,	\
		},							\
		.offset = offsetof(struct srn_device, field),		\
	}

BOOL_SETTING(crc);
BOOL_SETTING(markers);
BOOL_SETTING(large_fpdus);
BOOL_SETTING(greeting);
BOOL_SETTING(placed_completions);

static ssize_t same_host_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", same_host_names[READ_ONCE(link_of(device)->same_host)]);
}

static ssize_t same_host_store(struct device *device, struct device_attribute *attr,
			       const char *buf, size_t count)
{
	int ret = same_host_parse(buf, &link_of(device)->same_host);

	return ret ?: count;
}

static DEVICE_ATTR_RW(same_host);

static struct attribute *mpa_attributes[] = {
	&crc_setting.attr.attr,
	&markers_setting.attr.attr,
	&large_fpdus_setting.attr.attr,
	&greeting_setting.attr.attr,
	&placed_completions_setting.attr.attr,
	&dev_attr_same_host.attr,
	NULL
};

const struct attribute_group srn_settings_group = {
	.name = "mpa",
	.attrs = mpa_attributes,
};

static ssize_t port_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(link_of(device)->raw_port));
}

/* Whoever has a connection, or waits for one, goes on with the port that there was. */
static ssize_t port_store(struct device *device, struct device_attribute *attr, const char *buf,
			  size_t count)
{
	u16 port;
	int ret;

	ret = kstrtou16(buf, 0, &port);
	if (ret)
		return ret;
	WRITE_ONCE(link_of(device)->raw_port, port);
	return count;
}

static DEVICE_ATTR_RW(port);

static ssize_t secret_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", srn_secret_is_set(link_of(device)) ? "set" : "none");
}

/* What is connected stays. */
static ssize_t secret_store(struct device *device, struct device_attribute *attr, const char *buf,
			    size_t count)
{
	/* The end of a file's only line is no part of it. */
	size_t len = count && buf[count - 1] == '\n' ? count - 1 : count;
	struct srn_device *dev = link_of(device);
	int ret;

	ret = srn_secret_set(dev, buf, len);
	if (ret == -EINVAL)
		srn_notice(dev, "a secret of %zu bytes is refused: it must have from %d to %d\n",
			   len, SRN_SECRET_MIN, SRN_SECRET_MAX);
	else if (ret)
		srn_notice(dev, "no secret: the kernel's hmac(sha256) gives error %d\n", ret);
	return ret ?: count;
}

static DEVICE_ATTR_RW(secret);

static struct attribute *raw_attributes[] = {
	&dev_attr_port.attr,
	&dev_attr_secret.attr,
	NULL
};

static const struct attribute_group raw_group = {
	.name = "raw",
	.attrs = raw_attributes,
};

/**
 * srn_settings_register - show those settings that the core does not show itself
 * @dev: registered device; they go with it
 *
 * Context: process.
 *
 * Return: 0 or a negative errno.
 */
int srn_settings_register(struct srn_device *dev)
{
	return sysfs_create_group(&dev->ibdev.dev.kobj, &raw_group);
}
