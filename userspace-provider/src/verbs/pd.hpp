// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Protection domains, thread domains, and the parent domains that tie one of each together.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>

namespace softrnic::provider {

struct thread_domain : ibv_td {
    std::atomic<int> users = 0;  ///< parent domains
};

/// A protection domain, or a parent domain of one: libibverbs has one type for both. What is made
/// on a parent domain is, for the kernel, made on the protection domain within, whose handle it
/// has.
struct protection_domain : ibv_pd {
    std::atomic<int> users = 0;              ///< parent domains
    protection_domain* contained = nullptr;  ///< null unless this is a parent domain
    thread_domain* td = nullptr;
};

inline protection_domain* pd_of(ibv_pd* base) noexcept {
    return static_cast<protection_domain*>(base);
}

inline bool is_parent_domain(ibv_pd* base) noexcept {
    return base != nullptr && pd_of(base)->contained != nullptr;
}

/// Whether the user promised that one thread at a time uses what is made on this domain.
inline bool single_threaded(ibv_pd* base) noexcept {
    return pd_of(base)->td != nullptr;
}

// Verbs.
ibv_pd* alloc_pd(ibv_context* base) noexcept;
int dealloc_pd(ibv_pd* base) noexcept;
ibv_td* alloc_td(ibv_context* base, ibv_td_init_attr* attr) noexcept;
int dealloc_td(ibv_td* base) noexcept;
/// One that another process has made with the same open device.
ibv_pd* import_pd(ibv_context* base, std::uint32_t handle) noexcept;
/// The domain stays.
void unimport_pd(ibv_pd* base) noexcept;
ibv_pd* alloc_parent_domain(ibv_context* base, ibv_parent_domain_init_attr* attr) noexcept;

}  // namespace softrnic::provider
