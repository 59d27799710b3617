// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// What can be done to mappings of the device file: too long, at places that nobody named, cut,
// moved, made executable, kept longer than what they belong to. Whatever it is, a process gets at
// no memory but its own objects'.
//
//   mappings DEVICE-FILE
//
// One line for each thing: "pass" or "fail" and what it is.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>

#include "die.hpp"
#include "must.hpp"
#include "raw_verbs.hpp"

namespace {

using support::die;
using support::must;
namespace raw = support::raw;

const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
/// Entries for a ring of several pages.
const auto entries = static_cast<std::uint32_t>(7 * page / sizeof(srn_cqe));

bool all_good = true;

void check(const char* what, bool good) {
    std::printf("%s %s\n", good ? "pass" : "fail", what);
    all_good &= good;
}

/// A mapping that is undone when it goes, or nothing, with the reason in errno.
class mapping {
public:
    mapping(int device, std::uint64_t key, std::size_t size,
            int protection = PROT_READ | PROT_WRITE, int sharing = MAP_SHARED)
        : start_(mmap(nullptr, size, protection, sharing, device, static_cast<off_t>(key))),
          size_(size) {}
    mapping(const mapping&) = delete;
    mapping& operator=(const mapping&) = delete;
    ~mapping() {
        if (*this) munmap(start_, size_);
    }

    explicit operator bool() const { return start_ != MAP_FAILED; }
    [[nodiscard]] std::byte* at(std::size_t offset) const {
        return static_cast<std::byte*>(start_) + offset;
    }
    /// It becomes as long as `size`, or stays.
    bool stretch(std::size_t size) {
        void* moved = mremap(start_, size_, size, MREMAP_MAYMOVE);
        if (moved == MAP_FAILED) return false;
        start_ = moved;
        size_ = size;
        return true;
    }

private:
    void* start_;
    std::size_t size_;
};

/// Asks the kernel to look, since looking oneself could be the end.
bool readable(const std::byte* where) {
    const support::descriptor nowhere(open("/proc/self/comm", O_WRONLY | O_CLOEXEC));
    return write(nowhere.get(), where, 1) == 1 || errno != EFAULT;
}
bool writable(std::byte* where) {
    const support::descriptor zeros(open("/dev/zero", O_RDONLY | O_CLOEXEC));
    return read(zeros.get(), where, 1) == 1;
}

class suite {
public:
    explicit suite(const std::string& path)
        : path_(path), device_(must(raw::open_device(path))), queue_(make()) {}

    void run() {
        same_memory();
        wrong_places();
        wrong_rights();
        changed_later();
        longer_than_the_object();
        longer_than_the_file();
    }

private:
    [[nodiscard]] raw::queue make() const { return must(raw::create_cq(device_.get(), entries)); }
    [[nodiscard]] int fd() const { return device_.get(); }

    void same_memory() {
        const mapping one(fd(), queue_.ring.key, queue_.ring.size);
        const mapping other(fd(), queue_.ring.key, queue_.ring.size);
        check("a ring can be mapped twice", one && other);
        *one.at(page) = std::byte{42};
        check("both show the same memory", *other.at(page) == std::byte{42});
    }

    void wrong_places() {
        const auto refused = [this](std::uint64_t key, std::size_t size) {
            return !mapping(fd(), key, size);
        };
        check("more than the ring is refused", refused(queue_.ring.key, queue_.ring.size + page) &&
                                                   refused(queue_.ring.key, 1000 * page));
        check("a part of the ring is refused", refused(queue_.ring.key, page));
        check("a ring from its second page on is refused",
              refused(queue_.ring.key + page, page) &&
                  refused(queue_.ring.key + page, queue_.ring.size));
        bool all_refused = true;
        for (std::uint64_t number = 0; number < 2000; ++number) {
            const std::uint64_t key = number * page;
            if (key != queue_.ring.key) all_refused &= refused(key, page);
        }
        for (unsigned shift = 24; shift < 63; ++shift) all_refused &= refused(1ULL << shift, page);
        check("places that nobody named are refused", all_refused);
        const support::descriptor stranger = must(raw::open_device(path_));
        check("another file's ring is refused",
              !mapping(stranger.get(), queue_.ring.key, queue_.ring.size));
    }

