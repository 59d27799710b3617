// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// usage: make_corpus DIRECTORY
//
// Writes inputs for the fuzzers to start from: DIRECTORY/fpdu/*, mpa/*, sequence/*.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "frames.hpp"
#include "stream.hpp"
#include "violations.hpp"

namespace {

void write_seed(const std::filesystem::path& directory, const std::string& name,
                const byte_vector& bytes) {
    std::filesystem::create_directories(directory);
    std::ofstream file(directory / name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    file.close();
    if (!file) {
        std::cerr << "make_corpus: cannot write " << directory / name << '\n';
        std::exit(1);
    }
}

// A Terminate's payload: for a Read Request that was not allowed.
byte_vector terminate_payload() {
    const byte_vector offender = fpdu_body({.op = SRN_OP_READ_REQUEST, .payload = pattern(28)});
    const srn_wire_read_request rreq{};
    byte_vector out(SRN_TERM_MAX);
    out.resize(srn_rdmap_put_terminate(
        out.data(), {SRN_LAYER_RDMAP, SRN_RDMAP_REMOTE_PROTECTION, SRN_PROT_ACCESS},
        offender.data(), SRN_UNTAGGED_HEADER, &rreq));
    return out;
}

struct stream_seed {
    const char* name;
    std::vector<fpdu_recipe> fpdus;
};

std::vector<stream_seed> stream_seeds() {
    std::vector<stream_seed> seeds{
        {"send", {{.payload = pattern(13)}}},
        {"write", {{.op = SRN_OP_WRITE, .payload = pattern(50), .stag = 0x100, .to = 0x1000}}},
        {"read",
         {{.op = SRN_OP_READ_REQUEST, .payload = pattern(28)},
          {.op = SRN_OP_READ_RESPONSE, .payload = pattern(7), .stag = 3}}},
        {"message_in_segments",
         {{.payload = pattern(40), .last = false},
          {.payload = pattern(41), .mo = 40, .last = false},
          {.op = SRN_OP_WRITE, .payload = pattern(8), .stag = 9},
          {.payload = pattern(2), .mo = 81},
          {.op = SRN_OP_SEND_SE_INV, .payload = pattern(3), .msn = 2, .stag = 5}}},
        {"wrap",
         {{.payload = pattern(0x3f), .msn = 0xffffffff, .mo = 0xffffffc0, .last = false},
          {.payload = pattern(1), .msn = 0xffffffff, .mo = 0xffffffff},
          {.payload = pattern(2), .msn = 0}}},
        {"terminate", {{.op = SRN_OP_TERMINATE, .payload = terminate_payload()}}},
    };
    // In two streams, since libFuzzer makes its inputs as long as the longest seed.
    stream_seed low{"low_opcodes", {}};
    stream_seed high{"high_opcodes", {}};
    for (unsigned op = 0; op < SRN_OP_COUNT; op++)
        (op < SRN_OP_COUNT / 2 ? low : high)
            .fpdus.push_back({.op = static_cast<srn_rdmap_opcode>(op), .payload = pattern(op)});
    seeds.push_back(low);
    seeds.push_back(high);
    return seeds;
}

void write_fpdu_seeds(const std::filesystem::path& directory) {
    // As fuzz_fpdu reads them: flags, damage and number of cuts, lengths of pieces.
    const byte_vector heads[] = {
        {0, 0},        {1, 0},
        {3, 0xf0},     {3, 3, 1, 20, 17},
        {3, 0xf1, 60}, {2, 15, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
        {6, 0},
    };
    for (const stream_seed& seed : stream_seeds()) {
        int variant = 0;
        for (const byte_vector& head : heads) {
            byte_vector input = head;
            for (const fpdu_recipe& fpdu : seed.fpdus) append(input, make_fpdu(fpdu));
            write_seed(directory, std::string(seed.name) + '-' + std::to_string(variant++), input);
        }
    }
}

constexpr wirepeer::scene at{.open = {0x100, 0x1000, 1000},
                             .read_only = {0x200, 0x2000, 1000},
                             .write_only = {0x300, 0x3000, 1000},
                             .local_only = {0x400, 0x4000, 1000},
                             .atomic = {0x500, 0x5000, 1000},
                             .foreign = {0x600, 0x6000, 1000},
                             .gone = {0x700, 0x7000, 1000}};

// libFuzzer makes its inputs about as long as the longest, and takes a time in proportion.
constexpr std::size_t longest_seed = 256;

// What the scripted peer sends to a real link, which nobody may: with CRC, in one piece and cut.
void write_violation_seeds(const std::filesystem::path& directory) {
    const auto write = [&](const std::string& name, byte_span stream) {
        for (const byte_vector& head : {byte_vector{1, 0}, byte_vector{1, 3, 1, 20, 17}}) {
            byte_vector input = head;
            append(input, stream);
            write_seed(directory, name + (head.size() > 2 ? "-cut" : ""), input);
        }
    };
    for (const wirepeer::violation& v : wirepeer::violations()) {
        const wirepeer::bytes stream = wirepeer::fpdus(v.make(at));
        // Long are those whose payload the parser has no opinion about.
        if (stream.size() < longest_seed) write(v.name, stream);
    }
    for (const wirepeer::broken_fpdu& b : wirepeer::broken_fpdus()) write(b.name, b.make(at));
}

// FPDUs with a marker at each place, with CRC and without, in one piece and cut within the marker.
void write_marked_seeds(const std::filesystem::path& directory) {
    using namespace wirepeer;
    constexpr std::uint32_t others = SRN_MARKER_LEN + SRN_TAGGED_HEADER + SRN_CRC_LEN;
    // It is followed by three bytes of padding.
    constexpr std::uint32_t payload = 5;
    for (std::uint32_t place = 0; place <= SRN_TAGGED_HEADER + payload + 3; place += SRN_MARKER_LEN)
        for (const bool crc : {false, true}) {
            fpdu_stream out({.crc = crc, .markers = true});
            // The fuzzer sees the next one only: a long input takes it long.
            out.next(
                make_write(0x100, 0x1000, wirepeer::bytes(SRN_MARKER_INTERVAL - others - place)));
            const wirepeer::bytes marked =
                out.next(make_write(0x100, 0x1000, wirepeer::pattern(payload)));
            const auto flags = static_cast<std::uint8_t>(place / SRN_MARKER_LEN << 4 | 8 | crc);
            for (const byte_vector& head :
                 {byte_vector{flags, 0},
                  byte_vector{flags, 1, static_cast<std::uint8_t>(place + 2)}}) {
                byte_vector input = head;
                ::append(input, marked);
                write_seed(directory,
                           "marked-" + std::to_string(place) + (crc ? "-crc" : "") +
                               (head.size() > 2 ? "-cut" : ""),
                           input);
            }
        }
}

// As fuzz_sequence reads it: payload length, MPA length and header.
void append_step(byte_vector& input, const wirepeer::segment& s) {
    const auto payload = static_cast<std::uint16_t>(s.payload.size());
    append(input, byte_vector{0x80, static_cast<std::uint8_t>(payload >> 8),
                              static_cast<std::uint8_t>(payload)});
    wirepeer::bytes header = wirepeer::fpdu(s);
    header.resize(SRN_MAX_HEADER);
    append(input, header);
}

void write_steps(const std::filesystem::path& directory, const std::string& name, byte_vector input,
                 std::span<const wirepeer::segment> steps) {
    for (const wirepeer::segment& s : steps) append_step(input, s);
    write_seed(directory, name, input);
}

// The segments of each violation; ready messages; and answers to a Read of 40 bytes and an atomic.
void write_sequence_seeds(const std::filesystem::path& directory) {
    using namespace wirepeer;
    for (const violation& v : violations()) write_steps(directory, v.name, {0}, v.make(at));
    const std::vector<segment> ready{make_read_response(3, 4, {}), make_send(1, {}),
                                     make_send(2, wirepeer::pattern(5))};
    for (std::uint8_t awaited = 0; awaited < 4; ++awaited)
        write_steps(directory, "ready-" + std::to_string(awaited), {awaited}, ready);
    segment part = make_read_response(0xff000000, 0, wirepeer::pattern(30));
    part.last = false;
    const std::vector<segment> answers{
        part, make_read_response(0xff000000, 30, wirepeer::pattern(10)),
        make_atomic_response(1, 0, 5), make_read_response(0xff000002, 0, {})};
    write_steps(directory, "answers", {0, 0, 0, 40, 0x40, 0, 0, 0}, answers);
    // Whatever has an opcode goes on for longer than any control message is.
    for (std::uint8_t queue = 0; queue < 4; ++queue)
        for (std::uint8_t opcode = 0; opcode <= SRN_RDMAP_OPCODE_MASK; ++opcode) {
            const auto part_of = [&](std::uint32_t mo, std::size_t length) {
                segment s = make_send(1, wirepeer::pattern(length), opcode);
                s.qn = queue;
                s.mo = mo;
                s.last = false;
                return s;
            };
            const std::vector<segment> both{part_of(0, 8), part_of(8, SRN_TERM_MAX + 8)};
            write_steps(directory, "long-" + std::to_string(opcode) + '-' + std::to_string(queue),
                        {0}, both);
        }
    std::vector<segment> wrapping{make_send(0xffffffff, wirepeer::pattern(5)),
                                  make_send(0, wirepeer::pattern(6))};
    write_steps(directory, "wrap", {4}, wrapping);
}

// As fuzz_mpa reads them: which key is expected, the frame.
void write_frame_seed(const std::filesystem::path& directory, const std::string& name, bool reply,
                      byte_span frame) {
    byte_vector input{reply};
    append(input, frame);
    write_seed(directory, name, input);
}

// The frames that the scripted peer sends.
void write_negotiation_seeds(const std::filesystem::path& directory) {
    for (const wirepeer::mpa_frame& f : wirepeer::good_requests())
        write_frame_seed(directory, "request-" + name_of(f), false, encode(f));
    for (const wirepeer::mpa_frame& f : wirepeer::good_replies())
        write_frame_seed(directory, "reply-" + name_of(f), true, encode(f));
    for (const wirepeer::bad_frame& bad : wirepeer::bad_set_up_frames()) {
        wirepeer::bytes frame = encode(wirepeer::mpa_frame{
            .enhanced = wirepeer::enhanced_words{.peer_to_peer = true, .rtr_write = true}});
        bad.change(frame);
        write_frame_seed(directory, bad.name, false, frame);
    }
}

void write_mpa_seeds(const std::filesystem::path& directory) {
    for (unsigned bits = 0; bits < 16; bits++) {
        srn_mpa_frame f{};
        f.reply = bits & 1;
        f.crc = bits & 2;
        f.markers = f.reject = bits & 4;
        f.enhanced = bits & 8;
        f.revision = f.enhanced ? 2 : 1;
        f.peer_to_peer = f.rtr_read = bits & 2;
        f.ird = 16;
        f.ord = bits & 4 ? SRN_MPA_NO_DEPTH : 32;
        byte_vector frame(SRN_MPA_FRAME + SRN_MPA_ENHANCED);
        frame.resize(srn_mpa_put_frame(frame.data(), &f, 8));
        byte_vector input{f.reply};
        append(input, frame);
        append(input, pattern(8));
        write_seed(directory, "frame-" + std::to_string(bits), input);
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "usage: make_corpus DIRECTORY\n";
        return 2;
    }
    const std::filesystem::path directory = argv[1];
    write_fpdu_seeds(directory / "fpdu");
    write_violation_seeds(directory / "fpdu");
    write_marked_seeds(directory / "fpdu");
    write_sequence_seeds(directory / "sequence");
    write_mpa_seeds(directory / "mpa");
    write_negotiation_seeds(directory / "mpa");
}
