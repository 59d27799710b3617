// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Each operation with a fault in its first allocation (or copy from or to user space), then with
// one in its second, and so on until it asks for no more. Whatever is hit, the operation does its
// work or reports an error, and afterwards it works. Needs a kernel with fault injection.
//
//   fail_nth ADDRESS NETDEV [OPERATION]     ADDRESS is of a link; NETDEV has none
//
// One line for each operation: "pass" or "fail", its name, and what happened.
#include <fcntl.h>
#include <unistd.h>

#include <exception>
#include <functional>
#include <map>
#include <thread>

#include "die.hpp"
#include "must.hpp"
#include "nldev.hpp"

namespace {

using namespace std::chrono_literals;
using softrnic::access;
using softrnic::result;
using support::die;
using support::must;

/// The Nth place at which a fault can be, counted from its construction, has one: for this thread.
class fault {
public:
    explicit fault(unsigned nth) : fd_(open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC)) {
        if (fd_ < 0) die("no fault injection in this kernel");
        arm(nth);
    }
    ~fault() { close(fd_); }
    fault(const fault&) = delete;
    fault& operator=(const fault&) = delete;

    /// No fault from here on. Was there one?
    bool end() {
        std::array<char, 16> text{};
        // Reading the number is itself a place for a fault.
        const bool read = pread(fd_, text.data(), text.size() - 1, 0) > 0;
        if (!read && errno != EFAULT) die("cannot read fail-nth");
        arm(0);
        return read && std::stoul(text.data()) == 0;
    }

private:
    void arm(unsigned nth) const {
        const std::string text = std::to_string(nth);
        // A fault that was left hits the copy of this text, once.
        if (pwrite(fd_, text.data(), text.size(), 0) < 0 &&
            pwrite(fd_, text.data(), text.size(), 0) < 0)
            die("cannot write fail-nth");
    }
    int fd_;
};

result<void> nothing() {
    return {};
}

struct operation {
    const char* name;
    std::function<result<void>()> run;
    /// Without faults, after a run that went well: did it really?
    std::function<result<void>()> finish = nothing;
    /// Without faults, after each run: as before, so that it can be run again.
    std::function<void()> restore = [] {};
};

constexpr unsigned most_faults = 2000;
unsigned current_fault = 0;

/// True if the operation takes every fault well.
bool torment(const operation& op) {
    std::map<int, unsigned> errors;
    unsigned tolerated = 0;
    for (unsigned nth = 1; nth <= most_faults; ++nth) {
        current_fault = nth;
        fault f(nth);
        result<void> outcome = op.run();
        const bool hit = f.end();
        if (outcome) outcome = op.finish();
        op.restore();
        if (!hit) {
            if (outcome && nth == 1) {
                std::printf("fail %s: nothing in it can fail\n", op.name);
                return false;
            }
            if (!outcome) {
                std::printf("fail %s: without a fault: %s\n", op.name,
                            outcome.error().message().c_str());
                return false;
            }
            std::printf("pass %s: %u faults, %u tolerated", op.name, nth - 1, tolerated);
            for (const auto& [code, count] : errors)
                std::printf(", %u %s", count, strerrorname_np(code));
            std::printf("\n");
            return true;
        }
        if (outcome)
            ++tolerated;
        else
            ++errors[outcome.error().code];
    }
    std::printf("fail %s: no end after %u faults\n", op.name, most_faults);
    return false;
}

/// A server in threads of its own, where no fault is.
class server {
public:
    explicit server(const softrnic::address& where)
        : listener_(must(softrnic::listen(where.with_port(0), 64))), thread_([this] { serve(); }) {}
    ~server() {
        stop_ = true;
        thread_.join();
    }
    server(const server&) = delete;
    server& operator=(const server&) = delete;

    [[nodiscard]] softrnic::address where() const { return listener_.local_address(); }

private:
    void serve() {
        std::vector<std::thread> served;
        while (!stop_) {
            auto request = listener_.next(100ms);
            if (request)
                served.emplace_back(
                    [this, r = std::move(*request)]() mutable { take(std::move(r)); });
        }
        for (std::thread& t : served) t.join();
    }

