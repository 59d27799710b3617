// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <memory>
#include <system_error>

#include "descriptor.hpp"
#include "firewall.hpp"

namespace softrnic::ctl {
namespace {

template <std::size_t Most>
struct attributes {
    std::array<const nlattr*, Most + 1> by_type{};

    static int take(const nlattr* attribute, void* data) {
        const std::uint16_t type = mnl_attr_get_type(attribute);
        if (type <= Most) static_cast<attributes*>(data)->by_type.at(type) = attribute;
        return MNL_CB_OK;
    }
    [[nodiscard]] std::uint32_t number(std::size_t type) const {
        const nlattr* attribute = by_type.at(type);
        if (attribute == nullptr || mnl_attr_validate(attribute, MNL_TYPE_U32) != 0) return 0;
        return ntohl(mnl_attr_get_u32(attribute));
    }
    [[nodiscard]] std::string text(std::size_t type) const {
        const nlattr* attribute = by_type.at(type);
        if (attribute == nullptr || mnl_attr_validate(attribute, MNL_TYPE_NUL_STRING) != 0)
            return "";
        return mnl_attr_get_str(attribute);
    }
};

/// As nft(8) calls them; empty: packets of another kind.
std::string family_name(std::uint8_t family) {
    switch (family) {
        case NFPROTO_INET: return "inet";
        case NFPROTO_IPV4: return "ip";
        case NFPROTO_IPV6: return "ip6";
        case NFPROTO_NETDEV: return "netdev";
        default: return "";
    }
}

/// Packets to this host come through the hooks of ingress, prerouting and input.
bool is_incoming(std::uint8_t family, std::uint32_t hook) {
    if (family == NFPROTO_NETDEV) return hook == NF_NETDEV_INGRESS;
    return hook == NF_INET_LOCAL_IN || hook == NF_INET_PRE_ROUTING || hook == NF_INET_INGRESS;
}

int take_chain(const nlmsghdr* message, void* data) {
    const auto* about = static_cast<const nfgenmsg*>(mnl_nlmsg_get_payload(message));
    const std::string family = family_name(about->nfgen_family);
    attributes<NFTA_CHAIN_MAX> chain;
    mnl_attr_parse(message, sizeof *about, attributes<NFTA_CHAIN_MAX>::take, &chain);
    const nlattr* hook_attribute = chain.by_type.at(NFTA_CHAIN_HOOK);
    if (hook_attribute == nullptr || family.empty()) return MNL_CB_OK;
    attributes<NFTA_HOOK_MAX> hook;
    mnl_attr_parse_nested(hook_attribute, attributes<NFTA_HOOK_MAX>::take, &hook);
    if (!is_incoming(about->nfgen_family, hook.number(NFTA_HOOK_HOOKNUM))) return MNL_CB_OK;
    static_cast<std::vector<input_chain>*>(data)->push_back(
        {family + " " + chain.text(NFTA_CHAIN_TABLE) + " " + chain.text(NFTA_CHAIN_NAME),
         chain.by_type.at(NFTA_CHAIN_POLICY) != nullptr &&
             chain.number(NFTA_CHAIN_POLICY) == NF_DROP,
         chain.number(NFTA_CHAIN_USE) != 0});
    return MNL_CB_OK;
}

/// 0, or an errno value.
int read_chains(std::vector<input_chain>& chains) {
    const std::unique_ptr<mnl_socket, decltype(&mnl_socket_close)> socket(
        mnl_socket_open2(NETLINK_NETFILTER, SOCK_CLOEXEC), mnl_socket_close);
    if (!socket || mnl_socket_bind(socket.get(), 0, MNL_SOCKET_AUTOPID) != 0) return errno;
    alignas(nlmsghdr) std::array<std::byte, 64> request{};
    nlmsghdr* header = mnl_nlmsg_put_header(request.data());
    header->nlmsg_type = (NFNL_SUBSYS_NFTABLES << 8) | NFT_MSG_GETCHAIN;
    header->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    mnl_nlmsg_put_extra_header(header, sizeof(nfgenmsg));
    if (mnl_socket_sendto(socket.get(), header, header->nlmsg_len) < 0) return errno;
    alignas(nlmsghdr) std::array<std::byte, 32768> answer;
    for (int more = MNL_CB_OK; more == MNL_CB_OK;) {
        const ssize_t got = mnl_socket_recvfrom(socket.get(), answer.data(), answer.size());
        if (got < 0) return errno;
        more = mnl_cb_run(answer.data(), static_cast<std::size_t>(got), 0, 0, take_chain, &chains);
        if (more < 0) return errno;
    }
    return 0;
}

/// The older interface of iptables has its own list of tables.
void read_legacy(std::vector<input_chain>& chains) {
    for (const char* file : {"/proc/net/ip_tables_names", "/proc/net/ip6_tables_names"}) {
        std::ifstream tables(file);
        for (std::string table; std::getline(tables, table);)
            chains.push_back({"iptables-legacy " + table, false, true});
    }
}

}  // namespace

checks check_firewall() {
    std::vector<input_chain> chains;
    // To ask would load it.
    const int error = exists("/sys/module/nf_tables") ? read_chains(chains) : 0;
    if (error != 0)
        return {{verdict::unknown, "firewall",
                 "its rules cannot be read: " + std::generic_category().message(error),
                 "nft list ruleset"}};
    read_legacy(chains);
    return {judge_firewall(chains)};
}

}  // namespace softrnic::ctl
