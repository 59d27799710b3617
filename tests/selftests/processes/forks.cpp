// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// A process with connections and registered memory that forks. Its children do what children do;
// meanwhile and afterwards its own transfers go on, and every byte is right.
//
//   forks ADDRESS ROUNDS plain|safe|orphan
//
// plain: as programs do that never heard of ibv_fork_init(). safe: with it. orphan: the parent ends
// at once and a child that holds its files open lives on for two seconds.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <exception>
#include <fstream>
#include <future>
#include <thread>

#include "die.hpp"
#include "must.hpp"

namespace {

using namespace std::chrono_literals;
using softrnic::access;
using support::die;
using support::must;

constexpr std::uint32_t size = 100'000;

/// A connection to itself; what is written to the far end and read back must be the same.
class transfers {
public:
    explicit transfers(const softrnic::address& where) {
        const softrnic::listener listener = must(softrnic::listen(where.with_port(0)));
        auto dialing = std::async(std::launch::async,
                                  [&] { return softrnic::dial(listener.local_address()); });
        server_ = must(listener.next(30s));
        must(server_.create_queues({}));
        must(server_.accept({.timeout = 30s}));
        client_ = must(dialing.get());
        from_ = must(softrnic::buffer::create(client_.domain(), size, access::none));
        back_ = must(softrnic::buffer::create(client_.domain(), size, access::local_write));
        far_ = must(softrnic::buffer::create(
            server_.domain(), size,
            access::local_write | access::remote_write | access::remote_read));
    }

    /// Each time with other bytes, until it is told to stop.
    void run() {
        while (!stop_) {
            const auto value = static_cast<int>(rounds_ % 251 + 1);
            std::memset(from_.bytes().data(), value, size);
            std::memset(back_.bytes().data(), 0, size);
            must(client_.qp().write(from_.all(), far_.remote()));
            must(client_.qp().read(back_.all(), far_.remote()));
            for (int i = 0; i < 2; ++i) complete();
            for (const auto* bytes : {&far_, &back_})
                if (std::memcmp(bytes->bytes().data(), from_.bytes().data(), size) != 0)
                    die("wrong bytes in round " + std::to_string(rounds_));
            ++rounds_;
        }
    }
    void stop() { stop_ = true; }
    [[nodiscard]] unsigned long rounds() const { return rounds_; }

    /// What a child does to its copy of all this.
    void scribble() {
        for (softrnic::buffer* memory : {&from_, &back_, &far_})
            std::memset(memory->bytes().data(), 0xee, size);
    }

private:
    void complete() {
        const auto wc = must(client_.send_cq().wait_one(60s));
        if (!softrnic::ok(wc)) die(std::string("completion: ") + ibv_wc_status_str(wc.status));
    }

    softrnic::connection server_, client_;
    softrnic::buffer from_, back_, far_;
    std::atomic<bool> stop_{false};
    std::atomic<unsigned long> rounds_{0};
};

/// The mappings of the device's file.
void unmap_rings() {
    std::ifstream maps("/proc/self/maps");
    std::vector<std::pair<std::uintptr_t, std::uintptr_t>> rings;
    for (std::string line; std::getline(maps, line);) {
        if (line.find("/dev/infiniband/uverbs") == std::string::npos) continue;
        char* rest = nullptr;
        const std::uintptr_t first = std::strtoull(line.c_str(), &rest, 16);
        rings.emplace_back(first, std::strtoull(rest + 1, nullptr, 16));
    }
    for (const auto& [first, last] : rings)
        // NOLINTNEXTLINE(performance-no-int-to-ptr): that is how the kernel says where
        munmap(reinterpret_cast<void*>(first), last - first);
}

/// Does memory that is marked so stay the parent's alone? User Mode Linux leaves it to the child.
bool dontfork_works() {
    constexpr std::size_t page = 4096;
    void* memory = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || madvise(memory, page, MADV_DONTFORK) != 0) die("mmap");
    std::memset(memory, 1, page);
    const pid_t pid = fork();
    if (pid < 0) die("fork");
    if (pid == 0) {
        std::signal(SIGSEGV, [](int) { _exit(0); });
        std::memset(memory, 2, page);
        _exit(0);
    }
    waitpid(pid, nullptr, 0);
    const bool works = *static_cast<const char*>(memory) == 1;
    munmap(memory, page);
    return works;
}

enum class child { sleeps, exits, executes, closes, unmaps, scribbles };
constexpr std::array children{child::sleeps, child::exits,  child::executes,
                              child::closes, child::unmaps, child::scribbles};

[[noreturn]] void be_child(child what, transfers& t) {
    // With ibv_fork_init() a child has no copy of registered memory.
    std::signal(SIGSEGV, [](int) { _exit(0); });
    switch (what) {
        case child::sleeps:
            for (;;) pause();
        case child::exits: break;
        case child::executes: execl("/bin/true", "true", nullptr); _exit(127);
        case child::closes: close_range(STDERR_FILENO + 1, ~0U, 0); break;
        case child::unmaps: unmap_rings(); break;
        case child::scribbles: t.scribble(); break;
    }
    _exit(0);
}

/// A child comes and goes while transfers are made.
void one_child(child what, transfers& t) {
    const auto goes_on = [&t, before = t.rounds()](unsigned long more) {
        for (const softrnic::deadline until = 60s; t.rounds() < before + more;) {
            if (until.expired()) die("transfers stand still");
            std::this_thread::sleep_for(1ms);
        }
    };
    const pid_t pid = fork();
    if (pid < 0) die("fork");
    if (pid == 0) be_child(what, t);
    goes_on(2);
    if (what == child::sleeps) kill(pid, SIGKILL);
    int status = 0;
    if (waitpid(pid, &status, 0) != pid) die("waitpid");
    const bool as_expected =
        what == child::sleeps ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!as_expected) die("a child ended with status " + std::to_string(status));
    goes_on(4);
}

[[noreturn]] void leave_an_orphan() {
    const pid_t pid = fork();
    if (pid < 0) die("fork");
    if (pid == 0) {
        std::this_thread::sleep_for(5min);
        _exit(0);
    }
    // Nothing is closed in order.
    _exit(0);
}

}  // namespace

int main(int argc, char** argv) try {
    const std::vector<std::string> args(argv + 1, argv + argc);
    if (args.size() != 3) die("usage: forks ADDRESS ROUNDS plain|safe|orphan");
    const bool safe = args[2] == "safe";
    // That memory is the library's means to keep registered memory from children.
    const bool may_scribble = !safe || dontfork_works();
    if (safe && ibv_fork_init() != 0) die("ibv_fork_init");
    transfers t(must(softrnic::address::resolve(args[0], 0)));
    std::jthread worker([&t] { t.run(); });
    if (args[2] == "orphan") leave_an_orphan();
    const unsigned long rounds = std::stoul(args[1]);
    for (unsigned long i = 0; i < rounds; ++i)
        for (const child what : children)
            if (what != child::scribbles || may_scribble) one_child(what, t);
    t.stop();
    worker.join();
    std::printf("%lu rounds of children, %lu transfers%s\n", rounds, t.rounds(),
                may_scribble ? "" : "; no child wrote to its memory");
} catch (const std::exception& e) {
    die(e.what());
}
