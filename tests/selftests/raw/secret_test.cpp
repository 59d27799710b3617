// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// The secret of a link, which both ends of a bring-up by hand have to know.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "end.hpp"
#include "port.hpp"

namespace {

using namespace by_hand;
using namespace std::string_literals;

constexpr std::size_t nonce_size = 16, proof_size = 32, proven_size = 72;
constexpr std::size_t frame_size = 20, enhanced_size = 4;

const std::string the_secret = "what only these hosts know";

/// What the link shows of its secret.
class secret_file {
public:
    explicit secret_file(const device& dev)
        : name_("/sys/class/infiniband/"s + dev.name() + "/raw/secret") {}

    std::string shown() const {
        std::string text;
        std::getline(std::ifstream(name_) >> std::ws, text);
        return text;
    }

    /// Returns whether the link takes it.
    bool set(const std::string& secret) const {
        // Each write() is a new secret.
        const std::string line = secret + '\n';
        const descriptor file(::open(name_.c_str(), O_WRONLY));
        return ::write(file.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size());
    }

private:
    std::string name_;
};

/// The link has a secret until the end of the scope.
class link_secret {
public:
    link_secret(const device& dev, const std::string& secret) : file_(dev) {
        if (!file_.set(secret)) throw std::runtime_error("the link takes no secret");
    }
    link_secret(const link_secret&) = delete;
    link_secret& operator=(const link_secret&) = delete;
    ~link_secret() { (void)file_.set(""); }

private:
    secret_file file_;
};

std::string big_endian(std::uint64_t value, int bytes) {
    std::string out;
    for (int i = bytes; i-- > 0;) out += static_cast<char>(value >> (8 * i));
    return out;
}

std::string bytes_of(const union ibv_gid& gid) {
    return {reinterpret_cast<const char*>(gid.raw), sizeof gid.raw};
}

/// What an end says of the two queue pairs of one link, both of which it knows.
std::string pair_data(const device& dev, const end& from, const end& to, const std::string& nonce) {
    return "srnQ\x01"s + (nonce.empty() ? '\x01' : '\x05') + "\0\0"s + bytes_of(dev.gid()) +
           bytes_of(dev.gid()) + big_endian(from.number(), 4) + big_endian(to.number(), 4) +
           big_endian(from.psn(), 4) + big_endian(to.psn(), 4) + nonce;
}

/// An MPA frame of revision 2: with IRD and ORD, for peers, and Write as the first message.
std::string enhanced_frame(const std::string& kind, const std::string& data) {
    return "MPA ID " + kind + " Frame\x50\x02" + big_endian(enhanced_size + data.size(), 2) +
           "\x80\x10\x80\x10" + data;
}

std::string proof_frame(const std::string& proof) {
    return "MPA ID Req Frame\0\x02"s + big_endian(proof.size(), 2) + proof;
}

enum class prover : char { responder = 1, initiator = 2 };

/// HMAC-SHA256 about what an initiator and the link have said to each other, as wire.md has it.
std::string proof_of(prover who, const std::string& secret, const std::string& request,
                     const std::string& challenge, std::uint16_t initiator_port) {
    const std::string about = static_cast<char>(who) + request + challenge.substr(0, proven_size) +
                              big_endian(initiator_port, 2) + big_endian(5040, 2);
    std::string mac(proof_size, '\0');
    unsigned size = 0;
    if (HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
             reinterpret_cast<const unsigned char*>(about.data()), about.size(),
             reinterpret_cast<unsigned char*>(mac.data()), &size) == nullptr ||
        size != proof_size)
        throw std::runtime_error("HMAC");
    return mac;
}

/// Two queue pairs in INIT. The lower one is that which connects.
class Secret : public testing::Test {
protected:
    void SetUp() override {
        if (low->number() > high->number()) std::swap(low, high);
        for (end* e : {low.get(), high.get()}) ASSERT_EQ(e->to_init(), 0);
    }

    /// The one that waits is in RTR, and the port is open.
    void wait_for_low() { ASSERT_EQ(high->to_rtr(low->number(), low->psn()), 0); }

    /// Whatever happened before, they find each other.
    void expect_real_peers() {
        ASSERT_EQ(low->to_rtr(high->number(), high->psn()), 0);
        for (end* e : {low.get(), high.get()}) ASSERT_EQ(e->to_rts(), 0);
        expect_send(*low, *high);
        expect_send(*high, *low);
    }

    /// A request in place of low's.
    std::string request_data(const std::string& its_nonce) const {
        return pair_data(dev, *low, *high, its_nonce);
    }

    /// Makes the request, and returns the private data of the challenge, or nothing.
    std::string challenge(const stranger& s, const std::string& data) const {
        s.say(enhanced_frame("Req", data));
        const std::size_t head = frame_size + enhanced_size;
        const std::string reply = s.hear(head + proven_size + proof_size, 10s);
        return reply.size() > head ? reply.substr(head) : "";
    }

