// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// A process that is killed in the middle of a transfer.
#include <spawn.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "child.hpp"
#include "data.hpp"
#include "fixture.hpp"

// NOLINTNEXTLINE(readability-redundant-declaration): POSIX declares it nowhere
extern char** environ;

namespace verbs_test {

using softrnic::access;
using softrnic::remote_slice;

namespace {

constexpr std::uint32_t transfer = 4U << 20;
constexpr const char* child_option = "--child";

/// A process that is killed and waited for at the latest when this goes.
class child_process {
public:
    child_process(const std::string& work, std::uint16_t port) {
        std::string self = "/proc/self/exe";
        std::string option = child_option;
        std::string what = work;
        std::string where = std::to_string(port);
        std::array<char*, 5> argv{self.data(), option.data(), what.data(), where.data(), nullptr};
        const int rc = posix_spawn(&pid_, self.c_str(), nullptr, nullptr, argv.data(), environ);
        if (rc != 0) throw std::runtime_error(std::strerror(rc));
    }
    child_process(const child_process&) = delete;
    child_process& operator=(const child_process&) = delete;
    ~child_process() { kill(); }

    /// Its wait status; it must be gone within our patience.
    int kill() {
        if (pid_ <= 0) return 0;
        ::kill(pid_, SIGKILL);
        int status = 0;
        for (const softrnic::deadline until = patience; !until.expired();) {
            if (waitpid(pid_, &status, WNOHANG) != 0) {
                pid_ = 0;
                return status;
            }
            std::this_thread::sleep_for(10ms);
        }
        ADD_FAILURE() << "process " << std::exchange(pid_, 0) << " does not die";
        return 0;
    }

private:
    pid_t pid_ = 0;
};

class Killed : public ::testing::TestWithParam<const char*> {};

TEST_P(Killed, ThePeerIsTold) {
    const softrnic::listener listener = must(softrnic::listen(server_address()));
    for (int round = 0; round < 2; ++round) {
        child_process child(GetParam(), listener.local_address().port());
        softrnic::connection end = must(listener.next(patience));
        must(end.create_queues(wide));
        const softrnic::buffer memory = must(softrnic::buffer::create(
            end.domain(), transfer,
            access::local_write | access::remote_write | access::remote_read));
        for (const std::uint64_t id : {1U, 2U, 3U}) must(end.qp().recv(softrnic::no_slices, id));
        must(end.accept({.private_data = memory.remote().to_bytes()}));

        expect_good(next(end.recv_cq()), 1, IBV_WC_RECV);
        const int status = child.kill();
        EXPECT_TRUE(WIFSIGNALED(status)) << "it ended by itself, status " << status;
        expect_status(next(end.recv_cq()), 2, IBV_WC_WR_FLUSH_ERR);
        expect_status(next(end.recv_cq()), 3, IBV_WC_WR_FLUSH_ERR);
        expect_broken(end);
    }
}

INSTANTIATE_TEST_SUITE_P(While, Killed, ::testing::Values("write", "read"),
                         [](const auto& which) { return std::string(which.param); });

}  // namespace

bool is_child(int argc, char** argv) {
    return argc == 4 && std::strcmp(argv[1], child_option) == 0;
}

int child_main(char** argv) {
    const bool writes = std::strcmp(argv[2], "write") == 0;
    const auto port = static_cast<std::uint16_t>(std::strtoul(argv[3], nullptr, 10));
    softrnic::connection end = must(softrnic::dial(server_address(port), {.queues = wide}));
    const remote_slice peer =
        remote_slice::from_bytes(end.peer_data().first<remote_slice::wire_size>());
    const softrnic::buffer memory =
        must(softrnic::buffer::create(end.domain(), transfer, access::local_write));
    const auto post = [&] {
        must(writes ? end.qp().write(memory.all(), peer) : end.qp().read(memory.all(), peer));
    };
    for (int i = 0; i < 4; ++i) post();
    next(end.send_cq());
    must(end.qp().send(softrnic::no_slices, {.flags = softrnic::send_flag::none}));
    // Nobody lets it live this long.
    for (const softrnic::deadline until = patience * 2; !until.expired();) {
        post();
        next(end.send_cq());
    }
    return 0;
}

}  // namespace verbs_test
