// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "kernel_answer.hpp"

#include <libmnl/libmnl.h>

#include <cerrno>
#include <cstddef>
#include <system_error>

namespace softrnic::ctl {
namespace {

int find_message(const nlattr* attribute, void* found) {
    if (mnl_attr_get_type(attribute) == NLMSGERR_ATTR_MSG &&
        mnl_attr_validate(attribute, MNL_TYPE_NUL_STRING) == 0)
        *static_cast<std::string*>(found) = mnl_attr_get_str(attribute);
    return MNL_CB_OK;
}

}  // namespace

std::string kernel_answer::text() const {
    const std::string meaning = std::generic_category().message(code);
    return said.empty() ? meaning : said + " (" + meaning + ")";
}

kernel_answer read_answer(const nlmsghdr& message) {
    if (mnl_nlmsg_get_payload_len(&message) < sizeof(nlmsgerr)) return {EBADMSG};
    const auto* error = static_cast<const nlmsgerr*>(mnl_nlmsg_get_payload(&message));
    kernel_answer answer{-error->error};
    if ((message.nlmsg_flags & NLM_F_ACK_TLVS) == 0) return answer;
    // Behind the error comes the request that it is about: all of it, or its header only.
    std::size_t skip = sizeof(nlmsgerr);
    if ((message.nlmsg_flags & NLM_F_CAPPED) == 0 && error->msg.nlmsg_len >= sizeof(nlmsghdr))
        skip += MNL_ALIGN(error->msg.nlmsg_len) - sizeof(nlmsghdr);
    if (skip < mnl_nlmsg_get_payload_len(&message))
        mnl_attr_parse(&message, static_cast<unsigned>(skip), find_message, &answer.said);
    return answer;
}

}  // namespace softrnic::ctl
