// Records frames as fast as it can. The test kills it at a random moment and reads what is there.
// kill_writer FILE QUEUE_FRAMES COUNTER; number k of frame f is frame_value(f, k), which the test computes too. COUNTER is a
// mapped file that outlives the process: how many frames end_frame() has taken.
#define RIGPACT_TRACE 1
#include <fcntl.h>
#include <sys/mman.h>

#include <cstdlib>

#include "rigpact/frame.hpp"
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
    options.queue_frames = std::atoi(words[2]);
    options.when_full = rigpact::WhenFull::wait;
    if (!recorder.open(words[1], {"kill_writer", "1", nullptr, 60.0, "free", nullptr}, options)) return 2;
    void* const mapped = mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED, open(words[3], O_RDWR), 0);
    if (mapped == MAP_FAILED) return 2;
    volatile int* const counter = static_cast<volatile int*>(mapped);
    for (int number = 0; number < 100000; ++number) {
        frame.number = number;
        frame.time_s = number / 60.0;
        for (int k = 0; k < 276; ++k) pose[k] = frame_value(number, k);
        contacts[0] = contacts[1] = static_cast<float>(number % 2);
        if (!recorder.record(frame)) return 3;
        *counter = number + 1;
    }
    return 0;
}
