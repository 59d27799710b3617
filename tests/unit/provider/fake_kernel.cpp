// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "fake_kernel.hpp"

#include <gtest/gtest.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstring>

#include "abi/libibverbs_private.hpp"

namespace softrnic::provider::test {

namespace {
constexpr std::size_t area = 64 * 1024;  // of one queue
constexpr std::size_t areas = 5;
}  // namespace

fake_kernel* the_kernel = nullptr;

fake_kernel::fake_kernel() : fd_(::memfd_create("fake-kernel", 0)) {
    EXPECT_EQ(the_kernel, nullptr);
    the_kernel = this;
    EXPECT_EQ(::ftruncate(fd_, areas * area), 0);
    memory_ = static_cast<std::byte*>(
        ::mmap(nullptr, areas * area, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0));
    context_.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
    context_.context.cmd_fd = fd_;
    context_.context.async_fd = -1;
    context_.features = SRN_FEATURE_SQ_SILENT | SRN_FEATURE_QP_GONE;

    qp.map = {0, area};
    qp.sq_depth = 4;
    qp.sq_offset = sizeof(srn_qp_ctrl);
    qp.sq_stride = 128;
    qp.sq_max_sge = 3;
    qp.sq_max_inline = 64;
    qp.rq_depth = 4;
    qp.rq_offset = qp.sq_offset + qp.sq_depth * qp.sq_stride;
    qp.rq_stride = 64;
    qp.rq_max_sge = 2;
    srq.map = {area, area};
    srq.depth = 8;
    srq.rq_offset = sizeof(srn_srq_ctrl);
    srq.rq_stride = 64;
    srq.max_sge = 2;
    cq.map = {2 * area, area};
    cq.depth = 16;
    cq.cqe_offset = sizeof(srn_cq_ctrl);
    resized_cq.map = {3 * area, area};
    resized_cq.depth = 64;
    resized_cq.cqe_stride = 64;
    resized_srq.map = {4 * area, area};
    resized_srq.depth = 16;
}

fake_kernel::~fake_kernel() {
    EXPECT_EQ(objects, 0);
    ::munmap(memory_, areas * area);
    ::close(fd_);
    the_kernel = nullptr;
}

void fake_kernel::move_cqes() {
    for (std::uint32_t i = cq_control().cons; i != cq_control().prod; ++i)
        new_cqe(i) = first_cqe(i);
    cq_is_resized_ = true;
}

void fake_kernel::complete(const srn_cqe& entry) {
    cqe(cq_control().prod++) = entry;
}

int fake_kernel::ring(const rung& bell) {
    doorbells.push_back(bell);
    if (!completed_by_doorbells.empty()) {
        complete(completed_by_doorbells.front());
        completed_by_doorbells.pop_front();
    }
    if (doorbell_errors.empty()) return 0;
    const int error = doorbell_errors.front();
    doorbell_errors.pop_front();
    return error;
}

namespace {

template <class Driver>
void answer(void* resp, std::size_t size, std::size_t core_size, const Driver& driver) {
    ASSERT_EQ(size, core_size + sizeof(driver));
    std::memcpy(static_cast<std::byte*>(resp) + core_size, &driver, sizeof(driver));
}

const ib_uverbs_attr* find(const ib_uverbs_ioctl_hdr& header, std::uint16_t id) {
    for (int i = 0; i < header.num_attrs; ++i) {
        if (header.attrs[i].attr_id == id) return &header.attrs[i];
    }
    return nullptr;
}

template <class T>
T* pointer_in(const ib_uverbs_attr& attr) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): that is how attributes carry addresses
    return reinterpret_cast<T*>(attr.data);
}

template <class T>
void reply(const ib_uverbs_ioctl_hdr& header, std::uint16_t id, const T& value) {
    const ib_uverbs_attr* attr = find(header, id);
    ASSERT_NE(attr, nullptr);
    ASSERT_EQ(attr->len, sizeof(T));
    std::memcpy(pointer_in<void>(*attr), &value, sizeof(T));
}

