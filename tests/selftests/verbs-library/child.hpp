// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// The program as a client in a process of its own: `verbs_test --child write|read|pingpong PORT`.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace verbs_test {

/// Memory that a child which writes or reads wants to be told of.
inline constexpr std::uint32_t child_transfer = 4U << 20;

[[nodiscard]] bool is_child(int argc, char** argv);

/// Connects to that port, whose server names memory in its private data. Then, for ever:
///   write, read: that memory, and sends an empty message as soon as the first of it is done;
///   pingpong: two ends of its own send to each other, and the first eight bytes of the memory say
///   how often.
int child_main(char** argv);

/// Such a process, which is killed and waited for at the latest when this goes.
class child_process {
public:
    child_process(const std::string& work, std::uint16_t port);
    child_process(const child_process&) = delete;
    child_process& operator=(const child_process&) = delete;
    ~child_process() { kill(); }

    /// Its wait status; it must be gone within our patience.
    int kill();

private:
    pid_t pid_ = 0;
};

}  // namespace verbs_test
