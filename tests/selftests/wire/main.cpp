// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// The cases that need an RDMA link. See wire.sh.
#include <gtest/gtest.h>

int main(int argc, char** argv) {
    ::testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
