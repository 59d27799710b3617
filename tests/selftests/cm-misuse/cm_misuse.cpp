// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Uses connections in ways that no library would: the core's connection manager must not break,
// and nobody but the one who did it may suffer.
//
//   cm_misuse CASE DEVICE-FILE ADDRESS ROUNDS
//       A case of the table below, that many times. ADDRESS is one of the device's, and the other
//       side of each connection is a TCP socket of this program.
//   cm_misuse qp-of-the-kernel DEVICE-FILE ADDRESS QPN
//       The same with a queue pair that one of the kernel's consumers has made.
#include <grp.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <barrier>
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "cm_scene.hpp"
#include "die.hpp"
#include "must.hpp"
#include "nldev.hpp"
#include "withheld_page.hpp"

namespace {

using cm_misuse::cm_scene;
using cm_misuse::ends_soon;
using cm_misuse::owned_qp;
using cm_misuse::soon;
using cm_misuse::verbs_scene;
using softrnic::address;
using support::must;
using wirepeer::tcp_listener;
using wirepeer::tcp_stream;
namespace raw_cm = support::raw_cm;

/// The ids of nobody, who is not root.
constexpr uid_t nobody = 65534;
/// Nobody has so many queue pairs.
constexpr std::uint32_t no_qp = 0xabcdef;

struct places {
    std::string device_file;
    address where;
};

/// Both at the same time, as far as two threads can do that.
void at_once(const std::function<void()>& one, const std::function<void()>& other) {
    std::barrier start(2);
    std::exception_ptr problem;
    {
        const std::jthread second([&] {
            start.arrive_and_wait();
            try {
                other();
            } catch (...) {
                problem = std::current_exception();
            }
        });
        start.arrive_and_wait();
        one();
    }
    if (problem) std::rethrow_exception(problem);
}

// ----------------------------------------------- requests that come in

/// What is done to one request.
struct assault {
    cm_scene& cm;
    cm_scene::request& request;
    owned_qp& qp;
    owned_qp& other_qp;
    unsigned round;
    std::atomic<unsigned> accepted{0};
    bool destroyed = false;

    void accept(std::uint32_t number) {
        if (raw_cm::accept(cm.channel(), request.id, {.qp_number = number})) ++accepted;
    }
    void accept() { accept(qp.number()); }
    void reject() const { (void)raw_cm::reject(cm.channel(), request.id); }
    void destroy() {
        cm.destroy(request.id);
        destroyed = true;
    }
};

struct request_case {
    void (*act)(assault&);
    /// At least one accept comes through, and the peer gets a reply.
    bool is_accepted = false;
};

void accept_twice(assault& a) {
    at_once([&] { a.accept(); }, [&] { a.accept(); });
}

void accept_with_two(assault& a) {
    at_once([&] { a.accept(); }, [&] { a.accept(a.other_qp.number()); });
}

void accept_and_reject(assault& a) {
    if (a.round % 2 == 0) {
        a.accept();
        a.reject();
    } else {
        at_once([&] { a.accept(); }, [&] { a.reject(); });
    }
}

void accept_and_destroy(assault& a) {
    at_once([&] { a.accept(); }, [&] { a.destroy(); });
}

void accept_beside_a_wrong_one(assault& a) {
    if (a.round % 2 == 0) {
        a.accept();
        a.accept(no_qp);
    } else {
        at_once([&] { a.accept(); }, [&] { a.accept(no_qp); });
    }
}

void accept_while_the_qp_goes(assault& a) {
    at_once([&] { a.accept(); }, [&] { a.qp.destroy(); });
}

void accept_while_the_peer_resets(assault& a) {
    at_once([&] { a.accept(); }, [&] { a.request.peer.reset(); });
}

void with_requests(const request_case& c, const places& p, unsigned rounds) {
    const verbs_scene verbs(p.device_file);
    cm_scene cm(p.where);
    const std::uint32_t listener = cm.listen();
    for (unsigned round = 0; round < rounds; ++round) {
        auto request = cm.next_request();
        owned_qp qp(verbs);
        owned_qp other_qp(verbs);
        assault a{cm, request, qp, other_qp, round};
        c.act(a);
        if (c.is_accepted) {
            if (a.accepted == 0) throw std::runtime_error("no accept has worked");
            if (request.peer.read_frame(true).reject)
                throw std::runtime_error("accepted, but the peer was told of a reject");
        }
        if (!a.destroyed) cm.destroy(request.id);
        // After a second accept that was refused the core does not know of the connection any more.
        for (owned_qp* each : {&qp, &other_qp})
            ends_soon("destroying a queue pair", [&] { each->destroy(); });
        if (c.act != accept_while_the_peer_resets) request.peer.expect_over();
    }
    cm.destroy(listener);
}

// ------------------------------------------------------- ids that connect

/// An id whose peer has taken the connection and does not answer.
struct connecting {
    connecting(const places& p, const verbs_scene& verbs, cm_scene& scene, bool requested)
        : silent(p.where.with_port(0)),
          cm(scene),
          qp(verbs),
          id(scene.route_to(silent.local_address())) {
        must(raw_cm::connect(cm.channel(), id, {.qp_number = qp.number()}));
        if (!requested) return;
        peer.emplace(silent.accept());
        (void)peer->read_frame(false);
    }

