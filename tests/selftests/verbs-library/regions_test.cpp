// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// How the kernel finds regions by their STags.
#include <algorithm>
#include <vector>

#include "data.hpp"
#include "fixture.hpp"

namespace verbs_test {
namespace {

using softrnic::access;

/// A table by the low bits of the index has most of them. There are more regions than it has
/// places.
TEST(Regions, OfManyEachIsFound) {
    constexpr std::uint32_t many = 600;
    constexpr std::uint32_t bytes = 64;
    pair ends = connect_pair();
    softrnic::buffer from =
        must(softrnic::buffer::create(ends.client.domain(), bytes, access::none));
    std::vector<softrnic::buffer> to;
    for (std::uint32_t i = 0; i < many; ++i)
        to.push_back(must(softrnic::buffer::create(ends.server.domain(), bytes,
                                                   access::local_write | access::remote_write)));
    const auto write_to = [&](std::uint32_t i, unsigned seed) {
        const message m = make_message(bytes, seed);
        std::ranges::copy(m, from.bytes().begin());
        must(ends.client.qp().write(from.all(), to[i].remote(), {.id = i}));
        expect_good(next(ends.client.send_cq()), i, IBV_WC_RDMA_WRITE);
        // An answer comes behind what it answers.
        must(ends.client.qp().read(softrnic::no_slices, to[i].remote().sub(0, 0), {.id = i}));
        expect_good(next(ends.client.send_cq()), i, IBV_WC_RDMA_READ);
        EXPECT_TRUE(std::ranges::equal(to[i].bytes(), m)) << "region " << i;
    };
    for (std::uint32_t i = 0; i < many; ++i) write_to(i, i + 1);
    // Those that were published later go first.
    while (to.size() > 100) to.pop_back();
    for (std::uint32_t i = 0; i < to.size(); ++i) write_to(i, many + i);
}

}  // namespace
}  // namespace verbs_test
