// From the network's output to the published pose: denormalise, reproject, compose, encode, publish.
// Engine: `DenormY_Z_To_Raw`, `Reproject6D`, the delta composition, `FPoseMailbox`.
#pragma once

#include "rigpact/contract_view.hpp"
#include "rigpact/conventions.hpp"
#include "rigpact/normalisation.hpp"
#include "rigpact/rot6d.hpp"

namespace rigpact {

template <class Real>
class OutputStages {
public:
    OutputStages(const ContractView& contract, const Conventions& conventions)
        : contract_(contract),
          conventions_(conventions),
          codec_(conventions),
          proper_codec_(proper(conventions)),
          rotations_(*find_slice(contract.output, "BoneRotations6D")),
          before_(conventions.reproject == Reproject::both || conventions.reproject == Reproject::before),
          after_(conventions.reproject == Reproject::both || conventions.reproject == Reproject::after) {}

    const Slice& rotations() const { return rotations_; }
    bool is_delta() const { return conventions_.output_mode != OutputMode::absolute; }

    void identity_pose(float* pose) const {
        Six<Real> identity;
        codec_.identity(identity.v);
        for (int bone = 0; bone < contract_.bones; ++bone) identity.store(pose + 6 * bone);
    }

    // y_norm · StdY + MuY, no floor on StdY; yaw and velocities undo their features.
    void y_raw(const float* y_norm, float* out) const {
        for (int i = 0; i < contract_.output.width; ++i) out[i] = static_cast<float>(raw_of(i, static_cast<Real>(y_norm[i]), mean_of(i)));
        if (conventions_.output_mode == OutputMode::residual) {  // MuY is a mean pose: it has no place in a residual
            for (int i = rotations_.start; i < rotations_.start + rotations_.size; ++i) {
                out[i] = static_cast<float>(raw_of(i, static_cast<Real>(y_norm[i]), Real(0)));
            }
        }
        undo_features(y_norm, out);
    }

    // published6d: the pose published one frame before; only `previous_frame_for_delta` takes an axis from it.
    void delta6d(const float* y_raw, const float* published6d, float* out) const {
        Six<Real> identity;
        codec_.identity(identity.v);
        const bool residual = conventions_.output_mode == OutputMode::residual;
        for (int bone = 0; bone < contract_.bones; ++bone) {
            Six<Real> delta(y_raw + rotations_.start + 6 * bone), result;
            for (int i = 0; i < 6 && residual; ++i) delta.v[i] += identity.v[i];
            if (before_) codec_.reproject_delta(delta.v, Six<Real>(published6d + 6 * bone).v, result.v);
            (before_ ? result : delta).store(out + 6 * bone);
        }
    }

    // R_next = ΔR · R_prev, encoded.
    void compose(const float* delta6d, const float* previous6d, float* out) const {
        for (int bone = 0; bone < contract_.bones; ++bone) {
            const Six<Real> six(delta6d + 6 * bone);
            Mat3<Real> delta = before_ ? codec_.decode(six.v) : codec_.decode_as_is(six.v);
            if (conventions_.delta_direction == DeltaDirection::inverse) delta = delta.transposed();
            const Mat3<Real> previous = codec_.decode(Six<Real>(previous6d + 6 * bone).v);
            Six<Real> next;
            // Axes are rows here: the contract's ΔR · R_prev turns round, and a literal `delta * previous` is the defect.
            const bool as_contract = conventions_.compose_order == ComposeOrder::delta_prev;
            codec_.encode(as_contract ? previous * delta : delta * previous, next.v);
            next.store(out + 6 * bone);
        }
    }

    void next6d(const float* y_raw, const float* delta6d, const float* previous6d, float* out) const {
        if (is_delta()) {
            compose(delta6d, previous6d, out);
            return;
        }
        for (int i = 0; i < rotations_.size; ++i) out[i] = y_raw[rotations_.start + i];
    }

    // `Y_denorm` of the mailbox: reprojected rotations in the engine's bone order and handedness.
    void y_out(const float* y_raw, const float* next6d, const float* published6d, float* out) const {
        for (int i = 0; i < contract_.output.width; ++i) out[i] = y_raw[i];
        for (int slot = 0; slot < contract_.bones; ++slot) {
            const int bone = conventions_.bone_order == nullptr ? slot : conventions_.bone_order[slot];
            const Six<Real> composed(next6d + 6 * bone);
            Six<Real> pose = composed;
            if (after_) codec_.reproject(composed.v, Six<Real>(published6d + 6 * bone).v, pose.v);
            if (conventions_.mirror != Mirror::none) mirror(pose);
            pose.store(out + rotations_.start + 6 * slot);
        }
    }

