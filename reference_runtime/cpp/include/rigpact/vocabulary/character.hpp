// What a motion network is given of a character: features of its state, the bones' rates, a window of the condition, past poses.
// The first word of each operation is the precision. Engine: `NormalizeXRaw_To_Z`, `BuildCondVector`, `PushPoseHistoryFrame`,
// `NormalizePoseHistoryRaw`.
#pragma once

#include <cstring>

#include "rigpact/normalisation.hpp"
#include "rigpact/vocabulary/words.hpp"

namespace rigpact {
namespace vocabulary {

inline void copy_floats(const float* from, float* to, int count) {
    std::memcpy(to, from, sizeof(float) * static_cast<std::size_t>(count));
}
// Whether a span holds the same bits in two vectors.
inline bool same_span(const Span& span, const float* a, const float* b) {
    return std::memcmp(a + span.start, b + span.start, sizeof(float) * static_cast<std::size_t>(span.size)) == 0;
}

template <class Real>
RIGPACT_INLINED Real scored(Real value, double mean, double std) {
    return (value - static_cast<Real>(mean)) / static_cast<Real>(std);
}
// scales, means and deviations, each `width`.
template <class Real>
RIGPACT_INLINED Real squash_scored(Real value, const double* numbers, int width, int i) {
    return scored(tanh_of(value / static_cast<Real>(numbers[i])), numbers[width + i], numbers[2 * width + i]);
}

template <class Knob, class Real>
RIGPACT_INLINED float squashed_feature(Knob knob, float raw, double tanh_scale, double mean, double std) {
    const Real scale = static_cast<Real>(tanh_scale);
    return static_cast<float>(squash_after(knob, scored(squash_before(knob, static_cast<Real>(raw), scale), mean, std), scale));
}
// A loop of its own for tanh: without a choice inside, a compiler computes it side by side.
template <class Real, class Knob>
void squash_span(Knob knob, const Call& c, const Span& span, const double* scales) {
    const float* x_raw = c.in[0] + span.start;
    float* out = c.out + span.start;
    const double *mean = c.numbers + span.start, *std = mean + c.width;
    if (knob == Knob::tanh) {
        for (int k = 0; k < span.size; ++k) out[k] = squashed_feature<Knob, Real>(Knob::tanh, x_raw[k], scales[k], mean[k], std[k]);
        return;
    }
    for (int k = 0; k < span.size; ++k) out[k] = squashed_feature<Knob, Real>(knob, x_raw[k], scales[k], mean[k], std[k]);
}

template <class Real>
void state_features_in(const Call& c) {
    Words words(c.words + 1);
    const auto yaw_encoding = words.reading<YawEncoding>();
    const auto rootvel_squash = words.reading<RootvelSquash>();
    const auto angvel_squash = words.reading<AngvelSquash>();
    const int yaw = words.number();
    const Span velocity = words.span(), angular = words.span();
    const float* x_raw = c.in[0];
    float* out = c.out;
    const double *mean = c.numbers, *std = mean + c.width, *velocity_scales = std + c.width;
    const auto score = [&](int begin, int end) {
        for (int i = begin; i < end; ++i) out[i] = static_cast<float>(scored(static_cast<Real>(x_raw[i]), mean[i], std[i]));
    };
    score(0, angular.start);
    score(angular.start + angular.size, c.width);
    out[yaw] = static_cast<float>(scored(encode_yaw(yaw_encoding, static_cast<Real>(x_raw[yaw])), mean[yaw], std[yaw]));
    squash_span<Real>(rootvel_squash, c, velocity, velocity_scales);
    if (same_span(angular, x_raw, c.in[1])) copy_floats(c.in[2] + angular.start, out + angular.start, angular.size);
    else squash_span<Real>(angvel_squash, c, angular, velocity_scales + velocity.size);
}
// words: precision; how yaw is encoded, root velocity and angular velocity are squashed; the yaw's channel; the spans of root
// velocity and angular velocity. numbers: means, standard deviations; scales of the velocities. Reads the raw state, that of the
// frame before, and its features: of angular velocities that did not change nothing is computed again.
inline void state_features(const Call& c) { is_single(c) ? state_features_in<float>(c) : state_features_in<double>(c); }

// Rotation vector that takes a bone of one pose to the next, in its parent's frame.
template <class Real>
Vec3<Real> step_between(const Rot6d<Real>& codec, const float* before, const float* after) {
    return rotation_vector(codec.decode(Six<Real>(before).v).transposed() * codec.decode(Six<Real>(after).v));
}

template <class Real>
class BoneRates {
public:
    explicit BoneRates(const Call& c) : c_(c), words_(c.words + 1) {
        source_ = words_.reading<AngvelSource>();
        is_local_ = words_.reading<AngvelFrame>() == AngvelFrame::local;
        factor_ = words_.reading<AngvelAngle>() == AngvelAngle::half ? Real(0.5) : Real(1);
        form_ = words_.six_form();
        rotations_ = words_.number();
        angular_ = words_.span();
        has_statistics_ = words_.number() != 0;
    }

