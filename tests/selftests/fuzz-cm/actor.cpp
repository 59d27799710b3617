// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "actor.hpp"

#include <fcntl.h>
#include <rdma/rdma_cma.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "must.hpp"

namespace fuzz_cm {

using softrnic::address;
using support::must;
using support::raw_cm::id_option;
using support::raw_cm::port_space;
namespace raw = support::raw;
namespace raw_cm = support::raw_cm;

namespace {

/// How long a step waits for what it has begun: another thread may have got the event.
constexpr std::chrono::milliseconds patience{60};

constexpr std::uint32_t resolve_time = 300;  // milliseconds

constexpr std::uint32_t nobodys = UINT32_MAX;

constexpr std::uint32_t bit(std::uint32_t kind) {
    return kind < 32 ? 1U << kind : 0;
}

}  // namespace

/// One thread, in one of its steps.
class actor {
public:
    actor(actor_process& p, std::size_t thread, choices c)
        : p_(p), all_(p.all_), thread_(thread), c_(c) {}

    void step() {
        switch (c_.below(8)) {
            case 0: dial(); break;
            case 1: open_listener(); break;
            case 2:
            case 3: serve(); break;
            case 4: two_at_once(); break;
            default: one(any_slot()); break;
        }
    }

private:
    template <class Command>
    auto ask(action what, Command command) {
        const shared_state::at_work work(all_, thread_, what);
        auto answer = command();
        all_.count(what, static_cast<bool>(answer));
        return answer;
    }
    template <class Command>
    bool run(action what, Command command) {
        return static_cast<bool>(ask(what, command));
    }

    id_slot& any_slot() { return p_.ids_[c_.below(p_.ids_.size())]; }
    qp_slot& any_qp() { return p_.qps_[c_.below(p_.qps_.size())]; }
    [[nodiscard]] int channel_of(const id_slot& s) const {
        return p_.channels_.at(s.channel).get();
    }

    void keep(id_slot& s, std::uint32_t channel, std::uint32_t id) {
        s.channel = channel;
        s.id = id;
        s.happened = 0;
    }

    address somewhere() {
        const side& there = p_.plan_.sides.at(c_.below(2));
        const bool of_actors = !c_.one_in(3);
        const auto port =
            static_cast<std::uint16_t>((of_actors ? actor_port : peer_port) + c_.below(ports));
        const address a = c_.one_in(4) ? there.v6 : there.v4;
        return c_.one_in(12) ? must(address::resolve("10.0.0.77", port)) : a.with_port(port);
    }
    address own(std::size_t more_ports = 0) {
        const address a = c_.one_in(4) ? p_.here_.v6 : p_.here_.v4;
        return a.with_port(static_cast<std::uint16_t>(actor_port + c_.below(ports + more_ports)));
    }

    /// The number of a queue pair of this thread, of another's or of nobody.
    std::uint32_t some_qp_number() {
        if (c_.one_in(16)) return static_cast<std::uint32_t>(c_.any());
        if (c_.one_in(4)) return all_.qp_numbers.at(c_.below(all_.qp_numbers.size()));
        return any_qp().number;
    }

    std::uint32_t fresh_qp() {
        qp_slot& s = any_qp();
        const int device = p_.device_.get();
        if (s.handle != 0) destroy_qp(s);
        const auto made =
            ask(action::make_qp, [&] { return raw::create_qp(device, p_.pd_, p_.cq_); });
        if (!made) return 0;
        run(action::modify_qp, [&] { return raw::modify_qp(device, made->handle, IBV_QPS_INIT); });
        // Handle 0 is a good one, but then nobody would destroy the first.
        s.handle = made->handle + 1;
        s.number = made->number;
        all_.qp_numbers.at(c_.below(all_.qp_numbers.size())) = made->number;
        return made->number;
    }

    void destroy_qp(qp_slot& s) {
        const std::uint32_t handle = s.handle.exchange(0);
        if (handle == 0) return;
        run(action::destroy_qp, [&] { return raw::destroy_qp(p_.device_.get(), handle - 1); });
    }