    /// A connection to read from, write to and send to, until its client leaves.
    void take(softrnic::connection end) {
        if (!end.create_queues({})) return;
        auto memory = softrnic::buffer::create(
            end.domain(), size, access::local_write | access::remote_write | access::remote_read);
        auto inbox = softrnic::buffer::create(end.domain(), size, access::local_write);
        if (!memory || !inbox) return;
        for (int i = 0; i < 64; ++i) (void)end.qp().recv(inbox->all());
        const auto here = memory->remote().to_bytes();
        if (!end.accept({.private_data = here, .timeout = 5s})) return;
        while (!stop_) {
            const auto wc = end.recv_cq().wait_one(100ms);
            if (!wc && wc.error().code == ETIMEDOUT) continue;
            if (!wc || !softrnic::ok(*wc)) return;
            (void)end.qp().recv(inbox->all());
        }
    }

public:
    static constexpr std::size_t size = 256U << 10;

private:
    std::atomic<bool> stop_{false};
    softrnic::listener listener_;
    std::thread thread_;
};

/// A client's connection that is made anew when a fault has broken it.
class client {
public:
    explicit client(const softrnic::address& peer) : peer_(peer) { connect(); }

    /// A post that failed may have left its request in the ring, with nobody told of it.
    void repair() {
        const auto state = end_->qp().state();
        if (!state || *state != IBV_QPS_RTS || in_doubt_) connect();
        in_doubt_ = false;
        // An acknowledgement that is still on its way would help out after a fault.
        std::this_thread::sleep_for(100ms);
    }

    result<void> post(ibv_wr_opcode opcode) {
        const result<void> posted = post_one(opcode);
        in_doubt_ = !posted;
        return posted;
    }

    /// What was posted completes. Sleeps between polls: the event of a completion is the core's,
    /// which loses it when it has no memory for it.
    result<void> complete() {
        ibv_wc wc{};
        for (const softrnic::deadline until = 30s; !until.expired();) {
            const auto got = end_->send_cq().poll(std::span(&wc, 1));
            if (!got) return softrnic::failure(got.error());
            if (got->empty()) {
                std::this_thread::sleep_for(1ms);
                continue;
            }
            if (!softrnic::ok(wc)) return softrnic::detail::fail(EIO, "completion");
            return {};
        }
        die("posted work does not complete, fault " + std::to_string(current_fault));
    }

    softrnic::connection& end() { return *end_; }

private:
    result<void> post_one(ibv_wr_opcode opcode) {
        const auto all = memory_->all();
        switch (opcode) {
            case IBV_WR_RDMA_WRITE: return end_->qp().write(all, remote_);
            case IBV_WR_RDMA_READ: return end_->qp().read(all, remote_);
            default: return end_->qp().send(all);
        }
    }

    void connect() {
        memory_.reset();
        end_.emplace(must(softrnic::dial(peer_)));
        const auto peer = end_->peer_data();
        remote_ =
            softrnic::remote_slice::from_bytes(peer.first<softrnic::remote_slice::wire_size>());
        memory_.emplace(
            must(softrnic::buffer::create(end_->domain(), server::size, access::local_write)));
    }

    softrnic::address peer_;
    bool in_doubt_ = false;
    std::optional<softrnic::connection> end_;
    std::optional<softrnic::buffer> memory_;
    softrnic::remote_slice remote_;
};

/// Runs `make`, which gives a result with an object, and lets go of the object.
template <class F>
std::function<result<void>()> made_and_closed(F make) {
    return [make]() -> result<void> {
        auto made = make();
        if (!made) return softrnic::failure(made.error());
        return {};
    };
}

