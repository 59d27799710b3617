// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "util/mapping.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace softrnic::provider {
namespace {

const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));

class MappingTest : public testing::Test {
protected:
    MappingTest() : fd_(::memfd_create("ring", 0)) {
        EXPECT_GE(fd_, 0);
        EXPECT_EQ(::ftruncate(fd_, 4 * page), 0);
    }
    ~MappingTest() override { ::close(fd_); }

    int fd_;
};

TEST_F(MappingTest, SharesTheMemoryUnderTheKey) {
    mapping memory;
    ASSERT_EQ(memory.open(fd_, {.key = page, .size = page}), 0);
    *memory.at<char>(5) = 'x';
    char seen = 0;
    ASSERT_EQ(::pread(fd_, &seen, 1, page + 5), 1);
    EXPECT_EQ(seen, 'x');
}

TEST_F(MappingTest, ReportsFailure) {
    mapping memory;
    EXPECT_EQ(memory.open(-1, {.key = 0, .size = page}), EBADF);
    EXPECT_EQ(memory.open(fd_, {.key = 0, .size = 0}), EPROTO);
    EXPECT_EQ(memory.open(fd_, {.key = 1, .size = page}), EINVAL);
}

TEST_F(MappingTest, AForkedChildDoesNotInherit) {
    constexpr int no_advice = 12345;
    mapping memory;
    ASSERT_EQ(memory.open(fd_, {.key = 0, .size = page}), 0);
    if (::madvise(memory.at<void>(0), page, no_advice) == 0)
        GTEST_SKIP() << "this kernel, an emulator's, takes any advice and follows none";
    const pid_t child = ::fork();
    if (child == 0) {
        const bool gone = ::msync(memory.at<void>(0), page, MS_ASYNC) != 0 && errno == ENOMEM;
        ::_exit(gone ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST_F(MappingTest, RefusesRingsThatDoNotFit) {
    mapping memory;
    ASSERT_EQ(memory.open(fd_, {.key = 0, .size = page}), 0);
    const auto whole = static_cast<std::uint32_t>(page / 64);
    EXPECT_TRUE(memory.holds(256, {.depth = whole / 2, .offset = 256, .stride = 64}));
    EXPECT_TRUE(memory.holds(
        256, {.depth = 1, .offset = static_cast<std::uint32_t>(page - 64), .stride = 64}));
    EXPECT_FALSE(memory.holds(256, {.depth = whole, .offset = 256, .stride = 64}));
    EXPECT_FALSE(memory.holds(256, {.depth = 3, .offset = 256, .stride = 64}));
    EXPECT_FALSE(memory.holds(256, {.depth = 0, .offset = 256, .stride = 64}));
    EXPECT_FALSE(memory.holds(256, {.depth = 4, .offset = 192, .stride = 64}));
    EXPECT_FALSE(memory.holds(256, {.depth = 4, .offset = 257, .stride = 64}));
    EXPECT_FALSE(memory.holds(256, {.depth = 4, .offset = 256, .stride = 63}));
    EXPECT_FALSE(memory.holds(256, {.depth = 1U << 31, .offset = 256, .stride = 1U << 31}));
}

TEST_F(MappingTest, EntriesMustHoldWhatWasGranted) {
    EXPECT_TRUE(fits_entry(64, SRN_SEND_WQE_HEADER, 1));
    EXPECT_FALSE(fits_entry(64, SRN_SEND_WQE_HEADER, 2));
    EXPECT_FALSE(fits_entry(1U << 31, SRN_SEND_WQE_HEADER, SRN_MAX_SGE + 1));
    EXPECT_TRUE(fits_inline(64, SRN_SEND_WQE_HEADER, 16));
    EXPECT_FALSE(fits_inline(64, SRN_SEND_WQE_HEADER, 17));
    EXPECT_FALSE(fits_inline(64, SRN_SEND_WQE_HEADER, 0xffffffff));
}

}  // namespace
}  // namespace softrnic::provider
