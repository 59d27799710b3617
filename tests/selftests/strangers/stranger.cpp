// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// A stranger at a port where an RDMA program listens: it says what its kind says, and fails if the
// other side does not hang up in time.
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "must.hpp"
#include "tcp.hpp"

namespace {

using namespace std::chrono_literals;
using support::must;
using wirepeer::bytes;
using wirepeer::encode;
using wirepeer::mpa_frame;
using wirepeer::tcp_stream;

using address = softrnic::address;
using clock_type = std::chrono::steady_clock;

constexpr std::size_t flags_at = 16, length_at = 18;
constexpr std::uint8_t enhanced = 0x10;

bytes random_bytes(std::size_t count) {
    std::random_device random;
    bytes made(count);
    std::ranges::generate(made, [&] { return static_cast<std::uint8_t>(random()); });
    return made;
}

bytes text(std::string_view of) {
    return {of.begin(), of.end()};
}

bytes first(std::size_t count, bytes all) {
    all.resize(count);
    return all;
}

/// A request with this private data, of an initiator that knows no other revision than the first.
bytes request(bytes private_data = {}) {
    return encode(mpa_frame{.revision = 1, .private_data = std::move(private_data)});
}

bytes too_much_private_data() {
    bytes frame = request(bytes(600));
    frame[length_at] = frame[length_at + 1] = 0xff;
    return frame;
}

bytes no_room_for_the_read_depths() {
    bytes frame = encode(mpa_frame{.private_data = bytes(1)});
    frame[flags_at] |= enhanced;
    return frame;
}

bytes wrong_crc() {
    bytes fpdu = wirepeer::fpdu(wirepeer::make_send(1, wirepeer::pattern(16)));
    fpdu.back() ^= 0xff;
    return fpdu;
}

/// What may come instead of a request.
const std::map<std::string, std::function<bytes()>> requests{
    {"garbage", [] { return random_bytes(3000); }},
    {"zeros", [] { return bytes(3000); }},
    {"http", [] { return text("GET / HTTP/1.0\r\nHost: example\r\n\r\n"); }},
    {"half a header", [] { return first(11, request()); }},
    {"a header less one byte", [] { return first(wirepeer::frame_head - 1, request()); }},
    {"nothing", [] { return bytes(); }},
    {"a reply", [] { return wirepeer::first_revision_frame(true); }},
    {"too much private data", too_much_private_data},
    {"half the private data", [] { return first(wirepeer::frame_head + 50, request(bytes(100))); }},
    {"an unknown revision", [] { return encode(mpa_frame{.revision = 77}); }},
    {"no room for the read depths", no_room_for_the_read_depths},
};

/// What may come instead of FPDUs. Nothing is judged before its CRC is there, so what is to be
/// judged is as long as any length that it may begin with.
const std::map<std::string, std::function<bytes()>> fpdus{
    {"garbage for FPDUs", [] { return random_bytes(70000); }},
    {"an FPDU with a wrong CRC", wrong_crc},
    {"an FPDU of no length", [] { return bytes(200); }},
    {"FPDUs of the largest length", [] { return bytes(70000, 0xff); }},
};

/// Sends to a connection that the other side may end meanwhile. Returns whether it did.
bool until_gone(const std::function<void()>& send) {
    try {
        send();
        return false;
    } catch (const std::system_error& e) {
        if (e.code() != std::errc::connection_reset && e.code() != std::errc::broken_pipe) throw;
        return true;
    }
}

void says(const address& to, const bytes& what) {
    const tcp_stream stream = tcp_stream::connect(to);
    stream.send(what);
    stream.expect_over();
}

/// The program takes the connection: the request is one that it likes.
tcp_stream established(const address& to) {
    tcp_stream stream = tcp_stream::connect(to);
    stream.exchange_frames();
    return stream;
}

void says_once_established(const address& to, const bytes& what) {
    const tcp_stream stream = established(to);
    if (!until_gone([&] { stream.send(what); })) stream.expect_over();
}

void ends_within_an_fpdu(const address& to) {
    const tcp_stream stream = established(to);
    stream.send(first(4, wirepeer::fpdu(wirepeer::make_send(1, wirepeer::pattern(16)))));
    stream.finish();
    stream.expect_over();
}

void reset(const address& to) {
    for (std::size_t sent = 0; sent < wirepeer::frame_head; ++sent) {
        tcp_stream stream = tcp_stream::connect(to);
        stream.send(first(sent, request()));
        stream.reset();
    }
}

/// A byte now and then does not buy more time.
void slow(const address& to) {
    const tcp_stream stream = tcp_stream::connect(to);
    const auto end = clock_type::now() + wirepeer::patience;
    const bytes drops = request(bytes(20));
    const bool gone = until_gone([&] {
        for (std::size_t i = 0; i < drops.size() && clock_type::now() < end; ++i) {
            stream.send(wirepeer::byte_view(drops).subspan(i, 1));
            std::this_thread::sleep_for(600ms);
        }
    });
    if (!gone) throw std::runtime_error("still connected");
}

void idle(const address& to) {
    std::vector<tcp_stream> held(50);
    for (tcp_stream& stream : held) stream = tcp_stream::connect(to);
    std::puts("connected");
    std::fflush(stdout);
    for (const tcp_stream& stream : held) stream.expect_over();
}

void two_hundred(const address& to) {
    for (unsigned i = 0; i < 200; ++i) says(to, text("xxxxxxxxxxxxxxxxxxxx"));
}

/// The request is in the SYN (TCP Fast Open), as far as the other side takes it from there.
tcp_stream with_the_syn(const address& to) {
    support::descriptor socket(::socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    const bytes data = request();
    const socklen_t length = to.family() == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if (::sendto(socket.get(), data.data(), data.size(), MSG_FASTOPEN, to.native(), length) !=
        static_cast<ssize_t>(data.size()))
        throw std::system_error(errno, std::generic_category(), "sendto");
    return tcp_stream(std::move(socket));
}

void early_request(const address& to) {
    (void)with_the_syn(to).read_frame(true);
}

void early_data(const address& to) {
    const tcp_stream stream = with_the_syn(to);
    std::this_thread::sleep_for(wirepeer::moment);
}

const std::map<std::string, void (*)(const address&)> others{
    {"an early request", early_request},
    {"early data", early_data},
    {"half an FPDU and then the end", ends_within_an_fpdu},
    {"reset", reset},
    {"slow", slow},
    {"idle", idle},
    {"two hundred", two_hundred},
};

void run(const std::string& kind, const address& to) {
    if (const auto found = requests.find(kind); found != requests.end())
        says(to, found->second());
    else if (const auto later = fpdus.find(kind); later != fpdus.end())
        says_once_established(to, later->second());
    else if (const auto other = others.find(kind); other != others.end())
        other->second(to);
    else
        throw std::runtime_error("no such kind: " + kind);
}

}  // namespace

int main(int argc, char** argv) try {
    const std::vector<std::string> args(argv + 1, argv + argc);
    if (args.size() != 3) throw std::runtime_error("usage: stranger KIND ADDRESS PORT");
    run(args[0], must(address::resolve(args[1], args[2])));
    return 0;
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
