// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Talks to a uverbs device without a library, as nobody should: commands whose lengths, handles,
// flags, pointers and driver data are wrong, mappings of anything, and now and then something
// valid, so that there are objects to be wrong about. The kernel refuses or obeys; it writes no
// byte that it was not asked for, and shows nobody's memory.
//
//   uverbs_fuzz /dev/infiniband/uverbs0 SECONDS SEED
#include <fcntl.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "die.hpp"
#include "softrnic-abi.h"

namespace {

using bytes = std::vector<std::uint8_t>;
using clock_type = std::chrono::steady_clock;
using support::die;

std::mt19937_64 random_source;
std::uint64_t any() {
    return random_source();
}
std::uint64_t below(std::uint64_t limit) {
    return any() % limit;
}
bool one_in(unsigned n) {
    return below(n) == 0;
}

const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));

/// A page for an answer whose address is in the driver's part of a request. It is far from all
/// that this program has, so that an address in which a byte was changed does not hit that.
class lone_page {
public:
    lone_page() {
        // NOLINTNEXTLINE(performance-no-int-to-ptr): the address is chosen
        void* const somewhere = reinterpret_cast<void*>(std::uintptr_t{1} << 38);
        page_ = mmap(somewhere, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page_ != somewhere) die("no memory there");
    }

    [[nodiscard]] std::uint64_t address() const { return reinterpret_cast<std::uintptr_t>(page_); }

private:
    void* page_;
};

/// Memory with places where the kernel may write and places where it must not.
class arena {
public:
    static inline const std::size_t room = page;

