# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Pairs (lib/pairs.sh) in a test that has two machines (lib/ends.sh): the server's program
# runs in the server's machine. Neither of the two is in a namespace.

if [[ $ROLE == client ]]; then
	start_server()
	{
		on_server start_server "$@"
	}

	wait_listening()
	{
		on_server wait_listening "$@"
	}

	# It is looked at here.
	fetch_server_log()
	{
		local text
		text=$(on_server cat "$SERVER_LOG")
		echo "$text" > "$SERVER_LOG"
	}

	wait_server()
	{
		local status=0
		on_server wait_server "$@" || status=$?
		fetch_server_log
		return "$status"
	}

	stop_server()
	{
		on_server stop_server
		fetch_server_log
	}
fi
