// Rows of a loop that `rigpact codegen --loop` writes: of this frame, and of frames before it.
#pragma once

#include <limits>

#include "rigpact/vocabulary/readings.hpp"

namespace rigpact {

template <int width>
struct Row {
    float numbers[width];
};

template <int width>
constexpr Row<width> row_of(float number) {
    Row<width> row{};
    for (int i = 0; i < width; ++i) row.numbers[i] = number;
    return row;
}

template <int width>
inline constexpr Row<width> kUnknown = row_of<width>(std::numeric_limits<float>::quiet_NaN());
template <int width>
inline constexpr Row<width> kZeros = row_of<width>(0.0f);

template <int width>
void copy(const float* from, float (&row)[width]) {
    for (int i = 0; i < width; ++i) row[i] = from[i];
}

// The rows of the last `frames` frames.
template <int frames, int width>
class Past {
public:
    // At the end of a frame.
    void keep(const float (&row)[width], long long frame) { copy(row, rows_[frame % frames]); }

    // The row `age` frames before this frame, 0 < age <= frames; now: the row of this frame.
    const float* at(long long frame, int age, vocabulary::Start start, const float* now) const {
        if (age <= frame) return rows_[(frame - age) % frames];
        if (start == vocabulary::Start::unknown) return kUnknown<width>.numbers;
        if (start == vocabulary::Start::zeros) return kZeros<width>.numbers;
        return frame == 0 ? now : rows_[0];
    }

private:
    float rows_[frames][width] = {};
};

}  // namespace rigpact
