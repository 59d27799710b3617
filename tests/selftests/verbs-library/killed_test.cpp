// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// A process that is killed in the middle of a transfer.
#include <sys/wait.h>

#include <string>

#include "child.hpp"
#include "data.hpp"
#include "fixture.hpp"

namespace verbs_test {
namespace {

using softrnic::access;

class Killed : public ::testing::TestWithParam<const char*> {};

TEST_P(Killed, ThePeerIsTold) {
    const softrnic::listener listener = must(softrnic::listen(server_address()));
    for (int round = 0; round < 2; ++round) {
        child_process child(GetParam(), listener.local_address().port());
        softrnic::connection end = must(listener.next(patience));
        must(end.create_queues(wide));
        const softrnic::buffer memory = must(softrnic::buffer::create(
            end.domain(), child_transfer,
            access::local_write | access::remote_write | access::remote_read));
        for (const std::uint64_t id : {1U, 2U, 3U}) must(end.qp().recv(softrnic::no_slices, id));
        must(end.accept({.private_data = memory.remote().to_bytes()}));

        expect_good(next(end.recv_cq()), 1, IBV_WC_RECV);
        const int status = child.kill();
        EXPECT_TRUE(WIFSIGNALED(status)) << "it ended by itself, status " << status;
        expect_status(next(end.recv_cq()), 2, IBV_WC_WR_FLUSH_ERR);
        expect_status(next(end.recv_cq()), 3, IBV_WC_WR_FLUSH_ERR);
        expect_broken(end);
    }
}

INSTANTIATE_TEST_SUITE_P(While, Killed, ::testing::Values("write", "read"),
                         [](const auto& which) { return std::string(which.param); });

}  // namespace
}  // namespace verbs_test
