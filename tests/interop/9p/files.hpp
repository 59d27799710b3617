// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// A folder as one client of 9P2000.L sees it. Files are known by descriptors, so that they stay
/// the same files when they are renamed.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "descriptor.hpp"
#include "message.hpp"

struct stat;

namespace ninep {

using support::descriptor;

class files {
public:
    /// `largest`: bytes of a message, of which a client may want fewer.
    files(std::string folder, std::uint32_t largest)
        : folder_(std::move(folder)), largest_(largest) {}

    /// Does what a request asks for. Return: the bytes of the answer; 0 for what is no request.
    std::size_t answer(std::span<const std::byte> message, std::span<std::byte> room);

private:
    /// What a client's number stands for.
    struct fid {
        descriptor place;  // names the file and nothing more
        descriptor open;   // for its content, once it is open
    };

    /// An error number, 0 if it is done.
    using outcome = int;

    outcome serve(request type, reader& in, writer& out);
    outcome serve_name(request type, reader& in, writer& out);

    outcome version(reader& in, writer& out);
    outcome attach(reader& in, writer& out);
    outcome walk(reader& in, writer& out);
    outcome open(reader& in, writer& out);
    outcome create(reader& in, writer& out);
    outcome read(reader& in, writer& out);
    outcome write(reader& in, writer& out);
    outcome list(reader& in, writer& out);
    outcome get_attributes(reader& in, writer& out);
    outcome set_attributes(reader& in);
    outcome file_system(reader& in, writer& out);
    outcome read_link(reader& in, writer& out);
    outcome sync(reader& in);
    outcome clunk(reader& in);
    outcome make_folder(reader& in, writer& out);
    outcome make_symlink(reader& in, writer& out);
    outcome make_link(reader& in);
    outcome rename(reader& in);
    outcome remove(reader& in);

    /// -1 for numbers that stand for nothing: calls with it fail with EBADF.
    int place_of(std::uint32_t number);
    int open_of(std::uint32_t number);
    /// One step of a walk; not out of the folder.
    descriptor step(int from, const std::string& name) const;

    std::string folder_;
    std::uint32_t largest_;
    std::map<std::uint32_t, fid> fids_;
};

}  // namespace ninep
