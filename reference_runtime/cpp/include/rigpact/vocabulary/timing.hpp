// From one frame to the next: differences and sums over time. Other frames are only moved: see arranging.hpp.
#pragma once

#include "rigpact/vocabulary/turning.hpp"

namespace rigpact {
namespace vocabulary {

// numbers: the rate. Reads the earlier row, then the later one.
inline void difference(const Call& c) {
    for (int i = 0; i < c.width; ++i) {
        const double earlier = c.in[0][i], later = c.in[1][i];
        c.out[i] = static_cast<float>((later - earlier) * c.numbers[0]);
    }
}

// words: frames between two ticks, the frame of the first one. Reads the row, and those 1, 2, … frames before.
inline void held(const Call& c) {
    const long long every = c.words[0], since = ((c.frame - c.words[1]) % every + every) % every;
    for (int i = 0; i < c.width; ++i) c.out[i] = c.in[since][i];
}

inline double stepped(IntegrateReading meaning, double state, double rate, double step) {
    switch (meaning) {
        case IntegrateReading::derivative: return state + step * rate;
        case IntegrateReading::absolute: return rate;
        case IntegrateReading::delta: return state + rate;
        case IntegrateReading::negated: return state - step * rate;
        case IntegrateReading::skipped: break;
    }
    return state;
}

// words: the reading. numbers: the step. Reads the state, then the rate.
inline void integrate(const Call& c) {
    for (int i = 0; i < c.width; ++i) {
        c.out[i] = static_cast<float>(stepped(reading_of<IntegrateReading>(c), c.in[0][i], c.in[1][i], c.numbers[0]));
    }
}

// words: the reading, left: exp ⊗ q; the order that is read, and the one that is written. numbers: the step; the part of the angle.
inline void integrate_rotation(const Call& c) {
    const bool is_left = reading_of<IntegrateRotationReading>(c) == IntegrateRotationReading::left;
    for (int k = 0; 4 * k < c.width; ++k) {
        const Quaternion q = quaternion_at(c.in[0], k, c.words + 1);
        const Quaternion turn = exponential(vector_at(c.in[1], k) * c.numbers[0] * c.numbers[1]);
        store(is_left ? product(turn, q) : product(q, turn), c.out, k, c.words + 5);
    }
}

}  // namespace vocabulary
}  // namespace rigpact
