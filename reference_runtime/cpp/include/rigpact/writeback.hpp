// Free-run's write-back: which slices of the raw state the output renews; everything else keeps its old value.
#pragma once

#include <cstddef>
#include <memory>

#include "rigpact/angular_velocity.hpp"
#include "rigpact/contract_view.hpp"
#include "rigpact/conventions.hpp"

namespace rigpact {

template <class Real>
class WriteBack {
public:
    WriteBack(const ContractView& contract, const Conventions& conventions, double fps)
        : contract_(contract),
          way_(conventions.writeback),
          motion_(contract, conventions),
          fps_(fps),
          renewed_(new Renewed[static_cast<std::size_t>(contract.output.count)]) {
        for (int i = 0; i < contract.output.count; ++i) {
            const Slice& slice = contract.output.slices[i];
            if (const Slice* twin = state_twin(contract, slice)) renewed_[static_cast<std::size_t>(count_++)] = {slice.start, twin->start, slice.size};
        }
    }

    void write(const float* x_raw, const float* y_out, float* following) const {
        for (int i = 0; i < contract_.state.width; ++i) following[i] = x_raw[i];
        if (way_ == Writeback::none) return;
        for (int i = 0; i < count_; ++i) {
            const Renewed& slice = renewed_[static_cast<std::size_t>(i)];
            for (int k = 0; k < slice.size; ++k) following[slice.to + k] = y_out[slice.from + k];
        }
        if (way_ == Writeback::all) renew_what_follows(x_raw, following);
    }

private:
    struct Renewed {
        int from;
        int to;
        int size;
    };

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
    std::unique_ptr<Renewed[]> renewed_;
    int count_ = 0;
};

}  // namespace rigpact
