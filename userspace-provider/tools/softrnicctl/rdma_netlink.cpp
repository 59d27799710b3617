// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "rdma_netlink.hpp"

#include <libmnl/libmnl.h>
#include <rdma/rdma_netlink.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <system_error>

namespace softrnic::ctl {
namespace {

struct search {
    std::uint16_t type;
    mnl_attr_data_type form;
    const nlattr* found = nullptr;
};

int compare(const nlattr* attribute, void* data) {
    auto& wanted = *static_cast<search*>(data);
    if (mnl_attr_get_type(attribute) != wanted.type) return MNL_CB_OK;
    if (mnl_attr_validate(attribute, wanted.form) == 0) wanted.found = attribute;
    return MNL_CB_STOP;
}

/// The attribute of this type, if the message has it and it has this form.
const nlattr* find(const nlmsghdr& message, std::uint16_t type, mnl_attr_data_type form) {
    search wanted{.type = type, .form = form};
    mnl_attr_parse(&message, 0, compare, &wanted);
    return wanted.found;
}

std::string text_of(const nlmsghdr& message, std::uint16_t type) {
    const nlattr* attribute = find(message, type, MNL_TYPE_NUL_STRING);
    return attribute == nullptr ? std::string() : mnl_attr_get_str(attribute);
}

struct reading {
    const std::function<void(const nlmsghdr&)>* take;
    kernel_answer answer;
};

int take_message(const nlmsghdr* message, void* data) {
    const auto& take = *static_cast<reading*>(data)->take;
    if (take) take(*message);
    return MNL_CB_OK;
}

int take_answer(const nlmsghdr* message, void* data) {
    static_cast<reading*>(data)->answer = read_answer(*message);
    return MNL_CB_STOP;
}

int take_done(const nlmsghdr* /*message*/, void* /*data*/) {
    return MNL_CB_STOP;
}

}  // namespace

/// One request.
class rdma_netlink::request {
public:
    request(unsigned command, unsigned flags) {
        nlmsghdr* header = mnl_nlmsg_put_header(buffer_.data());
        header->nlmsg_type = static_cast<std::uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command));
        header->nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
    }

    request& with(std::uint16_t type, std::uint32_t value) {
        fits_ = fits_ && mnl_attr_put_u32_check(header(), buffer_.size(), type, value);
        return *this;
    }
    request& with(std::uint16_t type, const std::string& text) {
        fits_ = fits_ && mnl_attr_put_strz_check(header(), buffer_.size(), type, text.c_str());
        return *this;
    }

    [[nodiscard]] bool fits() const noexcept { return fits_; }
    [[nodiscard]] const nlmsghdr* header() const noexcept {
        return reinterpret_cast<const nlmsghdr*>(buffer_.data());
    }

private:
    [[nodiscard]] nlmsghdr* header() noexcept {
        return reinterpret_cast<nlmsghdr*>(buffer_.data());
    }

    alignas(nlmsghdr) std::array<std::byte, 1024> buffer_{};
    bool fits_ = true;
};

void rdma_netlink::closer::operator()(mnl_socket* socket) const noexcept {
    mnl_socket_close(socket);
}

outcome<rdma_netlink> rdma_netlink::open() {
    mnl_socket* socket = mnl_socket_open2(NETLINK_RDMA, SOCK_CLOEXEC);
    if (socket == nullptr) {
        if (errno == EPROTONOSUPPORT)
            return problem{.what = "the kernel has no InfiniBand core, which softrnic needs",
                           .mend = "softrnicctl doctor"};
        return problem{.what = "RDMA netlink: " + std::generic_category().message(errno)};
    }
    rdma_netlink opened(socket);
    // Old kernels have no text for their errors; nothing else changes without these.
    int on = 1;
    (void)mnl_socket_setsockopt(socket, NETLINK_EXT_ACK, &on, sizeof on);
    (void)mnl_socket_setsockopt(socket, NETLINK_CAP_ACK, &on, sizeof on);
    if (mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) != 0)
        return problem{.what = "RDMA netlink: " + std::generic_category().message(errno)};
    return opened;
}

