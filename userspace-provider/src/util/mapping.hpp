// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// A queue's memory, shared with the kernel module.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "softrnic-abi.h"

namespace softrnic::provider {

/// What the kernel says of one ring within a mapping.
struct ring_shape {
    std::uint32_t depth;
    std::uint32_t offset;
    std::uint32_t stride;
};

/// A size that the kernel tells, or the one of revision 1 of the ABI, which does not tell it.
constexpr std::uint32_t size_or(std::uint32_t told, std::uint32_t of_revision_1) noexcept {
    return told != 0 ? told : of_revision_1;
}
// Who lets one of them grow has to ask for the feature before it touches what is new.
static_assert(sizeof(srn_qp_ctrl) == SRN_QP_CTRL_SIZE_1);
static_assert(sizeof(srn_cq_ctrl) == SRN_CQ_CTRL_SIZE_1);
static_assert(sizeof(srn_srq_ctrl) == SRN_SRQ_CTRL_SIZE_1);
static_assert(sizeof(srn_cqe) == SRN_CQE_SIZE_1);

/// Whether an entry has room for its header and @count scatter/gather entries, or @bytes inline.
constexpr bool fits_entry(std::uint32_t stride, std::uint32_t header,
                          std::uint32_t count) noexcept {
    return count <= SRN_MAX_SGE && header + count * sizeof(srn_sge) <= stride;
}
constexpr bool fits_inline(std::uint32_t stride, std::uint32_t header,
                           std::uint32_t bytes) noexcept {
    return std::uint64_t{header} + bytes <= stride;
}

/// Unmaps at its end. A forked child does not inherit it: two processes cannot both produce.
class mapping {
public:
    mapping() noexcept = default;
    mapping(const mapping&) = delete;
    mapping& operator=(const mapping&) = delete;
    ~mapping();

    void swap(mapping& other) noexcept {
        std::swap(start_, other.start_);
        std::swap(size_, other.size_);
    }

    /// Maps what the kernel offers under @where. Returns 0 or an errno value.
    [[nodiscard]] int open(int cmd_fd, const srn_mapping& where) noexcept;

    [[nodiscard]] bool covers(std::size_t bytes) const noexcept { return bytes <= size_; }

    /// Whether a control block of @control_size and this ring lie inside, ring behind control
    /// block.
    [[nodiscard]] bool holds(std::size_t control_size, const ring_shape& ring) const noexcept;

    template <class T>
    [[nodiscard]] T* at(std::size_t offset) const noexcept {
        return reinterpret_cast<T*>(start_ + offset);
    }

private:
    std::byte* start_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace softrnic::provider
