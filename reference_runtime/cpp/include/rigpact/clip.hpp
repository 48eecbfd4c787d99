// A clip laid out under a contract, as plain rows: what drives a teacher-driven run.
#pragma once

#include "rigpact/condition.hpp"

namespace rigpact {

// Rows of `frames` frames. x_raw is required; each of the others may be null.
struct ClipView {
    int frames;  // rows of x_raw
    int steps;   // rows that can be inputs: one less than `frames` for a raw clip, all of them for a teacher file
    double fps;
    const float* x_raw;            // frames × Dx
    const float* state;            // z-scores as recorded; null: x_raw is normalised
    const float* cond_raw;         // as recorded; null: built from `wishes`
    const Wish* wishes;
    const float* contact_scores;   // null: zeros
    const float* angvel;           // as recorded; null: computed
    const float* pose_hist;        // as recorded; null: computed
};

}  // namespace rigpact
