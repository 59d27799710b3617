// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "data.hpp"

#include <algorithm>
#include <cstring>

#include "fixture.hpp"

namespace verbs_test {
namespace {

constexpr std::byte guard{0xa5};
constexpr std::size_t guard_size = 61;  // odd, so that pieces are not aligned

}  // namespace

message make_message(std::size_t size, std::uint64_t seed) {
    message made(size + sizeof(seed));
    for (std::size_t at = 0; at < size; at += sizeof(seed)) {
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        const std::uint64_t word = seed ^ (seed >> 32);
        std::memcpy(made.data() + at, &word, sizeof(word));
    }
    made.resize(size);
    return made;
}

scattered::scattered(const softrnic::pd& domain, std::size_t size, unsigned pieces,
                     softrnic::access rights) {
    std::size_t offset = guard_size;
    for (unsigned i = 0; i < pieces; ++i) {
        const std::size_t length = size * (i + 1) / pieces - size * i / pieces;
        pieces_.push_back({offset, length});
        offset += length + guard_size;
    }
    memory_ = must(softrnic::buffer::create(domain, offset, rights));
    put({});
    for (const piece& p : pieces_)
        slices_.push_back(memory_.sub(p.offset, static_cast<std::uint32_t>(p.length)));
}

softrnic::remote_slice scattered::remote() const {
    return memory_.region().remote_sub(pieces_.front().offset, pieces_.front().length);
}

message scattered::image(std::span<const std::byte> bytes) const {
    message all(memory_.size(), guard);
    for (const piece& p : pieces_) {
        const auto part = bytes.first(std::min(bytes.size(), p.length));
        std::copy(part.begin(), part.end(), all.begin() + static_cast<std::ptrdiff_t>(p.offset));
        bytes = bytes.subspan(part.size());
    }
    return all;
}

void scattered::put(std::span<const std::byte> bytes) {
    const message all = image(bytes);
    std::memcpy(memory_.bytes().data(), all.data(), all.size());
}

void scattered::expect(std::span<const std::byte> bytes) const {
    const message wanted = image(bytes);
    const auto got = memory_.bytes();
    if (std::memcmp(got.data(), wanted.data(), wanted.size()) == 0) return;
    const auto [bad, good] = std::mismatch(got.begin(), got.end(), wanted.begin());
    ADD_FAILURE() << "byte " << bad - got.begin() << " of " << got.size() << " is "
                  << std::to_integer<int>(*bad) << ", not " << std::to_integer<int>(*good);
}

}  // namespace verbs_test
