// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Queue pairs that a test brings up by hand, both ends on the device that SRN_RAW_DEVICE names.
#pragma once

#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "link_counter.hpp"
#include "owned.hpp"

namespace by_hand {

using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;
using support::owned;

/// What all queue pairs of a test share.
class device {
public:
    /// The one that this variable of the environment names.
    explicit device(const char* variable = "SRN_RAW_DEVICE") {
        const char* name = std::getenv(variable);
        int count = 0;
        const owned<ibv_device*, ibv_free_device_list> all(ibv_get_device_list(&count));
        for (int i = 0; i < count; i++)
            if (name != nullptr && std::string_view(ibv_get_device_name(all.get()[i])) == name)
                context_.reset(ibv_open_device(all.get()[i]));
        if (!context_) throw std::runtime_error(std::string(variable) + " names no device");
        domain_ = {ibv_alloc_pd(context_.get()), [](ibv_pd* pd) { ibv_dealloc_pd(pd); }};
        find_gid();
    }

    /// One that is open already, and a protection domain that is there, perhaps another process's.
    device(int command_descriptor, std::uint32_t domain)
        : context_(ibv_import_device(dup(command_descriptor))) {
        if (!context_) throw std::system_error(errno, std::generic_category(), "ibv_import_device");
        domain_ = {ibv_import_pd(context_.get(), domain), ibv_unimport_pd};
        if (!domain_) throw std::system_error(errno, std::generic_category(), "ibv_import_pd");
        find_gid();
    }

    ibv_context* context() const { return context_.get(); }
    ibv_pd* domain() const { return domain_.get(); }
    const union ibv_gid& gid() const { return gid_; }
    const char* name() const { return ibv_get_device_name(context_->device); }

    /// A counter of the link.
    std::uint64_t counter(const std::string& name) const {
        return support::link_counter(this->name(), name);
    }

    /// The next asynchronous event, if one comes within the time.
    std::optional<ibv_event_type> event(std::chrono::seconds limit) const {
        pollfd readable{context_->async_fd, POLLIN, 0};
        const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(limit);
        if (poll(&readable, 1, static_cast<int>(ms.count())) != 1) return std::nullopt;
        ibv_async_event event{};
        if (ibv_get_async_event(context_.get(), &event) != 0)
            throw std::runtime_error("ibv_get_async_event");
        ibv_ack_async_event(&event);
        return event.event_type;
    }

    /// The same without IBV_EVENT_COMM_EST, which comes to an end whose peer was there before it
    /// left RTR.
    std::optional<ibv_event_type> event_but_established(std::chrono::seconds limit) const {
        auto next = event(limit);
        while (next == IBV_EVENT_COMM_EST) next = event(limit);
        return next;
    }

private:
    void find_gid() {
        if (ibv_query_gid(context_.get(), 1, 0, &gid_) != 0)
            throw std::runtime_error("there is no GID 0");
    }

    owned<ibv_context, ibv_close_device> context_;
    std::unique_ptr<ibv_pd, void (*)(ibv_pd*)> domain_{nullptr, [](ibv_pd*) {}};
    union ibv_gid gid_ {};
};

inline ibv_qp_attr attributes(ibv_qp_state state) {
    ibv_qp_attr attr{};
    attr.qp_state = state;
    return attr;
}

using shared_queue = owned<ibv_srq, ibv_destroy_srq>;

inline shared_queue make_shared_queue(const device& dev) {
    ibv_srq_init_attr init{};
    init.attr = {.max_wr = 16, .max_sge = 1, .srq_limit = 0};
    shared_queue queue(ibv_create_srq(dev.domain(), &init));
    if (!queue) throw std::runtime_error("no shared receive queue");
    return queue;
}

/// A queue pair with a completion queue and memory of its own. Its receives are its own as well,
/// unless they come from a shared queue.
class end {
public:
    static constexpr std::size_t size = 4096;
    static constexpr int access =
        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

