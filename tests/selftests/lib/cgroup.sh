# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Cgroups of version 2, below CGROUPS, and programs that run in them.

CGROUPS=/sys/fs/cgroup

# cgroup_controller NAME: it counts in groups below the root from now on. Fails, and
# NO_CGROUP says why, if this kernel does not have it.
# shellcheck disable=SC2034 # for the caller
cgroup_controller()
{
	[[ -e $CGROUPS/cgroup.controllers ]] || mount -t cgroup2 none "$CGROUPS" 2> /dev/null
	if ! grep -qw "$1" "$CGROUPS"/cgroup.controllers 2> /dev/null; then
		NO_CGROUP="this kernel has no cgroup controller for $1"
		return 1
	fi
	echo "+$1" > "$CGROUPS"/cgroup.subtree_control
}

# exec_in_cgroup GROUP COMMAND…: in place of this shell, which is to be one of its own (&).
# Children that are started by it are in the group, too.
exec_in_cgroup()
{
	echo "$BASHPID" > "$1"/cgroup.procs && shift && exec "$@"
}

# The same, and waits for its end.
in_cgroup() { (exec_in_cgroup "$@"); }
