// The stages of one frame: where each stands, how wide it is, whether this frame has it.
#pragma once

#include "rigpact/stages.hpp"

namespace rigpact {

// Views of a loop's own memory: valid until its next step. A stage that a frame does not have is null (delta6d of an absolute pose).
struct Frame {
    int number = 0;
    double time_s = 0.0;
    const float* values[kStages] = {};
    int widths[kStages] = {};

    const float* operator[](Stage stage) const { return values[static_cast<int>(stage)]; }
};

}  // namespace rigpact
