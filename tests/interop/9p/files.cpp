// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

namespace ninep {
namespace {

/// A walk that is longer has to be done in pieces.
constexpr std::uint16_t longest_walk = 16;

/// Bits of Tsetattr.
constexpr std::uint32_t set_mode = 1, set_uid = 2, set_gid = 4, set_size = 8, set_atime = 16,
                        set_mtime = 32, set_this_atime = 128, set_this_mtime = 256;

/// What there is of a file's attributes: all that stat knows.
constexpr std::uint64_t basic_attributes = 0x7ff;

constexpr std::uint8_t qid_folder = 0x80, qid_symlink = 0x02;

int failed(bool wrong) {
    return wrong ? errno : 0;
}

/// Where an O_PATH descriptor's file can be opened, cut, linked.
std::string way_to(int fd) {
    return "/proc/self/fd/" + std::to_string(fd);
}

int attributes_of(int place, struct stat& is) {
    return failed(fstatat(place, "", &is, AT_EMPTY_PATH) != 0);
}

void put_qid(writer& out, std::uint32_t format, std::uint64_t inode) {
    std::uint8_t type = 0;
    if (format == S_IFDIR) type = qid_folder;
    if (format == S_IFLNK) type = qid_symlink;
    out.number(type);
    out.number(std::uint32_t{0});  // a version that no file has ever another of
    out.number(inode);
}

int put_qid_of(int place, writer& out) {
    struct stat is {};
    if (const int error = attributes_of(place, is)) return error;
    put_qid(out, is.st_mode & S_IFMT, is.st_ino);
    return 0;
}

void put_time(writer& out, const timespec& at) {
    out.number(static_cast<std::uint64_t>(at.tv_sec));
    out.number(static_cast<std::uint64_t>(at.tv_nsec));
}

/// Tsetattr says of a time that it is to be left alone, set to now, or to what is said there.
timespec get_time(reader& in, bool wanted, bool this_one) {
    timespec at{};
    at.tv_sec = static_cast<time_t>(in.number<std::uint64_t>());
    at.tv_nsec = static_cast<long>(in.number<std::uint64_t>());
    if (!wanted) at.tv_nsec = UTIME_OMIT;
    if (wanted && !this_one) at.tv_nsec = UTIME_NOW;
    return at;
}

/// Flags of the protocol are those of x86, O_LARGEFILE and O_DIRECT among them. The server's own
/// reads and writes have buffers of any alignment.
int open_flags(std::uint32_t flags) {
    return (static_cast<int>(flags) & (O_ACCMODE | O_TRUNC | O_EXCL | O_DIRECTORY)) | O_CLOEXEC;
}

}  // namespace

int files::place_of(std::uint32_t number) {
    const auto found = fids_.find(number);
    return found == fids_.end() ? -1 : found->second.place.get();
}

int files::open_of(std::uint32_t number) {
    const auto found = fids_.find(number);
    return found == fids_.end() ? -1 : found->second.open.get();
}

std::size_t files::answer(std::span<const std::byte> message, std::span<std::byte> room) {
    reader in(message);
    if (in.number<std::uint32_t>() != message.size()) return 0;
    const auto type = in.number<std::uint8_t>();
    const auto tag = in.number<std::uint16_t>();
    const std::size_t most = std::min<std::size_t>(room.size(), largest_);
    writer out(room.first(most).subspan(head_size));
    int error = serve(static_cast<request>(type), in, out);
    if (!in.good()) error = EPROTO;
    if (!out.good()) error = EOVERFLOW;
    if (error != 0) {
        out = writer(room.subspan(head_size));
        out.number(static_cast<std::uint32_t>(error));
    }
    writer head(room);
    head.number(static_cast<std::uint32_t>(out.used() + head_size));
    head.number(error != 0 ? error_type : static_cast<std::uint8_t>(type + 1));
    head.number(tag);
    return out.used() + head_size;
}

files::outcome files::serve(request type, reader& in, writer& out) {
    switch (type) {
        case request::version: return version(in, out);
        case request::attach: return attach(in, out);
        case request::walk: return walk(in, out);
        case request::lopen: return open(in, out);
        case request::read: return read(in, out);
        case request::write: return write(in, out);
        case request::readdir: return list(in, out);
        case request::getattr: return get_attributes(in, out);
        case request::setattr: return set_attributes(in);
        case request::statfs: return file_system(in, out);
        case request::fsync: return sync(in);
        case request::clunk: return clunk(in);
        // Requests are served one after the other: the one that is meant has been answered.
        case request::flush: return 0;
        default: return serve_name(type, in, out);
    }
}

/// Requests about names in folders. Extended attributes, locks and devices are not served.
files::outcome files::serve_name(request type, reader& in, writer& out) {
    switch (type) {
        case request::lcreate: return create(in, out);
        case request::readlink: return read_link(in, out);
        case request::mkdir: return make_folder(in, out);
        case request::symlink: return make_symlink(in, out);
        case request::link: return make_link(in);
        case request::renameat: return rename(in);
        case request::unlinkat: return remove(in);
        default: return EOPNOTSUPP;
    }
}

files::outcome files::version(reader& in, writer& out) {
    largest_ = std::min(largest_, in.number<std::uint32_t>());
    const std::string wanted = in.text();
    fids_.clear();
    out.number(largest_);
    out.text(wanted == "9P2000.L" ? wanted : "unknown");
    return 0;
}

files::outcome files::attach(reader& in, writer& out) {
    const auto number = in.number<std::uint32_t>();
    descriptor root(::open(folder_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!root) return errno;
    const int error = put_qid_of(root.get(), out);
    fids_[number] = {std::move(root), {}};
    return error;
}

descriptor files::step(int from, const std::string& name) const {
    struct stat here {};
    struct stat root {};
    const bool up = name == "..";
    if (up && (attributes_of(from, here) != 0 || ::stat(folder_.c_str(), &root) != 0)) return {};
    const bool at_root = up && here.st_ino == root.st_ino && here.st_dev == root.st_dev;
    return descriptor(
        ::openat(from, at_root ? "." : name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
}

files::outcome files::walk(reader& in, writer& out) {
    const int from = place_of(in.number<std::uint32_t>());
    const auto to = in.number<std::uint32_t>();
    const auto steps = in.number<std::uint16_t>();
    if (from < 0) return EBADF;
    if (steps > longest_walk) return EINVAL;
    descriptor at(::fcntl(from, F_DUPFD_CLOEXEC, 0));
    writer count = out;
    std::uint16_t done = 0;
    out.number(done);
    for (; done < steps; ++done) {
        descriptor next = step(at.get(), in.text());
        if (!next && done == 0) return errno;
        if (!next) break;
        at = std::move(next);
        if (const int error = put_qid_of(at.get(), out)) return error;
    }
    count.number(done);
    // A part of the way is an answer, but leads to no file.
    if (done == steps) fids_[to] = {std::move(at), {}};
    return failed(done == steps && !fids_[to].place);
}

files::outcome files::open(reader& in, writer& out) {
    const auto found = fids_.find(in.number<std::uint32_t>());
    const auto flags = in.number<std::uint32_t>();
    if (found == fids_.end()) return EBADF;
    fid& file = found->second;
    file.open = descriptor(::open(way_to(file.place.get()).c_str(), open_flags(flags) & ~O_EXCL));
    if (!file.open) return errno;
    const int error = put_qid_of(file.place.get(), out);
    out.number(std::uint32_t{0});  // no unit of reading that were better than others
    return error;
}

files::outcome files::create(reader& in, writer& out) {
    const auto found = fids_.find(in.number<std::uint32_t>());
    const std::string name = in.text();
    const auto flags = in.number<std::uint32_t>();
    const auto mode = in.number<std::uint32_t>();
    if (found == fids_.end()) return EBADF;
    const int folder = found->second.place.get();
    descriptor file(::openat(folder, name.c_str(), open_flags(flags) | O_CREAT | O_NOFOLLOW, mode));
    if (!file) return errno;
    descriptor place = step(folder, name);
    if (!place) return errno;
    const int error = put_qid_of(place.get(), out);
    out.number(std::uint32_t{0});
    // From now on the number is that of the file.
    found->second = {std::move(place), std::move(file)};
    return error;
}

files::outcome files::read(reader& in, writer& out) {
    const int file = open_of(in.number<std::uint32_t>());
    const auto offset = in.number<std::uint64_t>();
    const auto count = in.number<std::uint32_t>();
    writer length = out;
    out.number(std::uint32_t{0});
    const auto room = out.spare(count);
    const ssize_t got = ::pread(file, room.data(), room.size(), static_cast<off_t>(offset));
    if (got < 0) return errno;
    length.number(static_cast<std::uint32_t>(got));
    out.advance(static_cast<std::size_t>(got));
    return 0;
}

files::outcome files::write(reader& in, writer& out) {
    const int file = open_of(in.number<std::uint32_t>());
    const auto offset = in.number<std::uint64_t>();
    const auto data = in.take(in.number<std::uint32_t>());
    if (!in.good()) return EPROTO;
    const ssize_t put = ::pwrite(file, data.data(), data.size(), static_cast<off_t>(offset));
    if (put < 0) return errno;
    out.number(static_cast<std::uint32_t>(put));
    return 0;
}

files::outcome files::list(reader& in, writer& out) {
    const int folder = open_of(in.number<std::uint32_t>());
    const auto offset = in.number<std::uint64_t>();
    const auto count = in.number<std::uint32_t>();
    if (::lseek(folder, static_cast<off_t>(offset), SEEK_SET) < 0) return errno;
    writer length = out;
    out.number(std::uint32_t{0});
    writer entries(out.spare(count));
    std::array<std::byte, 8192> raw{};
    const long got = ::syscall(SYS_getdents64, folder, raw.data(), raw.size());
    if (got < 0) return errno;
    for (std::size_t at = 0; at < static_cast<std::size_t>(got);) {
        const auto* entry = reinterpret_cast<const dirent64*>(raw.data() + at);
        const std::size_t before = entries.used();
        put_qid(entries, DTTOIF(static_cast<std::uint32_t>(entry->d_type)), entry->d_ino);
        entries.number(static_cast<std::uint64_t>(entry->d_off));
        entries.number(static_cast<std::uint8_t>(entry->d_type));
        entries.text(entry->d_name);
        if (!entries.good()) {
            // The client comes again with the offset of the one before.
            entries.truncate(before);
            break;
        }
        at += entry->d_reclen;
    }
    if (got > 0 && entries.used() == 0) return EINVAL;
    length.number(static_cast<std::uint32_t>(entries.used()));
    out.advance(entries.used());
    return 0;
}

files::outcome files::get_attributes(reader& in, writer& out) {
    struct stat is {};
    if (const int error = attributes_of(place_of(in.number<std::uint32_t>()), is)) return error;
    out.number(basic_attributes);
    put_qid(out, is.st_mode & S_IFMT, is.st_ino);
    out.number(static_cast<std::uint32_t>(is.st_mode));
    out.number(static_cast<std::uint32_t>(is.st_uid));
    out.number(static_cast<std::uint32_t>(is.st_gid));
    for (const auto value :
         {static_cast<std::uint64_t>(is.st_nlink), static_cast<std::uint64_t>(is.st_rdev),
          static_cast<std::uint64_t>(is.st_size), static_cast<std::uint64_t>(is.st_blksize),
          static_cast<std::uint64_t>(is.st_blocks)})
        out.number(value);
    put_time(out, is.st_atim);
    put_time(out, is.st_mtim);
    put_time(out, is.st_ctim);
    put_time(out, {});
    out.number(std::uint64_t{0});  // generation
    out.number(std::uint64_t{0});  // version of the data
    return 0;
}

files::outcome files::set_attributes(reader& in) {
    const int place = place_of(in.number<std::uint32_t>());
    const auto what = in.number<std::uint32_t>();
    const auto mode = in.number<std::uint32_t>();
    const auto uid = in.number<std::uint32_t>();
    const auto gid = in.number<std::uint32_t>();
    const auto size = in.number<std::uint64_t>();
    const timespec atime = get_time(in, what & set_atime, what & set_this_atime);
    const timespec mtime = get_time(in, what & set_mtime, what & set_this_mtime);
    const std::array<timespec, 2> times{atime, mtime};
    if (place < 0) return EBADF;
    if (!in.good()) return EPROTO;
    const std::string way = way_to(place);
    if ((what & set_mode) && ::chmod(way.c_str(), mode) != 0) return errno;
    if ((what & (set_uid | set_gid)) &&
        ::fchownat(place, "", what & set_uid ? uid : UINT32_MAX, what & set_gid ? gid : UINT32_MAX,
                   AT_EMPTY_PATH) != 0)
        return errno;
    if ((what & set_size) && ::truncate(way.c_str(), static_cast<off_t>(size)) != 0) return errno;
    if (what & (set_atime | set_mtime))
        return failed(::utimensat(place, "", times.data(), AT_EMPTY_PATH) != 0);
    return 0;
}

files::outcome files::file_system(reader& in, writer& out) {
    const int place = place_of(in.number<std::uint32_t>());
    struct statfs is {};
    if (::fstatfs(place, &is) != 0) return errno;
    out.number(static_cast<std::uint32_t>(is.f_type));
    out.number(static_cast<std::uint32_t>(is.f_bsize));
    for (const auto value :
         {static_cast<std::uint64_t>(is.f_blocks), static_cast<std::uint64_t>(is.f_bfree),
          static_cast<std::uint64_t>(is.f_bavail), static_cast<std::uint64_t>(is.f_files),
          static_cast<std::uint64_t>(is.f_ffree), std::uint64_t{0}})
        out.number(value);
    out.number(static_cast<std::uint32_t>(is.f_namelen));
    return 0;
}

files::outcome files::read_link(reader& in, writer& out) {
    std::array<char, PATH_MAX> target{};
    const int place = place_of(in.number<std::uint32_t>());
    const ssize_t length = ::readlinkat(place, "", target.data(), target.size());
    if (length < 0) return errno;
    out.text({target.data(), static_cast<std::size_t>(length)});
    return 0;
}

files::outcome files::sync(reader& in) {
    return failed(::fsync(open_of(in.number<std::uint32_t>())) != 0);
}

files::outcome files::clunk(reader& in) {
    return fids_.erase(in.number<std::uint32_t>()) ? 0 : EBADF;
}

files::outcome files::make_folder(reader& in, writer& out) {
    const int folder = place_of(in.number<std::uint32_t>());
    const std::string name = in.text();
    if (::mkdirat(folder, name.c_str(), in.number<std::uint32_t>()) != 0) return errno;
    return put_qid_of(step(folder, name).get(), out);
}

files::outcome files::make_symlink(reader& in, writer& out) {
    const int folder = place_of(in.number<std::uint32_t>());
    const std::string name = in.text();
    if (::symlinkat(in.text().c_str(), folder, name.c_str()) != 0) return errno;
    return put_qid_of(step(folder, name).get(), out);
}

files::outcome files::make_link(reader& in) {
    const int folder = place_of(in.number<std::uint32_t>());
    const int file = place_of(in.number<std::uint32_t>());
    if (file < 0) return EBADF;
    return failed(::linkat(AT_FDCWD, way_to(file).c_str(), folder, in.text().c_str(),
                           AT_SYMLINK_FOLLOW) != 0);
}

files::outcome files::rename(reader& in) {
    const int from = place_of(in.number<std::uint32_t>());
    const std::string old_name = in.text();
    const int to = place_of(in.number<std::uint32_t>());
    const std::string new_name = in.text();
    return failed(::renameat(from, old_name.c_str(), to, new_name.c_str()) != 0);
}

files::outcome files::remove(reader& in) {
    const int folder = place_of(in.number<std::uint32_t>());
    const std::string name = in.text();
    return failed(::unlinkat(folder, name.c_str(), static_cast<int>(in.number<std::uint32_t>())) !=
                  0);
}

}  // namespace ninep
