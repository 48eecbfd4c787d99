// NaN and infinities by their bits: -ffast-math and /fp:fast let a compiler decide that there are none.
#pragma once

#include <cstdint>
#include <cstring>

namespace rigpact {

inline std::uint64_t bits_of(double value) {
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
}
inline std::uint32_t bits_of(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
}

enum class NumberKind { finite, not_a_number, infinity, minus_infinity };

inline NumberKind kind_of(double value) {
    constexpr std::uint64_t exponent = 0x7ff0000000000000u, fraction = 0x000fffffffffffffu;
    const std::uint64_t bits = bits_of(value);
    if ((bits & exponent) != exponent) return NumberKind::finite;
    if ((bits & fraction) != 0) return NumberKind::not_a_number;
    return bits >> 63 != 0 ? NumberKind::minus_infinity : NumberKind::infinity;
}
inline NumberKind kind_of(float value) {
    constexpr std::uint32_t exponent = 0x7f800000u, fraction = 0x007fffffu;
    const std::uint32_t bits = bits_of(value);
    if ((bits & exponent) != exponent) return NumberKind::finite;
    if ((bits & fraction) != 0) return NumberKind::not_a_number;
    return bits >> 31 != 0 ? NumberKind::minus_infinity : NumberKind::infinity;
}

template <class Number>
bool is_finite(Number value) {
    return kind_of(value) == NumberKind::finite;
}

}  // namespace rigpact
