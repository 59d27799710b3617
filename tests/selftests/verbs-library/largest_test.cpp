// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// The largest message that the device promises, by each operation, and one byte more. A file of
// a few MiB, mapped again and again, stands for memory that a test machine does not have.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "data.hpp"
#include "fixture.hpp"

namespace verbs_test {
namespace {

using softrnic::access;

constexpr std::size_t period = std::size_t{32} << 20;
constexpr std::size_t largest = std::size_t{1} << 31;

/// Address space that shows the same memory every `period` bytes.
class repeated {
public:
    explicit repeated(std::size_t size) : size_(size) {
        const int file = memfd_create("repeated", 0);
        void* space = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (file < 0 || ftruncate(file, period) != 0 || space == MAP_FAILED)
            throw std::runtime_error("no memory to repeat");
        start_ = static_cast<std::byte*>(space);
        for (std::size_t at = 0; at < size; at += period) {
            const std::size_t length = std::min(period, size - at);
            if (mmap(start_ + at, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
                     0) == MAP_FAILED)
                throw std::runtime_error("cannot map it again");
        }
        close(file);
    }
    ~repeated() { munmap(start_, size_); }
    repeated(const repeated&) = delete;
    repeated& operator=(const repeated&) = delete;

    [[nodiscard]] std::span<std::byte> all() const { return {start_, size_}; }
    [[nodiscard]] std::span<std::byte> once() const { return {start_, period}; }

private:
    std::byte* start_ = nullptr;
    std::size_t size_;
};

class Largest : public ::testing::Test {
protected:
    repeated from{largest + 4096};
    repeated to{largest + 4096};
    message pattern = make_message(period, 31);
    pair ends = connect_pair();
    softrnic::mr source = must(softrnic::mr::create(ends.client.domain(), from.all(),
                                                    access::local_write | access::remote_read));
    softrnic::mr sink = must(
        softrnic::mr::create(ends.server.domain(), to.all(),
                             access::local_write | access::remote_write | access::remote_read));

    void SetUp() override { std::ranges::copy(pattern, from.once().begin()); }

    /// All of the message went, and the memory shows it.
    void expect_arrived(softrnic::cq& queue, ibv_wc_opcode opcode, const repeated& where) {
        const auto patient = 300s;
        ibv_wc wc = must(queue.wait_one(patient));
        expect_good(wc, 1, opcode);
        if (opcode != IBV_WC_RDMA_WRITE) {
            EXPECT_EQ(wc.byte_len, largest);
        }
        EXPECT_TRUE(std::ranges::equal(where.once(), pattern));
    }
};

constexpr auto two_gib = static_cast<std::uint32_t>(largest);

TEST_F(Largest, DeviceSaysSo) {
    ibv_port_attr port{};
    ASSERT_EQ(ibv_query_port(device().native(), 1, &port), 0);
    EXPECT_EQ(port.max_msg_sz, largest);
}

TEST_F(Largest, Write) {
    must(ends.client.qp().write(source.sub(0, two_gib), sink.remote(), {.id = 1}));
    expect_arrived(ends.client.send_cq(), IBV_WC_RDMA_WRITE, to);
}

TEST_F(Largest, Send) {
    must(ends.server.qp().recv(sink.sub(0, two_gib), 1));
    must(ends.client.qp().send(source.sub(0, two_gib)));
    expect_arrived(ends.server.recv_cq(), IBV_WC_RECV, to);
}

TEST_F(Largest, Read) {
    must(ends.server.qp().read(sink.sub(0, two_gib), source.remote(), {.id = 1}));
    expect_arrived(ends.server.send_cq(), IBV_WC_RDMA_READ, to);
}

TEST_F(Largest, OneByteMoreIsRefused) {
    EXPECT_TRUE(
        fails_with(ends.client.qp().write(source.sub(0, two_gib + 1), sink.remote()), EINVAL));
    EXPECT_TRUE(
        fails_with(ends.client.qp().read(sink.sub(0, two_gib + 1), source.remote()), EINVAL));
}

}  // namespace
}  // namespace verbs_test
