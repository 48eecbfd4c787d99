// From the network's output to the published pose: denormalise, reproject, compose, encode, publish.
// Engine: `DenormY_Z_To_Raw`, `Reproject6D`, the delta composition, `FPoseMailbox`.
#pragma once

#include <cstddef>
#include <memory>

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
          after_(conventions.reproject == Reproject::both || conventions.reproject == Reproject::after) {
        take_statistics();
    }

    const Slice& rotations() const { return rotations_; }
    bool is_delta() const { return conventions_.output_mode != OutputMode::absolute; }

    void identity_pose(float* pose) const {
        Bones identity;
        codec_.identity(identity.v);
        each_group([&](const int* bones, const int*) { identity.store(pose, bones); });
    }

    // y_norm · StdY + MuY, no floor on StdY; yaw and velocities undo their features.
    void y_raw(const float* y_norm, float* out) const {
        for (int i = 0; i < contract_.output.width; ++i) out[i] = static_cast<float>(raw_of(i, static_cast<Real>(y_norm[i])));
        undo_features(y_norm, out);
    }

    // published6d: the pose published one frame before; only `previous_frame_for_delta` takes an axis from it.
    void delta6d(const float* y_raw, const float* published6d, float* out) const {
        const bool residual = conventions_.output_mode == OutputMode::residual;
        Bones identity;
        codec_.identity(identity.v);
        each_group([&](const int* bones, const int*) {
            Bones delta(y_raw + rotations_.start, bones), result;
            for (int i = 0; i < 6 && residual; ++i) delta.v[i] = delta.v[i] + identity.v[i];
            if (before_) codec_.reproject_delta(delta.v, Bones(published6d, bones).v, result.v);
            (before_ ? result : delta).store(out, bones);
        });
    }

    // R_next = ΔR · R_prev, encoded.
    void compose(const float* delta6d, const float* previous6d, float* out) const {
        // Axes are rows here: the contract's ΔR · R_prev turns round, and a literal `delta * previous` is the defect.
        const bool as_contract = conventions_.compose_order == ComposeOrder::delta_prev;
        each_group([&](const int* bones, const int*) {
            const Bones six(delta6d, bones);
            Mat3<Some> delta = before_ ? codec_.decode(six.v) : codec_.decode_as_is(six.v);
            if (conventions_.delta_direction == DeltaDirection::inverse) delta = delta.transposed();
            const Mat3<Some> previous = codec_.decode(Bones(previous6d, bones).v);
            Bones next;
            codec_.encode(as_contract ? previous * delta : delta * previous, next.v);
            next.store(out, bones);
        });
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
        each_group([&](const int* slots, const int* bones) {
            const Bones composed(next6d, bones);
            Bones pose = composed;
            if (after_) codec_.reproject(composed.v, Bones(published6d, bones).v, pose.v);
            if (conventions_.mirror != Mirror::none) mirror(pose);
            pose.store(out + rotations_.start, slots);
        });
    }

    // Of a reflection, which no quaternion is, those of its proper twin.
    void quat(const float* y_out, float* out) const {
        const int shift = conventions_.quaternion_order == QuaternionOrder::wxyz ? 3 : 0;
        each_group([&](const int* bones, const int*) {
            const Quat<Some> q = matrix_to_quat(proper_codec_.decode(Bones(y_out + rotations_.start, bones).v));
            for (int lane = 0; lane < Some::count; ++lane) {
                for (int i = 0; i < 4; ++i) out[4 * bones[lane] + i] = static_cast<float>(q.xyzw[(i + shift) % 4].at[lane]);
            }
        });
    }

