// Recording what the engine did, in the trace format of rigpact. The engine keeps its own loop:
//
//     rigpact::Recorder recorder;                                           // a member of the character
//     recorder.open("run.trace.bin", {"MyGame", "5.4", nullptr, 60.0, "free", nullptr});
//     recorder.begin_frame(frame, seconds);                                 // then in any order, from const functions too:
//     recorder.stage(rigpact::Stage::y_raw, values, count);                 // copied at once; float or double
//     recorder.end_frame();
//
// Off by default: without `RIGPACT_TRACE` defined as 1, `Recorder` is an empty class whose functions do nothing and
// none of the headers of the recorder is included.
#pragma once

#include <initializer_list>

#include "rigpact/stages.hpp"

namespace rigpact {

struct TraceHeader {
    const char* producer;
    const char* producer_version;
    const char* bundle_sha256;  // null when unknown
    double fps;
    const char* mode;  // "teacher", "free" or "playback"
    const char* clip;  // null when there is none
    // What else the engine runs with, as docs/trace-format.md defines it; null when unknown. TraceHeaderOf() of contract.hpp
    // fills in all but the model.
    const char* companion_sha256 = nullptr;
    const char* meaning_sha256 = nullptr;
    const char* conventions_sha256 = nullptr;
    const char* model_sha256 = nullptr;
    const char* system = nullptr;  // whose stages they are; null: the enemy animation's
};

// What happens to a frame when the queue is full.
enum class WhenFull : int {
    drop,  // it is dropped and counted: the game never waits for a disk
    wait,  // the next begin_frame() waits: no frame is lost
};

struct TraceOptions {
    int queue_frames = 0;  // 0: end_frame() writes. n: a thread of its own writes; a crash also loses what is queued
    WhenFull when_full = WhenFull::drop;
};

// Frames since open(). Whatever is not `written` is in one of the others.
struct TraceCounts {
    long long written = 0;  // handed to the operating system whole
    long long dropped = 0;  // the queue was full
    long long refused = 0;  // a number that does not increase, a missing stage, another width, no begin_frame()
    long long lost = 0;     // the file could not be opened or written, or there was no memory
    long long stray = 0;    // stages (not frames) that the first frame did not have, or outside a frame: not recorded
};

// How an element becomes numbers: specialise this for the engine's quaternions, vectors and transforms, or pass a type like it
// as `recorder.stage<MyElement>(…)`.
//     template <> struct StageElement<MyQuat> {
//         using Number = float;
//         static constexpr int kNumbers = 4;
//         static void put(const MyQuat& q, float* out) { out[0] = q.x; out[1] = q.y; out[2] = q.z; out[3] = q.w; }
//     };
template <class T>
struct StageElement;

// The recorder of a build that does not record.
class NullRecorder {
public:
    bool open(const char*, const TraceHeader&, const TraceOptions& = {}) { return true; }
    bool begin_frame(long long, double) const { return true; }
    template <class Element = void, class Name, class T>
    bool stage(const Name&, const T*, int) const { return true; }
    template <class Element = void, class Name, class T>
    bool stage(const Name&, std::initializer_list<T>) const { return true; }
    bool end_frame() const { return true; }
    template <class AnyFrame>
    bool record(const AnyFrame&, unsigned = ~0u) const { return true; }
    bool close() { return true; }
    bool is_open() const { return false; }
    TraceCounts counts() const { return {}; }
    const char* problem() const { return nullptr; }
};

}  // namespace rigpact

#if defined(RIGPACT_TRACE) && RIGPACT_TRACE
#include "rigpact/trace_recorder.hpp"
namespace rigpact {
using Recorder = TraceRecorder;
}
#else
namespace rigpact {
using Recorder = NullRecorder;
}
#endif
