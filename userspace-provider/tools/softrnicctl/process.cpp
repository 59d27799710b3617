// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>

#include "descriptor.hpp"

namespace softrnic::ctl {
namespace {

/// More than any of the programs says.
constexpr std::size_t longest_output = 1U << 20;

constexpr const char* search_path = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";

/// Standard output and error go to the pipe, and nothing comes in.
class redirections {
public:
    explicit redirections(int pipe) {
        posix_spawn_file_actions_init(&actions_);
        posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_adddup2(&actions_, pipe, STDOUT_FILENO);
        posix_spawn_file_actions_adddup2(&actions_, pipe, STDERR_FILENO);
    }
    redirections(const redirections&) = delete;
    redirections& operator=(const redirections&) = delete;
    ~redirections() { posix_spawn_file_actions_destroy(&actions_); }

    [[nodiscard]] const posix_spawn_file_actions_t* get() const noexcept { return &actions_; }

private:
    posix_spawn_file_actions_t actions_{};
};

int wait_for(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) return 128;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// The program's file, in the folders that it is searched in: those of who called may lack sbin.
std::string find_program(const std::string& name) {
    for (const char* folder : {"/usr/sbin/", "/usr/bin/", "/sbin/", "/bin/"}) {
        if (access((folder + name).c_str(), X_OK) == 0) return folder + name;
    }
    return name;
}

}  // namespace

outcome<ended_process> run_program(std::vector<std::string> command) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0)
        return problem{.what = "pipe: " + std::generic_category().message(errno)};
    descriptor from(ends[0]);
    descriptor to(ends[1]);

    const std::string path = find_program(command.front());
    std::vector<char*> arguments;
    arguments.reserve(command.size() + 1);
    for (std::string& argument : command) arguments.push_back(argument.data());
    arguments.push_back(nullptr);
    std::string its_path(search_path);
    std::string its_locale("LC_ALL=C.UTF-8");
    const std::array<char*, 3> environment = {its_path.data(), its_locale.data(), nullptr};
    const redirections redirected(to.get());
    pid_t child = 0;
    const int error = posix_spawn(&child, path.c_str(), redirected.get(), nullptr, arguments.data(),
                                  environment.data());
    if (error != 0)
        return problem{.what = command.front() + ": " + std::generic_category().message(error)};
    to.close();
    std::string output = read_all(from, longest_output).value_or("");
    from.close();
    const int status = wait_for(child);
    while (!output.empty() && output.back() == '\n') output.pop_back();
    return ended_process{status, std::move(output)};
}

}  // namespace softrnic::ctl
