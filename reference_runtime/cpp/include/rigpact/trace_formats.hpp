// What a recording's file holds: its header, and a frame as bytes (`.trace.bin`) or as a line (`.trace.jsonl`).
// docs/trace-format.md defines both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

#include "rigpact/crc32.hpp"
#include "rigpact/number_text.hpp"
#include "rigpact/trace_header.hpp"

#if defined(__BYTE_ORDER__)
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a recording's numbers are little-endian");
#endif

namespace rigpact {

// A stage as the first frame had it: its place among the values of a frame.
struct RecordedStage {
    std::string name;
    int width;
    bool is_double;
    std::size_t offset;
    std::string json_key = {};  // of a line of JSON, with the comma before it

    std::size_t size() const { return static_cast<std::size_t>(width) * (is_double ? sizeof(double) : sizeof(float)); }
};

enum class TraceKind { unknown, binary, json_lines };

inline TraceKind trace_kind(const char* path) {
    const auto ends_with = [path, size = std::strlen(path)](const char* ending) {
        const std::size_t length = std::strlen(ending);
        return size > length && std::strcmp(path + size - length, ending) == 0;
    };
    if (ends_with(".trace.bin")) return TraceKind::binary;
    return ends_with(".trace.jsonl") ? TraceKind::json_lines : TraceKind::unknown;
}

// A frame in memory, and in `.trace.bin` as it stands: length and CRC-32 of what follows, number, time, values.
inline constexpr std::size_t kFrameNumberAt = 8, kFrameTimeAt = 16, kFrameValuesAt = 24;
inline constexpr char kBinaryMagic[8] = {'\x89', 'R', 'P', 'T', '\r', '\n', '\x1a', '\n'};

template <class Number>
void put_bytes(unsigned char* at, Number value) {
    std::memcpy(at, &value, sizeof(value));
}
template <class Number>
Number bytes_as(const unsigned char* at) {
    Number value;
    std::memcpy(&value, at, sizeof(value));
    return value;
}

inline void seal_frame(unsigned char* frame, std::size_t size) {
    put_bytes(frame, static_cast<std::uint32_t>(size - 8));
    put_bytes(frame + 4, crc32(frame + 8, size - 8));
}

namespace detail {

inline void append_field(std::string& text, const char* key, const char* value) {
    text += ',';
    append_text(text, key);
    text += ':';
    append_text(text, value);
}
inline void append_known(std::string& text, const char* key, const char* value) {
    if (value != nullptr) append_field(text, key, value);
}

inline void append_bones(std::string& text, const TraceHeader& header) {
    if (header.bones == nullptr && header.bone_indices == nullptr) return;
    text += ",\"bones\":[";
    for (int i = 0; i < header.bone_count; ++i) {
        if (i > 0) text += ',';
        if (header.bones != nullptr) append_text(text, header.bones[i]);
        else append_integer(text, header.bone_indices[i]);
    }
    text += ']';
}

inline std::string header_start(const TraceHeader& header) {
    std::string text = "{\"format\":\"rigpact-trace\",\"version\":1,\"producer\":{\"name\":";
    append_text(text, header.producer);
    append_field(text, "version", header.producer_version);
    text += "},\"contract\":{\"bundle_sha256\":";
    append_text(text, header.bundle_sha256);
    append_known(text, "companion_sha256", header.companion_sha256);
    append_known(text, "meaning_sha256", header.meaning_sha256);
    append_known(text, "conventions_sha256", header.conventions_sha256);
    append_known(text, "model_sha256", header.model_sha256);
    text += "},\"fps\":";
    append_number(text, header.fps);
    append_field(text, "clip", header.clip);
    append_known(text, "system", header.system);
    append_bones(text, header);
    for (int i = 0; i < header.about_count; ++i) {
        text += i == 0 ? ",\"about\":{" : ",";
        append_text(text, header.about[i].key);
        text += ':';
        append_text(text, header.about[i].value);
    }
    return text + (header.about_count > 0 ? "}" : "");
}

inline bool is_mode(const char* mode) {
    for (const char* known : {"teacher", "free", "playback"}) {
        if (mode != nullptr && std::strcmp(mode, known) == 0) return true;
    }
    return false;
}

inline std::string with_stages(std::string text, const char* mode, const std::vector<RecordedStage>& stages) {
    std::string doubles;
    append_field(text, "mode", mode);
    text += ",\"stages\":{";
    for (const RecordedStage& stage : stages) {
        text += &stage == &stages.front() ? "" : ",";
        append_text(text, stage.name.c_str());
        text += ':';
        append_integer(text, stage.width);
        if (!stage.is_double) continue;
        doubles += doubles.empty() ? "" : ",";
        append_text(doubles, stage.name.c_str());
    }
    text += '}';
    if (!doubles.empty()) text += ",\"float64\":[" + doubles + "]";
    return text + "}";
}

inline void append_bytes(std::string& text, std::uint32_t value) {
    char bytes[4];
    std::memcpy(bytes, &value, sizeof(value));
    text.append(bytes, sizeof(bytes));
}

template <class Number>
char* put_values(char* at, const unsigned char* values, int width) {
    for (int i = 0; i < width; ++i) {
        if (i > 0) *at++ = ',';
        at = put_number(at, bytes_as<Number>(values + static_cast<std::size_t>(i) * sizeof(Number)));
    }
    return at;
}

}  // namespace detail

// What stands before the first frame of a segment. start: detail::header_start().
inline std::string segment_start(TraceKind kind, const std::string& start, const char* mode, const std::vector<RecordedStage>& stages) {
    const std::string header = detail::with_stages(start, mode, stages);
    if (kind == TraceKind::json_lines) return header + "\n";
    std::string bytes(kBinaryMagic, sizeof(kBinaryMagic));
    detail::append_bytes(bytes, static_cast<std::uint32_t>(header.size()));
    detail::append_bytes(bytes, crc32(reinterpret_cast<const unsigned char*>(header.data()), header.size()));
    return bytes + header;
}

// Room that a line of JSON needs at most.
inline std::size_t line_room(const std::vector<RecordedStage>& stages) {
    std::size_t room = 128;
    for (const RecordedStage& stage : stages) room += stage.json_key.size() + static_cast<std::size_t>(stage.width) * (kNumberText + 1) + 8;
    return room;
}

// The frame as a line; returns its length.
inline std::size_t put_line(char* line, const unsigned char* frame, const std::vector<RecordedStage>& stages) {
    char* at = put_text(line, "{\"frame\":");
    at = put_integer(at, bytes_as<std::int64_t>(frame + kFrameNumberAt));
    at = put_text(at, ",\"time\":");
    at = put_number(at, bytes_as<double>(frame + kFrameTimeAt));
    at = put_text(at, ",\"stages\":{");
    for (const RecordedStage& stage : stages) {
        std::memcpy(at, stage.json_key.data(), stage.json_key.size());
        at += stage.json_key.size();
        const unsigned char* values = frame + stage.offset;
        *at++ = '[';
        at = stage.is_double ? detail::put_values<double>(at, values, stage.width) : detail::put_values<float>(at, values, stage.width);
        *at++ = ']';
    }
    at = put_text(at, "}}\n");
    return static_cast<std::size_t>(at - line);
}

}  // namespace rigpact
