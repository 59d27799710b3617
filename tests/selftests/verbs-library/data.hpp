// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Messages that no accident produces, and registered memory that notices a byte out of place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "softrnic/softrnic.hpp"

namespace verbs_test {

using message = std::vector<std::byte>;

/// `size` bytes that depend on the seed.
message make_message(std::size_t size, std::uint64_t seed);

/// Registered memory for one message in several pieces, with guard bytes before, between and after.
class scattered {
public:
    /// `pieces` of about equal size at odd addresses; with fewer bytes than pieces some are empty.
    scattered(const softrnic::pd& domain, std::size_t size, unsigned pieces,
              softrnic::access rights);

    [[nodiscard]] const std::vector<softrnic::local_slice>& slices() const { return slices_; }
    /// For a peer; only of memory in one piece.
    [[nodiscard]] softrnic::remote_slice remote() const;
    [[nodiscard]] softrnic::buffer& memory() { return memory_; }

    /// Puts the message into the pieces.
    void put(std::span<const std::byte> bytes);

    /// The pieces hold exactly this, as far as it goes, and nothing around has changed.
    void expect(std::span<const std::byte> bytes) const;
    /// Nothing has been written at all.
    void expect_untouched() const { expect({}); }

private:
    [[nodiscard]] message image(std::span<const std::byte> bytes) const;

    struct piece {
        std::size_t offset;
        std::size_t length;
    };
    std::vector<piece> pieces_;
    std::vector<softrnic::local_slice> slices_;
    softrnic::buffer memory_;
};

}  // namespace verbs_test
