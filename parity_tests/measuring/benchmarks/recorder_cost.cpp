// What a frame costs the thread that records it: a character's fifteen stages, one call each, as an engine would.
// Built with COST_UNREAL, through the Unreal plug-in on the stub of the engine's types, which names its file itself.
// recorder_cost FILE QUEUE_FRAMES BONES FRAMES: prints allocations and drops, then for every frame after the first the microseconds of
// recording it, and of writing the same vectors with fwrite and one flush into FILE.plain.
// A frame comes every two milliseconds, so that a queue's thread keeps up as it does in a game.
#if !defined(RIGPACT_TRACE)
#define RIGPACT_TRACE 1
#endif
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "counting_heap.hpp"
#include "rigpact/trace.hpp"
#if defined(COST_UNREAL)
#include "RigpactTrace.h"
#endif

int main(int, char** words) {
    using Clock = std::chrono::steady_clock;
    const int bones = std::atoi(words[3]), frames = std::atoi(words[4]), state = 6 + 9 * bones, pose = 6 * bones;
    // x_raw, state, cond_raw, cond, contacts, angvel, pose_hist_raw, pose_hist, y_norm … x_raw_next
    const int widths[rigpact::kStages] = {state, state, 7,    7,    2,    3 * bones, 3 * pose, 3 * pose,
                                          pose,  pose,  pose, pose, pose, 4 * bones, state};
    std::vector<float> values(static_cast<std::size_t>(3 * pose + state));
    std::vector<double> took, plainly;
    took.reserve(static_cast<std::size_t>(frames)), plainly.reserve(static_cast<std::size_t>(frames));
    std::FILE* const plain = std::fopen((std::string(words[1]) + ".plain").c_str(), "wb");
    if (plain == nullptr) return 2;
    const rigpact::TraceHeader header = {"recorder_cost", "1", nullptr, 60.0, "free", nullptr};
#if defined(COST_UNREAL)
    const auto console = [](const TCHAR* name, int value) { IConsoleManager::Get().FindConsoleVariable(name)->Set(value, ECVF_SetByCode); };
    const bool is_text = std::string(words[1]).find(".jsonl") != std::string::npos;
    console(L"rigpact.Trace", is_text ? 2 : 1), console(L"rigpact.Trace.Queue", std::atoi(words[2]));
    FRigpactTrace trace;
    trace.Configure(nullptr, header);
    const auto begin = [&](int frame) { trace.BeginFrame(frame, frame / 60.0); };
    const auto record = [&](int stage, const float* row, int width) { trace.Stage(static_cast<rigpact::Stage>(stage), row, width); };
    const auto end = [&] { trace.EndFrame(); };
    const auto close = [&] { trace.Stop(); return static_cast<long long>(RigpactTrace::TakeCounts().Other); };
#else
    rigpact::Recorder recorder;
    rigpact::TraceOptions options;
    options.queue_frames = std::atoi(words[2]);
    if (!recorder.open(words[1], header, options)) return 2;
    const auto begin = [&](int frame) { recorder.begin_frame(frame, frame / 60.0); };
    const auto record = [&](int stage, const float* row, int width) { recorder.stage(static_cast<rigpact::Stage>(stage), row, width); };
    const auto end = [&] { recorder.end_frame(); };
    const auto close = [&] { recorder.close(); return recorder.counts().dropped; };
#endif
    unsigned seed = 1;
    long allocated = 0;
    auto due = Clock::now();
    for (int frame = 0; frame < frames; ++frame) {
        for (float& value : values) value = static_cast<float>(static_cast<int>(seed = seed * 1664525u + 1013904223u)) * 1e-9f;
        std::this_thread::sleep_until(due += std::chrono::milliseconds(2));
        const long before = allocations;
        const auto start = Clock::now();
        begin(frame);
        for (int stage = 0; stage < rigpact::kStages; ++stage) record(stage, values.data(), widths[stage]);
        end();
        const auto recorded = Clock::now();
        if (frame > 0) allocated += allocations - before;
        for (const int width : widths) std::fwrite(values.data(), sizeof(float), static_cast<std::size_t>(width), plain);
        std::fflush(plain);
        if (frame == 0) continue;
        took.push_back(std::chrono::duration<double, std::micro>(recorded - start).count());
        plainly.push_back(std::chrono::duration<double, std::micro>(Clock::now() - recorded).count());
    }
    std::fclose(plain);
    const long long dropped = close();
    std::printf("costs\n%ld %lld\n", allocated, dropped);
    for (std::size_t each = 0; each < took.size(); ++each) std::printf("%.2f %.2f\n", took[each], plainly[each]);
    return 0;
}
