/* The trace recorder as a shared library with a C interface: for Unity, Godot and whatever else calls C. Rigpact.cs binds it.
 *
 *     c++ -std=c++17 -O2 -shared -fPIC -fvisibility=hidden -pthread -Ithird_party third_party/rigpact/c/recorder.cpp -o librigpact_recorder.so
 *
 * (Windows: cl /std:c++17 /O2 /LD /Ithird_party third_party\rigpact\c\recorder.cpp /Fe:rigpact_recorder.dll.) Texts are UTF-8 and
 * copied. Nothing throws. Functions that return int return 1 for yes. Who may call what: rigpact/trace_recorder.hpp. */
#ifndef RIGPACT_C_RECORDER_H
#define RIGPACT_C_RECORDER_H

#include <stdint.h>

#if defined(_WIN32)
#define RIGPACT_C __declspec(dllexport)
#elif defined(__GNUC__)
#define RIGPACT_C __attribute__((visibility("default")))
#else
#define RIGPACT_C
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rigpact_recorder rigpact_recorder;

/* rigpact::TraceHeader; null where unknown. */
typedef struct rigpact_header {
    const char* producer;
    const char* producer_version;
    const char* bundle_sha256;
    double fps;
    const char* mode;
    const char* clip;
    const char* companion_sha256;
    const char* meaning_sha256;
    const char* conventions_sha256;
    const char* model_sha256;
    const char* system;
} rigpact_header;

RIGPACT_C rigpact_recorder* rigpact_create(void);
RIGPACT_C void rigpact_destroy(rigpact_recorder* recorder);

/* Whose recording the next file is: "actor", "Wolf (3)". */
RIGPACT_C void rigpact_about(rigpact_recorder* recorder, const char* key, const char* value);

/* queue_frames 0: end_frame writes. n: a thread writes; waits 0: a full queue drops frames, 1: begin_frame waits for room. */
RIGPACT_C int rigpact_open(rigpact_recorder* recorder, const char* path, const rigpact_header* header, int queue_frames, int waits);

/* mode: null leaves it as it is. A frame 0 after others, or another mode, begins a new segment. */
RIGPACT_C int rigpact_begin_frame(rigpact_recorder* recorder, int64_t number, double time_s, const char* mode);
RIGPACT_C void rigpact_stage_f32(rigpact_recorder* recorder, const char* stage, const float* values, int count);
RIGPACT_C void rigpact_stage_f64(rigpact_recorder* recorder, const char* stage, const double* values, int count);
RIGPACT_C int rigpact_end_frame(rigpact_recorder* recorder);
RIGPACT_C int rigpact_close(rigpact_recorder* recorder);

/* written, dropped, refused, lost, stray, segments */
RIGPACT_C void rigpact_counts(const rigpact_recorder* recorder, int64_t counts[6]);

/* The first thing that went wrong since the file was opened; null when nothing did. Valid until the next open. */
RIGPACT_C const char* rigpact_problem(const rigpact_recorder* recorder);

#ifdef __cplusplus
}
#endif
#endif
