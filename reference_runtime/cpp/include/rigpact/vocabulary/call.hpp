// One operation of a declared contract on one frame of one character: rows of float32 in, doubles inside, a row of float32 out.
// The operations are those of docs/operations.md; each says what it takes of `words` and `numbers`. A word is the place of a
// reading in Python's table of that choice. What is left open, or read as another side reads it, is chosen before: by words.
#pragma once

namespace rigpact {
namespace vocabulary {

struct Call {
    const float* const* in;  // a row for each vector that is read
    const int* words;
    const double* numbers;  // one for each channel where not said otherwise
    float* out;
    int width;     // of `out`
    double* room;  // `width` numbers that an operation may write to
};

using Operation = void (*)(const Call&);

}  // namespace vocabulary
}  // namespace rigpact
