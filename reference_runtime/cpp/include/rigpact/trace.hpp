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

#include "rigpact/stage_calls.hpp"
#include "rigpact/trace_header.hpp"

namespace rigpact {

// The recorder of a build that does not record: it takes what the other takes, and refuses the same types.
class NullRecorder : public StageCalls<NullRecorder> {
public:
    static constexpr bool kRecords = false;
    bool open(const char*, const TraceHeader&, const TraceOptions& = {}) { return true; }
    bool begin_frame(long long, double, const char* = nullptr) const { return true; }
    bool end_frame() const { return true; }
    template <class AnyFrame>
    bool record(const AnyFrame&, unsigned = ~0u) const { return true; }
    bool close() { return true; }
    bool is_open() const { return false; }
    TraceCounts counts() const { return {}; }
    const char* problem() const { return nullptr; }
    void listen(StageListener*) const {}

private:
    friend class StageCalls<NullRecorder>;
    template <class Form, class T>
    void put(const char*, const T*, int) const {}
    bool fill(const char*, void*, int, bool) const { return false; }
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
