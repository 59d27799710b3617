// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// What a hostile peer would put on the wire, as far as it can be posted, over whichever path the
// link's setting says; on the wire itself the program `wire` is that peer. Each is refused between
// two good Writes. Both ends learn why, nothing else is placed, and the next connection works.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "counters.hpp"
#include "data.hpp"
#include "fixture.hpp"
#include "path.hpp"
#include "settings.hpp"

namespace verbs_test {
namespace {

using softrnic::access;
using softrnic::memory_window;
using softrnic::remote_slice;

enum class operation {
    write,
    long_write,
    inline_write,
    immediate_write,
    read,
    long_read,
    fetch_add,
    compare_swap,
    invalidate,
};

/// What is wrong with the memory that a request names.
enum class fault {
    stag_zero,
    stag_all_ones,
    stag_unused,
    stag_of_a_sink,
    wrong_key,
    old_key,
    deregistered,
    other_domain,
    before_the_start,
    over_the_end,
    behind_the_end,
    offset_zero,
    wraps,
    wraps_into_the_region,
    no_right,
    no_right_at_all,
    queue_pair_forbids,
    not_aligned,
    not_aligned_by_a_byte,
    plain_region,
    unbound_window,
    old_window_key,
    beyond_the_window,
    window_without_the_right,
    other_queue_pairs_window,
    other_domains_window,
};

struct violation {
    operation op;
    fault what;
};

constexpr const char* name_of(operation op) {
    switch (op) {
        case operation::write: return "Write";
        case operation::long_write: return "LongWrite";
        case operation::inline_write: return "InlineWrite";
        case operation::immediate_write: return "WriteWithImmediate";
        case operation::read: return "Read";
        case operation::long_read: return "LongRead";
        case operation::fetch_add: return "FetchAdd";
        case operation::compare_swap: return "CompareSwap";
        case operation::invalidate: return "SendWithInvalidate";
    }
    return "";
}

constexpr const char* name_of(fault what) {
    switch (what) {
        case fault::stag_zero: return "StagZero";
        case fault::stag_all_ones: return "StagAllOnes";
        case fault::stag_unused: return "StagUnused";
        case fault::stag_of_a_sink: return "StagOfASink";
        case fault::wrong_key: return "WrongKey";
        case fault::old_key: return "OldKey";
        case fault::deregistered: return "Deregistered";
        case fault::other_domain: return "OtherDomain";
        case fault::before_the_start: return "BeforeTheStart";
        case fault::over_the_end: return "OverTheEnd";
        case fault::behind_the_end: return "BehindTheEnd";
        case fault::offset_zero: return "OffsetZero";
        case fault::wraps: return "Wraps";
        case fault::wraps_into_the_region: return "WrapsIntoTheRegion";
        case fault::no_right: return "NoRight";
        case fault::no_right_at_all: return "NoRightAtAll";
        case fault::queue_pair_forbids: return "QueuePairForbids";
        case fault::not_aligned: return "NotAligned";
        case fault::not_aligned_by_a_byte: return "NotAlignedByAByte";
        case fault::plain_region: return "PlainRegion";
        case fault::unbound_window: return "UnboundWindow";
        case fault::old_window_key: return "OldWindowKey";
        case fault::beyond_the_window: return "BeyondTheWindow";
        case fault::window_without_the_right: return "WindowWithoutTheRight";
        case fault::other_queue_pairs_window: return "OtherQueuePairsWindow";
        case fault::other_domains_window: return "OtherDomainsWindow";
    }
    return "";
}

constexpr bool is_atomic(operation op) {
    return op == operation::fetch_add || op == operation::compare_swap;
}
constexpr bool is_write(operation op) {
    return op == operation::write || op == operation::long_write || op == operation::inline_write ||
           op == operation::immediate_write;
}
constexpr bool is_misaligned(fault what) {
    return what == fault::not_aligned || what == fault::not_aligned_by_a_byte;
}

constexpr std::uint32_t length_of(operation op) {
    switch (op) {
        case operation::long_write:
        case operation::long_read: return 40'000;  // two segments, by either path
        case operation::inline_write: return 256;
        case operation::fetch_add:
        case operation::compare_swap: return sizeof(std::uint64_t);
        case operation::invalidate: return 16;
        default: return 700;
    }
}

constexpr access all_rights = access::remote_write | access::remote_read | access::remote_atomic;

constexpr access right_for(operation op) {
    if (is_write(op)) return access::remote_write;
    return is_atomic(op) ? access::remote_atomic : access::remote_read;
}

/// Memory in the middle of which is the only part that a peer may ever reach.
class ground {
public:
    static constexpr std::size_t part_size = 50'000;
    static constexpr std::byte poison{0xee};

