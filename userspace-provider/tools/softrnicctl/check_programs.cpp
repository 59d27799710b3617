// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cerrno>
#include <fstream>
#include <system_error>

#include "check.hpp"
#include "descriptor.hpp"
#include "module.hpp"
#include "names.hpp"
#include "process.hpp"
#include "systemd.hpp"

namespace softrnic::ctl {
namespace {

check check_device_file(const std::string& path, const std::string& module) {
    if (!exists(path))
        return {verdict::wrong, "devices", path + " is not there", "modprobe " + module};
    if (access(path.c_str(), R_OK | W_OK) != 0)
        return {verdict::wrong, "devices", "this user may not open " + path, "ls -l " + path};
    return {verdict::ok, "devices", path + " is there"};
}

/// What Linux lets each process pin since 5.16. Less is an old setting.
constexpr rlim_t usual_memlock = 8U << 20;

check check_memlock() {
    rlimit limit{};
    if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0)
        return {verdict::unknown, "memlock", "the limit cannot be read", "ulimit -l"};
    if (limit.rlim_cur == RLIM_INFINITY)
        return {verdict::ok, "memlock", "processes of this session may pin memory without limit"};
    const std::string text = "processes of this session that are not root's may pin " +
                             std::to_string(limit.rlim_cur >> 10) + " KiB each";
    if (limit.rlim_cur >= usual_memlock) return {verdict::ok, "memlock", text};
    return {verdict::wrong, "memlock", text,
            "echo '* - memlock unlimited' > /etc/security/limits.d/rdma.conf, and log in again"};
}

/// The file of a udev rule that counts: one in /etc is instead of that of the package.
std::string rule_file(const std::string& name) {
    for (const char* folder : {"/etc/udev/rules.d/", "/run/udev/rules.d/", "/usr/lib/udev/rules.d/",
                               "/lib/udev/rules.d/"}) {
        if (exists(folder + name)) return folder + name;
    }
    return "";
}

bool renames(const std::string& file) {
    std::ifstream rules(file);
    for (std::string line; std::getline(rules, line);) {
        if (!line.starts_with('#') && line.find("rdma_rename") != std::string::npos &&
            line.find("NAME_KERNEL") == std::string::npos)
            return true;
    }
    return false;
}

check check_device_names(const std::vector<link_report>& links) {
    const std::string rule = "60-rdma-persistent-naming.rules";
    const std::string file = rule_file(rule);
    if (file.empty() || !renames(file))
        return {verdict::ok, "names", "no udev rule renames RDMA devices"};
    for (const link_report& link : links) {
        if (link.there && renamed_by_udev(link.name))
            return {verdict::wrong, "names", "udev has renamed a link to " + link.name,
                    "ln -s /dev/null /etc/udev/rules.d/" + rule};
    }
    return {verdict::ok, "names",
            "a udev rule renames RDMA devices; softrnicctl gives links their names again"};
}

/// With a port mapper on this host the kernel asks it for each connection.
void check_port_mapper(const std::vector<link_report>& links, checks& found) {
    if (links.empty() || !systemd_runs()) return;
    outcome<ended_process> asked = run_program({"systemctl", "--quiet", "is-active", "iwpmd"});
    if (!asked || asked->status != 0) return;
    found.push_back({verdict::unknown, "iwpmd",
                     "the port mapper runs, which an iWARP card may need; connections of softrnic "
                     "wait up to 10 s if the peer has none, or a firewall blocks UDP port 3935",
                     "systemctl mask --now iwpmd"});
}

/// errno of bind(), 0 for none.
int try_bind(int family, const void* address, socklen_t size) {
    const descriptor socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    // Connections of before, whose ends TCP still waits for, do not keep a server from starting.
    const int on = 1;
    if (!socket || setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0)
        return errno;
    return bind(socket.get(), static_cast<const sockaddr*>(address), size) == 0 ? 0 : errno;
}

int try_port(const std::string& address, unsigned port) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(static_cast<std::uint16_t>(port));
    if (inet_pton(AF_INET, address.c_str(), &v4.sin_addr) == 1)
        return try_bind(AF_INET, &v4, sizeof v4);
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(static_cast<std::uint16_t>(port));
    if (inet_pton(AF_INET6, address.c_str(), &v6.sin6_addr) == 1)
        return try_bind(AF_INET6, &v6, sizeof v6);
    return EAFNOSUPPORT;
}

void check_port(const link_report& link, unsigned port, checks& found) {
    if (!link.device) return;
    const std::string number = std::to_string(port);
    const std::string show = "ss -ltnp 'sport = :" + number + "'";
    for (const std::string& with_length : link.device->addresses) {
        const std::string address = with_length.substr(0, with_length.find('/'));
        // A link-local address needs its scope as well, and no server listens there only.
        if (address.starts_with("fe80")) continue;
        const int error = try_port(address, port);
        std::string what = number;
        what.append(" on ").append(address).append(": ");
        if (error == 0)
            found.push_back({verdict::ok, "port", what + "it is free"});
        else if (error == EADDRINUSE)
            found.push_back({verdict::wrong, "port", what + "it is in use, by TCP or RDMA", show});
        else
            found.push_back(
                {verdict::unknown, "port", what + std::generic_category().message(error), show});
    }
}

}  // namespace

checks check_programs(const std::vector<link_report>& links, std::optional<unsigned> port) {
    checks found;
    if (module_loaded()) {
        found.push_back(check_device_file("/dev/infiniband/rdma_cm", "rdma_ucm"));
        if (!exists("/sys/class/infiniband_verbs"))
            found.push_back(
                {verdict::wrong, "devices", "ib_uverbs is not loaded", "modprobe ib_uverbs"});
    }
    found.push_back(check_memlock());
    found.push_back(check_device_names(links));
    check_port_mapper(links, found);
    if (!port) {
        found.push_back({verdict::unknown, "port", "which one a program will listen at is its own",
                         "softrnicctl doctor --port PORT"});
        return found;
    }
    const std::size_t before = found.size();
    for (const link_report& link : links) {
        if (link.there) check_port(link, *port, found);
    }
    if (found.size() == before)
        found.push_back({verdict::unknown, "port", "no link has an address to try it on",
                         "softrnicctl status"});
    return found;
}

}  // namespace softrnic::ctl
