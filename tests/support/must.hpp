// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Steps of a test that have to work.
#pragma once

#include <stdexcept>
#include <type_traits>
#include <utility>

#include "softrnic/softrnic.hpp"

namespace support {

/// The value of a result that has to be good; throws the reason where it is not.
template <class T>
T must(softrnic::result<T> r) {
    if (!r) throw std::runtime_error(r.error().message());
    if constexpr (!std::is_void_v<T>) return std::move(*r);
}

}  // namespace support
