// Free-run's write-back: which slices of the raw state the output renews; everything else keeps its old value.
#pragma once

#include "rigpact/angular_velocity.hpp"
#include "rigpact/contract_view.hpp"
#include "rigpact/conventions.hpp"

namespace rigpact {

template <class Real>
class WriteBack {
public:
    WriteBack(const ContractView& contract, const Conventions& conventions, double fps)
        : contract_(contract), way_(conventions.writeback), motion_(contract, conventions), fps_(fps) {}

    void write(const float* x_raw, const float* y_out, float* following) const {
        for (int i = 0; i < contract_.state.width; ++i) following[i] = x_raw[i];
        if (way_ == Writeback::none) return;
        for (int s = 0; s < contract_.output.count; ++s) {
            const Slice& slice = contract_.output.slices[s];
            const Slice* twin = state_twin(contract_, slice);
            for (int k = 0; twin != nullptr && k < slice.size; ++k) following[twin->start + k] = y_out[slice.start + k];
        }
        if (way_ == Writeback::all) renew_what_follows(x_raw, following);
    }

private:
    // What follows from the new pose: angular velocity of the step, root position moved on.
    void renew_what_follows(const float* x_raw, float* following) const {
        const Slice* angular = find_slice(contract_.state, "BoneAngularVelocities");
        for (int bone = 0; bone < contract_.bones; ++bone) {
            const Vec3<Real> omega = motion_.step_between(x_raw, following, bone) * static_cast<Real>(fps_);
            for (int i = 0; i < 3; ++i) following[angular->start + 3 * bone + i] = static_cast<float>(omega[i]);
        }
        const Slice* position = find_slice(contract_.state, "RootPosition");
        const Slice* velocity = find_slice(contract_.state, "RootVelocity");
        for (int i = 0; position != nullptr && position->size >= 2 && i < 2; ++i) {
            following[position->start + i] += following[velocity->start + i] / static_cast<float>(fps_);
        }
    }

    ContractView contract_;
    Writeback way_;
    AngularVelocityInput<Real> motion_;
    double fps_;
};

}  // namespace rigpact
