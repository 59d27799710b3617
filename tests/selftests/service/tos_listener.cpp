// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// A listener with a class of service, which never decides on what is requested of it.
#include <rdma/rdma_cma.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "must.hpp"
#include "softrnic/address.hpp"

namespace {

void check(int failed, const char* what) {
    if (failed) throw std::system_error(errno, std::generic_category(), what);
}

void listen(const softrnic::address& where, std::uint8_t class_of_service) {
    const std::unique_ptr<rdma_event_channel, void (*)(rdma_event_channel*)> channel(
        rdma_create_event_channel(), rdma_destroy_event_channel);
    check(!channel, "rdma_create_event_channel");
    rdma_cm_id* made = nullptr;
    check(rdma_create_id(channel.get(), &made, nullptr, RDMA_PS_TCP), "rdma_create_id");
    const std::unique_ptr<rdma_cm_id, int (*)(rdma_cm_id*)> listener(made, rdma_destroy_id);
    check(rdma_set_option(made, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &class_of_service,
                          sizeof class_of_service),
          "rdma_set_option");
    check(rdma_bind_addr(made, where.native()), "rdma_bind_addr");
    check(rdma_listen(made, 8), "rdma_listen");
    pause();
}

}  // namespace

int main(int argc, char** argv) try {
    const std::vector<std::string> args(argv + 1, argv + argc);
    if (args.size() != 3) throw std::runtime_error("usage: tos_listener ADDRESS PORT CLASS");
    listen(support::must(softrnic::address::resolve(args[0], args[1])),
           static_cast<std::uint8_t>(std::stoul(args[2])));
    return 0;
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
