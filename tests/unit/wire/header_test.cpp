// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// DDP/RDMAP headers against bytes worked out from RFC 5040 figure 3 and RFC 5041 figures 4 and 5,
// the properties of opcodes, and every reason to refuse a header.
#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "wire.hpp"

namespace {

constexpr srn_term_code ddp_tagged_version{1, 1, 4};
constexpr srn_term_code ddp_untagged_qn{1, 2, 1};
constexpr srn_term_code ddp_untagged_version{1, 2, 6};
constexpr srn_term_code rdmap_version{0, 2, 5};
constexpr srn_term_code rdmap_opcode{0, 2, 6};

srn_rdmap_header decode(const byte_vector& bytes) {
    srn_rdmap_header h;
    srn_rdmap_get_header(exact_copy(bytes).data(), &h);
    return h;
}

byte_vector tagged(srn_rdmap_opcode op, std::uint32_t stag, std::uint64_t to, std::uint32_t payload,
                   bool last) {
    srn_wire_tagged w;
    srn_rdmap_put_tagged(&w, op, stag, to, payload, last);
    return bytes_of(w);
}

byte_vector untagged(srn_rdmap_opcode op, std::uint32_t inv_stag, std::uint32_t msn,
                     std::uint32_t mo, std::uint32_t payload, bool last) {
    srn_wire_untagged w;
    srn_rdmap_put_untagged(&w, op, inv_stag, msn, mo, payload, last);
    return bytes_of(w);
}

// clang-format off
TEST(PutHeader, WriteThatEndsAMessage) {
    EXPECT_EQ(tagged(SRN_OP_WRITE, 0x01020304, 0x1112131415161718, 100, true),
              (byte_vector{0x00, 0x72,  // 14 + 100
                           0xc1,        // T, L, version 1
                           0x40,        // version 1, opcode 0
                           0x01, 0x02, 0x03, 0x04,
                           0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18}));
}

TEST(PutHeader, ReadResponseThatGoesOn) {
    EXPECT_EQ(tagged(SRN_OP_READ_RESPONSE, 0xfffefdfc, ~0ULL, 0, false),
              (byte_vector{0x00, 0x0e, 0x81, 0x42, 0xff, 0xfe, 0xfd, 0xfc,
                           0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}));
}

TEST(PutHeader, SendWithInvalidate) {
    EXPECT_EQ(untagged(SRN_OP_SEND_INV, 0xa1a2a3a4, 0xb1b2b3b4, 0xc1c2c3c4, 0x1234, true),
              (byte_vector{0x12, 0x46,              // 18 + 0x1234
                           0x41,                    // L, version 1
                           0x44,                    // version 1, opcode 4
                           0xa1, 0xa2, 0xa3, 0xa4,  // STag to invalidate
                           0x00, 0x00, 0x00, 0x00,  // queue 0
                           0xb1, 0xb2, 0xb3, 0xb4, 0xc1, 0xc2, 0xc3, 0xc4}));
}

TEST(PutHeader, ReadRequest) {
    EXPECT_EQ(untagged(SRN_OP_READ_REQUEST, 0, 1, 0, 28, true),
              (byte_vector{0x00, 0x2e, 0x41, 0x41, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0}));
}

TEST(PutHeader, Terminate) {
    EXPECT_EQ(untagged(SRN_OP_TERMINATE, 0, 1, 0, 4, true),
              (byte_vector{0x00, 0x16, 0x41, 0x47, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0}));
}

// RFC 5044 figure 5, without the marker.
TEST(PutHeader, SendOfTheSpecification) {
    EXPECT_EQ(untagged(SRN_OP_SEND, 0, 1, 0, 24, true),
              (byte_vector{0x00, 0x2a, 0x41, 0x43, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0}));
}
// clang-format on

TEST(PutHeader, LargestUlpdu) {
    const byte_vector t = tagged(SRN_OP_WRITE, 0, 0, SRN_MAX_ULPDU - 14, false);
    EXPECT_EQ(t[0] << 8 | t[1], 64768);
    const byte_vector u = untagged(SRN_OP_SEND, 0, 1, 0, SRN_MAX_ULPDU - 18, false);
    EXPECT_EQ(u[0] << 8 | u[1], 64768);
}

TEST(GetHeader, Tagged) {
    const srn_rdmap_header h = decode({0x00, 0x0e, 0xc1, 0x40, 0x81, 0x02, 0x03, 0x04, 0xf1, 0x12,
                                       0x13, 0x14, 0x15, 0x16, 0x17, 0xf8});
    EXPECT_EQ(h, (srn_rdmap_header{.ddp_ctrl = 0xc1,
                                   .rdmap_ctrl = 0x40,
                                   .opcode = SRN_OP_WRITE,
                                   .tagged = true,
                                   .last = true,
                                   .stag = 0x81020304,
                                   .qn = 0,
                                   .to = 0xf1121314151617f8,
                                   .msn = 0,
                                   .mo = 0}));
}

TEST(GetHeader, Untagged) {
    const srn_rdmap_header h = decode({0x00, 0x12, 0x01, 0x46, 0x81, 0x02, 0x03, 0x04, 0x91, 0x12,
                                       0x13, 0x14, 0xa1, 0x22, 0x23, 0x24, 0xb1, 0x32, 0x33, 0x34});
    EXPECT_EQ(h, (srn_rdmap_header{.ddp_ctrl = 0x01,
                                   .rdmap_ctrl = 0x46,
                                   .opcode = SRN_OP_SEND_SE_INV,
                                   .tagged = false,
                                   .last = false,
                                   .stag = 0x81020304,
                                   .qn = 0x91121314,
                                   .to = 0,
                                   .msn = 0xa1222324,
                                   .mo = 0xb1323334}));
}

TEST(GetHeader, KeepsWhatItDoesNotKnow) {
    byte_vector bytes = untagged(SRN_OP_SEND, 0, 1, 0, 0, true);
    bytes[2] = 0x7f;
    bytes[3] = 0xff;
    const srn_rdmap_header h = decode(bytes);
    EXPECT_EQ(h.ddp_ctrl, 0x7f);
    EXPECT_EQ(h.rdmap_ctrl, 0xff);
    EXPECT_EQ(h.opcode, 0xf);
}

// RFC 5040 figure 4, RFC 7306 figure 2, and two of our own.
struct opcode_case {
    std::uint8_t op;
    bool known;
    bool tagged;
    std::uint8_t qn;
    std::uint8_t ctl_len;
    bool solicited;
    bool invalidates;
};

void PrintTo(const opcode_case& c, std::ostream* out) {
    *out << "opcode " << +c.op;
}

const opcode_case opcode_cases[] = {
    {0x0, true, true, 0, 0, false, false},    // RDMA Write
    {0x1, true, false, 1, 28, false, false},  // RDMA Read Request
    {0x2, true, true, 0, 0, false, false},    // RDMA Read Response
    {0x3, true, false, 0, 0, false, false},   // Send
    {0x4, true, false, 0, 0, false, true},    // Send with Invalidate
    {0x5, true, false, 0, 0, true, false},    // Send with SE
    {0x6, true, false, 0, 0, true, true},     // Send with SE and Invalidate
    {0x7, true, false, 2, 0, false, false},   // Terminate
    {0x8, true, false, 0, 8, false, false},   // Immediate Data
    {0x9, true, false, 0, 8, true, false},    // Immediate Data with SE
    {0xa, true, false, 1, 52, false, false},  // Atomic Request
    {0xb, true, false, 3, 12, false, false},  // Atomic Response
    {0xc, true, false, 0, 0, false, false},   // Send with Immediate, our own
    {0xd, true, false, 0, 0, true, false},    // Send with SE and Immediate, our own
    {0xe, false, false, 0, 0, false, false}, {0xf, false, false, 0, 0, false, false},
};

class Opcode : public testing::TestWithParam<opcode_case> {
protected:
    // A header of the opcode's own model and queue, or of the other model.
    [[nodiscard]] srn_rdmap_header header(bool tagged, std::uint32_t qn) const {
        byte_vector bytes(SRN_MAX_HEADER);
        bytes[2] = tagged ? 0xc1 : 0x41;
        bytes[3] = static_cast<std::uint8_t>(0x40 | GetParam().op);
        // A tagged header has its TO where the queue number would be.
        for (std::size_t i = 0; i < 4; i++)
            bytes[8 + i] = static_cast<std::uint8_t>(qn >> (24 - 8 * i));
        return decode(bytes);
    }
};

TEST_P(Opcode, HasItsProperties) {
    const opcode_case& c = GetParam();
    const srn_opcode_info& info = srn_opcodes[c.op];
    ASSERT_NE(info.name, nullptr);
    EXPECT_FALSE(std::string(info.name).empty());
    EXPECT_EQ(info.known, c.known);
    EXPECT_EQ(info.tagged, c.tagged);
    EXPECT_EQ(info.qn, c.qn);
    EXPECT_EQ(info.ctl_len, c.ctl_len);
    EXPECT_EQ(info.solicited, c.solicited);
    EXPECT_EQ(info.invalidates, c.invalidates);
}

TEST_P(Opcode, IsTakenInItsOwnModelOnly) {
    const opcode_case& c = GetParam();
    srn_term_code term{0xff, 0xff, 0xff};
    const srn_rdmap_header own = header(c.tagged, c.qn);
    EXPECT_EQ(srn_rdmap_check_header(&own, &term), c.known ? 0 : -EPROTO);
    EXPECT_EQ(term, c.known ? (srn_term_code{0xff, 0xff, 0xff}) : rdmap_opcode);
    const srn_rdmap_header other = header(!c.tagged, c.qn);
    EXPECT_EQ(srn_rdmap_check_header(&other, &term), -EPROTO);
    EXPECT_EQ(term, rdmap_opcode);
}

TEST_P(Opcode, IsTakenOnItsOwnQueueOnly) {
    const opcode_case& c = GetParam();
    if (c.tagged) return;
    for (const std::uint32_t qn : {0u, 1u, 2u, 3u}) {
        if (qn == c.qn) continue;
        srn_term_code term{};
        const srn_rdmap_header h = header(false, qn);
        EXPECT_EQ(srn_rdmap_check_header(&h, &term), -EPROTO);
        EXPECT_EQ(term, rdmap_opcode) << "queue " << qn;
    }
}

TEST_P(Opcode, IsRefusedOnAQueueThatDoesNotExist) {
    for (const std::uint32_t qn : {4u, 5u, 0x100u, 0x01000000u, 0x80000000u, 0xffffffffu}) {
        srn_term_code term{};
        const srn_rdmap_header h = header(false, qn);
        EXPECT_EQ(srn_rdmap_check_header(&h, &term), -EPROTO);
        EXPECT_EQ(term, ddp_untagged_qn) << "queue " << qn;
    }
}

INSTANTIATE_TEST_SUITE_P(All, Opcode, testing::ValuesIn(opcode_cases),
                         [](const auto& i) { return "op" + std::to_string(i.param.op); });

TEST(CheckHeader, TaggedHasNoQueue) {
    // What would be the queue number is part of TO.
    const srn_rdmap_header h = decode(tagged(SRN_OP_WRITE, 1, ~0ULL, 0, true));
    srn_term_code term{};
    EXPECT_EQ(srn_rdmap_check_header(&h, &term), 0);
}

TEST(CheckHeader, RefusesOtherDdpVersions) {
    for (const unsigned version : {0u, 2u, 3u}) {
        SCOPED_TRACE(version);
        srn_term_code term{};
        byte_vector bytes = tagged(SRN_OP_WRITE, 0, 0, 0, true);
        bytes[2] = static_cast<std::uint8_t>((bytes[2] & 0xfc) | version);
        srn_rdmap_header h = decode(bytes);
        EXPECT_EQ(srn_rdmap_check_header(&h, &term), -EPROTO);
        EXPECT_EQ(term, ddp_tagged_version);

        bytes = untagged(SRN_OP_SEND, 0, 1, 0, 0, true);
        bytes[2] = static_cast<std::uint8_t>((bytes[2] & 0xfc) | version);
        h = decode(bytes);
        EXPECT_EQ(srn_rdmap_check_header(&h, &term), -EPROTO);
        EXPECT_EQ(term, ddp_untagged_version);
    }
}

TEST(CheckHeader, RefusesOtherRdmapVersions) {
    for (const unsigned version : {0x00u, 0x80u, 0xc0u}) {
        for (byte_vector bytes :
             {tagged(SRN_OP_WRITE, 0, 0, 0, true), untagged(SRN_OP_SEND, 0, 1, 0, 0, true)}) {
            bytes[3] = static_cast<std::uint8_t>((bytes[3] & 0x3f) | version);
            srn_term_code term{};
            const srn_rdmap_header h = decode(bytes);
            EXPECT_EQ(srn_rdmap_check_header(&h, &term), -EPROTO);
            EXPECT_EQ(term, rdmap_version) << version;
        }
    }
}

// The lower layer speaks first: DDP's fields, then RDMAP's version, then its opcode.
TEST(CheckHeader, NamesTheFirstOfSeveralFaults) {
    srn_rdmap_header h{};  // DDP version 0, RDMAP version 0
    h.qn = 9;
    h.opcode = 0xf;
    h.rdmap_ctrl = 0x0f;
    srn_term_code term{};
    EXPECT_EQ(srn_rdmap_check_header(&h, &term), -EPROTO);
    EXPECT_EQ(term, ddp_untagged_version);
    h.ddp_ctrl = 0x41;
    EXPECT_EQ(srn_rdmap_check_header(&h, &term), -EPROTO);
    EXPECT_EQ(term, ddp_untagged_qn);
    h.qn = 0;
    EXPECT_EQ(srn_rdmap_check_header(&h, &term), -EPROTO);
    EXPECT_EQ(term, rdmap_version);
    h.rdmap_ctrl = 0x4f;
    EXPECT_EQ(srn_rdmap_check_header(&h, &term), -EPROTO);
    EXPECT_EQ(term, rdmap_opcode);
}

// "MUST be set to zero by sender, ignored by the receiver": RFC 5040 section 4.1, RFC 5041
// section 4.1; so is the STag of a message that does not invalidate.
TEST(CheckHeader, IgnoresReservedFields) {
    for (byte_vector bytes :
         {tagged(SRN_OP_WRITE, 0, 0, 0, true), untagged(SRN_OP_SEND, 7, 1, 0, 0, true)}) {
        bytes[2] |= 0x3c;
        bytes[3] |= 0x30;
        srn_term_code term{};
        const srn_rdmap_header h = decode(bytes);
        EXPECT_EQ(srn_rdmap_check_header(&h, &term), 0);
    }
}

// What the sender writes is what the receiver reads, and is always in order.
TEST(Header, SurvivesARoundTrip) {
    for (const opcode_case& c : opcode_cases) {
        if (!c.known) continue;
        for (const bool last : {false, true}) {
            for (const std::uint32_t n : {0u, 1u, 0x80000000u, 0xffffffffu}) {
                const auto op = static_cast<srn_rdmap_opcode>(c.op);
                const std::uint64_t to = static_cast<std::uint64_t>(n) << 32 | 5;
                const srn_rdmap_header h =
                    decode(c.tagged ? tagged(op, n, to, 28, last)
                                    : untagged(op, c.invalidates ? n : 0, n, n ^ 1, 28, last));
                srn_term_code term{};
                EXPECT_EQ(srn_rdmap_check_header(&h, &term), 0);
                EXPECT_EQ(h.opcode, c.op);
                EXPECT_EQ(h.tagged, c.tagged);
                EXPECT_EQ(h.last, last);
                EXPECT_EQ(h.stag, c.tagged || c.invalidates ? n : 0);
                EXPECT_EQ(h.to, c.tagged ? to : 0);
                EXPECT_EQ(h.qn, c.qn);
                EXPECT_EQ(h.msn, c.tagged ? 0 : n);
                EXPECT_EQ(h.mo, c.tagged ? 0 : n ^ 1);
            }
        }
    }
}

}  // namespace
