// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Functions of later_standard.cpp, which is compiled as C++23. The other files are C++20.
#pragma once

#include <string>

#include "softrnic/softrnic.hpp"

namespace later_standard {

long standard();
softrnic::result<int> half(int n);
softrnic::result<std::string> text_of(const softrnic::result<softrnic::address>& where);
softrnic::result<std::string> resolved(const std::string& host);

}  // namespace later_standard
