// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// A copy of some bytes that ASan sees every read beside of. Single-threaded, like crc32c.c.
#pragma once

#include <sanitizer/asan_interface.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

// Memory that nobody may touch but for what is lent. A heap block for each copy guards as well, but
// takes ten times as long, and the fuzzers make one for each byte of a stream.
class guarded_room {
public:
    guarded_room() { ASAN_POISON_MEMORY_REGION(bytes_.data(), bytes_.size()); }
    guarded_room(const guarded_room&) = delete;
    guarded_room& operator=(const guarded_room&) = delete;
    ~guarded_room() { ASAN_UNPOISON_MEMORY_REGION(bytes_.data(), bytes_.size()); }

    // Null where there is no room for it.
    std::uint8_t* lend(std::size_t size) {
        const std::size_t slot = gap + (size + gap - 1) / gap * gap;
        // A place is used again as late as possible, so that a pointer to what was there shows.
        if (!lent_ && bytes_.size() - next_ < slot + gap) next_ = 0;
        if (bytes_.size() - next_ < slot + gap) return nullptr;
        std::uint8_t* const at = &bytes_[next_ + gap];
        ASAN_UNPOISON_MEMORY_REGION(at, size);
        next_ += slot;
        ++lent_;
        return at;
    }
    void take_back([[maybe_unused]] const std::uint8_t* at, [[maybe_unused]] std::size_t size) {
        ASAN_POISON_MEMORY_REGION(at, size);
        --lent_;
    }

private:
    // In front of each piece and behind it. ASan's granule of 8 bytes can end early, but not begin
    // late.
    static constexpr std::size_t gap = 16;

    alignas(gap) std::array<std::uint8_t, 32768> bytes_{};
    std::size_t next_ = 0;
    std::size_t lent_ = 0;
};

class exact_copy {
public:
    explicit exact_copy(std::span<const std::uint8_t> bytes)
        : size_(bytes.size()), lent_(room_.lend(size_)) {
        if (!lent_) block_ = std::make_unique<std::uint8_t[]>(size_);
        // Most are one byte, which is no work for a checked memmove().
        if (lent_ && size_ == 1)
            *lent_ = bytes.front();
        else
            std::copy(bytes.begin(), bytes.end(), lent_ ? lent_ : block_.get());
    }
    exact_copy(const exact_copy&) = delete;
    exact_copy& operator=(const exact_copy&) = delete;
    ~exact_copy() {
        if (lent_) room_.take_back(lent_, size_);
    }

    [[nodiscard]] const std::uint8_t* data() const { return lent_ ? lent_ : block_.get(); }
    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(size_); }

private:
    static inline guarded_room room_;

    std::size_t size_;
    std::uint8_t* lent_;
    // Of its own, if there was no room.
    std::unique_ptr<std::uint8_t[]> block_;
};