    void refuse_accept() const {
        if (raw_cm::accept(cm.channel(), id, {.qp_number = qp.number()}))
            throw std::runtime_error("an id that connects was accepted");
    }
    void refuse_reject() const {
        if (raw_cm::reject(cm.channel(), id))
            throw std::runtime_error("an id that connects was rejected");
    }
    void await_failure() const {
        cm.await(id, {RDMA_CM_EVENT_CONNECT_ERROR, RDMA_CM_EVENT_UNREACHABLE,
                      RDMA_CM_EVENT_REJECTED, RDMA_CM_EVENT_DISCONNECTED});
    }
    void disconnect() const {
        ends_soon("disconnecting", [&] { (void)raw_cm::disconnect(cm.channel(), id); });
        await_failure();
    }

    tcp_listener silent;
    cm_scene& cm;
    owned_qp qp;
    std::uint32_t id;
    std::optional<tcp_stream> peer;
};

using connecting_case = void (*)(connecting&);

void accept_then_disconnect(connecting& c) {
    c.refuse_accept();
    c.disconnect();
}
void reject_then_disconnect(connecting& c) {
    c.refuse_reject();
    c.disconnect();
}
void accept_then_destroy(connecting& c) {
    c.refuse_accept();
}
void reject_then_destroy(connecting& c) {
    c.refuse_reject();
}
void only_disconnect(connecting& c) {
    c.disconnect();
}
void only_destroy(connecting&) {}
void lose_the_qp(connecting& c) {
    ends_soon("destroying the queue pair", [&] { c.qp.destroy(); });
    c.await_failure();
}

/// Each ends with the destruction of the id.
void while_connecting(connecting_case act, const places& p, unsigned rounds) {
    const verbs_scene verbs(p.device_file);
    cm_scene cm(p.where);
    for (unsigned round = 0; round < rounds; ++round) {
        connecting c(p, verbs, cm, round % 2 == 0);
        act(c);
        cm.destroy(c.id);
        if (c.peer) c.peer->expect_over();
    }
}

/// The peer of an id that connects answers as it should.
void establish(cm_scene& cm, std::uint32_t id, const tcp_stream& peer) {
    (void)peer.read_frame(false);
    peer.send(wirepeer::first_revision_frame(true));
    cm.await(id, {RDMA_CM_EVENT_ESTABLISHED});
}

/// What a case needs whose ids connect to a socket of this program.
struct outward {
    explicit outward(const places& p)
        : verbs(p.device_file), far(p.where.with_port(0)), cm(p.where) {}

    [[nodiscard]] std::uint32_t new_id() const { return cm.route_to(far.local_address()); }

