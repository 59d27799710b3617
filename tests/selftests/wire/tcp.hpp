// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// The scripted peer's TCP connection, and what it reads there. Every wait is bounded; what does
/// not come in time, and what comes instead, is a std::runtime_error.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <utility>

#include "codec.hpp"
#include "descriptor.hpp"
#include "softrnic/address.hpp"

namespace wirepeer {

using namespace std::chrono_literals;

/// The longest that anything may take, in a machine that is emulated and busy.
inline constexpr std::chrono::seconds patience = 15s;
/// Long enough to see that something does not happen.
inline constexpr std::chrono::milliseconds moment = 50ms;

using support::descriptor;

class tcp_stream {
public:
    tcp_stream() noexcept = default;
    explicit tcp_stream(descriptor fd) noexcept : fd_(std::move(fd)) {}

    /// `mss`: largest segment in either direction; 0: what the network gives.
    static tcp_stream connect(const softrnic::address& to, int mss = 0);

    [[nodiscard]] softrnic::address local_address() const;

    /// In one segment, as far as it fits one.
    void send(byte_view data) const;
    /// A segment for each piece; `cuts` are offsets in ascending order.
    void send_cut(byte_view data, std::span<const std::size_t> cuts) const;
    void send(const segment& s) const { send(fpdu(s)); }

    /// The last byte as TCP's urgent data.
    void send_urgent(byte_view data) const;

    /// From now on there is little room for what is not read. Before anything has come.
    void take_little() const;
    /// No more will be sent.
    void finish() const;
    /// Throws the connection away with a reset.
    void reset();

    [[nodiscard]] bytes read(std::size_t count) const;
    [[nodiscard]] mpa_frame read_frame(bool reply) const;
    /// Sends the request of an initiator of the first revision, and takes the reply.
    void exchange_frames() const;
    /// The next FPDU, which must be well-formed: length, padding, CRC, versions, reserved bits.
    [[nodiscard]] segment read_segment() const;
    /// A whole message, put together from its segments. Its `payload` is all of it.
    [[nodiscard]] segment read_message(std::vector<segment>* parts = nullptr) const;

    /// All that comes until the other side closes.
    [[nodiscard]] bytes read_to_end() const;
    /// The other side closes in good order, without another byte.
    void expect_closed() const;
    /// The other side closes or resets, without another byte.
    void expect_dropped() const;
    /// The other side closes or resets, whatever it has sent before.
    void expect_over() const;
    /// Nothing comes for a moment.
    [[nodiscard]] bool is_quiet() const;
    void expect_quiet() const;

private:
    /// Bytes that came, at most `room`; 0 at the end.
    std::size_t read_some(std::span<std::uint8_t> room) const;

    descriptor fd_;
};

class tcp_listener {
public:
    explicit tcp_listener(const softrnic::address& where, int mss = 0);

    [[nodiscard]] softrnic::address local_address() const;
    [[nodiscard]] tcp_stream accept() const;

private:
    descriptor fd_;
};

}  // namespace wirepeer
