// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// For LD_PRELOAD: a server that binds the wildcard address binds $BIND_ADDRESS instead (IPv4).
// perftest has no option for it. A wildcard listener has every device listen, and siw does so on a
// TCP socket in the caller's namespace, where another device may have the port already.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>

#include <cstdlib>
#include <cstring>

namespace {

using bind_function = int(rdma_cm_id*, sockaddr*);

bool is_wildcard(const sockaddr* a) {
    sockaddr_in in{};
    if (a->sa_family != AF_INET) return false;
    std::memcpy(&in, a, sizeof in);
    return in.sin_addr.s_addr == htonl(INADDR_ANY);
}

}  // namespace

extern "C" int rdma_bind_addr(rdma_cm_id* id, sockaddr* address) {
    static auto* const real = reinterpret_cast<bind_function*>(dlsym(RTLD_NEXT, "rdma_bind_addr"));
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody changes the environment
    const char* const instead = std::getenv("BIND_ADDRESS");
    if (real == nullptr) std::abort();
    if (instead == nullptr || address == nullptr || !is_wildcard(address)) return real(id, address);
    sockaddr_in in{};
    std::memcpy(&in, address, sizeof in);
    if (inet_pton(AF_INET, instead, &in.sin_addr) != 1) std::abort();
    return real(id, reinterpret_cast<sockaddr*>(&in));
}
