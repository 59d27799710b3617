// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "frames.hpp"

#include <array>
#include <utility>

namespace wirepeer {
namespace {

std::string bit_names(const enhanced_words& w) {
    return std::string(w.peer_to_peer ? "A" : "") + (w.rtr_send ? "B" : "") +
           (w.rtr_write ? "C" : "") + (w.rtr_read ? "D" : "");
}

constexpr std::array<std::pair<std::uint16_t, std::uint16_t>, 12> depths{{
    {0, 0},
    {0, 1},
    {1, 0},
    {1, 1},
    {7, 128},
    {128, 7},
    {129, 129},
    {0x3ffe, 0x3ffe},
    {not_negotiated, not_negotiated},
    {not_negotiated, 5},
    {5, not_negotiated},
    {not_negotiated, 0},
}};

template <std::size_t at>
void flip(bytes& frame) {
    frame[at] ^= 1;
}
template <std::uint8_t revision>
void set_revision(bytes& frame) {
    frame[17] = revision;
}
template <std::uint16_t length>
void set_length(bytes& frame) {
    frame[18] = static_cast<std::uint8_t>(length >> 8);
    frame[19] = static_cast<std::uint8_t>(length);
}

const bad_frame bad_frames[] = {
    {"rfc5044_7_1_1_revision_3", set_revision<3>},
    {"rfc5044_7_1_1_revision_255", set_revision<255>},
    {"rfc5044_7_1_1_key_byte_0", flip<0>},
    {"rfc5044_7_1_1_key_byte_3", flip<3>},
    {"rfc5044_7_1_1_key_byte_9", flip<9>},
    {"rfc5044_7_1_1_key_byte_15", flip<15>},
    // Both ends think that they are the initiator, or the responder.
    {"rfc5044_7_1_2_key_of_the_other_kind",
     [](bytes& frame) { frame[9] = frame[9] == 'q' ? 'p' : 'q'; }},
    {"rfc5044_7_1_1_revision_0", set_revision<0>},
    {"rfc5044_7_1_1_private_data_513",
     [](bytes& frame) {
         set_length<513>(frame);
         frame.resize(frame_head + 513);
     }},
    {"rfc5044_7_1_1_private_data_65535", set_length<65535>},
    {"rfc6581_9_no_room_for_the_words", set_length<0>},
    {"rfc6581_9_three_bytes_for_the_words", set_length<3>},
};

}  // namespace

std::string name_of(const mpa_frame& f) {
    std::string name = "rev" + std::to_string(f.revision) + (f.crc ? "_crc" : "_nocrc");
    if (f.enhanced)
        name += "_s" + bit_names(*f.enhanced) + "_ird" + std::to_string(f.enhanced->ird) + "_ord" +
                std::to_string(f.enhanced->ord);
    if (f.reserved != 0) name += "_res" + std::to_string(f.reserved);
    if (f.reject) name += "_r";
    if (!f.private_data.empty()) name += "_private" + std::to_string(f.private_data.size());
    return name;
}

std::vector<mpa_frame> good_requests() {
    std::vector<mpa_frame> all;
    for (const bool crc : {true, false}) {
        all.push_back({.crc = crc, .revision = 1});
        // Without the enhanced words; section 6 allows that in revision 2.
        all.push_back({.crc = crc, .revision = 2});
        for (unsigned bits = 0; bits < 16; ++bits)
            all.push_back({.crc = crc,
                           .enhanced = enhanced_words{.peer_to_peer = (bits & 8) != 0,
                                                      .rtr_send = (bits & 4) != 0,
                                                      .rtr_write = (bits & 2) != 0,
                                                      .rtr_read = (bits & 1) != 0,
                                                      .ird = 4,
                                                      .ord = 4}});
    }
    for (const auto& [ird, ord] : depths)
        for (const bool peer_to_peer : {false, true})
            all.push_back({.enhanced = enhanced_words{.peer_to_peer = peer_to_peer,
                                                      .rtr_write = peer_to_peer,
                                                      .ird = ird,
                                                      .ord = ord}});
    // Not checked on reception: reserved bits, and R in a request.
    for (const std::uint8_t revision : {std::uint8_t{1}, std::uint8_t{2}}) {
        all.push_back({.reserved = 0xf, .revision = revision});
        all.push_back({.reject = true, .revision = revision});
    }
    for (const std::size_t length : {1U, 255U})
        for (const std::uint8_t revision : {std::uint8_t{1}, std::uint8_t{2}})
            all.push_back({.revision = revision, .private_data = pattern(length)});
    return all;
}

std::vector<mpa_frame> good_replies() {
    std::vector<mpa_frame> all;
    for (const bool crc : {true, false})
        for (unsigned bits = 1; bits < 8; ++bits)
            all.push_back({.reply = true,
                           .crc = crc,
                           .enhanced = enhanced_words{.peer_to_peer = true,
                                                      .rtr_send = (bits & 4) != 0,
                                                      .rtr_write = (bits & 2) != 0,
                                                      .rtr_read = (bits & 1) != 0,
                                                      .ird = 4,
                                                      .ord = 4}});
    // Depths that the device has.
    for (const auto& [ird, ord] : depths)
        if (ord <= 128 || ord == not_negotiated)
            all.push_back({.reply = true,
                           .enhanced = enhanced_words{
                               .peer_to_peer = true, .rtr_write = true, .ird = ird, .ord = ord}});
    all.push_back({.reply = true,
                   .reserved = 0xf,
                   .enhanced = enhanced_words{.peer_to_peer = true, .rtr_write = true}});
    for (const std::size_t length : {1U, 255U})
        all.push_back({.reply = true,
                       .enhanced = enhanced_words{.peer_to_peer = true, .rtr_write = true},
                       .private_data = pattern(length)});
    return all;
}

std::span<const bad_frame> bad_set_up_frames() {
    return bad_frames;
}

}  // namespace wirepeer
