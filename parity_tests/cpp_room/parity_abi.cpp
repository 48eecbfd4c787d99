// What engines include beside the loop, behind a C ABI, so that a Python test can call it; plans are exported beside it.
#define RIGPACT_TRACE 1
#include <cstring>

#include "rigpact/contacts.hpp"
#include "rigpact/frame.hpp"
#include "rigpact/sha256.hpp"
#include "rigpact/trace.hpp"

namespace {

struct Recording {
    const rigpact::TraceHeader* header;
    const rigpact::TraceOptions* options;
    const char* trace;
    int frames;
    const float* const* rows;  // one (frames × width) array a stage, or null
    const int* widths;
};

}  // namespace

extern "C" {

// Null, or what went wrong.
const char* rigpact_record(const Recording* run) {
    rigpact::Recorder recorder;
    if (!recorder.open(run->trace, *run->header, *run->options)) return "the trace cannot be opened";
    for (int number = 0; number < run->frames; ++number) {
        rigpact::Frame frame;
        frame.number = number;
        frame.time_s = number / run->header->fps;
        for (int s = 0; s < rigpact::kStages; ++s) {
            frame.widths[s] = run->widths[s];
            if (run->rows[s] != nullptr) frame.values[s] = run->rows[s] + number * run->widths[s];
        }
        recorder.record(frame);
    }
    return recorder.close() ? nullptr : "the trace could not be written";
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