    /// The private data of the request that the link makes.
    static std::string request_of(const stranger& s) {
        const std::size_t head = frame_size + enhanced_size;
        return s.hear(head + proven_size, 10s).substr(head);
    }

    device dev;
    std::unique_ptr<end> low = std::make_unique<end>(dev, 0x1111),
                         high = std::make_unique<end>(dev, 0x2222);
    const std::string nonce = std::string(nonce_size, 'n');
};

TEST_F(Secret, WhatALinkTakes) {
    const secret_file file(dev);
    EXPECT_EQ(file.shown(), "none");
    EXPECT_FALSE(file.set(std::string(15, 's')));
    EXPECT_FALSE(file.set(std::string(1025, 's')));
    EXPECT_EQ(file.shown(), "none");
    for (const std::size_t size : {16U, 1024U}) {
        EXPECT_TRUE(file.set(std::string(size, 's')));
        EXPECT_EQ(file.shown(), "set");
    }
    EXPECT_TRUE(file.set(""));
    EXPECT_EQ(file.shown(), "none");
}

TEST_F(Secret, BothKnowIt) {
    const link_secret secret(dev, the_secret);
    for (int i = 0; i < 20; i++) {
        end a(dev), b(dev);
        ASSERT_NO_FATAL_FAILURE(bring_up(a, b));
        ASSERT_NO_FATAL_FAILURE(expect_send(a, b));
        ASSERT_NO_FATAL_FAILURE(expect_send(b, a));
    }
}

TEST_F(Secret, ConnectedToItself) {
    const link_secret secret(dev, the_secret);
    ASSERT_EQ(low->to_rtr(low->number(), low->psn()), 0);
    ASSERT_EQ(low->to_rts(), 0);
    expect_send(*low, *low);
}

// An initiator that is no softrnic, but goes by the documents. It sends its proof in pieces.
TEST_F(Secret, AsDocumented) {
    const link_secret secret(dev, the_secret);
    wait_for_low();
    const stranger peer(dev);
    const std::string request = request_data(nonce);
    const std::string reply = challenge(peer, request);
    ASSERT_EQ(reply.size(), proven_size + proof_size);
    std::string expected =
        pair_data(dev, *high, *low, reply.substr(proven_size - nonce_size, nonce_size));
    expected[5] = static_cast<char>(0x02 | 0x04);  // it answers, and is not in RTS
    expected.replace(48, 4, 4, '\0');
    EXPECT_EQ(reply.substr(0, proven_size), expected);
    EXPECT_EQ(reply.substr(proven_size),
              proof_of(prover::responder, the_secret, request, reply, peer.port()));
    EXPECT_FALSE(dev.event(0s)) << "connected without a proof";
    const std::string proof =
        proof_frame(proof_of(prover::initiator, the_secret, request, reply, peer.port()));
    for (std::size_t at = 0; at < proof.size(); at += 13) peer.say(proof.substr(at, 13));
    expected.resize(proven_size - nonce_size);
    expected[5] = 0x02;
    EXPECT_EQ(peer.hear(frame_size + enhanced_size + expected.size(), 10s)
                  .substr(frame_size + enhanced_size),
              expected);
    EXPECT_EQ(dev.event(10s), IBV_EVENT_COMM_EST);
}

// Nobody gets anything of a queue pair without the right proof, and it stays there for its peer.
TEST_F(Secret, WrongProofs) {
    const link_secret secret(dev, the_secret);
    wait_for_low();
    const std::string request = request_data(nonce);
    std::string used;
    const auto wrong = [&](const std::string& reply, std::uint16_t port, int which) {
        const std::string right = proof_of(prover::initiator, the_secret, request, reply, port);
        std::string flipped = right;
        flipped[static_cast<std::size_t>(which) % proof_size] ^= 0x10;
        used = right;
        const std::vector<std::string> all{
            proof_frame(std::string(proof_size, 'x')),
            proof_frame(reply.substr(proven_size)),  // the responder's own
            proof_frame(proof_of(prover::initiator, "another secret!!", request, reply, port)),
            // A proof for another connection of the same address, which a relay might hand on.
            proof_frame(proof_of(prover::initiator, the_secret, request, reply,
                                 static_cast<std::uint16_t>(port + 1))),
            proof_frame(flipped), proof_frame(right.substr(1)), proof_frame(right + "x"),
            proof_frame(""), enhanced_frame("Req", request), "GET / HTTP/1.0\r\n\r\n      "s};
        return all[static_cast<std::size_t>(which) % all.size()];
    };
    for (int which = 0; which < 40; which++) {
        const stranger peer(dev);
        const std::string reply = challenge(peer, request);
        ASSERT_EQ(reply.size(), proven_size + proof_size) << which;
        peer.say(wrong(reply, peer.port(), which));
        EXPECT_TRUE(peer.is_closed(10s)) << which;
    }
    const stranger again(dev);
    ASSERT_FALSE(challenge(again, request).empty());
    again.say(proof_frame(used));
    EXPECT_TRUE(again.is_closed(10s)) << "a proof was good for two connections";
    EXPECT_FALSE(dev.event(0s)) << "somebody has connected";
    expect_real_peers();
}

