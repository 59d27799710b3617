// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "violations.hpp"

#include <utility>

namespace wirepeer {
namespace {

constexpr term_code tagged(std::uint8_t code) {
    return {1, 1, code};
}
constexpr term_code untagged(std::uint8_t code) {
    return {1, 2, code};
}
constexpr term_code protection(std::uint8_t code) {
    return {0, 1, code};
}
constexpr term_code operation(std::uint8_t code) {
    return {0, 2, code};
}
constexpr term_code mpa(std::uint8_t code) {
    return {2, 0, code};
}

auto poisoned(std::size_t count) {
    return bytes(count, poison);
}

using segments = std::vector<segment>;

segments bad_write(std::uint32_t stag, std::uint64_t to, std::size_t length = 8) {
    return {make_write(stag, to, poisoned(length))};
}

/// A Read Request that would be good but for its source.
segments bad_read(std::uint32_t stag, std::uint64_t to, std::uint32_t size = 8) {
    return {make_read_request(1, {.sink_stag = 0x11223344,
                                  .sink_to = 0x1000,
                                  .size = size,
                                  .source_stag = stag,
                                  .source_to = to})};
}

segment good_read(const scene& at) {
    return bad_read(at.open.stag, at.open.base).front();
}

segments bad_send(void (*change)(segment&)) {
    return changed(make_send(1, poisoned(8)), change);
}
segments bad_request(const scene& at, void (*change)(segment&)) {
    return changed(good_read(at), change);
}
segments bad_terminate(void (*change)(segment&)) {
    return changed(make_terminate(bytes(4, 0)), change);
}

/// An addition whose effect would be seen.
segments bad_atomic(std::uint32_t stag, std::uint64_t to, std::uint32_t code = 0) {
    return {make_atomic_request(
        1, {.code = code, .id = 9, .stag = stag, .to = to, .data = 0xffffffffffffffff})};
}

segment part(std::uint32_t msn, std::uint32_t mo, bool last, bytes payload) {
    segment s = make_send(msn, std::move(payload));
    s.mo = mo;
    s.last = last;
    return s;
}

/// Two segments that go on where another ended, and end nothing: the second is at fault.
segments write_in_three(const scene& at, std::uint64_t last_to) {
    segments all{make_write(at.open.stag, at.open.base, pattern(8)),
                 make_write(at.open.stag, at.open.base + 8, pattern(8)),
                 make_write(at.open.stag, last_to, poisoned(8))};
    for (segment& s : all) s.last = false;
    return all;
}
segments send_in_three(std::uint32_t each, std::uint32_t last_mo) {
    return {part(1, 0, false, pattern(each)), part(1, each, false, pattern(each)),
            part(1, last_mo, false, poisoned(8))};
}

template <std::uint8_t opcode>
segments untagged_opcode(const scene&) {
    return bad_send([](segment& s) { s.opcode = opcode; });
}
template <std::uint8_t opcode>
segments tagged_opcode(const scene& at) {
    return changed(make_write(at.open.stag, at.open.base, poisoned(8)),
                   [](segment& s) { s.opcode = opcode; });
}
template <std::uint8_t version>
segments write_ddp_version(const scene& at) {
    return changed(make_write(at.open.stag, at.open.base, poisoned(8)),
                   [](segment& s) { s.ddp_version = version; });
}
template <std::uint8_t version>
segments send_ddp_version(const scene&) {
    return bad_send([](segment& s) { s.ddp_version = version; });
}
template <std::uint8_t version>
segments write_rdmap_version(const scene& at) {
    return changed(make_write(at.open.stag, at.open.base, poisoned(8)),
                   [](segment& s) { s.rdmap_version = version; });
}
template <std::uint8_t version>
segments send_rdmap_version(const scene&) {
    return bad_send([](segment& s) { s.rdmap_version = version; });
}
template <std::uint8_t opcode, std::uint32_t queue>
segments wrong_queue(const scene& at) {
    segment s = opcode == op::read_request ? good_read(at) : make_send(1, poisoned(8), opcode);
    if (opcode == op::terminate) s.payload = {0, 0, 0, 0};
    s.qn = queue;
    return {std::move(s)};
}

const violation table[] = {
    // DDP, tagged buffers.
    {"rfc5041_7_1_write_unused_stag",
     [](const scene& at) { return bad_write(unused_stag, at.open.base); }, tagged(0)},
    {"rfc5041_7_1_write_stag_zero", [](const scene& at) { return bad_write(0, at.open.base); },
     tagged(0)},
    {"rfc5041_7_1_write_stag_all_ones",
     [](const scene& at) { return bad_write(0xffffffff, at.open.base); }, tagged(0)},
    {"rfc5041_7_1_write_wrong_key",
     [](const scene& at) { return bad_write(with_wrong_key(at.open.stag), at.open.base); },
     tagged(0)},
    {"rfc5041_7_1_write_deregistered",
     [](const scene& at) { return bad_write(at.gone.stag, at.gone.base); }, tagged(0)},
    {"rfc5041_7_1_write_before_base",
     [](const scene& at) { return bad_write(at.open.stag, at.open.base - 1); }, tagged(1)},
    {"rfc5041_7_1_write_over_the_end",
     [](const scene& at) { return bad_write(at.open.stag, at.open.end() - 7); }, tagged(1)},
    {"rfc5041_7_1_write_at_the_end",
     [](const scene& at) { return bad_write(at.open.stag, at.open.end(), 1); }, tagged(1)},
    {"rfc5041_7_1_write_longer_than_the_region",
     [](const scene& at) { return bad_write(at.open.stag, at.open.base, at.open.size + 1); },
     tagged(1)},
    {"rfc5041_7_1_write_offset_zero", [](const scene& at) { return bad_write(at.open.stag, 0); },
     tagged(1)},
    {"rfc5041_7_1_write_foreign_domain",
     [](const scene& at) { return bad_write(at.foreign.stag, at.foreign.base); }, tagged(2)},
    {"rfc5041_7_1_write_wrap",
     [](const scene& at) { return bad_write(at.open.stag, UINT64_MAX - 3); }, tagged(3)},
    {"rfc5041_7_1_write_second_segment_out_of_bounds",
     [](const scene& at) {
         segment first = make_write(at.open.stag, at.open.base, pattern(8));
         first.last = false;
         return segments{first, make_write(at.open.stag, at.open.end(), poisoned(8))};
     },
     tagged(1)},
    {"rfc5041_7_1_write_second_segment_other_stag",
     [](const scene& at) {
         segment first = make_write(at.open.stag, at.open.base, pattern(8));
         first.last = false;
         return segments{first, make_write(unused_stag, at.open.base + 8, poisoned(8))};
     },
     tagged(0)},
    {"rfc5041_7_1_write_third_segment_out_of_bounds",
     [](const scene& at) { return write_in_three(at, at.open.end() - 7); }, tagged(1)},
    {"rfc5041_7_1_write_third_segment_before_base",
     [](const scene& at) { return write_in_three(at, at.open.base - 1); }, tagged(1)},
    {"rfc5041_7_1_write_third_segment_wraps",
     [](const scene& at) { return write_in_three(at, UINT64_MAX - 3); }, tagged(3)},
    {"rfc5041_4_1_write_version_0", write_ddp_version<0>, tagged(4)},
    {"rfc5041_4_1_write_version_2", write_ddp_version<2>, tagged(4)},
    {"rfc5041_4_1_write_version_3", write_ddp_version<3>, tagged(4)},
    {"rfc5040_5_2_2_read_response_unasked",
     [](const scene& at) {
         return segments{make_read_response(at.open.stag, at.open.base, poisoned(8))};
     },
     tagged(0)},
    {"rfc5040_5_2_2_read_response_to_an_internal_stag",
     [](const scene&) { return segments{make_read_response(0xff000000, 0, poisoned(8))}; },
     tagged(0)},
    {"rfc5041_7_1_write_to_an_internal_stag", [](const scene&) { return bad_write(0xff000000, 0); },
     tagged(0)},
    // Access rights. DDP has no number of its own for them; RFC 5040 figure 9 has.
    {"rfc5040_4_8_write_without_the_right",
     [](const scene& at) { return bad_write(at.read_only.stag, at.read_only.base); },
     protection(2)},
    {"rfc5040_4_8_write_to_local_memory",
     [](const scene& at) { return bad_write(at.local_only.stag, at.local_only.base); },
     protection(2)},

    // DDP, untagged buffers.
    {"rfc5041_7_1_queue_4", [](const scene&) { return bad_send([](segment& s) { s.qn = 4; }); },
     untagged(1)},
    {"rfc5041_7_1_queue_256", [](const scene&) { return bad_send([](segment& s) { s.qn = 256; }); },
     untagged(1)},
    {"rfc5041_7_1_queue_all_ones",
     [](const scene&) { return bad_send([](segment& s) { s.qn = 0xffffffff; }); }, untagged(1)},
    {"rfc5041_7_1_send_no_buffer",
     [](const scene&) {
         segments all;
         for (std::uint32_t i = 1; i <= receives; ++i) all.push_back(make_send(i, pattern(8)));
         all.push_back(make_send(receives + 1, poisoned(8)));
         return all;
     },
     untagged(2), term_headers::ddp, receive_fate::flushed, receives},
    {"rfc5041_7_1_send_msn_zero",
     [](const scene&) { return bad_send([](segment& s) { s.msn = 0; }); }, untagged(3)},
    {"rfc5041_7_1_send_msn_left_out",
     [](const scene&) { return bad_send([](segment& s) { s.msn = 2; }); }, untagged(3)},
    {"rfc5041_7_1_send_msn_all_ones",
     [](const scene&) { return bad_send([](segment& s) { s.msn = 0xffffffff; }); }, untagged(3)},
    {"rfc5041_7_1_send_msn_again",
     [](const scene&) {
         return segments{make_send(1, pattern(8)), make_send(1, poisoned(8))};
     },
     untagged(3), term_headers::ddp, receive_fate::flushed, 1},
    {"rfc5041_4_3_send_msn_changes_within_a_message",
     [](const scene&) {
         return segments{part(1, 0, false, pattern(8)), part(2, 8, true, poisoned(8))};
     },
     untagged(3)},
    {"rfc5041_7_1_send_offset_not_zero",
     [](const scene&) { return bad_send([](segment& s) { s.mo = 4; }); }, untagged(4)},
    {"rfc5041_7_1_send_offset_all_ones",
     [](const scene&) { return bad_send([](segment& s) { s.mo = 0xffffffff; }); }, untagged(4)},
    {"rfc5041_7_1_send_offset_with_a_gap",
     [](const scene&) {
         return segments{part(1, 0, false, pattern(8)), part(1, 9, true, poisoned(8))};
     },
     untagged(4)},
    {"rfc5041_7_1_send_offset_that_overlaps",
     [](const scene&) {
         return segments{part(1, 0, false, pattern(8)), part(1, 7, true, poisoned(8))};
     },
     untagged(4)},
    {"rfc7306_6_1_immediate_data_as_the_end_of_a_send",
     [](const scene&) {
         segment end = make_immediate(1, 0x12345678);
         end.mo = 8;
         return segments{part(1, 0, false, pattern(8)), std::move(end)};
     },
     untagged(4)},
    {"rfc5041_7_1_send_offset_with_a_gap_before_its_third_segment",
     [](const scene&) { return send_in_three(8, 17); }, untagged(4)},
    {"rfc5041_7_1_send_too_long",
     [](const scene&) { return segments{make_send(1, poisoned(receive_size + 1))}; }, untagged(5),
     term_headers::ddp, receive_fate::too_long},
    {"rfc5041_7_1_send_too_long_in_its_second_segment",
     [](const scene&) {
         return segments{part(1, 0, false, pattern(receive_size)),
                         part(1, receive_size, true, poisoned(1))};
     },
     untagged(5), term_headers::ddp, receive_fate::too_long},
    {"rfc5041_7_1_send_too_long_in_its_third_segment",
     [](const scene&) { return send_in_three(receive_size / 2, receive_size); }, untagged(5),
     term_headers::ddp, receive_fate::too_long},
    {"rfc5041_4_1_send_version_0", send_ddp_version<0>, untagged(6)},
    {"rfc5041_4_1_send_version_2", send_ddp_version<2>, untagged(6)},
    {"rfc5041_4_1_send_version_3", send_ddp_version<3>, untagged(6)},
    {"rfc5041_7_1_read_request_msn_zero",
     [](const scene& at) { return bad_request(at, [](segment& s) { s.msn = 0; }); }, untagged(3)},
    {"rfc5041_7_1_read_request_msn_left_out",
     [](const scene& at) { return bad_request(at, [](segment& s) { s.msn = 2; }); }, untagged(3)},
    {"rfc5041_7_1_read_request_offset_not_zero",
     [](const scene& at) { return bad_request(at, [](segment& s) { s.mo = 1; }); }, untagged(4)},
    {"rfc5041_7_1_read_request_too_long",
     [](const scene& at) { return bad_request(at, [](segment& s) { s.payload.push_back(0); }); },
     untagged(5)},
    {"rfc5041_4_1_read_request_version_2",
     [](const scene& at) { return bad_request(at, [](segment& s) { s.ddp_version = 2; }); },
     untagged(6)},
    {"rfc5041_7_1_terminate_msn_left_out",
     [](const scene&) { return bad_terminate([](segment& s) { s.msn = 2; }); }, untagged(3)},

    // RDMAP: versions and opcodes.
    {"rfc5040_4_1_write_version_2", write_rdmap_version<2>, operation(5)},
    {"rfc5040_4_1_write_version_3", write_rdmap_version<3>, operation(5)},
    {"rfc5040_4_1_send_version_2", send_rdmap_version<2>, operation(5)},
    {"rfc5040_4_1_send_version_3", send_rdmap_version<3>, operation(5)},
    {"rfc5040_4_1_read_request_version_2",
     [](const scene& at) { return bad_request(at, [](segment& s) { s.rdmap_version = 2; }); },
     operation(5)},
    {"rfc5040_4_1_opcode_14", untagged_opcode<14>, operation(6)},
    {"rfc5040_4_1_opcode_15", untagged_opcode<15>, operation(6)},
    {"rfc5040_4_1_tagged_opcode_14", tagged_opcode<14>, operation(6)},
    {"rfc5040_4_1_tagged_opcode_15", tagged_opcode<15>, operation(6)},
    {"rfc5040_4_1_write_untagged", untagged_opcode<op::write>, operation(6)},
    {"rfc5040_4_1_read_response_untagged", untagged_opcode<op::read_response>, operation(6)},
    {"rfc5040_4_1_read_request_tagged", tagged_opcode<op::read_request>, operation(6)},
    {"rfc5040_4_1_send_tagged", tagged_opcode<op::send>, operation(6)},
    {"rfc5040_4_1_send_inv_tagged", tagged_opcode<op::send_inv>, operation(6)},
    {"rfc5040_4_1_send_se_tagged", tagged_opcode<op::send_se>, operation(6)},
    {"rfc5040_4_1_send_se_inv_tagged", tagged_opcode<op::send_se_inv>, operation(6)},
    {"rfc5040_4_1_terminate_tagged", tagged_opcode<op::terminate>, operation(6)},
    {"rfc5040_4_1_send_on_queue_1", wrong_queue<op::send, 1>, operation(6)},
    {"rfc5040_4_1_send_on_queue_2", wrong_queue<op::send, 2>, operation(6)},
    {"rfc5040_4_1_send_se_inv_on_queue_1", wrong_queue<op::send_se_inv, 1>, operation(6)},
    {"rfc5040_4_1_read_request_on_queue_0", wrong_queue<op::read_request, 0>, operation(6)},
    {"rfc5040_4_1_read_request_on_queue_2", wrong_queue<op::read_request, 2>, operation(6)},
    {"rfc5040_4_1_terminate_on_queue_0", wrong_queue<op::terminate, 0>, operation(6)},
    {"rfc5040_4_1_terminate_on_queue_1", wrong_queue<op::terminate, 1>, operation(6)},

    // RDMAP: Read Requests. The request comes back with the Terminate.
    {"rfc5040_7_2_read_unused_stag",
     [](const scene& at) { return bad_read(unused_stag, at.open.base); }, protection(0),
     term_headers::ddp_and_rdmap},
    {"rfc5040_7_2_read_wrong_key",
     [](const scene& at) { return bad_read(with_wrong_key(at.open.stag), at.open.base); },
     protection(0), term_headers::ddp_and_rdmap},
    {"rfc5040_7_2_read_deregistered",
     [](const scene& at) { return bad_read(at.gone.stag, at.gone.base); }, protection(0),
     term_headers::ddp_and_rdmap},
    {"rfc5040_7_2_read_before_base",
     [](const scene& at) { return bad_read(at.open.stag, at.open.base - 1); }, protection(1),
     term_headers::ddp_and_rdmap},
    {"rfc5040_7_2_read_over_the_end",
     [](const scene& at) { return bad_read(at.open.stag, at.open.end() - 7); }, protection(1),
     term_headers::ddp_and_rdmap},
    {"rfc5040_7_2_read_four_gigabytes",
     [](const scene& at) { return bad_read(at.open.stag, at.open.base, UINT32_MAX); },
     protection(1), term_headers::ddp_and_rdmap},
    {"rfc5040_7_2_read_without_the_right",
     [](const scene& at) { return bad_read(at.write_only.stag, at.write_only.base); },
     protection(2), term_headers::ddp_and_rdmap},
    {"rfc5040_7_2_read_local_memory",
     [](const scene& at) { return bad_read(at.local_only.stag, at.local_only.base); },
     protection(2), term_headers::ddp_and_rdmap},
    {"rfc5040_7_2_read_foreign_domain",
     [](const scene& at) { return bad_read(at.foreign.stag, at.foreign.base); }, protection(3),
     term_headers::ddp_and_rdmap},
    {"rfc5040_7_2_read_wrap",
     [](const scene& at) { return bad_read(at.open.stag, UINT64_MAX - 3); }, protection(4),
     term_headers::ddp_and_rdmap},
    // The RFC has no number for one that is cut short; this is its "unspecified".
    {"rfc5040_4_4_read_request_too_short",
     [](const scene& at) { return bad_request(at, [](segment& s) { s.payload.pop_back(); }); },
     operation(0xff)},
    {"rfc5040_4_4_read_request_in_two_segments",
     [](const scene& at) { return bad_request(at, [](segment& s) { s.last = false; }); },
     operation(0xff)},

    {"rfc5040_4_8_terminate_in_two_segments",
     [](const scene&) { return bad_terminate([](segment& s) { s.last = false; }); },
     operation(0xff)},

    // RDMAP: invalidation.
    {"rfc5040_7_2_invalidate_unused_stag",
     [](const scene&) { return segments{make_send(1, pattern(8), op::send_inv, unused_stag)}; },
     protection(0), term_headers::ddp, receive_fate::bad_invalidation},
    {"rfc5040_7_2_invalidate_deregistered",
     [](const scene& at) { return segments{make_send(1, pattern(8), op::send_inv, at.gone.stag)}; },
     protection(0), term_headers::ddp, receive_fate::bad_invalidation},
    {"rfc5040_5_3_invalidate_foreign_domain",
     [](const scene& at) {
         return segments{make_send(1, pattern(8), op::send_inv, at.foreign.stag)};
     },
     protection(9), term_headers::ddp, receive_fate::bad_invalidation},
    // A whole region is what its owner registered, not what a peer may take away.
    {"rfc5040_8_1_1_invalidate_a_registered_region",
     [](const scene& at) { return segments{make_send(1, pattern(8), op::send_inv, at.open.stag)}; },
     protection(9), term_headers::ddp, receive_fate::bad_invalidation},
    {"rfc5040_7_2_invalidate_solicited_unused_stag",
     [](const scene&) { return segments{make_send(1, pattern(8), op::send_se_inv, unused_stag)}; },
     protection(0), term_headers::ddp, receive_fate::bad_invalidation},
    {"rfc5040_8_1_1_invalidate_solicited_a_registered_region",
     [](const scene& at) {
         return segments{make_send(1, pattern(8), op::send_se_inv, at.open.stag)};
     },
     protection(9), term_headers::ddp, receive_fate::bad_invalidation},

    // RFC 7306. No RDMAP header comes back, section 8.1.
    {"rfc7306_8_2_atomic_not_aligned",
     [](const scene& at) { return bad_atomic(at.atomic.stag, at.atomic.base + 4); }, operation(7)},
    {"rfc7306_8_2_atomic_not_aligned_by_a_byte",
     [](const scene& at) { return bad_atomic(at.atomic.stag, at.atomic.base + 1); }, operation(7)},
    {"rfc7306_5_2_1_atomic_code_1",
     [](const scene& at) { return bad_atomic(at.atomic.stag, at.atomic.base, 1); }, operation(6)},
    {"rfc7306_5_2_1_atomic_code_3",
     [](const scene& at) { return bad_atomic(at.atomic.stag, at.atomic.base, 3); }, operation(6)},
    {"rfc7306_5_2_1_atomic_code_15",
     [](const scene& at) { return bad_atomic(at.atomic.stag, at.atomic.base, 15); }, operation(6)},
    {"rfc7306_8_2_atomic_unused_stag",
     [](const scene& at) { return bad_atomic(unused_stag, at.atomic.base); }, protection(0)},
    {"rfc7306_8_2_atomic_deregistered",
     [](const scene& at) { return bad_atomic(at.gone.stag, at.gone.base); }, protection(0)},
    {"rfc7306_8_2_atomic_before_base",
     [](const scene& at) { return bad_atomic(at.atomic.stag, at.atomic.base - 8); }, protection(1)},
    {"rfc7306_8_2_atomic_at_the_end",
     [](const scene& at) { return bad_atomic(at.atomic.stag, at.atomic.end()); }, protection(1)},
    {"rfc7306_8_2_atomic_without_the_right",
     [](const scene& at) { return bad_atomic(at.open.stag, at.open.base); }, protection(2)},
    {"rfc7306_8_2_write_to_memory_for_atomics",
     [](const scene& at) { return bad_write(at.atomic.stag, at.atomic.base); }, protection(2)},
    {"rfc7306_8_2_atomic_foreign_domain",
     [](const scene& at) { return bad_atomic(at.foreign.stag, at.foreign.base); }, protection(3)},
    {"rfc7306_4_1_atomic_request_on_queue_0",
     [](const scene& at) {
         return changed(bad_atomic(at.atomic.stag, at.atomic.base).front(),
                        [](segment& s) { s.qn = 0; });
     },
     operation(6)},
    {"rfc7306_4_1_atomic_request_tagged", tagged_opcode<op::atomic_request>, operation(6)},
    {"rfc7306_4_1_atomic_response_on_queue_0", wrong_queue<op::atomic_response, 0>, operation(6)},
    {"rfc7306_4_1_send_on_queue_3", wrong_queue<op::send, 3>, operation(6)},
    {"rfc7306_4_1_immediate_on_queue_1", wrong_queue<op::immediate, 1>, operation(6)},
    {"rfc7306_4_1_immediate_tagged", tagged_opcode<op::immediate>, operation(6)},
    {"rfc7306_4_1_immediate_version_2",
     [](const scene&) {
         return changed(make_immediate(1, 7), [](segment& s) { s.rdmap_version = 2; });
     },
     operation(5)},
    // Exactly eight bytes; the RFC has no number of its own for others.
    {"rfc7306_6_3_immediate_too_long",
     [](const scene&) {
         return changed(make_immediate(1, 7), [](segment& s) { s.payload.push_back(0); });
     },
     untagged(5)},
    {"rfc7306_6_3_immediate_too_short",
     [](const scene&) {
         return changed(make_immediate(1, 7), [](segment& s) { s.payload.pop_back(); });
     },
     operation(0xff)},
    {"rfc7306_6_3_immediate_no_buffer",
     [](const scene&) {
         segments all;
         for (std::uint32_t i = 1; i <= receives; ++i) all.push_back(make_immediate(i, i));
         all.push_back(make_immediate(receives + 1, 7));
         return all;
     },
     untagged(2), term_headers::ddp, receive_fate::flushed, receives},
    {"rfc7306_5_2_1_atomic_request_too_short",
     [](const scene& at) {
         return changed(bad_atomic(at.atomic.stag, at.atomic.base).front(),
                        [](segment& s) { s.payload.pop_back(); });
     },
     operation(0xff)},
};

/// One bit of a good FPDU is wrong.
bytes flipped(const segment& s, std::size_t at, std::uint8_t bit = 1) {
    bytes whole = fpdu(s);
    whole[at < whole.size() ? at : whole.size() - 1] ^= bit;
    return whole;
}

/// A Write of 6 bytes: length 2, header 14, payload 6, padding 2, CRC 4.
segment short_write(const scene& at) {
    return make_write(at.open.stag, at.open.base, poisoned(6));
}

/// A ULPDU of so few bytes, with a good CRC.
template <std::size_t length, bool is_tagged>
bytes stump(const scene& at) {
    const segment s = is_tagged ? make_write(at.open.stag, at.open.base, {}) : make_send(1, {});
    return frame_ulpdu(byte_view(ulpdu(s)).first(length));
}

const broken_fpdu broken_table[] = {
    {"rfc5044_8_crc_wrong_ddp_control",
     [](const scene& at) { return flipped(short_write(at), 2, 0x04); }, mpa(2)},
    {"rfc5044_8_crc_wrong_rdmap_control",
     [](const scene& at) { return flipped(short_write(at), 3, 0x10); }, mpa(2)},
    {"rfc5044_8_crc_wrong_offset", [](const scene& at) { return flipped(short_write(at), 15); },
     mpa(2)},
    {"rfc5044_8_crc_wrong_first_byte", [](const scene& at) { return flipped(short_write(at), 16); },
     mpa(2)},
    {"rfc5044_8_crc_wrong_last_byte", [](const scene& at) { return flipped(short_write(at), 21); },
     mpa(2)},
    {"rfc5044_8_crc_wrong_padding", [](const scene& at) { return flipped(short_write(at), 22); },
     mpa(2)},
    {"rfc5044_8_crc_wrong_crc_first_byte",
     [](const scene& at) { return flipped(short_write(at), 24); }, mpa(2)},
    {"rfc5044_8_crc_wrong_crc_last_byte",
     [](const scene& at) { return flipped(short_write(at), 27, 0x80); }, mpa(2)},
    {"rfc5044_8_crc_wrong_length", [](const scene& at) { return flipped(short_write(at), 1); },
     mpa(2)},
    {"rfc5044_8_crc_of_zero",
     [](const scene& at) {
         bytes whole = fpdu(short_write(at));
         for (std::size_t i = whole.size() - 4; i < whole.size(); ++i) whole[i] = 0;
         return whole;
     },
     mpa(2)},
    {"rfc5044_4_4_crc_in_the_other_byte_order",
     [](const scene& at) {
         bytes whole = fpdu(short_write(at));
         std::swap(whole[24], whole[27]);
         std::swap(whole[25], whole[26]);
         return whole;
     },
     mpa(2)},
    {"rfc5044_8_crc_wrong_in_a_send",
     [](const scene&) { return flipped(make_send(1, poisoned(9)), 20); }, mpa(2)},
    {"rfc5044_8_crc_wrong_in_an_empty_send",
     [](const scene&) { return flipped(make_send(1, {}), SIZE_MAX); }, mpa(2)},
    {"rfc5044_8_crc_wrong_in_a_read_request",
     [](const scene& at) { return flipped(good_read(at), 30); }, mpa(2)},
    {"rfc5044_8_crc_wrong_in_the_second_fpdu",
     [](const scene& at) {
         bytes all = fpdu(make_write(at.open.stag, at.open.base, pattern(8)));
         append(all, flipped(short_write(at), 18));
         return all;
     },
     mpa(2)},
    // A ULPDU that cannot hold a DDP header: the length is not that of an FPDU.
    {"rfc5044_8_length_0", stump<0, true>, mpa(3)},
    {"rfc5044_8_length_1_tagged", stump<1, true>, mpa(3)},
    {"rfc5044_8_length_13_tagged", stump<13, true>, mpa(3)},
    {"rfc5044_8_length_1_untagged", stump<1, false>, mpa(3)},
    {"rfc5044_8_length_14_untagged", stump<14, false>, mpa(3)},
    {"rfc5044_8_length_17_untagged", stump<17, false>, mpa(3)},
};

}  // namespace

std::span<const violation> violations() {
    return table;
}
std::span<const broken_fpdu> broken_fpdus() {
    return broken_table;
}

}  // namespace wirepeer
