# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# What a run ended with: the script's status, complaints of the kernel, things
# left behind; and what a person needs to see of the logs when it failed.

# Kernel messages that fail a run, whatever the script thought.
COMPLAINTS='WARNING:|BUG:|BUG |Oops|KASAN|UBSAN|general protection fault'
COMPLAINTS+='|Kernel panic|INFO: task |INFO: rcu|rcu_sched self-detected|rcu:.*stall'
COMPLAINTS+='|possible (circular|recursive) locking|inconsistent lock state'
COMPLAINTS+='|suspicious RCU usage|sleeping function called|scheduling while atomic'
COMPLAINTS+='|refcount_t|use-after-free|unreferenced object|[Ll]eaked'
COMPLAINTS+='|still has objects|Objects remaining|page allocation failure'
COMPLAINTS+='|stack-protector|soft lockup|list_(add|del) corruption|segfault at'
COMPLAINTS+='|trap (invalid opcode|divide error)|unregister_netdevice: waiting'
# Checks that the kernel no longer makes.
COMPLAINTS+='|INFO: trying to register non-static key|ODEBUG disabled'
# arm64's words for an Oops and for a program's segfault.
COMPLAINTS+='|Internal error: |unhandled exception: '

# Lines that look like complaints and are none. perftest 4.5 crashes in librdmacm where its
# client is refused, which its own server brings about; see tests/selftests/lib/perftest.sh.
# A page fault that finds no memory, as faults.sh has it, says that it "leaked out".
HARMLESS='debug is enabled|no_hash_pointers|VM_FAULT_OOM leaked out'
HARMLESS+='|ib_(send|write|read|atomic)_(bw|lat)\[.*(segfault at|general protection fault|unhandled exception: ).* in librdmacm\.so'

# Where memory was short when a number was entered into a table, empty nodes stay in it. The core's
# own tables of objects then look as if there were some when their device goes. A script in which
# memory is short says so in the kernel's log.
MEMORY_IS_SHORT='testmachine: memory will be short'
HARMLESS_WITHOUT_MEMORY='WARNING: .*drivers/infiniband/core/restrack\.c:[0-9]+ .*rdma_restrack_clean'

# report_run QEMU-STATUS START-TIME: print what went wrong and exit with the
# status of the run.
report_run()
{
	local qemu_status=$1 start=$2 status log kind='' complaint=''
	status=$(cat "$OUT/.status" 2> /dev/null || true)
	log=$OUT/dmesg.log
	[[ -s $log ]] || log=$OUT/console.log

	if grep -q 'Kernel panic' "$OUT/console.log" 2> /dev/null; then
		log=$OUT/console.log
		kind="the kernel panicked"
		: "${status:=99}"
	elif [[ $status == 124 && -e $OUT/.timed-out ]]; then
		kind="no end within $TIMEOUT s"
	elif [[ -z $status && $qemu_status == 124 ]]; then
		kind="the machine hung: no end within $((TIMEOUT + GRACE)) s"
		status=124
	elif [[ -z $status && -e $OUT/.silent ]]; then
		kind="the machine said nothing, twice"
		status=125
	elif [[ -z $status ]]; then
		kind="the machine stopped before the script ended (QEMU status $qemu_status)"
		status=125
		cat "$OUT/qemu.log" >&2
	elif ((status != 0)); then
		kind="the script failed with status $status"
	fi

	complaint=$(find_complaint "$log")
	if [[ -n $complaint ]]; then
		show_complaint "$log" "$complaint"
		[[ $status != 0 ]] || status=99 kind="the kernel complained"
	fi
	if [[ -s $OUT/.leaked ]]; then
		sed 's/^/testmachine: softrnic leaked: /' "$OUT/.leaked" >&2
		[[ $status != 0 ]] || status=99 kind="softrnic leaked"
	fi
	[[ ! -s $OUT/allowed-leaks.log ]] ||
		say "the kernel's own leaks, allowed (kmemleak.awk): $(wc -l < "$OUT/allowed-leaks.log")"

	if ((status != 0)); then
		show_tail "$log"
		say "FAILED: $kind"
	fi
	say "status $status, $(run_times "$start")$(was_restarted), logs in ${OUT#"$PWD"/}"
	exit "$status"
}

