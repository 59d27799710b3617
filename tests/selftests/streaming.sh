#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# files: build/tests/bin/verbs_test
# timeout: 300
# icount: yes
#
# Processes that post a stream of small messages need few doorbells. What is a stream is decided by
# time, so the machine counts instructions: on a busy host any process is late.
. lib/ktap.sh
. lib/topology.sh
. lib/gtest.sh

on_own_link verbs_test
run_gtest ./verbs_test 120 'Streaming.*'
finish
