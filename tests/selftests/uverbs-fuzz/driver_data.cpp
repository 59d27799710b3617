// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Programs built for an older softrnic leave less room for the driver's part of an answer, newer
// ones more, and a longer request. Each size from none to more than twice ours is tried with each
// command that has a driver's part: the command works, what is written of the part is what is
// always there, and not a byte follows. A request that asks for something which this kernel does
// not know, by any bit that is not zero, is refused.
//
//   driver_data /dev/infiniband/uverbs0
#include <fcntl.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "descriptor.hpp"
#include "die.hpp"
#include "softrnic-abi.h"

namespace {

using bytes = std::vector<std::byte>;
using support::die;

support::descriptor open_device(const char* path) {
    support::descriptor device(open(path, O_RDWR | O_CLOEXEC));
    if (!device) die(std::string("open: ") + std::strerror(errno));
    return device;
}

std::uint64_t address_of(const void* where) {
    return reinterpret_cast<std::uintptr_t>(where);
}

/// Memory that the kernel has not written to.
constexpr std::byte untouched{0xa5};

/// Room for an answer, in which it is seen how far the kernel has written.
class answer {
public:
    explicit answer(std::size_t room) : room_(room), memory_(room + behind, untouched) {}

    [[nodiscard]] std::uint64_t address() const { return address_of(memory_.data()); }
    [[nodiscard]] std::size_t room() const { return room_; }
    template <class T>
    [[nodiscard]] T core() const {
        T value;
        std::memcpy(&value, memory_.data(), sizeof value);
        return value;
    }
    /// The driver's part, and some memory behind.
    [[nodiscard]] bytes after(std::size_t core) const {
        return {memory_.begin() + static_cast<std::ptrdiff_t>(core), memory_.end()};
    }

private:
    static constexpr std::size_t behind = 256;
    std::size_t room_;
    bytes memory_;
};

/// What a program brings for the driver: so much in its request and so much room for the answer.
struct driver_part {
    bytes in;
    std::size_t out = 0;
};

/// The kernel has refused a command.
struct refusal {
    int error;
};

/// Sends a command by write(); body.response is filled in. Returns what was answered.
template <class Core, class Body>
answer command(int device, unsigned number, Body body, const driver_part& driver) {
    answer to(sizeof(Core) + driver.out);
    body.response = to.address();
    const std::size_t size = sizeof(ib_uverbs_cmd_hdr) + sizeof body + driver.in.size();
    const ib_uverbs_cmd_hdr header{number, static_cast<std::uint16_t>(size / 4),
                                   static_cast<std::uint16_t>(to.room() / 4)};
    bytes message(sizeof header + sizeof body);
    std::memcpy(message.data(), &header, sizeof header);
    std::memcpy(message.data() + sizeof header, &body, sizeof body);
    message.insert(message.end(), driver.in.begin(), driver.in.end());
    if (write(device, message.data(), message.size()) < 0) throw refusal{errno};
    return to;
}

/// A device with a context, a protection domain and a completion queue. All goes with it.
class user {
public:
    explicit user(const char* path, const driver_part& driver = {}) : device_(open_device(path)) {
        context_ = driver_part_of<ib_uverbs_get_context_resp>(
            IB_USER_VERBS_CMD_GET_CONTEXT, ib_uverbs_get_context{}, driver,
            [](const auto& core) { close(static_cast<int>(core.async_fd)); });
        driver_part_of<ib_uverbs_alloc_pd_resp>(IB_USER_VERBS_CMD_ALLOC_PD, ib_uverbs_alloc_pd{},
                                                {},
                                                [this](const auto& core) { pd_ = core.pd_handle; });
        create_cq({});
    }

    [[nodiscard]] const bytes& context() const { return context_; }

    bytes create_cq(const driver_part& driver) {
        ib_uverbs_create_cq body{};
        body.cqe = entries;
        body.comp_channel = -1;
        return driver_part_of<ib_uverbs_create_cq_resp>(
            IB_USER_VERBS_CMD_CREATE_CQ, body, driver,
            [this](const auto& core) { cq_ = core.cq_handle; });
    }

