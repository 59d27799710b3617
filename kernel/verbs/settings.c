// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What a link asks for when connections are made: in sysfs, for each link, and as module
 * parameters for links that are added later.
 *
 *	/sys/class/infiniband/srn0/mpa/{crc,markers,large_fpdus}
 */
#include <linux/device.h>
#include <linux/moduleparam.h>

#include "device.h"
#include "settings.h"

static bool crc = true;
module_param(crc, bool, 0644);
MODULE_PARM_DESC(crc, "Ask for CRC32C on connections of links that are added (default: Y)");

static bool markers;
module_param(markers, bool, 0644);
MODULE_PARM_DESC(markers, "Ask peers for MPA markers on links that are added (default: N)");

static bool large_fpdus;
module_param(large_fpdus, bool, 0644);
MODULE_PARM_DESC(large_fpdus, "Without CRC send FPDUs larger than a TCP segment on links that are added (default: N)");

/**
 * srn_settings_init - what a new link begins with
 * @dev: device
 */
void srn_settings_init(struct srn_device *dev)
{
	dev->crc = READ_ONCE(crc);
	dev->markers = READ_ONCE(markers);
	dev->large_fpdus = READ_ONCE(large_fpdus);
}

static ssize_t store(bool *setting, const char *buf, size_t count)
{
	bool value;
	int ret;

	ret = kstrtobool(buf, &value);
	if (ret)
		return ret;
	WRITE_ONCE(*setting, value);
	return count;
}

static struct srn_device *of(struct device *device)
{
	return rdma_device_to_drv_device(device, struct srn_device, ibdev);
}

static ssize_t crc_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(of(device)->crc));
}

static ssize_t crc_store(struct device *device, struct device_attribute *attr, const char *buf,
			 size_t count)
{
	return store(&of(device)->crc, buf, count);
}
static DEVICE_ATTR_RW(crc);

static ssize_t markers_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(of(device)->markers));
}

static ssize_t markers_store(struct device *device, struct device_attribute *attr,
			     const char *buf, size_t count)
{
	return store(&of(device)->markers, buf, count);
}
static DEVICE_ATTR_RW(markers);

static ssize_t large_fpdus_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(of(device)->large_fpdus));
}

static ssize_t large_fpdus_store(struct device *device, struct device_attribute *attr,
				 const char *buf, size_t count)
{
	return store(&of(device)->large_fpdus, buf, count);
}
static DEVICE_ATTR_RW(large_fpdus);

static struct attribute *mpa_attributes[] = {
	&dev_attr_crc.attr,
	&dev_attr_markers.attr,
	&dev_attr_large_fpdus.attr,
	NULL
};

const struct attribute_group srn_settings_group = {
	.name = "mpa",
	.attrs = mpa_attributes,
};
