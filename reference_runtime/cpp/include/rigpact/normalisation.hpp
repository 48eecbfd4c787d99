// State features, both ways. Engine: `NormalizeXRaw_To_Z`, `DenormX_Z_To_Raw`.
#pragma once

#include "rigpact/tanh.hpp"
#include "rigpact/vector.hpp"
#include "rigpact/vocabulary/readings.hpp"

namespace rigpact {

inline constexpr double kAtanhLimit = 1.0 - 1e-6;  // beyond it the raw value would be infinite

template <class Real>
Real clamped_atanh(Real value) {
    const Real limit = static_cast<Real>(kAtanhLimit);
    return std::atanh(clamped(value, -limit, limit));
}

// Both velocity knobs have the same four values; the enumerators differ only in type.
template <class Knob, class Real>
RIGPACT_INLINED Real squash_before(Knob knob, Real value, Real scale) {
    switch (knob) {
        case Knob::tanh: return tanh_of(value / scale);
        case Knob::linear: return value / scale;
        case Knob::none:
        case Knob::tanh_after_zscore: break;
    }
    return value;
}
template <class Knob, class Real>
RIGPACT_INLINED Real squash_after(Knob knob, Real z, Real scale) {
    return knob == Knob::tanh_after_zscore ? tanh_of(z / scale) : z;
}
template <class Knob, class Real>
Real undo_squash_before(Knob knob, Real value, Real scale) {
    switch (knob) {
        case Knob::tanh: return scale * clamped_atanh(value);
        case Knob::linear: return value * scale;
        case Knob::none:
        case Knob::tanh_after_zscore: break;
    }
    return value;
}
template <class Knob, class Real>
Real undo_squash_after(Knob knob, Real z, Real scale) {
    return knob == Knob::tanh_after_zscore ? scale * clamped_atanh(z) : z;
}

template <class Real>
Real encode_yaw(YawEncoding knob, Real yaw_rad) {
    const Real pi = static_cast<Real>(kPi);
    switch (knob) {
        case YawEncoding::wrapped_over_pi: return wrap_to_pi(yaw_rad) / pi;
        case YawEncoding::unwrapped_over_pi: return yaw_rad / pi;
        case YawEncoding::radians: return wrap_to_pi(yaw_rad);
        case YawEncoding::degrees_over_180: return yaw_rad / 180;
        case YawEncoding::absolute: return std::fabs(wrap_to_pi(yaw_rad)) / pi;
    }
    return yaw_rad;
}
template <class Real>
Real decode_yaw(YawEncoding knob, Real feature) {
    const Real pi = static_cast<Real>(kPi);
    switch (knob) {
        case YawEncoding::wrapped_over_pi:
        case YawEncoding::absolute: return clamped(feature, Real(-1), Real(1)) * pi;
        case YawEncoding::unwrapped_over_pi: return feature * pi;
        case YawEncoding::radians: return feature;
        case YawEncoding::degrees_over_180: return feature * 180;
    }
    return feature;
}

}  // namespace rigpact
