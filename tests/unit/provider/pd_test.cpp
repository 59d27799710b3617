// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "verbs/pd.hpp"

#include <gtest/gtest.h>

#include <cerrno>

#include "fake_kernel.hpp"

namespace softrnic::provider {
namespace {

TEST(ParentDomain, KeepsWhatItIsMadeOf) {
    test::fake_kernel kernel;
    ibv_pd* pd = alloc_pd(kernel.context());
    ibv_td_init_attr td_attr{};
    ibv_td* td = alloc_td(kernel.context(), &td_attr);
    ibv_parent_domain_init_attr attr{};
    attr.pd = pd;
    attr.td = td;
    ibv_pd* parent = alloc_parent_domain(kernel.context(), &attr);
    ASSERT_NE(parent, nullptr);
    EXPECT_EQ(parent->handle, pd->handle);
    EXPECT_TRUE(single_threaded(parent));
    EXPECT_FALSE(single_threaded(pd));
    EXPECT_EQ(dealloc_pd(pd), EBUSY);
    EXPECT_EQ(dealloc_td(td), EBUSY);
    EXPECT_EQ(dealloc_pd(parent), 0);
    EXPECT_EQ(dealloc_td(td), 0);
    EXPECT_EQ(dealloc_pd(pd), 0);
}

TEST(ParentDomain, RefusesWhatItCannotBe) {
    test::fake_kernel kernel;
    ibv_pd* pd = alloc_pd(kernel.context());
    ibv_parent_domain_init_attr attr{};
    EXPECT_EQ(alloc_parent_domain(kernel.context(), &attr), nullptr);
    EXPECT_EQ(errno, EINVAL);
    attr.pd = pd;
    attr.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
    EXPECT_EQ(alloc_parent_domain(kernel.context(), &attr), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
    attr.comp_mask = 0;
    ibv_pd* parent = alloc_parent_domain(kernel.context(), &attr);
    ASSERT_NE(parent, nullptr);
    EXPECT_FALSE(single_threaded(parent));
    attr.pd = parent;
    EXPECT_EQ(alloc_parent_domain(kernel.context(), &attr), nullptr);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(dealloc_pd(parent), 0);
    EXPECT_EQ(dealloc_pd(pd), 0);
    ibv_td_init_attr td_attr{.comp_mask = 1};
    EXPECT_EQ(alloc_td(kernel.context(), &td_attr), nullptr);
}

}  // namespace
}  // namespace softrnic::provider
