// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Copies a file to another host by RDMA Write, with progress and a checksum.
//
// The receiver opens a few slots of memory to the sender, which writes a piece of the file into a
// slot and says so by a message. A write is placed before a later message is delivered, so the
// piece is there when the message is. The receiver gives the slot back by an empty message.
#include <endian.h>

#include <cstring>
#include <fstream>

#include "example.hpp"

namespace {

using example::die;
using example::fnv1a;
using example::must;
using softrnic::access;
using softrnic::remote_slice;

constexpr const char* usage =
    "usage: softrnic-file-copy receive FILE [ADDRESS]   wait for one sender, write FILE\n"
    "       softrnic-file-copy send FILE ADDRESS        send FILE\n"
    "options: --port P (7471)  --timeout SECONDS (10), for each step\n";

constexpr std::uint32_t slots = 4;
constexpr std::uint32_t slot_size = 1U << 20;
using timeout = std::chrono::milliseconds;

/// The sender's message: so many bytes are in the next slot. 0 is the end, with this checksum of
/// all. The receiver answers the end with what it got. Big-endian.
struct notice {
    std::uint64_t bytes;
    std::uint64_t checksum;

    [[nodiscard]] std::span<const std::byte> wire() const {
        return std::as_bytes(std::span(this, 1));
    }
};

int receive(std::ofstream file, const softrnic::address& where, timeout wait) {
    const softrnic::listener listener = example::listen(where);
    softrnic::connection peer = must(listener.next(wait));
    must(peer.create_queues({.max_inline = sizeof(notice)}));
    softrnic::buffer memory = must(softrnic::buffer::create(
        peer.domain(), std::size_t{slots} * slot_size, access::local_write | access::remote_write));
    softrnic::buffer notices =
        must(softrnic::buffer::create(peer.domain(), slots * sizeof(notice), access::local_write));
    const auto post = [&](std::uint64_t slot) {
        must(peer.qp().recv(notices.sub(slot * sizeof(notice), sizeof(notice)), slot));
    };
    for (std::uint64_t slot = 0; slot < slots; ++slot) post(slot);
    must(peer.accept({.private_data = memory.remote().to_bytes()}));

    std::uint64_t checksum = fnv1a({});
    for (std::uint64_t total = 0;;) {
        const ibv_wc wc = must(must(peer.recv_cq().wait_one(wait)));
        if (wc.opcode != IBV_WC_RECV) continue;
        notice n{};
        std::memcpy(&n, notices.bytes().data() + wc.wr_id * sizeof n, sizeof n);
        const std::uint64_t length = be64toh(n.bytes);
        if (wc.byte_len != sizeof n || length > slot_size) die("the sender talks nonsense");
        if (length == 0) {
            const notice answer{htobe64(total), htobe64(checksum)};
            must(peer.qp().send_inline(answer.wire()));
            must(peer.wait_disconnected(wait));
            if (!file.flush() || be64toh(n.checksum) != checksum) die("the copy is bad");
            std::printf("received %llu bytes\n", static_cast<unsigned long long>(total));
            return 0;
        }
        const auto piece = memory.bytes().subspan(wc.wr_id * slot_size, length);
        checksum = fnv1a(piece, checksum);
        file.write(reinterpret_cast<char*>(piece.data()), static_cast<std::streamsize>(length));
        total += length;
        post(wc.wr_id);
        must(peer.qp().send(softrnic::no_slices));
    }
}

int send(std::ifstream file, const softrnic::address& where, timeout wait) {
    const auto size = static_cast<std::uint64_t>(file.tellg());
    file.seekg(0);
    softrnic::connection peer = must(softrnic::resolve(where, {.timeout = wait}));
    must(peer.create_queues({.max_inline = sizeof(notice)}));
    softrnic::buffer memory =
        must(softrnic::buffer::create(peer.domain(), std::size_t{slots} * slot_size, access::none));
    softrnic::buffer answer =
        must(softrnic::buffer::create(peer.domain(), sizeof(notice), access::local_write));
    for (std::uint32_t i = 0; i < slots + 1; ++i) must(peer.qp().recv(answer.all()));
    must(peer.connect({.timeout = wait}));
    if (peer.peer_data().size() < remote_slice::wire_size) die("no such service");
    const auto target = remote_slice::from_bytes(peer.peer_data().first<remote_slice::wire_size>());

    std::uint64_t checksum = fnv1a({});
    softrnic::send_batch batch;
    std::uint64_t posted = 0;    // pieces given to the queue, and the end
    std::uint64_t sent = 0;      // those whose buffer is ours again
    std::uint64_t returned = 0;  // those that the receiver answered
    const auto progress = [&] {
        const ibv_wc wc = must(must(peer.send_cq().wait_one(wait)));
        ++(wc.opcode == IBV_WC_RECV ? returned : sent);
        if (wc.opcode == IBV_WC_RECV && wc.byte_len == 0) must(peer.qp().recv(answer.all()));
    };
    std::uint64_t length = 1;
    for (std::uint64_t done = 0; length > 0; done += length, ++posted) {
        while (posted - std::min(sent, returned) == slots) progress();
        const std::uint64_t offset = (posted % slots) * slot_size;
        length = std::min<std::uint64_t>(size - done, slot_size);
        const auto piece = memory.bytes().subspan(offset, length);
        file.read(reinterpret_cast<char*>(piece.data()), static_cast<std::streamsize>(length));
        if (!file) die("the file cannot be read");
        checksum = fnv1a(piece, checksum);
        const notice n{htobe64(length), htobe64(checksum)};
        batch.clear();
        batch.write(memory.sub(offset, static_cast<std::uint32_t>(length)),
                    target.sub(offset, length), {.flags = softrnic::send_flag::none});
        batch.send_inline(n.wire());
        must(batch.post(peer.qp().native()));
        std::printf("\r%llu of %llu bytes", static_cast<unsigned long long>(done) + length,
                    static_cast<unsigned long long>(size));
        std::fflush(stdout);
    }
    while (returned < posted) progress();
    notice got{};
    std::memcpy(&got, answer.bytes().data(), sizeof got);
    must(peer.disconnect());
    const bool good = be64toh(got.bytes) == size && be64toh(got.checksum) == checksum;
    std::printf("\n%s, checksum %016llx\n", good ? "copied" : "BAD COPY",
                static_cast<unsigned long long>(checksum));
    return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    const example::arguments args(argc, argv, usage);
    if (args.word(0) == "send") {
        std::ifstream file(args.word(1), std::ios::binary | std::ios::ate);
        if (!file) die("cannot read " + args.word(1));
        return send(std::move(file), args.address(args.word(2)), args.timeout());
    }
    if (args.word(0) != "receive") args.wrong();
    std::ofstream file(args.word(1), std::ios::binary | std::ios::trunc);
    if (!file) die("cannot write " + args.word(1));
    return receive(std::move(file), args.address(args.count() > 2 ? args.word(2) : ""),
                   args.timeout());
}
