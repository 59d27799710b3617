// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// A server of 9P2000.L over RDMA, for the client that the kernel has: no server that Debian has
// speaks RDMA. Each message is one Send, in either direction; the client has a receive posted for
// every answer that it waits for.
#include <cstdio>
#include <string>
#include <thread>
#include <utility>

#include "files.hpp"
#include "must.hpp"
#include "softrnic/softrnic.hpp"

namespace {

using namespace std::chrono_literals;
using softrnic::access;

constexpr const char* usage = "usage: ninep_server ADDRESS PORT FOLDER";

/// The longest message; a client may want less.
constexpr std::uint32_t message_size = 128 * 1024;
/// The kernel's client has 32 requests under way, unless a mount option says otherwise.
constexpr std::uint32_t depth = 64;

using support::must;

/// One client, until it leaves.
class client {
public:
    client(softrnic::connection end, const std::string& folder)
        : answers_woken_(must(softrnic::comp_channel::create(end.context()))),
          answers_(must(softrnic::cq::create(end.context(), 1, &answers_woken_))),
          requests_woken_(must(softrnic::comp_channel::create(end.context()))),
          requests_(must(softrnic::cq::create(end.context(), depth, &requests_woken_))),
          end_(std::move(end)),
          files_(folder, message_size) {}

    void serve() {
        if (!prepare() || !end_.accept()) return;
        for (;;) {
            const auto request = requests_.wait_one(softrnic::deadline::never());
            if (!request || !softrnic::ok(*request) || !reply(*request)) return;
        }
    }

private:
    softrnic::result<void> prepare() {
        if (auto made = end_.create_queues({.max_send_wr = 1,
                                            .max_recv_wr = depth,
                                            .send_cq = &answers_,
                                            .recv_cq = &requests_});
            !made)
            return made;
        // The last slot is for the answer.
        auto made = softrnic::buffer::create(end_.domain(), std::size_t{depth + 1} * message_size,
                                             access::local_write);
        if (!made) return softrnic::failure(made.error());
        memory_ = std::move(*made);
        for (std::uint32_t slot = 0; slot < depth; ++slot)
            if (auto posted = receive(slot); !posted) return posted;
        return {};
    }

    [[nodiscard]] softrnic::result<void> receive(std::uint64_t slot) {
        return end_.qp().recv(memory_.sub(slot * message_size, message_size), slot);
    }

    [[nodiscard]] std::span<std::byte> slot_bytes(std::uint64_t slot) {
        return memory_.bytes().subspan(slot * message_size, message_size);
    }

    /// The request's receive is posted again first: the answer may bring the next request.
    [[nodiscard]] bool reply(const ibv_wc& request) {
        const std::size_t length =
            files_.answer(slot_bytes(request.wr_id).first(request.byte_len), slot_bytes(depth));
        if (length == 0 || !receive(request.wr_id)) return false;
        const auto answer =
            memory_.sub(std::uint64_t{depth} * message_size, static_cast<std::uint32_t>(length));
        if (!end_.qp().send(answer)) return false;
        const auto sent = answers_.wait_one(softrnic::deadline::never());
        return sent && softrnic::ok(*sent);
    }

    softrnic::comp_channel answers_woken_;
    softrnic::cq answers_;
    softrnic::comp_channel requests_woken_;
    softrnic::cq requests_;
    softrnic::connection end_;
    softrnic::buffer memory_;
    ninep::files files_;
};

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): what is thrown here ends the program, with its text
int main(int argc, char** argv) {
    if (argc != 4) {
        std::fprintf(stderr, "%s\n", usage);
        return 2;
    }
    const std::string folder = argv[3];
    const auto listener =
        must(softrnic::listen(must(softrnic::address::resolve(argv[1], argv[2]))));
    for (;;) {
        auto request = must(listener.next(softrnic::deadline::never()));
        std::thread([&folder](softrnic::connection c) { client(std::move(c), folder).serve(); },
                    std::move(request))
            .detach();
    }
}
