// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Says of the connection in a capture (pcap, Ethernet, IPv4) what its ends ask for in their set-up
// frames, and what the first FPDU of each looks like: with markers it begins with one, and without
// CRC the field for it is zero.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using bytes = std::vector<std::uint8_t>;
using byte_view = std::span<const std::uint8_t>;

constexpr std::uint16_t listening_port = 7174;
constexpr std::uint8_t flag_markers = 0x80, flag_crc = 0x40, protocol_tcp = 6;
/// `field`: length of a marker, and of a CRC.
constexpr std::size_t frame_head = 20, field = 4, marker_interval = 512;

/// Throws std::out_of_range behind the end.
byte_view part(byte_view of, std::size_t at, std::size_t count = std::dynamic_extent) {
    if (at > of.size() || (count != std::dynamic_extent && count > of.size() - at))
        throw std::out_of_range("the capture ends too early");
    return of.subspan(at, count);
}

std::size_t big16(byte_view of, std::size_t at) {
    const byte_view two = part(of, at, 2);
    return static_cast<std::size_t>(two[0]) << 8 | two[1];
}

/// Length of a packet in a capture of this host, which is little-endian.
std::size_t little32(byte_view of, std::size_t at) {
    const byte_view four = part(of, at, 4);
    std::size_t value = 0;
    for (std::size_t i = 4; i-- > 0;) value = value << 8 | four[i];
    return value;
}

using ports = std::pair<std::size_t, std::size_t>;

/// What each end has sent, by source and destination port.
std::map<ports, bytes> streams(byte_view capture) {
    constexpr std::size_t file_header = 24, packet_header = 16, ethernet_header = 14;
    std::map<ports, bytes> found;
    for (std::size_t at = file_header; at + packet_header <= capture.size();) {
        const std::size_t length = little32(capture, at + 8);
        at += packet_header;
        // tcpdump is just writing the last one.
        if (length > capture.size() - at) break;
        const byte_view ip = part(part(capture, at, length), ethernet_header);
        at += length;
        if (part(ip, 9, 1)[0] != protocol_tcp) continue;
        const std::size_t ip_header = (ip[0] & 15U) * 4;
        const byte_view tcp = part(ip, ip_header, big16(ip, 2) - ip_header);
        const byte_view payload = part(tcp, (part(tcp, 12, 1)[0] >> 4) * std::size_t{4});
        if (payload.empty()) continue;
        bytes& stream = found[{big16(tcp, 0), big16(tcp, 2)}];
        stream.insert(stream.end(), payload.begin(), payload.end());
    }
    return found;
}

bool is_zero(byte_view of) {
    return std::ranges::all_of(of, [](std::uint8_t byte) { return byte == 0; });
}

/// Nothing is said of the CRC of an FPDU that a second marker may lie in.
std::string crc_of(byte_view fpdu) {
    const std::size_t length = (2 + big16(fpdu, 0) + 3) / 4 * 4;
    if (field + length + field > marker_interval) return "?";
    return is_zero(part(fpdu, length, field)) ? "-" : "crc";
}

void describe(const ports& between, byte_view stream) {
    const byte_view frame = part(stream, 0, frame_head);
    const std::uint8_t flags = frame[16];
    byte_view fpdus = part(stream, frame_head + big16(frame, 18));
    const bool marked = is_zero(part(fpdus, 0, field));
    if (marked) fpdus = part(fpdus, field);
    std::printf("%s asks %s %s sends %s %s\n",
                between.second == listening_port ? "initiator" : "responder",
                flags & flag_crc ? "crc" : "-", flags & flag_markers ? "markers" : "-",
                marked ? "marked" : "plain", crc_of(fpdus).c_str());
}

bytes contents(const char* file) {
    std::ifstream in(file, std::ios::binary);
    if (!in) throw std::runtime_error(std::string("cannot be read: ") + file);
    return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc != 2) throw std::runtime_error("usage: first_fpdus CAPTURE");
    for (const auto& [between, stream] : streams(contents(argv[1]))) describe(between, stream);
    return 0;
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
