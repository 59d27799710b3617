// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// What the verbs side sends: the headers of each message, field by field, how messages are cut into
// segments, and Reads with all that the answer to one may be.
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <string_view>
#include <thread>

#include "session.hpp"
#include "settings.hpp"

namespace wirepeer {
namespace {

using softrnic::send_flag;

constexpr std::uint32_t their_stag = 0xa1b2c3d4;
constexpr std::uint64_t their_base = 0x1122334455667788;

softrnic::local_slice out(byte_view content) {
    return arena::get().outbox(content);
}

TEST(Sent, rfc5040_4_1_send) {
    session s;
    must(s.end.qp().send(out(pattern(13)), {.id = 5}));
    EXPECT_EQ(describe(s.wire.read_segment()), describe(make_send(1, pattern(13))));
    s.expect_status(5, IBV_WC_SUCCESS);
}

TEST(Sent, rfc5040_4_1_send_solicited) {
    session s;
    must(s.end.qp().send(out(pattern(13)),
                         {.id = 5, .flags = send_flag::signaled | send_flag::solicited}));
    EXPECT_EQ(describe(s.wire.read_segment()), describe(make_send(1, pattern(13), op::send_se)));
}

TEST(Sent, rfc5040_4_1_send_with_invalidate) {
    session s;
    must(s.end.qp().send_with_invalidate(out(pattern(13)), their_stag, {.id = 5}));
    EXPECT_EQ(describe(s.wire.read_segment()),
              describe(make_send(1, pattern(13), op::send_inv, their_stag)));
}

TEST(Sent, rfc5040_4_1_send_solicited_with_invalidate) {
    session s;
    must(s.end.qp().send_with_invalidate(
        out(pattern(13)), their_stag,
        {.id = 5, .flags = send_flag::signaled | send_flag::solicited}));
    EXPECT_EQ(describe(s.wire.read_segment()),
              describe(make_send(1, pattern(13), op::send_se_inv, their_stag)));
}

TEST(Sent, rfc5040_4_3_write) {
    session s;
    must(s.end.qp().write(out(pattern(13)), {.addr = their_base, .rkey = their_stag}, {.id = 5}));
    EXPECT_EQ(describe(s.wire.read_segment()),
              describe(make_write(their_stag, their_base, pattern(13))));
}

TEST(Sent, rfc5041_5_2_empty_messages) {
    session s;
    must(s.end.qp().send(softrnic::no_slices));
    must(s.end.qp().write(softrnic::no_slices, {.addr = their_base, .rkey = their_stag}));
    must(s.end.qp().send(softrnic::no_slices));
    EXPECT_EQ(describe(s.wire.read_segment()), describe(make_send(1, {})));
    const segment write = s.wire.read_segment();
    EXPECT_EQ(write.opcode, op::write);
    EXPECT_TRUE(write.tagged && write.last && write.payload.empty());
    EXPECT_EQ(describe(s.wire.read_segment()), describe(make_send(2, {})));
}

// The peer makes room while a batch is only partly in the socket. It is then sent to its end from
// where packets are received, and all that was in it completes.
TEST(Sent, many_of_which_some_had_no_room) {
    constexpr std::size_t in_a_batch = 900, batches = 100;
    const support::kernel_setting little("/proc/sys/net/ipv4/tcp_wmem", "4096 32768 65536");
    session_options options = usual_options(role::initiator);
    options.sends = 1024;
    session s(options);
    const segment one = make_write(1, 0, pattern(8));
    const softrnic::local_slice payload = arena::get().outbox(one.payload);
    ibv_sge from{payload.addr, payload.length, payload.lkey};
    std::vector<ibv_send_wr> list(in_a_batch);
    for (ibv_send_wr& wr : list) {
        wr.next = &wr == &list.back() ? nullptr : &wr + 1;
        wr.sg_list = &from;
        wr.num_sge = 1;
        wr.opcode = IBV_WR_RDMA_WRITE;
        wr.wr.rdma.rkey = one.stag;
    }
    list.back().send_flags = IBV_SEND_SIGNALED;
    std::size_t posted = 0;
    // A stranger's are complete as soon as they are in the socket.
    do {
        ibv_send_wr* bad = nullptr;
        ASSERT_EQ(ibv_post_send(s.end.qp().native(), list.data(), &bad), 0);
        ASSERT_LT(++posted, batches);
    } while (s.end.recv_cq().wait_one(200ms));
    (void)s.wire.read(posted * in_a_batch * fpdu(one).size());
    s.expect_status(0, IBV_WC_SUCCESS);
}

// Each queue counts from 1, and Writes count nowhere.
TEST(Sent, rfc5041_4_3_message_sequence_numbers) {
    session s;
    for (std::uint32_t i = 1; i <= 3; ++i) {
        must(s.end.qp().send(out(pattern(4))));
        must(s.end.qp().write(out(pattern(4)), {.addr = their_base, .rkey = their_stag}));
        must(s.end.qp().read(arena::get().inbox(0, 8), {.addr = their_base, .rkey = their_stag}));
        EXPECT_EQ(s.wire.read_segment().msn, i);
        EXPECT_EQ(s.wire.read_segment().opcode, op::write);
        const segment request = s.wire.read_segment();
        EXPECT_EQ(request.opcode, op::read_request);
        EXPECT_EQ(request.qn, 1U);
        EXPECT_EQ(request.msn, i);
        EXPECT_EQ(request.mo, 0U);
        EXPECT_TRUE(request.last);
    }
}

/// How messages of this size are cut for segments of TCP that are so large.
struct cutting {
    int mss;
    std::uint32_t size;
};

std::ostream& operator<<(std::ostream& to, const cutting& c) {
    return to << c.size << "_bytes_mss_" << c.mss;
}

class Segments : public ::testing::TestWithParam<cutting> {};

/// RFC 5044 section 4.5: an FPDU fits a segment of TCP; RFC 5041 section 5.2: offsets, last flag.
/// read_message() holds the segments against one another.
void expect_cut_well(const std::vector<segment>& parts, const cutting& c) {
    for (const segment& part : parts) {
        EXPECT_LE(fpdu(part).size(), static_cast<std::size_t>(c.mss));
        // As large as possible is a SHOULD; 128 bytes is the least that MPA may offer to DDP.
        EXPECT_TRUE(part.last || ulpdu(part).size() >= 128) << describe(part);
    }
}

TEST_P(Segments, rfc5041_5_2_of_a_send) {
    session_options options;
    options.mss = GetParam().mss;
    session s(options);
    const bytes text = pattern(GetParam().size);
    must(s.end.qp().send(out(text), {.id = 5}));
    std::vector<segment> parts;
    EXPECT_EQ(s.wire.read_message(&parts), make_send(1, text));
    expect_cut_well(parts, GetParam());
    s.expect_status(5, IBV_WC_SUCCESS);
}

TEST_P(Segments, rfc5041_5_2_of_a_write) {
    session_options options = usual_options(role::responder);
    options.mss = GetParam().mss;
    session s(options);
    const bytes text = pattern(GetParam().size);
    must(s.end.qp().write(out(text), {.addr = their_base, .rkey = their_stag}, {.id = 5}));
    std::vector<segment> parts;
    EXPECT_EQ(s.wire.read_message(&parts), make_write(their_stag, their_base, text));
    expect_cut_well(parts, GetParam());
}

TEST_P(Segments, rfc5041_5_2_of_a_read_response) {
    const std::uint32_t size = std::min(GetParam().size, arena::get().layout().open.size);
    session_options options;
    options.mss = GetParam().mss;
    session s(options);
    const region open = arena::get().layout().open;
    std::ranges::copy(pattern(open.size), arena::get().bytes_of(open).begin());
    s.wire.send(make_read_request(1, {.sink_stag = their_stag,
                                      .sink_to = their_base,
                                      .size = size,
                                      .source_stag = open.stag,
                                      .source_to = open.base}));
    std::vector<segment> parts;
    EXPECT_EQ(s.wire.read_message(&parts),
              make_read_response(their_stag, their_base, pattern(size)));
    expect_cut_well(parts, GetParam());
}

// Programs poll the end of a Write.
TEST(Sent, the_end_of_a_write_in_one_segment) {
    constexpr std::uint32_t polled = 48, most = 4;
    session_options options = usual_options(role::responder);
    options.mss = 1000;
    session s(options);
    const auto parts_of_a_write = [&](std::size_t size) {
        const bytes text = pattern(size);
        std::vector<segment> parts;
        must(s.end.qp().write(out(text), {.addr = their_base, .rkey = their_stag}));
        EXPECT_EQ(s.wire.read_message(&parts), make_write(their_stag, their_base, text));
        return parts;
    };
    const std::size_t whole = parts_of_a_write(3000).front().payload.size();
    for (std::size_t count = 1; count < most; ++count) {
        for (const std::size_t rest : {1U, 4U, 8U, 47U, 48U}) {
            const auto parts = parts_of_a_write(count * whole + rest);
            EXPECT_EQ(parts.size(), count + 1) << rest;
            EXPECT_EQ(parts.back().payload.size(), polled) << rest;
        }
    }
}

/// The MTU of lo, which both ends are on, is another one for a while.
class narrow_path {
public:
    explicit narrow_path(int mtu) : control_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
        before_ = exchange(SIOCGIFMTU, 0);
        (void)exchange(SIOCSIFMTU, mtu);
    }
    ~narrow_path() { (void)exchange(SIOCSIFMTU, before_); }
    narrow_path(const narrow_path&) = delete;
    narrow_path& operator=(const narrow_path&) = delete;

private:
    [[nodiscard]] int exchange(unsigned long what, int mtu) const {
        ifreq request{};
        std::ranges::copy(std::string_view("lo"), request.ifr_name);
        request.ifr_mtu = mtu;
        EXPECT_EQ(::ioctl(control_.get(), what, &request), 0) << "the MTU of lo";
        return request.ifr_mtu;
    }

