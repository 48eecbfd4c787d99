// The stages of one frame: where each stands, how wide it is, whether this frame has it.
#pragma once

#include "rigpact/contract_view.hpp"
#include "rigpact/stages.hpp"

namespace rigpact {

// The network's five inputs in the order in which the engine binds them.
inline constexpr Stage kInputStages[5] = {Stage::state, Stage::cond, Stage::contacts, Stage::angvel, Stage::pose_hist};

inline int stage_width(const ContractView& contract, Stage stage) {
    const int six = 6 * contract.bones, history = contract.history_length * six;
    switch (stage) {
        case Stage::x_raw:
        case Stage::state:
        case Stage::x_raw_next: return contract.state.width;
        case Stage::cond_raw:
        case Stage::cond: return kConditionWidth;
        case Stage::contacts: return kContactsWidth;
        case Stage::angvel: return 3 * contract.bones;
        case Stage::pose_hist_raw:
        case Stage::pose_hist: return history;
        case Stage::y_norm:
        case Stage::y_raw:
        case Stage::y_out: return contract.output.width;
        case Stage::delta6d:
        case Stage::next6d: return six;
        case Stage::quat: return 4 * contract.bones;
    }
    return 0;
}

// Views of the loop's buffers: valid until the next step. A stage that a frame does not have is null
// (delta6d of an absolute pose, pose_hist_raw of recorded rows, x_raw_next of a teacher clip's last frame).
struct Frame {
    int number = 0;
    double time_s = 0.0;
    const float* values[kStages] = {};
    int widths[kStages] = {};

    const float* operator[](Stage stage) const { return values[static_cast<int>(stage)]; }
};

}  // namespace rigpact
