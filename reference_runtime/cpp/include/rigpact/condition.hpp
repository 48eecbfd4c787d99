// The Cond input: action bits, planar direction, speed. Engine: `BuildCondVector`.
#pragma once

#include "rigpact/contract_view.hpp"
#include "rigpact/conventions.hpp"
#include "rigpact/vector.hpp"

namespace rigpact {

// What the player wants, in metres per second; `trajectory` is the middle entry of the clip's direction window.
struct Wish {
    float action_bits[4];
    float velocity_m_s[2];
    float trajectory[2];
};

template <class Real>
void build_condition(const Conventions& conventions, const Wish& wish, float* cond_raw) {
    const float* from = conventions.condition_direction == ConditionDirection::trajectory ? wish.trajectory : wish.velocity_m_s;
    Real x = static_cast<Real>(from[0]), y = static_cast<Real>(from[1]);
    switch (conventions.condition_direction) {
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
    const Real unit = conventions.condition_speed_unit == ConditionSpeedUnit::cm_s ? Real(100) : Real(1);
    cond_raw[6] = static_cast<float>(std::sqrt(vx * vx + vy * vy) * unit);
}

// The ring of recent raw conditions (`CondNormWindow`). The newest sample is part of its window.
template <class Real>
class ConditionWindow {
public:
    explicit ConditionWindow(const Conventions& conventions) : norm_(conventions.condition_norm) {}

    void clear() { count_ = next_ = 0; }

    void push(const float* cond_raw, float* cond) {
        for (int i = 0; i < kConditionWidth; ++i) samples_[next_][i] = static_cast<Real>(cond_raw[i]);
        next_ = (next_ + 1) % kWindow;
        if (count_ < kWindow) ++count_;
        for (int i = 0; i < kConditionWidth; ++i) {
            cond[i] = norm_ == ConditionNorm::raw ? cond_raw[i] : static_cast<float>(zscore(i, static_cast<Real>(cond_raw[i])));
        }
    }

private:
    static constexpr int kWindow = 60;

    // Outliers beyond 1.5 interquartile ranges are left out; population statistics, variance and std floored.
    Real zscore(int channel, Real sample) const {
        Real sorted[kWindow];
        sort_channel(channel, sorted);
        const Real first = quantile(sorted, Real(0.25)), third = quantile(sorted, Real(0.75));
        const Real reach = Real(1.5) * (third - first);
        const Real low = first - reach, high = third + reach;
        int kept = 0;
        for (int i = 0; i < count_; ++i) kept += is_kept(sorted[i], low, high);
        const bool all = kept == 0;
        const Real number = static_cast<Real>(all ? count_ : kept);
        Real mean = 0, variance = 0;
        for (int i = 0; i < count_; ++i) {
            if (all || is_kept(sorted[i], low, high)) mean += sorted[i];
        }
        mean /= number;
        for (int i = 0; i < count_; ++i) {
            if (all || is_kept(sorted[i], low, high)) variance += (sorted[i] - mean) * (sorted[i] - mean);
        }
        const Real std = std::sqrt(larger(variance / number, static_cast<Real>(1e-6)));
        return (sample - mean) / larger(std, static_cast<Real>(1e-3));
    }

    static bool is_kept(Real value, Real low, Real high) { return value >= low && value <= high; }

    void sort_channel(int channel, Real* sorted) const {
        for (int i = 0; i < count_; ++i) {  // insertion: at most 60 samples
            const Real value = samples_[i][channel];
            int place = i;
            for (; place > 0 && sorted[place - 1] > value; --place) sorted[place] = sorted[place - 1];
            sorted[place] = value;
        }
    }

    Real quantile(const Real* sorted, Real fraction) const {
        const Real position = fraction * static_cast<Real>(count_ - 1);
        const int below = static_cast<int>(position);
        const int above = below + 1 < count_ ? below + 1 : below;
        const Real share = position - static_cast<Real>(below), step = sorted[above] - sorted[below];
        // from the nearer end, so that equal neighbours give exactly their value
        return share < Real(0.5) ? sorted[below] + step * share : sorted[above] - step * (1 - share);
    }

    ConditionNorm norm_;
    Real samples_[kWindow][kConditionWidth] = {};
    int count_ = 0;
    int next_ = 0;
};

}  // namespace rigpact
