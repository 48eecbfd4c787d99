// Rotations by quaternions, xyzw inside whatever the vectors hold: R(q) v rotates v by q, and R(a ⊗ b) = R(a) R(b).
// An order is four words: which entries of a quaternion of the vector are x, y, z and w; or which of these its entries are.
#pragma once

#include <cmath>

#include "rigpact/vector.hpp"
#include "rigpact/vocabulary/call.hpp"

namespace rigpact {
namespace vocabulary {

using Vector = Vec3<double>;
using Quaternion = Quat<double>;

inline Vector vector_at(const float* row, int index) {
    return {{row[3 * index], row[3 * index + 1], row[3 * index + 2]}};
}
inline Vector sum_of(const Vector& a, const Vector& b) { return {{a[0] + b[0], a[1] + b[1], a[2] + b[2]}}; }
inline void store(const Vector& v, float* row, int index) {
    for (int i = 0; i < 3; ++i) row[3 * index + i] = static_cast<float>(v[i]);
}
inline Quaternion quaternion_at(const float* row, int index, const int* order) {
    Quaternion q;
    for (int i = 0; i < 4; ++i) q.xyzw[i] = row[4 * index + order[i]];
    return q;
}
inline void store(const Quaternion& q, float* row, int index, const int* order) {
    for (int i = 0; i < 4; ++i) row[4 * index + i] = static_cast<float>(q.xyzw[order[i]]);
}

inline Vector part_of(const Quaternion& q) { return {{q.xyzw[0], q.xyzw[1], q.xyzw[2]}}; }
inline Quaternion conjugate(const Quaternion& q) { return {{-q.xyzw[0], -q.xyzw[1], -q.xyzw[2], q.xyzw[3]}}; }

// a ⊗ b: b turns first.
inline Quaternion product(const Quaternion& a, const Quaternion& b) {
    const Vector u = part_of(a), v = part_of(b);
    const Vector sum = sum_of(sum_of(v * a.xyzw[3], u * b.xyzw[3]), cross(u, v));
    return {{sum[0], sum[1], sum[2], a.xyzw[3] * b.xyzw[3] - dot(u, v)}};
}

// v + 2 w (u × v) + 2 u × (u × v); a quaternion that is not a unit also scales.
inline Vector rotated(const Quaternion& q, const Vector& v) {
    const Vector u = part_of(q), t = cross(u, v) * 2.0;
    return sum_of(sum_of(v, t * q.xyzw[3]), cross(u, t));
}

// exp of half a rotation vector: (sin|h|/|h| h, cos|h|); (h, 1), made a unit, below 1e-8.
inline Quaternion exponential(const Vector& half) {
    const double size = length(half), sine = size < 1e-8 ? 1.0 : std::sin(size) / size;
    Quaternion q{{half[0] * sine, half[1] * sine, half[2] * sine, size < 1e-8 ? 1.0 : std::cos(size)}};
    if (size < 1e-8) {
        const double whole = std::sqrt(dot(part_of(q), part_of(q)) + 1.0);
        for (double& entry : q.xyzw) entry /= whole;
    }
    return q;
}

// Which rotation turns a vector.
inline Quaternion turn_of(RotateReading direction, const Quaternion& q) {
    if (direction == RotateReading::forward) return q;
    if (direction == RotateReading::inverse) return conjugate(q);
    return {{q.xyzw[0] * 0.0, q.xyzw[1] * 0.0, q.xyzw[2] * 0.0, q.xyzw[3] * 0.0 + 1.0}};
}

// words: the reading; how many quaternions, one or as many as vectors; whether the vector is a constant; the order.
// numbers: that constant. Reads the quaternions, then the vectors.
inline void rotate(const Call& c) {
    const bool is_one = c.words[1] == 1, is_constant = c.words[2] != 0;
    for (int k = 0; 3 * k < c.width; ++k) {
        const Quaternion q = turn_of(reading_of<RotateReading>(c), quaternion_at(c.in[0], is_one ? 0 : k, c.words + 3));
        const Vector constant = is_constant ? Vector{{c.numbers[0], c.numbers[1], c.numbers[2]}} : vector_at(c.in[1], k);
        store(rotated(q, constant), c.out, k);
    }
}

inline Vector seen_from(RelativeReading direction, const Vector& point, const Vector& origin, const Quaternion& q) {
    switch (direction) {
        case RelativeReading::into_frame: return rotated(conjugate(q), point - origin);
        case RelativeReading::out_of_frame: return sum_of(rotated(q, point), origin);
        case RelativeReading::into_frame_origin_kept: return rotated(conjugate(q), point);
        case RelativeReading::into_frame_turned_forward: return rotated(q, point - origin);
        case RelativeReading::into_frame_not_turned: return point - origin;
        case RelativeReading::out_of_frame_not_turned: break;
    }
    return sum_of(point, origin);
}

// words: the reading; how many origins, how many quaternions: one, or as many as points; the order. Reads points, origin, quaternion.
inline void relative(const Call& c) {
    for (int k = 0; 3 * k < c.width; ++k) {
        const Vector origin = vector_at(c.in[1], c.words[1] == 1 ? 0 : k);
        const Quaternion q = quaternion_at(c.in[2], c.words[2] == 1 ? 0 : k, c.words + 3);
        store(seen_from(reading_of<RelativeReading>(c), vector_at(c.in[0], k), origin, q), c.out, k);
    }
}

inline Quaternion combined(ComposeReading how, const Quaternion& a, const Quaternion& b) {
    switch (how) {
        case ComposeReading::first_second: return product(a, b);
        case ComposeReading::second_first: return product(b, a);
        case ComposeReading::inverse_of_first: return product(conjugate(a), b);
        case ComposeReading::inverse_of_second: return product(a, conjugate(b));
        case ComposeReading::first_only: return a;
        case ComposeReading::second_only: break;
    }
    return b;
}

// words: the reading; how many of the first, one or as many as of the second; their orders, and the one that is written.
inline void compose(const Call& c) {
    for (int k = 0; 4 * k < c.width; ++k) {
        const Quaternion a = quaternion_at(c.in[0], c.words[1] == 1 ? 0 : k, c.words + 2);
        store(combined(reading_of<ComposeReading>(c), a, quaternion_at(c.in[1], k, c.words + 6)), c.out, k, c.words + 10);
    }
}

}  // namespace vocabulary
}  // namespace rigpact
