// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// A preload that makes any verbs program a hostile one: every mapping of an RDMA device is noted,
// and a thread writes rubbish over all of them while the program runs. What the program then does
// is its own affair; the kernel and everybody else must not mind.
//
//   LD_PRELOAD=./scribble.so SCRIBBLE_SEED=1 SCRIBBLE_PAUSE_US=50 ib_write_bw ...
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>

namespace {

struct mapping {
    std::uint32_t* words;
    std::size_t count;
};

// Mappings are only ever added, since a thread may be writing: one that the program unmaps is kept
// mapped.
constexpr std::size_t most_mappings = 4096;
std::array<mapping, most_mappings> mappings;
std::atomic<std::size_t> mapping_count{0};
std::mutex adding;
std::once_flag started;

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody changes the environment
    const char* text = std::getenv(variable);
    return text != nullptr ? std::strtoull(text, nullptr, 0) : otherwise;
}

/// One harmful write. Words of a ring are indices near its beginning, and entries behind them.
void scribble_on(const mapping& m, std::mt19937_64& random) {
    const std::size_t header = m.count < 64 ? m.count : 64;
    const std::size_t at = random() % 2 == 0 ? random() % header : random() % m.count;
    volatile std::uint32_t* word = m.words + at;
    const auto value = static_cast<std::uint32_t>(random());
    switch (random() % 6) {
        case 0: *word = value; break;
        case 1: *word = 0; break;
        case 2: *word = ~0U; break;
        case 3: *word = *word + 1 + value % 64; break;
        case 4: *word = *word ^ (1U << (value % 32)); break;
        default:
            // A stretch of one entry.
            for (std::size_t i = at; i < at + 16 && i < m.count; ++i)
                m.words[i] = static_cast<std::uint32_t>(random() % 32);
    }
}

/// The program may well crash over what it finds in its rings. Not unhandled, which the kernel
/// would log, and the log is what shows whether the kernel minded.
extern "C" void end_quietly(int signal) {
    _exit(128 + signal);
}

[[noreturn]] void scribble() {
    for (const int crash : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) (void)std::signal(crash, end_quietly);
    const std::uint64_t seed = number_from("SCRIBBLE_SEED", 1) + static_cast<unsigned>(getpid());
    const std::chrono::microseconds pause(number_from("SCRIBBLE_PAUSE_US", 50));
    std::mt19937_64 random(seed);
    // Let the program come to the point where there is something to break.
    std::this_thread::sleep_for(std::chrono::milliseconds(number_from("SCRIBBLE_WAIT_MS", 300)));
    for (bool told = false;;) {
        const std::size_t count = mapping_count;
        if (count > 0 && !told) {
            std::fprintf(stderr, "scribble: %s %zu mappings\n", program_invocation_short_name,
                         count);
            told = true;
        }
        for (unsigned i = 0; count > 0 && i < 8; ++i)
            scribble_on(mappings[random() % count], random);
        std::this_thread::sleep_for(pause);
    }
}

bool is_rdma_device(int fd) {
    std::array<char, 64> link{};
    std::array<char, 128> target{};
    std::snprintf(link.data(), link.size(), "/proc/self/fd/%d", fd);
    if (readlink(link.data(), target.data(), target.size() - 1) < 0) return false;
    return std::strstr(target.data(), "/infiniband/uverbs") != nullptr;
}

void note_mapping(void* start, std::size_t length, int protection, int fd) {
    if (start == MAP_FAILED || fd < 0 || (protection & PROT_WRITE) == 0 || !is_rdma_device(fd))
        return;
    const std::lock_guard lock(adding);
    const std::size_t count = mapping_count;
    if (count == most_mappings) return;
    mappings[count] = {static_cast<std::uint32_t*>(start), length / sizeof(std::uint32_t)};
    mapping_count = count + 1;
    std::call_once(started, [] { std::thread(scribble).detach(); });
}

bool is_noted(const void* start) {
    for (std::size_t i = 0; i < mapping_count; ++i)
        if (mappings[i].words == start) return true;
    return false;
}

template <class F>
F next(const char* name) {
    return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

void* mmap(void* addr, size_t length, int prot, int flags, int fd, off_t offset) noexcept {
    static const auto real = next<void* (*)(void*, size_t, int, int, int, off_t)>("mmap");
    void* start = real(addr, length, prot, flags, fd, offset);
    note_mapping(start, length, prot, fd);
    return start;
}

void* mmap64(void* addr, size_t length, int prot, int flags, int fd, off64_t offset) noexcept {
    return mmap(addr, length, prot, flags, fd, offset);
}

int munmap(void* addr, size_t length) noexcept {
    static const auto real = next<int (*)(void*, size_t)>("munmap");
    return is_noted(addr) ? 0 : real(addr, length);
}
}
