// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Whose fault is a CRC that siw has refused? Where TCP cuts the padding and CRC of an FPDU, siw
// puts each piece where the first one belongs (siw_get_trailer), over what is there, and reads the
// CRC out of that. This program does the same with a recording of what siw has received, and says
// whether it leads to the number that siw has complained of.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using bytes = std::vector<std::uint8_t>;
using view = std::span<const std::uint8_t>;

constexpr const char* usage =
    "usage: cut_trailer RECORDING CRC     CRC: \"in\" of \"siw: crc error\"\n"
    "Exit status: 0 if that comes of a trailer that was cut, 3 if not.\n";

/// Of pcap files, Ethernet, IPv4, TCP and MPA.
constexpr std::size_t file_head = 24, record_head = 16, ethernet_head = 14, tcp_head = 20;
constexpr std::size_t mpa_head = 20, mpa_length = 2, crc_length = 4, longest_padding = 3;
constexpr std::uint8_t tcp = 6, syn = 2;

std::uint32_t big(view from, std::size_t at, std::size_t count) {
    std::uint32_t value = 0;
    for (const std::uint8_t b : from.subspan(at, count)) value = value << 8 | b;
    return value;
}

std::uint32_t little(view from, std::size_t at) {
    std::uint32_t value = 0;
    std::memcpy(&value, from.subspan(at, sizeof value).data(), sizeof value);
    return value;
}

/// One direction of a connection.
struct flow {
    std::uint32_t start = 0;
    bytes stream;
    std::vector<std::size_t> borders;  // of packets

    /// In order, or again; a recording that has lost a packet ends there.
    void add(std::uint32_t sequence, view payload) {
        const std::size_t offset = sequence - start;
        if (offset > stream.size() || offset + payload.size() <= stream.size()) return;
        const view more = payload.subspan(stream.size() - offset);
        stream.insert(stream.end(), more.begin(), more.end());
        borders.push_back(stream.size());
    }
};

using flows = std::map<std::pair<std::uint32_t, std::uint32_t>, flow>;

/// A packet from one address and port to another, as far as TCP's ports tell them apart.
void add_packet(flows& all, view packet) {
    if (packet.size() < ethernet_head + tcp_head || big(packet, 12, 2) != 0x0800) return;
    const view ip = packet.subspan(ethernet_head);
    const std::size_t ip_length = std::min<std::size_t>(big(ip, 2, 2), ip.size());
    const std::size_t ip_head = (ip[0] & 0xfU) * 4;
    if (ip[9] != tcp || ip_length < ip_head + tcp_head) return;
    const view segment = ip.first(ip_length).subspan(ip_head);
    const std::size_t head = static_cast<std::size_t>(segment[12] >> 4) * 4;
    flow& f = all[{big(segment, 0, 2), big(segment, 2, 2)}];
    if ((segment[13] & syn) != 0)
        f = {.start = big(segment, 4, 4) + 1, .stream = {}, .borders = {}};
    else if (segment.size() > head)
        f.add(big(segment, 4, 4), segment.subspan(head));
}

flows read_recording(const char* name) {
    std::ifstream file(name, std::ios::binary);
    const bytes all{std::istreambuf_iterator<char>(file), {}};
    flows found;
    std::size_t at = file_head;
    while (at + record_head <= all.size()) {
        const std::size_t length = little(all, at + 8);
        at += record_head;
        if (at + length > all.size()) break;
        add_packet(found, view(all).subspan(at, length));
        at += length;
    }
    return found;
}

/// Does siw, fed with this stream, at a trailer that was cut, read this CRC?
bool misread(const flow& f, std::uint32_t crc) {
    const view stream = f.stream;
    std::array<std::uint8_t, longest_padding + crc_length> memory{};
    if (stream.size() < mpa_head) return false;
    std::size_t at = mpa_head + big(stream, 18, 2);
    while (at + mpa_length <= stream.size()) {
        const std::size_t body = mpa_length + big(stream, at, mpa_length);
        const std::size_t padding = (4 - body % 4) % 4;
        std::size_t piece = at + body;
        const std::size_t end = piece + padding + crc_length;
        if (end > stream.size()) return false;
        bool cut = false;
        for (auto border = std::ranges::upper_bound(f.borders, piece); piece < end; ++border) {
            const std::size_t until = std::min(*border, end);
            std::ranges::copy(stream.subspan(piece, until - piece),
                              memory.begin() + (longest_padding - padding));
            cut = cut || until < end;
            piece = until;
        }
        if (cut && little(memory, longest_padding) == crc) return true;
        at = end;
    }
    return false;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fputs(usage, stderr);
        return 2;
    }
    const auto crc = static_cast<std::uint32_t>(std::stoul(argv[2], nullptr, 16));
    const flows all = read_recording(argv[1]);
    return std::ranges::any_of(all, [&](const auto& f) { return misread(f.second, crc); }) ? 0 : 3;
}
