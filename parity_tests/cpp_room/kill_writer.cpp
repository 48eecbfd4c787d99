// Records frames as fast as it can. The test kills it at a random moment and reads what is there.
// kill_writer FILE QUEUE_FRAMES; number k of frame f is frame_value(f, k), which the test computes too.
#define RIGPACT_TRACE 1
#include <cstdlib>

#include "rigpact/trace.hpp"

static float frame_value(int frame, int k) { return static_cast<float>(frame) + static_cast<float>(k) / 1024.0f; }

int main(int, char** words) {
    static float pose[276], contacts[2];
    rigpact::Frame frame;
    frame.values[static_cast<int>(rigpact::Stage::contacts)] = contacts;
    frame.widths[static_cast<int>(rigpact::Stage::contacts)] = 2;
    frame.values[static_cast<int>(rigpact::Stage::y_out)] = pose;
    frame.widths[static_cast<int>(rigpact::Stage::y_out)] = 276;
    rigpact::Recorder recorder;
    rigpact::TraceOptions options;
    options.json_lines = words[1];
    options.queue_frames = std::atoi(words[2]);
    if (!recorder.open(options, {"kill_writer", "1", nullptr, 60.0, "free", nullptr})) return 2;
    for (int number = 0; number < 100000; ++number) {
        frame.number = number;
        frame.time_s = number / 60.0;
        for (int k = 0; k < 276; ++k) pose[k] = frame_value(number, k);
        contacts[0] = contacts[1] = static_cast<float>(number % 2);
        if (!recorder.record(frame)) return 3;
    }
    return 0;
}