# Print the line number of the first complaint in a log. What a kernel finds wrong with
# itself while it boots is not ours, nor is a data race between two accesses of others:
# KCSAN names both in one line.
find_complaint()
{
	[[ -f $1 ]] || return 0
	local first line harmless=$HARMLESS
	! grep -q "$MEMORY_IS_SHORT" "$1" || harmless+="|$HARMLESS_WITHOUT_MEMORY"
	first=$(grep -n 'testmachine: the script starts' "$1" | head -n 1 | cut -d: -f1)
	grep -nE "$COMPLAINTS" "$1" | grep -vE "$harmless" |
		awk '!/BUG: KCSAN: / || /\[softrnic\]/' |
		awk -F: -v first="${first:-0}" '$1 > first { print $1 }' |
		while read -r line; do
			if is_nvmes_own "$1" "$line" || is_iscsi_targets_own "$1" "$line"; then
				say "a report that is not ours (line $line): lockdep was off from there on"
				continue
			fi
			if is_iscsi_transports_own "$1" "$line" || is_siws_own "$1" "$line"; then
				say "a report that is not ours (line $line)"
				continue
			fi
			echo "$line"
			break
		done || true
}

# NVMe's target takes nvmet_config_sem while it is told of a connection, and destroys its listener's
# id under it. Lockdep takes the locks of the two ids for one. Documentation/robustness.md has more.
is_nvmes_own()
{
	local report
	report=$(sed -n "$2,$(($2 + 12))p" "$1")
	[[ $report == *"possible circular locking"* && $report == *"handler_mutex"*rdma_destroy_id* &&
		$report == *"nvmet_config_sem"* ]]
}

# The iSCSI target's timer for sessions that are not taken up again. It makes the same report over TCP,
# without softrnic. Documentation/robustness.md has more.
is_iscsi_targets_own()
{
	local report
	report=$(sed -n "$2,$(($2 + 16))p" "$1")
	[[ $report == *"possible irq lock inversion"*session_lock*iscsit_handle_time2retain_timeout* &&
		$report == *"session_lock --> &sess->conn_lock --> &tpg->tpg_state_lock"* ]]
}

# A session of the iSCSI initiator ends while the power management looks at its target on another
# processor. It makes the same report over TCP, without softrnic. Documentation/robustness.md has more.
is_iscsi_transports_own()
{
	local report
	report=$(sed -n "$(($2 - 1)),$2p" "$1")
	[[ $report == *"WQ_MEM_RECLAIM iscsi_ctrl_"*__iscsi_unbind_session*"is flushing"*:pm_runtime_work* &&
		$report == *check_flush_dependency* ]]
}

# A connection ends before siw has accepted it, and siw drops its listener then, and once more in the end. It makes the
# same reports if a plain TCP client connects and closes. Documentation/wire.md has more.
is_siws_own()
{
	local first report
	first=$(sed -n "$2p" "$1")
	report=$(sed -n "$2,$(($2 + 40))p" "$1")
	[[ $first == *"siw_cm.c:"*" siw_cep_put"* || $first == *refcount* ]] &&
		[[ $report == *" siw_destroy_listen+"*"[siw]"* ]]
}

# The entries of a stack that the kernel itself calls unreliable ("?") are left out, so that the stack
# of the processor that stands still is shown as well.
show_complaint()
{
	local log=$1 line=$2
	say "kernel complaint (${log##*/}, line $line):"
	# All of the text is read: a reader that ends early ends the writer, and with it this report.
	sed -n "$((line > 3 ? line - 3 : 1)),$((line + 60))p" "$log" | grep -v '\]  ? ' |
		awk 'NR <= 40 { print "  | " $0 }' >&2
}

show_tail()
{
	[[ -s $1 ]] || return 0
	say "last kernel messages (${1##*/}):"
	# Nobody asks about the boot of a machine that came up.
	awk '/testmachine: the script starts/ { n = 0 } { line[n++] = $0 }
		END { for (i = (n > 60 ? n - 60 : 0); i < n; i++) print "  | " line[i] }' \
		"$1" >&2
}

run_times()
{
	local booted
	booted=$(cat "$OUT/.booted" 2> /dev/null || echo '?')
	awk -v start="$1" -v end="$EPOCHREALTIME" -v booted="$booted" \
		'BEGIN { printf "booted in %s s, %.1f s in all", booted, end - start }'
}

was_restarted() { [[ ! -e $OUT/.restarted ]] || printf ', started twice'; }
