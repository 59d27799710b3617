// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// What a program needs that does wrong things to connections: queue pairs and ids without a
/// library, and a TCP socket of its own as the other side. A step that has to work and does not
/// throws, as does a wait that takes too long.
#pragma once

#include <rdma/rdma_cma.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>

#include "raw_cm.hpp"
#include "raw_verbs.hpp"
#include "tcp.hpp"

namespace cm_misuse {

namespace raw = support::raw;
namespace raw_cm = support::raw_cm;

/// What ends at once in a machine that has nothing else to do: longer on kernels that check
/// themselves.
std::chrono::seconds soon();
/// Does it, and throws if that was not soon.
void ends_soon(const std::string& what, const std::function<void()>& action);

/// A context and what queue pairs of it need.
class verbs_scene {
public:
    explicit verbs_scene(const std::string& device_file);

    [[nodiscard]] int device() const { return device_.get(); }
    /// In INIT, as one that is to be connected has to be.
    [[nodiscard]] raw::queue make_qp() const;

private:
    support::descriptor device_;
    std::uint32_t pd_;
    std::uint32_t cq_;
};

/// A queue pair and its owner.
class owned_qp {
public:
    explicit owned_qp(const verbs_scene& scene);
    owned_qp(owned_qp&&) = delete;
    owned_qp& operator=(owned_qp&&) = delete;
    ~owned_qp();

    [[nodiscard]] std::uint32_t number() const { return queue_.number; }
    [[nodiscard]] std::uint32_t handle() const { return queue_.handle; }
    /// False if it was destroyed already.
    bool destroy() const;

private:
    int device_;
    raw::queue queue_;
};

/// Ids and events of one channel. What is left at its end goes with the file.
class cm_scene {
public:
    explicit cm_scene(const softrnic::address& where);

    [[nodiscard]] int channel() const { return channel_.get(); }

    /// The next event of the id of that kind, or of one of these kinds; events of others are lost.
    raw_cm::event await(std::uint32_t id, std::initializer_list<rdma_cm_event_type> kinds) const;

    /// An id that listens at a port that nobody has; where() tells it.
    std::uint32_t listen();
    [[nodiscard]] const softrnic::address& where() const { return where_; }
    /// A connection to the listener that has made its request, and the id of that request.
    struct request {
        wirepeer::tcp_stream peer;
        std::uint32_t id;
    };
    [[nodiscard]] request next_request() const;
    /// The same, but the event is left where it is.
    [[nodiscard]] wirepeer::tcp_stream make_request() const;

    /// An id that knows its way to a port.
    [[nodiscard]] std::uint32_t route_to(const softrnic::address& peer) const;

    void destroy(std::uint32_t id) const;

private:
    support::descriptor channel_;
    softrnic::address where_;
};

}  // namespace cm_misuse
