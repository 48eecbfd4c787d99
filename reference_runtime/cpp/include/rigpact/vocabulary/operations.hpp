// The operations that a plan names by number. Written by `python -m rigpact.reports.engine.cpp_text` from `CPP_OPERATIONS`.
#pragma once

#include "rigpact/vocabulary/arranging.hpp"
#include "rigpact/vocabulary/character.hpp"
#include "rigpact/vocabulary/converting.hpp"
#include "rigpact/vocabulary/posing.hpp"
#include "rigpact/vocabulary/scaling.hpp"
#include "rigpact/vocabulary/timing.hpp"
#include "rigpact/vocabulary/turning.hpp"

namespace rigpact {
namespace vocabulary {

inline constexpr Operation kOperations[] = {
    move, constant, affine, normalise, denormalise, clip, squash, wrap, blend, norm, threshold, rotate,
    relative, compose, convert, joint_positions, difference, held, integrate, integrate_rotation, state_features, bone_rates, over_a_window, pose_history,
    squashed_zscore, denormalised_output, turn, composed_pose, published_pose, pose_quaternions, write_back,
};

}  // namespace vocabulary
}  // namespace rigpact
