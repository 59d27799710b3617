// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// What NCCL's net_ib does. The two ends exchange numbers and GIDs by a TCP socket and bring their
// queue pairs up by hand, with sequence number 0. The receiver posts a receive without memory, and
// writes into the sender's memory where the next message may go. The sender answers by a Write of
// the message, and by an empty Write with immediate data that tells its length. The receiver reads
// one byte of each message by a queue pair that is connected to itself, and compares the message.
#include <infiniband/verbs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "descriptor.hpp"
#include "die.hpp"
#include "owned.hpp"

namespace {

using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;
using support::descriptor;
using support::die;
using support::owned;

constexpr const char* usage =
    "usage: nccl_like receive DEVICE PORT\n"
    "       nccl_like send DEVICE PORT ADDRESS\n"
    "Last line of the receiver: messages and bytes that it has compared.\n";

constexpr std::uint32_t messages = 512;
/// Messages that are under way at a time.
constexpr std::uint32_t slots = 8;
constexpr std::size_t slot_size = 128 * 1024;
constexpr std::array<std::uint32_t, 8> lengths{1, 64, 8192, 131072, 3, 65537, 1000, 4096};
constexpr int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
constexpr std::chrono::seconds patience = 30s;

constexpr std::uint32_t length_of(std::uint32_t message) {
    return lengths[message % lengths.size()];
}

constexpr unsigned char byte_of(std::uint32_t message, std::size_t offset) {
    return static_cast<unsigned char>(message * 31 + offset * 7 + (offset >> 8) + 1);
}

/// Where the receiver takes a message; `number` is that of the message plus one, and is written
/// last.
struct invitation {
    std::uint64_t address;
    std::uint64_t key;
    std::uint64_t number;
};

/// What the ends tell each other by TCP. Both are on this host.
struct introduction {
    union ibv_gid gid;
    std::uint32_t number;
    std::uint32_t key;
    std::uint64_t address;
};

void good(int ret, const char* what) {
    if (ret != 0) die(std::string(what) + ": " + std::strerror(ret));
}

/// Returns when the condition holds.
template <class Condition>
void wait_for(const char* what, Condition holds) {
    const auto end = clock_type::now() + patience;
    while (!holds())
        if (clock_type::now() > end) die(std::string("no ") + what + " in time");
}

class device {
public:
    explicit device(std::string_view name) {
        int count = 0;
        const owned<ibv_device*, ibv_free_device_list> all(ibv_get_device_list(&count));
        for (ibv_device* d : std::span(all.get(), static_cast<std::size_t>(count)))
            if (name == ibv_get_device_name(d)) context_.reset(ibv_open_device(d));
        if (!context_) die("no such device");
        ibv_port_attr port{};
        good(ibv_query_port(context_.get(), 1, &port), "ibv_query_port");
        if (port.state != IBV_PORT_ACTIVE || port.link_layer != IBV_LINK_LAYER_ETHERNET)
            die("the port is no active one of Ethernet");
        find_gid(port.gid_tbl_len);
        domain_.reset(ibv_alloc_pd(context_.get()));
        if (!domain_) die("ibv_alloc_pd");
    }

    ibv_context* context() const { return context_.get(); }
    ibv_pd* domain() const { return domain_.get(); }
    const union ibv_gid& gid() const { return gid_; }
    std::uint8_t gid_index() const { return gid_index_; }

private:
    /// The first one that is an IPv4 address.
    void find_gid(int count) {
        constexpr std::array<std::uint8_t, 12> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
        for (int i = 0; i < count; i++) {
            good(ibv_query_gid(context_.get(), 1, i, &gid_), "ibv_query_gid");
            if (!std::equal(mapped.begin(), mapped.end(), gid_.raw)) continue;
            gid_index_ = static_cast<std::uint8_t>(i);
            return;
        }
        die("no GID is an IPv4 address");
    }

    owned<ibv_context, ibv_close_device> context_;
    owned<ibv_pd, ibv_dealloc_pd> domain_;
    union ibv_gid gid_ {};
    std::uint8_t gid_index_ = 0;
};

class region {
public:
    region(const device& dev, std::size_t size)
        : bytes_(size), mr_(ibv_reg_mr(dev.domain(), bytes_.data(), size, access)) {
        if (!mr_) die("ibv_reg_mr");
    }

