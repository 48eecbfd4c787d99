// An engine with a loop of its own, recorded by rigpact::Recorder: one scenario a run, all of it built by every compiler,
// standard and sanitizer of the tests. own_engine SCENARIO FILE [QUEUE_FRAMES]: prints how many frames went where, and the problem.
#if !defined(RIGPACT_TRACE)
#define RIGPACT_TRACE 1
#endif
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "rigpact/trace.hpp"

// --- what the heap is asked for ---
#if defined(OWN_ENGINE_COUNTS_ALLOCATIONS)
#include "counting_heap.hpp"
#else
static std::atomic<long> allocations{0};
#endif

// --- the engine's own types ---
namespace game {
struct Quat {
    double w, x, y, z;  // not the order of a trace
};
struct Transform {
    float translation[3];
    Quat rotation;
};
struct TurnsOf {
    using Number = float;
    static constexpr int kNumbers = 4;
    static void put(const Transform& transform, float* out);
};
}  // namespace game

template <>
struct rigpact::StageElement<game::Quat> {
    using Number = float;
    static constexpr int kNumbers = 4;
    static void put(const game::Quat& q, float* out) {
        const double xyzw[4] = {q.x, q.y, q.z, q.w};
        for (int i = 0; i < 4; ++i) out[i] = static_cast<float>(xyzw[i]);
    }
};
void game::TurnsOf::put(const Transform& transform, float* out) { rigpact::StageElement<Quat>::put(transform.rotation, out); }

static void report(rigpact::Recorder& recorder) {
    const bool ok = recorder.close();
    const rigpact::TraceCounts counts = recorder.counts();
    const char* problem = recorder.problem();
    std::printf("%s written=%lld dropped=%lld refused=%lld lost=%lld stray=%lld|%s\n", ok ? "ok" : "not", counts.written, counts.dropped,
                counts.refused, counts.lost, counts.stray, problem == nullptr ? "" : problem);
}

static rigpact::TraceHeader own_header() {
    rigpact::TraceHeader header = {"own_engine", "1", nullptr, 60.0, "free", "walk"};
    header.system = "studio";  // stages of another graph than the enemy animation's
    return header;
}
static const rigpact::TraceHeader kHeader = own_header();

class Character {
public:
    explicit Character(const char* path, const rigpact::TraceOptions& options) {
        recorder_.open(path, kHeader, options);
    }
    void step(int frame) {
        frame_ = frame;
        recorder_.begin_frame(frame, frame / 60.0);
        if (frame % 2 == 0) publish(), denormalise();
        else denormalise(), publish();
        recorder_.end_frame();
    }
    rigpact::Recorder& recorder() { return recorder_; }

private:
    void denormalise() const {
        // g++ writes the literal -0.0f as 0 under -ffast-math: the recorder promises the bits that it was given
        volatile std::uint32_t bits = 0x80000000u;
        const std::uint32_t negative_zero = bits;
        float y[3] = {static_cast<float>(frame_), 0.1f, 0.0f};
        std::memcpy(&y[2], &negative_zero, sizeof(negative_zero));
        recorder_.stage(rigpact::Stage::y_raw, y, 3);
        for (float& number : y) number = 99.0f;  // the engine goes on with its buffer
    }
    void publish() const {
        const game::Quat quats[2] = {{1, 0, 0, 0}, {0.5, 0.1, 0.2, 0.3 + frame_}};
        const game::Transform transforms[2] = {{{1, 2, 3}, quats[1]}, {{4, 5, 6}, quats[0]}};
        const std::array<double, 2> clock = {frame_ * 0.1, 1e-300};
        recorder_.stage(rigpact::Stage::quat, quats, 2);
        recorder_.stage<game::TurnsOf>("turns", transforms, 2);
        recorder_.stage("clock", clock).stage(rigpact::Stage::contacts, {0.5f, 0.5f});
        recorder_.stage(rigpact::Stage::contacts, {1.0f, frame_ % 2 == 0 ? 0.0f : 1.0f});  // the last one stays
    }

    rigpact::Recorder recorder_;
    int frame_ = 0;
};

static void own_loop(const char* path, const rigpact::TraceOptions& options) {
    Character character(path, options);
    for (int frame = 0; frame < 40; ++frame) character.step(frame);
    report(character.recorder());
}

