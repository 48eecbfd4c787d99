// A whole engine in a page: refuse a stale bundle, seed, step, record.
//   rigpact_example BUNDLE TRACE FRAMES [ignore]     `ignore` runs although the self-test failed
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "contract.hpp"
#include "rigpact/trace.hpp"

#ifndef EXAMPLE_COMPOSE_ORDER
#define EXAMPLE_COMPOSE_ORDER delta_prev
#endif

static bool read_file(const char* path, std::string& bytes) {
    std::FILE* file = std::fopen(path, "rb");
    if (file == nullptr) return false;
    char block[4096];
    for (std::size_t size; (size = std::fread(block, 1, sizeof(block), file)) > 0;) bytes.append(block, size);
    return std::fclose(file) == 0;
}

// Stands for NNE or any other inference: five vectors in, one out.
static bool stand_in_network(const rigpact::NetworkInputs& in, float* y_norm, int width) {
    for (int i = 0; i < width; ++i) {
        y_norm[i] = std::sin(in.data[0][i % in.widths[0]] + 0.5f * in.data[4][(7 * i) % in.widths[4]] + in.data[1][6]);
    }
    return true;
}

int main(int count, char** words) {
    if (count < 4) {
        std::fprintf(stderr, "usage: rigpact_example BUNDLE TRACE FRAMES [ignore]\n");
        return 2;
    }
    rigpact::Conventions conventions = rigpact_contract::kConventions;
    conventions.compose_order = rigpact::ComposeOrder::EXAMPLE_COMPOSE_ORDER;

    std::string bundle;
    if (!read_file(words[1], bundle)) return 2;
    const rigpact::SelfTestResult test = rigpact_contract::SelfTest(
        {bundle.data(), bundle.size(), rigpact_contract::kContract, rigpact_contract::kBoneNames, conventions});
    if (!test.ok()) {
        std::fprintf(stderr, "self-test: %s[%d]: %g, agreed %g\n", test.what, test.index, test.found, test.expected);
        if (count < 5 || std::strcmp(words[4], "ignore") != 0) return 1;
    }

    rigpact::Loop<double> loop(rigpact_contract::kContract, conventions, rigpact_contract::kFps);
    rigpact::Recorder recorder;
    // A recorder that cannot record says why and lets the engine run.
    if (!recorder.open(words[2], rigpact_contract::TraceHeaderOf("rigpact_example", "1", "free"))) {
        std::fprintf(stderr, "not recorded: %s\n", recorder.problem());
    }

    const rigpact::ClipView& clip = rigpact_contract::kConformance.clip;
    loop.seed(clip.x_raw);
    const int frames = std::atoi(words[3]);
    for (int frame = 0; frame < frames; ++frame) {
        const int row = frame % clip.steps;
        float cond_raw[rigpact::kConditionWidth];
        rigpact::build_condition<double>(conventions, clip.wishes[row], cond_raw);
        if (!loop.step_free({cond_raw, clip.contact_scores + 2 * row, nullptr}, stand_in_network)) return 3;
        recorder.record(loop.frame());
    }
    return recorder.close() ? 0 : 2;
}
