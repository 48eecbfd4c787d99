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
#include "rigpact/trace_header.hpp"

namespace rigpact {

// The recorder of a build that does not record.
class NullRecorder {
public:
    bool open(const char*, const TraceHeader&, const TraceOptions& = {}) { return true; }
    bool begin_frame(long long, double) const { return true; }
    template <class Element = void, class Name, class T>
    const NullRecorder& stage(const Name&, const T*, int) const { return *this; }
    template <class Element = void, class Name, class T>
    const NullRecorder& stage(const Name&, std::initializer_list<T>) const { return *this; }
    template <class Element = void, class Name, class Array>
    const NullRecorder& stage(const Name&, const Array&) const { return *this; }
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
