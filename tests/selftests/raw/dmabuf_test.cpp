// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Memory that another driver exports: udmabuf makes a DMA-BUF of the memory of a file, and a heap
// allocates one. On a kernel without them there is nothing to try.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
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

/// Of a heap of the kernel. -1: there is none.
int of_heap(std::size_t size, std::uint32_t mode) {
    const descriptor heap(open("/dev/dma_heap/system", O_RDWR | O_CLOEXEC));
    dma_heap_allocation_data wanted{
        .len = size, .fd = 0, .fd_flags = mode | O_CLOEXEC, .heap_flags = 0};
    if (heap.get() < 0 || ioctl(heap.get(), DMA_HEAP_IOCTL_ALLOC, &wanted) != 0) return -1;
    return static_cast<int>(wanted.fd);
}

/// Of the memory of a file. -1: there is no udmabuf.
int of_file(const descriptor& file, std::size_t size) {
    const descriptor control(open("/dev/udmabuf", O_RDWR | O_CLOEXEC));
    if (control.get() < 0) return -1;
    EXPECT_EQ(fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
    udmabuf_create wanted{};
    wanted.memfd = static_cast<std::uint32_t>(file.get());
    wanted.size = size;
    return ioctl(control.get(), UDMABUF_CREATE, &wanted);
}

class DmaBuf : public testing::TestWithParam<const char*> {
protected:
    static constexpr std::size_t page = 4096;
    static constexpr std::size_t size = 64 * page;

    void SetUp() override {
        ASSERT_EQ(ftruncate(file.get(), size), 0);
        const bool heap = std::string_view(GetParam()) == "heap";
        const int fd = heap ? of_heap(size, O_RDWR) : of_file(file, size);
        if (fd < 0) GTEST_SKIP() << "this kernel has no " << GetParam();
        buffer = std::make_unique<descriptor>(fd);
        void* start = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED,
                           heap ? buffer->get() : file.get(), 0);
        ASSERT_NE(start, MAP_FAILED);
        bytes = {static_cast<unsigned char*>(start), size};
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
TEST_P(DmaBuf, IsWrittenToAndReadAndSent) {
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

TEST_P(DmaBuf, BeyondItsEndIsRefused) {
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
TEST_P(DmaBuf, OutlivesItsDescriptors) {
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

TEST_P(DmaBuf, WhatIsNoPartOfItIsRefused) {
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

// libibverbs does not ask the kernel about a region of this type, so it is told another one. The
// region is as it was.
TEST_P(DmaBuf, IsNotRegisteredAnew) {
    struct region_of_libibverbs {
        ibv_mr mr;
        int type;
    };
    const region memory = make_region(0, page, 0);
    ASSERT_TRUE(memory);
    reinterpret_cast<region_of_libibverbs*>(memory.get())->type = 0;
    EXPECT_NE(ibv_rereg_mr(memory.get(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
                           IBV_ACCESS_LOCAL_WRITE),
              0);
    EXPECT_EQ(errno, EOPNOTSUPP);
    end a(dev);
    ASSERT_NO_FATAL_FAILURE(bring_up(a));
    ASSERT_EQ(a.post(IBV_WR_RDMA_WRITE, 1, a.entry(0), 0, memory->rkey), 0);
    ASSERT_NO_FATAL_FAILURE(expect_completion(a, 1));
}

TEST_P(DmaBuf, IsImportedWithItsLength) {
    const region memory = make_region(page, 3 * page, 0);
    ASSERT_TRUE(memory);
    const device other(dev.context()->cmd_fd, dev.domain()->handle);
    const owned<ibv_mr, ibv_unimport_mr> same(ibv_import_mr(other.domain(), memory->handle));
    ASSERT_TRUE(same);
    EXPECT_EQ(same->length, 3 * page);
    EXPECT_EQ(same->rkey, memory->rkey);
}

INSTANTIATE_TEST_SUITE_P(Exporters, DmaBuf, testing::Values("udmabuf", "heap"),
                         [](const auto& of) { return std::string(of.param); });

TEST(DmaBufForReading, IsNotWrittenTo) {
    const descriptor buffer(of_heap(4096, O_RDONLY));
    if (buffer.get() < 0) GTEST_SKIP() << "this kernel has no heap";
    const device dev;
    EXPECT_EQ(ibv_reg_dmabuf_mr(dev.domain(), 0, 4096, 0, buffer.get(), end::access), nullptr);
    EXPECT_EQ(errno, EACCES);
    const owned<ibv_mr, ibv_dereg_mr> memory(
        ibv_reg_dmabuf_mr(dev.domain(), 0, 4096, 0, buffer.get(), IBV_ACCESS_REMOTE_READ));
    EXPECT_TRUE(memory);
}

}  // namespace
