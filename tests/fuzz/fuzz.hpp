// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// What the fuzz targets share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory_resource>

// A property that holds for every input; libFuzzer keeps the input that breaks it.
inline void require(bool holds, const char* what) {
    if (holds) return;
    std::cerr << "broken: " << what << std::endl;
    std::abort();
}

// What std::pmr containers take their memory from while it lives. ASan's heap is slow, and guards
// nothing here that the module sees: that gets each of its inputs as an exact_copy.
class scratch_memory {
public:
    scratch_memory() : before_(std::pmr::set_default_resource(&scratch_)) {}
    scratch_memory(const scratch_memory&) = delete;
    scratch_memory& operator=(const scratch_memory&) = delete;
    ~scratch_memory() { std::pmr::set_default_resource(before_); }

private:
    static inline std::array<std::byte, 1 << 20> room_;
    std::pmr::monotonic_buffer_resource scratch_{room_.data(), room_.size()};
    std::pmr::memory_resource* before_;
};

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
