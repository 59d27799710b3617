// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "withheld_page.hpp"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <stdexcept>
#include <system_error>

#include "must.hpp"

namespace support {

namespace {

[[noreturn]] void fail(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

std::span<std::byte> map_page() {
    const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* start = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) fail("mmap");
    return {static_cast<std::byte*>(start), size};
}

uffdio_range range_of(std::span<std::byte> memory) {
    return {reinterpret_cast<std::uintptr_t>(memory.data()), memory.size()};
}

}  // namespace

withheld_page::withheld_page()
    : faults_(static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC))), memory_(map_page()) {
    uffdio_api api{};
    api.api = UFFD_API;
    uffdio_register what{};
    what.range = range_of(memory_);
    what.mode = UFFDIO_REGISTER_MODE_MISSING;
    if (!faults_ || ioctl(faults_.get(), UFFDIO_API, &api) != 0 ||
        ioctl(faults_.get(), UFFDIO_REGISTER, &what) != 0) {
        munmap(memory_.data(), memory_.size());
        fail("userfaultfd");
    }
}

withheld_page::~withheld_page() {
    let_go();
    take_away();
}

void withheld_page::await_fault(softrnic::deadline until) const {
    if (!must(softrnic::detail::wait_readable(faults_.get(), until)))
        throw std::runtime_error("nobody has written to the withheld page");
}

void withheld_page::let_go() const {
    uffdio_zeropage zeros{};
    zeros.range = range_of(memory_);
    ioctl(faults_.get(), UFFDIO_ZEROPAGE, &zeros);
}

void withheld_page::take_away() {
    if (memory_.empty()) return;
    munmap(memory_.data(), memory_.size());
    uffdio_range range = range_of(memory_);
    ioctl(faults_.get(), UFFDIO_WAKE, &range);
    memory_ = {};
}

}  // namespace support