    verbs_scene verbs;
    tcp_listener far;
    cm_scene cm;
};

void connect_two_with_one_qp(const places& p, unsigned rounds) {
    outward out(p);
    for (unsigned round = 0; round < rounds; ++round) {
        const owned_qp qp(out.verbs);
        const std::array ids{out.new_id(), out.new_id()};
        std::array<bool, 2> good{};
        auto connect = [&](std::size_t i) {
            good.at(i) = static_cast<bool>(
                raw_cm::connect(out.cm.channel(), ids.at(i), {.qp_number = qp.number()}));
        };
        at_once([&] { connect(0); }, [&] { connect(1); });
        if (good[0] == good[1])
            throw std::runtime_error(good[0] ? "both have connected" : "none has connected");
        const tcp_stream peer = out.far.accept();
        establish(out.cm, ids.at(good[0] ? 0 : 1), peer);
        for (const std::uint32_t id : ids) out.cm.destroy(id);
        peer.expect_over();
    }
}

void reconnect_at_once(const places& p, unsigned rounds) {
    outward out(p);
    for (unsigned round = 0; round < rounds; ++round) {
        const owned_qp qp(out.verbs);
        const std::array ids{out.new_id(), out.new_id()};
        must(raw_cm::connect(out.cm.channel(), ids[0], {.qp_number = qp.number()}));
        const tcp_stream first = out.far.accept();
        establish(out.cm, ids[0], first);
        must(support::raw::modify_qp(out.verbs.device(), qp.handle(), IBV_QPS_ERR));
        must(support::raw::modify_qp(out.verbs.device(), qp.handle(), IBV_QPS_RESET));
        must(support::raw::modify_qp(out.verbs.device(), qp.handle(), IBV_QPS_INIT));
        std::optional<tcp_stream> second;
        at_once(
            [&] {
                ends_soon("connecting again", [&] {
                    must(raw_cm::connect(out.cm.channel(), ids[1], {.qp_number = qp.number()}));
                });
            },
            [&] {
                second.emplace(out.far.accept());
                (void)second->read_frame(false);
                second->send(wirepeer::first_revision_frame(true));
            });
        for (const std::uint32_t id : ids) out.cm.destroy(id);
    }
}

/// The core goes on with a queue pair that its id has let go of, if the connection ends meanwhile.
void disconnect_while_the_qp_goes(const places& p, unsigned rounds) {
    outward out(p);
    for (unsigned round = 0; round < rounds; ++round) {
        const owned_qp qp(out.verbs);
        const std::uint32_t id = out.new_id();
        must(raw_cm::connect(out.cm.channel(), id, {.qp_number = qp.number()}));
        tcp_stream peer = out.far.accept();
        establish(out.cm, id, peer);
        const std::jthread reset([&] { peer.reset(); });
        at_once(
            [&] {
                // Refused if the connection has ended.
                ends_soon("disconnecting", [&] { (void)raw_cm::disconnect(out.cm.channel(), id); });
            },
            [&] { ends_soon("destroying a queue pair", [&] { qp.destroy(); }); });
        out.cm.destroy(id);
    }
}

// --------------------------------------------- queue pairs of somebody else

/// 0 if a connection could be made with that queue pair, or why not.
int connect_with(const address& where, std::uint32_t number) {
    const tcp_listener far(where.with_port(0));
    cm_scene cm(where);
    const std::uint32_t id = cm.route_to(far.local_address());
    const auto connected = raw_cm::connect(cm.channel(), id, {.qp_number = number});
    if (!connected) return connected.error().code;
    establish(cm, id, far.accept());
    cm.destroy(id);
    return 0;
}

int accept_with(const address& where, std::uint32_t number) {
    cm_scene cm(where);
    cm.listen();
    const auto request = cm.next_request();
    const auto accepted = raw_cm::accept(cm.channel(), request.id, {.qp_number = number});
    return accepted ? 0 : accepted.error().code;
}

/// In a process of its own; throws if that fails.
void in_child(const std::function<void()>& what) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("no process");
    if (child == 0) {
        int status = 0;
        try {
            what();
        } catch (const std::exception& e) {
            std::printf("in another process: %s\n", e.what());
            status = 1;
        }
        std::fflush(stdout);
        _exit(status);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0)
        throw std::runtime_error("another process has failed");
}

void become_nobody() {
    if (setgroups(0, nullptr) != 0 || setgid(nobody) != 0 || setuid(nobody) != 0)
        throw std::runtime_error("cannot become somebody else");
}

void expect_refused(const char* what, int code) {
    if (code != EPERM && code != EINVAL)
        throw std::runtime_error(std::string(what) + " with a foreign queue pair: " +
                                 (code == 0 ? "worked" : strerrordesc_np(code)));
}

void expect_foreign(const address& where, std::uint32_t number) {
    expect_refused("connecting", connect_with(where, number));
    expect_refused("accepting", accept_with(where, number));
}

void expect_own(const address& where, std::uint32_t number) {
    if (const int code = connect_with(where, number); code != 0)
        throw std::runtime_error(std::string("an own queue pair cannot be connected: ") +
                                 strerrordesc_np(code));
}

/// A stranger cannot use the queue pair, whose owner still can afterwards.
void refused_to(const std::function<void(const std::function<void()>&)>& stranger, const places& p,
                unsigned rounds) {
    const verbs_scene verbs(p.device_file);
    for (unsigned round = 0; round < rounds; ++round) {
        const owned_qp qp(verbs);
        stranger([&] { expect_foreign(p.where, qp.number()); });
        expect_own(p.where, qp.number());
    }
}

void refused_because_it_is_the_kernels(const places& p, unsigned number) {
    expect_foreign(p.where, number);
}

