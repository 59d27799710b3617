// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// What a peer may send: every opcode, reserved fields that are not to be looked at, empty messages,
// sizes, and every way in which TCP may cut the stream.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <list>
#include <numeric>
#include <thread>

#include "session.hpp"
#include "violations.hpp"

namespace wirepeer {
namespace {

/// One or more segments that are all good, and what they bring about.
struct good_message {
    const char* name;
    std::vector<segment> (*make)(const scene& at);
    /// Lengths of the receives that they complete.
    std::vector<std::uint32_t> received;
    /// They end as a Send or an answer, or place this in the open region.
    std::uint32_t written = 0;
    /// Read Responses: lengths.
    std::vector<std::uint32_t> answers = {};
};

std::ostream& operator<<(std::ostream& out, const good_message& m) {
    return out << m.name;
}

constexpr std::uint32_t sink_stag = 0x11223344;
constexpr std::uint64_t sink_to = 0xfffffffffffff000;

segment request(std::uint32_t msn, std::uint32_t stag, std::uint64_t to, std::uint32_t size) {
    return make_read_request(msn, {.sink_stag = sink_stag,
                                   .sink_to = sink_to,
                                   .size = size,
                                   .source_stag = stag,
                                   .source_to = to});
}

segment send_part(std::uint32_t mo, bool last, std::size_t length) {
    segment s = make_send(1, pattern(length, mo));
    s.mo = mo;
    s.last = last;
    return s;
}

segment write_part(const scene& at, std::uint32_t offset, bool last, std::size_t length) {
    segment s = make_write(at.open.stag, at.open.base + offset, pattern(length, offset));
    s.last = last;
    return s;
}

using segments = std::vector<segment>;

const good_message good_messages[] = {
    {"rfc5040_4_1_send", [](const scene&) { return segments{make_send(1, pattern(20))}; }, {20}},
    {"rfc5040_4_1_send_solicited",
     [](const scene&) { return segments{make_send(1, pattern(20), op::send_se)}; },
     {20}},
    {"rfc5040_5_1_write",
     [](const scene& at) { return segments{write_part(at, 0, true, 20)}; },
     {},
     20},
    {"rfc5040_5_1_write_all_of_the_region",
     [](const scene& at) { return segments{write_part(at, 0, true, at.open.size)}; },
     {},
     1000},
    {"rfc5040_5_2_1_read",
     [](const scene& at) { return segments{request(1, at.open.stag, at.open.base, 20)}; },
     {},
     0,
     {20}},
    {"rfc5040_5_2_1_read_all_of_the_region",
     [](const scene& at) { return segments{request(1, at.open.stag, at.open.base, at.open.size)}; },
     {},
     0,
     {1000}},
    {"rfc5040_5_2_1_read_of_read_only_memory",
     [](const scene& at) { return segments{request(1, at.read_only.stag, at.read_only.base, 7)}; },
     {},
     0,
     {7}},
    {"rfc5040_5_2_1_reads_are_answered_in_order",
     [](const scene& at) {
         return segments{request(1, at.open.stag, at.open.base, 30),
                         request(2, at.open.stag, at.open.base, 1),
                         request(3, at.open.stag, at.open.base, 0),
                         request(4, at.open.stag, at.open.base, 999)};
     },
     {},
     0,
     {30, 1, 0, 999}},
    {"rfc5041_4_3_queues_count_for_themselves",
     [](const scene& at) {
         return segments{make_send(1, pattern(3)), request(1, at.open.stag, at.open.base, 4),
                         make_send(2, pattern(5)), request(2, at.open.stag, at.open.base, 6)};
     },
     {3, 5},
     0,
     {4, 6}},

    // Empty messages.
    {"rfc5040_5_3_empty_send", [](const scene&) { return segments{make_send(1, {})}; }, {0}},
    {"rfc5040_5_3_empty_send_solicited",
     [](const scene&) { return segments{make_send(1, {}, op::send_se)}; },
     {0}},
    {"rfc5041_5_2_empty_write_stag_and_offset_are_not_checked",
     [](const scene&) { return segments{make_write(unused_stag, UINT64_MAX, {})}; },
     {}},
    {"rfc5041_5_2_empty_write_to_a_deregistered_region",
     [](const scene& at) { return segments{make_write(at.gone.stag, 0, {})}; },
     {}},
    {"rfc5040_5_2_1_empty_read_source_is_not_checked",
     [](const scene&) { return segments{request(1, unused_stag, UINT64_MAX, 0)}; },
     {},
     0,
     {0}},

    // Reserved fields.
    {"rfc5041_4_1_reserved_bits_in_a_send",
     [](const scene&) {
         return changed(make_send(1, pattern(6)), [](auto& s) { s.ddp_reserved = 0xf; });
     },
     {6}},
    {"rfc5041_4_1_reserved_bits_in_a_write",
     [](const scene& at) {
         return changed(write_part(at, 0, true, 6), [](auto& s) { s.ddp_reserved = 0xf; });
     },
     {},
     6},
    {"rfc5040_4_1_reserved_bits_in_a_send",
     [](const scene&) {
         return changed(make_send(1, pattern(6)), [](auto& s) { s.rdmap_reserved = 3; });
     },
     {6}},
    {"rfc5040_4_1_reserved_bits_in_a_write",
     [](const scene& at) {
         return changed(write_part(at, 0, true, 6), [](auto& s) { s.rdmap_reserved = 3; });
     },
     {},
     6},
    {"rfc5040_4_1_stag_to_invalidate_in_a_send",
     [](const scene&) {
         return changed(make_send(1, pattern(6)), [](auto& s) { s.inv_stag = 0xdeadbeef; });
     },
     {6}},
    {"rfc5040_4_1_stag_to_invalidate_in_a_read_request",
     [](const scene& at) {
         return changed(request(1, at.open.stag, at.open.base, 6),
                        [](auto& s) { s.inv_stag = 0xdeadbeef; });
     },
     {},
     0,
     {6}},

    // Messages of several segments.
    {"rfc5041_5_2_send_in_two_segments",
     [](const scene&) {
         return segments{send_part(0, false, 10), send_part(10, true, 11)};
     },
     {21}},
    {"rfc5041_5_2_send_in_segments_of_a_byte",
     [](const scene&) {
         segments all;
         for (std::uint32_t i = 0; i < 40; ++i) all.push_back(send_part(i, i == 39, 1));
         return all;
     },
     {40}},
    {"rfc5041_5_2_send_with_an_empty_last_segment",
     [](const scene&) {
         return segments{send_part(0, false, 10), send_part(10, true, 0)};
     },
     {10}},
    {"rfc5041_5_2_send_with_an_empty_first_segment",
     [](const scene&) {
         return segments{send_part(0, false, 0), send_part(0, true, 10)};
     },
     {10}},
    {"rfc5041_5_2_write_in_three_segments",
     [](const scene& at) {
         return segments{write_part(at, 0, false, 100), write_part(at, 100, false, 1),
                         write_part(at, 101, true, 300)};
     },
     {},
     401},
    // Only in order is a SHOULD.
    {"rfc5041_5_3_write_in_segments_out_of_order",
     [](const scene& at) {
         return segments{write_part(at, 50, false, 50), write_part(at, 0, true, 50)};
     },
     {},
     100},
    {"rfc5041_5_3_a_write_between_the_segments_of_a_send",
     [](const scene& at) {
         return segments{send_part(0, false, 10), write_part(at, 0, true, 30),
                         send_part(10, true, 4)};
     },
     {14},
     30},
    {"rfc5041_5_3_a_read_between_the_segments_of_a_send",
     [](const scene& at) {
         return segments{send_part(0, false, 10), request(1, at.open.stag, at.open.base, 9),
                         send_part(10, true, 4)};
     },
     {14},
     0,
     {9}},
};

/// The messages are answered, and received.
void expect_done(session& s, const good_message& m) {
    for (const std::uint32_t length : m.answers) {
        const bytes source = length == 7 ? bytes(7, 0) : pattern(length);
        EXPECT_EQ(describe(s.wire.read_message()),
                  describe(make_read_response(sink_stag, sink_to, source)));
    }
    std::uint64_t id = 0;
    for (const std::uint32_t length : m.received) {
        ++id;
        s.expect_receive(id, length);
        const auto at = static_cast<std::uint32_t>(id - 1) * receive_size;
        EXPECT_EQ(hex(arena::get().inbox_bytes(at, length)), hex(pattern(length)));
    }
}

/// All that was written is in its place, and nothing else is; once a later Send was received.
void expect_placed(const good_message& m) {
    const auto open = arena::get().bytes_of(arena::get().layout().open);
    EXPECT_EQ(hex(open.first(m.written)), hex(pattern(m.written)));
    if (!m.answers.empty()) return;
    EXPECT_EQ(std::ranges::count(open.subspan(m.written), 0), open.size() - m.written);
}

/// The connection is as good as before: another message gets through, and it ends in good order.
void expect_alive(session& s, std::uint32_t messages) {
    s.wire.send(make_send(messages + 1, pattern(11)));
    s.expect_receive(messages + 1, 11);
    s.wire.finish();
    s.expect_ended(messages + 2);
    s.wire.expect_closed();
}

void fill_source() {
    const auto open = arena::get().bytes_of(arena::get().layout().open);
    std::ranges::copy(pattern(open.size()), open.begin());
}

class Accepted : public ::testing::TestWithParam<good_message> {};

TEST_P(Accepted, InOneSegmentOfTcp) {
    const good_message& m = GetParam();
    session s;
    if (!m.answers.empty()) fill_source();
    s.wire.send(fpdus(m.make(arena::get().layout())));
    expect_done(s, m);
    expect_alive(s, static_cast<std::uint32_t>(m.received.size()));
    expect_placed(m);
}

TEST_P(Accepted, ByteForByte) {
    const good_message& m = GetParam();
    session s(usual_options(role::responder));
    if (!m.answers.empty()) fill_source();
    const bytes all = fpdus(m.make(arena::get().layout()));
    std::vector<std::size_t> cuts(std::min<std::size_t>(all.size() - 1, 300));
    std::iota(cuts.begin(), cuts.end(), std::size_t{1});
    s.wire.send_cut(all, cuts);
    expect_done(s, m);
    expect_alive(s, static_cast<std::uint32_t>(m.received.size()));
    expect_placed(m);
}

INSTANTIATE_TEST_SUITE_P(, Accepted, ::testing::ValuesIn(good_messages),
                         [](const auto& test) { return test.param.name; });

/// A message whose FPDU is cut in two at every place.
struct cut_message {
    const char* name;
    segment (*make)(const scene& at, std::uint32_t number);
};

std::ostream& operator<<(std::ostream& out, const cut_message& m) {
    return out << m.name;
}

const cut_message cut_messages[] = {
    {"rfc5044_4_1_write",
     [](const scene& at, std::uint32_t number) {
         return make_write(at.open.stag, at.open.base + number, pattern(7, number));
     }},
    {"rfc5044_4_1_send_with_padding",
     [](const scene&, std::uint32_t number) { return make_send(number, pattern(5, number)); }},
    {"rfc5044_4_1_send_without_padding",
     [](const scene&, std::uint32_t number) { return make_send(number, pattern(8, number)); }},
    {"rfc5044_4_1_empty_send",
     [](const scene&, std::uint32_t number) { return make_send(number, {}); }},
    {"rfc5044_4_1_read_request",
     [](const scene& at, std::uint32_t number) {
         return request(number, at.open.stag, at.open.base + number, number);
     }},
};

class Cut : public ::testing::TestWithParam<cut_message> {};

/// Waits until that message has had its effect.
void expect_effect(session& s, const segment& sent, std::uint32_t number) {
    arena& memory = arena::get();
    const region open = memory.layout().open;
    const bytes text(sent.payload);
    if (sent.opcode == op::send) {
        s.expect_receive(number, text.size());
        EXPECT_EQ(hex(memory.inbox_bytes((number - 1) * receive_size,
                                         static_cast<std::uint32_t>(text.size()))),
                  hex(text));
        return;
    }
    if (sent.opcode == op::read_request) {
        const auto source = memory.bytes_of(open).subspan(number, number);
        EXPECT_EQ(describe(s.wire.read_message()),
                  describe(make_read_response(sink_stag, sink_to, {source.begin(), source.end()})));
        return;
    }
    // A Write is in place when a Send behind it is received.
    s.wire.send(make_send(number, {}));
    s.expect_receive(number, 0);
    EXPECT_EQ(hex(memory.bytes_of(open).subspan(number, text.size())), hex(text));
}

TEST_P(Cut, AtEveryByte) {
    session_options options;
    options.posted = 64;
    session s(options);
    fill_source();
    const scene& at = arena::get().layout();
    const std::size_t length = fpdu(GetParam().make(at, 1)).size();
    for (std::size_t cut = 1; cut < length; ++cut) {
        SCOPED_TRACE("cut at " + std::to_string(cut));
        const auto number = static_cast<std::uint32_t>(cut);
        const segment sent = GetParam().make(at, number);
        s.wire.send_cut(fpdu(sent), std::array{cut});
        expect_effect(s, sent, number);
        if (HasFailure()) return;
    }
}

/// Two FPDUs in two TCP segments, with the border everywhere but where it belongs.
class CutPair : public Cut {};

TEST_P(CutPair, AtEveryByte) {
    session_options options;
    options.posted = 220;
    session s(options);
    fill_source();
    const scene& at = arena::get().layout();
    const std::size_t length = fpdu(GetParam().make(at, 1)).size();
    for (std::size_t cut = 1; cut < 2 * length; ++cut) {
        SCOPED_TRACE("cut at " + std::to_string(cut));
        const auto number = static_cast<std::uint32_t>(2 * cut - 1);
        const std::array both{GetParam().make(at, number), GetParam().make(at, number + 1)};
        s.wire.send_cut(fpdus(both), std::array{cut});
        expect_effect(s, both[0], number);
        expect_effect(s, both[1], number + 1);
        if (HasFailure()) return;
    }
}

// All but the Write, which nothing answers.
INSTANTIATE_TEST_SUITE_P(, CutPair,
                         ::testing::ValuesIn(std::begin(cut_messages) + 1, std::end(cut_messages)),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(, Cut, ::testing::ValuesIn(cut_messages),
                         [](const auto& test) { return test.param.name; });

/// A message that must leave no byte anywhere when it has come with an error.
struct spoiled_message {
    const char* name;
    segment (*make)(const scene& at);
};

std::ostream& operator<<(std::ostream& out, const spoiled_message& m) {
    return out << m.name;
}

const spoiled_message spoiled_messages[] = {
    {"rfc5041_4_2_write",
     [](const scene& at) {
         return make_write(at.open.stag, at.open.base + 100, bytes(8, poison));
     }},
    {"rfc5041_4_3_send", [](const scene&) { return make_send(1, bytes(5, poison)); }},
};

/// RFC 5044 section 6: no FPDU is given to DDP before its CRC is known to be good.
class Spoiled : public ::testing::TestWithParam<spoiled_message> {
protected:
    static void expect_refused(session& s) {
        s.expect_terminate(terminate_payload({2, 0, 2}, term_headers::none, {}));
        s.expect_failed(IBV_EVENT_QP_REQ_ERR, 1);
        arena::get().expect_free_of(poison);
    }
};

TEST_P(Spoiled, PayloadCutAtEveryByte) {
    const segment good = GetParam().make(arena::get().layout());
    bytes sent = fpdu(good);
    sent[2 + header_length(good.tagged)] ^= 1;
    for (std::size_t cut = 1; cut < sent.size(); ++cut) {
        SCOPED_TRACE("cut at " + std::to_string(cut));
        session s;
        s.wire.send_cut(sent, std::array{cut});
        expect_refused(s);
        if (HasFailure()) return;
    }
}

// Each bit of a header that comes alone.
TEST_P(Spoiled, HeaderCutOff) {
    const segment good = GetParam().make(arena::get().layout());
    const std::size_t head = 2 + header_length(good.tagged);
    for (std::size_t bit = 0; bit < 8 * head; ++bit) {
        SCOPED_TRACE("bit " + std::to_string(bit));
        session s;
        bytes sent = fpdu(good);
        sent[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
        const std::size_t length = static_cast<std::size_t>(sent[0]) << 8 | sent[1];
        // As much as it says that there is.
        append(sent, bytes(length + 8, poison));
        s.wire.send_cut(sent, std::array{head});
        expect_refused(s);
        if (HasFailure()) return;
    }
}

INSTANTIATE_TEST_SUITE_P(, Spoiled, ::testing::ValuesIn(spoiled_messages),
                         [](const auto& test) { return test.param.name; });

/// Memory of the machine that nobody uses, in KiB; what its processors keep at hand is no other.
long free_kib() {
    const long page_kib = sysconf(_SC_PAGESIZE) / 1024;
    std::ifstream file("/proc/zoneinfo");
    long sum = 0;
    std::string word;
    while (file >> word)
        if (long pages = 0; (word == "nr_free_pages" || word == "count:") && file >> pages)
            sum += pages;
    return sum * page_kib;
}

bool soon(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::sleep_for(moment);
    }
    return true;
}

/// What the kernel takes for 4 KiB, in KiB: more on one that surrounds what it hands out.
long kib_for_4_kib() {
    std::ifstream file("/sys/kernel/slab/kmalloc-4k/slab_size");
    long size = 0;
    return file >> size ? size / 1024 : 4;
}

// An FPDU that never ends costs what the longest one may have, however much of it comes.
TEST(Endless, rfc5044_6_is_kept_up_to_its_length) {
    constexpr long slack = 4096;
    constexpr int many = 256;
    const long each = 16 * kib_for_4_kib();
    bytes sent = fpdu(make_write(unused_stag, 0, bytes(65'500, poison)));
    sent.resize(sent.size() - crc_length);
    session_options options;
    options.posted = 1;
    std::list<session> all;
    for (int i = 0; i < many; ++i) all.emplace_back(options);
    const long before = free_kib();
    for (const session& s : all) s.wire.send(sent);
    const auto held = [before] { return before - free_kib(); };
    // It comes and goes in the background. Were it less, something else would be looked at.
    EXPECT_TRUE(soon([&] { return std::abs(held() - many * each) <= slack; })) << held();
    all.clear();
    EXPECT_TRUE(soon([&] { return held() <= slack; })) << held();
    arena::get().expect_free_of(poison);
}

// Padding is of any value, as long as the CRC is over it.
TEST(Padding, rfc5044_4_1_is_ignored) {
    session s;
    s.wire.send(frame_ulpdu(ulpdu(make_send(1, pattern(5))), 0xa5));
    s.expect_receive(1, 5);
    expect_alive(s, 1);
}

class Size : public ::testing::TestWithParam<std::uint32_t> {};

constexpr std::uint32_t large = 70'000;

// One segment of every length of padding, and up to the longest that the length field can say.
TEST_P(Size, rfc5044_4_1_send_of_one_segment) {
    session_options options;
    options.posted = 2;
    options.size = large;
    session s(options);
    const bytes text = pattern(GetParam());
    s.wire.send(make_send(1, text));
    s.expect_receive(1, text.size());
    EXPECT_TRUE(std::ranges::equal(arena::get().inbox_bytes(0, GetParam()), text));
    expect_alive(s, 1);
}

INSTANTIATE_TEST_SUITE_P(, Size,
                         ::testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 127, 128, 511, 512, 1442, 1443,
                                           1444, 1445, 4096, 9000, 16384, 65511, 65512, 65513,
                                           65514, 65517),
                         ::testing::PrintToStringParamName());

// A Receive may be longer than its region; the message that comes may not. The segment at the end
// of the region is neither the first nor the last.
TEST(Beyond, the_region_of_a_receive_in_the_middle_of_a_message) {
    constexpr std::uint32_t part = 40, size = 100, claimed = 200;
    session_options options;
    options.posted = 0;
    session s(options);
    auto memory = must(
        softrnic::buffer::create(arena::get().domain(), claimed, softrnic::access::local_write));
    const auto region = must(softrnic::mr::create(arena::get().domain(), memory.bytes().data(),
                                                  size, softrnic::access::local_write));
    softrnic::local_slice slice = region.sub(0, size);
    slice.length = claimed;
    must(s.end.qp().recv(slice, 1));
    std::vector<segment> all;
    for (std::uint32_t mo = 0; mo < claimed; mo += part)
        all.push_back(send_part(mo, mo + part == claimed, part));
    s.wire.send(fpdus(all));
    s.expect_status(1, IBV_WC_LOC_PROT_ERR);
    EXPECT_EQ(std::ranges::count(memory.bytes().subspan(2 * part), std::byte{0}),
              claimed - 2 * part);
}

// A hundred messages of every kind in as few TCP segments as they fit.
TEST(Together, rfc5044_4_1_many_fpdus_in_a_segment) {
    session_options options;
    options.posted = 60;
    session s(options);
    const scene& at = arena::get().layout();
    std::vector<segment> all;
    for (std::uint32_t i = 1; i <= 50; ++i) {
        all.push_back(make_write(at.open.stag, at.open.base + i, pattern(i)));
        all.push_back(make_send(i, pattern(i)));
    }
    s.wire.send(fpdus(all));
    for (std::uint32_t i = 1; i <= 50; ++i) {
        s.expect_receive(i, i);
        EXPECT_EQ(hex(arena::get().inbox_bytes((i - 1) * receive_size, i)), hex(pattern(i)));
    }
    EXPECT_EQ(hex(arena::get().bytes_of(at.open).subspan(50, 50)), hex(pattern(50)));
    expect_alive(s, 50);
}

}  // namespace
}  // namespace wirepeer
