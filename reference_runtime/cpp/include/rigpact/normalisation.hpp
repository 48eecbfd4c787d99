// State features and their z-scores, both ways. Engine: `NormalizeXRaw_To_Z`, `DenormX_Z_To_Raw`.
#pragma once

#include <cstddef>
#include <cstring>

#include "rigpact/contract_view.hpp"
#include "rigpact/conventions.hpp"
#include "rigpact/tanh.hpp"
#include "rigpact/vector.hpp"

namespace rigpact {

inline constexpr float kStdFloor = 1e-6f;
inline constexpr float kTanhScaleFloor = 1e-3f;
inline constexpr float kAuxiliaryScaleFloor = 1e-6f;
inline constexpr double kAtanhLimit = 1.0 - 1e-6;  // beyond it the raw value would be infinite

// Floors are taken in float32, as the engine holds statistics, before the maths type is entered.
template <class Real>
RIGPACT_INLINED Real floored(float value, float floor) {
    return static_cast<Real>(larger(std::fabs(value), floor));
}

template <class Real>
RIGPACT_INLINED Real zscored(Real value, float mean, float std) {
    return (value - static_cast<Real>(mean)) / floored<Real>(std, kStdFloor);
}

template <class Real>
RIGPACT_INLINED Real squashed_zscored(Real value, float scale, float mean, float std) {
    return zscored(tanh_of(value / floored<Real>(scale, kAuxiliaryScaleFloor)), mean, std);
}

template <class Real>
Real clamped_atanh(Real value) {
    const Real limit = static_cast<Real>(kAtanhLimit);
    return std::atanh(clamped(value, -limit, limit));
}

// Whether a slice holds the same bits in two vectors.
inline bool same_slice(const Slice& slice, const float* a, const float* b) {
    return std::memcmp(a + slice.start, b + slice.start, sizeof(float) * static_cast<std::size_t>(slice.size)) == 0;
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

template <class Real>
class StateNormaliser {
public:
    StateNormaliser(const ContractView& contract, const Conventions& conventions)
        : contract_(contract),
          yaw_encoding_(conventions.yaw_encoding),
          rootvel_squash_(conventions.rootvel_squash),
          angvel_squash_(conventions.angvel_squash),
          yaw_(find_slice(contract.state, "RootYaw")),
          velocity_(find_slice(contract.state, "RootVelocity")),
          angular_(find_slice(contract.state, "BoneAngularVelocities")) {}

    // stands: the raw state that `state` already holds; what of it did not change is not computed again. Null: nothing.
    void normalise(const float* x_raw, float* state, const float* stands = nullptr) const {
        const int after = angular_->start + angular_->size;
        for (int i = 0; i < angular_->start; ++i) state[i] = static_cast<float>(z_of(i, static_cast<Real>(x_raw[i])));
        for (int i = after; i < contract_.state.width; ++i) state[i] = static_cast<float>(z_of(i, static_cast<Real>(x_raw[i])));
        const int yaw = yaw_->start;
        state[yaw] = static_cast<float>(z_of(yaw, encode_yaw(yaw_encoding_, static_cast<Real>(x_raw[yaw]))));
        squash(*velocity_, contract_.rootvel_scales, rootvel_squash_, x_raw, state);
        if (stands == nullptr || !same_slice(*angular_, stands, x_raw)) squash(*angular_, contract_.angvel_scales, angvel_squash_, x_raw, state);
    }

    void denormalise(const float* state, float* x_raw) const {
        for (int i = 0; i < contract_.state.width; ++i) x_raw[i] = static_cast<float>(feature_of(i, static_cast<Real>(state[i])));
        const int yaw = yaw_->start;
        x_raw[yaw] = static_cast<float>(decode_yaw(yaw_encoding_, feature_of(yaw, static_cast<Real>(state[yaw]))));
        unsquash(*velocity_, contract_.rootvel_scales, rootvel_squash_, state, x_raw);
        unsquash(*angular_, contract_.angvel_scales, angvel_squash_, state, x_raw);
    }

private:
    RIGPACT_INLINED Real z_of(int i, Real feature) const { return zscored(feature, contract_.mu_x[i], contract_.std_x[i]); }
    Real feature_of(int i, Real z) const {
        return z * floored<Real>(contract_.std_x[i], kStdFloor) + static_cast<Real>(contract_.mu_x[i]);
    }

    template <class Knob>
    void squash(const Slice& slice, const float* scales, Knob knob, const float* x_raw, float* state) const {
        if (knob == Knob::tanh) {  // a loop of its own: without a choice inside, a compiler computes it side by side
            squash_each<Knob::tanh>(slice, scales, x_raw, state);
            return;
        }
        for (int k = 0; k < slice.size; ++k) squash_one(slice.start + k, scales[k], knob, x_raw, state);
    }
    template <auto knob>
    void squash_each(const Slice& slice, const float* scales, const float* x_raw, float* state) const {
        for (int k = 0; k < slice.size; ++k) squash_one(slice.start + k, scales[k], knob, x_raw, state);
    }
    template <class Knob>
    RIGPACT_INLINED void squash_one(int i, float tanh_scale, Knob knob, const float* x_raw, float* state) const {
        const Real scale = floored<Real>(tanh_scale, kTanhScaleFloor);
        const Real z = z_of(i, squash_before(knob, static_cast<Real>(x_raw[i]), scale));
        state[i] = static_cast<float>(squash_after(knob, z, scale));
    }

    template <class Knob>
    void unsquash(const Slice& slice, const float* scales, Knob knob, const float* state, float* x_raw) const {
        for (int k = 0; k < slice.size; ++k) {
            const int i = slice.start + k;
            const Real scale = floored<Real>(scales[k], kTanhScaleFloor);
            const Real feature = feature_of(i, undo_squash_after(knob, static_cast<Real>(state[i]), scale));
            x_raw[i] = static_cast<float>(undo_squash_before(knob, feature, scale));
        }
    }

    ContractView contract_;
    YawEncoding yaw_encoding_;
    RootvelSquash rootvel_squash_;
    AngvelSquash angvel_squash_;
    const Slice* yaw_;
    const Slice* velocity_;
    const Slice* angular_;
};

}  // namespace rigpact
