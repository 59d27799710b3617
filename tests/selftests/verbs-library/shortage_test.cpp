// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Memory is short. faults.sh runs this, on kernels that inject faults.
#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <string>

#include "counters.hpp"
#include "data.hpp"
#include "fixture.hpp"

namespace verbs_test {
namespace {

using softrnic::access;

/// Meanwhile nobody gets eight pages in a row, not even by waiting.
class no_large_pages {
public:
    no_large_pages() {
        set("task-filter", "N");
        set("ignore-gfp-wait", "N");
        set("min-order", "3");
        set("interval", "1");
        set("times", "-1");
        set("probability", "100");
    }
    ~no_large_pages() { std::ofstream(knob("probability")) << "0"; }
    no_large_pages(const no_large_pages&) = delete;
    no_large_pages& operator=(const no_large_pages&) = delete;

private:
    static std::string knob(const std::string& name) {
        return "/sys/kernel/debug/fail_page_alloc/" + name;
    }
    static void set(const std::string& name, const std::string& value) {
        std::ofstream file(knob(name));
        file << value << std::flush;
        if (!file) throw std::runtime_error("no faults can be injected: " + name);
    }
};

/// So much takes an emulated machine that looks at each access to memory more than patience.
ibv_wc next_large(softrnic::cq& queue) {
    return must(queue.wait_one(120s));
}

/// TCP keeps what a batch lies in until the peer has it, which faults.sh makes last. Where there
/// are no other pages of that size, a stream goes on with what it has, and its batches are large
/// all the same. A Write leaves in the process at first, its rest and the answer to a Read in
/// softirq.
TEST(Shortage, BatchesStayLarge) {
    constexpr std::uint32_t size = 32U << 20;
    const message pattern = make_message(size, 77);
    pair ends = connect_pair();
    softrnic::buffer from = must(softrnic::buffer::create(
        ends.client.domain(), size, access::local_write | access::remote_read));
    const softrnic::buffer to = must(softrnic::buffer::create(
        ends.server.domain(), size, access::local_write | access::remote_write));
    std::ranges::copy(pattern, from.bytes().begin());
    const auto write = [&] {
        must(ends.client.qp().write(from.all(), to.remote(), {.id = 1}));
        expect_good(next_large(ends.client.send_cq()), 1, IBV_WC_RDMA_WRITE);
    };
    const auto read = [&] {
        must(ends.server.qp().read(to.all(), from.remote(), {.id = 2}));
        expect_good(next_large(ends.server.send_cq()), 2, IBV_WC_RDMA_READ);
    };
    // Both are warm: whoever never sent has nothing to go on with.
    write();
    read();

    settle_counters();
    const std::uint64_t before = counter("tx_sendmsg_calls");
    {
        const no_large_pages now;
        write();
        read();
    }
    settle_counters();
    EXPECT_LE(counter("tx_sendmsg_calls") - before, 2 * size / 16384);
    EXPECT_TRUE(std::ranges::equal(to.bytes(), pattern));
}

}  // namespace
}  // namespace verbs_test
