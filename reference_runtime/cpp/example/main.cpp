// A whole engine in a page: refuse a stale bundle, seed, step, record.
//   rigpact_example BUNDLE TRACE FRAMES [ignore]     `ignore` runs although the self-test failed
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "contract.hpp"
#include "rigpact/trace.hpp"

#if defined(EXAMPLE_DEFECT)
#include "defect.hpp"  // the same bundle under another convention: an engine with the classic defect
namespace engine = defect;
#else
namespace engine = rigpact_contract;
#endif

static bool read_file(const char* path, std::string& bytes) {
    std::FILE* file = std::fopen(path, "rb");
    if (file == nullptr) return false;
    char block[4096];
    for (std::size_t size; (size = std::fread(block, 1, sizeof(block), file)) > 0;) bytes.append(block, size);
    return std::fclose(file) == 0;
}

// Stands for NNE or any other inference: reads what the network takes, writes its answer.
static void stand_in_network(engine::networks::motion, engine::State& s) {
    for (int i = 0; i < engine::layout::y_norm::kWidth; ++i) {
        s.y_norm[i] = std::sin(s.state[i % engine::layout::state::kWidth] + 0.5f * s.pose_hist[(7 * i) % engine::layout::pose_hist::kWidth] + s.cond[6]);
    }
}

// One frame of the engine as the start-up test drives it.
static void tested_frame(engine::State& s, const rigpact::EngineFrame& in, rigpact::EngineStages& out) {
    if (in.number == 0) rigpact::copy(in.seed_x_raw, s.x_raw);
    rigpact::copy(in.cond_raw, s.cond_raw);
    rigpact::copy(in.contacts, s.contacts);
    step(s, [&](engine::networks::motion, engine::State& asked) { rigpact::copy(in.y_norm, asked.y_norm); });
    const rigpact::Frame frame = FrameOf(s);
    for (int i = 0; i < rigpact::kStages; ++i) {
        if (frame.values[i] != nullptr) out.give(static_cast<rigpact::Stage>(i), frame.values[i], frame.widths[i]);
    }
}

int main(int count, char** words) {
    if (count < 4) {
        std::fprintf(stderr, "usage: rigpact_example BUNDLE TRACE FRAMES [ignore]\n");
        return 2;
    }
    std::string bundle;
    if (!read_file(words[1], bundle)) return 2;
    engine::State tested;
    const rigpact::EngineFiles files = {bundle.data(), bundle.size()};
    const rigpact::SelfTestResult test = rigpact_contract::SelfTestEngine(
        files, [&](const rigpact::EngineFrame& in, rigpact::EngineStages& out) { tested_frame(tested, in, out); });
    if (!test.ok()) {
        char text[400];
        test.describe(text, sizeof(text));
        std::fprintf(stderr, "self-test: %s\n", text);
        if (count < 5 || std::strcmp(words[4], "ignore") != 0) return 1;
    }

    rigpact::Recorder recorder;
    // A recorder that cannot record says why and lets the engine run.
    if (!recorder.open(words[2], rigpact_contract::TraceHeaderOf("rigpact_example", "1", "free"))) {
        std::fprintf(stderr, "not recorded: %s\n", recorder.problem());
    }

    const rigpact::Conformance& clip = rigpact_contract::kConformance;
    engine::State s;
    rigpact::copy(clip.x_raw, s.x_raw);
    const int frames = std::atoi(words[3]);
    for (int frame = 0; frame < frames; ++frame) {
        const int row = frame % (clip.frame + 1);
        rigpact::copy(clip.cond_raw + row * engine::kConditionWidth, s.cond_raw);
        rigpact::copy(clip.contacts + row * engine::kContactsWidth, s.contacts);
        step(s, stand_in_network);
        recorder.record(FrameOf(s));
    }
    return recorder.close() ? 0 : 2;
}
