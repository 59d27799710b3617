// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// A key-value table that clients read without the server's CPU: a get is one RDMA Read of the few
// slots where the key can be. A put is a message, so that only the server writes.
//
// A read may see a slot while the server changes it; the checksum in the slot tells, and the client
// reads again.
#include <array>
#include <cstring>
#include <string_view>

#include "example.hpp"

namespace {

using example::die;
using example::fnv1a;
using example::must;
using softrnic::access;
using softrnic::remote_slice;

constexpr const char* usage =
    "usage: softrnic-kv server [ADDRESS]          hold the table\n"
    "       softrnic-kv put ADDRESS KEY VALUE     keys up to 31 bytes, values up to 87\n"
    "       softrnic-kv get ADDRESS KEY           exit status 3: no such key\n"
    "options: --port P (7471)  --timeout SECONDS (10)  --clients N (1), that the server serves\n";

struct slot {
    std::array<char, 32> key;
    std::array<char, 88> value;
    std::uint64_t checksum;  // of key and value; both hosts must have the same byte order

    [[nodiscard]] bool whole() const {
        return checksum == sum() || (key[0] == '\0' && checksum == 0);
    }
    [[nodiscard]] std::uint64_t sum() const {
        return fnv1a(std::as_bytes(std::span(this, 1)).first(offsetof(slot, checksum)));
    }
};

constexpr std::size_t table_slots = 4096;
constexpr std::size_t window = 8;  // slots in a row where one key can be
std::size_t first_slot(std::string_view key) {
    return fnv1a(std::as_bytes(std::span(key.data(), key.size()))) % (table_slots - window + 1);
}

/// Answers to a put: the number of bytes in an otherwise empty message.
enum answer : std::uint8_t { stored = 1, table_full = 2 };

answer store(std::span<slot> table, slot wanted) {
    const std::string_view key = wanted.key.data();
    wanted.checksum = wanted.sum();
    for (slot& s : table.subspan(first_slot(key), window)) {
        if (s.key[0] != '\0' && key != s.key.data()) continue;
        s = wanted;
        return stored;
    }
    return table_full;
}

/// Serves one client until it leaves or is silent for too long.
void serve_client(softrnic::connection& peer, std::span<slot> table,
                  std::chrono::milliseconds wait) {
    must(peer.create_queues({.max_inline = 2}));
    const softrnic::mr opened =
        must(softrnic::mr::create(peer.domain(), table, access::local_write | access::remote_read));
    softrnic::buffer inbox =
        must(softrnic::buffer::create(peer.domain(), sizeof(slot), access::local_write));
    must(peer.qp().recv(inbox.all()));
    must(peer.accept({.private_data = opened.remote().to_bytes()}));
    while (true) {
        // A client that only reads sends nothing; its end shows as a flushed receive.
        const auto wc = peer.recv_cq().wait_one(wait);
        if (!wc || !softrnic::ok(*wc)) return;
        if (wc->opcode != IBV_WC_RECV) continue;
        if (wc->byte_len != sizeof(slot)) return;
        slot wanted{};
        std::memcpy(&wanted, inbox.bytes().data(), sizeof wanted);
        wanted.key.back() = wanted.value.back() = '\0';
        must(peer.qp().recv(inbox.all()));
        must(peer.qp().send_inline(inbox.bytes().first(store(table, wanted))));
    }
}

int serve(const softrnic::address& where, unsigned long clients, std::chrono::milliseconds wait) {
    const softrnic::listener listener = example::listen(where);
    std::vector<slot> table(table_slots);
    for (; clients > 0; --clients) {
        softrnic::connection peer = must(listener.next(wait));
        serve_client(peer, table, wait);
    }
    return 0;
}

/// One put or get. `value` is nullptr for a get.
int call(const softrnic::address& where, const std::string& key, const std::string* value,
         std::chrono::milliseconds wait) {
    softrnic::connection peer = must(softrnic::resolve(where, {.timeout = wait}));
    must(peer.create_queues({.max_inline = sizeof(slot)}));
    softrnic::buffer memory = must(softrnic::buffer::create(peer.domain(), window * sizeof(slot),
                                                            read_sink_access(peer.context())));
    must(peer.qp().recv(memory.sub(0, table_full)));
    must(peer.connect({.timeout = wait}));
    if (peer.peer_data().size() < remote_slice::wire_size) die("no such service");
    const auto table = remote_slice::from_bytes(peer.peer_data().first<remote_slice::wire_size>());

    if (value != nullptr) {
        slot wanted{};
        key.copy(wanted.key.data(), wanted.key.size() - 1);
        value->copy(wanted.value.data(), wanted.value.size() - 1);
        must(peer.qp().send_inline(std::as_bytes(std::span(&wanted, 1)),
                                   {.flags = softrnic::send_flag::none}));
        if (must(must(peer.recv_cq().wait_one(wait))).byte_len != stored) die("no room there");
        return 0;
    }
    for (const softrnic::deadline until = wait; !until.expired();) {
        must(
            peer.qp().read(memory.all(), table.sub(first_slot(key) * sizeof(slot), memory.size())));
        must(must(peer.send_cq().wait_one(until)));
        std::array<slot, window> seen{};
        std::memcpy(seen.data(), memory.bytes().data(), sizeof seen);
        bool torn = false;
        for (const slot& s : seen) {
            if (!s.whole()) torn = true;
            if (!s.whole() || key != s.key.data()) continue;
            std::printf("%s\n", s.value.data());
            return 0;
        }
        if (!torn) return 3;
    }
    die("the slot never held still");
}

}  // namespace

int main(int argc, char** argv) {
    const example::arguments args(argc, argv, usage);
    if (args.word(0) == "server")
        return serve(args.address(args.count() > 1 ? args.word(1) : ""), args.number("clients", 1),
                     args.timeout());
    const bool put = args.word(0) == "put";
    const std::string key = args.word(2);
    const std::string value = put ? args.word(3) : "";
    if ((!put && args.word(0) != "get") || key.empty() || key.size() >= sizeof slot::key ||
        value.size() >= sizeof slot::value)
        args.wrong();
    return call(args.address(args.word(1)), key, put ? &value : nullptr, args.timeout());
}
