// The binary form of a trace: one tensor a stage, written whole under a temporary name, then renamed.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "rigpact/number_text.hpp"

namespace rigpact {

class SafetensorsFile {
public:
    void start(int count, const int* widths) {
        widths_.assign(widths, widths + count);
        rows_.resize(widths_.size());
    }

    void add(int frame, double time_s, const float* values) {
        frames_.push_back(frame);
        times_.push_back(time_s);
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            rows_[i].insert(rows_[i].end(), values, values + widths_[i]);
            values += widths_[i];
        }
    }

    // header: the trace header as JSON. names: one a stage.
    bool write(const std::string& path, const std::string& header, const char* const* names) const {
        const std::string index = make_index(header, names), part = path + ".part";
        std::FILE* file = std::fopen(part.c_str(), "wb");
        if (file == nullptr) return false;
        bool ok = put_length(file, index.size()) && put(file, index.data(), index.size());
        ok = ok && put(file, frames_.data(), frames_.size() * 8) && put(file, times_.data(), times_.size() * 8);
        for (const std::vector<float>& rows : rows_) ok = ok && put(file, rows.data(), rows.size() * 4);
        ok = std::fclose(file) == 0 && ok;
        if (!ok) {
            std::remove(part.c_str());
            return false;
        }
        std::remove(path.c_str());  // rename does not replace on every platform
        return std::rename(part.c_str(), path.c_str()) == 0;
    }

private:
    static bool put(std::FILE* file, const void* data, std::size_t size) {
        return size == 0 || std::fwrite(data, 1, size, file) == size;
    }
    static bool put_length(std::FILE* file, std::uint64_t length) {
        unsigned char bytes[8];
        for (int i = 0; i < 8; ++i) bytes[i] = static_cast<unsigned char>(length >> (8 * i));
        return put(file, bytes, 8);
    }

    std::string make_index(const std::string& header, const char* const* names) const {
        std::string text = "{\"__metadata__\":{\"rigpact\":";
        append_text(text, header.c_str());
        text += '}';
        long long begin = 0;
        append_tensor(text, "frame", "I64", 0, 8, begin);
        append_tensor(text, "time", "F64", 0, 8, begin);
        for (std::size_t i = 0; i < widths_.size(); ++i) append_tensor(text, names[i], "F32", widths_[i], 4, begin);
        text += '}';
        while (text.size() % 8 != 0) text += ' ';  // tensors start aligned
        return text;
    }

    void append_tensor(std::string& text, const char* name, const char* type, int width, int item, long long& begin) const {
        const long long frames = static_cast<long long>(frames_.size());
        const long long end = begin + frames * (width > 0 ? width : 1) * item;
        text += ',';
        append_text(text, name);
        text += std::string(":{\"dtype\":\"") + type + "\",\"shape\":[";
        append_integer(text, frames);
        if (width > 0) {
            text += ',';
            append_integer(text, width);
        }
        text += "],\"data_offsets\":[";
        append_integer(text, begin);
        text += ',';
        append_integer(text, end);
        text += "]}";
        begin = end;
    }

    std::vector<int> widths_;
    std::vector<std::vector<float>> rows_;
    std::vector<std::int64_t> frames_;
    std::vector<double> times_;
};

}  // namespace rigpact