    explicit ground(const softrnic::pd& domain)
        : memory_(must(softrnic::buffer::create(domain, size, access::local_write))),
          before_(make_message(size, 1)) {
        // Nobody may take what was there for what has been placed.
        std::ranges::replace(before_, poison, std::byte{0});
        std::memcpy(memory_.bytes().data(), before_.data(), size);
    }

    std::span<std::byte> part() { return memory_.bytes().subspan(part_at, part_size); }
    std::uint64_t start() { return reinterpret_cast<std::uintptr_t>(part().data()); }
    std::uint64_t end() { return start() + part_size; }
    softrnic::local_slice slice(std::uint32_t length) { return memory_.sub(part_at, length); }
    void poison_part() { std::ranges::fill(part(), poison); }

    /// Nothing has changed, but that `count` bytes from `offset` of the part on are poison now.
    void expect_poisoned(std::size_t offset, std::size_t count) const {
        message wanted = before_;
        std::fill_n(wanted.begin() + static_cast<std::ptrdiff_t>(part_at + offset), count, poison);
        const auto now = memory_.bytes();
        const auto [bad, good] = std::mismatch(now.begin(), now.end(), wanted.begin());
        EXPECT_EQ(bad, now.end()) << "byte " << bad - now.begin() << " of " << size << ", of which "
                                  << part_at << " to " << part_at + part_size << " are the peer's";
    }
    void expect_untouched() const { expect_poisoned(0, 0); }
    /// The same of some of the first of them, or of all.
    void expect_poisoned_at_most(std::size_t offset, std::size_t count) const {
        const auto there = memory_.bytes().subspan(part_at + offset, count);
        const auto end = std::ranges::find_if(there, [](std::byte b) { return b != poison; });
        expect_poisoned(offset, static_cast<std::size_t>(end - there.begin()));
    }

private:
    static constexpr std::size_t part_at = 4096 + 64;  // aligned for atomics, not to a page
    static constexpr std::size_t size = part_at + part_size + 10'000;

    softrnic::buffer memory_;
    message before_;
};

/// Both ends learn what became of each message, as programs for InfiniBand do. So the status of a
/// refused Write or Send is not left to chance.
class placed_completions : support::link_setting {
public:
    placed_completions()
        : support::link_setting(ibv_get_device_name(device().native()->device),
                                "placed_completions", true) {}
};

/// Two ends, one of which is going to do something that the other one refuses.
class refusal {
public:
    pair ends = connect_settled();
    ground open{ends.server.domain()};
    ground source{ends.client.domain()};
    ground sink{ends.client.domain()};

    explicit refusal(std::uint32_t receive_size = 64) {
        source.poison_part();
        for (const std::uint64_t id : {50U, 51U})
            must(ends.server.qp().recv(receives_.slice(receive_size), id));
    }

    /// Between two good Writes, all in one call.
    void post(ibv_send_wr& bad);
    /// That request's status, and what becomes of the server's first receive.
    void expect(ibv_wc_status status, ibv_event_type event, ibv_wc_status receive);
    /// No more than this has come into the receive before it failed.
    void expect_received_at_most(std::size_t count) const {
        receives_.expect_poisoned_at_most(0, count);
    }
    /// As if nothing had been: the same domains and the same region.
    void expect_another_connection_works();

private:
    static constexpr std::uint32_t good = 24;

    ground receives_{ends.server.domain()};
    softrnic::mr region_ = must(
        softrnic::mr::create(ends.server.domain(), open.part(), access::local_write | all_rights));
    std::uint64_t violations_ = counter("rx_violations");
    std::uint64_t terminates_ = counter("rx_terminate_messages");

