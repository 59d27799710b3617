// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Connecting: what is said on the way, refusals, addresses.
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "data.hpp"
#include "descriptor.hpp"
#include "fixture.hpp"
#include "settings.hpp"
#include "tcp.hpp"

namespace verbs_test {
namespace {

bool same(std::span<const std::byte> a, std::span<const std::byte> b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

class PrivateData : public ::testing::TestWithParam<std::size_t> {};

TEST_P(PrivateData, TravelsBothWays) {
    const message question = make_message(GetParam(), 1);
    const message answer = make_message(GetParam(), 2);
    const pair ends =
        connect_pair({.connect = {.private_data = question}, .accept = {.private_data = answer}});
    EXPECT_TRUE(same(ends.server.peer_data(), question));
    EXPECT_TRUE(same(ends.client.peer_data(), answer));
}

INSTANTIATE_TEST_SUITE_P(Sizes, PrivateData, ::testing::Values(0, 1, 56, 196, 255),
                         ::testing::PrintToStringParamName());

/// A client that goes on connecting while the test plays the server.
struct background_client {
    softrnic::connection end;
    std::future<softrnic::result<void>> outcome;

    explicit background_client(const softrnic::listener& listener)
        : end(must(softrnic::resolve(listener.local_address()))) {
        must(end.create_queues(wide));
        outcome = std::async(std::launch::async, [this] { return end.connect(); });
    }
};

/// A TCP connection as any program makes it, which shares its port where it can.
class tcp_connection {
public:
    tcp_connection(const softrnic::address& from, const softrnic::address& to)
        : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        const int on = 1;
        if (!fd_ || setsockopt(fd_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
            bind(fd_.get(), from.native(), sizeof(sockaddr_in)) != 0 ||
            ::connect(fd_.get(), to.native(), sizeof(sockaddr_in)) != 0)
            throw std::runtime_error("no TCP connection");
    }

    [[nodiscard]] softrnic::address local_address() const {
        sockaddr_storage where{};
        socklen_t size = sizeof where;
        if (getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&where), &size) != 0)
            throw std::runtime_error("getsockname");
        return softrnic::address(reinterpret_cast<const sockaddr*>(&where));
    }

private:
    support::descriptor fd_;
};

// rdma_cm has port numbers of its own. TCP may still have the same pair of ports, of an earlier
// connection that has not quite come to its end, too.
TEST(Connection, FromAPortThatTcpHasNotDoneWith) {
    const softrnic::listener listener = must(softrnic::listen(server_address()));
    const tcp_connection earlier(server_address(), listener.local_address());
    softrnic::connection client =
        must(softrnic::resolve(listener.local_address(), {.source = earlier.local_address()}));
    must(client.create_queues(wide));
    auto outcome = std::async(std::launch::async, [&] { return client.connect(); });
    const softrnic::connection server = accept_next(listener);
    EXPECT_TRUE(works(outcome.get()));
    EXPECT_EQ(client.peer_address().port(), listener.local_address().port());
}

TEST(Connection, RejectionCarriesItsReason) {
    const message why = make_message(100, 3);
    const softrnic::listener listener = must(softrnic::listen(server_address()));
    background_client client(listener);
    const softrnic::connection request = must(listener.next(patience));
    must(request.reject(why));
    EXPECT_TRUE(fails_with(client.outcome.get(), ECONNREFUSED));
    EXPECT_TRUE(same(client.end.peer_data(), why));
}

TEST(Connection, ForgottenRequestIsRejected) {
    const softrnic::listener listener = must(softrnic::listen(server_address()));
    background_client client(listener);
    { const softrnic::connection request = must(listener.next(patience)); }
    EXPECT_TRUE(fails_with(client.outcome.get(), ECONNREFUSED));
}

TEST(Connection, NobodyListens) {
    softrnic::address where = server_address();
    { where = must(softrnic::listen(where)).local_address(); }
    softrnic::connection client = must(softrnic::resolve(where));
    must(client.create_queues(wide));
    EXPECT_TRUE(fails_with(client.connect(), ECONNREFUSED));
    EXPECT_NE(must(client.qp().state()), IBV_QPS_RTS);
}

TEST(Connection, NoTimeToFindTheWay) {
    const softrnic::listener listener = must(softrnic::listen(server_address()));
    EXPECT_TRUE(
        fails_with(softrnic::resolve(listener.local_address(),
                                     {.source = {}, .timeout = std::chrono::milliseconds(0)}),
                   ETIMEDOUT));
}

TEST(Connection, AllTheTimeThereIs) {
    constexpr auto forever = std::chrono::milliseconds::max();
    const softrnic::listener listener = must(softrnic::listen(server_address()));
    auto client = std::async(std::launch::async, [&] {
        return softrnic::dial(listener.local_address(),
                              {.route = {.source = {}, .timeout = forever},
                               .queues = wide,
                               .connect = {.timeout = forever}});
    });
    const softrnic::connection server = accept_next(listener, wide, {.timeout = forever});
    EXPECT_TRUE(works(client.get()));
}

TEST(Connection, SecondListenerOnAPort) {
    const softrnic::listener first = must(softrnic::listen(server_address()));
    EXPECT_TRUE(fails_with(softrnic::listen(first.local_address()), EADDRINUSE));
}

TEST(Connection, ChosenPortIsFree) {
    constexpr std::uint16_t first = 47000;
    constexpr std::uint16_t last = first + 31;
    const support::kernel_setting range("/proc/sys/net/ipv4/ip_local_port_range",
                                        std::to_string(first) + " " + std::to_string(last));
    std::vector<wirepeer::tcp_listener> taken;
    for (std::uint16_t port = first; port <= last; port += 2)
        taken.emplace_back(server_address(port));
    for (int i = 0; i < 20; ++i) {
        const softrnic::listener listener = must(softrnic::listen(server_address()));
        EXPECT_GT(listener.local_address().port(), first);
    }
}

TEST(Connection, ClientGivesUpBeforeTheAnswer) {
    const softrnic::listener listener = must(softrnic::listen(server_address()));
    softrnic::connection request;
    {
        softrnic::connection client = must(softrnic::resolve(listener.local_address()));
        must(client.create_queues(wide));
        EXPECT_TRUE(fails_with(client.connect({.timeout = moment}), ETIMEDOUT));
        request = must(listener.next(patience));
    }
    must(request.create_queues(wide));
    const auto accepted = request.accept({.timeout = patience});
    // It may be told only after the connection stood.
    if (accepted) {
        EXPECT_TRUE(works(request.wait_disconnected(patience)));
    }
}

TEST(Connection, AddressesOfBothEndsAgree) {
    const pair ends = connect_pair();
    EXPECT_EQ(ends.client.peer_address().text(), ends.server.local_address().text());
    EXPECT_EQ(ends.server.peer_address().text(), ends.client.local_address().text());
}

TEST(Connection, OverIPv6) {
    const auto where = must(softrnic::address::resolve("fd01::1", 0));
    if (!softrnic::listen(where)) GTEST_SKIP() << "no link has the address fd01::1";
    pair ends = connect_pair({.where = where});
    EXPECT_EQ(ends.client.peer_address().family(), AF_INET6);
    const message m = make_message(5000, 4);
    scattered from(ends.client.domain(), m.size(), 1, softrnic::access::none);
    const scattered to(ends.server.domain(), m.size(), 1, softrnic::access::local_write);
    from.put(m);
    must(ends.server.qp().recv(to.slices()));
    must(ends.client.qp().send(from.slices()));
    EXPECT_EQ(next(ends.server.recv_cq()).byte_len, m.size());
    to.expect(m);
}

TEST(Connection, ListenOnEveryAddress) {
    const softrnic::listener listener =
        must(softrnic::listen(must(softrnic::address::resolve("0.0.0.0", 0))));
    softrnic::connection client =
        must(softrnic::resolve(server_address(listener.local_address().port())));
    must(client.create_queues(wide));
    auto outcome = std::async(std::launch::async, [&] { return client.connect(); });
    const softrnic::connection server = accept_next(listener);
    EXPECT_TRUE(works(outcome.get()));
}

TEST(Connection, DisconnectTellsBothEnds) {
    pair ends = connect_pair();
    must(ends.server.disconnect());
    EXPECT_TRUE(works(ends.client.wait_disconnected(patience)));
    EXPECT_TRUE(works(ends.server.wait_disconnected(patience)));
}

TEST(Connection, DestroyingOneEndEndsTheOther) {
    pair ends = connect_pair();
    ends.server = softrnic::connection();
    expect_broken(ends.client);
}

TEST(Connection, DisconnectLosesNothingThatWasSent) {
    constexpr std::size_t size = 1U << 20;
    pair ends = connect_pair();
    const message m = make_message(size, 5);
    scattered from(ends.client.domain(), size, 1, softrnic::access::none);
    const scattered to(ends.server.domain(), size, 1, softrnic::access::local_write);
    from.put(m);
    must(ends.server.qp().recv(to.slices(), 1));
    must(ends.client.qp().send(from.slices(), {.id = 2}));
    expect_good(next(ends.client.send_cq()), 2, IBV_WC_SEND);
    must(ends.client.disconnect());
    expect_good(next(ends.server.recv_cq()), 1, IBV_WC_RECV);
    to.expect(m);
}

TEST(Connection, ManyAtOnce) {
    constexpr std::size_t count = 40;
    const softrnic::listener listener = must(softrnic::listen(server_address(), count));
    std::array<std::unique_ptr<background_client>, count> clients;
    std::array<softrnic::connection, count> servers;
    for (auto& client : clients) client = std::make_unique<background_client>(listener);
    for (auto& server : servers) server = accept_next(listener);
    for (auto& client : clients) EXPECT_TRUE(works(client->outcome.get()));
}

/// Asks for connections one after the other without waiting for an answer, and says with each which
/// one it is.
void connect_each(const std::vector<softrnic::connection>& clients) {
    std::uint8_t number = 0;
    for (const auto& client : clients) {
        rdma_conn_param param{};
        param.private_data = &number;
        param.private_data_len = sizeof number;
        if (rdma_connect(client.native(), &param) != 0) throw std::runtime_error("rdma_connect");
        number++;
    }
}

// Programs with several connections pair both ends' queue pairs by the order of the requests.
TEST(Connection, RequestsComeInTheOrderInWhichTheyWereMade) {
    constexpr std::size_t count = 16;
    constexpr int rounds = 40;
    const softrnic::listener listener = must(softrnic::listen(server_address(), count));
    for (int round = 0; round < rounds; round++) {
        std::vector<softrnic::connection> clients;
        clients.reserve(count);
        for (std::size_t i = 0; i < count; i++) {
            clients.push_back(must(softrnic::resolve(listener.local_address())));
            must(clients.back().create_queues({}));
        }
        connect_each(clients);
        for (std::size_t i = 0; i < count; i++) {
            const softrnic::connection request = must(listener.next(patience));
            ASSERT_EQ(std::to_integer<std::size_t>(request.peer_data()[0]), i)
                << "in round " << round;
        }
    }
}

}  // namespace
}  // namespace verbs_test
