// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// What an idle connection costs the kernel: opens many to this host's own address, and sees how
// much memory is less free. What this process has for itself and the rings that it shares with the
// kernel are taken off.
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <future>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "descriptor.hpp"
#include "must.hpp"
#include "softrnic/softrnic.hpp"
#include "tcp_listener.hpp"

namespace {

using namespace std::chrono_literals;

constexpr const char* usage =
    "usage: idle_connections rdma|tcp ADDRESS COUNT\n"
    "Prints the bytes of kernel memory for one end of a connection.\n";

/// Fills the allocator's caches, so that they are not counted.
constexpr unsigned warm_up = 32;

using support::descriptor;
using support::must;

/// The number behind `name` in a file of /proc whose lines are "name: number kB".
std::int64_t kib_of(const char* file, std::string_view name) {
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with(name)) return std::stoll(line.substr(name.size()));
    throw std::runtime_error(std::string("no ") + std::string(name) + " in " + file);
}

/// What this process maps of its devices: the rings.
std::int64_t ring_kib() {
    std::ifstream lines("/proc/self/smaps");
    std::int64_t sum = 0;
    bool is_ring = false;
    constexpr std::string_view size = "Size:";
    for (std::string line; std::getline(lines, line);) {
        if (line.find("uverbs") != std::string::npos)
            is_ring = true;
        else if (line.starts_with("VmFlags:"))
            is_ring = false;
        else if (is_ring && line.starts_with(size))
            sum += std::stoll(line.substr(size.size()));
    }
    return sum;
}

/// Free pages that a CPU keeps for itself, which do not count as free.
std::int64_t kept_free_kib() {
    std::ifstream words("/proc/zoneinfo");
    const std::int64_t page_kib = ::sysconf(_SC_PAGESIZE) / 1024;
    std::int64_t pages = 0;
    for (std::string word; words >> word;) {
        if (word != "count:") continue;
        words >> word;
        pages += std::stoll(word);
    }
    return pages * page_kib;
}

/// Of the kernel and for nobody's rings, up to a constant. What was closed before, by another
/// program too, is freed long after, by workers and RCU.
std::int64_t kernel_kib() {
    const auto now = [] {
        return -kib_of("/proc/meminfo", "MemFree:") - kept_free_kib() -
               kib_of("/proc/self/status", "RssAnon:") - ring_kib();
    };
    constexpr int most = 30;
    constexpr std::int64_t still = 16;
    std::int64_t before = now();
    for (int i = 0; i < most; ++i) {
        std::this_thread::sleep_for(2s);
        const std::int64_t after = now();
        if (std::abs(after - before) <= still) return after;
        before = after;
    }
    throw std::runtime_error("memory does not come to rest");
}

class rdma_ends {
public:
    explicit rdma_ends(const char* host)
        : listener_(must(softrnic::listen(must(softrnic::address::resolve(host, 0))))) {}

    void open(unsigned count, std::vector<softrnic::connection>& ends) {
        for (unsigned i = 0; i < count; ++i) {
            softrnic::connection client = must(softrnic::resolve(listener_.local_address()));
            prepare(client);
            auto connected = std::async(std::launch::async, [&] { return client.connect(); });
            softrnic::connection server = must(listener_.next(30s));
            prepare(server);
            must(server.accept());
            must(connected.get());
            ends.push_back(std::move(client));
            ends.push_back(std::move(server));
        }
    }

private:
    void prepare(softrnic::connection& end) {
        if (!queue_) {
            domain_ = must(softrnic::pd::create(end.context()));
            queue_ = must(softrnic::cq::create(end.context(), 64));
        }
        must(end.create_queues({.max_send_wr = 16,
                                .max_recv_wr = 16,
                                .max_send_sge = 1,
                                .max_recv_sge = 1,
                                .domain = &domain_,
                                .send_cq = &queue_}));
    }

    softrnic::listener listener_;
    softrnic::pd domain_;
    softrnic::cq queue_;
};

class tcp_ends {
public:
    explicit tcp_ends(const char* host) : listener_(host, 16) {}

    void open(unsigned count, std::vector<descriptor>& ends) {
        for (unsigned i = 0; i < count; ++i) {
            ends.push_back(listener_.connect());
            ends.push_back(listener_.accept());
        }
    }

private:
    bench::tcp_listener listener_;
};

template <class Opener, class End>
std::int64_t bytes_of_end(const char* host, unsigned count) {
    Opener opener(host);
    std::vector<End> ends;
    ends.reserve(2UL * (count + warm_up));
    opener.open(warm_up, ends);
    const std::int64_t before = kernel_kib();
    opener.open(count, ends);
    return (kernel_kib() - before) * 1024 / (2 * std::int64_t{count});
}

}  // namespace

int main(int argc, char** argv) {
    const std::span<char*> words(argv, static_cast<std::size_t>(argc));
    unsigned count = 0;
    if (argc != 4) {
        std::fputs(usage, stderr);
        return 2;
    }
    const std::string_view number(words[3]);
    std::from_chars(number.data(), number.data() + number.size(), count);
    try {
        if (count == 0) throw std::invalid_argument("COUNT is a number above 0");
        const std::int64_t bytes =
            std::string_view(words[1]) == "tcp"
                ? bytes_of_end<tcp_ends, descriptor>(words[2], count)
                : bytes_of_end<rdma_ends, softrnic::connection>(words[2], count);
        std::printf("%lld\n", static_cast<long long>(bytes));
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "idle_connections: %s\n", problem.what());
        return 1;
    }
    return 0;
}
