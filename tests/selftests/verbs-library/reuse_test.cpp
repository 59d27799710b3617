// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// A queue pair that outlives its connection, is reset and connected again.
#include <optional>

#include "data.hpp"
#include "fixture.hpp"

namespace verbs_test {
namespace {

using softrnic::access;

/// A queue pair of its own, which ids of rdma_cm come to and leave, and who it is connected with.
class reused_pair {
public:
    softrnic::connection peer;

    [[nodiscard]] softrnic::qp_view qp() const { return qp_.native(); }
    softrnic::cq& queue() { return queue_; }
    [[nodiscard]] const softrnic::pd& domain() const { return domain_; }

    void connect() {
        const softrnic::listener listener = must(softrnic::listen(server_address()));
        client_ = must(softrnic::resolve(listener.local_address()));
        ibv_qp_attr attr{};
        int mask = 0;
        attr.qp_state = IBV_QPS_INIT;
        if (rdma_init_qp_attr(client_->native(), &attr, &mask) != 0)
            throw std::runtime_error("rdma_init_qp_attr");
        must(qp().modify(attr, mask));
        rdma_conn_param param{};
        param.qp_num = qp().number();
        if (rdma_connect(client_->native(), &param) != 0) throw std::runtime_error("rdma_connect");
        peer = accept_next(listener);
        must(client_->events().expect(RDMA_CM_EVENT_ESTABLISHED, "rdma_connect", patience));
    }

    /// The peer notices; here all work is flushed into the queue.
    void end() {
        must(qp().to_error());
        EXPECT_TRUE(works(client_->wait_disconnected(patience)));
        EXPECT_TRUE(works(peer.wait_disconnected(patience)));
    }

    void reset() {
        client_.reset();
        ibv_qp_attr attr{};
        attr.qp_state = IBV_QPS_RESET;
        must(qp().modify(attr, IBV_QP_STATE));
    }

private:
    using owned_qp = softrnic::handle<ibv_qp, &ibv_destroy_qp>;
    struct queue_pair : owned_qp {
        explicit queue_pair(ibv_qp* native) : owned_qp(native) {}
    };

    [[nodiscard]] ibv_qp* create() const {
        ibv_qp_init_attr attr{};
        attr.qp_type = IBV_QPT_RC;
        attr.send_cq = attr.recv_cq = queue_.native();
        attr.cap = {64, 64, 4, 4, 64};
        ibv_qp* made = ibv_create_qp(domain_.native(), &attr);
        if (made == nullptr) throw std::runtime_error("ibv_create_qp");
        return made;
    }

    softrnic::context_view device_ = device();
    softrnic::pd domain_ = must(softrnic::pd::create(device_));
    softrnic::cq queue_ = must(softrnic::cq::create(device_, 256));
    queue_pair qp_{create()};
    std::optional<softrnic::connection> client_;
};

TEST(Reuse, EachConnectionStartsAnew) {
    constexpr std::uint32_t size = 5000;
    reused_pair ends;
    for (std::uint64_t round = 0; round < 5; ++round) {
        ends.connect();
        scattered here(ends.domain(), size, 3, access::local_write);
        scattered there(ends.peer.domain(), size, 2, access::local_write);
        const auto message = make_message(size, round);
        here.put(message);
        must(ends.peer.qp().recv(there.slices(), round));
        must(ends.qp().send(here.slices(), {.id = round}));
        expect_good(next(ends.queue()), round, IBV_WC_SEND);
        expect_good(next(ends.peer.recv_cq()), round, IBV_WC_RECV);
        there.expect(message);

        // These have nobody to go to: the first connection's end is not the second's beginning.
        must(ends.qp().recv(softrnic::no_slices, 100));
        ends.end();
        must(ends.qp().send(softrnic::no_slices, {.id = 101}));
        expect_status(next(ends.queue()), 100, IBV_WC_WR_FLUSH_ERR);
        expect_status(next(ends.queue()), 101, IBV_WC_WR_FLUSH_ERR);
        ends.reset();
    }
}

/// RESET takes back what was completed and not polled, and the room in the send queue with it.
TEST(Reuse, LeavesNoCompletionsBehind) {
    constexpr std::uint64_t depth = 64;
    reused_pair ends;
    for (std::uint64_t round = 0; round < 3; ++round) {
        ends.connect();
        for (std::uint64_t i = 0; i < depth; ++i) must(ends.peer.qp().recv(softrnic::no_slices));
        for (std::uint64_t i = 0; i < depth; ++i)
            EXPECT_TRUE(works(ends.qp().send(softrnic::no_slices, {.id = i})));
        next(ends.peer.recv_cq(), depth);
        ends.end();
        ends.reset();
        ibv_wc wc{};
        EXPECT_TRUE(must(ends.queue().poll(std::span(&wc, 1))).empty());
    }
}

}  // namespace
}  // namespace verbs_test
