// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// softrnicctl: what an administrator does with softrnic. The command line; all else is elsewhere.
#include <getopt.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "commands.hpp"
#include "doctor.hpp"
#include "link.hpp"
#include "link_file.hpp"
#include "output.hpp"

namespace softrnic::ctl {
namespace {

constexpr const char* help =
    "usage: softrnicctl COMMAND\n"
    "\n"
    "  add NAME NETDEV        add the RDMA link NAME to the network device NETDEV\n"
    "  del NAME               delete a link\n"
    "  enable NAME NETDEV     add a link, now and at each boot\n"
    "  disable NAME           delete a link; it does not come back at boot\n"
    "  list [--json]          all links\n"
    "  status [--json] [NAME] links in detail: state, counters, what is wrong and how to mend it\n"
    "  doctor [--port PORT]   look for what is wrong on this host, and say how to mend it\n"
    "  --help, --version\n"
    "\n"
    "softrnicctl(8) says more.\n";

struct command_line {
    std::string command;
    std::vector<std::string> arguments;
    bool json = false;
    std::optional<unsigned> port;
};

problem misused(const std::string& what) {
    return {exit_status::usage, what, "softrnicctl --help"};
}

outcome<std::vector<link_report>> all_links() {
    const wanted_links wanted = read_link_files(SOFTRNIC_LINKS_DIR);
    for (const problem& problem : wanted.problems)
        std::fprintf(stderr, "softrnicctl: %s\n", problem.what.c_str());
    outcome<rdma_netlink> kernel = rdma_netlink::open();
    if (!kernel) return kernel.why();
    outcome<std::vector<link>> links = softrnic_links(*kernel);
    if (!links) return links.why();
    return report_links(*links, wanted);
}

maybe_problem print(const std::string& text) {
    if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0)
        return problem{.what = "cannot write the answer"};
    return std::nullopt;
}

maybe_problem list(const command_line& line) {
    outcome<std::vector<link_report>> all = all_links();
    if (!all) return all.why();
    return print(line.json ? list_as_json(*all) : list_as_text(*all));
}

maybe_problem status(const command_line& line) {
    outcome<std::vector<link_report>> all = all_links();
    if (!all) return all.why();
    std::vector<link_report> shown = *all;
    if (!line.arguments.empty()) {
        const std::string& name = line.arguments.front();
        std::erase_if(shown, [&](const link_report& link) { return link.name != name; });
        if (shown.empty())
            return problem{exit_status::missing, "softrnic has no link called " + name,
                           "softrnicctl list"};
    }
    if (line.json) return print(status_as_json(shown, *all));
    if (shown.empty()) return print("There are no links: softrnicctl add NAME NETDEV\n");
    return print(status_as_text(shown, *all));
}

maybe_problem doctor(const command_line& line) {
    const checks found = examine(line.port);
    if (maybe_problem bad = print(checks_as_text(found))) return bad;
    const std::size_t wrong = count_wrong(found);
    if (wrong == 0) return std::nullopt;
    return problem{.what = std::to_string(wrong) + (wrong == 1 ? " thing is" : " things are") +
                           " wrong"};
}

/// A TCP port; nothing if the text is none.
std::optional<unsigned> port_of(std::string_view text) {
    constexpr unsigned most = 65535;
    unsigned port = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), port);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || port < 1 ||
        port > most)
        return std::nullopt;
    return port;
}

struct command {
    std::string_view name;
    std::size_t least, most;  ///< arguments
    std::string_view option;  ///< that it knows; empty: none
    maybe_problem (*run)(const command_line&);
};

constexpr std::array commands = {
    command{"add", 2, 2, "",
            [](const command_line& line) { return add(line.arguments[0], line.arguments[1]); }},
    command{"del", 1, 1, "", [](const command_line& line) { return del(line.arguments[0]); }},
    command{"enable", 2, 2, "",
            [](const command_line& line) { return enable(line.arguments[0], line.arguments[1]); }},
    command{"disable", 1, 1, "",
            [](const command_line& line) { return disable(line.arguments[0]); }},
    command{"start", 1, 1, "", [](const command_line& line) { return start(line.arguments[0]); }},
    command{"stop", 1, 1, "", [](const command_line& line) { return stop(line.arguments[0]); }},
    command{"list", 0, 0, "--json", list},
    command{"status", 0, 1, "--json", status},
    command{"doctor", 0, 0, "--port", doctor},
};

maybe_problem run(const command_line& line) {
    const auto* found = std::find_if(commands.begin(), commands.end(), [&](const command& command) {
        return command.name == line.command;
    });
    if (line.command.empty()) return misused("what is to be done?");
    if (found == commands.end()) return misused("there is no command " + line.command);
    const std::size_t given = line.arguments.size();
    if (given < found->least || given > found->most)
        return misused(line.command + ": " + std::to_string(given) +
                       " arguments do not make sense");
    if (line.json && found->option != "--json")
        return misused(line.command + " does not know --json");
    if (line.port && found->option != "--port")
        return misused(line.command + " does not know --port");
    return found->run(line);
}

int report(const problem& problem) {
    std::fprintf(stderr, "softrnicctl: %s\n", problem.what.c_str());
    if (!problem.mend.empty())
        std::fprintf(stderr, "softrnicctl: try: %s\n", problem.mend.c_str());
    else if (problem.status == exit_status::denied)
        std::fprintf(stderr, "softrnicctl: run it as root\n");
    return static_cast<int>(problem.status);
}

}  // namespace

int main(int argc, char** argv) {
    constexpr std::array options = {option{"json", no_argument, nullptr, 'j'},
                                    option{"port", required_argument, nullptr, 'p'},
                                    option{"help", no_argument, nullptr, 'h'},
                                    option{"version", no_argument, nullptr, 'V'}, option{}};
    command_line line;
    for (int c = 0; (c = getopt_long(argc, argv, "", options.data(), nullptr)) != -1;) {
        switch (c) {
            case 'j': line.json = true; break;
            case 'p':
                line.port = port_of(optarg);
                if (!line.port) return report(misused("a port is a number from 1 to 65535"));
                break;
            case 'h': std::fputs(help, stdout); return 0;
            case 'V': std::puts("softrnicctl " SOFTRNIC_VERSION); return 0;
            default: return report(misused("the command line makes no sense"));
        }
    }
    const std::span words(argv, static_cast<std::size_t>(argc));
    for (const char* word : words.subspan(static_cast<std::size_t>(optind))) {
        if (line.command.empty())
            line.command = word;
        else
            line.arguments.emplace_back(word);
    }
    const maybe_problem bad = run(line);
    return bad ? report(*bad) : static_cast<int>(exit_status::done);
}

}  // namespace softrnic::ctl

int main(int argc, char** argv) {
    return softrnic::ctl::main(argc, argv);
}
