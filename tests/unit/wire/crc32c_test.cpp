// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// The CRC that the other tests lean on, against published values.
#include <gtest/gtest.h>

#include "wire.hpp"

namespace {

struct vector_case {
    const char* name;
    byte_vector data;
    byte_vector crc;  // as it goes over the wire
};

byte_vector counting(int first, int step) {
    byte_vector bytes;
    for (int i = 0; i < 32; i++) bytes.push_back(static_cast<std::uint8_t>(first + i * step));
    return bytes;
}

// The FPDU of RFC 5044 figure 5: a Send of 24 zero bytes behind the stream's first marker.
byte_vector marked_fpdu() {
    byte_vector bytes{0, 0, 0, 0, 0x00, 0x2a, 0x41, 0x43, 0, 0, 0, 0,
                      0, 0, 0, 0, 0,    0,    0,    1,    0, 0, 0, 0};
    bytes.resize(48);
    return bytes;
}

// RFC 3720 appendix B.4, RFC 5044 section 4.4, and the check value of the CRC catalogues.
const vector_case vectors[] = {
    {"zeros", byte_vector(32, 0x00), {0xaa, 0x36, 0x91, 0x8a}},
    {"ones", byte_vector(32, 0xff), {0x43, 0xab, 0xa8, 0x62}},
    {"ascending", counting(0, 1), {0x4e, 0x79, 0xdd, 0x46}},
    {"descending", counting(31, -1), {0x5c, 0xdb, 0x3f, 0x11}},
    {"iSCSI Read",
     {0x01, 0xc0, 0, 0,    0, 0, 0, 0,    0,    0, 0, 0, 0, 0, 0, 0, 0x14, 0, 0, 0, 0, 0, 0x04, 0,
      0,    0,    0, 0x14, 0, 0, 0, 0x18, 0x28, 0, 0, 0, 0, 0, 0, 0, 0x02, 0, 0, 0, 0, 0, 0,    0},
     {0x56, 0x3a, 0x96, 0xd9}},
    {"MPA FPDU", marked_fpdu(), {0x52, 0x23, 0x99, 0x83}},
    {"check", {'1', '2', '3', '4', '5', '6', '7', '8', '9'}, {0x83, 0x92, 0x06, 0xe3}},
    {"nothing", {}, {0, 0, 0, 0}},
};

byte_vector on_the_wire(std::uint32_t crc) {
    byte_vector bytes;
    for (int shift = 0; shift < 32; shift += 8)
        bytes.push_back(static_cast<std::uint8_t>(~crc >> shift));
    return bytes;
}

TEST(Crc32c, GivesPublishedValues) {
    for (const vector_case& v : vectors) {
        SCOPED_TRACE(v.name);
        const auto length = static_cast<unsigned>(v.data.size());
        EXPECT_EQ(on_the_wire(crc32c(SRN_CRC_SEED, v.data.data(), length)), v.crc);
    }
}

TEST(Crc32c, CanBeTakenInPieces) {
    const byte_vector data = pattern(100);
    const std::uint32_t whole = crc32c(SRN_CRC_SEED, data.data(), 100);
    for (unsigned cut = 0; cut <= 100; cut++) {
        const std::uint32_t first = crc32c(SRN_CRC_SEED, data.data(), cut);
        EXPECT_EQ(crc32c(first, data.data() + cut, 100 - cut), whole);
    }
}

}  // namespace
