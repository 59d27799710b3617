// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// The main function of programs whose cases are GoogleTest's.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>

namespace support {

/// Runs the cases that the command line chooses. A choice of none is a failure: it is a name that
/// was misspelt, or is not there any more.
inline int run_tests(int argc, char** argv) {
    ::testing::InitGoogleTest(&argc, argv);
    const int status = RUN_ALL_TESTS();
    if (::testing::GTEST_FLAG(list_tests) ||
        ::testing::UnitTest::GetInstance()->test_to_run_count() > 0)
        return status;
    std::fputs("no test has such a name\n", stderr);
    return 2;
}

}  // namespace support