    /// As libibverbs does it where it can.
    bytes create_cq_by_ioctl(const driver_part& driver) {
        std::vector<ib_uverbs_attr> attributes;
        std::uint32_t made = 0;
        answer to(driver.out);
        const auto add = [&](std::size_t id, std::size_t size, std::uint64_t data) {
            attributes.push_back({static_cast<std::uint16_t>(id),
                                  static_cast<std::uint16_t>(size),
                                  UVERBS_ATTR_F_MANDATORY,
                                  {},
                                  {data}});
        };
        add(UVERBS_ATTR_CREATE_CQ_HANDLE, 0, 0);
        // It lies in the first bytes, whatever the order of bytes.
        std::uint64_t inlined_entries = 0;
        std::memcpy(&inlined_entries, &entries, sizeof entries);
        add(UVERBS_ATTR_CREATE_CQ_CQE, sizeof entries, inlined_entries);
        add(UVERBS_ATTR_CREATE_CQ_USER_HANDLE, sizeof(std::uint64_t), 0);
        add(UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, sizeof(std::uint32_t), 0);
        add(UVERBS_ATTR_CREATE_CQ_RESP_CQE, sizeof made, address_of(&made));
        if (!driver.in.empty()) {
            // What fits into the attribute is in there.
            std::uint64_t inlined = 0;
            const bool fits = driver.in.size() <= sizeof inlined;
            if (fits) std::memcpy(&inlined, driver.in.data(), driver.in.size());
            add(UVERBS_ATTR_UHW_IN, driver.in.size(),
                fits ? inlined : address_of(driver.in.data()));
        }
        if (driver.out != 0) add(UVERBS_ATTR_UHW_OUT, driver.out, to.address());
        const std::size_t size = attributes.size() * sizeof(ib_uverbs_attr);
        bytes message(sizeof(ib_uverbs_ioctl_hdr) + size);
        auto& header = *reinterpret_cast<ib_uverbs_ioctl_hdr*>(message.data());
        header.length = static_cast<std::uint16_t>(message.size());
        header.object_id = UVERBS_OBJECT_CQ;
        header.method_id = UVERBS_METHOD_CQ_CREATE;
        header.num_attrs = static_cast<std::uint16_t>(attributes.size());
        header.driver_id = SRN_DRIVER_ID;
        std::memcpy(message.data() + sizeof header, attributes.data(), size);
        if (ioctl(device_.get(), RDMA_VERBS_IOCTL, message.data()) < 0) throw refusal{errno};
        return to.after(0);
    }

    bytes create_srq(const driver_part& driver) {
        ib_uverbs_create_srq body{};
        body.pd_handle = pd_;
        body.max_wr = entries;
        body.max_sge = 2;
        return driver_part_of<ib_uverbs_create_srq_resp>(IB_USER_VERBS_CMD_CREATE_SRQ, body,
                                                         driver);
    }

    bytes create_qp(const driver_part& driver) {
        ib_uverbs_create_qp body{};
        body.pd_handle = pd_;
        body.send_cq_handle = body.recv_cq_handle = cq_;
        body.max_send_wr = body.max_recv_wr = entries;
        body.max_send_sge = body.max_recv_sge = 2;
        body.qp_type = 2;  // RC
        return driver_part_of<ib_uverbs_create_qp_resp>(IB_USER_VERBS_CMD_CREATE_QP, body, driver);
    }

    bytes alloc_pd(const driver_part& driver) {
        return driver_part_of<ib_uverbs_alloc_pd_resp>(IB_USER_VERBS_CMD_ALLOC_PD,
                                                       ib_uverbs_alloc_pd{}, driver);
    }

    bytes reg_mr(const driver_part& driver) {
        static std::array<std::byte, 4096> memory;
        ib_uverbs_reg_mr body{};
        body.start = body.hca_va = address_of(memory.data());
        body.length = memory.size();
        body.pd_handle = pd_;
        return driver_part_of<ib_uverbs_reg_mr_resp>(IB_USER_VERBS_CMD_REG_MR, body, driver);
    }

    bytes alloc_mw(const driver_part& driver) {
        ib_uverbs_alloc_mw body{};
        body.pd_handle = pd_;
        body.mw_type = 1;
        return driver_part_of<ib_uverbs_alloc_mw_resp>(IB_USER_VERBS_CMD_ALLOC_MW, body, driver);
    }

private:
    static constexpr std::uint32_t entries = 16;

    template <class Core, class Body>
    bytes driver_part_of(
        unsigned number, const Body& body, const driver_part& driver,
        const std::function<void(const Core&)>& learn = [](const Core&) {}) {
        const answer to = command<Core>(device_.get(), number, body, driver);
        learn(to.template core<Core>());
        return to.after(sizeof(Core));
    }

