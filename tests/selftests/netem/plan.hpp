// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// What the two ends of `transfer` do and which bytes they move: both work it out from a seed, so
/// that each knows what has to arrive, whatever the network says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace network {

/// Messages of one direction lie in slots: a margin that nobody may touch, at an odd offset into
/// it the message, and a margin again.
inline constexpr std::uint32_t margin = 32;
inline constexpr std::uint32_t largest = 200'000;
inline constexpr std::uint32_t largest_send = 16'384;
inline constexpr std::uint32_t slot_size = 256 * 1024;
inline constexpr std::uint32_t max_operations = 8;
inline constexpr std::uint32_t max_reads = 4;

/// Which message of which connection.
struct message_id {
    std::uint64_t seed;
    std::uint64_t round;
    std::uint32_t number;
};

/// What a slot holds where no message is.
inline constexpr std::byte untouched{0xa5};

/// The bytes of that message.
void fill(std::span<std::byte> room, const message_id& id);

/// Is `slot` the message at `offset` with both margins untouched? Says on standard error where not.
[[nodiscard]] bool holds(std::span<const std::byte> slot, std::uint32_t offset, std::uint32_t size,
                         const message_id& id);

/// One Write or Send of a round.
struct operation {
    bool write;
    std::uint32_t offset;  ///< of a Write in its slot
    std::uint32_t size;
};

/// A round: the client writes and sends, the last operation is a Send; the server answers with a
/// Send; the client reads what the server has put into its slots.
struct plan {
    std::vector<operation> operations;
    std::uint32_t answer;
    std::vector<std::uint32_t> reads;  ///< sizes
};

[[nodiscard]] plan make_plan(std::uint64_t seed, std::uint64_t round);

/// Numbers of the messages that are not operations.
inline constexpr std::uint32_t answer_number = 100;
inline constexpr std::uint32_t read_number = 200;
inline constexpr std::uint32_t rubbish_number = 300;

}  // namespace network
