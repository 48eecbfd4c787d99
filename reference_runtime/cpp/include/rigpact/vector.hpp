// Vectors, rotation matrices and quaternions as engines hold them.
// A matrix keeps the bone's axes as ROWS and acts on row vectors (`FMatrix`): in `a * b`, a acts first. The contract's
// formulas are written for columns, so R_next = ΔR · R_prev is `previous * delta` here. That is the trap.
#pragma once

#include <cmath>

#include "rigpact/lanes.hpp"

namespace rigpact {

inline constexpr double kPi = 3.14159265358979323846;
inline constexpr double kKindaSmall = 1e-4;  // KINDA_SMALL_NUMBER

// Not std::max: some platforms' headers define a macro of that name.
template <class Real>
constexpr Real larger(Real a, Real b) {
    return a < b ? b : a;
}
template <class Real>
constexpr Real clamped(Real value, Real low, Real high) {
    return value < low ? low : (value > high ? high : value);
}

template <class Real>
struct Vec3 {
    Real c[3];

    Real& operator[](int axis) { return c[axis]; }
    Real operator[](int axis) const { return c[axis]; }
    Vec3 operator-(const Vec3& o) const { return {{c[0] - o.c[0], c[1] - o.c[1], c[2] - o.c[2]}}; }
    Vec3 operator*(Real s) const { return {{c[0] * s, c[1] * s, c[2] * s}}; }
    Vec3 operator/(Real s) const { return {{c[0] / s, c[1] / s, c[2] / s}}; }
};

template <class Real>
Real dot(const Vec3<Real>& a, const Vec3<Real>& b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
template <class Real>
Vec3<Real> cross(const Vec3<Real>& a, const Vec3<Real>& b) {
    return {{a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]}};
}
template <class Real>
Real length(const Vec3<Real>& v) {
    return root(dot(v, v));
}
template <class Real>
Vec3<Lanes<Real>> select(const LaneMask<Real>& which, const Vec3<Lanes<Real>>& yes, const Vec3<Lanes<Real>>& no) {
    return {{select(which, yes[0], no[0]), select(which, yes[1], no[1]), select(which, yes[2], no[2])}};
}
// The part of v that is orthogonal to the unit vector `axis`.
template <class Real>
Vec3<Real> perpendicular(const Vec3<Real>& v, const Vec3<Real>& axis) {
    return v - axis * dot(axis, v);
}
template <class Real>
Vec3<Real> coordinate_axis(int index) {
    Vec3<Real> axis{{constant<Real>(0), constant<Real>(0), constant<Real>(0)}};
    axis[index] = constant<Real>(1);
    return axis;
}
// `IsNearlyZero`: every component within 1e-4. A NaN is not nearly zero: it goes on, to be found.
template <class Real>
auto is_nearly_zero(const Vec3<Real>& v) {
    const Real limit = constant<Real>(kKindaSmall);
    return both(both(absolute(v[0]) <= limit, absolute(v[1]) <= limit), absolute(v[2]) <= limit);
}
template <class Real>
auto is_short(const Vec3<Real>& v) {
    return length(v) < constant<Real>(kKindaSmall);
}

template <class Real>
struct Mat3 {
    Vec3<Real> axis[3];  // rows

    Mat3 operator*(const Mat3& second) const {
        Mat3 product;
        for (int i = 0; i < 3; ++i) {
            for (int j = 0; j < 3; ++j) {
                product.axis[i][j] = axis[i][0] * second.axis[0][j] + axis[i][1] * second.axis[1][j] + axis[i][2] * second.axis[2][j];
            }
        }
        return product;
    }
    Mat3 transposed() const {
        Mat3 result;
        for (int i = 0; i < 3; ++i) {
            for (int j = 0; j < 3; ++j) result.axis[i][j] = axis[j][i];
        }
        return result;
    }
};

template <class Real>
struct Quat {
    Real xyzw[4];
};

// The largest of the four components is found first and is positive; the others follow from it, so that no precision is
// lost near half turns.
template <class Real>
Quat<Real> matrix_to_quat(const Mat3<Real>& matrix) {
    const Vec3<Real>* r = matrix.axis;  // r[column][row] of the contract's matrix
    const Real trace = r[0][0] + r[1][1] + r[2][2];
    const Real skew[3] = {r[1][2] - r[2][1], r[2][0] - r[0][2], r[0][1] - r[1][0]};
    const Real one = constant<Real>(1), two = constant<Real>(2);
    Real outer[4][4];  // row c is 4·q_c·q
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) outer[i][j] = r[j][i] + r[i][j];
        outer[i][i] = one + two * r[i][i] - trace;
        outer[3][i] = outer[i][3] = skew[i];
    }
    outer[3][3] = one + trace;
    Real largest = outer[0][0], q[4] = {outer[0][0], outer[0][1], outer[0][2], outer[0][3]};
    for (int i = 1; i < 4; ++i) {
        const auto larger_still = outer[i][i] > largest;
        largest = select(larger_still, outer[i][i], largest);
        for (int j = 0; j < 4; ++j) q[j] = select(larger_still, outer[i][j], q[j]);
    }
    const Real size = root(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    return {{q[0] / size, q[1] / size, q[2] / size, q[3] / size}};
}

// Axis times angle, angle in [0, pi], by way of the quaternion: atan2 is exact to rounding at both ends, acos is not.
template <class Real>
Vec3<Real> rotation_vector(const Mat3<Real>& matrix) {
    Quat<Real> quat = matrix_to_quat(matrix);
    if (quat.xyzw[3] < 0) {
        for (Real& component : quat.xyzw) component = -component;
    }
    const Vec3<Real> vector{{quat.xyzw[0], quat.xyzw[1], quat.xyzw[2]}};
    const Real size = length(vector);
    const Real tiny = sizeof(Real) == 4 ? static_cast<Real>(1.17549435e-38) : static_cast<Real>(2.2250738585072014e-308);
    const Real factor = size < tiny ? Real(2) : 2 * std::atan2(size, quat.xyzw[3]) / size;
    return vector * factor;
}

// `UnwindRadians`: angle in [-pi, pi], both ends kept.
template <class Real>
Real wrap_to_pi(Real angle) {
    const Real turn = static_cast<Real>(2 * kPi);
    const Real turns = std::ceil(std::fabs(angle) / turn - Real(0.5));
    const Real sign = angle > 0 ? Real(1) : (angle < 0 ? Real(-1) : angle);
    return angle - sign * turns * turn;
}

}  // namespace rigpact
