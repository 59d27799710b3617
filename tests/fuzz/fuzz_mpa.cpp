// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// MPA set-up frames: decode what a hostile peer sends, encode it again, and the other way round.
//
// Input: which key is expected, then the frame and its private data.
#include <array>

#include "fuzz.hpp"
#include "wire.hpp"

namespace {

byte_vector encode(const srn_mpa_frame& f) {
    byte_vector out(SRN_MPA_FRAME + SRN_MPA_ENHANCED);
    const std::uint32_t enhanced = f.enhanced ? SRN_MPA_ENHANCED : 0;
    out.resize(srn_mpa_put_frame(out.data(), &f, f.private_len - enhanced));
    require(out.size() == SRN_MPA_FRAME + enhanced, "length of an encoded frame");
    return out;
}

// False if the frame is refused.
bool decode(byte_span bytes, bool reply, srn_mpa_frame* f) {
    const exact_copy fixed(bytes.first(SRN_MPA_FRAME));
    if (srn_mpa_get_frame(fixed.data(), reply, f)) return false;
    if (!f->enhanced) return true;
    const exact_copy words(bytes.subspan(SRN_MPA_FRAME));
    return srn_mpa_get_enhanced(words.data(), words.size(), f) == 0;
}

void require_sane(const srn_mpa_frame& f) {
    require(f.revision >= 1, "revision 0");
    require(f.private_len <= SRN_MPA_MAX_PRIVATE, "private data too long");
    require(!f.enhanced || (f.revision >= 2 && f.private_len >= SRN_MPA_ENHANCED),
            "enhanced data without room");
    require(f.reply || !f.reject, "a request that rejects");
    require(f.peer_to_peer || !(f.rtr_send || f.rtr_write || f.rtr_read), "RTR in client-server");
    require(f.ird <= SRN_MPA_NO_DEPTH && f.ord <= SRN_MPA_NO_DEPTH, "depth of more than 14 bits");
}

void require_round_trip(const srn_mpa_frame& f) {
    srn_mpa_frame back;
    require(decode(encode(f), f.reply, &back), "an encoded frame is accepted");
    require(back == f, "a frame survives");
}

// A frame of any content that a caller may ask for.
srn_mpa_frame any_frame(byte_span bytes) {
    srn_mpa_frame f{};
    f.reply = bytes[0] & 1;
    f.markers = bytes[0] & 2;
    f.crc = bytes[0] & 4;
    f.reject = f.reply && (bytes[0] & 8);
    f.revision = static_cast<std::uint8_t>(std::max<int>(bytes[1], 1));
    f.enhanced = f.revision >= 2 && (bytes[0] & 16);
    f.private_len = static_cast<std::uint16_t>((bytes[2] << 8 | bytes[3]) % 509);
    if (!f.enhanced) return f;
    f.private_len = static_cast<std::uint16_t>(f.private_len + SRN_MPA_ENHANCED);
    f.peer_to_peer = bytes[0] & 32;
    f.rtr_send = f.peer_to_peer && (bytes[0] & 64);
    f.rtr_write = f.peer_to_peer && (bytes[0] & 128);
    f.rtr_read = f.peer_to_peer && (bytes[4] & 128);
    f.ird = static_cast<std::uint16_t>((bytes[4] << 8 | bytes[5]) & SRN_MPA_NO_DEPTH);
    f.ord = static_cast<std::uint16_t>((bytes[6] << 8 | bytes[7]) & SRN_MPA_NO_DEPTH);
    return f;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 1 + SRN_MPA_FRAME) return -1;
    const byte_span bytes(data + 1, size - 1);
    require_round_trip(any_frame(bytes));

    const bool reply = data[0] & 1;
    srn_mpa_frame f;
    if (!decode(bytes, reply, &f)) return 0;
    require_sane(f);
    require_round_trip(f);
    return 0;
}