    void write() const {
        switch (source_) {
            case AngvelSource::aux_stats: return from_state();
            case AngvelSource::rotations: return from_rotations();
            case AngvelSource::state_slice: return from_state_slice();
            case AngvelSource::frozen:
                if (c_.frame > 0) copy_floats(c_.in[6], c_.out, c_.width);
                else if (has_statistics_) from_state();
                else from_state_slice();
                return;
            case AngvelSource::zeros:
                for (int i = 0; i < c_.width; ++i) c_.out[i] = 0.0f;
        }
    }

private:
    const float* before() const { return c_.in[c_.is_free ? 0 : 2]; }
    const float* after() const { return c_.is_free ? c_.in[1] : c_.in[c_.frame == 0 ? 7 : 3]; }

    void from_state() const {
        const float* x_raw = before();
        if (c_.is_free && !is_local_ && same_span(angular_, x_raw, c_.in[5])) return copy_floats(c_.in[6], c_.out, c_.width);
        const Rot6d<Real> codec(form_);
        for (int bone = 0; 3 * bone < c_.width; ++bone) {
            Vec3<Real> omega;
            for (int i = 0; i < 3; ++i) omega[i] = static_cast<Real>(x_raw[angular_.start + 3 * bone + i]);
            store(codec, bone, omega);
        }
    }
    // fps · log(R_next · R_prevᵀ) of two raw states. Source: training `angvel_vec_from_R_seq`.
    void from_rotations() const {
        const Rot6d<Real> codec(form_);
        const float *earlier = before() + rotations_, *later = after() + rotations_;
        for (int bone = 0; 3 * bone < c_.width; ++bone) {
            store(codec, bone, step_between(codec, earlier + 6 * bone, later + 6 * bone) * static_cast<Real>(c_.numbers[0]));
        }
    }
    void from_state_slice() const { copy_floats(c_.in[4] + angular_.start, c_.out, c_.width); }

    void store(const Rot6d<Real>& codec, int bone, Vec3<Real> omega) const {
        if (is_local_) {
            const Mat3<Real> frame = codec.decode(Six<Real>(before() + rotations_ + 6 * bone).v);
            omega = {{dot(frame.axis[0], omega), dot(frame.axis[1], omega), dot(frame.axis[2], omega)}};
        }
        for (int i = 0; i < 3; ++i) {
            const int k = 3 * bone + i;
            c_.out[k] = static_cast<float>(squash_scored(omega[i] * factor_, c_.numbers + 1, c_.width, k));
        }
    }

    const Call& c_;
    Words words_;
    AngvelSource source_;
    bool is_local_;
    Real factor_;
    SixForm form_;
    int rotations_;
    Span angular_;
    bool has_statistics_;
};
// words: precision; source, frame and angle; the form of six numbers; where rotations begin in the state; the span of angular
// velocities; whether there are statistics. numbers: frames a second; scales, means, standard deviations. Reads the pair of raw states
// of a free run, that of a run that a clip drives, the features, the raw state before, and the rates before; then, for a pair of
// the first frame that is its own, the raw state after it.
inline void bone_rates(const Call& c) { is_single(c) ? BoneRates<float>(c).write() : BoneRates<double>(c).write(); }

// A z-score over the recent samples of one channel. Outliers beyond 1.5 interquartile ranges are left out; population
// statistics, variance and std floored. The newest sample is part of its window.
template <class Real>
class Window {
public:
    static constexpr int kSamples = 60;

    void add(Real value) {  // insertion: at most 60 samples
        int place = count_++;
        for (; place > 0 && sorted_[place - 1] > value; --place) sorted_[place] = sorted_[place - 1];
        sorted_[place] = value;
    }
    Real zscore(Real sample) const {
        const Real first = quantile(Real(0.25)), third = quantile(Real(0.75));
        const Real reach = Real(1.5) * (third - first);
        const Real low = first - reach, high = third + reach;
        int kept = 0;
        for (int i = 0; i < count_; ++i) kept += is_kept(sorted_[i], low, high);
        const bool all = kept == 0;
        const Real number = static_cast<Real>(all ? count_ : kept);
        Real mean = 0, variance = 0;
        for (int i = 0; i < count_; ++i) {
            if (all || is_kept(sorted_[i], low, high)) mean += sorted_[i];
        }
        mean /= number;
        for (int i = 0; i < count_; ++i) {
            if (all || is_kept(sorted_[i], low, high)) variance += (sorted_[i] - mean) * (sorted_[i] - mean);
        }
        const Real std = std::sqrt(larger(variance / number, static_cast<Real>(1e-6)));
        return (sample - mean) / larger(std, static_cast<Real>(1e-3));
    }

private:
    static bool is_kept(Real value, Real low, Real high) { return value >= low && value <= high; }

