// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// The cases that need an RDMA link. See wire.sh.
#include "run_tests.hpp"

int main(int argc, char** argv) {
    return support::run_tests(argc, argv);
}