    void modify_qp() {
        static constexpr std::array states{IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR,
                                           IBV_QPS_RTS,   IBV_QPS_SQD,  IBV_QPS_ERR};
        const std::uint32_t handle = any_qp().handle;
        if (handle == 0) return;
        run(action::modify_qp,
            [&] { return raw::modify_qp(p_.device_.get(), handle - 1, c_.of(states)); });
    }

    // ---------------------------------------------------------------- events

    void take_events(std::uint32_t channel) {
        for (std::size_t most = 8; most > 0; --most) {
            const auto got = ask(action::get_event,
                                 [&] { return raw_cm::get_event(p_.channels_.at(channel).get()); });
            if (!got) return;
            all_.count_event(got->kind);
            if (got->kind == RDMA_CM_EVENT_CONNECT_REQUEST) {
                decide(channel, got->id);
                continue;
            }
            for (id_slot& s : p_.ids_)
                if (s.id == got->id && s.channel == channel) s.happened |= bit(got->kind);
        }
    }

    void await(id_slot& s, std::uint32_t kinds) {
        for (const softrnic::deadline until = patience;
             (s.happened & kinds) == 0 && !until.expired();) {
            take_events(s.channel);
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }

    /// A request that has just come.
    void decide(std::uint32_t channel, std::uint32_t id) {
        id_slot& s = any_slot();
        keep(s, channel, id);
        switch (c_.below(8)) {
            case 0: reject(s); break;
            case 1: break;
            case 2: accept(s, some_qp_number()); break;
            case 3: two_at_once_on(s); break;
            default: accept(s, fresh_qp()); break;
        }
        if (c_.one_in(3)) one(s);
    }

    // -------------------------------------------------------------- commands

    raw_cm::parameters with(std::uint32_t qp_number) {
        static constexpr std::array<std::byte, 255> data{};
        return {qp_number, static_cast<std::uint8_t>(c_.below(40)),
                static_cast<std::uint8_t>(c_.below(40)),
                std::span(data).first(c_.one_in(3) ? c_.below(data.size()) : 0)};
    }

    void create(id_slot& s, port_space space = port_space::tcp) {
        const auto channel = static_cast<std::uint32_t>(c_.below(p_.channels_.size()));
        const auto made = ask(action::create_id, [&] {
            return raw_cm::create_id(p_.channels_.at(channel).get(), c_.one_in(20) ? 0 : 1, space);
        });
        if (made) keep(s, channel, *made);
    }
    void destroy(id_slot& s) {
        std::uint32_t id = s.id;
        run(action::destroy_id, [&] { return raw_cm::destroy_id(channel_of(s), id); });
        // The next request may get that number. To destroy it before it has been told of is a trap
        // of the core.
        s.id.compare_exchange_strong(id, nobodys);
    }
    void accept(id_slot& s, std::uint32_t qp_number) {
        run(action::accept, [&] { return raw_cm::accept(channel_of(s), s.id, with(qp_number)); });
    }
    void connect(id_slot& s, std::uint32_t qp_number) {
        run(action::connect, [&] { return raw_cm::connect(channel_of(s), s.id, with(qp_number)); });
    }
    void reject(id_slot& s) {
        run(action::reject, [&] { return raw_cm::reject(channel_of(s), s.id); });
    }
    void disconnect(id_slot& s) {
        run(action::disconnect, [&] { return raw_cm::disconnect(channel_of(s), s.id); });
    }
    void resolve(id_slot& s) {
        const address to = somewhere();
        if (c_.one_in(3))
            run(action::resolve_ip,
                [&] { return raw_cm::resolve_ip(channel_of(s), s.id, to, resolve_time); });
        else
            run(action::resolve_addr,
                [&] { return raw_cm::resolve_addr(channel_of(s), s.id, to, resolve_time); });
    }
    void resolve_route(id_slot& s) {
        run(action::resolve_route,
            [&] { return raw_cm::resolve_route(channel_of(s), s.id, resolve_time); });
    }
    void bind(id_slot& s) {
        const address to = own(2);
        if (c_.one_in(2))
            run(action::bind_ip, [&] { return raw_cm::bind_ip(channel_of(s), s.id, to); });
        else
            run(action::bind_addr, [&] { return raw_cm::bind_addr(channel_of(s), s.id, to); });
    }
    void listen(id_slot& s) {
        const auto backlog = static_cast<std::uint32_t>(1 + c_.below(16));
        const std::scoped_lock lock(s.listening);
        const std::uint32_t id = s.id;
        s.listener = id;
        run(action::listen, [&] { return raw_cm::listen(channel_of(s), id, backlog); });
    }

    // --------------------------------------------- several commands in order

    /// All that it takes to be connected; other threads may come between.
    void dial() {
        id_slot& s = any_slot();
        create(s);
        resolve(s);
        await(s, bit(RDMA_CM_EVENT_ADDR_RESOLVED) | bit(RDMA_CM_EVENT_ADDR_ERROR));
        resolve_route(s);
        await(s, bit(RDMA_CM_EVENT_ROUTE_RESOLVED) | bit(RDMA_CM_EVENT_ROUTE_ERROR));
        connect(s, c_.one_in(8) ? some_qp_number() : fresh_qp());
        if (c_.one_in(2)) one(s);
        if (c_.one_in(4)) two_at_once_on(s);
    }

    void open_listener() {
        id_slot& s = any_slot();
        create(s);
        bind(s);
        listen(s);
    }

    void serve() {
        take_events(static_cast<std::uint32_t>(c_.below(p_.channels_.size())));
        std::this_thread::sleep_for(std::chrono::milliseconds(c_.below(5)));
    }

    void two_at_once() { two_at_once_on(any_slot()); }

    void two_at_once_on(id_slot& s) {
        const choices other_choices(c_.any(), thread_, 0);
        // The watchdog sees what the second one is at only where both are stuck.
        std::jthread second([&] { actor(p_, thread_, other_choices).change(s); });
        change(s);
    }

    /// What changes the state of a connection.
    void change(id_slot& s) {
        switch (c_.below(6)) {
            case 0:
            case 1: accept(s, some_qp_number()); break;
            case 2: reject(s); break;
            case 3: disconnect(s); break;
            case 4: connect(s, some_qp_number()); break;
            default: destroy(s); break;
        }
    }

    // ----------------------------------------------------------- any command

    void one(id_slot& s) {
        switch (c_.below(12)) {
            case 0: create(s, odd_space()); break;
            case 1: bind(s); break;
            case 2: resolve(s); break;
            case 3: resolve_route(s); break;
            case 4: listen(s); break;
            case 5:
            case 6:
            case 7: change(s); break;
            case 8: look_at(s); break;
            case 9: option_of(s); break;
            case 10: change_qp(); break;
            default: move(s); break;
        }
    }

    port_space odd_space() {
        static constexpr std::array all{port_space::tcp, port_space::tcp, port_space::udp,
                                        port_space::ib, port_space::ipoib};
        return c_.of(all);
    }

    void change_qp() {
        switch (c_.below(3)) {
            case 0: fresh_qp(); break;
            case 1: destroy_qp(any_qp()); break;
            default: modify_qp(); break;
        }
    }

    void look_at(id_slot& s) {
        const int channel = channel_of(s);
        switch (c_.below(5)) {
            case 0:
                run(action::query_addr, [&] { return raw_cm::local_address(channel, s.id); });
                break;
            case 1:
                run(action::query_route, [&] { return raw_cm::query_route(channel, s.id); });
                break;
            case 2:
                run(action::query_path, [&] { return raw_cm::query_path(channel, s.id); });
                break;
            case 3: run(action::query_gid, [&] { return raw_cm::query_gid(channel, s.id); }); break;
            default:
                // An id that is bound in vain loses its device while the core looks at it.
                if ((s.happened & bit(RDMA_CM_EVENT_ADDR_RESOLVED)) == 0) break;
                run(action::init_qp_attr, [&] {
                    return raw_cm::init_qp_attr(channel, s.id,
                                                static_cast<ibv_qp_state>(c_.below(8)));
                });
                break;
        }
    }

    void option_of(id_slot& s) {
        static constexpr std::array<std::byte, 4> value{std::byte{1}};
        const int channel = channel_of(s);
        const auto group = must(address::resolve("224.0.0.9", 0));
        switch (c_.below(7)) {
            case 0:
                run(action::get_option, [&] { return raw_cm::get_option(channel, s.id); });
                break;
            case 1:
                run(action::notify,
                    [&] { return raw_cm::notify(channel, s.id, IBV_EVENT_COMM_EST); });
                break;
            case 2:
                run(action::join_ip_multicast,
                    [&] { return raw_cm::join_ip_multicast(channel, s.id, group); });
                break;
            case 3:
                run(action::join_multicast, [&] {
                    return raw_cm::join_multicast(channel, s.id, group,
                                                  static_cast<std::uint16_t>(c_.below(3)));
                });
                break;
            case 4:
                run(action::leave_multicast, [&] {
                    return raw_cm::leave_multicast(channel,
                                                   static_cast<std::uint32_t>(c_.below(4)));
                });
                break;
            default: {
                const auto option = static_cast<id_option>(c_.below(5));
                const bool byte = option == id_option::tos || option == id_option::ack_timeout;
                run(action::set_option, [&] {
                    return raw_cm::set_option(channel, s.id, option,
                                              std::span(value).first(byte ? 1 : 4));
                });
                break;
            }
        }
    }

    /// To another channel of this process, or from one that it has inherited; or away with a
    /// channel and all that is on it.
    void move(id_slot& s) {
        const auto to = static_cast<std::uint32_t>(c_.below(p_.channels_.size()));
        const int channel = p_.channels_.at(to).get();
        if (c_.one_in(6)) {
            reopen(to);
        } else if (c_.one_in(2) && !p_.from_.ids.empty()) {
            const std::uint32_t id = c_.of(p_.from_.ids);
            const int from = c_.of(p_.from_.channels).get();
            if (run(action::migrate_id, [&] { return raw_cm::migrate_id(channel, from, id); }))
                keep(s, to, id);
        } else {
            migrate_to(s, to, channel);
        }
    }

    void migrate_to(id_slot& s, std::uint32_t to, int channel) {
        const std::scoped_lock lock(s.listening);
        const std::uint32_t id = s.id;
        // The core leaves a listener's requests behind with its old channel: a trap of the core.
        if (id == s.listener) return;
        if (run(action::migrate_id, [&] { return raw_cm::migrate_id(channel, channel_of(s), id); }))
            s.channel = to;
    }

    /// Another file takes the channel's place, under the threads that use it.
    void reopen(std::uint32_t channel) {
        run(action::reopen_channel, [&]() -> softrnic::result<void> {
            const auto fresh = raw_cm::open_channel();
            if (!fresh) return softrnic::failure(fresh.error());
            if (dup3(fresh->get(), p_.channels_.at(channel).get(), O_CLOEXEC) < 0)
                return softrnic::detail::fail_errno("dup3");
            return {};
        });
    }

    actor_process& p_;
    shared_state& all_;
    std::size_t thread_;
    choices c_;
};

actor_process::actor_process(shared_state& all, const plan& p, const side& here, inherited from)
    : all_(all),
      plan_(p),
      here_(here),
      from_(from),
      device_(must(raw::open_device(here.device_file))),
      pd_(must(raw::alloc_pd(device_.get()))),
      cq_(must(raw::create_cq(device_.get(), 64)).handle) {
    for (auto& channel : channels_) channel = must(raw_cm::open_channel());
}

void actor_process::run(std::size_t thread, std::uint64_t actor_number) {
    std::vector<std::jthread> running;
    for (std::size_t i = 0; i < threads; ++i)
        running.emplace_back([this, number = thread + i, seed = actor_number * threads + i] {
            for (std::uint64_t step = 0; !all_.over; ++step)
                actor(*this, number, choices(plan_.seed, seed, step)).step();
        });
}

}  // namespace fuzz_cm