int create_cq(const ib_uverbs_ioctl_hdr& header) {
    EXPECT_EQ(find(header, UVERBS_ATTR_CREATE_CQ_CQE)->len, sizeof(std::uint32_t));
    EXPECT_EQ(find(header, UVERBS_ATTR_CREATE_CQ_USER_HANDLE)->len, sizeof(std::uint64_t));
    EXPECT_EQ(find(header, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL), nullptr);
    const ib_uverbs_attr* flags = find(header, UVERBS_ATTR_CREATE_CQ_FLAGS);
    the_kernel->cq_flags = 0;
    // It lies in the first bytes, whatever the order of bytes.
    if (flags != nullptr) std::memcpy(&the_kernel->cq_flags, &flags->data, sizeof(std::uint32_t));
    reply(header, UVERBS_ATTR_CREATE_CQ_RESP_CQE, std::uint32_t{the_kernel->cq.depth});
    reply(header, UVERBS_ATTR_UHW_OUT, the_kernel->cq);
    const_cast<ib_uverbs_attr*>(find(header, UVERBS_ATTR_CREATE_CQ_HANDLE))->data = 77;
    ++the_kernel->objects;
    return 0;
}

int invoke_write(const ib_uverbs_ioctl_hdr& header) {
    const auto* core_in = find(header, UVERBS_ATTR_CORE_IN);
    EXPECT_EQ(core_in->len, sizeof(ib_uverbs_post_send));
    EXPECT_EQ(find(header, UVERBS_ATTR_CORE_OUT)->len, sizeof(ib_uverbs_post_send_resp));
    const auto& command = *pointer_in<ib_uverbs_post_send>(*core_in);
    EXPECT_EQ(command.wr_count, 0U);
    const auto number = static_cast<std::uint32_t>(find(header, UVERBS_ATTR_WRITE_CMD)->data);
    return the_kernel->ring({number, command.qp_handle, true});
}

int uverbs_ioctl_call(const ib_uverbs_ioctl_hdr& header) {
    EXPECT_EQ(header.driver_id, SRN_DRIVER_ID);
    EXPECT_EQ(header.length, sizeof(header) + header.num_attrs * sizeof(ib_uverbs_attr));
    if (header.object_id == UVERBS_OBJECT_CQ) return create_cq(header);
    if (header.method_id == UVERBS_METHOD_INVOKE_WRITE) return invoke_write(header);
    return EOPNOTSUPP;
}

/// As strict as the uverbs core of the kernel.
int uverbs_write(const void* data, std::size_t size) {
    ib_uverbs_cmd_hdr header{};
    std::memcpy(&header, data, sizeof(header));
    const auto& command = *reinterpret_cast<const ib_uverbs_post_send*>(
        static_cast<const std::byte*>(data) + sizeof(header));
    const std::size_t wqe_size = header.command == IB_USER_VERBS_CMD_POST_SEND
                                     ? sizeof(ib_uverbs_send_wr)
                                     : sizeof(ib_uverbs_recv_wr);
    if (size != sizeof(header) + sizeof(ib_uverbs_post_send) || header.in_words * 4 != size ||
        header.out_words * 4 != sizeof(ib_uverbs_post_send_resp) || command.response == 0 ||
        command.wr_count != 0 || command.sge_count != 0 || command.wqe_size < wqe_size) {
        ADD_FAILURE() << "malformed doorbell";
        return EINVAL;
    }
    return the_kernel->ring({header.command, command.qp_handle, false});
}

int fail_with(int error) {
    if (error == 0) return 0;
    errno = error;
    return -1;
}

}  // namespace
}  // namespace softrnic::provider::test

using softrnic::provider::test::the_kernel;

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): the names that ld --wrap makes
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
int __wrap_ioctl(int fd, unsigned long request, ...);

long __wrap_syscall(long number, ...) {
    std::array<long, 6> given{};
    va_list arguments;
    va_start(arguments, number);
    for (long& argument : given) argument = va_arg(arguments, long);
    va_end(arguments);
    // libstdc++ has system calls of its own.
    if (number != SYS_write)
        return __real_syscall(number, given[0], given[1], given[2], given[3], given[4], given[5]);
    EXPECT_EQ(static_cast<int>(given[0]), the_kernel->fd());
    const int error = softrnic::provider::test::uverbs_write(
        reinterpret_cast<const void*>(given[1]),  // NOLINT(performance-no-int-to-ptr)
        static_cast<std::size_t>(given[2]));
    return error != 0 ? softrnic::provider::test::fail_with(error) : given[2];
}

int __wrap_ioctl(int /*fd*/, unsigned long request, ...) {
    va_list arguments;
    va_start(arguments, request);
    const auto* header = va_arg(arguments, const ib_uverbs_ioctl_hdr*);
    va_end(arguments);
    EXPECT_EQ(request, RDMA_VERBS_IOCTL);
    return softrnic::provider::test::fail_with(
        softrnic::provider::test::uverbs_ioctl_call(*header));
}