    descriptor control_;
    int before_ = 0;
};

// TCP learns of a narrower path when it sends. What is cut after that fits.
TEST(PathChange, rfc5044_4_5_after_a_change_of_the_path) {
    constexpr int mtu = 1400, headers = 40;
    const bytes text = pattern(20'000);
    session s;
    const auto parts_of_a_send = [&](std::uint32_t number) {
        std::vector<segment> parts;
        must(s.end.qp().send(out(text), {.id = number}));
        EXPECT_EQ(s.wire.read_message(&parts), make_send(number, text));
        s.expect_status(number, IBV_WC_SUCCESS);
        return parts;
    };
    EXPECT_EQ(parts_of_a_send(1).size(), 1U);
    {
        const narrow_path now(mtu);
        parts_of_a_send(2);
        expect_cut_well(parts_of_a_send(3), {.mss = mtu - headers, .size = 20'000});
    }
    parts_of_a_send(4);
    EXPECT_EQ(parts_of_a_send(5).size(), 1U);
}

std::vector<cutting> cuttings() {
    std::vector<cutting> all;
    for (const int mss : {536, 1000, 1001, 1002, 1003, 1460})
        for (const std::uint32_t size :
             {1U, 500U, 510U, 511U, 512U, 513U, 514U, 1400U, 3000U, 70'001U})
            all.push_back({mss, size});
    return all;
}

INSTANTIATE_TEST_SUITE_P(, Segments, ::testing::ValuesIn(cuttings()),
                         ::testing::PrintToStringParamName());

// Reads.

/// A Read of `size` bytes into the inbox. Return: what was asked for.
read_request start_read(session& s, std::uint32_t size, std::uint64_t id, std::uint32_t msn = 1) {
    must(s.end.qp().read(arena::get().inbox(0, size), {.addr = their_base, .rkey = their_stag},
                         {.id = id}));
    const segment request = s.wire.read_segment();
    EXPECT_EQ(request.opcode, op::read_request);
    EXPECT_EQ(request.qn, 1U);
    EXPECT_EQ(request.msn, msn);
    const read_request r = decode_read_request(request.payload);
    EXPECT_EQ(r.source_stag, their_stag);
    EXPECT_EQ(r.source_to, their_base);
    EXPECT_EQ(r.size, size);
    return r;
}

segment answer(const read_request& r, std::uint32_t from, std::uint32_t length, bool last) {
    segment part = make_read_response(r.sink_stag, r.sink_to + from, pattern(length, from));
    part.last = last;
    return part;
}

TEST(Read, rfc5040_5_2_answer_in_one_segment) {
    session s;
    const read_request r = start_read(s, 40, 5);
    s.wire.send(answer(r, 0, 40, true));
    s.expect_status(5, IBV_WC_SUCCESS);
    EXPECT_EQ(hex(arena::get().inbox_bytes(0, 40)), hex(pattern(40)));
}

TEST(Read, rfc5040_5_2_answer_in_many_segments) {
    session s;
    const read_request r = start_read(s, 40, 5);
    for (std::uint32_t i = 0; i < 40; i += 5) s.wire.send(answer(r, i, 5, i == 35));
    s.expect_status(5, IBV_WC_SUCCESS);
    EXPECT_EQ(hex(arena::get().inbox_bytes(0, 40)), hex(pattern(40)));
}

TEST(Read, rfc5040_5_2_answer_cut_at_every_byte) {
    session s;
    const std::size_t length = fpdu(answer({}, 0, 9, true)).size();
    for (std::size_t cut = 1; cut < length; ++cut) {
        SCOPED_TRACE("cut at " + std::to_string(cut));
        const read_request r = start_read(s, 9, cut, static_cast<std::uint32_t>(cut));
        s.wire.send_cut(fpdu(answer(r, 0, 9, true)), std::array{cut});
        s.expect_status(cut, IBV_WC_SUCCESS);
        EXPECT_EQ(hex(arena::get().inbox_bytes(0, 9)), hex(pattern(9)));
    }
}

TEST(Read, rfc5040_5_2_1_empty) {
    session s;
    must(s.end.qp().read(softrnic::no_slices, {.addr = their_base, .rkey = their_stag}, {.id = 5}));
    const read_request r = decode_read_request(s.wire.read_segment().payload);
    EXPECT_EQ(r.size, 0U);
    s.wire.send(make_read_response(r.sink_stag, r.sink_to, {}));
    s.expect_status(5, IBV_WC_SUCCESS);
}

// Each of several has a sink of its own, and completes in order.
TEST(Read, rfc5040_5_2_2_several) {
    session s;
    std::vector<read_request> asked;
    for (std::uint32_t i = 1; i <= 4; ++i) asked.push_back(start_read(s, 10 * i, i, i));
    for (const read_request& r : asked) s.wire.send(answer(r, 0, r.size, true));
    for (std::uint64_t i = 1; i <= 4; ++i) s.expect_status(i, IBV_WC_SUCCESS);
}

// RFC 6581 section 9.1: never more of them than the responder serves.
TEST(Read, rfc6581_9_1_as_many_as_the_responder_serves) {
    for (const std::uint16_t served : {std::uint16_t{1}, std::uint16_t{3}}) {
        session_options options = usual_options(role::responder);
        options.frame.enhanced->ird = served;
        session s(options);
        for (std::uint64_t i = 1; i <= 8; ++i)
            must(s.end.qp().read(arena::get().inbox(0, 8), {.addr = their_base, .rkey = their_stag},
                                 {.id = i}));
        std::vector<segment> asked;
        for (unsigned i = 0; i < served; ++i) asked.push_back(s.wire.read_segment());
        for (std::uint64_t i = 1; i <= 8; ++i) {
            s.wire.expect_quiet();
            s.wire.send(answer(decode_read_request(asked.at(i - 1).payload), 0, 8, true));
            s.expect_status(i, IBV_WC_SUCCESS);
            if (i + served <= 8) asked.push_back(s.wire.read_segment());
        }
    }
}

/// Answers that are none, RFC 5040 section 5.2.2 and RFC 5041 section 7.1: the last of the
/// segments is at fault.
struct bad_answer {
    const char* name;
    std::vector<segment> (*make)(const read_request& r);
    term_code why;
};

std::ostream& operator<<(std::ostream& to, const bad_answer& b) {
    return to << b.name;
}

const bad_answer bad_answers[] = {
    {"rfc5041_7_1_stag_of_no_read",
     [](const read_request& r) {
         return changed(answer(r, 0, 40, true), [](auto& s) { s.stag = unused_stag; });
     },
     {1, 1, 0}},
    {"rfc5041_7_1_stag_of_a_region",
     [](const read_request& r) {
         return changed(answer(r, 0, 40, true),
                        [](auto& s) { s.stag = arena::get().layout().open.stag; });
     },
     {1, 1, 0}},
    {"rfc5041_7_1_stag_of_the_next_read",
     [](const read_request& r) {
         return changed(answer(r, 0, 40, true), [](auto& s) { ++s.stag; });
     },
     {1, 1, 0}},
    {"rfc5041_7_1_offset_before",
     [](const read_request& r) { return changed(answer(r, 0, 40, true), [](auto& s) { --s.to; }); },
     {1, 1, 1}},
    {"rfc5041_7_1_offset_behind",
     [](const read_request& r) {
         return changed(answer(r, 0, 40, true), [](auto& s) { s.to += 40; });
     },
     {1, 1, 1}},
    {"rfc5041_7_1_too_long",
     [](const read_request& r) { return std::vector{answer(r, 0, 41, true)}; },
     {1, 1, 1}},
    {"rfc5041_7_1_too_long_in_its_second_segment",
     [](const read_request& r) {
         return std::vector{answer(r, 0, 30, false), answer(r, 30, 11, true)};
     },
     {1, 1, 1}},
    {"rfc5041_7_1_too_long_in_its_third_segment",
     [](const read_request& r) {
         return std::vector{answer(r, 0, 20, false), answer(r, 20, 20, false),
                            answer(r, 40, 8, false)};
     },
     {1, 1, 1}},
    {"rfc5041_7_1_offset_behind_in_its_third_segment",
     [](const read_request& r) {
         return std::vector{answer(r, 0, 8, false), answer(r, 8, 8, false),
                            answer(r, 24, 8, false)};
     },
     {1, 1, 1}},
    {"rfc5040_5_2_2_a_write_to_the_sink",
     [](const read_request& r) {
         return changed(answer(r, 0, 40, true), [](auto& s) { s.opcode = op::write; });
     },
     {1, 1, 0}},
};

class BadAnswer : public ::testing::TestWithParam<bad_answer> {};

TEST_P(BadAnswer, EndsWithTerminate) {
    session s;
    const read_request r = start_read(s, 40, 5);
    const std::vector<segment> sent = GetParam().make(r);
    s.wire.send(fpdus(sent));
    const term_code why = GetParam().why;
    s.expect_terminate(terminate_payload(why, term_headers::ddp, sent.back()));
    s.expect_status(5, IBV_WC_WR_FLUSH_ERR);
    s.expect_failed(event_of(why), 1);
    expect_service();
}

INSTANTIATE_TEST_SUITE_P(, BadAnswer, ::testing::ValuesIn(bad_answers),
                         [](const auto& test) { return test.param.name; });

// RFC 5040 section 6.1: more Read Requests than were agreed on are one without a buffer. All in one
// segment of TCP, so that some come before their predecessors are answered; which one is too many
// depends on how far these are.
TEST(Read, rfc5041_7_1_more_than_agreed_on) {
    constexpr std::uint32_t many = 300;
    session_options options;
    options.verbs.responder_resources = 2;
    session s(options);
    EXPECT_EQ(s.theirs.enhanced->ird, 2);
    const region open = arena::get().layout().open;
    std::vector<segment> requests;
    for (std::uint32_t i = 1; i <= many; ++i)
        requests.push_back(make_read_request(
            i, {.sink_stag = i, .size = 1, .source_stag = open.stag, .source_to = open.base}));
    s.wire.send(fpdus(requests));
    std::uint32_t answered = 0;
    segment got = s.wire.read_segment();
    for (; got.opcode == op::read_response; got = s.wire.read_segment())
        EXPECT_EQ(got.stag, ++answered);
    // The Terminate has the header of the one at fault.
    ASSERT_EQ(got.payload.size(), 4U + 2 + 18);
    const segment at_fault = decode_segment(byte_view(got.payload).subspan(6));
    ASSERT_GT(at_fault.msn, 2U);
    ASSERT_LE(at_fault.msn, many);
    EXPECT_EQ(describe(got), describe(make_terminate(terminate_payload(
                                 {1, 2, 2}, term_headers::ddp, requests[at_fault.msn - 1]))));
    EXPECT_GT(at_fault.msn, answered);
    s.wire.expect_closed();
    s.expect_failed(IBV_EVENT_QP_REQ_ERR, 1);
    expect_service();
}

/// Lets the next allocations that cannot wait fail, where faults.sh has prepared the kernel for it.
/// What carries the bytes may ask for some before the receiver does, as in newer kernels.
class fault {
public:
    [[nodiscard]] static bool possible() { return ::access(knob, W_OK) == 0; }
    fault() { std::ofstream(knob) << 5; }
    fault(const fault&) = delete;
    fault& operator=(const fault&) = delete;
    ~fault() { std::ofstream(knob) << 0; }

private:
    static constexpr const char* knob = "/sys/kernel/debug/failslab/times";
};

// Room for the peer's Reads is allocated with its first one, in softirq. In two pieces nothing
// comes behind it that would make softirq look again.
TEST(Read, without_memory_at_first) {
    if (!fault::possible()) GTEST_SKIP() << "this kernel injects no faults";
    for (const bool in_two : {false, true}) {
        for (int i = 0; i < 10; ++i) {
            SCOPED_TRACE(i);
            session s;
            const auto memory = must(
                softrnic::buffer::create(arena::get().domain(), 40, softrnic::access::remote_read));
            const softrnic::remote_slice source = memory.remote();
            const bytes sent = fpdu(make_read_request(1, {.sink_stag = 7,
                                                          .size = 40,
                                                          .source_stag = source.rkey,
                                                          .source_to = source.addr}));
            const std::size_t first = in_two ? sent.size() / 2 : 0;
            if (in_two) s.wire.send(byte_view(sent).first(first));
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            const fault one;
            s.wire.send(byte_view(sent).subspan(first));
            EXPECT_EQ(s.wire.read_segment().payload.size(), 40U);
        }
    }
}

// A request that has to wait until the batch in hand is in the socket is next in turn then, however
// many Reads the peer has under way. These are more than fits into both sockets.
TEST(Read, does_not_hold_back_a_bad_send) {
    constexpr std::uint32_t reads = 8;
    constexpr std::uint32_t size = 8U << 20U;
    session s;
    ASSERT_GE(s.theirs.enhanced->ird, reads);
    const auto memory =
        must(softrnic::buffer::create(arena::get().domain(), size, softrnic::access::remote_read));
    const softrnic::remote_slice source = memory.remote();
    std::vector<segment> requests;
    for (std::uint32_t i = 1; i <= reads; ++i)
        requests.push_back(make_read_request(
            i,
            {.sink_stag = i, .size = size, .source_stag = source.rkey, .source_to = source.addr}));
    s.wire.send(fpdus(requests));
    (void)s.wire.read(1);
    softrnic::local_slice bad = out(pattern(4));
    bad.lkey = unused_stag;
    must(s.end.qp().send(bad, {.id = 5}));
    (void)s.wire.read(2 * size);
    s.expect_status(5, IBV_WC_LOC_PROT_ERR);
}

}  // namespace
}  // namespace wirepeer