// Bits that arrive as values in an engine built with -ffast-math: read at run time, so no compiler knows them.
static void not_finite(const char* path, const rigpact::TraceOptions& options) {
    volatile std::uint32_t bits[6] = {0x7fc00000u, 0x7f800000u, 0xff800000u, 0x7f800001u, 0x00000001u, 0x80000000u};
    volatile std::uint64_t wide[3] = {0x7ff8000000000000u, 0x7ff0000000000000u, 0xfff0000000000000u};
    float numbers[6];
    double others[3];
    for (int i = 0; i < 6; ++i) {
        const std::uint32_t one = bits[i];
        std::memcpy(&numbers[i], &one, sizeof(one));
    }
    for (int i = 0; i < 3; ++i) {
        const std::uint64_t one = wide[i];
        std::memcpy(&others[i], &one, sizeof(one));
    }
    rigpact::Recorder recorder;
    recorder.open(path, kHeader, options);
    for (int frame = 0; frame < 3; ++frame) {
        recorder.begin_frame(frame, frame / 60.0);
        recorder.stage("floats", numbers, 6);
        recorder.stage("doubles", others, 3);
        recorder.end_frame();
    }
    recorder.begin_frame(3, others[0]);  // a time that is not finite
    recorder.stage("floats", numbers, 6);
    recorder.stage("doubles", others, 3);
    recorder.end_frame();
    report(recorder);
}

static void refusals(const char* path, const rigpact::TraceOptions& options) {
    const float pose[4] = {1, 2, 3, 4};
    const double wide[4] = {1, 2, 3, 4};
    rigpact::Recorder recorder;
    recorder.begin_frame(0, 0.0);  // not open: nothing happens
    recorder.end_frame();
    recorder.open(path, kHeader, options);
    recorder.stage("a", pose, 4);  // stray: outside a frame
    recorder.end_frame();          // refused: no begin
    recorder.begin_frame(0, 0.0);
    recorder.end_frame();  // refused: no stages
    recorder.begin_frame(0, 0.0);
    recorder.stage("wrong", static_cast<const float*>(nullptr), 4);
    recorder.end_frame();  // refused: no numbers
    const auto frame = [&](int number, double time_s, int width) {
        recorder.begin_frame(number, time_s);
        recorder.stage("a", pose, width);
        recorder.stage("b", pose, 2);
        recorder.end_frame();
    };
    frame(5, 0.0, 4);
    frame(5, 0.1, 4);  // refused: the number does not increase
    frame(6, 0.1, 3);  // refused: another width
    recorder.begin_frame(6, 0.1);
    recorder.stage("a", wide, 4);  // refused: another type
    recorder.stage("b", pose, 2);
    recorder.end_frame();
    recorder.begin_frame(6, 0.1);
    recorder.stage("b", pose, 2);
    recorder.end_frame();  // refused: a is missing
    recorder.begin_frame(6, 0.1);
    recorder.stage("a", pose, 4);
    recorder.begin_frame(7, 0.2);  // refused: the frame before was not ended
    recorder.stage("b", pose, 2);
    recorder.stage("a", pose, 4);
    recorder.stage("late", pose, 4);  // stray: the first frame did not have it
    recorder.end_frame();
    report(recorder);
}

// rigpact's own Frame, recorded before the first step and after it.
struct LoopFrame {
    int number = 0;
    double time_s = 0.0;
    const float* values[rigpact::kStages] = {};
    int widths[rigpact::kStages] = {};
};

static void before_first_step(const char* path, const rigpact::TraceOptions& options) {
    const float pose[6] = {1, 0, 0, 0, 0, 1};
    LoopFrame frame;
    rigpact::Recorder recorder;
    recorder.open(path, kHeader, options);
    for (int i = 0; i < 3; ++i) recorder.record(frame);
    frame.values[static_cast<int>(rigpact::Stage::y_out)] = pose;
    frame.widths[static_cast<int>(rigpact::Stage::y_out)] = 6;
    for (frame.number = 0; frame.number < 3; ++frame.number) recorder.record(frame);
    report(recorder);
}

static void two_on_one_path(const char* path, const rigpact::TraceOptions& options) {
    const float pose[2] = {1, 2};
    rigpact::Recorder first, second;
    first.open(path, kHeader, options);
    second.open(path, kHeader, options);
    for (int frame = 0; frame < 3; ++frame) {
        for (const rigpact::Recorder* recorder : {&first, &second}) {
            recorder->begin_frame(frame, frame / 60.0);
            recorder->stage("a", pose, 2);
            recorder->end_frame();
        }
    }
    report(first);
    report(second);
    second.open(path, kHeader, options);  // free again
    second.begin_frame(7, 0.0);
    second.stage("a", pose, 2);
    second.end_frame();
    report(second);
}

// Frames of 20 kB into a file that takes 64 kB and then nothing more, until the test reads it.
static void stalled(const char* path, const rigpact::TraceOptions& options) {
    static float pose[5000];
    rigpact::Recorder recorder;
    recorder.open(path, kHeader, options);
    double longest = 0;
    for (int frame = 0; frame < 60; ++frame) {
        const auto start = std::chrono::steady_clock::now();
        recorder.begin_frame(frame, frame / 60.0);
        recorder.stage("pose", pose, 5000);
        recorder.end_frame();
        const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        if (took > longest) longest = took;
    }
    std::printf("%f %lld\n", longest, recorder.counts().dropped);
    std::fflush(stdout);
    report(recorder);
}

