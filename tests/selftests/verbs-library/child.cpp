// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "child.hpp"

#include <spawn.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <utility>

#include "fixture.hpp"

// NOLINTNEXTLINE(readability-redundant-declaration): POSIX declares it nowhere
extern char** environ;

namespace verbs_test {
namespace {

using softrnic::access;
using softrnic::remote_slice;

constexpr const char* child_option = "--child";

// Nobody lets it live this long.
constexpr std::chrono::seconds life = patience * 4;

void write_or_read(bool writes, const softrnic::connection& end, const remote_slice& peer,
                   softrnic::cq& completions) {
    const softrnic::buffer memory =
        must(softrnic::buffer::create(end.domain(), child_transfer, access::local_write));
    const auto post = [&] {
        must(writes ? end.qp().write(memory.all(), peer) : end.qp().read(memory.all(), peer));
    };
    for (int i = 0; i < 4; ++i) post();
    next(completions);
    must(end.qp().send(softrnic::no_slices, {.flags = softrnic::send_flag::none}));
    for (const softrnic::deadline until = life; !until.expired();) {
        post();
        next(completions);
    }
}

void must_succeed(const ibv_wc& wc) {
    if (wc.status != IBV_WC_SUCCESS) throw std::runtime_error(ibv_wc_status_str(wc.status));
}

void send_across(const softrnic::connection& from, softrnic::connection& to) {
    must(to.qp().recv(softrnic::no_slices));
    must(from.qp().send(softrnic::no_slices, {.flags = softrnic::send_flag::none}));
    must_succeed(next(to.recv_cq()));
}

void pingpong(softrnic::connection& end, const remote_slice& peer) {
    softrnic::buffer rounds =
        must(softrnic::buffer::create(end.domain(), sizeof(std::uint64_t), access::local_write));
    pair own = connect_pair();
    std::uint64_t count = 0;
    for (const softrnic::deadline until = life; !until.expired();) {
        send_across(own.client, own.server);
        send_across(own.server, own.client);
        ++count;
        std::memcpy(rounds.bytes().data(), &count, sizeof(count));
        must(end.qp().write(rounds.all(), peer));
        must_succeed(next(end.send_cq()));
    }
}

}  // namespace

bool is_child(int argc, char** argv) {
    return argc == 4 && std::strcmp(argv[1], child_option) == 0;
}

int child_main(char** argv) {
    const std::string work = argv[2];
    const auto port = static_cast<std::uint16_t>(std::strtoul(argv[3], nullptr, 10));
    softrnic::connection end = must(softrnic::dial(server_address(port), {.queues = wide}));
    const remote_slice peer =
        remote_slice::from_bytes(end.peer_data().first<remote_slice::wire_size>());
    if (work == "pingpong")
        pingpong(end, peer);
    else
        write_or_read(work == "write", end, peer, end.send_cq());
    return 0;
}

child_process::child_process(const std::string& work, std::uint16_t port) {
    std::string self = "/proc/self/exe";
    std::string option = child_option;
    std::string what = work;
    std::string where = std::to_string(port);
    std::array<char*, 5> argv{self.data(), option.data(), what.data(), where.data(), nullptr};
    const int rc = posix_spawn(&pid_, self.c_str(), nullptr, nullptr, argv.data(), environ);
    if (rc != 0) throw std::runtime_error(std::strerror(rc));
}

int child_process::kill() {
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

}  // namespace verbs_test
