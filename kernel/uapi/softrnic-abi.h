/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * softrnic: what the kernel module and the user-space provider share.
 *
 * The rules of every ring in here:
 *
 * - One side produces, the other consumes. An index runs freely over 32 bits;
 *   the slot is (index & (depth - 1)), depth being a power of two. A ring is
 *   empty when prod == cons and full when prod - cons == depth.
 * - An index is stored with release and loaded with acquire semantics, after,
 *   respectively before, the slots that it covers.
 * - The kernel keeps its own copy of each index that it writes; what it stores
 *   here is for the user to read, and it is never read back. What it reads from
 *   here is untrusted: it is masked, its distance is checked, and each entry is
 *   copied once before it is looked at.
 * - Words that different sides write are on different cache lines.
 *
 * Compatibility: structures grow only at their end, a new meaning gets a bit in
 * SRN_FEATURE_*, and SRN_ABI_VERSION stays as it is. When a context is opened each
 * side tells the other which features it knows. Neither relies on one that the other
 * has not told of. Both sides accept answers that are shorter or longer than their own;
 * what is missing is zero. In a request, what the kernel does not know must be zero:
 * it refuses the request otherwise (EOPNOTSUPP). Sizes and strides of what is mapped
 * are the kernel's, and told in each answer; they are never less than those of
 * revision 1 (SRN_*_SIZE_1). A provider that sends no request when it opens a context
 * takes CQEs to be of that size.
 */
#ifndef SOFTRNIC_ABI_H
#define SOFTRNIC_ABI_H

#include <linux/stddef.h>
#include <linux/types.h>

#define SRN_ABI_VERSION		1

/*
 * The revision goes up with each addition, so that tests find what was before it; programs go by
 * the features.
 */
#define SRN_ABI_REVISION	5

/* Bytes in revision 1, which does not tell them. */
#define SRN_QP_CTRL_SIZE_1	256
#define SRN_CQ_CTRL_SIZE_1	192
#define SRN_SRQ_CTRL_SIZE_1	128
#define SRN_CQE_SIZE_1		32

/*
 * A private driver id. rdma-core and the kernel hand it through without a
 * table; sharing one with another driver would tie their removal together.
 */
#define SRN_DRIVER_ID		0x73726e31u

#define SRN_LINE		64

/* An array whose length follows from what stands before it. ISO C++ has no such arrays. */
#ifdef __cplusplus
#define SRN_FLEX_ARRAY(type, name)	type name[1]
#else
#define SRN_FLEX_ARRAY(type, name)	__DECLARE_FLEX_ARRAY(type, name)
#endif

/* Most scatter/gather entries of one work request, and bytes of one inline send. */
#define SRN_MAX_SGE		16
#define SRN_MAX_INLINE		512

/* ------------------------------------------------------------------ objects */

/* The kernel counts in srn_qp_ctrl.sq_silent. */
#define SRN_FEATURE_SQ_SILENT	(1u << 0)
/* The kernel says SRN_QP_GONE. */
#define SRN_FEATURE_QP_GONE	(1u << 1)

/* Revision 1 of the provider sends no request. */
struct srn_ureq_alloc_ctx {
	__u32 revision;		/* SRN_ABI_REVISION of the provider */
	__u32 reserved;		/* 0 */
	__aligned_u64 features;	/* SRN_FEATURE_* that the provider knows */
};

struct srn_uresp_alloc_ctx {
	__u32 dev_id;		/* number of the device, for messages */
	__u32 max_inline;	/* bytes */
	__aligned_u64 features;	/* SRN_FEATURE_* that the module knows */
	__u32 revision;		/* SRN_ABI_REVISION of the module, 0: it is 1 */
	__u32 reserved;		/* 0 */
};

/*
 * The attribute of UVERBS_METHOD_QUERY_CONTEXT by which a process that was given an open device
 * asks for struct srn_uresp_alloc_ctx. It is the driver's first.
 */
#define SRN_ATTR_QUERY_CONTEXT	(1u << 12)

/* Where a mapping is found: mmap(NULL, size, RW, MAP_SHARED, cmd_fd, key). */
struct srn_mapping {
	__aligned_u64 key;
	__aligned_u64 size;
};

struct srn_uresp_create_cq {
	struct srn_mapping map;	/* struct srn_cq_ctrl, then the CQEs */
	__u32 ctrl_size;	/* bytes of struct srn_cq_ctrl, 0: as in revision 1 */
	__u32 depth;		/* CQEs, a power of two */
	__u32 cqe_offset;	/* bytes from the start of the mapping */
	__u32 cqe_stride;	/* bytes, 0: as in revision 1 */
};

/*
 * Where the CQEs are from now on. struct srn_cq_ctrl, and so both indices, stay as they are. Until
 * it has mapped the CQEs the user must not change cons, or any CQE.
 */
struct srn_uresp_resize_cq {
	struct srn_mapping map;	/* the CQEs */
	__u32 depth;		/* CQEs, a power of two */
	__u32 cqe_stride;	/* bytes */
};

