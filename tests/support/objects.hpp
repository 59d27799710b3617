// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// A bag of idle objects of every kind.
#pragma once

#include <vector>

#include "softrnic/softrnic.hpp"

namespace support {

/// One of each kind of object, in a state in which a program may well leave it: queues with entries
/// that nobody takes, an armed completion queue, a listener that nobody connects to, queue pairs
/// that are not connected.
class idle_objects {
public:
    /// `where`: an address of the device.
    explicit idle_objects(const softrnic::address& where);
    ~idle_objects();
    idle_objects(const idle_objects&) = delete;
    idle_objects& operator=(const idle_objects&) = delete;

private:
    softrnic::connection route_;
    softrnic::pd domain_;
    softrnic::comp_channel wakeups_;
    softrnic::cq queue_;
    softrnic::srq receives_;
    std::vector<softrnic::buffer> memory_;
    softrnic::listener listener_;
};

}  // namespace support
