// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Every operation in every size and shape, compared byte by byte.
#include <algorithm>
#include <tuple>

#include "data.hpp"
#include "fixture.hpp"

namespace verbs_test {
namespace {

using softrnic::access;
using softrnic::send_flag;

enum class operation { send, send_inline, send_solicited, write, write_inline, read };

constexpr std::size_t kib = 1024;
constexpr std::size_t mib = kib * kib;

using shape = std::tuple<operation, std::size_t, unsigned>;

const char* name_of(operation op) {
    switch (op) {
        case operation::send: return "Send";
        case operation::send_inline: return "SendInline";
        case operation::send_solicited: return "SendSolicited";
        case operation::write: return "Write";
        case operation::write_inline: return "WriteInline";
        case operation::read: return "Read";
    }
    return "";
}

std::string shape_name(const ::testing::TestParamInfo<shape>& info) {
    const auto [op, size, pieces] = info.param;
    return std::string(name_of(op)) + "_" + std::to_string(size) + "_bytes_" +
           std::to_string(pieces) + "_sges";
}

/// Each test transfers two messages: the first unsignalled, the second signalled.
class Operations : public ::testing::TestWithParam<shape> {
protected:
    operation op = std::get<0>(GetParam());
    std::size_t size = std::get<1>(GetParam());
    unsigned pieces = std::get<2>(GetParam());
    pair ends = connect_pair();

    [[nodiscard]] send_flag flags(bool signaled) const {
        send_flag f = signaled ? send_flag::signaled : send_flag::none;
        if (op == operation::send_inline || op == operation::write_inline)
            f |= send_flag::inline_data;
        if (op == operation::send_solicited) f |= send_flag::solicited;
        return f;
    }

    void send_one(const message& m, std::uint64_t id, bool signaled);
    void write_one(const message& m, std::uint64_t id, bool signaled);
    void read_one(const message& m, std::uint64_t id, bool signaled);
    void expect_completion(std::uint64_t id, bool signaled, ibv_wc_opcode opcode);
    void synchronise();
};

/// The only completion of the client is that of a signalled request.
void Operations::expect_completion(std::uint64_t id, bool signaled, ibv_wc_opcode opcode) {
    if (!signaled) return;
    const ibv_wc wc = next(ends.client.send_cq());
    expect_good(wc, id, opcode);
    EXPECT_EQ(wc.qp_num, ends.client.qp().number());
    if (opcode == IBV_WC_RDMA_READ) {
        EXPECT_EQ(wc.byte_len, size);
    }
}

void Operations::send_one(const message& m, std::uint64_t id, bool signaled) {
    // In other pieces here than there.
    const unsigned others = pieces == 1 ? 16 : pieces == 16 ? 1 : pieces;
    scattered from(ends.client.domain(), size, pieces, access::none);
    const scattered to(ends.server.domain(), size, others, access::local_write);
    from.put(m);
    must(ends.server.qp().recv(to.slices(), id + 1000));
    must(ends.client.qp().send(from.slices(), {.id = id, .flags = flags(signaled)}));

    const ibv_wc wc = next(ends.server.recv_cq());
    expect_good(wc, id + 1000, IBV_WC_RECV);
    EXPECT_EQ(wc.byte_len, size);
    EXPECT_EQ(wc.qp_num, ends.server.qp().number());
    EXPECT_EQ(wc.wc_flags, 0U);
    to.expect(m);
    from.expect(m);
    expect_completion(id, signaled, IBV_WC_SEND);
}

/// An empty message: it arrives after all that was written before it.
void Operations::synchronise() {
    must(ends.server.qp().recv(softrnic::no_slices, 77));
    must(ends.client.qp().send(softrnic::no_slices, {.flags = send_flag::none}));
    const ibv_wc wc = next(ends.server.recv_cq());
    expect_good(wc, 77, IBV_WC_RECV);
    EXPECT_EQ(wc.byte_len, 0U);
}

void Operations::write_one(const message& m, std::uint64_t id, bool signaled) {
    scattered from(ends.client.domain(), size, pieces, access::none);
    const scattered to(ends.server.domain(), size, 1, access::local_write | access::remote_write);
    from.put(m);
    must(ends.client.qp().write(from.slices(), to.remote(), {.id = id, .flags = flags(signaled)}));
    synchronise();
    to.expect(m);
    from.expect(m);
    expect_completion(id, signaled, IBV_WC_RDMA_WRITE);
}

void Operations::read_one(const message& m, std::uint64_t id, bool signaled) {
    scattered from(ends.server.domain(), size, 1, access::remote_read);
    const scattered to(ends.client.domain(), size, pieces, access::local_write);
    from.put(m);
    must(ends.client.qp().read(to.slices(), from.remote(), {.id = id, .flags = flags(signaled)}));
    if (!signaled) {
        // A fenced request completes after the read.
        must(ends.server.qp().recv(softrnic::no_slices));
        must(ends.client.qp().send(softrnic::no_slices,
                                   {.id = 78, .flags = send_flag::signaled | send_flag::fence}));
        expect_good(next(ends.client.send_cq()), 78, IBV_WC_SEND);
        next(ends.server.recv_cq());
    }
    expect_completion(id, signaled, IBV_WC_RDMA_READ);
    to.expect(m);
    from.expect(m);
}

TEST_P(Operations, Arrive) {
    for (const bool signaled : {false, true}) {
        const std::uint64_t id = signaled ? 2 : 1;
        const message m = make_message(size, id);
        switch (op) {
            case operation::write:
            case operation::write_inline: write_one(m, id, signaled); break;
            case operation::read: read_one(m, id, signaled); break;
            default: send_one(m, id, signaled); break;
        }
    }
    // Completions come in order: one that should not be would be here by now.
    expect_quiet(ends.client.send_cq(), 0ms);
    expect_quiet(ends.server.recv_cq(), 0ms);
}

using ::testing::Combine;
using ::testing::Values;

const auto op_of_any_size =
    Values(operation::send, operation::send_solicited, operation::write, operation::read);
const auto op_inline = Values(operation::send_inline, operation::write_inline);

INSTANTIATE_TEST_SUITE_P(Small, Operations,
                         Combine(op_of_any_size, Values(0, 1, 7, 4 * kib), Values(1, 3, 16)),
                         shape_name);
INSTANTIATE_TEST_SUITE_P(Inline, Operations,
                         Combine(op_inline, Values(0, 1, 7, 256, 512), Values(1, 3, 16)),
                         shape_name);
INSTANTIATE_TEST_SUITE_P(Large, Operations, Combine(op_of_any_size, Values(mib), Values(1, 3, 16)),
                         shape_name);
INSTANTIATE_TEST_SUITE_P(Huge, Operations,
                         Values(shape(operation::send, 16 * mib, 3),
                                shape(operation::write, 16 * mib, 16),
                                shape(operation::read, 16 * mib, 1)),
                         shape_name);

}  // namespace
}  // namespace verbs_test
