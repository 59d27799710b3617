// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// As much work as a queue pair can be given, to be done at once.
//
// The peer of these is "holdings peer … nothing":
//
//   bounded flush ADDRESS PORT        sends and receives, as many as there may be, which the peer
//                                     does not take, and then the end of the queue pair: all of
//                                     them are flushed, in order
//   bounded invalidate ADDRESS PORT   windows bound and invalidated in turn, which need no peer, in
//                                     one list
//   bounded write ADDRESS PORT        short writes, in one list: many that fit one batch
//   bounded gather ADDRESS PORT       the same, each from as many pieces as it may have
//
// These have a peer of their own, by plain TCP:
//
//   bounded receive ADDRESS PORT      the shortest messages that there are, sent too early: they
//                                     wait in the socket until the connection is accepted
//   bounded answer ADDRESS PORT       a Read, and behind it as many writes as there may be, all of
//                                     which complete when it is answered
//   bounded resume ADDRESS PORT       messages that have waited for receives, and then get them
//
// Says "ready" when it has its connection, begins on SIGUSR1, and ends with "done".
#include <cstdint>
#include <exception>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "codec.hpp"
#include "die.hpp"
#include "must.hpp"
#include "script_steps.hpp"
#include "tcp.hpp"

namespace {

using namespace std::chrono_literals;
using support::block_signal;
using support::die;
using support::must;
using support::say;
using support::wait_for_signal;

/// The most that the device says it can do.
constexpr std::uint32_t depth = 16'384;
constexpr std::uint32_t pieces = 16;
/// Messages without a byte that are kept: as many as a queue pair may have waiting, or nearly.
constexpr std::uint32_t kept = 10'000;

/// One that needs no memory and no STag.
wirepeer::bytes empty_writes(std::size_t count) {
    const wirepeer::bytes one = wirepeer::fpdu(wirepeer::make_write(0, 0, {}));
    wirepeer::bytes all;
    for (std::size_t i = 0; i < count; ++i) wirepeer::append(all, one);
    return all;
}

class end {
public:
    explicit end(softrnic::connection request) : connection_(std::move(request)) {
        must(connection_.create_queues({.max_send_wr = depth,
                                        .max_recv_wr = depth,
                                        .max_send_sge = pieces,
                                        .max_recv_sge = 1}));
        memory_ = must(softrnic::buffer::create(
            connection_.domain(), 4096,
            softrnic::access::local_write | softrnic::access::window_bind));
    }

    void accept() { must(connection_.accept({.private_data = {}, .timeout = 60s})); }

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

    void gather() {
        const ibv_sge byte = {memory_.all().addr, 1, memory_.all().lkey};
        std::vector<ibv_sge> bytes(pieces, byte);
        std::vector<ibv_send_wr> list = requests(IBV_WR_RDMA_WRITE);
        for (ibv_send_wr& wr : list) {
            wr.sg_list = bytes.data();
            wr.num_sge = pieces;
        }
        work(list);
    }

    /// Accepts when it is told to, and takes the Send that comes last.
    void receive() {
        must(connection_.qp().recv(memory_.all(), 0));
        say("ready");
        wait_for_signal();
        accept();
        const auto wc = must(connection_.recv_cq().wait_one(60s));
        if (wc.status != IBV_WC_SUCCESS) die(ibv_wc_status_str(wc.status));
    }

    /// Gives what waits its receives when it is told to.
    void resume() {
        say("ready");
        wait_for_signal();
        for (std::uint64_t i = 0; i < kept; ++i) must(connection_.qp().recv(memory_.all(), i));
        for (std::uint64_t i = 0; i < kept; ++i) {
            const auto wc = must(connection_.recv_cq().wait_one(60s));
            if (wc.status != IBV_WC_SUCCESS) die(ibv_wc_status_str(wc.status));
            if (wc.wr_id != i) die("receives do not complete in order");
        }
    }

    void read_and_write() {
        std::vector<ibv_send_wr> list = requests(IBV_WR_RDMA_WRITE);
        for (ibv_send_wr& wr : list) wr.num_sge = 0;
        list.front().opcode = IBV_WR_RDMA_READ;
        list.front().num_sge = 1;
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
        // "holdings" takes some of them.
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

/// More than a receive buffer holds, and behind them a Send.
void send_early(const wirepeer::tcp_stream& wire) {
    wirepeer::bytes all = empty_writes(50'000);
    wirepeer::append(all, wirepeer::fpdu(wirepeer::make_send(1, {1})));
    wire.send(all);
}

/// Takes everything, and then answers the Read in the same packet as many empty Writes, of which
/// no receiver takes all at once: a worker gets the answer.
void answer_late(const wirepeer::tcp_stream& wire) {
    wire.send(empty_writes(1));
    const wirepeer::read_request asked = wirepeer::decode_read_request(wire.read_message().payload);
    static_cast<void>(wire.read((depth - 1) * empty_writes(1).size()));
    wirepeer::bytes all = empty_writes(2'000);
    wirepeer::append(all, wirepeer::fpdu(wirepeer::make_read_response(
                              asked.sink_stag, asked.sink_to, wirepeer::pattern(asked.size))));
    wire.send(all);
}

/// As a softrnic, whose messages may wait.
void send_unasked(const wirepeer::tcp_stream& wire) {
    wirepeer::bytes all = wirepeer::fpdu(wirepeer::make_greeting({}));
    for (std::uint32_t msn = 1; msn <= kept; ++msn)
        wirepeer::append(all, wirepeer::fpdu(wirepeer::make_send(msn, {})));
    wire.send(all);
}

void with_own_peer(const std::string& what, const softrnic::address& where) {
    const auto listener = must(softrnic::listen(where));
    const auto wire = wirepeer::tcp_stream::connect(where);
    wire.send(wirepeer::first_revision_frame(false));
    end e(must(listener.next(60s)));
    if (what == "receive") {
        const auto sent = std::async(std::launch::async, [&] { send_early(wire); });
        e.receive();
        return;
    }
    e.accept();
    static_cast<void>(wire.read_frame(true));
    if (what == "resume") {
        const auto sent = std::async(std::launch::async, [&] { send_unasked(wire); });
        e.resume();
        return;
    }
    const auto answered = std::async(std::launch::async, [&] { answer_late(wire); });
    e.read_and_write();
}

void with_holdings(const std::string& what, const softrnic::address& where) {
    end e(must(must(softrnic::listen(where)).next(60s)));
    e.accept();
    if (what == "flush")
        e.flush();
    else if (what == "invalidate")
        e.invalidate();
    else if (what == "gather")
        e.gather();
    else
        e.write();
}

}  // namespace

int main(int argc, char** argv) try {
    const std::vector<std::string> args(argv + 1, argv + argc);
    if (args.size() != 3)
        die("usage: bounded flush|invalidate|write|gather|receive|answer|resume ADDRESS PORT");
    block_signal();
    const auto where = must(softrnic::address::resolve(args[1], args[2]));
    if (args[0] == "receive" || args[0] == "answer" || args[0] == "resume")
        with_own_peer(args[0], where);
    else
        with_holdings(args[0], where);
    say("done");
} catch (const std::exception& e) {
    die(e.what());
}