void refused_to_another_user(const places& p, unsigned rounds) {
    refused_to(
        [](const std::function<void()>& act) {
            in_child([&] {
                become_nobody();
                act();
            });
        },
        p, rounds);
}

void refused_in_another_pid_namespace(const places& p, unsigned rounds) {
    refused_to(
        [](const std::function<void()>& act) {
            in_child([&] {
                if (unshare(CLONE_NEWPID) != 0) throw std::runtime_error("unshare");
                in_child(act);
            });
        },
        p, rounds);
}

void used_by_a_child(const places& p, unsigned rounds) {
    const verbs_scene verbs(p.device_file);
    for (unsigned round = 0; round < rounds; ++round) {
        const owned_qp qp(verbs);
        in_child([&] { expect_own(p.where, qp.number()); });
    }
}

void used_after_setuid(const places& p, unsigned rounds) {
    for (unsigned round = 0; round < rounds; ++round)
        in_child([&] {
            const verbs_scene verbs(p.device_file);
            // The device takes commands no more after setuid(), so it goes with the process.
            const std::uint32_t number = verbs.make_qp().number;
            become_nobody();
            expect_own(p.where, number);
        });
}

// ---------------------------------------------- who does not take an event

/// Connects and accepts, and leaves nothing.
void expect_connections(const places& p) {
    const verbs_scene verbs(p.device_file);
    const owned_qp qp(verbs);
    expect_own(p.where, qp.number());
    const owned_qp other_qp(verbs);
    if (const int code = accept_with(p.where, other_qp.number()); code != 0)
        throw std::runtime_error(std::string("cannot accept: ") + strerrordesc_np(code));
}

/// Reads an event of a channel, and the kernel waits for the memory that it is to be written to. So
/// it can do nothing else with the channel until this is gone.
class stuck_reader {
public:
    explicit stuck_reader(int channel)
        : let_go_at_last_([this](const std::stop_token& stop) {
              // What has not worked by then will be told by whoever waits.
              std::unique_lock lock(mutex_);
              through_.wait_for(lock, stop, 3 * soon(), [] { return false; });
              page_.let_go();
          }) {
        if (!must(softrnic::detail::wait_readable(channel, soon())))
            throw std::runtime_error("no event");
        reader_ = std::jthread(
            [this, channel] { (void)raw_cm::get_event_into(channel, page_.memory()); });
        page_.await_fault(soon());
    }

private:
    support::withheld_page page_;
    std::mutex mutex_;
    std::condition_variable_any through_;
    // Ended in this order: the one that lets go first.
    std::jthread reader_;
    std::jthread let_go_at_last_;
};

/// While the kernel waits for this process to take an event of a listener, others go on.
void while_stalled(const cm_scene& cm, const std::function<tcp_stream()>& make_request,
                   const std::function<void()>& others) {
    const auto first = make_request();
    const stuck_reader reader(cm.channel());
    // There are events now that nobody can be told of.
    const std::array more{make_request(), make_request()};
    others();
}

void stalled_reader(const places& p, unsigned rounds) {
    for (unsigned round = 0; round < rounds; ++round) {
        cm_scene cm(p.where);
        cm.listen();
        while_stalled(
            cm, [&] { return cm.make_request(); },
            [&] {
                in_child([&] { ends_soon("making connections", [&] { expect_connections(p); }); });
            });
    }
}

/// An event of an older connection of the listener cannot be told, and a request waits behind it.
/// Whoever destroys the listener must not wait for that event, since it may be the one that holds
/// it up.
void listener_goes_beside_a_stalled_connection(const places& p, unsigned rounds) {
    for (unsigned round = 0; round < rounds; ++round) {
        const verbs_scene verbs(p.device_file);
        const owned_qp qp(verbs);
        cm_scene cm(p.where);
        const std::uint32_t listener = cm.listen();
        auto request = cm.next_request();
        must(raw_cm::accept(cm.channel(), request.id, {.qp_number = qp.number()}));
        const cm_scene other(p.where);
        (void)must(raw_cm::migrate_id(other.channel(), cm.channel(), request.id));
        const stuck_reader reader(other.channel());
        request.peer.reset();
        // Nobody tells how far the kernel is.
        constexpr unsigned parts = 20;
        const auto moment = std::chrono::milliseconds(soon()) / parts;
        std::this_thread::sleep_for(moment);
        const tcp_stream untold = cm.make_request();
        std::this_thread::sleep_for(moment);
        cm.destroy(listener);
        untold.expect_over();
    }
}

