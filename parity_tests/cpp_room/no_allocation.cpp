// Counts what the generated loop allocates while it steps: an animation thread that waits for the heap drops frames.
// no_allocation: exit status 0 when nothing was allocated. Also what the sanitizers look at.
#include <cstdio>
#include <cstdlib>

#include "contract.hpp"
#include "counting_heap.hpp"
#include "rigpact/trace.hpp"

using namespace rigpact_contract;

static State seeded() {
    State s;
    rigpact::copy(kConformance.x_raw, s.x_raw);
    rigpact::copy(kConformance.x_raw + kStateWidth, s.ahead_.x_raw[0]);
    rigpact::copy(kConformance.cond_raw, s.cond_raw);
    rigpact::copy(kConformance.contacts, s.contacts);
    return s;
}

int main() {
    const auto network = [](networks::motion, State& s) {
        for (int i = 0; i < kOutputWidth; ++i) s.y_norm[i] = 0.3f * s.state[i % kStateWidth];
    };
    rigpact::Recorder off;  // tracing is not on here: nothing is recorded, nothing is paid
    State run = seeded();
    const long before = allocations;
    for (const Mode mode : {Mode::free, Mode::teacher}) {
        for (int frame = 0; frame < 150; ++frame) {
            step(run, network, mode);
            off.record(FrameOf(run));
        }
        run = seeded();
    }
    const long allocated = allocations - before;
    std::printf("allocations in steps: %ld\n", allocated);
    const char text[] = "not the bundle";
    return allocated == 0 && SelfTest(text, sizeof(text)).failed == 1u ? 0 : 1;
}