// NOLINTEND(bugprone-reserved-identifier)

int ibv_cmd_alloc_pd(ibv_context* context, ibv_pd* pd, void* /*cmd*/, std::size_t /*size*/,
                     void* /*resp*/, std::size_t /*resp_size*/) {
    pd->context = context;
    pd->handle = 5;
    ++the_kernel->objects;
    return 0;
}

int ibv_cmd_dealloc_pd(ibv_pd* /*pd*/) {
    --the_kernel->objects;
    return 0;
}

int ibv_cmd_create_qp(ibv_pd* pd, ibv_qp* qp, ibv_qp_init_attr* attr, void* /*cmd*/,
                      std::size_t size, void* resp, std::size_t resp_size) {
    EXPECT_EQ(size, sizeof(ib_uverbs_cmd_hdr) + sizeof(ib_uverbs_create_qp));
    qp->context = pd->context;
    qp->handle = 33;
    qp->qp_num = the_kernel->next_qp_number;
    attr->cap.max_send_sge = the_kernel->qp.sq_max_sge;
    attr->cap.max_recv_sge = the_kernel->qp.rq_max_sge;
    attr->cap.max_inline_data = the_kernel->qp.sq_max_inline;
    softrnic::provider::test::answer(resp, resp_size, sizeof(ib_uverbs_create_qp_resp),
                                     the_kernel->qp);
    ++the_kernel->objects;
    return 0;
}

int ibv_cmd_destroy_qp(ibv_qp* /*qp*/) {
    --the_kernel->objects;
    return 0;
}

int ibv_cmd_query_qp(ibv_qp*, ibv_qp_attr*, int, ibv_qp_init_attr*, void*, std::size_t) {
    return 0;
}

int ibv_cmd_modify_qp(ibv_qp*, ibv_qp_attr*, int, void*, std::size_t) {
    return 0;
}

int ibv_cmd_modify_qp_ex(ibv_qp*, ibv_qp_attr*, int, void*, std::size_t, void*, std::size_t) {
    return 0;
}

int ibv_cmd_create_srq(ibv_pd* pd, ibv_srq* srq, ibv_srq_init_attr* attr, void* /*cmd*/,
                       std::size_t /*size*/, void* resp, std::size_t resp_size) {
    srq->context = pd->context;
    srq->handle = 44;
    attr->attr.max_sge = the_kernel->srq.max_sge;
    softrnic::provider::test::answer(resp, resp_size, sizeof(ib_uverbs_create_srq_resp),
                                     the_kernel->srq);
    ++the_kernel->objects;
    return 0;
}

int ibv_cmd_modify_srq(ibv_srq* /*srq*/, ibv_srq_attr* attr, int mask, void* cmd,
                       std::size_t size) {
    if ((mask & IBV_SRQ_MAX_WR) == 0) return 0;
    if (attr->max_wr > the_kernel->resized_srq.depth) return EINVAL;
    srn_ureq_modify_srq ours{};
    constexpr std::size_t core = sizeof(ib_uverbs_cmd_hdr) + sizeof(ib_uverbs_modify_srq);
    EXPECT_EQ(size, core + sizeof(ours));
    std::memcpy(&ours, static_cast<const std::byte*>(cmd) + core, sizeof(ours));
    EXPECT_EQ(ours.response_size, sizeof(the_kernel->resized_srq));
    // NOLINTNEXTLINE(performance-no-int-to-ptr): that is how the request carries the address
    std::memcpy(reinterpret_cast<void*>(ours.response), &the_kernel->resized_srq,
                sizeof(the_kernel->resized_srq));
    return 0;
}

int ibv_cmd_query_srq(ibv_srq*, ibv_srq_attr*, void*, std::size_t) {
    return 0;
}

int ibv_cmd_destroy_srq(ibv_srq* /*srq*/) {
    --the_kernel->objects;
    return 0;
}

int ibv_cmd_resize_cq(ibv_cq* cq, int entries, void* /*cmd*/, std::size_t /*size*/, void* resp,
                      std::size_t resp_size) {
    if (entries > 64) return EINVAL;
    cq->cqe = static_cast<int>(the_kernel->resized_cq.depth);
    softrnic::provider::test::answer(resp, resp_size, sizeof(ib_uverbs_resize_cq_resp),
                                     the_kernel->resized_cq);
    the_kernel->move_cqes();
    return 0;
}

int ibv_cmd_destroy_cq(ibv_cq* /*cq*/) {
    --the_kernel->objects;
    return 0;
}

}  // extern "C"
