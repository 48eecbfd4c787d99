// CRC-32 (IEEE 802.3, as in zlib and PNG), eight bytes at a time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rigpact {

namespace detail {

struct CrcTables {
    std::uint32_t of[8][256] = {};
};

constexpr CrcTables crc_tables() {
    CrcTables tables;
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t rest = byte;
        for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ ((rest & 1u) != 0 ? 0xedb88320u : 0u);
        tables.of[0][byte] = rest;
    }
    for (int slice = 1; slice < 8; ++slice) {
        for (int byte = 0; byte < 256; ++byte) {
            const std::uint32_t before = tables.of[slice - 1][byte];
            tables.of[slice][byte] = (before >> 8) ^ tables.of[0][before & 0xffu];
        }
    }
    return tables;
}

inline constexpr CrcTables kCrc = crc_tables();

}  // namespace detail

inline std::uint32_t crc32(const unsigned char* data, std::size_t size) {
    const auto& of = detail::kCrc.of;
    std::uint32_t crc = 0xffffffffu;
    for (; size >= 8; size -= 8, data += 8) {
        crc ^= static_cast<std::uint32_t>(data[0]) | static_cast<std::uint32_t>(data[1]) << 8 |
               static_cast<std::uint32_t>(data[2]) << 16 | static_cast<std::uint32_t>(data[3]) << 24;
        crc = of[7][crc & 0xffu] ^ of[6][crc >> 8 & 0xffu] ^ of[5][crc >> 16 & 0xffu] ^ of[4][crc >> 24] ^ of[3][data[4]] ^
              of[2][data[5]] ^ of[1][data[6]] ^ of[0][data[7]];
    }
    for (; size > 0; --size, ++data) crc = (crc >> 8) ^ of[0][(crc ^ *data) & 0xffu];
    return ~crc;
}

}  // namespace rigpact