    Real quantile(Real fraction) const {
        const Real position = fraction * static_cast<Real>(count_ - 1);
        const int below = static_cast<int>(position);
        const int above = below + 1 < count_ ? below + 1 : below;
        const Real share = position - static_cast<Real>(below), step = sorted_[above] - sorted_[below];
        // from the nearer end, so that equal neighbours give exactly their value
        return share < Real(0.5) ? sorted_[below] + step * share : sorted_[above] - step * (1 - share);
    }

    Real sorted_[kSamples] = {};
    int count_ = 0;
};
template <class Real>
void over_a_window_in(const Call& c) {
    const int count = c.frame + 1 < Window<Real>::kSamples ? static_cast<int>(c.frame) + 1 : Window<Real>::kSamples;
    for (int i = 0; i < c.width; ++i) {
        Window<Real> window;
        for (int age = count - 1; age >= 0; --age) window.add(static_cast<Real>(c.in[age][i]));
        c.out[i] = static_cast<float>(window.zscore(static_cast<Real>(c.in[0][i])));
    }
}
// words: precision. Reads the newest sample, and the 59 before it.
inline void over_a_window(const Call& c) { is_single(c) ? over_a_window_in<float>(c) : over_a_window_in<double>(c); }

// words: whether the newest pose stands first, by how many frames it is late, the first frame whose own pose enters, in a run that a
// clip drives and in a free one; whether what stands before is a row of its own (0), the seed's pose or the clip's next one (1), in
// both again; where rotations begin in the state; how wide a pose is. numbers: a bone of such a row. Reads the raw state whose pose
// enters, the raw state, the history before, and the clip's next raw state where that is needed.
inline void pose_history(const Call& c) {
    Words words(c.words);
    const bool is_newest_first = words.number() != 0;
    const int delay = words.number(), driven_first = words.number(), free_first = words.number();
    const int driven_pose = words.number(), free_pose = words.number();
    const int start = words.number(), width = words.number(), last = c.width - width;
    const int first = c.is_free ? free_first : driven_first;
    float* newest = c.out + (is_newest_first ? 0 : last);
    if (c.frame == 0) {
        const bool is_a_pose = (c.is_free ? free_pose : driven_pose) != 0;
        const float* pose = c.in[first > 0 ? 3 : 1] + start;
        for (int i = 0; i < c.width; ++i) c.out[i] = is_a_pose ? pose[i % width] : static_cast<float>(c.numbers[i % 6]);
    } else if (is_newest_first) {
        copy_floats(c.in[2], c.out + width, last);
        copy_floats(c.in[2], newest, width);
    } else {
        copy_floats(c.in[2] + width, c.out, last);
        copy_floats(c.in[2] + last, newest, width);
    }
    if (c.frame - delay >= first) copy_floats(c.in[0] + start, newest, width);
}

template <class Real>
void squashed_zscore_in(const Call& c) {
    const float* raw = c.in[0];
    const double* numbers = c.numbers;
    const int width = c.width;
    float* out = c.out;
    const auto each = [&](auto normalised) {
        for (int i = 0; i < width; ++i) out[i] = static_cast<float>(normalised(static_cast<Real>(raw[i]), i));
    };
    switch (static_cast<PoseHistoryNorm>(c.words[1])) {
        case PoseHistoryNorm::tanh_zscore: return each([=](Real value, int i) { return squash_scored(value, numbers, width, i); });
        case PoseHistoryNorm::linear: {
            return each([=](Real value, int i) {
                return scored(value / static_cast<Real>(numbers[i]), numbers[width + i], numbers[2 * width + i]);
            });
        }
        case PoseHistoryNorm::tanh: return each([=](Real value, int i) { return tanh_of(value / static_cast<Real>(numbers[i])); });
        case PoseHistoryNorm::tanh_unit_scale: return each([](Real value, int) { return tanh_of(value); });
        case PoseHistoryNorm::raw: return each([](Real value, int) { return value; });
    }
}
// words: precision, reading. numbers: scales, means, standard deviations.
inline void squashed_zscore(const Call& c) { is_single(c) ? squashed_zscore_in<float>(c) : squashed_zscore_in<double>(c); }

}  // namespace vocabulary
}  // namespace rigpact
