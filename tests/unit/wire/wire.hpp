// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// The module's codecs as C++ sees them, and their structs as values that compare and print.
#pragma once

extern "C" {
#include "atomic.h"
#include "bring_up.h"
#include "fpdu.h"
#include "framer.h"
#include "greeting.h"
#include "mpa.h"
#include "rdmap.h"
#include "sequence.h"
}

#include <cstdint>
#include <initializer_list>
#include <memory_resource>
#include <ostream>
#include <span>
#include <tuple>
#include <vector>

#include "exact_copy.hpp"

using byte_vector = std::pmr::vector<std::uint8_t>;
using byte_span = std::span<const std::uint8_t>;

inline void append(byte_vector& to, byte_span bytes) {
    to.insert(to.end(), bytes.begin(), bytes.end());
}

template <typename Struct>
byte_vector bytes_of(const Struct& s) {
    const auto* first = reinterpret_cast<const std::uint8_t*>(&s);
    return {first, first + sizeof(s)};
}

// Bytes that differ from their neighbours, so that a shift or a repetition shows.
inline byte_vector pattern(std::size_t length, unsigned salt = 0) {
    byte_vector bytes(length);
    for (std::size_t i = 0; i < length; i++)
        bytes[i] = static_cast<std::uint8_t>(i * 7 + i / 256 + salt * 31 + 1);
    return bytes;
}

inline bool operator==(const srn_term_code& a, const srn_term_code& b) {
    return std::tie(a.layer, a.etype, a.ecode) == std::tie(b.layer, b.etype, b.ecode);
}

inline std::ostream& operator<<(std::ostream& out, const srn_term_code& c) {
    return out << "layer " << +c.layer << " type " << +c.etype << " code " << +c.ecode;
}

inline bool operator==(const srn_rdmap_header& a, const srn_rdmap_header& b) {
    const auto fields = [](const srn_rdmap_header& h) {
        return std::tie(h.ddp_ctrl, h.rdmap_ctrl, h.opcode, h.tagged, h.last, h.stag, h.to, h.qn,
                        h.msn, h.mo);
    };
    return fields(a) == fields(b);
}

inline std::ostream& operator<<(std::ostream& out, const srn_rdmap_header& h) {
    return out << std::hex << "ddp " << +h.ddp_ctrl << " rdmap " << +h.rdmap_ctrl << " stag "
               << h.stag << " to " << h.to << " qn " << h.qn << " msn " << h.msn << " mo " << h.mo
               << std::dec;
}

inline bool operator==(const srn_mpa_frame& a, const srn_mpa_frame& b) {
    const auto fields = [](const srn_mpa_frame& f) {
        return std::tie(f.reply, f.markers, f.crc, f.reject, f.revision, f.private_len, f.enhanced,
                        f.peer_to_peer, f.rtr_send, f.rtr_write, f.rtr_read, f.ird, f.ord);
    };
    return fields(a) == fields(b);
}
