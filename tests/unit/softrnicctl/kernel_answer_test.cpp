// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "kernel_answer.hpp"

#include <gtest/gtest.h>
#include <libmnl/libmnl.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace softrnic::ctl {
namespace {

/// An answer as the kernel writes it.
class message {
public:
    message(int error, std::uint16_t flags, std::uint32_t request_size) {
        nlmsghdr* header = mnl_nlmsg_put_header(buffer_.data());
        header->nlmsg_type = NLMSG_ERROR;
        header->nlmsg_flags = flags;
        auto* body = static_cast<nlmsgerr*>(mnl_nlmsg_put_extra_header(header, sizeof(nlmsgerr)));
        body->error = error;
        body->msg.nlmsg_len = request_size;
        if ((flags & NLM_F_CAPPED) == 0 && request_size > sizeof(nlmsghdr))
            mnl_nlmsg_put_extra_header(header, request_size - sizeof(nlmsghdr));
    }
    nlmsghdr* header() { return reinterpret_cast<nlmsghdr*>(buffer_.data()); }
    message& text(const char* said) {
        mnl_attr_put_strz(header(), NLMSGERR_ATTR_MSG, said);
        return *this;
    }

private:
    alignas(nlmsghdr) std::array<std::byte, 512> buffer_{};
};

TEST(KernelAnswer, IsAnErrorNumber) {
    const kernel_answer good = read_answer(*message(0, 0, 40).header());
    EXPECT_TRUE(good);
    const kernel_answer bad = read_answer(*message(-EEXIST, 0, 40).header());
    EXPECT_FALSE(bad);
    EXPECT_EQ(bad.code, EEXIST);
    EXPECT_EQ(bad.text(), "File exists");
}

TEST(KernelAnswer, HasTheKernelsWords) {
    message capped(-EINVAL, NLM_F_CAPPED | NLM_F_ACK_TLVS, 400);
    EXPECT_EQ(read_answer(*capped.text("no such type").header()).text(),
              "no such type (Invalid argument)");
    message whole(-EINVAL, NLM_F_ACK_TLVS, 41);
    EXPECT_EQ(read_answer(*whole.text("no such type").header()).said, "no such type");
}

TEST(KernelAnswer, MayBeCutShort) {
    message text(-EINVAL, NLM_F_CAPPED | NLM_F_ACK_TLVS, 40);
    text.text("reason");
    // What fills up the last word does not count.
    for (std::uint32_t size = sizeof(nlmsghdr); MNL_ALIGN(size) < text.header()->nlmsg_len;
         size++) {
        message cut = text;
        cut.header()->nlmsg_len = size;
        EXPECT_EQ(read_answer(*cut.header()).said, "") << size;
    }
    // The request that it claims to repeat is longer than all of it.
    message claims(-EINVAL, NLM_F_ACK_TLVS, 40);
    reinterpret_cast<nlmsgerr*>(claims.header() + 1)->msg.nlmsg_len = 0xfffffff0;
    EXPECT_EQ(read_answer(*claims.header()).code, EINVAL);
}

}  // namespace
}  // namespace softrnic::ctl
