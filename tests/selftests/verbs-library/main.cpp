// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// The tests; or, called by one of them, the process that it is going to kill.
#include "child.hpp"
#include "fixture.hpp"
#include "run_tests.hpp"

int main(int argc, char** argv) {
    if (verbs_test::is_child(argc, argv)) return verbs_test::child_main(argv);
    return support::run_tests(argc, argv);
}
