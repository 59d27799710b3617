#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# timeout: 150
#
# Anybody can connect to a listening port and send anything. Each such connection is
# dropped in bounded time, and the listener goes on.
. lib/ktap.sh
. lib/pairs.sh

B4=10.0.0.2 PORT=7174

# softrnic gives a stranger 5 s to send a request; the rest is for a slow machine.
LIMIT=12

# A TCP client that says what the test wants and then waits until the other side
# hangs up: status 0 if it does so in time.
cat > /tmp/stranger.py <<'END'
import os, socket, struct, sys, time

kind, address, port, limit = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
FLAG_CRC, FLAG_ENHANCED = 0x40, 0x10

def frame(flags=FLAG_CRC, revision=1, data=b"", length=None, key=b"MPA ID Req Frame"):
    n = len(data) if length is None else length
    return key + struct.pack(">BBH", flags, revision, n) + data

def connect():
    s = socket.create_connection((address, port), 5)
    s.settimeout(limit)
    return s

def hung_up(s, reply_allowed=False):
    end = time.time() + limit
    try:
        while time.time() < end:
            data = s.recv(65536)
            if not data:
                return True
            if not reply_allowed:
                print("got", data[:40])
    except ConnectionError:
        return True
    except TimeoutError:
        pass
    print("not hung up within", limit, "s")
    return False

# A request of rping's kind, so that the application accepts it, and its answer.
def established():
    s = connect()
    s.sendall(frame(revision=1, data=b""))
    reply = b""
    while len(reply) < 20:
        more = s.recv(20 - len(reply))
        if not more:
            sys.exit("no MPA reply")
        reply += more
    if reply[:16] != b"MPA ID Rep Frame":
        sys.exit("strange reply %r" % reply)
    return s

def fpdu(payload):
    s = struct.pack(">H", len(payload)) + payload
    return s + b"\0" * (-len(s) % 4) + b"\xde\xad\xbe\xef"

before = {
    "garbage": lambda: os.urandom(3000),
    "zeros": lambda: bytes(3000),
    "http": lambda: b"GET / HTTP/1.0\r\nHost: example\r\n\r\n",
    "half a header": lambda: frame()[:11],
    "a header less one byte": lambda: frame()[:19],
    "nothing": lambda: b"",
    "a reply": lambda: frame(key=b"MPA ID Rep Frame"),
    "too much private data": lambda: frame(length=65535, data=b"x" * 600),
    "half the private data": lambda: frame(length=100, data=b"x" * 50),
    "an unknown revision": lambda: frame(revision=77),
    "no room for the read depths": lambda: frame(flags=FLAG_CRC | FLAG_ENHANCED,
        revision=2, data=b"\0"),
}
after = {
    # As long as any length that it may begin with: nothing is judged before its CRC.
    "garbage for FPDUs": lambda: os.urandom(70000),
    "an FPDU with a wrong CRC": lambda: fpdu(b"\x41\x43" + bytes(30)),
    "an FPDU of no length": lambda: bytes(200),
    "FPDUs of the largest length": lambda: b"\xff" * 70000,
}

if kind in before:
    s = connect()
    s.sendall(before[kind]())
    sys.exit(0 if hung_up(s) else 1)
if kind in after:
    s = established()
    try:
        s.sendall(after[kind]())
    except ConnectionError:
        pass
    sys.exit(0 if hung_up(s, True) else 1)
if kind == "half an FPDU and then the end":
    s = established()
    s.sendall(b"\x00\x40\x41\x43")
    s.shutdown(socket.SHUT_WR)
    sys.exit(0 if hung_up(s, True) else 1)
if kind == "reset":
    for n in range(20):
        s = connect()
        s.sendall(frame()[:n])
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        s.close()
    sys.exit(0)
if kind == "slow":
    # A byte now and then does not buy more time.
    s = connect()
    end = time.time() + limit
    try:
        for byte in frame() * 2:
            s.sendall(bytes([byte]))
            if time.time() > end:
                sys.exit("still connected")
            time.sleep(0.6)
    except ConnectionError:
        sys.exit(0)
    sys.exit("the request was taken")
if kind == "idle":
    held = [connect() for n in range(50)]
    print("connected", flush=True)
    sys.exit(0 if all([hung_up(s) for s in held]) else 1)
sys.exit("what is %s?" % kind)
END

stranger()
{
	timeout 40 ip netns exec a python3 /tmp/stranger.py "$1" "$B4" "$PORT" "$LIMIT"
}

good_client()
{
	client in_a rping -c -a "$B4" -V -C 3
}

# While fifty idle connections are open, an honest client is served.
served_beside_idle()
{
	local idle status=0
	stranger idle > /tmp/idle.log 2>&1 &
	idle=$!
	wait_until 10 grep -q connected /tmp/idle.log && good_client || status=1
	wait "$idle" || {
		cat /tmp/idle.log
		status=1
	}
	return "$status"
}

nothing_is_left()
{
	[[ -z $(ss -N b -Htn state established state close-wait "sport = :$PORT") ]]
}

lines_in_log()
{
	dmesg | grep -c 'srnb:'
}

few_lines_in_log()
{
	local lines
	lines=$(lines_in_log)
	echo "$lines lines"
	dmesg | grep 'srnb:' | tail -n 5
	((lines > 0 && lines < 60))
}

flood()
{
	local n before
	before=$(lines_in_log)
	timeout 60 ip netns exec a python3 - "$B4" "$PORT" <<'END' || return
import socket, sys
for n in range(200):
    s = socket.create_connection((sys.argv[1], int(sys.argv[2])), 5)
    s.sendall(b"x" * 20)
    try:
        while s.recv(100):
            pass
    except ConnectionError:
        pass
END
	n=$(($(lines_in_log) - before))
	echo "$n lines for 200 strangers"
	((n <= 40))
}

run_check "two links in two namespaces" two_namespaces
SERVER_TIMEOUT=$((140 * SLOW)) start_server "$SERVER_LOG" in_b rping -s -P -V
run_check "a persistent server listens" wait_listening $PORT
run_check "a good client before" good_client
for kind in garbage zeros http "half a header" "a header less one byte" nothing \
	"a reply" "too much private data" "half the private data" "an unknown revision" \
	"no room for the read depths" \
	"garbage for FPDUs" "an FPDU with a wrong CRC" "an FPDU of no length" \
	"FPDUs of the largest length" "half an FPDU and then the end" reset slow; do
	run_check "stranger: $kind" stranger "$kind"
done
run_check "a good client after" good_client
run_check "50 idle connections, and a good client beside" served_beside_idle
run_check "200 strangers do not flood the log" flood
run_check "the kernel's log tells, in few lines" few_lines_in_log
run_check "no connection is left" wait_until 10 nothing_is_left
run_check "a good client at last" good_client
stop_server
finish
