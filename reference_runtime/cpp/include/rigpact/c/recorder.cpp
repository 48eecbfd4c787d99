#include "rigpact/c/recorder.h"

#include <deque>
#include <string>
#include <vector>

#include "rigpact/trace_recorder.hpp"

struct rigpact_recorder {
    rigpact::TraceRecorder recorder;
    std::deque<std::string> texts;  // keys and values, one after the other
};

extern "C" {

rigpact_recorder* rigpact_create() { return new (std::nothrow) rigpact_recorder; }
void rigpact_destroy(rigpact_recorder* own) { delete own; }

void rigpact_about(rigpact_recorder* own, const char* key, const char* value) {
    own->texts.emplace_back(key);
    own->texts.emplace_back(value);
}

int rigpact_open(rigpact_recorder* own, const char* path, const rigpact_header* header, int queue_frames, int waits) {
    std::vector<rigpact::TraceFact> about;
    for (std::size_t i = 0; i + 1 < own->texts.size(); i += 2) about.push_back({own->texts[i].c_str(), own->texts[i + 1].c_str()});
    rigpact::TraceHeader given = {header->producer, header->producer_version, header->bundle_sha256, header->fps, header->mode, header->clip,
                                  header->companion_sha256, header->meaning_sha256, header->conventions_sha256, header->model_sha256, header->system};
    given.about = about.data();
    given.about_count = static_cast<int>(about.size());
    rigpact::TraceOptions options;
    options.queue_frames = queue_frames;
    options.when_full = waits != 0 ? rigpact::WhenFull::wait : rigpact::WhenFull::drop;
    const bool ok = own->recorder.open(path, given, options);
    own->texts.clear();
    return ok;
}

int rigpact_begin_frame(rigpact_recorder* own, int64_t number, double time_s, const char* mode) { return own->recorder.begin_frame(number, time_s, mode); }
void rigpact_stage_f32(rigpact_recorder* own, const char* stage, const float* values, int count) { own->recorder.stage(stage, values, count); }
void rigpact_stage_f64(rigpact_recorder* own, const char* stage, const double* values, int count) { own->recorder.stage(stage, values, count); }
int rigpact_end_frame(rigpact_recorder* own) { return own->recorder.end_frame(); }
int rigpact_close(rigpact_recorder* own) { return own->recorder.close(); }

void rigpact_counts(const rigpact_recorder* own, int64_t counts[6]) {
    const rigpact::TraceCounts found = own->recorder.counts();
    const long long all[6] = {found.written, found.dropped, found.refused, found.lost, found.stray, found.segments};
    for (int i = 0; i < 6; ++i) counts[i] = all[i];
}
const char* rigpact_problem(const rigpact_recorder* own) { return own->recorder.problem(); }
}
