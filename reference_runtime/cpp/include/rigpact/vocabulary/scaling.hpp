// One number at a time: scale, clip, squash, wrap, blend, threshold; and how long vectors are. NaN stays NaN, as numpy keeps it.
#pragma once

#include <cmath>

#include "rigpact/vocabulary/call.hpp"

namespace rigpact {
namespace vocabulary {

// np.maximum and np.minimum: a NaN on either side is the result.
inline double largest_of(double a, double b) { return a < b || b != b ? b : a; }
inline double smallest_of(double a, double b) { return b < a || b != b ? b : a; }

// words: the reading. numbers: scales, constants.
inline void affine(const Call& c) {
    const double *scale = c.numbers, *constant = c.numbers + c.width;
    const bool is_first = reading_of<AffineReading>(c) == AffineReading::constant_first;
    for (int i = 0; i < c.width; ++i) {
        const double x = c.in[0][i];
        c.out[i] = static_cast<float>(is_first ? (x + constant[i]) * scale[i] : x * scale[i] + constant[i]);
    }
}

// words: how often. numbers: means, standard deviations.
inline void normalise(const Call& c) {
    for (int i = 0; i < c.width; ++i) {
        double x = c.in[0][i];
        for (int k = 0; k < c.words[0]; ++k) x = (x - c.numbers[i]) / c.numbers[c.width + i];
        c.out[i] = static_cast<float>(x);
    }
}

inline void denormalise(const Call& c) {
    for (int i = 0; i < c.width; ++i) {
        double z = c.in[0][i];
        for (int k = 0; k < c.words[0]; ++k) z = z * c.numbers[c.width + i] + c.numbers[i];
        c.out[i] = static_cast<float>(z);
    }
}

inline double clipped(ClipReading how, double x, double low, double high) {
    switch (how) {
        case ClipReading::clamped: return smallest_of(largest_of(x, low), high);
        case ClipReading::scaled_to_range: return low + (x + 1.0) * 0.5 * (high - low);
        case ClipReading::low_only: return largest_of(x, low);
        case ClipReading::high_only: return smallest_of(x, high);
        case ClipReading::none: break;
    }
    return x;
}

// words: the reading. numbers: low ends, high ends.
inline void clip(const Call& c) {
    for (int i = 0; i < c.width; ++i) {
        c.out[i] = static_cast<float>(clipped(reading_of<ClipReading>(c), c.in[0][i], c.numbers[i], c.numbers[c.width + i]));
    }
}

// log(1 + exp(x)), without an overflow.
inline double softplus(double x) {
    if (x == 0.0) return 0.69314718055994530942;
    return x > 0.0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

// One number; softmax takes a row.
inline double squashed(SquashReading function, double x) {
    switch (function) {
        case SquashReading::tanh: return std::tanh(x);
        case SquashReading::sigmoid: return 1.0 / (1.0 + std::exp(-x));
        case SquashReading::softplus: return softplus(x);
        case SquashReading::exp: return std::exp(x);
        case SquashReading::log: return std::log(x);
        case SquashReading::arctanh: return std::atanh(x);
        case SquashReading::arcsin: return std::asin(smallest_of(largest_of(x, -1.0), 1.0));
        case SquashReading::elu: return x > 0.0 ? x : std::expm1(smallest_of(x, 0.0));
        case SquashReading::relu: return largest_of(x, 0.0);
        case SquashReading::softmax: break;
    }
    return x;
}

inline void softmax(double* row, int width) {
    double most = row[0], sum = 0.0;
    for (int i = 1; i < width; ++i) most = largest_of(most, row[i]);
    for (int i = 0; i < width; ++i) sum += row[i] = std::exp(row[i] - most);
    for (int i = 0; i < width; ++i) row[i] /= sum;
}

// words: how many functions, then each. numbers: scales; a factor of the result before its scale.
inline void squash(const Call& c) {
    for (int i = 0; i < c.width; ++i) c.room[i] = c.in[0][i] / c.numbers[i];
    for (int k = 1; k <= c.words[0]; ++k) {
        const auto function = static_cast<SquashReading>(c.words[k]);
        if (function == SquashReading::softmax) softmax(c.room, c.width);
        for (int i = 0; function != SquashReading::softmax && i < c.width; ++i) c.room[i] = squashed(function, c.room[i]);
    }
    const double factor = c.numbers[c.width];
    for (int i = 0; i < c.width; ++i) c.out[i] = static_cast<float>(factor * c.room[i] * c.numbers[i]);
}

// words: the reading. numbers: one turn.
inline void wrap(const Call& c) {
    const double turn = c.numbers[0];
    const auto range = reading_of<WrapReading>(c);
    for (int i = 0; i < c.width; ++i) {
        double angle = c.in[0][i];
        if (range == WrapReading::symmetric) angle -= turn * std::ceil(angle / turn - 0.5);
        if (range == WrapReading::positive) angle -= turn * std::floor(angle / turn);
        c.out[i] = static_cast<float>(angle);
    }
}

// words: how many vectors. numbers: a weight for each.
inline void blend(const Call& c) {
    for (int i = 0; i < c.width; ++i) {
        double sum = c.numbers[0] * c.in[0][i];
        for (int k = 1; k < c.words[0]; ++k) sum += c.numbers[k] * c.in[k][i];
        c.out[i] = static_cast<float>(sum);
    }
}

// words: the reading; how many numbers a vector has.
inline void norm(const Call& c) {
    const auto measure = reading_of<NormReading>(c);
    const bool is_squared = measure == NormReading::euclidean || measure == NormReading::squared;
    const int size = c.words[1];
    for (int i = 0; i < c.width; ++i) {
        double sum = 0.0;
        for (int k = 0; k < size; ++k) {
            const double x = c.in[0][i * size + k], part = is_squared ? x * x : std::fabs(x);
            sum = measure == NormReading::largest ? largest_of(sum, part) : sum + part;
        }
        c.out[i] = static_cast<float>(measure == NormReading::euclidean ? std::sqrt(sum) : sum);
    }
}

// words: the reading. numbers: limits. Of a number that is not known nothing is known.
inline void threshold(const Call& c) {
    const auto side = reading_of<ThresholdReading>(c);
    for (int i = 0; i < c.width; ++i) {
        const float x = c.in[0][i];
        const bool is_beyond = side == ThresholdReading::above ? x > c.numbers[i] : x < c.numbers[i];
        c.out[i] = side == ThresholdReading::not_applied || x != x ? x : (is_beyond ? 1.0f : 0.0f);
    }
}

}  // namespace vocabulary
}  // namespace rigpact
