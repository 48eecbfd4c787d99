// The stages of the enemy animation's frame, by name.
#pragma once

namespace rigpact {

enum class Stage : int {
    x_raw, state, cond_raw, cond, contacts, angvel, pose_hist_raw, pose_hist,
    y_norm, y_raw, delta6d, next6d, y_out, quat, x_raw_next,
};
inline constexpr int kStages = 15;
inline constexpr const char* kStageNames[kStages] = {
    "x_raw", "state", "cond_raw", "cond", "contacts", "angvel", "pose_hist_raw", "pose_hist",
    "y_norm", "y_raw", "delta6d", "next6d", "y_out", "quat", "x_raw_next",
};

}  // namespace rigpact
