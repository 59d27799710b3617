// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// The link is deleted while it is in use. Wants $SRN_TEST_LINK and $SRN_TEST_NETDEV, the link's
// device; the link is made anew at the end. A process sees no new device once it has lost one, so
// that it works again is for another process to test.
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "data.hpp"
#include "fixture.hpp"

namespace verbs_test {
namespace {

using softrnic::access;

/// A command of the shell, ended after 20 seconds; its exit status.
int run(const std::string& command) {
    // NOLINTNEXTLINE(cert-env33-c,concurrency-mt-unsafe): the shell is wanted
    return std::system(("timeout -k 2 20 " + command).c_str());
}

std::string environment(const char* name) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody changes the environment
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

class Removal : public ::testing::Test {
protected:
    std::string link = environment("SRN_TEST_LINK");
    std::string netdev = environment("SRN_TEST_NETDEV");

    void SetUp() override {
        if (link.empty() || netdev.empty())
            GTEST_SKIP() << "SRN_TEST_LINK and SRN_TEST_NETDEV are not set";
    }
};

/// Keeps a few writes under way until one fails; the posts and completions until then.
void write_until_the_end(softrnic::connection& end, const softrnic::buffer& from,
                         const softrnic::remote_slice& to) {
    int outstanding = 0;
    bool ended = false;
    for (const softrnic::deadline until = patience * 3; !ended || outstanding > 0;) {
        if (until.expired()) {
            ADD_FAILURE() << outstanding << " writes never completed";
            return;
        }
        while (!ended && outstanding < 4) {
            if (!end.qp().write(from.all(), to)) {
                // The doorbell has nobody to ring at, and what was posted has been flushed.
                ended = true;
                break;
            }
            ++outstanding;
        }
        const auto wc = end.send_cq().spin_one(1s);
        if (!wc && ended) return;
        if (!wc) continue;
        --outstanding;
        ended |= !softrnic::ok(*wc);
    }
}

TEST_F(Removal, InTheMiddleOfATransfer) {
    {
        pair ends = connect_pair();
        const softrnic::buffer from =
            must(softrnic::buffer::create(ends.client.domain(), 1U << 20, access::none));
        const softrnic::buffer to = must(softrnic::buffer::create(
            ends.server.domain(), 1U << 20, access::local_write | access::remote_write));
        must(ends.server.qp().recv(softrnic::no_slices, 1));
        // Nobody ends it before it is destroyed.
        softrnic::connection unconnected = must(softrnic::resolve(server_address(1)));
        must(unconnected.create_queues({}));
        must(unconnected.qp().recv(softrnic::no_slices, 2));
        const softrnic::context_view context = ends.client.context();

        std::thread writer([&] { write_until_the_end(ends.client, from, to.remote()); });
        std::this_thread::sleep_for(300ms);
        EXPECT_EQ(run("rdma link delete " + link), 0);
        writer.join();

        expect_status(must(ends.server.recv_cq().spin_one(patience)), 1, IBV_WC_WR_FLUSH_ERR);
        expect_status(must(unconnected.recv_cq().spin_one(patience)), 2, IBV_WC_WR_FLUSH_ERR);
        bool fatal = false;
        for (const softrnic::deadline until = patience; !fatal && !until.expired();) {
            const auto event = context.wait_async_event(until);
            fatal = event && event->event_type == IBV_EVENT_DEVICE_FATAL;
            if (!event) break;
        }
        EXPECT_TRUE(fatal) << "no IBV_EVENT_DEVICE_FATAL";
        // DISCONNECTED comes first or DEVICE_REMOVAL does.
        const auto gone = ends.server.wait_disconnected(patience);
        EXPECT_TRUE(gone || gone.error().code == ENODEV) << gone.error().message();
    }
    EXPECT_EQ(run("rdma link add " + link + " type softrnic netdev " + netdev), 0);
}

/// Posts Writes with numbers of their own, and goes on when they are refused.
class numbered_writes {
public:
    numbered_writes(softrnic::connection& end, const softrnic::buffer& from,
                    const softrnic::remote_slice& to)
        : end_(&end), from_(from.all()), to_(to) {}

    void post() {
        const bool taken = static_cast<bool>(end_->qp().write(from_, to_, {.id = all_.size()}));
        all_.push_back({taken, false});
        refused_ += taken ? 0 : 1;
        outstanding_ += taken ? 1 : 0;
    }

    void poll(std::chrono::milliseconds limit) {
        const auto wc = end_->send_cq().spin_one(limit);
        if (!wc) return;
        write& w = all_.at(wc->wr_id);
        EXPECT_TRUE(w.taken) << "write " << wc->wr_id << " was refused, and completed";
        EXPECT_FALSE(w.completed) << "write " << wc->wr_id << " completed twice";
        w.completed = true;
        outstanding_ -= w.taken ? 1 : 0;
    }

    [[nodiscard]] std::size_t refused() const { return refused_; }
    [[nodiscard]] int outstanding() const { return outstanding_; }

private:
    struct write {
        bool taken;
        bool completed;
    };

    softrnic::connection* end_;
    softrnic::local_slice from_;
    softrnic::remote_slice to_;
    std::vector<write> all_;
    std::size_t refused_ = 0;
    int outstanding_ = 0;
};

// What is refused while the device goes does not complete, and all else does. There are many queue
// pairs, so that it takes a while.
TEST_F(Removal, WhatIsRefusedDoesNotComplete) {
    {
        pair ends = connect_pair();
        const std::vector<pair> others = [] {
            std::vector<pair> made;
            for (int i = 0; i < 16; i++) made.push_back(connect_pair());
            return made;
        }();
        const softrnic::buffer from =
            must(softrnic::buffer::create(ends.client.domain(), 64, access::none));
        const softrnic::buffer to = must(softrnic::buffer::create(
            ends.server.domain(), 64, access::local_write | access::remote_write));
        numbered_writes writes(ends.client, from, to.remote());
        std::thread deleter([&] {
            std::this_thread::sleep_for(200ms);
            EXPECT_EQ(run("rdma link delete " + link), 0);
        });
        // More often than the queue is long: it does not fill up with what is refused.
        for (const softrnic::deadline until = patience * 3;
             writes.refused() < 1000 && !until.expired();) {
            writes.post();
            while (writes.outstanding() > 2 && !until.expired()) writes.poll(1s);
        }
        deleter.join();
        EXPECT_GE(writes.refused(), 1000U);
        for (const softrnic::deadline until = patience;
             writes.outstanding() > 0 && !until.expired();)
            writes.poll(100ms);
        EXPECT_EQ(writes.outstanding(), 0);
        writes.poll(500ms);
    }
    EXPECT_EQ(run("rdma link add " + link + " type softrnic netdev " + netdev), 0);
}

}  // namespace
}  // namespace verbs_test
