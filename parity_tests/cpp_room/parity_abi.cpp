// The C++ loop behind a C ABI, so that a Python test can drive it with its own network and read back every stage.
#define RIGPACT_TRACE 1
#include <chrono>

#include "rigpact/runtime.hpp"
#include "rigpact/sha256.hpp"
#include "rigpact/trace.hpp"

namespace {

using Network = int (*)(const float* const* data, const int* widths, float* y_norm, int width);

struct Run {
    const rigpact::ContractView* contract;
    const rigpact::Conventions* conventions;
    const rigpact::ClipView* clip;
    int is_teacher;
    int frames;
    Network network;      // null: rows of `replay`
    const float* replay;  // frames × Dy
    const int* bound;     // null: any width
    float* const* out;    // one (frames × width) array a stage, or null
    unsigned char* present;
    const rigpact::TraceHeader* header;  // null: no trace
    const char* trace;
    const rigpact::TraceOptions* options;
    unsigned recorded;  // bit s: record kStageNames[s]
    double seconds;
    unsigned aligned;
};

template <class Real>
rigpact::Intent intent_at(const Run& run, int frame, float* cond_raw) {
    const rigpact::ClipView& clip = *run.clip;
    const int row = frame % clip.steps, target = clip.frames > 1 ? frame % (clip.frames - 1) + 1 : 0;
    if (clip.cond_raw == nullptr) rigpact::build_condition<Real>(*run.conventions, clip.wishes[row], cond_raw);
    else std::memcpy(cond_raw, clip.cond_raw + row * rigpact::kConditionWidth, sizeof(float) * rigpact::kConditionWidth);
    const float* scores = clip.contact_scores == nullptr ? nullptr : clip.contact_scores + row * rigpact::kContactsWidth;
    const int rotations = rigpact::find_slice(run.contract->state, "BoneRotations6D")->start;
    return {cond_raw, scores, clip.x_raw + target * run.contract->state.width + rotations};
}

void keep(const Run& run, const rigpact::Frame& frame, int row) {
    for (int s = 0; run.out != nullptr && s < rigpact::kStages; ++s) {
        const std::size_t width = static_cast<std::size_t>(frame.widths[s]);
        run.present[row * rigpact::kStages + s] = frame.values[s] != nullptr;
        if (frame.values[s]) std::memcpy(run.out[s] + static_cast<std::size_t>(row) * width, frame.values[s], sizeof(float) * width);
    }
}

template <class Real>
const char* run_loop(Run& run) {
    rigpact::Loop<Real> loop(*run.contract, *run.conventions, run.clip->fps);
    if (loop.defect() != nullptr) return loop.defect();
    if (run.bound != nullptr) {
        int widths[5];
        std::memcpy(widths, run.bound, sizeof(widths));
        loop.bind(widths);
    }
    int row = 0;
    const auto network = [&](const rigpact::NetworkInputs& inputs, float* y_norm, int width) {
        if (run.network != nullptr) return run.network(inputs.data, inputs.widths, y_norm, width) != 0;
        std::memcpy(y_norm, run.replay + row * width, sizeof(float) * static_cast<std::size_t>(width));
        return true;
    };
    rigpact::Recorder recorder;
    if (run.header != nullptr && !recorder.open(run.trace, *run.header, *run.options)) return "the trace cannot be opened";
    float cond_raw[rigpact::kConditionWidth];
    const int rotations = rigpact::find_slice(run.contract->state, "BoneRotations6D")->start;
    loop.seed(run.clip->x_raw, run.clip->x_raw + (run.clip->frames > 1 ? run.contract->state.width : 0) + rotations);
    const auto start = std::chrono::steady_clock::now();
    for (row = 0; row < run.frames; ++row) {
        const bool ok = run.is_teacher ? loop.step_teacher(*run.clip, network)
                                       : loop.step_free(intent_at<Real>(run, row, cond_raw), network);
        if (!ok) return "a step was refused";
        keep(run, loop.frame(), row);
        if (run.header != nullptr) recorder.record(loop.frame(), run.recorded);
    }
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    run.aligned = loop.aligned_inputs();
    return recorder.close() ? nullptr : "the trace could not be written";
}

}  // namespace

extern "C" {

const char* rigpact_run_f64(Run* run) { return run_loop<double>(*run); }
const char* rigpact_run_f32(Run* run) { return run_loop<float>(*run); }

const char* rigpact_stage_name(int stage) { return rigpact::kStageNames[stage]; }

void rigpact_denormalise(const rigpact::ContractView* contract, const rigpact::Conventions* conventions, const float* state, float* x_raw) {
    rigpact::StateNormaliser<double>(*contract, *conventions).denormalise(state, x_raw);
}

void rigpact_foot_contacts(const rigpact::FootSample* samples, int frames, double frame_time_s, unsigned char* touching) {
    rigpact::FootContact contact;
    for (int i = 0; i < frames; ++i) {
        contact = rigpact::updated_contact(contact, samples[i], frame_time_s);
        touching[i] = contact.touching;
    }
}

void rigpact_sha256(const void* data, long long size, char* hex) {
    const rigpact::Sha256Text text = rigpact::sha256(data, static_cast<std::size_t>(size));
    std::memcpy(hex, text.hex, sizeof(text.hex));
}

// Numbers as a trace line holds them; returns the length of the text.
int rigpact_numbers_text(const float* values, int count, char* text, int room) {
    char* at = text;
    for (int i = 0; i < count; ++i) {
        if (at - text + rigpact::kNumberText + 2 >= room) return -1;
        *at++ = i == 0 ? '[' : ',';
        at = rigpact::put_number(at, values[i]);
    }
    std::memcpy(at, "]", 2);
    return static_cast<int>(at - text) + 1;
}
}
