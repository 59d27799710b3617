// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Objects of C libraries and their owners.
#pragma once

#include <memory>

namespace support {

template <auto Free>
struct freed_by {
    template <class T>
    void operator()(T* object) const {
        Free(object);
    }
};
/// An object that this function frees.
template <class T, auto Free>
using owned = std::unique_ptr<T, freed_by<Free>>;

}  // namespace support
