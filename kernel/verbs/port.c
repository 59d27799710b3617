// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The one port of a link, whose state, speed and MTU are those of the network device.
 */
#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include <rdma/ib_mad.h>

#include "port.h"

#define PKEYS	1

/*
 * Give the speed in the terms of InfiniBand. The core's own helper logs a line each time for a
 * device that does not say how fast it is, and most virtual devices do not.
 */
static void port_speed(struct srn_device *dev, struct ib_port_attr *attr)
{
	static const struct {
		u32 mbits;
		u8 width;
		u16 speed;
	} steps[] = {
		{ 1000, IB_WIDTH_1X, IB_SPEED_SDR },
		{ 10000, IB_WIDTH_1X, IB_SPEED_FDR10 },
		{ 25000, IB_WIDTH_1X, IB_SPEED_EDR },
		{ 40000, IB_WIDTH_4X, IB_SPEED_FDR10 },
		{ 50000, IB_WIDTH_1X, IB_SPEED_HDR },
		{ 100000, IB_WIDTH_4X, IB_SPEED_EDR },
		{ 200000, IB_WIDTH_4X, IB_SPEED_HDR },
		{ 400000, IB_WIDTH_4X, IB_SPEED_NDR },
		{ 800000, IB_WIDTH_8X, IB_SPEED_NDR },
	};
	struct ethtool_link_ksettings settings;
	u32 mbits = 1000;
	size_t i;

	rtnl_lock();
	/* The driver of a device that is going away may have freed what this would look at. */
	if (dev->netdev->reg_state == NETREG_REGISTERED &&
	    !__ethtool_get_link_ksettings(dev->netdev, &settings) &&
	    settings.base.speed != (u32)SPEED_UNKNOWN)
		mbits = settings.base.speed;
	rtnl_unlock();
	for (i = 0; i < ARRAY_SIZE(steps) - 1 && mbits > steps[i].mbits; i++)
		;
	attr->active_width = steps[i].width;
	attr->active_speed = steps[i].speed;
}

/**
 * srn_port_state - state of the one port
 * @dev: device
 *
 * Context: any.
 *
 * Return: IB_PORT_ACTIVE or IB_PORT_DOWN.
 */
enum ib_port_state srn_port_state(const struct srn_device *dev)
{
	return netif_running(dev->netdev) && netif_carrier_ok(dev->netdev) ? IB_PORT_ACTIVE :
									     IB_PORT_DOWN;
}

/**
 * srn_port_query - what the one port is like, for the core
 * @ibdev: device
 * @port: the only port of the device
 * @attr: result, zeroed
 *
 * Context: process, RTNL not held.
 *
 * Return: 0.
 */
int srn_port_query(struct ib_device *ibdev, u32 port, struct ib_port_attr *attr)
{
	struct srn_device *dev = to_srn_dev(ibdev);

	port_speed(dev, attr);
	attr->gid_tbl_len = SRN_GIDS;
	attr->pkey_tbl_len = PKEYS;
	attr->max_msg_sz = SRN_MAX_MESSAGE;
	attr->max_mtu = ib_mtu_int_to_enum(dev->netdev->mtu);
	attr->active_mtu = attr->max_mtu;
	attr->phys_mtu = dev->netdev->mtu;
	attr->state = srn_port_state(dev);
	attr->phys_state = attr->state == IB_PORT_ACTIVE ? IB_PORT_PHYS_STATE_LINK_UP :
							   IB_PORT_PHYS_STATE_DISABLED;
	attr->port_cap_flags = IB_PORT_CM_SUP | IB_PORT_DEVICE_MGMT_SUP;
	return 0;
}

/**
 * srn_port_get_immutable - what does not change as long as the link exists, for the core
 * @ibdev: device
 * @port: the only port of the device
 * @immutable: result
 *
 * Context: process.
 *
 * Return: 0.
 */
int srn_port_get_immutable(struct ib_device *ibdev, u32 port, struct ib_port_immutable *immutable)
{
	immutable->gid_tbl_len = SRN_GIDS;
	immutable->pkey_tbl_len = PKEYS;
	immutable->core_cap_flags = RDMA_CORE_PORT_IWARP;
	return 0;
}

/**
 * srn_port_query_pkey - the one partition key, for the core
 * @ibdev: device
 * @port: the only port of the device
 * @index: place in the table
 * @pkey: result
 *
 * iWARP has none, but rdma_cm resolves no loopback address by a device without. The provider does
 * not show it to programs.
 *
 * Context: any.
 *
 * Return: 0, or -EINVAL for any other place than the first.
 */
int srn_port_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey)
{
	if (index >= PKEYS)
		return -EINVAL;
	*pkey = IB_DEFAULT_PKEY_FULL;
	return 0;
}