TEST_F(Secret, BothHaveToHaveOne) {
    {
        const link_secret secret(dev, the_secret);
        wait_for_low();
        const stranger peer(dev);
        EXPECT_EQ(challenge(peer, request_data("")), "");
        EXPECT_TRUE(peer.is_closed(10s));
    }
    const stranger peer(dev);
    EXPECT_EQ(challenge(peer, request_data(nonce)), "");
    EXPECT_TRUE(peer.is_closed(10s));
    EXPECT_FALSE(dev.event(0s)) << "somebody has connected";
    expect_real_peers();
}

// Who was asked for a proof and is silent keeps nobody out, and comes too late then.
TEST_F(Secret, SilenceKeepsNobodyOut) {
    const link_secret secret(dev, the_secret);
    wait_for_low();
    const stranger peer(dev), silent(dev);
    const std::string request = request_data(nonce);
    ASSERT_FALSE(challenge(silent, request).empty());
    const std::string reply = challenge(peer, request);
    expect_real_peers();
    peer.say(proof_frame(proof_of(prover::initiator, the_secret, request, reply, peer.port())));
    EXPECT_TRUE(peer.is_closed(10s));
    EXPECT_TRUE(silent.is_closed(30s));
    expect_send(*low, *high);
}

// The port stays open for another queue pair, which has a lower number for its peer.
TEST_F(Secret, ResetBeforeTheProof) {
    const link_secret secret(dev, the_secret);
    end other(dev);
    ASSERT_EQ(other.to_init(), 0);
    ASSERT_EQ(other.to_rtr(1, 7), 0);
    for (const std::uint32_t psn : {low->psn(), low->psn() + 1}) {
        wait_for_low();
        const stranger peer(dev);
        const std::string request = request_data(nonce);
        const std::string reply = challenge(peer, request);
        ASSERT_EQ(reply.size(), proven_size + proof_size);
        ASSERT_EQ(high->reset(), 0);
        if (psn != low->psn()) {
            // It waits again, but for somebody else.
            ASSERT_EQ(high->to_init(), 0);
            ASSERT_EQ(high->to_rtr(low->number(), psn), 0);
        }
        peer.say(proof_frame(proof_of(prover::initiator, the_secret, request, reply, peer.port())));
        EXPECT_TRUE(peer.is_closed(10s));
        ASSERT_EQ(high->reset(), 0);
        ASSERT_EQ(high->to_init(), 0);
    }
    EXPECT_FALSE(dev.event(0s)) << "somebody has connected";
    wait_for_low();
    expect_real_peers();
}

// The secret of the time when the proof comes counts.
TEST_F(Secret, AnotherSecretBeforeTheProof) {
    const link_secret secret(dev, the_secret);
    wait_for_low();
    const std::string request = request_data(nonce);
    for (const std::string& next : {"another secret of this link"s, ""s}) {
        const link_secret first(dev, the_secret);
        const stranger peer(dev);
        const std::string reply = challenge(peer, request);
        ASSERT_EQ(reply.size(), proven_size + proof_size);
        ASSERT_TRUE(secret_file(dev).set(next));
        peer.say(proof_frame(proof_of(prover::initiator, the_secret, request, reply, peer.port())));
        EXPECT_TRUE(peer.is_closed(10s));
    }
    EXPECT_FALSE(dev.event(0s)) << "somebody has connected";
    expect_real_peers();
}

// The one that connects proves nothing to who cannot prove it first, and goes on to try.
TEST_F(Secret, ResponderThatDoesNotKnowIt) {
    const link_secret secret(dev, the_secret);
    impostor there(dev);
    ASSERT_EQ(low->to_rtr(high->number(), high->psn()), 0);
    const std::string said = pair_data(dev, *high, *low, nonce);
    for (const std::string& data :
         {pair_data(dev, *high, *low, ""), said, said + std::string(proof_size - 1, 'x'),
          said + std::string(proof_size, 'x'), ""s}) {
        const auto guest = there.next(20s);
        ASSERT_TRUE(guest);
        guest->say(enhanced_frame("Rep", data));
        EXPECT_EQ(request_of(*guest).size(), proven_size);
        EXPECT_TRUE(guest->is_closed(10s)) << data.size() << " bytes";
    }
    const auto guest = there.next(20s);
    ASSERT_TRUE(guest);
    const std::string request = request_of(*guest);
    guest->say(enhanced_frame(
        "Rep", said + proof_of(prover::responder, the_secret, request, said, guest->peer_port())));
    EXPECT_EQ(
        guest->hear(frame_size + proof_size, 10s),
        proof_frame(proof_of(prover::initiator, the_secret, request, said, guest->peer_port())));
    EXPECT_FALSE(dev.event(0s)) << "it has connected";
}

}  // namespace
