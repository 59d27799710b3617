// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "nldev.hpp"

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <optional>

#include "descriptor.hpp"

namespace support {
namespace {

using softrnic::result;

/// One request and its answers.
class request {
public:
    request(unsigned command, unsigned flags) {
        header().nlmsg_type = static_cast<std::uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command));
        header().nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
        header().nlmsg_len = NLMSG_HDRLEN;
    }

    void add(std::uint16_t type, const void* value, std::size_t size) {
        const nlattr attribute{static_cast<std::uint16_t>(NLA_HDRLEN + size), type};
        std::byte* at = message_.data() + header().nlmsg_len;
        std::memcpy(at, &attribute, sizeof attribute);
        std::memcpy(at + NLA_HDRLEN, value, size);
        header().nlmsg_len += static_cast<std::uint32_t>(NLA_HDRLEN + NLA_ALIGN(size));
    }
    void add(std::uint16_t type, const std::string& text) {
        add(type, text.c_str(), text.size() + 1);
    }

    /// Sends it. Each answer goes to take(header); the error of the last is the result.
    template <class F>
    result<void> run(F&& take) {
        const descriptor socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA));
        const timeval patience{20, 0};
        if (!socket ||
            setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) < 0)
            return softrnic::detail::fail_errno("socket");
        return exchange(socket.get(), take);
    }

private:
    nlmsghdr& header() { return *reinterpret_cast<nlmsghdr*>(message_.data()); }

    template <class F>
    result<void> exchange(int fd, F&& take) {
        if (send(fd, message_.data(), header().nlmsg_len, 0) < 0)
            return softrnic::detail::fail_errno("send");
        for (;;) {
            alignas(nlmsghdr) std::array<std::byte, 32768> answer;
            ssize_t size = recv(fd, answer.data(), answer.size(), 0);
            if (size < 0) return softrnic::detail::fail_errno("recv");
            for (auto* h = reinterpret_cast<nlmsghdr*>(answer.data()); NLMSG_OK(h, size);
                 h = NLMSG_NEXT(h, size)) {
                if (h->nlmsg_type == NLMSG_DONE) return {};
                if (h->nlmsg_type != NLMSG_ERROR) {
                    take(*h);
                    continue;
                }
                const int code = static_cast<const nlmsgerr*>(NLMSG_DATA(h))->error;
                return softrnic::detail::check(code, "netlink");
            }
        }
    }

    alignas(nlmsghdr) std::array<std::byte, 512> message_{};
};

/// The value of an attribute, if the message has it.
const nlattr* find(const nlmsghdr& message, std::uint16_t type) {
    const auto* at = static_cast<const std::byte*>(NLMSG_DATA(&message));
    const std::byte* end = reinterpret_cast<const std::byte*>(&message) + message.nlmsg_len;
    while (at + NLA_HDRLEN <= end) {
        const auto* attribute = reinterpret_cast<const nlattr*>(at);
        if (attribute->nla_len < NLA_HDRLEN) break;
        if ((attribute->nla_type & NLA_TYPE_MASK) == type) return attribute;
        at += NLA_ALIGN(attribute->nla_len);
    }
    return nullptr;
}

const char* value_of(const nlattr* attribute) {
    return reinterpret_cast<const char*>(attribute) + NLA_HDRLEN;
}

std::optional<std::uint32_t> index_of(const std::string& name) {
    std::optional<std::uint32_t> index;
    request dump(RDMA_NLDEV_CMD_GET, NLM_F_DUMP);
    (void)dump.run([&](const nlmsghdr& answer) {
        const nlattr* its_name = find(answer, RDMA_NLDEV_ATTR_DEV_NAME);
        const nlattr* its_index = find(answer, RDMA_NLDEV_ATTR_DEV_INDEX);
        if (its_name == nullptr || its_index == nullptr || name != value_of(its_name)) return;
        std::uint32_t number = 0;
        std::memcpy(&number, value_of(its_index), sizeof number);
        index = number;
    });
    return index;
}

}  // namespace

result<void> link_add(const std::string& name, const std::string& netdev) {
    request add(RDMA_NLDEV_CMD_NEWLINK, NLM_F_ACK);
    add.add(RDMA_NLDEV_ATTR_DEV_NAME, name);
    add.add(RDMA_NLDEV_ATTR_LINK_TYPE, "softrnic");
    add.add(RDMA_NLDEV_ATTR_NDEV_NAME, netdev);
    return add.run([](const nlmsghdr&) {});
}

result<void> link_delete(const std::string& name) {
    const std::optional<std::uint32_t> index = index_of(name);
    if (!index) return softrnic::detail::fail(ENODEV, "rdma link delete");
    request remove(RDMA_NLDEV_CMD_DELLINK, NLM_F_ACK);
    remove.add(RDMA_NLDEV_ATTR_DEV_INDEX, &*index, sizeof *index);
    return remove.run([](const nlmsghdr&) {});
}

}  // namespace support
