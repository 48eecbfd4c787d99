// Numbers as JSON text that reads back to the same bits, in every locale.
#pragma once

#include <charconv>
#include <cstdio>
#include <cstring>
#include <string>

#include "rigpact/bits.hpp"

// Whether the library prints doubles by std::to_chars: the shortest text that reads back, several times faster than printf. It
// does not say so where it cannot. Floats need neither.
#if !defined(RIGPACT_TO_CHARS)
#if defined(__cpp_lib_to_chars)
#define RIGPACT_TO_CHARS 1
#else
#define RIGPACT_TO_CHARS 0
#endif
#endif

namespace rigpact {

inline constexpr int kNumberText = 26;  // room for any number: -2.2250738585072014e-308 has 24 characters

inline char* put_text(char* at, const char* text) {
    const std::size_t size = std::strlen(text);
    std::memcpy(at, text, size);
    return at + size;
}

namespace detail {

#if RIGPACT_TO_CHARS
inline char* put_double(char* at, double value) { return std::to_chars(at, at + kNumberText, value).ptr; }
#else
inline char* put_double(char* at, double value) {
    char digits[40];
    std::snprintf(digits, sizeof(digits), "%.17g", value);
    // a game that sets its locale gets a decimal comma from printf: whatever is not a part of a number is the point
    bool in_point = false;
    for (const char* c = digits; *c != '\0'; ++c) {
        const bool number = (*c >= '0' && *c <= '9') || *c == '-' || *c == '+' || *c == 'e';
        if (number) *at++ = *c;
        else if (!in_point) *at++ = '.';
        in_point = !number;
    }
    return at;
}
#endif

inline constexpr int kSmallestPower = -30;
inline constexpr double kPowersOfTen[] = {
    1e-30, 1e-29, 1e-28, 1e-27, 1e-26, 1e-25, 1e-24, 1e-23, 1e-22, 1e-21, 1e-20, 1e-19, 1e-18, 1e-17,
    1e-16, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3,
    1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22, 1e23, 1e24, 1e25,
    1e26, 1e27, 1e28, 1e29, 1e30, 1e31, 1e32, 1e33, 1e34, 1e35, 1e36, 1e37, 1e38, 1e39,
    1e40, 1e41, 1e42, 1e43, 1e44, 1e45, 1e46, 1e47, 1e48, 1e49, 1e50, 1e51, 1e52, 1e53,
};

inline constexpr char kPairs[] =
    "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849"
    "5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";
inline constexpr int kDigits = 9;

// Nine digits with leading zeros.
inline void put_digits(char* digits, std::uint32_t number) {
    digits[0] = static_cast<char>('0' + number / 100000000);
    const std::uint32_t eight = number % 100000000, high = eight / 10000, low = eight % 10000;
    std::memcpy(digits + 1, kPairs + 2 * (high / 100), 2);
    std::memcpy(digits + 3, kPairs + 2 * (high % 100), 2);
    std::memcpy(digits + 5, kPairs + 2 * (low / 100), 2);
    std::memcpy(digits + 7, kPairs + 2 * (low % 100), 2);
}

// A decimal number: nine digits, of which the first is worth 10 to the power of `exponent` and those after `count` are zeros.
// May write behind its end, within kNumberText.
inline char* put_decimal(char* at, const char* digits, int count, int exponent) {
    if (exponent >= -5 && exponent < 0) {
        std::memcpy(at, "0.00000", 7);
        std::memcpy(at + 1 - exponent, digits, kDigits);
        return at + 1 - exponent + count;
    }
    const bool is_plain = exponent >= 0 && exponent < kDigits;
    const int whole = is_plain ? exponent + 1 : 1;
    std::memcpy(at, digits, kDigits);
    at += whole;
    if (count > whole) {
        *at = '.';
        std::memcpy(at + 1, digits + whole, kDigits - 1);  // of a known size: no call
        at += 1 + count - whole;
    }
    if (is_plain) return at;
    *at++ = 'e';
    return std::to_chars(at, at + 4, exponent).ptr;
}

// A float, not zero, with nine digits: they read back to the same bits. A float's neighbours are at least 6e-8 of it apart, so text
// may be off by 3e-8 of it; nine digits are off by 5e-9, and the product with a power of ten by 3e-16.
inline char* put_float(char* at, double value) {
    *at = '-';
    at += value < 0.0 ? 1 : 0;
    value = value < 0.0 ? -value : value;
    const int power_of_two = static_cast<int>(bits_of(value) >> 52) - 1023;
    int exponent = (power_of_two + 4096) * 1233 / 4096 - 1233;  // of ten, or one less: 1233 / 4096 is almost log10(2)
    double scaled = value * kPowersOfTen[kDigits - 1 - exponent - kSmallestPower];
    if (scaled >= 999999999.5) scaled = value * kPowersOfTen[kDigits - 1 - ++exponent - kSmallestPower];
    char digits[2 * kDigits] = {};
    put_digits(digits, static_cast<std::uint32_t>(scaled + 0.5));
    int count = kDigits;
    while (count > 1 && digits[count - 1] == '0') --count;
    return put_decimal(at, digits, count, exponent);
}

}  // namespace detail

// Writes at most kNumberText characters and returns where they end. Non-finite numbers are the trace format's strings.
template <class Number>
char* put_number(char* at, Number value) {
    switch (kind_of(value)) {
        case NumberKind::not_a_number: return put_text(at, "\"NaN\"");
        case NumberKind::infinity: return put_text(at, "\"Infinity\"");
        case NumberKind::minus_infinity: return put_text(at, "\"-Infinity\"");
        case NumberKind::finite: break;
    }
    const auto bits = bits_of(value);
    if (bits != 0 && bits << 1 == 0) return put_text(at, "-0.0");  // "-0" is an integer to many readers
    if constexpr (sizeof(Number) == sizeof(float)) {
        if (bits == 0) return put_text(at, "0");
        // -ffast-math sets a mode in which the processor takes a subnormal for 0: printed as the double that it is
        const double sign = bits >> 31 != 0 ? -1.0 : 1.0;
        const bool is_subnormal = (bits & 0x7f800000u) == 0;
        return detail::put_float(at, is_subnormal ? sign * (bits & 0x007fffffu) * 0x1p-149 : static_cast<double>(value));
    } else {
        return detail::put_double(at, value);
    }
}

inline char* put_integer(char* at, long long value) { return std::to_chars(at, at + kNumberText, value).ptr; }

inline void append_integer(std::string& text, long long value) {
    char digits[kNumberText];
    text.append(digits, put_integer(digits, value));
}

inline void append_number(std::string& text, double value) {
    char digits[kNumberText];
    text.append(digits, put_number(digits, value));
}

// A JSON string, or null.
inline void append_text(std::string& text, const char* value) {
    if (value == nullptr) {
        text += "null";
        return;
    }
    text += '"';
    for (const char* c = value; *c != '\0'; ++c) {
        const unsigned char byte = static_cast<unsigned char>(*c);
        if (byte == '"' || byte == '\\') text += '\\';
        if (byte >= 0x20) {
            text += *c;
        } else {
            char escaped[8];
            std::snprintf(escaped, sizeof(escaped), "\\u%04x", static_cast<unsigned>(byte));
            text += escaped;
        }
    }
    text += '"';
}

}  // namespace rigpact