private:
    using Some = Lanes<Real>;
    using Bones = Six<Some>;

    static Conventions proper(Conventions conventions) {
        conventions.derived_axis = DerivedAxis::second_cross_first;
        return conventions;
    }

    // A group of bones after the other: `visit(slots, bones)`; slot i is published from bone i. The last group repeats a bone.
    template <class Visit>
    void each_group(Visit&& visit) const {
        for (int first = 0; first < contract_.bones; first += Some::count) {
            int slots[Some::count], bones[Some::count];
            for (int lane = 0; lane < Some::count; ++lane) {
                slots[lane] = first + lane < contract_.bones ? first + lane : contract_.bones - 1;
                bones[lane] = conventions_.bone_order == nullptr ? slots[lane] : conventions_.bone_order[slots[lane]];
            }
            visit(slots, bones);
        }
    }

    Real raw_of(int i, Real y_norm) const {
        const std::size_t channel = static_cast<std::size_t>(i);
        return y_norm * factor_[channel] + mean_[channel];
    }

    // Factor and mean of each channel, under the convention.
    void take_statistics() {
        const std::size_t width = static_cast<std::size_t>(contract_.output.width);
        factor_.reset(new Real[width]);
        mean_.reset(new Real[width]);
        for (int i = 0; i < contract_.output.width; ++i) {
            const int twin = conventions_.denorm == Denorm::state_stats ? twin_of(i) : -1;
            const float std = twin < 0 ? contract_.std_y[i] : contract_.std_x[twin];
            const float mean = twin < 0 ? contract_.mu_y[i] : contract_.mu_x[twin];
            const bool in_rotations = i >= rotations_.start && i < rotations_.start + rotations_.size;
            // MuY is a mean pose: it has no place in a residual
            const bool adds_mean = conventions_.denorm != Denorm::std_only && !(conventions_.output_mode == OutputMode::residual && in_rotations);
            factor_[static_cast<std::size_t>(i)] = factor_of(std);
            mean_[static_cast<std::size_t>(i)] = adds_mean ? static_cast<Real>(mean) : Real(0);
        }
    }

    Real factor_of(float std) const {
        if (conventions_.denorm == Denorm::mean_only) return 1;
        if (conventions_.denorm == Denorm::variance) return static_cast<Real>(static_cast<double>(std) * static_cast<double>(std));
        return static_cast<Real>(std);
    }

    // The statistics that a channel is read with by mistake: those of its twin in the state; -1 without one.
    int twin_of(int i) const {
        for (int s = 0; s < contract_.output.count; ++s) {
            const Slice& slice = contract_.output.slices[s];
            const Slice* twin = i >= slice.start && i < slice.start + slice.size ? state_twin(contract_, slice) : nullptr;
            if (twin != nullptr) return twin->start + i - slice.start;
        }
        return -1;
    }

    // Scales are not floored here; that is the engine's.
    void undo_features(const float* y_norm, float* out) const {
        if (const Slice* yaw = find_slice(contract_.output, "RootYaw")) {
            for (int i = yaw->start; i < yaw->start + yaw->size; ++i) {
                out[i] = static_cast<float>(decode_yaw(conventions_.yaw_encoding, raw_of(i, static_cast<Real>(y_norm[i]))));
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
            const Real feature = raw_of(i, undo_squash_after(knob, static_cast<Real>(y_norm[i]), scale));
            out[i] = static_cast<float>(undo_squash_before(knob, feature, scale));
        }
    }

    // R becomes S·R·S, S = diag(±1): entry (r, c) changes sign when exactly one of r and c is the mirrored axis.
    void mirror(Bones& pose) const {
        const int flipped = conventions_.mirror == Mirror::x ? 0 : (conventions_.mirror == Mirror::y ? 1 : 2);
        Mat3<Some> matrix = codec_.decode_as_is(pose.v);
        for (int i = 0; i < 3; ++i) {
            for (int j = 0; j < 3; ++j) {
                if ((i == flipped) != (j == flipped)) matrix.axis[i][j] = constant<Some>(-1) * matrix.axis[i][j];
            }
        }
        codec_.encode(matrix, pose.v);
    }

    ContractView contract_;
    Conventions conventions_;
    Rot6d<Some> codec_;
    Rot6d<Some> proper_codec_;
    Slice rotations_;
    bool before_;
    bool after_;
    std::unique_ptr<Real[]> factor_;
    std::unique_ptr<Real[]> mean_;
};

}  // namespace rigpact
