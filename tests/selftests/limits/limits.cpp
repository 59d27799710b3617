// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// What an administrator's limits let a process have of a device, and whether it is given back.
//
//   limits memlock DEVICE-FILE    under RLIMIT_MEMLOCK, without CAP_IPC_LOCK: pins up to the limit,
//                                 with one thread and with several, and not a page more
//   limits hold DEVICE-FILE       pins half of the limit, says "ready" and waits
//   limits objects DEVICE-FILE    opens the device and makes objects until it is refused, and says
//                                 how many it got: "contexts objects"
//   limits rings DEVICE-FILE MIB  makes completion queues of 4 MiB each, so many MiB in all, or
//                                 until it is refused, says how many and waits
//   limits again DEVICE-FILE N    says "ready", makes a queue pair and a region and destroys them,
//                                 N times, and says how many were refused for lack of memory
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <exception>
#include <fstream>
#include <thread>

#include "die.hpp"
#include "must.hpp"
#include "raw_verbs.hpp"

namespace {

using support::die;
using support::must;
namespace raw = support::raw;

/// Memory that can be registered.
class pages {
public:
    explicit pages(std::size_t size)
        : start_(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
          size_(size) {
        if (start_ == MAP_FAILED) die("no memory");
    }
    pages(const pages&) = delete;
    pages& operator=(const pages&) = delete;
    ~pages() { munmap(start_, size_); }

    [[nodiscard]] std::span<std::byte> bytes(std::size_t size) const {
        return {static_cast<std::byte*>(start_), size};
    }

private:
    void* start_;
    std::size_t size_;
};

std::size_t pinned_bytes() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("VmPin:")) return std::stoul(line.substr(6)) * 1024;
    die("no VmPin in /proc/self/status");
}

std::size_t limit() {
    rlimit l{};
    if (getrlimit(RLIMIT_MEMLOCK, &l) != 0 || l.rlim_cur > (64U << 20))
        die("there is no limit to look at");
    return l.rlim_cur;
}

void expect_refused(const softrnic::result<std::uint32_t>& registered, const char* what) {
    if (registered) die(std::string("beyond the limit: ") + what);
    if (registered.error().code != ENOMEM) die(registered.error().message());
}

void one_thread(int device, std::uint32_t pd, const pages& memory) {
    const std::size_t most = limit();
    expect_refused(raw::reg_mr(device, pd, memory.bytes(2 * most)), "twice as much");
    if (pinned_bytes() != 0) die("a registration that failed has left pinned pages");
    for (int i = 0; i < 200; ++i) {
        const std::uint32_t half = must(raw::reg_mr(device, pd, memory.bytes(most / 2)));
        expect_refused(raw::reg_mr(device, pd, memory.bytes(most / 2 + 4096)), "in two parts");
        must(raw::dereg_mr(device, half));
    }
    if (pinned_bytes() != 0) die("pages are pinned after everything was deregistered");
}

/// Together they want four times of what they may have. What is registered is counted here,
/// not read from VmPin: the kernel adds there before it compares with the limit.
void many_threads(int device, std::uint32_t pd, const pages& memory) {
    constexpr unsigned threads = 8;
    constexpr int rounds = 200;
    const std::size_t most = limit();
    std::atomic<unsigned> refused{0};
    std::atomic<unsigned> worked{0};
    std::atomic<unsigned> registered{0};
    std::vector<std::jthread> all;
    for (unsigned t = 0; t < threads; ++t)
        all.emplace_back([&] {
            for (int i = 0; i < rounds; ++i) {
                const auto region = raw::reg_mr(device, pd, memory.bytes(most / 2));
                ++(region ? worked : refused);
                if (region && ++registered > 2) die("more than the limit is registered");
                std::this_thread::yield();
                if (!region) continue;
                --registered;
                must(raw::dereg_mr(device, *region));
            }
        });
    all.clear();
    if (worked == 0) die("nothing could be registered");
    if (pinned_bytes() != 0) die("pages are pinned after the threads' end");
    std::printf("threads: %u registrations, %u refused\n", worked.load(), refused.load());
}

void memlock(const std::string& path) {
    const pages memory(4 * limit());
    {
        const support::descriptor device = must(raw::open_device(path));
        const std::uint32_t pd = must(raw::alloc_pd(device.get()));
        one_thread(device.get(), pd, memory);
        many_threads(device.get(), pd, memory);
        must(raw::reg_mr(device.get(), pd, memory.bytes(limit())));
    }
    if (pinned_bytes() != 0) die("pages are pinned after the device was closed");
}

void hold(const std::string& path) {
    const pages memory(limit());
    const support::descriptor device = must(raw::open_device(path));
    must(raw::reg_mr(device.get(), must(raw::alloc_pd(device.get())), memory.bytes(limit() / 2)));
    std::puts("ready");
    std::fflush(stdout);
    pause();
}

void count_objects(const std::string& path) {
    constexpr std::size_t enough = 1000;
    std::vector<support::descriptor> files;
    std::size_t objects = 0;
    while (files.size() < enough) {
        auto device = raw::open_device(path);
        if (!device) break;
        files.push_back(std::move(*device));
    }
    for (const support::descriptor& device : files)
        while (objects < enough && raw::alloc_pd(device.get())) ++objects;
    std::printf("%zu %zu\n", files.size(), objects);
}

void fill_with_rings(const std::string& path, std::size_t mebibytes) {
    constexpr std::uint32_t entries = 65'536;
    const support::descriptor device = must(raw::open_device(path));
    std::size_t made = 0;
    for (std::size_t bytes = 0; bytes < mebibytes << 20; ++made) {
        const auto queue = raw::create_cq(device.get(), entries);
        if (!queue) {
            std::printf("%s; ", queue.error().message().c_str());
            break;
        }
        bytes += queue->ring.size;
    }
    std::printf("%zu queues\n", made);
    std::fflush(stdout);
    pause();
}

bool no_memory(const softrnic::error& e) {
    if (e.code != ENOMEM) die(e.message());
    return true;
}

void make_again(const std::string& path, std::size_t times) {
    const pages memory(4096);
    const support::descriptor device = must(raw::open_device(path));
    const std::uint32_t pd = must(raw::alloc_pd(device.get()));
    const raw::queue cq = must(raw::create_cq(device.get(), 16));
    std::printf("ready\n");
    std::fflush(stdout);
    std::size_t refused = 0;
    for (; times > 0; --times) {
        const auto qp = raw::create_qp(device.get(), pd, cq.handle);
        const auto region = raw::reg_mr(device.get(), pd, memory.bytes(4096));
        if (qp)
            must(raw::destroy_qp(device.get(), qp->handle));
        else
            refused += no_memory(qp.error());
        if (region)
            must(raw::dereg_mr(device.get(), *region));
        else
            refused += no_memory(region.error());
    }
    std::printf("%zu refused\n", refused);
}

}  // namespace

int main(int argc, char** argv) try {
    const std::vector<std::string> args(argv + 1, argv + argc);
    if (args.size() < 2) die("usage: limits memlock|hold|objects|rings|again DEVICE-FILE [MIB|N]");
    if (args[0] == "memlock")
        memlock(args[1]);
    else if (args[0] == "hold")
        hold(args[1]);
    else if (args[0] == "objects")
        count_objects(args[1]);
    else if (args[0] == "again")
        make_again(args[1], std::stoul(args.at(2)));
    else
        fill_with_rings(args[1], std::stoul(args.at(2)));
} catch (const std::exception& e) {
    die(e.what());
}
