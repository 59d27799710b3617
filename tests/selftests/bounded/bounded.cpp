// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// As much work as a queue pair can be given, to be done at once. The peer is "holdings peer …
// nothing".
//
//   bounded flush ADDRESS PORT        sends and receives, as many as there may be, which the peer
//                                     does not take, and then the end of the queue pair: all of
//                                     them are flushed, in order
//   bounded invalidate ADDRESS PORT   windows bound and invalidated in turn, which need no peer, in
//                                     one list
//   bounded write ADDRESS PORT        short writes, in one list: many that fit one batch
//
// Says "ready" when it has its connection, begins on SIGUSR1, and ends with "done".
#include <cstdint>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "die.hpp"
#include "must.hpp"
#include "script_steps.hpp"

namespace {

using namespace std::chrono_literals;
using support::block_signal;
using support::die;
using support::must;
using support::say;
using support::wait_for_signal;

/// The most that the device says it can do.
constexpr std::uint32_t depth = 16'384;

class end {
public:
    explicit end(const softrnic::address& where)
        : connection_(must(must(softrnic::listen(where)).next(60s))) {
        must(connection_.create_queues(
            {.max_send_wr = depth, .max_recv_wr = depth, .max_send_sge = 1, .max_recv_sge = 1}));
        must(connection_.accept({.private_data = {}, .timeout = 60s}));
        memory_ = must(softrnic::buffer::create(
            connection_.domain(), 4096,
            softrnic::access::local_write | softrnic::access::window_bind));
    }

    void flush() {
        for (std::uint64_t i = 0; i < depth; ++i)
            must(connection_.qp().recv(memory_.all(), depth + i));
        std::vector<ibv_send_wr> list = requests(IBV_WR_SEND);
        post(list);
        say("ready");
        wait_for_signal();
        must(connection_.qp().to_error());
        take_all();
    }

    void invalidate() {
        const auto window = must(softrnic::memory_window::create(connection_.domain()));
        std::vector<ibv_send_wr> list = requests(IBV_WR_LOCAL_INV);
        std::uint32_t key = window.rkey();
        for (std::size_t i = 0; i + 1 < list.size(); i += 2) {
            key = ibv_inc_rkey(key);
            list[i].opcode = IBV_WR_BIND_MW;
            list[i].bind_mw.mw = window.native();
            list[i].bind_mw.rkey = key;
            list[i].bind_mw.bind_info = {memory_.region().native(),
                                         reinterpret_cast<std::uint64_t>(memory_.bytes().data()),
                                         memory_.bytes().size(), IBV_ACCESS_REMOTE_READ};
            list[i + 1].invalidate_rkey = key;
        }
        work(list);
    }

    void write() {
        std::vector<ibv_send_wr> list = requests(IBV_WR_RDMA_WRITE);
        work(list);
    }

private:
    /// A list of as many as there may be, the last of which completes.
    std::vector<ibv_send_wr> requests(ibv_wr_opcode opcode) {
        short_ = {memory_.all().addr, 8, memory_.all().lkey};
        std::vector<ibv_send_wr> list(depth);
        for (std::size_t i = 0; i < list.size(); ++i) {
            list[i].wr_id = i;
            list[i].opcode = opcode;
            list[i].sg_list = &short_;
            list[i].num_sge = opcode == IBV_WR_LOCAL_INV ? 0 : 1;
            list[i].next = i + 1 < list.size() ? &list[i + 1] : nullptr;
        }
        list.back().send_flags = IBV_SEND_SIGNALED;
        return list;
    }

    void post(std::vector<ibv_send_wr>& list) {
        ibv_send_wr* bad = nullptr;
        if (ibv_post_send(connection_.qp().native(), list.data(), &bad) != 0) die("post");
    }

    void work(std::vector<ibv_send_wr>& list) {
        say("ready");
        wait_for_signal();
        post(list);
        // The peer takes some of them.
        if (list.front().opcode == IBV_WR_RDMA_WRITE) {
            std::this_thread::sleep_for(500ms);
            return;
        }
        const auto wc = must(connection_.send_cq().wait_one(60s));
        if (wc.status != IBV_WC_SUCCESS) die(ibv_wc_status_str(wc.status));
    }

    /// All that is flushed, each queue in order. Sends that have gone complete without a word.
    void take_all() {
        std::uint64_t next_send = 0;
        std::uint64_t next_receive = depth;
        while (next_send < depth || next_receive < std::uint64_t{2} * depth) {
            const auto wc = must(connection_.send_cq().wait_one(30s));
            if (wc.wr_id >= depth) {
                if (wc.wr_id != next_receive++) die("receives are not flushed in order");
                continue;
            }
            if (wc.wr_id < next_send || (next_send > 0 && wc.wr_id != next_send))
                die("sends are not flushed in order");
            next_send = wc.wr_id + 1;
        }
    }

    softrnic::connection connection_;
    softrnic::buffer memory_;
    ibv_sge short_{};
};

}  // namespace

int main(int argc, char** argv) try {
    const std::vector<std::string> args(argv + 1, argv + argc);
    if (args.size() != 3) die("usage: bounded flush|invalidate|write ADDRESS PORT");
    block_signal();
    end e(must(softrnic::address::resolve(args[1], args[2])));
    if (args[0] == "flush")
        e.flush();
    else if (args[0] == "invalidate")
        e.invalidate();
    else
        e.write();
    say("done");
} catch (const std::exception& e) {
    die(e.what());
}
