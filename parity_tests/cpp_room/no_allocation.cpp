// Counts what the loop allocates while it steps: an animation thread that waits for the heap drops frames.
// no_allocation: exit status 0 when nothing was allocated. Also what the sanitizers look at.
#include <cstdio>
#include <cstdlib>

#include "contract.hpp"
#include "counting_heap.hpp"
#include "rigpact/trace.hpp"

static bool network(const rigpact::NetworkInputs& in, float* y_norm, int width) {
    for (int i = 0; i < width; ++i) y_norm[i] = 0.3f * in.data[0][i % in.widths[0]];
    return true;
}

template <class Real>
static long steps_without_heap(const rigpact::Conventions& conventions) {
    const rigpact::ClipView& clip = rigpact_contract::kConformance.clip;
    rigpact::Loop<Real> loop(rigpact_contract::kContract, conventions, clip.fps);
    rigpact::Recorder off;  // tracing is not on here: nothing is recorded, nothing is paid
    const int bound[5] = {rigpact_contract::kStateWidth - 1, 9, 0, 0, 0};
    loop.bind(bound);
    loop.seed(clip.x_raw);
    const long before = allocations;
    float cond_raw[rigpact::kConditionWidth];
    rigpact::build_condition<Real>(conventions, clip.wishes[0], cond_raw);
    for (int frame = 0; frame < 150; ++frame) {
        if (!loop.step_free({cond_raw, clip.contact_scores, nullptr}, network)) return -1;
        off.record(loop.frame());
    }
    loop.seed(clip.x_raw);
    while (loop.step_teacher(clip, network)) off.record(loop.frame());
    return allocations - before;
}

int main() {
    rigpact::Conventions conventions = rigpact_contract::kConventions;
    conventions.condition_norm = rigpact::ConditionNorm::zscore;
    conventions.writeback = rigpact::Writeback::all;
    conventions.angvel_source = rigpact::AngvelSource::rotations;
    const long wide = steps_without_heap<double>(conventions), narrow = steps_without_heap<float>(conventions);
    std::printf("allocations in steps: %ld %ld\n", wide, narrow);
    const char text[] = "not the bundle";
    return wide == 0 && narrow == 0 && rigpact_contract::SelfTest(text, sizeof(text)).failed == 1u ? 0 : 1;
}
