// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "objects.hpp"

#include "must.hpp"

namespace support {

using softrnic::access;

idle_objects::idle_objects(const softrnic::address& where)
    : route_(must(softrnic::resolve(where.with_port(1)))),
      domain_(must(softrnic::pd::create(route_.context()))),
      wakeups_(must(softrnic::comp_channel::create(route_.context()))),
      queue_(must(softrnic::cq::create(route_.context(), 64, &wakeups_))),
      receives_(must(softrnic::srq::create(domain_, 32))),
      listener_(must(softrnic::listen(where.with_port(0)))) {
    for (const access rights : {access::none, access::local_write, access::remote_read})
        memory_.push_back(must(softrnic::buffer::create(domain_, 65536, rights)));
    for (std::uint64_t i = 0; i < 8; ++i) must(receives_.recv(memory_[1].sub(i * 4096, 4096), i));
    must(receives_.set_limit(4));
    must(queue_.arm());
    must(route_.create_queues({.domain = &domain_,
                               .send_cq = &queue_,
                               .recv_cq = nullptr,
                               .shared_receives = &receives_}));
}

/// The queue pair goes before what it uses.
idle_objects::~idle_objects() {
    route_.destroy_queues();
}

}  // namespace support
