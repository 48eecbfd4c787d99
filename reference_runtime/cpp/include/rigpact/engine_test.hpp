// The self-test of an engine that keeps its own loop: it is given seed, player and network answers of a free run, and hands over
// the stages that it has. Each is compared with the reference at once, so a stage may be a local variable.
#pragma once

#include "rigpact/self_test.hpp"
#include "rigpact/stage_calls.hpp"

namespace rigpact {

// One frame, in place of player, clip and network. In frame 0 reset the loop and seed it with the raw state first.
struct EngineFrame {
    int number;
    double dt_s;
    const float* seed_x_raw;      // the state's width
    const float* seed_pose;       // the pose in it, six numbers a bone, for a loop that is seeded with a pose
    const float* next_x_raw;      // the clip's next state, and the pose in it; only for a loop under conventions that look at it
    const float* target_pose;
    Wish wish;                    // what the player wants
    const float* cond_raw;        // the same as the raw condition, for a loop that is given one
    const float* contact_scores;
    const float* contacts;        // the same as the network takes them
    const float* y_norm;          // the network's answer: take it in place of an inference
    int y_norm_width;
};

// What the engine computed in a frame. Numbers are float or double.
class EngineStages {
public:
    EngineStages(const Conformance& run, int frame, SelfTestResult& result) : run_(run), frame_(frame), result_(result) {
        while (row_ < run.compared_count && run.compared[row_] != frame) ++row_;
    }

    template <class Number>
    EngineStages& give(Stage stage, const Number* values, int count) {
        for (int i = 0; row_ < run_.compared_count && i < run_.count; ++i) {
            if (run_.vectors[i].stage == stage) compare(run_.vectors[i], values, count);
        }
        return *this;
    }

private:
    template <class Number>
    void compare(const StageVector& vector, const Number* values, int count) {
        const int width = vector.width;
        const char* name = kStageNames[static_cast<int>(vector.stage)];
        result_.at_frame(frame_);
        if (count != width) {
            result_.fail(Check::widths, name, 0, count, width);
            return;
        }
        const std::size_t start = static_cast<std::size_t>(row_) * static_cast<std::size_t>(width);
        check_stage({vector.stage, width, vector.expected + start, vector.tolerance + start}, values, result_);
        ++result_.compared;
    }

    const Conformance& run_;
    int frame_;
    int row_ = 0;
    SelfTestResult& result_;
};

// Step: void(const EngineFrame&, EngineStages&). Nothing compared is not a pass.
template <class Step>
void check_engine(const Agreement& agreed, Step&& step, SelfTestResult& result) {
    const Conformance& given = *agreed.conformance;
    const int width = agreed.contract.state.width, start = find_slice(agreed.contract.state, "BoneRotations6D")->start;
    const auto row = [](const float* rows, int number, int size) {
        return rows + static_cast<std::size_t>(number) * static_cast<std::size_t>(size);
    };
    for (int number = 0; number <= given.frame; ++number) {
        EngineFrame frame = {};
        frame.number = number;
        frame.dt_s = 1.0 / given.fps;
        frame.seed_x_raw = given.x_raw;
        frame.seed_pose = given.x_raw + start;
        frame.next_x_raw = row(given.x_raw, number + 1, width);
        frame.target_pose = frame.next_x_raw + start;
        frame.wish = given.wishes[number];
        frame.cond_raw = row(given.cond_raw, number, kConditionWidth);
        frame.contact_scores = row(given.contact_scores, number, 2);
        frame.contacts = row(given.contacts, number, 2);
        frame.y_norm_width = agreed.contract.output.width;
        frame.y_norm = row(given.y_norm, number, frame.y_norm_width);
        EngineStages stages(given, number, result);
        step(static_cast<const EngineFrame&>(frame), stages);
    }
    if (result.compared == 0) result.fail(Check::vectors, "no stage was given", 0, 0, 1);
}

// The engine's files as it has loaded them, its own loop, and what `rigpact codegen` wrote. A file that was agreed on must be
// given. conventions_sha256: of the conventions that the engine's code was reviewed with; null: it does not say.
struct EngineFiles {
    const void* bundle_bytes;
    std::size_t bundle_size;
    const void* companion_bytes = nullptr;
    std::size_t companion_size = 0;
    const void* model_bytes = nullptr;
    std::size_t model_size = 0;
    const char* conventions_sha256 = nullptr;
};

template <class Step>
SelfTestResult self_test_engine(const EngineFiles& files, const Agreement& agreed, Step&& step) {
    SelfTestResult result;
    detail::check_hash(Check::bundle_bytes, "SHA-256 of the bundle", files.bundle_bytes, files.bundle_size, agreed.bundle_sha256, result);
    detail::check_hash(
        Check::bundle_bytes, "SHA-256 of the companion", files.companion_bytes, files.companion_size, agreed.companion_sha256, result);
    detail::check_hash(Check::model_bytes, "SHA-256 of the model", files.model_bytes, files.model_size, agreed.model_sha256, result);
    detail::check_conventions(files.conventions_sha256, agreed.conventions_sha256, result);
    check_engine(agreed, step, result);
    return result;
}

// The same through the recorder of the engine's class: what it records is compared, and what it asks for by given() is
// answered: x_raw in frame 0, cond_raw, contact_scores or contacts, y_norm. What the class computes before a given row is not tested.
class RecorderTest final : public StageListener {
public:
    RecorderTest(const EngineFrame& in, EngineStages& out, int state_width) : in_(in), out_(out), state_width_(state_width) {}

    void hear(const char* stage, const void* values, int count, bool is_double) override {
        for (int i = 0; i < kStages; ++i) {
            if (!same_text(stage, kStageNames[i])) continue;
            if (is_double) out_.give(static_cast<Stage>(i), static_cast<const double*>(values), count);
            else out_.give(static_cast<Stage>(i), static_cast<const float*>(values), count);
        }
    }
    bool give(const char* stage, void* values, int count, bool is_double) override {
        const struct {
            const char* name;
            const float* row;
            int width;
        } rows[] = {{"x_raw", in_.number == 0 ? in_.seed_x_raw : nullptr, state_width_},
                    {"cond_raw", in_.cond_raw, kConditionWidth},
                    {"contact_scores", in_.contact_scores, 2},
                    {"contacts", in_.contacts, 2},
                    {"y_norm", in_.y_norm, in_.y_norm_width}};
        for (const auto& each : rows) {
            if (each.row == nullptr || !same_text(stage, each.name) || count != each.width) continue;
            for (int i = 0; i < count; ++i) {
                if (is_double) static_cast<double*>(values)[i] = static_cast<double>(each.row[i]);
                else static_cast<float*>(values)[i] = each.row[i];
            }
            return true;
        }
        return false;
    }

private:
    const EngineFrame& in_;
    EngineStages& out_;
    int state_width_;
};

// Step: void(const EngineFrame&). AnyRecorder: a Recorder, or what wraps one; in a build that records nothing this does not compile.
template <class AnyRecorder, class Step>
SelfTestResult self_test_engine(const EngineFiles& files, const Agreement& agreed, AnyRecorder& recorder, Step&& step) {
    static_assert(AnyRecorder::kRecords, "the self-test hears what the recorder hears: compile it with RIGPACT_TRACE=1");
    SelfTestResult result = self_test_engine(files, agreed, [&](const EngineFrame& in, EngineStages& out) {
        RecorderTest listener(in, out, agreed.contract.state.width);
        recorder.listen(&listener);
        step(in);
        recorder.listen(nullptr);
    });
    return result;
}

}  // namespace rigpact