    arena() {
        auto* start = static_cast<std::uint8_t*>(
            mmap(nullptr, 5 * room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        if (start == MAP_FAILED) die("no memory");
        response_ = start + room;
        user_ = start + 3 * room;
        // A page that ends in nothing.
        munmap(start + 4 * room, room);
    }

    std::uint8_t* response() { return response_; }
    /// Memory for registrations and as a target of pointers.
    std::uint8_t* user() { return user_; }

    void prepare() { std::memset(response_ - room, guard, 3 * room); }
    /// Nothing was written but the first `allowed` bytes of the response.
    void check(std::size_t allowed, const std::string& what) const {
        for (const std::uint8_t* at = response_ - room; at < response_ + 2 * room; ++at) {
            if (at >= response_ && at < response_ + allowed) continue;
            if (*at != guard)
                die(what + " wrote outside of its response, at " + std::to_string(at - response_) +
                    " of " + std::to_string(allowed));
        }
    }

    /// Pointers that a program should not hand out.
    std::uint64_t bad_pointer() {
        const auto user = reinterpret_cast<std::uintptr_t>(user_);
        const std::array<std::uint64_t, 8> choice{
            0,     1,          user + room, user + room - 8, user + 1, 0xffff888000000000ULL,
            ~0ULL, ~0ULL << 12};
        return choice[below(choice.size())];
    }

private:
    static constexpr std::uint8_t guard = 0xa5;
    std::uint8_t* response_;
    std::uint8_t* user_;
};

/// What commands refer to. Handles of objects that were made; some are gone by now.
struct objects {
    std::vector<std::uint32_t> pds, mrs, cqs, qps, srqs;
    std::vector<int> channels;
    std::vector<srn_mapping> maps;
};

std::uint32_t pick(const std::vector<std::uint32_t>& from) {
    if (from.empty() || one_in(16)) return static_cast<std::uint32_t>(below(8) ? below(64) : any());
    return from[below(from.size())];
}

/// A command's body, its response and its driver data, each as it should be.
struct command {
    unsigned number = 0;
    const char* name = "";
    bytes in;
    std::size_t out = 0;
    bool extended = false;
    std::function<void(const std::uint8_t* response)> learn = [](const std::uint8_t*) {};
};

template <class T>
bytes raw(const T& value, std::size_t driver_data = 0) {
    bytes made(sizeof value + driver_data);
    std::memcpy(made.data(), &value, sizeof value);
    return made;
}

template <class T>
T at(const std::uint8_t* where) {
    T value;
    std::memcpy(&value, where, sizeof value);
    return value;
}

class fuzzer {
public:
    fuzzer(std::string path) : path_(std::move(path)) { reopen(); }
    ~fuzzer() { close_all(); }
    fuzzer(const fuzzer&) = delete;
    fuzzer& operator=(const fuzzer&) = delete;

    void step() {
        if (++steps_ % 300 == 0) reopen();
        switch (below(16)) {
            case 0: random_write(); break;
            case 1:
            case 2:
            case 3: random_ioctl(); break;
            case 4: random_mmap(); break;
            default: run(mutated(valid()), one_in(2)); break;
        }
    }

    void print() const {
        for (const auto& [name, results] : counts_) {
            std::printf("%-20s", name.c_str());
            for (const auto& [code, count] : results)
                std::printf(" %s:%u", code ? strerrorname_np(code) : "ok", count);
            std::printf("\n");
        }
    }
    [[nodiscard]] unsigned long steps() const { return steps_; }
    /// Commands of how many kinds succeeded at least once: without, nothing was tested.
    [[nodiscard]] std::size_t kinds_that_worked() const {
        return static_cast<std::size_t>(std::ranges::count_if(
            counts_, [](const auto& entry) { return entry.second.contains(0); }));
    }

private:
    /// Also what commands have opened whose answer nobody learned from.
    void close_all() {
        live_ = {};
        close_range(STDERR_FILENO + 1, ~0U, 0);
    }

    void reopen() {
        close_all();
        fd_ = open(path_.c_str(), O_RDWR | O_CLOEXEC);
        if (fd_ < 0) die("cannot open " + path_);
        // A device without a context is a case of its own, for some commands.
        if (!one_in(10)) run(get_context(), true);
    }

    std::uint64_t response_address() { return reinterpret_cast<std::uintptr_t>(arena_.response()); }

    command get_context() {
        ib_uverbs_get_context c{};
        c.response = response_address();
        return {IB_USER_VERBS_CMD_GET_CONTEXT,
                "get_context",
                raw(c),
                sizeof(ib_uverbs_get_context_resp) + sizeof(srn_uresp_alloc_ctx),
                false,
                [this](const std::uint8_t* r) {
                    const auto fd = at<ib_uverbs_get_context_resp>(r).async_fd;
                    live_.channels.push_back(static_cast<int>(fd));
                }};
    }

    /// Any command as a library would send it.
    command valid();
    command make_object();
    command use_object();
    command end_object();

    /// The first eight bytes are where the response goes, and are not changed here.
    static command mutated(command c) {
        constexpr std::size_t kept = 8;
        if (one_in(4)) return c;
        for (auto i = 1 + below(3); i > 0; --i) {
            const bool longer = c.in.size() > kept;
            const std::size_t where = longer ? kept + below(c.in.size() - kept) : 0;
            switch (below(5)) {
                case 0:
                    if (longer) c.in[where] = static_cast<std::uint8_t>(any());
                    break;
                case 1:
                    if (longer) c.in[where] ^= static_cast<std::uint8_t>(1U << below(8));
                    break;
                case 2:
                    if (longer) c.in.resize(where);
                    break;
                case 3:
                    // Driver data that is longer than ours, with and without something in it.
                    c.in.resize(c.in.size() + 4 * below(40),
                                static_cast<std::uint8_t>(one_in(2) ? 0 : any()));
                    break;
                default: c.out = 4 * below(128); break;
            }
        }
        return c;
    }

    void count(const char* name, bool good) { ++counts_[name][good ? 0 : errno]; }

    /// Sends it by write(), as libibverbs does when it must.
    void run(command c, bool honest) {
        c.in.resize((c.in.size() + 3) / 4 * 4);
        bytes message;
        auto words = static_cast<std::uint16_t>((c.in.size() + sizeof(ib_uverbs_cmd_hdr)) / 4);
        auto out_words = static_cast<std::uint16_t>(c.out / 4);
        if (!honest && one_in(3)) words = static_cast<std::uint16_t>(below(80));
        if (!honest && one_in(3)) out_words = static_cast<std::uint16_t>(below(200));
        std::size_t allowed = std::size_t{4} * out_words;
        if (!honest && one_in(5) && c.in.size() >= 8) {
            const std::uint64_t pointer = arena_.bad_pointer();
            std::memcpy(c.in.data(), &pointer, sizeof pointer);
            allowed = 0;
        }
        if (c.extended) {
            ib_uverbs_cmd_hdr header{c.number | IB_USER_VERBS_CMD_FLAG_EXTENDED,
                                     static_cast<std::uint16_t>(c.in.size() / 8),
                                     static_cast<std::uint16_t>(c.out / 8)};
            ib_uverbs_ex_cmd_hdr more{response_address(), 0, 0, 0};
            if (!honest && one_in(3)) more.provider_in_words = static_cast<std::uint16_t>(below(9));
            if (!honest && one_in(3))
                more.provider_out_words = static_cast<std::uint16_t>(below(9));
            if (!honest && one_in(6)) more.response = arena_.bad_pointer();
            if (!honest && one_in(6)) more.cmd_hdr_reserved = static_cast<std::uint32_t>(any());
            allowed = c.out + std::size_t{8} * more.provider_out_words;
            message = raw(header);
            const bytes tail = raw(more);
            message.insert(message.end(), tail.begin(), tail.end());
        } else {
            message = raw(ib_uverbs_cmd_hdr{c.number, words, out_words});
        }
        message.insert(message.end(), c.in.begin(), c.in.end());
        arena_.prepare();
        const ssize_t done = write(fd_, message.data(), message.size());
        count(c.name, done >= 0);
        arena_.check(std::min(allowed, 2 * arena::room), c.name);
        if (done >= 0 && honest && c.out <= arena::room) c.learn(arena_.response());
    }

    void random_write() {
        bytes message(4 * below(64));
        for (auto& b : message) b = static_cast<std::uint8_t>(any());
        if (message.size() >= 8) {
            const std::uint32_t number = static_cast<std::uint32_t>(below(64)) |
                                         (one_in(3) ? IB_USER_VERBS_CMD_FLAG_EXTENDED : 0);
            std::memcpy(message.data(), &number, sizeof number);
            const auto words = static_cast<std::uint16_t>(message.size() / 4);
            if (!one_in(4)) std::memcpy(message.data() + 4, &words, sizeof words);
        }
        // No pointer in it may be one of ours: what is random may not hit us.
        for (std::size_t i = 0; i + 8 <= message.size(); i += 8)
            if (one_in(2)) {
                const std::uint64_t pointer = arena_.bad_pointer();
                std::memcpy(message.data() + i, &pointer, sizeof pointer);
            }
        if (message.size() >= 8) {
            const auto number = static_cast<std::uint32_t>(below(64));
            std::memcpy(message.data(), &number, sizeof number);
        }
        arena_.prepare();
        count("write, random", write(fd_, message.data(), message.size()) >= 0);
        arena_.check(0, "a random command");
    }

    void random_ioctl() {
        constexpr std::size_t most = 10;
        const std::size_t attributes = below(most);
        const std::size_t length =
            sizeof(ib_uverbs_ioctl_hdr) + attributes * sizeof(ib_uverbs_attr);
        bytes message(sizeof(ib_uverbs_ioctl_hdr) + most * sizeof(ib_uverbs_attr));
        auto& header = *reinterpret_cast<ib_uverbs_ioctl_hdr*>(message.data());
        header.length = static_cast<std::uint16_t>(one_in(12) ? any() : length);
        header.object_id = static_cast<std::uint16_t>(one_in(8) ? 0x1000 + below(4) : below(20));
        header.method_id = static_cast<std::uint16_t>(one_in(8) ? 0x1000 + below(4) : below(10));
        header.num_attrs = static_cast<std::uint16_t>(one_in(12) ? any() : attributes);
        header.driver_id = one_in(16) ? static_cast<std::uint32_t>(any()) : SRN_DRIVER_ID;
        if (one_in(20)) header.reserved1 = any();
        arena_.prepare();
        for (std::size_t i = 0; i < attributes; ++i) {
            ib_uverbs_attr a{};
            a.attr_id = static_cast<std::uint16_t>(one_in(8) ? 0x1000 + below(4) : i + below(3));
            constexpr std::array<std::uint64_t, 5> sizes{0, 4, 8, 16, 24};
            a.len = static_cast<std::uint16_t>(below(3) ? sizes[below(5)] : below(600));
            a.flags = static_cast<std::uint16_t>(one_in(6) ? any() : below(2));
            a.data = one_in(3) ? below(64) : one_in(2) ? user_pointer() : arena_.bad_pointer();
            std::memcpy(message.data() + sizeof header + i * sizeof a, &a, sizeof a);
        }
        count("ioctl", ioctl(fd_, RDMA_VERBS_IOCTL, message.data()) >= 0);
        arena_.check(0, "an ioctl");
    }

    void random_mmap() {
        std::uint64_t offset = below(64) * page;
        std::size_t size = page * (1 + below(8));
        if (!live_.maps.empty() && !one_in(3)) {
            const srn_mapping& known = live_.maps[below(live_.maps.size())];
            offset = known.key + (one_in(4) ? page * below(4) : 0);
            if (!one_in(3)) size = known.size;
        }
        if (one_in(8)) offset = any() * page;
        const int protection = static_cast<int>(below(8));
        const int sharing = one_in(4) ? MAP_PRIVATE : MAP_SHARED;
        void* start = mmap(nullptr, size, protection, sharing, fd_, static_cast<off_t>(offset));
        count("mmap", start != MAP_FAILED);
        if (start == MAP_FAILED) return;
        if ((protection & PROT_EXEC) != 0) die("executable memory of the device");
        munmap(start, size);
    }

    std::uint64_t user_pointer() { return reinterpret_cast<std::uintptr_t>(arena_.user()); }

    /// Memory that was just made for a queue holds zeros, but for a few words of control.
    void check_fresh(const srn_mapping& map, std::size_t control, const char* what) {
        void* start = mmap(nullptr, map.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_,
                           static_cast<off_t>(map.key));
        if (start == MAP_FAILED) return;
        const std::span<const std::uint8_t> memory(static_cast<std::uint8_t*>(start), map.size);
        const auto rest = memory.subspan(std::min(control, memory.size()));
        if (std::ranges::any_of(rest, [](std::uint8_t b) { return b != 0; }))
            die(std::string(what) + ": a new queue shows old memory");
        munmap(start, map.size);
        // The same key in a context of its own means nothing.
        const int other = open(path_.c_str(), O_RDWR | O_CLOEXEC);
        void* stolen =
            mmap(nullptr, map.size, PROT_READ, MAP_SHARED, other, static_cast<off_t>(map.key));
        if (stolen != MAP_FAILED) die(std::string(what) + ": mapped by a stranger");
        close(other);
        live_.maps.push_back(map);
    }

    std::string path_;
    int fd_ = -1;
    arena arena_;
    lone_page resized_srq_;
    objects live_;
    unsigned long steps_ = 0;
    std::map<std::string, std::map<int, unsigned>> counts_;
};

// NOLINTNEXTLINE(readability-function-size): a table of commands
command fuzzer::make_object() {
    switch (below(7)) {
        case 0: {
            ib_uverbs_alloc_pd c{};
            c.response = response_address();
            return {IB_USER_VERBS_CMD_ALLOC_PD,
                    "alloc_pd",
                    raw(c),
                    sizeof(ib_uverbs_alloc_pd_resp),
                    false,
                    [this](const std::uint8_t* r) {
                        live_.pds.push_back(at<ib_uverbs_alloc_pd_resp>(r).pd_handle);
                    }};
        }
        case 1: {
            ib_uverbs_reg_mr c{};
            c.response = response_address();
            c.start = user_pointer();
            c.hca_va = one_in(4) ? any() & ~0xfffULL : c.start;
            c.length = one_in(3) ? any() : 1 + below(4096);
            c.pd_handle = pick(live_.pds);
            c.access_flags = static_cast<std::uint32_t>(one_in(3) ? any() : below(16));
            return {IB_USER_VERBS_CMD_REG_MR,
                    "reg_mr",
                    raw(c),
                    sizeof(ib_uverbs_reg_mr_resp),
                    false,
                    [this](const std::uint8_t* r) {
                        live_.mrs.push_back(at<ib_uverbs_reg_mr_resp>(r).mr_handle);
                    }};
        }
        case 2: {
            ib_uverbs_create_comp_channel c{response_address()};
            return {IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL,
                    "create_comp_channel",
                    raw(c),
                    sizeof(ib_uverbs_create_comp_channel_resp),
                    false,
                    [this](const std::uint8_t* r) {
                        const auto fd = at<ib_uverbs_create_comp_channel_resp>(r).fd;
                        live_.channels.push_back(static_cast<int>(fd));
                    }};
        }
        case 3: {
            ib_uverbs_create_cq c{};
            c.response = response_address();
            c.cqe = static_cast<std::uint32_t>(one_in(10) ? any() : below(300));
            c.comp_vector = static_cast<std::uint32_t>(one_in(6) ? any() : 0);
            c.comp_channel = live_.channels.empty() || one_in(2)
                                 ? -1
                                 : live_.channels[below(live_.channels.size())];
            return {IB_USER_VERBS_CMD_CREATE_CQ,
                    "create_cq",
                    raw(c),
                    sizeof(ib_uverbs_create_cq_resp) + sizeof(srn_uresp_create_cq),
                    false,
                    [this](const std::uint8_t* r) {
                        live_.cqs.push_back(at<ib_uverbs_create_cq_resp>(r).cq_handle);
                        const auto ours =
                            at<srn_uresp_create_cq>(r + sizeof(ib_uverbs_create_cq_resp));
                        check_fresh(ours.map, 0, "create_cq");
                    }};
        }
        case 4: {
            ib_uverbs_create_srq c{};
            c.response = response_address();
            c.pd_handle = pick(live_.pds);
            c.max_wr = static_cast<std::uint32_t>(one_in(10) ? any() : below(100));
            c.max_sge = static_cast<std::uint32_t>(one_in(10) ? any() : below(20));
            return {IB_USER_VERBS_CMD_CREATE_SRQ,
                    "create_srq",
                    raw(c),
                    sizeof(ib_uverbs_create_srq_resp) + sizeof(srn_uresp_create_srq),
                    false,
                    [this](const std::uint8_t* r) {
                        live_.srqs.push_back(at<ib_uverbs_create_srq_resp>(r).srq_handle);
                        const auto ours =
                            at<srn_uresp_create_srq>(r + sizeof(ib_uverbs_create_srq_resp));
                        check_fresh(ours.map, sizeof(srn_srq_ctrl), "create_srq");
                    }};
        }
        default: {
            ib_uverbs_create_qp c{};
            c.response = response_address();
            c.pd_handle = pick(live_.pds);
            c.send_cq_handle = pick(live_.cqs);
            c.recv_cq_handle = pick(live_.cqs);
            c.is_srq = one_in(4) ? 1 : 0;
            c.srq_handle = pick(live_.srqs);
            c.max_send_wr = static_cast<std::uint32_t>(one_in(10) ? any() : below(100));
            c.max_recv_wr = static_cast<std::uint32_t>(one_in(10) ? any() : below(100));
            c.max_send_sge = static_cast<std::uint32_t>(one_in(10) ? any() : below(18));
            c.max_recv_sge = static_cast<std::uint32_t>(one_in(10) ? any() : below(18));
            c.max_inline_data = static_cast<std::uint32_t>(one_in(10) ? any() : below(520));
            c.qp_type = one_in(8) ? static_cast<std::uint8_t>(any()) : 2;
            return {IB_USER_VERBS_CMD_CREATE_QP,
                    "create_qp",
                    raw(c),
                    sizeof(ib_uverbs_create_qp_resp) + sizeof(srn_uresp_create_qp),
                    false,
                    [this](const std::uint8_t* r) {
                        live_.qps.push_back(at<ib_uverbs_create_qp_resp>(r).qp_handle);
                        const auto ours =
                            at<srn_uresp_create_qp>(r + sizeof(ib_uverbs_create_qp_resp));
                        check_fresh(ours.map, sizeof(srn_qp_ctrl), "create_qp");
                    }};
        }
    }
}

// NOLINTNEXTLINE(readability-function-size): a table of commands
command fuzzer::use_object() {
    switch (below(11)) {
        case 0: {
            ib_uverbs_modify_qp c{};
            c.qp_handle = pick(live_.qps);
            c.attr_mask = static_cast<std::uint32_t>(one_in(3) ? any() : 1);
            c.qp_state = static_cast<std::uint8_t>(below(8));
            c.qp_access_flags = static_cast<std::uint32_t>(below(16));
            bytes in = raw(c);
            // The one command without a response: its first bytes are attributes.
            return {IB_USER_VERBS_CMD_MODIFY_QP, "modify_qp", in, 0};
        }
        case 1: {
            ib_uverbs_query_qp c{response_address(), pick(live_.qps),
                                 static_cast<std::uint32_t>(any())};
            return {IB_USER_VERBS_CMD_QUERY_QP, "query_qp", raw(c),
                    sizeof(ib_uverbs_query_qp_resp)};
        }
        case 2: {
            ib_uverbs_req_notify_cq c{pick(live_.cqs), static_cast<std::uint32_t>(below(3))};
            return {IB_USER_VERBS_CMD_REQ_NOTIFY_CQ, "req_notify_cq", raw(c), 0};
        }
        case 3: {
            // Not initialized as a whole: ISO C++ cannot do that with the array at its end.
            ib_uverbs_post_send c;
            c.response = response_address();
            c.qp_handle = pick(live_.qps);
            c.wr_count = static_cast<std::uint32_t>(below(4));
            c.sge_count = static_cast<std::uint32_t>(below(6));
            c.wqe_size = static_cast<std::uint32_t>(one_in(4) ? any() : sizeof(ib_uverbs_send_wr));
            bytes in = raw(
                c, c.wr_count * sizeof(ib_uverbs_send_wr) + c.sge_count * sizeof(ib_uverbs_sge));
            return {IB_USER_VERBS_CMD_POST_SEND, "post_send", in, sizeof(ib_uverbs_post_send_resp)};
        }
        case 4: {
            ib_uverbs_post_recv c;
            c.response = response_address();
            c.qp_handle = pick(one_in(2) ? live_.qps : live_.srqs);
            c.wr_count = static_cast<std::uint32_t>(below(4));
            c.sge_count = static_cast<std::uint32_t>(below(6));
            c.wqe_size = static_cast<std::uint32_t>(one_in(4) ? any() : sizeof(ib_uverbs_recv_wr));
            bytes in = raw(
                c, c.wr_count * sizeof(ib_uverbs_recv_wr) + c.sge_count * sizeof(ib_uverbs_sge));
            return {one_in(2) ? unsigned{IB_USER_VERBS_CMD_POST_RECV}
                              : unsigned{IB_USER_VERBS_CMD_POST_SRQ_RECV},
                    "post_recv", in, sizeof(ib_uverbs_post_recv_resp)};
        }
        case 5: {
            ib_uverbs_modify_srq c{pick(live_.srqs), static_cast<std::uint32_t>(below(4)),
                                   static_cast<std::uint32_t>(one_in(4) ? any() : below(200)),
                                   static_cast<std::uint32_t>(one_in(4) ? any() : below(100))};
            bytes in = raw(c);
            // Where the new ring is told.
            if (one_in(2)) {
                const bytes driver = raw(srn_ureq_modify_srq{
                    one_in(8) ? arena_.bad_pointer() : resized_srq_.address(),
                    static_cast<std::uint32_t>(one_in(8) ? any() : sizeof(srn_uresp_resize_srq)),
                    one_in(8) ? 1U : 0U});
                in.insert(in.end(), driver.begin(), driver.end());
            }
            return {IB_USER_VERBS_CMD_MODIFY_SRQ, "modify_srq", in, 0};
        }
        case 6: {
            ib_uverbs_query_srq c{response_address(), pick(live_.srqs), 0};
            return {IB_USER_VERBS_CMD_QUERY_SRQ, "query_srq", raw(c),
                    sizeof(ib_uverbs_query_srq_resp)};
        }
        case 7: {
            ib_uverbs_ex_query_device c{};
            return {IB_USER_VERBS_EX_CMD_QUERY_DEVICE, "ex_query_device", raw(c),
                    sizeof(ib_uverbs_ex_query_device_resp), true};
        }
        case 8: {
            ib_uverbs_rereg_mr c{};
            c.response = response_address();
            c.mr_handle = pick(live_.mrs);
            c.flags = static_cast<std::uint32_t>(one_in(10) ? any() : below(8));
            c.start = user_pointer();
            c.hca_va = one_in(4) ? any() & ~0xfffULL : c.start;
            c.length = one_in(3) ? any() : 1 + below(4096);
            c.pd_handle = pick(live_.pds);
            c.access_flags = static_cast<std::uint32_t>(one_in(3) ? any() : below(16));
            return {IB_USER_VERBS_CMD_REREG_MR, "rereg_mr", raw(c),
                    sizeof(ib_uverbs_rereg_mr_resp)};
        }
        case 9: {
            ib_uverbs_resize_cq c{response_address(), pick(live_.cqs),
                                  static_cast<std::uint32_t>(one_in(8) ? any() : below(3000))};
            return {IB_USER_VERBS_CMD_RESIZE_CQ, "resize_cq", raw(c), 512};
        }
        default: {
            ib_uverbs_poll_cq c{response_address(), pick(live_.cqs),
                                static_cast<std::uint32_t>(below(8))};
            return {IB_USER_VERBS_CMD_POLL_CQ, "poll_cq", raw(c), 512};
        }
    }
}

command fuzzer::end_object() {
    switch (below(5)) {
        case 0: {
            ib_uverbs_destroy_qp c{response_address(), pick(live_.qps), 0};
            return {IB_USER_VERBS_CMD_DESTROY_QP, "destroy_qp", raw(c),
                    sizeof(ib_uverbs_destroy_qp_resp)};
        }
        case 1: {
            ib_uverbs_destroy_cq c{response_address(), pick(live_.cqs), 0};
            return {IB_USER_VERBS_CMD_DESTROY_CQ, "destroy_cq", raw(c),
                    sizeof(ib_uverbs_destroy_cq_resp)};
        }
        case 2: {
            ib_uverbs_destroy_srq c{response_address(), pick(live_.srqs), 0};
            return {IB_USER_VERBS_CMD_DESTROY_SRQ, "destroy_srq", raw(c),
                    sizeof(ib_uverbs_destroy_srq_resp)};
        }
        case 3: {
            ib_uverbs_dereg_mr c{pick(live_.mrs)};
            return {IB_USER_VERBS_CMD_DEREG_MR, "dereg_mr", raw(c), 0};
        }
        default: {
            ib_uverbs_dealloc_pd c{pick(live_.pds)};
            return {IB_USER_VERBS_CMD_DEALLOC_PD, "dealloc_pd", raw(c), 0};
        }
    }
}

command fuzzer::valid() {
    const auto turn = below(10);
    if (turn == 0) return get_context();
    if (turn < 6) return make_object();
    return turn < 9 ? use_object() : end_object();
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) die("usage: uverbs_fuzz DEVICE SECONDS SEED");
    const auto end = clock_type::now() + std::chrono::seconds(std::strtoul(argv[2], nullptr, 0));
    random_source.seed(std::strtoull(argv[3], nullptr, 0));
    fuzzer f(argv[1]);
    // In a slow machine the time alone would let too little happen.
    constexpr unsigned long enough = 5000;
    while (clock_type::now() < end || f.steps() < enough)
        for (int i = 0; i < 100; ++i) f.step();
    f.print();
    std::printf("%lu commands, %zu kinds that worked\n", f.steps(), f.kinds_that_worked());
    return f.kinds_that_worked() >= 12 ? 0 : 1;
}
