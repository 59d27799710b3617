// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// One connection between the scripted peer and a verbs program, both in this process, and what a
/// test expects of its verbs end. A step that must work and does not throws, which GoogleTest
/// reports as a failure.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "codec.hpp"
#include "must.hpp"
#include "scene.hpp"
#include "softrnic/softrnic.hpp"
#include "tcp.hpp"

namespace wirepeer {

using support::must;

/// This host's address on the link: $SRN_SERVER_ADDR or 10.1.0.1.
softrnic::address link_address();
/// The verbs side's listener, and what it makes of a connection from there.
const softrnic::listener& verbs_listener();
softrnic::connection next_request(const softrnic::address& from);

/// The memory that all sessions use, registered once.
class arena {
public:
    static arena& get();

    [[nodiscard]] const softrnic::pd& domain() const { return domain_; }
    [[nodiscard]] const scene& layout() const { return layout_; }

    /// Forgets what earlier cases have put there.
    void clear();

    /// What the remote regions hold.
    [[nodiscard]] std::span<std::uint8_t> bytes_of(const region& r);
    /// Registered for local use: where receives go, and where sends come from.
    [[nodiscard]] softrnic::local_slice inbox(std::uint32_t offset, std::uint32_t size) const;
    [[nodiscard]] byte_view inbox_bytes(std::uint32_t offset, std::uint32_t size) const;
    [[nodiscard]] softrnic::local_slice outbox(byte_view content);

    /// No byte of this value has come to rest anywhere.
    void expect_free_of(std::uint8_t value) const;

private:
    arena();
    region open_region(const softrnic::pd& domain, unsigned index, softrnic::access rights);

    softrnic::pd domain_;
    softrnic::pd foreign_domain_;
    softrnic::buffer regions_memory_;
    softrnic::buffer inbox_;
    softrnic::buffer outbox_;
    std::vector<softrnic::mr> registered_;
    scene layout_;
};

/// Which role in the set-up the scripted peer plays.
enum class role : std::uint8_t { initiator, responder };

/// A request, or a reply, that lets anybody connect: revision 2, peer-to-peer, RTR by Write.
mpa_frame usual_frame(role peer);

struct session_options {
    role peer = role::initiator;
    mpa_frame frame = usual_frame(role::initiator);
    /// Of the receives that are posted before the connection is made.
    std::uint32_t posted = receives;
    std::uint32_t size = receive_size;
    /// Room for so many work requests in the send queue.
    std::uint32_t sends = 32;
    softrnic::connect_options verbs{.timeout = patience};
    /// As initiator: send the empty Write that lets the other side speak.
    bool first_fpdu = true;
    /// As responder: read what the other side sends by itself.
    bool read_first = true;
    /// Largest TCP segment.
    int mss = 0;
};

session_options usual_options(role peer);

class session {
public:
    explicit session(const session_options& options = {});

    softrnic::connection end;
    tcp_stream wire;
    /// The frame that the verbs side sent.
    mpa_frame theirs;
    /// The first FPDU that the verbs side sent as initiator of a peer-to-peer connection.
    segment first;
    /// How it then greeted, unless the link does not; nobody answers.
    std::optional<greeting> hello;

    /// The next completion.
    ibv_wc next();
    void expect_receive(std::uint64_t id, std::size_t length);
    void expect_status(std::uint64_t id, ibv_wc_status status);

    /// The Terminate with this payload comes, and then an orderly end of the stream.
    void expect_terminate(byte_view payload) const;
    /// The verbs side tells of the end by this event and no other; its queue pair is in ERR, and
    /// the receives from this one on have been flushed.
    void expect_failed(ibv_event_type event, std::uint64_t first_flushed);
    /// As that, but the end is an orderly one, of which no event tells.
    void expect_ended(std::uint64_t first_flushed);

private:
    void be_initiator(const session_options& options);
    void be_responder(const session_options& options);
    void prepare(const session_options& options);

    std::uint64_t posted_ = 0;
};

/// The event that tells of a stream that was ended by this Terminate.
ibv_event_type event_of(term_code why);

/// Somebody else can connect, and messages go in both directions.
void expect_service();

}  // namespace wirepeer
