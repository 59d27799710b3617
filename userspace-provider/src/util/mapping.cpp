// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "mapping.hpp"

#include <sys/mman.h>

#include <bit>
#include <cerrno>

namespace softrnic::provider {

mapping::~mapping() {
    if (start_ != nullptr) ::munmap(start_, size_);
}

int mapping::open(int cmd_fd, const srn_mapping& where) noexcept {
    if (where.size == 0 || where.size > PTRDIFF_MAX) return EPROTO;
    void* start = ::mmap(nullptr, where.size, PROT_READ | PROT_WRITE, MAP_SHARED, cmd_fd,
                         static_cast<off_t>(where.key));
    if (start == MAP_FAILED) return errno;
    start_ = static_cast<std::byte*>(start);
    size_ = where.size;
    if (::madvise(start_, size_, MADV_DONTFORK) != 0) return errno;
    return 0;
}

bool mapping::holds(std::size_t control_size, const ring_shape& ring) const noexcept {
    const std::uint64_t end = ring.offset + std::uint64_t{ring.depth} * ring.stride;
    return std::has_single_bit(ring.depth) && ring.stride % alignof(std::uint64_t) == 0 &&
           ring.offset % alignof(std::uint64_t) == 0 && ring.offset >= control_size && end <= size_;
}

}  // namespace softrnic::provider
