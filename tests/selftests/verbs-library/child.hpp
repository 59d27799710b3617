// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// The program as a client in a process of its own: `verbs_test --child write|read PORT`.
#pragma once

namespace verbs_test {

[[nodiscard]] bool is_child(int argc, char** argv);

/// Connects to that port, reads or writes for ever the memory that the server names in its private
/// data, and sends an empty message as soon as the first of it is done.
int child_main(char** argv);

}  // namespace verbs_test
