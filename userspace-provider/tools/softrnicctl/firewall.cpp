// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "firewall.hpp"

namespace softrnic::ctl {

check judge_firewall(const std::vector<input_chain>& chains) {
    const input_chain* doubtful = nullptr;
    for (const input_chain& chain : chains) {
        const std::string open = "nft insert rule " + chain.name + " tcp dport PORT accept";
        if (chain.drops && !chain.has_rules)
            return {verdict::wrong, "firewall",
                    "the chain \"" + chain.name + "\" drops all that comes in", open};
        if (chain.drops)
            return {verdict::unknown, "firewall",
                    "the chain \"" + chain.name +
                        "\" drops what no rule of it lets through; whether a program's port is "
                        "let through is to be looked at, and mended by " +
                        open,
                    "nft list chain " + chain.name};
        if (chain.has_rules) doubtful = &chain;
    }
    if (doubtful != nullptr)
        return {verdict::unknown, "firewall",
                "the chain \"" + doubtful->name + "\" has rules, which may drop connections",
                "nft list chain " + doubtful->name};
    return {verdict::ok, "firewall", "nothing drops what comes in"};
}

}  // namespace softrnic::ctl
