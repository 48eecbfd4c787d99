// float32 as JSON text that reads back to the same float32.
#pragma once

#include <cmath>
#include <cstdio>
#include <string>

namespace rigpact {

// Nine significant digits tell any two float32 apart. Non-finite values are the trace format's strings.
inline void append_number(std::string& text, float value) {
    if (!std::isfinite(value)) {
        text += std::isnan(value) ? "\"NaN\"" : (value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
        return;
    }
    char digits[32];
    std::snprintf(digits, sizeof(digits), "%.9g", static_cast<double>(value));
    // a game that sets its locale gets a decimal comma from printf: whatever is no part of a number is the point
    bool in_point = false;
    for (const char* c = digits; *c != '\0'; ++c) {
        const bool number = (*c >= '0' && *c <= '9') || *c == '-' || *c == '+' || *c == 'e';
        if (number) text += *c;
        else if (!in_point) text += '.';
        in_point = !number;
    }
}

inline void append_numbers(std::string& text, const float* values, int count) {
    text += '[';
    for (int i = 0; i < count; ++i) {
        if (i > 0) text += ',';
        append_number(text, values[i]);
    }
    text += ']';
}

inline void append_integer(std::string& text, long long value) {
    char digits[32];
    std::snprintf(digits, sizeof(digits), "%lld", value);
    text += digits;
}

// Seconds and frames per second: microseconds are plenty, and integers know no locale.
inline void append_seconds(std::string& text, double seconds) {
    const bool negative = seconds < 0;
    const long long micro = std::llround(std::fabs(seconds) * 1e6);
    char digits[48];
    std::snprintf(digits, sizeof(digits), "%s%lld.%06lld", negative ? "-" : "", micro / 1000000, micro % 1000000);
    text += digits;
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
            std::snprintf(escaped, sizeof(escaped), "\\u%04x", byte);
            text += escaped;
        }
    }
    text += '"';
}

}  // namespace rigpact
