// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// The RDMA_VERBS_IOCTL system call: a method of an object, with attributes.
#pragma once

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "softrnic-abi.h"

namespace softrnic::provider {

/// Builds one call on the stack. Capacity is the most attributes that it can have.
template <std::size_t Capacity>
class uverbs_ioctl {
public:
    uverbs_ioctl(std::uint16_t object, std::uint16_t method) noexcept {
        header_.object_id = object;
        header_.method_id = method;
        header_.driver_id = SRN_DRIVER_ID;
    }

    /// An input. Up to 8 bytes travel in the attribute itself, more by address.
    template <class T>
    void in(std::uint16_t id, const T& value) noexcept {
        static_assert(std::is_trivially_copyable_v<T>);
        ib_uverbs_attr& attr = add(id, sizeof(T));
        if constexpr (sizeof(T) <= sizeof(attr.data)) {
            std::memcpy(&attr.data, &value, sizeof(T));
        } else {
            attr.data = reinterpret_cast<std::uintptr_t>(&value);
        }
    }

    template <class T>
    void out(std::uint16_t id, T& value) noexcept {
        static_assert(std::is_trivially_copyable_v<T>);
        add(id, sizeof(T)).data = reinterpret_cast<std::uintptr_t>(&value);
    }

    void fd(std::uint16_t id, int descriptor) noexcept { add(id, 0).data_s64 = descriptor; }

    void object(std::uint16_t id, std::uint32_t handle) noexcept { add(id, 0).data = handle; }

    /// The object that the call makes; its handle is in the attribute afterwards.
    const ib_uverbs_attr& new_object(std::uint16_t id) noexcept { return add(id, 0); }

    /// Returns 0 or an errno value.
    [[nodiscard]] int call(int cmd_fd) noexcept {
        header_.length =
            static_cast<std::uint16_t>(sizeof(header_) + count_ * sizeof(ib_uverbs_attr));
        header_.num_attrs = static_cast<std::uint16_t>(count_);
        return ::ioctl(cmd_fd, RDMA_VERBS_IOCTL, &header_) == 0 ? 0 : errno;
    }

private:
    ib_uverbs_attr& add(std::uint16_t id, std::size_t length) noexcept {
        ib_uverbs_attr& attr = attrs_[count_++];
        attr.attr_id = id;
        attr.len = static_cast<std::uint16_t>(length);
        attr.flags = UVERBS_ATTR_F_MANDATORY;
        return attr;
    }

    // ib_uverbs_ioctl_hdr less its flexible array, which no C++ member may have.
    struct header {
        std::uint16_t length;
        std::uint16_t object_id;
        std::uint16_t method_id;
        std::uint16_t num_attrs;
        std::uint64_t reserved1;
        std::uint32_t driver_id;
        std::uint32_t reserved2;
    };
    static_assert(sizeof(header) == sizeof(ib_uverbs_ioctl_hdr));
    static_assert(sizeof(header) % alignof(ib_uverbs_attr) == 0);

    header header_{};
    ib_uverbs_attr attrs_[Capacity]{};
    std::size_t count_ = 0;
};

}  // namespace softrnic::provider