    // Of a reflection, which no quaternion is, those of its proper twin.
    void quat(const float* y_out, float* out) const {
        const bool scalar_first = conventions_.quaternion_order == QuaternionOrder::wxyz;
        for (int bone = 0; bone < contract_.bones; ++bone) {
            const Quat<Real> q = matrix_to_quat(proper_codec_.decode(Six<Real>(y_out + rotations_.start + 6 * bone).v));
            for (int i = 0; i < 4; ++i) out[4 * bone + i] = static_cast<float>(q.xyzw[scalar_first ? (i + 3) % 4 : i]);
        }
    }

private:
    static Conventions proper(Conventions conventions) {
        conventions.derived_axis = DerivedAxis::second_cross_first;
        return conventions;
    }

    Real raw_of(int i, Real y_norm, Real mean) const { return y_norm * factor_of(i) + mean; }

    // The statistics that a channel is read with: its own, or by mistake those of its twin in the state.
    int twin_of(int i) const {
        for (int s = 0; s < contract_.output.count; ++s) {
            const Slice& slice = contract_.output.slices[s];
            const Slice* twin = i >= slice.start && i < slice.start + slice.size ? state_twin(contract_, slice) : nullptr;
            if (twin != nullptr) return twin->start + i - slice.start;
        }
        return -1;
    }

    Real factor_of(int i) const {
        const float own = contract_.std_y[i];
        switch (conventions_.denorm) {
            case Denorm::std_and_mean:
            case Denorm::std_only: break;
            case Denorm::mean_only: return 1;
            case Denorm::variance: return static_cast<Real>(static_cast<double>(own) * static_cast<double>(own));
            case Denorm::state_stats: {
                const int twin = twin_of(i);
                return static_cast<Real>(twin < 0 ? own : contract_.std_x[twin]);
            }
        }
        return static_cast<Real>(own);
    }

    Real mean_of(int i) const {
        const int twin = conventions_.denorm == Denorm::state_stats ? twin_of(i) : -1;
        if (twin >= 0) return static_cast<Real>(contract_.mu_x[twin]);
        return conventions_.denorm == Denorm::std_only ? Real(0) : static_cast<Real>(contract_.mu_y[i]);
    }

    // Scales are not floored here; that is the engine's.
    void undo_features(const float* y_norm, float* out) const {
        if (const Slice* yaw = find_slice(contract_.output, "RootYaw")) {
            for (int i = yaw->start; i < yaw->start + yaw->size; ++i) {
                out[i] = static_cast<float>(decode_yaw(conventions_.yaw_encoding, raw_of(i, static_cast<Real>(y_norm[i]), mean_of(i))));
            }
        }
        undo_velocity("RootVelocity", contract_.rootvel_scales, conventions_.rootvel_squash, y_norm, out);
        undo_velocity("BoneAngularVelocities", contract_.angvel_scales, conventions_.angvel_squash, y_norm, out);
    }

    template <class Knob>
    void undo_velocity(const char* name, const float* scales, Knob knob, const float* y_norm, float* out) const {
        const Slice* slice = find_slice(contract_.output, name);
        for (int k = 0; slice != nullptr && k < slice->size; ++k) {
            const int i = slice->start + k;
            const Real scale = std::fabs(static_cast<Real>(scales[k]));
            const Real feature = raw_of(i, undo_squash_after(knob, static_cast<Real>(y_norm[i]), scale), mean_of(i));
            out[i] = static_cast<float>(undo_squash_before(knob, feature, scale));
        }
    }

    // R becomes S·R·S, S = diag(±1): entry (r, c) changes sign when exactly one of r and c is the mirrored axis.
    void mirror(Six<Real>& pose) const {
        const int flipped = conventions_.mirror == Mirror::x ? 0 : (conventions_.mirror == Mirror::y ? 1 : 2);
        Mat3<Real> matrix = codec_.decode_as_is(pose.v);
        for (int i = 0; i < 3; ++i) {
            for (int j = 0; j < 3; ++j) {
                if ((i == flipped) != (j == flipped)) matrix.axis[i][j] = -matrix.axis[i][j];
            }
        }
        codec_.encode(matrix, pose.v);
    }

    ContractView contract_;
    Conventions conventions_;
    Rot6d<Real> codec_;
    Rot6d<Real> proper_codec_;
    Slice rotations_;
    bool before_;
    bool after_;
};

}  // namespace rigpact