struct srn_uresp_create_srq {
	struct srn_mapping map;	/* struct srn_srq_ctrl, then the receive WQEs */
	__u32 depth;
	__u32 rq_offset;
	__u32 rq_stride;
	__u32 max_sge;
	__u32 ctrl_size;	/* bytes of struct srn_srq_ctrl, 0: as in revision 1 */
	__u32 reserved;		/* 0 */
};

/*
 * With IB_SRQ_MAX_WR: the core has no room for an answer to this request, so the user says where
 * it wants it. It means nothing if the request fails.
 */
struct srn_ureq_modify_srq {
	__aligned_u64 response;		/* address of struct srn_uresp_resize_srq */
	__u32 response_size;		/* bytes that the user knows of it */
	__u32 reserved;			/* 0 */
};

/*
 * Where the receive WQEs are from now on. struct srn_srq_ctrl, and so both indices, stay as they
 * are, and so do stride and max_sge. Until it has mapped the WQEs the user must not post.
 */
struct srn_uresp_resize_srq {
	struct srn_mapping map;		/* the receive WQEs */
	__u32 depth;			/* WQEs, a power of two */
	__u32 reserved;			/* 0 */
};

struct srn_uresp_create_qp {
	struct srn_mapping map;	/* struct srn_qp_ctrl, send WQEs, receive WQEs */
	__u32 sq_depth;		/* at least 1 */
	__u32 sq_offset;
	__u32 sq_stride;
	__u32 sq_max_sge;
	__u32 sq_max_inline;
	__u32 rq_depth;		/* 0: none, or an SRQ is attached */
	__u32 rq_offset;
	__u32 rq_stride;
	__u32 rq_max_sge;
	__u32 ctrl_size;	/* bytes of struct srn_qp_ctrl, 0: as in revision 1 */
};

/* ---------------------------------------------------------- completion queue */

enum srn_cq_arm {
	SRN_CQ_ARM_NONE = 0,
	SRN_CQ_ARM_SOLICITED = 1,	/* solicited or failed completions */
	SRN_CQ_ARM_ANY = 2,
};

/*
 * Arming: the user stores @arm, executes a full fence, and may then sleep on
 * the completion channel (after having polled once more, as verbs demand). The
 * kernel stores @prod, executes a full fence and exchanges @arm for
 * SRN_CQ_ARM_NONE if the new completions are of the armed kind; whoever took
 * the value raises the event.
 */
struct srn_cq_ctrl {
	__u32 prod;			/* written by the kernel */
	__u32 error;			/* written by the kernel: 1 after an overflow */
	/*
	 * Written by the kernel: not 0 if a worker was asked to go on with sends that complete
	 * here. Any doorbell of one of these queue pairs does that, unless the worker has begun.
	 */
	__u32 deferred;
	__u8 pad0[SRN_LINE - 12];
	__u32 cons;			/* written by the user */
	__u8 pad1[SRN_LINE - 4];
	__u32 arm;			/* written by both, see above */
	__u8 pad2[SRN_LINE - 4];
};

#define SRN_CQE_WITH_INV	(1u << 0)	/* ex is the invalidated rkey */
#define SRN_CQE_WITH_IMM	(1u << 1)	/* ex is immediate data, big endian */
#define SRN_CQE_SOLICITED	(1u << 2)

struct srn_cqe {
	__aligned_u64 wr_id;
	/* ns of CLOCK_REALTIME; 0 without IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION */
	__aligned_u64 timestamp;
	__u32 byte_len;
	__u32 qp_num;
	__u32 ex;
	__u8 status;			/* enum ibv_wc_status */
	__u8 opcode;			/* enum ibv_wc_opcode, as the kernel's enum ib_wc_opcode */
	__u16 flags;			/* SRN_CQE_* */
};

/* ---------------------------------------------------------------- send queue */

enum srn_wr_opcode {
	SRN_WR_SEND = 0,
	SRN_WR_SEND_WITH_INV = 1,
	SRN_WR_WRITE = 2,
	SRN_WR_READ = 3,
	SRN_WR_READ_WITH_INV = 4,	/* kernel consumers only */
	SRN_WR_LOCAL_INV = 5,
	SRN_WR_REG_MR = 6,		/* kernel consumers only */
	SRN_WR_SEND_WITH_IMM = 7,	/* in no RFC, between softrnics only */
	/* RFC 7306 */
	SRN_WR_WRITE_WITH_IMM = 8,
	SRN_WR_FETCH_ADD = 9,
	SRN_WR_CMP_SWAP = 10,
	/* 11 is not used. */
	/*
	 * rkey: the window's, with the new key; ex: lkey of the region; remote_addr, compare:
	 * address and length; swap_add: IBV_ACCESS_*. A length of 0 unbinds a window of type 1.
	 */
	SRN_WR_BIND_MW = 12,
	SRN_WR_OPCODES
};

#define SRN_WR_SIGNALED		(1u << 0)
#define SRN_WR_SOLICITED	(1u << 1)
#define SRN_WR_FENCE		(1u << 2)
#define SRN_WR_INLINE		(1u << 3)	/* payload follows, num_sge is 0 */
#define SRN_WR_FLAGS		0xfu

