// Numbers as JSON text that reads back to the same bits, in every locale.
#pragma once

#include <charconv>
#include <cstdio>
#include <cstring>
#include <string>

#include "rigpact/bits.hpp"

// Whether the library prints floating-point numbers by std::to_chars: the shortest text that reads back, several times faster
// than printf. It does not say so where it cannot.
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
template <class Number>
char* put_finite(char* at, Number value) {
    return std::to_chars(at, at + kNumberText, value).ptr;
}
#else
inline int significant_digits(float) { return 9; }
inline int significant_digits(double) { return 17; }

template <class Number>
char* put_finite(char* at, Number value) {
    char digits[40];
    std::snprintf(digits, sizeof(digits), "%.*g", significant_digits(value), static_cast<double>(value));
    // a game that sets its locale gets a decimal comma from printf: whatever is no part of a number is the point
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
        // -ffast-math sets a mode in which the processor takes a subnormal for 0: printed as the double that it is
        const double sign = bits >> 31 != 0 ? -1.0 : 1.0;
        if (bits != 0 && (bits & 0x7f800000u) == 0) return detail::put_finite(at, sign * (bits & 0x007fffffu) * 0x1p-149);
    }
    return detail::put_finite(at, value);
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
