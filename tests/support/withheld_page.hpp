// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Memory that keeps the kernel waiting: what a process can do with a FUSE server of its own, done
/// with userfaultfd.
#pragma once

#include <cstddef>
#include <span>

#include "descriptor.hpp"
#include "softrnic/deadline.hpp"

namespace support {

/// A page. Who writes to it, the kernel too, waits until it is let go. Throws std::system_error
/// where that cannot be had.
class withheld_page {
public:
    withheld_page();
    withheld_page(const withheld_page&) = delete;
    withheld_page& operator=(const withheld_page&) = delete;
    ~withheld_page();

    [[nodiscard]] std::span<std::byte> memory() const { return memory_; }
    /// Until somebody waits for it; throws if nobody does in time.
    void await_fault(softrnic::deadline until) const;
    /// Whoever waits goes on. A second call does nothing.
    void let_go() const;
    /// There is no such memory any more. Whoever waits for it fails.
    void take_away();

private:
    descriptor faults_;
    std::span<std::byte> memory_;
};

}  // namespace support
