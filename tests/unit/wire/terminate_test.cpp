// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// The Terminate message, RFC 5040 section 4.8.
#include <gtest/gtest.h>

#include <cerrno>

#include "wire.hpp"

namespace {

// clang-format off
const byte_vector tagged_offender{0x00, 0x72, 0xc1, 0x40, 0x01, 0x02, 0x03, 0x04,
                                  0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18};
const byte_vector untagged_offender{0x00, 0x2e, 0x41, 0x41, 0, 0, 0, 0,
                                    0, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0, 0};
const byte_vector read_request_bytes{0x21, 0x22, 0x23, 0x24,
                                     0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38,
                                     0x41, 0x42, 0x43, 0x44,
                                     0x51, 0x52, 0x53, 0x54,
                                     0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68};
// clang-format on

srn_wire_read_request read_request() {
    srn_wire_read_request r;
    std::copy(read_request_bytes.begin(), read_request_bytes.end(),
              reinterpret_cast<std::uint8_t*>(&r));
    return r;
}

byte_vector terminate(srn_term_code code, const byte_vector& offender = {},
                      const srn_wire_read_request* rreq = nullptr) {
    // Exactly as large as the contract wants it, on the heap for ASan.
    byte_vector out(SRN_TERM_MAX, 0xaa);
    const exact_copy bytes(offender);
    const std::uint32_t length = srn_rdmap_put_terminate(
        out.data(), code, offender.empty() ? nullptr : bytes.data(), bytes.size(), rreq);
    EXPECT_LE(length, SRN_TERM_MAX);
    out.resize(length);
    return out;
}

byte_vector operator+(byte_vector a, const byte_vector& b) {
    append(a, b);
    return a;
}

int decode(const byte_vector& bytes, srn_terminate* t) {
    const exact_copy copy(bytes);
    return srn_rdmap_get_terminate(copy.data(), copy.size(), t);
}

TEST(PutTerminate, OfTheStreamHasNoHeader) {
    EXPECT_EQ(terminate({SRN_LAYER_LLP, SRN_LLP_MPA, SRN_MPA_CRC}, tagged_offender),
              (byte_vector{0x20, 0x02, 0, 0}));
    EXPECT_EQ(terminate({SRN_LAYER_RDMAP, SRN_RDMAP_CATASTROPHIC, 0}, tagged_offender),
              (byte_vector{0x00, 0x00, 0, 0}));
    EXPECT_EQ(terminate({SRN_LAYER_DDP, SRN_DDP_CATASTROPHIC, 0}, tagged_offender),
              (byte_vector{0x10, 0x00, 0, 0}));
}

TEST(PutTerminate, WithoutOffenderHasNoHeader) {
    EXPECT_EQ(terminate({SRN_LAYER_DDP, SRN_DDP_TAGGED_BUFFER, SRN_TAGGED_BOUNDS}),
              (byte_vector{0x11, 0x01, 0, 0}));
    EXPECT_EQ(terminate({SRN_LAYER_RDMAP, SRN_RDMAP_REMOTE_OPERATION, SRN_OPER_UNSPECIFIED}),
              (byte_vector{0x02, 0xff, 0, 0}));
}

TEST(PutTerminate, TaggedOffender) {
    EXPECT_EQ(terminate({SRN_LAYER_DDP, SRN_DDP_TAGGED_BUFFER, SRN_TAGGED_BOUNDS}, tagged_offender),
              (byte_vector{0x11, 0x01, 0xc0, 0}) + tagged_offender);
}

TEST(PutTerminate, UntaggedOffender) {
    EXPECT_EQ(
        terminate({SRN_LAYER_DDP, SRN_DDP_UNTAGGED_BUFFER, SRN_UNTAGGED_MO}, untagged_offender),
        (byte_vector{0x12, 0x04, 0xc0, 0}) + untagged_offender);
    EXPECT_EQ(terminate({SRN_LAYER_RDMAP, SRN_RDMAP_REMOTE_OPERATION, SRN_OPER_OPCODE},
                        untagged_offender),
              (byte_vector{0x02, 0x06, 0xc0, 0}) + untagged_offender);
}

TEST(PutTerminate, ReadRequestAtFault) {
    const srn_wire_read_request rreq = read_request();
    const byte_vector bytes = terminate(
        {SRN_LAYER_RDMAP, SRN_RDMAP_REMOTE_PROTECTION, SRN_PROT_ACCESS}, untagged_offender, &rreq);
    EXPECT_EQ(bytes, (byte_vector{0x01, 0x02, 0xe0, 0}) + untagged_offender + read_request_bytes);
    EXPECT_EQ(bytes.size(), std::size_t{SRN_TERM_MAX});
}

// Figure 10: only a remote protection error carries the Read Request.
TEST(PutTerminate, ReadRequestOfAnotherError) {
    const srn_wire_read_request rreq = read_request();
    EXPECT_EQ(terminate({SRN_LAYER_RDMAP, SRN_RDMAP_REMOTE_OPERATION, SRN_OPER_OPCODE},
                        untagged_offender, &rreq),
              (byte_vector{0x02, 0x06, 0xc0, 0}) + untagged_offender);
    EXPECT_EQ(terminate({SRN_LAYER_DDP, SRN_DDP_UNTAGGED_BUFFER, SRN_UNTAGGED_NO_BUFFER},
                        untagged_offender, &rreq),
              (byte_vector{0x12, 0x02, 0xc0, 0}) + untagged_offender);
}

// A header that never became complete cannot be shown to the peer.
TEST(PutTerminate, PartOfAHeaderIsLeftOut) {
    for (std::size_t n = 1; n < SRN_TAGGED_HEADER; n++) {
        const byte_vector part(tagged_offender.begin(),
                               tagged_offender.begin() + static_cast<std::ptrdiff_t>(n));
        EXPECT_EQ(terminate({SRN_LAYER_DDP, SRN_DDP_TAGGED_BUFFER, SRN_TAGGED_VERSION}, part),
                  (byte_vector{0x11, 0x04, 0, 0}));
    }
}

TEST(GetTerminate, CodeOnly) {
    srn_terminate t;
    ASSERT_EQ(decode({0x21, 0xfe, 0, 0}, &t), 0);
    EXPECT_EQ(t.code, (srn_term_code{2, 1, 0xfe}));
    EXPECT_FALSE(t.has_header);
}

TEST(GetTerminate, NamesTheReadRequest) {
    srn_terminate t;
    const srn_wire_read_request rreq = read_request();
    ASSERT_EQ(decode(terminate({SRN_LAYER_RDMAP, SRN_RDMAP_REMOTE_PROTECTION, SRN_PROT_ACCESS},
                               untagged_offender, &rreq),
                     &t),
              0);
    EXPECT_TRUE(t.has_read);
    EXPECT_EQ(t.sink_stag, 0x21222324U);
    ASSERT_EQ(decode({0x21, 0xfe, 0, 0}, &t), 0);
    EXPECT_FALSE(t.has_read);
}

TEST(GetTerminate, IgnoresReservedBits) {
    srn_terminate t;
    ASSERT_EQ(decode({0xff, 0xff, 0x1f, 0xff}, &t), 0);
    EXPECT_EQ(t.code, (srn_term_code{15, 15, 0xff}));
    EXPECT_FALSE(t.has_header);
}

TEST(GetTerminate, IgnoresWhatFollows) {
    srn_terminate t;
    ASSERT_EQ(decode(byte_vector{0x12, 0x04, 0xc0, 0} + untagged_offender + pattern(100), &t), 0);
    EXPECT_TRUE(t.has_header);
    EXPECT_EQ(t.header.msn, 5U);
    ASSERT_EQ(decode(byte_vector{0x20, 0x02, 0, 0} + pattern(100), &t), 0);
    EXPECT_FALSE(t.has_header);
}

struct terminate_case {
    const char* name;
    byte_vector bytes;
    srn_term_code code;
    bool has_header;
};

void PrintTo(const terminate_case& c, std::ostream* out) {
    *out << c.name;
}

const terminate_case terminate_cases[] = {
    {"plain", {0x20, 0x02, 0, 0}, {2, 0, 2}, false},
    {"tagged", byte_vector{0x11, 0x01, 0xc0, 0} + tagged_offender, {1, 1, 1}, true},
    {"untagged", byte_vector{0x12, 0x04, 0xc0, 0} + untagged_offender, {1, 2, 4}, true},
    {"read_request",
     byte_vector{0x01, 0x02, 0xe0, 0} + untagged_offender + read_request_bytes,
     {0, 1, 2},
     true},
};

class Terminate : public testing::TestWithParam<terminate_case> {};

TEST_P(Terminate, IsDecoded) {
    const terminate_case& c = GetParam();
    srn_terminate t;
    ASSERT_EQ(decode(c.bytes, &t), 0);
    EXPECT_EQ(t.code, c.code);
    ASSERT_EQ(t.has_header, c.has_header);
    if (!c.has_header) return;
    srn_rdmap_header h;
    srn_rdmap_get_header(c.bytes.data() + 4, &h);
    EXPECT_EQ(t.header, h);
}

TEST_P(Terminate, IsRefusedWhenTruncated) {
    const terminate_case& c = GetParam();
    for (std::size_t n = 0; n < c.bytes.size(); n++) {
        srn_terminate t;
        const byte_vector part(c.bytes.begin(), c.bytes.begin() + static_cast<std::ptrdiff_t>(n));
        EXPECT_EQ(decode(part, &t), -EPROTO) << n << " bytes";
        EXPECT_FALSE(t.has_header);
    }
}

INSTANTIATE_TEST_SUITE_P(All, Terminate, testing::ValuesIn(terminate_cases),
                         [](const auto& i) { return i.param.name; });

TEST(TerminateCodec, SurvivesARoundTrip) {
    const srn_wire_read_request rreq = read_request();
    for (std::uint8_t layer = 0; layer < 3; layer++) {
        for (std::uint8_t etype = 0; etype < 3; etype++) {
            for (const int ecode : {0x00, 0x09, 0xff}) {
                for (const byte_vector& offender : {tagged_offender, untagged_offender}) {
                    const srn_term_code code{layer, etype, static_cast<std::uint8_t>(ecode)};
                    srn_terminate t;
                    ASSERT_EQ(decode(terminate(code, offender, &rreq), &t), 0);
                    EXPECT_EQ(t.code, code);
                    EXPECT_EQ(t.has_header, layer != SRN_LAYER_LLP && etype != 0);
                }
            }
        }
    }
}

}  // namespace