    void wrong_rights() {
        check("executable is refused",
              !mapping(fd(), queue_.ring.key, queue_.ring.size, PROT_READ | PROT_EXEC));
        const mapping ring(fd(), queue_.ring.key, queue_.ring.size);
        check("executable afterwards is refused",
              mprotect(ring.at(0), page, PROT_READ | PROT_EXEC) != 0);
        const mapping read_only(fd(), queue_.ring.key, queue_.ring.size, PROT_READ);
        check("the kernel writes nothing to a read-only mapping",
              read_only && !writable(read_only.at(0)));
        const mapping copy(fd(), queue_.ring.key, queue_.ring.size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE);
        if (copy) *copy.at(page) = std::byte{7};
        check("a private mapping does not reach the ring", *ring.at(page) != std::byte{7});
    }

    void changed_later() {
        mapping stretched(fd(), queue_.ring.key, queue_.ring.size);
        const bool longer = stretched.stretch(queue_.ring.size + 4 * page);
        check("there is nothing behind a ring that is stretched",
              !longer || !readable(stretched.at(queue_.ring.size)));
        const mapping cut(fd(), queue_.ring.key, queue_.ring.size);
        check("a hole in a ring",
              munmap(cut.at(page), page) == 0 && readable(cut.at(0)) && !readable(cut.at(page)));
        const mapping dropped(fd(), queue_.ring.key, queue_.ring.size);
        // Whether it can be dropped, and what is there then, is the kernel's business.
        (void)madvise(dropped.at(0), queue_.ring.size, MADV_DONTNEED);
        (void)readable(dropped.at(0));
        const mapping fresh(fd(), queue_.ring.key, queue_.ring.size);
        check("a ring is mapped again after all that", fresh && readable(fresh.at(page)));
    }

    void longer_than_the_object() {
        const raw::queue old = make();
        const mapping kept(fd(), old.ring.key, old.ring.size);
        *kept.at(page) = std::byte{1};
        must(raw::destroy_cq(fd(), old.handle));
        check("memory of a destroyed queue stays as long as it is mapped",
              *kept.at(page) == std::byte{1});
        check("and cannot be mapped again", !mapping(fd(), old.ring.key, old.ring.size));
        const raw::queue next = make();
        const mapping ring(fd(), next.ring.key, next.ring.size);
        *kept.at(page) = std::byte{99};
        check("it is not the next queue's", ring && *ring.at(page) == std::byte{0});
        must(raw::destroy_cq(fd(), next.handle));
    }

    void longer_than_the_file() {
        const support::descriptor other = must(raw::open_device(path_));
        const raw::queue queue = must(raw::create_cq(other.get(), entries));
        const mapping kept(other.get(), queue.ring.key, queue.ring.size);
        close(support::descriptor(dup(other.get())).release());
        const mapping also(other.get(), queue.ring.key, queue.ring.size);
        check("closing a duplicate changes nothing", static_cast<bool>(also));
        const int number = other.get();
        const support::descriptor nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
        if (dup3(nothing.get(), number, O_CLOEXEC) < 0) die("dup3");
        *kept.at(page) = std::byte{5};
        check("memory outlives the file", *also.at(page) == std::byte{5});
    }

    std::string path_;
    support::descriptor device_;
    raw::queue queue_;
};

}  // namespace

int main(int argc, char** argv) try {
    if (argc != 2) die("usage: mappings DEVICE-FILE");
    suite(argv[1]).run();
    return all_good ? 0 : 1;
} catch (const std::exception& e) {
    die(e.what());
}