// Closed and opened again by one thread while another one records: a console variable that is switched in a game.
static void switched(const char* path, const rigpact::TraceOptions& options) {
    rigpact::Recorder recorder;
    std::atomic<bool> goes_on{true};
    std::thread game([&] {
        const float pose[6] = {1, 2, 3, 4, 5, 6};
        for (int frame = 0; goes_on; ++frame) {
            recorder.begin_frame(frame, frame / 60.0);
            recorder.stage("pose", pose, 6);
            recorder.end_frame();
        }
    });
    for (int i = 0; i < 20; ++i) {
        recorder.open(path, kHeader, options);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        recorder.close();
    }
    recorder.open(path, kHeader, options);
    while (recorder.counts().written < 100) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    goes_on = false;
    game.join();
    report(recorder);
}

// The same recorder for a second recording, which has other stages.
static void reopened(const char* path, const rigpact::TraceOptions& options) {
    const float numbers[6] = {1, 2, 3, 4, 5, 6};
    rigpact::Recorder recorder;
    for (int recording = 0; recording < 2; ++recording) {
        recorder.open(path, kHeader, options);
        for (int frame = 0; frame < 5; ++frame) {
            recorder.begin_frame(frame, frame / 60.0);
            if (recording == 0 || frame != 3) recorder.stage(recording == 0 ? "a" : "b", numbers, 2 + recording);
            recorder.stage("c", numbers + frame, 2 - recording);
            recorder.end_frame();
        }
        report(recorder);
    }
}

// A character at a lower level of detail: three of its bones, the first recording by name, the second by index.
static const char* other = nullptr;  // a second path
static void level_of_detail(const char* path, const rigpact::TraceOptions& options) {
    static const char* const names[] = {"pelvis", "spine \"01\"", "hand_l"};
    static const int indices[] = {0, 7, 41};
    for (int recording = 0; recording < 2; ++recording) {
        rigpact::TraceHeader header = {"own_engine", "1", nullptr, 60.0, "free", nullptr};
        header.bones = recording == 0 ? names : nullptr;
        header.bone_indices = recording == 0 ? nullptr : indices;
        header.bone_count = 3;
        rigpact::Recorder recorder;
        recorder.open(recording == 0 ? path : other, header, options);
        const float pose[18] = {1, 2, 3};
        recorder.begin_frame(0, 0.0);
        recorder.stage(rigpact::Stage::y_out, pose, 18);
        recorder.end_frame();
        report(recorder);
    }
}

static void heap(const char* path, const rigpact::TraceOptions& options) {
    Character character(path, options);
    character.step(0);
    character.step(1);
    const long before = allocations;
    for (int frame = 2; frame < 300; ++frame) character.step(frame);
    std::printf("allocations: %ld\n", allocations.load() - before);
    report(character.recorder());
}

// What a class has lying about: C arrays of any dimensions, bool, integers, one number, lists. With tracing off it compiles too.
static void plain_types(const char* path, const rigpact::TraceOptions& options) {
    const float pose[2][3] = {{1, 2, 3}, {4, 5, 6}};
    const double clock[2] = {0.25, 1e-300};
    const bool feet[2] = {true, false};
    const int ids[2] = {16777217, -3};
    const unsigned char bytes[2] = {200, 3};
    const std::array<bool, 2> flags = {false, true};
    const game::Quat quats[1][1] = {{{1, 2, 3, 4}}};
    float asked[2] = {8, 9};
    rigpact::Recorder recorder;
    recorder.open(path, kHeader, options);
    for (int frame = 0; frame < 3; ++frame) {
        recorder.begin_frame(frame, frame / 60.0);
        recorder.stage("pose", pose).stage("clock", clock).stage("feet", feet).stage("ids", ids).stage("bytes", bytes).stage("flags", flags);
        recorder.stage("quats", quats).stage("flag", true).stage("count", 7).stage("one", 0.5f).stage("list", {1, 2}).stage("some", ids, 1);
        if (recorder.given("asked", asked)) asked[0] = 0;  // no self-test: nothing is given
        recorder.stage("asked", asked);
        recorder.end_frame();
    }
    report(recorder);
}

int main(int count, char** words) {
    rigpact::TraceOptions options;
    options.queue_frames = count > 3 ? std::atoi(words[3]) : 0;
    other = count > 5 ? words[5] : nullptr;
    options.when_full = count > 4 ? rigpact::WhenFull::drop : rigpact::WhenFull::wait;
    const struct {
        const char* name;
        void (*run)(const char*, const rigpact::TraceOptions&);
    } scenarios[] = {{"own_loop", own_loop},   {"not_finite", not_finite},   {"refusals", refusals},
                     {"before_first_step", before_first_step}, {"two_on_one_path", two_on_one_path},
                     {"stalled", stalled},     {"switched", switched},       {"reopened", reopened},
                     {"heap", heap},           {"level_of_detail", level_of_detail},
                     {"plain_types", plain_types}};
    for (const auto& scenario : scenarios) {
        if (std::strcmp(scenario.name, words[1]) == 0) scenario.run(words[2], options);
    }
    return 0;
}
