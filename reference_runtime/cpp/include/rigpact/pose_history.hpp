// The PoseHist input: H past poses, six numbers a bone. Engine: `PushPoseHistoryFrame`, `BuildPoseHistoryFeature`,
// `NormalizePoseHistoryRaw`. Where poses come from (a ring, a clip) is the caller's: `pose_at_age(0)` is the current one.
#pragma once

#include "rigpact/contract_view.hpp"
#include "rigpact/conventions.hpp"
#include "rigpact/normalisation.hpp"

namespace rigpact {

template <class Real>
class PoseHistory {
public:
    PoseHistory(const ContractView& contract, const Conventions& conventions)
        : contract_(contract),
          norm_(conventions.pose_history_norm),
          newest_first_(conventions.pose_history_order == PoseHistoryOrder::newest_first),
          delay_(conventions.pose_history_phase == PoseHistoryPhase::excludes_current ? 1 : 0),
          start_(conventions.pose_history_start) {}

    int pose_width() const { return 6 * contract_.bones; }
    int width() const { return contract_.history_length * pose_width(); }
    // How many poses back from the current one the history looks, the current one counted.
    int reach() const { return contract_.history_length + delay_; }

    // A free run pushes what the network gives: the pose of frame 0 stood in the ring that identity_after_seed resets.
    bool is_reset_in_free_run() const { return start_ == PoseHistoryStart::identity_after_seed; }

    // padding: what stands for frames before the first. pose_at_age: age in frames -> six numbers a bone.
    template <class PoseAtAge>
    void build(int frame, const float* padding, PoseAtAge&& pose_at_age, float* raw, bool is_free_run = false) const {
        const bool from_second = start_ == PoseHistoryStart::first_target || (is_free_run && is_reset_in_free_run());
        const int first = from_second ? 1 : 0;
        for (int slot = 0; slot < contract_.history_length; ++slot) {
            const int age = delay_ + (newest_first_ ? slot : contract_.history_length - 1 - slot);
            const float* pose = frame - age >= first ? pose_at_age(age) : padding;
            for (int i = 0; i < pose_width(); ++i) raw[slot * pose_width() + i] = pose[i];
        }
    }

    // Without statistics the engine silently falls back to scale 1, mean 0, std 1.
    void normalise(const float* raw, float* feature) const {
        const SquashedStatistics& own = contract_.pose_hist;
        const bool known = own.scale != nullptr;
        if (norm_ == PoseHistoryNorm::raw) {
            each(raw, feature, [](Real value, int) { return value; });
        } else if (norm_ == PoseHistoryNorm::tanh_zscore && known) {
            each(raw, feature, [own](Real value, int i) { return squashed_zscored(value, own.scale[i], own.mean[i], own.std[i]); });
        } else if (norm_ == PoseHistoryNorm::tanh && known) {
            each(raw, feature, [own](Real value, int i) { return tanh_of(value / floored<Real>(own.scale[i], kAuxiliaryScaleFloor)); });
        } else {
            each(raw, feature, [](Real value, int) { return tanh_of(value); });
        }
    }

private:
    template <class Normalise>
    void each(const float* raw, float* feature, Normalise normalised) const {
        for (int i = 0; i < width(); ++i) feature[i] = static_cast<float>(normalised(static_cast<Real>(raw[i]), i));
    }

    ContractView contract_;
    PoseHistoryNorm norm_;
    bool newest_first_;
    int delay_;
    PoseHistoryStart start_;
};

}  // namespace rigpact
