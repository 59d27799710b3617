// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// What the examples share: the command line, and giving up with a message.
// Exit status: 0 done, 1 failed, 2 wrong usage.
#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "softrnic/softrnic.hpp"

namespace example {

[[noreturn]] inline void die(const std::string& why) {
    std::fprintf(stderr, "error: %s\n", why.c_str());
    std::exit(1);
}

/// The value of a result, or the end of the program.
template <class T>
T must(softrnic::result<T> r) {
    if (!r) die(r.error().message());
    if constexpr (!std::is_void_v<T>) return std::move(*r);
}

/// A completion that has to be good.
inline ibv_wc must(const ibv_wc& wc) {
    if (!softrnic::ok(wc)) die("work failed: " + std::string(softrnic::status_text(wc)));
    return wc;
}

/// The FNV-1a hash of some bytes, or of more of them if `hash` is that of those before.
inline std::uint64_t fnv1a(std::span<const std::byte> bytes,
                           std::uint64_t hash = 0xcbf29ce484222325U) {
    for (const std::byte b : bytes) hash = (hash ^ std::to_integer<unsigned>(b)) * 0x100000001b3U;
    return hash;
}

/// Listens, and says where.
inline softrnic::listener listen(const softrnic::address& where) {
    softrnic::listener made = must(softrnic::listen(where));
    std::printf("listening on %s\n", made.local_address().text().c_str());
    std::fflush(stdout);
    return made;
}

/// Words and `--name value` options; --help prints the usage and ends the program.
class arguments {
public:
    arguments(int argc, char** argv, const char* usage) : usage_(usage) {
        for (int i = 1; i < argc; ++i) {
            const std::string arg = argv[i];
            if (arg == "--help" || arg == "-h") {
                std::fputs(usage, stdout);
                std::exit(0);
            }
            if (arg.rfind("--", 0) != 0)
                words_.push_back(arg);
            else if (i + 1 < argc)
                options_[arg.substr(2)] = argv[++i];
            else
                wrong();
        }
    }

    [[noreturn]] void wrong() const {
        std::fputs(usage_, stderr);
        std::exit(2);
    }
    [[nodiscard]] std::size_t count() const { return words_.size(); }
    [[nodiscard]] std::string word(std::size_t i) const {
        if (i >= words_.size()) wrong();
        return words_[i];
    }
    [[nodiscard]] std::string text(const std::string& name, const std::string& otherwise) const {
        const auto found = options_.find(name);
        return found == options_.end() ? otherwise : found->second;
    }
    [[nodiscard]] unsigned long number(const std::string& name, unsigned long otherwise) const {
        const std::string value = text(name, std::to_string(otherwise));
        char* end = nullptr;
        const unsigned long n = std::strtoul(value.c_str(), &end, 0);
        if (value.empty() || *end != '\0') wrong();
        return n;
    }
    /// --timeout, in seconds: how long any single step may take.
    [[nodiscard]] std::chrono::milliseconds timeout() const {
        return std::chrono::seconds(number("timeout", 10));
    }
    [[nodiscard]] softrnic::address address(const std::string& host) const {
        return must(softrnic::address::resolve(host, text("port", "7471")));
    }

private:
    const char* usage_;
    std::vector<std::string> words_;
    std::map<std::string, std::string> options_;
};

}  // namespace example
