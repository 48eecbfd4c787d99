// One operation of a declared contract on one frame of one character: rows of float32 in, doubles inside, a row of float32 out.
// The operations are those of docs/operations.md; each says what it takes of `words` and `numbers`. A word is a number, or a
// reading: readings.hpp names them, as Python does. What is left open, or read as another side reads it, is chosen before: by words.
#pragma once

#include "rigpact/vocabulary/readings.hpp"

namespace rigpact {
namespace vocabulary {

struct Call {
    const float* const* in;  // a row for each vector that is read
    const int* words;
    const double* numbers;  // one for each channel where not said otherwise
    float* out;
    int width;     // of `out`
    double* room;  // `width` numbers that an operation may write to
    long long frame = 0;  // since the start of the run
    bool is_free = true;  // whether the run feeds itself; else a clip gives what is fed back
};

// The first word of an operation that has readings.
template <class Reading>
Reading reading_of(const Call& c) {
    return static_cast<Reading>(c.words[0]);
}

using Operation = void (*)(const Call&);

}  // namespace vocabulary
}  // namespace rigpact
