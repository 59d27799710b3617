// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// A process uses a device that another one has opened, and the memory that it has registered.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <stdexcept>
#include <vector>

#include "end.hpp"

namespace {

using namespace by_hand;

/// Begins in another process, whose memory is a copy.
pid_t start(const std::function<void()>& work) {
    const pid_t child = fork();
    if (child == 0) {
        try {
            work();
        } catch (const std::exception& e) {
            std::fprintf(stderr, "in the other process: %s\n", e.what());
            _exit(1);
        }
        _exit(0);
    }
    return child;
}

/// Waits for its end. Returns whether nothing failed there.
bool elsewhere(const std::function<void()>& work) {
    const pid_t child = start(work);
    int status = 0;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

void want(bool good, const char* what) {
    if (!good) throw std::runtime_error(what);
}

/// What one process tells another one of a region.
struct shared_region {
    int device;
    std::uint32_t domain;
    std::uint32_t handle;
    std::uint64_t address;
};

/// As the process that was given the device: writes the byte to all of the region, and reads it.
void use(const shared_region& given, unsigned char byte) {
    const device dev(given.device, given.domain);
    const owned<ibv_mr, ibv_unimport_mr> region(ibv_import_mr(dev.domain(), given.handle));
    want(region != nullptr, "ibv_import_mr");
    want(region->length == end::size, "the region has another length");
    end own(dev);
    want(own.to_init() == 0 && own.to_rtr(own.number(), own.psn()) == 0 && own.to_rts() == 0,
         "it is not brought up");
    std::fill(own.memory().begin(), own.memory().end(), byte);
    for (const std::size_t half : {std::size_t{0}, end::size / 2}) {
        want(own.post(IBV_WR_RDMA_WRITE, 1, own.entry(0), given.address + half, region->rkey) == 0,
             "a Write is not posted");
        const auto wc = own.completion();
        want(wc && wc->status == IBV_WC_SUCCESS, "a Write failed");
    }
    std::fill(own.memory().begin(), own.memory().end(), 0);
    want(own.post(IBV_WR_RDMA_READ, 2, own.entry(0), given.address, region->rkey) == 0,
         "a Read is not posted");
    const auto wc = own.completion();
    want(wc && wc->status == IBV_WC_SUCCESS, "a Read failed");
    want(own.memory().front() == byte, "it has read something else");
}

struct Import : testing::Test {
    device dev;
    std::vector<unsigned char> memory = std::vector<unsigned char>(end::size);
    owned<ibv_mr, ibv_dereg_mr> region{
        ibv_reg_mr(dev.domain(), memory.data(), memory.size(), end::access)};
    shared_region given{dev.context()->cmd_fd, dev.domain()->handle, region->handle,
                        reinterpret_cast<std::uintptr_t>(memory.data())};

    [[nodiscard]] bool all_are(unsigned char byte) const {
        return std::all_of(memory.begin(), memory.end(),
                           [byte](unsigned char c) { return c == byte; });
    }
};

TEST_F(Import, TheMemoryOfAnotherProcess) {
    // What the other process gives back stays: it was not its own.
    for (unsigned char byte = 1; byte <= 2; ++byte) {
        ASSERT_TRUE(elsewhere([&] { use(given, byte); }));
        EXPECT_TRUE(all_are(byte));
    }
}

TEST_F(Import, TwiceInOneProcess) {
    ASSERT_NO_THROW(use(given, 3));
    EXPECT_TRUE(all_are(3));
}

TEST_F(Import, ARegionThatIsNotThere) {
    EXPECT_TRUE(elsewhere([&] {
        const device other(given.device, given.domain);
        want(ibv_import_mr(other.domain(), given.handle + 1000) == nullptr, "it is there");
        want(ibv_import_device(STDIN_FILENO) == nullptr, "that is no device");
    }));
}

// What it has made stays until the last process closes the device, which is not disturbed.
TEST_F(Import, AProcessThatIsKilled) {
    const pid_t child = start([&] {
        for (;;) use(given, 4);
    });
    std::this_thread::sleep_for(1s);
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status));
    ASSERT_TRUE(elsewhere([&] { use(given, 5); }));
}

}  // namespace