kernel_answer rdma_netlink::exchange(const request& asked,
                                     const std::function<void(const nlmsghdr&)>& take) {
    if (!asked.fits()) return {ENAMETOOLONG};
    if (mnl_socket_sendto(socket_.get(), asked.header(), asked.header()->nlmsg_len) < 0)
        return {errno};
    std::array<mnl_cb_t, NLMSG_DONE + 1> control{};
    control[NLMSG_ERROR] = take_answer;
    control[NLMSG_DONE] = take_done;
    reading state{.take = &take, .answer = {}};
    alignas(nlmsghdr) std::array<std::byte, 32768> answer;
    int more = MNL_CB_OK;
    while (more == MNL_CB_OK) {
        const ssize_t got = mnl_socket_recvfrom(socket_.get(), answer.data(), answer.size());
        if (got < 0) return {errno};
        more = mnl_cb_run2(answer.data(), static_cast<std::size_t>(got), 0, 0, take_message, &state,
                           control.data(), control.size());
        if (more < 0) return {errno};
    }
    return state.answer;
}

outcome<std::vector<rdma_device>> rdma_netlink::devices() {
    std::vector<rdma_device> found;
    const kernel_answer answer =
        exchange(request(RDMA_NLDEV_CMD_GET, NLM_F_DUMP), [&](const nlmsghdr& message) {
            const nlattr* index = find(message, RDMA_NLDEV_ATTR_DEV_INDEX, MNL_TYPE_U32);
            if (index != nullptr)
                found.push_back(
                    {mnl_attr_get_u32(index), text_of(message, RDMA_NLDEV_ATTR_DEV_NAME)});
        });
    if (!answer) return problem{.what = "cannot list RDMA devices: " + answer.text()};
    return found;
}

outcome<rdma_port> rdma_netlink::first_port(std::uint32_t device) {
    rdma_port port;
    const kernel_answer answer = exchange(
        request(RDMA_NLDEV_CMD_PORT_GET, NLM_F_ACK)
            .with(RDMA_NLDEV_ATTR_DEV_INDEX, device)
            .with(RDMA_NLDEV_ATTR_PORT_INDEX, 1U),
        [&](const nlmsghdr& message) {
            if (const nlattr* state = find(message, RDMA_NLDEV_ATTR_PORT_STATE, MNL_TYPE_U8))
                port.state = mnl_attr_get_u8(state);
            port.netdev = text_of(message, RDMA_NLDEV_ATTR_NDEV_NAME);
        });
    if (!answer) return problem{.what = "cannot look at an RDMA device: " + answer.text()};
    return port;
}

kernel_answer rdma_netlink::add_link(const std::string& name, const std::string& type,
                                     const std::string& netdev) {
    return exchange(request(RDMA_NLDEV_CMD_NEWLINK, NLM_F_ACK)
                        .with(RDMA_NLDEV_ATTR_DEV_NAME, name)
                        .with(RDMA_NLDEV_ATTR_LINK_TYPE, type)
                        .with(RDMA_NLDEV_ATTR_NDEV_NAME, netdev));
}

kernel_answer rdma_netlink::delete_link(std::uint32_t device) {
    return exchange(
        request(RDMA_NLDEV_CMD_DELLINK, NLM_F_ACK).with(RDMA_NLDEV_ATTR_DEV_INDEX, device));
}

kernel_answer rdma_netlink::rename(std::uint32_t device, const std::string& name) {
    return exchange(request(RDMA_NLDEV_CMD_SET, NLM_F_ACK)
                        .with(RDMA_NLDEV_ATTR_DEV_INDEX, device)
                        .with(RDMA_NLDEV_ATTR_DEV_NAME, name));
}

}  // namespace softrnic::ctl