    explicit end(const device& dev, std::uint32_t psn = 7, ibv_srq* shared = nullptr,
                 std::uint32_t depth = 16)
        : dev_(&dev),
          psn_(psn),
          shared_(shared),
          completions_(
              ibv_create_cq(dev.context(), static_cast<int>(4 * depth), nullptr, nullptr, 0)),
          memory_(size),
          region_(ibv_reg_mr(dev.domain(), memory_.data(), size, access)) {
        ibv_qp_init_attr init{};
        init.send_cq = init.recv_cq = completions_.get();
        init.srq = shared;
        init.cap = {.max_send_wr = depth,
                    .max_recv_wr = 16,
                    .max_send_sge = 2,
                    .max_recv_sge = 1,
                    .max_inline_data = 0};
        init.qp_type = IBV_QPT_RC;
        init.sq_sig_all = 1;
        qp_.reset(ibv_create_qp(dev.domain(), &init));
        if (!completions_ || !region_ || !qp_) throw std::runtime_error("no queue pair");
    }

    /// What RTR and RTS set.
    std::uint8_t rnr_timer = 12;
    std::uint8_t rnr_retry = 7;

    std::uint32_t number() const { return qp_->qp_num; }
    ibv_qp* get() const { return qp_.get(); }
    std::uint32_t psn() const { return psn_; }
    std::vector<unsigned char>& memory() { return memory_; }
    const device& of() const { return *dev_; }

    int reset() { return modify(attributes(IBV_QPS_RESET), IBV_QP_STATE); }
    int fail() { return modify(attributes(IBV_QPS_ERR), IBV_QP_STATE); }
    int pause() { return modify(attributes(IBV_QPS_SQD), IBV_QP_STATE); }

