// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "mixed_standards.hpp"

namespace later_standard {

long standard() {
    return __cplusplus;
}

softrnic::result<int> half(int n) {
    if (n % 2 != 0) return softrnic::detail::fail(EDOM, "half");
    return n / 2;
}

softrnic::result<std::string> text_of(const softrnic::result<softrnic::address>& where) {
    if (!where) return softrnic::failure(where.error());
    return where->text();
}

softrnic::result<std::string> resolved(const std::string& host) {
    return text_of(softrnic::address::resolve(host, 7471));
}

}  // namespace later_standard