std::vector<operation> verbs_operations(const softrnic::connection& route,
                                        const softrnic::pd& domain, const softrnic::cq& queue) {
    const softrnic::context_view device = route.context();
    const std::string name(device.name());
    return {
        {"open and close the device",
         made_and_closed([=] { return softrnic::context::open(name); })},
        {"protection domain", made_and_closed([=] { return softrnic::pd::create(device); })},
        {"memory, 4 KiB", made_and_closed([&domain] {
             return softrnic::buffer::create(domain, 4096, access::local_write);
         })},
        {"memory, 8 MiB", made_and_closed([&domain] {
             return softrnic::buffer::create(domain, 8U << 20, access::local_write);
         })},
        {"completion channel",
         made_and_closed([=] { return softrnic::comp_channel::create(device); })},
        {"completion queue", made_and_closed([=] { return softrnic::cq::create(device, 1000); })},
        {"shared receive queue",
         made_and_closed([&domain] { return softrnic::srq::create(domain, 1000, 4); })},
        {"queue pair",
         [&domain, &queue]() -> result<void> {
             ibv_qp_init_attr attr{};
             attr.qp_type = IBV_QPT_RC;
             attr.send_cq = attr.recv_cq = queue.native();
             attr.cap = {128, 128, 4, 4, 256};
             ibv_qp* made = ibv_create_qp(domain.native(), &attr);
             if (made == nullptr) return softrnic::detail::fail_errno("ibv_create_qp");
             return softrnic::detail::check(ibv_destroy_qp(made), "ibv_destroy_qp");
         }},
    };
}

std::vector<operation> connection_operations(const softrnic::address& where,
                                             const softrnic::address& peer, client& c) {
    std::vector<operation> all{
        {"listen", made_and_closed([=] { return softrnic::listen(where.with_port(0)); })},
        {"resolve", made_and_closed([=] { return softrnic::resolve(peer); })},
        {"connect and leave", made_and_closed([=] { return softrnic::dial(peer); })},
        {"disconnect", [&c] { return c.end().disconnect(); }, nothing, [&c] { c.repair(); }},
    };
    for (const auto& [name, opcode] :
         {std::pair{"Write", IBV_WR_RDMA_WRITE}, std::pair{"Send", IBV_WR_SEND},
          std::pair{"Read", IBV_WR_RDMA_READ}})
        all.push_back({name, [&c, opcode = opcode] { return c.post(opcode); },
                       [&c] { return c.complete(); }, [&c] { c.repair(); }});
    return all;
}

std::vector<operation> link_operations(const std::string& netdev) {
    static constexpr const char* name = "srnfault";
    const auto remove = [] { (void)support::link_delete(name); };
    const auto add = [netdev] {
        const auto made = support::link_add(name, netdev);
        if (!made && made.error().code != EEXIST) die(made.error().message());
    };
    return {
        {"link add", [netdev] { return support::link_add(name, netdev); }, nothing, remove},
        {"link delete", [] { return support::link_delete(name); }, nothing, add},
    };
}

bool torment_all(const std::vector<operation>& operations, const std::string& only) {
    bool good = true;
    for (const operation& op : operations) {
        if (!only.empty() && only != op.name) continue;
        good &= torment(op);
        std::fflush(stdout);
    }
    return good;
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc < 3) die("usage: fail_nth ADDRESS NETDEV [OPERATION]");
    const std::string only = argc > 3 ? argv[3] : "";
    const softrnic::address where = must(softrnic::address::resolve(argv[1], 0));
    const softrnic::connection route = must(softrnic::resolve(where.with_port(1)));
    const softrnic::pd domain = must(softrnic::pd::create(route.context()));
    const softrnic::cq queue = must(softrnic::cq::create(route.context(), 300));
    server s(where);
    client c(s.where());

    bool good = torment_all(verbs_operations(route, domain, queue), only);
    good &= torment_all(connection_operations(where, s.where(), c), only);
    good &= torment_all(link_operations(argv[2]), only);
    (void)support::link_delete("srnfault");
    return good ? 0 : 1;
} catch (const std::exception& e) {
    die(e.what());
}
