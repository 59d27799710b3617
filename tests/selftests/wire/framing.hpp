// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Sessions whose FPDUs have markers, or no CRC: RFC 5044 sections 4.3 and 7.1.1.
#pragma once

#include <array>
#include <string>

#include "session.hpp"
#include "settings.hpp"

namespace wirepeer {

/// Of the verbs side's link.
std::string device_name();

/// A setting of the verbs side's link.
class link_setting : public support::link_setting {
public:
    link_setting(const std::string& name, bool value);
};

/// A peer that is a softrnic: it greets, and is answered.
class greeted : public ::testing::Test {
protected:
    explicit greeted(std::uint32_t posted = receives);

    /// A receive number `id`, in a place of its own.
    void post(std::uint64_t id);

    greeting hello{.value = 0x123456789abc};
    session s;
};

/// A TCP stream and how far both directions have come.
class framed_wire {
public:
    framed_wire(const tcp_stream& wire, framing to_verbs, framing from_verbs)
        : wire_(wire), out_(to_verbs), in_(from_verbs), in_has_markers_(from_verbs.markers) {}

    void send(const segment& s, void (*spoil)(bytes& marker) = nullptr) {
        wire_.send(out_.next(s, spoil));
    }
    /// In two segments of TCP.
    void send_cut(const segment& s, std::size_t cut) {
        wire_.send_cut(out_.next(s), std::array{cut});
    }
    /// The next FPDU, whose markers, padding and CRC must all be right.
    [[nodiscard]] segment read_segment();

    [[nodiscard]] const fpdu_stream& out() const { return out_; }
    [[nodiscard]] const fpdu_stream& in() const { return in_; }

private:
    /// Adds bytes to `raw`, and those that are not of a marker to `plain`.
    void take(std::size_t count, bytes& raw, bytes& plain) const;

    const tcp_stream& wire_;
    fpdu_stream out_;
    fpdu_stream in_;
    bool in_has_markers_;
};

/// What the two ends settle on, by what both ask for.
struct agreement {
    bool crc = true;
    bool markers_to_verbs = false;
    bool markers_from_verbs = false;
    role peer = role::initiator;
};
std::ostream& operator<<(std::ostream& to, const agreement& a);

class framed_session {
public:
    explicit framed_session(const agreement& a, std::uint32_t posted = receives, int mss = 0);

private:
    link_setting crc_;
    link_setting markers_;
    /// Only framed_wire could read a greeting.
    link_setting greeting_{"greeting", false};

public:
    session s;
    framed_wire wire;
};

/// A length for the payload of a Write, such that the FPDU behind it begins at this position within
/// the interval of the markers.
std::uint32_t filler(const fpdu_stream& so_far, std::size_t position);

}  // namespace wirepeer