    support::descriptor device_;
    bytes context_;
    std::uint32_t pd_ = 0;
    std::uint32_t cq_ = 0;
};

/// A command with a driver's part in its answer.
struct subject {
    const char* name;
    std::size_t size;
    std::function<bytes(const char* path, const driver_part& driver)> run;
    /// What its request may hold: the bytes that are 0 here must be zero, as those behind them.
    bytes may_be_set = {};

    [[nodiscard]] bool knows(const bytes& request) const {
        for (std::size_t i = 0; i < request.size(); ++i)
            if (request[i] != std::byte{} &&
                (i >= may_be_set.size() || may_be_set[i] == std::byte{}))
                return false;
        return true;
    }
};

/// A command that a user sends who is there already.
template <class Method>
std::function<bytes(const char*, const driver_part&)> as_user(Method method) {
    return [method](const char* path, const driver_part& driver) {
        user somebody(path);
        return std::invoke(method, somebody, driver);
    };
}

bytes request_of_context() {
    bytes all(sizeof(srn_ureq_alloc_ctx), std::byte{0xff});
    std::fill_n(all.begin() + offsetof(srn_ureq_alloc_ctx, reserved),
                sizeof(srn_ureq_alloc_ctx::reserved), std::byte{});
    return all;
}

const std::array subjects{
    subject{
        "get_context", sizeof(srn_uresp_alloc_ctx),
        [](const char* path, const driver_part& driver) { return user(path, driver).context(); },
        request_of_context()},
    subject{"create_cq", sizeof(srn_uresp_create_cq), as_user(&user::create_cq)},
    subject{"create_cq by ioctl", sizeof(srn_uresp_create_cq), as_user(&user::create_cq_by_ioctl)},
    subject{"create_srq", sizeof(srn_uresp_create_srq), as_user(&user::create_srq)},
    subject{"create_qp", sizeof(srn_uresp_create_qp), as_user(&user::create_qp)},
    subject{"alloc_pd", 0, as_user(&user::alloc_pd)},
    subject{"reg_mr", 0, as_user(&user::reg_mr)},
    subject{"alloc_mw", 0, as_user(&user::alloc_mw)},
};

[[noreturn]] void die_of(const subject& s, const driver_part& driver, const std::string& why) {
    die(std::string(s.name) + " with " + std::to_string(driver.in.size()) + " and " +
        std::to_string(driver.out) + " bytes for the driver: " + why);
}

/// What is written of the answer, and nothing behind it, is as it is in the whole one.
void check(const subject& s, const char* path, const bytes& whole, const driver_part& driver) {
    const std::size_t written = std::min(s.size, driver.out);
    bytes got;
    try {
        got = s.run(path, driver);
    } catch (const refusal& no) {
        die_of(s, driver, std::strerror(no.error));
    }
    for (std::size_t i = 0; i < got.size(); ++i)
        if (got[i] != (i < written ? whole[i] : untouched))
            die_of(s, driver, "byte " + std::to_string(i) + " of its answer");
}

void check_refused(const subject& s, const char* path, const driver_part& driver) {
    try {
        s.run(path, driver);
    } catch (const refusal& no) {
        if (no.error == EOPNOTSUPP) return;
        die_of(s, driver, std::strerror(no.error));
    }
    die_of(s, driver, "it worked, though nobody knows what was asked for");
}

/// Requests of all kinds: what fits into an attribute of an ioctl, and what does not; zero, known
/// and unknown.
std::vector<bytes> requests_for(const subject& s) {
    std::vector<bytes> requests{bytes{},    bytes(4, std::byte{0xff}),   bytes(8),
                                bytes(400), bytes(400, std::byte{0xff}), s.may_be_set};
    bytes late(40);
    late.back() = std::byte{1};
    requests.push_back(late);
    return requests;
}

unsigned try_sizes(const subject& s, const char* path) {
    const bytes whole = s.run(path, {{}, s.size});
    for (std::size_t i = 0; i < s.size; ++i)
        if (whole[i] == untouched)
            die(std::string(s.name) + " leaves byte " + std::to_string(i) + " as it was");
    unsigned tried = 0;
    for (const bytes& in : requests_for(s))
        for (std::size_t out = 0; out <= 2 * s.size + 8; out += 4, ++tried) {
            const driver_part driver{in, out};
            if (s.knows(in))
                check(s, path, whole, driver);
            else
                check_refused(s, path, driver);
        }
    return tried;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) die("usage: driver_data DEVICE");
    for (const subject& s : subjects) std::printf("%s: %u sizes\n", s.name, try_sizes(s, argv[1]));
    return 0;
}
