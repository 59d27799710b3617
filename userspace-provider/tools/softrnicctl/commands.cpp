// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "commands.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "check.hpp"
#include "descriptor.hpp"
#include "kernel_log.hpp"
#include "link.hpp"
#include "link_file.hpp"
#include "module.hpp"
#include "names.hpp"
#include "netdev.hpp"
#include "process.hpp"
#include "systemd.hpp"

namespace softrnic::ctl {
namespace {

const std::string links_folder = SOFTRNIC_LINKS_DIR;

maybe_problem check_names(const std::string& name, const std::string& netdev) {
    if (!valid_link_name(name))
        return problem{exit_status::usage,
                       "no link can be called \"" + printable(name) + "\": " + link_name_rule};
    if (!valid_netdev_name(netdev))
        return problem{exit_status::usage,
                       "no network device can be called \"" + printable(netdev) + "\""};
    return std::nullopt;
}

problem no_netdev(const std::string& netdev) {
    return {exit_status::missing, "there is no network device " + netdev, "ip link show"};
}

problem taken(const link& link) {
    return {.what = "there is the link " + link.name + " on " +
                    (link.port.netdev.empty() ? "a network device of another namespace"
                                              : link.port.netdev) +
                    " already",
            .mend = "softrnicctl del " + link.name};
}

/// What the kernel refused, in its own words: in its answer where it can say more than an error
/// number there, else in its log.
problem refused(const std::string& what, const kernel_answer& answer, kernel_log& log) {
    problem refusal{.what = what + ": " + answer.text()};
    const std::vector<std::string> reasons = log.news();
    for (const std::string& reason : reasons) refusal.what += "\nkernel: " + reason;
    if (answer.code == EPERM || answer.code == EACCES) {
        refusal.status = exit_status::denied;
    } else if (answer.said.empty() && reasons.empty()) {
        refusal.mend = "see dmesg";
    }
    return refusal;
}

/// rdma-core's udev rules rename devices that are added, so wait for udev, and undo it.
maybe_problem keep_name(rdma_netlink& kernel, const std::string& name, const std::string& netdev) {
    if (exists("/run/udev/control")) (void)run_program({"udevadm", "settle", "--timeout=60"});
    outcome<std::vector<link>> links = softrnic_links(kernel);
    if (!links) return links.why();
    const link* added = link_on(*links, netdev);
    if (added == nullptr)
        return problem{.what = "the link " + name + " has gone again, with or from " + netdev,
                       .mend = "see dmesg"};
    if (added->name == name) return std::nullopt;
    const kernel_answer answer = kernel.rename(added->index, name);
    if (answer) return std::nullopt;
    // Nobody asked for a link of that name.
    (void)kernel.delete_link(added->index);
    return problem{.what = "udev has renamed the link to " + added->name +
                           ", and renaming it back failed: " + answer.text() +
                           "; it is deleted again",
                   .mend = "ln -s /dev/null /etc/udev/rules.d/60-rdma-persistent-naming.rules"};
}

maybe_problem add_link(rdma_netlink& kernel, const std::string& name, const std::string& netdev) {
    kernel_log log;
    const kernel_answer answer = kernel.add_link(name, "softrnic", netdev);
    if (!answer) return refused("cannot add " + name + " on " + netdev, answer, log);
    return keep_name(kernel, name, netdev);
}

maybe_problem delete_link(rdma_netlink& kernel, const link& link) {
    kernel_log log;
    const kernel_answer answer = kernel.delete_link(link.index);
    // Whoever else deleted it meanwhile did what was asked for.
    if (answer || answer.code == ENODEV || answer.code == EINVAL) return std::nullopt;
    return refused("cannot delete " + link.name, answer, log);
}

/// Loads the module; if that fails, what doctor would say first is said at once.
maybe_problem need_module() {
    maybe_problem failure = load_module();
    if (!failure || failure->status == exit_status::denied) return failure;
    for (const check& found : check_module()) {
        if (found.verdict != verdict::wrong) continue;
        failure->what += "\n" + found.topic + ": " + found.what;
        failure->mend = found.mend;
        break;
    }
    return failure;
}

/// Links as they are, with the module loaded.
struct view {
    rdma_netlink kernel;
    std::vector<link> links;
};

outcome<view> look() {
    outcome<rdma_netlink> kernel = rdma_netlink::open();
    if (!kernel) return kernel.why();
    outcome<std::vector<link>> links = softrnic_links(*kernel);
    if (!links) return links.why();
    return view{*std::move(kernel), *std::move(links)};
}

/// Why this link cannot be enabled beside those that are.
maybe_problem check_free(const wanted_links& wanted, const std::string& name,
                         const std::string& netdev) {
    if (const wanted_link* same = wanted.named(name); same != nullptr && same->netdev != netdev)
        return problem{.what = name + " is enabled on " + same->netdev + " already",
                       .mend = "softrnicctl disable " + name};
    if (const wanted_link* rival = wanted.on(netdev); rival != nullptr && rival->name != name)
        return problem{.what = netdev + " has the link " + rival->name + " at boot already",
                       .mend = "softrnicctl disable " + rival->name};
    outcome<view> now = look();
    if (!now) return std::nullopt;
    if (const link* same = link_named(now->links, name);
        same != nullptr && same->port.netdev != netdev)
        return taken(*same);
    if (const link* rival = link_on(now->links, netdev); rival != nullptr && rival->name != name)
        return taken(*rival);
    return std::nullopt;
}

/// A unit that was active is not started again, even if its link has been deleted since.
maybe_problem revive_unit(const std::string& netdev) {
    if (!systemd_runs() || !netdev_exists(netdev)) return std::nullopt;
    outcome<view> now = look();
    if (!now || link_on(now->links, netdev) != nullptr) return std::nullopt;
    return switch_unit("restart", unit_of(netdev), false);
}

/// systemd starts units in the network namespace of its own process.
maybe_problem check_namespace(const std::string& name, const std::string& netdev) {
    struct stat own {};
    struct stat systemds {};
    if (stat("/proc/self/ns/net", &own) != 0 || stat("/proc/1/ns/net", &systemds) != 0 ||
        (own.st_dev == systemds.st_dev && own.st_ino == systemds.st_ino))
        return std::nullopt;
    return problem{.what = "links of another network namespace than systemd's do not come at boot",
                   .mend = "add it in a script of that namespace's start: softrnicctl add " + name +
                           " " + netdev};
}

/// A file of that name, which no link could be read from, is somebody's work.
maybe_problem check_unread(const std::string& name) {
    const std::string path = link_file_path(links_folder, name);
    if (!exists(path)) return std::nullopt;
    return problem{.what = path + " is there, and makes no sense", .mend = "softrnicctl doctor"};
}

}  // namespace

maybe_problem add(const std::string& name, const std::string& any_netdev_name) {
    if (maybe_problem bad = check_names(name, any_netdev_name)) return bad;
    if (!netdev_exists(any_netdev_name)) return no_netdev(any_netdev_name);
    const std::string netdev = own_name(any_netdev_name);
    if (maybe_problem bad = need_module()) return bad;
    outcome<view> now = look();
    if (!now) return now.why();
    for (const link* rival : {link_named(now->links, name), link_on(now->links, netdev)}) {
        if (rival != nullptr) return taken(*rival);
    }
    return add_link(now->kernel, name, netdev);
}

maybe_problem del(const std::string& name) {
    outcome<view> now = look();
    if (!now) return now.why();
    const link* found = link_named(now->links, name);
    if (found == nullptr)
        return problem{exit_status::missing, "softrnic has no link called " + printable(name),
                       "softrnicctl list"};
    if (maybe_problem bad = delete_link(now->kernel, *found)) return bad;
    if (read_link_files(links_folder).named(name) != nullptr)
        std::fprintf(stderr,
                     "softrnicctl: %s will come back at boot; \"softrnicctl disable %s\" ends "
                     "that\n",
                     name.c_str(), name.c_str());
    return std::nullopt;
}

maybe_problem enable(const std::string& name, const std::string& any_netdev_name) {
    if (maybe_problem bad = check_names(name, any_netdev_name)) return bad;
    const std::string netdev = own_name(any_netdev_name);
    // systemd has no unit for it that the link's unit could wait for.
    if (netdev == "lo")
        return problem{
            .what = "a link on lo does not come at boot",
            .mend = "add it in a script of the system's start: softrnicctl add " + name + " lo"};
    if (maybe_problem bad = check_namespace(name, netdev)) return bad;
    const wanted_links wanted = read_link_files(links_folder);
    if (maybe_problem bad = check_free(wanted, name, netdev)) return bad;
    const bool was_there = wanted.named(name) != nullptr;
    if (!was_there) {
        if (maybe_problem bad = check_unread(name)) return bad;
        if (maybe_problem bad = write_link_file(links_folder, {name, netdev})) return bad;
    }
    // Where the network device is not there yet, its unit waits for it.
    if (maybe_problem bad = switch_unit("enable", unit_of(netdev), netdev_exists(netdev))) {
        if (!was_there) {
            (void)switch_unit("disable", unit_of(netdev), true);
            (void)remove_link_file(links_folder, name);
        }
        return bad;
    }
    if (!netdev_exists(netdev))
        std::fprintf(stderr,
                     "softrnicctl: there is no network device %s yet; the link comes with it\n",
                     printable(netdev).c_str());
    return revive_unit(netdev);
}

maybe_problem disable(const std::string& name) {
    const wanted_links wanted = read_link_files(links_folder);
    const wanted_link* link = wanted.named(name);
    if (link == nullptr)
        return problem{exit_status::missing, "no link called " + printable(name) + " is enabled",
                       "softrnicctl list"};
    if (maybe_problem bad = switch_unit("disable", unit_of(link->netdev), true)) return bad;
    if (maybe_problem bad = remove_link_file(links_folder, name)) return bad;
    // Its unit deletes what it has added itself.
    outcome<view> now = look();
    if (!now) return std::nullopt;
    const struct link* left = link_named(now->links, name);
    if (left == nullptr || left->port.netdev != link->netdev) return std::nullopt;
    return delete_link(now->kernel, *left);
}

maybe_problem start(const std::string& any_netdev_name) {
    const wanted_links wanted = read_link_files(links_folder);
    const wanted_link* link = wanted.on(any_netdev_name);
    if (link == nullptr) {
        problem none{exit_status::missing,
                     "no file in " + links_folder + " has a link on " + printable(any_netdev_name),
                     "softrnicctl enable NAME " + printable(any_netdev_name)};
        for (const problem& other : wanted.problems) none.what += "\n" + other.what;
        return none;
    }
    if (!netdev_exists(any_netdev_name)) return no_netdev(any_netdev_name);
    const std::string netdev = own_name(any_netdev_name);
    if (maybe_problem bad = need_module()) return bad;
    outcome<view> now = look();
    if (!now) return now.why();
    if (const struct link* there = link_on(now->links, netdev)) {
        if (there->name == link->name) return std::nullopt;
        return taken(*there);
    }
    return add_link(now->kernel, link->name, netdev);
}

maybe_problem stop(const std::string& any_netdev_name) {
    if (!module_loaded()) return std::nullopt;
    outcome<view> now = look();
    if (!now) return now.why();
    const link* found = link_on(now->links, own_name(any_netdev_name));
    return found == nullptr ? std::nullopt : delete_link(now->kernel, *found);
}

}  // namespace softrnic::ctl
