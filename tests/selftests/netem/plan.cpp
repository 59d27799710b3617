// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "plan.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <random>

namespace network {
namespace {

/// A stream of bytes that two messages share nowhere.
class byte_stream {
public:
    explicit byte_stream(const message_id& id)
        : state_(mix(mix(mix(id.seed) ^ id.round) ^ id.number)) {}

    std::uint64_t next() { return mix(state_ += 0x9e3779b97f4a7c15U); }

private:
    static std::uint64_t mix(std::uint64_t z) {
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31U);
    }

    std::uint64_t state_;
};

bool is_untouched(std::span<const std::byte> bytes) {
    return std::ranges::all_of(bytes, [](std::byte b) { return b == untouched; });
}

std::uint32_t random_size(std::mt19937_64& random) {
    // Around the sizes of an FPDU, a page and a batch, and between them.
    static constexpr std::uint32_t sizes[] = {0,    1,    64,    1000,   1424,
                                              4096, 8000, 16384, 65'536, largest};
    const std::uint32_t size = sizes[random() % std::size(sizes)];
    return size - static_cast<std::uint32_t>(random() % (size / 8 + 1));
}

}  // namespace

void fill(std::span<std::byte> room, const message_id& id) {
    byte_stream stream(id);
    while (!room.empty()) {
        const std::uint64_t word = stream.next();
        const std::size_t n = std::min(room.size(), sizeof(word));
        std::memcpy(room.data(), &word, n);
        room = room.subspan(n);
    }
}

bool holds(std::span<const std::byte> slot, std::uint32_t offset, std::uint32_t size,
           const message_id& id) {
    std::vector<std::byte> expected(size);
    fill(expected, id);
    const auto message = slot.subspan(offset, size);
    const auto [here, there] = std::ranges::mismatch(message, expected);
    const bool clean = is_untouched(slot.subspan(offset - margin, margin)) &&
                       is_untouched(slot.subspan(offset + size, margin));
    if (here == message.end() && clean) return true;
    std::fprintf(stderr, "seed %llu, round %llu, message %u of %u bytes: ",
                 static_cast<unsigned long long>(id.seed),
                 static_cast<unsigned long long>(id.round), id.number, size);
    if (here != message.end())
        std::fprintf(stderr, "WRONG from byte %td on\n", here - message.begin());
    else
        std::fprintf(stderr, "WRONG: bytes around it were changed\n");
    return false;
}

plan make_plan(std::uint64_t seed, std::uint64_t round) {
    std::mt19937_64 random(seed ^ (round * 0x9e3779b97f4a7c15U));
    plan made;
    made.operations.resize(1 + random() % max_operations);
    for (operation& o : made.operations) {
        o.write = random() % 3 != 0 && &o != &made.operations.back();
        o.size = random_size(random);
        if (!o.write) o.size = std::min(o.size, largest_send);
        o.offset = margin + static_cast<std::uint32_t>(random() % 4096);
    }
    made.answer = std::min(random_size(random), largest_send);
    made.reads.resize(random() % (max_reads + 1));
    for (std::uint32_t& size : made.reads) size = random_size(random);
    return made;
}

}  // namespace network