struct srn_sge {
	__aligned_u64 addr;
	__u32 length;		/* bytes */
	__u32 lkey;
};

struct srn_send_wqe {
	__aligned_u64 wr_id;
	__u8 opcode;		/* enum srn_wr_opcode */
	__u8 num_sge;
	__u16 flags;		/* SRN_WR_* */
	__u32 inline_len;	/* bytes at @data, with SRN_WR_INLINE */
	__aligned_u64 remote_addr;
	__u32 rkey;
	__u32 ex;		/* rkey to invalidate, or immediate data */
	__aligned_u64 swap_add;
	__aligned_u64 compare;
	/* The union ends within the stride of the ring. */
	union {
		SRN_FLEX_ARRAY(struct srn_sge, sge);	/* num_sge of them */
		SRN_FLEX_ARRAY(__u8, data);		/* inline_len bytes */
	};
};

#define SRN_SEND_WQE_HEADER	48

/* ------------------------------------------------------------- receive queue */

struct srn_recv_wqe {
	__aligned_u64 wr_id;
	__u32 num_sge;
	__u32 reserved;		/* 0, or the receive fails */
	SRN_FLEX_ARRAY(struct srn_sge, sge);	/* num_sge of them, within the stride */
};

#define SRN_RECV_WQE_HEADER	16

/* --------------------------------------------------------------- queue pairs */

/*
 * Values of srn_qp_ctrl.state, a hint for the provider: before CONNECTED a send
 * is refused with EINVAL without a system call; a receive may always be posted.
 * A queue pair of rdma_cm gets there with its connection. One that is brought up
 * by hand gets there with RTS, perhaps before its peer is there.
 *
 * SRN_QP_GONE is stored when the queue pair has been destroyed, with release semantics, and nothing
 * in here changes any more. A process sees it if the device has gone: the core refuses each
 * doorbell from some moment on, and destroys the queue pair after that. What was posted in between
 * was flushed if it is in front of sq_cons, or rq_cons, and is forgotten otherwise.
 */
enum srn_qp_hint {
	SRN_QP_IDLE = 0,
	SRN_QP_CONNECTED = 1,
	SRN_QP_ERROR = 2,
	SRN_QP_GONE = 3,
};

/*
 * Values of srn_qp_ctrl.sq_kick: whether the kernel wants a doorbell. With SRN_KICK_LAZY
 * the user may delay it until it has nothing else to do, or has posted a batch; the kernel
 * looks at the ring by itself in the end. As long as the word is SRN_KICK_LAZY, the kernel
 * has taken at least all work requests in front of sq_taken.
 */
enum srn_kick {
	SRN_KICK_NOT = 0,
	SRN_KICK_NOW = 1,
	SRN_KICK_LAZY = 2,
};

/*
 * The doorbell: after storing a producer index the user executes a full fence
 * and loads the kick word of that queue; if it is not zero it enters the kernel
 * (IB_USER_VERBS_CMD_POST_SEND, _POST_RECV or _POST_SRQ_RECV with no work requests). The kernel
 * zeroes the word when it starts to drain and sets it before it stops, followed
 * by a full fence and another look at the producer index. A doorbell returns 0
 * whenever the work requests will be executed or flushed; in SRN_QP_ERROR both
 * words stay set.
 *
 * sq_cons is stored before the prod of the CQE that reports the same work request.
 * Each WQE of the send queue ends with a CQE or is counted in sq_silent: it succeeded
 * unsignaled, or was forgotten by a modify to RESET, or its CQE was lost in an overflow.
 * A modify to RESET sets the kernel's indices to the producer indices that it finds;
 * the user's run on.
 */
struct srn_qp_ctrl {
	__u32 sq_prod;			/* written by the user */
	__u8 pad0[SRN_LINE - 4];
	__u32 rq_prod;			/* written by the user */
	__u8 pad1[SRN_LINE - 4];
	__u32 sq_cons;			/* written by the kernel: WQEs completed */
	__u32 sq_kick;			/* written by the kernel: enum srn_kick */
	__u32 state;			/* written by the kernel: enum srn_qp_hint */
	__u32 sq_taken;			/* written by the kernel, see enum srn_kick */
	__u32 sq_silent;		/* written by the kernel: WQEs completed without a CQE */
	__u8 pad2[SRN_LINE - 20];
	__u32 rq_cons;			/* written by the kernel: WQEs taken */
	__u32 rq_kick;			/* written by the kernel */
	__u8 pad3[SRN_LINE - 8];
};

struct srn_srq_ctrl {
	__u32 prod;			/* written by the user */
	__u8 pad0[SRN_LINE - 4];
	__u32 cons;			/* written by the kernel: WQEs taken */
	__u32 kick;			/* written by the kernel, which looks by itself, too */
	__u8 pad1[SRN_LINE - 8];
};

#endif /* SOFTRNIC_ABI_H */
