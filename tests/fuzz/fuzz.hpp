// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// What the fuzz targets share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>

// A property that holds for every input; libFuzzer keeps the input that breaks it.
inline void require(bool holds, const char* what) {
    if (holds) return;
    std::cerr << "broken: " << what << std::endl;
    std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
