// The AngVel input. The deployed engine copies the state's normalised slice; training computes it from rotations.
#pragma once

#include "rigpact/contract_view.hpp"
#include "rigpact/conventions.hpp"
#include "rigpact/normalisation.hpp"
#include "rigpact/rot6d.hpp"

namespace rigpact {

template <class Real>
class AngularVelocityInput {
public:
    AngularVelocityInput(const ContractView& contract, const Conventions& conventions)
        : contract_(contract),
          codec_(conventions),
          is_local_(conventions.angvel_frame == AngvelFrame::local),
          reads_one_slice_(conventions.angvel_source != AngvelSource::rotations && !is_local_),
          factor_(conventions.angvel_angle == AngvelAngle::half ? Real(0.5) : Real(1)),
          rotations_(find_slice(contract.state, "BoneRotations6D")),
          angular_(find_slice(contract.state, "BoneAngularVelocities")) {}

    // Whether the input of one raw state is also that of the other: it reads nothing but a slice that did not change.
    bool stands(const float* x_raw, const float* other) const {
        return reads_one_slice_ && same_slice(*angular_, x_raw, other);
    }

    bool has_statistics() const { return contract_.angvel.scale != nullptr; }

    // The raw state's own angular velocity, with the companion's statistics.
    void from_state(const float* x_raw, float* angvel) const {
        for (int bone = 0; bone < contract_.bones; ++bone) {
            Vec3<Real> omega;
            for (int i = 0; i < 3; ++i) omega[i] = static_cast<Real>(x_raw[angular_->start + 3 * bone + i]);
            store(bone, omega, x_raw, angvel);
        }
    }

    // fps · log(R_next · R_prevᵀ) of two raw states. Source: training `angvel_vec_from_R_seq`.
    void from_rotations(const float* x_before, const float* x_after, double fps, float* angvel) const {
        for (int bone = 0; bone < contract_.bones; ++bone) {
            store(bone, step_between(x_before, x_after, bone) * static_cast<Real>(fps), x_before, angvel);
        }
    }

    // What the engine falls back to: the normalised state's slice.
    void from_state_slice(const float* state, float* angvel) const {
        for (int i = 0; i < angular_->size; ++i) angvel[i] = state[angular_->start + i];
    }

    void zeros(float* angvel) const {
        for (int i = 0; i < angular_->size; ++i) angvel[i] = 0.0f;
    }

    // Rotation vector that takes a bone of one raw state to the next, in its parent's frame.
    Vec3<Real> step_between(const float* x_before, const float* x_after, int bone) const {
        return rotation_vector(matrix(x_before, bone).transposed() * matrix(x_after, bone));
    }

private:
    Mat3<Real> matrix(const float* x_raw, int bone) const {
        return codec_.decode(Six<Real>(x_raw + rotations_->start + 6 * bone).v);
    }

    void store(int bone, Vec3<Real> omega, const float* x_frame, float* angvel) const {
        if (is_local_) {
            const Mat3<Real> frame = matrix(x_frame, bone);
            omega = {{dot(frame.axis[0], omega), dot(frame.axis[1], omega), dot(frame.axis[2], omega)}};
        }
        for (int i = 0; i < 3; ++i) {
            const int k = 3 * bone + i;
            const SquashedStatistics& own = contract_.angvel;
            angvel[k] = static_cast<float>(squashed_zscored(omega[i] * factor_, own.scale[k], own.mean[k], own.std[k]));
        }
    }

    ContractView contract_;
    Rot6d<Real> codec_;
    bool is_local_;
    bool reads_one_slice_;
    Real factor_;
    const Slice* rotations_;
    const Slice* angular_;
};

}  // namespace rigpact
