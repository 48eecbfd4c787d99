// Three threads record frames of one character, each number once. many_threads FILE QUEUE_FRAMES: prints kept and refused.
#define RIGPACT_TRACE 1
#include <atomic>
#include <cstdlib>
#include <thread>

#include "rigpact/frame.hpp"
#include "rigpact/trace.hpp"

static std::atomic<int> next_frame{1};
static std::atomic<long> kept{0};

static void animate(rigpact::Recorder* recorder) {
    float pose[60];
    rigpact::Frame frame;
    frame.values[static_cast<int>(rigpact::Stage::y_out)] = pose;
    frame.widths[static_cast<int>(rigpact::Stage::y_out)] = 60;
    while ((frame.number = next_frame++) <= 600) {
        for (float& number : pose) number = static_cast<float>(frame.number);
        if (recorder->record(frame)) ++kept;
    }
}

int main(int, char** words) {
    rigpact::Recorder recorder;
    rigpact::TraceOptions options;
    options.when_full = rigpact::WhenFull::wait;
    options.queue_frames = std::atoi(words[2]);
    if (!recorder.open(words[1], {"many_threads", "1", nullptr, 60.0, "free", nullptr}, options)) return 2;
    std::thread threads[3];
    for (std::thread& thread : threads) thread = std::thread(animate, &recorder);
    for (std::thread& thread : threads) thread.join();
    recorder.close();
    const rigpact::TraceCounts counts = recorder.counts();
    if (counts.written != kept || counts.dropped + counts.lost + counts.stray != 0) return 3;
    std::printf("%lld %lld\n", counts.written, counts.refused);
    return 0;
}
