// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Many connections in one program, to this host's own address: what it takes to make and to end
// one, and messages that go over each in turn. By rdma_cm and queue pairs, or by TCP sockets.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <rdma/rdma_cma.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "descriptor.hpp"
#include "must.hpp"
#include "number.hpp"
#include "owned.hpp"
#include "tcp_listener.hpp"

namespace {

using support::descriptor;
using support::must;
using support::number;
using support::owned;

constexpr const char* usage =
    "usage: connections rdma|tcp ADDRESS connect COUNT AT_A_TIME\n"
    "       connections rdma|tcp ADDRESS rounds COUNT SIZE ROUNDS\n"
    "connect prints the microseconds that one connection takes to be made, and to be ended where\n"
    "all are ended at once. rounds prints the messages in a second.\n";

/// Made and ended before anything is measured, so that all programs and caches are there.
constexpr unsigned warm_up = 4;
constexpr unsigned warm_up_rounds = 2;

[[noreturn]] void fail(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

void check(int status, const char* what) {
    if (status != 0) fail(what);
}

void free_end(rdma_cm_id* id) {
    if (id->qp != nullptr) rdma_destroy_qp(id);
    rdma_destroy_id(id);
}

class rdma_connections {
public:
    rdma_connections(const char* host, unsigned most, std::size_t size)
        : most_(most), size_(size), channel_(rdma_create_event_channel()) {
        if (!channel_) fail("rdma_create_event_channel");
        const softrnic::address where = must(softrnic::address::resolve(host, 0));
        // TCP may have the port that rdma_cm takes without asking it.
        constexpr int attempts = 16;
        for (int i = 0; !listen(where); ++i)
            if (errno != EADDRINUSE || i == attempts) fail("rdma_listen");
        where_ = softrnic::address(rdma_get_local_addr(listener_.get()));
    }

    void open(unsigned count, unsigned at_a_time) {
        for (unsigned started = 0; made() < count;) {
            for (; started < count && started - made() < at_a_time; ++started) start();
            handle_event();
        }
    }

    void close() {
        for (const end& client : clients_) check(rdma_disconnect(client.get()), "rdma_disconnect");
        while (ended_ < clients_.size() + servers_.size()) handle_event();
        clients_.clear();
        servers_.clear();
        standing_clients_ = standing_servers_ = 0;
        ended_ = 0;
    }

    void round() {
        for (const end& client : clients_) send(*client);
        for (std::size_t left = 2 * clients_.size(); left > 0;) left -= take();
    }

private:
    using end = owned<rdma_cm_id, free_end>;

    unsigned made() const { return std::min(standing_clients_, standing_servers_); }

    end new_end() {
        rdma_cm_id* id = nullptr;
        check(rdma_create_id(channel_.get(), &id, nullptr, RDMA_PS_TCP), "rdma_create_id");
        return end(id);
    }

    bool listen(const softrnic::address& where) {
        listener_ = new_end();
        check(rdma_bind_addr(listener_.get(), where.native()), "rdma_bind_addr");
        return rdma_listen(listener_.get(), static_cast<int>(most_)) == 0;
    }

    void start() {
        clients_.push_back(new_end());
        check(rdma_resolve_addr(clients_.back().get(), nullptr, where_.native(), milliseconds),
              "rdma_resolve_addr");
    }

    void handle_event() {
        rdma_cm_event* event = nullptr;
        check(rdma_get_cm_event(channel_.get(), &event), "rdma_get_cm_event");
        rdma_cm_id* const id = event->id;
        const rdma_cm_event_type type = event->event;
        const bool of_client = is_client(id);
        check(rdma_ack_cm_event(event), "rdma_ack_cm_event");
        switch (type) {
            case RDMA_CM_EVENT_ADDR_RESOLVED:
                check(rdma_resolve_route(id, milliseconds), "rdma_resolve_route");
                break;
            case RDMA_CM_EVENT_ROUTE_RESOLVED: connect(*id); break;
            case RDMA_CM_EVENT_CONNECT_REQUEST:
                servers_.emplace_back(id);
                accept(*id);
                break;
            case RDMA_CM_EVENT_ESTABLISHED:
                ++(of_client ? standing_clients_ : standing_servers_);
                break;
            case RDMA_CM_EVENT_DISCONNECTED:
                ++ended_;
                if (!of_client) (void)rdma_disconnect(id);
                break;
            case RDMA_CM_EVENT_TIMEWAIT_EXIT: break;
            default: throw std::runtime_error(rdma_event_str(type));
        }
    }

    /// Both ends have the peer's port; only a server's own is the listener's.
    bool is_client(rdma_cm_id* id) const {
        return rdma_get_src_port(id) != rdma_get_src_port(listener_.get());
    }

    void connect(rdma_cm_id& id) {
        prepare(id);
        rdma_conn_param with = parameters();
        check(rdma_connect(&id, &with), "rdma_connect");
    }

    void accept(rdma_cm_id& id) {
        prepare(id);
        for (unsigned i = 0; i < receives; ++i) receive(servers_.size() - 1);
        rdma_conn_param with = parameters();
        check(rdma_accept(&id, &with), "rdma_accept");
    }

    static rdma_conn_param parameters() {
        constexpr unsigned char most = 7;
        rdma_conn_param with{};
        with.responder_resources = with.initiator_depth = 1;
        with.retry_count = with.rnr_retry_count = most;
        return with;
    }

    void prepare(rdma_cm_id& id) {
        if (!domain_) {
            domain_.reset(ibv_alloc_pd(id.verbs));
            sent_.reset(ibv_create_cq(id.verbs, static_cast<int>(most_), nullptr, nullptr, 0));
            received_.reset(
                ibv_create_cq(id.verbs, static_cast<int>(receives * most_), nullptr, nullptr, 0));
            if (!domain_ || !sent_ || !received_) fail("protection domain, completion queues");
            region_.reset(
                ibv_reg_mr(domain_.get(), bytes_.data(), bytes_.size(), IBV_ACCESS_LOCAL_WRITE));
            if (!region_) fail("ibv_reg_mr");
        }
        ibv_qp_init_attr with{};
        with.send_cq = sent_.get();
        with.recv_cq = received_.get();
        with.qp_type = IBV_QPT_RC;
        with.sq_sig_all = 1;
        with.cap = {.max_send_wr = sends,
                    .max_recv_wr = receives,
                    .max_send_sge = 1,
                    .max_recv_sge = 1,
                    .max_inline_data = 0};
        check(rdma_create_qp(&id, domain_.get(), &with), "rdma_create_qp");
    }

    ibv_sge element(std::size_t offset) {
        return {reinterpret_cast<std::uintptr_t>(bytes_.data()) + offset,
                static_cast<std::uint32_t>(size_), region_->lkey};
    }

    void send(const rdma_cm_id& id) {
        ibv_sge from = element(0);
        ibv_send_wr* refused = nullptr;
        ibv_send_wr request{};
        request.sg_list = &from;
        request.num_sge = 1;
        request.opcode = IBV_WR_SEND;
        errno = ibv_post_send(id.qp, &request, &refused);
        check(errno, "ibv_post_send");
    }

    void receive(std::size_t server) {
        ibv_sge to = element(size_);
        ibv_recv_wr* refused = nullptr;
        ibv_recv_wr request{};
        request.wr_id = server;
        request.sg_list = &to;
        request.num_sge = 1;
        errno = ibv_post_recv(servers_[server]->qp, &request, &refused);
        check(errno, "ibv_post_recv");
    }

    /// How many completions there were.
    std::size_t take() {
        const std::size_t taken = take_from(*sent_) + take_from(*received_);
        if (taken == 0) std::this_thread::yield();
        return taken;
    }

    std::size_t take_from(ibv_cq& queue) {
        std::array<ibv_wc, 32> found;
        const int n = ibv_poll_cq(&queue, static_cast<int>(found.size()), found.data());
        if (n < 0) throw std::runtime_error("ibv_poll_cq");
        for (const ibv_wc& one : std::span(found).first(static_cast<std::size_t>(n))) {
            if (one.status != IBV_WC_SUCCESS)
                throw std::runtime_error(ibv_wc_status_str(one.status));
            if (one.opcode == IBV_WC_RECV) receive(one.wr_id);
        }
        return static_cast<std::size_t>(n);
    }

    static constexpr int milliseconds = 2000;
    static constexpr unsigned sends = 4;
    static constexpr unsigned receives = 4;

    unsigned most_;
    std::size_t size_;
    std::vector<std::byte> bytes_ = std::vector<std::byte>(2 * size_);
    owned<rdma_event_channel, rdma_destroy_event_channel> channel_;
    softrnic::address where_;
    owned<ibv_pd, ibv_dealloc_pd> domain_;
    owned<ibv_cq, ibv_destroy_cq> sent_;
    owned<ibv_cq, ibv_destroy_cq> received_;
    owned<ibv_mr, ibv_dereg_mr> region_;
    end listener_;
    std::vector<end> clients_;
    std::vector<end> servers_;
    unsigned standing_clients_ = 0;
    unsigned standing_servers_ = 0;
    std::size_t ended_ = 0;
};

class tcp_connections {
public:
    tcp_connections(const char* host, unsigned most, std::size_t size)
        : bytes_(size), listener_(host, most) {
        if (!epoll_) fail("epoll_create1");
    }

    void open(unsigned count, unsigned at_a_time) {
        while (count > 0) {
            const unsigned some = std::min(count, at_a_time);
            for (unsigned i = 0; i < some; ++i) connect();
            for (unsigned i = 0; i < some; ++i) accept();
            count -= some;
        }
    }

    void close() {
        clients_.clear();
        servers_.clear();
    }

    void round() {
        for (const descriptor& client : clients_)
            if (::send(client.get(), bytes_.data(), bytes_.size(), MSG_NOSIGNAL) !=
                static_cast<ssize_t>(bytes_.size()))
                fail("send");
        for (std::size_t left = clients_.size() * bytes_.size(); left > 0;) left -= take();
    }

private:
    void connect() {
        clients_.push_back(listener_.connect());
        const int on = 1;
        check(::setsockopt(clients_.back().get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on),
              "TCP_NODELAY");
    }

    void accept() {
        servers_.push_back(listener_.accept());
        epoll_event of{.events = EPOLLIN, .data = {.fd = servers_.back().get()}};
        check(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, of.data.fd, &of), "epoll_ctl");
    }

    /// How many bytes there were.
    std::size_t take() {
        std::array<epoll_event, 32> found;
        const int n = ::epoll_wait(epoll_.get(), found.data(), static_cast<int>(found.size()), -1);
        if (n < 0) fail("epoll_wait");
        std::size_t taken = 0;
        for (const epoll_event& one : std::span(found).first(static_cast<std::size_t>(n))) {
            const ssize_t some = ::recv(one.data.fd, bytes_.data(), bytes_.size(), 0);
            if (some <= 0) fail("recv");
            taken += static_cast<std::size_t>(some);
        }
        return taken;
    }

    std::vector<std::byte> bytes_;
    bench::tcp_listener listener_;
    descriptor epoll_{::epoll_create1(EPOLL_CLOEXEC)};
    std::vector<descriptor> clients_;
    std::vector<descriptor> servers_;
};

using microseconds = std::chrono::duration<double, std::micro>;

template <class Work>
microseconds time_of(Work work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::steady_clock::now() - start;
}

template <class Connections>
void measure_connect(const char* host, unsigned count, unsigned at_a_time) {
    Connections connections(host, count, 1);
    connections.open(std::min(count, warm_up), 1);
    connections.close();
    const microseconds made = time_of([&] { connections.open(count, at_a_time); });
    const microseconds ended = time_of([&] { connections.close(); });
    std::printf("%.3f %.3f\n", made.count() / count, ended.count() / count);
}

template <class Connections>
void measure_rounds(const char* host, unsigned count, std::size_t size, unsigned rounds) {
    constexpr unsigned at_a_time = 16;
    constexpr double second = 1e6;
    Connections connections(host, count, size);
    connections.open(count, at_a_time);
    const auto some = [&](unsigned n) {
        for (unsigned i = 0; i < n; ++i) connections.round();
    };
    some(warm_up_rounds);
    const microseconds taken = time_of([&] { some(rounds); });
    std::printf("%.0f\n", second * count * rounds / taken.count());
    connections.close();
}

template <class Connections>
bool measure(std::span<char*> words) {
    const std::string_view what(words[3]);
    const auto count = number<unsigned>(words[4]);
    if (what == "connect" && words.size() == 6)
        measure_connect<Connections>(words[2], count, number<unsigned>(words[5]));
    else if (what == "rounds" && words.size() == 7)
        measure_rounds<Connections>(words[2], count, number<std::size_t>(words[5]),
                                    number<unsigned>(words[6]));
    else
        return false;
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    const std::span<char*> words(argv, static_cast<std::size_t>(argc));
    try {
        const std::string_view transport(argc > 5 ? words[1] : "");
        if ((transport == "rdma" && measure<rdma_connections>(words)) ||
            (transport == "tcp" && measure<tcp_connections>(words)))
            return 0;
        std::fputs(usage, stderr);
        return 2;
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "connections: %s\n", problem.what());
        return 1;
    }
}
