// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Memory that another driver exports: udmabuf makes a DMA-BUF of the memory of a file. On a kernel
// without udmabuf, or whose udmabuf cannot be mapped, there is nothing to try.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <span>
#include <utility>

#include "end.hpp"

namespace {

using namespace by_hand;

class descriptor {
public:
    explicit descriptor(int fd) : fd_(fd) {}
    descriptor(descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    descriptor& operator=(descriptor&&) = delete;
    ~descriptor() { close(); }

    [[nodiscard]] int get() const { return fd_; }
    void close() {
        if (fd_ >= 0) ::close(std::exchange(fd_, -1));
    }

private:
    int fd_;
};

class DmaBuf : public testing::Test {
protected:
    static constexpr std::size_t page = 4096;
    static constexpr std::size_t size = 64 * page;

    void SetUp() override {
        const descriptor control(open("/dev/udmabuf", O_RDWR | O_CLOEXEC));
        if (control.get() < 0) GTEST_SKIP() << "this kernel has no udmabuf";
        ASSERT_EQ(ftruncate(file.get(), size), 0);
        ASSERT_EQ(fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
        void* start = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
        ASSERT_NE(start, MAP_FAILED);
        bytes = {static_cast<unsigned char*>(start), size};
        udmabuf_create wanted{};
        wanted.memfd = static_cast<std::uint32_t>(file.get());
        wanted.size = size;
        buffer = std::make_unique<descriptor>(ioctl(control.get(), UDMABUF_CREATE, &wanted));
        ASSERT_GE(buffer->get(), 0);
        const auto first = make_region(0, size, 0);
        if (!first && errno == EINVAL) GTEST_SKIP() << "this kernel's udmabuf cannot be mapped";
        ASSERT_TRUE(first) << errno;
    }
    void TearDown() override {
        if (!bytes.empty()) munmap(bytes.data(), size);
    }

    using region = owned<ibv_mr, ibv_dereg_mr>;
    [[nodiscard]] region make_region(std::uint64_t offset, std::size_t length, std::uint64_t iova) {
        return region(
            ibv_reg_dmabuf_mr(dev.domain(), offset, length, iova, buffer->get(), end::access));
    }
    [[nodiscard]] bool has(std::size_t from, std::size_t to, unsigned char byte) const {
        const auto part = bytes.subspan(from, to - from);
        return std::all_of(part.begin(), part.end(), [=](unsigned char c) { return c == byte; });
    }

    device dev;
    descriptor file{memfd_create("dmabuf", MFD_ALLOW_SEALING | MFD_CLOEXEC)};
    std::unique_ptr<descriptor> buffer;
    std::span<unsigned char> bytes;
};

// The region begins in the third page, and peers know it by an address of the program's choice. The
// parts that are moved begin and end within pages.
TEST_F(DmaBuf, IsWrittenToAndReadAndSent) {
    constexpr std::uint64_t offset = 2 * page + 100, iova = 0x7000'0000'0000 + 100;
    const region memory = make_region(offset, 32 * page, iova);
    ASSERT_TRUE(memory);
    end a(dev), b(dev);
    ASSERT_NO_FATAL_FAILURE(bring_up(a, b));
    std::fill(a.memory().begin(), a.memory().end(), 0x5a);
    for (const std::uint64_t at : {std::uint64_t{0}, page - 700, 32 * page - end::size / 2}) {
        std::fill(bytes.begin(), bytes.end(), 1);
        ASSERT_EQ(a.post(IBV_WR_RDMA_WRITE, 1, a.entry(0), iova + at, memory->rkey), 0);
        ASSERT_NO_FATAL_FAILURE(expect_completion(a, 1));
        // Nothing tells when a Write is placed, but a Read behind it finds it.
        ASSERT_EQ(a.post(IBV_WR_RDMA_READ, 2, a.entry(end::size / 2), iova + at, memory->rkey), 0);
        ASSERT_NO_FATAL_FAILURE(expect_completion(a, 2));
        const std::size_t first = offset + at, behind = first + end::size / 2;
        EXPECT_TRUE(has(0, first, 1) && has(first, behind, 0x5a) && has(behind, size, 1)) << at;
        EXPECT_EQ(a.memory().back(), 0x5a);
    }
    std::fill(bytes.begin(), bytes.end(), 0x77);
    ASSERT_EQ(b.post_receive(3), 0);
    const ibv_sge from{.addr = iova + 5000, .length = end::size / 2, .lkey = memory->lkey};
    ASSERT_EQ(a.post(IBV_WR_SEND, 4, from, 0, 0), 0);
    ASSERT_NO_FATAL_FAILURE(expect_completion(b, 3));
    EXPECT_EQ(b.memory().front(), 0x77);
    ASSERT_NO_FATAL_FAILURE(expect_completion(a, 4));
}

TEST_F(DmaBuf, BeyondItsEndIsRefused) {
    const region memory = make_region(0, page, 0);
    ASSERT_TRUE(memory);
    end a(dev), b(dev);
    ASSERT_NO_FATAL_FAILURE(bring_up(a, b));
    std::fill(a.memory().begin(), a.memory().end(), 0x5a);
    ASSERT_EQ(a.post(IBV_WR_RDMA_WRITE, 1, a.entry(0), page - 100, memory->rkey), 0);
    ASSERT_NO_FATAL_FAILURE(expect_completion(a, 1, IBV_WC_REM_ACCESS_ERR));
    EXPECT_TRUE(has(0, size, 0));
}

// The memory is there as long as the region is.
TEST_F(DmaBuf, OutlivesItsDescriptors) {
    region memory = make_region(0, size, 0);
    ASSERT_TRUE(memory);
    buffer->close();
    file.close();
    end a(dev);
    ASSERT_NO_FATAL_FAILURE(bring_up(a));
    std::fill(a.memory().begin(), a.memory().end(), 0x33);
    ASSERT_EQ(a.post(IBV_WR_RDMA_WRITE, 1, a.entry(0), 0, memory->rkey), 0);
    ASSERT_NO_FATAL_FAILURE(expect_completion(a, 1));
    ASSERT_EQ(a.post(IBV_WR_RDMA_READ, 2, a.entry(0), 0, memory->rkey), 0);
    ASSERT_NO_FATAL_FAILURE(expect_completion(a, 2));
    EXPECT_TRUE(has(0, end::size / 2, 0x33));
    memory.reset();
    EXPECT_TRUE(has(0, end::size / 2, 0x33));
}

TEST_F(DmaBuf, WhatIsNoPartOfItIsRefused) {
    struct part {
        std::uint64_t offset;
        std::size_t length;
    };
    for (const part& p : {part{0, size + 1}, part{size, page}, part{page, size}, part{0, 0},
                          part{UINT64_MAX - page + 1, 2 * page}, part{0, SIZE_MAX}}) {
        EXPECT_FALSE(make_region(p.offset, p.length, 0)) << p.offset << ' ' << p.length;
        EXPECT_EQ(errno, EINVAL) << p.offset << ' ' << p.length;
    }
    EXPECT_EQ(ibv_reg_dmabuf_mr(dev.domain(), 0, page, 0, file.get(), end::access), nullptr);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(ibv_reg_dmabuf_mr(dev.domain(), 0, page, 0, 1'000'000, end::access), nullptr);
    EXPECT_EQ(errno, EBADF);
}

// The region is as it was.
TEST_F(DmaBuf, IsNotRegisteredAnew) {
    const region memory = make_region(0, page, 0);
    ASSERT_TRUE(memory);
    EXPECT_NE(ibv_rereg_mr(memory.get(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
                           IBV_ACCESS_LOCAL_WRITE),
              0);
    end a(dev);
    ASSERT_NO_FATAL_FAILURE(bring_up(a));
    ASSERT_EQ(a.post(IBV_WR_RDMA_WRITE, 1, a.entry(0), 0, memory->rkey), 0);
    ASSERT_NO_FATAL_FAILURE(expect_completion(a, 1));
}

}  // namespace