/// A request to what listens everywhere, by way of a link's address.
tcp_stream request_through(const address& link, const cm_scene& cm) {
    auto peer = tcp_stream::connect(link.with_port(cm.where().port()));
    peer.send(wirepeer::first_revision_frame(false));
    return peer;
}

/// Between two processes, once.
class go_ahead {
public:
    go_ahead() : event_(eventfd(0, EFD_CLOEXEC)) {
        if (event_.get() < 0) throw std::runtime_error("no eventfd");
    }
    void give() const {
        if (eventfd_write(event_.get(), 1) != 0) throw std::runtime_error("eventfd_write");
    }
    void await() const {
        if (!must(softrnic::detail::wait_readable(event_.get(), 3 * soon())))
            throw std::runtime_error("the other process does not go on");
    }

private:
    support::descriptor event_;
};

/// The same with processes that have listened everywhere since before there was the link of that
/// address, on the network device dummy9.
void stalled_on_a_new_link(const places& p, unsigned rounds) {
    const address everywhere = must(address::resolve("0.0.0.0", 0));
    for (unsigned round = 0; round < rounds; ++round) {
        const go_ahead listening;
        const go_ahead stalled;
        auto other = std::async(std::launch::async, in_child, [&] {
            cm_scene cm(everywhere);
            cm.listen();
            listening.give();
            stalled.await();
            const tcp_stream peer = request_through(p.where, cm);
            cm.await(0, {RDMA_CM_EVENT_CONNECT_REQUEST});
        });
        // Not while the other process is forked: it would inherit whatever is locked here.
        listening.await();
        cm_scene cm(everywhere);
        cm.listen();
        in_child([] { must(support::link_add("srn9", "dummy9")); });
        while_stalled(
            cm, [&] { return request_through(p.where, cm); },
            [&] {
                stalled.give();
                other.get();
            });
        must(support::link_delete("srn9"));
    }
}

void run(const std::string& name, const places& p, const std::string& count) {
    static const std::map<std::string, request_case> requests{
        {"accept-twice", {accept_twice, true}},
        {"accept-with-two-qps", {accept_with_two, true}},
        {"accept-and-reject", {accept_and_reject}},
        {"accept-and-destroy", {accept_and_destroy}},
        {"accept-beside-a-wrong-one", {accept_beside_a_wrong_one}},
        {"accept-while-the-qp-goes", {accept_while_the_qp_goes}},
        {"accept-while-the-peer-resets", {accept_while_the_peer_resets}},
    };
    static const std::map<std::string, connecting_case> connects{
        {"connecting-accept-disconnect", accept_then_disconnect},
        {"connecting-reject-disconnect", reject_then_disconnect},
        {"connecting-accept-destroy", accept_then_destroy},
        {"connecting-reject-destroy", reject_then_destroy},
        {"connecting-disconnect", only_disconnect},
        {"connecting-destroy", only_destroy},
        {"connecting-loses-the-qp", lose_the_qp},
    };
    static const std::map<std::string, void (*)(const places&, unsigned)> others{
        {"connect-two-with-one-qp", connect_two_with_one_qp},
        {"reconnect-at-once", reconnect_at_once},
        {"disconnect-while-the-qp-goes", disconnect_while_the_qp_goes},
        {"qp-of-another-user", refused_to_another_user},
        {"qp-of-another-pid-namespace", refused_in_another_pid_namespace},
        {"qp-of-the-kernel", refused_because_it_is_the_kernels},
        {"qp-used-by-a-child", used_by_a_child},
        {"qp-used-after-setuid", used_after_setuid},
        {"stalled-reader", stalled_reader},
        {"stalled-on-a-new-link", stalled_on_a_new_link},
        {"stalled-connection", listener_goes_beside_a_stalled_connection},
    };
    const auto number = static_cast<unsigned>(std::stoul(count, nullptr, 0));
    if (const auto found = requests.find(name); found != requests.end())
        with_requests(found->second, p, number);
    else if (const auto way = connects.find(name); way != connects.end())
        while_connecting(way->second, p, number);
    else if (const auto other = others.find(name); other != others.end())
        other->second(p, number);
    else
        throw std::runtime_error("no such case: " + name);
}

}  // namespace

int main(int argc, char** argv) {
    const std::span args(argv, static_cast<std::size_t>(argc));
    if (args.size() != 5) support::die("usage: cm_misuse CASE DEVICE-FILE ADDRESS ROUNDS");
    try {
        run(args[1], {args[2], must(address::resolve(args[3], 0))}, args[4]);
    } catch (const std::exception& e) {
        support::die(std::string(args[1]) + ": " + e.what());
    }
    return 0;
}