    static void expect_counted(const std::string& name, std::uint64_t before);
    /// A good Write to this offset of the open region.
    ibv_send_wr good_write(ibv_sge& from, std::uint64_t id, std::uint64_t offset) const;
};

ibv_send_wr refusal::good_write(ibv_sge& from, std::uint64_t id, std::uint64_t offset) const {
    ibv_send_wr wr{};
    wr.wr_id = id;
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.sg_list = &from;
    wr.num_sge = 1;
    wr.wr.rdma.remote_addr = region_.remote_sub(offset, good).addr;
    wr.wr.rdma.rkey = region_.rkey();
    return wr;
}

void refusal::post(ibv_send_wr& bad) {
    const softrnic::local_slice from = source.slice(good);
    ibv_sge entry{.addr = from.addr, .length = from.length, .lkey = from.lkey};
    ibv_send_wr before = good_write(entry, 1, 0);
    ibv_send_wr behind = good_write(entry, 3, 1000);
    before.next = &bad;
    bad.next = &behind;
    bad.wr_id = 2;
    ibv_send_wr* refused = nullptr;
    ASSERT_EQ(ibv_post_send(ends.client.qp().native(), &before, &refused), 0);
}

void refusal::expect_counted(const std::string& name, std::uint64_t before) {
    for (const softrnic::deadline until = patience; counter(name) == before && !until.expired();)
        settle_counters();
    EXPECT_EQ(counter(name), before + 1) << name;
}

void refusal::expect(ibv_wc_status status, ibv_event_type event, ibv_wc_status receive) {
    expect_good(next(ends.client.send_cq()), 1, IBV_WC_RDMA_WRITE);
    expect_status(next(ends.client.send_cq()), 2, status);
    expect_status(next(ends.client.send_cq()), 3, IBV_WC_WR_FLUSH_ERR);
    expect_status(next(ends.server.recv_cq()), 50, receive);
    expect_status(next(ends.server.recv_cq()), 51, IBV_WC_WR_FLUSH_ERR);
    expect_broken(ends.server);
    expect_broken(ends.client);
    // These two share a queue, from which one call takes the events of both.
    std::vector<ibv_event_type> at_server, at_client;
    while (const auto one = device().wait_async_event(0ms)) {
        if (one->element.qp == ends.server.qp().native()) at_server.push_back(one->event_type);
        if (one->element.qp == ends.client.qp().native()) at_client.push_back(one->event_type);
    }
    EXPECT_EQ(at_server, std::vector{event});
    EXPECT_EQ(at_client, std::vector{IBV_EVENT_QP_FATAL});
    expect_counted("rx_violations", violations_);
    expect_counted("rx_terminate_messages", terminates_);
    // What came before it is there, and what came behind it is not.
    open.expect_poisoned(0, good);
    sink.expect_untouched();
}

void refusal::expect_another_connection_works() {
    pair_options options;
    options.client.domain = &ends.client.domain();
    options.server.domain = &ends.server.domain();
    pair another = connect_settled(options);
    must(another.client.qp().write(source.slice(good), region_.remote_sub(0, good), {.id = 1}));
    must(another.client.qp().read(sink.slice(2 * good), region_.remote(), {.id = 2}));
    expect_good(next(another.client.send_cq()), 1, IBV_WC_RDMA_WRITE);
    expect_good(next(another.client.send_cq()), 2, IBV_WC_RDMA_READ);
    EXPECT_TRUE(std::ranges::equal(sink.part().first(2 * good), open.part().first(2 * good)));
    EXPECT_EQ(sink.part().front(), ground::poison);
}

class Violation : public ::testing::TestWithParam<violation> {
protected:
    const placed_completions setting;
    refusal refused;
    std::optional<pair> others;  // which may do what this one may not
    std::optional<softrnic::pd> elsewhere;
    ground memory{refused.ends.server.domain()};
    softrnic::mr region;
    memory_window window;

