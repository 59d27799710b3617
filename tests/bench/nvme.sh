# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck disable=SC2034,SC2154  # the cell comes from guest.sh, which takes the result
#
# NVMe over Fabrics in one guest, with a disk that costs nothing (null_blk). The cell's "list" is
# the queue depth.

NVMET=/sys/kernel/config/nvmet
NVME_PORT=4420

# measure_nvme DRIVER
measure_nvme()
{
	local transport=rdma disk
	[[ $1 != tcp ]] || transport=tcp
	if nvme_target_up "$transport" && load_fio /dev/nullb0 && disk=$(nvme_connect "$transport"); then
		run_fio "$disk"
		nvme disconnect -n bench > /dev/null
	fi
	nvme_target_down
	has_fio_result "$1"
}

nvme_target_up()
{
	modprobe -a "nvmet-$1" "nvme-$1" null_blk || return
	mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config
	mkdir -p $NVMET/subsystems/bench/namespaces/1 $NVMET/ports/1
	echo 1 > $NVMET/subsystems/bench/attr_allow_any_host
	echo -n /dev/nullb0 > $NVMET/subsystems/bench/namespaces/1/device_path
	echo 1 > $NVMET/subsystems/bench/namespaces/1/enable
	echo "$SERVER_ADDRESS" > $NVMET/ports/1/addr_traddr
	echo "$1" > $NVMET/ports/1/addr_trtype
	echo $NVME_PORT > $NVMET/ports/1/addr_trsvcid
	echo ipv4 > $NVMET/ports/1/addr_adrfam
	ln -s $NVMET/subsystems/bench $NVMET/ports/1/subsystems/bench
}

nvme_target_down()
{
	rm -f $NVMET/ports/1/subsystems/bench
	rmdir $NVMET/ports/1
	echo 0 > $NVMET/subsystems/bench/namespaces/1/enable
	rmdir $NVMET/subsystems/bench/namespaces/1 $NVMET/subsystems/bench
}

# Print the disk of the connection.
nvme_connect()
{
	nvme connect -t "$1" -a "$SERVER_ADDRESS" -s $NVME_PORT -n bench -i 1 \
		-Q $((list < 16 ? 16 : list)) > "$CLIENT_LOG" 2>&1 && wait_until 10 nvme_disk > /dev/null && nvme_disk
}

nvme_disk()
{
	local disk
	for disk in /dev/nvme*n1; do
		[[ -b $disk ]] && echo "$disk"
	done | grep .
}
