// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Makes tun devices, and tap devices where a name begins with "tap", and holds them until it is
// killed: they have a carrier as long as a program has them open.
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

#include "descriptor.hpp"

namespace {

support::descriptor make(std::string_view name) {
    support::descriptor device(open("/dev/net/tun", O_RDWR | O_CLOEXEC));
    ifreq request{};
    name.copy(request.ifr_name, IFNAMSIZ - 1);
    request.ifr_flags =
        static_cast<short>((name.starts_with("tap") ? IFF_TAP : IFF_TUN) | IFF_NO_PI);
    if (device.get() < 0 || ioctl(device.get(), TUNSETIFF, &request) != 0)
        throw std::system_error(errno, std::generic_category(), "TUNSETIFF");
    return device;
}

}  // namespace

int main(int argc, char** argv) try {
    std::vector<support::descriptor> held;
    for (const char* name : std::span(argv, static_cast<std::size_t>(argc)).subspan(1))
        held.push_back(make(name));
    pause();
    return 0;
} catch (const std::exception& e) {
    std::fprintf(stderr, "hold_tun: %s\n", e.what());
    return 1;
}