    /// What the peer is told, which is not what it may do.
    remote_slice faulty();
    remote_slice beside(remote_slice named);
    /// The server's memory, registered.
    remote_slice make_region(const softrnic::pd& domain, access rights);
    /// A window over the first `length` bytes, bound by this end, and its key.
    remote_slice make_window(softrnic::connection& owner, const softrnic::pd& domain, access rights,
                             std::uint64_t length = ground::part_size);
    remote_slice bind(softrnic::connection& owner, access rights, std::uint64_t length);
    void take_back(softrnic::connection& owner, std::uint32_t key);
    /// A region by the key that it had before.
    remote_slice region_with_another_key();
    void expect_window_serves(pair& owners);
};

remote_slice Violation::make_region(const softrnic::pd& domain, access rights) {
    region = must(softrnic::mr::create(domain, memory.part(), access::local_write | rights));
    return region.remote();
}

remote_slice Violation::bind(softrnic::connection& owner, access rights, std::uint64_t length) {
    const std::uint32_t key = window.next_rkey();
    must(owner.qp().bind(window, key, {region, 0, length}, rights, {.id = 70}));
    expect_good(next(owner.send_cq()), 70, IBV_WC_BIND_MW);
    return {memory.start(), length, key};
}

remote_slice Violation::make_window(softrnic::connection& owner, const softrnic::pd& domain,
                                    access rights, std::uint64_t length) {
    make_region(domain, access::window_bind);
    window = must(memory_window::create(domain));
    return bind(owner, rights, length);
}

void Violation::take_back(softrnic::connection& owner, std::uint32_t key) {
    must(owner.qp().invalidate(key, {.id = 71}));
    expect_good(next(owner.send_cq()), 71, IBV_WC_LOCAL_INV);
}

remote_slice Violation::region_with_another_key() {
    remote_slice named = make_region(refused.ends.server.domain(), all_rights);
    const std::span<std::byte> all = memory.part();
    // A region that gets other memory, even if it overlaps, gets another key as well.
    EXPECT_EQ(ibv_rereg_mr(region.native(), IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, all.data(),
                           all.size() - 8, 0),
              0);
    EXPECT_NE(region.rkey(), named.rkey);
    return named;
}

/// The addresses of atomics stay aligned, or that would be their fault.
constexpr std::uint64_t step_of(operation op) {
    return is_atomic(op) ? length_of(op) : 1;
}

remote_slice Violation::faulty() {
    const auto [op, what] = GetParam();
    const std::uint64_t length = length_of(op);
    const access others_rights = all_rights ^ right_for(op);
    softrnic::connection& server = refused.ends.server;
    const softrnic::pd& domain = server.domain();
    remote_slice named;
    switch (what) {
        case fault::old_key: return region_with_another_key();
        case fault::other_domain:
            elsewhere = must(softrnic::pd::create(device()));
            return make_region(*elsewhere, all_rights);
        case fault::no_right: return make_region(domain, others_rights);
        case fault::no_right_at_all: return make_region(domain, access::none);
        case fault::wraps_into_the_region:
            // As low as it can be: the kernel wants the offset in a page.
            region = must(softrnic::mr::create_at(domain, memory.part(), memory.start() % 4096,
                                                  access::local_write | all_rights));
            return {0 - length / 2, length, region.rkey()};
        case fault::unbound_window:
        case fault::old_window_key:
            named = make_window(server, domain, all_rights);
            take_back(server, named.rkey);
            if (what == fault::old_window_key) bind(server, all_rights, ground::part_size);
            return named;
        case fault::beyond_the_window: {
            constexpr std::uint64_t window_size = 8000;
            named = make_window(server, domain, all_rights, window_size);
            return named.sub(window_size - length + step_of(op), length);
        }
        case fault::window_without_the_right:
            return make_window(server, domain,
                               op == operation::invalidate ? access::none : others_rights);
        case fault::other_queue_pairs_window: {
            pair_options options;
            options.server.domain = &domain;
            others = connect_settled(options);
            return make_window(others->server, domain, all_rights);
        }
        case fault::other_domains_window:
            others = connect_settled();
            return make_window(others->server, others->server.domain(), all_rights);
        default: return beside(make_region(domain, all_rights));
    }
}

/// A slice beside this one, or of another region, to which the peer has every right.
remote_slice Violation::beside(remote_slice named) {
    const auto [op, what] = GetParam();
    switch (what) {
        case fault::stag_zero: named.rkey = 0; break;
        case fault::stag_all_ones: named.rkey = 0xffffffff; break;
        case fault::stag_unused: named.rkey = 0x7fffff55; break;
        case fault::stag_of_a_sink: named.rkey = 0xff000000; break;
        case fault::wrong_key: named.rkey ^= 1; break;
        case fault::deregistered: must(region.close()); break;
        case fault::before_the_start: named.addr -= step_of(op); break;
        case fault::over_the_end: named.addr = memory.end() - length_of(op) + step_of(op); break;
        case fault::behind_the_end: named.addr = memory.end(); break;
        case fault::offset_zero: named.addr = 0; break;
        case fault::wraps: named.addr = 0 - step_of(op); break;
        case fault::queue_pair_forbids:
            must(refused.ends.server.qp().set_access(all_rights ^ right_for(op)));
            break;
        case fault::not_aligned: named.addr += 4; break;
        case fault::not_aligned_by_a_byte: named.addr += 1; break;
        default: break;
    }
    return named;
}

constexpr ibv_wr_opcode opcode_of(operation op) {
    switch (op) {
        case operation::immediate_write: return IBV_WR_RDMA_WRITE_WITH_IMM;
        case operation::read:
        case operation::long_read: return IBV_WR_RDMA_READ;
        case operation::fetch_add: return IBV_WR_ATOMIC_FETCH_AND_ADD;
        case operation::compare_swap: return IBV_WR_ATOMIC_CMP_AND_SWP;
        case operation::invalidate: return IBV_WR_SEND_WITH_INV;
        default: return IBV_WR_RDMA_WRITE;
    }
}

/// The other owner's window is as it was.
void Violation::expect_window_serves(pair& owners) {
    const ground from(owners.client.domain());
    ground into(owners.client.domain());
    const remote_slice whole{memory.start(), ground::part_size, window.rkey()};
    must(owners.client.qp().read(into.slice(700), whole, {.id = 1}));
    expect_good(next(owners.client.send_cq()), 1, IBV_WC_RDMA_READ);
    EXPECT_TRUE(std::ranges::equal(into.part().first(700), memory.part().first(700)));
}

TEST_P(Violation, IsRefused) {
    const auto [op, what] = GetParam();
    const remote_slice named = faulty();
    const bool sends = is_write(op) || op == operation::invalidate;
    const softrnic::local_slice here = (sends ? refused.source : refused.sink).slice(length_of(op));
    ibv_sge entry{.addr = here.addr, .length = here.length, .lkey = here.lkey};
    ibv_send_wr bad{};
    bad.opcode = opcode_of(op);
    bad.send_flags = IBV_SEND_SIGNALED;
    if (op == operation::inline_write) bad.send_flags |= IBV_SEND_INLINE;
    bad.sg_list = &entry;
    bad.num_sge = 1;
    if (op == operation::invalidate) {
        bad.invalidate_rkey = named.rkey;
    } else if (is_atomic(op)) {
        // It would be seen.
        std::uint64_t now = 0;
        std::memcpy(&now, memory.part().data(), sizeof(now));
        bad.wr.atomic = {.remote_addr = named.addr,
                         .compare_add = op == operation::fetch_add ? 1 : now,
                         .swap = ~now,
                         .rkey = named.rkey};
    } else {
        bad.wr.rdma = {.remote_addr = named.addr, .rkey = named.rkey};
    }
    refused.post(bad);
    refused.expect(is_misaligned(what) ? IBV_WC_REM_INV_REQ_ERR : IBV_WC_REM_ACCESS_ERR,
                   is_misaligned(what) ? IBV_EVENT_QP_REQ_ERR : IBV_EVENT_QP_ACCESS_ERR,
                   op == operation::invalidate ? IBV_WC_REM_INV_REQ_ERR : IBV_WC_WR_FLUSH_ERR);
    refused.expect_received_at_most(op == operation::invalidate ? length_of(op) : 0);
    // The segments before the one at fault may be there.
    if (op == operation::long_write && what == fault::over_the_end)
        memory.expect_poisoned_at_most(ground::part_size - length_of(op) + 1, length_of(op) - 1);
    else
        memory.expect_untouched();
    if (others) expect_window_serves(*others);
    refused.expect_another_connection_works();
}

std::vector<violation> violations() {
    using enum operation;
    using enum fault;
    std::vector<violation> all;
    const auto each = [&all](std::initializer_list<operation> ops,
                             std::initializer_list<fault> faults) {
        for (const operation op : ops)
            for (const fault what : faults) all.push_back({op, what});
    };
    each({write, read, fetch_add}, {stag_zero,
                                    stag_all_ones,
                                    stag_unused,
                                    stag_of_a_sink,
                                    wrong_key,
                                    old_key,
                                    deregistered,
                                    other_domain,
                                    before_the_start,
                                    over_the_end,
                                    offset_zero,
                                    wraps,
                                    no_right,
                                    no_right_at_all,
                                    unbound_window,
                                    old_window_key,
                                    beyond_the_window,
                                    window_without_the_right,
                                    other_queue_pairs_window,
                                    other_domains_window});
    each({write, read}, {behind_the_end, wraps_into_the_region});
    // Without that right the good Write in front would be refused.
    each({read, fetch_add}, {queue_pair_forbids});
    each({long_write, long_read}, {wrong_key, before_the_start, over_the_end, wraps_into_the_region,
                                   no_right, other_queue_pairs_window});
    each({inline_write, immediate_write, compare_swap},
         {wrong_key, over_the_end, no_right, other_domain, other_queue_pairs_window});
    each({fetch_add, compare_swap}, {not_aligned, not_aligned_by_a_byte});
    each({invalidate}, {stag_zero, stag_all_ones, stag_unused, stag_of_a_sink, wrong_key,
                        deregistered, plain_region, other_domain, unbound_window, old_window_key,
                        window_without_the_right, other_queue_pairs_window, other_domains_window});
    return all;
}

INSTANTIATE_TEST_SUITE_P(Of, Violation, ::testing::ValuesIn(violations()), [](const auto& which) {
    return std::string(name_of(which.param.op)) + name_of(which.param.what);
});

/// A Send is a byte longer than its receive, in its only segment and in its last one.
class ViolationOfAReceive : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(ViolationOfAReceive, SendIsTooLong) {
    const placed_completions setting;
    refusal refused(GetParam());
    const softrnic::local_slice from = refused.source.slice(GetParam() + 1);
    ibv_sge entry{.addr = from.addr, .length = from.length, .lkey = from.lkey};
    ibv_send_wr bad{};
    bad.opcode = IBV_WR_SEND;
    bad.send_flags = IBV_SEND_SIGNALED;
    bad.sg_list = &entry;
    bad.num_sge = 1;
    refused.post(bad);
    refused.expect(IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR, IBV_WC_LOC_LEN_ERR);
    refused.expect_received_at_most(GetParam());
    refused.expect_another_connection_works();
}

INSTANTIATE_TEST_SUITE_P(Length, ViolationOfAReceive, ::testing::Values(0, 64, 40'000));

/// More Reads and atomics than the responder serves at once cannot be sent: they wait at the
/// requester. So there is no violation.
TEST(ViolationOfTheReadDepth, CannotBePosted) {
    constexpr std::uint64_t count = 48;
    constexpr access rights = access::local_write | access::remote_read | access::remote_atomic;
    for (const std::uint8_t served : {std::uint8_t{1}, std::uint8_t{3}}) {
        SCOPED_TRACE(unsigned{served});
        pair_options options;
        options.accept.responder_resources = served;
        pair ends = connect_settled(options);
        const softrnic::buffer numbers =
            must(softrnic::buffer::create(ends.server.domain(), 40'000, rights));
        const softrnic::buffer into =
            must(softrnic::buffer::create(ends.client.domain(), 40'000, access::local_write));
        const std::uint64_t before = counter("rx_violations");
        for (std::uint64_t id = 0; id < count; ++id) {
            if (id % 3 == 0)
                must(ends.client.qp().fetch_add(into.sub(0, 8), numbers.remote(), 1, {.id = id}));
            else
                must(ends.client.qp().read(into.all(), numbers.remote(), {.id = id}));
        }
        for (std::uint64_t id = 0; id < count; ++id)
            expect_good(next(ends.client.send_cq()), id,
                        id % 3 == 0 ? IBV_WC_FETCH_ADD : IBV_WC_RDMA_READ);
        std::uint64_t sum = 0;
        std::memcpy(&sum, numbers.bytes().data(), sizeof(sum));
        EXPECT_EQ(sum, count / 3);
        settle_counters();
        EXPECT_EQ(counter("rx_violations"), before);
    }
}

}  // namespace
}  // namespace verbs_test
