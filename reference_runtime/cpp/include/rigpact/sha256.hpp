// SHA-256 (FIPS 180-4): whether the bundle on disk is the one that the code was generated from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace rigpact {

struct Sha256Text {
    char hex[65];
};

class Sha256 {
public:
    void update(const void* data, std::size_t size) {
        const unsigned char* bytes = static_cast<const unsigned char*>(data);
        total_ += size;
        for (std::size_t i = 0; i < size; ++i) {
            block_[filled_++] = bytes[i];
            if (filled_ == 64) compress();
        }
    }

    Sha256Text finish() {
        const std::uint64_t bits = static_cast<std::uint64_t>(total_) * 8;
        const unsigned char one = 0x80, zero = 0;
        update(&one, 1);
        while (filled_ != 56) update(&zero, 1);
        for (int i = 0; i < 8; ++i) block_[filled_++] = static_cast<unsigned char>(bits >> (56 - 8 * i));
        compress();
        Sha256Text text;
        for (int i = 0; i < 64; ++i) text.hex[i] = "0123456789abcdef"[(state_[i / 8] >> (28 - 4 * (i % 8))) & 15u];
        text.hex[64] = '\0';
        return text;
    }

private:
    static std::uint32_t turned(std::uint32_t value, int by) { return (value >> by) | (value << (32 - by)); }

    void compress() {
        static constexpr std::uint32_t kRound[64] = {
            0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
            0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
            0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
            0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
            0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
            0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
            0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
            0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
        std::uint32_t w[64];
        for (int i = 0; i < 16; ++i) {
            w[i] = std::uint32_t{block_[4 * i]} << 24 | std::uint32_t{block_[4 * i + 1]} << 16 |
                   std::uint32_t{block_[4 * i + 2]} << 8 | std::uint32_t{block_[4 * i + 3]};
        }
        for (int i = 16; i < 64; ++i) {
            const std::uint32_t a = w[i - 15], b = w[i - 2];
            w[i] = w[i - 16] + (turned(a, 7) ^ turned(a, 18) ^ (a >> 3)) + w[i - 7] + (turned(b, 17) ^ turned(b, 19) ^ (b >> 10));
        }
        std::uint32_t s[8];
        std::memcpy(s, state_, sizeof(s));
        for (int i = 0; i < 64; ++i) {
            const std::uint32_t e = s[4], a = s[0];
            const std::uint32_t one = s[7] + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & s[5]) ^ (~e & s[6])) + kRound[i] + w[i];
            const std::uint32_t two = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
            for (int k = 7; k > 0; --k) s[k] = s[k - 1];
            s[4] += one;
            s[0] = one + two;
        }
        for (int i = 0; i < 8; ++i) state_[i] += s[i];
        filled_ = 0;
    }

    std::uint32_t state_[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    unsigned char block_[64] = {};
    std::size_t filled_ = 0;
    std::size_t total_ = 0;
};

inline Sha256Text sha256(const void* data, std::size_t size) {
    Sha256 hash;
    hash.update(data, size);
    return hash.finish();
}

}  // namespace rigpact
