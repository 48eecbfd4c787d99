// What a recording is given and what it tells: its header, its options, its counts, and how an element becomes numbers.
#pragma once

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
    // At a lower level of detail: which bones the stages hold, in order, by name or by index in the contract. Null: all bones.
    const char* const* bones = nullptr;
    const int* bone_indices = nullptr;
    int bone_count = 0;
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

}  // namespace rigpact
