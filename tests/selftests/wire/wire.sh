#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# files: build/tests/bin/wirepeer
# timeout: 420
#
# The protocol, byte by byte: a scripted peer on a TCP socket against a
# verbs program, both on this host's own address. Each case is named by the section of the
# RFC that it is about; Documentation/wire.md is the table of both.
# For a run by hand: SRN_ENV=SRN_FILTER SRN_FILTER='Violation*' make test T=wire
. lib/ktap.sh
. lib/topology.sh
. lib/gtest.sh

on_own_link wirepeer
run_gtest ./wirepeer 270 "${SRN_FILTER:-*}"

# Where an answer takes its time, what has been closed is not gone at once.
run_check "a longer wire" tc qdisc add dev lo root netem delay 10ms || finish
run_gtest ./wirepeer 120 'Initiator.*'
finish
