// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "shared.hpp"

#include <rdma/rdma_cma.h>
#include <sys/mman.h>

#include <chrono>
#include <cstdio>
#include <new>
#include <stdexcept>

namespace fuzz_cm {

namespace {

struct description {
    const char* name;
    bool can_work = true;
};

/// In the order of the actions. iWARP has no multicast, and Linux no get_option.
constexpr std::array<description, static_cast<std::size_t>(action::count)> descriptions{{
    {"create_id"},
    {"destroy_id"},
    {"migrate_id"},
    {"bind"},
    {"bind_ip"},
    {"resolve_addr"},
    {"resolve_ip"},
    {"resolve_route"},
    {"listen"},
    {"connect"},
    {"accept"},
    {"reject"},
    {"disconnect"},
    {"query address"},
    {"query_route"},
    {"query path"},
    {"query gid"},
    {"init_qp_attr"},
    {"get_event"},
    {"get_option", false},
    {"set_option"},
    {"notify"},
    {"join_ip_multicast", false},
    {"join_multicast", false},
    {"leave_multicast", false},
    {"channel replaced"},
    {"create_qp"},
    {"modify_qp"},
    {"destroy_qp"},
    {"peer dials"},
    {"peer takes a connection"},
    {"peer sends a frame"},
    {"peer sends a broken frame"},
    {"peer sends a frame in pieces"},
    {"peer sends rubbish"},
    {"peer sends an FPDU"},
    {"peer sends a Terminate"},
    {"peer sends an urgent byte"},
    {"peer reads"},
    {"peer closes its window"},
    {"peer pauses"},
    {"peer closes its direction"},
    {"peer closes"},
    {"peer resets"},
}};

std::uint64_t now() {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                          std::chrono::steady_clock::now().time_since_epoch())
                                          .count());
}

}  // namespace

shared_state& shared_state::make() {
    void* memory = mmap(nullptr, sizeof(shared_state), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("no shared memory");
    return *new (memory) shared_state;
}

shared_state::at_work::at_work(shared_state& all, std::size_t thread, action what)
    : all_(all), thread_(thread) {
    all_.threads_.at(thread).what = what;
    all_.threads_.at(thread).since = now();
}

shared_state::at_work::~at_work() {
    all_.forget(thread_);
}

void shared_state::count(action what, bool good) {
    counts& c = counts_.at(static_cast<std::size_t>(what));
    ++c.tried;
    if (good) ++c.done;
}

void shared_state::count_event(std::uint32_t kind) {
    if (kind < events_.size()) ++events_.at(kind);
}

std::string shared_state::stuck(std::uint64_t milliseconds) const {
    std::string all;
    for (std::size_t i = 0; i < threads_.size(); ++i) {
        const std::uint64_t since = threads_.at(i).since;
        const action what = threads_.at(i).what;
        if (since == 0 || now() < since + milliseconds) continue;
        all += "thread " + std::to_string(i) + " has been in " +
               descriptions.at(static_cast<std::size_t>(what)).name + " for " +
               std::to_string((now() - since) / 1000) + " s\n";
    }
    return all;
}

bool shared_state::print() const {
    bool good = true;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
        const auto& [name, can_work] = descriptions.at(i);
        const counts& c = counts_.at(i);
        std::printf("%-30s%8lu of %8lu%s\n", name, c.done.load(), c.tried.load(),
                    c.done != 0 ? ""
                    : can_work  ? "   NEVER"
                                : "   (never can)");
        good = good && (c.done != 0 || !can_work);
    }
    for (std::size_t i = 0; i < events_.size(); ++i)
        if (events_.at(i) != 0)
            std::printf("%-30s%8lu\n", rdma_event_str(static_cast<rdma_cm_event_type>(i)),
                        events_.at(i).load());
    return good;
}

}  // namespace fuzz_cm
