// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Protection domains, memory regions over std::span, and buffer: page-aligned memory that comes
/// with its registration.
///
/// Thread safety: everything may be used from several threads; see handle.hpp for the owners
/// themselves.
#pragma once

#include <infiniband/verbs.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "softrnic/context.hpp"
#include "softrnic/flags.hpp"
#include "softrnic/handle.hpp"
#include "softrnic/slice.hpp"

namespace softrnic {

/// A protection domain: queue pairs reach only the memory of their own domain.
class pd : public handle<ibv_pd, &ibv_dealloc_pd> {
public:
    constexpr pd() noexcept = default;

    [[nodiscard]] static pd adopt(ibv_pd* native) noexcept { return pd(native); }

    [[nodiscard]] static result<pd> create(context_view device) noexcept {
        ibv_pd* native = ibv_alloc_pd(device.native());
        if (native == nullptr) return detail::fail_errno("ibv_alloc_pd");
        return pd(native);
    }

    [[nodiscard]] context_view context() const noexcept { return native()->context; }

private:
    explicit pd(ibv_pd* native) noexcept : handle(native) {}
};

/// A registered range of this process's memory. The memory must outlive it and stay mapped.
class mr : public handle<ibv_mr, &ibv_dereg_mr> {
public:
    constexpr mr() noexcept = default;

    [[nodiscard]] static mr adopt(ibv_mr* native) noexcept { return mr(native); }

    /// Registers the elements of a span or of anything that converts to one (vector, array).
    template <class T, std::size_t Extent>
    requires std::is_trivially_copyable_v<T>
    [[nodiscard]] static result<mr> create(const pd& domain, std::span<T, Extent> memory,
                                           access rights) noexcept {
        // Registering is no write; whether the device may write is what `rights` says.
        void* start = const_cast<std::remove_const_t<T>*>(memory.data());
        return create(domain, start, memory.size_bytes(), rights);
    }

    /// Registers `length` bytes at `start`. EINVAL: remote_write without local_write, or an
    /// impossible range; EFAULT: not mapped, or not writable as asked; ENOMEM: over the memlock
    /// limit.
    [[nodiscard]] static result<mr> create(const pd& domain, void* start, std::size_t length,
                                           access rights) noexcept {
        ibv_mr* native = ibv_reg_mr(domain.native(), start, length, to_native(rights));
        if (native == nullptr) return detail::fail_errno("ibv_reg_mr");
        return mr(native);
    }

    /// As create(), but keys address the region from `iova` on instead of from its own address.
    [[nodiscard]] static result<mr> create_at(const pd& domain, std::span<std::byte> memory,
                                              std::uint64_t iova, access rights) noexcept {
        ibv_mr* native = ibv_reg_mr_iova(domain.native(), memory.data(), memory.size_bytes(), iova,
                                         to_native(rights));
        if (native == nullptr) return detail::fail_errno("ibv_reg_mr_iova");
        mr region(native);
        region.iova_ = iova;
        return region;
    }

    [[nodiscard]] std::uint32_t lkey() const noexcept { return native()->lkey; }
    [[nodiscard]] std::uint32_t rkey() const noexcept { return native()->rkey; }
    [[nodiscard]] std::size_t size() const noexcept { return native()->length; }

    /// `n` bytes from `offset` on, for local use. See slice.hpp for what checks the bounds.
    [[nodiscard]] local_slice sub(std::uint64_t offset, std::uint32_t n) const noexcept {
        return {base() + offset, n, lkey()};
    }
    /// All of it; a region over 4 GiB is cut to what one slice can say.
    [[nodiscard]] local_slice all() const noexcept {
        const std::size_t most = UINT32_MAX;
        return sub(0, static_cast<std::uint32_t>(size() < most ? size() : most));
    }

    /// The same for a peer: send it these 20 bytes and it can read or write there.
    [[nodiscard]] remote_slice remote_sub(std::uint64_t offset, std::uint64_t n) const noexcept {
        return {base() + offset, n, rkey()};
    }
    [[nodiscard]] remote_slice remote() const noexcept { return remote_sub(0, size()); }

private:
    explicit mr(ibv_mr* native) noexcept
        : handle(native), iova_(reinterpret_cast<std::uintptr_t>(native->addr)) {}
    [[nodiscard]] std::uint64_t base() const noexcept { return iova_; }

    std::uint64_t iova_ = 0;
};

/// Zeroed, page-aligned memory and its registration, made and released together.
class buffer {
public:
    constexpr buffer() noexcept = default;

    /// `size` bytes, at least 1.
    [[nodiscard]] static result<buffer> create(const pd& domain, std::size_t size, access rights) {
        void* memory =
            mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) return detail::fail_errno("mmap");
        buffer made(memory, size);
        result<mr> region = mr::create(domain, memory, size, rights);
        if (!region) return failure(region.error());
        made.region_ = std::move(*region);
        return made;
    }

    buffer(buffer&& other) noexcept
        : memory_(std::exchange(other.memory_, nullptr)),
          size_(std::exchange(other.size_, 0)),
          region_(std::move(other.region_)) {}
    /// The memory that this owned before is released at once.
    buffer& operator=(buffer&& other) noexcept {
        buffer taken(std::move(other));
        std::swap(memory_, taken.memory_);
        std::swap(size_, taken.size_);
        std::swap(region_, taken.region_);
        return *this;
    }
    buffer(const buffer&) = delete;
    buffer& operator=(const buffer&) = delete;
    ~buffer() {
        (void)region_.close();
        if (memory_ != nullptr) munmap(memory_, size_);
    }

    [[nodiscard]] std::span<std::byte> bytes() noexcept {
        return {static_cast<std::byte*>(memory_), size_};
    }
    [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
        return {static_cast<const std::byte*>(memory_), size_};
    }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] mr& region() noexcept { return region_; }
    [[nodiscard]] const mr& region() const noexcept { return region_; }

    [[nodiscard]] local_slice sub(std::uint64_t offset, std::uint32_t n) const noexcept {
        return region_.sub(offset, n);
    }
    [[nodiscard]] local_slice all() const noexcept { return region_.all(); }
    [[nodiscard]] remote_slice remote() const noexcept { return region_.remote(); }

private:
    buffer(void* memory, std::size_t size) noexcept : memory_(memory), size_(size) {}

    void* memory_ = nullptr;
    std::size_t size_ = 0;
    mr region_;
};

}  // namespace softrnic
