// The Cond input: action bits, planar direction, speed. Engine: `BuildCondVector`.
#pragma once

#include "rigpact/vector.hpp"
#include "rigpact/vocabulary/readings.hpp"

namespace rigpact {

inline constexpr int kConditionWidth = 7;  // four action bits, planar direction, speed

// What the player wants, in metres per second; `trajectory` is the middle entry of the clip's direction window.
struct Wish {
    float action_bits[4];
    float velocity_m_s[2];
    float trajectory[2];
};

template <class Real>
void build_condition(ConditionDirection direction, ConditionSpeedUnit speed_unit, const Wish& wish, float* cond_raw) {
    const float* from = direction == ConditionDirection::trajectory ? wish.trajectory : wish.velocity_m_s;
    Real x = static_cast<Real>(from[0]), y = static_cast<Real>(from[1]);
    switch (direction) {
        case ConditionDirection::velocity:
        case ConditionDirection::trajectory: break;
        case ConditionDirection::negated: x = -x, y = -y; break;
        case ConditionDirection::swapped_xy: {
            const Real swapped = x;
            x = y, y = swapped;
            break;
        }
        case ConditionDirection::mirrored_y: y = -y; break;
    }
    const Real size = std::sqrt(x * x + y * y);
    const bool standing = size < static_cast<Real>(1e-3);  // below this speed there is no direction
    for (int i = 0; i < 4; ++i) cond_raw[i] = clamped(wish.action_bits[i], 0.0f, 1.0f);
    cond_raw[4] = static_cast<float>(standing ? Real(0) : clamped(x / size, Real(-1), Real(1)));
    cond_raw[5] = static_cast<float>(standing ? Real(0) : clamped(y / size, Real(-1), Real(1)));
    const Real vx = static_cast<Real>(wish.velocity_m_s[0]), vy = static_cast<Real>(wish.velocity_m_s[1]);
    const Real unit = speed_unit == ConditionSpeedUnit::cm_s ? Real(100) : Real(1);
    cond_raw[6] = static_cast<float>(std::sqrt(vx * vx + vy * vy) * unit);
}

}  // namespace rigpact
