// What a recording is given and what it tells: its header, its options, its counts.
#pragma once

#include <cstddef>

namespace rigpact {

// Whose recording it is, in the engine's words: {"actor", "BP_Enemy_C_12"}, {"world", "Arena"}.
struct TraceFact {
    const char* key;
    const char* value;
};

struct TraceHeader {
    const char* producer;
    const char* producer_version;
    const char* bundle_sha256;  // null when unknown
    double fps;
    const char* mode;  // "teacher", "free" or "playback"; begin_frame() may change it
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
    const TraceFact* about = nullptr;
    int about_count = 0;
};

// What happens to a frame when the queue is full.
enum class WhenFull : int {
    drop,  // it is dropped and counted: the game never waits for a disk
    wait,  // the next begin_frame() waits: no frame is lost
};

// Where the bytes go, if not into a file of the C library: an engine's own file interface. A put() is one write of the system.
class TraceOutput {
public:
    virtual const char* open(const char* path) = 0;  // path: UTF-8. Null, or why it cannot be written
    virtual bool put(const void* data, std::size_t size) = 0;
    virtual bool close() = 0;

protected:
    ~TraceOutput() = default;
};

struct TraceOptions {
    int queue_frames = 0;  // 0: end_frame() writes. n: a thread of its own writes; a crash also loses what is queued
    WhenFull when_full = WhenFull::drop;
    TraceOutput* output = nullptr;  // must live until close()
};

// Frames since open(). Whatever is not `written` is in one of the others.
struct TraceCounts {
    long long written = 0;  // handed to the operating system whole
    long long dropped = 0;  // the queue was full
    long long refused = 0;  // a number that does not increase, a missing stage, another width, no begin_frame()
    long long lost = 0;     // the file could not be opened or written, or there was no memory
    long long stray = 0;    // stages (not frames) that the first frame did not have, or outside a frame: not recorded
    long long segments = 0; // what is written: one, and one more for each new start and each change of the mode
};

}  // namespace rigpact
