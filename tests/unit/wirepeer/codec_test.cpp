// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// The scripted peer's own encoder, against examples that the RFCs print.
#include "codec.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace wirepeer {
namespace {

bytes from_text(std::string_view text) {
    return {text.begin(), text.end()};
}

// RFC 3720 appendix B.4, as numbers.
TEST(Crc, ExamplesOfIscsi) {
    EXPECT_EQ(crc32c(bytes(32, 0)), 0x8a9136aaU);
    EXPECT_EQ(crc32c(bytes(32, 0xff)), 0x62a8ab43U);
    bytes rising(32);
    for (std::size_t i = 0; i < rising.size(); ++i) rising[i] = static_cast<std::uint8_t>(i);
    EXPECT_EQ(crc32c(rising), 0x46dd794eU);
    EXPECT_EQ(crc32c(from_text("123456789")), 0xe3069283U);
}

// RFC 5044 figure 5, whose CRC is over the marker in front as well.
TEST(Crc, ExampleOfMpa) {
    bytes marked(4, 0);
    append(marked, byte_view(fpdu(make_send(1, bytes(24, 0)))).first(44));
    EXPECT_EQ(hex(byte_view(marked).first(24)), "00000000002a414300000000000000000000000100000000");
    EXPECT_EQ(crc32c(marked), 0x83992352U);
}

// RFC 5044 figures 5 and 6: the first two FPDUs of a stream, of which the second has a marker.
TEST(Markers, ExamplesOfMpa) {
    fpdu_stream stream({.markers = true});
    EXPECT_EQ(hex(stream.next(make_send(1, bytes(24)))), "00000000002a4143" +
                                                             std::string(2 * 11, '0') + "01" +
                                                             std::string(2 * 28, '0') + "52239983");
    stream = fpdu_stream({.markers = true});
    EXPECT_EQ(stream.next(make_send(1, bytes(464))).size(), 492U);
    EXPECT_EQ(hex(stream.next(make_send(2, bytes(24)))),
              "002a4143" + std::string(2 * 11, '0') + "02" + std::string(2 * 4, '0') + "00000014" +
                  std::string(2 * 24, '0') + "84925898");
    EXPECT_EQ(stream.position(), 0x220U);
}

TEST(Codec, FramesReadBack) {
    for (unsigned bits = 0; bits < 64; ++bits) {
        mpa_frame f{.reply = (bits & 1) != 0,
                    .markers = (bits & 2) != 0,
                    .crc = (bits & 4) != 0,
                    .reserved = 5,
                    .private_data = pattern(bits)};
        if (bits & 8)
            f.enhanced = enhanced_words{.peer_to_peer = (bits & 16) != 0,
                                        .rtr_send = true,
                                        .rtr_write = (bits & 32) != 0,
                                        .rtr_read = (bits & 2) != 0,
                                        .ird = 0x3ffe,
                                        .ord = 3};
        EXPECT_EQ(decode_frame(encode(f), f.reply), f);
    }
    EXPECT_THROW((void)decode_frame(encode(mpa_frame{}), true), std::runtime_error);
}

// RFC 6581 section 9 draws A, B, IRD, C, D, ORD.
TEST(Codec, EnhancedWords) {
    const mpa_frame f{
        .enhanced = enhanced_words{.peer_to_peer = true, .rtr_read = true, .ird = 2, .ord = 0x105}};
    EXPECT_EQ(hex(byte_view(encode(f)).subspan(16)),
              "500200048002"
              "4105");
}

TEST(Codec, SegmentsReadBack) {
    segment tagged = make_write(0x01020304, 0x1112131415161718, pattern(3));
    tagged.last = false;
    EXPECT_EQ(hex(ulpdu(tagged)),
              "8140"
              "01020304"
              "1112131415161718"
              "01080f");
    EXPECT_EQ(decode_segment(ulpdu(tagged)), tagged);
    segment untagged = make_send(7, pattern(2), op::send_se_inv, 0x0a0b0c0d);
    untagged.mo = 0x100;
    EXPECT_EQ(hex(ulpdu(untagged)),
              "4146"
              "0a0b0c0d"
              "00000000"
              "00000007"
              "00000100"
              "0108");
    EXPECT_EQ(decode_segment(ulpdu(untagged)), untagged);
    const read_request r{.sink_stag = 1, .sink_to = 2, .size = 3, .source_stag = 4, .source_to = 5};
    EXPECT_EQ(decode_read_request(encode(r)), r);
}

TEST(Codec, TerminateBringsTheHeaders) {
    const segment write = make_write(0x01020304, 5, pattern(9));
    EXPECT_EQ(hex(terminate_payload({2, 0, 2}, term_headers::none, write)), "20020000");
    EXPECT_EQ(hex(terminate_payload({1, 1, 3}, term_headers::ddp, write)),
              "1103c000"
              "0017"
              "c140"
              "01020304"
              "0000000000000005");
    const segment request = make_read_request(1, {.size = 8});
    const bytes with_request = terminate_payload({0, 1, 2}, term_headers::ddp_and_rdmap, request);
    EXPECT_EQ(hex(byte_view(with_request).first(6)), "0102e000002e");
    EXPECT_EQ(with_request.size(), 4U + 2 + 18 + 28);
}

}  // namespace
}  // namespace wirepeer