    int to_init() {
        ibv_qp_attr attr = attributes(IBV_QPS_INIT);
        attr.port_num = 1;
        attr.qp_access_flags = access;
        return modify(attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    }

    static constexpr int rtr_mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
                                    IBV_QP_MIN_RNR_TIMER;
    static constexpr int rts_mask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                    IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;

    /// To a peer on the same device, unless the attribute is changed.
    ibv_qp_attr rtr(std::uint32_t peer, std::uint32_t peer_psn) const {
        ibv_qp_attr attr = attributes(IBV_QPS_RTR);
        attr.path_mtu = IBV_MTU_1024;
        attr.dest_qp_num = peer;
        attr.rq_psn = peer_psn;
        attr.max_dest_rd_atomic = 4;
        attr.min_rnr_timer = rnr_timer;
        attr.ah_attr.is_global = 1;
        attr.ah_attr.port_num = 1;
        attr.ah_attr.grh.dgid = dev_->gid();
        attr.ah_attr.grh.hop_limit = 64;
        return attr;
    }

    int to_rtr(std::uint32_t peer, std::uint32_t peer_psn) {
        return modify(rtr(peer, peer_psn), rtr_mask);
    }

    int to_rts() {
        ibv_qp_attr attr = attributes(IBV_QPS_RTS);
        attr.sq_psn = psn_;
        attr.timeout = 14;
        attr.retry_cnt = 7;
        attr.rnr_retry = rnr_retry;
        attr.max_rd_atomic = 4;
        return modify(attr, rts_mask);
    }

    int modify(ibv_qp_attr attr, int mask) { return ibv_modify_qp(qp_.get(), &attr, mask); }

    ibv_qp_attr query() const {
        ibv_qp_attr attr{};
        ibv_qp_init_attr init{};
        if (ibv_query_qp(qp_.get(), &attr, IBV_QP_STATE, &init) != 0)
            throw std::runtime_error("ibv_query_qp");
        return attr;
    }

    int post_receive(std::uint64_t id) {
        ibv_sge sge = entry(0);
        ibv_recv_wr wr{.wr_id = id, .next = nullptr, .sg_list = &sge, .num_sge = 1};
        ibv_recv_wr* bad = nullptr;
        return shared_ != nullptr ? ibv_post_srq_recv(shared_, &wr, &bad)
                                  : ibv_post_recv(qp_.get(), &wr, &bad);
    }

    /// To `where` of the peer, which a Send does not need.
    int post(ibv_wr_opcode opcode, std::uint64_t id, end* where = nullptr) {
        if (where == nullptr) return post(opcode, id, entry(size / 2), 0, 0);
        return post(opcode, id, entry(size / 2),
                    reinterpret_cast<std::uintptr_t>(where->memory_.data()), where->region_->rkey);
    }

    /// From, or into, any memory.
    int post(ibv_wr_opcode opcode, std::uint64_t id, ibv_sge local, std::uint64_t remote,
             std::uint32_t key) {
        ibv_send_wr wr{}, *bad = nullptr;
        wr.wr_id = id;
        wr.sg_list = &local;
        wr.num_sge = 1;
        wr.opcode = opcode;
        wr.wr.rdma.remote_addr = remote;
        wr.wr.rdma.rkey = key;
        return ibv_post_send(qp_.get(), &wr, &bad);
    }

    /// The next completion, or none within the time.
    std::optional<ibv_wc> completion(std::chrono::seconds limit = 30s) {
        const auto until = clock_type::now() + limit;
        ibv_wc wc{};
        do {
            const int n = ibv_poll_cq(completions_.get(), 1, &wc);
            if (n < 0) throw std::runtime_error("ibv_poll_cq");
            if (n == 1) return wc;
            std::this_thread::sleep_for(1ms);
        } while (clock_type::now() < until);
        return std::nullopt;
    }

    /// Half of its memory.
    ibv_sge entry(std::size_t offset) const {
        return {.addr = reinterpret_cast<std::uintptr_t>(memory_.data() + offset),
                .length = size / 2,
                .lkey = region_->lkey};
    }

private:
    const device* dev_;
    std::uint32_t psn_;
    ibv_srq* shared_;
    owned<ibv_cq, ibv_destroy_cq> completions_;
    std::vector<unsigned char> memory_;
    owned<ibv_mr, ibv_dereg_mr> region_;
    owned<ibv_qp, ibv_destroy_qp> qp_;
};

/// The completion with that number, whichever others come before it.
inline std::optional<ibv_wc> completion_of(end& e, std::uint64_t id) {
    for (;;) {
        const auto wc = e.completion();
        if (!wc || wc->wr_id == id) return wc;
    }
}

/// Takes what is left in its queue.
inline void discard(end& e) {
    while (e.completion(0s)) {
    }
}

inline void expect_send(end& from, end& to) {
    static unsigned char next = 0;
    const unsigned char byte = ++next;
    std::fill(from.memory().begin() + end::size / 2, from.memory().end(), byte);
    ASSERT_EQ(to.post_receive(1), 0);
    ASSERT_EQ(from.post(IBV_WR_SEND, 2), 0);
    const auto sent = completion_of(from, 2);
    ASSERT_TRUE(sent);
    EXPECT_EQ(sent->status, IBV_WC_SUCCESS) << ibv_wc_status_str(sent->status);
    if (&from == &to) return;
    const auto received = completion_of(to, 1);
    ASSERT_TRUE(received);
    EXPECT_EQ(received->status, IBV_WC_SUCCESS) << ibv_wc_status_str(received->status);
    EXPECT_EQ(to.memory().front(), byte);
}

inline void expect_completion(end& e, std::uint64_t id, ibv_wc_status status = IBV_WC_SUCCESS) {
    const auto wc = e.completion();
    ASSERT_TRUE(wc) << "of " << id;
    ASSERT_EQ(wc->wr_id, id);
    ASSERT_EQ(wc->status, status) << ibv_wc_status_str(wc->status);
}

/// It is its own peer.
inline void bring_up(end& a) {
    ASSERT_EQ(a.to_init(), 0);
    ASSERT_EQ(a.to_rtr(a.number(), a.psn()), 0);
    ASSERT_EQ(a.to_rts(), 0);
}

/// Each is the other one's peer.
inline void bring_up(end& a, end& b) {
    for (end* e : {&a, &b}) ASSERT_EQ(e->to_init(), 0);
    ASSERT_EQ(a.to_rtr(b.number(), b.psn()), 0);
    ASSERT_EQ(b.to_rtr(a.number(), a.psn()), 0);
    for (end* e : {&a, &b}) ASSERT_EQ(e->to_rts(), 0);
}

}  // namespace by_hand