    std::vector<unsigned char>& bytes() { return bytes_; }
    std::uint32_t key() const { return mr_->rkey; }
    std::uint64_t address(std::size_t offset = 0) const {
        return reinterpret_cast<std::uintptr_t>(bytes_.data() + offset);
    }
    ibv_sge part(std::size_t offset, std::uint32_t length) const {
        return {.addr = address(offset), .length = length, .lkey = mr_->lkey};
    }

private:
    std::vector<unsigned char> bytes_;
    owned<ibv_mr, ibv_dereg_mr> mr_;
};

struct remote_place {
    std::uint64_t address;
    std::uint32_t key;
};

class queue_pair {
public:
    queue_pair(const device& dev, std::uint32_t sends, std::uint32_t receives)
        : dev_(&dev),
          completions_(ibv_create_cq(dev.context(), static_cast<int>(sends + receives), nullptr,
                                     nullptr, 0)) {
        if (!completions_) die("ibv_create_cq");
        ibv_qp_init_attr init{};
        init.send_cq = init.recv_cq = completions_.get();
        init.qp_type = IBV_QPT_RC;
        init.cap.max_send_wr = sends;
        init.cap.max_recv_wr = receives;
        init.cap.max_send_sge = init.cap.max_recv_sge = 1;
        init.cap.max_inline_data = sizeof(invitation);
        qp_.reset(ibv_create_qp(dev.domain(), &init));
        if (!qp_) die("ibv_create_qp");
        ibv_qp_attr attr{};
        attr.qp_state = IBV_QPS_INIT;
        attr.port_num = 1;
        attr.qp_access_flags = access;
        good(ibv_modify_qp(qp_.get(), &attr,
                           IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
             "INIT");
    }

    std::uint32_t number() const { return qp_->qp_num; }

    void bring_up(const union ibv_gid& peer, std::uint32_t number) {
        ibv_qp_attr attr{};
        attr.qp_state = IBV_QPS_RTR;
        attr.path_mtu = IBV_MTU_1024;
        attr.dest_qp_num = number;
        attr.max_dest_rd_atomic = 1;
        attr.min_rnr_timer = 12;
        attr.ah_attr.is_global = 1;
        attr.ah_attr.port_num = 1;
        attr.ah_attr.grh.dgid = peer;
        attr.ah_attr.grh.sgid_index = dev_->gid_index();
        attr.ah_attr.grh.hop_limit = 255;
        good(ibv_modify_qp(qp_.get(), &attr,
                           IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                               IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
             "RTR");
        attr = {};
        attr.qp_state = IBV_QPS_RTS;
        attr.timeout = 20;
        attr.retry_cnt = 7;
        attr.rnr_retry = 7;
        attr.max_rd_atomic = 1;
        good(ibv_modify_qp(qp_.get(), &attr,
                           IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                               IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
             "RTS");
    }

    void post_empty_receive(std::uint64_t id) {
        ibv_recv_wr wr{.wr_id = id, .next = nullptr, .sg_list = nullptr, .num_sge = 0};
        ibv_recv_wr* bad = nullptr;
        good(ibv_post_recv(qp_.get(), &wr, &bad), "ibv_post_recv");
    }

    void post(ibv_wr_opcode opcode, std::uint64_t id, ibv_sge from, remote_place to,
              unsigned flags) {
        ibv_send_wr wr = request(opcode, id, to, flags), *bad = nullptr;
        wr.sg_list = &from;
        wr.num_sge = 1;
        good(ibv_post_send(qp_.get(), &wr, &bad), "ibv_post_send");
    }

    /// A Write without a completion, and behind it an empty one that tells the length.
    void post_message(std::uint64_t id, ibv_sge from, remote_place to) {
        ibv_send_wr last = request(IBV_WR_RDMA_WRITE_WITH_IMM, id, to, IBV_SEND_SIGNALED);
        last.imm_data = htonl(from.length);
        ibv_send_wr first = request(IBV_WR_RDMA_WRITE, id, to, 0), *bad = nullptr;
        first.sg_list = &from;
        first.num_sge = 1;
        first.next = &last;
        good(ibv_post_send(qp_.get(), &first, &bad), "ibv_post_send");
    }

    ibv_wc completion() {
        ibv_wc wc{};
        wait_for("completion", [&] {
            const int n = ibv_poll_cq(completions_.get(), 1, &wc);
            if (n < 0) die("ibv_poll_cq");
            return n == 1;
        });
        if (wc.status != IBV_WC_SUCCESS)
            die("completion " + std::to_string(wc.wr_id) + ": " + ibv_wc_status_str(wc.status));
        return wc;
    }

private:
    static ibv_send_wr request(ibv_wr_opcode opcode, std::uint64_t id, remote_place to,
                               unsigned flags) {
        ibv_send_wr wr{};
        wr.wr_id = id;
        wr.opcode = opcode;
        wr.send_flags = flags;
        wr.wr.rdma.remote_addr = to.address;
        wr.wr.rdma.rkey = to.key;
        return wr;
    }

    const device* dev_;
    owned<ibv_cq, ibv_destroy_cq> completions_;
    owned<ibv_qp, ibv_destroy_qp> qp_;
};

template <class T>
T exchange(const descriptor& peer, const T& mine) {
    T theirs{};
    if (::send(peer.get(), &mine, sizeof mine, MSG_NOSIGNAL) != ssize_t{sizeof mine} ||
        ::recv(peer.get(), &theirs, sizeof theirs, MSG_WAITALL) != ssize_t{sizeof theirs})
        die("the peer is gone");
    return theirs;
}

void limit_waiting(const descriptor& socket) {
    const timeval limit{.tv_sec = patience.count(), .tv_usec = 0};
    ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

descriptor accept_one(const char* port) {
    const descriptor listener(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_port = htons(static_cast<std::uint16_t>(std::atoi(port)));
    const int yes = 1;
    ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    limit_waiting(listener);
    if (::bind(listener.get(), reinterpret_cast<sockaddr*>(&any), sizeof any) != 0 ||
        ::listen(listener.get(), 1) != 0)
        die("the port is not free");
    descriptor peer(::accept(listener.get(), nullptr, nullptr));
    if (!peer) die("nobody connects");
    limit_waiting(peer);
    return peer;
}

descriptor connect_to(const char* address, const char* port) {
    addrinfo hints{}, *found = nullptr;
    hints.ai_family = AF_INET;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    if (::getaddrinfo(address, port, &hints, &found) != 0) die("no such address");
    const owned<addrinfo, ::freeaddrinfo> route(found);
    descriptor peer(::socket(AF_INET, SOCK_STREAM, 0));
    if (::connect(peer.get(), route->ai_addr, route->ai_addrlen) != 0) die("nobody listens");
    limit_waiting(peer);
    return peer;
}

constexpr std::uint64_t invitation_id = 1'000'000;

class receiver {
public:
    receiver(const device& dev, const descriptor& peer)
        : memory_(dev, slots * slot_size),
          invitations_(dev, slots * sizeof(invitation)),
          flushed_(dev, 1),
          qp_(dev, 2 * slots, slots),
          flush_(dev, 2 * slots, 0),
          peer_(exchange(peer, introduction{dev.gid(), qp_.number(), 0, 0})) {
        qp_.bring_up(peer_.gid, peer_.number);
        flush_.bring_up(dev.gid(), flush_.number());
    }

    /// How many bytes have been compared.
    std::uint64_t run() {
        std::uint64_t bytes = 0;
        for (std::uint32_t m = 0; m < slots; m++) invite(m);
        for (std::uint32_t m = 0; m < messages; m++) {
            take(m);
            flush(m);
            compare(m);
            bytes += length_of(m);
            if (m + slots < messages) invite(m + slots);
        }
        return bytes;
    }

private:
    void invite(std::uint32_t m) {
        const std::size_t slot = m % slots, offset = slot * sizeof(invitation);
        const invitation here{memory_.address(slot * slot_size), memory_.key(), m + 1ULL};
        std::memcpy(invitations_.bytes().data() + offset, &here, sizeof here);
        qp_.post_empty_receive(m);
        // The completion of the first slot's tells of all that were before it.
        qp_.post(IBV_WR_RDMA_WRITE, invitation_id + m, invitations_.part(offset, sizeof here),
                 {peer_.address + offset, peer_.key},
                 IBV_SEND_INLINE | (slot == 0 ? IBV_SEND_SIGNALED : 0));
    }

    void take(std::uint32_t m) {
        ibv_wc wc = qp_.completion();
        while (wc.wr_id >= invitation_id) wc = qp_.completion();
        if (wc.wr_id != m || wc.opcode != IBV_WC_RECV_RDMA_WITH_IMM)
            die("message " + std::to_string(m) + ": another completion");
        if ((wc.wc_flags & IBV_WC_WITH_IMM) == 0 || ntohl(wc.imm_data) != length_of(m))
            die("message " + std::to_string(m) + ": wrong immediate data");
    }

    void flush(std::uint32_t m) {
        flushed_.bytes()[0] = static_cast<unsigned char>(~byte_of(m, 0));
        flush_.post(IBV_WR_RDMA_READ, m, flushed_.part(0, 1),
                    {memory_.address(m % slots * slot_size), memory_.key()}, IBV_SEND_SIGNALED);
        flush_.completion();
        if (flushed_.bytes()[0] != byte_of(m, 0))
            die("message " + std::to_string(m) + ": the flush has read another byte");
    }

    void compare(std::uint32_t m) {
        const std::span slot(memory_.bytes().data() + m % slots * slot_size, slot_size);
        for (std::size_t i = 0; i < slot.size(); i++) {
            const unsigned char expected = i < length_of(m) ? byte_of(m, i) : 0;
            if (slot[i] != expected)
                die("message " + std::to_string(m) + ": byte " + std::to_string(i) + " is wrong");
        }
        std::fill_n(slot.begin(), length_of(m), 0);
    }

    region memory_, invitations_, flushed_;
    queue_pair qp_, flush_;
    introduction peer_;
};

class sender {
public:
    sender(const device& dev, const descriptor& peer)
        : memory_(dev, slots * slot_size),
          invitations_(dev, slots * sizeof(invitation)),
          qp_(dev, 2 * messages, 0),
          peer_(exchange(peer, introduction{dev.gid(), qp_.number(), invitations_.key(),
                                            invitations_.address()})) {
        qp_.bring_up(peer_.gid, peer_.number);
    }

    void run() {
        for (std::uint32_t m = 0; m < messages; m++) {
            if (m >= slots) finish(m - slots);
            send(m, invited(m));
        }
        for (std::uint32_t m = messages - slots; m < messages; m++) finish(m);
    }

private:
    remote_place invited(std::uint32_t m) {
        auto* slot = reinterpret_cast<invitation*>(invitations_.bytes().data()) + m % slots;
        const std::atomic_ref number(slot->number);
        wait_for("invitation", [&] { return number.load(std::memory_order_acquire) == m + 1ULL; });
        return {slot->address, static_cast<std::uint32_t>(slot->key)};
    }

    void send(std::uint32_t m, remote_place to) {
        const std::size_t offset = m % slots * slot_size;
        unsigned char* bytes = memory_.bytes().data() + offset;
        for (std::size_t i = 0; i < length_of(m); i++) bytes[i] = byte_of(m, i);
        qp_.post_message(m, memory_.part(offset, length_of(m)), to);
    }

    /// The message's memory may be used again.
    void finish(std::uint32_t m) {
        if (qp_.completion().wr_id != m) die("sends complete in another order");
    }

    region memory_, invitations_;
    queue_pair qp_;
    introduction peer_;
};

}  // namespace

int main(int argc, char** argv) {
    const std::span arguments(argv, static_cast<std::size_t>(argc));
    const std::string_view role = argc > 1 ? arguments[1] : "";
    if (role == "receive" && argc == 4) {
        const descriptor peer = accept_one(arguments[3]);
        const device dev(arguments[2]);
        receiver end(dev, peer);
        const std::uint64_t bytes = end.run();
        exchange(peer, 'r');
        std::printf("%u messages, %llu bytes compared\n", messages,
                    static_cast<unsigned long long>(bytes));
    } else if (role == "send" && argc == 5) {
        const descriptor peer = connect_to(arguments[4], arguments[3]);
        const device dev(arguments[2]);
        sender end(dev, peer);
        end.run();
        exchange(peer, 's');
    } else {
        die(usage);
    }
}
