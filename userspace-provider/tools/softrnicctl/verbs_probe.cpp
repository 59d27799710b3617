// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "verbs_probe.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <sstream>

#include "descriptor.hpp"

namespace softrnic::ctl {
namespace {

constexpr unsigned patience_seconds = 20;
constexpr std::size_t longest_answer = 1U << 20;

/// Of libibverbs, which is loaded when it is asked for, so that softrnicctl runs without it.
template <class F>
F* function(void* library, const char* name) {
    return reinterpret_cast<F*>(dlsym(library, name));
}

unsigned private_abi_of(void* library) {
    // It goes with the version of rdma-core, which has two digits today.
    constexpr unsigned most = 999;
    for (unsigned abi = 1; abi <= most; abi++) {
        const std::string symbol = "verbs_register_driver_" + std::to_string(abi);
        if (dlsym(library, symbol.c_str()) != nullptr) return abi;
    }
    return 0;
}

std::string file_of(void* symbol) {
    Dl_info about{};
    std::array<char, PATH_MAX> path{};
    if (dladdr(symbol, &about) == 0 || realpath(about.dli_fname, path.data()) == nullptr) return "";
    return path.data();
}

/// What a program does first: a protection domain and a completion queue, which it polls.
std::string use(void* library, ibv_device* device) {
    ibv_context* context = function<decltype(ibv_open_device)>(library, "ibv_open_device")(device);
    if (context == nullptr) return "it cannot be opened: " + std::string(strerror(errno));
    std::string problem;
    ibv_pd* pd = function<decltype(ibv_alloc_pd)>(library, "ibv_alloc_pd")(context);
    ibv_cq* cq = function<decltype(ibv_create_cq)>(library, "ibv_create_cq")(context, 1, nullptr,
                                                                             nullptr, 0);
    ibv_wc completion{};
    if (pd == nullptr)
        problem = "it makes no protection domain";
    else if (cq == nullptr)
        problem = "it makes no completion queue";
    else if (ibv_poll_cq(cq, 1, &completion) != 0)
        problem = "its new completion queue is not empty";
    if (cq != nullptr) function<decltype(ibv_destroy_cq)>(library, "ibv_destroy_cq")(cq);
    if (pd != nullptr) function<decltype(ibv_dealloc_pd)>(library, "ibv_dealloc_pd")(pd);
    function<decltype(ibv_close_device)>(library, "ibv_close_device")(context);
    return problem;
}

std::string find_and_use(void* library, ibv_device** all, const std::string& name) {
    for (ibv_device** at = all; at != nullptr && *at != nullptr; at++) {
        if (name == (*at)->name) return use(library, *at);
    }
    return "libibverbs does not list it: the provider is missing, or fits neither libibverbs nor "
           "the module";
}

/// Takes a line of the answer at once: the next step may be the last.
using line_taker = std::function<void(const std::string& line)>;

/// Runs in the process of its own. A line for each thing: its kind, a blank, and the text.
void probe(const std::vector<std::string>& devices, const line_taker& say) {
    void* library = dlopen("libibverbs.so.1", RTLD_NOW);
    if (library == nullptr) {
        say(std::string("none ") + dlerror());
        return;
    }
    auto* get_list = function<decltype(ibv_get_device_list)>(library, "ibv_get_device_list");
    say("library " + file_of(reinterpret_cast<void*>(get_list)));
    say("abi " + std::to_string(private_abi_of(library)));
    if (!devices.empty()) {
        ibv_device** all = get_list(nullptr);
        for (const std::string& name : devices)
            say("device " + name + " " + find_and_use(library, all, name));
    }
    say("end ");
}

void take_line(verbs_probe& found, const std::string& line) {
    const std::string kind = line.substr(0, line.find(' '));
    const std::string text = line.substr(std::min(kind.size() + 1, line.size()));
    if (kind == "none") {
        found.no_library = text;
        found.died = false;
    } else if (kind == "library") {
        found.library = text;
    } else if (kind == "abi") {
        found.private_abi = static_cast<unsigned>(std::strtoul(text.c_str(), nullptr, 10));
    } else if (kind == "device") {
        const std::size_t end = text.find(' ');
        found.devices.push_back({text.substr(0, end), text.substr(end + 1)});
    } else if (kind == "end") {
        found.died = false;
    }
}

/// What a function says in a process of its own, and what is complained of there.
std::array<std::string, 2> in_a_process(const std::function<void(const line_taker&)>& function) {
    std::array<int, 2> answer{};
    std::array<int, 2> complaint{};
    if (pipe2(answer.data(), O_CLOEXEC) != 0) return {};
    descriptor answer_out(answer[0]);
    descriptor answer_in(answer[1]);
    if (pipe2(complaint.data(), O_CLOEXEC) != 0) return {};
    descriptor complaint_out(complaint[0]);
    descriptor complaint_in(complaint[1]);
    const pid_t child = fork();
    if (child < 0) return {};
    if (child == 0) {
        alarm(patience_seconds);
        dup2(complaint_in.get(), STDERR_FILENO);
        function([&](const std::string& line) {
            const std::string text = line + "\n";
            if (write(answer_in.get(), text.data(), text.size()) < 0) _exit(1);
        });
        _exit(0);
    }
    answer_in.close();
    complaint_in.close();
    // A few lines each, which the pipes hold.
    std::array<std::string, 2> said = {read_all(answer_out, longest_answer).value_or(""),
                                       read_all(complaint_out, longest_answer).value_or("")};
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
    return said;
}

}  // namespace

verbs_probe try_verbs(const std::vector<std::string>& devices) {
    const auto [answer, complaints] =
        in_a_process([&](const line_taker& say) { probe(devices, say); });
    verbs_probe found;
    found.died = true;
    found.complaints = complaints.substr(0, complaints.find('\n'));
    std::istringstream lines(answer);
    for (std::string line; std::getline(lines, line);) take_line(found, line);
    return found;
}

std::string why_not_loaded(const std::string& file) {
    const std::string answer = in_a_process([&](const line_taker& say) {
        // Providers take what they need from the library that loads them.
        const bool loaded = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_GLOBAL) != nullptr &&
                            dlopen(file.c_str(), RTLD_NOW) != nullptr;
        say(loaded ? "loaded" : dlerror());
    })[0];
    if (answer == "loaded\n") return "";
    return answer.empty() ? "a process that loads it dies" : answer;
}

}  // namespace softrnic::ctl
