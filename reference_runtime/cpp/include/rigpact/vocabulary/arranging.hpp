// Which number stands where: select, concatenate, a history, another frame, what is fed back: all of them only move numbers.
#pragma once

#include "rigpact/vocabulary/call.hpp"

namespace rigpact {
namespace vocabulary {

// words: how many runs; of each the vector that it is read from, its first channel there, and how many channels.
inline void move(const Call& c) {
    const int* run = c.words + 1;
    float* out = c.out;
    for (int k = 0; k < c.words[0]; ++k, run += 3) {
        const float* from = c.in[run[0]] + run[1];
        for (int i = 0; i < run[2]; ++i) *out++ = from[i];
    }
}

// numbers: the row.
inline void constant(const Call& c) {
    for (int i = 0; i < c.width; ++i) c.out[i] = static_cast<float>(c.numbers[i]);
}

}  // namespace vocabulary
}  // namespace rigpact
