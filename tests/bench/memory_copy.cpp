// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// What a copy costs without any RDMA: what one host can do at best. Between two shared mappings
// of this process, or out of another process's memory.
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "number.hpp"

namespace {

using support::number;

constexpr const char* usage =
    "usage: memory_copy mappings|process SIZE COUNT\n"
    "Copies SIZE bytes COUNT times, with memcpy() or process_vm_readv(), and prints MiB/s.\n";

[[noreturn]] void fail(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

class mapping {
public:
    explicit mapping(std::size_t size)
        : data_(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)),
          size_(size) {
        if (data_ == MAP_FAILED) fail("mmap");
        std::memset(data_, 1, size);
    }
    ~mapping() { ::munmap(data_, size_); }
    mapping(const mapping&) = delete;
    mapping& operator=(const mapping&) = delete;

    void* data() const { return data_; }
    std::size_t size() const { return size_; }

private:
    void* data_;
    std::size_t size_;
};

/// A process that does nothing but have memory. It shares what is mapped when it begins.
class idle_child {
public:
    idle_child() : pid_(::fork()) {
        if (pid_ < 0) fail("fork");
        if (pid_ != 0) return;
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) ::pause();
    }
    ~idle_child() {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    idle_child(const idle_child&) = delete;
    idle_child& operator=(const idle_child&) = delete;

    pid_t pid() const { return pid_; }

private:
    pid_t pid_;
};

void copy_between_mappings(const mapping& from, const mapping& to) {
    std::memcpy(to.data(), from.data(), to.size());
    // Each copy is needed, as far as the compiler knows.
    asm volatile("" : : "r"(to.data()) : "memory");
}

/// The call may take less than it was asked for.
void copy_from_process(pid_t pid, const mapping& from, const mapping& to) {
    for (std::size_t done = 0; done < to.size();) {
        const iovec local{static_cast<std::byte*>(to.data()) + done, to.size() - done};
        const iovec remote{static_cast<std::byte*>(from.data()) + done, to.size() - done};
        const ssize_t got = ::process_vm_readv(pid, &local, 1, &remote, 1, 0);
        if (got <= 0) fail("process_vm_readv");
        done += static_cast<std::size_t>(got);
    }
}

template <class Copy>
double mib_per_second(std::size_t size, std::size_t count, Copy copy) {
    using clock = std::chrono::steady_clock;
    copy();
    const auto begin = clock::now();
    for (std::size_t i = 0; i < count; ++i) copy();
    const std::chrono::duration<double> time = clock::now() - begin;
    return static_cast<double>(size) * static_cast<double>(count) / time.count() / (1 << 20);
}

double measure(std::string_view how, std::size_t size, std::size_t count) {
    const mapping from(size);
    const mapping to(size);
    if (how == "mappings")
        return mib_per_second(size, count, [&] { copy_between_mappings(from, to); });
    if (how != "process") throw std::invalid_argument(usage);
    const idle_child child;
    return mib_per_second(size, count, [&] { copy_from_process(child.pid(), from, to); });
}

}  // namespace

int main(int argc, char** argv) {
    const std::span<char*> words(argv, static_cast<std::size_t>(argc));
    try {
        if (argc != 4) throw std::invalid_argument(usage);
        const auto size = number<std::size_t>(words[2]);
        const auto count = number<std::size_t>(words[3]);
        std::printf("%.2f\n", measure(words[1], size, count));
    } catch (const std::invalid_argument& problem) {
        std::fprintf(stderr, "%s\n", problem.what());
        return 2;
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "memory_copy: %s\n", problem.what());
        return 1;
    }
    return 0;
}
