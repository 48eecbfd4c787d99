// Recording what the engine did, in the trace format of rigpact. Three lines in an engine:
//
//     rigpact::Recorder recorder;                                          // a member of the character
//     recorder.open({"run.trace.jsonl"}, rigpact_contract::TraceHeaderOf("MyGame", "5.4", "free"));
//     recorder.record(loop.frame());                                       // after every step
//
// Off by default: without `RIGPACT_TRACE` defined as 1, `Recorder` is an empty class whose functions do nothing and
// none of the headers below is included.
#pragma once

#include "rigpact/frame.hpp"

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
};

struct TraceOptions {
    const char* json_lines = nullptr;   // *.trace.jsonl: a line a frame, flushed: a crash loses at most the last one
    const char* safetensors = nullptr;  // *.trace.safetensors: kept in memory, written on close
    unsigned stages = ~0u;              // bit s: record kStageNames[s] where the first frame has it
    int queue_frames = 0;               // 0: record() writes. n: record() copies and a thread of its own writes; a crash
                                        // then also loses what is still queued, at most n frames
};

// The recorder of a build that does not record.
class NullRecorder {
public:
    bool open(const TraceOptions&, const TraceHeader&) { return true; }
    bool record(const Frame&) { return true; }
    bool close() { return true; }
};

}  // namespace rigpact

#if defined(RIGPACT_TRACE) && RIGPACT_TRACE
#include "rigpact/trace_recorder.hpp"
namespace rigpact {
class TraceRecorder;
using Recorder = TraceRecorder;
}
#else
namespace rigpact {
using Recorder = NullRecorder;
}
#endif
